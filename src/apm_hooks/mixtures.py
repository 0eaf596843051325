"""Text in which UTF-8 and UTF-16 stand one behind the other, split where the encoding changes.

A Windows shell's `>>` appends UTF-16LE without a mark to whatever file is there, and the next editor appends UTF-8
behind it. Every reading of such bytes has a cost, and the cheapest reading counts: what no person writes is dear, a
change of encoding is dear, and dearest inside a line. Costs are roughly bits of surprise; none of them is exact, and
none needs to be: real text is cheaper by hundreds in its own encoding. Lines are weighed as wholes, by a bounded number
of passes in C, so that work is linear in the bytes.
"""

from __future__ import annotations

import re
from itertools import pairwise
from operator import itemgetter
from typing import NamedTuple

_LF = 0x0A

_PIECES = 65_536
"""At most about so many pieces are weighed one by one; in a file of megabytes a piece holds several short lines."""

_NEVER = 1 << 60
_ENTER, _ENTER_BIG_ENDIAN, _ENTER_INSIDE = 30, 45, 60
"""What it costs that UTF-16 begins: at a line's start, there in the rarer byte order, inside a line."""
_LEAVE, _LEAVE_INSIDE = 30, 70
"""What it costs that UTF-16 ends: behind its line end, behind any other letter."""
_WORTH_A_LOOK = 60
"""A line of UTF-8 that costs less is not searched for a change inside it."""

# UTF-8: controls and bytes that are none of its own; a line end of UTF-16; signs, capitals and digits, which stand
# thick where UTF-16 is read as UTF-8; a line of one letter; and in its favour, what continues a letter.
_STRAY_COST, _WIDE_END_COST, _SIGN_COST, _CAPITAL_COST, _ONE_LETTER_COST, _CONTINUATION_GAIN = 12, 100, 2, 1, 3, 1
# UTF-16: what is never written; a letter alone that may be the end of a line of UTF-8; a line end without carriage
# return; two letters, digits or signs of ASCII in one unit. Blocks of letters have costs of their own, below.
_UNWRITTEN_COST, _LONE_COST, _BARE_COST, _PAIR_COST = 40, 20, 6, 5

_LINE_END = re.compile(rb"\n")
_WIDE_END = re.compile(rb"\r\0\n\0|\0\r\0\n")
_STRAY_BYTE = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_STRAY = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\udc80-\udcff]")
# Controls, lone surrogates, noncharacters, and what is unassigned or deprecated where UTF-8 looks like UTF-16.
_UNWRITTEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u0a00\u0a04\u0a0b-\u0a0e\u0a11\u0a12\u0a29\u0a31\u0a34\u0a37\u0a3a\u0a3b"
    "\u0a3d\u0a43-\u0a46\u0a49\u0a4a\u0a4e-\u0a50\u0a52-\u0a58\u0a5d\u0a5f-\u0a65\u0a77-\u0a80\u2060-\u206f"
    "\ud800-\udfff\ufdd0-\ufdef\ufff0-\ufffc\ufffe\uffff]"
)
_ENGLISH = "".join(f"{chr(high | 0x20)}{chr(high | 0x61)}-{chr(high | 0x7A)}" for high in range(0x6100, 0x7B00, 0x100))
_SUSPECT = (
    (_UNWRITTEN, _UNWRITTEN_COST),
    (re.compile("(?<![\u0a01-\u0aff])[\u0a01-\u0aff]"), _LONE_COST),
    (re.compile("(?<!\r)\n"), _BARE_COST),
    (re.compile(f"[{_ENGLISH}\u202a-\u202e\u2071-\u209f\u3020-\u3040\u3120-\u3140]"), _PAIR_COST),
)


def _block_costs() -> bytes:
    """Cost of a UTF-16 unit by its high byte: next to nothing in scripts of letters, more where two bytes of UTF-8
    look like one, most where nobody writes."""
    costs = [14] * 256
    for first, last, cost in (
        (0x00, 0x02, 0), (0x03, 0x1F, 1), (0x20, 0x20, 2), (0x21, 0x2B, 6), (0x2C, 0x2F, 12), (0x30, 0x30, 2),
        (0x31, 0x33, 6), (0x4E, 0x9F, 4), (0xAC, 0xD7, 4), (0xD8, 0xDF, 7), (0xE0, 0xF8, _UNWRITTEN_COST),
        (0xF9, 0xFA, 8), (0xFB, 0xFE, 10), (0xFF, 0xFF, 2),
    ):  # fmt: skip
        costs[first : last + 1] = [cost] * (last + 1 - first)
    return bytes(costs)


_BLOCK_COSTS = _block_costs()
_COMMON_BLOCKS = bytes(block for block, cost in enumerate(_BLOCK_COSTS) if cost < 12)
_CAPITALS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_SIGNS = b"\t!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
_NO_CAPITALS = bytes(set(range(256)) - set(_CAPITALS))
_NO_SIGNS = bytes(set(range(256)) - set(_SIGNS))


