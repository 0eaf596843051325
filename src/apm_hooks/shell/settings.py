"""Builtins of the shell that ask, or that change how it works."""

from __future__ import annotations

import re

from apm_hooks.shell.call import Call, Handler
from apm_hooks.shell.records import Reason, UseKind, words
from apm_hooks.shell.state import UNSET, Outcome, same
from apm_hooks.shell.values import GLOB, NO_OUTPUT, UNKNOWN_OUTPUT, Output, Value

_FILE_TESTS = frozenset(words("-a -b -c -d -e -f -g -h -k -p -r -s -u -w -x -G -L -N -O -S -nt -ot -ef"))


def _test(call: Call) -> None:
    args = [value for value in call.args if value.literal != "]"]
    for place, value in enumerate(args):
        before = args[place - 1].literal if place else None
        after = args[place + 1].literal if place + 1 < len(args) else None
        compared = before in {"=", "==", "!=", "-eq", "-ne"} or after in {"=", "==", "!=", "-nt", "-ot", "-ef"}
        if (
            (before in _FILE_TESTS and not compared)
            or after in {"-nt", "-ot", "-ef"}
            or before in {"-nt", "-ot", "-ef"}
        ):
            call.use(UseKind.LIST, value)


def _names_set(call: Call) -> Outcome:
    """`let`, `getopts`: variables of any value."""
    state = call.state
    for value in call.args:
        for name in re.findall(r"[A-Za-z_]\w*", value.literal or ""):
            if name in state.variables or call.name == "getopts":
                state = state.assigned(name, UNSET)
    return same(state, NO_OUTPUT)


_SHOPT = frozenset({"nocaseglob", "dotglob", "cdable_vars", "autocd", "cdspell", "nocasematch"})


def _shopt(call: Call) -> None:
    """Settings that change which names a pattern matches, or where `cd` leads."""
    names = [value.literal for value in call.args]
    if call.name != "shopt" or ("-u" not in names and (None in names or not _SHOPT.isdisjoint(map(str, names)))):
        call.doubt(Reason.ENVIRONMENT)


def _hash(call: Call) -> None:
    if any(value.head.startswith("-p") for value in call.args):
        call.doubt(Reason.ENVIRONMENT)


def _enable(call: Call) -> None:
    if any(value.head.startswith("-f") or "f" in value.head[:3] for value in call.args):
        call.doubt(Reason.SCRIPT)


def _history(call: Call) -> None:
    for value in call.args:
        if value.literal is None or not re.fullmatch(r"-?[0-9cdp]*", value.literal):
            call.possible(value)
            call.doubt(Reason.OPTION, value.raw)


def _compgen(call: Call) -> Output:
    call.doubt(Reason.COMPUTED)
    for value in call.args:
        if not value.head.startswith("-"):
            call.use(UseKind.LIST, Value(((GLOB, value.literal),), value.raw) if value.literal else value)
    return UNKNOWN_OUTPUT


SETTINGS: dict[str, Handler] = {
    "test": _test, "[": _test, "let": _names_set, "getopts": _names_set, "hash": _hash, "enable": _enable,
    **dict.fromkeys(["shopt", "setopt", "unsetopt", "emulate"], _shopt),
    "history": _history, "fc": _history, "compgen": _compgen, "complete": _compgen,
}  # fmt: skip
