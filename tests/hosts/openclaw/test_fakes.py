"""The two fakes and the network they live in: no host program needed."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..script import IDLE
from .model import FakeModel, Kind, kind_of, summary_of
from .network import Network
from .telegram import Chat, FakeTelegram

ASIDE = {"role": "user", "content": "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\n::say not me"}
FLUSH = {"role": "user", "content": "Pre-compaction memory flush. Store durable memories."}
TOOLS = [{"type": "function", "function": {"name": "read"}}]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Iterator[Network]:
    """Ordinary sockets: what is tried here needs no network of its own."""
    monkeypatch.setenv("APM_TEST_OPENCLAW_NETWORK", "shared")
    with Network(1) as made:
        yield made


@pytest.fixture
def model(network: Network, tmp_path: Path) -> Iterator[FakeModel]:
    with FakeModel(network.sockets[0], tmp_path) as made:
        yield made


@pytest.fixture
def telegram(network: Network) -> Iterator[FakeTelegram]:
    with FakeTelegram(network.sockets[0]) as made:
        yield made


def post(address: str, **body: Any) -> str:
    request = urllib.request.Request(address, json.dumps(body).encode(), {"content-type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=10) as reply:  # noqa: S310
        return str(reply.read().decode())


def ask(model: FakeModel, *messages: dict[str, Any], tools: Any = TOOLS) -> dict[str, Any]:
    return dict(json.loads(post(f"{model.url}/v1/chat/completions", messages=messages, tools=tools)))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_the_newest_prompt_is_the_script_and_the_hosts_asides_are_none(model: FakeModel) -> None:
    script = user('[Tue] hello\n::tool read {"path": "a"}\n::say done')
    first = ask(model, script, ASIDE)["choices"][0]
    (call,) = first["message"]["tool_calls"]
    assert (first["finish_reason"], call["function"]) == ("tool_calls", {"name": "read", "arguments": '{"path": "a"}'})
    second = ask(model, script, {"role": "assistant", "content": ""}, {"role": "tool", "content": "text of a"}, ASIDE)
    assert second["choices"][0]["message"]["content"] == "done"
    assert model.requests[1].tool_results == ["text of a"]
    assert ask(model, user("no script"))["choices"][0]["message"]["content"] == IDLE


def test_a_stream_says_the_same(model: FakeModel) -> None:
    text = post(f"{model.url}/v1/chat/completions", messages=[user("::usage 77\n::say hi")], tools=TOOLS, stream=True)
    *chunks, end = [line.removeprefix("data: ") for line in text.strip().split("\n\n")]
    values = [json.loads(chunk) for chunk in chunks]
    assert end == "[DONE]"
    assert [value["choices"][0]["delta"].get("content") for value in values if value["choices"]] == ["hi", None]
    assert values[-1]["usage"]["prompt_tokens"] == 77


def test_what_a_request_is_for(model: FakeModel) -> None:
    assert kind_of({"messages": [user("x")], "tools": TOOLS}) is Kind.MAIN
    assert kind_of({"messages": [user("::say x"), FLUSH], "tools": TOOLS}) is Kind.HOST_FLUSH
    assert kind_of({"messages": [user("::say x")]}) is Kind.SUMMARY
    model.on_host_flush = "::say kept"
    assert ask(model, user("::say x"), FLUSH)["choices"][0]["message"]["content"] == "kept"
    told = ask(model, user("berth 44"), tools=[])["choices"][0]["message"]["content"]
    assert told == summary_of({"messages": [user("berth 44")]})
    assert told.endswith("## Exact identifiers\n44")


def test_a_message_is_handed_out_until_it_is_taken_and_answers_are_kept(telegram: FakeTelegram) -> None:
    bot = f"{telegram.url}/bot1:x"
    topic = Chat(-5, 7)
    telegram.write(topic, 9, "/remem it")
    (update,) = json.loads(post(f"{bot}/getUpdates", timeout=10))["result"]
    assert json.loads(post(f"{bot}/getUpdates?timeout=0"))["result"] == [update]
    assert update["message"]["chat"]["type"] == "supergroup"
    assert update["message"]["entities"][0]["length"] == len("/remem")
    assert json.loads(post(f"{bot}/getUpdates", offset=update["update_id"] + 1, timeout=0))["result"] == []
    post(f"{bot}/sendMessage", chat_id=-5, message_thread_id=7, text="done")
    assert telegram.wait_for(topic, 0, "done", 10) == ["done"]
    assert telegram.texts_to(Chat(-5)) == []


@pytest.mark.host
def test_a_network_of_its_own_reaches_its_sockets_and_nothing_else(tmp_path: Path) -> None:
    code = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).close()"
    with Network(1) as network, FakeModel(network.sockets[0], tmp_path) as model:
        port = model.url.rpartition(":")[2]
        reach = [["127.0.0.1", port], ["192.0.2.1", "80"]]
        done = [network.run_inside([sys.executable, "-I", "-c", code, *place]) for place in reach]
    assert [each.returncode for each in done] == [0, 1]
    assert "Network is unreachable" in done[1].stderr
