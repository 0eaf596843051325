from __future__ import annotations

import fcntl
import json
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks import fastlane, markfile

PARTS = (".apm", "active", "f" * 32)
NAME = "0123456789abcdef" * 2
PLAIN = (
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40)
)  # fmt: skip
FIELDS = st.dictionaries(st.text(max_size=8).filter(lambda name: name not in ("write", "again")), PLAIN, max_size=12)


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path)


def file_of(root: str) -> Path:
    return Path(root, *PARTS, NAME)


def put(root: str, fields: dict[str, Any]) -> bool:
    """Replace what the file says."""

    def transform(data: bytes) -> bytes | None:
        known = markfile.decode(data)
        return markfile.encode(fields, known[1] + 1 if known else 1)

    return markfile.change(root, PARTS, NAME, transform, create=True)


def said(root: str) -> tuple[dict[str, Any], int] | None:
    data = markfile.read(root, PARTS, NAME)
    return markfile.decode(data) if data is not None else None


@given(FIELDS, st.integers(0, 10**12))
def test_values_come_back_by_both_readers_of_json(fields: dict[str, Any], number: int) -> None:
    data = markfile.encode(fields, number)
    assert data is not None
    assert len(data) == markfile.SIZE
    for parse in (markfile.loads, fastlane.parse_json):
        assert markfile.decode(data, parse) == (fields, number)


@settings(max_examples=150)
@given(FIELDS, FIELDS, st.integers(0, 10**4), st.integers(0, markfile.SIZE))
def test_a_read_in_the_middle_of_a_write_is_never_a_mixture(
    old: dict[str, Any], new: dict[str, Any], number: int, at: int
) -> None:
    before, after = markfile.encode(old, number), markfile.encode(new, number + 1)
    assert before is not None
    assert after is not None
    for torn in (after[:at] + before[at:], before[:at] + after[at:]):
        assert markfile.decode(torn) in (None, (old, number), (new, number + 1))


@pytest.mark.parametrize("value", [[], {}, b"x", float("inf"), float("nan"), object()])
def test_only_plain_values_are_written(value: object) -> None:
    with pytest.raises(ValueError, match="plain"):
        markfile.encode({"a": value}, 1)


def test_what_does_not_fit_is_refused() -> None:
    room = markfile.SIZE - len('{"write":1,"a":"","again":1}') - 1
    assert markfile.encode({"a": "x" * room}, 1) is not None
    assert markfile.encode({"a": "x" * (room + 1)}, 1) is None


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"{}", b'{"write":1}', b'{"write":1,"again":2}', b'{"write":true,"again":true}',
     b'{"write":1.0,"again":1.0}', b"\xff", b"\0" * 4096, b"[" * 4096, b'{"write":1,"again":1}' + b" " * 4096],
)  # fmt: skip
@pytest.mark.parametrize("parse", [markfile.loads, fastlane.parse_json])
def test_damage_is_no_fact(data: bytes, parse: Callable[[str], Any]) -> None:
    assert markfile.decode(data, parse) is None


@given(st.binary(max_size=200))
def test_no_bytes_make_reading_fail(data: bytes) -> None:
    assert markfile.decode(data, fastlane.parse_json) == markfile.decode(data)


def test_folders_and_files_are_private_and_stay_out_of_repositories(root: str) -> None:
    put(root, {"a": 1})
    assert stat.S_IMODE(file_of(root).stat().st_mode) == 0o600
    for folder in list(file_of(root).parents)[:3]:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert Path(root, ".apm", ".gitignore").read_text() == "*\n"
    assert file_of(root).stat().st_size == markfile.SIZE


