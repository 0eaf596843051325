"""Rules of what is loaded when (five steps, three layers), through the runtime; docs/rules.md names them all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import pytest

from apm_hooks import engine, fastlane, ledger
from apm_hooks.events import IntentQuery
from apm_hooks.flushstate import OWN_KEY
from apm_hooks.hookspecs import hookimpl
from apm_hooks.records import Loaded, RouteMatch, Source
from apm_hooks.runtime import Runtime
from apm_hooks.tokens import Counter
from tests.workspaces import GROUP_KEY, Bench, event

GROUP_INDEX = """# Alpha

| scenario | file | priority |
|---|---|---|
| incident, outage | attention.md | P0 |
| architecture, database | project.md | P1 |
| lessons, postmortem | experience.md | P2 |
| api conventions | conventions/api.md | P2-L3 |
| who is responsible | people.md | P3 |
"""
OWNER_INDEX = """# Index

| scenario | file | priority |
|---|---|---|
| current tasks | attention.md | P0 |
| decisions, background | longterm.md | P1 |
| this week | daily-synced.md | P2 |
| taxes, accountant | projects/tax.md | P3 |
"""
FOLDER = "memory/groups/alpha/"
TODAY = 1_767_261_600.0
"""2026-01-01T10:00Z, in seconds since 1970."""


@pytest.fixture(autouse=True)
def quick_counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A counter that needs no ranks."""
    quarter = Counter("o200k_base", exact=True, measure=lambda text: -(-len(text) // 4))
    monkeypatch.setattr(engine, "load_counter", lambda encoding, *, cache_dir: quarter)
    yield


@pytest.fixture
def alpha(made: Bench) -> Bench:
    made.groups({"-100777": "alpha"})
    made.write("memory/groups/alpha.md", GROUP_INDEX)
    for name in ("attention", "project", "experience", "people", "conventions/api", "conventions/sql"):
        made.write(f"{FOLDER}{name}.md", f"# {name}\n\nword-of-{name}\n")
    made.trust()
    made.runtime().session_start(event(GROUP_KEY))
    return made


@pytest.fixture
def owner(made: Bench) -> Bench:
    made.settings('timezone = "UTC"\n')
    made.write("memory/main/index.md", OWNER_INDEX)
    for name in ("longterm", "daily-synced", "projects/tax", "experience"):
        made.write(f"memory/main/{name}.md", f"word-of-{name}\n")
    return made


def ask(made: Bench, message: str, key: str | None = GROUP_KEY) -> Loaded:
    return made.runtime().message_received(event(key, message=message))


def names(loaded: Loaded) -> list[str]:
    return [path.removeprefix(FOLDER).removeprefix("memory/main/") for path, _ in loaded.injection.files]


def has_read(made: Bench, files: Sequence[tuple[str, str]], key: str | None = GROUP_KEY) -> None:
    """The epoch's ledger says that these files, as (path, layer), are loaded already."""
    entry = ledger.message_entry(budget=0, digest="read", tokens=1, files=files, tripped=False, done=False, inputs="",
                                 scope="Group(alpha)" if key else "DM")  # fmt: skip
    ledger.append(str(made.root), fastlane.session_name("claude-code", "s1", key), entry)


def test_a_group_starts_with_its_index_alone_even_where_a_row_catches_all(alpha: Bench) -> None:
    alpha.write("memory/groups/alpha.md", f"{GROUP_INDEX}| * | attention.md | P0 |\n")
    loaded = alpha.runtime().session_start(event(GROUP_KEY))
    assert loaded.injection.files == (("memory/groups/alpha.md", "index"),)
    assert [step.step for step in loaded.steps] == ["0 map", "1 index"]


def test_a_message_takes_the_steps_in_order(alpha: Bench) -> None:
    alpha.write(f"{FOLDER}project.md", "[naming of the database](conventions/sql.md)\n")
    loaded = ask(alpha, "naming in the database")
    assert [step.step for step in loaded.steps] == ["2 match", "3 load", "4 sub-file"]
    assert names(loaded) == ["project.md", "conventions/sql.md"]


def test_only_one_of_two_sub_files_that_match_comes_along(alpha: Bench) -> None:
    alpha.write(f"{FOLDER}project.md", "database: conventions/sql.md\ndatabase and api: conventions/api.md\n")
    loaded = ask(alpha, "the database, its sql and its api")
    assert names(loaded)[0] == "project.md"
    assert len(names(loaded)) == 2


def test_a_sub_file_that_the_message_does_not_match_stays_out(alpha: Bench) -> None:
    alpha.write(f"{FOLDER}project.md", "[indentation and braces](conventions/style.md)\n")
    alpha.write(f"{FOLDER}conventions/style.md", "word-of-style\n")
    loaded = ask(alpha, "which database does the architecture use?")
    assert names(loaded) == ["project.md"]
    assert loaded.steps[-1].verdict == "nothing"


def test_a_sub_file_that_is_missing_gives_way_to_the_next_that_matches(alpha: Bench) -> None:
    alpha.write(f"{FOLDER}project.md", "database tables: conventions/gone.md\n\nnaming: conventions/sql.md\n")
    assert names(ask(alpha, "database tables and their naming")) == ["project.md", "conventions/sql.md"]


@pytest.mark.parametrize("heading", ["Attention [archived]\n====", "关注（已归档）\n=====", "\n\n  ## Now [ARCHIVED]"])
def test_a_heading_of_any_form_may_say_archived(alpha: Bench, heading: str) -> None:
    alpha.write(f"{FOLDER}attention.md", f"{heading}\n\nword-of-attention\n\n# Later\n")
    assert names(ask(alpha, "the outage")) == ["project.md"]
    alpha.write(f"{FOLDER}attention.md", f"# Attention\n\n{heading}\n\nword-of-attention\n")
    alpha.runtime().session_start(event(GROUP_KEY))
    assert names(ask(alpha, "the outage")) == ["attention.md"]


def test_two_files_of_p0_to_p2_are_the_most_a_group_loads(alpha: Bench) -> None:
    has_read(alpha, [(f"{FOLDER}attention.md", "P0"), (f"{FOLDER}notes.md", "P2")])
    assert names(ask(alpha, "lessons of the database")) == []
    assert names(ask(alpha, "lessons of the database, and who is responsible")) == ["people.md"]


def test_one_file_of_p3_is_the_most_a_group_loads(alpha: Bench) -> None:
    has_read(alpha, [(f"{FOLDER}guests.md", "P3")])
    assert names(ask(alpha, "who is responsible?")) == []
    assert names(ask(alpha, "who is responsible for the database?")) == ["project.md"]


def test_one_sub_file_is_the_most_a_group_loads(alpha: Bench) -> None:
    has_read(alpha, [(f"{FOLDER}conventions/style.md", "L3")])
    assert names(ask(alpha, "api conventions")) == []
    alpha.write(f"{FOLDER}project.md", "[naming of the database](conventions/sql.md)\n")
    assert names(ask(alpha, "naming in the database")) == ["project.md"]


def test_a_file_that_is_loaded_already_is_not_loaded_again(alpha: Bench) -> None:
    has_read(alpha, [(f"{FOLDER}project.md", "P1")])
    assert names(ask(alpha, "the database")) == []
    assert names(ask(alpha, "the database after the postmortem")) == ["experience.md"]


def test_archived_attention_is_passed_over_also_where_there_is_no_project_file(alpha: Bench) -> None:
    (alpha.root / f"{FOLDER}project.md").unlink()
    alpha.write(f"{FOLDER}attention.md", "# Attention [ARCHIVED]\n\nword-of-attention\n")
    assert names(ask(alpha, "the outage")) == []
    assert names(ask(alpha, "a postmortem of the outage")) == ["experience.md"]


def test_archived_attention_does_not_bring_back_a_project_file_that_is_loaded(alpha: Bench) -> None:
    has_read(alpha, [(f"{FOLDER}project.md", "P1")])
    alpha.write(f"{FOLDER}attention.md", "---\nstatus: archived\n---\nword-of-attention\n")
    assert names(ask(alpha, "the outage")) == []


def test_attention_of_the_owner_comes_whatever_it_says(owner: Bench) -> None:
    owner.write("memory/main/attention.md", "# Attention [ARCHIVED]\n\nword-of-attention\n")
    assert "word-of-attention" in owner.runtime().session_start(event()).injection.text


def test_a_match_tells_its_row_its_words_and_its_score(alpha: Bench) -> None:
    step = ask(alpha, "which Databases does it use?").steps[0]
    assert (step.step, step.path, step.verdict) == ("2 match", f"{FOLDER}project.md", "matched")
    assert "databases" in step.reason.lower()
    assert "score 1." in step.reason


def test_a_plugin_may_choose_the_row_but_none_that_may_not_be_chosen(alpha: Bench) -> None:
    alpha.write("memory/groups/alpha.md", f"{GROUP_INDEX}| colours | old.md [DEPRECATED] | P0 |\n")
    alpha.write(f"{FOLDER}old.md", "word-of-old\n")

    @hookimpl
    def apm_match_intent(query: IntentQuery) -> RouteMatch | None:
        rows = {"colours": "old.md", "people": "people.md"}
        wanted = [route for route in query.routes if route.path == rows.get(query.text) and not query.sub_files]
        return RouteMatch(wanted[0], 9.0, (query.text,)) if wanted else None

    plugins = {"mine": SimpleNamespace(apm_match_intent=apm_match_intent)}
    one = Runtime(str(alpha.root), alpha.env, clock=lambda: TODAY, plugins=plugins)
    said = [names(one.message_received(event(GROUP_KEY, message=text))) for text in ("colours", "people")]
    assert said == [[], ["people.md"]]
    one.session_start(event(GROUP_KEY))
    assert names(one.message_received(event(GROUP_KEY, message="the database"))) == ["project.md"]


@pytest.mark.parametrize("source", [source for source in Source if source is not Source.RESUME])
def test_the_owner_starts_with_index_and_attention_and_no_third_layer(owner: Bench, source: Source) -> None:
    loaded = owner.runtime(clock=lambda: TODAY).session_start(event(source=source))
    assert loaded.injection.files == (("memory/main/index.md", "index"), ("memory/main/attention.md", "P0"))


@pytest.mark.parametrize(
    ("message", "name", "layer"),
    [
        ("the background of it", "longterm.md", "P1"),
        ("what happened this week?", "daily-synced.md", "P2"),
        ("call the accountant", "projects/tax.md", "P3"),
    ],
)
def test_the_third_layer_is_the_one_file_that_the_first_matching_message_names(
    owner: Bench, message: str, name: str, layer: str
) -> None:
    owner.runtime().session_start(event())
    assert ask(owner, "hello", None).injection.text == ""
    assert ask(owner, "current tasks", None).injection.text == ""
    assert ask(owner, message, None).injection.files == ((f"memory/main/{name}", layer),)
    assert ask(owner, "decisions, taxes, this week", None).injection.text == ""


def test_a_third_layer_that_is_missing_gives_way_to_the_next_that_matches(owner: Bench) -> None:
    (owner.root / "memory/main/longterm.md").unlink()
    owner.runtime().session_start(event())
    assert names(ask(owner, "decisions on taxes", None)) == ["projects/tax.md"]


def test_the_owners_epoch_has_two_p_files_besides_the_index_whoever_loaded_them(owner: Bench) -> None:
    owner.runtime().session_start(event())
    has_read(owner, [("memory/main/experience.md", "P2")], None)
    loaded = ask(owner, "the accountant", None)
    assert (loaded.injection.text, loaded.done) == ("", True)


def test_without_attention_a_message_still_loads_one_file_and_no_more(owner: Bench) -> None:
    (owner.root / "memory/main/attention.md").unlink()
    owner.runtime().session_start(event())
    assert names(ask(owner, "the accountant", None)) == ["projects/tax.md"]
    assert names(ask(owner, "decisions", None)) == []


def test_a_host_without_messages_gets_three_layers_before_the_days_notes(owner: Bench) -> None:
    owner.write("memory/2026-01-01.md", "word-of-today\n")
    loaded = owner.runtime(clock=lambda: TODAY).session_start(event(message_events=False))
    assert [layer for _, layer in loaded.injection.files] == ["index", "P0", "P1", "note"]


def test_what_hosts_load_themselves_is_never_loaded(owner: Bench) -> None:
    for path in ("MEMORY.md", "memory/MEMORY.md", "memory/main/MEMORY.md"):
        owner.write(path, "word-of-the-host\n")
    owner.write("memory/main/index.md", f"{OWNER_INDEX}| host | ../../MEMORY.md | P1 |\n| host | MEMORY.md | P1 |\n")
    loaded = owner.runtime().session_start(event(message_events=False))
    assert "word-of-the-host" not in loaded.injection.text
    assert ask(owner, "host", None).injection.text == ""


@pytest.mark.parametrize(
    ("key", "states"),
    [
        (None, ["memory/flush-state.json"]),
        (GROUP_KEY, ["memory/groups/alpha/flush-state.json", "memory/groups/flush-state.json"]),
        ("agent:main:cron:x", []),
    ],
)
def test_no_event_writes_anything_but_its_own_flush_state_and_our_own_folder(
    alpha: Bench, key: str | None, states: list[str]
) -> None:
    alpha.write("MEMORY.md", "word-of-the-host\n")

    def tree() -> dict[str, bytes]:
        files = (path for path in alpha.root.rglob("*") if path.is_file() and ".apm" not in path.parts)
        return {str(path.relative_to(alpha.root)): path.read_bytes() for path in files}

    before = tree()
    one = alpha.runtime()
    for source in (Source.STARTUP, Source.COMPACT, Source.CLEAR):
        one.session_start(event(key, source=source))
        ask(alpha, "the database, decisions", key)
        for trigger in ("remem", "pre-compaction"):
            one.flush(event(key), trigger)
            one.turn_ended(event(key))
        one.session_start(event(key, source=Source.COMPACT))
        one.compacted(event(key))
    ask(alpha, "one more thing", key)
    one.session_end(event(key))
    after = tree()
    assert {path: after.get(path) for path in before} == before
    assert sorted(after.keys() - before.keys()) == sorted([*states, *(f"{path}.lock" for path in states)])


STATE = {"last_flush_time": "2026-01-01T09:30:00+00:00"}


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (None, "last flush: never"),
        (STATE, "last flush: 2026-01-01 09:30"),
        ({**STATE, OWN_KEY: {"outcome": "written"}}, "last flush: 2026-01-01 09:30"),
        ({**STATE, OWN_KEY: {"outcome": "unwritten"}}, "last flush: 2026-01-01 09:30 (nothing was written"),
    ],
)
def test_the_last_flush_is_one_line_of_the_owners_own_state(owner: Bench, state: object, line: str) -> None:
    other = json.dumps({"last_flush_time": "2025-05-05T05:05:05+00:00"})
    for path in ("memory/groups/flush-state.json", "memory/groups/alpha/flush-state.json"):
        owner.write(path, other)
    if state is not None:
        owner.write("memory/flush-state.json", json.dumps(state))
    text = owner.runtime().session_start(event()).injection.text
    told = [each for each in text.split("\n") if "last flush" in each]
    assert len(told) == 1
    assert told[0].startswith(line)
    assert told[0] == line or "(nothing" in line


def test_notes_of_other_days_stay_out_and_the_day_turns_with_the_zone(owner: Bench) -> None:
    for day in ("2025-12-30", "2025-12-31", "2026-01-01", "2026-01-02"):
        owner.write(f"memory/{day}.md", f"word-of-{day}\n")
    days = {"UTC": ["2026-01-01", "2025-12-31"], "Pacific/Kiritimati": ["2026-01-02", "2026-01-01"],
            "Pacific/Pago_Pago": ["2025-12-31", "2025-12-30"]}  # fmt: skip
    for zone, expected in days.items():
        owner.settings(f'timezone = "{zone}"\n')
        files = owner.runtime(clock=lambda: TODAY + 600).session_start(event()).injection.files
        assert [path for path, layer in files if layer == "note"] == [f"memory/{day}.md" for day in expected]
