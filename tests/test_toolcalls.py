"""Every captured tool call of every host, and every row of the table, with what it could do to files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.access import CHANGES, Access, AccessKind, Calling, Edit, Unjudged
from apm_hooks.toolcalls import read_call
from apm_hooks.toolcalls.arguments import fold
from apm_hooks.toolcalls.table import MCP_TOOLS, SERVED, TAKEN, TOOLS, Does, Tool

FIXTURES = Path(__file__).parent / "fixtures" / "toolcalls"
CWD, HOME = "/home/user/project", "/home/user"
READ, WRITE, EDIT, DELETE = AccessKind.READ, AccessKind.WRITE, AccessKind.EDIT, AccessKind.DELETE
LIST, SEARCH, MOVE, EXECUTE = AccessKind.LIST, AccessKind.SEARCH, AccessKind.MOVE_FROM, AccessKind.EXECUTE
SESSIONS = AccessKind.SESSION_SEARCH

MEMORY = f"{CWD}/MEMORY.md"
HELLO = Calling((Access(READ, f"{CWD}/hello.txt", word=f"{CWD}/hello.txt"),))
READS_MEMORY = Calling((Access(READ, MEMORY, word=MEMORY),))
READS_MEMORY_BY_NAME = Calling((Access(READ, MEMORY, word="MEMORY.md"),))
HACKED = "echo hacked >> MEMORY.md && cd sub && pwd"
HACKS = Calling((Access(WRITE, MEMORY, word="MEMORY.md"),), command=HACKED)

CAPTURED: dict[str, Calling] = {
    "claude-code.PermissionRequest.Bash": HACKS,
    "claude-code.PreToolUse.Bash": HACKS,
    "claude-code.PreToolUse.Edit": Calling(
        (Access(EDIT, f"{CWD}/link.md", edits=(Edit("mem", "mem2"),), word=f"{CWD}/link.md"),)
    ),
    "claude-code.PreToolUse.Read": HELLO,
    "claude-code.PreToolUse.Write": Calling(
        (Access(WRITE, f"{CWD}/new.txt", content="abc", word=f"{CWD}/new.txt"),),
    ),
    "claude-code.PreToolUse.in-subagent": HELLO,
    # The list comes as a text; a file of that very name is its other reading.
    "cline.PreToolUse": Calling(
        (
            Access(READ, f'{CWD}/[{{"path":"{MEMORY}"}}]', word=f'[{{"path":"{MEMORY}"}}]'),
            Access(READ, MEMORY, word=MEMORY),
        )
    ),
    "codex.PreToolUse": Calling(command="echo hi"),
    "codex.deny-PreToolUse": Calling(
        (Access(READ, MEMORY, word="MEMORY.md"),), command="cat MEMORY.md # MEMORY-SECRET"
    ),
    "copilot-cli.pascal-PreToolUse": READS_MEMORY,
    "copilot-cli.permissionRequest": Calling(
        (Access(READ, f"{CWD}/big.txt", word="big.txt"),), command="head -c 20000 big.txt"
    ),
    "copilot-cli.preToolUse": Calling(
        (Access(READ, MEMORY, word=MEMORY), Access(LIST, MEMORY, recursive=True, word=MEMORY))
    ),
    "droid.PreToolUse": READS_MEMORY,
    "gemini-cli.BeforeTool": READS_MEMORY_BY_NAME,
    "hermes-agent.pre_tool_call": READS_MEMORY,
    "hermes-agent.shell-pre_tool_call": READS_MEMORY,
    "openclaw.before_tool_call.dm-main": Calling((Access(READ, f"{CWD}/AGENTS.md", word="AGENTS.md"),)),
    "openclaw.before_tool_call.group-0-read": Calling(
        (Access(READ, f"{CWD}/memory/main/index.md", word="memory/main/index.md"),)
    ),
    "openclaw.before_tool_call.group-1-tool_call": READS_MEMORY_BY_NAME,
    "openclaw.before_tool_call.group-2-memory_get": READS_MEMORY_BY_NAME,
    "openclaw.before_tool_call.group-3-exec": Calling(
        (Access(READ, f"{CWD}/memory/main/attention.md", word="memory/main/attention.md"),),
        command="cat memory/main/attention.md",
    ),
    "opencode.tool.execute.before": READS_MEMORY,
    "qwen-code.PreToolUse": READS_MEMORY,
}


def reads(name: str, **arguments: Any) -> Calling:
    return read_call(name, arguments, cwd=CWD, home=HOME)


def reads_by(host: str, name: str, arguments: dict[str, Any]) -> Calling:
    return read_call(name, arguments, cwd=CWD, home=HOME, host=host)


def brief(calling: Calling) -> set[str]:
    """What a call does, a line for each access: kind, path, and `**` where all below it counts."""
    return {
        f"{access.kind.value} {access.path.removeprefix(CWD + '/')}{'/**' if access.recursive else ''}"
        for access in calling.accesses
    }


def call_of(payload: Mapping[str, Any]) -> tuple[str, Any]:
    """The tool and its arguments in a host's own payload."""
    for outer in ("preToolUse", "event"):
        if isinstance(payload.get(outer), dict):
            payload = payload[outer]
    if "output" in payload:
        return payload["input"]["tool"], payload["output"]["args"]
    name = payload.get("tool_name") or payload["toolName"]
    keys = ("tool_input", "toolInput", "toolArgs", "parameters", "params", "args")
    return name, next(payload[key] for key in keys if key in payload)


