"""Opening a path below a root, component by component from a directory descriptor, so that no link is followed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from apm_hooks.errors import MemoryFileError

DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

UNWRITABLE = {
    **dict.fromkeys((errno.EACCES, errno.EPERM), "Give this user the right to write in its folder."),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Free some space."),
    **dict.fromkeys((errno.EBUSY, errno.EXDEV),
                    "Is it mounted by itself, as containers do with single files? Mount its folder instead."),
    errno.EROFS: "Mount its file system so that it can be written.",
}  # fmt: skip
"""What the system says of a file that cannot be written, and what a person can do about it."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What `stat` says of a file, compared with "not equal", never "newer than"; times in nanoseconds."""

    device: int
    inode: int
    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns,
                   status.st_ctime_ns)  # fmt: skip


def _split(path: str) -> list[str]:
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise MemoryFileError("not a plain path inside the workspace", file=shown(path))
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise MemoryFileError("holds what no file name can", file=shown(path)) from None
    return parts


def shown(path: str) -> str:
    """A path for an error: as it is where it can be printed, else with escapes."""
    return path.encode("unicode_escape", "backslashreplace").decode("ascii") if not path.isprintable() else path


def kind_of(mode: int) -> str:
    """What a file's mode says it is, in words (`a FIFO`); empty for a plain file."""
    return next((kind for test, kind in _KINDS if test(mode)), "")


def cause_of(error: OSError) -> str:
    """The system's own words for what went wrong."""
    return error.strerror or type(error).__name__


def refusal(
    path: str, error: OSError, directory: int | None, name: str, *, expected: str = "a plain file"
) -> MemoryFileError:
    """Say what stands at a path that could not be opened, in words a person can act on; `expected` is what should."""
    cause = cause_of(error)
    with suppress(OSError, ValueError):
        kind = kind_of(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)
        cause = f"is {kind}" if kind and kind != expected else cause
    return MemoryFileError(cause, file=shown(path), remedy=f"Put {expected} there.")


def unwritable(path: str, error: OSError) -> MemoryFileError:
    """Say why a file could not be written, in words a person can act on."""
    remedy = UNWRITABLE.get(error.errno or 0, "Put a plain file there.")
    return MemoryFileError(f"cannot be written: {cause_of(error)}", file=shown(path), remedy=remedy)


@contextmanager
def parent(root: str, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """The open directory that holds `path`, and the name in it, as (descriptor, name); no link on the way is followed.

    `create` makes what directories are missing. Raises FileNotFoundError where one is missing, MemoryFileError where
    something else stands in its place, and for a path that is not plain, relative and inside `root`.
    """
    *parents, name = _split(path)
    try:
        current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise MemoryFileError(cause_of(error), file=root) from error
    try:
        for depth, part in enumerate(parents, 1):
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o777, dir_fd=current)
            try:
                following = os.open(part, DIRECTORY, dir_fd=current)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise refusal("/".join(parents[:depth]), error, current, part, expected="a directory") from error
            passed, current = current, following
            os.close(passed)
        yield current, name
    finally:
        os.close(current)
