"""Each rule on a memory of its own, in `cases/RULE.txt`: what is found there, all of it, at the exact place."""

from __future__ import annotations

from pathlib import Path

import pytest

from apm_hooks.facts.rules import RULES
from apm_hooks.findings import Finding
from tests.facts.memories import CASES, Case, findings_in, lay_out, load, places


def test_every_rule_has_its_case_and_every_case_its_rule() -> None:
    assert {path.stem for path in CASES.iterdir()} == set(RULES)


def found_in(case: Case, root: Path) -> tuple[Finding, ...]:
    return findings_in(lay_out(root, case.files, case.links), case.checks)


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_rule_fires_where_it_should_and_nowhere_else(tmp_path: Path, rule: str) -> None:
    case = load(CASES / f"{rule}.txt")
    found = found_in(case, tmp_path)
    assert places(found) == case.expect
    assert {each.rule for each in found} == {rule}


@pytest.mark.parametrize("rule", sorted(RULES))
def test_a_finding_says_what_to_do(tmp_path: Path, rule: str) -> None:
    for found in found_in(load(CASES / f"{rule}.txt"), tmp_path):
        assert found.sentence
        assert "{" not in found.sentence
        assert found.remedy.strip()


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("duplicate-slug", "in line 3 already"),
        ("review-due", "to be read again by 2026-05-31, 1 day ago"),
        ("index-too-big", "c (line 5, 52 characters), b (line 4, 44 characters), a (line 3, 27 characters)"),
        ("index-over-share", "over its share of 5"),
        ("repeated-elsewhere", "stands in memory/INDEX.md, line 3, too"),
        ("unknown-provenance", "[guess] is no provenance"),
        ("dangling-note", "notes/gone.md does not exist"),
        ("fact-too-long", "b has 41 characters, over the budget of 40"),
    ],
)
def test_a_sentence_names_what_matters(tmp_path: Path, rule: str, words: str) -> None:
    assert words in " ".join(found.sentence for found in found_in(load(CASES / f"{rule}.txt"), tmp_path))


def test_a_full_log_of_decisions_is_to_be_rolled(tmp_path: Path) -> None:
    (found,) = found_in(load(CASES / "decisions-too-big.txt"), tmp_path)
    assert "log/decisions/YYYY-MM.md" in found.remedy


def test_an_unknown_provenance_names_those_that_are_known(tmp_path: Path) -> None:
    found = found_in(load(CASES / "unknown-provenance.txt"), tmp_path)
    assert "will, measured, derived, Ann" in found[0].remedy
