"""`apm-hooks explain`: the loader's own trace, for a session and a message."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from apm_hooks import texts
from apm_hooks.cli.common import event_of, print_json, runtime_of, say, table, warn_of
from apm_hooks.errors import MemoryFileError
from apm_hooks.hosts.claude_code import CAPS
from apm_hooks.records import Loaded, RouteMatch, Scope, Step
from apm_hooks.routing import RouteScore, explain_routes
from apm_hooks.runtime import Runtime


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Shows, without recording anything, whose memory a session may touch, what a session start would load from "
        "it, why, and at what token cost; with --message also which row of the routing table the message matches."
    )
    parser.add_argument("--message", metavar="TEXT", default="", help="a user's message to route")
    parser.add_argument("--host", choices=("claude-code",), help="also keep within this host's own cap")


def act(options: argparse.Namespace) -> int:
    runtime = runtime_of(options)
    event = event_of(options, runtime, options.message)
    started, message = runtime.explain(event, caps=CAPS if options.host else ())
    try:
        match = runtime.route(started.decision.scope, options.message)
        considered = rows(runtime, started.decision.scope, options.message)
    except MemoryFileError:
        # The trace names the index that cannot be read.
        match, considered = None, ()
    if options.json:
        print_json({**document(runtime, started, message, match), "rows": [_row(score) for score in considered]})
    else:
        _show(started, message, match, considered if options.message else None)
        warn_of(runtime.workspace.problems if runtime.is_owner(event) else ())
    return 0


def rows(runtime: Runtime, scope: Scope | None, message: str) -> tuple[RouteScore, ...]:
    """Every row of the scope's routing table as the built-in matcher sees the message; raises MemoryFileError."""
    index = runtime.index(scope) if scope is not None and message.strip() else None
    if index is None:
        return ()
    return tuple(score for sub in (False, True) for score in explain_routes(message, index.routes, sub_files=sub))


def _row(score: RouteScore) -> dict[str, object]:
    return {"line": score.route.line, "file": score.route.path or None, "score": round(score.score, 4),
            "words": list(score.words), "verdict": score.verdict.value}  # fmt: skip


def document(runtime: Runtime, started: Loaded, message: Loaded | None, match: RouteMatch | None) -> dict[str, object]:
    """What `--json` prints: `scope`, `reason`, `remedy`, `route`, `steps`, `tokens`, `budget`."""
    decision = started.decision
    return {
        "scope": str(decision.scope) if decision.scope else None,
        "reason": decision.code,
        "detail": decision.detail,
        "remedy": decision.remedy or None,
        "route": None if match is None else {
            "file": match.route.path, "words": list(match.words), "score": round(match.score, 4),
            "priority": match.route.priority, "line": match.route.line,
        },
        "steps": [
            {"step": step.step, "file": step.path or None, "verdict": step.verdict, "reason": step.reason,
             "tokens": step.tokens}
            for step in _steps(started, message)
        ],
        "tokens": _tokens(started, message),
        "budget": started.budget_tokens,
        "tokenizer": runtime.counter.name,
        "exact": runtime.counter.exact,
    }  # fmt: skip


def _steps(started: Loaded, message: Loaded | None) -> tuple[Step, ...]:
    return started.steps + (message.steps if message else ())


def _tokens(started: Loaded, message: Loaded | None) -> int:
    return started.injection.tokens + (message.injection.tokens if message else 0)


def _show(
    loaded: Loaded, message: Loaded | None, match: RouteMatch | None, considered: Sequence[RouteScore] | None
) -> None:
    decision = loaded.decision
    say(f"scope   {decision.scope or 'none'}  ({decision.detail})")
    if decision.remedy:
        say(f"remedy  {decision.remedy}")
    steps = _steps(loaded, message)
    if steps:
        say("")
        lines = [(step.step, step.path or "-", step.verdict, step.tokens or "-", step.reason) for step in steps]
        say(table(("step", "file", "verdict", "tokens", "why"), lines))
    if considered:
        say("")
        seen = [
            (each.route.line, each.route.path or "-", each.verdict, f"{each.score:.2f}", ", ".join(each.words) or "-")
            for each in considered
        ]
        say(table(("line", "row's file", "verdict", "score", "words"), seen))
    say("")
    if considered is not None:
        shown = texts.NO_ROUTE if match is None else texts.ROUTE.format(
            path=match.route.path, words=", ".join(match.words), score=match.score)  # fmt: skip
        say(f"route   {shown}")
    say(f"tokens  {_tokens(loaded, message)} of {loaded.budget_tokens}")
