"""The gate at work in a runtime: whose call it is, what its ledger says, what is noted and kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from apm_hooks import fastlane, gate_shut, ledger
from apm_hooks.cli import hook
from apm_hooks.events import Verdict
from apm_hooks.hookspecs import hookimpl
from apm_hooks.images import images_of
from apm_hooks.records import Scope, ScopeKind
from apm_hooks.runtime import Runtime
from tests.workspaces import GROUP_KEY, Bench, bench, event, payload

ALPHA = Scope(ScopeKind.GROUP, "alpha")
INDEX = "memory/groups/alpha.md"
TABLE = (
    "# Alpha\n\n## Hard Rules\n\n- Never deploy on Fridays.\n\n| scenario | file | priority |\n|---|---|---|\n"
    "| tasks | attention.md | P0 |\n| facts | project.md | P1 |\n| lessons | experience.md | P2 |\n"
)


@pytest.fixture
def group(tmp_path: Path) -> Bench:
    made = bench(tmp_path)
    made.groups({"-100777": "alpha"})
    made.write(INDEX, TABLE)
    for name in ("attention", "project", "experience"):
        made.write(f"memory/groups/alpha/{name}.md", f"# {name}\n" + "one line of it\n" * 40)
    made.trust()
    return made


def call(runtime: Runtime, tool: str, path: str, key: str | None = GROUP_KEY, **more: Any) -> Verdict:
    arguments = {"file_path": f"{runtime.root}/{path}", **more.pop("given", {})}
    return runtime.tool_call(event(key, **more), tool, arguments, runtime.root)


def test_a_group_reaches_its_own_memory_alone_and_its_index_first(group: Bench) -> None:
    runtime = group.runtime()
    assert "memory/groups/alpha.md" in call(runtime, "Read", "memory/groups/alpha/attention.md").reason
    assert call(runtime, "Read", "memory/main/index.md").deny
    assert not call(runtime, "Read", "README.md").deny
    assert not call(runtime, "Read", INDEX).deny
    assert not call(runtime, "Read", "memory/groups/alpha/attention.md").deny


def test_what_the_loader_gave_counts_for_the_order_and_the_ceiling(group: Bench) -> None:
    runtime = group.runtime()
    runtime.session_start(event(GROUP_KEY))
    for name, denied in (("attention", False), ("project", False), ("experience", True), ("attention", False)):
        verdict = call(runtime, "Read", f"memory/groups/alpha/{name}.md")
        assert verdict.deny is denied, name
    assert "apm-hooks write" in call(runtime, "Read", "memory/groups/alpha/experience.md").reason
    name = fastlane.session_name("claude-code", "s1", GROUP_KEY)
    loaded = dict(ledger.read_epoch(str(group.root), name).files)
    assert set(loaded) == {INDEX, "memory/groups/alpha/attention.md", "memory/groups/alpha/project.md"}
    runtime.session_start(event(GROUP_KEY))
    assert not call(runtime, "Read", "memory/groups/alpha/experience.md").deny, "a new epoch counts anew"


def test_where_a_read_cannot_be_noted_a_group_gets_none_and_the_owner_goes_on(group: Bench) -> None:
    runtime = group.runtime()
    runtime.session_start(event(GROUP_KEY))
    runtime.session_start(event())
    for file in (group.root / ".apm/ledger").iterdir():
        text = file.read_bytes()
        file.unlink()
        file.mkdir()
        (file / "was").write_bytes(text)
    assert call(runtime, "Read", INDEX).deny
    assert not call(runtime, "Read", "memory/main/index.md", None).deny


def test_a_subagent_is_judged_by_its_parents_session(group: Bench) -> None:
    runtime = group.runtime()
    runtime.session_start(event(GROUP_KEY))
    assert not call(runtime, "Read", "memory/groups/alpha/attention.md", subagent=True).deny
    assert call(runtime, "Read", "memory/main/index.md", subagent=True).deny
    assert call(runtime, "Read", INDEX, "agent:main:subagent:9f").deny


def test_while_a_flush_is_open_reads_of_the_own_scope_are_free(group: Bench) -> None:
    runtime = group.runtime()
    runtime.flush(event(GROUP_KEY), "remem")
    for name in ("attention", "project", "experience"):
        assert not call(runtime, "Read", f"memory/groups/alpha/{name}.md").deny
    runtime.turn_ended(event(GROUP_KEY))
    assert call(runtime, "Read", "memory/groups/alpha/attention.md").deny


def test_rules_and_rows_of_an_index_stay(group: Bench) -> None:
    runtime = group.runtime()
    runtime.session_start(event(GROUP_KEY))
    row = "| lessons | experience.md | P2 |"
    gone = call(runtime, "Edit", INDEX, given={"old_string": row + "\n", "new_string": ""})
    assert gone.deny
    assert "[DEPRECATED]" in gone.reason
    marked = {"old_string": row, "new_string": "| [DEPRECATED] lessons | experience.md | P2 |"}
    assert not call(runtime, "Edit", INDEX, given=marked).deny


def test_before_a_write_takes_most_of_a_file_away_a_copy_is_kept(group: Bench) -> None:
    runtime = group.runtime()
    runtime.flush(event(GROUP_KEY), "remem")
    path = "memory/groups/alpha/experience.md"
    group.write(path, before := "# experience\n" + "what came since the record\n" * 40)
    assert not call(runtime, "Write", path, given={"content": "# experience\n"}).deny
    newest = images_of(str(group.root), ALPHA, path)[0]
    assert newest.size == len(before)


def test_a_plugin_is_asked_only_what_the_protocol_does_not_deny(group: Bench) -> None:
    asked = []

    class Guard:
        @hookimpl
        def apm_guard_tool_call(self, event: Any) -> Verdict:
            asked.append(event.arguments["file_path"])
            return Verdict(True, "not today")

    runtime = Runtime(str(group.root), group.env, plugins={"guard": Guard()})
    assert call(runtime, "Read", "memory/main/index.md").reason != "not today"
    assert call(runtime, "Read", "README.md").reason == "not today"
    assert asked == [f"{group.root}/README.md"]


@pytest.mark.parametrize("bound", [True, False])
def test_a_call_that_cannot_be_judged_is_denied_in_a_conversation_that_has_a_name(group: Bench, *, bound: bool) -> None:
    group.settings("owner_peer = 1\n")
    given = {**payload(group), "hook_event_name": "PreToolUse", "tool_name": "Read",
             "tool_input": {"file_path": f"{group.root}/memory/main/index.md"}}  # fmt: skip
    env = {**group.env, **({"APM_SESSION": GROUP_KEY} if bound else {})}
    said = json.loads(hook.answer(["--host", "claude-code"], json.dumps(given).encode(), env))
    assert ("hookSpecificOutput" in said) is bound
    assert "owner_peer" in said["systemMessage"]


def prompted(made: Bench, prompt: str, key: str | None = GROUP_KEY) -> dict[str, Any]:
    given = {**payload(made), "hook_event_name": "UserPromptSubmit", "prompt": prompt}
    env = {**made.env, **({"APM_SESSION": key} if key is not None else {})}
    said: dict[str, Any] = json.loads(hook.answer(["--host", "claude-code"], json.dumps(given).encode(), env) or b"{}")
    return said


def test_a_prompt_that_pulls_in_what_is_not_theirs_is_refused(group: Bench) -> None:
    said = prompted(group, "look at @memory/main/index.md")
    assert said["decision"] == "block"
    assert "memory/main/index.md" in said["reason"]
    assert prompted(group, "look at @memory/main/index.md", None).get("decision") is None
    assert prompted(group, "/remem @memory/main/index.md")["decision"] == "block"
    assert prompted(group, "look at @memory/groups/alpha.md, me@example.org").get("decision") is None
    assert prompted(group, "look at @apm.toml", None)["decision"] == "block"


def test_a_refused_prompt_is_no_message_and_no_flush(group: Bench) -> None:
    prompted(group, "tasks @memory/main/index.md")
    prompted(group, "/remem @memory/main/index.md")
    assert not (group.root / "memory/groups/alpha/flush-state.json").exists()
    name = fastlane.session_name("claude-code", "s1", GROUP_KEY)
    assert ledger.read_epoch(str(group.root), name).files == ()


def test_a_mention_that_cannot_be_judged_is_refused_in_a_conversation_that_has_a_name(group: Bench) -> None:
    group.settings("owner_peer = 1\n")
    assert prompted(group, "look at @notes.md")["decision"] == "block"
    assert "decision" not in prompted(group, "look at this")
    assert "decision" not in prompted(group, "look at @notes.md", None)


@pytest.mark.parametrize(
    ("ceiling", "denied", "advised"),
    [("advise", [False] * 4, 1), ("enforce", [False, True, True, False], 0), ("off", [False] * 4, 0)],
)
def test_the_owners_ceiling_advises_enforces_or_is_off(
    group: Bench, ceiling: str, denied: list[bool], advised: int
) -> None:
    group.settings(f'dm_ceiling = "{ceiling}"\n')
    for name in ("longterm", "daily-synced", "projects/tides"):
        group.write(f"memory/main/{name}.md", "# A page\n")
    runtime = group.runtime()
    runtime.session_start(event())
    verdicts = [call(runtime, "Read", f"memory/main/{name}.md", None)
                for name in ("longterm", "daily-synced", "projects/tides", "longterm")]  # fmt: skip
    assert [verdict.deny for verdict in verdicts] == denied
    assert [bool(verdict.advice) for verdict in verdicts].count(True) == advised
    if advised:
        assert "attention.md, longterm.md" in verdicts[1].advice


def test_what_a_plugin_advises_is_not_passed_on(group: Bench) -> None:
    class Advises:
        @hookimpl
        def apm_guard_tool_call(self, event: Any) -> Verdict:
            return Verdict(False, advice="say this")

    runtime = Runtime(str(group.root), group.env, plugins={"advises": Advises()})
    assert call(runtime, "Read", "README.md") == Verdict(False)


@pytest.mark.parametrize("strict", [False, True])
def test_strict_denies_what_cannot_be_judged_in_the_owners_conversation_too(group: Bench, *, strict: bool) -> None:
    group.settings(f"gate_strict = {str(strict).lower()}\n")
    group.trust()
    command = {"command": "python3 -c \"open('.apm/x')\""}
    verdict = group.runtime().tool_call(event(), "Bash", command, str(group.root))
    assert verdict.deny is strict


@pytest.mark.parametrize(
    ("name", "bound", "denied"),
    [("PreToolUse", True, True), ("PreToolUse", False, False), ("UserPromptSubmit", True, True), ("Stop", True, False)],
)
def test_past_its_time_the_hook_denies_what_may_be_another_conversations(
    group: Bench, name: str, *, bound: bool, denied: bool
) -> None:
    given = {**payload(group), "hook_event_name": name, "tool_name": "Read", "prompt": "@memory/main/index.md",
             "tool_input": {"file_path": f"{group.root}/memory/main/index.md"}}  # fmt: skip
    env = {**group.env, **({"APM_SESSION": GROUP_KEY} if bound else {})}
    env["PYTHONPATH"] = str(Path(fastlane.__file__).parents[1])
    # The program stands still for ever in place of answering; what ends it is its own bound.
    program = (
        "import os, sys, threading; from dataclasses import replace; from apm_hooks.cli import hook; "
        "hook.LIMITS = replace(hook.LIMITS, hook_seconds=0.05); hook._answer = lambda *_: threading.Event().wait(); "
        "hook.answer(['--host', 'claude-code'], sys.stdin.buffer.read(), os.environ)"
    )
    done = subprocess.run([sys.executable, "-c", program], input=json.dumps(given).encode(), env=env,
                          capture_output=True, check=False, timeout=60)  # fmt: skip
    assert done.returncode == 0
    assert b"took longer" in done.stderr
    assert bool(done.stdout) is denied
    if denied:
        assert ("deny" if name == "PreToolUse" else "block") in str(json.loads(done.stdout))


@pytest.mark.parametrize("bound", [True, False])
def test_a_broken_installation_denies_the_calls_of_a_conversation_that_has_a_name(
    group: Bench, tmp_path: Path, *, bound: bool
) -> None:
    folder = tmp_path / "lib/apm_hooks"
    folder.mkdir(parents=True)
    start = Path(fastlane.__file__).with_name("start.py")
    (folder / "start.py").write_bytes(start.read_bytes())
    given = {**payload(group), "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    env = {**group.env, **({"APM_SESSION": GROUP_KEY} if bound else {})}
    done = subprocess.run([sys.executable, "-I", "-S", str(folder / "start.py"), "--host", "claude-code"], env=env,
                          input=json.dumps(given).encode(), capture_output=True, check=False, timeout=60)  # fmt: skip
    assert done.returncode == 0
    assert bool(done.stdout) is bound
    if bound:
        assert json.loads(done.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_the_lane_leaves_to_the_gate_what_it_shuts() -> None:
    home = {folder.folder.rsplit("/", 1)[-1] for folder in gate_shut.host_folders({}, "/home/user")}
    wanted = home | gate_shut.SWITCHES | gate_shut.INSTRUCTIONS | gate_shut.SWITCH_FILES | gate_shut.GIT_FILES
    assert wanted <= fastlane.PROTECTED_ANYWHERE, wanted - fastlane.PROTECTED_ANYWHERE
    moved = {variable for _, _, variable in gate_shut._HOSTS if variable}
    assert moved == set(fastlane.MOVED_BY)


def in_shell(made: Bench, command: str, key: str | None = GROUP_KEY, **more: object) -> bool:
    """Whether a command is denied, as the hook says."""
    given = {**payload(made), "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
    env = {**made.env, **({"APM_SESSION": key} if key is not None else {})}
    return b'"deny"' in hook.answer(["--host", "claude-code"], json.dumps({**given, **more}).encode(), env)


@pytest.mark.parametrize(
    "command",
    [
        "env -i {}", "env - {}", "env -vi {}", "env --ignore-environment {}", "env -iS '{}'", "exec -c {}", "sudo {}",
        "doas {}", "su -c '{}'", "E=en; ${{E}}v -i {}", "A=PM_SESSION; env -u A$A {}", "A=PM_SESSION; unset A$A; {}",
        "A=PM_SESSION; unset A$A; bash -c '{}'", "unset A{{PM_SESSION,B}}; {}", "unset ${{!A*}}; {}",
        "A=PM_SESSION; export A$A=agent:main:main; {}", "A=PM_SESSION; read A$A <<< x; {}", "echo '{}' | at now",
        "find src -exec env -i {} ';'",
    ],
)  # fmt: skip
def test_a_group_calls_our_command_as_nobody_else(group: Bench, command: str) -> None:
    assert in_shell(group, command.format("apm-hooks explain"))


@pytest.mark.parametrize("command", ["{}", "FOO=1 {}", "timeout 5 {}", "cd src && {}", "nohup {} 2>&1 | tail -3"])
def test_a_group_calls_our_command_as_itself(group: Bench, command: str) -> None:
    assert not in_shell(group, command.format("apm-hooks explain"))


def test_a_group_calls_our_command_in_its_own_workspace(group: Bench, tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    (other / "apm.toml").touch()
    group.env["APM_TRUSTED_WORKSPACES"] = str(other)
    runtime = group.runtime()
    assert in_shell(group, f"cd {other} && apm-hooks explain")
    assert in_shell(group, f"env -C {other} apm-hooks explain")
    runtime.session_start(event(GROUP_KEY))
    assert not in_shell(group, "apm-hooks explain")
    assert in_shell(group, "apm-hooks explain", cwd=str(other), session_id="s1")


def test_a_further_work_tree_holds_the_same_memory(group: Bench) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *who, *words], cwd=group.root, env=group.env, check=True, capture_output=True)

    group.write("src/app.py", "print(1)\n")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    git("worktree", "add", "-q", "../further")
    runtime = group.runtime()
    for path, denied in (("memory/main/index.md", True), ("MEMORY.md", True), (INDEX, False), ("src/app.py", False)):
        assert call(runtime, "Read", f"../further/{path}").deny is denied, path
    further = str(group.root.parent / "further")
    assert not in_shell(group, "ls"), "the session's workspace is fixed by its first event"
    assert in_shell(group, "git show HEAD:memory/main/index.md", cwd=further)
    assert in_shell(group, "grep -r x .", cwd=further)
    assert not in_shell(group, "grep -r x src", cwd=further)
    assert not call(runtime, "Read", "../further/memory/main/index.md", None).deny


@pytest.mark.parametrize(
    "name", [".git", "x/objects/info/alternates", "x/commondir", ".mcp.json", "sub/opencode.json", ".gitconfig"]
)
def test_a_group_leads_neither_git_nor_a_host_astray(group: Bench, name: str) -> None:
    runtime = group.runtime()
    assert call(runtime, "Write", f"src/{name}", given={"content": "gitdir: ../.git\n"}).deny
    assert in_shell(group, f"cp notes.txt src/{name}")
    assert not call(runtime, "Write", f"src/{name}", None, given={"content": "gitdir: ../.git\n"}).deny
    assert fastlane.is_elsewhere(f"{group.root}/src/app.py", [str(group.root)], group.env)
    assert not fastlane.is_elsewhere(f"{group.root}/src/{name}", [str(group.root)], group.env)


def test_what_is_changed_by_name_below_a_folder_may_be_the_owners_index(group: Bench) -> None:
    assert in_shell(group, "find . -name index.md -delete", None)
    assert in_shell(group, "git checkout HEAD~1 -- '*.md'", None)
    assert not in_shell(group, "git checkout HEAD~1 -- '*.py'", None)
    assert not in_shell(group, "find src -name index.md -exec sed -i 2d {} +", None)
