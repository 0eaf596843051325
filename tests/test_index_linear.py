"""The cost of an index grows as its length does: counted in executed lines, a figure that never varies."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from apm_hooks import cells, index, tables
from apm_hooks.index import parse_index
from apm_hooks.records import LIMITS, Scope, ScopeKind

GROUP = Scope(ScopeKind.GROUP, "ops")
FILES = {module.__file__ for module in (cells, index, tables)}
HEAD = "| Scenario | File | Priority |\n|---|---|---|\n"


def executed_lines(text: str) -> int:
    """How many lines of the grammar's modules run while the text is parsed."""
    count = 0

    def in_frame(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return in_frame

    def on_call(frame: FrameType, event: str, arg: Any) -> Any:
        return in_frame if frame.f_code.co_filename in FILES else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        parse_index(text, GROUP)
    finally:
        sys.settrace(before)
    return count


def runs(size: int) -> str:
    """Runs of backticks of which no two are equally long, in about `size` characters."""
    lengths: list[int] = []
    while sum(lengths) + len(lengths) < size:
        lengths.append(len(lengths) + 1)
    return " ".join("`" * length for length in lengths)


SHAPES: dict[str, Callable[[int], str]] = {
    "prose": lambda n: "a word, and one more\n" * (n // 20),
    "rows": lambda n: HEAD + "| a, b | `notes.md` | P1 |\n" * (n // 26),
    "ragged rows of a wide table": lambda n: "a|" * 100 + "\n" + "-|" * 100 + "\nx" * (n // 2),
    "header without end": lambda n: "a|" * (n // 2) + "\n" + "-|" * (n // 2) + "\n" + "b|" * (n // 2),
    "headers only": lambda n: "a|b\n-|-\n\n" * (n // 9),
    "delimiters only": lambda n: "-|-\n" * (n // 4),
    "rules": lambda n: "---\n" * (n // 4),
    "one long rule": lambda n: "-" * n,
    "unclosed frontmatter": lambda n: "---\n" + "a: b\n" * (n // 5),
    "doubled keys": lambda n: "---\n" + "a: b\n" * (n // 5) + "---\n",
    "hard rules": lambda n: "## Hard Rules\n" + "- rule\n" * (n // 7),
    "hard rule headings": lambda n: "## Hard Rules\n- rule\n" * (n // 21),
    "one rule that goes on": lambda n: "## Hard Rules\n- rule\n" + "more\n" * (n // 5),
    "underlined lines": lambda n: "\nab\n==\n" * (n // 7),
    "pipes": lambda n: HEAD + "|" * n,
    "escaped pipes": lambda n: HEAD + "|" + "\\|" * (n // 2),
    "backticks": lambda n: HEAD + "| " + "`" * n + " | notes.md |",
    "single backticks": lambda n: HEAD + "| " + "` " * (n // 2) + " | " + "` " * (n // 2) + " |",
    "unmatched backticks": lambda n: HEAD + "| " + runs(n) + " | notes.md |",
    "comments opened": lambda n: "x <!-- " * (n // 7),
    "comments opened, line by line": lambda n: "x <!--\n" * (n // 7) + "-->",
    "comments in code": lambda n: "`<!--` " * (n // 7) + "\n-->",
    "comments": lambda n: "<!---->" * (n // 7),
    "comment closes": lambda n: "-->\n" * (n // 4),
    "fences": lambda n: "```\n" * (n // 4),
    "ever longer fences": lambda n: runs(n).replace(" ", "\n"),
    "brackets": lambda n: HEAD + "| a | " + "[" * n + " |",
    "link middles": lambda n: HEAD + "| a | " + "](" * (n // 2) + " |",
    "links that never close": lambda n: HEAD + "| a | " + "[a](" * (n // 4) + " |",
    "links": lambda n: HEAD + "| a | " + "[a](b.md)" * (n // 9) + " |",
    "percent signs": lambda n: HEAD + "| a | [a](" + "%2e" * (n // 3) + ") |",
    "separators": lambda n: HEAD + "| " + "a,`b`;" * (n // 6) + " | notes.md |",
    "files": lambda n: HEAD + "| a | " + "a.md," * (n // 5) + " |",
    "deprecated": lambda n: HEAD + "| " + "[DEPRECATED" * (n // 11) + " | notes.md |",
    "priorities": lambda n: HEAD + "| a | notes.md | " + "P2-" * (n // 3) + " |",
    "quotes": lambda n: "## Hard Rules\n" + ">" * n + " a",
    "hashes": lambda n: "#" * n,
    "conflicts": lambda n: "<<<<<<< a\n=======\n>>>>>>> b\n" * (n // 28),
    "marks that combine": lambda n: "| " + "a\u0301\u0323" * (n // 3) + " | b |\n|-|-|\n",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_text_costs_at_most_twice_the_steps(shape: str) -> None:
    size = 6_000
    once, twice = executed_lines(SHAPES[shape](size)), executed_lines(SHAPES[shape](2 * size))
    assert twice <= 2.1 * once + 50


def test_the_count_sees_a_cost_that_is_not_linear(monkeypatch: pytest.MonkeyPatch) -> None:
    def never_gives_up(cell: str) -> list[str]:
        at = 0
        while (at := cell.find("](", at) + 2) > 1:
            cells._closing(cell, at)
        return []

    monkeypatch.setattr(cells, "_link_targets", never_gives_up)
    shape = SHAPES["links that never close"]
    assert executed_lines(shape(1_200)) > 3 * executed_lines(shape(600))


def test_the_longest_line_and_more_rows_than_the_limit_stay_within_bounds() -> None:
    text = HEAD + "| " + "`a` , " * (LIMITS.line_chars // 6 - 10) + " | notes.md |\n" + "| a | b.md |\n" * 100
    assert executed_lines(text) <= 16 * len(text)
