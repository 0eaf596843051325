"""The only door to memory files: bounded reads that follow no link, decoding with a stated rule, durable writes.

Every path is opened component by component from a directory descriptor, so that no symbolic link below the
workspace is ever followed, even when one is swapped in between two calls (protocol, section 3). A memory file that was
written a moment ago is looked at twice, so that half of somebody's save is never taken for the whole.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from apm_hooks.decoding import decode
from apm_hooks.errors import MemoryFileError
from apm_hooks.opening import DIRECTORY, UNWRITABLE, Stamp, cause_of, kind_of, parent, refusal, shown, unwritable
from apm_hooks.records import LIMITS, Limits

Found = TypeVar("Found")

__all__ = [
    "STATE", "MemoryText", "Stamp", "append_line", "create_absent", "decode", "read_bytes", "read_settled",
    "read_text", "replace_bytes", "stamp", "state_directory", "visit",
]  # fmt: skip

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_SETTLE_NS = 50_000_000
"""A file that changed less than so long ago may be half of a save: it is read again after so long a wait."""
_SETTLE_READS = 5
"""So many reads, with a wait between two of them, until a file that is being written is given up."""


@dataclass(frozen=True, slots=True)
class MemoryText:
    """A file as text: line ends are LF, a BOM is gone. `digest` is the SHA-256 of that text, `note` says what
    was odd about the encoding (empty: nothing)."""

    text: str
    digest: str
    stamp: Stamp
    note: str = ""


def stamp(root: str, path: str) -> Stamp | None:
    """The stamp of what stands at `path` (a link is stamped itself); None where nothing does.

    Raises MemoryFileError.
    """
    try:
        with parent(root, path) as (directory, name):
            return Stamp.of(os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return None
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(cause_of(error), file=shown(path)) from error


def _unsteady(path: str) -> MemoryFileError:
    return MemoryFileError("keeps changing while it is read", file=shown(path), remedy="Try again.")


def read_bytes(root: str, path: str, *, limit: int = LIMITS.file_bytes) -> tuple[bytes, Stamp] | None:
    """Bytes and stamp of a plain file below `root`, or None where there is none.

    Raises MemoryFileError for a link, directory, FIFO, socket, device, an unreadable file, a file over `limit`
    bytes, or one that a writer keeps changing under our hands.
    """
    return visit(root, path, lambda descriptor: _read_open(descriptor, path, limit))


def visit(
    root: str, path: str, look: Callable[[int], Found | None], retries: int = LIMITS.read_retries
) -> Found | None:
    """What `look` finds in the file below `root`, opened without following a link, or None where there is none.

    `look` is given the descriptor, and gives None where the file changed meanwhile: then it is opened anew, at most
    `retries` times in all. Raises MemoryFileError for what cannot be opened or read, or keeps changing.
    """
    try:
        with parent(root, path) as (directory, name):
            for _attempt in range(retries):
                try:
                    descriptor = os.open(name, _FILE, dir_fd=directory)
                except FileNotFoundError:
                    raise
                except OSError as error:
                    raise refusal(path, error, directory, name) from error
                try:
                    found = look(descriptor)
                finally:
                    os.close(descriptor)
                if found is not None:
                    return found
    except FileNotFoundError:
        return None
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(f"cannot be read: {cause_of(error)}", file=shown(path)) from error
    raise _unsteady(path)


def _read_open(descriptor: int, path: str, limit: int) -> tuple[bytes, Stamp] | None:
    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        raise MemoryFileError(
            f"is {kind_of(before.st_mode) or 'no plain file'}", file=shown(path), remedy="Put a plain file there."
        )
    chunks, total = [], 0
    while total <= limit:
        chunk = os.read(descriptor, min(1 << 20, limit + 1 - total))
        if not chunk:
            break
        chunks.append(chunk)
        total += len(chunk)
    if total > limit:
        raise MemoryFileError(f"is larger than {limit} bytes", file=shown(path), remedy="Split it up.")
    after = Stamp.of(os.fstat(descriptor))
    if after != Stamp.of(before) or total != after.size:
        return None
    return b"".join(chunks), after


def read_text(root: str, path: str, *, limits: Limits = LIMITS) -> MemoryText | None:
    """A memory file as text, or None where there is none; raises MemoryFileError as `read_bytes` does, and for
    bytes that are no text.

    Never half of a save. An editor that writes in place empties the file first, and one that moves the old file to
    `NAME~` leaves none for a moment; both look whole. So a file that changed in the last 50 ms is read again until two
    reads, 50 ms apart, find the same; the fifth read is the last. A file whose writer stands still for longer than
    that in the middle of its save cannot be told from a finished one.
    """
    from hashlib import sha256

    found = read_settled(root, path, limits.file_bytes)
    if found is None:
        return None
    data, seen = found
    text, note = decode(data, shown(path))
    return MemoryText(text, sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), seen, note)


def read_settled(root: str, path: str, limit: int) -> tuple[bytes, Stamp] | None:
    """Bytes and stamp of a file that nobody is in the middle of saving, as `read_text` waits for it; None where there
    is none. Raises MemoryFileError as `read_bytes` does."""
    before: list[Stamp | None] = []
    for reads in range(_SETTLE_READS):
        if reads:
            _pause(_SETTLE_NS / 1e9)
        found = read_bytes(root, path, limit=limit)
        now = found[1] if found else None
        if before == [now] or not _is_fresh(root, path, now):
            return found
        before = [now]
    raise _unsteady(path)


def _is_fresh(root: str, path: str, seen: Stamp | None) -> bool:
    """Whether a file changed so lately that a save may not be over.

    Of a file that is not there: whether its folder did, and holds what editors move it away to.
    """
    try:
        if seen is None and stamp(root, path + "~") is not None:
            seen = stamp(root, path.rpartition("/")[0])
    except MemoryFileError:
        return False
    return seen is not None and abs(_now_ns() - seen.mtime_ns) < _SETTLE_NS


def _pause(seconds: float) -> None:
    time.sleep(seconds)


def _now_ns() -> int:
    return time.time_ns()


def replace_bytes(
    root: str, path: str, data: bytes, *, mode: int = 0o600, expected: Stamp | None = None
) -> bool:  # fmt: skip
    """Put `data` at `path`, whole or not at all: beside it, flushed, renamed over it, the directory flushed.

    The caller holds the lock of this file: the temporary has one fixed name, so that the next holder reclaims what
    a killed one left. An existing file keeps its mode, and its owner where we may say so. False, with the file as
    another program put it there, where it has another stamp than the one `expected` once the temporary is on disk.
    Raises MemoryFileError; the old file is then untouched, unless the error says that the new one is there already.
    """
    try:
        with parent(root, path, create=True) as (directory, name):
            temporary = f".{name}.apm-tmp"
            owner: os.stat_result | None = None
            with suppress(FileNotFoundError):
                owner = os.stat(name, dir_fd=directory, follow_symlinks=False)
                if not stat.S_ISREG(owner.st_mode):
                    raise refusal(path, OSError(0, "is no plain file"), directory, name)
                mode = stat.S_IMODE(owner.st_mode)
            _write_beside(directory, temporary, data, mode, owner)
            try:
                # As late as can be: who saves the file from here on has not seen what takes its place.
                if expected is not None and not _is_still(directory, name, expected):
                    os.unlink(temporary, dir_fd=directory)
                    return False
                os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=directory)
                raise
            try:
                os.fsync(directory)
            except OSError as error:
                cause = f"is written, but a power cut may bring the old file back: {cause_of(error)}"
                raise MemoryFileError(cause, file=shown(path), remedy="Check the disk.") from error
            return True
    except MemoryFileError:
        raise
    except OSError as error:
        raise unwritable(path, error) from error


def _is_still(directory: int, name: str, expected: Stamp) -> bool:
    try:
        return Stamp.of(os.stat(name, dir_fd=directory, follow_symlinks=False)) == expected
    except FileNotFoundError:
        return False


def create_absent(root: str, path: str, data: bytes, *, mode: int = 0o644) -> bool:
    """Create `path` with `data` only if nothing stands there; False where something does. Whole or not at all,
    also when two processes race without a lock: a finished file is linked into place, and a link never replaces."""
    try:
        with parent(root, path, create=True) as (directory, name):
            with suppress(FileNotFoundError):
                os.stat(name, dir_fd=directory, follow_symlinks=False)
                return False
            try:
                _link_new(directory, name, data, mode)
            except FileExistsError:
                return False
            os.fsync(directory)
            return True
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(f"cannot be created: {error.strerror}", file=shown(path)) from error


def _link_new(directory: int, name: str, data: bytes, mode: int) -> None:
    """Write a file without a name and link it in: a killed writer leaves nothing behind. Where the file system has
    no nameless files, one with a random name serves."""
    try:
        descriptor = os.open(".", os.O_WRONLY | os.O_TMPFILE | os.O_CLOEXEC, mode, dir_fd=directory)
    except (OSError, AttributeError):
        temporary = f".{name}.{os.urandom(6).hex()}.apm-tmp"
        _write_beside(directory, temporary, data, mode)
        try:
            os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
        finally:
            os.unlink(temporary, dir_fd=directory)
        return
    try:
        _write_all(descriptor, data, mode)
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=directory, follow_symlinks=True)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes, mode: int, owner: os.stat_result | None = None) -> None:
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        if not written:
            raise OSError(errno.EIO, "nothing more is taken")
        view = view[written:]
    if owner is not None and os.geteuid() == 0:
        with suppress(OSError):
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    os.fchmod(descriptor, mode)
    os.fsync(descriptor)


def _write_beside(directory: int, temporary: str, data: bytes, mode: int, owner: os.stat_result | None = None) -> None:
    with suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=directory)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=directory)
    try:
        try:
            _write_all(descriptor, data, mode, owner)
        finally:
            os.close(descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


STATE = ".apm"


def state_directory(root: str, name: str) -> str:
    """`.apm/NAME` below `root`, each folder made with mode 0700 where it is absent, with a `.gitignore` that keeps all
    of `.apm/` out of a repository. Returns its path below `root`; a link or file in its place raises MemoryFileError.
    """
    _make_private(root, STATE)
    create_absent(root, f"{STATE}/.gitignore", b"*\n", mode=0o600)
    made = STATE
    for part in name.split("/"):
        made = f"{made}/{part}"
        _make_private(root, made)
    return made


def _make_private(root: str, path: str) -> None:
    try:
        with parent(root, path) as (directory, name):
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=directory)
            os.close(os.open(name, DIRECTORY, dir_fd=directory))
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(f"cannot be made a directory: {error.strerror}", file=shown(path)) from error


def open_to_append(root: str, path: str, *, create: bool = False) -> int:
    """A descriptor that appends to a plain file of ours, created with mode 0600; the caller closes it.

    `create` makes what folders are missing; without it, raises FileNotFoundError where one is absent. Raises
    MemoryFileError for anything that is no plain file, and for what the system refuses.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with parent(root, path, create=create) as (directory, name):
            try:
                descriptor = os.open(name, flags, 0o600, dir_fd=directory)
            except OSError as error:
                if error.errno in UNWRITABLE:
                    raise unwritable(path, error) from error
                raise refusal(path, error, directory, name) from error
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
    except (MemoryFileError, FileNotFoundError):
        raise
    except OSError as error:
        raise unwritable(path, error) from error
    raise MemoryFileError("is no plain file", file=shown(path), remedy="Put a plain file there.")


def append_line(root: str, path: str, line: bytes) -> None:
    """Add one line to a file of ours with a single write, creating it; raises MemoryFileError."""
    try:
        descriptor = open_to_append(root, path)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(f"cannot be written: {error.strerror}", file=shown(path)) from error
