"""What the kernel tests share: probes, workspaces, file systems of their own, and the checker that ends every case."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from apm_hooks.flushstate import read_state, state_path
from apm_hooks.records import DM, Scope, ScopeKind
from tests.kernel.processes import SETTINGS, Server
from tests.workspaces import GROUP_KEY, Bench, bench

STATE = "memory/flush-state.json"
LOCK = STATE + ".lock"
TEMPORARY = "memory/.flush-state.json.apm-tmp"
DECISIONS = "memory/main/longterm.md"
DAYS = "memory/main/daily-synced.md"
GROUP = Scope(ScopeKind.GROUP, "alpha")


def need(*programs: str, root: bool = False) -> None:
    """Skip where this machine cannot do it; with CI set that is a failure, so that no check goes missing in silence."""
    missing = [program for program in programs if shutil.which(program) is None]
    if root and os.geteuid() != 0:
        missing.append("root")
    if missing:
        lacking(f"needs {', '.join(missing)} (python tools/install_tools.py)")
    if "strace" in programs and not may_trace():
        lacking("this machine lets nobody trace another process")
    if "mount" in programs and not may_mount():
        lacking("this machine lets nobody mount")


def lacking(what: str) -> None:
    """Skip, or fail where CI is set."""
    if os.environ.get("CI"):
        pytest.fail(what)
    pytest.skip(what)


@cache
def may_trace() -> bool:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as waiting:
        strace = ["strace", "-p", str(waiting.pid), "-o", "/dev/null"]
        with subprocess.Popen(strace, stderr=subprocess.PIPE, text=True) as tracer:
            assert tracer.stderr is not None
            said = tracer.stderr.readline()
            assert waiting.stdin is not None
            waiting.stdin.close()
    return " attached" in said


@cache
def may_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder), "size=64k"):
                return True
        except subprocess.CalledProcessError:
            return False


def fresh(folder: Path, server: Server | None = None) -> Bench:
    """A workspace with a group; with a server, one that was flushed once and holds a decision."""
    folder.mkdir(parents=True, exist_ok=True)
    made = bench(folder, trusted=False, settings=SETTINGS)
    made.groups({GROUP_KEY.rpartition(":")[2]: GROUP.name})
    made.write(GROUP.index_path, f"# {GROUP.name}\n")
    made.trust()
    if server is not None:
        for action in ("flush", "append"):
            done = server.run(made, action, text="the first")
            assert done.code == 0, done.said
    return made


def paths_of(made: Bench) -> list[str]:
    """Words for strace's filter: the folders of the state and of its last good copy, and all that lies in them. A name
    in an open folder counts as the folder."""
    kept = made.root / ".apm/flush"
    copies = list(kept.glob("*.json"))
    return watched(made.root / "memory", kept, *files_of(made), *copies, *map(temporary_of, copies))


def files_of(made: Bench) -> list[Path]:
    return [made.root / name for name in (STATE, LOCK, TEMPORARY)]


def temporary_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.apm-tmp")


def watched(*paths: Path | str) -> list[str]:
    """Words for strace's filter: calls on these paths alone."""
    return [word for path in paths for word in ("-P", str(path))]


def calls_of(trace: str) -> Counter[str]:
    """How often each system call was made."""
    return Counter(found[1] for line in trace.splitlines() if (found := re.match(r"(\w+)\(", line)))


def number_of(made: Bench, scope: Scope = DM) -> int:
    """The number in a state file, which must be whole: it parses, and its checksum holds. 0 for none yet."""
    file = made.root / state_path(scope)
    stored = read_state(str(made.root), scope)
    assert not stored.problem, stored.problem
    assert stored.book.number == (json.loads(file.read_text("utf-8"))["flush_number"] if file.exists() else None)
    return int(stored.book.number or 0)


def names_in(made: Bench) -> set[str]:
    """Every file of the workspace and of its user, but the pre-images, which have a bound of their own."""
    found = (path.relative_to(made.root.parent) for path in made.root.parent.rglob("*") if not path.is_dir())
    return {str(path) for path in found if "backup" not in path.parts}


def decisions(made: Bench) -> list[str]:
    """The texts of the decisions, the newest first."""
    text = (made.root / DECISIONS).read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [line.split(maxsplit=2)[2] for line in text.splitlines() if line.startswith("- ")]


def litter(made: Bench) -> list[str]:
    """Temporaries, and files that were set aside."""
    return sorted(name for name in names_in(made) if ".apm-tmp" in name or ".corrupt-" in name)


def on_disk(made: Bench, *folders: str) -> dict[str, bytes]:
    """What the files of some folders hold: by default the state, its last good copy, and what is beside them."""
    found = (path for folder in folders or ("memory", ".apm/flush") for path in (made.root / folder).glob("*"))
    return {str(path): path.read_bytes() for path in found if path.is_file()}


def flushes(
    server: Server, made: Bench, before: int, scope: Scope = DM, *, settled: bool = False, **more: Any
) -> None:  # fmt: skip
    """The checker: the next run records exactly one more, and leaves nothing beside the state. With `settled`, its turn
    ends as well."""
    done = server.run(made, "flush+settle" if settled else "flush", **more)
    assert (done.code, set(done.numbers)) == (0, {before + 1}), done.said
    assert (number_of(made, scope), litter(made)) == (before + 1, [])


@contextmanager
def mounted(device: Path | str, where: Path, *options: str) -> Iterator[Path]:
    """Something mounted at `where` for the length of a block."""
    where.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *options, str(device), str(where)], check=True, capture_output=True)
    try:
        yield where
    finally:
        # A process that a failed test left in it must not keep it there.
        if subprocess.run(["umount", str(where)], check=False, capture_output=True).returncode:
            subprocess.run(["umount", "--lazy", str(where)], check=True, capture_output=True)


@contextmanager
def small_disk(where: Path, *options: str) -> Iterator[Path]:
    """A file system in memory at `where`, mounted with these options."""
    with mounted("tmpfs", where, "-t", "tmpfs", "-o", ",".join(options)) as disk:
        yield disk