class Part(NamedTuple):
    """A stretch of one encoding: its name, its text, and how many of its characters no person writes."""

    encoding: str
    text: str
    unwritten: int


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
_MARKED = {b"\xff\xfe": 1, b"\xfe\xff": 3}

_Chain = tuple[int, int, "_Chain | None"]


def decode_parts(body: bytes) -> list[Part]:
    """The stretches of `body` in order, at least one; no byte is left out but marks of UTF-16. Never raises."""
    return [_decode_part(body[start:stop], state) for start, stop, state in _split(body)]


def spans(body: bytes) -> list[tuple[int, int, str]]:
    """Start, stop and codec of each stretch of `body`: in order, without a gap, at least one. A mark of UTF-16 is part
    of its stretch. Never raises."""
    return [(start, stop, _WIDE[state].codec if state else "utf-8") for start, stop, state in _split(body)]


def _decode_part(part: bytes, state: int) -> Part:
    if state == _UTF8:
        stray = len(_STRAY.findall(part.decode("utf-8", "surrogateescape")))
        return Part("UTF-8", part.decode("utf-8", "backslashreplace"), stray)
    wide = _WIDE[state]
    units = part[: len(part) // 2 * 2]
    unwritten = len(_UNWRITTEN.findall(units.decode(wide.codec, "surrogatepass"))) + len(part) % 2
    unwritten += len(units[wide.high :: 2].translate(None, _COMMON_BLOCKS))
    return Part(wide.name, part.decode(wide.codec, "backslashreplace").removeprefix("\ufeff"), unwritten)


def _split(body: bytes) -> list[tuple[int, int, int]]:
    """Start, stop and state of each stretch.

    UTF-16 counts only where it has a letter, blank or line end of Latin text, or a mark: bytes of an older encoding
    look like UTF-16 too, but for those.
    """
    parts: list[tuple[int, int, int]] = []
    stop = len(body)
    chain = _Reader(body).cheapest()
    while chain is not None:
        start, state, chain = chain
        marked = body[start : start + 2] in _MARKED
        if state and not marked and 0 not in body[start + _WIDE[state].high : stop : 2]:
            state = _UTF8
        if parts and parts[-1][2] == state == _UTF8:
            parts[-1] = (start, parts[-1][1], state)
        else:
            parts.append((start, stop, state))
        stop = start
    return parts[::-1]


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
        least = max(1, size // _PIECES)
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

    def _beginnings(self, start: int, stop: int) -> list[int]:
        """Where within a line UTF-16 may begin: about its first byte that is no UTF-8."""
        found = _STRAY_BYTE.search(self.body, start, stop)
        odd = found.start() if found else stop
        try:
            self.body[start:odd].decode("utf-8")
        except UnicodeDecodeError as error:
            odd = start + error.start
        line = self.body.rfind(b"\n", start, odd) + 1
        return sorted({at for at in (line, odd - 1, odd) if start < at < stop})

    def _offer(self, state: int, cost: int, before: _Chain | None, at: int) -> None:
        if cost < self.costs[state]:
            if before is not None and before[0] == at:
                before = before[2]
            self.costs[state], self.chains[state] = cost, (at, state, before)

    def _enter(self, state: int, at: int) -> int:
        """The price of beginning UTF-16 at `at`, where a line begins."""
        body, high = self.body, at + _WIDE[state].high
        if at >= 2 and body[high - 2] != _LF:
            return _WIDE[state].enter
        # Where letters look like lines of one letter, a word begins with the first of them and seldom is one alone.
        first, second = body[high : high + 1] == b"\n", body[high + 2 : high + 3] == b"\n"
        if first:
            return _WIDE[state].enter + _LONE_COST * ((at >= 2) + (not second))
        within = at == 2 or (at > 2 and body[high - 4] == _LF)
        return _WIDE[state].enter + (_LONE_COST // 2 if within else 0)

    def _leave(self, state: int, at: int) -> int:
        """The price of ending UTF-16 at `at`: only behind a line end, or any other letter with a zero byte."""
        wide = _WIDE[state]
        if at < 2 or self.body[at - 2 + wide.high] != 0:
            return _NEVER
        return _LEAVE if self.body[at - 2 : at] == wide.line_end else _LEAVE_INSIDE

    def _plain(self, start: int, stop: int) -> int:
        part = self.body[start:stop]
        text = part.decode("utf-8", "surrogateescape")
        cost = (
            len(part.translate(None, _NO_SIGNS)) * _SIGN_COST + len(part.translate(None, _NO_CAPITALS)) * _CAPITAL_COST
        )
        cost -= (len(part) - len(text)) * _CONTINUATION_GAIN
        if stop - start == 2 and part[1] == _LF:
            cost += _ONE_LETTER_COST
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
