"""What a fact's words claim: a sample, a date, a review, an update. Pure; any script, linear in the text."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from unicodedata import normalize

_NUMBER = r"\d{1,3}(?:[,.'\u00a0\u202f ]\d{3}){1,5}|\d{1,18}"
_N = re.compile(rf"(?<![\w-])n[ ]?(?:=|≈|~|:|>=?|≥)[ ]?(?P<n>{_NUMBER})", re.IGNORECASE)
_OF = re.compile(
    rf"(?<![\w./:-])(?P<part>{_NUMBER})[ ]?(?:/|(?<= )(?:out of|of(?: the| all)?|von|sur|de|из)(?= ))[ ]?"
    rf"(?P<whole>{_NUMBER})(?![\w%]|[./:-]\w)"
)
_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d{2})-(\d{2})(?![\d-])")
_NUMERIC = re.compile(r"(?<![\d./-])(\d{1,2})([./])(\d{1,2})\2[ ]?(\d{4})(?!\d)")
_HAN = re.compile(r"(\d{4})[ ]?[年년][ ]?(\d{1,2})[ ]?[月월][ ]?(\d{1,2})[ ]?[日号號일]")
_DAY_MONTH = re.compile(
    r"(?<!\d)(\d{1,2})(?:\.|st|nd|rd|th|er|º)?(?: de| of)? ([^\W\d_]{3,12})\.?,?(?: de| of)? (\d{4})(?!\d)"
)
_MONTH_DAY = re.compile(r"([^\W\d_]{3,12})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})(?!\d)")
_MONTHS = tuple(
    names.split()
    for names in (
        "jan ene gen янв", "feb fév fev févr фев", "mar mär mrt мар", "apr avr abr апр", "may mai mag mei май мая",
        "jun juin giu июн", "jul juil lug июл", "aug août aou ago авг", "sep set сен", "oct okt ott out окт",
        "nov ноя", "dec dez déc dic дек",
    )
)  # fmt: skip
_REVIEW = re.compile(r"(?<![\w-])review[*_]{0,2}[ ]?[:：][*_]{0,2}[ ]?(?P<date>\d[\d./-]*\d)", re.IGNORECASE)
_BEFORE_REVIEW = re.compile(r"review[*_]{0,2}[ ]?[:：][*_]{0,2}[ ]?\d[\d./-]*\d", re.IGNORECASE)
_UPDATE = re.compile(
    r"(?<![\w-])(?:updated?|upd|edit(?:ed)?|aktualisiert|actualizado|mis à jour|обновлено|更新)"
    r"[ ]?(?:[(\[]?\d[\d./-]{3,12}[)\]]?|\([^()]{1,30}\))?[ ]?[*_]{0,2}[:：]",
    re.IGNORECASE,
)
_TRAILS = ("upd", "edit", "aktualisiert", "actualizado", "mis à jour", "обновлено", "更新")
_PROSE = re.compile(
    r"\b(?:is|are|was|were|be|been|being|gets?|got|keeps?|kept|stays?|never|not|automatically|to|can|may|must|should"
    r"|an?|the|each|every|per|on|wird|ist|est|es)[ ]$",
    re.IGNORECASE,
)


def has_sample(text: str) -> bool:
    """Whether a sample size is named: `n=40`, `n = 1,200`, `3 of 40`, `3 out of 40`, `3/40`.

    A share must be one: its part is no more than its whole, and neither is a part of a date, a version or a path.
    """
    text = normalize("NFKC", text) if not text.isascii() else text
    if any(_whole(found["n"]) > 0 for found in _N.finditer(text)):
        return True
    return any(0 <= _whole(found["part"]) <= _whole(found["whole"]) > 0 for found in _OF.finditer(text))


def _whole(number: str) -> int:
    digits = "".join(char for char in number if char.isdigit())
    return int(digits[:18])


def has_date(text: str) -> bool:
    """Whether a day is named that the calendar has: ISO, or day and month with a year. A review's date is none."""
    text = normalize("NFKC", text) if not text.isascii() else text
    text = _BEFORE_REVIEW.sub(" ", text)
    return any(_dates(text))


def _dates(text: str) -> list[bool]:
    found = [_is_day(year, month, day) for year, month, day in _ISO.findall(text)]
    found += [_is_day(year, month, day) or _is_day(year, day, month) for day, _, month, year in _NUMERIC.findall(text)]
    found += [_is_day(year, month, day) for year, month, day in _HAN.findall(text)]
    found += [_is_day(year, _month(name), day) for day, name, year in _DAY_MONTH.findall(text)]
    return found + [_is_day(year, _month(name), day) for name, day, year in _MONTH_DAY.findall(text)]


@lru_cache(maxsize=512)
def _month(name: str) -> int:
    folded = name.casefold()
    starts = ((number, start) for number, starts in enumerate(_MONTHS, 1) for start in starts)
    return next((number for number, start in starts if folded.startswith(start)), 0)


def _is_day(year: str | int, month: str | int, day: str | int) -> bool:
    try:
        date(int(year), int(month), int(day))
    except ValueError:
        return False
    return True


def review_of(text: str) -> tuple[int, date | None] | None:
    """A `review: YYYY-MM-DD` as (where its date stands, the day); the day is None where the calendar has no such one.

    None where there is no review with a date: "code review: two people" is prose.
    """
    if ":" not in text and "：" not in text:
        return None
    found = _REVIEW.search(text)
    if found is None:
        return None
    written = found["date"]
    try:
        day = date.fromisoformat(written) if len(written) == 10 and written[4] == "-" else None
    except ValueError:
        day = None
    return found.start("date"), day


def update_trail(masked: str) -> int | None:
    """Where an "updated:" trail begins (from 0), with or without a date before its colon; None for none.

    `masked` is a text without code. "last updated in May" is prose, and so is "is updated: daily".
    """
    if ":" not in masked and "：" not in masked:
        return None
    folded = masked.casefold()
    if not any(word in folded for word in _TRAILS):
        return None
    for found in _UPDATE.finditer(masked):
        if _PROSE.search(masked[max(found.start() - 16, 0) : found.start()]) is None:
            return found.start()
    return None
