"""What is missing of us costs a turn's memory and a line in the log, never the turn, and never somebody's privacy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..workspace import DM_INDEX, DM_LONGTERM
from .lab import DM_START, Lab, call

pytestmark = pytest.mark.host

TURNS = 5


def installed(lab: Lab) -> list[Path]:
    """What the installed hooks are told: where Python is, for one. The host runs plugins from copies of its own."""
    return sorted(lab.host.state.rglob("apm-hooks.json"))


@pytest.fixture
def no_python(lab: Lab) -> Iterator[None]:
    """Our hooks with an interpreter that has gone; they look at their settings again after a second."""
    before = {file: file.read_text("utf-8") for file in installed(lab)}
    logged = lab.host.log().count("memory is off")
    for file, text in before.items():
        gone = {"command": ["/gone/python"], "serve": ["/gone/python"], "worker": False}
        file.write_text(json.dumps({**json.loads(text), **gone}), "utf-8")
    assert any(
        lab.dm(lab.stranger(), "Hello.") and lab.host.log().count("memory is off") > logged for _ in range(TURNS)
    )
    yield
    for file, text in before.items():
        file.write_text(text, "utf-8")
    assert any(lab.seen(lab.dm(lab.owner(), "Hello.")) >= DM_START for _ in range(TURNS))


@pytest.mark.usefixtures("no_python")
def test_without_python_every_turn_goes_on_without_memory(lab: Lab) -> None:
    group, owner = lab.group(), lab.owner()
    turns = [lab.post(group, "Good morning."), lab.dm(owner, "Good morning."), lab.dm(lab.stranger(), "Good morning.")]
    assert [len(turn.main) for turn in turns] == [1, 1, 1]
    assert [lab.seen(turn) & (DM_START | lab.files_of(group)) for turn in turns] == [set()] * 3
    assert lab.seen(turns[0]) == lab.seen(turns[2]) == set()
    read = call("read", path=DM_LONGTERM) + call("exec", command=f"cat {DM_INDEX}")
    asked = lab.post(group, read)
    assert len(asked.main[-1].tool_results) == 2
    assert lab.seen(asked) == set()
    assert DM_LONGTERM in lab.seen(lab.dm(owner, read))
    assert lab.host.is_running()
