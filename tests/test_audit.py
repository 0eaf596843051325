"""The audit of a whole workspace: whose files are read, what is asked of each, and what plugins may do."""

from __future__ import annotations

import os

import pytest

from apm_hooks.audit import RULES, Auditor, ScopeAudit
from apm_hooks.audit_scopes import marks_of, scopes_of, unmapped_groups
from apm_hooks.audit_secrets import Sighting
from apm_hooks.events import AuditRule
from apm_hooks.findings import Level
from apm_hooks.groupmap import GroupMap, read_group_map
from apm_hooks.records import DM, LIMITS, Scope, ScopeKind
from tests.workspaces import Bench

ALPHA = Scope(ScopeKind.GROUP, "alpha")
INDEX = (
    "# alpha\n\n## Hard Rules\n\n- brief\n\n| scenario | file | priority |\n|---|---|---|\n"
    "| any work conversation | attention.md | P0 |\n| lessons | experience.md | P2 |\n"
)
# Put together here, so that this file holds no text shaped like a secret.
GITHUB = "ghp" + "_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def words(text: str) -> int:
    return len(text.split())


def places(audit: ScopeAudit) -> list[tuple[str, str, int]]:
    return [(found.rule, found.path, found.line) for found in audit.findings]


@pytest.fixture
def group(made: Bench) -> Bench:
    made.groups({"-1": "alpha"})
    made.write("memory/groups/alpha.md", INDEX)
    made.write("memory/groups/alpha/attention.md", "# Attention\n\nsee conventions/api.md\n")
    made.write("memory/groups/alpha/experience.md", "# Experience\n")
    made.write("memory/groups/alpha/conventions/api.md", "# API\n")
    return made


def audited(made: Bench, scope: Scope = ALPHA, **more: object) -> ScopeAudit:
    return Auditor(str(made.root), count=words, **more).scope(scope)  # type: ignore[arg-type]


def declared(made: Bench) -> GroupMap:
    file = "memory/groups/group_names.json"
    return read_group_map((made.root / file).read_text(encoding="utf-8"), file=file)


def test_a_sound_scope_is_silent_and_says_how_large_it_is(group: Bench) -> None:
    audit = audited(group)
    assert audit.findings == ()
    assert (audit.name, audit.files, audit.budget) == ("Group(alpha)", 4, LIMITS.group_budget_tokens)
    assert audit.tokens == sum(words(file.read_text()) for file in (group.root / "memory/groups").rglob("*.md"))


def test_a_sound_owners_scope_is_silent(made: Bench) -> None:
    made.write("MEMORY.md", "# MEMORY\n")
    made.write("memory/main/longterm.md", "# Long term\n")
    made.write("memory/2026-03-02.md", "- [ ] 2026-03-02: the disk failed, for now\n")
    assert audited(made, DM).findings == ()


def test_a_groups_audit_reads_nothing_of_others(group: Bench) -> None:
    group.write("memory/groups/beta.md", f"{GITHUB}\n")
    group.write("memory/groups/beta/attention.md", f"{GITHUB}\n")
    group.write("MEMORY.md", f"{GITHUB}\n")
    group.write("log/x.md", f"{GITHUB}\n")
    read: list[str] = []
    rule = AuditRule("spy", lambda path, text: read.append(path) or ())  # type: ignore[func-returns-value]
    assert audited(group, extra_rules=[("p", rule)]).findings == ()
    assert read and all(path.startswith("memory/groups/alpha") for path in read)
    read.clear()
    owners = audited(group, DM, extra_rules=[("p", rule)])
    assert not any(path.startswith("memory/groups") for path in read)
    assert [place for place in places(owners) if place[0] == "secret"] == [
        ("secret", "MEMORY.md", 1), ("secret", "log/x.md", 1),
    ]  # fmt: skip


def test_secrets_are_found_in_every_kind_of_memory_file(group: Bench) -> None:
    for path in ("notes.txt", "data.json", "deep/er/x.md", "conventions/more.md"):
        group.write(f"memory/groups/alpha/{path}", f"a\ntoken: {GITHUB}\n")
    found = [found for found in audited(group).findings if found.rule == "secret"]
    assert {(each.path.rpartition("/")[2], each.line) for each in found} == {
        ("notes.txt", 2), ("data.json", 2), ("x.md", 2), ("more.md", 2),
    }  # fmt: skip
    assert all(GITHUB[8:20] not in repr(each) for each in found)


