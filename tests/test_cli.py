"""The commands as a person, a bot or a program calls them."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from apm_hooks import start
from apm_hooks.cli import parser
from apm_hooks.hosts.hookline import hook_line
from apm_hooks.records import Scope, ScopeKind
from tests.workspaces import GROUP_KEY, Bench, bench, event

APM = str(Path(sys.executable).parent / "apm-hooks")
OWNER_PEER = "agent:main:telegram:direct:77"
GROUP_MAP = "memory/groups/group_names.json"
CREATED = [
    "apm.toml", "MEMORY.md", "memory/main/index.md", "memory/main/attention.md", "memory/main/longterm.md",
    "memory/main/daily-synced.md", GROUP_MAP, "AGENTS.md",
]  # fmt: skip
BEGIN, END = "<!-- apm-hooks:begin memory -->", "<!-- apm-hooks:end memory -->"


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """Standard output, which must be one JSON object and nothing else."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


@dataclass
class Terminal:
    """Runs commands in this process, as in the owner's terminal in `made`'s workspace."""

    made: Bench
    monkeypatch: pytest.MonkeyPatch
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: str) -> Said:
        self.capsys.readouterr()
        code = parser.run(arguments)
        return Said(code, *self.capsys.readouterr())

    def session(self, key: str) -> None:
        """From now on the commands run inside the session of this key."""
        self.monkeypatch.setenv("APM_SESSION", key)

    def tree(self) -> dict[str, bytes | str]:
        """Every file of the home and the workspace with its bytes, but the token cache."""
        roots = (self.made.home, self.made.root)
        return {str(path): os.readlink(path) if path.is_symlink() else path.read_bytes()
                for root in roots for path in sorted(root.rglob("*"))
                if (path.is_symlink() or path.is_file()) and ".cache" not in path.parts}  # fmt: skip

    def hosts_files(self) -> dict[str, bytes | str]:
        """The same without the back-ups that stay beside a host's files."""
        return {path: data for path, data in self.tree().items() if not path.endswith(".apm-backup")}


@pytest.fixture
def enter(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[Bench], Terminal]:
    """A terminal in a workspace."""

    def inside(made: Bench) -> Terminal:
        for name in list(os.environ):
            if name.startswith(("APM_", "XDG_", "CLAUDE_")):
                monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(made.home))
        monkeypatch.chdir(made.root)
        return Terminal(made, monkeypatch, capsys)

    return inside


@pytest.fixture
def apm(made: Bench, enter: Callable[[Bench], Terminal]) -> Terminal:
    """A terminal in an accepted workspace with the owner's index and attention."""
    return enter(made)


@pytest.fixture
def fresh(tmp_path: Path, enter: Callable[[Bench], Terminal]) -> Terminal:
    """A terminal in an empty folder."""
    home, root = tmp_path / "home", tmp_path / "ws"
    home.mkdir()
    root.mkdir()
    return enter(Bench(home, root.resolve(), {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath)}))


@pytest.fixture
def grouped(made: Bench, enter: Callable[[Bench], Terminal]) -> Terminal:
    """A terminal in an accepted workspace with two groups, of which `alpha` is that of GROUP_KEY."""
    made.groups({"-100777": "alpha", "!Room:example.org": "研发群"})
    made.write("memory/groups/alpha.md", "# Alpha\n\n| scenario | file |\n|---|---|\n| incidents | attention.md |\n")
    made.trust()
    return enter(made)


def scope_of(made: Bench, key: str | None) -> str:
    return str(made.runtime().decide(event(key)).scope)


