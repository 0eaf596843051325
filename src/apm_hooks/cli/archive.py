"""`apm-hooks archive`: say in a memory file that it is archived, or take that back."""

from __future__ import annotations

import argparse

from apm_hooks.cli.write import notebook_of, tell

_DESCRIPTION = """\
Writes `status: archived` into a file's frontmatter, which is made where it is absent; the rest
of the file stays. A group's archived attention.md is passed over for project.md.

  apm-hooks archive attention.md
  apm-hooks archive attention.md --undo
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = _DESCRIPTION
    parser.add_argument("file", metavar="FILE", help="a file in the directory of this memory")
    parser.add_argument("--undo", action="store_true", help="give the file its earlier status back")


def act(options: argparse.Namespace) -> int:
    _, notebook = notebook_of(options)
    tell(options, notebook.archive(options.file, undo=options.undo))
    return 0
