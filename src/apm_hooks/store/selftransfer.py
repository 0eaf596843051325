"""Articles of the self wiki as lines of an export, behind the notes that they are made of, and back again.

An article that was written is kept as it was, with the digest of its sources: whether it is stale is told from that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from apm_hooks.errors import UsageError
from apm_hooks.store import checks, sqlite_articles
from apm_hooks.store.items import STORE_LIMITS, Article, SecretRefusedError
from apm_hooks.store.secrets import refuse_secrets
from apm_hooks.store.sqlite import SqliteEngine
from apm_hooks.store.sqlite_transaction import SqliteTransaction

KEY = "article"
_DIGEST = re.compile(r"[0-9a-f]{64}")
_REVISIONS = 2**31


def article_lines(engine: SqliteEngine) -> Iterator[str]:
    """A line for each article, by slug."""
    for article in engine.read(sqlite_articles.articles):
        fields = {
            "slug": article.slug, "title": article.title, "body": article.body, "sources": list(article.sources),
            "digest": article.digest, "revision": article.revision, "created_at": article.created_at.isoformat(),
            "updated_at": article.updated_at.isoformat(),
        }  # fmt: skip
        yield json.dumps({KEY: fields}, ensure_ascii=False)


def article_in(line: str) -> dict[str, Any] | None:
    """The fields of an article, if a line of an export holds one."""
    if f'"{KEY}"' not in line:
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    fields = found.get(KEY) if isinstance(found, dict) else None
    return fields if isinstance(fields, dict) else None


def put_articles(engine: SqliteEngine, given: Iterable[tuple[int, dict[str, Any]]]) -> list[tuple[int, str]]:
    """Take articles in, as (line, fields), in one transaction: for each line `added`, `unchanged` where there is one of
    its name, or why it was skipped."""
    parsed = [(number, *_article(fields)) for number, fields in given]

    def put(transaction: SqliteTransaction) -> list[tuple[int, str]]:
        out: list[tuple[int, str]] = []
        for number, article, why in parsed:
            if article is None:
                out.append((number, why))
            elif sqlite_articles.article(transaction, article.slug) is not None:
                out.append((number, "unchanged"))
            else:
                sqlite_articles.put_article(transaction, article)
                out.append((number, "added"))
        return out

    return engine.write(put) if parsed else []


def _article(fields: dict[str, Any]) -> tuple[Article | None, str]:
    try:
        slug = checks.slug_of(fields.get("slug"))
        body = checks.body_of(fields.get("body"))
        sources = fields.get("sources")
        ids = tuple(dict.fromkeys(map(checks.id_of, sources))) if isinstance(sources, list) else ()
        digest, revision = fields.get("digest"), fields.get("revision")
        if not 1 <= len(ids) <= STORE_LIMITS.article_sources or "" in ids:
            return None, "its sources are none"
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            return None, "its digest is none"
        if type(revision) is not int or not 1 <= revision <= _REVISIONS:
            return None, "its revision is none"
        article = Article(
            slug=slug, title=checks.title_of(fields.get("title"), slug), body=body, sources=ids, digest=digest,
            revision=revision, created_at=checks.moment_of(fields.get("created_at"), "created_at"),
            updated_at=checks.moment_of(fields.get("updated_at"), "updated_at"),
        )  # fmt: skip
        refuse_secrets({"title": article.title, "body_md": body})
    except (UsageError, SecretRefusedError) as error:
        return None, str(error)
    return article, ""
