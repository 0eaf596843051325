"""Findings as text: for people, as JSON, as annotations of GitHub, as SARIF 2.1.0. Pure: nothing is printed here.

Text from files of others is shown so that no terminal, annotation or viewer acts on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from apm_hooks.findings import Finding, Level, Rule, in_order
from apm_hooks.injection import show_invisible

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "SRCROOT"
_UNKNOWN = "A rule of a plugin."


@dataclass(frozen=True, slots=True)
class Section:
    """Findings that are shown together, below one heading; `facts` are further words about them, for people and JSON
    alike: whole numbers by name."""

    name: str
    findings: tuple[Finding, ...]
    facts: tuple[tuple[str, int], ...] = ()


def at_least(sections: Iterable[Section], level: Level) -> tuple[Section, ...]:
    """The sections with the findings that reach a level, in order."""
    return tuple(
        Section(
            section.name, in_order(found for found in section.findings if found.level.reaches(level)), section.facts
        )
        for section in sections
    )


def counts(findings: Iterable[Finding]) -> dict[str, int]:
    """How many findings there are of each level, the gravest level first."""
    told = dict.fromkeys((Level.ERROR.value, Level.WARNING.value, Level.NOTE.value), 0)
    for found in findings:
        told[found.level.value] += 1
    return told


def human(sections: Sequence[Section]) -> str:
    """For a terminal: a heading for each section with findings, a line for each finding and one for what to do.

    Empty where there is no finding.
    """
    blocks = []
    for section in sections:
        if not section.findings:
            continue
        lines = [show_invisible(section.name)]
        for found in section.findings:
            lines.append(f"  {_place(found)}: {found.level.value}: {_shown(found.sentence)} [{_shown(found.rule)}]")
            if found.remedy:
                lines.append(f"      {_shown(found.remedy)}")
        blocks.append("\n".join(lines))
    if not blocks:
        return ""
    return "\n\n".join(blocks) + f"\n\n{summary(found for section in sections for found in section.findings)}"


def summary(findings: Iterable[Finding]) -> str:
    """How many findings there are, in words."""
    told = [f"{number} {name}{'' if number == 1 else 's'}" for name, number in counts(findings).items() if number]
    return ", ".join(told) or "no findings"


def _place(found: Finding) -> str:
    line = f":{found.line}" if found.line else ""
    column = f":{found.column}" if found.line and found.column else ""
    return f"{_shown(found.path)}{line}{column}"


def _shown(text: str) -> str:
    return " ".join(show_invisible(text).split())


def as_dict(found: Finding) -> dict[str, object]:
    """A finding as JSON has it; line and column are null where it is about the whole."""
    return {
        "rule": found.rule, "level": found.level.value, "path": found.path, "line": found.line or None,
        "column": found.column or None, "sentence": found.sentence, "remedy": found.remedy or None,
    }  # fmt: skip


def document(sections: Sequence[Section]) -> dict[str, Any]:
    """What `--format json` prints: `sections` (`name`, its facts, `findings`) and `counts` by level."""
    return {
        "sections": [
            {"name": section.name, **dict(section.facts), "findings": [as_dict(found) for found in section.findings]}
            for section in sections
        ],
        "counts": counts(found for section in sections for found in section.findings),
    }


def github(sections: Sequence[Section], *, prefix: str = "") -> str:
    """Workflow commands that GitHub shows beside the lines; `prefix` leads from the repository to the workspace."""
    lines = []
    for found in _all(sections):
        command = {Level.ERROR: "error", Level.WARNING: "warning", Level.NOTE: "notice"}[found.level]
        properties = [("file", f"{prefix}{found.path}")]
        if found.line:
            properties += [("line", str(found.line)), *([("col", str(found.column))] if found.column else [])]
        properties.append(("title", found.rule))
        told = ",".join(f"{name}={_property(value)}" for name, value in properties)
        lines.append(f"::{command} {told}::{_data(' '.join(part for part in (found.sentence, found.remedy) if part))}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return show_invisible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _all(sections: Sequence[Section]) -> list[Finding]:
    """The findings of all sections in one order, each once: two scopes may tell of one file."""
    return list(in_order(found for section in sections for found in section.findings))


def sarif(
    sections: Sequence[Section], rules: Mapping[str, Rule], *, tool: str, version: str, prefix: str = ""
) -> dict[str, Any]:
    """A SARIF 2.1.0 log with one run. `rules` describe the rules that are ours; others are named as a plugin's."""
    findings = _all(sections)
    used = sorted({found.rule for found in findings})
    place = {rule: at for at, rule in enumerate(used)}
    seen: dict[str, int] = {}
    results = [_result(found, place[found.rule], seen, prefix) for found in findings]
    return {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": tool, "version": version, "rules": [_descriptor(rule, rules, findings) for rule in used],
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
            "results": results,
        }],
    }  # fmt: skip


def _descriptor(rule: str, rules: Mapping[str, Rule], findings: Sequence[Finding]) -> dict[str, Any]:
    known = rules.get(rule)
    level = known.level if known else next(found.level for found in findings if found.rule == rule)
    return {
        "id": rule,
        "shortDescription": {"text": known.summary if known else _UNKNOWN},
        "defaultConfiguration": {"level": level.value},
    }


def _result(found: Finding, index: int, seen: dict[str, int], prefix: str) -> dict[str, Any]:
    message = " ".join(part for part in (found.sentence, found.remedy) if part)
    location: dict[str, Any] = {
        "artifactLocation": {"uri": quote(_encodable(f"{prefix}{found.path}"), safe="/"), "uriBaseId": _ROOT}
    }
    if found.line:
        location["region"] = {"startLine": found.line, **({"startColumn": found.column} if found.column else {})}
    return {
        "ruleId": found.rule,
        "ruleIndex": index,
        "level": found.level.value,
        "message": {"text": show_invisible(message)},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"apmHooks/v1": _fingerprint(found, seen)},
    }


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _fingerprint(found: Finding, seen: dict[str, int]) -> str:
    """What makes one finding the same in two runs: its rule, file and words, not its line, which moves."""
    from hashlib import sha256

    text = "\0".join((found.rule, found.path, found.sentence))
    number = seen[text] = seen.get(text, 0) + 1
    return sha256(f"{text}\0{number}".encode("utf-8", "backslashreplace")).hexdigest()
