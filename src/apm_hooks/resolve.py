"""A path as the system would take it: which file it really names, and in which workspace (protocol, section 8).

Names, links and listings are looked at, files are never opened, so that no FIFO and no device can hold us up; a file
server that does not answer can. Nothing of it is free of races: a link that is changed between this look and the
tool's own is not seen.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from apm_hooks.errors import MemoryFileError
from apm_hooks.files import read_bytes
from apm_hooks.holdings import Holdings, folders
from apm_hooks.names import without_invisible

Name = tuple[str, str]
"""A trusted workspace, and a path relative to it; empty: the workspace itself."""

_GIT_FILE_BYTES = 8192
_WORK_TREE = re.compile(r"(.+)/\.git/worktrees/[^/]+", re.DOTALL)
_LINKS = 40
"""So many links are followed, as the kernel does."""
_PARTS = 2_000
_LANDMARKS = ("", "memory", "memory/main", "memory/groups", "log", ".apm", ".git")
_SELF = ("self", "thread-self")
_FREE_DESCRIPTORS = ("0", "1", "2")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads. `real` is absolute and without links; of what does not exist, its deepest folder that does
    decides. `root` is the trusted workspace that it lies in, or empty, and `path` relative to that (empty: the
    workspace itself).

    `aliases` are further names of the same thing: as it was spelled, each link on the way, hard links into a memory,
    the same below an enclosing workspace, and without blanks or dots that some file systems drop. `passed` are the
    absolute paths that it was spelled as on the way. `trouble` says in one word why it cannot be told what it is;
    empty: it can.
    """

    real: str
    root: str = ""
    path: str = ""
    folder: bool = False
    aliases: tuple[Name, ...] = ()
    passed: tuple[str, ...] = ()
    exists: bool = False
    trouble: str = ""

    @property
    def names(self) -> tuple[Name, ...]:
        """Every name that it has in a trusted workspace; the real one first."""
        return ((self.root, self.path), *self.aliases) if self.root else self.aliases


@dataclass(slots=True)
class _Way:
    real: str = "/"
    passed: dict[str, None] = field(default_factory=dict)
    trouble: str = ""


def resolve(path: str, *, cwd: str, roots: Sequence[str]) -> Place:
    """Where `path` leads for a tool that works in `cwd` (absolute, or empty: not known); `roots` are the trusted
    workspaces, absolute and without links. A `file:` URI is decoded. Never raises."""
    return Resolver(roots, cwd).resolve(path)


