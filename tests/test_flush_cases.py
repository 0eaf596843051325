"""Faults of other memory systems that their users reported, each held against our flushes in its whole kind."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from apm_hooks import activity, aggregate, flusher, hashing, images, locking, texts, walking
from apm_hooks.events import FlushAnswer
from apm_hooks.fastlane import session_name
from apm_hooks.flushrecords import FlushReport, Outcome, PendingKind, Status
from apm_hooks.flushstate import read_state, updating
from apm_hooks.hookspecs import hookimpl
from apm_hooks.locking import locked_at
from apm_hooks.notebook import Notebook
from apm_hooks.records import DM, LIMITS, Limits, Scope, ScopeKind, Source
from apm_hooks.runtime import Runtime
from tests.flushmodel import Died
from tests.workspaces import GROUP_KEY, PYTHON, Bench, bench, event

ALPHA = Scope(ScopeKind.GROUP, "alpha")
STATE = "memory/flush-state.json"
LONGTERM = "memory/main/longterm.md"
MORNING = datetime(2026, 3, 2, 10, 0, tzinfo=UTC).timestamp()
LINES = "".join(f"- what was settled on day {day}, and why it was\n" for day in range(40))


class Clock:
    """The clock of a workspace, moved by hand."""

    def __init__(self, now: float = MORNING) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def swift(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written reaches no disk, and nobody else is waiting."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(locking, "_COURTESY", 0)


@pytest.fixture
def group(tmp_path: Path) -> Bench:
    """A workspace with a mapped group, in a known time zone."""
    made = bench(tmp_path, settings='timezone = "UTC"\n')
    made.groups({"-100777": "alpha"})
    made.write("memory/groups/alpha.md", "# Alpha\n")
    made.trust()
    return made


def state(made: Bench, path: str = STATE) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made.root / path).read_text())
    return found


def outcomes(made: Bench, scope: Scope = DM) -> list[tuple[int, str, str]]:
    """Number, trigger and outcome of each flush in the state."""
    return [(each.number, each.trigger.value, each.outcome.value)
            for each in read_state(str(made.root), scope).book.flushes]  # fmt: skip


def kinds(made: Bench, scope: Scope = DM) -> list[str]:
    return [item.kind.value for item in read_state(str(made.root), scope).book.pending]


def log_of(made: Bench) -> str:
    file = made.root / ".apm/log/apm.log"
    return file.read_text() if file.exists() else ""


def plugged(made: Bench, clock: Callable[[], float] = lambda: MORNING, **hooks: Callable[..., object]) -> Runtime:
    plugin = SimpleNamespace(**{name: hookimpl(function) for name, function in hooks.items()})
    limits = replace(LIMITS, plugin_seconds=120.0)
    return Runtime(str(made.root), made.env, clock=clock, limits=limits, plugins={"ours": plugin})


@pytest.mark.parametrize(
    "before",
    [None, "{}", '{"cycle": 0, "last_flushed_cycle": 0}', '{"flush_number": 0}', '{"flush_number": null}',
     '{"flush_number": null, "last_flush_time": null, "apm_hooks": null}', '{"flush_number": false}', ""],
)  # fmt: skip
def test_what_was_never_flushed_is_not_taken_for_flushed(made: Bench, before: str | None) -> None:
    """B01: never is no zero, and two zeros that are equal say nothing."""
    if before is not None:
        made.write(STATE, before)
    runtime = made.runtime()
    never = runtime.session_start(event()).injection.text
    assert ("last flush: never" in never) == (before != "")
    runtime.message_received(event(message="good morning"))
    report = runtime.flush(event(), "pre-compaction", identity="0")
    assert (report.status, report.number) == (Status.ISSUED, 1)
    assert runtime.flush(event(), "pre-compaction", identity="0").status is Status.SAME
    assert state(made)["flush_number"] == 1
    assert "never" not in made.runtime().session_start(event(session_id="s2")).injection.text


def test_the_first_context_of_a_session_is_flushed_early_too(made: Bench) -> None:
    """B01: no compaction yet and no early flush yet are not the same number."""
    runtime = made.runtime()
    full = event(message="good morning", context_tokens=90, context_window=100)
    assert "Flush 1" in runtime.message_received(full).directive.text
    assert not runtime.message_received(full).directive.text
    runtime.flush(event(), "pre-compaction")
    runtime.session_start(event(source=Source.COMPACT))
    runtime.turn_ended(event())
    assert "Flush" in runtime.message_received(full).directive.text


def test_a_flush_that_compacts_is_one_flush_and_keeps_no_message_waiting(made: Bench) -> None:
    """B03: the handler of a flush fires the flush of the same session again, and a dozen messages come meanwhile."""
    inner: list[FlushReport] = []
    answered: list[int] = []

    def precompact_remem(event: object) -> FlushAnswer:
        inner.extend(runtime.flush(given, trigger) for trigger in ("pre-compaction", "remem", "idle"))
        others = [threading.Thread(target=come, args=(number,)) for number in range(12)]
        for each in others:
            each.start()
        for each in others:
            each.join()
        return FlushAnswer(report="compacted")

    def come(number: int) -> None:
        runtime.message_received(event(message=f"message {number}"))
        answered.append(number)

    given = event()
    runtime = plugged(made, precompact_remem=precompact_remem)
    runtime.message_received(event(message="hello"))
    report = runtime.flush(given, "pre-compaction")
    assert (report.status, [answer.report for answer in report.answers]) == (Status.ISSUED, ["compacted"])
    assert [each.status for each in inner] == [Status.RUNNING] * 3
    assert len(answered) == 12
    assert state(made)["flush_number"] == 1
    assert runtime.flush(given, "remem").status is Status.ISSUED


def test_two_requests_of_one_session_at_the_same_time_are_both_recorded(made: Bench) -> None:
    """B03: who is not inside the flush of its session waits for nothing and is not turned away."""
    reports: list[FlushReport] = []

    def remem_flush(event: Any) -> None:
        if event.text == "first":
            other = threading.Thread(target=lambda: reports.append(runtime.flush(given, "remem", "second")))
            # Begun here, in a context of its own: it was not called by this flush.
            other.start()
            other.join()

    given = event()
    runtime = plugged(made, remem_flush=remem_flush)
    reports.append(runtime.flush(given, "remem", "first"))
    assert [each.status for each in reports] == [Status.ISSUED, Status.ISSUED]
    assert state(made)["flush_number"] == 2


def test_an_event_that_two_processes_get_at_once_is_one_flush(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """B03: the second looked before the first had recorded it; it neither ends the flush nor counts as a message."""
    clock = Clock()
    runtime, twin = made.runtime(clock=clock), made.runtime(clock=clock)
    monkeypatch.setattr(twin.flusher, "known", lambda *_: None)
    runtime.flush(event(), "remem", identity="p1")
    again = twin.flush(event(), "remem", identity="p1")
    assert (again.status, again.directive.text) == (Status.SAME, "")
    made.write(LONGTERM, "settled\n")
    runtime.turn_ended(event())
    clock.now += 3600
    assert runtime.sweep() == ()
    assert outcomes(made) == [(1, "remem", "written")]


@pytest.mark.parametrize("when", ["before the record", "after the record"])
@pytest.mark.parametrize("trigger", ["remem", "pre-compaction", "idle"])
def test_a_process_that_dies_at_the_record_of_a_flush_loses_and_doubles_none(
    made: Bench, monkeypatch: pytest.MonkeyPatch, trigger: str, when: str
) -> None:
    """B17: what the state says decides whether the messages so far are flushed, and whether the turn has one to end."""
    clock = Clock()
    made.runtime(clock=clock).message_received(event(message="we settled it"))

    @contextmanager
    def dying(*arguments: Any, **options: Any) -> Iterator[Any]:
        if when == "before the record":
            raise Died
        with updating(*arguments, **options) as held:
            yield held
        raise Died

    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(flusher, "updating", dying)
        made.runtime(clock=clock).flush(event(), trigger)
    recorded = when == "after the record"
    assert (made.root / STATE).exists() is recorded
    runtime = made.runtime(clock=clock)
    made.write(LONGTERM, "settled\n")
    runtime.turn_ended(event())
    clock.now += 86_400
    runtime.sweep()
    idle = (1, "idle", "unwritten")
    assert outcomes(made) == [(1, trigger, "written") if recorded and trigger != "idle" else idle]


@pytest.mark.parametrize("first", ["start", "after"])
@pytest.mark.parametrize("key", [None, GROUP_KEY])
def test_a_compaction_without_its_event_is_a_missed_flush(group: Bench, first: str, key: str | None) -> None:
    """B04: what the context held is gone; the summary that is left is no success."""
    runtime, scope = group.runtime(), ALPHA if key else DM
    for _ in range(3):
        runtime.message_received(event(key, message="we settled it"))
        runtime.turn_ended(event(key))
    if first == "after":
        runtime.compacted(event(key))
    text = runtime.session_start(event(key, source=Source.COMPACT)).injection.text
    if first == "start":
        runtime.compacted(event(key))
    assert outcomes(group, scope) == [(0, "pre-compaction", "missed")]
    assert kinds(group, scope) == ["missed"]
    assert read_state(str(group.root), scope).book.number is None
    assert "compacted without warning" in text
    assert "doctor" in log_of(group)
    asked = runtime.flush(event(key), "remem")
    assert "without warning" in asked.directive.text
    group.write(f"{scope.directory}/project.md", "what the summary holds\n")
    settled = runtime.turn_ended(event(key))
    assert settled is not None
    assert (settled.outcome, settled.pending) == (Outcome.WRITTEN, ())
    assert outcomes(group, scope)[-1] == (1, "remem", "written")


def test_the_last_flush_line_tells_of_a_missed_one_and_never_of_success(made: Bench) -> None:
    """B04: neither the time nor the outcome of the flush before covers it up."""
    runtime = made.runtime()
    runtime.flush(event(), "remem")
    made.write(LONGTERM, "settled\n")
    runtime.turn_ended(event())
    assert "compacted without one" not in runtime.session_start(event(session_id="s2")).injection.text
    runtime.session_start(event(source=Source.COMPACT))
    assert "compacted without one" in made.runtime().session_start(event(session_id="s3")).injection.text


def test_a_compaction_with_its_event_is_not_missed_whatever_comes_between(made: Bench) -> None:
    """B04: two compactions in one turn, the host's events in either order, one that was cancelled."""
    runtime = made.runtime()
    runtime.message_received(event(message="go on"))
    runtime.flush(event(), "pre-compaction", identity="p1")
    runtime.session_start(event(source=Source.COMPACT))
    runtime.compacted(event())
    runtime.flush(event(), "pre-compaction", identity="p1")
    runtime.compacted(event())
    runtime.session_start(event(source=Source.COMPACT))
    runtime.turn_ended(event())
    runtime.flush(event(), "pre-compaction", identity="p2", messages=1, tokens=1)
    runtime.session_start(event(source=Source.COMPACT))
    assert outcomes(made) == [(1, "pre-compaction", "unwritten")]
    assert kinds(made) == ["unwritten"]


