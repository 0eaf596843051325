"""`apm-hooks recall`: find memories in the record store, or list the most important ones."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from apm_hooks.cli.common import print_json, say

if TYPE_CHECKING:
    from apm_hooks.store.base import Store

_DESCRIPTION = """\
Finds memories by words, and by meaning where an embedder is set. Without a query: the ten most
important ones, the newest first among equals. A session sees its own memories alone.

  apm-hooks recall
  apm-hooks recall which database did we choose
  apm-hooks recall 部署 窗口 --type decision --tags ops,prod --limit 5
  apm-hooks recall deploy window --as-of 2026-03-01      what was remembered then
  apm-hooks recall --order recent --min-importance 4
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    arguments(parser)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own, here and below `self`."""
    parser.add_argument("query", metavar="QUERY", nargs="*", help="words or a question (none: the most important)")
    parser.add_argument("--type", metavar="TYPE", help="only fact, decision, preference, solution, project, source "
                        "or person")  # fmt: skip
    parser.add_argument("--tags", metavar="A,B", help="only with all of these tags")
    parser.add_argument("--limit", metavar="N", type=int, default=10, help="so many at most, 1 to 50 (10)")
    parser.add_argument("--mode", metavar="MODE", default="auto",
                        help="auto, semantic (by meaning alone) or fulltext (by words alone)")  # fmt: skip
    parser.add_argument("--min-importance", metavar="N", type=int, default=1, help="only from this on, 1 to 5")
    parser.add_argument("--as-of", metavar="WHEN", help="as it was at that day or time, ISO 8601 (UTC without offset)")
    parser.add_argument("--order", metavar="ORDER", default="importance",
                        help="of a list without a query: importance or recent")  # fmt: skip


def act(options: argparse.Namespace) -> int:
    from apm_hooks.cli.store import opened

    with opened(options) as store:
        return run(options, store)


def run(options: argparse.Namespace, store: Store) -> int:
    """Ask and tell; finding nothing is an answer."""
    from apm_hooks.cli.store import tags_in
    from apm_hooks.cli.store_show import recalled_document, recalled_text

    found = store.recall(
        " ".join(options.query) if options.query else None,
        type=options.type, tags=tags_in(options.tags), limit=options.limit, mode=options.mode,
        min_importance=options.min_importance, as_of=options.as_of, order=options.order,
    )  # fmt: skip
    if options.json:
        print_json(recalled_document(found))
    else:
        say(recalled_text(found))
    return 0
