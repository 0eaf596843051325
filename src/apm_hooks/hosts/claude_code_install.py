"""Put our hooks, the `/remem` command and a marked block into Claude Code's files, and take them out again.

A plan is made first and changes nothing; applying it replaces whole files. Only what is ours is touched. What
the host does with these files is told, with the way to see it, in docs/hosts/claude-code.md.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apm_hooks import jsonedit, textblocks
from apm_hooks.errors import SettingsError, UsageError
from apm_hooks.hosts.claude_code_hooks import EVENTS, commands, with_hooks, without_hooks
from apm_hooks.hosts.claude_code_imports import brought_in
from apm_hooks.hosts.claude_code_rules import rules_for, with_rules, without_rules
from apm_hooks.hosts.hookline import hook_line
from apm_hooks.hosts.installing import BACKUP, FileChange, Plan, apply_plan, read_bytes, read_text, refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["EVENTS", "FileChange", "Plan", "apply_plan", "hook_line", "is_installed", "plan_install", "plan_uninstall"]

BLOCK = "agents"
REMEM_MARK = "<!-- apm-hooks:remem -->"

INSTALLED = "installed already, nothing to change"
NOT_INSTALLED = "not installed, nothing to change"
KEPT = f"what a file held before is kept beside it, as NAME{BACKUP}"
SAME = "{file} has the same hooks: the host runs each once"
TWICE = "{file} has hooks of ours with another command: the host runs both, so uninstall one of the two"
DISABLED = "{file} sets disableAllHooks: no hook runs as long as it does"
LOCAL_PATHS = "{file} names paths of this machine: keep it out of version control"
OWN_REMEM = "{file} is your own and stays; our command, which writes memory back, is not installed"
OFFER = (
    "{file} does not bring in {names}: --link-agents adds a marked block that does (versions that read "
    "AGENTS.md by themselves do so only where there is no CLAUDE.md)"
)
LEAK = (
    "WARNING: {file} brings {name} into every session of this workspace, those of groups and other people too: "
    "take that import out"
)
AUTO_MEMORY = (
    "WARNING: the host keeps notes of its own on this workspace and shows them to every session, those of groups "
    'and other people too: set "autoMemoryEnabled": false in {file}'
)

_TEMPLATE = os.path.join(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "templates", "remem.claude-code.md"
)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where things lie: `base` is the scope's folder for the host's files, `user` the user's."""

    base: str
    user: str
    project: str
    home: str

    @property
    def settings(self) -> str:
        return os.path.join(self.base, "settings.json")

    @property
    def remem(self) -> str:
        return os.path.join(self.base, "commands", "remem.md")

    @property
    def claude(self) -> str:
        return os.path.join(self.project, "CLAUDE.md")

    @property
    def every_settings(self) -> tuple[str, ...]:
        """All settings files that a session here reads, the one that wins first."""
        folder = os.path.join(self.project, ".claude")
        own = ("settings.local.json", "settings.json") if self.project else ()
        paths = (*(os.path.join(folder, name) for name in own), os.path.join(self.user, "settings.json"))
        return tuple(dict.fromkeys(paths))

    @property
    def other_settings(self) -> tuple[str, ...]:
        return tuple(path for path in self.every_settings if path != self.settings)

    def brought_in(self, claude_text: str, *, agents: bool) -> dict[str, str]:
        """What a session holds once CLAUDE.md has this text."""
        claude = os.path.realpath(self.claude)

        def read(path: str) -> str | None:
            return claude_text if path == claude else _peek(path)

        return brought_in(self.project, self.user, self.home, agents=agents, read=read)


def plan_install(
    *,
    scope: str,
    home: str,
    project: str,
    config_dir: str | None = None,
    line: str | None = None,
    link_agents: bool = False,
    owner_only: bool = False,
    has_groups: bool = False,
) -> Plan:
    """What puts our hooks, permission rules and the `/remem` command into the files of `scope`, `user` or `project`.

    `project` is the workspace, empty for none; `config_dir` is the value of CLAUDE_CONFIG_DIR; `line` is the
    command, by default `hook_line()`. `link_agents` asks for the block in the project's CLAUDE.md that brings
    in AGENTS.md, and MEMORY.md too where the memory is its owner's alone (`owner_only` and not `has_groups`);
    a block that is there already is kept up to date. Writes nothing. Raises SettingsError for a file that
    cannot be read or edited, UsageError for a scope that is none.
    """
    places = _places(scope, home, project, config_dir)
    before, text = read_text(places.settings)
    command = hook_line() if line is None else line
    after = with_hooks(text, command, file=places.settings)
    if places.project:
        # A project's own file travels with it, so that its rules name no path of this machine.
        rules = rules_for(os.path.realpath(places.project) if places.base == places.user else "")
        after = with_rules(after, rules, file=places.settings)
    changes = [_changed(places.settings, before, after, "our hooks and rules")]
    notes: list[str] = []
    held = read_bytes(places.remem)
    if held is None or _has_mark(held):
        changes.append(FileChange(places.remem, held, _template(), "our /remem command", backup=held != _template()))
    else:
        notes.append(OWN_REMEM.format(file=places.remem))
    notes += _notes(places, command)
    offers: tuple[str, ...] = ()
    if places.project:
        block, offers = _block(places, link_agents, owner_only and not has_groups)
        changes.append(block)
        if has_groups:
            notes += _leaks(places, (block.after or b"").decode())
    return _plan(places, changes, notes, offers, INSTALLED)


