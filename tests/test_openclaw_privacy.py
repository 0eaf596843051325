"""Whose memory an OpenClaw turn may touch: every kind of session by every event, with a canary in every file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from apm_hooks import texts
from tests.openclaw import (
    ALONE,
    CREW,
    EFFECTS,
    FILES,
    FIXTURES,
    LOST,
    MAIN,
    OPEN,
    OPS,
    OWNER,
    STRANGER,
    answer,
    bot,
    content,
    fixture,
    log,
    payload,
    tool,
)  # fmt: skip
from tests.workspaces import Bench

GROUP_MAIN = {**ALONE, "group_scope": "main"}
PAIRING = {**ALONE, "dm_policy": "pairing"}
PER_PEER = {**OPEN, "dm_scope": "per-peer"}
NOBODY: dict[str, Any] = {"senders": [], "is_group": None, "trigger": ""}


@pytest.fixture
def made(tmp_path: Path) -> Bench:
    return bot(tmp_path)


# Name → (what the payload says, whose memory it may touch, by the plugin and by the pack alone).
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "the owner's DM": ({"session_key": MAIN}, "DM", "DM"),
    "the owner's DM, anybody may write": ({"session_key": MAIN, "config": OPEN}, "DM", ""),
    "the owner's DM, others may be paired": ({"session_key": MAIN, "config": PAIRING}, "DM", ""),
    "the owner's DM, nothing known of the host": ({"session_key": MAIN, "config": None}, "DM", ""),
    "a stranger's DM in the shared session": ({"session_key": MAIN, "config": OPEN, "senders": [STRANGER]}, "", ""),
    "a turn of two": ({"session_key": MAIN, "config": OPEN, "senders": [OWNER, STRANGER]}, "", ""),
    "a turn of two, the stranger first": ({"session_key": MAIN, "senders": [STRANGER, OWNER]}, "", ""),
    "no sender, on a channel": ({"session_key": MAIN, "config": OPEN, **NOBODY}, "", ""),
    "no sender, on a channel, the owner alone": ({"session_key": MAIN, **NOBODY}, "DM", "DM"),
    "no sender, in the terminal": ({"session_key": MAIN, "config": OPEN, **NOBODY, "channel": ""}, "DM", ""),
    "a DM thread": ({"session_key": f"{MAIN}:thread:501:77"}, "DM", "DM"),
    "a DM thread of a stranger": ({"session_key": f"{MAIN}:thread:999:77", "senders": [STRANGER]}, "", ""),
    "direct, the owner": ({"session_key": "agent:main:direct:501", "config": PER_PEER}, "DM", "DM"),
    "direct, the owner, by channel": (
        {"session_key": "agent:main:telegram:direct:501", "config": PER_PEER}, "DM", "DM"
    ),
    "direct, the owner, by account": (
        {"session_key": "agent:main:telegram:default:direct:501", "config": PER_PEER}, "DM", "DM"
    ),
    "direct, a stranger": (
        {"session_key": "agent:main:telegram:direct:999", "config": PER_PEER, "senders": [STRANGER]}, "", ""
    ),
    "direct, the owner's key, a stranger's turn": (
        {"session_key": "agent:main:direct:501", "config": PER_PEER, "senders": [STRANGER]}, "", ""
    ),
    "direct, the owner's key, a turn that is a group's": (
        {"session_key": "agent:main:telegram:direct:501", "config": PER_PEER, "is_group": True}, "", ""
    ),
    "a mapped group": ({"session_key": OPS, "is_group": True, "senders": [STRANGER]}, "ops", "ops"),
    "a mapped group in which the owner writes": ({"session_key": OPS, "is_group": True}, "ops", "ops"),
    "a mapped group's thread": ({"session_key": f"{OPS}:thread:9", "is_group": True}, "ops", "ops"),
    "a mapped group's topic": ({"session_key": CREW, "is_group": True}, "crew", "crew"),
    "an unmapped group": ({"session_key": LOST, "is_group": True}, "", ""),
    "a group in the main session": ({"session_key": MAIN, "is_group": True, "config": GROUP_MAIN}, "", ""),
    "a DM beside groups in the main session": ({"session_key": MAIN, "config": GROUP_MAIN}, "DM", ""),
    "groups in the main session, kind unknown": (
        {"session_key": MAIN, "is_group": None, "config": GROUP_MAIN}, "", ""
    ),
    "groups in the main session, a heartbeat": (
        {"session_key": MAIN, "config": GROUP_MAIN, **NOBODY, "channel": "", "trigger": "heartbeat"}, "", ""
    ),
    "a heartbeat": ({"session_key": MAIN, "config": OPEN, **NOBODY, "trigger": "heartbeat"}, "DM", ""),
    "cron": ({"session_key": "agent:main:cron:9:run:1", **NOBODY, "channel": ""}, "", ""),
    "a subagent": ({"session_key": "agent:main:subagent:66daba75", **NOBODY, "channel": ""}, "", ""),
    "the host's own flush": ({"session_key": EFFECTS, **NOBODY, "trigger": "memory"}, "", ""),
    "a session with a name": ({"session_key": "agent:main:mywork", **NOBODY}, "", ""),
    "no session": ({"session_key": None, **NOBODY}, "", ""),
    "an empty session": ({"session_key": "", **NOBODY}, "", ""),
}  # fmt: skip

TURN = ("message", "bootstrap", "prompt", "turn_end", "compaction", "compacted", "bootstrap", "session_end",
        "startup", "bootstrap")  # fmt: skip


@pytest.mark.parametrize("via", ["plugin", "pack"])
@pytest.mark.parametrize("case", CASES)
def test_no_event_shows_a_canary_of_another_scope(made: Bench, case: str, via: str) -> None:
    said, *scopes = CASES[case]
    allowed = scopes[via == "pack"]
    shown, logged = "", ""
    for name in TURN:
        asked = said | {"via": via, "message": "what of the tides in the harbour?", "message_id": "7", "messages": 40}
        found = answer(made, payload(name, made, **asked))
        shown += content(found)
        logged += found.get("log", "")
        if not allowed:
            assert found.keys() <= {"log", "withhold"}
        # The host's own files are the owner's, too.
        assert ("withhold" in found) == (name == "bootstrap" and allowed != "DM")
    for whose in ("DM", "ops", "crew"):
        assert (f"CANARY-{whose}" in shown) == (whose == allowed), whose
    assert "CANARY" not in logged


@pytest.mark.parametrize("case", CASES)
def test_tools_reach_the_memory_of_the_scope_alone(made: Bench, case: str) -> None:
    said, allowed, _ = CASES[case]
    answer(made, payload("bootstrap", made, **said))
    for path, whose in FILES.items():
        for called in (
            tool("read", made, path=path), tool("memory_get", made, path=path),
            tool("exec", made, command=f"cat {path}"), tool("tool_call", made, id="memory_get", args={"path": path}),
        ):  # fmt: skip
            found = answer(made, payload("tool_call", made, **said, tool=called))
            assert "CANARY" not in json.dumps(found)
            if whose != allowed and allowed != "DM":
                assert found.get("deny"), f"{called} is not denied"
    if allowed != "DM":
        for called in (tool("memory_search", made, query="tides"), tool("sessions_history", made, sessionKey=MAIN)):
            assert answer(made, payload("tool_call", made, **said, tool=called)).get("deny")


@pytest.mark.parametrize("name", sorted(path.stem for path in FIXTURES.glob("tool_call.group-*.json")))
def test_what_a_group_read_on_the_real_host_is_denied(made: Bench, name: str) -> None:
    answer(made, fixture("bootstrap.group", made))
    assert answer(made, fixture(name, made)).get("deny")


def test_the_flush_turn_of_the_host_may_only_read_what_is_nobodys(made: Bench) -> None:
    made.write("README.md", "# The harbour\n")
    hidden = {"session_key": EFFECTS, "trigger": "memory", **NOBODY}
    for called, denied in (
        (tool("write", made, path="memory/2026-12-01.md", content="x"), True),
        (tool("write", made, path="notes.txt", content="x"), True),
        (tool("exec", made, command="true"), True),
        (tool("tool_call", made, id="write", args={"path": "a", "content": "b"}), True),
        (tool("read", made, path="memory/2023-11-14.md"), True),
        (tool("read", made, path="memory/groups/ops.md"), True),
        (tool("read", made, path="README.md"), False),
    ):
        found = answer(made, payload("tool_call", made, **hidden, tool=called))
        assert ("deny" in found) == denied, called


def test_no_setting_gives_the_flush_turn_of_the_host_a_memory(made: Bench) -> None:
    made.settings(f'owner_peers = ["*", "{OWNER}"]\n\n[scopes]\n"*" = "DM"\n')
    made.trust()
    for name in TURN:
        found = answer(made, payload(name, made, session_key=EFFECTS, message="tides", **NOBODY))
        assert "CANARY" not in content(found)
    found = answer(made, payload("bootstrap", made, session_key="agent:main:mywork", **NOBODY))
    assert "CANARY-DM" in content(found)


def test_a_cron_job_has_the_scope_that_its_key_is_mapped_to(made: Bench) -> None:
    made.settings('[scopes]\n"cron:nightly:*" = "DM"\n')
    made.trust()
    said = {"session_key": "agent:main:cron:nightly:run:1", "message": "/remem", **NOBODY, "trigger": "cron"}
    boot = answer(made, payload("bootstrap", made, **said))
    assert "CANARY-DM" in content(boot)
    # By any other name the host would leave it out of a job's session.
    assert {file["name"] for file in boot["files"]} == {"AGENTS.md"}
    assert "Flush 1, asked for with /remem" in content(answer(made, payload("prompt", made, **said, run_id="r1")))
    other = {**said, "session_key": "agent:main:cron:daily:run:1"}
    assert not content(answer(made, payload("bootstrap", made, **other))).strip()


def test_no_setting_gives_subagents_a_memory(made: Bench) -> None:
    made.settings('owner_peers = ["501"]\n[scopes]\n"*:subagent:*" = "DM"\n"agent:main:subagent:*" = "DM"\n')
    made.trust()
    asked = {"session_key": "agent:main:subagent:66daba75", **NOBODY, "channel": "", "message": "tides?"}
    for name in ("message", "bootstrap", "prompt"):
        assert "CANARY" not in json.dumps(answer(made, payload(name, made, **asked)))
    for path in FILES:
        called = tool("read", made, path=path)
        assert answer(made, payload("tool_call", made, **asked, tool=called)).get("deny"), path


@pytest.mark.parametrize("config", [OPEN, ALONE])
def test_a_subagent_is_judged_by_the_session_that_it_works_for(made: Bench, config: dict[str, Any]) -> None:
    said = {"session_key": "agent:main:subagent:1", "config": config, **NOBODY, "channel": ""}
    read = tool("read", made, path="memory/main/longterm.md")
    # Under a session that anybody may write to, nobody tells whose turn began it.
    denied = answer(made, payload("tool_call", made, **said, parent_session_key=MAIN, tool=read))
    assert ("deny" in denied) == (config is OPEN)
    answer(made, payload("bootstrap", made, session_key=OPS, is_group=True))
    group = said | {"parent_session_key": OPS}
    assert answer(made, payload("tool_call", made, **group, tool=read)).get("deny")
    own = tool("read", made, path="memory/groups/ops/experience.md")
    assert answer(made, payload("tool_call", made, **group, tool=own)) == {}
    assert answer(made, payload("tool_call", made, **said, tool=own)).get("deny")


def test_why_there_is_no_memory_is_logged_once_and_never_said_in_a_chat(made: Bench) -> None:
    lost = payload("bootstrap", made, session_key=LOST, is_group=True)
    first, second = answer(made, lost), answer(made, lost)
    assert first.keys() == {"log", "withhold"}
    assert "apm-hooks group add NAME --id -100999" in first["log"]
    assert second == {"withhold": True}
    assert [line["code"] for line in log(made)] == ["unmapped-group"]
    shared = answer(made, payload("bootstrap", made, config=OPEN, via="pack"))
    assert "session.dmScope" in shared["log"]
    for key in (EFFECTS, "agent:main:subagent:1", "agent:main:cron:1:run:1"):
        assert answer(made, payload("bootstrap", made, session_key=key, **NOBODY)) == {"withhold": True}


def test_an_unaccepted_workspace_is_told_of_in_the_log_alone(tmp_path: Path) -> None:
    made = bot(tmp_path)
    made.env["XDG_CONFIG_HOME"] = str(tmp_path / "elsewhere")
    for name in TURN:
        found = answer(made, payload(name, made, message="tides"))
        assert found.keys() == ({"log"} if name in ("bootstrap", "startup") else set())
    assert answer(made, payload("tool_call", made, tool=tool("read", made, path="MEMORY.md"))) == {}


def test_what_cannot_be_judged_is_denied_but_to_the_owner(made: Bench) -> None:
    made.write("apm.toml", "owner_peers = [")
    read = tool("read", made, path="memory/main/index.md")
    for said, denied in (
        ({"session_key": OPS, "is_group": True}, True), ({"session_key": MAIN, "senders": [STRANGER]}, True),
        ({"session_key": MAIN, "senders": [OWNER]}, True), ({"session_key": EFFECTS, **NOBODY}, True),
        ({"session_key": MAIN, **NOBODY, "channel": ""}, False),
        ({"session_key": MAIN, "is_group": True, "senders": []}, True),
    ):  # fmt: skip
        found = answer(made, payload("tool_call", made, **said, tool=read))
        assert (found.get("deny") == texts.UNJUDGED) == denied, said
        assert "apm.toml" in found["log"]
    assert answer(made, payload("bootstrap", made)).keys() == {"log", "withhold"}
    said = {**NOBODY, "channel": ""}
    assert answer(made, payload("bootstrap", made, **said)).keys() == {"log"}


def test_two_groups_and_the_owner_take_turns_in_their_own_sessions(made: Bench) -> None:
    shown: dict[str, dict[str, Any]] = {}
    for _ in range(2):
        for key in (MAIN, OPS, CREW):
            found = answer(made, payload("bootstrap", made, session_key=key, is_group=key != MAIN))
            assert shown.setdefault(key, found) == found
    assert len({json.dumps(each) for each in shown.values()}) == 3


def test_a_stranger_in_the_shared_session_takes_nothing_from_the_owners_next_turn(made: Bench) -> None:
    said = {"config": OPEN, "message": "tides in the harbour", "message_id": "1"}
    answer(made, payload("message", made, **said))
    before = answer(made, payload("bootstrap", made, **said))
    other = {**said, "senders": [STRANGER], "message_id": "2"}
    for name in ("message", "bootstrap", "prompt", "turn_end"):
        assert not content(answer(made, payload(name, made, **other))).strip()
    assert answer(made, payload("bootstrap", made, **said)) == before
    assert "CANARY-DM" in content(before)
