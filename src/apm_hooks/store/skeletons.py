"""The skeleton of a text: what is left without the words by which two texts may contradict each other. Pure.

Two texts that say the same of other numbers or names, or of which one denies the other, have the same skeleton: a hash
of it finds the other text without looking at all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from apm_hooks.store.sentences import (
    AUXILIARIES,
    NEGATION_HAN,
    NUMBER_HAN,
    OPPOSITES,
    OPPOSITES_HAN,
    PLACE_HAN,
    SURNAMES_HAN,
    WEAK,
    Token,
    is_name,
    is_number,
    is_turn,
    tokens_of,
)  # fmt: skip

_LONGEST = 400
"""A text of more tokens is no single fact, and has none."""
_OPPOSITE_WORDS = frozenset(word for pair in OPPOSITES for word in pair) - {"with", "all"}
_OPPOSITE_HAN = re.compile(
    "|".join(sorted((word for pair in OPPOSITES_HAN for word in pair if len(word) > 1), key=len, reverse=True))
)
_NAME_HAN = re.compile(
    rf"(?<=[由是给和跟叫找让请归为])[{''.join(sorted(SURNAMES_HAN))}](?:工|总|哥|姐|老师|经理"
    r"|[\u4e00-\u9fff]{1,2}(?=$|负|管|来|处|审|维|做|去))"
)


def skeletons(text: str) -> tuple[str, ...]:
    """The text without its numbers, names, negations and opposites: in one form, or in two where a Han name at its
    start may have two characters or three. Empty where too little is left to be a sentence."""
    tokens = tokens_of(text)
    if not 3 <= len(tokens) <= _LONGEST:
        return ()
    forms = []
    for length in _name_lengths(tokens):
        kept = list(_masked(tokens[length:]))
        if sum(len(part) for part in kept if part not in "#@") >= (2 if tokens[-1].han else 3):
            forms.append(" ".join(["@", *kept] if length else kept))
    return tuple(dict.fromkeys(forms))


def _name_lengths(tokens: Sequence[Token]) -> tuple[int, ...]:
    if tokens[0].han and tokens[0].text in SURNAMES_HAN and all(token.han for token in tokens[:4]):
        return (0, 2, 3)
    return (0,)


def _masked(tokens: Sequence[Token]) -> Iterator[str]:
    text = "".join(token.text for token in tokens) if tokens and any(token.han for token in tokens) else ""
    if text and all(token.han or is_number(token) for token in tokens):
        yield from _masked_han(text)
        return
    for token in tokens:
        word = token.text
        if is_number(token):
            yield "#"
        elif is_name(token):
            yield "@"
        elif not (is_turn(word) or word in WEAK or word in AUXILIARIES or word in _OPPOSITE_WORDS):
            # `want` and `doesn't want`, `wants`: a negation changes the verb's ending.
            yield token.key


def _masked_han(text: str) -> Iterator[str]:
    text = _NAME_HAN.sub("@", PLACE_HAN.sub("@", text))
    yield NUMBER_HAN.sub("#", NEGATION_HAN.sub("", _OPPOSITE_HAN.sub("", text)))