def plan_uninstall(*, scope: str, home: str, project: str, config_dir: str | None = None) -> Plan:
    """What takes our hooks, command and block out of the files of `scope`; arguments and errors as above.

    The block goes with the last scope that has our hooks. A file that we made, and that holds nothing else,
    goes as a whole. Memory is never touched.
    """
    places = _places(scope, home, project, config_dir)
    before, text = read_text(places.settings)
    after = without_hooks(without_rules(text, file=places.settings), file=places.settings)
    changes = [_changed(places.settings, before, after, "our hooks and rules go", empty="{}")]
    held = read_bytes(places.remem)
    if held is not None and _has_mark(held):
        changes.append(FileChange(places.remem, held, None, "our /remem command goes", backup=held != _template()))
    if places.project and not any(commands(_settings(path)) for path in places.other_settings):
        before, text = read_text(places.claude)
        after = textblocks.drop_block(text, BLOCK, file=places.claude)
        changes.append(_changed(places.claude, before, after, "our block goes", empty=""))
    return _plan(places, changes, (), (), NOT_INSTALLED)


def is_installed(*, scope: str, home: str, project: str, config_dir: str | None = None) -> bool:
    """Whether the settings file of `scope` runs a hook of ours; arguments and UsageError as above."""
    return bool(commands(_settings(_places(scope, home, project, config_dir).settings)))


def _places(scope: str, home: str, project: str, config_dir: str | None) -> _Places:
    if scope not in ("user", "project") or (scope == "project" and not project):
        raise UsageError(f"no such scope here: {scope}", remedy="Say user, or project and name a workspace.")
    user = os.path.abspath(config_dir or os.path.join(home, ".claude"))
    folder = os.path.abspath(project) if project else ""
    return _Places(user if scope == "user" else os.path.join(folder, ".claude"), user, folder, home)


def _changed(path: str, before: bytes | None, after: str, why: str, *, empty: str | None = None) -> FileChange:
    """The change to a text. A file that we made (it has no back-up) goes when only `empty` is left of it."""
    data: bytes | None = after.encode()
    bare = after.strip(jsonedit.BOM + "\r\n") == empty
    if (before is None and not after) or (data != before and bare and not os.path.lexists(path + BACKUP)):
        data = None
    return FileChange(path, before, data, why)


def _plan(
    places: _Places, changes: Iterable[FileChange], notes: Iterable[str], offers: tuple[str, ...], idle: str
) -> Plan:
    real = tuple(change for change in changes if change.before != change.after)
    root = os.path.realpath(places.project)
    for change in real:
        mine = change.path.startswith(places.user + os.sep)
        if not mine and not os.path.realpath(change.path).startswith(root + os.sep):
            raise refusal("is a link that leads out of the workspace", change.path)
    head = () if real else (idle,)
    tail = (KEPT,) if any(change.before is not None for change in real) else ()
    return Plan(real, (*head, *notes, *tail), offers)


def _template() -> bytes:
    with open(_TEMPLATE, "rb") as stream:
        return stream.read()


def _has_mark(data: bytes) -> bool:
    return REMEM_MARK.encode() in (line.strip() for line in data.splitlines())


def _peek(path: str) -> str | None:
    """A file's text for a note; None where it cannot be had."""
    try:
        data = read_bytes(path)
    except SettingsError:
        return None
    return None if data is None else data.decode("utf-8", "replace")


def _settings(path: str) -> Mapping[str, object]:
    """A settings file's content for a note; empty where it cannot be had."""
    import json

    try:
        found = json.loads((_peek(path) or "{}").removeprefix(jsonedit.BOM))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _notes(places: _Places, command: str) -> Iterator[str]:
    for path in places.other_settings:
        if held := commands(_settings(path)):
            yield (SAME if held == {command} else TWICE).format(file=path)
    for path in places.every_settings:
        if _settings(path).get("disableAllHooks") is True:
            yield DISABLED.format(file=path)
    if places.base != places.user:
        yield LOCAL_PATHS.format(file=places.settings)


def _block(places: _Places, wanted: bool, owner_only: bool) -> tuple[FileChange, tuple[str, ...]]:
    """The change to the project's CLAUDE.md, or an offer where the block is neither there nor asked for."""
    before, text = read_text(places.claude)
    theirs = textblocks.drop_block(text, BLOCK, file=places.claude)
    lines: list[str] = []
    agents = os.path.join(places.project, "AGENTS.md")
    linked = os.path.realpath(places.claude) == os.path.realpath(agents)
    for name in () if linked else ("AGENTS.md", "MEMORY.md")[: 1 + owner_only]:
        so_far = textblocks.put_block(theirs, BLOCK, "\n".join(lines)) if lines else theirs
        reached = places.brought_in(so_far, agents=False)
        if os.path.realpath(os.path.join(places.project, name)) not in reached:
            lines.append("@" + name)
    after = textblocks.put_block(text, BLOCK, "\n".join(lines), file=places.claude) if lines else theirs
    if wanted or text != theirs:
        return _changed(places.claude, before, after, "our block", empty=""), ()
    missing = [line[1:] for line in lines if os.path.exists(os.path.join(places.project, line[1:]))]
    offer = OFFER.format(file=places.claude, names=" and ".join(missing))
    return FileChange(places.claude, before, before, ""), (offer,) if missing else ()


def _leaks(places: _Places, claude_text: str) -> Iterator[str]:
    """What shows groups the owner's memory, and how to mend it."""
    root = os.path.realpath(places.project)
    for path, origin in places.brought_in(claude_text, agents=True).items():
        name = os.path.relpath(path, root)
        if name == "MEMORY.md" or name.startswith(("memory" + os.sep, "log" + os.sep)):
            yield LEAK.format(file=origin, name=name)
    kept = (_settings(path).get("autoMemoryEnabled") for path in places.every_settings)
    if next((value for value in kept if value is not None), True) is not False:
        yield AUTO_MEMORY.format(file=os.path.join(places.project, ".claude", "settings.json"))