def fold(path: str) -> str:
    """A path as the most forgiving file system compares it."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", without_invisible(path)).casefold())


def below(path: str, folder: str) -> str | None:
    """What of `path` stands behind `folder`, empty for the folder itself; None where it is not below it."""
    if path == folder:
        return ""
    lead = folder if folder.endswith("/") else f"{folder}/"
    return path[len(lead) :] if path.startswith(lead) else None


def normal(path: str) -> str:
    """An absolute path without `.`, `..` and empty parts, by its letters alone."""
    done: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del done[-1:]
        elif part not in ("", "."):
            done.append(part)
    return "/" + "/".join(done)


class Resolver:
    """Resolves paths of one tool call: what it learns of the workspaces on the way it keeps, so it must not live on."""

    def __init__(self, roots: Sequence[str], cwd: str) -> None:
        self.roots = tuple(dict.fromkeys(normal(root) for root in roots if root.startswith("/")))
        self.cwd = cwd
        self.holdings = Holdings()
        self._places: dict[str, Place] = {}
        self._repositories: dict[str, str] = {}

    def resolve(self, path: str) -> Place:
        """Where a path leads: see `resolve`."""
        if path not in self._places:
            self._places[path] = self._resolve(path)
        return self._places[path]

    def real(self, path: str) -> str:
        """An absolute path without links."""
        return _follow(path, self.cwd).real

    def _resolve(self, path: str) -> Place:
        spelled = _from_uri(path)
        if spelled is None:
            return Place(path, trouble="machine")
        if not spelled.startswith("/"):
            if not self.cwd.startswith("/"):
                return Place(path, trouble="directory")
            spelled = f"{self.cwd}/{spelled}"
        way = _follow(spelled, self.cwd)
        names = dict.fromkeys(self._names_of(way.real))
        root, own = next(iter(names), ("", ""))
        for passed in way.passed:
            names.update(dict.fromkeys(self._names_by_letters(passed)))
        status = None if way.trouble else _status(way.real)
        if status is not None and stat.S_ISREG(status.st_mode) and status.st_nlink > 1:
            more, complete = self._linked(status)
            names.update(dict.fromkeys(more))
            if not complete and not way.trouble:
                way.trouble = "linked"
        names.update(dict.fromkeys([(root, bare) for root, own in names if (bare := _without_ends(own)) != own]))
        names.pop((root, own), None)
        return Place(
            real=way.real, root=root, path=own, folder=status is not None and stat.S_ISDIR(status.st_mode),
            aliases=tuple(names), passed=tuple(way.passed), exists=status is not None, trouble=way.trouble,
        )  # fmt: skip

    def _names_of(self, real: str) -> Iterator[Name]:
        """The names of a path without links: by its letters the innermost first, then by what the folders on the way
        really are, as another mount or a folding file system shows them."""
        yield from self._names_by_letters(real)
        parts = real.strip("/").split("/")
        for depth in range(len(parts), 0, -1):
            status = _status("/" + "/".join(parts[:depth]))
            if status is not None and stat.S_ISDIR(status.st_mode):
                for root, own in self._landmarks.get((status.st_dev, status.st_ino), ()):
                    yield root, "/".join(part for part in (own, *parts[depth:]) if part)
                repository = self._repository_of("/" + "/".join(parts[:depth]))
                if repository:
                    yield from self._names_by_letters("/".join((repository, *parts[depth:])))

    def _repository_of(self, folder: str) -> str:
        """The repository's own work tree where a folder is a further one of it: it holds the same files."""
        if folder not in self._repositories:
            kind, target = _look(f"{folder}/.git")
            found = None
            if kind == "link":
                real = _follow(target if target.startswith("/") else f"{folder}/{target}", self.cwd).real
                found = _WORK_TREE.fullmatch(real)
            self._repositories[folder] = found[1] if found else ""
        return self._repositories[folder]

    def _names_by_letters(self, path: str) -> Iterator[Name]:
        for root in sorted(self.roots, key=len, reverse=True):
            rest = below(path, root)
            rest = self._below_folded(path, root) if rest is None else rest
            if rest is not None:
                yield root, rest

    def _below_folded(self, path: str, root: str) -> str | None:
        """As `below`, where letters differ as a folding file system would let them. Another folder of that very name
        is no such case; where there is none, the stricter reading counts."""
        count = root.count("/") + 1
        parts = path.split("/")
        lead = "/".join(parts[:count])
        if lead == root or fold(lead) != fold(root):
            return None
        status, known = _status(lead), _status(root)
        if status is not None and known is not None and (status.st_dev, status.st_ino) != (known.st_dev, known.st_ino):
            return None
        return "/".join(parts[count:])

    @cached_property
    def _landmarks(self) -> Mapping[tuple[int, int], tuple[Name, ...]]:
        found: dict[tuple[int, int], tuple[Name, ...]] = {}
        for root in self.roots:
            for own in (*_LANDMARKS, *folders(root, "memory/groups")):
                try:
                    status = os.stat(f"{root}/{own}")
                except (OSError, ValueError):
                    continue
                key = status.st_dev, status.st_ino
                found[key] = (*found.get(key, ()), (root, own))
        return found

    @cached_property
    def linked_inodes(self) -> Mapping[tuple[int, int], tuple[Name, ...]]:
        """Files of the memories that have more than one name, by device and inode."""
        found: dict[tuple[int, int], tuple[Name, ...]] = {}
        for root in self.roots:
            for top in self.holdings.tops(root):
                for own, real in self.holdings.files(top).found:
                    status = _status(real)
                    if status is not None and status.st_nlink > 1 and stat.S_ISREG(status.st_mode):
                        key = status.st_dev, status.st_ino
                        found[key] = (*found.get(key, ()), (root, own))
        return found

    def _linked(self, status: os.stat_result) -> tuple[tuple[Name, ...], bool]:
        """The names in a memory of a file that has several; False where not all of a memory was looked at."""
        found = self.linked_inodes.get((status.st_dev, status.st_ino), ())
        tops = [top for root in self.roots for top in self.holdings.tops(root)]
        near = (top for top in tops if (base := _status(top.base)) and base.st_dev == status.st_dev)
        return found, bool(found) or all(self.holdings.files(top).complete for top in near)


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):
        return None


