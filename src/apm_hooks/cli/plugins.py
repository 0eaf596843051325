"""`apm-hooks plugins`: which plugins there are, where each comes from, what it implements, whether it is used."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from dataclasses import asdict

from apm_hooks.cli.common import here, print_json, require_operator, say, table
from apm_hooks.places import places
from apm_hooks.plugins import Plugins, PluginSettings, installed_plugins
from apm_hooks.settings import load_settings
from apm_hooks.workspace import locate

_LOAD_SECONDS = 60.0
"""Nobody waits for this command but a person: a plugin may take its time to be imported."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Looks for plugins anew, imports each that may be used once, and shows name, version, where it comes from, the "
        "hooks it implements, its state, and why it is not used. States: active; blocked or not-allowed (by the lists "
        "in the settings); disabled (all are switched off); broken; duplicate (the name belongs to another one)."
    )


def act(options: argparse.Namespace) -> int:
    where = places(os.environ)
    root = locate(os.environ, here(), options.workspace)
    if root is not None:
        require_operator(root)
    # Which plugins run is the person's and the environment's to say, never a workspace's.
    found = load_settings("", where.config, os.environ)
    # What a plugin prints while it is imported must not stand in the table or the document.
    with contextlib.redirect_stdout(sys.stderr):
        chosen = PluginSettings(found.plugins_disabled, found.plugins_allow, found.plugins_block, found.plugins_strict)
        listed = installed_plugins(os.path.join(where.cache, "plugins"), chosen, fresh=True, seconds=_LOAD_SECONDS)
        infos = Plugins(listed, chosen, report=lambda name, sentence: None).infos()
    if options.json:
        print_json({"plugins": [{**asdict(info), "error": info.error or None} for info in infos]})
        return 0
    rows = [
        (info.name, info.version, info.origin, ", ".join(info.hooks) or "-", info.state, info.error or "-")
        for info in infos
    ]
    say(table(("name", "version", "origin", "hooks", "state", "last error"), rows))
    return 0
