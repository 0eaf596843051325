from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.kernel.processes import Server

MEMORY = "/dev/shm"
ROOM = 1 << 30


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder in memory where there is room: these tests wait for thousands of fsyncs, and what a disk makes of one is
    tested on disks of their own."""
    if not os.access(MEMORY, os.W_OK) or os.statvfs(MEMORY).f_bavail * os.statvfs(MEMORY).f_frsize < ROOM:
        yield request.getfixturevalue("tmp_path_factory").mktemp("kernel")
        return
    with tempfile.TemporaryDirectory(prefix="apm-hooks-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def first() -> Iterator[Server]:
    with closing(Server()) as started:
        yield started


@pytest.fixture
def server(first: Server) -> Server:
    return first


@pytest.fixture(scope="session")
def servers(first: Server) -> Iterator[tuple[Server, ...]]:
    """Two, for what is done two at a time."""
    with closing(Server()) as second:
        yield first, second
