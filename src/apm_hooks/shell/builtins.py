"""The shell's own commands: those that change what it knows, and those whose output can be told."""

from __future__ import annotations

import re
from dataclasses import replace

from apm_hooks.shell.call import Call, Handler
from apm_hooks.shell.options import arguments, description
from apm_hooks.shell.prints import echo, printf
from apm_hooks.shell.records import Reason, UseKind
from apm_hooks.shell.scope import spot_value
from apm_hooks.shell.settings import SETTINGS
from apm_hooks.shell.state import UNSET, Outcome, State, either, same
from apm_hooks.shell.values import (
    GLOB,
    NO_OUTPUT,
    UNKNOWN_OUTPUT,
    UNKNOWN_SPOT,
    Output,
    Spot,
    Value,
    joined,
    spot_of,
    text_value,
)

_ASSIGN = re.compile(r"([A-Za-z_]\w*)(\[[^\]]*\])?(\+?)=")
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})


def declared(program: str | None, word: str) -> bool:
    """Whether a word after this program is an assignment: not split, no file names put in its place."""
    return program in _DECLARING and _ASSIGN.match(word) is not None


def _cd(call: Call) -> Outcome:
    target: Value | None = None
    for argument in arguments(call.args, description("- | LPe@ | ")):
        if argument.name == "P" and any(".." in value.head for value in call.args):
            # Counted from where a link leads to, which is not known.
            return _lost(call)
        if (argument.kind == "operand" and target is None) or (
            argument.kind == "unknown" and argument.value is not None
        ):
            target = argument.value
    if target is None:
        home = call.state.variables.get("HOME")
        target = home[0] if home and len(home) == 1 else text_value("~") if home is None else UNSET
    return _move(call, target)


def _destination(call: Call, target: Value) -> tuple[Spot, ...]:
    text = target.literal
    if text == "-" and "OLDPWD" in call.state.variables:
        target = call.state.value("OLDPWD")
    elif text == "-":
        return call.state.old
    if text == "~":
        return (Spot(call.runner.home),) if call.runner.home else (UNKNOWN_SPOT,)
    if target.gap is not None:
        return (UNKNOWN_SPOT,)
    spot = spot_of(call.cwd, target)
    return (Spot(spot.path, spot.glob, "", spot.tree) if spot else UNKNOWN_SPOT,)


def _move(call: Call, target: Value) -> Outcome:
    spots = _destination(call, target)
    if spots == (UNKNOWN_SPOT,) and target.gap is not None:
        call.unknown(target)
    if target.has(GLOB) and target.gap is None:
        call.use(UseKind.LIST, target)
    there = call.state.moved(*spots)
    cwd = call.cwd.path
    certain = all(
        spot.path and not spot.glob and (spot.path == "/" or f"{cwd}/".startswith(f"{spot.path}/")) for spot in spots
    )
    # `cd -`, `pushd` and what `CDPATH` finds tell where they went.
    output = UNKNOWN_OUTPUT if call.name == "pushd" or target.literal == "-" else NO_OUTPUT
    return Outcome(there, None if certain else call.state, output)


def _pushd(call: Call) -> Outcome:
    if not call.args or call.args[0].head.startswith(("+", "-")):
        return _lost(call)
    moved = _move(call, call.args[0])
    success = replace(moved.success, stack=(*call.state.stack, call.cwd)) if moved.success else None
    return replace(moved, success=success)


def _popd(call: Call) -> Outcome:
    if call.args or not call.state.stack:
        return _lost(call)
    moved = replace(call.state.moved(call.state.stack[-1]), stack=call.state.stack[:-1])
    return Outcome(moved, call.state, UNKNOWN_OUTPUT)


def _lost(call: Call) -> Outcome:
    return Outcome(replace(call.state.moved(UNKNOWN_SPOT), stack=()), call.state, UNKNOWN_OUTPUT)


