from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.access import Edit
from apm_hooks.protected import after_edit, has_parts, losses, possible_edits
from apm_hooks.records import DM, Scope, ScopeKind

ALPHA = Scope(ScopeKind.GROUP, "alpha")
INDEX = """---
group_name: alpha
memory_budget: 6000
---
# Alpha

Purpose: releases.

## Hard Rules

- Never deploy on Fridays.
- Ask before you delete.

## Routing

| scenario | file | priority |
|---|---|---|
| deploys, releases | conventions/deploy.md | P2-L3 |
| tasks | attention.md | P0 |
| [DEPRECATED] old site | project.md | P1 |

Notes at the end.
"""
DEPLOY = "| deploys, releases | conventions/deploy.md | P2-L3 |"
TASKS = "| tasks | attention.md | P0 |"
OLD = "| [DEPRECATED] old site | project.md | P1 |"
FRIDAY = "- Never deploy on Fridays."
EVERY_ROW = ["tasks", "deploys", "old site"]


def change(old: str, new: str) -> str:
    assert INDEX.count(old) == 1
    return INDEX.replace(old, new)


FREE = {
    "nothing": INDEX,
    "a row is marked": change(TASKS, "| [DEPRECATED] tasks | attention.md | P0 |"),
    "a row is marked in its last cell": change(TASKS, "| tasks | attention.md | P0 [deprecated] |"),
    "a rule is marked": change(FRIDAY, "- [DEPRECATED] Never deploy on Fridays."),
    "a new row": change(TASKS, f"{TASKS}\n| people | people.md | P3 |"),
    "a new rule": change(FRIDAY, f"{FRIDAY}\n- Be kind."),
    "a row moves to the end": change(f"{TASKS}\n", "").replace(OLD, f"{OLD}\n{TASKS}"),
    "rules change places": change(FRIDAY + "\n- Ask before you delete.", "- Ask before you delete.\n" + FRIDAY),
    "columns are drawn wider": change(TASKS, "|   tasks      |   attention.md     |  P0     |"),
    "outer pipes go": change(TASKS, "tasks | attention.md | P0"),
    "columns are aligned": change("|---|---|---|", "|:--|:-:|--:|"),
    "a file in backticks": change(TASKS, "| tasks | `attention.md` | P0 |"),
    "a file as a link": change(TASKS, "| tasks | [tasks](attention.md) | P0 |"),
    "a file from the workspace": change(TASKS, "| tasks | memory/groups/alpha/attention.md | P0 |"),
    "a fourth column": change(
        "| scenario | file | priority |\n|---|---|---|", "| scenario | file | priority | by |\n|---|---|---|---|"),
    "another mark of the list": change(FRIDAY, "* Never deploy on Fridays."),
    "a rule on two lines": change(FRIDAY, "- Never deploy\n  on Fridays."),
    "alternatives change places": change("deploys, releases", "releases, deploys"),
    "frontmatter": change("memory_budget: 6000", "memory_budget: 8000\nstatus: active"),
    "prose": change("Purpose: releases.", "Purpose: releases and more.").replace("Notes at the end.\n", ""),
    "CRLF": INDEX.replace("\n", "\r\n"),
    "a byte order mark": "\ufeff" + INDEX,
    "a heading in another language": change("## Hard Rules", "## 硬性规则"),
}  # fmt: skip

