"""`apm-hooks uninstall HOST`: take our hooks and blocks out of a host's files again; memory stays."""

from __future__ import annotations

import argparse
import os

from apm_hooks.cli import install_openclaw
from apm_hooks.cli.common import here, require_operator
from apm_hooks.cli.install import add_options, carry_out, home, project_of
from apm_hooks.hosts.claude_code_install import plan_uninstall
from apm_hooks.hosts.openclaw import HOST as OPENCLAW
from apm_hooks.workspace import locate


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Takes out what install added, and only that: our hooks, our /remem command, our marked block, our pack and "
        "plugin; what we changed in a host's settings is set back, unless it was changed again since. Memory, apm.toml "
        "and the list of accepted workspaces stay."
    )
    add_options(parser)


def act(options: argparse.Namespace) -> int:
    if options.host == OPENCLAW:
        return carry_out(install_openclaw.uninstall_plan(options), options)
    project = project_of(options, locate(os.environ, here(), options.workspace))
    require_operator(project)
    plan = plan_uninstall(scope=options.scope, home=home(), project=project,
                          config_dir=os.environ.get("CLAUDE_CONFIG_DIR"))  # fmt: skip
    return carry_out(plan, options)
