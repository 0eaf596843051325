from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from apm_hooks import doctor
from apm_hooks.cli import doctor as command
from apm_hooks.doctor import Check, Level, Probe, Subject
from apm_hooks.errors import ApmError, MemoryFileError, NotTrustedError, ScopeError
from apm_hooks.records import DM, Limits
from tests.subjects import ALPHA, HOUR, NOW, install, is_fine, levels, mapped, mark_file, only, record, subject_of, work
from tests.workspaces import GROUP_KEY, Bench, bench

FINE = Check(Level.OK, "fine")
BAD = Check(Level.ERROR, "bad", "mend it")
ALPHA_KEY = "agent:main:telegram:group:-1000"


def broken(_: Subject) -> list[Check]:
    raise ValueError("beta.md")


@pytest.fixture
def doctoring(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Runs the command in a workspace as its owner's terminal does; gives its exit code and what it printed."""

    def run(
        made: Bench, *, session: str | None = None, bound: str | None = None, as_json: bool = False, fix: bool = False
    ) -> tuple[int, str]:
        for name in list(os.environ):
            if name.startswith(("APM_", "XDG_", "CLAUDE_")):
                monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(made.home))
        if bound is not None:
            monkeypatch.setenv("APM_SESSION", bound)
        monkeypatch.chdir(made.root)
        capsys.readouterr()
        code = command.act(argparse.Namespace(workspace="", session=session, json=as_json, fix=fix))
        return code, capsys.readouterr().out

    return run


def test_findings_come_in_the_order_of_the_checks_and_carry_their_names(made: Bench) -> None:
    probes = (Probe("first", lambda _: [FINE, BAD]), Probe("second", lambda _: [FINE]))
    found = list(doctor.examine(subject_of(made), probes))
    assert [(each.check, each.level, each.text) for each in found] == [
        ("first", Level.OK, "fine"), ("first", Level.ERROR, "bad"), ("second", Level.OK, "fine"),
    ]  # fmt: skip


def test_a_check_that_raises_is_an_error_and_the_others_go_on(made: Bench) -> None:
    found = list(doctor.examine(subject_of(made), (Probe("a", broken), Probe("b", lambda _: [FINE]))))
    assert levels(found) == [Level.ERROR, Level.OK]
    assert found[0].check == "a"
    assert "ValueError: beta.md" in found[0].text


def test_an_error_of_ours_is_told_with_its_remedy(made: Bench) -> None:
    def refused(_: Subject) -> list[Check]:
        raise MemoryFileError("is a FIFO", file="beta.md", remedy="Put a plain file there.")

    for operator, text in ((True, "beta.md: is a FIFO"), (False, doctor.FAILED.format(error="MemoryFileError"))):
        probe = Probe("a", refused, scoped=True)
        found = only(list(doctor.examine(subject_of(made, operator=operator), (probe,))), Level.ERROR)
        assert found.text == text
        assert (found.remedy == "Put a plain file there.") is operator


def test_a_session_sees_what_is_its_own_and_no_words_of_an_error(made: Bench) -> None:
    subject = subject_of(made, operator=False)
    probes = (
        Probe("all", lambda _: [BAD]),
        Probe("own", lambda _: [BAD], scoped=True),
        Probe("raises", broken, scoped=True),
    )
    found = list(doctor.examine(subject, probes))
    assert [each.check for each in found] == ["own", "raises"]
    assert {each.remedy for each in found} == {doctor.ASK_OPERATOR}
    assert "beta" not in found[1].text


def test_without_a_workspace_only_what_needs_none_is_looked_at(made: Bench) -> None:
    subject = Subject(str(made.root), made.env, None, ApmError("no"), operator=True)
    probes = (Probe("inside", lambda _: [BAD]), Probe("outside", lambda _: [FINE], opened=False))
    assert [each.check for each in doctor.examine(subject, probes)] == ["outside"]


def test_what_is_mended_is_told_and_looked_at_again(made: Bench) -> None:
    faults = ["x", "y"]
    mended: list[int] = []

    def look(_: Subject) -> list[Check]:
        return [Check(Level.ERROR, fault, "", mend) for fault in faults] or [FINE]

    def mend() -> None:
        mended.append(len(faults))
        faults.clear()

    assert levels(list(doctor.examine(subject_of(made), (Probe("a", look),)))) == [Level.ERROR, Level.ERROR]
    assert mended == []
    found = list(doctor.examine(subject_of(made), (Probe("a", look),), fix=True))
    assert levels(found) == [Level.NOTE, Level.NOTE, Level.OK]
    assert [each.text for each in found[:2]] == ["mended: x", "mended: y"]
    assert mended == [2]


def test_what_cannot_be_mended_is_said_and_stays(made: Bench) -> None:
    def mend() -> None:
        raise OSError("the disk is full")

    probe = Probe("a", lambda _: [Check(Level.WARNING, "open", "", mend)])
    found = list(doctor.examine(subject_of(made), (probe,), fix=True))
    assert levels(found) == [Level.ERROR, Level.WARNING]
    assert "the disk is full" in found[0].text


