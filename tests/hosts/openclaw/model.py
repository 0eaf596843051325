"""A model endpoint without a model: OpenAI's chat completions, answering as the newest prompt says (see `script.py`).

A request for a summary, and the host's own turn for writing memory down, have no script in their newest prompt: the one
gets `summary_of`, the other what `on_host_flush` says.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ..script import Json, ScriptError, Step, blocks_of, messages_of, next_step, own_text
from .endpoint import Endpoint, Exchange

MODEL = "fake-1"
_FLUSH_ORDER = re.compile(r"pre-compaction memory flush", re.IGNORECASE)
_ASIDE = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>"
_SESSION = re.compile(r"^Runtime: .*\| session=(\S+) \|", re.MULTILINE)
_IDENTIFIER = re.compile(r"[\w./:-]*[0-9][\w./:-]*")


class Kind(StrEnum):
    """What a request is for."""

    MAIN = "main"
    HOST_FLUSH = "host-flush"
    SUMMARY = "summary"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived."""

    number: int
    kind: Kind
    body: Json

    @property
    def conversation(self) -> list[Json]:
        """The messages, without those in which the host tells the model of itself."""
        return [each for each in messages_of(self.body) if not own_text(each).startswith(_ASIDE)]

    @property
    def text(self) -> str:
        """The whole body as JSON with every script kept legible: what a search for a canary reads."""
        return json.dumps(self.body, ensure_ascii=False)

    @property
    def system(self) -> str:
        """The system prompt."""
        roles = ("system", "developer")
        return "\n".join(_said(message) for message in messages_of(self.body) if message.get("role") in roles)

    @property
    def prompt(self) -> str:
        """The newest message of a user, with all that was put around it."""
        return next((text for message in reversed(self.conversation) if (text := own_text(message))), "")

    @property
    def session_key(self) -> str:
        """The conversation, as the host tells the model once; empty where it does not."""
        found = _SESSION.search("\n".join(own_text(message) for message in self.conversation))
        return found[1] if found else ""

    @property
    def tool_results(self) -> list[str]:
        """What the tools of the running turn gave back, in order."""
        return [_said(message) for message in self.behind if message.get("role") == "tool"]

    @property
    def behind(self) -> list[Json]:
        """The messages after the newest prompt."""
        behind: list[Json] = []
        for message in self.conversation:
            behind = [] if own_text(message) else [*behind, message]
        return behind

    @property
    def tool_names(self) -> tuple[str, ...]:
        return tuple(str(tool["function"]["name"]) for tool in self.body.get("tools") or ())


def _said(message: Json) -> str:
    return "\n".join(str(block.get("text", "")) for block in blocks_of(message))


def kind_of(body: Json) -> Kind:
    """What a request is for, told from its tools and its newest prompt."""
    if "messages" not in body:
        return Kind.OTHER
    newest = Request(0, Kind.OTHER, body).prompt
    if _FLUSH_ORDER.search(newest):
        return Kind.HOST_FLUSH
    return Kind.MAIN if body.get("tools") else Kind.SUMMARY


def summary_of(body: Json) -> str:
    """A summary that passes the host's check: its headings, every identifier that it may look for, nothing pending."""
    names = sorted(set(_IDENTIFIER.findall("\n".join(_said(each) for each in messages_of(body)))))[:80]
    parts = {"Decisions": "none", "Open TODOs": "none", "Constraints/Rules": "none", "Pending user asks": "none"}
    parts["Exact identifiers"] = " ".join(names) or "none"
    return "\n".join(f"## {heading}\n{text}" for heading, text in parts.items())


def choice_of(request: Request, step: Step) -> tuple[Json, str]:
    """The assistant's message that `step` makes, and why it ends."""
    if not step.tools:
        return {"role": "assistant", "content": step.text}, "stop"
    offered = [name for name in step.tools if name in request.tool_names]
    if not offered:
        raise ScriptError(f"none of {', '.join(step.tools)} is offered: {', '.join(request.tool_names)}")
    function = {"name": offered[0], "arguments": json.dumps(step.arguments, ensure_ascii=False)}
    call = {"id": f"call_{request.number:05d}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}, "tool_calls"


def answer(request: Request, step: Step) -> Json:
    """The finished answer to a request."""
    message, why = choice_of(request, step)
    return {
        "id": f"chatcmpl-{request.number:05d}",
        "object": "chat.completion",
        "created": 1_700_000_000 + request.number,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": why}],
        "usage": {"prompt_tokens": step.usage, "completion_tokens": 7, "total_tokens": step.usage + 7},
    }


def chunks_of(done: Json) -> Iterator[str]:
    """The same answer in the pieces of a stream."""
    frame = {**done, "object": "chat.completion.chunk"}
    usage = frame.pop("usage")
    (choice,) = frame.pop("choices")
    message = dict(choice["message"])
    calls = message.pop("tool_calls", None)
    delta = {**message, "tool_calls": [{"index": 0, **calls[0]}]} if calls else message
    yield json.dumps({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield json.dumps({**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    yield json.dumps({**frame, "choices": [], "usage": usage})
    yield "[DONE]"


class FakeModel(Endpoint):
    """The endpoint. Every request is kept, and written to `folder` as `NNNN-kind.json`.

    `on_host_flush` is the script of the host's own turn for writing memory down.
    """

    def __init__(self, listening: socket.socket, folder: Path) -> None:
        super().__init__(listening)
        self.folder = folder
        self.on_host_flush = "::say NO_REPLY"
        self.faults: list[str] = []
        self._requests: list[Request] = []
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def requests(self) -> tuple[Request, ...]:
        """All requests so far, in order of arrival."""
        with self.changed:
            return tuple(self._requests)

    def serve(self, exchange: Exchange, path: str, body: Json) -> None:
        if not path.endswith("/chat/completions"):
            exchange.send({"object": "list", "data": [{"id": MODEL, "object": "model"}]})
            return
        request = self._keep(body)
        try:
            done = answer(request, self._step(request))
        except ScriptError as error:
            with self.changed:
                self.faults.append(f"request {request.number}: {error}")
            exchange.send({"error": {"message": str(error), "type": "invalid_request_error"}}, 400)
            return
        if body.get("stream"):
            exchange.stream(chunks_of(done))
        else:
            exchange.send(done)

    def _step(self, request: Request) -> Step:
        if request.kind is Kind.SUMMARY:
            return Step(text=summary_of(request.body))
        if request.kind is Kind.HOST_FLUSH:
            return next_step({"messages": [{"role": "user", "content": self.on_host_flush}, *request.behind]})
        step = next_step({"messages": request.conversation})
        if step.refused:
            raise ScriptError("a refused request is not told to this host")
        return step

    def _keep(self, body: Json) -> Request:
        kind = kind_of(body)
        with self.changed:
            request = Request(len(self._requests) + 1, kind, body)
            self._requests.append(request)
            self.changed.notify_all()
        target = self.folder / f"{request.number:04d}-{kind}.json"
        target.write_text(json.dumps(body, ensure_ascii=False, indent=1), "utf-8", "surrogatepass")
        return request
