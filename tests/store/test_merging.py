"""Deduplication: what counts as one, what never does, and that no text is lost."""

from __future__ import annotations

import math

from apm_hooks.store.records import RecordStore
from tests.store.conftest import Shelf
from tests.store.embedding import Flaky, Placed

LONG = "The export tool writes large files to the staging bucket after the vacuum of the old schema"


def at(degrees: float) -> tuple[float, float, float, float]:
    return math.cos(math.radians(degrees)), math.sin(math.radians(degrees)), 0.0, 0.0


def chain(shelf: Shelf) -> tuple[RecordStore, list[str]]:
    """A like B, B like C (0.98 each), A and C not (0.92)."""
    embedder = Placed({"alpha": at(0), "bravo": at(11), "charlie": at(22), "delta": at(80)})
    store = shelf.store(embedder=embedder)
    texts = ("alpha speaks of penguins", "bravo tells about penguins", "charlie knows penguins", "delta is elsewhere")
    return store, [store.remember(text).id for text in texts]


def test_a_chain_of_three_keeps_every_text(shelf: Shelf) -> None:
    """The original merged B into A and then deleted C with its text."""
    store, (first, second, third, apart) = chain(shelf)
    planned = store.deduplicate_memories()
    assert [(pair.keep.id, pair.drop.id, pair.merged) for pair in planned] == [
        (first, second, False),
        (first, third, False),
    ]
    assert store.recall().total == 4
    done = store.deduplicate_memories(dry_run=False)
    assert [(pair.keep.id, pair.drop.id, pair.merged) for pair in done] == [(first, second, True), (first, third, True)]
    assert {hit.memory.id for hit in store.recall().hits} == {first, apart}
    kept = next(hit.memory for hit in store.recall().hits if hit.memory.id == first)
    for word in ("alpha speaks", "bravo tells", "charlie knows"):
        assert word in kept.content
        assert store.recall(word, mode="fulltext").hits[0].memory.id == first
    assert store.deduplicate_memories() == ()


def test_the_past_of_all_that_was_merged_lives_on_in_the_survivor(shelf: Shelf) -> None:
    store, (first, second, third, _) = chain(shelf)
    store.update_memory(second, tags=["x"])
    then = shelf.clock.now.isoformat()
    store.deduplicate_memories(dry_run=False)
    assert {each.memory.id for each in store.history(first)} == {first, second, third}
    assert {hit.memory.id for hit in store.recall("penguins", as_of=then).hits} == {first, second, third}
    assert store.forget(first)
    assert store.recall("penguins", as_of=then).hits == ()


def test_a_merge_keeps_tags_the_higher_importance_and_the_later_end(shelf: Shelf) -> None:
    store = shelf.store()
    store.remember(LONG, tags=["a"], importance=2, expires_at="2027-01-01")
    keep = store.remember(f"{LONG} again", tags=["b"], importance=4)
    (pair,) = store.deduplicate_memories(threshold=0.9, dry_run=False)
    assert pair.merged
    (hit,) = store.recall().hits
    assert (hit.memory.id, hit.memory.tags, hit.memory.importance) == (keep.id, ("a", "b"), 4)
    assert hit.memory.expires_at is None
    assert hit.memory.content == f"{LONG} again"


def test_what_differs_in_numbers_names_or_negation_is_never_one(shelf: Shelf) -> None:
    for scope, (one, other) in enumerate(
        (
            (f"{LONG} on port 8443", f"{LONG} on port 8444"),
            (f"{LONG} of Berlin", f"{LONG} of Hamburg"),
            (f"{LONG} and may overwrite", f"{LONG} and may not overwrite"),
            (
                "服务器在北京的机房里运行，每天备份三次，由运维小组维护",
                "服务器在上海的机房里运行，每天备份三次，由运维小组维护",
            ),
            ("每天凌晨备份生产数据库并且检查日志文件三次", "每天凌晨备份生产数据库并且检查日志文件五次"),
            ("部署之后需要重启所有的缓存服务和队列服务", "部署之后不需要重启所有的缓存服务和队列服务"),
        )
    ):
        embedder = Placed({one: at(0), other: at(1)})
        store = shelf.store(f"Group({scope})", embedder)
        store.remember(one)
        store.remember(other)
        assert store.deduplicate_memories(threshold=0.5, dry_run=False) == (), one
        assert store.recall().total == 2


def test_only_one_type_and_only_what_lives_is_merged(shelf: Shelf) -> None:
    store = shelf.store()
    store.remember(LONG, type="fact")
    store.remember(f"{LONG} again", type="decision")
    store.remember(f"{LONG} too", type="source", expires_at="2026-06-02")
    store.remember(f"{LONG} also", type="source")
    shelf.clock.forward(days=3)
    assert store.deduplicate_memories(threshold=0.8, dry_run=False) == ()


def test_no_more_than_twenty_pairs_is_no_limit_here(shelf: Shelf) -> None:
    store = shelf.store()
    words = ["apple", "brick", "cloud", "daisy", "eagle", "flute", "grape", "horse", "island", "jelly", "kite", "lemon"]
    for first in words[:5]:
        for second in words[5:]:
            text = f"{first} {second} lies beside the {second} of {first} in our large garden shed"
            store.remember(text)
            store.remember(f"{text} indeed")
    seen: list[tuple[int, int]] = []
    pairs = store.deduplicate_memories(threshold=0.85, progress=lambda done, total: seen.append((done, total)))
    assert len(pairs) >= 35
    assert seen[-1] == (70, 70)


def test_a_lower_threshold_finds_what_shares_no_hash(shelf: Shelf) -> None:
    embedder = Placed({"alpha": at(0), "bravo": at(50)})
    store = shelf.store(embedder=embedder)
    store.remember("alpha speaks of penguins")
    store.remember("bravo tells about whales")
    assert store.deduplicate_memories() == ()
    (pair,) = store.deduplicate_memories(threshold=0.6)
    assert abs(pair.similarity - math.cos(math.radians(50))) < 1e-3


def test_survivors_get_a_vector_for_their_new_text(shelf: Shelf) -> None:
    embedder = Flaky()
    store = shelf.store(embedder=embedder)
    store.remember(LONG)
    store.remember(f"{LONG} again")
    store.deduplicate_memories(threshold=0.9, dry_run=False)
    assert store.backfill_embeddings().remaining == 0
    assert store.recall(LONG, mode="semantic").hits[0].similarity is not None
