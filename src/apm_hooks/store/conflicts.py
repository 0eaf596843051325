"""Whether one text may contradict another: the same sentence with other numbers, names or negation. Pure.

Where the tokens of two texts differ, each difference is judged by itself; only where all that differs is
numbers, names, negation or opposites is it a contradiction.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

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
"""A text of more tokens is no single fact: it is not compared."""
_OPPOSITE_WORDS = frozenset(word for pair in OPPOSITES for word in pair)
_SHARED = 0.5
"""The share of the shorter text's tokens that the other one must have too, in its order."""


def contradicts(one: str, other: str) -> bool:
    """Whether two texts say the same of other numbers or names, or one what the other denies."""
    left, right = tokens_of(one), tokens_of(other)
    if not (2 <= len(left) <= _LONGEST and 2 <= len(right) <= _LONGEST):
        return False
    if _speak_of_other_things(left, right):
        return False
    matcher = SequenceMatcher(None, [token.key for token in left], [token.key for token in right], autojunk=False)
    operations = matcher.get_opcodes()
    shared = sum(i2 - i1 for name, i1, i2, _, _ in operations if name == "equal")
    if shared < _SHARED * min(len(left), len(right)):
        return False
    found = False
    for name, i1, i2, j1, j2 in operations:
        if name == "equal":
            continue
        verdict = _judge(left, right, (i1, i2), (j1, j2))
        if verdict is None:
            return False
        found = found or verdict
    return found


def _speak_of_other_things(left: Sequence[Token], right: Sequence[Token]) -> bool:
    """Whether each text has a word that the other one lacks and that cannot contradict: a look that costs little, and
    settles most pairs."""
    mine, theirs = {token.key: token for token in left}, {token.key: token for token in right}
    return any(map(_is_plain, (mine[key] for key in mine.keys() - theirs.keys()))) and any(
        map(_is_plain, (theirs[key] for key in theirs.keys() - mine.keys()))
    )


def _is_plain(token: Token) -> bool:
    word = token.text
    return not (
        token.han or word in WEAK or word in AUXILIARIES or word in _OPPOSITE_WORDS or is_turn(word)
        or is_number(token) or is_name(token)
    )  # fmt: skip


def _judge(left: Sequence[Token], right: Sequence[Token], here: tuple[int, int], there: tuple[int, int]) -> bool | None:
    """True for a difference that contradicts, False for one that means nothing, None for one that makes the two texts
    different in what they speak of."""
    mine, theirs = left[slice(*here)], right[slice(*there)]
    if any(token.han for token in (*mine, *theirs)):
        return _judge_han(left, right, here, there)
    if frozenset((" ".join(t.text for t in mine), " ".join(t.text for t in theirs))) in OPPOSITES:
        return True
    a = [token for token in mine if token.text not in WEAK and token.text not in AUXILIARIES]
    b = [token for token in theirs if token.text not in WEAK and token.text not in AUXILIARIES]
    turned = sum(is_turn(token.text) for token in a) % 2 != sum(is_turn(token.text) for token in b) % 2
    a = [token for token in a if not is_turn(token.text)]
    b = [token for token in b if not is_turn(token.text)]
    if not a and not b:
        return turned
    if not a or not b:
        # A sentence more, or words in its middle: more is said, nothing else.
        whole = (not a and here[0] in (0, len(left))) or (not b and there[0] in (0, len(right)))
        return turned or (False if whole else None)
    if frozenset((" ".join(t.text for t in a), " ".join(t.text for t in b))) in OPPOSITES or (
        len(a) == len(b) == 1 and frozenset((a[0].text, b[0].text)) in OPPOSITES
    ):
        return True
    if all(map(is_number, a)) and all(map(is_number, b)):
        return True
    if all(map(is_name, a)) and all(map(is_name, b)):
        return True
    if len(a) == len(b) and all(
        (is_number(x) and is_number(y)) or (is_name(x) and is_name(y)) for x, y in zip(a, b, strict=True)
    ):
        return True
    return None


def _judge_han(
    left: Sequence[Token], right: Sequence[Token], here: tuple[int, int], there: tuple[int, int]
) -> bool | None:
    a = "".join(token.text for token in left[slice(*here)])
    b = "".join(token.text for token in right[slice(*there)])
    bare_a, bare_b = (NEGATION_HAN.sub("", each).strip("了的过") for each in (a, b))
    if not bare_a and not bare_b:
        return (a.strip("了的过") != "") != (b.strip("了的过") != "")
    for before in (0, 1):
        for after in (0, 1):
            pair = _widened(left, here, before, after), _widened(right, there, before, after)
            if frozenset(pair) in OPPOSITES_HAN or all(map(PLACE_HAN.fullmatch, pair)):
                return True
            if all(map(NUMBER_HAN.fullmatch, pair)):
                return True
    if bare_a and bare_b and _names_han(left, here) and _names_han(right, there):
        return True
    whole = (not a and here[0] in (0, len(left))) or (not b and there[0] in (0, len(right)))
    return False if whole and len(bare_a + bare_b) > 2 else None


def _widened(tokens: Sequence[Token], place: tuple[int, int], before: int, after: int) -> str:
    return "".join(token.text for token in tokens[max(place[0] - before, 0) : place[1] + after])


def _names_han(tokens: Sequence[Token], place: tuple[int, int]) -> bool:
    """Whether the stretch is a name or the end of one: a surname and one or two characters, at the start or where a
    person is spoken of."""
    start, end = place
    for first in (start, start - 1, start - 2):
        if first < 0 or not 2 <= end - first <= 3:
            continue
        if tokens[first].text in SURNAMES_HAN and (
            tokens[first].start or not tokens[first - 1].han or tokens[first - 1].text in "由是给和跟叫找让请归为"
        ):
            return True
    return False


def differ_in_kind(one: str, other: str) -> bool:
    """Whether two texts differ in numbers, names or negation, wherever they stand: then they are never one memory."""
    if contradicts(one, other):
        return True
    return _kinds(one) != _kinds(other)


def _kinds(text: str) -> tuple[frozenset[str], frozenset[str], bool]:
    """The numbers and names that a text speaks of, and whether it denies something."""
    tokens = tokens_of(text)
    numbers = {token.text for token in tokens if not token.han and is_number(token)}
    names = {token.text.removesuffix("'s") for token in tokens if is_name(token)}
    denies = any(is_turn(token.text) for token in tokens if not token.han)
    if any(token.han for token in tokens):
        run = "".join(token.text if token.han else " " for token in tokens)
        numbers |= set(NUMBER_HAN.findall(run))
        names |= set(PLACE_HAN.findall(run))
        denies = denies or NEGATION_HAN.search(run) is not None
    return frozenset(numbers), frozenset(names), denies
