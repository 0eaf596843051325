"""Routing a message to a row (protocol, section 5, step 2; section 4 for what a row is)."""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.index import parse_index
from apm_hooks.records import DM, Route
from apm_hooks.routing import (
    HEAD_CHARS,
    MINIMUM_SCORE,
    TAIL_CHARS,
    RouteScore,
    RouteVerdict,
    compile_routes,
    explain_routes,
    route_message,
)
from apm_hooks.writeback import template

DEPLOY = Route(("deployment", "rollback"), "deploy.md", 2)
BILLING = Route(("invoices", "billing API"), "projects/billing.md", 1)
SEARCH = Route(("search API", "ranking"), "projects/search.md", 1)
PEOPLE = Route(("who to contact", "need to find someone"), "people.md", 3)
ROUTES = (DEPLOY, BILLING, SEARCH, PEOPLE)
ANY = Route(("any work conversation",), "attention.md", 0, catch_all=True)


def routed(message: str, routes: tuple[Route, ...] = ROUTES, exclude: tuple[str, ...] = ()) -> str | None:
    match = route_message(message, routes, exclude=exclude)
    return match.route.path if match else None


def score_of(message: str, route: Route, routes: tuple[Route, ...] = ROUTES) -> RouteScore:
    return next(score for score in explain_routes(message, routes) if score.route is route)


def test_a_row_matches_when_its_score_reaches_a_stated_minimum() -> None:
    for message in ("the rollback failed", "API", "hello there", "ranking of invoices"):
        for score in explain_routes(message, ROUTES):
            assert (score.verdict is RouteVerdict.MATCHED) == (score.score >= MINIMUM_SCORE)
    assert score_of("rollback", DEPLOY).score >= MINIMUM_SCORE


def test_words_that_stand_in_several_rows_carry_little() -> None:
    rows = tuple(Route((f"cluster {word}",), f"{word}.md", 2) for word in ("sizing", "backup", "network"))
    assert routed("something about the cluster", rows) is None
    assert routed("cluster backup", rows) == "backup.md"
    assert score_of("cluster", rows[0], rows).score < score_of("cluster", rows[0], rows[:1]).score


@pytest.mark.parametrize(
    ("message", "scenario"),
    [
        ("what is this about", "what this is about us"),
        ("I have a problem with the project", "project"),
        ("there is an issue with the coffee", "issue tracker"),
        ("can you help me", "help"),
        ("我家猫有点问题", "问题"),
        ("孩子学校的项目", "项目管理"),
        ("Hast du eine Frage", "Frage"),
        ("tengo un problema con mi coche", "problema"),
        ("j'ai une question", "question"),
        ("у меня проблема с котом", "проблема"),
        ("우리 강아지 문제가 있어요", "문제"),
        ("犬の問題なんですが", "問題"),
    ],
)
def test_stop_words_and_generic_words_carry_little(message: str, scenario: str) -> None:
    assert routed(message, (Route((scenario,), "x.md", 0),)) is None


def test_generic_words_do_not_add_up() -> None:
    rows = (Route(("customer list", "order page", "service team"), "x.md", 0),)
    assert routed("a customer of the bakery wants another order, their service is a joke", rows) is None


def test_a_stop_word_of_the_message_is_none_of_a_row_in_another_language() -> None:
    rows = (Route(("die casting",), "x.md", 0),)
    assert routed("the die is broken", rows) == "x.md"
    assert routed("die Sonne scheint und die Katze ist auf dem Dach", rows) is None


def test_generic_words_decide_where_they_make_up_the_whole_alternative() -> None:
    rows = (Route(("project status", "who works when"), "a.md", 1), Route(("status",), "b.md", 2))
    assert routed("what is the project status?", rows) == "a.md"
    assert routed("so who works when on Monday", rows) == "a.md"
    assert routed("what's the status?", (rows[1],)) == "b.md"
    assert routed("the status of my pizza and of the bakery", (rows[1],)) is None


def test_the_highest_priority_wins() -> None:
    assert routed("rollback of the invoices, invoices, invoices") == "projects/billing.md"
    assert routed("deployment rollback, and the ranking") == "projects/search.md"


