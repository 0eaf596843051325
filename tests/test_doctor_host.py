from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import apm_hooks
from apm_hooks import doctor_events, doctor_host, fastlane, seen
from apm_hooks.doctor import Check, Level
from apm_hooks.hosts.claude_code_hooks import EVENTS, with_hooks
from apm_hooks.hosts.claude_code_install import apply_plan, plan_install
from apm_hooks.hosts.hookline import hook_line
from tests.subjects import ALPHA, NOW, install, is_fine, levels, mapped, only, subject_of, work
from tests.workspaces import Bench

LINE = hook_line()
CAME = NOW * 10**9


@pytest.fixture
def untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No installed line is really run."""
    monkeypatch.setattr(doctor_host, "_tried", lambda *_: iter(()))


def edit(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    settings = json.loads(file.read_text())
    change(settings)
    file.write_text(json.dumps(settings))


def program(made: Bench, text: str) -> str:
    """A line of ours for a start file that does what `text` says."""
    start = made.home / "other/apm_hooks/start.py"
    start.parent.mkdir(parents=True)
    start.write_text(text)
    return f"{shlex.quote(sys.executable)} -I -S {shlex.quote(str(start))} --host claude-code || exit 0"


def test_a_whole_installation_is_told_with_its_version(made: Bench) -> None:
    assert only(doctor_host.installation(subject_of(made)), Level.OK).text.startswith("apm-hooks 0")


@pytest.mark.parametrize("gone", ["start", "fastlane", "sessionlane"])
def test_a_file_that_is_not_there_is_an_error(made: Bench, monkeypatch: pytest.MonkeyPatch, gone: str) -> None:
    for name in ("start", "fastlane", "sessionlane", "activity", "markfile"):
        if name != gone:
            made.write(f"package/{name}.py", "")
    monkeypatch.setattr(apm_hooks, "__file__", str(made.root / "package/__init__.py"))
    assert f"{gone}.py" in only(doctor_host.installation(subject_of(made)), Level.ERROR).text


def test_what_cannot_be_kept_compiled_is_a_warning(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("start", "fastlane", "sessionlane", "activity", "markfile")
    for name in names:
        made.write(f"package/{name}.py", "")
    monkeypatch.setattr(apm_hooks, "__file__", str(made.root / "package/__init__.py"))
    assert is_fine(doctor_host.installation(subject_of(made)))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = doctor_host.installation(subject_of(made))
    assert levels(found) == [Level.WARNING] * 4
    assert f"-m compileall {made.root}/package" in found[0].remedy
    for name in names:
        made.write(f"package/__pycache__/{name}.{sys.implementation.cache_tag}.pyc", "")
    assert is_fine(doctor_host.installation(subject_of(made)))


def test_the_interpreter_that_hosts_are_given_is_told(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_fine(doctor_host.interpreter(subject_of(made)))
    real = sys.executable
    monkeypatch.setattr(sys, "executable", "/home/x/.pyenv/shims/python")
    found = only(doctor_host.interpreter(subject_of(made)), Level.NOTE)
    assert "shim" in found.text
    assert "/.pyenv/shims/" not in found.remedy
    monkeypatch.setattr(sys, "executable", "")
    monkeypatch.setattr(sys, "_base_executable", "", raising=False)
    assert levels(doctor_host.interpreter(subject_of(made))) == [Level.ERROR]
    assert real


def test_where_no_hooks_are_there_is_a_note_on_how_to_install_them(made: Bench) -> None:
    assert only(doctor_host.hooks(subject_of(made)), Level.NOTE).remedy == "Run: apm-hooks install claude-code"
    made.write(".claude/settings.json", '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}')
    assert levels(doctor_host.hooks(subject_of(made))) == [Level.NOTE]


def test_installed_hooks_are_run_with_an_event_that_is_none(made: Bench) -> None:
    file = install(made)
    found = only(doctor_host.hooks(subject_of(made)), Level.OK)
    assert found.text == f"{file} runs our hooks for all {len(EVENTS)} events"


def test_the_folder_that_the_host_was_told_of_is_the_one_that_counts(made: Bench, untried: None) -> None:
    folder = made.home / "elsewhere"
    apply_plan(plan_install(scope="user", home=str(made.home), project=str(made.root), config_dir=str(folder)))
    assert levels(doctor_host.hooks(subject_of(made))) == [Level.NOTE]
    made.env["CLAUDE_CONFIG_DIR"] = str(folder)
    assert only(doctor_host.hooks(subject_of(made)), Level.OK).text.startswith(f"{folder}/settings.json")


@pytest.mark.parametrize("event", [event for event, _ in EVENTS])
def test_an_event_without_our_hook_is_an_error(made: Bench, untried: None, event: str) -> None:
    edit(install(made), lambda settings: settings["hooks"].pop(event))
    found = only(doctor_host.hooks(subject_of(made)), Level.ERROR)
    assert found.text.endswith(f"for: {event}")
    assert found.remedy == "Run: apm-hooks install claude-code"


def test_another_line_than_ours_is_a_warning(made: Bench) -> None:
    line = program(made, "")
    install(made, line=line)
    found = only(doctor_host.hooks(subject_of(made)), Level.WARNING)
    assert line in found.text
    assert found.remedy == "Run: apm-hooks install claude-code"


def test_entries_that_differ_in_more_than_their_line_are_a_warning(made: Bench, untried: None) -> None:
    file = install(made)
    edit(file, lambda settings: settings["hooks"]["SessionStart"][0].update(matcher="startup"))
    found = only(doctor_host.hooks(subject_of(made)), Level.WARNING)
    assert found.text == f"{file} is not as this installation writes it: our hooks and rules"


def test_a_command_for_a_flush_that_is_not_there_is_a_warning(made: Bench, untried: None) -> None:
    install(made)
    (made.home / ".claude/commands/remem.md").unlink()
    assert "remem.md" in only(doctor_host.hooks(subject_of(made)), Level.WARNING).text


@pytest.mark.parametrize("gone", ["/no/such/python", "no-such-python"])
def test_an_interpreter_that_is_gone_is_an_error(made: Bench, gone: str) -> None:
    install(made, line=f"{gone} -I -S /x/apm_hooks/start.py --host claude-code")
    found = doctor_host.hooks(subject_of(made))
    assert levels(found) == [Level.WARNING, Level.ERROR]
    assert found[1].text.endswith(f"cannot be run: {gone}")


@pytest.mark.parametrize(
    ("text", "level", "why"),
    [
        ("raise SystemExit(3)", Level.ERROR, "exit code 3"),
        ("import sys; sys.stderr.write('apm-hooks: ImportError: no pydantic\\n')", Level.ERROR, "no pydantic"),
        ("print('hello')", Level.ERROR, "exit code 0"),
        ("syntax error", Level.ERROR, "SyntaxError"),
        ("import sys; sys.stderr.write('beware\\n')", Level.WARNING, "beware"),
    ],
)
def test_a_hook_that_does_not_work_is_an_error(made: Bench, text: str, level: Level, why: str) -> None:
    install(made, line=program(made, text))
    found = doctor_host.hooks(subject_of(made))
    assert levels(found) == [Level.WARNING, level]
    assert why in found[1].text


def test_a_hook_that_does_not_answer_in_time_is_an_error(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor_host, "TIMEOUT_SECONDS", 0.2)
    install(made, line=program(made, "import signal; signal.pause()"))
    assert "no answer within the 0.2 s" in doctor_host.hooks(subject_of(made))[-1].text


def test_a_line_that_sets_variables_is_run_with_them(made: Bench) -> None:
    line = program(made, "import os; raise SystemExit(int(os.environ['CODE']))")
    install(made, line=f"CODE=0 OTHER=a/b {line}")
    assert levels(doctor_host.hooks(subject_of(made))) == [Level.WARNING]


def test_a_program_that_came_with_the_workspace_is_not_run(made: Bench) -> None:
    proof = made.home / "ran"
    line = program(made, f"open({str(proof)!r}, 'w')")
    made.write(".claude/settings.json", with_hooks("", line))
    made.write(".claude/settings.local.json", with_hooks("", line))
    found = doctor_host.hooks(subject_of(made))
    assert not proof.exists()
    assert levels(found) == [Level.WARNING, Level.NOTE] * 2
    assert "was not tried" in found[1].text
    assert found[2].remedy == "Run: apm-hooks install claude-code --scope project"


def test_the_same_line_in_the_workspaces_own_settings_is_tried(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def noted(_subject: object, _held: object, line: str, _remedy: str) -> Iterator[Check]:
        tried.append(line)
        return iter(())

    monkeypatch.setattr(doctor_host, "_tried", noted)
    made.write(".claude/settings.local.json", with_hooks("", LINE))
    assert is_fine(doctor_host.hooks(subject_of(made)))
    assert tried == [LINE]


def test_hooks_that_are_all_switched_off_are_a_warning(made: Bench, untried: None) -> None:
    install(made)
    made.write(".claude/settings.json", '{"disableAllHooks": true}')
    found = doctor_host.hooks(subject_of(made))
    assert sorted(levels(found)) == [Level.OK, Level.WARNING]
    assert f"{made.root}/.claude/settings.json sets disableAllHooks" in {each.text.partition(":")[0] for each in found}


@pytest.mark.parametrize("text", [b"{", b"[]", b"\xff", b'{"hooks": ' + b"[" * 100_000])
def test_settings_that_cannot_be_read_are_an_error_and_the_others_are_looked_at(
    made: Bench, untried: None, text: bytes
) -> None:
    install(made)
    made.write(".claude/settings.json", text)
    found = doctor_host.hooks(subject_of(made))
    assert levels(found) == [Level.ERROR, Level.OK]
    assert found[0].text.startswith(f"{made.root}/.claude/settings.json: ")


@pytest.mark.parametrize("text", [b"", b" \n", b"\xef\xbb\xbf{}", b'{"hooks": []}', b'{"hooks": {"Stop": 5}}'])
def test_settings_of_others_are_none_of_ours(made: Bench, text: bytes) -> None:
    made.write(".claude/settings.json", text)
    assert levels(doctor_host.hooks(subject_of(made))) == [Level.NOTE]


def test_a_shim_in_an_installed_line_is_a_warning(made: Bench) -> None:
    shim = made.home / ".pyenv/shims/python"
    shim.parent.mkdir(parents=True)
    shim.symlink_to(sys.executable)
    install(made, line=program(made, "").replace(sys.executable, str(shim)))
    assert any("shim" in each.text for each in doctor_host.hooks(subject_of(made)))


def test_what_the_host_shows_to_every_session_is_a_warning_where_groups_are(made: Bench) -> None:
    install(made)
    assert is_fine(doctor_host.sharing(subject_of(made)))
    mapped(made, "alpha")
    made.write("CLAUDE.md", "@MEMORY.md\n")
    made.write("MEMORY.md", "mine\n")
    found = doctor_host.sharing(subject_of(made, "alpha"))
    assert levels(found) == [Level.WARNING, Level.WARNING]
    assert "MEMORY.md" in found[0].text
    made.write("CLAUDE.md", "")
    made.write(".claude/settings.json", '{"autoMemoryEnabled": false}')
    assert is_fine(doctor_host.sharing(subject_of(made, "alpha")))


def test_without_hooks_of_ours_nothing_is_said_of_what_the_host_shows(made: Bench) -> None:
    mapped(made, "alpha")
    made.write("CLAUDE.md", "@MEMORY.md\n")
    assert is_fine(doctor_host.sharing(subject_of(made, "alpha")))


def test_where_nothing_is_installed_no_event_is_waited_for(made: Bench) -> None:
    assert only(doctor_events.events(subject_of(made)), Level.OK).text == doctor_events.NOT_EXPECTED


def test_an_event_that_never_came_is_noted_with_the_way_to_see_it(made: Bench) -> None:
    install(made)
    assert only(doctor_events.events(subject_of(made)), Level.NOTE).remedy == doctor_events.HOW["SessionStart"]
    seen.note(str(made.root), "claude-code", "SessionStart", CAME)
    came, *rest = doctor_events.events(subject_of(made))
    assert came.level is Level.OK
    assert [each.text for each in rest] == [f"{event} never came" for event in list(doctor_events.HOW)[1:]]
    assert levels(rest) == [Level.NOTE] * len(rest)
    assert [each.remedy for each in rest] == list(doctor_events.HOW.values())[1:]


def test_events_that_came_are_told_with_their_time(made: Bench) -> None:
    install(made)
    made.settings('timezone = "Asia/Shanghai"\n')
    for event in doctor_events.HOW:
        seen.note(str(made.root), "claude-code", event, CAME)
    found = only(doctor_events.events(subject_of(made)), Level.OK)
    assert found.text.startswith("events that came: SessionStart 2026-01-01 08:00, UserPromptSubmit 2026-01-01 08:00")
    assert all(event in found.text for event in doctor_events.HOW)


@pytest.mark.parametrize("told", ["event", "mark"])
def test_sessions_without_a_start_are_a_warning(made: Bench, told: str) -> None:
    install(made)
    if told == "event":
        seen.note(str(made.root), "claude-code", "Stop", CAME)
    else:
        work(made, since=0)
    found = [each for each in doctor_events.events(subject_of(made)) if each.level is Level.WARNING]
    assert [each.text for each in found] == [doctor_events.NO_START]


def test_another_hosts_sessions_tell_nothing_of_this_one(made: Bench) -> None:
    install(made)
    work(made, host="cli")
    seen.note(str(made.root), "codex", "SessionStart", CAME)
    assert only(doctor_events.events(subject_of(made)), Level.NOTE).text == doctor_events.NONE_CAME


@pytest.mark.parametrize(("busy", "ended"), [(True, False), (False, True)])
def test_a_mark_tells_of_what_the_fast_lane_answered(made: Bench, busy: bool, ended: bool) -> None:
    mapped(made, "alpha")
    work(made, ALPHA, busy=busy)
    told = [each.text for each in doctor_events.events(subject_of(made, "alpha")) if each.level is Level.OK]
    assert ("UserPromptSubmit 2026-01-01" in told[0], "Stop 2026-01-01" in told[0]) == (True, ended)


def test_every_event_is_waited_for_but_those_that_leave_no_trace_or_come_with_a_failure() -> None:
    installed = {event for event, _ in EVENTS}
    assert set(doctor_events.HOW) <= installed
    assert installed - set(doctor_events.HOW) <= {"SubagentStart", "StopFailure"}
    payload = json.dumps({"hook_event_name": "SubagentStart", "session_id": "s", "agent_id": "a"}).encode()
    assert fastlane.answer(["--host", "claude-code"], payload, {}) == b""


def test_an_early_flush_before_the_hosts_compaction_is_told(made: Bench) -> None:
    found = only(doctor_events.early(subject_of(made)), Level.OK)
    assert "of 200,000 tokens" in found.text
    assert "of 1,000,000 tokens" in found.text


def test_an_early_flush_that_would_come_too_late_is_an_error_with_its_sum(made: Bench) -> None:
    made.settings("flush_at_percent = 95\n")
    found = only(doctor_events.early(subject_of(made)), Level.ERROR)
    assert "95 % of 200,000 tokens is 190,000, but the host compacts at 167,000" in found.text
    assert "flush_at_percent" in found.text
    assert found.remedy


def test_the_window_that_is_set_or_was_met_is_the_one_that_counts(made: Bench) -> None:
    made.settings("flush_at_percent = 95\n")
    work(made, window=1_000_000)
    assert "950,000 of 1,000,000" in only(doctor_events.early(subject_of(made)), Level.OK).text
    made.settings("flush_at_percent = 60\ncontext_window = 50000\ncompaction_at = 30000\n")
    found = only(doctor_events.early(subject_of(made)), Level.ERROR)
    assert "60 % of 50,000 tokens is 30,000, but the host compacts at 30,000" in found.text


def test_where_the_host_never_compacts_any_percentage_will_do(made: Bench) -> None:
    made.settings("flush_at_percent = 99\n")
    made.env["DISABLE_AUTO_COMPACT"] = "1"
    assert is_fine(doctor_events.early(subject_of(made)))
