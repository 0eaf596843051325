"""Fixtures that the tests of the record store share: one engine after the other, with a clock of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from apm_hooks.store.api import open_engine
from apm_hooks.store.base import Embedder, Engine
from apm_hooks.store.records import RecordStore
from tests.store.postgres_server import postgres_schema, postgres_url

__all__ = ["postgres_schema", "postgres_url"]


@dataclass(slots=True)
class Clock:
    """A clock that goes on by a second at each look, and further when told."""

    now: datetime = field(default_factory=lambda: datetime(2026, 6, 1, 12, tzinfo=UTC))

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def forward(self, **step: float) -> datetime:
        """Goes on by a `timedelta`, and says what time it is then."""
        self.now += timedelta(**step)
        return self.now


@dataclass(slots=True)
class Shelf:
    """An engine, and stores on it for whatever scope and embedder a test wants."""

    engine: Engine
    clock: Clock

    def store(self, scope: str | None = "DM", embedder: Embedder | None = None) -> RecordStore:
        return RecordStore(self.engine, scope, embedder=embedder, clock=self.clock)


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty store on each engine in turn."""
    if request.param == "sqlite":
        opened = open_engine(str(tmp_path))
    else:
        url = request.getfixturevalue("postgres_url")
        opened = open_engine(str(tmp_path), url, schema=request.getfixturevalue("postgres_schema"))
    try:
        yield opened
    finally:
        opened.close()


@pytest.fixture
def shelf(engine: Engine) -> Shelf:
    """That engine, with a clock."""
    return Shelf(engine, Clock())
