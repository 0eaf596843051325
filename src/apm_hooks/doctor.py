"""What is wrong with an installation or a workspace, and what mends it: how checks are made, and those of records.

A check looks and says what it found; it changes nothing but by the mending that a finding carries, and only when that
is asked for. Nothing here tells of what memory holds. Inside a conversation only its own scope is looked at (protocol,
section 9).
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from apm_hooks import ledger
from apm_hooks.errors import ApmError, MemoryFileError
from apm_hooks.files import read_bytes
from apm_hooks.opening import cause_of, parent, shown
from apm_hooks.records import Scope
from apm_hooks.runtime import Runtime

FAILED = "this check could not be made: {error}"
FAILED_REMEDY = "Run it again; if it fails again, report it."
MENDED = "mended: {text}"
NOT_MENDED = "could not be mended ({error}): {text}"
ASK_OPERATOR = "The operator sees what to do with: apm-hooks doctor (in a terminal)"
ACCEPTED = "accepted by its owner; mapped groups: {groups}"
CHANGED = "the setting {name} was changed since the workspace was accepted, and its new value does not count"
CHANGED_REMEDY = "Review the change, then run: apm-hooks trust --workspace {root}"
LEDGERS = "ledgers of sessions: {count} ({size} KiB)"
MANY_LEDGERS = "ledgers of sessions: {count} ({size} KiB), more than the {most} that are kept"
MANY_LEDGERS_REMEDY = "The oldest go when a session next starts."
LOG = "{size} KiB; logged within a day: {codes}"
LOG_REMEDY = "Read them in: {path}"
QUIET_LOG = "{size} KiB; nothing was logged within a day"

LOG_PATH = ".apm/log/apm.log"
_CODES = 5
_CODE = re.compile(r"[a-z0-9-]{1,40}")


class Level(StrEnum):
    """How bad a finding is: sound; worth knowing; may go wrong, or costs something; broken."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: a sentence, and what to do about it (empty: nothing). `check` names the check; `mend` mends what was
    found, where that is safe."""

    level: Level
    text: str
    remedy: str = ""
    mend: Callable[[], object] | None = field(default=None, compare=False)
    check: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at. `runtime` is None where the workspace at `root` cannot be used, as `refused` then says.

    `scopes` are those that may be looked at. `operator`: nobody but the operator sees what is found. `system` is where
    the kernel tells of its locks and processes.
    """

    root: str
    env: Mapping[str, str]
    runtime: Runtime | None
    refused: ApmError | None = None
    scopes: tuple[Scope, ...] = ()
    operator: bool = False
    system: str = "/proc"

    @property
    def opened(self) -> Runtime:
        """The runtime of an accepted workspace; raises what refused it."""
        if self.runtime is None:
            raise self.refused or MemoryFileError("is not opened", file=self.root)
        return self.runtime


@dataclass(frozen=True, slots=True)
class Probe:
    """A check: `look` is called where the workspace can be used, unless it is not `opened`, and for the operator alone,
    unless it tells of nothing but the subject's `scopes`."""

    name: str
    look: Callable[[Subject], list[Check]]
    opened: bool = True
    scoped: bool = False


def examine(subject: Subject, probes: Sequence[Probe], *, fix: bool = False) -> Iterator[Check]:
    """The findings of every check that applies, in order; with `fix`, what can be mended safely is mended and looked at
    again. A check that raises becomes an error, and the others go on."""
    for probe in probes:
        if (subject.operator or probe.scoped) and (subject.runtime is not None or not probe.opened):
            for found in _looked(subject, probe, fix=fix):
                remedy = found.remedy if subject.operator or not found.remedy else ASK_OPERATOR
                yield replace(found, check=probe.name, remedy=remedy)


def _looked(subject: Subject, probe: Probe, *, fix: bool) -> list[Check]:
    found = _found(subject, probe)
    done: dict[int, str] = {}
    mended: list[Check] = []
    for each in found:
        if fix and each.mend is not None:
            # What mends several findings is done once.
            if id(each.mend) not in done:
                done[id(each.mend)] = _failure(each.mend)
            mended.append(_mended(each.text, done[id(each.mend)]))
    return [*mended, *_found(subject, probe)] if mended else found


