"""A clock that stands still, and a workspace in a home of its own."""

from __future__ import annotations

import json
import os
import tempfile
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

from apm_hooks.errors import UsageError
from apm_hooks.events import Verdict
from apm_hooks.extensions import Extensions
from apm_hooks.flushrecords import FlushReport
from apm_hooks.places import places
from apm_hooks.plugins import Plugins, PluginSettings
from apm_hooks.records import LIMITS, HostEvent, Limits, Loaded, Source
from apm_hooks.runtime import Runtime
from apm_hooks.trust import accept
from apm_hooks.workspace import GROUP_MAP, privacy_digests, read_declared

NOW = 1_767_225_600.0
"""2026-01-01T00:00:00Z: the time of a fake clock that is given none."""

_OLD = 1_700_000_000
# Files of a time long past: stamps younger than two seconds are not believed, and a test must not wait for them.

_NOTHING: Mapping[str, Any] = MappingProxyType({})

_INDEX = """---
type: dm
---
# Index

## Hard Rules
- Keep it short.

| scenario | file | priority |
|---|---|---|
| current tasks | attention.md | P0 |
| decisions | longterm.md | P1 |
"""


class FakeClock:
    """A clock that stands still until it is told to move; safe to share between threads.

    >>> clock = FakeClock(datetime(2026, 3, 1, 9, 0, tzinfo=UTC))
    >>> clock.advance(30 * 60)
    >>> clock() == datetime(2026, 3, 1, 9, 30, tzinfo=UTC).timestamp()
    True
    """

    def __init__(self, now: float | datetime = NOW) -> None:
        self._now = _seconds(now)
        self._lock = threading.Lock()

    def __call__(self) -> float:
        """The time, in seconds since 1970."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let `seconds` pass; a negative number turns the clock back, as real ones are."""
        with self._lock:
            self._now += seconds

    def set(self, now: float | datetime) -> None:
        """Set the clock to seconds since 1970, or to a time with a zone; raises UsageError for one without."""
        with self._lock:
            self._now = _seconds(now)


def _seconds(now: float | datetime) -> float:
    if not isinstance(now, datetime):
        return float(now)
    if now.utcoffset() is None:
        raise UsageError("a time without a zone", remedy="Give the clock a datetime with tzinfo, or seconds.")
    return now.timestamp()


class _Alone(Runtime):
    """A runtime without the plugins that happen to be installed: what a test says must not depend on them."""

    @property
    def extensions(self) -> Extensions:
        if self._extensions is None:
            found = self.workspace.settings
            chosen = PluginSettings(found.plugins_disabled, found.plugins_allow, found.plugins_block,
                                    found.plugins_strict)  # fmt: skip
            plugins = Plugins((), chosen, report=self.journal.report, limits=self.limits)
            for name, plugin in self._chosen.items():
                plugins.add(plugin, name)
            plugins.require_sound()
            self._extensions = Extensions(plugins, self.journal.report)
        return self._extensions


