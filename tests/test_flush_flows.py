"""Flushes through the installed line, with payloads as Claude Code sends them: what each event prints and leaves."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from apm_hooks import fastlane, flusher, hashing, walking
from apm_hooks.cli import hook
from apm_hooks.directive import summary_sentence
from apm_hooks.hosts.claude_code_hooks import EVENTS
from apm_hooks.hosts.hookline import hook_line
from apm_hooks.records import LIMITS
from tests.workspaces import GROUP_KEY, Bench, bench

FIXTURES = Path(__file__).parent / "fixtures"
RECORDED = FIXTURES / "claude-code"
TRANSCRIPTS = FIXTURES / "claude_code_transcripts"
LINE = hook_line("claude-code")
ARGUMENTS = ["--host", "claude-code"]
STATE = "memory/flush-state.json"
SESSION = "3287fd35-4952-40a1-921e-a9de2f0c9e6d"
Answer = Callable[[Bench, dict[str, Any]], str]


def recorded(made: Bench, name: str, **more: object) -> dict[str, Any]:
    """A recorded payload, moved to the workspace and into one session; `more` takes the place of what was recorded."""
    found: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text())
    transcript = made.home / f".claude/projects/x/{SESSION}.jsonl"
    return {**found, "session_id": SESSION, "cwd": str(made.root), "transcript_path": str(transcript), **more}


def transcribed(made: Bench, name: str, **more: str) -> Path:
    """Put a recorded transcript where the host keeps that of the session."""
    file = made.home / f".claude/projects/x/{SESSION}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    text = (TRANSCRIPTS / f"{name}.jsonl").read_text()
    for old, new in more.items():
        text = text.replace(old, new)
    file.write_text(text)
    return file


def run(made: Bench, *payloads: dict[str, Any], line: str = LINE, **env: str) -> list[str]:
    """What the line prints for each event, run by the host's shell; nothing else may be said, nothing may fail."""
    printed = []
    for payload in payloads:
        done = subprocess.run(["sh", "-c", line], input=json.dumps(payload), env={**made.env, **env}, timeout=120,
                              capture_output=True, text=True, check=False)  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        printed.append(done.stdout)
    return printed


def answer(made: Bench, payload: dict[str, Any], **env: str) -> str:
    """As `run`, in this process, by the full path."""
    return hook.answer(ARGUMENTS, json.dumps(payload).encode(), {**made.env, **env}).decode()


def context(printed: str, name: str = "UserPromptSubmit") -> str:
    """The text for the model; empty where nothing was printed."""
    if not printed:
        return ""
    document = json.loads(printed)
    assert document.keys() == {"hookSpecificOutput"}
    assert document["hookSpecificOutput"].keys() == {"hookEventName", "additionalContext"}
    assert document["hookSpecificOutput"]["hookEventName"] == name
    text = document["hookSpecificOutput"]["additionalContext"]
    assert isinstance(text, str)
    return text


def state(made: Bench, path: str = STATE) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made.root / path).read_text())
    return found


def outcomes(made: Bench, path: str = STATE) -> list[tuple[int, str, str]]:
    return [(each["number"], each["trigger"], each["outcome"]) for each in state(made, path)["apm_hooks"]["flushes"]]


REMEM = [
    "/remem", "/remem the tides", "/REMEM", "／ｒｅｍｅｍ", "/harbour:remem the tides", "remem: the tides", "$remem",
    ("<command-message>remem</command-message>\n<command-name>/remem</command-name>\n"
     "<command-args>the tides</command-args>"),
    "<system-reminder>\nbe brief\n</system-reminder>\n/remem the tides",
]  # fmt: skip


@pytest.mark.parametrize("version", ["2.1.100", "2.1.332"])
@pytest.mark.parametrize("prompt", REMEM)
def test_remem_asks_for_a_write_back_in_every_form(made: Bench, prompt: str, version: str) -> None:
    given = recorded(made, f"UserPromptSubmit.remem.{version}", prompt=prompt)
    text = context(answer(made, given))
    assert text.startswith("[apm-hooks] Flush 1, asked for with /remem")
    assert ("asked for: the tides" in text) == ("tides" in prompt)
    assert outcomes(made) == [(1, "remem", "issued")]
    assert state(made)["session_id"] == SESSION


