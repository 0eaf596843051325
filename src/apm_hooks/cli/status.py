"""`apm-hooks status`: per scope the last flush, what is pending, what changed since, which sessions are alive."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from apm_hooks import activity
from apm_hooks.cli.common import event_of, in_no_session, print_json, runtime_of, say, table, warn_of
from apm_hooks.errors import MemoryFileError, ScopeError
from apm_hooks.flushrecords import Outcome
from apm_hooks.records import DM, Scope, ScopeKind
from apm_hooks.runtime import Runtime


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Shows, for each scope, when it was last flushed and how that ended, what waits to be settled, which files "
        "changed since, compactions that came without their event, and the sessions that are alive or went quiet. "
        "Inside a conversation it shows that conversation's scope alone. It changes nothing."
    )
    parser.add_argument("--changed", action="store_true", help="also name every changed file and pending item")


def act(options: argparse.Namespace) -> int:
    runtime = runtime_of(options)
    rows = [_row(runtime, scope) for scope in _scopes(options, runtime)]
    if options.json:
        print_json({"workspace": runtime.root, "idle_minutes": runtime.workspace.settings.idle_minutes,
                    "scopes": rows})  # fmt: skip
    else:
        _show(rows, whole=options.changed)
    if in_no_session(options):
        warn_of(runtime.workspace.problems)
    return 0


def _scopes(options: argparse.Namespace, runtime: Runtime) -> list[Scope]:
    """All scopes for the operator in the terminal; inside a session its own (protocol, section 9)."""
    if in_no_session(options):
        names = sorted({entry.name for entry in runtime.workspace.groups.entries})
        return [DM, *(Scope(ScopeKind.GROUP, name) for name in names)]
    decision = runtime.decide(event_of(options, runtime))
    if decision.scope is None:
        raise ScopeError(decision.detail, remedy=decision.remedy)
    return [decision.scope]


def _row(runtime: Runtime, scope: Scope) -> dict[str, Any]:
    try:
        book, delta, problem = runtime.flusher.status(scope)
    except MemoryFileError as error:
        return {"scope": str(scope), "problem": str(error)}
    moment = runtime.flusher.moment()
    idle = runtime.sessions.idle_seconds
    sessions = [
        {"session": name, "host": mark["host"], "busy": bool(mark["busy"]), "messages": mark["since"],
         "open": bool(mark["open"]), "quiet_seconds": activity.age(mark, moment) // 10**9,
         "due": activity.is_due(mark, moment, idle, runtime.limits.turn_seconds)}
        for name, mark in runtime.sessions.live_marks(scope)
    ]  # fmt: skip
    latest = book.flushes[-1] if book.flushes else None
    return {
        "scope": str(scope), "last_flush": book.last_time, "number": book.number,
        "outcome": latest.outcome.value if latest else None, "trigger": latest.trigger.value if latest else None,
        "told": latest.told if latest else None,
        "pending": [{"id": item.id, "kind": item.kind.value, "text": item.text, "at": item.at or None}
                    for item in book.pending],
        "changed": list(delta.changed), "refused": [{"path": path, "is": kind} for path, kind in delta.refused],
        "complete": delta.complete,
        "missed": sum(each.outcome is Outcome.MISSED for each in book.flushes),
        "sessions": sessions, "problem": problem or None,
    }  # fmt: skip


def _show(rows: list[dict[str, Any]], *, whole: bool) -> None:
    cells: list[tuple[object, ...]] = []
    for row in rows:
        if "number" not in row:
            cells.append((row["scope"], "?", "?", "?", "?", "?", "?", "?"))
            continue
        quiet = sum(session["due"] for session in row["sessions"])
        number = "never" if row["number"] is None else row["number"]
        outcome = f"{row['outcome']} ({row['trigger']})" if row["outcome"] else "-"
        cells.append((row["scope"], _when(row["last_flush"]), number, outcome, len(row["pending"]),
                      len(row["changed"]), row["missed"], f"{len(row['sessions'])} ({quiet} quiet)"))  # fmt: skip
    say(table(("scope", "last flush", "number", "outcome", "pending", "changed", "missed", "sessions"), cells))
    for row in rows:
        if row.get("problem"):
            say(f"{row['scope']}: {row['problem']}")
        if not row.get("complete", True):
            say(f"{row['scope']}: too many files: not all were looked at")
        for item in row.get("refused", ()):
            say(f"{row['scope']}: not looked into: {item['path']} ({item['is']})")
        if whole:
            for path in row.get("changed", ()):
                say(f"{row['scope']}: changed {path}")
            for item in row.get("pending", ()):
                say(f"{row['scope']}: pending {item['id']} {item['kind']}: {item['text']}")


def _when(text: str | None) -> str:
    if not text:
        return "never"
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{(when if when.tzinfo else when.replace(tzinfo=UTC)):%Y-%m-%d %H:%M}"
