from __future__ import annotations

import argparse
import ctypes
import errno
import json
import math
import os
import queue
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from watchdog.events import FileSystemEvent
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

from apm_hooks import activity, fastlane, waiting, watcher
from apm_hooks.activity import BLANK, Moment
from apm_hooks.cli import sweep, watch
from apm_hooks.errors import LockTimeoutError, MemoryFileError, NotTrustedError, ScopeError, SettingsError, UsageError
from apm_hooks.flushrecords import Delta, FlushReport, Outcome, Pending, PendingKind, Status, Trigger
from apm_hooks.records import DM, Limits, Scope, ScopeKind
from apm_hooks.watcher import Ending, Watcher, network_kind
from tests.workspaces import GROUP_KEY, PYTHON, Bench, bench

IDLE = 1800.0
SECOND = 1_000_000_000
BOOT = "b0000000-0000-4000-8000-000000000001"
FOLDER = activity.folder_name("DM")
S1, S2, S3 = (fastlane.session_name("claude-code", name, None) for name in ("s1", "s2", "s3"))


class Clock:
    """The clocks of a machine that tests move by hand."""

    def __init__(self) -> None:
        self.at, self.up, self.boot = 1_767_225_600 * SECOND, 50_000 * SECOND, BOOT
        self.begun = self.up

    def __call__(self) -> Moment:
        return self.at, self.up, self.boot

    def move(self, seconds: float) -> None:
        self.at += math.ceil(seconds * SECOND)
        self.up += math.ceil(seconds * SECOND)

    @property
    def passed(self) -> float:
        """Seconds since the test began."""
        return (self.up - self.begun) / SECOND


class Runtime:
    """Flushes what is due, as the real one does, and keeps when. Errors that are put in are raised, one a call."""

    def __init__(self, root: Path, clock: Callable[[], Moment]) -> None:
        self.root = str(root)
        self.limits = Limits()
        self.clock = clock
        self.idle = IDLE
        self.flushed: list[tuple[str, int]] = []
        self.sweeps = 0
        self.idling = False
        self.faults: list[BaseException | None] = []
        self.opening: list[BaseException | None] = []

    @property
    def workspace(self) -> object:
        if self.opening and (fault := self.opening.pop(0)) is not None:
            raise fault
        return self

    def sweep(self) -> Sequence[FlushReport]:
        self.sweeps += 1
        if self.faults and (fault := self.faults.pop(0)) is not None:
            raise fault
        return [] if self.idling else list(self._flush())

    def _flush(self) -> Iterator[FlushReport]:
        moment = self.clock()
        due = [
            (folder, session, mark) for folder in activity.folders(self.root)
            for session, mark in activity.marks_of(self.root, folder)
            if activity.is_due(mark, moment, self.idle, self.limits.turn_seconds)
        ] + activity.surplus(self.root, self.limits.active_sessions, moment)  # fmt: skip
        for folder, session, mark in due:
            if activity.drop(self.root, folder, session, mark):
                self.flushed.append((session, mark["since"]))
                yield FlushReport(Status.ISSUED, Trigger.IDLE, DM, len(self.flushed), Outcome.UNWRITTEN)
        for folder in activity.folders(self.root):
            for session in activity.doubts_of(self.root, folder):
                activity.discard(self.root, folder, session)
                self.flushed.append((session, 0))
                yield FlushReport(Status.ISSUED, Trigger.IDLE, DM, len(self.flushed), Outcome.UNWRITTEN)


