"""The states of a flush (protocol, section 9): pure; every function takes a book and gives the next one.

*issued* → *written* or *unwritten* when the agent's turn is over; *missed* where a compaction came without its event.
A flush is named by session, trigger and identity (a transcript position, a prompt id): the same one again is the same
flush. The number grows when a flush is issued, and only then. An idle flush has no agent, so nothing was written in
it: it is unwritten from the start, and leaves a pending item.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from apm_hooks.fastlane import hash_of
from apm_hooks.flushrecords import Book, Flush, Outcome, Pending, PendingKind, Status, Trigger
from apm_hooks.records import LIMITS, Limits

_OF_FLUSHES = frozenset((PendingKind.UNWRITTEN, PendingKind.IDLE, PendingKind.MISSED))
_BOUNDED_NUMBER = 10**12


@dataclass(frozen=True, slots=True)
class Ask:
    """A request to flush. `session` is the session's name in file names, `session_id` the host's own. `identity` tells
    this event from others of its kind (empty: cannot be told). `at` is ISO-8601 with offset. `changed` are the files
    that differ from the last record. `told`: a directive reaches the agent now. `text` is for the pending item that an
    idle flush leaves."""

    trigger: Trigger
    session: str
    at: str
    session_id: str = ""
    identity: str = ""
    usage_percent: float | None = None
    changed: tuple[str, ...] = ()
    told: bool = False
    text: str = ""


def worth(trigger: Trigger, messages: int | None, tokens: int | None, limits: Limits = LIMITS) -> bool:
    """Whether there is something to save: `/remem` always; else 10 messages or 1000 tokens since the last flush. What a
    host does not count is taken for enough."""
    if trigger is Trigger.REMEM:
        return True
    if messages is None or tokens is None:
        return messages != 0 and tokens != 0
    return messages >= limits.flush_messages or tokens >= limits.flush_tokens


def open_flushes(book: Book, session: str, spare: str = "") -> tuple[Flush, ...]:
    """The session's flushes that are not settled yet, but for those of the identity `spare`, if it is one."""
    return tuple(
        flush for flush in book.flushes
        if flush.session == session and flush.outcome is Outcome.ISSUED and not (spare and flush.identity == spare)
    )  # fmt: skip


def covered(book: Book, session: str, generation: int) -> bool:
    """Whether a flush of the session was recorded after the state had that generation."""
    late = (flush for flush in book.flushes if flush.session == session and flush.generation > generation)
    return any(flush.outcome is not Outcome.MISSED for flush in late)


def known(book: Book, ask: Ask) -> Status | None:
    """`same` for an event that was recorded already, `running` for one that falls into a flush of its session, None for
    a new one. `/remem` is never part of another flush, and nothing else makes idle time end."""
    if ask.identity and _mark(ask) in book.seen.get(ask.session, ()):
        return Status.SAME
    if ask.trigger is Trigger.PRE_COMPACTION and open_flushes(book, ask.session):
        return Status.RUNNING
    return None


def issue(book: Book, ask: Ask, limits: Limits = LIMITS) -> tuple[Book, Status, Flush | None]:
    """Record a request. Returns the next book, what became of it, and the flush that it is or falls into."""
    status = known(book, ask)
    if status is not None:
        return _seen(book, ask, limits), status, _latest(book, ask.session)
    idle = ask.trigger is Trigger.IDLE
    number = next_number(book)
    flush = Flush(
        number=number, trigger=ask.trigger, session=ask.session, at=ask.at, generation=book.generation,
        outcome=Outcome.UNWRITTEN if idle else Outcome.ISSUED, identity=ask.identity, told=ask.told and not idle,
        changed=ask.changed[: limits.flush_paths], changes=len(ask.changed),
    )  # fmt: skip
    after = replace(
        book, number=number, last_time=ask.at, usage_percent=ask.usage_percent, session_id=ask.session_id or None,
        flushes=_bounded((*book.flushes, flush), limits),
    )  # fmt: skip
    if idle:
        after = add_pending(after, PendingKind.IDLE, ask.text, flush=flush, limits=limits)
    return _seen(after, ask, limits), Status.ISSUED, flush


def next_number(book: Book) -> int:
    """The number of the next flush; nonsense in the file starts over at 1 rather than growing without bound."""
    number = book.number
    return 1 if number is None or not 0 <= number < _BOUNDED_NUMBER else number + 1


def settle(
    book: Book, session: str, wrote_since: Collection[int], text: str, limits: Limits = LIMITS, spare: str = ""
) -> tuple[Book, tuple[Flush, ...]]:
    """The session's turn is over: its open flushes, but for those that `open_flushes` spares, become *written* or
    *unwritten*.

    `wrote_since` are the generations that noticed a change of a file. A flush is written where one is later than its
    own; with it go the pending items that earlier flushes left. One that is unwritten leaves `text` as a pending item.
    Returns the next book and the flushes as they ended.
    """
    ended: list[Flush] = []
    after = book
    for flush in open_flushes(book, session, spare):
        written = any(generation > flush.generation for generation in wrote_since)
        over = replace(flush, outcome=Outcome.WRITTEN if written else Outcome.UNWRITTEN)
        ended.append(over)
        after = replace(after, flushes=tuple(over if each == flush else each for each in after.flushes))
        if written:
            kept = (item for item in after.pending if item.kind not in _OF_FLUSHES or item.number > flush.number)
            after = replace(after, pending=tuple(kept))
        else:
            after = add_pending(after, PendingKind.UNWRITTEN, text, flush=over, limits=limits)
    return replace(after, flushes=_bounded(after.flushes, limits)), tuple(ended)


