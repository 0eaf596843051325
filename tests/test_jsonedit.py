from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks import jsonedit
from apm_hooks.errors import SettingsError

KEYS = st.text(st.characters(codec="utf-8"), max_size=6)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=5)
INNER = st.fixed_dictionaries({}, optional={"b": st.lists(VALUES, max_size=3) | VALUES, "c": VALUES})
NESTED = st.fixed_dictionaries({}, optional={"x": VALUES, "a": INNER | VALUES, "y": VALUES})


@st.composite
def spelled(draw: st.DrawFn, documents: st.SearchStrategy[dict[str, Any]]) -> str:
    """A JSON text in any of the usual styles of writing."""
    separators = draw(st.sampled_from([(", ", ": "), (",", ":"), (",", ": "), (" , ", " : ")]))
    text = json.dumps(
        draw(documents),
        indent=draw(st.sampled_from([None, 0, 1, 2, 4, "\t"])),
        separators=separators,
        ensure_ascii=draw(st.booleans()),
    )
    text += draw(st.sampled_from(["", "\n", "\n\n"]))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return draw(st.sampled_from(["", jsonedit.BOM])) + text


def value(text: str) -> Any:
    return json.loads(text.removeprefix(jsonedit.BOM))


@given(spelled(DOCUMENTS))
def test_every_span_holds_its_value(text: str) -> None:
    nodes = [(jsonedit.parse(text), value(text))]
    while nodes:
        node, expected = nodes.pop()
        assert json.loads(text[node.start : node.end]) == expected == jsonedit.decode(text, node)
        if isinstance(expected, dict):
            assert node.keys == list(expected)
            nodes += zip(node.children, expected.values(), strict=True)
        elif isinstance(expected, list):
            nodes += zip(node.children, expected, strict=True)


@given(spelled(DOCUMENTS), KEYS, VALUES)
def test_a_new_member_changes_nothing_else_and_comes_out_again(text: str, key: str, new: Any) -> None:
    if key in value(text):
        return
    edited = jsonedit.set_in(text, (key,), new)
    assert value(edited) == {**value(text), key: new}
    assert list(value(edited))[-1] == key
    assert len(edited) - len(text) == sum(a != b for a, b in aligned(text, edited))
    assert jsonedit.remove_from(edited, (key,)) == text


def aligned(old: str, new: str) -> list[tuple[str, str]]:
    """The bytes of `new` against `old`, which must be a beginning and an end of it."""
    head = 0
    while head < len(old) and old[head] == new[head]:
        head += 1
    assert new.endswith(old[head:])
    return [("", char) for char in new[head : len(new) - len(old) + head]]


@given(spelled(DOCUMENTS), VALUES)
def test_an_old_value_is_replaced_where_it_stands(text: str, new: Any) -> None:
    for key in value(text):
        edited = jsonedit.set_in(text, (key,), new)
        assert value(edited) == {**value(text), key: new}
        assert list(value(edited)) == list(value(text))
        node = jsonedit.find(text, (key,))
        assert node is not None
        assert edited.startswith(text[: node.start])
        assert edited.endswith(text[node.end :])


@given(spelled(NESTED), st.sampled_from([["a"], ["a", "b"], ["a", "b", "c"], ["n", "m"]]), VALUES)
def test_an_array_grows_and_shrinks_back(text: str, path: list[str], new: Any) -> None:
    try:
        before = jsonedit.find(text, path)
        edited = jsonedit.append_to(text, path, new)
    except SettingsError:
        assert steps(value(text), path) == "wrong"
        return
    items = jsonedit.decode(text, before) if before else []
    assert isinstance(items, list)
    after = jsonedit.find(edited, path)
    assert after is not None
    assert jsonedit.decode(edited, after) == [*items, new]
    assert jsonedit.remove_from(edited, [*path, len(items)]) == without_the_empty(text, path)


