from __future__ import annotations

import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks import activity, fastlane, ledger, markfile, plugin_list, remem, sessionlane, start
from apm_hooks.cli import hook
from apm_hooks.hosts.claude_code_transcript import read_tail
from apm_hooks.ownership import OWNERSHIP, Ownership, classify
from apm_hooks.places import places
from apm_hooks.records import Limits
from tests.test_markfile import before_the_lock
from tests.workspaces import GROUP_KEY, PYTHON, Bench, bench, payload

ARGUMENTS = ["--host", "claude-code"]
IDLE, TURN = 1800.0, 14_400.0
DM = activity.folder_name("DM")
S1 = fastlane.session_name("claude-code", "s1", None)
BOOT = "b0000000-0000-4000-8000-000000000001"
NOW: activity.Moment = (1_767_225_600_000_000_000, 50_000_000_000_000, BOOT)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def lane(made: Bench, event: dict[str, object], **env: str) -> bytes | None:
    return fastlane.answer(ARGUMENTS, json.dumps(event).encode(), {**made.env, **env})


def full(made: Bench, event: dict[str, object], **env: str) -> bytes:
    return hook.answer(ARGUMENTS, json.dumps(event).encode(), {**made.env, **env})


def records(made: Bench) -> list[Path]:
    folder = Path(places(made.env).cache) / "start"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def ledger_lines(made: Bench, session_id: str, key: str | None = None) -> list[bytes]:
    name = fastlane.session_name("claude-code", session_id, key)
    return (made.root / ledger.DIRECTORY / f"{name}.jsonl").read_bytes().splitlines()


@given(JSON, st.sampled_from(["", " ", "\n\t "]), st.booleans())
def test_json_is_read_as_the_json_package_reads_it(value: object, pad: str, ascii_only: bool) -> None:
    text = pad + json.dumps(value, ensure_ascii=ascii_only) + pad
    assert fastlane.parse_json(text) == json.loads(text)


@pytest.mark.parametrize("text", ["", " ", "{", "[1,]", "{} {}", "nul", "NaN", "Infinity", "'a'", "{}x", '"\n"'])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        fastlane.parse_json(text)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--host", "claude-code"], {"host": "claude-code"}),
        (["--host", "h", "--workspace", "/w", "--session", ""], {"host": "h", "workspace": "/w", "session": ""}),
        ([], None),
        (["--host"], None),
        (["--host", "a", "--host", "b"], None),
        (["--host", "a", "--strange", "b"], None),
        (["--workspace", "/w"], None),
    ],
)
def test_arguments(arguments: list[str], expected: dict[str, str] | None) -> None:
    assert fastlane.parse_arguments(arguments) == expected


@pytest.fixture
def listed(made: Bench) -> Bench:
    """A workspace whose installation has its list of plugins, as after any event by the full path."""
    made.runtime(limits=Limits(racy_ns=-(10**18)))
    return made


def test_without_the_list_of_plugins_a_tool_call_is_handed_over(listed: Bench) -> None:
    call = tool("Read", file_path="/usr/include/stdio.h")
    assert lane(listed, call) == b""
    (kept,) = (Path(places(listed.env).cache) / "plugins").iterdir()
    document = json.loads(kept.read_text())
    for changed in (
        {**document, "wanted": ["apm_guard_tool_call"]},
        {**document, "wanted": [fastlane.UNKNOWN_HOOK]},
        {**document, "stamps": [["/usr", [1, 2, 3, 4, 5]]]},
        {},
    ):
        kept.write_text(json.dumps(changed))
        assert lane(listed, call) is None
    kept.unlink()
    assert lane(listed, call) is None


def test_the_lane_and_the_list_agree_on_their_signs() -> None:
    assert fastlane.UNKNOWN_HOOK == plugin_list.UNKNOWN
    assert fastlane._followed("/usr") == plugin_list._stamp("/usr")


def tool(name: str, **given_: object) -> dict[str, object]:
    return {"hook_event_name": "PreToolUse", "session_id": "s1", "cwd": "/", "tool_name": name, "tool_input": given_}


def test_an_unrelated_file_has_no_opinion_at_once(listed: Bench) -> None:
    made = listed
    file = made.write("src/app.py", "x = 1\n")
    for name, key in (("Read", "file_path"), ("Edit", "file_path"), ("Write", "file_path")):
        assert lane(made, tool(name, **{key: str(file)})) == b""
    assert lane(made, tool("Read", file_path="/usr/include/stdio.h")) == b""
    assert lane(made, tool("WebSearch", query="memory/main/index.md")) == b""


def test_a_file_that_does_not_exist_yet_is_judged_by_its_place(listed: Bench) -> None:
    made = listed
    assert lane(made, tool("Write", file_path=str(made.root / "new.txt"))) == b""
    assert lane(made, tool("Write", file_path=str(made.root / "memory" / "new.md"))) is None


