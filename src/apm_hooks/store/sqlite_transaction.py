"""The primitives of the contract in SQL of SQLite; see `base.Transaction` for what each means."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from apm_hooks.store.items import Index, Memory, Order, Ranked, Selection, Stored, Version
from apm_hooks.store.sqlite_rows import (
    condition_of,
    match_of,
    memory_of,
    micros,
    moment,
    packed,
    scoped,
    unpacked,
    unscoped,
    values_of,
)
from apm_hooks.store.sqlite_schema import COLUMNS
from apm_hooks.store.sqlite_vectors import Change, VectorCache

_MARKS = ", ".join("?" * len(COLUMNS.split(",")))
_ORDERS = {
    Order.IMPORTANCE: "importance DESC, updated_at DESC, id",
    Order.RECENT: "updated_at DESC, id",
}
_CHUNK = 400
"""So many row numbers at most stand in one statement."""


def _columns(alias: str) -> str:
    return ", ".join(f"{alias}.{name.strip()}" for name in COLUMNS.split(","))


_M, _V = _columns("m"), _columns("v")


class SqliteTransaction:
    """One transaction of a `SqliteEngine`; `changes` are the vectors that it put or took away."""

    def __init__(self, connection: sqlite3.Connection, vectors: VectorCache) -> None:
        self.run = connection.execute
        self._run_many = connection.executemany
        self._connection = connection
        self._vectors = vectors
        self.changes: list[Change] = []

    def insert(self, memory: Memory, index: Index) -> None:
        """See the contract."""
        row = self.run(
            f"INSERT INTO memories ({COLUMNS}, hashes) VALUES ({_MARKS}, ?)",  # noqa: S608
            (*values_of(memory), packed(index.hashes)),
        ).lastrowid
        self._index(int(row or 0), memory, index)

    def update(self, memory: Memory, index: Index | None) -> None:
        """See the contract."""
        found = self.run(
            "SELECT row, hashes FROM memories WHERE id = ? AND scope = ?", (memory.id, memory.scope)
        ).fetchone()
        if found is None:
            return
        row, hashes = found
        names = ", ".join(f"{name.strip()} = ?" for name in COLUMNS.split(","))
        self.run(f"UPDATE memories SET {names} WHERE row = ?", (*values_of(memory), row))  # noqa: S608
        if index is not None:
            self._unindex(row, memory.scope, hashes)
            self.run("UPDATE memories SET hashes = ? WHERE row = ?", (packed(index.hashes), row))
            self._index(row, memory, index)

    def _index(self, row: int, memory: Memory, index: Index) -> None:
        self.run("INSERT INTO words (rowid, terms) VALUES (?, ?)", (row, " ".join(scoped(index.terms, memory.scope))))
        self._add_hashes(row, index.hashes)
        self._put_vector(row, memory.scope, index.vector, index.space)

    def _add_hashes(self, row: int, hashes: Sequence[int]) -> None:
        self._run_many("INSERT OR IGNORE INTO hashes VALUES (?, ?)", [(each, row) for each in sorted(set(hashes))])

    def _put_vector(self, row: int, scope: str, vector: bytes | None, space: str) -> None:
        if vector is not None:
            seq = self.run(
                "INSERT INTO vectors (row, scope, space, vector) VALUES (?, ?, ?, ?)", (row, scope, space, vector)
            ).lastrowid
            self.changes.append(Change(row, scope, space, int(seq or 0), vector))

    def _unindex(self, row: int, scope: str, hashes: bytes) -> None:
        self.run("DELETE FROM words WHERE rowid = ?", (row,))
        self._run_many("DELETE FROM hashes WHERE hash = ? AND row = ?", [(each, row) for each in unpacked(hashes)])
        self.run("DELETE FROM vectors WHERE row = ?", (row,))
        self.changes.append(Change(row, scope))

    def close_version(self, version: Version, terms: Sequence[str]) -> None:
        """See the contract."""
        memory = version.memory
        cursor = self.run(
            f"INSERT OR IGNORE INTO versions ({COLUMNS}, valid_to, owner) VALUES ({_MARKS}, ?, ?)",  # noqa: S608
            (*values_of(memory), micros(version.valid_to), version.owner),
        )
        if cursor.rowcount:
            self.run(
                "INSERT INTO past_words (rowid, terms) VALUES (?, ?)",
                (cursor.lastrowid, " ".join(scoped(terms, memory.scope))),
            )

    def versions(self, scope: str, owner: str) -> list[Version]:
        """See the contract."""
        rows = self.run(
            f"SELECT {COLUMNS}, valid_to, owner FROM versions WHERE owner = ? AND scope = ? ORDER BY updated_at, id",  # noqa: S608
            (owner, scope),
        )
        return [Version(memory_of(row), moment(row[11]), row[12]) for row in rows]

    def own_versions(self, scope: str, owner: str, survivor: str) -> None:
        """See the contract."""
        self.run("UPDATE versions SET owner = ? WHERE owner = ? AND scope = ?", (survivor, owner, scope))

    def remove(self, scope: str, ids: Sequence[str], *, versions: bool = True) -> int:
        """See the contract."""
        removed = 0
        for each in ids:
            found = self.run("SELECT row, hashes FROM memories WHERE id = ? AND scope = ?", (each, scope)).fetchone()
            if found is None:
                continue
            self._unindex(found[0], scope, found[1])
            self.run("DELETE FROM memories WHERE row = ?", (found[0],))
            if versions:
                past = self.run("SELECT row FROM versions WHERE owner = ? AND scope = ?", (each, scope)).fetchall()
                self._run_many("DELETE FROM past_words WHERE rowid = ?", past)
                self._run_many("DELETE FROM versions WHERE row = ?", past)
            removed += 1
        return removed

    def get(self, selection: Selection, ids: Sequence[str]) -> list[Stored]:
        """See the contract."""
        found: dict[str, Stored] = {}
        for chunk in _chunks(list(dict.fromkeys(ids))):
            marks = ", ".join("?" * len(chunk))
            condition, values = condition_of(selection, "m", by_scope=False)
            rows = self.run(
                f"SELECT {_M}, v.vector, v.space FROM memories m LEFT JOIN vectors v ON v.row = m.row "  # noqa: S608
                f"WHERE m.id IN ({marks}) AND {condition}",
                (*chunk, *values),
            )
            if selection.as_of is None:
                found.update((row[0], Stored(memory_of(row), row[11], row[12] or "")) for row in rows)
                continue
            found.update((row[0], Stored(memory_of(row))) for row in rows)
            condition, values = condition_of(selection, "v", past=True, by_scope=False)
            past = self.run(f"SELECT {_V} FROM versions v WHERE v.id IN ({marks}) AND {condition}", (*chunk, *values))  # noqa: S608
            found.update((row[0], Stored(memory_of(row))) for row in past)
        return [found[each] for each in dict.fromkeys(ids) if each in found]

    def taken(self, ids: Sequence[str]) -> set[str]:
        """See the contract."""
        return {each for each in ids if self.run("SELECT 1 FROM memories WHERE id = ?", (each,)).fetchone()}

    def sharing(self, scope: str, hashes: Sequence[int], per_hash: int, limit: int) -> list[Stored]:
        """See the contract."""
        shared: Counter[int] = Counter()
        for each in dict.fromkeys(hashes):
            shared.update(
                row
                for (row,) in self.run(
                    "SELECT row FROM hashes WHERE hash = ? ORDER BY row DESC LIMIT ?", (each, per_hash)
                )
            )
        rows = sorted(shared, key=lambda row: (-shared[row], -row))[:limit]
        if not rows:
            return []
        found = self.run(
            f"SELECT {_M}, v.vector, v.space, w.terms, m.row FROM memories m "  # noqa: S608
            "LEFT JOIN vectors v ON v.row = m.row LEFT JOIN words w ON w.rowid = m.row "
            f"WHERE +m.scope = ? AND m.row IN ({', '.join('?' * len(rows))})",
            (scope, *rows),
        ).fetchall()
        by_row = {row[14]: Stored(memory_of(row), row[11], row[12] or "", unscoped(row[13] or "")) for row in found}
        return [by_row[row] for row in rows if row in by_row]

    def search_text(self, terms: Sequence[str], selection: Selection, limit: int) -> list[Ranked]:
        """See the contract."""
        found = self._matches("words", "memories", "m", terms, selection, limit)
        if selection.as_of is not None:
            found += self._matches("past_words", "versions", "v", terms, selection, limit)
        found.sort(key=lambda row: (row[1], -row[2], row[0]))
        return [Ranked(row[0], -row[1]) for row in found[:limit]]

    def _matches(
        self, words: str, table: str, alias: str, terms: Sequence[str], selection: Selection, limit: int
    ) -> list[Any]:  # fmt: skip
        condition, values = condition_of(selection, alias, past=table == "versions", by_scope=False)
        narrow = "INDEXED BY memories_filter " if table == "memories" else ""
        return self.run(
            f"SELECT {alias}.id, bm25({words}) AS score, {alias}.updated_at FROM {words} "  # noqa: S608
            f"CROSS JOIN {table} {alias} {narrow}ON {alias}.row = {words}.rowid WHERE {words} MATCH ? AND {condition} "
            f"ORDER BY score, {alias}.updated_at DESC, {alias}.id LIMIT ?",
            (match_of(terms, selection.scope), *values, limit),
        ).fetchall()

    def search_vector(
        self, vector: bytes, space: str, selection: Selection, limit: int, floor: float
    ) -> list[Ranked]:  # fmt: skip
        """See the contract."""
        rows, cosines = self._vectors.nearest(self._connection, selection.scope, space, vector, floor)
        condition, values = condition_of(selection, "m", by_scope=False)
        out: list[Ranked] = []
        at, size = 0, limit
        while at < len(rows) and len(out) < limit:
            chunk = rows[at : at + size]
            found = dict(
                self.run(
                    f"SELECT m.row, m.id FROM memories m WHERE m.row IN ({', '.join('?' * len(chunk))}) "  # noqa: S608
                    f"AND {condition}",
                    (*chunk, *values),
                ).fetchall()
            )
            pairs = zip(chunk, cosines[at : at + size], strict=True)
            out += [Ranked(found[row], cosine) for row, cosine in pairs if row in found]
            # Few of the nearest let through: the selection is narrow, and more are asked for at once.
            at, size = at + size, min(size * 4, _CHUNK)
        return out[:limit]

    def listing(self, selection: Selection, order: Order, limit: int, offset: int = 0) -> list[Memory]:
        """See the contract."""
        condition, values = condition_of(selection, "m")
        source = f"SELECT {_M} FROM memories m WHERE {condition}"  # noqa: S608
        if selection.as_of is not None:
            past, more = condition_of(selection, "v", past=True)
            source += f" UNION ALL SELECT {_V} FROM versions v WHERE {past}"  # noqa: S608
            values = [*values, *more]
        rows = self.run(f"{source} ORDER BY {_ORDERS[order]} LIMIT ? OFFSET ?", (*values, limit, offset))
        return [memory_of(row) for row in rows]

    def count(self, selection: Selection) -> int:
        """See the contract."""
        condition, values = condition_of(selection, "m")
        total = int(self.run(f"SELECT count(*) FROM memories m WHERE {condition}", values).fetchone()[0])  # noqa: S608
        if selection.as_of is not None:
            condition, values = condition_of(selection, "v", past=True)
            total += int(self.run(f"SELECT count(*) FROM versions v WHERE {condition}", values).fetchone()[0])  # noqa: S608
        return total

    def page(self, scope: str | None, after: tuple[datetime, str] | None, limit: int) -> list[Stored]:
        """See the contract."""
        start = (micros(after[0]), after[1]) if after else (-(1 << 62), "")
        mine = "" if scope is None else "AND m.scope = ?"
        rows = self.run(
            f"SELECT {_M}, v.vector, v.space FROM memories m LEFT JOIN vectors v ON v.row = m.row "  # noqa: S608
            f"WHERE (m.created_at, m.id) > (?, ?) {mine} ORDER BY m.created_at, m.id LIMIT ?",
            (*start, *(() if scope is None else (scope,)), limit),
        )
        return [Stored(memory_of(row), row[11], row[12] or "") for row in rows]

    def without_vector(self, scope: str, space: str, limit: int) -> list[Memory]:
        """See the contract."""
        rows = self.run(
            f"SELECT {_M} FROM memories m LEFT JOIN vectors v ON v.row = m.row AND v.space = ? "  # noqa: S608
            "WHERE m.scope = ? AND v.row IS NULL ORDER BY m.row LIMIT ?",
            (space, scope, limit),
        )
        return [memory_of(row) for row in rows]

    def count_without_vector(self, scope: str | None, space: str) -> int:
        """See the contract."""
        mine = "" if scope is None else "AND m.scope = ?"
        return int(
            self.run(
                "SELECT count(*) FROM memories m LEFT JOIN vectors v ON v.row = m.row AND v.space = ? "  # noqa: S608
                f"WHERE v.row IS NULL {mine}",
                (space, *(() if scope is None else (scope,))),
            ).fetchone()[0]
        )

    def set_vector(self, memory: Memory, vector: bytes, space: str, hashes: Sequence[int]) -> bool:
        """See the contract."""
        found = self.run(
            "SELECT row, hashes FROM memories WHERE id = ? AND scope = ? AND updated_at = ?",
            (memory.id, memory.scope, micros(memory.updated_at)),
        ).fetchone()
        if found is None:
            return False
        row, before = found
        self.run("DELETE FROM vectors WHERE row = ?", (row,))
        self._put_vector(row, memory.scope, vector, space)
        self._add_hashes(row, hashes)
        every = dict.fromkeys((*unpacked(before), *hashes))
        self.run("UPDATE memories SET hashes = ? WHERE row = ?", (packed(tuple(every)), row))
        return True

    def expired(self, before: datetime, limit: int) -> list[tuple[str, str]]:
        """See the contract."""
        return self.run(
            "SELECT scope, id FROM memories WHERE expires_at < ? ORDER BY expires_at LIMIT ?", (micros(before), limit)
        ).fetchall()

    def get_meta(self, key: str) -> str:
        """See the contract."""
        found = self.run("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(found[0]) if found else ""

    def set_meta(self, key: str, value: str) -> None:
        """See the contract."""
        self.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))


def _chunks(values: Sequence[str]) -> list[Sequence[str]]:
    return [values[at : at + _CHUNK] for at in range(0, len(values), _CHUNK)]
