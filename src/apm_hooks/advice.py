"""A flush, as its agent is told of it: the facts of the moment, made into a directive that fits."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from apm_hooks.directive import DirectiveFacts, build
from apm_hooks.engine import Engine
from apm_hooks.errors import ApmError, MemoryFileError
from apm_hooks.facts.model import INDEX
from apm_hooks.files import stamp
from apm_hooks.findings import Level
from apm_hooks.flusher import Live
from apm_hooks.flushrecords import FlushReport, PendingKind, Trigger
from apm_hooks.ledger import Epoch
from apm_hooks.records import DM, Bound, Injection, Scope


def advise(
    engine: Engine, live: Live, report: FlushReport, *, text: str, usage_percent: float | None, epoch: Epoch,
    caps: Sequence[Bound],
) -> Injection:  # fmt: skip
    """The directive for `report`, within what is left of the epoch's budget and the host's caps; empty where not even
    its first line fits. `text` stood behind `/remem`."""
    initialised, findings = _index_of(engine, live.scope)
    facts_found, prune = _facts_of(engine, live)
    # The first record of a scope has nothing to compare with: all of its files would seem to have changed.
    changed = report.delta.changed if (report.number or 0) > 1 else ()
    facts = DirectiveFacts(
        trigger=report.trigger, number=report.number or 0, scope=live.scope, initialised=initialised,
        changed=changed, changes=len(changed), pending=report.pending,
        missed=any(item.kind is PendingKind.MISSED for item in report.pending),
        findings=findings + facts_found, prune=prune, user_text=text,
        usage_percent=usage_percent, refused=report.delta.refused,
        plugin_lines=tuple(line for answer in report.answers if (line := " ".join(answer.directive.split()))),
        message_follows=report.trigger is Trigger.PRE_COMPACTION,
    )  # fmt: skip
    limit = engine.limits.directive_tokens
    if epoch.begun:
        limit = min(limit, epoch.budget - epoch.spent)
    words = build(facts, count=engine.count, limit_tokens=limit, caps=caps)
    if not words:
        return Injection()
    return Injection(words, engine.count(words), blake2b(words.encode(), digest_size=16).hexdigest())


def _facts_of(engine: Engine, live: Live) -> tuple[tuple[tuple[str, int, str], ...], bool]:
    """What is to be mended in the owner's fact index, where there is one, and whether it is over a budget: then that
    comes first. What cannot be read costs its findings alone."""
    if live.scope != DM:
        return (), False
    try:
        if stamp(engine.root, INDEX) is None:
            return (), False
        from apm_hooks.facts.boot import OVER_BUDGET
        from apm_hooks.facts.desk import checks_of, read_memory
        from apm_hooks.facts.lint import lint
        from apm_hooks.facts.members import own_member

        member = own_member(engine.root)
        checks = checks_of(engine.root, member, engine.today(), engine.count, engine.count)
        found = lint(read_memory(engine.root, limits=engine.limits), checks)
    except ApmError as error:
        engine.journal.log(error.code, live.decision, str(error))
        return (), False
    found = tuple(sorted(found, key=lambda each: (each.rule not in OVER_BUDGET, each.level is not Level.ERROR)))
    lines = tuple((each.path, each.line, f"{each.sentence} {each.remedy}") for each in found)
    return lines, any(each.rule in OVER_BUDGET for each in found)


def _index_of(engine: Engine, scope: Scope) -> tuple[bool, tuple[tuple[str, int, str], ...]]:
    """Whether the scope has an index, and what is to be mended in it."""
    try:
        index = engine.index(scope)
    except MemoryFileError as error:
        return True, ((scope.index_path, 0, error.cause),)
    if index is None:
        return False, ()
    return True, tuple((scope.index_path, problem.line, problem.text) for problem in index.problems)