@pytest.mark.parametrize("prompt", ["what does /remem do?", "/remember the tides", "remember: the tides", "`/remem`"])
def test_what_only_speaks_of_remem_flushes_nothing(made: Bench, prompt: str) -> None:
    answer(made, recorded(made, "UserPromptSubmit.print", prompt=prompt))
    assert not (made.root / STATE).exists()


def test_the_line_prints_a_directive_once_for_an_event_that_comes_twice(made: Bench) -> None:
    given = recorded(made, "UserPromptSubmit.remem.2.1.332")
    first, again = run(made, given, given)
    assert context(first).startswith("[apm-hooks] Flush 1, asked for with /remem")
    assert again == ""
    made.write("memory/main/longterm.md", "High water is at four.\n")
    assert run(made, recorded(made, "Stop.answered.2.1.332")) == [""]
    assert outcomes(made) == [(1, "remem", "written")]
    (other,) = run(made, {**given, "prompt_id": "another"})
    assert context(other).startswith("[apm-hooks] Flush 2")


def test_two_registrations_of_the_hook_that_run_at_once_make_one_flush(made: Bench) -> None:
    given = json.dumps(recorded(made, "UserPromptSubmit.remem.2.1.332"))
    both = [subprocess.Popen(["sh", "-c", LINE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=made.env, text=True)
            for _ in range(2)]  # fmt: skip
    for each in both:
        assert each.stdin is not None
        each.stdin.write(given)
        each.stdin.close()
    printed = [each.stdout.read() for each in both if each.stdout is not None]
    assert [each.wait() for each in both] == [0, 0]
    for each in both:
        assert each.stdout is not None
        each.stdout.close()
    assert sum(bool(text) for text in printed) == 1
    assert outcomes(made) == [(1, "remem", "issued")]
    made.write("memory/main/longterm.md", "High water is at four.\n")
    answer(made, recorded(made, "Stop.answered.2.1.332"))
    answer(made, recorded(made, "SessionEnd.other.2.1.332"))
    assert outcomes(made) == [(1, "remem", "written")]


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDED.glob("PreCompact.*.json")))
def test_pre_compaction_prints_nothing_or_one_sentence_for_the_summariser(made: Bench, name: str) -> None:
    given = recorded(made, name)
    # Each compaction has a summary of its own, also where it falls into a flush that is there already.
    assert [answer(made, given), answer(made, given)] == [summary_sentence()] * 2
    assert not summary_sentence().lstrip().startswith(("{", "["))
    assert outcomes(made) == [(1, "pre-compaction", "issued")]


@pytest.mark.parametrize("trouble", ["nothing to save", "no scope", "no trust", "unwritable"])
def test_pre_compaction_prints_no_json_whatever_is_wrong(tmp_path: Path, trouble: str) -> None:
    made = bench(tmp_path, trusted=trouble != "no trust")
    given = recorded(made, "PreCompact.manual.2.1.332")
    transcribed(made, "interrupted.2.1.332")
    env = {}
    if trouble == "unwritable":
        (made.root / STATE).mkdir()
        given["trigger"] = "auto"
    if trouble == "no scope":
        env = {"APM_SESSION": GROUP_KEY}
    printed = answer(made, given, **env)
    assert printed == (summary_sentence() if trouble == "unwritable" else "")
    assert not (made.root / STATE).is_file()


def test_the_line_itself_prints_the_sentence_and_nothing_around_it(made: Bench) -> None:
    given = recorded(made, "PreCompact.auto.2.1.332")
    assert run(made, given, given) == [summary_sentence()] * 2
    assert outcomes(made) == [(1, "pre-compaction", "issued")]


SILENT = sorted(path.stem for path in RECORDED.glob("*.json")
                if path.stem.split(".")[0] in ("PostCompact", "Stop", "StopFailure", "SessionEnd"))  # fmt: skip


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("flushed", [False, True])
def test_the_ends_of_turns_compactions_and_sessions_print_nothing(made: Bench, name: str, *, flushed: bool) -> None:
    transcribed(made, "interrupted.2.1.332")
    if flushed:
        answer(made, recorded(made, "UserPromptSubmit.remem.2.1.332"))
    assert answer(made, recorded(made, name)) == ""


def test_the_line_prints_nothing_at_the_ends(made: Bench) -> None:
    names = ("PostCompact.auto.2.1.332", "Stop.answered.2.1.332", "SessionEnd.clear.2.1.332")
    assert run(made, *(recorded(made, name) for name in names)) == ["", "", ""]
    assert {name.split(".")[0] for name in SILENT} <= {name for name, _ in EVENTS}


