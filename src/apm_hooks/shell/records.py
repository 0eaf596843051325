"""What a shell command was found to do: its uses of files, and what of it cannot be judged."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from apm_hooks.places import SESSION


class UseKind(StrEnum):
    """What happens to a path.

    `search` prints lines of files (without `recursive`: of that very file, so it tells as much as a read); `list` tells
    names, times and sizes, never content; `move-from` takes a file away from its place; `execute` runs it as code.
    """

    READ = "read"
    WRITE = "write"
    DELETE = "delete"
    MOVE_FROM = "move-from"
    LIST = "list"
    SEARCH = "search"
    EXECUTE = "execute"


class Reason(StrEnum):
    """Why something cannot be judged. The values are stable."""

    VARIABLE = "variable"
    """A path, option or program comes from a variable that the command does not set."""
    SUBSTITUTION = "substitution"
    """A path, option or program is what another command prints."""
    INPUT = "input"
    """Paths come from standard input or out of a file."""
    NAMES = "names"
    """Names of files stand where a blank or a leading `-` in one of them would make another word of it."""
    DIRECTORY = "directory"
    """A relative path, and the directory it starts from is not known."""
    HOME = "home"
    """`~` of somebody whose home is not known."""
    INLINE_CODE = "inline-code"
    """Code of another language, or of an unknown text, is run."""
    ENCODED = "encoded"
    """A decoded text is run."""
    COMPUTED = "computed"
    """The text of a shell command is put together at run time."""
    SCRIPT = "script"
    """A file or a project's own task is run as code: what it does stands elsewhere."""
    PROGRAM = "program"
    """A program that is not known here: its words are reported, what else it opens is not."""
    HOST = "host"
    """An agent's host is started: it could begin or go on with a conversation that is another's."""
    OPTION = "option"
    """An option that is not known here, and may name a file."""
    ENVIRONMENT = "environment"
    """A variable is set that changes what programs do or which ones are run."""
    SPECIAL_FILE = "special-file"
    """A path below `/proc` that stands for another."""
    SYNTAX = "syntax"
    """What cannot be parsed, or not without the grammar."""
    TOO_LONG = "too-long"
    TOO_DEEP = "too-deep"
    TOO_MUCH = "too-much"


OURS = SESSION.partition("_")[0] + "_"
"""How the names of our own variables begin; itself, it stands for those that may be changed or gone."""

OPAQUE = frozenset({Reason.SCRIPT, Reason.PROGRAM})
"""Reasons that are about what a program does beyond its words; all others are about words of the command itself."""


@dataclass(frozen=True, slots=True)
class Use:
    """One path that the command could touch.

    `path` is absolute and lexically normalised; with `glob` it is a pattern (`*`, `?`, `[…]`, as a shell means them,
    per path component; `[*]` is a literal star). `unresolved` is the same path with its `..` kept, for a caller that
    follows symlinks as the system would. `recursive`: all below it too. `only` are file-name patterns, one of which a
    file below must match (empty: any). `word` is the word of the command it came from, `program` the program's name.

    `execute` of our own command has its bare name as `path` where it is found by `PATH`, its words in `arguments`, and
    the variables set for it (`NAME=value`) in `environment`; a word that is not known is `\\0` there.
    """

    kind: UseKind
    path: str
    word: str
    recursive: bool = False
    glob: bool = False
    unresolved: str = ""
    only: tuple[str, ...] = ()
    program: str = ""
    arguments: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that cannot be judged: the reason, the word of the command, and what is known of the place.

    For an opaque reason the word is the program with all its words. `near` holds absolute paths that it starts from or
    stands beside, and the known pieces of the word. Hints only: what a doubt can reach has no bounds but the caller's
    knowledge.
    """

    reason: Reason
    word: str
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """All that was understood of a command. `parser` is `grammar` or `plain`. Order is that of the command's words."""

    uses: tuple[Use, ...]
    doubts: tuple[Doubt, ...]
    parser: str


@dataclass(frozen=True, slots=True)
class ShellLimits:
    """How much of a command is followed; what lies beyond is a doubt. Counts; `…_chars` are code points.

    `parsed_chars`: all texts that are parsed, the command and those it runs, together. `steps`: commands, one with many
    words counting for more. `grammar_bytes`: what the grammar is given at once, long quoted texts not counted: its time
    and memory grow with the square of a text that it finds a fault in. `grammar_work` is the sum of these squares over
    one command. `frames` is how deep our own calls go while one thing runs another; `brace_nesting` holds for `${…}` in
    `${…}` and for brace expansion.
    """

    command_chars: int = 65_536
    parsed_chars: int = 4 * 65_536
    grammar_bytes: int = 4_096
    grammar_work: int = 3 * 4_096 * 4_096
    nesting: int = 40
    brace_nesting: int = 6
    frames: int = 500
    steps: int = 4_000
    uses: int = 4_000
    words: int = 512
    value_chars: int = 65_536
    alternatives: int = 16
    rounds: int = 4
    loop_items: int = 64


SHELL_LIMITS = ShellLimits()


class TooMuchError(Exception):
    """The command goes beyond a limit; `reason` says which. Never leaves the shell reader."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


def words(text: str) -> list[str]:
    """The words of a list that is written as one text."""
    return text.split()
