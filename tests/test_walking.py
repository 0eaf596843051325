"""A walk on a real disk: the scope's own plain files and no others, no link followed, and what could not be looked into
is named and takes nothing away."""

from __future__ import annotations

import errno
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from apm_hooks import walking
from apm_hooks.errors import MemoryFileError
from apm_hooks.flushrecords import Delta
from apm_hooks.records import DM, LIMITS, Scope, ScopeKind
from apm_hooks.scanning import scan
from tests.scans import KINDS, OPS, X, as_nobody, failing, listing, look, no_descriptor_left, opening, place, put


@pytest.mark.parametrize(
    ("path", "scopes"),
    [
        ("MEMORY.md", [DM]),
        ("memory/main/index.md", [DM]),
        ("memory/2026-01-31.md", [DM]),
        ("memory/notes/deep/er/still.txt", [DM]),
        ("memory/main/groups/a.md", [DM]),
        ("memory/groupsy/a.md", [DM]),
        ("memory/fl.md", [DM]),
        ("memory/#.md", [DM]),
        ("memory/#", [DM]),
        ("memory/笔记.md", [DM]),
        ("memory/two\nlines.md", [DM]),
        ("memory/groups/x.md", [X]),
        ("memory/groups/x/people.md", [X]),
        ("memory/groups/x/conventions/a.md", [X]),
        ("memory/groups/x/groups/a.md", [X]),
        ("memory/groups/xy.md", []),
        ("memory/groups/xy/people.md", []),
        ("memory/groups/x.md.txt", []),
        ("memory/groups/X/people.md", []),
        ("memory/groups/team.md", []),
        ("memory/groups/team/people.md", []),
        ("memory/groups/team/ops.md", [OPS]),
        ("memory/groups/team/ops/people.md", [OPS]),
        ("memory/groups/team/opsy/people.md", []),
        ("memory/groups/ops.md", []),
        ("memory/groups/group_names.json", []),
        ("memory/groups/flush-state.json", []),
        ("memory/groups/loose.md", []),
        ("memory/Groups/x.md", []),
        ("memory/flush-state.json", []),
        ("memory/flush-state.json.lock", []),
        ("memory/flush-state.json.corrupt-1", []),
        ("memory/.flush-state.json.apm-tmp", []),
        ("memory/main/flush-state.json", []),
        ("memory/groups/x/flush-state.json", []),
        ("memory/.hidden.md", []),
        ("memory/.git/HEAD", []),
        ("memory/main/index.md~", []),
        ("memory/main/#index.md#", []),
        ("memory/main/index.md.swp", []),
        ("log/2026-01-31.md", []),
        ("README.md", []),
        ("apm.toml", []),
        (".apm/active/a", []),
    ],
)
def test_a_scope_sees_its_own_files_alone(tmp_path: Path, path: str, scopes: list[Scope]) -> None:
    file = put(tmp_path, path)
    books = {scope: look(tmp_path, scope=scope) for scope in (DM, X, OPS)}
    for scope, (book, delta) in books.items():
        assert delta == Delta(added=(path,) if scope in scopes else ())
        assert list(scan(str(tmp_path), scope).files) == list(book.files) == list(delta.added)
    file.unlink()
    for scope, (book, _) in books.items():
        assert look(tmp_path, book, scope)[1] == Delta(removed=(path,) if scope in scopes else ())


def test_a_file_where_groups_should_be_is_the_owners(tmp_path: Path) -> None:
    file = put(tmp_path, "memory/groups")
    book, delta = look(tmp_path)
    assert delta == Delta(added=("memory/groups",))
    assert look(tmp_path, scope=X)[1] == Delta(refused=(("memory/groups", "a plain file"),))
    file.unlink()
    assert look(tmp_path, book)[1] == Delta(removed=("memory/groups",))


def test_a_scan_holds_what_stat_says(tmp_path: Path) -> None:
    status = put(tmp_path, "memory/a.md").stat()
    before = time.time_ns()
    found = scan(str(tmp_path), DM)
    assert found.files == {
        "memory/a.md": (status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)
    }  # fmt: skip
    assert before <= found.scanned_ns <= time.time_ns()


