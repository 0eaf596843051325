"""Changing one memory file under its lock, so that nobody's text is lost: not that of another command of ours, which
waits for the lock, and not that of an editor, which knows no lock (protocol, section 10)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from apm_hooks.errors import MemoryFileError
from apm_hooks.fastlane import hash_of
from apm_hooks.files import Stamp, create_absent, read_bytes, read_settled, replace_bytes, state_directory
from apm_hooks.locking import locked_at
from apm_hooks.opening import shown
from apm_hooks.records import LIMITS, Limits

CONFLICT = "was changed by another program each time it was to be written; nothing was written"
TRY_AGAIN = "Close it in the editor, or try again."
TOO_LARGE = "would grow past {limit} bytes, and not be read any more"
SPLIT_UP = "Move a part of it to another file."


def lock_path(root: str, path: str) -> str:
    """The lock of a memory file, relative to the workspace; makes the folder that it lies in."""
    return f"{state_directory(root, 'locks')}/{hash_of(unicodedata.normalize('NFC', path))}.lock"


def change_file(
    root: str, path: str, change: Callable[[bytes | None], bytes | None], *, keep: Callable[[bytes], None],
    limits: Limits = LIMITS,
) -> bool:  # fmt: skip
    """Read a file under its lock, and replace it durably by what `change` makes of it; False where that is nothing new.

    `change` is given None where there is no file, and returns None to leave all as it is; it may be called again, with
    what the file holds then, where somebody changed it in the meantime. `keep` is given the text that is about to be
    replaced. The file's mode stays. Raises MemoryFileError, also where the file keeps changing, and LockTimeoutError.
    """
    with locked_at(root, lock_path(root, path), seconds=limits.lock_seconds):
        for _ in range(limits.read_retries):
            before, seen = _settled(root, path, limits)
            after = change(before)
            if after is None or after == before:
                return False
            if len(after) > limits.file_bytes:
                raise MemoryFileError(TOO_LARGE.format(limit=limits.file_bytes), file=shown(path), remedy=SPLIT_UP)
            if before is None:
                if create_absent(root, path, after):
                    return True
                continue
            keep(before)
            if replace_bytes(root, path, after, expected=seen):
                return True
    raise MemoryFileError(CONFLICT, file=shown(path), remedy=TRY_AGAIN)


def _settled(root: str, path: str, limits: Limits) -> tuple[bytes | None, Stamp | None]:
    """The file as nobody is in the middle of saving it.

    One that came by a rename is whole: that moves the time of its last change past that of its last write. Of any other
    a young one may be half of a save, and is waited for.
    """
    found = read_bytes(root, path, limit=limits.file_bytes)
    if found is None or found[1].mtime_ns == found[1].ctime_ns:
        found = read_settled(root, path, limits.file_bytes)
    return found or (None, None)
