"""How many files an epoch may load, explicit reads included (protocol, section 5): pure counting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

INDEX = "index"
NOTE = "note"
SUB_FILE = "L3"

GROUP_P_FILES = 2
GROUP_PEOPLE = 1
GROUP_SUB_FILES = 1
DM_P_FILES = 2


def layer_of(priority: int, *, sub_file: bool) -> str:
    """The layer that a route's file is loaded as: `P0` to `P3`, or `L3` for a sub-file."""
    return SUB_FILE if sub_file else f"P{priority}"


def group_may_load(layers: Sequence[str], layer: str) -> bool:
    """True where an epoch that has loaded `layers` may load one more of `layer`: two of P0-P2, one P3, one sub-file."""
    count = Counter(layers)
    if layer == SUB_FILE:
        return count[SUB_FILE] < GROUP_SUB_FILES
    if layer == "P3":
        return count["P3"] < GROUP_PEOPLE
    return count["P0"] + count["P1"] + count["P2"] < GROUP_P_FILES


def dm_may_load(layers: Sequence[str]) -> bool:
    """True where the owner's epoch may load one more P-file: two besides the index."""
    return sum(layer.startswith("P") for layer in layers) < DM_P_FILES
