from __future__ import annotations

import json
from datetime import UTC
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apm_hooks.flushstate import DM_STATE, OWN_KEY, last_flush_line
from apm_hooks.records import LIMITS
from tests.workspaces import Bench, event

TIME = "2026-03-01T23:30:00+00:00"
UNKNOWN = "last flush: unknown (flush-state.json cannot be read)"


def line(root: Path, state: object, zone: str = "UTC") -> str:
    file = root / DM_STATE
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(state if isinstance(state, bytes) else json.dumps(state).encode())
    return last_flush_line(str(root), ZoneInfo(zone))


def test_without_a_state_there_was_no_flush(tmp_path: Path) -> None:
    assert last_flush_line(str(tmp_path), UTC) == "last flush: never"


@pytest.mark.parametrize("state", [{}, {"last_flush_time": None}, {"flush_number": 0}])
def test_a_state_without_a_time_is_never(tmp_path: Path, state: object) -> None:
    assert line(tmp_path, state) == "last flush: never"


@pytest.mark.parametrize(
    ("zone", "when"),
    [("UTC", "2026-03-01 23:30"), ("Asia/Shanghai", "2026-03-02 07:30"), ("America/Lima", "2026-03-01 18:30")],
)
def test_the_time_is_told_in_the_workspaces_zone(tmp_path: Path, zone: str, when: str) -> None:
    for text in (TIME, "2026-03-01T23:30:00Z", "2026-03-02T07:30:59+08:00"):
        assert line(tmp_path, {"last_flush_time": text}, zone) == f"last flush: {when}"


@pytest.mark.parametrize(
    ("own", "unwritten"),
    [({"outcome": "unwritten"}, True), ({"outcome": "written"}, False), ({}, False), ([], False), (None, False)],
)
def test_an_outcome_that_is_not_written_is_told(tmp_path: Path, own: object, unwritten: bool) -> None:
    told = line(tmp_path, {"last_flush_time": TIME, OWN_KEY: own})
    assert told.startswith("last flush: 2026-03-01 23:30")
    assert ("nothing was written" in told) is unwritten


@pytest.mark.parametrize(
    "state",
    [
        b"", b"{", b"\xff\x00\x9d\x01", b"[" * 100_000, b"9" * 5_000, [], 5, None, {"last_flush_time": 5},
        {"last_flush_time": ""}, {"last_flush_time": "yesterday"}, {"last_flush_time": {}},
        {"last_flush_time": "0001-01-01T00:00:00+23:00"},
    ],
)  # fmt: skip
def test_a_state_that_cannot_be_read_is_unknown_not_never(tmp_path: Path, state: object) -> None:
    assert line(tmp_path, state) == UNKNOWN


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_is_no_plain_file_is_unknown(tmp_path: Path, kind: str) -> None:
    file = tmp_path / DM_STATE
    file.parent.mkdir()
    if kind == "folder":
        file.mkdir()
    else:
        file.symlink_to(tmp_path / "elsewhere")
    assert last_flush_line(str(tmp_path), UTC) == UNKNOWN


def test_a_state_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    assert line(tmp_path, b"\xef\xbb\xbf" + json.dumps({"last_flush_time": TIME}).encode()).endswith("23:30")


KEYS = st.sampled_from(["last_flush_time", OWN_KEY, "outcome", "x"])
STATES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STATES)
def test_any_state_gives_one_line(tmp_path: Path, state: object) -> None:
    told = line(tmp_path, state)
    assert told.startswith("last flush: ")
    assert "\n" not in told


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({"outcome": "unwritten", "trigger": "remem"}, "nothing was written"),
        ({"outcome": "unwritten", "trigger": "idle"}, "after a long silence"),
        ({"outcome": "issued", "trigger": "pre-compaction"}, "its turn is not over yet"),
        ({"outcome": "missed", "trigger": "pre-compaction"}, "compacted without one"),
        ({"outcome": "written", "trigger": "idle"}, ""), ({"outcome": "later", "trigger": []}, ""),
        ({"outcome": []}, ""),
        ({"outcome": "unwritten", "trigger": "remem", "number": 3}, "nothing was written"),
        ({"outcome": "unwritten", "trigger": "remem", "number": 2}, ""),
    ],
)  # fmt: skip
def test_each_outcome_has_its_words_unless_another_tool_has_flushed_since(
    tmp_path: Path, own: object, told: str
) -> None:
    found = line(tmp_path, {"last_flush_time": TIME, "flush_number": 3, OWN_KEY: own})
    assert found.startswith("last flush: 2026-03-01 23:30")
    assert (told in found) if told else found == "last flush: 2026-03-01 23:30"


def test_a_compaction_that_was_missed_is_told_where_there_never_was_a_flush(tmp_path: Path) -> None:
    found = line(tmp_path, {"last_flush_time": None, OWN_KEY: {"outcome": "missed", "trigger": "pre-compaction"}})
    assert found.startswith("last flush: never (since then the context was compacted")


def test_a_large_state_is_read(tmp_path: Path) -> None:
    found = line(tmp_path, {"last_flush_time": TIME, "x": "y" * (LIMITS.settings_bytes + 1)})
    assert found == "last flush: 2026-03-01 23:30"


def test_a_session_start_tells_it_in_the_configured_zone(made: Bench) -> None:
    made.settings('timezone = "Asia/Shanghai"\n')
    made.write(DM_STATE, json.dumps({"last_flush_time": TIME, OWN_KEY: {"outcome": "unwritten"}}))
    text = made.runtime().session_start(event()).injection.text
    assert "last flush: 2026-03-02 07:30 (nothing was written" in text
