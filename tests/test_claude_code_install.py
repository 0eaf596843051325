from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import apm_hooks
from apm_hooks.errors import SettingsError, UsageError
from apm_hooks.hosts import claude_code_install as installer
from apm_hooks.hosts.claude_code_hooks import EVENTS, is_ours, with_hooks, without_hooks
from apm_hooks.hosts.claude_code_imports import imports
from apm_hooks.hosts.claude_code_install import Plan, apply_plan, hook_line, plan_install, plan_uninstall
from apm_hooks.records import Limits
from tests.test_jsonedit import KEYS, VALUES, spelled

LINE = "'/opt/python' -I -S '/opt/lib/apm_hooks/start.py' --host claude-code"
OLD_LINE = "'/old one/python3' -I '/old one/apm_hooks/start.py' --host claude-code"
THEIRS = {"type": "command", "command": "echo apm-hooks; cat /opt/lib/apm_hooks/start.py"}
ENTRY = {"type": "command", "command": LINE, "timeout": 10}
INSTALLED: dict[str, Any] = {
    "SessionStart": [{"matcher": "startup|resume|clear|compact|fork", "hooks": [ENTRY]}],
    "SubagentStart": [{"hooks": [ENTRY]}],
    **{event: [{"hooks": [ENTRY]}] for event in ("UserPromptSubmit", "PreToolUse", "PreCompact", "PostCompact",
                                                 "Stop", "StopFailure", "SessionEnd")},
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a settings file of the user's own."""
    write(tmp_path / "home/.claude/settings.json", '{\n    "model": "opus"\n}')
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def install(home: Path, project: Path, scope: str = "user", **more: Any) -> Plan:
    plan = plan_install(scope=scope, home=str(home), project=str(project), line=more.pop("line", LINE), **more)
    apply_plan(plan)
    return plan


def uninstall(home: Path, project: Path, scope: str = "user") -> Plan:
    plan = plan_uninstall(scope=scope, home=str(home), project=str(project))
    apply_plan(plan)
    return plan


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(".apm-backup"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def hooks_of(path: Path) -> Any:
    return json.loads(path.read_text())["hooks"]


@pytest.mark.parametrize("folder", ["plain", "with blanks", 'it\'s "quoted"', "$HOME `id`", "größe-目录"])
def test_the_line_starts_our_file_whatever_the_path(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = "import json, sys; print(json.dumps([sys.executable, sys.flags.isolated, sys.flags.no_site, sys.argv]))"
    start = write(tmp_path / folder / "lib/apm_hooks/start.py", report)
    python = tmp_path / folder / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setattr(apm_hooks, "__file__", str(start.with_name("__init__.py")))
    monkeypatch.setattr(sys, "executable", str(python))
    line = hook_line()
    printed = subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=True, timeout=30).stdout
    assert json.loads(printed) == [str(python), 1, 1, [str(start), "--host", "claude-code"]]
    assert line.startswith("'")
    assert shlex.split(line)[3] == str(start)
    assert is_ours({"type": "command", "command": line})


def test_a_shim_gives_way_to_the_real_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shim = write(tmp_path / ".pyenv/shims/python", "#!/bin/sh\n")
    shim.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(shim))
    monkeypatch.setattr(sys, "_base_executable", "/bin/sh")
    assert shlex.split(hook_line())[0] == "/bin/sh"
    monkeypatch.setattr(sys, "_base_executable", str(shim))
    with pytest.raises(SettingsError, match="no Python interpreter"):
        hook_line()
    shim.unlink()
    shim.symlink_to("/bin/sh")
    assert shlex.split(hook_line())[0] == os.path.realpath("/bin/sh")


def test_no_line_without_an_interpreter_or_a_start_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apm_hooks, "__file__", str(tmp_path / "apm_hooks.zip/apm_hooks/__init__.py"))
    with pytest.raises(SettingsError, match="is not there"):
        hook_line()
    start = write(tmp_path / "\udcff/apm_hooks/start.py", "")
    monkeypatch.setattr(apm_hooks, "__file__", str(start.with_name("__init__.py")))
    with pytest.raises(SettingsError, match="not UTF-8"):
        hook_line()
    monkeypatch.undo()
    monkeypatch.setattr(sys, "executable", None)
    monkeypatch.delattr(sys, "_base_executable")
    with pytest.raises(SettingsError, match="no Python interpreter"):
        hook_line()


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        (LINE, True),
        (OLD_LINE, True),
        ("/usr/bin/python3 /x/apm_hooks/start.py --host=claude-code", True),
        ("APM_SESSION=main '/p' -IS '/x/apm_hooks/start.py' --workspace /w --host claude-code || true", True),
        ("'C:/py.exe' -I -S 'C:\\site\\apm_hooks\\start.py' --host claude-code", True),
        ("'/p' -I -S '/x/apm_hooks/start.py' --host codex", False),
        ("'/p' -I -S '/x/apm_hooks/start.py'", False),
        ("'/p' -I -S '/x/not_apm_hooks/start.py' --host claude-code", False),
        ("'/p' -I -S '/x/apm_hooks/start.py.old' --host claude-code", False),
        ("echo '/x/apm_hooks/start.py --host claude-code'", False),
        ("notify.sh && '/p' -I -S '/x/apm_hooks/start.py' --host claude-code", False),
        ("'/p' -c 'print(1)' '/x/apm_hooks/start.py' --host claude-code", False),
        ("apm-hooks hook --host claude-code", False),
        ("'/p' '/x/apm_hooks/start.py --host claude-code", False),
        ("", False),
        (None, False),
    ],
)
def test_is_ours(command: str | None, ours: bool) -> None:
    assert is_ours({"type": "command", "command": command}) is ours
    assert not is_ours({"type": "prompt", "command": command})
    assert not is_ours(command)


