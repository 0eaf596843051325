"""The installed line and the worker as processes: the same answers, whatever the machine does to them."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apm_hooks._version import __version__
from tests.openclaw import MAIN, OPS, STRANGER, bot, content, fixture, payload, tool
from tests.worker import Wire
from tests.workspaces import Bench

START = Path(__file__).parent.parent / "src/apm_hooks/start.py"
LINE = [sys.executable, "-I", "-S", str(START), "--host", "openclaw"]
SERVE = [sys.executable, "-I", "-m", "apm_hooks", "serve", "--host", "openclaw"]


@pytest.fixture
def made(tmp_path: Path) -> Bench:
    return bot(tmp_path)


def line(made: Bench, given: dict[str, Any] | bytes, *, env: dict[str, str] | None = None) -> dict[str, Any]:
    """What the installed line prints for a payload: one line of JSON, and it always succeeds."""
    data = given if isinstance(given, bytes) else json.dumps(given).encode()
    done = subprocess.run(LINE, input=data, env=env or made.env, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 1
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class Worker:
    """A worker of its own process, and one connection to it."""

    def __init__(self, path: Path, env: dict[str, str], *more: str) -> None:
        self.path = str(path)
        self.process = subprocess.Popen([*SERVE, "--socket", self.path, *more], env=env, stderr=subprocess.PIPE)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        deadline = time.monotonic() + 60
        while self.socket.connect_ex(self.path):
            assert time.monotonic() < deadline
            assert self.process.poll() is None
            time.sleep(0.02)
        self.file = self.socket.makefile("rb")

    def ask(self, given: dict[str, Any]) -> dict[str, Any]:
        request = {"id": 1, "version": __version__, "payload": given}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        found = json.loads(self.file.readline())
        assert found.keys() == {"id", "answer"}, found
        answer: dict[str, Any] = found["answer"]
        return answer

    def end(self, number: int = signal.SIGTERM) -> str:
        """End it, and what it said on standard error."""
        self.file.close()
        self.socket.close()
        if self.process.poll() is None:
            self.process.send_signal(number)
        _, said = self.process.communicate(timeout=60)
        return said.decode()


@pytest.fixture
def worker(tmp_path: Path, made: Bench) -> Iterator[Worker]:
    running = Worker(tmp_path / "w.sock", made.env)
    yield running
    running.end(signal.SIGKILL)


def turns(made: Bench) -> list[dict[str, Any]]:
    """Events of three sessions, none of whose answers holds a time."""
    tides = {"message": "what of the tides? 🌊 \udcff", "message_id": "7"}
    remem = {"message": "/remem the tides", "message_id": "8"}
    group = {"session_key": OPS, "is_group": True, "via": "pack"}
    read = tool("read", made, path="memory/main/longterm.md")
    return [
        payload("message", made, **tides), payload("bootstrap", made, **tides),
        payload("message", made, **group, **remem), payload("bootstrap", made, **group, **remem),
        payload("tool_call", made, **group, tool=read), payload("prompt", made, **remem),
        payload("bootstrap", made, senders=[STRANGER]), fixture("bootstrap.flush-turn-of-dm", made),
    ]  # fmt: skip


def test_the_line_and_the_worker_give_the_same_answers(tmp_path: Path, made: Bench, worker: Worker) -> None:
    (tmp_path / "other").mkdir()
    other = bot(tmp_path / "other")
    by_worker = [worker.ask(given) for given in turns(made)]
    by_line = [line(other, given) for given in turns(other)]
    assert by_worker == by_line
    shown = "".join(map(content, by_worker))
    assert "CANARY-DM" in shown
    assert "CANARY-ops" in shown
    assert "Flush 1" in shown


@pytest.mark.parametrize("data", [b"", b"nonsense", b"[1]", b"\xff\xfe", b"[" * 100_000, b'{"hook_event_name": 1}'])
def test_the_line_answers_even_what_is_no_event(made: Bench, data: bytes) -> None:
    found = line(made, data)
    assert found.keys() <= {"log"}


def test_a_worker_serves_workspaces_and_environments_side_by_side(tmp_path: Path, made: Bench, worker: Worker) -> None:
    stranger = payload("bootstrap", made, senders=[STRANGER])
    assert "CANARY" not in content(worker.ask(stranger))
    assert "CANARY-DM" in content(worker.ask({**stranger, "env": {"APM_OWNER_PEERS": STRANGER}}))
    assert "CANARY" not in content(worker.ask(stranger))
    (tmp_path / "b").mkdir()
    untrusted = bot(tmp_path / "b")
    found = worker.ask(payload("bootstrap", untrusted))
    assert "apm-hooks trust --workspace" in found["log"]


def test_a_worker_sees_changes_of_settings_and_trust(made: Bench, worker: Worker) -> None:
    bootstrap = payload("bootstrap", made)
    assert "CANARY-DM" in content(worker.ask(bootstrap))
    made.settings('owner_peers = ["77"]\n')
    assert "CANARY-DM" not in content(worker.ask(bootstrap))
    made.trust()
    assert "CANARY-DM" in content(worker.ask({**bootstrap, "senders": ["77"]}))
    (made.home / ".config/apm-hooks/trust.json").unlink()
    assert "files" not in worker.ask({**bootstrap, "senders": ["77"]})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_ends_in_order_when_it_is_told_to(made: Bench, worker: Worker, number: int) -> None:
    worker.ask(payload("bootstrap", made))
    assert worker.end(number) == ""
    assert worker.process.returncode == 0
    assert not os.path.exists(worker.path)


def test_a_worker_outlives_its_terminal(made: Bench, worker: Worker) -> None:
    worker.process.send_signal(signal.SIGHUP)
    assert "CANARY-DM" in content(worker.ask(payload("bootstrap", made)))


def test_a_worker_that_was_killed_leaves_room_for_the_next(tmp_path: Path, made: Bench, worker: Worker) -> None:
    before = worker.ask(payload("bootstrap", made))
    worker.end(signal.SIGKILL)
    assert os.path.exists(worker.path)
    again = Worker(tmp_path / "w.sock", made.env)
    assert again.ask(payload("bootstrap", made)) == before
    again.end()


def test_a_second_worker_goes_away_by_itself(made: Bench, worker: Worker) -> None:
    done = subprocess.run([*SERVE, "--socket", worker.path], env=made.env, timeout=60, check=False, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"another worker is there already" in done.stderr
    assert worker.ask(payload("bootstrap", made))


def test_a_worker_without_events_ends(tmp_path: Path, made: Bench) -> None:
    idle = Worker(tmp_path / "i.sock", made.env, "--idle", "0.1")
    assert idle.process.wait(30) == 0
    assert "no event came for a while" in idle.end()


def test_a_disk_that_takes_nothing_costs_no_memory(
    tmp_path: Path, made: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); {_RUN}"
    monkeypatch.setattr("tests.test_openclaw_worker.SERVE", [sys.executable, "-I", "-c", limited, *SERVE[4:]])
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 0
    full = Worker(tmp_path / "f.sock", made.env)
    answers = [full.ask(payload("bootstrap", made)) for _ in range(2)]
    assert answers[0] == answers[1]
    assert "CANARY-DM" in content(answers[0])
    denied = full.ask(payload("tool_call", made, session_key=OPS, is_group=True,
                              tool=tool("read", made, path="memory/main/index.md")))  # fmt: skip
    assert denied["deny"]
    full.end()


_RUN = "import sys; from apm_hooks.cli import main; sys.exit(main())"


def test_a_workers_place_can_be_asked_for_and_has_a_bound(made: Bench) -> None:
    env = {**made.env, "XDG_RUNTIME_DIR": "/run/user/1"}
    done = subprocess.run([*SERVE, "--print-socket"], env=env, timeout=60, check=True, capture_output=True)
    assert done.stdout.startswith(b"/run/user/1/apm-hooks/openclaw-")
    done = subprocess.run([*SERVE, "--socket", "/" + "x" * 200], env=env, timeout=60, check=False, capture_output=True)
    assert done.returncode == 2
    done = subprocess.run([*SERVE, "--socket", "/proc/none/w.sock"], env=env, timeout=60, check=False,
                          capture_output=True)  # fmt: skip
    assert done.returncode != 0
    assert b"/proc/none" in done.stderr


def test_an_event_that_takes_too_long_is_denied_or_passed_over(made: Bench) -> None:
    slow = (
        "import sys; sys.argv = ['x', '--host', 'openclaw']; from apm_hooks import start;"
        "from apm_hooks.cli import hook, openclaw_hook; import time; from dataclasses import replace;"
        "hook.LIMITS = replace(hook.LIMITS, hook_seconds=0.2);"
        "openclaw_hook.answer = lambda *given: time.sleep(30); start.main()"
    )
    for given, keys in (
        (payload("tool_call", made, session_key=OPS), {"deny"}),
        (payload("bootstrap", made, session_key=OPS), {"withhold"}),
        (payload("message", made, session_key=OPS), None),
        (payload("bootstrap", made, session_key=MAIN, senders=[], channel=""), None),
    ):
        done = subprocess.run([sys.executable, "-c", slow], input=json.dumps(given).encode(), env=made.env, timeout=60,
                              capture_output=True, check=False)  # fmt: skip
        assert done.returncode == 0
        assert (json.loads(done.stdout).keys() if done.stdout else None) == keys
        assert b"longer than" in done.stderr


def test_a_plugin_that_keeps_the_interpreter_to_itself_ends_the_worker(
    tmp_path: Path, made: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = (
        "import re; from apm_hooks.cli import openclaw_hook, serve; serve._STUCK_SECONDS = 3;"
        f"openclaw_hook.answer = lambda *given: re.match('(a+)+$', 'a' * 60 + 'b'); {_RUN}"
    )
    monkeypatch.setattr("tests.test_openclaw_worker.SERVE", [sys.executable, "-I", "-c", stuck, *SERVE[4:]])
    hanging = Worker(tmp_path / "h.sock", made.env)
    with pytest.raises(ValueError, match="Expecting value"):
        hanging.ask(payload("bootstrap", made))
    assert hanging.process.wait(60) != 0
    assert "Timeout" in hanging.end()


def test_sessions_beside_each_other_get_what_they_get_alone(tmp_path: Path, made: Bench, worker: Worker) -> None:
    made.settings('owner_peers = ["*"]\ntimezone = "UTC"\n')
    made.trust()
    keys = [f"agent:main:direct:{number}" for number in range(8)] + [OPS, f"{OPS}:thread:1"]
    shown: dict[str, list[dict[str, Any]]] = {}

    def converse(key: str) -> None:
        mine = Wire(worker.path)
        said = {"session_key": key, "is_group": key.startswith(OPS), "message": "the tides?", "via": "plugin"}
        names = ("message", "bootstrap", "prompt", "turn_end", "message", "bootstrap")
        shown[key] = [mine.ask(1, **payload(name, made, message_id=str(number // 4), **said))["answer"]
                      for number, name in enumerate(names)]  # fmt: skip
        mine.close()

    threads = [threading.Thread(target=converse, args=(key,)) for key in keys]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for key in keys:
        same = shown[OPS if key.startswith(OPS) else keys[0]]
        assert shown[key] == same
        assert len(shown[key][1]["files"]) == 2
        assert shown[key][5] == shown[key][1]
