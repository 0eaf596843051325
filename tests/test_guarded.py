"""One file changed under its lock: nobody's text is lost, also not that of an editor that knows no lock."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from apm_hooks import guarded
from apm_hooks.errors import LockTimeoutError, MemoryFileError
from apm_hooks.files import stamp
from apm_hooks.guarded import change_file, lock_path
from apm_hooks.locking import locked_at
from apm_hooks.records import LIMITS

PATH = "memory/main/longterm.md"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A memory file that was written long ago."""
    found = tmp_path / PATH
    found.parent.mkdir(parents=True)
    found.write_bytes(b"old\n")
    os.utime(found, (1_700_000_000, 1_700_000_000))
    return found


def ignore(before: bytes) -> None:
    """Keeps no copy."""


def append(before: bytes | None) -> bytes:
    return (before or b"") + b"new\n"


def test_a_change_is_kept_and_replaced_with_the_files_mode(tmp_path: Path, file: Path) -> None:
    file.chmod(0o640)
    kept: list[bytes] = []
    assert change_file(str(tmp_path), PATH, append, keep=kept.append) is True
    assert (file.read_bytes(), kept) == (b"old\nnew\n", [b"old\n"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize("answer", [None, b"old\n"])
def test_nothing_new_writes_nothing(tmp_path: Path, file: Path, answer: bytes | None) -> None:
    before, kept = stamp(str(tmp_path), PATH), list[bytes]()
    assert change_file(str(tmp_path), PATH, lambda _: answer, keep=kept.append) is False
    assert stamp(str(tmp_path), PATH) == before
    assert kept == []


def test_an_absent_file_is_made(tmp_path: Path) -> None:
    kept: list[bytes] = []
    assert change_file(str(tmp_path), PATH, append, keep=kept.append) is True
    assert ((tmp_path / PATH).read_bytes(), kept) == (b"new\n", [])


def test_an_editors_save_in_between_is_not_lost(tmp_path: Path, file: Path) -> None:
    """Case B14: the change is made again on what the editor has put there."""
    kept: list[bytes] = []

    def late(before: bytes | None) -> bytes:
        if not kept:
            file.write_bytes(b"old\nedited " * 600)
            os.utime(file, (1_700_000_000, 1_700_000_000))
        return append(before)

    assert change_file(str(tmp_path), PATH, late, keep=kept.append) is True
    assert file.read_bytes() == b"old\nedited " * 600 + b"new\n"
    assert kept[-1] == b"old\nedited " * 600


@pytest.mark.parametrize("style", ["in place", "renamed over", "deleted"])
def test_an_editors_save_during_our_own_write_is_not_overwritten(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    """The editor saves while our new text goes to disk beside the file."""
    real, saves = os.fsync, list[str]()

    def saving(descriptor: int) -> None:
        real(descriptor)
        if not saves and file.with_name(f".{file.name}.apm-tmp").exists():
            saves.append(style)
            if style == "in place":
                file.write_bytes(b"theirs\n")
            elif style == "renamed over":
                (tmp_path / "new").write_bytes(b"theirs\n")
                (tmp_path / "new").replace(file)
            else:
                file.unlink()

    monkeypatch.setattr(os, "fsync", saving)
    assert change_file(str(tmp_path), PATH, append, keep=ignore) is True
    assert (saves, file.read_bytes()) == ([style], b"new\n" if style == "deleted" else b"theirs\nnew\n")
    assert os.listdir(file.parent) == [file.name]


def test_a_file_that_an_editor_makes_in_between_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / PATH

    def late(before: bytes | None) -> bytes:
        if before is None:
            file.parent.mkdir(parents=True)
            file.write_bytes(b"theirs\n")
        return append(before)

    assert change_file(str(tmp_path), PATH, late, keep=ignore) is True
    assert file.read_bytes() == b"theirs\nnew\n"


def test_a_file_that_keeps_changing_is_a_conflict_that_names_it(tmp_path: Path, file: Path) -> None:
    saves = 0

    def late(before: bytes | None) -> bytes:
        nonlocal saves
        saves += 1
        file.write_bytes(b"save %d\n" % saves)
        os.utime(file, (1_700_000_000, 1_700_000_000))
        return append(before)

    with pytest.raises(MemoryFileError, match=r"memory/main/longterm\.md: was changed by another program"):
        change_file(str(tmp_path), PATH, late, keep=ignore)
    assert file.read_bytes() == b"save %d\n" % saves
    assert saves == LIMITS.read_retries


def test_a_young_file_may_be_half_of_a_save_unless_it_came_by_a_rename(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[str] = []

    def settled(root: str, path: str, limit: int) -> None:
        waited.append(path)

    monkeypatch.setattr(guarded, "read_settled", settled)
    # A rename changes the file after its last write, as setting a time does here.
    change_file(str(tmp_path), PATH, lambda _: None, keep=ignore)
    assert waited == []
    file.write_bytes(b"half")
    change_file(str(tmp_path), PATH, lambda _: None, keep=ignore)
    assert waited == [PATH]


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path, file: Path) -> None:
    with pytest.raises(MemoryFileError, match="would grow past 5 bytes"):
        change_file(str(tmp_path), PATH, append, keep=ignore, limits=replace(LIMITS, file_bytes=5))
    assert file.read_bytes() == b"old\n"


def test_an_error_leaves_the_file_and_frees_the_lock(tmp_path: Path, file: Path) -> None:
    def broken(before: bytes | None) -> bytes:
        raise KeyError("x")

    with pytest.raises(KeyError):
        change_file(str(tmp_path), PATH, broken, keep=ignore)
    assert file.read_bytes() == b"old\n"
    assert change_file(str(tmp_path), PATH, append, keep=ignore)


def test_a_held_lock_is_waited_for_no_longer_than_the_bound(tmp_path: Path, file: Path) -> None:
    with locked_at(str(tmp_path), lock_path(str(tmp_path), PATH)), pytest.raises(LockTimeoutError):
        change_file(str(tmp_path), PATH, append, keep=ignore, limits=replace(LIMITS, lock_seconds=0))
    assert file.read_bytes() == b"old\n"


def test_a_lock_is_named_by_the_composed_path_and_lies_in_our_own_folder(tmp_path: Path) -> None:
    root = str(tmp_path)
    composed, decomposed = lock_path(root, "memory/main/\u00e9.md"), lock_path(root, "memory/main/e\u0301.md")
    assert composed == decomposed != lock_path(root, PATH)
    assert composed.startswith(".apm/locks/")


@pytest.mark.parametrize("make", ["symlink", "fifo", "directory"])
def test_what_is_no_plain_file_is_refused(tmp_path: Path, file: Path, make: str) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"secret\n")
    file.unlink()
    if make == "symlink":
        file.symlink_to(outside)
    elif make == "fifo":
        os.mkfifo(file)
    else:
        file.mkdir()
    with pytest.raises(MemoryFileError, match=r"memory/main/longterm\.md: is a"):
        change_file(str(tmp_path), PATH, append, keep=ignore)
    assert outside.read_bytes() == b"secret\n"
