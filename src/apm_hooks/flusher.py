"""The flows of a flush (protocol, section 9): issue, settle, miss, idle. Each is readable top to bottom.

The record comes first, under the scope's lock; plugins, the aggregate and the directive follow without it. A record
that cannot be made never costs the agent its directive, nor the host its turn: it is logged, and said in one line.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from apm_hooks import activity, aggregate, directive, flush, images, ledger, scanning, texts
from apm_hooks.delta import Stat
from apm_hooks.engine import Engine
from apm_hooks.errors import ApmError
from apm_hooks.events import FlushAnswer, Flushed, FlushRequest
from apm_hooks.files import read_bytes
from apm_hooks.flush import Ask
from apm_hooks.flushrecords import Book, Delta, Flush, FlushReport, Outcome, PendingKind, Status, Trigger
from apm_hooks.flushstate import read_state, state_path, updating
from apm_hooks.records import HostEvent, Scope, ScopeDecision, ScopeKind

Mark = Mapping[str, Any]

_within: ContextVar[tuple[tuple[object, str], ...]] = ContextVar("apm_hooks_flushes", default=())
"""The flushes that are being made, and that the code at hand was called by, as (mark of its own, session)."""


@dataclass(frozen=True, slots=True)
class Live:
    """A session at work: its event, whose memory it may touch, and its name in file names."""

    event: HostEvent
    decision: ScopeDecision
    scope: Scope
    name: str

    @property
    def folder(self) -> str:
        return activity.folder_name(str(self.scope))


@dataclass(slots=True)
class Recorded:
    """What one visit to the state file left; `digests` are those that were taken before its lock."""

    digests: dict[tuple[str, Stat], str] = field(default_factory=dict)
    book: Book = field(default_factory=Book)
    delta: Delta = field(default_factory=Delta)
    problem: str = ""
    shrunk: list[str] = field(default_factory=list)


def _code(error: Exception) -> str:
    """An error's code for the log; the system's own has none."""
    return error.code if isinstance(error, ApmError) else "system"


class Flusher:
    """Flushes of the workspace of `engine`. `moment` gives the activity's clocks, as `activity.now` does."""

    def __init__(self, engine: Engine, moment: Callable[[], activity.Moment] | None = None) -> None:
        self.engine = engine
        self.moment = moment or self._now
        self._running: set[object] = set()

    def _now(self) -> activity.Moment:
        # A caller's own clock is the only one there is: the machine's would contradict it.
        return activity.now() if self.engine.clock is time.time else (int(self.engine.clock() * 1e9), 0, "")

    def issue(
        self, live: Live, trigger: Trigger, *, text: str = "", identity: str = "", tell: bool = True,
        usage_percent: float | None = None,
    ) -> tuple[FlushReport, Flush | None]:  # fmt: skip
        """Record that memory must be written back now. `tell`: a directive reaches the agent now.

        A call from inside a flush of the same session (a plugin that compacts) is answered with `running`; one from
        another thread has its turn.
        """
        if self.is_within(live):
            return FlushReport(Status.RUNNING, trigger, live.scope), None
        own = object()
        self._running.add(own)
        before = _within.set((*_within.get(), (own, live.name)))
        try:
            return self._issue(live, trigger, text, identity, tell, usage_percent)
        finally:
            _within.reset(before)
            self._running.discard(own)

    def is_within(self, live: Live) -> bool:
        """Whether this is called from inside a flush of the same session."""
        return any(own in self._running and name == live.name for own, name in _within.get())

    def known(self, live: Live, trigger: Trigger, identity: str) -> FlushReport | None:
        """The report on an event that is recorded already, or that comes from inside a flush of its session; None for a
        new one, and where that cannot be told. It takes no lock."""
        if self.is_within(live):
            return FlushReport(Status.RUNNING, trigger, live.scope)
        report = None
        with self._forgiving(live):
            book = read_state(self.engine.root, live.scope).book if identity else Book()
            if flush.known(book, Ask(trigger, live.name, "", identity=identity)) is Status.SAME:
                report = FlushReport(Status.SAME, trigger, live.scope, book.number, flush.last_outcome(book),
                                     pending=book.pending)  # fmt: skip
        return report

    def _issue(
        self, live: Live, trigger: Trigger, text: str, identity: str, tell: bool, usage_percent: float | None
    ) -> tuple[FlushReport, Flush | None]:
        scope = live.scope
        # Without an id of the host's the session's name: a key may hold the id of a chat.
        ask = Ask(trigger, live.name, self.stamp(), live.event.session_id or live.name, identity, usage_percent,
                  told=tell)  # fmt: skip
        status, made = Status.FAILED, None
        recorded = Recorded()
        warning = ""
        try:
            self._intend(live, trigger, self._warm(scope, recorded).generation)
            with self._visit(live, recorded) as found:
                book = found
                if flush.known(book, ask) is None:
                    book = self._watched(self._scanned(scope, book, recorded), book, recorded)
                    idle = directive.idle_text(ask.at, recorded.delta.changed) if trigger is Trigger.IDLE else ""
                    ask = replace(ask, changed=recorded.delta.changed, text=idle)
                recorded.book, status, made = flush.issue(book, ask, self.engine.limits)
        except (ApmError, OSError) as error:
            # What was made of the book did not get into the file.
            status, made, recorded = Status.FAILED, None, Recorded(delta=recorded.delta)
            self.engine.journal.log(_code(error), live.decision, str(error))
            warning = texts.FLUSH_FAILED.format(error=error)
        answers: tuple[FlushAnswer, ...] = ()
        if status in (Status.ISSUED, Status.FAILED):
            answers = self.engine.extensions.flush(FlushRequest(
                live.event, scope, self.engine.root, trigger.value, text, usage_percent, recorded.delta.changed
            ))  # fmt: skip
            self._keep_pending(live, recorded, answers, tell=tell)
        if status is Status.ISSUED and made is not None:
            self._recorded(live, recorded, (made,))
        report = FlushReport(
            status, trigger, scope, recorded.book.number, made.outcome if made else None, recorded.delta,
            recorded.book.pending, answers=answers, warning=warning or recorded.problem,
        )  # fmt: skip
        return report, made

    def covers(self, live: Live, generation: int) -> bool | None:
        """Whether a flush of the session was recorded after the state had that generation; None where it cannot be
        read."""
        try:
            return flush.covered(read_state(self.engine.root, live.scope).book, live.name, generation)
        except (ApmError, OSError) as error:
            self.engine.journal.log(_code(error), live.decision, str(error))
            return None

    def settle(self, live: Live, *, spare: str = "") -> FlushReport | None:
        """The session's turn is over: what was written in it is stamped. None where no flush of it was open but one of
        the identity `spare`."""
        recorded = Recorded()
        ended: tuple[Flush, ...] = ()
        if not os.path.lexists(os.path.join(self.engine.root, state_path(live.scope))):
            return None
        try:
            if not flush.open_flushes(self._warm(live.scope, recorded, live.name), live.name, spare):
                return None
            with self._visit(live, recorded) as book:
                if still := flush.open_flushes(book, live.name, spare):
                    scanned = self._watched(self._scanned(live.scope, book, recorded), book, recorded)
                    latest = still[-1]
                    text = directive.unwritten_text(latest.trigger, latest.number, latest.at)
                    since = {entry[5] for entry in scanned.files.values()} | set(scanned.gone.values())
                    recorded.book, ended = flush.settle(scanned, live.name, since, text, self.engine.limits, spare)
        except (ApmError, OSError) as error:
            self.engine.journal.log(_code(error), live.decision, str(error))
            return FlushReport(Status.FAILED, Trigger.REMEM, live.scope, warning=texts.FLUSH_FAILED.format(error=error))
        if not ended:
            return None
        self._recorded(live, recorded, ended)
        last = ended[-1]
        warning = texts.SHRUNK.format(path=recorded.shrunk[0]) if recorded.shrunk else recorded.problem
        return FlushReport(Status.SETTLED, last.trigger, live.scope, recorded.book.number, last.outcome, recorded.delta,
                           recorded.book.pending, warning=warning)  # fmt: skip

    def miss(self, live: Live, identity: str) -> FlushReport:
        """A compaction came without its event (protocol, section 9): what the context held may be lost."""
        ask = Ask(Trigger.PRE_COMPACTION, live.name, self.stamp(), identity=identity)
        ask = replace(ask, text=directive.missed_text(ask.at))
        recorded = Recorded()
        warning, made = "", None
        try:
            with self._visit(live, recorded) as book:
                recorded.book, made = flush.miss(book, ask, self.engine.limits)
        except (ApmError, OSError) as error:
            made, recorded = None, Recorded()
            self.engine.journal.log(_code(error), live.decision, str(error))
            warning = texts.FLUSH_FAILED.format(error=error)
        self.engine.journal.log("missed", live.decision, texts.MISSED_LOG)
        if made is not None:
            self._recorded(live, recorded, (made,))
        return FlushReport(Status.SETTLED if made else Status.FAILED, Trigger.PRE_COMPACTION, live.scope,
                           recorded.book.number, Outcome.MISSED, pending=recorded.book.pending,
                           warning=warning)  # fmt: skip

    def told(self, live: Live, *, told: bool = True) -> None:
        """Whether the session's open flush has reached its agent."""
        recorded = Recorded()
        with self._forgiving(live), self._visit(live, recorded) as book:
            recorded.book = flush.tell(book, live.name, told=told)

    def idle(self, live: Live, mark: Mark, *, worth: bool = True) -> FlushReport | None:
        """The session went quiet, or ended: settle what is open, flush what is not saved, once; then its mark goes.

        Without anything `worth` saving nothing is flushed. None where there was nothing to do. Where nothing could be
        recorded the mark stays for the next time.
        """
        report = self.settle(live) if mark["open"] else None
        if report is not None and report.status is Status.FAILED:
            return report
        position = int(mark["position"])
        if mark["since"] and worth:
            # A damaged mark may say nothing that tells it from an earlier one.
            identity = f"{mark.get('born')}:{mark['at']}:{mark['since']}" if mark["at"] else ""
            report, _ = self.issue(live, Trigger.IDLE, identity=identity, tell=False)
            if report.status in (Status.FAILED, Status.RUNNING):
                return report
            with suppress(OSError, ValueError):
                position = os.stat(mark["transcript"]).st_size
        # Its context is taken for gone: what it is told next begins an epoch.
        self.engine.journal.note(live.name, live.decision, ledger.end_entry(position))
        if not activity.drop(self.engine.root, live.folder, live.name, mark):
            # It went on meanwhile: only what came after counts from here. Another mark, or one that was flushed, says
            # nothing of what this one did.
            activity.touch(self.engine.root, live.folder, live.name, lambda now: {
                **now, "since": now["since"] - mark["since"], "asked": 0,
            } if now.get("born") == mark.get("born") and now["since"] >= mark["since"] else None)  # fmt: skip
        return report

    def status(self, scope: Scope) -> tuple[Book, Delta, str]:
        """The scope's book, what differs from it now, and what is wrong with its file (empty: nothing). Writes nothing.

        Raises MemoryFileError.
        """
        stored = read_state(self.engine.root, scope)
        delta = scanning.changed_since(self.engine.root, scope, stored.book, limits=self.engine.limits)
        return stored.book, delta, stored.problem

    def stamp(self) -> str:
        """Now, as ISO-8601 with the offset of the workspace's time zone."""
        when = datetime.fromtimestamp(self.engine.clock(), UTC).astimezone(self.engine.zone())
        return when.isoformat(timespec="seconds")

    @contextmanager
    def _visit(self, live: Live, recorded: Recorded) -> Iterator[Book]:
        """The scope's book under its lock, with the generation that this visit will have; what `recorded.book` is left
        as gets written, and summed up in the aggregate."""
        with updating(self.engine.root, live.scope, seconds=self._patience()) as held:
            book = replace(held.book, generation=held.book.generation + 1)
            recorded.book = book
            yield book
            changed = recorded.book != book
            if changed:
                held.book = replace(recorded.book, generation=held.book.generation)
        recorded.problem = recorded.problem or held.problem
        if changed:
            recorded.book = held.book
            self._sum_up(live, held.book)

    def _sum_up(self, live: Live, book: Book) -> None:
        """Put what a group's state says now into its row of the aggregate."""
        if live.scope.kind is ScopeKind.GROUP:
            with self._forgiving(live):
                aggregate.patch_row(self.engine.root, live.scope.name, book, at=self.stamp())

    def _intend(self, live: Live, trigger: Trigger, generation: int) -> None:
        """Say in the session's mark that a flush is about to be recorded that covers its messages so far: should this
        process die before it can say that it was, `Sessions.mark` finds out."""
        opens = {} if trigger is Trigger.IDLE else {"open": 1}
        # A mark that cannot be written costs what it guards against, not the flush.
        with suppress(OSError):
            activity.touch(self.engine.root, live.folder, live.name, lambda now: {
                **now, **opens, "asked": now["since"], "before": generation,
            })  # fmt: skip

    def _warm(self, scope: Scope, recorded: Recorded, session: str = "") -> Book:
        """The scope's book. What was never hashed is hashed before the lock is taken, since a first look at a large
        memory takes seconds; with a `session`, only where a flush of it is open."""
        book = read_state(self.engine.root, scope).book
        if not book.files and (not session or flush.open_flushes(book, session)):
            scanning.compare(self.engine.root, scope, book, generation=0, limits=self.engine.limits,
                             cache=recorded.digests, now_ns=time.time_ns)  # fmt: skip
        return book

    def _scanned(self, scope: Scope, book: Book, recorded: Recorded) -> Book:
        files, gone, recorded.delta = scanning.compare(
            self.engine.root, scope, book, generation=book.generation, limits=self.engine.limits,
            cache=recorded.digests, now_ns=time.time_ns,
        )  # fmt: skip
        return replace(book, files=files, gone=gone)

    def _watched(self, book: Book, before: Book, recorded: Recorded) -> Book:
        """The book with a lead for each file that lost most of its text while a flush of the scope was open, whose
        session's turn may have done it: what this record notices, no later one will."""
        if any(each.outcome is Outcome.ISSUED for each in before.flushes):
            recorded.shrunk = flush.shrunk(before, book, recorded.delta.modified)
        for path in recorded.shrunk:
            book = flush.add_pending(book, PendingKind.LEAD, texts.SHRUNK.format(path=path), at=self.stamp(),
                                     limits=self.engine.limits)  # fmt: skip
        return book

    def _recorded(self, live: Live, recorded: Recorded, flushes: tuple[Flush, ...]) -> None:
        """What follows a record: copies of what changed, the observers."""
        with self._forgiving(live):
            self._keep_images(live.scope, recorded)
        for path in recorded.shrunk:
            self.engine.journal.log("shrunk", live.decision, texts.SHRUNK.format(path=path))
        for each in flushes:
            self.engine.extensions.flushed(Flushed(
                live.event, live.scope, self.engine.root, each.trigger.value, each.outcome.value, recorded.delta.changed
            ))  # fmt: skip

    def _keep_images(self, scope: Scope, recorded: Recorded) -> None:
        """Copies of what changed, the latest first, so that a later write can be undone."""
        paths = {*recorded.delta.added, *recorded.delta.modified} & recorded.book.files.keys()
        latest = sorted(paths, key=lambda path: recorded.book.files[path][0], reverse=True)
        for path in latest[: self.engine.limits.flush_images]:
            found = read_bytes(self.engine.root, path)
            if found is not None:
                images.keep_image(self.engine.root, scope, path, found[0])

    def _keep_pending(self, live: Live, recorded: Recorded, answers: tuple[FlushAnswer, ...], *, tell: bool) -> None:
        """Keep what plugins leave for later; where nobody can be told now, what they want said too."""
        items = [item for answer in answers for item in answer.pending]
        items += [answer.directive for answer in answers if answer.directive and not tell]
        if not items:
            return
        with self._forgiving(live), self._visit(live, recorded):
            for item in items:
                shown = " ".join(item.split())[: self.engine.limits.pending_chars]
                recorded.book = flush.add_pending(
                    recorded.book, PendingKind.PLUGIN, shown, at=self.stamp(), limits=self.engine.limits
                )  # fmt: skip

    @contextmanager
    def _forgiving(self, live: Live) -> Iterator[None]:
        """What may fail without harm to the record is logged."""
        try:
            yield
        except (ApmError, OSError) as error:
            self.engine.journal.log(_code(error), live.decision, str(error))

    def _patience(self) -> float:
        return min(self.engine.limits.lock_seconds, self.engine.limits.hook_seconds / 4)
