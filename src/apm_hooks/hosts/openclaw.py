"""OpenClaw: the events that its shim sends to our records, and whose a turn is.

The shim (`hooks/openclaw/shim.js`) makes each of the host's events one flat JSON object, and takes one back: `files`
for the system prompt, `context` for the user's message, `deny` for a tool call, `log` for the gateway's log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apm_hooks.budget import utf16_units
from apm_hooks.records import Bound, ChatType, HostEvent, SessionKey
from apm_hooks.session import is_owner, parse_session_key

HOST = "openclaw"

ANSWERED = (
    "bootstrap", "message", "prompt", "tool_call", "turn_end", "compaction", "compacted", "session_end", "startup",
)  # fmt: skip
"""The shim's words for what happened; any other is passed over."""

FILE_UNITS = 12_000
"""A bootstrap file may hold 20,000 UTF-16 units, in some versions 12,000; of more the host cuts out the middle."""
TOTAL_UNITS = 20_000
"""All of ours together: the host gives all bootstrap files 60,000, and cuts the last ones first."""
CONTEXT_UNITS = 4_000
"""What stands in one turn only: a directive."""

COMPACTS_BEFORE = 24_000
"""So many tokens before its window is full the host begins to compact."""
_SMALL_WINDOW = 48_000

_EFFECTS = "internal-session-effects"
_PRIVATE_CHANNELS = frozenset(("", "webchat", "cli", "internal", "gateway"))
"""What the host calls turns of its operator: the terminal, its own web page, its program interface."""
_OWN_TURNS = frozenset(("heartbeat", "cron"))
"""Turns that the host begins by itself."""
_UNNAMED = ""
"""A sender who is nobody: no setting names an empty peer."""


def units(text: str) -> int:
    """How long the host takes a text for."""
    return utf16_units(text)


def compacts_at(window: int) -> int:
    """From how many tokens on the host compacts a context of `window` tokens; 0 where that is not known."""
    return window - COMPACTS_BEFORE if window >= _SMALL_WINDOW else 0


def is_command(word: str) -> bool:
    """True for `/name`: what the host takes for a command, and no path."""
    return word.startswith("/") and word[1:].replace("-", "").replace("_", "").replace("@", "").isalnum()


def cap(units: int) -> tuple[Bound, ...]:
    """The host's bound on one text, in UTF-16 units."""
    return (Bound("utf16", utf16_units, units),)


def event_of(payload: Mapping[str, Any], owner_peers: Sequence[str]) -> HostEvent | None:
    """The record of an event of the shim; None for one that is not answered.

    The session is told by its key: the host keeps its session id over `/new`, and changes it where a conversation goes
    on. The sender is one who is not among the `owner_peers`, if any of the turn's is; none where all of them are, and
    nobody (an empty name) where the turn's sender should be known and is not (protocol, section 3).
    """
    if payload.get("hook_event_name") not in ANSWERED:
        return None
    raw = payload.get("session_key")
    key = parse_session_key(raw) if isinstance(raw, str) else None
    hidden = is_hidden(payload)
    tokens, window = _count(payload.get("usage_tokens")), _count(payload.get("context_window"))
    told = payload.get("is_group")
    return HostEvent(
        host=HOST,
        session_id=_text(payload.get("session_id")) if hidden else "",
        # A turn of the host's own has no conversation that any setting could give memory to.
        session_key="" if hidden else raw if isinstance(raw, str) else None,
        is_group=told if isinstance(told, bool) else None,
        sender=_sender(payload, key, tuple(owner_peers)) if key is not None else None,
        # No setting gives subagents a memory: whoever's chat began one would get it (protocol, section 8).
        subagent=key is not None and key.chat is ChatType.SUBAGENT,
        context_tokens=tokens or None,
        context_window=window,
        compaction_at=compacts_at(window),
        transcript=_path(payload.get("transcript")),
    )


def is_hidden(payload: Mapping[str, Any]) -> bool:
    """True for a turn that the host takes beside a conversation, to write its memory down: nothing tells whose it is.
    It gets nothing, and may change nothing."""
    words = _text(payload.get("session_key")).lower().split(":")
    return _EFFECTS in (words[0], *words[2:3])


