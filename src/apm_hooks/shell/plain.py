"""The stricter reading of a shell command, without the grammar: lists of simple commands, and no more.

Words, quotes, variables, `;`, `&&`, `||`, `|`, `&`, redirections and heredocs are followed. What else the shell knows
(compound commands, functions, substitutions, subshells, arithmetic) is a problem each time; what can be seen of the
simple commands in it is read all the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from apm_hooks.shell.lex import Lexer, NotAWordError, Span, as_bytes, as_text
from apm_hooks.shell.records import SHELL_LIMITS, Reason, TooMuchError
from apm_hooks.shell.tokens import RESERVED, Item, grouped
from apm_hooks.shell.tree import Assignment, Node, Parsed, Redirect, Sequence, Text, Word

_SPACE = re.compile(r"(?:[ \t]|\\\n)+")
_REDIRECT = re.compile(r"(?P<fd>[0-9]+|\{[A-Za-z_]\w*\})?(?P<op><<<|<<-|<<|<&|<>|<|>>|>&|>\||>)|(?P<both>&>>|&>)")
_OPERATOR = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[|;&()\n]")
_SIMPLE_BRACES = re.compile(r"\$\{(?:[A-Za-z_]\w*|[0-9]+)\}")
_ASSIGN = re.compile(r"([A-Za-z_]\w*)(\+?)=")
_RUN = re.compile(r"[^\\'\"$`<>|&;() \t\n]+")
_QUOTED_RUN = re.compile(r'[^\\"$`]+')
_INSIDE_RUN = re.compile(r"[^\\'\"$`(){}]+")
_SKIPPED = frozenset({"for", "case", "select", "function", "[["})


@dataclass(slots=True)
class _Heredoc:
    item: Item
    operator: str
    descriptor: str
    delimiter: str
    quoted: bool


@dataclass(slots=True)
class _Scanner:
    raw: str
    spans: dict[int, Span] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    depth: int = 0
    quiet: list[tuple[int, int]] = field(default_factory=list)

    def problem(self, start: int, end: int) -> None:
        self.problems.append(as_text(self.raw[start : min(end, start + 80)]))

    def word_end(self, at: int) -> int:
        """The index after the word that begins here; notes what is nested in it."""
        start = at
        raw = self.raw
        while at < len(raw):
            match = _RUN.match(raw, at)
            if match:
                at = match.end()
                continue
            char = raw[at]
            if char == "\\":
                at += 2
            elif char == "'":
                at = self._single(at)
            elif char == '"':
                at = self._double(at + 1)
            elif char == "$" and raw.startswith("'", at + 1):
                at = self._ansi(at + 2)
            elif char in "$`":
                at = self._nested(at)
            elif char in "<>" and raw.startswith("(", at + 1):
                end = self._balanced(at + 1, "(", ")")
                self.spans[at] = Span(end, "reads" if char == "<" else "writes")
                self.problem(at, end)
                at = end
            elif char == "(" and at > start and raw[at - 1] in "?*+@!":
                at = self._balanced(at, "(", ")")
            else:
                break
        return min(at, len(raw))

    def _single(self, at: int) -> int:
        end = self.raw.find("'", at + 1)
        if end > 0:
            self.quiet.append((at + 1, end))
        return self._close(end, at)

    def _close(self, end: int, at: int) -> int:
        if end < 0:
            self.problem(at, len(self.raw))
            return len(self.raw)
        return end + 1

    def _ansi(self, at: int) -> int:
        start = at
        while at < len(self.raw) and self.raw[at] != "'":
            at += 2 if self.raw[at] == "\\" else 1
        return self._close(at if at < len(self.raw) else -1, start)

    def _double(self, at: int) -> int:
        start = at
        plain = True
        raw = self.raw
        while at < len(raw):
            match = _QUOTED_RUN.match(raw, at)
            if match:
                at = match.end()
            elif raw[at] == '"':
                if plain:
                    self.quiet.append((start, at))
                return at + 1
            elif raw[at] == "\\":
                plain = False
                at += 2
            else:
                plain = False
                at = self._nested(at)
        return self._close(-1, start - 1)

    def _nested(self, at: int) -> int:
        raw = self.raw
        if raw[at] == "`":
            end = at + 1
            while end < len(raw) and raw[end] != "`":
                end += 2 if raw[end] == "\\" else 1
            end = min(end + 1, len(raw))
            kind = "command"
        elif raw.startswith("$((", at):
            end, kind = self._balanced(at + 1, "(", ")"), "arithmetic"
        elif raw.startswith("$(", at):
            end, kind = self._balanced(at + 1, "(", ")"), "command"
        elif match := _SIMPLE_BRACES.match(raw, at):
            self.spans[at] = Span(match.end(), "braced")
            return match.end()
        elif raw.startswith("${", at):
            end, kind = self._balanced(at + 1, "{", "}"), "braced"
        else:
            return at + 1
        self.spans[at] = Span(end, kind)
        self.problem(at, end)
        return end

    def _balanced(self, at: int, opening: str, closing: str) -> int:
        """The index after the bracket that closes the one here, quotes respected; the end where none does."""
        self.depth += 1
        if self.depth > SHELL_LIMITS.nesting:
            raise TooMuchError(Reason.TOO_DEEP)
        raw = self.raw
        level = 0
        while at < len(raw):
            match = _INSIDE_RUN.match(raw, at)
            if match:
                at = match.end()
                continue
            char = raw[at]
            if char == "'":
                at = self._single(at)
            elif char == '"':
                at = self._double(at + 1)
            elif char == "\\":
                at += 2
            elif char in "$`":
                at = self._nested(at)
            else:
                level += (char == opening) - (char == closing)
                at += 1
                if not level:
                    break
        self.depth -= 1
        # Past the end where it is not closed, so that no word is made of it.
        return at if not level else len(raw) + 1


def quiet_ranges(command: str) -> list[tuple[int, int]]:
    """Where texts stand in which nothing can be nested (quotes, heredocs), as ranges of bytes, in no order."""
    reader = _Reader(as_bytes(command))
    reader.read()
    return reader.scan.quiet


def parse_plain(command: str) -> Parsed:
    """The command as a tree of simple commands, with a problem for each thing beyond them. `TooMuchError` where the
    nesting is too deep."""
    return _Reader(as_bytes(command)).read()


class _Reader:
    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.scan = _Scanner(raw)
        self.lexer = Lexer(raw, self.scan.spans)
        self.items: list[Node] = []
        self.background: list[bool] = []
        self.tokens: list[Item | str] = []
        self.item: Item | None = None
        self.skipping = False
        self.heredocs: list[_Heredoc] = []

    def read(self) -> Parsed:
        at = 0
        while at < len(self.raw):
            at = self._token(at)
        self._end_list(background=False)
        if self.heredocs:
            self.scan.problem(0, len(self.raw))
        return Parsed(Sequence(tuple(self.items), tuple(self.background)), tuple(self.scan.problems))

    def _token(self, at: int) -> int:
        raw = self.raw
        if match := _SPACE.match(raw, at):
            return match.end()
        if raw[at] == "#":
            end = raw.find("\n", at)
            return len(raw) if end < 0 else end
        match = _REDIRECT.match(raw, at)
        if match and not (match["op"] in {"<", ">"} and raw.startswith("(", match.end())):
            return self._redirect(match)
        if match := _OPERATOR.match(raw, at):
            return self._operator(match)
        end = self.scan.word_end(at)
        if end == at:
            self.scan.problem(at, at + 1)
            return at + 1
        self._word(at, end)
        return end

    def _operator(self, match: re.Match[str]) -> int:
        operator, end = match[0], match.end()
        if operator in {"&&", "||", "|", "|&"}:
            self.item, self.skipping = None, False
            self.tokens.append(operator)
            return end
        if operator == "\n":
            end = self._bodies(end)
            if self.tokens and isinstance(self.tokens[-1], str):
                return end
        elif operator not in {";", "&"}:
            self.scan.problem(match.start(), end)
        self._end_list(background=operator == "&")
        return end

    def _end_list(self, *, background: bool) -> None:
        self.item, self.skipping = None, False
        if not self.tokens:
            return
        try:
            node = grouped(self.tokens)
        except NotAWordError:
            self.scan.problem(0, len(self.raw))
            for token in self.tokens:
                if not isinstance(token, str):
                    self.items.append(token.node())
                    self.background.append(False)
        else:
            self.items.append(node)
            self.background.append(background)
        self.tokens = []

    def _current(self) -> Item:
        if self.item is None:
            self.item = Item()
            self.tokens.append(self.item)
        return self.item

    def _lexed(self, start: int, end: int) -> Word | None:
        try:
            return self.lexer.word(start, end)
        except NotAWordError:
            self.scan.problem(start, end)
            return None

    def _word(self, start: int, end: int) -> None:
        text = self.raw[start:end]
        item = self.item
        if item is None or not (item.words or item.assignments or item.redirects):
            if self.skipping:
                return
            if text == "!" or text in RESERVED:
                if text != "!":
                    self.scan.problem(start, end)
                self.skipping = text in _SKIPPED
                return
        item = self._current()
        assign = None if item.words else _ASSIGN.match(text)
        if assign:
            value = self._lexed(start + assign.end(), end)
            if value is not None:
                item.assignments.append(Assignment(assign[1], value, append=bool(assign[2])))
            return
        word = self._lexed(start, end)
        if word is not None:
            item.words.append((start, word, end))

    def _redirect(self, match: re.Match[str]) -> int:
        operator, descriptor = match["op"] or match["both"], match["fd"] or ""
        space = _SPACE.match(self.raw, match.end())
        start = space.end() if space else match.end()
        end = self.scan.word_end(start)
        item = self._current()
        if end == start:
            self.scan.problem(match.start(), match.end())
        elif operator in {"<<", "<<-"}:
            text = self.raw[start:end]
            delimiter = re.sub(r"['\"\\]", "", text)
            self.heredocs.append(_Heredoc(item, operator, descriptor, delimiter, delimiter != text))
        else:
            target = self._lexed(start, end)
            if target is not None:
                item.redirects.append(Redirect(operator, target, descriptor=descriptor))
        return end

    def _bodies(self, at: int) -> int:
        for heredoc in self.heredocs:
            start = at
            lines = []
            while at < len(self.raw):
                newline = self.raw.find("\n", at)
                end = len(self.raw) if newline < 0 else newline
                line = self.raw[at:end]
                at = end + 1
                line = line.lstrip("\t") if heredoc.operator == "<<-" else line
                if line == heredoc.delimiter:
                    break
                lines.append(line)
            else:
                self.scan.problem(start, len(self.raw))
            text = "".join(line + "\n" for line in lines)
            if heredoc.quoted or not ("$(" in text or "${" in text):
                self.scan.quiet.append((start, start + len(text)))
            if not heredoc.quoted and any(mark in text for mark in "$`\\"):
                self.scan.problem(start, at)
                self.scan.problems.extend(as_text(part) for part in re.findall(r"\$\(.*|`.*", text))
            body = Word((Text(as_text(text), quoted=True),), as_text(text))
            heredoc.item.redirects.append(Redirect(heredoc.operator, body=body, descriptor=heredoc.descriptor))
        self.heredocs = []
        return min(at, len(self.raw))