HOOKS = st.lists(st.fixed_dictionaries({"type": st.just("command"), "command": KEYS}), min_size=1, max_size=2)
GROUPS = st.lists(st.fixed_dictionaries({"hooks": HOOKS}, optional={"matcher": KEYS}), min_size=1, max_size=2)
EVENT_NAMES = st.sampled_from(["SessionStart", "SubagentStart", "Stop", "PreToolUse", "Notification"])
SETTINGS = st.fixed_dictionaries(
    {}, optional={"model": VALUES, "hooks": st.dictionaries(EVENT_NAMES, GROUPS, min_size=1), "env": VALUES}
)


@given(spelled(SETTINGS))
def test_install_and_uninstall_give_back_the_bytes(text: str) -> None:
    installed = with_hooks(text, LINE)
    document = json.loads(installed.removeprefix("\ufeff"))
    for event, matcher in EVENTS:
        group = {"hooks": [ENTRY]} if matcher is None else {"matcher": matcher, "hooks": [ENTRY]}
        assert document["hooks"][event][-1] == group
    assert with_hooks(installed, LINE) == installed
    assert without_hooks(installed) == text


@given(spelled(SETTINGS))
def test_an_upgrade_replaces_and_never_doubles(text: str) -> None:
    upgraded = with_hooks(with_hooks(text, OLD_LINE), LINE)
    assert upgraded == with_hooks(text, LINE)
    assert without_hooks(upgraded) == text


