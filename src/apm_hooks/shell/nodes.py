"""Words and simple commands out of the nodes of the grammar, each read again by our own rules.

Every character must belong to a node that is understood, or be blank; where one does not, `NotAWordError` is raised.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from apm_hooks.shell.lex import Lexer, NotAWordError, Span, as_text
from apm_hooks.shell.records import SHELL_LIMITS, Reason, TooMuchError
from apm_hooks.shell.tokens import RESERVED, Item, grouped
from apm_hooks.shell.tree import Assignment, Node, Redirect, Sequence, Text, Word

if TYPE_CHECKING:
    import tree_sitter

_BLANK = re.compile(r"(?:[ \t\n]|\\\n)*")
_ONE_LINE = re.compile(r"(?:[ \t]|\\\n)*")
_JOINED = re.compile(r"(?:\\\n)*")
_DASH = re.compile(r"[ \t]+(?P<dash>-)[ \t]+")
_CONTROL = frozenset({"&&", "||", "|", "|&"})
_SPANS = {"command_substitution": "command", "arithmetic_expansion": "arithmetic", "expansion": "braced"}


class Nodes:
    """Words, redirections and simple commands out of the grammar's nodes.

    A compound command is converted by the method named after its node, which a subclass has.
    """

    def __init__(self, raw: str, tree: tree_sitter.Tree) -> None:
        self.raw = raw
        self.tree = tree
        self.read: list[tuple[int, int]] = []
        spans = _spans(tree, raw)
        self.starts = sorted(spans)
        self.lexer = Lexer(raw, spans)
        self.depth = 0

    def word(self, start: int, end: int, *, lenient: bool = False) -> Word:
        """The word that fills this range; the range counts as read."""
        self.read.append((start, end))
        return self.lexer.word(start, end, lenient=lenient)

    def blank(self, start: int, end: int) -> bool:
        return _BLANK.fullmatch(self.raw, start, end) is not None

    def on_one_line(self, start: int, end: int) -> bool:
        """Whether the shell sees no end of line here."""
        return _ONE_LINE.fullmatch(self.raw, start, end) is not None

    def text(self, node: tree_sitter.Node) -> str:
        return self.raw[node.start_byte : node.end_byte]

    def children(self, node: tree_sitter.Node, *, one_line: bool = False) -> list[tree_sitter.Node]:
        """The children without comments; raises where anything but blanks stands between them, or with `one_line` an
        end of line, which the grammar takes for a blank in places where the shell does not."""
        found = []
        at = node.start_byte
        for child in node.children:
            dashed = child.type == "heredoc_redirect" and _DASH.fullmatch(self.raw, at, child.start_byte)
            if not dashed and not self.blank(at, child.start_byte):
                raise NotAWordError
            joins = one_line or (child.type in _CONTROL and not child.is_named)
            if joins and not dashed and not self.on_one_line(at, child.start_byte):
                raise NotAWordError
            at = child.end_byte
            if child.type == "comment":
                if child.start_byte and self.raw[child.start_byte - 1] not in " \t\n;&|()":
                    raise NotAWordError
            else:
                found.append(child)
        if not self.blank(at, node.end_byte):
            raise NotAWordError
        return found

    def touching(self, nodes: Iterable[tree_sitter.Node]) -> list[tuple[int, int]]:
        """The ranges of the words: nodes with nothing between them, or a continued line, are one."""
        ranges: list[tuple[int, int]] = []
        for node in nodes:
            if ranges and _JOINED.fullmatch(self.raw, ranges[-1][1], node.start_byte):
                ranges[-1] = (ranges[-1][0], node.end_byte)
            else:
                ranges.append((node.start_byte, node.end_byte))
        return ranges

    def sequence(self, nodes: Iterable[tree_sitter.Node]) -> Sequence:
        """Commands one after the other; raises where nothing parts two of them."""
        items: list[Node] = []
        background: list[bool] = []
        at = None
        parted = True
        for node in nodes:
            if at is not None and not self.blank(at, node.start_byte):
                raise NotAWordError
            parted = parted or (at is not None and not self.on_one_line(at, node.start_byte))
            at = node.end_byte
            if node.type == "&" and items and not background[-1]:
                background[-1] = parted = True
            elif node.type in {";", "\n"}:
                parted = True
            elif node.type == "comment":
                if self._glued(node):
                    raise NotAWordError
            elif node.is_named and parted:
                items.append(grouped(self.flat(node)))
                background.append(False)
                parted = False
            else:
                raise NotAWordError
        return Sequence(tuple(items), tuple(background))

    def _glued(self, comment: tree_sitter.Node) -> bool:
        return comment.start_byte > 0 and self.raw[comment.start_byte - 1] not in " \t\n;&|()"

    def flat(self, node: tree_sitter.Node) -> list[Item | str]:
        """Commands and operators in the order they are written, whatever groups the grammar made of them."""
        last: Item | None = None
        stack: list[tree_sitter.Node | tuple[tree_sitter.Node]] = [node]
        out: list[Item | str] = []
        while stack:
            top = stack.pop()
            if isinstance(top, tuple):
                if last is None:
                    last = Item()
                    out.append(last)
                stack.extend(reversed(self._redirect(top[0], last)))
            elif top.type in {"list", "pipeline", "negated_command"}:
                stack.extend(reversed(self.children(top)))
            elif top.type == "redirected_statement":
                stack.extend(
                    (child,) if child.type.endswith("_redirect") else child
                    for child in reversed(self.children(top, one_line=True))
                )
            elif not top.is_named:
                if top.type not in _CONTROL and top.type != "!":
                    raise NotAWordError
                out.append(top.type)
                last = None
            else:
                last = self.item(top)
                out.append(last)
        return out

    def item(self, node: tree_sitter.Node) -> Item:
        if node.type in {"command", "declaration_command", "unset_command", "variable_assignments"}:
            return self._simple(node, self.children(node, one_line=True))
        if node.type == "variable_assignment":
            return self._simple(node, [node])
        self.depth += 1
        if self.depth > SHELL_LIMITS.nesting:
            raise TooMuchError(Reason.TOO_DEEP)
        try:
            convert: Callable[[tree_sitter.Node], Node] | None = getattr(self, f"_{node.type}", None)
            if convert is None:
                raise NotAWordError
            return Item(body=convert(node))
        finally:
            self.depth -= 1

    def _simple(self, node: tree_sitter.Node, children: list[tree_sitter.Node]) -> Item:
        item = Item()
        declares = node.type == "declaration_command"
        plain: list[tree_sitter.Node] = []
        named = False
        for child in children:
            if child.type == "variable_assignment" and (not declares or self._is_array(child)):
                if named:
                    raise NotAWordError
                item.assignments.append(self._assignment(child))
            elif child.type.endswith("_redirect"):
                self._words(item, plain)
                if self._redirect(child, item):
                    raise NotAWordError
            else:
                named = named or child.type == "command_name"
                plain.append(child)
        self._words(item, plain)
        first = min(item.words, default=None, key=lambda entry: entry[0])
        if first is not None and not item.assignments and first[1].raw in RESERVED:
            raise NotAWordError
        return item

    def _words(self, item: Item, nodes: list[tree_sitter.Node]) -> None:
        """Adds the words that the nodes make; nodes that touch are one word. Empties the list."""
        for start, end in self.touching(nodes):
            item.words.append((start, self.word(start, end), end))
        nodes.clear()

    def _is_array(self, node: tree_sitter.Node) -> bool:
        return any(child.type == "array" for child in node.children)

    def _assignment(self, node: tree_sitter.Node) -> Assignment:
        children = self.children(node)
        target, operator = children[0], children[1]
        if operator.type not in {"=", "+="} or target.end_byte != operator.start_byte:
            raise NotAWordError
        name, _, index = self.text(target).partition("[")
        if "$" in index or "`" in index:
            raise NotAWordError
        append = operator.type == "+="
        if len(children) == 3 and children[2].type == "array":
            inside = self.children(children[2])[1:-1]
            items = tuple(self.word(*span) for span in self.touching(inside))
            return Assignment(name, items=items, append=append)
        if operator.end_byte < node.end_byte and children[2].start_byte != operator.end_byte:
            raise NotAWordError
        value = self.word(operator.end_byte, node.end_byte)
        return Assignment(name, value, append=append, index=index.rstrip("]"))

    def _redirect(self, node: tree_sitter.Node, item: Item) -> list[tree_sitter.Node]:
        """Adds a redirection to the item; what else stands on a heredoc's line is handed back."""
        children = self.children(node, one_line=node.type != "heredoc_redirect")
        descriptor = ""
        if children[0].type == "file_descriptor":
            descriptor = self.text(children.pop(0))
        elif item.words and item.words[-1][2] == node.start_byte and self.raw[node.start_byte] in "<>":
            start, word, _ = item.words[-1]
            if word.raw.isdecimal() or re.fullmatch(r"\{[A-Za-z_]\w*\}", word.raw):
                item.words.pop()
                descriptor = self.raw[start : node.start_byte]
        operator = children.pop(0).type
        if node.type == "heredoc_redirect":
            return self._heredoc(node, operator, descriptor, children, item)
        if operator in {">&-", "<&-"}:
            spans = self.touching(children)
        else:
            first, *spans = self.touching(children)
            item.redirects.append(Redirect(operator, self.word(*first), descriptor=descriptor))
        # The grammar takes all words after a redirection for its target; the shell only the first.
        item.words += [(start, self.word(start, end), end) for start, end in spans]
        return []

    def _heredoc(
        self, node: tree_sitter.Node, operator: str, descriptor: str, children: list[tree_sitter.Node], item: Item
    ) -> list[tree_sitter.Node]:
        lost = _DASH.search(self.raw, max(0, node.start_byte - 8), node.start_byte)
        if lost and all(end <= lost.start("dash") for _, _, end in item.words):
            # The grammar passes over a `-` that stands before a heredoc.
            item.words.append((lost.start("dash"), self.word(*lost.span("dash")), lost.end("dash")))
        begin, end = children.pop(0), children.pop()
        body = children.pop() if children and children[-1].type == "heredoc_body" else None
        after = children[-1].end_byte if children else begin.end_byte
        if end.type != "heredoc_end" or (children and not self.on_one_line(begin.end_byte, children[0].start_byte)):
            raise NotAWordError
        first_line, last_line = self.raw.find("\n", after) + 1, self.raw.rfind("\n", 0, end.end_byte) + 1
        if body is not None and not (first_line <= body.end_byte and body.start_byte <= last_line):
            raise NotAWordError
        word = self._heredoc_text(operator, self.text(begin), first_line, last_line, end.end_byte)
        item.redirects.append(Redirect(operator, body=word, descriptor=descriptor))
        rest: list[tree_sitter.Node] = []
        words: list[tree_sitter.Node] = []
        for child in children:
            if child.type.endswith("_redirect"):
                self._redirect(child, item)
            elif rest or not child.is_named or child.type in {"pipeline", "list"}:
                rest.append(child)
            else:
                words.append(child)
        self._words(item, words)
        return rest

    def _heredoc_text(self, operator: str, begin: str, first_line: int, last_line: int, end: int) -> Word:
        """The text between two lines, once it is sure that it ends where the grammar says."""
        self.read.append((first_line, last_line))
        delimiter = re.sub(r"['\"\\]", "", begin)
        raw, closing = self.raw[first_line:last_line], self.raw[last_line:end]
        lines = raw.split("\n")[:-1]
        if operator == "<<-":
            lines, closing = [line.lstrip("\t") for line in lines], closing.lstrip("\t")
        if closing != delimiter or delimiter in lines or "$" in delimiter or self.raw[end : end + 1] not in {"", "\n"}:
            raise NotAWordError
        plain = begin != delimiter or not any(mark in raw for mark in "$`\\")
        if plain:
            return _as_text_word("".join(f"{line}\n" for line in lines))
        if raw.endswith("\\\n") or (operator == "<<-" and "\t" in raw):
            # The last line goes on into the closing one; tabs would have to go before anything is expanded.
            raise NotAWordError
        return self.lexer.heredoc(first_line, last_line)


