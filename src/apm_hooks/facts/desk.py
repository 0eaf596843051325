"""One member's memory as it lies on disk, read for the linter. Reads memory files, follows no link, writes nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date

from apm_hooks.decoding import decode
from apm_hooks.errors import MemoryFileError
from apm_hooks.facts.config import Member
from apm_hooks.facts.lint import Checks, share_tokens
from apm_hooks.facts.model import DECISIONS, IDEAS, INDEX, NOTES, Memory, Note
from apm_hooks.facts.parts import same_name
from apm_hooks.files import read_bytes, read_text, stamp
from apm_hooks.index import parse_index
from apm_hooks.opening import kind_of, parent
from apm_hooks.records import DM, LIMITS, Limits

_DEPTH = 8
_MOST_NOTES = 100_000


def read_memory(directory: str, *, limits: Limits = LIMITS, bodies: bool = True) -> Memory:
    """What a member's directory holds. Never raises for what lies there: a file that cannot be read is a problem of it.

    Without `bodies` the notes are only listed.
    """
    if not os.path.isdir(directory):
        return Memory()
    problems: dict[str, str] = {}
    index, index_bytes = _text(directory, INDEX, problems, limits)
    decisions, decisions_bytes = _text(directory, DECISIONS, problems, limits)
    ideas, _ = _text(directory, IDEAS, problems, limits)
    notes = {same_name(note.path): note for note in _notes(directory, bodies, problems, limits)}
    return Memory(index, index_bytes, notes, decisions, decisions_bytes, ideas, problems)


def checks_of(
    directory: str, member: Member, today: date, count: Callable[[str], int] | None = None,
    estimate: Callable[[str], int] | None = None, *, limits: Limits = LIMITS,
) -> Checks:  # fmt: skip
    """What a member's memory is measured by: its budgets, and the index's share of its session's budget in tokens."""
    share = share_of(directory, limits=limits) if count else 0
    return Checks(today, member.budgets, member.words, share, count, estimate)


def share_of(directory: str, *, limits: Limits = LIMITS) -> int:
    """The tokens of the owner's session that are the fact index's own, whatever else is loaded."""
    budget = None
    with suppress(MemoryFileError):
        found = read_text(directory, DM.index_path, limits=limits)
        budget = parse_index(found.text, DM).budget_tokens if found else None
    return share_tokens(budget or limits.dm_budget_tokens, limits=limits)


def _text(directory: str, path: str, problems: dict[str, str], limits: Limits) -> tuple[str | None, int]:
    """A file's text and its size on disk; what is there and cannot be read has a size too."""
    try:
        found = read_text(directory, path, limits=limits)
        return (found.text, found.stamp.size) if found else (None, 0)
    except MemoryFileError as error:
        problems[path] = error.cause
    with suppress(MemoryFileError):
        seen = stamp(directory, path)
        return None, seen.size if seen and not kind_of(seen.mode) else 0
    return None, 0


def _notes(directory: str, bodies: bool, problems: dict[str, str], limits: Limits) -> Iterator[Note]:
    names = sorted(_names(directory, "", problems))[:_MOST_NOTES]
    for name, mode in names:
        path = f"{NOTES}/{name}"
        kind = kind_of(mode)
        if kind:
            yield Note(name, None, f"is {kind}")
            continue
        if not bodies:
            yield Note(name, "")
            continue
        try:
            # No wait for one that is being saved just now: there may be thousands of them.
            found = read_bytes(directory, path, limit=limits.file_bytes)
            if found is not None:
                yield Note(name, decode(found[0], path)[0])
        except MemoryFileError as error:
            problems[path] = error.cause
            yield Note(name, None, f"cannot be read: {error.cause}")


def _names(directory: str, below: str, problems: dict[str, str], depth: int = 0) -> Iterator[tuple[str, int]]:
    """The names of the notes with their modes; hidden ones, and what is no markdown, are none."""
    folder = f"{NOTES}/{below}" if below else NOTES
    folders: list[str] = []
    try:
        with parent(directory, f"{folder}/any") as (descriptor, _), os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name.endswith("~"):
                    continue
                name = f"{below}/{entry.name}" if below else entry.name
                if entry.is_dir(follow_symlinks=False):
                    folders.append(name)
                elif entry.name.endswith(".md"):
                    yield name, entry.stat(follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    except (OSError, MemoryFileError) as error:
        problems[folder] = error.cause if isinstance(error, MemoryFileError) else error.strerror or "cannot be read"
        return
    if depth < _DEPTH:
        for name in sorted(folders):
            yield from _names(directory, name, problems, depth + 1)
