from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.flushrecords import Book, Flush, Outcome, Pending, PendingKind, Trigger
from apm_hooks.statefile import (
    CHANGED,
    DAMAGED,
    FROM_COPY,
    FROM_REST,
    LOST,
    NEWER,
    Restored,
    book_of,
    doubtful,
    iso,
    merged,
    restored,
    time_of,
)
from apm_hooks.statetext import CUT, OWN_KEY, Document, parse
from tests.test_statetext import strict

PATH = "memory/flush-state.json"
TIME = "2026-03-01T23:30:00+00:00"
LATER = "2026-03-02T08:00:00+08:00"
FLUSH = Flush(4, Trigger.REMEM, "a1b2", TIME, 6, Outcome.WRITTEN, "prompt-1", True, ("memory/main/a.md",), 1)
LEAD = Pending("abc123", PendingKind.LEAD, "Ask for the room", "a1b2", 4, TIME)
IDLE = Pending("def456", PendingKind.IDLE, "Nothing was written", "a1b2", 4, TIME)
ENTRY = (1_772_407_800_123_456_789, 10, 20, 1_772_407_800_123_456_789, "00ff", 3, 0)
BOOK = Book(
    generation=7, number=4, last_time=TIME, usage_percent=81.5, session_id="s-1", flushes=(FLUSH,),
    pending=(LEAD, IDLE), seen={"z": ("remem:1",), "a": ("idle:2", "remem:3")}, files={"memory/main/a.md": ENTRY},
    gone={"memory/main/b.md": 2},
)  # fmt: skip


def state_of(text: str | bytes, copy: str | bytes | None = None) -> Restored:
    document = parse(text if isinstance(text, str) else text.decode())
    spare = None if copy is None else parse(copy if isinstance(copy, str) else copy.decode())
    return restored(document, spare if doubtful(document) else None, PATH)


def file_of(book: Book = BOOK, text: str = "{}") -> bytes:
    """A state file with this book; its generation is the book's."""
    state = replace(state_of(text), generation=book.generation - 1)
    return merged(state, book_of(state), book)


def edited(data: bytes, **values: object) -> str:
    """The file after another tool has set some keys (None: taken out)."""
    found = {**json.loads(data), **values}
    return json.dumps({key: value for key, value in found.items() if value is not ...})


def test_a_book_is_read_as_it_was_written() -> None:
    assert book_of(state_of(file_of())) == BOOK


def test_a_new_file_begins_with_what_is_ours() -> None:
    found = strict(file_of(text="{}"))
    assert list(found) == ["last_flush_time", "flush_number", "context_usage_at_flush", "session_id", "pending_items",
                           OWN_KEY, "memory/main/a.md_mtime"]  # fmt: skip
    assert found["last_flush_time"] == TIME
    assert found["flush_number"] == "4"
    assert found["context_usage_at_flush"] == "81.5"
    assert found["pending_items"] == ["Ask for the room", "Nothing was written"]
    assert found["memory/main/a.md_mtime"] == "2026-03-01T23:30:00.123456+00:00"
    own = found[OWN_KEY]
    assert (own["format"], own["generation"], own["number"], own["outcome"], own["trigger"]) == (
        "1", "7", "4", "written", "remem",
    )  # fmt: skip


TEXTS = st.text(st.characters() | st.sampled_from('\udcff\udc80"\\\n\u2028'), max_size=12)
INTS = st.integers(-(2**63), 2**64 - 1)
COUNTS = st.integers(0, 10**11)
TIMES = st.datetimes(timezones=st.timezones()).map(lambda when: when.isoformat()) | st.just(TIME)
FLUSHES = st.builds(Flush, COUNTS, st.sampled_from(Trigger), TEXTS, TIMES, COUNTS, st.sampled_from(Outcome), TEXTS,
                    st.booleans(), st.lists(TEXTS, max_size=3).map(tuple), COUNTS)  # fmt: skip
