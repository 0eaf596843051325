from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from apm_hooks import aggregate, engine, fastlane, ledger, texts
from apm_hooks.errors import NotTrustedError, SettingsError
from apm_hooks.events import FlushAnswer, FlushRequest
from apm_hooks.hookspecs import hookimpl
from apm_hooks.places import places
from apm_hooks.records import DM, LIMITS, Limits, Scope, ScopeKind, Source
from apm_hooks.runtime import Runtime
from apm_hooks.tokens import Counter
from apm_hooks.trust import TRUST_FILE
from tests.workspaces import GROUP_KEY, INDEX, Bench, event

INDEX_PATH, ATTENTION = "memory/main/index.md", "memory/main/attention.md"
ALPHA = Scope(ScopeKind.GROUP, "alpha")


def quarter(text: str) -> int:
    return -(-len(text) // 4)


@pytest.fixture(autouse=True)
def counters(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """A counter that needs no ranks; gives the names of the encodings that were loaded."""
    loaded: list[str] = []

    def load(encoding: str, *, cache_dir: str) -> Counter:
        loaded.append(encoding)
        return Counter(encoding, exact=True, measure=quarter)

    monkeypatch.setattr(engine, "load_counter", load)
    yield loaded


@pytest.fixture
def grouped(made: Bench) -> Bench:
    made.groups({"-100777": "alpha"})
    made.write("memory/groups/alpha.md", "# Alpha\n\nrules of alpha\n")
    made.trust()
    return made


def epoch(made: Bench, session_id: str = "s1", key: str | None = None) -> ledger.Epoch:
    return ledger.read_epoch(str(made.root), fastlane.session_name("claude-code", session_id, key))


def logged(made: Bench) -> list[dict[str, str]]:
    return [json.loads(line) for line in (made.root / ".apm/log/apm.log").read_text().splitlines()]


def write_index(made: Bench, tokens: int, rule: str) -> None:
    text = INDEX.replace("type: dm", f"type: dm\nmemory_budget: {tokens}")
    made.write(INDEX_PATH, text.replace("Keep it short.", rule))


@pytest.mark.parametrize("tokens", [200, 260, 300, 400, 8000])
def test_a_resume_after_a_change_fits_into_what_is_left_of_the_budget(made: Bench, tokens: int) -> None:
    write_index(made, tokens, "Keep it short.")
    made.write(ATTENTION, "# Attention\n\n" + "a line of work to do\n" * 20)
    first = made.runtime().session_start(event())
    write_index(made, tokens, "Keep it long.")
    made.write(ATTENTION, "# Attention\n\n" + "another line of work\n" * 20)
    again = made.runtime().session_start(event(source=Source.RESUME))
    assert first.injection.tokens > 100
    assert again.injection.tokens <= tokens - first.injection.tokens
    assert epoch(made).spent == first.injection.tokens + again.injection.tokens
    assert ("another line" in again.injection.text) == (tokens == 8000)


def test_a_resume_without_a_change_gives_the_same_bytes_and_costs_nothing(made: Bench) -> None:
    first = made.runtime().session_start(event())
    again = made.runtime().session_start(event(source=Source.RESUME))
    assert again.injection == first.injection
    assert epoch(made).spent == first.injection.tokens


@pytest.mark.parametrize("source", [source for source in Source if source is not Source.RESUME])
def test_a_new_context_has_the_whole_budget_again(made: Bench, source: Source) -> None:
    made.runtime().session_start(event())
    made.write(ATTENTION, "# Attention\n\nsomething else\n")
    again = made.runtime().session_start(event(source=source))
    assert (epoch(made).spent, list(epoch(made).sent)) == (again.injection.tokens, [again.injection.digest])


def test_a_resume_that_nobody_saw_start_starts(made: Bench) -> None:
    loaded = made.runtime().session_start(event(source=Source.RESUME))
    assert (epoch(made).begun, epoch(made).spent) == (True, loaded.injection.tokens)


def test_a_session_that_moves_to_another_scope_is_told_and_starts_afresh(grouped: Bench) -> None:
    grouped.runtime().session_start(event())
    moved = grouped.runtime().session_start(event(GROUP_KEY, source=Source.RESUME))
    lines = moved.injection.text.split("\n")
    # A session has one ledger, whichever conversation it is bound to.
    assert epoch(grouped).scope == "Group(alpha)"
    assert epoch(grouped).spent == moved.injection.tokens
    assert texts.SCOPE_SWITCHED in lines
    assert "rules of alpha" in moved.injection.text
    assert "ship the parser" not in moved.injection.text


def test_a_session_that_moves_out_of_every_scope_is_told_and_gets_nothing(grouped: Bench) -> None:
    grouped.runtime().session_start(event(GROUP_KEY))
    moved = grouped.runtime().session_start(event("agent:main:cron:x", source=Source.RESUME))
    assert moved.injection.text == f"{texts.SCOPE_SWITCHED}\n{texts.NO_MEMORY}"


def test_a_session_that_had_no_memory_is_told_of_no_earlier_one(grouped: Bench) -> None:
    grouped.write(INDEX_PATH, "")
    grouped.runtime().session_start(event())
    again = grouped.runtime().session_start(event(source=Source.RESUME))
    assert texts.SCOPE_SWITCHED not in again.injection.text


def test_the_ledger_tells_what_was_loaded_and_nothing_of_what_it_holds(grouped: Bench) -> None:
    loaded = grouped.runtime().session_start(event(GROUP_KEY, source=Source.COMPACT))
    file = next((grouped.root / ledger.DIRECTORY).iterdir())
    entry = json.loads(file.read_text())
    assert entry["source"] == "compact"
    assert entry["scope"] == "Group(alpha)"
    assert entry["budget"] == LIMITS.group_budget_tokens
    assert (entry["digest"], entry["tokens"]) == (loaded.injection.digest, loaded.injection.tokens)
    assert [path for path, _ in entry["files"]] == ["memory/groups/alpha.md"]
    stored = "\n".join([*grouped.state_files(), *grouped.state_files().values()])
    assert "rules of alpha" not in stored
    assert "-100777" not in stored


def test_a_session_without_an_id_is_known_by_its_key(grouped: Bench) -> None:
    keys = (None, "agent:main:main", GROUP_KEY)
    loaded = [grouped.runtime().session_start(event(key, session_id="")) for key in keys]
    spent = [epoch(grouped, "", key).spent for key in keys]
    assert spent == [each.injection.tokens for each in loaded]
    assert len(list((grouped.root / ledger.DIRECTORY).iterdir())) == len(keys)
    again = grouped.runtime().session_start(event(GROUP_KEY, session_id="", source=Source.RESUME))
    assert again.injection == loaded[-1].injection


def test_estimated_counts_are_told_to_the_user(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    estimate = Counter("o200k_base", exact=False, measure=len, warning="token counts are estimates: no ranks")
    monkeypatch.setattr(engine, "load_counter", lambda encoding, *, cache_dir: estimate)
    made_runtime = made.runtime()
    loaded = made_runtime.session_start(event())
    assert loaded.warning == "apm-hooks: token counts are estimates: no ranks"
    assert loaded.injection.tokens == len(loaded.injection.text)
    assert made_runtime.counter.exact is False
    assert "estimates" not in loaded.injection.text


def test_exact_counts_need_no_word(made: Bench) -> None:
    assert made.runtime().session_start(event()).warning == ""


def test_the_counter_is_loaded_when_it_is_first_used_and_once(made: Bench, counters: list[str]) -> None:
    made_runtime = made.runtime()
    made_runtime.decide(event())
    assert counters == []
    made_runtime.session_start(event())
    made_runtime.session_start(event(source=Source.CLEAR))
    assert counters == ["o200k_base"]
    made.settings('tokenizer = "cl100k_base"\n')
    made_runtime.session_start(event(source=Source.CLEAR))
    assert counters == ["o200k_base", "cl100k_base"]


def test_a_subagent_gets_nothing_and_leaves_no_trace(made: Bench) -> None:
    loaded = made.runtime().session_start(event(subagent=True))
    assert (loaded.decision.scope, loaded.injection.text) == (None, "")
    assert made.state_files() == {}


@pytest.mark.parametrize(
    ("limits", "key", "tokens"),
    [(Limits(dm_budget_tokens=150), None, 150), (Limits(group_budget_tokens=60), GROUP_KEY, 60)],
)
def test_an_index_without_a_budget_has_its_scopes_default(
    grouped: Bench, limits: Limits, key: str | None, tokens: int
) -> None:
    for path in (ATTENTION, "memory/groups/alpha.md"):
        grouped.write(path, "# Head\n" + "many words\n" * 200)
    made_runtime = Runtime(str(grouped.root), grouped.env, clock=lambda: 0.0, limits=limits)
    loaded = made_runtime.session_start(event(key))
    assert loaded.budget_tokens == tokens
    assert 0 < loaded.injection.tokens <= tokens


def test_a_ledger_that_cannot_be_used_costs_the_record_not_the_memory(made: Bench) -> None:
    name = fastlane.session_name("claude-code", "s1", None)
    (made.root / f"{ledger.DIRECTORY}/{name}.jsonl").mkdir(parents=True)
    assert "ship the parser" in made.runtime().session_start(event(source=Source.RESUME)).injection.text
    assert [entry["code"] for entry in logged(made)] == ["ledger-unreadable", "ledger-unwritable"]


def test_what_is_wrong_goes_to_the_log_and_never_to_the_model(grouped: Bench) -> None:
    attention = grouped.root / ATTENTION
    attention.unlink()
    attention.symlink_to("longterm.md")
    grouped.groups({"-100777": "alpha", "-2": ".."})
    said = [grouped.runtime().session_start(event(key)).injection.text for key in (None, "agent:main:cron:x")]
    entries = {entry["code"]: entry for entry in logged(grouped)}
    assert entries["file-refused"]["text"] == f"{ATTENTION}: is a symbolic link"
    assert entries["name-refused"]["text"].startswith("memory/groups/group_names.json [-2]: ")
    assert entries["cron"]["scope"] == ""
    assert {entry["when"] for entry in entries.values()} == {"2026-01-01T00:00:00+00:00"}
    assert not any(word in text for word in ("symbolic", "group_names", "cron") for text in said)


@pytest.mark.parametrize("limits", [LIMITS, Limits(racy_ns=-(10**18))], ids=["fresh stamps", "believed stamps"])
def test_a_process_that_stays_sees_every_change(grouped: Bench, limits: Limits) -> None:
    made_runtime = Runtime(str(grouped.root), grouped.env, clock=lambda: 0.0, limits=limits)
    assert made_runtime.decide(event(GROUP_KEY)).scope == ALPHA
    assert "ship the parser" in made_runtime.session_start(event()).injection.text
    grouped.write(ATTENTION, "# Attention\n\nship the lexer\n")
    assert "ship the lexer" in made_runtime.session_start(event()).injection.text
    grouped.groups({"-100777": "alpha", "-2": "alpha"})
    assert made_runtime.decide(event(GROUP_KEY)).scope is None
    grouped.trust()
    assert made_runtime.decide(event(GROUP_KEY)).scope == ALPHA
    grouped.settings("no_such_setting = 1\n")
    with pytest.raises(SettingsError):
        made_runtime.session_start(event())
    grouped.settings("")
    (Path(places(grouped.env).config) / TRUST_FILE).unlink()
    with pytest.raises(NotTrustedError):
        made_runtime.session_start(event())


def test_an_explanation_records_nothing_and_is_what_would_happen(grouped: Bench) -> None:
    grouped.write("memory/main/longterm.md", "# Long term\n\nwe chose LL(1)\n")
    started, message = grouped.runtime().explain(event(message="which decisions did we take?"))
    assert grouped.state_files() == {}
    assert message is not None
    assert "we chose LL(1)" in message.injection.text
    assert started.injection == grouped.runtime().session_start(event()).injection
    later = grouped.runtime().message_received(event(message="which decisions did we take?"))
    assert later.injection == message.injection


def test_a_route_needs_a_scope_a_message_and_an_index(grouped: Bench) -> None:
    made_runtime = grouped.runtime()
    match = made_runtime.route(DM, "current tasks")
    assert match is not None
    assert match.route.path == "attention.md"
    assert made_runtime.route(None, "current tasks") is None
    assert made_runtime.route(DM, " \n") is None
    (grouped.root / INDEX_PATH).unlink()
    assert made_runtime.route(DM, "current tasks") is None


def test_only_the_owners_session_is_the_owners(grouped: Bench) -> None:
    keys = (None, "agent:main:main", GROUP_KEY, "", "agent:main:cron:x")
    assert [grouped.runtime().is_owner(event(key)) for key in keys] == [True, True, False, False, False]


@pytest.mark.parametrize("told", [True, False])
def test_whatever_becomes_of_a_groups_state_its_row_in_the_aggregate_says_the_same(grouped: Bench, told: bool) -> None:
    @hookimpl
    def remem_flush(event: FlushRequest) -> FlushAnswer:
        return FlushAnswer(pending=(f"look at {event.text}",))

    plugins = {"mine": SimpleNamespace(remem_flush=remem_flush)}
    one = Runtime(str(grouped.root), grouped.env, clock=lambda: 1_767_225_600.0, plugins=plugins)
    asked = event(GROUP_KEY)

    def problems() -> list[str]:
        return aggregate.check(str(grouped.root), ["alpha"])

    one.session_start(asked)
    assert one.flush(asked, "remem", "the port", tell=told).status == "issued"
    assert problems() == []
    assert one.flush(asked, "pre-compaction", identity="a").status == "running"
    assert problems() == []
    one.session_start(event(GROUP_KEY, source=Source.COMPACT))
    assert problems() == []
    one.compacted(asked)
    one.session_start(event(GROUP_KEY, source=Source.COMPACT))
    assert problems() == []
    one.turn_ended(asked)
    assert problems() == []
    row = json.loads((grouped.root / aggregate.PATH).read_text())["apm_hooks"]["groups"]["alpha"]
    # The plugin's item, the flush that nothing was written in, and the compaction that nobody told of.
    assert (row["flush_number"], row["pending"]) == (1, 3)
