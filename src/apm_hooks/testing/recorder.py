"""A plugin that watches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from apm_hooks.events import Flushed, FlushRequest, IntentQuery, MessageReceived, Review, SessionStart, ToolCall
from apm_hooks.hookspecs import hookimpl

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a hook: its name, and the record or text that it was given (None for a hook without any)."""

    hook: str
    given: object


class Recorder:
    """A plugin that answers nothing and keeps what every hook was given.

    >>> recorder = Recorder()
    >>> with TemporaryWorkspace(plugins={"recorder": recorder}) as workspace:
    ...     _ = workspace.session_start()
    >>> [str(event.scope) for event in recorder.of(SessionStart)]
    ['DM']
    """

    def __init__(self) -> None:
        self._calls: list[Call] = []

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call so far, in order."""
        return tuple(self._calls)

    def of(self, kind: type[_T]) -> tuple[_T, ...]:
        """What hooks were given of one kind of record, in order."""
        return tuple(call.given for call in self._calls if isinstance(call.given, kind))

    def clear(self) -> None:
        """Forget all calls."""
        self._calls.clear()

    def _keep(self, hook: str, given: object) -> None:
        self._calls.append(Call(hook, given))

    @hookimpl
    def apm_session_start(self, event: SessionStart) -> None:
        self._keep("apm_session_start", event)

    @hookimpl
    def remem_flush(self, event: FlushRequest) -> None:
        self._keep("remem_flush", event)

    @hookimpl
    def precompact_remem(self, event: FlushRequest) -> None:
        self._keep("precompact_remem", event)

    @hookimpl
    def idle_flush(self, event: FlushRequest) -> None:
        self._keep("idle_flush", event)

    @hookimpl
    def apm_message_received(self, event: MessageReceived) -> None:
        self._keep("apm_message_received", event)

    @hookimpl
    def apm_guard_tool_call(self, event: ToolCall) -> None:
        self._keep("apm_guard_tool_call", event)

    @hookimpl
    def apm_parse_session_key(self, key: str) -> None:
        self._keep("apm_parse_session_key", key)

    @hookimpl
    def apm_match_intent(self, query: IntentQuery) -> None:
        self._keep("apm_match_intent", query)

    @hookimpl
    def apm_token_counter(self, name: str) -> None:
        self._keep("apm_token_counter", name)

    @hookimpl
    def apm_review_injection(self, review: Review) -> None:
        self._keep("apm_review_injection", review)

    @hookimpl
    def apm_flushed(self, event: Flushed) -> None:
        self._keep("apm_flushed", event)

    @hookimpl
    def apm_audit_rules(self) -> None:
        self._keep("apm_audit_rules", None)

    @hookimpl
    def apm_memory_store(self, url: str) -> None:
        self._keep("apm_memory_store", url)
