"""Which scopes a workspace has: the mapped groups, and folders of groups that no entry of the group map names."""

from __future__ import annotations

import os
from collections.abc import Collection

from apm_hooks.audit_pointers import GroupMarks
from apm_hooks.errors import NameRefusedError
from apm_hooks.groupmap import GroupMap
from apm_hooks.names import check_name, name_key
from apm_hooks.records import DM, Scope, ScopeKind
from apm_hooks.walking import ShutError, open_below

_GROUPS = "memory/groups"
_DEPTH = 16


def unmapped_groups(root: str, declared: GroupMap) -> list[Scope]:
    """The groups that have an index or a folder and no entry in the group map, by name.

    Folders that only hold mapped groups (`parent/child`) are none. Names that may not become a path are left out, since
    nothing is ever read there.
    """
    known = [entry.name for entry in declared.entries]
    known += [entry.name for entry, _ in declared.refused if entry.name]
    mapped = {name_key(name) for name in known}
    parents = {"/".join(name.split("/")[:depth]) for name in mapped for depth in range(1, name.count("/") + 1)}
    return sorted(_unmapped(root, "", mapped, parents), key=lambda scope: scope.name)


def _unmapped(root: str, parent: str, mapped: Collection[str], parents: Collection[str]) -> list[Scope]:
    found: dict[str, Scope] = {}
    for name, is_folder in listed(root, f"{_GROUPS}/{parent}".rstrip("/")):
        if not is_folder and not name.endswith(".md"):
            continue
        group = parent + ("/" if parent else "") + (name if is_folder else name.removesuffix(".md"))
        key = name_key(group)
        if key in parents and is_folder:
            found.update({scope.name: scope for scope in _unmapped(root, group, mapped, parents)})
        elif key not in mapped:
            try:
                found[key] = Scope(ScopeKind.GROUP, check_name(group))
            except NameRefusedError:
                continue
    return list(found.values())


def listed(root: str, folder: str) -> list[tuple[str, bool]]:
    """Names in a folder of the workspace, each with whether it is a folder; hidden ones, links and what is no plain
    file are left out. Empty where the folder is absent or cannot be opened without following a link."""
    try:
        descriptor = open_below(root, folder.split("/"))
    except ShutError:
        return []
    try:
        with os.scandir(descriptor) as entries:
            return sorted(
                (entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries
                if not entry.name.startswith(".") and _is_text(entry.name)
                and (entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False))
            )  # fmt: skip
    except OSError:
        return []
    finally:
        os.close(descriptor)


def files_below(root: str, folder: str, *, depth: int = _DEPTH) -> list[str]:
    """The plain files below a folder of the workspace, hidden ones left out; none where it cannot be opened."""
    found: list[str] = []
    for name, is_folder in listed(root, folder):
        if not is_folder:
            found.append(f"{folder}/{name}")
        elif depth:
            found += files_below(root, f"{folder}/{name}", depth=depth - 1)
    return found


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def marks_of(groups: GroupMap) -> GroupMarks:
    """What the mapped groups are known by."""
    return GroupMarks(tuple(entry.name for entry in groups.entries), tuple(entry.id for entry in groups.entries))


def scopes_of(groups: GroupMap) -> list[Scope]:
    """The owner's scope, and every mapped group's, by name."""
    names = sorted({entry.name for entry in groups.entries})
    return [DM, *(Scope(ScopeKind.GROUP, name) for name in names)]
