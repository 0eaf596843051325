"""Rules of a resumed context: same bytes, one notice, nothing after the breaker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from apm_hooks import engine, fastlane, ledger, texts
from apm_hooks.records import Source
from apm_hooks.tokens import Counter
from tests.workspaces import GROUP_KEY, Bench, event

TABLE = """
| scenario | file | priority |
|---|---|---|
| database | project.md | P1 |
| decisions | longterm.md | P1 |
"""
LONG = "# Long\n" + "".join(f"line {number} of some words on the database\n" for number in range(400))


@pytest.fixture(autouse=True)
def quick_counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A counter that needs no ranks."""
    quarter = Counter("o200k_base", exact=True, measure=lambda text: -(-len(text) // 4))
    monkeypatch.setattr(engine, "load_counter", lambda encoding, *, cache_dir: quarter)
    yield


@pytest.fixture
def alpha(made: Bench) -> Bench:
    made.groups({"-100777": "alpha"})
    for path in ("groups/alpha/project", "main/attention", "main/longterm"):
        made.write(f"memory/{path}.md", LONG)
    made.trust()
    return made


def index(made: Bench, budget: int, word: str) -> None:
    for path in ("memory/groups/alpha.md", "memory/main/index.md"):
        made.write(path, f"---\nmemory_budget: {budget}\n---\n# {word}\n{TABLE}")


@pytest.mark.parametrize("key", ["agent:main:cron:x", GROUP_KEY, None])
def test_a_notice_is_not_repeated_to_a_context_that_holds_it(alpha: Bench, key: str | None) -> None:
    (alpha.root / "memory/main/index.md").unlink()
    one = alpha.runtime()
    said = [one.session_start(event(key, source=source)).injection.text
            for source in (Source.STARTUP, Source.RESUME, Source.RESUME, Source.CLEAR, Source.COMPACT)]  # fmt: skip
    assert said[1:3] == ["", ""]
    assert said[0] == said[3] != ""
    # What the compaction, of which nobody was told before, leaves to be settled stands below.
    assert said[4].startswith(said[0])


def test_a_resume_gives_the_text_that_was_cut_to_what_was_left(alpha: Bench) -> None:
    for budget in range(300, 900, 40):
        one, name = alpha.runtime(), f"s{budget}"
        index(alpha, budget, "One")
        one.session_start(event(session_id=name))
        index(alpha, budget, "Two")
        first = one.session_start(event(session_id=name, source=Source.RESUME))
        again = [one.session_start(event(session_id=name, source=Source.RESUME)) for _ in range(3)]
        assert {each.injection.text for each in again} <= {first.injection.text if first.injection.files else ""}


@pytest.mark.parametrize(("key", "message"), [(None, "decisions"), (GROUP_KEY, "database")])
def test_nothing_follows_a_tripped_breaker_on_resume(alpha: Bench, key: str | None, message: str) -> None:
    trips = 0
    for budget in range(120, 420, 8):
        index(alpha, budget, "One")
        one, name = alpha.runtime(), f"x{budget}"
        said = [one.session_start(event(key, session_id=name)),
                one.message_received(event(key, session_id=name, message=message))]  # fmt: skip
        tripped = any(loaded.tripped for loaded in said)
        index(alpha, 4_000, "Two")
        resumed = one.session_start(event(key, session_id=name, source=Source.RESUME))
        told = sum(loaded.injection.text.count(texts.BUDGET_SPENT) for loaded in [*said, resumed])
        if tripped:
            trips += 1
            assert told == 1
            assert resumed.injection.text == ""
        spent = ledger.read_epoch(str(alpha.root), fastlane.session_name("claude-code", name, key)).spent
        assert spent == sum(loaded.injection.tokens for loaded in [*said, resumed])
    assert trips > 5


def test_no_message_follows_a_start_that_tripped_the_breaker(alpha: Bench) -> None:
    alpha.write("memory/main/longterm.md", "y\n")
    trips = 0
    for budget in range(120, 420, 5):
        index(alpha, budget, "One")
        loaded = alpha.runtime().message_received(event(session_id=f"x{budget}", message="decisions"))
        trips += loaded.tripped
        assert loaded.injection.text.count(texts.BUDGET_SPENT) == loaded.tripped
        if loaded.tripped:
            assert [step.verdict for step in loaded.steps if step.path][-1] == "skipped"
    assert trips > 5


def test_without_a_ledger_a_message_loads_nothing(alpha: Bench) -> None:
    index(alpha, 4_000, "One")
    (alpha.root / ".apm").write_text("in the way")
    one = alpha.runtime()
    assert "# One" in one.session_start(event()).injection.text
    assert [one.message_received(event(message=text)).injection.text for text in ("hi", "decisions")] == ["", ""]
