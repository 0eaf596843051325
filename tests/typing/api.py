"""Uses of the public names as their users write them. Never run: two type checkers read it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import apm_hooks
from apm_hooks import (
    DM,
    ApmError,
    AuditRule,
    Bound,
    ChatType,
    Contribution,
    Delta,
    FlushAnswer,
    Flushed,
    FlushReport,
    FlushRequest,
    Fragment,
    HostEvent,
    Injection,
    IntentQuery,
    Limits,
    Loaded,
    LockTimeoutError,
    MemoryFileError,
    MessageReceived,
    NameRefusedError,
    NotTrustedError,
    Outcome,
    Pending,
    PendingKind,
    Review,
    Reviewed,
    Route,
    RouteMatch,
    Runtime,
    Scope,
    ScopeDecision,
    ScopeError,
    ScopeKind,
    SessionKey,
    SessionStart,
    SettingsError,
    Source,
    Status,
    Step,
    ToolCall,
    Trigger,
    UsageError,
    Verdict,
    hookimpl,
)
from apm_hooks.aio import AsyncRuntime
from apm_hooks.testing import Call, FakeClock, LeakChecker, Planted, Recorder, TemporaryWorkspace, leaks

version: str = apm_hooks.__version__
group: Scope = Scope(ScopeKind.GROUP, "alpha")
index: str = group.index_path


@hookimpl
def apm_session_start(event: SessionStart) -> Contribution | None:
    host: HostEvent = event.host
    if event.scope is None or event.count(host.message) > event.budget_tokens - event.spent_tokens:
        return None
    first: Bound | None = event.caps[0] if event.caps else None
    text = f"{event.day:%A} in {event.root}: {first.limit if first else event.limits.group_budget_tokens}"
    return Contribution((Fragment("day", text),), priority=5, inputs=("memory/main/index.md",))


@hookimpl
def apm_message_received(event: MessageReceived) -> Contribution | None:
    match: RouteMatch | None = event.match(IntentQuery(event.text, ()))
    layers: tuple[str, ...] = tuple(layer for _, layer in event.loaded)
    return Contribution(done=True) if match and layers else None


@hookimpl
def remem_flush(event: FlushRequest) -> FlushAnswer | None:
    return FlushAnswer(f"{event.trigger}: {event.text}", pending=("ask again",)) if event.usage_percent else None


@hookimpl
def precompact_remem(event: FlushRequest) -> FlushAnswer | None:
    return FlushAnswer(report=event.root, priority=-1)


@hookimpl
def idle_flush(event: FlushRequest) -> None:
    return None


@hookimpl
def apm_guard_tool_call(event: ToolCall) -> Verdict | None:
    path: object = event.arguments.get("file_path", event.directory)
    return Verdict(deny=True, reason=f"not {path}") if event.name == "Read" else None


@hookimpl
def apm_parse_session_key(key: str) -> SessionKey | None:
    return SessionKey(key, ChatType.GROUP, channel="pager", id=key) if key.startswith("pager/") else None


@hookimpl
def apm_match_intent(query: IntentQuery) -> RouteMatch | None:
    routes: list[Route] = [route for route in query.routes if route.path not in query.exclude]
    return RouteMatch(routes[0], 1.0, (query.text,)) if routes and not query.sub_files else None


@hookimpl
def apm_token_counter(name: str) -> Callable[[str], int] | None:
    return len if name == "characters" else None


@hookimpl
def apm_review_injection(review: Review) -> Reviewed | None:
    texts: list[str | None] = [None if "secret" in part.text else part.text for part in review.fragments]
    return Reviewed(tuple(texts))


@hookimpl
def apm_flushed(event: Flushed) -> None:
    outcome: str = event.outcome
    print(event.trigger, outcome, *event.changed)


def no_tabs(path: str, text: str) -> tuple[tuple[int, str], ...]:
    return tuple((number, f"{path}: a tab") for number, line in enumerate(text.splitlines(), 1) if "\t" in line)


@hookimpl
def apm_audit_rules() -> tuple[AuditRule, ...]:
    return (AuditRule("no-tabs", no_tabs),)


@hookimpl
def apm_memory_store(url: str) -> object | None:
    return FakeClock() if url.startswith("memory:") else None


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def turn(root: Path, env: Mapping[str, str], plugins: Mapping[str, object]) -> str:
    """A framework's turn, by the synchronous runtime."""
    try:
        runtime = Runtime(str(root), env, clock=time.time, limits=Limits(lock_seconds=1.0), plugins=plugins)
        event = HostEvent("my-framework", "s1", Source.STARTUP, session_key="agent:main:main", message="hello")
        started: Loaded = runtime.session_start(event, caps=(Bound("utf16", units, 10_000),))
        injection: Injection = started.injection
        steps: tuple[Step, ...] = runtime.message_received(event).steps
        decision: ScopeDecision = runtime.decide(event)
        dry: tuple[Loaded, Loaded | None] = runtime.explain(event)
        route: RouteMatch | None = runtime.route(decision.scope, event.message)
        verdict: Verdict = runtime.tool_call(event, "Read", {"file_path": "MEMORY.md"}, str(root))
        report: FlushReport = runtime.flush(event, "remem", text="all of it", identity="p1", tell=False)
        more: FlushReport = runtime.flush(event, "pre-compaction", usage_percent=81.5, messages=3, tokens=None)
        settled: FlushReport | None = runtime.turn_ended(event)
        ended: FlushReport | None = runtime.session_end(event, messages=3, tokens=900)
        runtime.compacted(event)
        swept: tuple[FlushReport, ...] = runtime.sweep()
    except NotTrustedError as error:
        return error.remedy
    except (SettingsError, UsageError, NameRefusedError) as error:
        return f"{error.file}:{error.line} {error.key}"
    except (ScopeError, MemoryFileError, LockTimeoutError) as error:
        return error.cause
    except ApmError as error:
        return f"{error.code} {error.exit_code} {error.as_dict()}"
    answers: tuple[FlushAnswer, ...] = report.answers + more.answers
    kinds: tuple[Status, Trigger, Outcome | None] = (report.status, report.trigger, report.outcome)
    delta: Delta = report.delta
    changed: tuple[str, ...] = delta.changed
    first: Pending | None = report.pending[0] if report.pending else None
    left: list[tuple[str, PendingKind]] = [(item.id, item.kind) for item in report.pending]
    said = [answer.directive for answer in answers if answer.directive]
    denied = verdict.reason if verdict.deny else ""
    rest = str((route, dry, kinds, changed, first, left, settled, ended, swept, started.directive.text))
    return "\n".join([injection.text, *(step.reason for step in steps), *said, denied, rest])


