"""What plugins may add to each flow, with the rule by which their answers are combined.

Every method here is one hook. An answer that would loosen privacy or step outside its hook is refused and reported
under its plugin's name; the built-in behaviour then answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from apm_hooks.compose import left_by
from apm_hooks.events import (
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
from apm_hooks.records import ChatType, Fragment, RouteMatch, SessionKey
from apm_hooks.session import may_be_group

if TYPE_CHECKING:
    from apm_hooks.plugins import Plugins

FLUSH_HOOKS: Mapping[str, str] = {"remem": "remem_flush", "pre-compaction": "precompact_remem", "idle": "idle_flush"}
"""Trigger of a flush → the hook that it calls."""

# What decides the text of a session start: with a plugin in one of these, no answer is kept for later.
_START_HOOKS = ("apm_session_start", "apm_review_injection", "apm_parse_session_key", "apm_token_counter")


class Extensions:
    """The plugins of one runtime; `report(plugin, sentence)` takes what is wrong with one."""

    def __init__(self, plugins: Plugins, report: Callable[[str, str], None]) -> None:
        self.plugins = plugins
        self._report = report

    @property
    def lasting(self) -> bool:
        """True where no plugin has a say in a session start, so that the same files give the same answer."""
        return not any(self.plugins.wanted(hook) for hook in _START_HOOKS)

    def parse(self, key: str) -> SessionKey:
        """A session key by the built-in grammar, or by the first plugin that knows a key which that does not."""
        grammar = self.plugins.builtin("apm_parse_session_key")
        known = cast("SessionKey", grammar(key)) if grammar else SessionKey(key, ChatType.UNKNOWN)
        if known.chat is not ChatType.UNKNOWN or not self.plugins.wanted("apm_parse_session_key"):
            return known
        for name, answer in self.plugins.call("apm_parse_session_key", SessionKey, lambda: {"key": key}):
            found = cast("SessionKey", answer)
            if found.owner or (found.chat is ChatType.DIRECT and may_be_group(known)):
                self._report(name, "its session key would widen who reads the owner's memory: not counted")
                continue
            return replace(found, raw=key)
        return known

    def match(self, query: IntentQuery) -> RouteMatch | None:
        """The row of the first plugin that knows one, else the built-in matcher's."""
        if self.plugins.wanted("apm_match_intent"):
            for name, answer in self.plugins.call("apm_match_intent", RouteMatch, lambda: {"query": replace(query)}):
                found = cast("RouteMatch", answer)
                if _may_be_chosen(found, query):
                    return found
                self._report(name, "it chose a row that may not be chosen: not counted")
        matcher = self.plugins.builtin("apm_match_intent")
        return cast("RouteMatch | None", matcher(query)) if matcher else None

    def session_start(self, event: SessionStart) -> tuple[Contribution, list[tuple[str, Contribution]]]:
        """The built-in memory's contribution, and those of plugins, which only a session with a scope gets."""
        return self._contributions("apm_session_start", event, event.budget_tokens, asked=event.scope is not None)

    def message_received(self, event: MessageReceived) -> tuple[Contribution, list[tuple[str, Contribution]]]:
        """As `session_start`, for a message."""
        return self._contributions("apm_message_received", event, event.budget_tokens, asked=event.scope is not None)

    def review(self, review: Review) -> tuple[Fragment, ...]:
        """The fragments without every line that any reviewer takes out."""
        left: tuple[Fragment | None, ...] = review.fragments
        if self.plugins.wanted("apm_review_injection"):
            for name, answer in self.plugins.call(
                "apm_review_injection", Reviewed, lambda: {"review": replace(review)}
            ):
                shortened = left_by(review.fragments, left, cast("Reviewed", answer).texts)
                if shortened is None:
                    self._report(name, "its review adds to the injection, or does not fit it: not counted")
                else:
                    left = shortened
        return tuple(fragment for fragment in left if fragment is not None)

    def verdict(self, call: ToolCall) -> Verdict:
        """The first denial by plugin name; without one there is no opinion."""
        if self.plugins.wanted("apm_guard_tool_call"):
            for _, answer in self.plugins.call("apm_guard_tool_call", Verdict, lambda: {"event": replace(call)}):
                if cast("Verdict", answer).deny:
                    return cast("Verdict", answer)
        return Verdict(deny=False)

    def flush(self, request: FlushRequest) -> tuple[FlushAnswer, ...]:
        """Every plugin's answer to a flush, by priority, then plugin name."""
        hook = FLUSH_HOOKS[request.trigger]
        answers: list[tuple[str, FlushAnswer]] = []
        if self.plugins.wanted(hook):
            found = self.plugins.call(hook, FlushAnswer, lambda: {"event": replace(request)})
            answers = [(name, cast("FlushAnswer", answer)) for name, answer in found]
        return tuple(answer for _, answer in sorted(answers, key=lambda pair: (pair[1].priority, pair[0])))

    def flushed(self, told: Flushed) -> None:
        """Tell every observer what became of a flush."""
        if self.plugins.wanted("apm_flushed"):
            self.plugins.call("apm_flushed", type(None), lambda: {"event": replace(told)})

    def counter(self, name: str) -> Callable[[str], int] | None:
        """A plugin's token counter for a name that is none of the built-in ones."""
        if not self.plugins.wanted("apm_token_counter"):
            return None
        found = self.plugins.call("apm_token_counter", object, lambda: {"name": name})
        return next((cast("Callable[[str], int]", answer) for _, answer in found if callable(answer)), None)

    def _contributions(
        self, hook: str, event: SessionStart | MessageReceived, budget: int, *, asked: bool
    ) -> tuple[Contribution, list[tuple[str, Contribution]]]:
        memory = self.plugins.builtin(hook)
        base = cast("Contribution", memory(event)) if memory else Contribution(budget_tokens=budget)
        if not asked or not self.plugins.wanted(hook):
            return base, []
        found: Sequence[tuple[str, object]] = self.plugins.call(hook, Contribution, lambda: {"event": replace(event)})
        return base, [(name, cast("Contribution", answer)) for name, answer in found]


def _may_be_chosen(match: RouteMatch, query: IntentQuery) -> bool:
    route = match.route
    return (
        route in query.routes
        and bool(route.path)
        and not route.deprecated
        and route.path not in query.exclude
        and route.sub_file is query.sub_files
    )
