"""The primitives of the Postgres engine, inside one transaction of one connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apm_hooks.store.items import Order
from apm_hooks.store.postgres_rows import (
    COLUMNS,
    floats_of,
    ids_of,
    lexemes,
    memory_of,
    source,
    stored_of,
    values_of,
    version_of,
)
from apm_hooks.store.postgres_search import search_text
from apm_hooks.store.postgres_vectors import open_space, places, search_vector

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from typing import Any

    import psycopg

    from apm_hooks.store.items import Index, Memory, Ranked, Selection, Stored, Version
    from apm_hooks.store.postgres_vectors import Space

_NAMES = COLUMNS.split(", ")
_VALUES = ", ".join(f"%({name})s" for name in _NAMES)
_SETS = ", ".join(f"{name} = %({name})s" for name in _NAMES if name not in ("id", "scope"))
_FILTERS = "scope, type, tags, importance, expires_at, updated_at"
_KEYED = "id = %(id)s AND scope = %(scope)s"
_ORDERS = {
    Order.IMPORTANCE: "importance DESC, updated_at DESC, id",
    Order.RECENT: "updated_at DESC, id",
}


class PostgresTransaction:
    """`base.Transaction` on a connection that has a transaction open (see there for what each method means)."""

    def __init__(self, connection: psycopg.Connection[Any], known: dict[str, Space]) -> None:
        self.connection = connection
        self._spaces = known

    def run(self, statement: str, values: Any = None, *, binary: bool = False) -> psycopg.Cursor[Any]:
        """One statement of ours on the transaction's connection."""
        return self.connection.execute(statement, values, binary=binary)

    def _vector_column(self) -> str:
        # Never a bare column: a statement whose result has a dimension fails once the column has another one.
        return f"coalesce({', '.join(places(self._spaces))}, NULL)"

    def _place(self, vector: bytes | None, space: str) -> dict[str, Any]:
        """The columns of a vector, by name: one holds it, all others nothing."""
        from pgvector import Vector

        columns: dict[str, Any] = {"space": space if vector is not None else ""}
        place = ""
        if vector is not None:
            numbers = floats_of(vector)
            place = open_space(self.connection, self._spaces, space, len(numbers)).place
            columns[place] = Vector(numbers.tolist())
        return columns | {each: None for each in places(self._spaces) if each != place}

    def insert(self, memory: Memory, index: Index) -> None:
        columns = values_of(memory) | self._place(index.vector, index.space)
        names = ", ".join(columns)
        given = ", ".join(f"%({name})s" for name in columns)
        with self.connection.pipeline():
            self.run(f"INSERT INTO memories ({names}) VALUES ({given})", columns)  # noqa: S608 - names of our columns
            self.prepare(memory, index)

    def update(self, memory: Memory, index: Index | None) -> None:
        columns = values_of(memory)
        sets = _SETS
        if index is not None:
            more = self._place(index.vector, index.space)
            sets += "".join(f", {name} = %({name})s" for name in more)
            columns |= more
        changed = self.run(f"UPDATE memories SET {sets} WHERE {_KEYED}", columns).rowcount  # noqa: S608 - as above
        if not changed:
            return
        if index is None:
            self.run(
                f"UPDATE memory_words SET ({_FILTERS}) = (SELECT {_FILTERS} FROM memories WHERE id = memory)"  # noqa: S608
                " WHERE memory = %s",
                [memory.id],
            )
        else:
            self.run("DELETE FROM memory_hashes WHERE memory = %s", [memory.id])
            self.run("DELETE FROM memory_words WHERE memory = %s", [memory.id])
            self.prepare(memory, index)

    def prepare(self, memory: Memory, index: Index) -> None:
        """Give a memory the words and hashes that it has not."""
        filters = ", ".join(f"%({name})s" for name in _FILTERS.split(", "))
        self.run(
            f"INSERT INTO memory_words (memory, {_FILTERS}, words) VALUES (%(id)s, {filters}, %(words)s)",  # noqa: S608
            values_of(memory) | {"words": lexemes(memory.scope, index.terms)},
        )
        self._add_hashes(memory, index.hashes)

    def _add_hashes(self, memory: Memory, hashes: Sequence[int]) -> None:
        if hashes:
            self.run(
                "INSERT INTO memory_hashes (hash, created_at, memory) SELECT unnest(%s::bigint[]), %s, %s::uuid"
                " ON CONFLICT DO NOTHING",
                [list(hashes), memory.created_at, memory.id],
            )

    def close_version(self, version: Version, terms: Sequence[str]) -> None:
        columns = values_of(version.memory)
        columns |= {"valid_to": version.valid_to, "owner": version.owner, "words": lexemes(version.memory.scope, terms)}
        self.run(
            f"INSERT INTO memory_versions ({COLUMNS}, valid_to, owner, words)"  # noqa: S608 - names of our columns
            f" VALUES ({_VALUES}, %(valid_to)s, %(owner)s, %(words)s) ON CONFLICT DO NOTHING",
            columns,
        )

    def versions(self, scope: str, owner: str) -> list[Version]:
        rows = self.run(
            f"SELECT {COLUMNS}, valid_to, owner FROM memory_versions"  # noqa: S608 - names of our columns
            " WHERE scope = %s AND owner = ANY(%s) ORDER BY updated_at, id",
            [scope, ids_of([owner])],
            binary=True,
        )
        return [version_of(row) for row in rows]

    def own_versions(self, scope: str, owner: str, survivor: str) -> None:
        self.run(
            "UPDATE memory_versions SET owner = %s WHERE scope = %s AND owner = ANY(%s)",
            [survivor, scope, ids_of([owner])],
        )

    def remove(self, scope: str, ids: Sequence[str], *, versions: bool = True) -> int:
        numbers = ids_of(ids)
        count = self.run("DELETE FROM memories WHERE scope = %s AND id = ANY(%s)", [scope, numbers]).rowcount
        if versions:
            self.run("DELETE FROM memory_versions WHERE scope = %s AND owner = ANY(%s)", [scope, numbers])
        return count

    def get(self, selection: Selection, ids: Sequence[str]) -> list[Stored]:
        vector = "NULL, NULL" if selection.as_of is not None else f"space, {self._vector_column()}"
        rows, values = source(
            selection,
            f"SELECT {COLUMNS}, {vector} FROM memories",  # noqa: S608 - names of our columns
            f"SELECT {COLUMNS}, NULL, NULL FROM memory_versions",  # noqa: S608 - as above
            "id = ANY(%(ids)s)",
        )
        found = self.run(f"SELECT * FROM {rows}", values | {"ids": ids_of(ids)}, binary=True)  # noqa: S608 - as above
        stored = {each.memory.id: each for each in map(stored_of, found)}
        return [stored[id_] for id_ in dict.fromkeys(ids) if id_ in stored]

    def taken(self, ids: Sequence[str]) -> set[str]:
        return {str(row[0]) for row in self.run("SELECT id FROM memories WHERE id = ANY(%s)", [ids_of(ids)])}

    def sharing(self, scope: str, hashes: Sequence[int], per_hash: int, limit: int) -> list[Stored]:
        rows = self.run(
            "WITH near AS MATERIALIZED (SELECT found.memory, count(*) AS shared"  # noqa: S608 - names of our columns
            " FROM unnest(%(hashes)s::bigint[]) AS sought (hash) CROSS JOIN LATERAL ("
            "  SELECT memory FROM memory_hashes WHERE hash = sought.hash"
            "  ORDER BY created_at DESC, memory DESC LIMIT %(per_hash)s) AS found GROUP BY found.memory)"
            f" SELECT {COLUMNS}, space, {self._vector_column()},"
            " (SELECT tsvector_to_array(words) FROM memory_words WHERE memory = id)"
            " FROM near JOIN memories ON id = near.memory"
            " WHERE scope = %(scope)s ORDER BY shared DESC, created_at DESC, id LIMIT %(limit)s",
            {"hashes": list(dict.fromkeys(hashes)), "per_hash": per_hash, "scope": scope, "limit": limit},
            binary=True,
        )
        return [stored_of(row) for row in rows]

    def search_text(self, terms: Sequence[str], selection: Selection, limit: int) -> list[Ranked]:
        return search_text(self.connection, terms, selection, limit)

    def search_vector(
        self, vector: bytes, space: str, selection: Selection, limit: int, floor: float
    ) -> list[Ranked]:  # fmt: skip
        return search_vector(self.connection, self._spaces, vector, space, selection, limit, floor)

    def listing(self, selection: Selection, order: Order, limit: int, offset: int = 0) -> list[Memory]:
        rows, values = source(
            selection,
            f"SELECT {COLUMNS} FROM memories",  # noqa: S608 - names of our columns
            f"SELECT {COLUMNS} FROM memory_versions",  # noqa: S608 - as above
        )
        found = self.run(
            f"SELECT * FROM {rows} ORDER BY {_ORDERS[order]} LIMIT %(limit)s OFFSET %(offset)s",  # noqa: S608 - as above
            values | {"limit": limit, "offset": offset},
            binary=True,
        )
        return [memory_of(row) for row in found]

    def count(self, selection: Selection) -> int:
        rows, values = source(selection, "SELECT FROM memory_words", "SELECT FROM memory_versions")
        return self._number(f"SELECT count(*) FROM {rows}", values)  # noqa: S608 - as above

    def _number(self, statement: str, values: Any) -> int:
        row = self.run(statement, values).fetchone()
        return int(row[0]) if row else 0

    def page(self, scope: str | None, after: tuple[datetime, str] | None, limit: int) -> list[Stored]:
        parts = ["TRUE"]
        values: dict[str, Any] = {"limit": limit}
        if scope is not None:
            parts.append("scope = %(scope)s")
            values["scope"] = scope
        if after is not None:
            parts.append("(created_at, id) > (%(created_at)s, %(id)s)")
            values |= {"created_at": after[0], "id": after[1]}
        rows = self.run(
            f"SELECT {COLUMNS}, space, {self._vector_column()} FROM memories"  # noqa: S608 - names of our columns
            f" WHERE {' AND '.join(parts)} ORDER BY created_at, id LIMIT %(limit)s",
            values,
            binary=True,
        )
        return [stored_of(row) for row in rows]

    def without_vector(self, scope: str, space: str, limit: int) -> list[Memory]:
        rows = self.run(
            f"SELECT {COLUMNS} FROM memories"  # noqa: S608 - names of our columns
            " WHERE scope = %(scope)s AND (space < %(space)s OR space > %(space)s)"
            " ORDER BY created_at, id LIMIT %(limit)s",
            {"scope": scope, "space": space, "limit": limit},
            binary=True,
        )
        return [memory_of(row) for row in rows]

    def count_without_vector(self, scope: str | None, space: str) -> int:
        # Two ranges instead of an inequality: the index then reads those alone that have none.
        other = "SELECT count(*) FROM memories WHERE (space < %(space)s OR space > %(space)s)"
        if scope is None:
            return self._number(other, {"space": space})
        return self._number(other + " AND scope = %(scope)s", {"space": space, "scope": scope})

    def set_vector(self, memory: Memory, vector: bytes, space: str, hashes: Sequence[int]) -> bool:
        columns = self._place(vector, space)
        sets = ", ".join(f"{name} = %({name})s" for name in columns)
        columns |= {"id": memory.id, "scope": memory.scope, "updated_at": memory.updated_at}
        changed = self.run(
            f"UPDATE memories SET {sets} WHERE {_KEYED} AND updated_at = %(updated_at)s",  # noqa: S608 - as above
            columns,
        ).rowcount
        if changed:
            self._add_hashes(memory, hashes)
        return bool(changed)

    def expired(self, before: datetime, limit: int) -> list[tuple[str, str]]:
        rows = self.run(
            "SELECT scope, id FROM memories WHERE expires_at < %s ORDER BY expires_at, id LIMIT %s", [before, limit]
        )
        return [(scope, str(id_)) for scope, id_ in rows]

    def get_meta(self, key: str) -> str:
        row = self.run("SELECT value FROM store_meta WHERE key = %s", [f"meta:{key}"]).fetchone()
        return str(row[0]) if row else ""

    def set_meta(self, key: str, value: str) -> None:
        self.run(
            "INSERT INTO store_meta (key, value) VALUES (%s, %s)"
            " ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            [f"meta:{key}", value],
        )

    def unprepared(self, limit: int) -> list[Memory]:
        """Memories that direct SQL put there or changed, without their words and hashes from now on."""
        rows = self.run(
            "WITH picked AS (DELETE FROM unprepared WHERE memory IN (SELECT memory FROM unprepared LIMIT %s)"  # noqa: S608
            "  RETURNING memory),"
            " words AS (DELETE FROM memory_words USING picked WHERE memory_words.memory = picked.memory),"
            " hashes AS (DELETE FROM memory_hashes USING picked WHERE memory_hashes.memory = picked.memory)"
            f" SELECT {COLUMNS} FROM memories JOIN picked ON id = memory",
            [limit],
            binary=True,
        ).fetchall()
        return [memory_of(row) for row in rows]
