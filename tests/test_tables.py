from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from apm_hooks.tables import (
    MAX_COLUMNS,
    MAX_ROWS,
    SKIPPED,
    Table,
    code_spans,
    find_tables,
    heading_text,
    is_rule_line,
    item_text,
    split_lines,
    visible_lines,
)

Cells = tuple[str, ...]
REFERENCE = MarkdownIt("commonmark").enable("table")

PIECES = st.sampled_from(
    (
        *(
            "a",
            "word",
            "attention.md",
            " ",
            "  ",
            "\t",
            "|",
            "\\|",
            "\\",
            "\\\\|",
            "`",
            "``",
            "`a|b`",
            "`a\\|b`",
        ),
        *(
            "-",
            ":",
            "*",
            "**b**",
            "#",
            "+",
            ">",
            "1.",
            "=",
            "场景",
            "｜",
            "、",
            "ファイル",
            "파일",
            "é",
            "[x](y)",
        ),
    )
)
CELL = st.lists(PIECES, max_size=6).map("".join)
DELIMITERS = st.sampled_from(["---", "-", ":--", "--:", ":-:", " --- "])


def row(cells: list[str], outer: tuple[bool, bool]) -> str:
    return "|" * outer[0] + "|".join(cells) + "|" * outer[1]


ROW = st.builds(row, st.lists(CELL, min_size=1, max_size=5), st.tuples(st.booleans(), st.booleans()))


@st.composite
def table_lines(draw: st.DrawFn) -> list[str]:
    width = draw(st.integers(1, 4))
    header = draw(st.lists(CELL, min_size=width, max_size=width))
    declared = draw(st.lists(DELIMITERS, min_size=max(1, width - 1), max_size=width + 1))
    delimiter = row(declared, draw(st.tuples(st.booleans(), st.booleans())))
    return [row(header, (True, draw(st.booleans()))), delimiter, *draw(st.lists(ROW, max_size=5))]


def reference_tables(lines: list[str]) -> list[list[tuple[int, Cells]]]:
    """Rows with their lines (the header first) of every table that a full markdown parser sees."""
    tables: list[list[tuple[int, Cells]]] = []
    line = 0
    cells: list[str] = []
    opened = ""
    for token in REFERENCE.parse("\n".join(lines)):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            line, cells = (token.map or [0])[0] + 1, []
        elif token.type == "inline" and opened in ("th_open", "td_open"):
            cells.append(token.content)
        elif token.type == "tr_close":
            tables[-1].append((line, tuple(cells)))
        opened = token.type
    return tables


def as_rows(table: Table) -> list[tuple[int, Cells]]:
    return [(table.line, table.header), *table.rows]


def is_plain(line: str) -> bool:
    """False where a full parser sees another block, which may then hold a table of its own."""
    return not line.strip().startswith(("```", ">", "#", "-", "+", "*", "1.", "=", ":"))


@settings(max_examples=300, deadline=None)
@given(table_lines())
def test_the_first_table_has_the_cells_and_lines_of_a_full_parser(lines: list[str]) -> None:
    assume(not any(line.strip().startswith("```") for line in lines))
    assert [as_rows(table) for table in find_tables(lines)[:1]] == reference_tables(lines)[:1]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(table_lines(), ROW.map(lambda line: [line])), max_size=4), st.booleans())
def test_every_table_of_a_document_is_found_where_a_full_parser_finds_it(parts: list[list[str]], blank: bool) -> None:
    lines = [line for part in parts for line in [*part, *([""] if blank else [])]]
    assume(all(is_plain(line) or set(line) <= set("|-: ") for line in lines))
    assert [as_rows(table) for table in find_tables(lines)] == reference_tables(lines)


@pytest.mark.parametrize(
    ("line", "cells"),
    [
        ("| a | b |", ("a", "b")),
        ("a | b", ("a", "b")),
        ("| a | b", ("a", "b")),
        ("a | b |", ("a", "b")),
        ("| a", ("a", "")),
        ("a", ("a", "")),
        ("| a | b | c | d |", ("a", "b")),
        ("||b|", ("", "b")),
        ("| a \\| b | c |", ("a | b", "c")),
        ("| `a \\| b` | c |", ("`a | b`", "c")),
        ("| `a | b` | c |", ("`a", "b`")),
        ("| a\\\\| b | c |", ("a\\| b", "c")),
        ("| 场景｜意图 | 文件 |", ("场景｜意图", "文件")),
        ("|", ("", "")),
    ],
)
def test_a_row_splits_as_github_splits_it(line: str, cells: Cells) -> None:
    (table,) = find_tables(["| h | i |", "|---|:-:|", line])
    assert table == Table(("h", "i"), ((3, cells),), 1)


@pytest.mark.parametrize(
    "end", ["", "   ", "# heading", "> quote", "- item", "1. item", "***", "    code", "\tcode", "</details>"]
)
def test_a_table_ends_where_another_block_starts(end: str) -> None:
    (table,) = find_tables(["text", "| h | i |", "|---|---|", "| a | b |", end, "| c | d |"])
    assert (table.line, table.rows) == (2, ((4, ("a", "b")),))


@pytest.mark.parametrize(
    "delimiter",
    ["", "|---|", "|---|---|---|", "|---||---|", "| | |", "|-x-|---|", "|::|---|", "    |---|---|"],
)
def test_without_a_delimiter_row_of_the_same_width_there_is_no_table(delimiter: str) -> None:
    assert find_tables(["| h | i |", delimiter, "| a | b |"]) == ()


