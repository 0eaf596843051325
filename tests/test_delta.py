"""What differs from the record: stamps say where to look, contents decide, and each change is told exactly once."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.delta import Stat, differing, is_fresh, resolve, suspects
from apm_hooks.flushrecords import Delta, Entry

OLD: Stat = (1_000, 5, 7, 1_001)
NOW = 1_000_000
RACY = 100


def entry(stamp: Stat = OLD, digest: str = "a", generation: int = 1, fresh: int = 0) -> Entry:
    return (*stamp, digest, generation, fresh)


def judge(
    known: dict[str, Entry],
    seen: dict[str, Stat],
    digests: dict[str, str],
    gone: dict[str, int] | None = None,
    *,
    generation: int = 9,
    tombstones: int = 100,
) -> tuple[dict[str, Entry], dict[str, int], Delta]:
    looked_at, lost = suspects(known, seen)
    return resolve(
        known, gone or {}, seen, looked_at, digests,
        generation=generation, scanned_ns=NOW, racy_ns=RACY, lost=lost, tombstones=tombstones,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("known", "seen", "expected"),
    [
        ({"p": entry()}, {"p": OLD}, []),
        ({}, {"p": OLD}, ["p"]),
        ({"p": entry(fresh=1)}, {"p": OLD}, ["p"]),
        *(
            ({"p": entry()}, {"p": stamp}, ["p"])
            for step in (1, -1)
            for stamp in (
                (1_000 + step, 5, 7, 1_001),
                (1_000, 5 + step, 7, 1_001),
                (1_000, 5, 7 + step, 1_001),
                (1_000, 5, 7, 1_001 + step),
            )
        ),
        ({"p": entry(), "q": entry()}, {"q": OLD, "r": OLD, "p": OLD}, ["r"]),
        ({"p": entry()}, {}, []),
    ],
)
def test_a_stamp_that_is_not_equal_says_where_to_look(
    known: dict[str, Entry], seen: dict[str, Stat], expected: list[str]
) -> None:
    assert differing(known, seen) == expected
    assert suspects(known, seen) == (expected, [path for path in known if path not in seen])


@pytest.mark.parametrize(
    ("stamp", "fresh"),
    [
        ((NOW - RACY, 1, 1, NOW - RACY), False),
        ((NOW - RACY + 1, 1, 1, 0), True),
        ((0, 1, 1, NOW - RACY + 1), True),
        ((NOW + 10**18, 1, 1, 0), True),
        ((-5, 1, 1, 0), False),
    ],
)
def test_a_stamp_near_the_scan_or_after_it_is_too_fresh(stamp: Stat, fresh: bool) -> None:
    assert is_fresh(stamp, NOW, RACY) is fresh
    assert judge({}, {"p": stamp}, {"p": "a"})[0]["p"] == entry(stamp, "a", 9, int(fresh))


TOUCHED: Stat = (2_000, 5, 8, 2_001)


@pytest.mark.parametrize(
    ("known", "seen", "digests", "after", "delta"),
    [
        ({"p": entry()}, {"p": OLD}, {}, {"p": entry()}, Delta()),
        ({"p": entry()}, {"p": TOUCHED}, {"p": "a"}, {"p": entry(TOUCHED)}, Delta()),
        ({"p": entry()}, {"p": TOUCHED}, {"p": "b"}, {"p": entry(TOUCHED, "b", 9)}, Delta(modified=("p",))),
        ({"p": entry(fresh=1)}, {"p": OLD}, {"p": "a"}, {"p": entry()}, Delta()),
        ({"p": entry(fresh=1)}, {"p": OLD}, {"p": "b"}, {"p": entry(OLD, "b", 9)}, Delta(modified=("p",))),
        ({}, {"p": OLD}, {"p": "a"}, {"p": entry(generation=9)}, Delta(added=("p",))),
        ({"p": entry()}, {}, {}, {}, Delta(removed=("p",))),
        # What has no hash is as it was, and looked at again.
        ({"p": entry()}, {"p": TOUCHED}, {}, {"p": entry(fresh=1)}, Delta()),
        ({}, {"p": OLD}, {}, {}, Delta()),
        # Renamed: one goes, one comes.
        ({"p": entry()}, {"q": OLD}, {"q": "a"}, {"q": entry(generation=9)}, Delta(added=("q",), removed=("p",))),
    ],
)
def test_the_content_decides(
    known: dict[str, Entry], seen: dict[str, Stat], digests: dict[str, str], after: dict[str, Entry], delta: Delta
) -> None:
    before = dict(known)
    assert judge(known, seen, digests)[::2] == (after, delta)
    assert known == before


def test_paths_are_told_in_order() -> None:
    known = {path: entry() for path in "zyba"}
    seen = dict.fromkeys("ydcb", TOUCHED)
    delta = judge(known, seen, dict.fromkeys("ydcb", "b"))[2]
    assert (delta.added, delta.modified, delta.removed) == (("c", "d"), ("b", "y"), ("a", "z"))


def test_a_file_that_comes_back_is_added_and_leaves_the_tombstones() -> None:
    entries, gone, delta = judge({"p": entry()}, {}, {}, {"q": 2})
    assert (entries, gone, delta.removed) == ({}, {"q": 2, "p": 9}, ("p",))
    # Without a hash nothing is known of it yet.
    assert judge(entries, {"p": OLD}, {}, gone, generation=10) == ({}, gone, Delta())
    entries, gone, delta = judge(entries, {"p": OLD}, {"p": "a"}, gone, generation=11)
    assert (entries, gone, delta) == ({"p": entry(generation=11)}, {"q": 2}, Delta(added=("p",)))


def test_the_latest_tombstones_are_kept() -> None:
    gone = {"a": 1, "b": 2, "c": 3}
    after = judge({"a": entry(), "d": entry()}, {}, {}, gone, tombstones=3)[1]
    assert after == {"c": 3, "a": 9, "d": 9}
    assert gone == {"a": 1, "b": 2, "c": 3}


def test_what_was_not_looked_into_is_passed_on() -> None:
    refused = (("memory/link", "a symbolic link"),)
    delta = resolve(
        {}, {}, {}, (), {}, generation=1, scanned_ns=NOW, racy_ns=RACY, refused=refused, complete=False
    )[2]  # fmt: skip
    assert delta == Delta(refused=refused, complete=False)


@dataclass(slots=True)
class Disk:
    """Files on a file system whose times have so many nanoseconds a tick."""

    tick: int
    now: int = 10_000
    files: dict[str, tuple[str, Stat]] = field(default_factory=dict)

    @property
    def time(self) -> int:
        return self.now - self.now % self.tick

    def put(self, path: str, text: str, inode: int) -> None:
        self.files[path] = text, (self.time, len(text), inode, self.time)

    def utime(self, path: str, mtime: int) -> None:
        text, stamp = self.files[path]
        self.files[path] = text, (mtime, stamp[1], stamp[2], self.time)

    def rename(self, path: str, to: str) -> None:
        text, stamp = self.files.pop(path)
        self.files[to] = text, (*stamp[:3], self.time)

    @property
    def stamps(self) -> dict[str, Stat]:
        return {path: stamp for path, (_, stamp) in self.files.items()}


PATHS = st.sampled_from(["a", "b", "c"])
STEPS = st.one_of(
    st.tuples(st.just("put"), PATHS, st.sampled_from(["x", "y", "xx"]), st.integers(1, 2)),
    st.tuples(st.just("utime"), PATHS, st.integers(9_000, 12_000)),
    st.tuples(st.just("rename"), PATHS, PATHS),
    st.tuples(st.just("delete"), PATHS),
    st.tuples(st.just("wait"), st.integers(0, 300)),
    st.tuples(st.just("scan"), st.sets(PATHS)),
)


@settings(max_examples=300, deadline=None)
@given(tick=st.sampled_from([1, 10, RACY]), steps=st.lists(STEPS, max_size=25))
def test_each_change_is_told_exactly_once_however_coarse_the_clock(tick: int, steps: list[tuple[object, ...]]) -> None:
    disk = Disk(tick)
    told: dict[str, str] = {}
    entries: dict[str, Entry] = {}
    gone: dict[str, int] = {}
    for generation, step in enumerate([*steps, ("scan", frozenset())], 1):
        match step:
            case ("put", str(path), str(text), int(inode)):
                disk.put(path, text, inode)
            case ("utime", str(path), int(mtime)) if path in disk.files:
                disk.utime(path, mtime)
            case ("rename", str(path), str(to)) if path in disk.files:
                disk.rename(path, to)
            case ("delete", str(path)):
                disk.files.pop(path, None)
            case ("wait", int(span)):
                disk.now += span
            case ("scan", unreadable):
                assert isinstance(unreadable, set | frozenset)
                texts = {path: text for path, (text, _) in disk.files.items()}
                seen = disk.stamps
                looked_at, lost = suspects(entries, seen)
                assert all(told[path] == texts[path] for path in texts if path not in looked_at)
                read = {path: text for path, text in texts.items() if path in looked_at and path not in unreadable}
                entries, gone, delta = resolve(
                    entries, gone, seen, looked_at, read,
                    generation=generation, scanned_ns=disk.now, racy_ns=RACY, lost=lost,
                )  # fmt: skip
                assert set(delta.added) == {path for path in read if path not in told}
                assert set(delta.modified) == {path for path in read if path in told and told[path] != read[path]}
                assert set(delta.removed) == told.keys() - texts.keys()
                told = {path: text for path, text in told.items() if path in texts} | read
                assert entries.keys() == told.keys()
                assert not entries.keys() & gone.keys()
                assert all(entries[path][5] == generation for path in (*delta.added, *delta.modified))


def test_without_the_margin_a_change_within_one_tick_would_be_missed() -> None:
    disk = Disk(tick=RACY)
    disk.put("a", "x", 1)
    before = disk.stamps
    disk.now += RACY // 2
    bare, guarded = (
        resolve({}, {}, before, ["a"], {"a": "x"}, generation=1, scanned_ns=disk.now, racy_ns=racy_ns)[0]
        for racy_ns in (0, RACY)
    )
    disk.put("a", "y", 1)
    assert disk.stamps == before
    assert suspects(bare, disk.stamps)[0] == []
    assert suspects(guarded, disk.stamps)[0] == ["a"]
