"""git: what it reads and writes of the work tree, and of the history, which holds every earlier text of every file.

Where a repository begins is not known here; it is the directory or one above it. So a use of the history is one of
`.git` in each of them, and a path that git counts from the repository's top is one from each of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from apm_hooks.shell.call import Call, Handler
from apm_hooks.shell.generic import HERE
from apm_hooks.shell.gitline import GitLine, git_line, harmless_setting
from apm_hooks.shell.records import Reason, UseKind, words
from apm_hooks.shell.state import Outcome, same
from apm_hooks.shell.values import TREE, UNKNOWN_OUTPUT, Output, Spot, Value, spot_of, text_value

_MAGIC = re.compile(r":(?:\((?P<long>[^)]*)\)|(?P<short>[/!^]+):?)")
# How a pattern ends that matches no file of a memory.
_NO_MEMORY = re.compile(r"\.(?!(?i:md|json|jsonl|txt|bak|tmp|lock)\Z)[A-Za-z]\w*\Z")
_REVISION = re.compile(r"HEAD.*|[0-9a-f]{7,40}|@.*|[^/]*\.\.[^/]*")
# `git log` with one of these tells contents of files.
_PATCHES = r"-[pucW].*|--patch.*|-[SGLU].*|--cc|--full-diff|--diff-merges|--unified|--function-context|--remerge-diff"


def _tops(cwd: Spot) -> Iterator[str]:
    """The directory and those above it, but for the root."""
    path = cwd.path
    while len(path) > 1:
        yield path
        path = path.rpartition("/")[0]


def _history(line: GitLine, kind: UseKind, *, deep: bool = True) -> None:
    """The repository itself."""
    if line.directory is not None:
        line.call.use(kind, line.directory, recursive=deep, cwd=line.base)
        return
    if not line.base.path:
        line.call.doubt(Reason.DIRECTORY)
    for top in _tops(line.base):
        value = Value((("glob" if line.base.glob else "text", f"{top}/.git"),), line.call.words[0].raw)
        line.call.use(kind, value, recursive=deep)


def _unfolds(line: GitLine) -> None:
    """Writes the history, and into the work tree from it: where that is another one, it is read by that."""
    _history(line, UseKind.READ if line.elsewhere else UseKind.WRITE)
    if line.elsewhere:
        _history(line, UseKind.WRITE)


def _from_top(line: GitLine, kind: UseKind, path: Value, only: tuple[str, ...] = ()) -> None:
    """A path that is counted from the repository's top."""
    if path.head.startswith("./") or not line.cwd.path or path.gap is not None:
        line.call.use(kind, path, recursive=True, only=only, cwd=line.cwd)
        return
    for top in _tops(line.cwd):
        line.call.use(kind, path, recursive=True, only=only, cwd=Spot(top, line.cwd.glob))


def _trees(line: GitLine, kind: UseKind, values: Sequence[Value]) -> None:
    """Paths of the work tree, with the magic words of git taken away."""
    named = False
    for value in values:
        match = _MAGIC.match(value.head)
        if match is None:
            named = True
            _matching(line, kind, value, top=value.literal == ":")
            continue
        long, short = match["long"] or "", match["short"] or ""
        if "exclude" in long or set(short) & set("!^"):
            continue
        named = True
        rest = Value(value.after(match.end()).pieces or HERE.pieces, value.raw)
        _matching(line, kind, rest, top="top" in long or bool(short))
    if values and not named:
        # All but what is left out.
        _from_top(line, kind, HERE)


