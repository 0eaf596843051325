"""Discipline of MEMORY.md (protocol, section 11): how long it is, and what in it belongs elsewhere. Pure.

Each finding says where its line belongs. What stands in a code fence or a comment is an example and is not judged;
secrets are, everywhere, by another check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from apm_hooks.audit_lines import MemoryLine, memory_lines, shown_lines
from apm_hooks.audit_pointers import (
    GroupMarks,
    names_of_groups,
    pointers,
    project_names,
    projects_without_file,
)
from apm_hooks.audit_tools import tool_lists
from apm_hooks.audit_words import pattern
from apm_hooks.findings import Finding, Level, Rule, rule_table
from apm_hooks.names import printable
from apm_hooks.tables import split_lines

N, W, E = Level.NOTE, Level.WARNING, Level.ERROR

MEMORY_RULES: Mapping[str, Rule] = rule_table(
    Rule("memory-watch", N, "MEMORY.md has at most 30 lines."),
    Rule("memory-bloated", W, "MEMORY.md has at most 50 lines."),
    Rule("memory-violation", E, "MEMORY.md has at most 80 lines."),
    Rule("project-progress", W, "How a project stands is not in MEMORY.md."),
    Rule("event-narrative", W, "What happened on a day is not in MEMORY.md."),
    Rule("tool-list", W, "What `which` can answer is not in MEMORY.md."),
    Rule("group-name", W, "Names of group chats are not in MEMORY.md."),
    Rule("sample-result", W, "Results of single samples and measurements are not in MEMORY.md."),
    Rule("temporary-fix", W, "Temporary fixes are not in MEMORY.md."),
    Rule("dangling-pointer", E, "A pointer in MEMORY.md leads to a file that exists."),
)

LEAN_LINES, WATCHED_LINES, BLOATED_LINES = 30, 50, 80
"""Up to so many lines MEMORY.md is lean, to be watched, bloated; with more it breaks the rule."""

_REMEDIES = {
    "project-progress": "It belongs to memory/main/projects/{name}.md, a task's status to memory/main/attention.md.",
    "event-narrative": "It belongs to the note of that day, memory/{day}.md.",
    "tool-list": "Take it out: `which` and `command -v` tell what is installed.",
    "group-name": "It belongs to that group's index, memory/groups/{name}.md, and its id to group_names.json.",
    "sample-result": "It belongs to the project's report, named in memory/main/projects/{name}.md.",
    "temporary-fix": "It belongs to the note of the day, memory/{day}.md, where it grows old by itself.",
}
_DECISION = "A decision or lesson belongs to memory/main/longterm.md, dated."
_SENTENCES = {
    "project-progress": "This says how a project or task stands.",
    "event-narrative": "This tells what happened on a day.",
    "tool-list": "This lists tools.",
    "group-name": "This names a group chat.",
    "sample-result": "This is the result of a single sample or measurement.",
    "temporary-fix": "This is a temporary fix, which outlives its reason here.",
}
_OF_PROJECT = "This tells of a project that has a file of its own."
_SECTIONS = {"result": "sample-result", "temporary": "temporary-fix", "history": "event-narrative"}
"""Kinds of headings → the rule that the lines of the list right below break."""

_FULL_DAY = re.compile(r"((?:19|20)\d\d)\s?[-/.年년]\s?(\d{1,2})\s?[-/.月월]\s?(\d{1,2})")
_ITS_LABEL = re.compile(r".{0,24}?[:：]\s{0,4}\S")
_AROUND_DATES = " :：-–—*_)]）】.,、，|"
_SHORT_CHARS, _POINTER_WORDS = 3, 6


def audit_memory(
    text: str, *, path: str = "MEMORY.md", groups: GroupMarks | None = None, exists: Callable[[str], bool]
) -> tuple[Finding, ...]:
    """Findings on the decoded text of a MEMORY.md. `exists(path)`: whether a file is there, relative to the
    workspace."""
    lines = split_lines(text)
    findings = list(_size(len(lines) - (not lines[-1]), path))
    shown = shown_lines(lines)
    judged = list(memory_lines(shown))
    findings += _short_lived(judged, project_names(shown), path)
    for line in tool_lists(judged):
        findings.append(_found("tool-list", path, line, line.start + 1))
    named = names_of_groups(groups or GroupMarks())
    for line in judged if named is not None else ():
        found = named.search(line.plain) if named is not None else None
        if found is not None:
            findings.append(_found("group-name", path, line, found.start() + 1))
    for line, column, file in pointers(judged):
        if not exists(file):
            said = f"This leads to {printable(file)}, which does not exist."
            findings.append(_dangling(path, line.number, column, said, "Write that file, or take the pointer out."))
    for number, name in projects_without_file(shown):
        said = f"The project {printable(name, 60)} has no file."
        findings.append(_dangling(path, number, 0, said, "Write memory/main/projects/{name}.md and name it here."))
    return tuple(findings)


def _found(rule: str, path: str, line: MemoryLine, column: int, *, said: str = "", remedy: str = "") -> Finding:
    remedy = (remedy or _REMEDIES[rule]).replace("{day}", _day(line.body))
    return Finding(rule, MEMORY_RULES[rule].level, path, line.number, column, said or _SENTENCES[rule], remedy)


def _dangling(path: str, number: int, column: int, said: str, remedy: str) -> Finding:
    return Finding("dangling-pointer", MEMORY_RULES["dangling-pointer"].level, path, number, column, said, remedy)


def _day(text: str) -> str:
    """The first full date of a text as a daily note is named; else the shape of such a name."""
    found = _FULL_DAY.search(text)
    return f"{found[1]}-{int(found[2]):02}-{int(found[3]):02}" if found else "YYYY-MM-DD"


def _size(size: int, path: str) -> Iterator[Finding]:
    if size <= LEAN_LINES:
        return
    rule, bound, verdict = "memory-watch", LEAN_LINES, "to be watched"
    if size > BLOATED_LINES:
        rule, bound, verdict = "memory-violation", BLOATED_LINES, "a violation"
    elif size > WATCHED_LINES:
        rule, bound, verdict = "memory-bloated", WATCHED_LINES, "bloated"
    said = f"It has {size} lines; more than {bound} is {verdict}."
    remedy = "Move projects to memory/main/projects/, events to daily notes, decisions to memory/main/longterm.md."
    yield Finding(rule, MEMORY_RULES[rule].level, path, 0, 0, said, remedy)


def _short_lived(lines: Sequence[MemoryLine], projects: re.Pattern[str] | None, path: str) -> Iterator[Finding]:
    """The first kind of short-lived content in each item, row or paragraph: told by its own words, by the heading right
    above its list, or by the project that it is about."""
    told: set[int] = set()
    within, section, last = False, "", 0
    for line in lines:
        title = line.title
        if title is not None:
            within = projects is not None and projects.match(title) is not None
            section = next((rule for kind, rule in _SECTIONS.items() if pattern(f"{kind}_title").fullmatch(title)), "")
        elif last and line.number > last + 1:
            # A list ends at a blank line; what comes then need not be of the heading's kind.
            section = ""
        last = 0 if title is not None else line.number
        if line.unit in told:
            continue
        found = _sample(line, path) or _temporary(line, path) or _event(line, path) or _progress(line, path)
        if found is None and title is None:
            found = _by_place(line, section, path)
            if found is None and _is_of_project(line, projects, within=within):
                found = _found("project-progress", path, line, line.start + 1, said=_OF_PROJECT)
        if found is not None:
            told.add(line.unit)
            yield found


def _is_principle(line: MemoryLine) -> bool:
    """A rule of conduct, and no report: such lines may name what is reported elsewhere."""
    return bool(pattern("principle").match(line.body) or pattern("principle_within").search(line.body))


def _sample(line: MemoryLine, path: str) -> Finding | None:
    found = pattern("sample").search(line.body) or pattern("metric").search(line.body)
    if found is None or _is_principle(line) or pattern("target").search(line.body):
        return None
    return _found("sample-result", path, line, line.column(found))


def _temporary(line: MemoryLine, path: str) -> Finding | None:
    found = pattern("temporary").search(line.body)
    if found is None or pattern("not_temporary").search(line.body) or pattern("principle_within").search(line.body):
        return None
    if pattern("principle_start").match(line.body):
        return None
    return _found("temporary-fix", path, line, line.column(found))


def _event(line: MemoryLine, path: str) -> Finding | None:
    body = line.body
    found = pattern("date").search(body) or pattern("relative").search(body)
    if found is None or pattern("meta").match(body) or pattern("stamp").search(body[: found.start()]):
        return None
    rest = f"{body[: found.start()]} {body[found.end() :]}"
    begins = found.start() == 0 and (line.title is not None or len(rest.strip(_AROUND_DATES)) > _SHORT_CHARS)
    if not begins and not pattern("event").search(rest):
        return None
    if pattern("stable").search(rest) and not pattern("incident").search(rest):
        return None
    if (pattern("principle").match(body) and not begins) or pattern("principle_within").search(body):
        return None
    if pattern("decision").search(body):
        said = "This tells of a dated decision or lesson."
        return _found("event-narrative", path, line, line.column(found), said=said, remedy=_DECISION)
    return _found("event-narrative", path, line, line.column(found))


def _progress(line: MemoryLine, path: str) -> Finding | None:
    title = line.title
    if title is not None and pattern("progress_title").fullmatch(title):
        return _found("project-progress", path, line, line.start + 1)
    if any(pattern("progress_cell").fullmatch(cell.strip(" *_`~")) for cell in line.cells[1:]):
        return _found("project-progress", path, line, 0)
    found = pattern("progress").search(line.plain)
    if found is None and pattern("progress_label").match(line.body) is None:
        return None
    if _is_principle(line) or (not line.cells and _is_pointer_only(line)):
        return None
    return _found("project-progress", path, line, found.start() + 1 if found else line.start + 1)


def _is_pointer_only(line: MemoryLine) -> bool:
    """True for a line that sends the reader to a file and says no more than which: `Progress: see projects/x.md`."""
    few = len(line.body.split()) <= _POINTER_WORDS
    return line.has_path and few and not any(char.isdigit() for char in line.body)


def _by_place(line: MemoryLine, section: str, path: str) -> Finding | None:
    """What an item is by standing below a heading that says so."""
    if not section or not line.is_item or line.has_path or _is_principle(line):
        return None
    body = line.body
    if section == "sample-result":
        broken = pattern("measured").search(body) is not None and pattern("target").search(body) is None
    else:
        broken = section == "temporary-fix" or pattern("stable").search(body) is None
    return None if not broken else _found(section, path, line, line.start + 1)


def _is_of_project(line: MemoryLine, projects: re.Pattern[str] | None, *, within: bool) -> bool:
    """A line below a project's own heading, or with the project's name before a colon: it belongs to the project's
    file, and only the pointer stays."""
    if projects is None or line.has_path or line.cells or _is_principle(line):
        return False
    named = projects.match(line.body)
    return within or (named is not None and _ITS_LABEL.match(line.body[named.end() :]) is not None)
