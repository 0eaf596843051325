"""Text → words (protocol, section 5, step 2): width and case folded, any script, identifiers taken apart.

Pure and linear in the text's length. Scripts without spaces stay in runs: Han with hiragana, katakana apart; all other
letters and digits form words.
"""

from __future__ import annotations

import functools
import unicodedata
from dataclasses import dataclass
from enum import StrEnum

JOINERS = "-_.'’‐‑·"


class Kind(StrEnum):
    """The kind of script a word is written in: it decides how two words are compared."""

    WORD = "word"
    HANGUL = "hangul"
    KANA = "kana"
    HAN = "han"


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a text, or one run of a script without spaces.

    `raw` is the text as written (NFKC), `text` its casefolded form, `plain` that without Latin accents. `at` is its place
    in the text, counted in words (a run counts half its characters). `whole` is the plain form of the compound that it was
    taken from (`preedit` for the `edit` of `pre-edit`), or empty.
    """

    raw: str
    text: str
    plain: str
    kind: Kind
    at: int
    whole: str = ""


def fold(text: str) -> str:
    """`text` casefolded and without the accents of Latin letters; `ё` becomes `е`. Other scripts keep their marks."""
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


def words_of(text: str) -> tuple[Word, ...]:
    """The words of `text` in order; punctuation, symbols and emoji are dropped.

    `snake_case`, `camelCase` and hyphenated words give their parts, each of which knows the whole; `c++`, `c#`,
    `v1.2` and `4.2` stay whole.
    """
    text = unicodedata.normalize("NFKC", text)
    out: list[Word] = []
    at = 0
    for kind, group in _groups(text):
        if kind is Kind.WORD:
            parts = [piece for part in group for piece in _humps(part)]
            whole = fold("".join(group)) if len(parts) > 1 else ""
            for part in parts:
                out.append(Word(part, part.casefold(), fold(part), kind, at, whole))
                at += 1
            continue
        run = group[0]
        plain = run.rstrip("ー") or run if kind is Kind.KANA else run
        out.append(Word(run, run, plain, kind, at))
        at += (len(run) + 1) // 2 if kind is Kind.HAN else 1
    return tuple(out)


def _groups(text: str) -> list[tuple[Kind, list[str]]]:
    groups: list[tuple[Kind, list[str]]] = []
    start, size = 0, len(text)
    while start < size:
        kind = kind_of(text[start])
        if kind is None:
            start += 1
            continue
        end = _end_of_run(text, start, kind)
        if kind is not Kind.WORD:
            groups.append((kind, [text[start:end]]))
            start = end
            continue
        parts = [text[start:end]]
        while end + 1 < size and text[end] in JOINERS and kind_of(text[end + 1]) is Kind.WORD:
            joiner, start = text[end], end + 1
            end = _end_of_run(text, start, kind)
            part = text[start:end]
            if joiner == "." and part[0].isdigit() and parts[-1][-1].isdigit():
                parts[-1] += joiner + part
            else:
                parts.append(part)
        for sign in ("++", "#"):
            if text.startswith(sign, end) and parts[-1][-1].isalpha():
                parts[-1] += sign
                end += len(sign)
        groups.append((kind, parts))
        start = end
    return groups


def _end_of_run(text: str, start: int, kind: Kind) -> int:
    end = start + 1
    while end < len(text):
        other = kind_of(text[end])
        if other is not kind and not (text[end] == "ー" and kind is Kind.HAN):
            break
        end += 1
    return end


def _humps(part: str) -> list[str]:
    if part.islower() or part.isupper() or not part.isascii():
        return [part]
    cuts = [0]
    for place in range(1, len(part)):
        before, here = part[place - 1], part[place]
        after = part[place + 1 : place + 2]
        if here.isupper() and (before.islower() or (before.isupper() and after.islower())):
            cuts.append(place)
    cuts.append(len(part))
    return [part[a:b] for a, b in zip(cuts, cuts[1:], strict=False) if b > a]
