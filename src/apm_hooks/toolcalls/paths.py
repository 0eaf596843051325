"""From the word that an agent wrote for a path to the absolute paths that a tool could make of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

_BLANKS = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_LINES = re.compile(r"(?::\d+(?:[-:,]\d+)?|#L?\d+(?:-L?\d+)?)\Z")
_LINES_CHARS = 40
_QUOTES = "'\"`"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
_WEB = frozenset({"http", "https", "ftp", "ftps", "ws", "wss", "data", "mailto", "blob", "about"})
_SOMEBODY = re.compile(r"~[A-Za-z_][A-Za-z0-9_-]*(?=/|\Z)")
_VARIABLE = re.compile(r"(?:\$\{(\w+)\}|\$(?:env:)?(\w+)|%(\w+)%)(?=[/\\]|\Z)", re.IGNORECASE)
_ESCAPED = re.compile(rb"%([0-9A-Fa-f]{2})")
_BEGINS = re.compile(
    r"@?(?:[/~]|\.\.?(?:[/\\]|\Z)|[A-Za-z]:[/\\]|\\\\|file:|\$\{?\w+\}?[/\\]|\$env:\w+[/\\]|%\w+%[/\\])", re.IGNORECASE
)
_ENDS = re.compile(r"\.\w{1,8}\Z")
_ENDS_CHARS = 16


class Why(StrEnum):
    """Why something of a tool call cannot be judged. The values are stable; what a shell command leaves open has the
    reasons of its own reader besides."""

    NOT_TEXT = "not-text"
    """Something else stands where a text belongs."""
    ARGUMENTS = "arguments"
    """A known tool without the arguments that it cannot do without."""
    NUL = "nul"
    DIRECTORY = "directory"
    """A relative path, and the directory it starts from is not known."""
    HOME = "home"
    """`~` of somebody whose home is not known."""
    VARIABLE = "variable"
    """A path that begins with a variable, which some hosts fill in."""
    URI = "uri"
    """A file on another machine, as it is written."""
    PATCH = "patch"
    """A patch that names no file in a known way, or stands in a command that moves about."""
    INLINE_CODE = "inline-code"
    INPUT = "input"
    """Text for a running program."""
    OTHER_SHELL = "other-shell"
    """A command for a shell that is not read here."""
    TOO_MUCH = "too-much"
    TOO_DEEP = "too-deep"


@dataclass(frozen=True, slots=True)
class Base:
    """What paths start from: the working directory and what `~` stands for, absolute and normalised, or empty."""

    cwd: str
    home: str


@dataclass(frozen=True, slots=True)
class Placed:
    """The absolute paths that a word may mean, likeliest first, and what of it cannot be told."""

    paths: tuple[str, ...]
    reasons: tuple[Why, ...] = ()


def normal(path: str) -> str:
    """An absolute path without `.`, `..` and empty components, by its letters alone."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


def base_of(cwd: str, home: str) -> Base:
    """The base of a tool call. What is not an absolute path counts as not known."""
    return Base(_known(cwd), _known(home))


def _known(path: str) -> str:
    return normal(path) if path.startswith("/") and "\0" not in path else ""


def placed(word: str, base: Base) -> Placed:
    """Every absolute path that a tool could take the word for, by its letters alone.

    Hosts differ: some take away blanks or quotes around it, a leading `@` or a line range behind it, and read wide
    blanks as plain ones; each such reading is given after the word as it stands. `..` is resolved by letters, and kept
    in one more path for a system that would follow a link before it. `file:` URIs are decoded.
    """
    if "\0" in word:
        return Placed((), (Why.NUL,))
    places = _Places(base)
    for spelling in _spellings(word):
        places.add(spelling)
    return Placed(tuple(places.paths), tuple(places.reasons))


def looks_like_path(text: str) -> bool:
    """Whether a text reads like one path: it begins as paths do, or is one line with a separator or a file's ending."""
    bare = text.strip().lstrip("\ufeff")
    if _BEGINS.match(bare):
        return True
    scheme = _SCHEME.match(bare)
    if not bare or "\n" in bare or (scheme and scheme[1].lower() in _WEB):
        return False
    return "/" in bare or "\\" in bare or bool(_ENDS.search(bare[-_ENDS_CHARS:]))


def begins_like_path(text: str) -> bool:
    """Whether a text begins as only paths do: `/`, `~`, `./`, a drive, `file:`."""
    return bool(_BEGINS.match(text.strip()))


def _spellings(word: str) -> list[str]:
    # To a host that trims, a blank word is none: the directory itself.
    found = [word] if word.strip() else [word, "."]
    for change in (_trimmed, _unquoted, _unmarked, _plain, _unlined):
        found += [other for form in found if (other := change(form)) and other not in found]
    return found


def _trimmed(word: str) -> str:
    return word.strip().strip("\ufeff").strip()


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 2 and word[0] == word[-1] and word[0] in _QUOTES else word


def _unmarked(word: str) -> str:
    return word.removeprefix("@")


def _plain(word: str) -> str:
    return _BLANKS.sub(" ", word)


def _unlined(word: str) -> str:
    return word[:-_LINES_CHARS] + _LINES.sub("", word[-_LINES_CHARS:])


class _Places:
    def __init__(self, base: Base) -> None:
        self.base = base
        self.paths: dict[str, None] = {}
        self.reasons: dict[Why, None] = {}

    def add(self, spelling: str) -> None:
        scheme = _SCHEME.match(spelling)
        if scheme and scheme[1].lower() == "file":
            self._uri(spelling[scheme.end() :])
            return
        if scheme and scheme[1].lower() not in _WEB and spelling.startswith("//", scheme.end()):
            self._path("/" + spelling[scheme.end() + 2 :].partition("/")[2])
        self._path(spelling)

    def _uri(self, rest: str) -> None:
        cut = re.split(r"[?#]", rest, maxsplit=1)[0]
        for form in dict.fromkeys((cut, rest)):
            text = _decoded(form)
            if "\0" in text:
                self.reasons[Why.NUL] = None
            elif not text.startswith("//"):
                self._path(text)
            else:
                authority, _, path = text[2:].partition("/")
                if authority.lower() not in ("", "localhost", "127.0.0.1"):
                    self.reasons[Why.URI] = None
                    self._path(authority + "/" + path)
                self._path("/" + path)

    def _path(self, text: str) -> None:
        if text == "~" or text.startswith("~/"):
            self._below(self.base.home, text[1:], Why.HOME)
            return
        if _SOMEBODY.match(text):
            self.reasons[Why.HOME] = None
        if variable := _VARIABLE.match(text):
            name = (variable[1] or variable[2] or variable[3]).upper()
            if name in ("HOME", "USERPROFILE"):
                self._below(self.base.home, text[variable.end() :], Why.HOME)
            elif name == "PWD":
                self._below(self.base.cwd, text[variable.end() :], Why.DIRECTORY)
            else:
                self.reasons[Why.VARIABLE] = None
        if text.startswith("/"):
            self._absolute(text)
        else:
            self._below(self.base.cwd, text, Why.DIRECTORY)

    def _below(self, folder: str, rest: str, missing: Why) -> None:
        if folder:
            self._absolute(f"{folder}/{rest}")
        else:
            self.reasons[missing] = None

    def _absolute(self, path: str) -> None:
        self.paths[normal(path)] = None
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if ".." in parts:
            self.paths["/" + "/".join(parts)] = None


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    data = _ESCAPED.sub(lambda match: bytes((int(match[1], 16),)), text.encode("utf-8", "surrogatepass"))
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")
