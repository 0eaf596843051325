"""The agent's own store: local sessions of the owner alone, a file of its own, and a wall on both sides."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apm_hooks.errors import ScopeError, UsageError
from apm_hooks.records import DM, Scope, ScopeKind
from apm_hooks.store.api import open_self, open_store
from apm_hooks.store.items import SecretRefusedError
from apm_hooks.store.records import RecordStore
from apm_hooks.store.selfstore import FILE, SelfStore, exists
from tests.store.conftest import Clock
from tests.store.embedding import Flaky, Placed

GROUP = Scope(ScopeKind.GROUP, "a")


def own(root: Path, clock: Clock | None = None) -> SelfStore:
    return open_self(str(root), locality="local", scope=DM, clock=clock or Clock())


@pytest.mark.parametrize("locality", ["", "cloud", "unset", "LOCAL", "local "])
def test_without_a_local_model_nothing_is_opened_or_made(tmp_path: Path, locality: str) -> None:
    with pytest.raises(ScopeError):
        open_self(str(tmp_path), locality=locality, scope=DM)
    assert not exists(str(tmp_path))
    assert not (tmp_path / ".apm").exists()


@pytest.mark.parametrize("scope", [GROUP, None])
def test_no_session_but_the_owners_has_it(tmp_path: Path, scope: Scope | None) -> None:
    own(tmp_path).close()
    with pytest.raises(ScopeError):
        open_self(str(tmp_path), locality="local", scope=scope)


def test_its_vectors_come_from_a_packaged_embedder_alone(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        open_self(str(tmp_path), locality="local", scope=DM, embedder=Flaky())
    assert not exists(str(tmp_path))
    store = open_self(str(tmp_path), locality="local", scope=DM, embedder=Placed({"whale": (1, 0, 0, 0)}))
    store.self_remember("whale thing")
    assert store.self_recall("whale", mode="semantic").hits[0].similarity == pytest.approx(1, abs=1e-5)
    store.close()


def test_the_quad_works_on_its_own_notes(tmp_path: Path) -> None:
    store = own(tmp_path)
    saved = store.self_remember("Short answers work best here", importance=4)
    assert store.self_recall("answers").hits[0].memory.id == saved.id
    assert store.self_update(saved.id, content="Short answers with one example work best").found
    assert store.self_recall("example").hits
    assert store.self_forget(saved.id)
    assert store.self_recall().total == 0
    with pytest.raises(SecretRefusedError):
        store.self_remember("the password is hunter2-XyZ9")
    store.close()


def test_the_six_most_important_notes(tmp_path: Path) -> None:
    store = own(tmp_path)
    for number in range(9):
        store.self_remember(f"observation number {number} about working here", importance=1 + number % 5)
    notes = store.most_important()
    assert [note.importance for note in notes] == [5, 4, 4, 3, 3, 2]
    store.close()


USER_CALLS: dict[str, Callable[[RecordStore, str], object]] = {
    "recall": lambda store, _: store.recall(limit=50),
    "search": lambda store, _: store.recall("canary observation"),
    "past": lambda store, _: store.recall("canary observation", as_of="2099-01-01"),
    "remember": lambda store, _: store.remember("CANARY observation of my own"),
    "update": lambda store, each: store.update_memory(each, importance=1),
    "forget": lambda store, each: store.forget(each),
    "history": lambda store, each: store.history(each),
    "dedup": lambda store, _: store.deduplicate_memories(threshold=0.5, dry_run=False),
    "backfill": lambda store, _: store.backfill_embeddings(),
    "export": lambda store, _: list(store.export_lines(all_scopes=True)),
    "purge": lambda store, _: store.purge(),
}


def test_no_user_tool_reaches_the_self_store_and_none_of_its_reaches_the_users(tmp_path: Path) -> None:
    store = own(tmp_path)
    note = store.self_remember("CANARY observation of my own", importance=5)
    before = list(store.records.export_lines())
    user = open_store(str(tmp_path), scope=DM, clock=Clock())
    theirs = user.remember("USERS word", importance=5)
    for name, call in USER_CALLS.items():
        said = repr(call(user, note.id)).replace(note.id, "")
        assert "CANARY" not in said or name in ("remember", "recall", "search", "past", "export"), name
        user.forget(user.remember("CANARY observation of my own").id)
    assert list(store.records.export_lines()) == before
    own_calls: tuple[Callable[[], object], ...] = (
        lambda: store.self_recall(limit=50),
        lambda: store.self_recall("users word"),
        lambda: store.self_update(theirs.id, importance=1),
        lambda: store.self_forget(theirs.id),
        lambda: list(store.records.export_lines()),
        lambda: store.records.deduplicate_memories(threshold=0.5),
    )
    for own_call in own_calls:
        assert "USERS" not in repr(own_call())
    assert user.recall("users").hits[0].memory.importance == 5
    with pytest.raises(UsageError):
        user.import_lines(before)
    with pytest.raises(UsageError):
        store.records.import_lines(list(user.export_lines()))
    user.close()
    store.close()


def test_every_self_tool_of_the_list_is_there() -> None:
    tools = {"self_recall", "self_remember", "self_update", "self_forget", "self_wiki_write", "self_wiki_get"}
    assert tools == {name for name, _ in inspect.getmembers(SelfStore, callable) if name.startswith("self_")}
    assert FILE.startswith(".apm/")


def test_an_article_is_stale_exactly_where_its_sources_are_not_what_they_were(tmp_path: Path) -> None:
    store = own(tmp_path)
    one, two = (store.self_remember(f"observation about {word}").id for word in ("tests", "reviews"))
    written = store.self_wiki_write("how-we-work", "How we work", "Tests first, then reviews.", [one, two])
    assert (written.article.revision, written.stale) == (1, False)
    assert store.self_wiki_get("nothing-here") is None

    def stale() -> bool:
        found = store.self_wiki_get("how-we-work")
        assert found is not None
        return found.stale

    assert not stale()
    store.self_update(one, tags=["x"], importance=5)
    assert not stale()
    store.self_update(one, content="observation about nothing")
    assert stale()
    store.self_update(one, content="observation about tests")
    assert not stale()
    again = store.self_wiki_write("how-we-work", "How we work", "Reviews first.", [one, two])
    assert again.article.revision == 2
    assert again.article.created_at == written.article.created_at
    store.self_forget(two)
    assert stale()
    store.close()


def test_an_article_needs_sources_that_exist_and_a_plain_slug(tmp_path: Path) -> None:
    store = own(tmp_path)
    one = store.self_remember("observation about tests").id
    for sources in ([], ["6ba7b810-9dad-41d1-80b4-00c04fd430c8"], ["nonsense"], [one, "x"], one):
        with pytest.raises(UsageError):
            store.self_wiki_write("slug", "Title", "body", sources)
    for slug in ("", "Slug", "-slug", "a/b", "../x", "a b", "ä", "x" * 101):
        with pytest.raises(UsageError):
            store.self_wiki_write(slug, "Title", "body", [one])
        with pytest.raises(UsageError):
            store.self_wiki_get(slug)
    with pytest.raises(SecretRefusedError):
        store.self_wiki_write("slug", "Title", "the password is hunter2-XyZ9", [one])
    assert store.self_wiki_get("slug") is None
    store.close()


def test_a_source_that_was_merged_points_to_its_survivor(tmp_path: Path) -> None:
    """The original threw an error of its driver after the first merge."""
    store = own(tmp_path)
    text = "observation about how reviews and tests and releases follow each other in this house"
    one, two = store.self_remember(text).id, store.self_remember(f"{text} always").id
    store.self_wiki_write("both", "Both", "body", [one, two])
    store.self_wiki_write("second", "Second", "body", [two])
    (pair,) = store.records.deduplicate_memories(threshold=0.8, dry_run=False)
    assert pair.merged
    for slug in ("both", "second"):
        found = store.self_wiki_get(slug)
        assert found is not None
        assert found.article.sources == (pair.keep.id,)
        assert found.stale
    store.close()


def test_an_export_holds_the_articles_and_an_import_takes_them_back(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with own(tmp_path / "one") as store:
        note = store.self_remember("Short answers work best here")
        other = store.self_remember("Mornings are for hard questions")
        store.self_wiki_write("answers", "How to answer", "Shortly.", [note.id, other.id])
        store.self_wiki_write("answers", "How to answer", "Shortly, with one example.", [note.id])
        store.self_update(other.id, content="Evenings are for hard questions")
        lines = list(store.records.export_lines())
        before = store.self_wiki_get("answers")
    with own(tmp_path / "two") as again:
        done = again.records.import_lines(lines)
        assert (done.added, done.unchanged, done.skipped) == (3, 0, ())
        assert again.self_wiki_get("answers") == before
        assert list(again.records.export_lines()) == lines
        assert again.records.import_lines(lines).unchanged == 3


@pytest.mark.parametrize(
    ("spoiled", "why"),
    [
        ({"slug": "No Slug"}, "slug"),
        ({"sources": []}, "sources"),
        ({"digest": "x"}, "digest"),
        ({"revision": 0}, "revision"),
        ({"body": "the password is hunter2hunter2"}, "password"),
        ({"created_at": "never"}, "created_at"),
    ],
)
def test_an_article_that_is_none_is_skipped_with_its_line(tmp_path: Path, spoiled: dict[str, Any], why: str) -> None:
    with own(tmp_path) as store:
        note = store.self_remember("Short answers work best here")
        store.self_wiki_write("answers", "How to answer", "Shortly.", [note.id])
        *notes, line = store.records.export_lines()
        fields = {**json.loads(line)["article"], "slug": "other", **spoiled}
        done = store.records.import_lines([*notes, json.dumps({"article": fields})])
        ((number, said),) = done.skipped
        assert (number, done.added) == (len(notes) + 1, 0)
        assert why in said
        assert "hunter2" not in said
