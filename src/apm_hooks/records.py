"""Frozen records that cross the borders between rooms; no behaviour beyond naming what they hold.

Paths inside records are relative to the workspace and use `/`. Sizes are in the unit that the field names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum


class ChatType(StrEnum):
    """What kind of conversation a session key names (protocol, section 1)."""

    DIRECT = "direct"
    GROUP = "group"
    SUBAGENT = "subagent"
    CRON = "cron"
    UNKNOWN = "unknown"


class ScopeKind(StrEnum):
    """Whose memory: the owner's own, or one group's."""

    DM = "DM"
    GROUP = "Group"


class Source(StrEnum):
    """Why a session starts. All but `resume` begin an epoch: a model context that holds nothing of ours yet."""

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    COMPACT = "compact"
    FORK = "fork"


@dataclass(frozen=True, slots=True)
class Limits:
    """Every size, count and time bound in one place.

    Units stand in the names: `_bytes`, `_tokens`, `_chars` (code points), `_seconds`, `_ns`, `_days`.
    """

    file_bytes: int = 4 * 1024 * 1024
    settings_bytes: int = 4 * 1024 * 1024
    event_bytes: int = 16 * 1024 * 1024
    line_chars: int = 100_000
    name_bytes: int = 200
    name_depth: int = 8
    key_chars: int = 2_000
    group_budget_tokens: int = 6_000
    dm_budget_tokens: int = 8_000
    budget_ceiling_tokens: int = 1_000_000
    p_file_share: float = 0.7
    progressive_share: float = 0.6
    facts_share: float = 0.25
    seam_tokens: int = 8
    routes: int = 2_000
    lock_seconds: float = 5.0
    hook_seconds: float = 8.0
    plugin_seconds: float = 2.0
    plugin_load_seconds: float = 5.0
    racy_ns: int = 2_000_000_000
    ledger_bytes: int = 256 * 1024
    ledgers: int = 2_000
    log_bytes: int = 512 * 1024
    start_records: int = 500
    prepared: int = 2_000
    session_pointers: int = 5_000
    read_retries: int = 3
    flush_messages: int = 10
    flush_tokens: int = 1_000
    flush_paths: int = 50
    flush_records: int = 32
    flush_identities: int = 8
    flush_sessions: int = 2_000
    pending_items: int = 40
    pending_chars: int = 400
    directive_tokens: int = 600
    directive_share: float = 0.1
    news_share: float = 0.2
    scope_files: int = 100_000
    hash_seconds: float = 2.0
    state_bytes: int = 32 * 1024 * 1024
    set_aside: int = 5
    active_sessions: int = 5_000
    turn_seconds: float = 4 * 3600.0
    image_bytes: int = 256 * 1024
    images: int = 2_000
    flush_images: int = 100


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class SessionKey:
    """A host's session key, parsed (protocol, section 3).

    `raw` is the host's text. `id` is the peer of a direct chat or the id of a group, without its thread;
    `thread` is the thread or topic, if any. `owner` is true for `main` and its threads: the owner's own session.
    """

    raw: str
    chat: ChatType
    agent: str = ""
    channel: str = ""
    account: str = ""
    id: str = ""
    thread: str = ""
    owner: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory a session may touch: the owner's (`DM`) or one group's (`Group(name)`), never two."""

    kind: ScopeKind
    name: str = ""

    def __str__(self) -> str:
        return "DM" if self.kind is ScopeKind.DM else f"Group({self.name})"

    @property
    def index_path(self) -> str:
        """The one entry to this scope's memory, relative to the workspace."""
        return "memory/main/index.md" if self.kind is ScopeKind.DM else f"memory/groups/{self.name}.md"

    @property
    def directory(self) -> str:
        """Where the files that the index routes to lie, relative to the workspace."""
        return "memory/main" if self.kind is ScopeKind.DM else f"memory/groups/{self.name}"


DM = Scope(ScopeKind.DM)


