"""The lock of a state: what its holder and those who wait do to each other, whatever becomes of either."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apm_hooks.locking import locked_at
from tests.kernel.processes import Child, Server, run
from tests.kernel.tools import LOCK, TEMPORARY, flushes, fresh, litter, need, number_of
from tests.workspaces import GROUP_KEY, Bench

PATIENCE = 0.3
LONG = 30.0


@contextmanager
def stopped_holder(server: Server, made: Bench, **more: Any) -> Iterator[Child]:
    """A flush that stands still while it holds the lock: its temporary is written, and not in place."""
    with server.child(made, session="holder", **more) as child:
        tracer = child.trace("-P", str(made.root / TEMPORARY), "-e", "trace=fsync", "-e", "inject=fsync:signal=STOP")
        child.go()
        tracer.until("--- stopped by SIGSTOP ---")
        yield child


def test_a_stopped_holder_keeps_its_lock_and_costs_others_their_deadline(
    tmp_path: Path, servers: tuple[Server, ...]
) -> None:
    need("strace")
    server, other = servers
    made = fresh(tmp_path, server)
    lock = (made.root / LOCK).stat().st_ino
    with stopped_holder(server, made) as holder:
        begun = time.monotonic()
        done = other.run(made, session="waiter", patience=PATIENCE)
        assert PATIENCE < time.monotonic() - begun < PATIENCE + 10
        assert done.code == 3, done.said
        assert f"{LOCK}: still held by another process after {PATIENCE:g} s" in done.said
        assert number_of(made) == 1
        holder.kill(signal.SIGCONT)
        assert holder.wait().numbers == [2]
    assert number_of(made) == 2
    assert (made.root / LOCK).stat().st_ino == lock
    flushes(other, made, 2)


def test_who_waits_gets_the_lock_as_soon_as_its_holder_is_killed(tmp_path: Path, servers: tuple[Server, ...]) -> None:
    need("strace")
    server, other = servers
    made = fresh(tmp_path, server)
    with stopped_holder(server, made) as holder, other.child(made, session="waiter", patience=LONG) as waiter:
        tracer = waiter.trace("-P", str(made.root / LOCK), "-e", "trace=flock")
        waiter.go()
        tracer.until("EAGAIN")
        holder.kill()
        begun = time.monotonic()
        assert waiter.wait().numbers == [2]
        assert time.monotonic() - begun < LONG / 2
    assert (number_of(made), litter(made)) == (2, [])


@pytest.mark.parametrize("held", [True, False])
def test_a_lock_file_that_a_person_deletes_between_open_and_lock(tmp_path: Path, server: Server, held: bool) -> None:
    """What is locked then is a file that nobody else will ever open: the one of that name counts."""
    need("strace")
    made = fresh(tmp_path, server)
    name = Path(LOCK).name
    with server.child(made, session="waiter", patience=PATIENCE) as waiter:
        tracer = waiter.trace("-P", name, "-e", "trace=openat", "-e", "inject=openat:signal=STOP:when=1")
        waiter.go()
        tracer.until("--- stopped by SIGSTOP ---")
        (made.root / LOCK).unlink()
        if held:
            with locked_at(str(made.root), LOCK):
                waiter.kill(signal.SIGCONT)
                done = waiter.wait()
            assert (done.code, number_of(made)) == (3, 1), "two at a time"
            assert f"{LOCK}: still held by another" in done.said
        else:
            waiter.kill(signal.SIGCONT)
            done = waiter.wait()
            assert (done.code, done.numbers) == (0, [2]), done.said
            assert done.trace.count(name) > 1
    flushes(server, made, number_of(made))


def test_a_lock_file_deleted_under_its_holder_leaves_one_of_two_records(
    tmp_path: Path, servers: tuple[Server, ...]
) -> None:
    """Two are at work then; the one whose temporary the other has reclaimed says that it recorded nothing."""
    need("strace")
    server, other = servers
    made = fresh(tmp_path, server)
    with stopped_holder(server, made) as holder:
        (made.root / LOCK).unlink()
        assert other.run(made, session="second").numbers == [2]
        holder.kill(signal.SIGCONT)
        done = holder.wait()
    assert (done.code, number_of(made), litter(made)) == (3, 2, []), done.said
    flushes(server, made, 2)


def test_the_lock_file_outlives_its_holders(tmp_path: Path, server: Server) -> None:
    """Whoever waits for a lock has its file open: deleted, it would lock out nobody who comes later."""
    made = fresh(tmp_path, server)
    seen: list[dict[Path, int]] = []
    for action in ("flush", "append", "flush", "append", "settle"):
        for key in (None, GROUP_KEY):
            assert server.run(made, action, key=key).code == 0
        seen.append({path: path.stat().st_ino for path in made.root.rglob("*.lock")})
    assert len(seen[1]) >= 5
    assert seen[1] == seen[-1]


def test_nothing_is_started_and_nobody_asked_under_the_lock(tmp_path: Path, server: Server) -> None:
    """A child that is forked under a lock holds it for as long as it lives."""
    need("strace")
    made = fresh(tmp_path, server)
    done = server.run(made, strace=["-e", "trace=flock,%process,%network,openat", "--signal=none"])
    lines = done.trace.splitlines()
    mine = next(line.partition("= ")[2] for line in lines if Path(LOCK).name in line)
    begin, end = (next(number for number, line in enumerate(lines) if f"flock({mine}, {what}" in line)
                  for what in ("LOCK_EX", "LOCK_UN"))  # fmt: skip
    under = {line.partition("(")[0] for line in lines[begin + 1 : end]}
    assert "openat" in under
    assert under <= {"openat", "flock"}, under
    assert all("O_CLOEXEC" in line for line in lines if line.startswith("openat"))


def test_a_process_number_given_twice_decides_nothing(tmp_path: Path, server: Server) -> None:
    """Two processes of one number, as two containers have them: one holds the lock, the other waits in vain."""
    need("unshare", "strace", root=True)
    made = fresh(tmp_path, server)
    alone = ["unshare", "--pid", "--fork", "--kill-child"]
    stop = ["strace", "-f", "-o", str(tmp_path / "trace"), "-P", str(made.root / TEMPORARY), "-e", "trace=fsync",
            "-e", "inject=fsync:signal=KILL"]  # fmt: skip
    killed = run([*stop, *alone], made, "flush", session="first")
    assert killed.code != 0
    assert number_of(made) == 1
    assert litter(made) == [f"ws/{TEMPORARY}"]
    with locked_at(str(made.root), LOCK):
        done = run(alone, made, "flush", session="second", patience=PATIENCE)
    assert (done.code, number_of(made)) == (3, 1), done.said
    done = run(alone, made, "flush", session="second")
    assert (done.numbers, number_of(made), litter(made)) == ([2], 2, []), done.said
