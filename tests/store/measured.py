"""The modules in `benchmarks/` that tests share: the labelled corpora and the workload."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


def module(name: str) -> Any:
    """`benchmarks/NAME.py`."""
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by its name.
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded
