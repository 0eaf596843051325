"""Drive the real OpenClaw: a gateway with a Telegram bot, in a network of its own, against a scripted model.

An `OpenClaw` owns one folder: `home/`, `state/` (the host's), `workspace/` and `tmp/`; nothing of the person who runs
the tests reaches the programs in it but `PATH`. `$APM_TEST_OPENCLAW` names another OpenClaw to drive than the pinned
one: a version that `tools/install_hosts.py openclaw@VERSION` installed, or the path of an `openclaw.mjs`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..claude import INSTALLER, HostFailedError, kill_group
from ..workspace import APM_HOOKS
from .model import MODEL, FakeModel, Kind, Request
from .network import Network
from .telegram import TOKEN, Chat, FakeTelegram

START_SECONDS = 180.0
TURN_SECONDS = 90.0
STOP_SECONDS = 30.0
COMMAND_SECONDS = 240.0
WINDOW = 200_000
_READY = (re.compile(r"\[gateway\].*\bready\b"), re.compile(r"\[telegram\].*starting provider"))


@dataclass(frozen=True, slots=True)
class Program:
    """The host: what starts it, and its version."""

    command: tuple[str, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of one message: the bot's texts, and what the model was asked meanwhile."""

    replies: list[str]
    requests: tuple[Request, ...]

    def of_kind(self, kind: Kind) -> list[Request]:
        return [request for request in self.requests if request.kind is kind]

    @property
    def main(self) -> list[Request]:
        """The requests of the conversation itself."""
        return self.of_kind(Kind.MAIN)


def find_program() -> Program:
    """The OpenClaw to drive; raises `HostFailedError` with the remedy if it is not there."""
    chosen = os.environ.get("APM_TEST_OPENCLAW", "")
    script = chosen if "/" in chosen else _installed(f"openclaw@{chosen}" if chosen else "openclaw")
    manifest = json.loads(Path(script).with_name("package.json").read_text("utf-8"))
    return Program((_installed("node"), script), str(manifest["version"]))


