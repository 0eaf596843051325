"""Discipline of index files (protocol, section 4): what is wrong with one, and with what it routes to. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from apm_hooks.cells import cell_text, read_priority
from apm_hooks.findings import Finding, Level, Rule, rule_table
from apm_hooks.index import parse_index
from apm_hooks.names import name_key, printable
from apm_hooks.records import Index, Route, Scope, ScopeKind
from apm_hooks.tables import Table, find_tables, split_lines, visible_lines

E, W, N = Level.ERROR, Level.WARNING, Level.NOTE

INDEX_RULES: Mapping[str, Rule] = rule_table(
    Rule("bad-budget", E, "memory_budget is a whole number of tokens, or left out."),
    Rule("bad-date", W, "last_updated is a date."),
    Rule("bad-frontmatter", W, "Frontmatter is flat `key: value` lines between two rules."),
    Rule("bad-priority", W, "A priority is P0, P1, P2, P3 or P2-L3."),
    Rule("duplicate-key", W, "A key stands once in the frontmatter."),
    Rule("duplicate-trigger", W, "A scenario stands in one row."),
    Rule("key-case", W, "Keys of the frontmatter are written in small letters."),
    Rule("late-frontmatter", W, "Frontmatter begins with the file's first character."),
    Rule("line-too-long", W, "A line is short enough to be read."),
    Rule("merge-conflict", E, "No mark of an unfinished merge is left."),
    Rule("misspelt-key", W, "Keys of the frontmatter are those that are read."),
    Rule("missing-file", E, "A row names a file that exists."),
    Rule("more-problems", N, "All problems of an index can be listed."),
    Rule("no-file", W, "A row names a file."),
    Rule("no-hard-rules", W, "An index has a list of hard rules."),
    Rule("no-routing-table", E, "An index has a routing table with rows."),
    Rule("no-scenario", W, "A row names a scenario."),
    Rule("odd-path", N, "A row's file is written without `./`."),
    Rule("odd-priority", N, "A priority is written as P0, P1, P2, P3 or P2-L3."),
    Rule("route-outside", E, "A row's file lies in its scope's folder."),
    Rule("second-table", W, "An index has one routing table."),
    Rule("several-files", W, "A row names one file."),
    Rule("superseded-row", N, "A retired row's scenario stands in a live row too."),
    Rule("too-many-routes", W, "A routing table is short enough to be read."),
    Rule("too-many-rows", W, "The tables of an index are short enough to be read."),
    Rule("unclosed-block", E, "A code fence or comment is closed."),
    Rule("unreached-file", W, "A row, or a file that a row leads to, leads to every file."),
    Rule("wrong-scope", W, "The frontmatter says whose index it is."),
)

_REMEDIES: Mapping[str, str] = {
    "bad-budget": "Write a whole number of tokens, such as 6000, or leave the line out.",
    "bad-frontmatter": "Begin the file with ---, one `key: value` a line, and --- behind them.",
    "bad-priority": "Write P0, P1, P2 or P3, or P2-L3 for a group's sub-file.",
    "duplicate-key": "Keep one of them.",
    "line-too-long": "Break it up.",
    "merge-conflict": "Finish the merge.",
    "more-problems": "Mend what is told, and run it again.",
    "no-file": "Name a file in the scope's folder, or mark the row [DEPRECATED].",
    "no-scenario": "Say when the file is wanted, or mark the row [DEPRECATED].",
    "route-outside": "Name a file in this scope's own folder, or mark the row [DEPRECATED].",
    "second-table": "Add its rows to the first table.",
    "several-files": "Give each file a row of its own.",
    "too-many-routes": "Mark rows that no longer serve [DEPRECATED] and move the table's rest into files it leads to.",
    "too-many-rows": "Keep the index short.",
    "unclosed-block": "Close it.",
}

KEYS = ("group_name", "type", "status", "last_updated", "memory_budget")
"""The keys of an index's frontmatter that have a meaning (protocol, section 4)."""

_OWNER_TYPES = frozenset(("dm", "main", "owner", "direct"))
_LATE_LINES = 20
_SCENARIO_CHARS = 200
_NAME_CHARS = 400
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})?)?")
_FEATURES = re.compile("[*_`~]")


@dataclass(frozen=True, slots=True)
class ScopeFiles:
    """The files in a scope's folder, relative to it. `referred` are those of them that a file of a row refers to;
    `always` those that are loaded without a row."""

    present: frozenset[str]
    referred: frozenset[str] = frozenset()
    always: frozenset[str] = frozenset()


