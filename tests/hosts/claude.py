"""Drive the real Claude Code against the scripted model: clean home, clean environment, bounded time.

A `Claude` owns one folder: `home/`, `project/` (a git repository) and `tmp/`; nothing of the person who runs
the tests reaches the programs in it but `PATH`. `$APM_TEST_CLAUDE` names another Claude Code to drive than
the pinned one.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from .fake_anthropic import FakeAnthropic, Request

REPOSITORY = Path(__file__).parents[2]
INSTALLER = REPOSITORY / "tools" / "install_hosts.py"
MODEL = "claude-haiku-4-5"
TURN_SECONDS = 90.0

_START_CONTEXT = re.compile(
    r"<system-reminder>\nSessionStart hook additional context: (.*?)\n</system-reminder>", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Program:
    """The host: what starts it, and how its version differs from others.

    `tellings_on_resume`: how often it shows a model what a resumed session was told already. `compacts_when_refused`:
    it compacts, and goes on, when the service says that the prompt is too long.
    """

    command: tuple[str, ...]
    tellings_on_resume: int
    compacts_when_refused: bool


@dataclass(frozen=True, slots=True)
class HookRun:
    """One run of a hook as the host reports it; `name` is the host's, such as `SessionStart:resume`."""

    event: str
    name: str
    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Turn:
    """What the host printed for one prompt: `text` is the model's last answer, `hooks` are in order of completion."""

    exit_code: int
    session: str
    text: str
    failed: bool
    stderr: str
    hooks: tuple[HookRun, ...]

    @property
    def start_hooks(self) -> tuple[HookRun, ...]:
        return tuple(hook for hook in self.hooks if hook.event == "SessionStart")


class HostFailedError(AssertionError):
    """The host did not answer in time, or not in its own format."""


