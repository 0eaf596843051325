"""`write`, `route`, `archive` and `restore` as a person or an agent calls them."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from apm_hooks.cli import parser
from apm_hooks.writeback import initialise_group
from tests.workspaces import GROUP_KEY, Bench

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def apm(made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in the owner's terminal in `made`'s workspace; returns exit code, output and errors."""
    for name in ("APM_SESSION", "APM_WORKSPACE", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setenv("APM_TIMEZONE", "Asia/Shanghai")
    monkeypatch.chdir(made.root)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = parser.run(arguments)
        return (code, *capsys.readouterr())

    return run


@pytest.fixture
def grouped(made: Bench, apm: Run) -> Run:
    """The same with two groups, of which `alpha` is that of GROUP_KEY."""
    made.groups({"-100777": "alpha", "-100888": "beta"})
    for name in ("alpha", "beta"):
        initialise_group(str(made.root), name)
    made.trust()
    return apm


def text(made: Bench, path: str) -> str:
    return (made.root / path).read_text(encoding="utf-8")


def memory(made: Bench) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in (made.root / "memory").rglob("*.md")}


def answer(out: str) -> dict[str, Any]:
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


def test_a_decision_is_told_with_its_place(made: Bench, apm: Run) -> None:
    assert apm("write", "decision", "Use Postgres", "--source", "log/a.md") == (
        0, "written  memory/main/longterm.md:5\n", "")  # fmt: skip
    entry = text(made, "memory/main/longterm.md").split("\n")[4]
    assert re.fullmatch(r"- \d{4}-\d{2}-\d{2}: Use Postgres \(source: log/a\.md\)", entry)
    assert apm("write", "decision", "Use Postgres")[1] == "kept     memory/main/longterm.md: there already\n"


