"""`apm-hooks facts`: the fact index, linted, written and shown."""

from __future__ import annotations

import argparse

from apm_hooks.cli.write import common_behind
from apm_hooks.findings import FORMATS

_DESCRIPTION = """\
memory/INDEX.md holds one line per fact, and memory/notes/ the arguments behind them.

  apm-hooks facts lint                            what is wrong with it, for each member
  apm-hooks facts init notes.md                   a draft of an index; a missing So: is marked
  apm-hooks facts add deploy-window "Deploys stop on Fridays" --so "Merge by Thursday" --as will
  apm-hooks facts correct deploy-window --so "Merge by Thursday noon"
  apm-hooks facts move deploy-window              all behind the first sentence goes to its note
  apm-hooks facts cut deploy-window --why "We deploy on any day now"
  apm-hooks facts show deploy-window              the fact, its note, what refers to it
  apm-hooks facts size                            what it costs, beside the budgets
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    lint = verbs.add_parser("lint", help="check indexes; exit code 1 for an error")
    lint.add_argument("members", metavar="MEMBER", nargs="*", help="only these members (all)")
    lint.add_argument("--format", choices=FORMATS, help="how findings are shown (human; with --json, json)")
    lint.add_argument("--quiet", action="store_true", help="only errors, and nothing where there is none")
    init = verbs.add_parser("init", help="create the index, as a draft of a notes file")
    init.add_argument("file", metavar="FILE", nargs="?", help="the notes to make a draft of (none); it is only read")
    init.add_argument("--dry-run", action="store_true", help="print the index, write nothing")
    add = verbs.add_parser("add", help="add a fact")
    add.add_argument("slug", metavar="SLUG", help="the fact's name: letters, digits, hyphens")
    add.add_argument("text", metavar="TEXT", help="the fact, one line; - reads it from standard input")
    add.add_argument("--so", metavar="TEXT", required=True, help="what it changes")
    add.add_argument("--as", dest="provenance", metavar="WORD", default="", help="will, measured or derived")
    add.add_argument("--section", metavar="TITLE", default="", help="the heading that it goes under (the last fact's)")
    add.add_argument("--note", metavar="LINK", default="", help="the note that it links: notes/NAME.md")
    correct = verbs.add_parser("correct", help="correct a fact in place")
    correct.add_argument("slug", metavar="SLUG", help="the fact")
    correct.add_argument("--text", metavar="TEXT", help="what it says")
    correct.add_argument("--so", metavar="TEXT", help="what it changes")
    correct.add_argument("--as", dest="provenance", metavar="WORD", help="will, measured or derived")
    move = verbs.add_parser("move", help="move a fact's argument into its note")
    move.add_argument("slug", metavar="SLUG", help="the fact")
    move.add_argument("--text", metavar="TEXT", help="what the line says then (its first sentence)")
    move.add_argument("--so", metavar="TEXT", help="what it changes, anew")
    cut = verbs.add_parser("cut", help="delete a fact, and log the cut in log/cuts.md")
    cut.add_argument("slug", metavar="SLUG", help="the fact")
    cut.add_argument("--why", metavar="TEXT", required=True, help="why it no longer changes a decision")
    show = verbs.add_parser("show", help="show a fact, its note, and what refers to it")
    show.add_argument("slug", metavar="SLUG", help="the fact")
    size = verbs.add_parser("size", help="show what the indexes cost, beside the budgets")
    size.add_argument("members", metavar="MEMBER", nargs="*", help="only these members (all)")
    for verb in (correct, move, cut):
        verb.add_argument("--line", metavar="N", type=int, default=0, help="which one, where a slug stands twice")
    for verb in (init, add, correct, move, cut, show):
        verb.add_argument("--member", metavar="HANDLE", default="", help="whose index (the one of this folder)")
    common_behind(verbs)


def act(options: argparse.Namespace) -> int:
    # Every command's parser is built for each of them: what only this one needs is loaded when it acts.
    if options.verb == "lint":
        from apm_hooks.cli.facts_lint import run
    elif options.verb in ("show", "size"):
        from apm_hooks.cli.facts_show import run
    else:
        from apm_hooks.cli.facts_write import run
    return run(options)
