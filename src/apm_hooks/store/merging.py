"""Deduplication: pairs of near-equal memories of one scope and type, found by their hashes, and merged by groups.

A pair is never one where numbers, names or negation differ. Nothing that was written is lost: the survivor holds every
text of its group, and the history of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from apm_hooks.store.base import Engine, Transaction
from apm_hooks.store.conflicts import differ_in_kind
from apm_hooks.store.indexing import Vectors, index_of, text_of
from apm_hooks.store.items import STORE_LIMITS, Memory, Pair, Selection, Stored, Version
from apm_hooks.store.likeness import cosine, folded, overlap, text_hashes, vector_hashes
from apm_hooks.store.moments import after
from apm_hooks.store.terms import index_terms

_HASHED = 0.97
"""From this threshold on, hashes find every pair but one in some hundreds; below it, each memory's neighbours are
searched for."""
_NEIGHBOURS = 20
_SHARED = 64
"""So many memories at most are compared with one, those that share the most hashes first."""


def find_pairs(
    engine: Engine, selection: Selection, threshold: float, progress: Callable[[int, int], None] | None = None
) -> tuple[Pair, ...]:
    """The pairs that reach the threshold, each with the memory that would stay and the one that would go.

    Of a chain (A like B, B like C) all are one group, unless two of it differ in kind; every pair of a group names the
    group's survivor. The order is the survivors' own: important first, then the older.
    """
    total = engine.read(lambda transaction: transaction.count(selection))
    groups = _Groups()
    for done, stored in enumerate(_every(engine, selection), 1):
        for other, similarity in _alike(engine, selection, stored, threshold):
            groups.join(stored.memory, other, similarity)
        if progress is not None:
            progress(done, max(total, done))
    return tuple(groups.pairs())


def _every(engine: Engine, selection: Selection) -> Iterator[Stored]:
    """The selected memories, page by page."""
    start: tuple[datetime, str] | None = None
    while True:

        def read(transaction: Transaction, after_this: tuple[datetime, str] | None = start) -> list[Stored]:
            return transaction.page(selection.scope, after_this, STORE_LIMITS.page)

        page = engine.read(read)
        if not page:
            return
        last = page[-1].memory
        start = (last.created_at, last.id)
        yield from (each for each in page if not _is_over(each.memory, selection))


def _is_over(memory: Memory, selection: Selection) -> bool:
    return memory.expires_at is not None and memory.expires_at <= selection.now


def _alike(
    engine: Engine, selection: Selection, stored: Stored, threshold: float
) -> Iterator[tuple[Memory, float]]:  # fmt: skip
    """The memories near one, found once: by the one of the pair that was looked at later."""
    mine = stored.memory
    words = frozenset(index_terms(text_of(mine)))
    for other in _candidates(engine, selection, stored, threshold):
        theirs = other.memory
        if (theirs.created_at, theirs.id) >= (mine.created_at, mine.id):
            continue
        if theirs.type != mine.type or _is_over(theirs, selection):
            continue
        if folded(theirs.content) == folded(mine.content):
            similarity = 1.0
        elif stored.vector is not None and other.vector is not None and stored.space == other.space:
            similarity = cosine(stored.vector, other.vector)
        else:
            similarity = overlap(words, other.terms or index_terms(text_of(theirs)))
        if similarity >= threshold and not differ_in_kind(mine.content, theirs.content):
            yield theirs, min(similarity, 1.0)


def _candidates(engine: Engine, selection: Selection, stored: Stored, threshold: float) -> list[Stored]:
    mine = stored.memory
    hashes = (
        *text_hashes(mine.scope, mine.title, mine.content),
        *vector_hashes(mine.scope, stored.space, stored.vector),
    )

    def run(transaction: Transaction) -> list[Stored]:
        found = transaction.sharing(mine.scope, hashes, _SHARED, _SHARED)
        if threshold >= _HASHED:
            return found
        known = {each.memory.id for each in found}
        alike = replace(selection, type=mine.type)
        near = []
        if stored.vector is not None:
            near += transaction.search_vector(stored.vector, stored.space, alike, _NEIGHBOURS, threshold)
        words = tuple(dict.fromkeys(index_terms(text_of(mine))))[: STORE_LIMITS.query_words]
        if words:
            near += transaction.search_text(words, alike, _NEIGHBOURS)
        return found + transaction.get(alike, [each.id for each in near if each.id not in known])

    return engine.read(run)


@dataclass(slots=True)
class _Group:
    members: list[Memory]
    likeness: dict[str, float]


class _Groups:
    """Memories joined into groups, none of which holds two that differ in kind."""

    def __init__(self) -> None:
        self._of: dict[str, _Group] = {}

    def join(self, one: Memory, other: Memory, similarity: float) -> None:
        """Put two memories into one group, with what is in their groups, where no two members differ in kind."""
        mine, theirs = (self._of.get(each.id) or _Group([each], {}) for each in (one, other))
        if mine is not theirs:
            if any(differ_in_kind(a.content, b.content) for a in mine.members for b in theirs.members):
                return
            theirs.members += mine.members
            theirs.likeness.update(mine.likeness)
            self._of.update((each.id, theirs) for each in theirs.members)
        for each in (one, other):
            theirs.likeness[each.id] = max(similarity, theirs.likeness.get(each.id, 0.0))

    def pairs(self) -> Iterator[Pair]:
        """The pairs of every group."""
        seen: set[int] = set()
        for group in self._of.values():
            if id(group) in seen:
                continue
            seen.add(id(group))
            keep, *drops = sorted(group.members, key=lambda each: (-each.importance, each.created_at, each.id))
            yield from (Pair(keep, drop, group.likeness[drop.id]) for drop in drops)


def merge(
    engine: Engine,
    vectors: Vectors,
    selection: Selection,
    pairs: tuple[Pair, ...],
    merged: Callable[[Transaction, str, str], None],
) -> tuple[Pair, ...]:
    """Merge each pair in a transaction of its own; a pair that another writer changed meanwhile, or whose texts or
    tags are too many for one memory, stays as it is. `merged` is told the old and the new id inside it."""
    out = []
    for pair in pairs:

        def run(transaction: Transaction, pair: Pair = pair) -> bool:
            found = {each.memory.id: each.memory for each in transaction.get(selection, [pair.keep.id, pair.drop.id])}
            keep, drop = found.get(pair.keep.id), found.get(pair.drop.id)
            if keep is None or drop != pair.drop or folded(pair.keep.content) not in folded(keep.content):
                return False
            new = _united(keep, drop, selection)
            if new is None:
                return False
            for old in (keep, drop):
                transaction.close_version(Version(old, new.updated_at, keep.id), index_terms(text_of(old)))
            transaction.own_versions(selection.scope, drop.id, keep.id)
            transaction.remove(selection.scope, [drop.id], versions=False)
            changed = text_of(new) != text_of(keep)
            transaction.update(new, index_of(new, None, "") if changed else None)
            merged(transaction, drop.id, keep.id)
            return True

        out.append(replace(pair, merged=engine.write(run)))
    _embed_survivors(engine, vectors, selection, out)
    return tuple(out)


def _united(keep: Memory, drop: Memory, selection: Selection) -> Memory | None:
    """The survivor: both texts, a title whose words they lack, all tags, the higher importance, the later end; None
    where that is more than one memory may hold."""
    content = keep.content
    if folded(drop.content) not in folded(content):
        content = drop.content if folded(content) in folded(drop.content) else f"{content}\n\n{drop.content}"
    if not set(index_terms(drop.title)) <= set(index_terms(f"{keep.title}\n{content}")):
        content = f"{content}\n\n{drop.title}"
    tags = tuple(sorted({*keep.tags, *drop.tags}))
    if len(content.encode("utf-8")) > STORE_LIMITS.content_bytes or len(tags) > STORE_LIMITS.tags:
        return None
    ends = (keep.expires_at, drop.expires_at)
    return replace(
        keep,
        content=content,
        tags=tags,
        importance=max(keep.importance, drop.importance),
        expires_at=None if None in ends else max(end for end in ends if end is not None),
        updated_at=after(selection.now, keep.updated_at, drop.updated_at),
    )


def _embed_survivors(engine: Engine, vectors: Vectors, selection: Selection, pairs: list[Pair]) -> None:
    """New vectors for the survivors whose text changed; one that fails waits for a backfill."""
    if not vectors.space:
        return
    ids = list(dict.fromkeys(pair.keep.id for pair in pairs if pair.merged))
    found = engine.read(lambda transaction: transaction.get(selection, ids))
    for stored in found:
        if stored.vector is not None:
            continue
        vector, _ = vectors.of(text_of(stored.memory))
        if vector is None:
            continue
        hashes = vector_hashes(selection.scope, vectors.space, vector)

        def put(
            transaction: Transaction,
            memory: Memory = stored.memory,
            made: bytes = vector,
            shared: tuple[int, ...] = hashes,
        ) -> bool:
            return transaction.set_vector(memory, made, vectors.space, shared)

        engine.write(put)
