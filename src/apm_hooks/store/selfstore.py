"""The agent's own store: notes about itself, in a file of their own, for the owner's local sessions alone.

The wall: it is another file with another engine, so that no call on the user's memories can reach it by a wrong
condition. It is always SQLite, its vectors only from a packaged embedder, and it refuses where the host does not say
that the model is local (record store, rule 8).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Self

from apm_hooks.errors import ScopeError, UsageError
from apm_hooks.store import checks, sqlite_articles
from apm_hooks.store.base import Embedder, Transaction
from apm_hooks.store.items import STORE_LIMITS, Article, Imported, Memory, Recalled, Saved, Selection, Updated
from apm_hooks.store.moments import after, utc_now
from apm_hooks.store.records import RecordStore
from apm_hooks.store.secrets import refuse_secrets
from apm_hooks.store.selftransfer import article_in, article_lines, put_articles
from apm_hooks.store.sqlite import SqliteEngine
from apm_hooks.store.sqlite_transaction import SqliteTransaction

FILE = ".apm/self.db"
LOCAL = "local"
_SCOPE = "self"


def require_local(locality: str, scope: str | None) -> None:
    """Raise ScopeError unless the model is local (`model_locality`, unset: cloud) and the session is the owner's."""
    if locality != LOCAL:
        raise ScopeError(
            "self memory is for local models alone, and this one is not known to be local",
            remedy='Where it is, say so in the settings: model_locality = "local".',
        )
    if scope != "DM":
        raise ScopeError("self memory belongs to the owner's sessions")


@dataclass(frozen=True, slots=True)
class ArticleView:
    """An article as `self_wiki_get` gives it: `stale` where a source is not what it was when this was written."""

    article: Article
    stale: bool


class _SelfRecords(RecordStore):
    """The notes; what they are exported with and take in are the articles too."""

    kind = "self"

    def __init__(
        self, engine: SqliteEngine, scope: str, *, embedder: Embedder | None, clock: Callable[[], datetime]
    ) -> None:
        super().__init__(engine, scope, embedder=embedder, clock=clock)
        self._articles = engine

    def export_lines(self, *, all_scopes: bool = False) -> Iterator[str]:
        """As `RecordStore`, with the articles behind the notes."""
        yield from super().export_lines(all_scopes=all_scopes)
        yield from article_lines(self._articles)

    def import_lines(
        self, lines: Iterable[str], *, all_scopes: bool = False, progress: Callable[[int], None] | None = None
    ) -> Imported:
        """As `RecordStore`. An article whose name is there stays as it is."""
        held: list[tuple[int, dict[str, Any]]] = []

        def notes() -> Iterator[str]:
            headed = False
            for number, line in enumerate(lines, 1):
                # The first line says what follows: an article is none before it.
                fields = article_in(line) if headed else None
                headed = headed or bool(line.strip())
                if fields is not None:
                    held.append((number, fields))
                # A blank line is passed over, and the others keep their numbers.
                yield line if fields is None else ""

        done = super().import_lines(notes(), all_scopes=all_scopes, progress=progress)
        outcomes = put_articles(self._articles, held)
        told = [outcome for _, outcome in outcomes]
        skipped = [each for each in outcomes if each[1] not in ("added", "unchanged")]
        return Imported(
            done.added + told.count("added"), done.unchanged + told.count("unchanged"),
            tuple(sorted([*done.skipped, *skipped])),
        )  # fmt: skip

    def _merged(self, transaction: Transaction, old: str, new: str) -> None:
        if isinstance(transaction, SqliteTransaction):
            sqlite_articles.repoint(transaction, old, new)


