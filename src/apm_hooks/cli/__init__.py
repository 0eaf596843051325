"""The command line: arguments → runtime. A command per file; none is imported before it is named."""

from __future__ import annotations


def main() -> int:
    """Run `apm-hooks` with the process's own arguments and return its exit code."""
    import sys

    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        # Hosts wait for this one: it goes its own way before any argument parser is loaded.
        from apm_hooks import start

        sys.argv[1:] = arguments[1:]
        start.main()
        return 0
    from apm_hooks.cli.parser import run

    return run(arguments)
