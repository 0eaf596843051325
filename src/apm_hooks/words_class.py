"""How much a word can say.

Stop words, generic words, small talk, and what is left (protocol, section 5, step 2). Pure. A Latin word is
judged in the languages that its text is plausibly in: `die`, `comment` and `son` are grammar in one
language and a topic in another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

from apm_hooks import wordlists, words_chat, words_families, words_generic
from apm_hooks.words import Class, Kind, Word, fold
from apm_hooks.words_han import class_of_han, talk_pieces_of
from apm_hooks.words_hangul import hangul_core, hangul_forms

Lists = tuple[tuple[str, Class], ...]

GENERIC: Lists = (
    (words_chat.CHAT, Class.CHAT),
    (words_generic.VOID, Class.VOID),
    (words_generic.COMMON, Class.COMMON),
    (words_generic.LIGHT, Class.LIGHT),
)
GENERIC_HANGUL: Lists = (
    (words_generic.VOID_HANGUL, Class.VOID),
    (words_generic.COMMON_HANGUL, Class.COMMON),
    (words_generic.LIGHT_HANGUL, Class.LIGHT),
)
HANGUL: Lists = ((words_chat.CHAT_HANGUL, Class.CHAT), (wordlists.STOP_HANGUL, Class.STOP), *GENERIC_HANGUL)


@functools.cache
def listed(text: str) -> frozenset[str]:
    """The folded words of one of the word lists."""
    return frozenset(fold(word) for word in text.split())


@functools.cache
def _classes(lists: Lists) -> dict[str, Class]:
    """The class of each listed word; of a word in several lists, the first list's."""
    return {word: kind for text, kind in reversed(lists) for word in listed(text)}


@functools.cache
def _speakers(telling: bool) -> dict[str, tuple[str, ...]]:
    """Which languages a word is a marker of, or a stop word where `telling` is false; words as written."""
    lists = wordlists.MARKERS if telling else wordlists.STOP
    out: dict[str, tuple[str, ...]] = {}
    for name in wordlists.LATIN_LANGUAGES:
        for word in lists[name].casefold().split():
            if name not in out.get(word, ()):
                out[word] = (*out.get(word, ()), name)
    return out


@functools.cache
def _stop_words(languages: tuple[str, ...]) -> frozenset[str]:
    if not languages:
        return listed(wordlists.STOP["en"]).union(*map(listed, wordlists.MARKERS.values()))
    return frozenset().union(*(listed(wordlists.STOP[name] + wordlists.MARKERS.get(name, "")) for name in languages))


def languages_of(words: Iterable[Word]) -> tuple[str, ...]:
    """The Latin-script languages that a text is plausibly in, by its function words, if it has any."""
    latin = [word.text for word in words if word.kind is Kind.WORD and not is_cyrillic(word.text)]
    for telling in (True, False):
        hits = dict.fromkeys(wordlists.LATIN_LANGUAGES, 0)
        speakers = _speakers(telling)
        for text in latin:
            for name in speakers.get(text, ()):
                hits[name] += 1
            if not text.isascii():
                hits["de"] += any(char in text for char in "ßäöü")
                hits["es"] += "ñ" in text
                hits["fr"] += any(char in text for char in "çœêèû")
        best = max(hits.values())
        if best >= (1 if telling else 2):
            return tuple(name for name, count in hits.items() if 2 * count >= best)
    return ()


def is_cyrillic(text: str) -> bool:
    """Whether a word is written in Cyrillic letters, by its first one."""
    return "\u0400" <= text[:1] <= "\u04ff"


def is_laughter(text: str) -> bool:
    """One letter, or a pair of letters, over and over: `haha`, `jajaja`, `www`, `ㅋㅋ`."""
    if len(text) > 1 and text[0] in "ㅋㅎㅠㅜ":
        return True
    if len(text) < 3 or text.isdigit():
        return False
    return text == (text[:2] * len(text))[: len(text)] and (len(text) > 3 or text[0] == text[1])


def no_stems(_: str) -> Iterable[str]:
    """For whom inflected forms do not matter: no stems at all."""
    return ()


def class_of(word: Word, languages: tuple[str, ...], stems_of: Callable[[str], Iterable[str]] = no_stems) -> Class:
    """The class of a word that is no Han run; `stems_of` gives its stems, for the lists of generic words."""
    if is_laughter(word.plain):
        return Class.CHAT
    if word.kind is Kind.HANGUL:
        forms = [form for form in hangul_forms(word.text) if len(form) > 1 or form == word.text]
        return _class_of_forms(forms, HANGUL)
    if word.kind is Kind.KANA:
        return class_of_han(word.text)
    if word.whole and len(word.plain) == 1:
        return Class.STOP
    if word.plain in _stop_words(wordlists.CYRILLIC_LANGUAGES if is_cyrillic(word.plain) else languages):
        return Class.STOP
    if word.plain.isdigit() and len(word.plain) < 3:
        return Class.VOID
    if word.plain[:4] not in _generic_prefixes():
        return Class.CONTENT
    return _class_of_forms((word.plain, *stems_of(word.text)), GENERIC)


def _class_of_forms(forms: Iterable[str], lists: Lists) -> Class:
    classes = _classes(lists)
    return next((classes[form] for form in forms if form in classes), Class.CONTENT)


@functools.cache
def _generic_prefixes() -> frozenset[str]:
    """A word that begins like no generic word need not be stemmed to know that it is none."""
    return frozenset(word[:4] for word in _classes(GENERIC))


def hangul_parts(word: Word) -> list[tuple[str, Class]]:
    """A Korean word of a scenario, without particles, cut where it begins or ends with a generic word.

    So that `결제오류` is `결제` and a generic word, as it would be with a space between.
    """
    core = hangul_core(word.text)
    kind = class_of(word, ())
    if kind is not Class.CONTENT:
        return [(core, kind)]
    classes = _classes(GENERIC_HANGUL)
    for size in range(len(core) - 2, 1, -1) if core not in listed(words_families.WHOLE_HANGUL) else ():
        if core[-size:] in classes:
            return [(core[:-size], Class.CONTENT), (core[-size:], classes[core[-size:]])]
        if core[:size] in classes:
            return [(core[:size], classes[core[:size]]), (core[size:], Class.CONTENT)]
    return [(core, kind)]


def is_small_talk(words: Sequence[Word]) -> bool:
    """Whether a message greets, thanks, laughs or says nothing at all, so that no topic can be found in it.

    A single capitalised word beside a greeting is taken for a name; empty words count only where there is no
    greeting.
    """
    languages = languages_of(words) or wordlists.LATIN_LANGUAGES
    chat = void = content = names = 0
    for word in words:
        kinds = _kinds_in_talk(word, languages)
        chat += kinds.count(Class.CHAT)
        void += kinds.count(Class.VOID)
        if word.raw[:1].isupper() and word.at and kinds == [Class.CONTENT]:
            names += 1
        else:
            content += sum(kind > Class.VOID for kind in kinds)
    if not chat:
        content += void + names
    return not content and names <= 1


def _kinds_in_talk(word: Word, languages: tuple[str, ...]) -> list[Class]:
    if word.kind is Kind.HAN:
        return [kind for _, kind in talk_pieces_of(word.text)]
    if word.kind is Kind.HANGUL:
        pleasant = any(form in listed(words_chat.PLEASANT_HANGUL) for form in hangul_forms(word.text))
    else:
        pleasant = word.plain in listed(words_chat.PLEASANT) or word.text in listed(words_chat.PLEASANT_HAN)
    return [] if pleasant else [class_of(word, languages)]