def samples(row: Ownership) -> list[str]:
    """Paths that a row of the ownership table covers."""
    filled = [pattern.replace("{date}", "2026-01-31").replace("{name}", "alpha") for pattern in row.patterns]
    return [path.replace("/**", "/a/b.md").replace("**/", "x/").replace("*", "y") for path in filled]


@pytest.mark.parametrize("row", OWNERSHIP, ids=lambda row: row.kind)
def test_no_row_of_the_ownership_table_is_ever_called_unrelated(listed: Bench, row: Ownership) -> None:
    made = listed
    for sample in samples(row):
        assert classify(sample) is not None
        for spelling in (sample, sample.upper(), sample.title()):
            assert lane(made, tool("Read", file_path=f"{made.root}/{spelling}")) is None
            assert lane(made, tool("Write", file_path=f"{made.root}/src/../{spelling}")) is None


def _hard_link(made: Bench) -> str:
    os.link(made.root / "memory/main/index.md", made.root / "copy.md")
    return str(made.root / "copy.md")


def _symlink(made: Bench) -> str:
    (made.root / "link.md").symlink_to(made.root / "memory/main/index.md")
    return str(made.root / "link.md")


def _linked_folder(made: Bench) -> str:
    (made.home / "folder").symlink_to(made.root / "memory")
    return str(made.home / "folder/main/index.md")


@pytest.mark.parametrize(
    "spell",
    [
        _hard_link,
        _symlink,
        _linked_folder,
        lambda made: f"{made.root}/src/../memory/main/index.md",
        lambda made: f"{made.root}//memory/./main/index.md",
        lambda made: "memory/main/index.md",
        lambda made: f"{made.root}/memory/main/index.md\0.txt",
        lambda made: f"{made.home}/.claude/projects/x/transcript.jsonl",
        lambda made: f"{places(made.env).config}/trust.json",
        lambda made: f"{places(made.env).cache}/start/x",
        lambda made: f"{made.root}/.git/objects/aa/bb",
        lambda made: str(made.root),
        lambda made: f"{made.root}/sub/apm.toml",
    ],
)
def test_anything_that_may_reach_memory_is_handed_over(listed: Bench, spell: Callable[[Bench], str]) -> None:
    made = listed
    assert lane(made, tool("Read", file_path=spell(made))) is None


@pytest.mark.parametrize(
    "event",
    [
        tool("Bash", command="ls"),
        tool("Grep", pattern="x", path="/usr"),
        tool("Glob", pattern="*"),
        tool("mcp__files__read", path="/usr/x"),
        tool("Read"),
        tool("Read", file_path=3),
        {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": "x"},
        {"hook_event_name": "PreToolUse", "tool_name": ["Read"], "tool_input": {}},
        {"hook_event_name": "UserPromptSubmit", "prompt": "x"},
        {"hook_event_name": 3},
    ],
)
def test_what_the_lane_cannot_judge_it_hands_over(listed: Bench, event: dict[str, object]) -> None:
    made = listed
    assert lane(made, event) is None


def test_without_any_accepted_workspace_no_tool_call_concerns_memory(tmp_path: Path) -> None:
    made = bench(tmp_path, trusted=False)
    assert lane(made, tool("Bash", command="cat memory/main/index.md")) == b""
    assert lane(made, tool("Bash", command="ls"), APM_TRUSTED_WORKSPACES=str(made.root)) is None


def test_an_unreadable_trust_list_is_handed_over(made: Bench) -> None:
    file = Path(places(made.env).config) / "trust.json"
    for text, mode in (("{", 0o600), ('{"workspaces": 3}', 0o600), ('{"workspaces": {}}', 0o622)):
        file.write_text(text)
        file.chmod(mode)
        assert lane(made, tool("Bash", command="ls")) is None


def test_a_subagent_gets_nothing_at_once(made: Bench) -> None:
    assert lane(made, {**payload(made), "agent_id": "a1"}) == b""
    assert lane(made, {"hook_event_name": "SubagentStart", "session_id": "s1", "agent_id": "a1"}) == b""


def test_a_folder_without_a_workspace_is_answered_at_once(made: Bench) -> None:
    assert lane(made, payload(made, cwd=str(made.home))) == b""


@pytest.mark.parametrize("source", ["startup", "clear", "fork"])
@pytest.mark.parametrize("key", [None, "agent:main:main", GROUP_KEY])
def test_an_unchanged_start_is_answered_with_the_same_bytes_and_the_same_record(
    made: Bench, source: str, key: str | None
) -> None:
    made.groups({"-100777": "alpha"})
    made.write("memory/groups/alpha.md", "# Alpha\n")
    made.trust()
    env = {} if key is None else {"APM_SESSION": key}
    assert lane(made, payload(made, source=source), **env) is None
    first = full(made, payload(made, source=source), **env)
    assert b"additionalContext" in first
    assert lane(made, payload(made, source=source, session_id="s2"), **env) == first
    assert ledger_lines(made, "s2", key) == ledger_lines(made, "s1", key)
    assert full(made, payload(made, source=source, session_id="s3"), **env) == first


# A change time cannot be set by a test; the bound on freshness is what it can move instead.
@pytest.fixture(autouse=True)
def _every_stamp_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "LIMITS", Limits(racy_ns=-(10**18)))


