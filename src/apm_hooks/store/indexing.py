"""What is derived from a memory to search it by, and the vectors of the store's embedder."""

from __future__ import annotations

from collections.abc import Sequence

from apm_hooks.store.base import Embedder, Transaction
from apm_hooks.store.items import EmbedderError, Index, Memory
from apm_hooks.store.likeness import is_vector, text_hashes, vector_hashes
from apm_hooks.store.terms import index_terms

_LATE = "Its vector could not be made now: it is found by its words, and by meaning after a backfill."


def text_of(memory: Memory) -> str:
    """The text that is indexed: title and content; the content alone where the title is its beginning."""
    if memory.content.startswith(memory.title.removesuffix("…")):
        return memory.content
    return f"{memory.title}\n{memory.content}"


def index_of(memory: Memory, vector: bytes | None, space: str) -> Index:
    """The index of one wording; `space` is the signature that the vector was made under."""
    hashes = text_hashes(memory.scope, memory.title, memory.content)
    return Index(
        terms=index_terms(text_of(memory)),
        hashes=(*hashes, *vector_hashes(memory.scope, space, vector)),
        vector=vector,
        space=space if vector is not None else "",
    )


class Vectors:
    """The embedder of a store, or none, and which space each scope's vectors are of.

    A scope's first vector decides its space. A scope whose space is another embedder's is searched by words alone until
    a backfill has given all its memories vectors of the new one: two spaces are never compared.
    """

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder

    @property
    def space(self) -> str:
        """The embedder's signature; empty without one."""
        return self._embedder.signature if self._embedder is not None else ""

    @property
    def cut(self) -> float:
        """The cosine below which a hit means nothing."""
        return self._embedder.cut if self._embedder is not None else 1.0

    def of(self, text: str, *, query: bool = False) -> tuple[bytes | None, str]:
        """A text's vector; None without an embedder, or, with a sentence that says so, where it failed."""
        if self._embedder is None:
            return None, ""
        try:
            return self.many([text], query=query)[0], ""
        except EmbedderError:
            return None, _LATE

    def many(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """The vectors of several texts; raises EmbedderError, also for an answer of the wrong shape or length."""
        if self._embedder is None:
            raise EmbedderError("no embedder is configured")
        try:
            vectors = self._embedder.embed(list(texts), query=query)
        except EmbedderError:
            raise
        except Exception as error:
            # Whatever a plugin's provider raises, a memory is saved without its vector.
            raise EmbedderError(f"the embedder failed: {type(error).__name__}") from error
        if len(vectors) != len(texts) or not all(is_vector(vector, self.space) for vector in vectors):
            raise EmbedderError("the embedder gave vectors of a wrong number or shape")
        return vectors

    def adopt(self, transaction: Transaction, scope: str) -> None:
        """Make a scope that has no space yet one of this embedder's."""
        if self.space and not transaction.get_meta(_key(scope)):
            transaction.set_meta(_key(scope), self.space)

    def switch(self, transaction: Transaction, scope: str) -> None:
        """Make a scope one of this embedder's, once all its memories have its vectors."""
        transaction.set_meta(_key(scope), self.space)

    def matches(self, transaction: Transaction, scope: str) -> bool:
        """Whether a scope's memories may be searched by this embedder's vectors."""
        return bool(self.space) and transaction.get_meta(_key(scope)) == self.space

    def others(self, transaction: Transaction, scope: str) -> bool:
        """Whether a scope's vectors are another embedder's."""
        return transaction.get_meta(_key(scope)) not in ("", self.space)


def _key(scope: str) -> str:
    return f"space {scope}"
