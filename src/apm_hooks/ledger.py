"""What a session's epoch has loaded so far: one append-only journal a session, in `.apm/ledger/`.

Each line is one JSON object. The state of an epoch is the fold of the lines since the last one that began an epoch,
so the fast lane can add a line without reading, and the full path folds it in. A ledger holds paths, digests and
token counts, never content, and is named by a hash, never by the host's key.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache

from apm_hooks import fastlane
from apm_hooks.errors import LockTimeoutError, MemoryFileError
from apm_hooks.files import open_to_append, read_bytes, replace_bytes, state_directory
from apm_hooks.opening import cause_of
from apm_hooks.records import LIMITS, Source

DIRECTORY = ".apm/ledger"
SWITCH = "switch"
_BEGINS = frozenset(source.value for source in Source if source is not Source.RESUME) | {SWITCH}


@dataclass(frozen=True, slots=True)
class Epoch:
    """The life of one model context in a session.

    `scope` is its text (`DM`, `Group(name)`, empty: none). `sent` maps the digest of each injected text to its token
    count: the same bytes again cost nothing. `files` are (path, layer) of what was loaded, in order. `tripped`: the
    breaker is out. `done`: no message loads anything more by itself. `inputs`: what the last line rests on, if it says
    that loading is done. `position`: where the host's transcript stood at the session's last flush when the session
    ended, in bytes (0: not known); it outlives epochs, so that a session which goes on is not counted from its start.
    """

    scope: str = ""
    budget: int = 0
    spent: int = 0
    sent: Mapping[str, int] = field(default_factory=dict)
    files: tuple[tuple[str, str], ...] = ()
    tripped: bool = False
    done: bool = False
    begun: bool = False
    inputs: str = ""
    position: int = 0


def start_entry(
    *, source: str, scope: str, budget: int, digest: str, tokens: int, files: Sequence[tuple[str, str]],
    tripped: bool = False, done: bool = False,
) -> dict[str, object]:  # fmt: skip
    """The line that a session start leaves: `source` other than resume, or another scope, begins an epoch."""
    return {"e": "start", "source": source, "scope": scope, "budget": budget, "digest": digest, "tokens": tokens,
            "files": [list(file) for file in files], "tripped": tripped, "done": done,
            "active": _folder(scope)}  # fmt: skip


def message_entry(
    *, budget: int, digest: str, tokens: int, files: Sequence[tuple[str, str]], tripped: bool, done: bool, inputs: str,
    scope: str,
) -> dict[str, object]:  # fmt: skip
    """The line that a message leaves; `inputs` names the settings and session key under which it holds."""
    return {"e": "message", "budget": budget, "digest": digest, "tokens": tokens,
            "files": [list(file) for file in files], "tripped": tripped, "done": done, "inputs": inputs,
            "active": _folder(scope)}  # fmt: skip


def directive_entry(*, digest: str, tokens: int, epoch: Epoch, scope: str) -> dict[str, object]:
    """The line that a directive leaves: its tokens are spent, and everything else in the epoch stays as it was."""
    return message_entry(budget=0, digest=digest, tokens=tokens, files=(), tripped=False, done=epoch.done,
                         inputs=epoch.inputs, scope=scope)  # fmt: skip


def end_entry(position: int = 0) -> dict[str, object]:
    """The line that the end of a session leaves, or its idle flush: what it is told next begins an epoch.

    `position` is where the host's transcript stood at the session's last flush, in bytes; 0: where it stood before.
    """
    return {"e": "end", "position": position}


@lru_cache(maxsize=1_024)
def _folder(scope: str) -> str:
    """Where the marks of the scope's live sessions lie: the fast lane looks there."""
    return fastlane.hash_of(scope) if scope else ""


def fold(lines: bytes) -> Epoch:
    """The current epoch told by a journal's bytes. A line that a killed process left half-written is passed over."""
    import json

    epoch = Epoch()
    for line in lines.split(b"\n"):
        if not line:
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(entry, dict):
            epoch = _apply(epoch, entry)
    return epoch


