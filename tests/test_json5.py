"""JSON5, as some hosts read their settings: comments, commas behind the last value, names without quotes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks import jsonedit, jsontext
from apm_hooks.errors import SettingsError
from apm_hooks.jsontext import JSON5
from tests.test_jsonedit import KEYS, VALUES

REMARKS = st.sampled_from(["", "", " ", "\n  ", "  // a, remark }\n", " /* one: [two] */ ", '\n\n// "x\n  '])


def value(text: str) -> Any:
    return jsontext.decode(text, jsontext.parse(text, dialect=JSON5), dialect=JSON5)


@st.composite
def written(draw: st.DrawFn, document: Any) -> str:
    """The document with comments, single quotes, bare names and commas behind last values here and there."""

    def remark() -> str:
        return draw(REMARKS)

    if isinstance(document, (dict, list)):
        pieces = []
        members = document.items() if isinstance(document, dict) else ((None, each) for each in document)
        for name, each in members:
            head = ""
            if name is not None:
                bare = name.isascii() and name.isalpha() and draw(st.booleans())
                head = (name if bare else json.dumps(name)) + remark() + ":"
            pieces.append(remark() + head + remark() + draw(written(each)) + remark())
        tail = "," + remark() if bool(pieces) and draw(st.booleans()) else remark()
        brackets = "{}" if isinstance(document, dict) else "[]"
        return brackets[0] + ",".join(pieces) + tail + brackets[1]
    if isinstance(document, str) and "'" not in document and draw(st.booleans()):
        return "'" + json.dumps(document)[1:-1].replace('\\"', '"') + "'"
    return json.dumps(document)


DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=4)
TEXTS = DOCUMENTS.flatmap(lambda document: st.tuples(st.just(document), written(document)))


@given(TEXTS)
def test_what_is_written_in_json5_is_read_as_meant(made: tuple[dict[str, Any], str]) -> None:
    document, text = made
    assert value(text) == document
    assert value("// first\n" + text + "\n/* last */\n") == document


@given(TEXTS, KEYS, VALUES)
def test_a_new_member_leaves_comments_and_comes_out_again(made: tuple[dict[str, Any], str], key: str, new: Any) -> None:
    document, text = made
    if key in document:
        return
    longer = jsonedit.set_in(text, [key], new, dialect=JSON5)
    assert value(longer) == {**document, key: new}
    shorter = jsonedit.remove_from(longer, [key], dialect=JSON5)
    assert value(shorter) == document
    assert remarks(shorter) == remarks(longer) == remarks(text)
    if document:
        assert shorter == text


@given(TEXTS, st.data())
def test_taking_any_member_out_leaves_the_others(made: tuple[dict[str, Any], str], data: st.DataObject) -> None:
    document, text = made
    if document:
        key = data.draw(st.sampled_from(sorted(document)))
        shorter = jsonedit.remove_from(text, [key], dialect=JSON5)
        assert value(shorter) == {name: each for name, each in document.items() if name != key}


def remarks(text: str) -> int:
    return text.count("// a, remark }") + text.count("/* one: [two] */") + text.count('// "x')


CONFIG = """\
// who may write
{
  gateway: { mode: 'local', port: 18_789 }, // the port
}
""".replace("18_789", "18789")


@pytest.mark.parametrize(
    ("text", "path", "new", "expected"),
    [
        (CONFIG, ["plugins", "on"], True, CONFIG.replace("\n}", '\n  "plugins": {\n    "on": true\n  },\n}')),
        (CONFIG, ["gateway", "x"], 1, CONFIG.replace("18789", '18789, "x": 1')),
        ("{a: [1, 2,]}", ["b"], 3, '{a: [1, 2,], "b": 3}'),
        ("{a: 1,}", ["b"], 3, '{a: 1, "b": 3,}'),
        ("{ // none yet\n}\n", ["b"], 3, '{ // none yet\n  "b": 3\n}\n'),
        ("{\n  a: 1 // one\n}", ["b"], 3, '{\n  a: 1, // one\n  "b": 3\n}'),
    ],
)
def test_where_a_new_member_goes(text: str, path: list[str], new: Any, expected: str) -> None:
    longer = jsonedit.set_in(text, path, new, dialect=JSON5)
    assert longer == expected
    assert jsonedit.remove_from(longer, path, dialect=JSON5) == text


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("'it''s'", None),
        (r"'it\'s'", "it's"),
        (r'"\x41\u0042\v\0\q"', "AB\v\0q"),
        ('"one \\\r\nline"', "one line"),
        (r'"\ud83d\ude00"', "\U0001f600"),
        ("+1", 1),
        ("-.5", -0.5),
        ("5.", 5.0),
        ("0xFF", 255),
        ("-0x10", -16),
        ("1e3", 1000.0),
        ("Infinity", float("inf")),
        ("-Infinity", float("-inf")),
        ("null", None),
        ("01", "refused"),
        ("{,}", "refused"),
        ("[1,,2]", "refused"),
        ("{a b: 1}", "refused"),
        ("{a: 1 /* open", "refused"),
        ("", "refused"),
        ("truth", "refused"),
    ],
)
def test_values_of_json5(text: str, meant: Any) -> None:
    if meant == "refused" or text == "'it''s'":
        with pytest.raises(SettingsError, match="not valid JSON5"):
            value(text)
    else:
        assert value(text) == meant


def test_strict_json_takes_none_of_it() -> None:
    for text in ("{a: 1}", "[1,]", "// x\n{}", "{'a': 1}", "+1", "NaN"):
        with pytest.raises(SettingsError, match="not valid JSON:"):
            jsontext.parse(text)


def test_it_is_linear_in_hostile_texts() -> None:
    for text in ("/*" * 100_000, "// x\n" * 100_000, "[" * 100_000, "'" + "\\" * 100_001, "{a:1," * 50_000):
        with pytest.raises(SettingsError):
            jsontext.parse(text, dialect=JSON5)