ITEMS = st.builds(Pending, TEXTS, st.sampled_from(PendingKind), TEXTS, TEXTS, COUNTS, TEXTS)
ENTRIES = st.tuples(INTS, INTS, INTS, INTS, TEXTS, INTS, INTS)
BOOKS = st.builds(
    Book, generation=COUNTS.map(lambda count: count + 1), number=COUNTS, last_time=TIMES,
    usage_percent=st.none() | st.floats(0, 200), session_id=st.none() | TEXTS,
    flushes=st.lists(FLUSHES, max_size=3).map(tuple), pending=st.lists(ITEMS, max_size=4).map(tuple),
    seen=st.dictionaries(TEXTS, st.lists(TEXTS, max_size=2).map(tuple), max_size=3),
    files=st.dictionaries(TEXTS, ENTRIES, max_size=4), gone=st.dictionaries(TEXTS, COUNTS, max_size=3),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(BOOKS)
def test_any_book_comes_back(book: Book) -> None:
    data = file_of(book)
    strict(data)
    found = book_of(state_of(data))
    assert found == book
    assert list(found.seen) == list(book.seen)


@settings(max_examples=100, deadline=None)
@given(BOOKS, BOOKS)
def test_what_others_wrote_survives_any_write(first: Book, second: Book) -> None:
    others = '"x": [1e400, {"y": 2.50}], "old/file.md_mtime": 1760000000, "b c": "\\udcff"'
    data = file_of(first, text=f"{{{others}}}")
    state = state_of(data)
    found = strict(merged(state, book_of(state), second))
    assert list(found)[:3] == ["x", "old/file.md_mtime", "b c"]
    assert {key: found[key] for key in list(found)[:3]} == strict(f"{{{others}}}".encode())


def test_never_is_not_zero() -> None:
    assert book_of(state_of("{}")) == Book()
    assert book_of(state_of('{"flush_number": 0}')).number == 0
    assert json.loads(file_of(Book(generation=1)))["flush_number"] is None
    assert book_of(state_of(file_of(Book(generation=1)))).number is None


@pytest.mark.parametrize("number", [-1, 3.0, "7", True, [], 10**12, 10**400])
def test_an_implausible_number_is_taken_as_absent(number: object) -> None:
    assert book_of(state_of(json.dumps({"flush_number": number}))).number is None
    state = state_of(json.dumps({"flush_number": number}))
    assert json.loads(merged(state, book_of(state), Book()))["flush_number"] == number
    assert json.loads(merged(state, book_of(state), Book(number=1)))["flush_number"] == 1


@pytest.mark.parametrize(
    ("theirs", "time", "number", "last_time"),
    [(9, LATER, 9, LATER), (4, LATER, 4, LATER), (3, LATER, 4, TIME), (..., LATER, 4, TIME), ("5", LATER, 4, TIME),
     (4, "yesterday", 4, TIME), (4, ..., 4, TIME), (9, ..., 9, TIME), (9, 5, 9, TIME)],
)  # fmt: skip
def test_where_another_tool_has_flushed_the_higher_number_counts(
    theirs: object, time: object, number: int, last_time: str | None
) -> None:
    state = state_of(edited(file_of(), flush_number=theirs, last_flush_time=time))
    book = book_of(state)
    assert not state.problem
    assert (book.number, book.last_time) == (number, last_time)


@pytest.mark.parametrize(
    ("key", "value"),
    [("last_flush_time", 5), ("last_flush_time", "soon"), ("session_id", ["s"]), ("context_usage_at_flush", "81 %"),
     ("context_usage_at_flush", {"percent": 3}), ("flush_number", "4"), ("pending_items", {"a": 1}),
     ("pending_items", 5)],
)  # fmt: skip
def test_a_field_of_a_wrong_type_is_no_damage_and_survives_until_it_is_set(key: str, value: object) -> None:
    state = state_of(json.dumps({key: value, "x": 1}))
    assert (state.problem, book_of(state)) == ("", Book())
    assert json.loads(merged(state, Book(), Book()))[key] == value
    after = json.loads(merged(state, Book(), BOOK))
    assert after["x"] == 1
    ours = json.loads(file_of())[key]
    assert after[key] == ([value, *ours] if key == "pending_items" else ours)


def test_what_is_no_list_of_pending_items_becomes_the_first_of_one() -> None:
    state = state_of('{"pending_items": {"a": 1e400}}')
    assert strict(merged(state, Book(), BOOK))["pending_items"] == [{"a": "1e400"}, LEAD.text, IDLE.text]


def test_percent_that_json_has_not_is_null() -> None:
    data = file_of(replace(BOOK, usage_percent=float("inf")))
    assert strict(data)["context_usage_at_flush"] is None
    assert book_of(state_of('{"context_usage_at_flush": 1e400}')).usage_percent is None


def test_pending_items_of_others_stay_in_their_places() -> None:
    data = edited(file_of(), pending_items=["theirs", LEAD.text, {"n": 1.5}, IDLE.text, LEAD.text, 5])
    state = state_of(data)
    assert book_of(state).pending == BOOK.pending
    after = replace(BOOK, pending=(IDLE, replace(LEAD, id="new", text="Another")))
    found = strict(merged(state, book_of(state), after))
    assert found["pending_items"] == ["theirs", {"n": "1.5"}, IDLE.text, LEAD.text, "5", "Another"]
    assert book_of(state_of(merged(state, book_of(state), after))).pending == after.pending


@pytest.mark.parametrize(
    ("listed", "left"),
    [([], ()), ([IDLE.text], (IDLE,)), (["x", LEAD.text], (LEAD,)), (..., (LEAD, IDLE)), (None, (LEAD, IDLE)),
     ("none", (LEAD, IDLE))],
)  # fmt: skip
def test_what_somebody_took_out_of_the_pending_items_is_done(listed: object, left: tuple[Pending, ...]) -> None:
    state = state_of(edited(file_of(), pending_items=listed))
    assert book_of(state).pending == left
    after = state_of(merged(state, book_of(state), book_of(state)))
    assert book_of(after).pending == left


def test_two_items_of_one_text_are_two() -> None:
    twin = replace(LEAD, id="twin")
    data = file_of(replace(BOOK, pending=(LEAD, twin)))
    assert json.loads(data)["pending_items"] == [LEAD.text, LEAD.text]
    assert book_of(state_of(edited(data, pending_items=[LEAD.text]))).pending == (LEAD,)


def with_files(files: Mapping[str, Any], keys: Mapping[str, object]) -> dict[str, Any]:
    state = state_of(edited(file_of(), **keys))
    before = book_of(state)
    found: dict[str, Any] = json.loads(merged(state, before, replace(before, files=files)))
    return found


def test_the_time_of_a_file_is_written_where_the_file_changed() -> None:
    key = "memory/main/a.md_mtime"
    theirs: dict[str, object] = {key: "yesterday"}
    touched, fresh = (ENTRY[0] + 10**9, *ENTRY[1:]), (*ENTRY[:5], 9, 1)
    same_time = (*ENTRY[:4], "ff00", *ENTRY[5:])
    assert with_files({"memory/main/a.md": ENTRY}, theirs)[key] == "yesterday"
    assert with_files({"memory/main/a.md": fresh}, theirs)[key] == "yesterday"
    assert with_files({"memory/main/a.md": touched}, theirs)[key] == "2026-03-01T23:30:01.123456+00:00"
    assert with_files({"memory/main/a.md": same_time}, theirs)[key] == "2026-03-01T23:30:00.123456+00:00"
    assert with_files({}, theirs)[key] == "yesterday"
    assert with_files({}, {"gone.md_mtime": 5})["gone.md_mtime"] == 5


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "1970-01-01T00:00:00.000000+00:00"), (-1, "1969-12-31T23:59:59.999999+00:00"),
     (10**30, "9999-12-31T23:59:59.999999+00:00"), (-(10**30), "0001-01-01T00:00:00.000000+00:00")],
)  # fmt: skip
def test_times_have_microseconds_and_an_offset(ns: int, text: str) -> None:
    assert iso(ns) == text
    assert time_of(text) == text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("files", {"a": [1, 2, 3, 4, "h", 5]}), ("files", {"a": [1, 2, 3, 4, 5, 6, 7]}), ("files", {"a": "1234567"}),
        ("files", {"a": [True, 2, 3, 4, "h", 5, 0]}), ("files", [1]), ("files", {"a": {str(n): n for n in range(7)}}),
        ("gone", {"a": -1}), ("gone", {"a": "1"}), ("gone", ["a"]), ("seen", [["a", "b"]]), ("seen", {"a": ["b"]}),
        ("seen", [["a", [5]]]), ("flushes", [{"number": 1}]), ("flushes", ["x"]), ("flushes", {"number": 1}),
        ("pending", [{"id": "a", "kind": "none", "text": "", "session": "", "number": 1, "at": ""}]), ("pending", "x"),
        ("pending", [{"id": "a", "kind": [], "text": "", "session": "", "number": 1, "at": ""}]),
        ("pending", [{"id": 5, "kind": "lead", "text": "", "session": "", "number": 1, "at": ""}]),
    ],
)  # fmt: skip
def test_a_part_of_our_record_that_makes_no_sense_is_left_out(field: str, value: object) -> None:
    state = replace(state_of(file_of()), own={**json.loads(file_of())[OWN_KEY], field: value})
    book = book_of(state)
    assert not getattr(book, field)
    assert replace(book, **{field: getattr(BOOK, field)}) == BOOK


