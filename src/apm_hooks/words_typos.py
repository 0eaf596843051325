"""Small typos (protocol, section 5, step 2: forgiven): a bounded edit distance. Pure.

The distance is Damerau-Levenshtein's with costs: a letter too many, too few or swapped with its neighbour
costs `SLIP`, a wrong letter `WRONG`, because words that differ in letters (`contains`, `contacts`) are
mostly two words.
"""

from __future__ import annotations

import functools

SHORT = 5
LONG = 8
SLIP = 2
WRONG = 3


def allowed_cost(length: int, *, wrong: bool = True) -> int:
    """What a typo in a word of `length` letters may cost: one edit from five letters on, two from eight on.

    Two edits may not both be wrong letters; none may where `wrong` is false.
    """
    if length < SHORT:
        return 0
    edits = 1 if length < LONG else 2
    return (edits - 1) * SLIP + (WRONG if wrong else SLIP)


@functools.lru_cache(maxsize=8192)
def letters_mask(word: str) -> int:
    """The set of letters of `word` as bits: a cheap lower bound of the distance of two words."""
    mask = 0
    for char in word:
        mask |= 1 << (ord(char) & 63)
    return mask


def is_typo(word: str, meant: str, *, wrong: bool = True) -> bool:
    """Whether `word` is `meant` with a small typo, see `allowed_cost`.

    The first letter must be right, or swapped with the second; words that differ by more than one letter in
    length are two words.
    """
    cost = allowed_cost(min(len(word), len(meant)), wrong=wrong)
    if not cost or word == meant or abs(len(word) - len(meant)) > 1:
        return False
    if word[0] != meant[0] and not (word[0] == meant[1] and word[1] == meant[0]):
        return False
    if (letters_mask(word) ^ letters_mask(meant)).bit_count() > cost:
        return False
    return distance(word, meant, cost) <= cost


def distance(one: str, two: str, limit: int) -> int:
    """The cost of turning one word into the other, or `limit + 1` if it is more; a swapped pair is final."""
    before: list[int] = []
    row = list(range(0, SLIP * (len(two) + 1), SLIP))
    for i, char in enumerate(one, 1):
        older, before, row = before, row, [SLIP * i] + [0] * len(two)
        for j, other in enumerate(two, 1):
            cost = before[j - 1] + (WRONG if char != other else 0)
            cost = min(cost, before[j] + SLIP, row[j - 1] + SLIP)
            if i > 1 and j > 1 and char == two[j - 2] and one[i - 2] == other:
                cost = min(cost, older[j - 2] + SLIP)
            row[j] = cost
        if min(row) > limit and min(before) > limit:
            return limit + 1
    return min(row[-1], limit + 1)
