"""What it costs to find that no file of a scope changed, as a multiple of looking at each of its files once.

    python benchmarks/flush.py [--json] [--check]

The floor walks the same folders by descriptors that follow no link and stats each entry, and does nothing with it. The
delta compares with a book in memory, under stamps old enough to be believed. Both are measured in one run, alternating;
`--check` exits with 1 where a ratio passes its bound. The ratio that includes reading the state file is printed too,
without a bound.
"""

from __future__ import annotations

import argparse
import json
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

from apm_hooks.flushrecords import Book
from apm_hooks.flushstate import read_state, updating
from apm_hooks.opening import DIRECTORY
from apm_hooks.records import DM
from apm_hooks.scanning import compare

SIZES = (10, 1_000, 10_000)
BOUND = 1.5
BLOCKS = 5
TEXT = "A line of notes as people write them, neither short nor long, with a date 2026-01-31 and a name.\n"


def build(root: Path, files: int) -> None:
    """A scope of so many files in a few folders, one in them nested."""
    folders = ["memory", "memory/main", "memory/main/projects", *(f"memory/notes/{n}" for n in range(files // 500))]
    (root / "memory/notes").mkdir(parents=True)
    for folder in folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "MEMORY.md").write_text(TEXT)
    for number in range(files - 1):
        (root / folders[number % len(folders)] / f"note-{number:05}.md").write_text(f"{number}\n{TEXT}")


def floor(root: str) -> None:
    """One look at `MEMORY.md` and at each entry below `memory/`."""
    top = os.open(root, DIRECTORY)
    try:
        os.stat("MEMORY.md", dir_fd=top, follow_symlinks=False)
        _walk(top, "memory")
    finally:
        os.close(top)


def _walk(above: int, name: str) -> None:
    folder = os.open(name, DIRECTORY, dir_fd=above)
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if stat.S_ISDIR(entry.stat(follow_symlinks=False).st_mode):
                    _walk(folder, entry.name)
    finally:
        os.close(folder)


def recorded(root: str) -> Book:
    """The book after a first look, once its stamps can be believed."""
    files, gone, delta = compare(root, DM, Book(), generation=1)
    assert delta.complete
    # A change time cannot be set, only waited for.
    time.sleep(2.1)
    files, gone, delta = compare(root, DM, Book(files=files, gone=gone), generation=2)
    assert delta.complete and not delta.changed
    return replace(Book(), generation=2, files=files, gone=gone)


def unchanged(root: str, book: Book) -> None:
    delta = compare(root, DM, book, generation=3)[2]
    assert not delta.changed and not delta.refused


def ratio(work: Callable[[], None], bare: Callable[[], None], rounds: int) -> float:
    """What `work` costs as a multiple of `bare`: of several blocks of alternating rounds, the least times of each
    compared, and the median block taken, so that one lucky round decides nothing."""
    ratios = []
    for _ in range(BLOCKS):
        least = [float("inf"), float("inf")]
        for _ in range(rounds):
            for number, one in enumerate((bare, work)):
                start = time.perf_counter()
                one()
                least[number] = min(least[number], time.perf_counter() - start)
        ratios.append(least[1] / least[0])
    return median(ratios)


def measure(root: str, files: int) -> dict[str, float]:
    build(Path(root), files)
    book = recorded(root)
    rounds = max(12, 5_000 // files)
    found = {f"{files:,} files, book in memory": ratio(lambda: unchanged(root, book), lambda: floor(root), rounds)}
    with updating(root, DM) as held:
        held.book = replace(held.book, files=book.files)
    with_state = ratio(lambda: unchanged(root, read_state(root, DM).book), lambda: floor(root), rounds)
    return found | {f"{files:,} files, state read from disk": with_state}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    ratios: dict[str, float] = {}
    bounds = {f"{files:,} files, book in memory": BOUND for files in SIZES}
    for files in SIZES:
        with tempfile.TemporaryDirectory() as root:
            ratios |= measure(root, files)
    if options.json:
        print(json.dumps({"ratio": ratios, "bounds": bounds}, indent=2))
    else:
        for name, ratio in ratios.items():
            bound = f"  (at most {bounds[name]})" if name in bounds else ""
            print(f"{name:38} {ratio:5.2f} x{bound}")
    return 1 if options.check and any(ratios[name] > bound for name, bound in bounds.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
