"""`apm-hooks init`: create what a workspace lacks, and accept it."""

from __future__ import annotations

import argparse
import os

from apm_hooks.cli.common import here, print_json, quoted, require_operator, say, warn
from apm_hooks.cli.trust import accept_workspace, changed_since
from apm_hooks.errors import UsageError
from apm_hooks.workspace import locate
from apm_hooks.writeback import has_agents_block, initialise, put_agents_block


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Makes a folder a workspace: creates apm.toml, the files of the owner's memory, an empty group map and "
        "AGENTS.md where they are absent, never touching what is there, and records in your own configuration that "
        "you accept the folder. Without --workspace and without a workspace above, it is the current folder."
    )
    parser.add_argument(
        "--agents-md", action="store_true",
        help="put the agent's half of the protocol as a marked block into an AGENTS.md that exists already",
    )  # fmt: skip


def act(options: argparse.Namespace) -> int:
    root = locate(os.environ, here(), options.workspace) or os.path.realpath(here())
    require_operator(root)
    try:
        os.makedirs(root, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{root} cannot be made a folder: {error.strerror}") from error
    created = initialise(root)
    if options.agents_md:
        put_agents_block(root)
    block = has_agents_block(root)
    # Accepting is the owner's look at what changed, and this command shows nothing of it.
    changed = changed_since(root)
    if not changed:
        accept_workspace(root)
    if options.json:
        print_json({"workspace": root, "created": created, "agents_block": block, "trusted": True,
                    "changed": list(changed)})  # fmt: skip
        return 0
    for path in created:
        say(f"created  {path}")
    if not created:
        say("created  nothing: all is there")
    if not block:
        say("kept     AGENTS.md as it is; --agents-md adds the agent's half of the protocol as a marked block")
    say(f"trusted  {root}")
    if changed:
        warn(f"changed since you accepted it, and not counted: {', '.join(changed)}; review it, then run: "
             "apm-hooks trust")  # fmt: skip
    say("")
    say(f"Next: apm-hooks install claude-code (or openclaw)    and    apm-hooks explain --workspace {quoted(root)}")
    return 0