def warm(made: Bench, **env: str) -> bytes:
    """A start that the lane now knows by heart."""
    first = full(made, payload(made), **env)
    assert lane(made, payload(made, session_id="warm"), **env) == first
    return first


INPUTS: list[Callable[[Bench], object]] = [
    lambda made: made.write("memory/main/index.md", "# Index\n\nother\n"),
    lambda made: made.write("memory/main/attention.md", "# Attention\n\nother\n"),
    lambda made: (made.root / "memory/main/attention.md").unlink(),
    lambda made: made.settings('timezone = "UTC"\n'),
    lambda made: made.groups({"-1": "beta"}),
    lambda made: made.write("memory/flush-state.json", '{"last_flush_time": "2026-01-01T00:00:00+00:00"}'),
    lambda made: made.trust(),
    lambda made: (Path(places(made.env).config) / "config.toml").write_text('timezone = "UTC"\n'),
    lambda made: (Path(places(made.env).config) / "trust.json").unlink(),
    lambda made: os.utime(made.root / "memory/main/index.md", (5, 5)),
    lambda made: (made.root / "memory/main").rename(made.root / "memory/moved"),
    lambda made: (made.root / "memory/main/attention.md").chmod(0o600),
]


@pytest.mark.parametrize("change", INPUTS)
def test_any_changed_input_is_handed_over(made: Bench, change: Callable[[Bench], object]) -> None:
    warm(made)
    change(made)
    assert lane(made, payload(made, session_id="later")) is None


@pytest.mark.parametrize(
    "env", [{"APM_TIMEZONE": "UTC"}, {"APM_SESSION": "agent:main:main"}, {"APM_SESSION": ""}, {"TZ": "UTC"},
            {"APM_FAST_LANE": "off"}, {"APM_WORKSPACE": "/nowhere"}],
)  # fmt: skip
def test_another_environment_is_handed_over(made: Bench, env: dict[str, str]) -> None:
    warm(made)
    assert lane(made, payload(made, session_id="later"), **env) is None


def test_a_restored_time_does_not_hide_a_change(made: Bench) -> None:
    warm(made)
    file = made.root / "memory/main/attention.md"
    text = file.read_text()
    file.write_text(text.replace("ship", "stop"))
    os.utime(file, (1_700_000_000, 1_700_000_000))
    assert lane(made, payload(made, session_id="later")) is None


def test_a_fresh_stamp_is_not_believed(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "LIMITS", Limits())
    (made.root / "memory/main/attention.md").write_text("written just now")
    full(made, payload(made))
    assert lane(made, payload(made, session_id="later")) is None


def test_a_resume_is_answered_only_where_the_same_text_was_the_last_one_sent(made: Bench) -> None:
    started = full(made, payload(made))
    resumed = full(made, payload(made, source="resume"))
    assert resumed == started
    assert lane(made, payload(made, source="resume")) == started
    assert ledger.read_epoch(str(made.root), fastlane.session_name("claude-code", "s1", None)).spent > 0
    assert len({json.loads(line)["digest"] for line in ledger_lines(made, "s1")}) == 1
    assert lane(made, payload(made, source="resume", session_id="unknown")) is None


def test_a_session_keeps_its_workspace_when_its_folder_moves(made: Bench, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    other = bench(tmp_path / "second")
    other.env = made.env
    other.write("memory/main/index.md", "# Another workspace\n")
    other.trust()
    started = full(made, payload(made))
    moved = payload(made, source="compact", cwd=str(other.root))
    assert b"Another workspace" not in full(made, moved)
    assert b"Another workspace" not in (lane(made, moved) or b"")
    assert b"Another workspace" in full(made, payload(made, session_id="new", cwd=str(other.root)))
    assert started


@pytest.mark.parametrize("damage", ["", "{", "[]\n", '{"format": 1}\n', '{"format": 0, "stamps": []}\nx'])
def test_a_damaged_record_is_handed_over(made: Bench, damage: str) -> None:
    warm(made)
    for file in records(made):
        file.write_text(damage)
    assert lane(made, payload(made, session_id="later")) is None


def test_a_record_that_others_could_have_written_is_handed_over(made: Bench) -> None:
    warm(made)
    for file in records(made):
        file.chmod(0o666)
    assert lane(made, payload(made, session_id="later")) is None


def test_prepared_answers_lie_outside_the_workspace_and_are_private(made: Bench) -> None:
    warm(made)
    assert records(made)[0].parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in records(made)} == {0o600}
    assert not any("ship the parser" in text for text in made.state_files().values())


