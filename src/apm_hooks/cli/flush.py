"""`apm-hooks flush`: record a flush by hand, and print what is to be written back."""

from __future__ import annotations

import argparse
from dataclasses import replace

from apm_hooks.cli.common import event_of, print_json, runtime_of, say, warn
from apm_hooks.errors import ApmError, ScopeError
from apm_hooks.flushrecords import FlushReport, Status

_EPILOG = """\
examples:
  apm-hooks flush                        record a flush, print the directive for whoever writes memory back
  apm-hooks flush "the release decision" the same, asking for one thing in particular
  apm-hooks flush --done                 the writing is over: settle the flush

A flush that is not settled within the idle time is settled by the next event of the same scope, or by a sweep.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Records in the scope's flush-state.json that memory must be written back now, as /remem does in a "
        "conversation, and prints the directive: what changed, what is pending, where each thing belongs. It writes "
        "no memory itself."
    )
    parser.epilog = _EPILOG
    parser.add_argument("text", metavar="TEXT", nargs="?", default="", help="what to keep in particular")
    parser.add_argument("--done", action="store_true", help="settle the flush: what was written since is stamped")


def act(options: argparse.Namespace) -> int:
    runtime = runtime_of(options)
    # A terminal has no turns whose end could be waited for: from here on the session is quiet.
    event = replace(event_of(options, runtime), message_events=False)
    report = runtime.turn_ended(event) if options.done else runtime.flush(event, "remem", options.text)
    if report is None:
        if options.json:
            print_json({"status": Status.NOTHING.value, "scope": str(runtime.decide(event).scope or "")})
        else:
            say("nothing to settle: no flush of this session is open")
        return 0
    if report.status is Status.NO_SCOPE:
        decision = runtime.decide(event)
        raise ScopeError(decision.detail, remedy=decision.remedy)
    if options.json:
        print_json(document_of(report))
    else:
        _show(report, done=options.done)
    if report.warning:
        warn(report.warning.removeprefix("apm-hooks: "))
    return ApmError.exit_code if report.status is Status.FAILED else 0


def document_of(report: FlushReport) -> dict[str, object]:
    """A report as a JSON-ready mapping; paths are relative to the workspace."""
    return {
        "status": report.status.value, "trigger": report.trigger.value, "scope": str(report.scope or ""),
        "number": report.number, "outcome": report.outcome.value if report.outcome else None,
        "added": list(report.delta.added), "modified": list(report.delta.modified),
        "removed": list(report.delta.removed), "complete": report.delta.complete,
        "refused": [{"path": path, "is": kind} for path, kind in report.delta.refused],
        "pending": [{"id": item.id, "kind": item.kind.value, "text": item.text} for item in report.pending],
        "directive": report.directive.text or None, "tokens": report.directive.tokens,
        "reports": [answer.report for answer in report.answers if answer.report],
        "warning": report.warning or None,
    }  # fmt: skip


def _show(report: FlushReport, *, done: bool) -> None:
    say(f"{report.scope}: flush {report.number}, {report.outcome.value if report.outcome else report.status.value}")
    for name, paths in (("added", report.delta.added), ("modified", report.delta.modified),
                        ("removed", report.delta.removed)):  # fmt: skip
        for path in paths:
            say(f"  {name:9} {path}")
    for path, kind in report.delta.refused:
        say(f"  refused   {path}: {kind}")
    for answer in report.answers:
        if answer.report:
            say(f"  {answer.report}")
    if not done and report.directive.text:
        say("")
        say(report.directive.text)
