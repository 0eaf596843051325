"""Bytes of a memory file → its text, by a stated rule that loses nothing in silence."""

from __future__ import annotations

from apm_hooks.errors import MemoryFileError

_MARKS = (b"\xff\xfe", b"\xfe\xff")

_PADDING = 8
"""Zeros at the end of a file, from so many on, are what a crash leaves behind, not text."""

_UNREADABLE = 10
"""One character in so many may be such as no person writes; with more, the bytes are no text."""


def decode(data: bytes, path: str = "") -> tuple[str, str]:
    """Text of `data` with LF line ends, and a note on what was odd (empty: nothing).

    UTF-8, with or without BOM, is returned as it is. UTF-16 with BOM; UTF-8 and UTF-16 of either byte order one behind
    the other, from any offset on; UTF-16 without BOM. Bytes that fit no reading are shown as `\\xNN`; zeros at the end
    of a file are left out. Where more than a tenth of the characters is such as no person writes, it is no text:
    raises MemoryFileError with `path`. Work is linear in the bytes.
    """
    text, note = _decode_plain(data) or _decode_odd(data.removeprefix(b"\xef\xbb\xbf"), path)
    return text.replace("\r\n", "\n").replace("\r", "\n"), note


def _decode_plain(data: bytes) -> tuple[str, str] | None:
    if b"\0" in data:
        return None
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8"), ""
    except UnicodeDecodeError:
        return None


def _decode_odd(body: bytes, path: str) -> tuple[str, str]:
    from apm_hooks.mixtures import decode_parts

    kept = len(body.rstrip(b"\0"))
    padded = len(body) - kept >= _PADDING
    # The first zero may be the second half of the last letter.
    parts = decode_parts(body[: kept + 1] if padded else body)
    text = "".join(part.text for part in parts)
    unwritten = sum(part.unwritten for part in parts)
    if padded and text.endswith("\0"):
        text, unwritten = text[:-1], unwritten - 1
    if unwritten * _UNREADABLE > len(text) or (padded and not kept):
        raise MemoryFileError("is no text", file=path, remedy="Save it as UTF-8.")
    names = [part.encoding for part in parts]
    notes = [_note(names, marked=body.startswith(_MARKS))] if unwritten or names != ["UTF-8"] else []
    if padded:
        notes.append("zeros at its end left out")
    return text, ", ".join(notes)


def _note(names: list[str], *, marked: bool) -> str:
    match names:
        case ["UTF-8"]:
            return "bytes that are not UTF-8"
        case [name]:
            return "UTF-16" if marked else f"{name} without a mark"
        case [head, tail]:
            return f"{head} with a {tail} tail"
        case _:
            return f"{' and '.join(sorted(set(names)))} by turns"
