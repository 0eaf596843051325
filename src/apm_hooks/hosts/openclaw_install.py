"""Put our hook pack and plugin into OpenClaw's folders and name them in its settings, and take them out again.

A plan is made first and changes nothing; applying it replaces whole files. Only what is ours is touched, and what was
done is recorded beside it, so that it can be taken back. What the host does with all this is told in
hooks/openclaw/README.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from apm_hooks._version import __version__
from apm_hooks.errors import SettingsError
from apm_hooks.hosts import openclaw_config as host
from apm_hooks.hosts import openclaw_files
from apm_hooks.hosts.installing import BACKUP, FileChange, Plan, read_bytes, refusal
from apm_hooks.hosts.openclaw_config import FLUSH, INTERNAL, Config, Done, Edit, HostPlaces

OLDEST = (2026, 9, 6)
"""The oldest version of the host on which these hooks were run."""

ABSENT = "absent"

WHY = {"pack": "our hook pack", "plugin": "our plugin", "config": "our hooks and plugin", "record": "what was done"}
GOES = {"pack": "our hook pack goes", "plugin": "our plugin goes", "config": "our hooks and plugin go",
        "record": "our record goes"}  # fmt: skip
INSTALLED = "installed already, nothing to change"
NOT_INSTALLED = "not installed, nothing to change"
RESTART = "now restart the gateway, which loads hooks and plugins when it starts: openclaw gateway restart"
KEPT = f"what the host's settings held before is kept beside them, as NAME{BACKUP}"
ALL_LOADED = "{file} names no hooks, so that the host loads all that it finds: ours are not named, to keep it so"
NAMED = "{file} names the hooks that load, or loads none: ours are named, and no other changes"
STAYS_OFF = (
    "WARNING: {file} switches hooks off (hooks.internal.enabled), and switching them on would bring back others: the "
    "hook pack does not load, and no memory reaches the model by the plugin either"
)
OTHER_FILE = "WARNING: plugins.{key} in {file} keeps our plugin from loading: {how}"
NO_PROMPTS = (
    "WARNING: {file} forbids our plugin to add to prompts (plugins.entries.apm-hooks.hooks.allowPromptInjection)"
)
FLUSH_ON = (
    "WARNING: the host's own memory flush is on: it writes what groups say into the daily note that direct chats load, "
    "and its turns do not say whose they are, so that they get no memory and may write none. To switch it off: "
    "apm-hooks install openclaw --host-flush off"
)
SESSION_MEMORY = (
    "WARNING: the host's hook session-memory writes what was said into memory/ at each /new and /reset, in groups too, "
    "where the host's own memory search finds it for everybody. To switch it off: openclaw hooks disable "
    "session-memory{beside}"
)
BESIDE = ", and openclaw hooks enable NAME for each other hook that shall load: the first name makes a list of them"
FLUSH_OFF = "the host's own memory flush is off: ours takes its place; uninstall sets it back"
LEFT = "WARNING: {edit} was changed since and stays: {file}"
NO_RECORD = "what install changed besides is not recorded, and stays: hooks.internal.enabled, the host's memory flush"


@dataclass(frozen=True, slots=True)
class Record:
    """What was done: edits of the host's settings, digests of them before and after, and the files that were copied.

    A digest is `absent` where there was no file. `before` is empty where others edited between two of our edits.
    """

    done: tuple[Done, ...] = ()
    before: str = ""
    after: str = ""
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def encoded(self) -> bytes:
        edits = [{"path": list(each.edit.path), "value": each.edit.value, "append": each.edit.append, "had": each.had,
                  "old": each.old} for each in self.done]  # fmt: skip
        held = {"format": 1, "version": __version__, "before": self.before, "after": self.after,
                "files": {half: list(names) for half, names in self.files.items()}, "edits": edits}  # fmt: skip
        return (json.dumps(held, indent=2, ensure_ascii=False) + "\n").encode()


def plan_install(
    env: Mapping[str, str], workspaces: Sequence[str], owners: Sequence[str] = (), *, flush: str = ""
) -> Plan:
    """What puts our pack and plugin into the host's folders for these workspaces, the first being the default.

    `owners` are the peers of `owner_peers`. `flush` is what becomes of the host's own memory flush: `off`, `keep`, or
    empty for as it is. Writes nothing. Raises SettingsError for a host that is too old, and for a file that cannot be
    read or edited.
    """
    places = host.host_places(env)
    config = host.read_config(places.config)
    require_version(host.host_version(env, config))
    source = openclaw_files.source()
    held, record = read_record(places)
    if flush == "keep":
        config, record = _flush_restored(config, record)
    edits = wanted(config, places, source, flush)
    missing = host.needed(config, edits)
    host.require_editable(config, missing, env)
    text, done = host.edited(config, edits)
    copies = {half: openclaw_files.files(source, half, workspaces, owners) for half in openclaw_files.HALVES}
    changes = [change for half in openclaw_files.HALVES for change in _copied(places, half, copies[half], record)]
    original = read_bytes(places.config)
    after = text.encode() if text else original
    changed = after != original
    if changed:
        changes.append(FileChange(places.config, original, after, WHY["config"], mode=0o600))
    new = Record(
        done=_merged(record.done, done), files={half: sorted(copies[half]) for half in copies},
        before=_before(held, record, original) if changed or held is None else record.before,
        after=_digest(after) if changed or held is None else record.after,
    )  # fmt: skip
    # The record comes first, so that whatever is cut short can be taken back.
    changes.insert(0, FileChange(places.record, held, new.encoded(), WHY["record"], backup=False, mode=0o600))
    real = tuple(change for change in changes if change.before != change.after)
    head = [RESTART] if real else [INSTALLED]
    tail = [KEPT] if changed and original is not None else []
    return Plan(real, (*head, *_notes(config, places, source, flush, new), *tail))


def plan_uninstall(env: Mapping[str, str]) -> Plan:
    """What takes our pack, plugin and edits out of the host's folders and settings; raises SettingsError."""
    places = host.host_places(env)
    config = host.read_config(places.config)
    held, record = read_record(places)
    if held is None:
        source = openclaw_files.source()
        record = Record(files={half: sorted(openclaw_files.files(source, half, ())) for half in openclaw_files.HALVES})
    changes = [change for half in openclaw_files.HALVES for change in _copied(places, half, {}, record)]
    notes: list[str] = []
    # Where nothing of ours lies, an entry of that name is somebody's own preparation.
    done = record.done if held is not None else tuple(_guessed(config)) if changes else ()
    if done:
        host.require_editable(
            config, [each.edit for each in done if host.lookup(config.values, each.edit.path)[0]], env
        )
        text, left = host.undone(config, done)
        notes += [LEFT.format(edit=edit, file=config.path) for edit in left]
        after = _restored(config, record, text)
        if after != config.data:
            kept = after is not None
            # A gateway that runs reads its settings anew at once: it lets go of the files before they go.
            changes.insert(0, FileChange(places.config, config.data, after, GOES["config"], backup=kept, mode=0o600))
            if held is None:
                notes.append(NO_RECORD)
    if held is not None:
        changes.append(FileChange(places.record, held, None, GOES["record"], backup=False))
    head = [RESTART] if changes else [NOT_INSTALLED]
    ours = {places.pack, places.plugin, os.path.dirname(places.record)}
    held_in = {os.path.dirname(change.path) for change in changes if not change.backup}
    folders = sorted({*held_in, *ours, *map(os.path.dirname, (places.pack, places.plugin))}, key=len, reverse=True)
    within = tuple(folder for folder in folders if folder.startswith(places.home + os.sep))
    return Plan(tuple(changes), (*head, *notes), folders=within if changes else ())


