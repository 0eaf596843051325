"""A walk over the files of a scope, reading none (protocol, sections 2 and 9).

Every folder is opened from the descriptor of the one that holds it, and no link is followed, so that no swap between
two calls leads out of the scope. What could not be looked into is named.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from errno import EACCES, ELOOP, ENOENT, ENOTDIR, EPERM
from itertools import islice

from apm_hooks.delta import Stat
from apm_hooks.errors import MemoryFileError
from apm_hooks.hashing import stat_of
from apm_hooks.names import name_key
from apm_hooks.opening import DIRECTORY, cause_of, kind_of, shown
from apm_hooks.ownership import normalise
from apm_hooks.records import LIMITS, Limits, Scope, ScopeKind

_SHUT = frozenset((ENOENT, ENOTDIR, ELOOP, EACCES, EPERM))
"""What opening a folder says of that folder. Any other error says that looking failed."""

_DEPTH = 32
"""Folders are walked so deep below the scope's own."""

_AT_ONCE = 128
"""So many files are taken in before they are compared."""

_PLAIN = stat.S_IFREG >> 12


def walk(
    root: str, scope: Scope, take: Callable[[dict[str, Stat]], object], limits: Limits = LIMITS
) -> tuple[tuple[tuple[str, str], ...], bool]:
    """Hand every plain file of a scope to `take`, workspace-relative path to stamp, some at a time.

    Of the owner's: `MEMORY.md` and what is below `memory/`, but for `memory/groups/`. Of a group's: its index and what
    is below its folder. Flush states, hidden names and editors' backups are no memory. At most `limits.scope_files`
    names are looked at. A scope without a folder is empty.

    Returns (path, what it is) of what was not looked into, sorted, and False where a bound stopped the walk. Raises
    MemoryFileError where looking at the scope's own folder failed (no descriptors left, a fault of the disk and the
    like), and where the workspace cannot be opened: that is no empty scope.
    """
    walker = _Walker("memory/groups" if scope.kind is ScopeKind.DM else "", limits.scope_files, take)
    index, folder = _places(scope)
    *way, name = folder.split("/")
    try:
        directory = open_below(root, way)
    except ShutError as shut:
        walker.refuse(shut)
    else:
        try:
            walker.look_at(directory, index.rpartition("/")[2], index)
            walker.enter(directory, name, folder, 0)
        finally:
            os.close(directory)
    return tuple(sorted(walker.refused)), walker.complete


def belongs(scope: Scope, path: str) -> bool:
    """Whether a recorded path is one that a scan of the scope could find: what a state file says is not believed."""
    index, folder = _places(scope)
    if path == index:
        return True
    first, *deeper = path.removeprefix(f"{folder}/").split("/")
    if normalise(path) != path or not _is_text(path) or not path.startswith(f"{folder}/"):
        return False
    if scope.kind is ScopeKind.DM and deeper and name_key(first) == "groups":
        return False
    return not any(_left_out(part) for part in (first, *deeper))


def _left_out(name: str) -> bool:
    """Flush states and their lock files, hidden names, editors' backups."""
    return (
        name.startswith((".", "flush-state.json"))
        or name.endswith(("~", ".swp"))
        or (len(name) > 1 and name[0] == name[-1] == "#")
    )


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _places(scope: Scope) -> tuple[str, str]:
    """The scope's one file outside its folder, and that folder."""
    if scope.kind is ScopeKind.DM:
        return "MEMORY.md", "memory"
    folder = f"memory/groups/{scope.name}"
    if normalise(folder) != folder:
        raise MemoryFileError("not a plain path inside the workspace", file=shown(folder))
    return f"{folder}.md", folder


class ShutError(Exception):
    """A folder could not be opened. `kind` says what stands there (empty: nothing), `empty` that no file can lie
    behind it."""

    def __init__(self, path: str, error: OSError, kind: str, *, empty: bool) -> None:
        super().__init__(path)
        self.path, self.error, self.kind, self.empty = path, error, kind, empty


