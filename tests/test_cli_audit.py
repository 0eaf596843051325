"""`apm-hooks audit` as a person, a bot or a program calls it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import ModuleType

import pytest

from apm_hooks import audit_secrets
from apm_hooks.audit import Auditor
from apm_hooks.audit_secrets import Sighting
from apm_hooks.cli import parser
from apm_hooks.cli.auditing import _bounded, _plugin_rules, _Progress
from apm_hooks.errors import ApmError
from apm_hooks.events import AuditRule
from apm_hooks.guarded import lock_path
from apm_hooks.hookspecs import hookimpl
from apm_hooks.images import all_images
from apm_hooks.locking import locked_at
from apm_hooks.records import DM, LIMITS, Scope, ScopeKind
from apm_hooks.runtime import Runtime
from tests.test_audit import GITHUB
from tests.test_cli import Said, Terminal
from tests.workspaces import GROUP_KEY, Bench

TABLE = "\n## Hard Rules\n\n- brief\n\n| scenario | file | priority |\n|---|---|---|\n"
ALPHA = f"# alpha\n{TABLE}| any work conversation | ./attention.md | p0 |\n"
CLEAN = f"# beta\n{TABLE}| any work conversation | attention.md | P0 |\n"

DEFAULTS = Runtime.__init__.__kwdefaults__ or {}


@pytest.fixture
def apm(made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    """A terminal in an accepted workspace with two groups; what is wrong in each is told from the other."""
    for name in list(os.environ):
        if name.startswith(("APM_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(made.root)
    monkeypatch.setattr(parser, "_COMMANDS", (("audit", "apm_hooks.cli.audit", "check memory files"),))
    made.groups({"-100777": "alpha", "-100888": "beta"})
    made.write("MEMORY.md", "# MEMORY\n")
    made.write("memory/main/longterm.md", "# Long term\n")
    for name, index in (("alpha", ALPHA), ("beta", CLEAN)):
        made.write(f"memory/groups/{name}.md", index)
        made.write(f"memory/groups/{name}/attention.md", "# Attention\n")
    made.trust()
    return Terminal(made, monkeypatch, capsys)


def test_a_clean_workspace_says_nothing(apm: Terminal) -> None:
    assert apm("audit") == Said(0, "", "")
    assert apm("audit", "--format", "github") == Said(0, "", "")


def test_a_person_is_told_that_nothing_was_found(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    said = apm("audit")
    assert (said.code, said.out) == (0, "")
    assert said.err == "apm-hooks: no findings in 8 files\n"


def test_findings_are_grouped_by_scope_and_set_the_exit_code(apm: Terminal) -> None:
    apm.made.write("MEMORY.md", "# MEMORY\n\n- [ ] ship it\n")
    apm.made.write("memory/groups/beta/attention.md", f"token: {GITHUB}\n")
    said = apm("audit")
    assert said.code == 1
    heads = [line for line in said.out.split("\n") if line and not line.startswith(" ")]
    assert heads == ["DM", "Group(beta)", "1 error, 1 warning"]
    assert "  MEMORY.md:3:" in said.out
    assert GITHUB[8:20] not in said.out


@pytest.mark.parametrize(("level", "code", "told"), [("error", 0, 0), ("warning", 1, 1), ("note", 1, 3)])
def test_the_level_decides_what_is_shown_and_counts(apm: Terminal, level: str, code: int, told: int) -> None:
    apm.made.write("MEMORY.md", "# MEMORY\n\n- [ ] ship it\n")
    said = apm("audit", "--level", level, "--json")
    assert said.code == code
    assert sum(said.json["counts"].values()) == told


def test_json_has_every_scope_with_its_size(apm: Terminal) -> None:
    told = apm("audit", "--format", "json").json
    assert [section["name"] for section in told["sections"]] == ["DM", "Group(alpha)", "Group(beta)", "workspace"]
    assert told["sections"][1]["budget"] == LIMITS.group_budget_tokens
    assert told["sections"][1]["files"] == 2
    assert told["fixed"] == []
    assert apm("audit", "--json").json == told


def test_sarif_is_one_document(apm: Terminal) -> None:
    said = apm("audit", "--format", "sarif", "--level", "note")
    assert said.code == 1
    (run,) = said.json["runs"]
    assert {result["ruleId"] for result in run["results"]} == {"odd-path", "odd-priority"}
    assert str(apm.made.root) not in said.out


def test_annotations_name_files_from_where_the_check_runs(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(apm.made.root.parent)
    said = apm("audit", "--workspace", str(apm.made.root), "--format", "github", "--level", "note")
    assert said.out.startswith("::notice file=ws/memory/groups/alpha.md,line=9,")
    monkeypatch.chdir(apm.made.root / "memory")
    assert "file=memory/groups/alpha.md" in apm("audit", "--format", "github", "--level", "note").out


@pytest.mark.parametrize("wanted", [("--json", "--format", "human"), ("--dry-run",), ("--level", "fatal"), ("../x",)])
def test_words_that_make_no_sense(apm: Terminal, wanted: tuple[str, ...]) -> None:
    assert apm("audit", *wanted).code == 2


def test_only_findings_on_what_is_named(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    apm.made.write("MEMORY.md", "# MEMORY\n\n- [ ] ship it\n")
    apm.made.write("memory/groups/beta/attention.md", f"token: {GITHUB}\n")
    assert "MEMORY.md" not in apm("audit", "memory/groups").out
    assert "beta" not in apm("audit", str(apm.made.root / "MEMORY.md")).out
    assert apm("audit", ".").out == apm("audit").out
    monkeypatch.chdir(apm.made.root / "memory" / "groups")
    assert "beta/attention.md" in apm("audit", "beta").out
    assert apm("audit", "alpha.md", "alpha").code == 0
    for path in ("../../apm.toml", "nothing.md", str(apm.made.home)):
        assert apm("audit", path).code == 2


def test_a_groups_session_sees_that_group_alone(apm: Terminal) -> None:
    apm.made.write("MEMORY.md", "# MEMORY\n\n- [ ] ship it\n")
    apm.made.write("memory/groups/beta/attention.md", f"token: {GITHUB}\n")
    apm.made.write("memory/groups/gamma.md", "x")
    apm.session(GROUP_KEY)
    said = apm("audit", "--level", "note")
    assert said.code == 1
    assert said.out.startswith("Group(alpha)\n")
    for word in ("DM", "MEMORY", "beta", "gamma", "workspace"):
        assert word not in said.out + said.err
    groups = "memory/groups"
    for path in ("MEMORY.md", f"{groups}/beta.md", f"{groups}/nowhere.md", "memory", ".", f"{groups}/alpha/../beta.md"):
        refused = apm("audit", path)
        assert (refused.code, refused.out) == (4, "")
        assert refused.err == apm("audit", "MEMORY.md").err
    assert apm("audit", "memory/groups/alpha.md", "memory/groups/alpha").code == 0
    assert apm("audit", "--session", "agent:main:telegram:group:-100888").code == 4


def test_a_session_without_memory_is_refused(apm: Terminal) -> None:
    apm.session("agent:main:telegram:group:-5")
    assert apm("audit").code == 4
    apm.session("agent:main:subagent:7")
    assert apm("audit").code == 4


def test_the_owners_session_sees_all(apm: Terminal) -> None:
    apm.session("agent:main:main")
    names = [section["name"] for section in apm("audit", "--json").json["sections"]]
    assert names == ["DM", "Group(alpha)", "Group(beta)", "workspace"]


def test_a_workspace_that_nobody_accepted_is_refused(apm: Terminal) -> None:
    (apm.made.home / ".config/apm-hooks/trust.json").unlink()
    assert apm("audit").code == 4


def test_a_dry_run_shows_the_changes_and_writes_nothing(apm: Terminal) -> None:
    before = apm.tree()
    said = apm("audit", "--fix", "--dry-run")
    assert said.code == 0
    assert said.out.split("\n")[:6] == [
        "--- memory/groups/alpha.md", "+++ memory/groups/alpha.md", "@@ -9 +9 @@",
        "-| any work conversation | ./attention.md | p0 |", "+| any work conversation | attention.md | P0 |", "",
    ]  # fmt: skip
    assert apm.tree() == before


def test_a_fix_is_made_and_needs_no_second_one(apm: Terminal) -> None:
    data = "\ufeff".encode() + ALPHA.replace("\n", "\r\n").encode().rstrip()
    apm.made.write("memory/groups/alpha.md", data)
    said = apm("audit", "--fix", "--level", "note", "--json")
    assert said.code == 0
    (fix,) = said.json["fixed"]
    assert fix["path"] == "memory/groups/alpha.md"
    assert [line["rule"] for line in fix["lines"]] == ["odd-priority", "odd-path"]
    after = (apm.made.root / "memory/groups/alpha.md").read_bytes()
    assert after == data.replace(b"./attention.md | p0", b"attention.md | P0")
    assert apm("audit", "--fix", "--level", "note") == Said(0, "", "")


def test_a_fix_in_other_formats_is_told_beside_the_document(apm: Terminal) -> None:
    said = apm("audit", "--fix", "--format", "sarif", "--level", "note")
    assert said.json["runs"][0]["results"] == []
    assert said.err == "apm-hooks: mended memory/groups/alpha.md: line 9, line 9\n"


def test_a_fix_keeps_to_what_is_named(apm: Terminal) -> None:
    assert apm("audit", "--fix", "MEMORY.md") == Said(0, "", "")
    assert b"p0" in (apm.made.root / "memory/groups/alpha.md").read_bytes()


def test_an_agent_in_a_group_may_see_a_fix_and_not_make_it(apm: Terminal) -> None:
    apm.session(GROUP_KEY)
    assert apm("audit", "--fix", "--dry-run").out.startswith("--- memory/groups/alpha.md")
    assert apm("audit", "--fix").code == 4
    assert b"p0" in (apm.made.root / "memory/groups/alpha.md").read_bytes()


def test_a_change_never_shows_a_secret(apm: Terminal) -> None:
    apm.made.write("memory/groups/alpha.md", f"{ALPHA}| token: {GITHUB} | x.md | p1 |\n| {GITHUB} | y.md | P1 |\n")
    said = apm("audit", "--fix", "--dry-run", "--level", "note")
    assert "+| any work conversation" in said.out
    assert GITHUB[8:20] not in said.out


def test_an_index_that_is_no_text_is_left_alone(apm: Terminal) -> None:
    data = b"\x00\x81\x9d\xff" * 50
    apm.made.write("memory/groups/alpha.md", data)
    said = apm("audit", "--fix")
    assert said.code == 1
    assert "[unreadable-file]" in said.out
    assert (apm.made.root / "memory/groups/alpha.md").read_bytes() == data


def test_a_fix_waits_for_whoever_writes_the_file(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    root, index = str(apm.made.root), "memory/groups/alpha.md"
    monkeypatch.setattr(Runtime.__init__, "__kwdefaults__", {**DEFAULTS, "limits": replace(LIMITS, lock_seconds=0.01)})
    with locked_at(root, lock_path(root, index)):
        assert apm("audit", "--fix", index).code == 6
    assert b"p0" in (apm.made.root / index).read_bytes()
    assert apm("audit", "--fix", index).code == 0
    assert b"p0" not in (apm.made.root / index).read_bytes()


def test_what_was_mended_can_be_put_back(apm: Terminal) -> None:
    assert apm("audit", "--fix").code == 0
    scope = Scope(ScopeKind.GROUP, "alpha")
    (image,) = all_images(str(apm.made.root), scope)
    assert image.path == "memory/groups/alpha.md"
    assert (apm.made.root / image.file).read_bytes() == ALPHA.encode()


def test_the_group_map_of_another_hand_is_judged_too(apm: Terminal) -> None:
    apm.made.write("memory/groups/group_names.json", "{ no json")
    said = apm("audit")
    assert said.code == 1
    assert "memory/groups/group_names.json:1: error:" in said.out
    assert "[unmapped-group]" in said.out


def test_progress_is_shown_for_many_files_and_wiped(capsys: pytest.CaptureFixture[str]) -> None:
    progress = _Progress()
    for done in range(1, 121):
        progress(done, 120)
    progress.clear()
    assert capsys.readouterr().err == ""
    for done in range(1, 231):
        progress(done, 230)
    progress.clear()
    shown = capsys.readouterr().err
    assert shown.startswith("\rapm-hooks: 50 of 230 files\r")
    assert shown.endswith("\rapm-hooks: 230 of 230 files\r\x1b[K")


WAIT = Event()


def shout(path: str, text: str) -> tuple[tuple[int, str], ...]:
    print("noise")
    return ((1, f"{len(text)} signs"),)


def hang(path: str, text: str) -> tuple[tuple[int, str], ...]:
    WAIT.wait(30)
    return ()


@hookimpl
def apm_audit_rules() -> tuple[object, ...]:
    return (AuditRule("shout", shout), AuditRule("hang", hang), "no rule")


def plugin() -> ModuleType:
    module = ModuleType("loud_rules")
    module.apm_audit_rules = apm_audit_rules  # type: ignore[attr-defined]
    return module


def test_rules_of_plugins_are_collected_and_bounded(
    made: Bench, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(WAIT.set)
    limits = type(LIMITS)(plugin_seconds=0.2)
    runtime = Runtime(str(made.root), made.env, limits=limits, plugins={"loud": plugin()})
    rules = _plugin_rules(runtime)
    assert [(name, rule.name) for name, rule in rules] == [
        ("loud", "shout"), ("loud", "hang"), ("loud", "apm_audit_rules"),
    ]  # fmt: skip
    found = Auditor(str(made.root), extra_rules=rules).scope(DM).findings
    assert [each.rule for each in found].count("plugin-failed") == 2
    capsys.readouterr()
    assert rules[0][1].check("x.md", "abc") == ((1, "3 signs"),)
    assert capsys.readouterr() == ("", "noise\n")
    with pytest.raises(ApmError, match="did not answer within"):
        rules[1][1].check("x.md", "abc")
    with pytest.raises(ApmError, match=r"it raised ZeroDivisionError\Z"):
        _bounded("p", AuditRule("r", lambda path, text: ((1 // 0, ""),)), 1.0).check("x.md", "abc")


def test_without_plugins_none_is_asked(made: Bench) -> None:
    assert _plugin_rules(made.runtime()) == []


def test_the_library_of_the_extra_is_used_where_it_is_installed(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_secrets, "_library", lambda: lambda text: [])
    asked: list[str] = []

    def sightings(scan: object, text: str) -> list[Sighting]:
        asked.append(text)
        return [Sighting("a made-up key", 1, 1, 7)] if text.startswith("# MEMORY") else []

    monkeypatch.setattr(audit_secrets, "_library_sightings", sightings)
    said = apm("audit")
    assert said.code == 1
    assert "MEMORY.md:1:1: error: This looks like a made-up key, 7 characters long. [secret]" in said.out
    assert len(asked) == 8


def test_a_report_can_be_read_by_a_program_in_a_pipe(apm: Terminal, tmp_path: Path) -> None:
    apm.made.write("MEMORY.md", "# MEMORY\n\n- [ ] ship \x1b[31m it\n")
    out = apm("audit", "--json").out
    assert json.loads(out)["sections"][0]["findings"][0]["line"] == 3
