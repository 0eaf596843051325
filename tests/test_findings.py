"""One record for every checker, and the order in which findings are shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks.findings import MORE, Finding, Level, Rule, bounded, in_order, rule_table

LEVELS = list(Level)
findings = st.builds(
    Finding, st.sampled_from(["a", "b"]), st.sampled_from(LEVELS), st.sampled_from(["x", "y"]), st.integers(0, 3),
    st.integers(0, 2), st.sampled_from(["s", "t"]),
)  # fmt: skip


def found(line: int, level: Level = Level.NOTE, path: str = "x") -> Finding:
    return Finding("r", level, path, line, 0, "s")


def test_a_level_reaches_itself_and_what_is_below() -> None:
    assert [[level.reaches(bound) for bound in LEVELS] for level in LEVELS] == [
        [True, False, False], [True, True, False], [True, True, True],
    ]  # fmt: skip


def test_findings_go_by_path_and_line_and_in_one_place_the_gravest_first() -> None:
    given_ = [found(2), found(1, path="y"), found(1), found(1, Level.ERROR), found(1, Level.WARNING)]
    assert in_order(given_) == (found(1, Level.ERROR), found(1, Level.WARNING), found(1), found(2), found(1, path="y"))


@given(st.lists(findings))
def test_the_order_does_not_depend_on_what_came_first_and_tells_each_once(given_: list[Finding]) -> None:
    assert in_order(given_) == in_order(reversed(given_))
    assert set(in_order(given_)) == set(given_)
    assert len(in_order(given_)) == len(set(given_))


def test_of_too_many_the_gravest_are_kept_and_the_number_of_the_others_is_told() -> None:
    many = [found(line) for line in range(1, 8)] + [found(9, Level.ERROR)]
    kept = bounded(many, most=3)
    assert [each.rule for each in kept] == [MORE, "r", "r", "r"]
    assert found(9, Level.ERROR) in kept
    assert kept[0].sentence == "5 further findings in this file are not told"
    assert kept[0].level is Level.NOTE
    assert bounded(many, most=8) == in_order(many)


def test_what_is_not_told_counts_with_its_gravest_level() -> None:
    errors = [found(line, Level.ERROR) for line in range(1, 4)]
    assert bounded(errors, most=1)[0].level is Level.ERROR


def test_a_rule_stands_once_in_a_table() -> None:
    rule = Rule("r", Level.NOTE, "s")
    assert rule_table(rule) == {"r": rule}
    with pytest.raises(ValueError, match="twice"):
        rule_table(rule, rule)
