"""A worker in a thread of this process, and its clients."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

from apm_hooks._version import __version__
from apm_hooks.serving import SERVING, Answer, ServeLimits, Server

QUICK = replace(SERVING, look_seconds=0.01, lock_seconds=0.05)


class Wire:
    """A client's connection."""

    made: ClassVar[list[Wire]] = []

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.file = self.socket.makefile("rb")
        self.made.append(self)
        self.socket.settimeout(20)
        self.socket.connect(path)

    def close(self) -> None:
        self.file.close()
        self.socket.close()

    def send(self, id_: object = 1, **payload: object) -> None:
        request = {"id": id_, "version": __version__, "payload": payload}
        self.socket.sendall(json.dumps(request).encode() + b"\n")

    def reply(self) -> Any:
        """The next line; None where the worker closed the connection."""
        line = self.file.readline()
        return json.loads(line) if line else None

    def ask(self, id_: object = 1, **payload: object) -> Any:
        self.send(id_, **payload)
        return self.reply()


class Running:
    """A server in a thread of this process."""

    def __init__(self, path: str, answer: Answer, limits: ServeLimits) -> None:
        self.hung = threading.Event()
        self.server = Server(path, answer, hung=self.hung.set, limits=limits)
        self.path, self.why = path, ""
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        self.why = self.server.run()

    def ended(self) -> str:
        self.thread.join(20)
        assert not self.thread.is_alive()
        return self.why


def echo(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"context": payload.get("message", "")}


@contextmanager
def served(path: str, answer: Answer = echo, limits: ServeLimits = QUICK) -> Iterator[Running]:
    running = Running(path, answer, limits)
    until(lambda: listens(path) or not running.thread.is_alive())
    try:
        yield running
    finally:
        running.server.stop()
        running.ended()


def listens(path: str) -> bool:
    try:
        Wire(path).close()
    except OSError:
        return False
    return True


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(0.005)
