"""Files that a prompt pulls in by mention: `@path`, which a host reads without a tool call (protocol, section 8).

Hosts differ in where a mention ends, so one that may end in several places is told in each form; whether there is such
a file, or whose it would be, is for the caller to find out. Code fences and quotations make no difference to a host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

MOST = 200
"""So many mentions of one prompt are looked at."""

# What stands before the sign in an e-mail address, or escapes it.
_SIGN = re.compile(r"(?<![A-Za-z0-9_.+\\-])@(?=[^\s@])")
_QUOTED = re.compile(r"""(["'])((?:(?!\1).){1,4096})\1""", re.DOTALL)
_WORD = re.compile(r"(?:\\[ \t]|\S){1,4096}")
_LINES = re.compile(r"(?:#.*|:\d{1,9}(?:[-:,]\d{1,9}){0,9})\Z", re.DOTALL)
_TRAILING = ".:*_~,;!?()[]{}<>\"'`|，。、；：！？（）《》「」“”‘’"
_ENDS = re.compile(r"""[,;!?()\[\]{}<>"'`|，。、；：！？（）《》「」“”‘’]""")
_FOLDERS = (".", "..", "~")
# Where the text around has no blanks between words, a host takes the last Latin letter or digit for the end.
_LATIN = re.compile(r".*[A-Za-z0-9_]", re.DOTALL)


def mentioned(prompt: str) -> tuple[str, ...]:
    """The paths that a prompt mentions, as written, in order, each once: without quotes, escapes and line ranges.

    `@"path with blanks"` ends at its quote, any other at the next blank that is not escaped; what follows the path
    without a blank, and may belong to it, is given with it and without. `name@host` is no mention. Only the first
    `MOST` mentions are looked at: `crowded` tells of more.
    """
    found: dict[str, None] = {}
    for sign in islice(_SIGN.finditer(prompt), MOST):
        for path in _readings(prompt, sign.end()):
            found[path] = None
    return tuple(found)


def crowded(prompt: str) -> bool:
    """Whether a prompt mentions more than is looked at."""
    return next(islice(_SIGN.finditer(prompt), MOST, None), None) is not None


def _readings(prompt: str, start: int) -> Iterator[str]:
    quoted = _QUOTED.match(prompt, start)
    if quoted is not None:
        yield from _endings(quoted[2])
        return
    word = _WORD.match(prompt, start)
    if word is None:
        return
    text = re.sub(r"\\([ \t])", r"\1", word[0])
    latin = _LATIN.match(text)
    for form in dict.fromkeys((text, _ENDS.split(text, maxsplit=1)[0], latin[0] if latin else "")):
        yield from _endings(form)


def _endings(text: str) -> Iterator[str]:
    """The path without its line range, and with it where that could belong to a file's name."""
    for form in (_LINES.sub("", text), text):
        path = form if form in _FOLDERS else form.rstrip(_TRAILING)
        if path.strip():
            yield path