@pytest.mark.parametrize(
    ("hooks", "expected"),
    [
        ({}, INSTALLED),
        (
            {"SessionStart": [{"matcher": "startup", "hooks": [{**ENTRY, "command": OLD_LINE}, THEIRS]}]},
            {**INSTALLED, "SessionStart": [{"matcher": "startup", "hooks": [THEIRS]}, *INSTALLED["SessionStart"]]},
        ),
        (
            {"SessionStart": [*INSTALLED["SessionStart"], {"hooks": [ENTRY, ENTRY]}, {"hooks": [THEIRS]}]},
            {**INSTALLED, "SessionStart": [{"hooks": [THEIRS]}, *INSTALLED["SessionStart"]]},
        ),
        (
            {**INSTALLED, "Notification": [{"hooks": [ENTRY]}], "PostToolUse": [{"hooks": [THEIRS, ENTRY]}]},
            {**INSTALLED, "PostToolUse": [{"hooks": [THEIRS]}]},
        ),
        (
            {"Stop": [{"hooks": [THEIRS]}], "PreCompact": [{"matcher": "auto", "hooks": [THEIRS, ENTRY]}]},
            {**INSTALLED, "Stop": [{"hooks": [THEIRS]}, *INSTALLED["Stop"]],
             "PreCompact": [{"matcher": "auto", "hooks": [THEIRS]}, *INSTALLED["PreCompact"]]},
        ),
        (
            {"SubagentStart": [{"matcher": "*", "hooks": [THEIRS, {**ENTRY, "command": OLD_LINE, "timeout": 3}]}]},
            {**INSTALLED, "SubagentStart": [{"matcher": "*", "hooks": [THEIRS, ENTRY]}]},
        ),
        (
            {"SessionStart": ["odd", {"hooks": "odd"}, {"matcher": 1}], "Notification": "odd"},
            {**INSTALLED, "SessionStart": ["odd", {"hooks": "odd"}, {"matcher": 1}, *INSTALLED["SessionStart"]],
             "Notification": "odd"},
        ),
    ],
)  # fmt: skip
def test_what_was_there_becomes_exactly_one_entry_each(hooks: Any, expected: Any) -> None:
    text = json.dumps({"hooks": hooks})
    assert json.loads(with_hooks(text, LINE))["hooks"] == expected
    assert json.dumps(json.loads(without_hooks(text))).count("echo apm-hooks") == text.count("echo apm-hooks")
    assert LINE not in without_hooks(text)
    assert OLD_LINE not in without_hooks(text)


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        ('{"hooks": [\n]}', 1, "hooks must be an object"),
        ('{\n"hooks": {"SessionStart": {}}}', 2, "hooks.SessionStart must be a list"),
        ('{"hooks": {\n"Stop": "odd"}}', 2, "hooks.Stop must be a list"),
        ('{"hooks": {},\n"hooks": {}}', 2, "hooks stands twice"),
        ('{"a": 1,\n}', 2, "not valid JSON"),
    ],
)
def test_a_damaged_file_is_named_and_nothing_is_written(
    text: str, line: int, cause: str, home: Path, project: Path
) -> None:
    settings = write(home / ".claude/settings.json", text)
    before = tree(home)
    with pytest.raises(SettingsError, match=cause) as caught:
        install(home, project)
    assert (caught.value.file, caught.value.line) == (str(settings), line)
    assert caught.value.remedy
    assert tree(home) == before


@pytest.mark.parametrize("scope", ["user", "project"])
def test_install_twice_then_uninstall(scope: str, home: Path, project: Path) -> None:
    before = {**tree(home), **tree(project)}
    base = (home if scope == "user" else project) / ".claude"
    first = install(home, project, scope)
    assert {change.path for change in first.changes} == {
        str(base / "settings.json"),
        str(base / "commands/remem.md"),
    }
    assert hooks_of(base / "settings.json") == INSTALLED
    assert b"$ARGUMENTS" in (base / "commands/remem.md").read_bytes()
    second = install(home, project, scope)
    assert second.changes == ()
    assert installer.INSTALLED in second.notes
    assert uninstall(home, project, scope).changes
    assert {**tree(home), **tree(project)} == before
    assert installer.NOT_INSTALLED in uninstall(home, project, scope).notes


