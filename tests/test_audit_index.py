"""What is wrong in an index, and with what it routes to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.audit_index import INDEX_RULES, ScopeFiles, audit_index
from apm_hooks.findings import Level
from apm_hooks.index import parse_index
from apm_hooks.records import DM, Scope, ScopeKind
from tests.test_linear import growth

ALPHA = Scope(ScopeKind.GROUP, "alpha")
PRESENT = frozenset(("attention.md", "project.md", "experience.md", "conventions/api.md"))
HEAD = "---\ngroup_name: alpha\nmemory_budget: 6000\n---\n# alpha\n\n## Hard Rules\n\n- be brief\n\n"
TABLE = (
    "| scenario | file | priority |\n|---|---|---|\n| any work conversation | attention.md | P0 |\n"
    "| stack | project.md | P1 |\n| lessons | experience.md | P2 |\n| api | conventions/api.md | P2-L3 |\n"
)
SOUND = HEAD + TABLE


def told(text: str, scope: Scope = ALPHA, files: ScopeFiles | None = None) -> list[tuple[str, int]]:
    found = audit_index(text, scope, files or ScopeFiles(PRESENT))
    assert all(each.path.startswith("memory/") and each.sentence.endswith(".") for each in found)
    return [(each.rule, each.line) for each in found]


def test_a_sound_index_is_silent() -> None:
    assert told(SOUND) == []
    assert told(SOUND.replace("\n", "\r\n")) == []
    assert told("\ufeff" + SOUND) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("memory_budget: 6000", "memory_budget: many"), [("bad-budget", 3)]),
        (("memory_budget: 6000", "memory_budget: 0"), [("bad-budget", 3)]),
        (("memory_budget: 6000", "memory_budget: -5"), [("bad-budget", 3)]),
        (("memory_budget: 6000", "Memory_Budget: 6000"), [("key-case", 3)]),
        (("memory_budget: 6000", "memory_budjet: 6000"), [("misspelt-key", 3)]),
        (("memory_budget: 6000", "memory-budget: 6000"), [("misspelt-key", 3)]),
        (("memory_budget: 6000", "kept_by: hand"), []),
        (("memory_budget: 6000", "last_updated: soon"), [("bad-date", 3)]),
        (("memory_budget: 6000", "last_updated: 2026-13-01"), [("bad-date", 3)]),
        (("memory_budget: 6000", "last_updated: 2026-05-01T10:00:00+02:00"), []),
        (("memory_budget: 6000", 'last_updated: "2026-05-01"'), []),
        (("memory_budget: 6000", "group_name: alpha"), [("duplicate-key", 3)]),
        (("group_name: alpha", "group_name: beta"), [("wrong-scope", 2)]),
        (("group_name: alpha", "group_name: ALPHA"), []),
        (("group_name: alpha", "type: dm"), [("wrong-scope", 2)]),
        (("---\ngroup_name", "# alpha\n\n---\ngroup_name"), [("late-frontmatter", 3)]),
        (("- be brief\n", ""), [("no-hard-rules", 0)]),
        (("| stack | project.md | P1 |", "| stack | plan.md | P1 |"),
         [("missing-file", 14), ("unreached-file", 0)]),
        (("| stack | project.md | P1 |", "| stack [DEPRECATED] | project.md | P1 |"), []),
        (("| stack | project.md | P1 |", "| stack [DEPRECATED] | gone.md | P1 |"), [("unreached-file", 0)]),
        (("| stack | project.md | P1 |", "| stack | /etc/passwd | P1 |"),
         [("route-outside", 14), ("unreached-file", 0)]),
        (("| stack | project.md | P1 |", "| stack | ../beta/project.md | P1 |"),
         [("route-outside", 14), ("unreached-file", 0)]),
        (("| stack | project.md | P1 |", "| stack | memory/main/longterm.md | P1 |"),
         [("route-outside", 14), ("unreached-file", 0)]),
        (("| stack | project.md | P1 |", "| stack |  | P1 |"), [("no-file", 14), ("unreached-file", 0)]),
        (("| stack | project.md | P1 |", "|  | project.md | P1 |"), [("no-scenario", 14)]),
        (("| stack | project.md | P1 |", "| stack | project.md | high |"), [("bad-priority", 14)]),
        (("| stack | project.md | P1 |", "| stack | project.md | p1 |"), [("odd-priority", 14)]),
        (("| stack | project.md | P1 |", "| stack | project.md | `Ｐ１` |"), [("odd-priority", 14)]),
        (("| stack | project.md | P1 |", "| stack | project.md | **P1** |"), []),
        (("| stack | project.md | P1 |", "| stack | ./project.md | P1 |"), [("odd-path", 14)]),
        (("| stack | project.md | P1 |", "| stack | [p](./project.md) | P1 |"), [("odd-path", 14)]),
        (("| lessons | experience.md", "| Stack, lessons | experience.md"), [("duplicate-trigger", 15)]),
        (("| lessons | experience.md", "| * | experience.md"), [("duplicate-trigger", 15)]),
        (("| api | conventions/api.md", "| stack | conventions/api.md"), []),
        (("| lessons | experience.md | P2 |", "| lessons | experience.md | P2 |\n| stack [DEPRECATED] | old.md | P2 |"),
         [("superseded-row", 16)]),
        (("| lessons | experience.md", "<<<<<<< HEAD\n| lessons | experience.md"), [("merge-conflict", 15)]),
        ((TABLE, "no table\n"), [("no-routing-table", 0), *[("unreached-file", 0)] * 4]),
        ((TABLE, TABLE + "\n" + TABLE), [("second-table", 18)]),
        ((TABLE, TABLE + "\n```\nopen\n"), [("unclosed-block", 18)]),
        (("\n---\n# alpha", "\nno entry\n# alpha"), [("bad-frontmatter", 4)]),
    ],
)  # fmt: skip
def test_what_is_wrong(change: tuple[str, str], expected: list[tuple[str, int]]) -> None:
    assert change[0] in SOUND
    assert sorted(told(SOUND.replace(*change))) == sorted(expected)


def test_every_problem_of_the_parser_is_a_rule_of_its_own() -> None:
    text = "---\nmemory_budget: x\nmemory_budget: y\n---\n" + TABLE.replace("P1", "high").replace(
        "api.md", "api.md, b.md"
    )
    index = parse_index(text, ALPHA)
    found = audit_index(text, ALPHA, ScopeFiles(PRESENT))
    assert len(index.problems) == 4
    assert {(each.rule, each.line) for each in index.problems} <= {(each.rule, each.line) for each in found}
    assert all(each.remedy for each in found)


def test_files_that_others_refer_to_or_that_are_always_loaded_need_no_row() -> None:
    files = ScopeFiles(PRESENT | {"a.md", "b.md", "c.md", "d.json"}, frozenset(("a.md",)), frozenset(("b.md",)))
    (found,) = audit_index(SOUND, ALPHA, files)
    assert (found.rule, found.path) == ("unreached-file", "memory/groups/alpha/c.md")


def test_the_owners_index_is_no_groups() -> None:
    text = SOUND.replace("group_name: alpha", "type: group").replace("| api | conventions/api.md | P2-L3 |\n", "")
    assert told(text, DM, ScopeFiles(PRESENT - {"conventions/api.md"})) == [("wrong-scope", 2)]
    text = text.replace("type: group", "group_name: main")
    assert told(text, DM, ScopeFiles(PRESENT - {"conventions/api.md"})) == [("wrong-scope", 2)]
    assert told(text.replace("group_name: main", "type: dm"), DM, ScopeFiles(PRESENT - {"conventions/api.md"})) == []


def test_a_nested_group_may_say_its_last_name() -> None:
    scope = Scope(ScopeKind.GROUP, "site/北区")
    for name, expected in (("site/北区", []), ("北区", []), ("南区", [("wrong-scope", 2)])):
        assert told(SOUND.replace("group_name: alpha", f"group_name: {name}"), scope) == expected


def test_the_level_is_the_rules() -> None:
    found = audit_index(SOUND.replace("6000", "x").replace("| P1 |", "| p1 |"), ALPHA, ScopeFiles(PRESENT))
    assert {each.rule: each.level for each in found} == {"bad-budget": Level.ERROR, "odd-priority": Level.NOTE}


pieces = st.sampled_from(
    [*SOUND.splitlines(keepends=True), "---\n", "```\n", "<!--", "| a |", "P0", "\ud800", "./", "p0"]
)


@given(st.lists(pieces, max_size=30).map("".join) | st.text(max_size=200))
@settings(max_examples=200)
def test_it_never_raises_and_names_lines_that_are_there(text: str) -> None:
    lines: Sequence[str] = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for scope in (ALPHA, DM):
        for each in audit_index(text, scope, ScopeFiles(PRESENT)):
            assert each.rule in INDEX_RULES
            assert 0 <= each.line <= len(lines)


SHAPES = {
    "rows": "| a | b.md | P1 |\n", "same scenario": "| a, b, c | b.md | p1 |\n", "long cell": "word ",
    "keys": "key: value\n", "combining": "a\u0301\u0301\u0301",
}  # fmt: skip


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_twice_the_text_costs_twice_the_time(shape: str) -> None:
    unit = SHAPES[shape]
    head = "---\n" if shape == "keys" else "| scenario | file | priority |\n|---|---|---|\n| "

    def sized(size: int) -> object:
        text = head + unit * (size // len(unit))
        return lambda: audit_index(text, ALPHA, ScopeFiles(PRESENT))

    assert growth(sized, 12_000) <= 3.2  # type: ignore[arg-type]