def together(made: Bench, *commands: Sequence[str]) -> list[Said]:
    """The commands, each in a process of its own, all at once."""
    running = [
        subprocess.Popen([APM, *command], cwd=made.root, env=made.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for command in commands
    ]  # fmt: skip
    said = []
    for process in running:
        out, err = process.communicate(timeout=60)
        said.append(Said(process.returncode, out, err))
    return said


def shell(made: Bench, line: str, **env: str) -> Said:
    done = subprocess.run(["sh", "-c", line], cwd=made.root, env={**made.env, "APM": APM, **env}, capture_output=True,
                          text=True, check=False, timeout=60)  # fmt: skip
    return Said(done.returncode, done.stdout, done.stderr)


def test_init_creates_what_is_absent_and_accepts_the_folder(fresh: Terminal) -> None:
    said = fresh("init", "--json")
    assert said.code == 0
    assert said.json == {"workspace": str(fresh.made.root), "created": CREATED, "agents_block": True, "trusted": True,
                         "changed": []}  # fmt: skip
    assert all((fresh.made.root / path).is_file() for path in CREATED)
    assert fresh("explain", "--json").json["scope"] == "DM"


def test_init_twice_changes_nothing(fresh: Terminal) -> None:
    fresh("init")
    before = {path: data for path, data in fresh.tree().items() if not path.endswith("trust.json")}
    again = fresh("init")
    assert (again.code, again.err) == (0, "")
    assert "created  nothing: all is there" in again.out
    assert "--agents-md" not in again.out
    assert {path: data for path, data in fresh.tree().items() if not path.endswith("trust.json")} == before


def test_init_touches_nothing_that_exists(fresh: Terminal) -> None:
    kept = {"MEMORY.md": "mine\r\n", "AGENTS.md": "# My agents\n", "memory/main/attention.md": "", GROUP_MAP: "{ }"}
    files = [fresh.made.write(path, text) for path, text in kept.items()]
    before = [(file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) for file in files]
    said = fresh("init", "--json")
    assert said.json["created"] == [path for path in CREATED if path not in kept]
    assert said.json["agents_block"] is False
    assert [(file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_ino) for file in files] == before
    assert "--agents-md adds" in fresh("init").out


def test_init_does_not_accept_what_changed_behind_the_owners_back(apm: Terminal) -> None:
    apm.made.settings('owner_peers = ["77"]\n')
    said = apm("init", "--json")
    assert said.json["changed"] == ["owner_peers"]
    assert scope_of(apm.made, OWNER_PEER) == "None"
    assert "owner_peers; review it, then run: apm-hooks trust" in apm("init").err


@pytest.mark.parametrize(("before", "newline"), [("# Mine\r\n\r\n- rule\r\n", "\r\n"), ("# Mine\n\n- rule\n", "\n")])
def test_agents_md_gets_the_block_below_what_is_there(fresh: Terminal, before: str, newline: str) -> None:
    file = fresh.made.write("AGENTS.md", before)
    assert fresh("init", "--agents-md", "--json").json["agents_block"] is True
    after = file.read_bytes().decode()
    assert after.startswith(before + newline + BEGIN + newline)
    assert after.endswith(END + newline)
    assert after.count("\n") == after.count(newline)
    fresh("init", "--agents-md")
    assert file.read_bytes().decode() == after


@pytest.mark.parametrize(
    ("data", "code"),
    [(f"{BEGIN}\n".encode(), 3), ("# Mine\n".encode("utf-16"), 3), (None, 5)],
    ids=["half a block", "UTF-16", "a link"],
)
def test_an_agents_md_that_cannot_be_edited_is_named_and_kept(fresh: Terminal, data: bytes | None, code: int) -> None:
    file = fresh.made.root / "AGENTS.md"
    if data is None:
        file.symlink_to("CLAUDE.md")
    else:
        file.write_bytes(data)
    said = fresh("init", "--agents-md")
    assert said.code == code
    assert said.err.startswith("apm-hooks: AGENTS.md")
    assert file.is_symlink() or file.read_bytes() == data


def test_processes_that_initialise_one_folder_at_once_lose_nothing(fresh: Terminal) -> None:
    said = together(fresh.made, *[("init", "--json")] * 3)
    assert [each.code for each in said] == [0, 0, 0], [each.err for each in said]
    assert sorted(path for each in said for path in each.json["created"]) == sorted(CREATED)
    assert all((fresh.made.root / path).stat().st_size for path in CREATED)
    assert fresh("init", "--json").json["created"] == []
    assert scope_of(fresh.made, None) == "DM"


def test_init_takes_the_workspace_above_else_the_current_folder(apm: Terminal) -> None:
    below = apm.made.root / "sub"
    below.mkdir()
    apm.monkeypatch.chdir(below)
    assert apm("init", "--json").json["workspace"] == str(apm.made.root)
    apart = apm.made.home / "apart"
    assert apm("init", "--workspace", str(apart), "--json").json["workspace"] == str(apart)
    assert (apart / "apm.toml").is_file()


def test_init_where_no_folder_can_be_is_a_usage_error(fresh: Terminal) -> None:
    fresh.made.write("file", "x")
    said = fresh("init", "--workspace", "file")
    assert said.code == 2
    assert f"{fresh.made.root}/file cannot be made a folder" in said.err


def test_trust_show_shows_and_accepts_nothing(tmp_path: Path, enter: Callable[[Bench], Terminal]) -> None:
    made = bench(tmp_path, trusted=False, settings='owner_peers = ["77"]\n')
    apm = enter(made)
    before = apm.tree()
    said = apm("trust", "--show", "--json").json
    assert (said["was_trusted"], said["trusted"], said["changed"]) == (False, False, [])
    assert said["privacy"]["owner_peers"] == ["77"]
    assert apm("trust", "--show").out.endswith(f"would trust  {made.root}\n")
    assert apm.tree() == before
    assert apm("explain").code == 4


def test_trust_accepts_and_names_what_changed(apm: Terminal) -> None:
    apm.made.settings('owner_peers = ["77"]\n[scopes]\n"agent:main:cron:*" = "DM"\n')
    apm.made.groups({"-100777": "alpha"})
    shown = apm("trust", "--show")
    rows = {line.split("  ")[0]: line for line in shown.out.splitlines()}
    assert [name for name, line in rows.items() if line.endswith("changed")] == ["owner_peers", "scopes", "groups"]
    said = apm("trust", "--json").json
    assert said == {
        "workspace": str(apm.made.root), "was_trusted": True, "trusted": True,
        "changed": ["groups", "owner_peers", "scopes"],
        "privacy": {
            "owner_peers": ["77"], "scopes": {"agent:main:cron:*": "DM"}, "require_session": False,
            "matrix_match_without_server": False, "groups": {"-100777": "alpha"},
        },
    }  # fmt: skip
    assert [scope_of(apm.made, key) for key in (OWNER_PEER, GROUP_KEY)] == ["DM", "Group(alpha)"]
    assert apm("trust", "--json").json["changed"] == []


def test_trust_shows_every_value_and_what_hides_in_it(apm: Terminal) -> None:
    apm.made.groups({f"-100{number}": f"group {number}" for number in range(9)})
    apm.made.settings('owner_peers = ["77\\u001b[2K\\u202e", "78\\nscopes"]\n')
    out = apm("trust", "--show").out
    assert all(f"-100{number} → group {number}" in out for number in range(9))
    assert "77<U+001B>[2K<U+202E>" in out
    assert "78<U+000A>scopes" in out


@pytest.mark.parametrize(
    ("path", "text", "part"),
    [
        (GROUP_MAP, '{"-1": "a"\n"-2": "b"}', f"{GROUP_MAP}:2: is no JSON"),
        (GROUP_MAP, "", f"{GROUP_MAP}:1: is no JSON"),
        ("apm.toml", "\nowner_peers = 5\n", "apm.toml:2 [owner_peers]"),
        ("apm.toml", "owner_peers = [\n", "apm.toml"),
    ],
)
def test_trust_accepts_nothing_that_it_cannot_read(apm: Terminal, path: str, text: str, part: str) -> None:
    apm.made.write(path, text)
    before = apm.tree()
    said = apm("trust")
    assert (said.code, said.out) == (3, "")
    assert part in said.err
    assert apm.tree() == before


def test_a_trust_list_behind_a_link_is_named_by_its_whole_path(apm: Terminal) -> None:
    file = apm.made.home / ".config/apm-hooks/trust.json"
    file.rename(apm.made.home / "elsewhere.json")
    file.symlink_to(apm.made.home / "elsewhere.json")
    said = apm("trust")
    assert (said.code, said.err) == (3, f"apm-hooks: {file}: is a symbolic link. Put a plain file there.\n")


def test_group_add_maps_a_group_that_counts_at_once(apm: Terminal) -> None:
    said = apm("group", "add", "研发群", "--id", "-100777", "--json")
    assert said.json == {"name": "研发群", "id": "-100777", "channel": None, "added": True, "created": [],
                         "counts": True}  # fmt: skip
    assert scope_of(apm.made, GROUP_KEY) == "Group(研发群)"
    assert apm("group", "list", "--json").json == {
        "counts": True, "groups": [{"name": "研发群", "id": "-100777", "channel": None, "index": False}],
    }  # fmt: skip


def test_group_add_init_creates_what_the_group_lacks(apm: Terminal) -> None:
    own = apm.made.write("memory/groups/alpha/people.md", "mine\n")
    said = apm("group", "add", "alpha", "--id", "-100777", "--init", "--json")
    files = [
        "memory/groups/alpha.md",
        *(f"memory/groups/alpha/{name}.md" for name in ("attention", "project", "experience")),
    ]
    assert said.json["created"] == files
    assert "group_name: alpha" in (apm.made.root / files[0]).read_text()
    assert own.read_text() == "mine\n"
    again = apm("group", "add", "alpha", "--id", "-100777", "--init", "--json").json
    assert (again["added"], again["created"]) == (False, [])
    assert apm("group", "list").out.splitlines()[-1].split() == ["alpha", "-100777", "any", "yes"]


@pytest.mark.parametrize(
    "name", ["..", "a/../b", "/etc", "a\\b", "con", "group_names", ".hidden", "a\u202eb", "", "x" * 201]
)
def test_group_add_refuses_a_name_that_may_not_become_a_path(apm: Terminal, name: str) -> None:
    before = apm.tree()
    said = apm("group", "add", name, "--id", "-100777", "--json")
    assert said.code == 3
    error = said.json["error"]
    assert (error["code"], error["file"], error["key"]) == ("name-refused", GROUP_MAP, "-100777")
    assert {path: data for path, data in apm.tree().items() if ".apm" not in path} == before


@pytest.mark.parametrize("name", ["Alpha", "ALPHA", "ａlpha", "alpha/child"])
def test_group_add_refuses_a_name_that_meets_another(grouped: Terminal, name: str) -> None:
    before = (grouped.made.root / GROUP_MAP).read_bytes()
    said = grouped("group", "add", name, "--id", "-100888", "--json")
    assert said.code == 3
    assert said.json["error"]["file"] == GROUP_MAP
    assert (grouped.made.root / GROUP_MAP).read_bytes() == before
    assert scope_of(grouped.made, GROUP_KEY) == "Group(alpha)"


def test_group_add_again_changes_nothing(grouped: Terminal) -> None:
    before = (grouped.made.root / GROUP_MAP).read_bytes()
    said = grouped("group", "add", "alpha", "--id", "-100777")
    assert (said.code, said.out, said.err) == (0, "kept  -100777 → alpha\n", "")
    assert (grouped.made.root / GROUP_MAP).read_bytes() == before


def test_group_add_leaves_an_id_with_its_name(grouped: Terminal) -> None:
    said = grouped("group", "add", "beta", "--id", "-100777", "--json")
    assert said.code == 3
    assert said.json["error"]["key"] == "-100777"
    assert "is mapped to alpha already" in said.err
    assert scope_of(grouped.made, GROUP_KEY) == "Group(alpha)"


def test_group_add_binds_an_id_to_a_channel(apm: Terminal) -> None:
    apm("group", "add", "alpha", "--id", "-100777", "--channel", "Telegram")
    assert json.loads((apm.made.root / GROUP_MAP).read_text()) == {"-100777": {"name": "alpha", "channel": "Telegram"}}
    again = apm("group", "add", "alpha", "--id", "-100777", "--channel", "Telegram", "--json").json
    assert again["added"] is False
    assert scope_of(apm.made, GROUP_KEY) == "Group(alpha)"
    assert scope_of(apm.made, "agent:main:discord:group:-100777") == "None"


@pytest.mark.parametrize(("id_", "channel"), [("", ""), ("  ", ""), ("agent:main:main", ""), ("-1", "two words")])
def test_group_add_refuses_what_names_no_group(apm: Terminal, id_: str, channel: str) -> None:
    said = apm("group", "add", "alpha", "--id", id_, "--channel", channel)
    assert said.code == 3
    assert said.err.startswith(f"apm-hooks: {GROUP_MAP}")
    assert not (apm.made.root / GROUP_MAP).exists()


def test_group_add_mends_an_entry_that_is_refused(apm: Terminal) -> None:
    apm.made.groups({"-100777": "..", "-1": "beta"})
    apm.made.trust()
    assert apm("group", "add", "alpha", "--id", "-100777", "--json").json["added"] is True
    assert scope_of(apm.made, GROUP_KEY) == "Group(alpha)"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{\n    "-1": "a",\n    "-2": "b"\n}\n', '{\n    "-1": "a",\n    "-2": "b",\n    "-100777": "alpha"\n}\n'),
        ('{\r\n\t"-1": "a"\r\n}', '{\r\n\t"-1": "a",\r\n\t"-100777": "alpha"\r\n}'),
        ('\ufeff{"-1":"a"}\n', '\ufeff{"-1":"a","-100777":"alpha"}\n'),
        ('{"-1": "\\u7814"}', '{"-1": "\\u7814", "-100777": "alpha"}'),
        ("{}\r\n", '{\r\n  "-100777": "alpha"\r\n}\r\n'),
    ],
    ids=["four blanks", "tabs and CRLF", "BOM on one line", "escapes", "empty"],
)
def test_group_add_keeps_how_the_map_is_written(apm: Terminal, before: str, after: str) -> None:
    file = apm.made.write(GROUP_MAP, before)
    apm.made.trust()
    assert apm("group", "add", "alpha", "--id", "-100777").code == 0
    assert file.read_bytes().decode() == after
    assert scope_of(apm.made, GROUP_KEY) == "Group(alpha)"


