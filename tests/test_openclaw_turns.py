"""OpenClaw's turns: the same bytes until an epoch ends, routes, flushes, resets and compactions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from apm_hooks import activity
from apm_hooks.hosts import openclaw
from tests.openclaw import (
    ALONE,
    MAIN,
    OPS,
    OWNER,
    answer,
    bot,
    content,
    fixture,
    flushes,
    payload,
    tool,
)  # fmt: skip
from tests.workspaces import Bench

TIDES = {"message": "what of the tides in the harbour?", "message_id": "7"}
ROUTED = "memory/main/longterm.md"


@pytest.fixture
def made(tmp_path: Path) -> Bench:
    return bot(tmp_path)


def turn(made: Bench, **said: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A whole turn by a message: the answers to its bootstrap and its prompt."""
    assert answer(made, payload("message", made, **said)) == {}
    boot = answer(made, payload("bootstrap", made, **said))
    if said.get("via") == "pack":
        # The pack hears no more of it.
        return boot, {}
    prompt = answer(made, payload("prompt", made, **said))
    answer(made, payload("turn_end", made, **said))
    return boot, prompt


def paths(found: dict[str, Any]) -> list[str]:
    return [file["path"] for file in found.get("files", [])]


def test_every_turn_gets_the_same_bytes_whatever_memory_says_meanwhile(made: Bench) -> None:
    first = answer(made, payload("bootstrap", made))
    assert paths(first) == ["apm/dm.md"]
    assert "memory/main/index.md" in content(first)
    made.write("memory/main/attention.md", "# Attention\n\nsomething else\n")
    for number in range(3):
        boot, prompt = turn(made, message="hello", message_id=str(number))
        assert boot == first
        assert prompt == {}


def test_what_a_message_routes_to_stands_beside_the_start_from_then_on(made: Bench) -> None:
    before = answer(made, payload("bootstrap", made))
    boot, prompt = turn(made, **TIDES)
    assert paths(boot) == ["apm/dm.md", "apm/dm-2.md"]
    assert boot["files"][0] == before["files"][0]
    assert ROUTED in boot["files"][1]["content"]
    assert prompt == {}
    again, _ = turn(made, message="the tides once more", message_id="8")
    assert again == boot


def test_the_first_turn_of_a_session_may_route_at_once(made: Bench) -> None:
    boot, _ = turn(made, **TIDES)
    assert paths(boot) == ["apm/dm.md", "apm/dm-2.md"]
    assert answer(made, payload("bootstrap", made)) == boot


@pytest.mark.parametrize("name", ["dm-main", "dm-thread", "group"])
def test_recorded_turns_get_their_scopes_memory(made: Bench, name: str) -> None:
    assert answer(made, fixture(f"message.typed-{name}", made, message="the tides")) == {}
    asked = fixture(f"prompt.{name}", made)
    boot = answer(made, fixture(f"bootstrap.{name}", made, session_id=asked["session_id"]))
    assert paths(boot) == [f"apm/{'group' if name == 'group' else 'dm'}{end}.md" for end in ("", "-2")]
    assert answer(made, asked) == {}


def test_a_message_that_comes_by_two_events_counts_once(made: Bench) -> None:
    for _ in range(2):
        answer(made, payload("message", made, message="/remem", message_id="3"))
    answer(made, payload("bootstrap", made, message_id="3"))
    answer(made, payload("message", made, message="/remem", message_id="3"))
    answer(made, payload("bootstrap", made, message_id="3"))
    assert flushes(made) == [("remem", "issued")]


def test_a_turn_without_a_message_event_routes_by_its_prompt(made: Bench) -> None:
    before = answer(made, payload("bootstrap", made, run_id="r1"))
    found = answer(made, payload("prompt", made, run_id="r1", message="the tides"))
    assert ROUTED in found["context"]
    after = answer(made, payload("bootstrap", made, run_id="r2"))
    assert after["files"][:1] == before["files"]
    assert after["files"][1]["content"] == found["context"]


def test_a_heartbeat_routes_to_nothing_and_gets_the_same_bytes(made: Bench) -> None:
    before, _ = turn(made, message="hello", message_id="1")
    said: dict[str, Any] = {
        "trigger": "heartbeat",
        "senders": [],
        "is_group": None,
        "run_id": "r9",
        "message": "the tides?",
    }
    assert answer(made, payload("bootstrap", made, **said)) == before
    assert answer(made, payload("prompt", made, **said)) == {}


