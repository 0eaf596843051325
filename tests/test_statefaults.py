"""Faults of the system, kills and races while a scope's state is written: old or new, whole, and never lost."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from apm_hooks.errors import ApmError, MemoryFileError
from apm_hooks.files import replace_bytes
from apm_hooks.flushrecords import Book
from apm_hooks.flushstate import DM_STATE, read_state, updating
from apm_hooks.locking import locked_at
from apm_hooks.records import DM
from tests.test_statefile import BOOK, TIME
from tests.test_statetext import strict

SOUND = b'{"first": [1e400], "flush_number": 1}'
DAMAGE = b'{"first": [1e400], "flush_number": 1, "x'
CALLS = ("open", "read", "write", "close", "stat", "fstat", "fsync", "fchmod", "replace", "mkdir", "link", "unlink",
         "listdir")  # fmt: skip


class Faulty:
    """Calls to the system that fail from the Nth on: all of them, or that one alone."""

    def __init__(self, patch: pytest.MonkeyPatch, code: int, number: int, *, lasting: bool) -> None:
        self.code, self.left, self.lasting, self.met = code, number, lasting, 0
        for name in CALLS:
            patch.setattr(os, name, self.wrapped(name, getattr(os, name)))
        patch.setattr(fcntl, "flock", self.wrapped("flock", fcntl.flock))

    def wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            self.left -= 1
            if self.left < 0 if self.lasting else self.left == -1:
                self.met += 1
                if name == "close":
                    # The descriptor is gone all the same.
                    real(*arguments, **more)
                raise OSError(self.code, os.strerror(self.code))
            return real(*arguments, **more)

        return call


def litter(root: Path) -> list[str]:
    return [path.name for path in root.rglob("*.apm-tmp")]


def is_free(root: Path) -> bool:
    with locked_at(str(root), DM_STATE + ".lock", seconds=0):
        return True


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE])
@pytest.mark.parametrize("begin", ["absent", "sound", "damaged"])
def test_whichever_call_fails_the_state_is_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, lasting: bool, begin: str
) -> None:
    root, file = str(tmp_path), tmp_path / DM_STATE
    monkeypatch.setattr("apm_hooks.locking._COURTESY", 0)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    file.parent.mkdir()
    for number in range(1_000):
        for path in (file, *tmp_path.glob(".apm/flush/*.json"), *file.parent.glob("*.corrupt-*")):
            path.unlink(missing_ok=True)
        if begin != "absent":
            file.write_bytes(DAMAGE if begin == "damaged" else SOUND)
            os.utime(file, (0, 0))
        old = read_state(root, DM).book.number
        failed = False
        with monkeypatch.context() as patch:
            faults = Faulty(patch, code, number, lasting=lasting)
            try:
                with updating(root, DM) as held:
                    held.book = replace(held.book, number=5, last_time=TIME)
            except ApmError as error:
                failed = True
                assert os.strerror(code) in str(error)
                assert "memory" in str(error) or str(tmp_path) in str(error)
        assert is_free(tmp_path)
        found = read_state(root, DM).book.number
        assert found in ((old, 5) if failed else (5,)), f"call {number}"
        if found == 5:
            assert begin == "absent" or strict(file.read_bytes())["first"] == ["1e400"]
        # One that does not go away when it is told to is the next holder's.
        assert len(litter(tmp_path)) <= lasting + (not failed)
        if not faults.met:
            assert not failed
            assert number > 40
            break
    else:
        pytest.fail("no run without a fault")
    with updating(root, DM) as held:
        held.book = replace(held.book, number=6)
    assert litter(tmp_path) == []


@pytest.mark.parametrize(
    ("call", "code", "told"),
    [("replace", errno.EBUSY, "mounted by itself"), ("replace", errno.EXDEV, "mounted by itself"),
     ("replace", errno.EISDIR, "Put a plain file there"), ("write", errno.ENOSPC, "Free some space"),
     ("write", errno.EDQUOT, "Free some space"), ("open", errno.EROFS, "so that it can be written"),
     ("fsync", errno.EIO, "Input/output error"), ("open", errno.EACCES, "right to write")],
)  # fmt: skip
def test_an_error_names_path_cause_and_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, code: int, told: str
) -> None:
    root = str(tmp_path)
    replace_bytes(root, "memory/a.json", b"old")
    real = getattr(os, call)

    def fail(path: Any, *arguments: Any, **more: Any) -> Any:
        if call == "open" and path != ".a.json.apm-tmp":
            return real(path, *arguments, **more)
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(MemoryFileError) as caught:
            replace_bytes(root, "memory/a.json", b"new")
    assert str(caught.value).startswith(f"memory/a.json: cannot be written: {os.strerror(code)}")
    assert told in str(caught.value)
    assert (tmp_path / "memory/a.json").read_bytes() == b"old"
    assert litter(tmp_path) == []


def test_what_failed_to_reach_the_disk_is_thrown_away_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []

    def fsync(descriptor: int) -> None:
        flushed.append(os.fstat(descriptor).st_ino)
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(MemoryFileError):
        replace_bytes(str(tmp_path), "a.json", b"new")
    assert len(flushed) == 1
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_flushed_is_said_though_the_new_file_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(tmp_path)
    with updating(root, DM) as held:
        held.book = Book(number=1)
    real = os.fsync

    def fsync(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        with (
            pytest.raises(MemoryFileError, match=r"flush-state\.json: is written, but a power cut may bring the old"),
            updating(root, DM) as held,
        ):
            held.book = replace(held.book, number=2)
    assert read_state(root, DM).book == Book(generation=2, number=2)
    assert litter(tmp_path) == []


@pytest.mark.parametrize("fault", [KeyboardInterrupt, SystemExit])
def test_an_interruption_leaves_no_temporary(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    for call in ("write", "fsync", "replace"):
        with monkeypatch.context() as patch, pytest.raises(fault):

            def interrupt(*_: object, **__: object) -> None:
                raise fault

            patch.setattr(os, call, interrupt)
            with updating(str(tmp_path), DM) as held:
                held.book = replace(held.book, number=2)
        assert litter(tmp_path) == []
    assert is_free(tmp_path)
    assert read_state(str(tmp_path), DM).book == Book()


def test_a_disk_that_takes_nothing_more_ends_the_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda descriptor, data: 0)
        with pytest.raises(MemoryFileError, match="nothing more is taken"):
            replace_bytes(str(tmp_path), "a.json", b"new")
    assert os.listdir(tmp_path) == []


KILLED = """
import fcntl, os, signal, sys
from dataclasses import replace
from apm_hooks.flushstate import updating
from apm_hooks.records import DM
root, number = sys.argv[1], 0
os.fsync = lambda descriptor: None
while True:
    number += 1
    with open(root + "/memory/flush-state.json", "wb") as file:
        file.write(sys.argv[2].encode())
    os.utime(root + "/memory/flush-state.json", (0, 0))
    child = os.fork()
    if child == 0:
        left = number
        def killing(real):
            def call(*arguments, **more):
                global left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*arguments, **more)
            return call
        for name in ("open", "write", "fsync", "fchmod", "replace", "link", "mkdir", "unlink", "close"):
            setattr(os, name, killing(getattr(os, name)))
        fcntl.flock = killing(fcntl.flock)
        with updating(root, DM) as held:
            held.book = replace(held.book, number=5)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    names = [name for folder in os.walk(root) for name in folder[2]]
    litter = [name for name in names if name.endswith(".apm-tmp")]
    assert len(litter) <= 1, litter
    asides = [name for name in names if "corrupt" in name]
    # One more where the kill came before the oldest went.
    assert len(asides) <= 6, asides
    with updating(root, DM, seconds=0) as held:
        assert held.book.number in (1, 5), held.book
        told = held.problem
        held.book = replace(held.book, number=5, session_id=str(number))
    text = open(root + "/memory/flush-state.json").read()
    assert '"first": [1e400]' in text, text
    assert not any(name.endswith(".apm-tmp") for folder in os.walk(root) for name in folder[2])
    if status == 0:
        break
