"""Patches: what is added, changed, moved and taken away, and what of it can be told from the text alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.access import Access, AccessKind, Calling, Edit, Unjudged
from apm_hooks.toolcalls import read_call
from apm_hooks.toolcalls.patches import block_edits, line_edits, new_text

CWD = "/home/user/project"
WRITE, EDIT, DELETE, MOVE = AccessKind.WRITE, AccessKind.EDIT, AccessKind.DELETE, AccessKind.MOVE_FROM


def patched(text: str, key: str = "input", tool: str = "apply_patch") -> Calling:
    return read_call(tool, {key: text}, cwd=CWD, home="")


WHOLE = """*** Begin Patch
*** Add File: new.md
+# New
+
+line
*** Update File: old.md
@@ ## Heading
 context
-gone
+come
@@
-x
+y
*** End of File
*** Update File: from.md
*** Move to: /to.md
@@
-a
+b
*** Delete File: dead.md
*** End Patch
"""
EXPECTED = (
    Access(WRITE, f"{CWD}/new.md", content="# New\n\nline\n", word="new.md"),
    Access(EDIT, f"{CWD}/old.md", edits=(Edit("context\ngone\n", "context\ncome\n"), Edit("x\n", "y\n")),
           word="old.md"),
    Access(EDIT, f"{CWD}/from.md", edits=(Edit("a\n", "b\n"),), word="from.md"),
    Access(MOVE, f"{CWD}/from.md", word="from.md"),
    Access(WRITE, "/to.md", word="/to.md"),
    Access(DELETE, f"{CWD}/dead.md", word="dead.md"),
)  # fmt: skip


@pytest.mark.parametrize("key", ["input", "patchText", "patch", "command"])
@pytest.mark.parametrize("tool", ["apply_patch", "ApplyPatch", "patch"])
def test_a_patch_with_everything(tool: str, key: str) -> None:
    assert patched(WHOLE, key, tool) == Calling(EXPECTED)


def test_line_ends_and_a_list_around_the_patch_change_nothing() -> None:
    assert patched(WHOLE.replace("\n", "\r\n")).accesses == EXPECTED
    listed = read_call("apply_patch", {"command": ["apply_patch", WHOLE]}, cwd=CWD, home="")
    assert listed.accesses == EXPECTED


@pytest.mark.parametrize(
    ("body", "access"),
    [
        ("*** Add File: a\n", Access(WRITE, f"{CWD}/a", content="", word="a")),
        ("*** Add File: a\nno plus\n", Access(WRITE, f"{CWD}/a", word="a")),
        ("  *** Add File: a\n+x\n", Access(WRITE, f"{CWD}/a", content="x\n", word="a")),
        ("*** add file: a\n+x\n", Access(WRITE, f"{CWD}/a", content="x\n", word="a")),
        ("*** Update File: a\n", Access(EDIT, f"{CWD}/a", word="a")),
        ("*** Update File: a\n@@\n+only\n", Access(EDIT, f"{CWD}/a", edits=(Edit("", "only\n"),), word="a")),
        ("*** Update File: a\n-x\n\n+y\n", Access(EDIT, f"{CWD}/a", edits=(Edit("x\n\n", "\ny\n"),), word="a")),
        ("*** Update File: a\n@@\n?x\n", Access(EDIT, f"{CWD}/a", word="a")),
        ("*** Update File: a\n@@\n same\n", Access(EDIT, f"{CWD}/a", word="a")),
    ],
)  # fmt: skip
def test_a_section(body: str, access: Access) -> None:
    assert patched(f"*** Begin Patch\n{body}*** End Patch").accesses == (access,)


def test_a_header_behind_a_blank_is_both_context_and_header() -> None:
    calling = patched("*** Begin Patch\n*** Update File: a\n@@\n-x\n *** Delete File: b\n+y\n*** End Patch")
    assert calling.accesses == (Access(EDIT, f"{CWD}/a", word="a"), Access(DELETE, f"{CWD}/b", word="b"))


def test_what_stands_behind_the_end_is_no_part_of_the_last_file() -> None:
    calling = patched("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch\nEOF\n")
    assert calling.accesses == (Access(WRITE, f"{CWD}/a", content="x\n", word="a"),)


def test_a_unified_diff_names_its_files_in_both_ways() -> None:
    diff = "diff --git a/m/x.md b/m/x.md\n--- a/m/x.md\n+++ b/m/x.md\t2026\n@@ -1 +1 @@\n-a\n+b\n"
    assert {access.path for access in patched(diff).accesses} == {
        f"{CWD}/a/m/x.md", f"{CWD}/b/m/x.md", f"{CWD}/m/x.md"
    }  # fmt: skip
    assert {access.kind for access in patched(diff).accesses} == {EDIT}
    assert patched("--- /dev/null\n+++ /dev/null\n").unjudged


def test_operations_are_read_each_as_itself() -> None:
    operations: list[dict[str, Any]] = [
        {"type": "create_file", "path": "a", "diff": "+x\n+y\n"},
        {"type": "update_file", "path": "b", "diff": "@@\n-x\n+y\n"},
        {"type": "delete_file", "path": "c"},
        {"type": "update_file", "path": "d"},
    ]
    expected = (
        Access(WRITE, f"{CWD}/a", content="x\ny\n", word="a"),
        Access(EDIT, f"{CWD}/b", edits=(Edit("x\n", "y\n"),), word="b"),
        Access(DELETE, f"{CWD}/c", word="c"),
        Access(EDIT, f"{CWD}/d", word="d"),
    )
    assert read_call("apply_patch", {"operations": operations}, cwd=CWD, home="") == Calling(expected)
    for operation, access in zip(operations, expected, strict=True):
        assert read_call("apply_patch", {"operation": operation}, cwd=CWD, home="") == Calling((access,))


def test_a_file_beside_the_patch_counts_too() -> None:
    calling = read_call("patch", {"path": "a", "patch": WHOLE}, cwd=CWD, home="")
    assert calling.accesses == (*EXPECTED, Access(EDIT, f"{CWD}/a", word="a"))


@pytest.mark.parametrize("text", ["", "nothing", "*** Begin Patch\n*** End Patch", "*** Move to: x"])
def test_a_patch_that_names_no_file_is_not_judged(text: str) -> None:
    assert patched(text) == Calling(unjudged=(Unjudged("patch", text),))


SHELL = "apply_patch <<'EOF'\n{}EOF\n"


def test_a_patch_in_a_shell_command_is_read_too() -> None:
    calling = read_call("Bash", {"command": SHELL.format(WHOLE)}, cwd=CWD, home="")
    assert calling.accesses == EXPECTED
    assert {each.reason for each in calling.unjudged} <= {"program"}


@pytest.mark.parametrize(
    "command",
    ["cd memory && " + SHELL.format(WHOLE), "git -C memory " + SHELL.format(WHOLE),
     SHELL.format(WHOLE.replace("dead.md", "$D")), SHELL.format("*** Begin Patch\n")],
)  # fmt: skip
def test_a_patch_in_a_command_that_moves_about_is_not_judged(command: str) -> None:
    calling = read_call("Bash", {"command": command}, cwd=CWD, home="")
    assert "patch" in {each.reason for each in calling.unjudged}


def test_lines_of_no_known_kind_tell_nothing() -> None:
    assert line_edits(["@@", "-a", "?b"]) is None
    assert new_text("+a\nb") is None
    assert new_text("+a\n+\n") == "a\n\n"


@pytest.mark.parametrize(
    "text",
    ["", "no blocks", "<<<<<<< SEARCH\na\n", "<<<<<<< SEARCH\na\n=======\nb\n",
     "<<<<<<< SEARCH\n<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE"],
)  # fmt: skip
def test_blocks_that_are_not_whole_tell_nothing(text: str) -> None:
    assert block_edits(text) is None


def test_blocks_follow_each_other() -> None:
    text = "<<<<<<< SEARCH\na\n=======\n>>>>>>> REPLACE\nbetween\n<<<<<<< SEARCH\nb\n=======\nc\nd\n>>>>>>> REPLACE\n"
    assert block_edits(text) == (Edit("a\n", ""), Edit("b\n", "c\nd\n"))


LINES = st.lists(
    st.sampled_from(
        ["*** Begin Patch", "*** End Patch", "*** Add File: a", "*** Update File: b", "*** Delete File: c",
         "*** Move to: d", "@@", "+x", "-y", " z", "", "w", "*** End of File", "--- a/e", "+++ b/e", "<<<<<<< SEARCH",
         "=======", ">>>>>>> REPLACE"]
    ),
    max_size=14,
)  # fmt: skip


@settings(max_examples=200)
@given(LINES)
def test_every_file_of_a_patch_comes_out(lines: list[str]) -> None:
    calling = patched("\n".join(lines))
    paths = {access.path for access in calling.accesses}
    for line in lines:
        if line.startswith(("*** Add", "*** Update", "*** Delete")):
            assert f"{CWD}/{line[-1]}" in paths
    assert calling.accesses or calling.unjudged
