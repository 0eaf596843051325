"""Programs that search: in files, and for files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apm_hooks.shell.call import Call, Handler, value_or
from apm_hooks.shell.generic import HERE, passed, read_line
from apm_hooks.shell.options import description
from apm_hooks.shell.records import Reason, UseKind, words
from apm_hooks.shell.state import Outcome, same
from apm_hooks.shell.values import (
    GAP,
    TEXT,
    TREE,
    UNKNOWN_OUTPUT,
    UNKNOWN_SPOT,
    Output,
    Value,
    joined,
    spot_of,
    text_value,
)

_GREP = description(
    "s | abcEFGHhIiLlnoPqsTUuvVwxyZz0123456789rR e:- f:r m:- A:- B:- C:- d:A D:- | extended-regexp fixed-strings"
    " basic-regexp perl-regexp regexp:- file:r ignore-case no-ignore-case invert-match word-regexp line-regexp count"
    " color:?- colour:?- files-without-match files-with-matches max-count:- only-matching quiet silent no-messages"
    " byte-offset with-filename no-filename label:- line-number initial-tab null after-context:- before-context:-"
    " context:- text binary-files:- devices:- directories:A exclude:- exclude-from:r exclude-dir:- include:g recursive"
    " dereference-recursive line-buffered null-data unix-byte-offsets group-separator:- no-group-separator"
)
_RG = description(
    "S | 0abcFHhiIlLnNoPpqsSuUvwxz. e:- f:r g:g t:- T:- A:- B:- C:- m:- M:- j:- r:- E:- d:- | regexp:- file:r glob:g"
    " iglob:- type:- type-not:- type-add:- type-list files after-context:- before-context:- context:- max-count:-"
    " max-columns:- max-depth:- maxdepth:- max-filesize:- threads:- replace:- encoding:- ignore-case smart-case"
    " case-sensitive fixed-strings word-regexp line-regexp invert-match count count-matches files-with-matches"
    " files-without-match only-matching line-number no-line-number with-filename no-filename heading no-heading hidden"
    " no-ignore no-ignore-vcs no-ignore-parent follow multiline multiline-dotall pcre2 text binary search-zip null"
    " null-data json vimgrep column color:- colors:- sort:- sortr:- stats trim quiet pretty passthru pre:q pre-glob:-"
    " hostname-bin:q ignore-file:r unrestricted no-messages no-config engine:- context-separator:- byte-offset"
    " one-file-system debug trace crlf no-require-git path-separator:-"
)
_AG = description(
    "S | acDfFhHilLnoQrRsStTuUvwz0123456789 A:- B:- C:- g:- G:- m:- p:r W:- | after:- before:- context:- count"
    " depth:- file-search-regex:- files-with-matches files-without-matches filename nofilename heading noheading"
    " hidden ignore:- ignore-case ignore-dir:- literal max-count:- numbers nonumbers color nocolor only-matching"
    " path-to-ignore:r smart-case unrestricted word-regexp type:- python js"
)
TREE_BELOW = (TREE, "")


def _below(root: Value) -> Value:
    """Any path under the root, or the root itself."""
    return Value((*root.pieces, TREE_BELOW), root.raw)


def _grep(call: Call) -> Output:
    line = read_line(call, _GREP)
    recursive = call.name == "rgrep" or line.has("r", "R", "recursive", "dereference-recursive")
    recursive = recursive or any(value.literal != "skip" for value in line.values("A"))
    includes = line.values("g")
    found = line.operands if line.has("e", "f", "regexp", "file") else line.operands[1:]
    roots = found or ([HERE] if recursive else [])
    only = tuple(name for value in includes if (name := value.pattern) is not None)
    complete = recursive and len(only) == len(includes)
    for value in roots:
        call.use(UseKind.SEARCH, value, recursive=recursive, only=only if complete else ())
    return _names_of(call, roots, recursive, line.has("l", "L", "files-with-matches", "files-without-match"))


def _names_of(call: Call, roots: Sequence[Value], recursive: bool, prints_names: bool) -> Output:
    if roots and prints_names:
        return Output(tuple(_below(root) if recursive else root for root in roots))
    return passed(call, bool(roots))


def _rg(call: Call) -> Output:
    ag = call.name in {"ag", "ack"}
    line = read_line(call, _AG if ag else _RG)
    lists = line.has("files") or (ag and line.has("g"))
    patterned = lists or line.has("e", "f", "regexp", "file", "type-list")
    found = line.operands if patterned else line.operands[1:]
    roots = found or ([HERE] if call.stdin is None else [])
    globs = [value.pattern for value in line.values("g")]
    plain = not ag and all(glob and not glob.startswith("!") and "/" not in glob for glob in globs)
    only = tuple(glob for glob in globs if glob) if plain else ()
    for value in roots:
        call.use(UseKind.LIST if lists else UseKind.SEARCH, value, recursive=True, only=only)
    return _names_of(call, roots, True, lists or line.has("l", "files-with-matches", "files-without-match"))


_FIND_VALUES = frozenset(
    words(
        "-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -size "
        "-mtime -atime -ctime -mmin -amin -cmin -perm -user -group -uid -gid -links -inum -maxdepth -mindepth "
        "-regextype -fstype -used -context -printf -newermt"
    )
)
_FIND_FLAGS = frozenset(
    words(
        "-print -print0 -ls -prune -quit -depth -d -xdev -mount -follow -daystart -noleaf -empty -true -false "
        "-readable -writable -executable -nouser -nogroup -a -and -o -or -not ! ( ) , -nowarn -warn "
        "-ignore_readdir_race -delete"
    )
)
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})


def _find(call: Call) -> Outcome:
    args = list(call.args)
    while args and args[0].literal in {"-H", "-L", "-P", "-O1", "-O2", "-O3", "-E", "-X", "-x", "-s", "-d", "-f"}:
        args.pop(0)
    roots: list[Value] = []
    while args and not args[0].head.startswith(("-", "(", ")", "!", ",")):
        roots.append(args.pop(0))
    roots = roots or [HERE]
    texts = [value.literal for value in args]
    shallow = _depth(texts) <= 1
    only = _only(texts)
    for root in roots:
        call.use(UseKind.LIST, root, recursive=not shallow, only=only)
    for name, run in _actions(call, args):
        if name == "-delete":
            for root in roots:
                call.use(UseKind.DELETE, root, recursive=True, only=only)
        else:
            _run(call, roots, run, name.endswith("dir"))
    silent = any(text in _FIND_RUNS or text in {"-delete", "-printf", "-fprintf"} for text in texts)
    output = UNKNOWN_OUTPUT if silent else Output(tuple(_below(root) for root in roots))
    return same(call.state, output)


def _depth(texts: Sequence[str | None]) -> int:
    if "-maxdepth" in texts:
        following = texts[texts.index("-maxdepth") + 1 :][:1]
        if following and following[0] is not None and following[0].isdecimal():
            return int(following[0][:6])
    return 1_000_000


def _only(texts: Sequence[str | None]) -> tuple[str, ...]:
    """The name pattern that every file must match, where the expression is one plain conjunction."""
    if any(text in {"-o", "-or", "!", "-not", ",", "-prune", "(", ")", None} for text in texts):
        return ()
    for place, text in enumerate(texts[:-1]):
        if text == "-name":
            return (texts[place + 1] or "",)
    return ()


def _actions(call: Call, args: list[Value]) -> list[tuple[str, list[Value]]]:
    """The actions that change or run something, with their words; notes the files that the expression names."""
    found: list[tuple[str, list[Value]]] = []
    at = 0
    while at < len(args):
        text = args[at].literal
        at += 1
        if text in _FIND_RUNS:
            end = at
            while end < len(args) and args[end].literal not in {";", "+"}:
                end += 1
            found.append((text, args[at:end]))
            at = end + 1
        elif text in {"-fprint", "-fprint0", "-fls", "-fprintf"}:
            for value in args[at : at + 1]:
                call.use(UseKind.WRITE, value)
            at += 2 if text == "-fprintf" else 1
        elif text in _FIND_VALUES:
            at += 1
        elif text == "-files0-from":
            call.doubt(Reason.INPUT)
            at += 1
        elif text is not None and (text.startswith(("-newer", "-anewer", "-cnewer")) or text == "-samefile"):
            for value in args[at : at + 1]:
                call.use(UseKind.LIST, value)
            at += 1
        elif text == "-delete":
            found.append((text, []))
        elif text not in _FIND_FLAGS:
            call.unknown(args[at - 1])
    return found


def _run(call: Call, roots: Sequence[Value], program: Sequence[Value], elsewhere: bool) -> None:
    if not program:
        return
    for root in roots:
        spot = spot_of(call.cwd, root) if root.gap is None else None
        if spot is None:
            file = Value(((GAP, root.gap or Reason.DIRECTORY), TREE_BELOW), root.raw)
        else:
            file = Value((("glob" if spot.glob else TEXT, spot.whole or spot.path), TREE_BELOW), root.raw)
        filled = [_filled(word, file) for word in program]
        state = replace(call.state, cwds=(UNKNOWN_SPOT,)) if elsewhere else call.state
        env = replace(call.env, cwds=state.cwds)
        call.again(filled, stdin=None, state=state, env=env)


def _filled(word: Value, file: Value) -> Value:
    """The word with `{}` replaced."""
    text = word.literal
    if text is None or "{}" not in text:
        return word
    before, _, after = text.partition("{}")
    return joined(text_value(before), file, text_value(after), raw=word.raw)


_FD = description(
    "- | HIusigaLlp0Fq1 t:- e:- d:- E:- S:- j:- c:- C:H | hidden no-ignore case-sensitive ignore-case glob"
    " fixed-strings absolute-path list-details follow full-path type:- extension:- max-depth:- min-depth:- exclude:-"
    " size:- color:- changed-within:- changed-before:- base-directory:H search-path:H threads:- print0 unrestricted"
    " quiet regex max-results:-"
)


def _fd(call: Call) -> Output:
    args = call.args
    cut = next(
        (at for at, value in enumerate(args) if value.literal in {"-x", "-X", "--exec", "--exec-batch"}), len(args)
    )
    line = read_line(call, _FD, args[:cut])
    roots = [*line.operands[1:], *line.values("H")] or [HERE]
    for root in roots:
        call.use(UseKind.LIST, root, recursive=True)
    if cut == len(args):
        return Output(tuple(_below(root) for root in roots))
    marks = ("{}", "{.}", "{/}", "{//}", "{/.}")
    filled = [text_value("{}", word.raw) if word.literal in marks else word for word in args[cut + 1 :]]
    if not any("{" in value_or(word, "") for word in filled):
        filled.append(text_value("{}"))
    _run(call, roots, filled, False)
    return UNKNOWN_OUTPUT


def _locate(call: Call) -> Output:
    call.use(UseKind.LIST, text_value("/", call.words[0].raw), recursive=True)
    return Output()


SEARCHES: dict[str, Handler] = {
    **dict.fromkeys(
        ["grep", "egrep", "fgrep", "ggrep", "zgrep", "zegrep", "zfgrep", "bzgrep", "xzgrep", "rgrep"], _grep
    ),
    **dict.fromkeys(["rg", "ag", "ack"], _rg),
    **dict.fromkeys(["find", "gfind"], _find),
    **dict.fromkeys(["fd", "fdfind"], _fd),
    **dict.fromkeys(["locate", "mlocate", "plocate", "mdfind"], _locate),
}
