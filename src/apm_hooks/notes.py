"""Notes added to memory files, each where its file wants it (protocol, section 10): lines in, edits of lines out.

A block that is there already is not added again, and no other line is touched; no edits means that all of it is there.
Everything takes time linear in file and text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from operator import itemgetter

from apm_hooks.errors import UsageError
from apm_hooks.frontmatter import frontmatter_end
from apm_hooks.noteblocks import Block, Kind, hidden_places, parse_blocks
from apm_hooks.notepieces import (
    DEEPER,
    OPENS_BLOCK,
    Fresh,
    Page,
    Piece,
    as_it_is,
    as_item,
    body,
    entries,
    fresh_blocks,
    next_marker,
    plain,
)
from apm_hooks.notesections import Sections
from apm_hooks.rawlines import Edit

_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_BOM = "\ufeff"
_DAY_LEVEL = 2

NO_TEXT = "there is no text to write"
NO_TEXT_REMEDY = "Give it as an argument, or on standard input with -."
NOT_TEXT = "line {line} of the text holds the character U+{code:04X}, which is a control character or damaged"
HAS_FRONTMATTER = "the text begins with frontmatter"
NEVER_CLOSED = "the text opens a code fence or a comment and never closes it"


def note_lines(text: str) -> list[str]:
    """A text to be added, as lines without blank ones around them; LF, CRLF and lone CR are alike.

    Raises UsageError for an empty text, one with control characters other than tabs, with frontmatter, or with a code
    fence or comment that would swallow what comes behind it.
    """
    lines = text.removeprefix(_BOM).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        if (odd := _UNWRITABLE.search(line)) is not None:
            raise UsageError(NOT_TEXT.format(line=number, code=ord(odd[0])), remedy="Leave it out.")
    while lines and not lines[-1].strip():
        lines.pop()
    while lines and not lines[0].strip():
        del lines[0]
    if frontmatter_end(lines):
        raise UsageError(HAS_FRONTMATTER, remedy="Leave it out: the file keeps its own.")
    if lines and hidden_places(lines)[-1]:
        raise UsageError(NEVER_CLOSED, remedy="Close it.")
    if not any(block.key for block in parse_blocks(lines)):
        raise UsageError(NO_TEXT, remedy=NO_TEXT_REMEDY)
    return lines


def add_entry(lines: Sequence[str], text: Sequence[str], *, today: str, source: str = "", path: str = "") -> list[Edit]:
    """Add a decision or lesson, newest first: a dated list item, or a dated heading where the file has those.

    A block of the text that bears a date keeps it, all others are of `today`; the same text of another day is another
    entry. `source` becomes a pointer at the end of the entry. Raises MemoryFileError, with `path`, where it would not
    be read.
    """
    page = Page(lines, path=path, whole_tables=True)
    fresh = _unknown(page.blocks, text, today)
    if not fresh:
        return []
    newest = next((block for block in page.blocks if block.dated and not block.indent and not _is_dated_title(block)),
                  None)  # fmt: skip
    if newest is not None and newest.kind is Kind.HEADING:
        return page.checked(_under_headings(page, fresh, today, newest, source))
    at = newest.start if newest is not None else _after_head(page)
    marker = _sign(lines[at]) if newest is not None else "-"
    return page.checked([page.insertion(at, entries(fresh, today=today, marker=marker, source=source))])


def append_day(lines: Sequence[str], text: Sequence[str], *, today: str, path: str = "") -> list[Edit]:
    """Add to the summary of a day, at the end of the section under its dated heading, which is made where it is absent.

    Raises MemoryFileError, with `path`, where it would not be read.
    """
    page = Page(lines, path=path, whole_tables=True)
    fresh = _unknown(page.blocks, text, today)
    dated = {
        block.day: number for number, block in reversed(list(enumerate(page.blocks)))
        if block.kind is Kind.HEADING and block.dated and not _is_dated_title(block)
    }  # fmt: skip
    level = page.blocks[max(dated.values())].level if dated else _DAY_LEVEL
    edits = []
    made: list[Piece] = []
    for day, group in _by_day(fresh, today):
        if day not in dated:
            made += [Piece(Kind.HEADING, (f"{'#' * level} {day}",)), *body(group, level=level)]
            continue
        section = _section(page.blocks, dated[day])
        last = section[-1]
        marker = next_marker(lines[last.start]) if last.kind is Kind.ITEM and not last.indent else ""
        edits.append(page.insertion(last.end, body(group, level=section[0].level, marker=marker)))
    if made:
        edits.append(page.insertion(page.end, made))
    return page.checked(_merged(edits))


def append_note(lines: Sequence[str], text: Sequence[str], *, path: str = "") -> list[Edit]:
    """Add facts at the end of a file; what stands under a heading, or in a table, that the file has too goes there.

    Raises MemoryFileError, with `path`, where it would not be read.
    """
    page = Page(lines, path=path)
    parsed = parse_blocks(text)
    sections = Sections(page.blocks, parsed)
    fresh = fresh_blocks(text, parsed, [sections.has(block) for block in parsed])
    if not fresh:
        return []
    end = page.end
    if plain(fresh):
        above = page.above(end)
        listed = above is not None and above.kind is Kind.ITEM and not above.indent
        if listed or end <= _head_end(page):
            marker = next_marker(lines[above.start]) if above is not None and listed else "-"
            return page.checked([page.insertion(end, [as_item(fresh[0].lines, marker)])])
    groups: dict[int, list[tuple[int, Piece]]] = {}
    for each in fresh:
        at, rank = sections.place(each.block, end)
        deeper = sections.level(each.block) - each.block.level if each.block.kind is Kind.HEADING else 0
        groups.setdefault(at, []).append((rank, as_it_is(each, deeper)))
    return page.checked([
        page.insertion(at, [piece for _, piece in sorted(ranked, key=itemgetter(0))])
        for at, ranked in sorted(groups.items())
    ])  # fmt: skip


def replace_body(lines: Sequence[str], text: Sequence[str]) -> list[Edit]:
    """Put the text in the place of all that stands below frontmatter and title (protocol, section 10: attention.md is
    overwritten, since it states what is). A text that begins with that very title does not repeat it."""
    first = frontmatter_end(lines)
    blocks = parse_blocks(lines, first=first)
    title = blocks[0] if blocks and _is_title(blocks[0], lines) else None
    start = title.end if title is not None else first
    wanted = list(text)
    opening = parse_blocks(wanted)[0]
    if _is_title(opening, wanted):
        if opening.end == len(wanted):
            raise UsageError(NO_TEXT, remedy="Give it below the title.")
        if title is not None and opening.key == title.key:
            wanted = wanted[opening.end :]
    while not wanted[0].strip():
        del wanted[0]
    if _trimmed(lines[start:]) == wanted:
        return []
    return [Edit(start, ("", *wanted) if start else tuple(wanted), drop=len(lines) - start)]


def _trimmed(lines: Sequence[str]) -> list[str]:
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return list(lines[filled[0] : filled[-1] + 1]) if filled else []


def _is_title(block: Block, lines: Sequence[str]) -> bool:
    """True for a heading of the first level, in either of its forms."""
    if block.kind is Kind.HEADING:
        return block.level == 1
    first, *below = (line.strip() for line in lines[block.start : block.end])
    underlined = len(below) == 1 and len(below[0]) > 1 and not below[0].strip("=")
    return block.kind is Kind.TEXT and underlined and not first.startswith(OPENS_BLOCK)


def _is_dated_title(block: Block) -> bool:
    """True for a file's title that begins with a date: it is no entry."""
    return block.kind is Kind.HEADING and block.level == 1 and bool(block.key)


