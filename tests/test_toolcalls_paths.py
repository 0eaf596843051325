"""Words for paths and patterns, as the tools of all hosts could take them."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.toolcalls.paths import Base, Why, base_of, begins_like_path, looks_like_path, normal, placed
from apm_hooks.toolcalls.patterns import Reach, literal, reaches, spread, wanted

BASE = Base("/w/p", "/home/user")


@pytest.mark.parametrize(
    ("word", "paths"),
    [
        ("a.md", ["/w/p/a.md"]),
        ("/a.md", ["/a.md"]),
        ("//a//b/./c/", ["/a/b/c"]),
        ("./a", ["/w/p/a"]),
        ("", ["/w/p"]),
        ("../a", ["/w/a", "/w/p/../a"]),
        ("x/../a", ["/w/p/a", "/w/p/x/../a"]),
        ("/../../a", ["/a", "/../../a"]),
        ("~", ["/home/user"]),
        ("~/a", ["/home/user/a"]),
        ("a~", ["/w/p/a~"]),
        ("~a.md", ["/w/p/~a.md"]),
        ("$HOME/a", ["/home/user/a", "/w/p/$HOME/a"]),
        ("${HOME}/a", ["/home/user/a", "/w/p/${HOME}/a"]),
        ("%USERPROFILE%\\a", ["/home/user/\\a", "/w/p/%USERPROFILE%\\a"]),
        ("$PWD/a", ["/w/p/a", "/w/p/$PWD/a"]),
        ("a$b.md", ["/w/p/a$b.md"]),
        ("routes/$id.tsx", ["/w/p/routes/$id.tsx"]),
        ("$id.tsx", ["/w/p/$id.tsx"]),
        ("a b.md", ["/w/p/a b.md"]),
        ("a.md ", ["/w/p/a.md ", "/w/p/a.md"]),
        ("a.md\n", ["/w/p/a.md\n", "/w/p/a.md"]),
        (" /a", ["/w/p/ /a", "/a"]),
        ("  ", ["/w/p/  ", "/w/p"]),
        ('"/a"', ['/w/p/"/a"', "/a"]),
        ("@memory/a.md", ["/w/p/@memory/a.md", "/w/p/memory/a.md"]),
        ("@~/a", ["/w/p/@~/a", "/home/user/a"]),
        ("a\u00a0b", ["/w/p/a\u00a0b", "/w/p/a b"]),
        ("a.md:10-20", ["/w/p/a.md:10-20", "/w/p/a.md"]),
        ("a.md#L3", ["/w/p/a.md#L3", "/w/p/a.md"]),
        ("file:///a/b", ["/a/b"]),
        ("FILE:///a", ["/a"]),
        ("file:/a", ["/a"]),
        ("file:a", ["/w/p/a"]),
        ("file://localhost/a", ["/a"]),
        ("file:///a%20b%2Fc", ["/a b/c"]),
        ("file:///a?x", ["/a", "/a?x"]),
        ("file:///%zz%41", ["/%zzA"]),
        ("vscode-remote://host/a/b", ["/a/b", "/w/p/vscode-remote:/host/a/b"]),
        ("https://example.org/a", ["/w/p/https:/example.org/a"]),
        ("C:\\a\\b", ["/w/p/C:\\a\\b"]),
        ("memory\\main\\a.md", ["/w/p/memory\\main\\a.md"]),
    ],
)
def test_a_word_is_placed_in_each_way_that_a_host_could_take_it(word: str, paths: list[str]) -> None:
    assert placed(word, BASE).paths == tuple(paths)
    assert not placed(word, BASE).reasons


@pytest.mark.parametrize(
    ("word", "reason", "paths"),
    [
        ("~bob/a", Why.HOME, ["/w/p/~bob/a"]),
        ("$DATA/a", Why.VARIABLE, ["/w/p/$DATA/a"]),
        ("$env:DATA\\a", Why.VARIABLE, ["/w/p/$env:DATA\\a"]),
        ("file://server/a", Why.URI, ["/w/p/server/a", "/a"]),
        ("file://~/a", Why.URI, ["/home/user/a", "/a"]),
        ("a\0b", Why.NUL, []),
        ("file:///a%00b", Why.NUL, []),
    ],
)
def test_a_word_that_hosts_may_read_otherwise_is_doubted(word: str, reason: Why, paths: list[str]) -> None:
    assert placed(word, BASE).reasons == (reason,)
    assert placed(word, BASE).paths == tuple(paths)


def test_without_a_directory_or_home_nothing_is_made_up() -> None:
    nowhere = base_of("not/absolute", "")
    assert nowhere == Base("", "")
    assert placed("a", nowhere).reasons == (Why.DIRECTORY,)
    assert placed("~", nowhere).reasons == (Why.HOME,)
    assert placed("/a", nowhere).paths == ("/a",)
    assert base_of("/w/./p/", "/h\0") == Base("/w/p", "")


@settings(max_examples=300)
@given(st.text(st.characters(exclude_characters="\0"), max_size=40))
def test_a_placed_path_is_absolute_and_the_plain_reading_is_among_them(word: str) -> None:
    found = placed(word, BASE)
    assert all(path.startswith("/") and "\0" not in path for path in found.paths)
    assert found.paths or found.reasons
    if word.startswith("/"):
        assert found.paths[0] == normal(word)


@pytest.mark.parametrize(
    "text",
    ["/a", "~/a", "~", "./a", "..", "../a", "a/b", "a.md", ".apm", "file:///a", "C:\\a", "a\\b", " /a b\nc", "@/a",
     "$HOME/a", "memory/my notes.md", "MEMORY.md", "\ufeff/a", "vscode-remote://h/a"],
)  # fmt: skip
def test_what_reads_like_a_path(text: str) -> None:
    assert looks_like_path(text)


@pytest.mark.parametrize(
    "text", ["", " ", "word", "two words", "https://example.org/a", "a.b\nc/d", "10", "mailto:me@x.org", "What?"]
)
def test_what_does_not_read_like_a_path(text: str) -> None:
    assert not looks_like_path(text)
    assert not begins_like_path(text)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**/*.md", [Reach("", recursive=True, only=("*.md",))]),
        ("**", [Reach("", recursive=True)]),
        ("*.md", [Reach("", recursive=True, only=("*.md",))]),
        ("a/*.md", [Reach("a/*.md", glob=True)]),
        ("a/b.md", [Reach("a/b.md")]),
        ("./a/b.md", [Reach("a/b.md")]),
        ("a/**/b/*.md", [Reach("a", recursive=True, only=("*.md",))]),
        ("a/*/**", [Reach("a/*", glob=True, recursive=True)]),
        ("a/**.md", [Reach("a", recursive=True, only=("*.md",))]),
        ("a/", [Reach("a", recursive=True)]),
        ("/a/**", [Reach("/a", recursive=True)]),
        ("/**/*.md", [Reach("/", recursive=True, only=("*.md",))]),
        ("~/*.md", [Reach("~/*.md", glob=True)]),
        ("..", [Reach("..")]),
        ("../*", [Reach("../*", glob=True)]),
        ("*.{ts,tsx}", [Reach("", recursive=True, only=("*.ts",)), Reach("", recursive=True, only=("*.tsx",))]),
        ("{a,b/{c,d}}/x.md", [Reach("a/x.md"), Reach("b/c/x.md"), Reach("b/d/x.md")]),
        ("!*.md", [Reach("", recursive=True)]),
        ("a/@(b|c)/d", [Reach("a", recursive=True)]),
        ("a\\b*", [Reach("", recursive=True)]),
        ("a/{1..9}", [Reach("", recursive=True)]),
        ("{a,b}" * 20, [Reach("", recursive=True)]),
    ],
)
def test_a_pattern_covers_no_less_than_it_does(pattern: str, expected: list[Reach]) -> None:
    assert list(reaches(pattern)) == expected or set(reaches(pattern)) == set(expected)


def test_a_floating_pattern_counts_at_any_depth() -> None:
    assert reaches("a/b.md", floating=True) == (Reach("", recursive=True, only=("b.md",)),)
    assert reaches("/a/*.md", floating=True) == (Reach("/a/*.md", glob=True),)


@pytest.mark.parametrize(
    ("globs", "types", "only"),
    [
        ([], [], ()),
        (["*.py"], [], ("*.py",)),
        (["src/**/*.py"], [], ("*.py",)),
        (["*.py,*.pyi"], [], ("*.py,*.pyi", "*.py", "*.pyi")),
        (["*.py *.pyi"], [], ("*.py *.pyi", "*.py", "*.pyi")),
        (["*.{py,pyi}"], [], ("*.py", "*.pyi")),
        (["!*.md"], [], ()),
        (["!*.md", "*.py"], [], ("*.py",)),
        (["memory/**"], [], ()),
        (["memory"], [], ()),
        (["*.py", "**"], [], ()),
        ([".*"], [], ()),
        ([], ["rust"], ("*.rs",)),
        ([], ["rust", "py"], ("*.rs", "*.py", "*.pyi")),
        ([], ["markdown"], ()),
        ([], ["rust", "all"], ()),
        (["*.py"], ["rust"], ("*.py",)),
    ],
)
def test_a_search_is_limited_only_by_what_limits_it(globs: list[str], types: list[str], only: tuple[str, ...]) -> None:
    assert wanted(globs, types) == only


@settings(max_examples=200)
@given(st.text("ab{},", max_size=14))
def test_braces_spread_to_plain_patterns(pattern: str) -> None:
    found = spread(pattern)
    assert found is not None
    assert all(not ("{" in each and "}" in each[each.index("{") :]) for each in found)


@settings(max_examples=200)
@given(st.text("ab*?[]!-/", max_size=12))
def test_a_literal_matches_itself_alone(path: str) -> None:
    assert fnmatchcase(path, literal(path))
    assert not fnmatchcase(path + "x", literal(path))
