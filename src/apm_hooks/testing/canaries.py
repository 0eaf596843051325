"""Whether a text holds what belongs to somebody else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apm_hooks.ownership import in_group
from apm_hooks.places import places
from apm_hooks.records import Scope
from apm_hooks.testing.workspace import TemporaryWorkspace
from apm_hooks.workspace import GROUP_MAP, read_declared

_GROUP_INDEX = """# Index

| scenario | file | priority |
|---|---|---|
| current tasks | attention.md | P0 |
| project facts | project.md | P1 |
| lessons | experience.md | P2 |
| people and roles | people.md | P3 |
| interfaces | conventions/api.md | P2-L3 |
"""
_OWNERS_FILES = (
    "MEMORY.md", "log/decisions.md", "memory/2026-01-01.md", "memory/INDEX.md", "memory/flush-state.json",
    "memory/main/attention.md", "memory/main/daily-synced.md", "memory/main/index.md", "memory/main/longterm.md",
    "memory/main/projects/tax.md", "memory/notes/a.md",
)  # fmt: skip
_OPERATORS_FILES = ("memory/groups/flush-state.json",)
_GROUPS_FILES = (
    "{}.md", "{}/attention.md", "{}/conventions/api.md", "{}/experience.md", "{}/flush-state.json", "{}/people.md",
    "{}/project.md",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Planted:
    """A word that stands in one file and nowhere else: the `canary`, the file, and whose it is: `DM`, `Group(name)`
    or `operator`."""

    canary: str
    path: str
    owner: str


def leaks(owners: Mapping[str, str], seen: str, scope: Scope | str | None) -> tuple[str, ...]:
    """The canaries in `seen` that are not `scope`'s, sorted; `owners` says whose each one is, as scopes are written
    (`DM`, `Group(name)`). Without a scope every canary is one too many.

    >>> leaks({"canary-1": "DM", "canary-2": "Group(alpha)"}, "canary-1 and canary-2", "Group(alpha)")
    ('canary-1',)
    """
    own = str(scope) if scope else ""
    return tuple(sorted(canary for canary, owner in owners.items() if canary in seen and (owner != own or not own)))


class LeakChecker:
    """Puts a word of its own into every memory file of a workspace, and finds the words that a text should not hold.

    >>> with TemporaryWorkspace(groups={"-1001": "alpha"}) as workspace:
    ...     checker = LeakChecker(workspace)
    ...     checker.check(workspace.read("memory/main/longterm.md"), "Group(alpha)")
    Traceback (most recent call last):
    AssertionError: Group(alpha) sees memory/main/longterm.md of DM

    The files that a protocol's workspace has are made where they are absent: the owner's, the operator's, and those of
    every group of the map. What a file held stays, with the word behind it. The workspace is written to when the
    checker is made; `plant` adds files of yours.
    """

    def __init__(self, workspace: TemporaryWorkspace) -> None:
        self._workspace = workspace
        self._planted: dict[str, Planted] = {}
        _, groups = read_declared(str(workspace.root), places(workspace.env), workspace.env)
        self._groups = sorted({entry.name for entry in groups.entries})
        present = {
            file.relative_to(workspace.root).as_posix()
            for folder in ("memory", "log")
            for file in (workspace.root / folder).rglob("*")
            if file.is_file() and not file.is_symlink()
        }
        made = {f"memory/groups/{path.format(name)}" for name in self._groups for path in _GROUPS_FILES}
        for path in sorted({*present, *made, *_OWNERS_FILES, *_OPERATORS_FILES} - {GROUP_MAP}):
            self.plant(path)

    @property
    def planted(self) -> tuple[Planted, ...]:
        """Every word with its file and owner."""
        return tuple(self._planted.values())

    def plant(self, path: str) -> str:
        """Put a word into one more file of the workspace, and give the word."""
        canary = f"canary-{len(self._planted):05d}"
        held = self._workspace.read(path)
        if path.endswith("/flush-state.json"):
            text = _as_pending(held, canary)
        else:
            index = path.removeprefix("memory/groups/").removesuffix(".md") in self._groups
            # At the end: a text that is cut to fit keeps its tail.
            text = f"{held or (_GROUP_INDEX if index else '')}\n\n{canary}\n"
        self._workspace.write(path, text)
        self._planted[canary] = Planted(canary, path, self._owner(path))
        return canary

    def found(self, seen: str) -> tuple[Planted, ...]:
        """All words that stand in `seen`, whoever's they are: a check that could find nothing shows nothing."""
        return tuple(planted for planted in self._planted.values() if planted.canary in seen)

    def leaks(self, seen: str, scope: Scope | str | None) -> tuple[Planted, ...]:
        """The words in `seen` that are not `scope`'s; without a scope, all of them."""
        owners = {planted.canary: planted.owner for planted in self._planted.values()}
        return tuple(self._planted[canary] for canary in leaks(owners, seen, scope))

    def check(self, seen: str, scope: Scope | str | None) -> None:
        """Raise AssertionError naming file and owner of every word in `seen` that is not `scope`'s."""
        found = self.leaks(seen, scope)
        if found:
            what = ", ".join(f"{leak.path} of {leak.owner}" for leak in found)
            raise AssertionError(f"{scope or 'a session without a scope'} sees {what}")

    def _owner(self, path: str) -> str:
        if path in _OPERATORS_FILES:
            return "operator"
        return next((f"Group({name})" for name in self._groups if in_group(name, path)), "DM")


def _as_pending(held: str, canary: str) -> str:
    """A flush state with the word as one more pending item; one that is damaged already just gets longer."""
    try:
        state: dict[str, Any] = {"last_flush_time": None, "pending_items": [], **json.loads(held or "{}")}
        state["pending_items"] = [*state["pending_items"], canary]
    except (ValueError, TypeError):
        return f"{held}\n{canary}\n"
    return json.dumps(state, ensure_ascii=False, indent=2)
