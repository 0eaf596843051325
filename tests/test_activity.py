from __future__ import annotations

import itertools
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks import activity, fastlane, markfile, start
from apm_hooks.activity import BLANK, Moment
from tests.test_markfile import before_the_lock
from tests.workspaces import PYTHON

if TYPE_CHECKING:
    from apm_hooks.activity import Mark

SECOND = 1_000_000_000
IDLE, TURN = 1800.0, 4 * 3600.0
BOOT, OTHER = "b0000000-0000-4000-8000-000000000001", "b0000000-0000-4000-8000-000000000002"
WALL = 1_767_225_600 * SECOND
UP = 50_000 * SECOND
NOW: Moment = (WALL, UP, BOOT)
DM, GROUP = activity.folder_name("DM"), activity.folder_name("Group(alpha)")
S1, S2, S3 = (fastlane.session_name("claude-code", name, None) for name in ("s1", "s2", "s3"))
DECADE = 10 * 365 * 86_400 * SECOND


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path)


def later(moment: Moment, seconds: float, *, wall: float | None = None) -> Moment:
    """The moment so many seconds on; `wall`: by so many the wall clock moves instead."""
    at, up, boot = moment
    moved = seconds if wall is None else wall
    return at + int(moved * SECOND), up + int(seconds * SECOND), boot


def mark(moment: Moment = NOW, **fields: Any) -> Mark:
    return activity.stamped({**BLANK, "since": 1, **fields}, moment)


def put(root: str, session: str = S1, scope: str = "DM", moment: Moment = NOW, **fields: Any) -> Mark:
    made = activity.update(root, scope, session, lambda seen: mark(moment, **fields))
    assert made is not None
    return made


def file_of(root: str, session: str = S1, folder: str = DM) -> Path:
    return Path(root, ".apm", "active", folder, session)


def due(seen: Mark, moment: Moment) -> bool:
    return activity.is_due(seen, moment, IDLE, TURN)


@given(st.text())
def test_folders_are_named_as_the_lane_names_what_it_hashes(text: str) -> None:
    assert activity.folder_name(text) == fastlane.hash_of(text)


def test_the_clocks_of_this_machine() -> None:
    first, second = activity.now(), activity.now()
    assert first[2] == second[2] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert 0 < first[1] <= second[1]
    assert abs(first[0] - time.time_ns()) < 3600 * SECOND


@pytest.mark.parametrize("lacking", ["clock", "boot"])
def test_a_clock_since_boot_counts_only_with_the_name_of_its_boot(
    monkeypatch: pytest.MonkeyPatch, lacking: str
) -> None:
    if lacking == "clock":
        monkeypatch.delattr(time, "CLOCK_BOOTTIME")
    else:
        monkeypatch.setattr(activity, "_boot_id", lambda: "")
    assert activity.now()[1:] == (0, "")


def test_a_new_mark_says_what_it_is_told_and_whose_it_is(root: str) -> None:
    made = activity.update(root, "Group(alpha)", S1, lambda seen: {**seen, "host": "claude-code", "early": 3})
    assert made == {**BLANK, "scope": "Group(alpha)", "session": S1, "host": "claude-code", "early": 3}
    assert activity.read_mark(root, GROUP, S1) == made
    assert activity.read_mark(root, GROUP, S1, fastlane.parse_json) == made
    assert activity.folders(root) == [GROUP]
    assert list(activity.marks_of(root, GROUP)) == [(S1, made)]
    assert activity.read_mark(root, DM, S1) is None
    assert list(activity.marks_of(root, DM)) == []


def test_whose_a_mark_is_cannot_be_changed(root: str) -> None:
    put(root)
    made = activity.update(root, "DM", S1, lambda seen: {**seen, "scope": "Group(x)", "session": S2, "format": 9})
    assert made is not None
    assert (made["scope"], made["session"], made["format"]) == ("DM", S1, activity.FORMAT)


def test_a_change_may_leave_a_mark_as_it_is(root: str) -> None:
    assert activity.update(root, "DM", S1, lambda seen: None) is None
    assert not file_of(root).exists()
    made = put(root)
    assert activity.update(root, "DM", S1, lambda seen: None) is None
    assert activity.read_mark(root, DM, S1) == made


