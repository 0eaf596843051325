from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apm_hooks import seen
from apm_hooks.errors import MemoryFileError

AT = 1_767_225_600_000_000_000


def test_nothing_was_seen_where_nothing_was_noted(tmp_path: Path) -> None:
    assert seen.events(str(tmp_path)) == {}
    assert list(tmp_path.iterdir()) == []


def test_each_event_of_each_host_has_its_own_latest_time(tmp_path: Path) -> None:
    root = str(tmp_path)
    seen.note(root, "claude-code", "Stop", AT)
    seen.note(root, "claude-code", "SessionStart", AT + 1)
    seen.note(root, "codex", "Stop", AT + 2)
    seen.note(root, "claude-code", "Stop", AT + 3)
    assert seen.events(root) == {
        ("claude-code", "SessionStart"): AT + 1, ("claude-code", "Stop"): AT + 3, ("codex", "Stop"): AT + 2,
    }  # fmt: skip


def test_what_is_noted_is_ours_alone_and_empty(tmp_path: Path) -> None:
    seen.note(str(tmp_path), "claude-code", "Stop", AT)
    folder = tmp_path / ".apm/seen"
    assert [path.name for path in folder.iterdir()] == ["claude-code.Stop"]
    assert (folder / "claude-code.Stop").read_bytes() == b""
    assert stat.S_IMODE((folder / "claude-code.Stop").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (tmp_path / ".apm/.gitignore").read_text() == "*\n"


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(host=st.text(max_size=80), event=st.text(max_size=80), at=st.integers())
def test_no_name_and_no_time_raises_or_leaves_the_folder(tmp_path: Path, host: str, event: str, at: int) -> None:
    root = tmp_path / "ws"
    root.mkdir(exist_ok=True)
    seen.note(str(root), host, event, at)
    assert {path.name for path in tmp_path.iterdir()} == {"ws"}
    assert {path.name for path in root.iterdir()} <= {".apm"}
    assert {path.name for path in root.glob(".apm/*")} <= {"seen", ".gitignore"}
    for path in root.glob(".apm/seen/*"):
        assert path.name.isascii()
        assert path.name.count(".") == 1


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a.b", "a\n", "a b", "a\0", "é", "x" * 65])
def test_what_is_no_name_is_not_noted(tmp_path: Path, name: str) -> None:
    seen.note(str(tmp_path), name, "Stop", AT)
    seen.note(str(tmp_path), "claude-code", name, AT)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("planted", ["link", "folder", "fifo"])
def test_what_stands_in_the_place_of_a_note_is_left_alone(tmp_path: Path, planted: str) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    seen.note(str(root), "claude-code", "SessionStart", AT)
    place, target = root / ".apm/seen/claude-code.Stop", tmp_path / "target"
    target.write_text("theirs")
    os.utime(target, (1, 1))
    if planted == "link":
        place.symlink_to(target)
    elif planted == "folder":
        place.mkdir()
    else:
        os.mkfifo(place)
    seen.note(str(root), "claude-code", "Stop", AT)
    assert target.stat().st_mtime == 1
    assert seen.events(str(root)) == {("claude-code", "SessionStart"): AT}


@pytest.mark.parametrize("part", [".apm", ".apm/seen"])
def test_no_link_in_the_place_of_the_folder_is_followed(tmp_path: Path, part: str) -> None:
    root, elsewhere = tmp_path / "ws", tmp_path / "elsewhere"
    (root / part).parent.mkdir(parents=True)
    (elsewhere / "seen").mkdir(parents=True)
    (root / part).symlink_to(elsewhere)
    seen.note(str(root), "claude-code", "Stop", AT)
    assert [path for path in elsewhere.rglob("*") if path.is_file()] == []
    with pytest.raises(MemoryFileError, match="a symbolic link"):
        seen.events(str(root))


def test_a_workspace_that_is_gone_is_no_reason_to_fail_a_turn(tmp_path: Path) -> None:
    seen.note(str(tmp_path / "gone"), "claude-code", "Stop", AT)
    assert not (tmp_path / "gone").exists()


def test_what_others_put_beside_the_notes_is_none(tmp_path: Path) -> None:
    root = str(tmp_path)
    seen.note(root, "claude-code", "Stop", AT)
    for name in ("README", "claude-code.Stop.bak", ".hidden", "a.b c"):
        (tmp_path / ".apm/seen" / name).write_text("")
    assert seen.events(root) == {("claude-code", "Stop"): AT}
