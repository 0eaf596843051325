"""One target under the fuzzer, in a process of its own: `python -m fuzz.one TARGET [libFuzzer options] FOLDER…`."""

from __future__ import annotations

import importlib
import sys


def main() -> None:
    # Only `make fuzz` installs it.
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["apm_hooks"]):
        from fuzz.targets import TARGETS
    atheris.Setup([sys.argv[0], *sys.argv[2:]], TARGETS[sys.argv[1]])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