def test_a_missed_compaction_that_could_not_be_recorded_is_recorded_with_the_next_event(made: Bench) -> None:
    """B04: a lock that does not come takes nothing away."""
    blocked = made.runtime(limits=replace(LIMITS, lock_seconds=0.0))
    made.runtime().flush(event(), "remem")
    with locked_at(str(made.root), STATE + ".lock"):
        blocked.session_start(event(source=Source.COMPACT))
    assert kinds(made) == []
    made.runtime().message_received(event(message="what now?"))
    assert "missed" in kinds(made)
    made.runtime().message_received(event(message="and now?"))
    assert sum(outcome == "missed" for _, _, outcome in outcomes(made)) == 1


def idle_at(made: Bench, clock: Clock, act: str) -> None:
    """What may notice at `clock` that the session went quiet."""
    runtime = made.runtime(clock=clock)
    if act == "message":
        runtime.message_received(event(message="good morning"))
    elif act == "start":
        runtime.session_start(event(source=Source.RESUME))
    elif act == "another session":
        runtime.session_start(event(session_id="s2"))
    elif act == "sweep":
        runtime.sweep()
    elif act == "remem":
        runtime.flush(event(), "remem")
    elif act == "compaction":
        runtime.flush(event(), "pre-compaction")
    else:
        runtime.session_end(event())


