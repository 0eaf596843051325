"""The linter: one member's memory → findings. Pure: the day, the budgets and the counter are arguments."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from apm_hooks.facts import rules as say
from apm_hooks.facts.claims import has_date, has_sample, review_of, update_trail
from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.model import (
    BUDGETS,
    DECISIONS,
    INDEX,
    NOTES,
    PROVENANCES,
    Budgets,
    Fact,
    FactIndex,
    Memory,
)
from apm_hooks.facts.parts import note_path, references, slug_key, without_code
from apm_hooks.facts.repeats import repeats
from apm_hooks.facts.rules import RULES
from apm_hooks.fences import find_fences
from apm_hooks.findings import Finding, Level, bounded
from apm_hooks.records import LIMITS, Limits

KIB = 1024
LONGEST = 3
_BELOW, _ABOVE = 1.1, 2.5
"""An estimate is below the exact count by less than a tenth, and above it by less than this factor."""


@dataclass(frozen=True, slots=True)
class Checks:
    """What the linter measures by: the day, the budgets, the known provenances, the tokens that the index may cost in a
    session (0: no such bound) and how tokens are counted."""

    today: date
    budgets: Budgets = BUDGETS
    words: tuple[str, ...] = PROVENANCES
    share_tokens: int = 0
    count: Callable[[str], int] | None = None
    estimate: Callable[[str], int] | None = None


def lint(memory: Memory, checks: Checks, index: FactIndex | None = None) -> tuple[Finding, ...]:
    """What is wrong, by path and line; each file's findings are bounded. `index` is the memory's index where it is
    parsed already. Paths are those in the member's directory."""
    if index is None:
        index = parse_facts(memory.index or "", checks.words)
    by_path: dict[str, list[Finding]] = {}
    for found in every_finding(memory, checks, index):
        by_path.setdefault(found.path, []).append(found)
    return tuple(found for path in sorted(by_path) for found in bounded(by_path[path]))


def every_finding(memory: Memory, checks: Checks, index: FactIndex) -> Iterator[Finding]:
    """All that is wrong, without a bound and in no order; `index` is the memory's index, parsed."""
    for path, why in memory.problems.items():
        yield finding("unreadable-file", path, 0, 0, say.UNREADABLE.format(why=why), say.UNREADABLE_FIX)
    if memory.index is None and INDEX not in memory.problems:
        yield finding("missing-index", INDEX, 0, 0, say.MISSING_INDEX, say.MISSING_INDEX_FIX)
    for miss in index.misses:
        yield finding("near-miss", INDEX, miss.line, miss.column, say.NEAR_MISS.format(what=miss.sentence), miss.remedy)
    known = slugs_of(index)
    first: dict[str, int] = {}
    for fact in index.facts:
        line = first.setdefault(slug_key(fact.slug), fact.line)
        if line != fact.line:
            yield _of(fact, "duplicate-slug", fact.slug_column, say.DUPLICATE.format(slug=fact.slug, first=line),
                      say.DUPLICATE_FIX)  # fmt: skip
        yield from _fact(fact, checks, known)
        yield from _notes_of(fact, memory)
    yield from _notes(memory, index, known)
    yield from _sizes(memory, checks, index)
    for (path, line, column), (other, at, _) in repeats(memory, index):
        yield finding("repeated-elsewhere", path, line, column, say.REPEATED.format(path=other, line=at),
                      say.REPEATED_FIX)  # fmt: skip


def slugs_of(index: FactIndex) -> frozenset[str]:
    """The keys of all slugs, those of near misses too: what refers to them is not wrong for that."""
    slugs = [fact.slug for fact in index.facts] + [miss.slug for miss in index.misses]
    return frozenset(slug_key(slug) for slug in slugs if slug)


def finding(rule: str, path: str, line: int, column: int, sentence: str, remedy: str,
            level: Level | None = None) -> Finding:  # fmt: skip
    """A finding of one of our rules."""
    return Finding(rule, level or RULES[rule].level, path, line, column, sentence, remedy)


def _of(fact: Fact, rule: str, column: int, sentence: str, remedy: str, level: Level | None = None) -> Finding:
    return finding(rule, INDEX, fact.line, column, sentence, remedy, level)


