"""Rows of an index's routing table, added and retired (protocol, sections 4 and 10): lines in, edits of lines out.

A row is never removed or reworded. Every edit is read back by the index's own grammar before it is handed out: the rows
that were there must mean what they meant, and the new one what was asked for.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from apm_hooks.cells import (
    cell_text,
    is_deprecated,
    named_columns,
    read_priority,
    resolve_row_path,
    split_alternatives,
    standard_priority,
)
from apm_hooks.errors import MemoryFileError, NameRefusedError, UsageError
from apm_hooks.frontmatter import frontmatter_end
from apm_hooks.index import parse_index
from apm_hooks.noteblocks import hidden_places
from apm_hooks.rawlines import Edit, apply_edits
from apm_hooks.records import Route, Scope
from apm_hooks.tables import SKIPPED, Table, find_tables, split_lines, visible_lines

HEADER = ("| scenario | file | priority |", "|---|---|---|")
"""The routing table of an index that has none yet."""
SECTION = "## Routing"
MARK = "[DEPRECATED]"

NO_SCENARIO = "a row needs a scenario: the words of a message that lead to its file, on one line"
MARKED_SCENARIO = "a new row's scenario may hold neither [DEPRECATED] nor the beginning of a comment"
UNKNOWN_PRIORITY = "{priority} is none of P0 to P3 and P2-L3"
NO_COLUMN = "the routing table has no column for a priority, and P{wanted} is not the one that the file's name gives it"
NOT_READ_BACK = "the row cannot be added so that it, and every other row, is read as it is meant"
NOT_RETIRED = "the row cannot be marked so that every other row is read as before"
NO_ROW = "no row of the routing table leads to {what}, or has it for its scenario"
PARTLY = "the row serves other scenarios too: {scenarios}"


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the routing table is: the line (from 0) behind its last row, its columns, its indentation."""

    end: int
    width: int
    columns: tuple[int, int, int]
    indent: str
    ticked: bool


def add_row(lines: Sequence[str], scope: Scope, scenario: str, file: str, priority: str = "") -> list[Edit]:
    """A new row at the end of the routing table, in its own columns; a table where there is none. No edits: the row is
    there already.

    `file` is relative to the scope's directory, or to the workspace; `priority` is `P0` to `P3`, or `P2-L3` in a group
    (empty: as the file's name says). Raises NameRefusedError for a file outside the scope's directory, UsageError for
    a row that cannot be written, MemoryFileError for an index that cannot take it.
    """
    path, problem = row_path(file, scope)
    if problem:
        raise NameRefusedError(problem, file=scope.index_path, remedy=f"Name a file in {scope.directory}/.")
    wanted = _wanted(scenario, path, priority, scope)
    routes = parse_index("\n".join(lines), scope).routes
    if _is_there(routes, wanted, priority):
        return []
    layout = _layout(lines, routes)
    cell = _escaped(" ".join(scenario.split()))
    for ticked in (layout.ticked, not layout.ticked) if layout is not None else (False, True):
        name = f"`{_escaped(path)}`" if ticked else _escaped(path)
        edit = _new_row(lines, layout, cell, name, wanted) if layout else _new_table(lines, cell, name, wanted)
        if _means(lines, edit, scope, routes, wanted):
            return [edit]
    if layout is not None and layout.columns[2] < 0 and _rank(wanted) != standard_priority(path, scope):
        raise UsageError(NO_COLUMN.format(wanted=wanted.priority), remedy="Add a column to the table, or leave it out.")
    raise MemoryFileError(NOT_READ_BACK, file=scope.index_path, remedy="Use plainer words, or edit the table by hand.")


def retire_rows(lines: Sequence[str], scope: Scope, what: str) -> list[Edit]:
    """Mark the rows that lead to the file `what`, or else the row that has it for its whole scenario, as
    `[DEPRECATED]`. No edits: they are marked already.

    Raises UsageError where there is none, or where a row serves other scenarios as well; MemoryFileError for an index
    that cannot take the mark.
    """
    routes = parse_index("\n".join(lines), scope).routes
    path = row_path(what, scope)[0]
    meant = [route for route in routes if path and route.path == path] or _by_scenario(routes, what)
    if not meant:
        raise UsageError(NO_ROW.format(what=what), remedy="See: apm-hooks explain")
    edits = [Edit(route.line - 1, (_marked(lines[route.line - 1]),), drop=1) for route in meant if not route.deprecated]
    retired = {route.line for route in meant}
    expected = [replace(route, deprecated=True) if route.line in retired else route for route in routes]
    if edits and list(parse_index("\n".join(apply_edits(lines, edits)), scope).routes) != expected:
        raise MemoryFileError(NOT_RETIRED, file=scope.index_path, remedy=f"Add {MARK} by hand.")
    return edits


def row_path(file: str, scope: Scope) -> tuple[str, str]:
    """The file that a person names, as `(path, problem)`: relative to the scope's directory, or "" and a reason."""
    composed = unicodedata.normalize("NFC", file)
    # As code, so that a comma in a name does not make two of it.
    return resolve_row_path(composed if "`" in composed or not composed.strip() else f"`{composed}`", scope)


def keeps_rows(before: Sequence[str], after: Sequence[str], scope: Scope) -> bool:
    """Whether the later text of an index has every hard rule and every row of the earlier one (protocol, section 8)."""
    was, now = (parse_index("\n".join(lines), scope) for lines in (before, after))
    rows = {after[route.line - 1].strip() for route in now.routes}
    kept = all(before[route.line - 1].strip() in rows for route in was.routes)
    return kept and set(was.hard_rules) <= set(now.hard_rules)


