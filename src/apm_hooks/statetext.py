"""The text of a state file ↔ the top-level pairs of its JSON object, so that a write loses nothing of others'.

One line a top-level key. What others wrote is put back as it stands in the text, since not every value survives being
read and written again (`1e400`, a number of 5000 digits). A checksum covers our own key alone (protocol, section 9).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from apm_hooks.fastlane import hash_of

OWN_KEY = "apm_hooks"
FORMAT = 1

NO_OBJECT = "it is no JSON object"
TOO_DEEP = "it is nested too deeply"
CUT = "it cannot be parsed after character {at}"
MORE = "it goes on after its end"

_NOTHING: Mapping[str, Any] = MappingProxyType({})
_BLANKS = re.compile(r"[ \t\n\r]*")
_NESTED = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[\]{}]', re.DOTALL)
_DEEPEST = 500
"""What is nested deeper than so is too deep wherever it is read; what is not, is sound, and only the caller's own stack
was too full to read it."""

_DIGITS = 4_000
"""Numbers with more digits than so are no number to us; Python itself refuses to read them from about there on."""

_SCALARS = (str, int, bool, type(None))


@dataclass(frozen=True, slots=True)
class Document:
    """The top-level pairs of a state file in their order; of a key that stands twice, the last value counts.

    `damage` says why the text is no JSON object (empty: it is one); the pairs are then the complete ones at its start.
    `own` is our record where its checksum holds; `newer`: it was written in a later format. `text` is the file's, and
    `texts` are those of the values, where they were needed.
    """

    values: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    text: str = ""
    texts: Mapping[str, str] | None = None
    damage: str = ""
    own: Mapping[str, Any] | None = None
    newer: bool = False


def parse(text: str) -> Document:
    """A state file's text as a document; never raises for what the text holds. Work is linear in it.

    Raises RecursionError where the caller's stack leaves no room to read what is not nested deeply.
    """
    import json

    damage, texts = "", None
    try:
        values = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        # Not only damage ends here: a number may have more digits than Python reads.
        values, texts, damage = _pairs(text)
    if not isinstance(values, dict):
        values, texts, damage = {}, {}, NO_OBJECT
    own, newer = _own_record(values, text)
    return Document(values, text, texts, damage, own, newer)


def overlaid(below: Document, above: Document) -> Document:
    """The pairs of both, those of `above` where a key stands in both; our record and all else are `above`'s."""
    texts = {**_all_texts(below), **_all_texts(above)}
    return Document({**below.values, **above.values}, "", texts, above.damage, above.own, above.newer)


def value_texts(document: Document, keys: Iterable[str]) -> dict[str, str]:
    """The text of each of these values, for a file that is to hold them as they are."""
    texts = document.texts
    wanted = list(keys)
    if texts is None and any(type(document.values[key]) not in _SCALARS for key in wanted):
        texts = _all_texts(document)
    encode = dumper()
    return {key: (texts or {}).get(key) or encode(document.values[key]) for key in wanted}


def element_texts(text: str) -> list[str]:
    """The texts of the elements of a JSON array, given as the text of one."""
    decoder = _decoder()
    found: list[str] = []
    at = _past_blanks(text, 1)
    while text[at] != "]":
        _, end = decoder.raw_decode(text, at)
        found.append(text[at:end])
        at = _past_blanks(text, end)
        if text[at] == ",":
            at = _past_blanks(text, at + 1)
    return found


def rewritten(document: Document, changed: Mapping[str, str]) -> bytes:
    """The bytes of the file with the values of `changed`, given as texts, put in their places or at the end; all others
    stand as they stood. What UTF-8 cannot hold is escaped."""
    kept = value_texts(document, (key for key in document.values if key not in changed))
    encode = dumper()
    pairs = {**{key: kept.get(key) or changed[key] for key in document.values}, **changed}
    lines = ",\n".join(f"  {encode(key)}: {text}" for key, text in pairs.items())
    return _escaped(f"{{\n{lines}\n}}\n").encode()