def _declare(call: Call) -> Outcome:
    state = call.state
    names: list[str] = []
    options = "".join(value.literal or "" for value in call.args if value.head.startswith("-"))
    if "n" in options and call.name in {"declare", "typeset", "local"}:
        # Another name for a variable: what is assigned to the one changes the other.
        call.doubt(Reason.VARIABLE)
    for value in call.args:
        text = value.literal or ""
        match = _ASSIGN.match(value.head)
        if match:
            state = _assigned(call, state, value, match)
            names.append(match[1])
        elif text.isidentifier():
            names.append(text)
            if call.name == "local" and text not in call.set_here:
                state = state.assigned(text, text_value(""))
        elif not text.startswith(("-", "+")):
            call.unknown(value, Reason.VARIABLE)
    if call.name == "export" or "x" in options:
        state = replace(state, exported=state.exported | set(names))
    if call.name in {"local", "declare", "typeset"}:
        state = replace(state, local=state.local | set(names))
    if call.name == "local" and not call.state.in_function:
        # An error in some shells, an assignment in others.
        return same(either(state, call.state) or state, NO_OUTPUT)
    return same(state, NO_OUTPUT if names else UNKNOWN_OUTPUT)


def _assigned(call: Call, state: State, value: Value, match: re.Match[str]) -> State:
    """The state after `name=value` as a word of `export` or its kin."""
    name = match[1]
    call.runner.changed(name)
    content = Value(value.after(match.end()).pieces, value.raw)
    if match[2]:
        return state.with_array(name, None)
    if match[3]:
        content = joined(state.value(name), content, raw=value.raw)
    return state.assigned(name, content)


def _unset(call: Call) -> Outcome:
    state = call.state
    for value in call.args:
        name = value.literal
        if name is None:
            call.unknown(value, Reason.VARIABLE)
        elif name in state.functions and name not in state.variables:
            state = replace(state, functions={key: body for key, body in state.functions.items() if key != name})
        elif name.isidentifier():
            state = state.assigned(name, text_value(""))
    return same(state, NO_OUTPUT)


def _read(call: Call) -> Outcome:
    state = call.state
    about = description("- | rse n:- N:- t:- d:- p:- u:- i:- a:v | ")
    given = call.stdin.text if call.stdin is not None else None
    names: list[str] = []
    for argument in arguments(call.args, about):
        name = argument.value.literal if argument.value is not None else None
        if argument.role == "v" and name:
            state = state.with_array(name, None)
        elif argument.kind == "operand" and name and name.isidentifier():
            names.append(name)
        elif argument.kind == "unknown" and argument.value is not None:
            call.unknown(argument.value)
    simple = given is not None and len(names) == 1 and len(call.args) <= 2 and "\\" not in given
    for name in names or ["REPLY"]:
        known = text_value(given.split("\n")[0].strip(" \t")) if simple and given is not None else None
        # A loop reads on: only one line may come first.
        only = known is not None and given is not None and "\n" not in given.rstrip("\n")
        state = state.assigned(name, known if known is not None and only else UNSET)
    return Outcome(state, state)


def _mapfile(call: Call) -> Outcome:
    state = call.state
    name = "MAPFILE"
    for argument in arguments(call.args, description("- | t n:- O:- s:- u:- d:- C:c c:- | ")):
        if argument.role == "c":
            call.doubt(Reason.COMPUTED)
        if argument.kind == "operand" and argument.value is not None:
            name = argument.value.literal or name
    lines = call.stdin.lines if call.stdin is not None else None
    known = (
        lines if lines is not None and all(line.literal is None or "\n" not in line.literal for line in lines) else None
    )
    return same(state.with_array(name, known if known and len(call.args) <= 2 else None), NO_OUTPUT)


def _set(call: Call) -> Outcome:
    args = call.args
    for value in args:
        call.text(value)
    if any(re.fullmatch(r"-[a-zA-Z]*P[a-zA-Z]*|physical", value.literal or "") for value in args):
        call.doubt(Reason.ENVIRONMENT)
    at = 0
    while at < len(args) and args[at].head[:1] in {"-", "+"} and args[at].literal not in {"--", "-"}:
        at += 2 if (args[at].literal or "")[1:].endswith("o") else 1
    if at < len(args) and args[at].literal in {"--", "-"}:
        return same(replace(call.state, parameters=args[at + 1 :]), NO_OUTPUT)
    if at < len(args):
        return same(replace(call.state, parameters=args[at:]), NO_OUTPUT)
    return same(call.state, UNKNOWN_OUTPUT)


