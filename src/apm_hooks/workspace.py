"""A workspace as its owner accepted it: settings, group map, and which of them count.

Privacy settings that changed since `trust` do not count (protocol, section 3). Each falls back to its strictest
value, so that a pull can take access away but never give any.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from apm_hooks import fastlane
from apm_hooks.errors import ApmError, NotTrustedError
from apm_hooks.files import decode, read_bytes
from apm_hooks.groupmap import GroupMap, read_group_map
from apm_hooks.places import SETTINGS_FILE, Places
from apm_hooks.records import LIMITS
from apm_hooks.scope import ScopeSettings
from apm_hooks.settings import PRIVACY_KEYS, Settings, load_settings
from apm_hooks.trust import CLOSED_PIN, GROUPS_PIN, TRUST_FILE, digest_of, read_trust

GROUP_MAP = "memory/groups/group_names.json"


@dataclass(frozen=True, slots=True)
class Workspace:
    """`root` is absolute and without links. `privacy`, `strict` (`gate_strict`) and `groups` are what counts, after
    pinning; `declared` is the group map as it stands in the file. `changed` names what differs from what the owner
    accepted. `inputs` are the absolute paths whose stamps decide whether this record still holds.
    """

    root: str
    settings: Settings
    privacy: ScopeSettings
    strict: bool
    groups: GroupMap
    declared: GroupMap
    changed: tuple[str, ...]
    problems: tuple[ApmError, ...]
    inputs: tuple[str, ...]


def locate(env: Mapping[str, str], start: str, explicit: str = "") -> str | None:
    """The workspace that a command or event means: `explicit`, else `APM_WORKSPACE`, else the nearest folder at or
    above `start` with an `apm.toml`. Without links; None where there is none.
    """
    named = explicit or env.get("APM_WORKSPACE", "")
    if named:
        return os.path.realpath(os.path.join(start, os.path.expanduser(named)))
    return fastlane.find_workspace(start)


def open_workspace(root: str, where: Places, env: Mapping[str, str]) -> Workspace:
    """Read the workspace at `root` (absolute, without links).

    Raises NotTrustedError where its owner has not accepted it (before anything in it is read), and SettingsError
    where a settings file or the trust list is damaged.
    """
    trust = read_trust(root, where, env)
    if not trust.accepted:
        raise NotTrustedError(
            "this workspace was not accepted by its owner", file=root,
            remedy=f"Review it, then run: apm-hooks trust --workspace {shlex.quote(root)}",
        )  # fmt: skip
    settings, declared, broken = _declared(root, where, env)
    problems = (broken,) if broken is not None else declared.errors
    changed = trust.changed(privacy_digests(settings, declared))
    groups = GroupMap.empty() if GROUPS_PIN in changed else declared
    return Workspace(
        root=root, settings=settings, privacy=_effective(settings, changed, trust.closed),
        strict=_is_strict(settings, changed), groups=groups, declared=declared, changed=changed, problems=problems,
        inputs=(
            os.path.join(root, SETTINGS_FILE), os.path.join(root, GROUP_MAP),
            os.path.join(where.config, "config.toml"), os.path.join(where.config, TRUST_FILE),
        ),
    )  # fmt: skip


def _declared(root: str, where: Places, env: Mapping[str, str]) -> tuple[Settings, GroupMap, ApmError | None]:
    """Settings, group map, and what is wrong with the group map's file as a whole."""
    settings = load_settings(root, where.config, env)
    try:
        found = read_bytes(root, GROUP_MAP, limit=LIMITS.settings_bytes)
        text = decode(found[0], GROUP_MAP)[0] if found else "{}"
        return settings, read_group_map(text, file=GROUP_MAP), None
    except ApmError as error:
        # A broken map takes the groups' memory away, not the owner's.
        return settings, GroupMap.empty(), error


def read_declared(root: str, where: Places, env: Mapping[str, str]) -> tuple[Settings, GroupMap]:
    """Settings and group map as the files say, trusted or not: what `trust` shows and pins.

    Raises SettingsError or MemoryFileError for a file that cannot be read, so that nothing unread is accepted.
    """
    settings, groups, broken = _declared(root, where, env)
    if broken is not None:
        raise broken
    return settings, groups


def privacy_digests(settings: Settings, groups: GroupMap) -> dict[str, str]:
    """One digest a privacy setting, and one of the group map: what `trust` pins.

    What a process's own environment sets is its operator's word and is left out; refused entries count, because
    taking one out can let another one in.
    """
    digests = {key: digest_of(settings.declared.get(key)) for key in PRIVACY_KEYS}
    entries = [*groups.entries, *(entry for entry, _ in groups.refused)]
    rules = settings.declared.get("scopes") or {}
    digests[CLOSED_PIN] = "\n".join(sorted(pattern for pattern, target in rules.items() if target == "none"))
    digests[GROUPS_PIN] = digest_of(sorted((entry.key, entry.name, entry.channel) for entry in entries))
    return digests


def _effective(settings: Settings, changed: tuple[str, ...], closed: tuple[str, ...]) -> ScopeSettings:
    stale = {key for key in changed if not settings.from_environment(key)}
    return ScopeSettings(
        owner_peers=() if "owner_peers" in stale else settings.owner_peers,
        scopes=settings.scopes if "scopes" not in stale else _closing(settings, closed),
        # A switch that differs from the accepted one is on in one of the two: on is the strict side here …
        require_session="require_session" in stale or settings.require_session,
        # … and off is there.
        matrix_match_without_server="matrix_match_without_server" not in stale and settings.matrix_match_without_server,
    )


def _is_strict(settings: Settings, changed: tuple[str, ...]) -> bool:
    """As with `require_session`: one that differs from the accepted one counts as on."""
    return settings.gate_strict or ("gate_strict" in changed and not settings.from_environment("gate_strict"))


def _closing(settings: Settings, closed: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Rules that take memory away: those of now may count at once, and the accepted ones count on."""
    now = {pattern for pattern, target in settings.scopes if target == "none"}
    return tuple((pattern, "none") for pattern in sorted(now.union(closed)))
