from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.errors import SettingsError
from apm_hooks.usage import Threshold, early_threshold, percent_of


@pytest.mark.parametrize(
    ("percent", "window", "compaction_at", "chosen", "expected"),
    [
        (80, 200_000, 167_000, False, Threshold(150_300, adapted=True)),
        (80, 200_000, 190_000, False, Threshold(160_000)),
        (80, 100_000, 67_000, False, Threshold(60_300, adapted=True)),
        (50, 100_000, 67_000, False, Threshold(50_000)),
        (80, 200_000, 167_000, True, Threshold(160_000)),
        (66, 100_000, 67_000, True, Threshold(66_000)),
        (80, 200_000, None, False, Threshold(160_000)),
        (99, 200_000, None, True, Threshold(198_000)),
        (80, 200_000, 0, True, Threshold(160_000)),
        (80, None, None, False, Threshold()),
        (80, None, 67_000, True, Threshold()),
        (80, 0, 67_000, False, Threshold()),
        (80, -5, None, False, Threshold()),
    ],
)
def test_the_threshold_lies_below_the_hosts_own_point(
    percent: int, window: int | None, compaction_at: int | None, chosen: bool, expected: Threshold
) -> None:
    assert early_threshold(percent, window, compaction_at, chosen=chosen) == expected


@pytest.mark.parametrize(
    ("percent", "window", "compaction_at", "cause", "remedy"),
    [
        (
            80,
            100_000,
            67_000,
            "80 % of 100,000 tokens is 80,000, but the host compacts at 67,000",
            "Set flush_at_percent to 60 or less.",
        ),
        (
            67,
            100_000,
            67_000,
            "67 % of 100,000 tokens is 67,000, but the host compacts at 67,000",
            "Set flush_at_percent to 60 or less.",
        ),
        (
            1,
            1_000_000,
            9_000,
            "1 % of 1,000,000 tokens is 10,000, but the host compacts at 9,000",
            "Unset flush_at_percent: no whole percentage lies below that.",
        ),
    ],
)
def test_a_chosen_percentage_that_comes_too_late_is_refused_with_the_sum(
    percent: int, window: int, compaction_at: int, cause: str, remedy: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        early_threshold(percent, window, compaction_at, chosen=True)
    assert str(caught.value) == f"[flush_at_percent]: {cause}. {remedy}"
    assert caught.value.key == "flush_at_percent"


@settings(max_examples=200)
@given(st.integers(1, 99), st.integers(1, 2_000_000), st.integers(2, 2_000_000), st.booleans())
def test_no_threshold_ever_reaches_the_hosts_point(percent: int, window: int, compaction_at: int, chosen: bool) -> None:
    try:
        found = early_threshold(percent, window, compaction_at, chosen=chosen)
    except SettingsError as error:
        assert chosen
        advised = error.remedy.removeprefix("Set flush_at_percent to ").removesuffix(" or less.")
        if advised.isdecimal():
            again = early_threshold(int(advised), window, compaction_at, chosen=True)
            assert again.tokens is not None
            assert again.tokens < compaction_at
        return
    assert found.tokens is not None
    assert 0 < found.tokens < compaction_at


@pytest.mark.parametrize(
    ("tokens", "window", "expected"),
    [
        (0, 200_000, 0.0),
        (150_300, 200_000, 75.2),
        (1, 3, 33.3),
        (250_000, 200_000, 100.0),
        (None, 200_000, None),
        (5, None, None),
        (5, 0, None),
        (-1, 10, None),
        (10**30, 1, 100.0),
    ],
)
def test_how_full_a_context_is(tokens: int | None, window: int | None, expected: float | None) -> None:
    assert percent_of(tokens, window) == expected
