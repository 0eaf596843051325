from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from apm_hooks.errors import LockTimeoutError
from apm_hooks.locking import locked

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
