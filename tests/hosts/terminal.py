"""Claude Code at a terminal: what a person types and sees, without a person."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

from .claude import MODEL, TURN_SECONDS, Claude, HostFailedError, kill_group

_ROWS, _COLUMNS = 50, 160
_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[=>()#78][0-9A-Za-z]?)")


class Terminal:
    """An interactive session in the project of `claude`, alive while the `with` block is.

    Nothing here waits for a time to pass: every wait is for something to appear, up to a bound.
    """

    def __init__(self, claude: Claude, env: Mapping[str, str] | None = None) -> None:
        self._claude = claude
        self._env = {"TERM": "xterm-256color", **(env or {})}
        self._shown = b""

    def __enter__(self) -> Terminal:
        _answer_first_questions(self._claude)
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
        self._process = subprocess.Popen(
            [*self._claude.program.command, "--model", MODEL],
            cwd=self._claude.project,
            env=self._claude.environment(self._env),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.wait_for_text("? for shortcuts")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        kill_group(self._process)
        self._process.wait()
        os.close(self._master)

    @property
    def shown(self) -> str:
        """What was shown since the last line was entered, without the terminal's escape sequences."""
        return _ESCAPES.sub("", self._shown.decode("utf-8", "replace"))

    def enter(self, text: str) -> None:
        """Type a line, and press Enter once it stands in the input: earlier, it would count as pasted.

        Waits for the host to be idle first: a command that waits for a turn's end is left standing in the input.
        """
        self.wait_until_idle()
        self._shown = b""
        os.write(self._master, text.encode())
        self.wait_for_text(text)
        self._shown = b""
        os.write(self._master, b"\r")

    def press(self, keys: str) -> None:
        """Press keys that stand in no input, such as Escape."""
        os.write(self._master, keys.encode())

    def clear(self) -> None:
        """`/clear`, until the host takes messages again: one that is entered while it still clears is lost."""
        ledgers = self._claude.project / ".apm/ledger"
        before = len(list(ledgers.iterdir()))
        self.enter("/clear")
        self.wait_until(lambda: len(list(ledgers.iterdir())) > before, "the start of a new session")
        self.wait_until_idle()

    def kill(self, number: int) -> None:
        """Send the host a signal, and wait until it is gone."""
        os.kill(self._process.pid, number)
        self.wait_for_end()

    def wait_for_end(self) -> None:
        """Wait until the host is gone."""
        self.wait_until(lambda: self._process.poll() is not None, "the host's end")

    def wait_until_idle(self) -> None:
        """Wait until the host takes a message: of its two hints below the input, the one of that time is the last."""

        def idle() -> bool:
            shown = "".join(self.shown.split())
            return shown.rfind("?forshortcuts") > shown.rfind("esctointerrupt")

        self.wait_until(idle, "the hint below an idle input")

    def wait_for_text(self, text: str) -> None:
        """Wait until `text` is shown; the host moves the cursor over blanks, so they count for nothing."""
        wanted = "".join(text.split())
        self.wait_until(lambda: wanted in "".join(self.shown.split()), f"{text!r} on the screen")

    def wait_until(self, true: Callable[[], bool], what: str) -> None:
        """Keep reading the screen until `true()`; raises `HostFailedError` after the bound of a turn."""
        end = time.monotonic() + TURN_SECONDS
        while not true():
            if time.monotonic() > end:
                raise HostFailedError(f"waited {TURN_SECONDS} s for {what}; shown: {self.shown[-2000:]}")
            if not select.select([self._master], [], [], 0.1)[0]:
                continue
            read = self._read()
            if not read and not true():
                raise HostFailedError(f"the host ended before {what}; shown: {self.shown[-2000:]}")
            self._shown += read

    def _read(self) -> bytes:
        """What is shown now; nothing once the host is gone."""
        try:
            return os.read(self._master, 1 << 16)
        except OSError:  # how a terminal says that the other end is gone
            self._process.wait(TURN_SECONDS)
            return b""


def _answer_first_questions(claude: Claude) -> None:
    """What the host would ask a newcomer about its looks, the key and the folder."""
    answers = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [claude.environment()["ANTHROPIC_API_KEY"][-20:]]},
        "projects": {str(claude.project): {"hasTrustDialogAccepted": True}},
    }
    Path(claude.home / ".claude.json").write_text(json.dumps(answers), "utf-8")
