"""Memory for AI agents as host hooks: loaded bit by bit, kept apart per conversation.

The public names are resolved when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from apm_hooks._version import __version__
    from apm_hooks.errors import (
        ApmError,
        LockTimeoutError,
        MemoryFileError,
        NameRefusedError,
        NotTrustedError,
        ScopeError,
        SettingsError,
        UsageError,
    )
    from apm_hooks.events import (
        AuditRule,
        Contribution,
        FlushAnswer,
        Flushed,
        FlushRequest,
        IntentQuery,
        MessageReceived,
        Review,
        Reviewed,
        SessionStart,
        ToolCall,
        Verdict,
    )
    from apm_hooks.flushrecords import Delta, FlushReport, Outcome, Pending, PendingKind, Status, Trigger
    from apm_hooks.hookspecs import hookimpl
    from apm_hooks.records import (
        DM,
        Bound,
        ChatType,
        Fragment,
        HostEvent,
        Injection,
        Limits,
        Loaded,
        Route,
        RouteMatch,
        Scope,
        ScopeDecision,
        ScopeKind,
        SessionKey,
        Source,
        Step,
    )
    from apm_hooks.runtime import Runtime

_HOMES = {
    "ApmError": "errors",
    "AuditRule": "events",
    "Bound": "records",
    "ChatType": "records",
    "Contribution": "events",
    "DM": "records",
    "Delta": "flushrecords",
    "FlushAnswer": "events",
    "FlushReport": "flushrecords",
    "FlushRequest": "events",
    "Flushed": "events",
    "Fragment": "records",
    "HostEvent": "records",
    "Injection": "records",
    "IntentQuery": "events",
    "Limits": "records",
    "Loaded": "records",
    "LockTimeoutError": "errors",
    "MemoryFileError": "errors",
    "MessageReceived": "events",
    "NameRefusedError": "errors",
    "NotTrustedError": "errors",
    "Outcome": "flushrecords",
    "Pending": "flushrecords",
    "PendingKind": "flushrecords",
    "Review": "events",
    "Reviewed": "events",
    "Route": "records",
    "RouteMatch": "records",
    "Runtime": "runtime",
    "Scope": "records",
    "ScopeDecision": "records",
    "ScopeError": "errors",
    "ScopeKind": "records",
    "SessionKey": "records",
    "SessionStart": "events",
    "SettingsError": "errors",
    "Source": "records",
    "Status": "flushrecords",
    "Step": "records",
    "ToolCall": "events",
    "Trigger": "flushrecords",
    "UsageError": "errors",
    "Verdict": "events",
    "__version__": "_version",
    "hookimpl": "hookspecs",
}

__all__ = [
    "ApmError",
    "AuditRule",
    "Bound",
    "ChatType",
    "Contribution",
    "DM",
    "Delta",
    "FlushAnswer",
    "FlushReport",
    "FlushRequest",
    "Flushed",
    "Fragment",
    "HostEvent",
    "Injection",
    "IntentQuery",
    "Limits",
    "Loaded",
    "LockTimeoutError",
    "MemoryFileError",
    "MessageReceived",
    "NameRefusedError",
    "NotTrustedError",
    "Outcome",
    "Pending",
    "PendingKind",
    "Review",
    "Reviewed",
    "Route",
    "RouteMatch",
    "Runtime",
    "Scope",
    "ScopeDecision",
    "ScopeError",
    "ScopeKind",
    "SessionKey",
    "SessionStart",
    "SettingsError",
    "Source",
    "Status",
    "Step",
    "ToolCall",
    "Trigger",
    "UsageError",
    "Verdict",
    "__version__",
    "hookimpl",
]


if not TYPE_CHECKING:
    # A type checker must not take every unknown name for one of ours.
    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'apm_hooks' has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"apm_hooks.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
