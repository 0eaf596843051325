"""Commands and operators in the order they are written, grouped by the operators' rank."""

from __future__ import annotations

from dataclasses import dataclass, field

from apm_hooks.shell.lex import NotAWordError
from apm_hooks.shell.records import words
from apm_hooks.shell.tree import AndOr, Assignment, Node, Pipeline, Redirect, Redirected, Simple, Word

RESERVED = frozenset(words("if then else elif fi for while until do done case esac in select function { } [[ ]]"))
"""Words that open or close something where a command is expected."""


@dataclass(slots=True)
class Item:
    """One command while it is put together: a compound `body`, or words with where each starts and ends."""

    body: Node | None = None
    words: list[tuple[int, Word, int]] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)

    def node(self) -> Node:
        """The command as a node of the tree."""
        if self.body is None:
            words = tuple(word for _, word, _ in sorted(self.words, key=lambda entry: entry[0]))
            return Simple(words, tuple(self.assignments), tuple(self.redirects))
        if self.words or self.assignments:
            raise NotAWordError
        return Redirected(self.body, tuple(self.redirects)) if self.redirects else self.body


def grouped(tokens: list[Item | str]) -> Node:
    """Commands joined by `|` bind closest, then `&&` and `||` from the left; `!` negates a whole pipeline.

    Raises `NotAWordError` where a command is missing.
    """
    pipelines: list[Pipeline] = []
    operators: list[str] = []
    commands: list[Node] = []
    negated = False
    expects = True
    for part in tokens:
        if not isinstance(part, str):
            if not expects:
                raise NotAWordError
            commands.append(part.node())
            expects = False
        elif part == "!" and expects and not commands:
            negated = not negated
        elif expects:
            raise NotAWordError
        elif part in {"|", "|&"}:
            expects = True
        else:
            pipelines.append(Pipeline(tuple(commands), negated))
            operators.append(part)
            commands, negated, expects = [], False, True
    if expects:
        raise NotAWordError
    pipelines.append(Pipeline(tuple(commands), negated))
    if len(pipelines) == 1:
        only = pipelines[0]
        return only.commands[0] if len(only.commands) == 1 and not only.negated else only
    return AndOr(tuple(pipelines), tuple(operators))
