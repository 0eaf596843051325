"""Who may write to an OpenClaw bot, and who of them is its owner: what its settings and its pairings say."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from apm_hooks.errors import SettingsError
from apm_hooks.hosts.installing import read_bytes
from apm_hooks.hosts.openclaw_config import Config, HostPlaces, database_rows

_NOT_CHANNELS = ("defaults", "modelByChannel", "$include")
_ALIASES = {"tg": "telegram"}
_PEER_KINDS = ("user", "dm", "direct")
_NUMERIC = ("telegram",)
"""Channels whose senders are numbers: a name in their list is never what a turn's sender is called."""


@dataclass(frozen=True, slots=True)
class Peers:
    """`owners`: entries for owner_peers that may be the owner. `named_owner`: the host itself calls them its owners.
    `open`: channels where anybody may write. `pairing`: channels where a code lets somebody in. `unread`: entries that
    name no single peer."""

    owners: tuple[str, ...]
    named_owner: bool
    writers: tuple[str, ...]
    open: tuple[str, ...]
    pairing: tuple[str, ...]
    unread: tuple[str, ...]

    @property
    def many(self) -> bool:
        """Whether more than one peer may write in a direct chat."""
        return bool(self.open or self.unread) or len(self.writers) > 1


def find_peers(config: Config, places: HostPlaces) -> Peers:
    """The peers of all channels that are on. Whoever the host calls its owner comes before the lists of who may write;
    `*` makes nobody the owner."""
    writers: dict[str, None] = {}
    unread: list[str] = []
    opened: list[str] = []
    pairing: list[str] = []
    channels = config.get("channels")
    for channel, settings in (channels if isinstance(channels, dict) else {}).items():
        if channel in _NOT_CHANNELS or not isinstance(settings, dict) or settings.get("enabled") is False:
            continue
        for policy, listed in _accounts(settings):
            if policy == "disabled":
                continue
            if policy == "open" and "*" in listed:
                opened.append(channel)
            if policy == "pairing":
                pairing.append(channel)
            for entry in listed:
                _sort(channel, entry, writers, unread)
        if channel in pairing:
            for entry in paired(places, channel):
                _sort(channel, entry, writers, unread)
    named: dict[str, None] = {}
    for entry in _texts(config.get("commands", "ownerAllowFrom")):
        prefix, _, rest = entry.partition(":")
        if rest:
            _sort(_ALIASES.get(prefix, prefix), rest, named, [])
    return Peers(
        owners=tuple(named or writers), named_owner=bool(named), writers=tuple(writers),
        open=tuple(dict.fromkeys(opened)), pairing=tuple(dict.fromkeys(pairing)), unread=tuple(unread),
    )  # fmt: skip


def paired(places: HostPlaces, channel: str) -> list[str]:
    """The peers that a pairing code let in on a channel."""
    import json

    query = "SELECT channel_key, entry FROM channel_pairing_allow_entries ORDER BY account_id, sort_order, entry"
    found = [str(entry) for key, entry in database_rows(places, query) if key == channel.lower()]
    if found:
        return found
    folder = os.path.join(places.state, "credentials")
    # Older hosts keep a file for each channel, or each account of it.
    name = re.compile(rf"{re.escape(channel)}(-[^/]+)?-allowFrom\.json")
    with suppress(OSError, SettingsError, ValueError):
        for each in sorted(filter(name.fullmatch, os.listdir(folder))):
            held = json.loads(read_bytes(os.path.join(folder, each)) or b"{}")
            found += _texts(held.get("allowFrom") if isinstance(held, dict) else None)
    return found


def _accounts(settings: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Policy and list of each account of a channel; what an account leaves out is the channel's."""
    accounts = settings.get("accounts")
    each = [account for account in accounts.values() if isinstance(account, dict)] if isinstance(accounts, dict) else []
    for account in each or [{}]:
        if account.get("enabled") is False:
            continue
        yield _policy(account) or _policy(settings) or "pairing", _listed(account) or _listed(settings)


def _policy(settings: Mapping[str, Any]) -> str:
    direct = settings.get("dm")
    nested = direct if isinstance(direct, dict) else {}
    if nested.get("enabled") is False:
        return "disabled"
    return str(settings.get("dmPolicy") or nested.get("policy") or "")


def _listed(settings: Mapping[str, Any]) -> list[str]:
    direct = settings.get("dm")
    nested = direct.get("allowFrom") if isinstance(direct, dict) else None
    return _texts(settings.get("allowFrom")) + _texts(nested)


def _texts(values: object) -> list[str]:
    return [str(value).strip() for value in values if str(value).strip()] if isinstance(values, list) else []


def _sort(channel: str, entry: str, found: dict[str, None], unread: list[str]) -> None:
    """One entry of a channel's list as an entry of owner_peers, or among those that name no single peer."""
    if entry == "*":
        return
    peer = entry
    for prefix in (channel, *(short for short, name in _ALIASES.items() if name == channel), *_PEER_KINDS):
        if peer.lower().startswith(prefix + ":"):
            peer = peer[len(prefix) + 1 :].strip()
    odd = peer.startswith("accessGroup:") or "${" in peer or (channel in _NUMERIC and not peer.isdecimal())
    if odd or not peer:
        unread.append(f"{channel}: {entry}")
    else:
        found[f"{channel}:{peer}"] = None
