"""Edits of a JSON text that leave every byte they do not concern as it was.

A settings file belongs to its user: their order of keys, indentation, line ends, byte order mark and final
newline stay. A text is parsed into spans, and an edit splices a new piece between two of them; the piece is
written in the file's own style. Strict JSON only: the hosts that read these files refuse comments and
trailing commas too. Everything takes linear time, and nesting is bounded by memory alone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NoReturn

from apm_hooks.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

BOM = "\ufeff"
_REMEDY = "Mend the file by hand, then run the command again."
_BLANKS = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|true|false|null")


@dataclass(slots=True)
class Node:
    """One JSON value in the text: `text[start:end]`.

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
class _Style:
    """How a file is written: `unit` is one step of indentation, None where all stands on one line."""

    unit: str | None
    newline: str
    comma: str
    colon: str

    def on_one_line(self) -> _Style:
        return _Style(None, self.newline, self.comma, self.colon)


def parse(text: str, *, file: str = "") -> Node:
    """The text's one value with the span of everything in it.

    A byte order mark at the start is passed over. Raises SettingsError, with `file` and the line, for what is
    not strict JSON.
    """
    at = _skip(text, len(BOM) if text.startswith(BOM) else 0)
    root, at = _open(text, at, file)
    path = [root] if root.kind != "scalar" else []
    while path:
        node = path[-1]
        closing = "}" if node.kind == "object" else "]"
        at = _skip(text, at)
        if text[at : at + 1] == closing:
            at += 1
            node.end = at
            path.pop()
            continue
        if node.children:
            if text[at : at + 1] != ",":
                _refuse(text, at, file, f"expected ',' or '{closing}'")
            at = _skip(text, at + 1)
        if node.kind == "object":
            at = _name(text, at, file, node)
        child, at = _open(text, at, file)
        node.children.append(child)
        if child.kind != "scalar":
            path.append(child)
    at = _skip(text, at)
    if at != len(text):
        _refuse(text, at, file, "text after the end of the JSON value")
    return root


def decode(text: str, node: Node, *, file: str = "") -> object:
    """The Python value of a node. Raises SettingsError where the interpreter's own limits forbid it."""
    import json

    try:
        return json.loads(text[node.start : node.end])
    except (RecursionError, ValueError):
        cause = "nested too deeply, or a number of too many digits"
        raise SettingsError(cause, file=file, line=_line(text, node.start), remedy=_REMEDY) from None


def find(text: str, path: Sequence[str | int], *, file: str = "", root: Node | None = None) -> Node | None:
    """The node at `path` (names of objects' members, places in arrays), or None where there is none.

    `root` spares parsing a text again. Blanks alone count as `{}`. Raises SettingsError where a step
    meets a value of another type (null too: it is no container) or a name that stands twice in its object:
    hosts differ in which they take.
    """
    if root is None:
        text = _grounded(text)
        root = parse(text, file=file)
    chain = _chain(text, path, file, root)
    return chain[-1] if len(chain) > len(path) else None


def set_in(text: str, path: Sequence[str | int], value: object, *, file: str = "") -> str:
    """The text with `value` at `path`; objects missing on the way are made, an old value makes way.

    `path` is not empty; a place in an array must exist. A text of blanks alone counts as `{}`. Raises
    SettingsError as `parse` and `find` do, and IndexError for a place that is not there.
    """
    text = _grounded(text)
    root = parse(text, file=file)
    style = _style(text, root)
    chain = _chain(text, path, file, root)
    node, missing = chain[-1], path[len(chain) - 1 :]
    if not missing:
        if node.children and "\n" not in text[node.start : node.end]:
            style = style.on_one_line()
        return text[: node.start] + _render(value, style, _margin(text, node.start)) + text[node.end :]
    for step in reversed(missing[1:]):
        value = {step: value}
    if any(isinstance(step, int) for step in missing):
        raise IndexError(f"no such place: {_spelled(path)}")
    return _insert(text, node, style, value, str(missing[0]))


