"""A Postgres schema made ready: connection settings, the extension, and the versioned migrations, run once each."""

from __future__ import annotations

import re
from contextlib import contextmanager
from importlib.resources import files as package_files
from typing import TYPE_CHECKING

from apm_hooks.errors import UsageError
from apm_hooks.store.items import STORE_LIMITS, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg

HEAD = "0001"
"""The newest revision in `migrations.versions`: a test compares the two, so that opening a store reads no folder."""

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_CONNECT_SECONDS = 5
_IDLE_SECONDS = 60
_TRIES = 20

EF_SEARCH = 200
"""Candidates that one walk through the HNSW graph keeps; the default of 40 loses what few memories share."""

_RACES = ("23505", "42P06", "42P07", "42710", "40001", "40P01")
"""Two programs that make the same schema, table or extension at once: one of them is told so, and looks again."""


def check_schema(schema: str) -> str:
    """The schema's name, where it is one that needs no quotes. Raises UsageError."""
    if not _SCHEMA.fullmatch(schema) or schema in ("public", "information_schema") or schema.startswith("pg_"):
        raise UsageError(
            f"{schema!r} cannot be the schema of a record store",
            remedy="Take lower-case letters, digits and underscores, at most 63, and no name of Postgres' own.",
        )
    return schema


def check_url(url: str) -> None:
    """Raises UsageError where a URL is none that Postgres reads; it may hold a password, and is not repeated."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        conninfo_to_dict(url)
    except ProgrammingError:
        raise UsageError(
            "the URL of the store is none that Postgres reads",
            key="url",
            remedy="Write postgresql://user@host:5432/database, with signs like @ or / in a password as %40 or %2F.",
        ) from None


def server_of(url: str) -> str:
    """Host, port and database of a URL, for errors: never the user's password."""
    from psycopg.conninfo import conninfo_to_dict

    known = conninfo_to_dict(url)
    port = f":{known['port']}" if known.get("port") else ""
    return f"postgresql://{known.get('host') or 'localhost'}{port}/{known.get('dbname') or ''}"


def arguments_of(url: str) -> dict[str, object]:
    """What a connection is made with, beside the URL."""
    from psycopg.conninfo import conninfo_to_dict

    known = conninfo_to_dict(url)
    more: dict[str, object] = {"autocommit": True}
    if "connect_timeout" not in known:
        more["connect_timeout"] = _CONNECT_SECONDS
    if "application_name" not in known:
        more["application_name"] = "apm-hooks"
    return more


@contextmanager
def told(url: str, doing: str) -> Iterator[None]:
    """Turn what the driver raises into a StoreError that names the server and never the password."""
    import psycopg

    try:
        yield
    except psycopg.errors.UndefinedTable as error:
        raise StoreError(
            f"{doing}: {_first_line(error)}", file=server_of(url), remedy="Was the schema dropped meanwhile?"
        ) from error
    except psycopg.OperationalError as error:
        raise StoreError(
            f"{doing}: {_first_line(error)}", file=server_of(url), remedy="Is the server running and reachable?"
        ) from error
    except psycopg.Error as error:
        raise StoreError(f"{doing}: {_first_line(error)}", file=server_of(url)) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def settle(connection: psycopg.Connection[tuple[object, ...]], url: str, schema: str) -> None:
    """Give a fresh connection the settings that the engine relies on, for as long as it lives.

    Raises StoreError where pgvector is not there, or too old.
    """
    row = connection.execute(
        "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace"
        " WHERE e.extname = 'vector'"
    ).fetchone()
    place, version = map(str, row or ("public", "0"))
    if not new_enough(version):
        raise StoreError(
            f"pgvector {version} is too old: a search behind a filter needs 0.8",
            file=server_of(url),
            remedy="Update it on the server, then run ALTER EXTENSION vector UPDATE.",
        )
    wanted = {
        "search_path": f'"{schema}", "{place}"',
        "TimeZone": "UTC",
        "apm_hooks.engine": "on",
        "lock_timeout": f"{int(STORE_LIMITS.busy_seconds * 1000)}ms",
        # A program that was stopped in the middle of a write must not keep all others out.
        "idle_in_transaction_session_timeout": f"{_IDLE_SECONDS}s",
        "jit": "off",
        # A plan that was kept from when the tables were small reads them whole when they are large.
        "plan_cache_mode": "force_custom_plan",
        "hnsw.ef_search": str(EF_SEARCH),
        "hnsw.iterative_scan": "relaxed_order",
    }
    # The parameters of pgvector are unknown until its library is loaded, which the first use of the type does.
    connection.execute(f"""SELECT '[0]'::"{place}".vector""")
    names = ", ".join(["set_config(%s, %s, false)"] * len(wanted))
    connection.execute("SELECT " + names, [part for pair in wanted.items() for part in pair])


