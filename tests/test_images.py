"""Copies of what memory files held, for their owner alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from apm_hooks import images
from apm_hooks.errors import MemoryFileError, ScopeError, UsageError
from apm_hooks.images import PER_PATH, all_images, images_of, keep_image, restore
from apm_hooks.records import DM, LIMITS, Scope, ScopeKind

ALPHA = Scope(ScopeKind.GROUP, "alpha")
BETA = Scope(ScopeKind.GROUP, "beta")
PATH = "memory/main/attention.md"
BACKUP = ".apm/backup"


@pytest.fixture
def root(tmp_path: Path) -> str:
    """A workspace with an attention file of the owner's."""
    file = tmp_path / "ws" / PATH
    file.parent.mkdir(parents=True)
    file.write_bytes(b"now\n")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    return str(tmp_path / "ws")


def read(root: str, path: str = PATH) -> bytes:
    return Path(root, path).read_bytes()


def texts(root: str, path: str = PATH) -> list[bytes]:
    """What is kept of a file, the newest first."""
    return [read(root, image.file) for image in images_of(root, DM, path)]


def kept_files(root: str) -> list[Path]:
    return [path for path in Path(root, BACKUP).rglob("*") if path.is_file() and path.name != "path"]


def test_a_copy_is_its_owners_alone(root: str) -> None:
    assert keep_image(root, DM, PATH, b"text") is True
    top = Path(root, BACKUP)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (top, *top.rglob("*")) if path.is_dir()} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in top.rglob("*") if path.is_file()} == {0o600}
    assert not any(
        "attention" in part or "main" in part for path in top.rglob("*") for part in path.relative_to(top).parts
    )


def test_the_newest_copies_of_a_path_stay(root: str) -> None:
    for number in range(PER_PATH + 3):
        keep_image(root, DM, PATH, b"%d" % number)
    assert texts(root) == [b"7", b"6", b"5", b"4", b"3"]


def test_the_same_text_in_a_row_is_kept_once(root: str) -> None:
    for data in (b"a", b"a", b"b", b"a"):
        assert keep_image(root, DM, PATH, data) is True
    assert texts(root) == [b"a", b"b", b"a"]


def test_a_clock_that_goes_back_keeps_the_order(root: str) -> None:
    for number, at in enumerate((1_000, 5, 5)):
        keep_image(root, DM, PATH, b"%d" % number, clock_ns=lambda at=at: at)  # type: ignore[misc]
    assert texts(root) == [b"2", b"1", b"0"]
    assert [image.at_ns for image in images_of(root, DM, PATH)] == [1_002, 1_001, 1_000]


def test_a_file_past_the_bound_is_not_kept_and_said(root: str) -> None:
    limits = replace(LIMITS, image_bytes=3)
    assert keep_image(root, DM, PATH, b"four", limits=limits) is False
    assert keep_image(root, DM, PATH, b"3ch", limits=limits) is True
    assert texts(root) == [b"3ch"]


def test_all_together_stay_below_the_bound_and_the_oldest_go_first(root: str) -> None:
    limits = replace(LIMITS, images=12)
    times: Iterator[int] = count(1)
    for number in range(6):
        for version in range(4):
            path = f"memory/main/{number}.md"
            keep_image(root, DM, path, b"%d" % version, limits=limits, clock_ns=lambda: next(times))
    assert len(kept_files(root)) == 12
    assert [texts(root, f"memory/main/{number}.md") for number in range(6)] == [
        [],
        [],
        [],
        *[[b"3", b"2", b"1", b"0"]] * 3,
    ]
    assert {image.path for image in all_images(root, DM)} == {f"memory/main/{number}.md" for number in (3, 4, 5)}


def test_no_scope_makes_another_lose_its_copies(root: str) -> None:
    limits = replace(LIMITS, images=20)
    keep_image(root, DM, PATH, b"the oldest of all", limits=limits, clock_ns=lambda: 1)
    times: Iterator[int] = count(2)
    for number in range(9):
        for version in range(5):
            path = f"memory/groups/alpha/{number}.md"
            keep_image(root, ALPHA, path, b"%d" % version, limits=limits, clock_ns=lambda: next(times))
    assert texts(root) == [b"the oldest of all"]
    assert len(all_images(root, ALPHA)) == 10


def test_a_scope_finds_its_own_copies_only_and_they_lie_below_no_others(root: str) -> None:
    scopes = (DM, ALPHA, BETA, Scope(ScopeKind.GROUP, "alpha/inner"))
    for scope in scopes:
        keep_image(root, scope, "memory/groups/alpha/attention.md", str(scope).encode())
    found = all_images(root, ALPHA)
    assert [read(root, image.file) for image in found] == [b"Group(alpha)"]
    folders = {all_images(root, scope)[0].file.split("/")[2] for scope in scopes}
    assert len(folders) == len(scopes) == len(os.listdir(Path(root, BACKUP)))


def test_copies_are_listed_by_path_the_newest_first(root: str) -> None:
    for path, data in (("memory/main/b.md", b"1"), (PATH, b"2"), (PATH, b"333"), ("memory/main/研.md", b"4")):
        keep_image(root, DM, path, data)
    assert [(image.path, image.size) for image in all_images(root, DM)] == [
        (PATH, 3), (PATH, 1), ("memory/main/b.md", 1), ("memory/main/研.md", 1)]  # fmt: skip


