"""What installed plugins that want other events cost a hook call: the same calls with none and with fifty of them.

    python benchmarks/plugins.py [--runs 31] [--json] [--check]

Two environments that share this one's packages; one has fifty more distributions, each with a plugin that implements
`apm_audit_rules`. Figures are medians of CPU time of whole processes, interleaved; `--check` exits with 1 where fifty
plugins cost more than a twentieth.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from statistics import median

import apm_hooks
from startup import cpu_ms

MOST = 1.05
MODULE = "from apm_hooks import hookimpl\n\n@hookimpl\ndef apm_audit_rules():\n    return None\n"


def environment(folder: Path, plugins: int) -> Path:
    """A virtual environment that sees this one's packages and has so many plugins; returns its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    shared = [sysconfig.get_paths()["purelib"], str(Path(apm_hooks.__file__).parents[1])]
    (site / "shared.pth").write_text("\n".join(shared) + "\n")
    for number in range(plugins):
        name = f"apm_bench_{number}"
        info = site / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[apm_hooks]\n{name} = {name}\n")
        (site / f"{name}.py").write_text(MODULE)
    return folder / "bin" / "python"


def calls(python: Path, home: Path) -> dict[str, tuple[list[str], str, dict[str, str]]]:
    """The kinds of call, each with command, event and environment; the first of each kind fills what later ones use."""
    workspace = home / "ws"
    env = {"HOME": str(home), "PATH": os.environ.get("PATH", os.defpath)}
    subprocess.run([str(python), "-m", "apm_hooks", "init", "--workspace", str(workspace)], env=env, check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    line = [str(python), "-I", "-S", str(Path(apm_hooks.__file__).parent / "start.py"), "--host", "claude-code"]
    start = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "bench", "cwd": str(workspace)}
    tool = {"hook_event_name": "PreToolUse", "session_id": "bench", "cwd": str(workspace), "tool_name": "Read",
            "tool_input": {"file_path": str(workspace / "src" / "app.py")}}  # fmt: skip
    off = {**env, "APM_FAST_LANE": "off"}
    return {
        "unrelated tool call": (line, json.dumps(tool), env),
        "unchanged session start": (line, json.dumps(start), env),
        "session start, full path": (line, json.dumps(start), off),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=31)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ratios = measure(Path(folder), options.runs)
    if options.json:
        print(json.dumps({"ratio": ratios, "bound": MOST}, indent=2))
    else:
        for name, ratio in ratios.items():
            print(f"{name:28} {ratio:5.2f} x with fifty plugins  (at most {MOST})")
    return 1 if options.check and any(ratio > MOST for ratio in ratios.values()) else 0


def measure(folder: Path, runs: int) -> dict[str, float]:
    kinds = {}
    for plugins in (0, 50):
        (folder / f"home-{plugins}").mkdir()
        kinds[plugins] = calls(environment(folder / f"env-{plugins}", plugins), folder / f"home-{plugins}")
    # A change time cannot be set, only waited for.
    time.sleep(2.1)
    for group in kinds.values():
        for command, data, env in group.values():
            cpu_ms(command, data, env)
    ratios = {}
    for name in kinds[0]:
        taken: dict[int, list[float]] = {0: [], 50: []}
        for _ in range(7 if "full" in name else runs):
            for plugins, group in kinds.items():
                taken[plugins].append(cpu_ms(*group[name]))
        ratios[name] = median(taken[50]) / median(taken[0])
    return ratios


if __name__ == "__main__":
    sys.exit(main())
