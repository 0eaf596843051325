"""Words after expansion: texts with the places in them that only the run will fill, and the paths they make."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

TEXT = "text"
GLOB = "glob"
DIGITS = "digits"
GAP = "gap"
TREE = "tree"

_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Value:
    """One word after expansion: pieces of (kind, text).

    `text` is literal; `glob` is a live pattern, matching within one path component; `digits` a number;
    `gap` is unknown, its text the reason; `tree` is any path below what stands before it, or that itself. `raw` is the
    word as written.
    """

    pieces: tuple[tuple[str, str], ...] = ()
    raw: str = ""

    @property
    def literal(self) -> str | None:
        """The text, where all of it is known."""
        if all(kind == TEXT for kind, _ in self.pieces):
            return "".join(text for _, text in self.pieces)
        return None

    @property
    def head(self) -> str:
        """The known text that it begins with."""
        return self.pieces[0][1] if self.pieces and self.pieces[0][0] == TEXT else ""

    @property
    def gap(self) -> str | None:
        """The reason of the first unknown piece, if there is one."""
        return next((text for kind, text in self.pieces if kind == GAP), None)

    @property
    def pattern(self) -> str | None:
        """The text with its patterns as they are written; None where something is not known."""
        return None if self.gap is not None or self.has(TREE) else "".join(text for _, text in self.pieces)

    @property
    def empty(self) -> bool:
        return not self.pieces

    def has(self, kind: str) -> bool:
        return any(piece == kind for piece, _ in self.pieces)

    def after(self, count: int) -> Value:
        """Without the first `count` characters, which must be known text."""
        kind, text = self.pieces[0]
        rest = ((kind, text[count:]),) if len(text) > count else ()
        return Value(rest + self.pieces[1:], self.raw)

    def fragments(self) -> tuple[str, ...]:
        """The known pieces of an unknown word that say something."""
        return tuple(text for kind, text in self.pieces if kind != GAP and any(map(str.isalnum, text)))


def text_value(text: str, raw: str | None = None) -> Value:
    """A wholly known word."""
    return Value(((TEXT, text),) if text else (), text if raw is None else raw)


def joined(*values: Value, raw: str = "") -> Value:
    """The words written together as one."""
    pieces: list[tuple[str, str]] = []
    for value in values:
        for kind, text in value.pieces:
            if kind == TEXT and pieces and pieces[-1][0] == TEXT:
                pieces[-1] = (TEXT, pieces[-1][1] + text)
            else:
                pieces.append((kind, text))
    return Value(tuple(pieces), raw or (values[0].raw if values else ""))


def value_lines(values: tuple[Value, ...]) -> list[Value]:
    """The same values with the known texts cut at line ends."""
    lines = []
    for value in values:
        text = value.literal
        lines += [text_value(line, value.raw) for line in text.split("\n")] if text is not None else [value]
    return lines


@dataclass(frozen=True, slots=True)
class Spot:
    """An absolute path; a pattern where `glob`. `whole` keeps its `..`; empty where the place is not known."""

    path: str
    glob: bool = False
    whole: str = ""
    tree: bool = False


UNKNOWN_SPOT = Spot("")
NUMBER = Value(((DIGITS, "*"),))
"""A number; nothing that holds a slash, a dot or a blank."""


def _escaped(text: str) -> str:
    return _WILD.sub(r"[\g<0>]", text)


def normal(path: str) -> str:
    """The absolute path without `.`, `..`, doubled and trailing slashes."""
    return "/" + posixpath.normpath(path).lstrip("/")


def spot_of(base: Spot, value: Value) -> Spot | None:
    """Where a word without gaps leads from `base`; None where `base` would be needed and is not known."""
    live = value.has(GLOB) or value.has(DIGITS)
    text = "".join(
        text if kind in {GLOB, DIGITS} or not live else _escaped(text)
        for kind, text in _before_tree(value)
        if kind != TREE
    )
    tree = value.has(TREE)
    if text.startswith("/"):
        return Spot(normal(text), live, text, tree)
    if not base.path:
        return None
    if base.glob and not live:
        text, live = _escaped(text), True
    start = base.whole or base.path
    whole = f"{_escaped(start) if live and not base.glob else start}/{text}"
    return Spot(normal(whole), live, whole, tree or base.tree)


def _before_tree(value: Value) -> tuple[tuple[str, str], ...]:
    for at, (kind, _) in enumerate(value.pieces):
        if kind == TREE:
            return value.pieces[:at]
    return value.pieces


@dataclass(frozen=True, slots=True)
class Output:
    """What a command prints, as far as it is known: lines, or None.

    `exact`: these very lines; else a part of them. `encoded`: unknown because it was decoded from something. `unended`:
    its last line goes on with what is printed next.
    """

    lines: tuple[Value, ...] | None = None
    exact: bool = False
    encoded: bool = False
    unended: bool = False

    @property
    def text(self) -> str | None:
        """The whole text, where it is known to the letter."""
        if self.lines is None or not self.exact:
            return None
        literals = [line.literal for line in self.lines]
        return None if None in literals else "\n".join(text for text in literals if text is not None)


UNKNOWN_OUTPUT = Output()
NO_OUTPUT = Output((), exact=True)


def both_outputs(first: Output, second: Output) -> Output:
    """One after the other."""
    encoded, exact = first.encoded or second.encoded, first.exact and second.exact
    if first.lines is None or second.lines is None:
        return Output(encoded=encoded)
    if not first.unended or not (first.lines and second.lines):
        unended = second.unended if second.lines else first.unended
        return Output(first.lines + second.lines, exact, encoded, unended)
    if not exact:
        return Output(encoded=encoded)
    one = joined(first.lines[-1], second.lines[0])
    return Output((*first.lines[:-1], one, *second.lines[1:]), exact, encoded, second.unended)


def either_output(first: Output, second: Output) -> Output:
    """One of the two."""
    return first if first == second else Output(encoded=first.encoded or second.encoded)


def split_value(value: Value) -> list[Value]:
    """The words that blanks in its known text make of it."""
    words: list[Value] = []
    pieces: list[tuple[str, str]] = []
    for kind, text in value.pieces:
        if kind != TEXT:
            pieces.append((kind, text))
            continue
        for number, part in enumerate(re.split(r"[ \t\n]+", text)):
            if number:
                words.append(Value(tuple(pieces), value.raw))
                pieces = []
            if part:
                pieces.append((TEXT, part))
    words.append(Value(tuple(pieces), value.raw))
    return [word for word in words if word.pieces]
