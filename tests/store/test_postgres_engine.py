"""Transactions on a real server: one writer after another, conflicts tried again, a lost server never half a write."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from threading import Barrier, Event, Thread
from typing import Any

import psycopg
import pytest

from apm_hooks.errors import LockTimeoutError
from apm_hooks.store import postgres, postgres_setup
from apm_hooks.store.items import STORE_LIMITS, Memory, StoreError
from apm_hooks.store.postgres_work import PostgresTransaction
from tests.store.postgres_server import Server, index_of, memory, opened, operator, own_schema, own_server, selection

RAISE = "DO $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '{}'; END $$"


def sent(transaction: Any, statement: str) -> None:
    """A statement on the connection of an engine's transaction."""
    assert isinstance(transaction, PostgresTransaction)
    transaction.run(statement)


@pytest.mark.parametrize("state", ["40001", "40P01"])
def test_a_conflict_is_tried_again_and_written_once(postgres_url: str, postgres_schema: str, state: str) -> None:
    engine = opened(postgres_url, postgres_schema)
    one, tries = memory("once"), []

    def work(transaction: Any) -> int:
        transaction.insert(one, index_of(one))
        tries.append(1)
        if len(tries) < 3:
            sent(transaction, RAISE.format(state))
        return len(tries)

    assert engine.write(work) == 3
    assert engine.read(lambda transaction: transaction.count(selection())) == 1
    engine.close()