def test_group_add_after_a_pulled_change_does_not_count_and_says_so(grouped: Terminal) -> None:
    grouped.made.groups({"-100777": "alpha", "-666": "alpha"})
    said = grouped("group", "add", "beta", "--id", "-100888", "--json")
    assert (said.code, said.json["counts"]) == (0, False)
    assert "does not count yet" in said.err
    assert scope_of(grouped.made, "agent:main:telegram:group:-100888") == "None"
    listed = grouped("group", "list", "--json")
    assert listed.json["counts"] is False
    assert [row["name"] for row in listed.json["groups"]] == ["alpha", "alpha", "beta"]
    assert "run: apm-hooks trust" in listed.err
    grouped("trust")
    assert scope_of(grouped.made, "agent:main:telegram:group:-100888") == "Group(beta)"


def test_group_add_pins_nothing_but_the_map(grouped: Terminal) -> None:
    grouped.made.settings('owner_peers = ["77"]\n')
    assert grouped("group", "add", "beta", "--id", "-100888", "--json").json["counts"] is True
    assert scope_of(grouped.made, OWNER_PEER) == "None"


def test_groups_that_are_added_at_once_all_count(apm: Terminal) -> None:
    said = together(apm.made, *[("group", "add", f"g{number}", f"--id=-100{number}") for number in range(3)])
    assert [each.code for each in said] == [0, 0, 0], [each.err for each in said]
    keys = [f"agent:main:telegram:group:-100{number}" for number in range(3)]
    assert [scope_of(apm.made, key) for key in keys] == ["Group(g0)", "Group(g1)", "Group(g2)"]


