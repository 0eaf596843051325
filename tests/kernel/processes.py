"""Processes that are stopped, starved and killed at an exact system call."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from tests.workspaces import Bench, bench

DRIVER = Path(__file__).parent / "driver.py"
SETTINGS = 'tokenizer = "estimated"\n'
"""No tokenizer, which would be most of what a short process does."""
SECONDS = 60
"""So long may a child take; one that hangs is killed, which no test takes for an answer."""

Case = TypeVar("Case")
Found = TypeVar("Found")


@dataclass(frozen=True)
class Done:
    """How a child ended, the JSON lines that it printed, all that it printed, and what strace saw."""

    code: int
    lines: tuple[dict[str, object], ...]
    said: str
    trace: str = ""

    @property
    def numbers(self) -> list[int]:
        return [number for line in self.lines if isinstance(number := line.get("number"), int)]

    @property
    def met(self) -> bool:
        """Whether the injected fault was met."""
        return "(INJECTED)" in self.trace


def lines_of(said: str) -> tuple[dict[str, object], ...]:
    return tuple(json.loads(line) for line in said.splitlines() if line.startswith("{") and line.endswith("}"))


class Tracer:
    """strace on a process that runs already."""

    def __init__(self, pid: int, words: Sequence[str]) -> None:
        self._lines: list[str] = []
        self._ended = False
        self._news = threading.Condition()
        self._process = subprocess.Popen(["strace", "-p", str(pid), *words], stderr=subprocess.PIPE, text=True,
                                         errors="replace")  # fmt: skip
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        # What strace says of it comes after it has asked the kernel for it: nothing is missed from here on.
        self.until(" attached")

    def _read(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                with self._news:
                    self._lines.append(line)
                    self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def until(self, text: str, times: int = 1) -> None:
        """Wait until strace has said that, so often."""
        with self._news:
            self._news.wait_for(lambda: self._ended or self._seen(text) >= times, SECONDS)
            assert self._seen(text) >= times, f"never seen: {text}\n{''.join(self._lines)}"

    def _seen(self, text: str) -> int:
        return sum(text in line for line in self._lines)

    def end(self) -> str:
        """All that strace said; the process has ended."""
        self._process.wait(SECONDS)
        self._reader.join()
        return "".join(self._lines)


class Child:
    """A process forked by the server, which does nothing before `go`."""

    def __init__(self, server: Server, request: Mapping[str, object]) -> None:
        self._server = server
        self._said = ""
        self._tracer: Tracer | None = None
        self._exit: int | None = None
        server.ask({**request, "held": True})
        self.pid = int(json.loads(server.line())["pid"])

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        if self._exit is None:
            self.kill()
            self.wait()

    def trace(self, *words: str) -> Tracer:
        self._tracer = Tracer(self.pid, words)
        return self._tracer

    def go(self) -> None:
        self._server.tell(b"\n")

    def kill(self, name: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, name)

    def wait(self) -> Done:
        """How it ended; one that does not end is killed."""
        timer = threading.Timer(SECONDS, self.kill)
        timer.start()
        try:
            while self._exit is None:
                line = self._server.line()
                assert line, f"the server died: {self._said}"
                if line.startswith('{"exit"'):
                    self._exit = int(json.loads(line)["exit"])
                else:
                    self._said += line
        finally:
            timer.cancel()
        trace = self._tracer.end() if self._tracer is not None else ""
        return Done(self._exit, lines_of(self._said), self._said, trace)


class Server:
    """A process that has loaded everything and forks another for each request: that costs a tenth of a new one, and no
    system call of its start is among those that are counted."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, str(DRIVER)], env=environment(), stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE, bufsize=0)  # fmt: skip
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    def _load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made = bench(Path(folder), settings=SETTINGS)
            for action in ("flush", "append", "settle"):
                self.ask(request_of(made, action, here=True))
                while not (line := self.line()).startswith('{"exit"'):
                    assert line, f"{action} fails where nothing is injected"
                assert json.loads(line) == {"exit": 0}

    def ask(self, request: Mapping[str, object]) -> None:
        self.tell(json.dumps(request).encode() + b"\n")

    def tell(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)

    def line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode("utf-8", "replace")

    def child(self, made: Bench, action: str = "flush", **more: Any) -> Child:
        return Child(self, request_of(made, action, **more))

    def run(self, made: Bench, action: str = "flush", *, strace: Sequence[str] = (), **more: Any) -> Done:
        """An action from its start to its end, under strace with these options if there are any."""
        with self.child(made, action, **more) as child:
            if strace:
                child.trace(*strace)
            child.go()
            return child.wait()

    def crowd(self, made: Bench, action: str, processes: int, **more: Any) -> Done:
        """An action in so many processes at once, each with a session of its own; the code of one that failed."""
        self.ask(request_of(made, action, processes=processes, **more))
        said = ""
        timer = threading.Timer(5 * SECONDS, self._process.kill)
        timer.start()
        try:
            while not (line := self.line()).startswith('{"exit"'):
                assert line, f"the server died: {said}"
                said += line
        finally:
            timer.cancel()
        return Done(int(json.loads(line)["exit"]), lines_of(said), said)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def request_of(made: Bench, action: str, **more: Any) -> dict[str, object]:
    return {"root": str(made.root), "home": str(made.home), "action": action, **more}


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    source = Path(sys.modules["apm_hooks"].__file__ or "").parents[1]
    return {"PATH": os.environ["PATH"], "PYTHONPATH": str(source), **(extra or {})}


def run(before: Sequence[str], made: Bench, action: str, **more: Any) -> Done:
    """An action in a process of its own, started by the program `before`."""
    command = [*before, sys.executable, str(DRIVER), json.dumps(request_of(made, action, **more))]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False)
    return Done(done.returncode, lines_of(done.stdout), done.stdout + done.stderr)


def side_by_side(
    servers: Sequence[Server], work: Callable[[Server, Case], Found], cases: Iterable[Case]
) -> list[Found]:
    """Do `work` for each case, as many at a time as there are servers."""
    free: SimpleQueue[Server] = SimpleQueue()
    for server in servers:
        free.put(server)

    def one(case: Case) -> Found:
        server = free.get()
        try:
            return work(server, case)
        finally:
            free.put(server)

    with ThreadPoolExecutor(len(servers)) as pool:
        return list(pool.map(one, cases))