def test_then_the_better_score() -> None:
    assert routed("ranking: the billing API sends invoices") == "projects/billing.md"
    assert routed("invoices: the search API has a ranking") == "projects/search.md"


def test_then_table_order() -> None:
    first, second = Route(("lemons",), "a.md", 1), Route(("melons",), "b.md", 1)
    assert routed("melons lemons", (first, second)) == "a.md"
    assert routed("melons lemons", (second, first)) == "b.md"


def test_nothing_matches_nothing_is_loaded() -> None:
    assert route_message("what a nice sunset over the lake", ROUTES) is None
    assert route_message("", ROUTES) is None
    assert route_message("rollback", ()) is None


@pytest.mark.parametrize(
    ("scenario", "message"),
    [
        ("deployment", "we deployed it"),
        ("数据库迁移", "数据库什么时候搬，迁移完了吗"),
        ("请假", "我想请假两天"),
        ("見積もりの作成", "見積もりを送ってください"),
        ("デプロイ手順", "デプロイが止まりました"),
        ("환불 요청", "환불해 주세요"),
        ("Rechnungen", "Wo ist die Rechnungsnummer?"),
        ("facturación", "revisa la factura de mayo"),
        ("livraisons", "il n'a pas été livré"),
        ("счета", "пришлите счёт"),
        ("GPU 集群", "gpu满了"),
        ("API設計", "ＡＰＩの設計を見直す"),
    ],
)
def test_many_languages_and_mixed_text(scenario: str, message: str) -> None:
    assert routed(message, (Route((scenario,), "x.md", 1), DEPLOY if scenario != "deployment" else SEARCH)) == "x.md"


def test_full_and_half_width_forms_fold() -> None:
    assert routed("ＲＯＬＬＢＡＣＫ！") == "deploy.md"
    assert routed("ｻｰﾊﾞｰが遅い", (Route(("サーバー",), "x.md", 1),)) == "x.md"


def test_accents_and_compounds_fold() -> None:
    assert routed("facturacion", (Route(("facturación",), "x.md", 1),)) == "x.md"
    assert routed("Muelltrennung bitte", (Route(("Mülltrennung",), "x.md", 1),)) == "x.md"
    for message in ("the back-end is slow", "our back end", "backend", "BackEnd"):
        assert routed(message, (Route(("backend",), "x.md", 1),)) == "x.md"
    assert routed("checkout", (Route(("check-out desk",), "x.md", 1),)) == "x.md"


def test_a_known_compound_is_not_its_parts() -> None:
    rows = (Route(("Java",), "java.md", 1), Route(("JavaScript",), "js.md", 2))
    assert routed("a JavaScript question", rows) == "js.md"


@pytest.mark.parametrize("typo", ["deploymnet", "depolyment", "deployent", "deployyment", "rolback", "invocies"])
def test_small_typos_are_forgiven_and_weigh_less(typo: str) -> None:
    match = route_message(f"the {typo} is late", ROUTES)
    assert match
    right = "invoices" if typo[0] == "i" else "rollback" if typo[0] == "r" else "deployment"
    better = route_message(f"the {right} is late", ROUTES)
    assert better
    assert match.route is better.route
    assert MINIMUM_SCORE <= match.score < better.score
    assert match.words == (typo,)


def test_a_word_that_is_surely_one_term_is_not_perhaps_another() -> None:
    rows = (Route(("contract",), "a.md", 0), Route(("contact",), "b.md", 3))
    assert routed("contact", rows) == "b.md"


def test_it_explains_itself_with_row_words_and_score() -> None:
    scores = explain_routes("Invoices of the deploymnet", ROUTES)
    assert [score.route for score in scores] == list(ROUTES)
    billing, deploy = scores[1], scores[0]
    assert billing.words == ("Invoices",)
    assert [(each.word, each.term, each.how) for each in billing.evidence] == [("Invoices", "invoices", "same")]
    assert [(each.word, each.term, each.how) for each in deploy.evidence] == [("deploymnet", "deployment", "typo")]
    match = route_message("Invoices of the deploymnet", ROUTES)
    assert match
    assert (match.route, match.score, match.words) == (billing.route, billing.score, billing.words)


