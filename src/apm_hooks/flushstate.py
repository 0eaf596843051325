"""`flush-state.json` on disk: read without a lock, updated under one, mended where damaged (protocol, section 9)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo

from apm_hooks import texts
from apm_hooks.errors import MemoryFileError
from apm_hooks.fastlane import hash_of
from apm_hooks.files import Stamp, decode, read_bytes, read_settled, replace_bytes, stamp, state_directory
from apm_hooks.flushrecords import Book, Outcome, Trigger
from apm_hooks.locking import locked_at
from apm_hooks.records import DM, LIMITS, Limits, Scope
from apm_hooks.setaside import set_aside
from apm_hooks.statefile import Restored, book_of, doubtful, merged, restored
from apm_hooks.statetext import OWN_KEY, Document, parse

__all__ = [
    "DM_STATE", "OWN_KEY", "Held", "Store", "Stored", "last_flush_line", "read_state", "state_path", "store_of",
    "updating",
]  # fmt: skip

LAST_FLUSH_IDLE = "last flush: {when} (after a long silence, with no agent at hand: settle its pending items first)"
LAST_FLUSH_ISSUED = "last flush: {when} (its turn is not over yet, so that its outcome is not known)"
LAST_FLUSH_MISSED = (
    "last flush: {when} (since then the context was compacted without one, and what it held may be lost: settle the "
    "pending items first)"
)
NO_TEXT = "it is no text"
UPGRADE = "Upgrade apm-hooks."
TOO_LARGE = "would grow past {limit} bytes"
SPLIT_UP = "Keep fewer files in this memory, or remove what others wrote to this file."
NO_COPY = "The last good copy of {path} could not be kept: {error}"

DM_STATE = "memory/flush-state.json"
COPIES = "flush"

_LINES = {"idle": LAST_FLUSH_IDLE, "issued": LAST_FLUSH_ISSUED, "missed": LAST_FLUSH_MISSED}


@dataclass(frozen=True, slots=True)
class Stored:
    """A scope's state as it was read. `problem` is one sentence on what is wrong with the file (empty: nothing).
    `raw` is what the file holds besides, and `seen` the file's stamp (None: there is no file)."""

    book: Book
    problem: str = ""
    raw: Restored = field(default_factory=lambda: Restored(Document()))
    seen: Stamp | None = None


@dataclass(slots=True)
class Held:
    """A scope's state under its lock: set `book` to what it is to become.

    `problem` is one sentence on what was wrong with the file, or with its last good copy after the block (empty:
    nothing). `set_aside` is where the damaged file was kept (empty: it was none).
    """

    book: Book
    problem: str = ""
    set_aside: str = ""


@dataclass(frozen=True, slots=True)
class Store:
    """One state file and its last good copy, both below `root`; `name` names the copy."""

    root: str
    path: str
    name: str
    limits: Limits = LIMITS

    def read(self) -> tuple[Restored, Stamp | None]:
        """What counts of the file, and its stamp (None: there is no file); takes no lock and writes nothing.

        Raises MemoryFileError for what cannot be read, never for damage.
        """
        found = read_bytes(self.root, self.path, limit=self.limits.state_bytes)
        document = _document(found[0], self.path) if found else Document()
        if document.damage:
            # Half of what a tool that writes in place is about to save looks the same.
            found = read_settled(self.root, self.path, self.limits.state_bytes)
            document = _document(found[0], self.path) if found else Document()
        if found is None:
            return Restored(document), None
        return restored(document, self.copy() if doubtful(document) else None, self.path), found[1]

    def copy(self) -> Document | None:
        """The last good copy; None where there is none, or none that can be read."""
        try:
            found = read_bytes(self.root, f".apm/{COPIES}/{self.name}.json", limit=self.limits.state_bytes)
        except MemoryFileError:
            return None
        return _document(found[0], self.path) if found else None

    def set_aside(self, state: Restored) -> str:
        """Keep a damaged file under a second name, and return that; empty where it is not damaged.

        Raises MemoryFileError.
        """
        if not state.document.damage:
            return ""
        return set_aside(self.root, self.path, f"{_now():%Y%m%dT%H%M%SZ}", limits=self.limits)

    def write(self, data: bytes) -> str:
        """Replace the file, then its last good copy; returns what went wrong with the copy (empty: nothing).

        The caller holds the lock. Raises MemoryFileError; the old file is then untouched, unless the error says that
        the new one stands.
        """
        if len(data) > self.limits.state_bytes:
            raise MemoryFileError(TOO_LARGE.format(limit=self.limits.state_bytes), file=self.path, remedy=SPLIT_UP)
        replace_bytes(self.root, self.path, data)
        try:
            folder = state_directory(self.root, COPIES)
            replace_bytes(self.root, f"{folder}/{self.name}.json", data)
        except MemoryFileError as error:
            return NO_COPY.format(path=self.path, error=error)
        return ""


def state_path(scope: Scope) -> str:
    """Where the state of a scope lies, relative to the workspace (protocol, section 9)."""
    return DM_STATE if scope == DM else f"{scope.directory}/flush-state.json"


def store_of(root: str, scope: Scope, limits: Limits = LIMITS) -> Store:
    """The state file of a scope, and its last good copy."""
    return Store(root, state_path(scope), hash_of(str(scope)), limits)


