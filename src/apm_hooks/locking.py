"""One bounded lock around one path: a kernel lock on a file beside it, never deleted, never downgraded."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from apm_hooks.errors import LockTimeoutError, MemoryFileError
from apm_hooks.files import open_to_append, stamp
from apm_hooks.opening import cause_of, shown
from apm_hooks.records import LIMITS

_SHORTEST_WAIT = 0.001
_LONGEST_WAIT = 0.02

_COURTESY = 0.002
"""Who takes a lock again right after giving it back is always faster than those who wait for it, who would starve: so
many seconds are left to them first."""

_held: dict[int, tuple[int, int, int]] = {}
"""The locks of this process: descriptor → device, inode, and the thread that took it."""

_given_back: dict[tuple[str, str], float] = {}
"""The lock that this process gave back last, and when (monotonic seconds)."""


@contextmanager
def locked(path: str, *, seconds: float = LIMITS.lock_seconds) -> Iterator[None]:
    """Hold the lock file `path` (created with mode 0600) for the length of a `with` block.

    The kernel frees it when the holder dies. Raises LockTimeoutError after `seconds`, naming the file, also where
    the file system has no locks: an unlocked write is never the fallback.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=seconds, mode=0o600, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise LockTimeoutError(
            f"still held by another process after {seconds:g} s", file=path, remedy="Try again later."
        ) from error
    except (OSError, NotImplementedError) as error:
        raise LockTimeoutError(
            f"cannot be locked: {error}", file=path, remedy="Put the workspace on a local disk."
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def locked_at(root: str, path: str, *, seconds: float = LIMITS.lock_seconds) -> Iterator[None]:
    """Hold the lock file `path` below `root` for the length of a `with` block; what folders are missing are made.

    The file is a plain one of mode 0600, reached without following a link, and it and FileLock on the same file exclude
    each other. The kernel frees the lock when its holder dies; the file stays. Not re-entrant. Nothing of ours forks or
    starts a program under it: the descriptor is closed on exec, and in a child that somebody else forks meanwhile.

    Raises LockTimeoutError after `seconds`, and at once where waiting cannot help: this thread holds it already, or the
    file system has no locks (an unlocked write is never the fallback). Raises MemoryFileError where the lock file
    cannot be opened.
    """
    descriptor = _take(root, path, seconds)
    try:
        yield
    finally:
        _give_back(descriptor)
        _given_back.clear()
        _given_back[root, path] = time.monotonic()


def _take(root: str, path: str, seconds: float) -> int:
    deadline = time.monotonic() + seconds
    if time.monotonic() - _given_back.get((root, path), -_LONGEST_WAIT) < _LONGEST_WAIT:
        _pause(_COURTESY)
    wait = _SHORTEST_WAIT
    while True:
        descriptor = open_to_append(root, path, create=True)
        try:
            status = _status(descriptor, path)
            if _lock_now(descriptor, path):
                found = stamp(root, path)
                # Deleted or replaced meanwhile: others lock the new file, so this one protects nothing.
                if found is not None and (found.device, found.inode) == (status.st_dev, status.st_ino):
                    _held[descriptor] = (status.st_dev, status.st_ino, threading.get_ident())
                    return descriptor
            holder = _own_holder(status)
            left = deadline - time.monotonic()
            if left <= 0 or holder == threading.get_ident():
                raise LockTimeoutError(_still_held(holder, seconds), file=shown(path), remedy="Try again later.")
        except BaseException:
            _close(descriptor)
            raise
        _close(descriptor)
        _pause(min(left, wait * (0.5 + os.urandom(1)[0] / 256)))
        wait = min(wait * 1.5, _LONGEST_WAIT)


def _pause(seconds: float) -> None:
    try:
        time.sleep(seconds)
    except OSError:
        # Under a wall clock that libfaketime sets, it takes the time at which the sleep ends for one of that clock.
        import select

        select.select((), (), (), seconds)


def _status(descriptor: int, path: str) -> os.stat_result:
    try:
        return os.fstat(descriptor)
    except OSError as error:
        raise MemoryFileError(cause_of(error), file=shown(path)) from error


def _lock_now(descriptor: int, path: str) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise LockTimeoutError(
            f"cannot be locked: {cause_of(error)}", file=shown(path), remedy="Put the workspace on a local disk."
        ) from error
    return True


def _own_holder(status: os.stat_result) -> int | None:
    """The thread of this process that holds the lock on that file; None where none does."""
    return next((thread for *file, thread in _held.values() if file == [status.st_dev, status.st_ino]), None)


def _still_held(holder: int | None, seconds: float) -> str:
    if holder is None:
        return f"still held by another process after {seconds:g} s"
    if holder == threading.get_ident():
        return "held by this very thread already, and not re-entrant"
    return f"still held by another thread of this process after {seconds:g} s"


def _give_back(descriptor: int) -> None:
    if _held.pop(descriptor, None) is None:
        return  # forked meanwhile: the lock is the parent's
    with suppress(OSError):
        # Closing is not enough where somebody else's child got the descriptor too.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    _close(descriptor)


def _close(descriptor: int) -> None:
    with suppress(OSError):
        os.close(descriptor)


def _close_in_child() -> None:
    for descriptor in _held:
        _close(descriptor)
    _held.clear()


os.register_at_fork(after_in_child=_close_in_child)
