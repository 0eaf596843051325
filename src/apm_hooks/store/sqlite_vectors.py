"""The vectors of a SQLite store in memory: one matrix for each scope and space, scanned whole by numpy.

A scan of 10,000 vectors of 1,024 numbers takes 2 ms, which no agent's memory needs an index for. Matrices follow the
file: what this process commits is put in at once, what another one did is read when the file's version says so.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apm_hooks.store.extras import library

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SINGLY = 1_000
"""So many vectors at most are asked for by number; of more, all are read, and those known are left as they are."""
_MATRICES = 32
"""So many scopes are held in memory at once; the one that was asked longest ago goes first."""


@dataclass(slots=True)
class _Matrix:
    vectors: NDArray[np.float32]
    rows: NDArray[np.int64]
    seqs: NDArray[np.int64]
    count: int = 0
    places: dict[int, int] = field(default_factory=dict)

    def put(self, row: int, seq: int, vector: NDArray[np.float32]) -> None:
        import numpy as np

        if row in self.places:
            self.drop(row)
        if self.count == len(self.rows):
            size = max(64, self.count * 2)
            grown = np.empty((size, self.vectors.shape[1]), dtype=np.float32)
            grown[: self.count] = self.vectors[: self.count]
            self.vectors = grown
            self.rows = np.resize(self.rows, size)
            self.seqs = np.resize(self.seqs, size)
        self.vectors[self.count] = vector
        self.rows[self.count], self.seqs[self.count] = row, seq
        self.places[row] = self.count
        self.count += 1

    def drop(self, row: int) -> None:
        place = self.places.pop(row, None)
        if place is None:
            return
        last = self.count - 1
        if place != last:
            self.vectors[place] = self.vectors[last]
            self.rows[place], self.seqs[place] = self.rows[last], self.seqs[last]
            self.places[int(self.rows[place])] = place
        self.count = last


@dataclass(frozen=True, slots=True)
class Change:
    """What a transaction did to a row's vector: a new one, or (`vector` None) none any more."""

    row: int
    scope: str
    space: str = ""
    seq: int = 0
    vector: bytes | None = None


class VectorCache:
    """Matrices by scope and space, in step with the file. Used under the engine's lock."""

    def __init__(self) -> None:
        self._matrices: dict[tuple[str, str], _Matrix] = {}
        self._version = -1

    def apply(self, changes: list[Change]) -> None:
        """Take in what this process has committed."""
        import numpy as np

        for change in changes:
            for (scope, _), matrix in self._matrices.items():
                if scope == change.scope:
                    matrix.drop(change.row)
            held = self._matrices.get((change.scope, change.space))
            if held is not None and change.vector is not None:
                held.put(change.row, change.seq, np.frombuffer(change.vector, dtype="<f4"))

    def clear(self) -> None:
        """Forget everything; the next search reads the file."""
        self._matrices.clear()

    def nearest(
        self, connection: sqlite3.Connection, scope: str, space: str, vector: bytes, floor: float
    ) -> tuple[list[int], list[float]]:
        """The rows whose cosine is at least `floor`, nearest first, and their cosines. Inside a transaction."""
        np = library("numpy", "store")
        matrix = self._matrix(connection, scope, space, len(vector) // 4)
        if not matrix.count:
            return [], []
        # Row by row on one core: a product of matrix and vector would wake all cores for a millisecond's work.
        cosines = np.vecdot(matrix.vectors[: matrix.count], np.frombuffer(vector, dtype="<f4"))
        near = np.nonzero(cosines >= floor)[0]
        near = near[np.lexsort((-matrix.rows[near], -cosines[near]))]
        return matrix.rows[near].tolist(), np.clip(cosines[near], -1.0, 1.0).tolist()

    def _matrix(self, connection: sqlite3.Connection, scope: str, space: str, dimensions: int) -> _Matrix:
        import numpy as np

        # The read pins the state that the version then speaks of.
        connection.execute("SELECT 1 FROM meta LIMIT 1").fetchone()
        version = int(connection.execute("PRAGMA data_version").fetchone()[0])
        stale = version != self._version
        matrix = self._matrices.pop((scope, space), None)
        if stale:
            # Those not asked for now are read anew when they are.
            self._matrices.clear()
            self._version = version
        fresh = matrix is None
        if matrix is None:
            matrix = _Matrix(
                np.empty((0, dimensions), dtype=np.float32), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
            )
        if fresh or stale:
            _follow(connection, matrix, scope, space, dimensions)
        self._matrices[(scope, space)] = matrix
        while len(self._matrices) > _MATRICES:
            self._matrices.pop(next(iter(self._matrices)))
        return matrix


def _follow(connection: sqlite3.Connection, matrix: _Matrix, scope: str, space: str, dimensions: int) -> None:
    """Bring a matrix in step with the file: only what is new is read."""
    import numpy as np

    query = "SELECT row, seq FROM vectors WHERE scope = ? AND space = ?"
    live = dict(connection.execute(query, (scope, space)).fetchall())
    held = dict(zip(matrix.rows[: matrix.count].tolist(), matrix.seqs[: matrix.count].tolist(), strict=True))
    for row, seq in held.items():
        if live.get(row) != seq:
            matrix.drop(row)
    missing = [seq for row, seq in live.items() if held.get(row) != seq]
    if len(missing) == len(live) or len(missing) > _SINGLY:
        found = connection.execute("SELECT row, seq, vector FROM vectors WHERE scope = ? AND space = ?", (scope, space))
    else:
        found = connection.execute(
            f"SELECT row, seq, vector FROM vectors WHERE seq IN ({','.join('?' * len(missing))})", missing  # noqa: S608
        )  # fmt: skip
    for row, seq, data in found:
        if len(data) == dimensions * 4 and held.get(row) != seq:
            matrix.put(row, seq, np.frombuffer(data, dtype="<f4"))