LOST = {
    "a row goes": (change(f"{TASKS}\n", ""), ["tasks → attention.md"]),
    "two rows go": (change(f"{DEPLOY}\n{TASKS}\n", ""), ["deploys, releases", "tasks"]),
    "a row has another file": (change(TASKS, "| tasks | project.md | P0 |"), ["tasks → attention.md"]),
    "a row has another priority": (change(TASKS, "| tasks | attention.md | P2 |"), ["tasks → attention.md"]),
    "a row has a scenario less": (change("deploys, releases", "deploys"), ["deploys, releases"]),
    "a row has a scenario more": (change("deploys, releases", "deploys, releases, jokes"), ["deploys, releases"]),
    "a mark goes": (change("[DEPRECATED] old site", "old site"), ["[DEPRECATED] off the row 'old site"]),
    "a marked row goes": (change(f"{OLD}\n", ""), ["old site"]),
    "a rule goes": (change(f"{FRIDAY}\n", ""), ["Never deploy on Fridays."]),
    "a rule is reworded": (change("Never deploy", "Try not to deploy"), ["Never deploy on Fridays."]),
    "a rule is struck out": (change(FRIDAY, "- ~~Never deploy on Fridays.~~"), ["Never deploy on Fridays."]),
    "a rule goes into a comment": (change(FRIDAY, f"<!--\n{FRIDAY}\n-->"), ["Never deploy on Fridays."]),
    "a rule goes into the prose": (change(f"{FRIDAY}\n", "").replace("Notes", f"{FRIDAY}\n\nNotes"), ["Never deploy"]),
    "the heading of the rules goes": (change("## Hard Rules", "## Rules"), ["Never deploy", "Ask before"]),
    "the header of the table goes": (change("| scenario | file | priority |\n|---|---|---|\n", ""), EVERY_ROW),
    "a fence opens before the table": (change("## Routing", "```\n## Routing"), EVERY_ROW),
    "another table comes before it": (
        change("## Routing", "| scenario | file |\n|---|---|\n| x | attention.md |\n\n## Routing"), EVERY_ROW),
    "the table is cut in two": (change(TASKS, f"\n{TASKS}"), ["tasks", "old site"]),
    "all goes": ("", ["Never deploy", "Ask before", "tasks", "deploys", "old site"]),
}  # fmt: skip


@pytest.mark.parametrize("name", FREE)
def test_what_keeps_every_rule_and_row_is_free(name: str) -> None:
    assert losses(INDEX, FREE[name], ALPHA) == ()


@pytest.mark.parametrize("name", LOST)
def test_what_is_lost_is_named(name: str) -> None:
    after, named = LOST[name]
    found = losses(INDEX, after, ALPHA)
    assert len(found) == len(named)
    for piece in named:
        assert any(piece in sentence for sentence in found), (piece, found)


def test_a_row_that_stands_twice_may_not_go_once() -> None:
    twice = INDEX.replace(TASKS, f"{TASKS}\n{TASKS}")
    assert len(losses(twice, INDEX, ALPHA)) == 1
    assert losses(INDEX, twice, ALPHA) == ()


def test_a_row_that_leads_nowhere_is_kept_as_it_is() -> None:
    outside = INDEX.replace(TASKS, "| secrets | ../main/index.md | P0 |")
    assert losses(outside, outside.replace("../main/index.md", "../main/longterm.md"), ALPHA)
    assert losses(outside, outside.replace("| secrets |", "|  secrets  |"), ALPHA) == ()


def test_escaped_pipes_are_a_matter_of_drawing() -> None:
    piped = INDEX.replace("| tasks |", r"| a \| b |")
    assert losses(piped, piped.replace(r"| a \| b |", r"|   a \| b   |"), ALPHA) == ()
    assert losses(piped, piped.replace(r"a \| b", "a b"), ALPHA)


def test_unicode_forms_are_one() -> None:
    composed = INDEX.replace("| tasks |", "| caf\u00e9 |").replace("Fridays", "Fr\u00efdays")
    parted = INDEX.replace("| tasks |", "| cafe\u0301 |").replace("Fridays", "Fri\u0308days")
    assert losses(composed, parted, ALPHA) == ()


def test_the_owners_index_is_judged_alike() -> None:
    head = "## Hard Rules\n- Keep it short.\n\n| scenario | file | priority |\n|---|---|---|\n"
    before = f"{head}| site | projects/site.md | P3 |\n"
    assert losses(before, before.replace("P3", "P1"), DM)
    assert losses(before, before + "| more | longterm.md | P1 |\n", DM) == ()


