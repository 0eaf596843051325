"""Files that change under the reader's hands. The writer is another process that does one step a command, so that it
stands still at an exact point for as long as the test wants; nothing here waits for time to pass."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks import files
from apm_hooks.errors import MemoryFileError
from apm_hooks.files import read_bytes, read_text
from apm_hooks.records import LIMITS
from apm_hooks.runtime import Runtime
from tests.workspaces import PYTHON, bench, event

FILE = "memory/main/attention.md"
LINES = 400

WRITER = """
import os, sys

def text(version):
    return b"".join(b"version %d line %d\\n" % (version, number) for number in range(LINES))

def steps(style, path, version):
    whole = text(version)
    half = len(whole) // 2
    if style == "append":
        with open(path, "ab", buffering=0) as file:
            yield file.write(b"line of version %d\\n" % version)
    elif style == "in place":
        with open(path, "wb", buffering=0) as file:
            yield "emptied"
            yield file.write(whole[:half])
            file.write(whole[half:])
        yield "closed"
    elif style == "moved away":
        os.rename(path, path + "~")
        yield "moved"
        with open(path, "wb", buffering=0) as file:
            yield file.write(whole[:half])
            file.write(whole[half:])
        yield "closed"
    else:
        with open(path + ".new", "wb") as file:
            file.write(whole)
        yield "written"
        os.rename(path + ".new", path)
        yield "renamed"

style, path = sys.argv[1:]
version, running = 0, iter(())
for command in sys.stdin:
    for _ in range(int(command)):
        if next(running, None) is None:
            version += 1
            running = steps(style, path, version)
            next(running)
    print(version, flush=True)
""".replace("LINES", str(LINES))


def whole(version: int) -> str:
    return "".join(f"version {version} line {number}\n" for number in range(LINES))


def is_whole(text: str) -> bool:
    """Every version begins and ends with the same number, and has all its lines."""
    return text == whole(int(text.split(" ", 2)[1])) if text.startswith("version ") else False


class Writer:
    """An editor in another process: it saves version 1, 2, 3 … and does as many steps as it is told, no more."""

    def __init__(self, style: str, path: Path) -> None:
        self._process = subprocess.Popen([PYTHON, "-I", "-S", "-c", WRITER, style, str(path)], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
        self.steps = 0

    def step(self, count: int = 1) -> None:
        """Do `count` steps and stand still."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{count}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline()
        self.steps += count

    def run(self, saves: int) -> None:
        """Begin so many steps, and let the reader go on meanwhile."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{saves}\n")
        self._process.stdin.close()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def end(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.kill()
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


@contextmanager
def writer(style: str, root: Path) -> Iterator[Writer]:
    path = root / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(whole(0))
    made = Writer(style, path)
    try:
        yield made
    finally:
        made.end()


STEPS = {"in place": 3, "moved away": 3, "renamed over": 2}
"""So many steps make one save; before the first and after the last of them the file is whole."""


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, what was written during the test counts as written this moment."""
    newest = [0]

    def now() -> int:
        return newest[0]

    real = files.Stamp.of

    def of(status: os.stat_result) -> files.Stamp:
        newest[0] = status.st_mtime_ns + 1
        return real(status)

    monkeypatch.setattr(files, "_now_ns", now)
    monkeypatch.setattr(files.Stamp, "of", of)


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("style", STEPS)
@pytest.mark.parametrize("pace", [1, 2, 3, 4])
def test_a_save_that_is_under_way_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, style: str, pace: int
) -> None:
    """The writer stands at each step of its save in turn, and goes on by `pace` steps while the reader waits."""
    for begun in range(STEPS[style] + 1):
        root = tmp_path / str(begun)
        with writer(style, root) as other:
            other.step(begun)

            def go_on(_: float, other: Writer = other) -> None:
                other.step(min(pace, STEPS[style] - other.steps))

            monkeypatch.setattr(files, "_pause", go_on)
            found = read_text(str(root), FILE)
            assert found is not None
            assert found.text in (whole(0), whole(1)) if begun == 0 else found.text == whole(1)