def test_an_accepted_workspace_is_told(made: Bench) -> None:
    mapped(made, "alpha")
    found = doctor.trust(subject_of(made, "alpha"))
    assert is_fine(found)
    assert found[0].text.endswith("mapped groups: 1")


def test_a_workspace_that_nobody_accepted_is_an_error_with_its_remedy(tmp_path: Path) -> None:
    made = bench(tmp_path, trusted=False)
    with pytest.raises(NotTrustedError) as refused:
        made.runtime()
    found = only(doctor.trust(Subject(str(made.root), made.env, None, refused.value, operator=True)), Level.ERROR)
    assert "apm-hooks trust" in found.remedy


def test_a_privacy_setting_that_was_changed_is_a_warning(made: Bench) -> None:
    made.settings('owner_peers = ["77"]\n')
    found = only(doctor.trust(subject_of(made)), Level.WARNING)
    assert "owner_peers" in found.text
    assert "77" not in found.text
    assert found.remedy.endswith(f"apm-hooks trust --workspace {made.root}")


def test_a_broken_group_map_is_an_error_and_a_refused_entry_a_warning(made: Bench) -> None:
    made.groups({"-1": "..", "-2": "alpha"})
    made.trust()
    assert "group_names.json" in only(doctor.trust(subject_of(made)), Level.WARNING).text
    made.write("memory/groups/group_names.json", "{")
    assert Level.ERROR in levels(doctor.trust(subject_of(made)))


def test_ledgers_are_counted(made: Bench) -> None:
    assert only(doctor.ledgers(subject_of(made)), Level.OK).text == "ledgers of sessions: 0 (0 KiB)"
    for name in "abc":
        made.write(f".apm/ledger/{name}.jsonl", "x" * 1024)
    made.write(".apm/ledger/other", "x" * 4096)
    assert only(doctor.ledgers(subject_of(made)), Level.OK).text == "ledgers of sessions: 3 (3 KiB)"
    many = only(doctor.ledgers(subject_of(made, limits=Limits(ledgers=2))), Level.NOTE)
    assert "more than the 2" in many.text


def logged(*entries: tuple[str, float]) -> str:
    return "".join(
        json.dumps({"when": datetime.fromtimestamp(NOW - hours * HOUR, UTC).isoformat(), "code": code,
                    "scope": "Group(secret)", "text": "words"}) + "\n"
        for code, hours in entries
    )  # fmt: skip


def test_the_log_of_the_last_day_is_told_by_its_latest_codes(made: Bench) -> None:
    made.write(".apm/log/apm.log", logged(
        ("ancient", 30), ("first", 9), ("second", 8), ("third", 7), ("second", 6), ("fourth", 5), ("fifth", 4),
        ("sixth", 3), ("sixth", 2),
    ))  # fmt: skip
    found = only(doctor.log(subject_of(made)), Level.NOTE)
    assert found.text.endswith(": sixth, fifth, fourth, second, third")
    assert found.remedy.endswith(f"{made.root}/.apm/log/apm.log")


@pytest.mark.parametrize(
    "text",
    ["", logged(("ancient", 25)), "{\n", "[]\n", '{"when": 5, "code": "x"}\n', '{"code": "x"}\n', "\xff\n", "[" * 5_000,
     logged(("no code of ours", 1)), '{"when": "2026-01-01T00:00:00", "code": "naive"}\n'],
)  # fmt: skip
def test_a_log_that_tells_of_nothing_in_the_last_day_is_fine(made: Bench, text: str) -> None:
    made.write(".apm/log/apm.log", text)
    assert is_fine(doctor.log(subject_of(made)))


def test_without_a_log_nothing_was_logged(made: Bench) -> None:
    assert is_fine(doctor.log(subject_of(made)))


def test_a_link_in_the_place_of_a_folder_of_ours_is_refused(made: Bench, tmp_path: Path) -> None:
    (made.root / ".apm").symlink_to(tmp_path)
    found = list(doctor.examine(subject_of(made), (Probe("ledgers", doctor.ledgers), Probe("log", doctor.log))))
    assert levels(found) == [Level.ERROR, Level.ERROR]
    assert all("a symbolic link" in each.text for each in found)


def test_a_fresh_workspace_has_no_fault(made: Bench, doctoring: Callable[..., tuple[int, str]]) -> None:
    before = {path for path in made.root.rglob("*") if ".apm" not in path.parts}
    code, out = doctoring(made)
    assert code == 0
    assert not [line for line in out.splitlines() if line.startswith(("error", "warning"))]
    assert {path for path in made.root.rglob("*") if ".apm" not in path.parts} == before
    assert [path.name for path in (made.root / ".apm").iterdir()] == [".gitignore"]


def test_every_check_is_told_in_its_place(made: Bench, doctoring: Callable[..., tuple[int, str]]) -> None:
    _, out = doctoring(made)
    told = list(dict.fromkeys(line.split()[1] for line in out.splitlines()))
    assert told == list(dict.fromkeys(probe.name for probe in command.PROBES))
    assert {line.split()[0] for line in out.splitlines()} <= {level.value for level in Level}


