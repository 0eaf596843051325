"""What changed on a real disk: no change is lost or told twice, and nothing that was only out of sight is gone."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks import hashing
from apm_hooks.delta import Stat
from apm_hooks.flushrecords import Book, Delta
from apm_hooks.records import DM, LIMITS, Limits, Scope
from apm_hooks.scanning import changed_since, scan
from tests.scans import (
    KINDS,
    X,
    as_nobody,
    failing,
    later,
    listing,
    look,
    no_descriptor_left,
    opening,
    place,
    put,
    rewrite,
)

SMALL = replace(LIMITS, file_bytes=4)


def test_no_more_files_are_recorded_than_the_bound(tmp_path: Path) -> None:
    few = replace(LIMITS, scope_files=5)
    for number in range(5):
        put(tmp_path, f"memory/{number}.md")
    book, delta = look(tmp_path, limits=few)
    assert (len(delta.added), delta.complete) == (5, True)
    for number in range(5):
        (tmp_path / f"memory/{number}.md").rename(tmp_path / f"memory/new-{number}.md")
    put(tmp_path, "memory/one-more.md")
    book, delta = look(tmp_path, book, limits=few)
    assert (len(delta.added), len(delta.removed), delta.complete) == (5, 5, False)
    assert len(book.files) == 5
    told = set(delta.added)
    (tmp_path / min(told)).unlink()
    book, delta = look(tmp_path, book, limits=few)
    assert delta.removed == (min(told),)
    assert len(delta.added) == 1
    assert not told & set(delta.added)


def test_what_is_out_of_sight_counts_for_the_bound(tmp_path: Path) -> None:
    few = replace(LIMITS, scope_files=5)
    for number in range(3):
        put(tmp_path, f"memory/main/{number}.md")
    book, _ = look(tmp_path, limits=few)
    (tmp_path / "memory/main").rename(tmp_path / "moved")
    (tmp_path / "memory/main").symlink_to(tmp_path / "moved")
    for number in range(4):
        put(tmp_path, f"memory/{number}.md")
    assert scan(str(tmp_path), DM, limits=few).complete
    book, delta = look(tmp_path, book, limits=few)
    assert (len(delta.added), delta.removed, delta.complete) == (2, (), False)
    assert len(book.files) == 5


@pytest.mark.parametrize("kind", [*KINDS, "a folder"])
def test_a_file_replaced_by_something_else_is_gone_once_and_comes_back(tmp_path: Path, kind: str) -> None:
    root = tmp_path / "ws"
    file = put(root, "memory/a.md")
    book, _ = look(root)
    file.unlink()
    named = "" if kind == "a folder" else place(kind, file, tmp_path)
    if not named:
        file.mkdir()
    for removed in (("memory/a.md",), ()):
        book, delta = look(root, book)
        assert delta == Delta(removed=removed, refused=(("memory/a.md", named),) if named else ())
    assert book.gone == {"memory/a.md": 2}
    shutil.rmtree(file) if kind == "a folder" else file.unlink()
    put(root, "memory/a.md")
    book, delta = look(root, book)
    assert (delta, dict(book.gone)) == (Delta(added=("memory/a.md",)), {})


@pytest.mark.parametrize(
    ("kind", "removed"), [("a symbolic link", False), ("a FIFO", True), ("a plain file", True), ("nothing", True)]
)
@pytest.mark.parametrize("folder", ["memory/main", "memory"])
def test_behind_a_link_in_place_of_a_folder_nothing_is_known(
    tmp_path: Path, folder: str, kind: str, removed: bool
) -> None:
    root = tmp_path / "ws"
    put(root, "memory/main/a.md")
    book, _ = look(root)
    (root / folder).rename(tmp_path / "moved")
    match kind:
        case "a symbolic link":
            (root / folder).symlink_to(tmp_path / "moved")
        case "a FIFO":
            os.mkfifo(root / folder)
        case "a plain file":
            put(root, folder)
    after, delta = look(root, book)
    assert delta.removed == (("memory/main/a.md",) if removed else ())
    assert ("memory/main/a.md" in after.files) is not removed
    if removed:
        assert look(root, after)[1].removed == ()
        return
    assert delta.refused == ((folder, kind),)
    (root / folder).unlink()
    (tmp_path / "moved").rename(root / folder)
    assert look(root, after)[1] == Delta()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_swapped_in_for_a_file_before_it_is_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    root = tmp_path / "ws"
    file = put(root, "memory/a.md", "old")
    book, _ = look(root)
    rewrite(file, "new", 5)

    def swap() -> None:
        file.rename(tmp_path / "moved")
        place(kind, file, tmp_path)

    with no_descriptor_left(), monkeypatch.context() as patch:
        opening(patch, "a.md", swap)
        after, delta = look(root, book)
    assert [path for path, _ in delta.refused] == ["memory/a.md"]
    assert (delta.changed, after.files) == ((), {"memory/a.md": (*book.files["memory/a.md"][:6], 1)})
    file.unlink()
    (tmp_path / "moved").rename(file)
    assert look(root, after)[1] == Delta(modified=("memory/a.md",))


def test_a_file_that_cannot_be_read_is_named_and_told_when_it_can_be() -> None:
    with as_nobody() as root:
        old, new = put(root, "memory/old.md"), put(root, "memory/main/new.md")
        new.unlink()
        book, _ = look(root)
        rewrite(old, "changed", 5)
        put(root, "memory/main/new.md")
        old.chmod(0)
        new.chmod(0)
        for _ in range(2):
            book, delta = look(root, book)
            causes = (("memory/main/new.md", "Permission denied"), ("memory/old.md", "Permission denied"))
            assert delta == Delta(refused=causes)
        old.chmod(0o600)
        new.chmod(0o600)
        book, delta = look(root, book)
        assert delta == Delta(added=("memory/main/new.md",), modified=("memory/old.md",))
        assert look(root, book)[1] == Delta()


@pytest.mark.parametrize(
    ("how", "refused"),
    [
        ({"without": "a.md"}, ()),
        ({"fails_after": 0}, (("memory/main", os.strerror(errno.EIO)),)),
        ({"fails_after": 1}, (("memory/main", os.strerror(errno.EIO)),)),
        ({"unseen": "a.md"}, (("memory/main/a.md", os.strerror(errno.EIO)),)),
        ({"unseen": "a.md", "code": errno.ENOENT}, ()),
    ],
)
@pytest.mark.parametrize("changed", [False, True])
def test_a_file_that_a_listing_missed_is_looked_up_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], refused: tuple[Any, ...], changed: bool
) -> None:
    file = put(tmp_path, "memory/main/a.md")
    put(tmp_path, "memory/main/b.md")
    put(tmp_path, "memory/main/c.md").rename(tmp_path / "moved")
    put(tmp_path, "memory/main/d.md")
    book, _ = look(tmp_path)
    (tmp_path / "memory/main/d.md").unlink()
    if changed:
        rewrite(file, "changed", 5)
    with no_descriptor_left(), monkeypatch.context() as patch:
        listing(patch, "main", **how)
        after, delta = look(tmp_path, book)
    modified = ("memory/main/a.md",) if changed else ()
    assert delta == Delta(modified=modified, removed=("memory/main/d.md",), refused=refused)
    assert look(tmp_path, after)[1] == Delta()


def same_size(file: Path) -> None:
    rewrite(file, "TEXT", file.stat().st_mtime_ns)


def other_size(file: Path) -> None:
    rewrite(file, "longer text", file.stat().st_mtime_ns)


def replaced(file: Path) -> None:
    status = file.stat()
    fresh = file.with_name("fresh")
    fresh.write_text("TEXT")
    os.utime(fresh, ns=(status.st_atime_ns, status.st_mtime_ns))
    fresh.rename(file)


def deleted_and_made_again(file: Path) -> None:
    status = file.stat()
    file.unlink()
    file.write_text("TEXT")
    rewrite(file, "TEXT", status.st_mtime_ns)


def whole_seconds(file: Path) -> None:
    rewrite(file, "TEXT", file.stat().st_mtime_ns // 10**9 * 10**9)


def older(file: Path) -> None:
    rewrite(file, "TEXT", 1_000_000_000)


def in_the_future(file: Path) -> None:
    rewrite(file, "TEXT", time.time_ns() + 10**18)


def touched(file: Path) -> None:
    rewrite(file, "text", time.time_ns())


def restored(file: Path) -> None:
    mtime = file.stat().st_mtime_ns
    file.write_text("another")
    rewrite(file, "text", mtime)


def made_again(file: Path) -> None:
    file.unlink()
    file.write_text("text")


def dated_back(file: Path) -> None:
    rewrite(file, "text", 0)


def dated_ahead(file: Path) -> None:
    rewrite(file, "text", time.time_ns() + 10**18)


def linked_elsewhere(file: Path) -> None:
    os.link(file, file.with_name(".other"))


@pytest.mark.parametrize("now_ns", [later, time.time_ns])
@pytest.mark.parametrize("dated", [None, 1_700_000_000, 32_503_680_000])
@pytest.mark.parametrize(
    ("act", "modified"),
    [
        *((act, True) for act in (same_size, other_size, replaced, deleted_and_made_again, whole_seconds, older)),
        (in_the_future, True),
        *((act, False) for act in (touched, restored, made_again, dated_back, dated_ahead, linked_elsewhere)),
    ],
)
def test_the_content_decides_whatever_the_times_say(
    tmp_path: Path, act: Callable[[Path], None], modified: bool, dated: int | None, now_ns: Callable[[], int]
) -> None:
    file = put(tmp_path, "memory/a.md")
    if dated is not None:
        os.utime(file, (dated, dated))
    book, _ = look(tmp_path, now_ns=now_ns)
    act(file)
    book, delta = look(tmp_path, book, now_ns=now_ns)
    assert delta == Delta(modified=("memory/a.md",) if modified else ())
    digest, generation = book.files["memory/a.md"][4:6]
    assert digest == sha256(file.read_bytes()).hexdigest()
    assert generation == (2 if modified else 1)
    assert look(tmp_path, book, now_ns=now_ns)[1] == Delta()


def test_a_stamp_from_the_future_is_never_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(tmp_path, "memory/a.md")
    os.utime(file, (32_503_680_000, 32_503_680_000))
    book, _ = look(tmp_path)
    assert book.files["memory/a.md"][6] == 1
    opened = opening(monkeypatch, "", lambda: None)
    book, delta = look(tmp_path, book)
    assert delta == Delta()
    assert "a.md" in opened


def test_what_did_not_change_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "memory/a.md")
    book, _ = look(tmp_path)
    assert book.files["memory/a.md"][6] == 0
    opened = opening(monkeypatch, "", lambda: None)
    after, delta = look(tmp_path, book)
    assert delta == Delta()
    assert after.files == book.files
    assert "a.md" not in opened
    assert look(tmp_path, book, now_ns=time.time_ns)[1] == Delta()
    assert "a.md" not in opened


def test_a_file_changed_between_look_and_hash_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(tmp_path, "memory/a.md", "one")
    book, _ = look(tmp_path)
    rewrite(file, "two", 5)
    opening(monkeypatch, "a.md", lambda: rewrite(file, "three", 6))
    cache: dict[tuple[str, Stat], str] = {}
    book, delta = look(tmp_path, book, cache=cache)
    assert delta == Delta(modified=("memory/a.md",))
    digest = sha256(b"three").hexdigest()
    status = file.stat()
    stamp = (status.st_mtime_ns, status.st_size, status.st_ino, status.st_ctime_ns)
    assert cache == {("memory/a.md", stamp): digest}
    assert book.files["memory/a.md"] == (*stamp, digest, 2, 0)
    assert look(tmp_path, book)[1] == Delta()


@pytest.mark.parametrize("mode", ["a", "r+"])
@pytest.mark.parametrize("times", [1, 99])
def test_a_file_changed_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int, mode: str
) -> None:
    file = put(tmp_path, "memory/a.md", "one")
    book, _ = look(tmp_path)
    rewrite(file, "two", 5)
    real, left = os.read, [times]

    def read(descriptor: int, size: int) -> bytes:
        if left[0]:
            left[0] -= 1
            with file.open(mode) as more:
                more.write("!")
        return real(descriptor, size)

    with no_descriptor_left(), monkeypatch.context() as patch:
        patch.setattr(os, "read", read)
        after, delta = look(tmp_path, book)
    if times == 1:
        assert delta == Delta(modified=("memory/a.md",))
        assert after.files["memory/a.md"][4] == sha256(file.read_bytes()).hexdigest()
    else:
        assert delta == Delta(refused=(("memory/a.md", "keeps changing while it is read"),))
        after, delta = look(tmp_path, after)
        assert delta == Delta(modified=("memory/a.md",))
    assert look(tmp_path, after)[1] == Delta()


def test_a_read_that_ends_too_early_is_no_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(tmp_path, "memory/a.md", "one")
    book, _ = look(tmp_path)
    rewrite(file, "two", 5)
    with monkeypatch.context() as patch:
        patch.setattr(os, "read", lambda descriptor, size: b"")
        book, delta = look(tmp_path, book)
    assert delta == Delta(refused=(("memory/a.md", "keeps changing while it is read"),))
    assert look(tmp_path, book)[1] == Delta(modified=("memory/a.md",))


def test_a_file_that_goes_before_it_is_read_is_gone_at_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put(tmp_path, "memory/a.md", "one")
    book, _ = look(tmp_path)
    rewrite(file, "two", 5)
    opening(monkeypatch, "a.md", file.unlink)
    book, delta = look(tmp_path, book)
    assert delta == Delta()
    assert look(tmp_path, book)[1] == Delta(removed=("memory/a.md",))


def test_what_there_was_no_time_for_is_told_later_and_once(tmp_path: Path) -> None:
    file = put(tmp_path, "memory/a.md", "one")
    book, _ = look(tmp_path)
    rewrite(file, "two", 5)
    put(tmp_path, "memory/b.md")
    hurried = replace(LIMITS, hash_seconds=0.0)
    for _ in range(2):
        book, delta = look(tmp_path, book, limits=hurried)
        assert delta == Delta(complete=False)
    book, delta = look(tmp_path, book)
    assert delta == Delta(added=("memory/b.md",), modified=("memory/a.md",))
    assert look(tmp_path, book)[1] == Delta()


def test_small_files_come_first_and_time_can_run_out_within_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {f"memory/{name}.md": size for name, size in (("a", 3 << 20), ("b", 2), ("c", 9), ("d", 2 << 20))}
    for path, size in sizes.items():
        put(tmp_path, path, b"x" * size)
    # One look at the clock to begin with, one before each file and before each read of at most a MiB.
    with monkeypatch.context() as patch:
        patch.setattr(hashing, "_now", iter(range(100)).__next__)
        book, delta = look(tmp_path, limits=replace(LIMITS, hash_seconds=10.0))
    assert delta == Delta(added=("memory/b.md", "memory/c.md", "memory/d.md"), complete=False)
    assert look(tmp_path, book)[1] == Delta(added=("memory/a.md",))


def digests_of(root: str, paths: list[str], *, limits: Limits = LIMITS, seconds: float = 60.0) -> dict[str, str]:
    hashes, _, _ = hashing.hash_files(root, paths, seconds=seconds, limits=limits)
    return {path: digest for path, (digest, _) in hashes.items()}


def test_a_large_file_is_hashed_in_pieces(tmp_path: Path) -> None:
    text = os.urandom((1 << 20) + 17)
    put(tmp_path, "memory/large", text)
    put(tmp_path, "memory/empty", b"")
    (tmp_path / "memory/link").symlink_to("large")
    paths = ["memory/large", "memory/empty", "memory/link", "memory/absent", "absent/too"]
    assert digests_of(str(tmp_path), paths, limits=replace(LIMITS, file_bytes=1 << 17)) == {
        "memory/large": sha256(text).hexdigest(), "memory/empty": sha256(b"").hexdigest(),
    }  # fmt: skip
    assert digests_of(str(tmp_path), paths, seconds=0.0) == {}


def test_of_a_file_past_all_bounds_the_stamp_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    large = put(tmp_path, "memory/large", "x" * (4 * hashing.STREAMED))
    assert list(digests_of(str(tmp_path), ["memory/large"], limits=SMALL).values()) == [
        sha256(large.read_bytes()).hexdigest()
    ]
    large.unlink()
    file = put(tmp_path, "memory/huge", "x" * (4 * hashing.STREAMED + 1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "read", failing(errno.EIO))
        book, delta = look(tmp_path, limits=SMALL)
    assert delta == Delta(added=("memory/huge",))
    assert len(book.files["memory/huge"][4]) == 64
    assert look(tmp_path, book, limits=SMALL)[1] == Delta()
    rewrite(file, file.read_text(), 5)
    book, delta = look(tmp_path, book, limits=SMALL)
    assert delta == Delta(modified=("memory/huge",))
    assert look(tmp_path, book, limits=SMALL)[1] == Delta()


def test_a_cache_spares_the_second_reading_and_holds_only_what_can_be_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = put(tmp_path, "memory/a.md")
    cache: dict[tuple[str, Stat], str] = {}
    look(tmp_path, cache=cache, now_ns=time.time_ns)
    assert cache == {}
    first, told = look(tmp_path, cache=cache)
    assert list(cache.values()) == [sha256(b"text").hexdigest()]
    opened = opening(monkeypatch, "", lambda: None)
    assert look(tmp_path, cache=cache) == (first, told)
    assert "a.md" not in opened
    rewrite(file, "TEXT", file.stat().st_mtime_ns)
    assert look(tmp_path, first, cache=cache)[1] == Delta(modified=("memory/a.md",))
    assert "a.md" in opened


def test_what_would_be_told_is_told_without_a_record(tmp_path: Path) -> None:
    put(tmp_path, "memory/a.md")
    book, _ = look(tmp_path)
    put(tmp_path, "memory/b.md")
    (tmp_path / "memory/a.md").unlink()
    for _ in range(2):
        delta = changed_since(str(tmp_path), DM, book, now_ns=later)
        assert delta == Delta(added=("memory/b.md",), removed=("memory/a.md",))
    assert look(tmp_path, book)[1] == delta


@pytest.mark.parametrize(
    ("scope", "stray"),
    [
        *((DM, path) for path in ("memory/groups/x.md", "memory/groups/x/a.md", "memory/Groups/x/a.md", "apm.toml")),
        *((DM, path) for path in ("/etc/hostname", "../outside.md", "memory/../apm.toml", "memory/./a.md", "")),
        *((DM, path) for path in ("memory/\0", "memory/\ud800", "memory/\udcff", "memory/flush-state.json")),
        *((DM, path) for path in ("memory/.hidden/a.md", "memory/a.md~", "log/a.md", "memory", "memory/")),
        *((X, path) for path in ("memory/groups/xy.md", "memory/groups/xy/a.md", "memory/main/index.md", "MEMORY.md")),
        *((X, path) for path in ("memory/groups/x", "memory/groups/x/../xy/a.md", "memory/groups/x/flush-state.json")),
    ],
)
def test_what_a_damaged_record_names_outside_the_scope_is_dropped_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: Scope, stray: str
) -> None:
    root = tmp_path / "ws"
    put(tmp_path, "outside.md")
    for path in ("apm.toml", "log/a.md", "memory/main/index.md", "memory/groups/xy.md", "memory/groups/xy/a.md",
                 "memory/groups/x/a.md", "memory/flush-state.json"):  # fmt: skip
        put(root, path)
    book, _ = look(root, scope=scope)
    tampered = replace(book, files={stray: (1, 2, 3, 4, "a" * 64, 1, 0), **book.files})
    looked_up: list[object] = []
    real = os.stat

    def spied(path: Any, **kwargs: Any) -> os.stat_result:
        looked_up.append(path)
        return real(path, **kwargs)

    monkeypatch.setattr(os, "stat", spied)
    after, delta = look(root, tampered, scope)
    assert (delta, after.files, after.gone) == (Delta(), book.files, {})
    assert len(looked_up) == 2, "a name besides the scope's own file was looked up"


PATHS = (
    "MEMORY.md", "memory/a.md", "memory/main/b.md", "memory/main/p/c.md", "memory/.hidden.md",
    "memory/groups/x.md", "memory/groups/x/d.md", "memory/groups/x/e/f.md", "memory/groups/xy.md",
)  # fmt: skip
PATH = st.sampled_from(PATHS)
TEXT = st.sampled_from(["one", "two", "three"])
ACTS = st.one_of(
    st.tuples(st.just("write"), PATH, TEXT),
    st.tuples(st.just("write, time restored"), PATH, TEXT),
    st.tuples(st.just("touch"), PATH, st.sampled_from([0, 1_700_000_000, 32_503_680_000])),
    st.tuples(st.just("replace"), PATH, TEXT),
    st.tuples(st.just("rename"), PATH, PATH),
    st.tuples(st.just("delete"), PATH, TEXT),
    st.tuples(st.just("link"), PATH, TEXT),
    st.tuples(st.just("FIFO"), PATH, TEXT),
    st.tuples(st.just("delete the folder"), PATH, TEXT),
    *[st.tuples(st.just("look"), PATH, TEXT)] * 4,
)


def act_on(root: Path, act: str, path: str, with_what: Any) -> None:
    file = root / path
    plain = file.is_file() and not file.is_symlink()
    file.parent.mkdir(parents=True, exist_ok=True)
    if act in ("write", "link", "FIFO") and not plain:
        file.unlink(missing_ok=True)
    match act:
        case "write":
            file.write_text(with_what)
        case "write, time restored" if plain:
            times = file.stat().st_atime_ns, file.stat().st_mtime_ns
            file.write_text(with_what)
            os.utime(file, ns=times)
        case "touch" if plain:
            os.utime(file, (with_what, with_what))
        case "replace":
            (root / "beside").write_text(with_what)
            (root / "beside").replace(file)
        case "rename" if plain:
            (root / with_what).parent.mkdir(parents=True, exist_ok=True)
            file.replace(root / with_what)
        case "delete":
            file.unlink(missing_ok=True)
        case "link":
            file.unlink(missing_ok=True)
            file.symlink_to(put(root, "outside.md", with_what))
        case "FIFO":
            file.unlink(missing_ok=True)
            os.mkfifo(file)
        case "delete the folder" if path != "MEMORY.md":
            shutil.rmtree(file.parent)


def tick(root: Path) -> None:
    """Wait for the next tick of the file system's clock: what changes from now on carries another time."""
    probe = root / "probe"
    probe.touch()
    before = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns == before:
        probe.touch()


@settings(max_examples=200, deadline=None)
@given(acts=st.lists(ACTS, min_size=15, max_size=40), believed=st.booleans())
def test_each_change_is_told_exactly_once_and_nothing_else(acts: list[tuple[str, str, Any]], believed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        books = {DM: Book(), X: Book()}
        told: dict[Scope, dict[str, str]] = {DM: {}, X: {}}
        for act, path, with_what in [*acts, ("look", "", "")]:
            if act != "look":
                act_on(root, act, path, with_what)
                continue
            for scope, book in list(books.items()):
                books[scope], delta = look(root, book, scope, now_ns=later if believed else time.time_ns)
                there = {
                    path: (root / path).read_text()
                    for path in (PATHS[:4] if scope == DM else PATHS[5:8])
                    if (root / path).is_file() and not (root / path).is_symlink()
                }
                before = told[scope]
                assert set(delta.added) == there.keys() - before.keys()
                assert set(delta.removed) == before.keys() - there.keys()
                assert set(delta.modified) == {
                    path for path in there.keys() & before.keys() if there[path] != before[path]
                }  # fmt: skip
                assert delta.complete
                told[scope] = there
            tick(root)
