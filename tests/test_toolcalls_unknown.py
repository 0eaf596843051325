"""Tools of an unknown name, and hostile sizes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.access import Access, AccessKind, Calling, Unjudged
from apm_hooks.toolcalls import read_call
from apm_hooks.toolcalls.gathering import ACCESSES, TEXT_CHARS, WORD_CHARS
from apm_hooks.toolcalls.paths import normal
from tests.test_linear import executed_lines

CWD, HOME = "/home/user/project", "/home/user"
READ, WRITE, SEARCH = AccessKind.READ, AccessKind.WRITE, AccessKind.SEARCH


def asked(tool: str, **arguments: Any) -> Calling:
    return read_call(tool, arguments, cwd=CWD, home=HOME)


def paths(calling: Calling) -> set[str]:
    return {access.path for access in calling.accesses}


def test_a_path_could_be_read_changed_and_looked_through() -> None:
    assert asked("mcp__notes__frobnicate", where="memory/a.md", limit=3) == Calling(
        (
            Access(READ, f"{CWD}/memory/a.md", word="memory/a.md"),
            Access(WRITE, f"{CWD}/memory/a.md", word="memory/a.md"),
            Access(SEARCH, f"{CWD}/memory/a.md", recursive=True, word="memory/a.md"),
        ),
        known=False,
    )


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"path": "memory"}, f"{CWD}/memory"),
        ({"input_file": "memory"}, f"{CWD}/memory"),
        ({"x": "/a/b"}, "/a/b"),
        ({"x": ["no", {"y": ["z", "/a/b"]}]}, "/a/b"),
        ({"x": {"/a/b": "content"}}, "/a/b"),
        ({"x": '{"y": ["/a/b"]}'}, "/a/b"),
        ({"x": "file:///a%2Fb"}, "/a/b"),
        ({"x": "~/b"}, f"{HOME}/b"),
        ({"x": "MEMORY.md"}, f"{CWD}/MEMORY.md"),
        ({"x": ".apm"}, f"{CWD}/.apm"),
        ({"x": "/a/b, /c/d"}, "/a/b"),
        ({"x": "/a/b /c/d"}, "/c/d"),
        ({"x": "/a/b:/c/d"}, "/c/d"),
        ({"x": '"/a/b"\n"/c/d"'}, "/c/d"),
        ({"x": "memory/**/*.md"}, f"{CWD}/memory"),
        ({"command": "cat memory/a.md"}, f"{CWD}/memory/a.md"),
        ({"command": ["grep", "-r", "x", "memory"]}, f"{CWD}/memory"),
        ({"x": {"command": "cat memory/a.md"}}, f"{CWD}/memory/a.md"),
        ({"x": ("/a/b",)}, "/a/b"),
    ],
)
def test_a_path_is_found_wherever_it_stands(arguments: dict[str, Any], path: str) -> None:
    assert path in paths(asked("frobnicate", **arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"x": "word", "y": "two words", "n": 3, "b": True, "none": None},
        {"url": "https://example.org/a/b.md"},
        {"text": "Read memory/main/a.md first.\nThen say what stands in it."},
        {"path": ""},
    ],
)
def test_what_is_no_path_is_free(arguments: dict[str, Any]) -> None:
    assert asked("frobnicate", **arguments) == Calling(known=False)


@pytest.mark.parametrize(
    ("tool", "kind", "with_path"),
    [
        ("mcp__x__search", AccessKind.SEARCH, False),
        ("mcp__example__search", AccessKind.SEARCH, False),
        ("retrieve", AccessKind.SEARCH, False),
        ("mcp__memory__read_graph", AccessKind.SEARCH, True),
        ("recall", AccessKind.SEARCH, True),
        ("chat_history", AccessKind.SESSION_SEARCH, True),
        ("list_transcripts", AccessKind.SESSION_SEARCH, True),
        ("getSession", AccessKind.SESSION_SEARCH, True),
        ("mcp__slack__conversations_history", AccessKind.SESSION_SEARCH, True),
    ],
)
def test_a_search_without_a_path_is_one_of_everything(tool: str, kind: AccessKind, with_path: bool) -> None:
    everything = Access(kind, "", recursive=True, word="pay rise")
    assert asked(tool, query="pay rise").accesses == (everything,)
    beside = asked(tool, query="pay rise", path="/d")
    assert ("" in paths(beside)) == with_path
    assert "/d" in paths(beside)


@pytest.mark.parametrize(
    "tool",
    [
        "mcp__brave__web_search",
        "search_npm_packages",
        "mcp__github__search_issues",
        "webSearch",
        "new_session",
        "other",
    ],
)
def test_a_search_of_something_else_is_free(tool: str) -> None:
    assert asked(tool, query="pay rise").accesses == ()


@pytest.mark.parametrize(
    ("tool", "opaque"),
    [("mcp__x__run_python", False), ("mcp__ide__executeCode", False), ("format", True), ("browser_evaluate", True)],
)
def test_code_is_not_judged(tool: str, opaque: bool) -> None:
    assert asked(tool, code="open('x')").unjudged == (Unjudged("inline-code", "open('x')", opaque),)


def test_a_command_of_an_unknown_tool_is_read_with_its_surroundings() -> None:
    calling = asked("frobnicate", command="apm-hooks status && cat a", cwd="/d", env={"APM_SESSION": "z"})
    plain, variable = ("apm-hooks", "status"), "APM_SESSION=z"
    assert calling.own == (plain, (variable, *plain), ("PWD=/d", *plain), (variable, "PWD=/d", *plain))
    assert {f"{CWD}/a", "/d/a"} <= paths(calling)
    assert calling.command == "apm-hooks status && cat a"


def test_a_word_that_is_cut_is_doubted_as_a_whole() -> None:
    (found,) = asked("format", code="x" * (WORD_CHARS + 1)).unjudged
    assert len(found.word) == WORD_CHARS
    assert not found.opaque


def test_values_of_no_known_kind_are_said() -> None:
    assert asked("frobnicate", x=b"/a").unjudged == (Unjudged("not-text", "bytes"),)
    assert read_call(3, {"x": "/a"}, cwd=CWD, home="").unjudged[0].reason == "not-text"  # type: ignore[arg-type]


TEXTS = st.text(st.characters(exclude_characters="\0"), max_size=20)
WRAPPED = st.recursive(
    st.just("PATH"),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(TEXTS, inner, min_size=1, max_size=2)
        | inner.map(json.dumps)
    ),
    max_leaves=4,
)
UNKNOWN = st.sampled_from(["frobnicate", "mcp__server__tool", "mcp__memory__search", "run_python", "x" * 600])


def replaced(value: Any, path: str) -> Any:
    if isinstance(value, str):
        return json.dumps(replaced(json.loads(value), path)) if value != "PATH" else path
    if isinstance(value, list):
        return [replaced(each, path) for each in value]
    return {key: replaced(each, path) for key, each in value.items()}


@settings(max_examples=300, deadline=None)
@given(UNKNOWN, TEXTS, WRAPPED, TEXTS)
def test_an_absolute_path_is_never_lost(tool: str, key: str, wrapped: Any, tail: str) -> None:
    try:
        value = replaced(wrapped, f"/w/{tail}")
    except json.JSONDecodeError:
        return
    calling = read_call(tool, {key: value, "other": 3}, cwd=CWD, home=HOME)
    assert normal(f"/w/{tail}") in paths(calling)
    assert not calling.known


def nested(size: int) -> Any:
    value: Any = "/a"
    for _ in range(size):
        value = [value]
    return value


HOSTILE: dict[str, tuple[str, Callable[[int], dict[str, Any]]]] = {
    "many paths": ("frobnicate", lambda n: {"x": [f"/a/{number}" for number in range(n)]}),
    "one path many times": ("frobnicate", lambda n: {"x": ["/a"] * n}),
    "a list in one text": ("frobnicate", lambda n: {"x": " ".join(f"/a/{number}" for number in range(n))}),
    "the same list in one text": ("frobnicate", lambda n: {"x": "/a " * n}),
    "many dots": ("Read", lambda n: {"path": "../" * n + "a"}),
    "a long path": ("Read", lambda n: {"path": "/a" * n}),
    "many arguments": ("frobnicate", lambda n: {f"a{number}": "x" for number in range(n)}),
    "many files": ("read_files", lambda n: {"files": [{"path": f"/a/{number}"} for number in range(n)]}),
    "many patterns": ("Glob", lambda n: {"patterns": ["*.md"] * n, "path": [f"/{number}" for number in range(n)]}),
    "many braces": ("Glob", lambda n: {"pattern": "{a,b}" * n}),
    "many globs": ("Grep", lambda n: {"pattern": "x", "glob": "*.py," * n}),
    "many edits": ("Edit", lambda n: {"path": "a", "edits": [{"old_string": "a", "new_string": "b"}] * n}),
    "many edits of many": (
        "Edit", lambda n: {"paths": [f"/{k}" for k in range(n)], "edits": [{"old_string": "a", "new_string": "b"}] * n}
    ),
    "many moves": (
        "move_file", lambda n: {"source": [f"/{k}" for k in range(n)], "destination": [f"/x/{k}" for k in range(n)]}
    ),
    "a long patch": ("apply_patch", lambda n: {"input": "*** Update File: a\n@@\n-x\n+y\n" * n}),
    "a deep list": ("frobnicate", lambda n: {"x": nested(n)}),
    "a deep text": ("frobnicate", lambda n: {"x": "[" * n + "]" * n}),
    "one command many times": ("frobnicate", lambda n: {"x": [{"command": "cat a"}] * n}),
    "many commands": ("run_commands", lambda n: {"commands": ["cat a"] * n}),
    "many calls": ("batch", lambda n: {"tool_calls": [{"tool": "read", "parameters": {"path": "a"}}] * n}),
    "a long name": ("mcp__" + "_" * 4000, lambda n: {"x": "_" * n}),
    "many schemes": ("Read", lambda n: {"path": "file:" * n}),
    "many percents": ("Read", lambda n: {"path": "file:///" + "%41" * n}),
    "many blocks": ("replace_in_file", lambda n: {"path": "a", "diff": "<<<< SEARCH\na\n====\nb\n>>>> REPLACE\n" * n}),
}  # fmt: skip


@pytest.mark.parametrize("shape", sorted(HOSTILE))
def test_hostile_sizes_cost_in_proportion_and_leave_no_flood(shape: str) -> None:
    tool, make = HOSTILE[shape]
    found: list[Calling] = []
    costs = [
        executed_lines(lambda: found.append(read_call(tool, make(size), cwd=CWD, home=HOME)))  # noqa: B023
        for size in (300, 600)
    ]
    assert costs[1] <= 2.2 * costs[0] + 2000
    assert all(len(each.accesses) <= ACCESSES for each in found)
    assert all(each.accesses or each.unjudged for each in found) or shape in ("many arguments", "a long name")


def test_more_than_can_be_looked_at_is_said() -> None:
    flood = asked("frobnicate", x=[f"/a/{number}" for number in range(ACCESSES)])
    assert len(flood.accesses) == ACCESSES
    assert flood.unjudged == (Unjudged("too-much", ""),)
    files = asked("read_files", files=[f"/a/{number}" for number in range(600)])
    assert files.unjudged == (Unjudged("too-much", ""),)
    deep = asked("frobnicate", x=nested(200))
    assert [each.reason for each in deep.unjudged] == ["too-deep"]
    for tool, key, size in (
        ("Read", "path", WORD_CHARS),
        ("frobnicate", "x", TEXT_CHARS),
        ("patch", "patch", TEXT_CHARS),
    ):
        long = asked(tool, **{key: "/" + "a" * size})
        assert [each.reason for each in long.unjudged] == ["too-much"]
        assert long.accesses == ()
    assert asked("replace_in_file", path="a", diff="x" * (TEXT_CHARS + 1)).accesses[0].edits == ()
    text = asked("frobnicate", x="[" * 200_000)
    assert [each.reason for each in text.unjudged] == ["too-deep"]


@pytest.mark.parametrize(
    ("given", "elsewhere"),
    [
        ({"action": "wake", "text": "x"}, True),
        ({"action": "add", "job": {"sessionTarget": "main"}}, True),
        ({"action": "add", "job": {"payload": {"kind": "systemEvent", "text": "x"}}}, True),
        ({"action": "add", "job": {"sessionTarget": "isolated", "payload": {"kind": "agentTurn"}}}, False),
    ],
)
def test_a_timer_may_speak_in_another_conversation(given: dict[str, Any], *, elsewhere: bool) -> None:
    kinds = {access.kind for access in asked("cron", **given).accesses}
    assert (AccessKind.SESSION_SEARCH in kinds) is elsewhere