@pytest.mark.parametrize("scope", [DM, X, OPS])
def test_a_scope_without_files_is_empty(tmp_path: Path, scope: Scope) -> None:
    assert scan(str(tmp_path), scope).files == {}
    (tmp_path / "memory/groups/team").mkdir(parents=True)
    assert (scan(str(tmp_path), scope).files, look(tmp_path, scope=scope)[1]) == ({}, Delta())


@pytest.mark.parametrize("name", ["", ".", "..", "../main", "a/../../main", "/etc", "a//b", "a\0b"])
def test_a_group_whose_name_leads_elsewhere_is_no_scope(tmp_path: Path, name: str) -> None:
    put(tmp_path, "memory/main/index.md")
    with pytest.raises(MemoryFileError, match="not a plain path"):
        scan(str(tmp_path), Scope(ScopeKind.GROUP, name))


def test_what_is_refused_comes_in_order(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    for name in "dbeagcf":
        (tmp_path / "memory" / name).symlink_to("elsewhere")
    assert [path for path, _ in scan(str(tmp_path), DM).refused] == [f"memory/{name}" for name in "abcdefg"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("scope", "path"),
    [(DM, "MEMORY.md"), (DM, "memory/main/a.md"), (X, "memory/groups/x.md"), (X, "memory/groups/x/a")],
)
def test_what_is_no_plain_file_is_named_and_never_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, scope: Scope, path: str
) -> None:
    root = tmp_path / "ws"
    ours = put(root, f"{scope.directory}/ours.md")
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    named = place(kind, root / path, tmp_path)
    opened = opening(monkeypatch, "", lambda: None)
    _, delta = look(root, scope=scope)
    assert delta == Delta(added=(str(ours.relative_to(root)),), refused=((path, named),))
    assert os.path.basename(path) not in opened


@pytest.mark.parametrize("swapped", ["memory", "memory/main", "memory/main/deep"])
def test_a_link_swapped_in_for_a_folder_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    root, outside = tmp_path / "ws", tmp_path / "outside"
    put(root, "memory/main/deep/a.md")
    for path in ("main/deep/secret.md", "deep/secret.md", "secret.md"):
        put(outside, path, "secret")
    book, _ = look(root)

    def swap() -> None:
        (root / swapped).rename(tmp_path / "moved")
        (root / swapped).symlink_to(outside)

    with no_descriptor_left(), monkeypatch.context() as patch:
        opening(patch, swapped.rpartition("/")[2], swap)
        after, delta = look(root, book)
    assert delta == Delta(refused=((swapped, "a symbolic link"),))
    assert after.files == book.files
    assert after.gone == {}


@pytest.mark.parametrize("mode", [0o000, 0o333, 0o444])
@pytest.mark.parametrize("folder", ["memory/main", "memory", "memory/main/deep"])
def test_a_folder_that_cannot_be_read_takes_nothing_away(folder: str, mode: int) -> None:
    with as_nobody() as root:
        put(root, "memory/main/deep/a.md")
        put(root, "memory/b.md")
        book, _ = look(root)
        (root / folder).chmod(mode)
        with no_descriptor_left():
            after, delta = look(root, book)
        assert (delta.added, delta.modified, delta.removed) == ((), (), ())
        assert delta.refused
        assert all(path.startswith(folder) for path, _ in delta.refused)
        assert {cause for _, cause in delta.refused} == {"Permission denied"}
        assert (after.files, after.gone) == (book.files, {})
        (root / folder).chmod(0o755)
        put(root, "memory/main/deep/a.md", "changed")
        (root / "memory/b.md").unlink()
        assert look(root, after)[1] == Delta(modified=("memory/main/deep/a.md",), removed=("memory/b.md",))


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.EIO, errno.ENOMEM, errno.ESTALE])
@pytest.mark.parametrize(
    ("scope", "name"), [(DM, ""), (DM, "memory"), (OPS, "memory"), (OPS, "groups"), (OPS, "team"), (OPS, "ops")]
)
def test_a_look_that_failed_is_no_empty_scope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: Scope, name: str, code: int
) -> None:
    put(tmp_path, f"{scope.directory}/a.md")
    book, _ = look(tmp_path, scope=scope)
    with monkeypatch.context() as patch:
        opening(patch, name or str(tmp_path), failing(code), times=9)
        with no_descriptor_left(), pytest.raises(MemoryFileError) as caught:
            look(tmp_path, book, scope)
    assert os.strerror(code) in str(caught.value)
    assert look(tmp_path, book, scope)[1] == Delta()


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EIO, errno.EACCES])
def test_a_subfolder_where_looking_failed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    put(tmp_path, "memory/main/a.md")
    put(tmp_path, "memory/notes/b.md")
    book, _ = look(tmp_path)
    put(tmp_path, "memory/notes/c.md")
    with no_descriptor_left(), monkeypatch.context() as patch:
        opening(patch, "main", failing(code), times=9)
        after, delta = look(tmp_path, book)
    assert delta == Delta(added=("memory/notes/c.md",), refused=(("memory/main", os.strerror(code)),))
    assert after.files.keys() == {"memory/main/a.md", "memory/notes/b.md", "memory/notes/c.md"}


