"""What a session start tells of earlier flushes (protocol, section 9): pending items, a missed compaction, a directive
that reached nobody yet."""

from __future__ import annotations

from apm_hooks.directive import pending_lines
from apm_hooks.errors import MemoryFileError
from apm_hooks.flush import open_flushes
from apm_hooks.flushstate import read_state
from apm_hooks.records import Scope


def start_lines(root: str, scope: Scope | None, session: str, *, compacted: bool) -> tuple[str, ...]:
    """The lines for a session of `scope`, most important first; none where nothing waits or nothing can be read.

    `session` is its name in file names; its own flush that is not settled counts only where the session comes back
    from compaction (`compacted`): everywhere else its turn is over.
    """
    if scope is None:
        return ()
    try:
        book = read_state(root, scope).book
    except MemoryFileError:
        return ()
    open_flush = compacted and bool(open_flushes(book, session))
    last = book.flushes[-1] if book.flushes else None
    return tuple(pending_lines(book.pending, last=last, open_flush=open_flush, compacted=compacted))