@pytest.mark.usefixtures("fresh")
@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=60), st.sampled_from(["in place", "renamed over"]))
def test_no_interleaving_shows_half_of_a_save(
    tmp_path_factory: pytest.TempPathFactory, schedule: list[int], style: str
) -> None:
    """The writer goes on by the next number of the schedule before each call that the reader makes. While the reader
    waits, a save that is under way goes on by at least one step: that is what the wait is for."""
    root = tmp_path_factory.mktemp("race")
    plan = iter(schedule)
    with writer(style, root) as other, pytest.MonkeyPatch.context() as patch:

        def before(call: Callable[..., object]) -> Callable[..., object]:
            def stepped(*arguments: object, **more: object) -> object:
                other.step(next(plan, 0))
                return call(*arguments, **more)

            return stepped

        def wait(_: float) -> None:
            under_way = other.steps % STEPS[style] != 0
            other.step(max(next(plan, 0), int(under_way)))

        for name in ("open", "read", "fstat"):
            patch.setattr(os, name, before(getattr(os, name)))
        patch.setattr(files, "_pause", wait)
        with suppress(MemoryFileError):
            found = read_text(str(root), FILE)
            assert found is not None
            assert is_whole(found.text)


def test_a_writer_that_never_ends_costs_five_reads_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh: None
) -> None:
    waits = []
    with writer("append", tmp_path) as other:

        def go_on(seconds: float) -> None:
            waits.append(seconds)
            other.step()

        monkeypatch.setattr(files, "_pause", go_on)
        other.step()
        with pytest.raises(MemoryFileError, match=f"{FILE}: keeps changing while it is read"):
            read_text(str(tmp_path), FILE)
    assert len(waits) == 4
    assert sum(waits) <= 0.2


def test_a_file_at_rest_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = bench(tmp_path)
    monkeypatch.setattr(files, "_pause", lambda _: pytest.fail("waited for a file that nobody writes"))
    for path in (FILE, "memory/main/index.md"):
        assert read_text(str(made.root), path) is not None
    os.utime(made.root / "memory/main", (0, 0))
    assert read_text(str(made.root), "memory/main/longterm.md") is None


@pytest.mark.parametrize("style", ["renamed over", "append"])
def test_a_reader_in_a_loop_sees_only_whole_versions(tmp_path: Path, style: str) -> None:
    """The writer runs free. A file that is renamed over is whole at every moment; one that grows only ever gains, and
    an append that crosses a page may be seen by halves, so its last line counts only once it has its end."""
    saves, last = 2_000, []
    with writer(style, tmp_path) as other:
        other.run(saves * STEPS.get(style, 1))
        for _ in range(20_000):
            ended = not other.running
            with suppress(MemoryFileError):
                found = read_bytes(str(tmp_path), FILE)
                assert found is not None
                text = found[0].decode()
                if style == "append":
                    text = text[: text.rindex("\n") + 1]
                assert text.startswith(whole(0)) if style == "append" else is_whole(text)
                last.append(int(text.rpartition("version ")[2].split()[0]))
            if ended:
                break
        assert last == sorted(last)
        assert last[-1] == saves or other.running


@pytest.mark.parametrize("racy_ns", [0, LIMITS.racy_ns])
def test_an_edit_that_keeps_size_and_time_is_seen_by_a_process_that_stays(tmp_path: Path, racy_ns: int) -> None:
    """What copying tools and unpackers leave: another text under the same size and modification time."""
    made = bench(tmp_path)
    runtime = Runtime(str(made.root), made.env, clock=lambda: 0.0, limits=replace(LIMITS, racy_ns=racy_ns))
    for word in ("first", "other", "third"):
        before = (made.root / FILE).stat().st_ctime_ns
        # The clock of the file system moves in steps.
        while made.write(FILE, f"# {word}\n").stat().st_ctime_ns == before:
            pass
        for _ in range(2):
            assert f"# {word}\n" in runtime.session_start(event()).injection.text


SWAPPER = """
import os, sys

root, outside, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
for _ in range(turns):
    os.rename(root + "/main", root + "/aside")
    os.symlink(outside, root + "/main")
    os.unlink(root + "/main")
    os.rename(root + "/aside", root + "/main")
"""


