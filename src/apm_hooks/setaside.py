"""Setting a damaged file aside: it gets a second name in its folder, and what replaces it takes the first one."""

from __future__ import annotations

import os
import re
from contextlib import suppress

from apm_hooks.errors import MemoryFileError
from apm_hooks.files import create_absent, read_bytes
from apm_hooks.opening import cause_of, parent, shown
from apm_hooks.records import LIMITS, Limits

_REMEDY = "Move it away, and free some space if the disk is full."


def set_aside(root: str, path: str, when: str, *, limits: Limits = LIMITS) -> str:
    """Keep the file at `path` as `PATH.corrupt-WHEN-N` too, and return that path; `when` is `YYYYMMDDTHHMMSSZ`.

    The caller, who holds the file's lock, then replaces it. Until that is done the file stands where it stood, so that
    a kill in between loses nothing; it is not set aside twice. N is above all that are there, so none is overwritten;
    past the bound the lowest goes. Raises MemoryFileError; nothing is changed then.
    """
    try:
        with parent(root, path) as (directory, name):
            kept = _kept(directory, name)
            current = os.stat(name, dir_fd=directory, follow_symlinks=False)
            for _, other in kept:
                with suppress(FileNotFoundError):
                    if os.path.samestat(os.stat(other, dir_fd=directory, follow_symlinks=False), current):
                        return _beside(path, other)
            fresh = f"{name}.corrupt-{when}-{kept[-1][0] + 1 if kept else 1}"
            try:
                os.link(name, fresh, src_dir_fd=directory, dst_dir_fd=directory, follow_symlinks=False)
            except OSError:
                # Not every file system has second names, nor may everybody give them.
                _copy(root, path, _beside(path, fresh), limits)
            for _, old in kept[: max(len(kept) + 1 - limits.set_aside, 0)]:
                with suppress(OSError):
                    os.unlink(old, dir_fd=directory)
            return _beside(path, fresh)
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(
            f"is damaged and cannot be set aside: {cause_of(error)}", file=shown(path), remedy=_REMEDY
        ) from error


def _kept(directory: int, name: str) -> list[tuple[int, str]]:
    """What was set aside earlier, as (N, name), the lowest first."""
    ours = re.compile(re.escape(name) + r"\.corrupt-[0-9]{8}T[0-9]{6}Z-([0-9]{1,9})")
    found = ((ours.fullmatch(entry), entry) for entry in os.listdir(directory))
    return sorted((int(match[1]), entry) for match, entry in found if match)


def _copy(root: str, path: str, beside: str, limits: Limits) -> None:
    found = read_bytes(root, path, limit=limits.state_bytes)
    if found is None or not create_absent(root, beside, found[0], mode=0o600):
        raise MemoryFileError("is damaged and cannot be set aside", file=shown(path), remedy=_REMEDY)


def _beside(path: str, name: str) -> str:
    folder, slash, _ = path.rpartition("/")
    return folder + slash + name
