"""Budgets: at the limit nothing is told, one more is."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.lint import Checks, cost, lint
from apm_hooks.facts.model import DECISIONS, INDEX, Budgets, Memory
from apm_hooks.findings import Level
from tests.facts.memories import TODAY, findings_in, lay_out, words

KIB = 1024


def rules_of(memory: Memory, checks: Checks) -> list[str]:
    return [found.rule for found in lint(memory, checks, parse_facts(memory.index or ""))]


def padded(chars: int, fill: str = "x") -> str:
    head, tail = "- **`a`** · One", ". **So:** x."
    return head + fill * (chars - len(head) - len(tail)) + tail


@pytest.mark.parametrize("fill", ["x", "研", "𠮷", "e\u0301"[1]])
@pytest.mark.parametrize(("chars", "told"), [(399, []), (400, []), (401, ["fact-too-long"])])
def test_a_line_counts_code_points(fill: str, chars: int, told: list[str]) -> None:
    text = padded(chars, fill)
    assert rules_of(Memory(text), Checks(TODAY)) == told


def test_the_end_of_a_line_does_not_count_and_blanks_before_it_do(tmp_path: Path) -> None:
    checks = Checks(TODAY)
    root = lay_out(tmp_path, {INDEX: f"\ufeff{padded(400)}\r\n"})
    assert findings_in(root, checks) == ()
    lay_out(tmp_path, {INDEX: f"{padded(400)} \r\n"})
    assert [found.rule for found in findings_in(root, checks)] == ["fact-too-long"]


@pytest.mark.parametrize(("size", "told"), [(24 * KIB - 1, 0), (24 * KIB, 0), (24 * KIB + 1, 1)])
@pytest.mark.parametrize(("path", "rule"), [(INDEX, "index-too-big"), (DECISIONS, "decisions-too-big")])
def test_a_file_counts_bytes_on_disk(tmp_path: Path, path: str, rule: str, size: int, told: int) -> None:
    line = "# 研发\n".encode()
    root = lay_out(tmp_path, {INDEX: "# Facts\n", path: line + b"\n" * (size - len(line))})
    assert (root / path).stat().st_size == size
    assert [found.rule for found in findings_in(root, Checks(TODAY))] == [rule] * told


@pytest.mark.parametrize(("kb", "told"), [(0.5, []), (0.4999, ["index-too-big"])])
def test_a_budget_may_be_a_fraction(kb: float, told: list[str]) -> None:
    assert rules_of(Memory("# x", index_bytes=512), Checks(TODAY, Budgets(max_index_kb=kb))) == told


@pytest.mark.parametrize(("most", "told"), [(10, []), (9, ["index-too-big"]), (None, [])])
def test_a_budget_in_tokens(most: float | None, told: list[str]) -> None:
    memory = Memory("one two three four five six seven eight nine ten")
    assert rules_of(memory, Checks(TODAY, Budgets(max_index_tokens=most), count=words)) == told


@pytest.mark.parametrize(("share", "told"), [(10, []), (9, ["index-over-share"]), (0, [])])
def test_the_share_of_a_session(share: int, told: list[str]) -> None:
    memory = Memory("one two three four five six seven eight nine ten")
    assert rules_of(memory, Checks(TODAY, share_tokens=share, count=words)) == told


@pytest.mark.parametrize(
    ("guess", "exact"), [(90, False), (91, True), (100, True), (249, True), (250, False), (1000, False)]
)
def test_tokens_are_counted_only_where_the_estimate_leaves_it_open(guess: int, exact: bool) -> None:
    tokens, counted = cost("x", [100], lambda text: 77, lambda text: guess)
    assert (tokens, counted) == ((77, True) if exact else (guess, False))


@pytest.mark.parametrize(("days", "level"), [(0, None), (1, Level.WARNING), (29, Level.WARNING), (30, Level.ERROR)])
def test_a_review_is_a_warning_and_then_an_error(days: int, level: Level | None) -> None:
    day: date = TODAY - timedelta(days=days)
    found = lint(Memory(f"- **`a`** · One; review: {day}. **So:** x."), Checks(TODAY))
    assert [(each.rule, each.level) for each in found] == ([("review-due", level)] if level else [])
    if level:
        assert f"{days} day{'s' if days > 1 else ''} ago" in found[0].sentence


def test_a_damaged_file_does_not_fill_the_report() -> None:
    found = lint(Memory("* **`a`** · One.\n" * 2_000), Checks(TODAY))
    assert len(found) == 501
    assert (found[0].rule, found[0].level) == ("more-findings", Level.ERROR)
