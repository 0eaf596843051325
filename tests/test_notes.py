"""Where a note goes in its file, that nothing is written twice, and that no other line is touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from apm_hooks.errors import MemoryFileError, UsageError
from apm_hooks.frontmatter import frontmatter_end, mark_active, mark_archived, touch_updated
from apm_hooks.index import parse_index
from apm_hooks.notes import add_entry, append_day, append_note, note_lines, replace_body
from apm_hooks.protocol.group import is_archived
from apm_hooks.rawlines import Edit, apply_edits
from apm_hooks.records import DM
from apm_hooks.writeback import template
from tests.test_linear import executed_lines

TODAY = "2026-01-02"
EXPERIENCE = template("group/experience.md")
PROJECT = template("group/project.md")
DAYS = template("dm/daily-synced.md")

Edits = Callable[[Sequence[str], Sequence[str]], list[Edit]]


def entry(lines: Sequence[str], text: Sequence[str]) -> list[Edit]:
    return add_entry(lines, text, today=TODAY)


def sourced(lines: Sequence[str], text: Sequence[str]) -> list[Edit]:
    return add_entry(lines, text, today=TODAY, source="log/x.md")


def day(lines: Sequence[str], text: Sequence[str]) -> list[Edit]:
    return append_day(lines, text, today=TODAY)


def note(lines: Sequence[str], text: Sequence[str]) -> list[Edit]:
    return append_note(lines, text)


ADDERS: dict[str, Edits] = {"entry": entry, "sourced": sourced, "day": day, "note": note}


def added(adder: Edits, file: str, text: str) -> str:
    """The file with the text added; files and texts of these tests end in a line end."""
    lines = file.split("\n")[:-1]
    return "".join(f"{line}\n" for line in apply_edits(lines, adder(lines, note_lines(text))))


HEAD = "# Lessons\n\nNewest first.\n\n"


@pytest.mark.parametrize(
    ("file", "text", "after"),
    [
        pytest.param(
            EXPERIENCE, "Use Postgres", EXPERIENCE + "\n- 2026-01-02: Use Postgres\n", id="first of a template"
        ),
        pytest.param("", "one", "- 2026-01-02: one\n", id="empty file"),
        pytest.param("# Lessons\n", "one", "# Lessons\n\n- 2026-01-02: one\n", id="title alone"),
        pytest.param(
            "Lessons\n=====\n\nNewest first.\n- old\n",
            "one",
            "Lessons\n=====\n\nNewest first.\n\n- 2026-01-02: one\n- old\n",
            id="lines without a blank",
        ),
        pytest.param(
            HEAD + "- 2026-01-01: old\n", "new\n", HEAD + "- 2026-01-02: new\n- 2026-01-01: old\n", id="newest first"
        ),
        pytest.param(
            HEAD + "* 2026-01-01: old\n",
            "new\n",
            HEAD + "* 2026-01-02: new\n* 2026-01-01: old\n",
            id="the file's own sign",
        ),
        pytest.param(HEAD + "- undated\n", "new\n", HEAD + "- 2026-01-02: new\n- undated\n", id="above undated items"),
        pytest.param(
            "---\nstatus: active\n---\n",
            "new\n",
            "---\nstatus: active\n---\n\n- 2026-01-02: new\n",
            id="behind frontmatter",
        ),
        pytest.param(
            HEAD + "## More\n\n- 2026-01-01: old\n",
            "new\n",
            HEAD + "## More\n\n- 2026-01-02: new\n- 2026-01-01: old\n",
            id="where the entries are",
        ),
        pytest.param(
            HEAD + "- 2026-01-01: old\n",
            "- one\n- two\n  - deep\n",
            HEAD + "- 2026-01-02: one\n- 2026-01-02: two\n  - deep\n- 2026-01-01: old\n",
            id="items are entries",
        ),
        pytest.param(
            HEAD[:-1],
            "why\nso\n\nmore:\n- a\n- b\n",
            HEAD + "- 2026-01-02: why\n  so\n\n  more:\n\n  - a\n  - b\n",
            id="a paragraph with its list",
        ),
        pytest.param(
            HEAD[:-1],
            "# Why\n\nso\n",
            HEAD + "- 2026-01-02: **Why**\n\n  so\n",
            id="a heading does not take in what follows",
        ),
        pytest.param(
            HEAD[:-1], "```\nx = 1\n\ny\n```\n", HEAD + "- 2026-01-02:\n\n  ```\n  x = 1\n\n  y\n  ```\n", id="code"
        ),
        pytest.param(HEAD[:-1], "2025-12-31: late\n", HEAD + "- 2025-12-31: late\n", id="its own date"),
        pytest.param(HEAD[:-1], "- **2025-12-31** late\n", HEAD + "- 2025-12-31: late\n", id="its own date in bold"),
        pytest.param(
            HEAD[:-1],
            "2026-13-01: no date\n",
            HEAD + "- 2026-01-02: 2026-13-01: no date\n",
            id="no date of the calendar",
        ),
        pytest.param(
            HEAD[:-1],
            "2026-01-01.md says so\n",
            HEAD + "- 2026-01-02: 2026-01-01.md says so\n",
            id="a file's name is no date",
        ),
        pytest.param(
            HEAD + "## 2026-01-01\n\nold\n",
            "new\n",
            HEAD + "## 2026-01-02\n\nnew\n\n## 2026-01-01\n\nold\n",
            id="dated headings",
        ),
        pytest.param(
            HEAD + "### 2026-01-02\n\nold\n",
            "new\n",
            HEAD + "### 2026-01-02\n\nnew\n\nold\n",
            id="under today's heading",
        ),
        pytest.param(
            HEAD + "## 2026-01-02\n- old\n", "new\n", HEAD + "## 2026-01-02\n\n- new\n- old\n", id="as an item of today"
        ),
        pytest.param(
            HEAD + "## 2026-01-02: Postgres\n\nold\n",
            "new\n",
            HEAD + "## 2026-01-02\n\nnew\n\n## 2026-01-02: Postgres\n\nold\n",
            id="a heading with a title is an entry",
        ),
        pytest.param(
            HEAD + "## 2026-01-01\n\nold\n",
            "# Why\n\nso\n",
            HEAD + "## 2026-01-02\n\n### Why\n\nso\n\n## 2026-01-01\n\nold\n",
            id="headings go below the date's",
        ),
        pytest.param(
            "# 2026-01-01 is when it began\n\nNewest first.\n",
            "new\n",
            "# 2026-01-01 is when it began\n\nNewest first.\n\n- 2026-01-02: new\n",
            id="a dated title is no entry",
        ),
        pytest.param(
            "```\n- 2026-01-01: code\n```\n",
            "new\n",
            "- 2026-01-02: new\n\n```\n- 2026-01-01: code\n```\n",
            id="code is no entry",
        ),
        pytest.param(
            "# T\n\nintro\n\n    code\n",
            "new\n",
            "# T\n\nintro\n\n    code\n\n- 2026-01-02: new\n",
            id="not above what would become its part",
        ),
        pytest.param(HEAD + " - old\n", "new\n", HEAD + "- 2026-01-02: new\n\n - old\n", id="an indented list"),
        pytest.param(
            HEAD + "- 2026-01-02: so\n", "# Why\n\nso\n", HEAD + "- 2026-01-02: so\n", id="a heading over what is there"
        ),
    ],
)
def test_an_entry_is_dated_and_stands_above_the_older_ones(file: str, text: str, after: str) -> None:
    assert added(entry, file, text) == after
    assert added(entry, after, text) == after


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("new\n", "- 2026-01-02: new (source: log/x.md)\n"),
        ("- a\n- b\n", "- 2026-01-02: a (source: log/x.md)\n- 2026-01-02: b (source: log/x.md)\n"),
        ("a\n\nb\n", "- 2026-01-02: a\n\n  b (source: log/x.md)\n"),
        ("a\n```\ncode\n```\n", "- 2026-01-02: a\n  ```\n  code\n  ```\n\n  (source: log/x.md)\n"),
    ],
)
def test_an_entry_points_to_its_source(text: str, after: str) -> None:
    assert added(sourced, HEAD[:-1], text) == HEAD + after
    assert added(sourced, HEAD + after, text) == HEAD + after
    assert added(entry, HEAD + after, text) == HEAD + after, "a pointer does not make another entry of it"


@pytest.mark.parametrize(
    "again",
    [
        "use  Postgres",
        "* use Postgres",
        "- 2026-01-02: use Postgres",
        "use\nPostgres",
        "ｕｓｅ Postgres",
        "2026-01-02 use Postgres (source: x)",
        "**use Postgres**",
    ],
)
def test_the_same_entry_of_a_day_is_not_added_again(again: str) -> None:
    file = HEAD + "- 2026-01-02: use Postgres\n"
    assert added(entry, file, again) == file


@pytest.mark.parametrize("other", ["Use Postgres", "use Postgres 17", "2026-01-01: use Postgres"])
def test_another_case_text_or_day_is_another_entry(other: str) -> None:
    file = HEAD + "- 2026-01-02: use Postgres\n"
    assert added(entry, file, other).count("Postgres") == 2


def test_of_a_whole_file_handed_in_only_what_is_new_is_added_in_its_order() -> None:
    file = HEAD + "- 2026-01-01: A\n"
    payload = HEAD + "- B\n- 2026-01-01: A\n- C\n"
    assert added(entry, file, payload) == HEAD + "- 2026-01-02: B\n- 2026-01-02: C\n- 2026-01-01: A\n"
    assert added(note, "# P\n\n- A\n", "# P\n\n- A\n- B\n\nC\n") == "# P\n\n- A\n- B\n\nC\n"
    assert added(day, "# Days\n\n## 2026-01-02\n\nA\n", "# Days\n\n## 2026-01-02\n\nA\n\nB\n").endswith("A\n\nB\n")


@pytest.mark.parametrize(
    ("file", "text", "after"),
    [
        pytest.param(PROJECT, "Python 3.12", PROJECT + "\n- Python 3.12\n", id="first of a template"),
        pytest.param("# P\n\n- a\n", "b\nc\n", "# P\n\n- a\n- b\n  c\n", id="next item"),
        pytest.param("# P\n\n3. a\n", "b\n", "# P\n\n3. a\n4. b\n", id="next number"),
        pytest.param("# P\n\n* a\n\n\n", "b\n", "# P\n\n* a\n* b\n\n\n", id="blank lines at the end stay there"),
        pytest.param("# P\n\nintro\n\nprose\n", "b\n", "# P\n\nintro\n\nprose\n\nb\n", id="prose stays prose"),
        pytest.param("# P\n\n- a\n", "b\n\nc\n", "# P\n\n- a\n\nb\n\nc\n", id="several paragraphs"),
        pytest.param("# P\n\n- a\n", "---\n", "# P\n\n- a\n\n---\n", id="a rule is no item"),
        pytest.param(
            "# P\n\n## A\n\n- a\n\n## B\n\n- b\n",
            "## A\n- c\n",
            "# P\n\n## A\n\n- a\n- c\n\n## B\n\n- b\n",
            id="into its section",
        ),
        pytest.param(
            "# P\n\n## A\n\n- a\n",
            "## C\n- a\n",
            "# P\n\n## A\n\n- a\n\n## C\n\n- a\n",
            id="the same fact of another section",
        ),
        pytest.param(
            "# P\n\n## A\n\n- a\n\n## B\n",
            "# P\n## A\n### D\nd\n",
            "# P\n\n## A\n\n- a\n\n### D\n\nd\n\n## B\n",
            id="a new section within one",
        ),
        pytest.param(
            "# P\n\n### A\n\n- a\n",
            "# A\n## D\nd\n",
            "# P\n\n### A\n\n- a\n\n#### D\n\nd\n",
            id="a heading below the file's",
        ),
        pytest.param(
            "# P\n\n| n | r |\n|---|---|\n| bob | dev |\n\nend\n",
            "| n | r |\n|---|---|\n| bob | dev |\n| eve | ops |\n",
            "# P\n\n| n | r |\n|---|---|\n| bob | dev |\n| eve | ops |\n\nend\n",
            id="into its table",
        ),
        pytest.param(
            "# P\n\n| n | r |\n|---|---|\n| bob | dev |\n",
            "| eve | ops |\n",
            "# P\n\n| n | r |\n|---|---|\n| bob | dev |\n| eve | ops |\n",
            id="a bare row",
        ),
        pytest.param(
            "# P\n\n| n | r |\n|---|---|\n| bob | dev |\n",
            "| x | y |\n|---|---|\n| bob | dev |\n",
            "# P\n\n| n | r |\n|---|---|\n| bob | dev |\n\n| x | y |\n|---|---|\n| bob | dev |\n",
            id="another table",
        ),
        pytest.param(
            "# P\n\n## A\n\n- a\n",
            "## C\nc\n\n## A\n- b\n",
            "# P\n\n## A\n\n- a\n- b\n\n## C\n\nc\n",
            id="into the last section before a new one",
        ),
        pytest.param(
            "## A\n\n### O\n\n- a\n\n## B\n\n### O\n\n- b\n",
            "### O\n- c\n",
            "## A\n\n### O\n\n- a\n- c\n\n## B\n\n### O\n\n- b\n",
            id="into the first section of that name",
        ),
        pytest.param(
            "# P\n\n## A\n\n| n | r |\n|---|---|\n| bob | dev |\n\n## B\n",
            "## A\nx\n",
            "# P\n\n## A\n\n| n | r |\n|---|---|\n| bob | dev |\n\nx\n\n## B\n",
            id="behind the table of its section",
        ),
        pytest.param(
            "# P\n\nsee `<!--`\n", "a --> b\n", "# P\n\nsee `<!--`\n\n- a --> b\n", id="arrows close no comment"
        ),
    ],
)
def test_a_fact_goes_to_the_end_of_where_it_belongs(file: str, text: str, after: str) -> None:
    assert added(note, file, text) == after
    assert added(note, after, text) == after


@pytest.mark.parametrize(
    ("file", "text", "after"),
    [
        pytest.param(DAYS, "did this", DAYS + "\n## 2026-01-02\n\ndid this\n", id="first of a template"),
        pytest.param(
            "# 2026-01-01\n\nx\n", "y\n", "# 2026-01-01\n\nx\n\n# 2026-01-02\n\ny\n", id="the file's own level"
        ),
        pytest.param(
            "## 2026-01-02\n\na\n\n## Rest\n", "b\n", "## 2026-01-02\n\na\n\nb\n\n## Rest\n", id="at the end of the day"
        ),
        pytest.param(
            "## 2026-01-02 Friday\n\n- a\n", "b\n", "## 2026-01-02 Friday\n\n- a\n- b\n", id="as the next item"
        ),
        pytest.param(
            "## 2026-01-02\n\na\n",
            "# Head\nb\n",
            "## 2026-01-02\n\na\n\n### Head\n\nb\n",
            id="headings go below the date's",
        ),
        pytest.param(
            "## 2026-01-01\n\na\n",
            "## 2026-01-01\nb\n\n## 2026-01-02\na\n",
            "## 2026-01-01\n\na\n\nb\n\n## 2026-01-02\n\na\n",
            id="several days",
        ),
        pytest.param("## 2026/1/2\n\na\n", "b\n", "## 2026/1/2\n\na\n\nb\n", id="another way to write a date"),
    ],
)
def test_a_summary_stands_under_its_day(file: str, text: str, after: str) -> None:
    assert added(day, file, text) == after
    assert added(day, after, text) == after


@pytest.mark.parametrize(
    ("file", "text", "after"),
    [
        pytest.param(
            "---\nstatus: active\n---\n# A\n\nintro\n- old\n",
            "- new\n",
            "---\nstatus: active\n---\n# A\n\n- new\n",
            id="title and frontmatter stay",
        ),
        pytest.param("A\n=\nold\n", "new\n", "new\n", id="one sign underlines nothing"),
        pytest.param("A\n==\n\nold\n", "new\n", "A\n==\n\nnew\n", id="a title in its other form"),
        pytest.param("old\n", "new\n", "new\n", id="no title"),
        pytest.param("# A\n\nold\n", "# A\n\nnew\n", "# A\n\nnew\n", id="its title again"),
        pytest.param("# A\n\nold\n", "# B\n\nnew\n", "# A\n\n# B\n\nnew\n", id="another title"),
        pytest.param("## A\n\nold\n", "new\n", "new\n", id="a section is no title"),
        pytest.param("", "new\n", "new\n", id="empty file"),
        pytest.param("# A\n\nnew\n\n\n", "new\n", "# A\n\nnew\n\n\n", id="there already"),
    ],
)
def test_a_status_takes_the_place_of_what_was(file: str, text: str, after: str) -> None:
    assert added(replace_body, file, text) == after
    assert added(replace_body, after, text) == after


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "no text"),
        (" \n\t\n", "no text"),
        ("-\n", "no text"),
        ("2026-01-02\n", "no text"),
        ("a\0b", r"line 1 of the text holds the character U\+0000"),
        ("a\nb\x1b[31m", r"line 2 of the text holds the character U\+001B"),
        ("a\x85b", r"U\+0085"),
        ("a\ud800", r"U\+D800"),
        ("---\nstatus: x\n---\na", "begins with frontmatter"),
        ("a\n```\nb", "never closes"),
        ("<!-- a\nb", "never closes"),
    ],
)
def test_what_is_no_note_is_refused(text: str, cause: str) -> None:
    with pytest.raises(UsageError, match=cause):
        note_lines(text)


@pytest.mark.parametrize("text", ["a\tb", "\u202eabc", "a\u200bb", "see <!-- here", "a\u2028b"])
def test_what_may_be_shown_escaped_is_kept(text: str) -> None:
    assert note_lines(text) == [text]


def test_line_ends_and_blank_lines_around_a_text_do_not_matter() -> None:
    assert note_lines("\ufeff\r\n\r\na\r\nb\rc\n\n") == ["a", "b", "c"]


@pytest.mark.parametrize("text", ["# Title", "Title\n====="])
def test_a_title_alone_is_no_status(text: str) -> None:
    with pytest.raises(UsageError, match="below the title"):
        replace_body(["# A"], note_lines(text))


@pytest.mark.parametrize("adder", [day, note])
def test_a_text_never_turns_the_head_of_a_file_into_frontmatter(adder: Edits) -> None:
    with pytest.raises(MemoryFileError, match="rule line"):
        adder(["---", "", "2026-01-02: x"], note_lines("b: y\n---"))


@pytest.mark.parametrize("adder", [day, note])
@pytest.mark.parametrize(("opens", "line"), [("```", 3), ("<!--", 3)])
def test_nothing_is_written_behind_a_block_that_never_closes(adder: Edits, opens: str, line: int) -> None:
    with pytest.raises(MemoryFileError) as error:
        adder(["# T", "", opens, "code"], ["new"])
    assert (error.value.line, error.value.remedy) == (line, "Close it.")


def test_headings_that_would_be_too_deep_are_refused() -> None:
    with pytest.raises(UsageError, match="six levels"):
        append_note(["###### A"], note_lines("# A\n## B\nx"))


PIECES = st.sampled_from(
    [
        "# Title",
        "## Deploy",
        "### Sub",
        "## 2026-01-02",
        "## 2026-01-01: x",
        "- a",
        "- b",
        "  - c",
        "* d",
        "1. one",
        "para one",
        "para two",
        "",
        "",
        "- 2026-01-01: old",
        "- 2026-01-02: a",
        "2026-01-01: text",
        "| n | r |",
        "|---|---|",
        "| bob | dev |",
        "```",
        "<!-- c -->",
        "<!--",
        "-->",
        "---",
        "> q",
        "    code",
        "  indented",
        "a --> b",
        "**Bold**",
        "x <!-- y",
        "===",
        "- ",
        "status: x",
        "- [ ] todo",
        "日本：語",
        "x (source: y)",
        "###### deep",
        "- 2026-01-02:",
    ]
)
FILES = st.lists(PIECES, max_size=12)
TEXTS = st.lists(PIECES, min_size=1, max_size=7)


def lines_of(text: list[str]) -> list[str]:
    try:
        return note_lines("\n".join(text))
    except UsageError:
        assume(False)
        raise


@pytest.mark.parametrize("name", ADDERS)
@settings(max_examples=200, deadline=None)
@given(file=FILES, text=TEXTS)
def test_adding_never_changes_another_line_and_twice_is_once(name: str, file: list[str], text: list[str]) -> None:
    lines = lines_of(text)
    try:
        edits = ADDERS[name](file, lines)
    except (MemoryFileError, UsageError):
        return
    assert all(edit.drop == 0 for edit in edits)
    after = apply_edits(file, edits)
    assert ADDERS[name](after, lines) == []


@settings(max_examples=200, deadline=None)
@given(FILES, TEXTS)
def test_a_status_written_twice_is_written_once(file: list[str], text: list[str]) -> None:
    try:
        edits = replace_body(file, lines_of(text))
    except UsageError:
        return
    assert replace_body(apply_edits(file, edits), lines_of(text)) == []


WORDS = st.lists(st.sampled_from(["alpha", "beta", "gamma", "delta", "epsilon"]), min_size=1, max_size=5, unique=True)


@pytest.mark.parametrize("name", ["entry", "note", "day"])
@settings(max_examples=100, deadline=None)
@given(there=WORDS, new=WORDS, items=st.booleans())
def test_what_is_added_keeps_its_order(name: str, there: list[str], new: list[str], items: bool) -> None:
    text = "\n".join(f"- {word}" for word in new) if items else "\n\n".join(new)
    file = apply_edits([], ADDERS[name]([], note_lines("\n".join(f"- {word}" for word in there))))
    after = " ".join(apply_edits(file, ADDERS[name](file, note_lines(text))))
    assert all(after.count(word) == 1 for word in {*there, *new})
    fresh = [word for word in new if word not in there]
    assert sorted(fresh, key=after.index) == fresh


SHAPES = ["# x%d\n", "## a\n", "- item %d\n", "- 2026-01-01: x%d\n", "| a%d | b |\n", "a\n\n", "### s%d\n#### t\ny\n",
          "## 2026-01-01\nx\n", "<!--\n-->\n", "  - c\n\n", "(source: x) "]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ADDERS)
def test_twice_the_text_takes_about_twice_the_steps(name: str, shape: str) -> None:
    def steps(times: int) -> int:
        lines = "".join(shape.replace("%d", str(number)) for number in range(times)).split("\n")
        text = [*lines, "", "# new", "words"]
        return executed_lines(lambda: ADDERS[name](lines, text))

    assert steps(200) < 2.3 * steps(100)


FRONT = st.lists(
    st.sampled_from(["---", "a: 1", "status: x", "b:2", "# c", "", "  d: 1", "text", "last_updated: 2025-01-01"]),
    max_size=7,
)


@settings(max_examples=300)
@given(FRONT)
def test_frontmatter_is_what_the_index_takes_for_it(lines: list[str]) -> None:
    assert bool(frontmatter_end(lines)) == bool(parse_index("\n".join(lines), DM).meta)


@pytest.mark.parametrize(
    ("file", "archived"),
    [
        (["# A"], ["---", "status: archived", "---", "# A"]),
        (["---", "status: active", "---", "# A"], ["---", "status: archived", "---", "# A"]),
        (["---", "a: 1", "---"], ["---", "status: archived", "a: 1", "---"]),
        (
            ["---", 'status:  "draft"', "b: 2", "---"],
            ["---", 'status:  "archived"', "status_before: draft", "b: 2", "---"],
        ),
        (["---", "text", "---"], ["---", "status: archived", "---", "---", "text", "---"]),
        ([], ["---", "status: archived", "---"]),
    ],
)
def test_a_file_is_archived_and_taken_back(file: list[str], archived: list[str]) -> None:
    after = apply_edits(file, mark_archived(file))
    assert after == archived
    assert is_archived("\n".join(after))
    assert mark_archived(after) == []
    back = apply_edits(after, mark_active(after))
    assert not is_archived("\n".join(back))
    assert back == (["---", "status: active", "a: 1", "---"] if file == ["---", "a: 1", "---"] else
                    file if "status: active" not in file else ["# A"])  # fmt: skip


@settings(max_examples=200)
@given(FRONT)
def test_archiving_and_back_leaves_every_line_below(lines: list[str]) -> None:
    end = frontmatter_end(lines)
    archived = apply_edits(lines, mark_archived(lines))
    back = apply_edits(archived, mark_active(archived))
    assert archived[len(archived) - len(lines) + end :] == lines[end:]
    assert back[len(back) - len(lines) + end :] == lines[end:]


@pytest.mark.parametrize(
    ("file", "after"),
    [
        (["---", "last_updated: 2025-01-01", "---"], ["---", "last_updated: 2026-01-02", "---"]),
        (["---", "last_updated:", "---"], ["---", "last_updated: 2026-01-02", "---"]),
        (["---", "last_updated:  'x'", "---"], ["---", "last_updated:  '2026-01-02'", "---"]),
        (["---", "a: 1", "---", "last_updated: x"], ["---", "a: 1", "---", "last_updated: x"]),
        (["last_updated: 2025-01-01"], ["last_updated: 2025-01-01"]),
    ],
)
def test_the_day_of_an_update_is_set_where_that_entry_exists(file: list[str], after: list[str]) -> None:
    assert apply_edits(file, touch_updated(file, TODAY)) == after
    assert touch_updated(after, TODAY) == []
