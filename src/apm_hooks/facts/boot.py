"""What hooks say of the fact index: at a session's start, at a message, at a flush. Pure, for the owner's scope alone.

Text for a model: the same memory and day give the same bytes. An index and a note are content and are fenced by who
injects them; the notices here are ours, and name slugs and paths only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from apm_hooks.facts.claims import review_of
from apm_hooks.facts.model import NOTES, Fact, FactIndex
from apm_hooks.facts.parts import note_path, slug_key, without_code
from apm_hooks.injection import show_invisible
from apm_hooks.records import LIMITS, Route
from apm_hooks.routing import route_message
from apm_hooks.words import words_of

DUE = "[apm-hooks] Read these facts again today, and correct or cut each: {facts}."
DUE_MORE = "{facts} and {number} more"
DUE_ONE = "{slug} ({day})"
OVER_BUDGET = frozenset(("index-too-big", "decisions-too-big", "index-over-share"))

_MOST_DUE = 10


def due_facts(index: FactIndex, today: date) -> tuple[tuple[date, Fact], ...]:
    """The facts that are to be read again by today, with the day, the oldest first."""
    due = []
    for fact in index.facts:
        review = review_of(without_code(fact.body)) if "eview" in fact.body or "EVIEW" in fact.body else None
        if review is not None and review[1] is not None and review[1] <= today:
            due.append((review[1], fact))
    return tuple(sorted(due, key=lambda each: (each[0], each[1].line)))


def due_text(due: Sequence[tuple[date, Fact]]) -> str:
    """One line that names the facts whose review is due; empty for none."""
    if not due:
        return ""
    named = [DUE_ONE.format(slug=show_invisible(fact.slug), day=day.isoformat()) for day, fact in due[:_MOST_DUE]]
    facts = ", ".join(named)
    if len(due) > _MOST_DUE:
        facts = DUE_MORE.format(facts=facts, number=len(due) - _MOST_DUE)
    return DUE.format(facts=facts)


@dataclass(frozen=True, slots=True)
class InPlay:
    """The fact that a message is about, the path of its note in the workspace, and why: the words of the message."""

    fact: Fact
    path: str
    words: tuple[str, ...] = ()


def note_in_play(message: str, index: FactIndex, *, exclude: Collection[str] = ()) -> InPlay | None:
    """The one note that a message brings into play; None for none.

    A fact is in play where the message names its slug (the longest slug that it names, then the first), or else where
    it matches the fact as it would match a row of a routing table. `exclude` holds paths of notes loaded already; a
    fact without a note loads none.
    """
    noted = [
        (fact, f"{NOTES}/{path}") for fact in index.facts if (path := note_path(fact.note)[0] if fact.note else "")
    ]
    if not noted or not message.strip():
        return None
    folded = slug_key(message)
    named = [(fact, path) for fact, path in noted if _names(folded, slug_key(fact.slug))]
    if named:
        fact, path = max(named, key=lambda each: (len(each[0].slug), -each[0].line))
        return None if path in exclude else InPlay(fact, path, (fact.slug,))
    routes = [Route((fact.slug.replace("-", " "), fact.text), path, 0, line=fact.line) for fact, path in noted]
    match = route_message(message, routes[: LIMITS.routes], exclude=exclude)
    if match is None:
        return None
    fact = next(fact for fact, path in noted if (path, fact.line) == (match.route.path, match.route.line))
    return InPlay(fact, match.route.path, match.words)


def _names(message: str, slug: str) -> bool:
    """Whether a folded message holds a slug that is no part of a longer word.

    A slug of one plain word is a word of every day: there the routing decides, unless it is marked as a slug.
    """
    if f"`{slug}`" in message or f"[[{slug}]]" in message:
        return True
    if len(words_of(slug)) < 2 and "-" not in slug:
        return False
    at = message.find(slug)
    while at >= 0:
        before, after = message[at - 1 : at], message[at + len(slug) : at + len(slug) + 1]
        if not _joins(before) and not _joins(after):
            return True
        at = message.find(slug, at + 1)
    return False


def _joins(char: str) -> bool:
    # Scripts without spaces go on behind a slug: 看deploy-window吧.
    return bool(char) and (char in "-_" or (char.isalnum() and char.isascii()))
