"""`apm-hooks facts init|add|correct|move|cut`: the fact index, written."""

from __future__ import annotations

import argparse
import os
from dataclasses import asdict, replace

from apm_hooks.cli.common import here, print_json, say, warn
from apm_hooks.cli.facts_common import Place, measures_of, place_of
from apm_hooks.cli.write import SHRUNK, text_of
from apm_hooks.decoding import decode
from apm_hooks.errors import UsageError
from apm_hooks.facts.config import Member
from apm_hooks.facts.draft import Draft, draft
from apm_hooks.facts.model import INDEX
from apm_hooks.facts.store import FactStore
from apm_hooks.files import read_bytes
from apm_hooks.names import printable, shell_word
from apm_hooks.notebook import Written
from apm_hooks.records import LIMITS
from apm_hooks.writeback import has_agents_block, put_agents_block

MISSING_SO = "{missing} of {facts} facts have no So: yet (written as **So:** ?); say what each changes, or cut it"
LEFT = "left out, since no one line says it: line{s} {lines} of the notes"
_MOST_LINES = 20


def run(options: argparse.Namespace) -> int:
    """Write, and say what became of it."""
    place = place_of(options)
    member = place.member(options.member)
    directory = place.directory(member)
    store = FactStore(directory, member, today=measures_of(directory).today)
    if options.verb == "init":
        return _init(options, directory, member, store)
    if options.verb == "add":
        written = store.add(
            options.slug, text_of(options.text).strip(), options.so, provenance=options.provenance, note=options.note,
            section=options.section,
        )  # fmt: skip
    elif options.verb == "correct":
        written = store.correct(
            options.slug, text=options.text, so=options.so, provenance=options.provenance, line=options.line
        )
    elif options.verb == "move":
        written = store.move(options.slug, text=options.text, so=options.so, line=options.line)
    else:
        written = store.cut(options.slug, options.why, line=options.line)
    _tell(options, place, member, written)
    return 0


def _init(options: argparse.Namespace, directory: str, member: Member, store: FactStore) -> int:
    made = draft(_notes(options.file) if options.file is not None else "")
    if options.dry_run and not options.json:
        say(made.text.rstrip("\n"))
    written = None if options.dry_run else store.initialise(made.text)
    if written is not None and has_agents_block(directory):
        # The agent's half of the protocol grows by the rules of the index.
        put_agents_block(directory)
    if options.json:
        print_json({"path": f"{member.prefix}{INDEX}", "status": written.status if written else "dry run",
                    "facts": made.facts, "missing_so": made.missing, "left_out": list(made.left),
                    "text": made.text if options.dry_run else None})  # fmt: skip
        return 0
    if written is not None:
        say(f"written  {member.prefix}{written.path}: {made.facts} fact{'' if made.facts == 1 else 's'}")
    _tell_draft(made)
    return 0


def _tell_draft(made: Draft) -> None:
    if made.missing:
        warn(MISSING_SO.format(missing=made.missing, facts=made.facts))
    if made.left:
        lines = ", ".join(map(str, made.left[:_MOST_LINES])) + (" …" if len(made.left) > _MOST_LINES else "")
        warn(LEFT.format(s="" if len(made.left) == 1 else "s", lines=lines))


def _notes(file: str) -> str:
    """The notes to make a draft of: a plain file that the person names, or standard input. Raises UsageError for none,
    MemoryFileError for one that cannot be read."""
    if file == "-":
        return text_of("-")
    full = os.path.realpath(os.path.join(here(), file))
    folder, name = os.path.split(full)
    found = read_bytes(folder, name, limit=LIMITS.file_bytes) if name else None
    if found is None:
        raise UsageError(f"{printable(file)} does not exist", remedy="Name a notes file, or leave it out.")
    return decode(found[0], file)[0]


def _tell(options: argparse.Namespace, place: Place, member: Member, written: Written) -> None:
    told = replace(written, path=f"{member.prefix}{written.path}")
    if options.json:
        print_json(asdict(told))
        return
    where = f"{told.path}:{told.line}" if told.line else told.path
    say(f"written  {where}" if told.line else f"kept     {where}: {told.status}")
    if told.shrunk:
        say(SHRUNK.format(path=told.path, file=shell_word(told.path)))
    if told.note:
        say(f"note     {told.note}")
