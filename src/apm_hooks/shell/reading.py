"""A shell command, read: which files it could touch, and what of it cannot be judged (protocol, section 8).

Nothing is run and no file is looked at. What is understood comes out as uses; whatever is not comes out as a doubt, so
that nothing is passed over in silence. The command is read as bash reads it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Literal

from apm_hooks.errors import UsageError
from apm_hooks.shell.grammar import grammar_available, parse_grammar
from apm_hooks.shell.lex import NotAWordError, ansi_c, as_bytes, as_text
from apm_hooks.shell.plain import parse_plain
from apm_hooks.shell.records import (
    OPAQUE,
    SHELL_LIMITS,
    Doubt,
    Reading,
    Reason,
    ShellLimits,
    TooMuchError,
    Use,
    UseKind,
)
from apm_hooks.shell.state import State
from apm_hooks.shell.tree import Parsed
from apm_hooks.shell.values import Spot, normal
from apm_hooks.shell.walk import Walker

__all__ = ["OPAQUE", "SHELL_LIMITS", "Doubt", "Reading", "Reason", "ShellLimits", "Use", "UseKind", "could_name",
           "grammar_available", "read_command"]  # fmt: skip

_ANSI = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
# A continued line between two characters that make one operator or variable only when they touch.
_JOINS_TOKENS = re.compile(r"[^\s\w./@%+,:=~^\\-]\\\n(?=[^\s])|\\\n(?=[^\s\w./@%+,:=~^\\'\"$-])(?<=\S\\\n)")
_COMPONENT = re.compile(r"[^\s/'\"`$;&|<>(),=:{}]+")


def read_command(
    command: str, *, cwd: str, home: str = "", parser: Literal["auto", "grammar", "plain"] = "auto"
) -> Reading:
    """What the command could touch when it is run in `cwd` (absolute), `home` being what `~` stands for.

    `parser`: `grammar` needs the optional grammar, and raises `UsageError` without it; `plain` knows simple commands
    only and doubts the rest; `auto` takes the grammar where it is installed. Where the grammar finds a fault, the plain
    reading is given, with a doubt. Never raises otherwise, whatever the command is.
    """
    if parser == "grammar" and not grammar_available():
        raise UsageError(
            "the shell grammar is not installed", remedy="Install `apm-hooks[gate]`, or let the parser be chosen."
        )
    grammar = parser == "grammar" or (parser == "auto" and grammar_available())
    name = "grammar" if grammar else "plain"
    if "\0" in command:
        return Reading((), (Doubt(Reason.SYNTAX, command[:200].replace("\0", "\\0")),), name)
    if len(command) > SHELL_LIMITS.command_chars:
        return Reading((), (Doubt(Reason.TOO_LONG, command[:200]),), name)
    walker = Walker(_Parser(grammar=grammar), home)
    start = State(cwds=(Spot(normal(cwd)),) if cwd.startswith("/") else (Spot(""),))
    try:
        walker.code(command, start, None)
    except TooMuchError as stop:
        walker.record.doubt(stop.reason, command[:200])
    except RecursionError:
        # The caller's own stack may leave less room than is counted on.
        walker.record.doubt(Reason.TOO_DEEP, command[:200])
    return Reading(tuple(walker.record.uses), tuple(walker.record.doubts), name)


class _Parser:
    """Makes trees of the texts of one command, each once. What the grammar may cost is bounded over all of them."""

    def __init__(self, *, grammar: bool) -> None:
        self.grammar = grammar
        self.known: dict[str, Parsed] = {}
        self.work = 0
        self.chars = 0

    def __call__(self, source: str) -> Parsed:
        """The tree of a text, with a problem where the grammar cannot say."""
        if source not in self.known:
            self.chars += len(source)
            if self.chars > SHELL_LIMITS.parsed_chars:
                raise TooMuchError(Reason.TOO_MUCH)
            self.known[source] = self.parsed(source)
        return self.known[source]

    def parsed(self, source: str) -> Parsed:
        glued = _JOINS_TOKENS.search(source)
        if self.grammar and not glued:
            self.work += min(len(source.encode("utf-8", "replace")), SHELL_LIMITS.grammar_bytes) ** 2
            if self.work <= SHELL_LIMITS.grammar_work:
                try:
                    return parse_grammar(source)
                except NotAWordError:
                    pass
        # Where the plain reading knows all that stands there, it needs no grammar.
        plain = parse_plain(source)
        return Parsed(plain.body, (source, *plain.problems)) if plain.problems or glued else plain


def could_name(reading_or_text: Reading | str, names: Sequence[str]) -> bool:
    """Whether one of the names stands in the text, or in the words and paths of a reading.

    Quotes, escapes and line continuations are taken away, `$'…'` is decoded, letter case and Unicode form are folded;
    a pattern counts where it matches a name and has two characters of its own. Neither answer proves anything: code can
    put a name together, and a search needs none.
    """
    if isinstance(reading_or_text, Reading):
        reading = reading_or_text
        texts = [text for use in reading.uses for text in (use.path, use.word, *use.arguments)]
        texts += [text for doubt in reading.doubts for text in (doubt.word, *doubt.near)]
    else:
        texts = [reading_or_text]
    wanted = [_folded(name) for name in names if name]
    return any(_names(form, wanted) for text in texts for form in _forms(text))


def _forms(text: str) -> list[str]:
    joined = text.replace("\\\n", "")
    decoded = _ANSI.sub(lambda match: as_text(ansi_c(as_bytes(match[1]))), joined)
    bare = re.sub(r"['\"\\]", "", decoded)
    return list(dict.fromkeys(map(_folded, (text, joined, decoded, bare, re.sub(r"['\"\\]", "", joined)))))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _names(text: str, wanted: Sequence[str]) -> bool:
    if any(name in text for name in wanted):
        return True
    patterns = [
        part
        for part in set(_COMPONENT.findall(text))
        if not set("*?[").isdisjoint(part) and len(part) < 256 and len(re.sub(r"[*?\[\]!]", "", part)) > 1
    ]
    return any(fnmatchcase(part, pattern) for pattern in patterns for name in wanted for part in name.split("/"))
