"""The grammar: what parses, where its parts stand, and that a line never passes in silence."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.decoding import decode
from apm_hooks.facts.grammar import parse_facts, parse_line, render
from apm_hooks.facts.misses import looks_like
from apm_hooks.facts.model import PROVENANCES, Fact, Miss
from apm_hooks.facts.parts import is_slug, note_path, slug_key, without_code

WHOLE = "- **`cold-start`** · [measured] It takes 2 s (n=40). **So:** warm up. · [note](notes/cold-start.md)"


def fact_of(line: str) -> Fact:
    read = parse_line(line)
    assert isinstance(read, Fact), read
    return read


def test_every_part_is_read_with_its_place() -> None:
    fact = fact_of(WHOLE)
    said = (fact.slug, fact.provenance, fact.text, fact.consequence, fact.note)
    assert said == ("cold-start", "measured", "It takes 2 s (n=40).", "warm up.", "notes/cold-start.md")
    for column, part in (
        (fact.slug_column, "cold-start`"), (fact.provenance_column, "measured]"), (fact.text_column, "It takes"),
        (fact.so_column, "**So:**"), (fact.consequence_column, "warm up."), (fact.note_column, "[note]"),
    ):  # fmt: skip
        assert WHOLE[column - 1 :].startswith(part)
    assert fact.chars == len(WHOLE)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("- **`a`** · One. **So:** x.", ("a", "", "One.", "x.", "")),
        ("- **`a`** · [will] One. **So:** x.", ("a", "will", "One.", "x.", "")),
        ("- **`a`** · [derived] One. **So:** x.", ("a", "derived", "One.", "x.", "")),
        ("- **`a`** · One.", ("a", "", "One.", None, "")),
        ("- **`a`** · One. **So:**", ("a", "", "One.", "", "")),
        ("- **`a`** · One. · [note](notes/a.md)", ("a", "", "One.", None, "notes/a.md")),
        ("- **`a`** · One **So:** x. \t ", ("a", "", "One", "x.", "")),
        ("- **`a`** · One.**So:**x.", ("a", "", "One.", "x.", "")),
        ("- **`a`** · One · two. **So:** x.", ("a", "", "One · two.", "x.", "")),
        ("- **`a`** · See `**So:** y` there. **So:** x.", ("a", "", "See `**So:** y` there.", "x.", "")),
        ("- **`a`** · See `[note](b)`. **So:** x.", ("a", "", "See `[note](b)`.", "x.", "")),
        ("- **`研发-窗口`** · 周五不发布。 **So:** 周四前合并。",
         ("研发-窗口", "", "周五不发布。", "周四前合并。", "")),
        ("- **`Éa.b_c`** · 🏳️‍🌈 One. **So:** 𠮷.", ("Éa.b_c", "", "🏳️‍🌈 One.", "𠮷.", "")),
        ("- **`a`** · One\u2028two\x0b. **So:** x.", ("a", "", "One\u2028two\x0b.", "x.", "")),
        ("- **`a`** · [see](https://example.org) one. **So:** x.",
         ("a", "", "[see](https://example.org) one.", "x.", "")),
        ("- **`a`** · [guess] One. **So:** x.", ("a", "guess", "One.", "x.", "")),
    ],
)  # fmt: skip
def test_lines_that_parse(line: str, said: tuple[str, str, str, str | None, str]) -> None:
    fact = fact_of(line)
    assert (fact.slug, fact.provenance, fact.text, fact.consequence, fact.note) == said


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("notes/a.md", "a.md"),
        ("./notes/a.md", "a.md"),
        ("notes//a.md", "a.md"),
        ("notes/a.md#part", "a.md"),
        ("<notes/a b.md>", "a b.md"),
        ("notes/a%20b.md", "a b.md"),
        ("notes/deep/a.md", "deep/a.md"),
        ("notes/../notes/a.md", "a.md"),
        ("notes/a(1).md", "a(1).md"),
        ("notes/e\u0301.md", "é.md"),
        ("../a.md", ""),
        ("notes/../a.md", ""),
        ("notes/../../a.md", ""),
        ("/notes/a.md", ""),
        ("https://example.org/notes/a.md", ""),
        ("file:notes/a.md", ""),
        ("notes\\a.md", ""),
        ("notes", ""),
        ("notes/", ""),
        ("%2e%2e/a.md", ""),
        ("notes/a%00.md", ""),
        ("#part", ""),
        ("", ""),
    ],
)
def test_targets_of_note_links(target: str, path: str) -> None:
    found, why = note_path(target)
    assert found == path
    assert bool(why) is not bool(path)
    line = f"- **`a`** · One. **So:** x. · [note]({target})"
    assert fact_of(line).note == target


def test_a_note_link_may_have_a_title() -> None:
    assert fact_of('- **`a`** · One. **So:** x. · [note](notes/a.md "Why")').note == "notes/a.md"


ENDS = {"LF": "\n", "CRLF": "\r\n", "CR": "\r"}
MARKS = {"none": b"", "BOM": b"\xef\xbb\xbf"}
LINES = ("# Facts", "", "## 产品", "", WHOLE, "- **`研发`** · 周五不发布。 **So:** 周四前合并。", "* **`b`** · Two.")


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("closed", [True, False])
def test_line_ends_and_marks_make_no_difference(end: str, mark: str, closed: bool) -> None:
    data = MARKS[mark] + (ENDS[end].join(LINES) + (ENDS[end] if closed else "")).encode()
    read = parse_facts(decode(data)[0])
    assert read == parse_facts("\n".join(LINES))
    assert [fact.line for fact in read.facts] == [5, 6]
    assert [fact.section for fact in read.facts] == ["产品", "产品"]
    assert [(miss.line, miss.column) for miss in read.misses] == [(7, 1)]
    assert read.facts[1].so_column == LINES[5].index("**So:**") + 1


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_reads_the_same(encoding: str) -> None:
    data = ("\ufeff" + "\r\n".join(LINES)).encode(encoding)
    assert parse_facts(decode(data)[0]) == parse_facts("\n".join(LINES))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("```", "```"),
        ("~~~ text", "~~~"),
        ("````", "````"),
        ("- in an item:\n  ```", "  ```"),
        ("> ```", "> ```"),
    ],
)
def test_what_stands_in_a_fence_is_an_example(before: str, after: str) -> None:
    lead = "> " if before.startswith("> ") else "  " if "\n" in before else ""
    text = f"{before}\n{lead}{WHOLE}\n{lead}* **`x`** · y\n{after}\n- **`real`** · One. **So:** x.\n"
    read = parse_facts(text)
    assert [fact.slug for fact in read.facts] == ["real"]
    assert read.misses == ()


@pytest.mark.parametrize("indent", ["    ", "\t", "  \t", "     ", "\t\t"])
def test_what_is_indented_as_code_is_an_example(indent: str) -> None:
    assert parse_line(indent + WHOLE) is None


def test_a_fence_that_is_never_closed_does_not_hide_facts_in_silence() -> None:
    read = parse_facts(f"# Facts\n\n```\nx\n{WHOLE}\n{WHOLE}\n")
    assert read.facts == ()
    assert [(miss.line, miss.column) for miss in read.misses] == [(3, 1)]
    assert "2 lines that look like facts, the first in line 5" in read.misses[0].sentence
    assert parse_facts("# Facts\n\n```\nx\n").misses == ()


@pytest.mark.parametrize(
    "line",
    [
        "", "# Facts", "Prose with a **`name`** in it.", "- an item", "- `cmd` – does it", "- **Term** - what it is",
        "- [a link](https://example.org)", "- see [the log](../log/decisions.md)", "1. first", "| a | b |", "---",
        "So: we went home.", "- [ ] a task", "> quoted", "<!-- - -->", "- a · b", "**Bold** · text",
    ],
)  # fmt: skip
def test_ordinary_lines_are_left_alone(line: str) -> None:
    assert parse_line(line) is None


@pytest.mark.parametrize(
    ("slug", "good"),
    [("a", True), ("a-b.c_d", True), ("研发", True), ("नमस्ते", True), ("a b", False), ("", False), ("a/b", False),
     ("-a", False), (".a", False), ("a`", False), ("a[b", False), ("x" * 100, True), ("x" * 101, False),
     ("a\x00", False)],
)  # fmt: skip
def test_slugs(slug: str, good: bool) -> None:
    assert is_slug(slug) is good


def test_slugs_differ_by_more_than_case_and_form() -> None:
    assert slug_key("É") == slug_key("e\u0301")
    assert slug_key("Straße") == slug_key("STRASSE")
    assert slug_key("研\u200b发") == slug_key("研发")
    assert slug_key("a") != slug_key("b")


@pytest.mark.parametrize(
    ("text", "masked"),
    [("a `b` c", "a     c"), ("``a`b`` c", "        c"), ("a ` b", "a ` b"), ("`a` `b", "    `b"), ("``", "``")],
)
def test_code_is_masked_by_blanks(text: str, masked: str) -> None:
    assert without_code(text) == masked


@given(st.text(alphabet="`ab ", max_size=40))
def test_a_mask_keeps_every_column(text: str) -> None:
    masked = without_code(text)
    assert len(masked) == len(text)
    assert all(now in (was, " ") for was, now in zip(text, masked, strict=True))


SLUGS = st.from_regex(r"[a-z研é][a-z0-9研]{0,8}(?:-[a-z0-9]{1,5}){0,2}", fullmatch=True)
PROSE = st.text(
    st.sampled_from(string.ascii_letters + string.digits + " .,;()研发🏳é=/%'"), min_size=1, max_size=40
).map(lambda text: " ".join(text.split())).filter(lambda text: text not in ("", "."))  # fmt: skip


@given(SLUGS, st.sampled_from(("", *PROVENANCES)), PROSE, PROSE, st.sampled_from(("", "notes/a.md", "<notes/a b.md>")))
@settings(max_examples=200)
def test_what_is_rendered_is_read_back(slug: str, provenance: str, text: str, so: str, note: str) -> None:
    line = render(Fact(1, slug, provenance, text, so, note))
    fact = fact_of(line)
    assert (fact.slug, fact.provenance, fact.text, fact.consequence, fact.note) == (slug, provenance, text, so, note)
    assert render(fact) == line


PIECES = st.sampled_from(
    ["- ", "* ", "+ ", "-", " ", "  ", "    ", "\t", "> ", "1. ", "**`a`**", "**`b c`**", "`a`", "**a**", "a", " · ",
     "·", " • ", " - ", "[measured]", "[Measured]", "[x]", "[[a]]", " One. ", "研发。", "**So:**", "So:", "**so:** ",
     "__So:__ ", " y", " · [note](notes/a.md)", "[note](", ")", ".", "```", "`", "**", "review: 2026-02-30"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=9).map("".join))
@settings(max_examples=400)
def test_a_line_that_looks_like_a_fact_is_one_or_is_told(line: str) -> None:
    read = parse_line(line)
    if looks_like(line, PROVENANCES):
        assert read is not None
    if line.startswith("- **`") and "`**" in line:
        assert read is not None
    if isinstance(read, Miss):
        assert 1 <= read.column <= len(line) + 1
        assert read.sentence
        assert read.remedy


@given(st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    read = parse_facts(lines)
    assert len(read.facts) + len(read.misses) <= lines.count("\n") + 2
