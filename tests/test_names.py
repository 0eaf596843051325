from __future__ import annotations

import posixpath
import sys
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apm_hooks.errors import NameRefusedError
from apm_hooks.names import Names, check_name, name_key, printable, shell_word, without_invisible
from apm_hooks.records import LIMITS

ACCEPTED = [
    "team-a",
    "Team A",
    "a",
    "研究组",
    "項目：一",
    "Команда",
    "فريق",
    "می\u200cخواهم",
    "프로젝트",
    "équipe",
    "l'équipe & co. (2)",
    "v1.2",
    "team ❤\ufe0f",
    "👩\u200d💻",
    "ᠮᠣᠩ\u180b",
    "parent/child",
    "parent/Child/研究组",
    "console",
    "com10",
    "compact",
    "nulls",
    "indexes",
    "a.mdx",
    "json",
    "flush-states",
    "100%",
    "%20",
    "~team",
    "#general",
    "a_b",
    "x" * LIMITS.name_bytes,
    "é" * (LIMITS.name_bytes // 2),
    "/".join("abcdefgh"[: LIMITS.name_depth]),
]

# A name and a word of the cause.
REFUSED = [
    ("", "empty"),
    ("a/", "empty"),
    ("/a", "empty"),
    ("/etc/x", "empty"),
    ("a//b", "empty"),
    ("\u200d", "empty"),
    ("\ufe0f\u200c", "empty"),
    (".", "dot"),
    ("..", "dot"),
    ("../main/index", "dot"),
    ("a/..", "dot"),
    ("a/../../main/index", "dot"),
    ("a/./b", "dot"),
    (".hidden", "dot"),
    ("a/.hidden", "dot"),
    ("\u200d.hidden", "dot"),
    (".\u200c.", "dot"),
    ("．．", "dot"),
    ("\u2024a", "dot"),
    ("\u2025", "dot"),
    ("…a", "dot"),
    ("．．／main", "separator"),
    ("a／b", "separator"),
    ("a＼b", "separator"),
    ("\ufe68", "separator"),
    ("\u2100", "separator"),
    ("a\\b", "separator"),
    ("..\\main", "separator"),
    ("%2e%2e%2fmain", "encoded"),
    ("a%2Fb", "encoded"),
    ("a%5cb", "encoded"),
    ("a%00b", "encoded"),
    ("-1001/12", "dash"),
    ("a/-rf", "dash"),
    *((f"a{sign}b", sign) for sign in '<>:"|?*'),
    ("C:x", ":"),
    ("telegram:6012345678", ":"),
    (" a", "blank"),
    ("a ", "blank"),
    ("a/ b", "blank"),
    ("\u3000a", "blank"),
    ("a\u00a0", "blank"),
    (" ", "blank"),
    ("x.", "ends with a dot"),
    ("x./y", "ends with a dot"),
    ("a\0b", "U+0000"),
    ("a\nb", "U+000A"),
    ("a\x7fb", "U+007F"),
    ("a\x85b", "U+0085"),
    ("a\udcffb", "U+DCFF"),
    ("a\u2028b", "U+2028"),
    ("a\u2029b", "U+2029"),
    ("a\u202eb", "U+202E"),
    ("a\u2066b", "U+2066"),
    ("a\u200eb", "U+200E"),
    ("a\u200bb", "U+200B"),
    ("a\ufeffb", "U+FEFF"),
    ("a\u00adb", "U+00AD"),
    ("a\u2060b", "U+2060"),
    ("a\u3164b", "U+3164"),
    ("a\u2800b", "U+2800"),
    ("a\u034fb", "U+034F"),
    ("a\U000e0041b", "U+E0041"),
    *((name, "Windows") for name in ("con", "CON", "aux", "Prn", "nul", "a/NUL", "conin$", "CONOUT$", "clock$")),
    *((name, "Windows") for name in ("com1", "LPT9", "COM0", "com¹", "LPT²", "com\u2460", "ｃｏｎ")),
    *((name, "Windows") for name in ("nul.txt", "con.tar.gz", "aux .x", "nul.md", "com³.log")),
    *((name, "ends like") for name in ("a.md", "team.MD", "x.json", "x.lock", "a.md/b", "x．ｍｄ")),
    *((name, "ends like") for name in ("flush-state.json", "group_names.json", "index.md", "MEMORY.md")),
    *((name, "own files") for name in ("flush-state", "Flush-State", "group_names", "index", "INDEX", "memory")),
    *((name, "own files") for name in ("attention", "project", "experience", "people", "a/People", "conventions")),
    *((name, "own files") for name in ("longterm", "daily-synced", "projects", "ｉｎｄｅｘ", "index\u200d")),
    *((name, "own files") for name in ("flush-state.json.corrupt-1", "group_names.old")),
    *((name, "hosts load") for name in ("AGENTS", "claude", "a/Gemini", "QWEN")),
    ("x" * (LIMITS.name_bytes + 1), "longer"),
    ("é" * (LIMITS.name_bytes // 2 + 1), "longer"),
    ("研" * 67, "longer"),
    ("a/" + "x" * 201, "longer"),
    ("x" * 1_000_000, "too long"),
    ("a/" * 1_000_000, "too long"),
    ("/".join("a" * (LIMITS.name_depth + 1)), "nested"),
]


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name, word", REFUSED)
def test_refused_with_a_cause(name: str, word: str) -> None:
    with pytest.raises(NameRefusedError) as caught:
        check_name(name)
    cause = caught.value.cause.partition("is refused: ")[2]
    assert word in cause
    assert caught.value.remedy


def test_the_error_names_file_and_key_in_one_printable_line() -> None:
    with pytest.raises(NameRefusedError) as caught:
        check_name("a\n\x1b[31m\u202e" + "b" * 500, file="memory/groups/group_names.json", key="-100")
    text = str(caught.value)
    assert text.startswith("memory/groups/group_names.json [-100]: ")
    assert text.isprintable()
    assert len(text) < 500


def test_names_come_composed() -> None:
    decomposed = unicodedata.normalize("NFD", "équipe/Größe")
    assert decomposed != "équipe/Größe"
    assert check_name(decomposed) == "équipe/Größe"
    assert check_name("e\u0301" * (LIMITS.name_bytes // 2)) == "é" * (LIMITS.name_bytes // 2)


@pytest.mark.parametrize(
    "first, second",
    [
        ("Team", "team"),
        ("É", "é"),
        ("e\u0301", "é"),
        ("ﬁx", "fix"),
        ("Ａ１", "a1"),
        ("STRASSE", "straße"),
        ("ſ", "S"),
        ("\u212b", "å"),
        ("a\u200db", "ab"),
        ("❤\ufe0f", "❤"),
        ("x²", "x2"),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("Parent/Child", "parent/child"),
        ("İ", "i\u0307"),
    ],
)
def test_names_that_meet_have_one_key(first: str, second: str) -> None:
    assert first != second
    assert name_key(first) == name_key(second)


@pytest.mark.parametrize("first, second", [("a", "а"), ("ı", "i"), ("a b", "a-b"), ("a/b", "a b"), ("组", "祖")])
def test_names_that_do_not_meet_have_two(first: str, second: str) -> None:
    assert name_key(first) != name_key(second)


@settings(max_examples=200)
@given(st.text(st.characters(codec=None), max_size=20))
@example("\u0345\u0301")
@example("\u03b1\u0345\u200d\u0301")
def test_a_key_is_its_own_key(text: str) -> None:
    key = name_key(text)
    assert name_key(key) == key
    assert name_key(unicodedata.normalize("NFD", text)) == key


def test_every_character_that_cannot_be_seen_is_refused() -> None:
    joiners = {"\u200c", "\u200d"}
    refused = ("Cc", "Cs", "Cf", "Zl", "Zp")
    unseen = [sign for sign in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(sign) in refused]
    assert len(unseen) > 2000
    accepted = set()
    for sign in unseen:
        try:
            check_name(f"a{sign}b")
        except NameRefusedError:
            continue
        accepted.add(sign)
    assert accepted == joiners


NAMES = st.one_of(
    st.text(st.characters(codec=None), min_size=1, max_size=12),
    st.lists(
        st.sampled_from(
            [
                "a",
                "B",
                "..",
                ".",
                "/",
                "\\",
                "／",
                "．",
                "\u200d",
                ".md",
                "é",
                "e\u0301",
                " ",
                "%2f",
                "组",
                "\0",
            ]
        ),
        min_size=1,
        max_size=8,
    ).map("".join),
)


@settings(max_examples=300)
@given(NAMES)
def test_no_accepted_name_leads_out_of_the_groups_folder(name: str) -> None:
    try:
        name = check_name(name)
    except NameRefusedError:
        return
    for path in (f"memory/groups/{name}.md", f"memory/groups/{name}", f"memory/groups/{name}/attention.md"):
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            seen = unicodedata.normalize(form, without_invisible(path))
            assert posixpath.normpath(seen) == seen
            assert seen.startswith("memory/groups/")
            assert seen.count("/") == path.count("/")
            assert "\\" not in seen
            assert "\0" not in seen
        assert all(0 < len(part.encode()) <= 255 for part in path.split("/"))


def _folded_path(name: str) -> str:
    return unicodedata.normalize("NFD", f"memory/groups/{without_invisible(name)}.md".casefold())


@settings(max_examples=300)
@given(
    st.lists(
        st.one_of(NAMES, st.sampled_from(["a", "A", "ａ", "é", "e\u0301", "É", "ß", "SS", "a\u200d"])),
        max_size=6,
    )
)
def test_no_two_accepted_names_share_a_folded_path(texts: list[str]) -> None:
    names = set()
    for text in texts:
        try:
            names.add(check_name(text))
        except NameRefusedError:
            continue
    together = Names(names)
    kept = [name for name in names if not together.clash(name)]
    paths = [_folded_path(name) for name in kept]
    assert len(set(paths)) == len(kept)
    # Nor does one group's index or file lie in the folder of another.
    folders = [path[: -len(".md")] + "/" for path in paths]
    assert not [path for path in paths for folder in folders if path.startswith(folder)]


@pytest.mark.parametrize(
    "names, refused",
    [
        (["a", "b", "c/d"], set()),
        (["a", "a"], set()),
        (["Team", "team", "other"], {"Team", "team"}),
        (["Team", "team", "TEAM"], {"Team", "team", "TEAM"}),
        (["é", "e\u0301"], {"é", "e\u0301"}),
        (["p", "p/c"], {"p", "p/c"}),
        (["P", "p/c/d", "p/x"], {"P", "p/c/d", "p/x"}),
        (["p/a", "p/b", "pa"], set()),
        (["p/a", "p/a/b", "p/c"], {"p/a", "p/a/b"}),
        (["p/a", "P/A"], {"p/a", "P/A"}),
    ],
)
def test_names_side_by_side(names: list[str], refused: set[str]) -> None:
    together = Names(names)
    assert {name for name in names if together.clash(name)} == refused


def test_a_name_that_is_not_among_them_is_judged_too() -> None:
    together = Names(["Team", "p/c"])
    assert "differ only by case" in together.clash("team")
    assert "below it" in together.clash("p")
    assert "below a name" in together.clash("team/x")
    assert together.clash("teams") == ""


@pytest.mark.parametrize(
    "text, shown",
    [("a", "'a'"), ("é", "'é'"), ("a\nb", r"'a\nb'"), ("\u202e", r"'\u202e'"), ("\udcff", r"'\udcff'")],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_printable_is_bounded() -> None:
    assert printable("x" * 201) == f"'{'x' * 200}…'"
    assert printable("x" * 200) == f"'{'x' * 200}'"
    assert printable("abcd", 2) == "'ab…'"


@pytest.mark.parametrize(
    "text, word",
    [
        ("-100777", "-100777"),
        ("!r:hs", "'!r:hs'"),
        ("$(rm -rf /)", "'$(rm -rf /)'"),
        ("a'b", "'a'\"'\"'b'"),
        ("", "''"),
        ("a\nb'\\", r"$'a\U0000000ab\'\\'"),
        ("\x1b[31m\u202e", r"$'\U0000001b[31m\U0000202e'"),
    ],
)
def test_shell_words(text: str, word: str) -> None:
    assert shell_word(text) == word
    assert shell_word(text).isprintable()
