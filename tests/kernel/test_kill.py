"""kill -9 at each system call: what was being written is old or new, whole; the next run works; nothing is left."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from apm_hooks.records import DM, Scope
from tests.kernel.processes import Server, side_by_side
from tests.kernel.tools import (
    GROUP,
    STATE,
    calls_of,
    decisions,
    flushes,
    fresh,
    litter,
    names_in,
    need,
    number_of,
    on_disk,
    paths_of,
    watched,
)
from tests.workspaces import GROUP_KEY, Bench

CALLS = "%file,%desc"
LOOKING = frozenset(("access", "close", "dup", "faccessat", "faccessat2", "fcntl", "fstat", "fstatfs", "getdents64",
                     "ioctl", "lseek", "lstat", "mmap", "newfstatat", "openat", "poll", "pread64", "read", "readlink",
                     "readlinkat", "stat", "statfs", "statx"))  # fmt: skip
"""Calls that leave a disk as it is, openat as far as it creates nothing: those are looked at on the paths of state and
locks; all others are, wherever they are made."""
MOST = 200
"""More calls of one kind than a run makes: reaching it would mean that the loop proves nothing."""


def names_of(server: Server, made: Bench, action: str, words: Sequence[str], **more: Any) -> list[str]:
    """The system calls of a run, the frequent ones first."""
    done = server.run(made, action, strace=[*words, "-e", f"trace={CALLS}"], **more)
    assert done.code == 0, done.said
    return [name for name, _ in calls_of(done.trace).most_common()]


def killing(call: str, at: int, words: Sequence[str] = ()) -> list[str]:
    return [*words, "-e", f"trace={call}", "-e", f"inject={call}:signal=KILL:when={at}"]


def kill_flushes(
    server: Server, made: Bench, call: str, words: Sequence[str] = (), *, scope: Scope = DM, anew: bool = False,
    settled: bool = False, key: str | None = None,
) -> int:  # fmt: skip
    """Kill a flush at the first such call, the second, and so on, until one survives; returns how many died. Unless
    `settled`, a flush settles the one before it, and so writes twice. `anew`: each is the first that there ever was."""
    names: set[str] = set()
    checked: dict[str, bytes] = {}
    for at in range(1, MOST):
        if anew:
            shutil.rmtree(made.root / ".apm", ignore_errors=True)
            (made.root / STATE).unlink(missing_ok=True)
        before = number_of(made, scope)
        done = server.run(made, strace=killing(call, at, words), key=key)
        after = number_of(made, scope)
        assert after in (before, before + 1), done.said
        assert after >= max(done.numbers, default=0), "reported, and not there"
        assert len(litter(made)) <= 1
        if done.code == 0:
            return at - 1
        assert done.code == -signal.SIGKILL, done.said
        # A call that only looks leaves what the kill before it left, as a rule: that needs no second run.
        if not words or on_disk(made) != checked:
            flushes(server, made, after, scope, settled=settled, key=key)
            checked = on_disk(made)
            names = names or names_in(made)
            assert names_in(made) == names, "the files grow in number"
    pytest.fail(f"the flush died at every {call} up to the bound")


@pytest.mark.parametrize("which", ["owner", "first", "group"])
def test_a_flush_killed_at_any_call_that_changes_something(
    tmp_path: Path, servers: tuple[Server, ...], which: str
) -> None:
    need("strace")
    scope, key = (GROUP, GROUP_KEY) if which == "group" else (DM, None)
    model = fresh(tmp_path / "model", None if which == "first" else servers[0])
    names = names_of(servers[0], model, "flush", (), key=key)

    def work(server: Server, call: str) -> int:
        made = fresh(tmp_path / call, None if which == "first" else server)
        return kill_flushes(server, made, call, scope=scope, key=key, anew=which == "first", settled=which == "group")

    killed = side_by_side(servers, work, [name for name in names if name not in LOOKING])
    assert sum(killed) > 20


def test_a_flush_killed_at_any_call_on_its_state_and_locks(tmp_path: Path, servers: tuple[Server, ...]) -> None:
    need("strace")
    model = fresh(tmp_path / "model", servers[0])
    names = names_of(servers[0], model, "flush", paths_of(model))

    def work(server: Server, call: str) -> int:
        made = fresh(tmp_path / call, server)
        assert server.run(made, "settle").code == 0
        return kill_flushes(server, made, call, paths_of(made), settled=True)

    killed = side_by_side(servers, work, [name for name in names if name in LOOKING])
    assert sum(killed) > 50


@pytest.mark.parametrize("looking", [False, True])
def test_a_write_to_memory_killed_at_any_call(tmp_path: Path, servers: tuple[Server, ...], looking: bool) -> None:
    """What was asked for again after a kill is there once."""
    need("strace")
    model = fresh(tmp_path / "model", servers[0])
    names = names_of(servers[0], model, "append", ())

    def work(server: Server, call: str) -> int:
        made = fresh(tmp_path / call, server)
        folder = made.root / "memory/main"
        locks = made.root / ".apm/locks"
        files = [folder / "longterm.md", folder / ".longterm.md.apm-tmp", *locks.glob("*")]
        words = watched(folder, locks, *files) if looking else []
        asked, names = ["the first"], set[str]()
        for at in range(1, MOST):
            text = f"{call} at {at}"
            done = server.run(made, "append", text=text, strace=killing(call, at, words))
            lines = decisions(made)
            assert lines in (asked[::-1], [text, *asked[::-1]]), done.said
            assert len(litter(made)) <= 1
            if done.code == 0:
                assert lines[0] == text
                return at - 1
            assert done.code == -signal.SIGKILL, done.said
            again = server.run(made, "append", text=text)
            asked.append(text)
            assert (again.code, decisions(made), litter(made)) == (0, asked[::-1], []), again.said
            names = names or names_in(made)
            assert names_in(made) == names, "the files grow in number"
        pytest.fail(f"the write died at every {call} up to the bound")

    killed = side_by_side(servers, work, [name for name in names if (name in LOOKING) is looking])
    assert sum(killed) > 8


@pytest.mark.parametrize("name", ["KILL", "TERM", "INT", "HUP"])
def test_a_signal_in_the_middle_of_a_write(tmp_path: Path, server: Server, name: str) -> None:
    need("strace")
    made = fresh(tmp_path, server)
    for call in ("write", "fsync", "rename,renameat,renameat2"):
        before = number_of(made)
        words = [*paths_of(made), "-e", f"trace={call}", "-e", f"inject={call}:signal={name}:when=1"]
        done = server.run(made, strace=words)
        assert done.code != 0, done.said
        assert number_of(made) in (before, before + 1)
        flushes(server, made, number_of(made))