def _wanted(scenario: str, path: str, priority: str, scope: Scope) -> Route:
    scenarios = split_alternatives(cell_text(" ".join(scenario.split())))
    if not scenarios or "\n" in scenario.strip() or "\r" in scenario.strip():
        raise UsageError(NO_SCENARIO, remedy='For example: "deploys, releases"')
    if is_deprecated(scenario) or "<!--" in scenario:
        raise UsageError(MARKED_SCENARIO, remedy="Leave it out.")
    rank = read_priority(priority) if priority else standard_priority(path, scope)
    if rank is None or (priority and priority.strip().upper() not in ("P0", "P1", "P2", "P3", "P2-L3")):
        raise UsageError(UNKNOWN_PRIORITY.format(priority=priority), remedy="Leave it out, or choose one of them.")
    return Route(scenarios, path, rank[0], rank[1])


def _rank(route: Route) -> tuple[int, bool]:
    return route.priority, route.sub_file


def _is_there(routes: Sequence[Route], wanted: Route, priority: str) -> bool:
    """True where living rows to that file have every scenario of the new one, with its priority if it names one."""
    known = {
        _folded(scenario) for route in routes for scenario in route.scenarios
        if route.path == wanted.path and not route.deprecated and (not priority or _rank(route) == _rank(wanted))
    }  # fmt: skip
    return {_folded(scenario) for scenario in wanted.scenarios} <= known


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", " ".join(text[:1000].split())).casefold()


def _shown(lines: Sequence[str]) -> list[str]:
    """The lines as a reader of the index sees them."""
    front = frontmatter_end(lines)
    return visible_lines([""] * front + split_lines("\n".join(lines))[front:])[0]


def _layout(lines: Sequence[str], routes: Sequence[Route]) -> _Layout | None:
    """The table that holds the routes; without any, the first whose header names a scenario and a file."""
    shown = _shown(lines)
    tables = find_tables(shown)
    held = {route.line for route in routes}
    table = next((table for table in tables if any(line in held for line, _ in table.rows)), None)
    columns = _columns(table) if table is not None else None
    for blank in (False, True):
        if columns is None:
            named = ((each, named_columns(each.header, blank)) for each in tables)
            table, columns = next(((each, found) for each, found in named if found), (None, None))
    if table is None or columns is None:
        return None
    rows = [row for row in table.rows if shown[row[0] - 1] != SKIPPED]
    header = lines[table.line - 1]
    cell = rows[-1][1][columns[1]] if rows else ""
    return _Layout(
        end=rows[-1][0] if rows else table.line + 1, width=len(table.header), columns=columns,
        indent=header[: len(header) - len(header.lstrip(" "))], ticked=cell.startswith("`"),
    )  # fmt: skip


def _columns(table: Table) -> tuple[int, int, int]:
    named = named_columns(table.header, False) or named_columns(table.header, True)
    return named or (0, 1, 2 if len(table.header) > 2 else -1)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _written(route: Route) -> str:
    return "P2-L3" if route.sub_file else f"P{route.priority}"


def _new_row(lines: Sequence[str], layout: _Layout, scenario: str, file: str, wanted: Route) -> Edit:
    cells = [""] * layout.width
    for column, text in zip(layout.columns, (scenario, file, _written(wanted)), strict=True):
        if column >= 0:
            cells[column] = text
    return Edit(layout.end, (f"{layout.indent}| {' | '.join(cells)} |",))


def _new_table(lines: Sequence[str], scenario: str, file: str, wanted: Route) -> Edit:
    end = len(lines)
    while end and not lines[end - 1].strip():
        end -= 1
    hidden = hidden_places(lines)
    while end and hidden[end]:
        end -= 1
    row = f"| {scenario} | {file} | {_written(wanted)} |"
    above = ("",) if end else ()
    below = ("",) if end < len(lines) and lines[end].strip() else ()
    return Edit(end, (*above, SECTION, "", *HEADER, row, *below))


def _means(lines: Sequence[str], edit: Edit, scope: Scope, before: Sequence[Route], wanted: Route) -> bool:
    """Whether the index, once edited, has its old routes and hard rules, and the wanted one as its last."""
    was = parse_index("\n".join(lines), scope)
    now = parse_index("\n".join(apply_edits(lines, [edit])), scope)
    *others, new = now.routes or (wanted,)
    moved = [route for route in others if route.line > edit.at]
    same = [replace(route, line=0) for route in others] == [replace(route, line=0) for route in before]
    meant = (new.scenarios, new.path, *_rank(new), new.deprecated) == (
        wanted.scenarios, wanted.path, *_rank(wanted), False)  # fmt: skip
    return same and not moved and meant and now.hard_rules == was.hard_rules


def _by_scenario(routes: Sequence[Route], what: str) -> list[Route]:
    """The rows whose scenarios are those of `what`, all of them."""
    wanted = {_folded(scenario) for scenario in split_alternatives(what)}
    partly: list[Route] = []
    for route in routes:
        own = {_folded(scenario) for scenario in route.scenarios}
        if wanted and own == wanted:
            return [each for each in routes if {_folded(scenario) for scenario in each.scenarios} == wanted]
        if wanted and wanted < own and not route.deprecated:
            partly.append(route)
    if partly:
        others = ", ".join(partly[0].scenarios)
        raise UsageError(
            PARTLY.format(scenarios=others), remedy="Name all of them, or the row's file, to retire the whole row."
        )
    return []


def _marked(line: str) -> str:
    """The row with the mark in its first cell."""
    lead = len(line) - len(line.lstrip(" \t"))
    if line.startswith("|", lead):
        lead += 1
        lead += len(line[lead:]) - len(line[lead:].lstrip(" \t"))
    return f"{line[:lead]}{MARK} {line[lead:]}"