@pytest.mark.parametrize("change", [{"told": 1}, {"changed": "abc"}, {"changed": [5]}, {"number": -1}, {"at": None},
                                    {"outcome": "lost"}, {"trigger": 5}])  # fmt: skip
def test_a_flush_that_makes_no_sense_is_left_out(change: Mapping[str, object]) -> None:
    own = json.loads(file_of())[OWN_KEY]
    own["flushes"].append({**own["flushes"][0], **change})
    assert book_of(replace(state_of(file_of()), own=own)).flushes == BOOK.flushes


def test_one_odd_file_does_not_cost_the_others() -> None:
    own = json.loads(file_of(replace(BOOK, files={f"{n}.md": ENTRY for n in range(50)})))[OWN_KEY]
    own["files"]["7.md"][0] = "x"
    files = book_of(replace(state_of(file_of()), own=own)).files
    assert len(files) == 49
    assert files["8.md"] == ENTRY


def test_what_a_later_version_adds_to_our_record_survives() -> None:
    state = state_of(file_of())
    later = replace(state, own={**(state.own or {}), "colour": [1, "red"], "huge": float("inf")})
    assert "colour" not in json.loads(merged(later, BOOK, BOOK))[OWN_KEY]
    later = replace(state, own={**(state.own or {}), "colour": [1, "red"]})
    data = merged(later, BOOK, BOOK)
    assert json.loads(data)[OWN_KEY]["colour"] == [1, "red"]
    assert book_of(state_of(data)) == replace(BOOK, generation=8)