def test_a_workspace_that_is_not_there_is_no_empty_scope(tmp_path: Path) -> None:
    with pytest.raises(MemoryFileError, match="nowhere"):
        scan(str(tmp_path / "nowhere"), DM)
    with pytest.raises(MemoryFileError):
        scan(str(put(tmp_path, "file")), X)


def test_a_failed_listing_of_the_scopes_folder_is_no_empty_scope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, "memory/a.md")
    listing(monkeypatch, "memory", fails_after=0)
    with no_descriptor_left(), pytest.raises(MemoryFileError, match="memory"):
        look(tmp_path)


def test_what_goes_between_listing_and_look_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "memory/main/a.md")
    put(tmp_path, "memory/b.md")
    book, _ = look(tmp_path)
    opening(monkeypatch, "main", lambda: shutil.rmtree(tmp_path / "memory/main"))
    assert look(tmp_path, book)[1] == Delta(removed=("memory/main/a.md",))


def test_a_name_that_is_no_text_is_named_in_text(tmp_path: Path) -> None:
    put(tmp_path, "memory/a.md")
    for name in (b"\xffa.md", b".\xff", b"\xff~", b"\xffd/"):
        path = os.fsencode(tmp_path / "memory") + b"/" + name
        if name.endswith(b"/"):
            os.mkdir(path)
        else:
            Path(os.fsdecode(path)).write_text("text")
    refused = tuple((f"memory/\\xff{name}", "a name that is not UTF-8") for name in ("a.md", "d"))
    assert look(tmp_path)[1] == Delta(added=("memory/a.md",), refused=refused)


def test_a_bound_on_names_stops_the_walk_and_takes_nothing_away(tmp_path: Path) -> None:
    paths = [put(tmp_path, f"memory/{folder}/{n}.md").relative_to(tmp_path) for folder in "abc" for n in range(3)]
    book, delta = look(tmp_path)
    assert len(delta.added) == 9
    assert delta.complete
    (tmp_path / paths[0]).unlink()
    for files in range(len(paths) + 3):
        few = replace(LIMITS, scope_files=files)
        found = scan(str(tmp_path), DM, limits=few)
        assert len(found.files) == max(0, min(files - 3, 8)), "three of the names are folders"
        assert found.complete is (files == 11)
        after, delta = look(tmp_path, book, limits=few)
        assert (delta.removed, delta.added, delta.complete) == ((str(paths[0]),), (), files == 11)
        assert len(after.files) == 8


def test_folders_are_walked_to_a_bounded_depth(tmp_path: Path) -> None:
    deep = tmp_path / "memory"
    for _ in range(walking._DEPTH + 3):
        deep /= "d"
    deep.mkdir(parents=True)
    put(tmp_path, "memory/zz/a.md")
    for number in range(2 * walking._AT_ONCE):
        put(tmp_path, f"memory/d/{number}.md")
    (deep / "b.md").write_text("text")
    with no_descriptor_left():
        _, delta = look(tmp_path)
    too_deep = "memory" + "/d" * (walking._DEPTH + 1)
    assert delta.refused == ((too_deep, "a folder too deep"),)
    assert not delta.complete
    assert len(delta.added) == 2 * walking._AT_ONCE + 1
