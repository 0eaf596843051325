"""Workspaces for tests: a home of their own, files with a canary each, events as hosts send them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from apm_hooks import trust, workspace
from apm_hooks.hosts import claude_code
from apm_hooks.places import places
from apm_hooks.records import LIMITS, HostEvent, Limits, Source
from apm_hooks.runtime import Runtime

INDEX = """---
type: dm
---
# Index

## Hard Rules
- Keep it short.

| scenario | file | priority |
|---|---|---|
| current tasks | attention.md | P0 |
| decisions | longterm.md | P1 |
"""
OLD = 1_700_000_000
"""A time long past, in seconds: files stamped with it are old enough for their stamps to be believed."""


@dataclass(slots=True)
class Bench:
    """A home and a workspace in it; `env` is the whole environment of whatever runs there."""

    home: Path
    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def write(self, path: str, text: str | bytes) -> Path:
        """A file of the workspace, with an old time."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        os.utime(file, (OLD, OLD))
        return file

    def settings(self, text: str) -> None:
        self.write("apm.toml", text)

    def groups(self, names: Mapping[str, object]) -> None:
        self.write("memory/groups/group_names.json", json.dumps(names, ensure_ascii=False))

    def trust(self) -> None:
        where = places(self.env)
        digests = workspace.privacy_digests(*workspace.read_declared(str(self.root), where, self.env))
        trust.accept(str(self.root), digests, where, when="2026-01-01T00:00:00+00:00")

    def runtime(self, *, clock: Callable[[], float] = lambda: 1_767_225_600.0, limits: Limits = LIMITS) -> Runtime:
        return Runtime(str(self.root), self.env, clock=clock, limits=limits)

    def state_files(self) -> dict[str, str]:
        """Every file below `.apm/`, with its text."""
        state = self.root / ".apm"
        return {str(path.relative_to(state)): path.read_text(errors="replace")
                for path in sorted(state.rglob("*")) if path.is_file()}  # fmt: skip


def bench(folder: Path, *, trusted: bool = True, settings: str = "") -> Bench:
    """A workspace `ws` with the owner's index and attention, in a home of its own."""
    home, root = folder / "home", folder / "ws"
    home.mkdir()
    root.mkdir()
    made = Bench(home, root.resolve(), {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath)})
    made.settings(settings)
    made.write("memory/main/index.md", INDEX)
    made.write("memory/main/attention.md", "# Attention\n\nship the parser\n")
    if trusted:
        made.trust()
    return made


def event(key: str | None = None, *, source: Source = Source.STARTUP, session_id: str = "s1", **more: Any) -> HostEvent:
    """A session start as a coding CLI fires it."""
    return HostEvent(host=claude_code.HOST, session_id=session_id, source=source, session_key=key, single_user=True,
                     **more)  # fmt: skip


def payload(made: Bench, *, source: str = "startup", session_id: str = "s1", **more: object) -> dict[str, object]:
    """A SessionStart payload as Claude Code sends it."""
    return {
        "session_id": session_id,
        "transcript_path": f"{made.home}/.claude/projects/x/{session_id}.jsonl",
        "cwd": str(made.root),
        "hook_event_name": "SessionStart",
        "source": source,
        **more,
    }


GROUP_KEY = "agent:main:telegram:group:-100777"
PYTHON = sys.executable