def _open_folder(directory: int, name: str, path: str) -> int:
    """A folder's descriptor, no link followed; the caller closes it. Raises ShutError."""
    try:
        return os.open(name, DIRECTORY, dir_fd=directory)
    except FileNotFoundError as error:
        raise ShutError(path, error, "", empty=True) from error
    except OSError as error:
        try:
            mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        except OSError:
            mode = stat.S_IFDIR
        if stat.S_ISDIR(mode):
            raise ShutError(path, error, cause_of(error), empty=False) from error
        # Behind a link may lie what was there before; behind a file there is nothing.
        raise ShutError(path, error, kind_of(mode) or "a plain file", empty=not stat.S_ISLNK(mode)) from error


def open_below(root: str, parts: Sequence[str]) -> int:
    """The descriptor of a folder below the workspace; the caller closes it. Raises ShutError, and MemoryFileError
    where the workspace itself cannot be opened."""
    try:
        current = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise MemoryFileError(cause_of(error), file=shown(root)) from error
    for depth, part in enumerate(parts, 1):
        try:
            following = _open_folder(current, part, "/".join(parts[:depth]))
        finally:
            os.close(current)
        current = following
    return current


@dataclass(slots=True)
class _Walker:
    """A walk over a scope's folders; `apart` is the folder in them that is not the scope's."""

    apart: str
    room: int
    take: Callable[[dict[str, Stat]], object]
    refused: list[tuple[str, str]] = field(default_factory=list)
    complete: bool = True

    def enter(self, directory: int, name: str, path: str, depth: int) -> None:
        """Walk the folder `name`; the scope's own has depth 0."""
        try:
            descriptor = _open_folder(directory, name, path)
        except ShutError as shut:
            return self.refuse(shut, within=depth > 0)
        try:
            self._list(descriptor, f"{path}/", depth)
        except OSError as error:
            if not depth:
                raise MemoryFileError(cause_of(error), file=shown(path)) from error
            self.refused.append((path, cause_of(error)))
        finally:
            # It was only read: what goes wrong now has cost nothing.
            with suppress(OSError):
                os.close(descriptor)
        return None

    def refuse(self, shut: ShutError, *, within: bool = False) -> None:
        """Name a folder that is not there as one. A look that failed outside the scope's folder is no empty scope."""
        if not within and shut.error.errno not in _SHUT:
            raise MemoryFileError(cause_of(shut.error), file=shown(shut.path)) from shut.error
        if shut.kind:
            self.refused.append((shut.path, shut.kind))

    def look_at(self, directory: int, name: str, path: str) -> None:
        """The one file of a scope that lies outside its folder."""
        try:
            status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        except FileNotFoundError:
            return
        except OSError as error:
            self.refused.append((path, cause_of(error)))
            return
        if stat.S_ISREG(status.st_mode):
            self.take({path: stat_of(status)})
        else:
            self.refused.append((path, kind_of(status.st_mode)))

    def _list(self, descriptor: int, prefix: str, depth: int) -> None:
        folders: list[str] = []
        with os.scandir(descriptor) as listing:
            while self.room >= 0 and (entries := list(islice(listing, _AT_ONCE))):
                self.room -= len(entries)
                if self.room < 0:
                    self.complete = False
                    del entries[self.room :]
                self._look(entries, prefix, folders)
        for name in folders:
            path = prefix + name
            if depth >= _DEPTH:
                self.complete = False
                self.refused.append((path, "a folder too deep"))
            elif name_key(path) != self.apart:
                self.enter(descriptor, name, path, depth + 1)

    def _look(self, entries: list[os.DirEntry[str]], prefix: str, folders: list[str]) -> None:
        """Hand on the plain files among some entries of a folder; the folders among them are added to `folders`."""
        files: dict[str, Stat] = {}
        # The loop that costs: one look at each entry, and as few words as can be.
        for entry in entries:
            name = entry.name
            if (name[0] in ".#f" or name[-1] in "~p" or not name.isascii()) and self._passed_over(name, prefix):
                continue
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            except OSError as error:
                self.refused.append((prefix + name, cause_of(error)))
                continue
            if status.st_mode >> 12 == _PLAIN:
                files[prefix + name] = stat_of(status)
            elif stat.S_ISDIR(status.st_mode):
                folders.append(name)
            else:
                self.refused.append((prefix + name, kind_of(status.st_mode)))
        self.take(files)

    def _passed_over(self, name: str, prefix: str) -> bool:
        if _left_out(name):
            return True
        if _is_text(name):
            return False
        self.refused.append(
            (prefix + os.fsencode(name).decode("utf-8", "backslashreplace"), "a name that is not UTF-8")
        )
        return True
