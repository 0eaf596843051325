"""Which file belongs to whom: the table of protocol, section 2, for loader, gate and audit alike.

The table covers files in the workspace. A host's transcripts and stored output lie elsewhere; they, the
folders that a search reaches, and the order in which files may be read are the gate's to know.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from apm_hooks.names import without_invisible
from apm_hooks.records import Scope, ScopeKind


class Owner(StrEnum):
    """Whose a file is: the owner's own, one group's, or the operator's (and our hooks')."""

    DM = "DM"
    GROUP = "group"
    OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Ownership:
    """One row: a kind of file, where it lies, whose it is, what an agent may do with it through its tools.

    In `patterns`, `*` is any part of one path component, `{name}` any whole component, `{date}` a
    `YYYY-MM-DD`, `**/` any folders or none, and a trailing `/**` the folder itself and all below it.
    `dm_…` are the rights of the owner's own scope, `group_…` those of the group whose path it is; another
    group has none. `…_loads`: the loader may inject it there by itself.
    """

    kind: str
    patterns: tuple[str, ...]
    owner: Owner
    why: str
    dm_reads: bool = False
    dm_writes: bool = False
    dm_loads: bool = False
    group_reads: bool = False
    group_writes: bool = False
    group_loads: bool = False


OWNERSHIP: tuple[Ownership, ...] = (
    Ownership(
        "machine state", (".apm/**",),
        Owner.OPERATOR,
        "Ledgers, caches and records of all scopes lie side by side in it.",
    ),
    Ownership(
        "settings", ("apm.toml",),
        Owner.OPERATOR,
        "It decides who the owner is: an agent that could change it could open every memory.",
    ),
    Ownership(
        "history", (".git/**",),
        Owner.DM,
        "It holds every earlier text of every file, whoever that was written for.",
        dm_reads=True, dm_writes=True,
    ),
    Ownership(
        "aggregate state", ("memory/groups/flush-state.json*", "memory/groups/.flush-state.json*"),
        Owner.OPERATOR,
        "It has a row for every group: who reads it learns which other groups there are.",
    ),
    Ownership(
        "group map", ("memory/groups/group_names.json*", "memory/groups/.group_names.json*"),
        Owner.OPERATOR,
        "It decides which memory a group gets, and lists all groups.",
        dm_reads=True,
    ),
    Ownership(
        "group state",
        ("memory/groups/{name}/**/flush-state.json*", "memory/groups/{name}/**/.flush-state.json*"),
        Owner.GROUP,
        "The record of a group's flushes is written by our hooks alone, and is that group's to know.",
        group_reads=True,
    ),
    Ownership(
        "flush state", ("**/flush-state.json*", "**/.flush-state.json*"),
        Owner.DM,
        "The record of a flush is written by our hooks alone; wherever it lies, it is not a group's.",
        dm_reads=True,
    ),
    Ownership(
        "group's MEMORY.md", ("memory/groups/{name}/**/MEMORY.md",),
        Owner.GROUP,
        "Files of this name are a host's to load, never ours.",
        dm_reads=True, group_reads=True, group_writes=True,
    ),
    Ownership(
        "group index", ("memory/groups/{name}.md",),
        Owner.GROUP,
        "The only entry to a group's memory; the owner may read it, and every other group is a stranger.",
        dm_reads=True, group_reads=True, group_writes=True, group_loads=True,
    ),
    Ownership(
        "group file", ("memory/groups/{name}/**/{name}",),
        Owner.GROUP,
        "What a group told its agent stays in that group; the owner may read it, index first.",
        dm_reads=True, group_reads=True, group_writes=True, group_loads=True,
    ),
    Ownership(
        "MEMORY.md", ("MEMORY.md", "memory/**/MEMORY.md"),
        Owner.DM,
        "The owner's long-term memory, which the host loads by itself.",
        dm_reads=True, dm_writes=True,
    ),
    Ownership(
        "main memory", ("memory/main/**",),
        Owner.DM,
        "What the owner said to the agent alone.",
        dm_reads=True, dm_writes=True, dm_loads=True,
    ),
    Ownership(
        "daily note", ("memory/{date}*.md",),
        Owner.DM,
        "The owner's days; hosts write them in any session, so they may hold anything.",
        dm_reads=True, dm_writes=True, dm_loads=True,
    ),
    Ownership(
        "log", ("log/**",),
        Owner.DM,
        "The agent's logs quote what was said to it, by whomever.",
        dm_reads=True, dm_writes=True, dm_loads=True,
    ),
    Ownership(
        "other memory", ("memory/**",),
        Owner.DM,
        "INDEX.md, notes and all that no other row names: in doubt it is the owner's.",
        dm_reads=True, dm_writes=True, dm_loads=True,
    ),
)  # fmt: skip
"""First row that matches counts. What no row names is not ours to judge."""


@dataclass(frozen=True, slots=True)
class Owned:
    """The row of a path, or None where it is nobody's.

    `group` is the first component below `memory/groups/` (without an index's `.md`) where the row is a
    group's: of a nested name a path tells only the first part, so `in_group` decides.
    """

    row: Ownership | None
    group: str = ""


def normalise(path: str) -> str | None:
    """A path relative to the workspace without `.`, `..` and empty components.

    None for what names nothing in the workspace: absolute, leading out of it by `..`, with NUL, or empty.
    """
    if path.startswith("/") or "\0" in path:
        return None
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or None


def classify(path: str) -> Owned:
    """The first row that names a path as it is written, or else as a folding file system would read it.

    A path that names nothing in the workspace is nobody's.
    """
    plain = normalise(path)
    if plain is None:
        return Owned(None)
    row = _row(plain, folded=False) or _row(_fold(plain), folded=True)
    if row is None or row.owner is not Owner.GROUP:
        return Owned(row)
    first, *deeper = plain.split("/")[2:]
    return Owned(row, first if deeper else first.rpartition(".")[0])


def in_group(name: str, path: str) -> bool:
    """Whether a normalised path is the index of the group `name`, or lies in its folder."""
    index, folder = f"memory/groups/{name}.md", f"memory/groups/{name}/"
    return bool(name) and (path == index or path.startswith(folder))


def owner_reads(scope: Scope | None, path: str) -> bool:
    """Whether an agent in `scope` may read a file: what is nobody's, and what the table gives.

    False for a path that names nothing in the workspace.
    """
    return _may(scope, path, "reads")


def owner_writes(scope: Scope | None, path: str) -> bool:
    """Whether an agent in `scope` may write, move or delete a file: as `owner_reads`, and never our state."""
    return _may(scope, path, "writes")


def loads(scope: Scope | None, path: str) -> bool:
    """Whether the loader may inject a file in `scope` by itself: only memory of that very scope."""
    return _may(scope, path, "loads")


def _may(scope: Scope | None, path: str, right: str) -> bool:
    """A right holds only if it holds both for the path as written and as a folding file system reads it."""
    plain = normalise(path)
    if plain is None:
        return False
    name = scope.name if scope is not None else ""
    return _holds(scope, name, plain, right, folded=False) and _holds(
        scope, _fold(name), _fold(plain), right, folded=True
    )


def _holds(scope: Scope | None, name: str, path: str, right: str, *, folded: bool) -> bool:
    row = _row(path, folded=folded)
    if row is None:
        return right != "loads"
    if scope is None:
        return False
    if scope.kind is ScopeKind.DM:
        return bool(getattr(row, f"dm_{right}"))
    return in_group(name, path) and bool(getattr(row, f"group_{right}"))


def _row(path: str, *, folded: bool) -> Ownership | None:
    for row in OWNERSHIP:
        if any(_grammar(pattern, folded).fullmatch(path) for pattern in row.patterns):
            return row
    return None


def _fold(path: str) -> str:
    """A path as the most forgiving file system compares it: no case, one Unicode form, nothing invisible."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", without_invisible(path)).casefold())


_PIECES = {
    "**/": "(?:[^/]+/)*",
    "/**": "(?:/.*)?",
    "{name}": "[^/]+",
    "{date}": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "*": "[^/]*",
}


@cache
def _grammar(pattern: str, folded: bool) -> re.Pattern[str]:
    pieces = re.split(r"(\*\*/|/\*\*$|\{name\}|\{date\}|\*)", pattern.casefold() if folded else pattern)
    return re.compile("".join(_PIECES.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)
