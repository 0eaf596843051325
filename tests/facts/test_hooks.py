"""The definition for pre-commit and the CI example of the documentation, run as those who read them run them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.facts.memories import GOOD, lay_out

ROOT = Path(__file__).parents[2]
WRONG = "- **`wrong`** · It has no consequence."


def environment(home: Path) -> dict[str, str]:
    folder = str(Path(sys.executable).parent)
    return {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }  # fmt: skip


def git(repository: Path, *words: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(["git", *words], cwd=repository, env=environment(repository.parent), capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository with an index of one good fact, committed."""
    made = lay_out(tmp_path / "bot", {"memory/INDEX.md": f"# Facts\n\n{GOOD}\n"})
    git(made, "init", "--quiet", "--initial-branch", "main")
    git(made, "add", "--all")
    git(made, "commit", "--quiet", "--message", "Facts")
    return made


@pytest.fixture(scope="module")
def hook() -> dict[str, Any]:
    (defined,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert isinstance(defined, dict)
    return defined


def install(repository: Path, hook: dict[str, Any]) -> None:
    """Run the hook's entry before each commit, from the repository's root and without file names, as pre-commit does
    with a hook that always runs."""
    assert hook["always_run"] is True
    assert hook["pass_filenames"] is False
    script = repository / ".git/hooks/pre-commit"
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!/bin/sh\nexec {hook['entry']}\n")
    script.chmod(0o755)


def test_the_definition_has_what_pre_commit_asks_for(hook: dict[str, Any]) -> None:
    assert {"id", "name", "entry", "language"} <= set(hook)
    assert hook["language"] == "python"
    assert re.fullmatch(r"[a-z-]+", hook["id"])


def test_pre_commit_itself_installs_and_runs_it(repository: Path, hook: dict[str, Any], tmp_path: Path) -> None:
    """The program takes the definition from a commit of this repository, and makes an environment of its own for it."""
    env = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache"), "GIT_CONFIG_NOSYSTEM": "1"}
    words = [sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), hook["id"], "--all-files"]

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=repository, env=env, capture_output=True, text=True, check=False, timeout=600)

    passed = run()
    assert (passed.returncode, "Passed" in passed.stdout) == (0, True), passed.stdout + passed.stderr
    lay_out(repository, {"memory/INDEX.md": f"{GOOD}\n{WRONG}\n"})
    git(repository, "add", "--all")
    stopped = run()
    assert stopped.returncode == 1, stopped.stdout + stopped.stderr
    assert "memory/INDEX.md:2:17: error: wrong says nothing of what it changes" in stopped.stdout


def test_a_commit_with_an_error_is_stopped(repository: Path, hook: dict[str, Any]) -> None:
    install(repository, hook)
    lay_out(repository, {"memory/INDEX.md": f"{GOOD}\n{WRONG}\n"})
    git(repository, "add", "--all")
    said = git(repository, "commit", "--message", "x", code=1)
    assert "memory/INDEX.md:2:17: error: wrong says nothing of what it changes" in said.stdout + said.stderr
    lay_out(repository, {"memory/INDEX.md": f"{GOOD}\n{WRONG} **So:** now it has.\n"})
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "x")


def test_a_warning_does_not_stop_a_commit(repository: Path, hook: dict[str, Any]) -> None:
    install(repository, hook)
    lay_out(repository, {"memory/notes/alone.md": "# alone\n"})
    git(repository, "add", "--all")
    said = git(repository, "commit", "--message", "x")
    assert "orphaned-note" in said.stdout + said.stderr


def test_a_commit_that_only_deletes_a_note_is_looked_at(repository: Path, hook: dict[str, Any]) -> None:
    lay_out(repository, {"memory/INDEX.md": f"{GOOD} · [note](notes/good.md)\n", "memory/notes/good.md": "# good\n"})
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "x")
    install(repository, hook)
    git(repository, "rm", "--quiet", "memory/notes/good.md")
    said = git(repository, "commit", "--message", "x", code=1)
    assert "dangling-note" in said.stdout + said.stderr


def test_the_hook_needs_the_core_install_only(repository: Path, hook: dict[str, Any]) -> None:
    blocked = "import sys; sys.modules.update(yaml=None, rich=None); from apm_hooks.cli import main; sys.exit(main())"
    words = shlex.split(hook["entry"])[1:]
    for more in ([], ["--format", "json"]):
        done = subprocess.run([sys.executable, "-c", blocked, *words, *more], cwd=repository, check=False,
                              env=environment(repository.parent), capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr


def blocks(kind: str) -> list[str]:
    page = (ROOT / "docs" / "facts.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def test_the_configuration_that_is_shown_names_the_hook(hook: dict[str, Any]) -> None:
    (shown,) = [
        found for text in blocks("yaml") if isinstance(found := yaml.safe_load(text), dict) and "repos" in found
    ]
    (repo,) = shown["repos"]
    assert [each["id"] for each in repo["hooks"]] == [hook["id"]]


@pytest.mark.parametrize(("lines", "code"), [((GOOD,), 0), ((GOOD, WRONG), 1)])
def test_the_check_that_is_shown_runs(repository: Path, lines: tuple[str, ...], code: int) -> None:
    (shown,) = [found for text in blocks("yaml") if isinstance(found := yaml.safe_load(text), dict) and "jobs" in found]
    (job,) = shown["jobs"].values()
    commands = [step["run"] for step in job["steps"] if "run" in step]
    installs, *checks = commands
    assert installs == "pip install 'apm-hooks[facts]'"
    assert checks
    lay_out(repository, {"memory/INDEX.md": "\n".join(lines) + "\n"})
    git(repository, "commit", "--quiet", "--all", "--allow-empty", "--message", "x")
    clone = repository.parent / "clone"
    git(repository, "clone", "--quiet", ".", str(clone))
    codes = []
    for command in checks:
        done = subprocess.run(["bash", "-e", "-c", command], cwd=clone, env=environment(repository.parent),
                              capture_output=True, text=True, check=False)  # fmt: skip
        codes.append(done.returncode)
        assert done.returncode in (0, 1), done.stderr
        assert ("::error file=memory/INDEX.md,line=2,col=17,title=no-consequence::" in done.stdout) is bool(code)
    assert max(codes) == code
