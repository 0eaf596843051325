"""A workspace as read once, for as long as its files carry the same stamps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count

from apm_hooks.places import Places
from apm_hooks.prepared import Stamps, believable, hold, stamps_of
from apm_hooks.records import LIMITS, HostEvent, ScopeDecision, SessionKey
from apm_hooks.scope import decide_scope
from apm_hooks.workspace import Workspace, open_workspace

_numbers = count()


@dataclass(slots=True)
class Opened:
    """The workspace, the stamps under which that holds, and what was decided under it.

    `number` differs for each reading in the process, so that what was prepared under one is not used under another.
    """

    workspace: Workspace
    stamps: Stamps
    parse: Callable[[str], SessionKey]
    lasting: bool
    number: int = field(default_factory=lambda: next(_numbers))
    decisions: dict[tuple[object, ...], ScopeDecision] = field(default_factory=dict)

    def holds(self) -> bool:
        """True while none of the files has changed; a reading too fresh to be told from the next one never holds."""
        return self.lasting and hold(self.stamps)

    def decide(self, event: HostEvent) -> ScopeDecision:
        """Whose memory the event's session may touch; a session that moved is decided anew."""
        key = (event.session_key, event.single_user, event.is_group, event.sender, event.subagent)
        found = self.decisions.get(key)
        if found is None:
            found = self._decide(event)
            if len(self.decisions) >= LIMITS.prepared:
                self.decisions.clear()
            self.decisions[key] = found
        return found

    def _decide(self, event: HostEvent) -> ScopeDecision:
        workspace = self.workspace
        decision = decide_scope(event, workspace.privacy, workspace.groups, parse=self.parse)
        if decision.scope is None and workspace.changed:
            names = ", ".join(workspace.changed)
            return ScopeDecision(
                None, decision.code, f"{decision.detail}; not counted, because changed since it was accepted: {names}",
                "Review the change, then run: apm-hooks trust",
            )  # fmt: skip
        return decision


def open_now(
    root: str, where: Places, env: Mapping[str, str], parse: Callable[[str], SessionKey], racy_ns: int
) -> Opened:
    """Read the workspace. Raises NotTrustedError or SettingsError."""
    started = time.time_ns()
    workspace = open_workspace(root, where, env)
    stamps = stamps_of(root, (), workspace.inputs)
    return Opened(workspace, stamps, parse, believable(stamps, started, racy_ns))
