"""Text → index words, and query → index words: one way for both engines, so that they match the same rows. Pure.

English is stemmed (Snowball), function words are left out by the lists that routing uses, and scripts without blanks
are cut into pairs of characters, so that any two neighbouring ones of a text find it. What comes out is letters and
digits alone: no query can be a syntax error.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice

from apm_hooks.store.items import STORE_LIMITS
from apm_hooks.wordlists import STOP, STOP_HAN, STOP_HANGUL
from apm_hooks.words import Kind, Word, fold, words_of

_SIGNS = str.maketrans({"+": "plus", "#": "sharp", ".": "dot"})
_CLITICS = frozenset("sdtm")
# Words that say too little to route a message by, and enough to tell one memory from another.
_TELLING = frozenset(
    """
    two three four five six seven eight nine ten first second third last next half whole today tomorrow yesterday
    tonight old big small little long short good bad better best worse worst high low right wrong left early late far
    fast slow hard easy real true false full empty inside outside never always often
    """.split()  # noqa: SIM905 - a list of words reads as words
)


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(fold(word).replace("'", "") for word in STOP["en"].split()) - _TELLING | _CLITICS


@cache
def _stop_runs() -> tuple[frozenset[str], frozenset[str], int]:
    """Function words of runs: those of several characters, those of one, and the length of the longest."""
    entries = STOP_HAN.split()
    several = frozenset(entry for entry in entries if len(entry) > 1)
    return several, frozenset(entry for entry in entries if len(entry) == 1), max(map(len, several))


@cache
def _stop_hangul() -> frozenset[str]:
    return frozenset(STOP_HANGUL.split())


@cache
def _stemmer() -> object:
    from snowballstemmer import stemmer

    return stemmer("english")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The English stem of a folded word; a word with digits, or of another script, stays as it is."""
    if not word.isalpha() or not word.isascii():
        return word
    stemmed: str = _stemmer().stemWord(word)  # type: ignore[attr-defined]
    return stemmed


def index_terms(text: str) -> tuple[str, ...]:
    """The index words of a stored text, in order and as often as they occur.

    Lower case, without accents; each of letters and digits. A compound gives its parts and the whole (`flush-state`:
    flush, state, flushstate); a run of Han, kana or hangul its pairs, one of a single character that character.
    """
    return tuple(_terms(text, query=False))


def query_terms(text: str) -> tuple[str, ...]:
    """The content words of a query as index words, each once, at most `StoreLimits.query_words`; empty where it has
    none, which finds nothing."""
    return tuple(islice(dict.fromkeys(_terms(text[: STORE_LIMITS.query_chars], query=True)), STORE_LIMITS.query_words))


def _terms(text: str, *, query: bool) -> Iterator[str]:
    whole = ""
    for word in words_of(text):
        if word.kind is not Kind.WORD:
            yield from _pairs(word, query=query)
            continue
        if word.whole and word.whole != whole:
            yield from _plain(word.whole)
        whole = word.whole
        yield from _plain(word.plain)


def _plain(word: str) -> Iterator[str]:
    if word not in _stop_words():
        term = stem(word).translate(_SIGNS)
        # Marks of Indic and other scripts are no letters to every engine: without them a word is still itself.
        term = term if term.isalnum() else "".join(filter(str.isalnum, term))
        if term:
            yield term


def _pairs(word: Word, *, query: bool) -> Iterator[str]:
    if word.kind is Kind.HANGUL and word.plain in _stop_hangul():
        return
    pieces = _without_stop(word.plain) if query and word.kind is Kind.HAN else [word.plain]
    alone = _stop_runs()[1] if word.kind is Kind.HAN else frozenset[str]()
    for piece in pieces:
        letters = piece if piece.isalnum() else "".join(filter(str.isalnum, piece))
        if len(letters) == 1 and letters not in alone:
            yield letters
        for at in range(len(letters) - 1):
            if letters[at] not in alone or letters[at + 1] not in alone:
                yield letters[at : at + 2]


def _without_stop(run: str) -> list[str]:
    """A run of a query without its function words, cut out by the longest match."""
    several, _, longest = _stop_runs()
    pieces, start, at = [], 0, 0
    while at < len(run):
        size = next((size for size in range(min(longest, len(run) - at), 1, -1) if run[at : at + size] in several), 0)
        if size:
            pieces.append(run[start:at])
            start = at = at + size
        else:
            at += 1
    return [piece for piece in (*pieces, run[start:]) if piece]
