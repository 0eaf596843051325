"""Rules of a flush through the runtime: when, whose, once, and what is told of it (protocol, section 9)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from apm_hooks import activity, engine
from apm_hooks.fastlane import hash_of
from apm_hooks.images import restore
from apm_hooks.records import DM, Source
from apm_hooks.runtime import Runtime
from apm_hooks.tokens import Counter
from tests.workspaces import GROUP_KEY, Bench, event

BEGIN = 1_767_261_600.0
"""2026-01-01T10:00Z, in seconds since 1970."""
IDLE = 30 * 60.0
BETA_KEY = "agent:main:telegram:group:-100888"
STATES = {None: "memory/flush-state.json", GROUP_KEY: "memory/groups/alpha/flush-state.json",
          BETA_KEY: "memory/groups/beta/flush-state.json"}  # fmt: skip
SCOPES = {None: "DM", GROUP_KEY: "Group(alpha)", BETA_KEY: "Group(beta)"}
LONGTERM = "memory/main/longterm.md"


@pytest.fixture(autouse=True)
def quick_counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A counter that needs no ranks."""
    quarter = Counter("o200k_base", exact=True, measure=lambda text: -(-len(text) // 4))
    monkeypatch.setattr(engine, "load_counter", lambda encoding, *, cache_dir: quarter)
    yield


class Day:
    """A workspace with the owner and two groups, and a clock that is moved by hand."""

    def __init__(self, made: Bench) -> None:
        self.made, self.now = made, BEGIN
        made.settings('timezone = "UTC"\n')
        made.groups({"-100777": "alpha", "-100888": "beta"})
        for name in ("alpha", "beta"):
            made.write(f"memory/groups/{name}.md", "# Index\n\n| scenario | file |\n|---|---|\n| x | a.md |\n")
        made.trust()

    @property
    def runtime(self) -> Runtime:
        """As a new process finds it."""
        return self.made.runtime(clock=lambda: self.now)

    def say(self, key: str | None, session_id: str = "s1", **more: Any) -> str:
        """A message and its turn; gives the directive that came with it."""
        told = self.runtime.message_received(event(key, session_id=session_id, message="more", **more)).directive.text
        self.runtime.turn_ended(event(key, session_id=session_id, **more))
        return told

    def state(self, key: str | None) -> dict[str, Any]:
        file = self.made.root / STATES[key]
        found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        return found

    def number(self, key: str | None) -> int | None:
        number: int | None = self.state(key).get("flush_number")
        return number


@pytest.fixture
def day(made: Bench) -> Day:
    return Day(made)


@pytest.mark.parametrize("key", STATES)
def test_the_next_event_of_the_same_scope_flushes_what_went_quiet_and_tells_of_it(day: Day, key: str | None) -> None:
    day.say(key)
    day.now += IDLE - 1
    day.runtime.session_start(event(key, session_id="s2"))
    assert day.number(key) is None
    day.now += 2
    for other in STATES:
        if other != key:
            day.runtime.session_start(event(other, session_id="s2"))
    assert day.number(key) is None, "another scope's event sees nothing of it"
    for session_id in ("s2", "s3", "s1"):
        text = day.runtime.session_start(event(key, session_id=session_id)).injection.text
        assert "A conversation went quiet without a flush" in text
        assert day.number(key) == 1
    own = day.state(key)["apm_hooks"]
    assert (own["trigger"], own["outcome"], len(own["pending"])) == ("idle", "unwritten", 1)


def test_a_sweep_flushes_the_quiet_sessions_of_all_scopes_once(day: Day) -> None:
    for key in STATES:
        day.say(key)
    day.now += IDLE + 1
    assert sorted(str(report.scope) for report in day.runtime.sweep()) == sorted(SCOPES.values())
    assert [day.number(key) for key in STATES] == [1, 1, 1]
    assert day.runtime.sweep() == ()


def noting(real: Callable[..., Any], paths: set[str]) -> Callable[..., Any]:
    def call(path: Any, *arguments: Any, **more: Any) -> Any:
        base = more.get("dir_fd")
        if isinstance(path, str):
            paths.add(os.path.join(os.readlink(f"/proc/self/fd/{base}") if base is not None else "", path))
        return real(path, *arguments, **more)

    return call


@pytest.mark.parametrize("key", STATES)
def test_an_event_opens_no_state_of_another_scope(day: Day, key: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    for each in STATES:
        day.say(each, "quiet")
        day.runtime.flush(event(each, session_id="quiet"), "remem")
    day.now += IDLE + 1
    paths: set[str] = set()
    one = day.runtime
    with monkeypatch.context() as patch:
        for name in ("open", "unlink", "replace"):
            patch.setattr(os, name, noting(getattr(os, name), paths))
        one.session_start(event(key, session_id="s2"))
        one.message_received(event(key, session_id="s2", message="more"))
        one.flush(event(key, session_id="s2"), "remem")
        one.turn_ended(event(key, session_id="s2"))
        one.session_end(event(key, session_id="s2"))
    root = f"{day.made.root}/"
    inside = {path.removeprefix(root) for path in paths if path.startswith(root)}
    assert STATES[key] in inside
    for other, text in SCOPES.items():
        private = (STATES[other], f".apm/active/{activity.folder_name(text)}", f".apm/flush/{hash_of(text)}",
                   f".apm/backup/{hash_of(text)}")  # fmt: skip
        touched = [path for path in inside if path.startswith(private)]
        assert bool(touched) is (other == key), touched


def test_a_context_that_fills_up_is_asked_once_for_each_compaction(day: Day) -> None:
    full: dict[str, Any] = {"context_tokens": 85_000, "context_window": 100_000}
    assert day.say(None, **{**full, "context_tokens": 79_000}) == ""
    assert "the context is 85 % full" in day.say(None, **full)
    assert day.say(None, **full) == day.say(None, **full) == ""
    day.runtime.flush(event(), "pre-compaction", identity="at:1", tell=False)
    day.runtime.session_start(event(source=Source.COMPACT))
    day.runtime.compacted(event())
    day.runtime.turn_ended(event())
    assert "the context is 85 % full" in day.say(None, **full)


def test_the_time_is_that_of_the_record_and_the_outcome_comes_with_the_turns_end(day: Day) -> None:
    day.runtime.flush(event(), "remem")
    issued = day.state(None)
    assert datetime.fromisoformat(issued["last_flush_time"]) == datetime.fromtimestamp(BEGIN, UTC)
    assert (issued["flush_number"], issued["apm_hooks"]["outcome"]) == (1, "issued")
    day.now += 60
    day.made.write(LONGTERM, "# Longterm\n\n- 2026-01-01: new\n")
    day.runtime.turn_ended(event())
    settled = day.state(None)
    assert settled["last_flush_time"] == issued["last_flush_time"]
    assert (settled["flush_number"], settled["apm_hooks"]["outcome"]) == (1, "written")
    assert f"{LONGTERM}_mtime" in settled


def test_a_flush_turn_that_takes_most_of_a_file_away_is_told_and_the_text_comes_back(day: Day) -> None:
    """Case B11: a whole-file write wipes the morning's notes."""
    file = day.made.write(LONGTERM, "# Longterm\n\n" + "- a note of this morning\n" * 40)
    morning = file.read_bytes()
    day.runtime.flush(event(), "remem")
    Path(file).write_text("# Longterm\n\n- one line\n")
    report = day.runtime.turn_ended(event())
    assert report is not None
    assert LONGTERM in report.warning
    assert "apm-hooks restore" in report.warning
    assert LONGTERM in day.runtime.session_start(event(session_id="s2")).injection.text
    assert restore(str(day.made.root), DM, LONGTERM)[1] is True
    assert file.read_bytes() == morning
