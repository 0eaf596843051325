"""The contract: every hook that a plugin may implement.

A plugin is a module or object registered under the entry-point group `apm_hooks`, with functions marked by `hookimpl`:

    from apm_hooks import Contribution, Fragment, hookimpl

    @hookimpl
    def apm_session_start(event):
        return Contribution(fragments=(Fragment("notice", "The build is red."),), priority=10)

Each hook takes one frozen record and returns one, or None for no answer. Plugins are called one by one: one that
raises, takes too long or answers nonsense costs its own answer and a line in the log that names it, never another's.
Wrappers, `async def` and generators are refused when a plugin is registered. Answers are combined by the rule that
each hook states, never by the order of calls. A plugin may tighten privacy, never loosen it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable

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
    from apm_hooks.records import RouteMatch, SessionKey

PROJECT = "apm_hooks"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def apm_session_start(event: SessionStart) -> Contribution | None:
    """A session starts, resumes, or comes back from compaction.

    When: before the host's first request of that context. With: whose memory it may touch, the budget, the host's caps.
    Return: what to add to the model's context. Combined: all are kept, put together by priority, then plugin name,
    under one budget; where it does not suffice, the built-in memory comes first.
    """


@hookspec
def remem_flush(event: FlushRequest) -> FlushAnswer | None:
    """The user, or a cron job whose key has a scope, asks for a flush (`/remem`).

    When: at once. With: the session's scope and what stood behind the command. Return: what the agent should be told
    and people should know. Combined: all are kept, in one report, by priority, then plugin name.
    """


@hookspec
def precompact_remem(event: FlushRequest) -> FlushAnswer | None:
    """Compaction is near or about to happen.

    When: at the host's event, or when context usage passes the threshold. With: as `remem_flush`, and the usage.
    Return and combination: as `remem_flush`.
    """


@hookspec
def idle_flush(event: FlushRequest) -> FlushAnswer | None:
    """A session has been quiet long enough.

    When: once for each quiet time. With: as `remem_flush`; there is no agent to tell, so a directive waits for the next
    start. Return and combination: as `remem_flush`.
    """


@hookspec
def apm_message_received(event: MessageReceived) -> Contribution | None:
    """A user's message arrives, before the model sees it.

    When: at each message of a session with a scope, until automatic loading is done for the epoch. With: the message
    and what the epoch has loaded. Return: what to add beside the message. Combined: as `apm_session_start`.
    """


@hookspec
def apm_guard_tool_call(event: ToolCall) -> Verdict | None:
    """The agent is about to call a tool.

    When: before each call that the host lets a hook see. With: the tool, its arguments, the scope. Return: a verdict
    that denies, with a reason that tells the agent what to do instead. Combined: any denial wins, and nobody can
    overrule it; the first by plugin name gives the reason.
    """


@hookspec
def apm_parse_session_key(key: str) -> SessionKey | None:
    """A session key that the built-in grammar does not know.

    When: the built-in grammar calls it unknown. With: the host's text. Return: the key of a channel that you know. A
    key can never make itself the owner's, nor make a direct chat of what may be a group. Combined: the first answer
    by plugin name.
    """


@hookspec
def apm_match_intent(query: IntentQuery) -> RouteMatch | None:
    """A message is to be routed to a row.

    When: at each message that may load a file. With: the message and the rows. Return: one of the given rows, not
    deprecated and not excluded; None leaves it to the next. Combined: the first answer by plugin name; the built-in
    matcher answers last.
    """


@hookspec
def apm_token_counter(name: str) -> Callable[[str], int] | None:
    """A tokenizer is named in the settings that is none of the built-in ones.

    When: the first count of a runtime. With: the name. Return: a function from a text to its number of tokens.
    Combined: the first answer by plugin name; without one a stated estimate counts.
    """


@hookspec
def apm_review_injection(review: Review) -> Reviewed | None:
    """An injection is about to be given to the host.

    When: after everything was put together. With: the fragments. Return: what to leave of them: a text may lose lines
    or be dropped, never gain any. Combined: every reviewer sees the same fragments; a line stays only if all leave it.
    """


@hookspec
def apm_flushed(event: Flushed) -> None:
    """A flush is over.

    When: after it was recorded. With: its trigger, outcome and the files that changed. Return: nothing. Combined: every
    observer is told.
    """


@hookspec
def apm_audit_rules() -> tuple[AuditRule, ...] | None:
    """The audit collects its rules.

    When: once a run. Return: rules of your own. Combined: all are kept; a rule's name is prefixed with the plugin's.
    """


@hookspec
def apm_memory_store(url: str) -> object | None:
    """A record store is opened by its URL.

    When: the URL's scheme is none of the built-in ones. With: the URL. Return: a store of the documented protocol.
    Combined: the first answer by plugin name.
    """
