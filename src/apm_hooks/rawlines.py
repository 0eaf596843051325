"""Bytes of a memory file as lines that can be edited one by one, while all others keep every byte.

A line's text is what `decoding.decode` shows of it; its bytes stay as they are, whatever they are: line ends, byte
order marks, a stretch in another encoding, bytes that fit none, zeros at the end. What is new is written in the
encoding, and with the line end, of the line above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from apm_hooks.decoding import decode
from apm_hooks.errors import MemoryFileError

_BOM = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
_PADDING = 8
_BYTE_LINES = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_TEXT_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_UTF8 = "utf-8"


@dataclass(frozen=True, slots=True)
class RawLine:
    """One line: its text, its bytes without the end, the encoding at its end, the end in the text and in bytes."""

    text: str
    body: bytes
    codec: str
    end: str = ""
    end_bytes: bytes = b""


@dataclass(frozen=True, slots=True)
class RawText:
    """A file: the mark before its lines, the lines, what stands behind them.

    `closed`: its last line has an end; an empty file counts as closed. `codec` is the encoding it begins in.
    """

    mark: bytes
    lines: tuple[RawLine, ...]
    tail: bytes
    closed: bool
    codec: str

    @property
    def texts(self) -> list[str]:
        """The lines as text, without ends."""
        return [line.text for line in self.lines]


@dataclass(frozen=True, slots=True)
class Edit:
    """`lines` in the place of `drop` lines from index `at` (from 0) on; with `drop` 0 they go in before it."""

    at: int
    lines: tuple[str, ...]
    drop: int = 0


def apply_edits(lines: Sequence[str], edits: Sequence[Edit]) -> list[str]:
    """The lines with the edits made, which may not overlap."""
    after = list(lines)
    for edit in sorted(edits, key=lambda edit: edit.at, reverse=True):
        after[edit.at : edit.at + edit.drop] = edit.lines
    return after


def split_raw(data: bytes, path: str = "") -> RawText:
    """The lines of a file with all that is needed to put it together again byte for byte.

    Raises MemoryFileError, with `path`, for what is no text.
    """
    shown, _ = decode(data, path)
    mark, body, tail, codec, pieces = _pieces(data)
    lines = list(_lines(pieces))
    if tail and lines and lines[-1].text.endswith("\0"):
        # The first of the zeros at the end, which was kept in case it were half of the last letter.
        cut = len("\0".encode(lines[-1].codec))
        last = lines[-1]
        tail = last.body[-cut:] + tail
        lines[-1] = replace(last, text=last.text[:-1], body=last.body[:-cut])
    closed = not lines or bool(lines[-1].end)
    raw = RawText(mark, tuple(lines), tail, closed, codec)
    if "\n".join([*raw.texts, ""] if closed and lines else raw.texts) != shown or join_raw(raw) != mark + body:
        raise _unkept(path)
    return raw


def join_raw(raw: RawText) -> bytes:
    """The file's bytes."""
    return b"".join((raw.mark, *(line.body + line.end_bytes for line in raw.lines), raw.tail))


def rewrite(raw: RawText, edits: Sequence[Edit], path: str = "") -> bytes:
    """The file's bytes with the edits made; they may not overlap. Whether its last line has an end stays as it is.

    Raises MemoryFileError where the new text could not be read back from the file's encoding.
    """
    lines = list(raw.lines)
    for edit in sorted(edits, key=lambda edit: edit.at, reverse=True):
        lines[edit.at : edit.at + edit.drop] = _written(raw, edit, path)
    for number, line in enumerate(lines[:-1]):
        if not line.end:
            lines[number] = _ended(line, _newline(raw, number))
    grown = any(edit.lines and edit.at + edit.drop == len(raw.lines) for edit in edits)
    if grown and not raw.closed:
        lines[-1] = replace(lines[-1], end="", end_bytes=b"")
    closed = bool(lines) and bool(lines[-1].end)
    after = RawText(raw.mark, tuple(lines), raw.tail, closed, raw.codec)
    data = join_raw(after)
    try:
        shown = decode(data, path)[0]
    except MemoryFileError:
        raise _unkept(path) from None
    if shown != "\n".join([*after.texts, ""] if closed else after.texts):
        raise _unkept(path)
    return data


def _unkept(path: str) -> MemoryFileError:
    return MemoryFileError(
        "has an encoding in which this text cannot be told from another", file=path, remedy="Save it as UTF-8 first."
    )


