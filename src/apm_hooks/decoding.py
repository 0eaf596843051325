"""Bytes → text by a stated rule: UTF-8, UTF-16, and files in which the two stand one behind the other.

A Windows shell's `>>` appends UTF-16LE without a mark to whatever file is there, and the next editor appends UTF-8
behind it. Such a file is split where the encoding changes: every reading of it has a cost (what no person writes is
dear, a change of encoding is dear, dearest inside a line), and the cheapest reading counts. The costs are roughly bits
of surprise. Work is linear in the bytes: lines are weighed whole, by a bounded number of passes in C.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from apm_hooks.errors import MemoryFileError

_LINE_END = re.compile(rb"\n")
_CHUNKS = 65_536
"""At most about so many pieces are weighed one by one; in a file of megabytes a piece holds several short lines."""

_STRAY = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\udc80-\udcff]")
# In UTF-16: controls, lone surrogates, noncharacters, U+0A00 (a line end in the wrong half), unassigned marks.
_UNWRITTEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u0a00\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef"
                        "\ufff0-\ufffc\ufffe\uffff]")  # fmt: skip
# Scripts whose high byte is that of a line end: dear where one stands alone, since `x\n` of UTF-8 looks like it.
_LIKE_LINE_END = re.compile("(?<![\u0a01-\u0aff])[\u0a01-\u0aff]")
_BARE_LINE_END = re.compile("(?<!\r)\n")
_LINE_END_COST = 6

_STRAY_COST, _UNWRITTEN_COST, _LONE_COST = 12, 40, 12
_WIDE_LINE_END_COST = 36
_ENTER, _ENTER_BIG_ENDIAN, _ENTER_INSIDE_LINE = 16, 24, 50
_LEAVE, _LEAVE_INSIDE_LINE = 16, 60
_WORTH_A_LOOK = 60
_NEVER = 1 << 60

_PADDING = 8
"""Zeros at the end of a file, from so many on, are what a crash leaves, not text."""


def _block_costs() -> bytes:
    """Cost of a UTF-16 unit by its high byte: scripts in use are cheap, letters that bytes of UTF-8 look like less."""
    costs = bytearray([14] * 256)
    for first, last, cost in (
        (0x00, 0x02, 0), (0x03, 0x1F, 1), (0x20, 0x20, 2), (0x21, 0x2B, 6), (0x2C, 0x2F, 12), (0x30, 0x30, 2),
        (0x31, 0x33, 6), (0x4E, 0x9F, 5), (0xAC, 0xD7, 5), (0xD8, 0xDF, 7), (0xE0, 0xF8, 40), (0xF9, 0xFA, 8),
        (0xFB, 0xFE, 10), (0xFF, 0xFF, 2),
    ):  # fmt: skip
        costs[first : last + 1] = bytes([cost] * (last + 1 - first))
    return bytes(costs)


_BLOCK_COSTS = _block_costs()
_RARE = bytes(block for block, cost in enumerate(_BLOCK_COSTS) if cost >= 12)
_COMMON = bytes(block for block, cost in enumerate(_BLOCK_COSTS) if cost < 12)


class _Wide(NamedTuple):
    """UTF-16 read from an even or an odd offset on."""

    codec: str
    odd: int
    high: int
    line_end: bytes
    enter: int


_UTF8 = 0
_READINGS = (
    None,
    _Wide("utf-16-le", 0, 1, b"\n\0", _ENTER),
    _Wide("utf-16-le", 1, 1, b"\n\0", _ENTER),
    _Wide("utf-16-be", 0, 0, b"\0\n", _ENTER_BIG_ENDIAN),
    _Wide("utf-16-be", 1, 0, b"\0\n", _ENTER_BIG_ENDIAN),
)
_NAMES = ("UTF-8", "UTF-16LE", "UTF-16LE", "UTF-16BE", "UTF-16BE")


def decode(data: bytes, path: str = "") -> tuple[str, str]:
    """Text of `data` with LF line ends, and a note on what was odd (empty: nothing).

    UTF-8, with or without BOM, is returned as it is. UTF-16 with BOM; UTF-8 and UTF-16 of either byte order one behind
    the other, from any offset on; UTF-16 without BOM. Bytes that fit no reading are shown as `\\xNN`, zeros at the end
    are left out. Where more than a tenth of the characters is such, it is no text: raises MemoryFileError with `path`.
    """
    body = data.removeprefix(b"\xef\xbb\xbf")
    text = None
    if not data.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" not in body:
        try:
            text, note = body.decode("utf-8"), ""
        except UnicodeDecodeError:
            text = None
    if text is None:
        text, note = _decode_odd(body, path)
    return text.replace("\r\n", "\n").replace("\r", "\n"), note


def _decode_odd(body: bytes, path: str) -> tuple[str, str]:
    kept = len(body.rstrip(b"\0"))
    padded = len(body) - kept >= _PADDING
    # The first zero may be the last letter's second half.
    body = body[: kept + 1] if padded else body
    first = {b"\xff\xfe": 1, b"\xfe\xff": 3}.get(body[:2], _UTF8)
    parts = _credible(body, _Reading(body, first).parts())
    texts, doubtful = [], 0
    for start, stop, state in parts:
        text, odd = _decode_part(body[start:stop], state)
        texts.append(text)
        doubtful += odd
    if doubtful * 10 > sum(map(len, texts)):
        raise MemoryFileError("is no text", file=path, remedy="Save it as UTF-8.")
    note = _note([state for _, _, state in parts], marked=first != _UTF8, clean=not doubtful)
    if padded:
        texts[-1] = texts[-1].removesuffix("\0")
        note = f"{note}, zeros at its end left out" if doubtful > 1 or len(parts) > 1 else "zeros at its end left out"
    return "".join(texts), note


def _note(states: list[int], *, marked: bool, clean: bool) -> str:
    names = [_NAMES[state] for state in states]
    match names:
        case ["UTF-8"]:
            return "bytes that are not UTF-8"
        case [name]:
            return "UTF-16" if marked else f"{name} without a mark"
        case [head, tail]:
            return f"{head} with a {tail} tail"
        case _:
            return " and ".join(sorted(set(names))) + " by turns"


def _decode_part(part: bytes, state: int) -> tuple[str, int]:
    """The part's text, and how many of its characters are doubtful."""
    reading = _READINGS[state]
    if reading is None:
        return part.decode("utf-8", "backslashreplace"), len(_STRAY.findall(part.decode("utf-8", "surrogateescape")))
    units = part.decode(reading.codec, "surrogatepass" if len(part) % 2 == 0 else "replace")
    doubtful = len(_UNWRITTEN.findall(units)) + len(part[reading.high :: 2].translate(None, _COMMON))
    return part.decode(reading.codec, "backslashreplace").removeprefix("\ufeff"), doubtful


