"""A notes file becomes a draft: nothing is guessed, nothing is lost in silence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.facts.draft import MISSING, draft
from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.lint import Checks, lint
from apm_hooks.facts.model import Fact, Memory
from tests.facts.memories import GOOD, TODAY


def facts_of(notes: str) -> list[Fact]:
    made = draft(notes)
    index = parse_facts(made.text)
    assert index.misses == ()
    assert len(index.facts) == made.facts
    assert sum(fact.consequence == MISSING for fact in index.facts) == made.missing
    return list(index.facts)


@pytest.mark.parametrize(
    ("notes", "slug", "text", "so"),
    [
        ("- Deploys stop on Fridays", "deploys-stop-on-fridays", "Deploys stop on Fridays", "?"),
        ("* It is slow. So: warm up", "it-is-slow", "It is slow.", "warm up"),
        ("1. It is slow. **so:** warm up", "it-is-slow", "It is slow.", "warm up"),
        ("- [x] It is done", "it-is-done", "It is done", "?"),
        ("A paragraph\nof two lines.", "a-paragraph-of-two-lines", "A paragraph of two lines.", "?"),
        ("- an item\n  that goes on", "an-item-that-goes-on", "an item that goes on", "?"),
        ("- [2026-01-02] it rained", "2026-01-02-it-rained", "\\[2026-01-02] it rained", "?"),
        (
            "- 用户喜欢深色模式，因为他们晚上用",
            "用户喜欢深色模式-因为他们晚上用",
            "用户喜欢深色模式，因为他们晚上用",
            "?",
        ),
        ("- [see](https://example.org) it", "see-it", "[see](https://example.org) it", "?"),
        ("- see [note](notes/a.md) there", "see-note-there", "see [see note](notes/a.md) there", "?"),
        ("- ...", "fact", "...", "?"),
        ("- It is so: slow", "it-is-so-slow", "It is so: slow", "?"),
    ],
)
def test_items_and_paragraphs_become_facts(notes: str, slug: str, text: str, so: str) -> None:
    (fact,) = facts_of(f"# Notes\n\n{notes}\n")
    assert (fact.slug, fact.text, fact.consequence) == (slug, text, so)


def test_a_known_provenance_is_kept() -> None:
    (fact,) = facts_of("- [measured] It takes 2 s, n=4")
    assert (fact.provenance, fact.text) == ("measured", "It takes 2 s, n=4")


def test_a_fact_stays_what_it_is() -> None:
    assert GOOD in draft(f"{GOOD}\n{GOOD}\n").text.split("\n")
    assert [fact.slug for fact in facts_of(f"{GOOD}\n- Deploys stop on Fridays\n")] == [
        "good",
        "deploys-stop-on-fridays",
    ]


def test_headings_become_sections_and_slugs_stay_apart() -> None:
    found = facts_of("# Notes\n\n## Ops\n- same words\n\n### 产品 ##\n- same words\n- same words\n")
    assert [(fact.section, fact.slug) for fact in found] == [
        ("Ops", "same-words"), ("产品", "same-words-2"), ("产品", "same-words-3"),
    ]  # fmt: skip


def test_what_is_no_line_of_text_is_left_out_and_told() -> None:
    notes = "---\na: b\n---\n# Notes\n\n- one\n\n```\ncode\n```\n\n| a |\n|---|\n\n***\n<!-- x -->\n- two\n"
    made = draft(notes)
    assert made.left == (1, 2, 3, 8, 9, 10, 12, 13, 15, 16)
    assert made.facts == 2


def test_no_notes_make_an_index_that_is_clean() -> None:
    made = draft("")
    assert made.facts == 0
    assert lint(Memory(made.text), Checks(TODAY)) == ()


PIECES = st.sampled_from(
    ["- ", "* ", "\n", "\n\n", "  ", "    ", "\t", "# ", "## ", "```\n", "**So:** ", "So: ", "**so:**", "[measured] ",
     "[x] ", "· ", "`a` ", "`", "**`a`** ", "[note](notes/a.md) ", "word ", "研发", "?", ".", "[[a]] ", "| ", "---\n",
     "\u2028", "\\"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=14).map("".join))
@settings(max_examples=300)
def test_any_notes_make_a_draft_that_parses(notes: str) -> None:
    for fact in facts_of(notes):
        said = [found.rule for found in lint(Memory(f"- **`a`** · x. **So:** {fact.consequence}"), Checks(TODAY))]
        assert (fact.consequence == MISSING) is ("no-consequence" in said)
