"""What the machine gives a workspace: its file system, notice of changes, clocks, rights, and who holds a lock."""

from __future__ import annotations

import os
import pwd
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from apm_hooks import activity, watcher
from apm_hooks.aggregate import PATH as AGGREGATE
from apm_hooks.doctor import Check, Level, Subject
from apm_hooks.errors import LockTimeoutError
from apm_hooks.files import STATE, stamp, state_directory
from apm_hooks.flushstate import state_path
from apm_hooks.locking import locked_at
from apm_hooks.opening import cause_of, kind_of, parent
from apm_hooks.places import is_private
from apm_hooks.records import ScopeKind
from apm_hooks.shell.grammar import grammar_available

LOCAL = "the workspace lies on a file system of this machine"
NETWORK = (
    "the workspace lies on {kind}: its locks may not hold between machines, and changes made elsewhere are not noticed"
)
NETWORK_REMEDY = "Put the workspace on a local disk."
NOTICED = "the system tells of changes to files (instances: {instances}, watches: {watches})"
NOT_NOTICED = "the system cannot tell of changes to files ({cause}): apm-hooks watch looks for them instead"
NOT_NOTICED_REMEDY = (
    "To raise the limits: sudo sysctl fs.inotify.max_user_instances=512 fs.inotify.max_user_watches=524288"
)
GRAMMAR = "shell commands are judged by their grammar"
NO_GRAMMAR = "shell commands of groups are judged by a plain reading, which denies many that are harmless"
NO_GRAMMAR_REMEDY = "Run: {python} -m pip install 'apm-hooks[gate]'"
NO_GROUPS = "no group is mapped, whose shell commands would be judged"
CLOCKS = "it is {now}; days are those of {zone}"
EARLY_CLOCK = "it is {now} by the clock of this machine, which cannot be"
EARLY_CLOCK_REMEDY = "Set the clock, or let it be set: timedatectl set-ntp true"
NO_BOOT_CLOCK = (
    "no clock counts from the machine's start: when the clock is set, quiet sessions are flushed too early or late"
)
BAD_ZONE = "TZ is {name!r}, which is no time zone: days are those of UTC"
BAD_ZONE_REMEDY = 'Set timezone = "Area/City" in apm.toml, or mend TZ.'
MACHINE_ZONE = "the machine's time zone ({name})"
RIGHTS = "{state}/, flush states, memory folders and the user's own folders can be used, and by us alone"
NO_FOLDER = "{path} is {kind}, where a folder should be"
NO_FOLDER_REMEDY = "Move it away: mv {path} {path}.old"
OPEN_FOLDER = "others can look into {path} (mode {mode:o})"
OPEN_FOLDER_REMEDY = "Run: chmod 700 {path}"
NOT_OURS = "{path} belongs to {owner}, and this is {us}"
OTHERS_FILES = "files in {path} that belong to others: {count}, the first of them, {first}, to {owner}"
NOT_OURS_REMEDY = "Run: sudo chown -R {us} {path}"
AS_ROOT = "{path} belongs to {owner}, and this is root: what is made now, {owner} cannot change later"
AS_ROOT_REMEDY = "Run it as {owner} instead."
NO_FILE = "{path} is {kind}, where a plain file should be"
WRITABLE_FILE = "others can write to {path} (mode {mode:o})"
WRITABLE_FILE_REMEDY = "Run: chmod go-w {path}"
SHUT_FOLDER = "{us} cannot make files in {path}"
SHUT_FOLDER_REMEDY = "Run: chmod u+rwx {path}"
NOT_PRIVATE = "{path} belongs to someone else or can be written to by others"
WATCHING = "a watcher is at work{who}"
NOT_WATCHING = (
    "no watcher is at work: a quiet session is flushed when its conversation goes on, or by apm-hooks sweep "
    "(whether cron runs that cannot be told from here)"
)
NOT_WATCHING_REMEDY = "Run: apm-hooks watch --workspace {root}"