def _credible(body: bytes, parts: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The parts, with UTF-16 only where it has at least one letter, blank or line end of Latin text: bytes of an older
    encoding look like UTF-16 too, but for those."""
    joined: list[tuple[int, int, int]] = []
    for start, stop, state in parts:
        reading = _READINGS[state]
        marked = start == 0 and body.startswith((b"\xff\xfe", b"\xfe\xff"))
        believed = reading is None or marked or 0 in body[start + reading.high : stop : 2]
        state = state if believed else _UTF8
        if joined and joined[-1][2] == state == _UTF8:
            joined[-1] = (joined[-1][0], stop, state)
        else:
            joined.append((start, stop, state))
    return joined


class _Reading:
    """The cheapest way to read `body`, found from line to line; `first` is the state that a BOM demands, or 0."""

    def __init__(self, body: bytes, first: int) -> None:
        self.body = body
        self.first = first
        self.edges = self._edges()

    def parts(self) -> list[tuple[int, int, int]]:
        """Start, stop and state of each part, in order."""
        costs = self._start()
        # For every line and state: the state before it, and where in the line it changed (-1: not in it).
        entered: list[list[int]] = []
        changed: list[list[tuple[int, int]]] = []
        for start, stop in zip(self.edges, self.edges[1:], strict=False):
            before = self._cross(costs, start) if start else list(range(len(costs)))
            entered.append(before[:])
            costs = [costs[0], *costs[1:]]
            costs, moves = self._weigh(costs, start, stop)
            changed.append(moves)
        return self._trace(costs, entered, changed)

    def _edges(self) -> list[int]:
        """Where a line may begin, in either encoding."""
        least = max(1, len(self.body) // _CHUNKS)
        edges = [0]
        for end in _LINE_END.finditer(self.body):
            at = end.end()
            if at - edges[-1] >= least:
                edges.append(at)
                if self.body[at : at + 1] == b"\0":
                    edges.append(at + 1)
        if edges[-1] < len(self.body):
            edges.append(len(self.body))
        return edges
