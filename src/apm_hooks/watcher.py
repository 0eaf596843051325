"""Waits until sessions go quiet, and has them flushed: one watcher a workspace (protocol, section 9).

It owns no state. The marks of live sessions (`activity`) say when the next of them is due; watchdog wakes it when they
change, a timer that counts suspend when one is due, and a bound on every wait when neither does.
"""

from __future__ import annotations

import math
import os
import re
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from apm_hooks import activity
from apm_hooks.errors import ApmError, LockTimeoutError, NotTrustedError
from apm_hooks.files import Stamp, stamp, state_directory
from apm_hooks.flushrecords import FlushReport
from apm_hooks.locking import locked_at
from apm_hooks.records import Limits
from apm_hooks.waiting import Waiting

if TYPE_CHECKING:
    from watchdog.events import FileSystemEvent
    from watchdog.observers.api import BaseObserver

LOCK = ".apm/locks/watch.lock"
LONGEST_WAIT = 60.0
"""No wait is longer, in seconds: clocks are set, and not every change is told of."""
POLL_SECONDS = 5.0
RETRY_SECONDS = 5.0
"""After a sweep that left something due, the first wait; it doubles up to the longest."""

SECOND_WATCHER = "another watcher is at work in this workspace"
SECOND_WATCHER_REMEDY = "Leave the work to it, or stop it first."
POLLING_NETWORK = "the workspace lies on a network file system ({kind}), which tells of no changes: looking for them"
POLLING_NO_NOTICE = "the system cannot tell of changes ({cause}): looking for them"
SWEEP_FAILED = "quiet sessions could not all be flushed: {error}"

_NETWORK = frozenset(("nfs", "nfs4", "cifs", "smb3", "9p"))
_SECOND = 1_000_000_000


class Ending(StrEnum):
    """Why a watcher ended."""

    STOPPED = "it was told to stop"
    QUIET = "no session is alive any more"
    NO_WORKSPACE = "the workspace is gone"
    NOT_TRUSTED = "the workspace is no longer accepted by its owner"
    LOCK_LOST = "its lock file was taken away"


