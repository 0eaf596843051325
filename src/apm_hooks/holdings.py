"""The files of a workspace that belong to somebody by the ownership table, as they are there now (protocol, section 2).

Only listings are read, within bounds, and no link below the top is followed.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from itertools import islice

from apm_hooks.ownership import classify

_ENTRIES = 20_000
"""So many names are looked at below each thing of the memory that lies at the top of a workspace."""
_DEPTH = 48
_GROUPS = 1_000


@dataclass(frozen=True, slots=True)
class Top:
    """A name at the top of a workspace that belongs to somebody. `base` is its real path, `files` are the files at and
    below it, in order, as (path relative to the workspace, real path). `complete`: that are all of them."""

    name: str
    base: str
    files: tuple[tuple[str, str], ...]
    complete: bool = True


def folders(root: str, own: str) -> list[str]:
    """The folders in a folder of a workspace, relative to it, in order; a bounded number."""
    try:
        with os.scandir(f"{root}/{own}") as entries:
            found = [f"{own}/{entry.name}" for entry in islice(entries, _GROUPS) if entry.is_dir()]
    except (OSError, ValueError):
        return []
    return sorted(found)


def holdings_of(root: str) -> tuple[Top, ...]:
    """What a workspace holds, in order. What cannot be listed is incomplete; never raises."""
    try:
        with os.scandir(root) as entries:
            names = sorted(entry.name for entry in entries if classify(entry.name).row is not None)
    except FileNotFoundError:
        return ()
    except (OSError, ValueError):
        return (Top("", root, (), complete=False),)
    return tuple(_top(root, name) for name in names)


def _top(root: str, name: str) -> Top:
    start = f"{root}/{name}"
    try:
        base = os.path.realpath(start)
        if not stat.S_ISDIR(os.stat(start).st_mode):
            return Top(name, base, ((name, base),))
    except (OSError, ValueError):
        return Top(name, start, ((name, start),))
    files, complete = _walk(name, base)
    return Top(name, base, tuple(files), complete)


def _walk(top: str, base: str) -> tuple[list[tuple[str, str]], bool]:
    """The files below a folder, no link on the way followed, and whether that are all."""
    found: list[tuple[str, str]] = []
    todo, seen, complete = [(top, base, 0)], 0, True
    while todo:
        own, real, depth = todo.pop()
        try:
            with os.scandir(real) as listing:
                entries = sorted(islice(listing, _ENTRIES + 1), key=lambda entry: entry.name)
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            complete = False
            continue
        for entry in entries:
            seen += 1
            if seen > _ENTRIES:
                return found, False
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
    return found, complete
