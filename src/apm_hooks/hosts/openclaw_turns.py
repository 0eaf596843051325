"""OpenClaw's events, answered: what a turn's system prompt holds, what is flushed, which tool calls are denied.

The host rebuilds the system prompt for each turn, so memory rides in it and is handed over again with the same bytes
until the epoch ends. What an event needs of an earlier one is in the session's record (`openclaw_standing`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from apm_hooks import fastlane
from apm_hooks.flusher import Live
from apm_hooks.flushrecords import Status
from apm_hooks.hosts import openclaw
from apm_hooks.hosts.openclaw_standing import COMPACTED, NEW, Standing, kept
from apm_hooks.hosts.openclaw_texts import FLUSH_TURN, SHARED_LOG, UNSERVED_LOG
from apm_hooks.records import DM, HostEvent, Injection, Scope, ScopeDecision, Source
from apm_hooks.remem import arguments_of

if TYPE_CHECKING:
    from apm_hooks.runtime import Runtime

_QUIET = frozenset(("subagent", "cron", "empty-session"))
"""Why a turn has no scope, where that is as it should be."""
_RESETS = ("/new", "/reset")
_READ_ONLY = frozenset(("read",))
_HEARTBEAT = "heartbeat"
_UNROUTED = frozenset((_HEARTBEAT, "memory"))
"""Turns that the host begins by itself, with a message of its own."""


@dataclass(slots=True)
class _Turn:
    """One event of a session with a scope, and the session's record."""

    runtime: Runtime
    event: HostEvent
    decision: ScopeDecision
    scope: Scope
    payload: Mapping[str, Any]
    standing: Standing
    warnings: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.runtime.session_name(self.event)


