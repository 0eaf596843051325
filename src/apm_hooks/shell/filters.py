"""Programs whose words hold a small language that can open files: sed, awk, jq, editors, databases."""

from __future__ import annotations

import re

from apm_hooks.shell.call import Call, Handler
from apm_hooks.shell.code import inline_code, kept_copy, paths_in
from apm_hooks.shell.generic import passed, read_line
from apm_hooks.shell.options import description
from apm_hooks.shell.records import Reason, UseKind
from apm_hooks.shell.sed import safe_script
from apm_hooks.shell.values import Output, Value, text_value

_SED = description(
    "r | nErsuzabdl i:?X e:e f:f I:?X | quiet silent expression:e file:f in-place:?X line-length:- posix"
    " regexp-extended separate sandbox unbuffered null-data debug follow-symlinks"
)


def _sed(call: Call) -> Output:
    line = read_line(call, _SED)
    in_place = line.has("i", "I", "in-place")
    files = list(line.operands)
    scripts = line.values("e")
    if in_place and len(files) > 1 and files[0].literal == "":
        # One family of seds has the suffix of the copy in a word of its own.
        files.pop(0)
    for value in line.values("f"):
        call.use(UseKind.READ, value)
        call.doubt(Reason.SCRIPT, value.raw)
    if not line.has("e", "f", "expression", "file") and files:
        scripts.append(files.pop(0))
    for value in scripts:
        _sed_script(call, value, line.has("sandbox"))
    for value in files:
        call.use(UseKind.READ, value)
        if in_place:
            call.use(UseKind.WRITE, value)
            for suffix in line.values("X"):
                kept_copy(call, value, suffix)
    return passed(call, bool(files))


def _sed_script(call: Call, value: Value, sandbox: bool) -> None:
    text = value.literal
    if text is None:
        # A variable may only bring text in, but also end the command and begin another.
        call.doubt(Reason.INLINE_CODE, value.raw, value.fragments())
        return
    found = safe_script(text)
    if found is None:
        if not sandbox:
            inline_code(call, value)
        return
    for kind, path in found:
        call.use(UseKind.READ if kind == "r" else UseKind.WRITE, text_value(path, value.raw))


_AWK = description(
    "r | bcCghILMnNOPrsStV F:- v:- f:f i:I e:e E:f W:- o:w d:w p:w l:f | field-separator:- assign:- file:f include:I"
    " source:e exec:f re-interval posix traditional sandbox csv | posix"
)


def _awk(call: Call) -> Output:
    line = read_line(call, _AWK)
    files = list(line.operands)
    programs = line.values("e")
    for value in line.values("f"):
        call.use(UseKind.READ, value)
        call.doubt(Reason.SCRIPT, value.raw)
    in_place = any(value.literal == "inplace" for value in line.values("I"))
    if line.values("I") and not in_place:
        call.doubt(Reason.SCRIPT)
    if not programs and not line.values("f") and files:
        programs.append(files.pop(0))
    for value in programs:
        _awk_program(call, value)
    for value in files:
        if re.match(r"[A-Za-z_]\w*=", value.head) is None:
            call.use(UseKind.READ, value)
            if in_place:
                call.use(UseKind.WRITE, value)
    return passed(call, bool(files))


# Where to begin: a line, the end, a plain search.
_START = re.compile(r"\+(?:\d*[GFg]?|/[\w .-]*)")
_AWK_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_AWK_DANGER = re.compile(
    r"\b(?:getline|system|ARGV|ARGC|ENVIRON|PROCINFO|SYMTAB|FUNCTAB)\b|@|(?<!\|)\|(?!\|)|\bprintf?\b[^;}\n]*>|>>"
)


def _awk_program(call: Call, value: Value) -> None:
    text = value.literal
    if text is None:
        inline_code(call, value)
        return
    # Only where no pattern between slashes and no comment can hold a quote is it certain what is a string.
    certain = "/" not in text and "#" not in text
    if _AWK_DANGER.search(_AWK_STRING.sub('""', text)) or (not certain and _AWK_DANGER.search(text)):
        inline_code(call, value)


_JQ = description(
    "r | nrRsSaCMcej f:F L:- | slurpfile:N rawfile:N arg:N argjson:N from-file:F indent:- args jsonargs null-input"
    " raw-output raw-input slurp sort-keys ascii-output color-output monochrome-output compact-output exit-status"
    " join-output tab stream seq raw-output0 stream-errors unbuffered"
)