def append_to(text: str, path: Sequence[str | int], value: object, *, file: str = "") -> str:
    """The text with `value` as the last element of the array at `path`, which is made where it is missing.

    Raises SettingsError as `set_in` does, and where `path` holds something other than an array.
    """
    text = _grounded(text)
    root = parse(text, file=file)
    node = find(text, path, file=file, root=root)
    if node is None:
        return set_in(text, path, [value], file=file)
    if node.kind != "array":
        _wrong_type(text, node, path, "array", file)
    return _insert(text, node, _style(text, root), value, None)


def remove_from(text: str, path: Sequence[str | int], *, file: str = "") -> str:
    """The text without what stands at `path`, nor the containers that this leaves empty (the root stays).

    Takes back byte for byte what `set_in` and `append_to` inserted, unless it went into a container that was
    empty: that goes along (a root: the blanks in it do). A path that leads nowhere changes nothing.
    """
    chain = _chain(_grounded(text), path, file, parse(_grounded(text), file=file))
    depth = len(path) - 1
    if depth < 0 or len(chain) <= len(path):
        return text
    while depth and len(chain[depth].children) == 1:
        depth -= 1
    parent, gone = chain[depth], chain[depth + 1]
    place = next(i for i, child in enumerate(parent.children) if child is gone)
    if len(parent.children) == 1:
        return text[: parent.start + 1] + text[parent.end - 1 :]
    if place + 1 < len(parent.children):
        return text[: parent.begins(place)] + text[parent.begins(place + 1) :]
    return text[: parent.children[place - 1].end] + text[gone.end :]


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _open(text: str, at: int, file: str) -> tuple[Node, int]:
    first = text[at : at + 1]
    if first in ("{", "["):
        return Node("object" if first == "{" else "array", at), at + 1
    found = _STRING.match(text, at) if first == '"' else _SCALAR.match(text, at)
    if not found:
        _refuse(text, at, file, "expected a JSON value")
    return Node("scalar", at, found.end()), found.end()


def _name(text: str, at: int, file: str, node: Node) -> int:
    found = _STRING.match(text, at)
    if not found:
        _refuse(text, at, file, "expected a name in double quotes")
    node.key_starts.append(at)
    node.keys.append(_unquoted(found.group()))
    at = _skip(text, found.end())
    if text[at : at + 1] != ":":
        _refuse(text, at, file, "expected ':' after the name")
    return _skip(text, at + 1)