def test_every_verdict_is_told() -> None:
    rows = (
        Route(("lemons",), "a.md", 1),
        Route(("melons",), "b.md", 1, deprecated=True),
        Route(("onions",), "", 1, problem="points elsewhere"),
        Route(("apples",), "d.md", 1),
        Route(("grapes",), "e.md", 1),
        Route(("*",), "f.md", 0, catch_all=True),
    )
    verdicts = [score.verdict for score in explain_routes("lemons melons onions apples", rows, exclude=["d.md"])]
    assert verdicts == ["matched", "deprecated", "outside", "excluded", "below-minimum", "below-minimum"]
    verdicts = [score.verdict for score in explain_routes("cabbages", rows)]
    assert verdicts == [
        "below-minimum",
        "deprecated",
        "outside",
        "below-minimum",
        "below-minimum",
        "catch-all",
    ]


def test_deprecated_rows_and_rows_without_a_path_never_match_nor_share_words() -> None:
    rows = (
        Route(("billing cron",), "old.md", 0, deprecated=True),
        Route(("billing cron",), "", 0),
        Route(("billing cron",), "new.md", 3),
    )
    assert routed("billing cron", rows) == "new.md"
    assert routed("billing cron", rows[:2]) is None
    assert score_of("billing", rows[2], rows).score == score_of("billing", rows[2], rows[2:]).score


def test_an_excluded_row_gives_way_but_a_catch_all_does_not_take_over() -> None:
    rows = (*ROUTES, ANY)
    assert routed("invoices and a rollback", rows) == "projects/billing.md"
    assert routed("invoices and a rollback", rows, ("projects/billing.md",)) == "deploy.md"
    assert routed("invoices", rows, ("projects/billing.md",)) is None
    assert routed("the door squeaks", rows, ("attention.md",)) is None


@pytest.mark.parametrize("scenario", ["*", "any work conversation", "alles andere", "全部其他"])
def test_a_catch_all_matches_what_nothing_else_matched(scenario: str) -> None:
    rows = (Route((scenario,), "all.md", 0, catch_all=True), *ROUTES)
    assert routed("the rollback failed", rows) == "deploy.md"
    assert routed("the door squeaks", rows) == "all.md"
    assert routed("会议室的门坏了", rows) == "all.md"
    match = route_message("the door squeaks", rows)
    assert match
    assert (match.score, match.words) == (0.0, ())


def test_the_words_of_a_catch_all_name_no_topic() -> None:
    rows = (Route(("Gespräche über Melonen",), "all.md", 0, catch_all=True), DEPLOY)
    assert routed("rollback der Melonen", rows) == "deploy.md"


def test_other_alternatives_of_a_catch_all_are_topics_of_their_own() -> None:
    rows = (Route(("any work conversation", "outages"), "all.md", 0, catch_all=True), DEPLOY)
    assert routed("rollback after the outage", rows) == "all.md"
    assert routed("rollback", rows) == "deploy.md"


@pytest.mark.parametrize(
    "message",
    [
        "good morning",
        "thanks!",
        "ok",
        "haha",
        "哈哈",
        "谢谢大家",
        "おはよう",
        "감사합니다",
        "danke dir",
        "спасибо",
        "🎉",
        "",
    ],
)
def test_small_talk_loads_nothing_even_with_a_catch_all(message: str) -> None:
    assert routed(message, (*ROUTES, ANY)) is None


def test_sub_files_are_routed_apart() -> None:
    sub = Route(("naming style",), "conventions/style.md", 2, sub_file=True)
    rows = (*ROUTES, sub)
    assert routed("which naming style", rows) is None
    match = route_message("which naming style", rows, sub_files=True)
    assert match
    assert match.route is sub
    assert route_message("rollback", rows, sub_files=True) is None
    assert [score.route for score in explain_routes("rollback", rows, sub_files=True)] == [sub]
    table = compile_routes(rows, sub_files=True)
    assert route_message("which naming style", table) == match


def test_file_names_count_where_no_scenario_answers() -> None:
    rows = (Route(("tax rates",), "projects/ledger-sync.md", 2), Route(("ledger",), "books.md", 3))
    assert routed("who broke the sync", rows) == "projects/ledger-sync.md"
    assert routed("the ledger", rows) == "books.md"


