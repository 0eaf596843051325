"""What a pattern, or an access to a folder and all below it, could touch of what belongs to somebody (protocol, 8).

Decided by the files that are there now, within bounds: beyond them the answer is that more could be touched.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TypeVar

from apm_hooks.access import Access
from apm_hooks.holdings import TOPS, Top
from apm_hooks.ownership import classify
from apm_hooks.resolve import Name, Place, Resolver, below, fold

_WILD = re.compile(r"[*?\[]")
_LITERAL = re.compile(r"\[([*?\[])\]")
# What some shell or tool takes for more than fnmatch does: such a part may match anything.
_STRANGE = re.compile(r"[(){}|\\]|\[\[[:.=]")
_SIGNS = re.compile(r"\[[!^]?(?:\][^\]/]*|[^\]/]+)\]|.", re.DOTALL)
_ANY = re.compile(".", re.DOTALL)
_T = TypeVar("_T")
_STRAYS = 20_000
_STRAY_LINKS = 2_000
_COMPARED = 300_000
"""So many files are compared with the accesses of one tool call."""


@dataclass(frozen=True, slots=True)
class Cover:
    """Names of files, each in its workspace. `more`: there may be others."""

    names: tuple[Name, ...] = ()
    more: bool = False


def head_of(access: Access) -> tuple[str, tuple[str, ...]]:
    """Where an access begins, as an absolute path, and the parts of its pattern behind that: none where it has none."""
    if not access.glob:
        return access.path, ()
    parts = access.path.split("/")
    at = next((at for at, part in enumerate(parts) if _is_pattern(part)), len(parts))
    return "/".join(_LITERAL.sub(r"\1", part) for part in parts[:at]) or "/", tuple(filter(None, parts[at:]))


def _is_pattern(part: str) -> bool:
    return bool(_WILD.search(_LITERAL.sub("", part)) or _STRANGE.search(part))


class Covers:
    """What the wide accesses of one tool call could touch, by the ownership table and the files that are there."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._left = _COMPARED

    def of(self, access: Access, head: Place, rest: tuple[str, ...]) -> Cover:
        """The files of somebody's that a pattern or a recursive access could touch."""
        found: dict[Name, None] = {}
        more = False
        for root in self.resolver.roots:
            starts = [own for name, own in head.names if name == root]
            for top in self._tops(root, head, starts):
                near = below(top.base, head.real) is not None or below(head.real, top.base) is not None
                if not near and not any(start == "" or fold(start.split("/")[0]) == fold(top.name) for start in starts):
                    continue
                files = self.resolver.holdings.files(top)
                self._left -= len(files.found)
                if self._left < 0:
                    return Cover(tuple(found), more=True)
                for own, real in files.found:
                    tails = [tail for start in starts if (tail := below(own, start) if start else own) is not None]
                    if near and (tail := below(real, head.real)) is not None:
                        tails.append(tail)
                    if any(_matches(tail, rest, access.recursive, access.only) for tail in tails):
                        found[root, own] = None
                inside = below(head.real, top.base) is not None and (access.recursive or bool(rest))
                if not files.complete and (inside or not near or head_enters(top.base, head, rest, access.recursive)):
                    more = True
        return Cover(tuple(found), more)

    def _tops(self, root: str, head: Place, starts: Sequence[str]) -> Iterator[Top]:
        """What of a workspace could be touched: all of one that the access begins in or above, and of any other what
        lies elsewhere by a link."""
        if starts or below(root, head.real) is not None:
            yield from self.resolver.holdings.tops(root)
            return
        for name in TOPS:
            if os.path.islink(f"{root}/{name}"):
                yield Top(root, name, os.path.realpath(f"{root}/{name}"))


def head_enters(folder: str, head: Place, rest: tuple[str, ...], recursive: bool) -> bool:
    """Whether an access that begins above a folder could go on into it."""
    tail = below(folder, head.real)
    if tail is None:
        return False
    way = fold(tail).split("/") if tail else []
    deep = recursive or "**" in rest
    if not deep and len(rest) <= len(way):
        return False
    pairs = zip(rest[: rest.index("**")] if "**" in rest else rest, way, strict=False)
    return all(_runs(_tokens(part), name, _is_one) for part, name in pairs)