def _shift(call: Call) -> Outcome:
    count = call.args[0].literal if call.args else "1"
    known = call.state.parameters
    rest = known[int(count) :] if known is not None and count is not None and count.isdecimal() else None
    return same(replace(call.state, parameters=rest), NO_OUTPUT)


def _eval(call: Call) -> Outcome:
    texts = [value.literal for value in call.args]
    texts = texts[1:] if texts[:1] == ["--"] else texts
    if None in texts:
        call.doubt(Reason.COMPUTED, " ".join(value.raw for value in call.args), _pieces(call.args))
        return same(call.state, UNKNOWN_OUTPUT)
    return call.code(" ".join(text for text in texts if text is not None), None, child=False)


def _pieces(values: tuple[Value, ...]) -> tuple[str, ...]:
    return tuple(piece for value in values for piece in value.fragments())


def _anything(state: State) -> State:
    """At another time: any directory, any variable."""
    return State(cwds=(*state.cwds, UNKNOWN_SPOT)[-2:], variables=dict.fromkeys((*state.variables, "HOME"), (UNSET,)))


def _source(call: Call) -> Outcome | None:
    if not call.args:
        return None
    if (call.args[0].literal or "").startswith("/dev/"):
        call.doubt(Reason.INLINE_CODE, call.args[0].raw)
        return None
    call.use(UseKind.EXECUTE, call.args[0])
    call.use(UseKind.READ, call.args[0])
    call.doubt(Reason.SCRIPT, call.args[0].raw)
    return same(call.state, UNKNOWN_OUTPUT)


def _trap(call: Call) -> Output:
    args = [value for value in call.args if value.literal != "--"]
    if len(args) < 2 or args[0].literal in {"-", "", "-p", "-l"}:
        return UNKNOWN_OUTPUT
    code = args[0].literal
    if code is None:
        call.doubt(Reason.COMPUTED, args[0].raw, args[0].fragments())
        return NO_OUTPUT
    # It runs whenever it runs: in another directory, with other values.
    later = replace(_anything(call.state), functions=call.state.functions)
    call.runner.code(code, later, None)
    return NO_OUTPUT


def _alias(call: Call) -> Outcome:
    aliases = dict(call.state.aliases)
    for value in call.args:
        name, equals, text = (value.literal or "").partition("=")
        if equals:
            aliases[name] = (text,)
        elif value.literal is None:
            call.doubt(Reason.COMPUTED, value.raw, value.fragments())
    return same(replace(call.state, aliases=aliases), UNKNOWN_OUTPUT)


def _leave(call: Call) -> Outcome:
    call.runner.escape(call.state, far=call.name == "return" or bool(call.args))
    # Outside of a loop or function the shell complains and goes on.
    return same(call.state, NO_OUTPUT)


def _exit(call: Call) -> Outcome:
    del call
    return Outcome(None, None)


def _true(call: Call) -> Outcome:
    for value in call.args:
        call.text(value)
    return Outcome(call.state, None)


def _false(call: Call) -> Outcome:
    return Outcome(None, call.state)


def _pwd(call: Call) -> Output:
    return Output((spot_value(call.cwd),), exact=True)


BUILTINS: dict[str, Handler] = {
    "cd": _cd, "chdir": _cd, "pushd": _pushd, "popd": _popd,
    "export": _declare, "declare": _declare, "typeset": _declare, "local": _declare, "readonly": _declare,
    "unset": _unset, "read": _read, "mapfile": _mapfile, "readarray": _mapfile, "set": _set, "shift": _shift,
    "eval": _eval, "source": _source, ".": _source, "trap": _trap, "alias": _alias,
    "return": _leave, "break": _leave, "continue": _leave, "exit": _exit, "logout": _exit,
    ":": _true, "true": _true, "false": _false, "echo": echo, "printf": printf, "pwd": _pwd,
    **SETTINGS,
}  # fmt: skip
