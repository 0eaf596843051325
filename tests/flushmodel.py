"""What flushes do, told a second time from the protocol (section 9) with plain dictionaries: the model that the real
thing is held against. It calls nothing of the library.

A scope is a dictionary: its number (None: never), its flushes, what is pending, the files as its last record saw them.
A session is one too: when it was last at work, messages since its last flush, where its compaction stands, whether the
state must be asked for a flush of it that is open; None where nothing is known of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

IDLE, TURN = 1800, 4 * 3600
_OF_FLUSHES = ("unwritten", "idle", "missed")


class Died(BaseException):
    """The process is gone. No error: nothing may catch it and go on."""


class RefusedError(Exception):
    """The state cannot be written now."""


class Model:
    """`sessions` maps a scope to its sessions in the order in which they are looked at; `files` are on disk, by scope.

    `fault` is what befalls every visit to a state file: "" nothing, "fails" the record cannot be made, "dies-before"
    and "dies-after" the process ends before the first record or right after it.
    """

    def __init__(self, now: int, sessions: Mapping[str, Sequence[str]], files: Mapping[str, dict[str, str]]) -> None:
        self.now = now
        self.sessions = sessions
        self.files = files
        self.fault = ""
        self.scopes: dict[str, dict[str, Any]] = {scope: self.unflushed() for scope in sessions}
        self.scope_of = {session: scope for scope, names in sessions.items() for session in names}
        self.marks: dict[str, dict[str, Any] | None] = dict.fromkeys(self.scope_of)
        self.told: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {scope: [] for scope in sessions}
        self.visited: set[str] = set()
        self.written: set[str] = set()
        self.count = 0

    @staticmethod
    def unflushed() -> dict[str, Any]:
        """A scope that was never flushed."""
        return {"number": None, "time": None, "flushes": [], "pending": [], "known": {}, "noticed": {}, "tick": 0,
                "seen": {}}  # fmt: skip

    def of(self, session: str) -> dict[str, Any]:
        return self.scopes[self.scope_of[session]]

    def open(self, session: str) -> list[dict[str, Any]]:
        return [flush for flush in self.of(session)["flushes"]
                if flush["session"] == session and flush["outcome"] == "issued"]  # fmt: skip

    # What a visit to a state file does.

    def visit(self, scope: str, record: Callable[[], None]) -> None:
        if self.fault == "fails":
            raise RefusedError
        if self.fault == "dies-before":
            raise Died
        before = repr(self.scopes[scope])
        record()
        self.visited.add(scope)
        if repr(self.scopes[scope]) != before:
            self.written.add(scope)
        if self.fault == "dies-after":
            raise Died

    def changed(self, scope: str) -> tuple[str, ...]:
        """The files that differ from the last record, which they then are in."""
        book, now = self.scopes[scope], self.files[scope]
        found = tuple(sorted(path for path in {*book["known"], *now} if book["known"].get(path) != now.get(path)))
        book["tick"] += 1
        book["noticed"].update(dict.fromkeys(found, book["tick"]))
        book["known"] = dict(now)
        return found

    def leave(self, scope: str, kind: str, text: object, session: str = "", number: int = 0) -> None:
        """Leave a pending item: one of a kind for a session, and no text of a kind twice."""
        book = self.scopes[scope]
        book["pending"] = [
            item for item in book["pending"]
            if not (kind in _OF_FLUSHES and item["kind"] == kind and item["session"] == session)
            and (item["kind"], item["text"]) != (kind, text)
        ]  # fmt: skip
        book["pending"].append({"kind": kind, "text": text, "session": session, "number": number})

    def minute(self) -> str:
        return datetime.fromtimestamp(self.now, UTC).strftime("%Y-%m-%d %H:%M")

    def issue(self, session: str, trigger: str, identity: str) -> None:
        """A new flush."""
        scope, book, mark = self.scope_of[session], self.of(session), self.marks[session]
        changed: tuple[str, ...] = ()

        if mark is not None and trigger != "idle":
            mark["ask"] = True

        def record() -> None:
            nonlocal changed
            changed = self.changed(scope)
            book["number"], book["time"] = (book["number"] or 0) + 1, self.now
            outcome = "unwritten" if trigger == "idle" else "issued"
            book["flushes"].append({"number": book["number"], "trigger": trigger, "session": session, "time": self.now,
                                    "outcome": outcome, "identity": identity, "tick": book["tick"]})  # fmt: skip
            if trigger == "idle":
                text = (self.minute(), changed[:3], len(changed))
                self.leave(scope, "idle", text, session, book["number"])
            self.see(session, trigger, identity)
            if mark is not None:
                mark["since"] = 0

        self.visit(scope, record)
        self.tell(scope, trigger, "unwritten" if trigger == "idle" else "issued", changed)

    def see(self, session: str, trigger: str, identity: str) -> None:
        if identity:
            seen = self.of(session)["seen"].setdefault(session, [])
            if (trigger, identity) not in seen:
                seen.append((trigger, identity))
                del seen[:-8]

    def same(self, session: str, trigger: str, identity: str) -> bool:
        return bool(identity) and (trigger, identity) in self.of(session)["seen"].get(session, ())

    def settle(self, session: str) -> None:
        """The session's turn is over."""
        scope, book, ended = self.scope_of[session], self.of(session), self.open(session)
        changed: tuple[str, ...] = ()

        def record() -> None:
            nonlocal changed
            changed = self.changed(scope)
            latest = ended[-1]
            text = (latest["number"], latest["trigger"], latest["time"] // 60)
            for flush in ended:
                written = any(tick > flush["tick"] for tick in book["noticed"].values())
                flush["outcome"] = "written" if written else "unwritten"
                if written:
                    book["pending"] = [item for item in book["pending"] if _outlives(item, flush["number"])]
                else:
                    self.leave(scope, "unwritten", text, session, flush["number"])

        if ended:
            self.visit(scope, record)
            for flush in ended:
                self.tell(scope, flush["trigger"], flush["outcome"], changed)

    def settled(self, session: str) -> bool:
        """As `settle`; False where it has to be tried again."""
        try:
            self.settle(session)
        except RefusedError:
            return False
        return True

    def tell(self, scope: str, trigger: str, outcome: str, changed: tuple[str, ...]) -> None:
        self.told[scope].append((trigger, outcome, changed))

    def look(self, session: str) -> dict[str, Any] | None:
        """What is known of the session; a compaction that was missed, and is not recorded yet, is recorded now."""
        mark = self.marks[session]
        if mark is None or mark["damaged"]:
            return None
        if mark["owed"]:
            scope, book = self.scope_of[session], self.of(session)

            def record() -> None:
                if mark["owed"] == "record":
                    book["flushes"].append({"number": 0, "trigger": "pre-compaction", "session": session,
                                            "outcome": "missed", "identity": "", "tick": book["tick"]})  # fmt: skip
                    self.leave(scope, "missed", self.minute(), session, book["number"] or 0)
                mark["owed"] = "word"

            try:
                self.visit(scope, record)
            except RefusedError:
                return mark
            mark["owed"] = ""
            self.tell(scope, "pre-compaction", "missed", ())
        return mark

    def at_work(self, session: str) -> dict[str, Any]:
        """The session's mark, stamped with now; a new one where there is none that says anything."""
        mark = self.marks[session]
        if mark is None or mark["damaged"]:
            mark = {"busy": False, "since": 0, "warned": False, "half": "", "early": False, "damaged": "", "owed": "",
                    "ask": True}  # fmt: skip
            self.marks[session] = mark
        mark["at"] = self.now
        return mark

    # What goes quiet.

    def has_work(self, session: str) -> bool:
        mark = self.marks[session]
        return mark is not None and bool(mark["since"] or mark["ask"] or self.open(session))

    def is_quiet(self, mark: Mapping[str, Any]) -> bool:
        passed: int = max(self.now - mark["at"], 0)
        return passed >= (TURN if mark["busy"] else IDLE)

    def sweep(self, scope: str) -> None:
        """Flush the scope's sessions that went quiet, then those whose marks are damaged; then put marks in order."""
        for session in self.sessions[scope]:
            mark = self.marks[session]
            if mark is not None and not mark["damaged"] and self.has_work(session) and self.is_quiet(mark):
                self.try_idle(session)
        for session in self.sessions[scope]:
            mark = self.marks[session]
            if mark is not None and mark["damaged"]:
                mark["since"] = 1 if mark["damaged"] == "unflushed" else 0
                self.try_idle(session)
        for session in self.sessions[scope]:
            mark = self.marks[session]
            if mark is None or mark["damaged"]:
                continue
            if mark["at"] > self.now + 1:
                mark["at"] = self.now
            elif not self.has_work(session) and self.is_quiet(mark):
                self.marks[session] = None

    def try_idle(self, session: str) -> None:
        try:
            self.idle(session)
        except RefusedError:
            return

    def idle(self, session: str, *, worth: bool = True) -> None:
        """The session is quiet: settle, flush what is not saved, forget it."""
        mark = self.marks[session]
        assert mark is not None
        self.look(session)
        self.settle(session)
        if mark["since"] and worth:
            try:
                self.issue(session, "idle", self.unlike())
            except Died:
                # Recorded or not: a damaged mark cannot say so, the state does.
                if mark["damaged"] and self.fault == "dies-after":
                    mark["damaged"] = "flushed"
                raise
        self.marks[session] = None

    # Events.

    def start(self, session: str) -> None:
        """A session starts, resumes or was cleared."""
        self.sweep(self.scope_of[session])
        mark = self.look(session)
        if mark is None:
            self.settled(session)
        elif mark["ask"] and self.settled(session):
            self.at_work(session).update(busy=False, ask=False)

    def message(self, session: str, *, full: bool = False) -> None:
        """A message begins a turn; `full`: the context is filling up."""
        self.sweep(self.scope_of[session])
        mark = self.look(session)
        settled = (mark is None or mark["busy"]) and self.settled(session)
        mark = self.at_work(session)
        mark["ask"] = mark["ask"] and not settled
        mark.update(busy=True, since=mark["since"] + 1, warned=False, half="")
        self.look(session)
        if full and not mark["early"]:
            mark["early"] = self.fault != "dies-before"
            identity = self.unlike()
            if self.open(session):
                self.try_running(session, identity)
            else:
                self.try_issue(session, "pre-compaction", identity)

    def unlike(self) -> str:
        """An identity like no other."""
        self.count += 1
        return f"{self.count}th"

    def try_issue(self, session: str, trigger: str, identity: str) -> str:
        try:
            self.issue(session, trigger, identity)
        except RefusedError:
            return "failed"
        return "issued"

    def try_running(self, session: str, identity: str = "") -> str:
        def record() -> None:
            self.see(session, "pre-compaction", identity)

        try:
            self.visit(self.scope_of[session], record)
        except RefusedError:
            return "failed"
        return "running"

    def remem(self, session: str, identity: str) -> str:
        if self.same(session, "remem", identity):
            return "same"
        self.message(session)
        return self.try_issue(session, "remem", identity)

    def precompact(self, session: str, identity: str, *, enough: bool) -> str:
        self.sweep(self.scope_of[session])
        self.look(session)
        self.at_work(session).update(warned=True, half="")
        if not enough:
            return "nothing"
        self.at_work(session)["ask"] = True
        if self.same(session, "pre-compaction", identity):
            self.visit_only(session)
            return "failed" if self.fault == "fails" else "same"
        if self.open(session):
            return self.try_running(session, identity)
        return self.try_issue(session, "pre-compaction", identity)

    def visit_only(self, session: str) -> None:
        try:
            self.visit(self.scope_of[session], lambda: None)
        except RefusedError:
            return

    def compacted_start(self, session: str) -> None:
        """The session comes back from compaction."""
        self.sweep(self.scope_of[session])
        self.look(session)
        mark = self.at_work(session)
        missed = mark["half"] != "after" and not mark["warned"]
        mark.update(half="" if mark["half"] == "after" else "start", warned=False, early=False)
        self.miss(session, missed=missed)

    def compacted_after(self, session: str) -> None:
        """The host's event after a compaction; it comes before or after that of the start."""
        self.certain(session)
        mark = self.at_work(session)
        missed = not mark["half"] and not mark["warned"]
        mark.update(half="" if mark["half"] == "start" else "after", warned=False, early=mark["early"] and not missed)
        self.miss(session, missed=missed)

    def miss(self, session: str, *, missed: bool) -> None:
        mark = self.marks[session]
        assert mark is not None
        if missed:
            mark.update(owed="record", ask=True)
            self.look(session)

    def certain(self, session: str) -> dict[str, Any] | None:
        mark = self.look(session)
        if mark is None:
            self.sweep(self.scope_of[session])
        return mark

    def turn_end(self, session: str) -> None:
        self.certain(session)
        if self.settled(session):
            self.at_work(session).update(busy=False, ask=False)

    def end(self, session: str, *, enough: bool) -> None:
        """The session is gone for good."""
        self.sweep(self.scope_of[session])
        self.quiet(session, worth=enough)

    def quiet(self, session: str, *, worth: bool = True) -> None:
        """The session is known to be quiet."""
        try:
            if self.certain(session) is None:
                self.settle(session)
            else:
                self.idle(session, worth=worth)
        except RefusedError:
            return


def _outlives(item: Mapping[str, Any], number: int) -> bool:
    """Whether a pending item stays when the flush of that number is written."""
    return item["kind"] not in _OF_FLUSHES or item["number"] > number
