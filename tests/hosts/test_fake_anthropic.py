"""The scripted model itself: fast, no host program needed."""

from __future__ import annotations

import http.client
import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest

from .claude import start_contexts
from .fake_anthropic import ASIDE, SUMMARY, TOO_LONG, FakeAnthropic, Kind, Request, kind_of
from .script import EXHAUSTED, IDLE, ScriptError, Step, next_step, parse_script

TOOLS = [{"name": "Read"}, {"name": "Agent"}]
SUMMARY_ORDER = "Your task is to create a detailed summary of the conversation so far."


def user(*texts: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


def tool_result(*texts: str) -> dict[str, Any]:
    blocks = [{"type": "text", "text": text} for text in texts]
    return {"role": "user", "content": [{"type": "tool_result", "content": "::say not me"}, *blocks]}


def body(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "tools": TOOLS, "messages": list(messages), **more}


def post(fake: FakeAnthropic, value: object, address: str = "/v1/messages?beta=true") -> tuple[int, str]:
    data = json.dumps(value).encode()
    call = urllib.request.Request(fake.url + address, data, {"content-type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(call, timeout=10) as reply:  # noqa: S310
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def events(stream: str) -> list[dict[str, Any]]:
    found = []
    for part in stream.strip().split("\n\n"):
        name, data = part.split("\n")
        value = json.loads(data.removeprefix("data: "))
        assert name == f"event: {value['type']}"
        found.append(value)
    return found


def test_a_script_is_the_lines_that_begin_with_two_colons() -> None:
    text = 'Please do.\n::say one\n::usage 42\n::tool Read {"file_path": "/a b"}\n  ::say indented\n::say'
    assert parse_script(text) == (
        Step(text="one"),
        Step(tools=("Read",), arguments={"file_path": "/a b"}, usage=42),
        Step(text="", usage=42),
    )
    assert parse_script("::hold\n::say one\n::refuse\n::say two") == (
        Step(text="one", held=True),
        Step(refused=True),
        Step(text="two"),
    )


@pytest.mark.parametrize(
    "line",
    ["::sya hello", "::usage many", "::usage", "::tool", "::tool | {}", "::tool Read {", "::tool Read [1]"],
)
def test_a_directive_that_makes_no_sense_is_an_error(line: str) -> None:
    with pytest.raises(ScriptError):
        parse_script(line)


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([user("hello")], IDLE),
        ([user("::say a\n::say b")], "a"),
        ([user("::say a\n::say b"), said("a"), tool_result()], "b"),
        ([user("::say a"), said("a"), tool_result()], EXHAUSTED),
        ([user("::say a"), said("a"), user("::say c")], "c"),
        ([user("::say a"), said("a"), user("no script here")], IDLE),
        ([user("<system-reminder>\n::say reminder\n</system-reminder>", "::say person")], "person"),
        ([user("::say a\n::say b"), said("a"), tool_result("::say beside")], "b"),
        ([{"role": "user", "content": "::say plain"}], "plain"),
        ([user("::say a\n::say b"), {"role": "system", "content": "::say system"}], "a"),
        ([], IDLE),
    ],
)
def test_the_newest_prompt_and_the_answers_after_it_decide_the_step(messages: list[dict[str, Any]], text: str) -> None:
    assert next_step(body(*messages)).text == text


@pytest.mark.parametrize(
    ("method", "path", "value", "kind"),
    [
        ("POST", "/v1/messages?beta=true", body(user("hi")), Kind.MAIN),
        ("POST", "/v1/messages", body(user("hi"), tools=[]), Kind.SIDE),
        ("POST", "/v1/messages", body(user("hi"), said("x"), user(SUMMARY_ORDER)), Kind.COMPACTION),
        ("POST", "/v1/messages", body(user("hi"), said("x"), tool_result(SUMMARY_ORDER)), Kind.COMPACTION),
        ("POST", "/v1/messages", body(user(SUMMARY_ORDER), said(SUMMARY), user("on")), Kind.MAIN),
        ("POST", "/v1/messages/count_tokens", body(user("hi")), Kind.COUNT),
        ("POST", "/api/event_logging/batch", {}, Kind.OTHER),
        ("HEAD", "/", {}, Kind.OTHER),
    ],
)
def test_each_request_has_its_kind(method: str, path: str, value: dict[str, Any], kind: Kind) -> None:
    assert kind_of(method, path, value) is kind


def test_a_plain_answer_and_its_record(tmp_path: Path) -> None:
    with FakeAnthropic(tmp_path) as fake:
        assert fake.url.startswith("http://127.0.0.1:")
        status, text = post(fake, body(user("::usage 5\n::say 好")))
        post(fake, body(user("a title, please"), tools=[]))
        post(fake, body(user(SUMMARY_ORDER)))
    message = json.loads(text)
    assert status == 200
    assert message["content"] == [{"type": "text", "text": "好"}]
    assert (message["stop_reason"], message["usage"]["input_tokens"]) == ("end_turn", 5)
    assert [request.kind for request in fake.requests] == [Kind.MAIN, Kind.SIDE, Kind.COMPACTION]
    assert [request.number for request in fake.main_requests] == [1]
    assert "好" in fake.requests[0].text
    stored = sorted(path.name for path in tmp_path.iterdir())
    assert stored == ["0001-main.json", "0002-side.json", "0003-compaction.json"]
    assert json.loads((tmp_path / stored[0]).read_text("utf-8"))["body"] == fake.requests[0].body


def test_side_questions_and_summaries_use_up_no_step(tmp_path: Path) -> None:
    with FakeAnthropic(tmp_path) as fake:
        aside = json.loads(post(fake, body(user("::say mine"), tools=[]))[1])
        summary = json.loads(post(fake, body(user("::say mine"), said("x"), user(SUMMARY_ORDER)))[1])
    assert aside["content"][0]["text"] == ASIDE
    assert summary["content"][0]["text"] == SUMMARY


def test_a_streamed_tool_call(tmp_path: Path) -> None:
    script = '::tool Task|Agent {"prompt": "::say inner"}'
    with FakeAnthropic(tmp_path) as fake:
        _, stream = post(fake, body(user(script), stream=True))
    found = events(stream)
    assert [event["type"] for event in found] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert found[0]["message"]["content"] == []
    assert found[1]["content_block"]["name"] == "Agent"
    assert json.loads(found[2]["delta"]["partial_json"]) == {"prompt": "::say inner"}
    assert found[4]["delta"]["stop_reason"] == "tool_use"


def test_a_streamed_text(tmp_path: Path) -> None:
    with FakeAnthropic(tmp_path) as fake:
        _, stream = post(fake, body(user("::say 早 morning"), stream=True))
    found = events(stream)
    assert found[2]["delta"] == {"type": "text_delta", "text": "早 morning"}
    assert found[4]["delta"]["stop_reason"] == "end_turn"


def test_counting_and_unknown_addresses(tmp_path: Path) -> None:
    with FakeAnthropic(tmp_path) as fake:
        status, counted = post(fake, body(user("hi")), "/v1/messages/count_tokens?beta=true")
        missing, _ = post(fake, {}, "/v1/elsewhere")
        head = urllib.request.Request(fake.url, method="HEAD")  # noqa: S310
        with urllib.request.urlopen(head, timeout=10) as reply:  # noqa: S310
            assert (reply.status, reply.read()) == (200, b"")
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(fake.url + "/v1/models", timeout=10)  # noqa: S310
        caught.value.close()
    assert status == 200
    assert json.loads(counted)["input_tokens"] > 0
    assert (missing, caught.value.code) == (404, 404)
    assert [request.kind for request in fake.requests] == [Kind.COUNT, Kind.OTHER, Kind.OTHER, Kind.OTHER]


def test_a_bad_script_is_told_to_the_host_and_then_to_the_test(tmp_path: Path) -> None:
    fake = FakeAnthropic(tmp_path)
    with pytest.raises(ScriptError, match="request 1: there is no directive ::sya"), fake:
        status, text = post(fake, body(user("::sya hello")))
    assert status == 400
    assert json.loads(text)["error"]["type"] == "invalid_request_error"


def test_a_tool_that_is_not_offered_is_a_bad_script(tmp_path: Path) -> None:
    refusal = "none of Bash is offered; there are Agent, Read"
    with pytest.raises(ScriptError, match=refusal), FakeAnthropic(tmp_path) as fake:
        post(fake, body(user("::tool Bash {}")))


def test_another_error_is_not_hidden_by_a_bad_script(tmp_path: Path) -> None:
    with pytest.raises(KeyError), FakeAnthropic(tmp_path) as fake:
        post(fake, body(user("::sya hello")))
        raise KeyError("the test's own")


def test_a_conversation_is_known_by_how_its_first_prompt_begins(tmp_path: Path) -> None:
    errand = "errand\n::say inner"
    with FakeAnthropic(tmp_path) as fake:
        post(fake, body(user(f"::tool Agent {json.dumps({'prompt': errand})}")))
        post(fake, body(user("<system-reminder>\nx\n</system-reminder>", errand)))
    assert [request.number for request in fake.opened_with("errand")] == [2]


def test_start_contexts_are_read_out_of_the_reminders() -> None:
    def shown(text: str) -> str:
        return f"<system-reminder>\nSessionStart hook additional context: {text}\n</system-reminder>"

    other = "<system-reminder>\nThe date.\n</system-reminder>"
    first = user(shown("one\ntwo\n"), other, "::say hi")
    value = body(first, said("hi"), user(shown("one\ntwo\n") + "\n", "::say again"))
    request = Request(1, Kind.MAIN, "POST", "/v1/messages", value)
    assert start_contexts(request) == ["one\ntwo\n", "one\ntwo\n"]
    assert start_contexts(Request(1, Kind.MAIN, "POST", "/v1/messages", cast("dict[str, Any]", {}))) == []


def test_leaving_does_not_wait_for_a_client_that_keeps_its_connection(tmp_path: Path) -> None:
    with FakeAnthropic(tmp_path) as fake:
        host, _, port = fake.url.removeprefix("http://").partition(":")
        client = http.client.HTTPConnection(host, int(port), timeout=10)
        client.request("POST", "/v1/messages", json.dumps(body(user("::say kept"))))
        assert "kept" in client.getresponse().read().decode()
    client.close()


def test_a_refused_prompt_is_an_error_of_the_service(tmp_path: Path) -> None:
    with FakeAnthropic(tmp_path) as fake:
        status, text = post(fake, body(user("::refuse\n::say after")))
        assert (status, json.loads(text)["error"]["message"]) == (400, TOO_LONG)
        assert "after" in post(fake, body(user("::refuse\n::say after"), said("x"), tool_result()))[1]


def test_summaries_come_one_after_the_other_and_the_last_stays(tmp_path: Path) -> None:
    with FakeAnthropic(tmp_path) as fake:
        fake.summaries = ["one", "two"]
        answers = [post(fake, body(user(SUMMARY_ORDER)))[1] for _ in range(3)]
    assert [json.loads(answer)["content"][0]["text"] for answer in answers] == ["one", "two", "two"]


def test_a_held_answer_comes_when_it_is_let_go(tmp_path: Path) -> None:
    with FakeAnthropic(tmp_path) as fake, ThreadPoolExecutor() as pool:
        answer = pool.submit(post, fake, body(user("::hold\n::say late")))
        while not fake.main_requests:
            assert not answer.done()
        assert not answer.done()
        fake.release()
        assert "late" in answer.result(10)[1]
