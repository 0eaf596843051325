"""docs/rules.md names only what exists, and every test that was written for it."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import apm_hooks

PACKAGE = Path(apm_hooks.__file__).parent
TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "rules.md"
HEADER = "| rule | held by | fails without it |"


def rows() -> list[tuple[str, str, str, str]]:
    """Section, rule, holders, tests of each row."""
    found = []
    for section in re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        lines = body.strip().split("\n")
        assert lines[:2] == [HEADER, "|---|---|---|"], title
        for line in lines[2:]:
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            assert len(cells) == 3, line
            found.append((title, cells[0], cells[1], cells[2]))
    return found


def names(cell: str) -> list[str]:
    """What stands in backticks; a cell of a table holds nothing else."""
    found = re.findall(r"`([^`]+)`", cell)
    assert cell == ", ".join(f"`{name}`" for name in found), cell
    return found


@cache
def functions(file: Path) -> frozenset[str]:
    """The functions of a file, those of its classes as `Class.function`."""
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return frozenset(found)


def is_function(name: str) -> bool:
    """Whether `module.function` or `module.Class.function` is in the package."""
    parts = name.split(".")
    modules = [(PACKAGE.joinpath(*parts[:at]).with_suffix(".py"), parts[at:]) for at in range(1, len(parts))]
    return any(file.is_file() and ".".join(rest) in functions(file) for file, rest in modules)


@pytest.mark.parametrize(("section", "rule", "holders", "tests"), rows(), ids=lambda text: text[:40])
def test_a_rule_names_code_and_tests_that_exist(section: str, rule: str, holders: str, tests: str) -> None:
    assert rule.endswith("."), section
    assert names(holders)
    for name in names(holders):
        assert is_function(name), f"{section}: there is no {name}"
    assert names(tests)
    for test in names(tests):
        file, _, name = test.partition("::")
        assert name.startswith("test_")
        assert (TESTS / file).is_file(), f"{section}: there is no {file}"
        assert name in functions(TESTS / file), f"{section}: there is no {test}"


def test_every_section_has_its_rules_and_none_twice() -> None:
    sections = [int(section.split(".")[0]) for section, *_ in rows()]
    assert sorted(set(sections)) == [2, 3, 4, 5, 6, 7, 8, 9, 10]
    told = [(section, rule) for section, rule, _, _ in rows()]
    assert len(told) == len(set(told))


def test_every_test_that_was_written_for_a_rule_is_named() -> None:
    named = {test for *_, tests in rows() for test in names(tests)}
    written = {f"{file.name}::{name}" for file in TESTS.glob("test_rules_*.py") for name in functions(file)
               if name.startswith("test_")}  # fmt: skip
    assert written
    assert written <= named
