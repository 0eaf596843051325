"""Vectors in Postgres: a typed column with an HNSW index for each dimension, and a search that no filter can starve.

The column `embedding` has the dimension of the newest embedder, so that a statement typed by hand finds the index too.
Vectors of another dimension stay in a column of their own, `embedding_512`, until each row has got its new one.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from apm_hooks.store.items import Ranked, StoreError
from apm_hooks.store.postgres_rows import conditions, floats_of

if TYPE_CHECKING:
    from typing import Any

    import psycopg

    from apm_hooks.store.items import Selection

EXACT_ROWS = 2_000
"""Up to so many selected rows are compared one by one: exact, and of 1,024 numbers no slower than the graph."""

_INDEXED = 2_000
"""pgvector's limit for an HNSW index; longer vectors are compared one by one."""

_INLINE = 1_800
"""Up to this dimension a row with its vector fits into a page."""

_ROUNDING = 1e-6
"""What two ways of adding 32-bit floats may differ by: a row at the floor itself is not lost to it."""

_VIEW = """CREATE VIEW memories_without_embeddings AS
    SELECT id, scope, type, title, content, tags, importance, source, expires_at, created_at, updated_at
    FROM memories WHERE embedding IS NULL"""


class Space(NamedTuple):
    """Where the vectors of one embedder stand: their dimension, and the column of `memories`."""

    dimension: int
    place: str


def adapt(connection: psycopg.Connection[Any]) -> None:
    """Let a connection take pgvector's `Vector`, and give vectors as our bytes."""
    from pgvector.psycopg.vector import register_vector_info
    from psycopg.adapt import Loader
    from psycopg.pq import Format
    from psycopg.types import TypeInfo

    class Floats(Loader):
        format = Format.BINARY

        def load(self, data: bytes | bytearray | memoryview) -> bytes:
            numbers = array("f")
            # Two bytes of dimension, two unused, then floats in network order, the reverse of ours.
            numbers.frombytes(bytes(data)[4:])
            numbers.byteswap()
            return numbers.tobytes()

    info = TypeInfo.fetch(connection, "vector")
    register_vector_info(connection, info)
    if info is not None:
        connection.adapters.register_loader(info.oid, Floats)


def spaces(connection: psycopg.Connection[Any]) -> dict[str, Space]:
    """The embedders whose vectors the store has or had."""
    rows = connection.execute("SELECT signature, dimension, place FROM spaces").fetchall()
    return {signature: Space(dimension, place) for signature, dimension, place in rows}


def places(known: dict[str, Space]) -> list[str]:
    """All columns that may hold a vector, `embedding` first."""
    return sorted({"embedding", *(space.place for space in known.values())})


def open_space(connection: psycopg.Connection[Any], known: dict[str, Space], signature: str, dimension: int) -> Space:
    """The column for an embedder's vectors, made where it is not there yet. Raises StoreError for another dimension
    than the embedder had before."""
    space = known.get(signature)
    if space is not None:
        if space.dimension != dimension:
            raise StoreError(
                f"the embedder {signature} gave a vector of {dimension} numbers, before of {space.dimension}",
                remedy="Give another model or dimension another signature.",
            )
        return space
    space = next((each for each in known.values() if each.dimension == dimension), Space(dimension, "embedding"))
    if space.place == "embedding":
        _make_column(connection, known, dimension)
    connection.execute(
        "INSERT INTO spaces (signature, dimension, place) VALUES (%s, %s, %s)", [signature, dimension, space.place]
    )
    known.clear()
    known.update(spaces(connection))
    return space


