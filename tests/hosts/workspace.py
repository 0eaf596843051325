"""A workspace full of canaries: a random word in every memory file shows which of them reached the model."""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .claude import Claude, HostFailedError

APM_HOOKS = Path(sys.executable).parent / "apm-hooks"

DM_INDEX = "memory/main/index.md"
DM_ATTENTION = "memory/main/attention.md"
DM_LONGTERM = "memory/main/longterm.md"
HOST_MEMORY = "MEMORY.md"

_ROWS = (
    ("berth status", "attention", "P0"),
    ("dredging plan", "project", "P1"),
    ("storm lessons", "experience", "P2"),
    ("crew roles", "people", "P3"),
)
_INDEX = """---
{head}
status: active
last_updated: 2026-03-02
---

# {title}

{canary}

## Hard Rules

- Ask before a berth is given away.

## Routing

| Scenario | File | Priority |
|---|---|---|
{rows}
"""


class Readable(Protocol):
    """A request to a model, whichever model's."""

    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Group:
    """A mapped group: its friendly name, its id on the channel, and the session key of its conversation."""

    name: str
    id: str

    @property
    def key(self) -> str:
        return f"agent:main:telegram:group:{self.id}"

    @property
    def index(self) -> str:
        return f"memory/groups/{self.name}.md"

    def file(self, name: str) -> str:
        return f"memory/groups/{self.name}/{name}.md"


HARBOUR = Group("harbour-works", "-1001734500921")
PORT = Group("港务组", "-1002860417735")


class Workspace:
    """The memory in a project folder. `canaries` maps each file, relative to the folder, to its word."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.canaries: dict[str, str] = {}
        self._before: dict[str, bytes] = {}

    def write(
        self, groups: Sequence[Group] = (HARBOUR, PORT), mapped: Sequence[Group] = (HARBOUR,), settings: str = ""
    ) -> None:
        """Lay down `apm.toml` and the memory files of the owner and of groups, of which some are mapped."""
        (self.root / "apm.toml").write_text(f'timezone = "Europe/Oslo"\n{settings}', "utf-8")
        rows = "| berths | attention.md | P0 |\n| old decisions | longterm.md | P1 |"
        self._index(DM_INDEX, "type: main", "Main", rows)
        self._page(DM_ATTENTION)
        self._page(DM_LONGTERM)
        self._page(HOST_MEMORY)
        for group in groups:
            rows = "\n".join(f"| {scenario} | {name}.md | {rank} |" for scenario, name, rank in _ROWS)
            self._index(group.index, f"group_name: {group.name}", group.name, rows)
            for _, name, _ in _ROWS:
                self._page(group.file(name))
        names = {group.id: {"name": group.name, "channel": "telegram"} for group in mapped}
        (self.root / "memory/groups/group_names.json").write_text(json.dumps(names, indent=2) + "\n", "utf-8")

    def canary(self, path: str) -> str:
        """The word of one file, made up when it is first asked for."""
        return self.canaries.setdefault(path, f"canary{secrets.token_hex(8)}")

    def _page(self, path: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        title = target.stem.capitalize()
        target.write_text(f"# {title}\n\n- The watchword is {self.canary(path)}.\n", "utf-8")

    def _index(self, path: str, head: str, title: str, rows: str) -> None:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        text = _INDEX.format(head=head, title=title, canary=self.canary(path), rows=rows)
        target.write_text(text, "utf-8")

    def seen_in(self, requests: Iterable[Readable]) -> set[str]:
        """The files of which something stands in any of these requests."""
        texts = [request.text for request in requests]
        return {path for path, canary in self.canaries.items() if any(canary in text for text in texts)}

    def remember_files(self) -> None:
        """Take down what lies in the folder now; `strays` compares with it."""
        self._before = self._files()

    def strays(self) -> list[str]:
        """What is new, changed or gone since, but for what hooks may write: `.apm/` and flush states."""
        after = self._files()
        every = self._before.keys() | after.keys()
        differing = (path for path in every if self._before.get(path) != after.get(path))
        return sorted(path for path in differing if not _may_be_written(path))

    def _files(self) -> dict[str, bytes]:
        paths = (path for path in self.root.rglob("*") if path.is_file())
        named = {path.relative_to(self.root).as_posix(): path for path in paths}
        return {name: path.read_bytes() for name, path in named.items() if not name.startswith(".git/")}


def _may_be_written(path: str) -> bool:
    name = path.rpartition("/")[2]
    return path.startswith(".apm/") or (path.startswith("memory/") and name.startswith("flush-state.json"))


def apm_hooks(claude: Claude, *arguments: str, cwd: Path | None = None) -> str:
    """Run the product's command as a person would, in the home of `claude`, and return what it printed.

    Raises `HostFailedError` if it fails.
    """
    if not APM_HOOKS.is_file():
        raise HostFailedError(f"{APM_HOOKS} is not there. Run: pip install -e . in this environment.")
    done = claude.run([str(APM_HOOKS), *arguments], cwd=cwd)
    if done.returncode:
        said = f"exit {done.returncode}: {done.stdout}{done.stderr}"
        raise HostFailedError(f"apm-hooks {' '.join(arguments)}: {said}")
    return done.stdout
