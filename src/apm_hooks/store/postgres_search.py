"""Search by words in Postgres: any of the terms may match, and a rare one counts for more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apm_hooks.store.items import Ranked
from apm_hooks.store.postgres_rows import lexeme, scope_lexeme, source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import psycopg

    from apm_hooks.store.items import Selection


def text_query(terms: Sequence[str], selection: Selection) -> tuple[str, dict[str, Any]]:
    """The statement that ranks the rows which hold any of these words, and its values.

    `ts_rank` of one word grows with how often a row holds it, ever slower, and falls with the row's length; the weight
    of a word falls with the number of rows that hold it. Only selected rows are counted: what other scopes hold changes
    nothing. A rank over all words at once, as Postgres has it, would put a row with two frequent words above the one
    with the rare word.
    """
    words = [lexeme(term) for term in terms]
    rows, values = source(
        selection,
        "SELECT memory AS id, updated_at, words FROM memory_words",
        "SELECT id, updated_at, words FROM memory_versions",
        "words @@ %(any)s::tsquery",
    )
    values["any"] = f"{scope_lexeme(selection.scope)} & ({' | '.join(words)})"
    values.update({f"word{at}": word for at, word in enumerate(words)})
    numbers = range(len(words))
    ranks = ", ".join(f"ts_rank(words, %(word{at})s::tsquery, 1) AS rank{at}" for at in numbers)
    weights = ", ".join(
        f"ln(1 + count(*)::float8 / (count(*) FILTER (WHERE rank{at} > 0) + 0.5)) AS weight{at}" for at in numbers
    )
    score = " + ".join(f"rank{at} * weight{at}" for at in numbers)
    statement = (
        f"WITH hit AS MATERIALIZED (SELECT id, updated_at, {ranks} FROM {rows}),"  # noqa: S608
        # Counted once: a planner that expects one row, as before the first ANALYZE, would count again for each.
        f" weight AS MATERIALIZED (SELECT {weights} FROM hit)"
        f" SELECT id, {score} AS score FROM hit, weight ORDER BY score DESC, updated_at DESC, id LIMIT %(limit)s"
    )
    return statement, values


def search_text(
    connection: psycopg.Connection[Any], terms: Sequence[str], selection: Selection, limit: int
) -> list[Ranked]:  # fmt: skip
    """The rows that hold any of these words, best first; none for no words."""
    if not terms:
        return []
    statement, values = text_query(terms, selection)
    values["limit"] = limit
    rows = connection.execute(statement, values, prepare=False).fetchall()
    return [Ranked(str(id_), score) for id_, score in rows]
