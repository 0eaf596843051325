from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from apm_hooks import activity, aggregate, doctor, doctor_scope
from apm_hooks.doctor import Check, Level, Probe, Subject
from apm_hooks.flushrecords import Outcome, Trigger
from apm_hooks.flushstate import DM_STATE, read_state, state_path
from apm_hooks.locking import locked_at
from apm_hooks.records import DM, Limits, Scope, ScopeKind
from tests.subjects import (
    ALPHA,
    HOUR,
    NOW,
    is_fine,
    levels,
    lock_line,
    mapped,
    mark_file,
    only,
    record,
    subject_of,
    system_of,
    work,
)
from tests.workspaces import Bench

DAY = 24 * HOUR


def mended(subject: Subject, look: Callable[[Subject], list[Check]]) -> list[Level]:
    """The levels of what a check finds after its findings were mended."""
    found = list(doctor.examine(subject, (Probe("it", look, scoped=True),), fix=True))
    return [each.level for each in found if not each.text.startswith("mended: ")]


def test_states_that_can_be_read_are_counted(made: Bench) -> None:
    mapped(made, "alpha")
    record(made)
    found = only(doctor_scope.states(subject_of(made, "alpha")), Level.OK)
    assert "flush states: 2, of which 1 record a flush" in found.text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"flush_number": 4, "apm_hooks": {"format": 1, "checksum": "0", "generation": 2}}',
        "\xff\x00",
        "null",
    ],
)
def test_a_damaged_state_is_an_error_until_it_is_mended(made: Bench, text: str) -> None:
    made.write(DM_STATE, text)
    subject = subject_of(made)
    found = only(doctor_scope.states(subject), Level.ERROR)
    assert DM_STATE in found.text
    assert found.remedy == doctor_scope.FIX
    assert (made.root / DM_STATE).read_text() == text
    assert Level.ERROR not in mended(subject, doctor_scope.states)
    assert read_state(str(made.root), DM).problem == ""


def test_what_was_set_aside_is_noted_with_the_way_to_compare_it(made: Bench) -> None:
    record(made)
    for at, name in enumerate(("20260101T000000Z-1", "20260102T000000Z-2")):
        path = made.write(f"{DM_STATE}.corrupt-{name}", "{")
        os.utime(path, (at, at))
    found = only(doctor_scope.states(subject_of(made)), Level.NOTE)
    assert "were set aside: 2" in found.text
    assert f"diff {made.root}/{DM_STATE} {made.root}/{DM_STATE}.corrupt-20260102T000000Z-2" in found.remedy


def test_a_state_of_a_later_version_is_an_error_that_nothing_here_mends(made: Bench) -> None:
    made.write(DM_STATE, '{"apm_hooks": {"format": 2}}')
    found = only(doctor_scope.states(subject_of(made)), Level.ERROR)
    assert found.remedy == "Upgrade apm-hooks."
    assert found.mend is None


def test_a_state_that_cannot_be_read_is_an_error_and_the_others_are_looked_at(made: Bench) -> None:
    mapped(made, "alpha", "beta")
    (made.root / DM_STATE).mkdir(parents=True)
    made.write("memory/groups/beta/flush-state.json", "{")
    found = doctor_scope.states(subject_of(made, "alpha", "beta"))
    assert levels(found) == [Level.ERROR, Level.ERROR]
    assert "is a directory" in found[0].text
    assert "beta" in found[1].text


@pytest.mark.parametrize(("count", "level"), [(31, Level.OK), (32, Level.WARNING), (40, Level.WARNING)])
def test_pending_items_near_their_bound_are_a_warning(made: Bench, count: int, level: Level) -> None:
    record(made, pending=count)
    found = only(doctor_scope.states(subject_of(made)), level)
    assert ("40 pending items" in found.text) is (level is Level.WARNING)


def test_a_lock_that_nobody_holds_is_taken_and_given_back(made: Bench) -> None:
    record(made)
    assert only(doctor_scope.locks(subject_of(made)), Level.OK).text == "locks that can be taken: 1"
    with locked_at(str(made.root), DM_STATE + ".lock", seconds=0):
        pass


