"""The flows, each readable top to bottom in one function: what a host adapter, a command or a framework calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING

from apm_hooks import fastlane, ledger, texts
from apm_hooks.errors import ApmError
from apm_hooks.files import read_text
from apm_hooks.flushstate import DM_STATE, last_flush_line
from apm_hooks.index import parse_index
from apm_hooks.log import write_log
from apm_hooks.places import Places, places
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
    Step,
)
from apm_hooks.scope import decide_scope
from apm_hooks.session import parse_session_key
from apm_hooks.tokens import CountCache, TokenCounter, load_counter
from apm_hooks.workspace import Workspace, open_workspace

if TYPE_CHECKING:
    from apm_hooks.ledger import Epoch


class Runtime:
    """One trusted workspace and what happens in it.

    Holds no session: a session lives in its ledger on disk. `env` is read once; `clock` gives the time in
    seconds since 1970 for the log. Raises NotTrustedError or SettingsError when made.
    """

    def __init__(
        self, root: str, env: Mapping[str, str], *, clock: Callable[[], float], limits: Limits = LIMITS
    ) -> None:
        self.where: Places = places(env)
        self.workspace: Workspace = open_workspace(root, self.where, env)
        self.limits = limits
        self._clock = clock
        self._counter: CountCache | None = None
        self._estimated = ""

    @property
    def root(self) -> str:
        return self.workspace.root

    @property
    def counter(self) -> TokenCounter:
        """The configured token counter, loaded when first used; it counts a text once."""
        if self._counter is None:
            counter = load_counter(self.workspace.settings.tokenizer, cache_dir=os.path.join(self.where.cache, "ranks"))
            self._estimated = counter.warning
            self._counter = CountCache(counter)
        return self._counter

    def decide(self, event: HostEvent) -> ScopeDecision:
        """Whose memory the event's session may touch, and why (protocol, section 3)."""
        decision = decide_scope(event, self.workspace.privacy, self.workspace.groups)
        if decision.scope is None and self.workspace.changed:
            names = ", ".join(self.workspace.changed)
            return ScopeDecision(
                None, decision.code, f"{decision.detail}; not counted, because changed since it was accepted: {names}",
                "Review the change, then run: apm-hooks trust",
            )  # fmt: skip
        return decision

    def session_start(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> Loaded:
        """A session starts, resumes, or comes back from compaction: load what its scope begins with, record it.

        `caps` are the host's own bounds on the text. Never raises for what memory holds; a ledger that cannot be
        written costs the record, not the memory.
        """
        decision = self.decide(event)
        if event.subagent:
            return Loaded(decision, Injection())
        name = fastlane.session_name(event.host, event.session_id, event.session_key)
        epoch = self._continued(name, event, decision)
        loaded = self._load(decision, event, caps, budget_spent=0, switched=_switched(epoch, decision))
        if epoch.begun and loaded.injection.digest not in epoch.sent and not _switched(epoch, decision):
            # The context already holds other text of ours: the new one must fit beside it.
            loaded = self._load(decision, event, caps, budget_spent=epoch.spent)
        self._record(name, event, loaded)
        return loaded

    def explain(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> Loaded:
        """What `session_start` would do for this event in a fresh epoch, without recording anything."""
        return self._load(self.decide(event), event, caps, budget_spent=0)

    def route(self, scope: Scope | None, message: str) -> RouteMatch | None:
        """The row of the scope's routing table that `message` matches, whatever is loaded already; None for none."""
        if scope is None or not message.strip():
            return None
        from apm_hooks.routing import route_message

        found = read_text(self.root, scope.index_path, limits=self.limits)
        return route_message(message, parse_index(found.text, scope).routes) if found else None

    def is_owner(self, event: HostEvent) -> bool:
        """True where the event's session is the owner's: what concerns the whole workspace may be shown there."""
        return self.decide(event).scope == DM

    def _continued(self, name: str, event: HostEvent, decision: ScopeDecision) -> Epoch:
        """The epoch that this start continues; one that has not begun where it begins its own."""
        if event.source is not Source.RESUME:
            return ledger.Epoch()
        try:
            return ledger.read_epoch(self.root, name)
        except ApmError as error:
            self._log("ledger-unreadable", decision, str(error))
            return ledger.Epoch()

    def _load(
        self, decision: ScopeDecision, event: HostEvent, caps: Sequence[Bound], *, budget_spent: int,
        switched: bool = False,
    ) -> Loaded:  # fmt: skip
        scope = decision.scope
        budget = self.limits.dm_budget_tokens if scope in (DM, None) else self.limits.group_budget_tokens
        loading = Loading(self.root, scope, self.counter, budget, caps, budget_spent, self.limits)
        if switched:
            loading.say("scope", texts.SCOPE_SWITCHED)
        if scope is None:
            loading.steps.append(Step("0 map", "", "refused", decision.code))
            loading.say("0 map", texts.NO_MEMORY)
        elif scope == DM:
            dm.load_start(loading, lambda: last_flush_line(self.root, self.zone()))
            loading.inputs.append(DM_STATE)
        else:
            group.load_start(loading, scope, parse_session_key(event.session_key or "").id)
        return Loaded(
            decision, loading.injection(), tuple(loading.steps), loading.budget,
            warning=texts.ESTIMATE_WARNING.format(warning=self._estimated) if self._estimated else "",
            inputs=tuple(loading.inputs), tripped=loading.tripped,
        )  # fmt: skip

    def _record(self, name: str, event: HostEvent, loaded: Loaded) -> None:
        decision = loaded.decision
        if decision.scope is None:
            self._log(decision.code, decision, f"{decision.detail}. {decision.remedy}".strip())
        for step in loaded.steps:
            if step.verdict == "refused" and step.path:
                self._log("file-refused", decision, f"{step.path}: {step.reason}")
        for problem in self.workspace.problems:
            self._log(problem.code, decision, str(problem))
        try:
            ledger.append(self.root, name, self.ledger_entry(event, loaded))
        except ApmError as error:
            self._log("ledger-unwritable", decision, str(error))

    def ledger_entry(self, event: HostEvent, loaded: Loaded) -> dict[str, object]:
        """The ledger's line for a session start: the fast lane appends the same bytes."""
        return ledger.start_entry(
            source=event.source.value, scope=_scope_text(loaded.decision.scope), budget=loaded.budget_tokens,
            digest=loaded.injection.digest, tokens=loaded.injection.tokens, files=loaded.injection.files,
            tripped=loaded.tripped,
        )  # fmt: skip

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