def test_standard_files_are_found_by_what_people_say() -> None:
    rows = (
        Route(("technical decisions",), "project.md", 1),
        Route(("need to find someone",), "people.md", 3),
    )
    assert routed("which framework do we use", rows) == "project.md"
    assert routed("Wer ist der Ansprechpartner?", rows) == "people.md"
    assert routed("这个的负责人是谁", rows) == "people.md"
    assert routed("who won the match", rows) is None


def test_a_one_character_scenario_is_found_anywhere() -> None:
    assert routed("今年报税怎么办", (Route(("税",), "tax.md", 1),)) == "tax.md"


def test_of_a_long_message_head_and_tail_are_read() -> None:
    filler = "pebbles " * 3_000
    assert routed(f"rollback {filler}") == "deploy.md"
    assert routed(f"{filler} rollback") == "deploy.md"
    middle = "pebbles " * (HEAD_CHARS // 4)
    assert len(middle) > max(HEAD_CHARS, TAIL_CHARS)
    assert routed(f"{middle} rollback {middle}") is None


def test_a_word_in_passing_does_not_turn_a_long_message() -> None:
    text = "The rollback of the deployment took an hour. We deployed again, then came another rollback. " * 6
    assert routed(f"{text} I will send the invoices later.") == "deploy.md"
    assert routed("rollback the deployment, I will send the invoices later") == "projects/billing.md"


def test_rows_made_ready_give_the_same_answers() -> None:
    table = compile_routes(ROUTES)
    for message in ("rollback", "billing API", "who to contact", "nothing at all"):
        assert explain_routes(message, table) == explain_routes(message, ROUTES)


LATIN = [
    "deployment",
    "deploymnet",
    "invoices",
    "API",
    "Rechnung",
    "project",
    "who",
    "the",
    "c++",
    "v1.2",
    "*",
    "👍",
]
OTHER = [
    "项目",
    "退款",
    "数据库迁移",
    "税",
    "見積もり",
    "の",
    "デプロイ",
    "환불",
    "결제오류가",
    "счета",
    "pre-edit",
]
WORDS = st.sampled_from([*LATIN, *OTHER])
TEXTS = st.lists(WORDS | st.text(max_size=12), max_size=10).map(" ".join)
ROWS = st.builds(
    Route,
    scenarios=st.lists(TEXTS, max_size=4).map(tuple),
    path=st.sampled_from(["", "people.md", "attention.md", "projects/billing-api.md", "a.md", "x/é.md"]),
    priority=st.integers(0, 3),
    sub_file=st.booleans(),
    deprecated=st.booleans(),
    catch_all=st.booleans(),
)


@given(TEXTS, st.lists(ROWS, max_size=8), st.booleans())
@settings(max_examples=150, deadline=None)
def test_no_message_and_no_rows_raise_and_only_live_rows_are_chosen(
    message: str, rows: list[Route], sub_files: bool
) -> None:
    match = route_message(message, rows, exclude=["a.md"], sub_files=sub_files)
    scores = explain_routes(message, rows, exclude=["a.md"], sub_files=sub_files)
    assert [score.route for score in scores] == [row for row in rows if row.sub_file is sub_files]
    if match:
        assert match.route.path not in ("", "a.md")
        assert not match.route.deprecated
        assert match.route.sub_file is sub_files
        assert match.score >= MINIMUM_SCORE or match.route.catch_all


@given(TEXTS, st.lists(ROWS, max_size=6), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_the_order_of_rows_decides_ties_only(message: str, rows: list[Route], random: object) -> None:
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    one, other = route_message(message, rows), route_message(message, mixed)
    assert (one is None) == (other is None)
    if one and other:
        assert (one.route.priority, one.score) == (other.route.priority, other.score)
    scores = sorted((repr(score.route), score.score) for score in explain_routes(message, rows))
    assert scores == sorted((repr(score.route), score.score) for score in explain_routes(message, mixed))


@given(TEXTS, st.lists(ROWS, max_size=6))
@settings(max_examples=50, deadline=None)
def test_the_same_question_has_the_same_answer(message: str, rows: list[Route]) -> None:
    assert explain_routes(message, rows) == explain_routes(message, tuple(rows))


def test_no_answer_depends_on_the_order_of_hashes() -> None:
    code = (
        "from apm_hooks.records import Route\n"
        "from apm_hooks.routing import explain_routes\n"
        "rows = [Route((f'a{n} deployment', '数据库迁移 invoices'), f'f{n}.md', n % 3) for n in range(9)]\n"
        "print(explain_routes('deploymnet of invoices a3 数据库 迁移 backend back-end', rows))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize(
    "message",
    [
        "a" * 20_000,
        "ab " * 7_000,
        "deploymnet " * 2_000,
        " ".join(f"deployme{n:x}t" for n in range(2_000)),
        "数据库迁移" * 4_000,
        "の" * 20_000,
        "ー" * 20_000,
        "결제오류가" * 4_000,
        "e\u0301" * 10_000,
        "\u0316\u0301" * 10_000,
        "A" * 20_000,
        "aB" * 10_000,
        "-_." * 7_000,
        "ﷺ" * 20_000,
    ],
)
def test_no_message_costs_many_times_a_short_one(message: str) -> None:
    rows = [
        Route((f"deployment {n}", f"数据库迁移{n}", f"결제오류 {n}", f"rollback{n}"), f"f{n}.md", 1) for n in range(200)
    ]
    short = min(cost(lambda: route_message("rollback7, please", rows)) for _ in range(3))
    assert min(cost(lambda: route_message(message, rows)) for _ in range(3)) < 30 * short


def test_a_very_long_scenario_is_cut() -> None:
    long = (Route(("lemon " * 50_000,) * 100, "a.md", 1), DEPLOY)
    assert routed("rollback", long) == "deploy.md"
    least = min(cost(lambda: routed("rollback", (Route(("lemon " * 500,) * 100, "a.md", 1), DEPLOY))) for _ in range(3))
    assert min(cost(lambda: routed("rollback", long)) for _ in range(3)) < 40 * least


def cost(work: Callable[[], object]) -> float:
    """CPU time in seconds."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


@functools.cache
def load_benchmark() -> ModuleType:
    path = Path(__file__).parent.parent / "benchmarks" / "routing.py"
    spec = importlib.util.spec_from_file_location("routing_benchmark", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_corpus_reaches_its_targets_in_both_halves() -> None:
    benchmark = load_benchmark()
    tables = benchmark.load_corpus()
    assert len(tables) >= 10
    assert sum(len(table.messages) for table in tables) >= 420
    assert {table.half for table in tables} == set(benchmark.HALVES)
    counts = benchmark.accuracy(tables)
    assert benchmark.missed(counts) == []


def test_a_missed_target_is_told() -> None:
    benchmark = load_benchmark()
    full = {kind: {"all": (10, 10)} for kind in benchmark.TARGETS}
    counts = {"dev": {**full, "keyword": {"all": (9, 10)}}, "held-out": full}
    assert benchmark.missed(counts) == ["dev keyword: 90.0% < 98%"]


def test_every_alternative_of_the_corpus_finds_its_own_row() -> None:
    for table in load_benchmark().load_corpus():
        compiled = compile_routes(table.routes)
        for row in table.routes:
            for scenario in () if row.deprecated or row.catch_all else row.scenarios:
                scores = explain_routes(f"Hello, {scenario.upper()}?", compiled)
                assert next(s for s in scores if s.route == row).verdict is RouteVerdict.MATCHED, scenario


DM_ROWS = parse_index(template("dm/index.md"), DM).routes


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ("what decisions did we make about hosting?", "longterm.md"),
        ("which decision did we take on the database", "longterm.md"),
        ("what happened yesterday?", "daily-synced.md"),
        ("what's next?", "attention.md"),
        ("What is next", "attention.md"),
        ("thanks, see you tomorrow!", None),
        ("what's the weather in Paris", None),
    ],
)
def test_a_generic_word_that_a_row_names_by_itself_is_its_topic(message: str, path: str | None) -> None:
    found = route_message(message, DM_ROWS)
    assert (found.route.path if found else None) == path
