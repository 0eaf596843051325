"""What concerns OpenClaw: our pack and plugin in its folders, its settings, and whose its chats are."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from shutil import which
from typing import Any

from apm_hooks import seen
from apm_hooks._version import __version__
from apm_hooks.doctor import Check, Level, Subject, told
from apm_hooks.errors import ApmError
from apm_hooks.hosts import openclaw_config as host
from apm_hooks.hosts import openclaw_files, openclaw_owner
from apm_hooks.hosts.hookline import hook_words
from apm_hooks.hosts.installing import read_bytes
from apm_hooks.hosts.openclaw import HOST
from apm_hooks.hosts.openclaw_config import HostPlaces
from apm_hooks.hosts.openclaw_install import FLUSH_ON, blocked, flush_is_on, plan_install, require_version
from apm_hooks.hosts.openclaw_peers import find_peers

REINSTALL = "Run: apm-hooks install openclaw --workspace {root}"
RESTART = "Restart the gateway: openclaw gateway restart"
NOT_INSTALLED = "no hooks of ours in {folder}"
NO_HALF = "{path} is not there: {loss}"
LOSSES = {
    "pack": "the gateway's messages are not followed where no plugin runs",
    "plugin": "no tool call is judged, groups in the owner's session are not seen, and `--local` has no memory",
}
NO_PROGRAM = "{path} names a program that cannot be run: {program}"
OTHER_PROGRAM = "{path} runs another program than this installation: {line}"
OTHER_VERSION = "{path} is of apm-hooks {theirs}, this is {ours}"
OTHER_WORKSPACE = "{path} does not name this workspace"
OUT_OF_DATE = "{path} is not as this installation writes it: {why}"
LATE = "the program that {path} names gave no answer within {seconds} s"
BROKEN = "the program that {path} names does not work (exit code {code}){why}"
INSTALLED = "pack and plugin in {folder} ask this installation"
NOT_LOADED = "{file} does not let our hook pack load"
SWITCHED_OFF_REMEDY = (
    "Set hooks.internal.enabled to true there, and to false each named hook that must stay off, then run: "
    "apm-hooks install openclaw"
)
SET = "{file} lets our pack and plugin load"
NOT_SET = "{file} does not hold what our plugin needs: {edits}"
KNOWN_OWNER = "the owner's peers are: {peers}"
NO_OWNER = "owner_peers is empty: direct chats of channels get no memory"
NO_OWNER_REMEDY = "Run: apm-hooks install openclaw --owner CHANNEL:PEER"
KEPT_APART = "the host keeps the chats of others out of the owner's session"
CAME = "events that came: {events}"
NONE_CAME = "our hooks are installed, and no event has come yet"
NONE_CAME_REMEDY = "Restart the gateway (openclaw gateway restart), then send the bot a message."
NEVER_CAME = "{event} never came: {loss}"
NEEDED: Mapping[str, str] = {
    "bootstrap": "sessions began without their memory",
    "tool-call": "no tool call was judged; the plugin does not run, or no tool was called",
}
_SECONDS = 10
_LINE_CHARS = 300


def hooks(subject: Subject) -> list[Check]:
    """Whether pack and plugin are there, as this installation writes them, and let the host ask it. Nothing is said
    where the host is not used."""
    places = host.host_places(subject.env)
    if not os.path.exists(places.config) and not os.path.isdir(places.home):
        return []
    remedy = REINSTALL.format(root=shlex.quote(subject.root))
    if not is_installed(subject):
        return [Check(Level.NOTE, NOT_INSTALLED.format(folder=places.home), remedy)]
    found: list[Check] = []
    for half in openclaw_files.HALVES:
        folder = _folder(places, half)
        if not os.path.isdir(folder):
            found.append(Check(Level.ERROR, NO_HALF.format(path=folder, loss=LOSSES[half]), remedy))
        else:
            found += _half(subject, os.path.join(folder, openclaw_files.SETTINGS), remedy)
    with suppress(ApmError):
        config = host.read_config(places.config)
        require_version(host.host_version(subject.env, config))
        if not found:
            workspaces = _workspaces(places) or [subject.root]
            plan = plan_install(subject.env, workspaces, openclaw_owner.read_owner(workspaces[0]))
            stale = {change.why: change.path for change in plan.changes if not change.backup}
            found += [Check(Level.WARNING, OUT_OF_DATE.format(path=path, why=why), remedy)
                      for why, path in stale.items()]  # fmt: skip
    return found or [Check(Level.OK, INSTALLED.format(folder=places.home))]


def configuration(subject: Subject) -> list[Check]:
    """Whether the host's settings let our hooks load and work, and whether its version is one of those that do."""
    if not is_installed(subject):
        return []
    places = host.host_places(subject.env)
    config = host.read_config(places.config)
    remedy = REINSTALL.format(root=shlex.quote(subject.root))
    found: list[Check] = []
    try:
        require_version(host.host_version(subject.env, config))
    except ApmError as error:
        found.append(told(error, Level.ERROR))
    missing = host.needed(config, list(host.plugin_edits(config)))
    if missing:
        text = NOT_SET.format(file=places.config, edits="; ".join(map(str, missing)))
        found.append(Check(Level.ERROR, text, remedy))
    names = openclaw_files.hook_names(openclaw_files.source())
    installs = host.hook_installs(config, places)
    if not host.selection(config, installs).loads(host.hooks_kept(config, names)):
        how = remedy if host.hook_edits(config, names, installs) else SWITCHED_OFF_REMEDY
        found.append(Check(Level.WARNING, NOT_LOADED.format(file=places.config), how))
    found += [Check(Level.ERROR, _plain(note), RESTART) for note in blocked(config)]
    return found or [Check(Level.OK, SET.format(file=places.config))]


