"""Vectors of several embedders, and words of any kind, as Postgres keeps them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apm_hooks.store.items import Index, Memory, StoreError
from apm_hooks.store.postgres import PostgresEngine
from apm_hooks.store.postgres_rows import lexeme, lexemes
from tests.store.postgres_server import index_of, memory, opened, operator, own_schema, selection


@pytest.fixture
def engine(postgres_url: str, postgres_schema: str) -> Iterator[PostgresEngine]:
    opened_engine = opened(postgres_url, postgres_schema)
    yield opened_engine
    opened_engine.close()


def unit(dimension: int, at: int = 0, more: float = 0.0) -> bytes:
    """A vector of length one along an axis, turned towards the next one by `more`."""
    numbers = array("f", [0.0] * dimension)
    numbers[at], numbers[(at + 1) % dimension] = (1 - more * more) ** 0.5, more
    return numbers.tobytes()


def put(engine: PostgresEngine, title: str, vector: bytes, space: str, **more: Any) -> Memory:
    one = memory(title, **more)
    index = replace(index_of(one), vector=vector, space=space)
    engine.write(lambda transaction: transaction.insert(one, index))
    return one


def near(engine: PostgresEngine, vector: bytes, space: str, floor: float = 0.5) -> list[tuple[str, float]]:
    found = engine.read(lambda transaction: transaction.search_vector(vector, space, selection(), 10, floor))
    return [(each.id, round(each.score, 4)) for each in found]


def test_a_vector_comes_back_bit_for_bit(engine: PostgresEngine) -> None:
    vector = array("f", [0.1 * at for at in range(-50, 50)]).tobytes()
    one = put(engine, "exact", vector, "test/100")
    stored = engine.read(lambda transaction: transaction.get(selection(), [one.id]))[0]
    assert (stored.vector, stored.space, stored.memory) == (vector, "test/100", one)


def test_two_spaces_of_one_dimension_are_never_mixed(engine: PostgresEngine) -> None:
    first = put(engine, "first", unit(8), "a/8")
    second = put(engine, "second", unit(8), "b/8")
    assert near(engine, unit(8), "a/8") == [(first.id, 1.0)]
    assert near(engine, unit(8), "b/8") == [(second.id, 1.0)]
    assert near(engine, unit(8), "c/8") == []


def test_each_dimension_has_its_column_and_none_is_lost(
    engine: PostgresEngine, postgres_url: str, postgres_schema: str
) -> None:
    first = put(engine, "first", unit(8), "a/8")
    second = put(engine, "second", unit(16), "b/16")
    third = put(engine, "third", unit(8, 0, 0.6), "c/8")
    assert near(engine, unit(8), "a/8") == [(first.id, 1.0)]
    assert near(engine, unit(16), "b/16") == [(second.id, 1.0)]
    assert near(engine, unit(8), "c/8") == [(third.id, 0.8)]
    with operator(postgres_url, postgres_schema) as connection:
        # What is typed by hand sees the newest dimension alone, which one query vector can be compared with.
        assert connection.execute("SELECT title FROM memories WHERE embedding IS NOT NULL").fetchall() == [("second",)]
    again = index_of(first)
    engine.write(lambda transaction: transaction.set_vector(first, unit(16, 1), "b/16", again.hashes))
    assert near(engine, unit(16, 1), "b/16") == [(first.id, 1.0)]
    assert near(engine, unit(8), "a/8") == []
    stored = engine.read(lambda transaction: transaction.page(None, None, 10))
    assert {(each.memory.id, each.space, each.vector) for each in stored} == {
        (first.id, "b/16", unit(16, 1)), (second.id, "b/16", unit(16)), (third.id, "c/8", unit(8, 0, 0.6)),
    }  # fmt: skip


def test_another_engine_follows_a_new_dimension(
    engine: PostgresEngine, postgres_url: str, postgres_schema: str
) -> None:  # fmt: skip
    other = opened(postgres_url, postgres_schema)
    first = put(engine, "first", unit(8), "a/8")
    assert near(other, unit(8), "a/8") == [(first.id, 1.0)]
    second = put(engine, "second", unit(16), "b/16")
    third = put(other, "third", unit(8, 1), "a/8")
    assert near(other, unit(8, 1), "a/8") == [(third.id, 1.0)]
    assert near(other, unit(16), "b/16") == [(second.id, 1.0)]
    other.close()


def test_a_program_that_has_long_been_running_follows_a_new_dimension(
    engine: PostgresEngine, postgres_url: str, postgres_schema: str
) -> None:
    plain = memory("plain")
    engine.write(lambda transaction: transaction.insert(plain, index_of(plain)))
    other = opened(postgres_url, postgres_schema)

    def look() -> list[str]:
        for _ in range(10):
            found = other.read(lambda transaction: transaction.get(selection(), [plain.id]))
            found += other.read(lambda transaction: transaction.page("DM", None, 1))
            found += other.read(lambda transaction: transaction.sharing("DM", index_of(plain).hashes, 8, 48))
        return [each.memory.title for each in found]

    assert look() == ["plain"] * 3
    for dimension in (8, 16, 24):
        put(engine, f"of {dimension}", unit(dimension), f"a/{dimension}", minutes=dimension)
        assert look() == ["plain"] * 3
    other.close()


def test_a_signature_whose_dimension_changes_is_refused(engine: PostgresEngine) -> None:
    put(engine, "first", unit(8), "a/8")
    with pytest.raises(StoreError, match="vector of 16 numbers, before of 8"):
        put(engine, "second", unit(16), "a/8")
    assert near(engine, unit(16), "a/8") == []


def test_more_numbers_than_an_index_takes_are_compared_one_by_one(engine: PostgresEngine) -> None:
    found = [put(engine, f"long {at}", unit(3072, at), "long/3072") for at in range(3)]
    assert near(engine, unit(3072, 1), "long/3072") == [(found[1].id, 1.0)]


def test_the_longest_vector_beside_the_longest_texts_fits(
    engine: PostgresEngine, postgres_url: str, postgres_schema: str
) -> None:
    storage = []
    words = " ".join(f"w{at}" for at in range(9_000))
    for dimension in (1024, 1800, 2000):
        title = f"{'t' * 290} {dimension}"
        tags = tuple(f"{at:02d}{'g' * 62}" for at in range(32))
        one = put(engine, title, unit(dimension), f"s/{dimension}", content=words, tags=tags, source="s" * 200)
        assert near(engine, unit(dimension), f"s/{dimension}") == [(one.id, 1.0)]
        assert engine.read(lambda transaction: transaction.get(selection(), [one.id]))[0].memory == one  # noqa: B023
        with operator(postgres_url, postgres_schema) as connection:
            storage += connection.execute(
                "SELECT attstorage::text FROM pg_attribute WHERE attrelid = 'memories'::regclass"
                " AND attname = 'embedding'"
            ).fetchall()
    # Within its row wherever that fits a page: the planner then takes the index, and a comparison is one read.
    assert storage == [("p",), ("p",), ("e",)]


def test_the_floor_keeps_what_stands_on_it(engine: PostgresEngine) -> None:
    one = put(engine, "on it", unit(8, 0, 0.8), "a/8")
    put(engine, "below", unit(8, 0, 0.81), "a/8")
    assert near(engine, unit(8), "a/8", floor=0.6) == [(one.id, 0.6)]


@pytest.mark.parametrize(
    "term", ["it's", "a'b''c", "back\\slash", "a&b|!c:*", "w" * 60_000, "字" * 5_000, "\u202e", "𒀀𒀁", " ", "<->"]
)
def test_any_word_is_one_lexeme_and_finds_itself(engine: PostgresEngine, term: str) -> None:
    one = memory("odd")
    engine.write(lambda transaction: transaction.insert(one, Index((term, "odd", term), (1,))))
    found = engine.read(lambda transaction: transaction.search_text([term], selection(), 10))
    assert [each.id for each in found] == [one.id]
    assert engine.read(lambda transaction: transaction.search_text(["c"], selection(), 10)) == []


def test_sixty_four_kibibytes_of_distinct_words_are_kept(engine: PostgresEngine) -> None:
    terms = tuple(f"{at:x}" for at in range(16_384)) + tuple(chr(0x4E00 + at % 20_000) * 2 for at in range(21_845))
    one = memory("full")
    engine.write(lambda transaction: transaction.insert(one, Index(terms, ())))
    for term in (terms[0], terms[16_383], terms[-1]):
        found = engine.read(lambda transaction: transaction.search_text([term], selection(), 10))  # noqa: B023
        assert len(found) == 1


def test_a_rare_word_weighs_more_than_two_common_ones(engine: PostgresEngine) -> None:
    for number in range(20):
        one = memory(f"common {number}", minutes=number)
        engine.write(lambda transaction, one=one: transaction.insert(one, Index(("parser", "row"), ())))  # type: ignore[misc]
    rare = memory("rare", minutes=-5)
    engine.write(lambda transaction: transaction.insert(rare, Index(("rare", "other", "words"), ())))
    found = engine.read(lambda transaction: transaction.search_text(["parser", "row", "rare"], selection(), 5))
    assert found[0].id == rare.id
    assert len(found) == 5


words = st.text(min_size=1, max_size=30).filter(lambda text: "\0" not in text and text.isprintable())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(terms=st.lists(words, min_size=1, max_size=8))
def test_no_word_is_a_syntax_error(postgres_url: str, terms: list[str]) -> None:
    with operator(postgres_url, "public") as connection:
        row = connection.execute(
            "SELECT %s::tsvector @@ %s::tsquery, %s::tsvector @@ %s::tsquery",
            [lexemes("DM", terms), lexeme(terms[0]), "'never'", " | ".join(map(lexeme, terms))],
        ).fetchone()
    assert row is not None
    assert row[0] is True


def test_an_id_of_any_other_form_is_not_there(engine: PostgresEngine) -> None:
    one = memory("here")
    engine.write(lambda transaction: transaction.insert(one, index_of(one)))
    wrong = ["", "1", one.id.upper(), f"{{{one.id}}}", one.id.replace("-", ""), "' OR 1=1 --"]

    def work(transaction: Any) -> None:
        assert transaction.get(selection(), wrong) == []
        assert transaction.taken(wrong) == set()
        for each in wrong:
            assert transaction.versions("DM", each) == []
        assert transaction.remove("DM", wrong) == 0

    engine.write(work)
    assert engine.read(lambda transaction: transaction.taken([one.id])) == {one.id}


def test_a_schema_dropped_meanwhile_is_told(postgres_url: str) -> None:
    with own_schema(postgres_url) as schema:
        engine = opened(postgres_url, schema)
    with pytest.raises(StoreError, match="does not exist"):
        engine.read(lambda transaction: transaction.count(selection()))
    engine.close()
