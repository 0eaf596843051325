"""Backfill: vectors for the memories that lack one of the store's embedder."""

from __future__ import annotations

from collections.abc import Sequence

from apm_hooks.store.base import Engine, Transaction
from apm_hooks.store.indexing import Vectors, text_of
from apm_hooks.store.items import Backfilled, EmbedderError, Memory
from apm_hooks.store.likeness import vector_hashes


def backfill(engine: Engine, vectors: Vectors, scope: str, limit: int) -> Backfilled:
    """Give at most `limit` memories of a scope their vectors, oldest first. When none is left, the scope's space is
    this embedder's, and is searched by meaning again."""
    if not vectors.space:
        return Backfilled(0, 0, 0, note="No embedder is configured: memories are found by their words.")
    space = vectors.space
    memories = engine.read(lambda transaction: transaction.without_vector(scope, space, limit))
    made = _made(vectors, memories)

    def put(transaction: Transaction) -> int:
        vectors.adopt(transaction, scope)
        return sum(
            transaction.set_vector(memory, vector, space, vector_hashes(scope, space, vector))
            for memory, vector in made
        )

    embedded = engine.write(put) if made else 0
    failed = len(memories) - len(made)

    def finish(transaction: Transaction) -> int:
        remaining = transaction.count_without_vector(scope, space)
        if not remaining and not vectors.matches(transaction, scope):
            vectors.switch(transaction, scope)
        return remaining

    remaining = engine.write(finish)
    return Backfilled(embedded, failed, remaining, note="The provider of vectors failed." if failed else "")


def _made(vectors: Vectors, memories: Sequence[Memory]) -> list[tuple[Memory, bytes]]:
    """Vectors for all at once; where that fails, one by one, so that one bad text does not hold up the others."""
    if not memories:
        return []
    try:
        return list(zip(memories, vectors.many([text_of(memory) for memory in memories]), strict=True))
    except EmbedderError:
        made = []
        for memory in memories:
            vector, _ = vectors.of(text_of(memory))
            if vector is not None:
                made.append((memory, vector))
            elif not made and memory is memories[0] and len(memories) > 1:
                # The first alone fails too: more likely the provider than the text, but the next one tells.
                second, _ = vectors.of(text_of(memories[1]))
                if second is None:
                    return []
        return made
