from __future__ import annotations

import posixpath
import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apm_hooks.ownership import (
    OWNERSHIP,
    Owned,
    Owner,
    classify,
    in_group,
    loads,
    normalise,
    owner_reads,
    owner_writes,
)
from apm_hooks.records import DM, Scope, ScopeKind

OWN = Scope(ScopeKind.GROUP, "team")
OTHER = Scope(ScopeKind.GROUP, "other")
NESTED = Scope(ScopeKind.GROUP, "parent/child")

# Path → kind, owner, and what the owner's DM, the group "team", another group and no scope may do with it:
# r(ead), w(rite), l(oaded by itself).
TABLE = [
    (".apm", "machine state", Owner.OPERATOR, "", "", "", ""),
    (".apm/ledgers/0f.jsonl", "machine state", Owner.OPERATOR, "", "", "", ""),
    (".apm/flush-state.json", "machine state", Owner.OPERATOR, "", "", "", ""),
    ("apm.toml", "settings", Owner.OPERATOR, "", "", "", ""),
    (".git", "history", Owner.DM, "rw", "", "", ""),
    (".git/objects/0f/1e", "history", Owner.DM, "rw", "", "", ""),
    ("memory/groups/flush-state.json", "aggregate state", Owner.OPERATOR, "", "", "", ""),
    ("memory/groups/flush-state.json.lock", "aggregate state", Owner.OPERATOR, "", "", "", ""),
    ("memory/groups/flush-state.json.corrupt-1", "aggregate state", Owner.OPERATOR, "", "", "", ""),
    ("memory/groups/.flush-state.json.apm-tmp", "aggregate state", Owner.OPERATOR, "", "", "", ""),
    ("memory/groups/group_names.json", "group map", Owner.OPERATOR, "r", "", "", ""),
    ("memory/groups/group_names.json.lock", "group map", Owner.OPERATOR, "r", "", "", ""),
    ("memory/groups/.group_names.json.apm-tmp", "group map", Owner.OPERATOR, "r", "", "", ""),
    ("memory/groups/team/flush-state.json", "group state", Owner.GROUP, "", "r", "", ""),
    ("memory/groups/team/flush-state.json.lock", "group state", Owner.GROUP, "", "r", "", ""),
    ("memory/groups/team/flush-state.json.corrupt-2", "group state", Owner.GROUP, "", "r", "", ""),
    ("memory/groups/team/.flush-state.json.apm-tmp", "group state", Owner.GROUP, "", "r", "", ""),
    ("memory/groups/team/conventions/flush-state.json", "group state", Owner.GROUP, "", "r", "", ""),
    ("memory/flush-state.json", "flush state", Owner.DM, "r", "", "", ""),
    ("memory/flush-state.json.lock", "flush state", Owner.DM, "r", "", "", ""),
    ("memory/flush-state.json.corrupt-3", "flush state", Owner.DM, "r", "", "", ""),
    ("memory/.flush-state.json.apm-tmp", "flush state", Owner.DM, "r", "", "", ""),
    ("memory/main/flush-state.json", "flush state", Owner.DM, "r", "", "", ""),
    ("flush-state.json", "flush state", Owner.DM, "r", "", "", ""),
    ("docs/flush-state.json", "flush state", Owner.DM, "r", "", "", ""),
    ("memory/groups/team/MEMORY.md", "group's MEMORY.md", Owner.GROUP, "r", "rw", "", ""),
    ("memory/groups/team/conventions/MEMORY.md", "group's MEMORY.md", Owner.GROUP, "r", "rw", "", ""),
    ("memory/groups/team.md", "group index", Owner.GROUP, "r", "rwl", "", ""),
    ("memory/groups/team/attention.md", "group file", Owner.GROUP, "r", "rwl", "", ""),
    ("memory/groups/team/conventions/api.md", "group file", Owner.GROUP, "r", "rwl", "", ""),
    ("memory/groups/team/main/index.md", "group file", Owner.GROUP, "r", "rwl", "", ""),
    ("memory/groups/team/notes", "group file", Owner.GROUP, "r", "rwl", "", ""),
    ("MEMORY.md", "MEMORY.md", Owner.DM, "rw", "", "", ""),
    ("memory/MEMORY.md", "MEMORY.md", Owner.DM, "rw", "", "", ""),
    ("memory/main/MEMORY.md", "MEMORY.md", Owner.DM, "rw", "", "", ""),
    ("memory/main", "main memory", Owner.DM, "rwl", "", "", ""),
    ("memory/main/index.md", "main memory", Owner.DM, "rwl", "", "", ""),
    ("memory/main/projects/x.md", "main memory", Owner.DM, "rwl", "", "", ""),
    ("memory/2026-11-30.md", "daily note", Owner.DM, "rwl", "", "", ""),
    ("memory/2026-11-30-0915.md", "daily note", Owner.DM, "rwl", "", "", ""),
    ("log", "log", Owner.DM, "rwl", "", "", ""),
    ("log/2026/a.txt", "log", Owner.DM, "rwl", "", "", ""),
    ("memory", "other memory", Owner.DM, "rwl", "", "", ""),
    ("memory/INDEX.md", "other memory", Owner.DM, "rwl", "", "", ""),
    ("memory/notes/a/b.md", "other memory", Owner.DM, "rwl", "", "", ""),
    ("memory/2026-11-3.md", "other memory", Owner.DM, "rwl", "", "", ""),
    ("memory/2026-11-30.txt", "other memory", Owner.DM, "rwl", "", "", ""),
    ("memory/x/2026-11-30.md", "other memory", Owner.DM, "rwl", "", "", ""),
    ("memory/mainly.md", "other memory", Owner.DM, "rwl", "", "", ""),
    ("memory/groups", "other memory", Owner.DM, "rwl", "", "", ""),
    ("memory/groups/team", "other memory", Owner.DM, "rwl", "", "", ""),
    ("memory/groups/team.txt", "other memory", Owner.DM, "rwl", "", "", ""),
    ("memory/groupsx/team.md", "other memory", Owner.DM, "rwl", "", "", ""),
]

