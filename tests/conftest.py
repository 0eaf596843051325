from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.workspaces import Bench, bench

# How long an example takes says something of the machine, and nothing of the code.
settings.register_profile("unhurried", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")


@pytest.fixture
def made(tmp_path: Path) -> Bench:
    """A trusted workspace with the owner's index and attention."""
    return bench(tmp_path)
