"""`pending`: leads that wait to be settled, in the state of their own scope."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Callable
from typing import Any

import pytest

from apm_hooks.cli import parser
from apm_hooks.flushstate import read_state
from apm_hooks.records import DM, Scope, ScopeKind
from tests.workspaces import GROUP_KEY, Bench

ALPHA = Scope(ScopeKind.GROUP, "alpha")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def apm(made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `pending` in the owner's terminal in `made`'s workspace; returns exit code, output and errors."""
    for name in ("APM_SESSION", "APM_WORKSPACE", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.chdir(made.root)
    made.groups({"-100777": "alpha"})
    made.write("memory/groups/alpha.md", "# Alpha\n")
    made.trust()

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = parser.run(("pending", *arguments))
        return (code, *capsys.readouterr())

    return run


def items(out: str) -> list[dict[str, Any]]:
    found = json.loads(out)["items"]
    assert isinstance(found, list)
    return found


def texts(made: Bench, scope: Scope = DM) -> list[str]:
    return [item.text for item in read_state(str(made.root), scope).book.pending]


def test_a_lead_is_noted_listed_and_settled(made: Bench, apm: Run) -> None:
    assert apm("list") == (0, "nothing is pending\n", "")
    code, out, err = apm("add", "Bob may move to design")
    id_ = out.split()[1]
    assert (code, out, err) == (0, f"pending  {id_}  Bob may move to design\n", "")
    assert texts(made) == ["Bob may move to design"]
    row = apm("list")[1].splitlines()[2]
    assert row.startswith(f"{id_}  lead  20")
    assert row.endswith("  Bob may move to design")
    assert apm("done", id_)[:2] == (0, f"done     {id_}  Bob may move to design\n")
    assert texts(made) == []


def test_the_same_lead_twice_is_one(apm: Run) -> None:
    assert apm("add", "ask Eve")[1] == apm("add", "ask  Eve")[1]


def test_all_are_settled_at_once(made: Bench, apm: Run) -> None:
    for lead in ("a", "b"):
        apm("add", lead)
    assert [item["text"] for item in items(apm("done", "--all", "--json")[1])] == ["a", "b"]
    assert texts(made) == []
    assert apm("done", "--all") == (0, "nothing is pending\n", "")


def test_json_names_what_is_needed_to_settle_an_item(apm: Run) -> None:
    added = items(apm("add", "a", "--json")[1])
    assert [sorted(item) for item in added] == [["at", "id", "kind", "text"]]
    assert items(apm("list", "--json")[1]) == added


def test_a_lead_comes_from_standard_input_as_one_line(made: Bench, apm: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"two\r\nlines\n")))
    assert apm("add", "-")[0] == 0
    assert texts(made) == ["two lines"]


def test_a_groups_session_has_its_own_leads(made: Bench, apm: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    owners = apm("add", "the owner's")[1].split()[1]
    monkeypatch.setenv("APM_SESSION", GROUP_KEY)
    assert apm("list")[1] == "nothing is pending\n"
    apm("add", "the group's")
    assert apm("done", owners)[0] == 2
    assert apm("done", "--all")[0] == 0
    assert (texts(made), texts(made, ALPHA)) == (["the owner's"], [])


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [
        (("add", ""), "no text"),
        (("add", "x" * 401), "at most 400"),
        (("add", "password is hunter2-XyZ"), "holds a password"),
        (("done",), "one of ID and --all"),
        (("done", "abc", "--all"), "one of ID and --all"),
        (("done", "abc"), "no pending item abc"),
        ((), "add|done|list"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(made: Bench, apm: Run, arguments: tuple[str, ...], cause: str) -> None:
    code, out, err = apm(*arguments)
    assert (code, out, cause in err, "hunter2" in err) == (2, "", True, False)
    assert texts(made) == []


def test_an_item_that_is_not_there_takes_no_other_along(made: Bench, apm: Run) -> None:
    id_ = apm("add", "a")[1].split()[1]
    assert apm("done", id_, "abc")[0] == 2
    assert texts(made) == ["a"]


def test_every_example_of_the_help_is_understood(apm: Run) -> None:
    examples = [line.strip() for line in apm("--help")[1].splitlines() if line.startswith("  apm-hooks ")]
    assert examples
    for example in examples:
        assert parser.build().parse_args(shlex.split(example)[1:]).command == "pending", example
