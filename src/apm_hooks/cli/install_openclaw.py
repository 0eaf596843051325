"""`apm-hooks install openclaw` and `uninstall openclaw`: what they ask, and what they hand to the installer."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace

from apm_hooks.cli.common import here, quoted, require_operator
from apm_hooks.cli.trust import accept_workspace, changed_since
from apm_hooks.errors import NotTrustedError, UsageError
from apm_hooks.hosts import openclaw_owner
from apm_hooks.hosts.installing import Plan
from apm_hooks.hosts.openclaw_config import Config, agent_workspaces, host_places, read_config
from apm_hooks.hosts.openclaw_install import flush_is_on, plan_install, plan_uninstall, read_record
from apm_hooks.hosts.openclaw_peers import Peers, find_peers
from apm_hooks.places import SETTINGS_FILE, WORKSPACE, places
from apm_hooks.trust import read_trust
from apm_hooks.workspace import locate

ASK_FLUSH = (
    "The host writes memory by itself before it compacts a conversation. What groups say goes into the same daily note "
    "that your own chats load. Our hooks write back what belongs where instead.\n"
    "Switch the host's memory flush off? [y/N] "
)
ASK_OWNER = "Who are you? Your direct chats share the private memory.\n{lines}\nA number, or nothing for none of them: "
ELSEWHERE = (
    "WARNING: the host's agents do not work in {root} but in {theirs}: turns there get no memory of this workspace"
)
TRUST_LATER = "other settings of {root} changed since you accepted it; review them, then run: apm-hooks trust"


def configure(parser: argparse.ArgumentParser) -> None:
    """What only this host's installer is asked."""
    parser.add_argument(
        "--owner", metavar="CHANNEL:PEER", action="append", default=[],
        help="openclaw: who you are on a channel (telegram:123456); may be given more than once",
    )  # fmt: skip
    parser.add_argument(
        "--host-flush", choices=("off", "keep"), default="",
        help="openclaw: switch the host's own memory flush off, which mixes groups into your notes, or keep it",
    )  # fmt: skip


def install_plan(options: argparse.Namespace) -> Plan:
    """The plan of an installation, after the questions that only a person can answer."""
    config = read_config(host_places(os.environ).config)
    theirs = agent_workspaces(config, os.environ)
    root = _workspace(options, theirs)
    require_operator(root)
    _require_trusted(root)
    terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    asks = terminal and not (options.json or options.dry_run)
    peers = find_peers(config, host_places(os.environ))
    new = _owner(options, root, peers, asks=asks)
    owner = [*openclaw_owner.read_owner(root), *new]
    others = [each for each in theirs if each != root and read_trust(each, places(os.environ), os.environ).accepted]
    plan = plan_install(os.environ, [root, *others], owner, flush=_flush(options, config, asks=asks))
    change = openclaw_owner.owner_change(root, new)
    changes = plan.changes if change.before == change.after else (*plan.changes, change)
    notes = [*openclaw_owner.notes(root, config, peers, owner)]
    if root not in theirs:
        notes.append(ELSEWHERE.format(root=root, theirs=", ".join(theirs)))
    if change in changes and changed_since(root):
        notes.append(TRUST_LATER.format(root=root))
    return replace(plan, changes=changes, notes=(*plan.notes, *notes))


def accept_owner(plan: Plan, before: Sequence[str]) -> None:
    """Accept a workspace's settings again after the plan named its owner in them: the person has just said so. `before`
    names what had changed in them already: then that is to be looked at first."""
    for change in plan.changes:
        if change.why == openclaw_owner.WHY and not before:
            accept_workspace(os.path.dirname(change.path))


def pending_changes(plan: Plan) -> tuple[str, ...]:
    """What changed since it was accepted in the workspace whose owner the plan names."""
    roots = [os.path.dirname(change.path) for change in plan.changes if change.why == openclaw_owner.WHY]
    return changed_since(roots[0]) if roots else ()


def uninstall_plan(options: argparse.Namespace) -> Plan:
    """The plan of taking everything out again; owner_peers stays, being the workspace's own setting."""
    require_operator(locate(os.environ, here(), options.workspace) or "")
    return plan_uninstall(os.environ)


def _workspace(options: argparse.Namespace, theirs: Sequence[str]) -> str:
    """The workspace that is named, else the one in which the host's agents work, else the one around this folder."""
    if options.workspace or os.environ.get(WORKSPACE):
        return str(locate(os.environ, here(), options.workspace))
    held = [each for each in theirs if os.path.isfile(os.path.join(each, SETTINGS_FILE))]
    root = held[0] if held else locate(os.environ, here())
    if root is None:
        raise UsageError(
            f"no workspace of ours where the host's agents work: {', '.join(theirs)}",
            remedy=f"Make it one: apm-hooks init --workspace {quoted(theirs[0]) if theirs else 'DIR'}",
        )
    return root


def _require_trusted(root: str) -> None:
    if not read_trust(root, places(os.environ), os.environ).accepted:
        raise NotTrustedError(
            "this workspace was not accepted by its owner", file=root,
            remedy=f"Review it, then run: apm-hooks init --workspace {quoted(root)}",
        )  # fmt: skip


def _owner(options: argparse.Namespace, root: str, peers: Peers, *, asks: bool) -> list[str]:
    """Who is to be named as the owner besides those that are named already."""
    if options.owner:
        return [each for each in options.owner if each not in openclaw_owner.read_owner(root)]
    if openclaw_owner.read_owner(root):
        return []
    only = openclaw_owner.chosen(peers)
    if only:
        return [only]
    return _asked(peers) if asks and peers.owners else []


def _asked(peers: Peers) -> list[str]:
    lines = "\n".join(f"  {at}  {peer}" for at, peer in enumerate(peers.owners, 1))
    answer = _answered(ASK_OWNER.format(lines=lines))
    numbers = [int(part) for part in answer.replace(",", " ").split() if part.isdecimal()]
    return [peers.owners[number - 1] for number in numbers if 0 < number <= len(peers.owners)]


def _flush(options: argparse.Namespace, config: Config, *, asks: bool) -> str:
    if options.host_flush or not asks or not flush_is_on(config):
        return str(options.host_flush)
    held, _ = read_record(host_places(os.environ))
    # Asked once: who kept it on is warned each time, not asked again.
    if held is not None:
        return ""
    return "off" if _answered(ASK_FLUSH).lower() in ("y", "yes") else "keep"


def _answered(question: str) -> str:
    """What the person at the terminal says; nothing where they end the input."""
    try:
        return input(question).strip()
    except EOFError:
        return ""
