"""Texts, titles and tags as they come: composed and decomposed, without end, of any script."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from apm_hooks.cli import store_show
from apm_hooks.store import checks
from apm_hooks.store.embedders import Hashed
from apm_hooks.store.indexing import Vectors
from apm_hooks.store.items import EmbedderError
from apm_hooks.store.records import RecordStore
from apm_hooks.store.sqlite_schema import told
from tests.store.conftest import Shelf
from tests.store.embedding import Broken, Flaky


def test_composed_and_decomposed_are_one_text(shelf: Shelf) -> None:
    store = shelf.store()
    first = store.remember("Caf\u00e9 Z\u00fcrich opens at nine")
    again = store.remember("Cafe\u0301 Zu\u0308rich opens at nine")
    assert (again.created, again.id) == (False, first.id)


@pytest.mark.parametrize("title", ["", "   ", "\n\u2028"])
def test_a_blank_title_is_made_from_the_content(shelf: Shelf, title: str) -> None:
    """Of blanks, it ended the call with an error of the interpreter's; of nothing, it became a hyphen."""
    store = shelf.store()
    each = store.remember("The pelican eats herrings", title="Birds").id
    assert store.update_memory(each, title=title).changed == ("title",)
    assert store.recall().hits[0].memory.title == "The pelican eats herrings"
    assert store.update_memory(each, title=title).changed == ()
    store.update_memory(each, title=title, content="The heron eats frogs")
    assert store.recall("heron").hits[0].memory.title == "The heron eats frogs"


def test_a_title_of_one_endless_character_says_something() -> None:
    title = checks.title_of(None, "a" + "\u0301" * 30_000)
    assert title.startswith("a\u0301")
    assert len(title) <= 60


def test_a_tag_keeps_the_marks_of_its_script(shelf: Shelf) -> None:
    store = shelf.store()
    store.remember("A note in Hindi", tags=["हिन्दी", "தமிழ்"])
    assert store.recall(tags=["हिन्दी"]).hits[0].memory.tags == ("हिन्दी", "தமிழ்")
    assert checks.tags_of(["İstanbul Trip"])[0] == ("i\u0307stanbul-trip",)
    assert not store.recall(tags=["हद"]).hits


def test_a_duplicate_says_what_it_does_not_take_over(shelf: Shelf) -> None:
    """A text that was to stay, and is there until tomorrow, would be gone then without a word."""
    store = shelf.store()
    store.remember("The visitor wifi is down", expires_at="2026-06-02", tags=["a"])
    plain = store.remember("The visitor wifi is down", expires_at="2026-06-02")
    assert plain.notes == ()
    again = store.remember("the visitor wifi  is down", importance=5, tags=["a", "b"], type="decision")
    assert again.notes == ("It keeps its own expires_at, importance, tags, type: update it to change that.",)
    assert "expires_at" in store_show.saved_text(again)
    assert store.recall().hits[0].memory.importance == 3


def test_an_update_gives_a_scope_its_first_vector(shelf: Shelf) -> None:
    each = shelf.store().remember("The pelican eats herrings").id
    store = shelf.store(embedder=Hashed())
    store.update_memory(each, content="The pelican eats small herrings")
    assert store.recall("pelican").hits[0].similarity is not None


def test_many_that_change_one_memory_all_get_their_turn(shelf: Shelf) -> None:
    store = shelf.store()
    each = store.remember("The counter stands at nothing").id
    failed: list[Exception] = []

    def change(name: str) -> None:
        try:
            for turn in range(5):
                assert store.update_memory(each, content=f"The counter stands at {name} {turn}").found
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told below
            failed.append(error)

    threads = [threading.Thread(target=change, args=(name,)) for name in "pqr"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert len(store.history(each)) == 15


def filled(store: RecordStore, title: str, tags: int, start: int = 0) -> None:
    content = f"The staging bucket is emptied by the nightly job before the backup{'' if start else ' begins anew'}"
    store.remember(content, title=title, tags=[f"t{number}" for number in range(start, start + tags)])


def test_a_merge_loses_no_title(shelf: Shelf) -> None:
    store = shelf.store()
    filled(store, "Storage", 1)
    filled(store, "Cleaning schedule", 1, 1)
    (pair,) = store.deduplicate_memories(threshold=0.5, dry_run=False)
    assert pair.merged
    assert len(store.recall("cleaning").hits) == len(store.recall("storage").hits) == 1


def test_a_merge_that_would_lose_a_tag_is_none(shelf: Shelf) -> None:
    store = shelf.store()
    filled(store, "Storage", 20)
    filled(store, "Storage", 20, 20)
    (pair,) = store.deduplicate_memories(threshold=0.5, dry_run=False)
    assert not pair.merged
    assert store.recall().total == 2


def test_a_provider_of_vectors_of_another_dimension_has_failed() -> None:
    three = Hashed().embed(["x"])[0][:12]
    with pytest.raises(EmbedderError):
        Vectors(Broken([three])).many(["x"])
    assert Vectors(Flaky()).many(["x"])


@pytest.mark.parametrize(
    ("text", "word"), [("no such table: words", "import"), ("unable to open database file", "writable"),
                       ("attempt to write a readonly database", "writable")],
)  # fmt: skip
def test_a_driver_that_fails_is_told_with_what_to_do(text: str, word: str) -> None:
    assert word in str(told(sqlite3.OperationalError(text), ".apm/store.db"))
