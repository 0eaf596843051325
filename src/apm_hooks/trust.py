"""Which workspaces their owner accepted, and the privacy settings that were accepted with them.

A cloned repository that happens to hold `memory/` must inject nothing, and a pull must not widen who reads what
(protocol, section 3): the list lies in the user's own configuration, never in the workspace, and holds a digest of
each privacy setting as it was when the owner looked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from apm_hooks.errors import MemoryFileError, SettingsError
from apm_hooks.files import read_bytes, replace_bytes
from apm_hooks.locking import locked
from apm_hooks.places import TRUSTED, Places, is_private, private_directory
from apm_hooks.records import LIMITS

TRUST_FILE = "trust.json"
GROUPS_PIN = "groups"
CLOSED_PIN = "closed"
"""The accepted patterns that take memory away, not as a digest: a pull that drops one must not count."""


@dataclass(frozen=True, slots=True)
class Trust:
    """How a workspace stands: accepted or not, and the digests accepted with it.

    `pins` is empty where the workspace is accepted through the environment alone: a container's image is its
    operator's own word.
    """

    accepted: bool
    pins: Mapping[str, str]

    def changed(self, digests: Mapping[str, str]) -> tuple[str, ...]:
        """Names of the privacy settings that differ from what was accepted, sorted."""
        if not self.pins:
            return ()
        # A setting that did not exist when the workspace was accepted was not set.
        differs = (name for name, digest in digests.items() if self.pins.get(name, digest_of(None)) != digest)
        return tuple(sorted(name for name in differs if name != CLOSED_PIN))

    @property
    def closed(self) -> tuple[str, ...]:
        """The accepted patterns of session keys that get no memory."""
        return tuple(pattern for pattern in self.pins.get(CLOSED_PIN, "").split("\n") if pattern)


def digest_of(value: object) -> str:
    """A digest of a JSON-ready value that does not depend on key order or spacing."""
    import json
    from hashlib import sha256

    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return "sha256:" + sha256(text.encode()).hexdigest()


def read_trust(workspace: str, where: Places, env: Mapping[str, str]) -> Trust:
    """How `workspace` (an absolute path without links) stands. Raises SettingsError for a damaged trust list, or one
    that others could have written: then nothing is trusted."""
    entry = _entries(where).get(workspace)
    pins = entry.get("pins", {}) if entry else {}
    if entry is not None and isinstance(pins, dict) and pins:
        return Trust(True, {str(name): str(digest) for name, digest in pins.items()})
    named = [part for part in env.get(TRUSTED, "").split(os.pathsep) if part]
    return Trust(any(os.path.realpath(part) == workspace for part in named if os.path.isabs(part)), {})


def accept(workspace: str, digests: Mapping[str, str], where: Places, *, when: str) -> None:
    """Record that the owner accepted `workspace` with these privacy digests; `when` is ISO-8601, for people.

    Raises SettingsError or LockTimeoutError.
    """
    import json

    private_directory(where.config)
    with locked(os.path.join(where.config, TRUST_FILE + ".lock")):
        entries = _entries(where)
        entries[workspace] = {"accepted": when, "pins": dict(digests)}
        document = {"format": 1, "workspaces": dict(sorted(entries.items()))}
        text = json.dumps(document, indent=2, ensure_ascii=True) + "\n"
        replace_bytes(where.config, TRUST_FILE, text.encode(), mode=0o600)


def _entries(where: Places) -> dict[str, dict[str, object]]:
    import json

    shown = os.path.join(where.config, TRUST_FILE)
    if not os.path.isdir(where.config):
        return {}
    try:
        found = read_bytes(where.config, TRUST_FILE, limit=LIMITS.settings_bytes)
    except MemoryFileError as error:
        raise SettingsError(error.cause, file=shown, remedy=error.remedy) from error
    if found is None:
        return {}
    if not (is_private(os.stat(where.config)) and is_private(os.stat(shown))):
        raise SettingsError(
            "belongs to someone else or can be written by others", file=shown,
            remedy=f"Check it, then run: chmod go-w {where.config} {shown}",
        )  # fmt: skip
    try:
        document = json.loads(found[0])
        entries = document["workspaces"]
        if document["format"] != 1 or not all(isinstance(entry, dict) for entry in entries.values()):
            raise ValueError("its format is not known to this version")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SettingsError(
            f"cannot be read: {error}", file=shown, remedy="Move it away, then trust your workspaces again."
        ) from error
    return dict(entries)
