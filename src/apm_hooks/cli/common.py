"""What the commands share: where they act, for whom, and how they print."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import time
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from apm_hooks.errors import ApmError, NotTrustedError, ScopeError, UsageError
from apm_hooks.injection import show_invisible
from apm_hooks.places import SESSION
from apm_hooks.records import DM, HostEvent
from apm_hooks.runtime import Runtime
from apm_hooks.workspace import locate


def workspace_of(options: argparse.Namespace) -> str:
    """The absolute path of the workspace that the command means; raises UsageError where there is none."""
    root = locate(os.environ, here(), options.workspace)
    if root is None:
        raise UsageError(
            "no workspace here: no apm.toml in this folder or above it",
            remedy="Name one with --workspace DIR or APM_WORKSPACE, or make one with: apm-hooks init",
        )
    return root


def here() -> str:
    """The current folder; raises UsageError where it was deleted meanwhile."""
    try:
        return os.getcwd()
    except OSError as error:
        raise UsageError(f"the current folder: {error.strerror}", remedy="Change into another one.") from error


def runtime_of(options: argparse.Namespace) -> Runtime:
    """The runtime of that workspace; raises NotTrustedError, SettingsError or UsageError."""
    return Runtime(workspace_of(options), os.environ, clock=time.time)


def event_of(options: argparse.Namespace, runtime: Runtime, message: str = "") -> HostEvent:
    """The command's session as an event: `--session`, else `APM_SESSION`, else the owner's own.

    Inside another session than the owner's, `--session` cannot name a second one (protocol, section 9: what a
    command shows inside a group's session is that group's alone). Raises ScopeError.
    """
    bound = os.environ.get(SESSION)
    key = options.session if options.session is not None else bound
    if bound is not None and key != bound and runtime.decide(_event(bound)).scope != DM:
        raise ScopeError("this command runs inside another session", remedy="Leave --session out.")
    return _event(key, message)


def in_no_session(options: argparse.Namespace) -> bool:
    """True where the command runs for no conversation at all: in the operator's terminal."""
    return options.session is None and os.environ.get(SESSION) is None


def _event(key: str | None, message: str = "") -> HostEvent:
    return HostEvent(host="cli", session_id="", session_key=key, single_user=True, message=message)


def require_operator(root: str) -> None:
    """Raise ScopeError where the command runs inside a session that is not the owner's: settings, trust, maps and
    hooks are the operator's (protocol, section 2)."""
    bound = os.environ.get(SESSION)
    if bound is None:
        return
    try:
        runtime = Runtime(root, os.environ, clock=time.time)
        if runtime.decide(_event(bound)).scope == DM:
            return
    except NotTrustedError:
        # Nothing can be decided by settings that nobody accepted.
        pass
    raise ScopeError(
        f"only the owner may do this, and {SESSION} names another session",
        remedy=f"Run it in the owner's terminal, without {SESSION}.",
    )


def now() -> str:
    """The time for records that people read: ISO-8601 with offset."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def print_json(document: Mapping[str, Any]) -> None:
    """One JSON document on standard output."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, indent=2)
    print(text)


def say(line: str) -> None:
    """A line for the person at the terminal, who sees what is in it: names and values come from files of others."""
    print(show_invisible(line))


def warn(line: str) -> None:
    """A line that must be seen even when standard output is read by a program."""
    sys.stderr.write(f"apm-hooks: {line}\n")


def warn_of(errors: Sequence[ApmError]) -> None:
    """One line for each error that did not stop the command."""
    for error in errors:
        warn(str(error))


def quoted(path: str) -> str:
    """A path as the shell wants it."""
    return shlex.quote(path)


def table(head: Sequence[str], rows: Sequence[Sequence[object]], *, indent: str = "") -> str:
    """A table for a terminal: columns as wide as their widest cell, wide characters counted as two."""
    cells = [[show_invisible(str(cell)).replace("\n", "<U+000A>") for cell in row] for row in [head, *rows]]
    widths = [max(_width(row[column]) for row in cells) for column in range(len(head))]
    lines = []
    for row in cells:
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        lines.append(indent + "  ".join(padded).rstrip())
    lines.insert(1, indent + "  ".join("-" * width for width in widths))
    return "\n".join(lines)


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 0 if unicodedata.combining(char) else 1
               for char in text)  # fmt: skip


def prefix_of(root: str) -> str:
    """What leads from the current folder, where a repository's checks run, to `root`; empty where that is none
    of its parents."""
    inner = os.path.relpath(root, os.path.realpath(here())).replace(os.sep, "/")
    return "" if inner == "." or inner.startswith("../") or inner == ".." else f"{inner}/"