def test_a_folder_that_is_swapped_with_a_link_never_leads_outside(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "attention.md").write_text("private")
    path = tmp_path / "ws" / FILE
    path.parent.mkdir(parents=True)
    path.write_text("ours")
    other = subprocess.Popen([PYTHON, "-I", "-S", "-c", SWAPPER, str(tmp_path / "ws/memory"), str(outside), "20000"])
    seen = set()
    try:
        for _ in range(2_000):
            try:
                found = read_bytes(str(tmp_path / "ws"), FILE)
            except MemoryFileError as error:
                seen.add(error.cause)
            else:
                seen.add(found[0].decode() if found else "absent")
    finally:
        other.kill()
        other.wait()
    assert "private" not in seen
    assert "ours" in seen


def _place(kind: str, path: Path, outside: Path) -> str:
    """Put something else at `path`, and say what: where nobody may make a device, a link to one serves."""
    match kind:
        case "a symbolic link":
            path.symlink_to(outside)
        case "a directory":
            path.mkdir()
        case "a FIFO":
            os.mkfifo(path)
        case "a socket":
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(str(path))
        case "a device":
            try:
                os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
            except PermissionError:
                path.symlink_to("/dev/zero")
                return "a symbolic link"
    return kind


KINDS = ("a symbolic link", "a directory", "a FIFO", "a socket", "a device")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", range(5))
def test_what_is_swapped_in_between_two_calls_is_refused_or_never_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, moment: int
) -> None:
    """Something else takes the file's place before the first, second … call of a read: no hang, nothing from outside,
    and the file as it was or an error that says what stands there."""
    outside = tmp_path / "outside.md"
    outside.write_text("private")
    made = bench(tmp_path)
    path = made.write(FILE, "ours")
    calls, placed = [0], [""]

    def before(call: Callable[..., object]) -> Callable[..., object]:
        def swapped(*arguments: object, **more: object) -> object:
            if calls[0] == moment:
                calls[0] += 1
                path.unlink()
                placed.append(_place(kind, path, outside))
            calls[0] += 1
            return call(*arguments, **more)

        return swapped

    with monkeypatch.context() as patch:
        for name in ("open", "read", "fstat"):
            patch.setattr(os, name, before(getattr(os, name)))
        try:
            found = read_text(str(made.root), FILE)
        except MemoryFileError as error:
            assert error.cause == f"is {placed[-1]}"
        else:
            assert found is not None
            assert found.text == "ours"
    assert calls[0] > moment


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", [FILE, "memory/main/index.md", "memory/main", "memory/flush-state.json"])
def test_a_session_starts_whatever_stands_in_a_files_place(tmp_path: Path, kind: str, path: str) -> None:
    made = bench(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("index.md", "attention.md"):
        (outside / name).write_text("private")
    target = made.root / path
    if target.exists():
        target.rename(tmp_path / "aside")
    placed = _place(kind, target, outside if path == "memory/main" else outside / "index.md")
    loaded = made.runtime().session_start(event())
    assert "private" not in loaded.injection.text
    if path in (FILE, "memory/main/index.md"):
        assert [step.reason for step in loaded.steps if step.path == path] == [f"is {placed}"]


SYSTEM_CALLS = ("open", "fstat", "read", "close")


@pytest.mark.parametrize("call", SYSTEM_CALLS)
def test_a_system_call_that_fails_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """The first, second … call of its kind fails, until a read meets no fault: never a bare OSError, never half a
    file, and no descriptor is left open."""
    made = bench(tmp_path)
    made.write(FILE, whole(1))
    real = getattr(os, call)
    for failing in range(1, 20):
        count = [0]

        def fail(*arguments: object, count: list[int] = count, failing: int = failing, **more: object) -> object:
            count[0] += 1
            if count[0] == failing:
                if call == "close":
                    real(*arguments)
                raise OSError(5, "Input/output error")
            return real(*arguments, **more)

        before = os.listdir("/proc/self/fd")
        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            try:
                found = read_text(str(made.root), FILE)
            except MemoryFileError as error:
                assert "Input/output error" in error.cause
            else:
                assert found is not None
                assert found.text == whole(1)
        assert len(os.listdir("/proc/self/fd")) == len(before)
        if count[0] < failing:
            assert failing > 1
            return
    pytest.fail("a read made more calls than it should")
