"""Frozen records of flushes: what the state file holds of them, and what a caller gets back (protocol, section 9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

from apm_hooks.events import FlushAnswer
from apm_hooks.records import Injection, Scope


class Trigger(StrEnum):
    """Why memory is written back."""

    REMEM = "remem"
    PRE_COMPACTION = "pre-compaction"
    IDLE = "idle"


class Outcome(StrEnum):
    """The state of a flush: recorded and handed out; settled, the agent having written; its turn over without a write;
    or a compaction that came without its event."""

    ISSUED = "issued"
    WRITTEN = "written"
    UNWRITTEN = "unwritten"
    MISSED = "missed"


class Status(StrEnum):
    """What became of a request to flush.

    `issued`: a new flush. `same`: the event came again. `running`: the session's flush is not settled yet.
    `settled`: the session's turn is over. `nothing`: there is nothing to save. `no-scope`: the session has no memory.
    `failed`: the record could not be made.
    """

    ISSUED = "issued"
    SAME = "same"
    RUNNING = "running"
    SETTLED = "settled"
    NOTHING = "nothing"
    NO_SCOPE = "no-scope"
    FAILED = "failed"


class PendingKind(StrEnum):
    """What a pending item is about.

    `unwritten`, `idle` and `missed` come from flushes and go with the next one that is written; a `lead` (unconfirmed,
    from the agent or a person) and a `plugin`'s item go when they are marked done.
    """

    UNWRITTEN = "unwritten"
    IDLE = "idle"
    MISSED = "missed"
    LEAD = "lead"
    PLUGIN = "plugin"


@dataclass(frozen=True, slots=True)
class Pending:
    """Something to settle first at the next flush. `id` is short and unique in its scope; `session` and `number` are
    those of the flush that left it (empty, 0: none); `at` is ISO-8601 with offset."""

    id: str
    kind: PendingKind
    text: str
    session: str = ""
    number: int = 0
    at: str = ""


@dataclass(frozen=True, slots=True)
class Flush:
    """One flush as recorded. `number` is 0 for a missed one. `session` is the session's name in file names (a hash).
    `generation` is the state's generation that recorded it: what was noticed later was written after it. `told`: a
    directive reached the agent. `changed` names the first changed files, `changes` counts them all."""

    number: int
    trigger: Trigger
    session: str
    at: str
    generation: int
    outcome: Outcome
    identity: str = ""
    told: bool = False
    changed: tuple[str, ...] = ()
    changes: int = 0


Entry: TypeAlias = tuple[int, int, int, int, str, int, int]
"""What is known of one file: mtime, size, inode, ctime (times in ns), content hash, the generation that noticed its
last change, and 1 where the stamp was too fresh to be believed (else 0)."""


@dataclass(frozen=True, slots=True)
class Book:
    """What a scope's state file holds, in our words.

    `number` is None where there was never a flush, which is not zero. `flushes` are the latest, oldest first, and every
    open one. `seen` maps a session to the identities (`trigger:identity`) of its latest flushes. `files` maps a
    workspace-relative path to its entry; `gone` maps a deleted one to the generation that noticed.
    """

    generation: int = 0
    number: int | None = None
    last_time: str | None = None
    usage_percent: float | None = None
    session_id: str | None = None
    flushes: tuple[Flush, ...] = ()
    pending: tuple[Pending, ...] = ()
    seen: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    files: Mapping[str, Entry] = field(default_factory=lambda: MappingProxyType({}))
    gone: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Delta:
    """Files that differ from what was recorded, as sorted workspace-relative paths; `refused` are (path, what it is) of
    what was not looked into: links, devices and the like. `complete` is False where a bound stopped the search."""

    added: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    complete: bool = True

    @property
    def changed(self) -> tuple[str, ...]:
        """Every path that differs, sorted."""
        return tuple(sorted({*self.added, *self.modified, *self.removed}))


@dataclass(frozen=True, slots=True)
class FlushReport:
    """What became of a request to flush, or of the end of one.

    `number` is None where the scope was never flushed. `directive` is the text for the agent (empty: none, or left for
    the next start). `warning` is one line for the host's user, without memory content.
    """

    status: Status
    trigger: Trigger
    scope: Scope | None
    number: int | None = None
    outcome: Outcome | None = None
    delta: Delta = field(default_factory=Delta)
    pending: tuple[Pending, ...] = ()
    directive: Injection = field(default_factory=Injection)
    answers: tuple[FlushAnswer, ...] = ()
    warning: str = ""