def wanted(config: Config, places: HostPlaces, source: str, flush: str = "") -> list[Edit]:
    """All that has to stand in the host's settings for our hooks to load."""
    names = openclaw_files.hook_names(source)
    edits = [*host.hook_edits(config, names, host.hook_installs(config, places)), *host.plugin_edits(config)]
    return [*edits, Edit(FLUSH, False)] if flush == "off" else edits


def require_version(version: str) -> None:
    """Raise SettingsError for a host older than those on which these hooks were run; an unknown version passes."""
    numbers = tuple(int(part) for part in version.partition("-")[0].split(".") if part.isdigit())
    if numbers and numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise SettingsError(
            f"OpenClaw {version} is older than {oldest}, the oldest on which these hooks were run: older ones show the "
            "owner's MEMORY.md to groups, or do not say whose turn it is",
            remedy="Update it, then run the command again: openclaw update",
        )


def read_record(places: HostPlaces) -> tuple[bytes | None, Record]:
    """The record of an installation: its bytes (None: there is none), and what it says."""
    data = read_bytes(places.record)
    if data is None:
        return None, Record()
    try:
        held = json.loads(data)
        done = tuple(
            Done(
                Edit(tuple(map(str, each["path"])), each["value"], bool(each["append"])), bool(each["had"]), each["old"]
            )
            for each in held["edits"]
        )
        files = {half: tuple(map(str, held["files"][half])) for half in openclaw_files.HALVES}
        return data, Record(done, str(held["before"]), str(held["after"]), files)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise refusal("cannot be read", places.record) from None


