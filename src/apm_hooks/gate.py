"""The gate: what the protocol forbids cannot be done with an agent's own tools (protocol, sections 2, 8 and 11).

A denial, with a reason that says what to do instead, or no opinion: never "allow", so that the host's own permissions
still apply. What is judged is what could be told before the call: a link that is changed in between is not seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from apm_hooks import gate_texts
from apm_hooks.access import Calling
from apm_hooks.events import Verdict
from apm_hooks.gate_case import Case, Situation, shown
from apm_hooks.gate_memory import Reads, advice, memory_in_flush, protected_parts, reading, shrinking
from apm_hooks.gate_rules import coverage, outside, ownership, pulls_in, switches, too_many, untold
from apm_hooks.gate_shell import doubts, own_calls
from apm_hooks.mentions import crowded, mentioned

__all__ = ["RULES", "Judgement", "Situation", "judge", "judge_prompt"]


def _within_limits(case: Case) -> str:
    return reading(case)[0]


RULES: tuple[Callable[[Case], str], ...] = (
    too_many,
    untold,
    ownership,
    outside,
    switches,
    coverage,
    _within_limits,
    protected_parts,
    memory_in_flush,
    own_calls,
    doubts,
)
"""In this order; the first that gives a reason denies with it. That something is not theirs goes before how it may be
read, so that nobody is told to read an index that they may not see."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The gate's word on a tool call. Where it does not deny: `reads` is what of the scope's memory the call loads into
    the context, as (path, layer), for the ledger; `shrinks` are memory files that it would leave with less than half of
    their text, for a copy to be kept. Paths are relative to the workspace."""

    verdict: Verdict
    reads: Reads = ()
    shrinks: tuple[str, ...] = ()


def judge(calling: Calling, situation: Situation) -> Judgement:
    """What a tool call may do in this situation. Never raises for what files, paths or commands hold."""
    case = Case(calling, situation)
    for rule in RULES:
        reason = rule(case)
        if reason:
            return Judgement(Verdict(True, reason))
    reads = reading(case)[1]
    return Judgement(Verdict(False, advice=advice(case, reads)), reads, shrinking(case))


def judge_prompt(prompt: str, situation: Situation) -> Verdict:
    """Whether a prompt pulls in by mention what the scope may not read: no tool call happens for it (protocol, 8).

    A mention counts from the working directory, or from the workspace; a folder's is a plain listing.
    """
    case = Case(Calling(), situation)
    if not situation.owner and crowded(prompt):
        return Verdict(True, gate_texts.MENTIONS)
    folders = tuple(dict.fromkeys(folder for folder in (situation.cwd, situation.root) if folder))
    for path in mentioned(prompt):
        if any(pulls_in(case, path, folder) for folder in folders):
            return Verdict(True, gate_texts.MENTION.format(path=shown(path)))
    return Verdict(False)
