from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from apm_hooks import aggregate
from apm_hooks.aggregate import NO_GROUP, NO_ROW, PATH, STALE_ROW, TOTALS, check, patch_row, rebuild
from apm_hooks.errors import LockTimeoutError, MemoryFileError
from apm_hooks.fastlane import hash_of
from apm_hooks.flushrecords import Book
from apm_hooks.flushstate import OWN_KEY, updating
from apm_hooks.records import Scope, ScopeKind
from tests.test_statefile import BOOK, LATER, TIME
from tests.test_statetext import strict
from tests.test_stateupdates import put

AT = "2026-03-03T00:00:00+00:00"
EARLIER = "2026-03-01T20:00:00-02:00"


@pytest.fixture(autouse=True)
def swift(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written reaches no disk, and nobody else is waiting."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr("apm_hooks.locking._COURTESY", 0)


def flushed(root: Path, name: str, **changes: Any) -> Book:
    """A group's own state after a flush."""
    with updating(str(root), Scope(ScopeKind.GROUP, name)) as held:
        held.book = replace(BOOK, **changes)
    return held.book


def patch(root: Path, name: str, book: Book) -> bool:
    return patch_row(str(root), name, book, at=AT)


def found(root: Path) -> dict[str, Any]:
    return strict((root / PATH).read_bytes())


def rows(root: Path) -> dict[str, Any]:
    own: dict[str, Any] = json.loads((root / PATH).read_text())[OWN_KEY]
    groups: dict[str, Any] = own["groups"]
    return groups


def test_a_row_says_when_how_often_and_how_much_and_nothing_of_what(tmp_path: Path) -> None:
    assert patch(tmp_path, "team-a", BOOK)
    assert rows(tmp_path) == {
        "team-a": {"last_flush_time": TIME, "flush_number": 4, "outcome": "written", "pending": 2,
                   "session_id": hash_of("s-1"), "generation": 7}
    }  # fmt: skip
    text = (tmp_path / PATH).read_text()
    for secret in ("s-1", *(item.text for item in BOOK.pending), *BOOK.files, *BOOK.gone):
        assert f'"{secret}"' not in text
    assert (tmp_path / PATH).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / (PATH + ".lock")).stat().st_mode & 0o777 == 0o600


def test_the_totals_are_those_of_all_rows(tmp_path: Path) -> None:
    patch(tmp_path, "team-a", BOOK)
    patch(tmp_path, "team-b", replace(BOOK, number=3, last_time=LATER, session_id="s-2"))
    # Later by its digits, earlier by its offset.
    patch(tmp_path, "team-c", replace(BOOK, number=None, last_time="2026-03-02T09:00:00+14:00", session_id="s-3"))
    patch(tmp_path, "team-d", Book())
    values = found(tmp_path)
    assert values["last_flush_time"] == LATER
    assert values["flush_number"] == "7"
    assert values["session_id"] == hash_of("s-2")
    assert values["context_usage_at_flush"] is None
    assert values["pending_items"] == []
    assert values[OWN_KEY]["at"] == AT
    assert list(values) == ["last_flush_time", "flush_number", "context_usage_at_flush", "session_id", "pending_items",
                            OWN_KEY]  # fmt: skip


def test_a_time_without_offset_does_not_stop_the_totals(tmp_path: Path) -> None:
    patch(tmp_path, "team-a", replace(BOOK, last_time="2026-05-01T00:00:00"))
    patch(tmp_path, "team-b", BOOK)
    patch(tmp_path, "team-c", replace(BOOK, last_time="yesterday"))
    assert found(tmp_path)["last_flush_time"] == "2026-05-01T00:00:00"


def test_a_row_only_moves_forward(tmp_path: Path) -> None:
    assert patch(tmp_path, "team-a", replace(BOOK, generation=7))
    assert not patch(tmp_path, "team-a", replace(BOOK, generation=6, number=9))
    assert not patch(tmp_path, "team-a", replace(BOOK, generation=7))
    assert rows(tmp_path)["team-a"]["flush_number"] == 4
    assert patch(tmp_path, "team-a", replace(BOOK, generation=8, number=1))
    assert rows(tmp_path)["team-a"]["flush_number"] == 1
    assert patch(tmp_path, "team-b", replace(BOOK, generation=2)), "another group has an order of its own"


