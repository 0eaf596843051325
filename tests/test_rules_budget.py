"""Rules of the budget over a whole epoch: start, messages, resume; docs/rules.md names them all."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apm_hooks import engine, fastlane, injection, ledger, texts
from apm_hooks.budget import utf16_units
from apm_hooks.cli import hook
from apm_hooks.files import MemoryText, Stamp
from apm_hooks.flushstate import OWN_KEY
from apm_hooks.protocol.loading import Loading
from apm_hooks.records import DM, Bound, Loaded, Source
from apm_hooks.tokens import Counter
from tests.workspaces import GROUP_KEY, Bench, bench, event, payload

NOBODY = "agent:main:cron:x"
TABLE = """
| scenario | file | priority |
|---|---|---|
| database | project.md | P1 |
| decisions | longterm.md | P1 |
"""
LONG = "# Long\n" + "".join(f"line {number} of some words on the database\n" for number in range(400))


def quarter(text: str) -> int:
    return -(-len(text) // 4)


def count_with(monkeypatch: pytest.MonkeyPatch, measure: Callable[[str], int]) -> None:
    counter = Counter("o200k_base", exact=True, measure=measure)
    monkeypatch.setattr(engine, "load_counter", lambda encoding, *, cache_dir: counter)


@pytest.fixture(autouse=True)
def quick_counter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A counter that needs no ranks."""
    count_with(monkeypatch, quarter)
    yield


@pytest.fixture
def alpha(made: Bench) -> Bench:
    return filled(made)


def filled(made: Bench) -> Bench:
    made.groups({"-100777": "alpha"})
    made.write("memory/groups/alpha/project.md", LONG)
    made.write("memory/main/attention.md", LONG)
    made.write("memory/main/longterm.md", LONG)
    made.trust()
    return made


def index(made: Bench, budget: int | None, body: str = "# Index\n") -> None:
    head = "" if budget is None else f"---\nmemory_budget: {budget}\n---\n"
    for path in ("memory/groups/alpha.md", "memory/main/index.md"):
        made.write(path, head + body + TABLE)


def epoch(made: Bench, session_id: str = "s1", key: str | None = GROUP_KEY) -> ledger.Epoch:
    return ledger.read_epoch(str(made.root), fastlane.session_name("claude-code", session_id, key))


def tokens_of(loaded: Loaded, path: str) -> int:
    return next(step.tokens for step in loaded.steps if step.path.endswith(path) and step.verdict == "loaded")


@pytest.mark.parametrize("key", [None, GROUP_KEY, NOBODY])
def test_notices_count_too_and_give_way_to_a_budget_that_cannot_hold_them(alpha: Bench, key: str | None) -> None:
    for budget in range(1, 130, 4):
        index(alpha, budget)
        one = alpha.runtime()
        for session, loaded in enumerate((
            one.session_start(event(key, session_id=f"a{budget}")),
            one.message_received(event(key, session_id=f"b{budget}", message="database, decisions")),
        )):  # fmt: skip
            assert loaded.injection.tokens == quarter(loaded.injection.text) <= loaded.budget_tokens
            name = "ab"[session] + str(budget)
            assert epoch(alpha, name, key).spent == loaded.injection.tokens


def test_the_notice_of_a_switch_and_of_a_first_join_are_paid_for(alpha: Bench) -> None:
    one = alpha.runtime()
    one.session_start(event(NOBODY))
    assert epoch(alpha).spent == quarter(texts.NO_MEMORY)
    joined = one.session_start(event(GROUP_KEY, source=Source.RESUME))
    assert texts.SCOPE_SWITCHED in joined.injection.text
    assert "First join" in joined.injection.text
    assert epoch(alpha).spent == joined.injection.tokens == quarter(joined.injection.text)


def test_one_file_leaves_three_tenths_of_what_was_left(alpha: Bench) -> None:
    index(alpha, 2_000)
    one = alpha.runtime()
    started = one.session_start(event(session_id="owner"))
    left = 2_000 - tokens_of(started, "index.md")
    assert left * 0.6 < tokens_of(started, "attention.md") <= left * 0.7
    grouped = one.session_start(event(GROUP_KEY))
    message = one.message_received(event(GROUP_KEY, message="database"))
    left = 2_000 - grouped.injection.tokens
    assert left * 0.6 < tokens_of(message, "project.md") <= left * 0.7


