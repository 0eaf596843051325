"""Members and budgets: `org.yaml`, `staff.yaml`, `[facts]` of `apm.toml`; key by key, and errors that name the key."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from apm_hooks.errors import SettingsError, UsageError
from apm_hooks.facts.config import BUDGET_KEYS
from apm_hooks.facts.members import chosen, directory_of, find_root, read_members
from apm_hooks.facts.model import BUDGETS, PROVENANCES
from apm_hooks.facts.yamlfile import read_yaml
from tests.facts.memories import lay_out

ORG = """\
staff:
  - {handle: cto, dir: staff/cto, name: 研发, repo: acme/cto}
  - handle: ops
memory:
  max_fact_chars: 300
  max_index_kb: 12
human: [boss, Ann]
issue_url: "https://example.org/{repo}/issues/new?title={title}&body={body}"
others: {are: theirs}
"""


def test_members_are_those_of_the_file_in_its_order(tmp_path: Path) -> None:
    found = read_members(str(lay_out(tmp_path, {"org.yaml": ORG})))
    assert [(each.handle, each.dir, each.name, each.repo, each.prefix) for each in found.members] == [
        ("cto", "staff/cto", "研发", "acme/cto", "staff/cto/"),
        ("ops", "ops", "", "", "ops/"),
    ]
    assert found.issue_url.startswith("https://example.org/{repo}")
    assert found.members[0].words == (*PROVENANCES, "boss", "Ann")


def test_without_an_organisation_the_workspace_is_its_only_member(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "bot", {"apm.toml": 'timezone = "UTC"\n[facts]\nmax_index_kb = 8\nhuman = "Ann"\n'})
    (member,) = read_members(str(root)).members
    assert (member.handle, member.dir, member.prefix) == ("bot", "", "")
    assert asdict(member.budgets) == {**asdict(BUDGETS), "max_index_kb": 8}
    assert member.words == (*PROVENANCES, "Ann")
    assert member.origins == (("max_index_kb", "apm.toml"),)


@pytest.mark.parametrize("key", BUDGET_KEYS)
@pytest.mark.parametrize("sources", [(), ("org.yaml",), ("ops/staff.yaml",), ("org.yaml", "ops/staff.yaml")])
def test_a_member_s_own_file_overrides_key_by_key(tmp_path: Path, key: str, sources: tuple[str, ...]) -> None:
    values = {"org.yaml": 7, "ops/staff.yaml": 5}
    files = {"org.yaml": "staff: [{handle: cto}, {handle: ops}]\n"}
    for source in sources:
        files[source] = files.get(source, "") + f"memory: {{{key}: {values[source]}}}\n"
    cto, ops = read_members(str(lay_out(tmp_path, files))).members
    default = getattr(BUDGETS, key)
    from_org = 7 if "org.yaml" in sources else default
    assert getattr(cto.budgets, key) == from_org
    assert getattr(ops.budgets, key) == (5 if "ops/staff.yaml" in sources else from_org)
    assert dict(ops.origins).get(key, "") == (sources[-1] if sources else "")
    others = set(BUDGET_KEYS) - {key}
    assert all(getattr(ops.budgets, other) == getattr(BUDGETS, other) for other in others)


def test_keys_of_two_files_are_merged(tmp_path: Path) -> None:
    files = {"org.yaml": ORG, "ops/staff.yaml": "memory: {max_fact_chars: 200, max_decisions_kb: 3}\nhuman: eve\n"}
    ops = read_members(str(lay_out(tmp_path, files))).members[1]
    assert (ops.budgets.max_fact_chars, ops.budgets.max_index_kb, ops.budgets.max_decisions_kb) == (200, 12, 3)
    assert ops.words == (*PROVENANCES, "eve")
    assert ops.origins == (
        ("max_fact_chars", "ops/staff.yaml"), ("max_index_kb", "org.yaml"), ("max_decisions_kb", "ops/staff.yaml"),
    )  # fmt: skip


def test_a_workspace_of_one_has_its_own_file_too(tmp_path: Path) -> None:
    files = {
        "apm.toml": "[facts]\nmax_index_kb = 8\nmax_fact_chars = 80\n",
        "staff.yaml": "memory: {max_index_kb: 4}\n",
    }
    (member,) = read_members(str(lay_out(tmp_path, files))).members
    assert (member.budgets.max_index_kb, member.budgets.max_fact_chars) == (4, 80)


@pytest.mark.parametrize("value", ["0", "-1", "true", "'24'", "null", "[1]", ".inf", ".nan", "-0.5"])
@pytest.mark.parametrize("file", ["org.yaml", "ops/staff.yaml"])
def test_a_budget_that_is_no_positive_number_names_file_line_and_key(tmp_path: Path, file: str, value: str) -> None:
    files = {"org.yaml": "staff: [{handle: ops}]\n"}
    files[file] = files.get(file, "\n") + f"memory:\n  max_index_kb: {value}\n"
    with pytest.raises(SettingsError) as error:
        read_members(str(lay_out(tmp_path, files)))
    assert (error.value.file, error.value.line, error.value.key) == (file, 3, "memory.max_index_kb")
    assert "is no positive number" in error.value.cause


@pytest.mark.parametrize("value", ["0", "-1", "true", '"24"', "[1]", "inf", "nan"])
def test_so_does_one_in_apm_toml(tmp_path: Path, value: str) -> None:
    lay_out(tmp_path, {"apm.toml": f'max_index_kb = 1\n[facts]\nhuman = "x"\nmax_index_kb = {value}\n'})
    with pytest.raises(SettingsError) as error:
        read_members(str(tmp_path))
    assert (error.value.file, error.value.line, error.value.key) == ("apm.toml", 4, "facts.max_index_kb")


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ("memory: {max_index_kb: 3}", "staff", "names no members"),
        ("staff: []", "staff", "names no members"),
        ("staff: ops", "staff", "names no members"),
        ("staff: [ops]", "staff.0", "is no member"),
        ("staff: [{dir: x}]", "staff.0.handle", "is missing"),
        ("staff: [{handle: [x]}]", "staff.0.handle", "is no text"),
        ("staff: [{handle: a}, {handle: A, dir: b}]", "staff.1.handle", "stands twice"),
        ("staff: [{handle: a}, {handle: b, dir: ./a}]", "staff.1.dir", "is that of a"),
        ("staff: [{handle: a, dir: ../x}]", "staff.0.dir", "no directory inside"),
        ("staff: [{handle: a, dir: /x}]", "staff.0.dir", "no directory inside"),
        ("staff: [{handle: a, dir: ''}]", "staff.0.dir", "no directory inside"),
        ("staff: [{handle: a}]\nmemory: 3", "memory", "holds no keys"),
        ("staff: [{handle: a}]\nmemory: {max_index_kib: 3}", "memory.max_index_kib", "is no budget"),
        ("staff: [{handle: a}]\nhuman: 3", "human", "is no name"),
        ("staff: [{handle: a}]\nhuman: [a, '']", "human", "is no name"),
        ("staff: [{handle: a}]\nmemory: {max_index_kb: 3, max_index_kb: 4}", "memory.max_index_kb", "stands twice"),
        ("- a", "", "holds no keys"),
        ("staff: [", "", "is no YAML"),
        ("a: &x [*x]\nb: !!python/object:os.system {}", "", "is no YAML"),
    ],
)
def test_what_an_organisation_s_file_may_not_say(tmp_path: Path, text: str, key: str, words: str) -> None:
    with pytest.raises(SettingsError) as error:
        read_members(str(lay_out(tmp_path, {"org.yaml": text})))
    assert (error.value.file, error.value.key) == ("org.yaml", key)
    assert words in error.value.cause


def test_a_budget_that_is_misspelt_is_put_right(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"Did you mean max_index_kb\?"):
        read_members(str(lay_out(tmp_path, {"apm.toml": "[facts]\nmax_index_kib = 3\n"})))


@pytest.mark.parametrize("text", ["facts = 3\n", "[facts]\nhuman = 3\n", "[facts]\nissue_url = 3.5\n", "[facts\n"])
def test_what_apm_toml_may_not_say(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError) as error:
        read_members(str(lay_out(tmp_path, {"apm.toml": text})))
    assert error.value.file == "apm.toml"


def test_without_pyyaml_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay_out(tmp_path, {"org.yaml": ORG})
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(SettingsError) as error:
        read_members(str(tmp_path))
    assert error.value.file == "org.yaml"
    assert "pip install 'apm-hooks[facts]'" in error.value.remedy


def test_without_yaml_files_nothing_needs_pyyaml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert len(read_members(str(tmp_path)).members) == 1


def test_the_line_of_a_key() -> None:
    data, line_of = read_yaml("a: 1\nb:\n  - c: 2\n    d: &x {e: 3}\nf: *x\n", "x.yaml")
    assert data == {"a": 1, "b": [{"c": 2, "d": {"e": 3}}], "f": {"e": 3}}
    assert [line_of(keys) for keys in (("a",), ("b",), ("b", 0, "d"), ("b", 0, "d", "e"), ("f",), ("no",))] == [
        1, 2, 4, 4, 5, 0,
    ]  # fmt: skip
    assert read_yaml("", "x.yaml")[0] == {}


def test_the_root_is_the_nearest_and_an_organisation_above_takes_its_members(tmp_path: Path) -> None:
    files = {
        "org.yaml": "staff: [{handle: cto, dir: staff/cto}]\n", "staff/cto/memory/INDEX.md": "", "staff/cto/src/x": "",
        "other/memory/INDEX.md": "", "plain/x": "",
    }  # fmt: skip
    root = str(lay_out(tmp_path, files))
    assert find_root(root) == (root, "")
    assert find_root(f"{root}/staff/cto") == (root, "staff/cto")
    assert find_root(f"{root}/staff/cto/src") == (root, "staff/cto")
    assert find_root(f"{root}/plain") == (root, "")
    assert find_root(f"{root}/other") == (f"{root}/other", "")
    assert find_root(f"{root}/plain", named=True) == (f"{root}/plain", "")
    assert find_root(f"{root}/staff/cto", named=True) == (root, "staff/cto")


def test_a_damaged_file_further_above_is_no_business_of_a_workspace(tmp_path: Path) -> None:
    lay_out(tmp_path, {"org.yaml": "[", "bot/apm.toml": ""})
    assert find_root(str(tmp_path / "bot")) == (str(tmp_path / "bot"), "")
    with pytest.raises(SettingsError):
        find_root(str(tmp_path))


def test_members_are_chosen_by_handle(tmp_path: Path) -> None:
    members = read_members(str(lay_out(tmp_path, {"org.yaml": ORG}))).members
    assert [each.handle for each in chosen(members, [])] == ["cto", "ops"]
    assert [each.handle for each in chosen(members, [], "ops")] == ["ops"]
    assert [each.handle for each in chosen(members, ["ops", "cto", "ops"])] == ["ops", "cto"]
    with pytest.raises(UsageError, match=r"Did you mean ops\?"):
        chosen(members, ["opps"])
    with pytest.raises(UsageError, match="Members: cto, ops"):
        chosen(members, ["nobody"])


def test_a_link_does_not_lead_out_of_the_organisation(tmp_path: Path) -> None:
    files = {"org/org.yaml": "staff: [{handle: a}, {handle: b}]\n", "outside/x": "", "org/real/x": ""}
    lay_out(tmp_path, files, {"org/a": "../outside", "org/b": "real"})
    root = str(tmp_path / "org")
    with pytest.raises(SettingsError, match="lies outside"):
        read_members(root)
    out, inside = read_members(root, own=False).members
    with pytest.raises(SettingsError, match="lies outside"):
        directory_of(root, out)
    assert directory_of(root, inside) == f"{root}/real"