def test_no_finding_repeats_a_word_of_a_line_that_holds_a_secret(group: Bench) -> None:
    group.write(
        "memory/groups/alpha.md", f"---\nmemory_budget: {GITHUB}\n---\n{INDEX}| {GITHUB} | {GITHUB}.md | P9 |\n"
    )
    rule = AuditRule("loud", lambda path, text: ((2, f"line is {text.splitlines()[1]}"),))
    found = audited(group, extra_rules=[("p", rule)]).findings
    assert {"secret", "bad-budget", "missing-file", "bad-priority", "p/loud"} <= {each.rule for each in found}
    assert GITHUB[8:20] not in repr(found)


def test_what_cannot_be_read_is_told(group: Bench) -> None:
    group.write("memory/groups/alpha/experience.md", b"\xff\xfe\x00\x00\x81\x00\x9d" * 40)
    group.write("memory/groups/alpha/binary.pyc", b"\x00\x01\x02\x81" * 40)
    os.symlink(group.root / "memory/main/attention.md", group.root / "memory/groups/alpha/linked.md")
    found = places(audited(group))
    assert ("unreadable-file", "memory/groups/alpha/experience.md", 0) in found
    assert ("refused-file", "memory/groups/alpha/linked.md", 0) in found
    assert not any("binary" in path for _, path, _ in found)


def test_an_odd_encoding_is_told_and_the_text_still_judged(group: Bench) -> None:
    group.write("memory/groups/alpha/experience.md", b"# x\n" + f"token: {GITHUB}\r\n".encode("utf-16-le"))
    assert places(audited(group)) == [
        ("odd-encoding", "memory/groups/alpha/experience.md", 0), ("secret", "memory/groups/alpha/experience.md", 2),
    ]  # fmt: skip


def test_files_past_their_share_and_scopes_past_their_budget(group: Bench) -> None:
    group.write("memory/groups/alpha.md", f"---\nmemory_budget: 100\n---\n{INDEX}")
    group.write("memory/groups/alpha/experience.md", "w " * 70)
    assert places(audited(group)) == [("scope-size", "memory/groups/alpha.md", 0)]
    group.write("memory/groups/alpha/experience.md", "w " * 71)
    found = audited(group).findings
    assert [(each.rule, each.path, each.level) for each in found] == [
        ("scope-size", "memory/groups/alpha.md", Level.NOTE),
        ("file-too-big", "memory/groups/alpha/experience.md", Level.WARNING),
    ]
    assert "It costs 71 tokens; more than 70 of a budget of 100" in found[1].sentence


def test_without_a_counter_tokens_are_estimated(group: Bench) -> None:
    group.write("memory/groups/alpha/experience.md", "word " * 20_000)
    assert "file-too-big" in [found.rule for found in Auditor(str(group.root)).scope(ALPHA).findings]


def test_a_scope_without_an_index(group: Bench) -> None:
    (group.root / "memory/groups/alpha.md").unlink()
    assert places(audited(group)) == [("no-index", "memory/groups/alpha.md", 0)]
    assert Auditor(str(group.root)).scope(ALPHA, mapped=False).findings == ()
    (group.root / "memory/main/index.md").unlink()
    assert places(audited(group, DM)) == [("no-index", "memory/main/index.md", 0)]


def test_the_group_map_and_groups_that_it_does_not_name(group: Bench) -> None:
    group.groups({"-1": "alpha", "-2": "../x", "-3": "site/north", "-4": 5})
    group.write("memory/groups/site/north.md", INDEX)
    group.write("memory/groups/site/south/attention.md", "x")
    group.write("memory/groups/beta.md", INDEX)
    group.write("memory/groups/ALPHA/attention.md", "x")
    group.write("memory/groups/.hidden/x.md", "x")
    (group.root / "memory/groups/empty").mkdir()
    groups = declared(group)
    unmapped = unmapped_groups(str(group.root), groups)
    assert [scope.name for scope in unmapped] == ["beta", "empty", "site/south"]
    assert [str(scope) for scope in scopes_of(groups)] == ["DM", "Group(alpha)", "Group(site/north)"]
    assert marks_of(groups).names == ("alpha", "site/north")
    audit = Auditor(str(group.root)).names(groups, (), unmapped)
    assert sorted(places(audit)) == [
        ("group-map", "memory/groups/group_names.json", 1), ("group-map", "memory/groups/group_names.json", 1),
        ("unmapped-group", "memory/groups/beta.md", 0), ("unmapped-group", "memory/groups/empty", 0),
        ("unmapped-group", "memory/groups/site/south", 0),
    ]  # fmt: skip