def test_a_reminder_that_asks_for_a_flush_comes_as_a_heartbeat(made: Bench) -> None:
    text = (
        "A scheduled reminder has been triggered. The reminder content is:\n\n/remem the tides\n\n"
        "Handle this reminder internally. Do not relay it to the user unless explicitly requested."
    )
    said: dict[str, Any] = {"trigger": "heartbeat", "senders": [], "run_id": "r9", "message": text}
    boot = answer(made, payload("bootstrap", made, **said))
    found = answer(made, payload("prompt", made, **said))
    assert "Flush 1, asked for with /remem" in found["context"]
    assert "asked for: the tides\n" in found["context"]
    after = said | {"run_id": "r10", "message": "Follow the heartbeat monitor, not /remem."}
    assert answer(made, payload("bootstrap", made, **after)) == boot
    assert answer(made, payload("prompt", made, **after)) == {}
    assert flushes(made) == [("remem", "issued")]


def test_where_the_system_prompt_was_built_without_us_the_message_gets_all(made: Bench) -> None:
    answer(made, payload("message", made, **TIDES))
    found = answer(made, payload("prompt", made, **TIDES))
    assert "memory/main/index.md" in found["context"]
    assert ROUTED in found["context"]
    assert len(answer(made, payload("bootstrap", made))["files"]) == 2


REMEM = ["/remem", "/remem the tides", "／ｒｅｍｅｍ", "remem: the tides", "@bot /remem", "/remem@ourbot",
         "[Telegram Ann (@ann) id:501 Mon 2026-11-30 16:50:23 UTC] Ann (@ann): /remem",
         "System: [2026-12-01 06:00:00 UTC] /remem the tides\n\nRead HEARTBEAT.md"]  # fmt: skip


@pytest.mark.parametrize("text", REMEM)
@pytest.mark.parametrize("via", ["plugin", "pack"])
def test_remem_asks_for_a_write_back_in_every_form(made: Bench, text: str, via: str) -> None:
    before = answer(made, payload("bootstrap", made, via=via))
    boot, prompt = turn(made, via=via, message=text, message_id="4")
    asked = prompt["context"] if via == "plugin" else boot["files"][-1]["content"]
    assert asked.startswith("[apm-hooks] Flush 1, asked for with /remem")
    assert ("asked for: the tides" in asked) == ("tides" in text)
    assert paths(boot)[len(before["files"]) :] == ([] if via == "plugin" else ["apm/flush.md"])
    assert flushes(made) == [("remem", "unwritten" if via == "plugin" else "issued")]
    after, told = turn(made, via=via, message="hello", message_id="5")
    assert flushes(made) == [("remem", "unwritten")]
    assert after == before
    assert told == {}


def test_a_recorded_remem_is_settled_as_written_at_the_turns_end(made: Bench) -> None:
    answer(made, fixture("message.dm-main-remem", made, config=ALONE))
    answer(made, fixture("bootstrap.dm-main", made, config=ALONE, via="pack"))
    assert flushes(made) == [("remem", "issued")]
    made.write(ROUTED, "# Long term\n\nHigh water is at four.\n")
    answer(made, fixture("turn_end.dm-main", made))
    assert flushes(made) == [("remem", "written")]


def test_a_directive_comes_again_for_the_same_turn_but_not_for_a_later_one(made: Bench) -> None:
    said = {"via": "pack", "message": "/remem", "message_id": "4"}
    answer(made, payload("message", made, **said))
    first = answer(made, payload("bootstrap", made, **said))
    # The host compacts before it begins, or an answer came too late.
    assert answer(made, payload("bootstrap", made, **said)) == first
    assert paths(first)[-1] == "apm/flush.md"
    # A heartbeat later, for which the pack still knows the message.
    assert "apm/flush.md" not in paths(answer(made, payload("bootstrap", made, **said)))