def _matching(line: GitLine, kind: UseKind, value: Value, *, top: bool) -> None:
    """What a pattern of git's own could match, whose `*` takes slashes too: a folder, and all below it with such a
    name. One of the shell's that matches nothing is left to git as it stands."""

    def use(path: Value, only: tuple[str, ...] = ()) -> None:
        if top:
            _from_top(line, kind, path, only)
        else:
            line.call.use(kind, path, recursive=True, only=only, cwd=line.cwd)

    pattern = value.pattern
    wild = re.search(r"[*?\[\\]", pattern) if pattern is not None else None
    if value.literal == ":":
        use(Value(HERE.pieces, value.raw))
    elif pattern is None or wild is None:
        use(value)
    else:
        if value.literal is None:
            use(value)
        folder, end = pattern[: wild.start()].rpartition("/"), re.split(r"[*?\[\]\\]", pattern)[-1]
        name = end.rpartition("/")[2] if "/" in end else f"*{end}"
        use(Value((("text", "".join(folder[:2]) or "."),), value.raw), () if end.endswith("/") else (name,))


def _told_by_pattern(value: Value) -> bool:
    """Whether a pattern could match a memory's file that is in the history alone."""
    pattern = value.pattern
    if pattern is None or _MAGIC.match(value.head) or pattern == ":":
        return True
    wild = re.search(r"[*?\[\\]", pattern)
    return wild is not None and "/" not in pattern[: wild.start()] and not _NO_MEMORY.search(pattern)


def _tells(line: GitLine) -> None:
    """Contents: of the paths that it is limited to, else of everything."""
    _trees(line, UseKind.READ, line.paths)
    named = [value for value in line.revisions if ":" in value.head[1:]]
    for value in named:
        path = value.after(value.head.index(":", 1) + 1)
        _from_top(line, UseKind.READ, Value(path.pieces or HERE.pieces, value.raw))
    others = [value for value in line.revisions if value not in named]
    for value in others:
        # Without `--`, git takes a word for a revision if it is one, else for a path.
        if value.gap is None and not _REVISION.fullmatch(value.literal or ""):
            line.call.use(UseKind.READ, value, recursive=True, cwd=line.cwd)
    if (not line.paths and (others or not named)) or line.elsewhere or any(map(_told_by_pattern, line.paths)):
        _history(line, UseKind.READ)
    if line.command == "bundle":
        for value in line.revisions[1:2]:
            line.call.use(UseKind.WRITE, value, cwd=line.cwd)
    if line.command == "format-patch" and not line.has(r"--stdout|-o|--output-directory"):
        line.call.use(UseKind.WRITE, HERE, recursive=True, cwd=line.cwd)


def _log(line: GitLine) -> None:
    for value in line.words:
        match = re.match(r"-L.*?:([^:,]+)$", value.literal or "")
        if match:
            _from_top(line, UseKind.READ, text_value(match[1], value.raw))
    if line.has(_PATCHES):
        _tells(line)
    else:
        _history(line, UseKind.LIST)


def _lists_history(line: GitLine) -> None:
    names_only = {"-a", "-r", "-l", "--all", "--remotes", "--list", "--show-current"}
    plain = line.command == "branch" and not line.revisions and names_only.issuperset(line.options)
    _history(line, UseKind.LIST, deep=not plain)


def _writes_history(line: GitLine) -> None:
    asks = line.command in {"tag", "remote"} and (not line.revisions or line.has(r"-l|--list"))
    _history(line, UseKind.LIST if asks else UseKind.WRITE)


def _status(line: GitLine) -> None:
    every = line.has(r"-u(?:all)?|--untracked-files|--ignored|--short-format") or bool(line.revisions or line.paths)
    line.call.use(UseKind.LIST, HERE, recursive=every, cwd=line.cwd)
    if line.has(r"-v+|--verbose"):
        _history(line, UseKind.READ)


def _ls_files(line: GitLine) -> None:
    _trees(line, UseKind.LIST, [*line.revisions, *line.paths] or [HERE])


def _add(line: GitLine) -> None:
    """`add`, `stage`, `commit`: into the history."""
    named = [*line.revisions, *line.paths]
    _trees(line, UseKind.READ, named)
    every = r"--all|--update|-[a-z]*a[a-z]*|-[Au]" if line.command == "commit" else r"--all|--update|-[Au]"
    if line.has(every) and not named:
        line.call.use(UseKind.READ, HERE, recursive=True, cwd=line.cwd)
    if line.has(r"-[a-z]*v[a-z]*|--verbose|--patch|--interactive|--edit|-[pi]") and not line.has(r"--no-verbose"):
        _history(line, UseKind.READ)
    _history(line, UseKind.WRITE)


