"""Small files of one size, each changed by one write under its own lock, and read without any.

A file holds one flat JSON object, padded. The number of its latest change stands at both ends: a reader who comes in
the middle of a write sees two numbers, and so no object. A file goes only under its lock; whoever opened it before and
waits for the lock then sees that it lost its name, and begins anew.

The fast lane loads this file in a bare interpreter, so it imports nothing of ours.
"""

import errno
import fcntl
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

SIZE = 4096
"""Bytes of a file: a page, which a file system writes whole or not at all."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_LOCK_SECONDS = 0.25
_TRIES = 64


def loads(text: str) -> "Any":
    """A JSON value by the `json` package, which a bare interpreter would load for this alone."""
    import json

    return json.loads(text)


def encode(fields: "Mapping[str, Any]", number: int) -> bytes | None:
    """The bytes of a file for plain values by name; None where they do not fit. Raises ValueError for other values."""
    inner = (f"{_quoted(name)}:{_literal(value)}" for name, value in fields.items())
    text = ",".join((f'{{"write":{number}', *inner, f'"again":{number}}}'))
    return text.encode("ascii").ljust(SIZE - 1) + b"\n" if len(text) < SIZE else None


def decode(data: bytes, parse: "Callable[[str], Any]" = loads) -> "tuple[dict[str, Any], int] | None":
    """The values in a file's bytes, and the number of the change that wrote them; None where that is not certain."""
    try:
        fields = parse(data.decode("ascii"))
        number, again = fields.pop("write"), fields.pop("again")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return (fields, number) if type(number) is int and number == again and len(data) <= SIZE else None


def _literal(value: object) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int) or (isinstance(value, float) and abs(value) < float("inf")):
        return repr(value)
    raise ValueError(f"{value!r} is no plain value")


def _quoted(text: str) -> str:
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import py_encode_basestring_ascii as encode_basestring_ascii
    return encode_basestring_ascii(text)


def _open_folder(root: str, parts: "Sequence[str]", *, create: bool = False) -> int:
    """A descriptor of the folder `parts` below `root`, opened part by part so that no link is followed. `create` makes
    what is missing, with mode 0700, on disk when this returns."""
    current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            if "/" in part or part in ("", ".", ".."):
                raise OSError(errno.EINVAL, "is no name", part)
            made = create and _made(part, current)
            following = os.open(part, _FOLDER, dir_fd=current)
            if made:
                if part == ".apm":
                    _keep_out_of_repositories(following)
                os.fsync(current)
            current, passed = following, current
            os.close(passed)
    except OSError:
        os.close(current)
        raise
    return current


def _made(part: str, directory: int) -> bool:
    try:
        os.mkdir(part, 0o700, dir_fd=directory)
    except FileExistsError:
        return False
    return True


def _keep_out_of_repositories(directory: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(".gitignore", flags, 0o600, dir_fd=directory)
    try:
        os.write(descriptor, b"*\n")
    finally:
        os.close(descriptor)


def names(root: str, parts: "Sequence[str]") -> list[str]:
    """What in the folder `parts` is named by a hash of 32 digits, sorted; nothing where there is no such folder."""
    try:
        directory = _open_folder(root, parts)
    except OSError:
        return []
    try:
        return sorted(name for name in os.listdir(directory) if len(name) == 32 and not name.strip("0123456789abcdef"))
    finally:
        os.close(directory)


def read(root: str, parts: "Sequence[str]", name: str) -> bytes | None:
    """The bytes of a file, without its lock; None for no file, and for one that others could have written."""
    try:
        directory = _open_folder(root, parts)
    except OSError:
        return None
    try:
        descriptor = os.open(name, os.O_RDONLY | _FILE, dir_fd=directory)
        try:
            return os.read(descriptor, SIZE + 1) if _is_private(os.fstat(descriptor)) else None
        finally:
            os.close(descriptor)
    except OSError:
        return None
    finally:
        os.close(directory)


def change(
    root: str, parts: "Sequence[str]", name: str, transform: "Callable[[bytes], bytes | None]", *, create: bool = False
) -> bool:
    """Put what `transform` makes of a file's bytes in their place, as one step for all who change it.

    `create` makes a file that is not there, of no bytes at first, and its folders; its first content is on disk when
    this returns. False where nothing was written: `transform` gave None, there is no file, or its lock did not come in
    time. Raises OSError.
    """
    try:
        directory = _open_folder(root, parts, create=create)
    except FileNotFoundError:
        return False
    try:
        descriptor = _open_locked(directory, name, os.O_RDWR | (os.O_CREAT if create else 0))
        if descriptor is None:
            return False
        try:
            return _transformed(descriptor, directory, name, transform, create=create)
        finally:
            os.close(descriptor)
    finally:
        os.close(directory)


def _transformed(
    descriptor: int, directory: int, name: str, transform: "Callable[[bytes], bytes | None]", *, create: bool
) -> bool:
    old = os.pread(descriptor, SIZE + 1, 0)
    written = False
    try:
        new = transform(old)
        if new is not None:
            if os.pwrite(descriptor, new, 0) != len(new):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)
            if len(old) > len(new):
                os.ftruncate(descriptor, len(new))
            written = True
    finally:
        if create and not old and not written:
            # Made for this change, which did not come.
            os.unlink(name, dir_fd=directory)
    if written and not old:
        os.fsync(descriptor)
        os.fsync(directory)
    return written


def inspect(
    root: str, parts: "Sequence[str]", name: str, accepts: "Callable[[bytes], bool]", *, unlink: bool = False
) -> bool:
    """Whether `accepts` says yes to a file's bytes, under its lock; with `unlink` the file then goes. What is no plain
    file of our own has the bytes `?`. False where there is no file or its lock did not come. Raises OSError."""
    try:
        directory = _open_folder(root, parts)
    except FileNotFoundError:
        return False
    descriptor = None
    try:
        # None of us writes to what is not ours, so there is nobody to wait for.
        data = b"?"
        if _is_private(os.stat(name, dir_fd=directory, follow_symlinks=False)):
            descriptor = _open_locked(directory, name, os.O_RDWR)
            if descriptor is None:
                return False
            data = os.pread(descriptor, SIZE + 1, 0)
        accepted = accepts(data)
        if accepted and unlink:
            os.unlink(name, dir_fd=directory)
        return accepted
    except FileNotFoundError:
        return False
    finally:
        os.close(directory)
        if descriptor is not None:
            os.close(descriptor)


def _open_locked(directory: int, name: str, flags: int) -> int | None:
    """The file of that name, open and locked; None where there is none or the lock does not come."""
    for _ in range(_TRIES):
        try:
            descriptor = os.open(name, flags | _FILE, 0o600, dir_fd=directory)
        except FileNotFoundError:
            return None
        try:
            status = os.fstat(descriptor)
            if not _is_private(status):
                raise OSError(errno.EPERM, "is no plain file of our own", name)
            if not _lock(descriptor):
                return None
            if _is_named(status, directory, name):
                kept, descriptor = descriptor, -1
                return kept
        finally:
            if descriptor >= 0:
                os.close(descriptor)
    return None


def _lock(descriptor: int) -> bool:
    """Whether the lock came in a time that a host's turn can bear; the kernel frees it when its holder dies."""
    until = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > until:
                return False
            time.sleep(0.001)


def _is_named(status: os.stat_result, directory: int, name: str) -> bool:
    """Whether an open file still is the one of its name: it may have gone while its lock was waited for."""
    try:
        return os.path.samestat(status, os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _is_private(status: os.stat_result) -> bool:
    return status.st_mode & 0o170022 == 0o100000 and status.st_uid in (os.geteuid(), 0)
