"""What `doctor` says of OpenClaw: pack, plugin, settings, whose chats are whose, and what came."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from apm_hooks import doctor_openclaw as checks
from apm_hooks import seen
from apm_hooks.cli.doctor import PROBES
from apm_hooks.doctor import Check, Level, examine
from apm_hooks.hosts.installing import apply_plan
from apm_hooks.hosts.openclaw_config import HostPlaces, host_places
from apm_hooks.hosts.openclaw_install import plan_install
from tests.subjects import NOW, is_fine, levels, mapped, only, subject_of
from tests.workspaces import Bench

SETTINGS: dict[str, Any] = {
    "channels": {"telegram": {"dmPolicy": "allowlist", "allowFrom": ["77"]}},
    "agents": {"defaults": {"compaction": {"memoryFlush": {"enabled": False}}}},
}
HALVES = pytest.mark.parametrize("half", ["pack", "plugin"])


def install(made: Bench, settings: dict[str, Any] | None = None) -> HostPlaces:
    places = host_places(made.env)
    file = Path(places.config)
    file.parent.mkdir()
    file.write_text(json.dumps(SETTINGS if settings is None else settings))
    apply_plan(plan_install(made.env, [str(made.root)], ["telegram:77"]))
    made.settings('owner_peers = ["telegram:77"]\n')
    made.trust()
    return places


def folder(places: HostPlaces, half: str) -> Path:
    return Path(places.pack if half == "pack" else places.plugin)


def edit(file: Path, change: Callable[[Any], None]) -> None:
    held = json.loads(file.read_text())
    change(held)
    file.write_text(json.dumps(held))


def about_host(made: Bench) -> list[Check]:
    subject = subject_of(made)
    return [*checks.hooks(subject), *checks.configuration(subject), *checks.chats(subject), *checks.events(subject)]


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program is really run."""
    monkeypatch.setattr(checks, "_tried", lambda *_: iter(()))


def test_nothing_is_said_where_the_host_is_not_used(made: Bench) -> None:
    assert about_host(made) == []


def test_where_only_the_host_is_there_is_a_note_on_how_to_install(made: Bench) -> None:
    Path(host_places(made.env).home).mkdir()
    assert only(about_host(made), Level.NOTE).remedy == f"Run: apm-hooks install openclaw --workspace {made.root}"


def test_a_whole_installation_is_tried_and_fine(made: Bench) -> None:
    install(made)
    subject = subject_of(made)
    assert is_fine(checks.hooks(subject))
    assert is_fine(checks.configuration(subject))
    assert levels(checks.chats(subject)) == [Level.OK, Level.OK]


@HALVES
def test_a_half_that_is_not_there_is_an_error(made: Bench, untried: None, half: str) -> None:
    places = install(made)
    shutil.rmtree(folder(places, half))
    assert only(checks.hooks(subject_of(made)), Level.ERROR).text.startswith(f"{folder(places, half)} is not there")


@HALVES
@pytest.mark.parametrize(
    ("change", "level", "text"),
    [
        ({"command": ["/gone/python", "x"]}, Level.ERROR, "names a program that cannot be run: ['/gone/python']"),
        ({"command": []}, Level.ERROR, "names a program that cannot be run"),
        ({"command": [sys.executable, "/other/start.py"]}, Level.WARNING, "runs another program than this"),
        ({"version": "0.0.1"}, Level.WARNING, "is of apm-hooks 0.0.1"),
        ({"workspaces": ["/elsewhere"]}, Level.WARNING, "does not name this workspace"),
        ({"command": None}, Level.ERROR, "cannot be read"),
    ],
)
def test_what_a_half_is_told_is_looked_at(
    made: Bench, untried: None, half: str, change: dict[str, Any], level: Level, text: str
) -> None:
    file = folder(install(made), half) / "apm-hooks.json"
    edit(file, lambda held: held.update(change))
    found = only(checks.hooks(subject_of(made)), level)
    assert found.text.startswith(str(file))
    assert text in found.text
    assert found.remedy.startswith("Run: apm-hooks install openclaw")


@pytest.mark.parametrize(
    ("code", "text"),
    [("raise SystemExit('no such thing')", "does not work (exit code 1): no such thing"), ("", "exit code 0"),
     ("print('{}')", None)],
)  # fmt: skip
def test_a_program_that_does_not_answer_is_an_error(made: Bench, code: str, text: str | None) -> None:
    places = install(made)
    start = made.write("other.py", code)
    for half in ("pack", "plugin"):
        edit(folder(places, half) / "apm-hooks.json", lambda held: held.update(command=[sys.executable, str(start)]))
    found = [each for each in checks.hooks(subject_of(made)) if each.level is Level.ERROR]
    assert [text in each.text for each in found if text] == ([True, True] if text else [])


