"""A small HTTP server on a socket that was opened elsewhere: what the two fakes of an OpenClaw host have in common."""

from __future__ import annotations

import json
import socket
import threading
import urllib.parse
from abc import ABC, abstractmethod
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Self, cast

from ..hangup import HangUpServer
from ..script import Json


class Exchange(BaseHTTPRequestHandler):
    """One request: the endpoint's `serve` is given the path and the body as an object, and answers through this."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """What was asked is kept by the fakes themselves."""

    def do_GET(self) -> None:
        self._serve({})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        if "urlencoded" in (self.headers.get("content-type") or ""):
            self._serve(dict(urllib.parse.parse_qsl(raw.decode("utf-8", "replace"))))
            return
        try:
            body = json.loads(raw) if raw else {}
        except ValueError:
            body = {"not-json": raw.decode("utf-8", "replace")}
        self._serve(body if isinstance(body, dict) else {"not-an-object": body})

    def _serve(self, body: Json) -> None:
        path, _, query = self.path.partition("?")
        cast(_Server, self.server).owner.serve(self, path, {**dict(urllib.parse.parse_qsl(query)), **body})

    def send(self, value: object, status: int = 200) -> None:
        """Answer with JSON."""
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, lines: Iterable[str]) -> None:
        """Answer with an event stream, one piece of data a line."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream; charset=utf-8")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for line in (*lines, ""):
            data = f"data: {line}\n\n".encode() if line else b""
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))


class _Server(HangUpServer):
    def __init__(self, owner: Endpoint, listening: socket.socket) -> None:
        super().__init__(Exchange, listening)
        self.owner = owner


class Endpoint(ABC):
    """A server that runs while the `with` block does; `changed` guards what a fake keeps, and wakes who waits."""

    def __init__(self, listening: socket.socket) -> None:
        self.changed = threading.Condition()
        self.closing = False
        self._server = _Server(self, listening)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @abstractmethod
    def serve(self, exchange: Exchange, path: str, body: Json) -> None:
        """Answer one request; `body` holds what stood behind the path too."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.changed:
            self.closing = True
            self.changed.notify_all()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._thread.join()
