"""The arguments of a tool call: found by name however it is spelled, and taken apart down to their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from apm_hooks.toolcalls.gathering import Gathering
from apm_hooks.toolcalls.paths import Why, looks_like_path

DEPTH = 64
LEAVES = 20_000
WORDS = 512
JSON_CHARS = 1_048_576

FILE = (
    "path file_path absolute_path file file_name full_path target_file relative_path relative_workspace_path uri"
    " notebook_path target_notebook paths file_paths files"
)
"""The names under which tools take the file that they work on, or several."""

PATH_NAMES = (
    "path paths file files folder folders dir dirs directory directories uri uris filename filenames root roots cwd"
    " workdir source destination src dst dest target targets glob document documents notebook attachment attachments"
    " image images output outfile infile"
)
_PATH_ENDINGS = ("path", "paths", "file", "files", "filename", "folder", "dir", "directory", "uri", "fullname")


@lru_cache(maxsize=2048)
def fold(name: str) -> str:
    """The name of a tool or an argument without case and separators: `filePath` and `file_path` are one."""
    return "".join(character for character in name.lower() if character.isalnum())


@lru_cache(maxsize=512)
def folded(names: str) -> frozenset[str]:
    """The names of a list that is written as one text, folded."""
    return frozenset(map(fold, names.split()))


def names_a_path(name: str) -> bool:
    """Whether a folded argument name says that its value is a path."""
    return name in folded(PATH_NAMES) or name.endswith(_PATH_ENDINGS)


@dataclass(frozen=True, slots=True)
class Odd:
    """A value that is no text: its type, or why it could not be taken apart (`deep`)."""

    shown: str
    deep: bool = False


@dataclass(frozen=True, slots=True)
class Leaf:
    """A text in an argument, and the folded name of the innermost argument that holds it."""

    name: str
    text: str


class Arguments:
    """The arguments of one call. What was taken is no longer in `rest`."""

    def __init__(self, given: Mapping[Any, Any]) -> None:
        self._items = [(key, _folded_key(key), value) for key, value in given.items() if value is not None]
        self._taken: set[str] = set()

    def take(self, names: str) -> list[Any]:
        """The values of all arguments that bear one of the names, in the order given."""
        wanted = folded(names)
        self._taken |= wanted
        return [value for _, name, value in self._items if name in wanted]

    def has(self, names: str) -> bool:
        """Whether one of them is given; takes nothing."""
        wanted = folded(names)
        return any(name in wanted for _, name, _ in self._items)

    def exact(self, names: str) -> list[Any]:
        """The values of the arguments that are spelled exactly so, but for empty ones; takes nothing."""
        wanted = names.split()
        return [value for key, _, value in self._items if key in wanted and value not in ("", [], ())]

    def text(self, names: str) -> str | None:
        """The only value under these names, if it is a text; None where there is none, another kind, or several that
        differ."""
        values = self.take(names)
        first = values[0] if values else None
        return first if isinstance(first, str) and all(value == first for value in values[1:]) else None

    def flag(self, names: str) -> bool:
        """Whether one of them says yes, in whatever form."""
        return any(
            value is True
            or (isinstance(value, str) and value.strip().lower() in ("true", "yes", "1"))
            or (isinstance(value, str) and value.strip().isdecimal() and len(value) < 9 and int(value) > 1)
            or (isinstance(value, int) and value > 1)
            for value in self.take(names)
        )

    def words(self, names: str) -> list[str | Odd]:
        """The path words in the arguments of these names: texts, lists of texts, lists of records with paths in them,
        and JSON that is written as a text. Empty texts are none."""
        found: list[str | Odd] = []
        for value in self.take(names):
            found += _words(value)
        return found

    def rest(self) -> dict[Any, Any]:
        """What was not taken."""
        return {key: value for key, name, value in self._items if name not in self._taken}


def path_words(arguments: Arguments, names: str, found: Gathering, *, needed: bool = True) -> list[str]:
    """The path words under these names. What is no text is noted as such, and so is that there is none, if `needed`."""
    given = arguments.words(names)
    for each in given:
        if isinstance(each, Odd):
            found.doubt(Why.TOO_DEEP if each.deep else Why.NOT_TEXT, each.shown)
    if needed and not given:
        found.doubt(Why.ARGUMENTS, "")
    words = list(dict.fromkeys(each for each in given if isinstance(each, str)))
    if len(words) > WORDS:
        found.doubt(Why.TOO_MUCH, "")
    return words[:WORDS]


def texts(arguments: Arguments, names: str) -> list[str]:
    """The texts under these names, lists taken apart."""
    return [each for each in records(arguments.take(names)) if isinstance(each, str)]


def leaves(given: Mapping[Any, Any]) -> Iterator[Leaf | Odd]:
    """Every text in the arguments, however deep, and the keys of nested records that read like paths.

    What is no JSON value, too deep, or too much is told as `Odd`.
    """
    stack: list[tuple[str, Any, int]] = [(_folded_key(key), value, 0) for key, value in given.items()][::-1]
    for count, (name, value, depth) in enumerate(_popped(stack)):
        if count >= LEAVES or depth > DEPTH:
            yield Odd("", deep=True)
            return
        inner: list[tuple[str, Any, int]] = []
        if isinstance(value, Odd):
            yield value
        elif isinstance(value, str):
            yield Leaf(name, value)
            parsed = _parsed(value, quoted=True)
            inner = [] if parsed is None else [(name, parsed, depth + 1)]
        elif isinstance(value, Mapping):
            for key in value:
                if isinstance(key, str) and looks_like_path(key):
                    yield Leaf("path", key)
            inner = [(_folded_key(key), each, depth + 1) for key, each in value.items()]
        elif isinstance(value, list | tuple | set | frozenset):
            inner = [(name, each, depth + 1) for each in value]
        elif value is not None and not isinstance(value, bool | int | float):
            yield Odd(type(value).__name__)
        stack += reversed(inner)


def records(values: Iterable[Any]) -> list[Any]:
    """The items of lists among the values, with JSON written as a text parsed first."""
    found: list[Any] = []
    for value in values:
        parsed = _parsed(value) if isinstance(value, str) else value
        found += parsed if isinstance(parsed, list | tuple) else [value if parsed is None else parsed]
    return found


def mapping(value: Any) -> Mapping[Any, Any] | None:
    """The record that a value is, also where it is JSON written as a text."""
    parsed = _parsed(value) if isinstance(value, str) else value
    return parsed if isinstance(parsed, Mapping) else None


def _popped(stack: list[tuple[str, Any, int]]) -> Iterator[tuple[str, Any, int]]:
    while stack:
        yield stack.pop()


def _words(value: Any) -> list[str | Odd]:
    items = value if isinstance(value, list | tuple) else [value]
    found: list[str | Odd] = [
        Odd(type(item).__name__) for item in items if item is None or isinstance(item, bool | int | float)
    ]
    for leaf in leaves({"path": value}):
        if isinstance(leaf, Odd):
            found.append(leaf)
        elif leaf.text and (names_a_path(leaf.name) or looks_like_path(leaf.text)):
            found.append(leaf.text)
    return found


def _folded_key(key: Any) -> str:
    return fold(key) if isinstance(key, str) and len(key) < 200 else ""


def _parsed(text: str, *, quoted: bool = False) -> Any:
    """The list or record that a text is, written as JSON, or also the text in quotes; None for any other text, `Odd`
    for one that is too much."""
    if text.lstrip()[:1] not in (("[", "{", '"') if quoted else ("[", "{")):
        return None
    if len(text) > JSON_CHARS:
        return Odd("", deep=True)
    from json import loads

    try:
        value = loads(text)
    except ValueError:
        return None
    except RecursionError:
        return Odd("", deep=True)
    return value if isinstance(value, list | dict | str) else None
