"""`apm-hooks audit`: what is wrong in memory files, and where each thing belongs."""

from __future__ import annotations

import argparse

from apm_hooks.findings import FORMATS, Level


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Checks MEMORY.md, indexes, names, sizes and secrets, and says for each line where it belongs. In the "
        "operator's terminal all scopes, grouped; inside a group's session that group alone. Exit code 1 where a "
        "finding reaches the level."
    )
    parser.add_argument("paths", metavar="PATH", nargs="*", help="only findings on these files and folders")
    parser.add_argument("--format", choices=FORMATS, help="how findings are shown (human; with --json, json)")
    parser.add_argument(
        "--level", choices=[level.value for level in Level], default=Level.WARNING.value,
        help="the least level that is shown and that counts (warning)",
    )  # fmt: skip
    parser.add_argument("--fix", action="store_true", help="mend in indexes what can mean one thing only")
    parser.add_argument("--dry-run", action="store_true", help="with --fix: show the changes, write nothing")


def act(options: argparse.Namespace) -> int:
    # Every command's parser is built for each of them: what only this one needs is loaded when it acts.
    from apm_hooks.cli.auditing import run

    return run(options)
