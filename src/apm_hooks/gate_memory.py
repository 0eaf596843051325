"""The gate's rules on the scope's own memory: index first, the ceiling, hard rules and rows (protocol, 4, 5 and 8)."""

from __future__ import annotations

from collections.abc import Iterator

from apm_hooks import gate_texts
from apm_hooks.access import AccessKind
from apm_hooks.cells import standard_priority
from apm_hooks.errors import MemoryFileError
from apm_hooks.files import read_text
from apm_hooks.gate_case import READS, Case, Look, row_of, same_path, shown
from apm_hooks.ownership import Owner
from apm_hooks.protected import after_edit, has_parts, losses, possible_edits
from apm_hooks.protocol.ceiling import DM_P_FILES, INDEX, SUB_FILE, dm_may_load, group_may_load, layer_of
from apm_hooks.protocol.subfiles import FOLDER
from apm_hooks.records import DM, Index, Scope

_NO_LAYER = frozenset(("group state", "flush state"))
_NOT_MEMORY = frozenset(("history", "log"))
_LISTED = 6
_LOSSES = 3

Reads = tuple[tuple[str, str], ...]


def reading(case: Case) -> tuple[str, Reads]:
    """Why a read is denied, or else what of the scope's memory the call loads, as (path, layer), each once.

    While a flush directive is open, an editor must read what it edits: then nothing is counted.
    """
    situation = case.situation
    if situation.scope is None:
        return "", ()
    if situation.group is not None:
        return ("", ()) if situation.open_flush else _group_reads(case, situation.group)
    if situation.open_flush:
        return _groups_index_first(case), ()
    return _owner_ceiling(case, situation.scope, _owner_reads(case, situation.scope))


def layer_for(scope: Scope, index: Index | None, path: str) -> str:
    """The layer that a file of the scope counts as: by the index's row for it, else by its standard name, else P2."""
    if path == scope.index_path:
        return INDEX
    name = path.removeprefix(f"{scope.directory}/")
    rows = [route for route in index.routes if route.path == name] if index is not None else []
    rows.sort(key=lambda route: route.deprecated)
    if rows:
        return layer_of(rows[0].priority, sub_file=rows[0].sub_file)
    priority, sub_file = standard_priority(name, scope)
    return SUB_FILE if sub_file and name.startswith(f"{FOLDER}/") else layer_of(priority, sub_file=False)


def _group_reads(case: Case, group: Scope) -> tuple[str, Reads]:
    epoch, index_path = case.situation.epoch, group.index_path
    loaded = {path for path, _ in epoch.files}
    layers = [layer for _, layer in epoch.files]
    reads: dict[str, str] = {}
    for look, path, exists in _own_files(case, group):
        if path == index_path:
            if exists and path not in loaded:
                reads[path] = INDEX
            continue
        if index_path not in loaded:
            missing = not case.resolver.resolve(f"{case.situation.root}/{index_path}").exists
            text = gate_texts.NO_INDEX if missing else gate_texts.INDEX_FIRST
            return text.format(path=case.shown(look), index=index_path), ()
        row = row_of((case.situation.root, path))
        if not exists or path in loaded or path in reads or (row is not None and row.kind in _NO_LAYER):
            continue
        layer = layer_for(group, case.situation.index, path)
        if not group_may_load(layers, layer):
            return gate_texts.CEILING.format(path=case.shown(look), loaded=_loaded(case, group)), ()
        layers.append(layer)
        reads[path] = layer
    for look in case.looks:
        if look.wide and look.access.kind in READS and all(map(case.is_own, look.names)) and case.cover(look).more:
            return gate_texts.CEILING.format(path=case.shown(look), loaded=_loaded(case, group)), ()
    for look in case.looks:
        # What an agent writes as a whole, it has before it.
        whole = look.access.kind is AccessKind.WRITE and look.access.content is not None
        if whole and index_path not in loaded and (case.situation.root, index_path) in look.names:
            reads[index_path] = INDEX
    return "", tuple(reads.items())