def _installed(name: str) -> str:
    done = subprocess.run(
        [sys.executable, str(INSTALLER), "--check", name], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise HostFailedError(done.stderr.strip())
    return done.stdout.strip()


class OpenClaw:
    """OpenClaw with a home, a state folder and a workspace of its own. `config` is written at `start`."""

    def __init__(self, program: Program, folder: Path, network: Network, model: FakeModel, telegram: FakeTelegram):
        self.program = program
        self.network = network
        self.model = model
        self.telegram = telegram
        self.home, self.state = folder / "home", folder / "state"
        self.workspace, self.tmp = folder / "workspace", folder / "tmp"
        for place in (self.home, self.state, self.workspace, self.tmp):
            place.mkdir(parents=True)
        self.console = folder / "console.txt"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def config_file(self) -> Path:
        return self.state / "openclaw.json"

    @property
    def config(self) -> dict[str, Any]:
        """The host's configuration as it is now: installers change it."""
        return dict(json.loads(self.config_file.read_text("utf-8")))

    def configure(self, **parts: Any) -> None:
        """Write the configuration anew: the plain one, with `parts` laid over it, objects key by key."""
        price = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
        model = {"id": MODEL, "name": "Fake", "reasoning": False, "input": ["text"], "cost": price}
        model |= {"contextWindow": WINDOW, "maxTokens": 4096}
        provider = {"baseUrl": f"{self.model.url}/v1", "apiKey": "not-a-key", "api": "openai-completions"}
        plain = {
            "update": {"checkOnStart": False},
            "gateway": {"mode": "local", "port": self._free_port(), "auth": {"mode": "token", "token": "t" * 32}},
            "models": {"mode": "replace", "providers": {"fake": {**provider, "models": [model]}}},
            "agents": {
                "defaults": {
                    "workspace": str(self.workspace),
                    "model": {"primary": f"fake/{MODEL}"},
                    "skipBootstrap": True,
                }
            },
            "hooks": {"internal": {"enabled": True}},
            "logging": {"file": str(self.tmp / "openclaw.log")},
            "channels": {
                "telegram": {
                    "enabled": True,
                    "botToken": TOKEN,
                    "apiRoot": self.telegram.url,
                    "dmPolicy": "open",
                    "allowFrom": ["*"],
                    "groupPolicy": "open",
                    "groups": {"*": {"requireMention": False}},
                    "streaming": {"mode": "off"},
                }
            },
        }
        self.config_file.write_text(json.dumps(_laid_over(plain, parts), indent=2) + "\n", "utf-8")

    def change_config(self, **parts: Any) -> None:
        """Lay `parts` over the configuration as it is now, objects key by key."""
        self.config_file.write_text(json.dumps(_laid_over(self.config, parts), indent=2) + "\n", "utf-8")

    def _free_port(self) -> int:
        code = "import socket; print(socket.create_server(('127.0.0.1', 0)).getsockname()[1])"
        return int(self.network.run_inside([sys.executable, "-I", "-c", code]).stdout)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """All that a program started here is given; `extra` is added to it."""
        node, script = (Path(each) for each in self.program.command)
        return {
            "PATH": f"{node.parent}:{script.parents[1] / '.bin'}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "TMPDIR": str(self.tmp),
            "TZ": "UTC",
            "NO_COLOR": "1",
            "OPENCLAW_STATE_DIR": str(self.state),
            "OPENCLAW_CONFIG_PATH": str(self.config_file),
            "OPENCLAW_DISABLE_BONJOUR": "1",
            "OPENCLAW_NO_AUTO_UPDATE": "1",
            **(extra or {}),
        }

    def run(self, command: Sequence[str], *, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Run any program as the host would; raises `HostFailedError` when it does not end in time."""
        with subprocess.Popen(
            self.network.inside(command),
            cwd=self.workspace,
            env=self.environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(timeout=COMMAND_SECONDS)
            except subprocess.TimeoutExpired:
                kill_group(process)
                out, err = process.communicate()
                raise HostFailedError(f"{command} took over {COMMAND_SECONDS} s; it said: {out}{err}") from None
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def apm(self, *arguments: str) -> str:
        """Run the product's command as the operator would, and return what it printed."""
        done = self.run([str(APM_HOOKS), *arguments])
        if done.returncode:
            raise HostFailedError(
                f"apm-hooks {' '.join(arguments)}: exit {done.returncode}: {done.stdout}{done.stderr}"
            )
        return done.stdout

    def local(self, key: str, prompt: str) -> Turn:
        """One turn without a gateway, in the conversation `key`."""
        before = len(self.model.requests)
        command = [*self.program.command, "agent", "--local", "--session-key", key, "-m", prompt, "--json"]
        done = self.run(command)
        if done.returncode:
            raise HostFailedError(f"exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return Turn([done.stdout], self.model.requests[before:])

    def ask_gateway(self, method: str, **parameters: Any) -> Any:
        """Call a method of the running gateway, as its operator may, and return its answer."""
        command = [*self.program.command, "gateway", "call", method, "--params", json.dumps(parameters), "--json"]
        done = self.run(command)
        if done.returncode:
            raise HostFailedError(f"{method}: exit {done.returncode}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        return json.loads(done.stdout)

    def make_quiet(self, key: str, minutes: int) -> None:
        """Let the host take it that nobody has written into the conversation `key` for so long."""
        earlier = minutes * 60_000
        store = sqlite3.connect(self.state / "agents/main/agent/openclaw-agent.sqlite", timeout=STOP_SECONDS)
        with contextlib.closing(store), store:
            (text,) = store.execute("SELECT entry_json FROM session_nodes WHERE session_key = ?", (key,)).fetchone()
            entry = json.loads(text)
            for name in ("lastInteractionAt", "sessionStartedAt"):
                entry[name] -= earlier
            store.execute(
                "UPDATE session_nodes SET entry_json = ?, last_interaction_at = last_interaction_at - ? "
                "WHERE session_key = ?",
                (json.dumps(entry), earlier, key),
            )

    def start(self) -> None:
        """Start the gateway and wait until it takes messages."""
        with self.console.open("ab") as console:
            begin = console.tell()
            self._process = subprocess.Popen(
                self.network.inside([*self.program.command, "gateway", "run"]),
                cwd=self.home,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
            )
        end = time.monotonic() + START_SECONDS
        polls = self.telegram.calls.count("getupdates")
        while True:
            said = self.console.read_bytes()[begin:].decode("utf-8", "replace")
            polled = self.telegram.calls.count("getupdates") > polls
            if polled and all(pattern.search(said) for pattern in _READY):
                return
            if self._process.poll() is not None or time.monotonic() > end:
                self.stop()
                raise HostFailedError(f"the gateway did not start; it said:\n{said}")
            time.sleep(0.05)

    def stop(self) -> None:
        """End the gateway as an operator would, and what it leaves behind at once."""
        if not self._process:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
        kill_group(self._process)
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """End the gateway, and the worker of ours that outlives it: its command line names the socket in our home."""
        self.stop()
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # a process may go while it is looked at
                if f"{self.home}/".encode() in (place / "cmdline").read_bytes():
                    os.kill(int(place.name), signal.SIGTERM)

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def log(self) -> str:
        """All that the gateway printed."""
        return self.console.read_text("utf-8", "replace") if self.console.exists() else ""

    def say(self, chat: Chat, sender: int, text: str) -> Turn:
        """A message, and what came of it up to the bot's answer; a message without a script gets one that says a
        word of its own."""
        word = f"done-{secrets.token_hex(4)}"
        asked = len(self.model.requests)
        sent = len(self.telegram.texts_to(chat))
        self.telegram.write(chat, sender, f"{text}\n::say {word}")
        replies = self.telegram.wait_for(chat, sent, word, TURN_SECONDS)
        return Turn(replies, self.model.requests[asked:])

    def command(self, chat: Chat, sender: int, text: str, answer: str) -> Turn:
        """A command that the host itself answers, with a text that holds `answer`."""
        asked, sent = len(self.model.requests), len(self.telegram.texts_to(chat))
        self.telegram.write(chat, sender, text)
        replies = self.telegram.wait_for(chat, sent, answer, TURN_SECONDS)
        return Turn(replies, self.model.requests[asked:])


def _laid_over(under: Any, over: Any) -> Any:
    if not (isinstance(under, dict) and isinstance(over, dict)):
        return over
    return {**under, **{key: _laid_over(under[key], value) if key in under else value for key, value in over.items()}}
