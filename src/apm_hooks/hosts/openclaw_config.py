"""OpenClaw's own configuration: where it lies, what it says, and edits of it that leave all else as it was.

The file is JSON5 and its user's: the host's own `config set` writes it anew as plain JSON, without its comments, so
that it is edited here as text. What the host does with each key is told in hooks/openclaw/README.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from shutil import which
from typing import Any

from apm_hooks import jsonedit, jsontext
from apm_hooks.errors import SettingsError
from apm_hooks.hosts.installing import read_bytes, read_text
from apm_hooks.jsontext import JSON5

PLUGIN = "apm-hooks"
FLUSH = ("agents", "defaults", "compaction", "memoryFlush", "enabled")
INTERNAL = ("hooks", "internal")
ENTRY = ("plugins", "entries", PLUGIN)

_READ_ONLY = ("OPENCLAW_CONFIG_READONLY", "OPENCLAW_NIX_MODE")
_INCLUDE = "$include"


@dataclass(frozen=True, slots=True)
class HostPlaces:
    """Where the host's files lie: `config` is its settings file, `state` its state folder, `home` the folder from which
    it loads hooks and plugins."""

    config: str
    state: str
    home: str

    @property
    def pack(self) -> str:
        return os.path.join(self.home, "hooks", PLUGIN)

    @property
    def plugin(self) -> str:
        return os.path.join(self.home, "extensions", PLUGIN)

    @property
    def record(self) -> str:
        return os.path.join(self.home, PLUGIN, "installed.json")


@dataclass(frozen=True, slots=True)
class Config:
    """The host's settings as they stand: the file's bytes (None: there is no file), its text, and what it says."""

    path: str
    data: bytes | None
    text: str
    values: Mapping[str, Any]

    def get(self, *path: str) -> Any:
        """What stands at a path; None where nothing does."""
        return lookup(self.values, path)[1]

    def included(self, path: Sequence[str] = ()) -> bool:
        """Whether another file takes part in what stands at a path."""
        node: object = self.values
        for step in (*path, ""):
            if not isinstance(node, dict):
                return False
            if _INCLUDE in node:
                return True
            node = node.get(step)
        return False


@dataclass(frozen=True, slots=True)
class Edit:
    """A value to put at a path; `append`: into the list there."""

    path: tuple[str, ...]
    value: object
    append: bool = False

    def __str__(self) -> str:
        import json

        spelled = ".".join(json.dumps(step) if "-" in step else step for step in self.path)
        return f"{spelled} {'must hold' if self.append else '='} {json.dumps(self.value, ensure_ascii=False)}"


@dataclass(frozen=True, slots=True)
class Done:
    """An edit that was made, and what stood there before it (`had`: anything did)."""

    edit: Edit
    had: bool = False
    old: object = None


def host_places(env: Mapping[str, str]) -> HostPlaces:
    """Where a host with this environment has its files, by its own rules."""
    user = env.get("OPENCLAW_HOME") or env.get("HOME") or os.path.expanduser("~")

    def named(variable: str) -> str:
        value = env.get(variable, "").strip()
        return os.path.abspath(user + value[1:] if value[:2] in ("~", "~/") else value) if value else ""

    default = os.path.join(os.path.abspath(user), ".openclaw")
    state, config = named("OPENCLAW_STATE_DIR"), named("OPENCLAW_CONFIG_PATH")
    home = state or (os.path.dirname(config) if config else default)
    return HostPlaces(config or os.path.join(state or default, "openclaw.json"), state or default, home)


def read_config(path: str) -> Config:
    """The host's settings; raises SettingsError for a file that cannot be read as the host reads it."""
    return parsed(path, *read_text(path))


def parsed(path: str, data: bytes | None, text: str) -> Config:
    """The settings that a text holds; raises SettingsError."""
    if not text.strip(jsontext.BOM + " \t\r\n"):
        return Config(path, data, text, {})
    root = jsontext.parse(text, file=path, dialect=JSON5)
    values = jsontext.decode(text, root, file=path, dialect=JSON5)
    if not isinstance(values, dict):
        raise SettingsError("is no object {…}", file=path, remedy=jsontext.REMEDY)
    return Config(path, data, text, values)


