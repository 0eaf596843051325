"""Rows of a routing table: added in its own columns, retired by a mark, never removed or reworded."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from apm_hooks.errors import ApmError, MemoryFileError, NameRefusedError, UsageError
from apm_hooks.index import parse_index
from apm_hooks.rawlines import apply_edits
from apm_hooks.records import DM, LIMITS, Route, Scope, ScopeKind
from apm_hooks.routerows import HEADER, MARK, add_row, keeps_rows, retire_rows
from apm_hooks.writeback import template

ALPHA = Scope(ScopeKind.GROUP, "alpha")
INDEX = template("group/index.md").replace("{name}", "alpha").split("\n")[:-1]
PLAIN = ["| scenario | file | priority |", "|---|---|---|", "| tasks, todo | attention.md | P0 |"]


def with_row(lines: Sequence[str], scenario: str, file: str, priority: str = "") -> list[str]:
    return apply_edits(lines, add_row(lines, ALPHA, scenario, file, priority))


def retired(lines: Sequence[str], what: str) -> list[str]:
    return apply_edits(lines, retire_rows(lines, ALPHA, what))


def routes(lines: Sequence[str]) -> tuple[Route, ...]:
    return parse_index("\n".join(lines), ALPHA).routes


@pytest.mark.parametrize(
    ("lines", "arguments", "row"),
    [
        pytest.param(INDEX, ("on call", "oncall.md"), "| on call | oncall.md | P2 |", id="the standard columns"),
        pytest.param(INDEX, ("who", "people.md"), "| who | people.md | P3 |", id="the file's own priority"),
        pytest.param(INDEX, ("on call", "conventions/a.md"), "| on call | conventions/a.md | P2-L3 |", id="a sub-file"),
        pytest.param(INDEX, ("x", "a.md", "P0"), "| x | a.md | P0 |", id="a priority"),
        pytest.param(INDEX, ("a|b", "x.md"), r"| a\|b | x.md | P2 |", id="a pipe"),
        pytest.param(INDEX, ("a\\|b", "x.md"), r"| a\\|b | x.md | P2 |", id="a backslash and a pipe"),
        pytest.param(INDEX, ("- a", "x.md"), "| - a | x.md | P2 |", id="what would start a list"),
        pytest.param(INDEX, ("a", "b, c.md"), "| a | b, c.md | P2 |", id="a comma in a file's name"),
        pytest.param(INDEX, ("a", "b.md, c.md"), "| a | `b.md, c.md` | P2 |", id="a name that looks like two"),
        pytest.param(INDEX, ("a", "memory/groups/alpha/x.md"), "| a | x.md | P2 |", id="a path from the workspace"),
        pytest.param(
            ["|文件|备注|场景|", "|-|-|-|", "| `a.md` | hm | foo |"],
            ("x", "b.md"),
            "| `b.md` |  | x |",
            id="other columns",
        ),
        pytest.param(
            ["  a | file | when", "  -|-|-", "  x | a.md | y"], ("z", "b.md"), "  |  | b.md | z |", id="indented"
        ),
        pytest.param(["| scenario | file |", "|---|---|"], ("x", "b.md"), "| x | b.md |", id="a table without rows"),
    ],
)
def test_a_row_is_added_in_the_tables_own_columns(lines: list[str], arguments: tuple[str, ...], row: str) -> None:
    after = with_row(lines, *arguments)
    place = routes(after)[-1].line - 1
    assert after[place] == row
    assert after[:place] + after[place + 1 :] == lines
    assert with_row(after, *arguments) == after, "a row that is there already is not doubled"


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ([], ["## Routing", "", *HEADER, "| x | a.md | P2 |"]),
        (["# I", "", "text"], ["# I", "", "text", "", "## Routing", "", *HEADER, "| x | a.md | P2 |"]),
        (["# I", "", "```", "open"], ["# I", "", "## Routing", "", *HEADER, "| x | a.md | P2 |", "", "```", "open"]),
    ],
)
def test_an_index_without_a_table_gets_one(lines: list[str], after: list[str]) -> None:
    assert [line for line in with_row(lines, "x", "a.md") if line] == [line for line in after if line]
    assert [(route.path, route.scenarios) for route in routes(with_row(lines, "x", "a.md"))] == [("a.md", ("x",))]


@pytest.mark.parametrize(
    ("scenario", "there"),
    [("tasks", True), ("todo,  TASKS", True), ("tasks, more", False), ("ｔｏｄｏ", True)],
)
def test_a_row_is_there_where_its_file_has_all_its_scenarios(scenario: str, there: bool) -> None:
    assert (with_row(PLAIN, scenario, "attention.md") == PLAIN) is there
    assert with_row(PLAIN, scenario, "other.md") != PLAIN
    assert with_row(PLAIN, scenario, "attention.md", "P1") != PLAIN, "another priority is another row"


def test_a_retired_row_does_not_count_as_there() -> None:
    after = with_row(retired(PLAIN, "attention.md"), "tasks, todo", "attention.md")
    assert [route.deprecated for route in routes(after)] == [True, False]


@pytest.mark.parametrize(
    "file",
    [
        "../main/index.md",
        "..",
        "a/../../b.md",
        "/etc/passwd",
        "memory/groups/beta/x.md",
        "memory/main/x.md",
        "MEMORY.md",
        "flush-state.json",
        "a\\b.md",
        "C:x.md",
        "~/x.md",
        "．．／x.md",
        "",
        "conventions/",
        "x\0.md",
        "memory/groups/alpha.md",
    ],
)
def test_a_file_outside_the_directory_of_the_scope_is_refused(file: str) -> None:
    with pytest.raises(NameRefusedError, match=r"memory/groups/alpha\.md"):
        add_row(INDEX, ALPHA, "x", file)


@pytest.mark.parametrize("scenario", ["", " ", ",", "a\nb", "x [DEPRECATED]", "a <!-- b", "-"])
def test_a_scenario_that_makes_no_row_is_refused(scenario: str) -> None:
    with pytest.raises(UsageError):
        add_row(INDEX, ALPHA, scenario, "a.md")


@pytest.mark.parametrize("priority", ["P4", "p", "high", "P2-L1", "P0 P1"])
def test_a_priority_that_is_none_is_refused(priority: str) -> None:
    with pytest.raises(UsageError, match="none of P0"):
        add_row(INDEX, ALPHA, "x", "a.md", priority)


def test_a_priority_without_a_column_must_be_the_files_own() -> None:
    lines = ["| scenario | file |", "|---|---|", "| x | a.md |"]
    assert with_row(lines, "y", "b.md", "P2")[-1] == "| y | b.md |"
    with pytest.raises(UsageError, match="no column for a priority"):
        add_row(lines, ALPHA, "y", "b.md", "P0")


def test_a_sub_file_is_a_groups_alone() -> None:
    with pytest.raises(MemoryFileError, match="is read as it is meant"):
        add_row(PLAIN, DM, "x", "conventions/a.md", "P2-L3")


def test_a_row_that_would_hide_in_a_comment_is_refused() -> None:
    lines = [*PLAIN, "| more | b.md | P2 <!--", "-->"]
    with pytest.raises(MemoryFileError, match=r"memory/groups/alpha\.md"):
        add_row(lines, ALPHA, "x", "c.md")


@pytest.mark.parametrize(
    ("row", "marked"),
    [
        ("| tasks | a.md | P0 |", "| [DEPRECATED] tasks | a.md | P0 |"),
        ("|tasks|a.md|P0|", "|[DEPRECATED] tasks|a.md|P0|"),
        ("  | tasks | a.md | P0 |", "  | [DEPRECATED] tasks | a.md | P0 |"),
        ("tasks | a.md | P0", "[DEPRECATED] tasks | a.md | P0"),
        ("| | a.md | P0 |", "| [DEPRECATED] | a.md | P0 |"),
    ],
)
def test_a_row_is_marked_in_its_first_cell(row: str, marked: str) -> None:
    lines = [*PLAIN[:2], row, "| other | b.md | P1 |"]
    assert retired(lines, "a.md") == [*PLAIN[:2], marked, "| other | b.md | P1 |"]
    assert retired(retired(lines, "a.md"), "a.md") == retired(lines, "a.md")


def test_a_file_takes_all_its_rows_along_and_a_scenario_its_own() -> None:
    lines = [*PLAIN, "| news | attention.md | P0 |", "| news | b.md | P1 |", "| alone | c.md | P1 |"]
    assert [route.deprecated for route in routes(retired(lines, "attention.md"))] == [True, True, False, False]
    assert [route.deprecated for route in routes(retired(lines, "todo, tasks"))] == [True, False, False, False]
    assert [route.deprecated for route in routes(retired(lines, "News"))] == [False, True, True, False]


def test_one_of_several_scenarios_does_not_retire_the_others() -> None:
    with pytest.raises(UsageError, match="serves other scenarios too: tasks, todo"):
        retire_rows(PLAIN, ALPHA, "todo")


@pytest.mark.parametrize("what", ["nothing.md", "no such scenario", ""])
def test_a_row_that_is_not_there_is_told(what: str) -> None:
    with pytest.raises(UsageError, match="no row"):
        retire_rows(PLAIN, ALPHA, what)


def test_a_row_that_would_not_be_read_with_its_mark_is_left() -> None:
    lines = [*PLAIN, f"| more | b.md | P2 | {'x' * (LIMITS.line_chars - 25)} |"]
    assert [route.path for route in routes(lines)] == ["attention.md", "b.md"]
    with pytest.raises(MemoryFileError, match=r"memory/groups/alpha\.md: the row cannot be marked"):
        retire_rows(lines, ALPHA, "b.md")


def test_an_index_keeps_rows_and_rules_or_it_does_not() -> None:
    assert keeps_rows(INDEX, [*INDEX, "more"], ALPHA)
    assert not keeps_rows(INDEX, [line for line in INDEX if "people.md" not in line], ALPHA)
    assert not keeps_rows(INDEX, [line for line in INDEX if "Nothing of other" not in line], ALPHA)
    assert not keeps_rows(retired(INDEX, "people.md"), INDEX, ALPHA), "a mark is not taken back"


CELLS = st.sampled_from(
    [
        "a",
        "tasks, todo",
        "`x.md`",
        "attention.md",
        "b.md",
        "../x.md",
        "P0",
        "P9",
        "",
        "[DEPRECATED]",
        "<!-- c -->",
        "日本",
        "x\\|y",
        "- i",
        "*",
    ]
)
ROWS = st.lists(st.lists(CELLS, min_size=1, max_size=4).map(lambda cells: f"| {' | '.join(cells)} |"), max_size=5)
HEADS = st.sampled_from(
    [list(HEADER), ["a | file | when", "-|-|-"], ["|文件|场景|", "|-|-|"], ["| x | y | z |", "|-|-|-|"], []]
)
AROUND = st.lists(
    st.sampled_from(["", "text", "# H", "## Hard Rules", "- rule", "```", "<!--", "-->", "<<<<<<< x"]), max_size=4
)


@st.composite
def indexes(draw: st.DrawFn) -> list[str]:
    return [*draw(AROUND), "", *draw(HEADS), *draw(ROWS), *draw(AROUND)]


@settings(max_examples=300, deadline=None)
@given(
    indexes(),
    st.sampled_from(["new", "tasks", "a, b", "x|y", "*"]),
    st.sampled_from(["new.md", "attention.md", "a/b.md"]),
)
def test_adding_a_row_changes_no_other_line_and_no_other_route(lines: list[str], scenario: str, file: str) -> None:
    try:
        after = with_row(lines, scenario, file)
    except ApmError:
        return
    old = iter(after)
    assert all(line in old for line in lines), "every line is still there, in its order"
    assert [route.path for route in routes(after)] == [route.path for route in routes(lines)] + (
        [file] if after != lines else [])  # fmt: skip
    assert parse_index("\n".join(after), ALPHA).hard_rules == parse_index("\n".join(lines), ALPHA).hard_rules
    assert with_row(after, scenario, file) == after


@settings(max_examples=300, deadline=None)
@given(indexes(), st.integers(0, 9))
def test_retiring_never_removes_or_rewrites_another_row(lines: list[str], choice: int) -> None:
    living = [route for route in routes(lines) if route.path and not route.deprecated]
    assume(living)
    path = living[choice % len(living)].path
    try:
        after = retired(lines, path)
    except ApmError:
        return
    meant = {route.line - 1 for route in living if route.path == path}
    assert len(after) == len(lines)
    assert [number for number, line in enumerate(after) if line != lines[number]] == sorted(meant)
    assert all(after[number].replace(f"{MARK} ", "", 1) == lines[number] for number in meant)
    assert [route.path for route in routes(after)] == [route.path for route in routes(lines)]
    assert not [route for route in routes(after) if route.path == path and not route.deprecated]
