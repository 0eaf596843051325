"""`apm-hooks`: what may be asked for, and who answers it."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import NoReturn

from apm_hooks._version import __version__
from apm_hooks.cli.common import print_json, warn
from apm_hooks.errors import ApmError, UsageError

_EPILOG = """\
exit codes: 0 done, 1 something is wrong, 2 usage, 3 settings, 4 not trusted or another owner's, 5 a file, 6 a lock

a first workspace:
  apm-hooks init --workspace DIR            create what is missing and accept the folder
  apm-hooks install claude-code             let Claude Code call apm-hooks
  apm-hooks install openclaw                let OpenClaw call apm-hooks
  apm-hooks group add support --id -100123  give a group chat a memory of its own
  apm-hooks explain --message "who is on call?"
"""

_COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("init", "apm_hooks.cli.init", "create what a workspace lacks, and accept it"),
    ("trust", "apm_hooks.cli.trust", "accept a workspace as it is now, privacy settings included"),
    ("group", "apm_hooks.cli.group", "map group chats to names, list them"),
    ("install", "apm_hooks.cli.install", "add our hooks to a host"),
    ("uninstall", "apm_hooks.cli.uninstall", "take our hooks out of a host again; memory stays"),
    ("hook", "apm_hooks.cli.hookhelp", "answer one event of a host (the host calls this)"),
    ("hook-command", "apm_hooks.cli.hookcommand", "print the line that install writes"),
    ("plugins", "apm_hooks.cli.plugins", "show the plugins, what they do, and what is wrong with them"),
    ("explain", "apm_hooks.cli.explain", "show what would be loaded, why, and at what cost"),
    ("flush", "apm_hooks.cli.flush", "record that memory is to be written back, and say how"),
    ("status", "apm_hooks.cli.status", "show each scope's last flush, what is pending and what changed"),
    ("write", "apm_hooks.cli.write", "write a decision, status, fact, person or day where it belongs"),
    ("route", "apm_hooks.cli.route", "add a row to the index's routing table, or retire one"),
    ("archive", "apm_hooks.cli.archive", "say that a memory file is archived, or take that back"),
    ("restore", "apm_hooks.cli.restore", "put back what a memory file held before it was changed"),
    ("pending", "apm_hooks.cli.pending", "note, list and settle unconfirmed leads"),
    ("watch", "apm_hooks.cli.watch", "flush sessions when they go quiet"),
    ("sweep", "apm_hooks.cli.sweep", "flush the sessions that are quiet now, for cron"),
    ("serve", "apm_hooks.cli.serve", "stay, and answer a host's events over a socket (the host's shim starts this)"),
    ("audit", "apm_hooks.cli.audit", "check memory files, and say where each thing belongs"),
    ("facts", "apm_hooks.cli.facts", "check the fact index, and write it"),
    ("recall", "apm_hooks.cli.recall", "find memories in the record store, or list the most important"),
    ("remember", "apm_hooks.cli.remember", "save one memory in the record store"),
    ("update", "apm_hooks.cli.update", "change one memory of the record store"),
    ("forget", "apm_hooks.cli.forget", "erase one memory of the record store"),
    ("dedup", "apm_hooks.cli.dedup", "find memories that are one, and merge them"),
    ("backfill", "apm_hooks.cli.backfill", "give memories the vectors that they lack"),
    ("export", "apm_hooks.cli.store_export", "write the record store's memories as JSON Lines"),
    ("import", "apm_hooks.cli.store_import", "take in what export wrote"),
    ("self", "apm_hooks.cli.selfmemory", "the agent's own notes, for local models"),
    ("doctor", "apm_hooks.cli.doctor", "find what keeps the hooks from working, and how to mend it"),
)


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are errors of ours, so that they look like all others."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, remedy=f"See: {self.prog} --help")


def build() -> argparse.ArgumentParser:
    """The parser of every command."""
    parser = _Parser(
        prog="apm-hooks", description="Memory for AI agents: loaded bit by bit, kept apart per conversation.",
        epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"apm-hooks {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module, summary in _COMMANDS:
        sub = commands.add_parser(
            name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter, parents=[_common()],
            allow_abbrev=False,
        )  # fmt: skip
        command = importlib.import_module(module)
        command.configure(sub)
        if sub.description and "\n" not in sub.description:
            # Examples keep their lines; a plain paragraph is folded.
            sub.description = textwrap.fill(sub.description, 88)
        sub.set_defaults(act=command.act)
    return parser


def _common() -> _Parser:
    common = _Parser(add_help=False)
    group = common.add_argument_group("common")
    group.add_argument(
        "--workspace", metavar="DIR", default="",
        help="the folder with apm.toml and memory/ (else APM_WORKSPACE, else the nearest folder above this one)",
    )  # fmt: skip
    group.add_argument(
        "--session", metavar="KEY", help="the host's name of the conversation (else APM_SESSION, else the owner's own)"
    )
    group.add_argument("--json", action="store_true", help="print one JSON document on standard output, nothing else")
    return common


def run(arguments: Sequence[str]) -> int:
    """Parse and act; an error becomes one line on standard error (with `--json` also a document) and its exit code."""
    code = 0
    try:
        try:
            options = build().parse_args(arguments)
            act: Callable[[argparse.Namespace], int] = options.act
            code = act(options)
        except ApmError as error:
            code = error.exit_code
            warn(str(error))
            if "--json" in arguments:
                print_json({"error": error.as_dict()})
        except SystemExit:
            # What argparse does after it has printed a help text or the version.
            pass
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough (`| head`).
        _forget_output()
    except OSError as error:
        _forget_output()
        warn(f"{error.filename or 'the output'}: {error.strerror or error}")
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _forget_output() -> None:
    """Let nothing more be said of a standard output that takes no more: Python would complain once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
