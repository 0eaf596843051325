from __future__ import annotations

import gc
import json
import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.errors import NameRefusedError, SettingsError
from apm_hooks.groupmap import GroupEntry, GroupMap, read_group_map
from apm_hooks.records import DM, LIMITS, ChatType, HostEvent, Scope, ScopeDecision, ScopeKind, SessionKey
from apm_hooks.scope import ScopeSettings, decide_scope
from apm_hooks.session import parse_session_key

FILE = "memory/groups/group_names.json"
EMPTY = GroupMap.empty()
NOTHING = ScopeSettings()


def group_map(**entries: Any) -> GroupMap:
    return read_group_map(json.dumps(entries), file=FILE)


def named(groups: GroupMap, key: str, *, without_server: bool = False) -> str | None:
    entry = groups.find(parse_session_key(f"agent:main:{key}"), matrix_without_server=without_server)
    return entry.name if entry else None


def decide(
    key: str | None, groups: GroupMap = EMPTY, *, sender: str | None = None, is_group: bool | None = None,
    single_user: bool = False, subagent: bool = False, **chosen: Any,
) -> ScopeDecision:  # fmt: skip
    event = HostEvent("host", "s1", session_key=key, sender=sender, is_group=is_group, single_user=single_user,
                      subagent=subagent)  # fmt: skip
    decision = decide_scope(event, ScopeSettings(**chosen), groups)
    assert decision.detail
    return decision


def group(name: str) -> Scope:
    return Scope(ScopeKind.GROUP, name)


def test_both_shapes_of_an_entry() -> None:
    groups = group_map(
        **{
            "-100": "team-a",
            "C1": {"name": "e\u0301quipe", "channel": "Slack"},
            "3": {"name": "c", "channel": None},
        }
    )
    assert groups.entries == (
        GroupEntry("-100", "team-a", "", "-100"),
        GroupEntry("C1", "équipe", "slack", "C1"),
        GroupEntry("3", "c", "", "3"),
    )
    assert groups.errors == ()


def test_further_keys_of_an_entry_are_ignored() -> None:
    groups = group_map(**{"-100": {"name": "a", "note": [{"deep": None}], "members": 12}})
    assert [entry.name for entry in groups.entries] == ["a"]


def test_a_key_may_be_a_whole_session_key() -> None:
    groups = group_map(**{"agent:main:telegram:group:-100:topic:4": "a", "Agent:x:matrix:channel:!R:hs": "b"})
    assert [(entry.id, entry.channel, entry.name) for entry in groups.entries] == [
        ("-100", "telegram", "a"),
        ("!R:hs", "matrix", "b"),
    ]
    assert named(groups, "telegram:acc:group:-100") == "a"
    assert named(groups, "discord:group:-100") is None


@pytest.mark.parametrize(
    "key, value, word",
    [
        ("1", 5, "neither a name nor"),
        ("1", None, "neither a name nor"),
        ("1", ["a"], "neither a name nor"),
        ("1", True, "neither a name nor"),
        ("1", {}, "name: Field required"),
        ("1", {"name": 5}, "name: Input should be a valid string"),
        ("1", {"name": "a", "channel": 5}, "channel: Input should be a valid string"),
        ("1", {"name": "a", "channel": "tele gram"}, "the channel is no plain word"),
        ("1", {"name": "a", "channel": " "}, "the channel is no plain word"),
        ("", "a", "the id is empty"),
        (" ", "a", "the id is empty"),
        ("x" * (LIMITS.key_chars + 1), "a", "longer than"),
        ("agent:main:main", "a", "no group's"),
        ("agent:main:telegram:direct:501", "a", "no group's"),
        ("agent:main:telegram:group:", "a", "no group's"),
        ("agent:main:telegram:group:-1", {"name": "a", "channel": "slack"}, "another channel"),
        ("1", "../main/index", "refused"),
        ("1", "a\\b", "refused"),
        ("1", "", "refused"),
        ("1", {"name": "con"}, "refused"),
    ],
)
def test_a_bad_entry_is_refused_alone(key: str, value: object, word: str) -> None:
    groups = read_group_map(json.dumps({"0": "good", key: value, "2": "also good"}), file=FILE)
    assert [entry.name for entry in groups.entries] == ["good", "also good"]
    (error,) = groups.errors
    assert word in str(error)
    assert error.file == FILE
    assert error.remedy
    assert error.key == key or len(key) > 200
    assert isinstance(error, NameRefusedError if word == "refused" else SettingsError)