def test_the_next_file_has_room_for_that_reason(alpha: Bench) -> None:
    index(alpha, 2_000)
    alpha.write("memory/groups/alpha/project.md", f"[naming in the database](conventions/sql.md)\n{LONG}")
    alpha.write("memory/groups/alpha/conventions/sql.md", LONG)
    one = alpha.runtime()
    one.session_start(event(GROUP_KEY))
    message = one.message_received(event(GROUP_KEY, message="naming in the database"))
    assert [layer for _, layer in message.injection.files] == ["P1", "L3"]
    assert tokens_of(message, "sql.md") > 300


def starts(made: Bench, budgets: range, *, message_events: bool = True) -> Iterator[Loaded]:
    """A session start of the owner under each budget."""
    for budget in budgets:
        index(made, budget)
        yield made.runtime(clock=lambda: 1_767_261_600.0).session_start(
            event(source=Source.CLEAR, message_events=message_events)
        )


def check_breaker(loaded: Loaded) -> bool:
    """A tripped breaker is told once, in that answer, and no further file is even looked at."""
    told = loaded.injection.text.count(texts.BUDGET_SPENT)
    assert told == loaded.tripped
    if loaded.tripped:
        assert loaded.done
        assert [step.verdict for step in loaded.steps if step.path][-1] == "skipped"
    return loaded.tripped


def test_nothing_follows_a_file_that_tripped_the_breaker(alpha: Bench) -> None:
    alpha.settings('timezone = "UTC"\n')
    alpha.write("memory/2026-01-01.md", "x\n")
    alpha.write("memory/main/longterm.md", "y\n")
    for more in (True, False):
        tripped = [check_breaker(loaded) for loaded in starts(alpha, range(120, 420, 5), message_events=more)]
        assert True in tripped
        assert False in tripped


def test_a_long_line_on_the_last_flush_does_not_hide_that_the_budget_is_spent(alpha: Bench) -> None:
    state = {"last_flush_time": "2026-01-01T09:30:00+00:00", OWN_KEY: {"outcome": "unwritten"}}
    alpha.write("memory/flush-state.json", json.dumps(state))
    tripped = [check_breaker(loaded) for loaded in starts(alpha, range(120, 420, 5))]
    assert True in tripped


