"""What `apm-hooks audit` does: whose memory it judges, with which rules, what it mends, how it tells."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from apm_hooks._version import __version__
from apm_hooks.audit import MEMORY, RULES, Auditor
from apm_hooks.audit_fix import mends
from apm_hooks.audit_scopes import marks_of, scopes_of, unmapped_groups
from apm_hooks.audit_secrets import detector
from apm_hooks.cli.common import (
    event_of,
    here,
    in_no_session,
    prefix_of,
    print_json,
    require_operator,
    runtime_of,
    say,
    warn,
)
from apm_hooks.errors import ApmError, MemoryFileError, ScopeError, UsageError
from apm_hooks.events import AuditRule
from apm_hooks.files import read_bytes
from apm_hooks.findings import Level
from apm_hooks.guarded import change_file
from apm_hooks.images import keep_image
from apm_hooks.injection import show_invisible
from apm_hooks.ownership import in_group, normalise
from apm_hooks.plugin_calls import Call
from apm_hooks.rawlines import Edit, rewrite, split_raw
from apm_hooks.records import DM, Scope, ScopeKind
from apm_hooks.reports import Section, at_least, document, github, human, sarif, summary
from apm_hooks.runtime import Runtime

_SHOW_PROGRESS = 200
"""With more files than this, the person at the terminal is told how far it is."""


def run(options: argparse.Namespace) -> int:
    """Audit, mend where that was asked for, and tell; 1 where a finding reaches the level, else 0."""
    shape = _shape(options)
    runtime = runtime_of(options)
    scope = _scope(options, runtime)
    chosen = _chosen(options.paths, runtime.root, scope)
    if options.fix and not options.dry_run:
        # Rows of indexes are guarded against agents (protocol, section 8); mending them is the operator's act too.
        require_operator(runtime.root)
    fixes = _fix(runtime, scope, chosen, write=not options.dry_run) if options.fix else []
    sections = at_least(_sections(runtime, scope, chosen), Level(options.level))
    _print(shape, sections, fixes, runtime.root)
    return 1 if any(section.findings for section in sections) else 0


def _shape(options: argparse.Namespace) -> str:
    if options.json and options.format not in (None, "json"):
        raise UsageError(f"--json and --format {options.format} exclude each other", remedy="Leave one of them out.")
    if options.dry_run and not options.fix:
        raise UsageError("--dry-run belongs to --fix", remedy="Leave it out, or add --fix.")
    return "json" if options.json else options.format or "human"


def _scope(options: argparse.Namespace, runtime: Runtime) -> Scope:
    """Whose memory is audited: a group's inside its session; `DM` stands for all scopes, which are the owner's to see.

    Raises ScopeError where the session has no memory.
    """
    if in_no_session(options):
        return DM
    scope = runtime.decide(event_of(options, runtime)).scope
    if scope is None:
        raise ScopeError("this session has no memory", remedy="See: apm-hooks explain")
    return scope


def _chosen(paths: Sequence[str], root: str, scope: Scope) -> Callable[[str], bool] | None:
    """Whether findings on a file are wanted; None for all. Raises UsageError for a path that is none of the workspace's
    memory, and ScopeError, whether it exists or not, for one of another scope."""
    if not paths:
        return None
    wanted = []
    for path in paths:
        folder, name = os.path.split(os.path.normpath(os.path.join(here(), path)))
        full = os.path.join(os.path.realpath(folder), name)
        inner = normalise(os.path.relpath(full, root).replace(os.sep, "/"))
        if scope.kind is ScopeKind.GROUP and inner != scope.directory and not in_group(scope.name, inner or ""):
            raise ScopeError("that path is not this group's memory", remedy="Leave it out.")
        if inner is None and full != root:
            raise UsageError(f"{show_invisible(path)} lies outside the workspace", remedy="Name a file of its memory.")
        if inner is not None and inner != MEMORY and inner.partition("/")[0] not in ("memory", "log"):
            raise UsageError(
                f"{show_invisible(path)} is no memory file", remedy="Name a file below memory/, or MEMORY.md."
            )
        if not os.path.lexists(full):
            raise UsageError(f"{show_invisible(path)} does not exist", remedy="Name a file of the workspace's memory.")
        wanted.append(inner or "")
    return lambda path: any(not inner or path == inner or path.startswith(f"{inner}/") for inner in wanted)


def _sections(runtime: Runtime, scope: Scope, chosen: Callable[[str], bool] | None) -> list[Section]:
    progress = _Progress()
    auditor = Auditor(
        runtime.root, count=runtime.count, detect=detector(), extra_rules=_plugin_rules(runtime), chosen=chosen,
        progress=progress if sys.stderr.isatty() else None, limits=runtime.limits,
    )  # fmt: skip
    declared = runtime.workspace.declared
    try:
        if scope.kind is ScopeKind.GROUP:
            audits = [auditor.scope(scope)]
        else:
            unmapped = unmapped_groups(runtime.root, declared)
            audits = [auditor.scope(each, groups=marks_of(declared)) for each in scopes_of(declared)]
            audits += [auditor.scope(each, mapped=False) for each in unmapped]
            problems = [error for error in runtime.workspace.problems if error not in declared.errors]
            audits.append(auditor.names(declared, problems, unmapped))
    finally:
        progress.clear()
    return [
        Section(
            audit.name, audit.findings, (("files", audit.files), ("tokens", audit.tokens), ("budget", audit.budget))
        )
        for audit in audits
    ]


class _Progress:
    """A line on standard error that says how far a long audit is."""

    def __init__(self) -> None:
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        if total > _SHOW_PROGRESS and (done % 50 == 0 or done == total):
            sys.stderr.write(f"\rapm-hooks: {done} of {total} files")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _plugin_rules(runtime: Runtime) -> list[tuple[str, AuditRule]]:
    """The rules of plugins, each with its plugin's name; a check that does not answer in time fails."""
    plugins = runtime.extensions.plugins
    if not plugins.wanted("apm_audit_rules"):
        return []
    # What a plugin prints must not stand in the report.
    with contextlib.redirect_stdout(sys.stderr):
        found = plugins.call("apm_audit_rules", tuple, dict)
    return [
        (name, _bounded(name, rule, runtime.limits.plugin_seconds))
        for name, rules in found
        for rule in cast("tuple[object, ...]", rules)
    ]


