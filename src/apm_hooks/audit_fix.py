"""What the audit can mend by itself in an index, because it is written oddly and means one thing only. Pure.

A priority in another form (`p0`, `0`, full-width signs) becomes the protocol's, keys of the frontmatter get small
letters, and a row's file loses a leading `./`. A mend after which the index would say anything else is not made.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from apm_hooks.audit_index import KEYS, is_odd_priority, key_lines, priority_of
from apm_hooks.cells import cell_text, named_columns
from apm_hooks.index import parse_index
from apm_hooks.records import Scope
from apm_hooks.tables import find_tables, visible_lines

_CORE = re.compile(r"[PpＰｐ][0-3０-３](?:[-/ ‐-―_]?[LlＬｌ][3３])?")
_DIGIT = re.compile(r"[0-3０-３]")
_BARE_DIGIT = re.compile(r"[*_`]{0,3}[0-3０-３][*_`]{0,3}")
_LEADING = re.compile(r"(^[`*~<]{0,3}|\]\(<?)(?:\./)+(?=[^/.\s])")


@dataclass(frozen=True, slots=True)
class Mend:
    """One line of an index to be replaced: its number (from 1), its text then, and the rule that it breaks now."""

    line: int
    text: str
    rule: str


def mends(lines: Sequence[str], scope: Scope) -> tuple[Mend, ...]:
    """The safe mends of an index, given as lines without their ends and without a byte order mark, in the order of the
    lines. A line with two faults has two mends, the second of which holds the first too."""
    return (*_keys(lines, scope), *_rows(lines, scope))


def _keys(lines: Sequence[str], scope: Scope) -> Iterator[Mend]:
    entries = list(key_lines(list(lines)))
    times = Counter(key.lower() for _, key, _ in entries)
    index = parse_index("\n".join(lines), scope)
    for number, key, _ in entries:
        small = key.lower()
        if key != small and small in KEYS and times[small] == 1:
            text = small + lines[number - 1][len(key) :]
            after = parse_index("\n".join([*lines[: number - 1], text, *lines[number:]]), scope)
            if after.routes == index.routes and list(after.meta.values()) == list(index.meta.values()):
                yield Mend(number, text, "key-case")


def _rows(lines: Sequence[str], scope: Scope) -> Iterator[Mend]:
    shown, _ = visible_lines(lines)
    rows = {route.line for route in parse_index("\n".join(lines), scope).routes if not route.deprecated}
    for table in find_tables(shown):
        columns = named_columns(table.header, False) or named_columns(table.header, True)
        _, file, priority = columns or (0, 1, 2 if len(table.header) > 2 else -1)
        head = lines[table.line - 1 : table.line + 1]
        for number, _ in table.rows:
            line = lines[number - 1]
            if number not in rows or shown[number - 1] != line:
                continue
            for make, column in ((_priority, priority), (_path, file)):
                mend = make(number, line, column)
                if mend is not None and _is_safe(head, line, mend, scope):
                    line = mend.text
                    yield mend


def _priority(number: int, line: str, column: int) -> Mend | None:
    cells = _cells(line)
    if not 0 <= column < len(cells):
        return None
    start, end = cells[column]
    written = line[start:end]
    core, name, rule = None, "", "odd-priority"
    if is_odd_priority(cell_text(written)):
        core, name = _CORE.search(written), priority_of(written)
    elif _BARE_DIGIT.fullmatch(written):
        core, rule = _DIGIT.search(written), "bad-priority"
        name = f"P{unicodedata.normalize('NFKC', core[0])}" if core else ""
    if core is None:
        return None
    return Mend(number, line[: start + core.start()] + name + line[start + core.end() :], rule)


def _path(number: int, line: str, column: int) -> Mend | None:
    cells = _cells(line)
    if column >= len(cells):
        return None
    start, end = cells[column]
    plain = _LEADING.sub(r"\1", line[start:end])
    return None if plain == line[start:end] else Mend(number, line[:start] + plain + line[end:], "odd-path")


def _is_safe(head: Sequence[str], line: str, mend: Mend, scope: Scope) -> bool:
    """Whether the row says the same with its mend, but for the priority that a mere digit stood for. A row is read by
    itself, so that a table of a thousand odd rows is not read a thousand times."""
    before, after = (parse_index("\n".join((*head, row)), scope).routes for row in (line, mend.text))
    if len(before) != 1 or len(after) != 1 or before[0].sub_file != after[0].sub_file:
        return False
    return after[0] == (replace(before[0], priority=after[0].priority) if mend.rule == "bad-priority" else before[0])


def _cells(line: str) -> list[tuple[int, int]]:
    """Where the cells of a row stand, without the blanks around them, as `tables` splits it."""
    bounds = [at for at, char in enumerate(line) if char == "|" and line[at - 1 : at] != "\\"]
    first, last = len(line) - len(line.lstrip()), len(line.rstrip())
    edges = [first - 1, *bounds, last]
    cells = []
    for left, right in pairwise(edges):
        start, end = left + 1, right
        while start < end and line[start].isspace():
            start += 1
        while end > start and line[end - 1].isspace():
            end -= 1
        cells.append((start, end))
    if cells and bounds and bounds[0] == first:
        cells = cells[1:]
    if cells and bounds and bounds[-1] == last - 1:
        cells = cells[:-1]
    return cells
