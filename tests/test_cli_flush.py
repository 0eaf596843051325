"""`flush` and `status`: a flush by hand, and what is told of each scope, to whom."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from apm_hooks.cli import parser
from apm_hooks.flushstate import read_state
from apm_hooks.records import DM, Scope, ScopeKind, Source
from tests.workspaces import GROUP_KEY, Bench, event

ALPHA = Scope(ScopeKind.GROUP, "alpha")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def apm(made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in the owner's terminal in `made`'s workspace; returns exit code, output and errors."""
    for name in ("APM_SESSION", "APM_WORKSPACE", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(made.root)
    made.groups({"-100777": "alpha", "-100888": "beta"})
    for name in ("alpha", "beta"):
        made.write(f"memory/groups/{name}.md", f"# {name}\n")
    made.trust()

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = parser.run(arguments)
        return (code, *capsys.readouterr())

    return run


def rows(out: str) -> dict[str, dict[str, Any]]:
    return {row["scope"]: row for row in json.loads(out)["scopes"]}


def test_a_flush_by_hand_is_recorded_told_and_settled(made: Bench, apm: Run) -> None:
    code, out, err = apm("flush", "the release date")
    assert (code, err) == (0, "")
    assert out.startswith("DM: flush 1, issued\n  added     memory/main/attention.md\n")
    assert "asked for: the release date" in out
    made.write("memory/main/longterm.md", "We release on Friday.\n")
    code, out, _ = apm("flush", "--done", "--json")
    found = json.loads(out)
    assert (code, found["status"], found["outcome"], found["added"]) == (
        0, "settled", "written", ["memory/main/longterm.md"],
    )  # fmt: skip
    assert apm("flush", "--done")[:2] == (0, "nothing to settle: no flush of this session is open\n")
    assert read_state(str(made.root), DM).book.number == 1


def test_a_flush_by_hand_that_nobody_settles_is_settled_once_the_idle_time_is_over(made: Bench, apm: Run) -> None:
    apm("flush")
    for minutes, outcome in ((29, "issued"), (31, "unwritten")):
        made.runtime(clock=lambda minutes=minutes: time.time() + minutes * 60).sweep()  # type: ignore[misc]
        (flush,) = read_state(str(made.root), DM).book.flushes
        assert flush.outcome == outcome


def test_a_session_without_a_scope_flushes_nothing(made: Bench, apm: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APM_SESSION", "agent:main:cron:x")
    for command in ("flush", "status"):
        code, out, err = apm(command)
        assert (code, out) == (4, "")
        assert err.startswith("apm-hooks: ")
    assert not (made.root / "memory/flush-state.json").exists()


def test_the_operator_sees_every_scope_and_a_session_its_own(
    made: Bench, apm: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = made.runtime()
    runtime.flush(event(GROUP_KEY, session_id="g"), "remem")
    made.write("memory/groups/alpha.md", "# alpha, changed\n")
    code, out, _ = apm("status", "--json")
    found = rows(out)
    assert code == 0
    assert list(found) == ["DM", "Group(alpha)", "Group(beta)"]
    assert (found["DM"]["number"], found["Group(alpha)"]["number"], found["Group(beta)"]["number"]) == (None, 1, None)
    alpha = found["Group(alpha)"]
    assert (alpha["outcome"], alpha["trigger"], alpha["changed"]) == ("issued", "remem", ["memory/groups/alpha.md"])
    assert [(each["open"], each["due"]) for each in alpha["sessions"]] == [(True, True)]
    monkeypatch.setenv("APM_SESSION", GROUP_KEY)
    assert list(rows(apm("status", "--json")[1])) == ["Group(alpha)"]
    code, out, err = apm("status", "--changed")
    assert (code, err) == (0, "")
    assert "beta" not in out
    assert "DM" not in out
    assert "Group(alpha): changed memory/groups/alpha.md" in out


def test_status_says_what_is_pending_missed_and_damaged_and_changes_nothing(made: Bench, apm: Run) -> None:
    runtime = made.runtime()
    runtime.session_start(event(source=Source.COMPACT))
    (made.root / "memory/groups/alpha").mkdir()
    damaged = made.write("memory/groups/alpha/flush-state.json", "{half")
    (made.root / "memory/main/link.md").symlink_to("index.md")
    code, out, _ = apm("status", "--changed")
    assert code == 0
    assert "never" in out
    assert "missed (pre-compaction)" in out
    assert "DM: not looked into: memory/main/link.md (a symbolic link)" in out
    assert "Group(alpha): " in out
    assert damaged.read_text() == "{half"
    found = rows(apm("status", "--json")[1])
    assert (found["DM"]["missed"], [item["kind"] for item in found["DM"]["pending"]]) == (1, ["missed"])
    assert found["Group(alpha)"]["problem"]
