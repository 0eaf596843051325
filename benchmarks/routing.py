"""How well messages are routed to rows, on a labelled corpus: accuracy per kind and language, by half.

    python benchmarks/routing.py           accuracy, then the time a message takes on large tables
    python benchmarks/routing.py --json    the same as JSON
    python benchmarks/routing.py --misses dev    which messages of a half went elsewhere, with the reasons

The half `dev` was looked at while the rules were written; `held-out` was not. The exit code is 1 where a
target is missed in either half. Kinds without a target (`paraphrase`, `long`, `catch-all`) are reported only.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from apm_hooks.records import Route
from apm_hooks.routing import compile_routes, explain_routes, route_message

CORPUS = Path(__file__).parent.parent / "tests" / "routing_corpus"
TARGETS = {"keyword": 0.98, "several": 0.98, "small-talk": 0.9, "off-topic": 0.9, "typo": 0.75}
HALVES = ("dev", "held-out")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One message of the corpus: `expect` is the file that it should be routed to, or None."""

    message: str
    table: str
    kind: str
    language: str
    expect: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """One routing table of the corpus with its messages."""

    name: str
    half: str
    routes: tuple[Route, ...]
    messages: tuple[Labelled, ...]


def load_corpus() -> tuple[Table, ...]:
    """All tables, by name.

    A message is `[text, file or null]`, with its language where it is not the table's.
    """
    tables = []
    for path in sorted(CORPUS.glob("*.json")):
        data = json.loads(path.read_text(encoding="utf-8"))
        routes = tuple(
            Route(
                tuple(row["scenarios"]),
                row["file"],
                row["priority"],
                deprecated=row.get("deprecated", False),
                catch_all=row.get("catch_all", False),
                line=line,
            )
            for line, row in enumerate(data["routes"], 1)
        )
        messages = tuple(
            Labelled(entry[0], data["table"], kind, entry[2] if len(entry) > 2 else data["language"], entry[1])
            for kind, entries in data["messages"].items()
            for entry in entries
        )
        tables.append(Table(data["table"], data["half"], routes, messages))
    return tuple(tables)


def outcomes(tables: tuple[Table, ...]) -> Iterator[tuple[Table, Labelled, bool]]:
    """Each message with whether it was routed as labelled."""
    for table in tables:
        compiled = compile_routes(table.routes)
        for labelled in table.messages:
            match = route_message(labelled.message, compiled)
            yield table, labelled, (match.route.path if match else None) == labelled.expect


def accuracy(tables: tuple[Table, ...]) -> dict[str, dict[str, dict[str, tuple[int, int]]]]:
    """Half → kind → language (and `all`) → messages routed as labelled, messages."""
    counts: dict[str, dict[str, dict[str, tuple[int, int]]]] = {}
    for table, labelled, right in outcomes(tables):
        kinds = counts.setdefault(table.half, {}).setdefault(labelled.kind, {"all": (0, 0)})
        for key in ("all", labelled.language):
            good, total = kinds.get(key, (0, 0))
            kinds[key] = (good + right, total + 1)
    return counts


def missed(counts: dict[str, dict[str, dict[str, tuple[int, int]]]]) -> list[str]:
    """Which targets are missed, in words."""
    out = []
    for half in HALVES:
        for kind, target in TARGETS.items():
            good, total = counts[half][kind]["all"]
            if good < target * total:
                out.append(f"{half} {kind}: {good / total:.1%} < {target:.0%}")
    return out


def timings() -> dict[str, float]:
    """Milliseconds of processor time for one message, table made ready anew, as a hook process pays it."""
    parts = (
        "ba",
        "cor",
        "del",
        "fi",
        "gra",
        "hun",
        "jo",
        "kel",
        "lim",
        "mor",
        "nes",
        "pra",
        "quo",
        "rin",
        "ste",
        "tul",
    )
    count = len(parts)
    rows = tuple(
        Route(
            (
                f"{parts[n % count]}{parts[n // count % count]}{parts[n // 7 % count]}s review",
                f"{parts[n // 3 % count]}{parts[n * 5 % count]}ing, invoices of area {n}",
                f"数据{chr(0x5000 + n)}{chr(0x6000 + n)}迁移",
            ),
            f"projects/file-{n}.md",
            n % 4,
        )
        for n in range(2_000)
    )
    short = "please check why corbabas has no invoice since the migration of area 7"
    long = " ".join(
        f"Line {n}: {parts[n % count]}{parts[n * 3 % count]}ed {parts[n // count % count]}{n} about area {n}."
        for n in range(800)
    )
    cases: dict[str, Callable[[], object]] = {
        "200 rows, short message": lambda: route_message(short, rows[:200]),
        "200 rows, 20 KB message": lambda: route_message(long[:20_000], rows[:200]),
        "2000 rows, short message": lambda: route_message(short, rows),
        "2000 rows, 20 KB message": lambda: route_message(long[:20_000], rows),
    }
    compiled = compile_routes(rows[:200])
    cases["200 rows made ready before, short message"] = lambda: route_message(short, compiled)
    out = {}
    for name, case in cases.items():
        best = float("inf")
        for _ in range(5):
            start = time.process_time()
            case()
            best = min(best, time.process_time() - start)
        out[name] = round(best * 1000, 2)
    return out


def show_misses(tables: tuple[Table, ...], half: str) -> None:
    """Prints the messages of one half that went elsewhere, and what spoke for each row."""
    for table, labelled, right in outcomes(tables):
        if right or table.half != half:
            continue
        print(f"{table.name} {labelled.kind}: {labelled.message[:120]!r} should go to {labelled.expect}")
        for score in explain_routes(labelled.message, table.routes):
            if score.score or score.verdict == "catch-all":
                why = ", ".join(f"{e.word}={e.term} ({e.how} {e.weight})" for e in score.evidence)
                print(f"    {score.route.path} P{score.route.priority} {score.score} {score.verdict}: {why}")


def main() -> int:
    """Prints the report; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--misses", choices=HALVES, help="print what went wrong in one half")
    options = parser.parse_args()
    tables = load_corpus()
    if options.misses:
        show_misses(tables, options.misses)
        return 0
    counts = accuracy(tables)
    short = missed(counts)
    times = timings()
    if options.json:
        report = {"accuracy": counts, "milliseconds": times, "targets": TARGETS, "missed": short}
        print(json.dumps(report, ensure_ascii=False, indent=1))
        return 1 if short else 0
    messages = collections.Counter(table.half for table in tables for _ in table.messages)
    languages = sorted({labelled.language for table in tables for labelled in table.messages})
    for half in HALVES:
        print(f"{half}: {messages[half]} messages, {sum(t.half == half for t in tables)} tables")
        print(f"  {'kind':12} {'all':>16} " + " ".join(f"{language:>6}" for language in languages))
        for kind, by_language in sorted(counts[half].items()):
            good, total = by_language["all"]
            cells = []
            for language in languages:
                right, number = by_language.get(language, (0, 0))
                cells.append(f"{right}/{number}" if number else "-")
            line = " ".join(f"{cell:>6}" for cell in cells)
            print(f"  {kind:12} {f'{good}/{total} {good / total:.1%}':>16} {line}")
    for name, value in times.items():
        print(f"{name}: {value} ms")
    for line in short:
        print(f"missed: {line}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
