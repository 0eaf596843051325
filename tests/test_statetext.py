from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.statetext import (
    MORE,
    NO_OBJECT,
    OWN_KEY,
    TOO_DEEP,
    Document,
    element_texts,
    overlaid,
    own_text,
    parse,
    rewritten,
    value_texts,
)

DIGITS = "9" * 5_000
AT_1 = "after character 1"
RECORD = {"format": 1, "generation": 3, "number": 2, "note": "größer \ud800 \u2028"}
OTHERS = (
    '{\n  "a": 1,\n  "huge": 1e400, "exact": 0.10000000000000000001, "digits": ' + DIGITS + ',\n  "nested": {"b" : '
    '[1.50, -0, null, {"c":1E5}]}, "text": "\\ud83d \\u00fc ü",\n  "yes": true, "last": "x"\n}'
)  # fmt: skip


def strict(data: bytes) -> dict[str, Any]:
    """What any strict reader of JSON makes of a file; numbers stay texts."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    found = json.loads(data.decode(), parse_constant=refuse, parse_int=str, parse_float=str)
    assert isinstance(found, dict)
    return found


def test_what_is_others_stands_as_it_stood() -> None:
    document = parse(OTHERS)
    assert not document.damage
    written = rewritten(document, {"text": '"ours"', "new": "[]"})
    before, after = strict(OTHERS.encode()), strict(written)
    assert {**before, "text": "ours", "new": []} == after
    assert list(after) == [*before, "new"]
    assert b'{"b" : [1.50, -0, null, {"c":1E5}]}' in written


def test_of_a_key_that_stands_twice_the_last_counts() -> None:
    document = parse('{"a": 1, "b": 2, "a": [3.0]}')
    assert document.values == {"a": [3.0], "b": 2}
    assert strict(rewritten(document, {})) == {"a": ["3.0"], "b": "2"}


def test_a_file_of_ours_has_one_line_for_each_key() -> None:
    data = rewritten(Document(), {"last_flush_time": "null", OWN_KEY: own_text(RECORD), "a_mtime": '"x"'})
    assert [line[:8] for line in data.decode().split("\n")] == ["{", '  "last_', '  "apm_h', '  "a_mti', "}", ""]


def test_lone_surrogates_survive_as_escapes() -> None:
    document = parse('{"k\\udcff": "\\ud800", "l": ["\\udc80"]}')
    data = rewritten(document, {OWN_KEY: own_text(RECORD)})
    again = parse(data.decode())
    assert {**again.values, OWN_KEY: None} == {"k\udcff": "\ud800", "l": ["\udc80"], OWN_KEY: None}
    assert again.own is not None
    assert again.own["note"] == RECORD["note"]


@pytest.mark.parametrize(
    ("text", "damage"),
    [
        ("", NO_OBJECT), ("  \n", NO_OBJECT), ("[]", NO_OBJECT), ('"x"', NO_OBJECT), ("null", NO_OBJECT),
        ("5", NO_OBJECT),
        (DIGITS, NO_OBJECT), ("[1, 2", NO_OBJECT), ("{", AT_1), ('{"a": 1,}', "after character 8"),
        ('{"a": NaN}', AT_1), ('{"a": [-Infinity]}', AT_1), ('{1: 2}', AT_1),
        ('{"a" 1}', AT_1), ('{"a": 1} {}', MORE), ('{"a": 1}}', MORE), ("{} x", MORE),
        ('{"a": "\x07"}', AT_1), ('{"a": \\u0031}', AT_1), ("{'a': 1}", AT_1),
        ('{"a": ' + "[" * 100_000, TOO_DEEP), ("[" * 100_000, NO_OBJECT), ('{"a":' * 100_000, TOO_DEEP),
    ],
)  # fmt: skip
def test_what_is_no_json_object_is_damaged(text: str, damage: str) -> None:
    assert damage in parse(text).damage


@pytest.mark.parametrize("text", ["{}", " { } \r\n", '{"": ""}', '{"a": ' + "[" * 300 + "]" * 300 + "}"])
def test_what_is_a_json_object_is_not_damaged(text: str) -> None:
    document = parse(text)
    assert not document.damage
    assert strict(rewritten(document, {})) == json.loads(text)


def test_a_full_stack_is_not_taken_for_damage() -> None:
    text = json.dumps({"a": {"b": [[[[1]]]]}})

    def at_depth(left: int) -> list[str]:
        if left:
            return at_depth(left - 1)
        try:
            return [parse(text).damage]
        except RecursionError:
            return []

    depth, told = 0, []
    while depth < sys.getrecursionlimit():
        try:
            told += at_depth(depth)
        except RecursionError:
            break
        depth += 1
    assert set(told) == {""}


def whole_pairs(text: str) -> list[tuple[int, str, str]]:
    """Where each top-level pair of OTHERS is over, its key and its text, told by other means than the parser's."""
    decoder = json.JSONDecoder(parse_int=str, parse_float=str)
    found, at = [], text.index('"')
    while at >= 0:
        key, end = decoder.raw_decode(text, at)
        start = end + 2
        _, end = decoder.raw_decode(text, start)
        found.append((end, key, text[start:end]))
        at = text.find('"', end)
    return found


