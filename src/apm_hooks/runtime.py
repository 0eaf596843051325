"""The flows, each readable top to bottom in one function: what a host adapter, a command or a framework calls."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as clock_time

from apm_hooks import fastlane, ledger, texts
from apm_hooks.builtin import channels, intent, memory
from apm_hooks.errors import ApmError
from apm_hooks.events import Contribution, IntentQuery, MessageReceived, SessionStart
from apm_hooks.files import read_text
from apm_hooks.flushstate import last_flush_line
from apm_hooks.index import parse_index
from apm_hooks.ledger import Epoch
from apm_hooks.log import write_log
from apm_hooks.opened import Opened, open_now
from apm_hooks.places import Places, places
from apm_hooks.prepared import Prepared, believable, stamps_of
from apm_hooks.protocol import group
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
    SessionKey,
    Source,
    Step,
)
from apm_hooks.tokens import CountCache, TokenCounter, load_counter
from apm_hooks.workspace import Workspace


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
        self._kept: Opened | None = None
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

    def _open(self) -> Opened:
        """Settings, group map and trust for one event. They are kept while their files carry the same stamps."""
        kept = self._kept
        if kept is not None and kept.holds():
            return kept
        self._kept = opened = open_now(self.root, self.where, self._env, self.parse, self.limits.racy_ns)
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

    def parse(self, key: str) -> SessionKey:
        """A session key by the grammar of the known channels."""
        return channels.apm_parse_session_key(key)

    def match(self, query: IntentQuery) -> RouteMatch | None:
        """The row that a message matches."""
        return intent.apm_match_intent(query)

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
        return group.best_route(message, parse_index(found.text, scope), set(), self.match) if found else None

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
        self, opened: Opened, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], *, spent: int = 0,
        switched: bool = False, message: str = "",
    ) -> Loaded:  # fmt: skip
        """What a session of this scope begins with; kept in memory while none of its inputs changes."""
        day = self.today()
        bounds = tuple((cap.unit, cap.limit) for cap in caps)
        key = (opened.number, decision, bounds, spent, switched, event.message_events, day)
        kept = None if message else self._starts.get(key)
        if kept is not None:
            return kept
        started = time.time_ns()
        scope = decision.scope
        base = memory.apm_session_start(SessionStart(
            event, scope, self.root, self._budget(scope), self.count, tuple(caps), spent, self.limits, decision.code,
            self.parse(event.session_key or "").id, day, lambda: last_flush_line(self.root, self.zone()), switched,
        ))  # fmt: skip
        loaded = self._loaded(decision, base, caps, spent)
        if scope is not None and message.strip() and loaded.injection.files:
            return self._with_message(decision, event, caps, loaded, base)
        stamps = stamps_of(self.root, loaded.inputs, ())
        if believable(stamps, started, self.limits.racy_ns):
            self._starts.put(key, stamps, loaded)
        return loaded

    def _with_message(
        self, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], started: Loaded, base: Contribution
    ) -> Loaded:
        """A start and its first message in one injection; where both do not fit, the start alone."""
        text = started.injection.text
        left = tuple(Bound(cap.unit, cap.measure, cap.limit - cap.measure(text)) for cap in caps)
        more = self._route(decision, event, left, started.injection.tokens, base.budget_tokens, started.injection.files)
        both = replace(more, fragments=base.fragments + more.fragments, steps=base.steps + more.steps,
                       inputs=base.inputs + more.inputs, day=base.day)  # fmt: skip
        loaded = self._loaded(decision, both, caps, 0)
        fits = loaded.injection.tokens <= base.budget_tokens
        fits = fits and all(cap.measure(loaded.injection.text) <= cap.limit for cap in caps)
        return loaded if fits else started

    def _message(self, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], epoch: Epoch) -> Loaded:
        if decision.scope is None:
            return Loaded(decision, Injection())
        if epoch.done or epoch.tripped:
            step = Step("2 match", "", "skipped", texts.SKIP_DONE)
            return self._loaded(decision, Contribution(steps=(step,), budget_tokens=epoch.budget, done=True), caps, 0)
        base = self._route(decision, event, caps, epoch.spent, epoch.budget, epoch.files)
        return self._loaded(decision, base, caps, epoch.spent)

    def _route(
        self, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], spent: int, budget: int,
        loaded: Sequence[tuple[str, str]],
    ) -> Contribution:  # fmt: skip
        return memory.apm_message_received(MessageReceived(
            event, decision.scope, self.root, event.message, budget, self.count, self.match, tuple(loaded),
            tuple(caps), spent, self.limits,
        ))  # fmt: skip

    def _budget(self, scope: Scope | None) -> int:
        return self.limits.dm_budget_tokens if scope == DM else self.limits.group_budget_tokens

    def _loaded(self, decision: ScopeDecision, base: Contribution, caps: Sequence[Bound], spent: int) -> Loaded:
        loading = Loading(self.root, decision.scope, self.count, base.budget_tokens, caps, spent, self.limits)
        loading.fragments = list(base.fragments)
        return Loaded(
            decision, loading.injection(), base.steps, base.budget_tokens,
            warning=texts.ESTIMATE_WARNING.format(warning=self._estimated) if self._estimated else "",
            inputs=base.inputs, tripped=base.tripped, done=base.done, day=base.day,
        )  # fmt: skip

    def _record(self, opened: Opened, name: str, loaded: Loaded, entry: Mapping[str, object]) -> None:
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


def _scope_text(scope: Scope | None) -> str:
    return str(scope) if scope else ""


def _switched(epoch: Epoch, decision: ScopeDecision) -> bool:
    """True where the session's context holds another conversation's memory."""
    return epoch.begun and bool(epoch.sent) and epoch.scope != _scope_text(decision.scope)
