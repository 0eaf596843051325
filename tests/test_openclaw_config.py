"""Whatever the host's settings hold: an edit of ours is refused or comes out again, and nothing else is raised."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.errors import SettingsError
from apm_hooks.hosts import openclaw_config as host
from apm_hooks.hosts.openclaw_config import Edit, HostPlaces
from apm_hooks.hosts.openclaw_owner import chosen, sharing
from apm_hooks.hosts.openclaw_peers import find_peers
from tests.test_jsonedit import VALUES

NAMES = ["apm_session_start", "remem-flush"]
PLACES = HostPlaces("/nowhere/openclaw.json", "/nowhere", "/nowhere")


def of(**parts: Any) -> st.SearchStrategy[Any]:
    """An object with any of these members, or now and then something else in its place."""
    whole = st.fixed_dictionaries({}, optional=parts)
    return st.one_of(whole, whole, whole, VALUES)


ENTRY = of(enabled=st.booleans() | VALUES)
LIST = st.lists(st.sampled_from(["apm-hooks", "telegram", "*", "77", "tg:78", "accessGroup:x"]) | VALUES, max_size=3)
DIRECT = of(allowFrom=LIST, policy=st.sampled_from(["open", "disabled"]) | VALUES, enabled=st.booleans())
ACCOUNT = of(allowFrom=LIST, dmPolicy=st.sampled_from(["open", "allowlist"]) | VALUES, dm=DIRECT, enabled=st.booleans())
CHANNEL = st.one_of(ACCOUNT, of(allowFrom=LIST, accounts=of(one=ACCOUNT, two=ACCOUNT)))
CONFIGS = st.fixed_dictionaries({}, optional={
    "hooks": of(internal=of(
        enabled=st.booleans() | VALUES, load=of(extraDirs=LIST), installs=of(pack=of(hooks=LIST)),
        entries=of(**{"apm_session_start": ENTRY, "remem-flush": ENTRY, "theirs": ENTRY}))),
    "plugins": of(allow=LIST, deny=LIST, enabled=st.booleans(),
                  entries=of(**{"apm-hooks": of(enabled=st.booleans(), hooks=ENTRY)})),
    "agents": of(defaults=of(compaction=of(memoryFlush=ENTRY), workspace=VALUES), list=VALUES, entries=VALUES),
    "channels": of(telegram=CHANNEL, discord=CHANNEL, defaults=VALUES),
    "commands": of(ownerAllowFrom=LIST), "session": of(dmScope=VALUES, groupScope=st.sampled_from(["main", 1])),
    "meta": of(lastTouchedVersion=VALUES), "$include": VALUES,
})  # fmt: skip


def bare(value: Any) -> Any:
    """A value without the empty objects and lists in it: taking an edit back may take them along."""
    if isinstance(value, dict):
        return {key: left for key, each in value.items() if (left := bare(each)) not in ({}, [])}
    return [bare(each) for each in value] if isinstance(value, list) else value


def read(config: dict[str, Any]) -> host.Config:
    return host.parsed(PLACES.config, b"", json.dumps(config, indent=2))


@given(CONFIGS, st.booleans())
@settings(max_examples=300, deadline=None)
def test_what_is_edited_loads_our_hooks_and_comes_out_again(config: dict[str, Any], flush: bool) -> None:
    held = read(config)
    with suppress(SettingsError):
        installs = host.hook_installs(held, PLACES)
        before = host.selection(held, installs)
        edits = [*host.hook_edits(held, NAMES, installs), *host.plugin_edits(held)]
        edits += [Edit(host.FLUSH, False)] if flush else []
        text, done = host.edited(held, edits)
        again = host.parsed(PLACES.config, b"", text)
        assert host.needed(again, edits) == []
        assert host.hook_edits(again, NAMES, installs) == []
        after = host.selection(again, installs)
        # No hook of the user's is silenced or woken.
        assert (after.open, after.names - set(NAMES)) == (before.open, before.names - set(NAMES))
        undone, left = host.undone(again, done)
        assert left == []
        assert bare(read_text(undone)) == bare(config)


def read_text(text: str) -> Any:
    return host.parsed(PLACES.config, b"", text).values


@given(CONFIGS)
def test_who_may_write_is_told_of_any_settings(config: dict[str, Any]) -> None:
    held = read(config)
    peers = find_peers(held, PLACES)
    assert all(":" in peer and not peer.endswith(":*") for peer in peers.owners)
    assert chosen(peers) in ("", *peers.owners)
    assert peers.named_owner or not peers.open or not chosen(peers)
    list(sharing(held, peers))
    host.agent_workspaces(held, {"HOME": "/nowhere"})
    host.host_version({"PATH": "/nowhere"}, held)
