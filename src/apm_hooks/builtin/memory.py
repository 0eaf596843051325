"""Built-in plugin `apm-memory`: the progressive files of the session's scope."""

from __future__ import annotations

from datetime import date

from apm_hooks import texts
from apm_hooks.errors import MemoryFileError
from apm_hooks.events import Contribution, MessageReceived, SessionStart
from apm_hooks.facts.model import INDEX
from apm_hooks.files import stamp
from apm_hooks.flushstate import DM_STATE, state_path
from apm_hooks.protocol import dm, group
from apm_hooks.protocol.loading import Loading
from apm_hooks.records import DM

NAME = "apm-memory"


def apm_session_start(event: SessionStart) -> Contribution:
    """What the scope begins with: steps 0 and 1 for a group, layers 0 and 1 for the owner (protocol, sections 5, 6)."""
    loading = _loading(event)
    if event.switched:
        loading.say("scope", texts.SCOPE_SWITCHED)
    if event.scope is None:
        loading.note("0 map", "", "refused", event.reason)
        loading.say("0 map", texts.NO_MEMORY)
        return _contribution(loading)
    if event.scope == DM:
        facts, messages = _has_facts(loading), event.host.message_events
        dm.load_start(loading, event.day, event.last_flush, message_events=messages, pending=event.pending,
                      portion=event.limits.progressive_share if facts else 1.0)  # fmt: skip
        loading.inputs.append(DM_STATE)
        if facts:
            from apm_hooks.protocol import factindex

            factindex.load_start(loading, event.day, more_to_come=messages)
        return _contribution(loading, day=event.day)
    group.load_start(loading, event.scope, event.key_id, event.pending)
    loading.inputs.append(state_path(event.scope))
    return _contribution(loading)


def apm_message_received(event: MessageReceived) -> Contribution:
    """The one file that the message routes to: steps 2 to 5, or layer 2 (protocol, sections 5 and 6)."""
    loading = _loading(event)
    if event.scope is None or not event.text.strip():
        return _contribution(loading)
    if event.scope == DM:
        done = _owners_message(loading, event)
    else:
        done = group.load_message(loading, event.scope, event.text, event.loaded, event.match)
    return _contribution(loading, done=done)


def _owners_message(loading: Loading, event: MessageReceived) -> bool:
    if not _has_facts(loading):
        return dm.load_message(loading, event.text, event.loaded, event.match)
    from apm_hooks.protocol import factindex

    share = event.limits.facts_share
    beside = factindex.cost(event.root, event.loaded, event.budget_tokens, event.count, share)
    done = dm.load_message(loading, event.text, event.loaded, event.match, portion=event.limits.progressive_share,
                           beside=beside)  # fmt: skip
    return factindex.load_message(loading, event.text, event.loaded) and done


def _has_facts(loading: Loading) -> bool:
    """Whether the owner keeps a fact index: what is injected rests on that."""
    loading.inputs.append(INDEX)
    try:
        return stamp(loading.root, INDEX) is not None
    except MemoryFileError:
        return False


def _loading(event: SessionStart | MessageReceived) -> Loading:
    return Loading(event.root, event.scope, event.count, event.budget_tokens, event.caps, event.spent_tokens,
                   event.limits)  # fmt: skip


def _contribution(loading: Loading, *, day: date | None = None, done: bool = False) -> Contribution:
    return Contribution(
        tuple(loading.fragments), steps=tuple(loading.steps), inputs=tuple(loading.inputs),
        budget_tokens=loading.budget, day=day, tripped=loading.tripped, done=done or loading.tripped,
    )  # fmt: skip