def test_a_machine_reads_the_same(made: Bench, doctoring: Callable[..., tuple[int, str]]) -> None:
    made.write("memory/flush-state.json", "{")
    code, out = doctoring(made, as_json=True)
    told = json.loads(out)
    assert code == 1
    assert set(told) == {"workspace", "checks", "errors"}
    assert told["workspace"] == str(made.root)
    assert all(set(check) == {"check", "level", "text", "remedy"} for check in told["checks"])
    assert told["errors"] == sum(check["level"] == "error" for check in told["checks"]) == 1


def test_a_fault_is_mended_and_then_gone(made: Bench, doctoring: Callable[..., tuple[int, str]]) -> None:
    made.write("memory/flush-state.json", "{")
    (made.root / ".apm").mkdir(mode=0o755)
    (made.root / ".apm").chmod(0o755)
    assert doctoring(made)[0] == 1
    code, out = doctoring(made, fix=True)
    assert code == 0
    assert out.count("mended: ") == 2
    assert (made.root / ".apm").stat().st_mode & 0o777 == 0o700
    assert "mended: " not in doctoring(made, fix=True)[1]


def test_where_nobody_accepted_the_workspace_the_rest_is_looked_at(
    tmp_path: Path, doctoring: Callable[..., tuple[int, str]]
) -> None:
    code, out = doctoring(bench(tmp_path, trusted=False), as_json=True)
    told = {check["check"]: check for check in json.loads(out)["checks"]}
    assert code == 1
    assert told["trust"]["level"] == "error"
    assert "apm-hooks trust" in told["trust"]["remedy"]
    assert {"installation", "interpreter", "hooks", "trust"} == set(told)


def test_a_session_where_nobody_accepted_the_workspace_is_refused(
    tmp_path: Path, doctoring: Callable[..., tuple[int, str]]
) -> None:
    with pytest.raises(NotTrustedError):
        doctoring(bench(tmp_path, trusted=False), session=GROUP_KEY)


def damaged(made: Bench) -> None:
    """Two groups and an owner, with faults that the operator would be told of with names, and words in all of them."""
    mapped(made, "alpha", "betagroup")
    for scope in (DM, ALPHA):
        record(made, scope, at="2999-01-01T00:00:00+00:00", pending=39)
        work(made, scope, id="owners-word")
    made.write("memory/groups/betagroup/flush-state.json", '{"pending_items": ["canary word"]')
    made.write("memory/groups/betagroup/.canary.md.apm-tmp", "canary word")
    made.write("memory/main/attention.md", "canary word")
    made.write("memory/groups/flush-state.json", '{"apm_hooks": {"groups": {"betagroup": 1}}}')
    mark_file(made).write_bytes(b"canary word")


def test_a_groups_session_hears_of_nobody_else(made: Bench, doctoring: Callable[..., tuple[int, str]]) -> None:
    damaged(made)
    _, out = doctoring(made, session=ALPHA_KEY, as_json=True)
    told = json.loads(out)
    assert {check["check"] for check in told["checks"]} == {"states", "locks", "leftovers", "sessions", "times"}
    assert "pending items" in out
    for word in ("beta", "canary", "DM", "memory/main", "memory/flush-state.json", "trust", "process", "owners-word"):
        assert word not in json.dumps(told["checks"]), word


def test_no_memory_is_told_to_the_operator_either(made: Bench, doctoring: Callable[..., tuple[int, str]]) -> None:
    damaged(made)
    code, out = doctoring(made)
    assert code == 1
    assert "betagroup" in out
    assert "canary word" not in out
    assert "lead 3" not in out


def test_the_environment_binds_a_session_as_an_option_does(
    made: Bench, doctoring: Callable[..., tuple[int, str]]
) -> None:
    damaged(made)
    assert doctoring(made, bound=ALPHA_KEY) == doctoring(made, session=ALPHA_KEY)
    with pytest.raises(ScopeError):
        doctoring(made, bound=ALPHA_KEY, session="agent:main:main")


@pytest.mark.parametrize("key", ["", "agent:main:telegram:direct:5", "agent:main:cron:nightly", GROUP_KEY])
def test_a_session_without_a_scope_is_told_nothing(
    made: Bench, doctoring: Callable[..., tuple[int, str]], key: str
) -> None:
    with pytest.raises(ScopeError):
        doctoring(made, session=key)


def test_a_session_mends_nothing(made: Bench, doctoring: Callable[..., tuple[int, str]]) -> None:
    damaged(made)
    state = (made.root / "memory/groups/betagroup/flush-state.json").read_bytes()
    with pytest.raises(ScopeError, match="operator"):
        doctoring(made, session=ALPHA_KEY, fix=True)
    assert (made.root / "memory/groups/betagroup/flush-state.json").read_bytes() == state


def test_the_same_workspace_is_told_in_the_same_words(made: Bench) -> None:
    damaged(made)
    install(made)
    probes = tuple(probe for probe in command.PROBES if probe.name != "hooks")

    def told() -> list[tuple[Any, ...]]:
        found = doctor.examine(subject_of(made, "alpha", "betagroup"), probes)
        return [(each.check, each.level, each.text, each.remedy) for each in found]

    assert told() == told()
