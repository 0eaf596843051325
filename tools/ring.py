"""Run the commands of one ring of tests, one after the other, and hold them to the ring's budget in minutes."""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--name", required=True, help="what the ring is called in the closing line")
    parser.add_argument("--minutes", type=float, required=True, help="its budget")
    parser.add_argument("commands", nargs="+", metavar="COMMAND", help="a command line, quoted as one word")
    options = parser.parse_args()
    start = time.monotonic()
    for command in options.commands:
        print(f"[{options.name}] {command}", flush=True)
        code = subprocess.run(shlex.split(command), check=False).returncode
        if code:
            print(f"[{options.name}] failed with {code}: {command}", flush=True)
            return 1
    used = (time.monotonic() - start) / 60
    print(f"[{options.name}] {used:.1f} of {options.minutes:g} minutes used", flush=True)
    return 0 if used <= options.minutes else 1


if __name__ == "__main__":
    sys.exit(main())
