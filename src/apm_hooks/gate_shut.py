"""Folders outside every workspace that hold conversations of anybody: those of hosts, and our own (protocol, 2).

Only names; nothing is looked at. A host that keeps its conversations elsewhere says so in a variable of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from apm_hooks.places import Places


@dataclass(frozen=True, slots=True)
class Shut:
    """A folder, absolute, in which a group has nothing to look for but what is in `free`, below it."""

    folder: str
    free: tuple[str, ...] = ()


# Folder below the home, what in it is instructions and programs and no conversation, the variable that moves it.
_HOSTS: tuple[tuple[str, str, str], ...] = (
    (".claude", "skills commands agents output-styles plugins/cache plugins/marketplaces", "CLAUDE_CONFIG_DIR"),
    (".codex", "skills prompts", "CODEX_HOME"),
    (".gemini", "skills extensions commands", ""),
    (".qwen", "skills extensions commands agents", "QWEN_HOME"),
    (".copilot", "skills agents", "COPILOT_HOME"),
    (".openclaw", "skills", "OPENCLAW_STATE_DIR"),
    (".factory", "skills commands droids", ""),
    (".cline", "skills", "CLINE_DIR"),
    (".hermes", "skills plugins", "HERMES_HOME"),
    (".deepagents", "skills", ""),
    (".cursor", "skills rules extensions", "CURSOR_CONFIG_DIR"),
    (".continue", "", "CONTINUE_GLOBAL_DIR"),
    (".vibe", "skills", "VIBE_HOME"),
    (".kiro", "skills", ""),
    (".nanobot", "", ""),
)
# Host's folder below the user's data and state folders.
_SHARED = ("opencode", "goose", "letta")
_FILES = (".claude.json", ".claude.json.backup")

SWITCHES = frozenset((".claude", ".codex", ".gemini", ".qwen", ".copilot", ".factory", ".cline", ".opencode", ".cursor",
                      ".openclaw", ".kiro", ".continue", ".vibe", ".agents"))  # fmt: skip
"""Folders, anywhere in a workspace, in which hosts find what to run at which event."""

SWITCH_FILES = frozenset((".mcp.json", "opencode.json", "opencode.jsonc", ".gitconfig", ".bashrc", ".bash_profile",
                          ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile"))  # fmt: skip
"""Files, in lower case, that say which programs a host starts, and what every shell and every git runs."""

GIT_FILES = frozenset((".git", "alternates", "commondir"))
"""Files, in lower case, by which git is made to read another repository."""

INSTRUCTIONS = frozenset(("agents.md", "agents.local.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md"))
"""Files, in lower case, that hosts load into every conversation, with whatever they import."""


def host_folders(env: Mapping[str, str], home: str) -> tuple[Shut, ...]:
    """Where hosts keep conversations, for a person whose home is `home` (absolute, or empty: not known)."""
    found: dict[str, Shut] = {}

    def add(folder: str, free: str = "") -> None:
        if folder.startswith("/"):
            plain = folder.rstrip("/") or "/"
            found.setdefault(plain, Shut(plain, tuple(free.split())))

    for name, free, variable in _HOSTS:
        add(env.get(variable, "") if variable else "", free)
        add(f"{home}/{name}" if home else "", free)
    for variable, default in (("XDG_DATA_HOME", ".local/share"), ("XDG_STATE_HOME", ".local/state")):
        for base in dict.fromkeys((env.get(variable, ""), f"{home}/{default}" if home else "")):
            for name in _SHARED:
                add(f"{base}/{name}" if base else "")
    for name in _FILES:
        add(f"{home}/{name}" if home else "")
    return tuple(found.values())


def own_folders(places: Places) -> tuple[Shut, ...]:
    """Our own configuration, state, cache and sockets."""
    folders = (places.config, places.state, places.cache, places.runtime)
    return tuple(Shut(folder) for folder in dict.fromkeys(folders) if folder)
