from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.records import LIMITS, ChatType, SessionKey
from apm_hooks.session import folded_id, is_owner, may_be_group, parse_session_key

DIRECT, GROUP, UNKNOWN = ChatType.DIRECT, ChatType.GROUP, ChatType.UNKNOWN
EVENT_ID = "$Ev:hs.example"

# What follows `agent:main:` → channel, account, id, thread.
DIRECTS = [
    ("direct:501", "", "", "501", ""),
    ("dm:501", "", "", "501", ""),
    ("direct:@me:example.org", "", "", "@me:example.org", ""),
    ("telegram:direct:501", "telegram", "", "501", ""),
    ("telegram:dm:501", "telegram", "", "501", ""),
    ("telegram:default:direct:501", "telegram", "default", "501", ""),
    ("telegram:main:dm:501", "telegram", "main", "501", ""),
    ("slack:work@corp+x.y_z-1:direct:u1", "slack", "work@corp+x.y_z-1", "u1", ""),
    ("telegram:direct:1727:thread:1727:440162", "telegram", "", "1727", "1727:440162"),
    ("telegram:default:direct:1727:topic:9", "telegram", "default", "1727", "9"),
    ("telegram:direct:thread:5", "telegram", "", "thread:5", ""),
    ("telegram:direct:501:thread:", "telegram", "", "501:thread:", ""),
    ("telegram:direct:501:group:7", "telegram", "", "501:group:7", ""),
    ("slack:acc:direct:channel:c1", "slack", "acc", "channel:c1", ""),
    ("matrix:dm:@u:hs.example", "matrix", "", "@u:hs.example", ""),
    ("matrix:direct:@u:hs.example:8448", "matrix", "", "@u:hs.example:8448", ""),
    ("matrix:direct:@u:hs:thread:$e:hs", "matrix", "", "@u:hs", "$e:hs"),
    ("matrix:direct:@u:thread:8448", "matrix", "", "@u:thread:8448", ""),
    ("matrix:direct:@u:[::1]:8448:topic:1", "matrix", "", "@u:[::1]:8448", "1"),
    ("matrix:direct:alice:thread:9", "matrix", "", "alice", "9"),
]

GROUPS = [
    ("telegram:group:-100777", "telegram", "", "-100777", ""),
    ("telegram:group:-100888:topic:42", "telegram", "", "-100888", "42"),
    ("telegram:default:group:-100888:topic:42", "telegram", "default", "-100888", "42"),
    ("slack:channel:c0123abcdef", "slack", "", "c0123abcdef", ""),
    ("slack:channel:c1:thread:1700000000.000100", "slack", "", "c1", "1700000000.000100"),
    ("slack:work:channel:c1", "slack", "work", "c1", ""),
    ("discord:channel:42", "discord", "", "42", ""),
    ("signal:group:aBc+/=", "signal", "", "aBc+/=", ""),
    ("msteams:channel:19:abc@thread.tacv2", "msteams", "", "19:abc@thread.tacv2", ""),
    ("msteams:channel:19:abc@thread.tacv2:thread:77", "msteams", "", "19:abc@thread.tacv2", "77"),
    ("telegram:group:thread:5", "telegram", "", "thread:5", ""),
    ("telegram:group:thread:thread:5", "telegram", "", "thread", "5"),
    ("telegram:group:x:thread:", "telegram", "", "x:thread:", ""),
    ("telegram:group:x:thread: ", "telegram", "", "x:thread: ", ""),
    ("telegram:group:x:thread", "telegram", "", "x:thread", ""),
    ("telegram:group:x:topic:1:thread:2", "telegram", "", "x", "1:thread:2"),
    ("telegram:group:x:Topic:1", "telegram", "", "x", "1"),
    ("telegram:group:x:topics:1", "telegram", "", "x:topics:1", ""),
    ("telegram:group:-100:direct:501", "telegram", "", "-100:direct:501", ""),
    ("telegram:group:main", "telegram", "", "main", ""),
    ("x:group:direct:7", "x", "", "direct:7", ""),
    ("x:group:group:7", "x", "", "group:7", ""),
    ("slack:channel:direct", "slack", "", "direct", ""),
    ("matrix:channel:!RoomAbC:Example.Org", "matrix", "", "!RoomAbC:Example.Org", ""),
    ("matrix:channel:!room:hs.example:8448", "matrix", "", "!room:hs.example:8448", ""),
    (f"matrix:channel:!r:hs.example:thread:{EVENT_ID}", "matrix", "", "!r:hs.example", EVENT_ID),
    (f"matrix:channel:!r:hs:8448:thread:{EVENT_ID}", "matrix", "", "!r:hs:8448", EVENT_ID),
    ("matrix:group:!r:[::1]:8448", "matrix", "", "!r:[::1]:8448", ""),
    ("matrix:group:!r:[2001:db8::1]:thread:$e", "matrix", "", "!r:[2001:db8::1]", "$e"),
    ("matrix:channel:!opaque:thread:8448", "matrix", "", "!opaque:thread:8448", ""),
    ("matrix:channel:!opaque:thread", "matrix", "", "!opaque:thread", ""),
    ("matrix:channel:!opaque:thread:$ev", "matrix", "", "!opaque", "$ev"),
    (f"matrix:channel:!opaque:thread:{EVENT_ID}", "matrix", "", "!opaque", EVENT_ID),
    ("matrix:channel:!opaque:topic:8448:thread:$e", "matrix", "", "!opaque:topic:8448", "$e"),
    ("matrix:channel:!opaque", "matrix", "", "!opaque", ""),
    ("matrix:channel:!r:direct:8448", "matrix", "", "!r:direct:8448", ""),
    ("matrix:channel:!r:hs:84x8:junk", "matrix", "", "!r:hs:84x8:junk", ""),
    ("matrix:channel:!r:hs:thread:", "matrix", "", "!r:hs:thread:", ""),
    ("matrix:acc:channel:!r:hs", "matrix", "acc", "!r:hs", ""),
    ("matrix:channel:#alias:hs:thread:$e", "matrix", "", "#alias:hs", "$e"),
    ("irc:channel:!five:thread:8448", "irc", "", "!five", "8448"),
    ("irc:channel:@five:topic:8448", "irc", "", "@five", "8448"),
]