def test_every_captured_call_has_an_answer_written_by_hand() -> None:
    assert {path.name.removesuffix(".json") for path in FIXTURES.glob("*.json")} == set(CAPTURED)


@pytest.mark.parametrize("capture", sorted(CAPTURED))
def test_a_captured_call(capture: str) -> None:
    name, arguments = call_of(json.loads((FIXTURES / f"{capture}.json").read_text(encoding="utf-8")))
    assert reads_by(capture.partition(".")[0], name, arguments) == CAPTURED[capture]


PATCH = "*** Begin Patch\n*** Delete File: f.md\n*** End Patch"
# What each kind of tool is called with here, and what that could do.
ROWS: dict[Does, tuple[dict[str, Any], set[str]]] = {
    Does.READ: ({"filePath": "f.md"}, {"read f.md"}),
    Does.VIEW: ({"path": "f.md"}, {"read f.md", "list f.md/**"}),
    Does.READ_MANY: (
        {"paths": ["f.md", "g/*.md"]},
        {"read f.md", "search f.md/**", "read g/*.md", "search g/*.md/**"},
    ),
    Does.LIST: ({"path": "d"}, {"list d"}),
    Does.TREE: ({"path": "d"}, {"list d/**"}),
    Does.GLOB: ({"pattern": "d/*.md"}, {"list d/*.md"}),
    Does.FLOATING_GLOB: ({"query": "d/*.md"}, {f"list {CWD}/**"}),
    Does.SEARCH: ({"pattern": "x", "path": "d"}, {"search d/**"}),
    Does.SEARCH_EVERYWHERE: ({"query": "x"}, {"search /**"}),
    Does.SESSIONS: ({"query": "x"}, {"session-search /**"}),
    Does.FETCH: ({"url": f"file://{CWD}/f.md"}, {"read f.md"}),
    Does.MEDIA: ({"image": "f.png"}, {"read f.png"}),
    Does.OUTPUT: ({"output_path": "f.mp3", "text": "hello"}, {"write f.mp3"}),
    Does.WRITE: ({"file_path": "f.md", "content": "x"}, {"write f.md"}),
    Does.EDIT: ({"file_path": "f.md", "old_string": "a", "new_string": "b"}, {"edit f.md"}),
    Does.EDITOR: ({"command": "create", "path": "f.md", "file_text": "x"}, {"write f.md"}),
    Does.CHANGE: ({"notebook_path": "f.ipynb", "new_source": "x"}, {"edit f.ipynb"}),
    Does.DELETE: ({"path": "f.md"}, {"delete f.md/**"}),
    Does.MOVE: (
        {"source": "a/f.md", "destination": "g"},
        {"move-from a/f.md/**", "write g/**", "write g/f.md/**"},
    ),
    Does.COPY: (
        {"source_path": "a/f.md", "destination_path": "g"},
        {"read a/f.md/**", "write g/**", "write g/f.md/**"},
    ),
    Does.FOLDER: ({"path": "d"}, {"write d"}),
    Does.PATCH: ({"input": PATCH}, {"delete f.md"}),
    Does.SHELL: ({"command": "cat f.md"}, {"read f.md"}),
    Does.STDIN: ({"session_id": 1, "data": "cat f.md\n"}, set()),
    Does.OTHER_SHELL: ({"command": "Get-Content f.md"}, set()),
    Does.CODE: ({"code": "open('f.md')"}, set()),
    Does.HOST_MEMORY: ({"fact": "x"}, {f"write {HOME}/.gemini/GEMINI.md/**", f"write {HOME}/.qwen/QWEN.md/**"}),
    Does.WRAPPER: ({"tool": "read", "parameters": {"filePath": "f.md"}}, {"read f.md"}),
    Does.NOTHING: ({"prompt": "look at /etc/passwd", "path": "f.md"}, set()),
}
UNJUDGED = {Does.STDIN: ["input"], Does.OTHER_SHELL: ["other-shell"], Does.CODE: ["inline-code"]}


