"""A third-party package as its author writes it: built into a wheel, installed beside us, found by its entry point."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pluggy
import pytest

from apm_hooks import hookspecs, texts
from apm_hooks.events import Flushed, IntentQuery, SessionStart
from apm_hooks.places import places
from apm_hooks.records import DM, ChatType, HostEvent, Route, Scope, ScopeKind
from apm_hooks.session import parse_session_key
from apm_hooks.testing import TemporaryWorkspace

SOURCE = Path(__file__).parent / "example_plugin"
COMMAND = Path(sys.prefix) / "bin" / "apm-hooks"
TEMPLATE = Path(__file__).parents[1] / "docs" / "templates" / "plugin"
KEY = "agent:main:pager:room/ops"
OPS = Scope(ScopeKind.GROUP, "ops")
INDEX = """# Ops

| scenario | file | priority |
|---|---|---|
| current tasks | attention.md | P0 |
| database, runbook | project.md | P1 |
"""


def install(source: Path, folder: Path) -> Path:
    """Build a package and install it into a folder; nothing is fetched, and the source stays as it is."""
    command = [
        sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-build-isolation", "--no-compile",
        "--quiet", "--disable-pip-version-check", "--target", str(folder), str(source),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as pip installs it."""
    return install(SOURCE, tmp_path_factory.mktemp("installed"))