class Desk:
    """A watcher whose waits end at once, the clocks having moved by as much; `during` may do something in a wait."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = Clock()
        self.runtime = Runtime(root, self.clock)
        self.reports: list[FlushReport] = []
        self.notes: list[str] = []
        self.waits: list[float] = []
        self.during: Callable[[int], object] = lambda number: None
        desk = self

        class Waiting:
            def __init__(self, ear: int, stopping: Callable[[], bool]) -> None:
                assert ear >= 0

            def wait(self, seconds: float) -> None:
                assert len(desk.waits) < 2000, "a watcher that never ends"
                desk.waits.append(seconds)
                desk.clock.move(max(seconds, waiting.LEAST_WAIT))
                desk.during(len(desk.waits))

            def close(self) -> None: ...

        monkeypatch.setattr(watcher, "Waiting", Waiting)

    def watcher(self, **options: Any) -> Watcher:
        given: dict[str, Any] = {"idle_seconds": lambda: self.runtime.idle, "poll": True, **options}
        return Watcher(self.runtime, report=self.reports.append, note=self.notes.append, clock=self.clock, **given)

    def run(self, **options: Any) -> Ending:
        return self.watcher(**options).run()

    def mark(self, session: str = S1, *, moment: Moment | None = None, scope: str = "DM", **fields: Any) -> None:
        stamp = moment or self.clock()
        told = {"since": 1, **fields}
        made = activity.update(
            self.runtime.root, scope, session, lambda seen: activity.stamped({**BLANK, **told}, stamp)
        )
        assert made is not None


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    return Desk(tmp_path, monkeypatch)


def test_a_session_that_went_quiet_is_flushed_once_and_then_there_is_nothing_to_wait_for(desk: Desk) -> None:
    desk.mark(since=3)
    times: list[float] = []
    desk.during = lambda number: times.extend([desk.clock.passed] * (len(desk.reports) - len(times)))
    assert desk.run() is Ending.QUIET
    assert desk.runtime.flushed == [(S1, 3)]
    assert len(desk.reports) == 1
    assert desk.runtime.sweeps == 1
    assert IDLE <= times[0] <= IDLE + 2 * watcher.LONGEST_WAIT
    assert 2 * IDLE <= desk.clock.passed <= 2 * IDLE + watcher.LONGEST_WAIT
    assert max(desk.waits) <= watcher.LONGEST_WAIT
    assert desk.notes == []


def test_the_wait_ends_when_the_next_one_is_due(desk: Desk) -> None:
    desk.mark(moment=(0, desk.clock.up - (1800 - 42) * SECOND, BOOT))
    desk.mark(S2)
    desk.run()
    assert desk.waits[0] == 42
    assert desk.runtime.flushed == [(S1, 1), (S2, 1)]


def test_all_scopes_are_looked_after(desk: Desk) -> None:
    desk.mark(S1)
    desk.mark(S2, scope="Group(alpha)")
    desk.mark(S3, scope="Group(beta)", since=0, open=1)
    desk.run()
    assert sorted(desk.runtime.flushed) == sorted([(S1, 1), (S2, 1), (S3, 0)])
    assert desk.runtime.sweeps == 1


def test_a_machine_that_slept_flushes_when_it_wakes_up(desk: Desk) -> None:
    desk.mark()
    seen: list[int] = []

    def sleep(number: int) -> None:
        if number == 1:
            desk.clock.move(8 * 3600)
        seen.append(len(desk.runtime.flushed))

    desk.during = sleep
    desk.run()
    assert seen[:2] == [0, 1]


@pytest.mark.parametrize("years", [10, -10])
def test_a_wall_clock_that_is_set_changes_nothing(desk: Desk, years: int) -> None:
    desk.mark()

    def step(number: int) -> None:
        if number == 3:
            desk.clock.at += years * 365 * 86_400 * SECOND

    desk.during = step
    desk.run()
    assert desk.runtime.flushed == [(S1, 1)]
    assert desk.clock.passed == pytest.approx(2 * IDLE, abs=2 * watcher.LONGEST_WAIT)


def test_a_session_that_goes_on_is_not_flushed(desk: Desk) -> None:
    desk.mark(since=1)

    def message(number: int) -> None:
        if number < 100:
            activity.touch(desk.runtime.root, FOLDER, S1, lambda seen: activity.begun(seen, desk.clock()))
            activity.touch(desk.runtime.root, FOLDER, S1, lambda seen: activity.ended(seen, desk.clock(), None))

    desk.during = message
    desk.run()
    assert desk.runtime.flushed == [(S1, 100)]


def test_a_running_turn_is_waited_for(desk: Desk) -> None:
    desk.mark(busy=True)
    desk.run()
    assert desk.runtime.flushed == [(S1, 1)]
    assert desk.clock.passed >= desk.runtime.limits.turn_seconds


@pytest.mark.parametrize(("linger", "at_least", "at_most"), [(None, IDLE, IDLE), (600.0, 600, 600), (0.0, 0, 0)])
def test_it_ends_when_no_session_was_alive_for_long_enough(
    desk: Desk, linger: float | None, at_least: float, at_most: float
) -> None:
    assert desk.run(linger_seconds=linger) is Ending.QUIET
    assert at_least <= desk.clock.passed <= at_most
    assert desk.runtime.sweeps == 0


def test_a_session_that_comes_back_starts_the_waiting_for_the_end_anew(desk: Desk) -> None:
    desk.during = lambda number: desk.mark() if number == 5 else None
    desk.run(linger_seconds=600.0)
    assert desk.runtime.flushed == [(S1, 1)]
    assert desk.clock.passed >= 5 * watcher.LONGEST_WAIT + IDLE + 600


def test_it_stays_for_ever_if_told_to(desk: Desk) -> None:
    made = desk.watcher(linger_seconds=math.inf)
    desk.during = lambda number: made.stop() if number == 1000 else None
    assert made.run() is Ending.STOPPED
    assert desk.clock.passed == 1000 * watcher.LONGEST_WAIT


def test_a_stop_before_the_start_counts(desk: Desk) -> None:
    made = desk.watcher()
    made.stop()
    assert made.run() is Ending.STOPPED
    assert desk.waits == []


def _no_trust() -> NotTrustedError:
    return NotTrustedError("this workspace was not accepted by its owner")


def test_it_ends_with_the_trust(desk: Desk) -> None:
    desk.mark()
    desk.runtime.opening = [None, None, None, _no_trust()]
    assert desk.run() is Ending.NOT_TRUSTED
    assert desk.runtime.flushed == []


def test_it_ends_with_the_trust_also_where_a_sweep_finds_out(desk: Desk) -> None:
    desk.mark()
    desk.runtime.faults = [_no_trust()]
    assert desk.run() is Ending.NOT_TRUSTED


def test_it_ends_with_the_workspace(desk: Desk) -> None:
    desk.mark()
    desk.during = lambda number: shutil.rmtree(desk.runtime.root) if number == 3 else None
    assert desk.run() is Ending.NO_WORKSPACE
    assert len(desk.waits) == 3


def test_it_ends_when_its_lock_is_another_file(desk: Desk) -> None:
    lock = Path(desk.runtime.root, watcher.LOCK)

    def replaced(number: int) -> None:
        if number == 3:
            lock.rename(lock.with_name("aside"))
            lock.touch()

    desk.during = replaced
    assert desk.run() is Ending.LOCK_LOST


def test_settings_in_the_middle_of_an_edit_are_waited_for(desk: Desk) -> None:
    desk.mark()
    fault = SettingsError("cannot be read", file="apm.toml")
    desk.runtime.opening = [None, fault, fault]
    given: list[float | None] = [IDLE, IDLE, None, 60.0]

    def idle() -> float:
        seconds = given.pop(0) if len(given) > 1 else given[0]
        if seconds is None:
            raise fault
        desk.runtime.idle = seconds
        return seconds

    assert desk.run(idle_seconds=idle, linger_seconds=600.0) is Ending.QUIET
    assert desk.notes == [watcher.SWEEP_FAILED.format(error=fault)]
    # What they say later counts from then on.
    assert desk.runtime.flushed == [(S1, 1)]
    assert desk.clock.passed < IDLE


def test_a_sweep_that_fails_is_said_once_and_tried_again_more_and_more_seldom(desk: Desk) -> None:
    desk.mark()
    fault = MemoryFileError("cannot be written: No space left on device", file="memory/flush-state.json")
    desk.runtime.faults = [fault, OSError(5, "Input/output error"), fault, fault, fault, fault, fault]
    desk.run()
    assert desk.runtime.flushed == [(S1, 1)]
    assert desk.runtime.sweeps == 8
    tried = desk.waits[30:37]
    assert tried == [5, 10, 20, 40, 60, 60, 60]
    assert desk.notes == [
        watcher.SWEEP_FAILED.format(error=each) for each in (fault, "[Errno 5] Input/output error", fault)
    ]


def test_what_no_sweep_can_flush_is_no_busy_loop(desk: Desk) -> None:
    desk.mark()
    desk.runtime.idling = True
    made = desk.watcher()
    desk.during = lambda number: made.stop() if number == 100 else None
    made.run()
    assert desk.clock.passed > 90 * watcher.LONGEST_WAIT
    assert desk.runtime.sweeps < 80


def test_changes_while_a_sweep_is_put_off_do_not_bring_it_forward(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.mark()
    desk.runtime.idling = True
    made = desk.watcher()
    monkeypatch.setattr(waiting, "LEAST_WAIT", 0.0)
    looked: list[int] = []

    def ring(number: int) -> None:
        if desk.runtime.sweeps:
            # A bell ends the wait before a second of it has passed.
            desk.clock.up -= int(min(desk.waits[-1], 59) * SECOND)
            looked.append(number)
        if len(looked) == 50:
            made.stop()

    desk.during = ring
    made.run()
    assert desk.runtime.sweeps == 1


def test_a_damaged_mark_is_swept_and_counts_as_a_session(desk: Desk) -> None:
    desk.mark()
    file = Path(desk.runtime.root, ".apm", "active", FOLDER, S1)
    file.write_text("{")
    assert desk.run(linger_seconds=0.0) is Ending.QUIET
    assert desk.runtime.flushed == [(S1, 0)]


def test_past_the_bound_of_live_sessions_the_quietest_are_flushed_early(desk: Desk) -> None:
    desk.runtime.limits = Limits(active_sessions=1)
    desk.mark(S1, moment=(0, desk.clock.up - 5 * SECOND, BOOT))
    desk.mark(S2)
    early: list[tuple[str, int]] = []
    desk.during = lambda number: early.extend(desk.runtime.flushed) if number == 1 else None
    desk.run()
    assert early == [(S1, 1)]
    assert desk.runtime.flushed == [(S1, 1), (S2, 1)]


def test_sessions_with_nothing_to_save_do_not_keep_it_for_ever(desk: Desk) -> None:
    desk.mark(since=0)
    assert desk.run(linger_seconds=0.0) is Ending.QUIET
    assert desk.runtime.sweeps == 0
    assert desk.clock.passed == pytest.approx(IDLE, abs=watcher.LONGEST_WAIT)


def test_a_stamp_of_the_future_fires_once(desk: Desk) -> None:
    desk.clock.boot = ""
    desk.mark(moment=(desk.clock.at + 10**9 * SECOND, 0, ""))
    made = desk.watcher(linger_seconds=math.inf)
    desk.during = lambda number: made.stop() if number == 100 else None
    made.run()
    assert desk.runtime.flushed == [(S1, 1)]


def test_a_second_watcher_ends_at_once_and_says_who_is_there(desk: Desk) -> None:
    with watcher._only_watcher(desk.runtime.root):
        with pytest.raises(LockTimeoutError, match="another watcher is at work") as raised:
            desk.run()
        assert raised.value.file == watcher.LOCK
        assert raised.value.exit_code == 6
    assert desk.run() is Ending.QUIET


def test_the_lock_is_free_again_when_a_watcher_ended_and_no_child_keeps_it(desk: Desk) -> None:
    child: list[subprocess.Popen[bytes]] = []
    command = [PYTHON, "-I", "-S", "-c", "import sys; sys.stdin.read()"]

    def fork(number: int) -> None:
        if number == 1:
            child.append(subprocess.Popen(command, stdin=subprocess.PIPE, close_fds=False))

    desk.during = fork
    try:
        assert desk.run() is Ending.QUIET
        assert child[0].poll() is None
        assert desk.run() is Ending.QUIET
    finally:
        for process in child:
            process.kill()
            process.communicate()


def test_what_it_makes_is_private(desk: Desk) -> None:
    desk.run()
    state = Path(desk.runtime.root, ".apm")
    assert {path.name: path.stat().st_mode & 0o777 for path in state.rglob("*") if path.is_dir()} == {
        "active": 0o700, "locks": 0o700,
    }  # fmt: skip
    assert Path(desk.runtime.root, watcher.LOCK).stat().st_mode & 0o777 == 0o600


class Deaf(PollingObserver):
    """An observer of a system that has no more to give."""

    number = 0

    def start(self) -> None:
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOSPC, errno.ENOSYS])
def test_where_the_system_cannot_tell_of_changes_it_looks_for_them_and_says_so_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(Deaf, "number", number)
    monkeypatch.setattr("watchdog.observers.Observer", Deaf)
    desk.mark()
    assert desk.run(poll=False) is Ending.QUIET
    assert desk.notes == [watcher.POLLING_NO_NOTICE.format(cause=os.strerror(number))]
    assert desk.runtime.flushed == [(S1, 1)]


def test_on_a_network_file_system_it_looks_for_changes_and_says_so_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "_mounts", lambda: "1 1 0:1 / / rw - nfs4 host:/x rw\n")
    monkeypatch.setattr("watchdog.observers.Observer", None)
    assert desk.run(poll=False) is Ending.QUIET
    assert desk.notes == [watcher.POLLING_NETWORK.format(kind="nfs4")]


MOUNTS = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 30 8:2 / /home/me/local rw master:3 - xfs /dev/sdb1 rw
32 22 0:41 / /mnt/with\040blank rw - fuse.sshfs me@host:/ rw
33 22 0:42 / /mnt/win rw - cifs //server/share rw
34 22 0:43 / /mnt/hidden rw - 9p host rw
35 22 8:3 / /mnt/hidden rw - ext4 /dev/sdc1 rw
36 22 0:44 / /mnt/disk rw - fuseblk /dev/sdd1 rw
half of a line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/ws", ""), ("/home", "nfs4"), ("/home/me/ws", "nfs4"), ("/home/me/local/ws", ""), ("/homes/ws", ""),
        ("/mnt/with blank/ws", "fuse.sshfs"), ("/mnt/win/ws", "cifs"), ("/mnt/hidden/ws", ""), ("/mnt/disk/ws", ""),
        ("/", ""),
    ],
)  # fmt: skip
def test_the_file_system_of_a_path(path: str, kind: str) -> None:
    assert network_kind(path, MOUNTS) == kind
    assert network_kind(path, "") == ""


def test_the_mounts_of_this_machine_can_be_read() -> None:
    assert " - " in watcher._mounts()


class Recording(Watcher):
    """Keeps what the system tells of."""

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(runtime, idle_seconds=IDLE, report=lambda report: None)
        self.told: queue.Queue[FileSystemEvent] = queue.Queue()

    def _changed(self, event: FileSystemEvent) -> None:
        self.told.put(event)


@pytest.fixture
def observed(tmp_path: Path) -> Iterator[tuple[Recording, Path]]:
    made = Recording(Runtime(tmp_path, activity.now))
    observer: BaseObserver = made._observe()
    yield made, tmp_path
    observer.stop()
    observer.join()


def test_its_own_looks_do_not_wake_it_and_others_changes_do(observed: tuple[Recording, Path]) -> None:
    made, root = observed
    activity.update(str(root), "DM", S1, lambda seen: seen)
    while not made.told.get(timeout=20).src_path.endswith(S1):  # type: ignore[arg-type]
        pass
    activity.update(str(root), "DM", S2, lambda seen: seen)
    for _ in range(5):
        assert len(list(activity.marks_of(str(root), FOLDER))) == 2
        assert activity.doubts_of(str(root), FOLDER) == []
    Path(root, ".apm", "active", FOLDER, S2).unlink()
    kinds = set()
    while (event := made.told.get(timeout=20)).event_type != "deleted":
        kinds.add(event.event_type)
    assert kinds <= {"created", "modified"}


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LEAST_WAIT", 0.0)
    monkeypatch.setattr(watcher, "POLL_SECONDS", 0.02)


@pytest.mark.parametrize("poll", [False, True])
@pytest.mark.usefixtures("at_once")
def test_a_real_watcher_is_woken_by_a_mark_and_stopped_from_outside(tmp_path: Path, poll: bool) -> None:
    runtime = Runtime(tmp_path, activity.now)
    runtime.idle = 0.0
    told: queue.Queue[FlushReport] = queue.Queue()
    endings: list[Ending] = []

    def message(seen: dict[str, Any]) -> dict[str, Any]:
        return activity.ended(activity.begun(seen, activity.now()), activity.now(), None)

    made = Watcher(runtime, idle_seconds=0.0, poll=poll, linger_seconds=math.inf, report=told.put)
    thread = threading.Thread(target=lambda: endings.append(made.run()))
    thread.start()
    try:
        for session in (S1, S2):
            activity.update(str(tmp_path), "DM", session, message)
            assert told.get(timeout=20).scope == DM
    finally:
        made.stop()
        thread.join(20)
    assert endings == [Ending.STOPPED]
    assert runtime.flushed == [(S1, 1), (S2, 1)]
    made.stop()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    bell, ear = socket.socketpair()
    ear.setblocking(False)
    with bell, ear:
        yield bell, ear


@pytest.mark.usefixtures("at_once")
def test_a_wait_ends_with_the_bell_with_the_timer_and_with_a_stop(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    bell, ear = pair
    stopping = False
    made = waiting.Waiting(ear.fileno(), lambda: stopping)
    try:
        bell.send(b"...")
        made.wait(3600)
        with pytest.raises(BlockingIOError):
            ear.recv(1)
        for seconds in (0.001, 0.0):
            made._set_timer(seconds)
            assert not made._listen(3600, made._timer)
        made.wait(-5)
        stopping = True
        made.wait(3600)
    finally:
        made.close()


def test_a_bell_does_not_cut_the_least_wait_short_and_a_stop_does(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ear = pair
    monkeypatch.setattr(waiting, "LEAST_WAIT", 10.0)
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    made = waiting.Waiting(ear.fileno(), lambda: clock[0] == 107.0)
    listened: list[float] = []

    def listen(seconds: float, timer: int = -1) -> bool:
        listened.append(seconds)
        clock[0] += min(seconds, 4.0)
        return True

    monkeypatch.setattr(made, "_listen", listen)
    try:
        made.wait(60)
        assert listened == [10.0, 6.0, 2.0]
        listened.clear()
        clock[0] = 103.0
        made.wait(60)
        assert listened == [10.0]
    finally:
        made.close()


def test_a_long_wait_is_the_timers(pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "LEAST_WAIT", 0.0)
    made = waiting.Waiting(pair[1].fileno(), lambda: False)
    polled: list[int] = []

    class Poll:
        """Of all that could end a wait, the timer alone."""

        def register(self, descriptor: int, _events: int) -> None:
            polled.append(descriptor)

        def poll(self, _milliseconds: int) -> list[tuple[int, int]]:
            return [(made._timer, 1)] if os.read(made._timer, 8) else []

    os.set_blocking(made._timer, True)
    monkeypatch.setattr(select, "poll", Poll)
    try:
        made.wait(0.01)
        assert polled == [pair[1].fileno(), made._timer]
    finally:
        made.close()


@pytest.mark.usefixtures("at_once")
def test_a_system_without_such_a_timer_waits_by_the_bound(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name, use_errno: object())
    made = waiting.Waiting(pair[1].fileno(), lambda: False)
    made.wait(0.001)
    made.close()


GROUP = Scope(ScopeKind.GROUP, "alpha")
REPORTS = [
    FlushReport(Status.ISSUED, Trigger.IDLE, DM, 7, Outcome.UNWRITTEN, Delta(added=("memory/main/a.md",)),
                (Pending("a1", PendingKind.IDLE, "went quiet"),)),
    FlushReport(Status.FAILED, Trigger.IDLE, GROUP, warning="the lock did not come"),
]  # fmt: skip


def options(made: Bench, *arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for flag in ("--workspace", "--session"):
        parser.add_argument(flag)
    parser.add_argument("--json", action="store_true")
    watch.configure(parser)
    return parser.parse_args(["--workspace", str(made.root), *arguments])


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A workspace in which this process's own environment is the owner's."""
    workspace = bench(tmp_path)
    for name in [name for name in os.environ if name.startswith(("APM_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(workspace.home))
    return workspace


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch) -> list[FlushReport]:
    """What the runtime's next sweep gives."""
    given: list[FlushReport] = []
    monkeypatch.setattr("apm_hooks.runtime.Runtime.sweep", lambda self: tuple(given), raising=False)
    return given


def test_a_sweep_with_nothing_to_do_is_no_error(
    made: Bench, reports: list[FlushReport], capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep.act(options(made)) == 0
    assert capsys.readouterr() == (sweep.NOTHING_DUE + "\n", "")
    assert sweep.act(options(made, "--json")) == 0
    assert json.loads(capsys.readouterr().out) == {"flushes": []}


def test_a_sweep_shows_what_it_recorded(
    made: Bench, reports: list[FlushReport], capsys: pytest.CaptureFixture[str]
) -> None:
    reports += REPORTS
    assert sweep.act(options(made)) == 1
    out, err = capsys.readouterr()
    rows = [line.split("  ") for line in out.splitlines()]
    assert [[cell.strip() for cell in row if cell.strip()] for row in rows[2:]] == [
        ["DM", "7", "unwritten", "1", "1"], ["Group(alpha)", sweep.NO_FLUSH, "failed", "0", "0"],
    ]  # fmt: skip
    assert "the lock did not come" in err
    reports.pop()
    assert sweep.act(options(made, "--json")) == 0
    assert json.loads(capsys.readouterr().out) == {"flushes": [{
        "scope": "DM", "trigger": "idle", "status": "issued", "number": 7, "outcome": "unwritten",
        "changed": ["memory/main/a.md"], "pending": ["went quiet"], "warning": None,
    }]}  # fmt: skip


class Rehearsed(Watcher):
    """Reports what it is given, then ends."""

    ending = Ending.QUIET
    seen: Rehearsed

    def run(self) -> Ending:
        Rehearsed.seen = self
        for report in REPORTS:
            self._report(report)
        self._note("looking for changes")
        return self.ending


@pytest.fixture
def rehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "Watcher", Rehearsed)


@pytest.mark.usefixtures("reports", "rehearsed")
def test_watching_prints_a_line_a_flush(made: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert watch.act(options(made)) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "DM: flush 7 (unwritten), 1 changed files, 1 pending items", "Group(alpha): failed",
        f"ended: {Ending.QUIET.value}",
    ]  # fmt: skip
    assert err.splitlines() == ["apm-hooks: the lock did not come", "apm-hooks: looking for changes"]


@pytest.mark.usefixtures("reports", "rehearsed")
def test_watching_prints_an_object_a_line(made: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert watch.act(options(made, "--json")) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [*map(sweep.document, REPORTS), {"ended": "quiet"}]


@pytest.mark.parametrize(
    ("arguments", "linger", "poll"),
    [((), None, False), (("--linger", "2.5"), 150.0, False), (("--forever", "--poll"), math.inf, True)],
)
@pytest.mark.usefixtures("reports", "rehearsed")
def test_how_long_it_watches(made: Bench, arguments: tuple[str, ...], linger: float | None, poll: bool) -> None:
    watch.act(options(made, *arguments))
    assert (Rehearsed.seen._linger, Rehearsed.seen._poll) == (linger, poll)
    assert Rehearsed.seen._idle() == IDLE
    made.settings("idle_minutes = 5\n")
    assert Rehearsed.seen._idle() == 300.0


@pytest.mark.parametrize("minutes", ["-1", "nan", "inf"])
@pytest.mark.usefixtures("reports", "rehearsed")
def test_nonsense_is_no_time_to_linger(made: Bench, minutes: str) -> None:
    with pytest.raises(UsageError, match="--linger"):
        watch.act(options(made, f"--linger={minutes}"))


@pytest.mark.usefixtures("reports", "rehearsed")
def test_trust_that_ends_is_an_error(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Rehearsed, "ending", Ending.NOT_TRUSTED)
    with pytest.raises(NotTrustedError):
        watch.act(options(made))


@pytest.mark.parametrize("act", [watch.act, sweep.act])
@pytest.mark.usefixtures("reports", "rehearsed")
def test_only_the_operator_watches_and_sweeps(
    made: Bench, act: Callable[[argparse.Namespace], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APM_SESSION", GROUP_KEY)
    with pytest.raises(ScopeError):
        act(options(made))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_stop_the_watcher_and_are_given_back(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    stops: list[int] = []
    with watch._stopped_by_signals(lambda: stops.append(1)):
        os.kill(os.getpid(), number)
        assert signal.getsignal(number) is not before
    assert stops == [1]
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.usefixtures("at_once")
def test_a_signal_ends_a_watcher_that_waits(tmp_path: Path, number: signal.Signals) -> None:
    runtime = Runtime(tmp_path, activity.now)

    class Interrupted(waiting.Waiting):
        def wait(self, seconds: float) -> None:
            os.kill(os.getpid(), number)
            super().wait(seconds)

    made = Watcher(runtime, idle_seconds=IDLE, report=lambda report: None)
    with pytest.MonkeyPatch.context() as patched, watch._stopped_by_signals(made.stop):
        patched.setattr(watcher, "Waiting", Interrupted)
        assert made.run() is Ending.STOPPED