LOCK_SECONDS = 0.25
"""So long a lock that is held is waited for."""
_MOST_NAMES = 20_000
_EARLIEST = datetime(2020, 1, 1, tzinfo=UTC).timestamp()
_LOCK_LINE = re.compile(r"\d+: FLOCK +\S+ +\S+ +(\d+) +([0-9a-f]+):([0-9a-f]+):(\d+) ")
_POSIX_ZONE = re.compile(r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)[+-]?\d")


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds a lock, as far as the system tells; `name` is empty where it does not."""

    process: int
    name: str

    def __str__(self) -> str:
        return f"process {self.process}" + (f" ({self.name})" if self.name else "")


def holder_of(subject: Subject, path: str) -> Holder | None:
    """The process that holds the lock file `path` (relative to the workspace); None where none does or it cannot be
    told. Takes no lock. Raises MemoryFileError."""
    found = stamp(subject.root, path)
    table = _system_text(subject, "locks")
    if found is None or table is None:
        return None
    held = [tuple(int(text, base) for text, base in zip(groups, (10, 16, 16, 10), strict=True))
            for groups in _LOCK_LINE.findall(table)]  # fmt: skip
    same = [each for each in held if each[3] == found.inode]
    # Some file systems name another device there than `stat` does.
    exact = [each for each in same if os.makedev(each[1], each[2]) == found.device]
    return next((Holder(each[0], _name_of(subject, each[0])) for each in exact or same), None)


def _name_of(subject: Subject, process: int) -> str:
    return (_system_text(subject, f"{process}/comm") or "").strip()


def _system_text(subject: Subject, name: str) -> str | None:
    try:
        return Path(subject.system, name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def file_system(subject: Subject) -> list[Check]:
    """Whether the workspace lies on a file system that others can change unseen."""
    mounts = _system_text(subject, "self/mountinfo") or ""
    kind = watcher.network_kind(os.path.realpath(subject.root), mounts)
    if kind:
        return [Check(Level.WARNING, NETWORK.format(kind=kind), NETWORK_REMEDY)]
    return [Check(Level.OK, LOCAL)]


def notices(subject: Subject) -> list[Check]:
    """Whether the system tells of changes to files: tried on a folder of our own, which goes again."""
    folder = os.path.join(subject.root, state_directory(subject.root, "probe"))
    try:
        _try_notices(folder)
    except OSError as error:
        return [Check(Level.NOTE, NOT_NOTICED.format(cause=cause_of(error)), NOT_NOTICED_REMEDY)]
    finally:
        with suppress(OSError):
            os.rmdir(folder)
    limits = {name: (_system_text(subject, f"sys/fs/inotify/max_user_{name}") or "?").strip()
              for name in ("instances", "watches")}  # fmt: skip
    return [Check(Level.OK, NOTICED.format(**limits))]


def _try_notices(folder: str) -> None:
    from watchdog.events import FileSystemEventHandler
    from watchdog.observers import Observer

    observer = Observer()
    observer.schedule(FileSystemEventHandler(), folder)
    try:
        observer.start()
    finally:
        if observer.is_alive():
            observer.stop()
            observer.join()


def watching(subject: Subject) -> list[Check]:
    """Whether a watcher is at work in the workspace."""
    if _is_held(subject.root, watcher.LOCK):
        holder = holder_of(subject, watcher.LOCK)
        return [Check(Level.OK, WATCHING.format(who=f" ({holder})" if holder else ""))]
    return [Check(Level.NOTE, NOT_WATCHING, NOT_WATCHING_REMEDY.format(root=shlex.quote(subject.root)))]


def _is_held(root: str, path: str) -> bool:
    if stamp(root, path) is None:
        return False
    try:
        with locked_at(root, path, seconds=0):
            return False
    except LockTimeoutError:
        return True


def gate(subject: Subject) -> list[Check]:
    """Whether the gate can read shell commands by their grammar, where that matters."""
    workspace = subject.opened.workspace
    if grammar_available():
        return [Check(Level.OK, GRAMMAR)]
    if not workspace.declared.entries and not workspace.settings.require_session and not workspace.strict:
        return [Check(Level.OK, NO_GROUPS)]
    return [Check(Level.NOTE, NO_GRAMMAR, NO_GRAMMAR_REMEDY.format(python=shlex.quote(sys.executable)))]


def clock(subject: Subject) -> list[Check]:
    """Whether the machine knows what time it is, how long it has been running, and in which time zone."""
    runtime = subject.opened
    now = datetime.fromtimestamp(runtime.clock(), UTC).astimezone(runtime.zone())
    told = f"{now:%Y-%m-%d %H:%M %z}"
    found = []
    if now.timestamp() < _EARLIEST:
        found.append(Check(Level.WARNING, EARLY_CLOCK.format(now=told), EARLY_CLOCK_REMEDY))
    if not activity.now()[2]:
        found.append(Check(Level.NOTE, NO_BOOT_CLOCK))
    name = subject.env.get("TZ", "")
    if name and not runtime.workspace.settings.timezone and not _is_zone(name):
        found.append(Check(Level.WARNING, BAD_ZONE.format(name=name), BAD_ZONE_REMEDY))
    zone = runtime.workspace.settings.timezone or MACHINE_ZONE.format(name=now.tzname())
    return found or [Check(Level.OK, CLOCKS.format(now=told, zone=zone))]


def _is_zone(name: str) -> bool:
    """Whether a value of TZ names a zone: by an IANA name, a file, or a rule of its own."""
    from zoneinfo import ZoneInfo

    bare = name.removeprefix(":")
    if os.path.isabs(bare):
        return os.path.exists(bare)
    try:
        ZoneInfo(bare)
    except (LookupError, ValueError, OSError):
        return bool(_POSIX_ZONE.match(name))
    return True


def rights(subject: Subject) -> list[Check]:
    """Whether we can use our own files and the memory's folders, and nobody else our own."""
    found = [*_state_folder(subject), *_state_files(subject), *_shut_folders(subject), *_own_folders(subject)]
    return found or [Check(Level.OK, RIGHTS.format(state=STATE))]