@pytest.mark.parametrize(
    "act", ["message", "start", "another session", "sweep", "remem", "compaction", "end"]
)  # fmt: skip
def test_a_session_that_went_quiet_is_flushed_by_whatever_comes_next(made: Bench, act: str) -> None:
    """B07: no process was alive when it became due; what comes then flushes the old span first, and once."""
    clock = Clock()
    runtime = made.runtime(clock=clock)
    runtime.message_received(event(message="we settled it"))
    runtime.turn_ended(event())
    clock.now += 29 * 60
    made.runtime(clock=clock).session_start(event(session_id="s2"))
    assert not (made.root / STATE).exists()
    clock.now += 18 * 60
    idle_at(made, clock, act)
    assert outcomes(made)[0] == (1, "idle", "unwritten")
    own = 2 if act in ("remem", "compaction") else 1
    assert (len(outcomes(made)), kinds(made)) == (own, ["idle"])
    for again in ("sweep", "another session"):
        idle_at(made, clock, again)
    assert state(made)["flush_number"] == own


@pytest.mark.parametrize("seconds", [1800, 10**7])
def test_a_sweep_alone_flushes_a_quiet_session_once(made: Bench, seconds: int) -> None:
    """B07: at 10:31 as well as months later."""
    clock = Clock()
    runtime = made.runtime(clock=clock)
    runtime.message_received(event(message="we settled it"))
    runtime.turn_ended(event())
    clock.now += seconds
    reports = [each for _ in range(3) for each in made.runtime(clock=clock).sweep()]
    assert [(each.number, each.outcome) for each in reports] == [(1, Outcome.UNWRITTEN)]
    clock.now += seconds
    assert made.runtime(clock=clock).sweep() == ()


def test_a_quiet_session_with_nothing_said_since_its_flush_is_not_flushed(made: Bench) -> None:
    """B07: idle time is flushed only where something is not saved yet."""
    clock = Clock()
    runtime = made.runtime(clock=clock)
    runtime.message_received(event(message="we settled it"))
    runtime.flush(event(), "remem")
    runtime.turn_ended(event())
    clock.now += 7200
    assert runtime.sweep() == ()
    runtime.session_end(event())
    assert state(made)["flush_number"] == 1


def test_idle_flushes_within_one_tick_of_a_clock_are_told_apart(made: Bench) -> None:
    """B07: a clock that stands still, or counts whole seconds, makes no two quiet times one."""
    runtime = made.runtime(clock=Clock())
    for number in (1, 2, 3):
        runtime.message_received(event(message="we settled it"))
        report = runtime.flush(event(), "idle")
        assert (report.status, report.number) == (Status.ISSUED, number)


@pytest.mark.parametrize("meanwhile", ["a message", "a flush"])
def test_a_session_that_goes_on_while_it_is_flushed_as_quiet_loses_nothing(
    made: Bench, monkeypatch: pytest.MonkeyPatch, meanwhile: str
) -> None:
    """B07: the process that noticed the quiet time is a moment late."""
    clock = Clock()
    runtime = made.runtime(clock=clock)
    runtime.message_received(event(message="we settled it"))
    runtime.turn_ended(event())
    clock.now += 3600
    real = activity.drop

    def goes_on(root: str, folder: str, name: str, mark: dict[str, Any]) -> bool:
        monkeypatch.setattr(activity, "drop", real)
        clock.now += 1
        if meanwhile == "a flush":
            made.runtime(clock=clock).flush(event(), "remem")
        else:
            # As the fast lane notes a message where it saw nothing due.
            activity.touch(root, folder, name, lambda seen: activity.begun(seen, (int(clock.now * 1e9), 0, "")))
        return real(root, folder, name, mark)

    monkeypatch.setattr(activity, "drop", goes_on)
    runtime.sweep()
    made.write(LONGTERM, "settled\n")
    made.runtime(clock=clock).turn_ended(event())
    clock.now += 3600
    made.runtime(clock=clock).sweep()
    second = (2, "remem", "written") if meanwhile == "a flush" else (2, "idle", "unwritten")
    assert outcomes(made) == [(1, "idle", "unwritten"), second]


