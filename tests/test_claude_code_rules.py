"""The permission rules that the installer writes: which they are, that they come once, and that they go again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks.errors import SettingsError
from apm_hooks.hosts.claude_code_rules import SHUT, rules_for, with_rules, without_rules
from apm_hooks.ownership import classify, owner_reads, owner_writes
from apm_hooks.records import DM
from tests.test_jsonedit import spelled

RULES = st.sampled_from(["Read(./.env)", "Edit(//home/user/other/**)", "Bash(rm *)", "Read(.apm/**)", "WebFetch"])
SETTINGS = st.fixed_dictionaries(
    {}, optional={
        "model": st.text(max_size=4),
        "permissions": st.fixed_dictionaries(
            {"allow": st.lists(RULES, min_size=1, max_size=2)},
            optional={"deny": st.lists(RULES, min_size=1, max_size=3)},
        ),
    },
)  # fmt: skip


def denied(text: str) -> list[str]:
    found: list[str] = json.loads(text.removeprefix("\ufeff"))["permissions"]["deny"]
    return found


@given(spelled(SETTINGS), st.sampled_from(["", "/home/user/notes", "/srv/a b (c)/[d]/größe"]))
def test_what_is_put_in_comes_out_again_byte_for_byte(text: str, root: str) -> None:
    put = with_rules(text, rules_for(root))
    assert denied(put)[-len(SHUT) :] == list(rules_for(root))
    assert with_rules(put, rules_for(root)) == put
    assert without_rules(put) == text


def test_rules_of_every_workspace_go_and_others_stay() -> None:
    text = with_rules(with_rules("", rules_for("/home/user/one")), rules_for("/home/user/two"))
    assert len(denied(text)) == 2 * len(SHUT)
    mine = json.dumps({"permissions": {"deny": ["Read(//home/user/one/secret)", *rules_for("/x"), "Edit(/log/**)"]}})
    assert denied(without_rules(mine)) == ["Read(//home/user/one/secret)", "Edit(/log/**)"]


def test_a_sign_that_a_pattern_might_take_for_its_own_is_matched_by_any() -> None:
    assert rules_for("/home/user/a*(b)[c]\\d")[2] == "Read(//home/user/a??b??c??d/apm.toml)"
    assert rules_for()[2] == "Read(/apm.toml)"
    assert "größe" not in rules_for("/größe")[0]


@pytest.mark.parametrize(("kind", "path"), SHUT)
def test_only_what_no_session_may_touch_is_shut(kind: str, path: str) -> None:
    file = path.replace("**/", "alpha/").replace("**", "ledger/s")
    assert classify(file).row is not None
    assert not (owner_writes(DM, file) if kind == "Edit" else owner_reads(DM, file))


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('{"permissions": []}', "permissions must be an object"),
        ('{"permissions": {"deny": {}}}', "permissions.deny must be a list"),
        ('{"permissions": {"deny": [],\n"deny": []}}', "stands twice"),
    ],
)
def test_what_stands_in_the_lists_place_is_refused(text: str, cause: str) -> None:
    with pytest.raises(SettingsError, match=cause):
        with_rules(text, rules_for(), file="settings.json")
