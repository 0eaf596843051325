"""The help of `apm-hooks hook`; the command itself goes its own way before any parser is loaded."""

from __future__ import annotations

import argparse
import sys

from apm_hooks import start


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Reads one event of a host as JSON on standard input and prints the host's answer, or nothing. Always exits "
        "with 0: a fault costs the memory of this event, never the host's turn. To try it:\n\n"
        '  echo \'{"hook_event_name": "SessionStart", "source": "startup", "session_id": "x", "cwd": "."}\' \\\n'
        "    | apm-hooks hook --host claude-code"
    )
    parser.add_argument("--host", required=True, choices=("claude-code", "openclaw"), help="whose event it is")


def act(options: argparse.Namespace) -> int:
    sys.argv[1:] = ["--host", options.host]
    if options.workspace:
        sys.argv += ["--workspace", options.workspace]
    if options.session is not None:
        sys.argv += ["--session", options.session]
    start.main()
    return 0
