"""What concerns a host's settings: our program, the hooks that run it, and what the host shows by itself."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from shutil import which

import apm_hooks
from apm_hooks._version import __version__
from apm_hooks.doctor import Check, Level, Subject, told
from apm_hooks.errors import SettingsError
from apm_hooks.hosts.claude_code import HOST
from apm_hooks.hosts.claude_code_hooks import EVENTS, TIMEOUT_SECONDS, commands, with_hooks
from apm_hooks.hosts.claude_code_install import plan_install
from apm_hooks.hosts.hookline import hook_line
from apm_hooks.hosts.installing import read_bytes
from apm_hooks.jsonedit import BOM

REINSTALL = "Run: apm-hooks install {host}{scope}"
PROGRAM = "apm-hooks {version} in {folder}"
INCOMPLETE = "{path} is not there"
INCOMPLETE_REMEDY = "Install apm-hooks anew, unpacked."
NO_CACHE = "{path} cannot be kept compiled: each event of a host compiles it anew"
NO_CACHE_REMEDY = "Run once, as somebody who may write there: {python} -m compileall {folder}"
PYTHON = "Python {version}: {path}"
SHIM = "{path} is a version manager's shim, which costs each event of a host several times its start"
SHIM_REMEDY = "Run the installer by the interpreter's own path: {python} -m apm_hooks install {host}"
NOT_INSTALLED = "no hooks of ours in the settings of {host}"
INSTALLED = "{path} runs our hooks for all {count} events"
MISSING_EVENTS = "{path} runs no hook of ours for: {events}"
OTHER_LINE = "{path} runs another line than this installation writes: {line}"
OUT_OF_DATE = "{path} is not as this installation writes it: {why}"
NO_INTERPRETER = "{path} names a program that cannot be run: {program}"
NOT_RUN = "{path} comes with the workspace and names a program of its own, which was not tried: {line}"
LATE_HOOK = "the hook in {path} gave no answer within the {seconds} s that {host} waits"
BROKEN_HOOK = "the hook in {path} does not work (exit code {code}){why}"
TALKING_HOOK = "the hook in {path} works, and says: {why}"
DISABLED = "{path} sets disableAllHooks: no hook runs as long as it does"
DISABLED_REMEDY = "Take disableAllHooks out of {path}"
NOT_SHARED = "all sessions here are the owner's"
KEPT_APART = "the host brings nothing of the owner's into the sessions of groups"

_LANE = ("fastlane", "sessionlane", "activity", "markfile")
_LINE_CHARS = 300
_WARNING = "WARNING: "


@dataclass(frozen=True, slots=True)
class _Held:
    """A settings file of the host. `scope` is the installer's word for it (empty: it writes no such file); `mine`: it
    is the user's own, and did not come with the workspace."""

    path: str
    scope: str
    mine: bool


def installation(subject: Subject) -> list[Check]:
    """Whether our program is whole, and starts without being compiled anew each time."""
    folder = os.path.dirname(os.path.abspath(apm_hooks.__file__))
    found: list[Check] = []
    for name in ("start", *_LANE):
        path = os.path.join(folder, f"{name}.py")
        if not os.path.isfile(path):
            found.append(Check(Level.ERROR, INCOMPLETE.format(path=path), INCOMPLETE_REMEDY))
    kept = os.path.join(folder, "__pycache__")
    for name in _LANE:
        cached = os.path.join(kept, f"{name}.{sys.implementation.cache_tag}.pyc")
        writable = os.access(kept if os.path.isdir(kept) else folder, os.W_OK)
        if not writable and not os.path.isfile(cached):
            remedy = NO_CACHE_REMEDY.format(python=shlex.quote(sys.executable), folder=shlex.quote(folder))
            found.append(Check(Level.WARNING, NO_CACHE.format(path=os.path.join(folder, f"{name}.py")), remedy))
    return found or [Check(Level.OK, PROGRAM.format(version=__version__, folder=folder))]


def interpreter(subject: Subject) -> list[Check]:
    """Which Python the installer would name. A line that names one that is too old fails when it is tried."""
    version = ".".join(map(str, sys.version_info[:3]))
    try:
        program = _program(hook_line(HOST))
    except SettingsError as error:
        return [told(error, Level.ERROR)]
    if _is_shim(sys.executable):
        remedy = SHIM_REMEDY.format(python=shlex.quote(program), host=HOST)
        return [Check(Level.NOTE, SHIM.format(path=sys.executable), remedy)]
    return [Check(Level.OK, PYTHON.format(version=version, path=program))]


def _is_shim(path: str) -> bool:
    return "shims" in path.split(os.sep)


def _program(line: str) -> str:
    """The program that a line starts: its first word that sets no variable."""
    return next(word for word in shlex.split(line) if "=" not in word.partition("/")[0])


def hooks(subject: Subject) -> list[Check]:
    """Whether the host's settings files run our hooks as this installation writes them, and whether those run."""
    found: list[Check] = []
    for held in _settings_files(subject):
        try:
            text = _text(held.path)
            settings = _parsed(text, held.path)
            if ours := commands(settings):
                found += [*_entries(subject, held, text, settings), *_running(subject, held, ours)]
        except SettingsError as error:
            found.append(told(error, Level.ERROR))
            continue
        if settings.get("disableAllHooks") is True:
            remedy = DISABLED_REMEDY.format(path=shlex.quote(held.path))
            found.append(Check(Level.WARNING, DISABLED.format(path=held.path), remedy))
    if not found:
        found.append(Check(Level.NOTE, NOT_INSTALLED.format(host=HOST), REINSTALL.format(host=HOST, scope="")))
    return found


