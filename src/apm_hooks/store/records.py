"""The rules of the record store, on whatever engine: remember, update, forget, and whose memory it is."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from time import monotonic
from typing import Self

from apm_hooks.errors import ScopeError, UsageError
from apm_hooks.store import backfilling, checks, merging, recalling, transfer
from apm_hooks.store.base import Embedder, Engine, Transaction
from apm_hooks.store.comparing import compare, kept_apart
from apm_hooks.store.indexing import Vectors, index_of, text_of
from apm_hooks.store.items import (
    STORE_LIMITS,
    UNSET,
    Backfilled,
    Imported,
    Memory,
    Mode,
    Order,
    Pair,
    Recalled,
    Saved,
    Selection,
    StoreError,
    Unset,
    Updated,
    Version,
)
from apm_hooks.store.moments import after, utc_now
from apm_hooks.store.secrets import refuse_secrets, refuse_together
from apm_hooks.store.terms import index_terms


class RecordStore:
    """The calls of `base.Store`, bound to one session's scope.

    `scope` is the text of the session's scope; None for a session that has none, whose every call raises ScopeError.
    """

    kind = "memories"
    """What an export says it holds: user memories and the agent's own notes are never taken for each other."""

    def __init__(
        self,
        engine: Engine,
        scope: str | None,
        *,
        embedder: Embedder | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._engine = engine
        self._scope = scope
        self._vectors = Vectors(embedder)
        self._clock = clock

    def _mine(self) -> str:
        if self._scope is None:
            raise ScopeError("this session has no memory", remedy="Name the session that it belongs to.")
        return self._scope

    def _selection(self) -> Selection:
        return Selection(self._mine(), self._clock())

    def recall(
        self,
        query: str | None = None,
        *,
        type: str | None = None,  # noqa: A002 - the tool's own word
        tags: Sequence[str] = (),
        limit: int = STORE_LIMITS.recall,
        mode: str = Mode.AUTO,
        min_importance: int = 1,
        as_of: str | None = None,
        order: str = Order.IMPORTANCE,
    ) -> Recalled:
        """See `base.Store`: fused hits for a query, the most important memories without one."""
        selection = self._selection()
        moment = None if as_of is None else checks.moment_of(as_of, "as_of")
        selection = replace(
            selection,
            type=None if type is None else checks.type_of(type),
            tags=checks.tags_of(tags)[0],
            min_importance=checks.importance_of(min_importance, "min_importance"),
            as_of=moment,
            now=selection.now if moment is None else moment,
        )
        most = checks.whole(limit, "limit", 1, STORE_LIMITS.recall_most)
        how, sort = checks.mode_of(mode), checks.order_of(order)
        if query is None:
            return self._engine.read(lambda transaction: recalling.cold_start(transaction, selection, sort, most))
        if not isinstance(query, str):
            raise UsageError("query is a text", key="query")
        return recalling.search(self._engine, self._vectors, query, selection, how, most)

    def remember(
        self,
        content: str,
        *,
        title: str | None = None,
        type: str = "fact",  # noqa: A002 - the tool's own word
        importance: int = 3,
        tags: Sequence[str] = (),
        expires_at: str | None = None,
        source: str = "agent",
    ) -> Saved:
        """See `base.Store`. What the text resembles is looked up in the transaction that saves it."""
        scope, now = self._mine(), self._clock()
        text = checks.content_of(content)
        labels, note = checks.tags_of(tags)
        memory = Memory(
            id=str(uuid.uuid4()), scope=scope, type=checks.type_of(type), title=checks.title_of(title, text),
            content=text, tags=labels, importance=checks.importance_of(importance), source=checks.source_of(source),
            expires_at=checks.expiry_of(expires_at, now), created_at=now, updated_at=now,
        )  # fmt: skip
        refuse_secrets({"content": text, "title": memory.title, "tags": " ".join(labels), "source": memory.source})
        refuse_together(memory.title, text)
        vector, late = self._vectors.of(text_of(memory))
        notes = tuple(filter(None, (note, late)))
        index = index_of(memory, vector, self._vectors.space)

        def save(transaction: Transaction) -> Saved:
            self._purge_some(transaction, now)
            same, similar, against = compare(transaction, memory, index, now)
            if same is not None:
                return Saved(same.id, created=False, notes=(*notes, *kept_apart(same, memory)))
            transaction.insert(memory, index)
            self._vectors.adopt(transaction, scope)
            return Saved(memory.id, created=True, similar=similar, contradicts=against, notes=notes)

        return self._engine.write(save)

    def _purge_some(self, transaction: Transaction, now: datetime) -> int:
        before = now - timedelta(days=STORE_LIMITS.expired_days)
        over = transaction.expired(before, STORE_LIMITS.purge_rows)
        return sum(transaction.remove(scope, [each]) for scope, each in over)

    def purge(self) -> int:
        """Erase what expired more than 30 days ago, in every scope; how many there were. For the operator's upkeep: a
        few are purged by each write anyway."""
        self._mine()
        total = 0
        while count := self._engine.write(lambda transaction: self._purge_some(transaction, self._clock())):
            total += count
        if total:
            self._engine.erase()
        return total

    def update_memory(
        self,
        id: str,  # noqa: A002 - the tool's own word
        *,
        title: str | None = None,
        content: str | None = None,
        tags: Sequence[str] | None = None,
        importance: int | None = None,
        type: str | None = None,  # noqa: A002 - the tool's own word
        expires_at: str | Unset | None = UNSET,
    ) -> Updated:
        """See `base.Store`. The vector is made before the transaction; where another writer came first, again."""
        selection = self._selection()
        wanted, note = self._wanted(title, content, tags, importance, type, expires_at, selection.now)
        refuse_secrets({key: str(value) for key, value in wanted.items() if key in ("content", "title", "tags")})
        each = checks.id_of(id)
        until = monotonic() + STORE_LIMITS.busy_seconds
        while True:
            found = self._engine.read(lambda transaction: transaction.get(selection, [each])) if each else []
            if not found:
                return Updated(id, found=False)
            done = self._update(found[0].memory, wanted, selection, note)
            if done is not None:
                return done
            if monotonic() > until:
                raise StoreError("this memory keeps being changed by others", remedy="Try again later.")

    def _wanted(
        self,
        title: str | None,
        content: str | None,
        tags: Sequence[str] | None,
        importance: int | None,
        kind: str | None,
        expires_at: str | Unset | None,
        now: datetime,
    ) -> tuple[dict[str, object], str]:
        """The fields that were given, checked, and what was normalised in them."""
        wanted: dict[str, object] = {}
        note = ""
        if content is not None:
            wanted["content"] = checks.content_of(content)
        if title is not None:
            # A blank one is made from the content, which is known where the memory is.
            wanted["title"] = checks.title_of(title, "")
        if tags is not None:
            wanted["tags"], note = checks.tags_of(tags)
        if importance is not None:
            wanted["importance"] = checks.importance_of(importance)
        if kind is not None:
            wanted["type"] = checks.type_of(kind)
        if not isinstance(expires_at, Unset):
            wanted["expires_at"] = checks.expiry_of(expires_at, now)
        return wanted, note

    def _update(
        self, old: Memory, wanted: dict[str, object], selection: Selection, note: str
    ) -> Updated | None:  # fmt: skip
        """The change of one memory; None where it is not the one that was read any more."""
        fields = dict(wanted)
        derived = "content" in fields and "title" not in fields and old.title == checks.title_of(None, old.content)
        if derived or fields.get("title") == "":
            fields["title"] = checks.title_of(None, str(fields.get("content", old.content)))
        new = replace(old, **fields)  # type: ignore[arg-type]
        changed = tuple(name for name in fields if getattr(new, name) != getattr(old, name))
        if not changed:
            return Updated(old.id, found=True)
        if "title" in changed or "content" in changed:
            refuse_together(new.title, new.content)
        new = replace(new, updated_at=after(selection.now, old.updated_at))
        index, late = None, ""
        if text_of(new) != text_of(old) or new.title != old.title:
            vector, late = self._vectors.of(text_of(new))
            index = index_of(new, vector, self._vectors.space)

        def change(transaction: Transaction) -> bool:
            found = transaction.get(selection, [old.id])
            if not found or found[0].memory != old:
                return False
            transaction.close_version(Version(old, new.updated_at, old.id), index_terms(text_of(old)))
            transaction.update(new, index)
            if index is not None and index.vector is not None:
                self._vectors.adopt(transaction, old.scope)
            return True

        if not self._engine.write(change):
            return None
        return Updated(old.id, found=True, changed=changed, notes=tuple(filter(None, (note, late))))

    def forget(self, id: str) -> bool:  # noqa: A002 - the tool's own word
        """See `base.Store`: the row, its words, hashes, vector and history, and the bytes that they were on disk."""
        scope, each = self._mine(), checks.id_of(id)
        if not each or not self._engine.write(lambda transaction: transaction.remove(scope, [each])):
            return False
        self._engine.erase()
        return True

    def history(self, id: str) -> tuple[Version, ...]:  # noqa: A002 - the tool's own word
        """The closed versions of a memory, oldest first, those of memories that were merged into it among them."""
        scope, each = self._mine(), checks.id_of(id)
        return tuple(self._engine.read(lambda transaction: transaction.versions(scope, each)) if each else ())

    def deduplicate_memories(
        self,
        *,
        threshold: float = STORE_LIMITS.merge_threshold,
        dry_run: bool = True,
        progress: Callable[[int, int], None] | None = None,
    ) -> tuple[Pair, ...]:
        """See `base.Store` and `merging`."""
        selection = self._selection()
        pairs = merging.find_pairs(self._engine, selection, checks.threshold_of(threshold), progress)
        if dry_run:
            return pairs
        return merging.merge(self._engine, self._vectors, selection, pairs, self._merged)

    def _merged(self, transaction: Transaction, old: str, new: str) -> None:
        """Called in the transaction that merges a memory into another one: what else names the old id."""

    def backfill_embeddings(self, *, limit: int = STORE_LIMITS.backfill) -> Backfilled:
        """See `base.Store` and `backfilling`."""
        scope = self._mine()
        most = checks.whole(limit, "limit", 1, STORE_LIMITS.backfill_most)
        return backfilling.backfill(self._engine, self._vectors, scope, most)

    def export_lines(self, *, all_scopes: bool = False) -> Iterator[str]:
        """See `base.Store` and `transfer`."""
        return transfer.export_lines(self._engine, self._export_scope(all_scopes), self.kind)

    def import_lines(
        self,
        lines: Iterable[str],
        *,
        all_scopes: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> Imported:
        """See `base.Store` and `transfer`."""
        return transfer.import_lines(self._engine, lines, self._export_scope(all_scopes), self.kind, progress)

    def _export_scope(self, all_scopes: bool) -> str | None:
        scope = self._mine()
        if all_scopes and scope != "DM":
            raise ScopeError("only the owner's session has all scopes", remedy="Leave --all-scopes out.")
        return None if all_scopes else scope

    def close(self) -> None:
        """See `base.Store`."""
        self._engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
