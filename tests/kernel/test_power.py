"""A power cut: what a disk holds at the moment of the cut is mounted again, and is old or new, never half.

The image of a mounted file system is copied while it is mounted: what only the page cache knew is not in it. ext4 is
mounted with `noauto_da_alloc`, since its usual heuristics forgive a missing fsync, and with a journal that nothing but
an fsync commits in the time that a test takes.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from apm_hooks.files import create_absent, replace_bytes
from tests.kernel.processes import Server
from tests.kernel.tools import calls_of, flushes, fresh, litter, mounted, need, number_of, paths_of
from tests.workspaces import Bench

KINDS = ("ext4", "xfs")
MAKE = {"ext4": ["mkfs.ext4", "-q", "-F"], "xfs": ["mkfs.xfs", "-q", "-f"]}
OPTIONS = {"ext4": "loop,noauto_da_alloc,commit=300", "xfs": "loop"}
SIZE = {"ext4": 16, "xfs": 320}
CHANGING = "write,fsync,rename,renameat,renameat2,unlink,unlinkat,fchmod,fchown"


class Disk:
    """An image that is mounted, and what the power leaves of it."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind = folder, kind
        self.image = folder / f"{kind}.image"
        with self.image.open("wb") as file:
            file.truncate(SIZE[kind] * 1024 * 1024)
        subprocess.run([*MAKE[kind], str(self.image)], check=True, capture_output=True)

    @contextmanager
    def live(self) -> Iterator[Path]:
        with mounted(self.image, self.folder / "live", "-o", OPTIONS[self.kind]) as live:
            yield live

    @contextmanager
    def after_a_cut(self) -> Iterator[Path]:
        copy = self.folder / "cut.image"
        subprocess.run(["cp", "--sparse=always", str(self.image), str(copy)], check=True)
        # A copy of an xfs carries the name of the original, beside which the kernel would not mount it.
        options = OPTIONS[self.kind] + (",nouuid" if self.kind == "xfs" else "")
        with mounted(copy, self.folder / "after", "-o", options) as after:
            yield after


def disk_of(folder: Path, kind: str) -> Disk:
    need("mount", "umount", MAKE[kind][0], root=True)
    folder.mkdir(exist_ok=True)
    return Disk(folder, kind)


def sync(path: Path) -> None:
    subprocess.run(["sync", "-f", str(path)], check=True)


def bench_in(folder: Path) -> Bench:
    home = folder / "x" / "home"
    return Bench(home, folder / "x" / "ws", {"HOME": str(home)})


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_was_put_in_place_outlives_the_power(tmp_path: Path, kind: str) -> None:
    disk = disk_of(tmp_path, kind)
    with disk.live() as live:
        (live / "old").write_bytes(b"old" * 3000)
        sync(live)
        replace_bytes(str(live), "old", b"new" * 3000)
        with disk.after_a_cut() as after:
            assert (after / "old").read_bytes() == b"new" * 3000
            assert not (after / "made").exists()
        assert create_absent(str(live), "made", b"made" * 3000)
        with disk.after_a_cut() as after:
            assert (after / "made").read_bytes() == b"made" * 3000


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_reported_outlives_the_power(tmp_path: Path, server: Server, kind: str) -> None:
    disk = disk_of(tmp_path, kind)
    with disk.live() as live:
        made = fresh(live / "x", server)
        sync(live)
        for step in (2, 3):
            done = server.run(made)
            assert (done.code, done.numbers) == (0, [step]), done.said
            with disk.after_a_cut() as after:
                assert number_of(bench_in(after)) == step, "reported, and not there after the cut"
                assert litter(bench_in(after)) == []
        assert server.run(made, "append", text="never lose this").code == 0
        with disk.after_a_cut() as after:
            assert "never lose this" in (after / "x/ws/memory/main/longterm.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_at_any_change_leaves_the_old_or_the_new_state(
    tmp_path: Path, servers: tuple[Server, ...], kind: str
) -> None:
    """The process is stopped at each call that changes something on the paths of the state, and the power cut then."""
    need("strace")
    disk, (server, other) = disk_of(tmp_path, kind), servers
    with disk.live() as live:
        made = fresh(live / "x", server)
        assert server.run(made, "settle").code == 0
        words = paths_of(made)
        changes = calls_of(server.run(made, strace=[*words, "-e", f"trace={CHANGING}"]).trace)
        assert server.run(made, "settle").code == 0
        assert changes.total() > 10
        before = number_of(made)
        sync(live)
        with server.child(made) as child:
            tracer = child.trace(*words, "-e", f"trace={CHANGING}", "-e", f"inject={CHANGING}:signal=STOP")
            child.go()
            for at in range(1, changes.total() + 1):
                tracer.until("--- stopped by SIGSTOP ---", at)
                with disk.after_a_cut() as after:
                    lost = bench_in(after)
                    assert number_of(lost) in (before, before + 1)
                    assert len(litter(lost)) <= 1
                    lost.trust()
                    flushes(other, lost, number_of(lost))
                child.kill(signal.SIGCONT)
            assert child.wait().code == 0
        assert number_of(made) == before + 1
