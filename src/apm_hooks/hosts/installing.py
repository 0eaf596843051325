"""What the installers of all hosts share: a plan of files to replace, made first, and carried out as a whole."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from stat import S_IMODE, S_ISREG

from apm_hooks.errors import SettingsError
from apm_hooks.records import LIMITS

BACKUP = ".apm-backup"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file to replace: its bytes `before` and `after`; None for a file that is not there. `backup`: what it held
    is worth keeping. `mode` is that of a file that is made new; None leaves it to the umask."""

    path: str
    before: bytes | None
    after: bytes | None
    why: str
    backup: bool = True
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What an install or uninstall will do. `notes` are for the person; `offers` what they may ask for. `folders` go
    after the changes, in order, where nothing is left in them."""

    changes: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()
    offers: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def apply_plan(plan: Plan) -> None:
    """Do what the plan says. What a file held before is kept beside it, as `NAME.apm-backup`.

    Links are followed. Raises SettingsError for a file that is no longer what the plan saw, checked for all
    of them before the first is written, and for one that cannot be written.
    """
    for change in plan.changes:
        if read_bytes(change.path) != change.before:
            raise refusal("changed since the plan was made", change.path)
    for change in plan.changes:
        try:
            mode = change.mode if change.before is None else S_IMODE(os.stat(change.path).st_mode)
            if change.before is not None and change.backup:
                replace_bytes(change.path + BACKUP, change.before, mode)
            if change.after is None:
                os.unlink(change.path)
            else:
                replace_bytes(os.path.realpath(change.path), change.after, mode)
        except OSError as error:
            raise refusal(f"cannot be written: {error.strerror or error}", change.path) from error
    for folder in plan.folders:
        # Somebody else's file in it keeps a folder.
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def read_bytes(path: str) -> bytes | None:
    """A file's bytes, None where it is not there; SettingsError for what is no file of a bearable size."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as stream:
            if not S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise refusal("is no regular file", path)
            data = stream.read(LIMITS.settings_bytes + 1)
    except FileNotFoundError:
        if os.path.islink(path):
            raise refusal("is a link that leads nowhere", path) from None
        return None
    except OSError as error:
        raise refusal(f"cannot be read: {error.strerror or error}", path) from error
    if len(data) > LIMITS.settings_bytes:
        raise refusal(f"is larger than {LIMITS.settings_bytes} bytes", path)
    return data


def read_text(path: str) -> tuple[bytes | None, str]:
    """A file's bytes (None where it is not there) and its text; raises SettingsError."""
    data = read_bytes(path)
    try:
        return data, (data or b"").decode()
    except UnicodeDecodeError as error:
        raise refusal(f"is not UTF-8: {error.reason}", path) from None


def replace_bytes(path: str, data: bytes, mode: int | None) -> None:
    """Replace or make a file durably; `mode` None leaves a new file's to the umask."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    beside = f"{path}.{os.getpid()}.apm-new"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with open(os.open(beside, flags, 0o666 if mode is None else 0o600), "wb") as stream:
            if mode is not None:
                os.fchmod(stream.fileno(), mode)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(beside, path)
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def refusal(cause: str, path: str) -> SettingsError:
    """The error of a file that is not touched."""
    return SettingsError(cause, file=path, remedy="Nothing was written to it; mend that, then run the command again.")
