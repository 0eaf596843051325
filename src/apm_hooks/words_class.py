"""How much a word can say about a topic: stop words, generic words, small talk, and what is left (protocol, section 5).

Pure. A Latin word is judged in the languages that its text is plausibly in: `die`, `comment` and `son` are grammar in one
language and a topic in another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum

from apm_hooks import words_chat, words_families, words_generic, wordlists
from apm_hooks.words import Kind, Word, fold, is_core


class Class(IntEnum):
    """What a word can say, from nothing to a topic; the module `words_generic` says what each of the middle ones means."""

    STOP = 0
    CHAT = 1
    VOID = 2
    COMMON = 3
    LIGHT = 4
    CONTENT = 5


@functools.cache
def listed(text: str) -> frozenset[str]:
    """The folded words of one of the word lists."""
    return frozenset(fold(word) for word in text.split())


@functools.cache
def _as_written(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in text.split())


@functools.cache
def _stop_words(languages: tuple[str, ...]) -> frozenset[str]:
    if not languages:
        return listed(wordlists.STOP["en"]).union(*map(listed, wordlists.MARKERS.values()))
    return frozenset().union(*(listed(wordlists.STOP[name] + wordlists.MARKERS.get(name, "")) for name in languages))


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
    for entry in _lexicon():
        longest[entry[0]] = max(longest.get(entry[0], 0), len(entry))
    return longest


@functools.cache
def _particles() -> tuple[str, ...]:
    return tuple(sorted(listed(wordlists.PARTICLES), key=lambda word: (-len(word), word)))


def languages_of(words: Iterable[Word]) -> tuple[str, ...]:
    """The Latin-script languages that a text is plausibly in, by its function words; none where it has none."""
    latin = [word for word in words if word.kind is Kind.WORD and not is_cyrillic(word.text)]
    for lists in (wordlists.MARKERS, wordlists.STOP):
        hits = {name: sum(word.text in _as_written(lists[name]) for word in latin) for name in wordlists.LATIN_LANGUAGES}
        hits["de"] += sum(any(char in word.text for char in "ßäöü") for word in latin)
        hits["es"] += sum("ñ" in word.text for word in latin)
        hits["fr"] += sum(any(char in word.text for char in "çœêèû") for word in latin)
        best = max(hits.values())
        if best:
            return tuple(name for name, count in hits.items() if 2 * count >= best)
    return ()


@functools.lru_cache(maxsize=4096)
def hangul_forms(word: str) -> tuple[str, ...]:
    """A Korean word and what is left when its particles and endings are taken off, longest first."""
    forms = [word]
    for _ in range(2):
        shorter = [
            form[: -len(particle)]
            for form in forms
            for particle in _particles()
            if len(form) > len(particle) and form.endswith(particle)
        ]
        forms += shorter
    return tuple(sorted(set(forms), key=lambda form: (-len(form), form)))


def hangul_core(word: str) -> str:
    """A Korean word without particles and endings; at least two syllables are kept, and a final `의` (`문의`, `회의`)."""
    tail = "의" if word.endswith("의") else ""
    return next((form for form in reversed(hangul_forms(word)) if len(form) > 1 and form.endswith(tail)), word)


def _no_stems(_: str) -> Iterable[str]:
    return ()


@functools.cache
def _generic_prefixes() -> frozenset[str]:
    lists = (words_generic.VOID, words_generic.COMMON, words_generic.LIGHT, words_chat.CHAT)
    return frozenset(word[:4] for text in lists for word in listed(text))


def hangul_parts(word: Word) -> list[tuple[str, Class]]:
    """A Korean word of a scenario, without particles, cut where it begins or ends with a generic word (`결제오류`)."""
    core = hangul_core(word.text)
    kind = class_of(word, ())
    if kind is not Class.CONTENT:
        return [(core, kind)]
    for text, part_kind in _HANGUL_GENERIC:
        for part in sorted(listed(text), key=lambda part: (-len(part), part)):
            rest = len(core) - len(part)
            if len(part) > 1 and rest > 1 and core not in listed(words_families.WHOLE_HANGUL):
                if core.endswith(part):
                    return [(core[:rest], Class.CONTENT), (part, part_kind)]
                if core.startswith(part):
                    return [(part, part_kind), (core[len(part) :], Class.CONTENT)]
    return [(core, kind)]


_HANGUL_GENERIC = (
    (words_generic.VOID_HANGUL, Class.VOID),
    (words_generic.COMMON_HANGUL, Class.COMMON),
    (words_generic.LIGHT_HANGUL, Class.LIGHT),
)


def class_of(
    word: Word, languages: tuple[str, ...], stems_of: Callable[[str], Iterable[str]] = _no_stems
) -> Class:
    """The class of a word that is no Han run. `stems_of` gives a word's bare stems, for the lists of generic words."""
    if word.kind is Kind.HANGUL:
        forms: Sequence[str] = [form for form in hangul_forms(word.text) if len(form) > 1 or form == word.text]
        order = (
            (words_chat.CHAT_HANGUL, Class.CHAT),
            (wordlists.STOP_HANGUL, Class.STOP),
            *_HANGUL_GENERIC,
        )
        if is_laughter(word.text):
            return Class.CHAT
    elif word.kind is Kind.KANA:
        return Class.CHAT if is_laughter(word.text) else _lexicon().get(word.plain, _lexicon().get(word.text, Class.CONTENT))
    else:
        if word.plain in _stop_words(_script_languages(word, languages)):
            return Class.STOP
        if word.plain.isdigit() and len(word.plain) < 3:
            return Class.VOID
        if is_laughter(word.plain):
            return Class.CHAT
        forms = (word.plain, *stems_of(word.text)) if word.plain[:4] in _generic_prefixes() else ()
        order = (
            (words_chat.CHAT, Class.CHAT),
            (words_generic.VOID, Class.VOID),
            (words_generic.COMMON, Class.COMMON),
            (words_generic.LIGHT, Class.LIGHT),
        )
    for form in forms:
        for text, kind in order:
            if form in listed(text):
                return kind
    return Class.CONTENT


