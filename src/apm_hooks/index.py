"""The grammar of an index file: frontmatter, hard rules, routing table (protocol, section 4).

One pass over the lines for each of them, so the cost is linear in the text. Nothing here raises: what an
author got wrong becomes a `Problem` that the audit shows, and the rest of the file still counts.
"""

from __future__ import annotations

from collections.abc import Sequence

from apm_hooks.cells import (
    cell_text,
    file_targets,
    is_catch_all,
    is_deprecated,
    looks_like_file,
    named_columns,
    names_hard_rules,
    quote,
    read_priority,
    resolve_row_path,
    split_alternatives,
    standard_priority,
)
from apm_hooks.records import LIMITS, Index, Problem, Route, Scope, ScopeKind
from apm_hooks.tables import (
    MAX_ROWS,
    SKIPPED,
    Table,
    find_tables,
    heading_text,
    indent,
    is_blank,
    is_rule_line,
    item_text,
    split_lines,
    visible_lines,
)

__all__ = ["MAX_PROBLEMS", "parse_index", "resolve_row_path", "split_alternatives"]

MAX_PROBLEMS = 1_000
"""Problems listed for one index; a damaged file of some megabytes has one in every line."""

_BARE_PRIORITY_CHARS = 8


class _Findings:
    """Problems as they are met, bounded in number."""

    def __init__(self) -> None:
        self._listed: list[Problem] = []
        self._unlisted = 0

    def add(self, rule: str, line: int, text: str) -> None:
        if len(self._listed) < MAX_PROBLEMS:
            self._listed.append(Problem(rule, line, text))
        else:
            self._unlisted += 1

    def in_line_order(self) -> tuple[Problem, ...]:
        listed = sorted(self._listed, key=lambda problem: problem.line)
        if self._unlisted:
            listed.append(Problem("more-problems", 0, f"{self._unlisted} further problems are not listed"))
        return tuple(listed)


def parse_index(text: str, scope: Scope) -> Index:
    """The index that a file's decoded text holds; `scope` is whose index it is (protocol, section 4).

    Any text gives an `Index`. The text may still start with a byte order mark; LF, CRLF and lone CR give
    equal results. A route that leaves the scope's directory has no path, and a problem that says why.
    """
    findings = _Findings()
    lines = _bounded(split_lines(text), findings)
    meta, taken = _frontmatter(lines, findings)
    budget = _budget(meta, lines, findings)
    shown, unclosed = visible_lines([""] * taken + lines[taken:])
    if unclosed:
        findings.add("unclosed-block", unclosed, "a code fence or comment opens here and hides all the rest")
    _hide_conflicts(shown, findings)
    tables = find_tables(shown)
    if sum(1 + len(table.rows) for table in tables) == MAX_ROWS:
        findings.add("too-many-rows", 0, f"only the first {MAX_ROWS} rows of tables are read")
    return Index(
        meta=meta,
        budget_tokens=budget,
        hard_rules=_hard_rules(shown, frozenset(table.line for table in tables)),
        routes=_routes(lines, tables, scope, findings),
        problems=findings.in_line_order(),
    )


def _bounded(lines: list[str], findings: _Findings) -> list[str]:
    for number, line in enumerate(lines):
        if len(line) > LIMITS.line_chars:
            lines[number] = SKIPPED
            why = f"the line has more than {LIMITS.line_chars} characters and is not read"
            findings.add("line-too-long", number + 1, why)
    return lines


def _frontmatter(lines: Sequence[str], findings: _Findings) -> tuple[dict[str, str], int]:
    """The keys of the frontmatter, and how many lines it takes: 0 where the first is a mere rule line."""
    if lines[0].rstrip() != "---":
        return {}, 0
    meta: dict[str, str] = {}
    doubled: list[tuple[int, str]] = []
    for number in range(1, len(lines)):
        line = lines[number].rstrip()
        if line == "---" and meta:
            for at, key in doubled:
                findings.add("duplicate-key", at, f"{quote(key)} stands above already; the first one counts")
            return meta, number + 1
        if not line or line.lstrip().startswith("#"):
            continue
        entry = _entry(line)
        if entry is None:
            break
        if entry[0] in meta:
            doubled.append((number + 1, entry[0]))
        meta.setdefault(*entry)
    else:
        number = 0
    if meta:
        why = "is neither `key: value` nor the closing `---`" if number else "is closed by no other `---`"
        findings.add("bad-frontmatter", number + 1, f"this line {why}, so the block is no frontmatter")
    return {}, 0


