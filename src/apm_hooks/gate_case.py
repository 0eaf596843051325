"""One tool call before the gate: in which situation it comes, and what its paths really are (protocol, section 8)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from apm_hooks.access import CHANGES, Access, AccessKind, Calling
from apm_hooks.gate_cover import Cover, Covers, Strays, head_of, matches_name
from apm_hooks.gate_shut import Shut, host_folders, own_folders
from apm_hooks.gate_texts import OWN
from apm_hooks.injection import show_invisible
from apm_hooks.ledger import Epoch
from apm_hooks.ownership import Owner, Ownership, classify, in_group, owner_reads, owner_writes
from apm_hooks.places import Places
from apm_hooks.records import DM, Index, Scope, ScopeKind
from apm_hooks.resolve import Name, Place, Resolver, below, fold, normal

READS = frozenset((AccessKind.READ, AccessKind.SEARCH, AccessKind.EXECUTE))
"""Kinds that tell what a file holds, or could."""

_SHOWN_CHARS = 160
_NAMES = 20_000
"""So many names in hosts' folders are looked at for one tool call."""
_ELSEWHERE = frozenset(("history", "log"))
"""Kinds of the owner's files in another workspace that any program of theirs may write there."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What the gate goes by. `scope` is whose memory the call may touch: a subagent's is its parent's, None where none.

    `root` is the session's workspace, `roots` are all trusted ones (absolute, without links). `cwd` and `home` are
    absolute, or empty where not known. `epoch` is what the context holds, `index` the scope's index as parsed (None:
    there is none, or it cannot be read). `open_flush`: a flush directive is open in this turn. `strict` is the setting
    `gate_strict`, `dm_ceiling` the one of that name. `own_session` is the session's key; `bound`: the host's process
    names that very key to the commands that it starts. `hosts` are the hosts' own folders (None: where they are without
    any variable set).
    """

    scope: Scope | None
    root: str
    roots: tuple[str, ...]
    cwd: str
    home: str
    places: Places
    epoch: Epoch = field(default_factory=Epoch)
    index: Index | None = None
    open_flush: bool = False
    strict: bool = False
    dm_ceiling: str = "advise"
    own_session: str | None = None
    bound: bool = False
    hosts: tuple[Shut, ...] | None = None

    @property
    def owner(self) -> bool:
        """Whether the call is the owner's own."""
        return self.scope == DM

    @property
    def group(self) -> Scope | None:
        """The group whose call it is, if it is one's."""
        return self.scope if self.scope is not None and self.scope.kind is ScopeKind.GROUP else None

    @property
    def own(self) -> str:
        """Where the scope's own memory lies, in words; empty without a scope."""
        if self.scope is None:
            return ""
        return OWN.format(index=self.scope.index_path, folder=self.scope.directory)


@dataclass(frozen=True, slots=True)
class Look:
    """One access, and where it begins: the path itself, or the folder before a pattern. `rest` are the pattern's
    parts. Both readings of a path with `..` are in `places`: by its letters, and as the system goes. `narrow`: what is
    put into a folder is told beside it, so that nothing else in it is meant."""

    access: Access
    places: tuple[Place, ...]
    rest: tuple[str, ...] = ()
    narrow: bool = False

    @property
    def wide(self) -> bool:
        """Whether it is about more than the one path: all below a file is the file."""
        if self.rest or self.narrow:
            return not self.narrow
        return self.access.recursive and not all(place.exists and not place.folder for place in self.places)

    @property
    def changes(self) -> bool:
        return self.access.kind in CHANGES

    @property
    def names(self) -> tuple[Name, ...]:
        """Every name in a workspace of where it begins."""
        return tuple(dict.fromkeys(name for place in self.places for name in place.names))


def shown(word: str) -> str:
    """What an agent wrote, as one short line with nothing hidden in it."""
    line = " ".join(show_invisible(word[: 2 * _SHOWN_CHARS]).split())
    return f"`{line if len(line) <= _SHOWN_CHARS else line[:_SHOWN_CHARS] + '…'}`" if line else "this call"