def audit_index(text: str, scope: Scope, files: ScopeFiles) -> tuple[Finding, ...]:
    """Findings on the index of `scope` with the decoded text `text`; those on files that no row reaches name them."""
    index = parse_index(text, scope)
    lines = split_lines(text)
    findings: list[Finding] = []
    for problem in index.problems:
        rule = INDEX_RULES.get(problem.rule)
        findings.append(Finding(
            problem.rule, rule.level if rule else W, scope.index_path, problem.line, 0,
            _sentence(problem.text), _REMEDIES.get(problem.rule, "Mend it."),
        ))  # fmt: skip
    findings += _frontmatter(index, lines, scope)
    findings += _shape(index, scope)
    findings += _routes(index, lines, scope, files)
    findings += _repeated(index, scope)
    findings += _unreached(index, scope, files)
    return tuple(findings)


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _found(rule: str, scope: Scope, line: int, sentence: str, remedy: str, column: int = 0) -> Finding:
    return Finding(rule, INDEX_RULES[rule].level, scope.index_path, line, column, sentence, remedy)


def key_lines(lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Line (from 1), key and value of each entry between the `---` in line 1 and the next one; without a closing `---`
    up to the first line that is no entry."""
    if not lines or lines[0].rstrip() != "---":
        return
    for number, line in enumerate(lines[1:], 2):
        if line.rstrip() == "---":
            return
        key, colon, value = line.partition(":")
        if colon and value[:1] in ("", " ", "\t") and key == key.strip():
            yield number, key, value.strip().strip("\"'")
        elif line.strip() and not line.lstrip().startswith("#"):
            return


def _frontmatter(index: Index, lines: list[str], scope: Scope) -> Iterator[Finding]:
    if not index.meta:
        yield from _late(lines, scope)
        return
    for number, key, value in key_lines(lines):
        if key in KEYS:
            yield from _value(key, value, number, scope)
        elif key.lower() in KEYS:
            said = f"The key {printable(key)} is not read: keys are written in small letters."
            yield _found("key-case", scope, number, said, f"Write {key.lower()}.", 1)
        elif (meant := _meant(key)) and meant not in index.meta:
            said = f"The key {printable(key)} is not read."
            yield _found("misspelt-key", scope, number, said, f"Did you mean {meant}?", 1)


def _value(key: str, value: str, number: int, scope: Scope) -> Iterator[Finding]:
    if key == "last_updated" and value and not _is_day(value):
        said = f"last_updated says {printable(value, 40)}, which is no date."
        yield _found("bad-date", scope, number, said, "Write YYYY-MM-DD.", 1)
    group = scope.kind is ScopeKind.GROUP
    if key == "group_name" and value and not (group and name_key(value[:_NAME_CHARS]) in _own_names(scope)):
        said = f"group_name says {printable(value, 60)}, but this is the index of {_whose(scope)}."
        yield _found("wrong-scope", scope, number, said, f"Write group_name: {scope.name}." if group else
                     "Leave the line out.", 1)  # fmt: skip
    if key == "type" and group and value.lower() in _OWNER_TYPES:
        said = f"type says {printable(value, 40)}, but this is the index of {_whose(scope)}."
        yield _found("wrong-scope", scope, number, said, "Leave the line out.", 1)
    if key == "type" and not group and value.lower() == "group":
        said = f"type says {printable(value, 40)}, but this is the index of {_whose(scope)}."
        yield _found("wrong-scope", scope, number, said, "Write type: dm.", 1)


def _own_names(scope: Scope) -> set[str]:
    return {name_key(scope.name), name_key(scope.name.rpartition("/")[2])}


def _whose(scope: Scope) -> str:
    return f"the group {printable(scope.name)}" if scope.kind is ScopeKind.GROUP else "the owner's memory"


def _is_day(value: str) -> bool:
    found = _DAY.fullmatch(value)
    return found is not None and 1 <= int(found[2]) <= 12 and 1 <= int(found[3]) <= 31


@lru_cache(maxsize=256)
def _meant(key: str) -> str:
    from difflib import get_close_matches

    if len(key) > 2 * max(map(len, KEYS)):
        return ""
    return next(iter(get_close_matches(key.lower().replace("-", "_"), KEYS, n=1, cutoff=0.8)), "")


def _late(lines: list[str], scope: Scope) -> Iterator[Finding]:
    """Frontmatter behind something else is a rule line and text: its budget would silently not count."""
    for number, line in enumerate(lines[1:_LATE_LINES], 2):
        if line.rstrip() == "---":
            below = lines[number - 1 :]
            if any(key in KEYS for _, key, _ in key_lines(below)):
                said = "This block is no frontmatter, since the file does not begin with it: its keys are not read."
                yield _found("late-frontmatter", scope, number, said, "Move it to the very start of the file.")
            return


def _shape(index: Index, scope: Scope) -> Iterator[Finding]:
    if not index.hard_rules:
        said = "No list of hard rules is found."
        yield _found("no-hard-rules", scope, 0, said, "Add a heading `Hard Rules` and a list below it.")
    if not index.routes:
        said = "No routing table with a row is found, so no message leads to any file."
        yield _found("no-routing-table", scope, 0, said, "Add a table of scenario, file and priority.")


def _routes(index: Index, lines: list[str], scope: Scope, files: ScopeFiles) -> Iterator[Finding]:
    shown, _ = visible_lines(lines)
    cells = priority_cells(find_tables(shown), {route.line for route in index.routes})
    for route in index.routes:
        if route.deprecated:
            continue
        if route.path and route.path not in files.present:
            said = f"The row leads to {printable(route.path)}, which does not exist."
            yield _found("missing-file", scope, route.line, said, "Write that file, or mark the row [DEPRECATED].")
        written, file = cells.get(route.line, ("", ""))
        if written and is_odd_priority(written):
            said = f"The priority {printable(written, 40)} is read as {priority_name(route)}."
            yield _found("odd-priority", scope, route.line, said, f"Write {priority_name(route)}.")
        if route.path and has_odd_path(file):
            said = f"The row's file {printable(file, 80)} begins with ./"
            yield _found("odd-path", scope, route.line, said + ", which says nothing.", f"Write {route.path}.")


def priority_cells(tables: tuple[Table, ...], rows: Collection[int]) -> dict[int, tuple[str, str]]:
    """The cells of the routing rows (by line): one that is a priority and no more, and one that holds the file."""
    found: dict[int, tuple[str, str]] = {}
    for table in tables:
        for line, cells in table.rows:
            if line in rows:
                texts = [cell_text(cell) for cell in cells]
                priority = next((text for text in reversed(texts) if len(text) <= 16 and read_priority(text)), "")
                file = next((text for text in texts if has_odd_path(text)), "")
                found[line] = (priority, file)
    return found


def is_odd_priority(cell: str) -> bool:
    """True for a cell that is nothing but a priority, in another form than the one of the protocol."""
    bare = re.sub(r"[\s`*_\[\]()]", "", cell)
    name = priority_of(cell)
    return (
        bool(name)
        and bare != name
        and re.fullmatch(r"[PpＰｐ][0-3０-３](?:[-/ ‐-―_]?[LlＬｌ][3３])?", bare) is not None
    )


def priority_of(cell: str) -> str:
    """A priority as the protocol writes it; empty where the cell names none."""
    found = read_priority(cell)
    return "" if found is None else "P2-L3" if found[1] else f"P{found[0]}"


def priority_name(route: Route) -> str:
    """A row's priority as the protocol writes it."""
    return "P2-L3" if route.sub_file else f"P{route.priority}"


def has_odd_path(cell: str) -> bool:
    """True for a cell, or the target of a link in it, that begins with `./`."""
    return _ODD_PATH.search(cell) is not None


_ODD_PATH = re.compile(r"^[`*~<]{0,3}(?:\./)+(?=[^/.\s])|\]\(<?(?:\./)+(?=[^/.\s])")


def _scenario_key(scenario: str) -> str:
    # The bound matters: folding costs more than its length on hostile text.
    return " ".join(name_key(_FEATURES.sub("", scenario[:_SCENARIO_CHARS])).split())


def _triggers(route: Route) -> set[str]:
    """What a row answers to, folded; all catch-alls are one."""
    keys = {_scenario_key(scenario) for scenario in route.scenarios}
    return ({"*"} if route.catch_all else keys) - {""}


def _repeated(index: Index, scope: Scope) -> Iterator[Finding]:
    """Scenarios that stand in two live rows, and retired rows beside a live one. Rows of sub-files are routes of their
    own (protocol, section 4), so that one of them may stand beside a file's row."""
    first: dict[tuple[bool, str], Route] = {}
    live = [route for route in index.routes if not route.deprecated]
    for route in live:
        twice: dict[int, str] = {}
        for key in sorted(_triggers(route)):
            known = first.setdefault((route.sub_file, key), route)
            if known is not route:
                twice.setdefault(known.line, key)
        for line, key in sorted(twice.items()):
            what = "everything that no other row takes" if key == "*" else printable(key, 60)
            said = f"The scenario {what} stands in line {line} already."
            yield _found("duplicate-trigger", scope, route.line, said, "Keep it in one live row.")
    for route in index.routes:
        if route.deprecated and any((route.sub_file, key) in first for key in _triggers(route)):
            said = "This retired row's scenario stands in a live row too; it is not read."
            yield _found("superseded-row", scope, route.line, said, "Nothing need be done: rows are never removed.")


def _unreached(index: Index, scope: Scope, files: ScopeFiles) -> Iterator[Finding]:
    # A retired row reaches its file too: it was retired on purpose.
    reached = {route.path for route in index.routes}
    for path in sorted(files.present - reached - files.referred - files.always):
        if path.endswith(".md"):
            said = "No row of the index, and no file that a row leads to, leads to this file: it is never loaded."
            rule = INDEX_RULES["unreached-file"]
            yield Finding(rule.id, rule.level, f"{scope.directory}/{path}", 0, 0, said,
                          f"Add a row for it to {scope.index_path}, or take it away.")  # fmt: skip
