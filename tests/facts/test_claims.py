"""What a fact's words claim: samples, days, reviews, trails of updates."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks.facts.claims import has_date, has_sample, review_of, update_trail


@pytest.mark.parametrize(
    "text",
    ["n=40", "n = 40", "N=40", "n = 1,200", "n=1.200", "(n≈40)", "n: 40", "n>=40", "3 of 40", "3 of the 40", "3/40",
     "3 out of 40 runs", "0/40", "40/40", "1,200 of 3,400", "ｎ＝４０", "`n=40`", "失败 3/40 次", "3 von 40"],
)  # fmt: skip
def test_samples(text: str) -> None:
    assert has_sample(text)


@pytest.mark.parametrize(
    "text",
    ["", "40 runs", "n=0", "n=", "n=x", "min=40", "plan=40", "24/7", "40 of 3", "2026-03/04", "3/4/2026", "0/0",
     "v3/40", "a/3/40", "3/40.md", "one of them", "3 of them", "n 40", "http://x/3/40"],
)  # fmt: skip
def test_what_is_no_sample(text: str) -> None:
    assert not has_sample(text)


@pytest.mark.parametrize(
    "text",
    ["2026-05-01", "on 2026-05-01T10:00", "1 May 2026", "1st May 2026", "1. Mai 2026", "May 1, 2026", "May 1st 2026",
     "Sept. 3, 2026", "1 de mayo de 2026", "1 мая 2026", "01.05.2026", "1/5/2026", "31/12/2026", "12/31/2026",
     "2026年5月1日", "2026년 5월 1일", "２０２６-０５-０１", "29 February 2028"],
)  # fmt: skip
def test_days(text: str) -> None:
    assert has_date(text)


@pytest.mark.parametrize(
    "text",
    ["", "2026", "May 2026", "1 May", "2026-02-30", "2026-13-01", "30 February 2026", "review: 2026-05-01",
     "3 runs 2026", "version 1 2026", "2026-05", "12026-05-01"],
)  # fmt: skip
def test_what_is_no_day(text: str) -> None:
    assert not has_date(text)


@pytest.mark.parametrize(
    ("text", "at", "day"),
    [
        ("x; review: 2026-05-01", 11, date(2026, 5, 1)),
        ("Review:2026-05-01", 7, date(2026, 5, 1)),
        ("(**review:** 2026-05-01)", 13, date(2026, 5, 1)),
        ("review：2026-05-01", 7, date(2026, 5, 1)),
        ("review: 2026-02-30", 8, None),
        ("review: 1.5.2026", 8, None),
        ("review: 2026-5-1", 8, None),
    ],
)
def test_reviews(text: str, at: int, day: date | None) -> None:
    assert review_of(text) == (at, day)


@pytest.mark.parametrize("text", ["code review: two people", "review soon", "preview: 2026-05-01", "", "a review."])
def test_what_is_no_review(text: str) -> None:
    assert review_of(text) is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("updated: x", 0),
        ("x. Updated: y", 3),
        ("x (updated 2026-05-01: y)", 3),
        ("x. UPDATE: y", 3),
        ("x. Update (May): y", 3),
        ("x. updated [2026-05-01]: y", 3),
        ("x; edit: y", 3),
        ("x。更新：y", 2),
        ("x. **Updated:** y", 5),
        ("last updated: 2026-05-01", 5),
    ],
)
def test_trails(text: str, at: int) -> None:
    assert update_trail(text) == at


@pytest.mark.parametrize(
    "text",
    ["last updated in May", "the page is updated: daily", "updated daily", "an update: small", "updated_at: x",
     "to edit: vim", "outdated: x", "updates come on Mondays: early", "it was updated 2026-05-01", ""],
)  # fmt: skip
def test_prose(text: str) -> None:
    assert update_trail(text) is None


@given(st.dates(date(1000, 1, 1)))
def test_every_day_of_the_calendar_is_one(day: date) -> None:
    assert has_date(f"on {day.isoformat()}")
    assert review_of(f"review: {day.isoformat()}") == (8, day)


@pytest.mark.parametrize(
    "unit", ["1 ", "111 ", "1/", "3 of ", "n=", "2026-", "1 May ", "review: ", "update ", "[[", "`", "**"]
)
def test_a_hostile_text_costs_no_more_than_its_length(unit: str) -> None:
    def cost(length: int) -> float:
        text = unit * (length // len(unit))
        start = time.process_time()
        has_sample(text), has_date(text), review_of(text), update_trail(text + ":")
        return time.process_time() - start

    assert cost(200_000) < max(40 * min(cost(20_000), cost(20_000)), 0.5)
