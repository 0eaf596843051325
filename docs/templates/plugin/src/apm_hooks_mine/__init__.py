"""What the plugin does, in one line."""

from __future__ import annotations

from apm_hooks import Contribution, Fragment, SessionStart, hookimpl


@hookimpl
def apm_session_start(event: SessionStart) -> Contribution | None:
    """Add a line to every session that has a memory."""
    if event.scope is None:
        return None
    return Contribution((Fragment("hint", "Write decisions down before you end your turn."),))