@given(st.binary(max_size=300))
def test_no_input_makes_the_lane_fail(data: bytes) -> None:
    fastlane.answer(ARGUMENTS, data, {"HOME": "/nonexistent"})


@given(JSON)
def test_no_event_makes_the_lane_fail(event: object) -> None:
    names = ["SessionStart", "PreToolUse", "SubagentStart", "UserPromptSubmit", "Stop"]
    for name in names:
        value = {**event, "hook_event_name": name} if isinstance(event, dict) else event
        fastlane.answer(ARGUMENTS, json.dumps(value).encode(), {"HOME": "/nonexistent"})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> activity.Moment:
    """The moment at which the lane looks at the marks."""
    monkeypatch.setattr(activity, "now", lambda: NOW)
    return NOW


def ago(seconds: float) -> activity.Moment:
    at, up, boot = NOW
    return at - int(seconds * 1e9), up - int(seconds * 1e9), boot


def name_of(session_id: str) -> str:
    return fastlane.session_name("claude-code", session_id, None)


def at_work(
    made: Bench, session_id: str = "s1", *, scope: str = "DM", moment: activity.Moment = NOW, **fields: Any
) -> dict[str, object]:
    """A live session's mark, as the full path leaves it."""
    told = {"since": 1, "idle": IDLE, "turn": TURN, **fields}
    mark = activity.update(str(made.root), scope, name_of(session_id), lambda seen: activity.stamped(
        {**activity.BLANK, **told}, moment
    ))  # fmt: skip
    assert mark is not None
    return mark


def loaded(made: Bench, session_id: str = "s1", key: str | None = None, **fields: object) -> None:
    """The ledger of a session whose epoch loads nothing more."""
    inputs = fastlane.settings_stamp(made.env, str(made.root), key)
    entry = {"e": "message", "budget": 0, "digest": "", "tokens": 0, "files": [], "tripped": False, "done": True,
             "inputs": inputs, "active": DM, **fields}  # fmt: skip
    ledger.append(str(made.root), name_of(session_id), entry)


def mark_of(made: Bench, session_id: str = "s1", folder: str = DM) -> dict[str, object] | None:
    return activity.read_mark(str(made.root), folder, name_of(session_id))


def message(made: Bench, prompt: object = "go on", session_id: str = "s1", **more: object) -> dict[str, object]:
    return {**payload(made, session_id=session_id), "hook_event_name": "UserPromptSubmit", "prompt": prompt, **more}


def turn_end(made: Bench, session_id: str = "s1", **more: object) -> dict[str, object]:
    return {**payload(made, session_id=session_id), "hook_event_name": "Stop", "stop_hook_active": False, **more}


def marks(made: Bench) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (made.root / ".apm" / "active").rglob("*") if path.is_file()}


def test_a_message_where_loading_is_done_begins_a_turn_and_says_nothing(made: Bench, clock: activity.Moment) -> None:
    loaded(made)
    before = at_work(made, since=3, usage=41.0, limit=80.0, window=200_000, early=2)
    other = at_work(made, "s2")
    assert lane(made, message(made)) == b""
    path = payload(made)["transcript_path"]
    assert mark_of(made) == activity.begun(before, clock, str(path))
    assert mark_of(made) == {
        **before, "at": NOW[0], "up": NOW[1], "boot": BOOT, "busy": True, "since": 4, "transcript": path,
    }  # fmt: skip
    assert mark_of(made, "s2") == other


def test_turns_are_counted_until_one_has_no_end(made: Bench, clock: activity.Moment) -> None:
    loaded(made)
    at_work(made, since=0)
    for count in (1, 2, 3):
        assert lane(made, message(made)) == b""
        assert lane(made, turn_end(made)) == b""
        seen = mark_of(made)
        assert seen is not None
        assert (seen["since"], seen["busy"]) == (count, False)
    assert lane(made, message(made)) == b""
    assert lane(made, message(made)) is None
    seen = mark_of(made)
    assert seen is not None
    assert (seen["since"], seen["busy"]) == (4, True)


@pytest.mark.parametrize(
    "prompt",
    ["/remem", "/remem the port is 8080", "  /REMEM", "/memory:Remem x", "please remember this", "／ｒｅｍｅｍ",
     "ｒeＭem：x", "x" * 9000 + "ReMeM", 3, None, ["/remem"]],
)  # fmt: skip
@pytest.mark.usefixtures("clock")
def test_what_may_ask_for_a_flush_is_handed_over(made: Bench, prompt: object) -> None:
    loaded(made)
    at_work(made)
    before = marks(made)
    assert lane(made, message(made, prompt)) is None
    assert marks(made) == before


