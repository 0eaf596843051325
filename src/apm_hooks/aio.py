"""The runtime for frameworks that run on asyncio: every call waits in a thread, never in the loop.

A call reads files, takes locks and runs plugins, all of which may wait. Each method here runs the runtime's own of the
same name in a thread of the loop's default executor, with the caller's context variables, and gives its answer or
raises its error.

When the awaiting task is cancelled, it is free at once. A call that waits for a thread then never begins; one that
runs goes on to its end, so that what it records is whole, and its answer is dropped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from apm_hooks.events import Verdict
from apm_hooks.flushrecords import FlushReport
from apm_hooks.records import LIMITS, Bound, HostEvent, Limits, Loaded, RouteMatch, Scope, ScopeDecision
from apm_hooks.runtime import Runtime

__all__ = ["AsyncRuntime"]


class AsyncRuntime:
    """A runtime whose methods are awaited. `runtime` is the one that answers; it may be used beside this one."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    @classmethod
    async def create(
        cls, root: str, env: Mapping[str, str], *, clock: Callable[[], float] = time.time, limits: Limits = LIMITS,
        plugins: Mapping[str, object] | None = None,
    ) -> Self:  # fmt: skip
        """Make a runtime, off the loop: that reads settings and loads plugins. Raises what `Runtime` raises."""
        return cls(await asyncio.to_thread(Runtime, root, env, clock=clock, limits=limits, plugins=plugins))

    async def session_start(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> Loaded:
        """As `Runtime.session_start`."""
        return await asyncio.to_thread(self.runtime.session_start, event, caps=caps)

    async def message_received(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> Loaded:
        """As `Runtime.message_received`."""
        return await asyncio.to_thread(self.runtime.message_received, event, caps=caps)

    async def tool_call(
        self, event: HostEvent, name: str, arguments: Mapping[str, Any], directory: str = ""
    ) -> Verdict:
        """As `Runtime.tool_call`."""
        return await asyncio.to_thread(self.runtime.tool_call, event, name, arguments, directory)

    async def flush(
        self, event: HostEvent, trigger: str, text: str = "", usage_percent: float | None = None, *,
        identity: str = "", messages: int | None = None, tokens: int | None = None, position: int = 0,
        tell: bool = True, caps: Sequence[Bound] = (),
    ) -> FlushReport:  # fmt: skip
        """As `Runtime.flush`."""
        return await asyncio.to_thread(
            self.runtime.flush, event, trigger, text, usage_percent, identity=identity, messages=messages,
            tokens=tokens, position=position, tell=tell, caps=caps,
        )  # fmt: skip

    async def compacted(self, event: HostEvent) -> None:
        """As `Runtime.compacted`."""
        await asyncio.to_thread(self.runtime.compacted, event)

    async def turn_ended(self, event: HostEvent) -> FlushReport | None:
        """As `Runtime.turn_ended`."""
        return await asyncio.to_thread(self.runtime.turn_ended, event)

    async def session_end(
        self, event: HostEvent, *, messages: int | None = None, tokens: int | None = None
    ) -> FlushReport | None:
        """As `Runtime.session_end`."""
        return await asyncio.to_thread(self.runtime.session_end, event, messages=messages, tokens=tokens)

    async def sweep(self) -> tuple[FlushReport, ...]:
        """As `Runtime.sweep`."""
        return await asyncio.to_thread(self.runtime.sweep)

    async def explain(self, event: HostEvent, *, caps: Sequence[Bound] = ()) -> tuple[Loaded, Loaded | None]:
        """As `Runtime.explain`."""
        return await asyncio.to_thread(self.runtime.explain, event, caps=caps)

    async def decide(self, event: HostEvent) -> ScopeDecision:
        """As `Runtime.decide`."""
        return await asyncio.to_thread(self.runtime.decide, event)

    async def route(self, scope: Scope | None, message: str) -> RouteMatch | None:
        """As `Runtime.route`."""
        return await asyncio.to_thread(self.runtime.route, scope, message)
