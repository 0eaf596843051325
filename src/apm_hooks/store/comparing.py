"""A new text beside the stored ones that share a hash with it: the same, alike, or in contradiction."""

from __future__ import annotations

from datetime import datetime

from apm_hooks.store.base import Transaction
from apm_hooks.store.conflicts import contradicts
from apm_hooks.store.items import STORE_LIMITS, TYPES, Index, Likeness, Memory, Stored
from apm_hooks.store.likeness import cosine, folded, overlap, whole_hashes
from apm_hooks.store.terms import index_terms

_SHORT = 8
"""Of two contradicting texts of more words than that, most are the same."""
_RELATED, _RELATED_PAIRS = 0.5, 0.3
"""That share; the second where words are pairs of characters, of which another name changes more."""


def compare(
    transaction: Transaction, memory: Memory, index: Index, now: datetime
) -> tuple[Memory | None, tuple[Likeness, ...], tuple[Likeness, ...]]:  # fmt: skip
    """The memory with the same content, if there is one; those that are near; those that this one may contradict.

    Only what shares a hash is looked at (record store, rule 4), within the scope; what has expired is not there.
    """
    found = _candidates(transaction, memory, index)
    similar, against = [], []
    key, title = folded(memory.content), folded(memory.title)
    words = frozenset(index.terms)
    for stored in found:
        other = stored.memory
        if other.id == memory.id or (other.expires_at is not None and other.expires_at <= now):
            continue
        if folded(other.content) == key:
            return other, (), ()
        theirs = frozenset(stored.terms or index_terms(f"{other.title}\n{other.content}"))
        shared = overlap(words, theirs)
        measured = likeness_of(index, stored, shared)
        least = _RELATED if memory.content.isascii() else _RELATED_PAIRS
        related = shared >= least or min(len(words), len(theirs)) <= _SHORT
        near = measured >= STORE_LIMITS.near_cosine or shared >= STORE_LIMITS.near_overlap
        if related and contradicts(other.content, memory.content):
            against.append(Likeness(other.id, other.title, measured))
        elif near:
            similar.append(Likeness(other.id, other.title, measured))
        elif folded(other.title) == title:
            against.append(Likeness(other.id, other.title, measured))
    return None, _told(similar), _told(against)


def kept_apart(stored: Memory, given: Memory) -> tuple[str, ...]:
    """What was asked of a text that is stored already, and that the stored one is not: it ends at another time, counts
    for less, or lacks a tag. Said, since nothing of it is done."""
    other = {
        "expires_at": stored.expires_at != given.expires_at,
        "importance": given.importance > stored.importance,
        "tags": not set(given.tags) <= set(stored.tags),
        "type": given.type not in (stored.type, TYPES[0]),
    }
    names = ", ".join(name for name, differs in other.items() if differs)
    return (f"It keeps its own {names}: update it to change that.",) if names else ()


def _candidates(transaction: Transaction, memory: Memory, index: Index) -> list[Stored]:
    """Those that share title, skeleton or the whole text, and those that share words or direction: each kind by itself,
    so that many of the one never crowd out the other."""
    whole = whole_hashes(memory.scope, memory.title, memory.content)
    found: dict[str, Stored] = {}
    for hashes in (whole, [each for each in index.hashes if each not in whole]):
        rows = transaction.sharing(memory.scope, hashes, STORE_LIMITS.shared_hashes, STORE_LIMITS.candidates)
        for stored in rows:
            found.setdefault(stored.memory.id, stored)
    return list(found.values())


def likeness_of(index: Index, stored: Stored, shared: float) -> float:
    """How alike two texts are: the cosine where both have a vector of one space, else the share of common words."""
    if index.vector is not None and stored.vector is not None and index.space == stored.space:
        return cosine(index.vector, stored.vector)
    return shared


def _told(found: list[Likeness]) -> tuple[Likeness, ...]:
    return tuple(sorted(found, key=lambda each: (-each.similarity, each.id))[: STORE_LIMITS.told])
