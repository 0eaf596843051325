"""What in a message speaks for which row, and how much (protocol, section 5, step 2). Pure.

The weights are stated here once. A distinctive word reaches `MINIMUM` alone, whether spelt right, inflected or with a
small typo; generic words never do, however many, unless they make up a whole alternative and stand close together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from apm_hooks import words_generic
from apm_hooks.words import Kind, Word, fold, is_core
from apm_hooks.words_class import Class, class_of, class_of_han, hangul_forms, languages_of, listed, pieces_of
from apm_hooks.words_forms import STRENGTH, Comparer, How, is_near, tail
from apm_hooks.words_table import Alternative, RouteTable, Term, phrase_of

MINIMUM = 1.0
WEIGHT = {Class.CONTENT: 1.5, Class.LIGHT: 0.6, Class.COMMON: 0.4, Class.VOID: 0.2}
GENERIC_CAP = 0.9
PHRASE = 0.8
FILE_NAME = 0.7
VOCABULARY_WORD = 1.0
HINT = 0.5
WHOLE = 0.6
SHORT_MESSAGE = 60
TYPO_WORDS = 300
NAMED_SUFFIXES = "表人单單图圖员員率页頁费費商师師券者书書证証室会會費"
INNER_SUFFIXES = "库庫器机機端性化室者员員人率品物学學家长長力"


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


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason for a row: the message's `word`, the row's `term`, how they are one, and what that weighs."""

    word: str
    term: str
    how: str
    weight: float


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
        if class_of(word, message.languages) is Class.STOP or (kind is Kind.WORD and len(word.plain) == 1 and word.whole):
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
    """Adds the surest of what was `found` for one word; a word that is surely one term is not also perhaps another."""
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
    """Words that make one word of a row together (`back end`, `back-end`: backend), or one that is two words there."""
    out: dict[tuple[Kind, str], tuple[int, ...]] = {}
    words = [word for word in message.words if word.kind is Kind.WORD]
    for word in words:
        for spelling in (word.whole, word.plain):
            numbers = table.joined.get(spelling, ()) if spelling else ()
            numbers += _exactly(table, word.whole) if spelling == word.whole and spelling else ()
            if numbers:
                out.setdefault((word.kind, word.text), numbers)
    for first, second in zip(words, words[1:], strict=False):
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
        numbers = dict.fromkeys(table.prefixes.get(word.plain[:3], ()))
        if len(word.plain) > 5:
            numbers.update(dict.fromkeys(table.tails.get(tail(word.plain), ())))
    else:
        text = word.text
        keys = dict.fromkeys([*text, *(text[i : i + 2] for i in range(len(text) - 1))])
        numbers = {number: None for key in keys for number, _ in table.bigrams.get(key, ())}
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
        surface, strength = _coverage(term.text, sorted(offsets))
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


