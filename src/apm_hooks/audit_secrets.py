"""Secrets in memory files: a built-in set of high-confidence shapes, and a detector library where it is installed.

Nothing is sent anywhere, no configuration is read, and what was found is told by rule, line and length alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from apm_hooks.credentials import find_secrets
from apm_hooks.findings import Finding, Level, Rule
from apm_hooks.tables import find_tables, split_lines

SECRET = Rule("secret", Level.ERROR, "Memory holds no passwords, tokens or keys.")

_REMEDY = (
    "Take it out, change it where it is used, and keep it in a password manager or the environment; the file's history "
    "holds it too."
)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A secret that was seen: what it is, in words; its line (from 1); its column and length in characters, 0 where
    they are not known. Never the secret."""

    kind: str
    line: int
    column: int = 0
    length: int = 0


Detector = Callable[[str], Sequence[Sighting]]


def builtin_detector(text: str) -> list[Sighting]:
    """The secrets that the built-in shapes know, values in tables beside the name of a secret, and spoken passwords."""
    found = [Sighting(secret.kind, secret.line) for secret in find_secrets(text)]
    told = {sighting.line for sighting in found}
    return found + [each for each in (*_in_tables(text), *_spoken(text)) if each.line not in told]


_NAMES_SECRET = re.compile(
    r"(?i:secret|token|passw(?:or)?d|passcode|api[ _-]?key|private[ _-]?key|access[ _-]?key)|密码|密碼|密钥|密鑰"
    r"|秘钥|口令|令牌"
    r"|パスワード|トークン|秘密鍵|비밀번호|토큰|비밀\s?키"
)
_VALUE = re.compile(r"(?=[^\s]{0,200}\d)(?=[^\s]{0,200}[A-Za-z])[A-Za-z0-9_.:/+=~!@#$%^&-]{10,200}")
_NO_VALUE = re.compile(
    r"(?i:https?://|op://|vault:|env\b|[~./])|[\w./-]{1,200}\.(?:md|json|ya?ml|toml|env|txt|pem|key)\Z"
)
_CELL_CHARS = 400


_SPOKEN = re.compile(
    r"(?<![\w/.-])(?i:password|passwd|passcode|pwd)[ \t]{1,3}[`\"']?(?=[^\s]{0,100}\d)(?=[^\s]{0,100}[A-Za-z])"
    # A word with a year behind it is no password that anybody would spell out.
    r"(?=[^\s]{0,100}(?:[A-Z]|\d[A-Za-z]|[_.+!@#$%^&=~-]))(?P<value>[A-Za-z0-9_.+!@#$%^&=~-]{8,100})(?![\w/])"
)


def _spoken(text: str) -> Iterator[Sighting]:
    """`user x, password y`: a password that is told with nothing between the word and the value."""
    lines = split_lines(text) if _SPOKEN.search(text) else ()
    for number, line in enumerate(lines, 1):
        found = _SPOKEN.search(line)
        if found is not None and not _NO_VALUE.match(found["value"]):
            yield Sighting("a password", number, found.start("value") + 1, len(found["value"]))


def _in_tables(text: str) -> Iterator[Sighting]:
    if "|" not in text:
        return
    for table in find_tables(split_lines(text)):
        named = [at for at, cell in enumerate(table.header) if _NAMES_SECRET.search(cell[:_CELL_CHARS])]
        for line, cells in table.rows:
            columns = named or ([1] if len(cells) > 1 and _NAMES_SECRET.search(cells[0][:_CELL_CHARS]) else [])
            for value in (cells[at].strip("*`\"' ") for at in columns):
                if _VALUE.fullmatch(value) and not _NO_VALUE.match(value):
                    yield Sighting("a secret in a table", line, 0, len(value))


def detector(*, library: bool = True) -> Detector:
    """What finds secrets here: the built-in shapes, and the library of the extra `audit` beside them if it can be
    loaded and `library` is true."""
    scan = _library() if library else None
    if scan is None:
        return builtin_detector
    return lambda text: _merged(builtin_detector(text), _library_sightings(scan, text))


@cache
def _library() -> Callable[[str], Any] | None:
    try:
        scan: Callable[[str], Any] = import_module("betterleaks").scan_string
        # The compiled part is loaded at the first call, which is where a wheel for another machine fails.
        scan("")
    except Exception:  # noqa: BLE001 - a library that cannot be loaded in whatever way is one that is not there
        return None
    return scan


def _library_sightings(scan: Callable[[str], Any], text: str) -> list[Sighting]:
    # It reads a C string of UTF-8: a NUL would end it, and half of a surrogate pair is no UTF-8.
    given = text.replace("\0", " ").encode("utf-8", "replace").decode()
    try:
        found = list(scan(given))
    except Exception:  # noqa: BLE001 - the built-in shapes still count
        return []
    lines = split_lines(text)
    return [sighting for each in found if (sighting := _sighting(each, lines)) is not None]


def _sighting(found: Any, lines: Sequence[str]) -> Sighting | None:
    """What the library tells of a secret, checked; its columns count bytes, so that they are looked up anew."""
    number, value = found.location.start_line, found.match.value
    if not isinstance(number, int) or not isinstance(value, str) or not 1 <= number <= len(lines):
        return None
    first = value.split("\n")[0]
    column = lines[number - 1].find(first) + 1 if first else 0
    words = str(found.rule_id).replace("-", " ").replace("_", " ").strip()[:60]
    return Sighting(words or "a secret", number, column, len(value))


def _merged(ours: Sequence[Sighting], theirs: Sequence[Sighting]) -> list[Sighting]:
    """One sighting a line: the built-in set's words, with the library's place and length."""
    places: dict[int, Sighting] = {}
    for sighting in theirs:
        places.setdefault(sighting.line, sighting)
    merged = []
    for sighting in ours:
        place = places.pop(sighting.line, sighting)
        merged.append(Sighting(sighting.kind, sighting.line, place.column, place.length))
    return merged + list(places.values())


def secret_findings(text: str, path: str, detect: Detector) -> list[Finding]:
    """The findings on secrets in one file, one a line."""
    told: dict[int, Finding] = {}
    for sighting in detect(text):
        length = f", {sighting.length} characters long" if sighting.length else ""
        said = f"This looks like {_article(sighting.kind)}{length}."
        told.setdefault(
            sighting.line, Finding(SECRET.id, SECRET.level, path, sighting.line, sighting.column, said, _REMEDY)
        )
    return list(told.values())


def _article(kind: str) -> str:
    if kind.startswith(("a ", "an ")):
        return kind
    return f"{'an' if kind[:1].lower() in 'aeio' else 'a'} {kind}"
