"""Programs that copy, move, remove and pack files, and those that send and fetch them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from apm_hooks.shell.call import Call, Handler, value_or
from apm_hooks.shell.generic import HERE, apply, read_line
from apm_hooks.shell.options import Description, description
from apm_hooks.shell.records import Reason, UseKind
from apm_hooks.shell.values import UNKNOWN_OUTPUT, Output, Spot, Value, joined, spot_of, text_value

_COPY = description(
    "r | abdfHiLlnPpRrsTuvxZX t:T S:- | archive attributes-only backup:?- copy-contents dereference force interactive"
    " link no-clobber no-dereference no-preserve:- parents preserve:?- recursive reflink:?- remove-destination"
    " sparse:- strip-trailing-slashes symbolic-link suffix:- target-directory:T no-target-directory update:?- verbose"
    " one-file-system"
)
_MOVE = description(
    "m | bfinTuvZ t:T S:- | backup:?- force interactive no-clobber strip-trailing-slashes suffix:- target-directory:T"
    " no-target-directory update:?- verbose exchange no-copy"
)
_LINK = description(
    "r | bdFfihLnPrsTvw t:T S:- | backup:?- directory force interactive logical no-dereference physical relative"
    " symbolic suffix:- target-directory:T no-target-directory verbose"
)
_INSTALL = description(
    "r | bcCDdpsTvZ g:- m:- o:- t:T S:- | backup:?- compare directory group:- mode:- owner:- preserve-timestamps strip"
    " suffix:- target-directory:T no-target-directory verbose"
)
_SCP = description("r | 346ABCpqrTvRO c:- D:- F:r i:r J:- l:- o:q P:- S:q X:- | ")
_RSYNC = description(
    "r | 0468aAbcCdDEFgHhiIJkKlLmnNoOpPqrRsStuUvWxXyz e:c f:- B:- T:w M:- | archive verbose quiet recursive relative"
    " update inplace append dirs links copy-links perms owner group times dry-run delete delete-after delete-before"
    " delete-during delete-excluded force existing ignore-existing remove-source-files partial partial-dir:w progress"
    " stats compress exclude:- include:- exclude-from:r include-from:r files-from:i from0 filter:- rsh:c rsync-path:q"
    " log-file:w password-file:r backup backup-dir:w temp-dir:w compare-dest:R copy-dest:R link-dest:R checksum"
    " human-readable itemize-changes info:- bwlimit:- max-size:- min-size:- size-only whole-file no-perms no-owner"
    " no-group numeric-ids omit-dir-times timeout:- port:- mkpath chmod:- chown:-"
)
_REMOVE = description(
    "d | dfiIRrvWPx | force interactive:?- one-file-system no-preserve-root preserve-root:?- recursive dir verbose"
)
_SPLIT = description(
    "r w | edux a:- b:- C:- l:- n:- t:- | suffix-length:- bytes:- line-bytes:- lines:- number:- additional-suffix:-"
    " numeric-suffixes:?- hex-suffixes:?- elide-empty-files filter:c unbuffered verbose separator:-"
)
_CSPLIT = description("r - | ksz f:P b:- n:- | prefix:P suffix-format:- digits:- keep-files quiet silent")
_SHRED = description("w | fuvxz n:- s:- | force iterations:- size:- remove:?- verbose exact zero random-source:r")
_PATCH = description(
    "b r | bcefFlNnRstTuvZE p:- i:r o:w d:W D:- r:w B:- V:- Y:- z:- F:- | strip:- input:r output:w directory:W dry-run"
    " forward reverse force batch silent quiet verbose backup reject-file:w fuzz:- remove-empty-files"
)
_REMOTE = re.compile(r"(?:[^/:\s]+@)?[^/:\s]+::?.*|rsync://.*|scp://.*", re.DOTALL)


def remote(value: Value) -> bool:
    """Whether the word names a place on another machine."""
    head = value.head
    return bool(_REMOTE.fullmatch(head if value.literal is not None else head + "x")) and ":" in head


def _name_in(folder: Value, source: Value, networked: bool) -> Value | None:
    """Where a file of that name comes to lie in the folder."""
    text = source.literal
    if text is None:
        return None
    name = text.rstrip("/").rpartition("/")[2]
    if name in {"", ".", ".."} or (networked and text.endswith("/")):
        return None
    return joined(folder, text_value(f"/{name}"), raw=folder.raw)


def _transfer(call: Call, about: Description, source: str, recursing: Sequence[str]) -> Output:
    """`cp`, `mv`, `ln`, `install`, `rsync`, `scp`: sources, then a file or a folder to put them in."""
    line = read_line(call, about)
    sources = list(line.operands)
    folders = line.values("T")
    networked = call.name in {"rsync", "scp"}
    recursive = source == "m" or line.has(*recursing)
    source = "m" if line.has("remove-source-files") else source
    if folders:
        target = folders[-1]
    elif len(sources) > 1:
        target = sources.pop()
    else:
        target = HERE
    for value in sources:
        if not (networked and remote(value)):
            apply(call, source, value, recursive=recursive)
    if (networked and remote(target)) or (not sources and not folders):
        return UNKNOWN_OUTPUT
    for folder in folders[:-1]:
        call.use(UseKind.WRITE, folder, recursive=True)
    exact = line.has("T", "no-target-directory")
    into_folder = bool(folders) or len(sources) > 1 or target is HERE or value_or(target, "").endswith("/")
    nested = line.has("parents", "relative") or (call.name == "rsync" and line.has("R"))
    if exact or not into_folder or recursive or nested:
        call.use(UseKind.WRITE, target, recursive=recursive or nested)
    if call.name in {"ln", "gln"} and line.has("s", "symbolic"):
        _from_link(call, target, sources)
    for value in () if exact else sources:
        inside = _name_in(target, value, networked)
        call.use(UseKind.WRITE, inside or target, recursive=recursive or inside is None)
    if any(name.startswith("delete") for name in line.names):
        call.use(UseKind.DELETE, target, recursive=True)
    return UNKNOWN_OUTPUT


def _from_link(call: Call, target: Value, sources: Sequence[Value]) -> None:
    """A relative link starts from where it lies: in the folder that is named, or beside the name."""
    for folder in (target, joined(target, text_value("/.."), raw=target.raw)):
        spot = spot_of(call.cwd, folder) if folder.gap is None else None
        for value in sources:
            if not value.head.startswith("/"):
                call.use(UseKind.READ, value, recursive=True, cwd=spot or Spot(""))


def _cp(call: Call) -> Output:
    return _transfer(call, _COPY, "r", ["a", "r", "R", "archive", "recursive"])


def _mv(call: Call) -> Output:
    return _transfer(call, _MOVE, "m", [])


def _ln(call: Call) -> Output:
    """A link gives the file a second name: as good as a read of it, and of all below."""
    return _transfer(call, _LINK, "r", ["s", "symbolic"])


def _install(call: Call) -> Output:
    if any(value.literal in {"-d", "--directory"} for value in call.args):
        for value in read_line(call, _INSTALL).operands:
            call.use(UseKind.WRITE, value)
        return UNKNOWN_OUTPUT
    return _transfer(call, _INSTALL, "r", [])


def _scp(call: Call) -> Output:
    return _transfer(call, _SCP, "r", ["r"])


def _rsync(call: Call) -> Output:
    return _transfer(call, _RSYNC, "r", ["a", "r", "archive", "recursive", "files-from"])


def _rm(call: Call) -> Output:
    line = read_line(call, _REMOVE)
    for value in line.operands:
        call.use(UseKind.DELETE, value, recursive=line.has("r", "R", "recursive"))
    return UNKNOWN_OUTPUT


def _split(call: Call) -> Output:
    """`split`, `csplit`: files whose names begin with what is given."""
    context = call.name == "csplit"
    line = read_line(call, _CSPLIT if context else _SPLIT)
    for value in line.operands[:1]:
        call.use(UseKind.READ, value)
    prefixes = line.values("P") if context else line.operands[1:]
    for value in prefixes or [text_value("xx" if context else "x", call.words[0].raw)]:
        call.use(UseKind.WRITE, joined(value, Value((("glob", "*"),)), raw=value.raw))
    return UNKNOWN_OUTPUT


def _shred(call: Call) -> Output:
    line = read_line(call, _SHRED)
    for value in line.operands:
        call.use(UseKind.WRITE, value)
        if line.has("u", "remove"):
            call.use(UseKind.DELETE, value)
    return UNKNOWN_OUTPUT


def _patch(call: Call) -> Output:
    """Which files it changes stands in the patch."""
    line = read_line(call, _PATCH)
    for place, value in enumerate(line.operands):
        apply(call, "r" if place else "b", value)
    call.use(UseKind.WRITE, HERE, recursive=True)
    call.doubt(Reason.INPUT)
    return UNKNOWN_OUTPUT


def _dd(call: Call) -> Output:
    for value in call.args:
        name, equals, _ = value.head.partition("=")
        if name in {"if", "of"} and equals:
            call.use(UseKind.READ if name == "if" else UseKind.WRITE, value.after(3))
        elif value.gap is not None and not equals:
            call.unknown(value)
    return UNKNOWN_OUTPUT


FILES: dict[str, Handler] = {
    "cp": _cp, "gcp": _cp, "mv": _mv, "gmv": _mv, "ln": _ln, "install": _install, "ginstall": _install, "scp": _scp,
    "rsync": _rsync, "rm": _rm, "grm": _rm, "dd": _dd, "patch": _patch, "shred": _shred,
    "split": _split, "gsplit": _split, "csplit": _split,
}  # fmt: skip
