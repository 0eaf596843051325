"""A memory file, or a text that is to be added to one, as blocks that can be told to be there already.

Blocks are parted by blank lines, headings, list items and rows of tables; a deeper list item belongs to the one above
it. Two blocks are the same where their keys are: Unicode's compatibility form, case kept, white space and list markers
folded, the entry's own date and its pointer to a source left out (protocol, section 10). One pass, linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from apm_hooks.tables import heading_text, is_rule_line, item_text, visible_lines

SOURCE = " (source: "
"""What an entry's pointer to its source begins with; a parenthesis ends it."""

_PROBE = "probe"
_COMMENT = "<!--"
_TAB = 4
_NESTED = 2
_WORD_CHARS = 200
_POINTERS = 8
_DAY = re.compile(
    r"[\[(【*_]{0,3}([0-9]{4})[-/.年]([0-9]{1,2})[-/.月]([0-9]{1,2})日?[\])】*_]{0,3}(?=$|[\s:：,，]|[—–-](?:\s|$))"
    r"(?:\s?[:：,，—–-][*_]{0,2})?\s*"
)
_DELIMITER = re.compile(r"[ \t]*\|?[ \t:|-]*-[ \t:|-]*")


class Kind(StrEnum):
    """What a block is; `row` is a line of a table, and the header of one together with the line below it."""

    HEADING = "heading"
    ITEM = "item"
    ROW = "row"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `start` to `end` (from 0, `end` excluded).

    `day` is its own date, `YYYY-MM-DD`, else that of the entry or heading it belongs to, else empty; `dated`: it is its
    own. `path` are the keys of the headings above it, the outermost first, and with `in_table` its table's header.
    `level` is a heading's, `indent` counts the columns before the first line.
    """

    kind: Kind
    start: int
    end: int
    key: str
    day: str = ""
    dated: bool = False
    path: tuple[str, ...] = ()
    level: int = 0
    indent: int = 0
    in_table: bool = False

    @property
    def is_table(self) -> bool:
        """True for the header of a table."""
        return self.kind is Kind.ROW and self.end == self.start + 2

    @property
    def inner(self) -> tuple[str, ...]:
        """The path of what stands under this heading, or in this table."""
        return (*self.path, self.key or self.day)


def hidden_places(lines: Sequence[str]) -> list[bool]:
    """For each line, and for the end: whether a line put before it would stand in a code fence or a comment."""
    woven: list[str] = []
    for line in lines:
        woven += (_PROBE, _bare(line))
    shown, _ = visible_lines([*woven, _PROBE])
    return [line != _PROBE for line in shown[::2]]


def _bare(line: str) -> str:
    """A line of which only a comment that opens it counts: one within a text cannot reach past its paragraph."""
    if _COMMENT not in line:
        return line
    lead = len(line) - len(line.lstrip())
    kept = lead + len(_COMMENT) if line.startswith(_COMMENT, lead) else 0
    return line[:kept] + line[kept:].replace(_COMMENT, "<!..")


def parse_blocks(
    lines: Sequence[str], *, first: int = 0, whole_tables: bool = False, hidden: Sequence[bool] = ()
) -> tuple[Block, ...]:
    """The blocks from line `first` on; with `whole_tables` a table is one block like a paragraph. `hidden` are the
    hidden places, where the caller knows them."""
    return _Parser(lines, whole_tables).parse(first, hidden or hidden_places(lines))


class _Parser:
    def __init__(self, lines: Sequence[str], whole_tables: bool) -> None:
        self._lines = lines
        self._whole_tables = whole_tables
        self._blocks: list[Block] = []
        self._headings: list[tuple[int, str]] = []
        self._heading_day: tuple[int, str] = (0, "")
        self._entry_day = ""
        self._table = ""

    def parse(self, first: int, hidden: Sequence[bool]) -> tuple[Block, ...]:
        start, kind, base = first, None, 0
        for number in range(first, len(self._lines)):
            line = self._lines[number]
            if hidden[number]:
                if kind is None or kind is Kind.ROW:
                    self._close(kind, start, number)
                    start, kind = number, Kind.TEXT
                continue
            found = self._kind(line)
            indent = columns(line)
            goes_on = (
                (found is Kind.TEXT and kind in (Kind.TEXT, Kind.ITEM))
                or (found is Kind.ITEM and kind is Kind.ITEM and indent > base)
                or (found is Kind.ROW and kind is Kind.ROW and number == start + 1 and self._is_header(start))
            )
            if goes_on:
                continue
            self._close(kind, start, number)
            start, kind, base = number, found, indent
            if found is Kind.HEADING:
                self._close(found, number, number + 1)
                kind = None
        self._close(kind, start, len(self._lines))
        return tuple(self._blocks)

    def _kind(self, line: str) -> Kind | None:
        body = line.strip()
        if not body:
            return None
        if heading_text(line) is not None:
            return Kind.HEADING
        if item_text(body) is not None and not is_rule_line(line):
            return Kind.ITEM
        return Kind.ROW if body[0] == "|" and not self._whole_tables else Kind.TEXT

    def _is_header(self, number: int) -> bool:
        below = self._lines[number + 1 : number + 2]
        return bool(below) and is_delimiter(below[0])

    def _close(self, kind: Kind | None, start: int, end: int) -> None:
        if kind is None:
            self._table = ""
            return
        text = self._lines[start:end]
        indent = columns(text[0])
        day, key = block_key(text, kind)
        dated = bool(day)
        level = 0
        if kind is Kind.HEADING:
            level = heading_level(text[0])
            self._headings = [heading for heading in self._headings if heading[0] < level]
            if dated or level <= self._heading_day[0]:
                self._heading_day = (level, day)
        path = tuple(title for _, title in self._headings)
        in_table = kind is Kind.ROW and end == start + 1 and bool(self._table)
        if kind is Kind.ROW and end == start + 2:
            self._table = key or "|"
        elif in_table:
            path = (*path, self._table)
        elif kind is not Kind.ROW:
            self._table = ""
        if kind is Kind.HEADING or indent < _NESTED:
            self._entry_day = day
        day = day or self._entry_day or self._heading_day[1]
        self._blocks.append(Block(kind, start, end, key, day, dated, path, level, indent, in_table))
        if kind is Kind.HEADING:
            self._headings.append((level, key or day))


def is_delimiter(line: str) -> bool:
    """True for the line below a table's header."""
    return _DELIMITER.fullmatch(line) is not None


