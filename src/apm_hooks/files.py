"""The only door to memory files: bounded reads that follow no link, decoding with a stated rule, durable writes.

Every path is opened component by component from a directory descriptor, so that no symbolic link below the
workspace is ever followed, even when one is swapped in between two calls (protocol, section 3).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from apm_hooks.errors import MemoryFileError
from apm_hooks.records import LIMITS, Limits

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY

_KINDS = (
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


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


@dataclass(frozen=True, slots=True)
class MemoryText:
    """A file as text: line ends are LF, a BOM is gone. `digest` is the SHA-256 of the bytes, `note` says what
    was odd about the encoding (empty: nothing)."""

    text: str
    digest: str
    stamp: Stamp
    note: str = ""


def _split(path: str) -> list[str]:
    parts = path.split("/")
    if not path or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise MemoryFileError("not a plain path inside the workspace", file=_shown(path))
    return parts


def _shown(path: str) -> str:
    return path.encode("unicode_escape", "backslashreplace").decode("ascii") if not path.isprintable() else path


def _refusal(path: str, error: OSError, directory: int | None, name: str) -> MemoryFileError:
    """Say what stands at a path that could not be opened, in words a person can act on."""
    cause = error.strerror or type(error).__name__
    with suppress(OSError, ValueError):
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        for test, kind in _KINDS:
            if test(mode):
                cause = f"is {kind}"
    return MemoryFileError(cause, file=_shown(path), remedy="Put a plain file there.")


@contextmanager
def _parent(root: str, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
    """Open the directory that holds `path`, link by link without following any; yields (descriptor, name)."""
    *parents, name = _split(path)
    try:
        current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise MemoryFileError(error.strerror or "cannot be opened", file=root) from error
    try:
        for depth, part in enumerate(parents, 1):
            if create:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o777, dir_fd=current)
            try:
                following = os.open(part, _DIRECTORY, dir_fd=current)
            except FileNotFoundError:
                raise
            except OSError as error:
                raise _refusal("/".join(parents[:depth]), error, current, part) from error
            os.close(current)
            current = following
        yield current, name
    finally:
        os.close(current)


def stamp(root: str, path: str) -> Stamp | None:
    """The stamp of what stands at `path` (a link is stamped itself); None where nothing does."""
    try:
        with _parent(root, path) as (directory, name):
            return Stamp.of(os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return None


def read_bytes(root: str, path: str, *, limit: int = LIMITS.file_bytes) -> tuple[bytes, Stamp] | None:
    """Bytes and stamp of a plain file below `root`, or None where there is none.

    Raises MemoryFileError for a link, directory, FIFO, socket, device, an unreadable file, a file over `limit`
    bytes, or one that a writer keeps changing under our hands.
    """
    try:
        with _parent(root, path) as (directory, name):
            for _attempt in range(LIMITS.read_retries):
                try:
                    descriptor = os.open(name, _FILE, dir_fd=directory)
                except FileNotFoundError:
                    raise
                except OSError as error:
                    raise _refusal(path, error, directory, name) from error
                try:
                    found = _read_open(descriptor, path, limit)
                finally:
                    os.close(descriptor)
                if found is not None:
                    return found
    except FileNotFoundError:
        return None
    raise MemoryFileError("keeps changing while it is read", file=_shown(path), remedy="Try again.")


def _read_open(descriptor: int, path: str, limit: int) -> tuple[bytes, Stamp] | None:
    before = os.fstat(descriptor)
    if not stat.S_ISREG(before.st_mode):
        kind = next((kind for test, kind in _KINDS if test(before.st_mode)), "no plain file")
        raise MemoryFileError(f"is {kind}", file=_shown(path), remedy="Put a plain file there.")
    chunks, total = [], 0
    while total <= limit:
        chunk = os.read(descriptor, min(1 << 20, limit + 1 - total))
        if not chunk:
            break
        chunks.append(chunk)
        total += len(chunk)
    if total > limit:
        raise MemoryFileError(f"is larger than {limit} bytes", file=_shown(path), remedy="Split it up.")
    after = Stamp.of(os.fstat(descriptor))
    if after != Stamp.of(before) or total != after.size:
        return None
    return b"".join(chunks), after


def read_text(root: str, path: str, *, limits: Limits = LIMITS) -> MemoryText | None:
    """A memory file as text, or None where there is none; raises MemoryFileError as `read_bytes` does, and for
    bytes that are no text."""
    from hashlib import sha256

    found = read_bytes(root, path, limit=limits.file_bytes)
    if found is None:
        return None
    data, seen = found
    text, note = decode(data, path)
    return MemoryText(text, sha256(data).hexdigest(), seen, note)


def decode(data: bytes, path: str = "") -> tuple[str, str]:
    """Text of `data` with LF line ends, and a note on what was odd (empty: nothing).

    UTF-8, with or without BOM; UTF-16 with BOM; UTF-8 with a UTF-16LE tail (what a Windows shell's `>>` leaves);
    stray bytes in otherwise good UTF-8 are shown as `\\xNN`. Anything else raises MemoryFileError: it is no text.
    """
    note = ""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        text, note = data.decode("utf-16", "replace"), "UTF-16"
    else:
        body = data.removeprefix(b"\xef\xbb\xbf")
        try:
            text = body.decode("utf-8")
            odd = "\0" in text
        except UnicodeDecodeError:
            text, odd = "", True
        if odd:
            text, note = _decode_odd(body, path)
    return text.replace("\r\n", "\n").replace("\r", "\n"), note


def _decode_odd(body: bytes, path: str) -> tuple[str, str]:
    try:
        body.decode("utf-8")
        bad = body.index(b"\0")
    except UnicodeDecodeError as error:
        nul = body.find(b"\0")
        bad = error.start if nul < 0 else min(error.start, nul)
    line = body.rfind(b"\n", 0, bad) + 1
    # An appended UTF-16 letter is its low byte, then NUL: its tail starts one byte before the first NUL. It mostly
    # starts a line, and the first wide characters may look like ASCII: a few such bytes belong to the tail.
    plain = body[line : max(bad - 1, line)]
    starts = (bad - 1, bad, line) if len(plain) > 6 and plain.isascii() else (line, bad - 1, bad)
    for start in (start for start in starts if start >= 0):
        tail = _wide(body[start:])
        if tail is not None:
            return body[:start].decode("utf-8", "backslashreplace") + tail, "UTF-8 with a UTF-16LE tail"
    text = body.decode("utf-8", "backslashreplace")
    strange = text.count("\0") + text.count("\\x") - body.count(b"\\x")
    if strange * 10 > len(body):
        raise MemoryFileError("is no text", file=_shown(path), remedy="Save it as UTF-8.")
    return text, "bytes that are not UTF-8"


def _wide(tail: bytes) -> str | None:
    """`tail` as UTF-16LE if it plainly is: hardly any character is one that no person writes."""
    if len(tail) < 4:
        return None
    text = tail[: len(tail) // 2 * 2].decode("utf-16-le", "replace")
    strange = sum(1 for char in text if char == "\ufffd" or (char < " " and char not in "\t\r\n")
                  or "\ue000" <= char <= "\uf8ff")  # fmt: skip
    newlines = text.count("\n") + text.count("\r")
    plain = sum(1 for char in text if char < "\u3000" or "\u3400" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3"
                or "\uff00" <= char <= "\uffef" or "\u3000" <= char <= "\u30ff")  # fmt: skip
    if strange * 50 > len(text) or plain * 10 < len(text) * 9:
        return None
    if tail.count(b"\0") * 4 < len(tail) and not newlines:
        return None
    return text


def replace_bytes(root: str, path: str, data: bytes, *, mode: int = 0o600) -> None:
    """Put `data` at `path`, whole or not at all: beside it, flushed, renamed over it, the directory flushed.

    The caller holds the lock of this file: the temporary has one fixed name, so that the next holder reclaims what
    a killed one left. An existing file keeps its mode. Raises MemoryFileError; the old file is then untouched.
    """
    try:
        with _parent(root, path, create=True) as (directory, name):
            temporary = f".{name}.apm-tmp"
            try:
                current = os.stat(name, dir_fd=directory, follow_symlinks=False)
            except FileNotFoundError:
                pass
            else:
                if not stat.S_ISREG(current.st_mode):
                    raise _refusal(path, OSError(0, "is no plain file"), directory, name)
                mode = stat.S_IMODE(current.st_mode)
            _write_beside(directory, temporary, data, mode)
            try:
                os.replace(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            except OSError:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=directory)
                raise
            os.fsync(directory)
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(f"cannot be written: {error.strerror}", file=_shown(path)) from error


def create_absent(root: str, path: str, data: bytes, *, mode: int = 0o644) -> bool:
    """Create `path` with `data` only if nothing stands there; False where something does. Whole or not at all,
    also when two processes race without a lock: a finished file is linked into place, and a link never replaces."""
    try:
        with _parent(root, path, create=True) as (directory, name):
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
        raise MemoryFileError(f"cannot be created: {error.strerror}", file=_shown(path)) from error


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


def _write_all(descriptor: int, data: bytes, mode: int) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fchmod(descriptor, mode)
    os.fsync(descriptor)


def _write_beside(directory: int, temporary: str, data: bytes, mode: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=directory)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, 0o600, dir_fd=directory)
    try:
        try:
            _write_all(descriptor, data, mode)
        finally:
            os.close(descriptor)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


STATE = ".apm"


def state_directory(root: str, name: str) -> str:
    """`.apm/NAME` below `root`, made with mode 0700 where it is absent, with a `.gitignore` that keeps all of
    `.apm/` out of a repository. Returns its path below `root`; a link or file in its place raises MemoryFileError."""
    _make_private(root, STATE)
    create_absent(root, f"{STATE}/.gitignore", b"*\n", mode=0o600)
    _make_private(root, f"{STATE}/{name}")
    return f"{STATE}/{name}"


def _make_private(root: str, path: str) -> None:
    try:
        with _parent(root, path) as (directory, name):
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=directory)
            os.close(os.open(name, _DIRECTORY, dir_fd=directory))
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(f"cannot be made a directory: {error.strerror}", file=_shown(path)) from error


def open_to_append(root: str, path: str) -> int:
    """A descriptor that appends to a plain file of ours, created with mode 0600; the caller closes it.

    Raises FileNotFoundError where a folder on the way is absent, MemoryFileError for anything that is no plain file.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with _parent(root, path) as (directory, name):
        try:
            descriptor = os.open(name, flags, 0o600, dir_fd=directory)
        except OSError as error:
            raise _refusal(path, error, directory, name) from error
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise MemoryFileError("is no plain file", file=_shown(path), remedy="Put a plain file there.")


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
        raise MemoryFileError(f"cannot be written: {error.strerror}", file=_shown(path)) from error
