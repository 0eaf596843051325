"""Writes to the index: one line changes, all else keeps its bytes; nothing lands that would add an error."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apm_hooks.errors import MemoryFileError, NameRefusedError, UsageError
from apm_hooks.facts.config import Member
from apm_hooks.facts.model import CUTS, INDEX
from apm_hooks.facts.store import FactStore
from apm_hooks.notebook import THERE, WRITTEN, Written
from tests.facts.memories import GOOD, TODAY, lay_out

LONG = "- **`long`** · It is slow. It was 2 s in May, and 3 s in June. **So:** warm up."
HEAD = "# Facts\n\n"


def store(root: Path, *lines: str, text: str | None = None) -> FactStore:
    lay_out(root, {INDEX: HEAD + "\n".join(lines) + "\n" if text is None else text})
    return FactStore(str(root), Member("bot"), today=TODAY)


def index(root: Path) -> list[str]:
    return (root / INDEX).read_text(encoding="utf-8").removeprefix(HEAD).split("\n")[:-1]


def test_a_fact_is_added_behind_the_last_one(tmp_path: Path) -> None:
    written = store(tmp_path, GOOD, "", "Prose.").add("new", "One fact", "it changes x", provenance="will")
    assert (written.path, written.status, written.line) == (INDEX, WRITTEN, 4)
    assert index(tmp_path) == [GOOD, "- **`new`** · [will] One fact. **So:** it changes x.", "", "Prose."]


def test_the_same_fact_is_not_added_twice(tmp_path: Path) -> None:
    made = store(tmp_path, GOOD)
    made.add("new", "One.", "x.")
    before = (tmp_path / INDEX).read_bytes()
    assert made.add("new", "One.", "x.").status == THERE
    assert (tmp_path / INDEX).read_bytes() == before


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("One", ["## One", "", GOOD, "- **`new`** · x. **So:** y.", "", "## Two", ""]),
        ("two", ["## One", "", GOOD, "", "## Two", "", "- **`new`** · x. **So:** y.", ""]),
    ],
)
def test_a_fact_is_added_to_its_section(tmp_path: Path, section: str, expected: list[str]) -> None:
    store(tmp_path, "## One", "", GOOD, "", "## Two", "").add("new", "x.", "y.", section=section)
    assert index(tmp_path) == expected


def test_an_unknown_section_names_those_that_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Sections: 'One'"):
        store(tmp_path, "## One", GOOD).add("new", "x.", "y.", section="Three")
    with pytest.raises(UsageError, match="has no sections"):
        store(tmp_path, GOOD).add("new", "x.", "y.", section="Three")


@pytest.mark.parametrize(("text", "after"), [("", ""), ("# Facts", "# Facts\n\n"), ("# Facts\n\n\n", "# Facts\n\n")])
def test_the_first_fact_of_an_index(tmp_path: Path, text: str, after: str) -> None:
    store(tmp_path, text=text).add("new", "x.", "y.")
    written = (tmp_path / INDEX).read_text()
    assert written.startswith(f"{after}- **`new`** · x. **So:** y.")
    assert written.endswith(text[7:] if text.endswith("\n") else "y." if text else "y.\n")


def test_parts_are_corrected_in_place(tmp_path: Path) -> None:
    made = store(tmp_path, LONG, GOOD)
    made.correct("good", so="merge by Wednesday")
    made.correct("GOOD", text="Deploys stop on Thursdays", provenance="derived")
    assert index(tmp_path) == [
        LONG, "- **`good`** · [derived] Deploys stop on Thursdays. **So:** merge by Wednesday.",
    ]  # fmt: skip
    assert made.correct("good", provenance="derived").status == THERE
    made.correct("good", provenance="")
    assert index(tmp_path)[1].startswith("- **`good`** · Deploys stop on Thursdays.")


def test_a_cut_is_logged_with_its_reason(tmp_path: Path) -> None:
    made = store(tmp_path, LONG, GOOD)
    made.cut("long", "it is fast now")
    assert index(tmp_path) == [GOOD]
    made.cut("good", "we deploy on any day")
    assert index(tmp_path) == []
    assert (tmp_path / CUTS).read_text(encoding="utf-8") == (
        f"# Cuts\n\n- 2026-06-01 · it is fast now. · was: {LONG[2:]}\n"
        f"- 2026-06-01 · we deploy on any day. · was: {GOOD[2:]}\n"
    )


def test_an_argument_moves_into_a_note(tmp_path: Path) -> None:
    store(tmp_path, GOOD, LONG).move("long")
    assert index(tmp_path)[1] == "- **`long`** · It is slow. **So:** warm up. · [note](notes/long.md)"
    assert (tmp_path / "memory/notes/long.md").read_text() == "# long\n\nIt was 2 s in May, and 3 s in June.\n"


def test_an_argument_moves_into_the_note_that_is_there(tmp_path: Path) -> None:
    made = store(tmp_path, LONG + " · [note](notes/why.md)")
    lay_out(tmp_path, {"memory/notes/why.md": "# Why\r\n\r\nBecause.\r\n"})
    made.move("long", text="It is slow", so="warm up first")
    assert index(tmp_path) == ["- **`long`** · It is slow. **So:** warm up first. · [note](notes/why.md)"]
    note = (tmp_path / "memory/notes/why.md").read_bytes().decode()
    assert note.startswith("# Why\r\n\r\nBecause.\r\n\r\nIt is slow. It was 2 s in May, and 3 s in June.\r\n")
    assert "So: warm up." in note


def test_a_fact_of_one_sentence_has_no_argument_to_move(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one sentence only"):
        store(tmp_path, GOOD).move("good")


@pytest.mark.parametrize(
    ("rule", "slug", "text", "so", "provenance", "note"),
    [
        ("duplicate-slug", "good", "x.", "y.", "", ""),
        ("duplicate-slug", "GOOD", "x.", "y.", "", ""),
        ("measured-without-n", "a", "It takes 2 s.", "y.", "measured", ""),
        ("unknown-provenance", "a", "x.", "y.", "guess", ""),
        ("dangling-reference", "a", "See [[nothing]].", "y.", "", ""),
        ("dangling-note", "a", "x.", "y.", "", "notes/none.md"),
        ("dangling-note", "a", "x.", "y.", "", "../x.md"),
        ("update-chain", "a", "It was 2. Updated: it is 3.", "y.", "", ""),
        ("review-due", "a", "x; review: 2020-01-01.", "y.", "", ""),
        ("no-consequence", "a", "x.", "?", "", ""),
    ],
)
def test_what_would_add_an_error_is_refused_and_names_the_rule(
    tmp_path: Path, rule: str, slug: str, text: str, so: str, provenance: str, note: str
) -> None:
    made = store(tmp_path, GOOD)
    before = (tmp_path / INDEX).read_bytes()
    with pytest.raises(UsageError) as error:
        made.add(slug, text, so, provenance=provenance, note=note)
    assert f"({rule})" in error.value.cause
    assert error.value.remedy
    assert (tmp_path / INDEX).read_bytes() == before
    assert not (tmp_path / CUTS).exists()


def test_a_warning_is_no_reason_to_refuse(tmp_path: Path) -> None:
    store(tmp_path, GOOD).add("a", "It takes 2 s, n=40.", "y.", provenance="measured")
    assert len(index(tmp_path)) == 2


def test_errors_elsewhere_do_not_block(tmp_path: Path) -> None:
    made = store(tmp_path, "* **`miss`** · x.", "- **`none`** · x.", GOOD, GOOD)
    made.add("new", "x.", "y.")
    made.correct("none", text="z.")
    made.cut("good", "twice", line=6)
    assert index(tmp_path) == ["* **`miss`** · x.", "- **`none`** · z.", GOOD, "- **`new`** · x. **So:** y."]


def test_what_a_cut_would_leave_dangling_is_refused(tmp_path: Path) -> None:
    made = store(tmp_path, GOOD, "- **`b`** · As [[good]] says. **So:** x.")
    with pytest.raises(UsageError, match="dangling-reference"):
        made.cut("good", "why not")
    assert not (tmp_path / CUTS).exists()
    made.cut("b", "first this")
    made.cut("good", "and then that")


def test_a_slug_that_stands_twice_asks_for_a_line(tmp_path: Path) -> None:
    made = store(tmp_path, GOOD, GOOD)
    with pytest.raises(UsageError, match="in lines 3, 4"):
        made.correct("good", so="x")
    made.correct("good", so="x", line=4)
    assert index(tmp_path)[0] == GOOD
    with pytest.raises(UsageError, match="there is no fact 'good'"):
        made.correct("good", so="x", line=5)


@pytest.mark.parametrize(
    ("slug", "text", "so"),
    [
        ("a b", "x.", "y."), ("", "x.", "y."), ("a/../b", "x.", "y."), ("a", "", "y."), ("a", "x.", " "),
        ("a", "two\nlines", "y."), ("a", "x **So:** z", "y."), ("a", "[will] x.", "y."), ("a", "· x", "y."),
        ("a", "x.", "y. · [note](notes/a.md)"), ("a", "x [note](notes/a.md) z", "y."), ("a", "x. **so:** z", "y."),
    ],
)  # fmt: skip
def test_what_would_not_be_read_back_is_refused(tmp_path: Path, slug: str, text: str, so: str) -> None:
    made = store(tmp_path, GOOD)
    with pytest.raises(UsageError):
        made.add(slug, text, so)
    assert index(tmp_path) == [GOOD]


def test_secrets_are_refused(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    made = store(tmp_path, LONG)
    acts: tuple[Callable[[], Written], ...] = (
        lambda: made.add("a", f"The key is {secret}", "y."), lambda: made.correct("long", so=secret),
        lambda: made.cut("long", secret), lambda: made.move("long", text=secret),
    )  # fmt: skip
    for act in acts:
        with pytest.raises(UsageError, match="memory keeps no secrets") as error:
            act()
        assert secret not in str(error.value)
    assert index(tmp_path) == [LONG]


def test_nothing_to_correct_and_no_index(tmp_path: Path) -> None:
    made = FactStore(str(tmp_path), Member("bot"), today=date(2026, 6, 1))
    with pytest.raises(UsageError, match="nothing to correct"):
        made.correct("a")
    with pytest.raises(MemoryFileError, match="apm-hooks facts init"):
        made.add("a", "x.", "y.")
    made.initialise("# Facts\n")
    with pytest.raises(MemoryFileError, match="exists already"):
        made.initialise("# Facts\n")
    assert (tmp_path / INDEX).read_text() == "# Facts\n"


def test_a_slug_that_no_file_may_have_gets_no_note(tmp_path: Path) -> None:
    made = store(tmp_path, LONG.replace("`long`", "`con`"))
    with pytest.raises(NameRefusedError):
        made.move("con")
    assert not (tmp_path / "memory/notes").exists()


def test_a_link_in_the_index_s_place_is_not_followed(tmp_path: Path) -> None:
    lay_out(tmp_path, {"elsewhere.md": GOOD}, {INDEX: "../elsewhere.md"})
    with pytest.raises(MemoryFileError, match="symbolic link"):
        FactStore(str(tmp_path), Member("bot"), today=TODAY).add("a", "x.", "y.")
    assert (tmp_path / "elsewhere.md").read_text() == GOOD


def test_what_the_index_held_is_kept(tmp_path: Path) -> None:
    store(tmp_path, GOOD).add("a", "x.", "y.")
    kept = [path for path in (tmp_path / ".apm/backup").rglob("*-*") if path.is_file()]
    assert [path.read_text(encoding="utf-8") for path in kept] == [f"{HEAD}{GOOD}\n"]


ENDS = st.sampled_from((b"\n", b"\r\n", b"\r"))
LINES = st.sampled_from(
    [GOOD, LONG, "", "# Facts", "## Part", "prose  ", "* **`miss`** · x.", "- **`none`** · x.", "```",
     "研发\u2028", "\t"]
).map(str.encode)  # fmt: skip


@given(
    st.lists(st.tuples(LINES, ENDS), max_size=8), st.sampled_from((b"", b"\xef\xbb\xbf")), st.booleans(),
    st.sampled_from(("add", "correct", "cut", "move")),
)  # fmt: skip
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_write_keeps_every_other_byte(
    tmp_path: Path, pairs: list[tuple[bytes, bytes]], mark: bytes, closed: bool, action: str
) -> None:
    data = b"".join(line + end for line, end in pairs)
    data = mark + (data if closed or not pairs else data[: -len(pairs[-1][1])])
    lay_out(tmp_path, {INDEX: data})
    made = FactStore(str(tmp_path), Member("bot"), today=TODAY)
    try:
        if action == "add":
            made.add("brand-new", "x.", "y.")
        elif action == "correct":
            made.correct("long", so="another")
        elif action == "cut":
            made.cut("long", "why")
        else:
            made.move("long")
    except UsageError:
        assert (tmp_path / INDEX).read_bytes() == data
        return
    after = (tmp_path / INDEX).read_bytes()
    start = next((at for at, (was, now) in enumerate(zip(data, after, strict=False)) if was != now),
                 min(len(data), len(after)))  # fmt: skip
    room = min(len(data), len(after)) - start
    end = next((at for at in range(room) if data[-1 - at] != after[-1 - at]), room)
    gone, new = data[start : len(data) - end], after[start : len(after) - end]
    if action == "add":
        assert gone == b""
        assert b"brand-new" in new
        assert len(new) <= len(b"\r\n\r\n- **`brand-new`** \xc2\xb7 x. **So:** y.\r\n")
    elif action == "cut":
        assert new.strip() == b""
    assert len(gone) <= len(LONG.encode()) + 2
    assert after.startswith(mark)
