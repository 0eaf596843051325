"""Friendly names of groups: which may become a path, and which of them would meet (protocol, section 3).

A name is made for people and used as a file name on any system, so it may hold any script, and nothing that a
file system, a shell or a reader could take for something else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from apm_hooks.errors import NameRefusedError
from apm_hooks.records import LIMITS

# Unicode's format characters and default-ignorable code points. File systems that fold case skip most of them
# when they compare names, so two names that differ only here may be one file.
_IGNORABLE = (
    r"\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    r"\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    r"\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_IGNORED = re.compile(f"[{_IGNORABLE}]")
# Joiners and variation selectors are invisible too; Persian, Indic scripts, Mongolian and emoji need them.
_NEEDED = r"\u200c\u200d\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Controls, surrogates, line and paragraph separators; U+2800 is a blank that is no whitespace.
_UNSEEN = re.compile(rf"[\x00-\x1f\x7f-\x9f\u2028\u2029\u2800\ud800-\udfff]|(?![{_NEEDED}])[{_IGNORABLE}]")

_RESERVED_SIGNS = re.compile(r'[<>:"|?*]')
_ENCODED = re.compile(r"%(?:00|2e|2f|5c)", re.IGNORECASE)
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$", "clock$"}
    | {f"{port}{digit}" for port in ("com", "lpt") for digit in range(10)}
)
_OWN_SUFFIXES = (".md", ".json", ".lock")
_OWN_NAMES = frozenset(
    {
        "flush-state",
        "group_names",
        "index",
        "memory",
        "attention",
        "project",
        "projects",
        "experience",
        "people",
    }
    | {"conventions", "longterm", "daily-synced"}
)
# `{name}.md` would be a file that hosts load by themselves, whoever speaks, when they work in its folder.
_HOST_NAMES = frozenset({"agents", "claude", "gemini", "qwen"})
_OWN_PREFIXES = ("flush-state.", "group_names.")

_REMEDY = 'Choose a plain name such as "team-a": letters, digits, blanks, - and _ in any script'


def check_name(name: str, *, file: str = "", key: str = "") -> str:
    """The NFC form of a friendly name that may become a path below `memory/groups/` (protocol, section 3).

    A nested name (`parent/child`) obeys the rules component by component. Raises NameRefusedError with cause
    and remedy; `file` and `key` say where the name stands and are passed on to the error.
    """
    # Normalisation is not free: what is far too long is not looked at.
    if len(name) > LIMITS.name_depth * (LIMITS.name_bytes + 1):
        composed, cause = "", "it is too long"
    else:
        composed = name if name.isascii() else unicodedata.normalize("NFC", name)
        cause = _cause(composed)
    if cause:
        said = f"the name {printable(name)} is refused: {cause}"
        raise NameRefusedError(said, file=file, key=key, remedy=_REMEDY)
    return composed


def name_key(name: str) -> str:
    """What names share that differ only by case or Unicode form: NFKC, case-folded, nothing invisible.

    Equal keys of different texts mean that some file system, or some reader, takes them for one name.
    """
    if name.isascii():
        return name.lower()
    key, folded = "", name
    # Folding can undo a composition and stripping can allow one, so the steps repeat until nothing moves.
    while key != folded:
        key = folded
        folded = unicodedata.normalize("NFKC", without_invisible(unicodedata.normalize("NFKC", key).casefold()))
    return key


def without_invisible(text: str) -> str:
    """The text without format characters and other code points that folding file systems skip."""
    return text if text.isascii() else _IGNORED.sub("", text)


class Names:
    """Names used side by side: which of them would meet in one file or folder (protocol, section 3)."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._keys = {name: name_key(name) for name in names}
        self._texts: dict[str, str] = {}
        self._others: dict[str, str] = {}
        self._parents: set[str] = set()
        for name, key in self._keys.items():
            if self._texts.setdefault(key, name) != name:
                self._others[key] = name
            if "/" in key:
                self._parents.update(_parents(key))

    def clash(self, name: str) -> str:
        """Why `name` may not stand beside the others (case, Unicode form, nesting); empty where it may."""
        key = self._keys.get(name) or name_key(name)
        for other in (self._texts.get(key, name), self._others.get(key, name)):
            if other != name:
                return f"{printable(name)} and {printable(other)} differ only by case or Unicode form"
        if key in self._parents:
            return f"{printable(name)} is a group, and a name below it is one too"
        if "/" in key and any(parent in self._texts for parent in _parents(key)):
            return f"{printable(name)} lies below a name that is a group itself"
        return ""


def printable(text: str, chars: int = 200) -> str:
    """A text quoted for one line of a log or an error: at most `chars` characters, all others escaped."""
    return repr(text if len(text) <= chars else f"{text[:chars]}…")


def shell_word(text: str) -> str:
    """A text as one word of a shell; what a terminal would act on is written as an escape."""
    from shlex import quote

    if text.isprintable():
        return quote(text)
    escapes = {sign: f"\\U{ord(sign):08x}" for sign in text if not sign.isprintable()}
    return "$'" + "".join(escapes.get(sign, f"\\{sign}" if sign in "\\'" else sign) for sign in text) + "'"


def _parents(key: str) -> list[str]:
    """`a` and `a/b` for `a/b/c`."""
    parts = key.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _cause(name: str) -> str:
    """Why a composed name is refused; empty where it is not."""
    components = name.split("/")
    if len(components) > LIMITS.name_depth:
        return f"it is nested more than {LIMITS.name_depth} deep"
    for component in components:
        cause = _component_cause(component)
        if cause:
            return cause
    return ""


def _component_cause(part: str) -> str:
    if unseen := _UNSEEN.search(part):
        return f"it holds the character U+{ord(unseen[0]):04X}, which cannot be seen"
    key = name_key(part)
    return _path_cause(part, key) or _portable_cause(part, key) or _taken_cause(key)


def _path_cause(part: str, key: str) -> str:
    """What would lead elsewhere than to one file of this name; `key` shows what compatibility forms hide."""
    if not key:
        return "it is empty, or has an empty component"
    if "/" in key or "\\" in key:
        return "it holds a path separator"
    if key.startswith("."):
        return "a component is a dot, or starts with one"
    if _ENCODED.search(key):
        return "it holds an encoded dot or separator"
    if part.startswith("-"):
        return "a component starts with a dash, like an option"
    return ""


def _portable_cause(part: str, key: str) -> str:
    """What some file system refuses, or changes so that two names meet."""
    if sign := _RESERVED_SIGNS.search(part):
        return f"it holds {sign[0]}, which file names on some systems may not"
    if part != part.strip():
        return "a component starts or ends with a blank"
    if part.endswith("."):
        return "a component ends with a dot"
    if key.split(".", 1)[0].rstrip() in _DEVICES:
        return "it is the name of a Windows device"
    if len(part.encode()) > LIMITS.name_bytes:
        return f"a component is longer than {LIMITS.name_bytes} bytes"
    return ""


def _taken_cause(key: str) -> str:
    """What the protocol's own files, and those of hosts, are called."""
    if key.endswith(_OWN_SUFFIXES):
        return "it ends like a file of the protocol (.md, .json, .lock)"
    if key in _OWN_NAMES or key.startswith(_OWN_PREFIXES):
        return "it is the name of one of the protocol's own files"
    if key in _HOST_NAMES:
        return "with .md it is a file that hosts load by themselves"
    return ""
