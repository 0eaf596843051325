"""One run of one program, as its description sees it: its words, and where to report what they do."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from apm_hooks.shell.records import OPAQUE, OURS, SHELL_LIMITS, Doubt, Reason, TooMuchError, Use, UseKind
from apm_hooks.shell.state import Outcome, State
from apm_hooks.shell.values import GAP, GLOB, TREE, Output, Spot, Value, spot_of, text_value

_STREAM = re.compile(r"/dev/(?:null|zero|full|random|urandom|tty|stdin|stdout|stderr|fd/\d+|tcp/.*|udp/.*)")
_PROC = re.compile(r"/proc(?:/.*)?")
_NO_PATH = re.compile(r"[0-9.,:%+-]*[0-9%+,:-]|https?://[^\s,=]*|[!-.:-@]")
_SEPARATOR = re.compile(r"[:=@,]")
_PARTS = re.compile(r"[^:=@,]*[/.][^:=@,]*")
_CONTENT = frozenset({UseKind.READ, UseKind.WRITE, UseKind.SEARCH})


@dataclass(slots=True)
class Record:
    """What was found so far; each thing once, in order of its first appearance."""

    uses: dict[Use, None] = field(default_factory=dict)
    doubts: dict[Doubt, None] = field(default_factory=dict)
    steps: int = 0

    def step(self, parts: int = 0) -> None:
        """Counts one command of so many parts. Raises `TooMuchError` past the limit."""
        self.steps += 1 + parts // 8
        if self.steps > SHELL_LIMITS.steps or len(self.uses) + len(self.doubts) > SHELL_LIMITS.uses:
            raise TooMuchError(Reason.TOO_MUCH)

    def doubt(self, reason: Reason, word: str, near: Iterable[str] = ()) -> None:
        """Notes that this word cannot be judged."""
        self.doubts[Doubt(reason, word, tuple(dict.fromkeys(item for item in near if item)))] = None

    def use(
        self,
        kind: UseKind,
        value: Value,
        cwd: Spot,
        *,
        recursive: bool = False,
        only: tuple[str, ...] = (),
        program: str = "",
    ) -> None:
        """Notes a use of the path that a word names, or why that is not known."""
        if value.gap == Reason.NAMES:
            self.doubt(Reason.NAMES, value.raw, near(value, cwd))
            value = replace(value, pieces=tuple(piece for piece in value.pieces if piece != (GAP, Reason.NAMES)))
        if value.gap is not None:
            self.doubt(Reason(value.gap), value.raw, near(value, cwd))
            return
        text = value.literal
        if text is not None and (not text or (text == "-" and kind in _CONTENT)):
            return
        if _climbs_from_tree(value):
            self.doubt(Reason.NAMES, value.raw, near(value, cwd))
            return
        spot = spot_of(cwd, value)
        if spot is None:
            self.doubt(Reason.DIRECTORY, value.raw, value.fragments())
            return
        if _STREAM.fullmatch(spot.path):
            return
        if _PROC.fullmatch(spot.path):
            self.doubt(Reason.SPECIAL_FILE, value.raw, (spot.path,))
        self.uses[Use(kind, spot.path, value.raw, recursive or spot.tree, spot.glob, spot.whole, only, program)] = None


def _climbs_from_tree(value: Value) -> bool:
    """Whether `..` follows a part of the path that may be any number of directories."""
    seen = False
    for kind, text in value.pieces:
        seen = seen or kind == TREE
        if seen and ".." in text:
            return True
    return False


def near(value: Value, cwd: Spot) -> tuple[str, ...]:
    """What is known about where an unknown word leads: the directory it starts from, and its known pieces."""
    folder = value.head.rpartition("/")[0]
    start = value.head if value.head.startswith("/") else f"{cwd.path}/{folder}" if cwd.path else ""
    place = (
        (posixpath.normpath(start.rpartition("/")[0] + "/" if value.head.startswith("/") else start),) if start else ()
    )
    return place + value.fragments()


class Runner(Protocol):
    """Runs what a program runs: other programs, shell text, functions."""

    record: Record
    home: str

    def changed(self, name: str) -> None:
        """Notes a variable that changes what programs do, if this is one."""

    def escape(self, state: State, far: bool) -> None:
        """Notes a state in which a loop is left from within, or with `far` all that stands around it."""

    def run(self, call: Call, *, programs_only: bool = False) -> Outcome:
        """Runs the call's first word with the others as its arguments; `programs_only`: functions are not looked at."""

    def code(self, source: str, state: State, stdin: Output | None) -> Outcome:
        """Runs a shell text."""


