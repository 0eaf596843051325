"""Calls that fail: the old state stays, whole; the error says what and where; nothing is left; the next run works."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.kernel.processes import Server, side_by_side
from tests.kernel.tools import (
    LOCK,
    STATE,
    TEMPORARY,
    calls_of,
    files_of,
    flushes,
    fresh,
    litter,
    need,
    number_of,
    on_disk,
    paths_of,
    watched,
)
from tests.workspaces import Bench

MOST = 200
FAILING = {
    "EIO": (),
    "ENOSPC": ("openat", "write", "fsync", "renameat", "mkdirat"),
    "EROFS": ("openat", "renameat", "unlinkat", "fchmod", "mkdirat"),
    "EACCES": ("openat", "renameat", "unlinkat"),
    "EMFILE": ("openat",),
    "ESTALE": ("openat", "read", "fsync"),
    "EDQUOT": ("write", "fsync"),
    "EINTR": ("openat", "read", "write", "fsync", "flock"),
}
"""What fails with which error, on the files of the state; EIO: whatever there is, on their folders too."""


def fail_once_each(server: Server, made: Bench, call: str, error: str, words: Sequence[str]) -> int:
    """Let the first such call fail, the second, and so on, until a run meets no fault; returns how often that cost the
    record."""
    lost = 0
    checked: dict[str, bytes] = {}
    for at in range(1, MOST):
        before = number_of(made)
        failing = ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={at}"]
        done = server.run(made, strace=[*words, *failing])
        after = number_of(made)
        assert done.code in (0, 3), done.said
        assert "Traceback" not in done.said
        if done.code == 0:
            assert done.numbers == [after] == [before + 1], f"{call} {at}: reported, and not there: {done.said}"
        else:
            assert after in (before, before + 1)
            assert os.strerror(getattr(errno, error)) in done.said, f"{call} {at}: {done.said}"
            assert "memory" in done.said or str(made.root) in done.said, f"{call} {at}: {done.said}"
            lost += 1
        # One that may not be taken away is the next holder's.
        assert len(litter(made)) <= (call == "unlinkat")
        if not done.met:
            assert done.code == 0
            return lost
        if done.code == 0:
            assert server.run(made, "settle").code == 0
        elif on_disk(made) != checked:
            flushes(server, made, after, settled=True)
        checked = on_disk(made)
    pytest.fail(f"every run met a failing {call} up to the bound")


@pytest.mark.parametrize("error", FAILING)
def test_a_call_that_fails_once_costs_the_record_at_most(
    tmp_path: Path, servers: tuple[Server, ...], error: str
) -> None:
    need("strace")

    def words_of(made: Bench) -> list[str]:
        files = [*files_of(made), *(made.root / ".apm/flush").glob("*.json")]
        # By their names too: that is how they are opened, in the folder that is open already.
        return watched(*files, *(path.name for path in files)) if FAILING[error] else paths_of(made)

    model = fresh(tmp_path / "model", servers[0])
    assert servers[0].run(model, "settle").code == 0
    seen = [call for call, _ in calls_of(servers[0].run(model, strace=words_of(model)).trace).most_common()]

    def work(server: Server, call: str) -> int:
        made = fresh(tmp_path / call, server)
        assert server.run(made, "settle").code == 0
        return fail_once_each(server, made, call, error, words_of(made))

    lost = side_by_side(servers, work, [call for call in seen if call in (FAILING[error] or seen)])
    # A call that was only interrupted is made again.
    assert (sum(lost) > 0) is (error != "EINTR")


@pytest.mark.parametrize("error", ["ENOSYS", "ENOLCK", "EACCES", "EINVAL", "EOPNOTSUPP", "EIO"])
def test_without_a_lock_nothing_is_written(tmp_path: Path, server: Server, error: str) -> None:
    need("strace")
    made = fresh(tmp_path, server)
    text = (made.root / STATE).read_bytes()
    words = ["-P", str(made.root / LOCK), "-e", "trace=flock", "-e", f"inject=flock:error={error}"]
    done = server.run(made, strace=words)
    assert (done.code, done.met) == (3, True), done.said
    assert f"{LOCK}: cannot be locked: {os.strerror(getattr(errno, error))}" in done.said
    assert (made.root / STATE).read_bytes() == text
    flushes(server, made, 1)


def test_a_failed_fsync_is_never_tried_again_on_the_same_file(tmp_path: Path, server: Server) -> None:
    need("strace")
    made = fresh(tmp_path, server)
    assert server.run(made, "settle").code == 0
    words = [
        "-P",
        str(made.root / TEMPORARY),
        "-e",
        "trace=fsync,fdatasync,close",
        "-e",
        "inject=fsync:error=EIO:when=1",
    ]
    done = server.run(made, strace=words)
    assert list(calls_of(done.trace).items()) == [("fsync", 1), ("close", 1)], done.trace
    assert (done.code, number_of(made), litter(made)) == (3, 1, []), done.said
    flushes(server, made, 1)
