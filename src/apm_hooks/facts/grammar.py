"""The grammar of a fact index: text → facts and near misses, and a fact → its line. The one parser of it.

    - **`<slug>`** · [<will|measured|derived>] <the fact, one line>. **So:** <what it changes>. · [note](notes/NAME.md)

Slug, fact and `So:` are not optional. Any text that `decoding.decode` reads parses the same: line ends, a byte order
mark and white space at a line's end make no difference. Lines in a fence, or indented by a tab or four blanks, are
examples. What looks like a fact and does not parse is a near miss, never passed over.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from apm_hooks.facts.misses import hidden_in, looks_like, miss_of, unseen
from apm_hooks.facts.model import PROVENANCES, Fact, FactIndex, Miss
from apm_hooks.facts.parts import (
    DOT,
    NOTE_LIKE,
    SO,
    SO_BARE,
    SO_LIKE,
    is_slug,
    links_into_notes,
    note_link,
    without_code,
)
from apm_hooks.fences import find_fences
from apm_hooks.names import without_invisible

_HEAD = re.compile(r"- \*\*`([^`]*)`\*\* · (?=\S)")
_EXAMPLE = re.compile(r" {4}| {0,3}\t")
_FENCE_SIGNS = ("```", "~~~")
_MARKS = ("**", "__", "*s", "*S", "_s", "_S")


def parse_facts(text: str, words: Collection[str] = PROVENANCES) -> FactIndex:
    """The index in a text with LF line ends; `words` are the provenances that are known. Linear in the text."""
    lines = text.split("\n")
    fenced, unclosed = _fenced(text)
    facts: list[Fact] = []
    misses: list[Miss] = []
    sections: list[tuple[int, str]] = []
    section = ""
    hidden: list[int] = []
    for number, line in enumerate(lines, 1):
        if number in fenced:
            if unclosed and number > unclosed and looks_like(line, words):
                hidden.append(number)
            continue
        if line.startswith("## "):
            section = line[3:].strip().rstrip("#").strip()
            sections.append((number, section))
            continue
        read = parse_line(line, number, words, section)
        if isinstance(read, Fact):
            facts.append(read)
        elif read is not None:
            misses.append(read)
    if hidden:
        misses.append(_swallowed(unclosed, hidden))
        misses.sort(key=lambda miss: miss.line)
    return FactIndex(tuple(facts), tuple(misses), tuple(sections))


def parse_line(
    line: str, number: int = 1, words: Collection[str] = PROVENANCES, section: str = ""
) -> Fact | Miss | None:  # fmt: skip
    """A line outside of fences as a fact or a near miss; None where it is neither."""
    found = _HEAD.match(line)
    if found is not None and is_slug(found[1]):
        fact = _fact(line, number, found, words, section)
        if fact is not None:
            return fact
    if _EXAMPLE.match(line):
        return None
    hidden = hidden_in(line) if found is None else None
    if hidden is not None and _HEAD.match(without_invisible(line)):
        return unseen(line, number, *hidden)
    return miss_of(line, number, words) if looks_like(line, words) else None


def render(fact: Fact) -> str:
    """The line of a fact, without a line end."""
    parts = [f"- **`{fact.slug}`** {DOT} "]
    if fact.provenance:
        parts.append(f"[{fact.provenance}] ")
    parts.append(fact.text)
    if fact.consequence is not None:
        parts.append(f" {SO} {fact.consequence}".rstrip())
    if fact.note:
        parts.append(f" {DOT} [note]({fact.note})")
    return "".join(parts)


def _fact(line: str, number: int, head: re.Match[str], words: Collection[str], section: str) -> Fact | None:
    """What follows a head that is right; None where the line is no fact after all."""
    whole = line.rstrip()
    at = head.end()
    provenance, provenance_column = "", 0
    if whole.startswith("[", at) and not whole.startswith("[[", at):
        close = whole.find("]", at)
        inner = whole[at + 1 : close] if close > 0 else ""
        if close > 0 and not whole.startswith("(", close + 1):
            if not _may_be_provenance(inner, words) or not whole.startswith(" ", close + 1):
                return None
            provenance, provenance_column = inner, at + 2
            at = close + 2
    masked = without_code(whole[at:])
    body = whole[at:]
    note, note_column = "", 0
    link = note_link(masked, body)
    if link is not None:
        note, note_column = link[1], at + link[0] + 3
        body, masked = body[: link[0] - 1], masked[: link[0] - 1]
    if NOTE_LIKE.search(masked) is not None:
        return None
    so = masked.find(SO)
    others = _other_marks(masked, so)
    if others and (so < 0 or (others[0] < so and masked[others[0]] in "*_")):
        return None
    text = body if so < 0 else body[:so]
    stripped = text.strip()
    if not stripped or stripped.startswith(DOT):
        return None
    after = body[so + len(SO) :] if so >= 0 else ""
    text_column = at + len(text) - len(text.lstrip()) + 1
    return Fact(
        line=number, slug=head[1], provenance=provenance, text=stripped,
        consequence=None if so < 0 else after.strip(), note=note, section=section, chars=len(line),
        slug_column=head.start(1) + 1, provenance_column=provenance_column, text_column=text_column,
        so_column=at + so + 1 if so >= 0 else 0,
        consequence_column=at + so + len(SO) + len(after) - len(after.lstrip()) + 1 if so >= 0 else 0,
        note_column=note_column,
        links=tuple((at + place + 1, target) for place, target in links_into_notes(masked)),
        more=tuple(at + place + 1 for place in others),
    )  # fmt: skip


def _other_marks(masked: str, so: int) -> list[int]:
    """The places of all that reads as a `So:` but the one at `so`."""
    rest = masked.replace(SO, "", 1)
    if "So" not in rest and not any(sign in rest for sign in _MARKS):
        return []
    found = {match.start() for form in (SO_LIKE, SO_BARE) for match in form.finditer(masked)}
    return sorted(found - {so})


def _may_be_provenance(inner: str, words: Collection[str]) -> bool:
    """Whether it is a known word, or an unknown one that resembles none: that is a finding of its own."""
    if inner in words:
        return True
    folded = inner.strip().casefold()
    return bool(folded) and all(folded != word.casefold() for word in words)


def _fenced(text: str) -> tuple[frozenset[int], int]:
    """The numbers of the lines in fences, frames included, and the line that opens one which is never closed (0)."""
    if not any(sign in text for sign in _FENCE_SIGNS):
        return frozenset(), 0
    numbers: set[int] = set()
    unclosed, at, line = 0, 0, 1
    for fence in find_fences(text):
        line += text.count("\n", at, fence.start)
        stop = min(fence.stop, len(text))
        inside = text.count("\n", fence.start, stop)
        last = line + inside - (1 if stop and text[stop - 1] == "\n" and stop > fence.start else 0)
        numbers.update(range(line, last + 1))
        if fence.end > len(text):
            unclosed = line
            numbers.add(line + inside)
        line += inside
        at = stop
    return frozenset(numbers), unclosed


def _swallowed(opening: int, hidden: list[int]) -> Miss:
    what = "a line that looks like a fact" if len(hidden) == 1 else f"{len(hidden)} lines that look like facts"
    return Miss(
        opening, 1, f"a fence that is never closed hides {what}, the first in line {hidden[0]}",
        "Close the fence, or take its opening line out.",
    )  # fmt: skip
