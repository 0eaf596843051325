"""The pieces that a host test is made of, each with a folder of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .claude import Claude, Program, find_program
from .fake_anthropic import FakeAnthropic
from .workspace import PORT, Workspace, apm_hooks

_OURS_IN_HOME = (".config/apm-hooks", ".cache/apm-hooks", ".local/state/apm-hooks")


@pytest.fixture(scope="session")
def program() -> Program:
    """The installed Claude Code; without it every host test fails and says how to get it."""
    return find_program()


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeAnthropic]:
    with FakeAnthropic(tmp_path / "requests") as endpoint:
        yield endpoint


@pytest.fixture
def claude(program: Program, fake: FakeAnthropic, tmp_path: Path) -> Claude:
    return Claude(program, tmp_path, fake)


@pytest.fixture
def workspace(claude: Claude, tmp_path: Path) -> Iterator[Workspace]:
    """The project as a trusted workspace without hooks; afterwards nothing of ours may lie elsewhere."""
    made = Workspace(claude.project)
    made.write()
    apm_hooks(claude, "init", "--workspace", str(made.root))
    apm_hooks(claude, "group", "add", PORT.name, "--id", PORT.id, "--workspace", str(made.root))
    made.remember_files()
    yield made
    assert made.strays() == []
    strangers = [path for path in claude.tmp.rglob("*") if "apm" in path.name]
    strangers += [path for path in claude.home.rglob("*apm*") if not _belongs(path.relative_to(claude.home))]
    assert strangers == []
    assert {path.name for path in tmp_path.iterdir()} <= {"home", "project", "tmp", "requests", "clone"}


def _belongs(path: Path) -> bool:
    """Whether a path below HOME is one of ours that has its place there, or the host's own."""
    return path.as_posix().startswith((*_OURS_IN_HOME, ".claude/", ".claude.json"))


@pytest.fixture
def hooked(claude: Claude, workspace: Workspace) -> Workspace:
    """The trusted workspace, with our hooks in the user's settings."""
    apm_hooks(claude, "install", "claude-code", "--scope", "user")
    return workspace
