"""The flows, each readable top to bottom in one function: what a host adapter, a command or a framework calls."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as clock_time
from itertools import count

from apm_hooks import fastlane, ledger, texts
from apm_hooks.errors import ApmError
from apm_hooks.files import read_text
from apm_hooks.flushstate import DM_STATE, last_flush_line
from apm_hooks.index import parse_index
from apm_hooks.ledger import Epoch
from apm_hooks.log import write_log
from apm_hooks.places import Places, places
from apm_hooks.prepared import Prepared, Stamps, believable, hold, stamps_of
from apm_hooks.protocol import dm, group
from apm_hooks.protocol.loading import Loading
from apm_hooks.records import (
    DM,
    LIMITS,
    Bound,
    HostEvent,
    Injection,
    Limits,
    Loaded,
    RouteMatch,
    Scope,
    ScopeDecision,
    Source,
)
from apm_hooks.scope import decide_scope
from apm_hooks.session import parse_session_key
from apm_hooks.tokens import CountCache, TokenCounter, load_counter
from apm_hooks.workspace import Workspace, open_workspace

_numbers = count()


@dataclass(slots=True)
class _Opened:
    """A workspace as read once, the stamps under which that holds, and what was decided under it.

    `number` differs for each reading in the process, so that what was prepared under one is not used under another.
    """

    workspace: Workspace
    stamps: Stamps
    number: int = field(default_factory=lambda: next(_numbers))
    decisions: dict[tuple[object, ...], ScopeDecision] = field(default_factory=dict)

    def decide(self, event: HostEvent) -> ScopeDecision:
        """Whose memory the event's session may touch; a session that moved is decided anew."""
        key = (event.session_key, event.single_user, event.is_group, event.sender, event.subagent)
        found = self.decisions.get(key)
        if found is None:
            found = self._decide(event)
            if len(self.decisions) >= LIMITS.prepared:
                self.decisions.clear()
            self.decisions[key] = found
        return found

    def _decide(self, event: HostEvent) -> ScopeDecision:
        workspace = self.workspace
        decision = decide_scope(event, workspace.privacy, workspace.groups)
        if decision.scope is None and workspace.changed:
            names = ", ".join(workspace.changed)
            return ScopeDecision(
                None, decision.code, f"{decision.detail}; not counted, because changed since it was accepted: {names}",
                "Review the change, then run: apm-hooks trust",
            )  # fmt: skip
        return decision


