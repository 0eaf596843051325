"""Rows of Postgres and records of the store: columns, conditions, and how the parts of an index are written."""

from __future__ import annotations

from array import array
from datetime import UTC, datetime
from sys import byteorder
from typing import TYPE_CHECKING
from uuid import UUID

from apm_hooks.store.items import Memory, Stored, Version

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from apm_hooks.store.items import Selection

COLUMNS = "id, scope, type, title, content, tags, importance, source, expires_at, created_at, updated_at"

SCOPE_SIGN = "@"

_LEXEME_CHARS = 500
"""A lexeme may have 2,046 bytes: longer words are cut alike where they are kept and where they are sought."""

_LAST_POSITION = 16_383


def memory_of(row: Sequence[Any]) -> Memory:
    """The memory in the first eleven columns of a row."""
    return Memory(
        id=str(row[0]),
        scope=row[1],
        type=row[2],
        title=row[3],
        content=row[4],
        tags=tuple(row[5]),
        importance=row[6],
        source=row[7],
        expires_at=None if row[8] is None else _moment(row[8]),
        created_at=_moment(row[9]),
        updated_at=_moment(row[10]),
    )


def stored_of(row: Sequence[Any]) -> Stored:
    """The memory of a row, and what follows its columns: the space, the vector, and the words where they were asked."""
    terms = tuple(word for word in row[13] or () if word[:1] != SCOPE_SIGN) if len(row) > 13 else ()
    vector = row[12] if row[11] else None
    return Stored(memory_of(row), vector, row[11] if vector is not None else "", terms)


def version_of(row: Sequence[Any]) -> Version:
    """The closed version of a row: the memory's columns, then the end and the owner."""
    return Version(memory_of(row), _moment(row[11]), str(row[12]))


def values_of(memory: Memory) -> dict[str, Any]:
    """The columns of a memory, by name."""
    return {
        "id": memory.id,
        "scope": memory.scope,
        "type": memory.type,
        "title": memory.title,
        "content": memory.content,
        "tags": list(memory.tags),
        "importance": memory.importance,
        "source": memory.source,
        "expires_at": memory.expires_at,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
    }


def _moment(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def ids_of(ids: Iterable[str]) -> list[UUID]:
    """Those that can be ids: any other text names no row, and must not be an error of the server's."""
    found = []
    for text in ids:
        try:
            number = UUID(text)
        except ValueError:
            continue
        if str(number) == text:
            found.append(number)
    return found


def conditions(selection: Selection, *, closed: bool = False) -> tuple[str, dict[str, Any]]:
    """What follows WHERE for a selection, and its values; `closed` for the table of closed versions."""
    parts = ["scope = %(scope)s"]
    values: dict[str, Any] = {"scope": selection.scope}
    if not selection.expired:
        parts.append("(expires_at IS NULL OR expires_at > %(now)s)")
        values["now"] = selection.now
    if selection.type is not None:
        parts.append("type = %(type)s")
        values["type"] = selection.type
    if selection.tags:
        parts.append("tags @> %(tags)s::text[]")
        values["tags"] = list(selection.tags)
    if selection.min_importance > 1:
        parts.append("importance >= %(importance)s")
        values["importance"] = selection.min_importance
    if selection.as_of is not None:
        parts.append("updated_at <= %(as_of)s")
        values["as_of"] = selection.as_of
        if closed:
            parts.append("valid_to > %(as_of)s")
    return " AND ".join(parts), values


def source(selection: Selection, living: str, closed: str, more: str = "TRUE") -> tuple[str, dict[str, Any]]:
    """What follows FROM, and its values: the rows that a selection lets through, those of closed versions too where it
    asks for a moment. `living` and `closed` say what to take from where (`SELECT … FROM …`); `more` is a condition on
    both."""
    where, values = conditions(selection)
    statement = f"{living} WHERE {where} AND {more}"
    if selection.as_of is not None:
        where, values = conditions(selection, closed=True)
        statement += f" UNION ALL {closed} WHERE {where} AND {more}"
    # What holds for the living alone is among the values of the closed.
    return f"({statement}) AS seen", values


def lexemes(scope: str, terms: Sequence[str]) -> str:
    """The text form of a tsvector: index words with their places, which is what the rank counts by, and the scope's own
    word, by which the index leaves out what other scopes hold."""
    places: dict[str, list[str]] = {scope_lexeme(scope): ["1"]}
    for at, term in enumerate(terms, 1):
        places.setdefault(lexeme(term), []).append(str(min(at, _LAST_POSITION)))
    return " ".join(f"{word}:{','.join(at)}" for word, at in places.items())


def scope_lexeme(scope: str) -> str:
    """The word that all rows of a scope hold; no index word begins with its sign."""
    return lexeme(f"{SCOPE_SIGN}{scope}")


def lexeme(term: str) -> str:
    """One index word as a lexeme, in quotes: whatever it holds, it is one word and no operator."""
    return "'" + term[:_LEXEME_CHARS].replace("\\", "\\\\").replace("'", "''") + "'"


def floats_of(vector: bytes) -> array[float]:
    """The numbers of a vector, from bytes in little endian."""
    numbers = array("f")
    numbers.frombytes(vector)
    if byteorder == "big":
        numbers.byteswap()
    return numbers
