"""Which events of a host were seen firing in a workspace: an empty file an event, its time that of the event.

Hosts leave events out without a word: another version, a setting, a mode in which hooks are off. Only what came tells.
"""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress

from apm_hooks.errors import MemoryFileError
from apm_hooks.files import open_to_append, state_directory
from apm_hooks.opening import cause_of, parent

DIRECTORY = ".apm/seen"

_NAME = re.compile(r"[A-Za-z0-9-]{1,64}")


def note(root: str, host: str, event: str, at_ns: int) -> None:
    """Note that `event` of `host` fired at `at_ns` (nanoseconds since 1970).

    Never raises: neither a name that is none nor a folder that cannot be written is a reason to fail a host's turn.
    """
    if not (_NAME.fullmatch(host) and _NAME.fullmatch(event)):
        return
    with suppress(OSError, ValueError, OverflowError):
        descriptor = _opened(root, f"{DIRECTORY}/{host}.{event}")
        try:
            os.utime(descriptor, ns=(at_ns, at_ns))
        finally:
            os.close(descriptor)


def _opened(root: str, path: str) -> int:
    try:
        return open_to_append(root, path)
    except FileNotFoundError:
        state_directory(root, DIRECTORY.rpartition("/")[2])
        return open_to_append(root, path)


def events(root: str) -> dict[tuple[str, str], int]:
    """(host, event) → when it last fired, in nanoseconds since 1970; empty where none was noted.

    Raises MemoryFileError where the notes cannot be looked at.
    """
    found: dict[tuple[str, str], int] = {}
    try:
        with parent(root, f"{DIRECTORY}/any") as (directory, _):
            for name in sorted(os.listdir(directory)):
                host, _, event = name.partition(".")
                if _NAME.fullmatch(host) and _NAME.fullmatch(event):
                    status = os.stat(name, dir_fd=directory, follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):
                        found[host, event] = status.st_mtime_ns
    except FileNotFoundError:
        return found
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(f"cannot be read: {cause_of(error)}", file=DIRECTORY) from error
    return found