NOBODYS = ["src/main.py", "README.md", "apm.toml.md", "docs/apm.toml", "x/.apm/y", "logs/a", "login.txt", "memoryx/a",
           "docs/memory/main/index.md", "docs/MEMORY.md", ".gitignore", "flush-states.json", "team.md"]  # fmt: skip


def rights(scope: Scope | None, path: str) -> str:
    asked = (("r", owner_reads), ("w", owner_writes), ("l", loads))
    return "".join(letter for letter, may in asked if may(scope, path))


@pytest.mark.parametrize("path, kind, owner, dm, own, other, none", TABLE)
def test_the_table(path: str, kind: str, owner: Owner, dm: str, own: str, other: str, none: str) -> None:
    row = classify(path).row
    assert row is not None
    assert (row.kind, row.owner) == (kind, owner)
    assert [rights(scope, path) for scope in (DM, OWN, OTHER, None)] == [dm, own, other, none]


def test_every_row_is_in_the_test_table_and_says_why() -> None:
    assert {row.kind for row in OWNERSHIP} == {line[1] for line in TABLE}
    assert len({row.kind for row in OWNERSHIP}) == len(OWNERSHIP)
    assert all(row.why.endswith(".") for row in OWNERSHIP)


@pytest.mark.parametrize("path", NOBODYS)
def test_what_no_row_names_is_free_and_never_loaded(path: str) -> None:
    assert classify(path) == Owned(None)
    assert [rights(scope, path) for scope in (DM, OWN, OTHER, None)] == ["rw"] * 4


@pytest.mark.parametrize(
    "path, plain",
    [
        ("memory/main/index.md", "memory/main/index.md"),
        ("./memory//main/./index.md", "memory/main/index.md"),
        ("memory/main/", "memory/main"),
        ("memory/groups/../main/index.md", "memory/main/index.md"),
        ("a/../memory", "memory"),
        ("memory/..", None),
        ("memory/../..", None),
        ("../memory/main/index.md", None),
        ("a/../../memory/main/index.md", None),
        ("..", None),
        (".", None),
        ("", None),
        ("/", None),
        ("/memory/main/index.md", None),
        ("//memory", None),
        ("memory/main/index.md\0.txt", None),
        ("...", "..."),
        ("..a/b", "..a/b"),
        (" ", " "),
    ],
)
def test_normalise(path: str, plain: str | None) -> None:
    assert normalise(path) == plain


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a\0b", "."])
def test_what_is_not_in_the_workspace_gives_no_right(path: str) -> None:
    assert classify(path) == Owned(None)
    assert [rights(scope, path) for scope in (DM, OWN, None)] == ["", "", ""]


