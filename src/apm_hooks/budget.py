"""Making a text fit its bounds: whole where it fits, else head and tail around a marker (protocol, section 7).

Corrections stand at the end of a file, so the tail has the larger share; where dated entries show newest first, the
head has it. No measure is taken to be additive: whatever is returned has been measured as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Literal

from apm_hooks.fences import Fence, fence_around, find_fences, frame_end
from apm_hooks.graphemes import boundary_after, boundary_before
from apm_hooks.records import Bound, Cut
from apm_hooks.tables import heading_text

_MINOR_SHARE = 0.4
_FIRST_PART_SHARE = 0.5
_FIRST_PART_CHARS = 8_192
# What a cut may cost the side that it falls on, as a part of that side: at most a quarter for a heading or a blank
# line, at most a half for a line end.
_BLOCK_LOSS = 0.25
_LINE_LOSS = 0.5

_DATED = re.compile(
    r"^(?:[ ]{0,3}#{1,6}[ \t]*|[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)[^\n0-9]{0,20}?"
    r"([0-9]{4})(?:-([0-9]{1,2})-([0-9]{1,2})|/([0-9]{1,2})/([0-9]{1,2})"
    r"|[ ]?年[ ]?([0-9]{1,2})[ ]?月[ ]?([0-9]{1,2})[ ]?日)(?![0-9])",
    re.MULTILINE,
)


def marker(lines: int, tokens: int, path: str) -> str:
    """The line that stands for what was left out; `path` is the whole file's, relative to the workspace."""
    what = f"{lines:,} line{'s' * (lines != 1)} ({tokens:,} token{'s' * (tokens != 1)}) left out"
    where = "".join(char if char.isprintable() else "?" for char in path)
    return f"[… {what}; whole file: {where} …]" if where else f"[… {what} …]"


