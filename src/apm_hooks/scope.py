"""From an event to the one scope whose memory it may touch, or to none (protocol, section 3).

Privacy fails closed here: whatever is missing, in doubt or in conflict gives no scope, and tells the operator
which setting would change that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apm_hooks.errors import NameRefusedError
from apm_hooks.groupmap import GroupMap
from apm_hooks.names import Names, check_name, printable, shell_word
from apm_hooks.records import DM, LIMITS, ChatType, HostEvent, Scope, ScopeDecision, ScopeKind, SessionKey
from apm_hooks.session import is_owner, may_be_group, parse_session_key


@dataclass(frozen=True, slots=True)
class ScopeSettings:
    """The settings that decide a scope.

    `owner_peers`: who is the owner, as `peer` or `channel:peer` (`*`: whoever there is). `scopes`: glob of a session
    key, whole or without its leading `agent:ID:` → `DM`, `Group(name)` or `none`.
    """

    owner_peers: tuple[str, ...] = ()
    scopes: tuple[tuple[str, str], ...] = ()
    require_session: bool = False
    matrix_match_without_server: bool = False


def decide_scope(
    event: HostEvent,
    settings: ScopeSettings,
    groups: GroupMap,
    *,
    parse: Callable[[str], SessionKey] = parse_session_key,
) -> ScopeDecision:
    """Whose memory an event's session may touch, and why (protocol, section 3). Never raises.

    `parse` reads session keys: the built-in grammar, or one that knows further channels.

    Codes: `owner`, `group`, `scopes` (that setting says so); without a scope also `subagent`, `no-session`,
    `empty-session`, `conflict`, `not-owner`, `unmapped-group`, `cron`, `unknown-key`, `scopes-refused`.
    """
    if event.subagent:
        return _none("subagent", "a subagent has no memory of its own")
    if event.session_key is None or not event.session_key.strip():
        return _without_key(event, settings)
    key = parse(event.session_key)
    if event.is_group is True and key.chat is ChatType.DIRECT:
        cause = f"the host calls this turn a group's, and its session {printable(key.raw)} is a direct chat's"
        return _none("conflict", cause, "Let the host give every group a session key of its own")
    ruled = _by_setting(event, key, settings, groups)
    return ruled if ruled is not None else _by_chat(event, key, settings, groups)


def _without_key(event: HostEvent, settings: ScopeSettings) -> ScopeDecision:
    remedy = "Let the host name the conversation in its session key"
    if event.session_key is not None:
        return _none("empty-session", "the session key is empty", remedy)
    if event.is_group is True:
        return _none("no-session", "the host calls this turn a group's, and names no session", remedy)
    if not event.single_user:
        return _none("no-session", "the host has chats, and names no session", remedy)
    if settings.require_session:
        remedy += "; where one person uses it, set require_session = false in apm.toml"
        return _none("no-session", "the host names no session, and require_session is set", remedy)
    if event.sender is not None and not is_owner(event.sender, "", settings.owner_peers):
        return _not_owner(event.sender)
    return ScopeDecision(DM, "owner", "a host of one user, without chats")


def _by_chat(event: HostEvent, key: SessionKey, settings: ScopeSettings, groups: GroupMap) -> ScopeDecision:
    if key.chat is ChatType.GROUP:
        return _group(key, settings, groups)
    if key.chat is ChatType.DIRECT:
        return _direct(event, key, settings)
    targets = '"Group(NAME)"' if event.is_group is True or may_be_group(key) else '"DM" or "Group(NAME)"'
    return _none(
        "unknown-key" if key.chat is ChatType.UNKNOWN else key.chat.value,
        f"the session {printable(key.raw)} names neither the owner nor a group",
        f"If it may have memory, map its key under [scopes] in apm.toml to {targets}",
    )


def _direct(event: HostEvent, key: SessionKey, settings: ScopeSettings) -> ScopeDecision:
    """The owner's session, or a peer's: the owner's memory only where everyone named is the owner."""
    for peer in (None if key.owner else key.id, event.sender):
        if peer is not None and not is_owner(peer, key.channel, settings.owner_peers):
            return _not_owner(peer)
    return ScopeDecision(DM, "owner", f"{printable(key.raw)} is a session of the owner")


def _not_owner(peer: str) -> ScopeDecision:
    plain = peer.isprintable() and not set(peer) & {'"', "\\"}
    remedy = f'If this peer is the owner, set owner_peers = ["{peer if plain else "PEER"}"] in apm.toml'
    return _none("not-owner", f"{printable(peer)} is not among the owner's peers", remedy)