def test_planning_writes_nothing(home: Path, project: Path) -> None:
    before = tree(home)
    plan = plan_install(scope="user", home=str(home), project=str(project), line=LINE, link_agents=True)
    assert len(plan.changes) == 3
    assert tree(home) == before
    assert tree(project) == {}


def test_the_configuration_folder_can_be_elsewhere(home: Path, project: Path, tmp_path: Path) -> None:
    before = tree(home)
    install(home, project, config_dir=str(tmp_path / "config"))
    assert hooks_of(tmp_path / "config/settings.json") == INSTALLED
    assert (tmp_path / "config/commands/remem.md").exists()
    assert tree(home) == before


def test_the_default_line_is_the_running_one(home: Path, project: Path) -> None:
    plan = plan_install(scope="user", home=str(home), project=str(project))
    assert hook_line() in json.loads(plan.changes[0].after or b"")["hooks"]["SubagentStart"][0]["hooks"][0]["command"]


@pytest.mark.parametrize(("scope", "project"), [("system", "/p"), ("project", "")])
def test_a_scope_that_is_none_is_refused(scope: str, project: str) -> None:
    with pytest.raises(UsageError):
        plan_install(scope=scope, home="/h", project=project, line=LINE)


def test_the_bytes_before_the_last_change_are_kept_with_their_mode(home: Path, project: Path) -> None:
    settings = home / ".claude/settings.json"
    settings.chmod(0o640)
    original = settings.read_bytes()
    plan = install(home, project)
    backup = home / ".claude/settings.json.apm-backup"
    assert backup.read_bytes() == original
    assert installer.KEPT in plan.notes
    installed = settings.read_bytes()
    install(home, project, line=OLD_LINE)
    assert backup.read_bytes() == installed
    assert settings.stat().st_mode & 0o777 == backup.stat().st_mode & 0o777 == 0o640
    assert not [name for name in os.listdir(home / ".claude") if name.endswith(".apm-new")]


def test_a_link_is_followed_and_stays_a_link(home: Path, project: Path, tmp_path: Path) -> None:
    target = write(tmp_path / "dotfiles/claude.json", "{}\n")
    settings = home / ".claude/settings.json"
    settings.unlink()
    settings.symlink_to(target)
    install(home, project)
    assert settings.is_symlink()
    assert hooks_of(target) == INSTALLED
    uninstall(home, project)
    assert settings.is_symlink()
    assert target.read_bytes() == b"{}\n"


def test_a_back_up_never_goes_through_a_link(home: Path, project: Path, tmp_path: Path) -> None:
    precious = write(tmp_path / "precious", "keep me")
    write(project / ".claude/settings.json", "{}")
    (project / ".claude/settings.json.apm-backup").symlink_to(precious)
    install(home, project, "project")
    assert precious.read_text() == "keep me"
    assert (project / ".claude/settings.json.apm-backup").read_text() == "{}"


@pytest.mark.parametrize("name", [".claude/settings.json", ".claude/commands/remem.md", "CLAUDE.md"])
def test_a_project_cannot_send_us_out_of_itself(name: str, home: Path, project: Path, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", "{}" if name.endswith("json") else installer.REMEM_MARK)
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).symlink_to(outside)
    before = outside.read_bytes()
    with pytest.raises(SettingsError, match="leads out of the workspace"):
        install(home, project, "project", link_agents=True)
    assert outside.read_bytes() == before


