from __future__ import annotations

import pytest

from apm_hooks import texts
from apm_hooks.budget import utf16_units
from apm_hooks.errors import ScopeError
from apm_hooks.files import MemoryText, Stamp
from apm_hooks.protocol import group
from apm_hooks.protocol.ceiling import dm_may_load, group_may_load, layer_of
from apm_hooks.protocol.loading import Loading
from apm_hooks.protocol.subfiles import candidates, references
from apm_hooks.records import DM, LIMITS, Bound, Route, Scope, ScopeKind
from tests.workspaces import Bench

ALPHA = Scope(ScopeKind.GROUP, "alpha")


def words(text: str) -> int:
    """A counter that is quick and easy to reckon with: one token a word."""
    return len(text.split())


def text_of(words_: int, *, line: int = 10) -> MemoryText:
    body = "\n".join(" ".join(f"w{number}" for number in range(at, at + line)) for at in range(0, words_, line))
    return MemoryText(body, "d" * 64, Stamp(0, 0, 0, 0, 0, 0))


def loading(made: Bench, scope: Scope | None = DM, budget: int = 1000, **more: object) -> Loading:
    return Loading(str(made.root), scope, words, budget, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        (None, "memory/main/index.md"),
        (ALPHA, "memory/main/index.md"),
        (ALPHA, "memory/groups/beta.md"),
        (ALPHA, "memory/groups/beta/attention.md"),
        (ALPHA, "memory/groups/alpha/../beta/attention.md"),
        (ALPHA, "memory/groups/alphabet.md"),
        (ALPHA, "MEMORY.md"),
        (ALPHA, "memory/2026-01-01.md"),
        (ALPHA, "memory/groups/alpha/flush-state.json"),
        (ALPHA, "memory/groups/group_names.json"),
        (DM, "memory/groups/alpha.md"),
        (DM, "memory/flush-state.json"),
        (DM, "MEMORY.md"),
        (DM, "apm.toml"),
        (DM, ".apm/log/apm.log"),
        (DM, "README.md"),
        (DM, "/etc/passwd"),
    ],
)
def test_the_loader_reads_nothing_that_is_not_its_scopes(made: Bench, scope: Scope | None, path: str) -> None:
    run = loading(made, scope)
    with pytest.raises(ScopeError):
        run.read("1", path)
    assert run.steps == []


def test_a_file_takes_at_most_its_share_when_more_may_follow(made: Bench) -> None:
    room = 1000 - int(1000 * LIMITS.directive_share)
    for more, most in ((True, int(room * 0.7)), (False, room)):
        run = loading(made)
        assert run.add("1", "P0", "memory/main/a.md", text_of(5000), more_to_come=more)
        assert most * 0.9 < run.spent() <= most


def test_a_directive_has_room_in_a_large_budget_and_never_more_than_it_may_take(made: Bench) -> None:
    budget = 20 * LIMITS.directive_tokens
    run = loading(made, budget=budget)
    assert run.add("1", "P0", "memory/main/a.md", text_of(2 * budget), more_to_come=False)
    room = budget - LIMITS.directive_tokens
    assert room - 100 < run.spent() <= room


def test_what_fits_is_whole_and_counted_with_its_fence(made: Bench) -> None:
    run = loading(made)
    run.add("1", "P0", "memory/main/a.md", text_of(50), more_to_come=True)
    assert run.steps[-1].reason == texts.LOADED_WHOLE
    assert run.steps[-1].tokens == run.spent() == words(run.injection().text) > 50


def test_budget_spent_trips_the_breaker_and_says_so(made: Bench) -> None:
    keep = words(texts.BUDGET_SPENT) + 8
    run = loading(made, budget=200, spent_before=200 - keep)
    assert not run.add("3 load", "P1", "memory/main/a.md", text_of(100), more_to_come=True)
    assert run.tripped
    assert group.spend(run)
    assert run.injection().text == texts.BUDGET_SPENT