def _apply(epoch: Epoch, entry: Mapping[str, object]) -> Epoch:
    if entry.get("e") == "end":
        return Epoch(position=_count(entry.get("position")) or epoch.position)
    scope = str(entry.get("scope", ""))
    if entry.get("e") == "start" and (entry.get("source") in _BEGINS or not epoch.begun or scope != epoch.scope):
        # A directive may have been handed out before the session was seen to start: it is in that context.
        sent = epoch.sent if entry.get("source") == SWITCH and not epoch.begun else {}
        epoch = Epoch(scope=scope, budget=_count(entry.get("budget")), begun=True, sent=sent, spent=sum(sent.values()),
                      position=epoch.position)  # fmt: skip
    budget = _count(entry.get("budget"))
    if budget:
        # An index that was changed in mid-epoch may set another one.
        epoch = replace(epoch, budget=budget)
    digest, tokens = str(entry.get("digest", "")), _count(entry.get("tokens"))
    if digest and digest not in epoch.sent:
        known = {path for path, _ in epoch.files}
        files = tuple(file for file in _files(entry.get("files")) if file[0] not in known)
        epoch = replace(
            epoch, spent=epoch.spent + tokens, sent={**epoch.sent, digest: tokens}, files=epoch.files + files
        )
    done = entry.get("done") is True
    inputs = str(entry.get("inputs", "")) if done else ""
    return replace(epoch, tripped=epoch.tripped or entry.get("tripped") is True, done=epoch.done or done, inputs=inputs)


def _files(value: object) -> list[tuple[str, str]]:
    pairs = value if isinstance(value, list) else []
    return [(str(pair[0]), str(pair[1])) for pair in pairs if isinstance(pair, list) and len(pair) == 2]


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def read_epoch(root: str, name: str) -> Epoch:
    """The current epoch of session `name`; one that has not begun where there is no ledger.

    Raises MemoryFileError where the ledger is no plain file of reasonable size.
    """
    found = read_bytes(root, f"{DIRECTORY}/{name}.jsonl", limit=4 * LIMITS.ledger_bytes)
    return fold(found[0]) if found else Epoch()


def encode(entry: Mapping[str, object]) -> bytes:
    """An entry as the one line that is appended."""
    import json

    return json.dumps(entry, ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode() + b"\n"


def append(root: str, name: str, entry: Mapping[str, object]) -> None:
    """Add one line to the ledger of session `name`, creating it; a ledger that has grown past its bound starts
    over with a line that begins an epoch. Raises MemoryFileError or LockTimeoutError."""
    path = f"{DIRECTORY}/{name}.jsonl"
    line = encode(entry)
    for _attempt in range(LIMITS.read_retries):
        descriptor = _open_locked(root, path)
        try:
            status = os.fstat(descriptor)
            begins = entry.get("e") == "start" and entry.get("source") in _BEGINS
            if begins and status.st_size > LIMITS.ledger_bytes:
                replace_bytes(root, path, line)
                return
            if status.st_nlink:
                # Without a name it was replaced between opening and locking: the line would go to a dead file.
                _write(descriptor, line, path)
                return
        finally:
            os.close(descriptor)
    raise LockTimeoutError("keeps being replaced", file=path, remedy="Try again.")


def _write(descriptor: int, line: bytes, path: str) -> None:
    try:
        if os.write(descriptor, line) == len(line):
            return
        cause = "only a part of the line was written"
    except OSError as error:
        cause = cause_of(error)
    raise MemoryFileError(f"cannot be written: {cause}", file=path)


def _open_locked(root: str, path: str) -> int:
    try:
        descriptor = open_to_append(root, path)
    except FileNotFoundError:
        state_directory(root, "ledger")
        descriptor = open_to_append(root, path)
    deadline = time.monotonic() + LIMITS.lock_seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # A holder only appends a line; one that is stopped must not stop us for longer than the bound.
            if time.monotonic() < deadline:
                time.sleep(0.01)
                continue
            os.close(descriptor)
            raise LockTimeoutError("still held by another process", file=path, remedy="Try again.") from None
        except OSError as error:
            os.close(descriptor)
            raise LockTimeoutError(f"cannot be locked: {error.strerror}", file=path) from error
        return descriptor


def prune(root: str, *, keep: int = LIMITS.ledgers) -> None:
    """Delete the oldest ledgers past `keep`; a folder that cannot be read is left for the next time."""
    directory = os.path.join(root, DIRECTORY)
    with suppress(OSError):
        entries = [(entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in os.scandir(directory)
                   if entry.name.endswith(".jsonl")]  # fmt: skip
        for _, path in sorted(entries)[: max(len(entries) - keep, 0)]:
            with suppress(FileNotFoundError):
                os.unlink(path)
