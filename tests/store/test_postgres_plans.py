"""Plans on a real server: each search goes through its index, and no filter leaves it short of rows."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

import psycopg
import pytest

from apm_hooks.store.items import Order, Selection
from apm_hooks.store.postgres import PostgresEngine
from apm_hooks.store.postgres_rows import scope_lexeme
from apm_hooks.store.postgres_vectors import EXACT_ROWS, spaces
from apm_hooks.store.postgres_work import PostgresTransaction
from tests.store.postgres_server import NOW, index_of, memory, opened, operator, own_schema, selection
from tests.store.test_postgres_seed import SEMANTIC

DIMENSION = 32
SPACE = f"test/{DIMENSION}"
LARGE, MIDDLE, SMALL = 3_000, 2_200, 5
"""Rows of three scopes: the vectors of the large one are all nearer to the query than those of the others."""


@dataclass(slots=True)
class Explained:
    """A connection that keeps the plan of each statement that it reads by."""

    connection: psycopg.Connection[Any]
    plans: list[str]

    @contextmanager
    def pipeline(self) -> Iterator[None]:
        """One statement after the other: a plan is read before its statement is sent."""
        yield

    def execute(self, statement: str, values: Any = None, **options: Any) -> psycopg.Cursor[Any]:
        if statement.startswith(("SELECT", "WITH")):
            rows = self.connection.execute("EXPLAIN (ANALYZE, BUFFERS OFF) " + statement, values, prepare=False)
            self.plans.append("\n".join(row[0] for row in rows))
        return self.connection.execute(statement, values, **options)


def query(rng: Random | None = None) -> bytes:
    """The query's vector, or, with a source of chance, one near it."""
    numbers = [1.0] + [rng.uniform(-0.08, 0.08) if rng else 0.0 for _ in range(DIMENSION - 1)]
    return _unit(numbers)


def far(rng: Random) -> bytes:
    """A vector far from the query's."""
    return _unit([0.2] + [rng.uniform(-1, 1) for _ in range(DIMENSION - 1)])


def _unit(numbers: list[float]) -> bytes:
    length = sum(number * number for number in numbers) ** 0.5
    return array("f", [number / length for number in numbers]).tobytes()


