"""What stands in the records of the scopes: their states, locks, marks and times, and the groups' aggregate.

All but the aggregate may be asked for by a conversation about itself; it is told of no process and no file but its own.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from datetime import datetime
from functools import partial

from apm_hooks import activity, aggregate
from apm_hooks.doctor import Check, Level, Subject, listed, told
from apm_hooks.doctor_system import LOCK_SECONDS, holder_of
from apm_hooks.errors import LockTimeoutError, MemoryFileError
from apm_hooks.files import stamp
from apm_hooks.flusher import Live
from apm_hooks.flushrecords import Status
from apm_hooks.flushstate import UPGRADE, read_state, state_path, updating
from apm_hooks.locking import locked_at
from apm_hooks.opening import parent
from apm_hooks.records import DM, HostEvent, Scope, ScopeDecision, ScopeKind
from apm_hooks.runtime import Runtime

FIX = "Run: apm-hooks doctor --fix"
STATES = "flush states: {count}, of which {flushed} record a flush; all can be read"
SET_ASIDE = "damaged copies of {path} were set aside: {count}, the latest as {name}"
SET_ASIDE_REMEDY = "Compare it: diff {path} {latest}; when nothing in them is missed: rm {path}.corrupt-*"
FULL = "{path} holds {count} of at most {most} pending items: further ones push out the oldest"
FULL_REMEDY = "Let the agent of that conversation settle them: /remem"
NO_LEFTOVERS = "no half-written files"
HALF_STATE = "a write of {path} was broken off, and left {name}"
HALF_FILE = "a write was broken off more than an hour ago, and left {path}"
HALF_FILE_REMEDY = "See whether it holds anything that is missed, then: rm {path}"
FREE = "locks that can be taken: {count}"
HELD = "{path} is held{who}"
HELD_REMEDY = (
    "Wait for it to end. To see whether it is stopped (T): ps -o pid,stat,etime,args -p {process}; to let it go on: "
    "kill -CONT {process}"
)
HELD_BY_NOBODY_KNOWN = "Wait, then run it again."
MARKS = "live sessions: {alive}"
DUE = "sessions that went quiet and wait for their flush: {count}"
DUE_REMEDY = "The next event of their scope makes it, or: apm-hooks sweep"
STRAY = "sessions of scopes that are no longer mapped: {count}"
STRAY_REMEDY = "They go when they are quiet: apm-hooks sweep"
DEAD = "marks of sessions that ended with nothing to save: {count}"
DOUBTS = "marks of sessions that say nothing certain: {count}{whose}"
MANY_MARKS = "live sessions: {alive}, of at most {most}"
IN_TIME = "no time of a record lies in the future"
LATE_FLUSH = "{path} records a flush at {when}, which is in the future"
LATE_FLUSH_REMEDY = "Compare with: date. The next flush sets it right."
LATE_MARKS = "marks of sessions that were at work in the future: {count}"
LATE_MARKS_REMEDY = "Compare with: date. How long they are quiet counts by the clock since the machine's start."
IN_STEP = "{path} says what the groups' own states say"
NO_MAP = "not compared, since the group map cannot be read"

_HOUR = 3600
_CORRUPT = re.compile(r"flush-state\.json\.corrupt-.+")
_HALF_STATE = re.compile(r"\.flush-state\.json(?:\.[^/]+)?\.apm-tmp")
_HALF = re.compile(r"\..+\.apm-tmp")
_NEARLY_FULL = 0.8


def states(subject: Subject) -> list[Check]:
    """Whether each scope's state can be read and is sound, what was set aside, and how full it is."""
    found: list[Check] = []
    flushed = 0
    for scope in subject.scopes:
        try:
            stored = read_state(subject.root, scope, limits=subject.opened.limits)
        except MemoryFileError as error:
            found.append(told(error, Level.ERROR))
            continue
        flushed += stored.book.number is not None
        if stored.raw.document.newer:
            found.append(Check(Level.ERROR, stored.problem, UPGRADE))
        elif stored.problem:
            found.append(Check(Level.ERROR, stored.problem, FIX, partial(_mend_state, subject.root, scope)))
        path, most = state_path(scope), subject.opened.limits.pending_items
        if len(stored.book.pending) >= most * _NEARLY_FULL:
            text = FULL.format(path=path, count=len(stored.book.pending), most=most)
            found.append(Check(Level.WARNING, text, FULL_REMEDY))
        found += _set_aside(subject, path)
    return found or [Check(Level.OK, STATES.format(count=len(subject.scopes), flushed=flushed))]


def _mend_state(root: str, scope: Scope) -> None:
    with updating(root, scope):
        # To take its lock is to mend it.
        return


