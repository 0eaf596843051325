"""Which words of a message are words of a routing table (protocol, section 5, step 2). Pure."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace

from apm_hooks.words import Class, Kind, Word
from apm_hooks.words_class import class_of, languages_of
from apm_hooks.words_forms import STRENGTH, Comparer, How, is_near, lookup_keys, tail
from apm_hooks.words_han import class_of_han, coverage
from apm_hooks.words_table import RouteTable, phrase_of

SHORT_MESSAGE = 60
TYPO_WORDS = 300


@dataclass(frozen=True, slots=True)
class Hit:
    """A term that a message holds. `shared` is the number of rows that the same message word speaks for.

    `said` is the class of the message's word where it is only a part of the term: a generic part says little.
    """

    surface: str
    how: How
    strength: float
    shared: int
    places: tuple[int, ...]
    said: Class = Class.CONTENT


@dataclass(slots=True)
class Message:
    """A message taken apart once, with what comparing its words needs."""

    words: tuple[Word, ...]
    languages: tuple[str, ...]
    comparer: Comparer
    phrase: str
    grouped: dict[tuple[Kind, str], list[Word]] = field(default_factory=dict)

    @property
    def short(self) -> bool:
        """Whether the message is short enough for a single word in it to be its topic."""
        return len(self.words) <= SHORT_MESSAGE


def message_of(words: tuple[Word, ...], table: RouteTable) -> Message:
    """The message made ready: its languages, or the table's where it shows none."""
    spoken = languages_of(words)
    plausible = dict.fromkeys((*spoken, *table.languages))
    message = Message(words, spoken or table.languages, Comparer(plausible), phrase_of(words))
    for word in words:
        message.grouped.setdefault((word.kind, word.text), []).append(word)
    return message


def hits_of(table: RouteTable, message: Message) -> dict[int, Hit]:
    """The terms of the table that the message holds, by number."""
    hits: dict[int, Hit] = {}
    wholes = _wholes(table, message)
    typos = len(message.grouped) <= TYPO_WORDS
    for (kind, _), group in message.grouped.items():
        if kind is Kind.HAN:
            continue
        word = group[0]
        if class_of(word, message.languages) is Class.STOP:
            continue
        found = dict.fromkeys(wholes.get((word.kind, word.text), ()), How.SAME)
        if not found:
            found = _related(table, message, word)
            if not found and typos:
                found = _misspelt(table, message, word)
        said = Class.CONTENT
        if How.PART in found.values() or How.BEGINNING in found.values():
            said = class_of(word, message.languages, message.comparer.bare_stems)
        hit = Hit(word.raw, How.SAME, 1.0, 1, tuple(word.at for word in group), said)
        _record(table, hits, found, hit)
    _han_hits(table, message, hits)
    return hits


def _record(table: RouteTable, hits: dict[int, Hit], found: dict[int, How], like: Hit) -> None:
    """Adds the surest of what was `found` for one word.

    A word that is surely one term is not also perhaps another.
    """
    if not found:
        return
    best = min(found.values(), key=list(How).index)
    sure = {How.SAME, How.STEM} if best in (How.SAME, How.STEM) else {best}
    kept = {number: how for number, how in found.items() if how in sure}
    rows = {row for number in kept for row in _rows_of(table, number)}
    for number, how in kept.items():
        said = like.said if how in (How.PART, How.BEGINNING) else Class.CONTENT
        hit = replace(like, how=how, strength=STRENGTH[how], shared=max(1, len(rows)), said=said)
        other = hits.get(number, hit)
        stronger = hit if hit.strength / hit.shared > other.strength / other.shared else other
        hits[number] = replace(stronger, places=tuple(sorted({*hit.places, *other.places})))


def _rows_of(table: RouteTable, number: int) -> tuple[int, ...]:
    return (*table.terms[number].rows, *table.names.get(number, ()))


def _wholes(table: RouteTable, message: Message) -> dict[tuple[Kind, str], tuple[int, ...]]:
    """Words that are one word of a row together (`back end`, `back-end`), or one that is two words there."""
    out: dict[tuple[Kind, str], tuple[int, ...]] = {}
    words = [word for word in message.words if word.kind is Kind.WORD]
    for word in words:
        for spelling in (word.whole, word.plain):
            numbers = table.joined.get(spelling, ()) if spelling else ()
            numbers += _exactly(table, word.whole) if spelling == word.whole and spelling else ()
            if numbers:
                out.setdefault((word.kind, word.text), numbers)
    for first, second in itertools.pairwise(words):
        if second.at == first.at + 1:
            together = first.plain + second.plain
            numbers = _exactly(table, together)
            for word in (first, second) if numbers else ():
                out.setdefault((word.kind, word.text), numbers)
    return out


def _exactly(table: RouteTable, plain: str) -> tuple[int, ...]:
    return tuple(n for n in table.prefixes.get(plain[:3], ()) if table.terms[n].plain == plain)


def _related(table: RouteTable, message: Message, word: Word) -> dict[int, How]:
    numbers: dict[int, None] = {}
    if word.kind is Kind.WORD:
        keys = lookup_keys(word.text, german=message.comparer.german)
        numbers = dict.fromkeys(number for key in keys for number in table.prefixes.get(key, ()))
        if len(word.plain) > 5:
            numbers.update(dict.fromkeys(table.tails.get(tail(word.plain), ())))
    else:
        text = word.plain
        pairs = dict.fromkeys([*text, *(text[i : i + 2] for i in range(len(text) - 1))])
        numbers = {number: None for pair in pairs for number, _ in table.bigrams.get(pair, ())}
    found = {}
    for number in numbers:
        term = table.terms[number]
        how = message.comparer.relate(word, term.text, term.kind)
        if how is not None:
            found[number] = how
    return found


def _misspelt(table: RouteTable, message: Message, word: Word) -> dict[int, How]:
    if len(word.text) < 3 or class_of(word, message.languages, message.comparer.bare_stems) < Class.LIGHT:
        return {}
    return {
        number: How.TYPO
        for number in table.initials.get(word.plain[:1], ())
        if is_near(word, table.terms[number].text, table.terms[number].kind, message.comparer)
    }


def _han_hits(table: RouteTable, message: Message, hits: dict[int, Hit]) -> None:
    matched: dict[int, dict[int, list[int]]] = {}
    for word in message.words:
        if word.kind is not Kind.HAN:
            continue
        for place in range(len(word.text)):
            for key in (word.text[place : place + 2], word.text[place]):
                for number, offset in table.bigrams.get(key, ()):
                    if table.terms[number].kind is Kind.HAN and len(key) == min(2, len(table.terms[number].text)):
                        matched.setdefault(number, {}).setdefault(offset, []).append(word.at + place // 2)
    for number, offsets in matched.items():
        term = table.terms[number]
        surface, strength = coverage(term.text, sorted(offsets))
        rows = {
            row
            for other, _ in table.bigrams[surface[:2]]
            if surface in table.terms[other].text
            for row in _rows_of(table, other)
        }
        how = How.SAME if strength >= 1 else How.PART
        places = tuple(sorted({place for found in offsets.values() for place in found}))
        said = Class.CONTENT if how is How.SAME else class_of_han(surface)
        hits[number] = Hit(surface, how, strength, max(1, len(rows)), places, said)
