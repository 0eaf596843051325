"""The gate's rules on files, one function each: a reason to deny, or nothing (protocol, sections 2 and 8)."""

from __future__ import annotations

import os

from apm_hooks import gate_texts
from apm_hooks.access import AccessKind
from apm_hooks.gate_case import READS, Case, Look, of_hooks, row_of
from apm_hooks.gate_cover import head_enters
from apm_hooks.gate_shut import GIT_FILES, INSTRUCTIONS, SWITCH_FILES, SWITCHES, Shut
from apm_hooks.mentions import mentioned
from apm_hooks.resolve import Name, Place, below, fold

_OPERATORS_FILES = ("trust.json", "config.toml")
_TAKES_AWAY = (AccessKind.DELETE, AccessKind.MOVE_FROM)
_ANYTHING = ("descriptor", "inode", "linked")
"""Troubles with a path that leads to a file all the same."""
_PATHS = 1_000
_WIDE = 100
"""So many paths, folders and patterns of one call are judged outside the owner's scope."""


def untold(case: Case) -> str:
    """What a path is cannot be told: outside the owner's scope that is no way in."""
    if case.situation.owner:
        return ""
    unclear = (look for look in case.looks if any(place.trouble for place in look.places))
    return next((gate_texts.UNTOLD.format(path=case.shown(look)) for look in unclear), "")


def too_many(case: Case) -> str:
    """A call with more in it than can be judged in time: the host would take no answer for a yes."""
    if case.situation.owner:
        return ""
    wide = sum(look.wide for look in case.looks)
    return gate_texts.TOO_MANY if len(case.looks) > _PATHS or wide > _WIDE else ""


def ownership(case: Case) -> str:
    """Where an access begins belongs to somebody else. A plain listing tells names only, and is free with a scope."""
    for look in case.looks:
        listing = look.access.kind is AccessKind.LIST
        if look.access.kind is AccessKind.SESSION_SEARCH or (listing and case.situation.scope is not None):
            continue
        name = case.forbidden(look, change=look.changes)
        if name is not None:
            return _not_yours(case, look, name)
    return ""


def _not_yours(case: Case, look: Look, name: Name) -> str:
    situation = case.situation
    if situation.scope is None:
        text = gate_texts.NO_SCOPE
    elif of_hooks(name):
        text = gate_texts.HOOKS_ONLY
    elif not situation.owner:
        text = gate_texts.NOT_CHANGED if look.changes else gate_texts.NOT_READ
    else:
        text = gate_texts.GROUPS_OWN if name[0] == situation.root else gate_texts.OTHER_WORKSPACE
    return text.format(path=case.shown(look), own=situation.own)


def outside(case: Case) -> str:
    """Conversations of anybody lie outside the workspaces too, as hosts keep them; and what decides of trust."""
    for look in case.looks:
        for place in look.places:
            for folder, shut in case.shut():
                reason = _outside(case, look, place, folder, shut)
                if reason:
                    return reason.format(path=case.shown(look))
    return ""


def _outside(case: Case, look: Look, place: Place, folder: str, shut: Shut) -> str:
    tail = _inside(place, folder)
    covers = tail is None and look.wide and _covers_folder(case, look, place, folder)
    if case.situation.owner:
        return _operators(case, look, folder, tail) if tail is not None or covers else ""
    if covers or (tail is not None and (look.changes or not _is_free(tail, shut))):
        return gate_texts.STORED
    return ""


def _inside(place: Place, folder: str) -> str | None:
    """What of a path stands behind a shut folder, if it lies in it; a workspace that does is judged as one."""
    if place.root and below(place.root, folder) is not None:
        return None
    tails = (below(fold(path), fold(folder)) for path in (place.real, *place.passed))
    return next((tail for tail in tails if tail is not None), None)


def _is_free(tail: str, shut: Shut) -> bool:
    return any(below(tail, free) is not None for free in shut.free)


def _operators(case: Case, look: Look, folder: str, tail: str | None) -> str:
    """The owner's agent changes no list of what is trusted, and takes none away."""
    if folder not in (config := case.situation.places.config, case.resolver.real(config)) or not look.changes:
        return ""
    if tail:
        return gate_texts.TRUST_LIST if tail.startswith(_OPERATORS_FILES) else ""
    return gate_texts.TRUST_LIST if look.access.kind in _TAKES_AWAY else ""


def _covers_folder(case: Case, look: Look, place: Place, folder: str) -> bool:
    kind, only = look.access.kind, look.access.only
    if kind is AccessKind.LIST and not look.access.recursive:
        return False
    if not head_enters(folder, place, look.rest, look.access.recursive) or not os.path.lexists(folder):
        return False
    return not only or case.holds_name(folder, only)


