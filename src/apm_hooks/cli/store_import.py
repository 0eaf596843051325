"""`apm-hooks import`: take into the record store what an export wrote."""

from __future__ import annotations

import argparse
from itertools import islice
from typing import TYPE_CHECKING

from apm_hooks.cli.common import print_json, say, warn
from apm_hooks.cli.store_export import require_owners_file
from apm_hooks.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apm_hooks.store.base import Imported
    from apm_hooks.store.records import RecordStore

EMPTY = "there is no export in it"
_SHOWN = 20
_AT_ONCE = 500
"""Lines that go in together, or not at all."""

_DESCRIPTION = """\
Takes in what `export` wrote, expired memories too. A memory whose id is there already stays as it
is, so the same import again changes nothing. A line with a secret in it, of another conversation,
or that is no memory is skipped and told: exit code 1. Stopped half-way, it says how far it came.

  apm-hooks import memories.jsonl
  zcat memories.jsonl.gz | apm-hooks import -
  apm-hooks import --all-scopes backup.jsonl       each line into its own conversation's memory
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument("--all-scopes", action="store_true", help="take in the memories of all conversations")
    arguments(parser)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own, here and below `self`."""
    parser.add_argument("file", metavar="FILE", help="the file to read; - is standard input")


def act(options: argparse.Namespace) -> int:
    from apm_hooks.cli.store import opened, require_all_scopes

    require_all_scopes(options)
    require_owners_file(options)
    with opened(options) as store:
        return run(options, store)


def run(options: argparse.Namespace, store: RecordStore, *, all_scopes: bool | None = None) -> int:
    """Take in and tell; 1 where a line was skipped."""
    from apm_hooks.cli.store_files import read_lines

    every = options.all_scopes if all_scopes is None else all_scopes
    taking = _Taking(store, all_scopes=every)
    try:
        taking.take(read_lines(options.file))
    except KeyboardInterrupt:
        taking.progress.close()
        if options.json:
            print_json(taking.document(complete=False))
        warn(f"stopped: {taking.told()}")
        raise
    except Exception:
        # What went wrong is told by whoever catches it; how far it came is known here alone.
        taking.progress.close()
        if taking.lines:
            warn(f"not all was taken in: {taking.told()}")
        raise
    finally:
        taking.progress.close()
    if options.json:
        print_json(taking.document(complete=True))
    else:
        _say(taking.done)
    return 1 if taking.done.skipped else 0


class _Taking:
    """An import as it goes on: lines go in by the hundred, each lot whole or not at all."""

    def __init__(self, store: RecordStore, *, all_scopes: bool) -> None:
        from apm_hooks.cli.store import Progress
        from apm_hooks.store.items import Imported

        self._store = store
        self._all = all_scopes
        self.progress = Progress("lines taken in:")
        self.done: Imported = Imported(0, 0)
        self.lines = 0
        """So many lines of the file are in the store, or skipped."""

    def take(self, lines: Iterator[str]) -> None:
        """Take in all lines. Raises UsageError where they do not begin as an export does."""
        head, number = "", 0
        for number, head in enumerate(lines, 1):  # noqa: B007 - both are needed behind the loop
            if head.strip():
                break
        if not head.strip():
            raise UsageError(EMPTY, remedy="Take a file that `apm-hooks export` has written.")
        self._put(head, [], number)
        self.lines = number
        while lot := list(islice(lines, _AT_ONCE)):
            self._put(head, lot, self.lines)
            self.lines += len(lot)
            self.progress(self.lines)

    def _put(self, head: str, lot: list[str], before: int) -> None:
        """One lot, behind the head that says what it is; `before` lines of the file stand before it."""
        from apm_hooks.store.items import Imported

        put = self._store.import_lines([head, *lot], all_scopes=self._all)
        skipped = tuple((before + line - 1, why) for line, why in put.skipped)
        self.done = Imported(
            self.done.added + put.added, self.done.unchanged + put.unchanged, (*self.done.skipped, *skipped)
        )

    def told(self) -> str:
        """How far it came, in words."""
        if self.done == type(self.done)(0, 0):
            return "no memory is in yet"
        return f"the first {self.lines:,} lines are done ({_counts(self.done)}); the same import again does the others"

    def document(self, *, complete: bool) -> dict[str, object]:
        """The same as a document."""
        from apm_hooks.cli.store_show import imported_document

        return imported_document(self.done, complete=complete, lines=self.lines)


def _counts(done: Imported) -> str:
    return f"{done.added:,} added, {done.unchanged:,} there already, {len(done.skipped):,} skipped"


def _say(done: Imported) -> None:
    say(_counts(done))
    for line, why in done.skipped[:_SHOWN]:
        say(f"  line {line}: {why}")
    if len(done.skipped) > _SHOWN:
        say(f"  … and {len(done.skipped) - _SHOWN:,} more: --json names each")
