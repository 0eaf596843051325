from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks import ledger
from apm_hooks.errors import LockTimeoutError, MemoryFileError
from apm_hooks.records import LIMITS, Source


def entry(
    source: str = "startup", scope: str = "DM", digest: str = "d1", tokens: int = 10, **more: object
) -> dict[str, object]:
    made = ledger.start_entry(source=source, scope=scope, budget=8000, digest=digest, tokens=tokens,
                              files=(("memory/main/index.md", "index"),))  # fmt: skip
    return {**made, **more}


def folded(*entries: dict[str, object]) -> ledger.Epoch:
    return ledger.fold(b"".join(ledger.encode(each) for each in entries))


def test_a_session_without_a_ledger_has_not_begun(tmp_path: Path) -> None:
    assert ledger.read_epoch(str(tmp_path), "x") == ledger.Epoch()


@pytest.mark.parametrize("source", [source.value for source in Source if source is not Source.RESUME])
def test_start_clear_compaction_and_fork_begin_an_epoch(source: str) -> None:
    epoch = folded(entry(), entry(source, digest="d2", tokens=7))
    assert (epoch.spent, dict(epoch.sent)) == (7, {"d2": 7})


def test_a_resume_continues_the_epoch() -> None:
    epoch = folded(entry(), entry("resume", digest="d2", tokens=7))
    assert epoch.spent == 17


def test_the_same_bytes_again_cost_nothing() -> None:
    assert folded(entry(), entry("resume"), entry("resume")).spent == 10


def test_another_scope_begins_an_epoch_even_on_resume() -> None:
    epoch = folded(entry(), entry("resume", scope="Group(a)", digest="d2", tokens=3))
    assert (epoch.scope, epoch.spent) == ("Group(a)", 3)


def test_a_tripped_breaker_stays_out_until_the_next_epoch() -> None:
    assert folded(entry(tripped=True), entry("resume", digest="d2")).tripped
    assert not folded(entry(tripped=True), entry("compact", digest="d2")).tripped


def test_a_half_written_line_is_passed_over() -> None:
    good = ledger.encode(entry())
    for cut in range(1, len(good)):
        assert ledger.fold(good + b"\n" + good[:cut] + b"\n" + ledger.encode(entry("resume", digest="d2"))).spent == 20


@given(st.binary(max_size=400))
def test_no_bytes_make_folding_fail(data: bytes) -> None:
    assert ledger.fold(data).spent >= 0


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["e", "scope", "digest", "tokens", "files", "budget", "source", "tripped"]),
                inner,
                max_size=8,
            )
        ),
        max_leaves=8,
    )
)
def test_no_json_makes_folding_fail(value: object) -> None:
    assert ledger.fold(json.dumps(value).encode()).spent >= 0


def test_lines_are_added_and_folded(tmp_path: Path) -> None:
    for digest in ("a", "b"):
        ledger.append(str(tmp_path), "x", entry("resume", digest=digest, tokens=5))
    assert ledger.read_epoch(str(tmp_path), "x").spent == 10
    file = tmp_path / ".apm/ledger/x.jsonl"
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_ledger_past_its_bound_starts_over_with_the_next_epoch(tmp_path: Path) -> None:
    ledger.append(str(tmp_path), "x", entry())
    file = tmp_path / ".apm/ledger/x.jsonl"
    file.write_bytes(ledger.encode(entry("resume", digest="z")) * 2000)
    assert file.stat().st_size > LIMITS.ledger_bytes
    ledger.append(str(tmp_path), "x", entry("resume", digest="q"))
    assert file.stat().st_size > LIMITS.ledger_bytes
    ledger.append(str(tmp_path), "x", entry("compact", digest="q"))
    assert len(file.read_bytes().splitlines()) == 1


def test_a_link_in_place_of_a_ledger_is_refused(tmp_path: Path) -> None:
    ledger.append(str(tmp_path), "x", entry())
    file = tmp_path / ".apm/ledger/x.jsonl"
    file.unlink()
    file.symlink_to(tmp_path / "target")
    with pytest.raises(MemoryFileError):
        ledger.append(str(tmp_path), "x", entry())
    assert not (tmp_path / "target").exists()