def test_every_kind_of_tool_is_tried() -> None:
    assert set(ROWS) == set(Does) == {tool.does for tool in TOOLS}


def test_no_name_stands_twice() -> None:
    for table in (TOOLS, MCP_TOOLS):
        names = [fold(name) for tool in table for name in tool.names.split()]
        assert len(names) == len(set(names))


@pytest.mark.parametrize("tool", [*TOOLS, *MCP_TOOLS], ids=lambda tool: f"{tool.does.value}-{fold(tool.names)[:30]}")
def test_a_row_of_the_table(tool: Tool) -> None:
    arguments, expected = ROWS[tool.does]
    served = tool in MCP_TOOLS
    for name in tool.names.split():
        host = "opencode" if tool.does is Does.TREE else "cursor" if tool.does is Does.FLOATING_GLOB else "claude-code"
        calling = reads_by(host, f"mcp__some_server__{name}" if served else name, arguments)
        assert brief(calling) == expected, name
        assert calling.known
        assert [each.reason for each in calling.unjudged] == UNJUDGED.get(tool.does, []), name


@pytest.mark.parametrize(
    "name",
    ["mcp__filesystem__read_file", "mcp__my-files__read_file", "mcp_filesystem_read_file", "filesystem_read_file",
     "filesystem-read_file", "files__read_file", "MCP:read_file", "functions.read_file", "default_api:read_file",
     "builtin_read_file", "Read_File", "READFILE", "filesystem/read_file", "functions.mcp__fs__read_text_file"],
)  # fmt: skip
def test_a_tool_is_known_in_every_form_of_its_name(name: str) -> None:
    assert reads(name, path="f.md") == Calling((Access(READ, f"{CWD}/f.md", word="f.md"),))


@pytest.mark.parametrize(
    "name", ["mcp__server__Write", "mcp__server__edit", "thing", "reader", "unread_file", "mcp__a__Task", "", "__", "."]
)
def test_what_stands_in_no_table_is_unknown(name: str) -> None:
    assert not reads(name, path="f.md").known


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("mcp__apm_hooks__recall", "recall"),
        ("mcp__apm-hooks__recall", "recall"),
        ("mcp__plugin_apm_apm-hooks__recall", "recall"),
        ("mcp_apm_hooks_recall", "recall"),
        ("apm_hooks_recall", "recall"),
        ("apm-hooks-recall", "recall"),
        ("apm_hooks__recall", "recall"),
        ("MCP:apm-hooks:recall", "recall"),
    ],
)
def test_our_own_tools_are_known_by_every_spelling(name: str, tool: str) -> None:
    calling = reads(name, query="money", session="agent:main:main", limit=3)
    assert calling == Calling(own=(("apm-hooks", "mcp", tool, "--query", "money", "--session", "agent:main:main"),))


@pytest.mark.parametrize("name", ["mcp__other__apm_hooks_recall", "mcp__apm_hooks_evil__read", "my_apm_hooks_recall"])
def test_another_servers_tool_is_not_ours(name: str) -> None:
    assert not reads(name, path="x").own


