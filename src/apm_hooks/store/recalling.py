"""Recall: a cold start without a query; with one, meaning and words, each within the selection, fused by rank."""

from __future__ import annotations

from dataclasses import replace

from apm_hooks.store.base import Engine, Transaction
from apm_hooks.store.indexing import Vectors
from apm_hooks.store.items import STORE_LIMITS, Hit, Mode, Order, Ranked, Recalled, Selection, Stored
from apm_hooks.store.likeness import cosine
from apm_hooks.store.terms import query_terms

NO_WORD = "The query holds no word to search by. Leave it out to see the most important memories."
PROVIDER_DOWN = "The vector of the query could not be made: these are hits by words alone."
OTHER_SPACE = "The memories' vectors are another embedder's: these are hits by words alone until a backfill is done."
NO_EMBEDDER = "No embedder is configured: these are hits by words alone."
PAST = "The past is searched by words alone."


def cold_start(transaction: Transaction, selection: Selection, order: Order, limit: int) -> Recalled:
    """The listing: `limit` memories in that order, how many there are, and those of importance 5 that did not fit."""
    memories = transaction.listing(selection, order, limit)
    total = transaction.count(selection) if len(memories) == limit else len(memories)
    shown = {memory.id for memory in memories}
    always: list[tuple[str, str]] = []
    if total > len(memories):
        critical = replace(selection, min_importance=5)
        if transaction.count(critical) > sum(memory.importance == 5 for memory in memories):
            # Their number is the user's own: each is an order that must not be missed, so each is named.
            most = transaction.count(critical)
            always = [
                (memory.id, memory.title)
                for memory in transaction.listing(critical, Order.IMPORTANCE, most)
                if memory.id not in shown
            ]
    hits = tuple(Hit(memory) for memory in memories)
    return Recalled(hits, total=total, more=total - len(hits), always=tuple(always))


def search(
    engine: Engine, vectors: Vectors, query: str, selection: Selection, mode: Mode, limit: int
) -> Recalled:  # fmt: skip
    """The memories that a query finds, best first; none for a query without a content word."""
    terms = query_terms(query)
    if not terms:
        return Recalled((), note=NO_WORD)
    vector, note = _query_vector(vectors, query, selection, mode)

    def run(transaction: Transaction) -> Recalled:
        told = note
        usable = vector if vector is not None and vectors.matches(transaction, selection.scope) else None
        if vector is not None and usable is None:
            # A scope without any vector has nothing to compare: that is no fault to tell of.
            told = OTHER_SPACE if vectors.others(transaction, selection.scope) else ""
        near = (
            transaction.search_vector(usable, vectors.space, selection, STORE_LIMITS.stage, vectors.cut)
            if usable is not None
            else []
        )
        by_words = [] if mode is Mode.SEMANTIC and usable is not None else (
            transaction.search_text(terms, selection, STORE_LIMITS.stage)
        )  # fmt: skip
        ranked = fused(by_words, near)
        found = transaction.get(selection, ranked[:limit])
        cosines = {each.id: each.score for each in near}
        hits = tuple(Hit(stored.memory, _similarity(stored, cosines, usable, vectors.space)) for stored in found)
        return Recalled(hits, more=max(len(ranked) - limit, 0), note=told)

    return engine.read(run)


def _query_vector(
    vectors: Vectors, query: str, selection: Selection, mode: Mode
) -> tuple[bytes | None, str]:  # fmt: skip
    if selection.as_of is not None:
        return None, PAST if mode is Mode.SEMANTIC else ""
    if mode is Mode.FULLTEXT:
        return None, ""
    if not vectors.space:
        return None, NO_EMBEDDER if mode is Mode.SEMANTIC else ""
    vector, failed = vectors.of(query[: STORE_LIMITS.query_chars], query=True)
    return vector, PROVIDER_DOWN if failed else ""


def fused(by_words: list[Ranked], near: list[Ranked]) -> list[str]:
    """Ids by reciprocal rank fusion: each list gives 1 / (k + rank); among equals, what the words found first."""
    scores: dict[str, float] = {}
    for found in (by_words, near):
        for rank, each in enumerate(found, 1):
            scores[each.id] = scores.get(each.id, 0.0) + 1.0 / (STORE_LIMITS.fusion + rank)
    return sorted(scores, key=lambda each: -scores[each])


def _similarity(stored: Stored, cosines: dict[str, float], vector: bytes | None, space: str) -> float | None:
    if vector is None or stored.vector is None or stored.space != space:
        return None
    known = cosines.get(stored.memory.id)
    return cosine(vector, stored.vector) if known is None else known