def _from_uri(path: str) -> str | None:
    """A path, of a `file:` URI too; None for a file of another machine."""
    if path[:5].lower() != "file:":
        return path
    rest = path[5:]
    if rest.startswith("//"):
        machine, _, rest = rest[2:].partition("/")
        if machine.lower() not in ("", "localhost"):
            return None
        rest = f"/{rest}"
    from urllib.parse import unquote

    return unquote(rest, errors="surrogateescape")


def _parts(path: str) -> list[str]:
    """The parts of a path, last one first."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _follow(spelled: str, cwd: str) -> _Way:
    """Every link of a path followed, one part after the other; `..` leads up from where the way has come to."""
    way = _Way(passed={normal(spelled): None})
    todo, done, links = _parts(spelled), list[str](), 0
    if len(todo) > _PARTS:
        way.real, way.trouble = normal(spelled), "long"
        return way
    while todo and not way.trouble:
        part = todo.pop()
        if part == "..":
            del done[-1:]
            continue
        here = "/" + "/".join((*done, part))
        kind, target = _special(done, part, cwd)
        if kind == "":
            kind, target = _look(here)
        if kind == "link":
            links += 1
            if links > _LINKS or len(todo) > _PARTS:
                way.trouble = "loop"
            way.passed[normal("/".join((here, *reversed(todo))))] = None
            if target.startswith("/"):
                done.clear()
            todo += _parts(target)
            continue
        done.append(part)
        if kind not in ("", "plain"):
            way.trouble = kind
    way.real = normal("/" + "/".join((*done, *reversed(todo))))
    return way


def _look(path: str) -> tuple[str, str]:
    """`link` and its target, `plain`, or why it cannot be told."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return "link", os.readlink(path)
        if stat.S_ISREG(mode) and path[-5:].lower() == "/.git":
            return _git_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return "plain", ""
    except PermissionError:
        return "closed", ""
    except ValueError:
        return "text", ""
    except OSError as error:
        from errno import ENAMETOOLONG

        # No system has a file of such a name.
        return ("plain" if error.errno == ENAMETOOLONG else "unreadable"), ""
    return "plain", ""


def _git_file(path: str) -> tuple[str, str]:
    """A file `.git` says where the repository lies: to git it is a link."""
    try:
        found = read_bytes(path[:-5] or "/", path[-4:], limit=_GIT_FILE_BYTES)
    except MemoryFileError:
        found = None
    lead, _, target = os.fsdecode(found[0]).partition(":") if found is not None else ("", "", "")
    target = target.rstrip("\r\n").lstrip(" ")
    return ("link", target) if lead == "gitdir" and target and "\0" not in target else ("plain", "")


def _special(done: Sequence[str], part: str, cwd: str) -> tuple[str, str]:
    """What stands for another thing in the process that asks, and so for another one in the tool's process than in
    ours: `link` and its target, `plain`, or why it cannot be told. Empty for all other parts."""
    where = list(done)
    if where == [] and part == ".vol":
        return "inode", ""
    if where == ["dev", "fd"]:
        return _descriptor(part)
    if where[:1] != ["proc"] or len(where) > 5:
        return "", ""
    if where[2:3] == ["task"] and len(where) > 3:
        where = [*where[:2], *where[4:]]
    if where == ["proc"]:
        return ("plain", "") if part in _SELF else ("", "")
    if where[1] not in _SELF:
        return "", ""
    if len(where) == 2 and part in ("cwd", "root"):
        target = cwd if part == "cwd" else "/"
        return ("link", target) if target else ("directory", "")
    if where[2:] == ["fd"]:
        return _descriptor(part)
    if where[2:] == ["map_files"] or (len(where) == 2 and part == "exe"):
        return "descriptor", ""
    return "plain", ""


def _descriptor(part: str) -> tuple[str, str]:
    """A file that is open in the tool's process; the first three are its own input and output."""
    return ("plain" if part in _FREE_DESCRIPTORS else "descriptor"), ""


def _without_ends(path: str) -> str:
    """A path without the blanks and dots behind each part, which some file systems drop."""
    return "/".join(part.rstrip(" .") or part for part in path.split("/"))
