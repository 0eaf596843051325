"""Updates of a scope's state on disk: what is written, kept, set aside and mended."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apm_hooks import files, flushstate
from apm_hooks.errors import LockTimeoutError, MemoryFileError
from apm_hooks.fastlane import hash_of
from apm_hooks.flushrecords import Book
from apm_hooks.flushstate import DM_STATE, OWN_KEY, Stored, read_state, state_path, updating
from apm_hooks.locking import locked_at
from apm_hooks.records import DM, LIMITS, Limits, Scope, ScopeKind
from tests.test_statefile import BOOK, IDLE, LATER, LEAD, TIME
from tests.test_statetext import strict

TEAM = Scope(ScopeKind.GROUP, "team/inner")
OLD = 1_700_000_000
OTHERS = '{"first": [1e400, 2.50], "flush_number": 2, "pending_items": ["theirs"], "b c": "ü\\udcff", "last": null}'


@pytest.fixture(autouse=True)
def swift(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written reaches no disk, and nobody else is waiting."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr("apm_hooks.locking._COURTESY", 0)


def put(root: Path, data: str | bytes, path: str = DM_STATE) -> Path:
    """A file that was written long ago."""
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    os.utime(file, (OLD, OLD))
    return file


def update(root: Path, scope: Scope = DM, **changes: Any) -> flushstate.Held:
    with updating(str(root), scope) as held:
        held.book = replace(held.book, **changes)
    return held


def stored(root: Path, scope: Scope = DM) -> Stored:
    return read_state(str(root), scope)


def copy_of(root: Path, scope: Scope = DM) -> Path:
    return root / f".apm/flush/{hash_of(str(scope))}.json"


def names(root: Path, folder: str = "memory") -> list[str]:
    return sorted(os.listdir(root / folder))


def test_each_scope_has_its_state() -> None:
    assert state_path(DM) == "memory/flush-state.json"
    assert state_path(TEAM) == "memory/groups/team/inner/flush-state.json"


def test_without_a_file_there_is_an_empty_book(tmp_path: Path) -> None:
    assert stored(tmp_path) == Stored(Book())
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("scope", [DM, TEAM])
def test_an_update_makes_folder_lock_state_and_copy(tmp_path: Path, scope: Scope) -> None:
    held = update(tmp_path, scope, number=1, last_time=TIME)
    assert held.book == Book(1, 1, TIME)
    assert stored(tmp_path, scope).book == held.book
    folder = os.path.dirname(state_path(scope))
    assert names(tmp_path, folder) == ["flush-state.json", "flush-state.json.lock"]
    assert (tmp_path / state_path(scope)).stat().st_mode & 0o777 == 0o600
    assert copy_of(tmp_path, scope).read_bytes() == (tmp_path / state_path(scope)).read_bytes()
    assert (tmp_path / ".apm").stat().st_mode & 0o777 == 0o700


def test_each_write_is_one_generation_later_whatever_the_book_says(tmp_path: Path) -> None:
    for generation in (1, 2, 3):
        held = update(tmp_path, number=generation, generation=90)
        assert (held.book.generation, stored(tmp_path).book.generation) == (generation, generation)


def test_what_does_not_change_is_not_written(tmp_path: Path) -> None:
    file = put(tmp_path, OTHERS)
    before = file.stat()
    with updating(str(tmp_path), DM) as held:
        assert held.book.number == 2
        held.book = replace(held.book, files={})
    assert (file.read_text(), file.stat().st_ino) == (OTHERS, before.st_ino)


def test_nothing_is_written_where_the_block_raises(tmp_path: Path) -> None:
    file = put(tmp_path, OTHERS)
    with pytest.raises(KeyError), updating(str(tmp_path), DM) as held:
        held.book = BOOK
        raise KeyError
    assert file.read_text() == OTHERS
    assert names(tmp_path) == ["flush-state.json", "flush-state.json.lock"]
    update(tmp_path, number=3)


def test_what_others_wrote_survives(tmp_path: Path) -> None:
    file = put(tmp_path, OTHERS)
    update(tmp_path, number=3, pending=(LEAD,))
    found = strict(file.read_bytes())
    assert list(found)[:5] == ["first", "flush_number", "pending_items", "b c", "last"]
    assert found["first"] == ["1e400", "2.50"]
    assert (found["flush_number"], found["b c"], found["last"]) == ("3", "ü\udcff", None)
    assert found["pending_items"] == ["theirs", LEAD.text]


@pytest.mark.parametrize(
    "encode",
    [lambda text: b"\xef\xbb\xbf" + text.encode(), lambda text: text.encode("utf-16"),
     lambda text: text.replace("\n", "\r\n").encode(), lambda text: text.encode("utf-16-le")],
)  # fmt: skip
def test_any_encoding_is_read_and_utf8_is_written(tmp_path: Path, encode: Callable[[str], bytes]) -> None:
    update(tmp_path, number=3, pending=(LEAD,))
    text = (tmp_path / DM_STATE).read_text()
    file = put(tmp_path, encode(text))
    assert (stored(tmp_path).problem, stored(tmp_path).book.pending) == ("", (LEAD,))
    update(tmp_path, number=4)
    assert file.read_bytes().startswith(b"{")
    assert strict(file.read_bytes())["flush_number"] == "4"


def test_mode_and_owner_of_the_file_stay(tmp_path: Path) -> None:
    file = put(tmp_path, OTHERS)
    file.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(file, 1234, 4321)
    before = file.stat()
    update(tmp_path, number=3)
    after = file.stat()
    assert after.st_ino != before.st_ino
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_an_owner_that_cannot_be_set_does_not_cost_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, OTHERS)

    def fchown(descriptor: int, user: int, group: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchown", fchown)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    update(tmp_path, number=3)
    assert stored(tmp_path).book.number == 3


DAMAGED = [b"", b" \n", b"\0" * 500, b"[]", b'"x"', b"null", b"{", b"\xff\x9d\x01\xfe" * 9, b'{"a": NaN}',
           b'{"a": ' + b"[" * 100_000, OTHERS[:-1].encode(), OTHERS.encode() + b"}", b'{"a": "\xff"}']  # fmt: skip


@pytest.mark.parametrize("data", DAMAGED)
@pytest.mark.parametrize("copied", [True, False])
def test_a_damaged_file_is_set_aside_and_rebuilt(tmp_path: Path, data: bytes, copied: bool) -> None:
    if copied:
        update(tmp_path, number=7, last_time=TIME, pending=(LEAD,))
    put(tmp_path, data)
    before = stored(tmp_path)
    assert before.problem.startswith(f"{DM_STATE} is damaged (")
    assert not any("corrupt" in name for name in names(tmp_path)), "who only reads writes nothing"
    held = update(tmp_path, last_time=LATER)
    assert held.problem == before.problem
    assert (tmp_path / held.set_aside).read_bytes() == data
    after = stored(tmp_path)
    assert after.problem == ""
    assert after.book == replace(before.book, generation=before.book.generation + 1, last_time=LATER)
    assert before.book.number == (7 if copied else 2 if b"flush_number" in data else None)
    # A list that is whole says what is done.
    assert before.book.pending == ((LEAD,) if copied and b"pending_items" not in data else ())
    strict((tmp_path / DM_STATE).read_bytes())


def test_a_damaged_file_is_mended_where_nothing_else_changes(tmp_path: Path) -> None:
    put(tmp_path, OTHERS[:-5])
    with updating(str(tmp_path), DM) as held:
        assert held.set_aside
    assert stored(tmp_path).problem == ""
    assert strict((tmp_path / DM_STATE).read_bytes())["first"] == ["1e400", "2.50"]


def test_what_is_set_aside_is_named_by_time_and_number_and_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flushstate, "_now", lambda: datetime.fromisoformat("2026-03-01T23:30:05+00:00"))
    others = ["flush-state.json.corrupt-mine", "flush-state.json.corrupt-20260301T233005Z-x"]
    for name in others:
        put(tmp_path, "kept", f"memory/{name}")
    told = []
    for number in range(1, 9):
        put(tmp_path, f"damage {number}")
        told.append(update(tmp_path, number=number).set_aside)
    assert told == [f"{DM_STATE}.corrupt-20260301T233005Z-{number}" for number in range(1, 9)]
    kept = [name for name in names(tmp_path) if "corrupt" in name and name not in others]
    assert [(tmp_path / "memory" / name).read_text() for name in kept] == [f"damage {n}" for n in range(4, 9)]
    assert set(others) < set(names(tmp_path))


def test_a_clock_that_goes_back_does_not_cost_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(9):
        at = datetime.fromisoformat(f"20{40 - number}-03-01T23:30:05+00:00")
        monkeypatch.setattr(flushstate, "_now", lambda at=at: at)
        put(tmp_path, f"damage {number}")
        aside = tmp_path / update(tmp_path, number=number).set_aside
        assert aside.read_text() == f"damage {number}"


def test_the_same_damage_is_set_aside_once(tmp_path: Path) -> None:
    put(tmp_path, "damage")
    asides = set()
    for _ in range(3):
        with pytest.raises(KeyError), updating(str(tmp_path), DM) as held:
            asides.add(held.set_aside)
            raise KeyError
    assert asides == {update(tmp_path, number=1).set_aside}
    assert len([name for name in names(tmp_path) if "corrupt" in name]) == 1


@pytest.mark.parametrize("fails", ["link", "both"])
def test_without_second_names_a_copy_is_set_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str) -> None:
    put(tmp_path, "damage")
    real = os.link

    def link(source: str, *arguments: Any, **more: Any) -> None:
        if fails == "both" or source == "flush-state.json":
            raise PermissionError(1, "Operation not permitted")
        real(source, *arguments, **more)

    monkeypatch.setattr(os, "link", link)
    if fails == "link":
        assert (tmp_path / update(tmp_path, number=1).set_aside).read_text() == "damage"
        return
    with pytest.raises(MemoryFileError, match=r"flush-state\.json.*Operation not permitted"):
        update(tmp_path, number=1)
    assert (tmp_path / DM_STATE).read_text() == "damage"


def test_a_save_that_is_under_way_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put(tmp_path, OTHERS[:40])
    os.utime(file)
    monkeypatch.setattr(files, "_pause", lambda _: put(tmp_path, OTHERS))
    held = update(tmp_path, number=3)
    assert (held.problem, held.set_aside) == ("", "")
    assert strict(file.read_bytes())["last"] is None


def test_a_changed_record_is_rebuilt_and_said(tmp_path: Path) -> None:
    update(tmp_path, number=7, last_time=TIME, pending=(LEAD, IDLE))
    text = (tmp_path / DM_STATE).read_text()
    put(tmp_path, text.replace('"number":7', '"number":8'))
    before = stored(tmp_path)
    assert "was changed by something else" in before.problem
    assert before.book == Book(1, 7, TIME, pending=(LEAD, IDLE))
    with updating(str(tmp_path), DM) as held:
        assert (held.book, held.problem, held.set_aside) == (before.book, before.problem, "")
    assert stored(tmp_path) == Stored(replace(before.book, generation=2), raw=stored(tmp_path).raw,
                                      seen=stored(tmp_path).seen)  # fmt: skip


def test_a_later_format_is_not_written(tmp_path: Path) -> None:
    text = json.dumps({"flush_number": 5, OWN_KEY: {"format": 2}})
    file = put(tmp_path, text)
    assert stored(tmp_path).book == Book(number=5)
    assert "later version" in stored(tmp_path).problem
    with pytest.raises(MemoryFileError, match=r"memory/flush-state\.json: .*later version.*Upgrade apm-hooks"):
        update(tmp_path, number=6)
    assert file.read_text() == text


def test_a_state_that_was_taken_away_begins_anew_and_keeps_the_order(tmp_path: Path) -> None:
    update(tmp_path, number=7, pending=(LEAD,))
    update(tmp_path, number=8)
    (tmp_path / DM_STATE).unlink()
    assert stored(tmp_path).book == Book()
    with updating(str(tmp_path), DM) as held:
        assert held.book == Book(generation=2)
        held.book = replace(held.book, number=1)
    assert stored(tmp_path).book == Book(generation=3, number=1)


def test_a_copy_that_cannot_be_kept_is_a_problem_and_no_error(tmp_path: Path) -> None:
    put(tmp_path, "", ".apm")
    held = update(tmp_path, number=1)
    assert held.problem.startswith(f"The last good copy of {DM_STATE} could not be kept: .apm")
    assert stored(tmp_path).book.number == 1


@pytest.mark.parametrize("data", [b"damage", b'{"apm_hooks": {"format": 2}}', b"{}", None])
def test_a_copy_that_is_no_good_does_not_count(tmp_path: Path, data: bytes | None) -> None:
    update(tmp_path, number=1)
    copy_of(tmp_path).unlink()
    if data is None:
        copy_of(tmp_path).symlink_to(tmp_path / DM_STATE)
    else:
        copy_of(tmp_path).write_bytes(data)
    put(tmp_path, "damage")
    assert stored(tmp_path).book == Book()


def test_a_tool_that_takes_no_lock_is_not_overwritten(tmp_path: Path) -> None:
    update(tmp_path, number=2, last_time=TIME, pending=(LEAD, IDLE))
    with updating(str(tmp_path), DM) as held:
        values = json.loads((tmp_path / DM_STATE).read_text())
        put(tmp_path, json.dumps({**values, "new": [1.0], "flush_number": 9, "last_flush_time": LATER,
                                  "pending_items": [IDLE.text, "theirs"]}))  # fmt: skip
        held.book = replace(held.book, number=3, files=BOOK.files)
    book = stored(tmp_path).book
    assert (book.number, book.last_time, book.pending, book.files) == (9, LATER, (IDLE,), BOOK.files)
    assert held.book == book
    found = strict((tmp_path / DM_STATE).read_bytes())
    assert (found["new"], found["pending_items"]) == (["1.0"], [IDLE.text, "theirs"])


def test_a_tool_that_drops_our_record_meanwhile_costs_nothing(tmp_path: Path) -> None:
    update(tmp_path, number=2, pending=(LEAD,))
    copy_of(tmp_path).unlink()
    with updating(str(tmp_path), DM) as held:
        put(tmp_path, '{"flush_number": 2}')
        held.book = replace(held.book, number=3)
    assert stored(tmp_path).book == Book(2, 3, pending=(LEAD,))


def test_damage_that_comes_meanwhile_is_set_aside_too(tmp_path: Path) -> None:
    update(tmp_path, number=2)
    with updating(str(tmp_path), DM) as held:
        put(tmp_path, "damage")
        held.book = replace(held.book, number=3)
    assert stored(tmp_path).book.number == 3
    assert [(tmp_path / "memory" / name).read_text() for name in names(tmp_path) if "corrupt" in name] == ["damage"]


def test_a_later_format_that_comes_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    text = json.dumps({OWN_KEY: {"format": 2}})
    with pytest.raises(MemoryFileError, match="later version"), updating(str(tmp_path), DM) as held:
        put(tmp_path, text)
        held.book = BOOK
    assert (tmp_path / DM_STATE).read_text() == text


def make(kind: str, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        path.symlink_to(path.parent.parent / "elsewhere")
    elif kind == "FIFO":
        os.mkfifo(path)
    else:
        path.mkdir()


@pytest.mark.parametrize("kind", ["link", "FIFO", "directory"])
def test_what_is_no_plain_file_is_refused_and_named(tmp_path: Path, kind: str) -> None:
    make(kind, tmp_path / DM_STATE)
    for act in (stored, update):
        with pytest.raises(MemoryFileError, match=r"memory/flush-state\.json: is a .*Put a plain file there"):
            act(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_that_comes_meanwhile_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MemoryFileError, match="symbolic link"), updating(str(tmp_path), DM) as held:
        make("link", tmp_path / DM_STATE)
        held.book = BOOK
    assert not (tmp_path / "elsewhere").exists()


def test_a_held_lock_times_out_and_names_the_file(tmp_path: Path) -> None:
    with (
        locked_at(str(tmp_path), DM_STATE + ".lock"),
        pytest.raises(LockTimeoutError, match=r"memory/flush-state\.json\.lock: held by this very thread"),
        updating(str(tmp_path), DM, seconds=0.01),
    ):
        pass


def test_a_file_past_the_bound_is_refused_at_no_cost(tmp_path: Path) -> None:
    file = put(tmp_path, OTHERS)
    os.truncate(file, 1 << 40)
    for act in (stored, update):
        with pytest.raises(MemoryFileError, match=f"is larger than {LIMITS.state_bytes} bytes"):
            act(tmp_path)


def test_a_state_does_not_grow_past_what_can_be_read(tmp_path: Path) -> None:
    limits = Limits(state_bytes=2_000)
    file = put(tmp_path, OTHERS)
    with (
        pytest.raises(MemoryFileError, match="would grow past 2000 bytes"),
        updating(str(tmp_path), DM, limits=limits) as held,
    ):
        held.book = replace(held.book, session_id="s" * 2_000)
    assert file.read_text() == OTHERS


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A state with something of everybody's in it."""
    root = tmp_path_factory.mktemp("sample")
    put(root, OTHERS)
    with updating(str(root), DM) as held:
        held.book = replace(BOOK, generation=held.book.generation)
    return (root / DM_STATE).read_bytes()