async def async_turn(root: Path, env: Mapping[str, str]) -> str:
    """The same by the runtime for asyncio."""
    runtime = await AsyncRuntime.create(str(root), env, clock=time.time, plugins={"mine": Recorder()})
    beside = AsyncRuntime(runtime.runtime)
    event = HostEvent("my-framework", "s1", is_group=True, sender="77")
    loaded: Loaded = await runtime.session_start(event)
    later: Loaded = await runtime.message_received(event, caps=())
    decision: ScopeDecision = await beside.decide(event)
    dry: tuple[Loaded, Loaded | None] = await runtime.explain(event)
    route: RouteMatch | None = await runtime.route(decision.scope, "hello")
    verdict: Verdict = await runtime.tool_call(event, "Bash", {"command": "ls"}, str(root))
    report: FlushReport = await runtime.flush(event, "idle")
    settled: FlushReport | None = await runtime.turn_ended(event)
    await runtime.session_end(event)
    await runtime.compacted(event)
    swept: tuple[FlushReport, ...] = await runtime.sweep()
    return f"{loaded.warning}{later.tripped}{verdict.deny}{report}{route}{dry}{settled}{swept}"


def tests(folder: Path) -> None:
    """What a plugin's own tests are written with."""
    clock, recorder = FakeClock(), Recorder()
    clock.advance(1800)
    clock.set(time.time())
    now: float = clock()
    with TemporaryWorkspace(folder, groups={"-1": "alpha"}, plugins={"recorder": recorder}, now=now) as workspace:
        written: Path = workspace.write("memory/groups/alpha.md", "# Alpha")
        workspace.settings('timezone = "UTC"\n')
        workspace.groups({"-1": {"name": "alpha", "channel": "telegram"}})
        workspace.trust()
        checker = LeakChecker(workspace)
        canary: str = checker.plant("memory/notes/b.md")
        loaded: Loaded = workspace.session_start("agent:main:telegram:group:-1", source=Source.CLEAR)
        workspace.message("hello", "agent:main:telegram:group:-1")
        verdict: Verdict = workspace.tool_call("Read", {"file_path": str(written)})
        report: FlushReport = workspace.flush("remem", text="all")
        settled: FlushReport | None = workspace.turn_ended()
        checker.check(loaded.injection.text, loaded.decision.scope)
        checker.check(workspace.state(), None)
        found: tuple[Planted, ...] = checker.found(workspace.read("MEMORY.md"))
        runtime: Runtime = workspace.runtime(plugins={})
        lines: list[str] = [line["text"] for line in workspace.log()]
    calls: tuple[Call, ...] = recorder.calls
    scopes: list[Scope | None] = [event.scope for event in recorder.of(SessionStart)]
    foreign: tuple[str, ...] = leaks({canary: "DM"}, "…", DM)
    print(calls, scopes, foreign, verdict, report, settled, found, runtime.root, lines)