def answer_event(runtime: Runtime, payload: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to an event of the shim in a trusted workspace: see `openclaw`. Raises ApmError."""
    name = str(payload.get("hook_event_name"))
    event = openclaw.event_of(payload, runtime.workspace.privacy.owner_peers)
    if event is None:
        return {}
    if name == "startup":
        runtime.sweep()
        return {}
    if name == "tool_call":
        return _judged(runtime, event, payload)
    decision = runtime.decide(event)
    if name == "session_end":
        return _ended(runtime, event, payload, decision)
    if decision.scope is None:
        return {"withhold": True, **_unserved(runtime, event, payload, decision)} if name == "bootstrap" else {}
    with _record(runtime, event, decision.scope) as standing:
        turn = _Turn(runtime, _filled(event, payload, standing), decision, decision.scope, payload, standing)
        answered = _EVENTS[name](turn)
    if turn.warnings:
        answered["log"] = " ".join(turn.warnings)
    return answered


def _record(runtime: Runtime, event: HostEvent, scope: Scope) -> AbstractContextManager[Standing]:
    return kept(runtime.where.cache, runtime.root, runtime.session_name(event), str(scope))


def _filled(event: HostEvent, payload: Mapping[str, Any], standing: Standing) -> HostEvent:
    """The event with how full the context is, as far as this event or an earlier one told."""
    tokens, window = openclaw.usage_of(payload)
    if tokens:
        standing.usage = [tokens, window or standing.usage[1]]
    tokens, window = standing.usage
    if not window:
        return event
    return replace(event, context_tokens=tokens, context_window=window, compaction_at=openclaw.compacts_at(window))


def _message(turn: _Turn) -> dict[str, Any]:
    """Note a message for the turn that it begins: what the host does with the session before that is not known yet."""
    text = _text(turn.payload, "message")
    if text.strip():
        turn.standing.note(_identity(turn.payload), text)
    return {}


def _bootstrap(turn: _Turn) -> dict[str, Any]:
    """The files for the system prompt of this turn."""
    standing = turn.standing
    _begin(turn)
    standing.worked = bool(standing.noted)
    if standing.noted and turn.payload.get("via") != "plugin":
        # To the pack nobody tells of a turn's end: the next one is.
        turn.runtime.turn_ended(turn.event)
        turn.event = replace(turn.event, message_events=False)
    _catch_up(turn)
    label = "dm" if turn.scope == DM else "group"
    files = [
        openclaw.bootstrap_file(f"apm/{label}{f'-{number}' if number > 1 else ''}.md", text, turn.event.session_key)
        for number, (_, text) in enumerate(standing.parts, 1)
    ]
    asked = "" if turn.payload.get("via") == "plugin" else standing.hand_out(_identity(turn.payload))
    if asked:
        files.append(openclaw.bootstrap_file("apm/flush.md", asked, turn.event.session_key))
    answered: dict[str, Any] = {"files": files} if files else {}
    # The host gives its own MEMORY.md, the owner's, to everybody it has a private chat with.
    return answered if turn.scope == DM else {"withhold": True, **answered}


def _prompt(turn: _Turn) -> dict[str, Any]:
    """The text before the user's message: directives, and what routes to a message that nobody told of before."""
    standing = turn.standing
    told = [] if _holds(turn) else [_begin(turn)]
    known = len(standing.parts)
    id_ = _identity(turn.payload)
    # Messages that still wait belong to a system prompt that was built without us.
    worked = bool(standing.noted) or standing.worked or (id_ and id_ == standing.last)
    _catch_up(turn)
    if not worked and _is_worked_off(turn):
        _work_off(turn, id_, _text(turn.payload, "message"))
    standing.worked = False
    told += [text for _, text in standing.parts[known:]]
    told.append(standing.hand_out(id_))
    return {"context": "\n".join(text for text in told if text)} if any(told) else {}


def _is_worked_off(turn: _Turn) -> bool:
    """Whether a turn's own text asks for something: what the host says by itself routes to nothing, but a reminder of
    its scheduler comes as a heartbeat too, and may ask for a flush."""
    trigger = turn.payload.get("trigger")
    if trigger == _HEARTBEAT:
        return arguments_of(_text(turn.payload, "message")) is not None
    return trigger not in _UNROUTED


def _catch_up(turn: _Turn) -> None:
    """Work off the messages that were noted for this turn."""
    for id_, text in turn.standing.noted:
        _work_off(turn, id_, text)
    turn.standing.noted = []


def _holds(turn: _Turn) -> bool:
    """Whether the record is that of the epoch, as the ledger tells: what was sent in it, and nothing since."""
    standing, epoch = turn.standing, turn.runtime.journal.epoch(turn.name, turn.decision)
    same = epoch.begun and epoch.scope == str(turn.scope) and not standing.ended
    now = _text(turn.payload, "session_id")
    same = same and (not now or not standing.session_id or now == standing.session_id)
    return same and all(digest in epoch.sent for digest, _ in standing.parts)


def _begin(turn: _Turn) -> str:
    """See to it that the epoch has begun and the record is its own; the text that it began with, if it did now."""
    if _holds(turn):
        return ""
    standing, epoch = turn.standing, turn.runtime.journal.epoch(turn.name, turn.decision)
    source = Source.CLEAR if epoch.begun else Source.STARTUP
    if epoch.begun and epoch.scope != str(turn.scope):
        # Only a session that goes on tells its agent that it moved.
        source = Source.RESUME
    elif standing.ended == COMPACTED:
        source = Source.COMPACT
    event = replace(turn.event, source=source, context_tokens=None)
    loaded = turn.runtime.session_start(event, caps=openclaw.cap(openclaw.FILE_UNITS))
    standing.ended, standing.parts = "", []
    standing.session_id = _text(turn.payload, "session_id")
    _warn(turn, loaded.warning)
    return _keep(standing, loaded.injection)


def _work_off(turn: _Turn, id_: str, text: str) -> None:
    """Do what a message asks for: a flush, or the file that it routes to."""
    runtime, standing = turn.runtime, turn.standing
    standing.last = id_
    wish = arguments_of(text)
    if wish is not None:
        report = runtime.flush(
            turn.event, "remem", wish, runtime.sessions.used_percent(turn.event), identity=id_,
            caps=openclaw.cap(openclaw.CONTEXT_UNITS),
        )  # fmt: skip
        asked, warning = report.directive, report.warning
    else:
        used = sum(openclaw.units(text) for _, text in standing.parts)
        room = max(min(openclaw.FILE_UNITS, openclaw.TOTAL_UNITS - used), 0)
        event = replace(turn.event, message=_routed(text))
        loaded = runtime.message_received(event, caps=openclaw.cap(room))
        _keep(standing, loaded.injection)
        asked, warning = loaded.directive, loaded.warning
    _warn(turn, warning)
    if asked.text:
        standing.directives.append(asked.text)


def _routed(text: str) -> str:
    """What of a message is looked at for a route: of a command nothing, but for what follows a reset."""
    word, _, rest = text.strip().partition(" ")
    if word.lower() in _RESETS:
        return rest
    return "" if openclaw.is_command(word) else text


def _keep(standing: Standing, injection: Injection) -> str:
    if injection.text:
        standing.parts = [*standing.parts, [injection.digest, injection.text]]
    return injection.text


def _turn_end(turn: _Turn) -> dict[str, Any]:
    report = turn.runtime.turn_ended(turn.event)
    _warn(turn, report.warning if report is not None else "")
    return {}


def _compaction(turn: _Turn) -> dict[str, Any]:
    """Record that memory should have been written back: what the conversation holds is lost now. The agent is told at
    the next system prompt, since nobody can be told now."""
    runtime, payload = turn.runtime, turn.payload
    mark = runtime.sessions.mark(Live(turn.event, turn.decision, turn.scope, turn.name))
    count = openclaw.messages_of(payload)
    # The host may fire twice for one compaction: a summary that it does not like is made again.
    identity = f"{mark['born'] if mark else ''}:{mark['cycle'] if mark else 0}:{count}"
    report = runtime.flush(
        turn.event, "pre-compaction", usage_percent=runtime.sessions.used_percent(turn.event), identity=identity,
        messages=count, tokens=openclaw.usage_of(payload)[0] or None, tell=False,
    )  # fmt: skip
    if report.status is not Status.SAME:
        _warn(turn, report.warning)
    return {}


def _compacted(turn: _Turn) -> dict[str, Any]:
    turn.runtime.compacted(turn.event)
    turn.standing.ended = COMPACTED
    turn.standing.usage = [0, turn.standing.usage[1]]
    return {}


def _ended(
    runtime: Runtime, event: HostEvent, payload: Mapping[str, Any], decision: ScopeDecision
) -> dict[str, Any]:  # fmt: skip
    """The session's context is gone. What its next turn will say may have been noted already, and stays."""
    if decision.scope is None and decision.code in _QUIET:
        return {}
    report = runtime.session_end(event, messages=openclaw.messages_of(payload))
    if decision.scope is not None:
        with _record(runtime, event, decision.scope) as standing:
            standing.parts, standing.ended, standing.usage = [], NEW, [0, standing.usage[1]]
            standing.directives = standing.told = []
    return {"log": report.warning} if report is not None and report.warning else {}


def _judged(runtime: Runtime, event: HostEvent, payload: Mapping[str, Any]) -> dict[str, Any]:
    given = payload.get("tool")
    tool = given if isinstance(given, dict) else {}
    name, arguments = tool.get("name"), tool.get("arguments")
    if openclaw.is_hidden(payload) and str(name).strip().lower() not in _READ_ONLY:
        return {"deny": FLUSH_TURN}
    parent = openclaw.parent_of(payload)
    if parent is not None and event.session_key:
        # A subagent's tools are judged by its parent's scope and ledger (protocol, section 8).
        event = openclaw.event_of(openclaw.of_parent(payload, parent), runtime.workspace.privacy.owner_peers) or event
    elif event.subagent:
        event = replace(event, session_key="")
    directory = _text(tool, "directory") or _text(payload, "workspace")
    verdict = runtime.tool_call(event, str(name), arguments if isinstance(arguments, dict) else {}, directory)
    return {"deny": verdict.reason} if verdict.deny else {}


def _unserved(
    runtime: Runtime, event: HostEvent, payload: Mapping[str, Any], decision: ScopeDecision
) -> dict[str, Any]:  # fmt: skip
    """A turn without a scope gets nothing. Why is logged once, and again when the reason changes; never said in a
    chat."""
    if decision.code in _QUIET:
        return {}
    shared = event.sender == ""
    code = "shared-session" if shared else decision.code
    name = fastlane.hash_of(runtime.session_name(event), "none")
    with kept(runtime.where.cache, runtime.root, name, code) as standing:
        if standing.worked:
            return {}
        standing.worked = True
    text = SHARED_LOG if shared else UNSERVED_LOG.format(detail=decision.detail, remedy=decision.remedy)
    runtime.journal.log(code, decision, text.removeprefix("apm-hooks: "))
    return {"log": text}


def _warn(turn: _Turn, warning: str) -> None:
    if warning and warning not in turn.warnings:
        turn.warnings.append(warning)


def _identity(payload: Mapping[str, Any]) -> str:
    """What tells a message from all others of its session; empty where nothing does."""
    id_ = _text(payload, "message_id")
    return f"{_text(payload, 'channel')}:{id_}" if id_ else _text(payload, "run_id")


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


_EVENTS: Mapping[str, Callable[[_Turn], dict[str, Any]]] = {
    "message": _message, "bootstrap": _bootstrap, "prompt": _prompt, "turn_end": _turn_end, "compaction": _compaction,
    "compacted": _compacted,
}  # fmt: skip