def _remove(line: GitLine) -> None:
    _trees(line, UseKind.LIST if line.has("--cached") else UseKind.DELETE, [*line.revisions, *line.paths])
    _history(line, UseKind.WRITE)


def _move(line: GitLine) -> None:
    named = [*line.revisions, *line.paths]
    _trees(line, UseKind.MOVE_FROM, named[:-1])
    _trees(line, UseKind.WRITE, named[-1:])
    _history(line, UseKind.WRITE)


def _grep(line: GitLine) -> None:
    found = line.revisions if line.has(r"-e.*|-f|--and|--or") else line.revisions[1:]
    _trees(line, UseKind.SEARCH, [*found, *line.paths] or [HERE])
    if any(not set("/.") & set(value.head) for value in found):
        _history(line, UseKind.READ)


def _hash_object(line: GitLine) -> None:
    _trees(line, UseKind.READ, [*line.revisions, *line.paths])


def _config(line: GitLine) -> None:
    if len(line.revisions) > 1 and not harmless_setting(f"{line.revisions[0].literal or '?'}="):
        line.call.doubt(Reason.INLINE_CODE, line.revisions[0].raw)


def _clone(line: GitLine) -> None:
    for value in (*line.revisions, *line.paths):
        line.call.possible(value)
        if not re.match(r"[\w+.-]+://|[^/]+:", value.head):
            line.call.use(UseKind.READ, value, recursive=True, cwd=line.cwd)
    if len(line.revisions) < 2:
        source = re.sub(r"(?:/?\.git)?/*\Z", "", (line.revisions[0].literal if line.revisions else None) or "")
        name = re.split(r"[/:]", source)[-1]
        value = text_value(name, line.revisions[0].raw) if name.strip(".") else HERE
        line.call.use(UseKind.WRITE, value, recursive=True, cwd=line.cwd)


def _stash(line: GitLine) -> None:
    verb = line.revisions[0].literal if line.revisions else "push"
    if verb == "list":
        _history(line, UseKind.LIST)
    elif verb == "show":
        _history(line, UseKind.READ)
    else:
        if line.has(r"-[a-z]*[au][a-z]*|--all|--include-untracked"):
            _trees(line, UseKind.DELETE, line.paths or [HERE])
        _trees(line, UseKind.WRITE, line.paths or [HERE])
        _unfolds(line)


def _checkout(line: GitLine) -> None:
    """`checkout`, `switch`, `restore`: other texts in the work tree. A word may be a branch, or a path."""
    if line.has(r"-p|--patch"):
        _history(line, UseKind.READ)
    made = line.has(r"-[bBcC]|--orphan|--create") or line.command == "switch"
    named = line.paths + ([] if made else line.revisions)
    _trees(line, UseKind.WRITE, named)
    if line.command != "restore" and not line.paths:
        line.call.use(UseKind.WRITE, HERE, recursive=True, cwd=line.cwd)
    _unfolds(line)


def _reset(line: GitLine) -> None:
    if line.has(r"--hard|--merge|--keep"):
        line.call.use(UseKind.WRITE, HERE, recursive=True, cwd=line.cwd)
    if line.has(r"-p|--patch"):
        _history(line, UseKind.READ)
    _unfolds(line)


def _clean(line: GitLine) -> None:
    if not line.has(r"-[a-z]*n[a-z]*|--dry-run"):
        _trees(line, UseKind.DELETE, [*line.revisions, *line.paths] or [HERE])


