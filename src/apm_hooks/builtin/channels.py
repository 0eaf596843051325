"""Built-in plugin `apm-channels`: the session-key grammar of the known hosts."""

from __future__ import annotations

from apm_hooks.records import SessionKey
from apm_hooks.session import parse_session_key

NAME = "apm-channels"


def apm_parse_session_key(key: str) -> SessionKey:
    """The key by the built-in grammar (protocol, section 3)."""
    return parse_session_key(key)
