"""Claude Code's events around a flush: `/remem`, the turn's end, compaction, the session's end.

What the host does with each answer was seen on the real program; `docs/hosts/claude-code.md` says how to see it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from apm_hooks import activity, seen
from apm_hooks.directive import summary_sentence
from apm_hooks.flushrecords import FlushReport, Status
from apm_hooks.hosts import claude_code
from apm_hooks.hosts.claude_code_transcript import Transcript, read_tail
from apm_hooks.hosts.claude_code_window import compaction_point, context_window
from apm_hooks.records import HostEvent
from apm_hooks.remem import arguments_of

if TYPE_CHECKING:
    from apm_hooks.runtime import Runtime


def answer_event(
    runtime: Runtime, event: HostEvent, payload: Mapping[str, Any], env: Mapping[str, str]
) -> Mapping[str, Any] | str:
    """The answer to any event but a session start and a tool call: JSON, or plain text for the summariser."""
    name = str(payload.get("hook_event_name"))
    if name == "PostCompact":
        runtime.compacted(event)
        return {}
    tail = read_tail(event.transcript, since=runtime.position(event, compaction=name == "PreCompact"))
    event = _filled(event, tail, env)
    if name == "UserPromptSubmit":
        refused = runtime.prompt(event, str(payload.get("prompt") or ""), str(payload.get("cwd") or ""))
        return claude_code.refusal(refused.reason) if refused.deny else _prompt(runtime, event, payload, tail)
    if name == "PreCompact":
        # A compaction by usage: the context is full, whatever the transcript, which lags behind a turn, holds by now.
        full = payload.get("trigger") == "auto"
        report = runtime.flush(
            event, "pre-compaction", usage_percent=runtime.sessions.used_percent(event),
            identity=claude_code.identity_of(payload, tail.size), messages=None if full else tail.messages,
            tokens=None if full else tail.tokens, position=tail.size or 0, tell=False,
        )  # fmt: skip
        # Whatever is printed here goes to the summariser as an instruction, even an empty JSON object. A turn that is
        # compacted again has not written yet what its flush asks for.
        return "" if report.status in (Status.NOTHING, Status.NO_SCOPE) else summary_sentence()
    if name in claude_code.TURN_ENDS:
        return _warned(runtime.turn_ended(event))
    _note_turns(runtime, event)
    runtime.session_end(event, messages=tail.messages, tokens=tail.tokens)
    return {}


def _prompt(runtime: Runtime, event: HostEvent, payload: Mapping[str, Any], tail: Transcript) -> Mapping[str, Any]:
    wish = arguments_of(str(payload.get("prompt") or ""))
    if wish is None:
        loaded = runtime.message_received(event, caps=claude_code.CAPS)
        told = [part.text for part in (loaded.directive, loaded.injection) if part.text]
        return claude_code.notice_answer("UserPromptSubmit", "\n".join(told), loaded.warning)
    report = runtime.flush(
        event, "remem", wish, runtime.sessions.used_percent(event), position=tail.size or 0,
        identity=claude_code.identity_of(payload, tail.size), caps=claude_code.CAPS,
    )  # fmt: skip
    return claude_code.notice_answer("UserPromptSubmit", report.directive.text, report.warning)


def _note_turns(runtime: Runtime, event: HostEvent) -> None:
    """Note that ends of turns came: of those that the fast lane answered only the mark tells, which goes now."""
    scope = runtime.decide(event).scope
    folder = activity.folder_name(str(scope)) if scope is not None else ""
    mark = activity.read_mark(runtime.root, folder, runtime.session_name(event)) if folder else None
    if mark is not None and mark["since"] and not mark["busy"]:
        seen.note(runtime.root, claude_code.HOST, "Stop", int(mark["at"]))


def _filled(event: HostEvent, tail: Transcript, env: Mapping[str, str]) -> HostEvent:
    """The event with how full its context is, as far as the transcript tells."""
    window = context_window(tail.model, env, version=tail.version, usage_tokens=tail.usage_tokens)
    point = compaction_point(window, env, version=tail.version)
    return replace(event, context_tokens=tail.usage_tokens, context_window=window or 0, compaction_at=point or 0)


def _warned(report: FlushReport | None) -> Mapping[str, Any]:
    """One line for the user, never text for the model: a turn's end that adds context makes the model go on."""
    return claude_code.notice_answer("Stop", "", report.warning if report is not None else "")