def test_nothing_kept_is_an_empty_list(root: str) -> None:
    assert (all_images(root, DM), images_of(root, DM, PATH)) == ((), ())
    assert not Path(root, BACKUP).exists()


def test_a_folder_that_others_can_write_to_is_not_used(root: str) -> None:
    Path(root, BACKUP).mkdir(parents=True)
    Path(root, BACKUP).chmod(0o777)
    with pytest.raises(MemoryFileError, match=r"backup: can be written by others\. Run: chmod 700"):
        keep_image(root, DM, PATH, b"text")
    assert kept_files(root) == []


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_no_copy_lies_or_is_found_behind_a_link(root: str, tmp_path: Path, depth: int) -> None:
    keep_image(root, DM, PATH, b"text")
    (image,) = images_of(root, DM, PATH)
    swapped = Path(root, *Path(image.file).parts[:depth])
    swapped.rename(tmp_path / "outside")
    swapped.symlink_to(tmp_path / "outside")
    held = sorted((tmp_path / "outside").rglob("*"))
    assert (images_of(root, DM, PATH), all_images(root, DM)) == ((), ())
    with pytest.raises(MemoryFileError, match=r"is a symbolic link|Not a directory"):
        keep_image(root, DM, PATH, b"more")
    with pytest.raises((MemoryFileError, UsageError)):
        restore(root, DM, PATH)
    assert (sorted((tmp_path / "outside").rglob("*")), read(root)) == (held, b"now\n")


def test_a_folder_with_another_files_name_is_not_believed(root: str) -> None:
    keep_image(root, DM, PATH, b"text")
    named = next(Path(root, BACKUP).rglob("path"))
    keep_image(root, DM, "memory/main/longterm.md", b"text")
    named.write_text("memory/main/longterm.md")
    assert [image.path for image in all_images(root, DM)] == ["memory/main/longterm.md"]


def test_an_earlier_text_comes_back_and_what_it_replaced_too(root: str) -> None:
    keep_image(root, DM, PATH, b"morning\n")
    image, changed = restore(root, DM, PATH)
    assert (image.path, changed, read(root)) == (PATH, True, b"morning\n")
    assert texts(root) == [b"now\n", b"morning\n"]
    restore(root, DM, PATH)
    assert read(root) == b"now\n"


def test_what_the_file_holds_already_is_passed_over(root: str) -> None:
    for data in (b"morning\n", b"now\n"):
        keep_image(root, DM, PATH, data)
    restore(root, DM, PATH)
    assert read(root) == b"morning\n"


def test_a_certain_text_comes_back_by_its_name(root: str) -> None:
    for data in (b"1", b"2", b"3"):
        keep_image(root, DM, PATH, data)
    wanted = images_of(root, DM, PATH)[-1]
    assert restore(root, DM, PATH, image=wanted.id) == (wanted, True)
    assert read(root) == b"1"
    again = images_of(root, DM, PATH)[-1]
    assert restore(root, DM, PATH, image=again.id)[1] is False


def test_a_deleted_file_comes_back(root: str) -> None:
    keep_image(root, DM, PATH, b"text\n")
    Path(root, PATH).unlink()
    assert restore(root, DM, PATH)[1] is True
    assert read(root) == b"text\n"


@pytest.mark.parametrize("image", ["", "ffffffff"])
def test_what_is_not_kept_is_told(root: str, image: str) -> None:
    with pytest.raises(UsageError, match=r"memory/main/attention\.md: no .*apm-hooks restore --list"):
        restore(root, DM, PATH, image=image)
    assert read(root) == b"now\n"


def test_a_check_may_refuse(root: str) -> None:
    keep_image(root, DM, PATH, b"text\n")
    seen: list[tuple[bytes | None, bytes]] = []

    def check(before: bytes | None, after: bytes) -> None:
        seen.append((before, after))
        raise KeyError("x")

    with pytest.raises(KeyError):
        restore(root, DM, PATH, check=check)
    assert (seen, read(root)) == ([(b"now\n", b"text\n")], b"now\n")


@pytest.mark.parametrize("path", [PATH, "memory/groups/beta/x.md", "memory/flush-state.json", ".apm/x", "apm.toml"])
def test_only_a_scopes_own_file_is_restored(root: str, path: str) -> None:
    keep_image(root, ALPHA, path, b"text\n")
    with pytest.raises(ScopeError, match=r"is not Group\(alpha\)'s to write"):
        restore(root, ALPHA, path)


def test_nothing_is_restored_over_what_cannot_be_kept(root: str) -> None:
    keep_image(root, DM, PATH, b"t")
    with pytest.raises(MemoryFileError, match="more than 3 bytes"):
        restore(root, DM, PATH, limits=replace(LIMITS, image_bytes=3))
    assert read(root) == b"now\n"


def test_few_folders_are_not_walked_through(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def walked(*_: object) -> None:
        raise AssertionError("walked through all copies")

    monkeypatch.setattr(images, "_bound", walked)
    for number in range(9):
        keep_image(root, DM, f"memory/main/{number}.md", b"x")
    assert len(kept_files(root)) == 9
