"""Which lines of a markdown text a reader sees, and which of them are pipe tables; linear in the text.

A scanner and not a markdown parser: it runs on every cold start, and a row's line number must survive. Line
numbers count from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SKIPPED = "|"
"""Stands for a line that nobody reads: no text for any rule, and an empty row that does not end a table."""

MAX_COLUMNS = 64
"""A wider header is no table: short rows are padded, and without a bound that costs columns times rows."""

MAX_ROWS = 20_000
"""Rows of one text, headers included: a row of two characters takes a hundred times its size in memory."""

_BLANKS = " \t\v\f"
_CODE_INDENT = 4
_HEADING_LEVELS = 6
_NUMBER_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Table:
    """A pipe table. `line` is its header's, each row has its own; rows have as many cells as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    line: int


def split_lines(text: str) -> list[str]:
    """The lines of a text without their ends (LF, CRLF or a lone CR) and without its byte order mark.

    Nothing else ends a line, so that the numbers are those an editor shows.
    """
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def is_blank(line: str) -> bool:
    """True for a line without text, and for `SKIPPED`."""
    return line == SKIPPED or not line.strip()


def indent(line: str) -> int:
    """Columns of white space before the text, counted up to the four that make an indented code block."""
    columns = 0
    for char in line[:_CODE_INDENT]:
        if char == "\t":
            return _CODE_INDENT
        if char != " ":
            break
        columns += 1
    return columns


def is_rule_line(line: str) -> bool:
    """True for a thematic break: three or more of one of `-`, `*`, `_`, with nothing but blanks between."""
    marks = line.replace(" ", "").replace("\t", "")
    return len(marks) >= 3 and marks[0] in "-*_" and marks == marks[0] * len(marks)


def heading_text(line: str) -> str | None:
    """The text of a `#` heading, or None.

    Two or more `#` count without the blank after them too: Chinese authors leave it out, and `##` is no tag.
    """
    level, text = _hashes(line)
    if not level or (level == 1 and text and text[0] not in _BLANKS):
        return None
    return text.strip().rstrip("#").strip()


def _hashes(line: str) -> tuple[int, str]:
    """How many `#` open the line (0 where they make no heading), and what follows them."""
    body = line.strip()
    text = body.lstrip("#")
    level = len(body) - len(text)
    return (level, text) if level <= _HEADING_LEVELS and indent(line) < _CODE_INDENT else (0, "")


def item_text(text: str) -> str | None:
    """What follows the list marker (`-`, `*`, `+`, `1.`, `1)`) that starts a stripped text, or None."""
    if text[:1] in ("-", "*", "+"):
        width = 1
    else:
        width = 0
        while text[width : width + 1] in _DIGITS and width < _NUMBER_DIGITS:
            width += 1
        if not width or text[width : width + 1] not in (".", ")"):
            return None
        width += 1
    if text[width : width + 1] not in ("", " ", "\t"):
        return None
    return text[width:].strip()


_DIGITS = frozenset("0123456789")


def code_spans(text: str) -> list[tuple[int, int, int]]:
    """Code spans of a line as `(start, end, ticks)`: the slice, and how many backticks stand on each side."""
    runs: list[tuple[int, int]] = []
    at = text.find("`")
    while at >= 0:
        end = at + 1
        while text[end : end + 1] == "`":
            end += 1
        runs.append((at, end - at))
        at = text.find("`", end)
    closing = [0] * len(runs)
    latest: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        closing[number] = latest.get(runs[number][1], 0)
        latest[runs[number][1]] = number
    spans = []
    number = 0
    while number < len(runs):
        start, ticks = runs[number]
        if closing[number]:
            number = closing[number]
            spans.append((start, runs[number][0] + ticks, ticks))
        number += 1
    return spans


def visible_lines(lines: Sequence[str]) -> tuple[list[str], int]:
    """The lines as a reader sees them, one for one, and the line of a block that never closes (or 0).

    A line of a fenced code block becomes empty, and so ends a table. Comments are cut out; a line that held
    nothing else becomes `SKIPPED`, so that a row commented out does not cost the table its remaining rows. A
    fence that never closes, and a comment that opens a line and never closes, run to the end.
    """
    last_close = max((number for number, line in enumerate(lines) if "-->" in line), default=-1)
    shown: list[str] = []
    opened = 0
    fence, in_item, in_comment = "", False, False
    for number, line in enumerate(lines):
        if fence:
            shown.append("")
            if _closes(line, fence, in_item):
                fence, opened = "", 0
            continue
        if not in_comment:
            fence, in_item = _fence(line)
            if fence:
                shown.append("")
                opened = number + 1
                continue
        if not in_comment and "<!--" not in line:
            shown.append(line)
            continue
        text, comment_goes_on = _without_comments(line, in_comment, number < last_close)
        if comment_goes_on and not in_comment:
            opened = number + 1
        in_comment = comment_goes_on
        opened = opened if in_comment else 0
        shown.append(text if text.strip() else SKIPPED)
    return shown, opened


