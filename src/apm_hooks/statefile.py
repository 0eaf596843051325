"""A scope's state file ↔ the book of its flushes: what counts, what is rebuilt, what a write changes (protocol, section
9). Pure: text and records in, text and records out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain
from types import MappingProxyType
from typing import Any

from apm_hooks.flushrecords import Book, Entry, Flush, Outcome, Pending, PendingKind, Trigger
from apm_hooks.statetext import (
    FORMAT,
    OWN_KEY,
    Document,
    dumper,
    element_texts,
    overlaid,
    own_text,
    rewritten,
    value_texts,
)

DAMAGED = "{path} is damaged ({damage}): {rest}"
CHANGED = "The record of apm-hooks in {path} was changed by something else: {rest}"
LOST = "{path} has lost the record of apm-hooks: {rest}"
NEWER = "The record of apm-hooks in {path} was written by a later version, which this one does not understand"
FROM_COPY = "the last good copy takes its place"
FROM_REST = "what is left of it counts"

_TIME, _NUMBER, _USAGE, _SESSION, _PENDING = (
    "last_flush_time", "flush_number", "context_usage_at_flush", "session_id", "pending_items",
)  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST = 2**64
_PLAUSIBLE = 10**12
_HASH = 4
_ENTRY_KINDS = (int, int, int, int, str, int, int)
_FIELDS = frozenset(("checksum", "format", "generation", "outcome", "trigger", "number", "flushes", "pending", "seen",
                     "files", "gone"))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Restored:
    """A state file after what could be mended was mended.

    `own` is our record that counts (None: there is none), `generation` the highest that is known of the file. `problem`
    is one sentence (empty: nothing is wrong). `repair`: the file has to be written anew. `listed`: its pending items
    are those that `own` knows of, so that what is missing there was taken out by somebody.
    """

    document: Document
    own: Mapping[str, Any] | None = None
    generation: int = 0
    problem: str = ""
    repair: bool = False
    listed: bool = True


def doubtful(document: Document) -> bool:
    """Whether a last good copy may know more than this file does."""
    return bool(document.damage) or document.own is None


def restored(document: Document, copy: Document | None, path: str) -> Restored:
    """What counts of a state file. `copy` is the last good copy, if the file is doubtful and there is one.

    Of others' keys the file's own come before the copy's; of our record, the valid one of the higher generation.
    """
    if document.newer:
        return Restored(document, problem=NEWER.format(path=path))
    if copy is not None and (copy.damage or copy.own is None):
        copy = None
    was = document.values.get(OWN_KEY)
    if not document.damage and (document.own is not None or (OWN_KEY not in document.values and copy is None)):
        return Restored(document, document.own, _generation(document.own))
    own = document.own
    if own is None or (copy is not None and _generation(copy.own) > _generation(own)):
        own = copy.own if copy is not None else None
    sentence = DAMAGED if document.damage else CHANGED if OWN_KEY in document.values else LOST
    rest = FROM_COPY if own is not document.own else FROM_REST
    whole = overlaid(copy, document) if document.damage and copy is not None else document
    generation = max(_generation(own), _generation(was if isinstance(was, dict) else None))
    problem = sentence.format(path=path, damage=document.damage, rest=rest)
    # Of a damaged file the items may be the copy's, and older than our record.
    listed = _PENDING in document.values or own is not document.own
    return Restored(whole, own, generation, problem, repair=True, listed=listed)


def book_of(state: Restored) -> Book:
    """The book of a state file. Fields of a wrong type are taken as absent.

    Where another tool has flushed, the number in the file is the higher one, and its time counts.
    """
    values, own = state.document.values, state.own or {}
    theirs, ours = _number(values.get(_NUMBER)), _number(own.get("number"))
    flushes = tuple(_valid(own.get("flushes"), _flush))
    time = time_of(values.get(_TIME))
    if ours is not None and (theirs is None or theirs < ours or time is None):
        time = next((flush.at for flush in reversed(flushes) if flush.number == ours and flush.at), time)
    pending = tuple(_valid(own.get("pending"), _pending))
    listed = values.get(_PENDING)
    return Book(
        generation=state.generation,
        number=max((number for number in (theirs, ours) if number is not None), default=None),
        last_time=time,
        usage_percent=_percent(values.get(_USAGE)),
        session_id=_text(values.get(_SESSION)),
        flushes=flushes,
        pending=_still_listed(pending, listed) if state.listed and isinstance(listed, list) else pending,
        seen=MappingProxyType(dict(_valid(own.get("seen"), _seen))),
        files=MappingProxyType(_files(own.get("files"))),
        gone=MappingProxyType({path: at for path, at in _items(own.get("gone")) if _is_count(at)}),
    )


def merged(state: Restored, before: Book, after: Book) -> bytes:
    """The state file with `after` in the place of `before`, its generation one higher; all that is others' stands as it
    stood. `before` is the book of `state`."""
    values = state.document.values
    encode = dumper()
    told = {_TIME: (after.last_time, time_of), _NUMBER: (after.number, _number),
            _USAGE: (_percent(after.usage_percent), _percent), _SESSION: (after.session_id, _text)}  # fmt: skip
    changed: dict[str, str] = {}
    for key, (value, reading) in told.items():
        # A number with a fraction is written anew, since only its text would give it back as it was.
        if key not in values or reading(values[key]) != value or (value is not None and type(values[key]) is float):
            changed[key] = encode(value)
    items = _pending_text(state, after)
    if items is not None:
        changed[_PENDING] = items
    changed[OWN_KEY] = own_text(_record(after, state))
    for path in sorted(after.files):
        key, entry, old = f"{path}_mtime", after.files[path], before.files.get(path)
        if key not in values or old is None or (entry[0], entry[_HASH]) != (old[0], old[_HASH]):
            changed[key] = encode(iso(entry[0]))
    return rewritten(state.document, changed)


def iso(ns: int) -> str:
    """A time in nanoseconds since 1970 as ISO-8601, UTC, with microseconds; the nearest year that can be written."""
    try:
        return (_EPOCH + timedelta(microseconds=ns // 1000)).isoformat(timespec="microseconds")
    except OverflowError:
        return (datetime.max if ns > 0 else datetime.min).replace(tzinfo=UTC).isoformat(timespec="microseconds")


def time_of(value: object) -> str | None:
    """The value where it is a time in ISO-8601, else None."""
    try:
        return value if isinstance(value, str) and datetime.fromisoformat(value) else None
    except ValueError:
        return None


def _record(book: Book, state: Restored) -> dict[str, Any]:
    """Our own key without its checksum. Fields that we do not know, from a later version of this format, stay."""
    extra = {key: value for key, value in (state.own or {}).items() if key not in _FIELDS}
    try:
        dumper()(extra)
    except ValueError:
        extra = {}
    latest = book.flushes[-1] if book.flushes else None
    return {
        **extra, "format": FORMAT, "generation": state.generation + 1, "number": book.number,
        "outcome": latest.outcome.value if latest else None, "trigger": latest.trigger.value if latest else None,
        "flushes": [
            {"number": flush.number, "trigger": flush.trigger.value, "session": flush.session, "at": flush.at,
             "generation": flush.generation, "outcome": flush.outcome.value, "identity": flush.identity,
             "told": flush.told, "changed": flush.changed, "changes": flush.changes}
            for flush in book.flushes
        ],
        "pending": [
            {"id": item.id, "kind": item.kind.value, "text": item.text, "session": item.session,
             "number": item.number, "at": item.at}
            for item in book.pending
        ],
        "seen": list(book.seen.items()), "files": dict(book.files), "gone": dict(book.gone),
    }  # fmt: skip


def _pending_text(state: Restored, after: Book) -> str | None:
    """The text of the pending items: others' where they stand, ours by their texts; None where they stay as they are,
    and would have to be looked up in the file."""
    listed = state.document.values.get(_PENDING)
    ours = Counter(item.text for item in _valid((state.own or {}).get("pending"), _pending))
    wanted = Counter(item.text for item in after.pending)
    elements = listed if isinstance(listed, list) else [] if listed is None else [listed]
    kept: list[int] = []
    for place, element in enumerate(elements):
        if not isinstance(element, str) or not ours[element]:
            kept.append(place)
            continue
        ours[element] -= 1
        if wanted[element]:
            wanted[element] -= 1
            kept.append(place)
    added = [text for text in dict.fromkeys(item.text for item in after.pending) for _ in range(wanted[text])]
    encode = dumper()
    if all(isinstance(element, str) for element in elements):
        texts = [encode(element) for element in elements]
    elif _PENDING in state.document.values and not added and len(kept) == len(elements):
        return None
    else:
        text = value_texts(state.document, (_PENDING,))[_PENDING]
        texts = element_texts(text) if isinstance(listed, list) else [text]
    return "[" + ", ".join([*(texts[place] for place in kept), *map(encode, added)]) + "]"


def _still_listed(pending: Iterable[Pending], listed: list[Any]) -> tuple[Pending, ...]:
    """Ours without those that somebody took out of the list: they are done."""
    there = Counter(element for element in listed if isinstance(element, str))
    kept: list[Pending] = []
    for item in pending:
        if there[item.text]:
            there[item.text] -= 1
            kept.append(item)
    return tuple(kept)


def _generation(own: Mapping[str, Any] | None) -> int:
    return (_number(own.get("generation")) if own is not None else None) or 0


def _number(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < _PLAUSIBLE else None


def _percent(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _PLAUSIBLE:
        return None
    return float(value)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _MOST


def _items(value: object) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _valid(value: object, reading: Any) -> list[Any]:
    found = map(reading, value) if isinstance(value, list) else ()
    return [record for record in found if record is not None]


def _flush(value: Any) -> Flush | None:
    try:
        flush = Flush(
            value["number"], Trigger(value["trigger"]), value["session"], value["at"], value["generation"],
            Outcome(value["outcome"]), value["identity"], value["told"], tuple(value["changed"]), value["changes"],
        )  # fmt: skip
        good = isinstance(value["changed"], list) and type(flush.told) is bool
    except (KeyError, TypeError, ValueError):
        return None
    texts = (flush.session, flush.at, flush.identity, *flush.changed)
    counts = (flush.number, flush.generation, flush.changes)
    return flush if good and all(isinstance(text, str) for text in texts) and all(map(_is_count, counts)) else None


def _pending(value: Any) -> Pending | None:
    try:
        item = Pending(value["id"], PendingKind(value["kind"]), value["text"], value["session"], value["number"],
                       value["at"])  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return None
    texts = (item.id, item.text, item.session, item.at)
    return item if all(isinstance(text, str) for text in texts) and _is_count(item.number) else None


def _seen(value: Any) -> tuple[str, tuple[str, ...]] | None:
    match value:
        case [str(session), [*marks]] if all(isinstance(mark, str) for mark in marks):
            return session, tuple(marks)
    return None


def _files(value: object) -> dict[str, Entry]:
    """The entries of all files. A column at a time, because there are many; one by one where something is odd."""
    rows: dict[str, Any] = dict(_items(value))
    width = len(_ENTRY_KINDS)
    if set(map(type, rows.values())) == {list} and set(map(len, rows.values())) == {width}:
        cells = list(chain.from_iterable(rows.values()))
        if all(set(map(type, cells[place::width])) == {kind} for place, kind in enumerate(_ENTRY_KINDS)):
            return dict(zip(rows, map(tuple, rows.values()), strict=True))
    return {path: tuple(row) for path, row in rows.items() if _is_entry(row)}


def _is_entry(row: object) -> bool:
    return isinstance(row, list) and tuple(map(type, row)) == _ENTRY_KINDS