def test_a_full_context_asks_for_a_write_back_once(made: Bench) -> None:
    turn(made, message="hello", message_id="1")
    answer(made, payload("turn_end", made, usage_tokens=170_000, context_window=200_000))
    _, prompt = turn(made, message="and now?", message_id="2")
    assert "compact" in prompt["context"]
    assert flushes(made)[-1][0] == "pre-compaction"
    _, prompt = turn(made, message="and then?", message_id="3")
    assert prompt == {}


def test_a_compaction_is_recorded_once_and_begins_an_epoch(made: Bench) -> None:
    before, _ = turn(made, **TIDES)
    for _ in range(2):
        assert answer(made, fixture("compaction.dm-main", made, session_id="s1", usage_tokens=190_000)) == {}
    assert flushes(made) == [("pre-compaction", "issued")]
    # The host builds a system prompt for the compaction itself.
    assert answer(made, payload("bootstrap", made)) == before
    answer(made, fixture("compacted.dm-main", made, session_id="s1"))
    after = answer(made, payload("bootstrap", made))
    assert paths(after) == ["apm/dm.md"]
    assert "compacted" in content(after)
    assert answer(made, payload("bootstrap", made)) == after
    answer(made, payload("turn_end", made))
    answer(made, fixture("compaction.dm-main", made, session_id="s1", usage_tokens=190_000))
    assert [trigger for trigger, _ in flushes(made)] == ["pre-compaction"] * 2


def test_a_compaction_of_next_to_nothing_flushes_nothing(made: Bench) -> None:
    turn(made, message="hello", message_id="1")
    answer(made, fixture("compaction.dm-main", made, messages=3, usage_tokens=200))
    assert flushes(made) == []


ENDS = ["new-dm-main", "auto-reset-dm-main"]


@pytest.mark.parametrize("name", ENDS)
def test_a_reset_begins_an_epoch_and_flushes_what_was_said(made: Bench, name: str) -> None:
    turn(made, **TIDES)
    made.write("memory/main/attention.md", "# Attention\n\nlow water\n")
    answer(made, fixture(f"session_end.{name}", made, config=ALONE))
    assert [trigger for trigger, _ in flushes(made)] == ["idle"]
    after = answer(made, payload("bootstrap", made))
    assert paths(after) == ["apm/dm.md"]
    assert "low water" in content(after)


def test_the_message_that_a_reset_comes_with_is_routed_after_it(made: Bench) -> None:
    turn(made, message="hello", message_id="1")
    # The host tells of a message before it looks whether the session is too old.
    answer(made, payload("message", made, **TIDES))
    answer(made, fixture("session_end.auto-reset-dm-main", made, config=ALONE))
    boot = answer(made, payload("bootstrap", made, **TIDES))
    assert paths(boot) == ["apm/dm.md", "apm/dm-2.md"]
    answer(made, payload("message", made, message="/new the tides?", message_id="9"))
    answer(made, fixture("session_end.new-dm-main", made, config=ALONE))
    assert paths(answer(made, payload("bootstrap", made))) == paths(boot)


def test_another_session_id_is_another_epoch(made: Bench) -> None:
    turn(made, **TIDES)
    after = answer(made, payload("bootstrap", made, session_id="s2"))
    assert paths(after) == ["apm/dm.md"]
    assert answer(made, payload("bootstrap", made, session_id="s2")) == after


def test_a_group_that_is_mapped_anew_is_told_that_it_moved(made: Bench) -> None:
    group = {"session_key": OPS, "is_group": True}
    assert "CANARY-ops" in content(answer(made, payload("bootstrap", made, **group)))
    made.groups({"-100777": "crew"})
    made.trust()
    after = content(answer(made, payload("bootstrap", made, **group)))
    assert "CANARY-ops" not in after
    assert "CANARY-crew" in after
    assert "belongs to another conversation" in after


def test_group_ids_match_though_the_host_lower_cases_them(made: Bench) -> None:
    made.groups({"C0123ABCDEF": {"name": "ops", "channel": "slack"}})
    made.trust()
    found = answer(made, payload("bootstrap", made, session_key="agent:main:slack:channel:c0123abcdef", is_group=True))
    assert "CANARY-ops" in content(found)


def test_a_mapped_group_without_an_index_is_told_that_it_joins(made: Bench) -> None:
    (made.root / "memory/groups/ops.md").unlink()
    found = content(answer(made, payload("bootstrap", made, session_key=OPS, is_group=True)))
    assert "First join" in found
    assert "CANARY" not in found