def _written(raw: RawText, edit: Edit, path: str) -> list[RawLine]:
    replaced = raw.lines[edit.at : edit.at + edit.drop]
    above = raw.lines[edit.at - 1 : edit.at] if edit.at else ()
    codec = next((line.codec for line in (*replaced, *above)), raw.codec)
    newline = next((line.end for line in (*replaced, *above) if line.end), "") or _newline(raw, edit.at)
    made = [RawLine(text, text.encode(codec), codec) for text in edit.lines]
    if edit.drop == 1 and made:
        made[0] = _reworded(replaced[0], made[0], path)
    return [_ended(line, newline) for line in made]


def _reworded(old: RawLine, new: RawLine, path: str) -> RawLine:
    """A line in another's place. Where the old one holds bytes that are no text, they stay, and only what is put in
    behind its first letters of ASCII can be told from them."""
    if old.text.encode(old.codec, "surrogatepass") == old.body:
        return new
    added = len(new.text) - len(old.text)
    pairs = enumerate(zip(old.text, new.text, strict=False))
    same = next((at for at, (was, now) in pairs if was != now or not was.isascii()), len(old.text))
    if added <= 0 or new.text[same + added :] != old.text[same:]:
        raise _unkept(path)
    codecs = (old.codec, _UTF8, "utf-16-le", "utf-16-be")
    codec = next((each for each in codecs if old.body.startswith(old.text[:same].encode(each))), old.codec)
    head = len(old.text[:same].encode(codec))
    piece = new.text[same : same + added].encode(codec)
    return replace(old, text=new.text, body=old.body[:head] + piece + old.body[head:])


def _ended(line: RawLine, newline: str) -> RawLine:
    return replace(line, end=newline, end_bytes=newline.encode(line.codec))


def _newline(raw: RawText, at: int) -> str:
    """The line end in use above `at`, else anywhere."""
    above = (line.end for line in reversed(raw.lines[:at]) if line.end)
    return next(above, "") or next((line.end for line in raw.lines if line.end), "\n")


def _pieces(data: bytes) -> tuple[bytes, bytes, bytes, str, Iterator[tuple[str, bytes, str]]]:
    """Mark, bytes behind it, zeros at the end, first encoding, and the pieces of lines as (text, bytes, encoding)."""
    mark = _BOM if data.startswith(_BOM) else b""
    body = data[len(mark) :]
    if b"\0" not in data and _is_utf8(body):
        return mark, body, b"", _UTF8, _byte_pieces(body)
    from apm_hooks.mixtures import spans

    kept = len(body.rstrip(b"\0"))
    stop = kept + 1 if len(body) - kept >= _PADDING else len(body)
    parts = [(body[start:end], codec) for start, end, codec in spans(body[:stop])]
    if not mark and body.startswith(_WIDE_MARKS):
        mark, body, stop = body[:2], body[2:], stop - 2
        parts[0] = (parts[0][0][2:], parts[0][1])

    def pieces() -> Iterator[tuple[str, bytes, str]]:
        for number, (part, codec) in enumerate(parts):
            inner = number > 0 or mark not in _WIDE_MARKS
            yield from _byte_pieces(part) if codec == _UTF8 else _wide_pieces(part, codec, inner)

    return mark, body, body[stop:], parts[0][1], pieces()


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode(_UTF8)
    except UnicodeDecodeError:
        return False
    return True


def _byte_pieces(part: bytes) -> Iterator[tuple[str, bytes, str]]:
    for match in _BYTE_LINES.finditer(part):
        yield match[0].decode(_UTF8, "backslashreplace"), match[0], _UTF8


def _wide_pieces(part: bytes, codec: str, may_be_marked: bool) -> Iterator[tuple[str, bytes, str]]:
    whole = len(part) // 2 * 2
    text = part[:whole].decode(codec, "surrogatepass")
    for number, match in enumerate(_TEXT_LINES.finditer(text)):
        data = match[0].encode(codec, "surrogatepass")
        shown = data.decode(codec, "backslashreplace")
        yield shown if number or not may_be_marked else shown.removeprefix("\ufeff"), data, codec
    if whole < len(part):
        yield part[whole:].decode(codec, "backslashreplace"), part[whole:], codec


def _lines(pieces: Iterator[tuple[str, bytes, str]]) -> Iterator[RawLine]:
    """Pieces put together into lines: an encoding may change inside one, and inside a CRLF."""
    held: RawLine | None = None
    for text, data, codec in pieces:
        if held is not None and held.end == "\r" and text == "\n":
            held = replace(held, end="\r\n", end_bytes=held.end_bytes + data)
            continue
        if held is not None and held.end:
            yield held
            held = None
        bare = text.rstrip("\r\n")
        end = text[len(bare) :]
        end_bytes = end.encode(codec)
        body = data[: len(data) - len(end_bytes)]
        if held is None:
            held = RawLine(bare, body, codec, end, end_bytes)
        else:
            held = RawLine(held.text + bare, held.body + body, codec, end, end_bytes)
    if held is not None:
        yield held