def chats(subject: Subject) -> list[Check]:
    """Whose the host's chats are: who the owner is, and where chats of others meet the owner's."""
    if not is_installed(subject):
        return []
    places = host.host_places(subject.env)
    config = host.read_config(places.config)
    workspace = subject.opened.workspace
    owner = workspace.privacy.owner_peers
    found = [Check(Level.OK, KNOWN_OWNER.format(peers=", ".join(owner)))] if owner else []
    if not owner:
        found.append(Check(Level.WARNING, NO_OWNER, NO_OWNER_REMEDY))
    if flush_is_on(config) and workspace.declared.entries:
        text, _, remedy = _plain(FLUSH_ON).partition(" To switch it off: ")
        found.append(Check(Level.WARNING, text, f"Run: {remedy}"))
    shared = [_plain(note) for note in openclaw_owner.sharing(config, find_peers(config, places))]
    found += [Check(Level.WARNING, note) for note in shared]
    return found if shared else [*found, Check(Level.OK, KEPT_APART)]


def events(subject: Subject) -> list[Check]:
    """Which of the host's events came, and when each last did."""
    if not is_installed(subject):
        return []
    came = {event: at for (name, event), at in seen.events(subject.root).items() if name == HOST}
    if not came:
        return [Check(Level.NOTE, NONE_CAME, NONE_CAME_REMEDY)]
    zone = subject.opened.zone()
    told_when = [f"{event} {datetime.fromtimestamp(at / 1e9, UTC).astimezone(zone):%Y-%m-%d %H:%M}"
                 for event, at in sorted(came.items())]  # fmt: skip
    never = [Check(Level.NOTE, NEVER_CAME.format(event=event, loss=loss))
             for event, loss in NEEDED.items() if event not in came]  # fmt: skip
    return [Check(Level.OK, CAME.format(events=", ".join(told_when))), *never]


def is_installed(subject: Subject) -> bool:
    """Whether anything of ours lies in the host's folders."""
    places = host.host_places(subject.env)
    return any(os.path.lexists(_folder(places, half)) for half in openclaw_files.HALVES)


def _plain(note: str) -> str:
    return note.removeprefix("WARNING: ")


def _folder(places: HostPlaces, half: str) -> str:
    return places.pack if half == "pack" else places.plugin


def _settings(path: str) -> Mapping[str, Any]:
    held = json.loads(read_bytes(path) or b"{}")
    return held if isinstance(held, dict) else {}


def _workspaces(places: HostPlaces) -> list[str]:
    with suppress(ApmError, ValueError):
        held = _settings(os.path.join(places.plugin, openclaw_files.SETTINGS)).get("workspaces")
        return [str(each) for each in held] if isinstance(held, list) else []
    return []


def _half(subject: Subject, path: str, remedy: str) -> Iterator[Check]:
    """What is wrong with what one half is told."""
    try:
        held = _settings(path)
        words = [str(word) for word in held["command"]]
        version, workspaces = str(held["version"]), [str(each) for each in held["workspaces"]]
    except (ApmError, ValueError, KeyError, TypeError, RecursionError):
        yield Check(Level.ERROR, OUT_OF_DATE.format(path=path, why="it cannot be read"), remedy)
        return
    if not words or which(words[0], path=subject.env.get("PATH")) is None:
        yield Check(Level.ERROR, NO_PROGRAM.format(path=path, program=words[:1]), remedy)
        return
    if words != hook_words(HOST):
        yield Check(Level.WARNING, OTHER_PROGRAM.format(path=path, line=shlex.join(words)[:_LINE_CHARS]), remedy)
    if version != __version__:
        yield Check(Level.WARNING, OTHER_VERSION.format(path=path, theirs=version, ours=__version__), remedy)
    if subject.root not in workspaces:
        yield Check(Level.WARNING, OTHER_WORKSPACE.format(path=path), remedy)
    yield from _tried(subject, path, words, remedy)


def _tried(subject: Subject, path: str, words: list[str], remedy: str) -> Iterator[Check]:
    """Whether the program answers an event that is none."""
    try:
        done = subprocess.run(words, input=b"{}", env=dict(subject.env), capture_output=True, check=False,
                              timeout=_SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired:
        yield Check(Level.ERROR, LATE.format(path=path, seconds=_SECONDS), remedy)
        return
    why = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:_LINE_CHARS]
    if done.returncode or done.stdout.strip() != b"{}":
        yield Check(Level.ERROR, BROKEN.format(path=path, code=done.returncode, why=f": {why}" if why else ""), remedy)