WRONG: list[dict[str, object]] = [
    {"since": -1}, {"since": "1"}, {"since": True}, {"since": 1.0}, {"since": 1 << 63}, {"busy": 1}, {"open": 2},
    {"phase": 4}, {"usage": "9"}, {"key": 3}, {"at": None}, {"boot": None}, {"early": [1]}, {"up": -1}, {"idle": -1.0},
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_nonsense_is_neither_written_nor_believed(root: str, wrong: dict[str, object]) -> None:
    before = put(root)
    with pytest.raises(ValueError, match="no "):
        activity.update(root, "DM", S1, lambda seen: {**seen, **wrong})
    assert activity.read_mark(root, DM, S1) == before
    text = json.dumps({"write": 1, **before, **wrong, "again": 1})
    file_of(root).write_text(text)
    assert activity.read_mark(root, DM, S1) is None
    assert activity.doubts_of(root, DM) == [S1]


def test_a_wall_clock_before_1970_is_a_wall_clock(root: str) -> None:
    assert put(root, moment=(-5, UP, BOOT))["at"] == -5


def test_only_the_transcript_is_left_out_to_fit(root: str) -> None:
    made = activity.update(root, "DM", S1, lambda seen: {**seen, "transcript": "/" + "x" * 4000, "key": "k"})
    assert made is not None
    assert (made["transcript"], made["key"]) == ("", "k")
    assert activity.read_mark(root, DM, S1) == made
    assert activity.update(root, "DM", S1, lambda seen: {**seen, "key": "k" * 4000}) is None
    assert activity.read_mark(root, DM, S1) == made


def _other_name(text: str) -> str:
    return text.replace(S1, S2)


DAMAGE: dict[str, Callable[[str], str]] = {
    "half": lambda text: text[: len(text.rstrip()) // 2],
    "two numbers": lambda text: text.replace('"write":1', '"write":2'),
    "of another session": _other_name,
    "of another scope": lambda text: text.replace('"DM"', '"Group(alpha)"'),
    "no format of ours": lambda text: text.replace('"format":1', '"format":0'),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_mark_is_doubt_until_it_is_written_anew_or_discarded(root: str, kind: str) -> None:
    put(root, S2)
    put(root)
    file = file_of(root)
    damaged = DAMAGE[kind](file.read_text()).rstrip()

    file.write_text(damaged)
    assert activity.read_mark(root, DM, S1) is None
    assert activity.touch(root, DM, S1, dict) is None
    assert not activity.drop(root, DM, S1, mark())
    assert [name for name, _ in activity.marks_of(root, DM)] == [S2]
    assert activity.sessions(root, DM) == sorted((S1, S2))
    assert activity.doubts_of(root, DM) == [S1]
    made = activity.update(root, "DM", S1, lambda seen: {**seen, "since": seen["since"] + 1})
    assert made is not None
    assert made["since"] == 1
    assert activity.doubts_of(root, DM) == []
    assert not activity.discard(root, DM, S1)

    file.write_text(damaged)
    assert activity.discard(root, DM, S1)
    assert not file.exists()


def test_a_mark_before_its_first_write_is_no_doubt_and_no_mark(root: str) -> None:
    put(root)
    file_of(root).write_bytes(b"")
    assert activity.read_mark(root, DM, S1) is None
    assert activity.touch(root, DM, S1, dict) is None
    assert activity.doubts_of(root, DM) == []
    assert not activity.discard(root, DM, S1)
    assert file_of(root).exists()
    assert put(root, since=4)["since"] == 4


def test_a_mark_of_a_later_format_is_left_to_those_who_know_it(root: str) -> None:
    put(root)
    file = file_of(root)
    file.write_text(file.read_text().replace('"format":1', '"format":2'))
    kept = file.read_bytes()
    assert activity.read_mark(root, DM, S1) is None
    assert activity.update(root, "DM", S1, dict) is None
    assert activity.doubts_of(root, DM) == []
    assert not activity.discard(root, DM, S1)
    assert not activity.drop(root, DM, S1, mark())
    activity.tidy(root, DM, IDLE, TURN, lambda: later(NOW, 10**6))
    assert file.read_bytes() == kept


def test_a_mark_goes_only_while_it_says_what_was_flushed(root: str) -> None:
    flushed = put(root)
    for name, value in (("at", WALL + 1), ("up", UP + 1), ("boot", OTHER), ("since", 2)):
        assert not activity.drop(root, DM, S1, {**flushed, name: value})
    activity.update(root, "DM", S1, lambda seen: {**seen, "usage": 3.5})
    assert activity.drop(root, DM, S1, flushed)
    assert not activity.drop(root, DM, S1, flushed)
    assert list(activity.marks_of(root, DM)) == []
    assert not activity.drop(root, GROUP, S1, flushed)


def test_a_message_before_the_sweeper_has_the_lock_keeps_the_mark(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root)
    moment = later(NOW, IDLE)
    ((name, seen),) = activity.marks_of(root, DM)
    assert due(seen, moment)
    before_the_lock(monkeypatch, lambda: activity.touch(root, DM, S1, lambda own: activity.begun(own, moment)))
    assert not activity.drop(root, DM, name, seen)
    kept = activity.read_mark(root, DM, S1)
    assert kept is not None
    assert (kept["since"], kept["busy"]) == (2, True)
    assert not due(kept, moment)


def test_a_message_that_waits_for_the_sweeper_begins_a_new_mark(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = put(root)
    before_the_lock(monkeypatch, lambda: activity.drop(root, DM, S1, seen))
    made = activity.update(root, "DM", S1, lambda own: activity.begun(own, later(NOW, IDLE)))
    assert made is not None
    assert made["since"] == 1
    assert activity.read_mark(root, DM, S1) == made


def test_the_lanes_message_that_waits_for_the_sweeper_is_handed_over(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = put(root)
    before_the_lock(monkeypatch, lambda: activity.drop(root, DM, S1, seen))
    assert activity.touch(root, DM, S1, lambda own: activity.begun(own, NOW)) is None
    assert not file_of(root).exists()


def test_of_two_sweepers_one_takes_the_mark_away(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = put(root)
    taken: list[bool] = []
    before_the_lock(monkeypatch, lambda: taken.append(activity.drop(root, DM, S1, seen)))
    taken.append(activity.drop(root, DM, S1, seen))
    assert taken == [True, False]


WRITER = f"""
import sys
from _frozen_importlib_external import SourceFileLoader
names = {{"__name__": "start", "__file__": {start.__file__!r}}}
exec(SourceFileLoader("start", {start.__file__!r}).get_code("start"), names)
lane = names["load"]("fastlane")
activity = names["load"]("activity", markfile=names["load"]("markfile"))
root, session, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.read()

def change(seen):
    return activity.begun(seen, activity.now())

for _ in range(times):
    while activity.update(root, "DM", session, change, lane.parse_json) is None:
        pass
assert "json" not in sys.modules
"""


@pytest.fixture
def writers(root: str) -> Iterator[Callable[[int, int], list[subprocess.Popen[bytes]]]]:
    """Bare interpreters that begin together, and each note so many messages of one session."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(processes: int, times: int) -> list[subprocess.Popen[bytes]]:
        command = [PYTHON, "-I", "-S", "-c", WRITER, root, S1, str(times)]
        running.extend(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(processes)
        )
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            process.stdout.close()
        for process in running:
            assert process.stdin is not None
            process.stdin.close()
        return running

    yield begin
    for process in running:
        process.kill()
        process.wait()


def test_eight_processes_lose_no_message_and_no_reader_sees_half_of_one(
    root: str, writers: Callable[[int, int], list[subprocess.Popen[bytes]]]
) -> None:
    put(root, since=0)
    running = writers(8, 200)
    seen = [0]
    while any(process.poll() is None for process in running):
        found = activity.read_mark(root, DM, S1)
        if found is not None:
            seen.append(found["since"])
    assert [process.wait() for process in running] == [0] * 8
    assert seen == sorted(seen)
    last = activity.read_mark(root, DM, S1)
    assert last is not None
    assert last["since"] == 1600


def test_a_sweeper_among_writers_takes_every_message_exactly_once(
    root: str, writers: Callable[[int, int], list[subprocess.Popen[bytes]]]
) -> None:
    running = writers(4, 100)
    flushed = 0
    while any(process.poll() is None for process in running) or activity.sessions(root, DM):
        found = activity.read_mark(root, DM, S1)
        if found is not None and activity.drop(root, DM, S1, found):
            flushed += found["since"]
    assert [process.wait() for process in running] == [0] * 4
    assert flushed == 400


@pytest.mark.parametrize("wall", [0.0, DECADE / SECOND, -DECADE / SECOND])
@pytest.mark.parametrize("quiet", [0, 1, IDLE - 1, IDLE, IDLE + 1, 10 * IDLE])
def test_within_a_boot_the_wall_clock_plays_no_part(quiet: float, wall: float) -> None:
    moment = later(NOW, quiet, wall=quiet + wall)
    assert activity.age(mark(), moment) == int(quiet * SECOND)
    assert due(mark(), moment) is (quiet >= IDLE)


def test_the_time_that_a_machine_sleeps_counts() -> None:
    # The clock since boot goes on in suspend, and so does the one on the wall.
    assert due(mark(), later(NOW, 8 * 3600))


@pytest.mark.parametrize(
    ("up", "wall", "expected"),
    [
        (60, 30, 60),  # started again a minute ago: quiet for a minute at least
        (60, 7200, 7200),
        (60, -DECADE / SECOND, 60),
        (IDLE, -5, IDLE),
    ],
)
def test_after_another_boot_a_session_was_quiet_for_the_uptime_at_least(
    up: float, wall: float, expected: float
) -> None:
    moment = (WALL + int(wall * SECOND), int(up * SECOND), OTHER)
    for busy in (False, True):
        seen = mark(busy=busy, transcript="/proc/self/status")
        assert activity.age(seen, moment) == int(expected * SECOND)
        assert due(seen, moment) is (expected >= IDLE)


@pytest.mark.parametrize("boots", [("", ""), (BOOT, ""), ("", BOOT)])
def test_without_a_clock_since_boot_the_wall_clock_decides(boots: tuple[str, str]) -> None:
    seen = mark((WALL, 0, boots[0]))
    for seconds, expected in ((5, 5), (IDLE, IDLE), (-DECADE / SECOND, 0)):
        moment = (WALL + int(seconds * SECOND), 0, boots[1])
        assert activity.age(seen, moment) == int(expected * SECOND)


MOMENTS = st.tuples(
    st.integers(-(10**18), 4 * 10**18), st.integers(0, 10**18), st.sampled_from(["", BOOT, OTHER])
)  # fmt: skip


@given(MOMENTS, MOMENTS, st.booleans())
def test_no_age_is_negative_and_no_clock_makes_it_fail(marked: Moment, moment: Moment, busy: bool) -> None:
    seen = mark(marked, busy=busy, transcript="/etc/passwd")
    assert activity.age(seen, moment) >= 0
    assert due(seen, moment) in (True, False)
    assert activity.left(seen, moment, IDLE, TURN) <= TURN * SECOND


@given(st.integers(0, 10**16), st.integers(-(10**18), 10**18))
def test_an_age_within_a_boot_is_the_same_by_any_wall_clock(passed: int, step: int) -> None:
    at, up, boot = NOW
    assert activity.age(mark(), (at + step, up + passed, boot)) == passed


NIGHTS = {
    # Seconds since 1970 of the hour before the clocks change: spring and autumn in two zones.
    "America/New_York": (1_772_947_800, 1_793_505_600),
    "Europe/Berlin": (1_774_742_400, 1_792_882_800),
}


@pytest.mark.parametrize("zone", [*NIGHTS, "Asia/Shanghai", "UTC"])
def test_neither_midnight_nor_a_night_of_clock_change_plays_a_part(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for night in (*itertools.chain(*NIGHTS.values()), 1_775_937_180):
            for minutes in range(0, 240, 7):
                begin = (night + minutes * 60) * SECOND
                for boot in ("", BOOT):
                    seen = mark((begin, UP, boot))
                    early = (begin + int(IDLE * SECOND) - 1, UP + int(IDLE * SECOND) - 1, boot)
                    assert not due(seen, early)
                    assert due(seen, (early[0] + 1, early[1] + 1, boot))
    finally:
        monkeypatch.undo()
        time.tzset()


def test_nothing_is_due_where_there_is_nothing_to_save() -> None:
    moment = later(NOW, 10**6)
    assert not due(mark(since=0), moment)
    assert due(mark(since=0, open=1), moment)
    assert due(mark(since=3), moment)


@pytest.fixture
def transcript(tmp_path: Path) -> Callable[[Moment], str]:
    """A transcript that changed at a moment, as its wall clock told it."""

    def changed(moment: Moment) -> str:
        path = tmp_path / "transcript.jsonl"
        path.write_text("{}\n")
        os.utime(path, ns=(moment[0], moment[0]))
        return str(path)

    return changed


@pytest.mark.parametrize("boot", [BOOT, ""])
def test_a_turn_is_at_work_while_its_transcript_moves(boot: str, transcript: Callable[[Moment], str]) -> None:
    begin = (WALL, UP, boot)
    seen = mark(begin, busy=True, transcript=transcript(later(begin, 3000)))
    assert not due(seen, later(begin, 3000 + IDLE - 1))
    assert due(seen, later(begin, 3000 + IDLE))
    assert activity.left(seen, later(begin, 3600), IDLE, TURN) == (3000 + IDLE - 3600) * SECOND


def test_a_transcript_that_did_not_move_since_the_message_does_not_make_it_older(
    transcript: Callable[[Moment], str],
) -> None:
    seen = mark(busy=True, transcript=transcript(later(NOW, -90_000)))
    assert not due(seen, later(NOW, IDLE - 1))
    assert due(seen, later(NOW, IDLE))


@pytest.mark.parametrize("named", ["", "/nowhere/at/all.jsonl", "/etc/passwd/x", "\0"])
def test_without_a_transcript_a_turn_may_take_its_time(named: str) -> None:
    seen = mark(busy=True, transcript=named)
    assert not due(seen, later(NOW, TURN - 1))
    assert due(seen, later(NOW, TURN))
    assert activity.left(seen, NOW, 9 * TURN, TURN) == 9 * TURN * SECOND


@pytest.mark.parametrize("step", [DECADE / SECOND, -DECADE / SECOND, 7200, -7200])
@pytest.mark.parametrize("when", ["before it moves", "after it moved"])
def test_a_clock_that_is_set_during_a_turn_does_not_end_it(
    step: float, when: str, transcript: Callable[[Moment], str]
) -> None:
    moved = later(NOW, 3000, wall=3000 + (step if when == "before it moves" else 0))
    seen = mark(busy=True, transcript=transcript(moved))
    for after, expected in ((IDLE - 1, False), (2 * IDLE, True)):
        moment = later(NOW, 3000 + after, wall=3000 + after + step)
        assert due(seen, moment) is expected


def test_a_transcript_of_the_future_tells_nothing(transcript: Callable[[Moment], str]) -> None:
    seen = mark(busy=True, transcript=transcript(later(NOW, DECADE / SECOND)))
    assert not due(seen, later(NOW, TURN - 1))
    assert due(seen, later(NOW, TURN))


def test_a_stamp_of_the_future_is_due_once_and_at_most_one_idle_period_late(root: str) -> None:
    back = (WALL - DECADE, 0, "")
    put(root, moment=(WALL, 0, ""))
    activity.tidy(root, DM, IDLE, TURN, lambda: back)
    ((_, seen),) = activity.marks_of(root, DM)
    assert (seen["at"], seen["since"]) == (back[0], 1)
    assert not due(seen, later(back, IDLE - 1))
    assert due(seen, later(back, IDLE))
    activity.tidy(root, DM, IDLE, TURN, lambda: later(back, IDLE))
    assert activity.read_mark(root, DM, S1) == seen
    assert activity.drop(root, DM, S1, seen)


def test_a_clock_since_boot_that_runs_behind_is_put_right_too(root: str) -> None:
    # A container may count from another beginning.
    put(root)
    behind = (WALL, UP // 2, BOOT)
    activity.tidy(root, DM, IDLE, TURN, lambda: behind)
    ((_, seen),) = activity.marks_of(root, DM)
    assert seen["up"] == UP // 2


def test_a_mark_that_was_stamped_during_the_look_is_not_put_back(root: str) -> None:
    fresh = later(NOW, 100)
    put(root, moment=fresh)
    clocks = iter([NOW, fresh, fresh])
    activity.tidy(root, DM, IDLE, TURN, lambda: next(clocks))
    ((_, seen),) = activity.marks_of(root, DM)
    assert seen["up"] == fresh[1]


def test_tidying_takes_away_only_what_nothing_is_lost_with(root: str) -> None:
    put(root, S1, since=0)
    put(root, S2, since=0, open=1)
    put(root, S3)
    fresh = fastlane.session_name("claude-code", "s4", None)
    put(root, fresh, since=0, moment=later(NOW, IDLE))
    empty, damaged = "0" * 32, "1" * 32
    for name, text in ((empty, ""), (damaged, "{")):
        file_of(root, name).write_text(text)
        file_of(root, name).chmod(0o600)
    activity.tidy(root, DM, IDLE, TURN, lambda: later(NOW, IDLE - 1))
    assert S1 in activity.sessions(root, DM)
    activity.tidy(root, DM, IDLE, TURN, lambda: later(NOW, IDLE))
    assert activity.sessions(root, DM) == sorted([S2, S3, fresh, damaged])


def test_a_message_during_the_tidying_keeps_its_mark(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(root, since=0)
    moment = later(NOW, IDLE)
    before_the_lock(monkeypatch, lambda: activity.touch(root, DM, S1, lambda own: activity.begun(own, moment)))
    activity.tidy(root, DM, IDLE, TURN, lambda: moment)
    ((_, seen),) = activity.marks_of(root, DM)
    assert seen["since"] == 1


def test_past_the_bound_the_quietest_come_first_and_running_turns_stay(root: str) -> None:
    put(root, S1, moment=later(NOW, 30))
    put(root, S2, scope="Group(alpha)", moment=later(NOW, 10))
    put(root, S3, moment=later(NOW, 20))
    busy = fastlane.session_name("claude-code", "s4", None)
    put(root, busy, busy=True)
    moment = later(NOW, 60)
    assert activity.surplus(root, 4, moment) == []
    over = activity.surplus(root, 2, moment)
    assert [(folder, session) for folder, session, _ in over] == [(GROUP, S2), (DM, S3)]
    assert [each["session"] for _, _, each in activity.surplus(root, 0, moment)] == [S2, S3, S1]


STEPS = [
    (0, "before", 1, False), (1, "before", 1, False), (2, "before", 1, False), (3, "before", 1, False),
    (0, "start", 2, True), (1, "start", 2, False), (2, "start", 2, True), (3, "start", 0, False),
    (0, "after", 3, True), (1, "after", 3, False), (2, "after", 0, False), (3, "after", 3, False),
]  # fmt: skip


@pytest.mark.parametrize(("phase", "event", "following", "missed"), STEPS)
def test_steps_of_a_compaction(phase: int, event: str, following: int, missed: bool) -> None:
    assert activity.compaction_step(phase, event) == (following, missed)


@given(st.lists(st.tuples(st.booleans(), st.permutations(["start", "after"])), max_size=8))
def test_a_compaction_is_missed_exactly_where_its_event_did_not_come(rounds: list[tuple[bool, list[str]]]) -> None:
    phase, missed = 0, 0
    for told, events in rounds:
        for event in (["before"] if told else []) + events:
            phase, fault = activity.compaction_step(phase, event)
            missed += fault
        assert phase == 0
    assert missed == sum(not told for told, _ in rounds)


def test_two_processes_of_one_session_share_its_mark(root: str) -> None:
    put(root, since=0)
    first = activity.touch(root, DM, S1, lambda own: activity.begun(own, later(NOW, 5), "/t/1.jsonl"))
    second = activity.touch(root, DM, S1, lambda own: activity.begun(own, later(NOW, 6)))
    assert first is not None
    assert second is not None
    assert (second["since"], second["busy"], second["transcript"]) == (2, True, "/t/1.jsonl")
    over = activity.touch(root, DM, S1, lambda own: activity.ended(own, later(NOW, 7), 41.5))
    assert over is not None
    assert (over["since"], over["busy"], over["usage"], over["up"]) == (2, False, 41.5, UP + 7 * SECOND)
    assert file_of(root).stat().st_size == markfile.SIZE