def _entry(line: str) -> tuple[str, str] | None:
    key, colon, value = line.partition(":")
    if not colon or value[:1] not in ("", " ", "\t"):
        return None
    if not key.replace("_", "").replace("-", "").replace(".", "").isalnum():
        return None
    value = value.strip()
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
        value = value[1:-1]
    return key, value


def _budget(meta: dict[str, str], lines: Sequence[str], findings: _Findings) -> int | None:
    value = meta.get("memory_budget")
    if value is None:
        return None
    significant = value.lstrip("0")
    if value.isascii() and value.isdigit() and 0 < len(significant) <= len(str(LIMITS.budget_ceiling_tokens)):
        tokens = int(significant)
        if tokens <= LIMITS.budget_ceiling_tokens:
            return tokens
    line = next(number for number, text in enumerate(lines, 1) if text.startswith("memory_budget:"))
    why = f"{quote(value)} is no whole number from 1 to {LIMITS.budget_ceiling_tokens}; the default is used"
    findings.add("bad-budget", line, f"memory_budget {why}")
    return None


def _hide_conflicts(lines: list[str], findings: _Findings) -> None:
    """Report the marks of an unfinished merge and take them out: they must not cut a table in two."""
    inside = False
    for number, line in enumerate(lines):
        mark = line[:7]
        if line[7:8] not in ("", " ") or mark not in ("<<<<<<<", "|||||||", "=======", ">>>>>>>"):
            continue
        if mark == "|||||||" and not inside:
            continue
        if mark == "=======" and not inside and number and _is_underlined(lines, number - 1):
            continue
        inside = mark != ">>>>>>>" and (inside or mark == "<<<<<<<")
        lines[number] = SKIPPED
        findings.add("merge-conflict", number + 1, f"{mark!r} is left over from an unfinished merge")


def _is_underlined(lines: Sequence[str], number: int) -> bool:
    """True for a paragraph of one line with a row of `=` or `-` below it: a heading in its other form."""
    if number + 1 >= len(lines) or is_blank(lines[number]) or (number and not is_blank(lines[number - 1])):
        return False
    body, below = lines[number].strip(), lines[number + 1].strip()
    if len(below) < 2 or below[0] not in "=-" or below.strip(below[0]):
        return False
    return indent(lines[number]) < 4 and item_text(body) is None and body[0] != ">" and not is_rule_line(body)


def _title(lines: Sequence[str], number: int) -> str | None:
    heading = heading_text(lines[number])
    return lines[number].strip() if heading is None and _is_underlined(lines, number) else heading


def _bold_title(line: str) -> str | None:
    """The text of a line that is bold as a whole, but for a colon or a remark in parentheses behind it."""
    body = line.strip()
    mark = body[:2]
    end = body.find(mark, 2) if mark in ("**", "__") else -1
    if end < 0:
        return None
    rest = body[end + 2 :].strip().lstrip(":：").lstrip()
    return body[2:end] if not rest or (rest[0] in "(（" and rest.rstrip(":：")[-1] in ")）") else None


def _hard_rules(lines: Sequence[str], table_lines: frozenset[int]) -> tuple[str, ...]:
    """The rules of every section that names hard rules; it ends at the next heading or table.

    A section under a bold line ends at the next bold line too, since that is its author's kind of heading.
    """
    rules: list[str] = []
    section: list[str] | None = None
    by_bold = False
    for number, line in enumerate(lines):
        at_table = number + 1 in table_lines
        title = None if at_table else _title(lines, number)
        bold = _bold_title(line) if title is None and not at_table and (section is None or by_bold) else None
        if at_table or title is not None or bold is not None:
            rules += _section_rules(section or ())
            named = names_hard_rules(title if title is not None else bold or "")
            section = [] if named else None
            by_bold = bold is not None
        elif section is not None:
            section.append(line)
    rules += _section_rules(section or ())
    return tuple(rules)


