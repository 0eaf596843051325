from __future__ import annotations

import ast
import asyncio
import inspect
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

import apm_hooks
from apm_hooks import fastlane, ledger
from apm_hooks.aio import AsyncRuntime
from apm_hooks.errors import NotTrustedError
from apm_hooks.records import HostEvent, Source
from apm_hooks.runtime import Runtime
from apm_hooks.testing import TemporaryWorkspace

ENOUGH = 20.0
"""Seconds after which a test that hangs fails; none waits so long when all is well."""


@pytest.fixture
def workspace() -> Iterator[TemporaryWorkspace]:
    with TemporaryWorkspace() as made:
        yield made


class Barrier:
    """Holds every count of tokens up until it is released: a call that counts waits in its thread."""

    def __init__(self) -> None:
        self.entered, self.release = threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None

    def __call__(self, text: str) -> int:
        self.thread = threading.current_thread()
        self.entered.set()
        assert self.release.wait(ENOUGH), "never released"
        return len(text)


@contextmanager
def held(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> Iterator[Barrier]:
    barrier = Barrier()
    monkeypatch.setattr(runtime, "count", barrier)
    try:
        yield barrier
    finally:
        barrier.release.set()


def flows() -> list[str]:
    return [name for name, value in vars(AsyncRuntime).items() if name[0] != "_" and inspect.iscoroutinefunction(value)]


def test_every_flow_of_the_runtime_can_be_awaited_with_the_same_arguments() -> None:
    assert set(flows()) == {
        "compacted", "decide", "explain", "flush", "message_received", "route", "session_end", "session_start",
        "sweep", "tool_call", "turn_ended",
    }  # fmt: skip
    for name in flows():
        assert inspect.signature(getattr(AsyncRuntime, name)) == inspect.signature(getattr(Runtime, name)), name
    made, plain = (list(inspect.signature(each).parameters.items()) for each in (AsyncRuntime.create, Runtime))
    assert made == plain


def test_no_other_room_imports_asyncio() -> None:
    package = Path(apm_hooks.__file__).parent
    users = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and any(alias.name.startswith("asyncio") for alias in node.names))
        or (isinstance(node, ast.ImportFrom) and str(node.module).startswith("asyncio"))
    }
    assert users == {"aio.py", "serving.py"}


def test_answers_are_those_of_the_runtime(workspace: TemporaryWorkspace) -> None:
    """Two runs of the same session, each in a workspace as it was before."""

    async def answers() -> list[object]:
        runtime = await AsyncRuntime.create(str(workspace.root), workspace.env, clock=workspace.clock)
        event = workspace.event(session_id="here", message="which decisions?")
        return [
            await runtime.decide(event),
            await runtime.explain(event),
            await runtime.route((await runtime.decide(event)).scope, event.message),
            await runtime.session_start(event),
            await runtime.message_received(event),
            await runtime.tool_call(event, "Read", {"file_path": "memory/main/index.md"}, str(workspace.root)),
            await runtime.flush(event, "remem", "all"),
        ]

    event = workspace.event(session_id="here", message="which decisions?")
    awaited = asyncio.run(answers())
    shutil.rmtree(workspace.root / ".apm")
    (workspace.root / "memory" / "flush-state.json").unlink()
    runtime = workspace.runtime()
    assert awaited == [
        runtime.decide(event),
        runtime.explain(event),
        runtime.route(runtime.decide(event).scope, event.message),
        runtime.session_start(event),
        runtime.message_received(event),
        runtime.tool_call(event, "Read", {"file_path": "memory/main/index.md"}, str(workspace.root)),
        runtime.flush(event, "remem", "all"),
    ]


