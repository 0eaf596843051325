"""What is copied for OpenClaw: the hook pack and the plugin, each with the scripts that both share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

import apm_hooks
from apm_hooks import jsonedit
from apm_hooks._version import __version__
from apm_hooks.errors import SettingsError
from apm_hooks.hosts.hookline import hook_words
from apm_hooks.hosts.installing import read_bytes
from apm_hooks.hosts.openclaw import HOST

HALVES = ("pack", "plugin")
SETTINGS = "apm-hooks.json"
HOOK_FILE = "HOOK.md"
TIMEOUT_MS = 8000
GATE_TIMEOUT_MS = 10_000

_MANIFESTS = ("package.json", "openclaw.plugin.json")
_OURS = (".js", ".json", ".md", ".mjs", ".cjs")


def source() -> str:
    """The folder with the scripts for the host: in an installed package within it, in a checkout beside it.

    Raises SettingsError where neither holds them.
    """
    package = os.path.dirname(os.path.abspath(apm_hooks.__file__))
    checkout = os.path.join(os.path.dirname(os.path.dirname(package)), "hooks", HOST)
    for folder in (os.path.join(package, "_hooks", HOST), checkout):
        if os.path.isfile(os.path.join(folder, "plugin", "openclaw.plugin.json")):
            return folder
    raise SettingsError("is not there", file=checkout, remedy="Install apm-hooks anew, unpacked.")


def hook_names(folder: str) -> list[str]:
    """The names of the hooks in the pack."""
    pack = os.path.join(folder, "pack")
    return sorted(name for name in os.listdir(pack) if os.path.isfile(os.path.join(pack, name, HOOK_FILE)))


def files(folder: str, half: str, workspaces: Sequence[str], owners: Sequence[str] = ()) -> dict[str, bytes]:
    """Path within the installed pack or plugin → what it holds; the shared scripts lie at its top."""
    found = {SETTINGS: (json.dumps(settings(workspaces, owners), indent=2, ensure_ascii=False) + "\n").encode()}
    shared = (name for name in os.listdir(folder) if name.endswith(".js"))
    found.update((name, _read(os.path.join(folder, name))) for name in shared)
    for path in _walked(os.path.join(folder, half)):
        data = _read(os.path.join(folder, half, path))
        found[path] = _stamped(data, path) if path in _MANIFESTS else data
    return dict(sorted(found.items()))


def settings(workspaces: Sequence[str], owners: Sequence[str]) -> dict[str, Any]:
    """What the scripts are told: which program answers an event, where, how long they wait for it, and whose tool calls
    go on where it does not answer."""
    words = hook_words(HOST)
    return {
        "version": __version__,
        "command": words,
        "serve": [words[0], "-I", "-m", "apm_hooks", "serve", "--host", HOST],
        "workspaces": list(workspaces),
        "owner_peers": list(owners),
        "timeout_ms": TIMEOUT_MS,
        "gate_timeout_ms": GATE_TIMEOUT_MS,
        "worker": True,
    }


def _stamped(data: bytes, path: str) -> bytes:
    """A manifest with our version in it: the host shows it."""
    return jsonedit.set_in(data.decode(), ["version"], __version__, file=path).encode()


def _walked(folder: str) -> Iterator[str]:
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "node_modules" and not name.startswith("."))
        for name in names:
            if name.endswith(_OURS) and name != SETTINGS and not name.startswith("."):
                yield os.path.relpath(os.path.join(where, name), folder)


def _read(path: str) -> bytes:
    data = read_bytes(path)
    if data is None:
        raise SettingsError("is not there", file=path, remedy="Install apm-hooks anew, unpacked.")
    return data
