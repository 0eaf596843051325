"""The grammar of a host's session key: which kind of conversation it names (protocol, section 3).

A key is `agent:<id>:<rest>`. It is read token by token from the left, so that a room id that happens to hold
`:direct:` stays a room id. What the grammar does not know is `unknown`, which has no scope.
"""

from __future__ import annotations

import re

from apm_hooks.records import LIMITS, ChatType, SessionKey

_DIRECT = frozenset({"direct", "dm"})
_GROUP = frozenset({"group", "channel"})
_CHAT = _DIRECT | _GROUP
_SUFFIX = frozenset({"thread", "topic"})

# Further first words with a meaning of their own: none of them is a channel, whatever follows.
_RESERVED = _SUFFIX | {"agent", "acp", "hook", "internal-session-effects", "explicit", "dashboard", "boot"}
_RESERVED |= {"global", "unknown", "slash", "session", "heartbeat"}
# `<channel>:slash:<user>` is a native command, and a suffix word is no account.
_NO_ACCOUNT = _SUFFIX | {"slash"}

_WORD = re.compile(r"[A-Za-z0-9_.@+-]+")

_SERVER = r":(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]+)?"
_THREAD = r"(?::(?:thread|topic):(?P<thread>.+))?"
# The longest complete id wins (server and port, server, none), so that a server named `thread` is a server.
_MATRIX_ROOM = re.compile(rf"(?P<id>![^:]+(?:{_SERVER})?){_THREAD}", re.DOTALL | re.IGNORECASE)
_MATRIX_USER = re.compile(rf"(?P<id>@[^:]+{_SERVER}){_THREAD}", re.DOTALL | re.IGNORECASE)

# Channels whose group ids the host leaves as they are; it lower-cases all others.
EXACT_CHANNELS = frozenset({"matrix", "signal"})


def parse_session_key(raw: str) -> SessionKey:
    """Read a session key; any text gives an answer, none raises (protocol, section 3).

    `agent`, `channel` and `account` come lower-cased, `id` and `thread` as written. A key longer than
    `LIMITS.key_chars`, with an empty id, or that could be a direct chat and a group is never direct.
    """
    if len(raw) > LIMITS.key_chars:
        return SessionKey(raw, ChatType.UNKNOWN)
    head, _, tail = raw.partition(":")
    agent, _, rest = tail.partition(":")
    if head.lower() != "agent" or not is_word(agent):
        return SessionKey(raw, ChatType.UNKNOWN)
    return _parse_rest(raw, agent.lower(), rest.split(":"))


def is_word(text: str) -> bool:
    """Whether a text may be a channel or an account: letters, digits and `_.@+-` only."""
    return _WORD.fullmatch(text) is not None


def folded_id(key: SessionKey) -> str:
    """The key's id as it is compared: lower-cased as the host does; Matrix and Signal groups as written."""
    if key.chat is ChatType.GROUP and key.channel.lower() in EXACT_CHANNELS:
        return key.id
    return key.id.lower()


def may_be_group(key: SessionKey) -> bool:
    """Whether a key names a group, or holds a group's word although the grammar cannot place it.

    Such a key may not be widened to the owner's memory by any setting: "unknown" includes groups that a host
    writes in a way we do not know (protocol, section 3: a conflict means no scope).
    """
    if key.chat in (ChatType.GROUP, ChatType.DIRECT):
        return key.chat is ChatType.GROUP
    if len(key.raw) > LIMITS.key_chars:
        return True
    return any(token.strip().lower() in _GROUP for token in key.raw.split(":"))


def is_owner(peer: str, channel: str, owner_peers: tuple[str, ...]) -> bool:
    """Whether a peer of a channel (empty: unknown) is among the owner's (protocol, section 3).

    Entries are `peer` or `channel:peer`. Case counts for Matrix users, elsewhere it does not.
    """
    if "*" in owner_peers:
        return True
    # The peer of an unknown channel may be a Matrix user.
    exact = channel == "matrix" or (not channel and peer.startswith("@") and ":" in peer)
    for entry in owner_peers:
        prefix, _, rest = entry.partition(":")
        wanted = (entry, rest) if channel and prefix.lower() == channel else (entry,)
        if peer.strip() and (peer in wanted or (not exact and _fold(peer) in map(_fold, wanted))):
            return True
    return False


def _fold(peer: str) -> str:
    # Only letters that come back: KELVIN SIGN lower-cases to k, and would make a stranger's name the owner's.
    return "".join(low if (low := letter.lower()).upper() == letter else letter for letter in peer)


def _parse_rest(raw: str, agent: str, tokens: list[str]) -> SessionKey:
    """`tokens` are what follows `agent:<id>:`."""
    words = [token.lower() for token in tokens[:3]]
    if words[0] == "main":
        return _parse_main(raw, agent, tokens, words)
    if words[0] in ("subagent", "cron"):
        named = "".join(tokens[1:]).strip()
        return SessionKey(raw, ChatType(words[0]) if named else ChatType.UNKNOWN, agent)
    place = _chat_place(tokens, words)
    if place is None:
        return SessionKey(raw, ChatType.UNKNOWN, agent)
    chat = ChatType.DIRECT if words[place] in _DIRECT else ChatType.GROUP
    channel = words[0] if place else ""
    account = words[1] if place == 2 else ""
    id_, thread = _split_thread(channel, tokens[place + 1 :])
    if not id_.strip():
        return SessionKey(raw, ChatType.UNKNOWN, agent)
    return SessionKey(raw, chat, agent, channel, account, id_, thread)


def _chat_place(tokens: list[str], words: list[str]) -> int | None:
    """Where the word stands that says direct or group: `[<channel>:[<account>:]]<word>:<id>`.

    The first such word decides. None where there is none, where a direct chat's is followed by another (a
    group could be meant), and where what stands before it is no channel.
    """
    deciding = [position for position, word in enumerate(words) if word in _CHAT]
    if not deciding:
        return None
    place = deciding[0]
    direct = words[place] in _DIRECT
    if direct and len(deciding) > 1:
        return None
    if place == 0:
        return 0 if direct else None
    known = words[0] not in _RESERVED and words[1] not in _NO_ACCOUNT
    return place if known and all(map(is_word, tokens[:place])) else None


def _parse_main(raw: str, agent: str, tokens: list[str], words: list[str]) -> SessionKey:
    """`main` and `main:thread:<…>` are the owner's own; a group's word after `main:thread` is a conflict."""
    thread = ":".join(tokens[2:])
    threaded = len(words) == 3 and words[1] == "thread" and words[2] not in _CHAT and bool(thread.strip())
    if len(tokens) == 1 or threaded:
        return SessionKey(raw, ChatType.DIRECT, agent, thread=thread, owner=True)
    return SessionKey(raw, ChatType.UNKNOWN, agent)


def _split_thread(channel: str, tokens: list[str]) -> tuple[str, str]:
    """An id and the thread or topic behind it; a suffix counts only after a whole id."""
    text = ":".join(tokens)
    if channel == "matrix" and text[:1] in ("!", "@"):
        grammar = _MATRIX_ROOM if text[0] == "!" else _MATRIX_USER
        match = grammar.fullmatch(text)
        return (match["id"], match["thread"] or "") if match else (text, "")
    for position in range(1, len(tokens) - 1):
        thread = ":".join(tokens[position + 1 :])
        if tokens[position].lower() in _SUFFIX and thread.strip():
            return ":".join(tokens[:position]), thread
    return text, ""