def _set_aside(subject: Subject, path: str) -> Iterator[Check]:
    folder = os.path.dirname(path)
    kept = [(status.st_mtime_ns, name) for name, status in listed(subject.root, folder) if _CORRUPT.fullmatch(name)]
    if kept:
        _, latest = max(kept)
        full = os.path.join(subject.root, folder, latest)
        remedy = SET_ASIDE_REMEDY.format(path=shlex.quote(os.path.join(subject.root, path)), latest=shlex.quote(full))
        text = SET_ASIDE.format(path=path, count=len(kept), name=latest)
        yield Check(Level.NOTE, text, remedy)


def leftovers(subject: Subject) -> list[Check]:
    """Files that a writer left half-written: those of a state count where nobody holds its lock, since its holder may
    be at work on one; all others when they are an hour old."""
    found: list[Check] = []
    for scope in subject.scopes:
        path = state_path(scope)
        halves = _halves(subject.root, path)
        try:
            with locked_at(subject.root, f"{path}.lock", seconds=LOCK_SECONDS) if halves else nullcontext():
                halves = _halves(subject.root, path) if halves else []
        except LockTimeoutError:
            halves = []
        mend = partial(_sweep_halves, subject.root, path)
        found += [Check(Level.NOTE, HALF_STATE.format(path=path, name=name), FIX, mend) for name in halves]
    for folder in _folders(subject):
        found += _old_halves(subject, folder)
    return found or [Check(Level.OK, NO_LEFTOVERS)]


def _halves(root: str, path: str) -> list[str]:
    return [name for name, _ in listed(root, os.path.dirname(path)) if _HALF_STATE.fullmatch(name)]


def _sweep_halves(root: str, path: str) -> None:
    with locked_at(root, f"{path}.lock"), parent(root, path) as (directory, _):
        for name in _halves(root, path):
            os.unlink(name, dir_fd=directory)


def _folders(subject: Subject) -> list[str]:
    """Where the scopes' own files are written, and ours."""
    own = [folder for scope in subject.scopes
           for folder in (("", "memory", scope.directory) if scope == DM else (scope.directory,))]  # fmt: skip
    return [*own, "memory/groups", ".apm", ".apm/flush"] if subject.operator else own


def _old_halves(subject: Subject, folder: str) -> Iterator[Check]:
    for name, status in listed(subject.root, folder):
        old = time.time() - status.st_mtime > _HOUR
        if old and stat.S_ISREG(status.st_mode) and _HALF.fullmatch(name) and not _HALF_STATE.fullmatch(name):
            path = os.path.join(folder, name)
            full = shlex.quote(os.path.join(subject.root, path))
            yield Check(Level.NOTE, HALF_FILE.format(path=path), HALF_FILE_REMEDY.format(path=full))


def locks(subject: Subject) -> list[Check]:
    """Whether each state's lock can be taken within a moment; one that is held is never broken."""
    found: list[Check] = []
    free = 0
    shared = [aggregate.PATH] if subject.operator else []
    for path in (f"{state}.lock" for state in (*map(state_path, subject.scopes), *shared)):
        try:
            if stamp(subject.root, path) is None:
                continue
            with locked_at(subject.root, path, seconds=LOCK_SECONDS):
                free += 1
        except LockTimeoutError as error:
            if isinstance(error.__cause__, OSError):
                found.append(told(error, Level.ERROR))
            else:
                found.append(_held(subject, path))
        except MemoryFileError as error:
            found.append(told(error, Level.ERROR))
    return found or [Check(Level.OK, FREE.format(count=free))]


def _held(subject: Subject, path: str) -> Check:
    holder = holder_of(subject, path) if subject.operator else None
    if holder is None:
        return Check(Level.WARNING, HELD.format(path=path, who=""), HELD_BY_NOBODY_KNOWN)
    return Check(Level.WARNING, HELD.format(path=path, who=f" by {holder}"),
                 HELD_REMEDY.format(process=holder.process))  # fmt: skip