def senders_of(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """Every channel sender of the turn so far, as the host names them."""
    given = payload.get("senders")
    found = given if isinstance(given, list) else []
    return tuple(each if isinstance(each, str) else str(each) for each in found)


def _sender(payload: Mapping[str, Any], key: SessionKey, owner_peers: tuple[str, ...]) -> str | None:
    channel = _text(payload.get("channel")).lower() or key.channel
    senders = senders_of(payload)
    strangers = [sender for sender in senders if not is_owner(sender, channel, owner_peers)]
    if strangers:
        return strangers[0]
    return _UNNAMED if key.owner and is_shared(payload, owner_peers) else None


def is_shared(payload: Mapping[str, Any], owner_peers: Sequence[str]) -> bool:
    """True where a turn of the owner's own session may be somebody else's, and nothing shows whose it is.

    By default all private chats of all channels share that session (`dmScope: main`), and groups can be made to
    (`groupScope: main`). The hook pack does not see who began a turn. The plugin does, but for a turn that the host
    takes up again after a restart: that one has a channel and no sender.
    """
    config = payload.get("config")
    config = config if isinstance(config, dict) else {}
    pack, senders = payload.get("via") != "plugin", senders_of(payload)
    private = _text(payload.get("channel")).lower() in _PRIVATE_CHANNELS
    own = payload.get("trigger") in _OWN_TURNS
    if config.get("group_scope") == "main" and payload.get("is_group") is not False:
        return pack or bool(senders) or own or not private
    if config.get("group_scope") == "main" and pack:
        return True
    if config.get("dm_scope") not in (None, "", "main") or _has_one_peer(config, tuple(owner_peers)):
        return False
    return pack or not (senders or private or own)


def _has_one_peer(config: Mapping[str, Any], owner_peers: tuple[str, ...]) -> bool:
    """Whether nobody but the owner can write to the bot in a private chat."""
    if "*" in owner_peers or config.get("dm_policy") == "disabled":
        return True
    allowed = config.get("allow_from")
    if config.get("dm_policy") != "allowlist" or not isinstance(allowed, list) or not allowed:
        return False
    return all(_is_owners(str(entry).strip(), owner_peers) for entry in allowed)


def _is_owners(entry: str, owner_peers: tuple[str, ...]) -> bool:
    channel, _, peer = entry.partition(":")
    return is_owner(entry, "", owner_peers) or (bool(peer) and is_owner(peer, channel.lower(), owner_peers))


def is_provably_owner(payload: Mapping[str, Any]) -> bool:
    """Whether a turn is the owner's whatever the settings say: for events for which they cannot be read."""
    event = event_of(payload, ())
    if event is None or not event.session_key or event.is_group is True:
        return False
    return parse_session_key(event.session_key).owner and event.sender is None


def parent_of(payload: Mapping[str, Any]) -> str | None:
    """The session that a subagent works for, where the host tells."""
    parent = payload.get("parent_session_key")
    return parent if isinstance(parent, str) and parent else None


def of_parent(payload: Mapping[str, Any], parent: str) -> dict[str, Any]:
    """A subagent's payload as one of the session that it works for: which of that session's turns it was begun in, and
    so whose it is, nobody tells."""
    return {**payload, "session_key": parent, "channel": "unknown", "trigger": "", "senders": [], "is_group": None}


def usage_of(payload: Mapping[str, Any]) -> tuple[int, int]:
    """How many tokens the context holds and could hold; 0 where that is not told."""
    return _count(payload.get("usage_tokens")), _count(payload.get("context_window"))


def messages_of(payload: Mapping[str, Any]) -> int | None:
    """How many messages the host counts in the session; None where it does not tell."""
    given = payload.get("messages")
    return given if isinstance(given, int) and not isinstance(given, bool) and given >= 0 else None


def bootstrap_file(path: str, content: str, key: str | None = None) -> dict[str, str]:
    """A file for the system prompt of the session `key`. The host shows `path` as its heading; of two with one path it
    takes the first. Nobody sees the `name`, but of a job's files the host keeps only those that bear one of its own."""
    name = "AGENTS.md" if parse_session_key(key or "").chat is ChatType.CRON else "APM.md"
    return {"name": name, "path": path, "content": content}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _path(value: object) -> str:
    return value if isinstance(value, str) and value.startswith("/") and "\0" not in value else ""