def _group(key: SessionKey, settings: ScopeSettings, groups: GroupMap) -> ScopeDecision:
    entry = groups.find(key, matrix_without_server=settings.matrix_match_without_server)
    if entry is not None:
        scope = Scope(ScopeKind.GROUP, entry.name)
        return ScopeDecision(scope, "group", f"{printable(key.id)} is {printable(entry.name)}")
    refusal = groups.refusal(key)
    why = f"has an entry that is refused: {refusal}" if refusal else "is not in the group map"
    cause = f"the group {printable(key.id, LIMITS.key_chars)} on {key.channel} {why}"
    word = shell_word(key.id)
    # An id that looks like an option needs the other spelling; a negative number does not.
    option = f"--id={word}" if word.startswith("-") and not word[1:].isdigit() else f"--id {word}"
    return _none("unmapped-group", cause, f"apm-hooks group add NAME {option}")


def _by_setting(event: HostEvent, key: SessionKey, settings: ScopeSettings, groups: GroupMap) -> ScopeDecision | None:
    """What `[scopes]` says of a key; None where it says nothing."""
    targets = _targets(key, settings)
    if not targets:
        return None
    says = f"[scopes] in apm.toml gives {printable(key.raw)}"
    if len(targets) > 1:
        cause = f"{says} more than one scope: {', '.join(map(printable, targets))}"
        return _none("conflict", cause, "Let all patterns that match this key agree")
    if targets[0] == "none":
        return _none("scopes", f"{says} no memory")
    if targets[0] != "DM":
        return _named_group(targets[0], says, settings, groups)
    if event.is_group is True or may_be_group(key):
        cause = f"{says} the owner's memory, and it may be a group's"
        return _none("conflict", cause, 'Map it to "Group(NAME)" instead')
    return _owner_by_setting(event, key, says, settings)


def _targets(key: SessionKey, settings: ScopeSettings) -> list[str]:
    """The scopes of all patterns that match. A group's key can only lose by them; `none` beats the others."""
    from fnmatch import fnmatchcase

    if len(key.raw) > LIMITS.key_chars:
        return []
    spellings = (key.raw, _without_agent(key.raw))
    found = sorted({
        target for glob, target in settings.scopes if any(fnmatchcase(spelling, glob) for spelling in spellings)
    })  # fmt: skip
    if "none" in found:
        return ["none"]
    return [] if key.chat is ChatType.GROUP else found


def _without_agent(raw: str) -> str:
    """A key as a pattern may name it too: without its leading `agent:ID:`."""
    head, _, rest = raw.partition(":")
    return rest.partition(":")[2] if head.lower() == "agent" else raw


def _owner_by_setting(event: HostEvent, key: SessionKey, says: str, settings: ScopeSettings) -> ScopeDecision:
    """A key mapped to the owner's memory: a named sender must be the owner, or the peer of that key."""
    sender = event.sender
    if sender not in (None, key.id or None) and not is_owner(sender, key.channel, settings.owner_peers):
        return _not_owner(sender)
    return ScopeDecision(DM, "scopes", f"{says} the owner's memory")


def _named_group(target: str, says: str, settings: ScopeSettings, groups: GroupMap) -> ScopeDecision:
    names = {text: text[len("Group(") : -1] for _, text in settings.scopes if text.startswith("Group(")}
    if target not in names or not target.endswith(")"):
        remedy = 'Write "DM", "Group(NAME)" or "none"'
        return _none("scopes-refused", f"{says} {printable(target)}, which is no scope", remedy)
    try:
        name = check_name(names[target])
    except NameRefusedError as error:
        return _none("scopes-refused", f"{says} a group, but {error.cause}", error.remedy)
    # Folding a name is not free: what is too long to be one is not compared.
    longest = LIMITS.name_depth * (LIMITS.name_bytes + 1)
    others = Names(other for other in names.values() if len(other) <= longest)
    clash = groups.clash(name) or others.clash(names[target])
    if clash:
        remedy = "Write the name as the group map has it"
        return _none("scopes-refused", f"{says} a group, but {clash}", remedy)
    return ScopeDecision(Scope(ScopeKind.GROUP, name), "scopes", f"{says} {printable(target)}")


def _none(code: str, detail: str, remedy: str = "") -> ScopeDecision:
    return ScopeDecision(None, code, detail, remedy)
