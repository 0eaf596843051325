"""Which files of a scope changed (protocol, section 9): suspects found by their stamps, and hashed.

What is recorded stays recorded until the opposite is known: only a file whose very name was looked up, and is not
there, counts as gone. So a folder that cannot be read, or a walk that a bound stopped, takes nothing away.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from apm_hooks.delta import Stat, differing, is_fresh, resolve, suspects
from apm_hooks.flushrecords import Book, Delta, Entry
from apm_hooks.hashing import hash_files, stat_of
from apm_hooks.records import LIMITS, Limits, Scope
from apm_hooks.walking import ShutError, belongs, open_below, walk


@dataclass(frozen=True, slots=True)
class Scan:
    """The plain files of a scope: workspace-relative path to stamp. `refused` are (path, what it is) of what was not
    looked into, sorted. `scanned_ns` is the time before the first look, in nanoseconds since 1970. `complete` is False
    where a bound stopped the walk."""

    files: dict[str, Stat]
    refused: tuple[tuple[str, str], ...]
    scanned_ns: int
    complete: bool


def scan(root: str, scope: Scope, *, limits: Limits = LIMITS, now_ns: Callable[[], int] = time.time_ns) -> Scan:
    """Look at every file of a scope, reading none; which those are, `walking.walk` says. Raises MemoryFileError where
    looking failed: that is no empty scope."""
    scanned_ns, files = now_ns(), dict[str, Stat]()
    refused, complete = walk(root, scope, files.update, limits)
    return Scan(files, refused, scanned_ns, complete)


def compare(
    root: str,
    scope: Scope,
    book: Book,
    *,
    generation: int,
    limits: Limits = LIMITS,
    cache: dict[tuple[str, Stat], str] | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> tuple[dict[str, Entry], dict[str, int], Delta]:
    """The next entries and tombstones of the book, and how the scope's files differ from it, noted with `generation`.

    `cache` spares hashing a second time: filled before the lock is taken, used under it. It is given only hashes of
    files whose stamps can be believed. Raises MemoryFileError as `scan` does.
    """
    known, cache = book.files, {} if cache is None else cache
    found, looked_at, missing = _find(root, scope, known, limits, now_ns)
    seen, complete, lost = found.files, found.complete, list[str]()
    if missing:
        strays = {path for path in missing if not belongs(scope, path)}
        known = {path: entry for path, entry in known.items() if path not in strays} if strays else known
        lost, there = _look_up(root, [path for path in missing if path not in strays])
        seen.update(there)
        looked_at += differing(known, there)
    hashes: dict[str, tuple[str, Stat]] = {}
    refused: list[tuple[str, str]] = []
    if looked_at:
        room = max(limits.scope_files - len(known) + len(lost), 0)
        over = set(islice((path for path in looked_at if path not in known), room, None))
        looked_at = sorted((path for path in looked_at if path not in over), key=lambda path: seen[path][1])
        hashes = {
            path: (digest, seen[path]) for path in looked_at if (digest := cache.get((path, seen[path]), ""))
        }  # fmt: skip
        rest = [path for path in looked_at if path not in hashes]
        read, refused, finished = hash_files(root, rest, seconds=limits.hash_seconds, limits=limits)
        hashes |= read
        complete = complete and finished and not over
    for path, (digest, stamp) in hashes.items():
        # The stamp of the very bytes that were hashed: a change after it is noticed by the next look.
        seen[path] = stamp
        if not is_fresh(stamp, found.scanned_ns, limits.racy_ns):
            cache[path, stamp] = digest
    return resolve(
        known, book.gone, seen, looked_at, {path: digest for path, (digest, _) in hashes.items()},
        generation=generation, scanned_ns=found.scanned_ns, racy_ns=limits.racy_ns, lost=lost,
        refused=tuple(sorted({*found.refused, *refused})), complete=complete,
    )  # fmt: skip


def changed_since(
    root: str,
    scope: Scope,
    book: Book,
    *,
    limits: Limits = LIMITS,
    cache: dict[tuple[str, Stat], str] | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> Delta:
    """How the scope's files differ from the book, with nothing recorded: what the next flush would report."""
    return compare(root, scope, book, generation=book.generation, limits=limits, cache=cache, now_ns=now_ns)[2]


def _find(
    root: str, scope: Scope, known: Mapping[str, Entry], limits: Limits, now_ns: Callable[[], int]
) -> tuple[Scan, list[str], list[str]]:
    """A scan that holds the suspects at least, the suspects, and the known paths that it did not find."""
    suspected: dict[str, Stat] = {}
    unsuspected, scanned_ns = 0, now_ns()

    # Compared while they are at hand, and not kept: to hold ten thousand stamps costs more than to compare them.
    def take(files: dict[str, Stat]) -> None:
        nonlocal unsuspected
        paths = differing(known, files)
        unsuspected += len(files) - len(paths)
        for path in paths:
            suspected[path] = files[path]

    refused, complete = walk(root, scope, take, limits)
    if unsuspected + sum(path in known for path in suspected) == len(known):
        return Scan(suspected, refused, scanned_ns, complete), list(suspected), []
    # Which are missing is not known: they are looked for with all stamps kept.
    found = scan(root, scope, limits=limits, now_ns=now_ns)
    return found, *suspects(known, found.files)


def _look_up(root: str, paths: Iterable[str]) -> tuple[list[str], dict[str, Stat]]:
    """Which of the paths are gone for certain, and which are there after all (a file that was replaced while its
    folder was listed can be missed); of the rest nothing is known."""
    lost: list[str] = []
    there: dict[str, Stat] = {}
    folders: dict[str, list[str]] = {}
    for path in paths:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    for folder, inside in folders.items():
        try:
            descriptor = open_below(root, folder.split("/") if folder else ())
        except ShutError as shut:
            lost += inside if shut.empty else ()
            continue
        try:
            for path in inside:
                try:
                    status = os.stat(path.rpartition("/")[2], dir_fd=descriptor, follow_symlinks=False)
                except FileNotFoundError:
                    lost.append(path)
                except OSError:
                    continue
                else:
                    if stat.S_ISREG(status.st_mode):
                        there[path] = stat_of(status)
                    else:
                        lost.append(path)
        finally:
            os.close(descriptor)
    return lost, there
