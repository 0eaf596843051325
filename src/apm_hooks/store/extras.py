"""Libraries that an extra of this package brings: imported where they are needed, and missed in words."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from apm_hooks.store.items import StoreError


def library(name: str, extra: str) -> Any:
    """A module of the extra `extra`; raises StoreError that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise StoreError(
            f"{name.partition('.')[0]} is needed, and cannot be imported",
            remedy=f'Install it: pip install "apm-hooks[{extra}]"',
        ) from error
