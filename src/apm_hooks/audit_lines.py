"""The lines of a memory file as they are judged: what each says, and what item, row or paragraph it is in. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apm_hooks.tables import SKIPPED, find_tables, heading_text, is_blank, item_text, visible_lines

LINE_CHARS = 4_000
"""So much of a line is looked at: the longest of real memory files have some thousand characters."""

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_EMPHASIS = {ord("*"): " ", ord("`"): " "}
_PATH = re.compile(
    r"!?\[[^\[\]\n]{0,200}\]\([^()\n]{1,500}\)|(?:https?|file|ssh)://[^\s)>|`]{1,500}"
    # A date with slashes is no path, and 5/5 is none.
    r"|(?<![\w/.-])(?!\d{1,4}/\d)[~.]{0,2}/?(?:[\w.{}<>*@+-]{1,120}/){1,20}[\w.{}<>*@+-]{0,120}"
    r"|[\w{}<>*-]{1,120}\.(?:md|json|jsonl|txt|toml|ya?ml|sqlite|db|csv|py|sh)\b"
)
_MARKS = re.compile("[\\s>*_~`#\\[(（【「📅📌📝🗓✅❌⚠🔥🚧⏳🎉🔄🟡🔴🟢🟠🆕\ufe0f•·–—-]{1,40}")
_TITLE_MARKS = " *_`~:：📋📝📊🎯🚧✅⏳🔄"


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """A line that says something. `number` counts from 1. `text` has full-width signs folded; `plain` is as long, with
    paths, links and emphasis blanked out. `start` is where the content begins behind marks and markers. Lines of one
    item, row or paragraph share their `unit`; a table's row has its `cells`."""

    number: int
    text: str
    plain: str
    start: int
    unit: int
    cells: tuple[str, ...] = ()
    has_path: bool = False

    @property
    def body(self) -> str:
        """The content, without paths, links and emphasis."""
        return self.plain[self.start :]

    @property
    def title(self) -> str | None:
        """The text of a heading without the marks around it; None for any other line."""
        title = heading_text(self.text)
        return None if title is None else title.strip(_TITLE_MARKS)

    @property
    def is_item(self) -> bool:
        """True for a line that begins an item of a list."""
        return item_text(self.text.strip()) is not None

    def column(self, found: re.Match[str]) -> int:
        """The column (from 1) of a match in the body."""
        return self.start + found.start() + 1


def shown_lines(lines: Sequence[str]) -> list[str]:
    """The lines as a reader sees them, one for one: empty in code fences and comments, cut where they are very long."""
    return [line[:LINE_CHARS] for line in visible_lines(lines)[0]]


def memory_lines(shown: Sequence[str]) -> Iterator[MemoryLine]:
    """Of shown lines those that say something: no blank ones, no headers of tables."""
    tables = find_tables(shown)
    rows = {line: cells for table in tables for line, cells in table.rows}
    headers = {table.line for table in tables}
    unit, closed = 0, True
    for number, line in enumerate(shown, 1):
        if is_blank(line) or line == SKIPPED:
            closed = True
            continue
        single = number in rows or number in headers or heading_text(line) is not None
        body = line.strip()
        if closed or single or body.startswith("**") or item_text(body) is not None:
            unit += 1
        closed = single
        if number in headers or number - 1 in headers:
            continue
        text = line.translate(_FULL_WIDTH)
        plain = _PATH.sub(lambda match: " " * len(match[0]), text)
        start = _content_start(plain)
        has_path = plain != text
        # Emphasis must not part a label from its colon; a list marker stays.
        plain = plain[:start] + plain[start:].translate(_EMPHASIS)
        yield MemoryLine(number, text, plain, start, unit, rows.get(number, ()), has_path)


def _content_start(line: str) -> int:
    """Where the content begins: behind the list marker, a check box and emphasis."""
    body = line.strip()
    inner = item_text(body)
    start = len(line.rstrip()) - len(body if inner is None else inner)
    marks = _MARKS.match(line, start)
    return marks.end() if marks else start
