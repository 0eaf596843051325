"""The public API as two type checkers see it from outside, where no setting of this project helps them."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import apm_hooks
from apm_hooks import aio, testing

API = Path(__file__).parent / "typing" / "api.py"
EXAMPLE = Path(__file__).parent / "example_plugin" / "src" / "apm_hooks_example" / "__init__.py"
SCRIPTS = Path(sys.prefix) / "bin"

# Each line is wrong in a way that a user should learn of before a session does.
MISUSES = (
    "HostEvent()",
    "HostEvent('x', 's', sender=77)",
    "Runtime('/')",
    "Runtime('/', {}, clock='now')",
    "Runtime('/', {}, clock=time.time).session_start('agent:main:main')",
    "Runtime('/', {}, clock=time.time).session_start(HostEvent('x', 's')).text",
    "Contribution(fragments=('a line',))",
    "Contribution(fragments=Fragment('a', 'b'))",
    "FlushAnswer(pending='one')",
    "Verdict(allow=True)",
    "Verdict('no')",
    "Reviewed(texts=(1,))",
    "AuditRule('no-tabs', check=len)",
    "setattr_of(Fragment('a', 'b')).text = 'c'",
    "AsyncRuntime(Runtime('/', {}, clock=time.time)).session_start(HostEvent('x', 's')).injection",
    "FakeClock('now')",
    "TemporaryWorkspace().write('a', 1)",
    "leaks({}, 'seen', 1)",
    "apm_hooks.no_such_name",
)
HEAD = """import time
import apm_hooks
from apm_hooks import AuditRule, Contribution, FlushAnswer, Fragment, HostEvent, Reviewed, Runtime, Verdict
from apm_hooks.aio import AsyncRuntime
from apm_hooks.testing import FakeClock, TemporaryWorkspace, leaks


def setattr_of(fragment: Fragment) -> Fragment:
    return fragment


"""


def run(folder: Path, *command: str | Path) -> str:
    """What a checker prints; it exits with 0 or 1 where it could work at all."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def mypy(folder: Path, file: Path) -> list[int]:
    """The lines that mypy --strict finds fault with; `folder` holds its settings: no others."""
    (folder / "mypy.ini").write_text("[mypy]\nstrict = True\n", encoding="utf-8")
    cache = Path(__file__).parents[1] / ".mypy_cache" / "api"
    printed = run(folder, SCRIPTS / "mypy", "--config-file", folder / "mypy.ini", "--python-executable",
                  sys.executable, "--cache-dir", cache, "--output", "json", file)  # fmt: skip
    found = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    return sorted(fault["line"] for fault in found if fault["severity"] == "error")


def pyrefly(folder: Path, file: Path) -> list[int]:
    """The lines that the second checker finds fault with, by its strict preset."""
    (folder / "pyrefly.toml").write_text('preset = "strict"\n', encoding="utf-8")
    printed = run(folder, SCRIPTS / "pyrefly", "check", "--config", folder / "pyrefly.toml",
                  "--python-interpreter-path", sys.executable, "--output-format", "json", file)  # fmt: skip
    return sorted(fault["line"] for fault in json.loads(printed)["errors"] if fault["severity"] == "error")


Checker = Callable[[Path, Path], list[int]]
CHECKERS = pytest.mark.parametrize("checker", [mypy, pyrefly], ids=lambda checker: checker.__name__)


@CHECKERS
@pytest.mark.parametrize("file", [API, EXAMPLE], ids=["api", "example plugin"])
def test_what_users_write_has_no_type_error(checker: Checker, file: Path, tmp_path: Path) -> None:
    assert checker(tmp_path, file) == []


@CHECKERS
def test_every_misuse_is_a_type_error(checker: Checker, tmp_path: Path) -> None:
    file = tmp_path / "misuses.py"
    file.write_text(HEAD + "".join(f"{line}\n" for line in MISUSES), encoding="utf-8")
    first = HEAD.count("\n") + 1
    found = set(checker(tmp_path, file))
    assert [line for number, line in enumerate(MISUSES, first) if number not in found] == []
    assert min(found) >= first


def test_every_public_name_is_used() -> None:
    tree = ast.parse(API.read_text(encoding="utf-8"))
    imported = {
        (node.module, alias.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for module in (apm_hooks, aio, testing):
        for name in module.__all__:
            assert name in used, f"{module.__name__}.{name}"
            assert name == "__version__" or (module.__name__, name) in imported
