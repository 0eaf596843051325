"""The gateway that all tests here share, and its log where one of them fails."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from ..workspace import Workspace
from .host import OpenClaw, Program, find_program
from .lab import GROUPS, OWNERS, Lab
from .model import FakeModel
from .network import Network
from .telegram import FakeTelegram

_SHOWN = 6_000


@pytest.fixture(scope="session")
def openclaw() -> Program:
    """The installed OpenClaw; without it every test here fails and says how to get it."""
    return find_program()


@pytest.fixture(scope="session")
def claw(openclaw: Program, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenClaw]:
    """OpenClaw with its two fakes, not started."""
    folder = tmp_path_factory.mktemp("openclaw")
    with (
        Network(2) as network,
        FakeModel(network.sockets[0], folder / "requests") as model,
        FakeTelegram(network.sockets[1]) as telegram,
    ):
        host = OpenClaw(openclaw, folder, network, model, telegram)
        try:
            yield host
        finally:
            host.close()
        assert model.faults == []


@pytest.fixture(scope="session")
def lab(claw: OpenClaw) -> Iterator[Lab]:
    """The gateway running with our hooks over a trusted workspace; each private chat is a session of its own.

    At the end no request of any test may have held another scope's memory.
    """
    claw.configure(session={"dmScope": "per-channel-peer"})
    memory = Workspace(claw.workspace)
    memory.write(GROUPS, GROUPS, f"owner_peers = {[str(peer) for peer in OWNERS]}\n".replace("'", '"'))
    for day in {datetime.now(zone).date() for zone in (UTC, ZoneInfo("Europe/Oslo"))}:
        note = f"memory/{day}.md"
        (claw.workspace / note).write_text(f"# {day}\n\n- {memory.canary(note)}\n", "utf-8")
    (claw.workspace / "AGENTS.md").write_text("# Agents\n\nYou help a harbour.\n", "utf-8")
    claw.apm("init", "--workspace", str(claw.workspace))
    claw.apm("install", "openclaw", "--workspace", str(claw.workspace), "--host-flush", "keep")
    claw.start()
    made = Lab(claw, memory)
    yield made
    assert made.strangers_told() == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    claw = getattr(item, "funcargs", {}).get("claw") or getattr(getattr(item, "funcargs", {}).get("lab"), "host", None)
    if report.failed and isinstance(claw, OpenClaw):
        lines = [line for line in claw.log().splitlines() if "[diag]" not in line]
        report.sections.append(("the gateway's log", "\n".join(lines)[-_SHOWN:]))
    return report
