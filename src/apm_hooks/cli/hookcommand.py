"""`apm-hooks hook-command`: the line that the installer writes."""

from __future__ import annotations

import argparse

from apm_hooks.cli.common import print_json, say
from apm_hooks.hosts.hookline import hook_line


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Prints the command line that a host should run for an event: absolute paths, quoted for a shell, started "
        "without site packages so that it costs little more than a bare interpreter."
    )
    parser.add_argument("--host", required=True, choices=("claude-code",), help="the host that will run it")


def act(options: argparse.Namespace) -> int:
    line = hook_line(options.host)
    if options.json:
        print_json({"host": options.host, "command": line})
    else:
        say(line)
    return 0
