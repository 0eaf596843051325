"""Direct SQL: each statement of the memory protocol runs, and what it writes is found like any other memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from psycopg import sql

from apm_hooks.store.api import open_engine
from apm_hooks.store.items import Version
from apm_hooks.store.likeness import text_hashes
from apm_hooks.store.postgres import PostgresEngine
from tests.store.postgres_server import NOW, index_of, memory, opened, operator, selection

SEMANTIC = """
   SELECT id, type, title, content, tags, importance,
          1 - (embedding <=> '[{vector}]') AS similarity
   FROM memories
   WHERE embedding IS NOT NULL
   ORDER BY embedding <=> '[{vector}]'
   LIMIT 10;
"""
FILTER = """
   SELECT * FROM memories
   WHERE type = 'preference'
     AND 'coding' = ANY(tags)
   ORDER BY importance DESC;
"""
FULL_TEXT = """
   SELECT * FROM memories
   WHERE to_tsvector('english', title || ' ' || content)
         @@ plainto_tsquery('english', 'spaces');
"""
COLD_START = """
   SELECT * FROM memories
   ORDER BY importance DESC
   LIMIT 10;
"""
INSERT = """
INSERT INTO memories (type, title, content, tags, importance, source)
VALUES (
  'preference',
  'Indentation',
  'The user indents Python by four spaces, 四个空格.',
  ARRAY['coding', 'style'],
  4,
  'agent'
);
"""


@pytest.fixture
def engine(postgres_url: str, postgres_schema: str) -> Iterator[PostgresEngine]:
    opened_engine = opened(postgres_url, postgres_schema)
    yield opened_engine
    opened_engine.close()


@pytest.fixture
def hand(engine: PostgresEngine, postgres_url: str, postgres_schema: str) -> Iterator[psycopg.Connection[Any]]:
    """A person's connection to the schema of that engine."""
    with operator(postgres_url, postgres_schema) as connection:
        yield connection


def test_each_statement_of_the_protocol_runs(hand: psycopg.Connection[Any]) -> None:
    hand.execute(INSERT)
    titles = [
        [row["title"] for row in hand.cursor(row_factory=psycopg.rows.dict_row).execute(statement)]
        for statement in (FILTER, FULL_TEXT, COLD_START)
    ]
    assert titles == [["Indentation"]] * 3
    vector = ",".join(["0.03125"] * 1024)
    assert hand.execute(SEMANTIC.format(vector=vector)).fetchall() == []
    assert hand.execute("SELECT title FROM memories_without_embeddings").fetchall() == [("Indentation",)]
    hand.execute("UPDATE memories SET embedding = %s", [f"[{vector}]"])
    found = hand.execute(SEMANTIC.format(vector=vector)).fetchall()
    assert [(row[2], row[6]) for row in found] == [("Indentation", pytest.approx(1.0))]
    assert hand.execute("SELECT title FROM memories_without_embeddings").fetchall() == []


def test_the_table_has_the_columns_of_the_protocol(hand: psycopg.Connection[Any]) -> None:
    hand.execute(INSERT)
    row = hand.cursor(row_factory=psycopg.rows.dict_row).execute("SELECT * FROM memories").fetchone()
    assert row is not None
    assert list(row)[:12] == [
        "id", "scope", "type", "title", "content", "tags", "importance", "embedding", "source", "expires_at",
        "created_at", "updated_at",
    ]  # fmt: skip
    assert (row["scope"], row["expires_at"], row["embedding"]) == ("DM", None, None)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE memories SET type = 'opinion'",
        "UPDATE memories SET importance = 6",
        "UPDATE memories SET importance = 0",
        "UPDATE memories SET title = NULL",
        "UPDATE memories SET tags = ARRAY['a', NULL]",
        "UPDATE memories SET expires_at = 'infinity'",
        "UPDATE memories SET created_at = '-infinity'",
        "UPDATE memories SET updated_at = '0044-03-15 BC'",
    ],
)
def test_direct_sql_cannot_write_what_the_tools_may_not(hand: psycopg.Connection[Any], change: str) -> None:
    hand.execute(INSERT)
    with pytest.raises(psycopg.IntegrityError):
        hand.execute(change)


@pytest.mark.parametrize("term", ["indent", "python", "四个", "空格"])
def test_a_row_of_direct_sql_is_found_by_the_words_of_the_rules(
    engine: PostgresEngine, hand: psycopg.Connection[Any], term: str
) -> None:
    hand.execute(INSERT)
    found = engine.read(lambda transaction: transaction.search_text([term], _later(), 10))
    assert len(found) == 1
    assert hand.execute("SELECT count(*) FROM unprepared").fetchone() == (0,)


def _later() -> Any:
    return selection(now=NOW + timedelta(days=36_500))


