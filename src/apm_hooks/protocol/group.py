"""A group's memory in five steps (protocol, section 5)."""

from __future__ import annotations

from apm_hooks import texts
from apm_hooks.index import parse_index
from apm_hooks.protocol.loading import Loading
from apm_hooks.records import Scope, Step


def load_start(loading: Loading, scope: Scope, mapped_id: str) -> None:
    """Steps 0 and 1: a session start has no message to route.

    A mapped group without an index gets a short first-join notice and nothing else (protocol, section 3).
    """
    path = scope.index_path
    loading.steps.append(Step("0 map", "", "mapped", f"{mapped_id} is {scope.name}"))
    found = loading.read("1 index", path)
    if found is None:
        if loading.steps[-1].verdict == "absent":
            loading.say("1 index", texts.FIRST_JOIN.format(path=path))
        return
    index = parse_index(found.text, scope)
    if index.budget_tokens is not None:
        loading.budget = index.budget_tokens
    loading.add("1 index", "index", path, found, more_to_come=True)