def _own_files(case: Case, group: Scope) -> Iterator[tuple[Look, str, bool]]:
    """The group's files that the call would read, with whether they are there."""
    for look in case.looks:
        if look.access.kind not in READS:
            continue
        if look.wide:
            yield from ((look, path, True) for root, path in case.cover(look).names if case.is_own((root, path)))
            continue
        for place in look.places:
            if not place.folder:
                for root, path in place.names:
                    if case.is_own((root, path)) and path != group.directory:
                        yield look, path, place.exists


def _loaded(case: Case, scope: Scope) -> str:
    names = [path.removeprefix(f"{scope.directory}/") for path, layer in case.situation.epoch.files if layer != INDEX]
    shown = ", ".join(names[:_LISTED]) + (", …" if len(names) > _LISTED else "")
    return shown or gate_texts.LOADED_NOTHING


def _groups_index_first(case: Case) -> str:
    """The owner may read a group's memory, its index first (protocol, section 2)."""
    situation = case.situation
    loaded = {path for path, _ in situation.epoch.files}
    for look in case.looks:
        if look.access.kind not in READS or (look.wide and look.access.recursive):
            continue
        for root, path in (*look.names, *(case.cover(look).names if look.rest else ())):
            row = row_of((root, path))
            if root != situation.root or row is None or row.owner is not Owner.GROUP or path in loaded:
                continue
            indexes = [index for index in _indexes_above(path) if case.resolver.resolve(f"{root}/{index}").exists]
            if indexes and not loaded.intersection(indexes):
                return gate_texts.INDEX_FIRST.format(path=case.shown(look), index=indexes[0])
    return ""


def _indexes_above(path: str) -> Iterator[str]:
    """The indexes that a group's file may belong to: how deep a group's name goes cannot be seen from a path."""
    parts = path.split("/")
    for depth in range(3, len(parts)):
        yield "/".join(parts[:depth]) + ".md"


def _owner_ceiling(case: Case, scope: Scope, reads: Reads) -> tuple[str, Reads]:
    """The owner's ceiling denies only where the setting says so: it is the owner's own memory."""
    reason = _groups_index_first(case)
    if not reason and case.situation.dm_ceiling == "enforce" and past_ceiling(case, reads):
        asked = next(path for path, layer in reads if layer.startswith("P"))
        reason = gate_texts.CEILING.format(path=shown(asked), loaded=_loaded(case, scope))
    return reason, reads


def past_ceiling(case: Case, reads: Reads) -> bool:
    """Whether what a call of the owner's loads goes past the ceiling, and what came before it did not."""
    layers = [layer for _, layer in case.situation.epoch.files]
    for _, layer in reads:
        if layer.startswith("P") and not dm_may_load(layers):
            return True
        layers.append(layer)
    return False


def advice(case: Case, reads: Reads) -> str:
    """What the owner's agent is told beside a read past the ceiling, once an epoch (protocol, 5)."""
    situation = case.situation
    if not situation.owner or situation.open_flush or situation.dm_ceiling != "advise":
        return ""
    layers = [layer for _, layer in situation.epoch.files if layer.startswith("P")]
    # Past the ceiling already: it was said when that happened.
    if len(layers) > DM_P_FILES or not past_ceiling(case, reads):
        return ""
    return gate_texts.ADVICE.format(loaded=_loaded(case, DM))


def _owner_reads(case: Case, scope: Scope) -> Reads:
    """What the owner's context has loaded is counted."""
    situation = case.situation
    loaded = {path for path, _ in situation.epoch.files}
    reads: dict[str, str] = {}
    for look in case.looks:
        if look.access.kind not in READS or (look.wide and look.access.recursive):
            continue
        found = [name for place in look.places if place.exists and not place.folder for name in place.names]
        for root, path in (*(() if look.rest else found), *(case.cover(look).names if look.rest else ())):
            row = row_of((root, path))
            if root != situation.root or row is None or path in loaded:
                continue
            if row.owner is Owner.GROUP:
                if row.kind == "group index":
                    reads[path] = INDEX
            elif path.startswith(f"{scope.directory}/") and row.kind not in _NO_LAYER:
                reads[path] = layer_for(scope, situation.index, path)
    return tuple(reads.items())


