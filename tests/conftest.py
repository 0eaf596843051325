from __future__ import annotations

from pathlib import Path

import pytest

from tests.workspaces import Bench, bench


@pytest.fixture
def made(tmp_path: Path) -> Bench:
    """A trusted workspace with the owner's index and attention."""
    return bench(tmp_path)
