"""The audit on labelled workspaces of the shapes that real memory has: what it must tell, and what it must not."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from apm_hooks.audit import RULES


@cache
def benchmark() -> ModuleType:
    """`benchmarks/audit.py`, which reads the corpus."""
    path = Path(__file__).parent.parent / "benchmarks" / "audit.py"
    spec = importlib.util.spec_from_file_location("audit_benchmark", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["audit_benchmark"] = module
    spec.loader.exec_module(module)
    return module


def test_the_corpus_is_large_and_has_both_halves_and_all_scripts() -> None:
    workspaces = benchmark().load_corpus()
    assert sum(len(workspace.files) for workspace in workspaces) >= 60
    assert sum(len(workspace.labels) for workspace in workspaces) >= 200
    assert {workspace.half for workspace in workspaces} == set(benchmark().HALVES)
    for language in ("en", "zh", "ja", "ko", "clean"):
        assert {each.half for each in workspaces if each.name.startswith(language)} == set(benchmark().HALVES)


def test_every_label_is_a_rule_on_a_line_that_is_there() -> None:
    for workspace in benchmark().load_corpus():
        for path, line, rule in workspace.labels:
            assert rule in RULES
            assert not line or line <= workspace.files[path].count("\n"), (workspace.name, path, line)


@cache
def tallied() -> dict[str, dict[str, tuple[int, int, int]]]:
    """What was rightly told, wrongly told and missed, by half and rule."""
    counts: dict[str, dict[str, tuple[int, int, int]]] = benchmark().tally(benchmark().load_corpus())
    return counts


CLEAN = [each for each in benchmark().load_corpus() if each.half == "dev" and each.name.startswith("clean")]


@pytest.mark.parametrize("workspace", CLEAN, ids=lambda workspace: workspace.name)
def test_a_clean_workspace_is_silent(workspace: Any) -> None:
    assert not workspace.labels
    assert benchmark().findings_of(workspace) == frozenset()


def test_precision_and_recall_reach_their_targets() -> None:
    counts = tallied()
    assert benchmark().missed_targets(counts) == []
    assert counts["dev"]["all"][0] >= 200


def test_what_is_wrong_with_an_index_or_a_name_is_always_told() -> None:
    prose = {
        "project-progress",
        "event-narrative",
        "tool-list",
        "group-name",
        "sample-result",
        "temporary-fix",
        "secret",
    }
    counts = tallied()
    for half in benchmark().HALVES:
        for rule, row in counts[half].items():
            if rule not in prose | {"all"}:
                assert row[1:] == (0, 0), (half, rule)
