"""Programs that pack and unpack files."""

from __future__ import annotations

import re
from collections.abc import Sequence

from apm_hooks.shell.call import Call, Handler, value_or
from apm_hooks.shell.files import remote
from apm_hooks.shell.generic import HERE, passed, read_line
from apm_hooks.shell.options import arguments, description
from apm_hooks.shell.records import Reason, UseKind, words
from apm_hooks.shell.values import Output, Spot, Value, joined, spot_of, text_value

_PACK = description(
    "b | 0123456789cdeDfFhHklLnNqrstTvVCz S:- p:- o:w M:- | stdout to-stdout decompress uncompress compress force"
    " keep list no-name name quiet recursive suffix:- test verbose fast best small extreme threads:- rm output:w ultra"
    " long:?-"
)


def _pack_one(call: Call) -> Output:
    """`gzip` and its kin: the file goes, another one comes."""
    line = read_line(call, _PACK)
    recursive = line.has("r", "recursive")
    keeps = line.has("k", "keep") or (call.name in {"zstd", "unzstd", "lz4", "unlz4"} and not line.has("rm"))
    for value in line.operands:
        call.use(UseKind.READ, value, recursive=recursive)
        if line.has("c", "stdout", "to-stdout", "l", "list", "t", "test"):
            continue
        if not keeps:
            call.use(UseKind.DELETE, value, recursive=recursive)
        text = value.literal
        if not (
            call.name.startswith("un")
            or call.name in {"gunzip", "bunzip2"}
            or line.has("d", "decompress", "uncompress")
        ):
            call.use(UseKind.WRITE, joined(value, Value((("glob", ".*"),)), raw=value.raw), recursive=recursive)
        elif text:
            call.use(
                UseKind.WRITE, text_value(re.sub(r"\.[A-Za-z0-9]{1,4}$", "", text), value.raw), recursive=recursive
            )
        else:
            call.doubt(Reason.NAMES, value.raw)
    return passed(call, bool(line.operands))


_TAR_LONG = (
    "create extract get list append update concatenate diff compare delete file:f directory:C files-from:i exclude:-"
    " exclude-from:r verbose gzip gunzip bzip2 xz zstd auto-compress use-compress-program:q to-command:q to-stdout"
    " keep-old-files overwrite strip-components:- transform:- xform:- preserve-permissions same-owner no-same-owner"
    " one-file-system remove-files wildcards null owner:- group:- mode:- mtime:- sort:- checkpoint:?-"
    " checkpoint-action:q rsh-command:q info-script:q new-volume-script:q newer:- absolute-names dereference"
    " numeric-owner no-recursion exclude-vcs exclude-vcs-ignores warning:- skip-old-files unlink-first"
    " listed-incremental:b totals same-permissions"
)
_TAR = description(
    f"- | ctxruAdzjJaZvwkmpPhlSUWOGnoisMBR f:f C:C T:i X:r b:- K:- N:- V:- I:q F:q g:b L:- H:- | {_TAR_LONG}"
)


_TAR_VALUED = "fCTXbKNVIFgLH"


def _tar(call: Call) -> Output:
    line = read_line(call, _TAR, _dashed(call.args))
    extracts = line.has("x", "extract", "get")
    creates = line.has("c", "r", "u", "A", "create", "append", "update", "concatenate")
    for archive in line.values("f"):
        if not remote(archive):
            if not line.has("c", "create"):
                call.use(UseKind.READ, archive)
            if creates:
                call.use(UseKind.WRITE, archive)
    where = call.cwd
    # `-C` holds for what follows it.
    for step in arguments(_dashed(call.args), _TAR):
        if step.value is None:
            continue
        if step.role == "C":
            where = _inside(call, where, step.value)
        elif step.kind == "operand" and (creates or line.has("d", "diff", "compare")):
            call.use(UseKind.READ, step.value, recursive=True, cwd=where)
            if line.has("remove-files"):
                call.use(UseKind.DELETE, step.value, recursive=True, cwd=where)
    if extracts and not line.has("O", "to-stdout"):
        call.use(UseKind.WRITE, HERE, recursive=True, cwd=where)
        if line.has("P", "absolute-names", "transform", "xform"):
            call.doubt(Reason.NAMES)
    return Output()


