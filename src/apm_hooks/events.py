"""Frozen records that plugins are given, and those that they answer with.

Facts are added as fields with a default, so that no plugin breaks. What a record holds cannot be changed; each plugin
gets a record of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from types import MappingProxyType
from typing import Any

from apm_hooks.records import LIMITS, Bound, Fragment, HostEvent, Limits, Route, RouteMatch, Scope, Step

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SessionStart:
    """A session starts, resumes, or comes back from compaction.

    `scope` is whose memory it may touch, or None. `root` is the workspace (absolute). `budget_tokens` and `caps` bound
    the whole injection, of which `spent_tokens` is gone already; `count(text)` gives tokens. `key_id` is the id that
    the session key names. `day` is today in the workspace's time zone; `last_flush()` gives the line on the last flush.
    `switched`: the session held another conversation's memory before. `pending()` gives the lines on what flushes of
    this scope left to be settled.
    """

    host: HostEvent
    scope: Scope | None
    root: str
    budget_tokens: int
    count: Callable[[str], int]
    caps: tuple[Bound, ...] = ()
    spent_tokens: int = 0
    limits: Limits = LIMITS
    reason: str = ""
    key_id: str = ""
    day: date = date.min
    last_flush: Callable[[], str] = str
    switched: bool = False
    pending: Callable[[], tuple[str, ...]] = tuple


@dataclass(frozen=True, slots=True)
class MessageReceived:
    """A user's message in a session; `text` is the message, `loaded` what the epoch has loaded, as (path, layer).

    The other fields are those of `SessionStart`.
    """

    host: HostEvent
    scope: Scope | None
    root: str
    text: str
    budget_tokens: int
    count: Callable[[str], int]
    match: Callable[[IntentQuery], RouteMatch | None]
    loaded: tuple[tuple[str, str], ...] = ()
    caps: tuple[Bound, ...] = ()
    spent_tokens: int = 0
    limits: Limits = LIMITS


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one plugin adds to an injection.

    Contributions are put together by `priority`, lowest first, then by plugin name; the built-in memory has 0. Each
    fragment is cut to what is left of the budget. `steps` are shown by `explain`; `inputs` are the workspace-relative
    files that the answer rests on: only an answer that names them may be kept. `day`: it rests on the calendar day.
    `tripped`: the budget could not take a file. `done`: messages load nothing more in this epoch.
    """

    fragments: tuple[Fragment, ...] = ()
    priority: int = 0
    steps: tuple[Step, ...] = ()
    inputs: tuple[str, ...] = ()
    budget_tokens: int = 0
    day: date | None = None
    tripped: bool = False
    done: bool = False


@dataclass(frozen=True, slots=True)
class FlushRequest:
    """Memory should be written back now. `trigger` is `remem`, `pre-compaction` or `idle`; `text` is what the user
    wrote behind `/remem`; `usage_percent` is how full the context is, where the host says. `changed` are the scope's
    files that differ from the last record, workspace-relative."""

    host: HostEvent
    scope: Scope | None
    root: str
    trigger: str
    text: str = ""
    usage_percent: float | None = None
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FlushAnswer:
    """What a plugin did or wants said at a flush: `directive` is for the agent, `report` for people; one line each or
    empty. `pending` are items that wait for the next session."""

    directive: str = ""
    report: str = ""
    pending: tuple[str, ...] = ()
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Flushed:
    """A flush was recorded, or is over, for observers.

    `outcome` is `issued`, then `written` or `unwritten`; `unwritten` alone for an idle one, `missed` for a compaction
    without its event. `changed` are the files that differ from the record before.
    """

    host: HostEvent
    scope: Scope | None
    root: str
    trigger: str
    outcome: str
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The agent is about to call a tool: its `name`, its `arguments` as the host gives them, and the directory it works
    in."""

    host: HostEvent
    scope: Scope | None
    root: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    directory: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The word on a tool call. `deny` with a reason that tells the agent what to do instead; there is no word that
    allows: the host's own permissions always apply. `advice` is for the agent beside a call that is not denied; a
    plugin's is not passed on."""

    deny: bool
    reason: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class IntentQuery:
    """A message and the rows it may be routed to; `exclude` are paths that may not be chosen, `sub_files` says which
    kind of rows is asked for."""

    text: str
    routes: tuple[Route, ...]
    exclude: frozenset[str] = frozenset()
    sub_files: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """An injection before it is given to the host: its fragments in order."""

    host: HostEvent
    scope: Scope | None
    fragments: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a reviewer leaves of an injection: for each fragment of the review its text, or None to drop it. A text may
    only lose lines."""

    texts: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class AuditRule:
    """A rule of a plugin for the audit: `check(path, text)` gives (line, sentence) for each finding in a memory
    file. `name` is prefixed with the plugin's."""

    name: str
    check: Callable[[str, str], tuple[tuple[int, str], ...]]
