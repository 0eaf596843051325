"""Edits of a memory file's frontmatter: archived or not, and when an index was last updated (protocol, sections 4, 5).

Pure: lines in, edits of whole lines out; every other line stays. The reading of the block is that of `index.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from apm_hooks.rawlines import Edit

STATUS, ARCHIVED, ACTIVE = "status", "archived", "active"
_BEFORE = "status_before"
_UPDATED = "last_updated"
_RULE = "---"
_ENTRY = re.compile(r"([\w.-]+)(:[ \t]*)(.*)", re.DOTALL)


def frontmatter_end(lines: Sequence[str]) -> int:
    """How many lines the frontmatter takes, both rules included; 0 where there is none."""
    if not lines or lines[0].lstrip("\ufeff").rstrip() != _RULE:
        return 0
    filled = False
    for number in range(1, len(lines)):
        line = lines[number].rstrip()
        if line == _RULE and filled:
            return number + 1
        if not line or line.lstrip().startswith("#"):
            continue
        if not _is_entry(line):
            return 0
        filled = True
    return 0


def _is_entry(line: str) -> bool:
    key, colon, value = line.partition(":")
    return bool(colon) and value[:1] in ("", " ", "\t") and key.replace("_", "").replace("-", "").replace(
        ".", "").isalnum()  # fmt: skip


def find_key(lines: Sequence[str], key: str) -> int | None:
    """The line (from 0) of the first entry of that name in the frontmatter."""
    end = frontmatter_end(lines)
    return next((number for number in range(1, end) if lines[number].partition(":")[0] == key), None)


def value_at(line: str) -> str:
    """An entry's value, without quotes around it."""
    value = line.partition(":")[2].strip()
    return value[1:-1] if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'" else value


def _with_value(line: str, value: str) -> str:
    """The entry with another value, quoted as it was."""
    found = _ENTRY.match(line)
    if found is None:
        return line
    quote = found[3][:1] if found[3][:1] in ("'", '"') else ""
    return f"{found[1]}{found[2] if found[2] != ':' else ': '}{quote}{value}{quote}"


def touch_updated(lines: Sequence[str], day: str) -> list[Edit]:
    """Set `last_updated` where that entry exists and says another day."""
    at = find_key(lines, _UPDATED)
    if at is None or value_at(lines[at]) == day:
        return []
    return [Edit(at, (_with_value(lines[at], day),), drop=1)]


def mark_archived(lines: Sequence[str]) -> list[Edit]:
    """Say `status: archived` in the frontmatter, which is made where it is absent; another status than `active` is
    kept beside it, so that it can be given back."""
    end = frontmatter_end(lines)
    if not end:
        return [Edit(0, (_RULE, f"{STATUS}: {ARCHIVED}", _RULE))]
    at = find_key(lines, STATUS)
    if at is None:
        return [Edit(1, (f"{STATUS}: {ARCHIVED}",))]
    before = value_at(lines[at])
    if before.lower() == ARCHIVED:
        return []
    kept = (f"{_BEFORE}: {before}",) if before not in ("", ACTIVE) else ()
    return [Edit(at, (_with_value(lines[at], ARCHIVED), *kept), drop=1)]


def mark_active(lines: Sequence[str]) -> list[Edit]:
    """Take `status: archived` back: the status that was there before, else `active`; a frontmatter that holds nothing
    else goes as a whole."""
    at = find_key(lines, STATUS)
    if at is None or value_at(lines[at]).lower() != ARCHIVED:
        return []
    end = frontmatter_end(lines)
    if end == 3:
        return [Edit(0, (), drop=end)]
    noted = find_key(lines, _BEFORE)
    if noted is None:
        return [Edit(at, (_with_value(lines[at], ACTIVE),), drop=1)]
    edits = [Edit(at, (_with_value(lines[at], value_at(lines[noted])),), drop=1), Edit(noted, (), drop=1)]
    return sorted(edits, key=lambda edit: edit.at)
