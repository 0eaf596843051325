"""`flush-state.json`: what is recorded of the last flush (protocol, section 9)."""

from __future__ import annotations

from datetime import datetime, tzinfo

from apm_hooks import texts
from apm_hooks.errors import MemoryFileError
from apm_hooks.files import decode, read_bytes
from apm_hooks.records import LIMITS

DM_STATE = "memory/flush-state.json"
OWN_KEY = "apm_hooks"


def last_flush_line(root: str, zone: tzinfo | None) -> str:
    """The DM's line on its last flush, in the workspace's time zone; `never` is a value of its own, and a state that
    cannot be read is neither."""
    import json

    try:
        found = read_bytes(root, DM_STATE, limit=LIMITS.settings_bytes)
    except MemoryFileError:
        return texts.last_flush_line(texts.UNREADABLE_STATE, "")
    if found is None:
        return texts.last_flush_line("never", "")
    try:
        state = json.loads(decode(found[0], DM_STATE)[0])
        recorded = state.get("last_flush_time")
        own = state.get(OWN_KEY)
        outcome = str(own.get("outcome", "")) if isinstance(own, dict) else ""
        if recorded is None:
            return texts.last_flush_line("never", "")
        when = datetime.fromisoformat(recorded).astimezone(zone)
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError, MemoryFileError):
        return texts.last_flush_line(texts.UNREADABLE_STATE, "")
    return texts.last_flush_line(f"{when:%Y-%m-%d %H:%M}", outcome)
