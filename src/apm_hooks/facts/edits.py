"""Changes to an index, a note or the log of cuts, as edits of single lines. Pure: no file is read or written here."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import date

from apm_hooks.errors import UsageError
from apm_hooks.facts.grammar import parse_line, render
from apm_hooks.facts.model import INDEX, PROVENANCES, Fact, FactIndex
from apm_hooks.facts.parts import is_slug, slug_key
from apm_hooks.names import printable
from apm_hooks.rawlines import Edit

NO_SLUG = "{slug} is no slug"
NO_SLUG_FIX = "Use letters, digits and hyphens."
NO_FACT = "there is no fact {slug}"
NO_FACT_FIX = "See: apm-hooks facts size"
MANY = "{slug} names more than one fact, in lines {lines}"
MANY_FIX = "Say which one with --line N."
ONE_LINE = "{what} is one line, and not empty"
UNREADABLE = "the line would not be read back as it was meant"
UNREADABLE_FIX = "Leave So:, note links and brackets at the start out of the text."
NO_SECTION = "there is no section {title}"
SECTIONS = "Sections: {titles}."
NO_SECTIONS = "The index has no sections: leave --section out."
ONE_SENTENCE = "has one sentence only"
ONE_SENTENCE_FIX = "Say with --text what the line shall say; what it says now goes into the note."

_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]{0,2}[ \t]+(?=\S)|(?<=[。！？])(?=\S)")
_ENDS = ".!?…。！？:：;)]\"'`"


def made(
    slug: str, text: str, so: str, *, provenance: str = "", note: str = "", words: Collection[str] = PROVENANCES
) -> Fact:
    """A new fact, read back from its own line. Raises UsageError for what could not be read back as it was meant."""
    if not is_slug(slug):
        raise UsageError(NO_SLUG.format(slug=printable(slug)), remedy=NO_SLUG_FIX)
    return _checked(Fact(0, slug, provenance, _line(text, "the fact"), _line(so, "what it changes"), note), words)


def corrected(
    fact: Fact, *, text: str | None = None, so: str | None = None, provenance: str | None = None,
    note: str | None = None, words: Collection[str] = PROVENANCES,
) -> Fact:  # fmt: skip
    """A fact with some of its parts replaced. Raises UsageError as `made` does."""
    changed = replace(
        fact,
        text=fact.text if text is None else _line(text, "the fact"),
        consequence=fact.consequence if so is None else _line(so, "what it changes"),
        provenance=fact.provenance if provenance is None else provenance,
        note=fact.note if note is None else note,
    )
    return _checked(changed, words)


def _checked(fact: Fact, words: Collection[str]) -> Fact:
    read = parse_line(render(fact), fact.line, {*words, fact.provenance} - {""})
    meant = (fact.slug, fact.provenance, fact.text, fact.consequence, fact.note)
    if not isinstance(read, Fact) or (read.slug, read.provenance, read.text, read.consequence, read.note) != meant:
        raise UsageError(UNREADABLE, remedy=UNREADABLE_FIX)
    return read


def _line(text: str, what: str) -> str:
    line = " ".join(text.split())
    if not line or "\n" in text.strip() or "\r" in text.strip():
        raise UsageError(ONE_LINE.format(what=what), remedy="Write it as one line.")
    if line[-1] in _ENDS or not line[-1].isalnum():
        return line
    return line + ("。" if "\u3040" <= line[-1] <= "\u9fff" else ".")


def found(index: FactIndex, slug: str, line: int = 0) -> Fact:
    """The fact of a slug, in line `line` where that is given. Raises UsageError for none, and for more than one."""
    same = [fact for fact in index.facts if slug_key(fact.slug) == slug_key(slug) and line in (0, fact.line)]
    if not same:
        raise UsageError(NO_FACT.format(slug=printable(slug)), file=INDEX, line=line, remedy=NO_FACT_FIX)
    if len(same) > 1:
        lines = ", ".join(str(fact.line) for fact in same)
        raise UsageError(MANY.format(slug=printable(slug), lines=lines), file=INDEX, remedy=MANY_FIX)
    return same[0]


def insertion(lines: Sequence[str], index: FactIndex, fact: Fact, section: str = "") -> Edit:
    """A new fact behind the last one: of the section, else of the index. Raises UsageError for an unknown section."""
    text = render(fact)
    if not section:
        if index.facts:
            return Edit(index.facts[-1].line, (text,))
        kept = _content_end(lines, len(lines))
        return Edit(kept, ("", text) if kept else (text,))
    start = next((line for line, title in index.sections if title.casefold() == section.casefold()), 0)
    if not start:
        titles = ", ".join(printable(title) for _, title in index.sections)
        remedy = SECTIONS.format(titles=titles) if titles else NO_SECTIONS
        raise UsageError(NO_SECTION.format(title=printable(section)), file=INDEX, remedy=remedy)
    end = next((line - 1 for line, _ in index.sections if line > start), len(lines))
    last = max((each.line for each in index.facts if start < each.line <= end), default=0)
    if last:
        return Edit(last, (text,))
    kept = _content_end(lines, end)
    return Edit(kept, ("", text))


def _content_end(lines: Sequence[str], end: int) -> int:
    """The number of lines before `end` without the blank ones at their end."""
    while end and not lines[end - 1].strip():
        end -= 1
    return end


def log_entry(fact: Fact, why: str, today: date) -> str:
    """The line that says what was cut, when, and why; the fact is quoted as it stood."""
    return f"- {today.isoformat()} · {_line(why, 'the reason')} · was: {render(fact)[2:]}"


def appended(lines: Sequence[str], new: Sequence[str]) -> list[Edit]:
    """New lines at the end of a text, a blank line before them where they are paragraphs; none where they are there."""
    text = [line.rstrip() for line in lines]
    if any(text[at : at + len(new)] == list(new) for at in range(len(text) - len(new) + 1)):
        return []
    kept = _content_end(lines, len(lines))
    item = new[0].startswith("- ") and kept and lines[kept - 1].startswith("- ")
    return [Edit(kept, tuple(new) if item or not kept else ("", *new))]


def split_argument(fact: Fact, text: str | None = None) -> tuple[str, list[str]]:
    """What the line keeps of a fact, and the lines that go into its note: all behind the first sentence, or, where
    `text` is the new wording, all that the line says now. Raises UsageError where there is nothing to move."""
    if text is not None:
        return text, [fact.text]
    end = _SENTENCE.search(fact.text)
    if end is None:
        raise UsageError(f"{printable(fact.slug)} {ONE_SENTENCE}", file=INDEX, line=fact.line, remedy=ONE_SENTENCE_FIX)
    return fact.text[: end.start()] + end[0].rstrip(), [fact.text[end.end() :]]
