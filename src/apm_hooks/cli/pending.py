"""`apm-hooks pending add|done|list`: what is to be settled first at the next flush."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from apm_hooks.cli.common import now, print_json, say, table
from apm_hooks.cli.write import common_behind, notebook_of, text_of
from apm_hooks.errors import UsageError

NOTHING_PENDING = "nothing is pending"

_DESCRIPTION = """\
A lead that nobody has confirmed yet is no memory: it waits as a pending item, and the next
flush asks to settle it first. Leads go when they are marked done.

  apm-hooks pending add "Bob may move to the design team: ask him"
  apm-hooks pending list
  apm-hooks pending done 3f2a9c
  apm-hooks pending done --all
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    verbs = parser.add_subparsers(dest="verb", metavar="add|done|list", required=True)
    add = verbs.add_parser("add", help="note a lead")
    add.add_argument("text", metavar="TEXT", help="one line; - reads it from standard input")
    done = verbs.add_parser("done", help="take items out that are settled")
    done.add_argument("ids", metavar="ID", nargs="*", help="an item's id, as list shows it")
    done.add_argument("--all", action="store_true", help="all items")
    verbs.add_parser("list", help="show the items, the oldest first")
    common_behind(verbs)


def act(options: argparse.Namespace) -> int:
    if options.verb == "done" and options.all == bool(options.ids):
        raise UsageError("one of ID and --all is needed", remedy="See: apm-hooks pending list")
    _, notebook = notebook_of(options)
    if options.verb == "add":
        items = [notebook.pending_add(text_of(options.text), at=now())]
    elif options.verb == "done":
        items = list(notebook.pending_done(options.ids, at=now(), everything=options.all))
    else:
        items = list(notebook.pending_list())
    if options.json:
        fields = ("id", "kind", "text", "at")
        print_json({"items": [{field: asdict(item)[field] for field in fields} for item in items]})
    elif options.verb == "list":
        rows = [(item.id, item.kind.value, item.at or "-", item.text) for item in items]
        say(table(("id", "kind", "at", "text"), rows) if rows else NOTHING_PENDING)
    else:
        for item in items:
            say(f"{'pending' if options.verb == 'add' else 'done   '}  {item.id}  {item.text}")
        if not items:
            say(NOTHING_PENDING)
    return 0
