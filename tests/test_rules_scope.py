"""Rules of whose memory a session may touch that no test of a single room would miss; docs/rules.md names them all."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from apm_hooks import engine, texts
from apm_hooks.records import Loaded, Source
from apm_hooks.tokens import Counter
from tests.workspaces import GROUP_KEY, INDEX, Bench, event

INDEX_PATH = "memory/main/index.md"
NOBODY = "agent:main:cron:x"
ROOM = "agent:main:matrix:channel:!Room:example.org:8448"
TABLE = "\n| scenario | file | priority |\n|---|---|---|\n"


@pytest.fixture(autouse=True)
def quick_counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A counter that needs no ranks."""
    quarter = Counter("o200k_base", exact=True, measure=lambda text: -(-len(text) // 4))
    monkeypatch.setattr(engine, "load_counter", lambda encoding, *, cache_dir: quarter)
    yield


def mapped(made: Bench, **names: str) -> Bench:
    """Groups by friendly name → id, each with an index that holds its own word."""
    made.groups({id_: name for name, id_ in names.items()})
    for name in names:
        made.write(f"memory/groups/{name}.md", f"# {name}\n\nword-of-{name}\n{TABLE}| tasks | attention.md | P0 |\n")
    made.trust()
    return made


def start(made: Bench, key: str | None = None) -> Loaded:
    return made.runtime().session_start(event(key))


def files(loaded: Loaded) -> list[str]:
    return [path for path, _ in loaded.injection.files]


def test_a_group_bridged_over_two_channels_has_one_memory(made: Bench) -> None:
    made.groups({"-100777": "alpha", "C0123": {"name": "alpha", "channel": "slack"}})
    made.write("memory/groups/alpha.md", "word-of-alpha\n")
    made.trust()
    texts_ = {start(made, key).injection.text for key in (GROUP_KEY, "agent:main:slack:channel:c0123")}
    assert len(texts_) == 1
    assert "word-of-alpha" in texts_.pop()


@pytest.mark.parametrize("suffix", ["", ":thread:$ev:example.org", ":topic:4"])
def test_a_matrix_room_with_port_and_thread_has_its_memory_and_its_namesake_has_none(made: Bench, suffix: str) -> None:
    made.groups({"!Room:example.org:8448": "alpha"})
    made.write("memory/groups/alpha.md", "word-of-alpha\n")
    made.trust()
    assert "word-of-alpha" in start(made, ROOM + suffix).injection.text
    for other in (ROOM.replace("Room", "room"), ROOM.replace(":8448", ""), ROOM.replace("example.org", "example.com")):
        assert start(made, other + suffix).decision.code == "unmapped-group"


def test_a_nested_group_has_its_own_memory_and_not_its_siblings(made: Bench) -> None:
    groups = mapped(made, **{"team/a": "-100777", "team/b": "-100888"})
    rows = ("tasks | attention.md | P0", "lessons | b.md | P1", "roles | ../b/people.md | P3",
            "dates | memory/groups/team/b/attention.md | P1")  # fmt: skip
    groups.write("memory/groups/team/a.md", f"word-of-a\n{TABLE}" + "".join(f"| {row} |\n" for row in rows))
    for name in ("a", "b"):
        groups.write(f"memory/groups/team/{name}/attention.md", f"attention-of-{name}\n")
        groups.write(f"memory/groups/team/{name}/people.md", f"people-of-{name}\n")
    groups.write("memory/groups/team/attention.md", "attention-of-nobody\n")
    assert "word-of-a" in start(groups, GROUP_KEY).injection.text
    said = [groups.runtime().message_received(event(GROUP_KEY, message=text)).injection.text
            for text in ("lessons", "roles", "dates", "tasks")]  # fmt: skip
    assert said[:3] == ["", "", ""]
    assert "attention-of-a" in said[3]


@pytest.mark.parametrize("kind", ["link", "folder"])
@pytest.mark.parametrize(("key", "path"), [(None, INDEX_PATH), (GROUP_KEY, "memory/groups/alpha.md")])
def test_a_notice_of_a_missing_index_is_not_for_one_that_is_refused(
    made: Bench, key: str | None, path: str, kind: str
) -> None:
    file = mapped(made, alpha="-100777").root / path
    notice = texts.DM_NOT_INITIALISED if key is None else texts.FIRST_JOIN.format(path=path)
    file.unlink()
    assert start(made, key).injection.text == notice
    if kind == "link":
        file.symlink_to(made.root / "memory/main/attention.md")
    else:
        file.mkdir()
    loaded = start(made, key)
    assert loaded.injection.text == ""
    assert "refused" in [step.verdict for step in loaded.steps]


@pytest.mark.parametrize("key", [None, GROUP_KEY])
def test_a_scope_without_an_index_gets_the_notice_and_nothing_else(made: Bench, key: str | None) -> None:
    mapped(made, alpha="-100777")
    for path in ("memory/groups/alpha.md", INDEX_PATH):
        (made.root / path).unlink()
    for path in ("memory/groups/alpha/attention.md", "memory/2026-01-01.md", "memory/main/longterm.md", "MEMORY.md"):
        made.write(path, "a word\n")
    one = made.runtime()
    started = one.session_start(event(key))
    assert started.injection.files == ()
    assert "\n" not in started.injection.text
    assert started.injection.text.startswith("[apm-hooks] ")
    for message in ("tasks", "decisions", "a word"):
        assert one.message_received(event(key, message=message)).injection.text == ""


@pytest.mark.parametrize("key", [None, GROUP_KEY])
def test_an_index_that_comes_later_is_the_first_thing_that_a_message_loads(made: Bench, key: str | None) -> None:
    mapped(made, alpha="-100777")
    made.write("memory/groups/alpha/attention.md", "word-of-attention\n")
    path = INDEX_PATH if key is None else "memory/groups/alpha.md"
    text = (made.root / path).read_text()
    (made.root / path).unlink()
    one = made.runtime()
    one.session_start(event(key))
    assert one.message_received(event(key, message="tasks")).injection.text == ""
    made.write(path, text)
    loaded = one.message_received(event(key, message="current tasks"))
    assert files(loaded) == [path, path.replace("index", "attention").replace("alpha.md", "alpha/attention.md")]
    assert one.message_received(event(key, message="tasks")).injection.text == ""


def test_a_session_without_scope_is_told_once_over_start_and_messages(made: Bench) -> None:
    one = made.runtime()
    said = [one.session_start(event(NOBODY)).injection.text]
    said += [one.message_received(event(NOBODY, message=text)).injection.text for text in ("hello", "current tasks")]
    assert said == [texts.NO_MEMORY, "", ""]


def test_a_session_without_scope_that_nobody_saw_start_is_told_once(made: Bench) -> None:
    one = made.runtime()
    said = [one.message_received(event(NOBODY, message="current tasks")).injection.text for _ in range(3)]
    assert said == [texts.NO_MEMORY, "", ""]


def test_what_names_ids_and_settings_goes_to_the_log_and_not_into_the_chat(made: Bench) -> None:
    for key, remedy in (
        (GROUP_KEY, "apm-hooks group add NAME --id -100777"),
        ("agent:main:telegram:direct:77", 'owner_peers = ["77"]'),
        (NOBODY, "[scopes] in apm.toml"),
        ("what is this", "[scopes] in apm.toml"),
    ):
        loaded = start(made, key)
        assert loaded.injection.text == texts.NO_MEMORY
        line = json.loads((made.root / ".apm/log/apm.log").read_text().splitlines()[-1])
        assert remedy in line["text"]


MOVES = [None, GROUP_KEY, NOBODY, GROUP_KEY, "agent:main:telegram:group:-100888", None]


@pytest.mark.parametrize("resumed", [True, False])
def test_a_session_that_moves_is_told_each_time_and_sees_only_where_it_is(made: Bench, resumed: bool) -> None:
    mapped(made, alpha="-100777", beta="-100888")
    words = {None: "ship the parser", GROUP_KEY: "word-of-alpha", NOBODY: "No stored memory", MOVES[4]: "word-of-beta"}
    one = made.runtime()
    for number, key in enumerate(MOVES):
        if resumed:
            loaded = one.session_start(event(key, source=Source.RESUME if number else Source.STARTUP))
        else:
            loaded = one.message_received(event(key, message="hello"))
        assert (texts.SCOPE_SWITCHED in loaded.injection.text) == bool(number)
        assert [word for word in words.values() if word in loaded.injection.text] == [words[key]]
        assert loaded.injection.tokens == one.count(loaded.injection.text) <= loaded.budget_tokens
    assert one.message_received(event(MOVES[-1], message="hello")).injection.text == ""


def test_a_session_that_moved_may_load_a_file_again(made: Bench) -> None:
    mapped(made, alpha="-100777")
    made.write("memory/groups/alpha/attention.md", "attention-of-alpha\n")
    made.write("memory/main/longterm.md", "longterm-of-owner\n")
    one = made.runtime()
    for _ in range(2):
        owners = one.message_received(event(message="which decisions"))
        groups = one.message_received(event(GROUP_KEY, message="tasks"))
        assert "longterm-of-owner" in owners.injection.text
        assert "attention-of-alpha" in groups.injection.text


def test_a_pull_that_changes_scopes_never_opens_what_was_shut(made: Bench) -> None:
    shut = f'[scopes]\n"{GROUP_KEY}" = "none"\n'
    made.settings(shut)
    mapped(made, alpha="-100777")
    assert start(made, GROUP_KEY).decision.code == "scopes"
    made.settings(f'{shut}"cron:x" = "DM"\n')
    assert start(made, GROUP_KEY).decision.scope is None
    assert start(made, NOBODY).decision.scope is None
    assert "ship the parser" in start(made, "agent:main:main").injection.text


def test_a_pull_that_shuts_a_session_out_counts_at_once(made: Bench) -> None:
    made.settings('[scopes]\n"agent:main:main" = "none"\n')
    assert start(made, "agent:main:main").decision.scope is None


def test_no_group_is_shown_the_owners_files_that_hosts_or_hooks_write(made: Bench) -> None:
    mapped(made, alpha="-100777")
    state = json.dumps({"last_flush_time": "2026-01-01T10:00:00+00:00"})
    for path in ("memory/flush-state.json", "memory/groups/flush-state.json", "memory/groups/alpha/flush-state.json"):
        made.write(path, state)
    for path in ("MEMORY.md", "memory/2026-01-01.md", "memory/INDEX.md", "log/decisions.md"):
        made.write(path, "word-of-owner\n")
    loaded = start(made, GROUP_KEY)
    assert files(loaded) == ["memory/groups/alpha.md"]
    assert "last flush" not in loaded.injection.text
    assert loaded.inputs == ("memory/groups/alpha.md", "memory/groups/alpha/flush-state.json")


def test_the_owners_session_loads_no_groups_memory(made: Bench) -> None:
    mapped(made, alpha="-100777")
    made.write(INDEX_PATH, f"{INDEX}| alpha | memory/groups/alpha.md | P0 |\n| beta | ../groups/alpha.md | P0 |\n")
    one = made.runtime()
    one.session_start(event())
    for message in ("alpha", "beta", "word-of-alpha"):
        assert one.message_received(event(message=message)).injection.text == ""
