"""What a change of an index would do to its hard rules and routing rows (protocol, section 8): text in, sentences out.

A rule or row may be marked `[DEPRECATED]` and may move; it may not go, and not say something else. How a table is
drawn, the frontmatter and all other text are free.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

from apm_hooks import gate_texts
from apm_hooks.access import Edit
from apm_hooks.cells import quote
from apm_hooks.index import parse_index
from apm_hooks.records import Index, Route, Scope

_MARK = re.compile(r"\\?\[deprecated\\?\]", re.IGNORECASE)
_ALIKE = str.maketrans("‘’‚‛“”„‟′″‐‑‒–—―−\u00a0\u2002\u2003\u2009\u202f\u3000\t", "''''\"\"\"\"'\"------- " + " " * 6)
_CANDIDATES = 16
_ANCHORED_LINES = 3

Row = tuple[frozenset[str], str, int, bool]


def has_parts(text: str, scope: Scope) -> bool:
    """Whether an index has any hard rule or routing row."""
    index = parse_index(text, scope)
    return bool(index.hard_rules or index.routes)


def losses(before: str, after: str, scope: Scope) -> tuple[str, ...]:
    """A sentence for each hard rule and routing row of the index `before` that `after` no longer has as it was.

    A rule is its words, with the mark or without; a row is its scenarios, its file and its priority, however they are
    drawn, and keeps its mark once it has one.
    """
    was, now = parse_index(before, scope), parse_index(after, scope)
    return (*_rules_lost(was, now), *_rows_lost(was.routes, now.routes))


def _rules_lost(was: Index, now: Index) -> list[str]:
    kept = {_rule(rule) for rule in now.hard_rules}
    gone = dict.fromkeys(rule for rule in was.hard_rules if _rule(rule) not in kept)
    return [gate_texts.RULE_LOST.format(rule=quote(rule)) for rule in gone]


def _rule(text: str) -> str:
    return unicodedata.normalize("NFC", " ".join(_MARK.sub(" ", text).split()))


def _rows_lost(was: Sequence[Route], now: Sequence[Route]) -> list[str]:
    rows, marked = Counter(map(_row, now)), Counter(_row(route) for route in now if route.deprecated)
    found: dict[str, None] = {}
    for route in was:
        row = _row(route)
        shown = quote(f"{', '.join(route.scenarios)} → {route.path or '?'}")
        if rows[row] <= 0:
            found[gate_texts.ROW_LOST.format(row=shown)] = None
        elif route.deprecated and marked[row] <= 0:
            found[gate_texts.ROW_UNMARKED.format(row=shown)] = None
        rows[row] -= 1
        marked[row] -= route.deprecated
    return list(found)


def _row(route: Route) -> Row:
    scenarios = (unicodedata.normalize("NFC", " ".join(text.split())) for text in route.scenarios)
    # A row that leads nowhere has no path; what is wrong with it tells what its file cell says.
    target = route.path or f"\0{route.problem}"
    return frozenset(scenarios), target, route.priority, route.sub_file


def after_edit(before: str, edits: Sequence[Edit]) -> str | None:
    """The text after replacing each `old` by its `new`, in order, exactly as written; None where one is not there, or
    stands there more than once and not every one is meant: then a tool that takes texts as written refuses."""
    text = _plain(before)
    for edit in edits:
        old, new = _plain(edit.old), _plain(edit.new)
        times = text.count(old) if old else int(not text)
        if not times or (times > 1 and not edit.every):
            return None
        text = text.replace(old, new) if old else new
    return text


def possible_edits(before: str, edits: Sequence[Edit]) -> tuple[str, ...]:
    """The texts that a forgiving tool could make of it, at most a few; empty where none is known.

    Tools exist that take other quotes, dashes and blanks for the ones that stand there, look at lines without their
    indentation, find a block by its first and its last line, or take the first place of several.
    """
    texts: tuple[str, ...] = (_plain(before),)
    for edit in edits:
        old, new = _plain(edit.old), _plain(edit.new)
        outcomes = dict.fromkeys(outcome for text in texts for outcome in _outcomes(text, old, new, edit.every))
        texts = tuple(outcomes)[:_CANDIDATES]
    return texts if edits else ()


def _outcomes(text: str, old: str, new: str, every: bool) -> list[str]:
    if not old:
        return [] if text else [new]
    if old in text:
        return [text.replace(old, new)] if every else [text.replace(old, new, 1)]
    folded, sought = text.translate(_ALIKE), old.translate(_ALIKE)
    if sought in folded:
        places = [match.span() for match in re.finditer(re.escape(sought), folded)]
    else:
        places = _blocks(text, old)
    found = [text[:start] + new + text[end:] for start, end in places[:_CANDIDATES]]
    if every and len(places) > 1:
        for start, end in reversed(places):
            text = text[:start] + new + text[end:]
        found.append(text)
    return found


def _blocks(text: str, old: str) -> list[tuple[int, int]]:
    """Where whole lines look like those of `old`, or begin and end with its first and its last."""
    lines, wanted = text.split("\n"), [_bare(line) for line in old.strip("\n").split("\n")]
    bare = [_bare(line) for line in lines]
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def span(first: int, last: int) -> tuple[int, int]:
        return starts[first], starts[last + 1] - 1

    size = len(wanted)
    if not any(wanted):
        return []
    whole = [span(at, at + size - 1) for at in _where(bare, lambda at: bare[at : at + size] == wanted)]
    if whole or size < _ANCHORED_LINES:
        return whole
    firsts = _where(bare, lambda at: bare[at] == wanted[0])[:_CANDIDATES]
    lasts = _where(bare, lambda at: bare[at] == wanted[-1])
    ends = [(first, next((last for last in lasts if last > first + 1), None)) for first in firsts]
    return [span(first, last) for first, last in ends if last is not None]


def _where(lines: Sequence[str], holds: Callable[[int], bool]) -> list[int]:
    return [at for at in range(len(lines)) if holds(at)]


def _bare(line: str) -> str:
    return " ".join(line.translate(_ALIKE).split())


def _plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
