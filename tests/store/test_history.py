"""History: what was valid when, and that the past never stands in the way of the present."""

from __future__ import annotations

from tests.store.conftest import Shelf
from tests.store.embedding import Flaky


def test_the_past_is_recalled_as_it_was(shelf: Shelf) -> None:
    store = shelf.store(embedder=Flaky())
    before_all = shelf.clock.forward(days=1).isoformat()
    saved = store.remember("The office is in Lyon", importance=2, tags=["place"])
    in_lyon = shelf.clock.forward(days=1).isoformat()
    store.update_memory(saved.id, content="The office is in Paris", importance=5, tags=[])
    in_paris = shelf.clock.forward(days=1).isoformat()
    assert store.recall("office", as_of=before_all).hits == ()
    assert store.recall(as_of=before_all).total == 0
    (hit,) = store.recall("office", as_of=in_lyon).hits
    assert (hit.memory.content, hit.memory.importance, hit.memory.tags) == ("The office is in Lyon", 2, ("place",))
    assert hit.memory.id == saved.id
    assert store.recall("Paris", as_of=in_lyon).hits == ()
    assert store.recall("Lyon", as_of=in_paris).hits == ()
    assert store.recall("Lyon").hits == ()
    assert [each.memory.content for each in store.recall(as_of=in_lyon).hits] == ["The office is in Lyon"]
    assert [each.memory.content for each in store.recall(as_of=in_paris, type="fact").hits] == [
        "The office is in Paris"
    ]
    assert store.recall(as_of=in_lyon, min_importance=3).total == 0
    assert store.recall(as_of=in_lyon, tags=["place"]).total == 1


def test_what_expired_since_was_there_then(shelf: Shelf) -> None:
    store = shelf.store()
    store.remember("The visitor wifi is down", expires_at="2026-06-02")
    then = shelf.clock.now.isoformat()
    shelf.clock.forward(days=3)
    assert store.recall("wifi").hits == ()
    assert len(store.recall("wifi", as_of=then).hits) == 1
    assert store.recall("wifi", as_of="2026-06-03").hits == ()


def test_versions_follow_each_other_even_when_the_clock_is_set_back(shelf: Shelf) -> None:
    store = shelf.store()
    saved = store.remember("one")
    shelf.clock.forward(days=-1)
    store.update_memory(saved.id, content="two")
    shelf.clock.forward(days=-1)
    store.update_memory(saved.id, content="three")
    versions = store.history(saved.id)
    assert [each.memory.content for each in versions] == ["one", "two"]
    assert all(each.memory.updated_at < each.valid_to for each in versions)
    assert versions[0].valid_to == versions[1].memory.updated_at
    assert store.recall().hits[0].memory.content == "three"


def test_history_is_one_scope_alone(shelf: Shelf) -> None:
    store = shelf.store()
    saved = store.remember("The office is in Lyon")
    store.update_memory(saved.id, content="The office is in Paris")
    then = shelf.clock.now.isoformat()
    other = shelf.store("Group(a)")
    assert other.history(saved.id) == ()
    assert other.recall("office", as_of=then).hits == ()
    assert other.recall(as_of=then).total == 0