class Case:
    """A tool call with its paths resolved. What is dear is found out when it is asked for, once."""

    def __init__(self, calling: Calling, situation: Situation) -> None:
        self.calling = calling
        self.situation = situation
        self.resolver = Resolver((situation.root, *situation.roots), situation.cwd)
        self.looks = self._narrowed(tuple(self._look(access) for access in calling.accesses))
        self.strays = Strays(self.resolver)
        self._covers = Covers(self.resolver)
        self._covered: dict[Look, Cover] = {}
        self._shut: tuple[tuple[str, Shut], ...] | None = None
        self._names_left = _NAMES

    def _look(self, access: Access) -> Look:
        if not access.path:
            return Look(access, ())
        head, rest = head_of(access)
        places = [self.resolver.resolve(head)]
        if ".." in head.split("/"):
            places.append(self.resolver.resolve(normal(head)))
        return Look(access, tuple(places), rest)

    def _narrowed(self, looks: tuple[Look, ...]) -> tuple[Look, ...]:
        """`mv a folder` is told as a write to the folder, and to `folder/a`: where that is a folder, only the latter
        comes true, unless a source may stand for what is in it (`src/`, `src/.`, a pattern)."""
        sources = [look.access for look in looks if look.access.kind in (AccessKind.READ, AccessKind.MOVE_FROM)]
        if any(source.glob or source.word.strip("'\"").endswith(("/", ".")) for source in sources):
            return looks
        written = {
            (os.path.dirname(look.access.path), look.access.word)
            for look in looks
            if look.access.kind is AccessKind.WRITE
        }
        return tuple(replace(look, narrow=True) if _is_target(look, written) else look for look in looks)

    def shown(self, look: Look) -> str:
        """An access in the agent's own words, for a reason: without any, where it is in the workspace."""
        word = look.access.word.strip() or below(look.access.path, self.situation.root)
        return shown("." if word == "" else word or "")

    def cover(self, look: Look) -> Cover:
        """What a wide access could touch of somebody's files."""
        if look not in self._covered:
            found = [self._covers.of(look.access, place, look.rest) for place in look.places]
            names = tuple(dict.fromkeys(name for each in found for name in each.names))
            self._covered[look] = Cover(names, any(each.more for each in found))
        return self._covered[look]

    def may(self, name: Name, *, change: bool) -> bool:
        """Whether the scope may read or change one path, by the ownership table; what is nobody's, it may.

        Another workspace's memory is none of a group's, and the owner only reads it there.
        """
        root, path = name
        scope = self.situation.scope
        if not path:
            return True
        if root == self.situation.root:
            return owner_writes(scope, path) if change else owner_reads(scope, path)
        row = classify(path).row
        if row is None:
            return True
        if scope != DM or (change and row.kind not in _ELSEWHERE):
            return False
        return owner_writes(DM, path) if change else owner_reads(DM, path)

    def may_touch(self, place: Place, name: Name, *, change: bool, wide: bool = False) -> bool:
        """As `may`; a folder is judged as a file in it would be, since its own name belongs to no group. What is meant
        with all below it (`wide`), and is not there, may be either."""
        root, path = name
        group, within = self.situation.group, (root, f"{path}/-")
        if not path:
            return True
        if place.folder or (group is not None and root == self.situation.root and path == group.directory):
            return self.may(within, change=change)
        return self.may(name, change=change) and (not wide or place.exists or self.may(within, change=change))

    def is_own(self, name: Name) -> bool:
        """Whether a path is the group's own index, its folder, or below that."""
        root, path = name
        group = self.situation.group
        if group is None or root != self.situation.root:
            return False
        return path == group.directory or in_group(group.name, path)

    def forbidden(self, look: Look, *, change: bool) -> Name | None:
        """The first name of where an access begins that the scope may not touch."""
        for place in look.places:
            for name in place.names:
                if not self.may_touch(place, name, change=change, wide=look.wide):
                    return name
        return None

    def shut(self) -> tuple[tuple[str, Shut], ...]:
        """Folders outside the workspaces that are shut, each with every path it is known by. To the owner none is but
        our own configuration."""
        if self._shut is None:
            situation = self.situation
            every = own_folders(situation.places)
            if not situation.owner:
                every += situation.hosts if situation.hosts is not None else host_folders({}, situation.home)
            self._shut = tuple(
                (path, each) for each in every for path in dict.fromkeys((each.folder, self.resolver.real(each.folder)))
            )
        return self._shut

    def holds_name(self, folder: str, only: tuple[str, ...]) -> bool:
        """Whether some file below a folder has a name that is looked for; one that is too large may hold any."""
        if not os.path.isdir(folder):
            return matches_name(os.path.basename(folder), only)
        for _, _, files in os.walk(folder):
            self._names_left -= len(files) + 1
            if self._names_left < 0 or any(matches_name(file, only) for file in files):
                return True
        return False


def _is_target(look: Look, written: set[tuple[str, str]]) -> bool:
    access = look.access
    plain = access.kind is AccessKind.WRITE and access.recursive and not access.glob and not access.only
    folder = bool(look.places) and all(place.folder for place in look.places)
    return plain and folder and bool(access.word) and (access.path.rstrip("/"), access.word) in written


def row_of(name: Name) -> Ownership | None:
    """The ownership table's row for a path."""
    return classify(name[1]).row


def of_hooks(name: Name) -> bool:
    """Whether a file is our hooks' and the operator's alone to change."""
    row = row_of(name)
    return row is not None and (row.owner is Owner.OPERATOR or row.kind in ("flush state", "group state"))


def same_path(path: str, other: str) -> bool:
    """Whether two paths are one file for the most forgiving file system."""
    return fold(path) == fold(other)
