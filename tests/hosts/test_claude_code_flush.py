"""Flushes in the real Claude Code: what is recorded, what the model is told of it, and what the next start says."""

from __future__ import annotations

import json
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from apm_hooks import directive_texts as told
from apm_hooks.records import DM, Scope, ScopeKind

from .claude import Claude, wait_for
from .fake_anthropic import FakeAnthropic, Kind, Request
from .flushes import (
    age,
    ask_program,
    book_of,
    call,
    directives,
    events_that_came,
    instructions,
    is_quiet,
    last_flush_told,
    marks,
    outcomes,
    pending,
    pending_told,
    told_after_compaction,
    write,
)
from .terminal import Terminal
from .test_claude_code import allow_tools, assert_hooks_ran, session
from .workspace import DM_LONGTERM, HARBOUR, PORT, Group, Workspace

pytestmark = pytest.mark.host

AGGREGATE = "memory/groups/flush-state.json"
TIDES = "memory/main/projects/tides.md"
MUCH = "The berths of the quay were talked about at length. " * 60
SMALL_CONTEXT = {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"}
SOON = {"APM_IDLE_MINUTES": "1"}
LOOK = call("Bash", command="pwd", description="Look")
UNWRITTEN = "nothing was written although something should have been"
AFTER_SILENCE = "after a long silence"


def scope_of(group: Group) -> Scope:
    return Scope(ScopeKind.GROUP, group.name)


@pytest.fixture
def writing(claude: Claude, hooked: Workspace) -> Workspace:
    """The workspace with our hooks, in which the model may look, run and write unasked, and a long file lies."""
    allow_tools(claude, "Bash", "Edit", "Read", "Write")
    (hooked.root / "quay.txt").write_text(MUCH, "utf-8")
    hooked.remember_files()
    return hooked


def assert_written(workspace: Workspace, *paths: str) -> None:
    """The model wrote these files, and nothing else in the workspace changed but what is ours to write."""
    assert workspace.strays() == sorted(paths)
    workspace.remember_files()


def rows(workspace: Workspace) -> dict[str, tuple[int, str, int]]:
    """What the sum of all groups says: number, outcome and count of pending items by name."""
    found = json.loads((workspace.root / AGGREGATE).read_text("utf-8"))["apm_hooks"]["groups"]
    return {name: (row["flush_number"], row["outcome"], row["pending"]) for name, row in found.items()}


def summaries(fake: FakeAnthropic) -> tuple[Request, ...]:
    return fake.of_kind(Kind.COMPACTION)


def summary_of(script: str) -> str:
    return f"<summary>\n{script}\n</summary>"


def after(fake: FakeAnthropic, request: Request) -> list[Request]:
    return [each for each in fake.main_requests if each.number > request.number]


def enter(terminal: Terminal, workspace: Workspace, fake: FakeAnthropic, text: str) -> Request:
    """Say something at the terminal, wait until its turn is over, and return the last request of it."""
    before = len(fake.main_requests)
    terminal.enter(text)
    terminal.wait_until(lambda: len(fake.main_requests) > before, "a request")
    terminal.wait_until(lambda: is_quiet(workspace), "the end of the turn")
    return fake.main_requests[-1]


def test_remem_is_one_flush_and_its_outcome_is_told(claude: Claude, writing: Workspace, fake: FakeAnthropic) -> None:
    path = str(writing.root / DM_LONGTERM)
    edit = call("Edit", file_path=path, old_string="# Longterm", new_string="# Longterm\n\n- Low water 09:40.")
    turns = claude.converse([f"/remem the tides\n{call('Read', file_path=path)}{edit}::say noted", "/remem"])
    assert_hooks_ran(*turns)
    assert [directives(request) for request in fake.main_requests] == [[1], [1], [1], [1, 2]]
    assert "asked for: the tides" in fake.main_requests[0].text
    assert outcomes(writing) == [(1, "remem", "written"), (2, "remem", "unwritten")]
    assert [flush.told for flush in book_of(writing).flushes] == [True, True]
    assert pending(writing) == ["unwritten"]
    assert_written(writing, DM_LONGTERM)

    claude.ask("::say hello")
    request = fake.main_requests[-1]
    assert (directives(request), pending_told(request)) == ([], ["unwritten"])
    assert UNWRITTEN in last_flush_told(request)
    assert len(outcomes(writing)) == 2
    (row, *_) = ask_program(claude, "status")["scopes"]
    assert (row["scope"], row["number"], row["outcome"], row["trigger"]) == ("DM", 2, "unwritten", "remem")
    assert ([item["kind"] for item in row["pending"]], row["changed"], row["sessions"]) == (["unwritten"], [], [])


def test_remem_at_the_terminal(claude: Claude, writing: Workspace, fake: FakeAnthropic) -> None:
    with Terminal(claude) as terminal:
        request = enter(terminal, writing, fake, f"/remem the tides\n{write(writing, TIDES)}::say noted")
        assert directives(request) == [1]
        assert "asked for: the tides" in request.text
        assert outcomes(writing) == [(1, "remem", "written")]
        assert pending(writing) == []

        request = enter(terminal, writing, fake, "/remem")
        assert directives(request) == [1, 2]
        assert outcomes(writing) == [(1, "remem", "written"), (2, "remem", "unwritten")]

        terminal.clear()
        request = enter(terminal, writing, fake, "And the tides?")
        assert (directives(request), pending_told(request)) == ([], ["unwritten"])
        assert UNWRITTEN in last_flush_told(request)
    assert_written(writing, TIDES)


def test_nothing_is_recorded_where_little_was_said(claude: Claude, hooked: Workspace, fake: FakeAnthropic) -> None:
    first = claude.ask("::say one")
    assert book_of(hooked).number is None
    assert_hooks_ran(claude.ask("/compact", resume=first.session))
    (summary,) = summaries(fake)
    assert instructions(summary) == ""
    assert (pending_told(summary), last_flush_told(summary)) == ([], "never")
    assert not (hooked.root / "memory/flush-state.json").exists()
    assert marks(hooked) == []


def test_a_manual_compaction_asks_the_summariser_and_the_compacted_context(
    claude: Claude, writing: Workspace, fake: FakeAnthropic
) -> None:
    turns = claude.converse([f"{MUCH}\n::say one", "/compact keep the berths", f"{write(writing, TIDES)}::say three"])
    assert_hooks_ran(*turns)
    (summary,) = summaries(fake)
    assert instructions(summary) == f"keep the berths\n\n{told.SUMMARY}"
    request = after(fake, summary)[0]
    assert told_after_compaction(request) == told.START_OPEN_COMPACTED
    assert "its turn is not over yet" in last_flush_told(request)
    assert directives(request) == []
    assert outcomes(writing) == [(1, "pre-compaction", "written")]
    assert book_of(writing).flushes[0].told
    assert pending(writing) == []
    assert_written(writing, TIDES)
    came, *never = events_that_came(claude).splitlines()
    assert never == []
    for event in ("SessionStart", "UserPromptSubmit", "PreCompact", "PostCompact", "Stop", "SessionEnd"):
        assert f"{event} " in came


def test_a_compaction_that_is_resumed_is_told_with_what_the_session_before_left(
    claude: Claude, hooked: Workspace, fake: FakeAnthropic
) -> None:
    first = claude.ask(f"{MUCH}\n::say one")
    assert outcomes(hooked) == [(1, "idle", "unwritten")]
    assert pending(hooked) == ["idle"]

    second = claude.ask("/compact", resume=first.session)
    assert_hooks_ran(first, second)
    (summary,) = summaries(fake)
    assert instructions(summary) == told.SUMMARY
    assert pending_told(summary) == ["idle"]
    assert AFTER_SILENCE in last_flush_told(summary)
    compacted = second.start_hooks[-1]
    assert compacted.name == "SessionStart:compact"
    assert told.START_OPEN_COMPACTED in compacted.stdout
    # Nobody was asked to write: the process ended with the compaction.
    assert outcomes(hooked)[1:] == [(2, "pre-compaction", "unwritten")]

    claude.ask("::say two", resume=first.session)
    request = fake.main_requests[-1]
    assert pending_told(request) == ["idle", "unwritten"]
    assert UNWRITTEN in last_flush_told(request)


def test_a_compaction_at_the_terminal(claude: Claude, writing: Workspace, fake: FakeAnthropic) -> None:
    with Terminal(claude) as terminal:
        enter(terminal, writing, fake, f"{call('Read', file_path=str(writing.root / 'quay.txt'))}::say one")
        terminal.enter("/compact keep the berths")
        terminal.wait_until(lambda: any(mark["cycle"] for mark in marks(writing)), "the compaction")
        assert outcomes(writing) == [(1, "pre-compaction", "issued")]
        request = enter(terminal, writing, fake, f"{write(writing, TIDES)}::say two")
        assert told_after_compaction(request) == told.START_OPEN_COMPACTED
        assert outcomes(writing) == [(1, "pre-compaction", "written")]
    (summary,) = summaries(fake)
    assert instructions(summary) == f"keep the berths\n\n{told.SUMMARY}"
    assert_written(writing, TIDES)


def test_a_compaction_in_the_middle_of_a_turn_is_one_flush_of_that_turn(
    claude: Claude, writing: Workspace, fake: FakeAnthropic
) -> None:
    fake.summaries = [summary_of(f"{LOOK * 3}{write(writing, TIDES)}::say two")]
    turns = claude.converse(["::say one", f"::usage 99000\n{LOOK}::say two", "::say three"], env=SMALL_CONTEXT)
    assert_hooks_ran(*turns)
    (summary,) = summaries(fake)
    assert instructions(summary) == told.SUMMARY
    for request in after(fake, summary):
        assert told_after_compaction(request) == told.START_OPEN_COMPACTED
        assert directives(request) == []
    assert outcomes(writing) == [(1, "pre-compaction", "written")]
    assert pending(writing) == []
    assert_written(writing, TIDES)


def test_a_context_that_refills_in_one_turn_is_one_flush(
    claude: Claude, writing: Workspace, fake: FakeAnthropic
) -> None:
    full = f"::usage 99000\n{LOOK * 6}"
    fake.summaries = [summary_of(full), summary_of("::say two")]
    turns = claude.converse(["::say one", f"{LOOK}{full}", "::say three"], env=SMALL_CONTEXT)
    assert_hooks_ran(*turns)
    first, second = summaries(fake)
    assert [instructions(first), instructions(second)] == [told.SUMMARY] * 2
    assert [hook.name for hook in turns[1].start_hooks] == ["SessionStart:compact"] * 2
    for request in after(fake, first):
        assert told_after_compaction(request) == told.START_OPEN_COMPACTED
        assert directives(request) == []
    assert outcomes(writing) == [(1, "pre-compaction", "unwritten")]
    assert pending(writing) == ["unwritten"]


def test_a_flush_turn_that_is_refused_as_too_long(claude: Claude, writing: Workspace, fake: FakeAnthropic) -> None:
    # Behind a summary stands what was kept of the turn: two answers, then one.
    fake.summaries = [summary_of("::say\n::say\n::refuse"), summary_of(f"::say\n{write(writing, TIDES)}::say two")]
    turns = claude.converse(["::say one", f"/remem the tides\n{LOOK * 2}::refuse\n::say never"])
    if not claude.program.compacts_when_refused:
        assert turns[1].failed
        assert len(summaries(fake)) == 0
        assert outcomes(writing) == [(1, "remem", "unwritten")]
        assert "StopFailure " in events_that_came(claude)
        return
    assert_hooks_ran(*turns)
    assert [instructions(summary) for summary in summaries(fake)] == [told.SUMMARY] * 2
    assert [hook.name for hook in turns[1].start_hooks] == ["SessionStart:compact"] * 2
    for request in after(fake, summaries(fake)[0]):
        assert told_after_compaction(request) == told.START_OPEN_COMPACTED
    assert outcomes(writing) == [(1, "remem", "written")]
    assert pending(writing) == []
    assert_written(writing, TIDES)


def test_a_compaction_without_its_event_is_missed(claude: Claude, hooked: Workspace, fake: FakeAnthropic) -> None:
    settings = json.loads(claude.user_settings.read_text("utf-8"))
    del settings["hooks"]["PreCompact"]
    claude.user_settings.write_text(json.dumps(settings), "utf-8")
    turns = claude.converse(["::say one", "/compact", "::say two"])
    assert_hooks_ran(*turns)
    (summary,) = summaries(fake)
    assert instructions(summary) == ""
    request = after(fake, summary)[0]
    assert told_after_compaction(request) == told.START_UNWARNED
    assert pending_told(request) == ["missed"]
    assert outcomes(hooked) == [(0, "pre-compaction", "missed")]
    assert (book_of(hooked).number, book_of(hooked).last_time) == (None, None)

    claude.ask("::say three")
    request = fake.main_requests[-1]
    assert pending_told(request) == ["missed"]
    assert "compacted without one" in last_flush_told(request)
    came, *never = events_that_came(claude).splitlines()
    assert never == ["PreToolUse never came", "PreCompact never came"]
    assert "Stop " in came
    (row, *_) = ask_program(claude, "status")["scopes"]
    assert (row["missed"], row["number"], row["outcome"]) == (1, None, "missed")


def test_a_session_that_ends_after_ten_messages_is_flushed(
    claude: Claude, hooked: Workspace, fake: FakeAnthropic
) -> None:
    claude.converse([f"::say {number}" for number in range(5)])
    assert outcomes(hooked) == [(1, "idle", "unwritten")]
    assert pending(hooked) == ["idle"]
    assert marks(hooked) == []


def test_each_end_of_a_session_at_the_terminal_is_one_idle_flush(
    claude: Claude, writing: Workspace, fake: FakeAnthropic
) -> None:
    much = f"{call('Read', file_path=str(writing.root / 'quay.txt'))}::say one"
    idle = (1, "idle", "unwritten"), (2, "idle", "unwritten"), (3, "idle", "unwritten")
    with Terminal(claude) as terminal:
        enter(terminal, writing, fake, much)
        terminal.clear()
        assert outcomes(writing) == [*idle[:1]]
        request = enter(terminal, writing, fake, much)
        assert pending_told(request) == ["idle"]
        assert AFTER_SILENCE in last_flush_told(request)
        terminal.enter("/exit")
        terminal.wait_for_end()
    assert outcomes(writing) == [*idle[:2]]
    with Terminal(claude) as terminal:
        enter(terminal, writing, fake, much)
        terminal.kill(signal.SIGHUP)
    assert outcomes(writing) == [*idle]
    assert marks(writing) == []
    assert set(pending(writing)) == {"idle"}


def kill_in_turn(claude: Claude, workspace: Workspace, prompt: str) -> None:
    """Kill a run while its model thinks, and set back what tells of its last activity."""
    before = len(claude.fake.main_requests)
    with claude.begun(f"{prompt}\n::hold\n::say never", env=SOON) as process:
        wait_for(lambda: len(claude.fake.main_requests) > before, "a request")
        wait_for(lambda: Path(marks(workspace)[0]["transcript"]).exists(), "a transcript")
        process.kill()
        process.wait()
    assert ask_program(claude, "sweep", env=SOON) == {"flushes": []}
    age(workspace, 120)


def test_a_host_that_was_killed_is_made_up_for(claude: Claude, hooked: Workspace, fake: FakeAnthropic) -> None:
    kill_in_turn(claude, hooked, "How are the berths?")
    (swept,) = ask_program(claude, "sweep", env=SOON)["flushes"]
    assert (swept["scope"], swept["trigger"], swept["number"]) == ("DM", "idle", 1)
    assert outcomes(hooked) == [(1, "idle", "unwritten")]

    kill_in_turn(claude, hooked, "/remem the tides")
    claude.ask("::say good morning", env=SOON | session(HARBOUR.key))
    assert outcomes(hooked)[1:] == [(2, "remem", "issued")]
    claude.ask("::say hello", env=SOON)
    request = fake.main_requests[-1]
    assert pending_told(request) == ["idle", "unwritten"]
    assert UNWRITTEN in last_flush_told(request)
    assert outcomes(hooked)[1:] == [(2, "remem", "unwritten")]
    assert outcomes(hooked, scope_of(HARBOUR)) == []


def test_memory_is_asked_for_before_the_context_is_full_once_for_each_compaction(
    claude: Claude, hooked: Workspace, fake: FakeAnthropic
) -> None:
    prompts = [
        "::usage 62000\n::say 1",
        "::usage 62000\n::say 2",
        "::say 3",
        "/compact",
        "::usage 62000\n::say 4",
        "::say 5",
    ]
    turns = claude.converse(prompts, env=SMALL_CONTEXT)
    assert_hooks_ran(*turns)
    one, two, three, four, five = fake.main_requests
    assert [directives(request) for request in (one, two, three, four, five)] == [[], [1], [1], [], [2]]
    assert "62 % full" in two.text
    assert two.text.index(told.MESSAGE_FOLLOWS) < two.text.rindex("::say 2")
    assert pending_told(four) == ["unwritten"]
    assert outcomes(hooked) == [(1, "pre-compaction", "unwritten"), (2, "pre-compaction", "unwritten")]
    assert book_of(hooked).usage_percent == 62.0


def test_a_flush_of_a_group_is_its_own(claude: Claude, writing: Workspace, fake: FakeAnthropic) -> None:
    path = PORT.file("conventions/tides")
    turn = claude.ask(f"/remem the tides\n{write(writing, path)}::say noted", env=session(PORT.key))
    assert_hooks_ran(turn)
    assert [directives(request) for request in fake.main_requests] == [[1], [1]]
    assert outcomes(writing, scope_of(PORT)) == [(1, "remem", "written")]
    states = {each.relative_to(writing.root).as_posix() for each in writing.root.rglob("flush-state.json")}
    assert states == {AGGREGATE, f"memory/groups/{PORT.name}/flush-state.json"}
    assert rows(writing) == {PORT.name: (1, "written", 0)}
    assert writing.seen_in(fake.requests) == {PORT.index}
    assert_written(writing, path)


def test_sessions_at_the_same_time_keep_their_own_states(
    claude: Claude, writing: Workspace, fake: FakeAnthropic
) -> None:
    whose: list[tuple[dict[str, str], Scope, str]] = [({}, DM, TIDES)]
    whose += [(session(group.key), scope_of(group), group.file("conventions/tides")) for group in (HARBOUR, PORT)]
    with ThreadPoolExecutor(len(whose)) as pool:
        turns = [
            pool.submit(claude.ask, f"/remem the tides\n::hold\n{write(writing, path)}::say noted", env=env)
            for env, _, path in whose
        ]
        wait_for(lambda: len(fake.main_requests) == len(whose), "a request of each")
        assert [outcomes(writing, scope) for _, scope, _ in whose] == [[(1, "remem", "issued")]] * len(whose)
        fake.release()
        assert_hooks_ran(*(turn.result() for turn in turns))
    assert [outcomes(writing, scope) for _, scope, _ in whose] == [[(1, "remem", "written")]] * len(whose)
    assert len({book_of(writing, scope).session_id for _, scope, _ in whose}) == len(whose)
    assert rows(writing) == {HARBOUR.name: (1, "written", 0), PORT.name: (1, "written", 0)}
    assert [directives(request) for request in fake.main_requests] == [[1]] * 2 * len(whose)
    assert_written(writing, *(path for _, _, path in whose))


def test_an_interrupted_run_is_settled_at_its_end(claude: Claude, hooked: Workspace, fake: FakeAnthropic) -> None:
    with claude.begun("/remem the tides\n::hold\n::say never") as process:
        wait_for(lambda: len(fake.main_requests) == 1, "a request")
        assert outcomes(hooked) == [(1, "remem", "issued")]
        process.send_signal(signal.SIGINT)
        wait_for(lambda: process.poll() is not None, "the host's end")
    assert outcomes(hooked) == [(1, "remem", "unwritten")]
    assert marks(hooked) == []


def test_an_interrupted_turn_is_settled_at_the_next_message(
    claude: Claude, writing: Workspace, fake: FakeAnthropic
) -> None:
    with Terminal(claude) as terminal:
        terminal.enter(f"/remem the tides\n{LOOK}::hold\n::say never")
        terminal.wait_until(lambda: len(fake.main_requests) == 2, "the held request")
        terminal.press("\x1b")
        terminal.wait_for_text("Interrupted")
        assert outcomes(writing) == [(1, "remem", "issued")]
        fake.release()
        request = enter(terminal, writing, fake, "And the tides?")
        assert directives(request) == [1]
        assert outcomes(writing) == [(1, "remem", "unwritten")]
        request = enter(terminal, writing, fake, f"/remem the tides\n{write(writing, TIDES)}::say noted")
        assert directives(request) == [1, 2]
        assert outcomes(writing) == [(1, "remem", "unwritten"), (2, "remem", "written")]
        assert pending(writing) == []
    assert_written(writing, TIDES)
