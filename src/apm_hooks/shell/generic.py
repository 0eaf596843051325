"""Programs told by their description alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from apm_hooks.shell.call import Call
from apm_hooks.shell.options import Argument, Description, arguments, description
from apm_hooks.shell.records import Reason, UseKind, words
from apm_hooks.shell.specs import specs
from apm_hooks.shell.values import Output, Value, text_value

ROLES = {
    "r": (UseKind.READ,),
    "w": (UseKind.WRITE,),
    "b": (UseKind.READ, UseKind.WRITE),
    "d": (UseKind.DELETE,),
    "m": (UseKind.MOVE_FROM,),
    "l": (UseKind.LIST,),
    "s": (UseKind.SEARCH,),
}
HERE = text_value(".", "")
"""The directory that a program means where it is given none."""
_STANDARD = frozenset({"", "-", "i", "q", "c", *ROLES, *map(str.upper, ROLES)})

# Options with which these still print whole lines of what they read: all of them, or some.
_WHOLE = {"cat": r"(?!)", "tee": r".*", "sponge": r".*"}
_PART = {
    "head": r"-n?\+?\d*|\+?\d+|--lines=\d+",
    "tail": r"-n?\+?\d*|\+?\d+|--lines=\+?\d+",
    "sort": r"-[bdfghinrRVu]+",
    "uniq": r"(?!)",
    "shuf": r"(?!)",
    "tac": r"(?!)",
    **dict.fromkeys(["grep", "egrep", "fgrep"], r"-[ivEFwxPsye]+|[^-].*"),
}
_DECODES = frozenset(
    words(
        "base64 base32 basenc xxd od rev tr gunzip zcat bzcat xzcat zstdcat uudecode openssl gpg gzip bzip2 "
        "xz zstd iconv"
    )
)


def apply(call: Call, role: str, value: Value, *, recursive: bool = False, only: tuple[str, ...] = ()) -> None:
    """Notes what a word in this role is used for."""
    if role in {"", "-"}:
        call.text(value)
    elif role == "i":
        call.use(UseKind.READ, value)
        call.doubt(Reason.INPUT, value.raw)
    elif role == "q":
        call.doubt(Reason.INLINE_CODE, value.raw)
    elif role == "c":
        source = value.literal
        if source is None:
            call.doubt(Reason.COMPUTED, value.raw, value.fragments())
        else:
            call.code(source)
    else:
        for kind in ROLES[role.lower()]:
            call.use(kind, value, recursive=recursive or role.isupper(), only=only)


def decodes(call: Call) -> bool:
    """Whether what it prints is decoded from something."""
    return call.name in _DECODES or (call.stdin is not None and call.stdin.encoded)


def passed(call: Call, from_files: bool) -> Output:
    """What the program prints, where it only hands on lines that are piped into it."""
    stdin = call.stdin
    if stdin is None or from_files:
        return Output(encoded=decodes(call))
    for table, exact in ((_WHOLE, True), (_PART, False)):
        plain = table.get(call.name)
        if plain is not None and all(re.fullmatch(plain, value.literal or "-?", re.DOTALL) for value in call.args):
            return Output(stdin.lines, exact and stdin.exact, stdin.encoded, stdin.unended)
    return Output(encoded=decodes(call))


@dataclass(frozen=True, slots=True)
class Line:
    """A command line, told apart; what needs no special care is reported already.

    `names` are the options given, `operands` the other words; `special` are options whose role only the program's own
    function knows.
    """

    names: frozenset[str]
    operands: list[Value]
    special: list[Argument]

    def has(self, *names: str) -> bool:
        return not self.names.isdisjoint(names)

    def values(self, role: str) -> list[Value]:
        """The values of the special options with this role."""
        return [step.value for step in self.special if step.role == role and step.value is not None]


def read_line(call: Call, about: Description, args: Sequence[Value] | None = None) -> Line:
    """Reports options that are not known, and the files that options name."""
    names: set[str] = set()
    operands: list[Value] = []
    special: list[Argument] = []
    for step in arguments(call.args if args is None else args, about):
        if step.kind == "unknown":
            if not about.free or (step.value is not None and step.value.gap is not None):
                unknown_option(call, step)
        elif step.kind == "operand" and step.value is not None:
            operands.append(step.value)
        else:
            names.add(step.name)
            if step.role in _STANDARD:
                if step.value is not None:
                    apply(call, step.role, step.value)
            else:
                special.append(step)
    return Line(frozenset(names), operands, special)


def described(call: Call, about: Description) -> Output:
    """Notes all uses of the program's words."""
    line = read_line(call, about)
    recursive = line.has(*about.recursing)
    # With `--reference` there is no mode or owner among the words.
    for place, value in enumerate(line.operands, 1 if line.has("reference") else 0):
        if not about.free or value.gap is None:
            apply(call, about.operand(place), value, recursive=recursive)
    if not line.operands and about.here:
        apply(call, about.operand(0), HERE, recursive=recursive)
    if about.operands == ("-",):
        return Output(encoded=decodes(call))
    return passed(call, bool(line.operands) and call.name not in {"tee", "sponge"})


def unknown_option(call: Call, step: Argument) -> None:
    """Notes an option that is not described: it may name a file, and what it names is reported."""
    value = step.value
    if value is None:
        return
    call.unknown(value)
    text = value.literal
    if text is not None and "=" in text:
        call.possible(value.after(text.index("=") + 1))


def generic(call: Call) -> Output | None:
    """A program with a line in the table; None where it has none."""
    spec = specs().get(call.name)
    if spec is None:
        return None
    return described(call, description(spec))
