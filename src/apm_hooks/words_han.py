"""Han and hiragana runs: word lists and lengths must tell where a word ends (protocol, section 5, step 2).

Pure; without a dictionary, and linear in the run's length.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from apm_hooks import wordlists, words_chat, words_families, words_generic
from apm_hooks.words import Class, is_core

INNER_SUFFIXES = "库庫器机機端性化学學子長长"
HIRAGANA_WEIGHT = 0.35


@functools.cache
def _lexicon() -> dict[str, Class]:
    """Entries that are cut out of Han and kana runs."""
    lists = (
        (wordlists.STOP_HAN, Class.STOP),
        (words_generic.LIGHT_HAN, Class.LIGHT),
        (words_generic.COMMON_HAN, Class.COMMON),
        (words_generic.VOID_HAN, Class.VOID),
        (words_chat.CHAT_HAN, Class.CHAT),
        (words_families.WHOLE_HAN, Class.CONTENT),
    )
    return {entry: kind for text, kind in reversed(lists) for entry in text.split()}


@functools.cache
def _longest_entries() -> dict[str, int]:
    longest: dict[str, int] = {}
    for entry in _talk_lexicon():
        longest[entry[0]] = max(longest.get(entry[0], 0), len(entry))
    return longest


@functools.cache
def _talk_lexicon() -> dict[str, Class]:
    pleasant = dict.fromkeys(words_chat.PLEASANT_HAN.split(), Class.STOP)
    return {**pleasant, **_lexicon()}


def pieces_of(run: str) -> list[tuple[str, Class]]:
    """A Han or hiragana run of a message cut at listed words, longest match first; the rest is content."""
    return _cut(run, _lexicon())


def talk_pieces_of(run: str) -> list[tuple[str, Class]]:
    """A run cut likewise, pleasant words dropped: what is left of small talk when its words are taken out."""
    return [
        (text, kind)
        for text, kind in _cut(run, _talk_lexicon())
        if kind is not Class.CONTENT or len(text) > 1 or is_core(text)
    ]


def class_of_han(text: str) -> Class:
    """The class of a piece of a Han run."""
    return _lexicon().get(text, Class.CONTENT)


def terms_of_run(run: str) -> list[tuple[str, Class]]:
    """A Han or hiragana run of a scenario cut at the words of the lists.

    A single character is never left over: where one would be, the cut is not made (`工作帽` stays whole
    although `工作` is a generic word); of the one-character words only connectives cut. A one-character
    Japanese particle cuts only between two words, so that `見積もり` stays whole. A word of one Han
    character with its ending is too common to be a topic by itself.
    """
    pieces = _without_leftovers(_cut(run, _scenario_lexicon(), wordlists.CONNECTIVES_HAN))
    return [(text, Class.LIGHT if kind is Class.CONTENT and _is_verb(text) else kind) for text, kind in pieces]


def _is_verb(text: str) -> bool:
    return len(text) > 1 and sum(map(is_core, text)) == 1


@functools.cache
def _scenario_lexicon() -> dict[str, Class]:
    return {entry: kind for entry, kind in _lexicon().items() if len(entry) > 1 or not is_core(entry)} | dict.fromkeys(
        wordlists.CONNECTIVES_HAN, Class.STOP
    )


def _cut(run: str, lexicon: dict[str, Class], joining: str = "") -> list[tuple[str, Class]]:
    """`run` cut at the entries of `lexicon`; those of `joining` only between two words."""
    pieces: list[tuple[str, Class]] = []
    place = start = 0
    while place < len(run):
        entry = _entry_at(run, place, lexicon)
        if entry and not (entry in joining and _is_inside_a_word(run, place, start)):
            if start < place:
                pieces.append((run[start:place], Class.CONTENT))
            pieces.append((entry, lexicon[entry]))
            start = place + len(entry)
        place += len(entry) or 1
    if start < len(run):
        pieces.append((run[start:], Class.CONTENT))
    return pieces


def _is_inside_a_word(run: str, place: int, start: int) -> bool:
    """Whether a connective stands beside a lone character: then it is a part of a word (`目的`, `参与者`)."""
    before, after = place - start, len(run) - place - 1
    return before == 1 or after == 1 or place == 0


def _entry_at(run: str, place: int, lexicon: dict[str, Class]) -> str:
    for size in range(min(_longest_entries().get(run[place], 0), len(run) - place), 0, -1):
        entry = run[place : place + size]
        if entry in lexicon and (size > 1 or is_core(entry) or _cuts(run, place)):
            return entry
    return ""


def _cuts(run: str, place: int) -> bool:
    """A particle stands before another word or at the end: before okurigana it is a part of the word."""
    return is_core(run[place + 1]) if place + 1 < len(run) else place > 0


def _without_leftovers(pieces: list[tuple[str, Class]]) -> list[tuple[str, Class]]:
    out: list[tuple[str, Class]] = []
    ahead = list(reversed(pieces))
    while ahead:
        text, kind = ahead.pop()
        if kind is Class.CONTENT and len(text) == 1 and is_core(text):
            if out and _absorbs(out[-1][0]):
                out[-1] = (out[-1][0] + text, Class.CONTENT)
                continue
            if ahead and _absorbs(ahead[-1][0]):
                following, _ = ahead.pop()
                ahead.append((text + following, Class.CONTENT))
                continue
        out.append((text, kind))
    return out


def _absorbs(text: str) -> bool:
    """Whether a lone character may be a part of the word before or after it: not of a particle."""
    return all(map(is_core, text)) and text not in wordlists.CONNECTIVES_HAN


def coverage(text: str, offsets: Sequence[int]) -> tuple[str, float]:
    """The longest stretch of a Han term that the message holds, and how surely it is the term.

    Without a dictionary, the length decides: two characters at either end of four or more are most likely a
    word, the first two of three as well (`值班` of `值班表`), unless the third makes another word of them
    (`数据库`).
    """
    if len(text) == 1:
        return text, 1.0
    stretches: list[tuple[int, int]] = []
    for offset in offsets:
        if stretches and stretches[-1][1] == offset + 1:
            stretches[-1] = (stretches[-1][0], offset + 2)
        else:
            stretches.append((offset, offset + 2))
    start, end = max(stretches, key=lambda stretch: (stretch[1] - stretch[0], -stretch[0]))
    covered = {place for first, last in stretches for place in range(first, last)}
    weights = [1.0 if is_core(char) else HIRAGANA_WEIGHT for char in text]
    share = sum(weights[place] for place in covered) / sum(weights)
    core = sum(map(is_core, text))
    found = sum(map(is_core, text[start:end])) if core else end - start
    if share >= 0.85:
        return text[start:end], 1.0
    if core > 1 and found < 2:
        return text[start:end], 0.35
    if found >= 3 or (end - start >= 3 and share >= 0.6):
        return text[start:end], 0.8
    if len(text) == 3:
        return text[start:end], 0.75 if start == 0 and text[2] not in INNER_SUFFIXES else 0.4
    if start == 0 and len(text) >= 4:
        return text[start:end], 0.45 if len(text) > 4 and text[2] in INNER_SUFFIXES else 0.72
    if end == len(text):
        return text[start:end], 0.72
    return text[start:end], 0.35