@pytest.mark.parametrize(
    "path, dm, own",
    [
        ("./memory/groups/../main/index.md", "rwl", ""),
        ("memory/groups/team/../other/attention.md", "r", ""),
        ("memory/groups/other/../team/attention.md", "r", "rwl"),
        ("memory//groups//team.md", "r", "rwl"),
        ("src/../memory/groups/team/flush-state.json", "", "r"),
    ],
)
def test_paths_are_judged_in_their_plain_form(path: str, dm: str, own: str) -> None:
    assert (rights(DM, path), rights(OWN, path)) == (dm, own)


# A file system may fold case, Unicode forms and invisible characters; then these are the protected files.
@pytest.mark.parametrize(
    "path, dm, own, none",
    [
        ("Memory/Main/index.md", "rw", "", ""),
        ("MEMORY/main/index.md", "rw", "", ""),
        ("memory.md", "rw", "", ""),
        ("Memory.MD", "rw", "", ""),
        ("mem\u200cory/main/index.md", "rw", "", ""),
        ("memory/ma\u200din/index.md", "rwl", "", ""),
        ("LOG/a", "rw", "", ""),
        ("MEMORY/Été.md", "rw", "", ""),
        (".APM/x", "", "", ""),
        ("APM.toml", "", "", ""),
        (".Git/config", "rw", "", ""),
        ("Memory/groups/flush-state.json", "", "", ""),
        ("memory/groups/Flush-State.json", "", "", ""),
        ("memory/GROUPS/group_names.json", "r", "", ""),
        ("memory/groups/team/FLUSH-STATE.JSON", "", "r", ""),
        ("memory/groups/team/memory.md", "r", "rw", ""),
        ("memory/groups/Team.md", "r", "", ""),
        ("memory/groups/TEAM/attention.md", "r", "", ""),
        ("memory/groups/team.MD", "r", "", ""),
        ("memory/Groups/team/attention.md", "r", "", ""),
        ("memory/groups/team/Attention.md", "r", "rwl", ""),
    ],
)
def test_the_stricter_of_the_two_readings_counts(path: str, dm: str, own: str, none: str) -> None:
    assert classify(path).row is not None
    assert [rights(scope, path) for scope in (DM, OWN, OTHER, None)] == [dm, own, "", none]


def test_names_in_other_scripts_and_cases_are_judged_like_all_others() -> None:
    for name in ("Team A", "équipe", "研究组", "Straße", "a\u200db"):
        own = Scope(ScopeKind.GROUP, name)
        assert rights(own, own.index_path) == "rwl"
        assert rights(own, f"{own.directory}/attention.md") == "rwl"
        assert rights(own, "memory/main/index.md") == ""
        assert rights(OTHER, own.index_path) == ""
    composed = Scope(ScopeKind.GROUP, "équipe")
    assert rights(composed, unicodedata.normalize("NFD", "memory/groups/équipe.md")) == ""


@pytest.mark.parametrize(
    "scope, path, may",
    [
        (NESTED, "memory/groups/parent/child.md", "rwl"),
        (NESTED, "memory/groups/parent/child/attention.md", "rwl"),
        (NESTED, "memory/groups/parent/child/flush-state.json", "r"),
        (NESTED, "memory/groups/parent.md", ""),
        (NESTED, "memory/groups/parent/attention.md", ""),
        (NESTED, "memory/groups/parent/childish.md", ""),
        (NESTED, "memory/groups/parent/child2/attention.md", ""),
        (NESTED, "memory/groups/child.md", ""),
        (OWN, "memory/groups/teams.md", ""),
        (OWN, "memory/groups/team2/attention.md", ""),
        (OWN, "memory/groups/tea.md", ""),
        (OWN, "memory/groups/x/team.md", ""),
        (OWN, "memory/groups/x/team/attention.md", ""),
        (Scope(ScopeKind.GROUP, ""), "memory/groups/.md", ""),
        (Scope(ScopeKind.GROUP, ""), "memory/groups/team.md", ""),
        (Scope(ScopeKind.GROUP, ".."), "memory/main/index.md", ""),
        (Scope(ScopeKind.GROUP, "../main"), "memory/main/index.md", ""),
        (Scope(ScopeKind.GROUP, "../main"), "memory/groups/../main/index.md", ""),
        (Scope(ScopeKind.GROUP, "group_names"), "memory/groups/group_names.json", ""),
        (Scope(ScopeKind.GROUP, "flush-state"), "memory/groups/flush-state.json", ""),
    ],
)
def test_a_scopes_own_name_decides_at_component_borders(scope: Scope, path: str, may: str) -> None:
    assert rights(scope, path) == may