def tampered(data: bytes, generation: int) -> str:
    text = data.decode()
    old = f'"generation":{BOOK.generation},"gone"'
    assert old in text
    return text.replace(old, f'"generation":{generation},"gone"')


def test_a_changed_record_is_rebuilt_from_the_last_good_copy() -> None:
    copy = file_of(replace(BOOK, generation=5, pending=(LEAD,)))
    state = state_of(tampered(file_of(), 9), copy)
    assert state.problem == CHANGED.format(path=PATH, rest=FROM_COPY)
    assert state.repair
    assert book_of(state) == replace(BOOK, generation=9, pending=(LEAD,))
    # The other text is nobody's now, and stays.
    assert json.loads(merged(state, book_of(state), book_of(state)))["pending_items"] == [LEAD.text, IDLE.text]


def test_a_generation_that_damage_made_does_not_count() -> None:
    for generation, kept in ((10**12 - 1, 10**12 - 1), (10**12, 0), (-5, 0)):
        assert state_of(tampered(file_of(), generation)).generation == kept


def test_without_a_copy_the_protocol_s_own_keys_are_left() -> None:
    for copy in (None, b"{}", b"{", tampered(file_of(), 8)):
        state = state_of(tampered(file_of(), 9), copy)
        assert state.problem == CHANGED.format(path=PATH, rest=FROM_REST)
        assert book_of(state) == Book(9, 4, TIME, 81.5, "s-1")
        after = json.loads(merged(state, book_of(state), book_of(state)))
        assert after["pending_items"] == [LEAD.text, IDLE.text]
        assert (after["flush_number"], after["last_flush_time"], after["session_id"]) == (4, TIME, "s-1")
        assert book_of(state_of(json.dumps(after))) == Book(10, 4, TIME, 81.5, "s-1")


