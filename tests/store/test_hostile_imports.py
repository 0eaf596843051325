"""Files that no export has written: each bad line is skipped and told, and none of them harms what is there."""

from __future__ import annotations

import base64
import json
import uuid
from array import array
from pathlib import Path
from typing import Any

import pytest

from apm_hooks.errors import UsageError
from apm_hooks.records import DM
from apm_hooks.store.api import open_self, open_store
from apm_hooks.store.embedders import Hashed
from apm_hooks.store.selfstore import SelfStore
from tests.store.conftest import Clock, Shelf

HEAD = '{"apm-hooks": "memories", "version": 1}'
SELF_HEAD = '{"apm-hooks": "self", "version": 1}'


def line(**fields: Any) -> str:
    """A line of an export, with a new id; a field is what it is given."""
    return json.dumps({
        "id": str(uuid.uuid4()), "scope": "DM", "type": "fact", "title": "Zebra", "content": "A zebra came along",
        "tags": [], "importance": 3, "source": "agent", "expires_at": None,
        "created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T00:00:00+00:00", **fields,
    })  # fmt: skip


def vector(*values: float, space: str = "apm-hooks/hashed/1024") -> dict[str, str]:
    return {"space": space, "data": base64.b64encode(array("f", values).tobytes()).decode("ascii")}


NO_VECTORS = {
    "another dimension": vector(1.0, 0.0, 0.0),
    "no number": vector(*[float("nan")] * 1024),
    "without end": vector(*[float("inf")] * 1024),
    "no direction": vector(*[0.0] * 1024),
    "as long as it likes": vector(*[1000.0] * 1024),
    "more than an engine keeps": vector(1.0, *[0.0] * 16_000, space="test/large/16001"),
    "a signature without a dimension": vector(1.0, 0.0, space="large"),
    "a signature with a NUL": vector(1.0, 0.0, space="a\0b/2"),
    "a signature with half a character": vector(1.0, 0.0, space="\ud800/2"),
    "no base64": {"space": "test/a/2", "data": "é"},
}


@pytest.mark.parametrize("given", NO_VECTORS.values(), ids=NO_VECTORS)
def test_what_is_no_vector_of_its_space_is_skipped(shelf: Shelf, given: dict[str, str]) -> None:
    """One vector of another dimension made each recall of the embedder fail, and on Postgres each write."""
    store = shelf.store(embedder=Hashed())
    kept = line(content="An honest zebra")
    done = store.import_lines([HEAD, line(embedding=given), kept])
    assert (done.added, done.skipped) == (1, ((2, "its embedding is none"),))
    assert store.remember("Another zebra at the gate").created
    assert store.backfill_embeddings().remaining == 0
    assert len(store.recall("zebra").hits) == 2
    store.deduplicate_memories(threshold=0.5)


@pytest.mark.parametrize(
    "scope", ["", " DM", "dm", "Group()", "Group(a\0)", "Group(\ud800)", "Group(../x)", "Group(a", "'; --", 5, None]
)
def test_a_scope_that_no_session_has_is_none(shelf: Shelf, scope: object) -> None:
    done = shelf.store().import_lines([HEAD, line(scope=scope), line()], all_scopes=True)
    assert (done.added, done.skipped) == (1, ((2, "has no scope"),))


def test_notes_of_the_agent_are_no_memories_below_a_forged_head(shelf: Shelf) -> None:
    done = shelf.store().import_lines([HEAD, line(scope="self")], all_scopes=True)
    assert (done.added, done.skipped) == (0, ((2, "belongs to the agent's own notes"),))


@pytest.mark.parametrize("key", ["created_at", "updated_at"])
def test_a_memory_that_could_never_be_changed_is_not_taken(shelf: Shelf, key: str) -> None:
    """Nothing is later than the last moment, and a change is."""
    last = "9999-12-31T23:59:59.999999+00:00"
    store = shelf.store()
    done = store.import_lines([HEAD, line(**{key: last}), line(expires_at=last)])
    assert (done.added, [number for number, _ in done.skipped]) == (1, [2])
    (hit,) = store.recall().hits
    assert store.update_memory(hit.memory.id, content="Changed").changed


def test_another_memorys_history_is_not_taken_from_it(shelf: Shelf) -> None:
    """A line could name another conversation's memory as its own past: that one's next change then left no history."""
    owner, group = shelf.store(), shelf.store("Group(a)")
    mine = owner.remember("The launch is on Tuesday").id
    at = owner.recall().hits[0].memory.updated_at.isoformat()
    stolen = json.loads(line(id=mine, scope="Group(a)", updated_at=at, valid_to="2026-12-01"))
    assert group.import_lines([HEAD, line(scope="Group(a)", versions=[stolen])]).added == 1
    owner.update_memory(mine, content="The launch is on Friday")
    assert [each.memory.content for each in owner.history(mine)] == ["The launch is on Tuesday"]
    assert [hit.memory.content for hit in owner.recall("launch", as_of=at).hits] == ["The launch is on Tuesday"]


BAD_LINES = [
    "null", '"x"', "[" * 100_000, '{"a":' * 100_000, '{"id":' + "9" * 5_000 + "}", line(importance=float("nan")),
    line(importance=True), line(importance=3.0), line(tags="abc"), line(tags=None), line(versions={}),
    line(versions=[{}]), line(content="\ud800"), line(content="a\0"), line(id="x"), line(title=5), "\udcff",
]  # fmt: skip


def test_each_bad_line_is_one_that_is_skipped(shelf: Shelf) -> None:
    done = shelf.store().import_lines([HEAD, *BAD_LINES, line()])
    assert done.added == 1
    assert [number for number, _ in done.skipped] == list(range(2, len(BAD_LINES) + 2))


def article(**fields: Any) -> str:
    return json.dumps({"article": {
        "slug": "a", "title": "T", "body": "B", "sources": [str(uuid.UUID(int=1))], "digest": "0" * 64, "revision": 1,
        "created_at": "2026-01-01T00:00:00+00:00", "updated_at": "2026-01-01T00:00:00+00:00", **fields,
    }})  # fmt: skip


@pytest.fixture
def own(tmp_path: Path) -> SelfStore:
    return open_self(str(tmp_path), locality="local", scope=DM, clock=Clock())


def test_a_bad_article_is_skipped(own: SelfStore) -> None:
    bad = [
        article(digest="\ud800" * 64), article(digest="0" * 63), article(revision=10**30), article(revision=True),
        article(slug=["a"]), article(body=5), article(sources=[]), article(created_at="soon"),
    ]  # fmt: skip
    twice = article(slug="twice", sources=[str(uuid.UUID(int=1)), str(uuid.UUID(int=1)).upper()])
    with own:
        done = own.records.import_lines([SELF_HEAD, *bad, twice])
        assert (done.added, [number for number, _ in done.skipped]) == (1, list(range(2, len(bad) + 2)))
        assert own.self_wiki_get("a") is None
        view = own.self_wiki_get("twice")
    assert view is not None
    assert view.article.sources == (str(uuid.UUID(int=1)),)


@pytest.mark.parametrize("lines", [[article()], ["", article(), article(slug="b")], [HEAD, article()]])
def test_an_article_before_the_head_is_no_export(own: SelfStore, lines: list[str]) -> None:
    with own:
        with pytest.raises(UsageError, match="no export of self"):
            own.records.import_lines(lines)
        assert own.self_wiki_get("a") is None


def test_an_article_is_no_memory(tmp_path: Path) -> None:
    with open_store(str(tmp_path), scope=DM) as store:
        assert store.import_lines([HEAD, article()]).skipped == ((2, "has no id"),)