class TemporaryWorkspace:
    """A workspace in a home of its own: accepted by its owner, with the owner's index and attention file.

    >>> with TemporaryWorkspace(groups={"-1001": "alpha"}) as workspace:
    ...     _ = workspace.write("memory/groups/alpha.md", "# Alpha")
    ...     loaded = workspace.session_start("agent:main:telegram:group:-1001")
    >>> str(loaded.decision.scope), "# Alpha" in loaded.injection.text
    ('Group(alpha)', True)

    `settings` is the text of `apm.toml`, `groups` that of the group map: id → name, or → name and channel. Both are
    written before the workspace is accepted; without `trusted` nobody accepts it. `plugins` are given to every
    runtime of this workspace. `home`, `root`, `env` (the whole environment) and `clock` are for whatever else runs in
    it. In `folder` (made where absent) it stays; without one it is removed at the end of the block.
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, *, settings: str = "",
        groups: Mapping[str, object] = _NOTHING, plugins: Mapping[str, object] = _NOTHING, trusted: bool = True,
        now: float | datetime = NOW,
    ) -> None:  # fmt: skip
        self._temporary = tempfile.TemporaryDirectory(prefix="apm-hooks-") if folder is None else None
        base = Path(folder if folder is not None else self._temporary.name if self._temporary else "").resolve()
        self.home, self.root = base / "home", base / "workspace"
        for made in (self.home, self.root):
            made.mkdir(parents=True)
        self.env: dict[str, str] = {"HOME": str(self.home), "PATH": os.environ.get("PATH", os.defpath)}
        self.clock = FakeClock(now)
        self.plugins = dict(plugins)
        self._runtime: Runtime | None = None
        self.settings(settings)
        self.write("memory/main/index.md", _INDEX)
        self.write("memory/main/attention.md", "# Attention\n\nship the parser\n")
        if groups:
            self.groups(groups)
        if trusted:
            self.trust()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the workspace and its home, unless they were made in a folder that was given."""
        if self._temporary is not None:
            self._temporary.cleanup()

    def write(self, path: str, text: str | bytes) -> Path:
        """Write a file of the workspace, and give its path. It is stamped with an old time, so that what rests on it
        may be believed at once. Settings and group map written so count as a change that nobody accepted."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        os.utime(file, (_OLD, _OLD))
        return file

    def read(self, path: str) -> str:
        """The text of a file of the workspace; empty where there is none."""
        file = self.root / path
        return file.read_text("utf-8", "replace") if file.is_file() else ""

    def settings(self, text: str) -> None:
        """Write `apm.toml`. What decides who may read what counts after `trust()`."""
        self.write("apm.toml", text)

    def groups(self, names: Mapping[str, object]) -> None:
        """Write the group map: id → name, or → `{"name": …, "channel": …}`. It counts after `trust()`."""
        self.write(GROUP_MAP, json.dumps(dict(names), ensure_ascii=False))

    def trust(self) -> None:
        """Accept the workspace as its files now stand, as `apm-hooks trust` does. Raises SettingsError where they are
        damaged."""
        where = places(self.env)
        digests = privacy_digests(*read_declared(str(self.root), where, self.env))
        accept(str(self.root), digests, where, when=datetime.fromtimestamp(NOW, UTC).isoformat())

    def runtime(self, *, plugins: Mapping[str, object] | None = None, limits: Limits = LIMITS) -> Runtime:
        """A new runtime of this workspace, by its clock and with its plugins, or with `plugins` instead; as a second
        process would have one. Plugins that are installed have no part in it: for them make a `Runtime` of `root` and
        `env`."""
        chosen = self.plugins if plugins is None else plugins
        return _Alone(str(self.root), self.env, clock=self.clock, limits=limits, plugins=chosen)

    @property
    def running(self) -> Runtime:
        """The runtime that `session_start` and its like use: one, made when it is first needed."""
        if self._runtime is None:
            self._runtime = self.runtime()
        return self._runtime

    def event(
        self, key: str | None = None, *, source: Source = Source.STARTUP, session_id: str = "s1", message: str = "",
        **more: Any,
    ) -> HostEvent:  # fmt: skip
        """An event as a host of one user fires it: without a key it is the owner's. `more` are further fields of
        HostEvent."""
        fields = {"host": "test", "single_user": True, **more}
        return HostEvent(session_key=key, source=source, session_id=session_id, message=message, **fields)

    def session_start(self, key: str | None = None, *, source: Source = Source.STARTUP, **more: Any) -> Loaded:
        """Start a session of the conversation `key`; `more` as in `event`."""
        return self.running.session_start(self.event(key, source=source, **more))

    def message(self, text: str, key: str | None = None, **more: Any) -> Loaded:
        """Let a user's message arrive in a session; `more` as in `event`."""
        return self.running.message_received(self.event(key, message=text, **more))

    def tool_call(
        self, name: str, arguments: Mapping[str, Any], key: str | None = None, *, directory: str = "", **more: Any
    ) -> Verdict:
        """Ask whether the agent of a session may call a tool; `directory` is where it works: the workspace, if empty.
        `more` as in `event`."""
        return self.running.tool_call(self.event(key, **more), name, arguments, directory or str(self.root))

    def flush(
        self, trigger: str = "remem", key: str | None = None, *, text: str = "", usage_percent: float | None = None,
        **more: Any,
    ) -> FlushReport:  # fmt: skip
        """Let a trigger fire in a session: `remem`, `pre-compaction` or `idle`; `more` as in `event`."""
        return self.running.flush(self.event(key, **more), trigger, text=text, usage_percent=usage_percent)

    def turn_ended(self, key: str | None = None, **more: Any) -> FlushReport | None:
        """End the agent's turn in a session: what it wrote for a flush is settled; `more` as in `event`."""
        return self.running.turn_ended(self.event(key, **more))

    def log(self) -> tuple[dict[str, str], ...]:
        """The lines of the log so far; each has `when`, `code`, `scope` and `text`."""
        return tuple(json.loads(line) for line in self.read(".apm/log/apm.log").splitlines())

    def state(self) -> str:
        """All that lies below `.apm/` as one text, names of files included."""
        folder = self.root / ".apm"
        files = sorted(file for file in folder.rglob("*") if file.is_file())
        return "\n".join(f"{file.relative_to(folder)}\n{file.read_text('utf-8', 'replace')}" for file in files)
