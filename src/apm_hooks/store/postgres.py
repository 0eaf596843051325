"""The Postgres engine: a pool of connections, transactions that are tried again, and one writer after another.

Plain SQL and pgvector: no other extension, no advisory lock, no notification. Writers take turns by locking one row, so
that two that check before they insert see each other. Distributed servers that speak Postgres are untested; what they
refuse for the moment (SQLSTATE 40001) is tried again. A connection keeps settings and prepared statements for as long
as it lives: a pooler in between must give each client a server connection of its own (session pooling).

Deleting a row takes it out of every answer, index and export at once. Postgres does not overwrite the bytes: they stay
in the table's file until VACUUM gives the place to another row, and in the write-ahead log, replicas and back-ups for
as long as those are kept. Whoever must have them gone runs `VACUUM FULL` on the schema's tables, and lets log and
back-ups expire.
"""

from __future__ import annotations

from contextlib import suppress
from random import random
from time import monotonic, sleep
from typing import TYPE_CHECKING

import psycopg
from psycopg.pq import TransactionStatus
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from apm_hooks.errors import LockTimeoutError
from apm_hooks.store.items import STORE_LIMITS, StoreError
from apm_hooks.store.postgres_setup import arguments_of, check_schema, check_url, prepare, server_of, settle, told
from apm_hooks.store.postgres_vectors import adapt, spaces
from apm_hooks.store.postgres_work import PostgresTransaction

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from apm_hooks.store.base import Result, Transaction
    from apm_hooks.store.items import Index, Memory

_CONNECTIONS = 8
_AGAIN = ("40001", "40P01")
"""Serialisation failure and deadlock: nothing was done, and a second try may succeed."""

_LOCKED = "55P03"
_FIRST_PAUSE = 0.005
_PREPARED = 200
"""So many rows of direct SQL are prepared at a time."""

_READ = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)
_WRITE = (
    # Read committed: after the wait for the row, each statement sees what the writer before has done.
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    "SELECT FROM store_meta WHERE key = '' FOR UPDATE",
)


def open_engine(url: str, *, schema: str, index_of: Callable[[Memory], Index]) -> PostgresEngine:
    """The engine on a `postgresql://` URL, its tables in `schema`, made or brought up to date where needed.

    `index_of` gives words and hashes of a memory: what direct SQL inserted or changed is prepared with it, before the
    next read or write. Raises UsageError for a URL or a name of a schema that cannot be one, StoreError where the
    server is not there, lacks pgvector or holds a newer schema.
    """
    check_schema(schema)
    check_url(url)
    prepare(url, schema)
    return PostgresEngine(url, schema, index_of)


class PostgresEngine:
    """`base.Engine` on Postgres; made by `open_engine`."""

    name = "postgres"

    def __init__(self, url: str, schema: str, index_of: Callable[[Memory], Index]) -> None:
        self._url = url
        self._index_of = index_of

        def configure(connection: psycopg.Connection[Any]) -> None:
            settle(connection, url, schema)
            adapt(connection)

        self._pool: ConnectionPool[psycopg.Connection[Any]] = ConnectionPool(
            url,
            kwargs=arguments_of(url),
            min_size=0,
            max_size=_CONNECTIONS,
            timeout=STORE_LIMITS.busy_seconds,
            configure=configure,
            open=True,
        )

    def read(self, work: Callable[[Transaction], Result]) -> Result:
        def reading(connection: psycopg.Connection[Any]) -> Result:
            transaction, waiting = _begun(connection, _READ)
            while waiting:
                connection.execute("ROLLBACK")
                transaction, waiting = _begun(connection, _WRITE)
                self._adopt(transaction)
                connection.execute("COMMIT")
                transaction, waiting = _begun(connection, _READ)
            return work(transaction)

        return self._tried(reading)

    def write(self, work: Callable[[Transaction], Result]) -> Result:
        def writing(connection: psycopg.Connection[Any]) -> Result:
            transaction, waiting = _begun(connection, _WRITE)
            if waiting:
                self._adopt(transaction)
            return work(transaction)

        return self._tried(writing)

    def erase(self) -> None:
        """Nothing: Postgres cannot overwrite what was deleted (see the module's text)."""

    def close(self) -> None:
        self._pool.close()

    def _tried(self, work: Callable[[psycopg.Connection[Any]], Result]) -> Result:
        """What `work` gives, which begins a transaction; committed, or rolled back and tried again after a conflict."""
        until = monotonic() + STORE_LIMITS.busy_seconds
        pause = _FIRST_PAUSE
        while True:
            try:
                with self._pool.connection() as connection:
                    return _committed(connection, work)
            except _LostError as error:
                # The pool gives out another one, and tells when there is none any more.
                if monotonic() > until:
                    raise StoreError(
                        "the server drops each connection",
                        file=server_of(self._url),
                        remedy="Look at the server's log.",
                    ) from error
                continue
            except PoolClosed as error:
                raise StoreError("the store was closed", file=server_of(self._url)) from error
            except PoolTimeout as error:
                raise StoreError(
                    f"no connection within {STORE_LIMITS.busy_seconds:g} s",
                    file=server_of(self._url),
                    remedy="Is the server running and reachable?",
                ) from error
            except psycopg.Error as error:
                if error.sqlstate == _LOCKED:
                    raise LockTimeoutError(
                        f"still written by another program after {STORE_LIMITS.busy_seconds:g} s",
                        file=server_of(self._url),
                        remedy="Try again later.",
                    ) from error
                if error.sqlstate not in _AGAIN or monotonic() > until:
                    with told(self._url, "the store failed"):
                        raise
            # Two that collided wait for different times, lest they collide again.
            sleep(pause * (0.5 + random()))  # noqa: S311 - a pause, no secret
            pause = min(2 * pause, 0.5)

    def _adopt(self, transaction: PostgresTransaction) -> None:
        """Give words and hashes to the rows that direct SQL left without."""
        while memories := transaction.unprepared(_PREPARED):
            for memory in memories:
                transaction.prepare(memory, self._index_of(memory))


class _LostError(Exception):
    """A connection was found dead before anything was asked of it."""


def _begun(connection: psycopg.Connection[Any], statements: tuple[str, ...]) -> tuple[PostgresTransaction, bool]:
    """A transaction, and whether direct SQL left rows to prepare. All is sent at once: on a busy machine it is the
    turns between two programs that take the time."""
    try:
        with connection.pipeline():
            for statement in statements:
                connection.execute(statement)
            waiting = connection.execute("SELECT 1 FROM unprepared LIMIT 1")
            known = spaces(connection)
    except psycopg.OperationalError as error:
        if connection.closed:
            raise _LostError from error
        raise
    return PostgresTransaction(connection, known), waiting.fetchone() is not None


def _committed(connection: psycopg.Connection[Any], work: Callable[[psycopg.Connection[Any]], Result]) -> Result:
    try:
        result = work(connection)
        # A transaction in which something failed answers a commit by rolling back, and calls that no error.
        if connection.execute("COMMIT").statusmessage != "COMMIT":
            raise StoreError("the transaction failed before its end: nothing was done")
    except BaseException:
        # Where the server is gone there is nothing to roll back, and what was raised first is what must be told.
        if connection.info.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
        raise
    return result
