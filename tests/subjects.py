"""What `doctor` looks at, in tests: a workspace, whole or with faults, and what the kernel would say of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from apm_hooks import activity
from apm_hooks.doctor import Check, Level, Subject
from apm_hooks.flushrecords import Book, Pending, PendingKind
from apm_hooks.flushstate import updating
from apm_hooks.hosts.claude_code_install import apply_plan, plan_install
from apm_hooks.records import DM, LIMITS, Limits, Scope, ScopeKind
from tests.workspaces import Bench

NOW = 1_767_225_600
HOUR = 3600
ALPHA = Scope(ScopeKind.GROUP, "alpha")


def subject_of(
    made: Bench, *groups: str, operator: bool = True, now: float = NOW, limits: Limits = LIMITS, system: str = "/proc",
    scopes: Sequence[Scope] | None = None,
) -> Subject:  # fmt: skip
    """The workspace as the operator sees it, or as a session of `scopes` does."""
    all_scopes = (DM, *(Scope(ScopeKind.GROUP, name) for name in groups))
    return Subject(str(made.root), made.env, made.runtime(clock=lambda: now, limits=limits),
                   scopes=tuple(scopes or all_scopes), operator=operator, system=system)  # fmt: skip


def mapped(made: Bench, *names: str) -> None:
    """Map groups, each with an index, and accept that."""
    made.groups({f"-100{at}": name for at, name in enumerate(names)})
    for name in names:
        made.write(f"memory/groups/{name}.md", f"# {name}\n")
    made.trust()


def record(made: Bench, scope: Scope = DM, *, at: str = "2026-01-01T00:00:00+00:00", pending: int = 0) -> None:
    """A flush in the scope's state."""
    items = tuple(Pending(f"p{n}", PendingKind.LEAD, f"lead {n}") for n in range(pending))
    with updating(str(made.root), scope) as held:
        held.book = Book(number=1, last_time=at, pending=items)


def work(made: Bench, scope: Scope = DM, session: str = "0" * 32, **facts: object) -> None:
    """A mark of a session that was at work just now, with one message since its last flush."""
    at, up, boot = NOW * 10**9, *activity.now()[1:]
    mark = {"host": "claude-code", "id": "s1", "at": at, "up": up, "boot": boot, "since": 1, **facts}
    activity.update(str(made.root), str(scope), session, lambda seen: {**seen, **mark})


def mark_file(made: Bench, scope: Scope = DM, session: str = "0" * 32) -> Path:
    return made.root / ".apm/active" / activity.folder_name(str(scope)) / session


def install(made: Bench, line: str | None = None) -> Path:
    """Our hooks in the user's own settings of the host; returns that file."""
    apply_plan(plan_install(scope="user", home=str(made.home), project=str(made.root), line=line))
    return made.home / ".claude/settings.json"


def system_of(folder: Path, **files: str) -> str:
    """A folder in the place of /proc; `locks` and the like are files of it, `__` in a name is a slash."""
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


def lock_line(path: Path, process: int) -> str:
    """The kernel's line on a lock that a process holds on a file."""
    status = path.stat()
    device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}"
    return f"1: FLOCK  ADVISORY  WRITE {process} {device}:{status.st_ino} 0 EOF\n"


def owned_by(monkeypatch: pytest.MonkeyPatch, path: Path, uid: int) -> None:
    """From now on `path` seems to belong to that user."""

    def pretending(real: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def pretended(asked: str | bytes | int | os.PathLike[str], **options: Any) -> os.stat_result:
            status = real(asked, **options)
            if isinstance(asked, int) or os.fspath(asked) != str(path):
                return status
            return os.stat_result((*status[:4], uid, *status[5:]))

        return pretended

    for name in ("stat", "lstat"):
        monkeypatch.setattr(os, name, pretending(getattr(os, name)))


def levels(found: Sequence[Check]) -> list[Level]:
    return [each.level for each in found]


def only(found: Sequence[Check], level: Level) -> Check:
    """The one finding, which must have that level."""
    assert levels(found) == [level], found
    return found[0]


def is_fine(found: Sequence[Check]) -> bool:
    return levels(found) == [Level.OK]
