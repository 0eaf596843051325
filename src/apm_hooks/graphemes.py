"""Where a text may be cut without splitting what a reader sees as one character.

A documented subset of Unicode's extended grapheme clusters (UAX #29), built on `unicodedata`. It errs towards
keeping together: no cut falls

- between a high and a low surrogate, or between CR and LF;
- before a combining mark (variation selectors, keycaps and vowel signs are marks), a joiner, an emoji skin tone, a
  tag character, a half-width voicing mark, or the Thai and Lao sign AM;
- after a zero-width joiner, after a prefixed format sign (Arabic number signs and their like);
- between a virama and the letter that it joins to;
- inside a flag (two regional indicators, counted from the start of their run);
- inside a Hangul syllable written in jamo.

What follows a line end or another control character always begins anew, as UAX #29 has it.
"""

from __future__ import annotations

import unicodedata

_ZWJ = "\u200d"
_EXTENDING = frozenset("\u200c\u200d\uff9e\uff9f\u0e33\u0eb3")
_PREFIXING = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
_VIRAMA = 9


def is_boundary(text: str, at: int) -> bool:
    """Whether a cut between `text[at - 1]` and `text[at]` leaves every grapheme whole; both ends are boundaries."""
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before.isascii() and after.isascii():
        return not (before == "\r" and after == "\n")
    if _is_control(before) or _is_control(after):
        return True
    if before == _ZWJ or before in _PREFIXING or _extends(after):
        return False
    if _is_regional(before) and _is_regional(after):
        return _regionals_before(text, at) % 2 == 0
    if unicodedata.combining(before) == _VIRAMA and after.isalpha():
        return False
    return not (_joins_as_hangul(before, after) or _is_surrogate_pair(before, after))


def boundary_before(text: str, at: int) -> int:
    """The last boundary at or before `at`; 0 where the text begins with one grapheme that long."""
    at = min(max(at, 0), len(text))
    while not is_boundary(text, at):
        at -= 1
    return at


def boundary_after(text: str, at: int) -> int:
    """The first boundary at or after `at`; the text's length where its last grapheme is that long."""
    at = min(max(at, 0), len(text))
    while not is_boundary(text, at):
        at += 1
    return at


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Zl", "Zp"}


def _extends(char: str) -> bool:
    if char in _EXTENDING or "\U0001f3fb" <= char <= "\U0001f3ff" or "\U000e0020" <= char <= "\U000e007f":
        return True
    return unicodedata.category(char).startswith("M")


def _is_regional(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _regionals_before(text: str, at: int) -> int:
    start = at
    while start > 0 and _is_regional(text[start - 1]):
        start -= 1
    return at - start


def _is_surrogate_pair(before: str, after: str) -> bool:
    return "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"


def _joins_as_hangul(before: str, after: str) -> bool:
    left, right = _hangul(before), _hangul(after)
    if left == "L":
        return right in {"L", "V", "LV", "LVT"}
    if left in {"V", "LV"}:
        return right in {"V", "T"}
    return left in {"T", "LVT"} and right == "T"


def _hangul(char: str) -> str:
    code = ord(char)
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB:
        return "T"
    if 0xAC00 <= code <= 0xD7A3:
        return "LV" if (code - 0xAC00) % 28 == 0 else "LVT"
    return ""
