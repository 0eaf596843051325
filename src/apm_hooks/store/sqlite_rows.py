"""Rows of the SQLite engine ↔ records, and a Selection as a condition."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

from apm_hooks.store.items import Memory, Selection

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MARK = 9
"""So many characters of an index word are its scope."""


def micros(moment: datetime) -> int:
    """A moment as microseconds since 1970."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """Microseconds since 1970 as a moment."""
    return _EPOCH + timedelta(microseconds=value)


def values_of(memory: Memory) -> tuple[Any, ...]:
    """A memory's values, in the order of `sqlite_schema.COLUMNS`. Tags are held between blanks, to be found by one."""
    return (
        memory.id, memory.scope, memory.type, memory.title, memory.content,
        f" {' '.join(memory.tags)} " if memory.tags else "", memory.importance, memory.source,
        None if memory.expires_at is None else micros(memory.expires_at), micros(memory.created_at),
        micros(memory.updated_at),
    )  # fmt: skip


def memory_of(row: Sequence[Any]) -> Memory:
    """The memory in the first columns of a row."""
    return Memory(
        id=row[0], scope=row[1], type=row[2], title=row[3], content=row[4], tags=tuple(row[5].split()),
        importance=row[6], source=row[7], expires_at=None if row[8] is None else moment(row[8]),
        created_at=moment(row[9]), updated_at=moment(row[10]),
    )  # fmt: skip


def condition_of(
    selection: Selection, alias: str, *, past: bool = False, by_scope: bool = True
) -> tuple[str, list[Any]]:  # fmt: skip
    """What a row of `memories` (`past`: of `versions`) must fulfil, as SQL with its values.

    Without `by_scope`, no index on the scope is used: the rows are found by something that is much narrower.
    """
    column = alias if by_scope else f"+{alias}"
    parts, values = [f"{column}.scope = ?", f"{column}.importance >= ?"], [selection.scope, selection.min_importance]
    extra: list[Any] = []
    if not selection.expired:
        parts.append(f"({column}.expires_at IS NULL OR {alias}.expires_at > ?)")
        extra.append(micros(selection.now))
    if selection.type is not None:
        parts.append(f"{column}.type = ?")
        extra.append(selection.type)
    for tag in selection.tags:
        parts.append(f"instr({alias}.tags, ?) > 0")
        extra.append(f" {tag} ")
    if selection.as_of is not None:
        parts.append(f"{column}.updated_at <= ?")
        extra.append(micros(selection.as_of))
        if past:
            parts.append(f"{alias}.valid_to > ?")
            extra.append(micros(selection.as_of))
    return " AND ".join(parts), [*values, *extra]


def scoped(terms: Iterable[str], scope: str) -> list[str]:
    """Index words with their scope before each, so that the full-text index itself keeps scopes apart: the rows, and
    how often a word occurs, are one scope's."""
    mark = "s" + blake2b(scope.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return [mark + term for term in terms]


def unscoped(words: str) -> tuple[str, ...]:
    """The index words in the text of a row of the full-text index."""
    return tuple(word[_MARK:] for word in words.split())


def match_of(terms: Sequence[str], scope: str) -> str:
    """A full-text expression for any of the words. Every word is quoted, so none is an operator."""
    return " OR ".join(f'"{term}"' for term in scoped(terms, scope))


def packed(hashes: Sequence[int]) -> bytes:
    """Hashes as bytes, kept with their row so that they can be taken away again."""
    return struct.pack(f"<{len(hashes)}q", *hashes)


def unpacked(data: bytes) -> tuple[int, ...]:
    """The hashes in such bytes."""
    return struct.unpack(f"<{len(data) // 8}q", data)
