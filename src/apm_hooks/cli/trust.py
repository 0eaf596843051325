"""`apm-hooks trust`: accept a workspace as it is now, privacy settings included."""

from __future__ import annotations

import argparse
import os

from apm_hooks.cli.common import now, print_json, require_operator, say, table, warn_of, workspace_of
from apm_hooks.places import places
from apm_hooks.trust import accept, read_trust
from apm_hooks.workspace import privacy_digests, read_declared


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "A workspace's memory is used only after its owner accepted it: this records it in your own configuration, "
        "with a digest of each setting that decides who may read what. When one of them changes later (a pull, a "
        "bot), the change does not count until you run this again."
    )
    parser.add_argument("--show", action="store_true", help="show what would be accepted, accept nothing")


def act(options: argparse.Namespace) -> int:
    root = workspace_of(options)
    require_operator(root)
    where = places(os.environ)
    settings, groups = read_declared(root, where, os.environ)
    trust = read_trust(root, where, os.environ)
    changed = trust.changed(privacy_digests(settings, groups))
    if not options.show:
        accept_workspace(root)
    shown = {
        "owner_peers": list(settings.owner_peers), "scopes": dict(settings.scopes),
        "require_session": settings.require_session,
        "matrix_match_without_server": settings.matrix_match_without_server,
        "groups": {entry.key: entry.name for entry in groups.entries},
    }  # fmt: skip
    if options.json:
        print_json({"workspace": root, "was_trusted": trust.accepted, "changed": list(changed),
                    "trusted": trust.accepted or not options.show, "privacy": shown})  # fmt: skip
        return 0
    rows = [
        ("" if at else name, part, "changed" if name in changed and not at else "")
        for name, value in shown.items() for at, part in enumerate(_values(value))
    ]  # fmt: skip
    say(table(("setting", "value", "since last time"), rows))
    say("")
    say(f"{'would trust' if options.show else 'trusted'}  {root}")
    warn_of(groups.errors)
    return 0


def accept_workspace(root: str) -> None:
    """Record that the owner accepts the workspace at `root` as it stands."""
    where = places(os.environ)
    accept(root, privacy_digests(*read_declared(root, where, os.environ)), where, when=now())


def changed_since(root: str) -> tuple[str, ...]:
    """Names of the privacy settings of the workspace at `root` that changed since its owner accepted it."""
    where = places(os.environ)
    digests = privacy_digests(*read_declared(root, where, os.environ))
    return read_trust(root, where, os.environ).changed(digests)


def _values(value: object) -> list[str]:
    """A setting's value, a line for each part: what is accepted must all be seen."""
    if isinstance(value, dict):
        return [f"{key} → {name}" for key, name in value.items()] or ["none"]
    if isinstance(value, list):
        return list(map(str, value)) or ["none"]
    return [str(value).lower()]