def _script_languages(word: Word, languages: tuple[str, ...]) -> tuple[str, ...]:
    return wordlists.CYRILLIC_LANGUAGES if is_cyrillic(word.plain) else languages


def is_cyrillic(text: str) -> bool:
    """Whether a word is written in Cyrillic letters, by its first one."""
    return "\u0400" <= text[:1] <= "\u04ff"


def is_laughter(text: str) -> bool:
    """One letter, or a pair of letters, over and over: `haha`, `jajaja`, `www`, `ㅋㅋ`, `hmmm` without its `h`."""
    if len(text) > 1 and text[0] in "ㅋㅎㅠㅜ":
        return True
    if len(text) < 3 or text.isdigit():
        return False
    return text == (text[:2] * len(text))[: len(text)] and (len(text) > 3 or text[0] == text[1])


def pieces_of(run: str) -> list[tuple[str, Class]]:
    """A Han or hiragana run of a message cut at the words of the lists, longest match first; the rest is content."""
    return _cut(run, _lexicon())


def class_of_han(text: str) -> Class:
    """The class of a piece of a Han run."""
    return _lexicon().get(text, Class.CONTENT)


def terms_of_run(run: str) -> list[tuple[str, Class]]:
    """A Han or hiragana run of a scenario cut at the words of the lists.

    A single character is never left over: where one would be, the cut is not made (`工作帽` stays whole although `工作` is a
    generic word); of the one-character words only connectives cut. A one-character Japanese particle cuts only between two
    words, so that `見積もり` stays whole. A word of one Han character with its ending is too common to be a topic by itself.
    """
    pieces = _without_leftovers(_cut(run, _scenario_lexicon()))
    return [
        (text, Class.LIGHT if kind is Class.CONTENT and len(text) > 1 and sum(map(is_core, text)) == 1 else kind)
        for text, kind in pieces
    ]


@functools.cache
def _scenario_lexicon() -> dict[str, Class]:
    return {
        entry: kind
        for entry, kind in _lexicon().items()
        if len(entry) > 1 or not is_core(entry)
    } | dict.fromkeys(wordlists.CONNECTIVES_HAN, Class.STOP)


def _cut(run: str, lexicon: dict[str, Class]) -> list[tuple[str, Class]]:
    pieces: list[tuple[str, Class]] = []
    place = start = 0
    while place < len(run):
        entry = _entry_at(run, place, lexicon)
        if entry in wordlists.CONNECTIVES_HAN and lexicon is not _lexicon() and not 2 <= place - start < len(run) - 2:
            entry = ""
        if entry:
            if start < place:
                pieces.append((run[start:place], Class.CONTENT))
            pieces.append((entry, lexicon[entry]))
            start = place + len(entry)
        place += len(entry) or 1
    if start < len(run):
        pieces.append((run[start:], Class.CONTENT))
    return pieces


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


def is_small_talk(words: Sequence[Word], languages: tuple[str, ...]) -> bool:
    """Whether a message greets, thanks, laughs or says nothing at all, so that no topic can be found in it.

    A single capitalised word beside a greeting is taken for a name.
    """
    chat = void = content = names = 0
    for word in words:
        if word.kind is Kind.HAN:
            kinds = [kind for text, kind in pieces_of(word.text) if kind is not Class.CONTENT or _says_something(text)]
        else:
            kinds = [class_of(word, languages)]
        chat += kinds.count(Class.CHAT)
        void += kinds.count(Class.VOID)
        if word.raw[:1].isupper() and word.at and kinds == [Class.CONTENT]:
            names += 1
        else:
            content += sum(kind > Class.VOID for kind in kinds)
    if not chat:
        content += void + names
    return not content and names <= 1


def _says_something(text: str) -> bool:
    return len(text) > 1 or is_core(text)
