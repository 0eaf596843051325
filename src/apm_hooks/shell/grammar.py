"""A shell command parsed by the tree-sitter grammar of bash, an optional dependency (`apm-hooks[gate]`).

The grammar is lenient, and in places groups what it reads otherwise than the shell does, so nothing of its answer is
taken on trust: operators are grouped anew by their rank, each word is read again by our own rules, and every character
must belong to a node that is understood, or be blank.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from apm_hooks.shell.lex import NotAWordError, as_bytes, as_text
from apm_hooks.shell.nodes import Nodes, commands_in
from apm_hooks.shell.plain import quiet_ranges
from apm_hooks.shell.records import SHELL_LIMITS, words
from apm_hooks.shell.tree import Arithmetics, Case, For, Function, Group, If, Loop, Node, Parsed, Sequence, Test, Word

if TYPE_CHECKING:
    import tree_sitter

_SHORT_TEXT = 32
_ASSIGNED = re.compile(
    r"([A-Za-z_]\w*)\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)|([A-Za-z_]\w*)\s*(?:\+\+|--)|(?:\+\+|--)([A-Za-z_]\w*)"
)
_FILE_TESTS = frozenset(words("-a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S -nt -ot -ef"))


@cache
def _language() -> tree_sitter.Language | None:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        return None
    try:
        language = tree_sitter.Language(tree_sitter_bash.language())
        tree_sitter.Parser(language)
    except ValueError:
        # The two packages are of versions that do not go together: as good as not installed.
        return None
    return language


def grammar_available() -> bool:
    """Whether the grammar can be loaded."""
    return _language() is not None


def parse_grammar(command: str) -> Parsed:
    """The command as a tree.

    Long texts in quotes and heredocs are kept from the grammar, and must turn up inside words of the result.

    Raises `NotAWordError` where the grammar finds an error or is not installed, or where its answer does not hold what
    was written; `TooMuchError` where the nesting is too deep.
    """
    language = _language()
    if language is None:
        raise NotAWordError
    raw = as_bytes(command)
    shown, hidden = without_texts(raw)
    converter = _Converter(raw, _parsed(language, shown.encode("latin-1")))
    parsed = converter.program()
    _check_hidden(hidden, converter.read)
    return parsed


def _check_hidden(hidden: list[tuple[int, int]], read: list[tuple[int, int]]) -> None:
    """Raises `NotAWordError` where a text that was kept from the grammar is in no word that was read."""
    if not hidden:
        return
    reach: list[tuple[int, int]] = []
    for start, end in sorted(read):
        if not reach or end > reach[-1][1]:
            reach.append((start, end))
    starts = [start for start, _ in reach]
    for start, end in hidden:
        place = bisect_right(starts, start) - 1
        if place < 0 or reach[place][1] < end:
            raise NotAWordError


def _parsed(language: tree_sitter.Language, data: bytes) -> tree_sitter.Tree:
    import tree_sitter

    tree = tree_sitter.Parser(language).parse(data)
    if tree.root_node.has_error:
        raise NotAWordError
    return tree


def without_texts(raw: str) -> tuple[str, list[tuple[int, int]]]:
    """A command of any length with its quoted texts blotted out, and where they are; a short one as it is.

    `raw` has one character per byte. Raises `NotAWordError` where too much is left for the grammar.
    """
    if len(raw) <= SHELL_LIMITS.grammar_bytes:
        return raw, []
    ranges = [(start, end) for start, end in quiet_ranges(as_text(raw)) if end - start > _SHORT_TEXT]
    pieces: list[str] = []
    at = 0
    hidden = 0
    for start, end in sorted(ranges):
        if start >= at:
            pieces += (raw[at:start], re.sub(r"[^\n]", "x", raw[start:end]))
            hidden += end - start
            at = end
    if len(raw) - hidden > SHELL_LIMITS.grammar_bytes:
        raise NotAWordError
    return "".join((*pieces, raw[at:])), ranges


class _Converter(Nodes):
    def program(self) -> Parsed:
        root = self.tree.root_node
        if not self.blank(0, root.start_byte) or not self.blank(root.end_byte, len(self.raw)):
            raise NotAWordError
        return Parsed(self.sequence(root.children))

    def _subshell(self, node: tree_sitter.Node) -> Node:
        return Group(self.sequence(self._within(node, "(", ")")), subshell=True)

    def _compound_statement(self, node: tree_sitter.Node) -> Node:
        if self.text(node).startswith("(("):
            return self._arithmetics(node)
        return Group(self.sequence(self._within(node, "{", "}")))

    def _do_group(self, node: tree_sitter.Node) -> Sequence:
        return self.sequence(self._within(node, "do", "done"))

    def _within(self, node: tree_sitter.Node, opening: str, closing: str) -> list[tree_sitter.Node]:
        children = self.children(node)
        if children[0].type != opening or children[-1].type != closing:
            raise NotAWordError
        return children[1:-1]

    def _arithmetics(self, *nodes: tree_sitter.Node) -> Arithmetics:
        start, end = nodes[0].start_byte, nodes[-1].end_byte
        names = {name for match in _ASSIGNED.finditer(self.raw, start, end) for name in match.groups() if name}
        sources = self._sources(start, end)
        return Arithmetics(sources, tuple(sorted(names)))

    def _sources(self, start: int, end: int) -> tuple[str, ...]:
        """The commands substituted in a range in which words are only looked at for them."""
        return commands_in(self.lexer.spans, self.starts, self.raw, start, end)

    def _body(self, node: tree_sitter.Node) -> Sequence:
        if node.type == "do_group":
            return self._do_group(node)
        if node.type == "compound_statement":
            return self.sequence(self._within(node, "{", "}"))
        raise NotAWordError

    def _for_statement(self, node: tree_sitter.Node) -> Node:
        keyword, name, *rest, body = self.children(node)
        rest = [child for child in rest if child.type not in {";", "\n"}]
        words = None
        if rest and rest[0].type == "in":
            if not all(self.on_one_line(before.end_byte, after.start_byte) for before, after in pairwise(rest)):
                raise NotAWordError
            words = tuple(self.word(*span) for span in self.touching(rest[1:]))
        elif rest:
            raise NotAWordError
        return For(self.text(name), words, self._body(body), choice=keyword.type == "select")

    def _c_style_for_statement(self, node: tree_sitter.Node) -> Node:
        *head, body = self.children(node)
        arithmetics = Sequence((self._arithmetics(*head),), (False,))
        return Loop(arithmetics, self._body(body))

    def _while_statement(self, node: tree_sitter.Node) -> Node:
        keyword, *condition, body = self.children(node)
        return Loop(self.sequence(condition), self._body(body), until=keyword.type == "until")

    def _if_statement(self, node: tree_sitter.Node) -> Node:
        branches: list[tuple[Sequence | None, Sequence]] = []
        children = self.children(node)
        if children[-1].type != "fi":
            raise NotAWordError
        main: list[tree_sitter.Node] = []
        clauses: list[tree_sitter.Node] = []
        for child in children[1:-1]:
            (clauses if clauses or child.type in {"elif_clause", "else_clause"} else main).append(child)
        branches.append(self._branch(main))
        for clause in clauses:
            inside = self.children(clause)
            if clause.type == "elif_clause":
                branches.append(self._branch(inside[1:]))
            elif clause.type == "else_clause":
                branches.append((None, self.sequence(inside[1:])))
            else:
                raise NotAWordError
        return If(tuple(branches))

    def _branch(self, nodes: list[tree_sitter.Node]) -> tuple[Sequence, Sequence]:
        at = next((place for place, node in enumerate(nodes) if node.type == "then"), None)
        if at is None:
            raise NotAWordError
        return self.sequence(nodes[:at]), self.sequence(nodes[at + 1 :])

    def _case_statement(self, node: tree_sitter.Node) -> Node:
        children = self.children(node)
        at = next((place for place, child in enumerate(children) if child.type == "in"), None)
        if at is None or children[-1].type != "esac":
            raise NotAWordError
        word = self.word(children[1].start_byte, children[at - 1].end_byte)
        items = []
        for item in children[at + 1 : -1]:
            if item.type == "case_item":
                items.append(self._case_item(item))
            elif item.type not in {"\n", ";"}:
                raise NotAWordError
        return Case(word, tuple(items))

    def _case_item(self, node: tree_sitter.Node) -> tuple[tuple[Word, ...], Sequence]:
        children = self.children(node)
        at = next((place for place, child in enumerate(children) if child.type == ")"), None)
        if at is None:
            raise NotAWordError
        patterns = self.word(node.start_byte, children[at].start_byte, lenient=True)
        body = [child for child in children[at + 1 :] if child.type not in {";;", ";&", ";;&"}]
        return (patterns,), self.sequence(body)

    def _function_definition(self, node: tree_sitter.Node) -> Node:
        children = [child for child in self.children(node) if child.type not in {"function", "(", ")"}]
        name, body, *redirects = children
        tokens = self.flat(body)
        if len(tokens) != 1 or isinstance(tokens[0], str):
            raise NotAWordError
        for redirect in redirects:
            if not redirect.type.endswith("_redirect") or self._redirect(redirect, tokens[0]):
                raise NotAWordError
        return Function(as_text(self.text(name)), tokens[0].node())

    def _test_command(self, node: tree_sitter.Node) -> Node:
        inside = self.children(node)
        files: list[Word] = []
        stack = inside[1:-1]
        single = inside[0].type == "["
        if single and "\n" in self.text(node).replace("\\\n", ""):
            raise NotAWordError
        while stack:
            child = stack.pop()
            if child.type in {"<", ">"} and single:
                raise NotAWordError
            if child.type in {"unary_expression", "binary_expression"}:
                parts = self.children(child)
                if any(self.text(part) in _FILE_TESTS for part in parts if part.type == "test_operator"):
                    operands = [part for part in parts if part.type not in {"test_operator", "!"}]
                    files += [
                        self.word(*span, lenient=True)
                        for operand in operands
                        for span in self.touching([operand])
                        if operand.type not in {"unary_expression", "binary_expression"}
                    ]
            stack.extend(child.children)
        others = self.word(inside[0].end_byte, inside[-1].start_byte, lenient=True)
        return Test(tuple(files), (others,))
