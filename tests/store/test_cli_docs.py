"""What the page on the record store says is what the code says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from apm_hooks.settings import STORE_VARIABLES
from apm_hooks.store.config import EMBEDDERS, LOCALITIES, load_store_settings
from apm_hooks.store.items import STORE_LIMITS, TYPES
from tests.store.terminals import terminal
from tests.test_docs import sections, text_of
from tests.workspaces import Bench

PAGE = "docs/store.md"


def rows(head: str) -> list[list[str]]:
    """The cells of a table, by the head of its first column."""
    table = text_of(PAGE).partition(f"\n| {head} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table.split("\n")[2:]]


def test_the_tables_have_every_type_embedder_and_key() -> None:
    assert [row[0].strip("|` ") for row in rows("type")] == list(TYPES)
    assert [row[0].strip("|` ").partition("`")[0] for row in rows("`embedder`")] == list(EMBEDDERS)
    known = {row[0].strip("|` "): row[1].strip("`") for row in rows("key")}
    assert {variable: key for key, variable in known.items() if variable != "–"} == STORE_VARIABLES
    for word in LOCALITIES:
        assert f"`{word}`" in text_of(PAGE)


def test_the_settings_that_are_shown_are_taken(tmp_path: Path) -> None:
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", text_of(PAGE), re.MULTILINE | re.DOTALL)
    (tmp_path / "config.toml").write_text(shown)
    found = load_store_settings(str(Path("~/bot").expanduser()), str(tmp_path), {})
    said = tomllib.loads(shown)["store"]
    assert (found.url, found.embedder, found.model_locality) == (said["url"], said["embedder"], said["model_locality"])
    assert found.schema == "bot_memories"


def test_the_numbers_are_the_limits() -> None:
    limits = STORE_LIMITS
    assert f"at most {limits.content_bytes // 1024} KiB" in text_of(PAGE)
    assert limits.expired_days == 30
    assert "thirty days later erased" in text_of(PAGE)
    assert f"lots of {limits.page} lines" in text_of(PAGE)
    told = sections("docs/commands.md")
    assert f"`--limit` is 1 to {limits.recall_most} ({limits.recall})" in told["recall"]
    assert f"0.5 to 1 ({limits.merge_threshold})" in told["dedup"]
    assert f"{limits.backfill} of them, `--limit` (1 to {limits.backfill_most})" in told["backfill"]


@pytest.mark.parametrize("command", ["remember", "update", "forget", "dedup", "backfill", "recall"])
def test_the_keys_of_the_documents_are_told(
    made: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    apm = terminal(made, monkeypatch, capsys)
    each = apm("remember", "The printer is on floor 3", "--json").json["id"]
    more = {"remember": ("Printers are loud",), "update": (each, "--importance", "4"), "forget": (each,)}
    document = apm(command, *more.get(command, ()), "--json").json
    told = set(re.findall(r"`([a-z_]+)`", sections("docs/commands.md")[command].partition("With `--json`")[2]))
    assert set(document) <= told
    for memory in document.get("memories", []):
        assert set(memory) <= told
