"""`apm-hooks sweep`: flush every session that went quiet, now; for cron."""

from __future__ import annotations

import argparse

from apm_hooks.cli.common import print_json, require_operator, runtime_of, say, table, warn, workspace_of
from apm_hooks.flushrecords import FlushReport, Status

NOTHING_DUE = "no session went quiet with anything to save"
NO_FLUSH = "not recorded"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Flushes, once each, the sessions of every scope that were quiet for as long as idle_minutes says, and prints "
        "what it recorded. A session's own events see to their own scope; this is for the scopes in which nothing "
        "happens any more, run by cron or by hand. See also: apm-hooks watch"
    )


def act(options: argparse.Namespace) -> int:
    require_operator(workspace_of(options))
    reports = runtime_of(options).sweep()
    if options.json:
        print_json({"flushes": [document(report) for report in reports]})
    elif reports:
        rows = [_row(report) for report in reports]
        say(table(("scope", "flush", "outcome", "changed files", "pending items"), rows))
    else:
        say(NOTHING_DUE)
    for report in reports:
        if report.warning and not options.json:
            warn(report.warning)
    return 1 if any(report.status is Status.FAILED for report in reports) else 0


def document(report: FlushReport) -> dict[str, object]:
    """What `--json` prints of a flush: `scope`, `trigger`, `status`, `number`, `outcome`, `changed`, `pending`,
    `warning`; null where there is none."""
    return {
        "scope": str(report.scope) if report.scope else None,
        "trigger": report.trigger.value,
        "status": report.status.value,
        "number": report.number,
        "outcome": report.outcome.value if report.outcome else None,
        "changed": list(report.delta.changed),
        "pending": [item.text for item in report.pending],
        "warning": report.warning or None,
    }


def _row(report: FlushReport) -> tuple[object, ...]:
    number = NO_FLUSH if report.status is Status.FAILED or report.number is None else report.number
    outcome = report.outcome.value if report.outcome else report.status.value
    return report.scope or "-", number, outcome, len(report.delta.changed), len(report.pending)