@pytest.mark.parametrize("key", [None, GROUP_KEY])
def test_the_start_after_a_compaction_tells_what_is_pending_and_asks_for_it(made: Bench, key: str | None) -> None:
    made.groups({"-100777": "alpha"})
    made.write("memory/groups/alpha.md", "# Alpha\n")
    made.trust()
    env = {} if key is None else {"APM_SESSION": key}
    path = STATE if key is None else "memory/groups/alpha/flush-state.json"

    def start(version: str, **more: object) -> str:
        return context(answer(made, recorded(made, f"SessionStart.compact.{version}", **more), **env), "SessionStart")

    answer(made, recorded(made, "UserPromptSubmit.print"), **env)
    answer(made, recorded(made, "PreCompact.auto.2.1.332"), **env)
    assert "compacted while a flush was open" in start("2.1.332")
    answer(made, recorded(made, "PostCompact.auto.2.1.332"), **env)
    answer(made, recorded(made, "Stop.answered.2.1.332"), **env)
    assert outcomes(made, path) == [(1, "pre-compaction", "unwritten")]
    text = start("2.1.332", session_id="another", source="startup")
    assert "Flush 1 (before compaction)" in text
    assert "pending done" in text
    text = start("2.1.332")
    assert "compacted without warning" in text
    assert outcomes(made, path)[-1] == (0, "pre-compaction", "missed")


@pytest.mark.parametrize("version", ["2.1.100", "2.1.332"])
def test_a_context_that_fills_up_is_flushed_early_once(tmp_path: Path, version: str) -> None:
    made = bench(tmp_path, settings="context_window = 1000\n")
    transcribed(made, f"remem.{version}")

    def prompt(number: int) -> str:
        given = recorded(made, "UserPromptSubmit.print", prompt=f"and then? {number}", prompt_id=str(number))
        return context(answer(made, given))

    answer(made, recorded(made, "SessionStart.startup.print"))
    text = prompt(1)
    assert "[apm-hooks] Flush 1: the context is 90 % full" in text
    answer(made, recorded(made, "Stop.answered.2.1.332"))
    assert prompt(2) == ""
    answer(made, recorded(made, "Stop.answered.2.1.332"))
    assert state(made)["context_usage_at_flush"] == 90.7
    assert [number for number, _, _ in outcomes(made)] == [1]
    # Since that flush nothing was said that the transcript knows of: there is nothing to save.
    assert answer(made, recorded(made, "PreCompact.manual.2.1.332", prompt_id="3")) == ""
    assert [number for number, _, _ in outcomes(made)] == [1]
    answer(made, recorded(made, "SessionStart.compact.2.1.332"))
    answer(made, recorded(made, "PostCompact.manual.2.1.332"))
    assert "[apm-hooks] Flush 2" in prompt(4)


def test_a_context_with_room_is_not_flushed_early(tmp_path: Path) -> None:
    made = bench(tmp_path, settings="context_window = 1200\n")
    transcribed(made, "remem.2.1.332")
    answer(made, recorded(made, "UserPromptSubmit.print"))
    assert not (made.root / STATE).exists()


@pytest.mark.parametrize(
    ("settings", "model", "told"),
    [
        ("flush_at_percent = 90\n", "claude-haiku-4-5",
         r"90 % of 200,000 tokens is 180,000, but the host compacts at 167,000.*75 or less"),
        ("flush_at_percent = 97\n", "claude-opus-5",
         r"97 % of 1,000,000 tokens is 970,000, but the host compacts at 967,000.*87 or less"),
        ("flush_at_percent = 50\ncompaction_at = 400\ncontext_window = 1000\n", "claude-haiku-4-5",
         r"50 % of 1,000 tokens is 500, but the host compacts at 400.*36 or less"),
    ],
)  # fmt: skip
def test_a_threshold_that_the_host_would_come_before_is_refused_with_the_sum(
    tmp_path: Path, settings: str, model: str, told: str
) -> None:
    made = bench(tmp_path, settings=settings)
    transcribed(made, "remem.2.1.332", **{"claude-haiku-4-5": model})
    printed = answer(made, recorded(made, "UserPromptSubmit.print"))
    assert "Flush" not in printed
    log = (made.root / ".apm/log/apm.log").read_text()
    assert re.search(told, log)
    assert "flush_at_percent" in log
    assert not (made.root / STATE).exists()


