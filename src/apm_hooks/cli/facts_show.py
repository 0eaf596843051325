"""`apm-hooks facts show|size`: one fact with all that belongs to it; what the indexes cost beside their budgets."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from apm_hooks.cli.common import print_json, say, table
from apm_hooks.cli.facts_common import Place, measures_of, place_of
from apm_hooks.errors import UsageError
from apm_hooks.facts.config import Member
from apm_hooks.facts.desk import read_memory, share_of
from apm_hooks.facts.edits import NO_FACT, NO_FACT_FIX
from apm_hooks.facts.grammar import parse_facts, render
from apm_hooks.facts.lint import KIB
from apm_hooks.facts.model import INDEX, NOTES, Fact, FactIndex, Memory
from apm_hooks.facts.parts import note_path, references, slug_key, without_code
from apm_hooks.facts.show import longest_of, title
from apm_hooks.names import printable


def run(options: argparse.Namespace) -> int:
    """Show; nothing is written."""
    place = place_of(options)
    return _show(options, place) if options.verb == "show" else _size(options, place)


def _show(options: argparse.Namespace, place: Place) -> int:
    member = place.member(options.member)
    memory = read_memory(place.directory(member))
    index = parse_facts(memory.index or "", member.words)
    facts = [fact for fact in index.facts if slug_key(fact.slug) == slug_key(options.slug)]
    if not facts:
        raise UsageError(NO_FACT.format(slug=printable(options.slug)), file=f"{member.prefix}{INDEX}",
                         remedy=NO_FACT_FIX)  # fmt: skip
    referring = list(_referring(memory, index, slug_key(options.slug)))
    if options.json:
        print_json({
            "facts": [_as_dict(fact, member, memory) for fact in facts],
            "referred_to_by": [{"path": member.prefix + path, "line": line, "slug": slug or None}
                               for path, line, slug in referring],
        })  # fmt: skip
        return 0
    for fact in facts:
        say(f"{member.prefix}{INDEX}:{fact.line}")
        say(f"  {render(fact)}")
        path, text = _note(fact, memory)
        if path:
            say(f"{member.prefix}{path}")
            say(
                "\n".join(f"  {line}" for line in text.rstrip("\n").split("\n"))
                if text is not None
                else "  (not there)"
            )
    for path, line, slug in referring:
        say(f"referred to by {member.prefix}{path}:{line}{f' ({slug})' if slug else ''}")
    return 0


def _note(fact: Fact, memory: Memory) -> tuple[str, str | None]:
    """The path of a fact's note in the member's directory, and its text; an empty path for none."""
    name = note_path(fact.note)[0] if fact.note else ""
    note = memory.notes.get(name)
    return (f"{NOTES}/{name}", note.text if note else None) if name else ("", None)


def _as_dict(fact: Fact, member: Member, memory: Memory) -> dict[str, object]:
    path, text = _note(fact, memory)
    return {
        "slug": fact.slug, "path": f"{member.prefix}{INDEX}", "line": fact.line, "section": fact.section or None,
        "provenance": fact.provenance or None, "text": fact.text, "so": fact.consequence or None,
        "note": {"path": member.prefix + path, "text": text} if path else None, "chars": fact.chars,
    }  # fmt: skip


def _referring(memory: Memory, index: FactIndex, key: str) -> Iterator[tuple[str, int, str]]:
    """Where `[[slug]]` stands: path, line, and the slug of the fact that says it (empty: a note does)."""
    for fact in index.facts:
        if any(slug_key(slug) == key for _, slug in references(without_code(fact.body))):
            yield INDEX, fact.line, fact.slug
    for note in memory.notes.values():
        for number, line in enumerate((note.text or "").split("\n"), 1):
            if any(slug_key(slug) == key for _, slug in references(without_code(line))):
                yield f"{NOTES}/{note.path}", number, ""


def _size(options: argparse.Namespace, place: Place) -> int:
    told = [_sizes(place, member) for member in place.members(options.members)]
    if options.json:
        print_json({"members": told})
        return 0
    for each in told:
        say(str(each["title"]))
        rows = [
            (
                row["what"],
                row["is"],
                "-" if row["budget"] is None else f"{row['budget']:g}",
                "yes" if row["over"] else "no",
            )
            for row in each["rows"]
        ]
        say(table(("what", "is", "budget", "over"), rows, indent="  "))
        named = ", ".join(f"{fact['slug']} (line {fact['line']}, {fact['chars']} characters)"
                          for fact in each["longest"])  # fmt: skip
        if named:
            say(f"  longest: {named}")
    return 0


def _sizes(place: Place, member: Member) -> dict[str, Any]:
    directory = place.directory(member)
    memory = read_memory(directory, bodies=False)
    index = parse_facts(memory.index or "", member.words)
    budgets = member.budgets
    tokens = measures_of(directory).count(memory.index or "")
    longest = max((fact.chars for fact in index.facts), default=0)
    rows = [
        ("facts", len(index.facts), None), ("notes", len(memory.notes), None),
        ("longest fact, characters", longest, budgets.max_fact_chars),
        (INDEX + ", bytes", memory.index_bytes, budgets.max_index_kb * KIB),
        (INDEX + ", tokens", tokens, budgets.max_index_tokens),
        (INDEX + ", tokens of a session's share", tokens, share_of(directory)),
        ("log/decisions.md, bytes", memory.decisions_bytes, budgets.max_decisions_kb * KIB),
    ]  # fmt: skip
    return {
        "handle": member.handle, "title": title(member), "longest": longest_of(index),
        "rows": [{"what": what, "is": size, "budget": budget,
                  "over": budget is not None and size > budget} for what, size, budget in rows],
    }  # fmt: skip
