"""Whose memories a command reaches: its session's, and no others; the agent's own notes behind their wall."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.store.terminals import HEAD, NOWHERE, line, remembered, terminal, titles, typed
from tests.test_cli import Terminal
from tests.workspaces import GROUP_KEY, Bench

OWNERS, GROUPS, OTHERS, OWN = "Quokkas", "Wombats", "Numbats", "Bilbies"
BETA_KEY = "agent:main:telegram:group:-100888"
NO_SCOPE_KEYS = (
    "", " ", "agent:main:telegram:group:-100999", "agent:main:telegram:direct:77", "agent:main:subagent:9f",
    "agent:main:cron:x", "rubbish", "agent:main:foo:bar",
)  # fmt: skip
EVERY = (
    ("recall",), ("recall", "animals"), ("recall", "animals", "--as-of", "2999-01-01"), ("remember", "x is y"),
    ("update", NOWHERE, "--title", "x"), ("forget", NOWHERE), ("dedup",), ("dedup", "--apply"), ("backfill",),
    ("backfill", "--all"), ("export", "-"), ("import", "-"), ("self", "recall"), ("self", "remember", "x"),
    ("self", "update", NOWHERE, "--title", "x"), ("self", "forget", NOWHERE), ("self", "dedup"), ("self", "backfill"),
    ("self", "export", "-"), ("self", "import", "-"), ("self", "wiki-get", "animals"),
    ("self", "wiki-write", "x", "y", "--title", "z", "--source", NOWHERE),
)  # fmt: skip


@pytest.fixture
def apm(made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """A terminal in a workspace where the owner, two groups and the agent itself remember something."""
    apm = terminal(made, monkeypatch, capsys)
    monkeypatch.setenv("APM_STORE_EMBEDDER", "hashed")
    monkeypatch.setenv("APM_MODEL_LOCALITY", "local")
    for key, word in ((None, OWNERS), (GROUP_KEY, GROUPS), (BETA_KEY, OTHERS)):
        options = () if key is None else ("--session", key)
        for number in range(2):
            remembered(apm, f"{word} are animals of enclosure {number}", *options)
    (note,) = [apm("self", "remember", f"{OWN} are animals of mine", "--json").json["id"]]
    assert apm("self", "wiki-write", "animals", f"{OWN} dig.", "--title", OWN, "--source", note).code == 0
    typed(monkeypatch, f"{HEAD}\n".encode())
    return apm


@pytest.mark.parametrize("key", NO_SCOPE_KEYS)
def test_who_has_no_scope_is_denied_and_learns_nothing(apm: Terminal, key: str) -> None:
    apm.session(key)
    for wanted in EVERY:
        for options in ((), ("--json",)):
            if options and wanted[-2:] == ("export", "-"):
                continue
            said = apm(*wanted, *options)
            assert said.code == 4, wanted
            assert not [word for word in (OWNERS, GROUPS, OTHERS, OWN) if word in said.out + said.err]
            assert not set("123456789") & set(said.out + said.err)
            if options:
                assert said.json["error"]["code"] == "scope"
            else:
                assert said.out == ""
    apm.monkeypatch.delenv("APM_SESSION")
    assert apm("recall", "--session", key).code == 4


def test_a_session_reaches_its_own_memories_alone(apm: Terminal) -> None:
    owners = {memory["id"] for memory in apm("recall", "--json").json["memories"]}
    apm.session(GROUP_KEY)
    for wanted in EVERY:
        if wanted[0] == "self":
            continue
        said = apm(*wanted)
        assert said.code in (0, 1), wanted
        assert not [word for word in (OWNERS, OTHERS, OWN) if word in said.out + said.err]
    assert apm("recall", "--json").json["total"] == 3
    assert titles(apm("recall", "animals enclosure", "--json")) != []
    for each in owners:
        for wanted in (("update", each, "--title", "mine"), ("forget", each)):
            assert apm(*wanted).err == apm(wanted[0], NOWHERE, *wanted[2:]).err
    rows = [json.loads(row) for row in apm("export", "-").out.split("\n")[1:-1]]
    assert {row["scope"] for row in rows} == {"Group(alpha)"}


@pytest.mark.parametrize("key", [GROUP_KEY, "agent:main:main"])
def test_no_session_names_another_one_or_all(apm: Terminal, key: str) -> None:
    apm.session(key)
    for command in ("export", "import"):
        said = apm(command, "-", "--all-scopes")
        assert (said.code, said.out) == (4, "")
    if key == GROUP_KEY:
        for other in (BETA_KEY, "agent:main:main"):
            assert apm("recall", "--session", other).code == 4


def test_a_group_s_session_names_no_files(apm: Terminal, tmp_path: Path) -> None:
    (tmp_path / "in").write_text(f"{HEAD}\n{line(1)}\n")
    apm.session(GROUP_KEY)
    for wanted in (("export", str(tmp_path / "out")), ("import", str(tmp_path / "in"))):
        assert apm(*wanted).code == 4
    assert not (tmp_path / "out").exists()


def test_a_group_takes_in_no_line_of_another_conversation(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    apm.session(GROUP_KEY)
    typed(monkeypatch, f"{HEAD}\n{line(1)}\n{line(2, scope='Group(alpha)')}\n".encode())
    said = apm("import", "-")
    assert said.out == "1 added, 0 there already, 1 skipped\n  line 2: belongs to another conversation\n"
    assert apm("recall", "machine", "--json").json["memories"][0]["title"] == "Machine 2"


def test_the_operator_backs_up_all_scopes_and_brings_them_back(apm: Terminal, tmp_path: Path) -> None:
    file = tmp_path / "all"
    assert apm("export", "--all-scopes", str(file)).out.endswith(": 6 memories\n")
    assert OWN not in file.read_text()
    for path in (apm.made.root / ".apm").glob("store.db*"):
        path.unlink()
    assert apm("import", str(file), "--json").json["added"] == 2
    assert apm("import", "--all-scopes", str(file), "--json").json["added"] == 4
    assert titles(apm("recall", "--json", "--session", BETA_KEY))[0].startswith(OTHERS)


def test_the_agent_s_notes_are_behind_a_wall(apm: Terminal, tmp_path: Path) -> None:
    for wanted in EVERY:
        said = apm(*wanted)
        shown = said.out + said.err
        if wanted[0] == "self":
            assert not [word for word in (OWNERS, GROUPS, OTHERS) if word in shown], wanted
        else:
            assert OWN not in shown, wanted
    own, users = str(tmp_path / "own"), str(tmp_path / "users")
    assert apm("self", "export", own).code == 0
    assert apm("export", users).code == 0
    assert apm("import", own).code == 2
    assert apm("self", "import", users).code == 2
    assert apm("export", own).code == 5
    rows = [json.loads(row) for row in Path(own).read_text().split("\n")[1:-1] if OWN in row]
    (note,) = [row["id"] for row in rows if "id" in row]
    assert apm("forget", note).code == 1
    assert apm("self", "forget", note).out == f"forgotten  {note}\n"


@pytest.mark.parametrize("said", [None, "", "cloud"])
def test_no_note_is_read_or_written_unless_the_model_is_local(apm: Terminal, said: str | None) -> None:
    before = (apm.made.root / ".apm/self.db").read_bytes()
    if said is None:
        apm.monkeypatch.delenv("APM_MODEL_LOCALITY")
    else:
        apm.monkeypatch.setenv("APM_MODEL_LOCALITY", said)
    for wanted in EVERY:
        if wanted[0] == "self":
            refused = apm(*wanted)
            assert (refused.code, refused.out) == (4, "")
            assert "local" in refused.err
            assert OWN not in refused.err
    assert (apm.made.root / ".apm/self.db").read_bytes() == before


@pytest.mark.parametrize("key", [GROUP_KEY, "agent:main:telegram:direct:77"])
def test_nor_in_a_session_that_is_not_the_owner_s(apm: Terminal, key: str) -> None:
    apm.session(key)
    for wanted in EVERY:
        if wanted[0] == "self":
            assert apm(*wanted).code == 4
    assert apm("self", "recall", "--session", "agent:main:main").code == 4


def test_the_owner_s_own_session_may(apm: Terminal) -> None:
    apm.session("agent:main:main")
    assert titles(apm("self", "recall", "animals", "--json")) == [f"{OWN} are animals of mine"]
    assert apm("self", "recall", "animals", "--json", "--limit", "1").json["more"] == 0


def test_an_article_says_when_its_sources_have_changed(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    (note,) = apm("self", "recall", "--min-importance", "3", "--limit", "1", "--json").json["memories"]
    text = note["content"]
    assert apm("self", "wiki-get", "animals", "--json").json["stale"] is False
    apm("self", "update", note["id"], "--content", "Bilbies sleep")
    assert "· stale: a source was changed" in apm("self", "wiki-get", "animals").out
    apm("self", "update", note["id"], "--content", text)
    shown = apm("self", "wiki-get", "animals").out
    assert shown.startswith(f"# {OWN}\n\nrevision 1 · ")
    assert f"· fresh\n\n{OWN} dig.\n\nsources: {note['id']}" in shown
    typed(monkeypatch, b"Bilbies dig deep.\n")
    said = apm("self", "wiki-write", "animals", "-", "--title", "Bilbies", "--source", note["id"], "--json")
    assert (said.json["revision"], said.json["body_md"]) == (2, "Bilbies dig deep.")
    missing = apm("self", "wiki-get", "none")
    assert (missing.code, missing.err) == (1, "apm-hooks: there is no article of this name\n")
    assert apm("self", "wiki-get", "none", "--json").json == {"slug": "none", "found": False}
    assert apm("self", "wiki-get", "No Slug").code == 2
