from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks import fastlane, ledger, plugin_list
from apm_hooks.cli import hook
from apm_hooks.ownership import OWNERSHIP, Ownership, classify
from apm_hooks.places import places
from apm_hooks.records import Limits
from tests.workspaces import GROUP_KEY, Bench, bench, payload

ARGUMENTS = ["--host", "claude-code"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


def lane(made: Bench, event: dict[str, object], **env: str) -> bytes | None:
    return fastlane.answer(ARGUMENTS, json.dumps(event).encode(), {**made.env, **env})


def full(made: Bench, event: dict[str, object], **env: str) -> bytes:
    return hook.answer(ARGUMENTS, json.dumps(event).encode(), {**made.env, **env})


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


@pytest.mark.parametrize("source", ["startup", "clear", "compact", "fork"])
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
    for file in (Path(places(made.env).cache) / "start").iterdir():
        file.write_text(damage)
    assert lane(made, payload(made, session_id="later")) is None


def test_a_record_that_others_could_have_written_is_handed_over(made: Bench) -> None:
    warm(made)
    for file in (Path(places(made.env).cache) / "start").iterdir():
        file.chmod(0o666)
    assert lane(made, payload(made, session_id="later")) is None


def test_prepared_answers_lie_outside_the_workspace_and_are_private(made: Bench) -> None:
    warm(made)
    folder = Path(places(made.env).cache) / "start"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in folder.iterdir()} == {0o600}
    assert not any("ship the parser" in text for text in made.state_files().values())


@given(st.binary(max_size=300))
def test_no_input_makes_the_lane_fail(data: bytes) -> None:
    fastlane.answer(ARGUMENTS, data, {"HOME": "/nonexistent"})


@given(JSON)
def test_no_event_makes_the_lane_fail(event: object) -> None:
    names = ["SessionStart", "PreToolUse", "SubagentStart"]
    for name in names:
        value = {**event, "hook_event_name": name} if isinstance(event, dict) else event
        fastlane.answer(ARGUMENTS, json.dumps(value).encode(), {"HOME": "/nonexistent"})
