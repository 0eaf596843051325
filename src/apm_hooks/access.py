"""Frozen records of what a tool call could do to files, whatever host and tool it comes from (protocol, section 8)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class AccessKind(StrEnum):
    """What happens to a path.

    `search` prints lines of files, `list` tells names and sizes, never content. `edit` changes a part of a file.
    `move-from` takes a file away from its place. `session-search` looks through stored conversations, whoever's.
    """

    READ = "read"
    WRITE = "write"
    EDIT = "edit"
    DELETE = "delete"
    MOVE_FROM = "move-from"
    LIST = "list"
    SEARCH = "search"
    EXECUTE = "execute"
    SESSION_SEARCH = "session-search"


CHANGES = frozenset((AccessKind.WRITE, AccessKind.EDIT, AccessKind.DELETE, AccessKind.MOVE_FROM))


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement in a file: `old` by `new`, everywhere (`every`) or once."""

    old: str
    new: str
    every: bool = False


@dataclass(frozen=True, slots=True)
class Access:
    """One path that a tool call could touch.

    `path` is absolute and lexically normalised; empty for a search without a path, which looks everywhere. With `glob`
    it is a pattern. `recursive`: all below it too; `only` are then file-name patterns of which one must match (empty:
    any). `content` is the whole new text of a write, `edits` are those of an edit, in order; None and empty where they
    cannot be told. `word` is what the agent wrote.
    """

    kind: AccessKind
    path: str
    recursive: bool = False
    glob: bool = False
    only: tuple[str, ...] = ()
    content: str | None = None
    edits: tuple[Edit, ...] = ()
    word: str = ""


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Something that cannot be judged: a short stable `reason` and what the agent wrote. `opaque`: it is about what a
    program does beyond its words, not about the words."""

    reason: str
    word: str
    opaque: bool = False


@dataclass(frozen=True, slots=True)
class Calling:
    """What a tool call could do. `known` is False for a tool of an unknown name. `command` is the shell command, if it
    is one; `own` are the words of each call of our own command in it."""

    accesses: tuple[Access, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    known: bool = True
    command: str = ""
    own: tuple[tuple[str, ...], ...] = ()
