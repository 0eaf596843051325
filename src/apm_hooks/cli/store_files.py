"""The files of an export: written whole or not at all, read line by line."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from tempfile import NamedTemporaryFile
from typing import IO

from apm_hooks.errors import MemoryFileError
from apm_hooks.opening import cause_of

STREAM = "-"
_HEAD = "apm-hooks"
_HEAD_BYTES = 4096
_LINE_BYTES = 256 * 1024 * 1024


def write_file(path: str, lines: Iterable[str], kind: str) -> int:
    """Put the lines into a file that only its owner can read; how many there were. Beside it, flushed, renamed over it:
    what stood there stays until all is on disk. Raises MemoryFileError, also where something else than an export of
    this kind stands there."""
    place = os.path.realpath(path)
    _require_ours(place, path, kind)
    count = 0
    try:
        folder, name = os.path.split(place)
        with NamedTemporaryFile("wb", dir=folder, prefix=f".{name[:100]}.", suffix=".apm-tmp", delete=False) as file:
            try:
                for line in lines:
                    file.write(line.encode("utf-8") + b"\n")
                    count += 1
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, place)
            except BaseException:
                with suppress(OSError):
                    os.unlink(file.name)
                raise
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(f"cannot be written: {cause_of(error)}", file=path) from error
    return count


def _require_ours(place: str, path: str, kind: str) -> None:
    """A back-up may take the place of an older one, and of nothing else: not of a memory file, by a slip or a trick."""
    try:
        status = os.lstat(place)
        if not stat.S_ISREG(status.st_mode):
            raise MemoryFileError("is no plain file", file=path, remedy="Name another one, or - for standard output.")
        with open(place, "rb") as file:
            start = file.readline(_HEAD_BYTES)
    except FileNotFoundError:
        return
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(f"cannot be read: {cause_of(error)}", file=path) from error
    try:
        head = json.loads(start)
    except (ValueError, RecursionError):
        head = None
    if status.st_size and not (isinstance(head, dict) and head.get(_HEAD) == kind):
        raise MemoryFileError(
            f"is there already, and no export of {kind}", file=path, remedy="Name another file, or remove it."
        )


def write_stream(lines: Iterable[str]) -> int:
    """Put the lines on standard output, as UTF-8 whatever the terminal has; how many there were. Raises OSError."""
    count = 0
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    sys.stdout.flush()
    for line in lines:
        sys.stdout.buffer.write(line.encode("utf-8") + b"\n")
        count += 1
    sys.stdout.buffer.flush()
    return count


def read_lines(path: str) -> Iterator[str]:
    """The lines of a file, or of standard input for `-`, without holding all of them. Raises MemoryFileError."""
    if path == STREAM:
        yield from _lines(sys.stdin.buffer, "standard input")
        return
    try:
        with open(path, "rb") as file:
            yield from _lines(file, path)
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(f"cannot be read: {cause_of(error)}", file=path) from error


def _lines(stream: IO[bytes], shown: str) -> Iterator[str]:
    number = 0
    while line := stream.readline(_LINE_BYTES + 1):
        number += 1
        if len(line) > _LINE_BYTES:
            raise MemoryFileError(f"has more than {_LINE_BYTES} bytes", file=shown, line=number)
        # What is no text becomes a line that is skipped, and does not end the import.
        yield line.decode("utf-8", "surrogateescape")
