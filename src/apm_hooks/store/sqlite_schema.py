"""The tables of the SQLite engine, and opening a file that has them."""

from __future__ import annotations

import os
import sqlite3
import stat

from apm_hooks.errors import ApmError, LockTimeoutError, MemoryFileError
from apm_hooks.files import STATE, create_absent, state_directory
from apm_hooks.locking import locked_at
from apm_hooks.opening import kind_of, shown
from apm_hooks.store.items import STORE_LIMITS, StoreError

VERSION = 1
"""The schema's number (`user_version`); a higher one was written by a newer version of this program."""
_APPLICATION = 0x61706D73

COLUMNS = "id, scope, type, title, content, tags, importance, source, expires_at, created_at, updated_at"
"""The columns of a memory, in the order in which they are read."""

_WORDING = """
    id TEXT NOT NULL, scope TEXT NOT NULL, type TEXT NOT NULL, title TEXT NOT NULL, content TEXT NOT NULL,
    tags TEXT NOT NULL, importance INTEGER NOT NULL CHECK (importance BETWEEN 1 AND 5), source TEXT NOT NULL,
    expires_at INTEGER, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
"""

# A row's number is never used again: a cache may hold it. Vectors lie apart, so that no scan of memories reads them;
# `memories_filter` holds what a search asks of each of its matches, four times as densely as the rows do.
_SCHEMA = f"""
CREATE TABLE memories (row INTEGER PRIMARY KEY AUTOINCREMENT, {_WORDING}, hashes BLOB NOT NULL);
CREATE UNIQUE INDEX memories_id ON memories (id);
CREATE INDEX memories_order ON memories (scope, importance DESC, updated_at DESC, id, type, expires_at);
CREATE INDEX memories_recent ON memories (scope, updated_at DESC, id);
CREATE INDEX memories_filter ON memories (row, scope, importance, expires_at, updated_at, id, type);
CREATE INDEX memories_page ON memories (created_at, id, scope);
CREATE INDEX memories_expiry ON memories (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE vectors (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, row INTEGER NOT NULL UNIQUE, scope TEXT NOT NULL, space TEXT NOT NULL,
    vector BLOB NOT NULL
);
CREATE INDEX vectors_scope ON vectors (scope, space, row);
CREATE TABLE hashes (hash INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (hash, row)) WITHOUT ROWID;
CREATE TABLE versions (
    row INTEGER PRIMARY KEY AUTOINCREMENT, {_WORDING}, valid_to INTEGER NOT NULL, owner TEXT NOT NULL
);
CREATE UNIQUE INDEX versions_id ON versions (id, updated_at);
CREATE INDEX versions_owner ON versions (owner, updated_at);
CREATE INDEX versions_time ON versions (scope, updated_at, valid_to);
CREATE VIRTUAL TABLE words USING fts5 (terms, tokenize = 'unicode61 remove_diacritics 0');
CREATE VIRTUAL TABLE past_words USING fts5 (terms, tokenize = 'unicode61 remove_diacritics 0');
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE articles (
    slug TEXT PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL, digest TEXT NOT NULL, revision INTEGER NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
);
CREATE TABLE article_sources (
    slug TEXT NOT NULL REFERENCES articles (slug) ON DELETE CASCADE, place INTEGER NOT NULL, source TEXT NOT NULL,
    PRIMARY KEY (slug, source)
) WITHOUT ROWID;
CREATE INDEX article_sources_source ON article_sources (source);
"""

ERASES_WORDS = sqlite3.sqlite_version_info >= (3, 42)
"""Whether the full-text index can erase single entries; older versions are merged into one piece instead."""


def open_database(root: str, path: str) -> sqlite3.Connection:
    """A connection to the store at `path` below `root`, made with mode 0600 where it is absent.

    Raises StoreError for what is no store of ours, or is newer than this program, and MemoryFileError where something
    else than a plain file stands there.
    """
    folder, _, name = path.rpartition("/")
    locks = state_directory(root, "locks") if folder == STATE else folder
    create_absent(root, path, b"", mode=0o600)
    place = os.path.join(root, path)
    for each in (place, f"{place}-wal", f"{place}-shm"):
        _require_plain(each)
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(
            place, timeout=STORE_LIMITS.busy_seconds, isolation_level=None, check_same_thread=False
        )
        if not _is_ready(connection, path):
            # The engine does not wait for whoever else changes how a new file keeps its log.
            with locked_at(
                root, f"{locks}/{name}.lock" if locks else f"{name}.lock", seconds=STORE_LIMITS.busy_seconds
            ):
                _prepare(connection, path)
        _configure(connection)
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise told(error, path) from error
    except ApmError:
        if connection is not None:
            connection.close()
        raise
    return connection


def _require_plain(place: str) -> None:
    try:
        mode = os.lstat(place).st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        raise MemoryFileError(f"is {kind_of(mode)}", file=shown(place), remedy="Put a plain file there.")


def _is_ready(connection: sqlite3.Connection, path: str) -> bool:
    """Whether the file has its tables, and the log that lets readers and a writer go on beside each other."""
    connection.execute("PRAGMA trusted_schema = OFF")
    return _version(connection, path) > 0 and connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


def _configure(connection: sqlite3.Connection) -> None:
    # Saved means saved: a commit is on disk before it is told.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -16000")
    connection.execute("PRAGMA journal_size_limit = 4194304")


def _prepare(connection: sqlite3.Connection, path: str) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    if _version(connection, path) == 0:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if _version(connection, path) == 0:
                for statement in _SCHEMA.split(";\n"):
                    if statement.strip():
                        connection.execute(statement)
                if ERASES_WORDS:
                    for table in ("words", "past_words"):
                        connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('secure-delete', 1)")  # noqa: S608
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                connection.execute(f"PRAGMA user_version = {VERSION}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _version(connection: sqlite3.Connection, path: str) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    tables = int(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
    if (tables or version) and application != _APPLICATION:
        raise StoreError("is a database, but none of this program", file=shown(path), remedy="Name another file.")
    if version > VERSION:
        raise StoreError(
            f"was written by a newer version (schema {version}, this one knows {VERSION})",
            file=shown(path),
            remedy="Update apm-hooks.",
        )
    return version


def told(error: sqlite3.Error, path: str) -> StoreError | LockTimeoutError:
    """A driver's error as one of ours."""
    text = str(error)
    if "locked" in text or "busy" in text:
        return LockTimeoutError(
            f"still held by another process after {STORE_LIMITS.busy_seconds:g} s", file=shown(path),
            remedy="Try again later.",
        )  # fmt: skip
    if any(sign in text for sign in ("malformed", "not a database", "no such table", "no such column")):
        remedy = "Put it aside, and import the last export into a new one."
    elif "file format" in text:
        remedy = "A newer SQLite has written it: use a Python with SQLite 3.42 or later."
    elif "readonly" in text or "unable to open" in text:
        remedy = "Make the file and its folder writable: this engine writes beside it even to read."
    elif "full" in text:
        remedy = "Free some space."
    else:
        remedy = ""
    return StoreError(f"the store fails: {text}", file=shown(path), remedy=remedy)