def test_a_session_that_ends_looks_at_each_file_once_and_reads_none_again(
    made: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host gives it 1.5 s: what is counted here is its work."""
    folder = made.root / "memory/main/projects"
    folder.mkdir()
    for number in range(10_000):
        (folder / f"{number}.md").write_text("x\n")
    late = SimpleNamespace(time=time.time, time_ns=lambda: time.time_ns() + 10**11)
    monkeypatch.setattr(flusher, "time", late)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    answer(made, recorded(made, "UserPromptSubmit.remem.2.1.332"))
    answer(made, recorded(made, "Stop.answered.2.1.332"))
    answer(made, recorded(made, "UserPromptSubmit.print"))
    calls: dict[str, list[Any]] = {"stat_of": [], "_hash": [], "open": []}

    def count(room: Any, name: str, real: Callable[..., Any]) -> None:
        def counted(*given: Any, **more: Any) -> Any:
            calls[name].append(given[0])
            return real(*given, **more)

        monkeypatch.setattr(room, name, counted)

    count(walking, "stat_of", hashing.stat_of)
    count(hashing, "_hash", hashing._hash)
    count(os, "open", os.open)
    assert answer(made, recorded(made, "SessionEnd.other.2.1.332", reason="other")) == ""
    # A first look without a record of the host's counts is worth a flush.
    assert outcomes(made)[-1] == (2, "idle", "unwritten")
    assert (len(calls["stat_of"]), calls["_hash"]) == (10_002, [])
    assert len(calls["open"]) < 400
    assert not any(str(path).endswith(".md") for path in calls["open"])


def test_an_ended_session_with_too_little_said_is_not_flushed(made: Bench) -> None:
    transcribed(made, "remem.2.1.332")
    answer(made, recorded(made, "UserPromptSubmit.print"))
    answer(made, recorded(made, "Stop.answered.2.1.332"))
    answer(made, recorded(made, "SessionEnd.other.2.1.332"))
    assert not (made.root / STATE).exists()


@pytest.mark.parametrize("by", ["its end", "a sweep"])
def test_a_session_that_goes_on_after_its_end_is_counted_from_there(made: Bench, by: str) -> None:
    path = transcribed(made, "remem.2.1.332")
    path.write_bytes(path.read_bytes() * 12)

    def one_run() -> None:
        answer(made, recorded(made, "UserPromptSubmit.print"))
        answer(made, recorded(made, "Stop.answered.2.1.332"))
        if by == "its end":
            answer(made, recorded(made, "SessionEnd.other.2.1.332"))
        else:
            made.runtime(clock=lambda: time.time() + 10 * 3600).sweep()

    one_run()
    assert outcomes(made) == [(1, "idle", "unwritten")]
    if by == "a sweep":
        # Quiet time is no matter of how much was said; what follows tells where counting begins.
        by = "its end"
    for _ in range(3):
        one_run()
    assert outcomes(made) == [(1, "idle", "unwritten")], "each run counted the whole conversation again"
    path.write_bytes(path.read_bytes() + path.read_bytes())
    one_run()
    assert outcomes(made) == [(1, "idle", "unwritten"), (2, "idle", "unwritten")]


def test_a_compaction_counts_what_was_only_recorded_when_the_session_ended(made: Bench) -> None:
    path = transcribed(made, "remem.2.1.332")
    path.write_bytes(path.read_bytes() * 12)
    for name in ("UserPromptSubmit.print", "Stop.answered.2.1.332", "SessionEnd.other.2.1.332"):
        answer(made, recorded(made, name))
    assert outcomes(made) == [(1, "idle", "unwritten")]
    assert answer(made, recorded(made, "PreCompact.manual.2.1.332")) == summary_sentence(), (
        "nobody was asked to write it yet"
    )
    assert outcomes(made) == [(1, "idle", "unwritten"), (2, "pre-compaction", "issued")]


def bare(made: Bench) -> dict[str, Any]:
    """What the state files and marks say, but for times, places and what follows from them."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            found = {}
            for key, inner in value.items():
                if key == "files":
                    found[key] = {path: entry[4:6] for path, entry in inner.items()}
                elif key not in ("at", "checksum", "last_flush_time", "up", "born", "transcript") and not str(
                    key
                ).endswith("_mtime"):
                    found[key] = plain(inner)
            return found
        if isinstance(value, list):
            return [plain(inner) for inner in value]
        chance = r" on \d{4}-\d\d-\d\d at \d\d:\d\d|(?<=^cycle:)\d+|(?:^|(?<=^idle:))\d+:\d+(?=:\d+$)"
        return re.sub(chance, "", value) if isinstance(value, str) else value

    states = {str(path.relative_to(made.root)): plain(json.loads(path.read_text()))
              for path in sorted(made.root.glob("memory/**/flush-state.json"))}  # fmt: skip
    for held in states.values():
        for item in held.get("apm_hooks", {}).get("pending", ()):
            item.pop("id")
    marks = {str(path.relative_to(made.root)): plain(json.loads(path.read_text()))
             for path in sorted((made.root / ".apm/active").glob("*/*"))}  # fmt: skip
    for mark in marks.values():
        # How often it was written differs, and the lane does not look how large the window is.
        for key in ("write", "again", "window", "limit", "usage"):
            mark.pop(key)
    return {"states": states, "marks": marks}


def day(made: Bench, act: Callable[[dict[str, Any]], str]) -> list[dict[str, Any]]:
    """A day of one session: what the state files and marks say after each event."""
    message, stop = recorded(made, "UserPromptSubmit.print"), recorded(made, "Stop.answered.2.1.332")
    events = [
        recorded(made, "SessionStart.startup.print"), {**message, "prompt": "the decisions"}, stop, message, stop,
        recorded(made, "UserPromptSubmit.remem.2.1.332"), stop, message, stop, message,
        recorded(made, "PreCompact.auto.2.1.332"), recorded(made, "SessionStart.compact.2.1.332"),
        recorded(made, "PostCompact.auto.2.1.332"), stop, {**stop, "stop_hook_active": True},
        recorded(made, "SessionStart.resume"), message, message, stop, {**stop, "stop_hook_active": True},
        recorded(made, "SessionStart.compact.2.1.332"), {**message, "prompt": "the decisions"}, stop, message, stop,
        recorded(made, "SessionEnd.other.2.1.332"),
        recorded(made, "SessionStart.startup.print", session_id="another"),
        {**message, "session_id": "another"}, {**stop, "session_id": "another"},
    ]  # fmt: skip
    seen = []
    for number, payload in enumerate(events):
        if number in (6, 18):
            made.write("memory/main/longterm.md", f"what was decided by {number}\n")
        act(payload)
        seen.append(bare(made))
    return seen


def test_the_lane_and_the_full_path_leave_the_same_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "LIMITS", replace(LIMITS, racy_ns=-(10**18)))
    both = []
    for name in ("lane", "full"):
        (tmp_path / name).mkdir()
        made = bench(tmp_path / name)
        made.write("memory/main/longterm.md", "# Long term\n\nwhat was decided\n")
        both.append(made)
    by_lane: list[str] = []

    def lane(payload: dict[str, Any]) -> str:
        printed = fastlane.answer(ARGUMENTS, json.dumps(payload).encode(), both[0].env)
        if printed is None:
            return answer(both[0], payload)
        by_lane.append(payload["hook_event_name"])
        return printed.decode()

    told = day(both[0], lane)
    expected = day(both[1], lambda payload: answer(both[1], payload, APM_FAST_LANE="off"))
    for number, (left, right) in enumerate(zip(told, expected, strict=True)):
        assert left == right, number
    assert {by_lane.count(name) > 1 for name in ("UserPromptSubmit", "Stop")} == {True}
    assert [each[1:] for each in outcomes(both[0])] == [
        ("remem", "written"), ("pre-compaction", "unwritten"), ("pre-compaction", "missed"), ("idle", "unwritten"),
    ]  # fmt: skip


def test_the_line_leaves_the_same_state_with_and_without_the_lane(tmp_path: Path) -> None:
    seen = []
    for name, env in (("on", {}), ("off", {"APM_FAST_LANE": "off"})):
        (tmp_path / name).mkdir()
        made = bench(tmp_path / name)
        message, stop = recorded(made, "UserPromptSubmit.print"), recorded(made, "Stop.answered.2.1.332")
        remem = recorded(made, "UserPromptSubmit.remem.2.1.332")
        printed = run(made, recorded(made, "SessionStart.startup.print"), message, stop, remem, stop, **env)
        seen.append((printed, bare(made)))
    assert seen[0] == seen[1]
    assert seen[0][0][1:3] == ["", ""]
