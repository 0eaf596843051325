"""Any order of events, faults and foreign hands: the state files always say what the model says (protocol, section 9).

A flush that is lost or counted twice, a change that two records report or none, a group that touches another's state:
each breaks an invariant that is checked after every step.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from apm_hooks import activity, aggregate, fastlane, flusher
from apm_hooks.errors import LockTimeoutError
from apm_hooks.flushstate import updating
from apm_hooks.hookspecs import hookimpl
from apm_hooks.records import HostEvent, Source
from apm_hooks.runtime import Runtime
from tests.flushmodel import Died, Model
from tests.workspaces import OLD, Bench, bench, event

SCOPES = ("DM", "alpha", "beta")
SCOPE_TEXT = {"DM": "DM", "alpha": "Group(alpha)", "beta": "Group(beta)"}
KEYS = {"DM": None, "alpha": "agent:main:telegram:group:-100777", "beta": "agent:main:telegram:group:-100888"}
STATES = {"DM": "memory/flush-state.json", "alpha": "memory/groups/alpha/flush-state.json",
          "beta": "memory/groups/beta/flush-state.json"}  # fmt: skip
AGGREGATE = "memory/groups/flush-state.json"
FILES = {
    "DM": ("MEMORY.md", "memory/main/longterm.md", "memory/main/projects/x.md", "memory/2026-01-01.md"),
    "alpha": ("memory/groups/alpha/project.md", "memory/groups/alpha/conventions/c.md"),
    "beta": ("memory/groups/beta/people.md",),
}
SESSIONS = [(scope, name) for scope, names in (("DM", "abc"), ("alpha", "ab"), ("beta", "a")) for name in names]
START = 1_767_225_600
FOLDERS = {scope: activity.folder_name(text) for scope, text in SCOPE_TEXT.items()}

session = st.sampled_from(SESSIONS)
identity = st.sampled_from(("", "p1", "p2"))
fault = st.sampled_from(("", "", "", "", "", "fails", "dies-before", "dies-after"))


def name_of(which: tuple[str, str]) -> str:
    return fastlane.session_name("claude-code", which[1], KEYS[which[0]])


def event_of(which: tuple[str, str], **more: Any) -> HostEvent:
    return event(KEYS[which[0]], session_id=which[1], **more)


class Doors:
    """Which paths are opened, replaced, linked or looked at while it is watched."""

    def __init__(self) -> None:
        self.paths: set[str] = set()

    @contextmanager
    def watched(self) -> Iterator[None]:
        self.paths = set()
        with pytest.MonkeyPatch.context() as patch:
            for name in ("open", "stat", "lstat", "unlink", "replace", "rename", "link"):
                patch.setattr(os, name, self._noting(getattr(os, name)))
            yield

    def _noting(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def noting(path: Any, *arguments: Any, **options: Any) -> Any:
            directory = next((options[each] for each in ("dir_fd", "src_dir_fd") if each in options), None)
            if isinstance(path, str):
                base = "" if directory is None or path.startswith("/") else os.readlink(f"/proc/self/fd/{directory}")
                self.paths.add(os.path.join(base, path))
            return real(path, *arguments, **options)

        return noting


def strays(scope: str, root: str, paths: set[str]) -> list[str]:
    """Which of these paths an event of the scope has no business with (protocol, section 2)."""
    found = []
    for path in sorted(paths):
        if not path.startswith(root + "/"):
            continue
        inside = path[len(root) + 1 :]
        for other in SCOPES:
            below = "memory/main/" if other == "DM" else f"memory/groups/{other}/"
            theirs = (STATES[other], below, f"memory/groups/{other}.md", "MEMORY.md" if other == "DM" else below,
                      f".apm/active/{FOLDERS[other]}", f".apm/flush/{fastlane.hash_of(SCOPE_TEXT[other])}")  # fmt: skip
            if other != scope and inside.startswith(theirs):
                found.append(inside)
        if scope == "DM" and inside.startswith(AGGREGATE):
            found.append(inside)
    return found


class Flushes(RuleBasedStateMachine):
    """One workspace with the owner and two groups. What all examples may share, the token ranks, lies in `shared`."""

    shared = ""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=self.shared or None))
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(os, "fsync", lambda _: None)
        self.patch.setattr("apm_hooks.locking._COURTESY", 0)
        self.made: Bench = bench(self.folder, settings='timezone = "UTC"\n')
        if self.shared:
            self.made.env["XDG_CACHE_HOME"] = f"{self.shared}/cache"
        self.made.groups({"-100777": "alpha", "-100888": "beta"})
        for scope in ("alpha", "beta"):
            self.made.write(f"memory/groups/{scope}.md", f"# {scope}\n")
        self.made.trust()
        self.root = str(self.made.root)
        order = {scope: sorted((which for which in SESSIONS if which[0] == scope), key=name_of) for scope in SCOPES}
        files = {
            "DM": {"memory/main/index.md": "0", "memory/main/attention.md": "0"},
            "alpha": {"memory/groups/alpha.md": "0"},
            "beta": {"memory/groups/beta.md": "0"},
        }
        self.model = Model(START, {scope: list(map(str, order[scope])) for scope in SCOPES}, files)
        self.keys: dict[str, dict[str, Any]] = {scope: {} for scope in SCOPES}
        self.items: dict[str, list[str]] = {scope: [] for scope in SCOPES}
        self.mtimes: dict[str, set[str]] = {scope: set() for scope in SCOPES}
        self.damaged: set[str] = set()
        self.gone: set[str] = set()
        self.haunted: set[str] = set()
        self.unsaved: set[str] = set()
        self.unsummed: set[str] = set()
        self.told: dict[str, list[tuple[str, str, tuple[str, ...]]]] = {scope: [] for scope in SCOPES}
        self.ctimes: dict[str, int] = {}
        self.doors = Doors()
        self.restart()

    def teardown(self) -> None:
        self.patch.undo()
        shutil.rmtree(self.folder)

    @initialize(believed=st.booleans())
    def stamps(self, *, believed: bool) -> None:
        """Whether the stamps of files are old enough to be believed, so that not every file is hashed each time."""
        ahead = 10**11 if believed else 0
        self.patch.setattr(flusher, "time", SimpleNamespace(time=time.time, time_ns=lambda: time.time_ns() + ahead))

    @rule()
    def restart(self) -> None:
        """Another process: everything that was held in memory is gone."""

        def apm_flushed(event: Any) -> None:
            scope = next(scope for scope, text in SCOPE_TEXT.items() if text == str(event.scope))
            self.told[scope].append((event.trigger, event.outcome, tuple(event.changed)))

        observer = SimpleNamespace(apm_flushed=hookimpl(apm_flushed))
        self.runtime = Runtime(self.root, self.made.env, clock=lambda: float(self.model.now),
                               plugins={"observer": observer})  # fmt: skip

    # Events of a host, with and without a fault.

    def happens(
        self, scope: str | None, fault: str, real: Callable[[], Any], told: Callable[[Model], Any]
    ) -> tuple[Any, Any]:
        """The same event in the workspace and in the model; gives both answers (None where the process died)."""
        scopes = SCOPES if scope is None else (scope,)
        marks = [self.model.marks[str(which)] for which in SESSIONS if which[0] in scopes]
        if any(mark and mark["damaged"] for mark in marks):
            fault = ""
        before = {each: self.bytes_of(each) for each in SCOPES}
        self.model.fault, self.model.visited, self.model.written = fault, set(), set()
        answers: list[Any] = []
        acts: tuple[Callable[[], Any], ...] = (lambda: self.faulty(fault, real), lambda: told(self.model))
        for act in acts:
            try:
                answers.append(act())
            except Died:
                answers.append(None)
        self.model.fault = ""
        self.damaged -= self.model.visited
        for doubts in (self.gone, self.unsaved, self.unsummed):
            doubts.difference_update(self.model.written)
        if fault == "dies-after":
            self.haunted |= self.model.visited
            self.unsummed |= self.model.written
            self.restart()
        if scope is not None:
            assert strays(scope, self.root, self.doors.paths) == []
            for each in SCOPES:
                assert each == scope or self.bytes_of(each) == before[each]
        return answers[0], answers[1]

    def faulty(self, fault: str, real: Callable[[], Any]) -> Any:
        @contextmanager
        def struck(*arguments: Any, **options: Any) -> Iterator[Any]:
            if fault == "fails":
                raise LockTimeoutError("still held by another process", file="flush-state.json")
            if fault == "dies-before":
                raise Died
            with updating(*arguments, **options) as held:
                yield held
            if fault == "dies-after":
                raise Died

        with pytest.MonkeyPatch.context() as patch, self.doors.watched():
            patch.setattr(flusher, "updating", struck)
            return real()

    @rule(which=session, source=st.sampled_from((Source.STARTUP, Source.RESUME, Source.CLEAR)), fault=fault)
    def start(self, which: tuple[str, str], source: Source, fault: str) -> None:
        self.happens(which[0], fault, lambda: self.runtime.session_start(event_of(which, source=source)),
                     lambda model: model.start(str(which)))  # fmt: skip

    @rule(which=session, full=st.sampled_from((False, False, True)), fault=fault)
    def message(self, which: tuple[str, str], fault: str, *, full: bool) -> None:
        given = event_of(which, message="well then", context_tokens=90 if full else 10, context_window=100)
        loaded, _ = self.happens(which[0], fault, lambda: self.runtime.message_received(given),
                                 lambda model: model.message(str(which), full=full))  # fmt: skip
        assert full or loaded is None or not loaded.directive.text

    @rule(which=session, identity=identity, fault=fault)
    def remem(self, which: tuple[str, str], identity: str, fault: str) -> None:
        report, status = self.happens(
            which[0], fault, lambda: self.runtime.flush(event_of(which), "remem", identity=identity),
            lambda model: model.remem(str(which), identity),
        )  # fmt: skip
        if report is not None:
            assert report.status.value == status
            assert bool(report.directive.text) == (status in ("issued", "failed"))

    @rule(which=session, identity=identity, enough=st.sampled_from((True, True, False)), fault=fault)
    def precompact(self, which: tuple[str, str], identity: str, fault: str, *, enough: bool) -> None:
        messages, tokens = (10, 0) if enough else (9, 999)
        report, status = self.happens(
            which[0], fault,
            lambda: self.runtime.flush(
                event_of(which), "pre-compaction", identity=identity and f"t{identity}", messages=messages,
                tokens=tokens, tell=False,
            ),
            lambda model: model.precompact(str(which), identity and f"t{identity}", enough=enough),
        )  # fmt: skip
        assert report is None or (report.status.value, report.directive.text) == (status, "")

    @rule(which=session, fault=fault)
    def compacted_start(self, which: tuple[str, str], fault: str) -> None:
        self.happens(which[0], fault, lambda: self.runtime.session_start(event_of(which, source=Source.COMPACT)),
                     lambda model: model.compacted_start(str(which)))  # fmt: skip

    @precondition(lambda self: any(self.may_be_over(which) for which in SESSIONS))
    @rule(data=st.data(), fault=fault)
    def compacted_after(self, data: st.DataObject, fault: str) -> None:
        which = data.draw(st.sampled_from([which for which in SESSIONS if self.may_be_over(which)]))
        self.happens(which[0], fault, lambda: self.runtime.compacted(event_of(which)),
                     lambda model: model.compacted_after(str(which)))  # fmt: skip

    def may_be_over(self, which: tuple[str, str]) -> bool:
        """No host says twice that one compaction is over."""
        mark = self.model.marks[str(which)]
        return mark is None or mark["half"] != "after"

    @rule(which=session, fault=fault)
    def turn_end(self, which: tuple[str, str], fault: str) -> None:
        self.happens(which[0], fault, lambda: self.runtime.turn_ended(event_of(which)),
                     lambda model: model.turn_end(str(which)))  # fmt: skip

    @rule(which=session, enough=st.booleans(), fault=fault)
    def end(self, which: tuple[str, str], fault: str, *, enough: bool) -> None:
        counts = {"messages": 0, "tokens": 1_000} if enough else {"messages": 9, "tokens": 999}
        self.happens(which[0], fault, lambda: self.runtime.session_end(event_of(which), **counts),
                     lambda model: model.end(str(which), enough=enough))  # fmt: skip

    @rule(which=session, fault=fault)
    def quiet(self, which: tuple[str, str], fault: str) -> None:
        self.happens(which[0], fault, lambda: self.runtime.flush(event_of(which), "idle"),
                     lambda model: model.quiet(str(which)))  # fmt: skip

    @rule(fault=fault)
    def sweep(self, fault: str) -> None:
        def all_scopes(model: Model) -> None:
            for scope in sorted(SCOPES, key=FOLDERS.__getitem__):
                model.sweep(scope)

        self.happens(None, fault, self.runtime.sweep, all_scopes)

    # Time.

    @rule(seconds=st.sampled_from((0, 1, 60, 1_799, 1_800, 1_801, 3_600, 14_400, 90_000)))
    def pass_time(self, seconds: int) -> None:
        self.model.now += seconds

    @rule(seconds=st.sampled_from((-1, -60, -3_600, -(10**7), 10**7)))
    def set_clock(self, seconds: int) -> None:
        self.model.now += seconds

    # Files of the memory.

    @rule(scope=st.sampled_from(SCOPES), data=st.data(), text=st.sampled_from("abc"), keep=st.booleans())
    def edit(self, scope: str, data: st.DataObject, text: str, *, keep: bool) -> None:
        """Write a file, or create it; with its old time put back (`keep`), or not."""
        path = data.draw(st.sampled_from(FILES[scope]))
        file = self.made.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with self.noticeably(path):
            before = file.stat().st_mtime_ns if file.exists() else OLD * 10**9
            file.write_text(text)
            if keep:
                os.utime(file, ns=(before, before))
        self.model.files[scope][path] = text

    @rule(scope=st.sampled_from(SCOPES), data=st.data())
    def touch(self, scope: str, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(sorted(self.model.files[scope])))
        os.utime(self.made.root / path)

    @rule(scope=st.sampled_from(SCOPES), data=st.data())
    def delete(self, scope: str, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(FILES[scope]))
        (self.made.root / path).unlink(missing_ok=True)
        self.model.files[scope].pop(path, None)

    @contextmanager
    def noticeably(self, path: str) -> Iterator[None]:
        """Within it, the file gets another change time, however coarse the file system's clock is."""
        file = self.made.root / path
        before = file.stat().st_ctime_ns if file.exists() else self.ctimes.get(path)
        yield
        while file.stat().st_ctime_ns == before:
            os.utime(file, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
        self.ctimes[path] = file.stat().st_ctime_ns

    # Foreign hands.

    @rule(scope=st.sampled_from(SCOPES), number=st.sampled_from((0, 0, 3)), at=st.integers(0, 4), take=st.booleans())
    def another_tool(self, scope: str, number: int, at: int, *, take: bool) -> None:
        """A tool that knows the protocol's keys alone adds its own, an item and an old time; it may flush, and may take
        out an item that is done. (A file that it makes where one was just deleted counts as one that lost our key.)"""
        if scope in self.damaged | self.gone:
            return
        file, book = self.made.root / STATES[scope], self.model.scopes[scope]
        held = json.loads(file.read_text()) if file.exists() else {}
        held[f"tool_{at}"] = self.keys[scope][f"tool_{at}"] = {"at": at, "of": [1.5, None, "ü"]}
        held[f"memory/old-{at}.md_mtime"] = "2025-01-01T00:00:00+00:00"
        self.mtimes[scope].add(f"memory/old-{at}.md_mtime")
        if number:
            book["number"] = held["flush_number"] = (book["number"] or 0) + number
            book["time"] = self.model.now
            held["last_flush_time"] = datetime.fromtimestamp(self.model.now).astimezone().isoformat()
        items = held.get("pending_items") or []
        ours = [item["text"] for item in held.get("apm_hooks", {}).get("pending", ()) if item["text"] in items]
        if take and ours:
            items.remove(ours[0])
            del book["pending"][0]
        items.append(f"theirs {at}")
        self.items[scope].append(f"theirs {at}")
        held["pending_items"] = items
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(held, indent=1))
        self.unsaved.add(scope)
        self.unsummed.add(scope)

    @rule(scope=st.sampled_from(SCOPES), how=st.sampled_from(("cut", "nul", "more", "shape", "nothing")),
          at=st.floats(0, 1))  # fmt: skip
    def damage(self, scope: str, how: str, at: float) -> None:
        """What another tool wrote since our last write stands in no copy: it is not damaged here."""
        file = self.made.root / STATES[scope]
        if not file.exists() or scope in self.unsaved:
            return
        data = file.read_bytes()
        harmed = {"cut": data[: int(at * len(data.rstrip(b"}\n")))], "nul": bytes(len(data)), "more": data + b"{}",
                  "shape": b"[]", "nothing": b""}[how]  # fmt: skip
        file.write_bytes(harmed)
        self.damaged.add(scope)

    @rule(scope=st.sampled_from(SCOPES))
    def take_away(self, scope: str) -> None:
        """A person deletes the state: the scope was never flushed, and what others wrote is gone. (What a process that
        died had recorded is told by the state alone: without it, it is recorded again.)"""
        file = self.made.root / STATES[scope]
        if file.exists() and scope not in self.haunted:
            file.unlink()
            self.model.scopes[scope] = self.model.unflushed()
            self.gone.add(scope)
            self.unsummed.add(scope)
            self.damaged.discard(scope)
            self.unsaved.discard(scope)
            self.keys[scope], self.items[scope], self.mtimes[scope] = {}, [], set()

    @rule()
    def lose_marks(self) -> None:
        shutil.rmtree(self.made.root / ".apm/active", ignore_errors=True)
        self.model.marks = dict.fromkeys(self.model.marks)

    @precondition(lambda self: any(self.model.marks.values()))
    @rule(data=st.data(), junk=st.sampled_from(("{}", "x", '{"write":1,"again":2}')))
    def damage_mark(self, data: st.DataObject, junk: str) -> None:
        which = data.draw(st.sampled_from([each for each in SESSIONS if self.model.marks[str(each)]]))
        file = self.made.root / ".apm/active" / FOLDERS[which[0]] / name_of(which)
        file.write_text(junk)
        mark = self.model.marks[str(which)]
        assert mark is not None
        mark.update(damaged="unflushed", owed="")

    # What always holds.

    def bytes_of(self, scope: str) -> bytes | None:
        file = self.made.root / STATES[scope]
        return file.read_bytes() if file.exists() else None

    @invariant()
    def every_state_says_what_the_model_says(self) -> None:
        for scope in SCOPES:
            data, book = self.bytes_of(scope), self.model.scopes[scope]
            if data is None:
                assert book["number"] is None
                assert not book["flushes"]
            elif scope not in self.damaged:
                self.check(scope, json.loads(data), book)

    def check(self, scope: str, held: dict[str, Any], book: dict[str, Any]) -> None:
        own = held.get("apm_hooks", {})
        assert held.get("flush_number") == book["number"]
        assert ("last_flush_time" not in held or held["last_flush_time"] is None) == (book["number"] is None)
        if book["number"] is not None and book["time"] is not None:
            assert datetime.fromisoformat(held["last_flush_time"]).timestamp() == book["time"]
        names = {"": "", **{name_of(which): str(which) for which in SESSIONS if which[0] == scope}}
        flushes = [(each["number"], each["trigger"], names[each["session"]], each["outcome"])
                   for each in own.get("flushes", ())]  # fmt: skip
        told = [(each["number"], each["trigger"], each["session"], each["outcome"]) for each in book["flushes"]]
        assert flushes == told
        listed = Counter(item for item in held.get("pending_items") or () if isinstance(item, str))
        ours = [item for item in own.get("pending", ()) if listed[item["text"]]]
        assert Counter((item["kind"], names[item["session"]], item["number"]) for item in ours) == Counter(
            (item["kind"], item["session"], item["number"]) for item in book["pending"]
        )
        assert listed == Counter([*self.items[scope], *(item["text"] for item in ours)])
        assert {key: held[key] for key in self.keys[scope]} == self.keys[scope]
        assert own.get("files", {}).keys() == book["known"].keys()
        self.mtimes[scope] |= {f"{path}_mtime" for path in book["known"]}
        assert self.mtimes[scope] <= held.keys()

    @invariant()
    def every_change_is_told_by_one_record(self) -> None:
        assert self.told == self.model.told

    @invariant()
    def the_groups_add_up(self) -> None:
        if self.unsummed & {"alpha", "beta"}:
            return
        file = self.made.root / AGGREGATE
        total = sum(self.model.scopes[scope]["number"] or 0 for scope in ("alpha", "beta"))
        assert (json.loads(file.read_text())["flush_number"] if file.exists() else 0) == total
        if not self.damaged:
            assert aggregate.check(self.root, ["alpha", "beta"]) == []


def test_no_flush_is_lost_or_counted_twice_whatever_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Flushes, "shared", str(tmp_path))
    run_state_machine_as_test(
        Flushes,
        settings=settings(max_examples=60, stateful_step_count=40, deadline=None, print_blob=True,
                          suppress_health_check=list(HealthCheck)),
    )  # fmt: skip