def test_an_error_names_an_odd_key_in_one_printable_line() -> None:
    groups = group_map(**{"a\n\x1b[31m\u202e": "..", "b\n": 5, "c\n": "A", "d\n": "a"})
    assert len(groups.errors) == 4
    assert all(str(error).isprintable() for error in groups.errors)
    (error,) = group_map(**{"x" * 1000: ".."}).errors
    assert error.key == "x" * 200 + "…"


@pytest.mark.parametrize(
    "text, word",
    [
        ("", "no JSON"),
        ("\ufeff{}", "no JSON"),
        ("{", "no JSON"),
        ("{} {}", "no JSON"),
        ("{'1': 'a'}", "no JSON"),
        ('{"1": "a",}', "no JSON"),
        ("[]", "no JSON object"),
        ('"a"', "no JSON object"),
        ("null", "no JSON object"),
        ("5", "no JSON object"),
        ('{"1": NaN}', "NaN"),
        ('{"1": {"name": "a", "x": [-Infinity]}}', "-Infinity"),
        ('{"1": "a", "1": "a"}', "[1]: this key stands twice"),
        ('{"1": {"name": "a", "name": "b"}}', "[name]: this key stands twice"),
        ('{"1": {"name": "a", "x": {"y": 1, "y": 2}}}', "[y]: this key stands twice"),
        ('{"1": "\\ud800"}', "surrogate"),
        ('{"\\udfff": "a"}', "surrogate"),
        ('{"1": {"name": "a", "x": [["\\ud83d"]]}}', "surrogate"),
        ('{"1": "\udcff"}', "surrogate"),
        ('{"1": ' + "9" * 5000 + "}", "no JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"1": ' * 100_000, "nested too deeply"),
        (" " * (LIMITS.settings_bytes + 1), "longer than"),
    ],
)
def test_what_is_no_strict_json_object(text: str, word: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read_group_map(text, file=FILE)
    assert str(caught.value).startswith(FILE)
    assert word in str(caught.value)


def test_the_longest_map_is_read() -> None:
    assert read_group_map("{}" + " " * (LIMITS.settings_bytes - 2), file=FILE) == EMPTY


def test_a_syntax_error_names_its_line() -> None:
    with pytest.raises(SettingsError) as caught:
        read_group_map('{\n"1": "a",\n"2" "b"\n}', file=FILE)
    assert caught.value.line == 3


def test_escaped_pairs_are_text() -> None:
    groups = read_group_map('{"1": "\\ud83d\\ude00", "2": "\\u7814"}', file=FILE)
    assert [entry.name for entry in groups.entries] == ["😀", "研"]


@pytest.mark.parametrize(
    "names, kept",
    [
        (["a", "a", "b"], ["a", "a", "b"]),
        (["Team", "team", "b"], ["b"]),
        (["Team", "TEAM", "team"], []),
        (["é", "e\u0301", "b"], ["b"]),
        (["ﬁx", "fix"], []),
        (["p", "p/c", "q/c"], ["q/c"]),
        (["P", "p/c/d"], []),
        (["p/a", "p/b"], ["p/a", "p/b"]),
        (["..", "p", "p/..", "q"], ["p", "q"]),
    ],
)
def test_names_that_meet_are_all_refused(names: list[str], kept: list[str]) -> None:
    groups = group_map(**{str(position): name for position, name in enumerate(names)})
    assert [entry.name for entry in groups.entries] == kept
    assert len(groups.errors) == len(names) - len(kept)
    assert all(error.file == FILE and error.key for error in groups.errors)


def test_a_decomposed_name_alone_is_accepted() -> None:
    assert [entry.name for entry in group_map(**{"1": "e\u0301", "2": "e\u0301"}).entries] == ["é", "é"]


@pytest.mark.parametrize(
    "entries, kept",
    [
        ({"C1": "a", "c1": "b", "c2": "c"}, ["c"]),
        ({"C1": "a", "c1": "a"}, ["a", "a"]),
        ({"C1": "a", "c1": ".."}, []),
        ({"C1": {"name": "a", "channel": "slack"}, "agent:x:slack:channel:c1": "b"}, []),
        ({"c1": {"name": "a", "channel": "slack"}, "agent:x:irc:channel:c1": "b"}, ["a", "b"]),
        ({"c1": "a", "agent:x:irc:channel:c1": "b"}, ["a", "b"]),
        ({"!A:hs": "a", "!a:hs": "b"}, ["a", "b"]),
        ({"agent:x:signal:group:Ab": "a", "agent:x:signal:group:aB": "b"}, ["a", "b"]),
        ({"agent:x:matrix:group:!A:hs": "a", "agent:y:matrix:channel:!A:hs": "b"}, []),
    ],
)
def test_ids_that_meet_with_different_names_are_refused(entries: dict[str, Any], kept: list[str]) -> None:
    groups = group_map(**entries)
    assert [entry.name for entry in groups.entries] == kept
    assert len(groups.errors) == len(entries) - len(kept)


FIND = group_map(
    **{
        "C0ABC": "bare",
        "SIG=": "bare-signal",
        "c9": {"name": "slack-only", "channel": "Slack"},
        "c8": {"name": "wide", "channel": ""},
        "agent:main:irc:channel:C8": "narrow",
        "!Room:Hs": "room",
        "agent:main:matrix:channel:!Bound:hs": "bound",
        "agent:main:irc:channel:!Five": "irc-room",
        "x" * LIMITS.key_chars: "long",
    }
)


@pytest.mark.parametrize(
    "key, name",
    [
        ("slack:channel:c0abc", "bare"),
        ("slack:channel:C0ABC", "bare"),
        ("slack:channel:c0abc:thread:1.2", "bare"),
        ("slack:channel:c0abcd", None),
        ("slack:direct:c0abc", None),
        ("signal:group:SIG=", "bare-signal"),
        ("signal:group:sig=", None),
        ("telegram:group:sig=", "bare-signal"),
        ("slack:channel:C9", "slack-only"),
        ("SLACK:acc:channel:C9", "slack-only"),
        ("irc:channel:c9", None),
        ("irc:channel:c8", "narrow"),
        ("slack:channel:c8", "wide"),
        ("matrix:channel:!Room:Hs", "room"),
        ("matrix:channel:!Room:Hs:thread:$e", "room"),
        ("matrix:channel:!room:hs", None),
        ("matrix:channel:!Room:Hs:8448", None),
        ("matrix:channel:!Room", None),
        ("matrix:channel:!Bound:hs", "bound"),
        ("signal:group:!Bound:hs", None),
        ("irc:channel:!five", "irc-room"),
    ],
)
def test_look_up_by_id_and_channel(key: str, name: str | None) -> None:
    assert named(FIND, key) == name


def test_an_id_of_the_longest_kind_is_read() -> None:
    assert [entry.name for entry in FIND.entries][-1] == "long"
    assert FIND.errors == ()


def test_a_grammar_that_leaves_capitals_in_the_channel_finds_the_same() -> None:
    key = SessionKey("k", ChatType.GROUP, channel="SLACK", id="C9")
    assert FIND.find(key) == GroupEntry("c9", "slack-only", "slack", "c9")
    room = SessionKey("k", ChatType.GROUP, channel="Matrix", id="!Room:other")
    assert FIND.find(room) is None
    found = FIND.find(room, matrix_without_server=True)
    assert found is not None
    assert found.name == "room"


def test_an_entry_keeps_its_own_fault_where_its_id_stands_twice() -> None:
    first, second = group_map(C1="a", c1="..").errors
    assert "more than once" in first.cause
    assert isinstance(second, NameRefusedError)


def test_a_refused_entry_is_not_answered_for_by_a_wider_one() -> None:
    groups = group_map(**{"7": "wide", "agent:main:irc:channel:7": "..", "!r:a": "..", "!r:b": "room"})
    assert named(groups, "slack:channel:7") == "wide"
    assert named(groups, "irc:channel:7") is None
    assert named(groups, "matrix:channel:!r:b", without_server=True) == "room"
    assert named(groups, "matrix:channel:!r:a", without_server=True) is None
    assert named(groups, "matrix:channel:!r:c", without_server=True) is None
    refusal = groups.refusal(parse_session_key("agent:main:irc:channel:7"))
    assert isinstance(refusal, NameRefusedError)
    assert groups.refusal(parse_session_key("agent:main:slack:channel:7")) is None


def test_matrix_rooms_without_their_server() -> None:
    groups = group_map(
        **{"!r:a.org": "one", "!r:b.org": "one", "!s:a.org": "two", "!s:b.org": "three", "!t": "four",
           "agent:x:matrix:channel:!u:a.org": "five", "agent:x:irc:channel:!v": "six", "w:a.org": "seven"}
    )  # fmt: skip
    expected = {"!r:z": "one", "!r:z:8448": "one", "!s:z": None, "!s:a.org": "two", "!t:z": "four", "!u": "five",
                "!v:z": None, "!R:z": None, "w:z": None}  # fmt: skip
    for id_, name in expected.items():
        key = f"matrix:channel:{id_}"
        assert named(groups, key, without_server=True) == name, id_
        assert named(groups, key) == (name if id_ == "!s:a.org" else None), id_
    assert named(groups, "irc:channel:!r:z", without_server=True) is None
    assert named(groups, "matrix:direct:!r:z", without_server=True) is None


def test_an_empty_map_finds_nothing() -> None:
    assert EMPTY == GroupMap() == read_group_map("{}", file=FILE)
    assert named(EMPTY, "telegram:group:-100", without_server=True) is None


def least(work: Callable[[], object]) -> float:
    """The least CPU time of five runs: what the work costs when nothing else gets in its way, the collector of what
    other tests left behind least of all."""
    taken = []
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            begin = time.process_time()
            work()
            taken.append(time.process_time() - begin)
    finally:
        gc.enable()
    return min(taken)


def test_ten_thousand_groups_cost_ten_times_a_thousand_and_a_look_up_the_same() -> None:
    texts = {
        count: json.dumps({f"-100{number}": {"name": f"team {number}"} for number in range(count)})
        for count in (10, 1_000, 10_000)
    }
    maps = {count: read_group_map(text, file=FILE) for count, text in texts.items()}
    assert named(maps[10_000], "telegram:group:-1009999") == "team 9999"
    costs = {count: least(lambda text=text: read_group_map(text, file=FILE)) for count, text in texts.items()}  # type: ignore[misc]
    # Ten times as many cost ten times as much; work that grows with the square would cost a hundred times.
    assert costs[10_000] < 60 * costs[1_000]
    few, many = (
        least(lambda groups=maps[count]: [named(groups, "telegram:group:-1009") for _ in range(2_000)])  # type: ignore[misc]
        for count in (10, 10_000)
    )
    assert many < 10 * few


@pytest.mark.parametrize(
    "event, scope, code",
    [
        ({"single_user": True}, DM, "owner"),
        ({"single_user": True, "is_group": False}, DM, "owner"),
        ({"single_user": True, "is_group": True}, None, "no-session"),
        ({"single_user": True, "require_session": True}, None, "no-session"),
        ({"single_user": True, "sender": "501"}, None, "not-owner"),
        ({"single_user": True, "sender": "501", "owner_peers": ("501",)}, DM, "owner"),
        ({"single_user": True, "subagent": True}, None, "subagent"),
        ({}, None, "no-session"),
        ({"owner_peers": ("*",), "scopes": (("*", "DM"),)}, None, "no-session"),
    ],
)
def test_no_session_key(event: dict[str, Any], scope: Scope | None, code: str) -> None:
    decision = decide(None, **event)
    assert (decision.scope, decision.code) == (scope, code)


@pytest.mark.parametrize("key", ["", " ", "\n\t", "\u3000"])
def test_an_empty_session_key_never_has_a_scope(key: str) -> None:
    decision = decide(key, single_user=True, owner_peers=("*",), scopes=(("*", "DM"), ("", "DM")))
    assert (decision.scope, decision.code) == (None, "empty-session")
    assert decision.remedy


MAPPED = group_map(
    **{"-100": "team", "C1": {"name": "slackers", "channel": "slack"}, "-200": "..", "p": "parent/child"}
)
ME = ("501", "@me:hs", "slack:U1")


@pytest.mark.parametrize(
    "key, event, scope, code",
    [
        ("main", {}, DM, "owner"),
        ("main", {"owner_peers": ()}, DM, "owner"),
        ("main", {"is_group": False}, DM, "owner"),
        ("main:thread:501:77", {}, DM, "owner"),
        ("main", {"sender": "501"}, DM, "owner"),
        ("main", {"sender": "502"}, None, "not-owner"),
        ("main", {"sender": ""}, None, "not-owner"),
        ("main", {"sender": "501", "owner_peers": ()}, None, "not-owner"),
        ("main", {"sender": "502", "owner_peers": ("*",)}, DM, "owner"),
        ("main", {"sender": "@Me:hs"}, None, "not-owner"),
        ("main", {"is_group": True}, None, "conflict"),
        ("main", {"subagent": True}, None, "subagent"),
        ("main", {"require_session": True}, DM, "owner"),
        ("main:heartbeat", {}, None, "unknown-key"),
        ("direct:501", {}, DM, "owner"),
        ("direct:501:thread:9", {}, DM, "owner"),
        ("direct:502", {}, None, "not-owner"),
        ("direct:502", {"owner_peers": ("*",)}, DM, "owner"),
        ("direct:501", {"owner_peers": ()}, None, "not-owner"),
        ("direct:501", {"sender": "501"}, DM, "owner"),
        ("direct:501", {"sender": "502"}, None, "not-owner"),
        ("direct:502", {"sender": "501"}, None, "not-owner"),
        ("direct:501", {"is_group": True}, None, "conflict"),
        ("telegram:direct:501", {"is_group": False}, DM, "owner"),
        ("telegram:default:direct:501", {}, DM, "owner"),
        ("slack:direct:u1", {}, DM, "owner"),
        ("slack:direct:u1", {"sender": "U1"}, DM, "owner"),
        ("irc:direct:u1", {}, None, "not-owner"),
        ("matrix:direct:@me:hs", {}, DM, "owner"),
        ("matrix:direct:@Me:hs", {}, None, "not-owner"),
        ("matrix:direct:@me:hs:thread:$e", {}, DM, "owner"),
        ("telegram:group:-100", {}, group("team"), "group"),
        ("telegram:group:-100:topic:4", {}, group("team"), "group"),
        ("telegram:group:-100", {"is_group": True}, group("team"), "group"),
        ("telegram:group:-100", {"is_group": False}, group("team"), "group"),
        ("telegram:group:-100", {"sender": "502"}, group("team"), "group"),
        ("telegram:group:-100", {"subagent": True}, None, "subagent"),
        ("slack:channel:c1", {}, group("slackers"), "group"),
        ("irc:channel:c1", {}, None, "unmapped-group"),
        ("irc:channel:p", {}, group("parent/child"), "group"),
        ("telegram:group:-101", {}, None, "unmapped-group"),
        ("telegram:group:-101", {"is_group": False, "sender": "501"}, None, "unmapped-group"),
        ("telegram:group:-200", {}, None, "unmapped-group"),
        ("telegram:group:-100:direct:501", {}, None, "unmapped-group"),
        ("telegram:group:main", {"owner_peers": ("*",)}, None, "unmapped-group"),
        ("cron:job1", {}, None, "cron"),
        ("subagent:9f", {}, None, "subagent"),
        ("foo:bar:1", {"owner_peers": ("*",)}, None, "unknown-key"),
        ("internal-session-effects:3e-5b", {"owner_peers": ("*",)}, None, "unknown-key"),
        ("slack:direct:channel:c1", {"owner_peers": ("*",)}, None, "unknown-key"),
    ],
)
def test_chat_types(key: str, event: dict[str, Any], scope: Scope | None, code: str) -> None:
    decision = decide(f"agent:main:{key}", MAPPED, **{"owner_peers": ME, **event})
    assert (decision.scope, decision.code) == (scope, code)
    assert not (scope and decision.remedy)


def test_keys_without_the_hosts_prefix_have_no_scope() -> None:
    for key in ("main", "telegram:group:-100", "global", "unknown", "501", "x" * 5000):
        decision = decide(key, MAPPED, owner_peers=("*",), single_user=True)
        assert (decision.scope, decision.code) == (None, "unknown-key")


@pytest.mark.parametrize(
    "key, event, words",
    [
        ("agent:main:main", {"sender": '7"x'}, ['owner_peers = ["PEER"] in apm.toml']),
        ("agent:main:main", {"sender": "7\\x"}, ['owner_peers = ["PEER"] in apm.toml']),
        ("agent:main:direct:77", {}, ['owner_peers = ["77"] in apm.toml']),
        ("agent:main:mywork", {}, ["[scopes]", '"DM" or "Group(NAME)"']),
        ("agent:main:mywork", {"is_group": True}, ["[scopes]", '"Group(NAME)"']),
        ("agent:main:hook:group:1", {}, ["[scopes]", '"Group(NAME)"']),
        ("agent:main:cron:x", {}, ["[scopes]", '"DM" or "Group(NAME)"']),
        (None, {"single_user": True, "require_session": True}, ["require_session = false"]),
        (None, {}, ["session key"]),
        ("agent:main:main", {"is_group": True}, ["session key"]),
    ],
)
def test_remedies_name_the_setting(key: str | None, event: dict[str, Any], words: list[str]) -> None:
    remedy = decide(key, **event).remedy
    assert all(word in remedy for word in words)
    assert ('"DM"' in remedy) is any('"DM"' in word for word in words)


@pytest.mark.parametrize("id_", ["-1001234567890", "!room:hs.example", "a b$(x)'", "é"])
def test_an_unmapped_group_is_told_how_to_map_it(id_: str) -> None:
    decision = decide(f"agent:main:matrix:channel:{id_}", MAPPED)
    assert decision.code == "unmapped-group"
    assert decision.remedy == f"apm-hooks group add NAME --id {shlex.quote(id_)}"
    assert id_.split("'", maxsplit=1)[0] in decision.detail
    assert decision.detail.endswith("on matrix is not in the group map")


def test_a_group_with_a_refused_entry_is_told_why() -> None:
    decision = decide("agent:main:telegram:group:-200", MAPPED)
    assert FILE in decision.detail
    assert "[-200]" in decision.detail
    assert decision.remedy == "apm-hooks group add NAME --id -200"


def test_what_a_key_holds_stays_in_one_printable_line() -> None:
    for rest in (
        "telegram:group:-1\n\x1b[31m\u202e",
        "direct:\n\x1b",
        "\n\x1b:\udcff",
        "telegram:group:\udcff",
    ):
        decision = decide(f"agent:main:{rest}")
        assert decision.scope is None
        assert decision.detail.isprintable()
        assert decision.remedy.isprintable()


@pytest.mark.parametrize(
    "key, scopes, event, scope, code",
    [
        ("cron:nightly", {"cron:nightly": "DM"}, {}, DM, "scopes"),
        ("agent:main:cron:a:run:b", {"agent:main:cron:a:*": "DM"}, {}, DM, "scopes"),
        ("agent:main:cron:a:run:b", {"agent:main:cron:a": "DM"}, {}, None, "cron"),
        ("agent:main:cron:a", {"AGENT:*": "DM"}, {}, None, "cron"),
        ("agent:main:cron:a", {"agent:*": "DM"}, {"subagent": True}, None, "subagent"),
        ("agent:main:cron:a", {"agent:*": "Group(team)"}, {}, group("team"), "scopes"),
        ("agent:main:cron:a", {"agent:*": "Group(new)"}, {}, group("new"), "scopes"),
        ("agent:main:cron:a", {"agent:*": "Group(e\u0301)"}, {}, group("é"), "scopes"),
        ("agent:main:cron:a", {"agent:*": "Group(parent/child)"}, {}, group("parent/child"), "scopes"),
        ("agent:main:mywork", {"agent:main:my*": "DM"}, {"sender": "501"}, DM, "scopes"),
        ("agent:main:mywork", {"agent:main:my*": "DM"}, {"sender": "502"}, None, "not-owner"),
        ("agent:main:mywork", {"agent:main:my*": "DM"}, {"sender": ""}, None, "not-owner"),
        ("agent:main:mywork", {"agent:main:my*": "DM"}, {"is_group": False}, DM, "scopes"),
        ("agent:main:mywork", {"agent:main:my*": "DM"}, {"is_group": True}, None, "conflict"),
        ("agent:main:mywork", {"agent:main:my*": "Group(team)"}, {"is_group": True}, group("team"), "scopes"),
        ("agent:main:mywork", {"*": "none"}, {}, None, "scopes"),
        ("agent:main:mywork", {"*": "DM", "agent:*": "DM"}, {}, DM, "scopes"),
        ("agent:main:mywork", {"*": "DM", "agent:*": "Group(team)"}, {}, None, "conflict"),
        ("agent:main:mywork", {"*": "Group(a)", "agent:*": "Group(b)"}, {}, None, "conflict"),
        ("agent:main:mywork", {"*": "DM", "agent:*": "none"}, {}, None, "scopes"),
        ("agent:main:mywork", {"*": "dm"}, {}, None, "scopes-refused"),
        ("agent:main:mywork", {"*": ""}, {}, None, "scopes-refused"),
        ("agent:main:mywork", {"*": "Group"}, {}, None, "scopes-refused"),
        ("agent:main:mywork", {"*": "Group(team"}, {}, None, "scopes-refused"),
        ("agent:main:mywork", {"*": "Group()"}, {}, None, "scopes-refused"),
        ("agent:main:mywork", {"*": "team)"}, {}, None, "scopes-refused"),
        ("agent:main:mywork", {"*": "Group(../main)"}, {}, None, "scopes-refused"),
        ("agent:main:mywork", {"*": "Group(Team)"}, {}, None, "scopes-refused"),
        ("agent:main:mywork", {"*": "Group(team/x)"}, {}, None, "scopes-refused"),
        ("agent:main:mywork", {"*": "Group(parent)"}, {}, None, "scopes-refused"),
        ("agent:main:mywork", {"*": "Group(new)", "other": "Group(NEW)"}, {}, None, "scopes-refused"),
        ("agent:main:mywork", {"*": "Group(new)", "other": "Group(new/x)"}, {}, None, "scopes-refused"),
        ("agent:main:main", {"*": "none"}, {}, None, "scopes"),
        ("agent:main:main", {"*": "DM"}, {"sender": "502"}, None, "not-owner"),
        ("agent:main:main", {"*": "DM"}, {"is_group": True}, None, "conflict"),
        ("agent:main:main", {"*": "Group(team)"}, {"is_group": True}, None, "conflict"),
        ("agent:main:main", {"*": "Group(team)"}, {}, group("team"), "scopes"),
        ("agent:main:telegram:direct:502", {"*:direct:502": "DM"}, {}, DM, "scopes"),
        ("agent:main:telegram:direct:502", {"*:direct:502": "DM"}, {"sender": "502"}, DM, "scopes"),
        ("agent:main:telegram:direct:502", {"*:direct:502": "DM"}, {"sender": "503"}, None, "not-owner"),
        ("agent:main:telegram:direct:501", {"*:direct:501": "none"}, {}, None, "scopes"),
        ("agent:main:telegram:group:-100", {"*": "DM"}, {}, group("team"), "group"),
        ("agent:main:telegram:group:-101", {"*": "DM"}, {}, None, "unmapped-group"),
        ("agent:main:telegram:group:-101", {"*": "DM"}, {"is_group": False}, None, "unmapped-group"),
        ("agent:main:telegram:group:-101", {"*": "Group(team)"}, {}, None, "unmapped-group"),
        ("agent:main:telegram:group:-100", {"*": "none"}, {}, None, "scopes"),
        ("agent:main:group:-100", {"*": "DM"}, {}, None, "conflict"),
        ("agent:main:hook:group:-100", {"*": "DM"}, {}, None, "conflict"),
        ("telegram:group:-100", {"*": "DM"}, {}, None, "conflict"),
        ("telegram:group:-100", {"*": "Group(team)"}, {}, group("team"), "scopes"),
        ("x" * LIMITS.key_chars, {"*": "DM"}, {}, DM, "scopes"),
        ("x" * (LIMITS.key_chars + 1), {"*": "DM"}, {}, None, "unknown-key"),
        ("agent:main:a[b]", {"agent:main:a[b]": "DM"}, {}, None, "unknown-key"),
        ("agent:main:a[b]", {"agent:main:a[[]b]": "DM"}, {}, DM, "scopes"),
    ],
)
def test_scopes_setting(
    key: str, scopes: dict[str, str], event: dict[str, Any], scope: Scope | None, code: str
) -> None:
    decision = decide(key, MAPPED, owner_peers=("501",), scopes=tuple(scopes.items()), **event)
    assert (decision.scope, decision.code) == (scope, code)
    if code in ("scopes-refused", "conflict"):
        assert decision.remedy


def test_a_name_that_the_map_refuses_is_no_target_either() -> None:
    groups = group_map(**{"1": "Team", "2": "team"})
    for target in ("Group(Team)", "Group(team)", "Group(TEAM)"):
        assert decide("cron:x", groups, scopes=(("*", target),)).code == "scopes-refused"


def test_matrix_rooms_match_without_server_only_by_setting() -> None:
    groups, key = group_map(**{"!r:a.org": "room"}), "agent:main:matrix:channel:!r:z.org"
    assert decide(key, groups).scope is None
    assert decide(key, groups, matrix_match_without_server=True).scope == group("room")


PARTS = [
    "direct",
    "dm",
    "main",
    "group",
    "channel",
    "thread",
    "topic",
    "agent",
    "501",
    "@me",
    "hs",
    "!r",
    "$e",
    "8448",
]
HOSTILE = st.lists(st.one_of(st.sampled_from([*PARTS, "", " "]), st.text(max_size=5)), min_size=1, max_size=6).map(
    ":".join
)
CHANNEL = st.sampled_from(
    ["telegram", "matrix", "signal", "x", "main", "direct", "cron", "hook", "subagent", "a b", ""]
)
ACCOUNT = st.sampled_from(["", "acc:", "main:", "thread:", "direct:", "dm:", "slash:", "group:", ":"])
WORD = st.sampled_from(["group", "channel", "GROUP"])
GROUP_KEYS = st.builds(
    "{}{}:{}{}:{}".format,
    st.sampled_from(["agent:main:", "agent:31:", "Agent:x:"]),
    CHANNEL,
    ACCOUNT,
    WORD,
    HOSTILE,
)
TARGETS = st.sampled_from(["DM", "none", "Group(a)", "Group(../main)", "dm", "Group(main)"])
GLOBS = st.one_of(st.sampled_from(["*", "agent:*", "*:group:*", "*direct*", "*main*", "?gent:*"]), st.text(max_size=6))
SETTINGS = st.builds(
    ScopeSettings,
    owner_peers=st.lists(st.one_of(st.sampled_from(["*", "501", "@me", "telegram:501"]), HOSTILE), max_size=3).map(
        tuple
    ),
    scopes=st.lists(st.tuples(GLOBS, TARGETS), max_size=3).map(tuple),
    require_session=st.booleans(),
    matrix_match_without_server=st.booleans(),
)
VALUES = st.one_of(
    st.sampled_from(["a", "DM", "main", "../main", "..", "Group(x)"]),
    st.text(max_size=5),
    st.fixed_dictionaries({"name": st.sampled_from(["main", "b", "../main/index"]), "channel": CHANNEL}),
    st.none(),
)
MAPS = st.dictionaries(st.one_of(HOSTILE, GROUP_KEYS), VALUES, max_size=4)
SENDERS = st.one_of(st.none(), st.sampled_from(["501", "@me", ""]), HOSTILE)


def read_or_empty(entries: dict[str, Any]) -> GroupMap:
    try:
        return read_group_map(json.dumps(entries), file=FILE)
    except SettingsError:
        return EMPTY


@settings(max_examples=300)
@given(GROUP_KEYS, MAPS, VALUES, SETTINGS, SENDERS, st.sampled_from([None, False, True]), st.booleans())
def test_nothing_gives_a_group_the_owners_memory(
    key: str, entries: dict[str, Any], value: object, chosen: ScopeSettings, sender: str | None,
    is_group: bool | None, single_user: bool,
) -> None:  # fmt: skip
    groups = read_or_empty({**entries, key: value})
    event = HostEvent("host", "s", session_key=key, sender=sender, is_group=is_group, single_user=single_user)
    wide = replace(chosen, owner_peers=(*chosen.owner_peers, "*"), scopes=(*chosen.scopes, ("*", "DM")))
    for asked in (chosen, wide, replace(chosen, owner_peers=("*",), scopes=(("*", "DM"),))):
        decision = decide_scope(event, asked, groups)
        assert decision.scope != DM
        if decision.scope is not None:
            assert decision.scope.kind is ScopeKind.GROUP
            assert decision.scope.name in {entry.name for entry in groups.entries} | {"a", "main"}


@settings(max_examples=200)
@given(st.one_of(st.none(), HOSTILE, GROUP_KEYS, HOSTILE.map("agent:main:{}".format)), MAPS, SETTINGS, SENDERS)
def test_a_turn_of_a_group_never_has_the_owners_memory(
    key: str | None, entries: dict[str, Any], chosen: ScopeSettings, sender: str | None
) -> None:
    event = HostEvent("host", "s", session_key=key, sender=sender, is_group=True, single_user=True)
    assert decide_scope(event, chosen, read_or_empty(entries)).scope != DM


@settings(max_examples=200)
@given(st.one_of(HOSTILE, HOSTILE.map("agent:main:{}".format)), SETTINGS, HOSTILE)
def test_a_stranger_never_has_the_owners_memory(key: str, chosen: ScopeSettings, stranger: str) -> None:
    closed = replace(chosen, owner_peers=("owner",))
    parsed = parse_session_key(key)
    event = HostEvent("host", "s", session_key=key, sender=f"{stranger}!", single_user=True)
    assert decide_scope(event, closed, EMPTY).scope != DM
    direct = replace(event, sender=None)
    if parsed.id and not closed.scopes:
        assert decide_scope(direct, closed, EMPTY).scope is None


@settings(max_examples=200)
@given(st.text(max_size=80))
def test_no_text_escapes_as_another_error(text: str) -> None:
    for candidate in (text, f"{{{text}}}", f'{{"1": {text}}}', json.dumps({text: text})):
        try:
            groups = read_group_map(candidate, file=FILE)
        except SettingsError as error:
            assert error.file == FILE
        else:
            assert all(error.file == FILE for error in groups.errors)


def test_a_pattern_may_leave_the_agent_out() -> None:
    settings = ScopeSettings(scopes=(("cron:nightly*", "DM"),))
    for key, scope in (("agent:main:cron:nightly:run:1", DM), ("cron:nightly", DM), ("agent:main:cron:weekly", None)):
        assert decide_scope(HostEvent("cli", "s", session_key=key), settings, GroupMap.empty()).scope == scope
