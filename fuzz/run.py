"""Fuzz every target, or those named, for a bounded number of runs and seconds each, and print what came out of it."""

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from fuzz.seeds import LONGEST, seeds
from fuzz.targets import TARGETS

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / ".cache" / "fuzz"
_RUNS = re.compile(rb"^(?:Done (\d+) runs|#(\d+)\t)", re.MULTILINE)


@dataclass(frozen=True)
class Outcome:
    """How often a target ran, for how long, and the inputs that broke it."""

    target: str
    runs: int
    seconds: float
    findings: tuple[Path, ...]
    code: int


def prepare(target: str) -> tuple[Path, Path]:
    """The folders of a target's inputs, with the seeds in it, and of what broke it."""
    corpus, findings = WORK / "corpus" / target, WORK / "findings" / target
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    for data in seeds(target):
        (corpus / hashlib.sha1(data, usedforsecurity=False).hexdigest()).write_bytes(data)
    return corpus, findings


def fuzz(target: str, *, runs: int, seconds: int, seed: int) -> Outcome:
    corpus, findings = prepare(target)
    command = [
        sys.executable, "-m", "fuzz.one", target, f"-runs={runs}", f"-max_total_time={seconds}", f"-max_len={LONGEST}",
        "-timeout=10", "-rss_limit_mb=1024", f"-artifact_prefix={findings}/", "-print_final_stats=1", str(corpus),
    ]  # fmt: skip
    command[6:6] = [f"-seed={seed}"] if seed else []
    known = set(findings.iterdir())
    started = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    took = time.monotonic() - started
    new = tuple(sorted(set(findings.iterdir()) - known))
    if new or done.returncode:
        sys.stdout.buffer.write(done.stdout[-4_000:])
        sys.stdout.flush()
    counts = [int(first or second) for first, second in _RUNS.findall(done.stdout)]
    return Outcome(target, max(counts, default=0), took, new, done.returncode)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; none: all of them")
    parser.add_argument("--runs", type=int, default=500_000, help="the most runs of one target (default %(default)s)")
    parser.add_argument("--seconds", type=int, default=60, help="the most seconds of one target (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="replay: the seed that the fuzzer printed")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(TARGETS):
        parser.error(f"no such target: {', '.join(sorted(unknown))}")
    outcomes = [
        fuzz(target, runs=options.runs, seconds=options.seconds, seed=options.seed)
        for target in options.targets or TARGETS
    ]
    print(f"{'target':12} {'runs':>9} {'seconds':>8}  findings")
    for outcome in outcomes:
        found = ", ".join(str(path.relative_to(ROOT)) for path in outcome.findings)
        failed = f"ended with {outcome.code}" if outcome.code and not found else ""
        print(f"{outcome.target:12} {outcome.runs:9} {outcome.seconds:8.0f}  {found or failed or 'none'}")
    return int(any(outcome.findings or outcome.code for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
