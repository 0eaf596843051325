"""Pre-images: what a memory file held before it was changed, kept for its own scope alone.

They are machine state of the workspace: `.apm/backup/<scope>/<path>/<time>-<digest>`, the first two as hashes, so that
no scope's texts lie below another's folder. Folders have mode 0700, files 0600; the newest five of a path are kept, and
a bounded number in all, of which each scope has an equal share: no scope makes another lose its copies.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from apm_hooks.errors import MemoryFileError, ScopeError, UsageError
from apm_hooks.fastlane import hash_of
from apm_hooks.files import STATE, create_absent, read_bytes, stamp, state_directory
from apm_hooks.guarded import change_file
from apm_hooks.opening import parent, shown
from apm_hooks.ownership import owner_writes
from apm_hooks.records import LIMITS, Limits, Scope

PER_PATH = 5
_FOLDER, _PATH_FILE = "backup", "path"
_TOP = f"{STATE}/{_FOLDER}"
_NAME = re.compile(r"([0-9]{20})-([0-9a-f]{16})")
_PATH_BYTES = 16_384
_OTHERS_WRITE = 0o022

NONE_KEPT = "no earlier text of it is kept"
NOT_KEPT = "no text of it is kept under the name {image}"
TOO_LARGE = "holds more than {limit} bytes, so that no copy of what would be replaced can be kept"
COPY_FIRST = "Copy it yourself, and remove it."
SEE_LIST = "See: apm-hooks restore --list"
NOT_PRIVATE = "can be written by others"
CLOSE_IT = "Run: chmod 700 {path}"


@dataclass(frozen=True, slots=True)
class Image:
    """One pre-image: its short name, the memory file it is of, when it was kept (ns since 1970), its bytes' number, and
    where it lies in the workspace."""

    id: str
    path: str
    at_ns: int
    size: int
    file: str


def keep_image(
    root: str, scope: Scope, path: str, data: bytes, *, limits: Limits = LIMITS,
    clock_ns: Callable[[], int] = time.time_ns,
) -> bool:  # fmt: skip
    """Keep a copy of what `path` holds; False for one over `limits.image_bytes`, which is not kept.

    What is the newest copy already is not kept twice. Raises MemoryFileError where the copy cannot be written, and
    where its folder is a link or open to others.
    """
    if len(data) > limits.image_bytes:
        return False
    folder = _folder(scope, path)
    state_directory(root, folder.removeprefix(f"{STATE}/"))
    _check_private(root)
    create_absent(root, f"{folder}/{_PATH_FILE}", path.encode("utf-8", "surrogateescape"), mode=0o600)
    digest = _digest(data)
    kept = _names(root, folder)
    if kept and kept[-1].endswith(digest):
        return True
    # A clock that goes back may not make the newest the oldest.
    at = max(clock_ns(), int(kept[-1].partition("-")[0]) + 1 if kept else 0)
    name = f"{at:020}-{digest}"
    create_absent(root, f"{folder}/{name}", data, mode=0o600)
    for old in kept[: max(len(kept) + 1 - PER_PATH, 0)]:
        _remove(root, f"{folder}/{old}")
    share = max(limits.images // max(len(_entries(root, _TOP)), 1), PER_PATH)
    top = _scope_folder(scope)
    # From the number of folders alone: a hook must not walk through all copies each time.
    if len(kept) < PER_PATH and len(_entries(root, top)) * PER_PATH > share:
        _bound(root, top, f"{folder}/{name}", share)
    return True


def images_of(root: str, scope: Scope, path: str) -> tuple[Image, ...]:
    """The pre-images of one file, the newest first."""
    folder = _folder(scope, path)
    return tuple(_image(root, folder, name, path) for name in reversed(_names(root, folder)))


def all_images(root: str, scope: Scope) -> tuple[Image, ...]:
    """The pre-images of all files of a scope, by path, the newest of each first."""
    top = _scope_folder(scope)
    found: list[Image] = []
    for folder in _entries(root, top):
        with suppress(MemoryFileError):
            named = read_bytes(root, f"{top}/{folder}/{_PATH_FILE}", limit=_PATH_BYTES)
            path = named[0].decode("utf-8", "surrogateescape") if named else ""
            found += images_of(root, scope, path) if hash_of(path) == folder else ()
    return tuple(sorted(found, key=lambda image: (image.path, -image.at_ns)))


def restore(
    root: str, scope: Scope, path: str, *, image: str = "", limits: Limits = LIMITS,
    check: Callable[[bytes | None, bytes], None] | None = None,
) -> tuple[Image, bool]:  # fmt: skip
    """Put a pre-image back in its file's place, keeping a copy of what it replaces: the one named `image`, else the
    newest that differs from what the file holds.

    Returns it, and whether the file was changed. `check` is given the file's bytes and those to come, and may raise.
    Raises ScopeError for a file that is not this scope's to write, UsageError where no such text is kept, and what
    `change_file` and `keep_image` raise.
    """
    if not owner_writes(scope, path):
        raise ScopeError(f"{shown(path)} is not {scope}'s to write")
    chosen: list[Image] = []

    def change(before: bytes | None) -> bytes:
        found = [each for each in images_of(root, scope, path) if each.id.startswith(image)]
        for each in found:
            data = read_bytes(root, each.file, limit=limits.image_bytes)
            if data is not None and (image or data[0] != before):
                if check is not None:
                    check(before, data[0])
                chosen[:] = [each]
                return data[0]
        raise UsageError(NOT_KEPT.format(image=image) if image else NONE_KEPT, file=shown(path), remedy=SEE_LIST)

    def keep(before: bytes) -> None:
        if not keep_image(root, scope, path, before, limits=limits):
            raise MemoryFileError(TOO_LARGE.format(limit=limits.image_bytes), file=shown(path), remedy=COPY_FIRST)

    changed = change_file(root, path, change, keep=keep, limits=limits)
    return chosen[0], changed


def _scope_folder(scope: Scope) -> str:
    return f"{_TOP}/{hash_of(str(scope))}"


def _folder(scope: Scope, path: str) -> str:
    return f"{_scope_folder(scope)}/{hash_of(path)}"


def _check_private(root: str) -> None:
    found = stamp(root, _TOP)
    if found is not None and found.mode & _OTHERS_WRITE:
        raise MemoryFileError(NOT_PRIVATE, file=_TOP, remedy=CLOSE_IT.format(path=_TOP))


def _entries(root: str, folder: str) -> list[str]:
    """The names in a folder; none where it is absent, or no folder."""
    try:
        with parent(root, f"{folder}/any") as (directory, _):
            return os.listdir(directory)
    except (OSError, MemoryFileError):
        return []


def _names(root: str, folder: str) -> list[str]:
    return sorted(name for name in _entries(root, folder) if _NAME.fullmatch(name))


def _image(root: str, folder: str, name: str, path: str) -> Image:
    at, _, digest = name.partition("-")
    file = f"{folder}/{name}"
    size = 0
    # One that went meanwhile is told without its size.
    with suppress(MemoryFileError):
        found = stamp(root, file)
        size = found.size if found else 0
    return Image(digest[:8], path, int(at), size, file)


def _digest(data: bytes) -> str:
    from hashlib import blake2b

    return blake2b(data, digest_size=8).hexdigest()


def _remove(root: str, path: str) -> None:
    # Another process that tidies up at the same time was faster.
    with suppress(OSError, MemoryFileError), parent(root, path) as (directory, name):
        os.unlink(name, dir_fd=directory)


def _bound(root: str, top: str, newest: str, images: int) -> None:
    """Remove a scope's oldest past the bound; folders that this empties go too."""
    found: list[tuple[str, str]] = []
    with suppress(OSError, MemoryFileError), parent(root, f"{top}/any") as (directory, _):
        for folder, _, names, _ in os.fwalk(".", dir_fd=directory):
            found += [(name, f"{top}/{folder[2:]}/{name}") for name in names if _NAME.fullmatch(name)]
    found.sort()
    for _, file in found[: max(len(found) - images, 0)]:
        if file == newest:
            continue
        _remove(root, file)
        folder = file.rpartition("/")[0]
        if not _names(root, folder):
            _remove(root, f"{folder}/{_PATH_FILE}")
            with suppress(OSError, MemoryFileError), parent(root, folder) as (directory, name):
                os.rmdir(name, dir_fd=directory)
