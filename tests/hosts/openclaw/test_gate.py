"""The gate on the real OpenClaw's tools: what a conversation may not read or write, whatever its model calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ..workspace import DM_ATTENTION, DM_INDEX, DM_LONGTERM, HOST_MEMORY
from .host import Turn
from .lab import Lab, call

pytestmark = pytest.mark.host

READS: dict[str, Callable[[str], str]] = {
    "read": lambda path: call("read", path=path),
    "exec": lambda path: call("exec", command=f"cat {path}"),
    "exec-redirected": lambda path: call("exec", command=f"cat < ./{path}"),
    "exec-in-memory": lambda path: call("exec", command="grep -rh watchword memory"),
    "memory_get": lambda path: call("tool_call", id="memory_get", args={"path": path}),
}


def refusals(turn: Turn) -> list[str]:
    """What the tools of a turn gave back to the model."""
    return turn.main[-1].tool_results


@pytest.mark.parametrize("tool", READS)
def test_a_group_cannot_read_the_owners_memory(lab: Lab, tool: str) -> None:
    group = lab.group()
    paths = (HOST_MEMORY,) if tool == "memory_get" else (DM_INDEX, DM_LONGTERM)
    turn = lab.post(group, "".join(READS[tool](path) for path in paths), sender=lab.owner().id)
    assert len(turn.main) == len(paths) + 1
    assert len(refusals(turn)) == len(paths)
    assert [reason for reason in refusals(turn) if "apm-hooks" not in reason and "memory" not in reason] == []
    assert lab.seen(turn) <= lab.files_of(group)


@pytest.mark.parametrize("tool", ["read", "exec"])
def test_a_group_cannot_read_another_groups_memory(lab: Lab, tool: str) -> None:
    group, other = lab.group(), lab.group()
    turn = lab.post(group, "".join(READS[tool](path) for path in (other.index, other.file("people"))))
    assert len(refusals(turn)) == 2
    assert lab.seen(turn) <= lab.files_of(group)


@pytest.mark.parametrize("tool", ["read", "exec", "memory_get"])
def test_a_stranger_cannot_read_any_memory(lab: Lab, tool: str) -> None:
    paths = (HOST_MEMORY, DM_ATTENTION) if tool == "memory_get" else (DM_INDEX, HOST_MEMORY, lab.group().index)
    turn = lab.dm(lab.stranger(), "".join(READS[tool](path) for path in paths))
    assert len(refusals(turn)) == len(paths)
    assert lab.seen(turn) == set()


def test_a_group_reads_its_own_memory_and_the_rest_of_the_workspace(lab: Lab) -> None:
    group = lab.group()
    script = call("read", path=group.file("project")) + call("read", path="AGENTS.md") + call("exec", command="echo 44")
    turn = lab.post(group, script)
    own, plain, shell = refusals(turn)
    assert lab.memory.canary(group.file("project")) in own
    assert "You help a harbour." in plain
    assert shell.strip().startswith("44")


def test_the_owner_reads_all_of_it(lab: Lab) -> None:
    group = lab.group()
    script = call("read", path=group.index) + call("read", path=DM_LONGTERM) + call("exec", command=f"cat {DM_INDEX}")
    results = refusals(lab.dm(lab.owner(), script))
    canaries = [lab.memory.canary(path) for path in (group.index, DM_LONGTERM, DM_INDEX)]
    assert [canary in result for canary, result in zip(canaries, results, strict=True)] == [True] * 3


def test_what_a_group_writes_elsewhere_is_not_written(lab: Lab) -> None:
    group, other = lab.group(), lab.group()
    paths = (DM_ATTENTION, HOST_MEMORY, other.file("attention"), "memory/2026-03-02.md", "apm.toml")
    before = {path: _content(lab, path) for path in paths}
    turn = lab.post(group, "".join(call("write", path=path, content="mine now\n") for path in paths))
    assert len(refusals(turn)) == len(paths)
    assert {path: _content(lab, path) for path in paths} == before


def _content(lab: Lab, path: str) -> bytes | None:
    file = lab.memory.root / path
    return file.read_bytes() if file.exists() else None


def test_a_shared_session_is_judged_by_who_writes(lab: Lab) -> None:
    owner, stranger, group = lab.owner(), lab.stranger(), lab.group()
    read = call("read", path=DM_LONGTERM)
    with lab.reconfigured(session={"dmScope": "main", "groupScope": "main"}):
        lab.renew(owner.chat, owner)
        asked = [lab.dm(stranger, read), lab.post(group, read), lab.dm(owner, read)]
    canary = lab.memory.canary(DM_LONGTERM)
    assert [canary in refusals(turn)[-1] for turn in asked] == [False, False, True]
    assert [lab.seen(turn) & lab.owners_files for turn in asked[:2]] == [set(), set()]
