"""What the record store's calls take and give, and what its rules and engines pass each other: records and errors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from apm_hooks.errors import ApmError

TYPES = ("fact", "decision", "preference", "solution", "project", "source", "person")
"""The types of a memory, in the order in which help names them."""


class StoreError(ApmError):
    """The store cannot be opened, read or written: damaged, newer than this program, a server that is not there."""

    exit_code = 5
    code = "store"


class SecretRefusedError(ApmError, ValueError):
    """A text holds what looks like a secret; the error names its kind and the field, never the value."""

    exit_code = 3
    code = "secret-refused"


class EmbedderError(ApmError):
    """A provider of vectors gave none: down, over its limit, or an answer of the wrong shape."""

    exit_code = 5
    code = "embedder"


class Mode(StrEnum):
    """How a recall with a query searches: by both, by meaning alone, or by words alone."""

    AUTO = "auto"
    SEMANTIC = "semantic"
    FULLTEXT = "fulltext"


class Order(StrEnum):
    """How a recall without a query is sorted: importance, then the newest; or the newest first."""

    IMPORTANCE = "importance"
    RECENT = "recent"


@dataclass(frozen=True, slots=True)
class StoreLimits:
    """Sizes, counts and shares of the record store; units stand in the names, as in `records.Limits`."""

    content_bytes: int = 64 * 1024
    title_chars: int = 60
    """Of a title that is made from the first line."""
    given_title_chars: int = 300
    tags: int = 32
    tag_chars: int = 64
    source_chars: int = 200
    query_chars: int = 8_000
    query_words: int = 64
    recall: int = 10
    recall_most: int = 50
    stage: int = 60
    """So many rows at most come out of one stage of retrieval, and into the fusion."""
    fusion: int = 60
    """The constant k of the reciprocal rank fusion."""
    shared_hashes: int = 8
    """So many rows at most are looked at for one hash of a new text, newest first: what makes a write's cost fixed."""
    candidates: int = 6
    """So many rows at most are compared with a new text that share its title or skeleton, and so many that share words
    or direction; those that share the most hashes first."""
    told: int = 5
    """So many ids at most are told for `similar:` and for `contradicts:`."""
    near_overlap: float = 0.8
    """From this share of common words on, two texts are near duplicates."""
    near_cosine: float = 0.97
    merge_threshold: float = 0.97
    backfill: int = 20
    backfill_most: int = 100
    self_notes: int = 6
    purge_rows: int = 20
    """So many expired rows at most are purged by one write."""
    expired_days: int = 30
    """An expired memory is hidden at once, and purged after so many days."""
    page: int = 500
    """Rows in one transaction of an export, an import or a merge."""
    busy_seconds: float = 5.0
    slug_chars: int = 100
    article_bytes: int = 256 * 1024
    article_sources: int = 200


STORE_LIMITS = StoreLimits()


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as it stands. `importance` is 1 to 5; `tags` are sorted, lower-case and hyphenated.

    `updated_at` is when this wording became valid: an update sets it, a backfilled vector does not.
    """

    id: str
    scope: str
    type: str
    title: str
    content: str
    tags: tuple[str, ...]
    importance: int
    source: str
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Version:
    """A wording that is no longer valid: from `memory.updated_at` until `valid_to` it was.

    `owner` is the living memory that it belongs to, and is erased with: its own id, or the survivor's where the memory
    was merged into another one.
    """

    memory: Memory
    valid_to: datetime
    owner: str


@dataclass(frozen=True, slots=True)
class Index:
    """What the rules derive from one wording for an engine to search by.

    `terms` is title and content as index words (see `terms.index_terms`): lower-case, stemmed, without stop words, in
    the text's order, repeated as often as they occur, each of letters and digits only. `hashes` are signed 64-bit
    numbers that texts of one scope share if they may be duplicates, near duplicates or contradictions (see
    `likeness.hashes`); the scope is part of what was hashed. `vector` is None where there is none (yet), and `space`
    is then empty; else `space` is the embedder's signature.
    """

    terms: tuple[str, ...]
    hashes: tuple[int, ...]
    vector: bytes | None = None
    space: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which memories of one scope a primitive may see: a condition inside it, before any order or limit.

    `now` hides what has expired by then (`expires_at <= now`); with `expired` nothing is hidden. `tags` must all be
    there. With `as_of`, the wordings that were valid at that moment take the place of today's (`updated_at <= as_of`,
    and for closed versions `as_of < valid_to`); the caller sets `now` to the same moment.
    """

    scope: str
    now: datetime
    type: str | None = None
    tags: tuple[str, ...] = ()
    min_importance: int = 1
    as_of: datetime | None = None
    expired: bool = False


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row that a search found, best first; `score` is the engine's own measure, or the cosine of a vector search."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Stored:
    """A memory with its vector, where it has one; `terms` are its index words, each at least once, where the primitive
    that gave it had them at hand (`sharing` does if it can: the rules else cut them anew, which costs more)."""

    memory: Memory
    vector: bytes | None = None
    space: str = ""
    terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """One memory that recall shows.

    `similarity` is the cosine between query and memory; None where there is no vector to tell it by: never a number
    made up from a rank.
    """

    memory: Memory
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """What recall found.

    `total` is the number of memories that a listing chose from, None for a search; `more` of them are not shown.
    `always` are those of importance 5 that did not fit into the listing, as id and title. `note` says in words what a
    reader must know to judge the answer, such as that the provider of vectors is down; empty: nothing.
    """

    hits: tuple[Hit, ...]
    total: int | None = None
    more: int = 0
    always: tuple[tuple[str, str], ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Likeness:
    """A stored memory that a new text resembles: id, title, and how alike the two are (0 to 1)."""

    id: str
    title: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Saved:
    """What remember did. `created` is false where the same text was there already: `id` is then that memory's.

    `similar` and `contradicts` name memories for the agent to ask the user about; nothing was changed in them.
    `notes` says what was normalised (tags) or left for later (a vector), a sentence each.
    """

    id: str
    created: bool
    similar: tuple[Likeness, ...] = ()
    contradicts: tuple[Likeness, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Updated:
    """What update_memory did: `found` is false for an id that is not there, `changed` names the fields it changed."""

    id: str
    found: bool
    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories that are one: `keep` stays, `drop` is merged into it; `merged` is true where that was done."""

    keep: Memory
    drop: Memory
    similarity: float
    merged: bool = False


@dataclass(frozen=True, slots=True)
class Backfilled:
    """What a backfill did: memories given a vector, those whose vector failed, and those still without."""

    embedded: int
    failed: int
    remaining: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: `added`, `unchanged` (the id was there), and the lines that were skipped, each with why."""

    added: int
    unchanged: int
    skipped: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Article:
    """A self-wiki article. `digest` is the hash of its sources' ids and contents when it was written."""

    slug: str
    title: str
    body: str
    sources: tuple[str, ...]
    digest: str
    revision: int
    created_at: datetime
    updated_at: datetime


class Unset(StrEnum):
    """The value of an argument that was not given, where None means something else."""

    UNSET = "unset"


UNSET = Unset.UNSET
