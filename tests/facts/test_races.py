"""Two processes that write the same index at once: every fact is there, whole, once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.model import CUTS, INDEX
from tests.facts.memories import lay_out

EACH = 25
PROGRAM = """
import sys
from datetime import date
from apm_hooks import files
from apm_hooks.facts.config import Member
from apm_hooks.facts.store import FactStore

files._SETTLE_NS = 0
root, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
store = FactStore(root, Member("bot"), today=date(2026, 6, 1))
sys.stdin.readline()
for number in range(count):
    store.add(f"{name}-{number}", f"One of {name}. It has an argument.", "x.")
    if number % 5 == 0:
        store.move(f"{name}-{number}")
    if number % 7 == 0:
        store.cut(f"{name}-{number}", "no longer true")
"""


def test_nothing_is_lost_between_two_writers(tmp_path: Path) -> None:
    root = lay_out(tmp_path, {INDEX: b"\xef\xbb\xbf# Facts\r\n\r\n"})
    writers = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(root), name, str(EACH)], stdin=subprocess.PIPE,
                         stderr=subprocess.PIPE)
        for name in ("first", "second")
    ]  # fmt: skip
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    for writer in writers:
        _, error = writer.communicate(timeout=60)
        assert writer.returncode == 0, error.decode()
    data = (root / INDEX).read_bytes()
    assert data.startswith(b"\xef\xbb\xbf# Facts\r\n")
    assert data.count(b"\n") == data.count(b"\r\n")
    index = parse_facts(data.decode("utf-8-sig").replace("\r\n", "\n"))
    assert index.misses == ()
    names = sorted(fact.slug for fact in index.facts)
    kept = [number for number in range(EACH) if number % 7]
    assert names == sorted(f"{name}-{number}" for name in ("first", "second") for number in kept)
    cuts = (root / CUTS).read_text(encoding="utf-8").split("\n")
    assert sum(line.startswith("- 2026-06-01 · no longer true.") for line in cuts) == 2 * (EACH - len(kept))
    assert len(list((root / "memory/notes").iterdir())) == 2 * len(range(0, EACH, 5))
    assert not list(root.rglob("*.apm-tmp"))
