"""What becomes of the turns of an OpenClaw gateway when the Python behind the hooks is broken.

    python benchmarks/openclaw_shim.py [--events 10000] [--hanging 200] [--json] [--check]

Fires events at the hook pack and the plugin, loaded in node as the gateway does, with a Python that is killed, prints
garbage, prints 50 MB, or is missing, and events at one that hangs. A turn is lost where an event throws, rejects, takes
longer than its limit, loses a file of the host's own, or lets a tool call through that nobody judged. `--check` exits
with 1 where a turn is lost, anything escapes into the host, or more processes run at once than are allowed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STORM = Path(__file__).parents[1] / "tests/openclaw_shim/storm.js"
PROCESSES = 4
LEAVING = 6  # processes that were ended but not yet seen off, while the next ones run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--hanging", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    node = shutil.which("node")
    if node is None:
        sys.exit("node 20 or newer is not on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        command = [node, str(STORM), folder, str(options.events), str(options.hanging)]
        figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        for name, value in figures.items():
            print(f"{name.replace('_', ' '):14} {value}")
    bad = figures["lost"] or figures["left"] or figures["escaped"] or figures["peak"] > PROCESSES + LEAVING
    return 1 if options.check and bad else 0


if __name__ == "__main__":
    sys.exit(main())
