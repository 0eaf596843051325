"""What the fact index costs: a whole `facts lint` on 10,000 facts, and how it grows with the number of facts.

    python benchmarks/facts.py            CPU seconds of the command, of its start-up, and of parser and linter alone
    python benchmarks/facts.py --check    exit code 1 where a target is missed

Targets: the command on 10,000 facts at most 0.6 s of CPU beyond its start-up; ten times the facts at most 12 times the
time, which is compared within one run. Its start-up is what it costs on an index of one fact.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path

from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.lint import Checks, lint
from apm_hooks.facts.model import Memory, Note

SECONDS = 0.6
FACTOR = 12.0
FACTS = 10_000
NOTE_EVERY = 20
RUNS = 3
TODAY = date(2026, 6, 1)


def index_of(facts: int) -> str:
    """An index of so many facts, all kinds of them, one in twenty with a note and one in fifty with a finding."""
    lines = ["# Facts", ""]
    for number in range(facts):
        if number % 100 == 0:
            lines += ["", f"## Part {number // 100}", ""]
        slug = f"fact-{number}"
        note = f" · [note](notes/{slug}.md)" if number % NOTE_EVERY == 0 else ""
        kind = ("[will] ", "[derived] ", "[measured] ", "")[number % 4]
        proof = f" (n={number + 1}, 2026-0{number % 9 + 1}-11)" if number % 4 == 2 and number % 50 else ""
        refers = f", as [[fact-{number // 2}]] says" if number % 5 == 0 else ""
        lines.append(
            f"- **`{slug}`** · {kind}Worker {number} takes {number % 70} jobs before it slows down{proof}. "
            f"**So:** start another at {number % 70 + 1}{refers}; review: 2027-01-0{number % 9 + 1}.{note}"
        )
    return "\n".join(lines) + "\n"


def memory_of(facts: int) -> Memory:
    """The same as the linter reads it."""
    text = index_of(facts)
    names = [f"fact-{number}.md" for number in range(0, facts, NOTE_EVERY)]
    notes = {name: Note(name, f"# {name}\n\nWhy, at length: [[fact-0]].\n") for name in names}
    decisions = "\n".join(f"- 2026-01-01 · We chose number {number} for its price." for number in range(facts // 10))
    return Memory(text, len(text.encode()), notes, decisions, len(decisions), None)


def lay_out(root: Path, facts: int) -> None:
    """The same on disk."""
    memory = memory_of(facts)
    (root / "memory" / "notes").mkdir(parents=True)
    (root / "log").mkdir()
    (root / "memory" / "INDEX.md").write_text(memory.index or "", encoding="utf-8")
    (root / "log" / "decisions.md").write_text(memory.decisions or "", encoding="utf-8")
    for note in memory.notes.values():
        (root / "memory" / "notes" / note.path).write_text(note.text or "", encoding="utf-8")


def command(root: Path, *arguments: str) -> float:
    """CPU seconds of `facts lint` in a folder: the least of some runs."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("APM_")}
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "apm_hooks", "facts", "lint", "--workspace", str(root), *arguments], env=env,
            capture_output=True, check=False,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode in (0, 1), done.stderr.decode()
        assert not done.stderr, done.stderr.decode()
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def timed(work: Callable[[], object]) -> float:
    """CPU seconds of a piece of work: the least of some runs."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def measure() -> dict[str, float]:
    """The figures by name, in seconds or as ratios."""
    with tempfile.TemporaryDirectory() as folder:
        roots = {facts: Path(folder, str(facts)) for facts in (1, FACTS // 10, FACTS)}
        for facts, root in roots.items():
            lay_out(root, facts)
        start = command(roots[1])
        small, large = (command(roots[facts]) - start for facts in (FACTS // 10, FACTS))
    few, many = memory_of(FACTS), memory_of(10 * FACTS)
    parsed, parsed_more = (timed(partial(parse_facts, each.index or "")) for each in (few, many))
    linted, linted_more = (timed(partial(lint, each, Checks(TODAY))) for each in (few, many))
    return {
        "start_up": start, "command_1_000": small, "command_10_000": large,
        "parse_10_000": parsed, "parse_100_000": parsed_more, "parse_ratio": parsed_more / parsed,
        "lint_10_000": linted, "lint_100_000": linted_more, "lint_ratio": linted_more / linted,
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--check", action="store_true", help="exit code 1 where a target is missed")
    options = parser.parse_args()
    told = measure()
    missed = [
        *(["command_10_000"] if told["command_10_000"] > SECONDS else []),
        *(name for name in ("parse_ratio", "lint_ratio") if told[name] > FACTOR),
    ]
    if options.json:
        print(json.dumps({**told, "missed": missed}, indent=2))
    else:
        for name, value in told.items():
            print(f"{name:<16} {value:8.3f}{'' if name.endswith('ratio') else ' s'}")
        print(f"missed: {', '.join(missed) or 'none'}")
    return 1 if options.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