def find_program() -> Program:
    """The Claude Code to drive; raises `HostFailedError` with the remedy if it is not there."""
    if chosen := os.environ.get("APM_TEST_CLAUDE"):
        return Program((chosen,), 1, compacts_when_refused=True)
    done = subprocess.run(
        [sys.executable, str(INSTALLER), "--check", "claude-code"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise HostFailedError(done.stderr.strip())
    node = subprocess.run(["node", "-p", "process.execPath"], capture_output=True, text=True, check=True)
    return Program((node.stdout.strip(), done.stdout.strip()), 2, compacts_when_refused=False)


def wait_for(true: Callable[[], bool], what: str) -> None:
    """Wait for what a host does on disk, or asks of its model; raises `HostFailedError` after the bound of a turn."""
    end = time.monotonic() + TURN_SECONDS
    while not true():
        if time.monotonic() > end:
            raise HostFailedError(f"waited {TURN_SECONDS} s for {what}")
        time.sleep(0.02)


def kill_group(process: subprocess.Popen[Any]) -> None:
    """End a program and all that it started, if it still runs."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


class Claude:
    """Claude Code with a home and a project of its own, talking to `fake`."""

    def __init__(self, program: Program, folder: Path, fake: FakeAnthropic) -> None:
        self.program = program
        self.fake = fake
        self.home = folder / "home"
        self.project = folder / "project"
        self.tmp = folder / "tmp"
        for place in (self.home, self.project, self.tmp):
            place.mkdir(parents=True)
        self.run(["git", "init", "--quiet", str(self.project)])

    @property
    def user_settings(self) -> Path:
        return self.home / ".claude" / "settings.json"

    @property
    def project_settings(self) -> Path:
        return self.project / ".claude" / "settings.json"

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """All that a program started here is given; `extra` is added to it."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "TMPDIR": str(self.tmp),
            "CLAUDE_CODE_TMPDIR": str(self.tmp),
            "ANTHROPIC_BASE_URL": self.fake.url,
            "ANTHROPIC_API_KEY": "not-a-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_INSTALLATION_CHECKS": "1",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
            **(extra or {}),
        }

    def run(
        self,
        command: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run any program as the host would run it; raises `HostFailedError` when it does not end in time."""
        with subprocess.Popen(
            command,
            cwd=cwd or self.project,
            env=self.environment(env),
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(stdin, timeout=TURN_SECONDS)
            except subprocess.TimeoutExpired:
                kill_group(process)
                out, err = process.communicate()
                raise HostFailedError(f"{command[0]} took over {TURN_SECONDS} s; it said: {out}{err}") from None
            return subprocess.CompletedProcess(command, process.returncode, out, err)

    def _command(self, arguments: Iterable[str]) -> list[str]:
        report = ("--output-format", "stream-json", "--verbose", "--include-hook-events")
        return [*self.program.command, "-p", "--model", MODEL, *report, *arguments]

    def ask(
        self,
        prompt: str,
        *,
        resume: str | None = None,
        fork: bool = False,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Turn:
        """One process, one prompt. `resume` is a session id, `fork` makes a new session of it."""
        arguments = ["--resume", resume] if resume else []
        arguments += ["--fork-session"] if fork else []
        done = self.run(self._command([*arguments, prompt]), cwd=cwd, env=env)
        return _turn(done.stdout.splitlines(), done.stderr, done.returncode)

    @contextmanager
    def begun(self, prompt: str, *, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
        """One process with one prompt, running: to be ended by the caller, and at the block's end at the latest. What
        it prints is let go."""
        with subprocess.Popen(
            self._command([prompt]),
            cwd=self.project,
            env=self.environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                yield process
            finally:
                kill_group(process)

    def converse(
        self, prompts: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> list[Turn]:
        """One process that is given the prompts one after another, each when the one before is answered."""
        complaints = self.tmp / "stderr.txt"
        with (
            complaints.open("w+", encoding="utf-8") as stderr,
            subprocess.Popen(
                self._command(["--input-format", "stream-json"]),
                cwd=cwd or self.project,
                env=self.environment(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                encoding="utf-8",
                start_new_session=True,
            ) as process,
        ):
            watchdog = threading.Timer(TURN_SECONDS, kill_group, [process])
            watchdog.start()
            try:
                assert process.stdin and process.stdout
                results = [_say(process.stdin, process.stdout, prompt) for prompt in prompts]
                process.stdin.close()
                process.stdout.read()
                process.wait()
            finally:
                watchdog.cancel()
                kill_group(process)
            stderr.seek(0)
            said = stderr.read()
        complaints.unlink()
        return [_turn(result, said, process.returncode) for result in results]


def _say(stdin: IO[str], stdout: IO[str], prompt: str) -> list[str]:
    """Give the host a prompt and return the lines up to its result."""
    message = {"type": "user", "message": {"role": "user", "content": prompt}}
    stdin.write(json.dumps(message) + "\n")
    stdin.flush()
    lines = []
    for line in stdout:
        lines.append(line)
        if json.loads(line).get("type") == "result":
            return lines
    raise HostFailedError(f"the host ended, or was ended, without an answer to {prompt!r}; it said: {lines}")


def _turn(lines: Iterable[str], stderr: str, exit_code: int) -> Turn:
    hooks: list[HookRun] = []
    result: dict[str, Any] = {}
    for line in lines:
        try:
            message = json.loads(line)
        except ValueError as error:
            raise HostFailedError(f"exit {exit_code}; no JSON: {line!r}; stderr: {stderr!r}") from error
        if message.get("subtype") == "hook_response":
            shown = (str(message[key]) for key in ("hook_event", "hook_name", "stdout", "stderr"))
            event, name, out, err = shown
            hooks.append(HookRun(event, name, int(message.get("exit_code", -1)), out, err))
        elif message.get("type") == "result":
            result = message
    if not result:
        raise HostFailedError(f"exit {exit_code} without a result; stderr: {stderr!r}")
    text, failed = str(result.get("result", "")), bool(result.get("is_error"))
    return Turn(exit_code, str(result["session_id"]), text, failed, stderr, tuple(hooks))


def start_contexts(request: Request) -> list[str]:
    """What SessionStart hooks put before the model in this request: a text each time the host shows one."""
    messages = request.body.get("messages") or ()
    return [told for text in _strings(messages) for told in _START_CONTEXT.findall(text)]


def _strings(value: object) -> Iterator[str]:
    """Every text in a JSON value: some versions put what hooks say inside the result of a tool."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)