def test_the_whole_pairs_before_a_cut_are_saved_wherever_it_falls() -> None:
    text = OTHERS.replace(DIGITS, "9" * 40)
    pairs = whole_pairs(text)
    assert [key for _, key, _ in pairs] == ["a", "huge", "exact", "digits", "nested", "text", "yes", "last"]
    for cut in range(len(text)):
        document = parse(text[:cut])
        assert document.damage
        sure = {key: value for end, key, value in pairs if end < cut}
        # A value that no digit ends is over where it ends; of a number the next sign tells.
        maybe = {key: value for end, key, value in pairs if end <= cut and not value[-1].isdigit()}
        assert value_texts(document, document.values) == {**sure, **maybe}


@pytest.mark.parametrize(
    "text", ['{"a": 1.5e', '{"a": 1.', '{"a": 12', '{"a": -', '{"a": 12 ', '{"a": tru', '{"a": 1e+']
)
def test_half_a_value_is_not_saved(text: str) -> None:
    assert not parse(text).values


@settings(max_examples=200)
@given(st.text(st.sampled_from('{}[]":,\\ \n19.eE+-tnab\ud800'), max_size=40))
def test_any_text_gives_a_document_and_another_file(text: str) -> None:
    document = parse(text)
    again = parse(rewritten(document, {}).decode())
    assert not again.damage
    assert again.values == document.values
    try:
        whole = isinstance(json.loads(text), dict)
    except ValueError:
        whole = False
    assert whole is not bool(document.damage)


def test_saving_is_linear() -> None:
    def cost(size: int) -> int:
        text = '{"a": 1, ' + '"k": "v", ' * size
        calls = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal calls
            calls += 1

        sys.setprofile(count)
        try:
            parse(text)
        finally:
            sys.setprofile(None)
        return calls

    assert cost(4_000) < 4.5 * cost(1_000)


@pytest.mark.parametrize("text", ["[]", "[ ]", '[1e400 , "a,]" ,{"b" : [2]},\n null]', f"[{DIGITS}]"])
def test_elements_are_given_back_as_they_stand(text: str) -> None:
    found = element_texts(text)
    assert json.loads("[" + ",".join(found) + "]", parse_int=str, parse_float=str) == json.loads(
        text, parse_int=str, parse_float=str
    )
    assert all(element in text for element in found)


def written(record: dict[str, Any], **others: str) -> str:
    return rewritten(Document(), {**others, OWN_KEY: own_text(record), "z_mtime": '"t"'}).decode()


def test_our_record_counts_while_its_checksum_holds() -> None:
    assert parse(written(RECORD)).own == json.loads(written(RECORD))[OWN_KEY]


@pytest.mark.parametrize("indent", [None, 2, "\t"])
@pytest.mark.parametrize("sort", [False, True])
def test_another_tool_may_write_our_record_in_its_own_way(indent: int | str | None, sort: bool) -> None:
    values = json.loads(written(RECORD))
    shuffled = {OWN_KEY: dict(reversed(values[OWN_KEY].items())), **values}
    for text in (json.dumps(values, indent=indent, sort_keys=sort), json.dumps(shuffled, indent=indent)):
        assert parse(text).own == values[OWN_KEY]
        assert parse(text.replace("\n", "\r\n")).own == values[OWN_KEY]


@pytest.mark.parametrize(
    ("old", "new"),
    [('"number":2', '"number":3'), ('"checksum":"', '"checksum":"0'), ('"note"', '"not"'), ("größer", "grosser"),
     ('"format":1,', ""), ('"format":1', '"format":true'), ('"format":1', '"format":0'), ('{"checksum"', '{"sum"')],
)  # fmt: skip
def test_our_record_does_not_count_once_it_was_changed(old: str, new: str) -> None:
    text = written(RECORD)
    assert old in text
    document = parse(text.replace(old, new, 1))
    assert (document.own, document.newer, document.damage) == (None, False, "")


def test_a_record_that_stands_elsewhere_does_not_vouch_for_another() -> None:
    text = written(RECORD)
    line = next(line for line in text.split("\n") if OWN_KEY in line).removesuffix(",")
    forged = text.replace('"number":2', '"number":9', 1)
    assert parse(forged.replace("{\n", f'{{\n  "x": {{\n{line}\n}},\n', 1)).own is None
    assert parse(forged.replace('  "z_mtime"', f'  "x": {{\n{line}\n}},\n  "z_mtime"')).own is None


@pytest.mark.parametrize("own", [None, [], "x", 5, {}, {"outcome": "unwritten"}, {"format": 1, "checksum": 5}])
def test_what_is_no_record_of_ours_is_none(own: object) -> None:
    assert parse(json.dumps({OWN_KEY: own})).own is None


def test_a_record_of_a_later_format_is_told() -> None:
    document = parse(json.dumps({OWN_KEY: {"format": 2, "anything": []}}))
    assert document.newer
    assert document.own is None


def test_a_record_that_cannot_be_written_again_is_told_by_its_text_alone() -> None:
    text = written(RECORD).replace('"note"', '"huge":1e400,"note"')
    assert parse(text).own is None


def test_pairs_laid_over_others_keep_their_texts() -> None:
    below = parse('{"a": 1e400, "b": 2}')
    above = parse('{"b": 3.00, "c": [4.0], "d"')
    both = overlaid(below, above)
    assert rewritten(both, {}) == b'{\n  "a": 1e400,\n  "b": 3.00,\n  "c": [4.0]\n}\n'
    assert both.damage == above.damage