def test_a_hosts_cap_does_not_trip_the_breaker(made: Bench) -> None:
    run = loading(made, caps=(Bound("utf16", utf16_units, 20),))
    assert not run.add("1", "P1", "memory/main/a.md", text_of(100), more_to_come=True)
    assert not run.tripped
    assert not group.spend(run)


def test_a_line_that_does_not_fit_is_left_out_and_noted(made: Bench) -> None:
    run = loading(made, budget=3)
    run.say("x", "four words are here")
    assert run.injection().text == ""
    assert run.steps[-1].verdict == "skipped"


@pytest.mark.parametrize(
    ("layers", "layer", "may"),
    [
        ((), "P0", True), (("P0",), "P1", True), (("P0", "P1"), "P2", False), (("P2", "P2"), "P0", False),
        (("P0", "P1"), "P3", True), (("P3",), "P3", False), (("P0", "P1", "P3"), "L3", True), (("L3",), "L3", False),
        (("index", "note", "P0"), "P2", True), (("L3",), "P0", True),
    ],
)  # fmt: skip
def test_a_group_loads_two_of_p0_to_p2_one_p3_and_one_sub_file(layers: tuple[str, ...], layer: str, may: bool) -> None:
    assert group_may_load(layers, layer) is may


def test_the_owner_loads_two_p_files_besides_the_index() -> None:
    assert dm_may_load(("index", "P0", "note"))
    assert not dm_may_load(("index", "P0", "P3"))


def test_layers_are_named_by_priority_and_sub_files_apart() -> None:
    assert [layer_of(priority, sub_file=False) for priority in range(4)] == ["P0", "P1", "P2", "P3"]
    assert layer_of(2, sub_file=True) == "L3"


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("see conventions/api.md.", ["conventions/api.md"]),
        ("[the api](conventions/api.md)", ["conventions/api.md"]),
        ("[x](<conventions/with blank.md>)", ["conventions/with blank.md"]),
        ("[x](conventions/with%20blank.md#part)", ["conventions/with blank.md"]),
        ("`conventions/a.md`, ./conventions/b.md；alpha/conventions/c.md",
         ["conventions/a.md", "conventions/b.md", "conventions/c.md"]),
        ("memory/groups/alpha/conventions/a.md", ["conventions/a.md"]),
        ("参见 conventions/接口.md。", ["conventions/接口.md"]),
        ("memory/groups/beta/conventions/a.md", []),
        ("../conventions/a.md and conventions/../../main/index.md and /conventions/a.md", []),
        ("our conventions/ are many; [x](https://example.org/conventions/a.md)", []),
        ("conventions/a.md conventions/a.md", ["conventions/a.md"]),
        ("", []),
    ],
)  # fmt: skip
def test_references_to_sub_files(text: str, paths: list[str]) -> None:
    assert [path for path, _ in references(text, ALPHA.directory)] == paths


def test_a_deprecated_row_retires_a_sub_file_also_as_a_reference() -> None:
    rows = (Route(("api",), "conventions/api.md", 2, sub_file=True, deprecated=True),)
    assert candidates("conventions/api.md", ALPHA.directory, rows) == ()
    assert len(candidates("conventions/api.md", ALPHA.directory, ())) == 1


@pytest.mark.parametrize(
    ("text", "archived"),
    [
        ("# Attention [ARCHIVED]\n", True),
        ("# 关注（已归档）\n", True),
        ("---\nstatus: archived\n---\n# Attention\n", True),
        ("---\nstatus: 'Archived'\n---\n", True),
        ("---\nstatus: active\n---\n# Attention\n\nstatus: archived\n", False),
        ("# Attention\n\n## Old [ARCHIVED]\n", False),
        ("status: archived\n", False),
        ("", False),
    ],
)
def test_when_an_attention_file_says_archived(text: str, archived: bool) -> None:
    assert group.is_archived(text) is archived