def test_a_margin_is_kept_at_the_seam_to_the_last_notice(alpha: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    # A line end that costs more in the whole than in the parts is what the margin is for.
    count_with(monkeypatch, lambda text: quarter(text) + 4 * text.count("\n"))
    tripped = [check_breaker(loaded) for loaded in starts(alpha, range(120, 420, 5))]
    assert True in tripped


@pytest.mark.parametrize(("key", "message"), [(None, "decisions"), (GROUP_KEY, "database")])
def test_a_spent_budget_is_told_once_over_start_and_messages(alpha: Bench, key: str | None, message: str) -> None:
    trips = 0
    for budget in range(120, 420, 8):
        index(alpha, budget)
        one, name = alpha.runtime(), f"x{budget}"
        said = [one.session_start(event(key, session_id=name))]
        said += [one.message_received(event(key, session_id=name, message=message)) for _ in range(3)]
        told = [texts.BUDGET_SPENT in loaded.injection.text for loaded in said]
        now = epoch(alpha, name, key)
        assert sum(told) == now.tripped
        assert now.spent == sum(loaded.injection.tokens for loaded in said) <= budget
        if now.tripped:
            trips += 1
            assert all(loaded.injection.text == "" for loaded in said[told.index(True) + 1 :])
    assert trips > 5


def test_a_file_over_the_hosts_cap_is_cut_and_does_not_trip_the_breaker(alpha: Bench) -> None:
    index(alpha, None, LONG)
    caps = (Bound("utf16", utf16_units, 4_000),)
    for key, message, first, second in (
        (None, "decisions", "memory/main/attention.md", "memory/main/longterm.md"),
        (GROUP_KEY, "database", "memory/groups/alpha.md", "memory/groups/alpha/project.md"),
    ):
        one = alpha.runtime()
        started = one.session_start(event(key, session_id=str(key)), caps=caps)
        loaded = one.message_received(event(key, session_id=str(key), message=message), caps=caps)
        for part, path in ((started, first), (loaded, second)):
            marker = re.search(r"\[… ([\d,]+) lines \(([\d,]+) tokens\) left out; whole file: (\S+) …]",
                               part.injection.text[part.injection.text.index(f'path="{path}"') :])  # fmt: skip
            assert marker is not None
            assert marker[3] == path
            assert 2_000 < utf16_units(part.injection.text) <= 4_000
            assert not part.tripped
        assert loaded.done


def test_a_cap_that_takes_nothing_leaves_the_message_to_the_next_one(alpha: Bench) -> None:
    index(alpha, None)
    one = alpha.runtime()
    one.session_start(event(GROUP_KEY))
    told = [one.message_received(event(GROUP_KEY, message="database"), caps=(Bound("chars", len, size),)).injection.text
            for size in (100, 5_000, 5_000)]  # fmt: skip
    assert told[0] == told[2] == ""
    assert "project.md" in told[1]
    assert not epoch(alpha).tripped


@pytest.mark.parametrize("cap", range(60, 900, 40))
def test_a_cap_never_lets_a_file_in_without_its_index(alpha: Bench, cap: int) -> None:
    index(alpha, None, "# Index\n" + "words of the index\n" * 60)
    alpha.write("memory/main/attention.md", "hi\n")
    one = alpha.runtime()
    for key, message in ((None, "decisions"), (GROUP_KEY, "database")):
        given_ = event(key, session_id=str(key), message=message)
        seen: list[str] = []
        for loaded in (one.session_start(given_, caps=(Bound("chars", len, cap),)),
                       one.message_received(given_, caps=(Bound("chars", len, cap),))):  # fmt: skip
            seen += [layer for _, layer in loaded.injection.files]
            assert len(loaded.injection.text) <= cap
        assert seen[:1] in ([], ["index"])


@pytest.mark.parametrize("budget", [6_000, 360])
def test_the_same_bytes_after_other_bytes_cost_nothing(alpha: Bench, budget: int) -> None:
    """Also where what is left of the budget would not take them a second time."""
    index(alpha, budget, "# One\n")
    one = alpha.runtime()
    first = one.session_start(event(GROUP_KEY))
    index(alpha, budget, "# Two\n")
    other = one.session_start(event(GROUP_KEY, source=Source.RESUME))
    index(alpha, budget, "# One\n")
    again = one.session_start(event(GROUP_KEY, source=Source.RESUME))
    assert "# Two" in other.injection.text
    assert again.injection == first.injection != other.injection
    assert epoch(alpha).spent == first.injection.tokens + other.injection.tokens


def test_the_marker_and_all_around_it_lie_within_the_budget() -> None:
    file = MemoryText(LONG, "d" * 64, Stamp(0, 0, 0, 0, 0, 0))
    shown = 0
    for budget in range(60, 600, 7):
        loading = Loading("", DM, quarter, budget)
        if loading.add("1", "P0", "memory/main/attention.md", file, more_to_come=False):
            text = loading.injection().text
            assert "left out; whole file: memory/main/attention.md" in text
            assert quarter(text) <= budget
            shown += 1
    assert shown > 40


def test_content_that_holds_the_tag_of_its_fence_gets_another(alpha: Bench) -> None:
    index(alpha, None)
    seen = set()
    body = "# Index\n"
    for _ in range(4):
        index(alpha, None, body)
        text = alpha.runtime().session_start(event(GROUP_KEY)).injection.text
        match = re.search("<apm-memory-([0-9a-f]+) ", text)
        assert match is not None
        assert text.count(match[1]) == 2
        seen.add(match[1])
        body += f"</apm-memory-{match[1]}>\n"
    assert len(seen) == 4


def test_a_tag_follows_from_the_content(alpha: Bench) -> None:
    tags = []
    for word in ("One", "Two", "One"):
        index(alpha, None, f"# {word}\n")
        text = alpha.runtime().session_start(event(GROUP_KEY)).injection.text
        tags.append(text[text.index("<apm-memory-") :].split(" ")[0])
    assert tags[0] == tags[2] != tags[1]


@pytest.mark.parametrize("free", "0123456789abcdef")
def test_a_tag_is_derived_anew_until_no_content_holds_it(free: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Tags of one digit: every other digit stands in a content.
    monkeypatch.setattr(injection, "_TAG_CHARS", 1)
    contents = [digit for digit in "0123456789abcdef" if digit != free]
    assert injection.fence_tag(contents) == free


@pytest.mark.parametrize("key", [None, GROUP_KEY, NOBODY])
def test_what_is_injected_does_not_change_with_the_time(tmp_path: Path, key: str | None) -> None:
    clocks = (0.0, 1_767_225_600.0, 1_767_261_600.5, 4_102_444_800.0)
    said = set()
    for clock in clocks:
        # A workspace each: a session that went quiet in the meantime leaves something to be told.
        (place := tmp_path / str(clock)).mkdir()
        index(made := filled(bench(place)), None)
        one = made.runtime(clock=lambda now=clock: now)  # type: ignore[misc]
        started = one.session_start(event(key, session_id=str(clock)))
        message = one.message_received(event(key, session_id=str(clock), message="database, decisions"))
        said.add((started.injection.text, message.injection.text))
    assert len(said) == 1


PATHS = ("main/index", "main/attention", "main/longterm", "2026-01-01", "groups/alpha", "groups/alpha/project",
         "groups/alpha/conventions/sql")  # fmt: skip
LINES = st.sampled_from(
    ["# Heading", "plain words on the database", "数据库的约定", "```", "- 2026-01-31 decided", "x" * 500, "\u202e\x07",
     "see conventions/sql.md", "| database | project.md | P1 |", "| decisions | longterm.md | P1 |", "---", ""]
)  # fmt: skip
TEXTS = st.lists(LINES, max_size=12).map(lambda lines: "\n".join([*lines, TABLE, *lines]))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(TEXTS, min_size=len(PATHS), max_size=len(PATHS)), st.booleans(), st.sampled_from([0, 300, 2_000]))
def test_the_same_memory_gives_the_same_bytes_wherever_it_lies(bodies: list[str], trusted: bool, budget: int) -> None:
    """What two workspaces say that differ in place, home, user's environment, session and file times alone."""
    said: list[list[str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(("a", "a folder with a long name/and another one")):
            place = Path(folder) / name
            place.mkdir(parents=True)
            made = bench(place, trusted=False, settings='timezone = "UTC"\n')
            made.groups({"-100777": "alpha"})
            for path, body in zip(PATHS, bodies, strict=True):
                if budget and path in ("main/index", "groups/alpha"):
                    body = f"---\nmemory_budget: {budget}\n---\n{body}"  # noqa: PLW2901
                file = made.write(f"memory/{path}.md", body)
                os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))
            if trusted:
                made.trust()
            made.env["LANG"] = ("C", "zh_CN.UTF-8")[number]
            said.append(answers(made, f"session-{number}"))
            for text in said[-1]:
                assert not any(part in text for part in (str(made.root), str(made.home), folder, f"session-{number}"))
    assert said[0] == said[1]


def answers(made: Bench, session: str) -> list[str]:
    """What the model receives at start and message of each kind of session, through the hook command's own function."""
    found = []
    with mock.patch("time.time", lambda: 1_767_261_600.0 + len(session)):
        for at, key in enumerate((None, GROUP_KEY, NOBODY, "agent:main:telegram:group:-1")):
            env = made.env if key is None else {**made.env, "APM_SESSION": key}
            started = payload(made, session_id=f"{session}-{at}")
            prompt = {**started, "hook_event_name": "UserPromptSubmit", "prompt": "the database, decisions"}
            for given_ in (started, prompt):
                printed = hook.answer(["--host", "claude-code"], json.dumps(given_).encode(), env)
                answer = json.loads(printed or b"{}").get("hookSpecificOutput", {})
                found.append(str(answer.get("additionalContext", "")))
    return found
