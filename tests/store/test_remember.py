"""Remember, update, forget: what is saved, refused, told and kept, on both engines."""

from __future__ import annotations

import pytest

from apm_hooks.errors import UsageError
from apm_hooks.store.items import STORE_LIMITS, TYPES, SecretRefusedError
from tests.store.conftest import Shelf
from tests.store.embedding import Flaky


def test_what_was_remembered_is_recalled_with_every_field(shelf: Shelf) -> None:
    store = shelf.store()
    saved = store.remember(
        "The parser waits for UTF-16 files.", title="Parser", type="decision", importance=4, tags=["File IO"]
    )
    (hit,) = store.recall("parser").hits
    memory = hit.memory
    assert (memory.id, memory.title, memory.type, memory.importance) == (saved.id, "Parser", "decision", 4)
    assert (memory.tags, memory.source, memory.expires_at) == (("file-io",), "agent", None)
    assert saved.created
    assert "file-io" in " ".join(saved.notes)
    assert memory.created_at == memory.updated_at


TITLES = (
    ("short", "short"),
    ("# A heading\n\nand text", "A heading"),
    ("x" * 60, "x" * 60),
    ("word " * 30, "word word word word word word word word word word word…"),
    ("长" * 80, "长" * 59 + "…"),
    ("\n\n  second line counts", "second line counts"),
)


def test_a_title_is_made_from_the_first_line(shelf: Shelf) -> None:
    for content, title in TITLES:
        shelf.store().remember(content)
        made = shelf.store().recall(order="recent", limit=1).hits[0].memory.title
        assert made == title
        assert len(made) <= STORE_LIMITS.title_chars


