"""Answers kept for as long as nothing that they rest on has changed, told by the stamps of their inputs.

Both tiers use it: the runtime keeps answers in memory, the hook command on disk for the fast lane.
"""

from __future__ import annotations

import os
from _thread import LockType, allocate_lock
from collections import OrderedDict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from apm_hooks import fastlane
from apm_hooks.records import LIMITS

Answer = TypeVar("Answer")
Stamps = tuple[tuple[str, tuple[int, ...]], ...]


def stamps_of(root: str, inputs: Iterable[str], outside: Iterable[str]) -> Stamps:
    """Path and stamp of every input: workspace-relative `inputs`, absolute `outside`, and the folders they lie in."""
    paths = {*(os.path.join(root, path) for path in inputs), *outside}
    folders = {os.path.dirname(path) for path in paths} | {root}
    return tuple((path, tuple(fastlane.stamp_of(path))) for path in sorted(paths | folders))


def believable(stamps: Stamps, started_ns: int, racy_ns: int) -> bool:
    """False where a file changed so shortly before `started_ns` (nanoseconds since 1970) that one more change could
    carry the same stamp."""
    return all(len(stamp) != 6 or max(stamp[4:]) <= started_ns - racy_ns for _, stamp in stamps)


def hold(stamps: Stamps) -> bool:
    """True where every input still carries its stamp."""
    return all(tuple(fastlane.stamp_of(path)) == stamp for path, stamp in stamps)


@dataclass(slots=True)
class Prepared(Generic[Answer]):
    """A bounded store of answers in memory, the least used going first."""

    entries: int = LIMITS.prepared
    _kept: OrderedDict[Hashable, tuple[Stamps, Answer]] = field(default_factory=OrderedDict)
    _lock: LockType = field(default_factory=allocate_lock)

    def get(self, key: Hashable) -> Answer | None:
        """The answer kept under `key`, if every input still carries its stamp."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
        stamps, answer = found
        return answer if hold(stamps) else None

    def put(self, key: Hashable, stamps: Stamps, answer: Answer) -> None:
        """Keep an answer, dropping the least used one past the bound."""
        with self._lock:
            self._kept[key] = stamps, answer
            self._kept.move_to_end(key)
            while len(self._kept) > self.entries:
                self._kept.popitem(last=False)