def test_the_first_write_is_flushed_with_its_folders_and_later_ones_are_not(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        flushed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    put(root, {"a": 1})
    file = file_of(root)
    assert set(flushed) == {str(file), *(str(folder) for folder in list(file.parents)[:4])}
    flushed.clear()
    put(root, {"a": 2})
    assert flushed == []


def test_a_change_that_does_not_come_leaves_no_file(root: str) -> None:
    assert not markfile.change(root, PARTS, NAME, lambda data: None, create=True)
    assert not file_of(root).exists()
    with pytest.raises(ZeroDivisionError):
        markfile.change(root, PARTS, NAME, lambda data: bytes(1 // 0), create=True)
    assert not file_of(root).exists()


def test_a_full_disk_is_an_error_and_leaves_no_half_of_a_file(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.pwrite

    def short(descriptor: int, data: bytes, offset: int) -> int:
        return real(descriptor, data[:100], offset)

    def failing(descriptor: int, data: bytes, offset: int) -> int:
        raise OSError(28, "No space left on device")

    for pwrite in (short, failing):
        monkeypatch.setattr(os, "pwrite", pwrite)
        with pytest.raises(OSError, match="No space"):
            put(root, {"a": 1})
    assert not file_of(root).exists()
    monkeypatch.undo()
    put(root, {"a": 1})


def test_without_create_nothing_is_made(root: str) -> None:
    assert not markfile.change(root, PARTS, NAME, lambda data: b"x")
    assert not Path(root, ".apm").exists()
    put(root, {"a": 1})
    file_of(root).unlink()
    assert not markfile.change(root, PARTS, NAME, lambda data: b"x")
    assert not file_of(root).exists()


def test_numbers_count_the_changes(root: str) -> None:
    for number in range(1, 6):
        put(root, {"a": number})
        assert said(root) == ({"a": number}, number)


def test_a_longer_file_is_cut_to_size(root: str) -> None:
    put(root, {"a": 1})
    with file_of(root).open("ab") as file:
        file.write(b"x" * 5000)
    assert said(root) is None
    put(root, {"a": 2})
    assert said(root) == ({"a": 2}, 1)
    assert file_of(root).stat().st_size == markfile.SIZE


def before_the_lock(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> None:
    """What others do between our opening of a file and our lock of it, one step a lock; later locks are undisturbed."""
    left = list(steps)
    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        if left:
            left.pop(0)()
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", flock)


def test_a_file_that_loses_its_name_before_the_lock_is_made_anew(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, {"a": 1})
    before_the_lock(monkeypatch, file_of(root).unlink)
    put(root, {"a": 2})
    assert said(root) == ({"a": 2}, 1)


def test_a_file_that_another_takes_the_name_of_is_let_go(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, {"a": 1})

    def replace() -> None:
        aside = file_of(root).with_name("e" * 32)
        aside.write_bytes(markfile.encode({"a": 7}, 7) or b"")
        aside.chmod(0o600)
        aside.rename(file_of(root))

    before_the_lock(monkeypatch, replace, replace)
    put(root, {"a": 2})
    assert said(root) == ({"a": 2}, 8)


def test_a_file_that_goes_before_the_lock_is_not_inspected(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, {"a": 1})
    before_the_lock(monkeypatch, file_of(root).unlink)
    assert not markfile.inspect(root, PARTS, NAME, lambda data: True)


def test_a_name_that_is_always_taken_away_ends_in_nothing_written(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before_the_lock(monkeypatch, *[lambda: file_of(root).unlink()] * 1000)
    assert not put(root, {"a": 1})


def test_a_lock_that_does_not_come_ends_in_nothing_written(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markfile, "_LOCK_SECONDS", 0.0)
    put(root, {"a": 1})
    with file_of(root).open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert not put(root, {"a": 2})
        assert not markfile.inspect(root, PARTS, NAME, lambda data: True)
        assert said(root) == ({"a": 1}, 1)
    assert put(root, {"a": 2})


def test_a_file_system_without_locks_is_an_error(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(OSError, match="No locks"):
        put(root, {"a": 1})


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        os.chdir(path.parent)
        made.bind(path.name)


def _written_by_all(path: Path) -> None:
    path.write_bytes(markfile.encode({"a": 1}, 1) or b"")
    path.chmod(0o666)


STRANGE: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to(path.parent / "elsewhere"),
    "folder": lambda path: path.mkdir(),
    "fifo": lambda path: os.mkfifo(path, 0o600),
    "socket": _socket,
    "of others": _written_by_all,
}


@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_no_plain_file_of_our_own_is_never_written_and_never_believed(
    root: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    file = file_of(root)
    file.parent.mkdir(parents=True)
    (file.parent / "elsewhere").write_bytes(b"untouched")
    STRANGE[kind](file)
    before = file.lstat()
    assert said(root) is None
    with pytest.raises(OSError):
        put(root, {"a": 2})
    assert (file.lstat().st_size, file.lstat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert (file.parent / "elsewhere").read_bytes() == b"untouched"
    assert not markfile.inspect(root, PARTS, NAME, lambda data: data != b"?")
    if kind != "folder":
        assert markfile.inspect(root, PARTS, NAME, lambda data: data == b"?", unlink=True)
        assert not os.path.lexists(file)


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_no_link_on_the_way_is_followed(root: str, tmp_path: Path, depth: int) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = Path(root, *PARTS[: depth + 1])
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    with pytest.raises(OSError):
        put(root, {"a": 1})
    assert said(root) is None
    assert markfile.names(root, PARTS) == []
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("part", ["..", ".", "", "a/b", "/etc"])
def test_a_part_of_the_way_is_one_name(root: str, part: str) -> None:
    with pytest.raises(OSError, match="no name"):
        markfile.change(root, (".apm", part), NAME, lambda data: b"x", create=True)
    assert markfile.read(root, (".apm", part), NAME) is None


def test_only_names_of_ours_are_listed(root: str) -> None:
    put(root, {"a": 1})
    for other in ("README", "0" * 31, "0" * 33, "G" * 32, "." + "0" * 31, "0" * 31 + "A"):
        (file_of(root).parent / other).write_text("x")
    assert markfile.names(root, PARTS) == [NAME]
    assert markfile.names(root, (".apm", "nothing")) == []


def test_inspecting_and_taking_away_is_one_step(root: str) -> None:
    put(root, {"a": 1})
    assert not markfile.inspect(root, PARTS, NAME, lambda data: False, unlink=True)
    assert said(root) is not None

    def accepts(data: bytes) -> bool:
        # Nobody else gets the lock between the look and the end of the file.
        with file_of(root).open("rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return bool(json.loads(data)["a"] == 1)

    assert markfile.inspect(root, PARTS, NAME, accepts, unlink=True)
    assert not file_of(root).exists()
