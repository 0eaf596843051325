"""Calendar days of a time zone (protocol, section 6): pure, time is an argument."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, tzinfo


def zone_of(name: str) -> tzinfo | None:
    """The time zone of an IANA name; None, the machine's own, for an empty one."""
    if not name:
        return None
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def bounds_of(day: date | None, zone: tzinfo | None) -> tuple[float, float]:
    """When an answer that depends on `day` begins and ceases to hold, in seconds since 1970; without a day it holds for
    as long as seconds are counted."""
    if day is None:
        return 0.0, 1e12
    begins, ends = (datetime.combine(each, time.min, zone) for each in (day, day + timedelta(days=1)))
    return begins.timestamp(), ends.timestamp()
