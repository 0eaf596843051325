"""The owner's memory in three layers (protocol, section 6): 0 the index, 1 attention, 2 one more file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta

from apm_hooks import texts
from apm_hooks.events import IntentQuery
from apm_hooks.index import parse_index
from apm_hooks.protocol.ceiling import INDEX, NOTE, dm_may_load, layer_of
from apm_hooks.protocol.group import Matcher, has_index, spend
from apm_hooks.protocol.loading import Loading
from apm_hooks.records import DM

ATTENTION = "memory/main/attention.md"
LONGTERM = "memory/main/longterm.md"
NOTES_SHARE = 1 / 3


def load_start(
    loading: Loading, today: date, last_flush: Callable[[], str], *, message_events: bool,
    pending: Callable[[], Sequence[str]] = tuple, portion: float = 1.0,
) -> None:  # fmt: skip
    """Layers 0 and 1, the notes of today and yesterday, and the line on the last flush, which `last_flush()` gives.

    What `pending()` gives, left to be settled by earlier flushes, stands before all. `portion` is the part of budget
    and caps that is theirs. Without an index there is nothing but a short notice that memory is not initialised, and
    how. A host that fires no message events gets layer 2 at once: the long-term file.
    """
    found = loading.read("layer 0", DM.index_path)
    if found is None:
        if loading.steps[-1].verdict == "absent":
            loading.say("layer 0", texts.DM_NOT_INITIALISED)
            loading.tell("pending", pending())
        return
    loading.take_budget(parse_index(found.text, DM))
    if portion < 1:
        loading.portion = loading.shares(portion)
    loading.tell("pending", pending())
    if not loading.add("layer 0", INDEX, DM.index_path, found, more_to_come=True):
        spend(loading)
        return
    _load(loading, "layer 1", "P0", ATTENTION)
    if not message_events:
        _load(loading, "layer 2", "P1", LONGTERM)
    _load_notes(loading, today)
    # Before the line on the last flush: what is kept back of the budget is kept for this one.
    spend(loading)
    loading.say("last flush", last_flush())


def load_message(
    loading: Loading, message: str, loaded: Sequence[tuple[str, str]], match_intent: Matcher, *,
    portion: float = 1.0, beside: int = 0,
) -> bool:  # fmt: skip
    """Layer 2: the first message that matches a file not loaded yet loads it; `loaded` are the epoch's files so far.

    `portion` is the part of the budget that is theirs; of what the epoch has spent, `beside` tokens are not theirs.

    True where automatic loading is done for the epoch.
    """
    found = loading.read("layer 0", DM.index_path)
    if found is None:
        return False
    index = parse_index(found.text, DM)
    loading.take_budget(index)
    if not has_index(loading, DM, found, loaded):
        return spend(loading)
    if portion < 1:
        loading.portion = [max(int(loading.budget * portion) - max(loading.spent_before - beside, 0), 0)]
    seen = {path.removeprefix(f"{DM.directory}/") for path, _ in loaded}
    layers = [layer for _, layer in loaded]
    while (match := match_intent(IntentQuery(message, index.routes, frozenset(seen)))) is not None:
        seen.add(match.route.path)
        path = f"{DM.directory}/{match.route.path}"
        loading.note("layer 2", path, "matched", texts.matched(match.words, match.score))
        if not dm_may_load(layers):
            loading.note("layer 2", path, "skipped", texts.SKIP_CEILING)
            return True
        file = loading.read("layer 2", path)
        if file is not None:
            layer = layer_of(match.route.priority, sub_file=False)
            return loading.add("layer 2", layer, path, file, more_to_come=True, alone=True) or spend(loading)
    if not any(step.verdict == "matched" for step in loading.steps):
        loading.note("layer 2", "", "nothing", texts.NO_ROUTE)
    return False


def _load(loading: Loading, step: str, layer: str, path: str) -> None:
    if loading.tripped:
        return
    found = loading.read(step, path)
    if found is not None:
        loading.add(step, layer, path, found, more_to_come=True)


def _load_notes(loading: Loading, today: date) -> None:
    """Today's and yesterday's notes, by calendar day, both together within a third of the budget."""
    share = loading.shares(NOTES_SHARE)
    for day in (today, today - timedelta(days=1)):
        if loading.tripped:
            return
        path = f"memory/{day.isoformat()}.md"
        found = loading.read("daily note", path)
        if found is not None:
            loading.add("daily note", NOTE, path, found, more_to_come=True, share=share)
