"""Findings as text: what a person, a program, GitHub and a SARIF viewer are given."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks.findings import Finding, Level, Rule
from apm_hooks.reports import Section, as_dict, at_least, counts, document, github, human, sarif, summary

ERROR = Finding("missing-file", Level.ERROR, "memory/groups/研发 群.md", 14, 3, "It leads to nothing.", "Mend it.")
NOTE = Finding("tidy/tabs", Level.NOTE, "a:b#c.md", 0, 0, "50% done,\nreally:", "")
WARNING = Finding("odd", Level.WARNING, "MEMORY.md", 2, 0, "A \x1b[31mred\u202e line.", "Mend it.")
SECTIONS = (
    Section("DM", (WARNING, NOTE), (("files", 2), ("tokens", 9))),
    Section("Group(研发 群)", (ERROR,)),
    Section("x", ()),
)
RULES = {"missing-file": Rule("missing-file", Level.ERROR, "A row names a file that exists.")}

texts = st.text(max_size=20)
some = st.lists(
    st.builds(Finding, texts, st.sampled_from(Level), texts, st.integers(0, 9), st.integers(0, 9), texts, texts),
    max_size=4,
)


def test_for_people() -> None:
    assert human(SECTIONS).split("\n") == [
        "DM",
        "  MEMORY.md:2: warning: A <U+001B>[31mred<U+202E> line. [odd]",
        "      Mend it.",
        "  a:b#c.md: note: 50% done, really: [tidy/tabs]",
        "",
        "Group(研发 群)",
        "  memory/groups/研发 群.md:14:3: error: It leads to nothing. [missing-file]",
        "      Mend it.",
        "",
        "1 error, 1 warning, 1 note",
    ]
    assert human((Section("x", ()),)) == ""


def test_counts_and_their_words() -> None:
    assert counts((ERROR, ERROR, NOTE)) == {"error": 2, "warning": 0, "note": 1}
    assert summary((ERROR, ERROR, NOTE)) == "2 errors, 1 note"
    assert summary(()) == "no findings"


def test_a_level_leaves_out_what_is_below_and_keeps_the_sections() -> None:
    kept = at_least(SECTIONS, Level.WARNING)
    assert [(section.name, section.findings) for section in kept] == [
        ("DM", (WARNING,)), ("Group(研发 群)", (ERROR,)), ("x", ()),
    ]  # fmt: skip
    assert at_least(SECTIONS, Level.NOTE)[0].findings == (WARNING, NOTE)


def test_as_json() -> None:
    told = document(SECTIONS)
    assert json.loads(json.dumps(told)) == told
    assert told["counts"] == {"error": 1, "warning": 1, "note": 1}
    assert told["sections"][0]["files"] == 2
    assert told["sections"][1]["findings"] == [as_dict(ERROR)] == [{
        "rule": "missing-file", "level": "error", "path": "memory/groups/研发 群.md", "line": 14, "column": 3,
        "sentence": "It leads to nothing.", "remedy": "Mend it.",
    }]  # fmt: skip
    assert told["sections"][0]["findings"][1]["line"] is None


def test_as_annotations_of_github() -> None:
    assert github(SECTIONS, prefix="bot/").split("\n") == [
        "::warning file=bot/MEMORY.md,line=2,title=odd::A <U+001B>[31mred<U+202E> line. Mend it.",
        "::notice file=bot/a%3Ab#c.md,title=tidy/tabs::50%25 done,%0Areally:",
        "::error file=bot/memory/groups/研发 群.md,line=14,col=3,title=missing-file::It leads to nothing. Mend it.",
    ]
    assert github(()) == ""


@given(some)
def test_no_finding_can_add_a_command_of_its_own(findings: list[Finding]) -> None:
    told = github((Section("x", tuple(findings)),))
    lines = told.split("\n") if told else []
    assert len(lines) == len(set(findings))
    assert all(
        re.match(r"::(error|warning|notice) file=[^,:]*(,line=\d+)?(,col=\d+)?,title=[^,:]*::", line) for line in lines
    )
    assert "\r" not in told


def log(*findings: Finding, prefix: str = "") -> dict[str, Any]:
    told = sarif((Section("x", findings),), RULES, tool="apm-hooks", version="1.0", prefix=prefix)
    assert json.loads(json.dumps(told)) == told
    return told


def test_as_sarif() -> None:
    told = log(ERROR, NOTE, WARNING, prefix="bot/")
    assert told["version"] == "2.1.0"
    assert told["$schema"].endswith("sarif-2.1.0.json")
    (run,) = told["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("apm-hooks", "1.0")
    assert [rule["id"] for rule in driver["rules"]] == ["missing-file", "odd", "tidy/tabs"]
    assert driver["rules"][0] == {
        "id": "missing-file", "shortDescription": {"text": "A row names a file that exists."},
        "defaultConfiguration": {"level": "error"},
    }  # fmt: skip
    assert run["columnKind"] == "unicodeCodePoints"
    assert [result["ruleId"] for result in run["results"]] == ["odd", "tidy/tabs", "missing-file"]
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note")
        assert result["message"]["text"]
        assert re.fullmatch("[0-9a-f]{64}", result["partialFingerprints"]["apmHooks/v1"])
        assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uriBaseId"] in run["originalUriBaseIds"]
    places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
    assert [place["artifactLocation"]["uri"] for place in places] == [
        "bot/MEMORY.md", "bot/a%3Ab%23c.md", "bot/memory/groups/%E7%A0%94%E5%8F%91%20%E7%BE%A4.md",
    ]  # fmt: skip
    assert [place.get("region") for place in places] == [{"startLine": 2}, None, {"startLine": 14, "startColumn": 3}]


def test_a_clean_log_has_a_run_without_results() -> None:
    (run,) = log()["runs"]
    assert run["results"] == [] and run["tool"]["driver"]["rules"] == []


def fingerprints(*findings: Finding) -> list[str]:
    return [result["partialFingerprints"]["apmHooks/v1"] for result in log(*findings)["runs"][0]["results"]]


def test_a_finding_keeps_its_fingerprint_when_its_line_moves() -> None:
    moved = Finding(ERROR.rule, ERROR.level, ERROR.path, 99, 1, ERROR.sentence, "Other words.")
    other = Finding(ERROR.rule, ERROR.level, "other.md", 14, 3, ERROR.sentence)
    assert fingerprints(ERROR) == fingerprints(moved) != fingerprints(other)
    assert len(set(fingerprints(ERROR, moved))) == 2


@given(some)
def test_every_log_is_json_that_holds_all_findings(findings: list[Finding]) -> None:
    assert len(log(*findings)["runs"][0]["results"]) == len(set(findings))


@pytest.mark.parametrize("show", [human, github])
@given(some)
def test_nothing_reaches_the_terminal_that_it_would_act_on(show: Any, findings: list[Finding]) -> None:
    told = show((Section("x", tuple(findings)),))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", told)