@dataclass(frozen=True, slots=True)
class Call:
    """`words[0]` is the program. `state` is the shell's own; `env` has the variables set for this program too, and
    `set_here` their names. `stdin` is what it reads, None where nothing is piped or redirected into it."""

    words: tuple[Value, ...]
    state: State
    env: State
    runner: Runner
    stdin: Output | None = None
    set_here: tuple[str, ...] = ()
    name: str = ""

    @property
    def args(self) -> tuple[Value, ...]:
        return self.words[1:]

    @property
    def cwd(self) -> Spot:
        return self.state.cwds[0]

    def again(self, words: Sequence[Value], **changes: object) -> Outcome:
        """Runs other words in its place (`sudo`, `env`, `xargs` …)."""
        other = replace(self, words=tuple(words), name="", **changes)  # type: ignore[arg-type]
        return self.runner.run(other, programs_only=self.name not in {"time", "coproc", "noglob", "nocorrect"})

    def code(self, source: str, parameters: tuple[Value, ...] | None = (), *, child: bool = True) -> Outcome:
        """Runs a shell text; in a `child` only exported variables are known."""
        state = self.env if parameters is None else replace(self.env, parameters=parameters)
        if child:
            known = state.exported | set(self.set_here)
            variables = {
                name: values for name, values in state.variables.items() if name in known or name.startswith(OURS)
            }
            state = replace(state, variables=variables, arrays={}, aliases={})
        return self.runner.code(source, state, self.stdin)

    def use(
        self,
        kind: UseKind,
        value: Value,
        *,
        recursive: bool = False,
        only: tuple[str, ...] = (),
        cwd: Spot | None = None,
    ) -> None:
        """Notes a use of the path that a word names."""
        self.runner.record.use(
            kind, value, self.cwd if cwd is None else cwd, recursive=recursive, only=only, program=self.name
        )

    def doubt(self, reason: Reason, word: str | None = None, near: Iterable[str] = ()) -> None:
        """Notes that a word, or else the program itself, cannot be judged; an opaque program with all its words."""
        if reason in OPAQUE:
            word = " ".join(dict.fromkeys(value.raw for value in self.words))
        where = tuple(near) or (self.cwd.path,)
        self.runner.record.doubt(reason, self.words[0].raw if word is None else word, where)

    def unknown(self, value: Value, reason: Reason = Reason.OPTION) -> None:
        """Notes a word that may be any option, or one that is not known."""
        self.runner.record.doubt(Reason(value.gap or reason), value.raw, near(value, self.cwd))

    def text(self, value: Value) -> None:
        """A word that names no file: but file names that the shell puts in its place are a listing."""
        if value.gap is None and (value.has(GLOB) or value.has(TREE)):
            self.use(UseKind.LIST, value)

    def possible(self, value: Value) -> None:
        """A word of an unknown program: where it can be a path, it may be read and written, and all below it."""
        text = value.literal
        if text is None:
            self._either(value)
            return
        if text.startswith("-"):
            # An option may have a path attached: after `=`, or from its first slash on.
            at = text.find("=") + 1 or text.find("/")
            if at > 0:
                self.possible(value.after(at))
            return
        if _NO_PATH.fullmatch(text):
            return
        self._either(value)
        # `host:path`, `name=path`, `@path`, `a,b`: each part may be a path of its own.
        for match in _PARTS.finditer(text) if _SEPARATOR.search(text) else ():
            if match[0] != text:
                self._either(text_value(match[0], value.raw))

    def _either(self, value: Value) -> None:
        self.use(UseKind.READ, value, recursive=True)
        self.use(UseKind.WRITE, value, recursive=True)


def value_or(value: Value | None, default: str) -> str:
    """The word's text, where it is known."""
    text = value.literal if value is not None else None
    return default if text is None else text


Handler: TypeAlias = Callable[[Call], "Outcome | Output | None"]
"""What a program does. An `Output` leaves the shell as it was; None also prints nothing that is known."""
