"""`apm-hooks restore`: put back what a memory file held before it was changed."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

from apm_hooks.cli.common import print_json, say, table
from apm_hooks.cli.write import notebook_of, tell
from apm_hooks.errors import UsageError

NONE_KEPT = "no earlier text of this memory is kept"

_DESCRIPTION = """\
Before a file of memory is changed, a copy of it is kept in .apm/backup/, for this memory alone.
This puts the latest one that differs back; what it replaces is kept too, so doing it twice takes
it back.

  apm-hooks restore --list
  apm-hooks restore attention.md
  apm-hooks restore attention.md --image 3f2a9c1d
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument("file", metavar="FILE", nargs="?", default="", help="a file in the directory of this memory")
    parser.add_argument("--image", metavar="ID", default="", help="a certain copy, as --list names it")
    parser.add_argument("--list", action="store_true", help="show the copies that are kept of this memory's files")


def act(options: argparse.Namespace) -> int:
    if options.list == bool(options.file):
        raise UsageError("one of FILE and --list is needed", remedy="See: apm-hooks restore --list")
    runtime, notebook = notebook_of(options)
    if options.file:
        tell(options, notebook.restore(options.file, image=options.image))
        return 0
    zone = runtime.zone()
    rows = [
        (
            image.path,
            image.id,
            datetime.fromtimestamp(image.at_ns // 10**9, UTC).astimezone(zone).isoformat(),
            image.size,
        )
        for image in notebook.images()
    ]
    if options.json:
        print_json({"images": [{"path": path, "id": id_, "at": at, "bytes": size} for path, id_, at, size in rows]})
    else:
        say(table(("file", "id", "kept at", "bytes"), rows) if rows else NONE_KEPT)
    return 0
