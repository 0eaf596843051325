"""`memory/groups/flush-state.json`: one look at the flushes of all groups (protocol, section 9).

It holds counts, times and hashes, and no group's text. A group's flush patches its own row; `rebuild` makes all rows
anew from the groups' own states. It has a lock of its own, and is mended and written as a state file is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from apm_hooks.errors import MemoryFileError
from apm_hooks.fastlane import hash_of
from apm_hooks.flush import last_outcome
from apm_hooks.flushrecords import Book
from apm_hooks.flushstate import UPGRADE, Store, read_state
from apm_hooks.locking import locked_at
from apm_hooks.opening import shown
from apm_hooks.records import LIMITS, Scope, ScopeKind
from apm_hooks.statefile import Restored, time_of
from apm_hooks.statetext import FORMAT, OWN_KEY, dumper, own_text, rewritten

PATH = "memory/groups/flush-state.json"

NO_ROW = "{path} has no row for the group {name}"
STALE_ROW = "{path} has a row for the group {name} that does not say what its own state says"
NO_GROUP = "{path} has a row for {name}, which is no group's name any more"
TOTALS = "{path} has totals that do not follow from its rows"
UNREADABLE = "The state of the group {name} cannot be read: {error}"

_ROW = {"last_flush_time": (str, None), "flush_number": (int, None), "outcome": (str, None), "pending": (int,),
        "session_id": (str, None), "generation": (int,)}  # fmt: skip


def patch_row(root: str, name: str, book: Book, *, at: str, seconds: float = LIMITS.lock_seconds) -> bool:
    """Put what `book`, the state of the group `name`, says into its row; False where that stands there already, or
    something later does: a row moves forward only, by the generation of the group's own state.

    `at` is the time of the patch, ISO-8601 with offset. Raises LockTimeoutError, and MemoryFileError where the
    aggregate cannot be read or written; it is then untouched.
    """
    with _updating(root, seconds) as (store, state):
        rows = _rows(state)
        if name in rows and rows[name]["generation"] > book.generation:
            return False
        return _write(store, state, {**rows, name: _row(book)}, at)


def rebuild(root: str, names: Iterable[str], *, seconds: float = LIMITS.lock_seconds) -> bool:
    """Make the rows of the groups `names` anew from their own states, and drop all others: a group that is mapped no
    more keeps its files and has no row. True where that changed anything.

    The row of a group whose state cannot be read stays. Raises as `patch_row` does.
    """
    wanted = list(names)
    if not wanted and _store(root).read()[1] is None:
        return False
    with _updating(root, seconds) as (store, state):
        rows = _rows(state)
        fresh: dict[str, dict[str, Any]] = {}
        for name in wanted:
            try:
                row = _row_now(root, name)
            except MemoryFileError:
                row = rows.get(name)
            if row is not None:
                fresh[name] = row
        at = time_of((state.own or {}).get("at"))
        return _write(store, state, fresh, at)


def check(root: str, names: Iterable[str]) -> list[str]:
    """What is wrong with the aggregate and with the states of the groups `names`: one sentence each. Writes nothing.

    The sentences name groups: they are the operator's, and no group may see them.
    """
    try:
        state, _ = _store(root).read()
    except MemoryFileError as error:
        return [str(error)]
    rows = _rows(state)
    told = [state.problem] if state.problem else []
    wanted = list(names)
    for name in wanted:
        try:
            stored = read_state(root, Scope(ScopeKind.GROUP, name))
        except MemoryFileError as error:
            told.append(UNREADABLE.format(name=shown(name), error=error))
            continue
        told += [stored.problem] if stored.problem else []
        row = _row(stored.book) if stored.seen is not None else None
        if row != rows.get(name):
            told.append((STALE_ROW if name in rows else NO_ROW).format(path=PATH, name=shown(name)))
    told += [NO_GROUP.format(path=PATH, name=shown(name)) for name in sorted(rows.keys() - set(wanted))]
    if rows and not _add_up(state, rows):
        told.append(TOTALS.format(path=PATH))
    return told


def _store(root: str) -> Store:
    return Store(root, PATH, hash_of("groups"))


@contextmanager
def _updating(root: str, seconds: float) -> Iterator[tuple[Store, Restored]]:
    store = _store(root)
    with locked_at(root, PATH + ".lock", seconds=seconds):
        state, _ = store.read()
        if state.document.newer:
            raise MemoryFileError(state.problem, file=PATH, remedy=UPGRADE)
        store.set_aside(state)
        yield store, state


def _row_now(root: str, name: str) -> dict[str, Any] | None:
    stored = read_state(root, Scope(ScopeKind.GROUP, name))
    return _row(stored.book) if stored.seen is not None else None


def _row(book: Book) -> dict[str, Any]:
    outcome = last_outcome(book)
    return {
        "last_flush_time": time_of(book.last_time), "flush_number": book.number,
        "outcome": outcome.value if outcome else None, "pending": len(book.pending),
        "session_id": hash_of(book.session_id) if book.session_id else None, "generation": book.generation,
    }  # fmt: skip


def _rows(state: Restored) -> dict[str, dict[str, Any]]:
    """The rows that are whole; what else stands in one goes with the next write."""
    groups = (state.own or {}).get("groups")
    found = groups.items() if isinstance(groups, dict) else ()
    return {name: {key: row[key] for key in _ROW} for name, row in found if _is_row(row)}


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and all(
        (row.get(key) is None and None in kinds) or (key in row and type(row[key]) in kinds)
        for key, kinds in _ROW.items()
    )  # fmt: skip


def _totals(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, object]:
    # Of two at the same time the first by name, whatever the order in which they were put in.
    timed = [rows[name] for name in sorted(rows) if time_of(rows[name]["last_flush_time"])]
    latest = max(timed, key=lambda row: _instant(row["last_flush_time"]), default=None)
    return {
        "last_flush_time": latest["last_flush_time"] if latest else None,
        "flush_number": sum(row["flush_number"] or 0 for row in rows.values()),
        "context_usage_at_flush": None,
        "session_id": latest["session_id"] if latest else None,
        "pending_items": [],
    }  # fmt: skip


def _instant(text: str) -> datetime:
    when = datetime.fromisoformat(text)
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def _add_up(state: Restored, rows: Mapping[str, Mapping[str, Any]]) -> bool:
    values = state.document.values
    return all(key in values and values[key] == total for key, total in _totals(rows).items())


def _write(store: Store, state: Restored, rows: Mapping[str, Mapping[str, Any]], at: str | None) -> bool:
    fits = _add_up(state, rows) or (not rows and state.own is None)
    if rows == _rows(state) and not state.repair and fits:
        return False
    encode = dumper()
    changed = {key: encode(total) for key, total in _totals(rows).items()}
    changed[OWN_KEY] = own_text({"format": FORMAT, "generation": state.generation + 1, "at": at, "groups": rows})
    store.write(rewritten(state.document, changed))
    return True
