"""Shell commands: what they could touch, and that nothing is passed over in silence (protocol, section 8)."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.errors import UsageError
from apm_hooks.shell import grammar as shell_grammar
from apm_hooks.shell.reading import (
    OPAQUE,
    SHELL_LIMITS,
    Doubt,
    Reading,
    Reason,
    Use,
    UseKind,
    could_name,
    grammar_available,
    read_command,
)
from tests.test_linear import executed_lines

PARSERS: tuple[Literal["grammar", "plain"], ...] = ("grammar", "plain")
CWD, HOME = "/home/ana/ws", "/home/ana"


@cache
def benchmark() -> ModuleType:
    """`benchmarks/shell.py`, which reads the corpus."""
    path = Path(__file__).parent.parent / "benchmarks" / "shell.py"
    spec = importlib.util.spec_from_file_location("shell_benchmark", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shell_benchmark"] = module
    spec.loader.exec_module(module)
    return module


def read(command: str, parser: Literal["auto", "grammar", "plain"] = "auto") -> Reading:
    return read_command(command, cwd=CWD, home=HOME, parser=parser)


def paths(command: str, parser: Literal["auto", "grammar", "plain"] = "auto") -> list[str]:
    return [use.path for use in read(command, parser).uses if use.kind is UseKind.READ]


def reasons(command: str, parser: Literal["auto", "grammar", "plain"] = "auto") -> set[Reason]:
    return {doubt.reason for doubt in read(command, parser).doubts}


def test_the_corpus_is_large_and_of_all_kinds() -> None:
    corpus = benchmark().load_corpus()
    assert len(corpus) >= 320
    assert len({item.command for item in corpus}) == len(corpus)
    tags = {tag for item in corpus for tag in item.tags}
    assert tags >= {"quoting", "glob", "brace", "cd", "pipe", "heredoc", "substitution", "variable", "loop"}
    assert tags >= {"function", "alias", "wrapper", "find", "git", "code", "encoded", "unicode", "own", "unknown"}


@pytest.mark.parametrize("parser", PARSERS)
def test_every_labelled_command_is_right_or_doubted(parser: Literal["grammar", "plain"]) -> None:
    silent = [item.labelled.command for item in benchmark().outcomes(parser) if item.silent]
    assert silent == []


def test_with_the_grammar_nearly_all_commands_are_read_as_labelled() -> None:
    score = benchmark().score(list(benchmark().outcomes("grammar")))
    assert score["precision"] >= 0.98
    assert score["recall"] >= 0.98
    assert score["right"] >= 0.98


def test_without_the_grammar_most_commands_are_read_as_labelled_and_the_rest_doubted() -> None:
    found = list(benchmark().outcomes("plain"))
    assert benchmark().score(found)["right"] >= 0.8
    assert all(item.right or item.doubts or not item.missing for item in found)


def test_a_use_tells_what_a_caller_needs() -> None:
    assert read("cat link/../memory/*.md").uses == (
        Use(UseKind.READ, f"{CWD}/memory/*.md", "link/../memory/*.md", glob=True,
            unresolved=f"{CWD}/link/../memory/*.md", program="cat"),
    )  # fmt: skip
    (use,) = read("grep -r --include='*.py' x src").uses
    assert (use.kind, use.path, use.recursive, use.only) == (UseKind.SEARCH, f"{CWD}/src", True, ("*.py",))


def test_a_star_in_quotes_is_no_pattern_beside_one_that_is() -> None:
    assert [(use.path, use.glob) for use in read("cat 'a*'/*.md 'b*'").uses] == [
        (f"{CWD}/a[*]/*.md", True),
        (f"{CWD}/b*", False),
    ]


def test_our_own_command_is_told_with_its_words_and_variables() -> None:
    (use,) = read("export SPACE=w\nKEY=x apm-hooks decision 'use tabs' --room \"$ROOM\"").uses
    assert (use.kind, use.path) == (UseKind.EXECUTE, "apm-hooks")
    assert use.arguments == ("decision", "use tabs", "--room", "\0")
    assert use.environment == ("SPACE=w", "KEY=x", f"PWD={CWD}")


def test_a_doubt_tells_what_is_near() -> None:
    assert read('cat "memory/main/$NAME.md"').doubts == (
        Doubt(Reason.VARIABLE, '"memory/main/$NAME.md"', (f"{CWD}/memory/main", "memory/main/", ".md")),
    )
    (doubt,) = read("python3 -c \"print(open('memory/main/index.md').read())\"").doubts
    assert doubt.reason is Reason.INLINE_CODE
    assert "memory/main/index.md" in doubt.near


def test_programs_that_are_not_known_are_told_apart_from_words_that_are_not() -> None:
    assert reasons("frobnicate x") <= OPAQUE
    assert reasons("make") <= OPAQUE
    assert not reasons('cat "$X"') & OPAQUE
    assert [doubt.word for doubt in read("uv run 'x y' x").doubts] == ["uv run 'x y' x"]


@pytest.mark.parametrize(
    ("home", "command", "expected"),
    [
        ("/home/ana", "cat ~/x", ["/home/ana/x"]),
        ("", "cat ~/x", []),
        ("", "HOME=/y; cat ~/x", ["/y/x"]),
    ],
)
def test_home_is_what_the_caller_or_the_command_says(home: str, command: str, expected: list[str]) -> None:
    reading = read_command(command, cwd=CWD, home=home)
    assert [use.path for use in reading.uses] == expected
    assert bool(expected) is (Reason.HOME not in {doubt.reason for doubt in reading.doubts})


@pytest.mark.parametrize("cwd", ["", "relative", "C:\\ws"])
def test_a_directory_that_is_not_absolute_is_none(cwd: str) -> None:
    reading = read_command("cat x /etc/y", cwd=cwd)
    assert [use.path for use in reading.uses] == ["/etc/y"]
    assert {doubt.reason for doubt in reading.doubts} == {Reason.DIRECTORY}


def test_the_grammar_is_taken_where_it_is_installed() -> None:
    assert grammar_available()
    assert read("ls").parser == "grammar"
    assert read("ls", "plain").parser == "plain"


def test_without_the_grammar_the_plain_reading_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shell_grammar, "_language", lambda: None)
    assert read("cat x").parser == "plain"
    assert paths("cat x") == [f"{CWD}/x"]
    assert Reason.SYNTAX in reasons("for f in a; do cat $f; done")
    with pytest.raises(UsageError, match="apm-hooks\\[gate\\]"):
        read("ls", "grammar")


@pytest.mark.parametrize(
    "command",
    [
        "(cat x)", "{ cat x; }", "if cat x; then cat y; fi", "while cat x; do cat y; done", "f() { cat x; }",
        "echo $(cat x)", "echo `cat x`", "cat <(cat x)", "echo $((1))", "cat ${x%y}", "[[ -f x ]]",
        "case a in b) ;; esac", "cat <<E\n$(cat x)\nE\n", "select f in a; do cat $f; done", "cat 'x", 'cat "x', "a=(b)",
    ],
)  # fmt: skip
def test_the_plain_reading_doubts_all_that_is_no_simple_command(command: str) -> None:
    assert Reason.SYNTAX in reasons(command, "plain")


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cat x" * 20_000, Reason.TOO_LONG),
        ("sudo " * 150 + "cat x", Reason.TOO_DEEP),
        ("eval " * 150 + "cat x", Reason.TOO_DEEP),
        ("cat " + "{a,b}" * 20, Reason.TOO_MUCH),
        ("x=a;" + "x=$x$x;" * 40, Reason.TOO_MUCH),
        ("true;" * 10_000, Reason.TOO_MUCH),
        ("cat a\0b", Reason.SYNTAX),
    ],
)
def test_what_lies_beyond_a_limit_is_a_doubt(
    parser: Literal["grammar", "plain"], command: str, expected: Reason
) -> None:
    assert expected in reasons(command, parser)


def test_a_function_that_calls_itself_is_a_doubt() -> None:
    assert Reason.TOO_DEEP in reasons("a() { a; }; a", "grammar")
    assert reasons("a() { a; a; a; }; a", "grammar") & {Reason.TOO_DEEP, Reason.TOO_MUCH}


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("piece", ["(", "{ ", "$(", '"$(', "`", "$((", "${a:-", "if a; then ", "f() { ", "<("])
def test_a_hundred_thousand_brackets_are_a_doubt(parser: Literal["grammar", "plain"], piece: str) -> None:
    assert reasons(piece * (60_000 // len(piece)), parser)
    assert reasons(piece * 100_000, parser)


SHAPES = [
    "cat a; ", "cat a | ", "cat a && ", "x=a; cat $x; ", "cat <<A\na\nA\n", "cd ..; ", "$(", "{a,b} ", "(", "'",
    '"', "`", "\\", "> b ", "for i in a b; do ", "a=(b c) ", "@(2>", "x=a;if y;then x=b;fi;", "é", "# a\n",
    "*", "~",
]  # fmt: skip


@pytest.mark.parametrize("parser", PARSERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_command_is_about_twice_the_work(parser: Literal["grammar", "plain"], shape: str) -> None:
    # Below the limits, where the work still grows.
    once, twice = (executed_lines(partial(read, shape * (times * 1_000 // len(shape)), parser)) for times in (1, 2))
    assert twice < 3 * once + 3_000


def test_a_long_text_in_quotes_is_kept_from_the_grammar_and_changes_nothing() -> None:
    table = "| a; rm b | $(not run) | it's |\n" * 400
    command = f"cat > notes.md <<'EOF'\n{table}EOF\ncat memory/x"
    assert len(command) > SHELL_LIMITS.grammar_bytes
    assert read(command, "grammar") == Reading(
        (
            Use(UseKind.WRITE, f"{CWD}/notes.md", "notes.md", unresolved=f"{CWD}/notes.md"),
            Use(UseKind.READ, f"{CWD}/memory/x", "memory/x", unresolved=f"{CWD}/memory/x", program="cat"),
        ),
        (),
        "grammar",
    )
    long = f"cat '{'a' * 5_000} b' && (cat c)"
    assert paths(long, parser="grammar") == [f"{CWD}/{'a' * 5_000} b", f"{CWD}/c"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cat memory/main/index.md", True), ("cat mem''ory/x", True), ("cat mem\\ory/x", True),
        ('cat "mem"ory/x', True), ("cat mem\\\nory/x", True), ("cat $'\\x6demory'/x", True), ("cat MEMORY/x", True),
        ("cat mem*/x", True), ("cat m[e]mory/x", True), ("cat .ap?/x", True), ("cat notes.md", False), ("cat *", False),
        ("cat me", False),
    ],
)  # fmt: skip
def test_names_are_found_through_quotes_escapes_and_patterns(text: str, found: bool) -> None:
    assert could_name(text, ["memory", ".apm"]) is found


def test_names_are_found_in_a_reading() -> None:
    assert could_name(read("cd memory && cat main/index.md"), ["main/index.md"])
    assert could_name(read('cat "memory/$X"'), ["memory"])
    assert not could_name(read("cat notes.md"), ["memory"])
    assert not could_name(read("cat notes.md"), ["", "memory"])


file_names = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1, max_size=12
).filter(lambda name: name not in {".", ".."} and not name.startswith("-"))


@given(st.lists(file_names, min_size=1, max_size=4), st.sampled_from(PARSERS))
@settings(max_examples=200, deadline=None)
def test_a_quoted_path_is_read_as_it_is(names: list[str], parser: Literal["grammar", "plain"]) -> None:
    path = "/".join(names)
    command = f"cat {shlex.quote(path)}"
    reading = read(command, parser)
    if reading.doubts:
        # Only a line that ends in a backslash may look like a continued one.
        assert "\\\n" in path
    else:
        assert [use.path for use in reading.uses] == [f"{CWD}/{path}"]
        assert not reading.uses[0].glob


@given(st.lists(st.sampled_from(["a", "b c", "ü", "d*"]), min_size=1, max_size=3), file_names, st.sampled_from(PARSERS))
@settings(max_examples=150, deadline=None)
def test_a_change_of_directory_is_followed(folders: list[str], name: str, parser: Literal["grammar", "plain"]) -> None:
    moves = " && ".join(f"cd {shlex.quote(folder)}" for folder in folders)
    reading = read(f"{moves} && cat {shlex.quote(name)}", parser)
    assert reading.doubts or [use.path for use in reading.uses] == ["/".join((CWD, *folders, name))]


PIECES = [
    "cat", "rm -r", "cd", "echo", "xargs cat", "sh -c", "eval", "find . -exec", "git show", "sed -n", "python -c",
    "tar -cf", "cp", "a", "b/c", "'d e'", '"$X"', "$Y", "$(cat f)", "`g`", "{h,i}", "*.md", "~", "X=j", "-k",
    "--l=m", "--", "-", "{}", "\\;", "+", ";", "&&", "||", "|", "&", "\n", "(", ")", "{", "}", ">", "<", "2>&1",
    ">>", "<<E\n", "\nE\n", "<<<", "<(", "if", "then", "fi", "for v in", "do", "done", "while", "case", "in",
    "esac", "f()", "[[", "]]", "[", "]", "!", "#", "\\\n", "$'\\x41'", "${X:-a}", "${X%b}", "$((1))", "\\", "'",
    '"', "$", "é", "\ud800", "\x01", "trap", "local", "export X=a", "set --", "read v", "time",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=14), st.sampled_from(PARSERS), st.sampled_from([" ", ""]))
@settings(max_examples=300, deadline=None)
def test_any_composition_is_read_without_an_error(
    pieces: list[str], parser: Literal["grammar", "plain"], glue: str
) -> None:
    reading = read(glue.join(pieces), parser)
    for use in reading.uses:
        assert use.path.startswith("/") or use.path == "apm-hooks"
        assert "//" not in use.path and "/../" not in f"{use.path}/" and "/./" not in f"{use.path}/"
    assert len(set(reading.uses)) == len(reading.uses)
    assert len(set(reading.doubts)) == len(reading.doubts)
    assert read(glue.join(pieces), parser) == reading


@given(st.text(max_size=60), st.sampled_from(PARSERS))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read_without_an_error(command: str, parser: Literal["grammar", "plain"]) -> None:
    assert read(command, parser).parser == parser
    assert could_name(command, [command]) is bool(command)


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.sampled_from(PARSERS))
@settings(max_examples=150, deadline=None)
def test_what_is_read_after_any_command_is_not_lost(pieces: list[str], parser: Literal["grammar", "plain"]) -> None:
    """Whatever stands before it, a command on a line of its own is seen, or there is a doubt."""
    before = " ".join(pieces)
    reading = read(f"{before}\ncat /memory/secret", parser)
    seen = any(use.path == "/memory/secret" for use in reading.uses)
    swallowed = any(mark in before for mark in ("#", "\\", "<<", "'", '"', "exit", "f()"))
    assert seen or reading.doubts or swallowed
