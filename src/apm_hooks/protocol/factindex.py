"""The fact index in the owner's session: its lines at the start, and the note of the fact that a message is about.

Both within the index's own share of the budget (protocol, section 7), after the progressive files. A note is loaded
only when its fact is in play, one an epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from apm_hooks import texts
from apm_hooks.errors import MemoryFileError
from apm_hooks.facts.boot import due_facts, due_text, note_in_play
from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.model import INDEX
from apm_hooks.files import MemoryText, read_text
from apm_hooks.protocol.loading import Loading

LAYER = "facts"
NOTE_LAYER = "fact note"


def load_start(loading: Loading, today: date, *, more_to_come: bool) -> None:
    """The facts whose review is due, and the index, within its share; with what the progressive files did not use where
    no more of them will come."""
    loading.portion = ()
    found = loading.read(LAYER, INDEX)
    if found is None or loading.tripped:
        return
    share = loading.shares(loading.limits.facts_share)
    if not more_to_come:
        unused = int(loading.budget * loading.limits.progressive_share) - loading.spent_before - loading.spent()
        share[0] += max(unused, 0)
    due = due_text(due_facts(parse_facts(found.text), today))
    if due:
        loading.say(LAYER, due)
    loading.add(LAYER, LAYER, INDEX, found, more_to_come=False, share=share, trips=False)


def load_message(loading: Loading, message: str, loaded: Sequence[tuple[str, str]]) -> bool:
    """The one note that a message brings into play. True where no later message can load one."""
    loading.portion = ()
    if any(layer == NOTE_LAYER for _, layer in loaded):
        return True
    found = loading.read(LAYER, INDEX)
    if found is None:
        return True
    play = note_in_play(message, parse_facts(found.text))
    if play is None:
        return False
    loading.note(LAYER, play.path, "matched", texts.FACT.format(slug=play.fact.slug, words=", ".join(play.words)))
    note = loading.read(LAYER, play.path)
    share = loading.shares(loading.limits.facts_share)
    return note is not None and loading.add(
        LAYER, NOTE_LAYER, play.path, note, more_to_come=False, alone=True, share=share, trips=False
    )


def cost(root: str, loaded: Sequence[tuple[str, str]], budget: int, count: Callable[[str], int], share: float) -> int:
    """About how many tokens of an epoch's budget the index has taken: of what an epoch has spent, only the sum is
    known."""
    if INDEX not in {path for path, _ in loaded}:
        return 0
    try:
        found: MemoryText | None = read_text(root, INDEX)
    except MemoryFileError:
        found = None
    return min(count(found.text), int(budget * share)) if found is not None else 0
