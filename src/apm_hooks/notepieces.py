"""Blocks of a text as they will stand in a file, and the blank lines around them: what `notes.py` puts where it wants.

A piece keeps the bounds of the block that it renders, so that the block is found again and not added twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from apm_hooks.errors import MemoryFileError
from apm_hooks.frontmatter import frontmatter_end
from apm_hooks.noteblocks import SOURCE, Block, Kind, columns, hidden_places, is_delimiter, parse_blocks, split_day
from apm_hooks.rawlines import Edit, apply_edits
from apm_hooks.tables import heading_text, is_rule_line, item_text

DEEPER = "  "
BECOMES_FRONTMATTER = "begins with a rule line, which this text would turn into the head of frontmatter"
FILE_NEVER_CLOSED = "a code fence or comment opens here and never closes, so what is written behind it is not read"

_LEVELS = 6
OPENS_BLOCK = ("```", "~~~", ">", "|", "<!--")
_CLOSES_BLOCK = ("```", "~~~", "|")
_MARKER = re.compile(r"\s*(?:([-*+])|([0-9]{1,8})([.)]))\s")


class Page:
    """A memory file as blocks; `first` is the line behind its frontmatter, `path` names it in errors."""

    def __init__(self, lines: Sequence[str], *, path: str = "", whole_tables: bool = False) -> None:
        self.lines = lines
        self.first = frontmatter_end(lines)
        self._hidden = hidden_places(lines)
        self.blocks = parse_blocks(lines, first=self.first, whole_tables=whole_tables, hidden=self._hidden)
        self._path = path
        self._starts = {block.start: block for block in self.blocks}
        self._ends = {block.end: block for block in self.blocks}

    @property
    def end(self) -> int:
        """Behind the last line that is not blank."""
        end = len(self.lines)
        while end and not self.lines[end - 1].strip():
            end -= 1
        return end

    def above(self, at: int) -> Block | None:
        """The block whose last line stands right before line `at`."""
        return self._ends.get(at)

    def checked(self, edits: list[Edit]) -> list[Edit]:
        """The edits, unless they would make frontmatter of what is none: raises MemoryFileError."""
        if not self.first and edits and frontmatter_end(apply_edits(self.lines, edits)):
            raise MemoryFileError(BECOMES_FRONTMATTER, file=self._path, line=1, remedy="Put a blank line above it.")
        return edits

    def insertion(self, at: int, pieces: Sequence[Piece]) -> Edit:
        """The pieces put before line `at`, with a blank line wherever two of them, or a neighbour, may not touch.

        Raises MemoryFileError where they would stand in a code fence or comment that never closes.
        """
        if self._hidden[at]:
            opens = max(number for number in range(at) if not self._hidden[number])
            raise MemoryFileError(FILE_NEVER_CLOSED, file=self._path, line=opens + 1, remedy="Close it.")
        above, below = self._ends.get(at), self._starts.get(at)
        kind = above.kind if above is not None else None
        touching = at > 0 and bool(self.lines[at - 1].strip())
        made: list[str] = []
        for piece in pieces:
            tight = kind is piece.kind and piece.kind in (Kind.ITEM, Kind.ROW) and not piece.opens
            if touching and not tight:
                made.append("")
            made += piece.lines
            kind, touching = piece.kind, True
        listed = kind is Kind.ITEM and below is not None and below.kind is Kind.ITEM and not below.indent
        if at < len(self.lines) and self.lines[at].strip() and not listed:
            made.append("")
        return Edit(at, tuple(made))


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines that stand together. `opens`: may not touch an item or row above, whose part it would become."""

    kind: Kind
    lines: tuple[str, ...]
    opens: bool = False


@dataclass(frozen=True, slots=True)
class Fresh:
    """A block of the added text that is not in the file yet. `follows`: the block before it is new as well, so that it
    may stay that one's part."""

    block: Block
    lines: tuple[str, ...]
    follows: bool

    @property
    def nested(self) -> bool:
        """True for a part of the list item above it."""
        return self.follows and self.block.indent >= len(DEEPER)


def fresh_blocks(lines: Sequence[str], blocks: Sequence[Block], there: Sequence[bool]) -> list[Fresh]:
    """The blocks that are not there, each with its lines; what has lost its parent moves to the left."""
    found = []
    for number, block in enumerate(blocks):
        if there[number]:
            continue
        follows = number > 0 and not there[number - 1]
        own = tuple(lines[block.start : block.end])
        fresh = Fresh(block, own, follows)
        found.append(fresh if fresh.nested else replace(fresh, lines=_dedented(own, block.indent)))
    return found


def _dedented(lines: Sequence[str], width: int) -> tuple[str, ...]:
    return tuple(line.expandtabs(4)[width:] if width and columns(line) >= width else line for line in lines)


