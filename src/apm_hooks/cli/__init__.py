"""The command line: arguments → runtime. A command per file; none is imported before it is named."""

from __future__ import annotations


def main() -> int:
    """Run `apm-hooks` with the process's own arguments and return its exit code."""
    import sys

    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a name shows an escape in its place.
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="backslashreplace")
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        # Hosts wait for this one: it goes its own way before any argument parser is loaded.
        from apm_hooks import start

        sys.argv[1:] = arguments[1:]
        try:
            start.main()
        except BaseException as error:  # noqa: BLE001 - the host's turn goes on (protocol, section 12)
            sys.stderr.write(f"apm-hooks: {type(error).__name__}: {error}\n")
        return 0
    from apm_hooks.cli.parser import run

    return run(arguments)
