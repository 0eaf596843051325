"""Export and import as commands: whole or not at all, and how far it came where it was stopped."""

from __future__ import annotations

import io
import json
import os
import resource
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from apm_hooks.cli import store_import
from apm_hooks.store.items import StoreError
from apm_hooks.store.records import RecordStore
from tests.store.terminals import HEAD, another, exported, line, remembered, terminal, total, typed
from tests.test_cli import APM, Terminal
from tests.workspaces import Bench


@pytest.fixture
def apm(made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return terminal(made, monkeypatch, capsys)


@pytest.fixture
def other(apm: Terminal, tmp_path: Path) -> list[str]:
    return another(apm, tmp_path)


def test_what_is_exported_is_imported_field_by_field(apm: Terminal, other: list[str], tmp_path: Path) -> None:
    apm.monkeypatch.setenv("APM_STORE_EMBEDDER", "hashed")
    each = remembered(apm, "每周二部署 \U0001f680\n\nline two\u2028three", "--tags", "ops,web", "--type", "decision",
                      "--importance", "5", "--expires", "2999-01-01T00:00:00+08:00", "--source", "chat")  # fmt: skip
    apm("update", each, "--content", "每周三部署")
    remembered(apm, "The printer is on floor 3")
    file = tmp_path / "out.jsonl"
    assert apm("export", str(file)).out == f"exported  {file}: 2 memories\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert apm("export", str(file), "--json").json == {"file": str(file), "memories": 2}
    rows = exported(apm)
    assert rows[0] == json.loads(HEAD)
    assert {"versions", "embedding"} <= set(rows[1])
    assert [json.loads(row) for row in file.read_text(encoding="utf-8").split("\n")[:-1]] == rows
    assert apm("import", str(file), *other).out == "2 added, 0 there already, 0 skipped\n"
    assert exported(apm, *other) == rows
    again = apm("import", str(file), "--json", *other)
    assert again.json == {"complete": True, "lines": 3, "added": 0, "unchanged": 2, "skipped": []}
    assert not list(tmp_path.glob(".*apm-tmp"))


def test_an_expired_memory_comes_back_too(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, f"{HEAD}\n{line(1, expires_at='2026-02-01T00:00:00+00:00')}\n".encode())
    assert apm("import", "-").code == 0
    assert total(apm) == 0
    assert [row["expires_at"] for row in exported(apm)[1:]] == ["2026-02-01T00:00:00+00:00"]


def test_lines_that_cannot_be_taken_are_skipped_by_number(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ["", HEAD, line(1), line(2, content="my password is hunter2Zx9!"), "", "{half", line(3, scope="Group(beta)"),
            line(4, importance=9), line(5), '{"a": 1}']  # fmt: skip
    typed(monkeypatch, "\n".join(rows).encode() + b"\n" + line(6).encode().replace(b"rack", b"r\xffck") + b"\n")
    said = apm("import", "-", "--json")
    assert said.code == 1
    assert (said.json["added"], said.json["lines"], said.json["complete"]) == (2, 11, True)
    assert [each["line"] for each in said.json["skipped"]] == [4, 6, 7, 8, 10, 11]
    assert "unter2" not in said.out + said.err
    typed(monkeypatch, "\n".join(rows).encode())
    told = apm("import", "-").out
    assert told.startswith("0 added, 2 there already, 5 skipped\n  line 4: ")
    assert "line 7: belongs to another conversation" in told
    assert "unter2" not in told


def test_numbers_are_right_behind_the_first_lot_too(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_import, "_AT_ONCE", 3)
    rows = [HEAD, *(line(number) if number % 4 else "{half" for number in range(1, 31))]
    typed(monkeypatch, "\n".join(rows).encode())
    said = apm("import", "-")
    assert said.out.split("\n")[0] == "23 added, 0 there already, 7 skipped"
    typed(monkeypatch, "\n".join(rows).encode())
    told = apm("import", "-", "--json").json
    assert [each["line"] for each in told["skipped"]] == [5, 9, 13, 17, 21, 25, 29]
    assert [rows[each["line"] - 1] for each in told["skipped"]] == ["{half"] * 7


def test_many_skipped_lines_are_counted(apm: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "\n".join([HEAD, *["{half"] * 30]).encode())
    out = apm("import", "-").out
    assert out.count("is no JSON") == 20
    assert "… and 10 more: --json names each" in out


@pytest.mark.parametrize(
    "data",
    [b"", b"\n \n", b"no export", b"{}", line(1).encode(), HEAD.replace("memories", "self").encode(),
     HEAD.replace("1}", "2}").encode(), b"\x1f\x8b\x08\x00"],
)  # fmt: skip
def test_what_is_no_export_is_refused(apm: Terminal, monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    typed(monkeypatch, data)
    said = apm("import", "-")
    assert (said.code, said.out) == (2, "")
    assert total(apm) == 0


def test_a_file_that_is_not_there_or_none(apm: Terminal, tmp_path: Path) -> None:
    for wanted in (("import", str(tmp_path / "none")), ("import", str(tmp_path)), ("export", str(tmp_path)),
                   ("export", str(tmp_path / "no/where")), ("export", "/dev/null")):  # fmt: skip
        said = apm(*wanted)
        assert (said.code, said.out) == (5, "")
        assert said.err.startswith(f"apm-hooks: {wanted[1]}: ")


def test_an_export_replaces_nothing_but_an_older_export(apm: Terminal, tmp_path: Path) -> None:
    remembered(apm, "The printer is on floor 3")
    for text in ("# Notes\n", HEAD.replace("memories", "self") + "\n", "[1]", "{" * 5000):
        (tmp_path / "file").write_text(text)
        said = apm("export", str(tmp_path / "file"))
        assert said.code == 5
        assert "no export of memories" in said.err
        assert (tmp_path / "file").read_text() == text
    (tmp_path / "file").write_text(HEAD)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert apm("export", str(tmp_path / "link")).code == 0
    assert (tmp_path / "link").is_symlink()
    assert len((tmp_path / "file").read_text().splitlines()) == 2
    empty = tmp_path / "empty"
    empty.touch()
    assert apm("export", str(empty)).code == 0


class _Stopped(io.RawIOBase):
    """Standard input that holds some lines, and then somebody presses Ctrl-C."""

    def __init__(self, rows: list[str]) -> None:
        self.rows = iter(rows)

    def readline(self, size: int | None = -1, /) -> bytes:
        row = next(self.rows, None)
        if row is None:
            raise KeyboardInterrupt
        return row.encode() + b"\n"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_an_import_that_is_stopped_says_how_far_it_came(apm: Terminal, options: tuple[str, ...]) -> None:
    stream = io.TextIOWrapper(io.BytesIO())
    apm.monkeypatch.setattr("sys.stdin", stream)
    apm.monkeypatch.setattr(store_import, "_AT_ONCE", 10)
    rows = [HEAD, *map(line, range(1, 36))]
    apm.monkeypatch.setattr("sys.stdin", type("Typed", (), {"buffer": _Stopped(rows)})())
    said = apm("import", "-", *options)
    assert said.code == 130
    assert "stopped: the first 31 lines are done (30 added, 0 there already, 0 skipped)" in said.err
    if options:
        assert (said.json["complete"], said.json["lines"], said.json["added"]) == (False, 31, 30)
    assert total(apm) == 30
    typed(apm.monkeypatch, "\n".join(rows).encode())
    assert apm("import", "-").out == "5 added, 30 there already, 0 skipped\n"


def test_a_store_that_fails_half_way_says_so_too(apm: Terminal) -> None:
    apm.monkeypatch.setattr(store_import, "_AT_ONCE", 10)
    real, calls = RecordStore.import_lines, []

    def failing(self: RecordStore, lines: list[str], *, all_scopes: bool = False) -> object:
        calls.append(len(lines))
        if len(calls) == 4:
            raise StoreError("no connection", remedy="Is the server running?")
        return real(self, lines, all_scopes=all_scopes)

    apm.monkeypatch.setattr(RecordStore, "import_lines", failing)
    typed(apm.monkeypatch, "\n".join([HEAD, *map(line, range(1, 36))]).encode())
    said = apm("import", "-", "--json")
    assert said.code == 5
    assert said.json["error"]["cause"] == "no connection"
    assert "not all was taken in: the first 21 lines are done (20 added" in said.err
    apm.monkeypatch.undo()


def run_bounded(apm: Terminal, most: int, *arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A command none of whose files may grow past `most` bytes: as on a full disk, the next write to it fails."""

    def bounded() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return subprocess.run([APM, *arguments], cwd=apm.made.root, env=apm.made.env, input=data, capture_output=True,
                          check=False, timeout=60, preexec_fn=bounded)  # fmt: skip


def test_a_full_disk_leaves_the_store_whole_and_the_old_export(apm: Terminal, tmp_path: Path) -> None:
    data = "\n".join([HEAD, *map(line, range(1, 1_301))]).encode()
    nothing = run_bounded(apm, 300_000, "import", "-", data=data)
    assert nothing.returncode == 5
    assert b"no memory is in yet" in nothing.stderr
    assert total(apm) == 0
    stopped = run_bounded(apm, 1_800_000, "import", "-", data=data)
    assert stopped.returncode == 5
    before = total(apm)
    assert before in (500, 1_000)
    assert f"the first {before + 1:,} lines are done ({before:,} added".encode() in stopped.stderr
    assert b"Traceback" not in stopped.stderr + nothing.stderr
    typed(apm.monkeypatch, data)
    assert apm("import", "-").out == f"{1_300 - before:,} added, {before:,} there already, 0 skipped\n"
    file = tmp_path / "old.jsonl"
    file.write_text(HEAD + "\n" + line(1) + "\n")
    failed = run_bounded(apm, 100_000, "export", str(file))
    assert failed.returncode == 5
    assert failed.stderr == f"apm-hooks: {file}: cannot be written: File too large\n".encode()
    assert file.read_text() == HEAD + "\n" + line(1) + "\n"
    assert sorted(os.listdir(tmp_path)) == ["home", "old.jsonl", "ws"]


def test_a_reader_that_goes_away_and_an_output_that_is_full(apm: Terminal) -> None:
    typed(apm.monkeypatch, "\n".join([HEAD, *map(line, range(1, 900))]).encode())
    apm("import", "-")
    script = f"{APM} export - | head -n 1; echo ${{PIPESTATUS[0]}}; {APM} export - > /dev/full; echo $?"
    done = subprocess.run(["bash", "-c", script], cwd=apm.made.root, env=apm.made.env, capture_output=True, text=True,
                          check=True, timeout=60)  # fmt: skip
    assert done.stdout.split("\n") == [HEAD, "0", "1", ""]
    assert done.stderr == "apm-hooks: the output: No space left on device\n"


def test_an_export_does_not_depend_on_the_terminal_s_encoding(apm: Terminal) -> None:
    remembered(apm, "每周二部署")
    env = {**apm.made.env, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run([APM, "export", "-"], cwd=apm.made.root, env=env, capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout.decode().split("\n")[1])["title"] == "每周二部署"


def test_an_export_to_a_closed_output_is_told(apm: Terminal) -> None:
    remembered(apm, "The printer is on floor 3")
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", APM, "export", "-"], stderr=subprocess.PIPE, text=True, check=False
    )
    assert closed.returncode == 1
    assert "Traceback" not in closed.stderr
    assert "the output" in closed.stderr
