"""Bytes → text by a stated rule: UTF-8, UTF-16, and files in which the two stand one behind the other.

A Windows shell's `>>` appends UTF-16LE without a mark to whatever file is there, and the next editor appends UTF-8
behind it. Such a file is split where the encoding changes: every reading of it has a cost (what no person writes is
dear; a change of encoding is dear, and dearest inside a line), and the cheapest reading counts. Costs are roughly bits
of surprise. Work is linear in the bytes: lines are weighed as wholes, by a bounded number of passes in C.
"""

from __future__ import annotations

import re
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

from apm_hooks.errors import MemoryFileError

_MARKS = (b"\xff\xfe", b"\xfe\xff")
_LF = 0x0A

_CHUNKS = 65_536
"""At most about so many pieces are weighed one by one; in a file of megabytes a piece holds several short lines."""

_PADDING = 8
"""Zeros at the end of a file, from so many on, are what a crash leaves behind, not text."""

_UNREADABLE = 10
"""One character in so many may be such as no person writes; with more, the file is no text."""

_NEVER = 1 << 60
_STRAY_COST, _UNWRITTEN_COST, _LONE_COST, _BARE_COST, _PAIR_COST, _WIDE_END_COST = 12, 40, 20, 6, 5, 100
_SIGN_COST, _CAPITAL_COST, _SHORT_LINE_COST, _CONTINUATION_GAIN = 2, 1, 3, 1
_ENTER, _ENTER_BIG_ENDIAN, _ENTER_INSIDE = 30, 45, 60
_LEAVE, _LEAVE_INSIDE = 30, 70
_WORTH_A_LOOK = 60

_LINE_END = re.compile(rb"\n")
_WIDE_END = re.compile(rb"\r\0\n\0|\0\r\0\n")
_STRAY_BYTE = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_STRAY = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\udc80-\udcff]")
# In UTF-16: controls, a line end in the wrong half, deprecated marks, lone surrogates, noncharacters.
_UNWRITTEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u0a00\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef"
                        "\ufff0-\ufffc\ufffe\uffff]")  # fmt: skip
# Scripts whose high byte is that of a line end: dear where a letter stands alone, since `x\n` of UTF-8 looks like it.
_LONE = re.compile("(?<![\u0a01-\u0aff])[\u0a01-\u0aff]")
_BARE = re.compile("(?<!\r)\n")
# A unit of two bytes that stand side by side in English: small letters, a blank before one.
_PAIRS = "".join(f"{chr(high << 8 | 0x20)}{chr(high << 8 | 0x61)}-{chr(high << 8 | 0x7A)}" for high in range(0x61, 0x7B))
_PRINTABLE_PAIR = re.compile(f"[{_PAIRS}]")
_SUSPECT = (
    (_UNWRITTEN, _UNWRITTEN_COST), (_LONE, _LONE_COST), (_BARE, _BARE_COST), (_PRINTABLE_PAIR, _PAIR_COST),
)  # fmt: skip


class _Wide(NamedTuple):
    """UTF-16 read from an even or an odd offset on; `high` is where a unit has its high byte."""

    name: str
    codec: str
    odd: int
    high: int
    line_end: bytes
    enter: int


_UTF8 = 0
_WIDE = {
    1: _Wide("UTF-16LE", "utf-16-le", 0, 1, b"\n\0", _ENTER),
    2: _Wide("UTF-16LE", "utf-16-le", 1, 1, b"\n\0", _ENTER),
    3: _Wide("UTF-16BE", "utf-16-be", 0, 0, b"\0\n", _ENTER_BIG_ENDIAN),
    4: _Wide("UTF-16BE", "utf-16-be", 1, 0, b"\0\n", _ENTER_BIG_ENDIAN),
}
_MARKED = {_MARKS[0]: 1, _MARKS[1]: 3}