@pytest.mark.parametrize("kind", ["folder", "loop", "nowhere", "bytes", "large"])
def test_what_is_no_settings_file_is_refused(
    kind: str, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = home / ".claude/settings.json"
    settings.unlink()
    if kind == "folder":
        settings.mkdir()
    elif kind == "bytes":
        settings.write_bytes(b'{"a": "\xff"}')
    elif kind == "large":
        monkeypatch.setattr("apm_hooks.hosts.installing.LIMITS", Limits(settings_bytes=10))
        settings.write_bytes(b'{"a": "0123456789"}')
    else:
        settings.symlink_to(settings if kind == "loop" else home / "gone")
    with pytest.raises(SettingsError) as caught:
        install(home, project)
    assert caught.value.file == str(settings)
    assert sorted(os.listdir(home / ".claude")) == ["settings.json"]


def test_a_file_that_changed_after_the_plan_is_left_alone(home: Path, project: Path) -> None:
    plan = plan_install(scope="user", home=str(home), project=str(project), line=LINE)
    settings = write(home / ".claude/settings.json", '{"model": "other"}')
    with pytest.raises(SettingsError, match="changed since"):
        apply_plan(plan)
    assert tree(home) == {".claude/settings.json": settings.read_bytes()}


def test_a_write_that_fails_is_named_and_leaves_the_file(
    home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = tree(home)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SettingsError, match="No space left"):
        install(home, project)
    assert tree(home) == before


def test_a_remem_command_of_the_users_own_stays(home: Path, project: Path) -> None:
    own = write(home / ".claude/commands/remem.md", "Remember: see `<!-- apm-hooks:remem -->`\n")
    plan = install(home, project)
    assert installer.OWN_REMEM.format(file=own) in plan.notes
    uninstall(home, project)
    assert own.read_text().startswith("Remember")


def test_an_older_remem_command_of_ours_is_replaced(home: Path, project: Path) -> None:
    own = write(home / ".claude/commands/remem.md", f"---\r\n---\r\n{installer.REMEM_MARK}\r\nold\r\n")
    install(home, project)
    assert b"old" not in own.read_bytes()
    assert (home / ".claude/commands/remem.md.apm-backup").read_bytes().endswith(b"old\r\n")


def test_a_file_that_we_made_goes_as_a_whole(home: Path, project: Path) -> None:
    install(home, project, "project", link_agents=True)
    assert sorted(tree(project)) == [".claude/commands/remem.md", ".claude/settings.json", "CLAUDE.md"]
    uninstall(home, project, "project")
    assert tree(project) == {}


def test_an_empty_file_that_was_there_stays(home: Path, project: Path) -> None:
    write(project / ".claude/settings.json", "{}\n")
    write(project / "CLAUDE.md", "")
    before = tree(project)
    install(home, project, "project", link_agents=True)
    uninstall(home, project, "project")
    assert tree(project) == before


def test_the_other_scope_is_told(home: Path, project: Path) -> None:
    install(home, project)
    settings = home / ".claude/settings.json"
    same = install(home, project, "project")
    assert installer.SAME.format(file=settings) in same.notes
    assert any("keep it out of version control" in note for note in same.notes)
    install(home, project, line=OLD_LINE)
    other = plan_install(scope="project", home=str(home), project=str(project), line=LINE)
    assert installer.TWICE.format(file=settings) in other.notes
    write(settings, "{ not json")
    assert not any(str(settings) in note for note in install(home, project, "project").notes)


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_hooks_that_are_switched_off_are_told(name: str, home: Path, project: Path) -> None:
    path = write(project / ".claude" / name, '\ufeff{"disableAllHooks": true}')
    assert installer.DISABLED.format(file=path) in install(home, project).notes


BLOCK = "<!-- apm-hooks:begin agents -->\n{}\n<!-- apm-hooks:end agents -->\n"


@pytest.mark.parametrize(
    ("claude", "more", "expected"),
    [
        (None, {}, BLOCK.format("@AGENTS.md")),
        (None, {"owner_only": True}, BLOCK.format("@AGENTS.md\n@MEMORY.md")),
        (None, {"owner_only": True, "has_groups": True}, BLOCK.format("@AGENTS.md")),
        ("# Mine\n", {}, "# Mine\n\n" + BLOCK.format("@AGENTS.md")),
        ("See @AGENTS.md first.\n", {}, "See @AGENTS.md first.\n"),
        ("@AGENTS.md\n", {"owner_only": True}, "@AGENTS.md\n\n" + BLOCK.format("@MEMORY.md")),
        ("@./MEMORY.md#top\n", {"owner_only": True}, "@./MEMORY.md#top\n\n" + BLOCK.format("@AGENTS.md")),
        ("`@AGENTS.md`\n", {}, "`@AGENTS.md`\n\n" + BLOCK.format("@AGENTS.md")),
        (BLOCK.format("@AGENTS.md\n@MEMORY.md") + "\nMine\n", {}, BLOCK.format("@AGENTS.md") + "\nMine\n"),
    ],
)
def test_the_block_brings_in_what_is_missing(
    claude: str | None, more: dict[str, Any], expected: str, home: Path, project: Path
) -> None:
    write(project / "AGENTS.md", "rules\n")
    write(project / "MEMORY.md", "facts\n")
    if claude is not None:
        write(project / "CLAUDE.md", claude)
    install(home, project, link_agents=True, **more)
    assert (project / "CLAUDE.md").read_text() == expected
    assert not install(home, project, link_agents=True, **more).changes


def test_the_block_is_offered_and_not_done_unasked(home: Path, project: Path) -> None:
    assert install(home, project).offers == ()
    write(project / "AGENTS.md", "rules\n")
    write(project / "MEMORY.md", "facts\n")
    assert "does not bring in AGENTS.md:" in " ".join(install(home, project).offers)
    assert "AGENTS.md and MEMORY.md" in " ".join(install(home, project, owner_only=True).offers)
    assert not (project / "CLAUDE.md").exists()
    install(home, project, link_agents=True)
    assert install(home, project).offers == ()


def test_an_agents_file_that_brings_in_memory_needs_no_second_import(home: Path, project: Path) -> None:
    write(project / "AGENTS.md", "rules\n@MEMORY.md\n")
    write(project / "MEMORY.md", "facts\n")
    install(home, project, link_agents=True, owner_only=True)
    assert (project / "CLAUDE.md").read_text() == BLOCK.format("@AGENTS.md")


def test_a_claude_file_that_is_the_agents_file_gets_no_block(home: Path, project: Path) -> None:
    write(project / "AGENTS.md", "rules\n")
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    plan = install(home, project, link_agents=True, owner_only=True)
    assert plan.offers == ()
    assert (project / "AGENTS.md").read_text() == "rules\n"


def test_a_block_goes_with_the_last_scope(home: Path, project: Path) -> None:
    write(project / "CLAUDE.md", "# Mine")
    install(home, project, link_agents=True)
    install(home, project, "project")
    uninstall(home, project)
    assert "@AGENTS.md" in (project / "CLAUDE.md").read_text()
    uninstall(home, project, "project")
    assert (project / "CLAUDE.md").read_text() == "# Mine"


def test_a_block_shrinks_when_groups_come(home: Path, project: Path) -> None:
    install(home, project, link_agents=True, owner_only=True)
    plan = install(home, project, has_groups=True)
    assert (project / "CLAUDE.md").read_text() == BLOCK.format("@AGENTS.md")
    assert not any("MEMORY.md" in note for note in plan.notes)


def test_a_damaged_block_is_refused(home: Path, project: Path) -> None:
    write(project / "CLAUDE.md", "a\n<!-- apm-hooks:begin agents -->\n")
    for attempt in (install, uninstall):
        with pytest.raises(SettingsError, match="begins and does not end") as caught:
            attempt(home, project)
        assert caught.value.line == 2


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({"CLAUDE.md": "@MEMORY.md"}, ["MEMORY.md"]),
        ({"CLAUDE.md": "@AGENTS.md", "AGENTS.md": "*@./MEMORY.md*"}, ["MEMORY.md"]),
        ({"AGENTS.md": "- @memory/main/index.md"}, ["memory/main/index.md"]),
        ({"CLAUDE.local.md": "@docs/a.md", "docs/a.md": "@../MEMORY.md"}, ["MEMORY.md"]),
        ({".claude/CLAUDE.md": "@../MEMORY.md"}, ["MEMORY.md"]),
        ({".claude/rules/x/y.md": "@../../../MEMORY.md"}, ["MEMORY.md"]),
        ({"../CLAUDE.md": "@project/MEMORY.md"}, ["MEMORY.md"]),
        ({"../home/.claude/CLAUDE.md": "@~/../project/MEMORY.md"}, ["MEMORY.md"]),
        ({"CLAUDE.md": "@CLAUDE.md @gone.md @docs @MEM\0ORY.md"}, []),
        ({"CLAUDE.md": "`@MEMORY.md`\n<!-- @MEMORY.md -->\n```\n@MEMORY.md\n```\nme@MEMORY.md"}, []),
        ({"CLAUDE.md": "@other/memory/x.md", "other/memory/x.md": ""}, []),
    ],
)
def test_memory_that_every_group_would_see_is_told(
    files: dict[str, str], names: list[str], home: Path, project: Path
) -> None:
    write(project / "MEMORY.md", "facts\n")
    write(project / "memory/main/index.md", "index\n")
    (project / "docs").mkdir()
    for name, text in files.items():
        write(project / name, text)
    warnings = [note for note in install(home, project, has_groups=True).notes if " brings " in note]
    assert [note.split(" brings ")[1].split(" into ")[0] for note in warnings] == names
    assert not [note for note in install(home, project, owner_only=True).notes if " brings " in note]


