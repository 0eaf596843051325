"""File systems that are full, failing, read-only, closed to us or laid over others: the state stays whole, the error
names it, and with room or rights again the next run works."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.kernel.processes import Done, Server
from tests.kernel.tools import (
    LOCK,
    STATE,
    decisions,
    flushes,
    fresh,
    lacking,
    litter,
    mounted,
    need,
    number_of,
    small_disk,
)
from tests.workspaces import Bench

NOBODY = 65534


def refused(done: Done, made: Bench, *told: str) -> None:
    """The run recorded nothing, and says why; the old state stands."""
    assert done.code == 3, done.said
    assert "Traceback" not in done.said
    for text in told:
        assert text in done.said
    assert (number_of(made), litter(made)) == (1, [])


def still_loads(server: Server, made: Bench) -> None:
    """What cannot be recorded costs nobody their memory."""
    done = server.run(made, "start", session="new")
    assert done.code == 0, done.said
    assert "memory/main/attention.md" in str(done.lines[-1]["files"])


def fill(disk: Path) -> Path:
    """Take all the room that there is."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (4096, 1):
            with pytest.raises(OSError, match="No space"):
                while True:
                    file.write(b"x" * size)
    return filler


def test_a_full_disk(tmp_path: Path, server: Server) -> None:
    need("mount", "umount", root=True)
    with small_disk(tmp_path / "disk", "size=512k") as disk:
        made = fresh(disk / "x", server)
        filler = fill(disk)
        refused(server.run(made), made, f"{STATE}: cannot be written: No space left on device. Free some space.")
        refused(server.run(made, "append"), made, "No space left on device. Free some space.")
        assert decisions(made) == ["the first"]
        still_loads(server, made)
        filler.unlink()
        flushes(server, made, 1)


def test_a_disk_without_room_for_more_files(tmp_path: Path, server: Server) -> None:
    need("mount", "umount", root=True)
    with small_disk(tmp_path / "disk", "size=4m", "nr_inodes=100") as disk:
        made = fresh(disk / "x", server)
        crowd = disk / "crowd"
        crowd.mkdir()
        with pytest.raises(OSError, match="No space"):
            for number in range(100):
                (crowd / str(number)).touch()
        refused(server.run(made), made, f"{STATE}: cannot be written: No space left on device. Free some space.")
        for file in crowd.iterdir():
            file.unlink()
        flushes(server, made, 1)


def test_a_disk_that_fails_beneath_the_file_system(tmp_path: Path, server: Server) -> None:
    """An image that cannot grow: the file system takes what it is given, and then the disk does not."""
    need("mount", "umount", "mkfs.ext4", root=True)
    with ExitStack() as stack:
        below = stack.enter_context(small_disk(tmp_path / "below", "size=4m"))
        image = below / "image"
        with image.open("wb") as file:
            file.truncate(64 * 1024 * 1024)
        make = ["mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-N", "256", str(image)]
        subprocess.run(make, check=True, capture_output=True)
        disk = stack.enter_context(mounted(image, tmp_path / "disk", "-o", "loop,noinit_itable"))
        made = fresh(disk / "x", server)
        # What is written next is larger than all that was ever freed again.
        made.write(STATE, grown((made.root / STATE).read_text("utf-8"), 4_000))
        subprocess.run(["sync", "-f", str(disk)], check=True)
        filler = fill(below)
        # The next one too: what failed once to reach the disk may be forgotten, and its fsync then succeed.
        for _ in range(2):
            refused(server.run(made), made, STATE)
        filler.unlink()
        flushes(server, made, 1)


def test_a_read_only_disk(tmp_path: Path, server: Server) -> None:
    need("mount", "umount", root=True)
    with small_disk(tmp_path / "disk", "size=4m") as disk:
        made = fresh(disk / "x", server)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        refused(server.run(made), made, f"{STATE}.lock", "Read-only file system")
        refused(server.run(made, "append"), made, "Read-only file system")
        still_loads(server, made)
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        flushes(server, made, 1)


@pytest.mark.parametrize("immutable", ["memory", STATE])
def test_what_nobody_may_change(tmp_path: Path, server: Server, immutable: str) -> None:
    need("mount", "umount", "chattr", "mkfs.ext4", root=True)
    made = fresh(tmp_path, server)
    target = str(made.root / immutable)
    if subprocess.run(["chattr", "+i", target], check=False, capture_output=True).returncode:
        lacking("this file system has no immutable flag")
    try:
        done = server.run(made)
    finally:
        subprocess.run(["chattr", "-i", target], check=True)
    refused(done, made, f"{STATE}: cannot be written: Operation not permitted. Give this user the right to write")
    flushes(server, made, 1)