def _jq(call: Call) -> Output:
    args: list[Value] = []
    rest = list(call.args)
    while rest:
        value = rest.pop(0)
        if value.literal in {"--slurpfile", "--rawfile", "--arg", "--argjson"}:
            if "file" in value.head and len(rest) > 1:
                call.use(UseKind.READ, rest[1])
            rest = rest[2:]
        else:
            args.append(value)
    line = read_line(call, _JQ, args)
    for value in line.values("F"):
        call.use(UseKind.READ, value)
    files = line.operands if line.has("f", "from-file") else line.operands[1:]
    for value in [] if line.has("f", "from-file") else line.operands[:1]:
        if re.search(r"\b(?:import|include)\b", value.literal or "import"):
            inline_code(call, value)
    for value in files if not line.has("args", "jsonargs") else []:
        call.use(UseKind.READ, value)
    return passed(call, bool(files))


def _yq(call: Call) -> Output:
    in_place = any(value.literal in {"-i", "--inplace", "--in-place"} for value in call.args)
    for value in call.args:
        text = value.literal
        if re.search(r"\b(?:load\w*|eval|env\w*|strenv)\s*\(", text or "load("):
            inline_code(call, value)
        if value.head.startswith("-"):
            if text is None or re.fullmatch(r"-[a-zA-Z0-9]+|--[a-z-]+(?:=[a-z0-9]+)?", text) is None:
                call.unknown(value)
        elif text is None or re.fullmatch(r"\.[\w.\[\]]*", text) is None:
            call.use(UseKind.READ, value)
            if in_place:
                call.use(UseKind.WRITE, value)
    return Output()


_SQLITE = description(
    "- | A | init:r cmd:q csv json line list html markdown table box column quote header noheader batch bail echo"
    " readonly separator:- nullvalue:- newline:- tabs ascii safe stats version help | single"
)
_SQL_DANGER = re.compile(
    r"^\s*\.|\b(?:attach|readfile|writefile|load_extension|edit|fsdir|vacuum\s+into)\b|csv\s*\(",
    re.IGNORECASE | re.MULTILINE,
)


def _sqlite(call: Call) -> Output:
    line = read_line(call, _SQLITE)
    for value in line.operands[:1]:
        text = value.literal or ""
        file = text_value(text[5:].partition("?")[0], value.raw) if text.startswith("file:") else value
        call.use(UseKind.READ, file)
        call.use(UseKind.WRITE, file)
    given = [value.literal for value in line.operands[1:]]
    if not given and call.stdin is not None:
        given.append(call.stdin.text)
    if any(text is None or _SQL_DANGER.search(text) for text in given):
        text = "\n".join(text or "" for text in given)
        call.doubt(Reason.INLINE_CODE, text or None, (call.cwd.path, *paths_in(text)))
    return Output()


_PAGER = description(
    "r | aABcCdeEfFgGIiJKLmMnNqQrRsSuUVwWX~0123456789 b:- h:- j:- p:- x:- y:- z:- P:- | no-init chop-long-lines"
    " quit-if-one-screen raw-control-chars RAW-CONTROL-CHARS LINE-NUMBERS ignore-case"
)


def _pager(call: Call) -> Output:
    """`less` and its kin: a word that begins with `+` is a command of theirs."""
    line = read_line(call, _PAGER)
    for value in line.operands:
        if not value.head.startswith("+"):
            call.use(UseKind.READ, value)
        elif _START.fullmatch(value.literal or "?") is None:
            inline_code(call, value)
    return passed(call, bool(line.operands))


def _editor(call: Call) -> None:
    """`vim` and its kin: files to edit, and commands of its own."""
    args = list(call.args)
    while args:
        value = args.pop(0)
        text = value.literal
        if text in {"-c", "--cmd", "-S", "-s", "-u", "-w", "-W", "-i"} or value.head.startswith("+"):
            if text is None or not _START.fullmatch(text):
                inline_code(call, args.pop(0) if args and not value.head.startswith("+") else value)
        elif value.head.startswith("-") and len(value.head) > 1:
            if text is None or not re.fullmatch(r"-[RnNeEsZbdoOpmMxXyv]+\d*|--(?:clean|noplugin|headless)", text):
                call.unknown(value)
        else:
            call.use(UseKind.READ, value)
            call.use(UseKind.WRITE, value)
    if call.stdin is not None:
        call.doubt(Reason.INLINE_CODE, None, paths_in(call.stdin.text or ""))


FILTERS: dict[str, Handler] = {
    **dict.fromkeys(["sed", "gsed"], _sed),
    **dict.fromkeys(["awk", "gawk", "mawk", "nawk"], _awk),
    **dict.fromkeys(["jq", "gojq", "jaq"], _jq),
    "yq": _yq,
    **dict.fromkeys(["less", "more", "most", "zless", "zmore"], _pager),
    "sqlite3": _sqlite,
    **dict.fromkeys(["vim", "vi", "nvim", "view", "ex", "ed", "rvim", "vimdiff", "gvim", "emacs"], _editor),
}