def _found(subject: Subject, probe: Probe) -> list[Check]:
    try:
        return probe.look(subject)
    except Exception as error:  # noqa: BLE001 - one check that fails must not hide what the others find
        if subject.operator and isinstance(error, ApmError):
            return [told(error, Level.ERROR)]
        # What an error names may be another conversation's.
        cause = f"{type(error).__name__}: {error}" if subject.operator else type(error).__name__
        return [Check(Level.ERROR, FAILED.format(error=cause), FAILED_REMEDY)]


def _failure(mend: Callable[[], object]) -> str:
    """Mend something, and say what kept it from being mended; empty: nothing did."""
    try:
        mend()
    except Exception as error:  # noqa: BLE001 - what cannot be mended must not keep the rest from it
        return str(error) or type(error).__name__
    return ""


def _mended(text: str, failure: str) -> Check:
    if failure:
        return Check(Level.ERROR, NOT_MENDED.format(text=text, error=failure))
    return Check(Level.NOTE, MENDED.format(text=text))


def told(error: ApmError, level: Level) -> Check:
    """An error of ours as a finding."""
    return Check(level, str(ApmError(error.cause, file=error.file, line=error.line, key=error.key)), error.remedy)


def listed(root: str, folder: str) -> list[tuple[str, os.stat_result]]:
    """The names in a folder below `root` (empty: in it itself), each with what it is, sorted; no link is followed.
    None of them where there is no such folder. Raises MemoryFileError."""
    try:
        with parent(root, f"{folder}/any".lstrip("/")) as (directory, _):
            found = []
            for name in sorted(os.listdir(directory)):
                with suppress(FileNotFoundError):
                    found.append((name, os.stat(name, dir_fd=directory, follow_symlinks=False)))
            return found
    except FileNotFoundError:
        return []
    except MemoryFileError:
        raise
    except OSError as error:
        raise MemoryFileError(f"cannot be looked into: {cause_of(error)}", file=shown(folder)) from error


def trust(subject: Subject) -> list[Check]:
    """Whether the workspace is accepted, and which of its settings do not count."""
    if subject.runtime is None:
        return [told(subject.refused, Level.ERROR)] if subject.refused is not None else []
    workspace = subject.runtime.workspace
    remedy = CHANGED_REMEDY.format(root=shlex.quote(subject.root))
    found = [Check(Level.WARNING, CHANGED.format(name=name), remedy) for name in workspace.changed]
    # A map that cannot be read takes every group's memory; an entry that is refused takes that of one.
    level = Level.WARNING if workspace.problems == workspace.declared.errors else Level.ERROR
    found += [told(problem, level) for problem in workspace.problems]
    return found or [Check(Level.OK, ACCEPTED.format(groups=len(workspace.groups.entries)))]


def ledgers(subject: Subject) -> list[Check]:
    """How much room the sessions' ledgers take."""
    sizes = [status.st_size for name, status in listed(subject.root, ledger.DIRECTORY) if name.endswith(".jsonl")]
    most = subject.opened.limits.ledgers
    facts = {"count": len(sizes), "size": sum(sizes) // 1024, "most": most}
    if len(sizes) > most:
        return [Check(Level.NOTE, MANY_LEDGERS.format(**facts), MANY_LEDGERS_REMEDY)]
    return [Check(Level.OK, LEDGERS.format(**facts))]


def log(subject: Subject) -> list[Check]:
    """How large the log is, and which kinds of trouble were logged within a day: their codes alone."""
    runtime = subject.opened
    found = read_bytes(subject.root, LOG_PATH, limit=4 * runtime.limits.log_bytes)
    data = found[0] if found else b""
    codes = _latest_codes(data, datetime.fromtimestamp(runtime.clock(), UTC) - timedelta(days=1))
    size = len(data) // 1024
    if not codes:
        return [Check(Level.OK, QUIET_LOG.format(size=size))]
    remedy = LOG_REMEDY.format(path=shlex.quote(os.path.join(subject.root, LOG_PATH)))
    return [Check(Level.NOTE, LOG.format(size=size, codes=", ".join(codes)), remedy)]


def _latest_codes(data: bytes, since: datetime) -> list[str]:
    import json

    codes: dict[str, None] = {}
    for line in reversed(data.split(b"\n")):
        try:
            entry = json.loads(line)
            code, when = str(entry["code"]), datetime.fromisoformat(entry["when"])
            if when >= since and _CODE.fullmatch(code):
                codes[code] = None
        except (ValueError, LookupError, TypeError, RecursionError):
            # A half-written line, or somebody else's.
            continue
        if len(codes) == _CODES:
            break
    return list(codes)
