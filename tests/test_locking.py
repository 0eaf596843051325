from __future__ import annotations

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock, Timeout

from apm_hooks import locking
from apm_hooks.errors import LockTimeoutError, MemoryFileError
from apm_hooks.locking import locked, locked_at

HOLDER = """
import sys, time
from apm_hooks.locking import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    """A process that holds the lock until its input ends."""
    child = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             text=True)  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_a_held_lock_times_out_and_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with holder(path) as child:
        with (
            pytest.raises(LockTimeoutError, match=r"x\.lock: still held by another process after 0\.05 s"),
            locked(str(path), seconds=0.05),
        ):
            pass
        child.communicate("")


def test_a_killed_holder_frees_its_lock_and_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with holder(path) as child:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        with locked(str(path), seconds=5):
            pass
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EIO])
def test_a_file_system_without_locks_is_an_error_and_never_an_unlocked_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", flock)
    entered = False
    with pytest.raises(LockTimeoutError, match="local disk"), locked(str(tmp_path / "x.lock"), seconds=0.05):
        entered = True
    assert not entered


def test_an_error_inside_frees_the_lock(tmp_path: Path) -> None:
    path = str(tmp_path / "x.lock")
    with pytest.raises(KeyError), locked(path):
        raise KeyError("x")
    with locked(path, seconds=0.05):
        pass


STATE_LOCK = "memory/groups/team/flush-state.json.lock"


def lock_of(root: Path) -> Path:
    return root / STATE_LOCK


def test_a_lock_below_a_root_makes_its_folder_and_its_file_stays(tmp_path: Path) -> None:
    with locked_at(str(tmp_path), STATE_LOCK):
        assert lock_of(tmp_path).stat().st_mode & 0o777 == 0o600
    assert lock_of(tmp_path).stat().st_size == 0


@pytest.mark.parametrize("first", ["raw", "filelock"])
def test_it_and_filelock_on_the_same_file_exclude_each_other(tmp_path: Path, first: str) -> None:
    lock_of(tmp_path).parent.mkdir(parents=True)
    other = FileLock(lock_of(tmp_path), fallback_to_soft=False)
    if first == "raw":
        with locked_at(str(tmp_path), STATE_LOCK), pytest.raises(Timeout):
            other.acquire(timeout=0.02)
    else:
        with (
            other.acquire(),
            pytest.raises(LockTimeoutError, match=r"json\.lock: still held by another process after 0\.02 s\. Try"),
            locked_at(str(tmp_path), STATE_LOCK, seconds=0.02),
        ):
            pass
    with locked_at(str(tmp_path), STATE_LOCK, seconds=0), pytest.raises(Timeout):
        other.acquire(timeout=0)


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EIO, errno.EACCES, errno.EINVAL])
def test_where_no_lock_can_be_had_it_says_so_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", flock)
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waited for what never comes"))
    entered = False
    with (
        pytest.raises(LockTimeoutError, match=f"json\\.lock: cannot be locked: {os.strerror(code)}.*local disk"),
        locked_at(str(tmp_path), STATE_LOCK),
    ):
        entered = True
    assert not entered


def test_waits_grow_within_their_bounds_and_end_at_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    clock = [1000.0]

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        clock[0] += seconds

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    with (
        FileLock(tmp_path / "x.lock").acquire(),
        pytest.raises(LockTimeoutError, match="after 2 s"),
        locked_at(str(tmp_path), "x.lock", seconds=2),
    ):
        pass
    assert clock[0] == pytest.approx(1002)
    assert max(waits[:2]) < 0.0025
    assert all(0.01 <= wait <= 0.03 for wait in waits[10:-1])
    assert len(set(waits)) > len(waits) / 2, "no jitter"


def test_who_comes_back_at_once_lets_others_in_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    for name, waited in (("a.lock", 0), ("a.lock", 1), ("b.lock", 1), ("b.lock", 2)):
        with locked_at(str(tmp_path), name):
            assert len(waits) == waited


def test_it_is_not_reentrant_and_says_so_without_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with locked_at(str(tmp_path), "x.lock"), monkeypatch.context() as patch:
        patch.setattr(time, "sleep", lambda _: pytest.fail("waited for itself"))
        with pytest.raises(LockTimeoutError, match="this very thread"), locked_at(str(tmp_path), "x.lock", seconds=60):
            pass
    with locked_at(str(tmp_path), "x.lock"):
        pass


def test_another_thread_of_the_process_waits_its_turn(tmp_path: Path) -> None:
    told: list[str] = []

    def second() -> None:
        try:
            with locked_at(str(tmp_path), "x.lock", seconds=0.03):
                told.append("held twice")
        except LockTimeoutError as error:
            told.append(error.cause)

    with locked_at(str(tmp_path), "x.lock"):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert told == ["still held by another thread of this process after 0.03 s"]


@pytest.mark.parametrize("way", ["deleted", "replaced"])
def test_a_lock_file_that_a_person_takes_away_is_locked_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    path = tmp_path / "x.lock"
    real, calls = fcntl.flock, []

    def flock(descriptor: int, operation: int) -> None:
        calls.append(operation)
        if len(calls) == 1:
            path.unlink()
            if way == "replaced":
                path.touch()
        real(descriptor, operation)

    monkeypatch.setattr("fcntl.flock", flock)
    with locked_at(str(tmp_path), "x.lock"), pytest.raises(Timeout):
        FileLock(path).acquire(timeout=0)


@pytest.mark.parametrize("kind", ["link", "dangling", "FIFO", "directory", "socket"])
def test_what_is_no_plain_lock_file_is_refused_and_not_followed(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.lock"
    elsewhere = tmp_path / "elsewhere"
    if kind == "link":
        elsewhere.touch(mode=0o644)
    if kind in ("link", "dangling"):
        path.symlink_to(elsewhere)
    elif kind == "FIFO":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(str(path))
    with pytest.raises(MemoryFileError, match=r"x\.lock: .*Put a plain file there"), locked_at(str(tmp_path), "x.lock"):
        pass
    assert elsewhere.exists() is (kind == "link")


def test_a_link_on_the_way_to_the_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "memory").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MemoryFileError, match="symbolic link"), locked_at(str(tmp_path), "memory/x.lock"):
        pass
    assert os.listdir(tmp_path / "elsewhere") == []


AT_HOLDER = """
import os, subprocess, sys
from apm_hooks.locking import locked_at
with locked_at(sys.argv[1], "x.lock"):
    {body}