@pytest.mark.parametrize(("text", "parts"), [("", False), ("# Notes\n- a\n", False), (INDEX, True),
                                             ("## Hard rules\n- a\n", True)])  # fmt: skip
def test_whether_there_is_anything_to_protect(text: str, parts: bool) -> None:
    assert has_parts(text, ALPHA) is parts


LINE = st.sampled_from([*INDEX.split("\n"), "more", "| a | b.md | P2 |", "```", "<!--", "-->", "## Hard Rules", "## X"])


@settings(max_examples=200)
@given(st.lists(LINE, max_size=12), st.integers(0, 22))
def test_what_is_kept_can_be_read_back(extra: list[str], at: int) -> None:
    """Whatever is put in, either everything is still read as before, or a loss is told."""
    lines = INDEX.split("\n")
    after = "\n".join([*lines[:at], *extra, *lines[at:]])
    if not losses(INDEX, after, ALPHA):
        assert losses(INDEX, after + "\n", ALPHA) == ()
        for sentence in (
            "Never deploy on Fridays.",
            "Ask before you delete.",
            "deploy.md",
            "attention.md",
            "project.md",
        ):
            assert sentence in after


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_text_raises(before: str, after: str) -> None:
    assert isinstance(losses(before, after, ALPHA), tuple)
    assert losses(before, before, ALPHA) == ()


@pytest.mark.parametrize(
    ("before", "edits", "after"),
    [
        ("a b", [Edit("a", "c")], "c b"),
        ("a b", [Edit("a", "c"), Edit("c b", "d")], "d"),
        ("a a", [Edit("a", "c", every=True)], "c c"),
        ("a a", [Edit("a", "c")], None),
        ("a", [Edit("x", "c")], None),
        ("a", [Edit("a", "")], ""),
        ("", [Edit("", "new")], "new"),
        ("a", [Edit("", "new")], None),
        ("a\nb", [Edit("a\r\nb", "c\r\nd")], "c\nd"),
        ("a\r\nb", [Edit("a\nb", "c")], "c"),
        ("a", [], "a"),
    ],
)
def test_edits_are_applied_as_written_or_not_at_all(before: str, edits: list[Edit], after: str | None) -> None:
    assert after_edit(before, edits) == after


@pytest.mark.parametrize(
    ("before", "edit", "after"),
    [
        ("say “no” now", Edit('"no"', '"yes"'), 'say "yes" now'),
        ("a – b", Edit("a - b", "c"), "c"),
        ("a\u00a0b", Edit("a b", "c"), "c"),
        ("x\n    a\n\tb\ny", Edit("a\nb", "c"), "x\nc\ny"),
        ("x\na  b\ny", Edit("a b\n", "c"), "x\nc\ny"),
        ("x\nfirst\nmiddle\nlast\ny", Edit("first\nsomething else\nlast", "c"), "x\nc\ny"),
        ("a a", Edit("a", "c"), "c a"),
        ("a’a’", Edit("a'", "c", every=True), "cc"),
    ],
)
def test_what_a_forgiving_tool_could_make_of_it(before: str, edit: Edit, after: str) -> None:
    assert after in possible_edits(before, [edit])


def test_an_edit_that_fits_nowhere_has_no_outcome() -> None:
    assert possible_edits(INDEX, [Edit("nothing like it", "x")]) == ()
    assert possible_edits(INDEX, [Edit(FRIDAY, "x"), Edit("nothing like it", "x")]) == ()
    assert possible_edits(INDEX, []) == ()


@settings(max_examples=150)
@given(st.data())
def test_an_exact_edit_is_among_the_possible_ones(data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(INDEX) - 1))
    old = INDEX[start : start + data.draw(st.integers(1, 40))]
    edit = Edit(old, data.draw(st.text(max_size=5)), data.draw(st.booleans()))
    exact = after_edit(INDEX, [edit])
    assert exact is None or exact in possible_edits(INDEX, [edit])