def utf16_units(text: str) -> int:
    """Length in UTF-16 code units; a lone surrogate is one."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8_bytes(text: str) -> int:
    """Length in UTF-8 bytes; a lone surrogate counts as the three bytes that stand for it."""
    return len(text.encode("utf-8", "surrogatepass"))


def allowance(left: int, share: float, more_to_come: bool) -> int:
    """How much of the `left` over room one file may take: all of it, or only `share` where more may follow."""
    left = max(left, 0)
    return int(left * share) if more_to_come else left


def _as_is(text: str) -> str:
    return text


def cut_to_fit(
    text: str,
    bounds: Sequence[Bound],
    *,
    path: str,
    count: Callable[[str], int],
    wrap: Callable[[str], str] = _as_is,
    prefer: Literal["both", "head", "tail"] = "both",
) -> Cut | None:
    """The text within all bounds, whole or with its middle left out; None where not even the marker fits.

    `wrap` gives the final text around a content: what it returns is what the bounds measure. `path` stands in the
    marker, `count` counts the tokens left out. `prefer` gives the larger share to the head or the tail; `both`
    lets the text decide: the tail, unless dated headings or list items run from new to old.

    A cut falls on a heading, else a blank line, else a line end, else between two graphemes, and closes a code
    fence that it falls into. The first part (frontmatter, heading, first paragraph) stays where it needs no more
    than half of the room; the last line (or, newest first, the first dated line) stays where it fits at all.
    Work: linear in the text, with a logarithmic number of measurements of texts about as long as the result.
    """
    cutter = _Cutter(text, bounds, wrap, path)
    if cutter.fits_whole():
        return Cut(text)
    if not text or not cutter.fits_text(marker(1, 1, path)):
        return None
    head_first = prefer == "head" or (prefer == "both" and cutter.newest_first())
    for head, tail in cutter.plans(head_first):
        tokens = count(text[head:tail])
        lines = text.count("\n", head, tail - 1) + 1
        shown = cutter.assemble(head, tail, marker(lines, tokens, path))
        if cutter.fits_text(shown):
            return Cut(shown, lines, tokens)
    return None


class _Cutter:
    """Where one text may be cut, and whether what is left fits.

    A cut is two offsets: `text[:head]` and `text[tail:]` are shown. `note` is a marker at least as long as the
    final one, so that a cut that fits with it fits with the final one too, save for odd measures.
    """

    def __init__(self, text: str, bounds: Sequence[Bound], wrap: Callable[[str], str], path: str) -> None:
        self.text, self.bounds, self.wrap = text, bounds, wrap
        self.step = max(min((bound.limit for bound in bounds), default=0), 16)
        self.note = marker(text.count("\n") + 1, len(text), path)
        self.fences: list[Fence] = []
        self.floors: list[int] = []

    def fits_whole(self) -> bool:
        """Whether the text fits as it is; a start of it that is far too long already settles a long one."""
        size = self.step * 16
        while size < len(self.text):
            start = self.wrap(self.text[:size])
            if any(bound.measure(start) > 2 * max(bound.limit, 0) + 64 for bound in self.bounds):
                return False
            size *= 4
        return self.fits_text(self.text)

    def fits_text(self, content: str) -> bool:
        shown = self.wrap(content)
        return all(bound.measure(shown) <= bound.limit for bound in self.bounds)

    def plans(self, head_first: bool) -> Iterator[tuple[int, int]]:
        """Cuts to try, the best first; each later one shows less, the last one nothing but the marker."""
        size = len(self.text)
        self.fences = find_fences(self.text)
        if self.fits_text(self.note):
            empty = self.wrap(self.note)
            self.floors = [bound.measure(empty) for bound in self.bounds]
            head, tail = self._head_first() if head_first else self._tail_first()
            for minor, major in ((1.0, 1.0), (0.75, 1.0), (0.5, 1.0), (0.0, 1.0), (0.0, 0.75), (0.0, 0.5), (0.0, 0.25)):
                ahead, behind = (major, minor) if head_first else (minor, major)
                shown = (head if ahead == 1 else self.head_at(int(head * ahead)),
                         tail if behind == 1 else self.tail_at(size - int((size - tail) * behind)))  # fmt: skip
                if shown != (0, size):
                    yield shown
        yield 0, size

    def assemble(self, head: int, tail: int, note: str) -> str:
        parts = []
        if head:
            parts.append(_with_line_end(self.text[:head]))
            fence = fence_around(self.fences, head)
            if fence:
                parts.append(f"{fence.closer}\n")
        parts.append(note)
        if tail < len(self.text):
            fence = fence_around(self.fences, tail)
            parts.append(f"\n{fence.opener}\n" if fence else "\n")
            last = fence_around(self.fences, len(self.text))
            rest = self.text[tail:]
            parts.append(f"{_with_line_end(rest)}{last.closer}" if last else rest)
        return "".join(parts)

    def newest_first(self) -> bool:
        dates = [date for date, _ in self._dated_lines()]
        falls = sum(earlier > later for earlier, later in pairwise(dates))
        rises = sum(earlier < later for earlier, later in pairwise(dates))
        return falls > rises and dates[0] > dates[-1]

    def head_at(self, at: int) -> int:
        """The best place at or before `at` to end the head."""
        at = self._near(at, at, self._line_starts_before(at))
        if not self._starts_line(at):
            at = boundary_before(self.text, at)
            start = self.text.rfind("\n", 0, at) + 1
            at = start if frame_end(self.text, start, at) else at
        fence = fence_around(self.fences, at)
        if fence:
            return fence.start if at <= fence.body else min(at, fence.end)
        return self._before_heading(at)

    def tail_at(self, at: int) -> int:
        """The best place at or after `at` to begin the tail."""
        size = len(self.text)
        at = self._near(at, size - at, self._line_starts_after(at))
        fence = fence_around(self.fences, at)
        if not self._starts_line(at):
            at = self._next_line(at) if fence and fence.strict else boundary_after(self.text, at)
            while not self._starts_line(at) and (end := frame_end(self.text, at, size)):
                at = boundary_after(self.text, end)
            fence = fence_around(self.fences, at)
        if fence and at >= fence.end:
            return min(fence.stop, size)
        return max(at, fence.body) if fence else at

    def _tail_first(self) -> tuple[int, int]:
        size = len(self.text)
        head = self.head_at(self._reach(size - 1, lambda at: self._within(at, size, _MINOR_SHARE)))
        first = self._first_part()
        if head < first and self._within(first, size, _FIRST_PART_SHARE):
            head = first
        last = self._last_line()
        tail = self.tail_at(size - self._reach(size - head - 1, partial(self._fits_beside, head)))
        if 0 < last < tail and self._fits(0, last):
            # The newest line comes before anything of the head.
            tail = last
            if not self._fits(head, last):
                head = self.head_at(self._reach(min(head, last - 1), lambda at: self._fits(at, last)))
        return head, tail

    def _head_first(self) -> tuple[int, int]:
        size = len(self.text)
        tail = self.tail_at(size - self._reach(size - 1, lambda rest: self._within(0, size - rest, _MINOR_SHARE)))
        head = self.head_at(self._reach(tail - 1, lambda at: self._fits(at, tail)))
        newest = self._first_part()
        dated = next((end for _, end in self._dated_lines()), newest)
        if head >= max(newest, dated):
            return head, tail
        for least in (max(newest, dated), dated, newest):
            if 0 < least < size and self._fits(least, size):
                fits = partial(self._fits_beside, least)
                return least, max(tail, self.tail_at(size - self._reach(size - least - 1, fits)))
        return self.head_at(self._reach(size - 1, lambda at: self._fits(at, size))), size

    def _fits_beside(self, head: int, rest: int) -> bool:
        return self._fits(head, len(self.text) - rest)

    def _fits(self, head: int, tail: int) -> bool:
        return self.fits_text(self.assemble(head, tail, self.note))

    def _within(self, head: int, tail: int, share: float) -> bool:
        """Whether the cut uses no more than `share` of the room that the marker leaves under each bound."""
        shown = self.wrap(self.assemble(head, tail, self.note))
        return all(
            bound.measure(shown) - floor <= (bound.limit - floor) * share
            for bound, floor in zip(self.bounds, self.floors, strict=True)
        )

    def _reach(self, most: int, fits: Callable[[int], bool]) -> int:
        """Nearly the greatest number up to `most` that fits, and never one that does not (0 is taken to)."""
        low, high = 0, min(self.step, most)
        while low < high and fits(high):
            low, high = high, min(high * 2, most)
        while high - low > max(1, low // 64):
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        return low

    def _near(self, at: int, room: int, starts: Iterator[int]) -> int:
        """The start of a heading, paragraph or line among `starts` (nearest first) that is near enough, else `at`."""
        paragraph = line = None
        for start in starts:
            loss = abs(start - at)
            if loss > room * _LINE_LOSS:
                break
            line = start if line is None else line
            if loss > room * _BLOCK_LOSS:
                break
            fence = fence_around(self.fences, start)
            if fence is None and self._is_heading(start):
                return start
            if paragraph is None and fence is None and self._starts_paragraph(start):
                paragraph = start
        return next((place for place in (paragraph, line) if place is not None), at)

    def _line_starts_before(self, at: int) -> Iterator[int]:
        while at > 0:
            at = self.text.rfind("\n", 0, at) + 1
            yield at
            at -= 1

    def _line_starts_after(self, at: int) -> Iterator[int]:
        at = at if self._starts_line(at) else self._next_line(at)
        while at < len(self.text):
            yield at
            at = self._next_line(at)

    def _starts_line(self, at: int) -> bool:
        return at in (0, len(self.text)) or self.text[at - 1] == "\n"

    def _line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def _next_line(self, at: int) -> int:
        return min(self._line_end(at) + 1, len(self.text))

    def _is_heading(self, at: int) -> bool:
        return "#" in self.text[at : at + 4] and heading_text(self.text[at : self._line_end(at)]) is not None

    def _before_heading(self, at: int) -> int:
        """`at`, or the start of a heading that would stand last there, with nothing below it."""
        end = at
        while end > 0 and self.text[end - 1].isspace():
            end -= 1
        start = self.text.rfind("\n", 0, end) + 1
        return start if start and self._starts_line(at) and self._is_heading(start) else at

    def _starts_paragraph(self, at: int) -> bool:
        edge = bisect_left(self.fences, at, key=lambda fence: fence.start)
        opens = edge < len(self.fences) and self.fences[edge].start == at
        closed = edge > 0 and self.fences[edge - 1].stop == at
        if opens or closed:
            return True
        before = self.text[self.text.rfind("\n", 0, at - 1) + 1 : at]
        return not before.strip() and bool(self.text[at : self._line_end(at)].strip())

    def _dated_lines(self) -> Iterator[tuple[tuple[int, ...], int]]:
        """Date and end of each heading or list item that opens with a date."""
        for found in _DATED.finditer(self.text):
            date = tuple(int(part) for part in found.groups() if part)
            if 1 <= date[1] <= 12 and 1 <= date[2] <= 31:
                yield date, self._next_line(found.end())

    def _first_part(self) -> int:
        """Where frontmatter, headings and first paragraph end; 0 where they are too long to count as small."""
        text = self.text[:_FIRST_PART_CHARS]
        front = re.match(r"---[ \t]*\n(?:[^\n]*\n)*?---[ \t]*(?:\n|\Z)", text)
        at = front.end() if front else 0
        in_paragraph = False
        while at < len(text):
            line = text[at : self._line_end(at)]
            heading = heading_text(line) is not None
            if in_paragraph and (heading or not line.strip()):
                return at
            if frame_end(line, 0, len(line)):
                return at
            in_paragraph = in_paragraph or not (heading or not line.strip())
            at = self._next_line(at)
        return at if at <= _FIRST_PART_CHARS else 0

    def _last_line(self) -> int:
        """Where the last line begins that has text and is no part of a fence's frame."""
        at = len(self.text)
        while at > 0:
            start = self.text.rfind("\n", 0, at - 1) + 1 if at > 0 else 0
            fence = fence_around(self.fences, start + 1)
            framed = fence is not None and (start < fence.body or start >= fence.end)
            if self.text[start:at].strip() and not framed:
                return start
            at = start
        return 0


def _with_line_end(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
