"""What a host does in a workspace: which of its events came, and where it compacts a model's context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from apm_hooks import activity, seen
from apm_hooks.doctor import Check, Level, Subject, told
from apm_hooks.doctor_host import is_installed
from apm_hooks.errors import SettingsError
from apm_hooks.hosts.claude_code import HOST
from apm_hooks.hosts.claude_code_hooks import EVENTS
from apm_hooks.hosts.claude_code_window import LONG_WINDOW, WINDOW, compaction_point
from apm_hooks.usage import early_threshold

CAME = "events that came: {events}"
NOT_EXPECTED = "no events are expected: no hooks of ours are installed"
NONE_CAME = "our hooks are installed, and no event has come yet"
NEVER_CAME = "{event} never came"
NO_START = "SessionStart never came, though sessions were at work: they began without their memory"
NO_START_REMEDY = "See whether the host trusts this folder and shows our hooks (/hooks), then start a new session."
EARLY = "memory is written back early from: {points}"
NO_EARLY = "no context window is known, so memory is not written back early"
POINT = "{tokens:,} of {window:,} tokens"
HOW: Mapping[str, str] = {
    "SessionStart": "To see it come, start a session in the workspace.",
    "UserPromptSubmit": "To see it come, send a message in a session.",
    "PreToolUse": "To see it come, have a file of the memory read in a session.",
    "PreCompact": "To see it come, type /compact in a session.",
    "PostCompact": "To see it come, type /compact in a session.",
    "Stop": "To see it come, type /remem in a session and let the turn end.",
    "SessionEnd": "To see it come, leave a session with /exit.",
}
"""Event → how to make the host fire it. What is not named here leaves no trace, or comes only where a turn fails."""


def events(subject: Subject) -> list[Check]:
    """Which of the host's events came, and when each last did."""
    came = {event: at for (host, event), at in seen.events(subject.root).items() if host == HOST}
    marks = [mark for mark in _marks(subject) if mark["host"] == HOST]
    for mark in marks:
        # Most messages and ends of turns are answered by the fast lane, which keeps the mark alone.
        for event in ("UserPromptSubmit", *(() if mark["busy"] else ("Stop",))) if mark["since"] else ():
            came[event] = max(came.get(event, 0), int(mark["at"]))
    if not came and not marks:
        installed = is_installed(subject)
        return [Check(Level.NOTE, NONE_CAME, HOW["SessionStart"]) if installed else Check(Level.OK, NOT_EXPECTED)]
    zone = subject.opened.zone()
    told_when = [f"{event} {datetime.fromtimestamp(came[event] / 1e9, UTC).astimezone(zone):%Y-%m-%d %H:%M}"
                 for event, _ in EVENTS if event in came]  # fmt: skip
    found = [Check(Level.OK, CAME.format(events=", ".join(told_when)))] if told_when else []
    for event in (each for each in HOW if each not in came):
        if event == "SessionStart":
            found.append(Check(Level.WARNING, NO_START, NO_START_REMEDY))
        else:
            found.append(Check(Level.NOTE, NEVER_CAME.format(event=event), HOW[event]))
    return found


def early(subject: Subject) -> list[Check]:
    """Whether an early flush comes before the host's own compaction, for the windows that are set or were met."""
    settings = subject.opened.workspace.settings
    met = {int(mark["window"]) for mark in _marks(subject) if mark["window"]}
    windows = [settings.context_window] if settings.context_window else sorted(met) or [WINDOW, LONG_WINDOW]
    found: list[Check] = []
    points: list[str] = []
    for window in windows:
        compaction_at = settings.compaction_at or compaction_point(window, subject.env)
        try:
            threshold = early_threshold(settings.flush_at_percent, window, compaction_at,
                                        chosen="flush_at_percent" in settings.origins)  # fmt: skip
        except SettingsError as error:
            found.append(told(error, Level.ERROR))
            continue
        if threshold is not None and threshold.tokens is not None:
            points.append(POINT.format(tokens=threshold.tokens, window=window))
    return found or [Check(Level.OK, EARLY.format(points="; ".join(points)) if points else NO_EARLY)]


def _marks(subject: Subject) -> Iterator[Mapping[str, Any]]:
    for folder in activity.folders(subject.root):
        for _, mark in activity.marks_of(subject.root, folder):
            yield mark