def _block_costs() -> bytes:
    """Cost of a UTF-16 unit by its high byte: next to nothing in scripts of letters, more where two bytes of UTF-8
    look like one, most where nobody writes."""
    costs = [14] * 256
    for first, last, cost in (
        (0x00, 0x02, 0), (0x03, 0x1F, 1), (0x20, 0x20, 2), (0x21, 0x2B, 6), (0x2C, 0x2F, 12), (0x30, 0x30, 2),
        (0x31, 0x33, 6), (0x4E, 0x9F, 5), (0xAC, 0xD7, 5), (0xD8, 0xDF, 7), (0xE0, 0xF8, _UNWRITTEN_COST),
        (0xF9, 0xFA, 8), (0xFB, 0xFE, 10), (0xFF, 0xFF, 2),
    ):  # fmt: skip
        costs[first : last + 1] = [cost] * (last + 1 - first)
    return bytes(costs)


_BLOCK_COSTS = _block_costs()
_NO_SIGNS = bytes(byte for byte in range(256) if not (byte == 9 or (0x20 < byte < 0x7F and not chr(byte).isalnum())))
_NO_CAPITALS = bytes(byte for byte in range(256) if not (byte < 0x80 and (chr(byte).isupper() or chr(byte).isdigit())))
_COMMON_BLOCKS = bytes(block for block, cost in enumerate(_BLOCK_COSTS) if cost < 12)


def decode(data: bytes, path: str = "") -> tuple[str, str]:
    """Text of `data` with LF line ends, and a note on what was odd (empty: nothing).

    UTF-8, with or without BOM, is returned as it is. UTF-16 with BOM; UTF-8 and UTF-16 of either byte order one behind
    the other, from any offset on; UTF-16 without BOM. Bytes that fit no reading are shown as `\\xNN`; zeros at the end
    of a file are left out. Where more than a tenth of the characters is such as no person writes, it is no text:
    raises MemoryFileError with `path`.
    """
    text, note = _decode_plain(data) or _decode_odd(data.removeprefix(b"\xef\xbb\xbf"), path)
    return text.replace("\r\n", "\n").replace("\r", "\n"), note


def _decode_plain(data: bytes) -> tuple[str, str] | None:
    if b"\0" in data:
        return None
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8"), ""
    except UnicodeDecodeError:
        return None


def _decode_odd(body: bytes, path: str) -> tuple[str, str]:
    kept = len(body.rstrip(b"\0"))
    padded = len(body) - kept >= _PADDING
    # The first zero may be the last letter's second half.
    body = body[: kept + 1] if padded else body
    texts, states, unwritten = [], [], 0
    for start, stop, state in _parts(body):
        text, strange = _decode_part(body[start:stop], state)
        texts.append(text)
        states.append(state)
        unwritten += strange
    if padded and texts[-1].endswith("\0"):
        texts[-1] = texts[-1][:-1]
        unwritten -= 1
    if unwritten * _UNREADABLE > sum(map(len, texts)) or (padded and not kept):
        raise MemoryFileError("is no text", file=path, remedy="Save it as UTF-8.")
    notes = [_note(states, marked=body.startswith(_MARKS))] if unwritten or states != [_UTF8] else []
    if padded:
        notes.append("zeros at its end left out")
    return "".join(texts), ", ".join(notes)


def _note(states: list[int], *, marked: bool) -> str:
    names = [_WIDE[state].name if state else "UTF-8" for state in states]
    match names:
        case ["UTF-8"]:
            return "bytes that are not UTF-8"
        case [name]:
            return "UTF-16" if marked else f"{name} without a mark"
        case [head, tail]:
            return f"{head} with a {tail} tail"
        case _:
            return f"{' and '.join(sorted(set(names)))} by turns"


