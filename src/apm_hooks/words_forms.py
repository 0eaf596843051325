"""When two words are the same word: spelling, stem, compound, typo (protocol, section 5, step 2). Pure."""

from __future__ import annotations

import functools
import unicodedata
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from apm_hooks import words_families
from apm_hooks.wordlists import CYRILLIC_LANGUAGES, LATIN_LANGUAGES
from apm_hooks.words import Kind, Word, fold, without_long_end
from apm_hooks.words_class import is_cyrillic
from apm_hooks.words_hangul import hangul_core, hangul_forms
from apm_hooks.words_typos import SLIP, distance, is_typo, letters_mask

if TYPE_CHECKING:
    from collections.abc import Iterable

SNOWBALL = {"en": "english", "de": "german", "es": "spanish", "fr": "french", "ru": "russian"}
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
GERMAN_ENDINGS = ("en", "er", "es", "em", "e", "n", "s")
GERMAN_PREFIXES = frozenset(
    {"ver", "ent", "zer", "miss", "vor", "auf", "aus", "ein", "bei", "nach", "uber", "ueber", "unter", "mit"}
    | {"wider", "wieder", "hinter", "durch", "los"}
)
STEM = 3
DERIVED = 5
COMPOUND = 5


class How(StrEnum):
    """How a word of a message is a word of a row, from the surest to the least sure."""

    SAME = "same"
    STEM = "stem"
    PART = "part"
    TYPO = "typo"
    BEGINNING = "beginning"


STRENGTH = {How.SAME: 1.0, How.STEM: 0.96, How.PART: 0.8, How.TYPO: 0.75, How.BEGINNING: 0.5}


def spellings(text: str) -> tuple[str, ...]:
    """The plain spellings of a casefolded word.

    Without accents, and with umlauts written out (`müll`: mull, muell).
    """
    if text.isascii():
        return (text,)
    plain = fold(text)
    spelled = fold(text.translate(UMLAUTS))
    return (plain,) if spelled == plain else (plain, spelled)


def tail(plain: str) -> str:
    """The last letters of a word without a German ending: by them, the parts of compounds find each other."""
    return german_base(plain)[-4:]


@functools.cache
def _families() -> dict[str, tuple[str, ...]]:
    out: dict[str, tuple[str, ...]] = {}
    for line in words_families.FAMILIES.strip().splitlines():
        family = f"family:{line.split()[0]}"
        for word in dict.fromkeys(fold(word) for word in line.split()):
            out[word] = (*out.get(word, ()), family)
    return out


def families_of(plain: str) -> tuple[str, ...]:
    """The names of the families that a word belongs to: one for each language that has it, mostly none."""
    return _families().get(plain, ())


def german_roots(plain: str) -> frozenset[str]:
    """What is left of a German verb or of a noun made from one.

    `gebucht`, `buchen` and `buchung` have `buch` in common.
    """
    roots = {german_base(plain)} if len(plain) >= COMPOUND else set()
    if plain.startswith("ge") and plain.endswith("t"):
        participle = plain[2:-1]
        roots |= {participle, participle.removesuffix("e")}
    else:
        ending = next((ending for ending in ("ungen", "ung", "erin", "en", "er") if plain.endswith(ending)), "")
        roots |= {plain.removesuffix(ending)} if ending else set()
    return frozenset(root for root in roots if len(root) >= 4)


def german_base(plain: str) -> str:
    """A German word without the ending of its case or number."""
    for ending in GERMAN_ENDINGS:
        if plain.endswith(ending) and len(plain) - len(ending) >= COMPOUND:
            return plain.removesuffix(ending)
    return plain


def lookup_keys(text: str, *, german: bool) -> tuple[str, ...]:
    """What two words must share at least one of to be compared.

    Their beginnings, or the family that they belong to.
    """
    plain = spellings(text)
    roots = german_roots(plain[0]) if german else ()
    keys = [spelling[:STEM] for spelling in (*plain, *sorted(roots))]
    return tuple(dict.fromkeys([*keys, *families_of(plain[0])]))


