"""Opening a store: which engine, whose memories."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256

from apm_hooks.errors import UsageError
from apm_hooks.records import Scope
from apm_hooks.store.base import Embedder, Engine
from apm_hooks.store.embedders import Hashed, Packaged
from apm_hooks.store.extras import library
from apm_hooks.store.indexing import index_of
from apm_hooks.store.moments import utc_now
from apm_hooks.store.records import RecordStore
from apm_hooks.store.selfstore import SelfStore

EMBEDDERS = ("none", "packaged", "hashed")
"""The embedders that come with this library, by the name that a setting gives them."""


def open_store(
    root: str,
    url: str = "",
    *,
    schema: str = "",
    scope: Scope | None,
    embedder: Embedder | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> RecordStore:
    """The store of a workspace, for one session's scope (None: a session without one, whose every call is refused).

    `url` is empty for the embedded store in `.apm/store.db`, or `postgresql://…`, with the workspace's own `schema`.
    Raises UsageError for another one, StoreError and MemoryFileError as the engine does. The caller closes it.
    """
    return RecordStore(
        open_engine(root, url, schema=schema), None if scope is None else str(scope), embedder=embedder, clock=clock
    )


def open_engine(root: str, url: str = "", *, schema: str = "") -> Engine:
    """The engine behind a store, without any scope: for the operator's own programs."""
    if not url or url == "sqlite":
        from apm_hooks.store.sqlite import SqliteEngine

        return SqliteEngine(root)
    if url.startswith(("postgresql://", "postgres://")):
        library("psycopg", "postgres")
        from apm_hooks.store import postgres

        return postgres.open_engine(
            url, schema=schema or schema_of(root), index_of=lambda memory: index_of(memory, None, "")
        )
    # A URL may hold a password: it is not repeated.
    raise UsageError("no store is known by this URL", key="url", remedy="Leave it empty, or give postgresql://….")


def schema_of(root: str) -> str:
    """The Postgres schema of a workspace where none is named: one for each absolute path."""
    return "apm_" + sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]


def open_self(
    root: str,
    *,
    locality: str,
    scope: Scope | None,
    embedder: Embedder | None = None,
    clock: Callable[[], datetime] = utc_now,
) -> SelfStore:
    """The agent's own store; raises ScopeError unless `locality` is `local` and the session is the owner's."""
    return SelfStore(root, locality=locality, scope=None if scope is None else str(scope), embedder=embedder,
                     clock=clock)  # fmt: skip


def embedder_named(name: str) -> Embedder | None:
    """An embedder of this library by its name; None for `none`. Raises UsageError."""
    if name == "packaged":
        return Packaged()
    if name == "hashed":
        return Hashed()
    if name in ("", "none"):
        return None
    raise UsageError("no such embedder", key="embedder", remedy=f"Take one of: {', '.join(EMBEDDERS)}.")
