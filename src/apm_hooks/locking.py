"""One bounded lock around one path: a kernel lock on a file beside it, never deleted, never downgraded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from apm_hooks.errors import LockTimeoutError
from apm_hooks.records import LIMITS


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
