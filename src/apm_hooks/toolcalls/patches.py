"""Patches in the three ways in which agents write them: the envelope of `apply_patch`, unified diffs, and blocks of
search and replace. The texts alone are read, never the files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from apm_hooks.access import AccessKind, Edit
from apm_hooks.toolcalls.gathering import TEXT_CHARS, Gathering
from apm_hooks.toolcalls.paths import Why

ENVELOPE = "*** Begin Patch"

_HEADER = re.compile(r"\s*\*\*\*\s*(add file|update file|delete file|move to)\s*: ?(.*)", re.IGNORECASE | re.DOTALL)
_MARK = re.compile(r"\s*\*\*\*")
_END = re.compile(r"\s*\*\*\*\s*end patch\s*", re.IGNORECASE)
_UNIFIED = re.compile(r"(?:---|\+\+\+|rename from|rename to|copy from|copy to) ([^\t]*)")
_SEARCH = re.compile(r"[-<]{3,} ?SEARCH>?\s*")
_MIDDLE = re.compile(r"={3,}\s*")
_REPLACE = re.compile(r"[+>]{3,} ?REPLACE>?\s*")
_HINT = re.compile(r":\w+:.*|-{3,}\s*")


@dataclass(slots=True)
class _Section:
    """One file of a patch: what happens to it, and its lines."""

    does: str
    word: str
    lines: list[str] = field(default_factory=list)
    moved: str | None = None
    certain: bool = True


def read_envelope(text: str, found: Gathering) -> bool:
    """Notes what a patch in the `*** Begin Patch` way does; False if no file is named in it.

    A new file's text is known. A change is told as replacements of whole lines, each of which counts only if its old
    text stands in the file exactly once: hosts also look at context and forgive blanks. Where the lines leave more than
    one reading, the replacements are left out.
    """
    if len(text) > TEXT_CHARS:
        found.doubt(Why.TOO_MUCH, text)
        return True
    sections = _sections(text)
    for section in sections:
        if section.does == "add file":
            found.touch(AccessKind.WRITE, section.word, content=_added(section))
        elif section.does == "delete file":
            found.touch(AccessKind.DELETE, section.word)
        else:
            edits = line_edits(section.lines) if section.certain else None
            found.touch(AccessKind.EDIT, section.word, edits=edits or ())
            if section.moved is not None:
                found.touch(AccessKind.MOVE_FROM, section.word)
                found.touch(AccessKind.WRITE, section.moved)
    return bool(sections)


def read_unified(text: str, found: Gathering) -> bool:
    """Notes the files that a unified diff names, with and without the `a/` and `b/` before them; False if none."""
    names: dict[str, None] = {}
    for line in text.split("\n"):
        header = _UNIFIED.match(line.rstrip("\r"))
        if header and header[1].strip() not in ("", "/dev/null"):
            names[header[1]] = None
            if header[1].startswith(("a/", "b/", "i/", "w/")):
                names[header[1][2:]] = None
    for name in names:
        found.touch(AccessKind.EDIT, name)
    return bool(names)


def new_text(diff: str) -> str | None:
    """The text of a new file that is given as added lines; None if other lines stand among them."""
    return _added(_Section("add file", "", _lines(diff)))


def line_edits(lines: list[str]) -> tuple[Edit, ...] | None:
    """The replacements that hunks of a patch make, in order; None where a line is of no known kind."""
    edits: list[Edit] = []
    old: list[str] = []
    new: list[str] = []
    for line in [*lines, "@@"]:
        if line.startswith("@@"):
            if old != new:
                edits.append(Edit(_joined(old), _joined(new)))
            old, new = [], []
        elif line[:1] in ("", " "):
            old.append(line[1:])
            new.append(line[1:])
        elif line[0] in "-+":
            (old if line[0] == "-" else new).append(line[1:])
        else:
            return None
    return tuple(edits)


def block_edits(text: str) -> tuple[Edit, ...] | None:
    """The replacements in blocks of `SEARCH` and `REPLACE`; None where there is no block, one is not whole, or the text
    is too long."""
    if len(text) > TEXT_CHARS:
        return None
    edits: list[Edit] = []
    old: list[str] = []
    new: list[str] = []
    inside: list[str] | None = None
    for line in _lines(text):
        if _SEARCH.fullmatch(line):
            if inside is not None:
                return None
            old, new, inside = [], [], old
            inside = old
        elif inside is old and _MIDDLE.fullmatch(line):
            inside = new
        elif inside is new and _REPLACE.fullmatch(line):
            edits.append(Edit(_joined(old), _joined(new)))
            inside = None
        elif inside is not None and not (inside is old and not old and _HINT.fullmatch(line)):
            inside.append(line)
    return tuple(edits) if edits and inside is None else None


def _joined(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


def _lines(text: str) -> list[str]:
    return [line.removesuffix("\r") for line in text.split("\n")]


def _sections(text: str) -> list[_Section]:
    found: list[_Section] = []
    current: _Section | None = None
    for line in _lines(text):
        header = _HEADER.fullmatch(line)
        if header is None:
            if _END.fullmatch(line):
                current = None
            elif current is not None and not _MARK.match(line):
                current.lines.append(line)
            continue
        # Behind a blank it is a line of context to some, a header to others.
        if current is not None and line[:1] != "*" and current.does == "update file":
            current.certain = False
        does, word = header[1].lower(), header[2]
        if does != "move to":
            current = _Section(does, word)
            found.append(current)
        elif current is not None:
            current.moved = word
    return found


def _added(section: _Section) -> str | None:
    lines = section.lines
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return _joined([line[1:] for line in lines]) if all(line.startswith("+") for line in lines) else None
