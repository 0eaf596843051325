"""How the linter's result looks: for a terminal, grouped by member, and as the JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from apm_hooks.facts.config import Member
from apm_hooks.facts.lint import longest
from apm_hooks.facts.model import FactIndex, Memory
from apm_hooks.findings import Finding, Level
from apm_hooks.injection import show_invisible
from apm_hooks.reports import Section, counts, document, human, summary

_COLOURS = {Level.ERROR: "bold red", Level.WARNING: "yellow", Level.NOTE: "cyan"}


@dataclass(frozen=True, slots=True)
class Linted:
    """One member, linted: findings with paths from the root."""

    member: Member
    memory: Memory
    index: FactIndex
    findings: tuple[Finding, ...]

    @property
    def section(self) -> Section:
        """The findings as the reports take them, with the member's sizes."""
        memory = self.memory
        facts = (("facts", len(self.index.facts)), ("notes", len(memory.notes)),
                 ("index_bytes", memory.index_bytes), ("decisions_bytes", memory.decisions_bytes))  # fmt: skip
        return Section(title(self.member), self.findings, facts)


def title(member: Member) -> str:
    """A member as a heading: the handle, and the name where there is one."""
    return f"{member.handle} ({member.name})" if member.name else member.handle


def as_document(linted: Sequence[Linted]) -> dict[str, Any]:
    """What `--format json` prints: the reports' document, and for each section the member, its budgets and its longest
    facts."""
    told = document([each.section for each in linted])
    for section, each in zip(told["sections"], linted, strict=True):
        section["member"] = {"handle": each.member.handle, "name": each.member.name or None,
                             "dir": each.member.dir or ".", "repo": each.member.repo or None}  # fmt: skip
        section["budgets"] = asdict(each.member.budgets)
        section["longest"] = longest_of(each.index)
        section["counts"] = counts(each.findings)
    return told


def longest_of(index: FactIndex) -> list[dict[str, object]]:
    """The longest facts: slug, line, characters."""
    return [{"slug": fact.slug, "line": fact.line, "chars": fact.chars} for fact in longest(index)]


def plain(linted: Sequence[Linted]) -> str:
    """For a terminal without colours: the findings by member, then a line for each member."""
    told = human([each.section for each in linted])
    lines = [f"{show_invisible(title(each.member))}: {sizes(each)}" for each in linted]
    return "\n".join([told, "", *lines] if told else lines)


def sizes(each: Linted) -> str:
    """A member's counts and longest facts, in one line."""
    facts = len(each.index.facts)
    notes = len(each.memory.notes)
    kib = each.memory.index_bytes / 1024
    told = [f"{facts} fact{'' if facts == 1 else 's'}", f"{notes} note{'' if notes == 1 else 's'}", f"{kib:.1f} KiB",
            summary(each.findings)]  # fmt: skip
    named = ", ".join(show_invisible(f"{fact.slug} {fact.chars}") for fact in longest(each.index))
    return ", ".join(told) + (f"; longest: {named}" if named else "")


def coloured(linted: Sequence[Linted], console: Any) -> bool:
    """Print to a terminal with `rich`, which comes with the extra `facts`; False where it is not installed."""
    try:
        from rich.table import Table
        from rich.text import Text
    except ImportError:
        return False
    for each in linted:
        console.print(Text(show_invisible(title(each.member)), style="bold"), Text(sizes(each), style="dim"))
        if not each.findings:
            continue
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for found in each.findings:
            place = f"{found.path}:{found.line}:{found.column}" if found.line else found.path
            said = Text(_shown(found.sentence))
            if found.remedy:
                said.append(f"\n{_shown(found.remedy)}", style="dim")
            table.add_row(Text(f"  {_shown(place)}"), Text(found.level.value, style=_COLOURS[found.level]),
                          Text(found.rule, style="bold"), said)  # fmt: skip
        console.print(table)
    return True


def _shown(text: str) -> str:
    return " ".join(show_invisible(text).split())
