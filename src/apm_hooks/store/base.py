"""The contract of the record store: what its calls take and give, and what an engine must be able to do.

Two halves. The **rules** (`records`, `recalling`, `merging`, `transfer`, and the pure modules below them) decide: what
is valid, what is a secret, which words of a text count, what resembles what, how hits are fused, whose a memory is.
They are shared. An **engine** keeps: it runs primitives inside a transaction, and knows nothing of embedders, secrets
or languages. Words are stemmed and cut into pairs by the rules, so that both engines match the same rows; which row
comes first is each engine's own measure.

Every time is an aware `datetime` in UTC, of microseconds. A vector is `bytes`: 32-bit floats, little endian, of length
one, so that a product of two is their cosine. A scope is the text of `records.Scope`, such as `DM` or `Group(team-a)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from apm_hooks.store.items import (
    STORE_LIMITS,
    TYPES,
    UNSET,
    Article,
    Backfilled,
    EmbedderError,
    Hit,
    Imported,
    Index,
    Likeness,
    Memory,
    Mode,
    Order,
    Pair,
    Ranked,
    Recalled,
    Saved,
    SecretRefusedError,
    Selection,
    Stored,
    StoreError,
    StoreLimits,
    Unset,
    Updated,
    Version,
)

__all__ = [
    "Article", "Backfilled", "Embedder", "EmbedderError", "Engine", "Hit", "Imported", "Index", "Likeness",
    "Memory", "Mode", "Order", "Pair", "Ranked", "Recalled", "Result", "STORE_LIMITS", "Saved",
    "SecretRefusedError", "Selection", "Store", "StoreError", "StoreLimits", "Stored", "TYPES", "Transaction",
    "UNSET", "Unset", "Updated", "Version",
]  # fmt: skip

Result = TypeVar("Result")


class Embedder(Protocol):
    """Turns texts into vectors. One that ships its weights and asks nobody is `packaged`."""

    @property
    def signature(self) -> str:
        """Provider, model and dimension, as `provider/model/512`: two signatures are two spaces, never compared."""
        ...

    @property
    def cut(self) -> float:
        """The cosine below which a hit means nothing, measured for this model."""
        ...

    @property
    def packaged(self) -> bool:
        """True where texts never leave the process."""
        ...

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """One vector for each text, of length one; `query` for what is searched with. Raises EmbedderError."""
        ...


class Transaction(Protocol):
    """The primitives of an engine, inside one transaction.

    None of them raises for a row that is not there. Each that takes a scope or a Selection sees that scope's rows only.
    """

    def insert(self, memory: Memory, index: Index) -> None:
        """Add a memory with its words, hashes and vector. The id is new."""
        ...

    def update(self, memory: Memory, index: Index | None) -> None:
        """Put `memory` in place of the one with its id and scope. Without an index, the words, hashes and vector stay
        as they are; with one, all three are replaced (a vector of None takes it away)."""
        ...

    def close_version(self, version: Version, terms: Sequence[str]) -> None:
        """Keep a wording that is over, with its index words, so that a search `as_of` finds it. Its id and
        `updated_at` are one version's; the same pair again changes nothing."""
        ...

    def versions(self, scope: str, owner: str) -> list[Version]:
        """The closed versions that belong to a living memory, oldest first."""
        ...

    def own_versions(self, scope: str, owner: str, survivor: str) -> None:
        """Make every closed version of `owner` belong to `survivor`, after a merge."""
        ...

    def remove(self, scope: str, ids: Sequence[str], *, versions: bool = True) -> int:
        """Delete memories with their words, hashes and vectors, and with the versions that they own; how many there
        were. Without `versions`, those stay (a merge has given them a new owner)."""
        ...

    def get(self, selection: Selection, ids: Sequence[str]) -> list[Stored]:
        """The memories of these ids that the selection lets through, in the order of `ids`. With `as_of`, without
        vectors."""
        ...

    def taken(self, ids: Sequence[str]) -> set[str]:
        """Which of these ids some memory has, of whatever scope: ids are the store's, so that an import cannot take one
        that exists. Never told to a caller by number."""
        ...

    def sharing(self, scope: str, hashes: Sequence[int], per_hash: int, limit: int) -> list[Stored]:
        """The memories that share a hash: for each hash the `per_hash` newest, of all those the `limit` that share the
        most hashes, most first. The cost does not grow with the number of memories: one look into an index for each
        hash. Expired rows are among them."""
        ...

    def search_text(self, terms: Sequence[str], selection: Selection, limit: int) -> list[Ranked]:
        """The rows that hold any of these index words, best first by the engine's measure, at most `limit`; the newest
        first among equals. `terms` are distinct, not empty, and made of letters and digits. The selection acts before
        the limit."""
        ...

    def search_vector(
        self, vector: bytes, space: str, selection: Selection, limit: int, floor: float
    ) -> list[Ranked]:  # fmt: skip
        """The rows of that space whose cosine with `vector` is at least `floor`, nearest first, at most `limit`. Rows
        of other spaces or without a vector are not there. The selection acts before the limit; it has no `as_of`."""
        ...

    def listing(self, selection: Selection, order: Order, limit: int, offset: int = 0) -> list[Memory]:
        """The selected memories: by importance, then `updated_at` (newest first), then id; or by `updated_at` alone,
        then id."""
        ...

    def count(self, selection: Selection) -> int:
        """How many memories the selection lets through."""
        ...

    def page(self, scope: str | None, after: tuple[datetime, str] | None, limit: int) -> list[Stored]:
        """The memories of a scope (None: of every scope, for a back-up by the operator), expired ones too, by
        `created_at` and id, from behind that pair on."""
        ...

    def without_vector(self, scope: str, space: str, limit: int) -> list[Memory]:
        """Memories that have no vector of that space, the oldest first, expired ones too."""
        ...

    def count_without_vector(self, scope: str | None, space: str) -> int:
        """How many memories have no vector of that space; with None, in all scopes together."""
        ...

    def set_vector(self, memory: Memory, vector: bytes, space: str, hashes: Sequence[int]) -> bool:
        """Give a memory its vector and add the hashes made from it; `updated_at` stays. False, with nothing done,
        where the memory is gone or has another `updated_at` by now."""
        ...

    def expired(self, before: datetime, limit: int) -> list[tuple[str, str]]:
        """Scope and id of memories of any scope whose `expires_at` is before that moment, at most `limit`."""
        ...

    def get_meta(self, key: str) -> str:
        """A value that belongs to the whole store, such as the signature `space`; empty where there is none."""
        ...

    def set_meta(self, key: str, value: str) -> None:
        """Set such a value."""
        ...


