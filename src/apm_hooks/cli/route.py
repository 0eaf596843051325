"""`apm-hooks route add|deprecate`: rows of the index's routing table; none is ever removed."""

from __future__ import annotations

import argparse

from apm_hooks.cli.write import common_behind, notebook_of, tell

_DESCRIPTION = """\
A row of the index says which file a message leads to. A row is never removed or reworded: it
is marked [DEPRECATED], and a new one is added.

  apm-hooks route add "deploys, releases, rollback" conventions/deploy.md --priority P2-L3
  apm-hooks route add "website, landing page" projects/website.md
  apm-hooks route deprecate conventions/deploy.md
  apm-hooks route deprecate "deploys, releases, rollback"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    verbs = parser.add_subparsers(dest="verb", metavar="add|deprecate", required=True)
    add = verbs.add_parser("add", help="add a row")
    add.add_argument("scenario", metavar="SCENARIO", help="what a message is about; alternatives parted by commas")
    add.add_argument("file", metavar="FILE", help="the file it leads to, in the directory of this memory")
    add.add_argument(
        "--priority", choices=("P0", "P1", "P2", "P3", "P2-L3"), default="",
        help="which row goes first (else as the file's name says); P2-L3: a file under a group's conventions/",
    )  # fmt: skip
    deprecate = verbs.add_parser("deprecate", help="retire a row")
    deprecate.add_argument("what", metavar="FILE|SCENARIO", help="the file, or the whole scenario, of the row")
    common_behind(verbs)


def act(options: argparse.Namespace) -> int:
    _, notebook = notebook_of(options)
    if options.verb == "add":
        tell(options, notebook.route_add(options.scenario, options.file, priority=options.priority))
    else:
        tell(options, notebook.route_deprecate(options.what))
    return 0