def _fact(fact: Fact, checks: Checks, known: frozenset[str]) -> Iterator[Finding]:
    slug = fact.slug
    if not any(map(str.isalnum, fact.consequence or "")):
        column = fact.so_column or fact.text_column
        yield _of(fact, "no-consequence", column, say.NO_CONSEQUENCE.format(slug=slug), say.NO_CONSEQUENCE_FIX)
    if fact.provenance and fact.provenance not in checks.words:
        yield _of(fact, "unknown-provenance", fact.provenance_column,
                  say.UNKNOWN_PROVENANCE.format(word=fact.provenance),
                  say.UNKNOWN_PROVENANCE_FIX.format(known=", ".join(checks.words)))  # fmt: skip
    if fact.more:
        yield _of(fact, "several-facts", fact.more[0], say.SEVERAL_FACTS.format(slug=slug), say.SEVERAL_FACTS_FIX)
    if fact.chars > checks.budgets.max_fact_chars:
        yield _of(
            fact, "fact-too-long", int(checks.budgets.max_fact_chars) + 1,
            say.FACT_TOO_LONG.format(slug=slug, chars=fact.chars, most=checks.budgets.max_fact_chars),
            say.FACT_TOO_LONG_FIX.format(slug=slug),
        )  # fmt: skip
    if fact.provenance == "measured":
        yield from _measured(fact)
    for column, part in _said(fact):
        yield from _words(fact, column, part, checks.today, known)


def _measured(fact: Fact) -> Iterator[Finding]:
    body = fact.body
    if not any(map(str.isdigit, body)):
        sample = day = False
    else:
        sample, day = has_sample(body), has_date(body)
    if not sample:
        yield _of(fact, "measured-without-n", fact.provenance_column, say.NO_SAMPLE.format(slug=fact.slug),
                  say.NO_SAMPLE_FIX)  # fmt: skip
    if not day:
        yield _of(fact, "measured-without-date", fact.provenance_column, say.NO_DATE.format(slug=fact.slug),
                  say.NO_DATE_FIX)  # fmt: skip


def _said(fact: Fact) -> Iterator[tuple[int, str]]:
    """The parts of what a fact says, each with the column at which it begins."""
    yield fact.text_column, fact.text
    if fact.consequence:
        yield fact.consequence_column, fact.consequence


def _words(fact: Fact, column: int, part: str, today: date, known: frozenset[str]) -> Iterator[Finding]:
    if ":" not in part and "：" not in part and "[[" not in part:
        return
    masked = without_code(part)
    for at, slug in references(masked):
        if slug_key(slug) not in known:
            yield _of(fact, "dangling-reference", column + at, say.DANGLING_REFERENCE.format(slug=slug),
                      say.DANGLING_REFERENCE_FIX)  # fmt: skip
    trail = update_trail(masked)
    if trail is not None:
        yield _of(fact, "update-chain", column + trail, say.UPDATE_CHAIN.format(slug=fact.slug), say.UPDATE_CHAIN_FIX)
    review = review_of(masked)
    if review is None:
        return
    at, day = review
    if day is None:
        what = say.NO_SUCH_DAY.format(text=masked[at : at + 10])
        yield _of(fact, "near-miss", column + at, say.NEAR_MISS.format(what=what), say.NO_SUCH_DAY_FIX)
    elif day < today:
        days = (today - day).days
        sentence = say.REVIEW_DUE.format(slug=fact.slug, day=day.isoformat(), days=days, s="" if days == 1 else "s")
        level = Level.ERROR if days >= say.REVIEW_ERROR_DAYS else None
        yield _of(fact, "review-due", column + at, sentence, say.REVIEW_DUE_FIX, level)


def _notes_of(fact: Fact, memory: Memory) -> Iterator[Finding]:
    """The fact's links into the notes that lead nowhere."""
    links = [(fact.note_column, fact.note)] if fact.note else []
    for column, target in (*links, *fact.links):
        path, why = note_path(target)
        note = memory.notes.get(path)
        if not why and note is None:
            why = "does not exist"
        elif not why and note is not None and note.problem:
            why = note.problem
        if why:
            yield _of(fact, "dangling-note", column, say.DANGLING_NOTE.format(target=target, why=why),
                      say.DANGLING_NOTE_FIX)  # fmt: skip


def linked_notes(index: FactIndex) -> frozenset[str]:
    """The notes that facts link, near misses too, by their paths below `memory/notes/`."""
    targets = [fact.note for fact in index.facts] + [miss.note for miss in index.misses]
    targets += [target for fact in index.facts for _, target in fact.links]
    return frozenset(note_path(target)[0] for target in targets if target)


