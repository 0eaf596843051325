"""Something else where the state, its lock or its temporary should be: no hang, no write elsewhere; what stands there
is named, and stays."""

from __future__ import annotations

import os
import signal
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kernel.processes import Done, Server
from tests.kernel.tools import LOCK, STATE, TEMPORARY, flushes, fresh, litter, need, number_of
from tests.workspaces import Bench

OTHERS = "nobody may touch this\n"


def fifo(path: Path, _: Path) -> None:
    os.mkfifo(path)


def link(path: Path, outside: Path) -> None:
    path.symlink_to(outside)


def dead_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside.with_name("nothing"))


def directory(path: Path, _: Path) -> None:
    path.mkdir()
    (path / "kept").touch()


def listening(path: Path, _: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        # A path to a socket has at most 107 bytes.
        here = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        bound.bind(f"/proc/self/fd/{here}/{path.name}")
        os.close(here)


def device(path: Path, _: Path) -> None:
    need(root=True)
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 7))


KINDS = {"a FIFO": fifo, "a symbolic link": link, "a symbolic link to nothing": dead_link, "a directory": directory,
         "a socket": listening, "a device": device}  # fmt: skip
Put = Callable[[Path, Path], None]


def outside_of(folder: Path) -> Path:
    outside = folder / "outside"
    outside.write_text(OTHERS)
    return outside


def kind_at(path: Path) -> int:
    return stat.S_IFMT(path.lstat().st_mode)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", [STATE, LOCK])
def test_what_is_no_plain_file_is_refused_and_named(tmp_path: Path, server: Server, place: str, kind: str) -> None:
    made, outside = fresh(tmp_path, server), outside_of(tmp_path)
    path = made.root / place
    kept = path.with_name("kept")
    path.rename(kept)
    KINDS[kind](path, outside)
    before = kind_at(path)
    for action in ("flush", "settle"):
        done = server.run(made, action)
        assert done.code == 3, done.said
        named = "no plain file" if (place, kind) == (LOCK, "a device") else kind.removesuffix(" to nothing")
        assert f"{place}: is {named}. Put a plain file there." in done.said
    assert kind_at(path) == before
    assert outside.read_text() == OTHERS
    assert not outside.with_name("nothing").exists()
    away(path)
    kept.rename(path)
    flushes(server, made, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_where_the_temporary_goes(tmp_path: Path, server: Server, kind: str) -> None:
    """It is of our own name, so it is taken away; but for a directory, which may hold something."""
    made, outside = fresh(tmp_path, server), outside_of(tmp_path)
    path = made.root / TEMPORARY
    KINDS[kind](path, outside)
    done = server.run(made)
    if kind == "a directory":
        assert (done.code, number_of(made)) == (3, 1), done.said
        assert f"{STATE}: cannot be written" in done.said
        assert (path / "kept").exists()
        away(path)
    assert outside.read_text() == OTHERS
    assert not outside.with_name("nothing").exists()
    flushes(server, made, number_of(made))


def away(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        (path / "kept").unlink()
        path.rmdir()
    else:
        path.unlink()


def swapped(server: Server, made: Bench, call: str, path: str, swap: Callable[[], None]) -> Done:
    """A flush in whose middle something is swapped: after the first such call on `path`."""
    need("strace")
    with server.child(made) as child:
        tracer = child.trace("-P", path, "-e", f"trace={call}", "-e", f"inject={call}:signal=STOP:when=1")
        child.go()
        tracer.until("--- stopped by SIGSTOP ---")
        swap()
        child.kill(signal.SIGCONT)
        return child.wait()


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_that_becomes_something_else_under_the_lock(tmp_path: Path, server: Server, kind: str) -> None:
    made, outside = fresh(tmp_path, server), outside_of(tmp_path)
    path = made.root / STATE

    def swap() -> None:
        path.rename(path.with_name("kept"))
        KINDS[kind](path, outside)

    done = swapped(server, made, "flock", str(made.root / LOCK), swap)
    assert done.code == 3, done.said
    assert f"{STATE}: is {kind.removesuffix(' to nothing')}" in done.said
    assert outside.read_text() == OTHERS
    away(path)
    path.with_name("kept").rename(path)
    assert litter(made) == []
    flushes(server, made, 1)


@pytest.mark.parametrize(("call", "name"), [("flock", LOCK), ("fsync", TEMPORARY)])
def test_a_folder_that_becomes_a_link_under_the_lock(tmp_path: Path, server: Server, call: str, name: str) -> None:
    """What is written goes into the folder that was locked, or nowhere; never behind the link."""
    made = fresh(tmp_path, server)
    memory, outside = made.root / "memory", tmp_path / "outside"
    (outside / "main").mkdir(parents=True)
    (outside / Path(STATE).name).write_text(OTHERS)

    def swap() -> None:
        memory.rename(made.root / "moved")
        memory.symlink_to(outside)

    done = swapped(server, made, call, str(made.root / name), swap)
    assert "Traceback" not in done.said
    found = sorted(str(path.relative_to(outside)) for path in outside.rglob("*"))
    assert found == [Path(STATE).name, "main"]
    assert (outside / Path(STATE).name).read_text() == OTHERS
    memory.unlink()
    (made.root / "moved").rename(memory)
    assert number_of(made) == (2 if done.code == 0 else 1), done.said
    flushes(server, made, number_of(made))
