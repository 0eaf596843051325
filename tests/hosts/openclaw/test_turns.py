"""Turns on the real OpenClaw that no message of a person began, and private chats under each of the host's keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from apm_hooks.records import DM

from ..claude import wait_for
from ..flushes import directives, outcomes
from ..workspace import DM_INDEX
from .host import Turn
from .lab import DM_START, Lab, call, flushes_since, scope_of, told, wait_for_flushes
from .model import Request
from .telegram import Chat

pytestmark = pytest.mark.host

_CHILD = re.compile(r"agent:main:subagent:[0-9a-f-]+")
_COMPLETED = "A background task completed."


@contextmanager
def mapped(lab: Lab, pattern: str, target: str) -> Iterator[None]:
    """`[scopes]` of the workspace with a row, accepted by its owner."""
    settings = lab.memory.root / "apm.toml"
    before = settings.read_text("utf-8")
    try:
        settings.write_text(f'{before}\n[scopes]\n"{pattern}" = "{target}"\n', "utf-8")
        lab.host.apm("trust", "--workspace", str(lab.memory.root))
        yield
    finally:
        settings.write_text(before, "utf-8")
        lab.host.apm("trust", "--workspace", str(lab.memory.root))


def test_a_reminder_in_the_main_session_that_asks_for_a_flush_is_the_owners(lab: Lab) -> None:
    before = outcomes(lab.memory)
    (request,) = lab.run_job(*lab.add_job("/remem the tides", isolated=False))
    assert request.session_key == "agent:main:main"
    assert lab.seen([request]) >= DM_START
    assert len(directives(request)) == 1
    wait_for_flushes(lab, DM, before, [("remem", "unwritten")])


def test_a_job_of_its_own_session_has_no_memory_and_may_read_none(lab: Lab) -> None:
    before = outcomes(lab.memory)
    script = call("read", path=DM_INDEX) + call("exec", command=f"cat {lab.group().index}")
    job, word = lab.add_job(f"/remem What were the old decisions?\n{script}", isolated=True)
    requests = lab.run_job(job, word, 3)
    assert [request.session_key for request in requests] == [f"agent:main:cron:{job}"] * 3
    assert lab.seen(requests) == set()
    assert len(requests[-1].tool_results) == 2
    assert [directives(request) for request in requests] == [[]] * 3
    assert flushes_since(lab, DM, before) == []


def test_a_job_whose_key_is_mapped_has_that_memory_and_its_flush(lab: Lab) -> None:
    group, owners = lab.group(), outcomes(lab.memory)
    path = group.file("attention")
    job, word = lab.add_job(f"/remem the tides\n{call('read', path=path)}{call('read', path=DM_INDEX)}", isolated=True)
    lab.works_for[f"agent:main:cron:{job}"] = group.key
    with mapped(lab, f"agent:main:cron:{job}:*", f"Group({group.name})"):
        requests = lab.run_job(job, word, 3)
        wait_for_flushes(lab, scope_of(group), [], [("remem", "unwritten")])
    assert group.index in lab.seen(requests[:1])
    assert lab.seen(requests) <= lab.files_of(group)
    assert lab.memory.canary(path) in requests[-1].tool_results[0]
    assert [directives(request) for request in requests] == [[1]] * 3
    assert outcomes(lab.memory) == owners


def test_a_job_that_is_mapped_to_the_owner_has_the_owners_memory(lab: Lab) -> None:
    job, word = lab.add_job("Good morning.", isolated=True)
    lab.works_for[f"agent:main:cron:{job}"] = "agent:main:main"
    with mapped(lab, f"cron:{job}:*", "DM"):
        (request,) = lab.run_job(job, word)
    assert lab.seen([request]) >= DM_START


def spawned(lab: Lab, parent: str, begin: int, count: int) -> tuple[list[Request], Request]:
    """What the subagent of the conversation `parent` asked the model, and the turn in which `parent` hears of it."""

    def heard() -> list[Request]:
        requests = lab.host.model.requests[begin:]
        return [each for each in requests if _COMPLETED in each.prompt and each.session_key == parent]

    wait_for(lambda: len(heard()) > 0, f"{parent} to hear of its subagent")
    found = [each for each in lab.host.model.requests[begin:] if _CHILD.fullmatch(each.session_key)]
    assert len(found) == count
    return found, heard()[0]


def spawn(*paths: str) -> str:
    """The line of a script that has a subagent read files."""
    task = "Look about.\n" + "".join(call("read", path=path) for path in paths) + "::say child-done"
    return call("tool_call", id="sessions_spawn", args={"task": task})


def test_a_subagent_of_the_owner_is_given_nothing_and_may_read_what_the_owner_may(lab: Lab) -> None:
    owner, group, begin = lab.owner(), lab.group(), len(lab.host.model.requests)
    turn = lab.dm(owner, spawn(DM_INDEX, group.index))
    requests, heard = spawned(lab, owner.key, begin, 3)
    lab.works_for[requests[0].session_key] = owner.key
    assert lab.seen(requests[:1]) == set()
    assert lab.seen(requests) == {DM_INDEX, group.index}
    assert told(heard) == told(turn.main[0]) != []


def test_a_subagent_of_a_group_is_given_nothing_and_may_read_what_the_group_may(lab: Lab) -> None:
    group, other, begin = lab.group(), lab.group(), len(lab.host.model.requests)
    turn = lab.post(group, spawn(DM_INDEX, other.index, group.index), sender=lab.owner().id)
    requests, heard = spawned(lab, group.key, begin, 4)
    lab.works_for[requests[0].session_key] = group.key
    assert lab.seen(requests[:1]) == set()
    assert lab.seen(requests) == {group.index}
    assert lab.memory.canary(group.index) in requests[-1].tool_results[2]
    assert told(heard) == told(turn.main[0]) != []


def test_a_subagent_of_a_stranger_reads_no_memory(lab: Lab) -> None:
    stranger, begin = lab.stranger(), len(lab.host.model.requests)
    lab.dm(stranger, spawn(DM_INDEX, lab.group().index))
    requests, heard = spawned(lab, stranger.key, begin, 3)
    assert len(requests[-1].tool_results) == 2
    assert lab.seen([*requests, heard]) == set()


def test_a_subagent_in_a_session_that_anybody_may_write_to_reads_no_memory(lab: Lab) -> None:
    owner = lab.owner()
    with lab.reconfigured(session={"dmScope": "main"}):
        lab.renew(owner.chat, owner)
        begin = len(lab.host.model.requests)
        turn = lab.dm(owner, spawn(DM_INDEX, lab.group().index))
        requests, heard = spawned(lab, "agent:main:main", begin, 3)
    assert lab.seen(turn.main) >= DM_START
    assert len(requests[-1].tool_results) == 2
    assert lab.seen([*requests, heard]) == set()


def test_a_heartbeat_has_the_same_bytes_and_is_no_flush(lab: Lab) -> None:
    owner, before, begin = lab.owner(), outcomes(lab.memory), len(lab.host.model.requests)
    jobs = lab.host.ask_gateway("cron.list")["jobs"]
    (beat,) = (job["id"] for job in jobs if job.get("declarationKey") == "heartbeat:main")
    turns = [lab.dm(owner, "Good morning.")]
    with lab.reconfigured(agents={"defaults": {"heartbeat": {"target": "none", "session": owner.key}}}):
        lab.host.ask_gateway("cron.run", id=beat, mode="force")
        (request,) = lab.asked_with("heartbeat", begin, 1)
        turns.append(lab.dm(owner, "Thanks."))
    assert request.session_key == owner.key
    assert lab.seen([request]) >= DM_START
    assert [told(each) for each in (turns[0].main[0], request, turns[1].main[0])] == [told(request)] * 3
    assert directives(request) == []
    assert flushes_since(lab, DM, before) == []


def test_a_conversation_that_the_host_resets_for_its_quiet_is_flushed_and_begins_anew(lab: Lab) -> None:
    group, owner, owners = lab.group(), lab.owner(), outcomes(lab.memory)
    lessons = lab.post(group, "What were the lessons of the storm?")
    decisions = lab.dm(owner, "What were the old decisions?")
    for key in (group.key, owner.key):
        lab.host.make_quiet(key, 180)
    with lab.reconfigured(session={"reset": {"mode": "idle", "idleMinutes": 60}}):
        after = lab.post(group, "Good morning."), lab.dm(owner, "Good morning.")
        again = lab.post(group, "Thanks."), lab.dm(owner, "Thanks.")
    assert lab.seen(lessons) == {group.index, group.file("experience")}
    assert [lab.seen(turn) for turn in (after[0], again[0])] == [{group.index}] * 2
    assert lab.seen(decisions) > lab.seen(after[1]) >= DM_START
    assert [told(turn.main[0]) for turn in again] == [told(turn.main[0]) for turn in after]
    wait_for_flushes(lab, scope_of(group), [], [("idle", "unwritten")])
    wait_for_flushes(lab, DM, owners, [("idle", "unwritten")])


def seen_by_each(lab: Lab, key: str, topic: int = 0) -> tuple[Turn, Turn]:
    """The turns of the owner and of a stranger, in private, with the session key that each should have."""
    people = lab.owner(), lab.stranger()
    owners, strangers = (
        lab.host.say(Chat(person.id, topic), person.id, "What were the old decisions?") for person in people
    )
    keys = [turn.main[0].session_key for turn in (owners, strangers)]
    assert keys == [key.format(peer=person.id) for person in people]
    return owners, strangers


@pytest.mark.parametrize(
    ("scope", "key", "topic"),
    [
        ("per-peer", "agent:main:direct:{peer}", 0),
        ("per-account-channel-peer", "agent:main:telegram:default:direct:{peer}", 0),
        ("per-channel-peer", "agent:main:telegram:direct:{peer}:thread:{peer}:77", 77),
        ("per-account-channel-peer", "agent:main:telegram:default:direct:{peer}:thread:{peer}:77", 77),
        ("main", "agent:main:main:thread:{peer}:77", 77),
    ],
)
def test_a_private_chat_is_its_peers_whatever_its_key_looks_like(lab: Lab, scope: str, key: str, topic: int) -> None:
    if scope == "per-channel-peer":
        owners, strangers = seen_by_each(lab, key, topic)
    else:
        with lab.reconfigured(session={"dmScope": scope}):
            owners, strangers = seen_by_each(lab, key, topic)
    assert lab.seen(owners) >= DM_START
    assert lab.seen(owners) <= lab.owners_files
    assert lab.seen(strangers) == set()
