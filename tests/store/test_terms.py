"""Index words, hashes and skeletons: what texts share, and that no text breaks them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.store import likeness
from apm_hooks.store.conflicts import contradicts, differ_in_kind
from apm_hooks.store.items import STORE_LIMITS
from apm_hooks.store.skeletons import skeletons
from apm_hooks.store.terms import index_terms, query_terms

EXACT = -2054669593840932775
LAST_BAND = 511077101667576371
SIDES = (-4284554175052780221, -8962083810132371280)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The user prefers tabs", ("user", "prefer", "tab")),
        ("flush-state", ("flushstat", "flush", "state")),
        ("ubuntu 20.04", ("ubuntu", "20dot04")),
        ("今天玩成语接龙", ("今天", "天玩", "玩成", "成语", "语接", "接龙")),
        ("猫", ("猫",)),
        ("ＡＢＣ Café", ("abc", "cafe")),
        ("?!*\"'", ()),
    ],
)
def test_index_words(text: str, terms: tuple[str, ...]) -> None:
    assert index_terms(text) == terms


def test_a_query_loses_function_words_and_repetitions() -> None:
    assert query_terms("what do we know about the parser and the parser's tables?") == ("parser", "tabl")
    assert query_terms("什么是成语接龙") == ("是成", "成语", "语接", "接龙")
    assert len(query_terms(" ".join(f"w{number}" for number in range(500)))) == STORE_LIMITS.query_words


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=400))
def test_every_word_is_letters_and_digits_and_a_text_finds_itself(text: str) -> None:
    terms = index_terms(text)
    assert all(term.isalnum() for term in terms)
    assert set(query_terms(text)) <= set(terms) | set(query_terms(text[: STORE_LIMITS.query_chars]))
    likeness.text_hashes("DM", text[:40], text)
    skeletons(text)
    assert not contradicts(text, text)
    assert not differ_in_kind(text, text)


@settings(max_examples=100, deadline=None)
@given(one=st.text(max_size=200), other=st.text(max_size=200))
def test_comparing_any_two_texts_is_the_same_from_both_sides(one: str, other: str) -> None:
    assert differ_in_kind(one, other) == differ_in_kind(other, one)
    assert likeness.overlap(index_terms(one), index_terms(other)) == likeness.overlap(
        index_terms(other), index_terms(one)
    )


def test_hashes_are_one_scope_and_fit_sixty_four_bits() -> None:
    mine = likeness.text_hashes("DM", "Office", "The office is in Lyon")
    theirs = likeness.text_hashes("Group(a)", "Office", "The office is in Lyon")
    assert not set(mine) & set(theirs)
    assert all(-(2**63) <= each < 2**63 for each in mine)
    assert likeness.whole_hashes("DM", "x", "the OFFICE  is in\nlyon")[0] in mine


def test_hashes_are_the_same_in_every_version() -> None:
    """They lie in stores that exist: another number would lose the duplicates of what was written before."""
    assert likeness.whole_hashes("DM", "x", "The office is in Lyon")[0] == EXACT
    assert likeness.text_hashes("DM", "Office", "The office is in Lyon")[-1] == LAST_BAND
    vector = bytes.fromhex("0000803f") + bytes(12)
    assert likeness.vector_hashes("DM", "x", vector)[:2] == SIDES


def test_near_vectors_share_a_hash_and_far_ones_do_not() -> None:
    import numpy as np

    draw = np.random.RandomState(5)
    shared = {0.97: 0, 0.0: 0}
    for _ in range(200):
        one, other = draw.standard_normal((2, 512))
        one /= np.linalg.norm(one)
        other -= one * (other @ one)
        other /= np.linalg.norm(other)
        for cosine in shared:
            near = cosine * one + (1 - cosine**2) ** 0.5 * other
            pair = [likeness.vector_hashes("DM", "x", each.astype("<f4").tobytes()) for each in (one, near)]
            shared[cosine] += bool(set(pair[0]) & set(pair[1]))
    assert shared[0.97] >= 199
    assert shared[0.0] <= 5
