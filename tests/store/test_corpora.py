"""The labelled corpora, and what their rules must not do: repeat a value, take long, or tell what was not asked."""

from __future__ import annotations

import time

import pytest

from apm_hooks.store.conflicts import contradicts, differ_in_kind
from apm_hooks.store.secrets import secret_kind
from tests.store.measured import module

store_corpora = module("store_corpora")
store_workload = module("store_workload")


@pytest.mark.parametrize("name", store_corpora.CORPORA)
def test_a_corpus_is_large_and_in_two_languages(name: str) -> None:
    rows = store_corpora.load(name)
    assert len(rows) >= 200
    label = "secret" if name == "secrets" else "contradicts"
    for language in ("en", "zh"):
        for value in (True, False):
            assert sum(row["language"] == language and row[label] is value for row in rows) >= 30
    texts = [row.get("text") or (row["stored"], row["new"]) for row in rows]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("name", store_corpora.CORPORA)
def test_precision_and_recall_reach_their_targets(name: str) -> None:
    assert store_corpora.missed({name: store_corpora.tally(name)}) == []


def test_no_corpus_file_holds_a_secret() -> None:
    text = (store_corpora.FOLDER / "secrets.jsonl").read_text(encoding="utf-8")
    assert "{github}" in text
    assert "ghp_" not in text


def test_the_kind_is_told_and_not_the_value() -> None:
    for row in store_corpora.load("secrets"):
        kind = secret_kind(row["text"])
        assert not any(word in kind for word in row["text"].split() if len(word) > 10), kind


def test_what_nobody_sees_hides_no_secret() -> None:
    assert secret_kind("pass\u200bword is hunter2-\u200bXyZ9")


def test_a_contradiction_is_one_from_both_sides() -> None:
    for row in store_corpora.load("contradictions"):
        assert contradicts(row["stored"], row["new"]) == contradicts(row["new"], row["stored"])
        if contradicts(row["stored"], row["new"]):
            assert differ_in_kind(row["stored"], row["new"])


@pytest.mark.parametrize(
    "text",
    [
        "password " * 7_000,
        "password is is is is " * 3_000,
        "a://" * 16_000,
        "token=" * 10_000,
        "密码是" * 20_000,
        "- " * 30_000,
        "no " * 20_000,
        "eyJ" + "a" * 60_000,
        "x" * 65_000,
    ],
)
def test_the_rules_take_no_longer_than_the_text(text: str) -> None:
    started = time.process_time()
    secret_kind(text)
    contradicts(text, text[:-2])
    assert time.process_time() - started < 2


def test_the_workload_is_the_same_at_each_run() -> None:
    rows = store_workload.memories(2_000)
    assert rows == store_workload.memories(2_000)
    assert sum(row.repeats == "exact" for row in rows) >= 20
    assert sum(row.repeats == "near" for row in rows) >= 40
    assert len(store_workload.queries()) == 300
    assert all(not set(memory) & set(question.replace(" ", "")) for memory, question in store_workload.crossing())
