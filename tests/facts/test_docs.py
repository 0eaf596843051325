"""What the page on the fact index says is what the code says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from apm_hooks.facts.config import BUDGET_KEYS, ORG
from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.members import read_members
from apm_hooks.facts.model import BUDGETS
from apm_hooks.facts.rules import REVIEW_ERROR_DAYS, RULES
from apm_hooks.findings import Level
from apm_hooks.writeback import template
from tests.facts.memories import lay_out

PAGE = (Path(__file__).parents[2] / "docs" / "facts.md").read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_table_has_every_rule_in_order_with_its_level() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\w+)(.*?) \|", PAGE, re.MULTILINE)
    assert [(rule, Level(level)) for rule, level, _ in rows] == [(rule.id, rule.level) for rule in RULES.values()]
    assert {rule: more for rule, _, more in rows if more} == {"review-due": f", error from {REVIEW_ERROR_DAYS} days on"}


def test_the_settings_that_are_shown_are_taken(tmp_path: Path) -> None:
    (shown,) = blocks("toml")
    (member,) = read_members(str(lay_out(tmp_path, {"apm.toml": shown}))).members
    table = tomllib.loads(shown)["facts"]
    assert set(BUDGET_KEYS) <= set(table)
    assert (member.budgets.max_fact_chars, member.budgets.max_index_kb) == (
        BUDGETS.max_fact_chars,
        BUDGETS.max_index_kb,
    )
    assert member.budgets.max_decisions_kb == BUDGETS.max_decisions_kb
    assert "boss" in member.words


def test_the_organisation_that_is_shown_is_taken(tmp_path: Path) -> None:
    (shown,) = [text for text in blocks("yaml") if "staff" in yaml.safe_load(text)]
    found = read_members(str(lay_out(tmp_path, {ORG: shown})))
    assert [(each.handle, each.dir) for each in found.members] == [("cto", "staff/cto"), ("ops", "ops")]


def test_the_grammar_is_shown_as_an_example_and_not_as_a_fact() -> None:
    shown = next(text for text in blocks("") if text.startswith("- **"))
    assert [miss.line for miss in parse_facts(shown).misses] == [1]


@pytest.mark.parametrize("rule", re.findall(r"^\d\. .*$", template("facts.agents.md"), re.MULTILINE))
def test_the_five_rules_stand_there_as_agents_are_told_them(rule: str) -> None:
    def plain(text: str) -> str:
        return " ".join(text.replace("`", "").replace("memory/notes/", "notes/").split())

    assert plain(rule) in plain(PAGE)