def lookup(values: object, path: Sequence[str]) -> tuple[bool, Any]:
    """Whether anything stands at a path, and what."""
    for step in path:
        if not isinstance(values, dict) or step not in values:
            return False, None
        values = values[step]
    return True, values


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def require_editable(config: Config, edits: Sequence[Edit], env: Mapping[str, str]) -> None:
    """Raise SettingsError, with what to write by hand, where the host's settings are not ours to edit: kept by somebody
    else, or made of several files."""
    if not edits:
        return
    by_hand = "Set in the host's settings by hand, then run this again: " + "; ".join(map(str, edits))
    for variable in _READ_ONLY:
        if env.get(variable) == "1":
            raise SettingsError(f"is kept by somebody else ({variable} is set)", file=config.path, remedy=by_hand)
    if any(config.included(edit.path) for edit in edits):
        raise SettingsError("brings in other files ($include) where we would write", file=config.path, remedy=by_hand)


def needed(config: Config, edits: Sequence[Edit]) -> list[Edit]:
    """The edits that would change anything."""
    return [edit for edit in edits if not _holds(config.values, edit)]


def edited(config: Config, edits: Sequence[Edit]) -> tuple[str, list[Done]]:
    """The text with the edits in it, and what stood there before. Raises SettingsError."""
    text, done = config.text, []
    for edit in needed(config, edits):
        had, old = lookup(config.values, edit.path)
        done.append(Done(edit, had, None if edit.append else old))
        change = jsonedit.append_to if edit.append else jsonedit.set_in
        text = change(text, edit.path, edit.value, file=config.path, dialect=JSON5)
    return text, done


def undone(config: Config, done: Sequence[Done]) -> tuple[str, list[Edit]]:
    """The text with those edits taken back, and the edits that are no longer as they were made: those stay."""
    text, left = config.text, []
    for each in reversed(done):
        found, value = lookup(config.values, each.edit.path)
        if each.edit.append:
            if isinstance(value, list) and each.edit.value in value:
                path: tuple[str | int, ...] = (*each.edit.path, value.index(each.edit.value))
                text = jsonedit.remove_from(text, path, file=config.path, dialect=JSON5)
        elif found and value == each.edit.value:
            if each.had:
                text = jsonedit.set_in(text, each.edit.path, each.old, file=config.path, dialect=JSON5)
            else:
                text = jsonedit.remove_from(text, each.edit.path, file=config.path, dialect=JSON5)
        elif found:
            left.append(each.edit)
    return text, left


def _holds(values: object, edit: Edit) -> bool:
    found, value = lookup(values, edit.path)
    if edit.append:
        return isinstance(value, list) and edit.value in value
    return found and value == edit.value and type(value) is type(edit.value)