@pytest.mark.parametrize("closed", ["memory", STATE, LOCK])
def test_another_user_who_may_not_write_is_told_so(server: Server, closed: str) -> None:
    need(root=True)
    # Not below the folder of the tests, into which only their own user may look.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        made = fresh(Path(folder) / "x", server)
        for path in (made.root, *made.root.rglob("*"), made.home, *made.home.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        shut = made.root / closed
        shut.chmod(0o500 if shut.is_dir() else 0o000)
        refused(server.run(made, user=NOBODY), made, closed if closed == LOCK else STATE, "Permission denied")
        shut.chmod(0o700)
        flushes(server, made, 1, user=NOBODY)


def test_with_few_descriptors_it_fails_cleanly_until_there_are_enough(tmp_path: Path, server: Server) -> None:
    made = fresh(tmp_path, server)
    done = bounded(server, made, resource.RLIMIT_NOFILE, 3)
    for limit in range(4, 32):
        if done.code == 0:
            break
        assert "Traceback" not in done.said
        assert "Too many open files" in done.said
        assert (number_of(made), litter(made)) == (1, [])
        done = bounded(server, made, resource.RLIMIT_NOFILE, limit)
    assert limit > 4
    assert (done.code, done.numbers) == (0, [2]), done.said
    flushes(server, made, 2)


def test_a_write_cut_short_is_refused(tmp_path: Path, server: Server) -> None:
    made = fresh(tmp_path, server)
    size = (made.root / STATE).stat().st_size
    done = bounded(server, made, resource.RLIMIT_FSIZE, size // 2)
    refused(done, made, f"{STATE}: cannot be written: File too large")
    flushes(server, made, 1)


def test_without_memory_for_more_it_ends_with_the_old_state(tmp_path: Path, server: Server) -> None:
    made = fresh(tmp_path, server)
    made.write(STATE, grown((made.root / STATE).read_text("utf-8"), 40_000))
    before = number_of(made)
    with server.child(made) as child:
        taken = int(Path(f"/proc/{child.pid}/statm").read_text().split()[0]) * resource.getpagesize()
        resource.prlimit(child.pid, resource.RLIMIT_AS, (taken + 1_000_000, taken + 1_000_000))
        child.go()
        done = child.wait()
    assert done.code != 0
    assert "MemoryError" in done.said
    assert (number_of(made), litter(made)) == (before, [])
    flushes(server, made, before)


def grown(text: str, entries: int) -> str:
    """A state to which somebody else added so much."""
    return json.dumps({**json.loads(text), "others": ["x" * 50] * entries})


def bounded(server: Server, made: Bench, bound: int, limit: int) -> Done:
    """A flush under a resource limit."""
    with server.child(made) as child:
        resource.prlimit(child.pid, bound, (limit, limit))
        child.go()
        return child.wait()


def overlay(folder: Path, stack: ExitStack) -> Path:
    """The upper file system of two; an overlay is no place for its own layers."""
    disk = stack.enter_context(small_disk(folder / "disk", "size=8m"))
    for name in ("lower", "upper", "work"):
        (disk / name).mkdir()
    layers = f"lowerdir={disk}/lower,upperdir={disk}/upper,workdir={disk}/work"
    return stack.enter_context(mounted("overlay", folder / "merged", "-t", "overlay", "-o", layers))


def bind(folder: Path, stack: ExitStack) -> Path:
    (folder / "real").mkdir()
    return stack.enter_context(mounted(folder / "real", folder / "bound", "--bind"))


@pytest.mark.parametrize("laid_over", [overlay, bind])
def test_it_works_on(tmp_path: Path, server: Server, laid_over: Callable[[Path, ExitStack], Path]) -> None:
    need("mount", "umount", root=True)
    with ExitStack() as stack:
        made = fresh(laid_over(tmp_path, stack) / "x", server)
        for before in (1, 2):
            flushes(server, made, before)
            assert server.run(made, "settle").code == 0


def test_a_state_in_the_lower_layer_of_an_overlay_is_changed_in_the_upper(tmp_path: Path, server: Server) -> None:
    need("mount", "umount", root=True)
    with ExitStack() as stack:
        disk = stack.enter_context(small_disk(tmp_path / "disk", "size=8m"))
        made = fresh(disk / "lower", server)
        for name in ("upper", "work"):
            (disk / name).mkdir()
        layers = f"lowerdir={disk}/lower,upperdir={disk}/upper,workdir={disk}/work"
        merged = stack.enter_context(mounted("overlay", tmp_path / "merged", "-t", "overlay", "-o", layers))
        seen = Bench(merged / "home", merged / "ws", {"HOME": str(merged / "home")})
        seen.trust()
        flushes(server, seen, 1)
        flushes(server, seen, 2)
        assert number_of(made) == 1


def test_a_state_file_that_is_mounted_by_itself_is_named(tmp_path: Path, server: Server) -> None:
    """As containers do with single files."""
    need("mount", "umount", root=True)
    made = fresh(tmp_path, server)
    file = made.root / STATE
    outside = tmp_path / "outside.json"
    outside.write_bytes(file.read_bytes())
    subprocess.run(["mount", "--bind", str(outside), str(file)], check=True)
    try:
        done = server.run(made)
        refused(done, made, f"{STATE}: cannot be written: Device or resource busy", "Mount its folder instead")
    finally:
        subprocess.run(["umount", str(file)], check=True)
    flushes(server, made, 1)