@pytest.mark.parametrize(
    ("local", "shared", "user", "warned"),
    [
        (None, None, None, True),
        (None, None, False, False),
        (None, True, False, True),
        (False, True, True, False),
    ],
)
def test_the_hosts_own_memory_is_told_where_groups_are(
    local: bool | None, shared: bool | None, user: bool | None, warned: bool, home: Path, project: Path
) -> None:
    places = ((project / ".claude/settings.local.json", local), (project / ".claude/settings.json", shared),
              (home / ".claude/settings.json", user))  # fmt: skip
    for path, value in places:
        if value is not None:
            write(path, json.dumps({"autoMemoryEnabled": value}))
    told = [note for note in install(home, project, has_groups=True).notes if "autoMemoryEnabled" in note]
    assert bool(told) is warned
    assert not [note for note in install(home, project).notes if "autoMemoryEnabled" in note]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@a.md", ["a.md"]),
        ("see @a.md and @b.md, then", ["a.md", "b.md,"]),
        ("# @a.md\n> @b.md\n| @c.md |\n- *@d.md*", ["a.md", "b.md", "c.md", "d.md"]),
        ("@my\\ file.md", ["my file.md"]),
        ("x@a.md (@b.md) [l](@c.md)", []),
        ("`@a.md` use `<!--` here\n@b.md", ["b.md"]),
        ("<!-- @a.md\n@b.md\n--> @c.md", ["c.md"]),
        ("words <!-- @a.md --> @b.md <!-- @c.md", ["b.md"]),
        ("```md\n@a.md\n<!--\n```\n@b.md", ["b.md"]),
        ("~~~\n```\n@a.md", []),
        ("a `` ` `` @b.md", ["b.md"]),
    ],
)
def test_imports(text: str, names: list[str]) -> None:
    assert imports(text) == names


def test_the_remem_command_says_what_the_host_needs() -> None:
    text = Path(installer.__file__).parents[1].joinpath("templates/remem.claude-code.md").read_text()
    _, head, body = text.split("---\n", 2)
    assert {line.split(":")[0] for line in head.splitlines()} == {"description", "argument-hint"}
    assert body.splitlines()[0] == installer.REMEM_MARK
    for word in ('"$ARGUMENTS"', "MEMORY.md", "[DEPRECATED]", "experience.md", "longterm.md", "attention.md"):
        assert word in body