def is_installed(subject: Subject) -> bool:
    """Whether any settings file of the host runs a hook of ours."""
    for held in _settings_files(subject):
        with suppress(SettingsError):
            if commands(_parsed(_text(held.path), held.path)):
                return True
    return False


def sharing(subject: Subject) -> list[Check]:
    """What the host by itself shows to every session of the workspace, those of groups and other people too."""
    workspace = subject.opened.workspace
    shared = bool(workspace.declared.entries) or workspace.settings.require_session
    if not shared or not is_installed(subject):
        return [Check(Level.OK, NOT_SHARED)]
    plan = plan_install(scope="user", home=_home(subject), project=subject.root, has_groups=True,
                        config_dir=subject.env.get("CLAUDE_CONFIG_DIR"))  # fmt: skip
    notes = [note.removeprefix(_WARNING) for note in plan.notes if note.startswith(_WARNING)]
    return [Check(Level.WARNING, note) for note in notes] or [Check(Level.OK, KEPT_APART)]


def _home(subject: Subject) -> str:
    return subject.env.get("HOME") or os.path.expanduser("~")


def _settings_files(subject: Subject) -> tuple[_Held, ...]:
    """All settings files that a session in the workspace reads, the one that wins first."""
    user = os.path.abspath(subject.env.get("CLAUDE_CONFIG_DIR") or os.path.join(_home(subject), ".claude"))
    project = os.path.join(subject.root, ".claude")
    local = _Held(os.path.join(project, "settings.local.json"), "", mine=False)
    own = _Held(os.path.join(user, "settings.json"), "user", mine=True)
    shared = _Held(os.path.join(project, "settings.json"), "project", mine=False)
    return (local, own) if shared.path == own.path else (local, shared, own)


def _text(path: str) -> str:
    try:
        return (read_bytes(path) or b"").decode()
    except UnicodeDecodeError as error:
        raise SettingsError(f"is not UTF-8: {error.reason}", file=path) from error


def _parsed(text: str, path: str) -> Mapping[str, object]:
    import json

    try:
        found = json.loads(text.removeprefix(BOM).strip() or "{}")
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"is no JSON: {error}", file=path) from error
    if not isinstance(found, dict):
        raise SettingsError("is no JSON object", file=path)
    return found


def _entries(subject: Subject, held: _Held, text: str, settings: Mapping[str, object]) -> Iterator[Check]:
    """What is wrong with our entries in a settings file; one finding that is fine where nothing is."""
    line = hook_line(HOST)
    remedy = REINSTALL.format(host=HOST, scope=" --scope project" if held.scope == "project" else "")
    missing = [event for event, _ in EVENTS if not _is_held(settings, event)]
    others = sorted(commands(settings) - {line})
    if missing:
        yield Check(Level.ERROR, MISSING_EVENTS.format(path=held.path, events=", ".join(missing)), remedy)
    for other in others:
        yield Check(Level.WARNING, OTHER_LINE.format(path=held.path, line=other[:_LINE_CHARS]), remedy)
    if missing or others:
        return
    if not held.scope:
        stale = [] if with_hooks(text, line, file=held.path) == text else [(held.path, "our hooks")]
    else:
        plan = plan_install(scope=held.scope, home=_home(subject), project=subject.root, line=line,
                            config_dir=subject.env.get("CLAUDE_CONFIG_DIR"))  # fmt: skip
        stale = [(change.path, change.why) for change in plan.changes]
    for path, why in stale:
        yield Check(Level.WARNING, OUT_OF_DATE.format(path=path, why=why), remedy)
    if not stale:
        yield Check(Level.OK, INSTALLED.format(path=held.path, count=len(EVENTS)))


def _is_held(settings: Mapping[str, object], event: str) -> bool:
    """Whether a settings file holds an entry of ours for an event."""
    by_event = settings.get("hooks")
    return bool(commands({"hooks": {event: by_event.get(event)}})) if isinstance(by_event, dict) else False


def _running(subject: Subject, held: _Held, ours: set[str]) -> Iterator[Check]:
    """Whether each line of ours in a settings file can be run, tried with an event that is none."""
    current = hook_line(HOST)
    for line in sorted(ours):
        program = _program(line)
        remedy = REINSTALL.format(host=HOST, scope=" --scope project" if held.scope == "project" else "")
        if not held.mine and line != current:
            # What came with a repository is not run before its owner has looked at it.
            yield Check(Level.NOTE, NOT_RUN.format(path=held.path, line=line[:_LINE_CHARS]), remedy)
        elif which(program, path=subject.env.get("PATH")) is None:
            yield Check(Level.ERROR, NO_INTERPRETER.format(path=held.path, program=program), remedy)
        else:
            if _is_shim(program):
                yield Check(Level.WARNING, SHIM.format(path=program), remedy)
            yield from _tried(subject, held, line, remedy)


def _tried(subject: Subject, held: _Held, line: str, remedy: str) -> Iterator[Check]:
    words = shlex.split(line)
    # Its own end, success whatever happens, would hide how it ended.
    words = words[: words.index("||")] if "||" in words else words
    try:
        done = subprocess.run(["env", *words], input=b"{}", env=dict(subject.env), capture_output=True, check=False,
                              timeout=TIMEOUT_SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired:
        text = LATE_HOOK.format(path=held.path, seconds=TIMEOUT_SECONDS, host=HOST)
        yield Check(Level.ERROR, text, remedy)
        return
    why = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:_LINE_CHARS]
    if done.returncode or done.stdout or why.startswith("apm-hooks:"):
        ended = BROKEN_HOOK.format(path=held.path, code=done.returncode, why=f": {why}" if why else "")
        yield Check(Level.ERROR, ended, remedy)
    elif why:
        yield Check(Level.WARNING, TALKING_HOOK.format(path=held.path, why=why))
