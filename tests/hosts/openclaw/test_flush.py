"""Flushes on the real OpenClaw: who asks, what the model is told, and which state file says so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from apm_hooks.records import DM

from ..flushes import directives, outcomes
from ..workspace import DM_ATTENTION, Group
from .host import Turn
from .lab import (
    COMPACTION_AT,
    DM_START,
    HOST_FLUSH_AT,
    Lab,
    call,
    flushes_since,
    scope_of,
    told,
    wait_for_flushes,
)
from .model import Kind
from .telegram import Chat

pytestmark = pytest.mark.host

TIDES = "- low water 09:40\n"


def talk(lab: Lab, group: Group, count: int) -> Turn:
    """So many turns that there is something to save."""
    return [lab.post(group, f"Berth {number} is free.") for number in range(count)][-1]


@pytest.mark.parametrize("asked", ["/remem the tides", "/remem"])
def test_remem_in_a_group_is_its_flush(lab: Lab, asked: str) -> None:
    group, owners = lab.group(), outcomes(lab.memory)
    path = group.file("attention")
    turn = lab.post(group, f"{asked}\n{call('write', path=path, content=TIDES)}")
    assert [directives(request) for request in turn.main] == [[1], [1]]
    wait_for_flushes(lab, scope_of(group), [], [("remem", "written")])
    assert (lab.memory.root / path).read_text("utf-8") == TIDES
    assert outcomes(lab.memory) == owners
    assert lab.seen(turn) <= lab.files_of(group)
    assert directives(lab.post(group, "Thanks.").main[0]) == []


def test_remem_of_the_owner_is_the_owners_flush(lab: Lab) -> None:
    before, owner = outcomes(lab.memory), lab.owner()
    turn = lab.dm(owner, "/remem the tides")
    (number,) = set(directives(turn.main[0]))
    wait_for_flushes(lab, DM, before, [("remem", "unwritten")])
    assert outcomes(lab.memory)[-1][0] == number
    assert lab.seen(turn) <= lab.owners_files


def test_remem_of_a_stranger_or_an_unmapped_group_is_nobodys(lab: Lab) -> None:
    before = outcomes(lab.memory)
    turns = [lab.dm(lab.stranger(), "/remem all of it"), lab.post(lab.unmapped(), "/remem all of it")]
    assert [directives(turn.main[0]) for turn in turns] == [[], []]
    assert [lab.seen(turn) for turn in turns] == [set(), set()]
    assert outcomes(lab.memory) == before


def test_a_nearly_full_context_is_asked_once_in_its_own_turn(lab: Lab) -> None:
    group = lab.group()
    talk(lab, group, 1)
    lab.post(group, "Berth 9 is free.\n::usage 165000")
    asked, later = lab.post(group, "And berth 3?\n::usage 165000"), lab.post(group, "And berth 4?\n::usage 165000")
    assert [directives(turn.main[0]) for turn in (asked, later)] == [[1], []]
    wait_for_flushes(lab, scope_of(group), [], [("pre-compaction", "unwritten")])


@pytest.fixture
def host_flush_writes(lab: Lab) -> Iterator[None]:
    """The host's own flush tries to read and to write the owner's memory, whoever's turn it was."""
    script = lab.host.model.on_host_flush
    lab.host.model.on_host_flush = (
        call("read", path=DM_ATTENTION) + call("write", path="memory/2026-03-02.md", content=TIDES) + "::say NO_REPLY"
    )
    yield
    lab.host.model.on_host_flush = script


@pytest.mark.usefixtures("host_flush_writes")
@pytest.mark.parametrize("whose", ["group", "owner"])
def test_the_hosts_own_flush_is_told_nothing_and_writes_nothing(lab: Lab, whose: str) -> None:
    owners, group, owner = outcomes(lab.memory), lab.group(), lab.owner()
    text = f"Berth 9 is free.\n::usage {HOST_FLUSH_AT}"
    full = lab.post(group, text) if whose == "group" else lab.dm(owner, text)
    asked = lab.requests_of(Kind.HOST_FLUSH, full, 3)
    assert len(asked[-1].tool_results) == 2
    assert lab.seen(asked) == set()
    assert not (lab.memory.root / "memory/2026-03-02.md").exists()
    assert outcomes(lab.memory) == owners


