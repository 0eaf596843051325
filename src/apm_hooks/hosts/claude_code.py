"""Claude Code: its hook payloads to our records, our answers to its JSON.

What it sends and takes was seen on the real program; `docs/hosts/claude-code.md` says how to see it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apm_hooks.budget import utf16_units
from apm_hooks.records import Bound, HostEvent, Loaded, Source

HOST = "claude-code"

CAP_UNITS = 10_000
"""One string of a hook's answer may hold so many UTF-16 units; one more, and the model gets a preview instead."""

CAPS = (Bound("utf16", utf16_units, CAP_UNITS),)


def session_start(payload: Mapping[str, Any], session_key: str | None) -> HostEvent | None:
    """The record of a SessionStart or SubagentStart payload; None for any other event or an unknown source.

    A coding CLI has no chats: without a session key its sessions are the owner's own (protocol, section 3).
    """
    name, source = payload.get("hook_event_name"), payload.get("source")
    subagent = name == "SubagentStart" or bool(payload.get("agent_id"))
    if name not in ("SessionStart", "SubagentStart"):
        return None
    if name == "SubagentStart":
        source = Source.STARTUP.value
    if source not in tuple(Source):
        return None
    return HostEvent(
        host=HOST,
        session_id=str(payload.get("session_id") or ""),
        source=Source(str(source)),
        session_key=session_key,
        single_user=True,
        subagent=subagent,
    )


def start_directory(payload: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """Where the session was started: the host keeps that in the environment while its working directory moves."""
    return env.get("CLAUDE_PROJECT_DIR") or str(payload.get("cwd") or ".")


def session_start_answer(loaded: Loaded) -> dict[str, Any]:
    """The answer that puts the injection into the model's context; empty where there is nothing to say."""
    answer: dict[str, Any] = {}
    if loaded.injection.text:
        answer["hookSpecificOutput"] = {
            "hookEventName": "SessionStart",
            "additionalContext": loaded.injection.text,
        }
    if loaded.warning:
        answer["systemMessage"] = loaded.warning
    return answer


def notice_answer(context: str, warning: str) -> dict[str, Any]:
    """An answer with one neutral line for the model and one for the user; either may be empty."""
    answer: dict[str, Any] = {"systemMessage": warning} if warning else {}
    if context:
        answer["hookSpecificOutput"] = {"hookEventName": "SessionStart", "additionalContext": context}
    return answer


def warns(payload: Mapping[str, Any]) -> bool:
    """True for events whose printed JSON the host shows to its user; pre-compaction output goes to the summariser."""
    return payload.get("hook_event_name") not in ("PreCompact", "SessionEnd")
