from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from apm_hooks import log
from apm_hooks.records import Limits

LOG = ".apm/log/apm.log"


def lines(root: Path, name: str = LOG) -> list[dict[str, str]]:
    return [json.loads(line) for line in (root / name).read_text(encoding="utf-8").splitlines()]


def test_a_line_is_one_json_object(tmp_path: Path) -> None:
    log.write_log(str(tmp_path), {"code": "a", "text": "群\nregel"})
    log.write_log(str(tmp_path), {"code": "b"})
    assert lines(tmp_path) == [{"code": "a", "text": "群\nregel"}, {"code": "b"}]


def test_what_is_no_text_is_written_all_the_same(tmp_path: Path) -> None:
    log.write_log(str(tmp_path), {"text": "\udcff"})
    assert lines(tmp_path) == [{"text": "\udcff"}]


def test_the_log_is_the_owners_alone(tmp_path: Path) -> None:
    log.write_log(str(tmp_path), {"code": "a"})
    modes = [stat.S_IMODE((tmp_path / path).stat().st_mode) for path in (".apm", ".apm/log", LOG)]
    assert modes == [0o700, 0o700, 0o600]


def test_a_log_past_its_bound_replaces_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "LIMITS", Limits(log_bytes=300))
    for number in range(200):
        log.write_log(str(tmp_path), {"text": f"line {number:03}"})
    kept = [entry["text"] for name in (f"{LOG}.1", LOG) for entry in lines(tmp_path, name)]
    assert kept == [f"line {number:03}" for number in range(200 - len(kept), 200)]
    folder = tmp_path / ".apm/log"
    assert sorted(path.name for path in folder.iterdir()) == ["apm.log", "apm.log.1"]
    assert all(path.stat().st_size <= 300 + 30 for path in folder.iterdir())
    assert len(kept) > 10


def _file(root: Path) -> None:
    (root / ".apm").write_text("in the way")


def _folder(root: Path) -> None:
    (root / LOG).mkdir(parents=True)


def _fifo(root: Path) -> None:
    (root / LOG).parent.mkdir(parents=True)
    os.mkfifo(root / LOG)


def _link(root: Path) -> None:
    (root / LOG).parent.mkdir(parents=True)
    (root / LOG).symlink_to(root / "elsewhere")


def _linked_state(root: Path) -> None:
    (root / "elsewhere").mkdir()
    (root / ".apm").symlink_to(root / "elsewhere")


@pytest.mark.parametrize("block", [_file, _folder, _fifo, _link, _linked_state])
def test_a_log_that_cannot_be_written_is_no_failure(tmp_path: Path, block: Callable[[Path], None]) -> None:
    block(tmp_path)
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    log.write_log(str(tmp_path), {"code": "a"})
    made = set(map(str, tmp_path.rglob("*"))) - set(before)
    assert made <= {str(tmp_path / ".apm/.gitignore")}


def test_a_workspace_that_is_gone_is_no_failure(tmp_path: Path) -> None:
    log.write_log(str(tmp_path / "gone"), {"code": "a"})
    assert not (tmp_path / "gone").exists()
