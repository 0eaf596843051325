"""The fast lane: answers that can be proved without loading the rest of the library.

Hosts start a process on every event. This file uses only what a bare interpreter has at hand, imports nothing of
ours, and answers by itself a tool call that cannot concern memory (no opinion). A session's own events it has answered
by `sessionlane`: a start whose inputs still carry the stamps under which the full path rendered its answer (the same
bytes), a message where loading is done and the end of a turn that settles nothing (nothing to say). Anything else, any
doubt, is `None`: the caller hands over to the full path in the same process, which names and stamps what it stores by
the functions here, so that the two cannot drift apart.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

RECORD_BYTES = 1024 * 1024
TRUST_BYTES = 4 * 1024 * 1024
FORMAT = 1
UNKNOWN_HOOK = "*"  # stands in the kept list for the hooks of a plugin that was not looked into yet

# Tools that take one path and nothing else that could reach a file.
_PATH_TOOLS = {
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
# Tools that reach no file at all.
_FREE_TOOLS = frozenset(("WebSearch", "TodoWrite", "AskUserQuestion", "ExitPlanMode"))

# First names below a workspace that belong to somebody (the ownership table), folded; `.git` holds their history.
PROTECTED_TOP = frozenset(("memory", "memory.md", "log", ".apm", "apm.toml", ".git"))
# Names that may hold memory wherever they stand: our own folders, and hosts' transcripts and stored output.
# Variables that move the folders of hosts.
MOVED_BY = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "QWEN_HOME", "COPILOT_HOME", "OPENCLAW_STATE_DIR", "CLINE_DIR",
            "HERMES_HOME", "CURSOR_CONFIG_DIR", "CONTINUE_GLOBAL_DIR", "VIBE_HOME")  # fmt: skip
# Files that hosts load with whatever they import count too.
PROTECTED_ANYWHERE = frozenset((
    ".apm", "apm.toml", "apm-hooks", "memory", "memory.md",
    ".claude", ".claude.json", ".claude.json.backup", ".codex", ".gemini", ".qwen", ".copilot", ".openclaw", ".factory",
    ".cline", ".hermes", ".deepagents", ".cursor", ".continue", ".vibe", ".kiro", ".nanobot", ".opencode", ".agents",
    "opencode", "goose", "letta",
    ".git", "alternates", "commondir", "log", ".mcp.json", "opencode.json", "opencode.jsonc",
    ".gitconfig", ".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zshenv", ".zprofile",
    "agents.md", "agents.local.md", "claude.md", "claude.local.md", "gemini.md", "qwen.md",
))  # fmt: skip
_SESSION_EVENTS = ("SessionStart", "UserPromptSubmit", "Stop")


def parse_arguments(arguments: "Sequence[str]") -> dict[str, str] | None:
    """`--host H [--workspace D] [--session K]` as a mapping; None for anything else."""
    found: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        flag = rest.pop(0)
        if flag not in ("--host", "--workspace", "--session") or not rest or flag[2:] in found:
            return None
        found[flag[2:]] = rest.pop(0)
    return found if "host" in found else None


def parse_json(text: str) -> "Any":
    """The JSON value in `text` by the C scanner alone; the `json` package would double the start-up.

    Raises ValueError for anything else than one value.
    """
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return json.loads(text)
    start, end = 0, len(text)
    while start < end and text[start] in " \t\r\n":
        start += 1
    try:
        value, stop = make_scanner(_Scanning)(text, start)  # type: ignore[arg-type]
    except (StopIteration, SystemError):
        # Without `json.decoder` loaded, the C scanner has no exception to raise for most faults.
        raise ValueError("no JSON") from None
    if text[stop:].strip(" \t\r\n"):
        raise ValueError("more than one JSON value")
    return value


class _Scanning:
    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    memo: dict[str, str] = {}  # noqa: RUF012 - the C scanner wants this attribute and clears it itself

    @staticmethod
    def parse_constant(name: str) -> float:
        raise ValueError(name)


def hash_of(*parts: str) -> str:
    """A name for `parts` in file names, 32 hexadecimal digits; `hashlib` would cost a third of the start-up."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b("\0".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def session_name(host: str, session_id: str, session_key: str | None) -> str:
    """The name of a session in file names: a hash of host and session id, or of the key where the host has no id."""
    return hash_of(host, "id", session_id) if session_id else hash_of(host, "key", session_key or "")