def own_text(record: Mapping[str, Any]) -> str:
    """The text of our own key, on one line, with the checksum of all else in it."""
    body = _canonical(record)
    return f'{{"checksum":"{hash_of(body)}",{body[1:]}'


def dumper() -> Callable[[Any], str]:
    """A function from a value to its compact JSON, keys sorted; ValueError for a number that JSON has not."""
    import json

    return json.JSONEncoder(ensure_ascii=False, sort_keys=True, allow_nan=False, separators=(",", ":")).encode


def _canonical(record: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in record.items() if key != "checksum"}
    return _escaped(dumper()(rest))


def _escaped(text: str) -> str:
    # A lone surrogate stands only inside strings, where this is its escape in JSON too.
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _own_record(values: Mapping[str, Any], text: str) -> tuple[Mapping[str, Any] | None, bool]:
    """Our record if it is sound, and whether it is of a later format."""
    own = values.get(OWN_KEY)
    form = own.get("format") if isinstance(own, dict) else None
    if not isinstance(own, dict) or type(form) is not int or form != FORMAT:
        return None, type(form) is int and form > FORMAT
    checksum = own.get("checksum")
    if not isinstance(checksum, str):
        return None, False
    try:
        sound = _stands_written(text, checksum) or checksum == hash_of(_canonical(own))
    except (ValueError, RecursionError):
        sound = False
    return (own if sound else None), False


def _stands_written(text: str, checksum: str) -> bool:
    """Whether our record stands in the text as we write it: told without writing it again, which takes as long as
    reading it."""
    head = f'"{OWN_KEY}": {{"checksum":"{checksum}",'
    start = text.find(head)
    if start < 0 or text.find(head, start + 1) >= 0:
        return False
    end = text.find("\n", start)
    line = text[start + len(head) : end if end >= 0 else len(text)]
    return checksum == hash_of("{" + line.removesuffix(","))


def _all_texts(document: Document) -> Mapping[str, str]:
    return document.texts if document.texts is not None else _pairs(document.text)[1]


def _pairs(text: str) -> tuple[dict[str, Any], dict[str, str], str]:
    """The complete pairs at the start of an object's text, as values and as texts; and the damage that ends them."""
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    decoder = _decoder()
    at = _past_blanks(text, 0)
    if text[at : at + 1] != "{":
        return {}, {}, NO_OBJECT
    at = _past_blanks(text, at + 1)
    while text[at : at + 1] != "}" or values:
        try:
            key, end = decoder.raw_decode(text, at)
            colon = _past_blanks(text, end)
            if not isinstance(key, str) or text[colon : colon + 1] != ":":
                return values, texts, CUT.format(at=at)
            start = _past_blanks(text, colon + 1)
            value, end = decoder.raw_decode(text, start)
        except ValueError:
            return values, texts, CUT.format(at=at)
        except RecursionError:
            if not _too_deep(text, at):
                raise
            return values, texts, TOO_DEEP
        at = _past_blanks(text, end)
        sign = text[at : at + 1]
        if sign in (",", "}") or not text[end - 1].isdigit():
            # The last digits of a number may be gone with what followed it.
            values[key], texts[key] = value, text[start:end]
        if sign == "}":
            break
        if sign != ",":
            return values, texts, CUT.format(at=at)
        at = _past_blanks(text, at + 1)
    return values, texts, MORE if _past_blanks(text, at + 1) < len(text) else ""


def _decoder() -> Any:
    from json import JSONDecoder

    return JSONDecoder(parse_int=_whole, parse_constant=_refuse)


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) <= _DIGITS else None


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _past_blanks(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _too_deep(text: str, start: int) -> bool:
    depth = 0
    for found in _NESTED.finditer(text, start):
        sign = found[0]
        depth += (sign in "[{") - (sign in "]}")
        if depth > _DEEPEST:
            return True
    return False