def _as_text_word(raw: str) -> Word:
    return Word((Text(as_text(raw), quoted=True),), as_text(raw))


def _spans(tree: tree_sitter.Tree, raw: str) -> dict[int, Span]:
    """Where commands, braces and arithmetic are nested in words, by their start."""
    found: dict[int, Span] = {}
    cursor = tree.walk()
    while True:
        node = cursor.node
        if node is not None:
            if node.type == "process_substitution":
                kind = "reads" if raw[node.start_byte] == "<" else "writes"
                found[node.start_byte] = Span(node.end_byte, kind)
            elif node.type in _SPANS:
                found[node.start_byte] = Span(node.end_byte, _SPANS[node.type])
        if cursor.goto_first_child() or cursor.goto_next_sibling():
            continue
        while cursor.goto_parent():
            if cursor.goto_next_sibling():
                break
        else:
            break
    starts = sorted(found)
    for at in starts:
        if found[at].kind == "arithmetic":
            end = found[at].end
            found[at] = Span(end, "arithmetic", commands_in(found, starts, raw, at + 1, end))
    return found


def commands_in(spans: Mapping[int, Span], starts: list[int], raw: str, start: int, end: int) -> tuple[str, ...]:
    """The sources of the outermost commands that are substituted in a range."""
    sources = []
    place = bisect_left(starts, start)
    while place < len(starts) and starts[place] < end:
        at, span = starts[place], spans[starts[place]]
        if span.kind in {"command", "reads", "writes"}:
            sources.append(as_text(raw[at + (1 if raw[at] == "`" else 2) : span.end - 1]))
            place = bisect_left(starts, span.end)
        else:
            place += 1
    return tuple(sources)
