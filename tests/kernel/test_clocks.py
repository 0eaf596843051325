"""A clock that is set back, set forward, or counts in whole seconds: flushes and idle time go by none of it."""

from __future__ import annotations

import os
import subprocess
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from apm_hooks.flushstate import read_state
from apm_hooks.records import DM
from tests.kernel.processes import Done, Server, run
from tests.kernel.tools import flushes, fresh, mounted, need, number_of
from tests.workspaces import Bench

JUMPS = {"-1d": timedelta(days=-1), "+3650d": timedelta(days=3650)}
LATER = 10 * 24 * 3600
"""Seconds after which every session is quiet."""


def under(jump: str, *, later: bool = False) -> list[str]:
    """Words that start a program at another time of the wall clock, and, with `later`, long after it by the clock that
    counts from the boot."""
    slept = ["unshare", "--time", f"--boottime={LATER}", f"--monotonic={LATER}", "--fork"] if later else []
    return [*slept, "env", "DONT_FAKE_MONOTONIC=1", "faketime", "-f", jump]


def last_time(made: Bench) -> datetime:
    return datetime.fromisoformat(read_state(str(made.root), DM).book.last_time or "")


@pytest.mark.parametrize("jump", JUMPS)
def test_a_flush_under_a_clock_that_was_set(tmp_path: Path, server: Server, jump: str) -> None:
    need("faketime")
    made = fresh(tmp_path, server)
    begun = last_time(made)
    done = run(under(jump), made, "flush+settle", session="s")
    assert (done.code, set(done.numbers)) == (0, {2}), done.said
    assert abs(last_time(made) - begun - JUMPS[jump]) < timedelta(hours=1)
    # What was written just now is no older than what was written a day from now, or ten years.
    made.write("memory/main/attention.md", "# Attention\n\nchanged\n")
    done = server.run(made)
    assert (done.numbers, done.lines[-1]["changed"]) == ([3], ["memory/main/attention.md"]), done.said
    assert abs(last_time(made) - begun) < timedelta(hours=1)
    assert server.run(made, "settle").code == 0
    flushes(server, made, 3)


@pytest.mark.parametrize("jump", JUMPS)
def test_idle_time_is_counted_once_whatever_the_clock_says(tmp_path: Path, server: Server, jump: str) -> None:
    need("faketime", "unshare", root=True)
    made = fresh(tmp_path, server)
    assert server.run(made, "settle+message").code == 0
    assert swept(run(under(jump), made, "sweep")) == [], "it was not quiet for a moment"
    done = run(under(jump, later=True), made, "sweep+sweep")
    assert swept(done) == [(2, "unwritten")], done.said
    assert swept(server.run(made, "sweep")) == []
    assert number_of(made) == 2
    # One that was at work under the other clock, and is looked at under this one.
    assert run(under(jump), made, "message", session="s2").code == 0
    assert swept(server.run(made, "sweep")) == []
    done = run(under("+0", later=True), made, "sweep+sweep")
    assert swept(done) == [(3, "unwritten")], done.said


def swept(done: Done) -> list[tuple[object, object]]:
    """Number and outcome of what a sweep flushed."""
    assert done.code == 0, done.said
    return [(line["number"], line["outcome"]) for line in done.lines]


def test_an_edit_is_seen_where_times_are_whole_seconds(tmp_path: Path, server: Server) -> None:
    need("mount", "umount", "mkfs.ext4", root=True)
    image = tmp_path / "image"
    image.touch()
    os.truncate(image, 16 * 1024 * 1024)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-I", "128", str(image)], check=True, capture_output=True)
    with mounted(image, tmp_path / "disk", "-o", "loop") as disk:
        made = fresh(disk / "x", server)
        assert server.run(made, "settle").code == 0
        file, path = made.root / "memory/main/attention.md", "memory/main/attention.md"
        for letter in "abcd":
            file.write_text(letter * 100)
            assert file.stat().st_mtime_ns % 10**9 == 0
            done = server.run(made, "flush+settle")
            assert done.lines[0]["changed"] == [path], done.said
            assert done.lines[1]["changed"] == [], done.said
        # The time that it had, as a copy or a checkout gives it back.
        os.utime(file, (0, 0))
        assert server.run(made, "flush+settle").lines[0]["changed"] == []
        file.write_text("e" * 100)
        os.utime(file, (0, 0))
        assert server.run(made, "flush+settle").lines[0]["changed"] == [path]