UNKNOWNS = [
    "agent:main:",
    "agent:main",
    "agent:",
    "agent",
    "",
    " ",
    ":",
    ":::::",
    "agent::main",
    "agent:a b:main",
    "main",
    "global",
    "unknown",
    "cron:nightly",
    "telegram:group:-100777",
    "user:main:main",
    "agent:main:mywork",
    "agent:main:weird:shape:xyz",
    "agent:main:main:heartbeat",
    "agent:main:main:",
    "agent:main:main:thread:",
    "agent:main:main:thread: ",
    "agent:main:main:thread",
    "agent:main:main:topic:4",
    "agent:main:main:thread:group:7",
    "agent:main:main:direct:501",
    "agent:main:main:group:7",
    "agent:main:mainx",
    "agent:main:acp:0f1e",
    "agent:main:hook:ingress:1",
    "agent:main:internal-session-effects:3e505208-1561-5b150d99",
    "agent:main:explicit:x",
    "agent:main:dashboard:1",
    "agent:main:boot:1",
    "agent:main:telegram:slash:501",
    "agent:main:telegram:slash:direct:501",
    "agent:main:telegram:thread:direct:501",
    "agent:main:global",
    "agent:main:unknown",
    "agent:main:unknown:direct:501",
    "agent:main:acp:direct:501",
    "agent:main:hook:x:direct:501",
    "agent:main:session:direct:501",
    "agent:main:group:-100777",
    "agent:main:channel:c1",
    "agent:main:group:direct:5",
    "agent:main:direct:group:5",
    "agent:main:direct:5:group",
    "agent:main:direct:x:channel:7",
    "agent:main:slack:direct:channel:c1",
    "agent:main:slack:dm:group:c1",
    "agent:main:slack:direct:dm:c1",
    "agent:main:telegram:direct:",
    "agent:main:telegram:direct: ",
    "agent:main:telegram:direct",
    "agent:main:direct",
    "agent:main:direct:",
    "agent:main:telegram:group:",
    "agent:main:telegram:group",
    "agent:main:telegram:group::topic:4",
    "agent:main:telegram:group: :topic:4",
    "agent:main:tele gram:direct:501",
    "agent:main::direct:501",
    "agent:main:telegram::direct:501",
    "agent:main:telegram:a/b:direct:501",
    "agent:main:télégram:direct:501",
    "agent:main:telegram: group:7",
    "agent:main:a:b:c:direct:501",
    "agent:main:subagent",
    "agent:main:subagent:",
    "agent:main:cron:",
    "agent:main:cron: ",
]

