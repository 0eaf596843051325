"""Words expanded as the shell expands them: braces, `~`, variables, substitutions, splitting, globs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from typing import Protocol

from apm_hooks.shell.braces import brace_words, merged
from apm_hooks.shell.records import SHELL_LIMITS, Reason, TooMuchError
from apm_hooks.shell.tree import Arithmetic, Extglob, Part, Process, Substitution, Text, Variable, Word
from apm_hooks.shell.values import GAP, GLOB, NUMBER, TEXT, TREE, Output, Value, joined, split_value, text_value

BLANKS = " \t\n"
_ASSIGN_TILDE = re.compile(r"([A-Za-z_]\w*\+?=)(~.*)", re.DOTALL)
_LIVE = re.compile(r"\*+|\?|\[")


def gap(reason: Reason) -> Value:
    """A word of which nothing is known."""
    return Value(((GAP, reason),))


class Scope(Protocol):
    """What expansion asks of the place where the word stands."""

    @property
    def separators(self) -> str | None:
        """`IFS`; None where it is not known."""

    def variable(self, name: str) -> Value:
        """The value of a variable or parameter."""

    def items(self, name: str) -> tuple[Value, ...] | None:
        """The items of an array, or of `@`; None where they are not known."""

    def tilde(self, user: str) -> Value | None:
        """What `~user` stands for; None where it stands for itself."""

    def substitute(self, source: str) -> Output:
        """Runs `$(source)`."""

    def process(self, source: str, reads: bool) -> Value:
        """Runs `<(source)` or `>(source)`: the file that stands for it."""

    def assign(self, name: str, value: Value) -> None:
        """`${name:=value}`."""


def fields(word: Word, scope: Scope) -> list[Value]:
    """The words that one becomes: none, one or more."""
    found: list[Value] = []
    for parts in brace_words(word.parts):
        found += _Builder(scope, word.raw, split=True).build(_with_home(parts, scope))
    if len(found) > SHELL_LIMITS.words:
        raise TooMuchError(Reason.TOO_MUCH)
    return found


def single(word: Word, scope: Scope) -> Value:
    """The one word that it becomes where nothing is split and no file names are made: assignments, here-texts."""
    built = _Builder(scope, word.raw, split=False).build(_with_home(merged(word.parts), scope))
    return built[0] if built else text_value("", word.raw)


def heredoc(word: Word, scope: Scope) -> Value:
    """The text of a heredoc or here-string: as `single`, but a `~` is a `~`."""
    built = _Builder(scope, word.raw, split=False).build(word.parts)
    return built[0] if built else text_value("", word.raw)


def _with_home(parts: tuple[Part, ...], scope: Scope) -> list[Part | Value]:
    first = parts[0] if parts else None
    if not isinstance(first, Text) or first.quoted or "~" not in first.text:
        return list(parts)
    match = _ASSIGN_TILDE.fullmatch(first.text)
    before, text = (match[1], match[2]) if match else ("", first.text)
    if not text.startswith("~"):
        return list(parts)
    user, slash, rest = text[1:].partition("/")
    if not slash and len(parts) > 1:
        return list(parts)
    home = scope.tilde(user)
    if home is None:
        return list(parts)
    return [Text(before, quoted=False), home, Text(slash + rest, quoted=False), *parts[1:]]


class _Builder:
    def __init__(self, scope: Scope, raw: str, *, split: bool) -> None:
        self.scope = scope
        self.raw = raw
        self.split = split
        self.done: list[Value] = []
        self.pieces: list[tuple[str, str]] = []
        self.quoted = False
        self.alone = False

    def build(self, parts: Sequence[Part | Value]) -> list[Value]:
        # What else stands in the word goes to the first or last of the names that a substitution prints.
        self.alone = self.split and sum(not isinstance(part, Text) or part.text != "" for part in parts) == 1
        for part in parts:
            if isinstance(part, Value):
                self.pieces += part.pieces
            elif isinstance(part, Text):
                self.quoted = self.quoted or part.quoted
                self.text(part.text, live=self.split and not part.quoted)
            elif isinstance(part, Variable):
                self.variable(part)
            elif isinstance(part, Substitution):
                self.substitution(part)
            elif isinstance(part, Process):
                self.pieces += self.scope.process(part.source, part.reads).pieces
            elif isinstance(part, Arithmetic):
                for source in part.sources:
                    self.scope.substitute(source)
                self.pieces += NUMBER.pieces
            elif isinstance(part, Extglob):
                self.pieces.append((GLOB, "*"))
        self.end()
        return self.done

    def end(self) -> None:
        if sum(len(text) for _, text in self.pieces) > SHELL_LIMITS.value_chars:
            raise TooMuchError(Reason.TOO_MUCH)
        if self.pieces or self.quoted:
            self.done.append(joined(Value(tuple(self.pieces)), raw=self.raw))
        self.pieces, self.quoted = [], False

    def text(self, text: str, *, live: bool) -> None:
        if not live:
            if text:
                self.pieces.append((TEXT, text))
            return
        at = 0
        for match in _LIVE.finditer(text):
            if match.start() < at:
                continue
            if match.start() > at:
                self.pieces.append((TEXT, text[at : match.start()]))
            at = match.end()
            mark = match[0]
            if mark == "[":
                mark, at = _bracket(text, match.start())
            elif len(mark) > 1:
                whole = text[: match.start()].endswith("/") or (not match.start() and not self.pieces)
                if whole and text[at : at + 1] in {"", "/"}:
                    self.pieces.append((TREE, ""))
                    continue
                mark = "*"
            self.pieces.append((GLOB, mark))
        if at < len(text):
            self.pieces.append((TEXT, text[at:]))

    def value(self, value: Value, quoted: bool) -> None:
        """Adds what a variable or substitution came to; unquoted text is split, and its globs are live."""
        if quoted or not self.split:
            self.quoted = self.quoted or quoted
            self.pieces += value.pieces
            return
        separators = self.scope.separators
        if value.has(GLOB) or value.has(TREE):
            # A name with a blank in it would fall apart.
            self.pieces.append((GAP, Reason.NAMES))
        for kind, text in value.pieces:
            if kind != TEXT:
                self.pieces.append((kind, text))
            elif separators is None:
                self.pieces.append((GAP, Reason.VARIABLE))
            else:
                self.splitted(text, separators)

    def splitted(self, text: str, separators: str) -> None:
        run: list[str] = []
        for char in text:
            if char not in separators:
                run.append(char)
                continue
            self.run(run)
            run = []
            if char not in BLANKS:
                self.quoted = True
            self.end()
        self.run(run, cut=len(run) < len(text))

    def run(self, chars: list[str], *, cut: bool = True) -> None:
        """One part of a text that is split."""
        self.text("".join(chars), live=True)
        if cut and "/" in chars:
            # Some shells do not split here: it may be a part of a path with a blank in it.
            self.pieces.append((GAP, Reason.NAMES))

    def variable(self, part: Variable) -> None:
        every = part.name in {"@", "*"} or part.index in {"@", "*"}
        if every and part.known and not part.op and not part.indirect:
            self.all_items(part)
            return
        self.value(self.variable_value(part), part.quoted)

    def all_items(self, part: Variable) -> None:
        items = self.scope.items(part.name)
        separators = self.scope.separators
        if items is None or not separators:
            self.value(gap(Reason.VARIABLE), part.quoted)
            return
        starred = "*" in {part.name, part.index}
        for number, item in enumerate(items):
            if number:
                if (starred and part.quoted) or not self.split:
                    self.pieces.append((TEXT, separators[0] if starred else " "))
                else:
                    self.end()
            self.value(item, part.quoted)
        if not items and part.quoted and not self.pieces:
            self.quoted = False

    def variable_value(self, part: Variable) -> Value:
        if part.index and part.indirect:
            value = gap(Reason.VARIABLE)
        elif part.index and part.index not in {"@", "*"}:
            items = self.scope.items(part.name)
            # Shells differ on where counting begins.
            value = items[0] if items is not None and len(set(items)) == 1 else gap(Reason.VARIABLE)
        else:
            value = self.scope.variable(part.name)
        if part.indirect and part.known:
            name = value.literal
            value = self.scope.variable(name) if name and name.isidentifier() else gap(Reason.VARIABLE)
        if part.arg is None:
            return value if part.known else gap(Reason.VARIABLE)
        arg = single(part.arg, self.scope)
        if not part.known or part.index in {"@", "*"}:
            return gap(Reason.VARIABLE)
        return self.operation(part, value, arg)

    def operation(self, part: Variable, value: Value, arg: Value) -> Value:
        text = value.literal
        if part.op[-1] in "-=+?":
            if text is None:
                return gap(Reason.VARIABLE)
            # A value that is known is set; whether empty counts as unset is the colon's matter.
            unset = not text and part.op.startswith(":")
            if part.op[-1] == "+":
                return text_value("") if unset else arg
            if unset and part.op[-1] == "=":
                self.scope.assign(part.name, arg)
            return arg if unset and part.op[-1] in "-=" else value
        pattern = arg.literal
        if text is None or pattern is None or len(text) > 255:
            return gap(Reason.VARIABLE)
        return text_value(_trimmed(text, pattern, part.op))

    def substitution(self, part: Substitution) -> None:
        output = self.scope.substitute(part.source)
        text = output.text
        if text is not None:
            self.value(text_value(text.rstrip("\n")), part.quoted)
        elif output.lines is None or self.scope.separators != BLANKS or not self.alone:
            self.value(gap(Reason.SUBSTITUTION), part.quoted)
        elif part.quoted:
            self.quoted = True
            self.pieces += (output.lines[0] if len(output.lines) == 1 else gap(Reason.SUBSTITUTION)).pieces
        else:
            for line in output.lines:
                for word in split_value(line):
                    self.value(word, quoted=False)
                    self.end()


def _bracket(text: str, start: int) -> tuple[str, int]:
    """A bracket expression as a pattern, and the index after it."""
    at = start + 1
    if text[at : at + 1] in {"!", "^"}:
        at += 1
    close = text.find("]", at + 1)
    slash = text.find("/", at)
    if close < 0 or (0 <= slash < close):
        return "[", start + 1
    inside = text[start + 1 : close]
    if any(mark in inside for mark in ("[:", "[.", "[=", "[")):
        end = text.find("]]", start)
        return "?", (end + 2 if end >= 0 else close + 1)
    return "[" + ("!" + inside[1:] if inside[0] == "^" else inside) + "]", close + 1


def _trimmed(text: str, pattern: str, op: str) -> str:
    """`${name#pattern}` and its kin."""
    matches = re.compile(translate(pattern)).match
    cuts = range(len(text) + 1)
    if op[0] == "#":
        ends = [cut for cut in cuts if matches(text[:cut])]
        return text[(ends[0] if op == "#" else ends[-1]) :] if ends else text
    starts = [cut for cut in cuts if matches(text[cut:])]
    return text[: (starts[-1] if op == "%" else starts[0])] if starts else text
