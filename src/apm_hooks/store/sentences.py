"""A text as tokens, and what each of them is: a number, a name, a word that denies. Pure.

Tokens are words of scripts with blanks, and single characters of the others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from apm_hooks.store import conflictwords as lists
from apm_hooks.words import Kind, kind_of


def _pairs(text: str) -> frozenset[frozenset[str]]:
    return frozenset(frozenset(pair.split()) for pair in text.replace("\n", " ").split("|"))


WEAK = frozenset(lists.WEAK.split())
"""English words that may come and go without another meaning."""
AUXILIARIES = frozenset(lists.AUXILIARIES.split())
OPPOSITES = _pairs(lists.OPPOSITES)
OPPOSITES_HAN = _pairs(lists.OPPOSITES_HAN)
SURNAMES_HAN = frozenset(lists.SURNAMES_HAN)

_TOKEN = re.compile(r"[^\W_]+(?:['’.:,/_-](?=\w)[^\W_]+)*|[。！？；!?;.\n]")
_ENDS = frozenset("。！？；!?;.\n")
_NEGATIONS = frozenset(lists.NEGATIONS.split())
_NUMBER_WORDS = frozenset(lists.NUMBER_WORDS.split())
_FIRST_NAMES = frozenset(lists.FIRST_NAMES.split())

NUMBER_HAN = re.compile(rf"[0-9.:/-]+|[{lists.NUMBERS_HAN}]+|(?<=[周期拜])[日天]")
NEGATION_HAN = re.compile("|".join(lists.NEGATIONS_HAN.split()))
PLACE_HAN = re.compile("|".join(lists.PLACES_HAN.split()))


@dataclass(frozen=True, slots=True)
class Token:
    """A word or a character of a script without blanks; `text` is folded, `key` is what two tokens share that are one
    word (`want`, `wants`), `start` is true at a sentence's start."""

    raw: str
    text: str
    key: str
    han: bool
    start: bool


@lru_cache(maxsize=256)
def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of a text, without punctuation. A new text is compared with several, and they with the next one."""
    out: list[Token] = []
    start = True
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text)):
        word = match[0]
        if word in _ENDS:
            start = True
            continue
        for piece, han in _pieces(word):
            folded = piece.casefold().replace("’", "'")
            out.append(Token(piece, folded, folded if han else _key(folded), han, start))
            start = False
    return tuple(out)


def _key(word: str) -> str:
    return word.removesuffix("s") if len(word) > 3 and not any(map(str.isdigit, word)) else word


def _pieces(word: str) -> Iterator[tuple[str, bool]]:
    if word.isascii():
        yield word, False
        return
    held = ""
    for char in word:
        if kind_of(char) in (Kind.HAN, Kind.KANA, Kind.HANGUL):
            if held:
                yield held, False
            held = ""
            yield char, True
        else:
            held += char
    if held:
        yield held, False


def is_number(token: Token) -> bool:
    """A number, a time, a version, a day or a month."""
    word = token.text
    return any(map(str.isdigit, word)) or (word in _NUMBER_WORDS and not token.han) or (
        word.removesuffix("'s") in _NUMBER_WORDS
    )  # fmt: skip


def is_name(token: Token) -> bool:
    word = token.text.removesuffix("'s")
    if token.han or not word[:1].isalpha():
        return False
    if word in _FIRST_NAMES:
        return token.raw[:1].isupper()
    return token.raw[:1].isupper() and not token.start and word not in WEAK and word != "i"


def is_turn(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")
