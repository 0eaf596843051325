"""The worker: a process that stays and answers a host's events over a Unix socket, so that no event pays for a start.

One a user and set of folders; it keeps a runtime for each workspace and environment. Every line is one request as JSON
(`id`, `version`, `payload`), every line back its answer (`id`, and `answer` or `error`). Errors are one word: `version`
(the request is of another version of the library), `busy`, `bad` (not understood), `late` (it took too long), `ending`
(the worker goes away). Whoever asks does the event in a process of its own then.

Whatever holds no more ends the worker, and the next event starts a fresh one: files of the library or its plugins that
changed, a socket that is another's now, an event that hangs, a quarter of an hour without any.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from apm_hooks import fastlane
from apm_hooks._version import __version__
from apm_hooks.errors import LockTimeoutError, UsageError
from apm_hooks.locking import locked_at
from apm_hooks.places import places, private_directory
from apm_hooks.records import LIMITS

if TYPE_CHECKING:
    from apm_hooks.runtime import Runtime

Answer = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Gives the answer to a payload; called in threads, never at once for one session."""

PATH_BYTES = 107
"""The longest path that a Unix socket may have everywhere."""


@dataclass(frozen=True, slots=True)
class ServeLimits:
    """Bounds of the worker. `late_seconds`: after so long an event counts as hanging. `look_seconds`: so often it looks
    whether it should still be there. `events`: so many may wait or be worked on at once."""

    idle_seconds: float = 900.0
    late_seconds: float = LIMITS.hook_seconds + 2
    look_seconds: float = 1.0
    lock_seconds: float = 2.0
    drain_seconds: float = 5.0
    request_bytes: int = LIMITS.event_bytes
    connections: int = 512
    events: int = 64
    threads: int = 8
    runtimes: int = 32


def socket_path(env: Mapping[str, str], host: str) -> str:
    """Where the worker for `host` listens, for whoever has this environment. Raises UsageError where that path is too
    long for a socket."""
    from hashlib import sha256

    folder, home = places(env).runtime, env.get("HOME", "")
    named = (home, *(env.get(f"XDG_{name}_HOME", "") for name in ("CONFIG", "STATE", "CACHE")))
    digest = sha256("\0".join(named).encode("utf-8", "surrogateescape")).hexdigest()
    path = f"{folder}/{host}-{digest[:16]}.sock"
    if len(os.fsencode(path)) > PATH_BYTES:
        raise UsageError(f"{path} is too long for a socket", remedy="Set XDG_RUNTIME_DIR to a shorter folder.")
    return path


SERVING = ServeLimits()


class Runtimes:
    """Runtimes kept by workspace and environment, the least used going first. Threads share them."""

    def __init__(self, opened: Callable[[str, Mapping[str, str]], Runtime], most: int = SERVING.runtimes) -> None:
        self._opened = opened
        self._most = most
        self._kept: OrderedDict[tuple[object, ...], Runtime] = OrderedDict()
        self._lock = Lock()

    def __call__(self, root: str, env: Mapping[str, str]) -> Runtime:
        """The runtime for a workspace; raises what making one raises, and keeps none then."""
        key = (root, *sorted(env.items()))
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                found = self._opened(root, env)
                self._kept[key] = found
            self._kept.move_to_end(key)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return found


def installed() -> tuple[object, ...]:
    """What names the library and its plugins as they are installed now: another value is another version."""
    package = os.path.dirname(os.path.abspath(fastlane.__file__))
    files = (
        os.path.join(folder, name) for folder, _, names in os.walk(package) for name in names if name.endswith(".py")
    )
    return (*((file, *fastlane.stamp_of(file)) for file in sorted(files)), *fastlane.installation_stamps(sys.path))


