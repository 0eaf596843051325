"""The gate at work in a runtime: whose call it is, what its ledger says, what is noted and kept."""

from __future__ import annotations

import json
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


def test_the_lane_leaves_to_the_gate_what_it_shuts() -> None:
    home = {folder.folder.rsplit("/", 1)[-1] for folder in gate_shut.host_folders({}, "/home/user")}
    wanted = home | gate_shut.SWITCHES | gate_shut.INSTRUCTIONS
    assert wanted <= fastlane.PROTECTED_ANYWHERE, wanted - fastlane.PROTECTED_ANYWHERE
    moved = {variable for _, _, variable in gate_shut._HOSTS if variable}
    assert moved == set(fastlane.MOVED_BY)