def _make_column(connection: psycopg.Connection[Any], known: dict[str, Space], dimension: int) -> None:
    """Let `embedding` be a column of that dimension: a new, empty one takes its name, and no row is rewritten."""
    older = _dimension(connection)
    if older == dimension:
        return
    statements = ["DROP VIEW memories_without_embeddings"]
    if known or connection.execute("SELECT 1 FROM memories WHERE embedding IS NOT NULL LIMIT 1").fetchone():
        if not known:
            # Vectors of direct SQL, of an embedder that nobody named: each goes when its memory gets another.
            statements.append(f"INSERT INTO spaces (signature, dimension, place) VALUES ('', {older:d}, 'embedding')")  # noqa: S608
        statements += [
            f"ALTER TABLE memories RENAME COLUMN embedding TO embedding_{older:d}",
            f"ALTER INDEX IF EXISTS memories_by_embedding RENAME TO memories_by_embedding_{older:d}",
        ]
    else:
        statements.append("ALTER TABLE memories DROP COLUMN embedding")
    storage = "PLAIN" if dimension <= _INLINE else "EXTERNAL"
    statements += [
        f"ALTER TABLE memories ADD COLUMN embedding vector({dimension:d})",
        f"ALTER TABLE memories ALTER COLUMN embedding SET STORAGE {storage}",
    ]
    if dimension <= _INDEXED:
        statements.append("CREATE INDEX memories_by_embedding ON memories USING hnsw (embedding vector_cosine_ops)")
    statements.append(_VIEW)
    for statement in statements:
        connection.execute(statement)
    connection.execute("UPDATE spaces SET place = %s WHERE place = 'embedding'", [f"embedding_{older:d}"])


def _dimension(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(
        "SELECT atttypmod FROM pg_attribute WHERE attrelid = 'memories'::regclass AND attname = 'embedding'"
    ).fetchone()
    return int(row[0]) if row else 0


def search_vector(
    connection: psycopg.Connection[Any],
    known: dict[str, Space],
    vector: bytes,
    signature: str,
    selection: Selection,
    limit: int,
    floor: float,
) -> list[Ranked]:
    """The nearest rows of a space that a selection lets through, by cosine, at least `floor`.

    A graph finds what is near, and only then what is selected: behind a selective filter it gives too little. So few
    selected rows are compared one by one; many are sought by the graph, and one by one where that gave too little.
    """
    from pgvector import Vector

    space = known.get(signature)
    numbers = floats_of(vector)
    if space is None or space.dimension != len(numbers):
        return []
    where, values = conditions(selection)
    values.update(space=signature, query=Vector(numbers.tolist()), limit=limit, few=EXACT_ROWS + 1)
    few = f"SELECT count(*) FROM (SELECT FROM memory_words WHERE {where} LIMIT %(few)s) AS few"  # noqa: S608 - as above
    row = connection.execute(few, values, prepare=False).fetchone()
    count = row[0] if row else 0
    found: list[tuple[Any, float]] = []
    if count > EXACT_ROWS and space.dimension <= _INDEXED:
        found = _by_graph(connection, space.place, where, values)
    if len(found) < limit:
        found = _one_by_one(connection, space.place, where, values)
    ranked = [Ranked(str(id_), min(1.0, max(-1.0, 1.0 - distance))) for id_, distance in found]
    ranked = [each for each in ranked if each.score >= floor - _ROUNDING]
    return sorted(ranked, key=lambda each: (-each.score, each.id))


def graph_query(place: str, where: str) -> str:
    """The statement that goes through the HNSW index."""
    return (
        f"SELECT id, {place} <=> %(query)s AS distance FROM memories WHERE space = %(space)s AND {where}"  # noqa: S608
        f" ORDER BY {place} <=> %(query)s LIMIT %(limit)s"
    )


def exact_query(place: str, where: str) -> str:
    """The statement that compares each selected row: the fences keep the planner from the graph."""
    return (
        f"WITH chosen AS MATERIALIZED (SELECT memory FROM memory_words WHERE {where}),"  # noqa: S608 - as above
        f" near AS MATERIALIZED (SELECT id, {place} <=> %(query)s AS distance FROM memories"
        " JOIN chosen ON id = memory WHERE space = %(space)s)"
        " SELECT id, distance FROM near ORDER BY distance, id LIMIT %(limit)s"
    )


def _by_graph(
    connection: psycopg.Connection[Any], place: str, where: str, values: dict[str, Any]
) -> list[tuple[Any, float]]:  # fmt: skip
    # Without a sort, the index is the one way to the order: the planner's guess of the cost does not matter.
    with connection.pipeline():
        connection.execute("SET LOCAL enable_sort = off")
        found = connection.execute(graph_query(place, where), values, prepare=False)
        connection.execute("SET LOCAL enable_sort = on")
    return found.fetchall()


def _one_by_one(
    connection: psycopg.Connection[Any], place: str, where: str, values: dict[str, Any]
) -> list[tuple[Any, float]]:  # fmt: skip
    return connection.execute(exact_query(place, where), values, prepare=False).fetchall()
