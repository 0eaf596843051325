"""A model endpoint without a model: the Anthropic Messages API on the loopback, answering as the prompt says.

A request for a summary is answered with the endpoint's next summary, one that offers no tools (a title, a topic) with
`ASIDE`, every other one with the next step of the script in its newest prompt.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import TracebackType
from typing import cast

from .hangup import HangUpServer
from .script import Json, ScriptError, Step, messages_of, next_step, own_text, texts_of

ASIDE = "aside"
TOO_LONG = "prompt is too long: 205123 tokens > 200000 maximum"
SUMMARY = "<analysis>short</analysis><summary>They talked about the harbour.</summary>"

_SUMMARY_ORDER = re.compile(r"\byour task is to create a detailed summary\b", re.IGNORECASE)


class Kind(StrEnum):
    """What a request is for."""

    MAIN = "main"
    COMPACTION = "compaction"
    SIDE = "side"
    COUNT = "count"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived. `body` is empty where there was none."""

    number: int
    kind: Kind
    method: str
    path: str
    body: Json

    @property
    def text(self) -> str:
        """The whole body as JSON with every script kept legible: what a search for a canary reads."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def opening(self) -> str:
        """What the person, or the parent of a subagent, wrote first."""
        return next((text for message in messages_of(self.body) if (text := own_text(message))), "")

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(str(tool.get("name", "")) for tool in self.body.get("tools") or ())


def kind_of(method: str, path: str, body: Json) -> Kind:
    """What a request is for, told from its address, its tools and its last message."""
    address = path.split("?", 1)[0].rstrip("/")
    if method != "POST":
        return Kind.OTHER
    if address.endswith("/v1/messages/count_tokens"):
        return Kind.COUNT
    if not address.endswith("/v1/messages"):
        return Kind.OTHER
    messages = messages_of(body)
    if messages and any(_SUMMARY_ORDER.search(text) for text in texts_of(messages[-1])):
        return Kind.COMPACTION
    return Kind.MAIN if body.get("tools") else Kind.SIDE


def _chosen(names: tuple[str, ...], offered: tuple[str, ...]) -> str:
    for name in names:
        if name in offered:
            return name
    raise ScriptError(f"none of {', '.join(names)} is offered; there are {', '.join(sorted(offered))}")


def step_for(request: Request, summary: str = SUMMARY) -> Step:
    """What answers a request of kind main, compaction or side."""
    fixed = {Kind.COMPACTION: Step(text=summary), Kind.SIDE: Step(text=ASIDE)}
    return fixed.get(request.kind) or next_step(request.body)


def answer(request: Request, step: Step) -> Json:
    """The finished answer message that `step` makes to a request."""
    if step.tools:
        name = _chosen(step.tools, request.tool_names)
        block: Json = {"type": "tool_use", "id": f"toolu_{request.number:05d}", "name": name}
        block["input"] = step.arguments
    else:
        block = {"type": "text", "text": step.text}
    return {
        "id": f"msg_{request.number:05d}",
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model", "none"),
        "content": [block],
        "stop_reason": "tool_use" if step.tools else "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": step.usage,
            "output_tokens": 7,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
        },
    }


def stream_of(message: Json) -> Iterator[tuple[str, Json]]:
    """The same message as the named events of a streaming answer."""
    yield "message_start", {"message": message | {"content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield "content_block_start", {"index": index, "content_block": empty}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": ending, "usage": message["usage"]}
    yield "message_stop", {}


class _Server(HangUpServer):
    def __init__(self, owner: FakeAnthropic) -> None:
        super().__init__(_Handler)
        self.owner = owner


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """The record on disk is the log."""

    def do_HEAD(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        owner = cast(_Server, self.server).owner
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = {"not-json": raw.decode("utf-8", "replace")}
        request = owner.record(self.command, self.path, body)
        if request.kind is Kind.OTHER:
            known = self.command == "HEAD"
            self._send(200 if known else 404, {} if known else _error("not_found_error", self.path))
        elif request.kind is Kind.COUNT:
            self._send(200, {"input_tokens": len(raw) // 4})
        else:
            self._answer(owner, request)

    def _answer(self, owner: FakeAnthropic, request: Request) -> None:
        try:
            step = step_for(request, owner.summary_for(request))
            if step.held:
                owner.wait_for_release()
            if step.refused:
                self._send(400, _error("invalid_request_error", TOO_LONG))
                return
            message = answer(request, step)
        except ScriptError as error:
            owner.note_fault(f"request {request.number}: {error}")
            self._send(400, _error("invalid_request_error", str(error)))
            return
        if not request.body.get("stream"):
            self._send(200, message)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in stream_of(message):
            self._chunk(f"event: {name}\ndata: {json.dumps({'type': name} | data)}\n\n".encode())
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _send(self, status: int, value: Json) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _error(kind: str, text: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": text}}


class FakeAnthropic:
    """The endpoint, running while the `with` block does.

    Every request is kept in memory and written to `folder` as `NNNN-kind.json`. `summaries` are what the summariser
    answers, one after the other, and the last from then on; with directives in it, one is the script of the compacted
    conversation. Leaving the block lets go of all answers that are held, and raises `ScriptError` if a directive could
    not be obeyed, unless something else went wrong before.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summaries = [SUMMARY]
        self._released = threading.Event()
        folder.mkdir(parents=True, exist_ok=True)
        self._guard = threading.Lock()
        self._requests: list[Request] = []
        self._faults: list[str] = []
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="fake-anthropic")

    @property
    def url(self) -> str:
        """What goes into `ANTHROPIC_BASE_URL`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests so far, in order of arrival."""
        with self._guard:
            return tuple(self._requests)

    @property
    def main_requests(self) -> tuple[Request, ...]:
        """The turns of the agent and of its subagents: no summaries, no side questions, no counting."""
        return self.of_kind(Kind.MAIN)

    def of_kind(self, kind: Kind) -> tuple[Request, ...]:
        return tuple(request for request in self.requests if request.kind is kind)

    def opened_with(self, text: str) -> tuple[Request, ...]:
        """The main requests of the conversations whose first prompt begins with `text`."""
        return tuple(request for request in self.main_requests if request.opening.startswith(text))

    def record(self, method: str, path: str, body: object) -> Request:
        """Keep one request; the server calls it before it answers."""
        value = body if isinstance(body, dict) else {"not-an-object": body}
        kind = kind_of(method, path, value)
        with self._guard:
            request = Request(len(self._requests) + 1, kind, method, path, value)
            self._requests.append(request)
        shown = {"method": method, "path": path, "kind": kind, "body": value}
        target = self.folder / f"{request.number:04d}-{kind}.json"
        target.write_text(json.dumps(shown, ensure_ascii=False, indent=1), "utf-8", "surrogatepass")
        return request

    def summary_for(self, request: Request) -> str:
        """What the summariser answers to this request, if it is one for a summary."""
        asked = self.of_kind(Kind.COMPACTION)
        return self.summaries[min(asked.index(request), len(self.summaries) - 1) if request in asked else 0]

    def release(self) -> None:
        """Let go of every answer that is held, and of all that would be."""
        self._released.set()

    def wait_for_release(self) -> None:
        """Hold an answer back; the server calls it."""
        self._released.wait()

    def note_fault(self, text: str) -> None:
        """Remember that a script could not be obeyed."""
        with self._guard:
            self._faults.append(text)

    def __enter__(self) -> FakeAnthropic:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join()
        if error is None and self._faults:
            raise ScriptError("; ".join(self._faults))