@pytest.mark.parametrize(
    ("host", "name", "arguments", "expected"),
    [
        ("claude-code", "Grep", {"pattern": "x"}, Access(SEARCH, CWD, recursive=True)),
        ("claude-code", "Grep", {"pattern": "x", "output_mode": "count", "glob": "*.py"},
         Access(SEARCH, CWD, recursive=True, only=("*.py",))),
        ("claude-code", "Grep", {"pattern": "x", "type": "py"},
         Access(SEARCH, CWD, recursive=True, only=("*.py", "*.pyi"))),
        ("claude-code", "Grep", {"pattern": "x", "type": "md"}, Access(SEARCH, CWD, recursive=True)),
        ("claude-code", "Grep", {"pattern": "x", "glob": "!*.md"}, Access(SEARCH, CWD, recursive=True)),
        ("vscode", "grep_search", {"query": "x", "includePattern": "src/**/*.ts"},
         Access(SEARCH, CWD, recursive=True, only=("*.ts",))),
        ("gemini-cli", "search_file_content", {"pattern": "x", "dir_path": "memory"},
         Access(SEARCH, f"{CWD}/memory", recursive=True, word="memory")),
        ("cline", "search_files", {"path": "memory", "regex": "x"},
         Access(SEARCH, f"{CWD}/memory", recursive=True, word="memory")),
        ("claude-code", "LS", {"path": "memory"}, Access(LIST, f"{CWD}/memory", word="memory")),
        ("claude-code", "LS", {}, Access(LIST, CWD)),
        ("claude-code", "LS", {"path": ""}, Access(LIST, CWD)),
        ("cursor", "list_dir", {"target_directory": "memory"}, Access(LIST, f"{CWD}/memory", word="memory")),
        ("cline", "list_files", {"path": "memory", "recursive": "true"},
         Access(LIST, f"{CWD}/memory", recursive=True, word="memory")),
        ("codex", "list_dir", {"dir_path": "memory", "depth": 2},
         Access(LIST, f"{CWD}/memory", recursive=True, word="memory")),
        ("claude-code", "Glob", {"pattern": "**/*.md"},
         Access(LIST, CWD, recursive=True, only=("*.md",), word="**/*.md")),
        ("claude-code", "Glob", {"pattern": "*.md", "path": "memory"},
         Access(LIST, f"{CWD}/memory", recursive=True, only=("*.md",), word="*.md")),
        ("droid", "Glob", {"patterns": ["memory/*/index.md"], "folder": "~"},
         Access(LIST, f"{HOME}/memory/*/index.md", glob=True, word="memory/*/index.md")),
        ("claude-code", "Glob", {}, Access(LIST, CWD, recursive=True, word="**")),
        ("claude-code", "mcp__filesystem__search_files", {"path": "/d", "pattern": "x"},
         Access(SEARCH, "/d", recursive=True, word="/d")),
        ("claude-code", "mcp__filesystem__get_file_info", {"path": "f"}, Access(LIST, f"{CWD}/f", word="f")),
        ("claude-code", "memory_search", {"query": "pay rise"}, Access(SEARCH, "", recursive=True, word="pay rise")),
        ("claude-code", "sessions_history", {"sessionKey": "agent:main:main"},
         Access(SESSIONS, "", recursive=True, word="agent:main:main")),
        ("claude-code", "session_search", {"query": "pay"}, Access(SESSIONS, "", recursive=True, word="pay")),
        ("claude-code", "conversation_search", {"query": "pay"}, Access(SESSIONS, "", recursive=True, word="pay")),
        ("claude-code", "NotebookEdit", {"notebook_path": "n.ipynb", "new_source": "x/y.md"},
         Access(EDIT, f"{CWD}/n.ipynb", word="n.ipynb")),
        ("claude-code", "Read", {"file_path": "a.pdf", "pages": "1-5"}, Access(READ, f"{CWD}/a.pdf", word="a.pdf")),
        ("claude-code", "view_image", {"path": "a.png"}, Access(READ, f"{CWD}/a.png", word="a.png")),
        ("claude-code", "web_fetch", {"prompt": "sum up file:///etc/hosts please"}, Access(READ, "/etc/hosts", word="file:///etc/hosts")),
    ],
)  # fmt: skip
def test_a_look(host: str, name: str, arguments: dict[str, Any], expected: Access) -> None:
    assert reads_by(host, name, arguments) == Calling((expected,))


@pytest.mark.parametrize(
    ("host", "name", "arguments"),
    [
        ("opencode", "grep", {"pattern": "x", "glob": "*.zz"}),
        ("claude-code", "Grep", {"pattern": "x", "include": "*.zz"}),
        ("claude-code", "Grep", {"pattern": "x", "Glob": "*.zz"}),
        ("claude-code", "Grep", {"pattern": "x", "file_type": "zig"}),
        ("droid", "Grep", {"pattern": "x", "glob": "*.zz"}),
        ("unheard-of", "grep", {"pattern": "x", "glob": "*.zz", "type": "zig", "include": "*.zz"}),
    ],
)
def test_an_argument_that_the_host_passes_over_limits_no_search(
    host: str, name: str, arguments: dict[str, Any]
) -> None:
    assert Access(SEARCH, CWD, recursive=True) in reads_by(host, name, arguments).accesses


@pytest.mark.parametrize(
    ("host", "name", "arguments", "kind"),
    [
        ("claude-code", "Grep", {"pattern": "x", "folder": "docs"}, SEARCH),
        ("claude-code", "Grep", {"pattern": "x", "Path": "docs"}, SEARCH),
        ("claude-code", "Grep", {"pattern": "x", "path": ""}, SEARCH),
        ("vscode", "grep_search", {"query": "x", "path": "docs"}, SEARCH),
        ("droid", "LS", {"path": "docs"}, LIST),
        ("gemini-cli", "glob", {"pattern": "**", "path": "docs"}, LIST),
        ("unheard-of", "ls", {"path": "docs"}, LIST),
    ],
)
def test_a_folder_that_the_host_passes_over_is_not_where_it_looks(
    host: str, name: str, arguments: dict[str, Any], kind: AccessKind
) -> None:
    assert CWD in {access.path for access in reads_by(host, name, arguments).accesses if access.kind is kind}