def _rewrites(line: GitLine) -> None:
    """What puts other texts into any file of the work tree."""
    if line.command in {"apply", "am"}:
        for value in (*line.revisions, *line.paths):
            line.call.use(UseKind.READ, value, cwd=line.cwd)
        line.call.doubt(Reason.INPUT)
    verb = line.revisions[0].literal if line.revisions else None
    if verb in {"list", "status", "log"} and line.command in {"worktree", "submodule", "bisect"}:
        _history(line, UseKind.LIST)
        return
    if line.command in {"filter-branch", "filter-repo"} or verb in {"run", "foreach"}:
        line.call.doubt(Reason.INLINE_CODE)
    if line.command == "worktree" and len(line.revisions) > 1:
        line.call.use(UseKind.WRITE, line.revisions[1], recursive=True, cwd=line.cwd)
    line.call.use(UseKind.WRITE, HERE, recursive=True, cwd=line.cwd)
    _unfolds(line)


def _nothing(line: GitLine) -> None:
    """Names and settings: no file of the work tree, no text of one."""
    for value in line.revisions:
        line.call.text(value)


_COMMANDS: dict[str, Callable[[GitLine], None]] = {
    **dict.fromkeys(
        words(
            "show diff blame annotate cat-file format-patch archive bundle whatchanged difftool range-diff diff-tree"
            " diff-index diff-files fast-export request-pull notes"
        ),
        _tells,
    ),
    **dict.fromkeys(words("log reflog shortlog"), _log),
    **dict.fromkeys(words("branch ls-tree rev-list describe for-each-ref show-ref show-branch"), _lists_history),
    **dict.fromkeys(words("fetch push init gc prune tag update-ref remote pack-refs"), _writes_history),
    **dict.fromkeys(words("add stage commit"), _add),
    **dict.fromkeys(words("checkout switch restore checkout-index"), _checkout),
    **dict.fromkeys(
        words(
            "merge pull rebase cherry-pick revert apply am worktree submodule bisect read-tree sparse-checkout subtree"
            " filter-branch filter-repo"
        ),
        _rewrites,
    ),
    **dict.fromkeys(
        words(
            "rev-parse symbolic-ref version help var check-ignore check-attr merge-base ls-remote count-objects"
            " verify-commit name-rev check-ref-format cherry"
        ),
        _nothing,
    ),
    "status": _status, "ls-files": _ls_files, "rm": _remove, "mv": _move, "grep": _grep, "hash-object": _hash_object,
    "config": _config, "clone": _clone, "stash": _stash, "reset": _reset, "clean": _clean,
}  # fmt: skip


def _git(call: Call) -> Output:
    line = git_line(call)
    if not line.command:
        return UNKNOWN_OUTPUT
    judge = _COMMANDS.get(line.command)
    if judge is None:
        # An alias of the user's own, or a program `git-NAME`.
        call.doubt(Reason.PROGRAM, f"git {line.command}")
        _history(line, UseKind.READ)
        for value in (*line.revisions, *line.paths):
            call.possible(value)
        return UNKNOWN_OUTPUT
    judge(line)
    if line.command != "ls-files":
        return UNKNOWN_OUTPUT
    root = line.paths[0] if line.paths else HERE
    spot = spot_of(line.cwd, root) if root.gap is None else None
    return (
        Output((Value((("text", spot.path), (TREE, "")), call.words[0].raw),)) if spot and not spot.glob else Output()
    )


def _gh(call: Call) -> Outcome:
    """GitHub's command: only its options name files."""
    for place, value in enumerate(call.args):
        before = call.args[place - 1].literal if place else None
        if before in {"-F", "--body-file", "--notes-file", "--input", "-T", "--template"}:
            call.use(UseKind.READ, value)
        elif re.match(r"--(?:body-file|notes-file|input)=", value.head):
            call.use(UseKind.READ, value.after(value.head.index("=") + 1))
    call.doubt(Reason.PROGRAM)
    return same(call.state, UNKNOWN_OUTPUT)


GIT: dict[str, Handler] = {"git": _git, "gh": _gh}
