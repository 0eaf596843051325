"""The embedded engine: one SQLite file beside the workspace's memory, in WAL mode, with FTS5.

The driver is the standard library's: every statement here is SQLite's own (FTS5, rowids, pragmas), which a query
builder would pass through as text, at 120 ms of import and a tenth of a millisecond a statement.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable

from apm_hooks.store.base import Result
from apm_hooks.store.sqlite_schema import ERASES_WORDS, open_database, told
from apm_hooks.store.sqlite_transaction import SqliteTransaction
from apm_hooks.store.sqlite_vectors import VectorCache


class SqliteEngine:
    """Memories in one file below `root`. Threads take turns; other processes read meanwhile, and wait to write."""

    name = "sqlite"

    def __init__(self, root: str, path: str = ".apm/store.db") -> None:
        self._path = path
        self._connection = open_database(root, path)
        self._lock = threading.RLock()
        self._vectors = VectorCache()
        self._closed = False

    def read(self, work: Callable[[SqliteTransaction], Result]) -> Result:
        """See `base.Engine`."""
        return self._run("BEGIN", work)

    def write(self, work: Callable[[SqliteTransaction], Result]) -> Result:
        """See `base.Engine`. The one writer is the file's: IMMEDIATE takes its lock before anything is read."""
        return self._run("BEGIN IMMEDIATE", work)

    def _run(self, begin: str, work: Callable[[SqliteTransaction], Result]) -> Result:
        with self._lock:
            try:
                self._connection.execute(begin)
                transaction = SqliteTransaction(self._connection, self._vectors)
                try:
                    result = work(transaction)
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                raise told(error, self._path) from error
            if transaction.changes:
                self._vectors.apply(transaction.changes)
            return result

    def erase(self) -> None:
        """Write over what was deleted: rows by `secure_delete`, words by the index's own (SQLite 3.42 or later) or by
        merging the index into one piece, the log by emptying it. A reader in another process may keep the log for as
        long as it reads; the next call empties it."""
        with self._lock:
            try:
                if not ERASES_WORDS:
                    for table in ("words", "past_words"):
                        self._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")  # noqa: S608
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.Error as error:
                raise told(error, self._path) from error

    def close(self) -> None:
        """See `base.Engine`."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._vectors.clear()
                self._connection.close()