def miss(book: Book, ask: Ask, limits: Limits = LIMITS) -> tuple[Book, Flush]:
    """A compaction came without its event: what the context held may be lost. It is no flush: neither number nor time
    move. The same identity again is the same compaction."""
    same = (each for each in book.flushes if (each.session, each.outcome) == (ask.session, Outcome.MISSED))
    known = next((each for each in same if ask.identity and each.identity == ask.identity), None)
    if known is not None:
        return book, known
    flush = Flush(0, Trigger.PRE_COMPACTION, ask.session, ask.at, book.generation, Outcome.MISSED, ask.identity)
    after = replace(book, flushes=_bounded((*book.flushes, flush), limits))
    missed = replace(flush, number=book.number or 0)
    return add_pending(after, PendingKind.MISSED, ask.text, flush=missed, limits=limits), flush


def tell(book: Book, session: str, *, told: bool = True) -> Book:
    """The session's open flushes have reached their agent, or have not."""
    return replace(book, flushes=tuple(
        replace(flush, told=told) if flush.session == session and flush.outcome is Outcome.ISSUED else flush
        for flush in book.flushes
    ))  # fmt: skip


def add_pending(
    book: Book, kind: PendingKind, text: str, *, flush: Flush | None = None, at: str = "", limits: Limits = LIMITS
) -> Book:
    """Add a pending item. A session has at most one item of each kind that comes from flushes; the same text of the
    same kind is not added twice. Past the bound, items of flushes go first, the oldest first."""
    session, number = (flush.session, flush.number) if flush else ("", 0)
    kept = [
        item for item in book.pending
        if not (kind in _OF_FLUSHES and item.kind is kind and item.session == session)
        and (item.kind, item.text) != (kind, text)
    ]  # fmt: skip
    taken = {item.id for item in kept}
    # Named by what it says: an id that was noted down never comes to mean another item.
    name = hash_of(kind.value, text, session, str(number))
    fresh = next(name[:size] for size in range(6, len(name) + 1) if name[:size] not in taken)
    kept.append(Pending(fresh, kind, text, session, number, flush.at if flush else at))
    while len(kept) > limits.pending_items:
        oldest = next((item for item in kept if item.kind in _OF_FLUSHES), kept[0])
        kept.remove(oldest)
    return replace(book, pending=tuple(kept))


def done_pending(book: Book, ids: Iterable[str]) -> Book:
    """Take pending items out by id; raises KeyError for one that is not there."""
    gone = set(ids)
    missing = gone - {item.id for item in book.pending}
    if missing:
        raise KeyError(", ".join(sorted(missing)))
    return replace(book, pending=tuple(item for item in book.pending if item.id not in gone))


def last_outcome(book: Book) -> Outcome | None:
    """The outcome that the "last flush" line tells; None where nothing was ever recorded."""
    return book.flushes[-1].outcome if book.flushes else None


def shrunk(before: Book, after: Book, modified: Iterable[str]) -> list[str]:
    """Which of these files lost more than half in a flush turn: a whole-file write may have wiped older notes. What is
    meant to be overwritten does not count."""
    found = []
    for path in modified:
        old, new = before.files.get(path), after.files.get(path)
        if old and new and new[1] * 2 < old[1] and old[1] > 400 and not path.endswith("/attention.md"):
            found.append(path)
    return found


def _mark(ask: Ask) -> str:
    return f"{ask.trigger.value}:{ask.identity}"


def _seen(book: Book, ask: Ask, limits: Limits) -> Book:
    """The book with this event's identity noted, newest session last, both bounded."""
    if not ask.identity:
        return book
    marks = book.seen.get(ask.session, ())
    if _mark(ask) in marks:
        return book
    seen = {name: kept for name, kept in book.seen.items() if name != ask.session}
    seen[ask.session] = (*marks, _mark(ask))[-limits.flush_identities :]
    for name in list(seen)[: max(len(seen) - limits.flush_sessions, 0)]:
        del seen[name]
    return replace(book, seen=seen)


def _latest(book: Book, session: str) -> Flush | None:
    return next((flush for flush in reversed(book.flushes) if flush.session == session), None)


def _bounded(flushes: tuple[Flush, ...], limits: Limits) -> tuple[Flush, ...]:
    """The latest flushes; an open one stays however old it is, within a bound of its own."""
    late = flushes[-limits.flush_records :]
    early = [flush for flush in flushes[: -limits.flush_records] if flush.outcome is Outcome.ISSUED]
    return (*early[-limits.flush_records :], *late)
