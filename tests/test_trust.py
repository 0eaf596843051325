from __future__ import annotations

import json
from pathlib import Path

import pytest

from apm_hooks import trust
from apm_hooks.errors import ApmError, NotTrustedError, SettingsError
from apm_hooks.places import places
from apm_hooks.records import DM
from tests.workspaces import GROUP_KEY, Bench, bench, event

OWNER_PEER = "agent:main:telegram:direct:77"


def test_a_workspace_that_nobody_accepted_is_not_even_read(tmp_path: Path) -> None:
    made = bench(tmp_path, trusted=False)
    made.settings("this is no TOML at all")
    with pytest.raises(NotTrustedError, match="apm-hooks trust --workspace"):
        made.runtime()


def test_a_copy_of_an_accepted_workspace_is_not_accepted(made: Bench, tmp_path: Path) -> None:
    copy = tmp_path / "clone"
    made.root.rename(copy)
    made.root = copy
    with pytest.raises(NotTrustedError):
        made.runtime()


def test_the_environment_can_accept_for_containers(tmp_path: Path) -> None:
    made = bench(tmp_path, trusted=False)
    made.env["APM_TRUSTED_WORKSPACES"] = f"/nowhere:{made.root}"
    assert made.runtime().decide(event()).scope == DM


@pytest.mark.parametrize("value", ["", ":", "relative", "/", ".."])
def test_only_the_workspace_itself_is_accepted_by_the_environment(tmp_path: Path, value: str) -> None:
    made = bench(tmp_path, trusted=False)
    made.env["APM_TRUSTED_WORKSPACES"] = value
    with pytest.raises(NotTrustedError):
        made.runtime()


def test_pins_hold_also_where_the_environment_accepts(made: Bench) -> None:
    made.env["APM_TRUSTED_WORKSPACES"] = str(made.root)
    made.settings('owner_peers = ["*"]\n')
    assert made.runtime().decide(event(OWNER_PEER)).scope is None


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ('owner_peers = ["77"]\n', OWNER_PEER),
        ('owner_peers = ["*"]\n', OWNER_PEER),
        ('[scopes]\n"agent:main:cron:*" = "DM"\n', "agent:main:cron:x"),
    ],
)
def test_a_pulled_setting_counts_only_after_trust_again(made: Bench, settings: str, key: str) -> None:
    made.settings(settings)
    decision = made.runtime().decide(event(key))
    assert decision.scope is None
    assert decision.remedy.endswith("apm-hooks trust")
    made.trust()
    assert made.runtime().decide(event(key)).scope == DM


def test_a_pulled_group_map_counts_only_after_trust_again(made: Bench) -> None:
    made.groups({"-100777": "alpha"})
    assert made.runtime().decide(event(GROUP_KEY)).scope is None
    made.trust()
    assert str(made.runtime().decide(event(GROUP_KEY)).scope) == "Group(alpha)"
    made.groups({"-100777": "beta"})
    assert made.runtime().decide(event(GROUP_KEY)).scope is None


def test_a_pull_cannot_switch_the_session_requirement_off(tmp_path: Path) -> None:
    made = bench(tmp_path, settings="require_session = true\n")
    made.settings("require_session = false\n")
    assert made.runtime().decide(event(None)).scope is None


def test_a_pull_cannot_switch_the_strict_gate_off(tmp_path: Path) -> None:
    made = bench(tmp_path, settings="gate_strict = true\n")
    assert made.runtime().workspace.strict
    made.settings("gate_strict = false\n")
    assert made.runtime().workspace.strict
    made.env["APM_GATE_STRICT"] = "off"
    assert not made.runtime().workspace.strict, "what the environment sets needs no pin"
    del made.env["APM_GATE_STRICT"]
    made.trust()
    assert not made.runtime().workspace.strict


def test_a_setting_that_is_newer_than_the_acceptance_is_no_change(tmp_path: Path) -> None:
    made = bench(tmp_path)
    path = made.home / ".config/apm-hooks/trust.json"
    kept = json.loads(path.read_text())
    for pins in kept["workspaces"].values():
        del pins["pins"]["gate_strict"]
    path.write_text(json.dumps(kept))
    assert made.runtime().workspace.changed == ()
    made.settings("gate_strict = true\n")
    assert made.runtime().workspace.changed == ("gate_strict",)