@pytest.fixture
def plugin(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The plugin's module, by its entry point."""
    monkeypatch.syspath_prepend(installed)
    distribution = next(iter(importlib.metadata.distributions(name="apm-hooks-example", path=[str(installed)])))
    (entry,) = distribution.entry_points.select(group=hookspecs.PROJECT)
    module = entry.load()
    assert Path(module.__file__).is_relative_to(installed)
    yield module
    sys.modules.pop(module.__name__)


def test_the_package_says_what_it_is(installed: Path) -> None:
    distribution = next(iter(importlib.metadata.distributions(name="apm-hooks-example", path=[str(installed)])))
    (entry,) = distribution.entry_points
    assert (entry.group, entry.name, entry.value) == ("apm_hooks", "pager", "apm_hooks_example")
    assert distribution.requires == ["apm-hooks"]
    assert (installed / "apm_hooks_example/py.typed").is_file()


def test_all_its_hooks_are_hooks_of_ours(plugin: ModuleType) -> None:
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(plugin, "pager")
    manager.check_pending()
    callers = manager.get_hookcallers(plugin)
    assert callers is not None
    assert {caller.name for caller in callers} == {
        "apm_parse_session_key", "apm_match_intent", "apm_session_start", "apm_flushed", "apm_audit_rules",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("key", "room", "thread"),
    [
        (KEY, "ops", ""),
        (f"{KEY}/7", "ops", "7"),
        (f"{KEY}/x", None, ""),
        (f"{KEY}:direct:77", None, ""),
        ("agent:main:pager:room/", None, ""),
        ("agent:main:main", None, ""),
    ],
)
def test_it_knows_its_channels_keys_and_no_others(plugin: ModuleType, key: str, room: str | None, thread: str) -> None:
    parsed = plugin.apm_parse_session_key(key)
    if room is None:
        assert parsed is None
        return
    assert parse_session_key(key).chat is ChatType.UNKNOWN
    assert (parsed.chat, parsed.channel, parsed.id, parsed.thread) == (ChatType.GROUP, "pager", room, thread)
    assert not parsed.owner


@pytest.mark.parametrize(
    ("text", "exclude", "path"),
    [
        ("#database is slow", set(), "project.md"),
        ("the #Runbook?", set(), "project.md"),
        ("database is slow", set(), None),
        ("#database", {"project.md"}, None),
        ("#old #current", set(), None),
    ],
)
def test_a_topic_names_a_row(plugin: ModuleType, text: str, exclude: set[str], path: str | None) -> None:
    routes = (
        Route(("old",), "old.md", 1, deprecated=True),
        Route(("database",), "conventions/db.md", 2, sub_file=True),
        Route(("Database", "runbook"), "project.md", 1),
    )
    match = plugin.apm_match_intent(IntentQuery(text, routes, frozenset(exclude)))
    assert (match.route.path if match else None) == path
    sub = plugin.apm_match_intent(IntentQuery("#database", routes, sub_files=True))
    assert sub.route.path == "conventions/db.md"


def test_only_groups_are_told_who_is_on_call(plugin: ModuleType) -> None:
    host = HostEvent("test", "s1")
    answers = [plugin.apm_session_start(SessionStart(host, scope, "/ws", 100, len)) for scope in (OPS, DM, None)]
    assert [answer and answer.fragments[0].layer for answer in answers] == ["on-call", None, None]


def test_the_trail_is_written_where_the_variable_says(
    plugin: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    event = Flushed(HostEvent("test", "s1"), OPS, "/ws", "remem", "written", ("memory/groups/ops.md",))
    monkeypatch.delenv(plugin.TRAIL, raising=False)
    plugin.apm_flushed(event)
    monkeypatch.setenv(plugin.TRAIL, str(tmp_path / "trail"))
    plugin.apm_flushed(event)
    assert (tmp_path / "trail").read_text() == "remem written 1\n"


def test_the_audit_rule_finds_numbers_by_line(plugin: ModuleType) -> None:
    (rule,) = plugin.apm_audit_rules()
    found = rule.check("memory/groups/ops.md", "# Ops\n\ncall +49 170 1234567\nsee #12, 2026-01-01\n")
    assert (rule.name, [line for line, _ in found]) == ("phone-number", [3])


@pytest.fixture(scope="module")
def python(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has us and the package; in it, they are found without any variable."""
    folder = tmp_path_factory.mktemp("environment")
    made = subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    assert made.returncode == 0
    packages = next(folder.glob("lib/python*/site-packages"))
    ours = [str(Path(path)) for path in site.getsitepackages() if Path(path).is_dir()]
    (packages / "all.pth").write_text(
        "".join(f"import site; site.addsitedir({path!r})\n" for path in [*ours, str(installed)]), encoding="utf-8"
    )
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def line(python: Path) -> str:
    """The line that the installer writes into the settings of Claude Code."""
    command: list[str | Path] = [python, COMMAND, "hook-command", "--host", "claude-code"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert str(python) in printed
    return printed.strip()


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder for all workspaces of this file: a tokenizer's ranks take a while to be put into a new one."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def workspace(cache: Path) -> Iterator[TemporaryWorkspace]:
    with TemporaryWorkspace(groups={"ops": {"name": "ops", "channel": "pager"}}) as made:
        made.env["XDG_CACHE_HOME"] = str(cache)
        made.write("memory/groups/ops.md", INDEX)
        made.write("memory/groups/ops/project.md", "# Project\n\nrestart the replica first\n")
        yield made


def run(
    made: TemporaryWorkspace, command: list[str | Path], *, data: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, input=data, cwd=made.root, env={**made.env, **env}, capture_output=True, text=True,
                          check=False, timeout=60)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done


def apm_hooks(made: TemporaryWorkspace, python: Path, *arguments: str, **env: str) -> str:
    """What the real command prints."""
    return run(made, [python, COMMAND, *arguments], **env).stdout


def started(made: TemporaryWorkspace, line: str, key: str | None = KEY, **env: str) -> str:
    """What a session of Claude Code is given at its start."""
    payload = {"session_id": "s1", "cwd": str(made.root), "hook_event_name": "SessionStart", "source": "startup"}
    bound = env if key is None else {"APM_SESSION": key, **env}
    printed = run(made, ["sh", "-c", line], data=json.dumps(payload), **bound).stdout
    text: str = json.loads(printed)["hookSpecificOutput"]["additionalContext"]
    return text


def test_the_real_command_lists_it(workspace: TemporaryWorkspace, python: Path) -> None:
    plugins = json.loads(apm_hooks(workspace, python, "plugins", "--json"))["plugins"]
    (pager,) = (plugin for plugin in plugins if plugin["name"] == "pager")
    assert (pager["origin"], pager["version"], pager["state"]) == ("apm-hooks-example", "1.0", "active")
    assert set(pager["hooks"]) == {
        "apm_parse_session_key", "apm_match_intent", "apm_session_start", "apm_flushed", "apm_audit_rules",
    }  # fmt: skip


def test_the_real_command_routes_by_it(workspace: TemporaryWorkspace, python: Path) -> None:
    shown = json.loads(
        apm_hooks(workspace, python, "explain", "--session", KEY, "--message", "#runbook, please", "--json")
    )
    assert (shown["scope"], shown["route"]["file"], shown["route"]["words"]) == (
        "Group(ops)",
        "project.md",
        ["runbook"],
    )
    assert any(step["file"] == "memory/groups/ops/project.md" for step in shown["steps"] if step["verdict"] == "loaded")


def test_a_session_of_its_channel_has_its_groups_memory_and_its_line(workspace: TemporaryWorkspace, line: str) -> None:
    for _ in range(2):
        text = started(workspace, line)
        assert "# Ops" in text
        assert "answers are read aloud" in text
        assert 'path="plugin:pager/on-call"' in text
        assert "ship the parser" not in text
    assert "answers are read aloud" not in started(workspace, line, key=None)
    assert workspace.log() == ()


@pytest.mark.parametrize(
    ("env", "personal"),
    [
        ({"APM_DISABLE_PLUGINS": "1"}, ""),
        ({"APM_BLOCK_PLUGINS": "pager"}, ""),
        ({"APM_ALLOW_PLUGINS": "another"}, ""),
        ({}, 'plugins_block = ["pager"]\n'),
    ],
)
def test_without_it_its_channel_has_no_memory(
    workspace: TemporaryWorkspace, line: str, env: dict[str, str], personal: str
) -> None:
    (Path(places(workspace.env).config) / "config.toml").write_text(personal, encoding="utf-8")
    assert started(workspace, line, **env) == texts.NO_MEMORY


def test_it_can_be_uninstalled_and_installed_between_two_sessions(
    workspace: TemporaryWorkspace, line: str, installed: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        assert "# Ops" in started(workspace, line)
        files = [path for path in installed.iterdir() if path.name.startswith("apm_hooks_example")]
        for path in files:
            shutil.move(path, tmp_path / path.name)
        try:
            assert started(workspace, line) == texts.NO_MEMORY
        finally:
            for path in files:
                shutil.move(tmp_path / path.name, path)


def test_every_flush_is_in_the_trail(workspace: TemporaryWorkspace, python: Path, tmp_path: Path) -> None:
    script = (
        "import os, sys; from apm_hooks import HostEvent, Runtime; runtime = Runtime(sys.argv[1], os.environ)\n"
        f"event = HostEvent('test', 's1', session_key={KEY!r})\n"
        "for trigger in ('remem', 'pre-compaction', 'idle'):\n"
        "    runtime.message_received(event)\n"
        "    runtime.flush(event, trigger)\n"
        "    runtime.turn_ended(event)\n"
    )
    trail = tmp_path / "trail"
    run(workspace, [python, "-c", script, workspace.root], PAGER_FLUSH_TRAIL=str(trail))
    assert [line.rpartition(" ")[0] for line in trail.read_text().splitlines()] == [
        "remem issued", "remem unwritten", "pre-compaction issued", "pre-compaction unwritten", "idle unwritten",
    ]  # fmt: skip


def test_the_template_passes_its_own_tests(tmp_path: Path) -> None:
    folder = install(TEMPLATE, tmp_path / "installed")
    shutil.copytree(TEMPLATE / "tests", tmp_path / "tests")
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout
    assert "7 passed" in done.stdout
