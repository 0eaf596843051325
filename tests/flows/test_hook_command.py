"""Events in, answers out, through the installed line as a host's shell runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import apm_hooks
from apm_hooks.hosts.hookline import hook_line
from tests.workspaces import GROUP_KEY, Bench, bench, payload

LINE = hook_line("claude-code")
START = Path(apm_hooks.__file__).parent / "start.py"

# What a bare interpreter with `-I -S` has loaded, and what the lane may add to it.
LANE_MAY_LOAD = {"_json", "_blake2", "fcntl", "_hashlib", "errno"}


def run(made: Bench, event: object, line: str = LINE, **env: str) -> subprocess.CompletedProcess[str]:
    data = event if isinstance(event, str) else json.dumps(event)
    return subprocess.run(["sh", "-c", line], input=data, env={**made.env, **env}, capture_output=True, text=True,
                          check=False, timeout=60)  # fmt: skip


def context(done: subprocess.CompletedProcess[str]) -> str:
    answer = json.loads(done.stdout)
    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    text = answer["hookSpecificOutput"]["additionalContext"]
    assert isinstance(text, str)
    return text


def test_the_owners_session_starts_with_index_attention_and_last_flush(made: Bench) -> None:
    done = run(made, payload(made))
    text = context(done)
    assert (done.returncode, done.stderr) == (0, "")
    assert text.index("memory/main/index.md") < text.index("memory/main/attention.md") < text.index("last flush: never")
    assert "ship the parser" in text


def test_a_mapped_group_gets_its_index_and_nothing_else(made: Bench) -> None:
    made.groups({"-100777": "研发群"})
    made.write("memory/groups/研发群.md", "# 研发群\n\n群规\n")
    made.write("memory/groups/研发群/attention.md", "not at session start\n")
    made.trust()
    text = context(run(made, payload(made), APM_SESSION=GROUP_KEY))
    assert "群规" in text
    assert "ship the parser" not in text
    assert "not at session start" not in text


def test_a_mapped_group_without_an_index_gets_a_first_join_notice_and_nothing_else(made: Bench) -> None:
    made.groups({"-100777": "alpha"})
    made.trust()
    text = context(run(made, payload(made), APM_SESSION=GROUP_KEY))
    assert text.startswith("[apm-hooks] First join")
    assert "apm-memory" not in text


@pytest.mark.parametrize("key", ["", GROUP_KEY, "agent:main:cron:nightly", "agent:main:telegram:direct:5", "nonsense"])
def test_a_session_without_scope_gets_one_neutral_line(made: Bench, key: str) -> None:
    text = context(run(made, payload(made), APM_SESSION=key))
    assert "\n" not in text
    assert not any(part in text for part in (key, str(made.root), "apm-hooks group", "telegram") if part)


def test_what_is_missing_goes_to_the_log_with_its_remedy(made: Bench) -> None:
    run(made, payload(made), APM_SESSION=GROUP_KEY)
    lines = [json.loads(line) for line in (made.root / ".apm/log/apm.log").read_text().splitlines()]
    assert "apm-hooks group add NAME --id -100777" in lines[-1]["text"]


def test_an_untrusted_clone_injects_a_notice_and_tells_its_user(tmp_path: Path) -> None:
    made = bench(tmp_path, trusted=False)
    done = run(made, payload(made))
    assert "\n" not in context(done)
    assert "ship the parser" not in done.stdout
    assert "apm-hooks trust --workspace" in json.loads(done.stdout)["systemMessage"]
    assert not (made.root / ".apm").exists()


def test_a_folder_without_a_workspace_gets_nothing(made: Bench) -> None:
    done = run(made, payload(made, cwd=str(made.home)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("event", ["SubagentStart", "SessionStart"])
def test_a_subagent_gets_nothing(made: Bench, event: str) -> None:
    done = run(made, {**payload(made), "hook_event_name": event, "agent_id": "a1", "agent_type": "general-purpose"})
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    "name",
    ["PostCompact", "Stop", "StopFailure", "SessionEnd", "PreToolUse", "Notification", "Invented"],
)
def test_other_events_print_nothing(made: Bench, name: str) -> None:
    done = run(made, {**payload(made), "hook_event_name": name, "tool_name": "Bash", "tool_input": {"command": "ls"}})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "\x00", '{"hook_event_name": "SessionStart"', "{}" * 2])
def test_bad_input_costs_one_line_and_never_the_turn(made: Bench, text: str) -> None:
    done = run(made, text)
    assert done.returncode == 0
    assert json.loads(done.stdout)["systemMessage"].startswith("apm-hooks: memory was not loaded")
    assert done.stderr.count("\n") == 1


def test_a_broken_setting_costs_one_line_that_names_it(made: Bench) -> None:
    made.settings("owner_peer = ['77']\n")
    done = run(made, payload(made))
    message = json.loads(done.stdout)["systemMessage"]
    assert "apm.toml:1 [owner_peer]" in message
    assert "Did you mean owner_peers?" in message
    assert "ship the parser" not in done.stdout


def test_a_broken_group_map_costs_the_groups_their_memory_and_nobody_elses(made: Bench) -> None:
    made.write("memory/groups/group_names.json", '{"-100777": ')
    assert "ship the parser" in context(run(made, payload(made)))
    assert "apm-memory" not in context(run(made, payload(made), APM_SESSION=GROUP_KEY))


def test_a_required_session_key_that_is_missing_means_no_scope(tmp_path: Path) -> None:
    made = bench(tmp_path, settings="require_session = true\n")
    assert "apm-memory" not in context(run(made, payload(made)))
    assert "apm-memory" in context(run(made, payload(made), APM_SESSION="agent:main:main"))


def test_resume_gives_the_same_bytes_and_costs_nothing(made: Bench) -> None:
    first = run(made, payload(made))
    again = run(made, payload(made, source="resume"))
    assert again.stdout == first.stdout


def test_a_resume_by_another_conversation_says_that_the_earlier_one_no_longer_applies(made: Bench) -> None:
    made.groups({"-100777": "alpha"})
    made.write("memory/groups/alpha.md", "# Alpha\n")
    made.trust()
    run(made, payload(made))
    text = context(run(made, payload(made, source="resume"), APM_SESSION=GROUP_KEY))
    assert "no longer applies" in text.split("\n")[1]
    assert "# Alpha" in text


def test_the_host_cap_is_kept_in_the_hosts_own_unit(made: Bench) -> None:
    made.write("memory/main/index.md", "# Index\n\n" + "🙂 long line of text\n" * 3000)
    made.write("memory/main/attention.md", "# Attention\n" + "更多的内容\n" * 3000 + "newest line\n")
    text = context(run(made, payload(made)))
    assert 6_000 < len(text.encode("utf-16-le")) // 2 <= 10_000
    assert "newest line" in text
    assert text.count("left out") == 2


def test_the_budget_of_the_index_is_kept(made: Bench) -> None:
    made.write("memory/main/index.md", "---\ntype: dm\nmemory_budget: 300\n---\n# Index\n" + "words and words\n" * 500)
    name = run(made, payload(made))
    assert json.loads(name.stdout)
    entry = json.loads(next((made.root / ".apm/ledger").iterdir()).read_text())
    assert 0 < entry["tokens"] <= 300


def test_a_second_start_is_answered_by_the_lane_with_the_same_bytes(made: Bench) -> None:
    on = run(made, payload(made, session_id="a"))
    again = run(made, payload(made, session_id="b"))
    off = run(made, payload(made, session_id="c"), APM_FAST_LANE="off")
    assert on.stdout == again.stdout == off.stdout


def test_apm_workspace_names_the_workspace_wherever_the_session_runs(made: Bench) -> None:
    done = run(made, payload(made, cwd=str(made.home)), APM_WORKSPACE=str(made.root))
    assert "ship the parser" in context(done)


def test_the_session_option_wins_over_the_environment(made: Bench) -> None:
    done = run(
        made,
        payload(made),
        LINE.replace("claude-code", "claude-code --session agent:main:cron:x"),
        APM_SESSION="agent:main:main",
    )
    assert "apm-memory" not in context(done)


def test_an_option_cannot_name_a_second_session(made: Bench) -> None:
    owner = LINE.replace("claude-code", "claude-code --session agent:main:main")
    for bound in (GROUP_KEY, "", "agent:main:cron:x"):
        assert "apm-memory" not in context(run(made, payload(made), owner, APM_SESSION=bound))
    assert "apm-memory" in context(run(made, payload(made), owner))


def test_an_unwritable_workspace_costs_the_record_not_the_memory(made: Bench) -> None:
    (made.root / ".apm").write_text("in the way")
    assert "ship the parser" in context(run(made, payload(made)))


def test_the_console_script_answers_like_the_installed_line(made: Bench) -> None:
    command = f"{Path(sys.executable).parent / 'apm-hooks'} hook --host claude-code"
    assert run(made, payload(made), command).stdout == run(made, payload(made)).stdout


def test_a_hook_line_without_a_host_explains_itself_and_lets_the_turn_go_on(made: Bench) -> None:
    done = run(made, payload(made), LINE.replace("claude-code", "some-host"))
    assert (done.returncode, done.stdout) == (0, "")
    assert "usage" in done.stderr


def test_a_closed_reader_is_no_error(made: Bench) -> None:
    done = run(made, payload(made), f"({LINE}) | true; exit 0")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("part", ["start.py", "bin/python"])
def test_a_broken_installation_never_vetoes_the_turn(made: Bench, part: str) -> None:
    done = run(
        made, {**payload(made), "hook_event_name": "UserPromptSubmit", "prompt": "x"}, LINE.replace(part, "gone")
    )
    assert (done.returncode, done.stdout) == (0, "")


def loaded(made: Bench, event: Mapping[str, object]) -> set[str]:
    """Names of the modules that answering an event imports, beyond what a bare interpreter has."""

    def names(*command: str) -> set[str]:
        done = subprocess.run([sys.executable, "-X", "importtime", "-I", "-S", *command], input=json.dumps(event),
                              env=made.env, capture_output=True, text=True, check=True)  # fmt: skip
        return {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}

    return names(str(START), "--host", "claude-code") - names("-c", "pass")


def test_an_unrelated_tool_call_imports_next_to_nothing(made: Bench) -> None:
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(made.root), "tool_name": "Read",
             "tool_input": {"file_path": "/usr/include/stdio.h"}}  # fmt: skip
    run(made, event)
    assert loaded(made, event) <= LANE_MAY_LOAD | set(os.__dict__) | {"os", "stat", "_stat", "posixpath", "genericpath",
                                                                      "os.path", "_collections_abc"}  # fmt: skip


def test_an_unchanged_start_imports_next_to_nothing(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from apm_hooks.cli import hook
    from apm_hooks.records import Limits

    monkeypatch.setattr(hook, "LIMITS", Limits(racy_ns=-(10**18)))
    data = json.dumps(payload(made)).encode()
    hook.answer(["--host", "claude-code"], data, made.env)
    seen = loaded(made, payload(made, session_id="s2"))
    assert "apm_hooks.cli.hook" not in seen
    assert seen <= LANE_MAY_LOAD | {"os", "stat", "_stat", "posixpath", "genericpath", "os.path", "_collections_abc"}


@pytest.mark.parametrize(
    "heavy", ["pluggy", "watchdog", "snowballstemmer", "filelock", "argparse", "asyncio", "requests"]
)
def test_a_full_session_start_imports_only_what_it_uses(made: Bench, heavy: str) -> None:
    assert heavy not in loaded(made, payload(made))