def test_group_add_where_nobody_accepted_the_workspace_writes_nothing(
    tmp_path: Path, enter: Callable[[Bench], Terminal]
) -> None:
    apm = enter(bench(tmp_path, trusted=False))
    before = apm.tree()
    said = apm("group", "add", "alpha", "--id", "-100777", "--json")
    assert (said.code, said.json["error"]["code"]) == (4, "not-trusted")
    assert apm.tree() == before


def test_group_add_leaves_a_damaged_map_alone(apm: Terminal) -> None:
    file = apm.made.write(GROUP_MAP, '{"-1": ')
    assert apm("group", "add", "alpha", "--id", "-100777").code == 3
    assert file.read_text() == '{"-1": '


def test_group_list_says_how_to_map_the_first(apm: Terminal) -> None:
    assert apm("group", "list").out == "no group is mapped: apm-hooks group add NAME --id ID\n"


def test_the_owner_sees_every_group_and_what_is_wrong_with_the_map(grouped: Terminal) -> None:
    grouped.made.groups({"-100777": "alpha", "-2": "..", "-3": {"name": "beta", "channel": "discord"}})
    grouped.made.trust()
    said = grouped("group", "list")
    rows = [line.split() for line in said.out.splitlines()[2:]]
    assert rows == [["alpha", "-100777", "any", "yes"], ["beta", "-3", "discord", "not", "yet"]]
    assert f"{GROUP_MAP} [-2]" in said.err


