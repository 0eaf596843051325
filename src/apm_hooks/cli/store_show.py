"""What the record store's calls answer, for a terminal and as JSON documents. Nothing is asked or opened here."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from apm_hooks.injection import show_invisible

if TYPE_CHECKING:
    from apm_hooks.store.base import Hit, Imported, Likeness, Memory, Pair, Recalled, Saved
    from apm_hooks.store.selfstore import ArticleView

NOTHING_FOUND = "nothing is remembered that fits"
MOST = 50
"""So many memories at most are shown by one recall."""


def moment(at: datetime | None) -> str | None:
    """A time as documents have it."""
    return at.isoformat() if at is not None else None


def memory_document(memory: Memory) -> dict[str, Any]:
    """Every field of a memory but its scope, which is the session's."""
    return {
        "id": memory.id, "type": memory.type, "title": memory.title, "content": memory.content,
        "tags": list(memory.tags), "importance": memory.importance, "source": memory.source,
        "expires_at": moment(memory.expires_at), "created_at": moment(memory.created_at),
        "updated_at": moment(memory.updated_at),
    }  # fmt: skip


def recalled_document(found: Recalled) -> dict[str, Any]:
    """`memories` with a `similarity` each (null: no vector tells), how many there are, and what is not shown."""
    return {
        "memories": [{**memory_document(hit.memory), "similarity": _rounded(hit.similarity)} for hit in found.hits],
        "total": found.total,
        "more": found.more,
        "always": [{"id": each, "title": title} for each, title in found.always],
        "note": found.note,
    }


def _rounded(similarity: float | None) -> float | None:
    return None if similarity is None else round(similarity, 4)


def recalled_text(found: Recalled) -> str:
    """A block for each memory, what is not shown, and what one must know of the answer."""
    lines = ["\n\n".join(map(_block, found.hits)) or NOTHING_FOUND]
    tail = []
    if found.more:
        shown = len(found.hits)
        of = f" of {found.total:,}" if found.total is not None else ""
        wish = f"--limit {min(shown + found.more, MOST)}" if shown < MOST else "a query, --type or --tags"
        tail.append(f"{shown}{of} shown, {found.more:,} more: ask for them with {wish}")
    if found.always:
        tail.append(f"{len(found.always)} more of importance 5, which always apply:")
        tail += [f"  {each}  {_line(title)}" for each, title in found.always]
    if found.note:
        tail.append(found.note)
    return "\n\n".join([*lines, *(["\n".join(tail)] if tail else [])])


def _block(hit: Hit) -> str:
    """One memory. Its text is set in, so that no line of it looks like another memory's head, and what a reader would
    not see, or a terminal obey, is spelt out."""
    memory = hit.memory
    facts = [f"importance {memory.importance}", f"since {memory.updated_at:%Y-%m-%d}"]
    if hit.similarity is not None:
        facts.insert(0, f"similarity {hit.similarity:.2f}")
    if memory.tags:
        facts.append(f"tags {', '.join(memory.tags)}")
    if memory.expires_at is not None:
        facts.append(f"expires {memory.expires_at:%Y-%m-%d %H:%M} UTC")
    lines = [f"[{memory.type}] {_line(memory.title)}"]
    if memory.content != memory.title:
        lines += [f"  {show_invisible(line)}".rstrip() for line in memory.content.splitlines()]
    return "\n".join([*lines, f"  id {memory.id} · {' · '.join(facts)}"])


def _line(title: str) -> str:
    return show_invisible(" ".join(title.split()))


def saved_document(saved: Saved) -> dict[str, Any]:
    """The id, whether it is new, and the memories that the new one resembles or speaks against."""
    return {
        "id": saved.id, "created": saved.created, "similar": list(map(_alike, saved.similar)),
        "contradicts": list(map(_alike, saved.contradicts)), "notes": list(saved.notes),
    }  # fmt: skip


def _alike(each: Likeness) -> dict[str, Any]:
    return {"id": each.id, "title": each.title, "similarity": round(each.similarity, 4)}


def saved_text(saved: Saved) -> str:
    """A line for what was done, and one for each memory to look at."""
    lines = [f"saved        {saved.id}" if saved.created else f"there already {saved.id}"]
    lines += [f"similar      {each.id}  {each.similarity:.2f}  {_line(each.title)}" for each in saved.similar]
    lines += [f"contradicts  {each.id}  {_line(each.title)}" for each in saved.contradicts]
    if saved.contradicts:
        lines.append("Ask which of them holds; then update or forget the other. Nothing was changed in them.")
    return "\n".join([*lines, *saved.notes])


def pairs_document(pairs: Sequence[Pair], *, applied: bool) -> dict[str, Any]:
    """The pairs, and what became of each."""
    return {
        "applied": applied,
        "pairs": [
            {"similarity": round(pair.similarity, 4), "merged": pair.merged,
             "keep": {"id": pair.keep.id, "title": pair.keep.title},
             "drop": {"id": pair.drop.id, "title": pair.drop.title}}
            for pair in pairs
        ],
    }  # fmt: skip


def pairs_text(pairs: Sequence[Pair], *, applied: bool) -> str:
    """Three lines a pair, and what to do next."""
    if not pairs:
        return "no two memories are alike"
    lines = []
    for pair in pairs:
        done = ("merged" if pair.merged else "left as they are") if applied else "would be merged"
        lines += [f"{pair.similarity:.2f}  {done}", f"  keep  {pair.keep.id}  {_line(pair.keep.title)}",
                  f"  drop  {pair.drop.id}  {_line(pair.drop.title)}"]  # fmt: skip
    if not applied:
        lines.append("Nothing was changed. Merge them with: --apply")
    elif not all(pair.merged for pair in pairs):
        lines.append("What is left was changed meanwhile, or is too much for one memory.")
    return "\n".join(lines)


def imported_document(done: Imported, *, complete: bool, lines: int) -> dict[str, Any]:
    """How many there were of each, and why lines were skipped; `lines` of the file are in, or skipped."""
    return {
        "complete": complete, "lines": lines, "added": done.added, "unchanged": done.unchanged,
        "skipped": [{"line": line, "why": why} for line, why in done.skipped],
    }  # fmt: skip


def article_document(view: ArticleView) -> dict[str, Any]:
    """An article with its revision, and whether its sources are what they were."""
    article = view.article
    return {
        "slug": article.slug, "title": article.title, "body_md": article.body, "sources": list(article.sources),
        "revision": article.revision, "stale": view.stale, "created_at": moment(article.created_at),
        "updated_at": moment(article.updated_at),
    }  # fmt: skip


def article_text(view: ArticleView) -> str:
    """An article as it is read."""
    article = view.article
    state = "stale: a source was changed or forgotten since" if view.stale else "fresh"
    head = f"# {_line(article.title)}\n\nrevision {article.revision} · {article.updated_at:%Y-%m-%d} · {state}"
    body = "\n".join(map(show_invisible, article.body.splitlines()))
    return f"{head}\n\n{body}\n\nsources: {', '.join(article.sources)}"