def test_the_day_is_that_of_the_workspaces_time_zone(made: Bench, apm: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case B13: evening in UTC is the next day in Shanghai."""
    monkeypatch.setattr("time.time", lambda: datetime(2026, 4, 11, 19, 53, tzinfo=UTC).timestamp())
    apm("write", "day", "x")
    assert "## 2026-04-12\n" in text(made, "memory/main/daily-synced.md")
    monkeypatch.setenv("APM_TIMEZONE", "UTC")
    apm("write", "day", "y")
    assert "## 2026-04-11\n" in text(made, "memory/main/daily-synced.md")


def test_json_says_all_that_became_of_it(apm: Run) -> None:
    code, out, err = apm("write", "note", "x", "--project", "web", "--json")
    assert (code, err) == (0, "")
    assert answer(out) == {
        "path": "memory/main/projects/web.md", "status": "written", "line": 3, "shrunk": False,
        "note": "no row of the index leads to it yet: apm-hooks route add SCENARIO projects/web.md",
    }  # fmt: skip
    assert answer(apm("write", "note", "x", "--project", "web", "--json")[1])["status"] == "there already"


@pytest.mark.parametrize(
    "data", [b"- one\n- two\n", "\ufeff- one\r\n- two\r\n".encode(), "- one\n- two".encode("utf-16")]
)
def test_a_text_comes_from_standard_input(made: Bench, apm: Run, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    code, out, _ = apm("write", "status", "-")
    assert (code, text(made, "memory/main/attention.md")) == (0, "# Attention\n\n- one\n- two\n")
    assert out.startswith("written  memory/main/attention.md:3\n")


def test_standard_input_is_bounded(apm: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x" * (4 * 1024 * 1024 + 1))))
    code, _, err = apm("write", "status", "-")
    assert (code, "standard input has more than" in err) == (2, True)


def test_a_status_that_shrinks_says_how_to_get_the_old_one_back(made: Bench, apm: Run) -> None:
    made.write("memory/main/attention.md", "# Attention\n\n" + "- a task\n" * 40)
    before = text(made, "memory/main/attention.md")
    _, out, _ = apm("write", "status", "- done")
    assert out.splitlines()[1] == (
        "memory/main/attention.md lost more than half of its text; the earlier one comes back with: "
        "apm-hooks restore memory/main/attention.md"
    )
    assert apm("restore", "memory/main/attention.md") == (0, "written  memory/main/attention.md:1\n", "")
    assert text(made, "memory/main/attention.md") == before


def test_inside_a_groups_session_only_that_group_is_touched(
    made: Bench, grouped: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APM_SESSION", GROUP_KEY)
    before = memory(made)
    assert grouped("write", "decision", "x")[0] == 0
    assert grouped("route", "add", "x", "experience.md")[0] == 0
    assert grouped("archive", "project.md")[0] == 0
    touched = {path for path, data in memory(made).items() if before.get(path) != data}
    assert touched == {str(made.root / "memory/groups" / name)
                       for name in ("alpha.md", "alpha/experience.md", "alpha/project.md")}  # fmt: skip
    listed = grouped("restore", "--list")[1]
    assert "memory/groups/alpha/experience.md" in listed
    monkeypatch.delenv("APM_SESSION")
    grouped("write", "status", "- owner's")
    monkeypatch.setenv("APM_SESSION", GROUP_KEY)
    assert "memory/main" not in grouped("restore", "--list")[1]
    before = memory(made)
    for arguments in (
        ("restore", "memory/main/attention.md"), ("archive", "memory/main/attention.md"),
        ("route", "add", "x", "memory/groups/beta/a.md"), ("write", "day", "x"),
        ("write", "decision", "x", "--session", "agent:main:main"),
    ):  # fmt: skip
        assert grouped(*arguments)[0] != 0, arguments
    assert memory(made) == before


@pytest.mark.parametrize("key", ["agent:main:telegram:group:-100999", "agent:main:telegram:direct:77", "x"])
def test_a_session_without_memory_writes_nothing_and_learns_nothing(
    made: Bench, grouped: Run, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("APM_SESSION", key)
    before = memory(made)
    for arguments in (("write", "decision", "x"), ("restore", "--list"), ("route", "deprecate", "a.md")):
        code, out, err = grouped(*arguments)
        assert (code, out) == (4, "")
        assert err == "apm-hooks: no memory belongs to this session. See: apm-hooks explain\n"
    assert memory(made) == before


def test_the_operator_writes_to_a_group_by_its_session_key(made: Bench, grouped: Run) -> None:
    assert grouped("write", "person", "Eve: on call", "--session", GROUP_KEY)[0] == 0
    assert text(made, "memory/groups/alpha/people.md").endswith("\n- Eve: on call\n")


def test_a_row_is_added_and_retired(made: Bench, apm: Run) -> None:
    made.write("memory/main/projects/web.md", "# web\n")
    assert apm("route", "add", "website", "projects/web.md", "--priority", "P1") == (
        0, "written  memory/main/index.md:13\n", "")  # fmt: skip
    assert text(made, "memory/main/index.md").endswith("| website | projects/web.md | P1 |\n")
    assert answer(apm("route", "deprecate", "website", "--json")[1])["line"] == 13
    assert text(made, "memory/main/index.md").endswith("| [DEPRECATED] website | projects/web.md | P1 |\n")
    assert apm("route", "deprecate", "website")[1] == "kept     memory/main/index.md: there already\n"


def test_a_file_is_archived_and_taken_back(made: Bench, apm: Run) -> None:
    before = text(made, "memory/main/attention.md")
    assert apm("archive", "attention.md")[0] == 0
    assert text(made, "memory/main/attention.md").startswith("---\nstatus: archived\n---\n")
    assert apm("archive", "attention.md", "--undo")[0] == 0
    assert text(made, "memory/main/attention.md") == before


def test_copies_are_listed_and_one_of_them_comes_back(made: Bench, apm: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert apm("restore", "--list") == (0, "no earlier text of this memory is kept\n", "")
    for status in ("one", "two"):
        apm("write", "status", status)
    images = answer(apm("restore", "--list", "--json")[1])["images"]
    assert [(image["path"], image["bytes"]) for image in images] == [("memory/main/attention.md", 17),
                                                                     ("memory/main/attention.md", 29)]  # fmt: skip
    assert all(image["at"].endswith("+08:00") for image in images)
    monkeypatch.delenv("APM_TIMEZONE")
    here = answer(apm("restore", "--list", "--json")[1])["images"]
    assert all(datetime.fromisoformat(image["at"]).tzinfo is not None for image in here)
    table = apm("restore", "--list")[1].splitlines()
    assert [line.split()[:2] for line in table[2:]] == [[image["path"], image["id"]] for image in images]
    apm("restore", "attention.md", "--image", images[1]["id"])
    assert text(made, "memory/main/attention.md") == "# Attention\n\nship the parser\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("write", "decision", "x", "--project", "p"),
        ("write", "note", "x", "--source", "s"),
        ("write", "note", "x"),
        ("write", "gossip", "x"),
        ("write", "decision"),
        ("write", "decision", ""),
        ("restore",),
        ("restore", "attention.md", "--list"),
        ("route", "add", "x"),
        ("route", "add", "x", "a.md", "--priority", "P9"),
    ],
)
def test_words_that_make_no_sense_together_are_a_usage_error(apm: Run, arguments: tuple[str, ...]) -> None:
    code, out, err = apm(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    ("arguments", "code", "name"),
    [
        (("write", "note", "x", "--project", ".."), 3, "name-refused"),
        (("route", "add", "x", "../a.md"), 3, "name-refused"),
        (("archive", "none.md"), 5, "memory-file"),
        (("write", "decision", "password is hunter2-XyZ"), 2, "usage"),
    ],
)
def test_an_error_has_its_exit_code_and_a_document(apm: Run, arguments: tuple[str, ...], code: int, name: str) -> None:
    found, out, err = apm(*arguments, "--json")
    assert (found, answer(out)["error"]["code"]) == (code, name)
    assert err.startswith("apm-hooks: ")
    assert "hunter2" not in out + err


@pytest.mark.parametrize("command", ["write", "route", "archive", "restore"])
def test_every_example_of_the_help_is_understood(apm: Run, command: str) -> None:
    code, out, _ = apm(command, "--help")
    examples = [line.strip() for line in out.splitlines() if line.startswith("  apm-hooks ")]
    assert (code, bool(examples)) == (0, True)
    for example in examples:
        words = shlex.split(example.partition(" < ")[0])[1:]
        assert parser.build().parse_args(words).command == command, example


def test_the_common_options_may_stand_behind_a_verb(made: Bench, grouped: Run, tmp_path: Path) -> None:
    code, out, _ = grouped(
        "route", "add", "x", "people.md", "--session", GROUP_KEY, "--workspace", str(made.root), "--json"
    )
    assert (code, answer(out)["path"]) == (0, "memory/groups/alpha.md")
