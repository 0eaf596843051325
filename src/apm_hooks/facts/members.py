"""Which members there are, and what each is set to: the files that say so, found and read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from apm_hooks.decoding import decode
from apm_hooks.errors import MemoryFileError, SettingsError, UsageError
from apm_hooks.facts.config import ORG, STAFF, Member, Organisation, Source, alone, organisation
from apm_hooks.facts.model import INDEX
from apm_hooks.facts.yamlfile import read_yaml
from apm_hooks.files import read_bytes
from apm_hooks.injection import show_invisible
from apm_hooks.places import SETTINGS_FILE
from apm_hooks.records import LIMITS

UNKNOWN = "{handle} is no member here"


def find_root(start: str, *, named: bool = False) -> tuple[str, str]:
    """The organisation or workspace that a folder belongs to, and the member's directory in it that `start` lies in.

    The nearest folder at or above `start` that holds `org.yaml`, `apm.toml` or an index. Where that is a member's
    directory of an organisation further above, it is that organisation. Both are empty where there is none; the second
    is empty where `start` lies in no member's directory. With `named`, `start` itself is meant, whatever it holds.
    Raises SettingsError.
    """
    base = start if named else _nearest(start, (ORG, SETTINGS_FILE, INDEX))
    if not base:
        return "", ""
    above = base if os.path.isfile(os.path.join(base, ORG)) else _nearest(os.path.dirname(base), (ORG,))
    if not above:
        return base, ""
    try:
        members = read_members(above, own=False).members
    except (SettingsError, MemoryFileError):
        if above == base:
            raise
        # Somebody else's file above this one is no business of ours.
        return base, ""
    inner = os.path.relpath(start, above).replace(os.sep, "/")
    holding = [each.dir for each in members if not each.dir or inner == each.dir or inner.startswith(f"{each.dir}/")]
    inside = max(holding, key=len, default=None)
    if above != base and (inside is None or os.path.join(above, inside) != base):
        return base, ""
    return above, inside or ""


def _nearest(start: str, names: Sequence[str]) -> str:
    at = os.path.realpath(start)
    while True:
        if any(os.path.isfile(os.path.join(at, name)) for name in names):
            return at
        above = os.path.dirname(at)
        if above == at:
            return ""
        at = above


def read_members(root: str, *, own: bool = True) -> Organisation:
    """The members of the organisation or workspace at `root`, with their budgets; without `own`, their own files are
    not read. Raises SettingsError."""
    org = _yaml(root, ORG)
    if org is None:
        settings = _toml(root)
        return alone(root, settings, _yaml(root, STAFF) if own else None)
    return organisation(org, lambda member: _staff(root, member) if own else None)


def own_member(root: str) -> Member:
    """The member whose directory is `root` itself: of its organisation, which may lie above, else alone. Raises
    SettingsError."""
    top, inside = find_root(root, named=True)
    members = read_members(top or root).members
    return next((member for member in members if member.dir == inside), alone(root, None).members[0])


def _staff(root: str, member: Member) -> Source | None:
    directory = directory_of(root, member)
    return _yaml(directory, STAFF, member.prefix) if os.path.isdir(directory) else None


def chosen(members: Sequence[Member], handles: Sequence[str], inside: str = "") -> tuple[Member, ...]:
    """The members of these handles, else the one whose directory is `inside`, else all. Raises UsageError."""
    if not handles:
        return tuple(member for member in members if not inside or member.dir == inside)
    known = {member.handle: member for member in members}
    for handle in handles:
        if handle not in known:
            from difflib import get_close_matches

            close = get_close_matches(handle, known, n=1)
            names = ", ".join(show_invisible(name) for name in known)
            remedy = f"Did you mean {close[0]}?" if close else f"Members: {names}."
            raise UsageError(UNKNOWN.format(handle=show_invisible(handle)), remedy=remedy)
    return tuple(known[handle] for handle in dict.fromkeys(handles))


def directory_of(root: str, member: Member) -> str:
    """The absolute directory of a member. Raises SettingsError where a link leads out of the organisation."""
    top = os.path.realpath(root)
    full = os.path.realpath(os.path.join(top, member.dir))
    if full != top and not full.startswith(top.rstrip("/") + "/"):
        raise SettingsError(f"the directory of {member.handle} lies outside of it", file=os.path.join(root, ORG),
                            key="dir", remedy="Put the member's directory into the organisation's.")  # fmt: skip
    return full


def _read(root: str, path: str, prefix: str = "") -> str | None:
    """A settings file's text, None for none; `prefix` is what stands before its path in errors."""
    try:
        found = read_bytes(root, path, limit=LIMITS.settings_bytes)
        return decode(found[0], path)[0] if found else None
    except MemoryFileError as error:
        raise SettingsError(error.cause, file=prefix + path, remedy=error.remedy) from error


def _yaml(root: str, path: str, prefix: str = "") -> Source | None:
    text = _read(root, path, prefix)
    if text is None:
        return None
    data, line_of = read_yaml(text, prefix + path)
    return Source(prefix + path, data, line_of)


def _toml(root: str) -> Source | None:
    import tomllib

    text = _read(root, SETTINGS_FILE)
    if text is None:
        return None
    try:
        data: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise SettingsError(f"is no TOML: {error}", file=SETTINGS_FILE) from error

    def line_of(keys: tuple[str | int, ...]) -> int:
        lines = text.split("\n")
        table = next((number for number, line in enumerate(lines) if line.strip().startswith("[facts]")), None)
        if table is None or len(keys) < 2:
            return 0 if table is None else table + 1
        named = (number for number, line in enumerate(lines[table:], table + 1)
                 if line.split("=")[0].strip().strip("\"'") == keys[1])  # fmt: skip
        return next(named, 0)

    return Source(SETTINGS_FILE, data, line_of)