def test_the_owner_sees_every_group_also_where_sessions_need_a_name(grouped: Terminal) -> None:
    grouped.made.settings("require_session = true\n")
    grouped.made.trust()
    assert len(grouped("group", "list", "--json").json["groups"]) == 2


def test_a_groups_session_sees_that_group_alone(grouped: Terminal) -> None:
    grouped.made.groups({"-100777": "alpha", "-100778": "alpha", "!Room:example.org": "研发群", "-2": ".."})
    grouped.made.trust()
    grouped.session(GROUP_KEY)
    said = grouped("group", "list", "--json")
    assert [row["id"] for row in said.json["groups"]] == ["-100777", "-100778"]
    assert "研发群" not in grouped("group", "list").out
    assert said.err == ""
    assert grouped("group", "list", "--session", GROUP_KEY).code == 0


@pytest.mark.parametrize("key", ["", "agent:main:cron:x", "agent:main:telegram:group:-1", OWNER_PEER])
def test_a_session_without_a_scope_sees_no_group(grouped: Terminal, key: str) -> None:
    grouped.session(key)
    assert grouped("group", "list", "--json").json["groups"] == []


OPERATORS = [
    ("init",),
    ("init", "--agents-md"),
    ("trust",),
    ("trust", "--show"),
    ("group", "add", "beta", "--id", "-1"),
    ("group", "add", "alpha", "--id", "-100777", "--init"),
    ("install", "claude-code"),
    ("install", "claude-code", "--scope", "project", "--dry-run"),
    ("uninstall", "claude-code"),
]


@pytest.mark.parametrize("command", OPERATORS, ids=" ".join)
def test_what_is_the_operators_is_refused_in_another_session(grouped: Terminal, command: tuple[str, ...]) -> None:
    before = grouped.tree()
    for key in (GROUP_KEY, "", "agent:main:cron:x"):
        grouped.session(key)
        said = grouped(*command, "--json")
        assert (said.code, said.json["error"]["code"]) == (4, "scope")
        assert grouped.tree() == before


@pytest.mark.parametrize("command", OPERATORS, ids=" ".join)
def test_what_is_the_operators_is_free_in_the_owners_session(grouped: Terminal, command: tuple[str, ...]) -> None:
    grouped.session("agent:main:main")
    assert grouped(*command).code == 0


def test_a_session_cannot_accept_a_workspace_that_nobody_accepted(
    tmp_path: Path, enter: Callable[[Bench], Terminal]
) -> None:
    apm = enter(bench(tmp_path, trusted=False))
    apm.session("agent:main:main")
    assert [apm(command).code for command in ("init", "trust")] == [4, 4]
    assert not (apm.made.home / ".config").exists()


EXPLAINED = {"scope", "reason", "detail", "remedy", "route", "rows", "steps", "tokens", "budget", "tokenizer", "exact"}


@pytest.mark.parametrize(
    ("key", "scope"),
    [
        (None, "DM"),
        ("agent:main:main", "DM"),
        (GROUP_KEY, "Group(alpha)"),
        ("agent:main:telegram:group:-1", None),
        ("", None),
    ],
)
def test_explain_says_whose_memory_it_is(grouped: Terminal, key: str | None, scope: str | None) -> None:
    said = grouped("explain", "--json", *(() if key is None else ("--session", key))).json
    assert set(said) == EXPLAINED
    assert (said["scope"], said["route"]) == (scope, None)
    assert 0 < said["tokens"] <= said["budget"]
    assert all(set(step) == {"step", "file", "verdict", "reason", "tokens"} for step in said["steps"])
    assert (said["remedy"] is None) == (scope is not None)


@pytest.mark.parametrize(
    ("key", "message", "file"),
    [
        ("agent:main:main", "show me the current tasks", "attention.md"),
        ("agent:main:main", "which decisions stand?", "longterm.md"),
        ("agent:main:main", "zzz", None),
        (GROUP_KEY, "any incidents?", "attention.md"),
        ("agent:main:cron:x", "show me the current tasks", None),
    ],
)
def test_explain_routes_a_message(grouped: Terminal, key: str, message: str, file: str | None) -> None:
    route = grouped("explain", "--json", "--session", key, "--message", message).json["route"]
    assert (route and route["file"]) == file
    if route is not None:
        assert set(route) >= {"file", "words", "score"}
        assert all(word.lower() in message for word in route["words"])


@pytest.mark.parametrize("budget", [1, 20, 60, 90, 130, 400])
@pytest.mark.parametrize("key", ["agent:main:main", GROUP_KEY])
def test_explain_never_costs_more_than_the_budget(grouped: Terminal, budget: int, key: str) -> None:
    table = "| scenario | file |\n|---|---|\n| incidents | attention.md |\n"
    for path in ("memory/main/index.md", "memory/groups/alpha.md"):
        grouped.made.write(path, f"---\nmemory_budget: {budget}\n---\n# Index\n{table}" + "words 更多的内容 🙂\n" * 300)
    for path in ("memory/main/attention.md", "memory/groups/alpha/attention.md"):
        grouped.made.write(path, "# Attention\n" + "incident 事故\n" * 500)
    said = grouped("explain", "--json", "--session", key, "--message", "incidents").json
    assert said["budget"] == budget
    assert said["tokens"] <= budget


