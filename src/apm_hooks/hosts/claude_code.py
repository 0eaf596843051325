"""Claude Code: its hook payloads to our records, our answers to its JSON.

What it sends and takes was seen on the real program; `docs/hosts/claude-code.md` says how to see it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apm_hooks.budget import utf16_units
from apm_hooks.records import Bound, HostEvent, Loaded, Source

HOST = "claude-code"

ANSWERED = (
    "SessionStart", "SubagentStart", "UserPromptSubmit", "PreToolUse", "PreCompact", "PostCompact", "Stop",
    "StopFailure", "SessionEnd",
)  # fmt: skip
"""The events that we answer; any other is passed over."""
TURN_ENDS = ("Stop", "StopFailure")
"""A turn's end; one that the user breaks off has none."""

CAP_UNITS = 10_000
"""One string of a hook's answer may hold so many UTF-16 units; one more, and the model gets a preview instead."""

CAPS = (Bound("utf16", utf16_units, CAP_UNITS),)


def event_of(payload: Mapping[str, Any], session_key: str | None) -> HostEvent | None:
    """The record of a payload of one of `ANSWERED`; None for any other event, and for an unknown source.

    A coding CLI has no chats: without a session key its sessions are the owner's own (protocol, section 3). A slash
    command begins a turn as a message does, but routes to nothing.
    """
    name, source = payload.get("hook_event_name"), payload.get("source")
    message = str(payload.get("prompt") or "") if name == "UserPromptSubmit" else ""
    if name not in ANSWERED:
        return None
    if name != "SessionStart":
        # What a prompt calls its source is another thing.
        source = Source.STARTUP.value
    if source not in tuple(Source):
        return None
    return HostEvent(
        host=HOST,
        session_id=str(payload.get("session_id") or ""),
        source=Source(str(source)),
        session_key=session_key,
        single_user=True,
        subagent=name == "SubagentStart" or bool(payload.get("agent_id")),
        message="" if is_command(message) else message,
        transcript=transcript_of(payload),
    )


def transcript_of(payload: Mapping[str, Any]) -> str:
    """The absolute path of the session's transcript; empty where the host names none."""
    path = payload.get("transcript_path")
    return path if isinstance(path, str) and path.startswith("/") and "\0" not in path else ""


def identity_of(payload: Mapping[str, Any], size: int | None) -> str:
    """What tells this event from others of its kind: the prompt's id, else where the transcript stands (bytes).

    A turn that is compacted more than once has one flush: its directive stands until the turn is over.
    """
    prompt = payload.get("prompt_id")
    if isinstance(prompt, str) and prompt:
        return prompt
    return "" if size is None or payload.get("hook_event_name") == "UserPromptSubmit" else f"transcript:{size}"


def is_command(message: str) -> bool:
    """True for `/name …`: what the host takes for a command, and no path that a message happens to start with."""
    word = message.split(maxsplit=1)[0] if message.strip() else ""
    return message.startswith("/") and word[1:].replace("-", "").replace(":", "").replace("_", "").isalnum()


def start_directory(payload: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """Where the session was started: the host keeps that in the environment while its working directory moves."""
    return env.get("CLAUDE_PROJECT_DIR") or str(payload.get("cwd") or ".")


def answer_of(event_name: str, loaded: Loaded) -> dict[str, Any]:
    """The answer that puts the injection into the model's context; empty where there is nothing to say."""
    return notice_answer(event_name, loaded.injection.text, loaded.warning)


def denial(reason: str) -> dict[str, Any]:
    """The answer to PreToolUse that blocks the call and tells the model why."""
    return {"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": reason,
    }}  # fmt: skip


def refusal(reason: str) -> dict[str, Any]:
    """The answer to UserPromptSubmit that keeps the prompt from the model and tells the user why."""
    return {"decision": "block", "reason": reason}


def notice_answer(event_name: str, context: str, warning: str) -> dict[str, Any]:
    """An answer with text for the model and one line for the user; either may be empty. The host drops an answer whose
    event is not the one it asked about."""
    answer: dict[str, Any] = {}
    if context:
        answer["hookSpecificOutput"] = {"hookEventName": event_name, "additionalContext": context}
    if warning:
        answer["systemMessage"] = warning
    return answer


def warns(payload: Mapping[str, Any]) -> bool:
    """True for events whose printed JSON the host shows to its user; pre-compaction output goes to the summariser."""
    return payload.get("hook_event_name") not in ("PreCompact", "SessionEnd")