def test_what_never_had_a_lock_gets_none(made: Bench) -> None:
    mapped(made, "alpha")
    before = sorted(made.root.rglob("*"))
    assert is_fine(doctor_scope.locks(subject_of(made, "alpha")))
    assert is_fine(doctor_scope.leftovers(subject_of(made, "alpha")))
    assert sorted(made.root.rglob("*")) == before


def test_a_lock_that_is_held_is_named_with_its_holder_and_stays_held(made: Bench, tmp_path: Path) -> None:
    record(made)
    lock = made.root / (DM_STATE + ".lock")
    system = system_of(tmp_path / "proc", locks=lock_line(lock, 4711), **{"4711__comm": "python3\n"})
    with locked_at(str(made.root), DM_STATE + ".lock"):
        found = only(doctor_scope.locks(subject_of(made, system=system)), Level.WARNING)
        assert found.text == f"{DM_STATE}.lock is held by process 4711 (python3)"
        assert "kill -CONT 4711" in found.remedy
        assert found.mend is None
        told = only(doctor_scope.locks(subject_of(made, operator=False, system=system)), Level.WARNING)
        assert told.text == f"{DM_STATE}.lock is held"


def test_a_holder_that_the_system_does_not_tell_of_is_not_named(made: Bench, tmp_path: Path) -> None:
    record(made)
    with locked_at(str(made.root), DM_STATE + ".lock"):
        found = only(doctor_scope.locks(subject_of(made, system=str(tmp_path))), Level.WARNING)
    assert found.text == f"{DM_STATE}.lock is held"


def test_the_aggregates_lock_is_the_operators_to_know(made: Bench) -> None:
    mapped(made, "alpha")
    record(made, ALPHA)
    aggregate.rebuild(str(made.root), ["alpha"])
    with locked_at(str(made.root), aggregate.PATH + ".lock"):
        assert (
            "memory/groups/flush-state.json.lock"
            in only(doctor_scope.locks(subject_of(made, "alpha")), Level.WARNING).text
        )
        assert is_fine(doctor_scope.locks(subject_of(made, operator=False, scopes=[ALPHA])))


