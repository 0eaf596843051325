"""`apm-hooks install HOST`: add our hooks to a host, and nothing else."""

from __future__ import annotations

import argparse
import os
import time

from apm_hooks.cli.common import here, print_json, require_operator, say, warn
from apm_hooks.errors import ApmError
from apm_hooks.hosts.claude_code_install import Plan, apply_plan, plan_install
from apm_hooks.runtime import Runtime
from apm_hooks.workspace import locate


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Adds our hooks and the /remem command to a host's files. Other hooks, formatting and order are kept, what "
        "is changed is backed up beside itself, and running it again changes nothing."
    )
    add_options(parser)
    parser.add_argument(
        "--link-agents", action="store_true",
        help="also let CLAUDE.md bring in AGENTS.md, by a marked block (MEMORY.md only where no group is mapped)",
    )  # fmt: skip


def add_options(parser: argparse.ArgumentParser) -> None:
    """What install and uninstall have in common."""
    parser.add_argument("host", choices=("claude-code",), help="the host")
    parser.add_argument("--scope", choices=("user", "project"), default="user",
                        help="your own settings, for every folder (default), or this folder's")  # fmt: skip
    parser.add_argument("--dry-run", action="store_true", help="show what would change, change nothing")


def act(options: argparse.Namespace) -> int:
    root = locate(os.environ, here(), options.workspace)
    project = project_of(options, root)
    require_operator(project)
    grouped = _has_groups(root)
    plan = plan_install(
        scope=options.scope, home=home(), project=project, config_dir=os.environ.get("CLAUDE_CONFIG_DIR"),
        link_agents=options.link_agents, owner_only=not grouped, has_groups=grouped,
    )  # fmt: skip
    return carry_out(plan, options)


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
    for change in plan.changes:
        say(f"{'would change' if options.dry_run else 'changed'}  {change.path}: {change.why}")
    for note in plan.notes:
        warn(note.removeprefix("WARNING: ")) if note.startswith("WARNING: ") else say(f"note     {note}")
    for offer in plan.offers:
        say(f"offer    {offer}")
    return 0


def _has_groups(root: str | None) -> bool:
    """True where sessions of others than the owner may run in this workspace, or where that cannot be told."""
    if root is None:
        return False
    try:
        workspace = Runtime(root, os.environ, clock=time.time).workspace
    except ApmError:
        return True
    return bool(workspace.declared.entries) or workspace.settings.require_session