def _matches(tail: str, rest: tuple[str, ...], recursive: bool, only: tuple[str, ...]) -> bool:
    if rest:
        parts = [None if part == "**" else part for part in (*rest, *(("**",) if recursive else ()))]
        if not _runs(parts, fold(tail).split("/"), lambda part, name: _runs(_tokens(part), name, _is_one)):
            return False
    elif not recursive and tail:
        return False
    return not only or matches_name(tail.rpartition("/")[2], only)


def matches_name(name: str, only: Sequence[str]) -> bool:
    """Whether a file's name matches one of the patterns, whatever the letter case."""
    return any(_runs(_tokens(pattern), fold(name), _is_one) for pattern in only)


def _runs(pattern: Sequence[_T | None], items: Sequence[str], holds: Callable[[_T, str], bool]) -> bool:
    """Whether a pattern takes all items; None in it stands for any number of them. Never slower than their product."""
    at = seen = 0
    star, resume = -1, 0
    while seen < len(items):
        one = pattern[at] if at < len(pattern) else None
        if at < len(pattern) and one is None:
            star, resume = at, seen
            at += 1
        elif one is not None and holds(one, items[seen]):
            at, seen = at + 1, seen + 1
        elif star >= 0:
            resume += 1
            at, seen = star + 1, resume
        else:
            return False
    return all(one is None for one in pattern[at:])


def _is_one(token: re.Pattern[str], char: str) -> bool:
    return token.fullmatch(char) is not None


@lru_cache(maxsize=512)
def _tokens(part: str) -> tuple[re.Pattern[str] | None, ...]:
    """A pattern for one part of a path, folded as names are, sign by sign; one that is not understood matches any."""
    if _STRANGE.search(part):
        return (None,)
    found: list[re.Pattern[str] | None] = []
    for sign in _SIGNS.findall(unicodedata.normalize("NFC", part.casefold())):
        if sign == "*":
            if found[-1:] != [None]:
                found.append(None)
        elif sign == "?":
            found.append(_ANY)
        elif len(sign) > 1:
            found.append(_class(sign))
        else:
            found.append(re.compile(re.escape(sign)))
    return tuple(found)


def _class(sign: str) -> re.Pattern[str]:
    inner = sign[1:-1]
    negated = inner[0] in "!^"
    inner = inner[1:] if negated else inner
    escaped = re.sub(r"[\\\[\]&~|^]", r"\\\g<0>", inner)
    try:
        return re.compile(f"[{'^' if negated else ''}{escaped}]", re.DOTALL)
    except re.error:
        # A range that runs backwards.
        return _ANY


class Strays:
    """Things below folders of nobody's that lead to somebody's file all the same: links, second names, flush states.

    Programs that search follow no links unless told to. So what is more than can be looked at in one tool call, over
    all its folders, is let pass.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._entries, self._links = _STRAYS, _STRAY_LINKS
        self._seen: set[tuple[str, ...]] = set()

    def below(self, head: Place, only: Sequence[str]) -> Iterator[Place]:
        """Those below one folder; `only` are names that are looked for. A folder is gone through once."""
        todo = [head.real]
        while todo and self._entries > 0:
            folder = todo.pop()
            if (folder, *only) in self._seen:
                continue
            self._seen.add((folder, *only))
            try:
                with os.scandir(folder) as listing:
                    entries = sorted(islice(listing, self._entries), key=lambda entry: entry.name)
            except (OSError, ValueError):
                continue
            self._entries -= len(entries)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    if not self._belongs(entry.path):
                        todo.append(entry.path)
                elif self._leads(entry, only):
                    yield self.resolver.resolve(entry.path)

    def _leads(self, entry: os.DirEntry[str], only: Sequence[str]) -> bool:
        if entry.is_symlink():
            self._links -= 1
            return self._links >= 0
        if only and not matches_name(entry.name, only):
            return False
        second = any(inode == entry.inode() for _, inode in self.resolver.linked_inodes)
        return second or fold(entry.name).lstrip(".").startswith("flush-state.json")

    def _belongs(self, path: str) -> bool:
        """Whether a folder is one of those that holdings tell of."""
        rests = (below(path, root) for root in self.resolver.roots)
        return any(rest and classify(rest.split("/")[0]).row is not None for rest in rests)