def test_every_host_that_takes_an_argument_has_such_a_tool() -> None:
    for host, does in TAKEN:
        table = MCP_TOOLS if host == SERVED else TOOLS
        assert any(tool.does is does and (host == SERVED or host in tool.hosts.split()) for tool in table), (host, does)


def test_no_command_of_an_editor_hides_a_change() -> None:
    assert brief(reads("Write", path="f", content="x", command="view")) == {"read f", "list f/**", "write f"}
    assert "edit f" in brief(reads("Edit", path="f", old_string="a", new_string="b", command="view"))
    shown = reads("str_replace_editor", Command="view", command="create", path="f", file_text="x")
    assert brief(shown) == {"read f", "list f/**", "write f"}
    both = reads("str_replace_editor", command="rename", Command="view", old_path="a", path="f")
    assert {"read f", "move-from a/**"} <= brief(both)
    assert f"write {HOME}/.hermes/memories/**" in brief(reads("memory", command="view", path="f", action="add"))


def test_an_editor_may_have_the_name_of_a_plain_tool() -> None:
    replaced = {"command": "str_replace", "path": "f", "old_str": "a", "new_str": "b"}
    expected = Calling((Access(EDIT, f"{CWD}/f", edits=(Edit("a", "b"),), word="f"),))
    assert reads("write", **replaced) == reads("edit", **replaced) == expected
    assert brief(reads("edit", command="view", path="f")) == {"read f", "list f/**"}


def test_too_many_replacements_are_none_that_can_be_told() -> None:
    edits = [{"old_string": "a", "new_string": "b"}] * 1001
    calling = reads("Edit", path="f", edits=edits)
    assert calling == Calling((Access(EDIT, f"{CWD}/f", word="f"),), (Unjudged("too-much", ""),))


def test_a_file_that_is_named_is_searched_whatever_the_pattern_says() -> None:
    assert reads("Grep", pattern="x", path="memory/a.md", glob="*.py").accesses == (
        Access(SEARCH, f"{CWD}/memory/a.md", recursive=True, only=("*.py",), word="memory/a.md"),
        Access(SEARCH, f"{CWD}/memory/a.md", word="memory/a.md"),
    )