print(number)
"""


@pytest.mark.parametrize("data", [DAMAGE.decode(), SOUND.decode()])
def test_a_kill_at_any_call_leaves_the_old_or_the_new_state(tmp_path: Path, data: str) -> None:
    (tmp_path / "memory").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path), data], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert int(done.stdout) > 30


COUNTING = """
import sys
from dataclasses import replace
from apm_hooks.flushstate import updating
from apm_hooks.records import DM
for _ in range(50):
    with updating(sys.argv[1], DM, seconds=30) as held:
        held.book = replace(held.book, number=(held.book.number or 0) + 1)
"""


def test_four_processes_lose_no_update_and_a_reader_sees_each_state_whole(tmp_path: Path) -> None:
    command = [sys.executable, "-c", COUNTING, str(tmp_path)]
    children = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    seen = [0]
    while any(child.poll() is None for child in children):
        stored = read_state(str(tmp_path), DM)
        assert stored.problem == ""
        assert stored.book.number == (stored.book.generation or None)
        seen.append(stored.book.generation)
    assert [child.communicate()[1] for child in children] == [""] * 4
    assert seen == sorted(seen)
    assert read_state(str(tmp_path), DM).book == Book(generation=200, number=200)
    assert strict((tmp_path / DM_STATE).read_bytes())["flush_number"] == "200"


def test_a_reader_among_writing_threads_sees_whole_states(tmp_path: Path) -> None:
    root, ended = str(tmp_path), threading.Event()
    told: list[str] = []

    def write(name: str) -> None:
        for _ in range(20):
            with updating(root, DM, seconds=30) as held:
                number = (held.book.number or 0) + 1
                held.book = replace(BOOK, number=number, session_id=f"{name} {number}", usage_percent=number)

    def read() -> None:
        while not ended.is_set():
            stored = read_state(root, DM)
            if stored.problem or (stored.book.session_id or " None").split()[-1] != str(stored.book.number):
                told.append(repr(stored))

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(name,)) for name in ("a", "b")]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    ended.set()
    reader.join()
    assert told == []
    assert read_state(root, DM).book.number == 40
    assert json.loads((tmp_path / DM_STATE).read_text())["context_usage_at_flush"] == 40.0
