"""Export and import: every field comes back, and what does not belong is skipped and told."""

from __future__ import annotations

import json

import pytest

from apm_hooks.errors import UsageError
from apm_hooks.store.records import RecordStore
from tests.store.conftest import Shelf
from tests.store.embedding import Flaky


def filled(shelf: Shelf, scope: str = "DM") -> RecordStore:
    store = shelf.store(scope, Flaky())
    saved = store.remember("The office is in Lyon", title="Office", type="decision", tags=["Place"], importance=4)
    store.update_memory(saved.id, content="The office is in Paris")
    store.update_memory(saved.id, tags=[])
    store.remember('今天玩成语接龙游戏 \u2028 with odd signs \\ " \t', source="user")
    store.remember("The visitor wifi is down", expires_at="2026-06-02")
    first = store.remember("The export tool writes large files to the staging bucket after the vacuum")
    store.remember("The export tool writes large files to the staging bucket after the vacuum again")
    store.deduplicate_memories(threshold=0.8, dry_run=False)
    assert store.history(first.id)
    shelf.clock.forward(days=3)
    return store


def test_an_export_comes_back_whole(shelf: Shelf) -> None:
    """The original lost creation times and versions; an expired memory comes back too, and stays hidden."""
    store = filled(shelf)
    lines = list(store.export_lines())
    then = "2026-06-01T12:00:05+00:00"
    before = (store.recall(), store.recall("office", as_of=then), store.recall("Paris office"))
    for line in lines[1:]:
        store.forget(json.loads(line)["id"])
    assert store.recall().total == 0
    done = store.import_lines(lines)
    assert (done.added, done.unchanged, done.skipped) == (4, 0, ())
    assert list(store.export_lines()) == lines
    assert (store.recall(), store.recall("office", as_of=then), store.recall("Paris office")) == before
    assert store.recall("wifi").hits == ()
    again = store.import_lines(lines)
    assert (again.added, again.unchanged) == (0, 4)
    assert list(store.export_lines()) == lines


def test_an_import_checks_each_line(shelf: Shelf) -> None:
    store = filled(shelf)
    lines = list(store.export_lines())
    good = json.loads(lines[1])
    store.forget(good["id"])
    key = "ghp_" + "a1B2c3D4e5F6" * 3
    bad: list[object] = [
        good | {"id": "6ba7b810-9dad-41d1-80b4-00c04fd430c0", "content": f"token {key}"},
        good | {"id": "6ba7b810-9dad-41d1-80b4-00c04fd430c1", "versions": [good | {"content": f"token {key}"}]},
        good | {"id": "nonsense"},
        good | {"scope": "Group(a)"},
        good | {"importance": 7},
        good | {"expires_at": "soon"},
        good | {"embedding": {"space": "x", "data": "***"}},
        good | {"versions": "none"},
        {},
        [],
    ]
    given = [lines[0], *(json.dumps(each) for each in bad), "{half", "", lines[1]]
    done = store.import_lines(given)
    assert done.added == 1
    assert [number for number, _ in done.skipped] == list(range(2, 13))
    told = " ".join(why for _, why in done.skipped)
    assert key not in told
    assert "secret" in told.lower()
    assert "Group(a)" not in told
    assert key not in "".join(store.export_lines())


def test_only_an_export_of_memories_is_taken(shelf: Shelf) -> None:
    for head in ('{"apm-hooks": "self", "version": 1}', '{"apm-hooks": "memories", "version": 2}', "[]", "x", "{}"):
        with pytest.raises(UsageError):
            shelf.store().import_lines([head])
    assert shelf.store().import_lines([]).added == 0


def test_a_back_up_of_all_scopes_comes_back_to_each(shelf: Shelf) -> None:
    owner, group = filled(shelf), shelf.store("Group(a)")
    group.remember("A penguin of our own")
    lines = list(owner.export_lines(all_scopes=True))
    for store in (owner, group):
        for line in list(store.export_lines())[1:]:
            store.forget(json.loads(line)["id"])
    seen: list[int] = []
    assert owner.import_lines(lines, all_scopes=True, progress=seen.append).added == 5
    assert seen[-1] == len(lines)
    assert list(owner.export_lines(all_scopes=True)) == lines
    assert group.recall("penguin").hits