def test_a_record_that_is_lost_or_damaged_is_rendered_anew(made: Bench) -> None:
    first = answer(made, payload("bootstrap", made))
    folder = made.home / ".cache/apm-hooks/openclaw/standing"
    (record,) = folder.iterdir()
    assert record.stat().st_mode & 0o777 == 0o600
    assert MAIN not in record.name
    given = json.loads(record.read_text())
    for damage in (None, "", "{", "[]", json.dumps({**given, "parts": [[1]]}), json.dumps({**given, "format": 9}),
                   json.dumps({**given, "more": 1}), json.dumps({**given, "scope": "Group(ops)"})):  # fmt: skip
        record.unlink() if damage is None else record.write_text(damage)
        assert answer(made, payload("bootstrap", made)) == first
    record.unlink()
    folder.rmdir()
    folder.write_text("no folder")
    assert answer(made, payload("bootstrap", made)) == first


def test_a_long_memory_keeps_within_the_hosts_bounds(made: Bench) -> None:
    for path in ("memory/main/attention.md", ROUTED):
        made.write(path, "# Notes\n\n" + "The tide 🌊 turns in the harbour at noon.\n" * 2_000)
    boot, _ = turn(made, **TIDES)
    units = [openclaw.units(file["content"]) for file in boot["files"]]
    assert len(units) == 2
    assert max(units) <= openclaw.FILE_UNITS
    assert sum(units) <= openclaw.TOTAL_UNITS
    assert min(units) > openclaw.TOTAL_UNITS // 4


@pytest.mark.parametrize("via", ["plugin", "pack"])
def test_a_start_of_the_gateway_flushes_what_went_quiet(made: Bench, via: str, monkeypatch: pytest.MonkeyPatch) -> None:
    turn(made, via=via, **TIDES)
    at, up, boot = activity.now()
    for minutes, expected in ((29, []), (31, ["idle"])):
        later = (at + minutes * 60 * 10**9, up + minutes * 60 * 10**9, boot)
        monkeypatch.setattr(activity, "now", lambda later=later: later)
        assert answer(made, fixture("startup", made)) == {}
        assert [trigger for trigger, _ in flushes(made)] == expected


def test_events_are_seen_firing(made: Bench) -> None:
    turn(made, **TIDES)
    answer(made, payload("tool_call", made, tool=tool("read", made, path="README.md")))
    seen = set(os.listdir(made.root / ".apm/seen"))
    assert seen == {f"openclaw.{name}" for name in ("message", "bootstrap", "prompt", "turn-end", "tool-call")}


@pytest.mark.parametrize("odd", [
    {"hook_event_name": "another"}, {"hook_event_name": None}, {"workspace": None}, {"workspace": "relative"},
    {"workspace": "/no/such/place"}, {"workspace": 7},
])  # fmt: skip
def test_what_is_not_for_us_is_passed_over(made: Bench, odd: dict[str, Any]) -> None:
    assert answer(made, payload("bootstrap", made) | odd) == {}


@pytest.mark.parametrize("odd", [
    {"senders": None}, {"senders": "501"}, {"config": []}, {"config": 3}, {"env": []}, {"tool": None}, {"message": 5},
    {"usage_tokens": "many", "context_window": True}, {"session_id": None}, {"transcript": "relative"},
    {"is_group": "no"}, {"via": None}, {"trigger": None}, {"channel": None}, {"messages": -1},
])  # fmt: skip
@pytest.mark.parametrize("name", openclaw.ANSWERED)
def test_odd_values_break_nothing(made: Bench, name: str, odd: dict[str, Any]) -> None:
    found = answer(made, payload(name, made) | odd)
    assert "log" not in found or name == "bootstrap"


def test_the_payloads_variables_count_over_the_processes_but_name_no_session(made: Bench) -> None:
    made.env["APM_OWNER_PEERS"] = OWNER
    said = {"env": {"APM_OWNER_PEERS": "someone", "HOME": "/nowhere", "APM_SESSION": OPS}}
    assert not content(answer(made, payload("bootstrap", made, **said))).strip()
    made.env["APM_SESSION"] = OPS
    assert "CANARY-DM" in content(answer(made, payload("bootstrap", made)))
