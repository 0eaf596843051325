"""Edits of a JSON or JSON5 text that leave every byte they do not concern as it was.

A settings file belongs to its user: their order of keys, indentation, line ends, byte order mark, comments and final
newline stay. A text is parsed into spans, and an edit splices a new piece between two of them; the piece is
written in the file's own style. Strict JSON, unless a host reads more than that: most refuse comments and trailing
commas too. Everything takes linear time, and nesting is bounded by memory alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from apm_hooks.errors import SettingsError
from apm_hooks.jsontext import BOM, JSON, REMEDY, Dialect, Node, decode, line_of, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["BOM", "Node", "append_to", "decode", "find", "parse", "remove_from", "set_in"]

_BLANK = " \t\r\n"


@dataclass(frozen=True, slots=True)
class _Style:
    """How a file is written: `unit` is one step of indentation, None where all stands on one line."""

    unit: str | None
    newline: str
    comma: str
    colon: str

    def on_one_line(self) -> _Style:
        return _Style(None, self.newline, self.comma, self.colon)


def find(
    text: str, path: Sequence[str | int], *, file: str = "", root: Node | None = None, dialect: Dialect = JSON
) -> Node | None:
    """The node at `path` (names of objects' members, places in arrays), or None where there is none.

    `root` spares parsing a text again. Blanks alone count as `{}`. Raises SettingsError where a step
    meets a value of another type (null too: it is no container) or a name that stands twice in its object:
    hosts differ in which they take.
    """
    if root is None:
        text = _grounded(text)
        root = parse(text, file=file, dialect=dialect)
    chain = _chain(text, path, file, root)
    return chain[-1] if len(chain) > len(path) else None


def set_in(text: str, path: Sequence[str | int], value: object, *, file: str = "", dialect: Dialect = JSON) -> str:
    """The text with `value` at `path`; objects missing on the way are made, an old value makes way.

    `path` is not empty; a place in an array must exist. A text of blanks alone counts as `{}`. Raises
    SettingsError as `parse` and `find` do, and IndexError for a place that is not there.
    """
    text = _grounded(text)
    root = parse(text, file=file, dialect=dialect)
    style = _style(text, root, dialect)
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
    return _insert(text, node, style, value, str(missing[0]), dialect)


def append_to(text: str, path: Sequence[str | int], value: object, *, file: str = "", dialect: Dialect = JSON) -> str:
    """The text with `value` as the last element of the array at `path`, which is made where it is missing.

    Raises SettingsError as `set_in` does, and where `path` holds something other than an array.
    """
    text = _grounded(text)
    root = parse(text, file=file, dialect=dialect)
    node = find(text, path, file=file, root=root)
    if node is None:
        return set_in(text, path, [value], file=file, dialect=dialect)
    if node.kind != "array":
        _wrong_type(text, node, path, "array", file)
    return _insert(text, node, _style(text, root, dialect), value, None, dialect)


def remove_from(text: str, path: Sequence[str | int], *, file: str = "", dialect: Dialect = JSON) -> str:
    """The text without what stands at `path`, nor the containers that this leaves empty (the root, and one that holds
    a comment, stay).

    Takes back byte for byte what `set_in` and `append_to` inserted, unless it went into a container that was
    empty: that goes along (a root: the blanks in it do). A path that leads nowhere changes nothing.
    """
    chain = _chain(_grounded(text), path, file, parse(_grounded(text), file=file, dialect=dialect))
    depth = len(path) - 1
    if depth < 0 or len(chain) <= len(path):
        return text
    while depth and len(chain[depth].children) == 1 and not _remarks(text, chain[depth]):
        depth -= 1
    parent, gone = chain[depth], chain[depth + 1]
    place = next(i for i, child in enumerate(parent.children) if child is gone)
    behind = dialect.skip(text, gone.end)
    stop = behind + 1 if text[behind] == "," else gone.end
    if len(parent.children) == 1 and not _remarks(text, parent):
        return text[: parent.start + 1] + text[parent.end - 1 :]
    if place + 1 < len(parent.children):
        return text[: parent.begins(place)] + text[stop:].lstrip(_BLANK)
    before = parent.children[place - 1].end if place else parent.start + 1
    gap = text[before : parent.begins(place)]
    if place and stop == gone.end:
        # Without a comma behind the last value, the one before it goes too.
        comma = dialect.skip(text, before) - before
        gap = gap[:comma] + gap[comma + 1 :]
    return _joined(text[:before], gap.rstrip(_BLANK), text[stop:])


def _remarks(text: str, parent: Node) -> str:
    """What stands around an only child besides blanks and a comma: comments."""
    only = parent.children[0]
    around = text[parent.start + 1 : parent.begins(0)] + text[only.end : parent.end - 1]
    return around.strip(_BLANK + ",")


def _joined(head: str, gap: str, tail: str) -> str:
    """The text around a gap, with what follows on a line of its own where the gap ends in a comment to the line's
    end."""
    last = gap.rpartition("\n")[2]
    split = "\n" if "//" in last and not tail.lstrip(" \t").startswith(("\n", "\r")) else ""
    return head + gap + split + tail


def _spelled(path: Sequence[str | int]) -> str:
    return ".".join(str(step) for step in path)


def _wrong_type(text: str, node: Node, path: Sequence[str | int], wanted: str, file: str) -> NoReturn:
    what = {"object": "an object {…}", "array": "a list […]"}[wanted]
    raise SettingsError(
        f"{_spelled(path) or 'the whole file'} must be {what}",
        file=file,
        line=line_of(text, node.start),
        key=_spelled(path),
        remedy=REMEDY,
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
            line=line_of(text, node.key_starts[places[1]]),
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


def _style(text: str, root: Node, dialect: Dialect) -> _Style:
    """The file's style, seen at its first members; two blanks a step where there is nothing to go by."""
    cut = text.find("\n")
    newline = "\r\n" if cut > 0 and text[cut - 1] == "\r" else "\n"
    comma, colon = _separators(text, root, dialect)
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


def _separators(text: str, root: Node, dialect: Dialect) -> tuple[str, str]:
    """What stands after a comma on one line and around a colon, at the first place that shows it."""
    comma: str | None = None
    colon: str | None = None
    nodes = [root]
    while nodes and (comma is None or colon is None):
        node = nodes.pop()
        if colon is None and node.keys:
            name = dialect.member.match(text, node.key_starts[0])
            colon = _blanks_around(":", text[name.end() : node.children[0].start]) if name else None
        if comma is None and len(node.children) > 1:
            comma = _blanks_around(",", text[node.children[0].end : node.begins(1)])
        nodes.extend(reversed(node.children))
    return comma or ("," if colon == ":" else ", "), colon or ": "


def _blanks_around(mark: str, gap: str) -> str | None:
    """A gap that holds nothing but the mark and blanks on one line, else None."""
    return gap if "\n" not in gap and not gap.strip(" \t\r" + mark) else None


def _insert(text: str, parent: Node, style: _Style, value: object, name: str | None, dialect: Dialect) -> str:
    """The text with one more member at the end of `parent`."""
    head = "" if name is None else _quoted(name) + style.colon
    if not parent.children:
        return _insert_first(text, parent, style, value, head)
    last = len(parent.children) - 1
    before = parent.children[last - 1].end if last else parent.start + 1
    gap = text[before : parent.begins(last)]
    margin = _margin(text, parent.begins(last))
    end = parent.children[last].end
    kept = text[end : parent.end - 1].rstrip(_BLANK)
    separator = gap if last and not gap.strip(" \t\r,") else style.comma
    if kept:
        around = ("" if "\n" in gap else separator, margin)
        return _insert_behind(text, end, kept, style, (head, value), around, dialect)
    if "\n" not in gap:
        piece = separator + head + _render(value, style.on_one_line(), margin)
    else:
        piece = f",{style.newline}{margin}{head}{_render(value, style, margin)}"
    return text[:end] + piece + text[end:]


def _insert_first(text: str, parent: Node, style: _Style, value: object, head: str) -> str:
    """The text with the first member of `parent`, behind the comments that it may hold."""
    outer = _margin(text, parent.start)
    kept = text[parent.start + 1 : parent.end - 1].rstrip(_BLANK)
    unit = style.unit if style.unit is not None or not kept.strip(_BLANK) else "  "
    inner = outer + (unit or "")
    body = head + _render(value, style, inner)
    if unit is not None:
        body = f"{kept}{style.newline}{inner}{body}{style.newline}{outer}"
    return text[: parent.start + 1] + body + text[parent.end - 1 :]


def _insert_behind(
    text: str, end: int, kept: str, style: _Style, member: tuple[str, object], around: tuple[str, str], dialect: Dialect
) -> str:
    """The text with one more member behind a comma or the comments (`kept`) that the last value (to `end`) has."""
    (head, value), (separator, margin) = member, around
    comma = dialect.skip(text, end)
    own = text[comma] == ","
    if kept.strip(_BLANK) == "," and separator:
        piece = separator.replace(",", "", 1) + head + _render(value, style.on_one_line(), margin) + ","
        return text[: comma + 1] + piece + text[comma + 1 :]
    piece = f"{style.newline}{margin}{head}{_render(value, style, margin)}{',' if own else ''}"
    return text[:end] + ("" if own else ",") + kept + piece + text[end + len(kept) :]


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