class Server:
    """The worker for one socket. When an event hangs, `hung` is called, to end the process; `alive` is called as long
    as the worker's loop turns."""

    def __init__(
        self, path: str, answer: Answer, *, hung: Callable[[], None], alive: Callable[[], None] = lambda: None,
        limits: ServeLimits = SERVING,
    ) -> None:  # fmt: skip
        self.path = path
        self.limits = limits
        self._answer = answer
        self._hung = hung
        self._alive = alive
        self._pool = ThreadPoolExecutor(limits.threads, thread_name_prefix="apm-hooks")
        self._threads = asyncio.Semaphore(limits.threads)
        self._sessions: dict[str, tuple[asyncio.Lock, int]] = {}
        self._connections = 0
        self._events = self._hanging = 0
        self._used = self._looked = time.monotonic()
        self._installed: tuple[object, ...] = ()
        self._own: os.stat_result | None = None
        self._ending = ""

    def run(self) -> str:
        """Answer until something ends it; why, in one word: `taken` where another worker is there already, `idle`,
        `changed`, `replaced`, `hung`, or what `stop` was called with.

        Raises SettingsError where the socket's folder cannot be used, MemoryFileError where its lock cannot, OSError.
        """
        folder, name = os.path.split(self.path)
        private_directory(folder)
        try:
            with locked_at(folder, f"{name}.lock", seconds=self.limits.lock_seconds):
                return asyncio.run(self._run())
        except LockTimeoutError:
            return "taken"
        finally:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def stop(self, why: str = "stopped") -> None:
        """Take no more events; those that are worked on are answered."""
        self._ending = self._ending or why

    async def _run(self) -> str:
        self._installed = installed()
        listening = _listen(self.path)
        self._own = os.lstat(self.path)
        server = await asyncio.start_unix_server(
            self._connected, sock=listening, limit=self.limits.request_bytes, backlog=self.limits.connections
        )
        try:
            while not self._ending:
                await asyncio.sleep(self.limits.look_seconds)
                self._alive()
                self._look()
        finally:
            server.close()
            if self._is_own():
                with suppress(OSError):
                    os.unlink(self.path)
        deadline = time.monotonic() + self.limits.late_seconds
        while self._events > self._hanging and time.monotonic() < deadline:
            await asyncio.sleep(0.01)
        if self._events:
            self._hung()
        return self._ending

    def _look(self) -> None:
        """End where something holds no more."""
        self._looked = time.monotonic()
        if self._looked - self._used > self.limits.idle_seconds and not self._events:
            self.stop("idle")
        elif not self._is_own():
            self.stop("replaced")
        elif installed() != self._installed:
            self.stop("changed")

    def _is_own(self) -> bool:
        try:
            return self._own is not None and os.path.samestat(self._own, os.lstat(self.path))
        except OSError:
            return False

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks: set[asyncio.Task[None]] = set()
        self._connections += 1
        try:
            if not _is_ours(writer.get_extra_info("socket")):
                return
            if self._connections > self.limits.connections:
                await self._send(writer, {"id": None, "error": "busy"})
                return
            while True:
                line = await _line_of(reader)
                if line is None:
                    await self._send(writer, {"id": None, "error": "bad"})
                    return
                if not line:
                    break
                task = asyncio.create_task(self._request(line, writer))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            # Whoever has nothing more to ask may still wait for answers.
            if tasks:
                await asyncio.wait(tasks)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._connections -= 1
            with suppress(OSError, RuntimeError):
                writer.close()

    async def _request(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        """Answer one line; an error that another try here would not mend closes the connection too."""
        id_, payload, error = _parsed(line)
        self._used = time.monotonic()
        if not error and self._used - self._looked > self.limits.look_seconds:
            self._look()
        if self._ending:
            error = "ending"
        elif not error and self._events >= self.limits.events:
            error = "busy"
        if error:
            await self._send(writer, {"id": id_, "error": error})
            if error != "busy":
                writer.close()
            return
        self._events += 1
        hangs = False
        try:
            reply, hangs = await self._answered(payload)
        finally:
            self._events -= not hangs
            self._hanging += hangs
        await self._send(writer, {"id": id_, **reply})

    async def _answered(self, payload: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
        """The reply to a payload, and whether its event hangs: one event of a session after the other, sessions beside
        each other."""
        name = str(payload.get("session_key") or payload.get("session_id") or "")
        lock, users = self._sessions.get(name) or (asyncio.Lock(), 0)
        self._sessions[name] = (lock, users + 1)
        try:
            async with AsyncExitStack() as turn:
                async with asyncio.timeout(self.limits.late_seconds):
                    await turn.enter_async_context(lock)
                    await turn.enter_async_context(self._threads)
                return await self._worked_on(payload)
        except TimeoutError:
            return {"error": "busy"}, False
        finally:
            lock, users = self._sessions[name]
            if users > 1:
                self._sessions[name] = (lock, users - 1)
            else:
                del self._sessions[name]

    async def _worked_on(self, payload: Mapping[str, Any]) -> tuple[Mapping[str, Any], bool]:
        future = asyncio.get_running_loop().run_in_executor(self._pool, self._answer, payload)
        done, _ = await asyncio.wait((future,), timeout=self.limits.late_seconds)
        if not done:
            self.stop("hung")
            return {"error": "late"}, True
        # Whoever asked does it in a process of its own.
        return ({"error": "failed"} if future.exception() else {"answer": future.result()}), False

    async def _send(self, writer: asyncio.StreamWriter, reply: Mapping[str, Any]) -> None:
        with suppress(OSError, RuntimeError):
            writer.write(json.dumps(reply, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n")
            try:
                async with asyncio.timeout(self.limits.drain_seconds):
                    await writer.drain()
            except TimeoutError:
                # Who takes no answers gets none.
                writer.transport.abort()


def _listen(path: str) -> socket.socket:
    """A socket that listens at `path`, for this user alone; what a dead worker left there goes."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # The folder is nobody else's, so that nobody can come in between the two.
        made.bind(path)
        os.chmod(path, 0o600)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made


def _is_ours(peer: Any) -> bool:
    """Whether the other end of a connection is a process of this user; the folder's mode decides where the system
    cannot tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    try:
        _, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    except OSError:
        return False
    return bool(uid == os.geteuid())


async def _line_of(reader: asyncio.StreamReader) -> bytes | None:
    """The next line; empty at the end, None for one that is too long."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError:
        return None


def _parsed(line: bytes) -> tuple[Any, Mapping[str, Any], str]:
    """Id, payload and error of a request."""
    try:
        request = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return None, {}, "bad"
    if not isinstance(request, dict):
        return None, {}, "bad"
    id_, payload = request.get("id"), request.get("payload")
    id_ = id_ if isinstance(id_, int | str) else None
    if request.get("version") != __version__:
        return id_, {}, "version"
    return (id_, payload, "") if isinstance(payload, dict) else (id_, {}, "bad")
