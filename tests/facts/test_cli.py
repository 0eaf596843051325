"""`apm-hooks facts` as a person, a bot or a check calls it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from apm_hooks.facts.model import CUTS, INDEX
from tests.facts.memories import GOOD, lay_out
from tests.test_cli import Said, Terminal
from tests.workspaces import GROUP_KEY, Bench

ORG = "staff: [{handle: cto, dir: staff/cto, name: Chief}, {handle: ops, repo: acme/ops}]\n"
WARNED = "- **`warned`** · [measured] It takes 2 s, n=40. **So:** warm up."
WRONG = "- **`wrong`** · It has no consequence."


@pytest.fixture
def apm(made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """A terminal in an accepted workspace with an index of one good fact."""
    for name in list(os.environ):
        if name.startswith(("APM_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(made.root)
    made.groups({"-100777": "alpha"})
    made.write(INDEX, f"# Facts\n\n{GOOD}\n")
    made.trust()
    return Terminal(made, monkeypatch, capsys)


@pytest.fixture
def org(apm: Terminal) -> Terminal:
    """An organisation of two members in the same folder."""
    apm.made.write("org.yaml", ORG)
    apm.made.write(f"staff/cto/{INDEX}", f"{GOOD}\n")
    apm.made.write(f"ops/{INDEX}", f"{WRONG}\n{WARNED}\n")
    return apm


@pytest.mark.parametrize(
    ("lines", "code"), [((GOOD,), 0), ((GOOD, WARNED), 0), ((GOOD, WRONG), 1), ((WARNED, WRONG), 1), ((), 0)]
)
def test_the_exit_code_tells_errors_alone(apm: Terminal, lines: tuple[str, ...], code: int) -> None:
    apm.made.write(INDEX, "\n".join(lines))
    assert apm("facts", "lint").code == code
    assert apm("facts", "lint", "--quiet").code == code
    for shape in ("json", "github", "sarif", "human"):
        assert apm("facts", "lint", "--format", shape).code == code


def test_findings_are_grouped_by_member_with_counts_and_the_longest_facts(org: Terminal) -> None:
    said = org("facts", "lint")
    assert said.code == 1
    assert said.out.split("\n")[0] == "ops"
    assert "  ops/memory/INDEX.md:1:17: error: wrong says nothing of what it changes. [no-consequence]" in said.out
    assert "ops/memory/INDEX.md:2:19: warning: warned is measured, and names no day" in said.out
    assert "cto (Chief): 1 fact, 0 notes, 0.1 KiB, no findings; longest: good 66" in said.out
    assert "ops: 2 facts, 0 notes, 0.1 KiB, 1 error, 1 warning; longest: warned 64, wrong 38" in said.out


def test_members_may_be_named(org: Terminal) -> None:
    assert org("facts", "lint", "cto").code == 0
    assert org("facts", "lint", "ops").code == 1
    assert org("facts", "lint", "ops", "cto").code == 1
    unknown = org("facts", "lint", "cto", "cfo")
    assert unknown.code == 2
    assert "cfo is no member here" in unknown.err


def test_in_a_member_s_directory_that_member_is_meant(org: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(org.made.root / "staff/cto")
    assert org("facts", "lint").out.startswith("cto (Chief): ")
    assert org("facts", "add", "x", "One.", "--so", "y.").out == "written  staff/cto/memory/INDEX.md:2\n"
    assert org("facts", "lint", "ops").code == 1


def test_a_missing_index_is_an_error_of_its_member(org: Terminal) -> None:
    (org.made.root / "ops" / INDEX).unlink()
    (org.made.root / "ops/memory").rmdir()
    (org.made.root / "ops").rmdir()
    told = org("facts", "lint", "--json")
    assert told.code == 1
    sections = {section["member"]["handle"]: section for section in told.json["sections"]}
    assert [found["rule"] for found in sections["ops"]["findings"]] == ["missing-index"]
    assert sections["ops"]["findings"][0]["path"] == "ops/memory/INDEX.md"
    assert sections["cto"]["findings"] == []


def test_json_has_members_sizes_budgets_and_findings(org: Terminal) -> None:
    told = org("facts", "lint", "--format", "json").json
    assert org("facts", "lint", "--json").json == told
    assert told["counts"] == {"error": 1, "warning": 1, "note": 0}
    cto, ops = told["sections"]
    assert cto["member"] == {"handle": "cto", "name": "Chief", "dir": "staff/cto", "repo": None}
    assert ops["member"]["repo"] == "acme/ops"
    assert ops["facts"] == 2
    assert ops["budgets"]["max_fact_chars"] == 400
    assert ops["longest"] == [
        {"slug": "warned", "line": 2, "chars": len(WARNED)}, {"slug": "wrong", "line": 1, "chars": len(WRONG)},
    ]  # fmt: skip
    assert ops["findings"][0]["line"] == 1
    assert ops["findings"][0]["column"] == 17


def test_annotations_and_sarif_name_files_from_where_the_check_runs(
    org: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(org.made.root.parent)
    said = org("facts", "lint", "--workspace", "ws", "--format", "github")
    assert said.out.startswith("::error file=ws/ops/memory/INDEX.md,line=1,col=17,title=no-consequence::")
    told = org("facts", "lint", "--workspace", "ws", "--format", "sarif").json
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for result in told["runs"][0]["results"]}  # fmt: skip
    assert uris == {"ws/ops/memory/INDEX.md"}


def test_quiet_tells_errors_alone(org: Terminal) -> None:
    said = org("facts", "lint", "--quiet")
    assert "warning" not in said.out
    assert "no-consequence" in said.out
    assert org("facts", "lint", "--quiet", "cto") == Said(0, "", "")
    assert org("facts", "lint", "--quiet", "--json").json["counts"]["warning"] == 0


@pytest.mark.parametrize(
    "wanted",
    [("lint", "--json", "--format", "human"), ("lint", "--format", "xml"), ("add", "a", "x"), ("cut", "good"), (),
     ("add", "a b", "x", "--so", "y"), ("correct", "good"), ("show", "none"), ("init", "none.md"),
     ("add", "good", "x", "--so", "y"), ("lint", "a", "b"), ("add", "a", "x", "--so", "y", "--member", "cfo")],
)  # fmt: skip
def test_words_that_make_no_sense(apm: Terminal, wanted: tuple[str, ...]) -> None:
    assert apm("facts", *wanted).code == 2


def test_no_index_anywhere(apm: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert "no fact index here" in apm("facts", "lint").err
    assert apm("facts", "lint").code == 2
    assert apm("facts", "lint", "--workspace", ".").code == 1


def test_a_bad_budget_names_file_and_key(org: Terminal) -> None:
    org.made.write("ops/staff.yaml", "memory: {max_index_kb: 0}\n")
    said = org("facts", "lint")
    assert said.code == 3
    assert "ops/staff.yaml:1 [memory.max_index_kb]: 0 is no positive number" in said.err
    told = org("facts", "lint", "--json").json["error"]
    assert (told["file"], told["line"], told["key"]) == ("ops/staff.yaml", 1, "memory.max_index_kb")


def test_more_than_one_member_must_be_told_apart(org: Terminal) -> None:
    said = org("facts", "add", "a", "x.", "--so", "y.")
    assert said.code == 2
    assert "--member: cto, ops" in said.err
    assert org("facts", "add", "a", "x.", "--so", "y.", "--member", "ops").code == 0
    assert (org.made.root / "ops/memory/INDEX.md").read_text().endswith("- **`a`** · x. **So:** y.\n")


def test_a_fact_s_way(apm: Terminal) -> None:
    root = apm.made.root
    assert apm("facts", "add", "new", "It is slow. It was 2 s.", "--so", "warm up", "--as", "will").out == (
        "written  memory/INDEX.md:4\n"
    )
    assert apm("facts", "correct", "new", "--as", "derived", "--json").json["status"] == "written"
    assert apm("facts", "move", "new").code == 0
    shown = apm("facts", "show", "new")
    assert "  - **`new`** · [derived] It is slow. **So:** warm up. · [note](notes/new.md)" in shown.out
    assert "  It was 2 s." in shown.out
    assert apm("facts", "correct", "good", "--so", "see [[new]]").code == 0
    told = apm("facts", "show", "new", "--json").json
    assert told["referred_to_by"] == [{"path": INDEX, "line": 3, "slug": "good"}]
    assert told["facts"][0]["note"] == {"path": "memory/notes/new.md", "text": "# new\n\nIt was 2 s.\n"}
    refused = apm("facts", "cut", "new", "--why", "it is fast")
    assert refused.code == 2
    assert "(dangling-reference)" in refused.err
    assert apm("facts", "cut", "good", "--why", "we deploy daily").code == 0
    assert apm("facts", "cut", "new", "--why", "it is fast").code == 0
    assert apm("facts", "lint", "--json").json["sections"][0]["findings"][0]["rule"] == "orphaned-note"
    assert (root / CUTS).read_text(encoding="utf-8").count("was: **`") == 2


def test_the_sizes_stand_beside_the_budgets(apm: Terminal) -> None:
    apm.made.write("staff.yaml", "memory: {max_fact_chars: 20, max_index_tokens: 500}\n")
    told = apm("facts", "size", "--json").json["members"][0]
    rows = {row["what"]: (row["is"], row["budget"], row["over"]) for row in told["rows"]}
    assert rows["facts"] == (1, None, False)
    assert rows["longest fact, characters"] == (len(GOOD), 20, True)
    assert rows[f"{INDEX}, bytes"][1:] == (24576, False)
    assert rows[f"{INDEX}, tokens"][1] == 500
    said = apm("facts", "size")
    assert "longest: good (line 3, 66 characters)" in said.out


def test_a_group_s_session_may_not_touch_the_index(apm: Terminal) -> None:
    apm.session(GROUP_KEY)
    before = (apm.made.root / INDEX).read_bytes()
    for wanted in (
        ("lint",), ("size",), ("show", "good"), ("add", "a", "x.", "--so", "y."), ("cut", "good", "--why", "x"),
        ("correct", "good", "--so", "y"), ("move", "good"), ("init",),
    ):  # fmt: skip
        said = apm("facts", *wanted)
        assert said.code == 4
        assert "Deploys" not in said.out + said.err
    assert (apm.made.root / INDEX).read_bytes() == before


@pytest.mark.parametrize("key", ["agent:main:telegram:direct:77", "agent:main:foo:bar", "agent:main:subagent:9f", ""])
def test_nor_may_anybody_else_s(apm: Terminal, key: str) -> None:
    apm.session(key)
    assert apm("facts", "lint").code == 4


def test_the_owner_s_session_may(apm: Terminal) -> None:
    apm.session("agent:main:main")
    assert apm("facts", "add", "a", "x.", "--so", "y.").code == 0


def test_the_owner_s_session_reaches_no_member_outside_of_its_workspace(
    org: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    org.made.write("ops/apm.toml", "")
    monkeypatch.chdir(org.made.root / "ops")
    org.session("agent:main:main")
    assert org("facts", "lint").code == 4, "nobody has accepted this folder"
    Bench(org.made.home, org.made.root / "ops", org.made.env).trust()
    assert org("facts", "lint", "--json").json["sections"][0]["member"]["handle"] == "ops"
    assert org("facts", "lint", "cto").code == 2
    assert org("facts", "add", "a", "x.", "--so", "y.", "--member", "cto").code == 2


def test_a_check_needs_no_accepted_folder(apm: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lay_out(tmp_path / "clone", {INDEX: GOOD, "apm.toml": ""}))
    assert apm("facts", "lint").code == 0


def test_init_makes_a_draft_and_never_replaces_an_index(apm: Terminal) -> None:
    apm.made.write("notes.md", "# Notes\n\n- Deploys stop on Fridays\n- It is slow. So: warm up\n\n```\ncode\n```\n")
    assert apm("facts", "init", "notes.md").code == 5
    (apm.made.root / INDEX).unlink()
    dry = apm("facts", "init", "notes.md", "--dry-run")
    assert "- **`deploys-stop-on-fridays`** · Deploys stop on Fridays **So:** ?" in dry.out
    assert not (apm.made.root / INDEX).exists()
    said = apm("facts", "init", "notes.md")
    assert said.out == "written  memory/INDEX.md: 2 facts\n"
    assert "1 of 2 facts have no So: yet" in said.err
    assert "lines 6, 7, 8 of the notes" in said.err
    told = apm("facts", "lint", "--json")
    assert told.code == 1
    assert [found["rule"] for found in told.json["sections"][0]["findings"]] == ["no-consequence"]


def test_init_alone_makes_an_index_that_is_clean(apm: Terminal) -> None:
    (apm.made.root / INDEX).unlink()
    told = apm("facts", "init", "--json").json
    assert (told["facts"], told["missing_so"], told["left_out"]) == (0, 0, [])
    assert apm("facts", "lint").code == 0
    apm("facts", "add", "a", "x.", "--so", "y.")
    assert apm("facts", "lint").code == 0


def test_a_person_s_terminal_gets_colours_where_they_can_be_had(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    apm.made.write(INDEX, f"{WRONG}\n- **`[red]x`** · \x1b[31m\u202e. **So:** y\n")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    with_rich = apm("facts", "lint").out
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    without = apm("facts", "lint").out
    for out in (with_rich, without):
        assert "no-consequence" in out
        assert "longest: " in out
        assert "\u202e" not in out
        assert "\x1b[31m\u202e" not in out
    assert without.startswith("ws\n  memory/INDEX.md:1:17: error: ")


def test_text_from_standard_input(apm: Terminal, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("One fact\n")
    with text.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert apm("facts", "add", "a", "-", "--so", "y.").code == 0
    assert "· One fact. **So:** y." in (apm.made.root / INDEX).read_text(encoding="utf-8")


def test_the_day_is_that_of_the_workspace(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_780_271_999.0)  # 2026-05-31 23:59:59 UTC
    apm.made.write(INDEX, "- **`a`** · One; review: 2026-05-31. **So:** x.\n")
    for zone, rules in (("UTC", []), ("Asia/Shanghai", ["review-due"])):
        monkeypatch.setenv("APM_TIMEZONE", zone)
        told = json.loads(apm("facts", "lint", "--json").out)
        assert [found["rule"] for found in told["sections"][0]["findings"]] == rules


def test_what_the_index_held_can_be_put_back(apm: Terminal) -> None:
    apm("facts", "add", "quay", "The quay is long.", "--so", "ships fit")
    assert apm("facts", "cut", "quay", "--why", "it moved").code == 0
    assert "The quay is long." not in (apm.made.root / INDEX).read_text("utf-8")
    assert apm("restore", INDEX).code == 0
    assert "The quay is long." in (apm.made.root / INDEX).read_text("utf-8")
    assert apm("restore", "memory/notes/other.md").code != 0


def test_a_first_index_brings_its_rules_into_the_agents_block(apm: Terminal) -> None:
    (apm.made.root / INDEX).unlink()
    apm("init")
    agents = apm.made.root / "AGENTS.md"
    assert "memory/INDEX.md" not in agents.read_text("utf-8")
    apm("facts", "init")
    assert "memory/INDEX.md" in agents.read_text("utf-8")
