"""Code fences in a markdown text, and the lines that close or reopen one where a cut falls into it.

A fence is read as people and models read it: an opening line of three or more backticks or tildes, at any depth of
list or quotation, up to the closing line that pairs with it. Two rules end one without its closing line: a fence in
a quotation ends with the quotation, and one that is indented by four columns or more ends at a line that stands too
far left to belong to its list item. So the reading agrees with CommonMark's inside and outside of lists.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

_RUN = re.compile(r"`{3,}|~{3,}")
_QUOTE = r"[ \t]*(?P<quote>(?:>[ \t]*)*)"
_ITEMS = r"(?P<items>(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*)"
_OPENING = re.compile(rf"{_QUOTE}{_ITEMS}(?P<run>`{{3,}}(?=[^`\n]*(?:\n|\Z))|~{{3,}})[^\n]*")
_CLOSING = re.compile(r"(?P<lead>[ \t]*(?:>[ \t]*)*)(?P<run>`{3,}|~{3,})[ \t\r]*(?=\n|\Z)")
_LIKE = re.compile(rf"{_QUOTE}{_ITEMS}(?:`{{3,}}|~{{3,}})")

_TAB = 4
_OPENER_CHARS = 200


@dataclass(frozen=True, slots=True)
class Fence:
    """A code fence: opening line at `start`, content from `body` to `end`, closing line up to `stop`.

    `end` and `stop` are equal where it has no closing line; where it is open to the end of the text, both lie past
    it. `opener` and `closer` are lines that reopen and close it. `strict`: a line's indent or quotation mark decides
    whether it still belongs to the fence.
    """

    start: int
    body: int
    end: int
    stop: int
    opener: str
    closer: str
    strict: bool


def find_fences(text: str) -> list[Fence]:
    """The fences of a text in order; linear in the text."""
    fences: list[Fence] = []
    at = 0
    while (hit := _RUN.search(text, at)) is not None:
        start = text.rfind("\n", 0, hit.start()) + 1
        opening = _OPENING.match(text, start)
        if opening is None:
            at = _line_end(text, hit.end())
            continue
        fences.append(_fence(text, opening))
        at = min(fences[-1].stop, len(text))
    return fences


def fence_around(fences: Sequence[Fence], at: int) -> Fence | None:
    """The fence that a cut at `at` would split, if any."""
    place = bisect_left(fences, at, key=lambda fence: fence.start) - 1
    return fences[place] if place >= 0 and at < fences[place].stop else None


def frame_end(text: str, start: int, stop: int) -> int:
    """Where the run ends that would make `text[start:stop]`, put at a line's start, look like a fence's frame; or 0."""
    found = _LIKE.match(text, start, stop)
    return found.end() if found else 0


def _fence(text: str, opening: re.Match[str]) -> Fence:
    start, run = opening.start(), opening["run"]
    lead = text[start : opening.start("run")]
    items = " " * (opening.end("items") - opening.start("items"))
    closer = f"{text[start : opening.start('items')]}{items}{run}"
    opener = opening.group() if len(opening.group()) <= _OPENER_CHARS else f"{lead}{run}"
    quoted = bool(opening["quote"])
    depth = 0 if quoted else len(lead.expandtabs(_TAB))
    body = min(_line_end(text, opening.end()) + 1, len(text))
    strict = quoted or depth >= _TAB
    end, stop = _close(text, body, run, depth, quoted) if strict else _close_plain(text, body, run, depth)
    return Fence(start, body, end, stop, opener, closer, strict)


def _close_plain(text: str, at: int, run: str, depth: int) -> tuple[int, int]:
    while (hit := _RUN.search(text, at)) is not None:
        start = max(text.rfind("\n", 0, hit.start()) + 1, at)
        at = _line_end(text, hit.end())
        if _closes(text, start, run, depth):
            return start, min(at + 1, len(text))
    return len(text) + 1, len(text) + 1


def _close(text: str, at: int, run: str, depth: int, quoted: bool) -> tuple[int, int]:
    while at < len(text):
        end = _line_end(text, at)
        if _closes(text, at, run, depth):
            return at, min(end + 1, len(text))
        line = text[at:end].rstrip()
        bare = line.lstrip(" \t")
        if (quoted and not bare.startswith(">")) or (bare and _indent(line) < depth - 3):
            return at, at
        at = end + 1
    return len(text) + 1, len(text) + 1


def _closes(text: str, start: int, run: str, depth: int) -> bool:
    found = _CLOSING.match(text, start)
    if found is None or not found["run"].startswith(run):
        return False
    return ">" in found["lead"] or _indent(found["lead"]) <= depth + 3


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(_TAB))


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end
