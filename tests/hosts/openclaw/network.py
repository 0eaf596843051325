"""A network with nothing in it but a loopback: the host that lives there reaches the two fakes, and nobody else.

The fakes themselves stay in the process of the tests: a socket belongs to the network in which it was opened,
whoever serves it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from ..claude import HostFailedError

_HOLDER = Path(__file__).with_name("loopback.py")
_WAYS = (
    (("unshare", "--net"), ("nsenter", "--net")),
    (
        ("unshare", "--user", "--map-current-user", "--net"),
        ("nsenter", "--user", "--preserve-credentials", "--net"),
    ),
)


class Network:
    """`COUNT` listening sockets in a network of their own, and the way into it.

    Needs util-linux and the right to make a network (root, or user namespaces). With
    `APM_TEST_OPENCLAW_NETWORK=shared` the sockets are ordinary ones.
    """

    def __init__(self, count: int) -> None:
        self.sockets: list[socket.socket] = []
        self._enter: tuple[str, ...] = ()
        self._line, self._theirs = socket.socketpair()
        self._holder: subprocess.Popen[bytes] | None = None
        if os.environ.get("APM_TEST_OPENCLAW_NETWORK") == "shared":
            self.sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
            return
        said = [self._hold(leave, enter, count) for leave, enter in _WAYS if not self.sockets]
        if not self.sockets:
            self.close()
            raise HostFailedError(
                f"no network of its own for OpenClaw: {'; '.join(said)}. Run the tests as root or allow user "
                "namespaces, or set APM_TEST_OPENCLAW_NETWORK=shared to let the host use this machine's network."
            )

    def _hold(self, leave: Sequence[str], enter: Sequence[str], count: int) -> str:
        """Try one way; empty when it worked, else what went wrong."""
        if not (shutil.which(leave[0]) and shutil.which(enter[0])):
            return f"{leave[0]} or {enter[0]} is not on PATH"
        number = str(self._theirs.fileno())
        command = [*leave, sys.executable, "-I", str(_HOLDER), number, str(count)]
        holder = subprocess.Popen(
            command, pass_fds=[self._theirs.fileno()], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self._line.settimeout(0.05)
        while True:
            try:
                _, numbers, _, _ = socket.recv_fds(self._line, 1, count)
                break
            except TimeoutError:
                if holder.poll() is not None:
                    assert holder.stderr
                    with holder.stderr as stream:
                        return stream.read().decode("utf-8", "replace").strip()
        assert holder.stderr
        holder.stderr.close()
        self.sockets = [socket.socket(fileno=each) for each in numbers]
        self._enter = (enter[0], "--target", str(holder.pid), *enter[1:], "--")
        self._holder = holder
        return ""

    def inside(self, command: Sequence[str]) -> list[str]:
        """The command line that runs a program in this network."""
        return [*self._enter, *command]

    def run_inside(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a small program in this network."""
        return subprocess.run(self.inside(command), capture_output=True, text=True, check=False)

    def close(self) -> None:
        """Let the network go; what still runs in it keeps it alive."""
        self._theirs.close()
        self._line.close()
        for each in self.sockets:
            each.close()
        if self._holder:
            self._holder.wait()

    def __enter__(self) -> Network:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
