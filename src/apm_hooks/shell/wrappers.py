"""Programs that run another program: as somebody else, later, for a while, with other words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from apm_hooks.shell.call import Call, Handler, value_or
from apm_hooks.shell.generic import apply, unknown_option
from apm_hooks.shell.options import Description, arguments, description
from apm_hooks.shell.own import changed, names_ours
from apm_hooks.shell.records import Reason, UseKind
from apm_hooks.shell.state import Outcome, same
from apm_hooks.shell.values import (
    GAP,
    UNKNOWN_OUTPUT,
    Output,
    Value,
    joined,
    split_value,
    spot_of,
    text_value,
    value_lines,
)

# The options of each, before the program that it runs; the number is that of the words between the two.
_TABLE = """
sudo 0: - | AbEHiknPsSVKBN u:- g:- h:- p:- C:- r:- t:- T:- U:- D:C R:C | user:- group:- preserve-env:?- non-interactive
  login set-home stdin chdir:C
doas 0: - | nsL u:- C:r |
nohup setsid noglob nocorrect dbus-run-session coproc - busybox toybox builtin 0: - | cfwp | ctty fork wait
nice 0: - | 0123456789 n:- | adjustment:-
ionice 0: - | t c:- n:- p:- | class:- classdata:-
timeout gtimeout 1: - | fpv k:- s:- | foreground preserve-status kill-after:- signal:- verbose
time 0: - | apvqlV f:- o:w | append portability format:- output:w verbose quiet
stdbuf 0: - | i:- o:- e:- | input:- output:- error:-
unbuffer 0: - | p |
command 0: - | pvV |
exec 0: - | cl a:- |
chrt 1: - | abdfimorRv p:- T:- P:- D:- |
taskset 1: - | acp | cpu-list all-tasks pid
strace 0: - | cCdDfFhiknNqrtTvVwxyYzZ e:- o:w p:- s:- S:- u:- a:- b:- P:- E:- I:- O:- X:- | follow-forks trace:-
  output:w string-limit:-
ltrace 0: - | cfiLrStT e:- o:w p:- s:- n:- l:- u:- | output:w
xvfb-run 0: - | al n:- s:- e:w f:w | auto-servernum server-num:- server-args:- error-file:w
caffeinate 0: - | dimsu t:- w:- |
firejail 0: - | q | quiet private
ssh-agent 0: - | sckdD a:- t:- |
watch 0: - | bcdegtpxw n:- d:? q:- | interval:- differences:?- beep color errexit chgexit no-title exec precise
flock 0: - | sxeunoF w:- E:- | shared exclusive nonblock close timeout:- verbose
"""


@cache
def _table() -> dict[str, tuple[int, Description]]:
    found = {}
    for entry in re.split(r"\n(?! )", _TABLE.strip()):
        names, _, text = entry.partition(":")
        *programs, count = names.split()
        for program in programs:
            found[program] = (int(count), description(f"{' '.join(text.split())} | posix"))
    return found


def _wrapped(call: Call) -> Outcome:
    """The program after the wrapper's own words."""
    rest, names = _after(call)
    if call.name == "command" and names & {"v", "V"}:
        return same(call.state, UNKNOWN_OUTPUT)
    if "chdir" in names:
        call.doubt(Reason.DIRECTORY)
    if not rest:
        return same(call.state, UNKNOWN_OUTPUT)
    if call.name in {"sudo", "doas"} or (call.name == "exec" and names & {"c", "l"}):
        call = changed(call)
    ran = call.again(rest)
    keeps = {"command", "builtin", "exec", "time", "noglob", "nocorrect"}
    return ran if call.name in keeps else same(call.state, ran.output)


def _after(call: Call) -> tuple[list[Value], set[str]]:
    """The words from the program on, and the wrapper's options; `chdir` among them where it changes the directory."""
    count, about = _table()[call.name]
    names: set[str] = set()
    for step in arguments(call.args, about):
        if step.kind == "operand" and step.value is not None:
            rest = list(call.args[_place(call.args, step.value) + count :])
            while call.name in {"sudo", "doas"} and rest and re.match(r"[A-Za-z_]\w*=", rest[0].head):
                call.runner.changed(rest.pop(0).head.partition("=")[0])
            return rest, names
        if step.kind == "unknown":
            unknown_option(call, step)
        elif step.role == "C":
            names.add("chdir")
        elif step.value is not None:
            apply(call, step.role, step.value)
        names.add(step.name)
    return [], names


def _place(values: Sequence[Value], wanted: Value) -> int:
    return next(at for at, value in enumerate(values) if value is wanted)


# Options that empty the environment, where they stand among others too.
_CLEARS = re.compile(r"-\Z|-[a-zA-Z0]*i|--ign")


def _env(call: Call) -> Outcome:
    args = list(call.args)
    if any(names_ours(value) or _CLEARS.match(value.head) for value in call.args):
        call = changed(call)
    state, names = call.env, list(call.set_here)
    cwd = call.cwd
    while args:
        value = args[0]
        text = value.literal
        head = value.head
        if match := re.match(r"([A-Za-z_]\w*)=", head):
            state = state.assigned(match[1], Value(value.after(match.end()).pieces, value.raw))
            names.append(match[1])
            call.runner.changed(match[1])
        elif text in {"-i", "-", "--ignore-environment", "-0", "--null", "-v", "--debug", "--"}:
            pass
        elif text in {"-u", "--unset", "-C", "--chdir", "-S", "--split-string", "-P"} and len(args) > 1:
            args.pop(0)
            if text in {"-C", "--chdir"}:
                cwd = spot_of(cwd, args[0]) or cwd if args[0].gap is None else replace(cwd, path="")
            elif text in {"-S", "--split-string"}:
                return _split_string(call, args)
            elif text == "-P":
                call.unknown(args[0])
        elif head.startswith(("-u", "--unset=")):
            pass
        elif head.startswith(("-S", "--split-string=", "-C", "--chdir=")) or (head.startswith("-") and len(head) > 1):
            call.unknown(value)
        else:
            break
        args.pop(0)
    if not args:
        return same(call.state, UNKNOWN_OUTPUT)
    moved = replace(state, cwds=(cwd,))
    ran = call.again(args, env=moved, state=replace(call.state, cwds=(cwd,)), set_here=tuple(names))
    return same(call.state, ran.output)


