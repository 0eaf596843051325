"""Turns without a gateway (`openclaw agent --local`), which load the plugin and no hook pack."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..workspace import DM_LONGTERM, HARBOUR, Workspace
from .host import OpenClaw, Program
from .lab import DM_START, call
from .model import FakeModel
from .network import Network
from .telegram import FakeTelegram

pytestmark = pytest.mark.host


@pytest.fixture(scope="module")
def local(
    openclaw: Program, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[OpenClaw]:
    """OpenClaw with our plugin, a workspace with one owner and a mapped group, and no gateway."""
    folder = tmp_path_factory.mktemp("openclaw-local")
    with (
        Network(2) as network,
        FakeModel(network.sockets[0], folder / "requests") as model,
        FakeTelegram(network.sockets[1]) as telegram,
    ):
        host = OpenClaw(openclaw, folder, network, model, telegram)
        request.addfinalizer(host.close)
        host.configure(channels={"telegram": {"dmPolicy": "allowlist", "allowFrom": ["7001"]}})
        Workspace(host.workspace).write()
        host.apm("init", "--workspace", str(host.workspace))
        host.apm("install", "openclaw", "--workspace", str(host.workspace), "--host-flush", "off")
        yield host


@pytest.fixture(scope="module")
def memory(local: OpenClaw) -> Workspace:
    """The canaries of the workspace, read back from its files."""
    made = Workspace(local.workspace)
    for file in (local.workspace / "memory").rglob("*.md"):
        words = [word.strip(".") for word in file.read_text("utf-8").split() if word.startswith("canary")]
        if words:
            made.canaries[file.relative_to(local.workspace).as_posix()] = words[0]
    return made


def test_the_installer_names_the_one_allowed_sender_the_owner(local: OpenClaw) -> None:
    assert '"telegram:7001"' in (local.workspace / "apm.toml").read_text("utf-8")
    assert local.config["agents"]["defaults"]["compaction"]["memoryFlush"]["enabled"] is False


def test_a_local_turn_of_the_owner_has_memory(local: OpenClaw, memory: Workspace) -> None:
    turn = local.local("agent:main:main", f"Look.\n{call('read', path=DM_LONGTERM)}::say done")
    assert memory.seen_in(turn.main[:1]) >= DM_START
    assert memory.canaries[DM_LONGTERM] in turn.main[-1].tool_results[0]


def test_a_local_turn_in_a_groups_session_has_the_groups(local: OpenClaw, memory: Workspace) -> None:
    turn = local.local(HARBOUR.key, f"Look.\n{call('read', path=DM_LONGTERM)}::say done")
    assert len(turn.main[-1].tool_results) == 1
    assert memory.seen_in(turn.requests) == {HARBOUR.index}