def test_explain_writes_nothing_but_the_token_cache(grouped: Terminal) -> None:
    before = grouped.tree()
    for key in ("agent:main:main", GROUP_KEY, "agent:main:cron:x"):
        assert grouped("explain", "--session", key, "--message", "current tasks").code == 0
    assert grouped.tree() == before
    assert not (grouped.made.root / ".apm").exists()


def test_explain_shows_the_trace_to_a_person(grouped: Terminal) -> None:
    said = grouped("explain", "--message", "current tasks", "--host", "claude-code")
    lines = said.out.splitlines()
    assert lines[0].startswith("scope   DM  (")
    assert any(line.split()[:2] == ["layer", "0"] and "memory/main/index.md" in line for line in lines)
    assert any(line.startswith("route   attention.md  (words: ") for line in lines)
    assert lines[-1].startswith("tokens  ")
    refused = grouped("explain", "--session", "agent:main:telegram:group:-1").out
    assert "remedy  apm-hooks group add NAME --id -1" in refused


def test_explain_keeps_the_hosts_cap_too(grouped: Terminal) -> None:
    grouped.made.write("memory/main/attention.md", "# Attention\n" + "words and more words\n" * 1500)
    free = grouped("explain", "--json").json["tokens"]
    assert grouped("explain", "--json", "--host", "claude-code").json["tokens"] < free


def test_explain_goes_on_where_an_index_cannot_be_read(grouped: Terminal) -> None:
    index = grouped.made.root / "memory/main/index.md"
    index.unlink()
    index.symlink_to("longterm.md")
    said = grouped("explain", "--json", "--message", "current tasks")
    assert (said.code, said.json["route"]) == (0, None)
    refused = [step for step in said.json["steps"] if step["verdict"] == "refused"]
    assert refused[0]["file"] == "memory/main/index.md"
    assert refused[0]["reason"] == "is a symbolic link"


@pytest.mark.parametrize("other", ["agent:main:main", "agent:main:telegram:group:-1", ""])
@pytest.mark.parametrize("command", [("explain",), ("group", "list")], ids=" ".join)
def test_a_session_cannot_name_another(grouped: Terminal, command: tuple[str, ...], other: str) -> None:
    grouped.session(GROUP_KEY)
    said = grouped(*command, "--session", other, "--json")
    assert (said.code, said.json["error"]["code"]) == (4, "scope")
    assert "ship the parser" not in said.out + said.err


def test_a_session_is_bound_also_where_it_has_no_scope(grouped: Terminal) -> None:
    grouped.session("")
    assert grouped("explain", "--session", "agent:main:main").code == 4
    assert grouped("explain", "--json").json["scope"] is None


def test_the_session_option_wins_over_the_environment_for_the_owner(grouped: Terminal) -> None:
    grouped.session("agent:main:main")
    assert grouped("explain", "--session", GROUP_KEY, "--json").json["scope"] == "Group(alpha)"
    grouped.session(GROUP_KEY)
    assert grouped("explain", "--json").json["scope"] == "Group(alpha)"


def test_install_is_idempotent_and_uninstall_takes_it_back(apm: Terminal) -> None:
    before = apm.hosts_files()
    planned = apm("install", "claude-code", "--dry-run", "--json").json
    assert planned["dry_run"] is True
    assert apm.hosts_files() == before
    done = apm("install", "claude-code", "--json").json
    assert done["changes"] == planned["changes"]
    assert {change["action"] for change in done["changes"]} == {"create"}
    assert set(done) == {"dry_run", "changes", "notes", "offers"}
    installed = apm.hosts_files()
    again = apm("install", "claude-code", "--json").json
    assert again["changes"] == []
    assert apm.hosts_files() == installed
    assert "would change" in apm("uninstall", "claude-code", "--dry-run").out
    assert apm.hosts_files() == installed
    apm("uninstall", "claude-code")
    assert apm.hosts_files() == before
    assert apm("uninstall", "claude-code", "--json").json["changes"] == []


def test_install_offers_what_it_does_not_do_unasked(apm: Terminal) -> None:
    apm.made.write("AGENTS.md", "# Agents\n")
    said = apm("install", "claude-code")
    assert "offer    " in said.out
    assert "--link-agents" in said.out
    assert not (apm.made.root / "CLAUDE.md").exists()
    linked = apm("install", "claude-code", "--link-agents", "--json").json
    assert linked["offers"] == []
    assert [Path(change["path"]).name for change in linked["changes"]] == ["CLAUDE.md"]
    assert "@AGENTS.md" in (apm.made.root / "CLAUDE.md").read_text()


def test_install_warns_where_groups_would_see_the_hosts_own_notes(grouped: Terminal) -> None:
    said = grouped("install", "claude-code", "--dry-run")
    assert "apm-hooks: the host keeps notes of its own" in said.err
    assert "WARNING" not in said.out + said.err


def test_install_for_a_project_that_is_no_workspace_takes_the_current_folder(fresh: Terminal) -> None:
    said = fresh("install", "claude-code", "--scope", "project", "--json").json
    assert {str(Path(change["path"]).parent) for change in said["changes"]} == {
        f"{fresh.made.root}/.claude", f"{fresh.made.root}/.claude/commands",
    }  # fmt: skip


