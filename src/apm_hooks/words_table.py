"""Routing rows → a table that messages can be matched with quickly (protocol, section 5, step 2). Pure.

A scenario's alternative is a phrase of terms. A term is a word, or a piece of a Han run; the same term in
several rows is one term with several places.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from apm_hooks import words_generic
from apm_hooks.records import Route
from apm_hooks.words import Class, Kind, Word, is_core, without_long_end, words_of
from apm_hooks.words_class import class_of, hangul_parts, languages_of
from apm_hooks.words_forms import Comparer, lookup_keys, spellings, tail
from apm_hooks.words_han import terms_of_run

ALTERNATIVE_CHARS = 200
ALTERNATIVES = 64


@dataclass(frozen=True, slots=True)
class Term:
    """A word of one or more rows: `rows` are those whose scenarios hold it."""

    text: str
    plain: str
    kind: Kind
    weight: Class
    rows: frozenset[int]


@dataclass(frozen=True, slots=True)
class Alternative:
    """One alternative of a row's scenario.

    `terms` are the numbers of its terms, stop words left out; `phrase` is all its words in order, `size`
    how many they are (a Han run counts half its characters); `generic` says that none of its terms can say
    anything alone.
    """

    row: int
    terms: tuple[int, ...]
    phrase: str
    size: int
    generic: bool


@dataclass(frozen=True, slots=True)
class RouteTable:
    """Rows made ready for matching; build it with `routing.compile_routes`, treat it as opaque.

    `prefixes`, `tails`, `bigrams`, `initials` and `joined` lead from a message's word to the terms it may
    be; `names` are the terms of file names, weaker than scenarios; `alone` holds the rows of which a term
    is an alternative by itself; `standard` says which rows are files with a vocabulary of their own.
    """

    routes: tuple[Route, ...]
    languages: tuple[str, ...]
    terms: tuple[Term, ...]
    alternatives: tuple[Alternative, ...]
    alone: frozenset[tuple[int, int]]
    prefixes: dict[str, tuple[int, ...]]
    tails: dict[str, tuple[int, ...]]
    initials: dict[str, tuple[int, ...]]
    bigrams: dict[str, tuple[tuple[int, int], ...]]
    joined: dict[str, tuple[int, ...]]
    names: dict[int, tuple[int, ...]]
    standard: dict[int, str]


class _Builder:
    def __init__(self, languages: tuple[str, ...]) -> None:
        self.languages = languages
        self.comparer = Comparer(languages)
        self.numbers: dict[tuple[Kind, str, Class], int] = {}
        self.texts: list[tuple[str, str, Kind, Class]] = []
        self.rows: list[set[int]] = []
        self.alternatives: list[Alternative] = []
        self.joined: dict[str, set[int]] = {}

    def number(self, text: str, kind: Kind, weight: Class) -> int:
        key = (kind, text, weight)
        if key not in self.numbers:
            self.numbers[key] = len(self.texts)
            plain = text
            if kind is Kind.WORD:
                plain = spellings(text)[0]
            elif kind is Kind.KANA:
                plain = without_long_end(text)
            self.texts.append((text, plain, kind, weight))
            self.rows.append(set())
        return self.numbers[key]

    def terms_of(self, words: Sequence[Word]) -> list[tuple[int, Word]]:
        """The terms of a phrase with the words that they come from.

        All of them where there are only stop words.
        """
        pieces = self._pieces(words)
        kept = [piece for piece in pieces if piece[2] is not Class.STOP]
        if len(pieces) == 1 and pieces[0][1] is Kind.HAN and len(pieces[0][0]) == 1:
            kept = [(pieces[0][0], Kind.HAN, Class.CONTENT, pieces[0][3])]
        elif not kept:
            kept = [(text, kind, Class.VOID, word) for text, kind, _, word in pieces]
        out = []
        for text, kind, weight, word in kept:
            weak = len(text) == 1 and kind in (Kind.HAN, Kind.HANGUL) and len(kept) > 1
            says = Class.VOID if weak else Class.LIGHT if weight is Class.CHAT else weight
            out.append((self.number(text, kind, says), word))
        return out

    def _pieces(self, words: Sequence[Word]) -> list[tuple[str, Kind, Class, Word]]:
        pieces: list[tuple[str, Kind, Class, Word]] = []
        for whole, group in itertools.groupby(words, lambda word: word.whole):
            parts = list(group)
            classes = [self._class_of(word, len(words)) for word in parts]
            if whole and len(parts) > 1 and self._is_name(parts, classes):
                pieces.append((whole, Kind.WORD, Class.CONTENT, parts[0]))
                continue
            for word, weight in zip(parts, classes, strict=True):
                if word.kind is Kind.HAN:
                    pieces += [(text, word.kind, kind, word) for text, kind in terms_of_run(word.text)]
                elif word.kind is Kind.HANGUL:
                    pieces += [(text, word.kind, kind, word) for text, kind in hangul_parts(word)]
                else:
                    pieces.append((word.text, word.kind, weight, word))
        return pieces

    def _class_of(self, word: Word, words: int) -> Class:
        if word.kind is Kind.WORD and len(word.plain) == 1 and word.plain.isalpha() and words > 1:
            return Class.STOP
        return class_of(word, self.languages, self.comparer.bare_stems)

    @staticmethod
    def _is_name(parts: Sequence[Word], classes: Sequence[Class]) -> bool:
        """Whether a compound is a topic although none of its parts is one: `check-out`, `follow-up`."""
        return Class.STOP < max(classes) < Class.LIGHT and all(len(word.plain) > 1 for word in parts)

    def add(self, row: int, words: Sequence[Word]) -> None:
        found = self.terms_of(words)
        for number, _ in found:
            self.rows[number].add(row)
        if found:
            terms = tuple(dict.fromkeys(number for number, _ in found))
            last = words[-1]
            size = last.at - words[0].at + ((len(last.text) + 1) // 2 if last.kind is Kind.HAN else 1)
            generic = all(self.texts[number][3] <= Class.VOID for number in terms)
            self.alternatives.append(Alternative(row, terms, phrase_of(words), size, generic))
        for number, word in found:
            if word.whole and self.texts[number][0] != word.whole:
                self.joined.setdefault(word.whole, set()).add(number)
        for (one, first), (two, second) in itertools.pairwise(found):
            if first.kind is Kind.WORD and second.kind is Kind.WORD and second.at == first.at + 1:
                self.joined.setdefault(first.plain + second.plain, set()).update((one, two))


def phrase_of(words: Sequence[Word]) -> str:
    """All words in order with spaces around each, but none around Han runs.

    There a phrase is a part of a run.
    """
    text = "".join(word.text if word.kind is Kind.HAN else f" {word.plain} " for word in words)
    return text.replace("  ", " ")


def _scenarios_of(route: Route) -> tuple[str, ...]:
    """The alternatives that name a topic: the only alternative of a catch-all names none."""
    if route.catch_all and len(route.scenarios) == 1:
        return ()
    return route.scenarios[:ALTERNATIVES]


def build_table(routes: Sequence[Route], considered: Sequence[bool]) -> RouteTable:
    """The table of `routes`; only those that are `considered` give terms."""
    phrases = [
        [words_of(scenario[:ALTERNATIVE_CHARS], humps=False) for scenario in _scenarios_of(route)] if live else []
        for route, live in zip(routes, considered, strict=True)
    ]
    builder = _Builder(languages_of(word for row in phrases for words in row for word in words))
    names: dict[int, list[int]] = {}
    standard: dict[int, str] = {}
    for row, (route, live) in enumerate(zip(routes, considered, strict=True)):
        if not live:
            continue
        for words in phrases[row]:
            builder.add(row, words)
        stem = route.path.rsplit("/", 1)[-1].removesuffix(".md")
        if stem in words_generic.VOCABULARY:
            standard[row] = stem
            continue
        for number, _ in builder.terms_of(words_of(stem, humps=False)):
            names.setdefault(number, []).append(row)
    terms = tuple(
        Term(text, plain, kind, weight, frozenset(rows))
        for (text, plain, kind, weight), rows in zip(builder.texts, builder.rows, strict=True)
    )
    prefixes: dict[str, list[int]] = {}
    tails: dict[str, list[int]] = {}
    initials: dict[str, list[int]] = {}
    bigrams: dict[str, list[tuple[int, int]]] = {}
    for number, term in enumerate(terms):
        if term.kind is Kind.WORD:
            for key in lookup_keys(term.text, german=True):
                prefixes.setdefault(key, []).append(number)
            tails.setdefault(tail(term.plain), []).append(number)
        if term.weight is Class.CONTENT and term.kind is not Kind.HAN and len(term.plain) > 2:
            for initial in dict.fromkeys(term.plain[:2]):
                initials.setdefault(initial, []).append(number)
        if term.kind is not Kind.WORD:
            for place in _bigram_places(term.plain, term.kind):
                bigrams.setdefault(term.plain[place : place + 2], []).append((number, place))
    return RouteTable(
        routes=tuple(routes),
        languages=builder.languages,
        terms=terms,
        alternatives=tuple(builder.alternatives),
        alone=frozenset((each.row, each.terms[0]) for each in builder.alternatives if len(each.terms) == 1),
        prefixes={key: tuple(dict.fromkeys(value)) for key, value in prefixes.items()},
        tails={key: tuple(value) for key, value in tails.items()},
        initials={key: tuple(value) for key, value in initials.items()},
        bigrams={key: tuple(value) for key, value in bigrams.items()},
        joined={key: tuple(sorted(value)) for key, value in sorted(builder.joined.items())},
        names={key: tuple(value) for key, value in names.items()},
        standard=standard,
    )


def _bigram_places(text: str, kind: Kind) -> list[int]:
    """Where a term's pairs of characters begin.

    A lone character is its own pair. Pairs of hiragana alone are grammar.
    """
    if len(text) == 1:
        return [0]
    places = range(len(text) - 1)
    if kind is not Kind.HAN or not any(map(is_core, text)):
        return list(places)
    return [place for place in places if is_core(text[place]) or is_core(text[place + 1])]
