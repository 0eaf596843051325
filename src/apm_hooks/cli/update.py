"""`apm-hooks update`: change one memory of the record store."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from apm_hooks.cli.common import print_json, say, warn
from apm_hooks.cli.write import text_of
from apm_hooks.errors import UsageError

if TYPE_CHECKING:
    from typing import Any

    from apm_hooks.store.base import Store

NOT_FOUND = "no memory has this id here. See: apm-hooks recall"
_NEVER = "never"

_DESCRIPTION = """\
Changes what is given of one memory. Its id stays, and what it said before is kept as history:
`recall --as-of` finds it. `recall` shows the ids.

  apm-hooks update 1b4e28ba-2fa1-11d2-883f-0016d3cca427 --content "We deploy on Wednesdays"
  apm-hooks update 1b4e28ba-2fa1-11d2-883f-0016d3cca427 --tags ops,prod --importance 5
  apm-hooks update 1b4e28ba-2fa1-11d2-883f-0016d3cca427 --expires never
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    arguments(parser)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own, here and below `self`."""
    parser.add_argument("id", metavar="ID", help="the memory's id")
    parser.add_argument("--title", metavar="TITLE", help="its title")
    parser.add_argument("--content", metavar="TEXT", help="its text; - reads it from standard input")
    parser.add_argument("--type", metavar="TYPE", help="its type")
    parser.add_argument("--importance", metavar="N", type=int, help="1 to 5")
    parser.add_argument("--tags", metavar="A,B", help="in place of the tags it has; an empty word takes them away")
    parser.add_argument("--expires", metavar="WHEN", help=f"a day or time, ISO 8601, or {_NEVER}")


def act(options: argparse.Namespace) -> int:
    from apm_hooks.cli.store import opened

    with opened(options) as store:
        return run(options, store)


def run(options: argparse.Namespace, store: Store) -> int:
    """Change and tell; 1 where no memory has that id."""
    from apm_hooks.cli.store import tags_in

    wanted: dict[str, Any] = {key: getattr(options, key) for key in ("title", "type", "importance")
                              if getattr(options, key) is not None}  # fmt: skip
    if options.content is not None:
        wanted["content"] = text_of(options.content)
    if options.tags is not None:
        wanted["tags"] = tags_in(options.tags)
    if options.expires is not None:
        wanted["expires_at"] = None if options.expires == _NEVER else options.expires
    if not wanted:
        raise UsageError("nothing to update", remedy="Say what, such as --content TEXT or --importance 4.")
    done = store.update_memory(options.id, **wanted)
    if options.json:
        print_json({"id": done.id, "found": done.found, "changed": list(done.changed), "notes": list(done.notes)})
    elif not done.found:
        warn(NOT_FOUND)
    else:
        say(
            f"updated  {done.id}: {', '.join(done.changed)}"
            if done.changed
            else f"kept     {done.id}: it is so already"
        )
        for note in done.notes:
            say(note)
    return 0 if done.found else 1
