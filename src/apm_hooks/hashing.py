"""Content hashes of a scope's files, each with the stamp of the very bytes that were hashed, within a bounded time."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from operator import attrgetter

from apm_hooks.delta import Stat
from apm_hooks.errors import MemoryFileError
from apm_hooks.files import visit
from apm_hooks.opening import Stamp, kind_of, shown
from apm_hooks.records import LIMITS, Limits

STREAMED = 16
"""A file of up to so many times `Limits.file_bytes` is hashed; of a larger one, its stamp stands for the content."""

stat_of: Callable[[os.stat_result], Stat] = attrgetter("st_mtime_ns", "st_size", "st_ino", "st_ctime_ns")
"""The stamp in what `stat` says of a file."""


class _LateError(Exception):
    """The time is over."""


def hash_files(
    root: str, paths: Iterable[str], *, seconds: float, limits: Limits = LIMITS
) -> tuple[dict[str, tuple[str, Stat]], list[tuple[str, str]], bool]:
    """SHA-256, as hex, of the raw bytes of each plain file, in the order given, with the stamp of those bytes.

    Also returns (path, why) of what could not be read, and whether `seconds` were enough. No link is followed, and no
    file is held in memory. Of a file over 16 times `limits.file_bytes` the hash names its stamp: touched, it differs.
    """
    until = _now() + seconds
    hashes: dict[str, tuple[str, Stat]] = {}
    refused: list[tuple[str, str]] = []
    for path in paths:
        if _now() >= until:
            return hashes, refused, False
        try:
            hashed = _hash(root, path, limits, until)
        except MemoryFileError as error:
            refused.append((path, error.cause.removeprefix("is ")))
        except _LateError:
            return hashes, refused, False
        else:
            if hashed is not None:
                hashes[path] = hashed
    return hashes, refused, True


def _now() -> float:
    return time.monotonic()


def _hash(root: str, path: str, limits: Limits, until: float) -> tuple[str, Stat] | None:
    """None where there is no file; raises MemoryFileError and _LateError."""
    cap = limits.file_bytes * STREAMED
    return visit(root, path, lambda descriptor: _hash_open(descriptor, path, cap, until), limits.read_retries)


def _hash_open(descriptor: int, path: str, cap: int, until: float) -> tuple[str, Stat] | None:
    """None where the file changed meanwhile."""
    from hashlib import sha256

    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        raise MemoryFileError(f"is {kind_of(before.st_mode)}", file=shown(path), remedy="Put a plain file there.")
    stamp = stat_of(before)
    if before.st_size > cap:
        return sha256(b"stamp %d %d %d %d" % stamp).hexdigest(), stamp
    hashed, total = sha256(), 0
    while total < before.st_size:
        if _now() >= until:
            raise _LateError
        chunk = os.read(descriptor, min(1 << 20, before.st_size - total))
        if not chunk:
            break
        hashed.update(chunk)
        total += len(chunk)
    same = total == before.st_size and Stamp.of(os.fstat(descriptor)) == Stamp.of(before)
    return (hashed.hexdigest(), stamp) if same else None
