"""Marked blocks: a piece of a markdown file that is ours, between two comment lines, in a file that is not.

    <!-- apm-hooks:begin NAME -->
    …
    <!-- apm-hooks:end NAME -->

Everything outside the two lines belongs to the file's owner and keeps every byte.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from apm_hooks.errors import SettingsError, UsageError

BOM = "\ufeff"
_MARK = re.compile(
    r"^\ufeff?(?P<mark>[ \t]*<!-- apm-hooks:(?P<kind>begin|end) (?P<name>[a-z0-9-]+) -->[ \t]*)(?=\r?$)",
    re.MULTILINE,
)
_NAME = re.compile(r"[a-z0-9-]+")


@dataclass(frozen=True, slots=True)
class Block:
    """A block found in a text: `text[start:end]` from its first marker to the end of its last one.

    `body` is what stands between, without the line ends next to the markers; `line` (from 1) is the first
    marker's.
    """

    start: int
    end: int
    body: str
    line: int


def find_block(text: str, name: str, *, file: str = "") -> Block | None:
    """The block `name`, or None.

    Raises SettingsError, with `file` and line, for markers that do not pair up: a begin without its end, an
    end without its begin, a block that stands twice, another block's marker inside.
    """
    found: Block | None = None
    begin: re.Match[str] | None = None
    for mark in _MARK.finditer(text):
        ours = mark["name"] == name
        if begin is None and ours and mark["kind"] == "begin":
            if found is not None:
                _refuse(text, mark, name, "the block stands twice", file)
            begin = mark
        elif begin is not None and ours and mark["kind"] == "end":
            body = text[begin.end() : mark.start("mark")]
            body = body.removeprefix("\r").removeprefix("\n").removesuffix("\n").removesuffix("\r")
            line = text.count("\n", 0, begin.start("mark")) + 1
            found = Block(begin.start("mark"), mark.end(), body, line)
            begin = None
        elif begin is not None:
            _refuse(text, begin, name, "the block begins and does not end", file)
        elif ours:
            _refuse(text, mark, name, "the block ends and did not begin", file)
    if begin is not None:
        _refuse(text, begin, name, "the block begins and does not end", file)
    return found


def put_block(text: str, name: str, body: str, *, file: str = "") -> str:
    """The text with the block `name` holding `body`: in the old block's place, else appended.

    An appended block stands one blank line below what was there last; a file that ends without a newline
    still does. Lines end as the file's first line does, or the old block's. Raises UsageError for a name that
    no marker can hold or a body that holds a marker, and SettingsError as `find_block` does.
    """
    if not _NAME.fullmatch(name) or _MARK.search(body):
        raise UsageError(f"a block cannot have the name {name!r} and this body")
    old = find_block(text, name, file=file)
    newline = _newline(text if old is None else text[old.start : old.end])
    lines = [f"<!-- apm-hooks:begin {name} -->", *_lines(body), f"<!-- apm-hooks:end {name} -->"]
    block = newline.join(lines)
    if old is not None:
        return text[: old.start] + block + text[old.end :]
    if text in ("", BOM):
        return text + block + newline
    if text.endswith("\n"):
        return text + newline + block + newline
    return text + newline * 2 + block


def drop_block(text: str, name: str, *, file: str = "") -> str:
    """The text without the block `name`; what `put_block` appended goes byte for byte.

    The blank line above goes too, unless it now parts two paragraphs. Raises SettingsError as `find_block`
    does.
    """
    block = find_block(text, name, file=file)
    if block is None:
        return text
    before, after = text[: block.start], text[block.end :]
    if not after:
        return _chomped(_chomped(before))
    after = after.removeprefix("\r").removeprefix("\n")
    if not after or after.startswith(("\n", "\r\n")):
        shorter = _chomped(before)
        before = shorter if shorter.endswith("\n") else before
    return before + after


def _lines(body: str) -> list[str]:
    return body.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _chomped(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text


def _newline(text: str) -> str:
    """The file's own line end. A text that ends in a lone carriage return would swallow a bare newline."""
    cut = text.find("\n")
    return "\r\n" if text.endswith("\r") or (cut > 0 and text[cut - 1] == "\r") else "\n"


def _refuse(text: str, mark: re.Match[str], name: str, cause: str, file: str) -> NoReturn:
    raise SettingsError(
        cause,
        file=file,
        line=text.count("\n", 0, mark.start("mark")) + 1,
        key=name,
        remedy="Mend or delete the marker lines by hand, then run the command again.",
    )
