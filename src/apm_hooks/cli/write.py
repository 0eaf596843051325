"""`apm-hooks write`: put a decision, a status, a fact, a person or the day's summary where it belongs."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from apm_hooks.cli.common import event_of, print_json, runtime_of, say
from apm_hooks.decoding import decode
from apm_hooks.errors import ScopeError, UsageError
from apm_hooks.names import shell_word
from apm_hooks.records import LIMITS

if TYPE_CHECKING:
    from apm_hooks.notebook import Notebook, Written
    from apm_hooks.runtime import Runtime

NO_SCOPE = "no memory belongs to this session"
NO_SCOPE_REMEDY = "See: apm-hooks explain"
SHRUNK = "{path} lost more than half of its text; the earlier one comes back with: apm-hooks restore {file}"

_DESCRIPTION = """\
Writes to the memory of the session that it runs in: the owner's, or one group's. What is
there already is not written twice; a text with a secret in it is refused.

  decision   a decision or lesson, dated, newest first   experience.md   longterm.md
  status     what is now: replaces what stood there      attention.md    attention.md
  note       a fact about a project                      project.md      projects/NAME.md
  person     who someone is, their role                  people.md       longterm.md
  day        the day's summary                           -               daily-synced.md
                                                         (a group)       (the owner)

  apm-hooks write decision "Use Postgres: SQLite locked up under load" --source log/2026-01-02.md
  apm-hooks write status - < status.md
  apm-hooks write note "Python 3.12 on Debian 13" --project website
  apm-hooks write person "Eve: on call in odd weeks"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument("kind", choices=("decision", "status", "note", "person", "day"), help="what the text is")
    parser.add_argument("text", metavar="TEXT", help="the text; - reads it from standard input")
    parser.add_argument("--source", metavar="WHERE", default="", help="where a decision comes from, in one line")
    parser.add_argument("--project", metavar="NAME", default="", help="whose fact a note is, in the owner's memory")


def act(options: argparse.Namespace) -> int:
    if options.source and options.kind not in ("decision", "person"):
        raise UsageError("--source goes with a decision or a person", remedy="Leave it out.")
    if options.project and options.kind != "note":
        raise UsageError("--project goes with a note", remedy="Leave it out.")
    text = text_of(options.text)
    _, notebook = notebook_of(options)
    if options.kind == "note":
        written = notebook.note(text, project=options.project)
    elif options.kind in ("decision", "person"):
        written = getattr(notebook, options.kind)(text, source=options.source)
    else:
        written = getattr(notebook, options.kind)(text)
    tell(options, written)
    return 0


def notebook_of(options: argparse.Namespace) -> tuple[Runtime, Notebook]:
    """The memory that the command's session may write, with its runtime; raises ScopeError where it has none."""
    from apm_hooks.notebook import Notebook

    runtime = runtime_of(options)
    scope = runtime.decide(event_of(options, runtime)).scope
    if scope is None:
        raise ScopeError(NO_SCOPE, remedy=NO_SCOPE_REMEDY)
    return runtime, Notebook(runtime.root, scope, today=runtime.today(), limits=runtime.limits)


def text_of(argument: str) -> str:
    """The text that an argument gives, or standard input for `-`; raises UsageError for one that is too long."""
    if argument != "-":
        return argument
    data = sys.stdin.buffer.read(LIMITS.file_bytes + 1)
    if len(data) > LIMITS.file_bytes:
        raise UsageError(f"standard input has more than {LIMITS.file_bytes} bytes", remedy="Shorten it.")
    return decode(data, "standard input")[0]


def tell(options: argparse.Namespace, written: Written) -> None:
    """Say what became of the request."""
    if options.json:
        print_json(asdict(written))
        return
    place = f"{written.path}:{written.line}" if written.line else written.path
    say(f"written  {place}" if written.line else f"kept     {place}: {written.status}")
    if written.shrunk:
        say(SHRUNK.format(path=written.path, file=shell_word(written.path)))
    if written.note:
        say(f"note     {written.note}")


def common_behind(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Let the common options stand behind a verb too, without resetting what stood before it."""
    for verb in verbs.choices.values():
        verb.add_argument("--workspace", metavar="DIR", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        verb.add_argument("--session", metavar="KEY", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        verb.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