def user_directory(env: "Mapping[str, str]", variable: str, default: str) -> str:
    """One of the user's own folders of ours; the same rule as `places.places`."""
    base = env.get(variable, "")
    if not base.startswith("/"):
        base = os.path.abspath(env.get("HOME") or os.path.expanduser("~")) + "/" + default
    return base + "/apm-hooks"


def record_path(env: "Mapping[str, str]", root: str, host: str, source: str, session: str | None) -> str:
    """Where the answer to this kind of session start is kept: named by everything that is no file and yet decides."""
    key = hash_of(str(FORMAT), root, host, source, "none" if session is None else "=" + session, *_variables(env))
    return user_directory(env, "XDG_CACHE_HOME", ".cache") + "/start/" + key


def installation_stamps(folders: "Sequence[str]") -> "tuple[tuple[str, tuple[int, ...]], ...]":
    """The folders that packages are installed into, with their times: a plugin that comes or goes moves one."""
    named = sorted({os.path.abspath(folder) + "/" for folder in folders if os.path.isdir(folder)})
    return tuple((folder, tuple(stamp_of(folder))) for folder in named)


def _variables(env: "Mapping[str, str]") -> list[str]:
    return sorted(f"{name}={value}" for name, value in env.items()
                  if name.startswith(("APM_", "XDG_")) or name in ("HOME", "TZ"))  # fmt: skip