def flush_is_on(config: Config) -> bool:
    """Whether the host writes memory by itself before a compaction, as it does unless told otherwise."""
    return config.get(*FLUSH) is not False


def _copied(places: HostPlaces, half: str, new: Mapping[str, bytes], record: Record) -> Iterator[FileChange]:
    """The changes that make the folder of a half hold these files, and none that an earlier version brought."""
    folder = places.pack if half == "pack" else places.plugin
    if os.path.islink(folder):
        raise refusal("is a link", folder)
    for name in sorted({*new, *record.files.get(half, ())}):
        path = os.path.join(folder, name)
        if os.path.isabs(name) or ".." in name.split(os.sep) or os.path.islink(path):
            raise refusal("is a link, or leads out of its folder", path)
        before, after = read_bytes(path), new.get(name)
        if before != after:
            yield FileChange(path, before, after, (WHY if after is not None else GOES)[half], backup=False, mode=0o644)


def _merged(earlier: Sequence[Done], later: Sequence[Done]) -> tuple[Done, ...]:
    """All edits that were made, each with what stood there before the first."""
    made = {(each.edit.path, each.edit.append): each for each in later}
    made.update({(each.edit.path, each.edit.append): each for each in earlier})
    return tuple(made.values())


def _digest(data: bytes | None) -> str:
    return sha256(data).hexdigest() if data is not None else ABSENT


def _before(held: bytes | None, record: Record, original: bytes | None) -> str:
    """The digest of the settings as they were before our first edit; empty where others have edited them since."""
    if held is None:
        return _digest(original)
    return record.before if record.after == _digest(original) else ""


def _flush_restored(config: Config, record: Record) -> tuple[Config, Record]:
    """The settings with the host's flush as it was before we switched it off."""
    ours = [each for each in record.done if each.edit.path == FLUSH]
    if not ours:
        return config, record
    text, _ = host.undone(config, ours)
    again = host.parsed(config.path, config.data, text)
    rest = tuple(each for each in record.done if each.edit.path != FLUSH)
    return again, Record(rest, record.before, record.after, record.files)


def _restored(config: Config, record: Record, text: str) -> bytes | None:
    """The settings without our edits: byte for byte what they were, where nobody has edited them since."""
    after: bytes | None = text.encode()
    if record.after == _digest(config.data):
        if record.before == ABSENT:
            return None
        kept = read_bytes(config.path + BACKUP)
        if _digest(after) != record.before and _digest(kept) == record.before:
            after = kept
    return after


def _guessed(config: Config) -> Iterator[Done]:
    """What is ours for certain in the host's settings, where no record tells."""
    names = openclaw_files.hook_names(openclaw_files.source())
    entries = [(*INTERNAL, "entries", name) for name in names]
    for path in (*entries, host.ENTRY):
        found, value = host.lookup(config.values, path)
        if found:
            yield Done(Edit(path, value))
    allowed = config.get("plugins", "allow")
    if isinstance(allowed, list) and host.PLUGIN in allowed:
        yield Done(Edit(("plugins", "allow"), host.PLUGIN, append=True))


def _notes(config: Config, places: HostPlaces, source: str, flush: str, record: Record) -> Iterator[str]:
    """What the person who installs should know."""
    names = openclaw_files.hook_names(source)
    chosen = host.selection(config, host.hook_installs(config, places))
    if chosen.open and not chosen.off:
        yield ALL_LOADED.format(file=config.path)
    elif host.hook_edits(config, names, host.hook_installs(config, places)):
        yield NAMED.format(file=config.path)
    elif not chosen.loads(host.hooks_kept(config, names)):
        yield STAYS_OFF.format(file=config.path)
    yield from blocked(config)
    if chosen.loads(["session-memory"]):
        yield SESSION_MEMORY.format(beside=BESIDE if chosen.open else "")
    off = flush == "off" or not flush_is_on(config)
    if not off:
        yield FLUSH_ON
    elif any(each.edit.path == FLUSH for each in record.done):
        yield FLUSH_OFF


def blocked(config: Config) -> Iterator[str]:
    """What in the host's settings keeps our plugin from working."""
    if config.get("plugins", "enabled") is False:
        yield OTHER_FILE.format(key="enabled", file=config.path, how="it switches all plugins off")
    denied: Any = config.get("plugins", "deny")
    if isinstance(denied, list) and host.PLUGIN in denied:
        yield OTHER_FILE.format(key="deny", file=config.path, how=f"it names {host.PLUGIN}")
    if config.get(*host.ENTRY, "hooks", "allowPromptInjection") is False:
        yield NO_PROMPTS.format(file=config.path)
