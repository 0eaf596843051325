"""`apm-hooks backfill`: give memories of the record store the vectors that they lack."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from apm_hooks.cli.common import print_json, say, warn
from apm_hooks.errors import UsageError

if TYPE_CHECKING:
    from apm_hooks.store.base import Backfilled, Store

_AT_ONCE = 100
_DEFAULT = 20

_DESCRIPTION = """\
Gives memories the vectors that they lack: those that were saved without an embedder, or while its
provider was down, or under another one. Until all have theirs, a changed embedder finds by words.

  apm-hooks backfill                20 of them
  apm-hooks backfill --limit 100
  apm-hooks backfill --all          until none is left
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    arguments(parser)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own, here and below `self`."""
    parser.add_argument("--limit", metavar="N", type=int, help=f"so many at most, 1 to {_AT_ONCE} ({_DEFAULT})")
    parser.add_argument("--all", action="store_true", help="go on until none is left, or nothing more succeeds")


def act(options: argparse.Namespace) -> int:
    if options.all and options.limit is not None:
        raise UsageError("--all and --limit exclude each other", remedy="Leave one of them out.")
    from apm_hooks.cli.store import opened

    with opened(options) as store:
        return run(options, store)


def run(options: argparse.Namespace, store: Store) -> int:
    """Fill and tell; 1 where a vector could not be made."""
    if options.all:
        done = _everything(store)
    else:
        done = store.backfill_embeddings(limit=_DEFAULT if options.limit is None else options.limit)
    if options.json:
        print_json({"embedded": done.embedded, "failed": done.failed, "remaining": done.remaining, "note": done.note})
    else:
        say(f"embedded {done.embedded:,}, failed {done.failed:,}, remaining {done.remaining:,}")
        if done.note:
            say(done.note)
    return 1 if done.failed else 0


def _everything(store: Store) -> Backfilled:
    """One pass after the other, each kept for itself, until one brings nothing more."""
    from dataclasses import replace

    from apm_hooks.cli.store import Progress

    progress = Progress("vectors made:")
    embedded = 0
    try:
        while True:
            done = store.backfill_embeddings(limit=_AT_ONCE)
            embedded += done.embedded
            progress(embedded, embedded + done.remaining)
            if not done.embedded or not done.remaining:
                return replace(done, embedded=embedded)
    except KeyboardInterrupt:
        progress.close()
        warn(f"stopped: {embedded:,} vectors were made and stay; the same command goes on from there")
        raise
    finally:
        progress.close()
