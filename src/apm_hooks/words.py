"""Text → words (protocol, section 5, step 2): width and case folded, any script, identifiers taken apart.

Pure and linear in the text's length. Scripts without spaces stay in runs: Han with hiragana, katakana
apart; all other letters and digits form words. A word longer than `WORD_CHARS` is no word (an encoded
text): its head stands for it.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from dataclasses import dataclass
from enum import IntEnum, StrEnum

JOINERS = "-_.'’‐‑·"
SIGNS = {"++": 3, "#": 1}
WORD_CHARS = 80


class Kind(StrEnum):
    """The kind of script a word is written in: it decides how two words are compared."""

    WORD = "word"
    HANGUL = "hangul"
    KANA = "kana"
    HAN = "han"


class Class(IntEnum):
    """What a word can say, from nothing to a topic; `words_generic` says what the middle ones mean."""

    STOP = 0
    CHAT = 1
    VOID = 2
    COMMON = 3
    LIGHT = 4
    CONTENT = 5


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text, or one run of a script without spaces.

    `raw` is the text as written (NFKC), `text` its casefolded form, `plain` that without Latin accents and
    katakana's prolonged ends. `at` is its place in the text, counted in words (a run counts half its
    characters). `whole` is the plain form of the compound that it was taken from (`preedit` for the `edit`
    of `pre-edit`), or empty.
    """

    raw: str
    text: str
    plain: str
    kind: Kind
    at: int
    whole: str = ""


def fold(text: str) -> str:
    """`text` casefolded, without the accents of Latin letters, `е` for `ё`; others keep their marks."""
    text = text.casefold()
    if text.isascii():
        return text
    out = []
    for char in text:
        if "\u00c0" <= char <= "\u024f" or "\u1e00" <= char <= "\u1eff":
            out.append(unicodedata.normalize("NFKD", char)[0])
        elif char == "ё":
            out.append("е")
        elif not "\u0300" <= char <= "\u036f":
            out.append(char)
    return "".join(out)


def without_long_end(kana: str) -> str:
    """A katakana word without a prolonged end: it comes and goes (`サーバー`, `サーバ`)."""
    return kana.rstrip("ー") or kana


def kind_of(char: str) -> Kind | None:
    """The script class of a character of a word, or None where it separates words."""
    if char.isascii():
        return Kind.WORD if char.isalnum() else None
    return _kind_of(char)


@functools.lru_cache(maxsize=8192)
def _kind_of(char: str) -> Kind | None:
    code = ord(char)
    if 0x3041 <= code <= 0x309F or 0x3400 <= code <= 0x9FFF or 0xF900 <= code <= 0xFAFF:
        return Kind.HAN
    if code in (0x3005, 0x3006, 0x3007) or 0x20000 <= code <= 0x3FFFF:
        return Kind.HAN
    if 0x30A1 <= code <= 0x30FA or code in (0x30FC, 0x30FD, 0x30FE) or 0x31F0 <= code <= 0x31FF:
        return Kind.KANA
    if 0xAC00 <= code <= 0xD7A3 or 0x1100 <= code <= 0x11FF or 0x3130 <= code <= 0x318F:
        return Kind.HANGUL
    if char.isalnum() or unicodedata.category(char)[0] == "M":
        return Kind.WORD
    return None


def is_core(char: str) -> bool:
    """Whether a character of a Han run carries meaning by itself: all but hiragana."""
    return not "\u3041" <= char <= "\u309f"


def words_of(text: str, *, humps: bool = True) -> tuple[Word, ...]:
    """The words of `text` in order; punctuation, symbols and emoji are dropped.

    `snake_case`, `camelCase` (unless `humps` is false) and hyphenated words give their parts, each of which
    knows the whole; `c++`, `c#`, `v1.2` and `4.2` stay whole.
    """
    text = _contractions().sub(r"\1 is", unicodedata.normalize("NFKC", text))
    out: list[Word] = []
    at = 0
    for kind, group in _groups(text):
        if kind is Kind.WORD:
            parts = [piece for part in group for piece in _humps(part)] if humps else group
            whole = fold("".join(group)) if len(parts) > 1 else ""
            for part in parts:
                short = part[:WORD_CHARS]
                out.append(Word(short, short.casefold(), fold(short), kind, at, whole))
                at += 1
            continue
        run = group[0] if kind is Kind.HAN else group[0][:WORD_CHARS]
        plain = without_long_end(run) if kind is Kind.KANA else run
        out.append(Word(run, run, plain, kind, at))
        at += (len(run) + 1) // 2 if kind is Kind.HAN else 1
    return tuple(out)


@functools.cache
def _contractions() -> re.Pattern[str]:
    # A row says "what is next"; people write "what's next".
    return re.compile(r"\b(what|who|where|when|how)['’]s\b", re.IGNORECASE)


def _groups(text: str) -> list[tuple[Kind, list[str]]]:
    """Runs of one script; a word that joiners hold together is one group of several parts."""
    runs = _runs(text)
    groups: list[tuple[Kind, list[str]]] = []
    joiner = ""
    for place, (kind, run) in enumerate(runs):
        parts = groups[-1][1] if groups and groups[-1][0] is Kind.WORD else []
        if kind is None:
            joiner = run if len(run) == 1 and run in JOINERS else ""
            if parts and (run not in SIGNS or place + 1 == len(runs)):
                parts[-1] += _sign(parts[-1], run)
            continue
        if not (joiner and parts and kind is Kind.WORD):
            groups.append((kind, [run]))
        elif joiner == "." and run[0].isdigit() and parts[-1][-1].isdigit():
            parts[-1] += joiner + run
        else:
            parts.append(run)
        joiner = ""
    return groups


def _runs(text: str) -> list[tuple[Kind | None, str]]:
    """Stretches of one kind; a prolonged sound mark after hiragana belongs to it (`らーめん`)."""
    if not text:
        return []
    known = {char: kind_of(char) for char in set(text)}
    kinds = [known[char] for char in text]
    if "ー" in known:
        for place in range(1, len(text)):
            if text[place] == "ー" and kinds[place - 1] is Kind.HAN:
                kinds[place] = Kind.HAN
    grouped = itertools.groupby(range(len(text)), kinds.__getitem__)
    starts = [(kind, next(places)) for kind, places in grouped]
    ends = [start for _, start in starts[1:]] + [len(text)]
    return [(kind, text[start:end]) for (kind, start), end in zip(starts, ends, strict=True)]


def _sign(word: str, after: str) -> str:
    """What belongs to a short name of letters although it is no letter: the rest of `c++` and `c#`."""
    signs = (sign for sign, length in SIGNS.items() if after.startswith(sign) and len(word) <= length)
    return next(signs, "") if word.isalpha() else ""


def _humps(part: str) -> list[str]:
    if part.islower() or part.isupper() or not part.isascii():
        return [part]
    cuts = [0]
    for place in range(1, len(part)):
        before, here = part[place - 1], part[place]
        after = part[place + 1 : place + 2]
        if here.isupper() and (before.islower() or (before.isupper() and after.islower())):
            cuts.append(place)
    humps = [part[a:b] for a, b in itertools.pairwise([*cuts, len(part)])]
    return humps if all(len(hump) > 1 for hump in humps) else [part]