def test_with_the_hosts_own_flush_switched_off_ours_asks_in_the_conversation(lab: Lab) -> None:
    group = lab.group()
    with lab.reconfigured(agents={"defaults": {"compaction": {"memoryFlush": {"enabled": False}}}}):
        full = lab.post(group, f"Berth 9 is free.\n::usage {HOST_FLUSH_AT}")
        asked = lab.post(group, f"And berth 3?\n{call('write', path=group.file('attention'), content=TIDES)}")
    assert [*full.of_kind(Kind.HOST_FLUSH), *asked.of_kind(Kind.HOST_FLUSH)] == []
    assert [directives(request) for request in asked.main] == [[1], [1]]
    wait_for_flushes(lab, scope_of(group), [], [("pre-compaction", "written")])


def test_a_compaction_by_itself_is_a_flush_of_its_group(lab: Lab) -> None:
    group, owners = lab.group(), outcomes(lab.memory)
    talk(lab, group, 6)
    lab.post(group, f"Berth 9 is free.\n::usage {COMPACTION_AT}")
    after = lab.post(group, "And berth 3?")
    assert after.of_kind(Kind.SUMMARY)
    assert group.index in lab.seen(after)
    assert lab.seen(after) <= lab.files_of(group)
    ((_, trigger, _),) = outcomes(lab.memory, scope_of(group))
    assert trigger == "pre-compaction"
    assert outcomes(lab.memory) == owners


def test_a_compaction_by_command_brings_memory_back(lab: Lab) -> None:
    before, owner = outcomes(lab.memory), lab.owner()
    for number in range(6):
        lab.dm(owner, f"Berth {number} is free.")
    command = lab.host.command(owner.chat, owner.id, "/compact", "ompact")
    assert [request.kind for request in command.requests if request.kind is not Kind.SUMMARY] == []
    after = lab.dm(owner, "And berth 3?")
    assert lab.seen(after) >= DM_START
    (flush,) = flushes_since(lab, DM, before)
    assert flush[0] == "pre-compaction"


def test_a_compaction_by_command_in_a_group(lab: Lab) -> None:
    group, owners = lab.group(), outcomes(lab.memory)
    talk(lab, group, 6)
    lab.host.command(Chat(int(group.id)), lab.owner().id, "/compact", "ompact")
    after = lab.post(group, "And berth 3?")
    assert group.index in lab.seen(after)
    ((_, trigger, _),) = outcomes(lab.memory, scope_of(group))
    assert trigger == "pre-compaction"
    assert outcomes(lab.memory) == owners


def test_a_new_session_begins_anew(lab: Lab) -> None:
    group = lab.group()
    lessons = lab.post(group, "What were the lessons of the storm?")
    lab.host.command(Chat(int(group.id)), lab.owner().id, "/new", "New session")
    after = lab.post(group, "Good morning.")
    assert lab.seen(lessons) == {group.index, group.file("experience")}
    assert lab.seen(after) == {group.index}


@contextmanager
def restarted(lab: Lab, **parts: Any) -> Iterator[None]:
    """The gateway restarted with other settings, and again with the old ones."""
    before = lab.host.config_file.read_text("utf-8")
    lab.host.stop()
    lab.host.change_config(**parts)
    lab.host.start()
    try:
        yield
    finally:
        lab.host.stop()
        lab.host.config_file.write_text(before, "utf-8")
        lab.host.start()


def test_a_gateway_restarted_with_the_hook_pack_alone_goes_on_where_it_was(lab: Lab) -> None:
    group, owner, other = lab.group(), lab.owner(), lab.group()
    before = lab.post(group, "What were the lessons of the storm?"), lab.dm(owner, "Good morning.")
    with restarted(lab, plugins={"entries": {"apm-hooks": {"enabled": False}}}):
        alone = lab.post(group, "Thanks."), lab.dm(owner, "Thanks.")
        routed = lab.post(other, "What were the lessons of the storm?")
        asked = lab.post(other, "/remem the tides")
        strangers = lab.dm(lab.stranger(), "Good morning."), lab.post(lab.unmapped(), "Good morning.")
    after = lab.post(group, "Bye."), lab.dm(owner, "Bye.")
    for turns in (alone, after):
        assert [lab.seen(turn) for turn in turns] == [lab.seen(turn) for turn in before]
    assert [told(turn.main[0]) for turn in alone] == [told(turn.main[0]) for turn in before]
    assert [told(turn.main[0]) for turn in after] == [told(turn.main[0]) for turn in before]
    assert lab.seen(routed) == {other.index, other.file("experience")}
    assert directives(asked.main[0]) == [1]
    assert [lab.seen(turn) for turn in strangers] == [set(), set()]