def test_the_last_moment_that_a_program_can_name_is_kept(engine: PostgresEngine) -> None:
    last = datetime.max.replace(tzinfo=UTC)
    one = memory("last", expires_at=last)
    engine.write(lambda transaction: transaction.insert(one, index_of(one)))
    assert engine.read(lambda transaction: transaction.get(selection(), [one.id]))[0].memory.expires_at == last


def test_a_row_of_direct_sql_is_found_by_its_hashes(
    hand: psycopg.Connection[Any], postgres_url: str, postgres_schema: str
) -> None:
    hand.execute(INSERT)
    engine = open_engine(".", postgres_url, schema=postgres_schema)
    same = text_hashes("DM", "Tabs", "the user indents  Python by four spaces, 四个空格.")
    near = engine.write(lambda transaction: transaction.sharing("DM", same, 8, 48))
    assert [each.memory.title for each in near] == ["Indentation"]
    engine.close()


def test_a_text_changed_by_direct_sql_loses_old_words_and_vector(
    engine: PostgresEngine, hand: psycopg.Connection[Any]
) -> None:
    one = memory("apples")
    index = replace(index_of(one), vector=b"\0\0\x80\x3f" + b"\0" * 12, space="test/4")
    engine.write(lambda transaction: transaction.insert(one, index))
    hand.execute("UPDATE memories SET content = 'pears', title = 'pears'")

    def found(term: str) -> int:
        return len(engine.read(lambda transaction: transaction.search_text([term], _later(), 10)))

    assert (found("appl"), found("pear")) == (0, 1)
    stored = engine.read(lambda transaction: transaction.get(_later(), [one.id]))[0]
    assert stored.vector is None
    assert stored.memory.updated_at > one.updated_at
    assert engine.read(lambda transaction: transaction.count_without_vector("DM", "test/4")) == 1


def test_a_filter_changed_by_direct_sql_keeps_the_vector(
    engine: PostgresEngine, hand: psycopg.Connection[Any]
) -> None:  # fmt: skip
    one = memory("apples")
    index = replace(index_of(one), vector=b"\0\0\x80\x3f" + b"\0" * 12, space="test/4")
    engine.write(lambda transaction: transaction.insert(one, index))
    hand.execute("UPDATE memories SET importance = 5, tags = ARRAY['fruit']")
    narrow = replace(_later(), min_importance=5, tags=("fruit",))
    found = engine.read(lambda transaction: transaction.search_text(["appl"], narrow, 10))
    near = engine.read(
        lambda transaction: transaction.search_vector(index.vector or b"", "test/4", narrow, 10, 0.5)
    )  # fmt: skip
    assert [each.id for each in found] == [each.id for each in near] == [one.id]


def test_a_vector_of_direct_sql_is_replaced_by_one_of_an_embedder(
    engine: PostgresEngine, hand: psycopg.Connection[Any]
) -> None:
    hand.execute(INSERT)
    hand.execute("UPDATE memories SET embedding = %s", [f"[{','.join(['0.03125'] * 1024)}]"])
    row = engine.read(lambda transaction: transaction.without_vector("DM", "test/1800", 10))[0]
    vector = b"\0\0\x80\x3f" + b"\0" * 4 * 1799
    assert engine.write(lambda transaction: transaction.set_vector(row, vector, "test/1800", ()))
    near = engine.read(lambda transaction: transaction.search_vector(vector, "test/1800", _later(), 10, 0.5))
    assert [each.id for each in near] == [row.id]
    assert hand.execute("SELECT count(embedding), count(embedding_1024) FROM memories").fetchone() == (1, 0)


def test_a_delete_by_direct_sql_takes_words_hashes_and_history(
    engine: PostgresEngine, hand: psycopg.Connection[Any]
) -> None:
    one = memory("apples")
    past = Version(memory("pears", id=one.id, minutes=-9), NOW, one.id)

    def work(transaction: Any) -> None:
        transaction.insert(one, index_of(one))
        transaction.close_version(past, ("pear",))

    engine.write(work)
    hand.execute("DELETE FROM memories")
    left = [
        hand.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
        for table in ("memories", "memory_words", "memory_hashes", "memory_versions", "unprepared")
    ]
    assert left == [(0,)] * 5


def test_many_rows_of_direct_sql_are_all_prepared_before_the_next_read(
    engine: PostgresEngine, hand: psycopg.Connection[Any]
) -> None:
    hand.execute(
        "INSERT INTO memories (type, title, content) SELECT 'fact', 'apple ' || i, '' FROM generate_series(1, 450) i"
    )
    assert engine.read(lambda transaction: transaction.count(_later())) == 450
    assert hand.execute("SELECT count(*) FROM memory_words").fetchone() == (450,)
