"""What `org.yaml`, `staff.yaml` and `[facts]` of `apm.toml` say, checked: members, budgets, names. Pure.

Other keys of `org.yaml` and `staff.yaml` are other programs' and left alone; below `memory:` and `[facts]` a key that
is not known is an error, because a budget that is misspelt would be none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from apm_hooks.errors import SettingsError
from apm_hooks.facts.model import BUDGETS, PROVENANCES, Budgets

ORG, STAFF, TABLE = "org.yaml", "staff.yaml", "facts"
BUDGET_KEYS = tuple(each.name for each in fields(Budgets))

Lines = Callable[[tuple[str | int, ...]], int]
"""The line of a key in its file, by its path of keys; 0 where that is not known."""


@dataclass(frozen=True, slots=True)
class Source:
    """One settings file, read: its name for errors, what it holds, the lines of its keys."""

    file: str
    data: Mapping[str, Any]
    line_of: Lines = field(default=lambda keys: 0)


@dataclass(frozen=True, slots=True)
class Member:
    """One who keeps an index: `dir` is the directory relative to the root (empty: the root itself).

    `words` are the known provenances; `origins` names for each budget that is no default the file that sets it.
    """

    handle: str
    dir: str = ""
    name: str = ""
    repo: str = ""
    budgets: Budgets = BUDGETS
    words: tuple[str, ...] = PROVENANCES
    origins: tuple[tuple[str, str], ...] = ()

    @property
    def prefix(self) -> str:
        """What leads from the root to the member's files."""
        return f"{self.dir}/" if self.dir else ""


@dataclass(frozen=True, slots=True)
class Organisation:
    """The members in the order of the file, and the template of an issue's address (empty: none)."""

    members: tuple[Member, ...]
    issue_url: str = ""


def alone(root: str, settings: Source | None, staff: Source | None = None) -> Organisation:
    """A workspace without `org.yaml`: its only member is itself, and `settings` is its `apm.toml`. Raises
    SettingsError."""
    handle = root.rstrip("/").rpartition("/")[2] or "workspace"
    member = Member(handle)
    issue_url = ""
    table = settings.data.get(TABLE) if settings else None
    if settings is not None and table is not None:
        if not isinstance(table, Mapping):
            raise _error(settings, (TABLE,), "is no table", "Write it as [facts].")
        member = _budgeted(member, settings, table, (TABLE,), others=("human", "issue_url"))
        member = _named(member, settings, table.get("human"), (TABLE, "human"))
        issue_url = _text(settings, table.get("issue_url", ""), (TABLE, "issue_url"))
    return Organisation((_own(member, staff),), issue_url)


def organisation(org: Source, staff: Callable[[Member], Source | None]) -> Organisation:
    """The members of an `org.yaml`; `staff` reads a member's own file. Raises SettingsError with file, line and key."""
    base = Member("")
    memory = _mapping(org, org.data.get("memory"), ("memory",))
    base = _named(_budgeted(base, org, memory, ("memory",)), org, org.data.get("human"), ("human",))
    entries = org.data.get("staff")
    if not isinstance(entries, list) or not entries:
        raise _error(org, ("staff",), "names no members", "Write: staff: [{handle: NAME, dir: FOLDER}]")
    members: list[Member] = []
    for number, entry in enumerate(entries):
        members.append(_member(org, entry, number, base, members))
    return Organisation(
        tuple(_own(member, staff(member)) for member in members),
        _text(org, org.data.get("issue_url", ""), ("issue_url",)),
    )


def _member(org: Source, entry: object, number: int, base: Member, others: Sequence[Member]) -> Member:
    where = ("staff", number)
    if not isinstance(entry, Mapping):
        raise _error(org, where, "is no member", "Write: {handle: NAME, dir: FOLDER}")
    handle = _text(org, entry.get("handle", ""), (*where, "handle"))
    if not handle:
        raise _error(org, (*where, "handle"), "is missing", "Give each member a handle.")
    folder = _folder(org, entry.get("dir", handle), (*where, "dir"))
    for other in others:
        if other.handle.casefold() == handle.casefold():
            raise _error(org, (*where, "handle"), f"{handle} stands twice", "Give each member a handle of its own.")
        if other.dir == folder:
            raise _error(org, (*where, "dir"), f"is that of {other.handle} too", "Give each a directory of its own.")
    name, repo = (_text(org, entry.get(key, ""), (*where, key)) for key in ("name", "repo"))
    return replace(base, handle=handle, dir=folder, name=name, repo=repo)


def _own(member: Member, staff: Source | None) -> Member:
    """The member with what its own file says, key by key."""
    if staff is None:
        return member
    memory = _mapping(staff, staff.data.get("memory"), ("memory",))
    return _named(
        _budgeted(member, staff, memory, ("memory",)), staff, staff.data.get("human"), ("human",)
    )  # fmt: skip


def _budgeted(
    member: Member, source: Source, table: Mapping[str, Any], where: tuple[str, ...], others: Iterable[str] = ()
) -> Member:
    values: dict[str, float] = {}
    for key, value in table.items():
        if key in others:
            continue
        if key not in BUDGET_KEYS:
            raise _error(source, (*where, key), "is no budget", _did_you_mean(str(key), (*BUDGET_KEYS, *others)))
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise _error(source, (*where, key), f"{value!r} is no positive number",
                         "Write a number above 0, or take the key out.")  # fmt: skip
        values[key] = value
    origins = {**dict(member.origins), **dict.fromkeys(values, source.file)}
    return replace(member, budgets=replace(member.budgets, **values), origins=tuple(origins.items()))


def _named(member: Member, source: Source, value: object, where: tuple[str, ...]) -> Member:
    """The member with the names of the humans whose will counts: they stand beside `will`."""
    if value is None:
        return member
    names = value if isinstance(value, list) else [value]
    words = list(PROVENANCES)
    for name in names:
        if not isinstance(name, str) or not name.strip() or set(name) & set("[]\n"):
            raise _error(source, where, f"{name!r} is no name", "Write a word, such as boss.")
        if name.strip() not in words:
            words.append(name.strip())
    return replace(member, words=tuple(words))


def _folder(source: Source, value: object, where: tuple[str | int, ...]) -> str:
    text = _text(source, value, where)
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if not text or text.startswith(("/", "~")) or "\0" in text or ".." in parts:
        raise _error(
            source, where, f"{text!r} is no directory inside the organisation", "Write it relative to org.yaml."
        )
    return "/".join(parts)


def _text(source: Source, value: object, where: tuple[str | int, ...]) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        # What YAML reads as a number is a handle all the same.
        return str(value)
    if not isinstance(value, str):
        raise _error(source, where, f"{value!r} is no text", "Put it in quotes.")
    return value.strip()


def _mapping(source: Source, value: object, where: tuple[str, ...]) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _error(source, where, "holds no keys", f"Write below it: {BUDGET_KEYS[0]}: 400")
    return value


def _error(source: Source, where: tuple[str | int, ...], cause: str, remedy: str) -> SettingsError:
    return SettingsError(
        cause, file=source.file, line=source.line_of(where), key=".".join(str(part) for part in where), remedy=remedy
    )


def _did_you_mean(key: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(key, known, n=1)
    return f"Did you mean {close[0]}?" if close else f"Known here: {', '.join(known)}."
