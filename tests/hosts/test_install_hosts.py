"""The installer of the host programs, with a stand-in for npm: no network, no node."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from .claude import INSTALLER

VERSION = "2.1.100"
SCRIPT = f"claude-code-{VERSION}/node_modules/@anthropic-ai/claude-code/cli.js"
NPM = """#!/bin/sh
echo "$@" >> {log}
[ -z "{fails}" ] || {{ echo "no such registry" >&2; exit 7; }}
for wanted; do :; done
package="$3/node_modules/${{wanted%@*}}"
/bin/mkdir -p "$package/bin"
version={version}
echo "{{\\"version\\": \\"${{version:-${{wanted##*@}}}}\\"}}" > "$package/package.json"
for program in cli.js openclaw.mjs bin/node; do echo > "$package/$program"; done
"""


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for PATH with a node that is never run."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program(folder / "node", "#!/bin/sh\nexit 9\n")
    return folder


def program(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    path.chmod(0o755)


def stand_in(tools: Path, *, version: str = "", fails: str = "") -> Path:
    """Put an npm into `tools` and return the file in which it writes how it was called. It installs what it is asked
    for, or always `version`."""
    log = tools / "calls"
    program(tools / "npm", NPM.format(log=log, version=version, fails=fails))
    return log


def run(tools: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", str(INSTALLER), *arguments],
        env={"PATH": str(tools), "HOME": str(tools.parent / "home"), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize(
    ("arguments", "variable", "cache"),
    [
        (["--into", "{root}/into"], "APM_TEST_HOSTS", "into"),
        ([], "APM_TEST_HOSTS", "chosen"),
        ([], "XDG_CACHE_HOME", "chosen/apm-hooks-test-hosts"),
        ([], "", "home/.cache/apm-hooks-test-hosts"),
    ],
)
def test_where_the_programs_go(tools: Path, tmp_path: Path, arguments: list[str], variable: str, cache: str) -> None:
    stand_in(tools)
    chosen = {variable: str(tmp_path / "chosen")} if variable else {}
    done = run(tools, *(argument.format(root=tmp_path) for argument in arguments), **chosen)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / cache / SCRIPT).is_file()
    assert f"{tmp_path / cache / SCRIPT}\n" in done.stdout
    checked = run(tools, "--into", str(tmp_path / cache), "--check", "claude-code")
    assert (checked.returncode, checked.stdout) == (0, f"{tmp_path / cache / SCRIPT}\n")


def test_what_is_there_is_not_installed_again(tools: Path, tmp_path: Path) -> None:
    log = stand_in(tools)
    assert "installed in" in run(tools, "--into", str(tmp_path / "c")).stdout
    assert "found in" in run(tools, "--into", str(tmp_path / "c")).stdout
    calls = [line.rpartition(" ")[2] for line in log.read_text("utf-8").splitlines()]
    assert calls[0] == f"@anthropic-ai/claude-code@{VERSION}"
    assert [re.sub(r"(x64|arm64)?@[0-9.]+$", "", call) for call in calls[1:]] == ["openclaw", "node-linux-"]


def test_what_a_killed_install_left_is_cleared_away_and_never_used(tools: Path, tmp_path: Path) -> None:
    stand_in(tools)
    cache = tmp_path / "c"
    unfinished = cache / Path(SCRIPT).parent
    unfinished.mkdir(parents=True)
    (unfinished / "cli.js").write_text("half", "utf-8")
    (cache / ".partial-x" / "node_modules").mkdir(parents=True)
    assert run(tools, "--into", str(cache), "--check").returncode == 1
    assert run(tools, "--into", str(cache)).returncode == 0
    assert (cache / SCRIPT).read_text("utf-8") == "\n"
    assert sorted(path.name for path in cache.iterdir() if path.name.startswith(".")) == [".lock"]


@pytest.mark.parametrize(
    ("version", "fails", "said"),
    [("", "yes", "no such registry"), ("2.1.101", "", "npm installed 2.1.101")],
)
def test_a_failed_install_is_told_and_leaves_nothing(
    tools: Path, tmp_path: Path, version: str, fails: str, said: str
) -> None:
    stand_in(tools, version=version, fails=fails)
    done = run(tools, "--into", str(tmp_path / "c"))
    assert done.returncode == 1
    assert said in done.stderr
    assert [path.name for path in (tmp_path / "c").iterdir()] == [".lock"]


@pytest.mark.parametrize("missing", ["npm", "node"])
def test_without_node_the_remedy_is_named(tools: Path, tmp_path: Path, missing: str) -> None:
    stand_in(tools)
    (tools / missing).unlink()
    done = run(tools, "--into", str(tmp_path / "c"))
    assert done.returncode == 1
    assert done.stderr.startswith(f"install_hosts: {missing} is not on PATH. Install Node.js")
    assert "Traceback" not in done.stderr


def test_another_version_is_installed_beside_the_pinned_one(tools: Path, tmp_path: Path) -> None:
    stand_in(tools)
    cache = str(tmp_path / "c")
    assert run(tools, "--into", cache, "openclaw@2026.5.7").returncode == 0
    program = tmp_path / "c/openclaw-2026.5.7/node_modules/openclaw/openclaw.mjs"
    assert run(tools, "--into", cache, "--check", "openclaw@2026.5.7").stdout == f"{program}\n"
    missing = run(tools, "--into", cache, "--check", "openclaw")
    assert missing.returncode == 1
    assert f"Run: python tools/install_hosts.py --into {cache} openclaw@2026.9.6" in missing.stderr


def test_a_host_that_nobody_knows_is_a_usage_error(tools: Path) -> None:
    done = run(tools, "emacs")
    assert done.returncode == 2
    assert "there are: claude-code" in done.stderr
