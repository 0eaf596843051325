"""The worker: what it answers, what it survives, when it ends."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from apm_hooks import fastlane, serving
from apm_hooks._version import __version__
from apm_hooks.errors import SettingsError, UsageError
from apm_hooks.serving import Runtimes, Server, socket_path
from tests.worker import QUICK, Running, Wire, echo, listens, served, until
from tests.workspaces import bench


@pytest.fixture
def path(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path / "run" / "w.sock")
    while Wire.made:
        Wire.made.pop().close()


def test_each_request_gets_its_answer_by_its_id(path: str) -> None:
    with served(path):
        wire = Wire(path)
        for id_ in (1, "two", 3):
            assert wire.ask(id_, message=f"tide {id_} 🌊") == {"id": id_, "answer": {"context": f"tide {id_} 🌊"}}
        for id_ in range(20):
            wire.send(id_, session_key=str(id_), message="x")
        assert {wire.reply()["id"] for _ in range(20)} == set(range(20))
    assert wire.reply() is None
    assert not os.path.exists(path)


def test_socket_and_folder_are_this_users_alone(path: str) -> None:
    with served(path):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
    os.chmod(os.path.dirname(path), 0o720)
    with pytest.raises(SettingsError, match="written by others"):
        Server(path, echo, hung=lambda: None, limits=QUICK).run()


def test_another_users_process_gets_nothing(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(path):
        monkeypatch.setattr(os, "geteuid", lambda: 4321)
        wire = Wire(path)
        assert wire.reply() is None
        monkeypatch.undo()
        assert Wire(path).ask(message="x")["answer"]


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        (b"nonsense", {"id": None, "error": "bad"}),
        (b"\xff\xfe\x00", {"id": None, "error": "bad"}),
        (b"[" * 100_000, {"id": None, "error": "bad"}),
        (b"[]", {"id": None, "error": "bad"}),
        (b'{"id": {}}', {"id": None, "error": "version"}),
        (b'{"id": 3, "version": "0.0", "payload": {}}', {"id": 3, "error": "version"}),
        (json.dumps({"id": 3, "version": __version__, "payload": []}).encode(), {"id": 3, "error": "bad"}),
    ],
)
def test_a_line_that_is_no_request_ends_its_connection_alone(path: str, line: bytes, reply: object) -> None:
    with served(path):
        other, wire = Wire(path), Wire(path)
        wire.socket.sendall(line + b"\n")
        assert wire.reply() == reply
        assert wire.reply() is None
        assert other.ask(message="still there")["answer"] == {"context": "still there"}


def test_a_line_without_an_end_is_cut_off(path: str) -> None:
    with served(path, limits=replace(QUICK, request_bytes=10_000)):
        wire = Wire(path)
        wire.socket.sendall(b"x" * 9_000)
        wire.socket.sendall(b"x" * 30_000)
        assert wire.reply() == {"id": None, "error": "bad"}
        assert Wire(path).ask(message="y" * 5_000)["answer"]


def test_a_client_that_sends_no_more_still_gets_its_answers(path: str) -> None:
    with served(path):
        wire = Wire(path)
        wire.send(1, message="a")
        wire.socket.sendall(json.dumps({"id": 2, "version": __version__, "payload": {}}).encode())
        wire.socket.shutdown(socket.SHUT_WR)
        assert {wire.reply()["id"], wire.reply()["id"]} == {1, 2}
        assert wire.reply() is None


def test_clients_that_go_away_or_say_nothing_harm_nobody(path: str) -> None:
    with served(path, limits=replace(QUICK, connections=205)):
        idle = [Wire(path) for _ in range(200)]
        gone = Wire(path)
        gone.send(message="x")
        gone.close()
        assert Wire(path).ask(message="x")["answer"]
        more = [Wire(path) for _ in range(10)]
        assert more[-1].reply() == {"id": None, "error": "busy"}
        assert idle[0].ask(message="x")["answer"]


def test_who_takes_no_answers_is_let_go(path: str) -> None:
    def large(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"context": "x" * 1_000_000}

    with served(path, large, replace(QUICK, drain_seconds=0.05)):
        wire = Wire(path)
        for number in range(8):
            wire.send(number, session_key=str(number))
        assert Wire(path).ask(message="x")["answer"]
        until(lambda: _is_cut(wire))


def _is_cut(wire: Wire) -> bool:
    try:
        wire.send()
    except OSError:
        return True
    return False


def test_one_session_has_one_event_at_a_time_and_sessions_go_beside_each_other(path: str) -> None:
    together = threading.Barrier(2, timeout=20)
    at_work: list[str] = []
    clashes: list[str] = []

    def slow(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        key = payload["session_key"]
        clashes.extend(each for each in at_work if each == key)
        at_work.append(key)
        if payload.get("message") == "meet":
            together.wait()
        at_work.remove(key)
        return {}

    with served(path, slow):
        wire = Wire(path)
        for id_, (key, text) in enumerate([("a", "meet"), ("a", ""), ("a", ""), ("b", "meet"), ("b", "")]):
            wire.send(id_, session_key=key, message=text)
        order = [wire.reply()["id"] for _ in range(5)]
    assert clashes == []
    assert [id_ for id_ in order if id_ < 3] == [0, 1, 2]
    assert [id_ for id_ in order if id_ > 2] == [3, 4]


def test_more_events_than_can_wait_are_refused(path: str) -> None:
    go = threading.Event()

    def waits(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        go.wait(20)
        return {}

    with served(path, waits, replace(QUICK, events=3)):
        wire = Wire(path)
        for id_ in range(4):
            wire.send(id_)
        assert wire.reply() == {"id": 3, "error": "busy"}
        go.set()
        assert [wire.reply() for _ in range(3)] == [{"id": id_, "answer": {}} for id_ in range(3)]


def test_an_event_that_raises_is_one_that_failed(path: str) -> None:
    def fails(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        raise MemoryError if payload else KeyError

    with served(path, fails):
        wire = Wire(path)
        assert wire.ask(1) == {"id": 1, "error": "failed"}
        assert wire.ask(2, message="x") == {"id": 2, "error": "failed"}


def test_an_event_that_hangs_ends_the_worker(path: str) -> None:
    go = threading.Event()

    def hangs(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        go.wait(20)
        return {}

    with served(path, hangs, replace(QUICK, late_seconds=0.2)) as running:
        assert Wire(path).ask(5) == {"id": 5, "error": "late"}
        assert running.ended() == "hung"
        assert running.hung.is_set()
        assert not os.path.exists(path)
        go.set()


def test_what_is_worked_on_is_answered_before_the_end(path: str) -> None:
    at_work, go = threading.Event(), threading.Event()

    def waits(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        at_work.set()
        go.wait(20)
        return {}

    with served(path, waits) as running:
        wire, other = Wire(path), Wire(path)
        wire.send(1, session_key="a")
        assert at_work.wait(20)
        running.server.stop("stopped")
        assert other.ask(2, session_key="b") == {"id": 2, "error": "ending"}
        assert other.reply() is None
        until(lambda: not os.path.exists(path))
        go.set()
        assert wire.reply() == {"id": 1, "answer": {}}
        assert running.ended() == "stopped"
        assert not running.hung.is_set()


def test_a_worker_without_work_ends(path: str) -> None:
    with served(path, limits=replace(QUICK, idle_seconds=0.05)) as running:
        assert running.ended() == "idle"


def test_an_upgrade_ends_the_worker_before_it_answers(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(path) as running:
        assert Wire(path).ask()["answer"]
        before = serving.installed()
        monkeypatch.setattr(serving, "installed", lambda: (*before, "another"))
        assert running.ended() == "changed"


def test_files_of_the_library_are_what_an_upgrade_is_told_by(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "apm_hooks"
    (package / "cli").mkdir(parents=True)
    (package / "fastlane.py").write_text("")
    (package / "cli/hook.py").write_text("")
    real = fastlane
    names = {"__file__": str(package / "fastlane.py"), "stamp_of": real.stamp_of,
             "installation_stamps": real.installation_stamps}  # fmt: skip
    monkeypatch.setattr(serving, "fastlane", SimpleNamespace(**names))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    (tmp_path / "site").mkdir()
    seen = {serving.installed()}
    (package / "cli/hook.py").write_text("x")
    seen.add(serving.installed())
    (package / "new.py").write_text("")
    seen.add(serving.installed())
    (tmp_path / "site/plugin.dist-info").mkdir()
    seen.add(serving.installed())
    assert len(seen) == 4


def test_a_worker_whose_socket_is_anothers_ends_and_leaves_it(path: str) -> None:
    with served(path) as running:
        os.unlink(path)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(path)
            assert running.ended() == "replaced"
            assert os.path.exists(path)


@pytest.mark.parametrize("stale", ["socket", "file"])
def test_what_a_dead_worker_left_is_taken_away(path: str, stale: str) -> None:
    os.mkdir(os.path.dirname(path), 0o700)
    if stale == "socket":
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(path)
    else:
        Path(path).write_text("x")
    with served(path):
        assert Wire(path).ask(message="x")["answer"]


def test_of_two_workers_one_is_enough(path: str) -> None:
    with served(path) as first:
        wire = Wire(path)
        assert Running(path, echo, QUICK).ended() == "taken"
        assert wire.ask(message="x")["answer"]
        assert first.thread.is_alive()


def test_two_workers_that_start_at_once_leave_one(path: str) -> None:
    both = [Running(path, echo, QUICK) for _ in range(6)]
    until(lambda: sum(each.thread.is_alive() for each in both) == 1 and listens(path))
    assert Wire(path).ask(message="x")["answer"]
    for each in both:
        each.server.stop()
    assert sorted(each.ended() for each in both) == ["stopped", *["taken"] * 5]


def test_the_sockets_place_depends_on_the_users_folders_alone(tmp_path: Path) -> None:
    env = {"HOME": "/home/ann", "XDG_RUNTIME_DIR": "/run/user/1000"}
    place = socket_path(env, "openclaw")
    assert place == "/run/user/1000/apm-hooks/openclaw-c79687d0997e4193.sock"
    assert socket_path({**env, "PATH": "/bin"}, "openclaw") == place
    assert socket_path({**env, "XDG_STATE_HOME": "/state"}, "openclaw") != place
    assert socket_path({"HOME": "/home/ann"}, "openclaw").startswith("/home/ann/.cache/apm-hooks/run/openclaw-")
    assert socket_path({"HOME": "/home/ann", "XDG_RUNTIME_DIR": "run"}, "openclaw").startswith("/home/ann/.cache/")
    with pytest.raises(UsageError, match="too long for a socket"):
        socket_path({"HOME": "/home/" + "a" * 100}, "openclaw")


def test_runtimes_are_kept_by_workspace_and_environment(tmp_path: Path) -> None:
    made = bench(tmp_path)
    opened: list[str] = []

    def open_one(root: str, env: Mapping[str, str]) -> Any:
        opened.append(root)
        if root == "broken":
            raise SettingsError("no")
        return made.runtime()

    runtimes = Runtimes(open_one, most=2)
    first = runtimes("a", {"X": "1"})
    assert runtimes("a", {"X": "1"}) is first
    assert runtimes("a", {"X": "2"}) is not first
    for _ in range(2):
        with pytest.raises(SettingsError):
            runtimes("broken", {})
    assert runtimes("b", {}) is runtimes("b", {})
    assert runtimes("a", {"X": "1"}) is not first
    assert opened == ["a", "a", "broken", "broken", "b", "a"]