def test_a_pull_that_only_tightens_is_followed(made: Bench) -> None:
    made.settings("require_session = true\n")
    assert made.runtime().decide(event(None)).scope is None


def test_a_pull_cannot_loosen_how_rooms_match(tmp_path: Path) -> None:
    made = bench(tmp_path)
    made.groups({"!room:example.org": "alpha"})
    made.trust()
    made.settings("matrix_match_without_server = true\n")
    key = "agent:main:matrix:channel:!room:evil.example"
    assert made.runtime().decide(event(key)).scope is None
    made.trust()
    assert str(made.runtime().decide(event(key)).scope) == "Group(alpha)"


def test_what_did_not_change_goes_on_counting(tmp_path: Path) -> None:
    made = bench(tmp_path, settings='owner_peers = ["77"]\n')
    made.groups({"-100777": "alpha"})
    assert made.runtime().decide(event(OWNER_PEER)).scope == DM
    assert made.runtime().workspace.changed == ("groups",)


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
def test_a_trust_list_that_others_can_write_is_not_believed(made: Bench, mode: int) -> None:
    file = Path(places(made.env).config) / trust.TRUST_FILE
    file.chmod(mode)
    with pytest.raises(SettingsError, match="written by others"):
        made.runtime()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 2, "workspaces": {}}', '{"format": 1, "workspaces": []}'])
def test_a_damaged_trust_list_trusts_nothing_and_says_so(made: Bench, text: str) -> None:
    (Path(places(made.env).config) / trust.TRUST_FILE).write_text(text)
    with pytest.raises(SettingsError, match=r"trust\.json"):
        made.runtime()


def test_trust_lies_outside_the_workspace(made: Bench) -> None:
    document = json.loads((Path(places(made.env).config) / trust.TRUST_FILE).read_text())
    assert list(document["workspaces"]) == [str(made.root)]
    assert not places(made.env).config.startswith(str(made.root))


def test_taking_out_a_refused_entry_is_a_change(tmp_path: Path) -> None:
    made = bench(tmp_path)
    made.groups({"-100777": "alpha", GROUP_KEY: ".."})
    made.trust()
    assert made.runtime().decide(event(GROUP_KEY)).scope is None
    made.groups({"-100777": "alpha"})
    assert made.runtime().decide(event(GROUP_KEY)).scope is None
    assert made.runtime().workspace.changed == ("groups",)


def test_what_the_environment_sets_needs_no_pin(made: Bench) -> None:
    made.env["APM_OWNER_PEERS"] = "77"
    assert made.runtime().decide(event(OWNER_PEER)).scope == DM
    assert made.runtime().workspace.changed == ()


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1, "a": 2}'])
def test_a_map_that_cannot_be_read_is_not_accepted(made: Bench, text: str) -> None:
    made.write("memory/groups/group_names.json", text)
    with pytest.raises(SettingsError, match=r"group_names\.json"):
        made.trust()


def test_a_map_behind_a_link_is_not_accepted(made: Bench, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.json").write_text("{}")
    (made.root / "memory/groups").mkdir(parents=True, exist_ok=True)
    (made.root / "memory/groups/group_names.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(ApmError, match="symbolic link"):
        made.trust()


def test_one_bad_entry_does_not_keep_a_map_from_being_accepted(made: Bench) -> None:
    made.groups({"-100777": 5})
    made.trust()
    assert made.runtime().decide(event()).scope == DM


def test_a_pull_that_drops_a_closing_rule_opens_nothing(tmp_path: Path) -> None:
    made = bench(tmp_path, settings='[scopes]\n"*:group:-100777" = "none"\n', trusted=False)
    made.groups({"-100777": "alpha"})
    made.trust()
    assert made.runtime().decide(event(GROUP_KEY)).scope is None
    made.settings("")
    assert made.runtime().decide(event(GROUP_KEY)).scope is None
    made.trust()
    assert str(made.runtime().decide(event(GROUP_KEY)).scope) == "Group(alpha)"
