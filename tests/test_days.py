from __future__ import annotations

from datetime import date

import pytest

from apm_hooks.days import bounds_of, zone_of


def test_an_answer_without_a_day_holds() -> None:
    begins, ends = bounds_of(None, None)
    assert begins == 0
    assert ends > 1e11


@pytest.mark.parametrize(
    ("name", "day", "hours"),
    [
        ("UTC", date(2026, 1, 1), 24),
        ("America/New_York", date(2026, 3, 8), 23),
        ("America/New_York", date(2026, 11, 1), 25),
        ("Asia/Shanghai", date(2026, 12, 31), 24),
    ],
)
def test_a_day_is_as_long_as_its_zone_makes_it(name: str, day: date, hours: int) -> None:
    begins, ends = bounds_of(day, zone_of(name))
    assert ends - begins == hours * 3600


def test_no_name_means_the_machines_zone() -> None:
    assert zone_of("") is None