def test_a_pattern_that_leads_elsewhere_is_searched_there_too() -> None:
    assert brief(reads("grep_search", query="x", includePattern="/other/memory/**")) == {
        f"search {CWD}/**", "search /other/memory/**"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "arguments", "path", "edits"),
    [
        ("Edit", {"file_path": "f", "old_string": "a", "new_string": "b", "replace_all": True}, "f",
         (Edit("a", "b", True),)),
        ("Edit", {"file_path": "f", "old_string": "", "new_string": "b"}, "f", (Edit("", "b"),)),
        ("edit", {"filePath": "f", "oldString": "a", "newString": "b"}, "f", (Edit("a", "b"),)),
        ("edit", {"path": "f", "oldText": "a", "newText": "b"}, "f", (Edit("a", "b"),)),
        ("edit", {"path": "f", "edits": [{"oldText": "a", "newText": "b"}, {"oldText": "c", "newText": "d"}]}, "f",
         (Edit("a", "b"), Edit("c", "d"))),
        ("edit", {"path": "f", "edits": '[{"oldText": "a", "newText": "b"}]'}, "f", (Edit("a", "b"),)),
        ("Edit", {"file_path": "f", "old_str": "a", "new_str": "b", "change_all": True}, "f", (Edit("a", "b", True),)),
        ("MultiEdit", {"file_path": "f", "changes": [{"old_str": "a", "new_str": "b"}]}, "f", (Edit("a", "b"),)),
        ("MultiEdit", {"file_path": "f", "edits": [{"old_string": "a", "new_string": "b"}, {"old_string": 3}]},
         "f", ()),
        ("MultiEdit", {"file_path": "f", "edits": "no list"}, "f", ()),
        ("Edit", {"file_path": "f", "old_string": "a"}, "f", ()),
        ("Edit", {"path": "f", "old_string": "a", "new_string": "b", "edits": [{"old_string": "c", "new_string": "d"}]},
         "f", ()),
        ("Edit", {"path": "f", "old_string": "a", "new_string": "b", "replace_all": False, "all": True}, "f", ()),
        ("Edit", {"path": "f", "old_string": "a", "oldText": "c", "new_string": "b"}, "f", ()),
        ("replace", {"file_path": "f", "old_string": "a", "new_string": "b", "expected_replacements": 2}, "f",
         (Edit("a", "b", True),)),
        ("replace_string_in_file", {"filePath": "f", "oldString": "a", "newString": "b"}, "f", (Edit("a", "b"),)),
        ("multi_replace_string_in_file",
         {"replacements": [{"filePath": "f", "oldString": "a", "newString": "b"},
                           {"filePath": "f", "oldString": "b", "newString": "c"}]},
         "f", (Edit("a", "b"), Edit("b", "c"))),
        ("search_and_replace", {"path": "f", "search": "a", "replace": "b"}, "f", (Edit("a", "b"),)),
        ("search_and_replace", {"path": "f", "search": "a.", "replace": "b", "use_regex": True}, "f", ()),
        ("edit_file", {"target_file": "f", "instructions": "x", "code_edit": "y"}, "f", ()),
        ("str_replace_based_edit_tool", {"command": "str_replace", "path": "f", "old_str": "a", "new_str": "b"}, "f",
         (Edit("a", "b"),)),
        ("str_replace_based_edit_tool", {"command": "insert", "path": "f", "insert_line": 2, "insert_text": "/x"},
         "f", ()),
        ("replace_in_file", {"path": "f", "diff": "------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n"}, "f",
         (Edit("a\n", "b\n"),)),
        ("replace_in_file", {"path": "f", "diff": "------- SEARCH\na\n"}, "f", ()),
        ("patch", {"mode": "replace", "path": "f", "old_string": "a", "new_string": "b"}, "f", (Edit("a", "b"),)),
        ("apply_diff", {"path": "f", "diff": "<<<<<<< SEARCH\n:start_line:3\n-------\na\n=======\nb\n>>>>>>> REPLACE"},
         "f", (Edit("a\n", "b\n"),)),
        ("mcp__filesystem__edit_file", {"path": "f", "edits": [{"oldText": "a", "newText": "b"}], "dryRun": False}, "f",
         (Edit("a", "b"),)),
    ],
)  # fmt: skip
def test_an_edit_tells_its_replacements(
    name: str, arguments: dict[str, Any], path: str, edits: tuple[Edit, ...]
) -> None:
    assert reads(name, **arguments) == Calling((Access(EDIT, f"{CWD}/{path}", edits=edits, word=path),))


def test_replacements_go_to_the_files_that_they_name() -> None:
    calling = reads(
        "multi_replace_string_in_file",
        replacements=[
            {"filePath": "/a", "oldString": "1", "newString": "2"},
            {"filePath": "/b", "oldString": "3", "newString": "4"},
        ],
    )
    assert calling.accesses == (
        Access(EDIT, "/a", edits=(Edit("1", "2"),), word="/a"),
        Access(EDIT, "/b", edits=(Edit("3", "4"),), word="/b"),
    )


@pytest.mark.parametrize(
    ("name", "arguments", "content"),
    [
        ("Write", {"file_path": "f", "content": "x\n"}, "x\n"),
        ("create", {"path": "f", "file_text": "x"}, "x"),
        ("create_file", {"filePath": "f", "content": "x"}, "x"),
        ("Write", {"path": "f", "contents": "x"}, "x"),
        ("str_replace_editor", {"command": "create", "path": "f", "file_text": "x"}, "x"),
        ("fs_write", {"command": "create", "path": "f", "file_text": "x"}, "x"),
        ("text_editor", {"command": "write", "path": "f", "file_text": "x"}, "x"),
        ("write_file", {"file_path": "f", "text": "x", "append": True}, None),
        ("mcp__desktop-commander__write_file", {"path": "f", "content": "x", "mode": "append"}, None),
        ("Write", {"file_path": "f", "content": {"a": 1}}, None),
        ("Write", {"file_path": "f"}, None),
        ("Write", {"file_path": "f", "content": "x", "contents": "y"}, None),
        ("Write", {"file_path": "f", "content": ""}, ""),
    ],
)
def test_a_write_tells_its_text_where_it_is_the_whole(
    name: str, arguments: dict[str, Any], content: str | None
) -> None:
    assert reads(name, **arguments) == Calling((Access(WRITE, f"{CWD}/f", content=content, word="f"),))


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("view", {"read f", "list f/**"}),
        ("delete", {"delete f/**"}),
        ("undo_edit", {"edit f"}),
        ("something", {"read f", "list f/**", "edit f"}),
    ],
)
def test_an_editor_does_what_its_command_says(command: str, expected: set[str]) -> None:
    assert brief(reads("str_replace_based_edit_tool", command=command, path="f")) == expected
    assert brief(reads("memory", command=command, path="f")) == expected