@pytest.mark.parametrize("name", ["turn_ended", "compacted"])
def test_what_has_no_answer_is_passed_on(
    workspace: TemporaryWorkspace, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    runtime = workspace.runtime()
    given: list[HostEvent] = []
    monkeypatch.setattr(runtime, name, given.append)
    asyncio.run(getattr(AsyncRuntime(runtime), name)(workspace.event()))
    assert given == [workspace.event()]


def test_the_loop_goes_on_while_a_call_waits(workspace: TemporaryWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = workspace.runtime()

    async def main(barrier: Barrier) -> None:
        call = asyncio.create_task(AsyncRuntime(runtime).session_start(workspace.event()))
        beats = 0
        while beats < 100 or not barrier.entered.is_set():
            await asyncio.sleep(0)
            beats += 1
        assert not call.done()
        assert barrier.thread is not threading.current_thread()
        barrier.release.set()
        assert "ship the parser" in (await call).injection.text

    with held(runtime, monkeypatch) as barrier:
        asyncio.run(asyncio.wait_for(main(barrier), ENOUGH))


def test_an_error_is_raised_where_the_call_is_awaited(workspace: TemporaryWorkspace) -> None:
    async def main() -> None:
        runtime = AsyncRuntime(workspace.runtime())
        (workspace.home / ".config/apm-hooks/trust.json").unlink()
        with pytest.raises(NotTrustedError, match="apm-hooks trust"):
            await runtime.session_start(workspace.event())
        with pytest.raises(NotTrustedError):
            await AsyncRuntime.create(str(workspace.root), workspace.env, clock=workspace.clock)
        workspace.trust()
        assert "ship the parser" in (await runtime.session_start(workspace.event())).injection.text

    asyncio.run(main())


def test_a_cancelled_caller_is_free_at_once_and_the_call_is_whole(
    workspace: TemporaryWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime, event = workspace.runtime(), workspace.event()

    async def main(barrier: Barrier) -> None:
        call = asyncio.create_task(AsyncRuntime(runtime).session_start(event))
        await asyncio.to_thread(barrier.entered.wait, ENOUGH)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        # It waits still, so the caller did not wait for it; the loop's end waits for its thread.
        assert barrier.thread is not None
        assert not epoch(workspace, event).begun
        barrier.release.set()

    with held(runtime, monkeypatch) as barrier:
        asyncio.run(asyncio.wait_for(main(barrier), ENOUGH))
    recorded = epoch(workspace, event)
    assert recorded.begun
    again = workspace.runtime().session_start(workspace.event(source=Source.RESUME))
    assert recorded.files == again.injection.files


def test_a_call_that_has_no_thread_yet_never_begins_once_it_is_cancelled(
    workspace: TemporaryWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    runtime = workspace.runtime()
    monkeypatch.setattr(runtime, "decide", lambda event: begun.append(event.session_id))

    async def main() -> None:
        from concurrent.futures import ThreadPoolExecutor

        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=1))
        busy, free = threading.Event(), threading.Event()

        def block() -> None:
            busy.set()
            free.wait(ENOUGH)

        blocker = asyncio.create_task(asyncio.to_thread(block))
        while not busy.is_set():
            await asyncio.sleep(0)
        call = asyncio.create_task(AsyncRuntime(runtime).decide(workspace.event(session_id="late")))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        free.set()
        await blocker
        await AsyncRuntime(runtime).decide(workspace.event(session_id="next"))

    asyncio.run(asyncio.wait_for(main(), ENOUGH))
    assert begun == ["next"]


def test_a_call_sees_its_callers_context(workspace: TemporaryWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    request: ContextVar[str] = ContextVar("request", default="")
    seen: list[str] = []
    runtime = workspace.runtime()
    monkeypatch.setattr(runtime, "decide", lambda event: seen.append(request.get()))

    async def main() -> None:
        async def serve(name: str) -> None:
            request.set(name)
            await AsyncRuntime(runtime).decide(workspace.event())

        await asyncio.gather(serve("one"), serve("two"))

    asyncio.run(main())
    assert sorted(seen) == ["one", "two"]


def test_many_sessions_at_once_are_kept_apart() -> None:
    keys: dict[str, Any] = {f"-100{number}": f"group-{number}" for number in range(8)}
    with TemporaryWorkspace(groups=keys) as made:
        for name in keys.values():
            made.write(f"memory/groups/{name}.md", f"# Index\n\nword of {name}.\n")
        runtime = AsyncRuntime(made.runtime())

        async def serve(id_: str, turn: int) -> tuple[str, str]:
            event = made.event(f"agent:main:telegram:group:{id_}", session_id=f"{id_}/{turn}")
            return id_, (await runtime.session_start(event)).injection.text

        async def main() -> list[tuple[str, str]]:
            return await asyncio.gather(*(serve(id_, turn) for turn in range(5) for id_ in keys))

        answers = asyncio.run(main())
        assert len(answers) == 40
        for id_, text in answers:
            assert [name for name in keys.values() if f"word of {name}." in text] == [keys[id_]]


def epoch(workspace: TemporaryWorkspace, event: HostEvent) -> ledger.Epoch:
    name = fastlane.session_name(event.host, event.session_id, event.session_key)
    return ledger.read_epoch(str(workspace.root), name)
