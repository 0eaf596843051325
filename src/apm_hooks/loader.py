"""What a session is given: at its start, when it resumes, and for a message (protocol, sections 5 to 7)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from apm_hooks import fastlane, texts
from apm_hooks.compose import compose
from apm_hooks.engine import Engine
from apm_hooks.events import Contribution, MessageReceived, Review, SessionStart
from apm_hooks.flushstate import last_flush_line
from apm_hooks.ledger import Epoch
from apm_hooks.news import start_lines
from apm_hooks.opened import Opened
from apm_hooks.prepared import Prepared, believable, stamps_of
from apm_hooks.protocol.loading import Loading
from apm_hooks.records import DM, Bound, HostEvent, Injection, Loaded, ScopeDecision, Source, Step


class Loader:
    """Composes injections for the workspace of `engine`; it records nothing."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._starts: Prepared[Loaded] = Prepared()

    def start(
        self, opened: Opened, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], *, spent: int = 0,
        switched: bool = False, message: str = "",
    ) -> Loaded:  # fmt: skip
        """What a session of this scope begins with; kept in memory while none of its inputs changes."""
        engine = self.engine
        day = engine.today(opened)
        bounds = tuple((cap.unit, cap.limit) for cap in caps)
        compacted = event.source is Source.COMPACT
        # What a session is told of a flush of its own, which only a compaction leaves open, is no other's.
        name = fastlane.session_name(event.host, event.session_id, event.session_key) if compacted else ""
        key = (opened.number, decision, bounds, spent, switched, event.message_events, day, name)
        kept = None if message or not engine.extensions.lasting else self._starts.get(key)
        if kept is not None:
            return kept
        started = time.time_ns()
        scope = decision.scope
        budget = engine.limits.dm_budget_tokens if scope == DM else engine.limits.group_budget_tokens
        base, others = engine.extensions.session_start(SessionStart(
            event, scope, engine.root, budget, engine.count, tuple(caps), spent, engine.limits, decision.code,
            engine.parse(event.session_key or "").id, day, lambda: last_flush_line(engine.root, engine.zone()),
            switched, lambda: start_lines(engine.root, scope, name, compacted=compacted),
        ))  # fmt: skip
        loaded = self._loaded(decision, event, base, others, caps, spent)
        if scope is not None and message.strip() and loaded.injection.files:
            return self._with_message(decision, event, caps, loaded, base, others)
        stamps = stamps_of(engine.root, loaded.inputs, ())
        if engine.extensions.lasting and believable(stamps, started, engine.limits.racy_ns):
            self._starts.put(key, stamps, loaded)
        return loaded

    def resume(
        self, opened: Opened, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], epoch: Epoch
    ) -> Loaded:
        """What a context that holds text of ours already begins with: the same memory again, which costs nothing, else
        what fits beside it. Notices were told, and nothing new follows a tripped breaker."""
        for spent in (0, *accumulate(epoch.sent.values())):
            # The text that was sent may be one that was cut to what was left then.
            loaded = self.start(opened, decision, event, caps, spent=spent)
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

    def message(self, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], epoch: Epoch) -> Loaded:
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
        engine = self.engine
        return engine.extensions.message_received(MessageReceived(
            event, decision.scope, engine.root, event.message, budget, engine.count, engine.match, tuple(loaded),
            tuple(caps), spent, engine.limits,
        ))  # fmt: skip

    def _loaded(
        self, decision: ScopeDecision, event: HostEvent, base: Contribution,
        others: Sequence[tuple[str, Contribution]], caps: Sequence[Bound], spent: int,
    ) -> Loaded:  # fmt: skip
        """Everything put together, reviewed, and counted."""
        loading = Loading(
            self.engine.root, decision.scope, self.engine.count, base.budget_tokens, caps, spent, self.engine.limits
        )
        compose(loading, base, others)
        if loading.fragments:
            review = Review(event, decision.scope, tuple(loading.fragments))
            loading.fragments = list(self.engine.extensions.review(review))
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
        return texts.ESTIMATE_WARNING.format(warning=self.engine.estimated) if self.engine.estimated else ""
