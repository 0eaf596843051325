"""Moments of the record store: now, and one that is surely later than others. Versions follow each other by them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_STEP = timedelta(microseconds=1)


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def after(now: datetime, *others: datetime) -> datetime:
    """Now, or the first moment after all the others where a clock was set back."""
    return max(now, *(other + _STEP for other in others))
