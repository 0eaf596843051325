"""What `echo`, `printf` and `base64 -d` print, where that can be told."""

from __future__ import annotations

import re

from apm_hooks.shell.call import Call
from apm_hooks.shell.lex import ansi_c, as_bytes, as_text
from apm_hooks.shell.state import UNSET, Outcome, same
from apm_hooks.shell.values import NO_OUTPUT, Output, Value, joined, text_value, value_lines

_FORMAT = re.compile(r"%%|%([-+ #0]*\d*(?:\.\d+)?)([a-zA-Z])|%\(|%")


def echo(call: Call) -> Output:
    args = list(call.args)
    options = ""
    while args and re.fullmatch(r"-[neE]+", args[0].literal or ""):
        options += args.pop(0).literal or ""
    for value in call.args:
        call.text(value)
    if "e" in options or any("\\" in (value.literal or "") for value in args):
        # Shells differ in which escapes they decode.
        return Output(encoded=True)
    spaced = [part for value in args for part in (text_value(" "), value)][1:]
    return Output(tuple(value_lines((joined(*spaced),))), exact=True, unended="n" in options)


def printf(call: Call) -> Outcome | Output:
    args = call.args
    if args and args[0].literal == "-v" and len(args) > 2:
        name = args[1].literal or ""
        printed = formatted(args[2:])
        known = printed.text
        return same(call.state.assigned(name, text_value(known) if known is not None else UNSET), NO_OUTPUT)
    for value in args:
        call.text(value)
    return formatted(args[1:] if args and args[0].literal == "--" else args)


def formatted(args: tuple[Value, ...]) -> Output:
    """What `printf` prints: `%s`, `%b`-free formats are followed, whatever else is decoded text."""
    form = args[0].literal if args else None
    if form is None:
        return Output(encoded=True)
    text = as_text(ansi_c(as_bytes(form)))
    marks = list(_FORMAT.finditer(text))
    if any(match[0] != "%%" and (match[1] or match[2] != "s") for match in marks):
        return Output(encoded=True)
    slots = sum(match[0] != "%%" for match in marks)
    rest = list(args[1:])
    pieces: list[Value] = []
    while True:
        at = 0
        for match in marks:
            pieces.append(text_value(text[at : match.start()]))
            at = match.end()
            pieces.append(text_value("%") if match[0] == "%%" else rest.pop(0) if rest else text_value(""))
        pieces.append(text_value(text[at:]))
        if not rest or not slots:
            break
    whole = joined(*pieces, raw=args[0].raw)
    lines: list[Value] = []
    current: list[Value] = []
    for kind, piece in whole.pieces:
        if kind != "text":
            current.append(Value(((kind, piece),)))
            continue
        first, *others = piece.split("\n")
        current.append(text_value(first))
        for other in others:
            lines.append(joined(*current, raw=whole.raw))
            current = [text_value(other)]
    lines.append(joined(*current, raw=whole.raw))
    return Output(tuple(lines), exact=True, unended=lines[-1].literal != "")


def _decode(call: Call) -> str | None:
    """The text that `base64 -d` makes of a known input."""
    text = call.stdin.text if call.stdin is not None else None
    if text is None:
        return None
    import base64

    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8")
    except ValueError:
        return None


def decoded(call: Call) -> Output:
    """`base64 -d` without a file."""
    text = _decode(call)
    return (
        Output(encoded=True)
        if text is None
        else Output(tuple(value_lines((text_value(text),))), exact=True, encoded=True)
    )
