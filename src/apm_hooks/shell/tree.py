"""A shell command as a tree: small frozen nodes, the same for both parsers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    """Characters as they are after quote removal. Unquoted ones may be globs, braces or a leading `~`."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name` or `${…}`. `op` is what follows the name in braces (empty: nothing), `arg` the word after it; `index` a
    subscript as written, `indirect` is `${!name}`. `known` is false for a form that is not followed."""

    name: str
    quoted: bool
    op: str = ""
    arg: Word | None = None
    index: str = ""
    indirect: bool = False
    known: bool = True


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(…)` or backticks: the source text inside."""

    source: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Process:
    """`<(…)` (`reads` true) or `>(…)`: the source text inside."""

    source: str
    reads: bool


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$((…))`: digits, whatever it computes. `sources` are the commands substituted inside."""

    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extglob:
    """`@(a|b)` and its kin: may match anything within one path component."""


Part: TypeAlias = Text | Variable | Substitution | Process | Arithmetic | Extglob


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its parts, and its text as written."""

    parts: tuple[Part, ...]
    raw: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name=value`; `items` instead of a value for `name=(…)`; `index` for `name[index]=`."""

    name: str
    value: Word | None = None
    items: tuple[Word, ...] | None = None
    append: bool = False
    index: str = ""


@dataclass(frozen=True, slots=True)
class Redirect:
    """`op` is the operator without its descriptor; `target` the word after it. A heredoc has its text in `body`."""

    op: str
    target: Word | None = None
    body: Word | None = None
    descriptor: str = ""


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments, words, redirections: one program, or none."""

    words: tuple[Word, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`; of one command where there is none."""

    commands: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AndOr:
    """Pipelines joined by `&&` and `||`: equal rank, from the left. `operators` has one less than `pipelines`."""

    pipelines: tuple[Pipeline, ...]
    operators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other; `background` tells which of the items run beside the rest (`&`)."""

    items: tuple[Node, ...] = ()
    background: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """`{ …; }`, or `( … )` with `subshell`."""

    body: Sequence
    subshell: bool = False


@dataclass(frozen=True, slots=True)
class Redirected:
    """A compound command with redirections of its own."""

    body: Node
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class If:
    """`branches` are (condition, body); the last condition of an `else` is None."""

    branches: tuple[tuple[Sequence | None, Sequence], ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """`while`, `until` and arithmetic `for`."""

    condition: Sequence
    body: Sequence
    until: bool = False


@dataclass(frozen=True, slots=True)
class For:
    """`for name in words`; `words` is None for the positional parameters; `choice` marks `select`."""

    name: str
    words: tuple[Word, ...] | None
    body: Sequence
    choice: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """`items` are (patterns, body)."""

    word: Word
    items: tuple[tuple[tuple[Word, ...], Sequence], ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A definition: nothing runs until its name is called."""

    name: str
    body: Node


@dataclass(frozen=True, slots=True)
class Test:
    """`[ … ]` or `[[ … ]]`: `files` are words of which it asks whether such a file exists, `others` all other words."""

    files: tuple[Word, ...] = ()
    others: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Arithmetics:
    """`((…))`: runs what is substituted inside; `names` may be assigned digits."""

    sources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


Node: TypeAlias = (
    Simple | Pipeline | AndOr | Sequence | Group | Redirected | If | Loop | For | Case | Function | Test | Arithmetics
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parser's answer: the tree, and the places that it could not follow (as written)."""

    body: Sequence
    problems: tuple[str, ...] = field(default=())
