"""Parser and linter cost as much more as there is more to read: ten times the text is no hundred times the time."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from apm_hooks.facts.draft import draft
from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.lint import Checks, lint
from apm_hooks.facts.model import Memory, Note
from tests.facts.memories import GOOD, TODAY

CHECKS = Checks(TODAY)
HEAD, TAIL = "- **`a`** · [measured] ", " **So:** x. · [note](notes/a.md)\n"
LINES = {
    "facts": f"{GOOD}\n", "duplicates with a note": f"{HEAD}x{TAIL}", "near misses": "* **`a`** · x. **So:** y.\n",
    "prose": "A word, and one more.\n", "sections": "## x\n", "fences": "```\nx\n```\n", "open fences": "```\nx\n~~~\n",
    "references": "- **`a`** · [[x]] **So:** [[y]].\n", "brackets": "- **`a`** · [x\n", "quotations": "> > - x\n",
}  # fmt: skip
UNITS = ("`a` ", "`", "``` ", "**So:** ", "So: ", "**", "_s", "[note](", "[note](notes/a.md) · ", "](", "](notes/a",
         "[[", "[[a]]", "(", "1 of ", "111 ", "n=1 ", "2026-05-0", "1 May ", "review: 2", "updated (", " · ", "研。",
         ". ", "\u200b", " ", "\t", "<", "%2e/", "a.")  # fmt: skip


def cost(work: Callable[[], object]) -> float:
    times = []
    for _ in range(2):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def grows_as_its_input(work: Callable[[int], object], size: int) -> bool:
    """Whether ten times the size costs less than 30 times the time; a machine that is busy gets a second look."""
    few, many = (lambda: work(size)), (lambda: work(10 * size))
    return any(cost(many) < max(30 * cost(few), 0.15) for _ in range(2))


def look(text: str) -> None:
    memory = Memory(text, len(text), {"a.md": Note("a.md", text)}, text, len(text), text)
    lint(memory, CHECKS, parse_facts(text))


@pytest.mark.parametrize("shape", LINES)
def test_many_lines(shape: str) -> None:
    assert grows_as_its_input(lambda size: look(LINES[shape] * size), 150)


@pytest.mark.parametrize("unit", UNITS)
def test_one_long_line(unit: str) -> None:
    assert grows_as_its_input(lambda size: look(HEAD + unit * (size // len(unit)) + TAIL), 3_000)


@pytest.mark.parametrize("unit", ["- a\n", "- a b\n", "# a\n", "```\n", "x\n", "So: ", "[note](", "a ", "研"])
def test_drafts(unit: str) -> None:
    assert grows_as_its_input(lambda size: draft(unit * size), 200)


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    """`benchmarks/facts.py`."""
    path = Path(__file__).parents[2] / "benchmarks" / "facts.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_facts", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_benchmark_measures_facts_and_findings(benchmark: ModuleType) -> None:
    memory = benchmark.memory_of(200)
    index = parse_facts(memory.index)
    assert (len(index.facts), index.misses) == (200, ())
    found = {each.rule for each in lint(memory, CHECKS, index)}
    assert found == {"measured-without-n", "measured-without-date", "index-too-big"}