LETTERS = st.sampled_from([*"remREM", *"ｒｅｍＲＥＭ", *"/／$＄:：@ x\n\u3000"])


@given(
    st.lists(LETTERS, max_size=12).map("".join)
    | st.tuples(st.text(), st.sampled_from(["ｒｅｍｅｍ", "reＭem"])).map("／".join)
)
def test_no_form_of_the_command_is_taken_for_a_message(prompt: str) -> None:
    if remem.arguments_of(prompt) is not None:
        assert sessionlane._may_ask_for_flush(prompt)


@pytest.mark.parametrize("prompt", ["@memory/main/index.md", "look at @x", "me@example.org"])
@pytest.mark.usefixtures("clock")
def test_a_message_that_may_mention_a_file_is_the_gates(made: Bench, prompt: str) -> None:
    loaded(made)
    at_work(made)
    before = marks(made)
    assert lane(made, message(made, prompt)) is None
    assert marks(made) == before


@pytest.mark.parametrize("prompt", ["", "go on", "你好！请继续，谢谢。", "ｆｕｌｌ　ｗｉｄｔｈ", "/clear", "remind me"])
@pytest.mark.usefixtures("clock")
def test_other_messages_are_not(made: Bench, prompt: str) -> None:
    loaded(made)
    at_work(made)
    assert lane(made, message(made, prompt)) == b""


def _crowd(made: Bench) -> None:
    for number in range(sessionlane.MARKS):
        at_work(made, f"crowd{number}")


def _damage(made: Bench) -> None:
    at_work(made, "s2")
    (made.root / ".apm" / "active" / DM / name_of("s2")).write_text("{")


DUE: dict[str, Callable[[Bench], object]] = {
    "a due session of the scope": lambda made: at_work(made, "s2", moment=ago(IDLE)),
    "one with a flush to settle": lambda made: at_work(made, "s2", moment=ago(IDLE), since=0, open=1),
    "one of another boot": lambda made: at_work(made, "s2", moment=(*ago(IDLE)[:2], "other")),
    "a turn that stood still": lambda made: at_work(made, "s2", moment=ago(TURN), busy=True),
    "a damaged mark": _damage,
    "too many to look at": _crowd,
}
OWN: dict[str, Callable[[Bench], object]] = {
    "an open flush": lambda made: at_work(made, open=1),
    "a compaction": lambda made: at_work(made, phase=1),
    "its session is due itself": lambda made: at_work(made, moment=ago(IDLE)),
    "a damaged mark of its own": lambda made: (made.root / ".apm" / "active" / DM / S1).write_text("{"),
}
HELD_BACK: dict[str, Callable[[Bench], object]] = {
    **DUE,
    **OWN,
    "no mark": lambda made: (made.root / ".apm" / "active" / DM / S1).unlink(),
    "a turn without an end": lambda made: at_work(made, busy=True),
    "a context that fills up": lambda made: at_work(made, usage=80.0, limit=80.0),
    "no idle time that is known": lambda made: at_work(made, idle=None),
    "a ledger without a scope": lambda made: loaded(made, active=""),
    "a ledger of another version": lambda made: loaded(made, active=None),
    "a ledger that points elsewhere": lambda made: loaded(made, active="../../memory"),
    "loading that is not done": lambda made: loaded(made, done=False),
    "settings that changed": lambda made: made.settings('timezone = "UTC"\n'),
}


@pytest.mark.parametrize("case", HELD_BACK)
@pytest.mark.usefixtures("clock")
def test_a_message_with_more_to_it_is_handed_over_and_nothing_is_noted(made: Bench, case: str) -> None:
    loaded(made)
    at_work(made)
    assert lane(made, message(made)) == b""
    at_work(made)
    HELD_BACK[case](made)
    before = marks(made)
    assert lane(made, message(made)) is None
    assert marks(made) == before


@pytest.mark.usefixtures("clock")
def test_what_is_due_in_another_scope_is_not_this_ones_to_see(made: Bench) -> None:
    loaded(made)
    at_work(made)
    at_work(made, "s2", scope="Group(alpha)", moment=ago(10 * IDLE))
    assert lane(made, message(made)) == b""


@pytest.mark.usefixtures("clock")
def test_a_context_that_is_not_full_yet_and_one_without_a_limit_hold_nothing_back(made: Bench) -> None:
    loaded(made)
    for usage, limit in ((79.9, 80.0), (99.0, None), (None, 80.0)):
        at_work(made, usage=usage, limit=limit)
        assert lane(made, message(made)) == b""