def steps(document: Any, path: list[str]) -> str:
    for step in path:
        if not isinstance(document, dict):
            return "wrong"
        if step not in document:
            return "missing"
        document = document[step]
    return "list" if isinstance(document, list) else "wrong"


def without_the_empty(text: str, path: list[str]) -> str:
    """A container on the path that was there and empty goes with what was put into it."""
    for depth in range(len(path)):
        node = jsonedit.find(text, path[: depth + 1])
        if node is not None and not node.children:
            return jsonedit.remove_from(text, path[: depth + 1])
    return text


@given(spelled(DOCUMENTS), st.randoms())
def test_removing_leaves_the_rest_as_it_was(text: str, chance: random.Random) -> None:
    document = value(text)
    if not document:
        return
    key = chance.choice(list(document))
    edited = jsonedit.remove_from(text, (key,))
    assert value(edited) == {name: held for name, held in document.items() if name != key}
    assert edited.startswith(jsonedit.BOM) == text.startswith(jsonedit.BOM)
    assert edited[-1] == text[-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", '{\n  "a": {\n    "b": [\n      1\n    ]\n  }\n}'),
        ("", '{\n  "a": {\n    "b": [\n      1\n    ]\n  }\n}\n'),
        (" \r\n", '{\r\n  "a": {\r\n    "b": [\r\n      1\r\n    ]\r\n  }\r\n}\r\n'),
        ('{"x": 1}', '{"x": 1, "a": {"b": [1]}}'),
        ('{"x":1}', '{"x":1,"a":{"b":[1]}}'),
        ('{"x":1,"y":2}\n', '{"x":1,"y":2,"a":{"b":[1]}}\n'),
        ('{ "x" : 1 }', '{ "x" : 1, "a" : {"b" : [1]} }'),
        ('{\n\t"x": {"y": 1}\n}', '{\n\t"x": {"y": 1},\n\t"a": {\n\t\t"b": [\n\t\t\t1\n\t\t]\n\t}\n}'),
        ('{\r\n "x": 1\r\n}', '{\r\n "x": 1,\r\n "a": {\r\n  "b": [\r\n   1\r\n  ]\r\n }\r\n}'),
        ('{\n  "a": {"b": [0]}\n}', '{\n  "a": {"b": [0, 1]}\n}'),
        ('{\n  "a": {\n    "b": []\n  }\n}', '{\n  "a": {\n    "b": [\n      1\n    ]\n  }\n}'),
        ('{\n "x": [\n  1\n ], "a": {}\n}', '{\n "x": [\n  1\n ], "a": {\n  "b": [\n   1\n  ]\n }\n}'),
    ],
)  # fmt: skip
def test_new_pieces_are_written_as_the_file_is(text: str, expected: str) -> None:
    assert jsonedit.append_to(text, ("a", "b"), 1) == expected


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ('{"a": [1, 2, 3]}', ("a", 0), '{"a": [2, 3]}'),
        ('{"a": [1, 2, 3]}', ("a", 1), '{"a": [1, 3]}'),
        ('{"a": [1, 2, 3]}', ("a", 2), '{"a": [1, 2]}'),
        ('{"a": [1], "b": 2}', ("a", 0), '{"b": 2}'),
        ('{"b": 2, "a": {"c": {"d": 1}}}', ("a", "c", "d"), '{"b": 2}'),
        ('{"a": {"c": [], "d": [1]}}', ("a", "d", 0), '{"a": {"c": []}}'),
        ('{\n  "a": 1\n}\n', ("a",), "{}\n"),
        ('{"a": 1}', ("b",), '{"a": 1}'),
        ('{"a": [1]}', ("a", 7), '{"a": [1]}'),
        ('{"a": 1}', (), '{"a": 1}'),
        (" \n", ("a",), " \n"),
    ],
)
def test_removing_takes_empty_containers_along(text: str, path: tuple[str | int, ...], expected: str) -> None:
    assert jsonedit.remove_from(text, path) == expected


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        ("{", 1, "expected a name in double quotes, found the end of the file"),
        ('{"a": 1,\n}', 2, "expected a name in double quotes, found '}'"),
        ('{"a" 1}', 1, "expected ':' after the name, found '1'"),
        ('{"a":\n\n tru}', 3, "expected a JSON value, found 't'"),
        ("{'a': 1}", 1, "expected a name in double quotes"),
        ('{"a": [1 2]}', 1, "expected ',' or ']', found '2'"),
        ('{"a": 01}', 1, "expected ',' or '}', found '1'"),
        ('{"a": NaN}', 1, "expected a JSON value, found 'N'"),
        ('{"a": "b\nc"}', 1, "expected a JSON value, found '\"'"),
        ('{"a": "\\x"}', 1, "expected a JSON value"),
        ("{} {}", 1, "text after the end of the JSON value, found '{'"),
        ("// settings\n{}", 1, "expected a JSON value, found '/'"),
        ("{}\n\x00", 2, "text after the end of the JSON value, found '\\x00'"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(text: str, line: int, cause: str) -> None:
    with pytest.raises(SettingsError, match="not valid JSON") as caught:
        jsonedit.set_in(text, ("hooks",), 1, file="settings.json")
    assert (caught.value.file, caught.value.line) == ("settings.json", line)
    assert cause in caught.value.cause
    assert caught.value.remedy


@given(st.text(st.sampled_from('{}[]",:\\ \n01eE+-.tfnulrase\ufeff/'), max_size=12))
@settings(max_examples=300)
def test_a_text_is_accepted_exactly_where_the_standard_library_accepts_it(text: str) -> None:
    try:
        expected = json.loads(text.removeprefix(jsonedit.BOM))
    except ValueError:
        with pytest.raises(SettingsError):
            jsonedit.parse(text)
    else:
        assert jsonedit.decode(text, jsonedit.parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "path", "line", "cause"),
    [
        ('{\n"hooks": []}', ("hooks", "Stop"), 2, "hooks must be an object"),
        ('{\n"hooks": null}', ("hooks", "Stop"), 2, "hooks must be an object"),
        ('{"hooks": {\n"Stop": {}}}', ("hooks", "Stop"), 2, "hooks.Stop must be a list"),
        ("[]", ("hooks", "Stop"), 1, "the whole file must be an object"),
        ('{"hooks": {},\n"hooks": {}}', ("hooks", "Stop"), 2, "hooks stands twice"),
        ('{"hooks": {"Stop": [],\n\n"St\\u006fp": []}}', ("hooks", "Stop"), 3, "hooks.Stop stands twice"),
    ],
)
def test_what_stands_in_the_way_is_named(text: str, path: tuple[str, ...], line: int, cause: str) -> None:
    with pytest.raises(SettingsError) as caught:
        jsonedit.append_to(text, path, 1, file="settings.json")
    assert (caught.value.file, caught.value.line) == ("settings.json", line)
    assert cause in caught.value.cause


def test_names_that_stand_twice_elsewhere_are_none_of_our_business() -> None:
    text = '{"x": 1, "x": {"y": 1, "y": 2}, "z": []}'
    assert jsonedit.append_to(text, ("z",), 1) == '{"x": 1, "x": {"y": 1, "y": 2}, "z": [1]}'


def test_a_place_that_is_not_there_cannot_be_set() -> None:
    with pytest.raises(IndexError):
        jsonedit.set_in('{"a": [1]}', ("a", 1), 2)


def test_deep_nesting_is_read_and_edited() -> None:
    depth = 50_000
    text = '{"deep": ' + "[" * depth + "]" * depth + ', "a": 1}'
    assert jsonedit.set_in(text, ("a",), 2) == text.replace('"a": 1', '"a": 2')
    node = jsonedit.find(text, ("deep",))
    assert node is not None
    with pytest.raises(SettingsError, match="nested too deeply"):
        jsonedit.decode(text, node, file="settings.json")
