"""The pieces of a fact's line, recognised in one place for the parser, the near misses and the linter."""

from __future__ import annotations

import re
from urllib.parse import unquote

from apm_hooks.names import without_invisible

DOT = "·"
SO = "**So:**"
SLUG_CHARS = 100

_RUN = re.compile(r"`+")
_SLUG = re.compile(r"[^\s`*\[\]()<>/\\|#?\":.\-\x00-\x1f\x7f-\x9f][^\s`*\[\]()<>/\\|#?\":\x00-\x1f\x7f-\x9f]*")
SO_LIKE = re.compile(
    r"(?:\*\*|__)[ \t]*so[ \t]*[:：][ \t]*(?:\*\*|__)|(?:\*\*|__)so(?:\*\*|__)[ \t]*[:：]"
    r"|(?<![*_])[*_]so[ \t]*[:：][*_]",
    re.IGNORECASE,
)
"""`So:` in bold or italics, in any spelling."""
SO_BARE = re.compile(r"(?<![\w*_-])So[ \t]*[:：]")
"""`So:` without any mark."""
NOTE_LIKE = re.compile(r"\[[ \t]*notes?[ \t]*\][ \t]*\(", re.IGNORECASE)
_NOTE = re.compile(r"\[note\]\((<[^<>]*>|[^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)(?: \"[^\"]*\")?\)")
_LINK = re.compile(r"\]\((<[^<>]*>|[^\s<>()]*)")
_REFERENCE = re.compile(r"\[\[([^\[\]\s](?:[^\[\]]{0,198}[^\[\]\s])?)\]\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def is_slug(text: str) -> bool:
    """Whether a text can be a slug: letters and digits of any script, hyphens, dots and the like, no white space."""
    return len(text) <= SLUG_CHARS and _SLUG.fullmatch(text) is not None


def slug_key(slug: str) -> str:
    """What makes two slugs the same: case, Unicode form and what nobody sees do not tell them apart."""
    if slug.isascii():
        return slug.lower()
    from unicodedata import normalize

    return normalize("NFC", normalize("NFC", without_invisible(slug)).casefold())


def without_code(text: str) -> str:
    """The text with blanks in the place of code spans, so that columns stay. Linear in the text."""
    if "`" not in text:
        return text
    runs = [(match.start(), match.end()) for match in _RUN.finditer(text)]
    waiting: dict[int, list[int]] = {}
    for number in range(len(runs) - 1, -1, -1):
        waiting.setdefault(runs[number][1] - runs[number][0], []).append(number)
    out, at, number = [], 0, 0
    while number < len(runs):
        start, end = runs[number]
        same = waiting[end - start]
        while same and same[-1] <= number:
            same.pop()
        if not same:
            number += 1
            continue
        stop = runs[same[-1]][1]
        out += [text[at:start], " " * (stop - start)]
        at, number = stop, same[-1] + 1
    return "".join((*out, text[at:]))


def note_link(masked: str, text: str) -> tuple[int, str] | None:
    """The note link at a line's end, as (where its middle dot stands, target); `masked` is the text without code."""
    at = masked.rfind(f" {DOT} [note](")
    if at < 0:
        return None
    found = _NOTE.fullmatch(text, at + 3)
    return (at + 1, found[1]) if found else None


def links_into_notes(masked: str) -> list[tuple[int, str]]:
    """The targets of links into `notes/`, each with its place (from 0)."""
    if "](" not in masked:
        return []
    found = ((match.start(1), match[1]) for match in _LINK.finditer(masked))
    return [(at, target) for at, target in found if note_path(target)[0]]


def note_path(target: str) -> tuple[str, str]:
    """A link's target → the note's path below `memory/notes/`, and, where it names none there, why not, in words.

    Anchors, percent signs, pointed brackets and a leading `./` are read as markdown reads them.
    """
    plain = target[1:-1] if target.startswith("<") and target.endswith(">") else target
    plain = unquote(plain.partition("#")[0].partition("?")[0])
    if not plain:
        return "", "names no file"
    if _SCHEME.match(plain) or plain.startswith("/") or "\\" in plain or "\0" in plain:
        return "", "lies outside memory/notes/"
    parts: list[str] = []
    for part in plain.split("/"):
        if part == "..":
            if not parts:
                return "", "lies outside memory/notes/"
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    if len(parts) < 2 or parts[0] != "notes":
        return "", "lies outside memory/notes/"
    return same_name("/".join(parts[1:])), ""


def same_name(name: str) -> str:
    """A file's name as it is compared: some systems store it decomposed."""
    if name.isascii():
        return name
    from unicodedata import normalize

    return normalize("NFC", name)


def references(masked: str) -> list[tuple[int, str]]:
    """The slugs that `[[slug]]`, `[[slug|words]]` and `[[slug#part]]` name, each with its place (from 0)."""
    if "[[" not in masked:
        return []
    return [
        (match.start(), match[1].partition("|")[0].partition("#")[0].strip()) for match in _REFERENCE.finditer(masked)
    ]
