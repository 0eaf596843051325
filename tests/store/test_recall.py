"""Recall on both engines: what is found, in which order, how honestly, and what never is."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apm_hooks.errors import UsageError
from apm_hooks.store.embedders import Packaged
from apm_hooks.store.items import STORE_LIMITS
from apm_hooks.store.recalling import NO_WORD, OTHER_SPACE, PROVIDER_DOWN
from tests.store.conftest import Shelf
from tests.store.embedding import Broken, Flaky, Placed
from tests.store.measured import module

store_workload = module("store_workload")


def test_a_call_without_arguments_is_a_cold_start(shelf: Shelf) -> None:
    store = shelf.store()
    for number in range(12):
        store.remember(f"matter number {number}", importance=1 + number % 4)
    found = store.recall()
    order = [(hit.memory.importance, hit.memory.updated_at) for hit in found.hits]
    assert order == sorted(order, reverse=True)
    assert (len(found.hits), found.total, found.more) == (10, 12, 2)
    assert all(hit.similarity is None for hit in found.hits)


def test_what_must_always_apply_is_never_dropped_in_silence(shelf: Shelf) -> None:
    store = shelf.store()
    made = [store.remember(f"rule about {word}", title=f"Rule {word}", importance=5).id for word in "abcdefghijklm"]
    found = store.recall()
    assert len(found.hits) == 10
    assert {each for each, _ in found.always} == set(made) - {hit.memory.id for hit in found.hits}
    assert {title for _, title in found.always} == {"Rule a", "Rule b", "Rule c"}
    assert store.recall(limit=50).always == ()
    recent = store.recall(limit=1, order="recent")
    assert len(recent.always) == 12


def test_the_newest_first_where_that_is_asked(shelf: Shelf) -> None:
    store = shelf.store()
    first = store.remember("alpha matter", importance=5)
    second = store.remember("beta matter", importance=1)
    assert [hit.memory.id for hit in store.recall(order="recent").hits] == [second.id, first.id]
    store.update_memory(first.id, tags=["x"])
    assert store.recall(order="recent").hits[0].memory.id == first.id


def test_a_query_without_a_content_word_finds_nothing(shelf: Shelf) -> None:
    """The original showed the importance list at 100 % for one of punctuation only."""
    store = shelf.store(embedder=Flaky())
    store.remember("Always applies: ask before deleting", importance=5)
    for query in ("", " ", "?!", '"', "*", "NEAR(", "the of and", "what is it", "don't", "的", "什么", "是什么"):
        for mode in ("auto", "semantic", "fulltext"):
            found = store.recall(query, mode=mode)
            assert (found.hits, found.total, found.note) == ((), None, NO_WORD), query


@pytest.mark.parametrize("embedder", [None, Flaky()])
def test_nonsense_finds_nothing(shelf: Shelf, embedder: Flaky | None) -> None:
    store = shelf.store(embedder=embedder)
    for text in ("The parser fails on empty rows", "Invoices are sent weekly", "备份每天凌晨运行"):
        store.remember(text, importance=5)
    for query in ("zxqv blorf wexel", "火星香蕉", "qqqq", "плюмбус"):
        for mode in ("auto", "semantic", "fulltext"):
            assert store.recall(query, mode=mode).hits == (), query


WORDS = (
    ("The user prefers tabs", "prefer"),
    ("Somebody will choose penguins", "chooses"),
    ("今天玩成语接龙游戏", "成语接龙"),
    ("我们常玩接龙", "常玩接龙"),
    ("会議の議事録は共有フォルダにある", "議事録"),
    ("データベースの移行は来週", "データ"),
    ("배포는 금요일에 하지 않는다", "배포"),
    ("Read the pre-edit hook before", "pre-edit"),
    ("Every draft needs a post-edit pass", "edit pass"),
    ("The box runs ubuntu 20.04", "ubuntu 20.04"),
    ("The link carries 10 GB/s", "GB/s"),
    ("See flush-state for details", "flush-state"),
    ("Das Café öffnet um neun", "cafe"),
    ("Ｆｕｌｌ width text", "full"),
    ("Резервная копия хранится месяц", "копия"),
    ("Use C++ for the codec", "c++"),
    ("The answer should be short", "short"),
)


def test_words_of_any_script_find_their_memory(shelf: Shelf) -> None:
    """Stems of one word, parts of a Chinese sentence, names with signs: the original found half of them."""
    store = shelf.store()
    made = {stored: store.remember(stored).id for stored, _ in WORDS}
    for stored, query in WORDS:
        for mode in ("auto", "fulltext"):
            hits = store.recall(query, mode=mode).hits
            assert hits, query
            assert hits[0].memory.id == made[stored], query


def test_two_characters_of_a_chinese_sentence_are_enough(shelf: Shelf) -> None:
    store = shelf.store()
    saved = store.remember("今天玩成语接龙游戏")
    for query in ("接龙", "成语", "游戏", "今天玩成语接龙游戏吗"):
        assert [hit.memory.id for hit in store.recall(query).hits] == [saved.id]


def test_a_natural_question_needs_not_every_word(shelf: Shelf) -> None:
    store = shelf.store()
    saved = store.remember("The deploy script must never touch the staging bucket")
    store.remember("The mail relay was moved to the blue cluster")
    found = store.recall("what do we know about the deploy script when somebody rotates keys?", mode="fulltext")
    assert found.hits[0].memory.id == saved.id


@pytest.mark.parametrize("versions", [11, 75])
def test_closed_versions_crowd_nothing_out(shelf: Shelf, versions: int) -> None:
    """The original showed unrelated rows at 100 %, or lost the vector stage, after so many updates of one note."""
    store = shelf.store(embedder=Flaky())
    saved = store.remember("The retry budget of the billing job is 0 attempts")
    other = store.remember("The retry budget of the mail relay is generous")
    store.remember("Penguins live in the south", importance=5)
    for number in range(1, versions + 1):
        store.update_memory(saved.id, content=f"The retry budget of the billing job is {number} attempts")
    for mode in ("semantic", "auto", "fulltext"):
        hits = store.recall("retry budget of the billing job", mode=mode, limit=3).hits
        assert [hit.memory.id for hit in hits] == [saved.id, other.id]
        assert f"is {versions} attempts" in hits[0].memory.content
    assert len(store.history(saved.id)) == versions


def test_a_filter_acts_before_the_limit(shelf: Shelf) -> None:
    """A hundred nearer rows of another type, tag or importance starve nothing, in no stage."""
    near, there = (1.0, 0.0, 0.0, 0.0), (0.9, 0.44, 0.0, 0.0)
    embedder = Placed({"near": near, "there": there, "query": near})
    store = shelf.store(embedder=embedder)
    wanted = store.remember("there is one query", type="decision", tags=["rare"], importance=5)
    for number in range(100):
        store.remember(f"near query query query {number}", importance=1)
    for narrow in ({"type": "decision"}, {"tags": ["rare"]}, {"min_importance": 5}):
        for mode in ("semantic", "auto", "fulltext"):
            found = store.recall("query", mode=mode, **narrow)
            assert [hit.memory.id for hit in found.hits] == [wanted.id], (narrow, mode)


def test_all_tags_must_be_there_and_none_is_found_by_its_part(shelf: Shelf) -> None:
    store = shelf.store()
    both = store.remember("alpha thing", tags=["docker", "setup"])
    store.remember("beta thing", tags=["docker-compose", "setup"])
    store.remember("gamma thing", tags=["docker"])
    assert [hit.memory.id for hit in store.recall(tags=["Setup", "DOCKER"]).hits] == [both.id]
    assert [hit.memory.id for hit in store.recall("thing", tags=["docker", "setup"]).hits] == [both.id]


def test_similarity_is_a_cosine_or_nothing(shelf: Shelf) -> None:
    embedder = Placed({"query": (1, 0, 0, 0), "half": (0.6, 0.8, 0, 0), "low": (0.3, 0.9539, 0, 0)})
    store = shelf.store(embedder=embedder)
    store.remember("half of a query")
    store.remember("low but it names the query")
    first, second = store.recall("query").hits
    assert (first.memory.content[:4], second.memory.content[:4]) == ("half", "low ")
    assert first.similarity == pytest.approx(0.6, abs=1e-5)
    assert second.similarity == pytest.approx(0.3, abs=1e-4)
    # Below the embedder's cut, meaning alone finds nothing.
    assert [hit.memory.content[:4] for hit in store.recall("query", mode="semantic").hits] == ["half"]
    assert all(hit.similarity is None for hit in store.recall("query", mode="fulltext").hits)


def test_meaning_finds_what_shares_no_word(shelf: Shelf) -> None:
    """Without the vector stage this finds nothing: the test that notices its loss."""
    embedder = Placed({"咖啡机": (1, 0.1, 0, 0), "whom to call": (1, 0, 0, 0)})
    store = shelf.store(embedder=embedder)
    saved = store.remember("咖啡机坏了找行政部")
    assert store.recall("whom to call about espresso", mode="fulltext").hits == ()
    (hit,) = store.recall("whom to call about espresso").hits
    assert hit.memory.id == saved.id


@pytest.mark.parametrize("mode", ["auto", "semantic"])
def test_a_provider_that_is_down_means_text_hits(shelf: Shelf, mode: str) -> None:
    embedder = Flaky()
    store = shelf.store(embedder=embedder)
    wanted = store.remember("The cache layer is slow")
    store.remember("Penguins live in the south", importance=5)
    embedder.down = True
    found = store.recall("cache layer", mode=mode)
    assert ([hit.memory.id for hit in found.hits], found.note) == ([wanted.id], PROVIDER_DOWN)
    late = store.remember("The mail relay is fast")
    assert late.created
    assert "backfill" in " ".join(late.notes)
    embedder.down = False
    assert store.backfill_embeddings().embedded == 1
    assert store.recall("mail relay fast", mode="semantic").hits[0].memory.id == late.id


@pytest.mark.parametrize("answer", [RuntimeError("boom"), [], [b"123"], [b""], ValueError("x")])
def test_a_broken_embedder_costs_no_memory(shelf: Shelf, answer: object) -> None:
    store = shelf.store(embedder=Broken(answer))
    saved = store.remember("The cache layer is slow")
    assert [hit.memory.id for hit in store.recall("cache").hits] == [saved.id]
    done = store.backfill_embeddings()
    assert (done.embedded, done.failed, done.remaining) == (0, 1, 1)


def test_two_spaces_are_never_mixed(shelf: Shelf) -> None:
    old, new = Flaky("test/old/1024"), Flaky("test/new/1024")
    first = shelf.store(embedder=old)
    for number in range(5):
        first.remember(f"The cache layer {'abcde'[number]} is slow")
    second = shelf.store(embedder=new)
    second.remember("The cache layer of the shop is slow")
    found = second.recall("cache layer slow", mode="semantic")
    assert found.note == OTHER_SPACE
    assert all(hit.similarity is None for hit in found.hits)
    assert second.backfill_embeddings(limit=3).remaining == 2
    assert second.recall("cache layer slow", mode="semantic").note == OTHER_SPACE
    done = second.backfill_embeddings()
    assert (done.embedded, done.remaining) == (2, 0)
    found = second.recall("cache layer slow", mode="semantic")
    assert (found.note, len(found.hits)) == ("", 6)
    assert all(hit.similarity is not None for hit in found.hits)
    assert first.recall("cache layer slow", mode="semantic").note == OTHER_SPACE


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0}, {"limit": 51}, {"limit": "10"}, {"limit": 2.0}, {"mode": "magic"}, {"order": "random"},
        {"type": "thought"}, {"min_importance": 0}, {"as_of": "garbage"}, {"as_of": ""}, {"tags": "docker"},
        {"query": 5},
    ],
)  # fmt: skip
def test_an_argument_out_of_its_limits_is_an_error(shelf: Shelf, wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        shelf.store().recall(**wrong)  # type: ignore[arg-type]


def test_a_cut_answer_says_how_many_more(shelf: Shelf) -> None:
    store = shelf.store()
    for number in range(15):
        store.remember(f"penguin fact {number}")
    assert store.recall("penguin", limit=4).more == 11
    assert len(store.recall("penguin", limit=50).hits) == 15


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=200) | st.from_regex(r'["*():^~ NEARORANDT-]{1,30}', fullmatch=True))
def test_no_query_raises(shelf: Shelf, query: str) -> None:
    store = shelf.store()
    if store.recall().total == 0:
        store.remember("The deploy script must never touch 备份 the staging bucket")
    found = store.recall(query)
    assert len(found.hits) <= 1
    store.recall(query, mode="fulltext", as_of=shelf.clock.now.isoformat())
    assert STORE_LIMITS.recall == 10


@pytest.fixture(scope="module")
def packaged() -> Packaged:
    """The offline model, loaded once."""
    return Packaged()


def test_meaning_crosses_languages_and_words_do_not(shelf: Shelf, packaged: Packaged) -> None:
    """English questions, Chinese memories, no character in common: whatever is found, vectors have found."""
    store = shelf.store(embedder=packaged)
    pairs = store_workload.crossing()
    for memory, _ in pairs:
        store.remember(memory)
    found = dict.fromkeys(("auto", "semantic", "fulltext"), 0)
    for memory, question in pairs:
        for mode in found:
            hits = store.recall(question, mode=mode, limit=3).hits
            found[mode] += any(hit.memory.content == memory for hit in hits)
    assert found["fulltext"] == 0
    assert min(found["auto"], found["semantic"]) >= 0.9 * len(pairs)
    for nonsense in ("zxq blorf wexel", "florbnik grantz", "asdf jkl qwop"):
        assert store.recall(nonsense).hits == ()
