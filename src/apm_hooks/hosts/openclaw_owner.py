"""The owner of an OpenClaw bot in `apm.toml`: whose direct chats share the private memory, and what the host's own
settings make of that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from apm_hooks.errors import SettingsError
from apm_hooks.hosts.installing import FileChange, read_text
from apm_hooks.hosts.openclaw_config import Config
from apm_hooks.hosts.openclaw_peers import Peers
from apm_hooks.places import SETTINGS_FILE

WHY = "who the owner is"
ONLY_WRITER = "nobody else may write to the bot"
NAMED_OWNER = "the host's own setting (commands.ownerAllowFrom) says so"
KEPT = "owner_peers in {file} stays as it is: {peers}"
NO_OWNER = "WARNING: no owner is known (owner_peers in {file} is empty): direct chats of channels get no memory. {how}"
CHOOSE = "Say who you are: {lines}"
NOBODY = "Say who you are: apm-hooks install openclaw --owner CHANNEL:PEER"
SHARED = (
    "WARNING: the host keeps the direct chats of all peers in one session (session.dmScope: main), and more than one "
    "may write ({who}): what was said in the owner's chat, its memory included, is in that session. Turns of others "
    "get no memory; where the plugin is off nobody gets any. To keep the chats apart: openclaw config set "
    "session.dmScope per-channel-peer"
)
GROUPS_SHARED = (
    "WARNING: the host keeps groups in the owner's session (session.groupScope: main): what groups say and the owner's "
    "memory would meet there. Turns of groups get no memory; where the plugin is off nobody gets any. To keep them "
    "apart: openclaw config set session.groupScope per-group"
)
UNREAD = "not taken for peers, since they name no single one: {entries}"
BY_HAND = "Put this line into it, above the first table: owner_peers = [{peers}]"

_KEY = re.compile(r"^[ \t]*owner_peers[ \t]*=[ \t]*\[[^\]]*\]", re.MULTILINE)
_HINT = re.compile(r"^#[ \t]*owner_peers[ \t]*=.*\n", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)
_PEER = re.compile(r"[^\s\"\\\x00-\x1f*]+")


def read_owner(root: str) -> list[str]:
    """The owner's peers as `apm.toml` of a workspace names them; raises SettingsError."""
    path = os.path.join(root, SETTINGS_FILE)
    _, text = read_text(path)
    held = _parsed(text, path).get("owner_peers")
    return [str(each) for each in held] if isinstance(held, list) else []


def owner_change(root: str, peers: Sequence[str]) -> FileChange:
    """The change that names these peers, besides those already named, in `apm.toml`; raises SettingsError."""
    path = os.path.join(root, SETTINGS_FILE)
    data, text = read_text(path)
    for peer in peers:
        if not _PEER.fullmatch(peer):
            raise SettingsError(f"{peer!a} is no peer", key="owner_peers", remedy="Write it as CHANNEL:PEER.")
    wanted = list(dict.fromkeys([*read_owner(root), *peers]))
    after = _with_owner(text, wanted)
    expected = {**_parsed(text, path), "owner_peers": wanted}
    if _parsed(after, path) != expected:
        line = BY_HAND.format(peers=", ".join(f'"{peer}"' for peer in wanted))
        raise SettingsError("cannot be edited safely", file=path, key="owner_peers", remedy=line)
    return FileChange(path, data, after.encode() if wanted else data, WHY)


def chosen(peers: Peers) -> str:
    """The one peer that must be the owner; empty where none, or more than one, may be."""
    return peers.owners[0] if len(peers.owners) == 1 and (peers.named_owner or not peers.many) else ""


def reason(peers: Peers) -> str:
    """Why the one peer is the owner."""
    return NAMED_OWNER if peers.named_owner else ONLY_WRITER


def notes(root: str, config: Config, peers: Peers, owner: Sequence[str]) -> Iterator[str]:
    """What follows from who the owner is, and from the host's keeping chats in one session."""
    file = os.path.join(root, SETTINGS_FILE)
    if not owner:
        lines = "; or ".join(f"apm-hooks install openclaw --owner {peer}" for peer in peers.owners)
        yield NO_OWNER.format(file=file, how=CHOOSE.format(lines=lines) if lines else NOBODY)
    if peers.unread:
        yield UNREAD.format(entries=", ".join(peers.unread))
    yield from sharing(config, peers)


def sharing(config: Config, peers: Peers) -> Iterator[str]:
    """Where the host keeps chats of more than the owner in the owner's session."""
    if (config.get("session", "dmScope") or "main") == "main" and peers.many:
        who = ", ".join([*peers.writers, *(f"anybody on {channel}" for channel in peers.open), *peers.unread])
        yield SHARED.format(who=who)
    if config.get("session", "groupScope") == "main":
        yield GROUPS_SHARED


def _with_owner(text: str, peers: Sequence[str]) -> str:
    line = f"owner_peers = [{', '.join(_quoted(peer) for peer in peers)}]"
    held = _KEY.search(text)
    if held:
        return text[: held.start()] + line + text[held.end() :]
    newline = "\r\n" if "\r\n" in text else "\n"
    table = _TABLE.search(text)
    hint = _HINT.search(text, 0, table.start() if table else len(text))
    if hint:
        return f"{text[: hint.end()]}{line}{newline}{text[hint.end() :]}"
    if table:
        return f"{text[: table.start()]}{line}{newline}{newline}{text[table.start() :]}"
    gap = "" if not text or text.endswith("\n") else newline
    return f"{text}{gap}{line}{newline}"


def _quoted(peer: str) -> str:
    import json

    return json.dumps(peer, ensure_ascii=False)


def _parsed(text: str, path: str) -> dict[str, object]:
    import tomllib

    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"is no TOML: {error}", file=path) from None
