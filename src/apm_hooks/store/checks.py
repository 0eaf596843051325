"""The arguments of the record store's calls, checked and put into their one form. Pure; raises UsageError."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime

from apm_hooks.errors import UsageError
from apm_hooks.store.items import STORE_LIMITS, TYPES, Mode, Order

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]*")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def content_of(content: object) -> str:
    """A memory's text: not empty, at most 64 KiB of UTF-8, without a NUL or half a character, ends trimmed."""
    text = _text(content, "content").strip()
    if not text:
        raise UsageError("content is empty", key="content", remedy="Say what is to be remembered.")
    if (size := len(text.encode("utf-8"))) > STORE_LIMITS.content_bytes:
        raise UsageError(
            f"content has {size} bytes, and may have {STORE_LIMITS.content_bytes}",
            key="content",
            remedy="Keep a memory to one thing: split it up.",
        )
    return text


def title_of(title: object, content: str) -> str:
    """The title given, on one line; else one from the first line of the content, at most 60 characters."""
    if title is not None:
        given = " ".join(_text(title, "title").split())
        if len(given) > STORE_LIMITS.given_title_chars:
            raise UsageError(f"a title has at most {STORE_LIMITS.given_title_chars} characters", key="title")
        if given:
            return given
    line = " ".join(next((line for line in content.splitlines() if line.strip()), "").split())
    line = line.lstrip("#>*- ").strip() or " ".join(content.split())
    most = STORE_LIMITS.title_chars
    if len(line) <= most:
        return line
    head = line[: most - 1]
    cut = head.rfind(" ")
    head = head[:cut] if cut > most // 2 else head
    whole = head
    while whole and _continues(whole[-1], line[len(whole)]):
        whole = whole[:-1]
    # A line of one endless character is cut somewhere all the same: a title says something.
    return f"{(whole or head).rstrip()}…"


def _continues(before: str, after: str) -> bool:
    """Whether a cut between two code points would fall into one character."""
    return bool(unicodedata.combining(after)) or after in "\u200d\ufe0f" or before == "\u200d"


def _text(value: object, key: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{key} is a text", key=key)
    if "\0" in value:
        raise UsageError(f"{key} holds a NUL character", key=key, remedy="Leave it out.")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(f"{key} holds half of a character", key=key) from None
    return value


def type_of(value: object) -> str:
    """One of the seven types."""
    if value not in TYPES:
        raise UsageError("no such type", key="type", remedy=f"Take one of: {', '.join(TYPES)}.")
    return str(value)


def importance_of(value: object, key: str = "importance") -> int:
    """A whole number from 1 to 5."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 5:
        raise UsageError(f"{key} is a whole number from 1 to 5", key=key)
    return value


def whole(value: object, key: str, least: int, most: int) -> int:
    """A whole number between two bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"{key} is a whole number from {least} to {most}", key=key)
    return value


def threshold_of(value: object) -> float:
    """A share from 0.5 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.5 <= value <= 1:
        raise UsageError("threshold is a number from 0.5 to 1", key="threshold")
    return float(value)


def mode_of(value: object) -> Mode:
    """How to search."""
    return Mode(_one_of(value, "mode", [mode.value for mode in Mode]))


def order_of(value: object) -> Order:
    """How to sort a listing."""
    return Order(_one_of(value, "order", [order.value for order in Order]))


def _one_of(value: object, key: str, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise UsageError(f"no such {key}", key=key, remedy=f"Take one of: {', '.join(allowed)}.")
    return value


def source_of(value: object) -> str:
    """Who wrote it: one line."""
    source = " ".join(_text(value, "source").split())
    if not 1 <= len(source) <= STORE_LIMITS.source_chars:
        raise UsageError(f"source has 1 to {STORE_LIMITS.source_chars} characters", key="source")
    return source


def tags_of(values: object) -> tuple[tuple[str, ...], str]:
    """Tags in their one form (lower-case, hyphenated, each once, sorted), and what was changed, in words."""
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise UsageError("tags is a list of words", key="tags")
    if len(values) > STORE_LIMITS.tags:
        raise UsageError(f"a memory has at most {STORE_LIMITS.tags} tags", key="tags")
    out, changed = [], []
    for value in values:
        text = unicodedata.normalize("NFKC", _text(value, "tags")).casefold()
        tag = "-".join("".join(char if _in_tag(char) else " " for char in text).split())
        if not any(map(str.isalnum, tag)):
            raise UsageError("a tag has letters or digits", key="tags")
        if len(tag) > STORE_LIMITS.tag_chars:
            raise UsageError(f"a tag has at most {STORE_LIMITS.tag_chars} characters", key="tags")
        if tag != value:
            changed.append(tag)
        out.append(tag)
    note = f"Tags are lower-case and hyphenated: {', '.join(dict.fromkeys(changed))}." if changed else ""
    return tuple(sorted(set(out))), note


def _in_tag(char: str) -> bool:
    """Letters and digits, and the marks without which a word of many scripts is another one."""
    return char.isalnum() or unicodedata.category(char)[0] == "M"


def moment_of(value: object, key: str) -> datetime:
    """A day or a time in ISO 8601, as UTC; one without an offset is UTC already."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise UsageError(f"{key} is no day or time", key=key, remedy="Write it as 2027-01-31 or 2027-01-31T18:00:00+01:00.")


def expiry_of(value: object, now: datetime) -> datetime | None:
    """When a memory ends: a moment that is still to come; None for never."""
    if value is None:
        return None
    moment = moment_of(value, "expires_at")
    if moment <= now:
        raise UsageError("expires_at is over already", key="expires_at", remedy="Name a moment that is to come.")
    return moment


def id_of(value: object) -> str:
    """An id as the store makes them; empty for a text that cannot be one, which is then found nowhere."""
    text = value.strip().lower() if isinstance(value, str) else ""
    return text if _ID.fullmatch(text) else ""


def slug_of(value: object) -> str:
    """The name of an article: `[a-z0-9][a-z0-9-]*`."""
    if not isinstance(value, str) or len(value) > STORE_LIMITS.slug_chars or not _SLUG.fullmatch(value):
        raise UsageError(
            "a slug is made of a-z, 0-9 and -, and starts with no -", key="slug", remedy="Such as: how-we-deploy."
        )
    return value


def body_of(value: object) -> str:
    """The text of an article."""
    text = _text(value, "body_md").strip()
    if not text or len(text.encode("utf-8")) > STORE_LIMITS.article_bytes:
        raise UsageError(f"body_md has 1 to {STORE_LIMITS.article_bytes} bytes", key="body_md")
    return text