def mark_of(made: Bench, session_id: str = "s1") -> Path:
    folder = made.root / ".apm/active" / activity.folder_name("DM")
    return folder / session_name("claude-code", session_id, None)


def test_a_damaged_mark_costs_a_flush_each_time_and_none_twice(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """B17: what the session did is not known, so it is flushed; also where the first attempt fails or ends midway."""
    impatient = made.runtime(limits=replace(LIMITS, lock_seconds=0.0))
    for number in (1, 2):
        impatient.message_received(event(message="we settled it"))
        mark_of(made).write_text("{")
        with locked_at(str(made.root), STATE + ".lock"):
            assert [each.status for each in impatient.sweep()] == [Status.FAILED]
        with monkeypatch.context() as patch:
            patch.setattr(activity, "discard", lambda *_: False)
            assert [each.number for each in impatient.sweep()] == [number]
        assert {each.status for each in impatient.sweep()} == {Status.SAME}
        assert impatient.sweep() == ()
    assert outcomes(made) == [(1, "idle", "unwritten"), (2, "idle", "unwritten")]


def test_a_turn_that_ends_with_a_damaged_mark_is_flushed_as_quiet(made: Bench) -> None:
    """B17: the mark is not just made anew, as if nothing had been said."""
    runtime = made.runtime()
    runtime.message_received(event(message="we settled it"))
    mark_of(made).write_text("{")
    runtime.turn_ended(event())
    assert outcomes(made) == [(1, "idle", "unwritten")]


def test_what_stands_in_the_place_of_a_mark_stops_no_session(made: Bench) -> None:
    """B17: a folder of that name can be neither read nor taken away."""
    runtime = made.runtime()
    runtime.message_received(event(message="hello"))
    mark_of(made, "other").mkdir()
    for _ in range(3):
        runtime.message_received(event(message="hello"))
    runtime.sweep()
    assert outcomes(made) == [(1, "idle", "unwritten")]
    assert runtime.flush(event(), "remem").number == 2
    assert "Is a directory" in log_of(made)


def test_a_group_that_went_quiet_is_not_flushed_by_another_scope(group: Bench) -> None:
    """B07: each scope sees to its own."""
    clock = Clock()
    group.runtime(clock=clock).message_received(event(GROUP_KEY, message="hello", session_id="g"))
    clock.now += 10**6
    group.runtime(clock=clock).message_received(event(message="hello"))
    assert read_state(str(group.root), ALPHA).book.number is None
    group.runtime(clock=clock).session_start(event(GROUP_KEY, session_id="h"))
    assert outcomes(group, ALPHA) == [(1, "idle", "unwritten")]
    assert read_state(str(group.root), DM).book.number is None


def test_a_payload_with_what_is_there_already_doubles_nothing(group: Bench) -> None:
    """B10: the second summary of a day brings the first one along."""
    morning, noon = "## Morning\n\nThe survey boat lies at berth four.", "## Noon\n\nThe pilot comes at three."
    owner = Notebook(str(group.root), DM, today=date(2026, 3, 2))
    owner.day(morning)
    for _ in range(3):
        owner.day(f"{morning}\n\n{noon}")
    text = (group.root / "memory/main/daily-synced.md").read_text()
    assert [text.count(each) for each in ("berth four", "pilot comes", "2026-03-02")] == [1, 1, 1]
    notebook = Notebook(str(group.root), ALPHA, today=date(2026, 3, 2))
    for source in ("", "the minutes"):
        notebook.decision("Fuel is bought on Fridays.", source=source)
        notebook.decision("  Fuel is bought on Fridays. \n", source=source)
        notebook.note("Draught is two metres.")
        notebook.person("Ann keeps the keys.")
    for name, line in (("experience", "Fuel is"), ("project", "Draught is"), ("people", "Ann keeps")):
        assert (group.root / f"memory/groups/alpha/{name}.md").read_text().count(line) == 1


@pytest.mark.parametrize("witness", [None, "another session's flush", "another session's end"])
def test_a_whole_file_write_in_a_flush_turn_that_wipes_older_notes_is_told_and_can_be_undone(
    made: Bench, witness: str | None
) -> None:
    """B11: also where another session's record is the first to notice it."""
    made.write(LONGTERM, LINES)
    runtime = made.runtime()
    runtime.message_received(event(message="hello", session_id="s2"))
    runtime.flush(event(), "remem")
    made.write(LONGTERM, "- only this\n")
    if witness == "another session's flush":
        runtime.flush(event(session_id="s2"), "remem")
    elif witness == "another session's end":
        runtime.session_end(event(session_id="s2"))
    settled = runtime.turn_ended(event())
    assert settled is not None
    assert settled.outcome is Outcome.WRITTEN
    told = texts.SHRUNK.format(path=LONGTERM)
    assert (settled.warning == told) == (witness is None)
    assert [item.text for item in settled.pending if item.kind is PendingKind.LEAD] == [told]
    assert "apm-hooks restore memory/main/longterm.md" in log_of(made)
    assert told[:60] in made.runtime().session_start(event(session_id="s3")).injection.text
    images.restore(str(made.root), DM, LONGTERM)
    assert (made.root / LONGTERM).read_text() == LINES


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [("memory/main/attention.md", LINES, "- only this\n"), (LONGTERM, LINES, LINES[: len(LINES) // 2 + 60]),
     (LONGTERM, "- one\n- two\n- three\n", "- one\n"), (LONGTERM, LINES, LINES + "- more\n")],
)  # fmt: skip
def test_what_may_shrink_is_not_reported(made: Bench, path: str, before: str, after: str) -> None:
    """B11: what states only what is, a small file, a part, growth."""
    made.write(path, before)
    runtime = made.runtime()
    runtime.flush(event(), "remem")
    made.write(path, after)
    settled = runtime.turn_ended(event())
    assert settled is not None
    assert (settled.warning, settled.pending) == ("", ())


DAYS = [
    ("Asia/Shanghai", "2026-04-11T19:53:00+00:00", "2026-04-12", "03:53", "2026-04-11"),
    ("America/New_York", "2026-03-08T04:30:00+00:00", "2026-03-07", "23:30", "2026-03-06"),
    ("America/New_York", "2026-03-09T04:30:00+00:00", "2026-03-09", "00:30", "2026-03-08"),
    ("America/New_York", "2026-11-01T04:30:00+00:00", "2026-11-01", "00:30", "2026-10-31"),
    ("America/New_York", "2026-11-02T05:30:00+00:00", "2026-11-02", "00:30", "2026-11-01"),
]
NO_ZONE = [(zone, "2026-04-11T19:53:00+00:00", "2026-04-11", "19:53", "2026-04-10") for zone in ("", "no/such_zone")]


@pytest.mark.parametrize(
    ("said", "zone", "now", "day", "minute", "yesterday"),
    [*(("setting", *row) for row in DAYS), *(("environment", *row) for row in DAYS + NO_ZONE)],
)
def test_one_clock_says_what_day_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, zone: str, now: str, day: str, minute: str,
    yesterday: str,
) -> None:  # fmt: skip
    """B13: the record's time, the line that tells it, the item that it leaves and the notes that are looked up agree in
    the workspace's zone, in the machine's, and where the machine's is none."""
    monkeypatch.setenv("TZ", zone if said == "environment" else "Pacific/Auckland")
    time.tzset()
    try:
        made = bench(tmp_path, settings=f'timezone = "{zone}"\n' if said == "setting" else "")
        for each in (day, yesterday):
            made.write(f"memory/{each}.md", f"note of {each}\n")
        clock = Clock(datetime.fromisoformat(now).timestamp())
        runtime = made.runtime(clock=clock)
        runtime.flush(event(), "remem")
        runtime.turn_ended(event())
        found = state(made)["last_flush_time"]
        assert (datetime.fromisoformat(found).timestamp(), found[:16]) == (clock.now, f"{day}T{minute}")
        assert re.search(r"[+-]\d\d:\d\d$", found)
        text = made.runtime(clock=clock).session_start(event(session_id="s2")).injection.text
        assert f"last flush: {day} {minute}" in text
        assert f"on {day} at {minute}" in text
        assert f"note of {day}" in text
        assert f"note of {yesterday}" in text
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("moved", [3600, -3600, 86_400])
def test_no_calendar_makes_a_session_quiet(
    made: Bench, monkeypatch: pytest.MonkeyPatch, moved: int
) -> None:  # fmt: skip
    """B13: the wall clock is set, or the hour changes; what counts since boot decides."""
    at, up = int(MORNING * 1e9), 10**15
    runtime = made.runtime()
    monkeypatch.setattr(runtime.flusher, "moment", lambda: (at, up, "boot"))
    runtime.message_received(event(message="we settled it"))
    runtime.turn_ended(event())
    at, up = at + moved * 10**9, up + 29 * 60 * 10**9
    assert runtime.sweep() == ()
    up += 60 * 10**9
    assert [each.number for each in runtime.sweep()] == [1]


def test_what_an_editor_added_meanwhile_survives_a_tool_with_an_older_copy(
    group: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B14: 6 KB more, before and in the very middle of the change; and what the change replaced is kept."""
    path = "memory/groups/alpha/experience.md"
    notebook = Notebook(str(group.root), ALPHA, today=date(2026, 3, 2))
    notebook.decision("Fuel is bought on Fridays.")
    added = "".join(f"- 2026-03-01: entry {number} of the editor\n" for number in range(150))
    (group.root / path).write_text((group.root / path).read_text() + added)
    notebook.decision("Oil is bought on Mondays.")
    assert all(part in (group.root / path).read_text() for part in ("Fuel", "Oil", added))
    more = "- 2026-03-01: in the very middle\n"
    real = images.keep_image
    written: list[int] = []

    def keep_image(*arguments: Any, **options: Any) -> bool:
        if not written:
            written.append((group.root / path).write_text((group.root / path).read_text() + more))
        return real(*arguments, **options)

    monkeypatch.setattr("apm_hooks.notebook.keep_image", keep_image)
    notebook.decision("Rope is bought in spring.")
    text = (group.root / path).read_text()
    assert written
    assert all(part in text for part in ("Fuel", "Oil", "Rope", "entry 149 of the editor", more))
    kept = images.images_of(str(group.root), ALPHA, path)
    assert any("Rope" not in (group.root / each.file).read_text() for each in kept)


WORKER = """
import sys
from datetime import date
from apm_hooks.notebook import Notebook
from apm_hooks.records import DM, HostEvent, Scope, ScopeKind
from apm_hooks.runtime import Runtime

root, home, me, rounds = sys.argv[1:]
runtime = Runtime(root, {"HOME": home}, clock=lambda: 1_772_445_600.0)
sys.stdin.readline()
for number in range(int(rounds)):
    for key, scope in ((None, DM), ("agent:main:telegram:group:-100777", Scope(ScopeKind.GROUP, "alpha"))):
        event = HostEvent("test", me, session_key=key, single_user=True)
        runtime.flush(event, "remem", identity=f"{me}-{number}")
        Notebook(root, scope, today=date(2026, 3, 2)).decision(f"entry {number} of {me}.")
        runtime.turn_ended(event)
"""


def test_many_processes_lose_no_line_and_no_flush(group: Bench) -> None:
    """B15: who reads meanwhile always reads a whole file."""
    rounds, names = 5, ["one", "two", "three"]
    workers = [
        subprocess.Popen([PYTHON, "-c", WORKER, str(group.root), str(group.home), name, str(rounds)],
                         stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=group.env, text=True)
        for name in names
    ]  # fmt: skip
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    paths = [STATE, "memory/groups/alpha/flush-state.json", "memory/groups/flush-state.json"]
    while any(worker.poll() is None for worker in workers):
        for path in paths:
            if (group.root / path).exists():
                json.loads((group.root / path).read_bytes())
    assert [worker.communicate()[1] for worker in workers] == [""] * len(names)
    for scope, file in ((DM, "memory/main/longterm.md"), (ALPHA, "memory/groups/alpha/experience.md")):
        book = read_state(str(group.root), scope).book
        assert book.number == rounds * len(names)
        assert sorted(each.number for each in book.flushes) == list(range(1, rounds * len(names) + 1))
        assert {each.outcome for each in book.flushes} == {Outcome.WRITTEN}
        text = (group.root / file).read_text()
        assert all(text.count(f"entry {number} of {name}.") == 1 for number in range(rounds) for name in names)
    assert state(group, paths[2])["flush_number"] == rounds * len(names)
    assert aggregate.check(str(group.root), ["alpha"]) == []
    assert not [name for name in os.listdir(group.root / "memory") if "corrupt" in name]


def harms(data: bytes) -> Iterator[bytes]:
    """What a killed writer, a full disk or a careless tool leaves of a state file."""
    size = len(data)
    yield from (data[:at] for at in sorted({*range(0, 60, 7), *range(60, size - 2, size // 16)}))
    yield from (bytes(size), data[: size // 2] + bytes(size // 2), b"\xff" * size, b"[" * 100_000)
    yield from (b"[]", b"null", b"3", b'"x"', b"{}", b'{"flush_number": "many", "apm_hooks": []}', data + b"}")
    yield from (data.replace(b'"checksum":"', b'"checksum":"0'), data.replace(b"issued", b"written"))


def test_half_a_state_file_costs_nothing(made: Bench) -> None:
    """B17: cut anywhere, zeroed, of another shape: the bad one is kept, said, and order goes on with all that was known
    of other sessions."""
    runtime = made.runtime()
    runtime.flush(event(session_id="other"), "remem")
    runtime.turn_ended(event(session_id="other"))
    runtime.flush(event(session_id="open"), "remem", identity="p1")
    good = (made.root / STATE).read_bytes()
    copy = next((made.root / ".apm/flush").iterdir())
    for harmed in harms(good):
        copy.write_bytes(good)
        (made.root / STATE).write_bytes(harmed)
        for old in (made.root / "memory").glob("*.corrupt-*"):
            old.unlink()
        report = runtime.flush(event(), "remem")
        assert (report.status, report.number) == (Status.ISSUED, 3), harmed[-80:]
        assert report.warning
        assert report.directive.text
        found = state(made)
        own = [(each["number"], each["outcome"]) for each in found["apm_hooks"]["flushes"]]
        assert own == [(1, "unwritten"), (2, "issued"), (3, "issued")]
        assert [item["kind"] for item in found["apm_hooks"]["pending"]] == ["unwritten"]
        assert runtime.flush(event(session_id="open"), "remem", identity="p1").status is Status.SAME
        kept = [file.read_bytes() for file in (made.root / "memory").glob("*.corrupt-*")]
        # What parses is never damaged: its own key is rebuilt, the rest is as it was.
        assert kept in ([harmed], [])
        assert kept or isinstance(json.loads(harmed), dict)


def test_a_state_that_cannot_be_rescued_is_kept_said_and_begun_anew(made: Bench) -> None:
    """B17: not even the last good copy is left."""
    runtime = made.runtime()
    runtime.flush(event(), "remem")
    (made.root / STATE).write_bytes(b'{"last_flush_time": ')
    next((made.root / ".apm/flush").iterdir()).unlink()
    report = runtime.flush(event(), "remem")
    assert report.status is Status.ISSUED
    assert "damaged" in report.warning
    assert len(list((made.root / "memory").glob("flush-state.json.corrupt-*"))) == 1


def test_the_lock_of_a_killed_process_keeps_nobody_out(made: Bench) -> None:
    """B18: it is free at once, with no time to wait at all."""
    script = (
        "import fcntl, sys, signal\nfile = open(sys.argv[1], 'a')\nfcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('locked', flush=True)\nsignal.pause()"
    )
    lock = made.write(STATE + ".lock", "")
    holder = subprocess.Popen([PYTHON, "-c", script, str(lock)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "locked\n"
    impatient = made.runtime(limits=replace(LIMITS, lock_seconds=0.0))
    held = impatient.flush(event(), "remem", identity="p1")
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    after = impatient.flush(event(), "remem", identity="p1")
    assert (held.status, after.status, after.number) == (Status.FAILED, Status.ISSUED, 1)
    assert after.warning == ""


def test_a_flush_that_could_not_be_recorded_is_said_asked_for_and_made_up_for(made: Bench) -> None:
    """B18: a lock that does not come costs the agent no directive, and the record comes later, once."""
    clock = Clock()
    impatient = made.runtime(clock=clock, limits=replace(LIMITS, lock_seconds=0.0))
    with locked_at(str(made.root), STATE + ".lock"):
        report = impatient.flush(event(), "remem")
        assert impatient.turn_ended(event()) is None
        clock.now += 3600
        (failed,) = impatient.sweep()
    assert (report.status, failed.status) == (Status.FAILED, Status.FAILED)
    assert "write to memory now" in report.directive.text
    assert "could not be recorded" in report.warning
    assert not (made.root / STATE).exists()
    assert [each.number for _ in range(2) for each in impatient.sweep()] == [1]
    assert outcomes(made) == [(1, "idle", "unwritten")]


@pytest.mark.parametrize("when", ["turn end", "message", "start", "idle"])
def test_a_turn_whose_end_could_not_be_recorded_is_settled_by_what_comes_next(made: Bench, when: str) -> None:
    """B18: the flush does not stay open for ever."""
    clock = Clock()
    impatient = made.runtime(clock=clock, limits=replace(LIMITS, lock_seconds=0.0))
    impatient.flush(event(), "remem")
    made.write(LONGTERM, "settled\n")
    with locked_at(str(made.root), STATE + ".lock"):
        failed = impatient.turn_ended(event())
        assert failed is not None
        assert failed.status is Status.FAILED
    if when == "turn end":
        impatient.turn_ended(event())
    elif when == "message":
        impatient.message_received(event(message="thanks"))
    elif when == "start":
        impatient.session_start(event(source=Source.RESUME))
    else:
        clock.now += 86_400
        impatient.sweep()
    assert outcomes(made) == [(1, "remem", "written")]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS, errno.EIO])
@pytest.mark.parametrize("everywhere", [False, True])
def test_a_file_system_without_locks_gets_a_plain_error_and_no_unlocked_write(
    made: Bench, monkeypatch: pytest.MonkeyPatch, number: int, *, everywhere: bool
) -> None:
    """B20: whether only the state's lock fails, or every lock there is."""

    def flock(_descriptor: int, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    runtime = made.runtime()
    runtime.session_start(event())
    if everywhere:
        monkeypatch.setattr("fcntl.flock", flock)
    else:
        real = locking.fcntl  # type: ignore[attr-defined]
        monkeypatch.setattr(locking, "fcntl", SimpleNamespace(**{**vars(real), "flock": flock}))
    report = runtime.flush(event(), "remem")
    assert report.status is Status.FAILED
    assert "cannot be locked" in report.warning
    assert bool(report.directive.text) is not everywhere
    runtime.message_received(event(message="hello"))
    assert runtime.turn_ended(event()) is None
    runtime.session_end(event())
    assert [each for each in runtime.sweep() if each.status is not Status.FAILED] == []
    assert not (made.root / STATE).exists()
    monkeypatch.undo()
    if not everywhere:
        assert [each.number for each in runtime.sweep() or (runtime.flush(event(), "idle"),)] == [1]


@pytest.mark.parametrize(
    "key",
    ["agent:main:cron:job1", "agent:main:subagent:9f", "agent:main:main:heartbeat", "agent:main:hook:x", "",
     "agent:main:internal-session-effects:1", "agent:main:acp:7", "agent:main:telegram:direct:99", "nonsense"],
)  # fmt: skip
def test_a_run_that_is_nobodys_conversation_is_flushed_nowhere(group: Bench, key: str) -> None:
    """B24: no record, no directive, no mark of it."""
    clock = Clock()
    runtime = group.runtime(clock=clock)
    given = event(key)
    runtime.session_start(given)
    loaded = runtime.message_received(event(key, message="/remem", context_tokens=99, context_window=100))
    assert loaded.directive.text == ""
    for trigger in ("remem", "pre-compaction", "idle"):
        report = runtime.flush(given, trigger)
        assert (report.status, report.directive.text, report.number) == (Status.NO_SCOPE, "", None)
    runtime.session_start(event(key, source=Source.COMPACT))
    runtime.compacted(given)
    assert (runtime.turn_ended(given), runtime.session_end(given)) == (None, None)
    clock.now += 86_400
    assert runtime.sweep() == ()
    assert list(group.root.glob("memory/**/flush-state.json*")) == []


def test_a_subagents_events_are_no_events_of_its_parents_session(made: Bench) -> None:
    """B24: it has the parent's session id, and neither flushes, settles nor ends anything."""
    runtime = made.runtime()
    runtime.flush(event(), "remem", identity="p1")
    before = (made.root / STATE).read_bytes()
    sub = event(subagent=True)
    runtime.turn_ended(sub)
    runtime.compacted(sub)
    runtime.session_start(event(source=Source.COMPACT, subagent=True))
    runtime.message_received(event(message="hello", subagent=True))
    runtime.session_end(sub)
    assert runtime.flush(sub, "remem").status is Status.NO_SCOPE
    assert (made.root / STATE).read_bytes() == before
    assert activity.sessions(str(made.root), activity.folder_name("DM")) == [session_name("claude-code", "s1", None)]


def test_a_cron_run_flushes_where_the_settings_give_it_a_scope(tmp_path: Path) -> None:
    """B24: asked for, it is the scope's."""
    made = bench(tmp_path, settings='[scopes]\n"cron:nightly" = "DM"\n')
    report = made.runtime().flush(event("agent:main:cron:nightly"), "remem")
    assert (report.status, report.scope, report.number) == (Status.ISSUED, DM, 1)
    assert made.runtime().flush(event("agent:main:cron:other"), "remem").status is Status.NO_SCOPE


@pytest.mark.parametrize(
    "session_id",
    ["telegram:6012345678", "con", "nul.md", "aux", "x.", "x ", "a?b", "a<b", "..", "a/b", "COM1:", "é\udcff",
     "x" * 4000],
)  # fmt: skip
def test_any_session_id_makes_portable_file_names_and_stands_in_the_file_as_it_is(made: Bench, session_id: str) -> None:
    """B28: names that other systems refuse, or that lead elsewhere, never become names."""
    clock = Clock()
    runtime = made.runtime(clock=clock)
    given = event(session_id=session_id)
    runtime.session_start(given)
    runtime.message_received(event(session_id=session_id, message="hello"))
    assert runtime.flush(given, "remem").number == 1
    assert state(made)["session_id"] == session_id
    files = [file.relative_to(made.root).as_posix() for file in made.root.rglob("*") if file.is_file()]
    ours = [path for path in files if path.startswith(".apm/") or "flush-state" in path]
    assert len(ours) > 4
    assert [path for path in ours if not re.fullmatch(r"[A-Za-z0-9./_-]+", path) or path.endswith(".")] == []
    runtime.message_received(event(session_id=session_id, message="hello"))
    clock.now += 10**6
    assert [each.number for each in runtime.sweep()] == [2]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many files were looked at, and how many were hashed."""
    counts = {"looked at": 0, "hashed": 0}
    stat_of, hash_one = hashing.stat_of, hashing._hash

    def counted_stat(status: os.stat_result) -> tuple[int, int, int, int]:
        counts["looked at"] += 1
        return stat_of(status)

    def counted_hash(*arguments: Any) -> Any:
        counts["hashed"] += 1
        return hash_one(*arguments)

    monkeypatch.setattr(walking, "stat_of", counted_stat)
    monkeypatch.setattr(hashing, "_hash", counted_hash)
    # Later than any file: their stamps can be believed.
    late = SimpleNamespace(time=time.time, time_ns=lambda: time.time_ns() + 10**11)
    monkeypatch.setattr(flusher, "time", late)
    return counts


def many(made: Bench, number: int) -> None:
    folder = made.root / "memory/main/projects"
    folder.mkdir()
    for at in range(number):
        (folder / f"{at}.md").write_text(f"{at}\n")


def test_ten_thousand_files_are_looked_at_once_a_record_and_read_once(made: Bench, looks: dict[str, int]) -> None:
    """B36: the work of each event, counted: what did not change is never read again."""
    many(made, 10_000)
    everything = 10_002

    def work(act: Callable[[], object]) -> tuple[int, int]:
        looks.update({"looked at": 0, "hashed": 0})
        act()
        return looks["looked at"], looks["hashed"]

    runtime = made.runtime()
    assert work(lambda: runtime.session_start(event())) == (0, 0)
    assert work(lambda: runtime.message_received(event(message="hello"))) == (0, 0)
    seen, hashed = work(lambda: runtime.flush(event(), "remem", identity="p1"))
    # A first look takes two: one without the lock, which reads everything, and one under it.
    assert (seen <= 2 * everything, hashed) == (True, everything)
    assert work(lambda: runtime.flush(event(), "remem", identity="p1")) == (0, 0)
    made.write("memory/main/projects/7.md", "changed\n")
    made.write("memory/main/projects/new.md", "new\n")
    assert work(lambda: runtime.turn_ended(event())) == (everything + 1, 2)
    assert work(lambda: runtime.turn_ended(event())) == (0, 0)
    assert work(lambda: runtime.message_received(event(message="hello"))) == (0, 0)
    assert work(lambda: runtime.session_end(event())) == (everything + 1, 0)
    assert work(lambda: runtime.session_start(event())) == (0, 0)
    assert outcomes(made) == [(1, "remem", "written"), (2, "idle", "unwritten")]


def test_a_disk_too_slow_for_one_look_is_read_bit_by_bit_and_each_change_told_once(
    made: Bench, monkeypatch: pytest.MonkeyPatch, looks: dict[str, int]
) -> None:
    """B36: at its deadline a record is made of what was seen; the rest comes with the next one, nothing twice."""
    many(made, 50)
    now = iter(range(10**9))
    monkeypatch.setattr(hashing, "_now", lambda: float(next(now)))
    seen: list[str] = []
    runtime = plugged(made, apm_flushed=lambda event: seen.extend(event.changed))
    runtime.limits = replace(runtime.limits, hash_seconds=20.0)
    reports = [runtime.flush(event(), "remem") for _ in range(12)]
    assert {report.status for report in reports} == {Status.ISSUED}
    assert (reports[0].delta.complete, reports[-1].delta.complete) == (False, True)
    assert len(seen) == len(set(seen)) == 52
    assert looks["hashed"] <= 52 * 3


def test_limits_keep_their_units(made: Bench) -> None:
    """B36: the host's seconds are seconds, and the lock is never waited for longer than a hook may take."""
    limits = Limits()
    runtime = made.runtime()
    assert runtime.flusher._patience() * 2 < limits.hook_seconds < 10
    assert limits.hash_seconds * 2 < limits.hook_seconds
