"""What runs inside a network of its own: `python -I loopback.py FD COUNT`.

Brings the loopback up, opens COUNT listening sockets on it, hands them over through the Unix socket FD, and stays, so
that the network does, until the other end of FD is closed.
"""

from __future__ import annotations

import array
import fcntl
import socket
import struct
import sys

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1


def bring_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sh14x", b"lo", 0)
        _, flags = struct.unpack("16sh14x", fcntl.ioctl(any_socket, _GET_FLAGS, asked))
        if not flags & _UP:
            fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def main() -> None:
    descriptor, count = int(sys.argv[1]), int(sys.argv[2])
    bring_up()
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    with socket.socket(fileno=descriptor) as line:
        numbers = array.array("i", [each.fileno() for each in sockets])
        line.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, numbers)])
        for each in sockets:
            each.close()
        line.recv(1)


if __name__ == "__main__":
    main()
