"""Who the owner of an OpenClaw bot is: found in its settings and pairings, asked, named, and never guessed."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from apm_hooks.cli import install_openclaw
from apm_hooks.errors import SettingsError
from apm_hooks.hosts import openclaw_owner
from apm_hooks.hosts.openclaw_config import host_places, parsed
from apm_hooks.hosts.openclaw_install import FLUSH_OFF
from apm_hooks.hosts.openclaw_peers import Peers, find_peers
from apm_hooks.session import is_owner
from tests.test_cli import Terminal
from tests.workspaces import Bench

TABLE = (
    "CREATE TABLE channel_pairing_allow_entries "
    "(channel_key TEXT, account_id TEXT, entry TEXT, sort_order INTEGER, updated_at INTEGER)"
)


def peers(config: dict[str, Any], state: Path | None = None) -> Peers:
    places = host_places({"OPENCLAW_STATE_DIR": str(state or "/nowhere"), "HOME": "/nowhere"})
    return find_peers(parsed("openclaw.json", None, json.dumps(config)), places)


def channel(name: str = "telegram", **settings: Any) -> dict[str, Any]:
    return {"channels": {name: settings}}


@pytest.mark.parametrize(
    ("config", "owners", "only"),
    [
        ({}, [], ""),
        (channel(allowFrom=[77]), ["telegram:77"], "telegram:77"),
        (channel(dmPolicy="allowlist", allowFrom=["tg:77"]), ["telegram:77"], "telegram:77"),
        (channel(allowFrom=["telegram:77", 77]), ["telegram:77"], "telegram:77"),
        (channel(allowFrom=["77", "78"]), ["telegram:77", "telegram:78"], ""),
        (channel(dmPolicy="open", allowFrom=["*"]), [], ""),
        (channel(dmPolicy="open", allowFrom=["*", "77"]), ["telegram:77"], ""),
        (channel(dmPolicy="disabled", allowFrom=["77"]), [], ""),
        (channel(enabled=False, allowFrom=["77"]), [], ""),
        (channel(allowFrom=["@name"]), [], ""),
        (channel(allowFrom=["77", "accessGroup:staff"]), ["telegram:77"], ""),
        (channel(allowFrom=["${OWNER}"]), [], ""),
        (channel("discord", dm={"policy": "allowlist", "allowFrom": ["user:99"]}), ["discord:99"], "discord:99"),
        (channel("discord", dm={"enabled": False, "allowFrom": ["99"]}), [], ""),
        (channel("matrix", dm={"allowFrom": ["@me:a.org"]}), ["matrix:@me:a.org"], "matrix:@me:a.org"),
        (channel(allowFrom=["77"], accounts={"a": {}, "b": {"allowFrom": ["78"]}}), ["telegram:77", "telegram:78"], ""),
        (channel(accounts={"a": {"allowFrom": ["77"]}, "b": {"enabled": False, "allowFrom": ["78"]}}), ["telegram:77"],
         "telegram:77"),
        ({**channel(allowFrom=["77", "78"]), "commands": {"ownerAllowFrom": ["telegram:78"]}}, ["telegram:78"],
         "telegram:78"),
        ({**channel(allowFrom=["77"]), "commands": {"ownerAllowFrom": ["*"]}}, ["telegram:77"], "telegram:77"),
        ({**channel(allowFrom=["77"]), "commands": {"ownerAllowFrom": ["tg:78", "discord:9"]}},
         ["telegram:78", "discord:9"], ""),
        ({"channels": {"defaults": {"allowFrom": ["1"]}, "telegram": "x", "signal": {"allowFrom": "77"}}}, [], ""),
        ({"channels": []}, [], ""),
    ],
)  # fmt: skip
def test_who_may_be_the_owner(config: dict[str, Any], owners: list[str], only: str) -> None:
    found = peers(config)
    assert (list(found.owners), openclaw_owner.chosen(found)) == (owners, only)


def test_an_entry_that_is_written_is_one_that_the_scope_knows() -> None:
    for name, entry, peer in (("telegram", 77, "77"), ("matrix", "@Me:example.org", "@Me:example.org")):
        (written,) = peers(channel(name, allowFrom=[entry])).owners
        assert is_owner(peer, name, (written,))
        assert not is_owner(peer, "slack", (written,))


def test_who_was_paired_is_read_from_the_hosts_own_store(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    with closing(sqlite3.connect(tmp_path / "state/openclaw.sqlite")) as base, base:
        base.execute(TABLE)
        rows = [("telegram", "default", "77", 0, 0), ("discord", "default", "9", 0, 0)]
        base.executemany("INSERT INTO channel_pairing_allow_entries VALUES (?, ?, ?, ?, ?)", rows)
    assert peers(channel(), tmp_path).owners == ("telegram:77",)
    assert peers(channel(dmPolicy="allowlist"), tmp_path).owners == ()


@pytest.mark.parametrize("name", ["telegram-allowFrom.json", "telegram-default-allowFrom.json"])
def test_older_hosts_keep_pairings_in_files(tmp_path: Path, name: str) -> None:
    (tmp_path / "credentials").mkdir()
    (tmp_path / "credentials" / name).write_text('{"version": 1, "allowFrom": ["77"]}')
    (tmp_path / "credentials/discord-allowFrom.json").write_text("{")
    assert peers(channel(), tmp_path).owners == ("telegram:77",)
    assert peers(channel("discord"), tmp_path).owners == ()


def test_a_store_that_cannot_be_read_tells_nothing(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/openclaw.sqlite").write_text("no database")
    assert peers(channel(), tmp_path).owners == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 'owner_peers = ["telegram:77"]\n'),
        ("idle_minutes = 5", 'idle_minutes = 5\nowner_peers = ["telegram:77"]\n'),
        ('owner_peers = []\r\nidle_minutes = 5\r\n', 'owner_peers = ["telegram:77"]\r\nidle_minutes = 5\r\n'),
        ('owner_peers = [\n  "78",  # her\n]\n', 'owner_peers = ["78", "telegram:77"]\n'),
        ('# owner_peers = ["1"]\n\n# x\n', '# owner_peers = ["1"]\nowner_peers = ["telegram:77"]\n\n# x\n'),
        ('[scopes]\n"cron:a" = "DM"\n', 'owner_peers = ["telegram:77"]\n\n[scopes]\n"cron:a" = "DM"\n'),
        ('owner_peers = ["telegram:77"]\n', 'owner_peers = ["telegram:77"]\n'),
    ],
)  # fmt: skip
def test_the_owner_is_named_in_the_settings_of_the_workspace(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "apm.toml").write_bytes(text.encode())
    change = openclaw_owner.owner_change(str(tmp_path), ["telegram:77"])
    assert (change.after or b"").decode() == expected


@pytest.mark.parametrize("text", ['owner_peers = ["@me:[::1]"]\n', 'x = """\nowner_peers = []\n"""\n', "a ="])
def test_settings_that_cannot_be_edited_safely_are_left(tmp_path: Path, text: str) -> None:
    (tmp_path / "apm.toml").write_text(text)
    with pytest.raises(SettingsError):
        openclaw_owner.owner_change(str(tmp_path), ["telegram:77"])


@pytest.mark.parametrize("peer", ["", "*", 'a"b', "a b", "a\nb"])
def test_nobody_is_no_peer(tmp_path: Path, peer: str) -> None:
    (tmp_path / "apm.toml").write_text("")
    with pytest.raises(SettingsError, match="is no peer"):
        openclaw_owner.owner_change(str(tmp_path), [peer])


@pytest.fixture
def apm(made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Terminal]:
    """A terminal in whose home the host is set up, its agents at work in `made`."""
    for name in os.environ:
        if name.startswith(("APM_", "OPENCLAW_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.chdir(made.home)
    yield Terminal(made, monkeypatch, capsys)


def host(apm: Terminal, **settings: Any) -> Path:
    file = apm.made.home / ".openclaw/openclaw.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"agents": {"defaults": {"workspace": str(apm.made.root)}}, **settings}))
    return file


def answer(apm: Terminal, *answers: str) -> list[str]:
    """From now on a person answers; returns what they are asked."""
    asked: list[str] = []
    given = iter(answers)
    monkeypatch = apm.monkeypatch
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True, raising=False)

    def reply(question: str) -> str:
        asked.append(question)
        answered = next(given)
        if answered == "^D":
            raise EOFError
        return answered

    monkeypatch.setattr("builtins.input", reply)
    return asked


def owner(apm: Terminal) -> tuple[str, ...]:
    return apm.made.runtime().workspace.privacy.owner_peers


def test_the_one_peer_is_named_and_counts_at_once(apm: Terminal) -> None:
    host(apm, **channel(dmPolicy="allowlist", allowFrom=[77]))
    said = apm("install", "openclaw")
    assert said.code == 0
    assert owner(apm) == ("telegram:77",)
    assert "no owner is known" not in said.err
    assert "apm.toml" not in apm("install", "openclaw").out


def test_of_several_peers_none_is_named_and_the_lines_to_run_are_printed(apm: Terminal) -> None:
    host(apm, **channel(allowFrom=[77, 78]))
    said = apm("install", "openclaw")
    assert owner(apm) == ()
    assert (
        "apm-hooks install openclaw --owner telegram:77; or apm-hooks install openclaw --owner telegram:78" in said.err
    )
    assert "session.dmScope: main" in said.err
    apm("install", "openclaw", "--owner", "telegram:78", "--owner", "discord:9")
    assert owner(apm) == ("telegram:78", "discord:9")


def test_a_person_at_the_terminal_is_asked_once(apm: Terminal) -> None:
    host(apm, **channel(allowFrom=[77, 78]))
    asked = answer(apm, "2, 9", "y")
    said = apm("install", "openclaw")
    assert [question.splitlines()[0] for question in asked] == [
        install_openclaw.ASK_OWNER.splitlines()[0], install_openclaw.ASK_FLUSH.splitlines()[0],
    ]  # fmt: skip
    assert owner(apm) == ("telegram:78",)
    assert FLUSH_OFF in said.out
    apm("install", "openclaw")
    assert len(asked) == 2


def test_whoever_says_nothing_keeps_the_hosts_flush(apm: Terminal) -> None:
    host(apm, **channel(allowFrom=[77, 78]))
    answer(apm, "", "^D")
    said = apm("install", "openclaw")
    assert owner(apm) == ()
    assert "the host's own memory flush is on" in said.err
    answer(apm)
    assert apm("install", "openclaw", "--host-flush", "keep", "--owner", "telegram:1").code == 0


def test_a_bot_that_anybody_reaches_makes_nobody_its_owner(apm: Terminal) -> None:
    host(apm, session={"groupScope": "main"}, **channel(dmPolicy="open", allowFrom=["*"]))
    said = apm("install", "openclaw")
    assert owner(apm) == ()
    assert "anybody on telegram" in said.err
    assert "session.groupScope: main" in said.err
    assert "--owner CHANNEL:PEER" in said.err
    host(apm, session={"dmScope": "per-peer"}, **channel(dmPolicy="open", allowFrom=["*"]))
    assert "session." not in apm("install", "openclaw").err


def test_what_changed_before_is_not_accepted_along_with_the_owner(apm: Terminal) -> None:
    host(apm, **channel(allowFrom=[77]))
    apm.made.settings("require_session = true\n")
    said = apm("install", "openclaw")
    assert "review them, then run: apm-hooks trust" in said.out
    assert owner(apm) == ()
    assert apm.made.runtime().workspace.changed == ("owner_peers", "require_session")


def test_a_workspace_that_nobody_accepted_is_refused(apm: Terminal) -> None:
    file = host(apm, **channel(allowFrom=[77]))
    before = file.read_bytes()
    (apm.made.home / ".config/apm-hooks/trust.json").unlink()
    said = apm("install", "openclaw")
    assert (said.code, said.out) == (4, "")
    assert f"apm-hooks init --workspace {apm.made.root}" in said.err
    assert file.read_bytes() == before


def test_without_a_workspace_the_hosts_own_folder_is_named(apm: Terminal) -> None:
    (apm.made.home / ".openclaw").mkdir()
    said = apm("install", "openclaw")
    assert said.code == 2
    assert f"apm-hooks init --workspace {apm.made.home}/.openclaw/workspace" in said.err


def test_a_workspace_in_which_no_agent_works_is_told(apm: Terminal, tmp_path: Path) -> None:
    file = apm.made.home / ".openclaw/openclaw.json"
    file.parent.mkdir()
    file.write_text("{}")
    said = apm("install", "openclaw", "--workspace", str(apm.made.root))
    assert f"do not work in {apm.made.root}" in said.err


def test_a_dry_run_shows_what_would_change_without_secrets_and_writes_nothing(apm: Terminal) -> None:
    file = host(apm)
    file.write_text('{\n  // keep\n  "channels": {"telegram": {"botToken": "111:x", "allowFrom": [77]}},\n'
                    f'  agents: {{ defaults: {{ workspace: "{apm.made.root}" }} }}\n}}\n')  # fmt: skip
    before = apm.tree()
    said = apm("install", "openclaw", "--dry-run", "--host-flush", "off")
    assert apm.tree() == before
    assert '+owner_peers = ["telegram:77"]' in said.out
    assert '+  "plugins": {' in said.out
    assert "111:x" not in said.out
    assert "our hook pack (" in said.out
    planned = apm("install", "openclaw", "--dry-run", "--json", "--host-flush", "off").json
    assert apm.tree() == before
    done = apm("install", "openclaw", "--json", "--host-flush", "off").json
    assert done["changes"] == planned["changes"]
    assert apm("uninstall", "openclaw", "--dry-run").out.startswith("would change  ")
    apm("uninstall", "openclaw")
    assert file.read_text().startswith("{\n  // keep\n")
    assert owner(apm) == ("telegram:77",)


def test_an_option_of_another_host_is_refused(apm: Terminal) -> None:
    host(apm)
    for arguments in (("openclaw", "--scope", "project"), ("openclaw", "--link-agents"),
                      ("claude-code", "--owner", "telegram:1"), ("claude-code", "--host-flush", "off")):  # fmt: skip
        said = apm("install", *arguments)
        assert said.code == 2
        assert f"{arguments[1]} is no option of {arguments[0]}" in said.err


def test_only_the_owner_installs(apm: Terminal) -> None:
    host(apm, **channel(allowFrom=[77]))
    apm.session("agent:main:telegram:group:-1")
    for command in ("install", "uninstall"):
        assert apm(command, "openclaw", "--workspace", str(apm.made.root)).code == 4