"""
FORKED = """
    if os.fork() == 0:
        print("held", flush=True)
        sys.stdin.read()
        os._exit(0)
    os.kill(os.getpid(), 9)
"""
EXECUTED = """
    code = "import os; print([n for n in os.listdir('/proc/self/fd') if n > '2'"
    code += " and os.path.exists('/proc/self/fd/' + n) and os.readlink('/proc/self/fd/' + n).endswith('.lock')])"
    subprocess.run([sys.executable, "-I", "-c", code], close_fds=False, check=True)
"""


def at_holder(root: Path, body: str) -> subprocess.Popen[str]:
    script = AT_HOLDER.format(body=body.strip())
    return subprocess.Popen([sys.executable, "-c", script, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)  # fmt: skip


def test_a_killed_holder_frees_it_at_once(tmp_path: Path) -> None:
    with at_holder(tmp_path, 'print("held", flush=True); sys.stdin.read()') as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(LockTimeoutError, match="another process"), locked_at(str(tmp_path), "x.lock", seconds=0.02):
            pass
        child.kill()
        child.wait()
        with locked_at(str(tmp_path), "x.lock", seconds=0):
            pass


def test_a_forked_child_does_not_keep_the_lock_of_a_killed_parent(tmp_path: Path) -> None:
    with at_holder(tmp_path, FORKED) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        child.wait()
        with locked_at(str(tmp_path), "x.lock", seconds=0):
            pass
        child.communicate("")


def test_a_program_started_meanwhile_does_not_get_the_lock(tmp_path: Path) -> None:
    with at_holder(tmp_path, EXECUTED) as child:
        assert child.communicate("")[0] == "[]\n"
        assert child.returncode == 0


def test_a_lock_given_back_is_free_whoever_else_has_its_descriptor(tmp_path: Path) -> None:
    with locked_at(str(tmp_path), "x.lock"):
        others = os.dup(next(iter(locking._held)))
    with locked_at(str(tmp_path), "x.lock", seconds=0):
        os.close(others)


LEFT_TWICE = """
    child = os.fork()
    if child == 0:
        mine = [os.open("/dev/null", os.O_RDONLY) for _ in range(8)]
if child == 0:
    list(map(os.fstat, mine))
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_that_leaves_the_block_closes_nothing_of_its_own(tmp_path: Path) -> None:
    with at_holder(tmp_path, LEFT_TWICE) as child:
        child.communicate("")
        assert child.returncode == 0


@pytest.mark.parametrize(
    ("code", "told"),
    [(errno.EACCES, "right to write"), (errno.EROFS, "so that it can be written"), (errno.ENOSPC, "Free some space")],
)
def test_a_lock_file_that_cannot_be_made_is_told_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, told: str
) -> None:
    real = os.open

    def fail(path: Any, *arguments: Any, **more: Any) -> int:
        if path == "x.lock":
            raise OSError(code, os.strerror(code))
        return real(path, *arguments, **more)

    monkeypatch.setattr(os, "open", fail)
    with (
        pytest.raises(MemoryFileError, match=rf"x\.lock: cannot be written: .*{told}"),
        locked_at(str(tmp_path), "x.lock"),
    ):
        pass


HAMMER = """
import sys
from apm_hooks.files import read_bytes, replace_bytes
from apm_hooks.locking import locked_at
for _ in range(25):
    with locked_at(sys.argv[1], "n.lock"):
        found = read_bytes(sys.argv[1], "n")
        replace_bytes(sys.argv[1], "n", b"%d" % (int(found[0] if found else b"0") + 1))
"""


def test_eight_processes_take_turns_and_none_waits_in_vain(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HAMMER, str(tmp_path)]
    children = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(8)]
    assert [child.communicate()[1] for child in children] == [""] * 8
    assert (tmp_path / "n").read_text() == "200"
