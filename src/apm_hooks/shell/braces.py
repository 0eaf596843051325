"""Brace expansion: one word into several, before anything else is expanded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from apm_hooks.shell.records import SHELL_LIMITS, Reason, TooMuchError
from apm_hooks.shell.tree import Part, Text

_NUMBERS = re.compile(r"(-?\d{1,15})\.\.(-?\d{1,15})(?:\.\.(-?\d{1,15}))?")
_LETTERS = re.compile(r"([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,9}))?")

# An unquoted character, or a part that stays whole.
_Atom: TypeAlias = "str | Part"


def merged(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The same parts, texts of one kind that touch written as one."""
    found: list[Part] = []
    run: list[str] = []
    for part in parts:
        if isinstance(part, Text) and run and isinstance(found[-1], Text) and found[-1].quoted == part.quoted:
            run.append(part.text)
            continue
        if len(run) > 1:
            found[-1] = Text("".join(run), found[-1].quoted)  # type: ignore[union-attr]
        found.append(part)
        run = [part.text] if isinstance(part, Text) else []
    if len(run) > 1:
        found[-1] = Text("".join(run), found[-1].quoted)  # type: ignore[union-attr]
    return tuple(found)


def brace_words(parts: Sequence[Part]) -> list[tuple[Part, ...]]:
    """The words that `{a,b}` and `{1..3}` make of one, in order; the word itself where there are none.

    Raises `TooMuchError` where there are too many.
    """
    if not any(isinstance(part, Text) and not part.quoted and "{" in part.text for part in parts):
        return [merged(parts)]
    atoms: list[_Atom] = []
    for part in parts:
        if isinstance(part, Text) and not part.quoted:
            atoms.extend(part.text)
        else:
            atoms.append(part)
    return [
        merged([Text(atom, quoted=False) if isinstance(atom, str) else atom for atom in word])
        for word in _words(atoms, 0)
    ]


def _words(atoms: list[_Atom], depth: int) -> list[list[_Atom]]:
    if depth > SHELL_LIMITS.brace_nesting:
        raise TooMuchError(Reason.TOO_DEEP)
    partner = _partners(atoms)
    words: list[list[_Atom]] = [[]]
    at = 0
    while at < len(atoms):
        close = partner.get(at)
        choices = _choices(atoms, at, close, partner, depth) if close is not None else None
        if close is None or choices is None:
            for word in words:
                word.append(atoms[at])
            at += 1
            continue
        if len(words) * len(choices) > SHELL_LIMITS.words:
            raise TooMuchError(Reason.TOO_MUCH)
        words = [word + choice for word in words for choice in choices]
        at = close + 1
    return words


def _partners(atoms: list[_Atom]) -> dict[int, int]:
    found: dict[int, int] = {}
    opened: list[int] = []
    for at, atom in enumerate(atoms):
        if atom == "{":
            opened.append(at)
        elif atom == "}" and opened:
            found[opened.pop()] = at
    return found


def _choices(
    atoms: list[_Atom], start: int, close: int, partner: dict[int, int], depth: int
) -> list[list[_Atom]] | None:
    pieces: list[list[_Atom]] = []
    begin = at = start + 1
    while at < close:
        if atoms[at] == "{" and at in partner:
            at = partner[at]
        elif atoms[at] == ",":
            pieces.append(atoms[begin:at])
            begin = at + 1
        at += 1
    if not pieces:
        inside = atoms[start + 1 : close]
        if len(inside) > 60 or not all(isinstance(atom, str) for atom in inside):
            return None
        return _series("".join(atom for atom in inside if isinstance(atom, str)))
    pieces.append(atoms[begin:close])
    found = [word for piece in pieces for word in _words(piece, depth + 1)]
    if len(found) > SHELL_LIMITS.words:
        raise TooMuchError(Reason.TOO_MUCH)
    return found


def _series(text: str) -> list[list[_Atom]] | None:
    if match := _NUMBERS.fullmatch(text):
        first, last = int(match[1]), int(match[2])
        wide = max((len(part) for part in match.group(1, 2) if re.match(r"-?0\d", part)), default=0)
        names = [f"{number:0{wide}d}" for number in _steps(first, last, int(match[3] or 1))]
    elif match := _LETTERS.fullmatch(text):
        names = [chr(code) for code in _steps(ord(match[1]), ord(match[2]), int(match[3] or 1))]
    else:
        return None
    return [list(name) for name in names]


def _steps(first: int, last: int, step: int) -> range:
    step = abs(step) or 1
    found = range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    if len(found) > SHELL_LIMITS.words:
        raise TooMuchError(Reason.TOO_MUCH)
    return found
