"""`apm-hooks watch`: stay, and flush each session when it goes quiet."""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from apm_hooks.cli.common import require_operator, runtime_of, say, warn, workspace_of
from apm_hooks.cli.sweep import document
from apm_hooks.errors import NotTrustedError, UsageError
from apm_hooks.flushrecords import FlushReport
from apm_hooks.watcher import Ending, Watcher

FLUSHED = "{scope}: flush {number} ({outcome}), {changed} changed files, {pending} pending items"
NOT_FLUSHED = "{scope}: {status}"
ENDED = "ended: {why}"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Stays and flushes each session of every scope when it was quiet for as long as idle_minutes says: a line a "
        "flush. One runs in a workspace; it ends by itself when no session is alive any more. Without it a quiet "
        "session is flushed by the next event of its scope, or by: apm-hooks sweep"
    )
    parser.add_argument("--poll", action="store_true", help="look for changes, where the system cannot tell of them")
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument(
        "--linger", metavar="MINUTES", type=float, help="end after so long without a live session (else idle_minutes)"
    )
    ends.add_argument("--forever", action="store_true", help="do not end by itself while no session is alive")


def act(options: argparse.Namespace) -> int:
    if options.linger is not None and not 0 <= options.linger < math.inf:
        raise UsageError("--linger wants a number of minutes", remedy="For no end use --forever.")
    root = workspace_of(options)
    require_operator(root)
    runtime = runtime_of(options)
    watcher = Watcher(
        runtime,
        idle_seconds=lambda: runtime.workspace.settings.idle_minutes * 60.0,
        poll=options.poll,
        linger_seconds=math.inf if options.forever else None if options.linger is None else options.linger * 60,
        report=_print_json if options.json else _print,
        note=warn,
    )
    with _stopped_by_signals(watcher.stop):
        ending = watcher.run()
    if ending is Ending.NOT_TRUSTED:
        raise NotTrustedError(ending.value, file=root)
    if options.json:
        _line({"ended": ending.name.lower()})
    else:
        say(ENDED.format(why=ending.value))
    return 0


def _print(report: FlushReport) -> None:
    template = FLUSHED if report.outcome else NOT_FLUSHED
    say(template.format(
        scope=report.scope or "-", number=report.number, outcome=report.outcome, status=report.status,
        changed=len(report.delta.changed), pending=len(report.pending),
    ))  # fmt: skip
    if report.warning:
        warn(report.warning)
    sys.stdout.flush()


def _print_json(report: FlushReport) -> None:
    _line(document(report))


def _line(fields: Mapping[str, object]) -> None:
    # Escaped, since a pipe's encoding may know less than a file's name does.
    print(json.dumps(fields), flush=True)


@contextmanager
def _stopped_by_signals(stop: Callable[[], None]) -> Iterator[None]:
    """While it lasts, the signals that ask a program to end call `stop`."""
    before = {
        number: signal.signal(number, lambda _number, _frame: stop()) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
