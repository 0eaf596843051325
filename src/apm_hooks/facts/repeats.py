"""Sentences that stand in more than one of the index, the log of decisions and the ideas. Pure, linear in the texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from unicodedata import normalize

from apm_hooks.facts.model import DECISIONS, IDEAS, INDEX, FactIndex, Memory

_END = re.compile(r"(?<=[.!?])[\"')\]*_]*\s+|(?<=[。！？])|\s(?=\*\*So:\*\*)|(?<=\*\*So:\*\*)\s")
_WORDS = re.compile(r"\w+")
_LEAD = re.compile(
    r"\s*(?:>\s?)*(?:[-*+]\s+|\d{1,9}[.)]\s+|#{1,6}\s+)?(?:\[[ xX]\]\s+)?(?:\**`[^`]*`\**\s*[·:—–-]\s*)?"
    r"(?:\[?\d{4}-\d{2}-\d{2}\]?\s*[·:—–-]?\s*)?"
)
_LEAST_WORDS, _LEAST_WIDE = 5, 10
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")

Place = tuple[str, int, int]
"""Path, line, column."""


def repeats(memory: Memory, index: FactIndex) -> Iterator[tuple[Place, Place]]:
    """Where a sentence stands, and where it stands first in another of the files; one pair for a line.

    What is too short to be told by chance from another, and code, are no sentences here.
    """
    others = [(path, line, column, key) for path, text in ((DECISIONS, memory.decisions), (IDEAS, memory.ideas))
              for line, column, sentence in _of_text(text) if (key := _key(sentence))]  # fmt: skip
    wanted = {key for *_, key in others}
    if not wanted:
        return
    # An index may have a hundred thousand sentences: only those that stand elsewhere too are kept.
    seen: dict[str, Place] = {}
    for line, column, sentence in _of_index(index):
        key = _key(sentence)
        if key in wanted:
            seen.setdefault(key, (INDEX, line, column))
    told: set[tuple[str, int]] = set()
    for path, line, column, key in others:
        first = seen.setdefault(key, (path, line, column))
        if first[0] != path and (path, line) not in told:
            told.add((path, line))
            yield (path, line, column), first


def _of_index(index: FactIndex) -> Iterator[tuple[int, int, str]]:
    for fact in index.facts:
        for at, sentence in _sentences(fact.text):
            yield fact.line, fact.text_column + at, sentence
        for at, sentence in _sentences(fact.consequence or ""):
            yield fact.line, fact.consequence_column + at, sentence


def _of_text(text: str | None) -> Iterator[tuple[int, int, str]]:
    fenced = False
    for number, line in enumerate((text or "").split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        if fenced or line.startswith("    ") or not line.strip():
            continue
        lead = _LEAD.match(line)
        skip = lead.end() if lead else 0
        for at, sentence in _sentences(line[skip:]):
            yield number, skip + at + 1, sentence


def _sentences(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for match in _END.finditer(text):
        if match.end() > at:
            yield at, text[at : match.start()]
            at = match.end()
    if at < len(text):
        yield at, text[at:]


def _key(sentence: str) -> str:
    """What makes two sentences the same: their words, whatever the case and the marks between them."""
    folded = (sentence if sentence.isascii() else normalize("NFKC", sentence)).casefold()
    words = _WORDS.findall(folded)
    key = " ".join(words)
    return key if len(words) >= _LEAST_WORDS or len(_WIDE.findall(key)) >= _LEAST_WIDE else ""
