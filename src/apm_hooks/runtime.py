"""The flows, each readable top to bottom in one function: what a host adapter, a command or a framework calls."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, tzinfo
from itertools import accumulate
from types import MappingProxyType
from typing import Any

from apm_hooks import fastlane, ledger, texts
from apm_hooks.compose import compose
from apm_hooks.days import zone_of
from apm_hooks.errors import UsageError
from apm_hooks.events import (
    Contribution,
    FlushAnswer,
    FlushRequest,
    IntentQuery,
    MessageReceived,
    Review,
    SessionStart,
    ToolCall,
    Verdict,
)
from apm_hooks.extensions import FLUSH_HOOKS, Extensions
from apm_hooks.files import read_text
from apm_hooks.flushstate import last_flush_line
from apm_hooks.index import parse_index
from apm_hooks.journal import Journal
from apm_hooks.ledger import Epoch
from apm_hooks.opened import Opened, open_now
from apm_hooks.places import Places, places
from apm_hooks.plugins import PluginSettings, create_plugins
from apm_hooks.prepared import Prepared, believable, stamps_of
from apm_hooks.protocol import group
from apm_hooks.protocol.loading import Loading
from apm_hooks.records import (
    DM,
    LIMITS,
    Bound,
    HostEvent,
    Index,
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
from apm_hooks.settings import load_settings
from apm_hooks.tokens import ENCODINGS, CountCache, Counter, TokenCounter, load_counter
from apm_hooks.workspace import Workspace


class Runtime:
    """One trusted workspace and what happens in it.

    Holds no session: a session lives in its ledger on disk. Settings, group map and trust are read again when their
    files change. `env` is read once; `clock` gives the time in seconds since 1970. Raises NotTrustedError or
    SettingsError when made, and at any later call once the workspace is no longer accepted or a setting is damaged.
    """

    def __init__(
        self, root: str, env: Mapping[str, str], *, clock: Callable[[], float] = time.time, limits: Limits = LIMITS,
        plugins: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        self.where: Places = places(env)
        self.root = root
        self.limits = limits
        self._env = dict(env)
        self._clock = clock
        self.journal = Journal(root, clock)
        self._kept: Opened | None = None
        self._starts: Prepared[Loaded] = Prepared()
        self._counter: CountCache | None = None
        self._encoding = ""
        self._estimated = ""
        self._chosen = dict(plugins or {})
        self._extensions: Extensions | None = None
        self._open()
        self.extensions  # noqa: B018 - a strict setting refuses a broken plugin here, not at the first event

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
    def extensions(self) -> Extensions:
        """The plugins of this runtime: installed ones, and those it was made with."""
        if self._extensions is None:
            settings = load_settings(self.root, self.where.config, self._env)
            chosen = PluginSettings(settings.plugins_disabled, settings.plugins_allow, settings.plugins_block,
                                    settings.plugins_strict)  # fmt: skip
            plugins = create_plugins(
                chosen, cache_dir=os.path.join(self.where.cache, "plugins"), report=self.journal.report,
                limits=self.limits, extra=self._chosen,
            )  # fmt: skip
            self._extensions = Extensions(plugins, self.journal.report)
        return self._extensions

    @property
    def counter(self) -> TokenCounter:
        """The configured token counter, loaded when first used; it counts a text once."""
        encoding = self.workspace.settings.tokenizer
        if self._counter is None or self._encoding != encoding:
            added = None if encoding in ENCODINGS else self.extensions.counter(encoding)
            cache = os.path.join(self.where.cache, "ranks")
            counter = Counter(encoding, True, added) if added else load_counter(encoding, cache_dir=cache)
            # The name comes last: another thread that sees it finds its counter.
            self._counter, self._estimated = CountCache(counter), counter.warning
            self._encoding = encoding
        return self._counter

    def count(self, text: str) -> int:
        """Tokens of `text`. A message that loads nothing counts nothing, and so loads no tokenizer."""
        return self.counter(text)

    def parse(self, key: str) -> SessionKey:
        """A session key by the grammar of the known channels."""
        return self.extensions.parse(key)

    def match(self, query: IntentQuery) -> RouteMatch | None:
        """The row that a message matches."""
        return self.extensions.match(query)

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
        if decision.code == "subagent":
            return Loaded(decision, Injection())
        name = fastlane.session_name(event.host, event.session_id, event.session_key)
        epoch = self.journal.epoch(name, decision) if event.source is Source.RESUME else Epoch()
        switched = _switched(epoch, decision)
        if epoch.begun and not switched:
            loaded = self._resume(opened, decision, event, caps, epoch)
        else:
            loaded = self._start(opened, decision, event, caps, switched=switched)
        self.journal.record(name, loaded, opened.workspace.problems, self.ledger_entry(event, loaded))
        return loaded

    def message_received(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> Loaded:
        """A user's message: load the one file that it routes to, unless the epoch has done so (protocol, sections 5
        and 6). A session that we have not seen start, or that moved to another scope, starts here."""
        opened = self._open()
        decision = opened.decide(event)
        if decision.code == "subagent":
            return Loaded(decision, Injection())
        name = fastlane.session_name(event.host, event.session_id, event.session_key)
        epoch = self.journal.epoch(name, decision)
        if not epoch.begun or _switched(epoch, decision) or epoch.scope != _scope_text(decision.scope):
            switched = _switched(epoch, decision)
            started = self._start(opened, decision, event, caps, switched=switched, message=event.message)
            entry = self.ledger_entry(event, started, source=ledger.SWITCH)
            if self.journal.record(name, started, opened.workspace.problems, entry):
                return started
            # Without a record every message would start anew, and no budget would hold.
            return replace(started, injection=Injection())
        loaded = self._message(decision, event, caps, epoch)
        stamp = self.settings_stamp(event)
        if loaded.injection.text or (loaded.done and epoch.inputs != stamp):
            injection = loaded.injection
            entry = ledger.message_entry(
                budget=loaded.budget_tokens, digest=injection.digest, tokens=injection.tokens, files=injection.files,
                tripped=loaded.tripped, done=loaded.done, inputs=stamp,
            )  # fmt: skip
            self.journal.record(name, loaded, opened.workspace.problems, entry)
        return loaded

    def tool_call(self, event: HostEvent, name: str, arguments: Mapping[str, Any], directory: str = "") -> Verdict:
        """The agent is about to call the tool `name` in `directory`: a denial by a plugin, or no opinion."""
        scope = self.decide(event).scope
        return self.extensions.verdict(
            ToolCall(event, scope, self.root, name, MappingProxyType(dict(arguments)), directory)
        )

    def flush(
        self, event: HostEvent, trigger: str, text: str = "", usage_percent: float | None = None
    ) -> tuple[FlushAnswer, ...]:
        """Memory should be written back: what plugins say to it, by priority, then plugin name.

        `trigger` is `remem`, `pre-compaction` or `idle`; any other raises UsageError.
        """
        if trigger not in FLUSH_HOOKS:
            raise UsageError(f"{trigger!r} is no trigger of a flush", remedy=f"Use one of {', '.join(FLUSH_HOOKS)}.")
        scope = self.decide(event).scope
        return self.extensions.flush(FlushRequest(event, scope, self.root, trigger, text, usage_percent))

    def turn_ended(self, event: HostEvent) -> None:
        """The agent's turn is over: the session was at work until now."""
        self._note(event, ledger.turn_entry(self._clock()))

    def session_end(self, event: HostEvent) -> None:
        """The session's model context is gone for good: its next event begins a new epoch."""
        self._note(event, ledger.end_entry())

    def _note(self, event: HostEvent, entry: Mapping[str, object]) -> None:
        if not event.subagent:
            name = fastlane.session_name(event.host, event.session_id, event.session_key)
            self.journal.note(name, self.decide(event), entry)

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
        index = self.index(scope)
        return group.best_route(message, index, set(), self.match) if index else None

    def index(self, scope: Scope) -> Index | None:
        """The scope's index, parsed; None where there is none. Raises MemoryFileError."""
        found = read_text(self.root, scope.index_path, limits=self.limits)
        return parse_index(found.text, scope) if found else None

    def is_owner(self, event: HostEvent) -> bool:
        """True where the event's session is the owner's, who may see what concerns the whole workspace."""
        return self.decide(event).scope == DM

    def settings_stamp(self, event: HostEvent) -> str:
        """What names the settings and the session key that a decision about `event` rests on."""
        return fastlane.settings_stamp(self._env, self.root, event.session_key)

    def _start(
        self, opened: Opened, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], *, spent: int = 0,
        switched: bool = False, message: str = "",
    ) -> Loaded:  # fmt: skip
        """What a session of this scope begins with; kept in memory while none of its inputs changes."""
        day = self.today()
        bounds = tuple((cap.unit, cap.limit) for cap in caps)
        key = (opened.number, decision, bounds, spent, switched, event.message_events, day)
        kept = None if message or not self.extensions.lasting else self._starts.get(key)
        if kept is not None:
            return kept
        started = time.time_ns()
        scope = decision.scope
        budget = self.limits.dm_budget_tokens if scope == DM else self.limits.group_budget_tokens
        base, others = self.extensions.session_start(SessionStart(
            event, scope, self.root, budget, self.count, tuple(caps), spent, self.limits, decision.code,
            self.parse(event.session_key or "").id, day, lambda: last_flush_line(self.root, self.zone()), switched,
        ))  # fmt: skip
        loaded = self._loaded(decision, event, base, others, caps, spent)
        if scope is not None and message.strip() and loaded.injection.files:
            return self._with_message(decision, event, caps, loaded, base, others)
        stamps = stamps_of(self.root, loaded.inputs, ())
        if self.extensions.lasting and believable(stamps, started, self.limits.racy_ns):
            self._starts.put(key, stamps, loaded)
        return loaded

    def _resume(
        self, opened: Opened, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], epoch: Epoch
    ) -> Loaded:
        """What a context that holds text of ours already begins with: the same memory again, which costs nothing, else
        what fits beside it. Notices were told, and nothing new follows a tripped breaker."""
        for spent in (0, *accumulate(epoch.sent.values())):
            # The text that was sent may be one that was cut to what was left then.
            loaded = self._start(opened, decision, event, caps, spent=spent)
            if loaded.injection.digest in epoch.sent and loaded.injection.files:
                return loaded
        if epoch.tripped or loaded.injection.digest in epoch.sent:
            return replace(loaded, injection=Injection())
        return loaded

    def _with_message(
        self, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], started: Loaded, base: Contribution,
        others: Sequence[tuple[str, Contribution]],
    ) -> Loaded:  # fmt: skip
        """A start and its first message in one injection; where both do not fit, the start alone."""
        if base.tripped:
            return started
        text = started.injection.text
        left = tuple(Bound(cap.unit, cap.measure, cap.limit - cap.measure(text)) for cap in caps)
        more, added = self._route(
            decision, event, left, started.injection.tokens, base.budget_tokens, started.injection.files
        )
        both = replace(more, fragments=base.fragments + more.fragments, steps=base.steps + more.steps,
                       inputs=base.inputs + more.inputs, day=base.day)  # fmt: skip
        loaded = self._loaded(decision, event, both, [*others, *added], caps, 0)
        fits = loaded.injection.tokens <= base.budget_tokens
        fits = fits and all(cap.measure(loaded.injection.text) <= cap.limit for cap in caps)
        return loaded if fits else started

    def _message(self, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], epoch: Epoch) -> Loaded:
        if decision.scope is None:
            return Loaded(decision, Injection())
        if epoch.done or epoch.tripped:
            step = Step("2 match", "", "skipped", texts.SKIP_DONE)
            done = Contribution(steps=(step,), budget_tokens=epoch.budget, done=True)
            return self._loaded(decision, event, done, [], caps, 0)
        base, others = self._route(decision, event, caps, epoch.spent, epoch.budget, epoch.files)
        return self._loaded(decision, event, base, others, caps, epoch.spent)

    def _route(
        self, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], spent: int, budget: int,
        loaded: Sequence[tuple[str, str]],
    ) -> tuple[Contribution, list[tuple[str, Contribution]]]:  # fmt: skip
        return self.extensions.message_received(MessageReceived(
            event, decision.scope, self.root, event.message, budget, self.count, self.match, tuple(loaded),
            tuple(caps), spent, self.limits,
        ))  # fmt: skip

    def _loaded(
        self, decision: ScopeDecision, event: HostEvent, base: Contribution,
        others: Sequence[tuple[str, Contribution]], caps: Sequence[Bound], spent: int,
    ) -> Loaded:  # fmt: skip
        """Everything put together, reviewed, and counted."""
        loading = Loading(self.root, decision.scope, self.count, base.budget_tokens, caps, spent, self.limits)
        compose(loading, base, others)
        if loading.fragments:
            review = Review(event, decision.scope, tuple(loading.fragments))
            loading.fragments = list(self.extensions.review(review))
        return Loaded(
            decision, loading.injection(), tuple(loading.steps), base.budget_tokens,
            warning=self._warning(loading.steps),
            inputs=tuple(loading.inputs), tripped=base.tripped, done=base.done, day=base.day,
        )  # fmt: skip

    def _warning(self, steps: Sequence[Step]) -> str:
        """One line for the host's user: a file that could not be read, else that counts are estimates."""
        refused = next((step for step in steps if step.verdict == "refused" and step.path), None)
        if refused is not None:
            return texts.REFUSED_WARNING.format(path=refused.path, reason=refused.reason)
        return texts.ESTIMATE_WARNING.format(warning=self._estimated) if self._estimated else ""

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

    def zone(self) -> tzinfo | None:
        """The workspace's time zone; None means the machine's."""
        return zone_of(self.workspace.settings.timezone)


def _scope_text(scope: Scope | None) -> str:
    return str(scope) if scope else ""


def _switched(epoch: Epoch, decision: ScopeDecision) -> bool:
    """True where the session's context holds another conversation's memory."""
    return epoch.begun and bool(epoch.sent) and epoch.scope != _scope_text(decision.scope)
