"""The installer for OpenClaw: its settings are its user's, and everything that we do comes out again."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from apm_hooks import jsontext
from apm_hooks._version import __version__
from apm_hooks.errors import SettingsError
from apm_hooks.hosts import openclaw_files, openclaw_install
from apm_hooks.hosts.hookline import hook_words
from apm_hooks.hosts.installing import Plan, apply_plan
from apm_hooks.hosts.openclaw_config import PLUGIN, host_places
from apm_hooks.hosts.openclaw_install import plan_install, plan_uninstall

HOOKS = ["apm_session_start", "idle-flush", "precompact-remem", "remem-flush"]
NAMED = {name: {"enabled": True} for name in HOOKS}
JSON5_TEXT = """\
// the bot
{
  gateway: { mode: 'local', }, // this machine
  channels: {
    telegram: { botToken: "111:x", allowFrom: [77] }, /* me */
  },
}
"""
OPEN = '{"hooks": {"internal": {"enabled": true}}}'
LISTED = '{"hooks": {"internal": {"entries": {"session-memory": {"enabled": true}, "boot-md": {"enabled": false}}}}}'
OFF = '{"hooks": {"internal": {"enabled": false, "entries": {"boot-md": {}}}}}'
STORE = "CREATE TABLE config_machine_state (state_key TEXT, value_json TEXT, updated_at_ms INTEGER)"


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    # Dozens of files a test: that they reach the disk is tested elsewhere.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    (tmp_path / ".openclaw").mkdir()
    return {"HOME": str(tmp_path), "PATH": "/nowhere"}


def file_of(env: dict[str, str]) -> Path:
    return Path(host_places(env).config)


def write(env: dict[str, str], text: str) -> Path:
    file = file_of(env)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    file.chmod(0o600)
    return file


def values(env: dict[str, str]) -> Any:
    text = file_of(env).read_text()
    return jsontext.decode(text, jsontext.parse(text, dialect=jsontext.JSON5), dialect=jsontext.JSON5)


def install(env: dict[str, str], flush: str = "") -> Plan:
    plan = plan_install(env, ["/ws"], ["telegram:77"], flush=flush)
    apply_plan(plan)
    return plan


def uninstall(env: dict[str, str]) -> Plan:
    plan = plan_uninstall(env)
    apply_plan(plan)
    return plan


def tree(env: dict[str, str]) -> dict[str, bytes]:
    root = Path(env["HOME"])
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*"))
            if path.is_file() and not path.name.endswith(".apm-backup")}  # fmt: skip


def edit(env: dict[str, str], change: Callable[[Any], None]) -> None:
    held = json.loads(file_of(env).read_text())
    change(held)
    file_of(env).write_text(json.dumps(held))


@pytest.mark.parametrize("flush", ["", "off", "keep"])
@pytest.mark.parametrize(
    "text",
    [
        JSON5_TEXT, JSON5_TEXT.replace("\n", "\r\n"), "\ufeff" + JSON5_TEXT, OPEN, LISTED, OFF, "{}", "{\n}\n", "",
        json.dumps({"plugins": {"allow": ["telegram"], "entries": {}}}, indent=4),
        '{"agents": {"defaults": {"compaction": {"memoryFlush": {"enabled": true, "model": "m"}}}}}\n',
        "{plugins: {entries: {'apm-hooks': {enabled: false, hooks: {}}}}}",
    ],
)  # fmt: skip
def test_what_install_does_is_done_once_and_comes_out_byte_for_byte(env: dict[str, str], text: str, flush: str) -> None:
    write(env, text)
    before = tree(env)
    first = install(env, flush)
    assert openclaw_install.RESTART in first.notes
    installed = tree(env)
    assert installed != before
    again = install(env, flush)
    assert (again.changes, tree(env)) == ((), installed)
    assert install(env).changes == ()
    assert openclaw_install.INSTALLED in again.notes
    uninstall(env)
    assert tree(env) == before
    assert uninstall(env).notes == (openclaw_install.NOT_INSTALLED,)


def test_a_settings_file_that_was_not_there_is_made_for_its_owner_alone_and_goes(env: dict[str, str]) -> None:
    install(env)
    assert file_of(env).stat().st_mode & 0o777 == 0o600
    assert values(env)["plugins"]["entries"][PLUGIN]["enabled"] is True
    uninstall(env)
    assert tree(env) == {}
    assert os.listdir(Path(env["HOME"]) / ".openclaw") == []


def test_comments_and_order_of_the_settings_stay(env: dict[str, str]) -> None:
    file = write(env, JSON5_TEXT)
    install(env, "off")
    text = file.read_text()
    assert text.startswith(JSON5_TEXT.removesuffix("}\n"))
    assert values(env)["agents"]["defaults"]["compaction"]["memoryFlush"] == {"enabled": False}
    assert file.stat().st_mode & 0o777 == 0o600
    assert Path(f"{file}.apm-backup").read_text() == JSON5_TEXT


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (LISTED, True),
        (OPEN, True),
        ("{}", False),
        ('{"hooks": {"internal": {"enabled": true, "entries": {"session-memory": {"enabled": false}}}}}', False),
    ],
)
def test_a_hook_of_the_hosts_that_writes_groups_words_into_memory_is_warned_of(
    env: dict[str, str], text: str, *, warned: bool
) -> None:
    write(env, text)
    told = [note for note in install(env).notes if "session-memory" in note]
    assert bool(told) is warned
    assert not warned or ("for each other hook" in told[0]) is (text == OPEN)


@pytest.mark.parametrize(
    ("text", "installs", "entries", "note"),
    [
        ("{}", {}, NAMED, openclaw_install.NAMED),
        (OPEN, {}, None, openclaw_install.ALL_LOADED),
        (LISTED, {}, {"session-memory": {"enabled": True}, "boot-md": {"enabled": False}, **NAMED}, None),
        (OFF, {}, {"boot-md": {}}, openclaw_install.STAYS_OFF),
        ('{"hooks": {"internal": {"enabled": false}}}', {}, NAMED, None),
        ('{"hooks": {"internal": {"load": {"extraDirs": ["/x"]}}}}', {}, None, openclaw_install.ALL_LOADED),
        ("{}", {"pack": {"hooks": ["theirs"]}}, NAMED, openclaw_install.NAMED),
        (OPEN, {"pack": {"hooks": ["theirs"]}}, NAMED, openclaw_install.NAMED),
        (OPEN, {"pack": {}}, None, openclaw_install.ALL_LOADED),
        (
            '{"hooks": {"internal": {"entries": {"idle-flush": {"enabled": false}}}}}',
            {},
            {**NAMED, "idle-flush": {"enabled": False}},
            openclaw_install.NAMED,
        ),
    ],
)
def test_no_hook_of_the_users_is_silenced_or_woken(
    env: dict[str, str], text: str, installs: dict[str, Any], entries: dict[str, Any] | None, note: str | None
) -> None:
    file = write(env, text)
    if installs:
        machine_state(env, installs)
    plan = install(env)
    internal = values(env).get("hooks", {}).get("internal", {})
    assert internal.get("entries") == entries
    assert internal.get("enabled") is (False if text == OFF else None if entries is None and "x" in text else
                                       True if entries is not None or text == OPEN else None)  # fmt: skip
    assert note is None or note.format(file=file) in plan.notes


def machine_state(env: dict[str, str], installs: dict[str, Any]) -> None:
    base = Path(env["HOME"]) / ".openclaw/state/openclaw.sqlite"
    base.parent.mkdir()
    with sqlite3.connect(base) as held:
        held.execute(STORE)
        row = ("hooks.internal.installs", json.dumps(installs), 0)
        held.execute("INSERT INTO config_machine_state VALUES (?, ?, ?)", row)
    held.close()


def test_a_list_of_plugins_is_extended_and_an_empty_one_is_none(env: dict[str, str]) -> None:
    write(env, '{"plugins": {"allow": ["telegram"]}}')
    install(env)
    assert values(env)["plugins"]["allow"] == ["telegram", PLUGIN]
    uninstall(env)
    write(env, '{"plugins": {"allow": []}}')
    install(env)
    assert values(env)["plugins"]["allow"] == []


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        ({"enabled": False}, "switches all plugins off"),
        ({"deny": [PLUGIN]}, f"names {PLUGIN}"),
        ({"entries": {PLUGIN: {"hooks": {"allowPromptInjection": False}}}}, "forbids our plugin to add to prompts"),
    ],
)
def test_what_keeps_the_plugin_from_working_is_told(env: dict[str, str], plugins: Any, expected: str) -> None:
    write(env, json.dumps({"plugins": plugins}))
    assert any(note.startswith("WARNING: ") and expected in note for note in install(env).notes)


def test_what_was_changed_since_stays(env: dict[str, str]) -> None:
    write(env, '{"gateway": {}}')
    install(env, "off")
    edit(env, lambda held: held["agents"]["defaults"]["compaction"]["memoryFlush"].update(enabled=True))
    edit(env, lambda held: held["hooks"]["internal"]["entries"].update({"session-memory": {"enabled": True}}))
    edit(env, lambda held: held["gateway"].update(port=1))
    plan = uninstall(env)
    assert any("memoryFlush.enabled" in note and note.startswith("WARNING: ") for note in plan.notes)
    assert values(env) == {
        "gateway": {"port": 1},
        "agents": {"defaults": {"compaction": {"memoryFlush": {"enabled": True}}}},
        "hooks": {"internal": {"entries": {"session-memory": {"enabled": True}}}},
    }


def test_an_upgrade_after_edits_of_the_users_takes_nothing_of_theirs(env: dict[str, str]) -> None:
    write(env, '{"plugins": {"entries": {}}}')
    install(env)
    edit(env, lambda held: held.update(gateway={"port": 1}))
    install(env)
    install(env, "off")
    uninstall(env)
    assert values(env).pop("gateway") == {"port": 1}
    assert "apm" not in file_of(env).read_text()
    assert "memoryFlush" not in file_of(env).read_text()


@pytest.mark.parametrize("old", [None, True])
def test_the_hosts_flush_is_kept_again_when_that_is_asked_for(env: dict[str, str], old: bool | None) -> None:
    compaction = {} if old is None else {"compaction": {"memoryFlush": {"enabled": old}}}
    text = json.dumps({"agents": {"defaults": {"model": "m", **compaction}}})
    write(env, text)
    assert openclaw_install.FLUSH_ON in install(env).notes
    assert openclaw_install.FLUSH_OFF in install(env, "off").notes
    assert openclaw_install.FLUSH_OFF in install(env).notes
    assert openclaw_install.FLUSH_ON in install(env, "keep").notes
    assert values(env)["agents"] == json.loads(text)["agents"]
    uninstall(env)
    assert file_of(env).read_text() == text


@pytest.mark.parametrize("variable", ["OPENCLAW_CONFIG_READONLY", "OPENCLAW_NIX_MODE"])
def test_settings_that_somebody_else_keeps_are_left_with_what_to_write(env: dict[str, str], variable: str) -> None:
    write(env, "{}")
    before = tree(env)
    with pytest.raises(SettingsError, match=variable) as caught:
        install({**env, variable: "1"})
    assert 'plugins.entries."apm-hooks".enabled = true' in caught.value.remedy
    assert tree(env) == before
    install(env)
    assert install({**env, variable: "1"}).changes == ()


@pytest.mark.parametrize(
    "text",
    ["{$include: './all.json5'}", '{"plugins": {"$include": "p.json"}}', '{"hooks": {"internal": {"$include": []}}}'],
)
def test_settings_of_several_files_are_left_with_what_to_write(env: dict[str, str], text: str) -> None:
    write(env, text)
    with pytest.raises(SettingsError, match="include") as caught:
        install(env)
    assert "by hand" in caught.value.remedy
    assert file_of(env).read_text() == text


@pytest.mark.parametrize(
    ("version", "old"),
    [("2026.9.5", True), ("2026.5.7-1", True), ("2026.9.6", False), ("2026.10.1-beta.1", False), ("dev", False)],
)
def test_a_host_that_is_too_old_is_refused(env: dict[str, str], version: str, old: bool) -> None:
    write(env, json.dumps({"meta": {"lastTouchedVersion": version}}))
    if old:
        with pytest.raises(SettingsError, match=f"{version} is older than"):
            install(env)
    else:
        install(env)


def test_the_host_on_the_path_tells_its_version(env: dict[str, str], tmp_path: Path) -> None:
    package = tmp_path / "lib/openclaw"
    package.mkdir(parents=True)
    (package / "openclaw.mjs").write_text("#!/bin/sh\n")
    (package / "openclaw.mjs").chmod(0o755)
    (package / "package.json").write_text('{"name": "openclaw", "version": "2025.1.1"}')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/openclaw").symlink_to(package / "openclaw.mjs")
    with pytest.raises(SettingsError, match=r"2025\.1\.1"):
        install({**env, "PATH": str(tmp_path / "bin")})


def test_both_halves_hold_the_shared_scripts_and_what_they_are_told(env: dict[str, str]) -> None:
    install(env)
    places = host_places(env)
    for folder, own in ((places.pack, "package.json"), (places.plugin, "openclaw.plugin.json")):
        names = set(os.listdir(folder))
        assert names >= {"shim.js", "apm-hooks.json", own}
        held = json.loads(Path(folder, "apm-hooks.json").read_text())
        assert held["version"] == json.loads(Path(folder, own).read_text())["version"] == __version__
        assert held["command"] == hook_words("openclaw")
        assert held["serve"][1:] == ["-I", "-m", "apm_hooks", "serve", "--host", "openclaw"]
        assert (held["workspaces"], held["owner_peers"]) == (["/ws"], ["telegram:77"])
    assert json.loads(Path(places.plugin, "openclaw.plugin.json").read_text())["id"] == PLUGIN
    hooks = [Path(each).name for each in json.loads(Path(places.pack, "package.json").read_text())["openclaw"]["hooks"]]
    assert sorted(hooks) == openclaw_files.hook_names(openclaw_files.source()) == HOOKS
    for name in HOOKS:
        assert f"name: {name}\n" in Path(places.pack, name, "HOOK.md").read_text()


def test_files_of_an_earlier_version_go_and_those_of_others_stay(env: dict[str, str]) -> None:
    install(env)
    places = host_places(env)
    record = json.loads(Path(places.record).read_text())
    record["files"]["pack"].append("old/handler.js")
    Path(places.record).write_text(json.dumps(record))
    (Path(places.pack) / "old").mkdir()
    (Path(places.pack) / "old/handler.js").write_text("old")
    (Path(places.pack) / "mine.txt").write_text("mine")
    install(env)
    assert not (Path(places.pack) / "old/handler.js").exists()
    uninstall(env)
    assert list(tree(env)) == [".openclaw/hooks/apm-hooks/mine.txt"]


@pytest.mark.parametrize("name", ["../../../evil.js", "/etc/passwd"])
def test_a_record_names_no_file_outside_its_folder(env: dict[str, str], name: str) -> None:
    install(env)
    record = Path(host_places(env).record)
    held = json.loads(record.read_text())
    held["files"]["pack"].append(name)
    record.write_text(json.dumps(held))
    with pytest.raises(SettingsError, match="out of its folder"):
        uninstall(env)


@pytest.mark.parametrize("text", ["{", "[]", '{"edits": [{}], "files": {}}', "[" * 100_000])
def test_a_record_that_cannot_be_read_is_refused(env: dict[str, str], text: str) -> None:
    install(env)
    Path(host_places(env).record).write_text(text)
    with pytest.raises(SettingsError, match="cannot be read"):
        uninstall(env)


def test_a_folder_that_is_a_link_is_somebody_elses(env: dict[str, str], tmp_path: Path) -> None:
    Path(host_places(env).pack).parent.mkdir()
    (tmp_path / "theirs").mkdir()
    Path(host_places(env).pack).symlink_to(tmp_path / "theirs")
    with pytest.raises(SettingsError, match="is a link"):
        install(env)


def test_without_a_record_what_is_ours_for_certain_goes(env: dict[str, str]) -> None:
    write(env, '{"plugins": {"allow": ["telegram"]}}')
    install(env, "off")
    Path(host_places(env).record).unlink()
    assert openclaw_install.NO_RECORD in uninstall(env).notes
    assert values(env) == {
        "plugins": {"allow": ["telegram"]},
        "agents": {"defaults": {"compaction": {"memoryFlush": {"enabled": False}}}},
        "hooks": {"internal": {"enabled": True}},
    }
    assert list(tree(env)) == [".openclaw/openclaw.json"]


@pytest.mark.parametrize(
    ("more", "config", "home"),
    [
        ({}, "~/.openclaw/openclaw.json", "~/.openclaw"),
        ({"OPENCLAW_STATE_DIR": "~/state"}, "~/state/openclaw.json", "~/state"),
        ({"OPENCLAW_CONFIG_PATH": "~/c/x.json"}, "~/c/x.json", "~/c"),
        ({"OPENCLAW_CONFIG_PATH": "~/c/x.json", "OPENCLAW_STATE_DIR": "~/s"}, "~/c/x.json", "~/s"),
    ],
)
def test_where_the_host_has_its_files(env: dict[str, str], more: dict[str, str], config: str, home: str) -> None:
    places = host_places({**env, **more})
    assert places.config == config.replace("~", env["HOME"])
    assert places.pack == home.replace("~", env["HOME"]) + "/hooks/apm-hooks"
    assert places.plugin == home.replace("~", env["HOME"]) + "/extensions/apm-hooks"


def test_what_was_cut_short_is_done_again_or_taken_back(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    write(env, JSON5_TEXT)
    before = tree(env)
    for writes in range(0, 30, 3):
        left = iter(range(writes))
        real = os.replace

        def failing(old: str, new: str, left: Iterator[int] = left, real: Callable[..., None] = real) -> None:
            if next(left, None) is None:
                raise OSError(28, "No space left on device")
            real(old, new)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", failing)
            with pytest.raises(SettingsError, match="No space left"):
                install(env, "off")
        if writes % 2:
            install(env, "off")
        uninstall(env)
        assert tree(env) == before
