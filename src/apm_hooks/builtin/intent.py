"""Built-in plugin `apm-intent`: which row a message matches, by words."""

from __future__ import annotations

from apm_hooks.events import IntentQuery
from apm_hooks.records import RouteMatch
from apm_hooks.routing import compile_routes, route_message

NAME = "apm-intent"


def apm_match_intent(query: IntentQuery) -> RouteMatch | None:
    """The row by the words of message and scenarios (protocol, section 5, step 2)."""
    table = compile_routes(query.routes, sub_files=query.sub_files)
    return route_message(query.text, table, exclude=query.exclude)
