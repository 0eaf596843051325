"""A threading web server for fakes, which can hang up on clients that keep their connections alive."""

from __future__ import annotations

import contextlib
import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class HangUpServer(ThreadingHTTPServer):
    """Joins its threads on closing. It listens on a socket that it is given, else on a free port of the loopback."""

    daemon_threads = False

    def __init__(self, handler: type[BaseHTTPRequestHandler], listening: socket.socket | None = None) -> None:
        where: Any = ("127.0.0.1", 0) if listening is None else listening.getsockname()
        super().__init__(where, handler, bind_and_activate=listening is None)
        if listening is not None:
            self.socket.close()
            self.socket = listening
            self.server_address = where
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        """Shut every connection that is open."""
        with self._guard:
            for connection in self._open:
                with contextlib.suppress(OSError):  # it may have gone by itself
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A host that is ended leaves broken connections behind: that is its business and prints nothing."""