class Engine(Protocol):
    """Keeps memories. One object may be used by several threads; a process that forks opens its own afterwards."""

    @property
    def name(self) -> str:
        """`sqlite` or `postgres`."""
        ...

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        """What `work` gives, run on one consistent state. Raises StoreError or LockTimeoutError."""
        ...

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        """What `work` gives, run so that all of it happens or none, durable when this returns, and as if writers had
        come one after another: two that check before they insert never both insert. `work` may be run again after a
        conflict, so it touches nothing but the transaction. What `work` raises undoes everything and is passed on.
        Raises StoreError, or LockTimeoutError after `StoreLimits.busy_seconds`."""
        ...

    def erase(self) -> None:
        """Make what was deleted unreadable on disk, where the engine can; called after a forget or a purge."""
        ...

    def close(self) -> None:
        """Give everything back. Calling it twice is no error."""
        ...


class Store(Protocol):
    """The calls of a record store, for one session (record store, "Tools"). Each raises ScopeError where the session
    has no scope, UsageError for an argument out of its limits, StoreError where the engine fails."""

    def recall(
        self,
        query: str | None = None,
        *,
        type: str | None = None,  # noqa: A002 - the tool's own word
        tags: Sequence[str] = (),
        limit: int = STORE_LIMITS.recall,
        mode: str = Mode.AUTO,
        min_importance: int = 1,
        as_of: str | None = None,
        order: str = Order.IMPORTANCE,
    ) -> Recalled:
        """Memories for a query, or without one the most important; `as_of` is ISO 8601, and searches by words alone."""
        ...

    def remember(
        self,
        content: str,
        *,
        title: str | None = None,
        type: str = "fact",  # noqa: A002 - the tool's own word
        importance: int = 3,
        tags: Sequence[str] = (),
        expires_at: str | None = None,
        source: str = "agent",
    ) -> Saved:
        """Save one memory, or give the id that exists already. Raises SecretRefusedError."""
        ...

    def update_memory(
        self,
        id: str,  # noqa: A002 - the tool's own word
        *,
        title: str | None = None,
        content: str | None = None,
        tags: Sequence[str] | None = None,
        importance: int | None = None,
        type: str | None = None,  # noqa: A002 - the tool's own word
        expires_at: str | Unset | None = UNSET,
    ) -> Updated:
        """Change what is given; the id stays, the old wording becomes history. Raises SecretRefusedError."""
        ...

    def forget(self, id: str) -> bool:  # noqa: A002 - the tool's own word
        """Delete a memory with its history; False where it is not there."""
        ...

    def deduplicate_memories(
        self, *, threshold: float = STORE_LIMITS.merge_threshold, dry_run: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[Pair, ...]:  # fmt: skip
        """Pairs of near-equal memories of one type, merged unless `dry_run`; `progress` is told done and total."""
        ...

    def backfill_embeddings(self, *, limit: int = STORE_LIMITS.backfill) -> Backfilled:
        """Give memories the vectors that they lack."""
        ...

    def export_lines(self, *, all_scopes: bool = False) -> Iterator[str]:
        """One JSON document a memory, history included; all scopes for the owner's session only."""
        ...

    def import_lines(
        self, lines: Iterable[str], *, all_scopes: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Imported:  # fmt: skip
        """Take in what `export_lines` wrote. A line with a secret, or that is none of ours, is skipped and told."""
        ...

    def close(self) -> None:
        """Give the engine back."""
        ...
