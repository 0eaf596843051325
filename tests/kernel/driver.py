"""What the kernel tests kill, starve, and cut the power of: a flush, or a write to memory, in a process of its own.

    python driver.py REQUEST    one process
    python driver.py            a server: one process, forked, for each request, a line on standard input

A request is the arguments of `act` as a JSON object. Each step says what came of it in one JSON line. Exit 0: recorded;
3: refused with an error of ours, which the line holds. The server's answers stand between a line with `pid` and one
with `exit`. With `held` the child does nothing before one more line came; with `processes` there are so many of it;
with `here` the server does it itself, so that what is loaded for it is there for every later child.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from apm_hooks import files
from apm_hooks.errors import ApmError
from apm_hooks.facts.config import Member
from apm_hooks.facts.store import FactStore
from apm_hooks.flushrecords import FlushReport, Status
from apm_hooks.notebook import Notebook, Written
from apm_hooks.records import LIMITS, HostEvent
from apm_hooks.runtime import Runtime


def say(**what: object) -> None:
    # One write a line: those of several processes do not mix.
    os.write(1, json.dumps(what).encode() + b"\n")


def act(
    root: str, home: str, action: str, *, session: str = "s", key: str | None = None, text: str = "", count: int = 1,
    patience: float = 0, settled: bool = False, user: int | None = None,
) -> int:  # fmt: skip
    """Do `action` so often: `start`, `message`, `flush`, `settle`, `sweep`, `append` (a decision), `day` (a line of the
    day's summary), `fact-add`, `fact-move` or `fact-cut` (the fact whose slug is `text`), or several one after the
    other, with a plus between them.

    `patience`: seconds to wait for locks. `settled`: no file is half of an editor's save. `user`: on whose behalf.
    """
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    env = {"HOME": home, "PATH": os.defpath, "APM_DISABLE_PLUGINS": "1"}
    limits = replace(LIMITS, lock_seconds=patience, hook_seconds=4 * patience) if patience else LIMITS
    if settled:
        files._SETTLE_NS = 0
    event = HostEvent("test", session, session_key=key, single_user=True)
    try:
        runtime = Runtime(root, env, clock=time.time, limits=limits)
        for step in range(count):
            if any(step_of(runtime, event, each, text or f"{session} {step}") for each in action.split("+")):
                return 3
    except ApmError as error:
        say(error=str(error))
        return 3
    return 0


def step_of(runtime: Runtime, event: HostEvent, action: str, text: str) -> bool:
    """Whether the step failed."""
    if action in ("append", "day"):
        scope = runtime.decide(event).scope
        assert scope is not None
        notebook = Notebook(runtime.root, scope, today=runtime.today(), limits=runtime.limits)
        say(**asdict(notebook.day(text) if action == "day" else notebook.decision(text)))
        return False
    if action.startswith("fact-"):
        say(**asdict(fact_of(runtime, action, text)))
        return False
    if action in ("start", "message"):
        loaded = runtime.session_start(event) if action == "start" else runtime.message_received(event)
        say(files=loaded.injection.files)
        return False
    failed = False
    for report in reports_of(runtime, event, action, text):
        say(status=report.status, number=report.number, outcome=report.outcome, changed=report.delta.changed,
            warning=report.warning)  # fmt: skip
        failed = failed or report.status is Status.FAILED
    return failed


def fact_of(runtime: Runtime, action: str, slug: str) -> Written:
    store = FactStore(runtime.root, Member("test"), today=runtime.today(), limits=runtime.limits)
    if action == "fact-move":
        return store.move(slug)
    return store.add(slug, "It is slow. Why is argued here.", "x.") if action == "fact-add" else store.cut(slug, "y.")


def reports_of(runtime: Runtime, event: HostEvent, action: str, text: str) -> Iterator[FlushReport]:
    if action == "flush":
        yield runtime.flush(event, "remem", text)
    if action == "sweep":
        yield from runtime.sweep()
    if action == "settle" and (report := runtime.turn_ended(event)) is not None:
        yield report


def watch(path: str, mark: str, count: int) -> int:
    """Read a file again and again until `mark` stands in it, or what `mark` names in its JSON is, `count`: each reading
    is whole, and none says less than the one before."""
    # It looks as often as it can without taking the time from those whose work it looks at.
    os.nice(10)
    seen = reads = 0
    while seen < count:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8")
        reads += 1
        if path.endswith(".json"):
            now = json.loads(text)[mark]
        else:
            assert text.endswith("\n"), text[-80:]
            now = text.count(mark)
        assert now >= seen, f"{now} after {seen}"
        seen = now
    say(reads=reads)
    return 0


def perform(request: dict[str, Any]) -> int:
    return (watch if "path" in request else act)(**request)


def serve() -> None:
    # Unbuffered, since the child reads on where the server stopped.
    with open(0, "rb", buffering=0, closefd=False) as lines:
        while line := lines.readline():
            request = json.loads(line)
            held, processes = request.pop("held", False), request.pop("processes", 1)
            if request.pop("here", False):
                say(exit=perform(request))
                continue
            children = [begin(numbered(request, number) if processes > 1 else request, lines if held else None)
                        for number in range(processes)]  # fmt: skip
            codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
            say(exit=next((code for code in codes if code), 0))


def numbered(request: dict[str, Any], number: int) -> dict[str, Any]:
    """The request as one of many: a session of its own, and a group, if the key has a place for the number."""
    key = request.get("key")
    return {**request, "session": f"{request['session']}{number}", "key": key and key.format(number)}


def begin(request: dict[str, Any], held: io.FileIO | None) -> int:
    """Start a child; `held` is what it waits on. Returns its process id."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.dup2(1, 2)
        say(pid=os.getpid())
        if held is not None:
            held.readline()
        code = perform(request)
    except BaseException:  # noqa: BLE001 - whatever it is, the test shall read it
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(perform(json.loads(sys.argv[1])))
    serve()