def columns(line: str) -> int:
    """Columns of white space before a line's text."""
    blanks = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blanks.expandtabs(_TAB))


def heading_level(line: str) -> int:
    """How many `#` open a heading."""
    body = line.lstrip()
    return len(body) - len(body.lstrip("#"))


def block_key(lines: Sequence[str], kind: Kind) -> tuple[str, str]:
    """A block's own date, which its first line begins with, and what is compared of the rest."""
    if kind is Kind.HEADING:
        texts = [heading_text(lines[0]) or ""]
    else:
        bodies = [line.strip() for line in lines]
        texts = [body if (inner := item_text(body)) is None else inner for body in bodies]
    day, rest = split_day(_squeezed(texts[:1]))
    key = _squeezed([rest, *texts[1:]])
    if kind is not Kind.HEADING:
        for _ in range(_POINTERS):
            at = key.rfind(SOURCE) if key.endswith(")") else -1
            if at < 0 or "(" in key[at + len(SOURCE) :]:
                break
            key = key[:at]
    return day, _unbolded(key)


def _squeezed(texts: Sequence[str]) -> str:
    words = [word if word.isascii() else _composed(word) for text in texts for word in text.split()]
    return " ".join(" ".join(words).split())


def _unbolded(text: str) -> str:
    inner = text[2:-2]
    return inner if len(text) > 4 and text[:2] == text[-2:] == "**" and "**" not in inner else text


def _composed(word: str) -> str:
    """NFKC by pieces of a bounded length: a long run of combining marks costs its square."""
    pieces = []
    at = 0
    while at < len(word):
        end = at + _WORD_CHARS
        while end < min(len(word), at + 2 * _WORD_CHARS) and unicodedata.combining(word[end]):
            end += 1
        pieces.append(unicodedata.normalize("NFKC", word[at:end]))
        at = end
    return "".join(pieces)


def split_day(text: str) -> tuple[str, str]:
    """The date that a text begins with as `YYYY-MM-DD`, and the rest; an empty date where it begins with none."""
    match = _DAY.match(text)
    if match is None:
        return "", text
    try:
        day = date(int(match[1]), int(match[2]), int(match[3])).isoformat()
    except ValueError:
        return "", text
    return day, text[match.end() :]
