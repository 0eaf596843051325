"""What the plugin adds to a turn of an OpenClaw gateway, with the worker and with one process per event.

    python benchmarks/openclaw_turn.py [--runs 15] [--json] [--check]

A turn is its message, model choice, bootstrap, prompt, a tool call and its end, in the owner's session of a workspace
that `init` has made. All kinds of turn are measured in one run, alternating, as medians; `bare` are hooks that do
nothing. `--check` exits with 1 where a turn over the worker costs more than its share of one that starts processes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from apm_hooks.hosts.openclaw_files import HALVES, files, source

SCRIPT = Path(__file__).with_suffix(".js")
BOUND = 0.15


def install(folder: Path, workspace: Path, worker: bool) -> str:
    for half in HALVES:
        for name, data in files(source(), half, [str(workspace)]).items():
            path = folder / half / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        settings = folder / half / "apm-hooks.json"
        settings.write_text(json.dumps({**json.loads(settings.read_text()), "worker": worker}))
    return str(folder)


def measure(home: Path, runs: int) -> dict[str, float]:
    node = shutil.which("node")
    if node is None:
        sys.exit("node 20 or newer is not on the PATH")
    workspace = home / "ws"
    env = {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath)}
    init = [sys.executable, "-m", "apm_hooks", "init", "--workspace", str(workspace)]
    subprocess.run(init, env=env, check=True, stdout=subprocess.DEVNULL)
    roots = [install(home / kind, workspace, kind == "worker") for kind in ("worker", "process")]
    command = [node, str(SCRIPT), *roots, str(runs)]
    done = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return {kind: median(taken) for kind, taken in json.loads(done.stdout).items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), options.runs)
    ratio = figures["worker"] / figures["process"]
    if options.json:
        print(json.dumps({"ms": figures, "ratio": ratio, "bound": BOUND}, indent=2))
    else:
        for name, value in figures.items():
            print(f"{name:8} {value:9.2f} ms a turn")
        print(f"worker   {ratio:9.3f} of one process per event  (at most {BOUND})")
    return 1 if options.check and ratio > BOUND else 0


if __name__ == "__main__":
    sys.exit(main())
