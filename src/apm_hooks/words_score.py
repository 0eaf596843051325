"""What in a message speaks for which row, and how much (protocol, section 5, step 2). Pure.

The weights are stated here once. A distinctive word reaches `MINIMUM` alone, whether spelt right, inflected
or with a small typo; generic words never do, however many, unless they make up a whole alternative and
stand close together.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from apm_hooks import words_generic
from apm_hooks.words import Class, Kind, fold
from apm_hooks.words_class import class_of, listed
from apm_hooks.words_evidence import Hit, Message
from apm_hooks.words_han import pieces_of
from apm_hooks.words_hangul import hangul_forms
from apm_hooks.words_table import Alternative, RouteTable, Term

MINIMUM = 1.0
WEIGHT = {Class.CONTENT: 1.5, Class.LIGHT: 0.6, Class.COMMON: 0.4, Class.VOID: 0.2}
GENERIC_CAP = 0.9
PHRASE = 0.8
OFTEN = 0.15
FILE_NAME = 0.7
VOCABULARY_WORD = 1.0
HINT = 0.5
WHOLE = 0.6


@dataclass(frozen=True, slots=True)
class Evidence:
    """One reason for a row: the message's `word`, the row's `term`, how they are one, what it weighs."""

    word: str
    term: str
    how: str
    weight: float


@dataclass(slots=True)
class Tally:
    """What speaks for one row: the best reason for each message word, and the bonus of a whole phrase."""

    topics: dict[str, Evidence] = field(default_factory=dict)
    generic: dict[str, Evidence] = field(default_factory=dict)
    bonus: float = 0.0

    def add(self, evidence: Evidence, *, generic: bool) -> None:
        """Takes a reason in; of several for one message word, the weightiest counts."""
        kind = self.generic if generic else self.topics
        other = kind.get(evidence.word)
        if other is None or evidence.weight > other.weight:
            kind[evidence.word] = evidence

    @property
    def score(self) -> float:
        """The row's score; generic words stay below the minimum. Summed exactly: no order shows."""
        topics = math.fsum(each.weight for each in self.topics.values())
        generic = math.fsum(each.weight for word, each in self.generic.items() if word not in self.topics)
        return round(topics + min(GENERIC_CAP, generic) + self.bonus, 3)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The reasons, the weightiest first."""
        merged = {**self.generic, **self.topics}
        return tuple(sorted(merged.values(), key=lambda each: (-each.weight, each.word)))


def tallies_of(table: RouteTable, message: Message, hits: dict[int, Hit]) -> dict[int, Tally]:
    """What speaks for each row by its scenarios."""
    tallies: dict[int, Tally] = {}
    for number, hit in hits.items():
        term = table.terms[number]
        for row in sorted(term.rows):
            weight, generic = _weight(term, hit, alone=(row, number) in table.alone)
            tallies.setdefault(row, Tally()).add(Evidence(hit.surface, term.text, hit.how, weight), generic=generic)
    for alternative in table.alternatives:
        if alternative.generic and _is_verbatim(message, alternative):
            said = alternative.phrase.strip()
            evidence = Evidence(said, said, "phrase", MINIMUM)
            tallies.setdefault(alternative.row, Tally()).add(evidence, generic=False)
        elif all(number in hits and hits[number].strength >= WHOLE for number in alternative.terms):
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
    often = 1 + OFTEN * min(3, len(hit.places) - 1)
    return round(weight * hit.strength / shared * often, 3), not topic


def _is_said(table: RouteTable, message: Message, hits: dict[int, Hit], alternative: Alternative, tally: Tally) -> bool:
    """Whether an alternative whose terms were all found was meant as a phrase."""
    terms = alternative.terms
    classes = [table.terms[number].weight for number in terms]
    if len(terms) > 1 and max(classes) > Class.VOID:
        reach = len(terms) + 2 if max(classes) < Class.CONTENT else 4 * len(terms) + 8
        if _span([hits[number].places for number in terms]) <= reach:
            return True
    if len(terms) == 1 and (classes[0] in (Class.VOID, Class.CONTENT)):
        return False
    return message.short and _nothing_else(message, {*tally.topics, *tally.generic})


def _is_verbatim(message: Message, alternative: Alternative) -> bool:
    """Whether an alternative that names no topic (`who works when`) stands in the message word for word."""
    if alternative.phrase not in message.phrase:
        return False
    if alternative.size < 2 and alternative.phrase.strip() not in listed(words_generic.DAYS):
        return False
    return alternative.size > 2 or (message.short and _nothing_else(message, ()))


def _span(places: Sequence[tuple[int, ...]]) -> int:
    """The number of words in the closest stretch that holds a place of each term."""
    best = 1 << 30
    for first in places[0][:16]:
        others = [min(group, key=lambda place: (abs(place - first), place)) for group in places[1:]]
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
            word.raw not in explained and class_of(word, message.languages, message.comparer.bare_stems) >= Class.LIGHT
        ):
            return False
    return True


def add_weak(table: RouteTable, message: Message, hits: dict[int, Hit], tallies: dict[int, Tally]) -> None:
    """Adds what file names and standard files' vocabulary say, for messages that no scenario answers."""
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
    """The words of the message, and stretches of its Han runs, that are `known`.

    The longest first, none twice.
    """
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