WRONG: tuple[dict[str, object], ...] = (
    {"content": ""},
    {"content": " \n "},
    {"content": "a\0b"},
    {"content": "half \ud800"},
    {"content": "x" * (STORE_LIMITS.content_bytes + 1)},
    {"content": "长" * (STORE_LIMITS.content_bytes // 3 + 1)},
    {"importance": 0},
    {"importance": 6},
    {"importance": 2.5},
    {"importance": True},
    {"type": "thought"},
    {"tags": "docker"},
    {"tags": ["!!!"]},
    {"tags": ["x" * 65]},
    {"title": "x" * 301},
    {"source": ""},
    {"expires_at": "tomorrow"},
    {"expires_at": "2026-06-01T11:00:00+00:00"},
    {"expires_at": "2026-13-01"},
)


def test_an_argument_out_of_its_limits_is_an_error_and_saves_nothing(shelf: Shelf) -> None:
    """One engine of the original stored an importance of 2.5, the other threw an error of its driver."""
    for wrong in WRONG:
        given: dict[str, object] = {"content": "something"} | wrong
        with pytest.raises(UsageError):
            shelf.store().remember(**given)  # type: ignore[arg-type]
    assert shelf.store().recall().total == 0


def test_the_largest_content_is_kept_with_every_distinct_word(shelf: Shelf) -> None:
    """Two megabytes of words failed on one engine of the original; here the limit is the same on both, and holds."""
    words = " ".join(f"w{number:05d}" for number in range(9_300))
    saved = shelf.store().remember(words)
    assert shelf.store().recall("w09299").hits[0].memory.id == saved.id


def test_every_type_is_taken_and_filtered_by(shelf: Shelf) -> None:
    store = shelf.store()
    for kind in TYPES:
        store.remember(f"something of type {kind}", type=kind)
    for kind in TYPES:
        assert [hit.memory.type for hit in store.recall(type=kind).hits] == [kind]


def test_an_exact_duplicate_is_no_second_memory(shelf: Shelf) -> None:
    store = shelf.store()
    first = store.remember("The user prefers tabs.")
    for again in ("The user prefers tabs.", "the USER   prefers\ntabs.", " The user prefers tabs. "):
        second = store.remember(again, importance=5)
        assert (second.id, second.created) == (first.id, False)
    assert store.recall().total == 1
    assert store.recall().hits[0].memory.importance == 3


def test_a_near_duplicate_is_saved_and_reported(shelf: Shelf) -> None:
    store = shelf.store()
    text = "The export tool writes large PDFs to the staging bucket after the nightly vacuum of the old schema"
    first = store.remember(text)
    second = store.remember(f"{text} again.")
    assert second.created
    assert [each.id for each in second.similar] == [first.id]
    assert 0.8 <= second.similar[0].similarity <= 1
    assert second.contradicts == ()


def test_a_contradiction_is_flagged_and_changes_nothing(shelf: Shelf) -> None:
    store = shelf.store()
    first = store.remember("The server runs on port 8443")
    second = store.remember("The server runs on port 9443")
    assert [each.id for each in second.contradicts] == [first.id]
    assert {hit.memory.content for hit in store.recall().hits} == {
        "The server runs on port 8443",
        "The server runs on port 9443",
    }


def test_the_same_title_with_other_content_is_flagged(shelf: Shelf) -> None:
    store = shelf.store()
    first = store.remember("We use Postgres because of its extensions.", title="Database")
    second = store.remember("Everything lives in flat files now.", title="database")
    assert [each.id for each in second.contradicts] == [first.id]


def test_the_check_never_looks_into_another_scope(shelf: Shelf) -> None:
    first = shelf.store("DM").remember("The server runs on port 8443")
    for scope in ("Group(a)", "Group(b)"):
        same = shelf.store(scope).remember("The server runs on port 8443")
        assert same.created
        assert same.id != first.id
        assert (same.similar, same.contradicts) == ((), ())


@pytest.mark.parametrize("field", ["content", "title", "tags", "source"])
def test_a_secret_is_refused_by_kind_and_never_repeated(shelf: Shelf, field: str) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    given: dict[str, object] = {"content": "something harmless"}
    given[field] = [secret] if field == "tags" else f"token {secret}"
    if field == "tags":
        # A tag is lower-case and hyphenated, and still a secret.
        given["tags"] = ["AKIA" + "ABCDEFGHIJKLMNOP"]
        given[field] = ["password-is-hunter2-xyz9-abc"]
        given["title"] = f"token {secret}"
    with pytest.raises(SecretRefusedError) as refused:
        shelf.store().remember(**given)  # type: ignore[arg-type]
    assert secret not in str(refused.value)
    assert secret not in repr(refused.value.as_dict())
    assert shelf.store().recall().total == 0


def test_an_update_cannot_bring_a_secret_in(shelf: Shelf) -> None:
    store = shelf.store()
    saved = store.remember("The deploy script needs a token.")
    with pytest.raises(SecretRefusedError):
        store.update_memory(saved.id, content="The deploy script needs ghp_" + "a1B2c3D4e5F6" * 3)
    assert store.recall().hits[0].memory.content == "The deploy script needs a token."


def test_an_update_keeps_the_id_and_the_time_of_birth(shelf: Shelf) -> None:
    store = shelf.store()
    saved = store.remember("The office is in Lyon", importance=2)
    before = store.recall().hits[0].memory
    done = store.update_memory(saved.id, content="The office is in Paris", importance=4, tags=["Setup"])
    assert done.found
    assert set(done.changed) == {"content", "title", "importance", "tags"}
    after = store.recall("Paris").hits[0].memory
    assert (after.id, after.created_at, after.title) == (saved.id, before.created_at, "The office is in Paris")
    assert after.updated_at > before.updated_at
    assert store.recall("Lyon").hits == ()


def test_a_given_title_outlives_a_new_content(shelf: Shelf) -> None:
    store = shelf.store()
    saved = store.remember("In Lyon", title="Office")
    store.update_memory(saved.id, content="In Paris")
    assert store.recall("office paris").hits[0].memory.title == "Office"


def test_an_update_of_nothing_and_of_nobody_is_told(shelf: Shelf) -> None:
    store = shelf.store()
    saved = store.remember("The office is in Lyon")
    assert store.update_memory(saved.id).changed == ()
    assert store.update_memory(saved.id, content="The office is in Lyon").changed == ()
    assert store.history(saved.id) == ()
    for nobody in ("6ba7b810-9dad-41d1-80b4-00c04fd430c8", "garbage", "", "' OR 1=1 --"):
        assert not store.update_memory(nobody, content="x").found
        assert not store.forget(nobody)


def test_a_vector_survives_a_change_of_tags_and_is_made_anew_for_a_new_text(shelf: Shelf) -> None:
    embedder = Flaky()
    store = shelf.store(embedder=embedder)
    saved = store.remember("The cache layer is slow")
    calls = embedder.calls
    store.update_memory(saved.id, tags=["cache"], importance=5, type="decision")
    assert embedder.calls == calls
    assert store.recall("cache layer slow", mode="semantic").hits[0].similarity == pytest.approx(1, abs=0.35)
    store.update_memory(saved.id, content="Penguins walk along the beach")
    assert embedder.calls > calls
    (hit,) = store.recall("penguins walk along the beach", mode="semantic").hits
    assert hit.similarity == pytest.approx(1, abs=1e-5)


def test_forget_takes_row_words_vector_and_history(shelf: Shelf) -> None:
    store = shelf.store(embedder=Flaky())
    saved = store.remember("The heirloom recipe uses saffron")
    store.update_memory(saved.id, content="The heirloom recipe uses cumin")
    moment = shelf.clock.now
    assert store.forget(saved.id)
    assert not store.forget(saved.id)
    assert store.recall("heirloom").hits == ()
    assert store.recall("heirloom", mode="semantic").hits == ()
    assert store.recall("heirloom", as_of=moment.isoformat()).hits == ()
    assert store.history(saved.id) == ()
    assert list(store.export_lines())[1:] == []


def test_an_expired_memory_is_hidden_and_then_purged(shelf: Shelf) -> None:
    store = shelf.store()
    saved = store.remember("The visitor wifi is down today", expires_at="2026-06-02")
    assert store.recall("wifi").hits
    shelf.clock.forward(days=2)
    assert store.recall("wifi").hits == ()
    assert store.recall().total == 0
    assert not store.update_memory(saved.id, importance=4).found
    again = store.remember("The visitor wifi is down today")
    assert again.created
    shelf.clock.forward(days=STORE_LIMITS.expired_days)
    store.remember("Something else altogether")
    assert len(list(store.export_lines())) == 1 + 2


def test_an_expiry_is_cleared_by_null(shelf: Shelf) -> None:
    store = shelf.store()
    saved = store.remember("The visitor wifi is down today", expires_at="2026-06-02T00:00:00Z")
    assert store.update_memory(saved.id, expires_at=None).changed == ("expires_at",)
    shelf.clock.forward(days=400)
    assert store.recall("wifi").hits


def test_purge_erases_what_is_long_over(shelf: Shelf) -> None:
    store = shelf.store()
    for number in range(45):
        store.remember(f"notice number {number} of the day", expires_at="2026-06-02")
    shelf.clock.forward(days=STORE_LIMITS.expired_days + 2)
    assert store.purge() == 45
    assert store.purge() == 0