class Runtime:
    """One trusted workspace and what happens in it.

    Holds no session: a session lives in its ledger on disk. Settings, group map and trust are read again when their
    files change. `env` is read once; `clock` gives the time in seconds since 1970. Raises NotTrustedError or
    SettingsError when made, and at any later call once the workspace is no longer accepted or a setting is damaged.
    """

    def __init__(
        self, root: str, env: Mapping[str, str], *, clock: Callable[[], float], limits: Limits = LIMITS
    ) -> None:
        self.where: Places = places(env)
        self.root = root
        self.limits = limits
        self._env = dict(env)
        self._clock = clock
        self._kept: _Opened | None = None
        self._starts: Prepared[Loaded] = Prepared()
        self._counter: CountCache | None = None
        self._pruned = False
        self._encoding = ""
        self._estimated = ""
        self._open()

    @property
    def workspace(self) -> Workspace:
        """The workspace as it stands now: read again when one of its files has changed."""
        return self._open().workspace

    def _open(self) -> _Opened:
        """Settings, group map and trust for one event. They are kept while their files carry the same stamps."""
        kept = self._kept
        if kept is not None and hold(kept.stamps):
            return kept
        started = time.time_ns()
        workspace = open_workspace(self.root, self.where, self._env)
        opened = _Opened(workspace, stamps_of(self.root, (), workspace.inputs))
        self._kept = opened if believable(opened.stamps, started, self.limits.racy_ns) else None
        return opened

    @property
    def counter(self) -> TokenCounter:
        """The configured token counter, loaded when first used; it counts a text once."""
        encoding = self.workspace.settings.tokenizer
        if self._counter is None or self._encoding != encoding:
            counter = load_counter(encoding, cache_dir=os.path.join(self.where.cache, "ranks"))
            self._estimated, self._encoding = counter.warning, encoding
            self._counter = CountCache(counter)
        return self._counter

    def count(self, text: str) -> int:
        """Tokens of `text`. A message that loads nothing counts nothing, and so loads no tokenizer."""
        return self.counter(text)

    def decide(self, event: HostEvent) -> ScopeDecision:
        """Whose memory the event's session may touch, and why (protocol, section 3)."""
        return self._open().decide(event)

    def session_start(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> Loaded:
        """A session starts, resumes, or comes back from compaction: load what its scope begins with, record it.

        `caps` are the host's own bounds on the text. Never raises for what memory holds; a ledger that cannot be
        written costs the record, not the memory.
        """
        opened = self._open()
        decision = opened.decide(event)
        if event.subagent:
            return Loaded(decision, Injection())
        name = fastlane.session_name(event.host, event.session_id, event.session_key)
        epoch = self._epoch(name, decision) if event.source is Source.RESUME else Epoch()
        switched = _switched(epoch, decision)
        loaded = self._start(opened, decision, event, caps, switched=switched)
        if epoch.begun and not switched and loaded.injection.digest not in epoch.sent:
            # The context already holds other text of ours: the new one must fit beside it.
            loaded = self._start(opened, decision, event, caps, spent=epoch.spent)
        self._record(opened, name, loaded, self.ledger_entry(event, loaded))
        if not self._pruned:
            self._pruned = True
            ledger.prune(self.root)
        return loaded

    def message_received(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> Loaded:
        """A user's message: load the one file that it routes to, unless the epoch has done so (protocol, sections 5
        and 6). A session that we have not seen start, or that moved to another scope, starts here."""
        opened = self._open()
        decision = opened.decide(event)
        if event.subagent:
            return Loaded(decision, Injection())
        name = fastlane.session_name(event.host, event.session_id, event.session_key)
        epoch = self._epoch(name, decision)
        if not epoch.begun or _switched(epoch, decision) or epoch.scope != _scope_text(decision.scope):
            switched = _switched(epoch, decision)
            started = self._start(opened, decision, event, caps, switched=switched, message=event.message)
            self._record(opened, name, started, self.ledger_entry(event, started, source=ledger.SWITCH))
            return started
        loaded = self._message(decision, event, caps, epoch)
        if loaded.injection.text or loaded.done:
            injection = loaded.injection
            entry = ledger.message_entry(
                digest=injection.digest, tokens=injection.tokens, files=injection.files, tripped=loaded.tripped,
                done=loaded.done, inputs=self.settings_stamp(event),
            )  # fmt: skip
            self._record(opened, name, loaded, entry)
        return loaded

    def explain(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> tuple[Loaded, Loaded | None]:
        """What a session start, and then the event's message if it has one, would do in a fresh epoch; nothing is
        recorded."""
        opened = self._open()
        decision = opened.decide(event)
        started = self._start(opened, decision, event, caps)
        if decision.scope is None or not event.message.strip():
            return started, None
        entry = self.ledger_entry(event, started)
        return started, self._message(decision, event, caps, ledger.fold(ledger.encode(entry)))

    def route(self, scope: Scope | None, message: str) -> RouteMatch | None:
        """The row of the scope's routing table that `message` matches, whatever is loaded already; None for none."""
        if scope is None or not message.strip():
            return None
        found = read_text(self.root, scope.index_path, limits=self.limits)
        return group.best_route(message, parse_index(found.text, scope), set()) if found else None

    def is_owner(self, event: HostEvent) -> bool:
        """True where the event's session is the owner's: what concerns the whole workspace may be shown there."""
        return self.decide(event).scope == DM

    def settings_stamp(self, event: HostEvent) -> str:
        """What names the settings and the session key that a decision about `event` rests on."""
        return fastlane.settings_stamp(self._env, self.root, event.session_key)

    def _epoch(self, name: str, decision: ScopeDecision) -> Epoch:
        """The session's epoch so far; one that has not begun where there is none or it cannot be read."""
        try:
            return ledger.read_epoch(self.root, name)
        except ApmError as error:
            self._log("ledger-unreadable", decision, str(error))
            return Epoch()

    def _start(
        self, opened: _Opened, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], *, spent: int = 0,
        switched: bool = False, message: str = "",
    ) -> Loaded:  # fmt: skip
        """What a session of this scope begins with; kept in memory while none of its inputs changes."""
        day = self.today() if decision.scope == DM else None
        bounds = tuple((cap.unit, cap.limit) for cap in caps)
        key = (opened.number, decision, bounds, spent, switched, event.message_events, day)
        kept = None if message else self._starts.get(key)
        if kept is not None:
            return kept
        started = time.time_ns()
        loaded = self._render_start(decision, event, caps, spent, switched, message, day)
        stamps = stamps_of(self.root, loaded.inputs, ())
        if not message and believable(stamps, started, self.limits.racy_ns):
            self._starts.put(key, stamps, loaded)
        return loaded

    def _render_start(
        self, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], spent: int, switched: bool,
        message: str, day: date | None,
    ) -> Loaded:  # fmt: skip
        scope = decision.scope
        loading = self._loading(scope, caps, spent)
        if switched:
            loading.say("scope", texts.SCOPE_SWITCHED)
        done = False
        if scope is None:
            loading.note("0 map", "", "refused", decision.code)
            loading.say("0 map", texts.NO_MEMORY)
        elif day is not None:
            dm.load_start(
                loading, day, lambda: last_flush_line(self.root, self.zone()), message_events=event.message_events
            )
            loading.inputs.append(DM_STATE)
        else:
            group.load_start(loading, scope, parse_session_key(event.session_key or "").id)
        if scope is not None and message.strip() and loading.files():
            done = _route(loading, scope, message, loading.files())
        return self._loaded(decision, loading, done=done, day=day)

    def _message(self, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], epoch: Epoch) -> Loaded:
        scope = decision.scope
        loading = self._loading(scope, caps, epoch.spent)
        if scope is None:
            return Loaded(decision, Injection())
        loading.budget = epoch.budget
        if epoch.done or epoch.tripped:
            loading.note("2 match", "", "skipped", texts.SKIP_DONE)
            return self._loaded(decision, loading, done=True)
        return self._loaded(decision, loading, done=_route(loading, scope, event.message, epoch.files))

    def _loading(self, scope: Scope | None, caps: Sequence[Bound], spent: int) -> Loading:
        budget = self.limits.dm_budget_tokens if scope == DM else self.limits.group_budget_tokens
        return Loading(self.root, scope, self.count, budget, caps, spent, self.limits)

    def _loaded(self, decision: ScopeDecision, loading: Loading, *, done: bool, day: date | None = None) -> Loaded:
        injection = loading.injection()
        return Loaded(
            decision, injection, tuple(loading.steps), loading.budget,
            warning=texts.ESTIMATE_WARNING.format(warning=self._estimated) if self._estimated else "",
            inputs=tuple(loading.inputs), tripped=loading.tripped, done=done or loading.tripped, day=day,
        )  # fmt: skip

    def _record(self, opened: _Opened, name: str, loaded: Loaded, entry: Mapping[str, object]) -> None:
        decision = loaded.decision
        if decision.scope is None:
            self._log(decision.code, decision, f"{decision.detail}. {decision.remedy}".strip())
        for step in loaded.steps:
            if step.verdict == "refused" and step.path:
                self._log("file-refused", decision, f"{step.path}: {step.reason}")
        for problem in opened.workspace.problems:
            self._log(problem.code, decision, str(problem))
        try:
            ledger.append(self.root, name, entry)
        except ApmError as error:
            self._log("ledger-unwritable", decision, str(error))

    def ledger_entry(self, event: HostEvent, loaded: Loaded, *, source: str = "") -> dict[str, object]:
        """The ledger's line for a session start: the fast lane appends the same bytes."""
        return ledger.start_entry(
            source=source or event.source.value, scope=_scope_text(loaded.decision.scope), budget=loaded.budget_tokens,
            digest=loaded.injection.digest, tokens=loaded.injection.tokens, files=loaded.injection.files,
            tripped=loaded.tripped, done=loaded.done,
        )  # fmt: skip

    def today(self) -> date:
        """The calendar day in the workspace's time zone."""
        return datetime.fromtimestamp(self._clock(), self.zone()).date()

    def bounds_of(self, day: date | None) -> tuple[float, float]:
        """When an answer that depends on `day` begins and ceases to hold, in seconds since 1970; without a day it holds
        for as long as seconds are counted."""
        if day is None:
            return 0.0, 1e12
        begins, ends = (datetime.combine(each, clock_time.min) for each in (day, day + timedelta(days=1)))
        zone = self.zone()
        return begins.replace(tzinfo=zone).timestamp(), ends.replace(tzinfo=zone).timestamp()

    def zone(self) -> tzinfo | None:
        """The workspace's time zone; None means the machine's."""
        name = self.workspace.settings.timezone
        if not name:
            return None
        from zoneinfo import ZoneInfo

        return ZoneInfo(name)

    def _log(self, code: str, decision: ScopeDecision, text: str) -> None:
        when = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="seconds")
        write_log(self.root, {"when": when, "code": code, "scope": _scope_text(decision.scope), "text": text})


def _route(loading: Loading, scope: Scope, message: str, loaded: Sequence[tuple[str, str]]) -> bool:
    """Load what `message` routes to; True where automatic loading is done for the epoch."""
    if scope == DM:
        return dm.load_message(loading, message, loaded)
    return group.load_message(loading, scope, message, loaded)


def _scope_text(scope: Scope | None) -> str:
    return str(scope) if scope else ""


def _switched(epoch: Epoch, decision: ScopeDecision) -> bool:
    """True where the session's context holds another conversation's memory."""
    return epoch.begun and bool(epoch.sent) and epoch.scope != _scope_text(decision.scope)
