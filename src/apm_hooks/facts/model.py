"""What a fact index holds, parsed. Lines and columns count from 1; columns are code points of the decoded line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

INDEX = "memory/INDEX.md"
NOTES = "memory/notes"
DECISIONS = "log/decisions.md"
IDEAS = "strategy/ideas.md"
CUTS = "log/cuts.md"

PROVENANCES = ("will", "measured", "derived")
"""A human ruled it, it was measured, or it was derived from other facts."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact: `` - **`slug`** · [provenance] text **So:** consequence · [note](target) ``.

    `provenance` and `note` (the link's target as written) may be empty; `consequence` is None where there is no `So:`,
    and empty where nothing stands behind it. `chars` is the length of the whole line, `section` the title of the `## `
    heading above. `links` are targets of further links into `notes/`, `more` the columns of every other `So:`.
    """

    line: int
    slug: str
    provenance: str = ""
    text: str = ""
    consequence: str | None = None
    note: str = ""
    section: str = ""
    chars: int = 0
    slug_column: int = 6
    provenance_column: int = 0
    text_column: int = 0
    so_column: int = 0
    consequence_column: int = 0
    note_column: int = 0
    links: tuple[tuple[int, str], ...] = ()
    more: tuple[int, ...] = ()

    @property
    def body(self) -> str:
        """All that the fact says: its text and what it changes."""
        return f"{self.text} {self.consequence or ''}"


@dataclass(frozen=True, slots=True)
class Miss:
    """A line that looks like a fact and is none: where the first thing is wrong, what, and what to do about it.

    `slug` and `note` are what it would have, where that can be told.
    """

    line: int
    column: int
    sentence: str
    remedy: str
    slug: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class FactIndex:
    """An index, parsed: its facts and near misses in line order, and its `## ` headings as (line, title)."""

    facts: tuple[Fact, ...] = ()
    misses: tuple[Miss, ...] = ()
    sections: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Budgets:
    """What memory may cost; more than that is a finding. `_kb` are units of 1024 bytes, `max_fact_chars` code points.

    `max_index_tokens` is None where no budget in tokens is set.
    """

    max_fact_chars: float = 400
    max_index_kb: float = 24
    max_decisions_kb: float = 24
    max_index_tokens: float | None = None


BUDGETS = Budgets()
"""What holds where nothing is set."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note of `memory/notes/`: its path in the member's directory, its text (None: not to be read), and what is wrong
    with the file itself, in words (empty: nothing)."""

    path: str
    text: str | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What the linter looks at, of one member; sizes are bytes on disk.

    A text is None where there is no such file; `problems` says by path why one that is there cannot be read.
    """

    index: str | None = None
    index_bytes: int = 0
    notes: Mapping[str, Note] = field(default_factory=dict)
    decisions: str | None = None
    decisions_bytes: int = 0
    ideas: str | None = None
    problems: Mapping[str, str] = field(default_factory=dict)
