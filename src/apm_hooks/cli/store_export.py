"""`apm-hooks export`: the memories of the record store as JSON Lines."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from apm_hooks.cli.common import print_json, say, warn
from apm_hooks.errors import ScopeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apm_hooks.cli.store import Progress
    from apm_hooks.store.records import RecordStore

NOT_HERE = "files are exported and imported in the owner's sessions alone"
STREAM = "-"

_DESCRIPTION = """\
Writes every memory of the session with all its fields, its history and its vector, one JSON
document a line: `import` takes it back. FILE is written whole or not at all, for your eyes only
(mode 0600), and replaces nothing but an older export.

  apm-hooks export memories.jsonl
  apm-hooks export - | gzip > memories.jsonl.gz
  apm-hooks export --all-scopes backup.jsonl       the groups' memories too; in your terminal only
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument("--all-scopes", action="store_true", help="the memories of all conversations: a back-up")
    arguments(parser)


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's own, here and below `self`."""
    parser.add_argument("file", metavar="FILE", help="the file to write; - is standard output")


def act(options: argparse.Namespace) -> int:
    from apm_hooks.cli.store import opened, require_all_scopes

    require_all_scopes(options)
    require_owners_file(options)
    with opened(options) as store:
        return run(options, store)


def require_owners_file(options: argparse.Namespace) -> None:
    """Raise ScopeError for a FILE in a session that is not the owner's: the command would read and write for it what
    its tools may not touch. What a session's own shell redirects is judged as any other command."""
    from apm_hooks.cli.store import is_owner

    if options.file != STREAM and not is_owner(options):
        raise ScopeError(NOT_HERE, remedy=f"Write {STREAM} for standard input or output.")


def run(options: argparse.Namespace, store: RecordStore, *, all_scopes: bool | None = None) -> int:
    """Write and tell."""
    from apm_hooks.cli.store import Progress
    from apm_hooks.cli.store_files import write_file, write_stream

    if options.file == STREAM and options.json:
        raise UsageError("--json goes with a FILE", remedy="Leave it out: an export is JSON already.")
    every = options.all_scopes if all_scopes is None else all_scopes
    lines = store.export_lines(all_scopes=every)
    if options.file == STREAM:
        write_stream(lines)
        return 0
    progress = Progress("memories written:")
    try:
        count = write_file(options.file, _counted(lines, progress), store.kind) - 1
    except KeyboardInterrupt:
        progress.close()
        warn(f"stopped; {options.file} is as it was")
        raise
    finally:
        progress.close()
    if options.json:
        print_json({"file": options.file, "memories": count})
    else:
        say(f"exported  {options.file}: {count:,} {'memory' if count == 1 else 'memories'}")
    return 0


def _counted(lines: Iterator[str], progress: Progress) -> Iterator[str]:
    for count, line in enumerate(lines):
        progress(count)
        yield line
