"""The flows, each readable top to bottom in one function: what a host adapter, a command or a framework calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from apm_hooks import fastlane, ledger
from apm_hooks.advice import advise
from apm_hooks.engine import Engine
from apm_hooks.errors import UsageError
from apm_hooks.events import ToolCall, Verdict
from apm_hooks.extensions import FLUSH_HOOKS
from apm_hooks.flush import worth
from apm_hooks.flusher import Flusher, Live
from apm_hooks.flushrecords import FlushReport, Status, Trigger
from apm_hooks.ledger import Epoch
from apm_hooks.loader import Loader
from apm_hooks.records import LIMITS, Bound, HostEvent, Injection, Limits, Loaded, Scope, ScopeDecision, Source
from apm_hooks.sessions import Sessions


class Runtime(Engine):
    """One trusted workspace and what happens in it.

    Holds no session: a session lives in its ledger and its mark on disk. Settings, group map and trust are read again
    when their files change. `env` is read once; `clock` gives the time in seconds since 1970. Raises NotTrustedError or
    SettingsError when made, and at any later call once the workspace is no longer accepted or a setting is damaged.
    """

    def __init__(
        self, root: str, env: Mapping[str, str], *, clock: Callable[[], float] = time.time, limits: Limits = LIMITS,
        plugins: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(root, env, clock=clock, limits=limits, plugins=plugins)
        self.loader = Loader(self)
        self.flusher = Flusher(self)
        self.sessions = Sessions(self.flusher)

    def session_start(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> Loaded:
        """A session starts, resumes, or comes back from compaction: load what its scope begins with, record it.

        Quiet sessions of the same scope are flushed first; a compaction that came without its event is recorded as
        missed, and told. `caps` are the host's own bounds on the text. Never raises for what memory holds; a ledger
        that cannot be written costs the record, not the memory.
        """
        opened = self.current()
        decision = opened.decide(event)
        if decision.code == "subagent":
            return Loaded(decision, Injection())
        name = self.session_name(event)
        live = self._live(event, decision)
        if live is not None:
            self.sessions.started(live)
        epoch = self.journal.epoch(name, decision) if event.source is Source.RESUME else Epoch()
        switched = _switched(epoch, decision)
        if epoch.begun and not switched:
            loaded = self.loader.resume(opened, decision, event, caps, epoch)
        else:
            loaded = self.loader.start(opened, decision, event, caps, switched=switched)
        self.journal.record(name, loaded, opened.workspace.problems, self.ledger_entry(event, loaded))
        if live is not None and event.source is Source.COMPACT and loaded.injection.text:
            self.flusher.told(live)
        return loaded

    def message_received(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> Loaded:
        """A user's message: load the one file that it routes to, unless the epoch has done so (protocol, sections 5
        and 6). A session that we have not seen start, or that moved to another scope, starts here.

        Quiet sessions of the same scope, this one too, are flushed first. Where the context is filling up, `directive`
        asks for memory to be written back before the host compacts it.
        """
        opened = self.current()
        decision = opened.decide(event)
        if decision.code == "subagent":
            return Loaded(decision, Injection())
        name = self.session_name(event)
        live = self._live(event, decision)
        asked = Injection()
        if live is not None:
            self.sessions.message(live)
            asked = self._early(live, caps)
        caps = _left(caps, asked)
        epoch = self.journal.epoch(name, decision)
        if not epoch.begun or _switched(epoch, decision) or epoch.scope != _scope_text(decision.scope):
            switched = _switched(epoch, decision)
            started = self.loader.start(opened, decision, event, caps, spent=0 if epoch.begun else epoch.spent,
                                        switched=switched, message=event.message)  # fmt: skip
            entry = self.ledger_entry(event, started, source=ledger.SWITCH)
            if self.journal.record(name, started, opened.workspace.problems, entry):
                return replace(started, directive=asked)
            # Without a record every message would start anew, and no budget would hold.
            return replace(started, injection=Injection(), directive=asked)
        loaded = self.loader.message(decision, event, caps, epoch)
        stamp = self.settings_stamp(event)
        if loaded.injection.text or (loaded.done and epoch.inputs != stamp):
            injection = loaded.injection
            entry = ledger.message_entry(
                budget=loaded.budget_tokens, digest=injection.digest, tokens=injection.tokens, files=injection.files,
                tripped=loaded.tripped, done=loaded.done, inputs=stamp, scope=_scope_text(decision.scope),
            )  # fmt: skip
            self.journal.record(name, loaded, opened.workspace.problems, entry)
        return replace(loaded, directive=asked)

    def tool_call(self, event: HostEvent, name: str, arguments: Mapping[str, Any], directory: str = "") -> Verdict:
        """The agent is about to call the tool `name` in `directory`: a denial with its reason, by the protocol (section
        8) or by a plugin, or no opinion, with advice at most. What it will load counts against the epoch's ceiling."""
        # Only tool calls need the gate, and of all events they are the most.
        from apm_hooks.judge import Judge

        verdict = Judge(self, self.sessions).tool_call(event, name, arguments, directory)
        if verdict.deny:
            return verdict
        scope = self.decide(event).scope
        said = self.extensions.verdict(
            ToolCall(event, scope, self.root, name, MappingProxyType(dict(arguments)), directory)
        )
        return said if said.deny else verdict

    def prompt(self, event: HostEvent, text: str, directory: str = "") -> Verdict:
        """The user is about to send `text`, in `directory`: a refusal with its reason where it mentions (`@path`) a
        file that its conversation may not read, which the host would read without a tool call (protocol, section 8)."""
        if "@" not in text:
            return Verdict(False)
        from apm_hooks.judge import Judge

        return Judge(self, self.sessions).prompt(event, text, directory)

    def flush(
        self, event: HostEvent, trigger: str, text: str = "", usage_percent: float | None = None, *,
        identity: str = "", messages: int | None = None, tokens: int | None = None, position: int = 0,
        tell: bool = True, caps: Sequence[Bound] = (),
    ) -> FlushReport:  # fmt: skip
        """Memory should be written back: record it, and say what the agent is to do (protocol, section 9).

        `trigger` is `remem`, `pre-compaction` or `idle`; any other raises UsageError. An idle flush has no agent: it is
        made where the session did anything since its last one. `text` stood behind `/remem`.
        `identity` tells this event from others of its kind (a prompt id, a transcript position): the same one again is
        the same flush. `messages` and `tokens` came since the last flush, where that is known: with too few of both
        there is nothing to save. `position` is where the host's transcript stands, in bytes. Without `tell` nobody can
        be told now: the directive waits for the next start.
        """
        if trigger not in FLUSH_HOOKS:
            raise UsageError(f"{trigger!r} is no trigger of a flush", remedy=f"Use one of {', '.join(FLUSH_HOOKS)}.")
        kind = Trigger(trigger)
        decision = self.decide(event)
        live = self._live(event, decision)
        if live is None:
            self.journal.log(decision.code, decision, f"{decision.detail}. {decision.remedy}".strip())
            return FlushReport(Status.NO_SCOPE, kind, None)
        if kind is not Trigger.PRE_COMPACTION:
            repeated = self.flusher.known(live, kind, identity)
            if repeated is not None:
                return repeated
        if kind is Trigger.REMEM:
            self.sessions.message(live, identity)
        elif kind is Trigger.PRE_COMPACTION:
            self.sessions.compacting(live)
        else:
            return self.sessions.quiet(live) or FlushReport(Status.NOTHING, kind, live.scope)
        if not worth(kind, messages, tokens, self.limits):
            return FlushReport(Status.NOTHING, kind, live.scope)
        return self._flush(live, kind, text, usage_percent, identity, position, tell, caps)

    def position(self, event: HostEvent, *, compaction: bool = False) -> int:
        """Where the host's transcript stood at the session's last flush, in bytes; 0 where that is not known.

        A `compaction` counts from the last flush since the session went on: at its end before that nobody could be
        asked to write, and what was said then is lost now.
        """
        decision = self.decide(event)
        live = self._live(event, decision)
        if live is None:
            return 0
        mark = self.sessions.mark(live)
        position = int(mark["position"] if mark else 0)
        if position or compaction:
            return position
        # The mark went with the session's end; the ledger knows where that was.
        return self.journal.epoch(live.name, decision).position

    def compacted(self, event: HostEvent) -> None:
        """The host's context was compacted: one that came without its event before is recorded as missed."""
        live = self._live(event, self.decide(event))
        if live is not None:
            self.sessions.compacted(live)

    def turn_ended(self, event: HostEvent) -> FlushReport | None:
        """The agent's turn is over: what it was asked to write back is settled. None where nothing was asked."""
        live = self._live(event, self.decide(event))
        return self.sessions.turn_ended(live) if live is not None else None

    def session_end(
        self, event: HostEvent, *, messages: int | None = None, tokens: int | None = None
    ) -> FlushReport | None:
        """The session's model context is gone for good: what it did not write back is recorded as an idle flush, and
        its next event begins a new epoch. `messages` and `tokens` came since its last flush, where that is known."""
        decision = self.decide(event)
        if event.subagent:
            return None
        live = self._live(event, decision)
        saves = worth(Trigger.IDLE, messages, tokens, self.limits)
        report = self.sessions.ended(live, worth=saves) if live is not None else None
        self.journal.note(self.session_name(event), decision, ledger.end_entry())
        return report

    def sweep(self) -> tuple[FlushReport, ...]:
        """Flush every session of every scope that went quiet, once each. For the operator's own programs: a session's
        own events see to their own scope."""
        return self.sessions.sweep()

    def explain(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> tuple[Loaded, Loaded | None]:
        """What a session start, and then the event's message if it has one, would do in a fresh epoch; nothing is
        recorded."""
        opened = self.current()
        decision = opened.decide(event)
        started = self.loader.start(opened, decision, event, caps)
        if decision.scope is None or not event.message.strip():
            return started, None
        entry = self.ledger_entry(event, started)
        return started, self.loader.message(decision, event, caps, ledger.fold(ledger.encode(entry)))

    def ledger_entry(self, event: HostEvent, loaded: Loaded, *, source: str = "") -> dict[str, object]:
        """The ledger's line for a session start: the fast lane appends the same bytes."""
        return ledger.start_entry(
            source=source or event.source.value, scope=_scope_text(loaded.decision.scope), budget=loaded.budget_tokens,
            digest=loaded.injection.digest, tokens=loaded.injection.tokens, files=loaded.injection.files,
            tripped=loaded.tripped, done=loaded.done,
        )  # fmt: skip

    def session_name(self, event: HostEvent) -> str:
        """The event's session in file names."""
        return fastlane.session_name(event.host, event.session_id, event.session_key)

    def _live(self, event: HostEvent, decision: ScopeDecision) -> Live | None:
        if decision.scope is None or event.subagent:
            return None
        return Live(event, decision, decision.scope, self.session_name(event))

    def _early(self, live: Live, caps: Sequence[Bound]) -> Injection:
        """A directive before the context is full: once for each compaction."""
        cycle = self.sessions.early(live)
        if cycle is None:
            return Injection()
        used = self.sessions.used_percent(live.event)
        report = self._flush(live, Trigger.PRE_COMPACTION, "", used, cycle, 0, True, caps)
        self.sessions.warned(live)
        return report.directive

    def _flush(
        self, live: Live, kind: Trigger, text: str, usage_percent: float | None, identity: str, position: int,
        tell: bool, caps: Sequence[Bound],
    ) -> FlushReport:  # fmt: skip
        report, made = self.flusher.issue(live, kind, text=text, identity=identity, tell=tell,
                                          usage_percent=usage_percent)  # fmt: skip
        if report.status is Status.SAME and kind is Trigger.REMEM:
            self.sessions.repeated(live)
        if report.status not in (Status.ISSUED, Status.FAILED):
            return report
        if report.status is Status.ISSUED:
            # What is not recorded is not flushed: the session's idle flush makes up for it.
            self.sessions.flushed(live, position)
        if not tell:
            return report
        epoch = self.journal.epoch(live.name, live.decision)
        asked = advise(self, live, report, text=text, usage_percent=usage_percent, epoch=epoch, caps=caps)
        entry = ledger.directive_entry(digest=asked.digest, tokens=asked.tokens, epoch=epoch, scope=str(live.scope))
        if asked.text and self.journal.note(live.name, live.decision, entry):
            return replace(report, directive=asked)
        if made is not None:
            # No room, or no record of the room that it takes: it waits for the next start.
            self.flusher.told(live, told=False)
        return report


def _left(caps: Sequence[Bound], used: Injection) -> tuple[Bound, ...]:
    """What a text beside `used` may still take of the host's bounds."""
    if not used.text:
        return tuple(caps)
    return tuple(Bound(cap.unit, cap.measure, cap.limit - cap.measure(used.text + "\n")) for cap in caps)


def _scope_text(scope: Scope | None) -> str:
    return str(scope) if scope else ""


def _switched(epoch: Epoch, decision: ScopeDecision) -> bool:
    """True where the session's context holds another conversation's memory."""
    return epoch.begun and bool(epoch.sent) and epoch.scope != _scope_text(decision.scope)