def _coverage(text: str, offsets: Sequence[int]) -> tuple[str, float]:
    """The longest stretch of a Han term that the message holds, and how surely it is the term.

    Without a dictionary, the length decides: two characters at either end of four or more are most likely a word, two of
    three only before a character that is commonly added to words (`值班` of `值班表`).
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
    weights = [1.0 if is_core(char) else 0.35 for char in text]
    share = sum(weights[place] for place in covered) / sum(weights)
    core = sum(map(is_core, text))
    found = sum(map(is_core, text[start:end])) if core else end - start
    if share >= 0.85:
        return text[start:end], 1.0
    if core > 1 and found < 2:
        return text[start:end], 0.35
    if found >= 3 or (end - start >= 3 and share >= 0.6):
        return text[start:end], 0.8
    if len(text) == 3 or core == 3:
        return text[start:end], 0.75 if start == 0 and text[2] in NAMED_SUFFIXES else 0.4
    if start == 0 and len(text) >= 4:
        return text[start:end], 0.45 if len(text) > 4 and text[2] in INNER_SUFFIXES else 0.72
    if end == len(text):
        return text[start:end], 0.72
    return text[start:end], 0.35


@dataclass(slots=True)
class Tally:
    """What speaks for one row: the best weight per message word, generic words apart, and the bonus of whole phrases."""

    topics: dict[str, Evidence] = field(default_factory=dict)
    generic: dict[str, Evidence] = field(default_factory=dict)
    bonus: float = 0.0

    def add(self, evidence: Evidence, *, generic: bool) -> None:
        kind = self.generic if generic else self.topics
        other = kind.get(evidence.word)
        if other is None or evidence.weight > other.weight:
            kind[evidence.word] = evidence

    @property
    def score(self) -> float:
        generic = min(GENERIC_CAP, sum(e.weight for word, e in self.generic.items() if word not in self.topics))
        return round(sum(e.weight for e in self.topics.values()) + generic + self.bonus, 3)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        merged = {**self.generic, **self.topics}
        return tuple(sorted(merged.values(), key=lambda e: (-e.weight, e.word)))


def tallies_of(table: RouteTable, message: Message, hits: dict[int, Hit]) -> dict[int, Tally]:
    """What speaks for each row by its scenarios."""
    tallies: dict[int, Tally] = {}
    alone = {(alt.row, alt.terms[0]) for alt in table.alternatives if len(alt.terms) == 1}
    for number, hit in hits.items():
        term = table.terms[number]
        for row in sorted(term.rows):
            weight, generic = _weight(term, hit, alone=(row, number) in alone)
            tallies.setdefault(row, Tally()).add(Evidence(hit.surface, term.text, hit.how, weight), generic=generic)
    for alternative in table.alternatives:
        if all(number in hits and hits[number].strength >= WHOLE for number in alternative.terms):
            tally = tallies[alternative.row]
            if not tally.bonus and _is_said(table, message, hits, alternative, tally):
                tally.bonus = PHRASE
    return tallies


def _weight(term: Term, hit: Hit, *, alone: bool) -> tuple[float, bool]:
    kind = min(term.weight, max(hit.said, Class.VOID))
    named = alone and kind >= Class.LIGHT
    topic = named or kind is Class.CONTENT
    weight = WEIGHT[Class.CONTENT] if topic else WEIGHT[kind]
    shared = math.sqrt(hit.shared) if named else hit.shared
    often = 1 + 0.15 * min(3, len(hit.places) - 1)
    return round(weight * hit.strength / shared * often, 3), not topic


def _is_said(
    table: RouteTable, message: Message, hits: dict[int, Hit], alternative: Alternative, tally: Tally
) -> bool:
    """Whether an alternative whose terms were all found was meant as a phrase."""
    terms = alternative.terms
    classes = [table.terms[number].weight for number in terms]
    if len(terms) > 1 and alternative.phrase in message.phrase:
        return True
    if len(terms) > 1 and max(classes) > Class.VOID:
        reach = len(terms) + 2 if max(classes) < Class.CONTENT else 4 * len(terms) + 8
        if _span([hits[number].places for number in terms]) <= reach:
            return True
    if len(terms) == 1 and (classes[0] in (Class.VOID, Class.CONTENT)):
        return False
    return message.short and _nothing_else(message, {*tally.topics, *tally.generic})


def _span(places: Sequence[tuple[int, ...]]) -> int:
    """The number of words in the closest stretch that holds a place of each term."""
    best = 1 << 30
    for first in places[0][:16]:
        others = [min(group, key=lambda place: (abs(place - first), place)) for group in places[1:]]  # noqa: B023
        best = min(best, max(first, *others, first) - min(first, *others, first) + 1)
    return best


def _nothing_else(message: Message, explained: Collection[str]) -> bool:
    """Whether the message has no topic besides the `explained` words."""
    for word in message.words:
        if word.kind is Kind.HAN:
            for text, kind in pieces_of(word.text):
                if kind >= Class.LIGHT and not any(text in said or said in text for said in explained):
                    return False
        elif (
            word.raw not in explained
            and class_of(word, message.languages, message.comparer.bare_stems) >= Class.LIGHT
        ):
            return False
    return True


def add_weak(table: RouteTable, message: Message, hits: dict[int, Hit], tallies: dict[int, Tally]) -> None:
    """Adds what file names say, and the vocabulary of standard files: for messages that no scenario answers."""
    for number, rows in table.names.items():
        hit, term = hits.get(number), table.terms[number]
        if hit is None or term.weight is not Class.CONTENT or hit.strength < WHOLE:
            continue
        for row in rows:
            weight = round(WEIGHT[Class.CONTENT] * FILE_NAME * hit.strength / hit.shared, 3)
            tallies.setdefault(row, Tally()).add(Evidence(hit.surface, term.text, "file name", weight), generic=False)
    for row, name in table.standard.items():
        sure, hints = listed(words_generic.VOCABULARY[name]), listed(words_generic.HINTS[name])
        for said in _said_of(message, sure | hints):
            weight = VOCABULARY_WORD if fold(said) in sure else HINT
            evidence = Evidence(said, name, "vocabulary", weight)
            tallies.setdefault(row, Tally()).add(evidence, generic=False)


def _said_of(message: Message, known: frozenset[str]) -> list[str]:
    """The words of the message, and stretches of its Han runs, that are `known`; the longest first, none twice."""
    found: list[str] = []
    for word in message.words:
        if word.kind is Kind.HAN:
            rest = word.text
            for entry in sorted(known, key=lambda entry: (-len(entry), entry)):
                if entry in rest:
                    found.append(entry)
                    rest = rest.replace(entry, " ")
        elif word.kind is Kind.HANGUL:
            found += [form for form in hangul_forms(word.text) if form in known][:1]
        elif word.plain in known:
            found.append(word.raw)
    return found
