"""The owner's memory in three layers (protocol, section 6)."""

from __future__ import annotations

from collections.abc import Callable

from apm_hooks import texts
from apm_hooks.index import parse_index
from apm_hooks.protocol.loading import Loading
from apm_hooks.records import DM


def load_start(loading: Loading, last_flush: Callable[[], str]) -> None:
    """Layers 0 and 1, then the line on the last flush. `last_flush()` gives that line's text.

    Without an index there is nothing but a short notice that memory is not initialised, and how.
    """
    found = loading.read("layer 0", DM.index_path)
    if found is None:
        if loading.steps[-1].verdict == "absent":
            loading.say("layer 0", texts.DM_NOT_INITIALISED)
        return
    index = parse_index(found.text, DM)
    if index.budget_tokens is not None:
        loading.budget = index.budget_tokens
    loading.add("layer 0", "index", DM.index_path, found, more_to_come=True)
    attention = loading.read("layer 1", "memory/main/attention.md")
    if attention is not None:
        loading.add("layer 1", "attention", "memory/main/attention.md", attention, more_to_come=True)
    loading.say("last flush", last_flush())
