"""The inside of one shell word: quotes, escapes, variables, and where commands stand in it.

Texts are handled as one character per byte (`as_bytes`), so that a parser's byte offsets are indexes; what becomes part
of a word is decoded again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from apm_hooks.shell.records import SHELL_LIMITS, Reason, TooMuchError
from apm_hooks.shell.tree import Arithmetic, Extglob, Part, Process, Substitution, Text, Variable, Word

SPECIALS = "@*#?-$!"
_PLAIN = re.compile(r"[^\\'\"$`<>|&;() \t\n?*+@!]+")
_LENIENT = re.compile(r"[^\\'\"$`<>?*+@!]+")
_IN_QUOTES = re.compile(r'[^\\"$`]+')
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACED = re.compile(
    r"(?P<bang>!?)(?P<count>#?)(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?P<index>\[[^\]]*\])?"
    r"(?P<op>:[-=+?]|[-=+?]|%%?|##?)?"
)
_BACKTICKS = re.compile(r"`(?:[^`\\]|\\.)*`", re.DOTALL)
_ANSI = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<u>[0-9A-Fa-f]{1,4})|U(?P<U>[0-9A-Fa-f]{1,8})"
    r"|c(?P<control>.)|(?P<simple>[abeEfnrtv\\'\"?]))",
    re.DOTALL,
)
_SIMPLE = {"a": 7, "b": 8, "e": 27, "E": 27, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}


class NotAWordError(Exception):
    """What was taken for one word is none. Never leaves the shell reader."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where something nested ends (index after it), what it is, and the sources of the commands in it.

    `kind` is `command`, `reads`, `writes` (process substitution), `arithmetic` or `braced`.
    """

    end: int
    kind: str
    sources: tuple[str, ...] = ()


def as_bytes(text: str) -> str:
    """The text with one character for each of its UTF-8 bytes."""
    return text.encode("utf-8", "surrogatepass").decode("latin-1")


def as_text(raw: str) -> str:
    """The opposite of `as_bytes`; bytes that are no UTF-8 stay as lone surrogates, as in file names."""
    data = raw.encode("latin-1", "replace")
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape")


def ansi_c(raw: str) -> str:
    """What `$'raw'` stands for, one character per byte; it ends at a NUL, as in the shell."""

    def decoded(match: re.Match[str]) -> str:
        if octal := match["octal"]:
            return chr(int(octal, 8) & 0xFF)
        if two := match["hex"]:
            return chr(int(two, 16))
        if code := match["u"] or match["U"]:
            point = int(code, 16)
            return as_bytes(chr(point)) if point <= 0x10FFFF else match[0]
        if control := match["control"]:
            return chr(ord(control) & 0x1F)
        simple = match["simple"]
        return chr(_SIMPLE[simple]) if simple in _SIMPLE else simple

    return _ANSI.sub(decoded, raw).split("\0", 1)[0]


def unescaped_backticks(raw: str, quoted: bool) -> str:
    """The command inside backticks, as the shell reads it a second time."""
    return re.sub(r'\\([$`\\"])' if quoted else r"\\([$`\\])", r"\1", raw)


class Lexer:
    """Reads words out of one source; `spans` says where the commands and braces nested in it are, by their start."""

    def __init__(self, raw: str, spans: Mapping[int, Span]) -> None:
        self.raw = raw
        self.spans = spans
        self.depth = 0

    def word(self, start: int, end: int, *, lenient: bool = False) -> Word:
        """The word that fills this range. `lenient`: blanks and operators are text (tests, words in braces).

        Raises `NotAWordError` where the range holds anything else.
        """
        parts: list[Part] = []
        raw, at = self.raw, start
        plain = _LENIENT if lenient else _PLAIN
        while at < end:
            match = plain.match(raw, at, end)
            if match:
                parts.append(Text(as_text(match[0]), quoted=False))
                at = match.end()
                continue
            char = raw[at]
            if char == "\\":
                at = self._escape(parts, at, end)
            elif char == "'":
                close = raw.find("'", at + 1, end)
                if close < 0:
                    raise NotAWordError
                parts.append(Text(as_text(raw[at + 1 : close]), quoted=True))
                at = close + 1
            elif char == '"':
                at = self._double(parts, at + 1, end)
            elif char == "$":
                at = self._dollar(parts, at, end, quoted=False)
            elif char == "`" or (at in self.spans and char in "<>"):
                at = self._nested(parts, at, end, quoted=False)
            elif char in "?*+@!" and raw.startswith("(", at + 1) and not lenient:
                at = self._extglob(parts, at, end)
            elif lenient or char in "?*+@!":
                parts.append(Text(char, quoted=False))
                at += 1
            else:
                raise NotAWordError
        return Word(tuple(parts), as_text(raw[start:end]))

    def heredoc(self, start: int, end: int) -> Word:
        """The text of a heredoc whose delimiter is not quoted."""
        parts: list[Part] = []
        self._quoted_run(parts, start, end, heredoc=True)
        return Word(tuple(parts), as_text(self.raw[start:end]))

    def _escape(self, parts: list[Part], at: int, end: int) -> int:
        if at + 1 >= end:
            parts.append(Text("\\", quoted=True))
        elif self.raw[at + 1] != "\n":
            parts.append(Text(as_text(self.raw[at + 1]) if self.raw[at + 1] < "\x80" else "", quoted=True))
            if self.raw[at + 1] >= "\x80":
                return at + 1
        return at + 2

    def _extglob(self, parts: list[Part], at: int, end: int) -> int:
        depth = 0
        for place in range(at + 1, end):
            depth += {"(": 1, ")": -1}.get(self.raw[place], 0)
            if self.raw[place] in "'\"\\$`":
                raise NotAWordError
            if not depth:
                parts.append(Extglob())
                return place + 1
        raise NotAWordError

    def _double(self, parts: list[Part], at: int, end: int) -> int:
        parts.append(Text("", quoted=True))
        return self._quoted_run(parts, at, end, heredoc=False) + 1

    def _quoted_run(self, parts: list[Part], at: int, end: int, *, heredoc: bool) -> int:
        raw = self.raw
        while at < end:
            match = _IN_QUOTES.match(raw, at, end)
            if match:
                parts.append(Text(as_text(match[0]), quoted=True))
                at = match.end()
                continue
            char = raw[at]
            if char == '"':
                if not heredoc:
                    return at
                parts.append(Text('"', quoted=True))
                at += 1
            elif char == "\\":
                following = raw[at + 1] if at + 1 < end else ""
                if following != "\n":
                    escapes = "$`\\" if heredoc else '$`"\\'
                    kept = following if following and following in escapes else "\\"
                    parts.append(Text(kept, quoted=True))
                    at += 2 if kept == following else 1
                else:
                    at += 2
            elif char == "$":
                at = self._dollar(parts, at, end, quoted=True)
            else:
                at = self._nested(parts, at, end, quoted=True)
        if not heredoc:
            raise NotAWordError
        return at

    def _dollar(self, parts: list[Part], at: int, end: int, *, quoted: bool) -> int:
        raw = self.raw
        following = raw[at + 1] if at + 1 < end else ""
        if following in {"(", "["} and (following == "(" or at in self.spans):
            return self._nested(parts, at, end, quoted=quoted)
        if following == "{":
            return self._braced(parts, at, end, quoted=quoted)
        if following == "'" and not quoted:
            close = self._ansi_end(at + 2, end)
            parts.append(Text(as_text(ansi_c(raw[at + 2 : close])), quoted=True))
            return close + 1
        if following == '"' and not quoted:
            return self._double(parts, at + 2, end)
        name = _NAME.match(raw, at + 1, end)
        if name:
            parts.append(Variable(name[0], quoted))
            return name.end()
        if following and (following.isdigit() or following in SPECIALS) and following < "\x80":
            parts.append(Variable(following, quoted))
            return at + 2
        parts.append(Text("$", quoted=True))
        return at + 1

    def _ansi_end(self, at: int, end: int) -> int:
        while at < end and self.raw[at] != "'":
            at += 2 if self.raw[at] == "\\" else 1
        if at >= end:
            raise NotAWordError
        return at

    def _nested(self, parts: list[Part], at: int, end: int, *, quoted: bool) -> int:
        span = self.spans.get(at)
        if self.raw[at] == "`":
            # It ends at the next one that is not escaped, whatever stands between them.
            match = _BACKTICKS.match(self.raw, at, end)
            span = Span(match.end(), "command") if match else None
        if span is None or span.end > end:
            raise NotAWordError
        if span.kind == "command":
            if self.raw[at] == "`":
                inside = unescaped_backticks(self.raw[at + 1 : span.end - 1], quoted)
            else:
                inside = self.raw[at + 2 : span.end - 1]
            parts.append(Substitution(as_text(inside), quoted))
        elif span.kind in {"reads", "writes"}:
            parts.append(Process(as_text(self.raw[at + 2 : span.end - 1]), span.kind == "reads"))
        elif span.kind == "arithmetic":
            parts.append(Arithmetic(span.sources))
        else:
            raise NotAWordError
        return span.end

    def _braced(self, parts: list[Part], at: int, end: int, *, quoted: bool) -> int:
        span = self.spans.get(at)
        if span is None or span.end > end or span.kind != "braced":
            raise NotAWordError
        stop = span.end - 1
        match = _BRACED.match(self.raw, at + 2, stop)
        if match is None:
            raise NotAWordError
        name, op, index = match["name"], match["op"] or "", (match["index"] or "")[1:-1]
        bang, count = bool(match["bang"]), bool(match["count"])
        self.depth += 1
        if self.depth > SHELL_LIMITS.brace_nesting:
            raise TooMuchError(Reason.TOO_DEEP)
        if "$" in index or "`" in index:
            raise NotAWordError
        rest = match.end()
        if count and rest == stop and not op:
            parts.append(Arithmetic())
        elif count:
            raise NotAWordError
        elif not op and rest == stop:
            parts.append(Variable(name, quoted, index=index, indirect=bang))
        elif op and not bang:
            dashes = op[-1] in "-=+?"
            arg = self._in_braces(rest, stop) if quoted and dashes else self.word(rest, stop, lenient=True)
            parts.append(Variable(name, quoted, op, arg, index))
        else:
            arg = self.word(rest, stop, lenient=True)
            parts.append(Variable(name, quoted, arg=arg, index=index, known=False))
        self.depth -= 1
        return span.end

    def _in_braces(self, start: int, end: int) -> Word:
        if '"' in self.raw[start:end]:
            raise NotAWordError
        return self.heredoc(start, end)
