"""`apm-hooks init`: create what a workspace lacks, and accept it."""

from __future__ import annotations

import argparse
import os

from apm_hooks.cli.common import print_json, quoted, require_operator, say
from apm_hooks.cli.trust import accept_workspace
from apm_hooks.errors import UsageError
from apm_hooks.workspace import locate
from apm_hooks.writeback import initialise, put_agents_block


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
    root = locate(os.environ, os.getcwd(), options.workspace) or os.path.realpath(os.getcwd())
    require_operator(root)
    try:
        os.makedirs(root, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{root} cannot be made a folder: {error.strerror}") from error
    created = initialise(root)
    block = "AGENTS.md" in created or (options.agents_md and put_agents_block(root))
    accept_workspace(root)
    if options.json:
        print_json({"workspace": root, "created": created, "agents_block": bool(block), "trusted": True})
        return 0
    for path in created:
        say(f"created  {path}")
    if not created:
        say("created  nothing: all is there")
    if not block and not options.agents_md:
        say("kept     AGENTS.md as it is; --agents-md adds the agent's half of the protocol as a marked block")
    say(f"trusted  {root}")
    say("")
    say(f"Next: apm-hooks install claude-code    and    apm-hooks explain --workspace {quoted(root)}")
    return 0