def _unknown(blocks: Sequence[Block], text: Sequence[str], today: str) -> list[Fresh]:
    """The blocks of a text that the file does not have under their day; headings only with something new below."""
    days: dict[str, set[str]] = {}
    for block in blocks:
        days.setdefault(block.key, set()).add(block.day)
    parsed = parse_blocks(text, whole_tables=True)
    there = [not block.key or not days.get(block.key, set()).isdisjoint(("", block.day or today)) for block in parsed]
    # For each level: whether its section, as far as it was seen from below, has blocks, and new ones.
    filled, news = [False] * 8, [False] * 8
    for number in range(len(parsed) - 1, -1, -1):
        level = parsed[number].level or 7
        if level < 7:
            there[number] = there[number] or (filled[level] and not news[level])
            filled[level:] = news[level:] = [False] * (8 - level)
        for outer in range(1, level):
            filled[outer] = True
            news[outer] = news[outer] or not there[number]
    return fresh_blocks(text, parsed, there)


def _section(blocks: Sequence[Block], number: int) -> list[Block]:
    """The dated heading at `number` and the blocks below it, up to the next one of its level or above, or of a date."""
    found = [blocks[number]]
    for at in range(number + 1, len(blocks)):
        if blocks[at].kind is Kind.HEADING and (blocks[at].dated or blocks[at].level <= found[0].level):
            break
        found.append(blocks[at])
    return found


