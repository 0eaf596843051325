"""Where a person's own files of this library lie, and the environment that says so.

The only room that knows variable names. Everything else takes the mapping as an argument, so that two workspaces
with two environments live in one process.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass

from apm_hooks.errors import SettingsError

WORKSPACE = "APM_WORKSPACE"
SESSION = "APM_SESSION"
TRUSTED = "APM_TRUSTED_WORKSPACES"
SETTINGS_FILE = "apm.toml"


@dataclass(frozen=True, slots=True)
class Places:
    """Absolute directories: `config` (trust list, personal settings), `state` (which workspace a session has),
    `cache` (token ranks, prepared answers; may be deleted at any time), `runtime` (sockets)."""

    config: str
    state: str
    cache: str
    runtime: str = ""


def places(env: Mapping[str, str]) -> Places:
    """The XDG directories, each with a folder `apm-hooks` in it; without XDG variables those below HOME."""
    home = os.path.abspath(env.get("HOME") or os.path.expanduser("~"))

    def under(variable: str, default: str) -> str:
        base = env.get(variable, "")
        return os.path.join(base if os.path.isabs(base) else os.path.join(home, default), "apm-hooks")

    runtime = env.get("XDG_RUNTIME_DIR", "")
    return Places(
        config=under("XDG_CONFIG_HOME", ".config"),
        state=under("XDG_STATE_HOME", ".local/state"),
        cache=under("XDG_CACHE_HOME", ".cache"),
        runtime=f"{runtime}/apm-hooks" if os.path.isabs(runtime) else f"{home}/.cache/apm-hooks/run",
    )


def private_directory(path: str) -> str:
    """Create `path` with mode 0700 where it is absent; refuses one that others could write to.

    Raises SettingsError naming the directory.
    """
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        status = os.stat(path)
    except OSError as error:
        raise SettingsError(f"cannot be used: {error.strerror}", file=path) from error
    if not is_private(status):
        raise SettingsError(
            "belongs to someone else or can be written by others", file=path, remedy=f"Run: chmod 700 {path}"
        )
    return path


def is_private(status: os.stat_result) -> bool:
    """True where only we (or root) own it and nobody else can write to it."""
    return status.st_uid in (os.geteuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
