"""`apm-hooks dedup`: find memories of the record store that are one, and merge them."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from apm_hooks.cli.common import print_json, say, warn

if TYPE_CHECKING:
    from apm_hooks.store.base import Store

_DESCRIPTION = """\
Finds memories of one type that say the same, and with --apply merges them: the more important one
stays with both texts and all tags, and the other becomes its history. What differs in a number, a
name or a negation is never merged.

  apm-hooks dedup                        only show them
  apm-hooks dedup --threshold 0.9        show looser likeness too
  apm-hooks dedup --apply
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    arguments(parser)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own, here and below `self`."""
    parser.add_argument("--threshold", metavar="SHARE", type=float, default=0.97,
                        help="how alike two must be, 0.5 to 1 (0.97)")  # fmt: skip
    parser.add_argument("--apply", action="store_true", help="merge them")


def act(options: argparse.Namespace) -> int:
    from apm_hooks.cli.store import opened

    with opened(options) as store:
        return run(options, store)


def run(options: argparse.Namespace, store: Store) -> int:
    """Find, merge where asked, and tell."""
    from apm_hooks.cli.store import Progress
    from apm_hooks.cli.store_show import pairs_document, pairs_text

    progress = Progress("memories compared:")
    try:
        pairs = store.deduplicate_memories(
            threshold=options.threshold, dry_run=not options.apply, progress=progress
        )  # fmt: skip
    except KeyboardInterrupt:
        progress.close()
        warn("stopped; each pair was merged whole or not at all" if options.apply else "stopped; nothing was changed")
        raise
    finally:
        progress.close()
    if options.json:
        print_json(pairs_document(pairs, applied=options.apply))
    else:
        say(pairs_text(pairs, applied=options.apply))
    return 0