def _by_day(fresh: Sequence[Fresh], today: str) -> list[tuple[str, list[Fresh]]]:
    days: dict[str, list[Fresh]] = {}
    for each in fresh:
        days.setdefault(each.block.day or today, []).append(each)
    return list(days.items())


def _under_headings(page: Page, fresh: Sequence[Fresh], today: str, newest: Block, source: str) -> list[Edit]:
    """Entries under dated headings: at the top of their day where it stands alone in a heading, else under a new one
    above the newest."""
    alone = {
        block.day: number for number, block in reversed(list(enumerate(page.blocks)))
        if block.kind is Kind.HEADING and block.dated and not block.key
    }  # fmt: skip
    edits = []
    made: list[Piece] = []
    for day, group in _by_day(fresh, today):
        if day not in alone:
            made.append(Piece(Kind.HEADING, (f"{'#' * newest.level} {day}",)))
            made += body(group, level=newest.level, source=source)
            continue
        heading, *below = page.blocks[alone[day] : alone[day] + 2]
        at, marker = heading.end, ""
        if below and below[0].kind is not Kind.HEADING:
            at = below[0].start
            marker = _sign(page.lines[at]) if below[0].kind is Kind.ITEM else ""
        edits.append(page.insertion(at, body(group, level=heading.level, marker=marker, source=source)))
    if made:
        edits.append(page.insertion(newest.start, made))
    return _merged(edits)


def _sign(line: str) -> str:
    """The list sign of an item; a dash for what has none, or a number, which a new first item would upset."""
    marker = next_marker(line)
    return "-" if len(marker) > 1 else marker


def _merged(edits: Sequence[Edit]) -> list[Edit]:
    """Edits in order; those at one place become one."""
    found: dict[int, Edit] = {}
    for edit in edits:
        before = found.get(edit.at)
        found[edit.at] = edit if before is None else Edit(edit.at, (*before.lines, *edit.lines))
    return [found[at] for at in sorted(found)]


def _head_end(page: Page) -> int:
    """Behind the title and the paragraph that says what the file is for; without a title, behind the frontmatter."""
    blocks = page.blocks
    if not blocks or not _is_title(blocks[0], page.lines):
        return page.first
    intro = blocks[1] if len(blocks) > 1 and blocks[1].kind is Kind.TEXT and not blocks[1].dated else blocks[0]
    return intro.end


def _after_head(page: Page) -> int:
    """Where the first entry goes: before whatever comes after the head."""
    end = _head_end(page)
    # What is indented would become a part of the entry above it.
    following = (block.start for block in page.blocks if block.start >= end and block.indent < len(DEEPER))
    return next(following, max(page.end, end))