def test_what_others_wrote_survives(tmp_path: Path) -> None:
    put(tmp_path, '\ufeff{"x": [1e400], "flush_number": 90, "pending_items": ["a group\'s text"], "y_mtime": 5}', PATH)
    patch(tmp_path, "team-a", BOOK)
    values = found(tmp_path)
    assert (values["x"], values["y_mtime"]) == (["1e400"], "5")
    assert (values["flush_number"], values["pending_items"]) == ("4", [])


@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("data", [b"", b"{", b"[]", bytes(9), b'{"x": 1, "y"'])
def test_a_damaged_aggregate_is_set_aside_and_rebuilt(tmp_path: Path, data: bytes, copied: bool) -> None:
    patch(tmp_path, "team-a", BOOK)
    for copy in tmp_path.glob(".apm/flush/*"):
        if not copied:
            copy.unlink()
    put(tmp_path, data, PATH)
    assert "is damaged" in check(str(tmp_path), ())[0]
    assert patch(tmp_path, "team-b", BOOK)
    assert sorted(rows(tmp_path)) == (["team-a", "team-b"] if copied else ["team-b"])
    assert [path.read_bytes() for path in (tmp_path / "memory/groups").glob("*.corrupt-*")] == [data]
    assert (found(tmp_path).get("x") == "1") is (b"x" in data)


def test_a_changed_record_is_said_and_does_not_count(tmp_path: Path) -> None:
    patch(tmp_path, "team-a", BOOK)
    text = (tmp_path / PATH).read_text()
    put(tmp_path, text.replace('"pending":2', '"pending":9'), PATH)
    assert "was changed by something else" in check(str(tmp_path), ())[0]
    assert patch(tmp_path, "team-b", BOOK)
    assert rows(tmp_path)["team-a"]["pending"] == 2


def test_a_later_format_is_not_written(tmp_path: Path) -> None:
    file = put(tmp_path, json.dumps({OWN_KEY: {"format": 2}}), PATH)
    before = file.read_bytes()
    with pytest.raises(MemoryFileError, match=r"memory/groups/flush-state\.json: .*later version.*Upgrade"):
        patch(tmp_path, "team-a", BOOK)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "row",
    [5, {}, {"generation": "7"}, {"pending": None}, {"outcome": 5}, {"flush_number": True}, {"extra": "kept out"}],
)
def test_a_row_that_makes_no_sense_does_not_count(tmp_path: Path, row: object) -> None:
    patch(tmp_path, "team-a", BOOK)
    store = aggregate._store(str(tmp_path))
    state, _ = store.read()
    good = rows(tmp_path)["team-a"]
    odd = {**good, **row} if isinstance(row, dict) and row else row
    state = replace(state, own={**(state.own or {}), "groups": {"team-a": good, "odd": odd}})
    whole = isinstance(row, dict) and "extra" in row
    assert aggregate._rows(state) == {"team-a": good, **({"odd": good} if whole else {})}


def test_rebuilding_takes_the_groups_own_states(tmp_path: Path) -> None:
    flushed(tmp_path, "team-a", number=1)
    flushed(tmp_path, "team-b", number=2, last_time=LATER)
    patch(tmp_path, "gone", replace(BOOK, number=50))
    patch(tmp_path, "team-b", replace(BOOK, generation=90, number=60))
    assert rebuild(str(tmp_path), ["team-a", "team-b", "team-c"])
    assert {name: row["flush_number"] for name, row in rows(tmp_path).items()} == {"team-a": 1, "team-b": 2}
    values = found(tmp_path)
    assert (values["flush_number"], values["last_flush_time"], values[OWN_KEY]["at"]) == ("3", LATER, AT)
    before = (tmp_path / PATH).stat()
    assert not rebuild(str(tmp_path), ["team-b", "team-a"])
    assert (tmp_path / PATH).stat().st_ino == before.st_ino
    assert rebuild(str(tmp_path), [])
    assert (rows(tmp_path), found(tmp_path)["last_flush_time"]) == ({}, None)
    assert (tmp_path / "memory/groups/team-a/flush-state.json").exists()