def test_only_what_was_chosen_is_told(group: Bench) -> None:
    group.write("memory/groups/alpha/extra.md", f"{GITHUB}\n")
    group.write("memory/groups/alpha/experience.md", f"{GITHUB}\n")
    audit = audited(group, chosen=lambda path: path.endswith("extra.md"))
    assert {found.path for found in audit.findings} == {"memory/groups/alpha/extra.md"}
    assert {found.rule for found in audit.findings} == {"secret", "unreached-file"}


def test_progress_is_told_after_each_file(group: Bench) -> None:
    told: list[tuple[int, int]] = []
    audited(group, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_plugins_rule_adds_findings_under_its_name(group: Bench) -> None:
    rule = AuditRule("tabs", lambda path, text: ((1, "a\n tab"), (0, "the whole")) if "attention" in path else ())
    found = audited(group, extra_rules=[("tidy", rule)]).findings
    assert [(each.rule, each.level, each.path, each.line, each.sentence) for each in found] == [
        ("tidy/tabs", Level.WARNING, "memory/groups/alpha/attention.md", 0, "the whole"),
        ("tidy/tabs", Level.WARNING, "memory/groups/alpha/attention.md", 1, "a tab"),
    ]


def raises(path: str, text: str) -> tuple[tuple[int, str], ...]:
    raise RuntimeError(text)


def leaves(path: str, text: str) -> tuple[tuple[int, str], ...]:
    raise SystemExit


@pytest.mark.parametrize(
    "check",
    [
        raises, leaves, lambda path, text: None, lambda path, text: "text", lambda path, text: iter(()),
        lambda path, text: ((1, 2),), lambda path, text: ((1,),), lambda path, text: (("1", "x"),),
        lambda path, text: ((True, "x"),), lambda path, text: ((-1, "x"),), lambda path, text: ((10**9, "x"),),
        lambda path: (), 5,
    ],
)  # fmt: skip
def test_a_plugins_rule_that_fails_costs_one_finding_that_names_it(group: Bench, check: object) -> None:
    good = AuditRule("good", lambda path, text: ((1, "fine"),))
    bad = AuditRule("bad", check)  # type: ignore[arg-type]
    found = audited(group, extra_rules=[("broken", bad), ("tidy", good)]).findings
    failed = [each for each in found if each.rule == "plugin-failed"]
    assert len(failed) == 1
    assert "broken/bad" in failed[0].sentence and "'broken'" in failed[0].sentence
    assert len([each for each in found if each.rule == "tidy/good"]) == 4
    assert "# Attention" not in repr(failed)


def test_one_file_cannot_flood_the_report(group: Bench) -> None:
    group.write("memory/groups/alpha/attention.md", "x\n" * 2_000)
    rule = AuditRule("all", lambda path, text: tuple((number, "x") for number in range(1, text.count("\n"))))
    found = audited(group, extra_rules=[("p", rule)]).findings
    assert len(found) < 600
    assert next(each.rule for each in found if each.path.endswith("attention.md")) == "more-findings"


def test_a_detector_is_asked_for_each_file(group: Bench) -> None:
    found = audited(group, detect=lambda text: [Sighting("a thing", 1)] if "API" in text else []).findings
    assert [(each.rule, each.path) for each in found] == [("secret", "memory/groups/alpha/conventions/api.md")]


def test_every_rule_has_a_sentence_of_its_own() -> None:
    assert len({rule.summary for rule in RULES.values()}) == len(RULES)
    assert all(rule.summary.endswith(".") for rule in RULES.values())


def test_a_walk_that_a_bound_stopped_says_so(group: Bench) -> None:
    limits = type(LIMITS)(scope_files=2)
    assert "incomplete" in [found.rule for found in audited(group, limits=limits).findings]