OTHERS = [
    ("agent:main:subagent:66daba75-5880", ChatType.SUBAGENT),
    ("agent:main:subagent:a:subagent:b", ChatType.SUBAGENT),
    ("agent:main:SubAgent:direct:501", ChatType.SUBAGENT),
    ("agent:main:cron:293019a3:run:33b35290", ChatType.CRON),
    ("agent:main:cron:direct:501", ChatType.CRON),
]


@pytest.mark.parametrize("rest, channel, account, id_, thread", DIRECTS)
def test_direct_chats(rest: str, channel: str, account: str, id_: str, thread: str) -> None:
    raw = f"agent:main:{rest}"
    assert parse_session_key(raw) == SessionKey(raw, DIRECT, "main", channel, account, id_, thread)


@pytest.mark.parametrize("rest, channel, account, id_, thread", GROUPS)
def test_groups(rest: str, channel: str, account: str, id_: str, thread: str) -> None:
    raw = f"agent:31:{rest}"
    assert parse_session_key(raw) == SessionKey(raw, GROUP, "31", channel, account, id_, thread)


@pytest.mark.parametrize("raw", UNKNOWNS)
def test_unknown(raw: str) -> None:
    key = parse_session_key(raw)
    assert (key.raw, key.chat, key.id, key.thread, key.owner) == (raw, UNKNOWN, "", "", False)


@pytest.mark.parametrize("account", ["", "acc:", "1:"])
@pytest.mark.parametrize("chat", ["direct", "group"])
@pytest.mark.parametrize(
    "word",
    [
        "main",
        "direct",
        "dm",
        "group",
        "channel",
        "thread",
        "topic",
        "agent",
        "acp",
        "hook",
        "explicit",
        "dashboard",
        "internal-session-effects",
        "boot",
        "global",
        "unknown",
        "slash",
        "session",
        "heartbeat",
        "Heartbeat",
    ],
)
def test_a_word_with_a_meaning_of_its_own_is_no_channel(word: str, account: str, chat: str) -> None:
    assert parse_session_key(f"agent:main:{word}:{account}{chat}:501").chat is UNKNOWN


@pytest.mark.parametrize("raw, chat", OTHERS)
def test_sessions_without_a_chat(raw: str, chat: ChatType) -> None:
    assert parse_session_key(raw) == SessionKey(raw, chat, "main")


@pytest.mark.parametrize(
    "raw, thread",
    [
        ("agent:main:main", ""),
        ("agent:main:main:thread:501:77", "501:77"),
        ("agent:main:main:thread:1700000000.000100", "1700000000.000100"),
        ("agent:main:main:thread:501:group", "501:group"),
    ],
)
def test_main_is_the_owners_own(raw: str, thread: str) -> None:
    assert parse_session_key(raw) == SessionKey(raw, DIRECT, "main", thread=thread, owner=True)


def test_literal_tokens_match_in_any_case() -> None:
    key = parse_session_key("AGENT:Main:Telegram:Default:GROUP:-100AbC:Topic:Q")
    expected = (GROUP, "main", "telegram", "default", "-100AbC", "Q")
    assert (key.chat, key.agent, key.channel, key.account, key.id, key.thread) == expected
    assert parse_session_key("Agent:x:MAIN:Thread:1").owner
    assert parse_session_key("agent:x:MATRIX:Channel:!Op:Hs:THREAD:$E").id == "!Op:Hs"


@pytest.mark.parametrize(
    "raw, folded",
    [
        ("agent:main:slack:channel:C0123ABCDEF", "c0123abcdef"),
        ("agent:main:matrix:channel:!RoomAbC:Example.Org", "!RoomAbC:Example.Org"),
        ("agent:main:Signal:group:aBc=", "aBc="),
        ("agent:main:signal:direct:AbC", "abc"),
        ("agent:main:matrix:direct:@Me:Hs", "@me:hs"),
    ],
)
def test_ids_fold_where_the_host_folds_them(raw: str, folded: str) -> None:
    assert folded_id(parse_session_key(raw)) == folded


def test_a_channel_in_capitals_folds_like_its_own() -> None:
    assert folded_id(SessionKey("k", GROUP, channel="Matrix", id="!A:b")) == "!A:b"


def test_the_length_of_a_key_is_bounded() -> None:
    prefix = "agent:main:telegram:group:"
    longest = prefix + "1" * (LIMITS.key_chars - len(prefix))
    assert parse_session_key(longest).chat is GROUP
    assert parse_session_key(longest + "1").chat is UNKNOWN
    assert parse_session_key("agent:main:direct:" + ":direct" * 150_000).chat is UNKNOWN