def test_rebuilding_nothing_leaves_nothing(tmp_path: Path) -> None:
    assert not rebuild(str(tmp_path), [])
    assert os.listdir(tmp_path) == []
    assert not rebuild(str(tmp_path), ["team-a"])
    assert not (tmp_path / PATH).exists()


def test_the_row_of_a_state_that_cannot_be_read_stays(tmp_path: Path) -> None:
    patch(tmp_path, "team-a", BOOK)
    (tmp_path / "memory/groups/team-a").mkdir()
    (tmp_path / "memory/groups/team-a/flush-state.json").symlink_to(tmp_path / PATH)
    (tmp_path / "memory/groups/team-b").symlink_to(tmp_path)
    assert not rebuild(str(tmp_path), ["team-a", "team-b", "../x"])
    assert list(rows(tmp_path)) == ["team-a"]
    told = check(str(tmp_path), ["team-a", "team-b"])
    assert len(told) == 2
    assert all("cannot be read: memory/groups/team-" in sentence for sentence in told)


def test_totals_that_do_not_add_up_are_mended(tmp_path: Path) -> None:
    book = flushed(tmp_path, "team-a")
    patch(tmp_path, "team-a", book)
    values = json.loads((tmp_path / PATH).read_text())
    put(tmp_path, json.dumps({**values, "flush_number": 99}), PATH)
    assert check(str(tmp_path), ["team-a"]) == [TOTALS.format(path=PATH)]
    assert rebuild(str(tmp_path), ["team-a"])
    assert check(str(tmp_path), ["team-a"]) == []


def test_checking_says_what_does_not_fit_and_writes_nothing(tmp_path: Path) -> None:
    assert check(str(tmp_path), ["team-a"]) == []
    patch(tmp_path, "team-a", flushed(tmp_path, "team-a"))
    assert check(str(tmp_path), ["team-a"]) == []
    flushed(tmp_path, "team-a", number=9)
    flushed(tmp_path, "team-b")
    patch(tmp_path, "was\nhere", BOOK)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert check(str(tmp_path), ["team-a", "team-b"]) == [
        STALE_ROW.format(path=PATH, name="team-a"), NO_ROW.format(path=PATH, name="team-b"),
        NO_GROUP.format(path=PATH, name="was\\nhere"),
    ]  # fmt: skip
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_checking_tells_of_damage_in_a_groups_state(tmp_path: Path) -> None:
    patch(tmp_path, "team-a", flushed(tmp_path, "team-a"))
    put(tmp_path, "{", "memory/groups/team-a/flush-state.json")
    told = check(str(tmp_path), ["team-a"])
    assert told[0].startswith("memory/groups/team-a/flush-state.json is damaged")


def test_an_aggregate_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / PATH).mkdir(parents=True)
    assert check(str(tmp_path), []) == [f"{PATH}: is a directory. Put a plain file there."]
    with pytest.raises(MemoryFileError, match="is a directory"):
        patch(tmp_path, "team-a", BOOK)


def test_it_has_a_lock_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "memory/groups").mkdir(parents=True)
    with (
        FileLock(tmp_path / (PATH + ".lock")),
        pytest.raises(LockTimeoutError, match=r"groups/flush-state\.json\.lock"),
    ):
        patch_row(str(tmp_path), "team-a", BOOK, at=AT, seconds=0.01)
    with updating(str(tmp_path), Scope(ScopeKind.GROUP, "team-a")):
        assert patch(tmp_path, "team-a", BOOK)


def test_patches_of_many_groups_at_once_are_all_kept(tmp_path: Path) -> None:
    names = [f"team-{number}" for number in range(6)]

    def act(name: str) -> None:
        for generation in range(1, 6):
            patch_row(str(tmp_path), name, replace(BOOK, generation=generation), at=AT, seconds=30)

    threads = [threading.Thread(target=act, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: row["generation"] for name, row in rows(tmp_path).items()} == dict.fromkeys(names, 5)
