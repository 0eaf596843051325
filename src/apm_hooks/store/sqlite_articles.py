"""Articles of the self wiki, kept beside the notes that they are made from."""

from __future__ import annotations

from apm_hooks.store.items import Article
from apm_hooks.store.sqlite_rows import micros, moment
from apm_hooks.store.sqlite_transaction import SqliteTransaction


def put_article(transaction: SqliteTransaction, article: Article) -> None:
    """Put an article under its slug, in place of the one there."""
    transaction.run("DELETE FROM article_sources WHERE slug = ?", (article.slug,))
    transaction.run(
        "INSERT OR REPLACE INTO articles (slug, title, body, digest, revision, created_at, updated_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        (article.slug, article.title, article.body, article.digest, article.revision, micros(article.created_at),
         micros(article.updated_at)),
    )  # fmt: skip
    for place, source in enumerate(article.sources):
        transaction.run("INSERT INTO article_sources VALUES (?, ?, ?)", (article.slug, place, source))


def article(transaction: SqliteTransaction, slug: str) -> Article | None:
    """The article of that slug."""
    row = transaction.run(
        "SELECT slug, title, body, digest, revision, created_at, updated_at FROM articles WHERE slug = ?", (slug,)
    ).fetchone()
    if row is None:
        return None
    sources = transaction.run("SELECT source FROM article_sources WHERE slug = ? ORDER BY place", (slug,))
    return Article(
        slug=row[0], title=row[1], body=row[2], sources=tuple(each for (each,) in sources), digest=row[3],
        revision=row[4], created_at=moment(row[5]), updated_at=moment(row[6]),
    )  # fmt: skip


def articles(transaction: SqliteTransaction) -> list[Article]:
    """All articles, by slug."""
    slugs = [slug for (slug,) in transaction.run("SELECT slug FROM articles ORDER BY slug").fetchall()]
    return [found for slug in slugs if (found := article(transaction, slug)) is not None]


def repoint(transaction: SqliteTransaction, old: str, new: str) -> None:
    """Make every article that has the source `old` have `new` in its place, once."""
    transaction.run("UPDATE OR IGNORE article_sources SET source = ? WHERE source = ?", (new, old))
    transaction.run("DELETE FROM article_sources WHERE source = ?", (old,))