def plain(fresh: Sequence[Fresh]) -> bool:
    """True for a text of one paragraph, which may become an item of a list."""
    if len(fresh) != 1 or fresh[0].block.kind is not Kind.TEXT:
        return False
    first = fresh[0].lines[0].strip()
    rule = any(is_rule_line(f"{sign} {first}") for sign in "-*")
    return not rule and not first.startswith(OPENS_BLOCK) and not fresh[0].block.path


def as_item(lines: Sequence[str], marker: str) -> Piece:
    """A paragraph as an item."""
    first, *rest = (line.strip() for line in lines)
    return Piece(Kind.ITEM, (f"{marker} {first}", *(f"{' ' * (len(marker) + 1)}{line}" for line in rest)))


def next_marker(line: str) -> str:
    """The list marker that follows an item's line: the same sign, or the next number."""
    found = _MARKER.match(line)
    if found is None or found[1]:
        return found[1] if found else "-"
    return f"{int(found[2]) + 1}{found[3]}"


def as_it_is(fresh: Fresh, deeper: int = 0) -> Piece:
    """A block unchanged, but for a heading so many levels deeper."""
    block = fresh.block
    lines = fresh.lines
    if block.kind is Kind.HEADING and deeper:
        lines = (f"{'#' * min(block.level + deeper, _LEVELS)} {heading_text(lines[0])}",)
    opens = block.is_table or fresh.nested or (block.kind is Kind.ROW and not block.in_table and is_delimiter(lines[0]))
    return Piece(block.kind, lines, opens)


def body(fresh: Sequence[Fresh], *, level: int, marker: str = "", source: str = "") -> list[Piece]:
    """The blocks as they stand under a dated heading of that level; with a `marker`, a single paragraph is an item."""
    if marker and plain(fresh):
        pieces = [as_item(fresh[0].lines, marker)]
    else:
        top = min((each.block.level for each in fresh if each.block.kind is Kind.HEADING), default=0)
        pieces = [as_it_is(each, max(level + 1 - top, 0)) for each in fresh]
    return with_source(pieces, source)


def entries(fresh: Sequence[Fresh], *, today: str, marker: str, source: str = "") -> list[Piece]:
    """The blocks as dated items: each item of the text is one, and a paragraph is one with all that follows it."""
    done: list[list[Piece]] = []
    by_text, day = False, ""
    for each in fresh:
        block = each.block
        goes_on = bool(done) and day == (block.day or today) and not (block.dated and not each.nested)
        if goes_on and by_text:
            opens = each.nested or len(done[-1]) == 1 or done[-1][-1].kind is not Kind.ITEM
            done[-1].append(_below(block, each.lines, opens=opens))
        elif goes_on and each.nested:
            done[-1].append(Piece(Kind.TEXT, each.lines))
        else:
            by_text, day = block.kind is not Kind.ITEM, block.day or today
            done.append(_entry(block, each.lines, day, marker))
    return [piece for entry in done for piece in with_source(entry, source)]


def _entry(block: Block, lines: Sequence[str], day: str, marker: str) -> list[Piece]:
    first = lines[0].strip()
    inner = item_text(first) if block.kind is Kind.ITEM else None
    content = split_day(first if inner is None else inner)[1]
    if block.kind is Kind.HEADING:
        title = split_day(heading_text(first) or "")[1]
        content = f"**{title}**" if title else ""
    if content.startswith(OPENS_BLOCK):
        return [Piece(Kind.ITEM, (f"{marker} {day}:",)), _below(block, (content, *lines[1:]), opens=True)]
    rest = lines[1:] if block.kind is Kind.ITEM else [f"{DEEPER}{line}" if line.strip() else line for line in lines[1:]]
    return [Piece(Kind.ITEM, (f"{marker} {day}: {content}".rstrip(), *rest))]


def _below(block: Block, lines: Sequence[str], *, opens: bool) -> Piece:
    """A block as a part of the item above it; a heading in it would take in all that comes after the item."""
    if block.kind is Kind.HEADING:
        return Piece(Kind.TEXT, (f"{DEEPER}**{heading_text(lines[0])}**",))
    kind = Kind.ITEM if block.kind is Kind.ITEM else Kind.TEXT
    return Piece(kind, tuple(f"{DEEPER}{line}" if line.strip() else line for line in lines), opens)


def with_source(pieces: list[Piece], source: str) -> list[Piece]:
    """The pieces with the pointer to their source at the end of the last one."""
    if not source or not pieces:
        return pieces
    last = pieces[-1]
    pointer = f"{SOURCE}{source})"
    end = last.lines[-1].strip()
    if last.kind in (Kind.TEXT, Kind.ITEM) and not end.startswith(_CLOSES_BLOCK) and not end.endswith("-->"):
        return [*pieces[:-1], replace(last, lines=(*last.lines[:-1], last.lines[-1].rstrip() + pointer))]
    indent = last.lines[-1][: columns(last.lines[-1])] if last.lines[-1][:1] == " " else ""
    return [*pieces, Piece(Kind.TEXT, (indent + pointer.lstrip(),))]
