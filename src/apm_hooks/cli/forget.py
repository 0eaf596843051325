"""`apm-hooks forget`: erase one memory of the record store."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from apm_hooks.cli.common import print_json, say, warn
from apm_hooks.cli.update import NOT_FOUND

if TYPE_CHECKING:
    from apm_hooks.store.base import Store

_DESCRIPTION = """\
Erases one memory for good: its text, its history, what it is found by. `recall` shows the ids.

  apm-hooks forget 1b4e28ba-2fa1-11d2-883f-0016d3cca427
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    arguments(parser)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own, here and below `self`."""
    parser.add_argument("id", metavar="ID", help="the memory's id")


def act(options: argparse.Namespace) -> int:
    from apm_hooks.cli.store import opened

    with opened(options) as store:
        return run(options, store)


def run(options: argparse.Namespace, store: Store) -> int:
    """Erase and tell; 1 where no memory has that id."""
    forgotten = store.forget(options.id)
    if options.json:
        print_json({"id": options.id, "forgotten": forgotten})
    elif forgotten:
        say(f"forgotten  {options.id}")
    else:
        warn(NOT_FOUND)
    return 0 if forgotten else 1
