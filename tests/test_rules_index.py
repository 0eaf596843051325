"""Rules of the index as a session meets them; docs/rules.md names them all."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apm_hooks import engine
from apm_hooks.index import parse_index
from apm_hooks.records import DM, LIMITS, Loaded, Scope, ScopeKind
from apm_hooks.tokens import Counter
from tests.workspaces import GROUP_KEY, Bench, event

ALPHA = Scope(ScopeKind.GROUP, "alpha")
HEADER = "| scenario | file | priority |\n|---|---|---|\n"
NAMES = ("attention", "project", "experience", "people", "conventions/api", "conventions/sql")


@pytest.fixture(autouse=True)
def quick_counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A counter that needs no ranks."""
    quarter = Counter("o200k_base", exact=True, measure=lambda text: -(-len(text) // 4))
    monkeypatch.setattr(engine, "load_counter", lambda encoding, *, cache_dir: quarter)
    yield


@pytest.fixture
def alpha(made: Bench) -> Bench:
    made.groups({"-100777": "alpha"})
    for name in NAMES:
        made.write(f"memory/groups/alpha/{name}.md", f"# {name}\n\nword-of-{name.replace('/', '-')}\n")
    made.trust()
    return made


def table(made: Bench, *rows: str, key: str | None = GROUP_KEY) -> None:
    path = "memory/main/index.md" if key is None else "memory/groups/alpha.md"
    made.write(path, "# Index\n\n" + HEADER + "".join(f"| {row} |\n" for row in rows))


def ask(made: Bench, message: str, key: str | None = GROUP_KEY) -> Loaded:
    """The answer to the first message of a new session."""
    one = made.runtime()
    one.session_start(event(key))
    return one.message_received(event(key, message=message))


def names(loaded: Loaded) -> list[str]:
    return [path.removeprefix("memory/groups/alpha/").removeprefix("memory/main/") for path, _ in
            loaded.injection.files]  # fmt: skip


def test_a_sub_file_row_ranks_before_p3(alpha: Bench) -> None:
    table(alpha, "who is responsible | people.md | P3", "api conventions | conventions/api.md | P2-L3")
    assert names(ask(alpha, "who is responsible for the api conventions?")) == ["conventions/api.md"]


def test_a_sub_file_row_spends_the_one_slot_for_sub_files(alpha: Bench) -> None:
    table(alpha, "api conventions | conventions/api.md | P2-L3")
    alpha.write("memory/groups/alpha/conventions/api.md", "see [api conventions](conventions/sql.md)\n")
    loaded = ask(alpha, "the api conventions")
    assert loaded.injection.files == (("memory/groups/alpha/conventions/api.md", "L3"),)


def test_a_catch_all_gives_way_to_a_row_of_the_other_kind(alpha: Bench) -> None:
    table(alpha, "* | attention.md | P0", "api conventions | conventions/api.md | P2-L3")
    assert names(ask(alpha, "the api conventions")) == ["conventions/api.md"]
    assert names(ask(alpha, "the door squeaks")) == ["attention.md"]
    table(alpha, "who is responsible | people.md | P3", "* | conventions/api.md | P2-L3")
    assert names(ask(alpha, "who is responsible?")) == ["people.md"]
    assert names(ask(alpha, "the door squeaks")) == ["conventions/api.md"]


def test_of_two_catch_alls_the_higher_priority_wins(alpha: Bench) -> None:
    table(alpha, "* | conventions/api.md | P2-L3", "any work conversation | attention.md | P0")
    assert names(ask(alpha, "the door squeaks")) == ["attention.md"]


@pytest.mark.parametrize("row", ["api conventions | conventions/gone.md | P2-L3", "api conventions | gone.md | P1"])
def test_a_catch_all_does_not_take_what_a_row_without_its_file_matched(alpha: Bench, row: str) -> None:
    table(alpha, "* | attention.md | P0", row)
    assert names(ask(alpha, "the api conventions")) == []


@pytest.mark.parametrize("key", [None, GROUP_KEY])
def test_a_retired_row_leads_nowhere_and_a_catch_all_takes_its_messages(alpha: Bench, key: str | None) -> None:
    for name in ("longterm", "experience"):
        alpha.write(f"memory/main/{name}.md", f"word-of-{name}\n")
    alpha.write("memory/groups/alpha/longterm.md", "word-of-longterm\n")
    retired = "api conventions [DEPRECATED] | experience.md | P1"
    table(alpha, retired, "* | experience.md [DEPRECATED] | P1", key=key)
    assert names(ask(alpha, "the api conventions", key)) == []
    table(alpha, retired, "* | longterm.md | P1", key=key)
    assert names(ask(alpha, "the api conventions", key)) == ["longterm.md"]


@pytest.mark.parametrize("message", ["thanks!", "good morning", "谢谢大家", "ok", "👍"])
@pytest.mark.parametrize("key", [None, GROUP_KEY])
def test_small_talk_is_no_work_conversation(alpha: Bench, key: str | None, message: str) -> None:
    table(alpha, "any work conversation | experience.md | P0", "* | conventions/api.md | P2-L3", key=key)
    alpha.write("memory/main/experience.md", "word-of-experience\n")
    assert names(ask(alpha, message, key)) == []


@pytest.mark.parametrize("key", [None, GROUP_KEY])
@pytest.mark.parametrize("file", ["MEMORY.md", "memory.md", "sub/Memory.MD", "flush-state.json", "`.flush-state.json`"])
def test_a_row_that_names_what_is_never_loaded_is_skipped_and_reported(
    alpha: Bench, file: str, key: str | None
) -> None:
    for folder in ("memory/main", "memory/groups/alpha"):
        for name in ("MEMORY.md", "memory.md", "sub/Memory.MD", "flush-state.json", ".flush-state.json"):
            alpha.write(f"{folder}/{name}", "word-of-the-host\n")
    table(alpha, f"identity | {file} | P0", "identity, roles | project.md | P1", key=key)
    alpha.write("memory/main/project.md", "word-of-project\n")
    loaded = ask(alpha, "identity", key)
    assert names(loaded) == ["project.md"]
    scope = ALPHA if key else DM
    problems = parse_index((alpha.root / scope.index_path).read_text(), scope).problems
    assert [problem.rule for problem in problems] == ["route-outside"]


def test_a_reference_to_what_is_never_loaded_is_passed_over(alpha: Bench) -> None:
    table(alpha, "database | project.md | P1")
    alpha.write("memory/groups/alpha/conventions/MEMORY.md", "word-of-the-host\n")
    alpha.write("memory/groups/alpha/project.md", "[database](conventions/MEMORY.md), conventions/flush-state.json\n")
    assert names(ask(alpha, "the database")) == ["project.md"]
    alpha.write("memory/groups/alpha/project.md", "[database](conventions/MEMORY.md) [database](conventions/sql.md)\n")
    assert names(ask(alpha, "the database")) == ["project.md", "conventions/sql.md"]


def test_a_sub_file_row_of_the_owner_is_read_as_p2_and_reported(made: Bench) -> None:
    table(made, "taxes | projects/tax.md | P2-L3", key=None)
    made.write("memory/main/projects/tax.md", "word-of-tax\n")
    assert ask(made, "taxes", None).injection.files == (("memory/main/projects/tax.md", "P2"),)
    index = parse_index((made.root / DM.index_path).read_text(), DM)
    assert [problem.rule for problem in index.problems] == ["bad-priority"]
    plain = parse_index(HEADER + "| taxes | conventions/tax.md | |\n", DM)
    assert (plain.routes[0].priority, plain.routes[0].sub_file, plain.problems) == (2, False, ())


@pytest.mark.parametrize("value", ["0", "-5", "1.5", "6e3", "6_000", "lots", "", "６０００", "6000 # tokens", "true"])
@pytest.mark.parametrize("key", [None, GROUP_KEY])
def test_a_budget_that_is_none_leaves_the_default(alpha: Bench, key: str | None, value: str) -> None:
    scope = ALPHA if key else DM
    default = LIMITS.group_budget_tokens if key else LIMITS.dm_budget_tokens
    alpha.write(scope.index_path, f"---\nstatus: active\nmemory_budget: {value}\n---\n# Index\n")
    loaded = alpha.runtime().session_start(event(key))
    assert loaded.budget_tokens == default == (6_000 if key else 8_000)
    index = parse_index((alpha.root / scope.index_path).read_text(), scope)
    assert [problem.rule for problem in index.problems] == ["bad-budget"]
