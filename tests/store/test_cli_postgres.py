"""The commands on a Postgres server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.store.terminals import another, exported, remembered, terminal, titles, total, typed
from tests.test_cli import Terminal
from tests.workspaces import Bench


@pytest.fixture
def apm(made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Terminal:
    return terminal(made, monkeypatch, capsys)


def test_postgres_answers_the_same_commands(
    apm: Terminal, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = another(apm, tmp_path)
    monkeypatch.setenv("APM_STORE_URL", postgres_url)
    monkeypatch.setenv("APM_STORE_EMBEDDER", "hashed")
    each = remembered(apm, "The printer is on floor 3", "--tags", "office")
    assert apm("update", each, "--importance", "4").code == 0
    assert not (apm.made.root / ".apm/store.db").exists()
    assert titles(apm("recall", "printer", "--json")) == ["The printer is on floor 3"]
    assert total(apm, *other) == 0, "another workspace has a schema of its own"
    rows = exported(apm)
    monkeypatch.delenv("APM_STORE_URL")
    assert total(apm) == 0
    typed(monkeypatch, "\n".join(map(json.dumps, rows)).encode())
    assert apm("import", "-").code == 0
    assert exported(apm) == rows
    monkeypatch.setenv("APM_STORE_URL", postgres_url)
    assert apm("forget", each).code == 0
    assert total(apm) == 0


def test_a_server_that_is_not_there_is_named_without_its_password(apm: Terminal) -> None:
    apm.monkeypatch.setenv("APM_STORE_URL", "postgresql://bob:hunter2@127.0.0.1:1/none")
    said = apm("recall")
    assert said.code == 5
    assert "127.0.0.1:1" in said.err
    assert "hunter2" not in said.err
    assert said.err.count("\n") == 1