def test_a_record_that_another_tool_dropped_comes_from_the_copy() -> None:
    text = '{"flush_number": 6, "last_flush_time": "' + LATER + '", "pending_items": ["' + LEAD.text + '"]}'
    state = state_of(text, file_of())
    assert state.problem == LOST.format(path=PATH, rest=FROM_COPY)
    book = book_of(state)
    assert (book.number, book.last_time, book.pending, book.files) == (6, LATER, (LEAD,), BOOK.files)
    assert not state_of(text).problem, "upstream's files have none, and nothing is wrong with them"


def test_a_damaged_file_is_rebuilt_from_its_rest_and_the_copy() -> None:
    text = file_of(text='{"first": 1e400}').decode()
    copy = file_of(replace(BOOK, generation=6), text='{"first": 2, "last": [3.0]}')
    cut = text.index('"files"')
    state = state_of(text[:cut], copy)
    damage = CUT.format(at=text.index(f'"{OWN_KEY}"'))
    assert state.problem == DAMAGED.format(path=PATH, damage=damage, rest=FROM_COPY)
    assert book_of(state) == replace(BOOK, generation=6)
    found = strict(merged(state, book_of(state), BOOK))
    assert (found["first"], found["last"]) == ("1e400", ["3.0"])


def test_of_two_sound_records_the_later_one_counts() -> None:
    ours = file_of().decode().rstrip().removesuffix("}")
    for generation, kept in ((6, 7), (7, 7), (8, 8)):
        copy = file_of(replace(BOOK, generation=generation, session_id="copy", gone={"x": generation}))
        state = state_of(ours, copy)
        book = book_of(state)
        assert state.problem.endswith(FROM_REST if kept == 7 else FROM_COPY)
        assert book.generation == kept
        assert book.gone == (BOOK.gone if kept == 7 else {"x": 8})
        # What is others' comes from the file where it still stands there.
        assert book.session_id == "s-1"


def test_an_item_is_not_done_because_a_cut_took_the_list_away() -> None:
    values = json.loads(file_of())
    listed = values.pop("pending_items")
    text = json.dumps({**values, "pending_items": listed})
    copy = file_of(replace(BOOK, generation=6, pending=()))
    assert book_of(state_of(text[: text.index('"pending_items"')], copy)).pending == BOOK.pending


def test_a_later_format_is_neither_understood_nor_mended() -> None:
    values = json.loads(file_of())
    values[OWN_KEY] = {"format": 2, "number": 100}
    state = state_of(json.dumps(values), file_of())
    assert state.problem == NEWER.format(path=PATH)
    assert not state.repair
    assert book_of(state) == Book(0, 4, TIME, 81.5, "s-1")


def test_nothing_is_wrong_with_an_empty_document() -> None:
    assert restored(Document(), None, PATH) == Restored(Document())