def new_enough(version: str) -> bool:
    """Whether a version of pgvector goes on searching when a filter leaves too few rows."""
    numbers = [int(part) for part in re.findall(r"\d+", version)[:2]]
    return numbers >= [0, 8]


def prepare(url: str, schema: str) -> None:
    """Make the extension, the schema and its tables, or bring them up to date; nothing where they are.

    Raises StoreError: the server is not there, may not be changed, or was written by a newer version of this program.
    """
    import psycopg

    with told(url, "cannot open the store"), psycopg.connect(url, **arguments_of(url)) as connection:  # type: ignore[arg-type]
        for left in reversed(range(_TRIES)):
            try:
                if _revision(connection, schema) == HEAD:
                    return
                _migrate(url, schema)
            except psycopg.Error as error:
                if error.sqlstate not in _RACES or not left:
                    raise


def _revision(connection: psycopg.Connection[tuple[object, ...]], schema: str) -> str:
    from psycopg import sql

    there = connection.execute("SELECT to_regclass(%s)", [f'"{schema}".alembic_version']).fetchone()
    if not there or there[0] is None:
        return ""
    query = sql.SQL("SELECT version_num FROM {}.alembic_version").format(sql.Identifier(schema))
    row = connection.execute(query).fetchone()
    return str(row[0]) if row else ""


def _migrate(url: str, schema: str) -> None:
    """All revisions that are missing, in one transaction: a program that dies in it leaves nothing behind."""
    import psycopg
    from alembic.operations import Operations
    from alembic.runtime.migration import MigrationContext
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError
    from sqlalchemy import create_engine
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import NullPool

    def connect() -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(url, **{**arguments_of(url), "autocommit": False})  # type: ignore[arg-type]

    scripts = ScriptDirectory(str(package_files("apm_hooks.store") / "migrations"))
    engine = create_engine("postgresql+psycopg://", creator=connect, poolclass=NullPool)
    try:
        with engine.begin() as wrapped:
            _lock(wrapped.connection.driver_connection, url, schema)  # type: ignore[arg-type]
            steps = {"fn": lambda revision, _: scripts._upgrade_revs("head", revision)}
            context = MigrationContext.configure(wrapped, opts=steps)
            with Operations.context(context):
                context.run_migrations()
    except CommandError as error:
        raise StoreError(
            f"the schema has a revision that this version does not know: {_first_line(error)}",
            file=server_of(url),
            remedy="Use the version of apm-hooks that wrote it, or a newer one.",
        ) from error
    except DBAPIError as error:
        raise error.orig or error from error


def _lock(connection: psycopg.Connection[tuple[object, ...]], url: str, schema: str) -> None:
    """Make what the revisions stand on, and keep every other program out until this one is done."""
    from psycopg import sql

    if not connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchone():
        _extend(connection, url)
    # Who may use a schema that was made for them may not be one who may make schemas.
    there = connection.execute("SELECT to_regnamespace(%s)", [f'"{schema}"']).fetchone()
    if not there or there[0] is None:
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
    settle(connection, url, schema)
    # The table that Alembic would make itself, made first, so that there is something to lock.
    connection.execute("CREATE TABLE IF NOT EXISTS alembic_version (version_num varchar(32) NOT NULL PRIMARY KEY)")
    connection.execute("LOCK TABLE alembic_version IN ACCESS EXCLUSIVE MODE")


def _extend(connection: psycopg.Connection[tuple[object, ...]], url: str) -> None:
    """Add pgvector, outside the workspace's schema: the first schema to be dropped would take it from all others."""
    import psycopg

    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except (
        psycopg.errors.InsufficientPrivilege,
        psycopg.errors.UndefinedFile,
        psycopg.errors.FeatureNotSupported,
    ) as error:
        raise StoreError(
            f"the extension pgvector cannot be added: {_first_line(error)}",
            file=server_of(url),
            remedy="Install pgvector on the server, and let its administrator run CREATE EXTENSION vector.",
        ) from error