@pytest.mark.parametrize(
    "raw, group",
    [
        ("agent:main:telegram:group:-1", True),
        ("agent:main:mywork", False),
        ("agent:main:group:-1", True),
        ("telegram:group:-1", True),
        ("agent:main:tele gram: Channel :1", True),
        ("agent:main:cron:group:1", True),
        ("agent:main:cron:nightly", False),
        ("agent:main:telegram:direct:5:group:7", False),
        ("x" * LIMITS.key_chars, False),
        ("x" * (LIMITS.key_chars + 1), True),
    ],
)
def test_keys_that_may_be_a_groups(raw: str, group: bool) -> None:
    assert may_be_group(parse_session_key(raw)) is group


@pytest.mark.parametrize(
    "peer, channel, entries, owner",
    [
        ("77", "telegram", ("77",), True),
        ("77", "telegram", ("7", "777", ""), False),
        ("77", "", ("77",), True),
        ("77", "telegram", ("telegram:77",), True),
        ("77", "telegram", ("Telegram:77",), True),
        ("77", "discord", ("telegram:77",), False),
        ("77", "", ("telegram:77",), False),
        ("U1AB", "slack", ("u1ab",), True),
        ("u1ab", "slack", ("SLACK:U1AB",), True),
        ("Иван", "irc", ("иван",), True),
        ("\u212aate", "irc", ("kate",), False),
        ("@Me:hs", "matrix", ("@me:hs",), False),
        ("@me:hs", "matrix", ("@me:hs",), True),
        ("@me:hs", "matrix", ("Matrix:@me:hs",), True),
        ("@Me:hs", "", ("@me:hs",), False),
        ("@Me", "", ("@me",), True),
        ("@Me:x", "irc", ("@me:x",), True),
        ("Tel:1", "", ("tel:1",), True),
        ("501", "", (":501",), False),
        ("anyone", "irc", ("*",), True),
        ("", "irc", ("",), False),
        (" ", "irc", (" ",), False),
        ("", "irc", ("*",), True),
        ("77", "telegram", (), False),
        ("77", "telegram", ("7*", "??"), False),
    ],
)
def test_peers_of_the_owner(peer: str, channel: str, entries: tuple[str, ...], owner: bool) -> None:
    assert is_owner(peer, channel, entries) is owner


WORDS = "agent main direct dm group channel thread topic cron subagent matrix x !r @u hs 8448 $e [::1]"
TOKENS = st.sampled_from([*WORDS.split(), "", " ", "\0", "\ud800", "\n"])
ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


@settings(max_examples=300)
@given(st.one_of(ANY_TEXT, st.lists(st.one_of(TOKENS, ANY_TEXT), max_size=9).map(":".join)))
def test_any_text_has_an_answer(text: str) -> None:
    for raw in (text, f"agent:main:{text}", f"agent:main:matrix:channel:!{text}"):
        key = parse_session_key(raw)
        assert key.raw == raw
        assert bool(key.id.strip()) is (key.chat is GROUP or (key.chat is DIRECT and not key.owner))
        assert not key.owner or key.chat is DIRECT
        folded_id(key)
        may_be_group(key)


@settings(max_examples=300)
@given(st.lists(TOKENS, min_size=1, max_size=6).map(":".join), st.sampled_from(["", "acc:"]))
def test_what_an_id_holds_never_makes_a_group_direct(id_: str, account: str) -> None:
    key = parse_session_key(f"agent:main:telegram:{account}group:{id_}")
    assert key.chat in (GROUP, UNKNOWN)
    # An id is only ever cut at a suffix: nothing else is lost.
    if key.thread:
        assert id_ in (f"{key.id}:thread:{key.thread}", f"{key.id}:topic:{key.thread}")
    elif key.chat is GROUP:
        assert key.id == id_


@given(st.from_regex(r"[A-Za-z0-9]{1,8}", fullmatch=True), st.integers(0, 65535), st.booleans())
def test_two_matrix_rooms_never_collide(opaque: str, port: int, threaded: bool) -> None:
    suffix = ":thread:$e" if threaded else ""
    ids = [
        f"!{opaque}",
        f"!{opaque}:hs",
        f"!{opaque}:hs:{port}",
        f"!{opaque}:[::1]:{port}",
        f"!{opaque}:topic",
    ]
    found = [parse_session_key(f"agent:main:matrix:channel:{id_}{suffix}") for id_ in ids]
    assert [key.id for key in found] == ids
    assert {key.thread for key in found} == {"$e" if threaded else ""}
