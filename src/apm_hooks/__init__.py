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
    from apm_hooks.records import HostEvent, Injection, Limits, Loaded, Scope, SessionKey, Source, Step
    from apm_hooks.runtime import Runtime

_HOMES = {
    "ApmError": "errors",
    "HostEvent": "records",
    "Injection": "records",
    "Limits": "records",
    "Loaded": "records",
    "LockTimeoutError": "errors",
    "MemoryFileError": "errors",
    "NameRefusedError": "errors",
    "NotTrustedError": "errors",
    "Runtime": "runtime",
    "Scope": "records",
    "ScopeError": "errors",
    "SessionKey": "records",
    "SettingsError": "errors",
    "Source": "records",
    "Step": "records",
    "UsageError": "errors",
    "__version__": "_version",
}

__all__ = [
    "ApmError",
    "HostEvent",
    "Injection",
    "Limits",
    "Loaded",
    "LockTimeoutError",
    "MemoryFileError",
    "NameRefusedError",
    "NotTrustedError",
    "Runtime",
    "Scope",
    "ScopeError",
    "SessionKey",
    "SettingsError",
    "Source",
    "Step",
    "UsageError",
    "__version__",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'apm_hooks' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"apm_hooks.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
