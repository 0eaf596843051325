from __future__ import annotations

import errno
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from watchdog.observers.inotify import InotifyObserver

from apm_hooks import activity, doctor, doctor_system, watcher
from apm_hooks.doctor import Check, Level, Probe, Subject
from apm_hooks.locking import locked_at
from tests.subjects import (
    NOW,
    is_fine,
    levels,
    lock_line,
    mapped,
    only,
    owned_by,
    record,
    subject_of,
    system_of,
)
from tests.workspaces import Bench

OTHER = 65_000
"""A user that is nobody here."""

MOUNT = "30 24 0:25 / {point} rw,relatime - {kind} source rw\n"
US = pwd.getpwuid(os.geteuid()).pw_name


def mended(subject: Subject, look: Callable[[Subject], list[Check]]) -> list[Level]:
    found = list(doctor.examine(subject, (Probe("it", look),), fix=True))
    return [each.level for each in found if not each.text.startswith("mended: ")]


@pytest.mark.parametrize(
    ("kind", "level"),
    [("ext4", Level.OK), ("overlay", Level.OK), ("nfs4", Level.WARNING), ("cifs", Level.WARNING),
     ("fuse.sshfs", Level.WARNING)],
)  # fmt: skip
def test_a_network_file_system_is_a_warning(made: Bench, tmp_path: Path, kind: str, level: Level) -> None:
    mounts = MOUNT.format(point="/", kind="ext4") + MOUNT.format(point=made.root.parent, kind=kind)
    subject = subject_of(made, system=system_of(tmp_path / "proc", self__mountinfo=mounts))
    found = only(doctor_system.file_system(subject), level)
    assert (kind in found.text) is (level is Level.WARNING)


def test_what_the_system_does_not_tell_is_taken_for_local(made: Bench, tmp_path: Path) -> None:
    assert is_fine(doctor_system.file_system(subject_of(made, system=str(tmp_path / "none"))))


def test_notices_of_changes_are_tried_and_nothing_stays(made: Bench, tmp_path: Path) -> None:
    system = system_of(tmp_path / "proc", sys__fs__inotify__max_user_instances="7\n",
                       sys__fs__inotify__max_user_watches="99\n")  # fmt: skip
    assert "(instances: 7, watches: 99)" in only(doctor_system.notices(subject_of(made, system=system)), Level.OK).text
    assert [path.name for path in (made.root / ".apm").iterdir()] == [".gitignore"]