def test_a_conflict_that_does_not_end_is_told(
    postgres_url: str, postgres_schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = opened(postgres_url, postgres_schema)
    monkeypatch.setattr(postgres, "STORE_LIMITS", replace(STORE_LIMITS, busy_seconds=0.05))
    with pytest.raises(StoreError, match="not now"):
        engine.write(lambda transaction: sent(transaction, RAISE.format("40001")))
    engine.close()


def test_a_deadlock_with_direct_sql_is_tried_again(postgres_url: str, postgres_schema: str) -> None:
    engine = opened(postgres_url, postgres_schema)
    first, second = memory("first"), memory("second")
    for each in (first, second):
        engine.write(lambda transaction, each=each: transaction.insert(each, index_of(each)))  # type: ignore[misc]
    held, tries, waiting = Event(), [], Event()

    def by_hand() -> None:
        with operator(postgres_url, postgres_schema, as_engine=True) as connection, connection.transaction():
            # It never looks for a deadlock itself: the engine is the one that is turned away.
            connection.execute("SET LOCAL deadlock_timeout = '1h'")
            connection.execute("UPDATE memories SET importance = 5 WHERE id = %s", [second.id])
            held.set()
            waiting.wait(10)
            connection.execute("UPDATE memories SET importance = 5 WHERE id = %s", [first.id])

    def work(transaction: Any) -> None:
        tries.append(1)
        transaction.update(replace(first, importance=4), None)
        waiting.set()
        transaction.update(replace(second, importance=4), None)

    thread = Thread(target=by_hand)
    thread.start()
    held.wait(10)
    engine.write(work)
    thread.join()
    found = engine.read(lambda transaction: transaction.get(selection(), [first.id, second.id]))
    assert [each.memory.importance for each in found] == [4, 4]
    assert len(tries) == 2
    engine.close()


def test_what_the_work_raises_undoes_it_and_is_passed_on(postgres_url: str, postgres_schema: str) -> None:
    engine = opened(postgres_url, postgres_schema)
    one = memory("never")

    def work(transaction: Any) -> None:
        transaction.insert(one, index_of(one))
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        engine.write(work)
    assert engine.read(lambda transaction: transaction.taken([one.id])) == set()
    assert engine.read(lambda transaction: transaction.search_text(["never"], selection(), 10)) == []
    engine.close()


def test_a_failure_that_the_work_keeps_quiet_is_never_told_as_saved(postgres_url: str, postgres_schema: str) -> None:
    engine = opened(postgres_url, postgres_schema)
    one = memory("never")

    def work(transaction: Any) -> str:
        transaction.insert(one, index_of(one))
        with suppress(psycopg.Error):
            sent(transaction, "SELECT 1 / 0")
        return "saved"

    with pytest.raises(StoreError, match="nothing was done"):
        engine.write(work)
    assert engine.read(lambda transaction: transaction.taken([one.id])) == set()
    engine.close()


def test_of_many_that_look_before_they_insert_one_inserts(postgres_url: str, postgres_schema: str) -> None:
    engines = [opened(postgres_url, postgres_schema) for _ in range(3)]
    barrier = Barrier(6)

    def remember(at: int) -> bool:
        one = memory("the same")
        index = index_of(one)

        def work(transaction: Any) -> bool:
            if transaction.sharing("DM", index.hashes, 8, 48):
                return False
            transaction.insert(one, index)
            return True

        barrier.wait()
        return engines[at % 3].write(work)

    with ThreadPoolExecutor(6) as pool:
        assert sorted(pool.map(remember, range(6))) == [False] * 5 + [True]
    for engine in engines:
        engine.close()


def test_a_read_sees_one_state_while_others_write(postgres_url: str, postgres_schema: str) -> None:
    engine = opened(postgres_url, postgres_schema)
    one = memory("late")

    def work(transaction: Any) -> tuple[int, int]:
        before = transaction.count(selection())
        with ThreadPoolExecutor(1) as pool:
            pool.submit(engine.write, lambda inner: inner.insert(one, index_of(one))).result()
        return before, transaction.count(selection())

    assert engine.read(work) == (0, 0)
    assert engine.read(lambda transaction: transaction.count(selection())) == 1
    engine.close()


def test_a_read_cannot_write(postgres_url: str, postgres_schema: str) -> None:
    engine = opened(postgres_url, postgres_schema)
    one = memory("never")
    with pytest.raises(StoreError, match="read-only"):
        engine.read(lambda transaction: transaction.insert(one, index_of(one)))
    engine.close()


def test_a_writer_that_waits_too_long_is_told(
    postgres_url: str, postgres_schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (postgres, postgres_setup):
        monkeypatch.setattr(module, "STORE_LIMITS", replace(STORE_LIMITS, busy_seconds=0.2))
    engine = opened(postgres_url, postgres_schema)
    with operator(postgres_url, postgres_schema) as connection, connection.transaction():
        connection.execute("SELECT FROM store_meta WHERE key = '' FOR UPDATE")
        with pytest.raises(LockTimeoutError, match="another program"):
            engine.write(lambda transaction: transaction.set_meta("a", "b"))
        assert engine.read(lambda transaction: transaction.get_meta("a")) == ""
    engine.write(lambda transaction: transaction.set_meta("a", "b"))
    assert engine.read(lambda transaction: transaction.get_meta("a")) == "b"
    engine.close()


def test_a_closed_engine_says_so(postgres_url: str, postgres_schema: str) -> None:
    engine = opened(postgres_url, postgres_schema)
    engine.close()
    engine.close()
    with pytest.raises(StoreError, match="closed"):
        engine.read(lambda transaction: transaction.get_meta(""))


def test_a_connection_that_the_server_dropped_is_replaced(postgres_url: str, postgres_schema: str) -> None:
    engine = opened(postgres_url, postgres_schema)
    pid = engine.read(lambda transaction: transaction.run("SELECT pg_backend_pid()").fetchone()[0])  # type: ignore[attr-defined]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(%s)", [pid])
    assert engine.read(lambda transaction: transaction.count(selection())) == 0
    engine.close()


def _whole(engine: Any) -> tuple[int, ...]:
    """Memories, and those that have their words and their hash."""

    def work(transaction: Any) -> tuple[int, ...]:
        row = transaction.run(
            "SELECT count(*), count(w.memory), count(h.memory) FROM memories"
            " LEFT JOIN memory_words w ON w.memory = id LEFT JOIN memory_hashes h ON h.memory = id"
        ).fetchone()
        return tuple(row)

    found: tuple[int, ...] = engine.read(work)
    return found


def test_a_server_that_dies_in_a_write_keeps_what_was_told_saved_and_nothing_half() -> None:
    with own_server() as server, own_schema(server.url) as schema:
        engine = opened(server.url, schema)
        saved: list[str] = []
        half = memory("half")

        def save(each: Memory) -> None:
            engine.write(lambda transaction: transaction.insert(each, index_of(each)))
            saved.append(each.id)

        for number in range(20):
            save(memory(f"number {number}", minutes=number))

        def dies(transaction: Any) -> None:
            transaction.insert(half, index_of(half))
            server.kill()
            transaction.insert(memory("after"), index_of(half))

        with pytest.raises(StoreError, match="failed"):
            engine.write(dies)
        _down(server, engine)
        server.start_again()
        assert engine.read(lambda transaction: transaction.taken([*saved, half.id])) == set(saved)
        assert _whole(engine) == (20, 20, 20)
        save(memory("after the start", minutes=30))
        assert _whole(engine) == (21, 21, 21)
        engine.close()


CHILD = """
import sys
from tests.store.postgres_server import index_of, memory, opened
engine = opened(sys.argv[1], sys.argv[2])
for number in range(100_000):
    one = memory(f"number {number}", minutes=number)
    engine.write(lambda transaction: transaction.insert(one, index_of(one)))
    print(one.id, flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_whole_memories(postgres_url: str, postgres_schema: str) -> None:
    engine = opened(postgres_url, postgres_schema)
    told: list[str] = []
    for lines in (1, 20, 45):
        with subprocess.Popen(
            [sys.executable, "-c", CHILD, postgres_url, postgres_schema], stdout=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            told += [child.stdout.readline().strip() for _ in range(lines)]
            child.kill()
            told += child.stdout.read().split()
    # Its lock is free as soon as the server sees it gone.
    engine.write(lambda transaction: transaction.set_meta("a", "b"))
    assert engine.read(lambda transaction: transaction.taken(told)) == set(told)
    memories, words, hashes = _whole(engine)
    assert len(told) <= memories <= len(told) + 3
    assert memories == words == hashes
    engine.close()


def _down(server: Server, engine: Any) -> None:
    with pytest.raises(StoreError, match="cannot open"):
        opened(server.url, "apm_down")
    assert engine.name == "postgres"
