"""A message × the rows of a routing table → the row to load, with its reasons (protocol, section 5, step 2).

Pure and deterministic: no clock, no randomness, no order of hashes. `compile_routes` makes a table ready
once; the two questions are `route_message` (which row) and `explain_routes` (why, for every row).

How a row is scored: each of its words that the message holds weighs what it can say, divided by the
number of rows that it speaks for; a whole alternative adds to that. A row whose score reaches
`MINIMUM_SCORE` matches; in a long message, where a word in passing is no topic, it must also reach
`LONG_SHARE` of the best row's score. Where no row matches by its scenarios, file names and the vocabulary
of the standard files are counted too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from apm_hooks.records import LIMITS, Route, RouteMatch
from apm_hooks.words import words_of
from apm_hooks.words_class import is_small_talk
from apm_hooks.words_evidence import hits_of, message_of
from apm_hooks.words_score import MINIMUM, Evidence, Tally, add_weak, tallies_of
from apm_hooks.words_table import RouteTable, build_table

MINIMUM_SCORE = MINIMUM
LONG_SHARE = 0.4
HEAD_CHARS = 4_000
TAIL_CHARS = 2_000


class RouteVerdict(StrEnum):
    """What became of a row.

    It reached the minimum or did not, takes what nothing else matched, or may not be chosen.
    """

    MATCHED = "matched"
    BELOW_MINIMUM = "below-minimum"
    CATCH_ALL = "catch-all"
    DEPRECATED = "deprecated"
    OUTSIDE = "outside"
    EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class RouteScore:
    """One row as the message met it.

    Its score, the message's own words that gave it, the verdict, and each reason.
    """

    route: Route
    score: float
    words: tuple[str, ...]
    verdict: RouteVerdict
    evidence: tuple[Evidence, ...] = ()


def compile_routes(routes: Sequence[Route], *, sub_files: bool = False) -> RouteTable:
    """The table of `routes`, ready to be matched with any number of messages.

    Only P-files are routed, or only sub-files where `sub_files` is true. Deprecated rows and rows without a
    path are kept for the explanation, and have no say in which words are shared.
    """
    kept = [route for route in routes if route.sub_file is sub_files][: LIMITS.routes]
    return build_table(kept, [bool(route.path) and not route.deprecated for route in kept])


def route_message(
    message: str,
    routes: Sequence[Route] | RouteTable,
    *,
    exclude: Collection[str] = (),
    sub_files: bool = False,
) -> RouteMatch | None:
    """The row that `message` is routed to, or None: then nothing is loaded (protocol, section 5, step 2).

    Among the rows that match, the highest priority wins, then the better score, then table order. `exclude`
    holds paths that may not be chosen (loaded already); they still count as matching, so that a catch-all
    does not take over.
    """
    scores = explain_routes(message, routes, exclude=exclude, sub_files=sub_files)
    for verdict in (RouteVerdict.MATCHED, RouteVerdict.CATCH_ALL):
        found = [score for score in scores if score.verdict is verdict]
        if found:
            best = min(found, key=lambda score: (score.route.priority, -score.score))
            return RouteMatch(best.route, best.score, best.words)
    return None


def explain_routes(
    message: str,
    routes: Sequence[Route] | RouteTable,
    *,
    exclude: Collection[str] = (),
    sub_files: bool = False,
) -> tuple[RouteScore, ...]:
    """Every row considered, in table order, with its score, the words that gave it, and the verdict.

    A table that is compiled already decides by itself whether it holds P-files or sub-files. Of a message
    longer than `HEAD_CHARS + TAIL_CHARS` code points, only the head and the tail are read.
    """
    table = routes if isinstance(routes, RouteTable) else compile_routes(routes, sub_files=sub_files)
    words = words_of(_bounded(message))
    spoken = message_of(words, table)
    hits = hits_of(table, spoken)
    tallies = tallies_of(table, spoken, hits)
    best = max((tally.score for tally in tallies.values()), default=0.0)
    if best < MINIMUM_SCORE and spoken.short:
        add_weak(table, spoken, hits, tallies)
        best = max((tally.score for tally in tallies.values()), default=0.0)
    minimum = MINIMUM_SCORE if spoken.short else max(MINIMUM_SCORE, best * LONG_SHARE)
    takes_rest = best < MINIMUM_SCORE and not is_small_talk(words)
    nothing = Tally()
    return tuple(
        _score_of(route, tallies.get(row, nothing), minimum, route.path in exclude, takes_rest)
        for row, route in enumerate(table.routes)
    )


def _bounded(message: str) -> str:
    if len(message) <= HEAD_CHARS + TAIL_CHARS:
        return message
    return f"{message[:HEAD_CHARS]} {message[-TAIL_CHARS:]}"


def _score_of(route: Route, tally: Tally, minimum: float, excluded: bool, takes_rest: bool) -> RouteScore:
    score = tally.score
    if route.deprecated:
        verdict = RouteVerdict.DEPRECATED
    elif not route.path:
        verdict = RouteVerdict.OUTSIDE
    elif excluded:
        verdict = RouteVerdict.EXCLUDED
    elif score >= minimum:
        verdict = RouteVerdict.MATCHED
    elif route.catch_all and takes_rest:
        verdict = RouteVerdict.CATCH_ALL
    else:
        verdict = RouteVerdict.BELOW_MINIMUM
    return RouteScore(route, score, tuple(each.word for each in tally.evidence), verdict, tally.evidence)