def _split_string(call: Call, args: list[Value]) -> Outcome:
    text = args[0].literal
    if text is None or any(mark in text for mark in "\\$'\"#"):
        call.doubt(Reason.COMPUTED, args[0].raw)
        return same(call.state, UNKNOWN_OUTPUT)
    words = [text_value(word, args[0].raw) for word in text.split()] + args[1:]
    return same(call.state, call.again(words).output) if words else same(call.state, UNKNOWN_OUTPUT)


_XARGS = description(
    "- | 0optrx a:a d:- E:- e:? I:I i:i L:- l:? n:- P:- s:- J:I R:- S:- | null arg-file:a delimiter:- eof:?-"
    " replace:?i max-lines:?- max-args:- max-procs:- max-chars:- interactive no-run-if-empty verbose exit open-tty"
    " show-limits process-slot-var:- | posix"
)


def _xargs(call: Call) -> Outcome:
    mark: str | None = None
    exact = False
    given = call.stdin
    words: list[Value] = [text_value("echo", call.words[0].raw)]
    for step in arguments(call.args, _XARGS):
        if step.kind == "operand" and step.value is not None:
            words = list(call.args[_place(call.args, step.value) :])
            break
        if step.kind == "unknown":
            unknown_option(call, step)
        elif step.role == "a" and step.value is not None:
            call.use(UseKind.READ, step.value)
            given = UNKNOWN_OUTPUT
        elif step.role in {"I", "i"} or step.name in {"i", "replace"}:
            mark = value_or(step.value, "{}") or "{}"
        elif step.name in {"0", "null", "d", "delimiter"}:
            exact = True
    items = _items(call, given, exact or mark is not None, whole=mark is not None)
    if mark is not None:
        for item in items:
            call.again([_replaced(word, mark, item) for word in words], stdin=None)
    else:
        call.again([*words, *items], stdin=None)
    return same(call.state, UNKNOWN_OUTPUT)


def _items(call: Call, given: Output | None, exact: bool, *, whole: bool) -> list[Value]:
    """The words that are read. Names of files with a blank in them fall apart, unless `exact`."""
    unknown = [Value(((GAP, Reason.INPUT),), call.words[0].raw)]
    if given is None or given.lines is None:
        return unknown
    found: list[Value] = []
    for line in value_lines(given.lines):
        text = line.literal
        if text is None:
            parts = [line] if exact else split_value(line)
            found += parts if exact else [Value((*part.pieces, (GAP, Reason.NAMES)), line.raw) for part in parts]
        elif any(mark in text for mark in "\\'\"\0"):
            return unknown
        elif whole:
            found += [text_value(text.strip(" \t"), line.raw)] if text.strip() else []
        elif exact:
            return unknown
        else:
            found += [text_value(word, line.raw) for word in text.split()]
    return found


def _replaced(word: Value, mark: str, item: Value) -> Value:
    text = word.literal
    if text is None or mark not in text:
        return word
    before, _, after = text.partition(mark)
    rest = _replaced(text_value(after), mark, item) if mark in after else text_value(after)
    return joined(text_value(before), item, rest, raw=word.raw)


def _watch(call: Call) -> Outcome:
    rest, _ = _after(call)
    return _joined_code(call, rest)


def _joined_code(call: Call, program: Sequence[Value]) -> Outcome:
    texts = [word.literal for word in program]
    if None in texts:
        call.doubt(Reason.COMPUTED, " ".join(word.raw for word in program))
        return same(call.state, UNKNOWN_OUTPUT)
    if program:
        call.code(" ".join(text for text in texts if text is not None))
    return same(call.state, UNKNOWN_OUTPUT)


def _flock(call: Call) -> Outcome:
    rest, _ = _after(call)
    if rest:
        call.use(UseKind.WRITE, rest.pop(0))
    if rest and rest[0].literal in {"-c", "--command"}:
        return _joined_code(call, rest[1:2])
    return same(call.state, call.again(rest).output) if rest else same(call.state, UNKNOWN_OUTPUT)


def _as_user(call: Call) -> Outcome:
    """`su`, `runuser`, `script`: only what stands after `-c` is known."""
    args = list(call.args)
    if call.name != "script":
        call = changed(call)
    home_changes = any(value.literal in {"-", "-l", "--login"} for value in args)
    for place, value in enumerate(args[:-1]):
        if value.literal in {"-c", "--command", "-qc", "-lc"}:
            if home_changes:
                call.doubt(Reason.DIRECTORY)
            for rest in args[:place] + args[place + 2 :]:
                if call.name == "script" and not rest.head.startswith("-"):
                    call.use(UseKind.WRITE, rest)
            return _joined_code(call, [args[place + 1]])
    call.doubt(Reason.PROGRAM)
    for value in args:
        call.possible(value)
    return same(call.state, UNKNOWN_OUTPUT)


WRAPPERS: dict[str, Handler] = {
    **dict.fromkeys(_table(), _wrapped),
    "env": _env, "genv": _env, "xargs": _xargs, "gxargs": _xargs, "watch": _watch, "flock": _flock,
    "su": _as_user, "runuser": _as_user, "script": _as_user,
}  # fmt: skip
