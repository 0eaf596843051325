"""Memory for chats of the pager channel: its session keys, its `#topics`, who is on call, a trail of flushes, and a
rule for the audit. One module is a whole plugin: apm-hooks finds it by the entry point and calls the marked functions.
"""

from __future__ import annotations

import os
import re

from apm_hooks import (
    AuditRule,
    ChatType,
    Contribution,
    Flushed,
    Fragment,
    IntentQuery,
    RouteMatch,
    ScopeKind,
    SessionKey,
    SessionStart,
    hookimpl,
)

TRAIL = "PAGER_FLUSH_TRAIL"
"""The variable that names the file to which every flush adds a line; without it there is no trail."""

_KEY = re.compile(r"agent:(?P<agent>[\w-]+):pager:room/(?P<room>[\w-]+)(?:/(?P<thread>\d+))?")
_TOPIC = re.compile(r"#([\w-]+)")
_PHONE = re.compile(r"\+\d[\d ]{7,}\d")


@hookimpl
def apm_parse_session_key(key: str) -> SessionKey | None:
    """Keys like `agent:main:pager:room/ops`, and `…/ops/7` for a thread of that room."""
    found = _KEY.fullmatch(key)
    if found is None:
        return None
    return SessionKey(key, ChatType.GROUP, found["agent"], "pager", id=found["room"], thread=found["thread"] or "")


@hookimpl
def apm_match_intent(query: IntentQuery) -> RouteMatch | None:
    """A message with a `#topic` goes to the row that names this topic; what has none is left to others."""
    topics = {topic.lower() for topic in _TOPIC.findall(query.text)}
    for route in query.routes:
        named = topics & {scenario.lower() for scenario in route.scenarios}
        usable = route.path and not route.deprecated and route.path not in query.exclude
        if named and usable and route.sub_file == query.sub_files:
            return RouteMatch(route, 1.0, tuple(sorted(named)))
    return None


@hookimpl
def apm_session_start(event: SessionStart) -> Contribution | None:
    """A line for every group's session; the owner's goes without."""
    if event.scope is None or event.scope.kind is not ScopeKind.GROUP:
        return None
    return Contribution((Fragment("on-call", "Page with `!page`; answers are read aloud, so keep them short."),))


@hookimpl
def apm_flushed(event: Flushed) -> None:
    """Add a line to the trail: trigger, outcome and how many files changed, and nothing of what they hold."""
    trail = os.environ.get(TRAIL)
    if trail:
        with open(trail, "a", encoding="utf-8") as file:
            file.write(f"{event.trigger} {event.outcome} {len(event.changed)}\n")


@hookimpl
def apm_audit_rules() -> tuple[AuditRule, ...]:
    """Telephone numbers belong into the pager's own book."""
    return (AuditRule("phone-number", _phone_numbers),)


def _phone_numbers(path: str, text: str) -> tuple[tuple[int, str], ...]:
    return tuple(
        (number, "a telephone number: keep it in the pager's own book")
        for number, line in enumerate(text.splitlines(), 1)
        if _PHONE.search(line)
    )
