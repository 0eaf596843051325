"""The schema on a real server: made once, kept apart from others, and refused where it is another program's."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files

import psycopg
import pytest
from alembic.script import ScriptDirectory
from psycopg import sql

from apm_hooks.errors import UsageError
from apm_hooks.store.items import StoreError
from apm_hooks.store.postgres_setup import HEAD, check_schema, new_enough
from tests.store.postgres_server import index_of, memory, opened, operator, own_schema, selection


def test_the_newest_revision_is_the_one_that_opening_looks_for() -> None:
    scripts = ScriptDirectory(str(files("apm_hooks.store") / "migrations"))
    assert scripts.get_heads() == [HEAD]


def test_four_that_open_a_new_schema_at_once_make_it_once(postgres_url: str, postgres_schema: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        engines = list(pool.map(lambda _: opened(postgres_url, postgres_schema), range(4)))
    one = memory("the parser reads UTF-16")
    engines[0].write(lambda transaction: transaction.insert(one, index_of(one)))
    assert [engine.read(lambda transaction: transaction.count(selection())) for engine in engines] == [1, 1, 1, 1]
    for engine in engines:
        engine.close()


def test_a_schema_of_a_newer_version_is_refused_and_left_as_it_is(postgres_url: str, postgres_schema: str) -> None:
    opened(postgres_url, postgres_schema).close()
    with operator(postgres_url, postgres_schema) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        with pytest.raises(StoreError, match="does not know") as caught:
            opened(postgres_url, postgres_schema)
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("9999",)
    assert "newer" in caught.value.remedy


def test_dropping_one_workspace_leaves_the_other_its_vectors(postgres_url: str, postgres_schema: str) -> None:
    kept = opened(postgres_url, postgres_schema)
    with own_schema(postgres_url) as other:
        opened(postgres_url, other).close()
    one = memory("kept")
    kept.write(lambda transaction: transaction.insert(one, index_of(one)))
    assert kept.read(lambda transaction: transaction.get(selection(), [one.id]))[0].memory == one
    kept.close()


def test_two_workspaces_on_one_server_see_nothing_of_each_other(postgres_url: str, postgres_schema: str) -> None:
    one = memory("the parser")
    with own_schema(postgres_url) as schema:
        here, there = opened(postgres_url, postgres_schema), opened(postgres_url, schema)
        here.write(lambda transaction: transaction.insert(one, index_of(one)))
        assert there.read(lambda transaction: transaction.taken([one.id])) == set()
        here.close()
        there.close()


@pytest.mark.parametrize(
    "name", ["public", "pg_temp", "information_schema", "Apm", "a b", 'a"b', "a;b", "", "1a", "a" * 64, "a\n"]
)
def test_a_name_that_is_no_plain_schema_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the schema"):
        check_schema(name)


def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    url = "postgresql://somebody:hidden-word@127.0.0.1:1/memory"
    with pytest.raises(StoreError) as caught:
        opened(url, "apm_nowhere")
    assert str(caught.value).startswith("postgresql://127.0.0.1:1/memory: cannot open the store")
    assert "hidden-word" not in str(caught.value)
    assert "running" in caught.value.remedy


@pytest.mark.parametrize("url", ["postgresql://a:hidden-word@[", "postgresql://a:hidden-word@h/d?no_such=1"])
def test_a_url_that_cannot_be_read_is_told_without_the_password(url: str) -> None:
    with pytest.raises(UsageError, match="none that Postgres reads") as caught:
        opened(url, "apm_nowhere")
    assert "hidden-word" not in str(caught.value)
    assert caught.value.__suppress_context__


def test_who_may_not_add_the_extension_is_told_what_to_ask_for(postgres_url: str) -> None:
    with own_schema(postgres_url) as name, psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(name)))
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        try:
            with pytest.raises(StoreError, match="pgvector") as caught:
                url = psycopg.conninfo.make_conninfo(postgres_url, dbname=name, user=name)
                opened(url, "apm_refused")
            assert "CREATE EXTENSION vector" in caught.value.remedy
        finally:
            connection.execute(sql.SQL("DROP DATABASE {}").format(sql.Identifier(name)))
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def test_who_may_use_a_schema_but_make_none_opens_it(postgres_url: str) -> None:
    with own_schema(postgres_url) as name, psycopg.connect(postgres_url, autocommit=True) as connection:
        named = sql.Identifier(name)
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(named))
        try:
            connection.execute(sql.SQL("CREATE SCHEMA {} AUTHORIZATION {}").format(named, named))
            engine = opened(psycopg.conninfo.make_conninfo(postgres_url, user=name), name)
            assert engine.read(lambda transaction: transaction.count(selection())) == 0
            engine.close()
        finally:
            connection.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(named))
            connection.execute(sql.SQL("DROP ROLE {}").format(named))


@pytest.mark.parametrize(
    ("version", "enough"),
    [("0.8.0", True), ("0.8.6", True), ("0.10", True), ("1.0", True), ("0.7.4", False), ("0", False)],
)
def test_pgvector_must_be_able_to_go_on_searching(version: str, enough: bool) -> None:
    assert new_enough(version) is enough


def test_a_ready_schema_is_opened_without_the_migration_library(postgres_url: str, postgres_schema: str) -> None:
    opened(postgres_url, postgres_schema).close()
    script = (
        "import sys; from apm_hooks.store.api import open_engine\n"
        "assert 'psycopg' not in sys.modules\n"
        f"open_engine('.', {postgres_url!r}, schema={postgres_schema!r}).close()\n"
        "print(sorted({'alembic', 'sqlalchemy', 'psycopg'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "['psycopg']"