@pytest.mark.parametrize("copied", [True, False])
def test_wherever_the_file_is_cut_the_next_write_works(tmp_path: Path, sample: bytes, copied: bool) -> None:
    whole = json.loads(sample)
    if copied:
        put(tmp_path, sample, str(copy_of(tmp_path).relative_to(tmp_path)))
    for cut in range(len(sample)):
        put(tmp_path, sample[:cut])
        before = stored(tmp_path)
        # Only the last byte can go without harm: it ends the line.
        assert bool(before.problem) is (cut < len(sample) - 1)
        if copied:
            assert before.book == replace(BOOK, generation=1)
        if cut % 29 == 0:
            held = update(tmp_path, session_id="next")
            after = stored(tmp_path)
            assert (after.problem, after.book) == ("", held.book)
            found = json.loads((tmp_path / DM_STATE).read_bytes())
            sound = sample[:cut].decode("utf-8", "ignore")
            for key in ("first", "b c", "last"):
                # A pair is whole where the comma behind it is.
                end = sound.find(",\n", sound.find(f'\n  "{key}"') + 1) if f'\n  "{key}"' in sound else -1
                if copied or end >= 0:
                    assert found[key] == whole[key]
            if copied:
                put(tmp_path, sample, str(copy_of(tmp_path).relative_to(tmp_path)))