def test_a_file_name_beside_a_directory() -> None:
    calling = reads("file_writer_tool", filename="f.md", directory="d", content="x")
    assert calling.accesses == (
        Access(WRITE, f"{CWD}/f.md", content="x", word="f.md"),
        Access(WRITE, f"{CWD}/d/f.md", content="x", word="d/f.md"),
    )


def test_operations_of_a_reader_are_looks() -> None:
    operations = [{"mode": "Line", "path": "a"}, {"mode": "Image", "image_paths": ["b.png"]}]
    expected = {"read a", "list a/**", "read b.png", "list b.png/**"}
    assert brief(reads("fs_read", operations=operations)) == expected
    assert brief(reads("read", operations=operations)) == expected


def test_an_editor_renames() -> None:
    calling = reads("str_replace_based_edit_tool", command="rename", old_path="a", new_path="b")
    assert brief(calling) == {"move-from a/**", "write b/**", "write b/a/**"}


def test_a_call_within_a_call_is_read_as_itself() -> None:
    assert reads("tool_call", id="memory_get", args={"path": "a"}) == reads("memory_get", path="a")
    assert reads("tool_call", id="openclaw:core:read", args='{"path": "a"}') == reads("read", path="a")
    served = reads("use_mcp_tool", server_name="filesystem", tool_name="write_file", arguments='{"path": "a"}')
    assert served == Calling((Access(WRITE, f"{CWD}/a", word="a"),))
    batch = [
        {"tool": "read", "parameters": {"filePath": "a"}},
        {"recipient_name": "functions.Bash", "parameters": {"command": "rm b"}},
        {"type": "function", "id": "x1", "function": {"name": "list", "arguments": '{"path": "c"}'}},
        {"tool": "read", "filePath": "d"},
    ]
    calling = reads_by("opencode", "batch", {"tool_calls": batch})
    assert brief(calling) == {"read a", "delete b", "list c/**", "read d"}
    assert calling.known and calling.command == "rm b"
    assert not reads("batch", tool_calls=[{"tool": "no_such_tool", "parameters": {}}]).known


def test_no_call_hides_another() -> None:
    decoys: list[dict[str, Any]] = [
        {"tool_calls": [{"tool": "todo", "parameters": {}}]},
        {"function": {"name": "todo", "arguments": "{}"}},
        {"name": "todo"},
        {"server_name": "x"},
        {"parameters": {}},
    ]
    for decoy in decoys:
        assert "read a" in brief(reads_by("openclaw", "tool_call", {"id": "read", "args": {"path": "a"}, **decoy}))


def test_calls_within_calls_end_somewhere() -> None:
    inner: dict[str, Any] = {"id": "read", "args": {"path": "a"}}
    for _ in range(50):
        inner = {"id": "tool_call", "args": inner}
    assert [each.reason for each in reads("tool_call", **inner).unjudged] == ["too-deep"]
    assert not reads("tool_call", nothing=["/a"]).known


@pytest.mark.parametrize(
    ("name", "arguments", "unjudged"),
    [
        ("Read", {"file_path": 3}, ("not-text", "int")),
        ("Read", {"file_path": True}, ("not-text", "bool")),
        ("Read", {"file_path": ["a", None]}, ("not-text", "NoneType")),
        ("Read", {"file_path": b"a"}, ("not-text", "bytes")),
        ("Read", {}, ("arguments", "")),
        ("Read", {"file_path": None}, ("arguments", "")),
        ("Read", {"file_path": {"x": "y"}}, ("arguments", "")),
        ("Read", {"file_path": "a\0b"}, ("nul", "a\\0b")),
        ("Edit", {"old_string": "a", "new_string": "b"}, ("arguments", "")),
        ("Grep", {"pattern": "x", "path": 3}, ("not-text", "int")),
        ("Glob", {"pattern": "a\0"}, ("nul", "a\\0")),
        ("Bash", {"command": 3}, ("not-text", "int")),
        ("Bash", {}, ("arguments", "")),
        ("PowerShell", {}, ("arguments", "")),
        ("execute_code", {}, ("arguments", "")),
        ("apply_patch", {"input": "what"}, ("patch", "what")),
        ("apply_patch", {}, ("patch", "")),
        ("WebFetch", {"url": 3}, ("not-text", "int")),
        ("Read", {"file_path": "~bob/x"}, ("home", "~bob/x")),
        ("Read", {"file_path": "file://server/x"}, ("uri", "file://server/x")),
        ("Read", {"file_path": "$DATA/x"}, ("variable", "$DATA/x")),
    ],
)
def test_what_cannot_be_judged_is_said(name: str, arguments: dict[str, Any], unjudged: tuple[str, str]) -> None:
    assert Unjudged(*unjudged) in reads(name, **arguments).unjudged