class Sweeping(Protocol):
    """What a watcher needs of a runtime. `workspace` reads settings and trust again when their files have changed, and
    raises NotTrustedError or SettingsError; `sweep` flushes every quiet session of every scope."""

    @property
    def root(self) -> str: ...

    @property
    def limits(self) -> Limits: ...

    @property
    def workspace(self) -> object: ...

    def sweep(self) -> Sequence[FlushReport]: ...


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a look at the marks found: sessions, whether something is due, nanoseconds until the next one is."""

    alive: int = 0
    due: bool = False
    next_ns: int | None = None


class Watcher:
    """Has the quiet sessions of one workspace flushed, until it is stopped or has nothing left to wait for.

    `idle_seconds`: a session that was quiet for so long is due; a callable is asked at every look, since settings
    change. `poll`: look for changes instead of being told of them. `linger_seconds`: it ends when no session was alive
    for so long (None: the idle period; infinity: it does not). `report` gets every flush, `note` every sentence for the
    operator. `clock` gives a moment as `activity.now` does. No signal handler is installed here; one may call `stop`.
    """

    def __init__(
        self, runtime: Sweeping, *, idle_seconds: float | Callable[[], float], poll: bool = False,
        linger_seconds: float | None = None, report: Callable[[FlushReport], None],
        note: Callable[[str], None] = lambda _sentence: None, clock: Callable[[], activity.Moment] = activity.now,
    ) -> None:  # fmt: skip
        self.runtime = runtime
        self._ask_idle = idle_seconds if callable(idle_seconds) else lambda: idle_seconds
        self._idle_seconds = self._ask_idle()
        self._linger = linger_seconds
        self._poll = poll
        self._report = report
        self._note = note
        self._clock = clock
        self._said = ""
        self._stopping = False
        self._bell: socket.socket | None = None

    def stop(self) -> None:
        """End `run` soon, after what it is doing now. Safe in threads and in signal handlers."""
        self._stopping = True
        self._wake()

    def _changed(self, _event: FileSystemEvent) -> None:
        self._wake()

    def _wake(self) -> None:
        # Waking by a socket is safe in a signal handler, and from watchdog's thread.
        bell = self._bell
        if bell is not None:
            # A full one wakes as well as one more byte would; a closed one has nobody to wake.
            with suppress(OSError):
                bell.send(b".")

    def run(self) -> Ending:
        """Watch until the end, and say why it came. Once for each watcher.

        Raises LockTimeoutError where another watcher is at work in the workspace, MemoryFileError where `.apm/` cannot
        be used.
        """
        bell, ear = socket.socketpair()
        with bell, ear, _only_watcher(self.runtime.root) as lock:
            bell.setblocking(False)
            ear.setblocking(False)
            self._bell = bell
            observer = self._observe()
            waiting = Waiting(ear.fileno(), lambda: self._stopping)
            try:
                return self._watch(lock, waiting)
            finally:
                waiting.close()
                observer.stop()
                observer.join()

    def _watch(self, lock: Stamp | None, waiting: Waiting) -> Ending:
        again, pause, deserted = 0, RETRY_SECONDS, None
        while True:
            ending = Ending.STOPPED if self._stopping else self._ending(lock)
            if ending is not None:
                return ending
            seen, ticks = self._look(), self._ticks()
            if seen.due and ticks >= again:
                if self._sweep() is Ending.NOT_TRUSTED:
                    return Ending.NOT_TRUSTED
                seen, ticks = self._look(), self._ticks()
                again = ticks + int(pause * _SECOND) if seen.due else 0
                pause = min(pause * 2, LONGEST_WAIT) if seen.due else RETRY_SECONDS
            deserted = None if seen.alive else ticks if deserted is None else deserted
            linger = self._idle() if self._linger is None else self._linger
            left = math.inf if deserted is None else linger - (ticks - deserted) / _SECOND
            if left <= 0:
                return Ending.QUIET
            next_ns = again - ticks if seen.due else seen.next_ns
            wait = min(LONGEST_WAIT, left, math.inf if next_ns is None else next_ns / _SECOND)
            waiting.wait(wait)

    def _idle(self) -> float:
        # While the settings cannot be read, what they said before counts.
        with suppress(ApmError):
            self._idle_seconds = self._ask_idle()
        return self._idle_seconds

    def _ticks(self) -> int:
        """A time in ns that only grows; with suspend where the machine has such a clock."""
        _, up, boot = self._clock()
        return up if boot else time.monotonic_ns()

    def _ending(self, lock: Stamp | None) -> Ending | None:
        root = self.runtime.root
        if not os.path.isdir(root):
            return Ending.NO_WORKSPACE
        try:
            if _file(stamp(root, LOCK)) != _file(lock):
                return Ending.LOCK_LOST
            self.runtime.workspace  # noqa: B018 - it is read anew, and says whether it may be
        except NotTrustedError:
            return Ending.NOT_TRUSTED
        except ApmError as error:
            # Somebody is in the middle of an edit; nothing is flushed by settings that cannot be read.
            self._say(SWEEP_FAILED.format(error=error))
        return None

    def _look(self) -> _Seen:
        root, idle, turn = self.runtime.root, self._idle(), self.runtime.limits.turn_seconds
        alive, due, soonest = 0, False, None
        for folder in activity.folders(root):
            moment = self._clock()
            untidy = False
            found = 0
            for _, mark in activity.marks_of(root, folder):
                found += 1
                rest = activity.left(mark, moment, idle, turn)
                if activity.has_work(mark):
                    due = due or rest <= 0
                    soonest = rest if soonest is None else min(soonest, rest)
                untidy = untidy or activity.is_ahead(mark, moment) or (rest <= 0 and not activity.has_work(mark))
            try:
                if untidy:
                    activity.tidy(root, folder, idle, turn, self._clock)
                if found < len(activity.sessions(root, folder)):
                    doubts = len(activity.doubts_of(root, folder))
                    due, found = due or doubts > 0, found + doubts
            except OSError as error:
                self._say(SWEEP_FAILED.format(error=error))
            alive += found
        return _Seen(alive, due or alive > self.runtime.limits.active_sessions, soonest)

    def _sweep(self) -> Ending | None:
        try:
            for report in self.runtime.sweep():
                self._report(report)
            self._said = ""
        except NotTrustedError:
            return Ending.NOT_TRUSTED
        except (ApmError, OSError) as error:
            self._say(SWEEP_FAILED.format(error=error))
        return None

    def _say(self, sentence: str) -> None:
        """Tell the operator, but not the same thing again and again."""
        if sentence != self._said:
            self._said = sentence
            self._note(sentence)

    def _observe(self) -> BaseObserver:
        """A running observer of the marks: told of changes by the system, or looking for them where it cannot be."""
        from watchdog.observers import Observer
        from watchdog.observers.polling import PollingObserver

        folder = os.path.join(self.runtime.root, state_directory(self.runtime.root, "active"))
        kind = network_kind(os.path.realpath(folder), _mounts())
        if kind:
            self._note(POLLING_NETWORK.format(kind=kind))
        if not kind and not self._poll:
            try:
                return self._started(Observer(), folder)
            except OSError as error:
                self._note(POLLING_NO_NOTICE.format(cause=error.strerror or error))
        return self._started(PollingObserver(timeout=POLL_SECONDS), folder)

    def _started(self, observer: BaseObserver, folder: str) -> BaseObserver:
        from watchdog import events

        class Bell(events.FileSystemEventHandler):
            def on_any_event(_self, event: events.FileSystemEvent) -> None:  # noqa: N805
                self._changed(event)

        # Not of files that are opened and closed: our own looks would wake us for ever.
        kinds: list[type[events.FileSystemEvent]] = [
            events.FileCreatedEvent, events.FileModifiedEvent, events.FileMovedEvent, events.FileDeletedEvent,
            events.DirCreatedEvent, events.DirMovedEvent, events.DirDeletedEvent,
        ]  # fmt: skip
        observer.schedule(Bell(), folder, recursive=True, event_filter=kinds)
        observer.start()
        return observer


def _file(found: Stamp | None) -> tuple[int, int] | None:
    return (found.device, found.inode) if found else None


@contextmanager
def _only_watcher(root: str) -> Iterator[Stamp | None]:
    """Hold the workspace's watcher lock, which children do not inherit; gives what stands at its path."""
    state_directory(root, "locks")
    with ExitStack() as stack:
        try:
            stack.enter_context(locked_at(root, LOCK, seconds=0))
        except LockTimeoutError as error:
            if error.cause.startswith("cannot"):
                raise
            raise LockTimeoutError(SECOND_WATCHER, file=LOCK, remedy=SECOND_WATCHER_REMEDY) from error
        yield stamp(root, LOCK)


def network_kind(path: str, mounts: str) -> str:
    """The type of the file system that holds `path` (absolute, without links), if it is one that others can change
    unseen; else empty. `mounts` is the text of `/proc/self/mountinfo`."""
    best, kind = "", ""
    for line in mounts.splitlines():
        left, _, right = line.partition(" - ")
        fields, types = left.split(" "), right.split(" ")
        if len(fields) < 5:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
        holds = path == point or path.startswith(point.rstrip("/") + "/")
        # A later mount on the same point hides the earlier one.
        if holds and len(point) >= len(best):
            best, kind = point, types[0]
    return kind if kind in _NETWORK or kind.startswith("fuse.") else ""


def _mounts() -> str:
    try:
        descriptor = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(descriptor, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