def test_install_leaves_settings_that_it_cannot_read(apm: Terminal) -> None:
    file = apm.made.home / ".claude/settings.json"
    file.parent.mkdir()
    file.write_text('{\n  "hooks": [\n}')
    said = apm("install", "claude-code")
    assert (said.code, said.out) == (3, "")
    assert said.err.startswith(f"apm-hooks: {file}:3: ")
    assert file.read_text() == '{\n  "hooks": [\n}'


def test_hook_command_prints_the_line_that_install_writes(apm: Terminal) -> None:
    assert apm("hook-command", "--host", "claude-code").out == hook_line("claude-code") + "\n"
    said = apm("hook-command", "--host", "claude-code", "--json").json
    assert said == {"host": "claude-code", "command": hook_line("claude-code")}
    apm("install", "claude-code")
    settings = json.loads((apm.made.home / ".claude/settings.json").read_text())
    assert hook_line("claude-code") in {
        hook["command"] for groups in settings["hooks"].values() for group in groups for hook in group["hooks"]
    }


def test_the_parsed_hook_passes_its_options_on(apm: Terminal) -> None:
    seen: list[list[str]] = []
    apm.monkeypatch.setattr(start, "main", lambda: seen.append(sys.argv[1:]))
    apm.monkeypatch.setattr(sys, "argv", ["apm-hooks"])
    apm("hook", "--host", "claude-code", "--workspace", "/w", "--session", "")
    apm("hook", "--host", "claude-code")
    assert seen == [["--host", "claude-code", "--workspace", "/w", "--session", ""], ["--host", "claude-code"]]


@pytest.mark.parametrize("line", ["<&-", ">&- </dev/null", "--workspace </dev/null", "--host other </dev/null"])
def test_the_hook_command_always_exits_with_0(made: Bench, line: str) -> None:
    said = shell(made, f'"$APM" hook --host claude-code {line}')
    assert said.code == 0
    assert said.err.startswith("apm-hooks: ")
    assert "Traceback" not in said.err


def test_the_hook_command_takes_workspace_and_session(grouped: Terminal) -> None:
    made = grouped.made
    data = json.dumps({"hook_event_name": "SessionStart", "source": "startup", "session_id": "x", "cwd": "/"})
    line = f'printf %s "$DATA" | "$APM" hook --host claude-code --workspace "$ROOT" --session {GROUP_KEY}'
    said = shell(made, line, DATA=data, ROOT=str(made.root))
    assert "# Alpha" in said.json["hookSpecificOutput"]["additionalContext"]


