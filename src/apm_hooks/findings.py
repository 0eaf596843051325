"""What a check found in a file: one record for every checker, in one order, for every way of showing it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

MOST_IN_FILE = 500
"""So many findings are told of one file: a damaged one of some megabytes has one in every line."""

MORE = "more-findings"

FORMATS = ("human", "json", "github", "sarif")
"""The ways in which `reports` shows findings."""


class Level(StrEnum):
    """How much a finding matters. An error breaks a rule, a warning should be mended, a note is good to know."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    def reaches(self, bound: Level) -> bool:
        """Whether a finding of this level counts where `bound` is the least that does."""
        return _WEIGHT[self] >= _WEIGHT[bound]


_WEIGHT = {Level.NOTE: 0, Level.WARNING: 1, Level.ERROR: 2}


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that findings name: its `id`, the level of its findings, and what it asks for, in one sentence."""

    id: str
    level: Level
    summary: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to mend. `path` is relative to the workspace; `line` and `column` (in characters) count from 1, and 0
    stands for the whole file or line. `sentence` says what is wrong, `remedy` what to do, as a sentence of its own."""

    rule: str
    level: Level
    path: str
    line: int
    column: int
    sentence: str
    remedy: str = ""


def rule_table(*rules: Rule) -> Mapping[str, Rule]:
    """Rules by id; raises ValueError where an id stands twice."""
    table = {rule.id: rule for rule in rules}
    if len(table) < len(rules):
        raise ValueError("a rule's id stands twice")
    return table


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings as they are shown: by path, line, column; in one place the gravest first. Each is told once."""
    return tuple(sorted(set(findings), key=_place))


def _place(finding: Finding) -> tuple[str, int, int, int, str, str]:
    return (finding.path, finding.line, finding.column, -_WEIGHT[finding.level], finding.rule, finding.sentence)


def bounded(findings: Sequence[Finding], *, most: int = MOST_IN_FILE) -> tuple[Finding, ...]:
    """The findings of one file in order; past `most`, one more says how many are not told, with the gravest level of
    those."""
    ordered = in_order(findings)
    if len(ordered) <= most:
        return ordered
    # What is grave must not be lost behind a thousand trifles.
    kept = in_order(sorted(ordered, key=lambda finding: -_WEIGHT[finding.level])[:most])
    left = set(ordered).difference(kept)
    worst = max(left, key=lambda finding: _WEIGHT[finding.level])
    said = f"{len(left)} further findings in this file are not told"
    return (replace(worst, rule=MORE, line=0, column=0, sentence=said, remedy="Mend what is told, and run it again."),
            *kept)  # fmt: skip
