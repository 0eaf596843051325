"""What of a scope's files differs from what was recorded (protocol, section 9): pure.

Stamps say where to look, compared with "not equal", never "newer than"; the content hash decides. So a file that was
touched or restored is no change, and one that was changed and given its old time back is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from apm_hooks.flushrecords import Delta, Entry

Stat: TypeAlias = tuple[int, int, int, int]
"""mtime, size, inode and ctime of a file; times in nanoseconds since 1970. The first four fields of an `Entry`."""

TOMBSTONES = 1_000
"""So many deleted files are remembered, the latest."""

_UNKNOWN: Entry = (0, 0, 0, 0, "", 0, 1)


def differing(known: Mapping[str, Entry], seen: Mapping[str, Stat]) -> list[str]:
    """The paths whose content must be looked at: what was never recorded, what carries another stamp, and what was
    recorded under a stamp too fresh to be believed. `seen` may be a part of the scope."""
    entry_of = known.get
    return [path for path, stamp in seen.items() if (entry := entry_of(path, _UNKNOWN))[:4] != stamp or entry[6]]


def suspects(known: Mapping[str, Entry], seen: Mapping[str, Stat]) -> tuple[list[str], list[str]]:
    """The paths whose content must be looked at, and the known ones that are not among all those `seen`."""
    return differing(known, seen), [path for path in known if path not in seen]


def is_fresh(stamp: Stat, scanned_ns: int, racy_ns: int) -> bool:
    """Whether a file changed so shortly before the scan, or after it by its own word, that one more change could carry
    the same stamp."""
    return max(stamp[0], stamp[3]) > scanned_ns - racy_ns


def resolve(
    known: Mapping[str, Entry],
    gone: Mapping[str, int],
    seen: Mapping[str, Stat],
    looked_at: Iterable[str],
    digests: Mapping[str, str],
    *,
    generation: int,
    scanned_ns: int,
    racy_ns: int,
    lost: Collection[str] = (),
    tombstones: int = TOMBSTONES,
    refused: tuple[tuple[str, str], ...] = (),
    complete: bool = True,
) -> tuple[dict[str, Entry], dict[str, int], Delta]:
    """The next entries, the next tombstones, and what changed.

    `known` and `gone` are the recorded entries and tombstones; `seen` the stamps found at `scanned_ns` (nanoseconds
    since 1970); `looked_at` the paths whose content may differ, all of them in `seen`; `digests` their content hashes,
    those that could be had; `lost` the known paths that are gone. What changed is noted with `generation`. `refused`
    and `complete` are passed on.

    A path without a hash is as it was: known, it is looked at again next time; never known, it stays so. Nothing is
    lost by that, and nothing is reported twice.
    """
    entries, graves = dict(known), dict(gone)
    added, modified = [], []
    for path in looked_at:
        before, digest = known.get(path), digests.get(path)
        if digest is None:
            if before is not None:
                entries[path] = (*before[:6], 1)
            continue
        noticed = generation
        if before is None:
            added.append(path)
        elif before[4] != digest:
            modified.append(path)
        else:
            noticed = before[5]
        stamp = seen[path]
        entries[path] = (*stamp, digest, noticed, int(is_fresh(stamp, scanned_ns, racy_ns)))
        graves.pop(path, None)
    for path in lost:
        del entries[path]
        # Put back at the end: the latest tombstones are kept.
        graves.pop(path, None)
        graves[path] = generation
    for path in list(graves)[: max(len(graves) - tombstones, 0)]:
        del graves[path]
    changes = Delta(tuple(sorted(added)), tuple(sorted(modified)), tuple(sorted(lost)), refused, complete)
    return entries, graves, changes