def _dashed(args: Sequence[Value]) -> list[Value]:
    """The old form, the letters first and then their values in order, as the new one."""
    first = args[0].literal if args else None
    if not first or re.fullmatch(r"[A-Za-z]+", first) is None:
        return list(args)
    raw = args[0].raw
    rest = list(args[1:])
    plain = [text_value(f"-{letter}", raw) for letter in first if letter not in _TAR_VALUED]
    valued: list[Value] = []
    for letter in first:
        if letter in _TAR_VALUED:
            valued += [text_value(f"-{letter}", raw), *rest[:1]]
            rest = rest[1:]
    return [*plain, *valued, *rest]


def _inside(call: Call, where: Spot, value: Value) -> Spot:
    if value.gap is not None:
        call.unknown(value)
        return Spot("")
    return spot_of(where, value) or Spot("")


_ZIP = description(
    "- | 0123456789AcdDeEfFgjklLmnNoqrRSTuUvwXyz@ b:w i:- x:- n:- t:- P:- O:w | recurse-paths move test quiet delete"
    " update freshen junk-paths encrypt symlinks out:w include:- exclude:- password:-"
)
_UNZIP = description("- | abBcCDfjKlLMnopqtTuUvVWX:zZ1 d:F P:- x:- | ")


def _zip(call: Call) -> Output:
    line = read_line(call, _ZIP)
    if line.has("@"):
        call.doubt(Reason.INPUT)
    for archive in line.operands[:1]:
        call.use(UseKind.READ, archive)
        call.use(UseKind.WRITE, archive)
    for value in line.operands[1:]:
        call.use(UseKind.READ, value, recursive=line.has("r", "R", "recurse-paths"))
        if line.has("m", "move"):
            call.use(UseKind.DELETE, value, recursive=True)
    return Output()


def _unzip(call: Call) -> Output:
    line = read_line(call, _UNZIP)
    for archive in line.operands[:1]:
        call.use(UseKind.READ, archive)
    if not line.has("l", "p", "t", "v", "z", "Z", "c"):
        call.use(UseKind.WRITE, (line.values("F") or [HERE])[-1], recursive=True)
    return Output()


def _seven(call: Call) -> Output:
    command = value_or(call.args[0], "") if call.args else ""
    operands = [value for value in call.args[1:] if not value.head.startswith("-")]
    for value in call.args[1:]:
        if value.head.startswith("-o"):
            call.use(UseKind.WRITE, value.after(2), recursive=True)
        elif value.head.startswith(("-i", "-x", "@", "-w")):
            call.unknown(value)
    for place, value in enumerate(operands):
        kinds = [UseKind.READ]
        if not place and command in {"a", "u", "d", "rn"}:
            kinds.append(UseKind.WRITE)
        if not place or command in {"a", "u", "h"}:
            for kind in kinds:
                call.use(kind, value, recursive=bool(place))
    if command in {"x", "e"} and not any(value.head.startswith("-o") for value in call.args):
        call.use(UseKind.WRITE, HERE, recursive=True)
    elif command not in {"a", "u", "d", "rn", "l", "t", "h", "x", "e", "i", "b"}:
        call.doubt(Reason.PROGRAM)
    return Output()


_PACKERS = words("gzip pigz gunzip bzip2 bunzip2 xz unxz lzma unlzma zstd unzstd lz4 unlz4 compress uncompress")
ARCHIVES: dict[str, Handler] = {
    "tar": _tar, "gtar": _tar, "bsdtar": _tar, "zip": _zip, "unzip": _unzip, "7z": _seven, "7za": _seven, "7zz": _seven,
    **dict.fromkeys(_PACKERS, _pack_one),
}  # fmt: skip