@pytest.mark.parametrize("header", ["# h | i", "> h | i", "- h | i", "1. h | i", "    h | i"])
def test_another_block_is_no_header(header: str) -> None:
    assert find_tables([header, "|---|---|", "| a | b |"]) == ()


def test_a_header_wider_than_the_bound_is_no_table() -> None:
    def wide(columns: int) -> tuple[Table, ...]:
        return find_tables(["|" + "h|" * columns, "|" + "-|" * columns, "x"])

    assert len(wide(MAX_COLUMNS)[0].rows[0][1]) == MAX_COLUMNS
    assert wide(MAX_COLUMNS + 1) == ()


def test_rows_past_the_bound_are_not_read() -> None:
    small = ["h | i", "--|--", "a | b", ""]
    tables = find_tables([*small, "h | i", "--|--", *["a | b"] * MAX_ROWS, "", *small])
    assert [len(table.rows) for table in tables] == [1, MAX_ROWS - 3]


def test_a_skipped_line_does_not_end_a_table() -> None:
    (table,) = find_tables(["h | i", "--|--", "a | b", SKIPPED, "c | d"])
    assert table.rows == ((3, ("a", "b")), (4, ("", "")), (5, ("c", "d")))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_gives_the_same_lines(end: str) -> None:
    assert split_lines("\ufeff" + end.join(["a", "b\u2028c\x0bd", "", "e"])) == [
        "a",
        "b\u2028c\x0bd",
        "",
        "e",
    ]


def test_mixed_line_ends_count_one_by_one() -> None:
    assert split_lines("a\r\nb\rc\n\rd") == ["a", "b", "c", "", "d"]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a `b` c", [(2, 5, 1)]),
        ("`` a`b `` c", [(0, 9, 2)]),
        ("`a", []),
        ("`` a ` b", []),
        ("`` ` b ` ``", [(0, 11, 2)]),
        ("`a` ``` `b`", [(0, 3, 1), (8, 11, 1)]),
    ],
)
def test_a_code_span_closes_with_as_many_backticks(text: str, spans: list[tuple[int, int, int]]) -> None:
    assert code_spans(text) == spans


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        (["```", "x", "```", "y"], ["", "", "", "y"]),
        (["~~~~ md", "~~~", "```", "~~~~~", "y"], ["", "", "", "", "y"]),
        (["```` a", "```", "````", "y"], ["", "", "", "y"]),
        (["``` a`b", "y"], ["``` a`b", "y"]),
        (["    ```", "y"], ["    ```", "y"]),
        (["``", "y"], ["``", "y"]),
        (["- ```sh", "  x", "      ```", "y"], ["", "", "", "y"]),
        (["```", "x", "    ```", "```", "y"], ["", "", "", "", "y"]),
        (["```", "<!--", "```", "y"], ["", "", "", "y"]),
        (["a <!-- b --> c <!----> d", "y"], ["a  c  d", "y"]),
        (["<!-- a", "```", "b --> c", "y"], [SKIPPED, SKIPPED, " c", "y"]),
        (["x <!-- a", "b -->", "y"], ["x ", SKIPPED, "y"]),
        (["x `<!--` y", "-->"], ["x `<!--` y", "-->"]),
        (["x `a` <!-- `b` --> y"], ["x `a`  y"]),
        (["x <!-- y", "z"], ["x <!-- y", "z"]),
        (["| a | <!-- x --> b |"], ["| a |  b |"]),
    ],
)
def test_code_blocks_and_comments_are_hidden(lines: list[str], shown: list[str]) -> None:
    assert visible_lines(lines) == (shown, 0)


@pytest.mark.parametrize(
    ("lines", "shown", "opened"),
    [
        (["a", "~~~", "b", "```", ""], ["a", "", "", "", ""], 2),
        (["a", "b", "<!-- c", "d"], ["a", "b", SKIPPED, SKIPPED], 3),
        (["```", "```", "```", "a"], ["", "", "", ""], 3),
    ],
)
def test_what_never_closes_hides_the_rest_and_says_where(lines: list[str], shown: list[str], opened: int) -> None:
    assert visible_lines(lines) == (shown, opened)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("# A b", "A b"),
        ("###### A ##", "A"),
        ("  ## A", "A"),
        ("#", ""),
        ("##硬性规则", "硬性规则"),
        ("#tag", None),
        ("####### A", None),
        ("    # A", None),
        ("A #", None),
    ],
)
def test_headings(line: str, text: str | None) -> None:
    assert heading_text(line) == text


@pytest.mark.parametrize(
    ("text", "item"),
    [
        ("- a", "a"),
        ("* a", "a"),
        ("+\ta", "a"),
        ("1. a", "a"),
        ("12) a", "a"),
        ("-", ""),
        ("**a**", None),
        ("-a", None),
        ("1.5 a", None),
        ("1234567890. a", None),
        ("a", None),
        ("", None),
    ],
)
def test_list_items(text: str, item: str | None) -> None:
    assert item_text(text) == item


@pytest.mark.parametrize(
    ("line", "is_rule"),
    [
        ("---", True),
        ("* * *", True),
        ("____", True),
        ("--", False),
        ("-*-", False),
        ("===", False),
        ("", False),
    ],
)
def test_rule_lines(line: str, is_rule: bool) -> None:
    assert is_rule_line(line) is is_rule
