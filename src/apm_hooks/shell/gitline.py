"""The words of a git command, told apart: its own options, the subcommand, revisions and paths."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from apm_hooks.shell.call import Call
from apm_hooks.shell.records import Reason, UseKind, words
from apm_hooks.shell.values import Spot, Value, spot_of

# Long options whose value is the next word, and names no file.
_TEXT = frozenset(
    words(
        "-m --message --author --date --grep --since --until --after --before --format --pretty --max-count --skip"
        " --depth --branch --jobs --strategy --strategy-option --sort --points-at --contains --cleanup --reuse-message"
        " --fixup --squash --trailer --origin --config --filter --diff-filter --inter-hunk-context --committer"
        " --remote --onto --abbrev --stage --type --default --orphan --source"
    )
)
# Short ones, by the subcommands in which they take a value.
_SHORT = {
    "-n": "log show tag", "-b": "checkout clone submodule", "-B": "checkout", "-c": "switch commit clone",
    "-C": "switch commit", "-e": "grep", "-A": "grep", "-s": "merge rebase pull restore", "-L": "log blame",
    "-X": "merge rebase pull cherry-pick", "-j": "clone fetch", "-S": "log", "-G": "log", "-u": "clone",
    "-o": "push clone",
}  # fmt: skip
_FILES = {
    "-F": "r", "--file": "r", "-O": "r", "--pathspec-from-file": "i", "--output": "w", "--output-directory": "w",
    "--template": "r", "--separate-git-dir": "b",
}  # fmt: skip
_RUNS = frozenset(
    {"--exec", "--extcmd", "--upload-pack", "--receive-pack", "--ext-diff", "--open-files-in-pager", "--exec-path"}
)
_PLAIN = frozenset(
    words(
        "-p -P --no-pager --paginate --bare --no-replace-objects --literal-pathspecs --version --help -v -h"
        " --no-optional-locks --glob-pathspecs --icase-pathspecs"
    )
)
_HARMLESS_SETTING = re.compile(
    r"(?:user\.|color\.|core\.quotepath|core\.autocrlf|advice\.|init\.defaultbranch|commit\.gpgsign|http\.|log\.|protocol\."
    r"|diff\.renames|safe\.directory|push\.|pull\.|merge\.conflictstyle)[^=]*(?:=.*)?|core\.pager=(?:cat)?",
    re.IGNORECASE | re.DOTALL,
)


def harmless_setting(text: str) -> bool:
    """Whether a setting of git (`name=value`) runs nothing and opens nothing."""
    return _HARMLESS_SETTING.fullmatch(text) is not None


@dataclass(slots=True)
class GitLine:
    """`cwd` is the work tree's directory, `base` the one from which the repository is looked for, and `elsewhere` says
    that a repository or a work tree is named. `directory` is that of `--git-dir`; `words` are all after the subcommand;
    `revisions` stand before a `--`, and may be paths as well; `paths` after it."""

    call: Call
    cwd: Spot
    base: Spot
    directory: Value | None = None
    elsewhere: bool = False
    command: str = ""
    words: list[Value] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    revisions: list[Value] = field(default_factory=list)
    paths: list[Value] = field(default_factory=list)

    def has(self, pattern: str) -> bool:
        """Whether an option, its value apart, matches the pattern."""
        return any(re.fullmatch(pattern, option) for option in self.options)


def git_line(call: Call) -> GitLine:
    """The words told apart; what git would run or open by its options is reported."""
    line = GitLine(call, call.cwd, call.cwd)
    rest = list(call.args)
    while rest and rest[0].head.startswith("-"):
        _own_option(line, rest.pop(0), rest)
    if not rest:
        return line
    command = rest[0].literal
    if command is None:
        call.unknown(rest[0])
        return line
    line.command = command
    line.words = rest[1:]
    for value in line.words:
        if value.head.startswith("ext::"):
            call.doubt(Reason.INLINE_CODE, value.raw)
    _split(line)
    return line


def _own_option(line: GitLine, value: Value, rest: list[Value]) -> None:
    name, equals, _ = value.head.partition("=")
    given = value.after(len(name) + 1) if equals else None
    if name in {"-C", "-c", "--git-dir", "--work-tree", "--namespace"} and given is None and rest:
        given = rest.pop(0)
    if name == "-c" and given is not None:
        if not harmless_setting(given.literal or "?"):
            line.call.doubt(Reason.INLINE_CODE, given.raw)
    elif name == "--git-dir" and given is not None:
        line.directory, line.elsewhere = given, True
    elif name in {"-C", "--work-tree"} and given is not None:
        spot = spot_of(line.base, given) if given.gap is None else None
        if spot is None:
            line.call.unknown(given)
        line.cwd = spot or Spot("")
        if name == "-C":
            line.base = line.cwd
        else:
            line.elsewhere = True
    elif name not in _PLAIN and name != "--namespace":
        line.call.unknown(value)


def _split(line: GitLine) -> None:
    args = list(line.words)
    while args:
        value = args.pop(0)
        if value.literal == "--":
            line.paths += args
            return
        if len(value.head) > 1 and value.head.startswith("-"):
            _option(line, value, args)
        else:
            line.revisions.append(value)


def _option(line: GitLine, value: Value, rest: list[Value]) -> None:
    name, equals, _ = value.head.partition("=")
    line.options.append(name)
    role = _FILES.get(name)
    if name == "-o" and line.command in {"format-patch", "archive"}:
        role = "w"
    if name == "-f" and line.command in {"config", "grep"}:
        role = "r"
    if name in _RUNS or (name == "-x" and line.command in {"rebase", "difftool"}):
        line.call.doubt(Reason.INLINE_CODE, value.raw)
        if not equals and name != "--ext-diff" and rest:
            rest.pop(0)
    elif role is not None:
        given = value.after(len(name) + 1) if equals else rest.pop(0) if rest else None
        if given is not None:
            _file(line, role, given)
    elif re.match(r"-[FO].", value.head):
        _file(line, "r", value.after(2))
    elif (not equals and rest and (name in _TEXT or line.command in _SHORT.get(name, "").split())) or (
        line.command == "commit" and re.fullmatch(r"-[a-z]*m", name) and rest
    ):
        rest.pop(0)


def _file(line: GitLine, role: str, value: Value) -> None:
    if role in {"w", "b"}:
        if role == "b":
            line.call.use(UseKind.READ, value, recursive=True, cwd=line.cwd)
        line.call.use(UseKind.WRITE, value, recursive=True, cwd=line.cwd)
        return
    line.call.use(UseKind.READ, value, cwd=line.cwd)
    if role == "i":
        line.call.doubt(Reason.INPUT, value.raw)