DAMAGES = st.one_of(
    st.tuples(st.just("flip"), st.integers(0, 10**6), st.integers(1, 255)),
    st.tuples(st.just("swap"), st.integers(0, 10**6), st.integers(1, 600)),
    st.tuples(st.just("append"), st.binary(max_size=20), st.just(0)),
    st.tuples(st.just("zeros"), st.integers(0, 10**6), st.integers(1, 600)),
)


def damaged(data: bytes, damage: tuple[str, Any, int]) -> bytes:
    kind, where, size = damage
    if kind == "append":
        return data + bytes(where)
    at = where % len(data)
    if kind == "flip":
        return data[:at] + bytes([data[at] ^ size]) + data[at + 1 :]
    if kind == "zeros":
        return data[:at] + bytes(len(data[at : at + size])) + data[at + size :]
    return data[:at] + data[at + size : at + 2 * size] + data[at : at + size] + data[at + 2 * size :]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(DAMAGES, min_size=1, max_size=2), st.booleans())
def test_however_it_is_damaged_there_is_a_book_and_the_next_write_works(
    tmp_path: Path, sample: bytes, damages: list[tuple[str, Any, int]], copied: bool
) -> None:
    data = sample
    for damage in damages:
        data = damaged(data, damage)
    copy = copy_of(tmp_path)
    copy.unlink(missing_ok=True)
    if copied:
        put(tmp_path, sample, str(copy.relative_to(tmp_path)))
    put(tmp_path, data)
    before = stored(tmp_path)
    if copied and not before.raw.document.newer:
        # Our own record, which the checksum guards, is never half of one.
        assert (before.book.files, before.book.flushes, before.book.seen) == (BOOK.files, BOOK.flushes, BOOK.seen)
    if before.raw.document.newer:
        return
    held = update(tmp_path, session_id="next")
    after = stored(tmp_path)
    assert after.problem == ""
    assert after.book == replace(held.book, generation=before.book.generation + 1)
    strict((tmp_path / DM_STATE).read_bytes())