@pytest.mark.parametrize("event", [message, turn_end])
@pytest.mark.usefixtures("clock")
def test_a_mark_that_cannot_be_written_is_handed_over(
    made: Bench, event: Callable[[Bench], dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded(made)
    mark = at_work(made)
    with monkeypatch.context() as patched:
        before_the_lock(patched, lambda: activity.drop(str(made.root), DM, S1, mark))
        assert lane(made, event(made)) is None
    assert mark_of(made) is None
    at_work(made)

    def broken(descriptor: int, data: bytes, offset: int) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pwrite", broken)
    assert lane(made, event(made)) is None


@pytest.mark.usefixtures("clock")
def test_what_changed_while_the_lock_was_waited_for_counts(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded(made)
    for fields in ({"open": 1}, {"phase": 1}, {"busy": True}):
        at_work(made)
        with monkeypatch.context() as patched:
            before_the_lock(patched, lambda fields=fields: at_work(made, **fields))  # type: ignore[misc]
            assert lane(made, message(made)) is None


def test_where_there_is_no_workspace_no_message_and_no_turn_matters(made: Bench) -> None:
    assert lane(made, message(made, "/remem", cwd=str(made.home))) == b""
    assert lane(made, turn_end(made, cwd=str(made.home))) == b""


def entry(tokens: int = 1000, **more: object) -> str:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 200, "cache_read_input_tokens": tokens - 260,
             "output_tokens": 50, "service_tier": "standard"}  # fmt: skip
    return json.dumps({"type": "assistant", "isSidechain": False, "message": {"role": "assistant", "usage": usage},
                       **more})  # fmt: skip


USER = json.dumps({"type": "user", "message": {"content": 'the "assistant" and its "usage"'}})
SILENT = json.dumps({"type": "assistant", "message": {"usage": {"input_tokens": 0, "output_tokens": 0}}})
TRANSCRIPTS: list[tuple[list[str], int | None]] = [
    ([entry(1000)], 1000),
    ([entry(1000), USER, entry(2000), USER], 2000),
    ([entry(1000), entry(5000, isSidechain=True)], 1000),
    ([entry(1000), entry(9000, type="attachment")], 1000),
    ([entry(1000), entry(3000)[:-5]], 1000),
    ([entry(1000), SILENT], 1000),
    ([entry(1000), entry(5000, isApiErrorMessage=True)], 1000),
    ([entry(1000), entry(5000).replace('"role"', '"model": "<synthetic>", "role"')], 1000),
    ([entry(1000), json.dumps({"type": "assistant", "message": {"usage": {"input_tokens": "7"}}})], 1000),
    ([entry(1000), json.dumps({"type": "assistant", "message": None}), '["assistant"]', '{"assistant"'], 1000),
    ([json.dumps({"type": "assistant", "message": {"usage": {"input_tokens": 7, "output_tokens": None}}})], 7),
    ([entry(1000), json.dumps({"type": "system", "subtype": "compact_boundary"})], None),
    ([json.dumps({"type": "system", "subtype": "compact_boundary"}), entry(300)], 300),
    ([entry(1000), json.dumps({"type": "system", "subtype": "compact_boundary", "isSidechain": True})], 1000),
    (["é" * sessionlane.TAIL_BYTES, entry(1000)], 1000),
    ([], None),
    (["\x00\xff", "{" * 5000], None),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "tokens"), TRANSCRIPTS)
def test_the_end_of_a_transcript_tells_what_the_context_holds(
    tmp_path: Path, lines: list[str], tokens: int | None
) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    assert sessionlane.context_tokens(str(path)) == tokens
    assert read_tail(str(path)).usage_tokens == tokens
    # A last line without its end counts with the next look.
    path.write_text("".join(line + "\n" for line in lines) + entry(7000), encoding="utf-8")
    assert sessionlane.context_tokens(str(path)) == read_tail(str(path)).usage_tokens == tokens


LINES = st.lists(
    st.sampled_from([entry(1000), entry(2000), entry(3000, isSidechain=True), USER, SILENT, entry(4000)[:-9], "[]", "",
                     json.dumps({"type": "system", "subtype": "compact_boundary"})]),
    max_size=8,
)  # fmt: skip


@given(LINES)
def test_both_paths_read_the_same_from_a_transcript(lines: list[str]) -> None:
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write("\n".join(lines))
        file.flush()
        assert sessionlane.context_tokens(file.name) == read_tail(file.name).usage_tokens


def test_a_transcript_whose_end_does_not_tell_is_the_full_paths(made: Bench) -> None:
    path = made.home / "transcript.jsonl"
    path.write_text(entry(1000) + "\n" + USER + " " * sessionlane.TAIL_BYTES + "\n")
    with pytest.raises(LookupError):
        sessionlane.context_tokens(str(path))
    loaded(made)
    at_work(made, window=100_000)
    before = marks(made)
    assert lane(made, turn_end(made, transcript_path=str(path))) is None
    assert marks(made) == before


@pytest.mark.parametrize("path", ["", "/nowhere", "/etc", "/dev/zero", "\0"])
def test_what_is_no_transcript_tells_nothing(path: str) -> None:
    assert sessionlane.context_tokens(path) is None


@pytest.mark.parametrize(
    ("window", "before", "lines", "usage"),
    [
        (200_000, None, [entry(50_000)], 25.0),
        (200_000, 12.5, [], 12.5),
        (200_000, 90.0, [entry(150_123)], 75.1),
        (200_000, 90.0, [entry(250_123)], 100.0),
        (None, 30.0, [entry(50_000)], None),
    ],
)
def test_the_end_of_a_turn_notes_how_full_the_context_is(
    made: Bench, clock: activity.Moment, window: int | None, before: float | None, lines: list[str], usage: float | None
) -> None:
    loaded(made)
    path = made.home / "transcript.jsonl"
    path.write_text("".join(line + "\n" for line in lines))
    mark = at_work(made, busy=True, window=window, usage=before)
    assert lane(made, turn_end(made, transcript_path=str(path))) == b""
    assert mark_of(made) == activity.ended(mark, clock, usage)
    assert mark_of(made) == {**mark, "at": NOW[0], "up": NOW[1], "boot": BOOT, "busy": False, "usage": usage}


@pytest.mark.usefixtures("clock")
def test_the_end_of_a_turn_needs_no_transcript_in_its_event(made: Bench) -> None:
    loaded(made)
    path = made.home / "transcript.jsonl"
    path.write_text(entry(50_000) + "\n")
    at_work(made, busy=True, window=100_000, transcript=str(path))
    assert lane(made, turn_end(made, transcript_path=None)) == b""
    seen = mark_of(made)
    assert seen is not None
    assert (seen["usage"], seen["transcript"]) == (50.0, str(path))


ENDS_HELD_BACK: dict[str, Callable[[Bench], object]] = {
    "an open flush": OWN["an open flush"],
    "a compaction": OWN["a compaction"],
    "a damaged mark": OWN["a damaged mark of its own"],
    "no mark": HELD_BACK["no mark"],
    "no ledger": lambda made: (made.root / ledger.DIRECTORY / f"{S1}.jsonl").unlink(),
    "a ledger of another version": HELD_BACK["a ledger of another version"],
    "an ended epoch": lambda made: ledger.append(str(made.root), S1, ledger.end_entry()),
    "no trust": lambda made: (Path(places(made.env).config) / "trust.json").unlink(),
}


@pytest.mark.parametrize("case", ENDS_HELD_BACK)
@pytest.mark.usefixtures("clock")
def test_the_end_of_a_turn_with_more_to_it_is_handed_over(made: Bench, case: str) -> None:
    loaded(made)
    at_work(made, busy=True)
    assert lane(made, turn_end(made)) == b""
    ENDS_HELD_BACK[case](made)
    before = marks(made)
    assert lane(made, turn_end(made)) is None
    assert marks(made) == before


@pytest.mark.usefixtures("clock")
def test_turns_of_sessions_without_a_scope_of_subagents_and_of_other_hooks_leave_nothing(made: Bench) -> None:
    loaded(made)
    at_work(made, open=1, busy=True)
    before = marks(made)
    assert lane(made, turn_end(made, agent_id="a1")) == b""
    loaded(made, "s2", active="")
    assert lane(made, turn_end(made, "s2")) == b""
    assert marks(made) == before


def test_a_start_after_a_compaction_is_always_the_full_paths(made: Bench) -> None:
    warm(made)
    for session_id in ("s1", "s2"):
        assert b"additionalContext" in full(made, payload(made, source="compact", session_id=session_id))
        assert lane(made, payload(made, source="compact", session_id=session_id)) is None


@pytest.mark.parametrize("source", ["startup", "resume"])
@pytest.mark.parametrize("case", [*DUE, *OWN])
@pytest.mark.usefixtures("clock")
def test_a_start_where_something_waits_for_a_flush_is_handed_over(made: Bench, source: str, case: str) -> None:
    full(made, payload(made))
    full(made, payload(made, source="resume"))
    at_work(made)
    assert lane(made, payload(made, source=source)) is not None
    {**DUE, **OWN}[case](made)
    before = (marks(made), ledger_lines(made, "s1"))
    assert lane(made, payload(made, source=source)) is None
    assert (marks(made), ledger_lines(made, "s1")) == before


@pytest.mark.parametrize("lacking", ["active", "idle", "turn"])
@pytest.mark.usefixtures("clock")
def test_a_record_that_does_not_say_where_to_look_is_handed_over(made: Bench, lacking: str) -> None:
    warm(made)
    at_work(made)
    for file in records(made):
        head, _, body = file.read_text().partition("\n")
        file.write_text(
            json.dumps({key: value for key, value in json.loads(head).items() if key != lacking}) + "\n" + body
        )
    assert lane(made, payload(made, session_id="later")) is None


@pytest.mark.usefixtures("clock")
def test_both_paths_leave_the_same_marks_of_the_same_turns(made: Bench) -> None:
    made.write("memory/main/longterm.md", "# Long term\n\nwhat was decided\n")
    told: dict[str, list[dict[str, object] | None]] = {"s1": [], "s2": []}
    for session_id, answer in (("s1", full), ("s2", lane)):
        path = made.home / f"{session_id}.jsonl"
        path.write_text(entry(50_000) + "\n")
        where = {"session_id": session_id, "transcript_path": str(path)}
        full(made, payload(made, **where))
        assert b"what was decided" in full(made, message(made, "the decisions", **where))
        full(made, turn_end(made, **where))
        for tokens in (60_000, 70_000):
            assert answer(made, message(made, **where)) == b""
            told[session_id].append(mark_of(made, session_id))
            path.write_text(entry(tokens) + "\n")
            assert answer(made, turn_end(made, **where)) == b""
            told[session_id].append(mark_of(made, session_id))
    assert told["s2"][-1] is not None
    for mark in (*told["s1"], *told["s2"]):
        assert mark is not None
        for name in ("id", "session", "transcript", "at", "born"):
            mark.pop(name)
    assert told["s1"] == told["s2"]
    assert len({str(mark) for mark in told["s1"]}) == 4


@pytest.mark.usefixtures("clock")
def test_where_the_lane_says_nothing_the_full_path_says_and_flushes_nothing(made: Bench) -> None:
    made.write("memory/main/longterm.md", "# Long term\n\nwhat was decided\n")
    full(made, payload(made))
    full(made, message(made, "the decisions"))
    full(made, turn_end(made))
    told = mark_of(made)
    assert told is not None
    kept: dict[str, Any] = {name: told[name] for name in ("host", "id", "transcript", "born")}
    states = itertools.product((0, 1), (0, 2), (False, True), (60, IDLE), (None, 90.0), (None, 60, IDLE), (True, False))
    silent = 0
    for open_, phase, busy, quiet, usage, others, begins in states:
        event = message(made) if begins else turn_end(made)
        at_work(
            made, moment=ago(quiet), open=open_, phase=phase, busy=busy, usage=usage, limit=80.0, window=10**6, **kept
        )
        if others is None:
            (made.root / ".apm" / "active" / DM / name_of("s2")).unlink(missing_ok=True)
        else:
            at_work(made, "s2", moment=ago(others))
        before = marks(made)
        if lane(made, event) is None:
            assert marks(made) == before
            continue
        silent += 1
        after = {path: path.read_bytes() for path in marks(made)}
        seen = mark_of(made)
        for path, data in before.items():
            path.write_bytes(data)
        assert full(made, event) == b""
        assert set(marks(made)) == set(after)
        found = mark_of(made)
        assert found is not None
        # At a message the full path looks again how large the window is.
        assert seen == ({**found, "limit": 80.0, "window": 10**6} if begins else found)
        assert not (made.root / "memory" / "flush-state.json").exists()
    assert silent > 10


BARE = f"""
import os, sys, time
from _frozen_importlib_external import SourceFileLoader
known = set(sys.modules)
names = {{"__name__": "start", "__file__": {start.__file__!r}}}
exec(SourceFileLoader("start", {start.__file__!r}).get_code("start"), names)
answers = [names["fast"](["--host", "claude-code"], event.encode()) for event in sys.argv[1:]]
print(answers)
print(*(set(sys.modules) - known))
"""


def test_the_lane_answers_a_session_in_a_bare_interpreter_with_next_to_nothing_loaded(made: Bench) -> None:
    printed = warm(made)
    loaded(made)
    at_work(made, moment=activity.now(), window=100_000)
    path = made.home / "transcript.jsonl"
    path.write_text(entry(50_000) + "\n")
    events = [payload(made, session_id="s9"), message(made), turn_end(made, transcript_path=str(path))]
    command = [PYTHON, "-I", "-S", "-c", BARE, *map(json.dumps, events)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env=made.env)
    answers, modules = ran.stdout.splitlines()
    assert answers == repr([printed, b"", b""])
    assert set(modules.split()) <= {"errno", "fcntl", "_json", "_blake2"}
    seen = mark_of(made)
    assert seen is not None
    assert (seen["since"], seen["busy"], seen["usage"]) == (2, False, 50.0)


def test_the_number_of_marks_looked_at_is_bounded(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded(made)
    at_work(made, moment=activity.now())
    monkeypatch.setattr(sessionlane, "MARKS", 0)
    read: list[str] = []
    real = markfile.read

    def counted(root: str, parts: Sequence[str], name: str) -> bytes | None:
        read.append(name)
        return real(root, parts, name)

    monkeypatch.setattr(markfile, "read", counted)
    assert lane(made, message(made)) is None
    assert read == [S1]