def switches(case: Case) -> str:
    """Outside the owner's scope nobody changes what a host runs at our events, or loads for everybody."""
    if case.situation.owner:
        return ""
    for look in case.looks:
        if look.access.kind in (AccessKind.WRITE, AccessKind.EDIT) and _other_repository(look):
            return gate_texts.OTHER_REPOSITORY.format(path=case.shown(look))
        inside = look.changes and any(SWITCHES.intersection(fold(path).split("/")) for _, path in look.names)
        if inside or (look.changes and not SWITCH_FILES.isdisjoint(_file_names(look))):
            return gate_texts.SWITCHES.format(path=case.shown(look))
        if look.access.kind in (AccessKind.WRITE, AccessKind.EDIT) and _imports(case, look):
            return gate_texts.SWITCHES.format(path=case.shown(look))
    return ""


def _file_names(look: Look) -> set[str]:
    return {fold(path.rpartition("/")[2]) for place in look.places for path in (place.real, *place.passed)}


def _other_repository(look: Look) -> bool:
    """Whether a file is written by which git would read another repository: what git itself writes is told by its name
    as the word. A folder `.git` is its own."""
    if look.rest:
        return False
    names = _file_names(look)
    if not (GIT_FILES - {".git"}).isdisjoint(names):
        return True
    own = look.access.word.rpartition("/")[2] == "git"
    return ".git" in names and not own and not all(place.folder for place in look.places)


def _imports(case: Case, look: Look) -> bool:
    """Whether instructions for every conversation could be made to pull in what this one may not read."""
    if look.rest or not any(fold(os.path.basename(place.real)) in INSTRUCTIONS for place in look.places):
        return False
    access = look.access
    if access.content is None and not access.edits:
        return True
    text = "\n".join((access.content or "", *(edit.new for edit in access.edits)))
    folders = {os.path.dirname(place.real) for place in look.places}
    return any(pulls_in(case, path, folder) for path in mentioned(text) for folder in sorted(folders))


def pulls_in(case: Case, path: str, folder: str) -> bool:
    """Whether a mention of `path`, counted from `folder`, would bring in what the scope may not read."""
    home = case.situation.home
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    place = case.resolver.resolve(path if path.startswith("/") else f"{folder}/{path}")
    if place.folder and case.situation.scope is not None:
        return False
    if any(not case.may_touch(place, name, change=False) for name in place.names):
        return True
    inside = ((_inside(place, folder), shut) for folder, shut in case.shut())
    if not case.situation.owner and place.trouble in _ANYTHING:
        return True
    return not case.situation.owner and any(tail is not None and not _is_free(tail, shut) for tail, shut in inside)


def coverage(case: Case) -> str:
    """A pattern, a folder with all below it, or no path at all could touch what belongs to somebody else.

    In the owner's scope searches and listings are free, and so is what may write into a folder of nobody's.
    """
    for look in case.looks:
        if not look.access.path or look.access.kind is AccessKind.SESSION_SEARCH:
            reason = _pathless(case, look)
        elif look.wide:
            reason = _owner_covers(case, look) if case.situation.owner else _covers(case, look)
        else:
            reason = ""
        if reason:
            return reason
    return ""


def _pathless(case: Case, look: Look) -> str:
    situation = case.situation
    if situation.owner or (look.access.kind is AccessKind.LIST and not look.wide):
        return ""
    if look.access.kind is AccessKind.SESSION_SEARCH:
        text = gate_texts.SESSIONS if situation.scope is not None else gate_texts.SESSIONS_NO_SCOPE
    else:
        text = gate_texts.NO_PATH if situation.scope is not None else gate_texts.NO_PATH_NO_SCOPE
    return text.format(own=situation.own)


def _owner_covers(case: Case, look: Look) -> str:
    kind = look.access.kind
    if look.changes:
        judged = kind in _TAKES_AWAY or not look.access.recursive or bool(look.access.only) or case.situation.strict
        judged = judged or any(row_of(name) is not None for name in look.names)
    else:
        judged = kind in READS and kind is not AccessKind.SEARCH and not look.access.recursive
    if judged and any(not case.may(name, change=look.changes) for name in case.cover(look).names):
        return gate_texts.COVERS_MORE.format(path=case.shown(look))
    return ""


def _covers(case: Case, look: Look) -> str:
    kind = look.access.kind
    if kind is AccessKind.LIST:
        if not look.access.recursive:
            return ""
        if case.forbidden(look, change=False) is not None:
            return _too_much(case, look)
    cover = case.cover(look)
    if any(not case.may(name, change=look.changes) for name in cover.names):
        return _too_much(case, look)
    own = bool(look.names) and all(map(case.is_own, look.names))
    if cover.more and not own:
        return _too_much(case, look)
    if kind in READS and look.access.recursive and not own and _strays(case, look):
        return _too_much(case, look)
    return ""


def _strays(case: Case, look: Look) -> bool:
    found = (stray for place in look.places if place.folder for stray in case.strays.below(place, look.access.only))
    return any(not case.may_touch(stray, name, change=False) for stray in found for name in stray.names)


def _too_much(case: Case, look: Look) -> str:
    situation = case.situation
    if look.changes:
        text = gate_texts.COVERS_MORE
    else:
        text = gate_texts.COVERS if situation.scope is not None else gate_texts.COVERS_NO_SCOPE
    return text.format(path=case.shown(look), own=situation.own)