def _fill(connection: psycopg.Connection[Any], vectors: list[tuple[str, bytes]]) -> None:
    rows = [
        (scope, f"row {at}", str(array("f", vector).tolist()), "person" if at % 500 == 7 else "fact",
         ["rare"] if at % 600 == 9 else ["usual"], 5 if at % 700 == 3 else 3,
         f"{scope_lexeme(scope)} 'row':1 'number{at}':2" + (" 'frequent':3" if at % 4 == 0 else ""), at)
        for at, (scope, vector) in enumerate(vectors)
    ]  # fmt: skip
    connection.execute(
        "CREATE TEMP TABLE load (scope text, title text, embedding text, type text, tags text[], importance int,"
        " words text, at int)"
    )
    with connection.cursor().copy("COPY load FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
    connection.execute(
        "INSERT INTO memories (scope, type, title, content, tags, importance, embedding, space, expires_at, created_at,"
        "  updated_at) SELECT scope, type, title, title, tags, importance, embedding::vector, %s,"
        "  CASE WHEN at %% 50 = 1 THEN %s::timestamptz END, %s::timestamptz + at * interval '1 second',"
        "  %s::timestamptz + at * interval '1 second' FROM load",
        [SPACE, NOW, NOW, NOW],
    )
    connection.execute(
        "INSERT INTO memory_words SELECT id, m.scope, m.type, m.tags, m.importance, m.expires_at, m.updated_at,"
        " words::tsvector FROM memories m JOIN load ON load.title = m.title"
    )
    connection.execute(
        "INSERT INTO memory_hashes SELECT 1, created_at, id FROM memories WHERE title <> 'first'"
        " UNION ALL SELECT hashtextextended(title, 0), created_at, id FROM memories WHERE title <> 'first'"
    )


@pytest.fixture(scope="module")
def filled(postgres_url: str) -> Iterator[tuple[PostgresEngine, psycopg.Connection[Any]]]:
    """An engine on thousands of rows, and a person's connection to them."""
    rng = Random(7)
    vectors = [("DM", query(rng)) for _ in range(LARGE)]
    vectors += [("Group(middle)", far(rng)) for _ in range(MIDDLE)]
    vectors += [("Group(small)", far(rng)) for _ in range(SMALL)]
    with own_schema(postgres_url) as schema:
        engine = opened(postgres_url, schema)
        # The first vector of a dimension makes its column and index.
        first = memory("first", scope="Group(first)")
        index = replace(index_of(first), vector=query(), space=SPACE)
        engine.write(lambda transaction: transaction.insert(first, index))
        with operator(postgres_url, schema, as_engine=True) as connection:
            _fill(connection, vectors)
            connection.execute("ANALYZE")
            yield engine, connection
        engine.close()


@dataclass(slots=True)
class Looked:
    """What a search gave, and the plans of its statements."""

    found: Any
    plans: str


@pytest.fixture
def look(filled: tuple[PostgresEngine, psycopg.Connection[Any]]) -> Any:
    engine, _ = filled

    def run(work: Any, *before: str) -> Looked:
        def explained(transaction: Any) -> Looked:
            connection = Explained(transaction.connection, [])
            known = spaces(transaction.connection)
            for statement in before:
                connection.execute(statement)
            found = work(PostgresTransaction(connection, known))  # type: ignore[arg-type]
            return Looked(found, "\n\n".join(connection.plans))

        return engine.read(explained)

    return run


def by_brute_force(connection: psycopg.Connection[Any], where: Selection, limit: int) -> list[str]:
    """The ids that a search by vector should give, told by comparing each row."""
    rows = connection.execute(
        "WITH each AS MATERIALIZED (SELECT id, embedding <=> %s::vector AS distance FROM memories WHERE scope = %s"
        " AND (expires_at IS NULL OR expires_at > %s) AND (%s::text IS NULL OR type = %s) AND tags @> %s"
        " AND importance >= %s) SELECT id FROM each ORDER BY distance, id LIMIT %s",
        [str(array("f", query()).tolist()), where.scope, where.now, where.type, where.type, list(where.tags),
         where.min_importance, limit],
    )  # fmt: skip
    return [str(row[0]) for row in rows]


def nearest(where: Selection, limit: int = 60) -> Any:
    return lambda transaction: transaction.search_vector(query(), SPACE, where, limit, -1.0)


def test_a_large_scope_is_searched_through_the_graph(
    look: Any, filled: tuple[PostgresEngine, psycopg.Connection[Any]]
) -> None:
    looked = look(nearest(selection()))
    assert "Index Scan using memories_by_embedding on memories" in looked.plans
    assert "Seq Scan on memories " not in looked.plans
    ids = [each.id for each in looked.found]
    exact = by_brute_force(filled[1], selection(), 60)
    assert len(ids) == 60
    assert len(set(ids) & set(exact)) >= 57
    assert ids[0] == exact[0]


@pytest.mark.parametrize(
    "where",
    [
        selection("Group(small)"),
        selection(type="person"),
        selection(tags=("rare",)),
        selection(tags=("rare", "usual")),
        selection(min_importance=5),
        selection("Group(middle)", type="person"),
        selection("Group(small)", tags=("rare",)),
        selection("Group(none)"),
    ],
    ids=str,
)
def test_few_selected_rows_behind_thousands_of_nearer_ones_are_all_found(
    look: Any, filled: tuple[PostgresEngine, psycopg.Connection[Any]], where: Selection
) -> None:
    looked = look(nearest(where))
    assert [each.id for each in looked.found] == by_brute_force(filled[1], where, 60)
    assert "memories_by_embedding" not in looked.plans


def test_the_small_scope_is_read_by_its_b_tree(look: Any) -> None:
    looked = look(nearest(selection("Group(small)", expired=True)))
    assert "memory_words_by_scope" in looked.plans
    assert "Seq Scan on memories " not in looked.plans
    assert len(looked.found) == SMALL


def test_many_selected_rows_that_the_graph_does_not_reach_are_found_one_by_one(
    look: Any, filled: tuple[PostgresEngine, psycopg.Connection[Any]]
) -> None:
    where = selection("Group(middle)", now=NOW - timedelta(days=1))
    assert EXACT_ROWS < MIDDLE
    looked = look(nearest(where), "SET LOCAL hnsw.max_scan_tuples = 100")
    assert "memories_by_embedding" in looked.plans
    assert [each.id for each in looked.found] == by_brute_force(filled[1], where, 60)


def test_a_hit_below_the_floor_is_left_out_after_the_limit_is_filled(look: Any) -> None:
    floor = 0.93
    looked = look(lambda transaction: transaction.search_vector(query(), SPACE, selection(), 60, floor))
    every = look(nearest(selection())).found
    assert looked.found == [each for each in every if each.score >= floor]


def test_words_are_found_through_their_index(look: Any) -> None:
    looked = look(lambda transaction: transaction.search_text(["number77", "number78"], selection(), 10))
    assert "Bitmap Index Scan on memory_words_by_word" in looked.plans
    assert "Seq Scan" not in looked.plans
    assert len(looked.found) == 2


def test_the_weight_of_words_is_counted_once_whatever_the_planner_expects(look: Any) -> None:
    looked = look(lambda transaction: transaction.search_text(["row", "frequent"], selection(), 10))
    # As a part of its own: within the join it would be counted again for each row.
    assert "CTE weight" in looked.plans


def test_words_of_other_scopes_are_left_out_by_the_index_itself(look: Any) -> None:
    where = selection("Group(small)", expired=True)
    looked = look(lambda transaction: transaction.search_text(["row"], where, 60))
    assert "Rows Removed" not in looked.plans
    assert len(looked.found) == SMALL


def test_a_plan_made_on_a_small_table_is_not_kept(filled: tuple[PostgresEngine, psycopg.Connection[Any]]) -> None:
    def work(transaction: Any) -> Any:
        for _ in range(20):
            transaction.sharing("DM", [1, 2, 3], 8, 48)
            transaction.get_meta("a")
            transaction.expired(NOW, 10)
        return transaction.run(
            "SELECT count(*), sum(generic_plans) FROM pg_prepared_statements WHERE parameter_types <> '{}'"
        ).fetchone()

    count, kept = filled[0].read(work)
    assert count
    assert kept == 0


def test_a_word_that_fills_another_scope_takes_no_place(look: Any) -> None:
    found = look(
        lambda transaction: transaction.search_text(["row"], selection("Group(small)", expired=True), 60)
    ).found
    assert len(found) == SMALL
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_what_other_scopes_hold_does_not_change_a_rank(filled: tuple[PostgresEngine, psycopg.Connection[Any]]) -> None:
    where = selection("Group(small)", expired=True)

    class Undo(Exception):  # noqa: N818 - no error
        pass

    def work(transaction: Any) -> None:
        before = transaction.search_text(["row", "frequent"], where, 60)
        transaction.run("DELETE FROM memory_words WHERE scope = 'DM'")
        assert transaction.search_text(["row", "frequent"], where, 60) == before
        assert len(before) == SMALL
        raise Undo

    with pytest.raises(Undo):
        filled[0].write(work)


@pytest.mark.parametrize(
    ("index", "work"),
    [
        ("memories_by_importance", lambda t: t.listing(selection(), Order.IMPORTANCE, 10)),
        ("memories_by_change", lambda t: t.listing(selection(), Order.RECENT, 10)),
        ("memories_by_age", lambda t: t.page(None, (NOW, "0" * 8 + "-0000-4000-8000-" + "0" * 12), 10)),
        ("memories_by_birth", lambda t: t.page("Group(small)", None, 10)),
        ("memories_by_space", lambda t: t.count_without_vector(None, SPACE)),
        ("memories_by_space", lambda t: t.without_vector("DM", SPACE, 10)),
        ("memories_by_expiry", lambda t: t.expired(NOW, 10)),
        ("memory_hashes_pkey", lambda t: t.sharing("DM", [1, 2, 3], 8, 48)),
        ("memories_pkey", lambda t: t.sharing("DM", [1, 2, 3], 8, 48)),
        ("memories_pkey", lambda t: t.taken(["0" * 8 + "-0000-4000-8000-" + "0" * 12])),
    ],
)
def test_each_look_goes_through_its_index(look: Any, index: str, work: Any) -> None:
    looked = look(work)
    assert index in looked.plans
    assert "Seq Scan on memories " not in looked.plans
    assert "Seq Scan on memory_hashes" not in looked.plans


def test_a_hash_that_thousands_share_costs_one_look(look: Any) -> None:
    found = look(lambda transaction: transaction.sharing("DM", [1], 8, 48)).found
    newest = look(lambda transaction: transaction.listing(selection(expired=True), Order.RECENT, 9_999)).found
    # The eight newest of all scopes are looked at: in the rules' hashes, a scope shares none with another.
    assert len(found) == 0
    assert len(newest) == LARGE


def test_the_semantic_statement_of_the_protocol_goes_through_the_graph(
    filled: tuple[PostgresEngine, psycopg.Connection[Any]],
) -> None:
    vector = ",".join(map(str, array("f", query()).tolist()))
    rows = filled[1].execute("EXPLAIN " + SEMANTIC.format(vector=vector))
    assert any("Index Scan using memories_by_embedding" in row[0] for row in rows)
