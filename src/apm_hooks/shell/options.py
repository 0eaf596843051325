"""Options and operands of a program, told apart by a short description of it.

A description has four parts, separated by `|`:

    operands | short options | long options | notes

Operands: one role for each, the last one for all that follow; `r w` is a read and then only writes. Short options:
`abc` take no value, `n:-` takes one, `i:?-` only one that is attached. Long options: `name` takes none, `name:w` one,
`name:?w` one only after `=`. Roles: `-` no path, `r` read, `w` write, `b` read and write, `d` delete, `m` move away,
`l` list, `s` search; a capital letter is the same for all below it. `c` is a shell command, `q` code of another kind,
`i` a file that names others; any other letter is for the program's own function. Notes: `posix`, where options end at
the first operand; `single`, where long options have one dash; `free`, where no option can name a file; `here`, where
no operand means the directory; `rec=R,recursive`, options that make the operands' roles reach below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from apm_hooks.shell.values import Value


@dataclass(frozen=True, slots=True)
class Description:
    """A program's command line; option values by name, with their role (empty: none)."""

    operands: tuple[str, ...]
    short: dict[str, str]
    long: dict[str, str]
    posix: bool = False
    single: bool = False
    free: bool = False
    here: bool = False
    recursing: frozenset[str] = frozenset()

    def operand(self, place: int) -> str:
        """The role of the operand at this place, from 0."""
        if not self.operands:
            return "-"
        return self.operands[min(place, len(self.operands) - 1)]


@cache
def description(text: str) -> Description:
    """The description, parsed."""
    operands, shorts, longs, notes = (*(part.split() for part in text.split("|")), [], [], [])[:4]
    short: dict[str, str] = {}
    for token in shorts:
        if token[1:2] == ":":
            short[token[0]] = token[2:]
        else:
            short.update(dict.fromkeys(token, ""))
    long: dict[str, str] = {}
    for token in longs:
        name, _, role = token.partition(":")
        long[name] = role
    long.setdefault("help", "")
    long.setdefault("version", "")
    flags = {"posix", "single", "free", "here"}.intersection(notes)
    recursing = next((note[4:].split(",") for note in notes if note.startswith("rec=")), [])
    return Description(tuple(operands), short, long, **dict.fromkeys(flags, True), recursing=frozenset(recursing))


@dataclass(frozen=True, slots=True)
class Argument:
    """One step through a command line.

    `kind` is `option` (with `name`, its `role`, and a `value` if it takes one), `operand` (with `place`, from 0), or
    `unknown` (an option that is not described).
    """

    kind: str
    value: Value | None
    name: str = ""
    role: str = ""
    place: int = 0


def arguments(values: Sequence[Value], about: Description) -> Iterator[Argument]:
    """The command line in order, told apart."""
    at = place = 0
    only_operands = False
    while at < len(values):
        value = values[at]
        at += 1
        head = value.head
        if only_operands or len(head) < 2 or head[0] != "-":
            yield Argument("operand", value, role=about.operand(place), place=place)
            place += 1
            only_operands = only_operands or about.posix
        elif value.literal == "--":
            only_operands = True
        elif head.startswith("--") or (about.single and len(head) > 2):
            found, took = _long(value, values[at : at + 1], about)
            yield found
            at += took
        else:
            for found, took in _cluster(value, values[at : at + 1], about):
                yield found
                at += took


def _long(value: Value, following: Sequence[Value], about: Description) -> tuple[Argument, int]:
    head = value.head
    name, equals, _ = head.lstrip("-").partition("=") if not value.gap or "=" in head else ("", "", "")
    known = name if name in about.long else ""
    if not known and name:
        near = [option for option in about.long if option.startswith(name)]
        known = near[0] if len(near) == 1 else ""
    if not known or (value.literal is None and not equals):
        return Argument("unknown", value), 0
    role = about.long[known]
    if equals:
        return Argument("option", value.after(head.index("=") + 1), known, role.lstrip("?") or "-"), 0
    if not role or role.startswith("?"):
        return Argument("option", None, known), 0
    if not following:
        return Argument("unknown", value), 0
    return Argument("option", following[0], known, role), 1


def _cluster(value: Value, following: Sequence[Value], about: Description) -> Iterator[tuple[Argument, int]]:
    head = value.head
    for place, letter in enumerate(head[1:], 1):
        role = about.short.get(letter)
        if role is None:
            yield Argument("unknown", value), 0
            return
        if not role:
            yield Argument("option", None, letter), 0
            continue
        rest = value.after(place + 1)
        if not rest.empty:
            yield Argument("option", rest, letter, role.lstrip("?") or "-"), 0
        elif role.startswith("?"):
            yield Argument("option", None, letter), 0
        elif following:
            yield Argument("option", following[0], letter, role), 1
        else:
            yield Argument("unknown", value), 0
        return
    if value.literal is None:
        yield Argument("unknown", value), 0