def test_a_held_ledger_is_waited_for_and_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    ledger.append(str(tmp_path), "x", entry())
    clock = iter(range(0, 1000, 2))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    monkeypatch.setattr("time.sleep", lambda _: None)
    with open(tmp_path / ".apm/ledger/x.jsonl", "ab") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(LockTimeoutError, match="still held"):
            ledger.append(str(tmp_path), "x", entry())


def test_a_ledger_replaced_between_opening_and_locking_is_opened_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.append(str(tmp_path), "x", entry())
    file = tmp_path / ".apm/ledger/x.jsonl"
    real = ledger._open_locked
    calls: list[str] = []

    def opened(root: str, path: str) -> int:
        descriptor = real(root, path)
        if not calls:
            file.unlink()
        calls.append(path)
        return descriptor

    monkeypatch.setattr(ledger, "_open_locked", opened)
    ledger.append(str(tmp_path), "x", entry("resume", digest="new"))
    assert b"new" in file.read_bytes()


WRITER = """
import sys
from apm_hooks import ledger
for number in range(40):
    ledger.append(sys.argv[1], "x", {"e": "sent", "digest": f"{sys.argv[2]}-{number}", "tokens": 1})
"""


def test_processes_that_share_a_session_lose_no_line(tmp_path: Path) -> None:
    children = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(child)]) for child in range(4)]
    assert [child.wait(60) for child in children] == [0] * 4
    epoch = ledger.read_epoch(str(tmp_path), "x")
    assert (epoch.spent, len(epoch.sent)) == (160, 160)


def test_the_oldest_ledgers_go_first(tmp_path: Path) -> None:
    for number in range(5):
        ledger.append(str(tmp_path), f"s{number}", entry())
        os.utime(tmp_path / f".apm/ledger/s{number}.jsonl", (number, number))
    ledger.prune(str(tmp_path), keep=2)
    assert sorted(os.listdir(tmp_path / ".apm/ledger")) == ["s3.jsonl", "s4.jsonl"]


def test_the_end_of_a_session_ends_its_epoch() -> None:
    epoch = folded(entry(), ledger.end_entry())
    assert (epoch.begun, epoch.spent) == (False, 0)
    assert folded(entry(), ledger.end_entry(), entry("resume", digest="d2")).spent == 10


def test_where_a_session_was_flushed_outlives_its_end_and_what_follows() -> None:
    ended = ledger.end_entry(700)
    assert folded(entry(), ended).position == 700
    assert folded(entry(), ended, entry("startup", digest="d2"), ledger.end_entry(), entry("compact")).position == 700
    assert folded(entry(), ended, ledger.end_entry(900)).position == 900
    assert folded(entry(), {"e": "end", "position": "x"}).position == 0


def test_a_directive_is_spent_and_changes_nothing_else() -> None:
    before = folded(entry(), {**ledger.message_entry(budget=0, digest="m", tokens=5, files=[], tripped=False, done=True,
                                                     inputs="x", scope="DM")})  # fmt: skip
    line = ledger.directive_entry(digest="told", tokens=40, epoch=before, scope="DM")
    after = ledger._apply(before, line)
    assert after == replace(before, spent=before.spent + 40, sent={**before.sent, "told": 40})


def test_a_directive_in_a_context_that_nobody_saw_start_is_paid_for_once_it_is_seen() -> None:
    told = ledger.directive_entry(digest="told", tokens=40, epoch=ledger.Epoch(), scope="DM")
    assert folded(entry(), ledger.end_entry(), told, entry(ledger.SWITCH, digest="d2")).spent == 50
    assert folded(entry(), ledger.end_entry(), told, entry("compact", digest="d2")).spent == 10


def test_a_disk_that_takes_no_line_or_half_of_one_is_an_error_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    ledger.append(str(tmp_path), "s", entry())
    for write in (full, lambda descriptor, data: len(data) - 1):
        monkeypatch.setattr(os, "write", write)
        with pytest.raises(MemoryFileError, match=r"s\.jsonl: cannot be written"):
            ledger.append(str(tmp_path), "s", entry())
