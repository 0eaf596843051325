"""What the tests of walking and scanning share."""

from __future__ import annotations

import errno
import os
import socket
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apm_hooks.delta import Stat
from apm_hooks.flushrecords import Book, Delta
from apm_hooks.records import DM, LIMITS, Limits, Scope, ScopeKind
from apm_hooks.scanning import compare

X = Scope(ScopeKind.GROUP, "x")
OPS = Scope(ScopeKind.GROUP, "team/ops")


def later() -> int:
    """A time at which every stamp of now is believed."""
    return time.time_ns() + 10 * LIMITS.racy_ns


def put(root: Path, path: str, text: str | bytes = "text") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def look(
    root: Path, book: Book | None = None, scope: Scope = DM, *, limits: Limits = LIMITS,
    now_ns: Callable[[], int] = later, cache: dict[tuple[str, Stat], str] | None = None,
) -> tuple[Book, Delta]:  # fmt: skip
    """The next book, and what changed since the one given."""
    before = book or Book()
    files, gone, delta = compare(
        str(root), scope, before, generation=before.generation + 1, limits=limits, cache=cache, now_ns=now_ns
    )
    return Book(generation=before.generation + 1, files=files, gone=gone), delta


def rewrite(path: Path, text: str, mtime_ns: int) -> None:
    """Change a file and give it that time, at a later tick of the file system's clock than its last change."""
    before = path.stat().st_ctime_ns
    while path.stat().st_ctime_ns == before:
        path.write_text(text)
        os.utime(path, ns=(mtime_ns, mtime_ns))


def opening(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], None], times: int = 1) -> list[str]:
    """Let `act` happen right before `name` is opened, so many times; returns the list that names what is opened."""
    real, opened, left = os.open, list[str](), [times]

    def spied(path: Any, *args: Any, **kwargs: Any) -> int:
        opened.append(str(path))
        if path == name and left[0]:
            left[0] -= 1
            act()
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", spied)
    return opened


def failing(code: int) -> Callable[[], None]:
    def fail() -> None:
        raise OSError(code, os.strerror(code))

    return fail


@contextmanager
def no_descriptor_left() -> Iterator[None]:
    before = os.listdir("/proc/self/fd")
    yield
    assert os.listdir("/proc/self/fd") == before


KINDS = ("a symbolic link", "a link to a folder", "a FIFO", "a socket", "a device")


def place(kind: str, path: Path, outside: Path) -> str:
    """Put something else at `path`, and say what: where nobody may make a device, a link to one serves."""
    match kind:
        case "a symbolic link":
            path.symlink_to(put(outside, "secret.md", "secret"))
        case "a link to a folder":
            put(outside, "folder/secret.md", "secret")
            path.symlink_to(outside / "folder")
            return "a symbolic link"
        case "a FIFO":
            os.mkfifo(path)
        case "a socket":
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(str(path))
        case "a device":
            try:
                os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
            except PermissionError:
                path.symlink_to("/dev/zero")
                return "a symbolic link"
    return kind


@contextmanager
def as_nobody() -> Iterator[Path]:
    """A folder of one who is not root, so that modes count."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        user = os.geteuid()
        if user == 0:
            os.chown(folder, 65534, -1)
            os.seteuid(65534)
        try:
            yield folder
        finally:
            if user == 0:
                os.seteuid(user)


class Listing:
    """A listing that leaves names out, fails after so many entries, or whose entries cannot be looked at."""

    def __init__(
        self, real: Any, *, without: str = "", fails_after: int = -1, unseen: str = "", code: int = errno.EIO
    ) -> None:
        self.real, self.without, self.fails_after, self.unseen, self.code = real, without, fails_after, unseen, code

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *_: object) -> None:
        self.real.close()

    def __iter__(self) -> Iterator[Any]:
        for number, entry in enumerate(self.real):
            if number == self.fails_after:
                failing(errno.EIO)()
            if entry.name == self.unseen:
                yield Unseen(entry.name, self.code)
            elif entry.name != self.without:
                yield entry


class Unseen:
    def __init__(self, name: str, code: int) -> None:
        self.name, self.code = name, code

    def stat(self, *, follow_symlinks: bool) -> os.stat_result:
        raise OSError(self.code, os.strerror(self.code))


def listing(monkeypatch: pytest.MonkeyPatch, name: str, **how: Any) -> None:
    """Change how the folder `name` is listed."""
    real = os.scandir

    def scandir(folder: int) -> Any:
        there = os.path.basename(os.readlink(f"/proc/self/fd/{folder}"))
        return Listing(real(folder), **how) if there == name else real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