def test_a_program_that_takes_too_long_is_an_error(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    places = install(made)
    monkeypatch.setattr(checks, "_SECONDS", 0.01)
    found = [each for each in checks.hooks(subject_of(made)) if each.level is Level.ERROR]
    assert ["gave no answer within" in each.text for each in found] == [True, True]
    assert places


def test_scripts_of_another_version_are_a_warning(made: Bench, untried: None) -> None:
    places = install(made)
    (folder(places, "plugin") / "shim.js").write_text("// another")
    assert "our plugin" in only(checks.hooks(subject_of(made)), Level.WARNING).text


@pytest.mark.parametrize(
    ("change", "level", "text"),
    [
        (lambda held: held["plugins"]["entries"].clear(), Level.ERROR, "allowConversationAccess = true"),
        (lambda held: held["plugins"].update(allow=["telegram"]), Level.ERROR, "plugins.allow must hold"),
        (lambda held: held["plugins"].update(deny=["apm-hooks"]), Level.ERROR, "plugins.deny"),
        (lambda held: held["plugins"].update(enabled=False), Level.ERROR, "switches all plugins off"),
        (lambda held: held["hooks"]["internal"]["entries"].pop("remem-flush"), Level.WARNING, "hook pack load"),
        (lambda held: held["hooks"]["internal"].update(enabled=False), Level.WARNING, "hook pack load"),
        (lambda held: held.update(meta={"lastTouchedVersion": "2026.5.7"}), Level.ERROR, "2026.5.7 is older"),
    ],
)
def test_settings_that_keep_our_hooks_from_working_are_told(
    made: Bench, change: Callable[[Any], None], level: Level, text: str
) -> None:
    made.env["PATH"] = "/nowhere"
    edit(Path(install(made).config), change)
    found = only(checks.configuration(subject_of(made)), level)
    assert text in found.text
    assert found.remedy


def test_settings_that_cannot_be_read_are_an_error(made: Bench, untried: None) -> None:
    Path(install(made).config).write_text("{ plugins: ")
    found = list(examine(subject_of(made), PROBES))
    told = [each for each in found if each.check == "hooks" and each.level is Level.ERROR]
    assert "not valid JSON5" in only(told, Level.ERROR).text
    assert {each.check for each in found} >= {"hooks", "sharing", "events"}


def test_without_an_owner_direct_chats_have_no_memory(made: Bench) -> None:
    install(made)
    made.settings("")
    made.trust()
    found = checks.chats(subject_of(made))[0]
    assert (found.level, found.remedy) == (Level.WARNING, "Run: apm-hooks install openclaw --owner CHANNEL:PEER")


@pytest.mark.parametrize("groups", [(), ("alpha",)])
def test_the_hosts_flush_matters_where_groups_are_mapped(made: Bench, groups: tuple[str, ...]) -> None:
    install(made, {"channels": SETTINGS["channels"]})
    mapped(made, *groups)
    found = [each for each in checks.chats(subject_of(made, *groups)) if "memory flush" in each.text]
    assert [each.remedy for each in found] == ["Run: apm-hooks install openclaw --host-flush off"] * len(groups)


@pytest.mark.parametrize(
    ("session", "telegram", "expected"),
    [
        ({}, {"allowFrom": ["77", "78"]}, ["session.dmScope: main"]),
        ({}, {"dmPolicy": "open", "allowFrom": ["*"]}, ["session.dmScope: main"]),
        ({"dmScope": "per-peer"}, {"allowFrom": ["77", "78"]}, []),
        ({"groupScope": "main"}, {"allowFrom": ["77"]}, ["session.groupScope: main"]),
    ],
)
def test_chats_that_the_host_does_not_keep_apart_are_told(
    made: Bench, session: dict[str, str], telegram: dict[str, Any], expected: list[str]
) -> None:
    install(made, {**SETTINGS, "session": session, "channels": {"telegram": telegram}})
    found = [each for each in checks.chats(subject_of(made)) if each.level is Level.WARNING]
    assert len(found) == len(expected)
    assert all(text in each.text for text, each in zip(expected, found, strict=True))


def test_which_events_came_is_told(made: Bench) -> None:
    install(made)
    assert only(checks.events(subject_of(made)), Level.NOTE).text == checks.NONE_CAME
    seen.note(str(made.root), "claude-code", "SessionStart", NOW * 10**9)
    assert only(checks.events(subject_of(made)), Level.NOTE).text == checks.NONE_CAME
    seen.note(str(made.root), "openclaw", "bootstrap", NOW * 10**9)
    came, never = checks.events(subject_of(made))
    assert came.text == "events that came: bootstrap 2026-01-01 00:00"
    assert never.text.startswith("tool-call never came")
    seen.note(str(made.root), "openclaw", "tool-call", NOW * 10**9)
    assert is_fine(checks.events(subject_of(made)))


def test_a_conversation_is_told_nothing_of_the_host(made: Bench) -> None:
    install(made)
    told = {each.check for each in examine(subject_of(made, operator=False), PROBES)}
    assert not told & {"hooks", "sharing", "events"}
