"""Tools that run something: shell commands as a text or a list of words, text for running programs, code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from apm_hooks.access import Access, AccessKind
from apm_hooks.toolcalls.arguments import Arguments, mapping, path_words, records
from apm_hooks.toolcalls.gathering import Gathering
from apm_hooks.toolcalls.patches import ENVELOPE, read_envelope
from apm_hooks.toolcalls.paths import Base, Why, placed

OWN = "apm-hooks"
COMMANDS = 64
COMMAND_CHARS = 262_144
DEPTH = 4

COMMAND = "command cmd command_line shell_command"
WORKDIR = "workdir work_dir cwd working_dir working_directory dir_path directory dir"
CODE = "code script source expression language javascript function"
STDIN = "stdin input chars data text keys literal"

_SHELLS = re.compile(r"(?:.*/)?(?:sh|bash|dash|ash|ksh|zsh)", re.DOTALL)
_OTHER_SHELLS = re.compile(
    r"(?:.*[/\\])?(?:pwsh|powershell|cmd|fish|nu|elvish|xonsh)(?:\.exe)?", re.DOTALL | re.IGNORECASE
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOVES = re.compile(r"(?<![\w.-])(?:cd|pushd|popd|chdir)(?!\w)|-C(?!\w)|--chdir")
_LIVE = re.compile(r"[$`]")


def shell(arguments: Arguments, found: Gathering) -> None:
    """Reads the command of a shell tool. A list of words is one command; a list of texts with blanks may be several."""
    inner = [record for value in arguments.take("action") if (record := mapping(value)) is not None]
    ran = [run_all(each, found) for each in (arguments, *map(Arguments, inner))]
    for text in arguments.take("stdin input"):
        if text:
            found.doubt(Why.INPUT, text if isinstance(text, str) else type(text).__name__)
    # Starting a shell anew, asking for output, or telling a result runs nothing.
    if not any(ran) and not arguments.has("restart action session_id result"):
        found.doubt(Why.ARGUMENTS, "")


def run_all(arguments: Arguments, found: Gathering) -> bool:
    """Reads every command among the arguments, from each place and with each setting that it may have; False if there
    is none."""
    around = _surroundings(arguments, found)
    words = records(arguments.take("args arguments"))
    given = [*arguments.take(COMMAND), *records(arguments.take("commands"))]
    given = given or ([words] if words else [])
    for value in given:
        for command in _commands(value, words, found, DEPTH):
            for cwd, settings in around:
                run(command, found, cwd, settings)
    return bool(given)


def _surroundings(arguments: Arguments, found: Gathering) -> list[tuple[str, str]]:
    """Where the command of a call may start (empty: not known), each with what sets its variables, written for the
    shell. What the host would pass over counts both ways. Another shell than those that are read here is noted."""
    for value in arguments.take("shell shell_type"):
        if isinstance(value, str) and value and not _SHELLS.fullmatch(value):
            found.doubt(Why.OTHER_SHELL, value)
    directory, settings = _directory(arguments, found), _settings(arguments, found)
    sure = bool(arguments.exact(found.taken.workdir))
    set_for_sure = bool(arguments.exact(found.taken.variables))
    directories = [directory] if sure else list(dict.fromkeys((found.base.cwd, directory)))
    variables = [settings] if set_for_sure else list(dict.fromkeys(("", settings)))
    return [(cwd, text) for cwd in directories for text in variables]


def run(command: str, found: Gathering, cwd: str, settings: str = "") -> None:
    """Reads one shell command that starts in `cwd` (empty: not known), with the variables of `settings` set before."""
    from apm_hooks.shell.reading import OPAQUE, UseKind, read_command

    if not found.first_time((command, cwd, settings)):
        return
    if len(found.commands) >= COMMANDS or sum(map(len, (command, *found.commands))) > COMMAND_CHARS:
        found.doubt(Why.TOO_MUCH, command)
        return
    found.commands += [command] if command not in found.commands else []
    reading = read_command(settings + command, cwd=cwd, home=found.base.home)
    for use in reading.uses:
        if use.kind is UseKind.EXECUTE and use.program == OWN:
            settings_of = (each for each in use.environment if each != f"PWD={found.base.cwd}")
            found.own[*settings_of, use.path, *use.arguments] = None
        kept = use.unresolved if "/../" in use.unresolved + "/" else use.path
        for path in dict.fromkeys((use.path, kept)):
            # Our own command by its bare name is no file of the agent's.
            if path.startswith("/"):
                found.add(
                    Access(
                        AccessKind(use.kind.value),
                        path,
                        recursive=use.recursive,
                        glob=use.glob,
                        only=use.only,
                        word=use.word,
                    )
                )
    for doubt in reading.doubts:
        found.doubt(doubt.reason.value, doubt.word, opaque=doubt.reason in OPAQUE)
    if ENVELOPE in command:
        _patch(command, found, cwd)


def stdin(arguments: Arguments, found: Gathering) -> None:
    """Text for a program that runs already: what it does with it stands nowhere."""
    for value in arguments.take(STDIN + " command"):
        texts = [value] if isinstance(value, str) else records([value])
        for text in texts:
            if text and not isinstance(text, bool):
                found.doubt(Why.INPUT, text if isinstance(text, str) else type(text).__name__)


def code(arguments: Arguments, found: Gathering) -> None:
    """Code of a language that is not read here."""
    values = arguments.take(CODE)
    for value in values:
        found.doubt(Why.INLINE_CODE, value if isinstance(value, str) else type(value).__name__)
    if not values:
        found.doubt(Why.ARGUMENTS, "")


def other_shell(arguments: Arguments, found: Gathering) -> None:
    """A command for a shell of another grammar."""
    values = arguments.take(COMMAND + " script")
    for value in values:
        found.doubt(Why.OTHER_SHELL, value if isinstance(value, str) else type(value).__name__)
        found.commands += [value] if isinstance(value, str) else []
    if not values:
        found.doubt(Why.ARGUMENTS, "")


def _directory(arguments: Arguments, found: Gathering) -> str:
    if not arguments.has(WORKDIR):
        return found.base.cwd
    words = path_words(arguments, WORKDIR, found, needed=False)
    if not words:
        return "" if any(arguments.take(WORKDIR)) else found.base.cwd
    places = [placed(word, found.base) for word in words]
    for word, place in zip(words, places, strict=True):
        for reason in place.reasons:
            found.doubt(reason, word)
    # Where the directory is not certain, relative words are not judged.
    certain = len(places) == 1 and not places[0].reasons
    return places[0].paths[0] if certain else ""


def _settings(arguments: Arguments, found: Gathering) -> str:
    """The variables that the call sets, written as the shell would set them."""
    from shlex import quote

    lines = []
    for value in arguments.take("env environment environment_variables"):
        record = mapping(value)
        pairs = list(record.items()) if record is not None else [_pair(item) for item in records([value])]
        for name, text in pairs:
            if not isinstance(name, str) or not _NAME.fullmatch(name) or not isinstance(text, str | int | float):
                found.doubt(Why.NOT_TEXT, str(name) if isinstance(name, str) else type(name).__name__)
            else:
                lines.append(f"export {name}={quote(str(text))}\n")
    return "".join(lines)


def _pair(item: Any) -> tuple[Any, Any]:
    name, _, text = item.partition("=") if isinstance(item, str) else (None, "", None)
    return name, text


def _commands(value: Any, words: list[Any], found: Gathering, depth: int) -> list[str]:
    """The shell commands that one value is: a text as it stands, never taken apart; a list of words as one command; a
    list of texts; a record with a command in it. `words` are arguments that stand beside a text."""
    from shlex import join, quote

    if depth == 0:
        found.doubt(Why.TOO_DEEP, "")
        return []
    if isinstance(value, str):
        texts = [word for word in words if isinstance(word, str)]
        if len(texts) != len(words):
            found.doubt(Why.NOT_TEXT, value)
        # A tool that takes no words besides passes over them.
        return [value, " ".join([value, *map(quote, texts)])] if texts else [value]
    if isinstance(value, Mapping):
        record = Arguments(value)
        more = records(record.take("args arguments"))
        return [command for each in record.take(COMMAND) for command in _commands(each, more, found, depth - 1)]
    if not isinstance(value, list | tuple):
        found.doubt(Why.NOT_TEXT, type(value).__name__)
        return []
    if any(not isinstance(item, str) for item in value):
        return [command for item in value for command in _commands(item, [], found, depth - 1)]
    if value and _OTHER_SHELLS.fullmatch(value[0]):
        found.doubt(Why.OTHER_SHELL, " ".join(value))
    if value and re.search(r"\s", value[0].strip()):
        return list(value)
    return [join(value)] if value else []


def _patch(command: str, found: Gathering, cwd: str) -> None:
    """Notes a patch that a command carries, as hosts that look for one in every command apply it."""
    start = command.index(ENVELOPE)
    text = command[start:]
    inner = Gathering(Base(cwd, found.base.home))
    if not read_envelope(text, inner) or _MOVES.search(command[:start]) or _LIVE.search(command[:start]):
        found.doubt(Why.PATCH, command)
    noted = inner.calling()
    for access in noted.accesses:
        if _LIVE.search(access.word):
            found.doubt(Why.PATCH, access.word)
        found.add(access)
    for each in noted.unjudged:
        found.doubt(each.reason, each.word, opaque=each.opaque)