def test_the_option_wins_over_the_variable_and_that_over_the_folder_above(apm: Terminal, tmp_path: Path) -> None:
    for name in ("option", "variable", "above/below"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("option", "variable", "above"):
        (tmp_path / name / "apm.toml").write_text("")
    apm.monkeypatch.chdir(tmp_path / "above/below")
    assert apm("trust", "--show", "--json").json["workspace"] == str(tmp_path / "above")
    apm.monkeypatch.setenv("APM_WORKSPACE", str(tmp_path / "variable"))
    assert apm("trust", "--show", "--json").json["workspace"] == str(tmp_path / "variable")
    found = apm("trust", "--show", "--workspace", "../../option", "--json").json["workspace"]
    assert found == str(tmp_path / "option")


def test_no_workspace_anywhere_is_a_usage_error(apm: Terminal) -> None:
    apm.monkeypatch.chdir(apm.made.home)
    for command in ("trust", "explain", "group list", "group add x --id 1"):
        said = apm(*command.split())
        assert (said.code, said.out) == (2, "")
        assert "apm-hooks init" in said.err


SPEAKING = [
    ("init",),
    ("trust",),
    ("trust", "--show"),
    ("group", "add", "beta", "--id", "-1"),
    ("group", "list"),
    ("install", "claude-code"),
    ("uninstall", "claude-code"),
    ("hook-command", "--host", "claude-code"),
    ("explain",),
    ("explain", "--message", "current tasks"),
]


@pytest.mark.parametrize("command", SPEAKING, ids=" ".join)
def test_json_is_one_document_and_nothing_else(grouped: Terminal, command: tuple[str, ...]) -> None:
    said = grouped(*command, "--json")
    assert said.code == 0
    assert "error" not in said.json


def test_json_may_stand_before_or_behind_the_verb(grouped: Terminal) -> None:
    for command in (("group", "--json", "list"), ("group", "list", "--json")):
        assert len(grouped(*command).json["groups"]) == 2
    root = str(grouped.made.root)
    grouped.monkeypatch.chdir(grouped.made.home)
    assert len(grouped("group", "--workspace", root, "list", "--json").json["groups"]) == 2
    assert len(grouped("group", "list", "--workspace", root, "--json").json["groups"]) == 2


FAILING = [
    (("no-such-command",), 2, "usage"),
    ((), 2, "usage"),
    (("explain", "--no-such-option"), 2, "usage"),
    (("explain", "--mess", "x"), 2, "usage"),
    (("group",), 2, "usage"),
    (("group", "add", "x"), 2, "usage"),
    (("install", "no-such-host"), 2, "usage"),
    (("hook-command",), 2, "usage"),
    (("explain", "--workspace", "/"), 4, "not-trusted"),
    (("group", "add", "..", "--id", "1"), 3, "name-refused"),
    (("group", "add", "beta", "--id", "-100777"), 3, "settings"),
]


@pytest.mark.parametrize(("command", "code", "word"), FAILING, ids=[" ".join(case[0]) or "nothing" for case in FAILING])
def test_an_error_is_one_line_and_with_json_one_document(
    grouped: Terminal, command: tuple[str, ...], code: int, word: str
) -> None:
    plain = grouped(*command)
    assert (plain.code, plain.out, plain.err.count("\n")) == (code, "", 1)
    assert plain.err.startswith("apm-hooks: ")
    said = grouped(*command, "--json")
    assert (said.code, said.err) == (code, plain.err)
    assert set(said.json) == {"error"}
    assert set(said.json["error"]) == {"code", "cause", "file", "line", "key", "remedy"}
    assert said.json["error"]["code"] == word


def test_an_error_names_file_line_cause_and_remedy(apm: Terminal) -> None:
    apm.made.settings("\nowner_peer = ['77']\n")
    said = apm("explain")
    assert said.code == 3
    assert said.err == (
        f"apm-hooks: {apm.made.root}/apm.toml:2 [owner_peer]: is no setting. Did you mean owner_peers?\n"
    )
    error = apm("explain", "--json").json["error"]
    assert (error["file"], error["line"], error["key"]) == (f"{apm.made.root}/apm.toml", 2, "owner_peer")


def test_what_hides_in_a_file_is_spelt_out_in_an_error(apm: Terminal) -> None:
    apm.made.settings('"\\u001b[2J\\u202e" = 1\n')
    assert "[<U+001B>[2J<U+202E>]" in apm("trust").err


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Every command's parser, those of the verbs too, by what one types."""
    found: dict[str, argparse.ArgumentParser] = {}

    def walk(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> None:
        found[" ".join(words)] = parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for word, inner in action.choices.items():
                    walk(inner, (*words, word))

    walk(parser.build(), ())
    return found


@pytest.mark.parametrize("command", sorted(parsers()), ids=lambda command: command or "nothing")
def test_help_exits_with_0_and_names_every_option(apm: Terminal, command: str) -> None:
    said = apm(*command.split(), "--help")
    assert (said.code, said.err) == (0, "")
    shown = [option for action in parsers()[command]._actions if action.help != argparse.SUPPRESS
             for option in action.option_strings]  # fmt: skip
    assert "--help" in shown
    assert all(option in said.out for option in shown)
    assert said.out.startswith(f"usage: {' '.join(['apm-hooks', *command.split()])}")


def test_version_exits_with_0(apm: Terminal) -> None:
    said = apm("--version")
    assert said.code == 0
    assert said.out.startswith("apm-hooks ")


@pytest.mark.parametrize(
    ("line", "code"),
    [("--help", 0), ("explain", 0), ("explain --json", 0), ("group list --json --no-such-option", 2)],
)
def test_a_reader_that_closes_early_is_no_error(made: Bench, line: str, code: int) -> None:
    said = shell(made, f'{{ "$APM" {line}; echo $? >&2; }} | :')
    assert said.err.splitlines()[-1] == str(code)
    assert "Traceback" not in said.err
    assert "BrokenPipe" not in said.err


def test_an_output_that_takes_nothing_is_one_line(made: Bench) -> None:
    said = shell(made, '"$APM" explain --json >/dev/full')
    assert (said.code, said.err) == (1, "apm-hooks: the output: No space left on device\n")


def test_a_folder_that_is_gone_is_one_line(made: Bench) -> None:
    said = shell(made, 'mkdir gone && cd gone && rmdir ../gone && "$APM" explain')
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "the current folder" in said.err


def test_a_terminal_that_cannot_show_a_name_shows_an_escape(grouped: Terminal) -> None:
    said = shell(grouped.made, '"$APM" group list && "$APM" group list --json', PYTHONIOENCODING="ascii")
    assert (said.code, said.err) == (0, "")
    plain, _, document = said.out.partition("{")
    assert "\\u7814\\u53d1\\u7fa4" in plain
    assert json.loads("{" + document)["groups"][1]["name"] == "研发群"


def test_a_folder_whose_name_is_no_text_can_be_a_workspace(fresh: Terminal) -> None:
    odd = os.fsdecode(bytes(fresh.made.root) + b"/\xff")
    said = shell(fresh.made, '"$APM" init --workspace "$ODD" --json && "$APM" trust --workspace "$ODD"', ODD=odd)
    assert (said.code, said.err) == (0, "")
    assert json.loads(said.out.partition("}\n")[0] + "}")["workspace"] == odd


def test_the_scope_that_explain_prints_is_the_scopes_own_text() -> None:
    assert str(Scope(ScopeKind.GROUP, "研发群")) == "Group(研发群)"


def test_group_add_says_what_the_host_would_show_to_the_group(apm: Terminal) -> None:
    (apm.made.root / "CLAUDE.md").write_text("@MEMORY.md\n")
    (apm.made.root / "MEMORY.md").write_text("private\n")
    assert apm("group", "add", "alpha", "--id", "-100777").err == ""
    apm("install", "claude-code")
    said = apm("group", "add", "beta", "--id", "-100888")
    assert said.code == 0
    assert "MEMORY.md" in said.err
    assert "groups" in said.err