def test_no_locks_at_all_is_an_error(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    record(made)

    def flock(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    found = only(doctor_scope.locks(subject_of(made)), Level.ERROR)
    assert "cannot be locked" in found.text
    assert found.remedy == "Put the workspace on a local disk."


def test_what_is_no_lock_file_is_an_error(made: Bench) -> None:
    (made.root / (DM_STATE + ".lock")).mkdir(parents=True)
    assert DM_STATE in only(doctor_scope.locks(subject_of(made)), Level.ERROR).text


@pytest.mark.parametrize("name", [".flush-state.json.apm-tmp", ".flush-state.json.corrupt-x.0a1b2c3d4e5f.apm-tmp"])
def test_what_a_killed_writer_left_of_a_state_is_cleared_away(made: Bench, name: str) -> None:
    record(made)
    left = made.write(f"memory/{name}", "{")
    subject = subject_of(made)
    assert name in only(doctor_scope.leftovers(subject), Level.NOTE).text
    assert left.exists()
    assert mended(subject, doctor_scope.leftovers) == [Level.OK]
    assert not left.exists()


def test_what_the_holder_of_the_lock_is_writing_is_no_leftover(made: Bench) -> None:
    record(made)
    left = made.write("memory/.flush-state.json.apm-tmp", "{")
    subject = subject_of(made)
    with locked_at(str(made.root), DM_STATE + ".lock"):
        assert is_fine(doctor_scope.leftovers(subject))
    assert left.exists()


@pytest.mark.parametrize(
    "path", [".MEMORY.md.apm-tmp", "memory/main/.longterm.md.apm-tmp", "memory/groups/.alpha.md.apm-tmp",
             "memory/groups/alpha/.people.md.0a1b2c3d4e5f.apm-tmp", ".apm/flush/.x.json.apm-tmp"],
)  # fmt: skip
def test_a_half_written_file_counts_when_it_is_an_hour_old(made: Bench, path: str) -> None:
    mapped(made, "alpha")
    left = made.write(path, "x")
    found = only(doctor_scope.leftovers(subject_of(made, "alpha")), Level.NOTE)
    assert found.text.endswith(f"left {path}")
    assert found.remedy.endswith(f"rm {left}")
    assert found.mend is None
    os.utime(left, (time.time(), time.time()))
    assert is_fine(doctor_scope.leftovers(subject_of(made, "alpha")))


def test_sessions_at_work_are_counted(made: Bench) -> None:
    work(made)
    work(made, session="1" * 32, since=0)
    assert only(doctor_scope.marks(subject_of(made)), Level.OK).text == "live sessions: 2"


def test_a_session_that_went_quiet_waits_for_its_flush(made: Bench) -> None:
    work(made, at=(NOW - 2 * HOUR) * 10**9, boot="", up=0)
    found = only(doctor_scope.marks(subject_of(made)), Level.NOTE)
    assert "wait for their flush: 1" in found.text
    assert "sweep" in found.remedy


def test_a_quiet_session_with_nothing_to_save_is_tidied_away(made: Bench) -> None:
    work(made, at=(NOW - 2 * HOUR) * 10**9, boot="", up=0, since=0)
    subject = subject_of(made)
    assert "nothing to save: 1" in only(doctor_scope.marks(subject), Level.NOTE).text
    assert mended(subject, doctor_scope.marks) == [Level.OK]
    assert not mark_file(made).exists()


def test_a_session_of_a_group_that_is_no_longer_mapped_is_noted(made: Bench) -> None:
    work(made, Scope(ScopeKind.GROUP, "gone"))
    assert "no longer mapped: 1" in only(doctor_scope.marks(subject_of(made)), Level.NOTE).text
    assert is_fine(doctor_scope.marks(subject_of(made, operator=False)))


def test_marks_near_their_bound_are_a_warning(made: Bench) -> None:
    for digit in "012":
        work(made, session=digit * 32)
    subject = subject_of(made, limits=Limits(active_sessions=3))
    assert only(doctor_scope.marks(subject), Level.WARNING).text == "live sessions: 3, of at most 3"


@pytest.mark.parametrize("scope", [DM, ALPHA])
def test_a_session_with_a_doubtful_mark_is_flushed_as_one_that_went_quiet(made: Bench, scope: Scope) -> None:
    mapped(made, "alpha")
    work(made, scope)
    mark_file(made, scope).write_bytes(b'{"write":1,' + b" " * 4085)
    subject = subject_of(made, "alpha")
    assert f"certain: 1 ({scope})" in only(doctor_scope.marks(subject), Level.WARNING).text
    assert mended(subject, doctor_scope.marks) == [Level.OK]
    assert not mark_file(made, scope).exists()
    flushed = read_state(str(made.root), scope).book.flushes
    assert [(each.trigger, each.outcome) for each in flushed] == [(Trigger.IDLE, Outcome.UNWRITTEN)]


def test_a_doubtful_mark_of_no_scope_is_taken_away(made: Bench) -> None:
    gone = Scope(ScopeKind.GROUP, "gone")
    work(made, gone)
    mark_file(made, gone).write_bytes(b"?")
    subject = subject_of(made)
    assert only(doctor_scope.marks(subject), Level.WARNING).text.endswith("certain: 1")
    assert mended(subject, doctor_scope.marks) == [Level.OK]
    assert not mark_file(made, gone).exists()
    assert not (made.root / state_path(gone)).exists()


def test_a_doubtful_mark_stays_where_nothing_can_be_recorded(made: Bench) -> None:
    work(made)
    mark_file(made).write_bytes(b"?")
    (made.root / DM_STATE).mkdir(parents=True)
    subject = subject_of(made)
    assert mended(subject, doctor_scope.marks) == [Level.WARNING]
    assert mark_file(made).exists()


def test_a_mark_whose_writer_died_at_once_needs_no_flush(made: Bench) -> None:
    work(made)
    mark_file(made).write_bytes(b"")
    subject = subject_of(made)
    assert "nothing to save: 1" in only(doctor_scope.marks(subject), Level.NOTE).text
    assert mended(subject, doctor_scope.marks) == [Level.OK]
    assert not mark_file(made).exists()
    assert not (made.root / DM_STATE).exists()


@pytest.mark.parametrize(
    ("at", "late"),
    [
        ("2026-01-01T00:59:00+00:00", False), ("2026-01-01T01:01:00+00:00", True), ("2026-01-01T09:01:00+08:00", True),
        ("2026-01-01T08:59:00+08:00", False), ("9999-12-31T23:59:59+00:00", True), ("0001-01-01T00:00:00", False),
    ],
)  # fmt: skip
def test_a_flush_in_the_future_is_a_warning(made: Bench, at: str, late: bool) -> None:
    record(made, at=at)
    found = only(doctor_scope.times(subject_of(made)), Level.WARNING if late else Level.OK)
    assert (at in found.text) is late


def test_a_session_that_was_at_work_in_the_future_is_a_warning(made: Bench) -> None:
    work(made, at=(NOW + HOUR + 60) * 10**9, boot="", up=0)
    subject = subject_of(made)
    assert only(doctor_scope.times(subject), Level.WARNING).text.endswith("in the future: 1")
    assert mended(subject, doctor_scope.times) == [Level.OK]
    mark = activity.read_mark(str(made.root), activity.folder_name("DM"), "0" * 32)
    assert mark is not None
    assert mark["at"] == NOW * 10**9


def test_a_session_that_counts_by_the_boot_clock_needs_no_mending(made: Bench) -> None:
    work(made, at=(NOW + DAY) * 10**9, up=5, boot="this one")
    subject = subject_of(made)
    subject.opened.flusher.moment = lambda: (NOW * 10**9, 6, "this one")
    assert only(doctor_scope.times(subject), Level.WARNING).mend is None
    subject.opened.flusher.moment = lambda: (NOW * 10**9, 0, "")
    assert only(doctor_scope.times(subject), Level.WARNING).mend is not None


def test_a_state_that_cannot_be_read_does_not_hide_the_others_times(made: Bench) -> None:
    mapped(made, "alpha")
    (made.root / DM_STATE).mkdir(parents=True)
    record(made, ALPHA, at="2999-01-01T00:00:00+00:00")
    assert "alpha" in only(doctor_scope.times(subject_of(made, "alpha")), Level.WARNING).text


def test_an_aggregate_that_is_behind_is_rebuilt(made: Bench) -> None:
    mapped(made, "alpha", "beta")
    record(made, ALPHA)
    subject = subject_of(made, "alpha", "beta")
    assert "alpha" in only(doctor_scope.group_rows(subject), Level.WARNING).text
    assert mended(subject, doctor_scope.group_rows) == [Level.OK]
    assert json.loads((made.root / aggregate.PATH).read_text())["flush_number"] == 1
    assert stat.S_IMODE((made.root / aggregate.PATH).stat().st_mode) == 0o600


def test_an_aggregate_without_groups_is_fine(made: Bench) -> None:
    assert is_fine(doctor_scope.group_rows(subject_of(made)))


def test_while_the_group_map_cannot_be_read_no_row_is_dropped(made: Bench) -> None:
    mapped(made, "alpha")
    record(made, ALPHA)
    aggregate.rebuild(str(made.root), ["alpha"])
    made.write("memory/groups/group_names.json", "{")
    before = (made.root / aggregate.PATH).read_bytes()
    assert mended(subject_of(made), doctor_scope.group_rows) == [Level.NOTE]
    assert (made.root / aggregate.PATH).read_bytes() == before


def test_a_damaged_state_is_told_once(made: Bench) -> None:
    mapped(made, "alpha")
    made.write(state_path(ALPHA), "{")
    subject = subject_of(made, "alpha")
    said = {each.text for each in doctor_scope.states(subject)}
    assert said
    assert said.isdisjoint(each.text for each in doctor_scope.group_rows(subject))
