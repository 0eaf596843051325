"""The files of workspaces that belong to somebody by the ownership table, as they are there now (protocol, section 2).

Only listings are read, within bounds, and no link below the top of a workspace is followed.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from itertools import islice

from apm_hooks.ownership import classify

TOPS = ("memory", "log", ".apm", ".git")
"""The folders of that kind; each may be a link to somewhere else."""

_ENTRIES = 20_000
"""So many names are looked at below one of them …"""
_ALL = 60_000
"""… and so many in all."""
_DEPTH = 48
_GROUPS = 1_000


@dataclass(frozen=True, slots=True)
class Top:
    """A name at the top of the workspace `root` that belongs to somebody; `base` is its real path. An empty name stands
    for a workspace that cannot be listed."""

    root: str
    name: str
    base: str


@dataclass(frozen=True, slots=True)
class Files:
    """Files as (path relative to the workspace, real path), in order. `complete`: that are all."""

    found: tuple[tuple[str, str], ...]
    complete: bool = True


class Holdings:
    """What workspaces hold, looked up once; for one tool call, and no longer. Never raises."""

    def __init__(self) -> None:
        self._left = _ALL
        self._tops: dict[str, tuple[Top, ...]] = {}
        self._files: dict[Top, Files] = {}

    def tops(self, root: str) -> tuple[Top, ...]:
        """The names at the top of a workspace that belong to somebody, in order."""
        if root not in self._tops:
            self._tops[root] = _tops(root)
        return self._tops[root]

    def files(self, top: Top) -> Files:
        """The files at and below one of them."""
        if top not in self._files:
            try:
                folder = stat.S_ISDIR(os.stat(top.base).st_mode)
            except (OSError, ValueError):
                folder = False
            self._files[top] = self._walk(top) if folder else Files(((top.name, top.base),))
        return self._files[top]

    def _walk(self, top: Top) -> Files:
        if not top.name:
            return Files((), complete=False)
        found: list[tuple[str, str]] = []
        todo, bound, complete = [(top.name, top.base, 0)], min(_ENTRIES, self._left), True
        seen = 0
        while todo:
            own, real, depth = todo.pop()
            try:
                with os.scandir(real) as listing:
                    entries = sorted(islice(listing, bound - seen + 1), key=lambda entry: entry.name)
            except FileNotFoundError:
                continue
            except (OSError, ValueError):
                complete = False
                continue
            seen += len(entries)
            for entry in entries:
                path, place = f"{own}/{entry.name}", f"{real}/{entry.name}"
                if not entry.is_dir(follow_symlinks=False):
                    found.append((path, place))
                elif depth == _DEPTH:
                    complete = False
                elif path != ".git/objects":
                    todo.append((path, place, depth + 1))
                else:
                    # Named by digests and packed: nobody finds a text in them by searching.
                    todo.append((f"{path}/pack", f"{place}/pack", depth + 2))
            if seen > bound:
                complete = False
                break
        self._left -= min(seen, bound)
        return Files(tuple(found), complete)


def folders(root: str, own: str) -> list[str]:
    """The folders in a folder of a workspace, relative to it, in order; a bounded number."""
    try:
        with os.scandir(f"{root}/{own}") as entries:
            found = [f"{own}/{entry.name}" for entry in islice(entries, _GROUPS) if entry.is_dir()]
    except (OSError, ValueError):
        return []
    return sorted(found)


def _tops(root: str) -> tuple[Top, ...]:
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if classify(entry.name).row is not None)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError):
        return (Top(root, "", root),)
    return tuple(Top(root, name, os.path.realpath(f"{root}/{name}")) for name in names)