def _notes(memory: Memory, index: FactIndex, known: frozenset[str]) -> Iterator[Finding]:
    linked = linked_notes(index)
    for name, note in memory.notes.items():
        path = f"{NOTES}/{note.path}"
        if name not in linked:
            yield finding("orphaned-note", path, 0, 0, say.ORPHANED_NOTE, say.ORPHANED_NOTE_FIX)
        for line, column, slug in dangling(note.text or "", known):
            yield finding("dangling-reference", path, line, column, say.DANGLING_REFERENCE.format(slug=slug),
                          say.DANGLING_REFERENCE_FIX)  # fmt: skip


def dangling(text: str, known: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """The references in a note's text, outside of code, that name none of the slugs `known` by their keys."""
    if "[[" not in text:
        return
    fences = find_fences(text)
    at, inside = 0, iter([*fences, None])
    fence = next(inside)
    for number, line in enumerate(text.split("\n"), 1):
        while fence is not None and fence.stop <= at:
            fence = next(inside)
        if "[[" in line and not line.startswith(("    ", "\t")) and (fence is None or at < fence.start):
            for place, slug in references(without_code(line)):
                if slug_key(slug) not in known:
                    yield number, place + 1, slug
        at += len(line) + 1


def _sizes(memory: Memory, checks: Checks, index: FactIndex) -> Iterator[Finding]:
    budgets = checks.budgets
    if memory.index_bytes > budgets.max_index_kb * KIB:
        sentence = say.INDEX_TOO_BIG.format(size=size_of(memory.index_bytes), most=budgets.max_index_kb,
                                            longest=longest_words(index))  # fmt: skip
        yield finding("index-too-big", INDEX, 0, 0, sentence, say.INDEX_TOO_BIG_FIX)
    if memory.decisions_bytes > budgets.max_decisions_kb * KIB:
        sentence = say.DECISIONS_TOO_BIG.format(size=size_of(memory.decisions_bytes), most=budgets.max_decisions_kb)
        yield finding("decisions-too-big", DECISIONS, 0, 0, sentence, say.DECISIONS_TOO_BIG_FIX)
    bounds = [bound for bound in (budgets.max_index_tokens, checks.share_tokens) if bound]
    if not bounds or checks.count is None or memory.index is None:
        return
    tokens, exact = cost(memory.index, bounds, checks.count, checks.estimate or checks.count)
    told = f"{tokens:,}" if exact else f"about {tokens:,}"
    if budgets.max_index_tokens is not None and tokens > budgets.max_index_tokens:
        sentence = say.INDEX_TOO_MANY_TOKENS.format(tokens=told, most=budgets.max_index_tokens,
                                                    longest=longest_words(index))  # fmt: skip
        yield finding("index-too-big", INDEX, 0, 0, sentence, say.INDEX_TOO_BIG_FIX)
    if checks.share_tokens and tokens > checks.share_tokens:
        sentence = say.OVER_SHARE.format(tokens=told, most=f"{checks.share_tokens:,}")
        yield finding("index-over-share", INDEX, 0, 0, sentence, say.INDEX_TOO_BIG_FIX)


def cost(
    text: str, bounds: Sequence[float], count: Callable[[str], int], estimate: Callable[[str], int]
) -> tuple[int, bool]:
    """What a text costs in tokens, and whether that is exact: it is counted only where the estimate, which errs upwards
    by a known factor, leaves open on which side of one of the bounds it is."""
    guess = estimate(text)
    if all(guess * _BELOW <= bound or guess >= bound * _ABOVE for bound in bounds):
        return guess, estimate is count
    return count(text), True


def share_tokens(budget: int, *, limits: Limits = LIMITS) -> int:
    """The part of a session's budget in tokens that is the fact index's own."""
    return int(budget * limits.facts_share)


def longest(index: FactIndex) -> tuple[Fact, ...]:
    """The facts with the longest lines, the longest first."""
    return tuple(sorted(index.facts, key=lambda fact: (-fact.chars, fact.line))[:LONGEST])


def longest_words(index: FactIndex) -> str:
    """The longest facts by name, line and length."""
    return ", ".join(f"{fact.slug} (line {fact.line}, {fact.chars} characters)" for fact in longest(index)) or "none"


def size_of(size: int) -> str:
    """A size in words that cannot read as the budget that it is over."""
    return f"{size / KIB:.1f} KiB ({size:,} bytes)"