def _decode_part(part: bytes, state: int) -> tuple[str, int]:
    """The part's text, and how many of its characters no person writes."""
    if state == _UTF8:
        return part.decode("utf-8", "backslashreplace"), len(_STRAY.findall(part.decode("utf-8", "surrogateescape")))
    wide = _WIDE[state]
    units = part[: len(part) // 2 * 2]
    strange = len(_UNWRITTEN.findall(units.decode(wide.codec, "surrogatepass"))) + len(part) % 2
    strange += len(units[wide.high :: 2].translate(None, _COMMON_BLOCKS))
    return part.decode(wide.codec, "backslashreplace").removeprefix("\ufeff"), strange


def _parts(body: bytes) -> list[tuple[int, int, int]]:
    """Start, stop and state of each part of `body`, in order; at least one.

    UTF-16 counts only where it has a letter, blank or line end of Latin text: bytes of an older encoding look like
    UTF-16 too, but for those.
    """
    parts: list[tuple[int, int, int]] = []
    stop = len(body)
    chain = _Reader(body).cheapest()
    while chain is not None:
        start, state, chain = chain
        if state and 0 not in body[start + _WIDE[state].high : stop : 2] and not body.startswith(_MARKS, start):
            state = _UTF8
        if parts and parts[-1][2] == state == _UTF8:
            parts[-1] = (start, parts[-1][1], state)
        else:
            parts.append((start, stop, state))
        stop = start
    return parts[::-1]


_Chain = tuple[int, int, "_Chain | None"]


class _Reader:
    """Weighs the readings of `body` from line to line; a mark at its start decides the first part.

    For each state there is the cost of the cheapest reading that is in it, and the chain of that reading's parts, the
    last one first: where it begins, its state, those before it.
    """

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.costs = [_NEVER] * (1 + len(_WIDE))
        self.chains: list[_Chain | None] = [None] * (1 + len(_WIDE))

    def cheapest(self) -> _Chain | None:
        first = _MARKED.get(self.body[:2], _UTF8)
        self.costs[first], self.chains[first] = 0, (0, first, None)
        for start, stop in pairwise(self._edges()):
            self._cross(start)
            self._pass(start, stop)
        return min(zip(self.costs, self.chains, strict=True), key=itemgetter(0))[1]

    def _edges(self) -> list[int]:
        """Where a line may begin in any encoding, and both ends of the body."""
        size = len(self.body)
        least = max(1, size // _CHUNKS)
        edges = [0]
        for end in _LINE_END.finditer(self.body):
            at = end.end()
            if at - edges[-1] >= least and at < size:
                edges.append(at)
                if self.body[at] == 0 and at + 1 < size:
                    edges.append(at + 1)
        return [*edges, size]

    def _cross(self, at: int) -> None:
        """Between two lines the encoding may change."""
        costs, chains = self.costs[:], self.chains[:]
        for state in _states_at(at):
            self._offer(state, costs[_UTF8] + self._enter(state, at), chains[_UTF8], at)
            self._offer(_UTF8, costs[state] + self._leave(state, at), chains[state], at)

    def _pass(self, start: int, stop: int) -> None:
        """One line, or what may be one; the encoding may change once within it."""
        costs, chains = self.costs[:], self.chains[:]
        plain = self._plain(start, stop)
        self.costs[_UTF8] += plain
        for state in _WIDE:
            self.costs[state] += self._wide(start, stop, state)
        if plain < _WORTH_A_LOOK:
            return
        last = self.body.rfind(b"\0", start, stop)
        ends = [at for at in (last + 1, last + 2) if start + 1 < at < stop]
        for at in self._beginnings(start, stop):
            so_far = costs[_UTF8] + self._plain(start, at)
            for state in _states_at(at):
                entered = so_far + (self._enter(state, at) if self.body[at - 1] == _LF else _ENTER_INSIDE)
                self._offer(state, entered + self._wide(at, stop, state), chains[_UTF8], at)
                self._end_inside(entered, (at, state, chains[_UTF8]), at, stop, ends)
        for state in _WIDE:
            self._end_inside(costs[state], chains[state], start, stop, ends)

    def _end_inside(self, cost: int, chain: _Chain | None, start: int, stop: int, ends: list[int]) -> None:
        """UTF-16 that began or goes on at `start`, and gives way to UTF-8 before `stop`."""
        for at in ends:
            if chain is not None and at > start + 1 and chain[1] in _states_at(at):
                left = cost + self._wide(start, at, chain[1]) + self._leave(chain[1], at)
                self._offer(_UTF8, left + self._plain(at, stop), chain, at)

    def _beginnings(self, start: int, stop: int) -> set[int]:
        """Where within a line UTF-16 may begin: about its first byte that is no UTF-8."""
        found = _STRAY_BYTE.search(self.body, start, stop)
        odd = found.start() if found else stop
        try:
            self.body[start:odd].decode("utf-8")
        except UnicodeDecodeError as error:
            odd = start + error.start
        line = self.body.rfind(b"\n", start, odd) + 1
        return {at for at in (line, odd - 1, odd) if start < at < stop}

    def _offer(self, state: int, cost: int, before: _Chain | None, at: int) -> None:
        if cost < self.costs[state]:
            if before is not None and before[0] == at:
                before = before[2]
            self.costs[state], self.chains[state] = cost, (at, state, before)

    def _enter(self, state: int, at: int) -> int:
        """The price of beginning UTF-16 at `at`, where a line begins."""
        high = at + _WIDE[state].high
        # Where letters look like lines of one letter, they hardly begin behind such a line.
        within = at >= 2 and self.body[high - 2] == _LF and (at < 4 or _LF in self.body[high - 4 : high + 1 : 4])
        return _WIDE[state].enter + (_LONE_COST if within else 0)

    def _leave(self, state: int, at: int) -> int:
        """The price of ending UTF-16 at `at`: only behind a line end, or any other letter with a zero byte."""
        wide = _WIDE[state]
        if at < 2 or self.body[at - 2 + wide.high] != 0:
            return _NEVER
        return _LEAVE if self.body[at - 2 : at] == wide.line_end else _LEAVE_INSIDE

    def _plain(self, start: int, stop: int) -> int:
        part = self.body[start:stop]
        text = part.decode("utf-8", "surrogateescape")
        cost = len(part.translate(None, _NO_SIGNS)) * _SIGN_COST + len(part.translate(None, _NO_CAPITALS)) * _CAPITAL_COST
        cost -= (len(part) - len(text)) * _CONTINUATION_GAIN
        if stop - start == 2 and part[1] == _LF:
            cost += _SHORT_LINE_COST
        stray = len(_STRAY.findall(text))
        if stray:
            # The last byte of a line end may stand behind the edge.
            cost += stray * _STRAY_COST + len(_WIDE_END.findall(self.body, start, stop + 1)) * _WIDE_END_COST
        return cost

    def _wide(self, start: int, stop: int, state: int) -> int:
        """The cost of the units that begin in the line."""
        wide = _WIDE[state]
        start += (start ^ wide.odd) & 1
        stop += (stop ^ wide.odd) & 1
        if start >= stop:
            return 0
        cut = _UNWRITTEN_COST if stop > len(self.body) else 0
        stop -= 2 if cut else 0
        if start >= stop:
            return cut
        cost = cut + sum(self.body[start + wide.high : stop : 2].translate(_BLOCK_COSTS))
        # The unit before decides whether a line end is bare and a letter alone.
        context = 1 if start >= 2 else 0
        units = self.body[start - 2 * context : stop].decode(wide.codec, "surrogatepass")
        for pattern, price in _SUSPECT:
            cost += len(pattern.findall(units, context)) * price
        return cost


def _states_at(at: int) -> tuple[int, int]:
    """The readings of UTF-16 of which a unit may begin at the offset."""
    return (2, 4) if at & 1 else (1, 3)
