"""The fact index in the owner's session: its share at the start, the note in play, and what a flush says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from apm_hooks.records import LIMITS, Loaded
from apm_hooks.runtime import Runtime
from tests.workspaces import GROUP_KEY, INDEX, Bench, bench, event

FACTS = "memory/INDEX.md"
DAY = "2026-01-01"
FACT = "- **`{slug}`** · [derived] {text} **So:** {so}{note}"


def fact(slug: str, text: str = "The quay is long.", so: str = "ships fit.", note: str = "") -> str:
    return FACT.format(slug=slug, text=text, so=so, note=f" · [note](notes/{note}.md)" if note else "")


@pytest.fixture
def made(tmp_path: Path) -> Bench:
    made = bench(tmp_path)
    made.write(FACTS, "# Facts\n\n" + fact("quay-length", note="quay-length") + "\n" + fact("tide-table") + "\n")
    made.write("memory/notes/quay-length.md", "# Quay\n\nMeasured twice with the long tape.\n")
    return made


def started(made: Bench, **more: object) -> Loaded:
    return made.runtime().session_start(event(**more))  # type: ignore[arg-type]


def told(made: Bench, runtime: Runtime, message: str, key: str | None = None) -> str:
    return runtime.message_received(event(key, message=message)).injection.text


def test_the_index_is_injected_into_the_owners_session_after_the_progressive_files(made: Bench) -> None:
    text = started(made).injection.text
    assert "quay-length" in text
    assert text.index("ship the parser") < text.index("quay-length")
    assert "long tape" not in text, "a note comes only when its fact is in play"


def test_without_one_nothing_is_said_of_it(tmp_path: Path) -> None:
    loaded = started(bench(tmp_path))
    assert FACTS not in loaded.injection.text
    assert all(step.path != FACTS for step in loaded.steps)
    assert FACTS in loaded.inputs, "a kept answer ends when there is one"


def test_a_group_gets_nothing_of_it(made: Bench) -> None:
    made.groups({"-100777": "alpha"})
    made.write("memory/groups/alpha.md", INDEX)
    made.trust()
    runtime = made.runtime()
    assert "quay" not in runtime.session_start(event(GROUP_KEY)).injection.text
    assert "quay" not in told(made, runtime, "What about `quay-length`?", GROUP_KEY)


def test_it_keeps_within_its_share_and_says_so(made: Bench) -> None:
    made.write(FACTS, "\n".join(fact(f"fact-{number}") for number in range(2000)))
    loaded = started(made)
    spent = next(step.tokens for step in loaded.steps if step.path == FACTS)
    assert 0 < spent <= LIMITS.dm_budget_tokens * LIMITS.facts_share
    assert "left out" in loaded.injection.text
    assert loaded.injection.tokens <= LIMITS.dm_budget_tokens
    assert not loaded.tripped


def test_the_progressive_files_leave_its_share(made: Bench) -> None:
    made.write("memory/main/attention.md", "# Attention\n\n" + "A long line about the harbour and its ships.\n" * 4000)
    loaded = started(made)
    tokens = {step.path: step.tokens for step in loaded.steps if step.verdict == "loaded"}
    progressive = sum(count for path, count in tokens.items() if path.startswith("memory/main/"))
    assert progressive <= LIMITS.dm_budget_tokens * LIMITS.progressive_share
    assert tokens[FACTS] > 0


def test_what_the_progressive_files_do_not_use_is_its_own_where_no_more_of_them_come(made: Bench) -> None:
    made.write(FACTS, "\n".join(fact(f"fact-{number}") for number in range(2000)))
    spent = [next(step.tokens for step in started(made, message_events=events).steps if step.path == FACTS)
             for events in (True, False)]  # fmt: skip
    assert spent[1] > spent[0] * 2


def test_facts_that_are_due_are_named(made: Bench) -> None:
    lines = [
        fact("old-price", "A berth costs 40. review: 2025-12-31"),
        fact("new-price", "It is 50. review: 2026-01-02"),
    ]
    made.write(FACTS, "\n".join(lines) + "\n")
    text = started(made).injection.text
    assert "old-price (2025-12-31)" in text
    assert "new-price (" not in text


@pytest.mark.parametrize("message", ["Is `quay-length` right?", "quay-length: still true?", "How long is the quay?"])
def test_the_note_comes_when_its_fact_is_in_play_once(made: Bench, message: str) -> None:
    runtime = made.runtime()
    runtime.session_start(event())
    assert "long tape" in told(made, runtime, message)
    assert "long tape" not in told(made, runtime, message)


def test_a_message_about_something_else_brings_no_note(made: Bench) -> None:
    runtime = made.runtime()
    runtime.session_start(event())
    assert "long tape" not in told(made, runtime, "What shall we eat?")


def test_a_note_and_a_progressive_file_may_come_with_one_message(made: Bench) -> None:
    made.write("memory/main/longterm.md", "# Decisions\n\nUse the north gate.\n")
    runtime = made.runtime()
    runtime.session_start(event())
    text = told(made, runtime, "Which decisions touch `quay-length`?")
    assert "north gate" in text
    assert "long tape" in text
    assert made.runtime().message_received(event(message="decisions again")).done, "nothing more comes in this epoch"


def test_a_flush_names_what_is_wrong_in_it_and_asks_for_pruning_first(made: Bench) -> None:
    made.write(FACTS, fact("quay-length", so="") + "\n" + "\n".join(fact(f"f-{at}", "x" * 300) for at in range(100)))
    report = made.runtime().flush(event(), "remem")
    text = report.directive.text
    assert "over its budget" in text
    assert text.index("24 KiB") < text.index("memory/INDEX.md:1")


def test_its_budgets_stand_in_the_workspaces_own_settings(made: Bench) -> None:
    made.settings("[facts]\nmax_fact_chars = 40\n")
    text = made.runtime().flush(event(), "remem").directive.text
    assert "memory/INDEX.md:3" in text
    made.settings("[facts]\nmax_fact_chars = 0\n")
    assert "memory/INDEX.md:3" not in made.runtime().flush(event(), "remem").directive.text
    assert "max_fact_chars" in "".join(made.state_files().values())


def test_a_clean_index_adds_nothing_to_a_flush(made: Bench) -> None:
    text = made.runtime().flush(event(), "remem").directive.text
    assert "over its budget" not in text
    assert "finding memory/INDEX.md" not in text


def test_an_index_that_cannot_be_read_costs_its_findings_alone(made: Bench) -> None:
    (made.root / FACTS).unlink()
    (made.root / FACTS).mkdir()
    runtime = made.runtime()
    assert "ship the parser" in runtime.session_start(event()).injection.text
    assert runtime.flush(event(), "remem").directive.text
