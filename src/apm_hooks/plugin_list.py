"""Which plugins are installed, which hooks they implement, and whether they may be used.

To find that out costs more than a whole session start, so the answer is kept: a JSON file in the user's cache folder
that holds while the folders it was gathered from carry the same stamps. Its keys, for readers that have only a JSON
scanner:

- `format`: 1; anything else is no list.
- `folders`: the folders that were searched. `stamps`: `[path, stamp]` of each, and of each plugin's own files.
- `wanted`: names of all hooks that any plugin implements, before allow and block lists; `*` where a plugin was not
  looked into, because a list forbade it.
- `plugins`: name, version, origin, value, hooks, error, examined.

A plugin that a list forbids is never imported. One is looked into once, with a deadline, when it is first found.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from apm_hooks import fastlane
from apm_hooks.errors import ApmError
from apm_hooks.files import replace_bytes
from apm_hooks.places import private_directory
from apm_hooks.plugin_calls import Call, one_by_one
from apm_hooks.records import LIMITS, Limits

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP = "apm_hooks"
"""The entry-point group."""
FORMAT = 1
UNKNOWN = "*"
"""In `wanted`: a plugin was not looked into, so that any hook may be wanted."""

_LIST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class PluginSettings:
    """What may be used. `disabled`: no plugin but the built-in ones. `allow`: only these, where it names any. `block`:
    never these, built-in ones included; it wins over `allow`. `strict`: what would be one line in the log is an error.
    Names are compared without regard to case, `-`, `_` and `.`."""

    disabled: bool = False
    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    strict: bool = False

    def state_of(self, name: str) -> str:
        """`disabled`, `blocked`, `not-allowed`, or `active`: what the settings say of an external plugin."""
        if self.disabled:
            return "disabled"
        if self.blocks(name):
            return "blocked"
        return "not-allowed" if self.allow and plain_name(name) not in map(plain_name, self.allow) else "active"

    def blocks(self, name: str) -> bool:
        """True where the block list names it."""
        return plain_name(name) in map(plain_name, self.block)


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """One plugin. `origin` is the distribution that brought it, `built-in`, or `runtime` where a program registered
    it; `value` is `module:attribute`. `state` is `active`, `blocked`, `not-allowed`, `disabled`, `broken` or
    `duplicate`; `error` is why it is broken or a duplicate, or what last went wrong with it."""

    name: str
    version: str
    origin: str
    value: str
    hooks: tuple[str, ...]
    state: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Found:
    """An entry point as the list keeps it, before any setting. `examined`: it was loaded once, and `hooks` and `error`
    say how that went. `files`: where its code lies."""

    name: str
    version: str
    origin: str
    value: str
    hooks: tuple[str, ...] = ()
    error: str = ""
    examined: bool = False
    files: tuple[str, ...] = ()


def plain_name(name: str) -> str:
    """The form in which names of plugins and distributions are compared."""
    return name.casefold().replace("_", "-").replace(".", "-")


def list_path(cache_dir: str) -> str:
    """Where this installation's list is kept. Named by what an interpreter knows even without its site packages: the
    folder it lies in and its version; `sys.prefix` is another one there."""
    return os.path.join(
        cache_dir, f"plugins-{fastlane.hash_of(os.path.dirname(sys.executable or ''), sys.version)}.json"
    )


def installed_plugins(
    cache_dir: str, settings: PluginSettings, *, fresh: bool = False, seconds: float | None = None,
    limits: Limits = LIMITS,
) -> tuple[PluginInfo, ...]:  # fmt: skip
    """Every installed external plugin with its state, by name, then distribution.

    Taken from the list in `cache_dir` (absolute) while that holds; gathered anew otherwise, or if `fresh`. All plugins
    together may take `seconds` to be looked into (else `limits.plugin_load_seconds`). A list that cannot be kept costs
    time, no answer.
    """
    bound: float = limits.plugin_load_seconds if seconds is None else seconds
    folders = _folders()
    kept = None if fresh else _read(list_path(cache_dir), folders)
    started = time.time_ns()
    stamps, entries = kept or ([[path, _stamp(path)] for path in folders], _gather(folders))
    todo = [entry for entry, state, _ in _judged(entries, settings) if state == "active" and not entry.examined]
    if todo:
        examined = dict(zip(todo, _examine(todo, bound, waiting=seconds is None), strict=True))
        entries = [examined.get(entry, entry) for entry in entries]
        stamped = {path for path, _ in stamps}
        files = {file for entry in examined.values() for file in entry.files} - stamped
        stamps = stamps + [[path, _stamp(path)] for path in sorted(files)]
    # A folder that changed a moment ago could change once more and carry the same stamp.
    settled = all(not stamp or max(stamp[3:]) <= started - limits.racy_ns for _, stamp in stamps)
    if settled and (todo or kept is None):
        _write(list_path(cache_dir), folders, stamps, entries)
    infos = (
        PluginInfo(entry.name, entry.version, entry.origin, entry.value, entry.hooks, state, error)
        for entry, state, error in _judged(entries, settings)
    )
    return tuple(sorted(infos, key=lambda info: (info.name, info.origin, info.value)))


def _judged(entries: Sequence[_Found], settings: PluginSettings) -> Iterator[tuple[_Found, str, str]]:
    """Each entry point with state and error. Of several with one name, the first by distribution counts."""
    first: dict[str, _Found] = {}
    for entry in sorted(entries, key=lambda entry: (plain_name(entry.origin), entry.name, entry.value)):
        holder = first.setdefault(plain_name(entry.name), entry)
        state = settings.state_of(entry.name)
        if state != "active":
            yield entry, state, entry.error
        elif holder is not entry:
            yield entry, "duplicate", f"the name is taken by {holder.value} of {holder.origin}"
        else:
            yield entry, "broken" if entry.error else "active", entry.error


def _folders() -> tuple[str, ...]:
    """Where distributions are looked for: the import path without the current folder and the running script's, which
    are no installation. A cloned repository must not bring a plugin just because somebody stands in it."""
    script = getattr(sys, "argv", [""])[:1]
    beside = os.path.dirname(os.path.realpath(script[0])) if script and script[0] else ""
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:
        here = ""
    found = []
    for position, path in enumerate(sys.path):
        if isinstance(path, str) and os.path.isabs(path):
            real = os.path.realpath(path)
            if real != here and not (position == 0 and real == beside):
                found.append(path)
    return tuple(dict.fromkeys(found))


def _stamp(path: str) -> list[int]:
    """Device, inode, size, and the times of change in nanoseconds, with links followed; empty where nothing is."""
    try:
        status = os.stat(path)
    except OSError:
        return []
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _gather(folders: Sequence[str]) -> list[_Found]:
    """Every entry point of our group, each read by itself, so that a damaged one costs no other."""
    from importlib import metadata

    found: list[_Found] = []
    seen: set[str] = set()
    try:
        distributions = list(metadata.distributions(path=list(folders)))
    except Exception as error:  # noqa: BLE001 - finders of others take part in this
        return [_unreadable("?", "", error)]
    for distribution in distributions:
        origin, version = _identity(distribution)
        try:
            if GROUP not in (distribution.read_text("entry_points.txt") or ""):
                continue
            points = [(point.name, point.value) for point in distribution.entry_points if point.group == GROUP]
        except Exception as error:  # noqa: BLE001 - whatever a damaged distribution makes its reader raise
            found.append(_unreadable(origin, version, error))
            continue
        # The first on the path is the one that is imported.
        if points and plain_name(origin) not in seen:
            seen.add(plain_name(origin))
            found += [_entry(name, value, origin, version) for name, value in points]
    return found


def _identity(distribution: Distribution) -> tuple[str, str]:
    """Name and version; an uninstallation that was cut short leaves distributions without either."""
    try:
        return str(distribution.metadata["Name"]), str(distribution.version)
    except Exception:  # noqa: BLE001 - as above
        return "?", ""


def _unreadable(origin: str, version: str, error: Exception) -> _Found:
    shown = f"its entry points cannot be read: {type(error).__name__}: {error}"
    return _Found(origin, version, origin, "", error=shown, examined=True)


def _entry(name: str, value: str, origin: str, version: str) -> _Found:
    module, _, attribute = value.partition("[")[0].partition(":")
    parts = [*module.strip().split("."), *(attribute.strip().split(".") if attribute.strip() else ())]
    entry = _Found(name, version, origin, ":".join(part.strip() for part in (module, attribute) if part.strip()))
    if all(part.isidentifier() for part in parts):
        return entry
    return replace(entry, error=f"{value!r} is no module:attribute", examined=True)


def _examine(entries: Sequence[_Found], seconds: float, *, waiting: bool) -> list[_Found]:
    """Load each once, guarded, to see which hooks it implements. `waiting`: a host does, so that time is short."""

    def begin(entry: _Found) -> Call:
        return Call(lambda: _looked_into(entry), entry.name, quote=True)

    late = f"took longer than {seconds:g} s to load"
    if waiting:
        late += "; apm-hooks plugins gives it more time"
    until = time.monotonic() + seconds
    done = []
    for entry, call in list(one_by_one(entries, begin, until)):
        if not call.wait(until - time.monotonic()):
            done.append(replace(entry, error=late, examined=True))
        elif call.error:
            done.append(replace(entry, error=call.error, examined=True))
        else:
            done.append(cast(_Found, call.answer))
    return done


def _looked_into(entry: _Found) -> _Found:
    from apm_hooks.plugin_checks import admit

    manager = admit(load(entry.value), entry.name)
    module = getattr(sys.modules.get(entry.value.partition(":")[0]), "__file__", None)
    files = manager.files | ({module} if isinstance(module, str) else set())
    kept = tuple(sorted(file for file in files if os.path.isabs(file)))
    return replace(entry, hooks=tuple(sorted(manager.hooks)), files=kept, examined=True)


def load(value: str) -> Any:
    """What `module:attribute` names. Raises whatever the import raises."""
    from importlib import import_module

    module, _, attribute = value.partition(":")
    found: Any = import_module(module)
    for part in attribute.split(".") if attribute else ():
        found = getattr(found, part)
    return found


def _wanted(entries: Sequence[_Found]) -> list[str]:
    """The key `wanted`. A duplicate is never used, whatever the settings."""
    counting = [entry for entry, state, _ in _judged(entries, PluginSettings()) if state != "duplicate"]
    return sorted({hook for entry in counting for hook in (entry.hooks if entry.examined else (UNKNOWN,))})


def _read(path: str, folders: Sequence[str]) -> tuple[list[list[Any]], list[_Found]] | None:
    """Stamps and entry points of the kept list; None where it is absent, damaged, another's, or no longer holds."""
    text = fastlane.read_private(path, _LIST_BYTES)
    if text is None:
        return None
    try:
        kept = fastlane.parse_json(text)
        if kept["format"] != FORMAT or sorted(kept["folders"]) != sorted(folders):
            return None
        stamps = [[path, stamp] for path, stamp in kept["stamps"]]
        if any(_stamp(path) != stamp for path, stamp in stamps):
            return None
        return stamps, [_Found(**_fields(entry)) for entry in kept["plugins"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _fields(entry: Any) -> dict[str, Any]:
    """The fields of a kept entry point; raises TypeError where one is not of its type."""
    fields = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    for key, value in fields.items():
        right = (
            isinstance(value, tuple) and all(isinstance(item, str) for item in value) if key in ("hooks", "files")
            else isinstance(value, bool if key == "examined" else str)
        )  # fmt: skip
        if not right:
            raise TypeError(key)
    return fields


def _write(path: str, folders: Sequence[str], stamps: Sequence[object], entries: Sequence[_Found]) -> None:
    import json

    document = {
        "format": FORMAT, "folders": list(folders), "stamps": stamps,
        "wanted": _wanted(entries),
        "plugins": [asdict(entry) for entry in entries],
    }  # fmt: skip
    # A folder that cannot be written, or that others can write, costs the next process the same work again.
    with suppress(ApmError):
        folder, name = os.path.split(path)
        replace_bytes(private_directory(folder), name, json.dumps(document).encode())
