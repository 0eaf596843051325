"""The hook command with streams that are closed, full, or read by nobody: exit 0, a whole state, and no answer in a
file that was opened in the stream's place."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from apm_hooks import activity
from apm_hooks.hosts.hookline import hook_line
from tests.kernel.processes import Server, environment
from tests.kernel.tools import flushes, fresh, litter, number_of
from tests.workspaces import Bench, payload

STREAMS = {"stdout is full": ">/dev/full", "stderr is full": "2>/dev/full", "nobody reads": "",
           "stdout is closed": ">&-", "stderr is closed": "2>&-", "all are closed": "<&- >&- 2>&-"}  # fmt: skip
RECORDED = ("stdout is full", "stderr is full", "nobody reads")
"""Here the host asked, and could not be answered: the flush is on record, so that its turn's end settles it."""
EVENTS = ("UserPromptSubmit", "Stop", "SessionStart")


def hook(made: Bench, name: str, redirection: str) -> subprocess.CompletedProcess[bytes]:
    """One event through the line that a host's shell runs; without a redirection into a pipe that nobody reads."""
    event = payload(made, hook_event_name=name, prompt="/remem keep this")
    channel = subprocess.PIPE
    if not redirection:
        gone, channel = os.pipe()
        os.close(gone)
    # The line is a list of commands; what is redirected is all of it.
    line = f"{{ {hook_line()}; }} {redirection}"
    try:
        return subprocess.run(["sh", "-c", line], input=json.dumps(event).encode(), env={**environment(), **made.env},
                              stdout=channel, stderr=subprocess.PIPE, check=False, timeout=60)  # fmt: skip
    finally:
        if not redirection:
            os.close(channel)


def test_no_stream_costs_the_state_or_the_turn(tmp_path: Path, server: Server) -> None:
    def work(which: str) -> None:
        made = fresh(tmp_path / which.replace(" ", "-"), server=None)
        assert number_of(made) == 0
        for name in EVENTS:
            done = hook(made, name, STREAMS[which])
            assert done.returncode == 0, f"{which}: {done.stderr!r}"
            assert b"Traceback" not in done.stderr, f"{which}: {done.stderr!r}"
        assert number_of(made) in ((1,) if which in RECORDED else (0, 1)), which
        whole(made)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, STREAMS))
    for which in STREAMS:
        made = Bench(tmp_path / which.replace(" ", "-") / "home", tmp_path / which.replace(" ", "-") / "ws")
        flushes(server, made, number_of(made))


def whole(made: Bench) -> None:
    """Nothing that was meant for a stream is in a file."""
    for folder in activity.folders(str(made.root)):
        assert activity.doubts_of(str(made.root), folder) == []
    for file in made.root.rglob(".apm/ledger/*.jsonl"):
        assert all("e" in json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    for file in made.root.rglob("*"):
        if file.is_file():
            assert "hookSpecificOutput" not in file.read_text(encoding="utf-8", errors="replace"), file
    assert litter(made) == []