@dataclass(frozen=True, slots=True)
class ScopeDecision:
    """A scope, or none, and why.

    `code` is a short stable word (`owner`, `group`, `unmapped-group`, `unknown-key`, …). `detail` and `remedy`
    are for the operator (log, `explain`) and may name ids; they are never shown to a model.
    """

    scope: Scope | None
    code: str
    detail: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class HostEvent:
    """What a host tells us at a session's start, in our words.

    `session_key` is None where the host names no conversation, and empty where it names an empty one: the two
    differ (protocol, section 3). `single_user` is true for hosts that have no chats (a coding CLI).
    `is_group` is the host's own word on the turn, if it has one. `sender` is the turn's peer on a channel.
    `message_events` is false for a host that tells us of no messages.

    How full the model's context is: `context_tokens` (None: not known) of `context_window` (0: not known), and
    `compaction_at`, the number of tokens at which the host compacts by itself (0: not known). `transcript` is the
    absolute path of the host's record of the session, if it keeps one: its time says whether a turn is still at work.
    """

    host: str
    session_id: str
    source: Source = Source.STARTUP
    session_key: str | None = None
    single_user: bool = False
    is_group: bool | None = None
    sender: str | None = None
    subagent: bool = False
    message: str = ""
    message_events: bool = True
    context_tokens: int | None = None
    context_window: int = 0
    compaction_at: int = 0
    transcript: str = ""


@dataclass(frozen=True, slots=True)
class Route:
    """One row of an index's routing table (protocol, section 4).

    `path` is relative to the scope's directory, or empty where the row points elsewhere (`problem` says so).
    `priority` is 0 to 3; `sub_file` marks `P2-L3`. `scenarios` are the row's alternatives, as written.
    """

    scenarios: tuple[str, ...]
    path: str
    priority: int
    sub_file: bool = False
    deprecated: bool = False
    catch_all: bool = False
    line: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that its owner should mend: `rule`, line (from 1; 0: the whole file), one sentence."""

    rule: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Index:
    """An index file, parsed (protocol, section 4).

    `budget_tokens` is None where the frontmatter sets none or sets nonsense (then `problems` says so).
    """

    meta: dict[str, str] = field(default_factory=dict)
    budget_tokens: int | None = None
    hard_rules: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class RouteMatch:
    """The row that a message was routed to, and what decided it. `words` are the message's own words."""

    route: Route
    score: float
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """One limit on an injected text: `measure(text)` may not exceed `limit` (tokens, UTF-16 units, bytes …)."""

    unit: str
    measure: Callable[[str], int]
    limit: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A text made to fit. `omitted_lines` and `omitted_tokens` are 0 where nothing was left out."""

    text: str
    omitted_lines: int = 0
    omitted_tokens: int = 0

    @property
    def whole(self) -> bool:
        return not self.omitted_lines


@dataclass(frozen=True, slots=True)
class Fragment:
    """One piece of an injection before it is rendered: content of one file, or a notice of ours (no path)."""

    layer: str
    text: str
    path: str = ""
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One decision of the loader: what it looked at, what it did, why, at what token cost."""

    step: str
    path: str
    verdict: str
    reason: str
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Injection:
    """What the model receives: `text` is final, `tokens` its exact count; empty text means nothing is injected.

    `digest` names the text in the ledger; `files` are (path, layer) of what it holds.
    """

    text: str = ""
    tokens: int = 0
    digest: str = ""
    files: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Loaded:
    """The loader's answer with its own trace.

    `directive` stands beside the injection and asks the agent to write memory back now (empty: nothing is asked).

    `warning` is one line for the host's user, without memory content. `inputs` are the workspace-relative paths it
    looked at; `tripped`: the budget ran out, so that nothing more is loaded in this epoch; `done`: automatic loading
    by messages is over for this epoch. `day` is the calendar day that the answer depends on, if it does.
    """

    decision: ScopeDecision
    injection: Injection
    steps: tuple[Step, ...] = ()
    budget_tokens: int = 0
    warning: str = ""
    inputs: tuple[str, ...] = ()
    tripped: bool = False
    done: bool = False
    day: date | None = None
    directive: Injection = field(default_factory=Injection)
