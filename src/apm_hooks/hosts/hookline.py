"""The line that an installer writes into a host's settings: which program to start for an event."""

from __future__ import annotations

import os
import sys

import apm_hooks
from apm_hooks.errors import SettingsError


def hook_line(host: str = "claude-code") -> str:
    """The command that a host's settings run for each event: a quoted shell line, all paths absolute.

    The interpreter is the running one, not resolved: a virtual environment's python is a link, and its target
    knows nothing of the environment. A version manager's shim costs several times the start-up, so the real
    interpreter takes its place. It ends in success whatever happens: a python that cannot open its program exits with
    2, which some hosts take for a veto of the user's prompt. Raises SettingsError where there is no interpreter or
    no start file to name.
    """
    python, *flags, start, option, _ = hook_words(host)
    return f"{_quote(python)} {' '.join(flags)} {_quote(start)} {option} {host} || exit 0"


def hook_words(host: str) -> list[str]:
    """The same command as words, for a host that starts programs without a shell; raises as `hook_line` does."""
    start = os.path.join(os.path.dirname(os.path.abspath(apm_hooks.__file__)), "start.py")
    if not os.path.isfile(start):
        raise SettingsError("is not there", file=start, remedy="Install apm-hooks anew, unpacked.")
    words = [_interpreter(), "-I", "-S", start, "--host", host]
    try:
        "".join(words).encode()
    except UnicodeEncodeError:
        raise SettingsError(
            f"a path is not UTF-8, so that no settings file can hold it: {words!a}",
            remedy="Install Python and apm-hooks under another path.",
        ) from None
    return words


def _quote(path: str) -> str:
    return "'" + path.replace("'", "'\"'\"'") + "'"


def _interpreter() -> str:
    running = os.path.abspath(sys.executable) if sys.executable else ""
    base = str(getattr(sys, "_base_executable", "") or "")
    for path in (running, base, os.path.realpath(running) if running else ""):
        if os.path.isabs(path) and "shims" not in path.split(os.sep) and os.access(path, os.X_OK):
            return path
    raise SettingsError(
        f"no Python interpreter to name in the host's settings (running: {sys.executable!r})",
        remedy="Run this command with the interpreter itself, by its own path.",
    )
