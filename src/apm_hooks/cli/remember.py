"""`apm-hooks remember`: save one memory in the record store."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from apm_hooks.cli.common import print_json, say
from apm_hooks.cli.write import text_of

if TYPE_CHECKING:
    from apm_hooks.store.base import Store

_DESCRIPTION = """\
Saves one thing to be found again: a fact, a decision, a preference. The same text again is not
saved twice; what resembles or contradicts another memory is saved, and told. A text with a secret
in it is refused. Not for small talk, others' personal data, or what was asked to be kept private.

  apm-hooks remember "We deploy on Tuesdays, never on Fridays" --type decision --tags ops --importance 4
  apm-hooks remember - --title "Why Postgres" < why.md
  apm-hooks remember "The staging key is in the vault, entry 12" --expires 2027-01-31
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    arguments(parser)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own, here and below `self`."""
    parser.add_argument("text", metavar="TEXT", help="what to remember, up to 64 KiB; - reads it from standard input")
    parser.add_argument("--title", metavar="TITLE", help="its title (from the first line)")
    parser.add_argument("--type", metavar="TYPE", default="fact",
                        help="fact (default), decision, preference, solution, project, source or person")  # fmt: skip
    parser.add_argument("--importance", metavar="N", type=int, default=3, help="1 to 5: 5 always applies (3)")
    parser.add_argument("--tags", metavar="A,B", help="lower-case words with hyphens")
    parser.add_argument("--expires", metavar="WHEN", help="gone from then on: a day or time, ISO 8601 (never)")
    parser.add_argument("--source", metavar="WHERE", default="agent", help="where it comes from (agent)")


def act(options: argparse.Namespace) -> int:
    from apm_hooks.cli.store import opened

    with opened(options) as store:
        return run(options, store)


def run(options: argparse.Namespace, store: Store) -> int:
    """Save and tell."""
    from apm_hooks.cli.store import tags_in
    from apm_hooks.cli.store_show import saved_document, saved_text

    saved = store.remember(
        text_of(options.text), title=options.title, type=options.type, importance=options.importance,
        tags=tags_in(options.tags), expires_at=options.expires, source=options.source,
    )  # fmt: skip
    if options.json:
        print_json(saved_document(saved))
    else:
        say(saved_text(saved))
    return 0