def test_relative_paths_need_a_directory_and_tilde_a_home() -> None:
    nowhere = read_call("Read", {"file_path": "a"}, cwd="", home="")
    assert nowhere == Calling(unjudged=(Unjudged("directory", "a"),))
    homeless = read_call("Read", {"file_path": "~/a"}, cwd="", home="")
    assert homeless == Calling(unjudged=(Unjudged("home", "~/a"),))
    assert read_call("LS", {}, cwd="relative", home="").unjudged == (Unjudged("directory", "."),)


@pytest.mark.parametrize(
    ("name", "arguments", "expected", "reasons"),
    [
        ("Read", None, set(), {"arguments"}),
        ("Read", 3, set(), {"not-text", "arguments"}),
        ("Read", "a", {"read a"}, set()),
        ("Read", '{"file_path": "a"}', {"read a"}, set()),
        ("Read", ["/a"], {"read /a", "search /a/**"}, {"not-text", "arguments"}),
        ("apply_patch", PATCH, {"delete f.md"}, set()),
        ("Bash", "cat a", {"read a"}, set()),
        ("python_repl", "print(1)", set(), {"inline-code"}),
        ("frobnicate", "/a", {"read /a", "write /a", "search /a/**"}, set()),
    ],
)
def test_arguments_that_are_no_record(name: str, arguments: Any, expected: set[str], reasons: set[str]) -> None:
    calling = read_call(name, arguments, cwd=CWD, home=HOME)
    assert brief(calling) == expected
    assert {each.reason for each in calling.unjudged} == reasons


def test_what_a_known_tool_gets_besides_is_judged_too() -> None:
    assert brief(reads("Read", file_path="a", also="memory/b.md", note="no path")) == {
        "read a", "read memory/b.md", "search memory/b.md/**"
    }  # fmt: skip
    assert "write /b" in brief(reads("Write", file_path="a", content="/c", backup_path="/b"))
    assert brief(reads("Bash", command="pwd", description="/not/a path")) == set()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(["/a/b", "~/x"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)
NAMES = sorted({name for tool in (*TOOLS, *MCP_TOOLS) for name in tool.names.split()})
KEYS = st.sampled_from(
    ["path", "file_path", "paths", "files", "command", "commands", "content", "old_string", "new_string", "edits",
     "input", "pattern", "glob", "type", "url", "query", "args", "id", "tool_calls", "env", "workdir", "action",
     "operation", "recursive", "code", "source", "destination"]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(NAMES) | st.text(max_size=30) | st.sampled_from(NAMES).map("mcp__x__{}".format),
    st.dictionaries(KEYS | st.text(max_size=8), JSON, max_size=5),
)
def test_never_raises(name: str, arguments: dict[str, Any]) -> None:
    calling = read_call(name, arguments, cwd=CWD, home=HOME)
    for access in calling.accesses:
        assert access.path.startswith("/") or access.kind in (SEARCH, SESSIONS)
        assert "\0" not in access.path


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([name for tool in TOOLS if tool.does in (Does.READ, Does.WRITE, Does.EDIT, Does.DELETE)
                     for name in tool.names.split()]),
    st.sampled_from(["path", "file_path", "filePath", "absolute_path", "file", "uri", "relative_path"]),
    st.text(st.characters(exclude_characters="\0"), min_size=1, max_size=30),
)  # fmt: skip
def test_a_path_of_a_known_tool_is_never_lost(name: str, key: str, tail: str) -> None:
    word = f"/w/{tail}"
    assert any(access.word == word for access in reads(name, **{key: word}).accesses)


def test_a_look_changes_nothing() -> None:
    for tool in TOOLS:
        if tool.does in (Does.READ, Does.VIEW, Does.LIST, Does.TREE, Does.GLOB, Does.SEARCH):
            accesses = reads(tool.names.split()[0], path="/a", pattern="x").accesses
            assert accesses and not any(access.kind in CHANGES for access in accesses)


def test_importing_it_loads_nothing_heavy_and_no_shell() -> None:
    heavy = ["json", "shlex", "argparse", "pydantic", "tiktoken", "pluggy", "tree_sitter", "urllib.parse"]
    code = (
        "import sys, apm_hooks.toolcalls as t\n"
        "t.read_call('Read', {'file_path': 'a'}, cwd='/w', home='')\n"
        f"print(*(name for name in sys.modules if name.startswith('apm_hooks.shell') or name in {heavy!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