def _fence(line: str) -> tuple[str, bool]:
    """The backticks or tildes that open a fenced block here, and whether a list marker stands before them."""
    if indent(line) >= _CODE_INDENT:
        return "", False
    body = line.strip()
    inner = item_text(body)
    body = body if inner is None else inner
    mark = body[:1]
    if mark not in ("`", "~"):
        return "", False
    rest = body.lstrip(mark)
    run = body[: len(body) - len(rest)]
    if len(run) < 3 or (mark == "`" and "`" in rest):
        return "", False
    return run, inner is not None


def _closes(line: str, fence: str, in_item: bool) -> bool:
    body = line.strip()
    return body.startswith(fence) and not body.strip(fence[0]) and (in_item or indent(line) < _CODE_INDENT)


def _without_comments(line: str, in_comment: bool, closes_later: bool) -> tuple[str, bool]:
    """A line without its comments, and whether one goes on after it; `<!--` inside a code span is text."""
    spans = iter(code_spans(line))
    span = next(spans, None)
    kept: list[str] = []
    at = 0
    if in_comment:
        end = line.find("-->")
        if end < 0:
            return "", True
        at = end + 3
    search = at
    while (start := line.find("<!--", search)) >= 0:
        while span is not None and span[1] <= start:
            span = next(spans, None)
        if span is not None and span[0] < start:
            search = span[1]
            continue
        end = line.find("-->", start + 2)
        if end < 0:
            if closes_later or not line[:start].strip():
                kept.append(line[at:start])
                return "".join(kept), True
            break
        kept.append(line[at:start])
        at = search = end + 3
    kept.append(line[at:])
    return "".join(kept), False


def find_tables(lines: Sequence[str]) -> tuple[Table, ...]:
    """The pipe tables among lines already outside fences, with the cells that GitHub's markdown gives them.

    `\\|` is a pipe of the text, in code spans too; every other pipe splits, in code spans too. Outer pipes
    may be missing. Rows are cut or padded to the header's width. A table ends at a blank line or where
    another block starts. Nothing is read past `MAX_ROWS`.
    """
    tables: list[Table] = []
    number = 0
    left = MAX_ROWS
    while number + 1 < len(lines) and left > 0:
        width = _delimiter_width(lines[number + 1])
        header = _row(lines[number]) if width and not _starts_block(lines[number]) else ()
        if not header or len(header) != width or "|" not in lines[number]:
            number += 1
            continue
        first = number
        number += 2
        left -= 1
        rows: list[tuple[int, tuple[str, ...]]] = []
        while number < len(lines) and left > 0 and not _ends_table(lines[number]):
            cells = _row(lines[number])[:width]
            rows.append((number + 1, cells + ("",) * (width - len(cells))))
            number += 1
            left -= 1
        tables.append(Table(header, tuple(rows), first + 1))
    return tuple(tables)


def _delimiter_width(line: str) -> int:
    """How many columns a delimiter row such as `|:--|--:|` declares; 0 where it is none, or too wide."""
    body = line.strip(_BLANKS)
    if len(body) < 2 or indent(line) >= _CODE_INDENT or not _DELIMITER.issuperset(body):
        return 0
    if body[0] == "-" and body[1] in _BLANKS:
        return 0
    cells = [cell.strip(_BLANKS) for cell in body.split("|")]
    cells = cells[1:] if not cells[0] else cells
    cells = cells[:-1] if cells and not cells[-1] else cells
    if len(cells) > MAX_COLUMNS:
        return 0
    for cell in cells:
        dashes = cell.removeprefix(":").removesuffix(":")
        if not dashes or dashes.strip("-"):
            return 0
    return len(cells)


_DELIMITER = frozenset("|-: \t")


def _row(line: str) -> tuple[str, ...]:
    parts = line.strip(_BLANKS).split("|")
    cells: list[str] = []
    pieces: list[str] = []
    for part in parts[:-1]:
        if part.endswith("\\"):
            pieces.append(part[:-1] + "|")
        else:
            cells.append("".join((*pieces, part)))
            pieces = []
    cells.append("".join((*pieces, parts[-1])))
    if not cells[0]:
        cells = cells[1:]
    if cells and not cells[-1]:
        cells.pop()
    return tuple(cell.strip(_BLANKS) for cell in cells)


def _starts_block(line: str) -> bool:
    body = line.strip()
    level, text = _hashes(line)
    return (
        indent(line) >= _CODE_INDENT
        or body.startswith(">")
        or is_rule_line(line)
        or (level > 0 and text[:1] in ("", *_BLANKS))
        or item_text(body) is not None
    )


def _ends_table(line: str) -> bool:
    return not line.strip(_BLANKS) or _starts_block(line) or (line.lstrip().startswith("<") and "|" not in line)