def read_state(root: str, scope: Scope, *, limits: Limits = LIMITS) -> Stored:
    """The state of a scope, without a lock and without writing; an empty book where there is no file.

    A damaged file never raises: the book is then what was saved from it and from the last good copy, and `problem` says
    so. Raises MemoryFileError for what cannot be read: a link, FIFO or directory, a file past the bound, whatever the
    system refuses.
    """
    state, seen = store_of(root, scope, limits).read()
    return Stored(book_of(state), state.problem, state, seen)


@contextmanager
def updating(
    root: str, scope: Scope, *, seconds: float = LIMITS.lock_seconds, limits: Limits = LIMITS
) -> Iterator[Held]:
    """Hold a scope's state under its lock. Where `book` was changed in the block, or the file needs mending, it is
    merged into what others wrote, and the file is replaced durably, its generation one higher; `book` then is as
    written.

    Nothing is written where the block raises. Raises LockTimeoutError, and MemoryFileError for what cannot be read or
    written and for a state of a later version; the old file is then untouched.
    """
    store = store_of(root, scope, limits)
    with locked_at(root, store.path + ".lock", seconds=seconds):
        state, seen = store.read()
        if state.document.newer:
            raise MemoryFileError(state.problem, file=store.path, remedy=UPGRADE)
        if seen is None and (copy := store.copy()) is not None:
            # A person took the file away: all is new, but order goes on, since others remember the old one.
            state = replace(state, generation=restored(copy, None, store.path).generation)
        before = book_of(state)
        held = Held(before, state.problem, store.set_aside(state))
        yield held
        if held.book == before and not state.repair:
            return
        state, before, book = _caught_up(store, state, seen, before, held.book)
        problem = store.write(merged(state, before, book))
        held.book = replace(book, generation=state.generation + 1)
        held.problem = held.problem or problem


def _caught_up(
    store: Store, state: Restored, seen: Stamp | None, before: Book, after: Book
) -> tuple[Restored, Book, Book]:
    """The file, its book, and the book to write, where a tool that takes no lock has written in the meantime."""
    if stamp(store.root, store.path) == seen:
        return state, before, after
    fresh, _ = store.read()
    if fresh.document.newer:
        raise MemoryFileError(fresh.problem, file=store.path, remedy=UPGRADE)
    store.set_aside(fresh)
    now = book_of(fresh)
    if fresh.own is not None:
        done = {item.id for item in before.pending} - {item.id for item in now.pending}
        after = replace(after, pending=tuple(item for item in after.pending if item.id not in done))
    if (now.number or 0) > (after.number or 0):
        after = replace(after, number=now.number, last_time=now.last_time, usage_percent=now.usage_percent,
                        session_id=now.session_id)  # fmt: skip
    return replace(fresh, generation=max(fresh.generation, state.generation)), now, after


def last_flush_line(root: str, zone: tzinfo | None) -> str:
    """The DM's line on its last flush, in the workspace's time zone; `never` is a value of its own, and a state that
    cannot be read is neither. An outcome that is not "written" is told (protocol, section 6)."""
    try:
        found = read_bytes(root, DM_STATE, limit=LIMITS.state_bytes)
        document = _document(found[0], DM_STATE) if found else Document()
    except MemoryFileError:
        return texts.last_flush_line(texts.UNREADABLE_STATE, "")
    book = book_of(restored(document, None, DM_STATE))
    recorded = book.last_time or document.values.get("last_flush_time")
    if document.damage:
        return texts.last_flush_line(texts.UNREADABLE_STATE, "")
    outcome = _outcome(document)
    if recorded is None:
        return _line("never", outcome)
    try:
        when = datetime.fromisoformat(recorded).astimezone(zone)
    except (ValueError, TypeError, OverflowError):
        return texts.last_flush_line(texts.UNREADABLE_STATE, "")
    return _line(f"{when:%Y-%m-%d %H:%M}", outcome)


def _outcome(document: Document) -> str:
    """The outcome of the latest flush, as a word for the line; empty where another tool has flushed since."""
    own = document.values.get(OWN_KEY)
    if not isinstance(own, dict):
        return ""
    theirs, ours = document.values.get("flush_number"), own.get("number")
    if isinstance(theirs, int) and isinstance(ours, int) and theirs > ours:
        return ""
    outcome = str(own.get("outcome", ""))
    idle = outcome == Outcome.UNWRITTEN.value and own.get("trigger") == Trigger.IDLE.value
    return "idle" if idle else outcome


def _line(when: str, outcome: str) -> str:
    template = _LINES.get(outcome)
    return template.format(when=when) if template else texts.last_flush_line(when, outcome)


def _document(data: bytes, path: str) -> Document:
    try:
        return parse(_text(data, path))
    except MemoryFileError:
        return Document(damage=NO_TEXT)


def _text(data: bytes, path: str) -> str:
    """The text of a state file. Line ends do not matter in JSON: plain UTF-8 is not looked through for them."""
    if b"\0" not in data:
        with suppress(UnicodeDecodeError):
            return data.removeprefix(b"\xef\xbb\xbf").decode()
    return decode(data, path)[0]


def _now() -> datetime:
    return datetime.now(UTC)
