"""`apm-hooks install HOST`: add our hooks to a host, and nothing else."""

from __future__ import annotations

import argparse
import os
import re
import time
from collections.abc import Iterator, Sequence

from apm_hooks.cli import install_openclaw
from apm_hooks.cli.common import here, print_json, require_operator, say, warn
from apm_hooks.errors import ApmError, UsageError
from apm_hooks.hosts import claude_code_install
from apm_hooks.hosts.claude_code_hooks import HOST as CLAUDE_CODE
from apm_hooks.hosts.installing import FileChange, Plan, apply_plan
from apm_hooks.hosts.openclaw import HOST as OPENCLAW
from apm_hooks.runtime import Runtime
from apm_hooks.workspace import locate

HOSTS = (CLAUDE_CODE, OPENCLAW)

_EPILOG = """\
examples:
  apm-hooks install claude-code --dry-run     what would change, and how; nothing is written
  apm-hooks install claude-code --scope project --link-agents
  apm-hooks install openclaw --owner telegram:123456 --host-flush off
"""
_SECRET = re.compile(r"(\w*(?:token|secret|key|password|auth)\w*[\"']?\s*:\s*)([\"']).*?\2", re.IGNORECASE)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Adds our hooks to a host's files, and the /remem command where the host has a folder for it. Other hooks, "
        "formatting, comments and order are kept, what is changed is backed up beside itself, and running it again "
        "changes nothing. claude-code reads settings files; openclaw gets a hook pack and a plugin in its state folder "
        "($OPENCLAW_STATE_DIR, else ~/.openclaw), and is told of them in its openclaw.json."
    )
    parser.epilog = _EPILOG
    add_options(parser)
    parser.add_argument(
        "--link-agents", action="store_true",
        help="claude-code: also let CLAUDE.md bring in AGENTS.md, by a marked block (MEMORY.md only where no group is "
             "mapped)",
    )  # fmt: skip
    install_openclaw.configure(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """What install and uninstall have in common."""
    parser.add_argument("host", choices=HOSTS, help="the host")
    parser.add_argument("--scope", choices=("user", "project"), default="user",
                        help="claude-code: your own settings, for every folder (default), or the folder's")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="show what would change, change nothing")


def act(options: argparse.Namespace) -> int:
    if options.host == OPENCLAW:
        _refuse_others(options, "scope", "link_agents")
        plan = install_openclaw.install_plan(options)
        pending = install_openclaw.pending_changes(plan)
        code = carry_out(plan, options)
        if not options.dry_run:
            install_openclaw.accept_owner(plan, pending)
        return code
    _refuse_others(options, "owner", "host_flush")
    root = locate(os.environ, here(), options.workspace)
    project = project_of(options, root)
    require_operator(project)
    grouped = _has_groups(root)
    plan = claude_code_install.plan_install(
        scope=options.scope, home=home(), project=project, config_dir=os.environ.get("CLAUDE_CONFIG_DIR"),
        link_agents=options.link_agents, owner_only=not grouped, has_groups=grouped,
    )  # fmt: skip
    return carry_out(plan, options)


def _refuse_others(options: argparse.Namespace, *names: str) -> None:
    """Raise UsageError for an option that another host has."""
    for name in names:
        if getattr(options, name, None) not in (None, "", False, [], "user"):
            raise UsageError(f"--{name.replace('_', '-')} is no option of {options.host}",
                             remedy="See: apm-hooks install --help")  # fmt: skip


def project_of(options: argparse.Namespace, root: str | None) -> str:
    """The folder whose files are meant: the workspace, else this folder where the project's own files were asked for,
    else none."""
    return root or (os.path.realpath(here()) if options.scope == "project" else "")


def home() -> str:
    """The user's home folder."""
    return os.environ.get("HOME") or os.path.expanduser("~")


def carry_out(plan: Plan, options: argparse.Namespace) -> int:
    """Apply a plan, unless it is a dry run, and show it."""
    if not options.dry_run:
        apply_plan(plan)
    if options.json:
        print_json({
            "dry_run": options.dry_run,
            "changes": [
                {"path": change.path, "why": change.why,
                 "action": "create" if change.before is None else "delete" if change.after is None else "change"}
                for change in plan.changes
            ],
            "notes": list(plan.notes), "offers": list(plan.offers),
        })  # fmt: skip
        return 0
    for text in _grouped(plan.changes):
        say(f"{'would change' if options.dry_run else 'changed'}  {text}")
    for change in plan.changes if options.dry_run else ():
        for line in _difference(change):
            say(line)
    for note in plan.notes:
        warn(note.removeprefix("WARNING: ")) if note.startswith("WARNING: ") else say(f"note     {note}")
    for offer in plan.offers:
        say(f"offer    {offer}")
    return 0


def _grouped(changes: Sequence[FileChange]) -> Iterator[str]:
    """A line for each file that is somebody's own, one for all copies of ours that belong together."""
    copies: dict[str, list[str]] = {}
    for change in changes:
        if not change.backup:
            copies.setdefault(change.why, []).append(change.path)
    for why, paths in copies.items():
        yield f"{os.path.commonpath(paths)}: {why}" + (f" ({len(paths)} files)" if len(paths) > 1 else "")
    for change in changes:
        if change.backup:
            yield f"{change.path}: {change.why}"


def _difference(change: FileChange) -> Iterator[str]:
    """The lines of a file of somebody's own that change; what looks like a secret in them is not shown."""
    import difflib

    if not change.backup:
        return
    before, after = ((data or b"").decode("utf-8", "replace").splitlines() for data in (change.before, change.after))
    for line in difflib.unified_diff(before, after, change.path, change.path, n=1, lineterm=""):
        yield _SECRET.sub(r"\1\2…\2", line)


def _has_groups(root: str | None) -> bool:
    """True where sessions of others than the owner may run in this workspace, or where that cannot be told."""
    if root is None:
        return False
    try:
        workspace = Runtime(root, os.environ, clock=time.time).workspace
    except ApmError:
        return True
    return bool(workspace.declared.entries) or workspace.settings.require_session
