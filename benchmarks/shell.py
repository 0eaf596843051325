"""How well shell commands are understood, on a labelled corpus: precision and recall of uses and of doubts, by parser.

    python benchmarks/shell.py                  precision and recall, then the time of a reading
    python benchmarks/shell.py --json           the same as JSON
    python benchmarks/shell.py --misses plain   which commands are read otherwise than labelled, and how

A label is a kind and a path (`read memory/main/index.md`), counted from `/home/ana/ws`; `/**` is all below it too, and
patterns stand as the shell means them. A line of the corpus is right where its uses and doubts are those of the label
(`may`: uses that may be reported too). It is wrong in silence where a use is missed and there is no doubt at all: the
exit code is 1 where there is any such, or a target is missed.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from apm_hooks.shell.reading import Reading, Use, grammar_available, read_command

CORPUS = Path(__file__).parent.parent / "tests" / "shell_corpus" / "commands.jsonl"
CWD = "/home/ana/ws"
HOME = "/home/ana"
PARSERS: tuple[Literal["grammar", "plain"], ...] = ("grammar", "plain")
TARGETS = {"precision": 0.98, "recall": 0.98, "right": 0.98}
"""For the grammar; the plain reading has to be silent nowhere, and no more."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One command: what it could touch, what may be reported besides, what cannot be judged, and what kind it is."""

    command: str
    uses: frozenset[str]
    may: frozenset[str]
    doubts: frozenset[str]
    tags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A labelled command with its reading. `missing` are labelled uses that nothing reported covers."""

    labelled: Labelled
    reading: Reading
    reported: frozenset[str]
    missing: tuple[str, ...]

    @property
    def right(self) -> bool:
        extra = self.reported - self.labelled.uses - self.labelled.may
        return not self.missing and not extra and self.doubts == self.labelled.doubts

    @property
    def silent(self) -> bool:
        return bool(self.missing) and not self.reading.doubts

    @property
    def doubts(self) -> frozenset[str]:
        return frozenset(doubt.reason.value for doubt in self.reading.doubts)


def full(label: str) -> str:
    """A label with its path made absolute: `read memory/**` is `read /home/ana/ws/memory/**`."""
    kind, _, path = label.partition(" ")
    recursive = path.endswith("/**")
    path = path.removesuffix("/**") if recursive else path
    if label.split(" ", 1)[1].startswith("/") or label == "execute apm-hooks":
        whole = path
    else:
        whole = CWD
        for part in path.split("/"):
            whole = whole.rpartition("/")[0] if part == ".." else whole if part in {"", "."} else f"{whole}/{part}"
    return f"{kind} {whole}{'/**' if recursive else ''}"


def shown(use: Use) -> str:
    """A use as a label."""
    return (
        f"{use.kind.value} {use.path.removesuffix('/') if use.recursive else use.path}{'/**' if use.recursive else ''}"
    )


def load_corpus() -> tuple[Labelled, ...]:
    """All lines of the corpus."""
    found = []
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        data = json.loads(line)
        uses, may = frozenset(map(full, data["uses"])), frozenset(map(full, data.get("may", ())))
        # Git's history may begin in any directory above.
        history = {
            f"{use.split(' ')[0]} {top}/.git/**"
            for use in uses | may
            if use.endswith(".git/**")
            for top in ("/home", HOME)
        }
        found.append(Labelled(data["command"], uses, may | history, frozenset(data["doubts"]), tuple(data["tags"])))
    return tuple(found)


def judged(labelled: Labelled, parser: Literal["grammar", "plain"]) -> Judged:
    """The command, read and compared with its label."""
    reading = read_command(labelled.command, cwd=CWD, home=HOME, parser=parser)
    reported = frozenset(map(shown, reading.uses))
    missing = tuple(sorted(label for label in labelled.uses if not _covered(label, reported)))
    return Judged(labelled, reading, reported, missing)


def _covered(label: str, reported: frozenset[str]) -> bool:
    kind, _, path = label.partition(" ")
    if label in reported or f"{kind} {path}/**" in reported:
        return True
    folders = [path]
    while len(folders[-1]) > 1:
        folders.append(folders[-1].rpartition("/")[0])
    return any(f"{kind} {folder}/**" in reported for folder in folders[1:])


def outcomes(parser: Literal["grammar", "plain"]) -> Iterator[Judged]:
    """Every line of the corpus, judged."""
    for labelled in load_corpus():
        yield judged(labelled, parser)


def score(found: list[Judged]) -> dict[str, float]:
    """Precision and recall over all uses, the same over doubts, and the share of lines that are right."""
    reported = sum(len(item.reported - (item.labelled.may - item.labelled.uses)) for item in found)
    good = sum(len(item.reported & item.labelled.uses) for item in found)
    labelled = sum(len(item.labelled.uses) for item in found)
    missing = sum(len(item.missing) for item in found)
    doubts = sum(len(item.doubts) for item in found)
    good_doubts = sum(len(item.doubts & item.labelled.doubts) for item in found)
    labelled_doubts = sum(len(item.labelled.doubts) for item in found)
    return {
        "precision": round(good / reported, 4),
        "recall": round(1 - missing / labelled, 4),
        "doubt precision": round(good_doubts / doubts, 4),
        "doubt recall": round(good_doubts / labelled_doubts, 4),
        "right": round(sum(item.right for item in found) / len(found), 4),
        "silent": sum(item.silent for item in found),
    }


def timings() -> dict[str, float]:
    """Milliseconds of processor time for one reading, best of five."""
    cases = {
        "simple": "cd memory && cat main/*.md | grep -n x > out.txt",
        "heredoc of 20 KB": "cat > notes.md <<'EOF'\n" + "| a | b | c |\n" * 1_500 + "EOF",
        "500 commands": "cat notes.md\n" * 500,
        "10,000 brackets": "(" * 10_000,
    }
    times = {}
    for parser in PARSERS:
        if parser == "grammar" and not grammar_available():
            continue
        for name, command in cases.items():
            best = float("inf")
            for _ in range(5):
                start = time.process_time()
                read_command(command, cwd=CWD, home=HOME, parser=parser)
                best = min(best, time.process_time() - start)
            times[f"{parser}: {name}"] = round(best * 1000, 2)
    return times


def show_misses(parser: Literal["grammar", "plain"]) -> None:
    """Prints the commands that are read otherwise than labelled."""
    for item in outcomes(parser):
        if item.right:
            continue
        print(f"{'SILENT ' if item.silent else ''}{item.labelled.command!r}")
        extra = sorted(item.reported - item.labelled.uses - item.labelled.may)
        print(f"    missing {list(item.missing)}\n    besides {extra}")
        print(f"    doubts {sorted(item.doubts)}, labelled {sorted(item.labelled.doubts)}")


def main() -> int:
    """Prints the report; 1 where something is wrong in silence or a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--misses", choices=PARSERS, help="print what one parser reads otherwise than labelled")
    options = parser.parse_args()
    if options.misses:
        show_misses(options.misses)
        return 0
    used = tuple(name for name in PARSERS if name == "plain" or grammar_available())
    results = {name: list(outcomes(name)) for name in used}
    scores = {name: score(found) for name, found in results.items()}
    short = [
        f"{name}: {value} < {TARGETS[name]}"
        for name, value in scores.get("grammar", {}).items()
        if name in TARGETS and value < TARGETS[name]
    ]
    times = timings()
    if options.json:
        print(json.dumps({"scores": scores, "milliseconds": times, "missed": short}, indent=1))
    else:
        tags = collections.Counter(labelled.tags[-1] for labelled in load_corpus())
        print(f"{sum(tags.values())} commands: " + ", ".join(f"{tag} {count}" for tag, count in tags.most_common()))
        for name, values in scores.items():
            print(f"{name:8} " + "  ".join(f"{key} {value}" for key, value in values.items()))
        for case, value in times.items():
            print(f"{value:9.2f} ms  {case}")
        print("\n".join(short))
    return 1 if short or any(values["silent"] for values in scores.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