def test_the_row_of_the_path_as_written_comes_first() -> None:
    kinds = {"memory/groups/team/memory.md": "group file", "memory/memory.md": "other memory",
             "memory/Memory/groups": "other memory", "Memory/memory.md": "MEMORY.md"}  # fmt: skip
    for path, kind in kinds.items():
        row = classify(path).row
        assert row is not None
        assert row.kind == kind


def test_in_group() -> None:
    assert in_group("team", "memory/groups/team.md")
    assert in_group("team", "memory/groups/team/a/b.md")
    assert not in_group("team", "memory/groups/team")
    assert not in_group("team", "memory/groups/team.md.bak")
    assert not in_group("", "memory/groups/.md")


@pytest.mark.parametrize(
    "path, group",
    [
        ("memory/groups/team.md", "team"),
        ("memory/groups/v1.2.md", "v1.2"),
        ("memory/groups/team/attention.md", "team"),
        ("memory/groups/team/flush-state.json", "team"),
        ("memory/groups/parent/child/attention.md", "parent"),
        ("./memory/groups/x/../Team.md", "Team"),
        ("memory/groups/group_names.json", ""),
        ("memory/main/index.md", ""),
        ("src/x", ""),
    ],
)
def test_the_group_of_a_path(path: str, group: str) -> None:
    assert classify(path).group == group


COMPONENTS = st.one_of(
    st.sampled_from(["memory", "Memory", "groups", "main", "team", "Team", "team.md", "other", "..", ".", "", ".apm"]),
    st.sampled_from(["flush-state.json", "group_names.json", "MEMORY.md", "index.md", "2026-11-30.md", "é", "e\u0301"]),
    st.text(max_size=4),
)
PATHS = st.lists(COMPONENTS, max_size=7).map("/".join)
MEMORY_PATHS = PATHS.map("memory/{}".format)


@settings(max_examples=300)
@given(st.one_of(PATHS, MEMORY_PATHS, MEMORY_PATHS.map("memory/groups/../../{}".format)))
@example("memory/groups/team/../../main/index.md")
def test_a_group_reaches_nothing_but_its_own(path: str) -> None:
    plain = normalise(path)
    for scope in (OWN, NESTED, OTHER):
        may = rights(scope, path)
        if plain is None:
            assert may == ""
            continue
        folded = plain.casefold()
        if f"{folded}/".startswith(("memory/", "log/", ".apm/", ".git/")):
            assert may == "" or folded == scope.index_path or folded.startswith(f"{scope.directory}/")
            assert not ("w" in may and "flush-state.json" in folded)
    assert not (plain and owner_writes(DM, path) and plain.startswith("memory/groups/") and classify(path).group)


@settings(max_examples=300)
@given(st.one_of(PATHS, MEMORY_PATHS, st.text(max_size=30)))
def test_what_may_be_loaded_may_be_read_and_never_by_two_scopes(path: str) -> None:
    scopes = (DM, OWN, NESTED, OTHER, None)
    assert all(owner_reads(scope, path) for scope in scopes if loads(scope, path))
    assert sum(loads(scope, path) for scope in scopes) <= 1
    assert not any(owner_writes(scope, path) and not owner_reads(scope, path) for scope in scopes)


@settings(max_examples=300)
@given(st.one_of(PATHS, st.text(max_size=30)))
def test_a_normal_path_is_relative_and_stays_inside(path: str) -> None:
    plain = normalise(path)
    if plain is not None:
        assert normalise(plain) == plain == posixpath.normpath(plain)
        assert not plain.startswith("/")
        assert ".." not in plain.split("/")
        assert plain == posixpath.normpath(path)
