"""Programs that run code: other shells, interpreters, and small languages that can open files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from apm_hooks.shell.call import Call, Handler, value_or
from apm_hooks.shell.generic import HERE, passed, read_line
from apm_hooks.shell.options import description
from apm_hooks.shell.records import Reason, UseKind, words
from apm_hooks.shell.state import Outcome, same
from apm_hooks.shell.values import UNKNOWN_OUTPUT, Output, Value, joined, text_value

SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "rbash", "yash"])
_SHELL = description(
    "- | abefhiklmnprstuvxBCDEHPTcd o:- O:- | norc noprofile login posix verbose rcfile:r init-file:r restricted"
    " noediting | posix"
)
_STRINGS = re.compile(r"""(?P<quote>['"])(?P<text>[^'"\n]{1,200})(?P=quote)""")
# Each with the options that bring code with them, then those that take another value.
_TABLE = """
python python2 python3 pypy pypy3: -c ; -W -X -Q
node nodejs: -e --eval -p --print -pe ; -r --require --import --loader -C --conditions --env-file
deno: eval repl ;
bun: -e --eval -p --print ; -r --preload
ruby: -e ; -r -I -C -E
php: -r -R -B -E ; -d -c
lua luajit: -e ; -l
Rscript ghc swift: -e ;
julia: -e -E --eval --print ;
osascript: -e ; -l
tclsh jshell: ;
groovy scala: -e ; -cp
elixir: -e --eval ;
erl: -eval ;
guile: -c ; -l
racket: -e ; -l
pwsh: -c -Command -EncodedCommand -e -ec ;
ts-node tsx: -e -p ;
expect: -c ;
gdb: -ex -x --eval-command --command ; -p
java: ; -cp -classpath -jar
"""


@cache
def _interpreters() -> dict[str, tuple[frozenset[str], frozenset[str]]]:
    found = {}
    for entry in _TABLE.strip().splitlines():
        names, _, options = entry.partition(":")
        inline, _, valued = options.partition(";")
        found.update(dict.fromkeys(names.split(), (frozenset(inline.split()), frozenset(valued.split()))))
    return found


def paths_in(text: str) -> tuple[str, ...]:
    """The texts in quotes that look like paths."""
    found = (match["text"] for match in _STRINGS.finditer(text))
    return tuple(dict.fromkeys(item for item in found if "/" in item or "." in item))[:20]


def _stdin_code(call: Call, parameters: tuple[Value, ...]) -> Outcome:
    """A shell that reads its commands from what is piped into it."""
    given = call.stdin
    if given is None:
        return same(call.state, UNKNOWN_OUTPUT)
    text = given.text
    if text is None or given.encoded:
        call.doubt(Reason.ENCODED if given.encoded else Reason.INLINE_CODE)
    output = replace(call, stdin=None).code(text, parameters).output if text is not None else UNKNOWN_OUTPUT
    return same(call.state, output)


def _shell(call: Call) -> Outcome:
    plus = [value for value in call.args if not re.fullmatch(r"\+[a-zA-Z]+", value.literal or "")]
    line = read_line(call, _SHELL, plus)
    operands = line.operands
    if not line.has("c") and (line.has("s") or not operands or operands[0].literal == "-"):
        return _stdin_code(call, tuple(operands) if line.has("s") else ())
    if not operands:
        return same(call.state, UNKNOWN_OUTPUT)
    if line.has("c"):
        source = operands[0].literal
        if source is None:
            call.doubt(Reason.COMPUTED, operands[0].raw, operands[0].fragments())
            return same(call.state, UNKNOWN_OUTPUT)
        return same(call.state, call.code(source, tuple(operands[2:])).output)
    _script(call, operands)
    return same(call.state, UNKNOWN_OUTPUT)


def _script(call: Call, operands: Sequence[Value]) -> None:
    """A file that is run as code, and its words."""
    if value_or(operands[0], "").startswith("/dev/"):
        call.doubt(Reason.INLINE_CODE, operands[0].raw)
    else:
        call.use(UseKind.EXECUTE, operands[0])
        call.use(UseKind.READ, operands[0])
        call.doubt(Reason.SCRIPT, operands[0].raw)
    for value in operands[1:]:
        call.possible(value)


def inline_code(call: Call, value: Value) -> None:
    call.doubt(Reason.INLINE_CODE, value.raw, (call.cwd.path, *paths_in(value.raw)))


_PYTHON_MODULE = re.compile(r"-[bBdEiIOPqsSuvx]*m(.*)", re.DOTALL)
# Modules that run code that they are given, and those that pack what they are given.
_RUN_CODE = frozenset(words("timeit pdb code asyncio IPython ptpython bpython ipdb pudb"))
_PACK = frozenset(words("tarfile zipfile zipapp"))


def _interpreter(call: Call) -> Output:
    inline, valued = _interpreters()[call.name]
    letters = {option[1] for option in inline if len(option) == 2}
    python = call.name.startswith(("python", "pypy"))
    args = list(call.args)
    piped = False
    while args:
        value = args.pop(0)
        head, text = value.head, value.literal
        if text in {"-", "--"} or (text or "").startswith("/dev/"):
            piped = (text or "").startswith("/dev/")
            break
        short = head.startswith("-") and not head.startswith("--")
        if short and "i" in head and call.stdin is not None:
            _piped_code(call, ())
        module = _PYTHON_MODULE.fullmatch(text or "") if python else None
        if module:
            return _module(call, module[1] or value_or(args.pop(0) if args else None, ""), args)
        if head.partition("=")[0] in inline or (short and letters & set(head[1:])):
            _given_code(call, value, args, whole=text in inline)
            return UNKNOWN_OUTPUT
        if not head.startswith("-"):
            _script(call, [value, *args])
            return UNKNOWN_OUTPUT
        _option(call, value, args if text in valued else [], loads=not python)
    if args or piped or call.stdin is not None:
        _piped_code(call, args)
    return UNKNOWN_OUTPUT


def _given_code(call: Call, value: Value, args: Sequence[Value], *, whole: bool) -> None:
    """Code in the option itself, or where the option is `whole` in the word after it."""
    code, *rest = args if whole and args else [value, *args]
    inline_code(call, code)
    for word in rest:
        call.possible(word)


def _option(call: Call, value: Value, args: list[Value], *, loads: bool) -> None:
    """An option before the script; `args` where it takes the first of them, which may be code to load."""
    if value.gap is not None or "=" in value.head:
        call.unknown(value)
    call.possible(value)
    if args:
        given = args.pop(0)
        call.possible(given)
        if loads:
            call.doubt(Reason.SCRIPT, given.raw)


def _piped_code(call: Call, args: Sequence[Value]) -> None:
    """Code of another language that is piped in."""
    given = call.stdin
    text = given.text if given is not None else None
    reason = Reason.ENCODED if given is not None and given.encoded else Reason.INLINE_CODE
    call.doubt(reason, None, (call.cwd.path, *paths_in(text or "")))
    for value in args:
        call.possible(value)


def kept_copy(call: Call, file: Value, suffix: Value) -> None:
    """The copy that an edit in place leaves of a file."""
    if "*" in (suffix.literal or "*") or "/" in suffix.head:
        # The suffix is then a pattern for the whole name, which may lead to another folder.
        call.unknown(suffix, Reason.NAMES)
    else:
        call.use(UseKind.WRITE, joined(file, suffix, raw=file.raw))


_PERL_OPTION = re.compile(r"-(?:[pnlaws]|0[0-7]*)*(?P<i>i[^eE]*)?(?P<e>[eE])?(?P<code>.*)", re.DOTALL)


def _perl(call: Call) -> Output:
    """Plain substitutions are followed, as with `sed`; all other code is not."""
    args = list(call.args)
    codes: list[Value] = []
    strange = False
    suffix: Value | None = None
    while args and args[0].head.startswith("-") and args[0].literal != "-":
        value = args.pop(0)
        if value.literal == "--":
            break
        match = _PERL_OPTION.fullmatch(value.literal or "-?")
        if match is None or (match["code"] and not match["e"]):
            strange = True
            continue
        if match["e"]:
            codes.append(text_value(match["code"], value.raw) if match["code"] else args.pop(0) if args else value)
        if match["i"] is not None:
            suffix = text_value(match["i"][1:], value.raw)
    if not codes:
        if args:
            _script(call, args)
        elif call.stdin is not None:
            _piped_code(call, args)
        return UNKNOWN_OUTPUT
    for code in codes:
        if strange or not _substitutes(code.literal or "?"):
            inline_code(call, code)
    for value in args:
        _edited(call, value, suffix)
    return passed(call, bool(args))


def _edited(call: Call, file: Value, suffix: Value | None) -> None:
    call.use(UseKind.READ, file)
    if suffix is not None:
        call.use(UseKind.WRITE, file)
        if not suffix.empty:
            kept_copy(call, file, suffix)


def _substitutes(code: str) -> bool:
    """Whether perl code is nothing but plain substitutions."""
    plain = r"s(?P<d>[/|#,!])(?:(?!(?P=d))[^\\@${}`]|\\[^@${}`])*(?P=d)(?:(?!(?P=d))[^\\@{}`]|\\.)*(?P=d)[gimsx]*"
    return all(re.fullmatch(plain, part.strip()) for part in code.split(";") if part.strip())


def _module(call: Call, name: str, args: list[Value]) -> Output:
    if name in {"apm_hooks", "apm_hooks.cli"}:
        from apm_hooks.shell.own import own

        own(call, tuple(args))
        return UNKNOWN_OUTPUT
    if name == "http.server":
        folders = [args[at + 1] for at, value in enumerate(args[:-1]) if value.literal in {"-d", "--directory"}]
        call.use(UseKind.READ, folders[0] if folders else HERE, recursive=True)
        return UNKNOWN_OUTPUT
    if name == "json.tool":
        for place, value in enumerate(value for value in args if not value.head.startswith("-")):
            call.use(UseKind.WRITE if place else UseKind.READ, value)
        return UNKNOWN_OUTPUT
    if name in _RUN_CODE and (args or call.stdin is not None):
        _piped_code(call, ())
    call.doubt(Reason.SCRIPT, name)
    for value in args:
        call.possible(value)
        if name in _PACK and value.literal == ".":
            call.use(UseKind.READ, value, recursive=True)
    return UNKNOWN_OUTPUT


CODE: dict[str, Handler] = {
    **dict.fromkeys(SHELLS, _shell),
    **dict.fromkeys(_interpreters(), _interpreter),
    "perl": _perl,
}  # fmt: skip
