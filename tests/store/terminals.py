"""Terminals for tests of the record store's commands."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from apm_hooks.cli import parser
from tests.test_cli import Said, Terminal
from tests.workspaces import GROUP_KEY, Bench

COMMANDS = ("recall", "remember", "update", "forget", "dedup", "backfill", "export", "import", "self")
NOWHERE = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
"""An id that no memory has."""


def terminal(made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """The owner's terminal in an accepted workspace with the group `alpha`, with the store's commands alone."""
    for name in list(os.environ):
        if name.startswith(("APM_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(made.root)
    monkeypatch.setattr(parser, "_COMMANDS", tuple(each for each in parser._COMMANDS if each[0] in COMMANDS))
    made.groups({GROUP_KEY.rpartition(":")[2]: "alpha", "-100888": "beta"})
    made.trust()
    return Terminal(made, monkeypatch, capsys)


def remembered(apm: Terminal, text: str, *options: str) -> str:
    """The id of a memory that was saved just now."""
    told = apm("remember", text, *options, "--json").json
    assert told["created"] is True
    return str(told["id"])


def titles(said: Said) -> list[str]:
    return [memory["title"] for memory in said.json["memories"]]


def another(apm: Terminal, folder: Path) -> list[str]:
    """The options that name another accepted workspace, which remembers nothing."""
    root = folder / "other"
    root.mkdir()
    (root / "apm.toml").write_text("")
    Bench(apm.made.home, root.resolve(), apm.made.env).trust()
    return ["--workspace", str(root)]


def exported(apm: Terminal, *options: str) -> list[dict[str, object]]:
    """The documents of an export, its head first."""
    return [json.loads(row) for row in apm("export", "-", *options).out.split("\n")[:-1]]


def total(apm: Terminal, *options: str) -> int:
    """How many memories there are."""
    return int(apm("recall", "--json", *options).json["total"])


def typed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Standard input holds these bytes."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


def line(number: int, **more: Any) -> str:
    """One memory as an export writes it."""
    when = f"2026-01-01T00:00:00.{number:06d}+00:00"
    return json.dumps({
        "id": f"00000000-0000-4000-8000-{number:012d}", "scope": "DM", "type": "fact",
        "title": f"Machine {number}", "content": f"Machine number {number} stands in rack {number * 7}.",
        "tags": ["racks"], "importance": 3, "source": "agent", "expires_at": None, "created_at": when,
        "updated_at": when, **more,
    })  # fmt: skip


HEAD = '{"apm-hooks": "memories", "version": 1}'