def _state_folder(subject: Subject) -> Iterator[Check]:
    path = os.path.join(subject.root, STATE)
    quoted, us = shlex.quote(path), owner_name(os.geteuid())
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        kind = kind_of(status.st_mode) or "a file"
        yield Check(Level.ERROR, NO_FOLDER.format(path=STATE, kind=kind), NO_FOLDER_REMEDY.format(path=quoted))
        return
    if status.st_uid != os.geteuid():
        owner = owner_name(status.st_uid)
        if _is_root():
            yield Check(Level.WARNING, AS_ROOT.format(path=STATE, owner=owner), AS_ROOT_REMEDY.format(owner=owner))
        else:
            remedy = NOT_OURS_REMEDY.format(us=us, path=quoted)
            yield Check(Level.ERROR, NOT_OURS.format(path=STATE, owner=owner, us=us), remedy)
        return
    if stat.S_IMODE(status.st_mode) & 0o077:
        text = OPEN_FOLDER.format(path=STATE, mode=stat.S_IMODE(status.st_mode))
        mend = partial(_close, subject.root)
        yield Check(Level.WARNING, text, OPEN_FOLDER_REMEDY.format(path=quoted), mend)
    strangers = list(_strangers(path, os.geteuid()))
    if strangers:
        first, uid = strangers[0]
        text = OTHERS_FILES.format(count=len(strangers), path=STATE, owner=owner_name(uid),
                                   first=os.path.relpath(first, subject.root))  # fmt: skip
        yield Check(Level.ERROR, text, NOT_OURS_REMEDY.format(us=us, path=quoted))


def _close(root: str) -> None:
    with parent(root, f"{STATE}/any") as (directory, _):
        os.fchmod(directory, 0o700)


def _strangers(folder: str, us: int) -> Iterator[tuple[str, int]]:
    """What below a folder belongs to others, as (path, owner): what a run as root leaves behind."""
    seen = 0
    for where, folders, files in os.walk(folder):
        folders.sort()
        for name in (*folders, *sorted(files)):
            seen += 1
            if seen > _MOST_NAMES:
                return
            with suppress(FileNotFoundError):
                status = os.lstat(os.path.join(where, name))
                if status.st_uid != us:
                    yield os.path.join(where, name), status.st_uid


def _state_files(subject: Subject) -> Iterator[Check]:
    paths = [*map(state_path, subject.scopes), AGGREGATE]
    for path in (each for state in paths for each in (state, f"{state}.lock")):
        full = os.path.join(subject.root, path)
        try:
            status = os.lstat(full)
        except (FileNotFoundError, NotADirectoryError):
            continue
        us, owner = owner_name(os.geteuid()), owner_name(status.st_uid)
        quoted = shlex.quote(full)
        if not stat.S_ISREG(status.st_mode):
            kind = kind_of(status.st_mode) or "something else"
            yield Check(Level.ERROR, NO_FILE.format(path=path, kind=kind), NO_FOLDER_REMEDY.format(path=quoted))
        elif status.st_uid != os.geteuid() and not _is_root():
            text = NOT_OURS.format(path=path, owner=owner, us=us)
            yield Check(Level.ERROR, text, NOT_OURS_REMEDY.format(us=us, path=quoted))
        elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            text = WRITABLE_FILE.format(path=path, mode=stat.S_IMODE(status.st_mode))
            yield Check(Level.WARNING, text, WRITABLE_FILE_REMEDY.format(path=quoted))


def _shut_folders(subject: Subject) -> Iterator[Check]:
    """Folders of the memory, and of ours, in which we cannot make files."""
    groups = [scope.directory for scope in subject.scopes if scope.kind is ScopeKind.GROUP]
    ours = [f"{STATE}/{name}" for name in ("active", "flush", "ledger", "locks", "log", "seen")]
    us = owner_name(os.geteuid())
    for path in ("memory", "memory/main", "memory/groups", *groups, STATE, *ours):
        full = os.path.join(subject.root, path)
        if os.path.isdir(full) and not may_write(full):
            remedy = SHUT_FOLDER_REMEDY if os.stat(full).st_uid == os.geteuid() else NOT_OURS_REMEDY
            text = SHUT_FOLDER.format(path=path, us=us)
            yield Check(Level.ERROR, text, remedy.format(us=us, path=shlex.quote(full)))


def may_write(folder: str) -> bool:
    """Whether files can be made in a folder, by whom this process acts for."""
    return os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids)


def _is_root() -> bool:
    return os.geteuid() == 0


def _own_folders(subject: Subject) -> Iterator[Check]:
    where = subject.opened.where
    for path in (where.config, where.state, where.cache):
        try:
            status = os.stat(path)
        except FileNotFoundError:
            continue
        if not is_private(status):
            mend: Callable[[], object] | None = partial(os.chmod, path, 0o700)
            ours = status.st_uid == os.geteuid()
            remedy = OPEN_FOLDER_REMEDY.format(path=shlex.quote(path))
            yield Check(Level.ERROR, NOT_PRIVATE.format(path=path), remedy, mend if ours else None)


def owner_name(uid: int) -> str:
    """A user's name, else its number."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
