"""`apm-hooks group add|list`: which group chats have a memory, and under which name."""

from __future__ import annotations

import argparse
import os

from apm_hooks.cli.common import (
    event_of,
    in_no_session,
    now,
    print_json,
    require_operator,
    runtime_of,
    say,
    table,
    warn,
    warn_of,
    workspace_of,
)
from apm_hooks.cli.install import home
from apm_hooks.errors import ApmError
from apm_hooks.files import stamp, state_directory
from apm_hooks.hosts.claude_code_install import is_installed, plan_install
from apm_hooks.locking import locked
from apm_hooks.places import places
from apm_hooks.records import DM, Scope, ScopeKind
from apm_hooks.trust import GROUPS_PIN, accept, read_trust
from apm_hooks.workspace import privacy_digests, read_declared
from apm_hooks.writeback import add_group, initialise_group

_UNCOUNTED = (
    "the group map was changed since you accepted it, so it does not count yet: review it, then run: apm-hooks trust"
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A group chat gets memory only when its id is mapped to a friendly name; the name is also the name of its "
        "files. Several ids may share a name (one group bridged over two channels)."
    )
    verbs = parser.add_subparsers(dest="verb", metavar="add|list", required=True)
    add = verbs.add_parser("add", help="map a group chat's id to a name")
    add.add_argument("name", metavar="NAME", help="a short name in any script, for example support or 研发群")
    add.add_argument("--id", required=True, metavar="ID", help="the group's id on its channel, as the host names it")
    add.add_argument("--channel", default="", metavar="CHANNEL", help="only this channel's chat of that id")
    add.add_argument("--init", action="store_true", help="also create the group's index and files from templates")
    verbs.add_parser("list", help="show the mapped groups")
    for verb in verbs.choices.values():
        # The common options may stand behind the verb too, without resetting what stood before it.
        verb.add_argument("--workspace", metavar="DIR", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        verb.add_argument("--session", metavar="KEY", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        verb.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def act(options: argparse.Namespace) -> int:
    return _add(options) if options.verb == "add" else _list(options)


def _add(options: argparse.Namespace) -> int:
    root = workspace_of(options)
    require_operator(root)
    where = places(os.environ)
    # A workspace that nobody accepted is refused before anything is written in it.
    runtime_of(options)
    # One after the other from reading the map to pinning it: a stale digest would take every group's memory away.
    with locked(os.path.join(root, state_directory(root, "locks"), "group-add.lock")):
        runtime = runtime_of(options)
        pinned = GROUPS_PIN not in runtime.workspace.changed
        added = add_group(root, options.name, options.id, options.channel)
        created = initialise_group(root, options.name) if options.init else []
        trust = read_trust(root, where, os.environ)
        if pinned and trust.pins:
            # The owner's own act, so it needs no second acceptance; what others changed before still does.
            digests = privacy_digests(*read_declared(root, where, os.environ))
            accept(root, {**trust.pins, GROUPS_PIN: digests[GROUPS_PIN]}, where, when=now())
    if options.json:
        print_json({"name": options.name, "id": options.id, "channel": options.channel or None, "added": added,
                    "created": created, "counts": pinned})  # fmt: skip
    else:
        say(f"{'mapped' if added else 'kept'}  {options.id} → {options.name}")
        for path in created:
            say(f"created  {path}")
    if not pinned:
        warn(_UNCOUNTED)
    for warning in _shown_to_groups(root):
        warn(warning)
    return 0


def _shown_to_groups(root: str) -> list[str]:
    """What the host by itself would show to every session of this folder, groups included: it matters once there is a
    group, and where the host calls us. Host files that cannot be read are `install`'s to complain about."""
    for scope in ("user", "project"):
        try:
            config_dir = os.environ.get("CLAUDE_CONFIG_DIR")
            if not is_installed(scope=scope, home=home(), project=root, config_dir=config_dir):
                continue
            plan = plan_install(scope=scope, home=home(), project=root, has_groups=True, config_dir=config_dir)
            return [note.removeprefix("WARNING: ") for note in plan.notes if note.startswith("WARNING: ")]
        except ApmError:
            continue
    return []


def _list(options: argparse.Namespace) -> int:
    runtime = runtime_of(options)
    workspace = runtime.workspace
    scope = DM if in_no_session(options) else runtime.decide(event_of(options, runtime)).scope
    counts = GROUPS_PIN not in workspace.changed
    if scope == DM:
        entries = list(workspace.declared.entries)
        warn_of(workspace.problems)
        if not counts:
            warn(_UNCOUNTED)
    else:
        entries = [entry for entry in workspace.groups.entries if scope is not None and entry.name == scope.name]
    rows = []
    for entry in entries:
        group = Scope(ScopeKind.GROUP, entry.name)
        rows.append((entry.name, entry.id, entry.channel, stamp(runtime.root, group.index_path) is not None))
    if options.json:
        print_json({"counts": counts, "groups": [
            {"name": name, "id": id_, "channel": channel or None, "index": index} for name, id_, channel, index in rows
        ]})  # fmt: skip
        return 0
    if rows:
        shown = [(name, id_, channel or "any", "yes" if index else "not yet") for name, id_, channel, index in rows]
        say(table(("name", "id", "channel", "index"), shown))
    else:
        say("no group is mapped: apm-hooks group add NAME --id ID")
    return 0
