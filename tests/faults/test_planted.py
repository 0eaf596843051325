"""A check that no test would miss is no check: each planted fault is applied to a copy of the source as a patch, and
the tests named beside it must fail there, while they pass on the copy without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATCHES = Path(__file__).parent / "patches"


def copy(folder: Path) -> Path:
    target = folder / "copy"
    target.mkdir()
    ignore = shutil.ignore_patterns("__pycache__", ".hypothesis", "hosts", "faults")
    shutil.copytree(ROOT / "src", target / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", target / "tests", ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", target)
    return target


def run(target: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(target / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
        cwd=target, env=env, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def tests_of(patch: Path) -> list[str]:
    """The patch's first line names the tests that must catch it."""
    first = patch.read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("Caught-by: "), f"{patch.name} does not say what catches it"
    return first.removeprefix("Caught-by: ").split()


@pytest.mark.parametrize("patch", sorted(PATCHES.glob("*.patch")), ids=lambda patch: patch.stem)
def test_a_planted_fault_is_caught(tmp_path: Path, patch: Path) -> None:
    target = copy(tmp_path)
    subprocess.run(["git", "apply", str(patch)], cwd=target, check=True,
                   capture_output=True)  # fmt: skip
    done = run(target, tests_of(patch))
    assert done.returncode == 1, f"not caught:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def test_without_a_fault_the_same_tests_pass(tmp_path: Path) -> None:
    target = copy(tmp_path)
    tests = sorted({test for patch in PATCHES.glob("*.patch") for test in tests_of(patch)})
    done = run(target, tests)
    assert done.returncode == 0, done.stdout[-3000:]


def test_each_of_the_three_checks_has_its_fault() -> None:
    kinds = {patch.stem.split("-")[0] for patch in PATCHES.glob("*.patch")}
    assert kinds >= {"scope", "name", "trust"}
