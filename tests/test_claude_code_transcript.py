"""Transcripts of Claude Code as 2.1.100 and 2.1.332 wrote them, and what becomes of damaged ones."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from string import ascii_letters, ascii_lowercase, digits
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.hosts.claude_code_transcript import TAIL_BYTES, Transcript, read_tail
from apm_hooks.hosts.claude_code_window import compaction_point, context_window
from apm_hooks.tokens import ENCODINGS, load_counter

FIXTURES = Path(__file__).parent / "fixtures"
RECORDED = FIXTURES / "claude_code_transcripts"
OLD, NEW = "2.1.100", "2.1.332"
NOTHING = Transcript()


def person(text: object, **more: object) -> dict[str, Any]:
    return {"type": "user", "isSidechain": False, "message": {"role": "user", "content": text}, **more}


def answer(text: str, tokens: int = 900, *, name: str = "m", model: str = "claude-x", **more: object) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text}]
    usage = {"input_tokens": tokens, "output_tokens": 0}
    message = {"id": name, "role": "assistant", "model": model, "content": blocks, "usage": usage}
    return {"type": "assistant", "isSidechain": False, "message": message, "version": NEW, **more}


def boundary() -> dict[str, Any]:
    return {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}}


def tool(command: object, result: object) -> list[dict[str, Any]]:
    call = answer("", 5, name="t")
    call["message"]["content"] = [{"type": "tool_use", "name": "Bash", "input": {"command": command}}]
    return [call, person([{"type": "tool_result", "content": result}])]


def write(path: Path, *entries: object, end: str = "\n") -> str:
    lines = (entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False) for entry in entries)
    path.write_text("\n".join(lines) + end, "utf-8", "surrogatepass")
    return str(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize(
    ("name", "usage", "messages", "compactions"),
    [
        ("compacted", 2_107, 6, 1),
        ("auto", 907, 4, 1),
        ("remem", 907, 2, 0),
        ("interrupted", 907, 3, 0),
    ],
)
def test_what_the_host_wrote(name: str, usage: int, messages: int, compactions: int, version: str) -> None:
    recorded = RECORDED / f"{name}.{version}.jsonl"
    found = read_tail(str(recorded))
    assert (found.usage_tokens, found.messages, found.compactions) == (usage, messages, compactions)
    assert (found.model, found.version, found.rewritten) == ("claude-haiku-4-5", version, False)
    assert found.size == recorded.stat().st_size
    assert found.tokens


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_subagents_own_file_tells_nothing(version: str) -> None:
    found = read_tail(str(RECORDED / f"subagent-inner.{version}.jsonl"))
    assert (found.usage_tokens, found.messages, found.tokens, found.model) == (None, 0, 0, "")


def test_a_turn_that_the_service_refused_hides_no_usage_and_is_no_answer() -> None:
    found = read_tail(str(RECORDED / f"refused.{OLD}.jsonl"))
    assert (found.usage_tokens, found.messages) == (907, 3)
    found = read_tail(str(RECORDED / f"refused.{NEW}.jsonl"))
    assert (found.usage_tokens, found.compactions) == (None, 2)


def test_the_long_window_is_noted_by_newer_versions() -> None:
    found = read_tail(str(RECORDED / f"long-window.{NEW}.jsonl"))
    assert found.model == "claude-opus-4-6[1m]"
    assert context_window(found.model, {}, version=found.version) == 1_000_000


@pytest.mark.parametrize("version", [OLD, NEW])
def test_reading_again_from_where_it_ended_finds_only_what_is_new(version: str, path: Path) -> None:
    """Cut at every byte, as a reading in the middle of a write would see it: nothing is lost, nothing counts twice."""
    whole = (RECORDED / f"compacted.{version}.jsonl").read_bytes()
    all_of_it = read_tail(str(RECORDED / f"compacted.{version}.jsonl"))
    for cut in range(0, len(whole), 211):
        path.write_bytes(whole[:cut])
        first = read_tail(str(path))
        path.write_bytes(whole)
        second = read_tail(str(path), since=first.size or 0)
        assert first.messages is not None
        assert second.messages is not None
        assert first.messages + second.messages == all_of_it.messages
        assert first.compactions + second.compactions == all_of_it.compactions
        assert second.usage_tokens == all_of_it.usage_tokens


@pytest.mark.parametrize(
    ("entries", "messages"),
    [
        ([person("hello")], 1),
        ([person([{"type": "text", "text": "hello"}])], 1),
        ([person([{"type": "image", "source": {}}])], 1),
        ([person("<command-message>remem</command-message>\n<command-name>/remem</command-name>")], 1),
        ([answer("one", name="a"), answer("two", name="a")], 1),
        ([answer("one", name="a"), answer("two", name="b")], 2),
        ([answer(" \n", name="a")], 0),
        (tool("pwd", "/home/user"), 0),
        (tool("pwd", [{"type": "text", "text": "/home/user"}]), 0),
        ([person("  ")], 0),
        ([person([])], 0),
        ([person(None)], 0),
        ([person("hello", isMeta=True)], 0),
        ([person("hello", isSidechain=True)], 0),
        ([person("summary", isCompactSummary=True, isVisibleInTranscriptOnly=True)], 0),
        ([person("<local-command-stdout>done</local-command-stdout>")], 0),
        ([person("<command-name>/exit</command-name>")], 0),
        ([person([{"type": "text", "text": "[Request interrupted by user for tool use]"}])], 0),
        ([answer("Prompt is too long", model="<synthetic>", isApiErrorMessage=True)], 0),
        ([answer("inner", isSidechain=True)], 0),
        ([{"type": "attachment", "attachment": {"content": "user assistant"}}], 0),
        ([{"type": "queue-operation", "content": "hello"}], 0),
    ],
)
def test_messages_are_what_people_typed_and_the_agent_answered(
    entries: list[dict[str, Any]], messages: int, path: Path
) -> None:
    found = read_tail(write(path, *entries))
    assert found.messages == messages
    assert found.compactions == 0


@pytest.mark.parametrize(
    ("entries", "usage"),
    [
        ([answer("a", 100), answer("b", 200)], 200),
        ([answer("a", 100), boundary()], None),
        ([answer("a", 100), boundary(), answer("b", 30)], 30),
        ([answer("a", 100), answer("refused", 0, model="<synthetic>")], 100),
        ([answer("a", 100), answer("none counted", 0)], 100),
        ([answer("a", 100), answer("inner", 999, isSidechain=True)], 100),
        ([answer("a", 100), answer("b", 10**15)], 100),
        ([person("hello")], None),
        ([], None),
    ],
)
def test_usage_is_that_of_the_context_now(entries: list[dict[str, Any]], usage: int | None, path: Path) -> None:
    assert read_tail(write(path, *entries)).usage_tokens == usage


def test_usage_is_added_up_as_the_host_does(path: Path) -> None:
    said = answer("a")
    said["message"]["usage"] = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": 4_000,
        "iterations": [],
    }
    assert read_tail(write(path, said)).usage_tokens == 4_321


@pytest.mark.parametrize("wrong", [True, -1, "900", 1.5, [1], {"a": 1}])
def test_usage_that_is_no_count_tells_nothing(wrong: object, path: Path) -> None:
    said = answer("a")
    said["message"]["usage"]["input_tokens"] = wrong
    assert read_tail(write(path, said)).usage_tokens is None


def test_usage_and_model_are_found_before_the_last_flush_too(path: Path) -> None:
    write(path, person("hello"), answer("hi", 4_000, requestedModel="claude-x[1m]"))
    found = read_tail(str(path), since=path.stat().st_size)
    assert (found.usage_tokens, found.model, found.version) == (4_000, "claude-x[1m]", NEW)
    assert (found.messages, found.tokens) == (0, 0)


def test_what_tools_did_counts_as_tokens(path: Path) -> None:
    said = read_tail(write(path, person("do it"), answer("done"))).tokens
    worked = read_tail(write(path, person("do it"), *tool("pytest " * 40, "passed\n" * 400), answer("done"))).tokens
    assert said is not None
    assert worked is not None
    assert worked > said + 400


RANDOM = Random(7)
SAMPLES = {
    "English": "The survey boat takes berth three at low water, and the dredging plan was put off by a week. " * 20,
    "Chinese": "测量船在低潮时靠三号泊位，疏浚计划推迟一周。王工负责联系引航站。" * 20,
    "Japanese": "測量船は干潮に三番バースを使います。浚渫計画は一週間延期されました。" * 20,
    "Korean": "측량선은 간조에 3번 선석을 씁니다. 준설 계획은 일주일 연기되었습니다." * 20,
    "Russian": "Промерный катер встаёт у третьего причала в малую воду, дноуглубление отложено на неделю. " * 20,
    "code": "def berth(name: str) -> int:\n    return BERTHS[name.casefold()] if name in BERTHS else -1\n\n" * 20,
    "table": "| berth | depth | free |\n|---|---:|:-:|\n| three | 11.4 m | yes |\n| four | 9.8 m | no |\n" * 20,
    "JSON": json.dumps([{"berth": 3, "depth": 11.4, "ids": ["a9f3c2", "77b0e1"], "free": True}] * 20),
    "emoji": "🚢🌊⚓ berth 3 ✅ " * 40,
    "rare Han": "".join(map(chr, range(0x4E00, 0x9FA0, 17))),
    "hexadecimal": "".join(RANDOM.choice("0123456789abcdef") for _ in range(4_000)),
    "base64": "".join(RANDOM.choice(ascii_letters + digits + "+/") for _ in range(4_000)),
    "digits": "".join(RANDOM.choice(digits) for _ in range(4_000)),
    "random words": " ".join("".join(RANDOM.choice(ascii_lowercase) for _ in range(5)) for _ in range(800)),
    "blanks": " \n\t" * 1_000,
}


@pytest.mark.parametrize("name", SAMPLES)
def test_tokens_are_not_underestimated(name: str, path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = read_tail(write(path, person(SAMPLES[name])))
    cache = str(tmp_path_factory.getbasetemp() / "ranks")
    exact = [load_counter(encoding, cache_dir=cache) for encoding in ENCODINGS]
    assert all(counter.exact for counter in exact)
    assert found.tokens is not None
    assert max(counter(SAMPLES[name]) for counter in exact) <= found.tokens <= len(SAMPLES[name].encode())


def test_a_longer_span_than_is_looked_at_counts_as_enough(path: Path) -> None:
    line = person("x" * 1_000)
    many = [line] * 50
    write(path, *many, answer("done", 700))
    size = path.stat().st_size
    found = read_tail(str(path), since=0, limit=20_000)
    assert (found.size, found.usage_tokens, found.messages, found.tokens) == (size, 700, None, None)
    near = read_tail(str(path), since=size - 10_000, limit=20_000)
    assert near.messages is not None
    assert 9 <= near.messages <= 11


def test_a_line_longer_than_is_looked_at_hides_what_is_before_it(path: Path) -> None:
    write(path, answer("done", 700), {"type": "attachment", "attachment": "x" * 50_000})
    found = read_tail(str(path), limit=20_000)
    assert (found.usage_tokens, found.messages, found.tokens) == (None, None, None)
    assert found.size == path.stat().st_size


def test_what_newer_versions_write_behind_an_answer_does_not_hide_it(path: Path) -> None:
    snapshot = {"type": "attachment", "attachment": {"type": "prompt_snapshot", "systemPrompt": ["x" * 115_000]}}
    write(path, person("hello"), answer("hi", 5_000), snapshot, snapshot, {"type": "last-prompt"})
    assert read_tail(str(path)).usage_tokens == 5_000
    assert TAIL_BYTES >= 4 * 115_000


def test_a_file_that_became_shorter_is_new(path: Path) -> None:
    """The host may cut a transcript down without an event: what was flushed of it is not known any more."""
    write(path, *[person(f"line {number}") for number in range(400)])
    before = path.stat().st_size
    write(path, *[person(f"line {number}") for number in range(31)])
    found = read_tail(str(path), since=before)
    assert (found.rewritten, found.messages) == (True, 31)
    assert read_tail(str(path), since=path.stat().st_size).rewritten is False


def test_half_a_last_line_counts_once_it_is_whole(path: Path) -> None:
    text = json.dumps(person("second"))
    write(path, person("first"), text[:40], end="")
    first = read_tail(str(path))
    assert first.messages == 1
    write(path, person("first"), text)
    assert read_tail(str(path), since=first.size or 0).messages == 1


DAMAGE: dict[str, bytes] = {
    "no JSON": b'{"type":"user","message":',
    "no object": b'["user"]',
    "NUL bytes": b'\0\0\0"user"\0',
    "invalid UTF-8": b'{"type":"user","message":{"role":"user","content":"\xff\xfe"}}',
    "half a character": b'{"type":"user","message":{"role":"user","content":"\xe6\xbd"}}',
    "lone surrogate": rb'{"type":"user","isMeta":true,"message":{"role":"user","content":"\ud83d"}}',
    "nested too deep": b'{"type":"user","message":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "huge number": b'{"type":"user","message":{"content":' + b"9" * 5_000 + b"}}",
    "message of another kind": b'{"type":"user","message":7}',
    "content of another kind": b'{"type":"assistant","message":{"content":{"a":1},"usage":[],"model":3,"id":[]}}',
    "blocks of another kind": b'{"type":"user","message":{"content":[1,null,{"type":[]},{"type":"text","text":5}]}}',
    "model of many lines": b'{"type":"assistant","message":{"model":"a\\nb","content":[]},"version":"\\u0000"}',
    "empty lines": b"\n\n\r\n",
    "UTF-16": '{"type":"user"}'.encode("utf-16"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_line_is_passed_over(name: str, path: Path) -> None:
    around = [json.dumps(person("before")).encode(), DAMAGE[name], json.dumps(answer("after", 321)).encode(), b""]
    path.write_bytes(b"\n".join(around))
    found = read_tail(str(path))
    assert (found.messages, found.usage_tokens, found.model) == (2, 321, "claude-x")


def test_a_lone_surrogate_in_what_was_typed_is_counted(path: Path) -> None:
    path.write_bytes(rb'{"type":"user","message":{"role":"user","content":"\ud83d boat"}}' + b"\n")
    found = read_tail(str(path))
    assert found.messages == 1
    assert found.tokens


@settings(max_examples=200)
@given(st.binary(max_size=300), st.integers(-5, 400), st.integers(-5, 400))
def test_no_file_makes_it_raise(tmp_path_factory: pytest.TempPathFactory, data: bytes, since: int, limit: int) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(data)
    found = read_tail(str(path), since=since, limit=limit)
    assert found.size == len(data)
    assert (found.messages is None) == (found.tokens is None)


def a_link(path: Path) -> None:
    target = path.with_name("target.jsonl")
    write(target, person("hello"))
    path.symlink_to(target)


def a_fifo(path: Path) -> None:
    os.mkfifo(path)


def a_closed_file(path: Path) -> None:
    # Root may read what nobody may; a directory nobody can.
    path.mkdir(0o000)


NOT_THERE: dict[str, Callable[[Path], None]] = {
    "absent": lambda path: None,
    "a link": a_link,
    "a FIFO": a_fifo,
    "a directory": lambda path: path.mkdir(),
    "closed": a_closed_file,
}


@pytest.mark.parametrize("name", NOT_THERE)
def test_what_is_no_plain_file_tells_nothing_and_blocks_nothing(name: str, path: Path) -> None:
    NOT_THERE[name](path)
    assert read_tail(str(path), since=5) == NOTHING


@pytest.mark.parametrize(
    "path", ["", "/nowhere/x.jsonl", "/dev/null", "/dev/zero", "a\0b", "/x" * 5_000, "\udcff\ud800"]
)
def test_a_path_that_is_none_tells_nothing(path: str) -> None:
    assert read_tail(path) == NOTHING


def test_reading_while_the_host_writes(path: Path) -> None:
    line = (json.dumps(person("hello")) + "\n").encode()
    path.write_bytes(b"")

    def host() -> None:
        with path.open("ab", buffering=0) as stream:
            for _ in range(300):
                stream.write(line[:20])
                stream.write(line[20:])

    writer = threading.Thread(target=host)
    writer.start()
    seen, since = 0, 0
    while writer.is_alive() or since < 300 * len(line):
        found = read_tail(str(path), since=since)
        assert found.messages is not None
        seen, since = seen + found.messages, found.size or 0
    writer.join()
    assert seen == 300


ACW, PCT, OUT = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "CLAUDE_CODE_MAX_OUTPUT_TOKENS"
LONG_OFF, MOST = "CLAUDE_CODE_DISABLE_1M_CONTEXT", "CLAUDE_CODE_MAX_CONTEXT_TOKENS"


@pytest.mark.parametrize(
    ("window", "env", "old", "new"),
    [
        (200_000, {}, 167_000, 167_000),
        (1_000_000, {}, 967_000, 967_000),
        (200_000, {ACW: "100000"}, 67_000, 67_000),
        (200_000, {ACW: "50000"}, 67_000, 67_000),
        (200_000, {ACW: " 150000 "}, 117_000, 117_000),
        (200_000, {ACW: "500000"}, 167_000, 167_000),
        (200_000, {ACW: "2000000"}, 167_000, 167_000),
        (200_000, {ACW: "abc"}, 167_000, 167_000),
        (200_000, {ACW: "150k"}, 67_000, 117_000),
        (1_000_000, {ACW: "0.2m"}, 967_000, 167_000),
        (1_000_000, {ACW: "200K"}, 67_000, 167_000),
        (1_000_000, {ACW: "200_000"}, 67_000, 167_000),
        (1_000_000, {ACW: "200,000"}, 67_000, 167_000),
        (1_000_000, {ACW: "1e5"}, 67_000, 67_000),
        (1_000_000, {ACW: "99"}, 67_000, 67_000),
        (1_000_000, {ACW: "150.7"}, 67_000, 67_000),
        (1_000_000, {ACW: "-5"}, 967_000, 967_000),
        (1_000_000, {ACW: "0"}, 967_000, 967_000),
        (1_000_000, {ACW: "auto"}, 967_000, 967_000),
        (200_000, {PCT: "50"}, 90_000, 90_000),
        (200_000, {PCT: "99"}, 167_000, 167_000),
        (200_000, {PCT: "0"}, 167_000, 167_000),
        (200_000, {PCT: "101"}, 167_000, 167_000),
        (200_000, {PCT: "-1"}, 167_000, 167_000),
        (1_000_000, {PCT: "50%"}, 490_000, 490_000),
        (1_000_000, {PCT: "0.5"}, 4_900, 4_900),
        (1_000_000, {PCT: " 40"}, 392_000, 392_000),
        (200_000, {PCT: "50.5", ACW: "100000"}, 40_400, 40_400),
        (200_000, {OUT: "5000"}, 182_000, 182_000),
        (200_000, {OUT: "64000"}, 167_000, 167_000),
        (1_000_000, {OUT: "8k"}, 986_992, 986_992),
        (1_000_000, {OUT: "8192.9"}, 978_808, 978_808),
        (1_000_000, {OUT: "0"}, 967_000, 967_000),
        (1_000_000, {OUT: "abc"}, 967_000, 967_000),
        (200_000, {"DISABLE_AUTO_COMPACT": "1"}, None, None),
        (200_000, {"DISABLE_AUTO_COMPACT": " yes "}, None, None),
        (200_000, {"DISABLE_AUTO_COMPACT": "TRUE"}, None, None),
        (200_000, {"DISABLE_AUTO_COMPACT": "0"}, 167_000, 167_000),
        (200_000, {"DISABLE_AUTO_COMPACT": "2"}, 167_000, 167_000),
        (200_000, {"DISABLE_AUTO_COMPACT": ""}, 167_000, 167_000),
        (200_000, {"DISABLE_COMPACT": "1"}, None, None),
        (None, {}, None, None),
        (0, {}, None, None),
        (-1, {}, None, None),
        (10_000, {}, 1, 1),
    ],
)
def test_where_the_host_compacts(window: int | None, env: dict[str, str], old: int | None, new: int | None) -> None:
    assert compaction_point(window, env, version=OLD) == old
    assert compaction_point(window, env, version=NEW) == new
    expected = min(old, new) if old and new else old
    assert compaction_point(window, env) == expected


@pytest.mark.parametrize(("configured", "point"), [(120_000, 87_000), (99_999, 167_000), (None, 167_000)])
def test_the_hosts_own_setting_comes_after_the_environment(configured: int | None, point: int) -> None:
    assert compaction_point(200_000, {}, version=OLD, configured=configured) == point
    assert compaction_point(200_000, {ACW: "110000"}, version=OLD, configured=configured) == 77_000


@pytest.mark.parametrize(
    ("model", "env", "old", "new"),
    [
        ("claude-haiku-4-5", {}, 200_000, 200_000),
        ("claude-haiku-4-5-20251001", {}, 200_000, 200_000),
        ("claude-sonnet-4-5-20250929", {}, 200_000, 200_000),
        ("claude-opus-4-20250514", {}, 200_000, 200_000),
        ("claude-opus-4-1", {}, 200_000, 200_000),
        ("claude-opus-4-6", {}, 200_000, 200_000),
        ("us.anthropic.claude-opus-4-6-v1", {}, 200_000, 200_000),
        ("claude-3-5-sonnet-20241022", {}, 200_000, 200_000),
        ("claude-3-7-sonnet-20250219", {}, 200_000, 200_000),
        ("claude-opus-4-7", {}, 200_000, 1_000_000),
        ("claude-opus-4-8", {}, 200_000, 1_000_000),
        ("claude-opus-5-5", {}, 200_000, 1_000_000),
        ("claude-sonnet-5", {}, 200_000, 1_000_000),
        ("claude-haiku-5-5", {}, 200_000, 1_000_000),
        ("claude-fable-5-2", {}, 200_000, 1_000_000),
        ("my-own-model", {}, 200_000, 1_000_000),
        ("claude-opus-4-6[1m]", {}, 1_000_000, 1_000_000),
        ("Claude-Sonnet-4-5[1M]", {}, 1_000_000, 1_000_000),
        ("claude-opus-4-6[1m]", {LONG_OFF: "1"}, 200_000, 200_000),
        ("claude-opus-5-5", {LONG_OFF: "true"}, 200_000, 200_000),
        ("claude-opus-5-5", {ACW: "300000"}, 200_000, 300_000),
        ("claude-haiku-4-5", {ACW: "100000"}, 100_000, 100_000),
        ("claude-haiku-4-5", {MOST: "120000"}, 200_000, 200_000),
        ("my-own-model", {MOST: "150000"}, 200_000, 150_000),
        ("claude-haiku-4-5", {MOST: "120000", "DISABLE_COMPACT": "1"}, 120_000, 120_000),
        ("", {}, None, None),
    ],
)
def test_the_window_is_the_one_that_the_host_assumes(
    model: str, env: dict[str, str], old: int | None, new: int | None
) -> None:
    assert context_window(model, env, version=OLD) == old
    assert context_window(model, env, version=NEW) == new
    if MOST not in env:
        assert context_window(model, env) == (min(old, new) if old and new else None)


@pytest.mark.parametrize("version", ["2.1.331", "2.0.999", "1.9", "x", "", "9" * 5_000])
def test_an_older_or_odd_version_is_given_the_short_window(version: str) -> None:
    expected = 1_000_000 if version.startswith("9") else 200_000
    assert context_window("claude-opus-5-5", {}, version=version) == expected


def test_a_context_that_outgrew_the_short_window_has_the_long_one() -> None:
    assert context_window("claude-opus-4-6", {}, version=OLD, usage_tokens=200_000) == 200_000
    assert context_window("claude-opus-4-6", {}, version=OLD, usage_tokens=200_001) == 1_000_000


def payload(name: str) -> dict[str, Any]:
    found = json.loads((FIXTURES / "claude-code" / f"{name}.json").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


EVENTS = (
    "PreCompact.manual", "PreCompact.auto", "PostCompact.manual", "PostCompact.auto", "Stop.answered",
    "StopFailure.too-long", "SessionEnd.other", "SessionEnd.clear", "SessionEnd.prompt_input_exit",
    "SessionStart.compact", "SubagentStop.compaction", "SubagentStop.errand", "UserPromptSubmit.remem",
)  # fmt: skip


@pytest.mark.parametrize("event", EVENTS)
def test_what_tells_one_event_from_another(event: str) -> None:
    """The newer version names the prompt; on the older one the place in the transcript is all there is."""
    for version in (OLD, NEW):
        found = payload(f"{event}.{version}")
        assert found["hook_event_name"] == event.partition(".")[0]
        assert found["transcript_path"].endswith(f"/{found['session_id']}.jsonl")
        assert ("prompt_id" in found) == (version == NEW)


def test_two_compactions_of_one_turn_share_its_prompt() -> None:
    first, second = payload(f"PreCompact.twice-first.{NEW}"), payload(f"PreCompact.twice-second.{NEW}")
    assert first == second