def _unquoted(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted[1:-1]
    import json

    return str(json.loads(quoted))


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _refuse(text: str, at: int, file: str, cause: str) -> NoReturn:
    seen = "the end of the file" if at >= len(text) else ascii(text[at])
    raise SettingsError(f"not valid JSON: {cause}, found {seen}", file=file, line=_line(text, at), remedy=_REMEDY)


def _spelled(path: Sequence[str | int]) -> str:
    return ".".join(str(step) for step in path)


def _wrong_type(text: str, node: Node, path: Sequence[str | int], wanted: str, file: str) -> NoReturn:
    what = {"object": "an object {…}", "array": "a list […]"}[wanted]
    raise SettingsError(
        f"{_spelled(path) or 'the whole file'} must be {what}",
        file=file,
        line=_line(text, node.start),
        key=_spelled(path),
        remedy=_REMEDY,
    )


def _chain(text: str, path: Sequence[str | int], file: str, root: Node) -> list[Node]:
    """The nodes along the path, the root first, as far as it exists."""
    chain = [root]
    for depth, step in enumerate(path):
        wanted = "object" if isinstance(step, str) else "array"
        if chain[-1].kind != wanted:
            _wrong_type(text, chain[-1], path[:depth], wanted, file)
        child = _child(text, chain[-1], step, path[: depth + 1], file)
        if child is None:
            break
        chain.append(child)
    return chain


def _child(text: str, node: Node, step: str | int, path: Sequence[str | int], file: str) -> Node | None:
    if isinstance(step, int):
        return node.children[step] if 0 <= step < len(node.children) else None
    places = [i for i, key in enumerate(node.keys) if key == step]
    if len(places) > 1:
        raise SettingsError(
            f"{_spelled(path)} stands twice",
            file=file,
            line=_line(text, node.key_starts[places[1]]),
            key=_spelled(path),
            remedy="Merge the two by hand, then run the command again.",
        )
    return node.children[places[0]] if places else None


def _grounded(text: str) -> str:
    """A text of blanks alone counts as an empty object: `{}` in its place, and a final newline."""
    if text.strip(BOM + " \t\r\n"):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    return (BOM if text.startswith(BOM) else "") + "{}" + newline


def _margin(text: str, at: int) -> str:
    """The blanks that the line of this position begins with."""
    start = text.rfind("\n", 0, at) + 1
    end = start + (1 if text.startswith(BOM, start) else 0)
    return text[end : end + len(text[end:at]) - len(text[end:at].lstrip(" \t"))]


def _style(text: str, root: Node) -> _Style:
    """The file's style, seen at its first members; two blanks a step where there is nothing to go by."""
    cut = text.find("\n")
    newline = "\r\n" if cut > 0 and text[cut - 1] == "\r" else "\n"
    comma, colon = _separators(text, root)
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if not node.children:
            continue
        first = node.begins(0)
        if "\n" in text[node.start : first]:
            outer, inner = _margin(text, node.start), _margin(text, first)
            unit = inner.removeprefix(outer)
            return _Style(unit, newline, comma, colon)
        nodes.extend(reversed(node.children))
    return _Style(None if root.children else "  ", newline, comma, colon)


def _separators(text: str, root: Node) -> tuple[str, str]:
    """What stands after a comma on one line and around a colon, at the first place that shows it."""
    comma: str | None = None
    colon: str | None = None
    nodes = [root]
    while nodes and (comma is None or colon is None):
        node = nodes.pop()
        if colon is None and node.keys:
            quoted = _STRING.match(text, node.key_starts[0])
            colon = text[quoted.end() : node.children[0].start] if quoted else None
        if comma is None and len(node.children) > 1:
            gap = text[node.children[0].end : node.begins(1)]
            comma = gap if "\n" not in gap else None
        nodes.extend(reversed(node.children))
    if colon is not None and "\n" in colon:
        colon = None
    return comma or ("," if colon == ":" else ", "), colon or ": "


def _insert(text: str, parent: Node, style: _Style, value: object, name: str | None) -> str:
    """The text with one more member at the end of `parent`."""
    head = "" if name is None else _quoted(name) + style.colon
    if not parent.children:
        outer = _margin(text, parent.start)
        inner = outer + (style.unit or "")
        body = head + _render(value, style, inner)
        if style.unit is not None:
            body = f"{style.newline}{inner}{body}{style.newline}{outer}"
        return text[: parent.start + 1] + body + text[parent.end - 1 :]
    last = len(parent.children) - 1
    before = parent.children[last - 1].end if last else parent.start + 1
    gap = text[before : parent.begins(last)]
    margin = _margin(text, parent.begins(last))
    if "\n" not in gap:
        piece = (gap if last else style.comma) + head + _render(value, style.on_one_line(), margin)
    else:
        piece = f",{style.newline}{margin}{head}{_render(value, style, margin)}"
    end = parent.children[last].end
    return text[:end] + piece + text[end:]


def _quoted(name: str) -> str:
    import json

    return json.dumps(name, ensure_ascii=False)


def _render(value: object, style: _Style, margin: str) -> str:
    """The value as JSON in the file's style; lines after the first begin at `margin`."""
    import json

    if style.unit is None:
        return json.dumps(value, ensure_ascii=False, separators=(style.comma, style.colon))
    spread = json.dumps(value, ensure_ascii=False, indent=style.unit, separators=(",", style.colon))
    return spread.replace("\n", style.newline + margin)
