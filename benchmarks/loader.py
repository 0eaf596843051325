"""What a session start costs in a process that stays, as a multiple of reading the same files and printing them.

    python benchmarks/loader.py [--json] [--check]

Warm: the runtime has answered for each session's scope before, and nothing has changed since. The floor reads exactly
the files that went into the answer and writes them where they are thrown away. A group's start reads one small file, so
that the line in its ledger shows; it is printed without a bound. Both are measured in one
run, interleaved; `--check` exits with 1 where a ratio passes its bound.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from apm_hooks import trust, workspace
from apm_hooks.places import places
from apm_hooks.records import HostEvent
from apm_hooks.runtime import Runtime

BOUNDS = {"owner, 1,000 groups and notes": 3.0, "10,000 groups against 10": 1.2}
PARAGRAPH = "A line of notes as people write them, neither short nor long, with a date 2026-01-31 and a name.\n"
TABLE = "| scenario | file | priority |\n|---|---|---|\n| current tasks | attention.md | P0 |\n"


def build(folder: Path, groups: int, notes: int) -> tuple[Runtime, dict[str, str]]:
    """A trusted workspace with so many groups and notes, its files old enough for their stamps to be believed."""
    root = folder / f"ws-{groups}"
    env = {"HOME": str(folder / "home"), "PATH": os.environ.get("PATH", os.defpath)}
    today = time.strftime("%Y-%m-%d")
    files = {"apm.toml": "", "memory/main/index.md": f"# Index\n\n{TABLE}\n" + PARAGRAPH * 40,
             "memory/main/attention.md": "# Attention\n" + PARAGRAPH * 60,
             f"memory/{today}.md": "# Today\n" + PARAGRAPH * 20}  # fmt: skip
    files.update({f"memory/notes/n{number}.md": PARAGRAPH * 5 for number in range(notes)})
    files.update({f"memory/groups/g{number}.md": f"# Group {number}\n\n{TABLE}\n" + PARAGRAPH * 60
                  for number in range(groups)})  # fmt: skip
    files["memory/groups/group_names.json"] = json.dumps({f"-{number}": f"g{number}" for number in range(groups)})
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    where = places(env)
    digests = workspace.privacy_digests(*workspace.read_declared(str(root), where, env))
    trust.accept(str(root), digests, where, when="2026-01-01T00:00:00+00:00")
    # A change time cannot be set, only waited for.
    time.sleep(2.1)
    return Runtime(str(root), env, clock=time.time), env


def event(key: str, number: int) -> HostEvent:
    return HostEvent(host="bench", session_id=f"s{number}", session_key=key, single_user=True)


def ours(runtime: Runtime, key: str, number: int, sink: int) -> float:
    start = time.perf_counter()
    text = runtime.session_start(event(key, number)).injection.text
    os.write(sink, text.encode())
    return time.perf_counter() - start


def floor(paths: list[str], sink: int) -> float:
    start = time.perf_counter()
    for path in paths:
        with open(path, encoding="utf-8") as file:
            os.write(sink, file.read().encode())
    return time.perf_counter() - start


def compare(runtime: Runtime, keys: list[str], sink: int) -> float:
    """Median cost of a warm start over the keys, as a multiple of the floor for the same files."""
    files = {}
    for number, key in enumerate(keys):
        loaded = runtime.session_start(event(key, number))
        files[key] = [os.path.join(runtime.root, path) for path, _ in loaded.injection.files]
        assert files[key]
    spent, least = [], []
    for number, key in enumerate(keys):
        spent.append(ours(runtime, key, number, sink))
        least.append(floor(files[key], sink))
    return median(spent) / median(least)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "wb") as sink:
        ratios = measure(Path(folder), sink.fileno())
    if options.json:
        print(json.dumps({"ratio": ratios, "bounds": BOUNDS}, indent=2))
    else:
        for name, ratio in ratios.items():
            bound = f"  (at most {BOUNDS[name]})" if name in BOUNDS else ""
            print(f"{name:32} {ratio:5.2f} x{bound}")
    return 1 if options.check and any(ratios[name] > bound for name, bound in BOUNDS.items()) else 0


def measure(folder: Path, sink: int) -> dict[str, float]:
    runtime, _ = build(folder / "a", 1_000, 1_000)
    owner = compare(runtime, ["agent:main:main"] * 200, sink)
    group = compare(runtime, [f"agent:main:telegram:group:-{number}" for number in range(1_000)], sink)
    small, _ = build(folder / "b", 10, 0)
    large, _ = build(folder / "c", 10_000, 0)
    key = "agent:main:telegram:group:-7"
    few, many = [], []
    for runtime in (small, large):
        runtime.session_start(event(key, 0))
    for number in range(300):
        few.append(ours(small, key, number, sink))
        many.append(ours(large, key, number, sink))
    return {"owner, 1,000 groups and notes": owner, "group, 1,000 groups and notes": group,
            "10,000 groups against 10": median(many) / median(few)}  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
