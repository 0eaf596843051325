"""`apm-hooks serve`: stay, and answer a host's events over a socket."""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import os
import signal
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

from apm_hooks.cli import openclaw_hook
from apm_hooks.cli.common import say, warn
from apm_hooks.errors import ApmError, UsageError
from apm_hooks.serving import PATH_BYTES, SERVING, Runtimes, ServeLimits, Server, socket_path

_STUCK_SECONDS = 60
_USED = ("apm_hooks.hosts.openclaw_turns", "apm_hooks.judge", "apm_hooks.runtime", "apm_hooks.workspace")
_ENDED = {
    "taken": "another worker is there already", "idle": "no event came for a while",
    "changed": "the library or its plugins changed", "replaced": "the socket is another's now",
}  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Stays and answers the events of a host over a Unix socket: what the hook command prints for an event, without "
        "the start of a process. The host's shim starts it when it is needed. One runs for a user and a home; it ends "
        "by itself after 15 minutes without an event, when apm-hooks or a plugin is upgraded, and when an event hangs. "
        "To see one at work:\n\n"
        "  apm-hooks serve --host openclaw --print-socket   where it listens\n"
        "  apm-hooks serve --host openclaw                  stay in this terminal; end it with Ctrl-C\n\n"
        'A line on the socket is a request: {"id": 1, "version": "…", "payload": {…}}; a line back is its answer:\n'
        '{"id": 1, "answer": {…}}, or {"id": 1, "error": "version"|"busy"|"bad"|"late"|"failed"|"ending"}.'
    )
    parser.add_argument("--host", required=True, choices=("openclaw",), help="whose events")
    parser.add_argument("--socket", metavar="PATH", default="", help="listen here (else where --print-socket says)")
    parser.add_argument("--print-socket", action="store_true", help="print where it listens, and end")
    parser.add_argument("--idle", metavar="SECONDS", type=float, default=SERVING.idle_seconds,
                        help="end after so long without an event (900)")  # fmt: skip


def act(options: argparse.Namespace) -> int:
    path = options.socket or socket_path(os.environ, options.host)
    if not os.path.isabs(path) or len(os.fsencode(path)) > PATH_BYTES:
        raise UsageError(f"--socket wants an absolute path of at most {PATH_BYTES} bytes")
    if options.print_socket:
        say(path)
        return 0
    os.umask(0o077)
    for module in _USED:
        # Loaded now, so that an upgrade meanwhile never mixes two versions.
        importlib.import_module(module)
    # Whatever writes to standard output would write to whoever started this.
    os.dup2(2, 1)
    os.chdir("/")
    given = {"workspace": options.workspace} if options.workspace else {}
    server = Server(
        path, partial(_answer, given, Runtimes(openclaw_hook.open_runtime)), hung=_end, alive=_alive,
        limits=ServeLimits(idle_seconds=options.idle),
    )  # fmt: skip
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: server.stop())
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    _alive()
    try:
        why = server.run()
    except OSError as error:
        raise ApmError(f"cannot listen at {path}: {error.strerror or error}") from error
    finally:
        faulthandler.cancel_dump_traceback_later()
    if why in _ENDED:
        warn(f"ended: {_ENDED[why]}")
    return 0


def _answer(options: Mapping[str, str], runtimes: Runtimes, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    return openclaw_hook.answer(options, payload, os.environ, runtimes)


def _alive() -> None:
    """Put off the end of this process: a plugin that keeps the interpreter to itself stops even the worker's loop."""
    faulthandler.dump_traceback_later(_STUCK_SECONDS, exit=True, file=sys.__stderr__ or sys.stderr)


def _end() -> NoReturn:
    """End with a thread that hangs: nothing else can stop it."""
    warn("ended: an event did not come to an end")
    sys.stderr.flush()
    os._exit(1)
