"""A check that no test would miss is no check: each planted fault is applied to a copy of the source as a patch, and
every test that it names must fail there, while all of them pass on the copy without it.

A patch is a unified diff against the root of the repository, below a line `Caught-by: tests/…::test …`. Where the
source has changed so that one no longer applies, make it anew: change a copy of the file, `git diff --no-index` the
two, and keep the first line.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PATCHES = sorted((Path(__file__).parent / "patches").glob("*.patch"))
HEAD = "Caught-by: "
PLANTED = "test_a_planted_fault_is_caught"


@dataclass(frozen=True)
class Control:
    """A copy in which all named tests have run without a fault, and what they said."""

    folder: Path
    code: int
    said: str


def named_tests(patch: Path) -> list[str]:
    """The tests that must catch a patch's fault: those on its first line."""
    first = patch.read_text(encoding="utf-8").partition("\n")[0]
    assert first.startswith(HEAD), f"{patch.name} does not say what catches it"
    return first.removeprefix(HEAD).split()


def run(folder: Path, tests: Sequence[str], *options: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(folder / "src")}
    # Neither random order nor example databases: a fault is caught each time or it is not caught.
    plain = ["-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:hypothesispytest"]
    command = [sys.executable, *options, "-m", "pytest", "-q", "-rf", "--tb=line", *plain, *tests]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Control:
    """Run once, which also leaves compiled what the faulty copies then need not compile again."""
    folder = tmp_path_factory.mktemp("control")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    others = shutil.ignore_patterns("__pycache__", ".hypothesis", "hosts", "faults", "routing_corpus")
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=others)
    shutil.copy(ROOT / "pyproject.toml", folder)
    done = run(folder, sorted({test for patch in PATCHES for test in named_tests(patch)}))
    return Control(folder, done.returncode, done.stdout[-3000:] + done.stderr[-1000:])


def test_without_a_fault_the_same_tests_pass(control: Control) -> None:
    assert control.code == 0, control.said


@dataclass(frozen=True)
class Outcome:
    """What git said of a patch (empty: it applies), and what the tests then said."""

    refused: str
    code: int
    said: str


def plant(control: Control, folder: Path, patch: Path) -> Outcome:
    shutil.copytree(control.folder, folder)
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    applied = subprocess.run(["git", "apply", "-p1", str(patch)], cwd=folder, env=env, capture_output=True, text=True,
                             check=False)  # fmt: skip
    if applied.returncode:
        return Outcome(applied.stderr or "git said nothing", 0, "")
    done = run(folder, named_tests(patch), "-B")
    return Outcome("", done.returncode, done.stdout + done.stderr)


@pytest.fixture(scope="module")
def outcomes(
    control: Control, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[dict[Path, Future[Outcome]]]:
    """The outcome of each selected patch, two of them at a time."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    selected: list[Any] = [item.callspec.params["patch"] for item in items if item.originalname == PLANTED]
    folder = tmp_path_factory.mktemp("planted")
    with ThreadPoolExecutor(2) as pool:
        yield {patch: pool.submit(plant, control, folder / patch.stem, patch) for patch in selected}
        pool.shutdown(cancel_futures=True)


@pytest.mark.parametrize("patch", PATCHES, ids=lambda patch: patch.stem)
def test_a_planted_fault_is_caught(outcomes: dict[Path, Future[Outcome]], patch: Path) -> None:
    outcome = outcomes[patch].result()
    assert not outcome.refused, f"{patch.name} no longer applies, make it anew:\n{outcome.refused}"
    if outcome.code == 0 and " skipped" in outcome.said and not os.environ.get("CI"):
        pytest.skip(f"this machine cannot run what catches it:\n{outcome.said[-500:]}")
    assert outcome.code == 1, f"the tests did not fail but ended with {outcome.code}:\n{outcome.said[-2000:]}"
    failed = {re.split(r"\[| - ", line)[0].removeprefix("FAILED ") for line in outcome.said.splitlines()}
    assert set(named_tests(patch)) <= failed, f"not all of them caught it:\n{outcome.said[-2000:]}"


def test_each_of_the_three_checks_has_its_fault() -> None:
    assert {patch.stem.split("-")[0] for patch in PATCHES} >= {"scope", "name", "trust"}
