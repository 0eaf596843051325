"""Messages in, routed files out (protocol, sections 5 and 6), through the real hook command's own function."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from apm_hooks import fastlane, ledger
from apm_hooks.cli import hook
from apm_hooks.records import Source
from tests.workspaces import GROUP_KEY, Bench, bench, event, payload

ARGUMENTS = ["--host", "claude-code"]
GROUP_INDEX = """# Alpha

| scenario | file | priority |
|---|---|---|
| incident, outage | attention.md | P0 |
| architecture, database | project.md | P1 |
| lessons, postmortem | experience.md | P2 |
| api conventions | conventions/api.md | P2-L3 |
| who is responsible | people.md | P3 |
"""


def prompt(made: Bench, text: str, *, session_id: str = "s1", **more: object) -> dict[str, object]:
    return {**payload(made, session_id=session_id), "hook_event_name": "UserPromptSubmit", "prompt": text,
            "source": "sdk", **more}  # fmt: skip


def ask(made: Bench, given: Mapping[str, object], key: str | None = None) -> str:
    """What the model receives for an event."""
    env = made.env if key is None else {**made.env, "APM_SESSION": key}
    printed = hook.answer(ARGUMENTS, json.dumps(given).encode(), env)
    if not printed:
        return ""
    answer = json.loads(printed)["hookSpecificOutput"]
    assert answer["hookEventName"] == given["hook_event_name"]
    text = answer["additionalContext"]
    assert isinstance(text, str)
    return text


@pytest.fixture
def group(tmp_path: Path) -> Bench:
    made = bench(tmp_path)
    made.groups({"-100777": "alpha", "-100888": "beta"})
    made.write("memory/groups/alpha.md", GROUP_INDEX)
    for name in ("attention", "project", "experience", "people", "conventions/api"):
        made.write(f"memory/groups/alpha/{name}.md", f"# {name}\n\nword-of-{name.replace('/', '-')}\n")
    made.write("memory/groups/beta.md", "# Beta\n")
    made.trust()
    assert "# Alpha" in ask(made, payload(made), GROUP_KEY)
    return made


@pytest.fixture
def owner(tmp_path: Path) -> Bench:
    made = bench(tmp_path)
    made.write(
        "memory/main/index.md",
        "# Index\n\n| scenario | file | priority |\n|---|---|---|\n| current tasks | attention.md | P0 |\n"
        "| decisions, background | longterm.md | P1 |\n| taxes, accountant | projects/tax.md | P3 |\n",
    )
    made.write("memory/main/longterm.md", "word-of-longterm\n")
    made.write("memory/main/projects/tax.md", "word-of-tax\n")
    assert "ship the parser" in ask(made, payload(made))
    return made


def test_the_message_loads_the_one_file_of_the_best_row(group: Bench) -> None:
    text = ask(group, prompt(group, "which database does the architecture use?"), GROUP_KEY)
    assert "word-of-project" in text
    assert text.count("<apm-memory-") == 1
    assert 'layer="P1"' in text


def test_the_highest_priority_wins_among_rows_that_match(group: Bench) -> None:
    assert "word-of-attention" in ask(group, prompt(group, "is the database outage an incident?"), GROUP_KEY)


@pytest.mark.parametrize("text", ["good morning", "thanks!", "", "   ", "what a lovely sunset", "/compact now"])
def test_what_matches_nothing_loads_nothing(group: Bench, text: str) -> None:
    assert ask(group, prompt(group, text), GROUP_KEY) == ""


def test_messages_go_on_until_one_has_loaded_a_file_then_it_is_done(group: Bench) -> None:
    assert ask(group, prompt(group, "hello"), GROUP_KEY) == ""
    assert "word-of-project" in ask(group, prompt(group, "the architecture"), GROUP_KEY)
    assert ask(group, prompt(group, "who is responsible?"), GROUP_KEY) == ""


@pytest.mark.parametrize("source", ["compact", "clear"])
def test_a_new_epoch_loads_anew(group: Bench, source: str) -> None:
    ask(group, prompt(group, "the architecture"), GROUP_KEY)
    ask(group, payload(group, source=source), GROUP_KEY)
    assert "word-of-people" in ask(group, prompt(group, "who is responsible?"), GROUP_KEY)


def test_a_resumed_session_is_still_done(group: Bench) -> None:
    ask(group, prompt(group, "the architecture"), GROUP_KEY)
    ask(group, payload(group, source="resume"), GROUP_KEY)
    assert ask(group, prompt(group, "who is responsible?"), GROUP_KEY) == ""


def test_a_sub_file_row_is_a_route_of_its_own_and_ranks_after_p2(group: Bench) -> None:
    text = ask(group, prompt(group, "show the api conventions"), GROUP_KEY)
    assert "word-of-conventions-api" in text
    assert 'layer="L3"' in text


def test_a_p2_row_ranks_before_a_sub_file_row(group: Bench) -> None:
    text = ask(group, prompt(group, "postmortem of the api conventions"), GROUP_KEY)
    assert "word-of-experience" in text
    assert "word-of-conventions-api" not in text


def test_a_sub_file_that_the_file_refers_to_and_the_message_matches_comes_along(group: Bench) -> None:
    group.write("memory/groups/alpha/conventions/naming.md", "word-of-naming\n")
    group.write(
        "memory/groups/alpha/project.md",
        "# Project\n\n- names of tables: conventions/naming.md\n- [api](conventions/api.md)\n",
    )
    text = ask(group, prompt(group, "naming of tables in the database architecture"), GROUP_KEY)
    assert "word-of-naming" in text
    assert text.count("<apm-memory-") == 2
    assert "word-of-conventions-api" not in text


def test_a_sub_file_that_is_not_referred_to_stays_out(group: Bench) -> None:
    text = ask(group, prompt(group, "architecture and api conventions"), GROUP_KEY)
    assert text.count("<apm-memory-") == 1


@pytest.mark.parametrize(
    "head", ["---\nstatus: archived\n---\n# Attention\n", "# Attention [ARCHIVED]\n", "# 关注（已归档）\n"]
)
def test_archived_attention_is_passed_over_for_the_project_file(group: Bench, head: str) -> None:
    group.write("memory/groups/alpha/attention.md", f"{head}\nword-of-attention\n")
    text = ask(group, prompt(group, "the outage"), GROUP_KEY)
    assert "word-of-project" in text
    assert "word-of-attention" not in text
    assert 'layer="P1"' in text


def test_a_word_about_archives_does_not_archive(group: Bench) -> None:
    group.write("memory/groups/alpha/attention.md", "# Attention\n\nold tickets are [ARCHIVED]\nword-of-attention\n")
    assert "word-of-attention" in ask(group, prompt(group, "the outage"), GROUP_KEY)


def test_a_row_whose_file_is_missing_gives_way_to_the_next(group: Bench) -> None:
    (group.root / "memory/groups/alpha/attention.md").unlink()
    assert "word-of-project" in ask(group, prompt(group, "an outage of the database"), GROUP_KEY)


def test_a_session_that_moves_to_another_group_starts_again_there(group: Bench) -> None:
    ask(group, prompt(group, "the architecture"), GROUP_KEY)
    text = ask(group, prompt(group, "hello"), "agent:main:telegram:group:-100888")
    assert "no longer applies" in text
    assert "# Beta" in text
    assert "# Alpha" not in text


def test_a_session_that_moves_out_of_every_scope_is_told_and_gets_nothing(group: Bench) -> None:
    text = ask(group, prompt(group, "the architecture"), "agent:main:telegram:group:-1")
    assert "no longer applies" in text
    assert "apm-memory" not in text
    assert ask(group, prompt(group, "the architecture"), "agent:main:telegram:group:-1") == ""


def test_a_session_that_nobody_saw_start_starts_with_its_first_message(group: Bench) -> None:
    text = ask(group, prompt(group, "the architecture", session_id="new"), GROUP_KEY)
    assert "# Alpha" in text
    assert "word-of-project" in text


def test_a_subagents_prompt_loads_nothing(group: Bench) -> None:
    assert ask(group, prompt(group, "the architecture", agent_id="a1"), GROUP_KEY) == ""


def test_layer_two_comes_with_the_first_message_that_matches_a_file_not_loaded_yet(owner: Bench) -> None:
    assert ask(owner, prompt(owner, "current tasks?")) == ""
    text = ask(owner, prompt(owner, "what did the accountant say?"))
    assert "word-of-tax" in text
    assert 'layer="P3"' in text


def test_at_most_two_p_files_besides_the_index(owner: Bench) -> None:
    assert "word-of-longterm" in ask(owner, prompt(owner, "the background of it"))
    assert ask(owner, prompt(owner, "taxes and the accountant")) == ""


def test_a_host_without_message_events_gets_the_long_term_file_at_once(owner: Bench) -> None:
    runtime = owner.runtime()
    text = runtime.session_start(event(session_id="other", message_events=False)).injection.text
    assert text.index("ship the parser") < text.index("word-of-longterm")
    assert "word-of-longterm" not in runtime.session_start(event(session_id="third")).injection.text


def test_the_budget_covers_the_whole_epoch(group: Bench) -> None:
    group.write("memory/groups/alpha.md", GROUP_INDEX.replace("# Alpha", "---\nmemory_budget: 400\n---\n# Alpha"))
    group.write("memory/groups/alpha/project.md", "# Project\n" + "many words on the architecture\n" * 300)
    group.write("memory/groups/alpha.md", "---\nmemory_budget: 400\n---\n" + GROUP_INDEX)
    ask(group, payload(group, source="clear", session_id="s2"), GROUP_KEY)
    text = ask(group, prompt(group, "the architecture", session_id="s2"), GROUP_KEY)
    assert "left out" in text
    name = fastlane.session_name("claude-code", "s2", GROUP_KEY)
    epoch = ledger.read_epoch(str(group.root), name)
    assert 0 < epoch.spent <= epoch.budget == 400


def test_a_spent_budget_trips_the_breaker_and_is_told_once(group: Bench) -> None:
    group.write("memory/groups/alpha.md", "---\nmemory_budget: 230\n---\n" + GROUP_INDEX)
    ask(group, payload(group, source="clear", session_id="s2"), GROUP_KEY)
    told = [ask(group, prompt(group, "the architecture", session_id="s2"), GROUP_KEY) for _ in range(3)]
    assert "budget of this session is spent" in told[0]
    assert told[1:] == ["", ""]
    epoch = ledger.read_epoch(str(group.root), fastlane.session_name("claude-code", "s2", GROUP_KEY))
    assert epoch.tripped
    assert epoch.spent <= 230


def test_a_done_epoch_is_answered_by_the_lane(group: Bench) -> None:
    env = {**group.env, "APM_SESSION": GROUP_KEY}
    more = json.dumps(prompt(group, "who is responsible?")).encode()
    assert fastlane.answer(ARGUMENTS, more, env) is None
    ask(group, prompt(group, "the architecture"), GROUP_KEY)
    assert fastlane.answer(ARGUMENTS, more, env) is None, "the turn before had no end yet"
    ask(group, payload(group, hook_event_name="Stop"), GROUP_KEY)
    assert fastlane.answer(ARGUMENTS, more, env) == b""
    assert fastlane.answer(ARGUMENTS, more, env) is None, "nor has this one"
    ask(group, payload(group, hook_event_name="Stop"), GROUP_KEY)
    other = {**group.env, "APM_SESSION": "agent:main:telegram:group:-100888"}
    assert fastlane.answer(ARGUMENTS, more, other) is None
    group.settings('timezone = "UTC"\n')
    assert fastlane.answer(ARGUMENTS, more, env) is None


def test_todays_and_yesterdays_notes_come_after_attention_by_the_calendar_of_the_zone(tmp_path: Path) -> None:
    made = bench(tmp_path, settings='timezone = "Asia/Shanghai"\n')
    for day in ("2026-04-10", "2026-04-11", "2026-04-12", "2026-04-13", "2026-04-12-standup"):
        made.write(f"memory/{day}.md", f"note of {day}\n")
    late = 1_775_937_180.0  # 2026-04-11T19:53Z, already the 12th in Shanghai
    text = made.runtime(clock=lambda: late).session_start(event()).injection.text
    order = [
        text.index(part) for part in ("ship the parser", "note of 2026-04-12\n", "note of 2026-04-11", "last flush")
    ]
    assert order == sorted(order)
    assert not any(f"note of {day}" in text for day in ("2026-04-10", "2026-04-13", "2026-04-12-standup"))


@pytest.mark.parametrize(("clock", "day"), [(1_772_947_800.0, "2026-03-07"), (1_793_507_400.0, "2026-10-31")])
def test_yesterday_is_a_calendar_day_also_when_the_clocks_change(tmp_path: Path, clock: float, day: str) -> None:
    made = bench(tmp_path, settings='timezone = "America/New_York"\n')
    made.write(f"memory/{day}.md", "note of yesterday\n")
    assert "note of yesterday" in made.runtime(clock=lambda: clock).session_start(event()).injection.text


def test_daily_notes_keep_within_a_third_of_the_budget(tmp_path: Path) -> None:
    made = bench(tmp_path, settings='timezone = "UTC"\n')
    made.write("memory/main/index.md", "---\nmemory_budget: 1500\n---\n# Index\n")
    made.write("memory/2026-01-01.md", "a busy day with words\n" * 900)
    made.write("memory/2025-12-31.md", "another busy day with words\n" * 900)
    runtime = made.runtime(clock=lambda: 1_767_261_600.0)
    loaded = runtime.session_start(event())
    notes = sum(step.tokens for step in loaded.steps if step.step == "daily note")
    assert 250 < notes <= 500


def test_a_prepared_start_does_not_outlive_its_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from apm_hooks.records import Limits

    monkeypatch.setattr(hook, "LIMITS", Limits(racy_ns=-(10**18)))
    made = bench(tmp_path, settings='timezone = "UTC"\n')
    data = json.dumps(payload(made)).encode()
    first = hook.answer(ARGUMENTS, data, made.env)
    assert fastlane.answer(ARGUMENTS, data, made.env) == first
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 86_400)
    assert fastlane.answer(ARGUMENTS, data, made.env) is None
    monkeypatch.setattr("time.time", lambda: now - 86_400)
    assert fastlane.answer(ARGUMENTS, data, made.env) is None


@pytest.mark.parametrize("source", list(Source))
def test_every_source_starts_with_the_index(owner: Bench, source: Source) -> None:
    assert "memory/main/index.md" in ask(owner, payload(owner, source=source.value, session_id=f"x-{source}"))