def _section_rules(section: Sequence[str]) -> list[str]:
    items: list[list[str]] = []
    plain: list[str] = []
    after_blank = False
    for line in section:
        text = line.strip()
        if text.startswith(">"):
            text = text.lstrip("> \t")
        if is_blank(text) or is_rule_line(text) or not text.strip("="):
            after_blank = True
            continue
        item = item_text(text)
        if item is not None:
            items.append([item])
        elif items and (not after_blank or indent(line) >= 2):
            items[-1].append(text)
        plain.append(text)
        after_blank = False
    texts = (" ".join(" ".join(item).split()) for item in items) if items else plain
    return [text for text in texts if text]


def _routing_table(tables: Sequence[Table]) -> tuple[Table, tuple[int, int, int], Table | None] | None:
    """The routing table, its columns (scenario, file, priority or -1), and a later one with such a header."""
    for blank_names_scenario in (False, True):
        named = [
            (table, columns)
            for table in tables
            if (columns := named_columns(table.header, blank_names_scenario)) is not None
        ]
        if named:
            return *named[0], named[1][0] if len(named) > 1 else None
    for table in tables:
        rows = [cells for _, cells in table.rows if any(cells)]
        files = sum(looks_like_file(file_targets(cells[1])[0]) for cells in rows if len(cells) > 1)
        if files and files * 2 >= len(rows):
            return table, (0, 1, 2 if len(table.header) > 2 else -1), None
    return None


def _routes(lines: Sequence[str], tables: Sequence[Table], scope: Scope, findings: _Findings) -> tuple[Route, ...]:
    found = _routing_table(tables)
    if found is None:
        return ()
    table, columns, second = found
    if second is not None:
        why = f"only the first routing table, in line {table.line}, is read"
        findings.add("second-table", second.line, why)
    routes: list[Route] = []
    for line, cells in table.rows:
        scenario, file = cell_text(cells[columns[0]]), cell_text(cells[columns[1]])
        if not scenario and not file:
            continue
        if len(routes) == LIMITS.routes:
            findings.add("too-many-routes", line, f"only the first {LIMITS.routes} rows are read")
            break
        deprecated = is_deprecated(lines[line - 1])
        routes.append(_route(line, cells, columns, scope, deprecated=deprecated, findings=findings))
    return tuple(routes)


def _route(
    line: int,
    cells: Sequence[str],
    columns: tuple[int, int, int],
    scope: Scope,
    *,
    deprecated: bool,
    findings: _Findings,
) -> Route:
    scenarios = split_alternatives(cell_text(cells[columns[0]]))
    if not scenarios:
        findings.add("no-scenario", line, "the row names a file but no scenario, so no message leads to it")
    file = cell_text(cells[columns[1]])
    path, problem = resolve_row_path(file, scope)
    if problem:
        findings.add("route-outside" if file else "no-file", line, f"{problem}; the row is skipped")
    if len(set(filter(looks_like_file, file_targets(file)))) > 1:
        findings.add("several-files", line, "the row names several files; only the first counts")
    written = cell_text(_priority_cell(cells, columns))
    priority = read_priority(written)
    if priority is None:
        priority = standard_priority(path, scope)
        if written:
            why = f"{quote(written)} is none of P0 to P3 and P2-L3; P{priority[0]} is used"
            findings.add("bad-priority", line, why)
    if priority[1] and scope.kind is ScopeKind.DM:
        findings.add("bad-priority", line, "P2-L3 is for the sub-files of groups; P2 is used")
        priority = (2, False)
    return Route(
        scenarios=scenarios,
        path=path,
        priority=priority[0],
        sub_file=priority[1],
        deprecated=deprecated,
        catch_all=any(is_catch_all(scenario) for scenario in scenarios),
        line=line,
        problem=problem,
    )


def _priority_cell(cells: Sequence[str], columns: tuple[int, int, int]) -> str:
    """The cell of the priority column; where no header names one, a cell that is a priority and no more."""
    if columns[2] >= 0:
        return cells[columns[2]]
    others = (cell for at, cell in enumerate(cells) if at not in columns)
    return next((cell for cell in others if len(cell) <= _BARE_PRIORITY_CHARS and read_priority(cell)), "")