class Comparer:
    """Compares words in a set of plausible languages.

    Holds the stemmers and what they answered, for one call chain. Made anew for each message: a stemmer is
    not safe to share between threads.
    """

    def __init__(self, languages: Iterable[str]) -> None:
        known = tuple(languages)
        self._languages = known or LATIN_LANGUAGES
        self.german = "de" in known
        self._stemmers: dict[str, Any] = {}
        self._stems: dict[tuple[str, str], frozenset[str]] = {}

    def stems(self, text: str) -> frozenset[str]:
        """The stems of a casefolded word in each plausible language of its script, as `en:deploy`."""
        languages = CYRILLIC_LANGUAGES if is_cyrillic(text) else self._languages
        return frozenset(families_of(fold(text))).union(*(self._stems_in(name, text) for name in languages))

    def bare_stems(self, text: str) -> list[str]:
        """The stems of a casefolded word without their languages, in a stated order."""
        return sorted(stem[3:] for stem in self.stems(text) if stem[2] == ":")

    def _stems_in(self, language: str, text: str) -> frozenset[str]:
        found = self._stems.get((language, text))
        if found is None and not text.isalpha():
            found = self._stems[language, text] = frozenset()
        if found is None:
            stemmer = self._stemmers.get(language)
            if stemmer is None:
                import snowballstemmer

                stemmer = self._stemmers[language] = snowballstemmer.stemmer(SNOWBALL[language])
            plain = fold(text)
            stems = {fold(stemmer.stemWord(text))}
            if plain != text:
                stems.add(stemmer.stemWord(plain))
            found = frozenset(f"{language}:{stem}" for stem in stems if len(stem) >= STEM)
            self._stems[language, text] = found
        return found

    def relate(self, word: Word, text: str, kind: Kind) -> How | None:
        """How `word` is the row's word `text` (casefolded, of the script `kind`), typos apart.

        None where it is not.
        """
        if word.kind is not kind:
            return None
        if kind is Kind.HANGUL:
            return _relate_hangul(word.text, text)
        if kind is Kind.KANA:
            return _relate_kana(word.plain, without_long_end(text))
        mine, theirs = spellings(word.text), spellings(text)
        if not set(mine).isdisjoint(theirs):
            return How.SAME
        if min(len(mine[0]), len(theirs[0])) < STEM:
            return None
        ours, others = self.stems(word.text), self.stems(text)
        if not ours.isdisjoint(others):
            return How.STEM
        if any(_is_derived(one, other) for one in ours for other in others):
            return How.PART
        return _relate_german(mine[0], theirs[0]) if self.german else None


def is_near(word: Word, text: str, kind: Kind, comparer: Comparer) -> bool:
    """Whether `word` is the row's word `text` with a small typo, both with or both without their endings.

    Korean syllables are compared letter by letter; in katakana, voicing marks and a small `ッ` are easily
    mistaken.
    """
    if word.kind is not kind:
        return False
    if kind is Kind.KANA:
        return _is_kana_typo(word.text, text)
    if kind is Kind.HANGUL:
        meant = unicodedata.normalize("NFD", text)
        forms = [unicodedata.normalize("NFD", form) for form in hangul_forms(word.text) if len(form) >= 3]
        return len(text) >= 3 and any(is_typo(form, meant) for form in forms)
    meant = fold(text)
    if is_typo(word.plain, meant):
        return True
    if abs(len(word.plain) - len(meant)) > 3 or word.plain[0] not in meant[:2]:
        return False
    if (letters_mask(word.plain) ^ letters_mask(meant)).bit_count() > 4:
        return False
    ours, others = comparer.stems(word.text), comparer.stems(text)
    return any(one[:3] == other[:3] and is_typo(one[3:], other[3:], wrong=False) for one in ours for other in others)


def _is_kana_typo(word: str, meant: str) -> bool:
    if min(len(word), len(meant)) < 3:
        return False
    if _bare_kana(word) == _bare_kana(meant):
        return True
    if min(len(word), len(meant)) == 4:
        return word[0] == meant[0] and distance(word, meant, SLIP) <= SLIP
    return is_typo(word, meant)


def _bare_kana(kana: str) -> str:
    bare = unicodedata.normalize("NFD", kana.replace("ッ", "").replace("ー", ""))
    return bare.replace("\u3099", "").replace("\u309a", "")


def _is_derived(one: str, other: str) -> bool:
    """Two stems of one language of which one is the other with a short ending (`complain`, `complaint`)."""
    if one[:3] != other[:3]:
        return False
    short, long = sorted((one[3:], other[3:]), key=len)
    least = DERIVED if one.startswith("en:") else DERIVED + 1
    return len(short) >= least and long.startswith(short) and len(long) - len(short) <= 2


def _relate_german(word: str, text: str) -> How | None:
    """A verb and its noun, or a compound and its first or last word (`Rechnungsnummer`, `Eingangsrechnung`).

    The first word of a row's compound says little of it (`Dienst` of `Dienstplan`), its last word names
    what kind of thing it is.
    """
    if not german_roots(word).isdisjoint(german_roots(text)):
        return How.PART
    mine, theirs = german_base(word), german_base(text)
    short, long = sorted((mine, theirs), key=len)
    if len(short) < COMPOUND or len(long) - len(short) < 3:
        return None
    if long.startswith(short):
        return How.PART if long == mine else How.BEGINNING
    return How.PART if long.endswith(short) and long.removesuffix(short) not in GERMAN_PREFIXES else None


def _relate_hangul(word: str, text: str) -> How | None:
    forms = hangul_forms(word)
    core = hangul_core(text)
    if text in forms or core in forms or any(len(form) > 1 and form in forms for form in hangul_forms(text)):
        return How.SAME
    if len(core) < 2:
        return None
    if word.startswith(core):
        return How.STEM
    if any(form.endswith(core) for form in forms):
        return How.PART
    mine = hangul_core(word)
    if len(mine) > 1 and len(core) > 3 and (core.startswith(mine) or core.endswith(mine)):
        return How.PART
    return None


def _relate_kana(word: str, text: str) -> How | None:
    if word == text:
        return How.SAME
    short, long = sorted((word, text), key=len)
    least = 3 if short == text else 4
    if len(short) >= least and len(long) - len(short) >= 2 and (long.startswith(short) or long.endswith(short)):
        return How.PART
    return None