def marks(subject: Subject) -> list[Check]:
    """Sessions that are alive, those that wait for a flush, and marks that tell nothing any more."""
    runtime = subject.opened
    scopes = {activity.folder_name(str(scope)): scope for scope in subject.scopes}
    idle, turn = runtime.sessions.idle_seconds, runtime.limits.turn_seconds
    found: list[Check] = []
    alive = due = stray = dead = 0
    for folder in activity.folders(subject.root) if subject.operator else scopes:
        moment = runtime.flusher.moment()
        doubts = activity.doubts_of(subject.root, folder)
        if doubts:
            mend = partial(_mend_doubts, runtime, folder, scopes.get(folder))
            whose = f" ({scopes[folder]})" if folder in scopes else ""
            found.append(Check(Level.WARNING, DOUBTS.format(count=len(doubts), whose=whose), FIX, mend))
        certain = 0
        for _, mark in activity.marks_of(subject.root, folder):
            certain += 1
            quiet = activity.left(mark, moment, idle, turn) <= 0
            stray += folder not in scopes
            due += folder in scopes and quiet and activity.has_work(mark)
            dead += quiet and not activity.has_work(mark)
        alive += certain
        # What is neither certain nor doubtful was never written: its writer died before it could.
        dead += max(len(activity.sessions(subject.root, folder)) - certain - len(doubts), 0)
    if due:
        found.append(Check(Level.NOTE, DUE.format(count=due), DUE_REMEDY))
    if stray:
        found.append(Check(Level.NOTE, STRAY.format(count=stray), STRAY_REMEDY))
    if dead:
        found.append(Check(Level.NOTE, DEAD.format(count=dead), FIX, partial(_tidy, subject)))
    if alive > runtime.limits.active_sessions * _NEARLY_FULL:
        text = MANY_MARKS.format(alive=alive, most=runtime.limits.active_sessions)
        found.append(Check(Level.WARNING, text, DUE_REMEDY))
    return found or [Check(Level.OK, MARKS.format(alive=alive))]


def _mend_doubts(runtime: Runtime, folder: str, scope: Scope | None) -> None:
    """What a session with a doubtful mark did is not known: it is flushed as one that went quiet."""
    for session in activity.doubts_of(runtime.root, folder):
        if scope is not None:
            decision = ScopeDecision(scope, "idle", "its mark could not be read")
            live = Live(HostEvent("unknown", ""), decision, scope, session)
            mark = {**activity.BLANK, "open": 1, "since": 1}
            report = runtime.flusher.idle(live, mark)
            if report is None or report.status is Status.FAILED:
                continue
        activity.discard(runtime.root, folder, session)


def _tidy(subject: Subject) -> None:
    for folder in activity.folders(subject.root):
        _tidy_folder(subject.opened, folder)


def _tidy_folder(runtime: Runtime, folder: str) -> None:
    activity.tidy(runtime.root, folder, runtime.sessions.idle_seconds, runtime.limits.turn_seconds,
                  runtime.flusher.moment)  # fmt: skip


def times(subject: Subject) -> list[Check]:
    """Times of flushes and of sessions that lie more than an hour in the future: a clock was wrong then, or is now."""
    runtime = subject.opened
    moment = runtime.flusher.moment()
    found: list[Check] = []
    late, ahead = 0, False
    for scope in subject.scopes:
        with suppress(MemoryFileError):
            when = read_state(subject.root, scope, limits=runtime.limits).book.last_time
            if when is not None and _seconds(when) > runtime.clock() + _HOUR:
                text = LATE_FLUSH.format(path=state_path(scope), when=when)
                found.append(Check(Level.WARNING, text, LATE_FLUSH_REMEDY))
        for _, mark in activity.marks_of(subject.root, activity.folder_name(str(scope))):
            late += mark["at"] > moment[0] + _HOUR * 10**9
            ahead = ahead or activity.is_ahead(mark, moment)
    if late:
        mend = partial(_tidy, subject) if ahead else None
        found.append(Check(Level.WARNING, LATE_MARKS.format(count=late), FIX if ahead else LATE_MARKS_REMEDY, mend))
    return found or [Check(Level.OK, IN_TIME)]


def _seconds(when: str) -> float:
    """A time in ISO-8601 as seconds since 1970; without an offset it is taken for this machine's."""
    try:
        return datetime.fromisoformat(when).timestamp()
    except (ValueError, OverflowError):
        # Before or after all years that can be reckoned with.
        return float("-inf")


def group_rows(subject: Subject) -> list[Check]:
    """Whether the aggregate says what the groups' own states say."""
    workspace = subject.opened.workspace
    if workspace.problems != workspace.declared.errors:
        return [Check(Level.NOTE, NO_MAP)]
    names = [scope.name for scope in subject.scopes if scope.kind is ScopeKind.GROUP]
    of_states = {found.text for found in states(subject)}
    sentences = [each for each in aggregate.check(subject.root, names) if each not in of_states]
    mend = partial(aggregate.rebuild, subject.root, names)
    found = [Check(Level.WARNING, sentence, FIX, mend) for sentence in sentences]
    return found or [Check(Level.OK, IN_STEP.format(path=aggregate.PATH))]
