"""What a hook call costs, as a multiple of a bare interpreter start, all measured in one run.

    python benchmarks/startup.py [--runs 41] [--json] [--check]

Each figure is the median CPU time of whole processes (children included), interleaved so that a busy machine hits
all alike; `--check` exits with 1 where a ratio passes its bound.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from apm_hooks.hosts.hookline import hook_line

BOUNDS = {"unrelated tool call": 1.6, "unchanged session start": 2.5}


def prepare(home: Path) -> tuple[Path, dict[str, str]]:
    """A trusted workspace whose files are old enough for their stamps to be believed."""
    workspace = home / "ws"
    env = {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath)}
    subprocess.run([sys.executable, "-m", "apm_hooks", "init", "--workspace", str(workspace)], env=env, check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    # A change time cannot be set, only waited for.
    time.sleep(2.1)
    return workspace, env


def cpu_ms(command: list[str], data: str, env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=data, env=env, check=True, text=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=41)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), options.runs)
    base = figures["bare interpreter"]
    ratios = {name: value / base for name, value in figures.items()}
    if options.json:
        print(json.dumps({"cpu_ms": figures, "ratio": ratios, "bounds": BOUNDS}, indent=2))
    else:
        for name, value in figures.items():
            bound = f"  (at most {BOUNDS[name]})" if name in BOUNDS else ""
            print(f"{name:28} {value:7.1f} ms  {ratios[name]:6.2f} x{bound}")
    late = [name for name, bound in BOUNDS.items() if ratios[name] > bound]
    return 1 if options.check and late else 0


def measure(home: Path, runs: int) -> dict[str, float]:
    workspace, env = prepare(home)
    line = ["sh", "-c", hook_line("claude-code")]
    start = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "bench", "cwd": str(workspace)}
    tool = {"hook_event_name": "PreToolUse", "session_id": "bench", "cwd": str(workspace), "tool_name": "Read",
            "tool_input": {"file_path": str(workspace / "src" / "app.py")}}  # fmt: skip
    off = {**env, "APM_FAST_LANE": "off"}
    kinds: dict[str, tuple[list[str], str, dict[str, str]]] = {
        "bare interpreter": ([sys.executable, "-I", "-S", "-c", "pass"], "", env),
        "unrelated tool call": (line, json.dumps(tool), env),
        "unchanged session start": (line, json.dumps(start), env),
        "session start, full path": (line, json.dumps(start), off),
    }
    for command, data, where in kinds.values():
        cpu_ms(command, data, where)
    taken: dict[str, list[float]] = {name: [] for name in kinds}
    for number in range(runs):
        for name, (command, data, where) in kinds.items():
            # The full path costs a hundred times as much, and nothing is promised of it here.
            if "full" not in name or number < 5:
                taken[name].append(cpu_ms(command, data, where))
    return {name: median(values) for name, values in taken.items()}


if __name__ == "__main__":
    sys.exit(main())
