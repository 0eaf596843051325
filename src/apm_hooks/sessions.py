"""Live sessions of a workspace: what each event means for the flushes of its session and of those that went quiet.

A mark a session (`activity`) says when it was last at work, how many messages came since its last flush, and where
its compaction stands. The state file decides; a mark that is lost costs no record, and none is made twice.

Besides, a mark says: `born`, which no other mark does; `early`, the cycle whose early flush was asked for; `owed`, the
missed compaction that is not recorded yet; `asked` and `before`, how many messages a flush covers that was about to be
recorded when the state had the generation `before`. The last two are for whoever comes after a process that died.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from apm_hooks import activity, texts
from apm_hooks.errors import ApmError, SettingsError
from apm_hooks.flusher import Flusher, Live, Mark
from apm_hooks.flushrecords import FlushReport, Status, Trigger
from apm_hooks.records import DM, HostEvent, Scope, ScopeDecision, ScopeKind, Source
from apm_hooks.usage import Threshold, early_threshold, percent_of

_AT_ONCE = 20
"""So many quiet sessions are flushed by one event; the next event, or a sweep, does the rest."""

_ID_CHARS = 250
"""A mark has room for a host's id of so many characters; a longer one is told by the session's name."""


class Sessions:
    """What the events of sessions do to their flushes."""

    def __init__(self, flusher: Flusher) -> None:
        self.flusher = flusher
        self.engine = flusher.engine

    @property
    def idle_seconds(self) -> float:
        """A session that was quiet for so long is flushed."""
        return self.engine.workspace.settings.idle_minutes * 60.0

    def mark(self, live: Live) -> Mark | None:
        """The session's mark, with what a process that died left undone made up for; None where it has none or it
        cannot be read."""
        mark = activity.read_mark(self.engine.root, live.folder, live.name)
        return self._made_up(live, mark) if mark is not None else None

    def is_open(self, scope: Scope, name: str) -> bool:
        """Whether a flush of the session is not settled yet, as its mark tells."""
        mark = activity.read_mark(self.engine.root, activity.folder_name(str(scope)), name)
        return bool(mark and mark["open"])

    def started(self, live: Live) -> None:
        """A model context begins or comes back. Its turn, and with it any flush of it that is open, is over, but after
        a compaction: there the turn goes on."""
        # Where the scope has no live session, a start costs one look.
        marked = os.path.lexists(self._place(live.folder))
        if marked:
            self.catch_up(live)
        mark = self.mark(live) if marked else None
        if live.event.source is Source.COMPACT:
            self._compaction(live, "start")
        elif mark is None or mark["open"]:
            settled = self._settled(live)
            if mark is not None and settled:
                self._note(live, {"open": 0, "busy": False})

    def message(self, live: Live, identity: str = "") -> None:
        """A message begins a turn, where the host tells of turns. Where the turn before had no end (the user broke it
        off), it is over now; `identity` names a flush that begins with this message, and may be recorded already."""
        self.catch_up(live)
        mark = self.mark(live)
        if mark is None or (mark["open"] and mark["busy"]):
            self._note(live, {"open": 0 if self._settled(live, identity) else 1})
        limit = self.threshold(live.event)

        def begun(seen: dict[str, Any]) -> dict[str, Any]:
            told_early = seen["cycle"] == seen.get("early")
            return {
                **seen, **self._who(live, seen), "busy": live.event.message_events, "since": seen["since"] + 1,
                "phase": 0,
                "window": self._window(live.event) or None,
                "limit": None if told_early else percent_of(limit.tokens, self._window(live.event) or None),
            }  # fmt: skip

        self._change(live, begun)

    def turn_ended(self, live: Live) -> FlushReport | None:
        """The agent's turn is over: settle what it was asked to write back."""
        mark = self._certain(live)
        report = self.flusher.settle(live) if mark is None or mark["open"] else None
        if report is not None and report.status is Status.FAILED:
            # The turn counts as running on, so that the next message settles what this could not.
            return report
        used = self.used_percent(live.event)
        self._note(live, {"open": 0, "busy": False, **({} if used is None else {"usage": used})})
        return report

    def compacting(self, live: Live) -> None:
        """The host's event before a compaction came."""
        self.catch_up(live)
        self._compaction(live, "before")

    def compacted(self, live: Live) -> None:
        """The host's event after a compaction came."""
        self._compaction(live, "after")

    def flushed(self, live: Live, position: int) -> None:
        """A flush of the session was issued, at this position of its transcript (bytes, 0: where it stands now)."""
        if not position:
            with suppress(OSError, ValueError):
                position = os.stat(live.event.transcript).st_size
        self._note(live, {"open": 1, "since": 0, "asked": 0, "position": position})

    def repeated(self, live: Live) -> None:
        """The message that began this turn is one that came before, at the same time: it counts once."""
        self._change(live, lambda seen: {
            **seen, **self._who(live, seen), "open": 1, "since": max(seen["since"] - 1, 0), "asked": 0,
        })  # fmt: skip

    def ended(self, live: Live, *, worth: bool) -> FlushReport | None:
        """The session is gone for good: it is quiet from now on. Without anything worth saving only its mark goes."""
        self.catch_up(live)
        mark = self.mark(live)
        if mark is None:
            return self.flusher.settle(live)
        return self.flusher.idle(live, mark, worth=worth)

    def quiet(self, live: Live) -> FlushReport | None:
        """The caller knows that the session is quiet: flush what it did since its last flush, if anything."""
        mark = self._certain(live)
        return self.flusher.idle(live, mark) if mark is not None else self.flusher.settle(live)

    def early(self, live: Live) -> str | None:
        """What names the compaction before which memory should be written back now, as the context is filling up; None
        where it is not, or was asked for already."""
        limit, used = self.threshold(live.event).tokens, live.event.context_tokens
        mark = self.mark(live)
        if limit is None or used is None or mark is None or used < limit or mark["cycle"] == mark.get("early"):
            return None
        return f"early:{mark['born']}:{mark['cycle']}"

    def warned(self, live: Live) -> None:
        """The early flush of this compaction is recorded, or was asked for without a record."""
        self._change(live, lambda seen: {**seen, **self._who(live, seen), "early": seen["cycle"], "limit": None})

    def used_percent(self, event: HostEvent) -> float | None:
        """How full the model's context is; None where that cannot be told."""
        return percent_of(event.context_tokens, self._window(event) or None)

    def threshold(self, event: HostEvent) -> Threshold:
        """From how many tokens of context an early flush is wanted; none where that cannot be told, or the setting is
        refused because the host would compact first (then the log says so)."""
        settings = self.engine.workspace.settings
        try:
            return early_threshold(
                settings.flush_at_percent, self._window(event) or None, self._compaction_at(event) or None,
                chosen="flush_at_percent" in settings.origins,
            )  # fmt: skip
        except SettingsError as error:
            self.engine.journal.log(error.code, self.engine.decide(event), str(error))
            return Threshold()

    def catch_up(self, live: Live) -> tuple[FlushReport, ...]:
        """Flush the quiet sessions of the same scope, and no other's, this one too if it was quiet."""
        return tuple(self._sweep(live.folder, live.scope, _AT_ONCE))

    def sweep(self) -> tuple[FlushReport, ...]:
        """Flush every quiet session of every scope; raises nothing for what one of them holds."""
        reports: list[FlushReport] = []
        limits = self.engine.limits
        for folder in activity.folders(self.engine.root):
            reports += self._sweep(folder, None, limits.active_sessions)
        for folder, name, mark in activity.surplus(self.engine.root, limits.active_sessions, self.flusher.moment()):
            reports += self._idle(folder, None, name, mark)
        return tuple(reports)

    def _sweep(self, folder: str, scope: Scope | None, most: int) -> list[FlushReport]:
        reports: list[FlushReport] = []
        moment = self.flusher.moment()
        for name, mark in activity.marks_of(self.engine.root, folder):
            if len(reports) >= most:
                break
            if activity.is_due(mark, moment, self.idle_seconds, self.engine.limits.turn_seconds):
                reports += self._idle(folder, scope, name, mark)
        try:
            for name in activity.doubts_of(self.engine.root, folder):
                reports += self._doubt(folder, scope, name)
            activity.tidy(
                self.engine.root, folder, self.idle_seconds, self.engine.limits.turn_seconds, self.flusher.moment
            )
        except OSError as error:
            self.engine.journal.log("marks", ScopeDecision(scope, "idle", ""), str(error))
        return reports

    def _place(self, *names: str) -> str:
        """Where marks lie."""
        return os.path.join(self.engine.root, ".apm/active", *names)

    def _doubt(self, folder: str, scope: Scope | None, name: str) -> list[FlushReport]:
        """Flush a session whose mark is damaged: whatever it said, there may be something to save. The time of the file
        tells it from the next one that is."""
        at = os.stat(self._place(folder, name), follow_symlinks=False).st_mtime_ns
        reports = self._idle(folder, scope, name, {**activity.BLANK, "at": at, "since": 1, "open": 1})
        if not any(report.status is Status.FAILED for report in reports):
            activity.discard(self.engine.root, folder, name)
        return reports

    def _idle(self, folder: str, scope: Scope | None, name: str, mark: Mark) -> list[FlushReport]:
        """Flush one quiet session of `scope` (None: whose marks lie in `folder`). What one holds stops no other."""
        whose = scope or self._scope_of(folder)
        if whose is None:
            self._forget(folder, name, mark)
            return []
        try:
            live = self._quiet(whose, name, mark)
            report = self.flusher.idle(live, self._made_up(live, mark))
        except (ApmError, OSError) as error:
            self.engine.journal.log("idle", ScopeDecision(whose, "idle", ""), str(error))
            return [FlushReport(Status.FAILED, Trigger.IDLE, whose, warning=texts.FLUSH_FAILED.format(error=error))]
        return [report] if report is not None else []

    def live_marks(self, scope: Scope) -> Iterator[tuple[str, Mark]]:
        """The marks of a scope's sessions, as (session name, mark)."""
        yield from activity.marks_of(self.engine.root, activity.folder_name(str(scope)))

    def _scope_of(self, folder: str) -> Scope | None:
        """The scope whose marks lie in `folder`, if it still is one: a group that is no longer mapped has no memory."""
        names = {entry.name for entry in self.engine.workspace.groups.entries}
        scopes = (DM, *(Scope(ScopeKind.GROUP, name) for name in sorted(names)))
        return next((scope for scope in scopes if activity.folder_name(str(scope)) == folder), None)

    def _forget(self, folder: str, name: str, mark: Mark) -> None:
        self.engine.journal.log("mark-dropped", ScopeDecision(None, "idle", ""), f"{mark['scope']} is not mapped now")
        activity.drop(self.engine.root, folder, name, mark)

    def _quiet(self, scope: Scope, name: str, mark: Mark) -> Live:
        event = HostEvent(str(mark["host"]), str(mark["id"]))
        return Live(event, ScopeDecision(scope, "idle", "the session went quiet"), scope, name)

    def _compaction(self, live: Live, step: str) -> None:
        known, missed = self._certain(live) is not None, False

        def moved(seen: dict[str, Any]) -> dict[str, Any]:
            nonlocal missed
            phase, missed = activity.compaction_step(seen["phase"], step)
            cycle = seen["cycle"] + (1 if step == "start" or (missed and step == "after") else 0)
            who = self._who(live, seen)
            owed = f"cycle:{who['born']}:{cycle}" if missed else seen.get("owed", "")
            # Of a session without a mark nothing is known: a flush of it may be open. What is owed is work to do, too.
            opened = 1 if missed or not known else seen["open"]
            return {**seen, **who, "phase": phase, "cycle": cycle, "usage": None, "owed": owed, "open": opened}

        if self._change(live, moved) is not None and missed:
            self.mark(live)

    def _made_up(self, live: Live, mark: Mark) -> Mark:
        """The mark after what its process could not do: record a compaction that was missed, and take off the messages
        that a flush covers which was recorded since the mark said that one would be. The state says whether it was."""
        owed, asked, before = mark.get("owed"), mark.get("asked"), mark.get("before")
        if owed and self.flusher.miss(live, owed).status is not Status.FAILED:
            mark = self._touched(live, lambda now: {**now, "owed": ""} if now.get("owed") == owed else None) or mark
        if asked and (covers := self.flusher.covers(live, before or 0)) is not None:
            mark = self._touched(live, lambda now: {
                **now, "since": max(now["since"] - asked * covers, 0), "asked": 0,
            } if (now.get("asked"), now.get("before")) == (asked, before) else None) or mark  # fmt: skip
        return mark

    def _touched(self, live: Live, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Mark | None:
        with suppress(OSError):
            return activity.touch(self.engine.root, live.folder, live.name, change)
        return None

    def _settled(self, live: Live, spare: str = "") -> bool:
        """Settle what the session has open; False where that could not be recorded, and has to be tried again."""
        report = self.flusher.settle(live, spare=spare)
        return report is None or report.status is not Status.FAILED

    def _certain(self, live: Live) -> Mark | None:
        """The session's mark; one that is damaged is flushed first, since the next change would make it a blank one."""
        mark = self.mark(live)
        if mark is None:
            self.catch_up(live)
        return mark

    def _note(self, live: Live, facts: Mapping[str, Any]) -> dict[str, Any] | None:
        return self._change(live, lambda seen: {**seen, **self._who(live, seen), **facts})

    def _change(self, live: Live, change: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any] | None:
        """Change the session's mark; None where it cannot be written: then the session's idle time is not noticed."""
        try:
            return activity.update(self.engine.root, str(live.scope), live.name, change)
        except OSError as error:
            self.engine.journal.log("mark-unwritable", live.decision, str(error))
            return None

    def _who(self, live: Live, seen: Mark) -> dict[str, Any]:
        """Who is at work, and when; `born` tells this mark from a later one of the same session."""
        at, up, boot = self.flusher.moment()
        id_ = live.event.session_id
        return {
            "host": live.event.host, "id": id_ if len(id_) <= _ID_CHARS else live.name,
            "at": at, "up": up, "boot": boot, "born": seen.get("born") or _token(),
            "idle": self.idle_seconds, "turn": self.engine.limits.turn_seconds,
            "transcript": live.event.transcript or seen["transcript"],
        }  # fmt: skip

    def _window(self, event: HostEvent) -> int:
        return self.engine.workspace.settings.context_window or event.context_window

    def _compaction_at(self, event: HostEvent) -> int:
        return self.engine.workspace.settings.compaction_at or event.compaction_at


def _token() -> int:
    """A number that no other mark has, whatever the clock says."""
    return int.from_bytes(os.urandom(7))