def plugin_edits(config: Config) -> Iterator[Edit]:
    """What lets the host load our plugin and show it the conversation."""
    yield Edit((*ENTRY, "enabled"), True)
    yield Edit((*ENTRY, "hooks", "allowConversationAccess"), True)
    if config.get("plugins", "allow"):
        # A list that is not empty lets no other plugin load.
        yield Edit(("plugins", "allow"), PLUGIN, append=True)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which hooks of its folders the host loads: `off`; all of them (`open`); else those of `names`."""

    off: bool
    open: bool
    names: frozenset[str]

    def loads(self, names: Sequence[str]) -> bool:
        """Whether it loads all of these."""
        return not self.off and (self.open or self.names.issuperset(names))


def selection(config: Config, installs: Mapping[str, Sequence[str]]) -> Selection:
    """Which hooks the host loads. `installs`: hook packs that it installed itself, with the hooks that each names."""
    entries = _mapping(config.get(*INTERNAL, "entries"))
    extra = _texts(config.get(*INTERNAL, "load", "extraDirs"))
    opened = any(folder.strip() for folder in extra) or any(not names for names in installs.values())
    packed = [name for names in installs.values() for name in names]
    declared = [*entries, *packed]
    enabled = [name for name, entry in entries.items() if _mapping(entry).get("enabled") is not False]
    switch = config.get(*INTERNAL, "enabled")
    return Selection(
        off=switch is False or not (switch is True or enabled or opened or installs),
        open=opened or (not declared and switch is True), names=frozenset([*enabled, *packed]),
    )  # fmt: skip


def hooks_kept(config: Config, names: Sequence[str]) -> list[str]:
    """Those of our hooks that nobody switched off by name."""
    entries = _mapping(config.get(*INTERNAL, "entries"))
    return [name for name in names if _mapping(entries.get(name)).get("enabled") is not False]


def hook_edits(config: Config, names: Sequence[str], installs: Mapping[str, Sequence[str]]) -> list[Edit]:
    """What lets the host load our hooks, and none that it does not load now.

    Where it loads all hooks that it finds, nothing is needed, and a named entry would silence the others. Where it
    loads none, or named ones, ours are named. Hooks that were switched off on purpose, and would come back with ours,
    stay off: then nothing is edited. One of ours that was switched off by its name stays off too.
    """
    chosen = selection(config, installs)
    kept = hooks_kept(config, names)
    if not kept or chosen.loads(kept):
        return []
    if config.get(*INTERNAL, "enabled") is False and (chosen.open or chosen.names - set(names)):
        return []
    ours = [Edit((*INTERNAL, "entries", name, "enabled"), True) for name in kept]
    return [Edit((*INTERNAL, "enabled"), True), *ours]


def hook_installs(config: Config, places: HostPlaces) -> dict[str, list[str]]:
    """Hook packs that the host installed itself, with the hooks that each names."""
    import json

    found = dict(_mapping(config.get(*INTERNAL, "installs")))
    query = "SELECT value_json FROM config_machine_state WHERE state_key = 'hooks.internal.installs'"
    for (text,) in database_rows(places, query):
        with suppress(ValueError):
            found.update(_mapping(json.loads(text)))
    return {name: _texts(_mapping(entry).get("hooks")) for name, entry in found.items() if name.strip()}


def database_rows(places: HostPlaces, query: str) -> list[tuple[Any, ...]]:
    """Rows of the host's own database, read and never written; none where it cannot be read."""
    import sqlite3
    from urllib.parse import quote

    path = os.path.join(places.state, "state", "openclaw.sqlite")
    if not os.path.isfile(path):
        return []
    try:
        base = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, timeout=1)
        try:
            return base.execute(query).fetchall()
        finally:
            base.close()
    except sqlite3.Error:
        return []


def agent_workspaces(config: Config, env: Mapping[str, str]) -> list[str]:
    """The folders in which the host's agents work, the default one first."""
    places = host_places(env)
    home = env.get("OPENCLAW_HOME") or env.get("HOME") or os.path.expanduser("~")
    listed = config.get("agents", "list")
    entries = config.get("agents", "entries")
    agents = [*(listed if isinstance(listed, list) else ()), *(entries.values() if isinstance(entries, dict) else ())]
    default = env.get("OPENCLAW_WORKSPACE_DIR") or os.path.join(places.state, "workspace")
    named = [config.get("agents", "defaults", "workspace") or default]
    named += [agent["workspace"] for agent in agents if isinstance(agent, dict) and agent.get("workspace")]
    texts = [str(each) for each in named if "${" not in str(each)]
    return list(dict.fromkeys(os.path.realpath(home + text[1:] if text[:1] == "~" else text) for text in texts))


def host_version(env: Mapping[str, str], config: Config, find: Callable[..., str | None] = which) -> str:
    """The version of the host on the PATH, else of the one that last wrote its settings; empty where none is told."""
    import json

    program = find("openclaw", path=env.get("PATH", os.defpath))
    if program:
        manifest = os.path.join(os.path.dirname(os.path.realpath(program)), "package.json")
        with suppress(SettingsError, ValueError):
            held = _mapping(json.loads(read_bytes(manifest) or b"{}"))
            if held.get("name") == "openclaw":
                return str(held.get("version") or "")
    return str(config.get("meta", "lastTouchedVersion") or "")
