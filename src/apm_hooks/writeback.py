"""Helpers that write memory for operators and agents, never called by hooks (protocol, section 10)."""

from __future__ import annotations

import os

from apm_hooks.errors import MemoryFileError, SettingsError
from apm_hooks.facts.model import INDEX
from apm_hooks.files import create_absent, read_bytes, replace_bytes, stamp, state_directory
from apm_hooks.groupmap import read_group_map
from apm_hooks.jsonedit import set_in
from apm_hooks.locking import locked
from apm_hooks.names import check_name
from apm_hooks.places import SETTINGS_FILE
from apm_hooks.records import LIMITS, Scope, ScopeKind
from apm_hooks.textblocks import find_block, put_block
from apm_hooks.workspace import GROUP_MAP

AGENTS_FILE = "AGENTS.md"
AGENTS_BLOCK = "memory"

_DM_FILES = {
    SETTINGS_FILE: "apm.toml",
    "MEMORY.md": "dm/MEMORY.md",
    "memory/main/index.md": "dm/index.md",
    "memory/main/attention.md": "dm/attention.md",
    "memory/main/longterm.md": "dm/longterm.md",
    "memory/main/daily-synced.md": "dm/daily-synced.md",
}
_GROUP_FILES = ("attention.md", "project.md", "experience.md", "people.md")


def template(name: str) -> str:
    """The text of a file template of this package."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "templates", name), encoding="utf-8") as file:
        return file.read()


def initialise(root: str) -> list[str]:
    """Create what a workspace lacks, from templates; returns the paths created, in order.

    Never touches what exists, also when two processes race. Raises MemoryFileError.
    """
    created = [path for path, name in _DM_FILES.items() if create_absent(root, path, template(name).encode())]
    if create_absent(root, GROUP_MAP, b"{}\n"):
        created.append(GROUP_MAP)
    if create_absent(root, AGENTS_FILE, put_block("# AGENTS\n", AGENTS_BLOCK, _agents_text(root)).encode()):
        created.append(AGENTS_FILE)
    return created


def initialise_group(root: str, name: str) -> list[str]:
    """Create the index of group `name` and its four files where they are absent; returns the paths created."""
    scope = Scope(ScopeKind.GROUP, check_name(name))
    wanted = {scope.index_path: template("group/index.md").replace("{name}", scope.name)}
    wanted.update({f"{scope.directory}/{file}": template(f"group/{file}") for file in _GROUP_FILES})
    return [path for path, text in wanted.items() if create_absent(root, path, text.encode())]


def has_agents_block(root: str) -> bool:
    """True where AGENTS.md holds our block, whatever stands in it."""
    try:
        found = read_bytes(root, AGENTS_FILE)
        text = found[0].decode("utf-8", "surrogateescape") if found else ""
        return find_block(text, AGENTS_BLOCK, file=AGENTS_FILE) is not None
    except (MemoryFileError, SettingsError):
        return False


def put_agents_block(root: str) -> bool:
    """Put the agent's half of the protocol as a marked block into AGENTS.md, which may exist; False where the block
    is there already as it should be. Raises MemoryFileError, LockTimeoutError, SettingsError."""
    lock = os.path.join(root, state_directory(root, "locks"), "agents.lock")
    with locked(lock):
        found = read_bytes(root, AGENTS_FILE)
        if found and found[0].startswith((b"\xff\xfe", b"\xfe\xff")):
            raise SettingsError("is UTF-16", file=AGENTS_FILE, remedy="Save it as UTF-8.")
        before = found[0].decode("utf-8", "surrogateescape") if found else "# AGENTS\n"
        after = put_block(before, AGENTS_BLOCK, _agents_text(root), file=AGENTS_FILE)
        if found and after == before:
            return False
        replace_bytes(root, AGENTS_FILE, after.encode("utf-8", "surrogateescape"), mode=0o644)
        return True


def _agents_text(root: str) -> str:
    """The agent's half of the protocol, with that of the fact index where there is one."""
    text = template("AGENTS.md.template")
    return text + template("facts.agents.md") if stamp(root, INDEX) is not None else text


def add_group(root: str, name: str, group_id: str, channel: str = "") -> bool:
    """Map the group chat `group_id` to `name` in the group map, keeping the file's formatting; False where it is
    mapped so already.

    Raises NameRefusedError for a name that may not become a path, SettingsError where the map is damaged, the id is
    mapped to another name, or the name would collide with one that is there.
    """
    clean = check_name(name, file=GROUP_MAP, key=group_id)
    if not group_id.strip():
        raise SettingsError("an empty id maps nothing", file=GROUP_MAP, remedy="Give the group's id with --id.")
    lock = os.path.join(root, state_directory(root, "locks"), "groups.lock")
    with locked(lock):
        found = read_bytes(root, GROUP_MAP, limit=LIMITS.settings_bytes)
        text = _utf8(found[0]) if found else "{}\n"
        before = read_group_map(text.removeprefix("\ufeff"), file=GROUP_MAP)
        known = next((entry for entry in before.entries if entry.key == group_id), None)
        if known is not None and (known.name, known.channel) == (clean, channel.lower() or known.channel):
            return False
        if known is not None and known.name != clean:
            raise SettingsError(
                f"is mapped to {known.name} already", file=GROUP_MAP, key=group_id,
                remedy="Change or remove that entry first: its memory lies under the old name.",
            )  # fmt: skip
        value: object = {"name": clean, "channel": channel} if channel else clean
        after = set_in(text, [group_id], value, file=GROUP_MAP)
        checked = read_group_map(after.removeprefix("\ufeff"), file=GROUP_MAP)
        fresh = [error for error in checked.errors if str(error) not in {str(old) for old in before.errors}]
        if fresh:
            raise fresh[0]
        replace_bytes(root, GROUP_MAP, after.encode(), mode=0o644)
        return True


def _utf8(data: bytes) -> str:
    """The group map's text with its own line ends and BOM, so that an edit keeps them."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError("is not UTF-8", file=GROUP_MAP, remedy="Save it as UTF-8.") from error
