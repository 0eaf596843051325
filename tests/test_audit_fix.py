"""What is mended in an index by itself, and that nothing else of it changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.audit_fix import mends
from apm_hooks.index import parse_index
from apm_hooks.records import DM, Scope, ScopeKind
from tests.test_linear import growth

ALPHA = Scope(ScopeKind.GROUP, "alpha")
HEAD = [
    "---",
    "group_name: alpha",
    "---",
    "## Hard Rules",
    "- brief",
    "",
    "| scenario | file | priority |",
    "|---|---|---|",
]


def mended(*rows: str, scope: Scope = ALPHA, head: list[str] = HEAD) -> list[str]:
    """The rows as they are after all mends."""
    lines = [*head, *rows]
    for mend in mends(lines, scope):
        lines[mend.line - 1] = mend.text
    assert lines[: len(head)] == head or head is not HEAD
    return lines[len(head) :]


@pytest.mark.parametrize(
    ("row", "after"),
    [
        ("| a | project.md | p1 |", "| a | project.md | P1 |"),
        ("| a | project.md | Ｐ１ |", "| a | project.md | P1 |"),
        ("| a | project.md | **p1** |", "| a | project.md | **P1** |"),
        ("| a | project.md |  0  |", "| a | project.md |  P0  |"),
        ("| a | project.md | ３ |", "| a | project.md | P3 |"),
        ("| a | conventions/x.md | p2-l3 |", "| a | conventions/x.md | P2-L3 |"),
        ("| a | conventions/x.md | p2/L3 |", "| a | conventions/x.md | P2-L3 |"),
        ("| a | ./project.md | P1 |", "| a | project.md | P1 |"),
        ("| a | `././project.md` | P1 |", "| a | `project.md` | P1 |"),
        ("| a | [x](./project.md) | P1 |", "| a | [x](project.md) | P1 |"),
        ("| a | ./project.md | p1 |", "| a | project.md | P1 |"),
        (r"| a \| b | ./project.md | 1 |", r"| a \| b | project.md | P1 |"),
        ("a | ./project.md | p1", "a | project.md | P1"),
    ],
)
def test_what_means_one_thing_only_is_mended(row: str, after: str) -> None:
    assert mended(row) == [after]
    assert mended(after) == [after]


@pytest.mark.parametrize(
    "row",
    [
        "| a | project.md | P1 |",
        "| a | project.md | high |",
        "| a | project.md | P1 or P2 |",
        "| a | project.md | 4 |",
        "| a | project.md | 10 |",
        "| a | project.md |  |",
        "| a | conventions/x.md | 2 |",
        "| a | ../project.md | P1 |",
        "| a | .hidden/x.md | P1 |",
        "| a | ./ | P1 |",
        "| a [DEPRECATED] | ./project.md | p1 |",
        "| a | project.md | p1 <!-- later --> |",
        "| p1 | ./ project.md | P1 |",
    ],
)
def test_what_may_mean_something_else_is_not(row: str) -> None:
    assert mended(row) == [row]


def test_a_digit_in_a_table_without_a_priority_column_stays() -> None:
    head = ["| scenario | file | number |", "|---|---|---|"]
    assert mended("| a | project.md | 1 |", head=head) == ["| a | project.md | 1 |"]


def test_keys_get_small_letters_unless_another_one_is_there() -> None:
    lines = ["---", "Group_Name: alpha", "MEMORY_BUDGET:  5000", "Kept_By: hand", "---", "text"]
    assert [(mend.line, mend.text, mend.rule) for mend in mends(lines, ALPHA)] == [
        (2, "group_name: alpha", "key-case"), (3, "memory_budget:  5000", "key-case"),
    ]  # fmt: skip
    assert mends(["---", "memory_budget: 1", "Memory_Budget: 2", "---"], ALPHA) == ()


def test_what_stands_in_a_fence_stays() -> None:
    assert mends(["```", *HEAD[6:], "| a | ./project.md | p1 |", "```"], ALPHA) == ()


cells = st.sampled_from(["a", "b, c", "project.md", "./project.md", "`./x.md`", "p0", "P1", "1", "2", "P2-L3", "p2-l3",
                         "", "[x](./y.md)", "conventions/x.md", "[DEPRECATED]", "*", "\\|", "`p0`"])  # fmt: skip
rows = st.lists(cells, min_size=2, max_size=4).map(lambda row: "| " + " | ".join(row) + " |")
heads = st.sampled_from([HEAD, HEAD[6:], ["---", "Memory_Budget: 5", "---", *HEAD[6:]]])


lines_of_text = st.text(max_size=30).filter(lambda text: "\n" not in text and "\r" not in text)


@given(heads, st.lists(rows | lines_of_text, max_size=6), st.sampled_from([ALPHA, DM]))
@settings(max_examples=300)
def test_a_mended_index_says_the_same_and_needs_no_mend(head: list[str], given_: list[str], scope: Scope) -> None:
    lines = [*head, *given_]
    before = parse_index("\n".join(lines), scope)
    for mend in mends(lines, scope):
        lines[mend.line - 1] = mend.text
    after = parse_index("\n".join(lines), scope)
    assert [(route.path, route.scenarios, route.deprecated, route.sub_file) for route in before.routes] == [
        (route.path, route.scenarios, route.deprecated, route.sub_file) for route in after.routes
    ]
    assert before.hard_rules == after.hard_rules
    assert mends(lines, scope) == ()


@pytest.mark.parametrize("unit", ["| a | ./b.md | p1 |\n", "| a | ./b.md | 1 ", "a|", "Group_Name: x\n"])
def test_twice_the_index_costs_twice_the_time(unit: str) -> None:
    head = "---\n" if unit[0] == "G" else "| scenario | file | priority |\n|---|---|---|\n| a "

    def sized(size: int) -> Callable[[], object]:
        lines = (head + unit * (size // len(unit))).split("\n")
        return lambda: mends(lines, ALPHA)

    assert growth(sized, 10_000) <= 3.2
