"""Identity: each call sees one scope, a session without one sees nothing, and nothing leaks by a number or a word."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apm_hooks.errors import ApmError, ScopeError
from apm_hooks.store.records import RecordStore
from tests.store.conftest import Shelf
from tests.store.embedding import Flaky

SCOPES = ("DM", "Group(a)", "Group(ab)", "Group(a)/x")
SENTINEL = "CANARY-7731 blood test of somebody"

Call = Callable[[RecordStore, str], object]

CALLS: dict[str, Call] = {
    "cold start": lambda store, _: store.recall(),
    "listing": lambda store, _: store.recall(limit=50, order="recent"),
    "words": lambda store, _: store.recall("blood test", mode="fulltext"),
    "meaning": lambda store, _: store.recall("blood test", mode="semantic"),
    "both": lambda store, _: store.recall("blood test"),
    "by type and tag": lambda store, _: store.recall(type="person", tags=["health"]),
    "as of": lambda store, _: store.recall("blood", as_of="2026-06-05"),
    "past listing": lambda store, _: store.recall(as_of="2026-06-05"),
    "update": lambda store, other: store.update_memory(other, importance=1),
    "forget": lambda store, other: store.forget(other),
    "history": lambda store, other: store.history(other),
    "dedup": lambda store, _: store.deduplicate_memories(threshold=0.5),
    "merge": lambda store, _: store.deduplicate_memories(threshold=0.5, dry_run=False),
    "backfill": lambda store, _: store.backfill_embeddings(),
    "export": lambda store, _: list(store.export_lines()),
    "same text": lambda store, _: store.remember("Something of our own"),
    "purge": lambda store, _: store.purge(),
}


def owner_with_a_secret(shelf: Shelf) -> str:
    store = shelf.store("DM", Flaky())
    saved = store.remember(SENTINEL, type="person", tags=["health"], importance=5)
    store.update_memory(saved.id, tags=["health", "private"])
    for number in range(12):
        store.remember(f"CANARY-7731 rule number {number} is important", importance=5)
    return saved.id


def test_no_call_of_another_scope_sees_counts_or_names_anything(shelf: Shelf) -> None:
    owned = owner_with_a_secret(shelf)
    before = list(shelf.store("DM").export_lines())
    for scope in SCOPES[1:]:
        for name, call in CALLS.items():
            said = repr(call(shelf.store(scope, Flaky()), owned)).replace(owned, "")
            assert "CANARY" not in said, (scope, name)
            assert "13" not in said.split("created_at")[0] or name in ("same text", "export"), (scope, name)
    assert list(shelf.store("DM").export_lines()) == before


def test_an_update_of_anothers_memory_says_what_one_of_nobodys_does(shelf: Shelf) -> None:
    owned = owner_with_a_secret(shelf)
    store = shelf.store("Group(a)")
    nobody = "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
    assert repr(store.update_memory(owned, importance=1)).replace(owned, nobody) == repr(
        store.update_memory(nobody, importance=1)
    )
    assert store.forget(owned) == store.forget(nobody) == False  # noqa: E712 - both, and false
    assert store.history(owned) == store.history(nobody)


def test_a_session_without_a_scope_is_refused_in_words_that_say_nothing(shelf: Shelf) -> None:
    owned = owner_with_a_secret(shelf)
    store = shelf.store(None, Flaky())
    for name, call in CALLS.items():
        with pytest.raises(ScopeError) as refused:
            call(store, owned)
        assert "CANARY" not in str(refused.value), name
        assert not any(char.isdigit() for char in str(refused.value)), name


def test_all_scopes_are_the_owners_alone(shelf: Shelf) -> None:
    owner_with_a_secret(shelf)
    shelf.store("Group(a)").remember("Something of our own")
    assert len(list(shelf.store("DM").export_lines())) == 1 + 13
    assert len(list(shelf.store("DM").export_lines(all_scopes=True))) == 1 + 14
    for scope in SCOPES[1:]:
        with pytest.raises(ScopeError):
            list(shelf.store(scope).export_lines(all_scopes=True))
        with pytest.raises(ScopeError):
            shelf.store(scope).import_lines([], all_scopes=True)


def test_errors_carry_no_text_of_a_memory(shelf: Shelf) -> None:
    owned = owner_with_a_secret(shelf)
    wrong: tuple[Callable[[RecordStore], object], ...] = (
        lambda store: store.update_memory(owned, importance=9),
        lambda store: store.remember(SENTINEL, importance=9),
        lambda store: store.recall(SENTINEL, mode="magic"),
        lambda store: store.import_lines([SENTINEL]),
    )
    for call in wrong:
        with pytest.raises(ApmError) as told:
            call(shelf.store("DM"))
        assert "CANARY" not in str(told.value)


def test_a_scope_full_of_nearer_rows_starves_no_other(shelf: Shelf) -> None:
    mine = shelf.store("Group(a)", Flaky())
    wanted = mine.remember("The penguin budget of our group is small")
    other = shelf.store("DM", Flaky())
    for number in range(120):
        other.remember(f"penguin budget {number}")
    for mode in ("auto", "semantic", "fulltext"):
        assert [hit.memory.id for hit in mine.recall("penguin budget", mode=mode).hits] == [wanted.id]