def test_no_notices_of_changes_are_worth_a_note(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(InotifyObserver, "start", start)
    found = only(doctor_system.notices(subject_of(made)), Level.NOTE)
    assert os.strerror(errno.EMFILE) in found.text
    assert "sysctl" in found.remedy
    assert not (made.root / ".apm/probe").exists()


def test_a_watcher_at_work_is_told_with_its_process(made: Bench, tmp_path: Path) -> None:
    with locked_at(str(made.root), watcher.LOCK):
        system = system_of(tmp_path / "proc", locks=lock_line(made.root / watcher.LOCK, 4711))
        found = only(doctor_system.watching(subject_of(made, system=system)), Level.OK)
    assert found.text.endswith("(process 4711)")


def test_without_a_watcher_there_is_a_note_and_no_lock(made: Bench) -> None:
    assert "apm-hooks watch" in only(doctor_system.watching(subject_of(made)), Level.NOTE).remedy
    assert not (made.root / ".apm").exists()
    with locked_at(str(made.root), watcher.LOCK):
        pass
    assert levels(doctor_system.watching(subject_of(made))) == [Level.NOTE]


@pytest.mark.parametrize(
    "waits", ["1: -> FLOCK  ADVISORY  WRITE 1 {at} 0 EOF\n", "1: POSIX  ADVISORY  WRITE 1 {at} 0 EOF\n"]
)
def test_who_waits_for_a_lock_does_not_hold_it(made: Bench, tmp_path: Path, waits: str) -> None:
    lock = made.write("x.lock", "")
    at = lock_line(lock, 1).split()[5]
    assert (
        doctor_system.holder_of(subject_of(made, system=system_of(tmp_path / "a", locks=waits.format(at=at))), "x.lock")
        is None
    )


def test_a_holder_is_known_by_its_file_and_first_by_its_device(made: Bench, tmp_path: Path) -> None:
    lock = made.write("x.lock", "")
    exact, elsewhere = lock_line(lock, 2), f"1: FLOCK  ADVISORY  WRITE 1 ff:ff:{lock.stat().st_ino} 0 EOF\n"
    other = f"1: FLOCK  ADVISORY  WRITE 3 ff:ff:{lock.stat().st_ino + 1} 0 EOF\n"
    for locks, process in ((elsewhere + exact, 2), (other + elsewhere, 1), (other, None), ("", None)):
        system = system_of(tmp_path / "proc", locks=locks)
        holder = doctor_system.holder_of(subject_of(made, system=system), "x.lock")
        assert (holder.process if holder else None) == process


def test_the_kernel_tells_who_holds_a_lock(made: Bench) -> None:
    with locked_at(str(made.root), "x.lock"):
        holder = doctor_system.holder_of(subject_of(made), "x.lock")
    # Where the kernel shows no locks nobody can be named, and nobody else may be.
    assert holder is None or holder.process == os.getpid()


def test_a_clock_that_goes_is_told(made: Bench) -> None:
    made.settings('timezone = "Asia/Shanghai"\n')
    found = only(doctor_system.clock(subject_of(made)), Level.OK)
    assert found.text == "it is 2026-01-01 08:00 +0800; days are those of Asia/Shanghai"


@pytest.mark.parametrize(
    ("grammar", "groups", "level", "text"),
    [
        (True, True, Level.OK, doctor_system.GRAMMAR),
        (False, False, Level.OK, doctor_system.NO_GROUPS),
        (False, True, Level.NOTE, doctor_system.NO_GRAMMAR),
    ],
)
def test_groups_without_the_grammar_of_the_shell_are_worth_a_note(
    made: Bench, monkeypatch: pytest.MonkeyPatch, *, grammar: bool, groups: bool, level: Level, text: str
) -> None:
    monkeypatch.setattr(doctor_system, "grammar_available", lambda: grammar)
    if groups:
        made.groups({"-100777": "alpha"})
    found = only(doctor_system.gate(subject_of(made)), level)
    assert found.text == text
    assert ("apm-hooks[gate]" in found.remedy) is (level is Level.NOTE)


def test_a_clock_before_2020_is_a_warning(made: Bench) -> None:
    assert "2001-09-09" in only(doctor_system.clock(subject_of(made, now=1e9)), Level.WARNING).text


def test_no_clock_that_counts_from_the_start_is_worth_a_note(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "now", lambda: (NOW * 10**9, 0, ""))
    assert levels(doctor_system.clock(subject_of(made))) == [Level.NOTE]


@pytest.mark.parametrize(
    ("name", "good"),
    [("Europe/Berlin", True), (":Europe/Berlin", True), ("CET-1CEST,M3.5.0,M10.5.0/3", True), ("UTC0", True),
     ("<+08>-8", True), ("", True), ("bogus", False), ("Europe/Berln", False), ("../x", False), ("/no/file", False)],
)  # fmt: skip
def test_a_zone_that_is_none_is_a_warning(made: Bench, name: str, good: bool) -> None:
    made.env["TZ"] = name
    found = only(doctor_system.clock(subject_of(made)), Level.OK if good else Level.WARNING)
    assert (repr(name) in found.text) is not good
    made.settings('timezone = "UTC"\n')
    assert is_fine(doctor_system.clock(subject_of(made)))


def test_rights_as_we_make_them_are_fine(made: Bench) -> None:
    mapped(made, "alpha")
    record(made)
    assert is_fine(doctor_system.rights(subject_of(made, "alpha")))


@pytest.mark.parametrize("mode", [0o755, 0o710, 0o701, 0o777])
def test_a_state_folder_that_others_can_look_into_is_closed(made: Bench, mode: int) -> None:
    (made.root / ".apm").mkdir()
    (made.root / ".apm").chmod(mode)
    subject = subject_of(made)
    found = only(doctor_system.rights(subject), Level.WARNING)
    assert f"mode {mode:o}" in found.text
    assert found.remedy == f"Run: chmod 700 {made.root}/.apm"
    assert mended(subject, doctor_system.rights) == [Level.OK]
    assert stat.S_IMODE((made.root / ".apm").stat().st_mode) == 0o700


@pytest.mark.parametrize(("planted", "kind"), [("link", "a symbolic link"), ("file", "a file")])
def test_what_is_no_state_folder_is_an_error(made: Bench, tmp_path: Path, planted: str, kind: str) -> None:
    if planted == "link":
        (made.root / ".apm").symlink_to(tmp_path)
    else:
        made.write(".apm", "")
    assert kind in only(doctor_system.rights(subject_of(made)), Level.ERROR).text


def test_a_state_folder_of_somebody_else_is_an_error(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (made.root / ".apm").mkdir(mode=0o700)
    owned_by(monkeypatch, made.root / ".apm", OTHER)
    monkeypatch.setattr(doctor_system, "_is_root", lambda: False)
    found = only(doctor_system.rights(subject_of(made)), Level.ERROR)
    assert str(OTHER) in found.text
    assert found.remedy == f"Run: sudo chown -R {US} {made.root}/.apm"


def test_root_in_somebody_elses_workspace_is_warned(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    (made.root / ".apm").mkdir(mode=0o700)
    owned_by(monkeypatch, made.root / ".apm", OTHER)
    monkeypatch.setattr(doctor_system, "_is_root", lambda: True)
    assert only(doctor_system.rights(subject_of(made)), Level.WARNING).remedy == f"Run it as {OTHER} instead."


def test_what_a_run_as_root_left_is_named(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    left = made.write(".apm/log/apm.log", "")
    made.write(".apm/ledger/x.jsonl", "")
    (made.root / ".apm").chmod(0o700)
    owned_by(monkeypatch, left, OTHER)
    found = only(doctor_system.rights(subject_of(made)), Level.ERROR)
    assert found.text.endswith(f"others: 1, the first of them, .apm/log/apm.log, to {OTHER}")


@pytest.mark.parametrize("path", ["memory/flush-state.json", "memory/groups/alpha/flush-state.json.lock",
                                  "memory/groups/flush-state.json"])  # fmt: skip
def test_a_state_or_lock_that_is_no_plain_file_is_an_error(made: Bench, path: str) -> None:
    mapped(made, "alpha")
    (made.root / path).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(made.root / path)
    assert only(doctor_system.rights(subject_of(made, "alpha")), Level.ERROR).text.startswith(f"{path} is a FIFO")


def test_a_state_that_others_can_write_to_is_a_warning(made: Bench) -> None:
    record(made)
    (made.root / "memory/flush-state.json").chmod(0o664)
    found = only(doctor_system.rights(subject_of(made)), Level.WARNING)
    assert found.remedy == f"Run: chmod go-w {made.root}/memory/flush-state.json"


def test_a_state_of_somebody_else_is_an_error(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    record(made)
    owned_by(monkeypatch, made.root / "memory/flush-state.json", OTHER)
    monkeypatch.setattr(doctor_system, "_is_root", lambda: False)
    assert "memory/flush-state.json belongs to" in only(doctor_system.rights(subject_of(made)), Level.ERROR).text
    monkeypatch.setattr(doctor_system, "_is_root", lambda: True)
    assert is_fine(doctor_system.rights(subject_of(made)))


def test_a_memory_folder_that_cannot_be_written_to_is_an_error(made: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    mapped(made, "alpha", "beta")
    made.write("memory/groups/alpha/people.md", "")
    real = doctor_system.may_write
    monkeypatch.setattr(doctor_system, "may_write", lambda path: not path.endswith("/alpha") and real(path))
    found = only(doctor_system.rights(subject_of(made, "alpha", "beta")), Level.ERROR)
    assert found.text == f"{US} cannot make files in memory/groups/alpha"
    assert found.remedy == f"Run: chmod u+rwx {made.root}/memory/groups/alpha"


@pytest.mark.parametrize("folder", [".apm", ".apm/active", "memory"])
def test_a_folder_of_somebody_else_is_theirs_to_open(made: Bench, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    made.write(".apm/active/x", "")
    (made.root / ".apm").chmod(0o700)
    monkeypatch.setattr(doctor_system, "may_write", lambda path: path != f"{made.root}/{folder}")
    assert "chmod u+rwx" in only(doctor_system.rights(subject_of(made)), Level.ERROR).remedy
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)
    found = [each for each in doctor_system.rights(subject_of(made)) if "cannot make files" in each.text]
    assert only(found, Level.ERROR).remedy == f"Run: sudo chown -R {OTHER} {made.root}/{folder}"


def test_the_right_to_write_is_that_of_the_effective_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []

    def access(path: str, mode: int, *, effective_ids: bool) -> bool:
        asked.append((path, mode, effective_ids))
        return False

    monkeypatch.setattr(os, "supports_effective_ids", {access})
    monkeypatch.setattr(os, "access", access)
    assert doctor_system.may_write(str(tmp_path)) is False
    assert asked == [(str(tmp_path), os.W_OK | os.X_OK, True)]


@pytest.mark.parametrize("variable", ["config", "state", "cache"])
def test_a_folder_of_our_own_that_others_can_write_to_is_closed(made: Bench, variable: str) -> None:
    path = Path(getattr(subject_of(made).opened.where, variable))
    path.mkdir(parents=True, exist_ok=True)
    subject = subject_of(made)
    path.chmod(0o777)
    found = only(doctor_system.rights(subject), Level.ERROR)
    assert str(path) in found.text
    assert found.remedy == f"Run: chmod 700 {path}"
    assert found.mend is not None
    found.mend()
    assert is_fine(doctor_system.rights(subject_of(made)))


def test_a_folder_of_our_own_that_somebody_else_owns_is_left_to_them(
    made: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = subject_of(made)
    cache = Path(subject.opened.where.cache)
    cache.mkdir(parents=True, exist_ok=True)
    owned_by(monkeypatch, cache, OTHER)
    assert only(doctor_system.rights(subject), Level.ERROR).mend is None