class SelfStore:
    """The self tools. Each raises ScopeError where the model is not local, before anything is read."""

    def __init__(
        self, root: str, *, locality: str, scope: str | None, embedder: Embedder | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:  # fmt: skip
        require_local(locality, scope)
        if embedder is not None and not embedder.packaged:
            raise UsageError(
                "self notes never leave this machine, and this embedder sends them",
                remedy="Take the packaged one, or none.",
            )
        self._engine = SqliteEngine(root, FILE)
        self._clock = clock
        self.records = _SelfRecords(self._engine, _SCOPE, embedder=embedder, clock=clock)

    def self_recall(self, query: str | None = None, **options: Any) -> Recalled:
        """As `recall`, on the agent's own notes."""
        return self.records.recall(query, **options)

    def self_remember(self, content: str, **options: Any) -> Saved:
        """As `remember`."""
        return self.records.remember(content, **options)

    def self_update(self, id: str, **options: Any) -> Updated:  # noqa: A002 - the tool's own word
        """As `update_memory`."""
        return self.records.update_memory(id, **options)

    def self_forget(self, id: str) -> bool:  # noqa: A002 - the tool's own word
        """As `forget`. Articles that cite the note are stale from then on."""
        return self.records.forget(id)

    def most_important(self) -> tuple[Memory, ...]:
        """The six notes that a session of the owner's starts with."""
        return tuple(hit.memory for hit in self.records.recall(limit=STORE_LIMITS.self_notes).hits)

    def self_wiki_write(
        self, slug: str, title: str, body_md: str, source_self_memory_ids: Sequence[str]
    ) -> ArticleView:  # fmt: skip
        """Write an article, a new one or a new revision; its sources must all be there. Raises UsageError."""
        name, body, now = checks.slug_of(slug), checks.body_of(body_md), self._clock()
        heading = checks.title_of(title, name)
        refuse_secrets({"title": heading, "body_md": body})
        sources = self._sources(source_self_memory_ids)

        def write(transaction: SqliteTransaction) -> Article:
            found = transaction.get(_selection(now), sources)
            if len(found) != len(sources):
                raise UsageError("a source is not there", key="source_self_memory_ids", remedy="See self_recall.")
            old = sqlite_articles.article(transaction, name)
            article = Article(
                slug=name, title=heading, body=body, sources=sources,
                digest=_digest([each.memory for each in found]),
                revision=old.revision + 1 if old else 1, created_at=old.created_at if old else now,
                updated_at=after(now, old.updated_at) if old else now,
            )  # fmt: skip
            sqlite_articles.put_article(transaction, article)
            return article

        return ArticleView(self._engine.write(write), stale=False)

    def _sources(self, given: Sequence[str]) -> tuple[str, ...]:
        if isinstance(given, str) or not 1 <= len(given) <= STORE_LIMITS.article_sources:
            raise UsageError(
                f"an article has 1 to {STORE_LIMITS.article_sources} sources", key="source_self_memory_ids"
            )
        sources = tuple(dict.fromkeys(checks.id_of(each) for each in given))
        if "" in sources:
            raise UsageError("a source is not there", key="source_self_memory_ids", remedy="See self_recall.")
        return sources

    def self_wiki_get(self, slug: str) -> ArticleView | None:
        """The article of that slug, and whether it is stale; None where there is none."""
        name, now = checks.slug_of(slug), self._clock()

        def read(transaction: SqliteTransaction) -> ArticleView | None:
            article = sqlite_articles.article(transaction, name)
            if article is None:
                return None
            found = [each.memory for each in transaction.get(_selection(now), article.sources)]
            return ArticleView(article, stale=_digest(found) != article.digest)

        return self._engine.read(read)

    def close(self) -> None:
        """Give the engine back."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _selection(now: datetime) -> Selection:
    return Selection(_SCOPE, now)


def _digest(sources: Sequence[Memory]) -> str:
    """A hash of ids and contents: the same again where a source is changed back."""
    made = sha256()
    for memory in sorted(sources, key=lambda each: each.id):
        for text in (memory.id, memory.content):
            data = text.encode("utf-8")
            made.update(len(data).to_bytes(8, "big") + data)
    return made.hexdigest()


def exists(root: str) -> bool:
    """Whether a workspace has a self store: reading it must not make one."""
    return os.path.exists(os.path.join(root, FILE))