def protected_parts(case: Case) -> str:
    """A change of the scope's index would take a hard rule or a row away, or say something else in its place."""
    scope = case.situation.scope
    if scope is None:
        return ""
    for look in case.looks:
        if not look.changes or not _touches_index(case, look, scope):
            continue
        try:
            found = read_text(case.situation.root, scope.index_path)
        except MemoryFileError:
            # A damaged index is its owner's to mend; a group's member might have damaged it to get rid of its rules.
            if case.situation.owner:
                continue
            return gate_texts.INDEX_UNTOLD.format(path=case.shown(look))
        before = found.text if found is not None else ""
        if not has_parts(before, scope):
            continue
        outcomes = _outcomes(look, before)
        if outcomes is None:
            return gate_texts.INDEX_UNTOLD.format(path=case.shown(look))
        lost = next((lost for after in outcomes if (lost := losses(before, after, scope))), ())
        if lost:
            more = len(lost) - _LOSSES
            listed = [*lost[:_LOSSES], *([gate_texts.MORE_LOSSES.format(count=more)] if more > 0 else [])]
            return gate_texts.INDEX_PARTS.format(path=case.shown(look), losses="; ".join(listed))
    return ""


def _touches_index(case: Case, look: Look, scope: Scope) -> bool:
    names = look.names
    if look.wide:
        writes = look.access.kind in (AccessKind.WRITE, AccessKind.EDIT)
        unpacks = writes and look.access.recursive and not look.access.only
        if unpacks and not any(row_of(name) is not None for name in names):
            # What unpacks or checks out into a folder of nobody's is the host's to permit.
            return case.situation.strict and (case.situation.root, scope.index_path) in case.cover(look).names
        names = case.cover(look).names if look.rest else (*names, *case.cover(look).names)
    return any(root == case.situation.root and same_path(path, scope.index_path) for root, path in names)


def _outcomes(look: Look, before: str) -> tuple[str, ...] | None:
    """The texts that the index may have afterwards; None where that cannot be told."""
    access = look.access
    if access.kind in (AccessKind.DELETE, AccessKind.MOVE_FROM):
        return ("",)
    if access.content is not None and not look.wide:
        return (access.content,)
    if access.edits and not look.wide:
        exact = after_edit(before, access.edits)
        return (exact,) if exact is not None else possible_edits(before, access.edits)
    return None


def memory_in_flush(case: Case) -> str:
    """A turn whose flush directive is open writes no MEMORY.md: that is the host's to load."""
    scope = case.situation.scope
    if scope is None or not case.situation.open_flush:
        return ""
    for look in case.looks:
        if not look.changes:
            continue
        covers = look.wide and (look.access.kind not in (AccessKind.WRITE, AccessKind.EDIT) or bool(look.rest))
        for name in (*look.names, *(case.cover(look).names if covers else ())):
            row = row_of(name)
            if row is not None and row.kind in ("MEMORY.md", "group's MEMORY.md"):
                return gate_texts.MEMORY_IN_FLUSH.format(folder=scope.directory)
    return ""


def shrinking(case: Case) -> tuple[str, ...]:
    """The memory files of the scope that a whole-file write would leave with less than half of their text."""
    situation, found = case.situation, dict[str, None]()
    for look in case.looks:
        content = look.access.content
        if look.access.kind is not AccessKind.WRITE or content is None or look.wide:
            continue
        for name in look.names:
            row = row_of(name)
            if name[0] != situation.root or row is None or row.kind in _NOT_MEMORY or not case.may(name, change=True):
                continue
            try:
                before = read_text(*name)
            except MemoryFileError:
                continue
            if before is not None and len(content) * 2 < len(before.text):
                found[name[1]] = None
    return tuple(found)