def stamp_of(path: str) -> list[int]:
    """What `lstat` says of a path, as a list; empty where nothing is there. Of a directory only what names it, since
    its times move with every file in it; they count where the path ends in `/`."""
    try:
        status = os.lstat(path)
    except OSError:
        return []
    if status.st_mode & 0o170000 == 0o040000:
        times = [status.st_mtime_ns] if path.endswith("/") else []
        return [status.st_dev, status.st_ino, status.st_mode, *times]
    return [status.st_dev, status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def settings_stamp(env: "Mapping[str, str]", root: str, session: str | None) -> str:
    """Names the settings, the group map, the trust list and the session key that say whose a session is."""
    config = user_directory(env, "XDG_CONFIG_HOME", ".config")
    paths = (root + "/apm.toml", root + "/memory/groups/group_names.json", config + "/config.toml",
             config + "/trust.json")  # fmt: skip
    stamps = (str(stamp_of(path)) for path in paths)
    return hash_of(*_variables(env), "none" if session is None else "=" + session, *stamps)


def read_private(path: str, limit: int) -> str | None:
    """A small file that only we can have written, or None."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if status.st_mode & 0o170022 != 0o100000 or status.st_uid not in (os.geteuid(), 0) or status.st_size > limit:
            return None
        return data.decode() if len(data := os.read(descriptor, limit + 1)) == status.st_size else None
    except (OSError, ValueError):
        return None
    finally:
        os.close(descriptor)


def _session_lane() -> "Any":
    from importlib import import_module

    return import_module("apm_hooks.sessionlane")


def answer(
    arguments: "Sequence[str]", data: bytes, env: "Mapping[str, str]", sessions: "Callable[[], Any]" = _session_lane
) -> bytes | None:
    """What to print for the host's event `data`; None where only the full path can say. `sessions` loads `sessionlane`,
    which most events do without."""
    options = parse_arguments(arguments)
    if options is None or options["host"] != "claude-code" or env.get("APM_FAST_LANE") == "off":
        return None
    if "session" in options and env.get("APM_SESSION", options["session"]) != options["session"]:
        return None
    try:
        event = parse_json(data.decode())
        name = event.get("hook_event_name")
    except (ValueError, RecursionError, AttributeError):
        return None
    if name == "PreToolUse":
        return b"" if cannot_concern_memory(event, env) else None
    if name == "SubagentStart" or "agent_id" in event:
        # A subagent gets nothing injected (protocol, section 8), and its turns are its parent's.
        return b"" if name in ("SubagentStart", "SessionStart", "Stop") else None
    answered: bytes | None = sessions().answer(event, options, env) if name in _SESSION_EVENTS else None
    return answered


def cannot_concern_memory(event: "Mapping[str, Any]", env: "Mapping[str, str]") -> bool:
    """True only where the tool call provably touches no file that belongs to a trusted workspace's memory."""
    roots = trusted_roots(env)
    if roots is None:
        return False
    tool, given = event.get("tool_name"), event.get("tool_input")
    if not roots:
        return True
    if not isinstance(tool, str) or plugins_want("apm_guard_tool_call", env):
        return False
    if tool in _FREE_TOOLS:
        return True
    key = _PATH_TOOLS.get(tool)
    path = given.get(key) if key and isinstance(given, dict) else None
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        return False
    return is_elsewhere(path, roots, env)


def plugins_want(hook: str, env: "Mapping[str, str]") -> bool:
    """True where an installed plugin implements `hook`, or where that cannot be told from the kept list of plugins."""
    folder = user_directory(env, "XDG_CACHE_HOME", ".cache") + "/plugins/plugins-"
    text = read_private(folder + hash_of(os.path.dirname(sys.executable or ""), sys.version) + ".json", RECORD_BYTES)
    try:
        kept = parse_json(text or "")
        if any(_followed(path) != stamp for path, stamp in kept["stamps"]):
            return True
        return hook in kept["wanted"] or UNKNOWN_HOOK in kept["wanted"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return True


def _followed(path: str) -> list[int]:
    try:
        status = os.stat(path)
    except OSError:
        return []
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def trusted_roots(env: "Mapping[str, str]") -> list[str] | None:
    """The accepted workspaces; None where that cannot be told."""
    path = user_directory(env, "XDG_CONFIG_HOME", ".config") + "/trust.json"
    roots = [os.path.realpath(part) for part in env.get("APM_TRUSTED_WORKSPACES", "").split(os.pathsep) if part]
    if not os.path.lexists(path):
        return roots
    text = read_private(path, TRUST_BYTES)
    try:
        return roots + list(parse_json(text or "")["workspaces"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def is_elsewhere(path: str, roots: "Sequence[str]", env: "Mapping[str, str]") -> bool:
    """True where the file that `path` really names lies outside everything that the ownership table covers."""
    try:
        real = os.path.realpath(path)
        status = os.stat(real)
    except FileNotFoundError:
        status = None
    except (OSError, ValueError):
        return False
    # Another name of the same file may lie in the memory.
    if status is not None and status.st_nlink > 1 and status.st_mode & 0o170000 != 0o040000:
        return False
    # Some file systems fold letter case and Unicode forms: the stricter reading decides.
    folded = real.casefold()
    if sys.platform == "darwin" and not folded.isascii():
        return False
    # So do some with blanks and dots at a name's end.
    parts = [part.rstrip(". ") for part in folded.split("/")]
    if not PROTECTED_ANYWHERE.isdisjoint(parts) or parts[-1].lstrip(".").startswith("flush-state.json"):
        return False
    for variable in MOVED_BY:
        hidden = env.get(variable)
        if hidden and _below(folded, os.path.realpath(hidden).casefold()) is not None:
            return False
    for root in roots:
        rest = _below(folded, root.casefold())
        if rest is not None and rest.split("/", 1)[0].rstrip(". ") in PROTECTED_TOP | {""}:
            return False
    return True


def _below(path: str, root: str) -> str | None:
    if path == root:
        return ""
    return path[len(root) + 1 :] if path.startswith(root.rstrip("/") + "/") else None


def find_workspace(start: str) -> str | None:
    """The nearest folder at or above `start` that holds `apm.toml`, with links resolved."""
    current = os.path.realpath(start)
    while not os.path.lexists(current + "/apm.toml"):
        parent = os.path.dirname(current)
        if parent == current:
            return None
        current = parent
    return current