def _bounded(name: str, rule: object, seconds: float) -> AuditRule:
    """A plugin's rule whose check answers in time or raises; what is no rule becomes one that answers nothing."""
    # Not isinstance(): a class of the plugin's own may say anything when it is asked.
    if type(rule) is not AuditRule or type(rule.name) is not str:
        return AuditRule("apm_audit_rules", lambda path, text: cast("tuple[tuple[int, str], ...]", None))

    def check(path: str, text: str) -> tuple[tuple[int, str], ...]:
        with contextlib.redirect_stdout(sys.stderr):
            call = Call(lambda: rule.check(path, text), name)
            if not call.wait(seconds):
                raise ApmError(f"it did not answer within {seconds:g} s")
        if call.error:
            # Without the place in the plugin's code: a report names no absolute path.
            raise ApmError(f"it {call.error.partition(' at ')[0]}")
        return cast("tuple[tuple[int, str], ...]", call.answer)

    return replace(rule, check=check)


@dataclass(frozen=True, slots=True)
class _Fix:
    """What was, or would be, mended in one file: the lines by number with the rules, and the change as a diff."""

    path: str
    lines: tuple[tuple[int, str], ...]
    diff: str


def _fix(runtime: Runtime, scope: Scope, chosen: Callable[[str], bool] | None, *, write: bool) -> list[_Fix]:
    """Mend the indexes of the audited scopes, each under its file's lock and with a copy of what it held before, which
    `apm-hooks restore` puts back. Raises MemoryFileError or LockTimeoutError for one that cannot be written."""
    scopes = [scope] if scope.kind is ScopeKind.GROUP else scopes_of(runtime.workspace.declared)
    fixes = []
    for each in scopes:
        if chosen is None or chosen(each.index_path):
            fix = _mend(runtime, each) if write else _mended(_bytes_of(runtime, each), each)[1]
            fixes += [fix] if fix is not None else []
    return fixes


def _bytes_of(runtime: Runtime, scope: Scope) -> bytes | None:
    """The index's bytes; None where there are none that can be read, which the audit itself tells."""
    try:
        found = read_bytes(runtime.root, scope.index_path, limit=runtime.limits.file_bytes)
    except MemoryFileError:
        return None
    return found[0] if found else None


def _mend(runtime: Runtime, scope: Scope) -> _Fix | None:
    root, path = runtime.root, scope.index_path
    if _mended(_bytes_of(runtime, scope), scope)[1] is None:
        return None
    made: _Fix | None = None

    def change(before: bytes | None) -> bytes | None:
        nonlocal made
        data, made = _mended(before, scope)
        return data

    def keep(before: bytes) -> None:
        keep_image(root, scope, path, before, limits=runtime.limits)

    return made if change_file(root, path, change, keep=keep, limits=runtime.limits) else None


def _mended(data: bytes | None, scope: Scope) -> tuple[bytes | None, _Fix | None]:
    """The index's bytes after its mends, every other byte as it was, and what changed; None where nothing would, and
    where the file is no text that could be kept."""
    from difflib import unified_diff

    path = scope.index_path
    try:
        raw = None if data is None else split_raw(data, path)
    except MemoryFileError:
        raw = None
    if raw is None:
        return None, None
    # A change is shown, and a secret never is.
    secret = {sighting.line for sighting in detector()("\n".join(raw.texts))}
    made = [mend for mend in mends(raw.texts, scope) if mend.line not in secret]
    if not made:
        return None, None
    texts = {mend.line: mend.text for mend in made}
    after = [texts.get(number, text) for number, text in enumerate(raw.texts, 1)]
    diff = "\n".join(unified_diff(raw.texts, after, path, path, lineterm="", n=0))
    edits = [Edit(line - 1, (text,), drop=1) for line, text in texts.items()]
    return rewrite(raw, edits, path), _Fix(path, tuple((mend.line, mend.rule) for mend in made), diff)


def _print(shape: str, sections: Sequence[Section], fixes: Sequence[_Fix], root: str) -> None:
    if shape == "sarif":
        print_json(sarif(sections, RULES, tool="apm-hooks", version=__version__, prefix=prefix_of(root)))
    elif shape == "github":
        told = github(sections, prefix=prefix_of(root))
        if told:
            print(told)
    elif shape == "json":
        print_json({**document(sections), "fixed": [
            {"path": fix.path, "lines": [{"line": line, "rule": rule} for line, rule in fix.lines], "diff": fix.diff}
            for fix in fixes
        ]})  # fmt: skip
    else:
        for fix in fixes:
            say(fix.diff)
        told = human(sections)
        if told:
            print(told)
        elif sys.stderr.isatty():
            files = sum(dict(section.facts)["files"] for section in sections)
            warn(f"{summary(())} in {files} files")
    if shape in ("sarif", "github"):
        for fix in fixes:
            warn(f"mended {show_invisible(fix.path)}: {', '.join(f'line {line}' for line, _ in fix.lines)}")
