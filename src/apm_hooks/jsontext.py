"""JSON and JSON5 as text: the values in it, and where each begins and ends.

Everything takes linear time, and nesting is bounded by memory alone. What is no value of the dialect is refused with
file and line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from apm_hooks.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

BOM = "\ufeff"
REMEDY = "Mend the file by hand, then run the command again."

_ESCAPE = re.compile(r"\\(\r\n|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\s\S])")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_LINE_ENDS = ("\n", "\r", "\r\n", "\u2028", "\u2029")


@dataclass(slots=True)
class Node:
    """One value in the text: `text[start:end]`.

    `kind` is `object`, `array` or `scalar`. `children` are the values within, in order; for an object `keys`
    holds their names, decoded, and `key_starts` where each name begins.
    """

    kind: str
    start: int
    end: int = 0
    keys: list[str] = field(default_factory=list)
    key_starts: list[int] = field(default_factory=list)
    children: list[Node] = field(default_factory=list)

    def begins(self, place: int) -> int:
        """Where the child at `place` begins, its name included."""
        return self.key_starts[place] if self.kind == "object" else self.children[place].start


@dataclass(frozen=True, slots=True)
class Dialect:
    """What may stand in a text: between values (`blanks`), as a name of a member, as a scalar, and whether a comma may
    stand behind the last value. `read` gives the value of a scalar's or a name's text."""

    name: str
    blanks: re.Pattern[str]
    member: re.Pattern[str]
    scalar: re.Pattern[str]
    trailing_comma: bool
    read: Callable[[str], object]

    def skip(self, text: str, at: int) -> int:
        """The first position from `at` on that is neither blank nor in a comment."""
        found = self.blanks.match(text, at)
        return found.end() if found else at


def _read_json(text: str) -> object:
    import json

    return text[1:-1] if text[0] == '"' and "\\" not in text else json.loads(text)


def _read_json5(text: str) -> object:
    if text[0] in "\"'":
        plain = _ESCAPE.sub(lambda found: _unescaped(found[1]), text[1:-1]) if "\\" in text else text[1:-1]
        return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    words = {"true": True, "false": False, "null": None}
    if text in words:
        return words[text]
    digits = text.lstrip("+-")
    sign = -1 if text[0] == "-" else 1
    if digits[:2] in ("0x", "0X"):
        return sign * int(digits, 16)
    if digits[0].isdigit() or digits[0] == ".":
        return sign * (int(digits) if digits.isdigit() else float(digits))
    return sign * float("inf" if digits == "Infinity" else "nan") if digits in ("Infinity", "NaN") else text


def _unescaped(code: str) -> str:
    if code in _LINE_ENDS:
        return ""
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPED.get(code, code)


_JSON_STRING = r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"'
_JSON5_STRING = "|".join(rf"{mark}[^{mark}\\\r\n]*(?:\\(?:\r\n|[\s\S])[^{mark}\\\r\n]*)*{mark}" for mark in "\"'")

JSON = Dialect(
    name="JSON",
    blanks=re.compile(r"[ \t\r\n]*"),
    member=re.compile(_JSON_STRING),
    scalar=re.compile(_JSON_STRING + r"|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null"),
    trailing_comma=False,
    read=_read_json,
)
"""Strict JSON, as most hosts read their settings."""

JSON5 = Dialect(
    name="JSON5",
    blanks=re.compile(r"(?:[\s\ufeff]+|//[^\n\r\u2028\u2029]*|/\*[\s\S]*?\*/)*"),
    member=re.compile(_JSON5_STRING + r"|(?:[^\W\d]|\$)[\w$\u200c\u200d]*"),
    scalar=re.compile(
        _JSON5_STRING + r"|[-+]?(?:0[xX][0-9a-fA-F]+|(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
        r"|Infinity|NaN)|true|false|null"
    ),
    trailing_comma=True,
    read=_read_json5,
)
"""JSON5: comments, commas behind the last value, names without quotes, both kinds of quotes."""


def parse(text: str, *, file: str = "", dialect: Dialect = JSON) -> Node:
    """The text's one value with the span of everything in it.

    A byte order mark at the start is passed over. Raises SettingsError, with `file` and the line, for what is
    not of the dialect.
    """
    at = dialect.skip(text, len(BOM) if text.startswith(BOM) else 0)
    root, at = _open(text, at, file, dialect)
    path = [root] if root.kind != "scalar" else []
    while path:
        node = path[-1]
        closing = "}" if node.kind == "object" else "]"
        at = dialect.skip(text, at)
        if node.children and text[at : at + 1] == "," and dialect.trailing_comma:
            behind = dialect.skip(text, at + 1)
            at = behind if text[behind : behind + 1] == closing else at
        if text[at : at + 1] == closing:
            at += 1
            node.end = at
            path.pop()
            continue
        if node.children:
            if text[at : at + 1] != ",":
                _refuse(text, at, file, f"expected ',' or '{closing}'", dialect)
            at = dialect.skip(text, at + 1)
        if node.kind == "object":
            at = _name(text, at, file, node, dialect)
        child, at = _open(text, at, file, dialect)
        node.children.append(child)
        if child.kind != "scalar":
            path.append(child)
    at = dialect.skip(text, at)
    if at != len(text):
        _refuse(text, at, file, "text after the end of the JSON value", dialect)
    return root


def decode(text: str, node: Node, *, file: str = "", dialect: Dialect = JSON) -> object:
    """The Python value of a node. Raises SettingsError where the interpreter's own limits forbid it."""
    import json

    try:
        return json.loads(text[node.start : node.end]) if dialect is JSON else _value(text, node, dialect)
    except (RecursionError, ValueError):
        cause = "nested too deeply, or a number of too many digits"
        raise SettingsError(cause, file=file, line=line_of(text, node.start), remedy=REMEDY) from None


def line_of(text: str, at: int) -> int:
    """The number of the line that holds a position."""
    return text.count("\n", 0, at) + 1


def _value(text: str, node: Node, dialect: Dialect) -> object:
    if node.kind == "scalar":
        return dialect.read(text[node.start : node.end])
    values = [_value(text, child, dialect) for child in node.children]
    return dict(zip(node.keys, values, strict=True)) if node.kind == "object" else values


def _open(text: str, at: int, file: str, dialect: Dialect) -> tuple[Node, int]:
    first = text[at : at + 1]
    if first in ("{", "["):
        return Node("object" if first == "{" else "array", at), at + 1
    found = dialect.scalar.match(text, at)
    if not found:
        _refuse(text, at, file, "expected a JSON value", dialect)
    return Node("scalar", at, found.end()), found.end()


def _name(text: str, at: int, file: str, node: Node, dialect: Dialect) -> int:
    found = dialect.member.match(text, at)
    if not found:
        _refuse(text, at, file, "expected a name in double quotes" if dialect is JSON else "expected a name", dialect)
    quoted = found.group()
    node.key_starts.append(at)
    node.keys.append(str(dialect.read(quoted)) if quoted[0] in "\"'" else quoted)
    at = dialect.skip(text, found.end())
    if text[at : at + 1] != ":":
        _refuse(text, at, file, "expected ':' after the name", dialect)
    return dialect.skip(text, at + 1)


def _refuse(text: str, at: int, file: str, cause: str, dialect: Dialect) -> NoReturn:
    seen = "the end of the file" if at >= len(text) else ascii(text[at])
    shown = f"not valid {dialect.name}: {cause}, found {seen}"
    raise SettingsError(shown, file=file, line=line_of(text, at), remedy=REMEDY)
