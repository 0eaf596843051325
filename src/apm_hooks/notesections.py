"""Where in a file the blocks of a text belong, by the headings and tables that they stand under.

A text may name the lower part of a file's path only: `## Deploy` is found under whatever title. Linear in file and
text, since only those paths of the file are kept that the text names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apm_hooks.errors import UsageError
from apm_hooks.noteblocks import Block, Kind

_LEVELS = 6
_FIRST = -100
_Path = tuple[str, ...]

TOO_DEEP = "the headings of the text would be deeper than six levels where they belong"


class Sections:
    """The sections and tables of a file that a text names, and the blocks in them."""

    def __init__(self, blocks: Sequence[Block], text: Sequence[Block]) -> None:
        self._wanted = {block.path for block in text} | {block.inner for block in text if _holds(block)}
        self._days: dict[tuple[_Path, str], set[str]] = {}
        self._meant: dict[_Path, _Path] = {}
        self._direct: dict[_Path, int] = {}
        self._whole: dict[_Path, int] = {}
        self._levels: dict[_Path, int] = {}
        self._shifts: dict[_Path, int] = {}
        self._moved: dict[_Path, int] = {}
        self._roots: dict[_Path, int] = {}
        done: set[_Path] = set()
        current: list[_Path] = []
        for block in blocks:
            if block.kind is Kind.HEADING:
                done.update(current[len(block.path) :])
                current = current[: len(block.path)]
            for path in (*self._named(block.path), ()):
                self._days.setdefault((path, block.key), set()).add(block.day)
            for depth in range(1, len(block.path) + 1):
                # A second section of the same name does not stretch the first one.
                if block.path[:depth] not in done:
                    self._grow(block, block.path[:depth])
            if _holds(block) and block.inner not in done:
                for path in self._named(block.inner):
                    # Of several that end in the same names, the first one is meant.
                    if self._meant.setdefault(path, block.inner) == block.inner:
                        self._direct[path] = self._whole[path] = block.end
                        self._levels[path] = block.level
            if block.kind is Kind.HEADING:
                current.append(block.inner)

    def _named(self, path: _Path) -> Iterator[_Path]:
        """The lower parts of a path that the text names."""
        return (path[start:] for start in range(len(path)) if path[start:] in self._wanted)

    def _grow(self, block: Block, path: _Path) -> None:
        within = len(block.path) - len(path)
        for part in self._named(path):
            if self._meant.get(part) != path:
                continue
            self._whole[part] = block.end
            if block.kind is not Kind.HEADING and within <= block.in_table:
                self._direct[part] = block.end

    def has(self, block: Block) -> bool:
        """Whether the file has a block of the text, under the same headings."""
        if _holds(block):
            return block.inner in self._direct
        days = self._days.get((block.path, block.key))
        return not block.key or (days is not None and (not block.dated or bool(days & {"", block.day})))

    def place(self, block: Block, end: int) -> tuple[int, int]:
        """Where a new block goes: before which line, and its rank among those that go there, the lowest first.

        It goes to the end of its section, and one with a heading behind all that stands in it; to line `end` what
        stands under no heading of the file. The rank keeps what goes under a new heading together, behind what does
        not, and a deeper heading before one that would end its section.
        """
        ends = self._whole if block.kind is Kind.HEADING else self._direct
        at = self._moved.get(block.path, ends.get(block.path, end))
        rank = self._roots.get(block.path, -len(block.path) if block.kind is Kind.HEADING else _FIRST)
        if _holds(block):
            self._moved[block.inner] = at
            self._roots[block.inner] = rank
        return at, rank

    def level(self, block: Block) -> int:
        """The level of a new heading: one below the file's heading that it stands under.

        Raises UsageError where there is no such level.
        """
        if block.path in self._shifts:
            shift = self._shifts[block.path]
        else:
            shift = self._levels[block.path] + 1 - block.level if block.path in self._levels else 0
        self._shifts[block.inner] = shift
        if block.level + shift > _LEVELS:
            raise UsageError(TOO_DEEP, remedy="Write them as bold lines.")
        return block.level + shift


def _holds(block: Block) -> bool:
    """True for what others stand under."""
    return block.kind is Kind.HEADING or block.is_table
