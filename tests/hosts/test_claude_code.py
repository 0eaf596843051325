"""Our hooks in the real Claude Code: what reaches the model, what must not, and that no turn is lost."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from .claude import Claude, Turn, start_contexts
from .fake_anthropic import FakeAnthropic, Kind
from .script import IDLE
from .terminal import Terminal
from .workspace import DM_ATTENTION, DM_INDEX, HARBOUR, HOST_MEMORY, PORT, Group, Workspace, apm_hooks

pytestmark = pytest.mark.host

DM_START = {DM_INDEX, DM_ATTENTION}
FORBIDDEN_KEYS = {
    "unmapped-group": "agent:main:telegram:group:-1009990001112",
    "cron": "agent:main:cron:nightly-report",
    "internal": "agent:main:internal-session-effects:9f0c",
    "stranger": "agent:main:telegram:direct:550077",
    "nonsense": "agent:main:somewhere:odd:1",
    "empty": "",
}
SET_UP = (HARBOUR.name, HARBOUR.id, PORT.name, PORT.id, "-1009990001112", "apm.toml", "telegram")
ODD_SETTINGS = b'{\n      "theme" : "dark",\n\t"permissions": {"allow": ["Read"]}, "hooks": {"Notification": []}   }'


def session(key: str) -> dict[str, str]:
    return {"APM_SESSION": key}


def tree(root: Path) -> dict[str, bytes]:
    """The files below `root` with what they hold, without the copies that installing keeps beside them."""
    files = (path for path in root.rglob("*") if path.is_file() and path.suffix != ".apm-backup")
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def allow_tools(claude: Claude, *tools: str) -> None:
    """Let the model use these tools unasked; the settings of the person stay as they are otherwise."""
    path = claude.project / ".claude" / "settings.local.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"permissions": {"allow": list(tools)}}), "utf-8")


def assert_hooks_ran(*turns: Turn) -> None:
    """Our hooks were run and ended well: without this, an absent canary would prove nothing."""
    hooks = [hook for turn in turns for hook in turn.hooks]
    assert any(hook.event == "SessionStart" for hook in hooks)
    assert [(hook.name, hook.exit_code, hook.stderr) for hook in hooks] == [(hook.name, 0, "") for hook in hooks]


def assert_nothing_told(claude: Claude, workspace: Workspace) -> None:
    """No canary reached the model, and at most one neutral line that names nothing of the set-up."""
    assert workspace.seen_in(claude.fake.requests) == set()
    for request in claude.fake.main_requests:
        told = start_contexts(request)
        assert len(told) <= 1
        for text in told:
            assert len(text.splitlines()) == 1
            assert [name for name in (*SET_UP, str(workspace.root)) if name in text] == []


def test_a_new_session_of_the_owner_knows_index_and_attention(
    claude: Claude, hooked: Workspace, fake: FakeAnthropic
) -> None:
    turn = claude.ask("::say hello")
    assert (turn.exit_code, turn.text) == (0, "hello")
    (request,) = fake.main_requests
    assert hooked.seen_in([request]) >= DM_START
    assert len(start_contexts(request)) == 1
    strangers = {HOST_MEMORY} | {path for path in hooked.canaries if path.startswith("memory/groups/")}
    assert hooked.seen_in(fake.requests) & strangers == set()
    assert_hooks_ran(turn)


def test_a_resumed_session_is_told_the_same_bytes(claude: Claude, hooked: Workspace, fake: FakeAnthropic) -> None:
    first = claude.ask("::say one")
    second = claude.ask("::say two", resume=first.session)
    assert (second.session, second.text) == (first.session, "two")
    assert_hooks_ran(first, second)
    (start,), (resumed,) = first.start_hooks, second.start_hooks
    assert (start.name, resumed.name) == ("SessionStart:startup", "SessionStart:resume")
    assert resumed.stdout == start.stdout
    (told,) = start_contexts(fake.main_requests[0])
    again = start_contexts(fake.main_requests[1])
    assert set(again) == {told}
    assert len(again) <= claude.program.tellings_on_resume
    assert hooked.seen_in(fake.main_requests[1:]) >= DM_START


def test_a_changed_memory_is_told_anew_on_resume(claude: Claude, hooked: Workspace, fake: FakeAnthropic) -> None:
    first = claude.ask("::say one")
    news = "canary-of-a-later-hour"
    path = hooked.root / DM_ATTENTION
    path.write_text(path.read_text("utf-8") + f"\n- {news}\n", "utf-8")
    hooked.remember_files()
    claude.ask("::say two", resume=first.session)
    assert news not in fake.main_requests[0].text
    assert news in fake.main_requests[1].text


def test_a_manual_compaction_brings_memory_back(claude: Claude, hooked: Workspace, fake: FakeAnthropic) -> None:
    turns = claude.converse(["::say one", "/compact keep the berths", "::say two"])
    assert [turn.exit_code for turn in turns] == [0, 0, 0]
    assert turns[2].text == "two"
    (summary,) = fake.of_kind(Kind.COMPACTION)
    after = [request for request in fake.main_requests if request.number > summary.number]
    assert len(after) == 1
    assert len(start_contexts(after[0])) == 1
    assert hooked.seen_in(after) >= DM_START
    starts = [[hook.name for hook in turn.start_hooks] for turn in turns]
    assert starts == [["SessionStart:startup"], ["SessionStart:compact"], []]
    assert [hook.stdout for hook in turns[1].hooks if hook.event == "PreCompact"] in ([], [""])
    assert_hooks_ran(*turns)


def test_memory_is_back_when_a_compacted_session_is_resumed(
    claude: Claude, hooked: Workspace, fake: FakeAnthropic
) -> None:
    first = claude.ask("::say one")
    second = claude.ask("/compact", resume=first.session)
    third = claude.ask("::say two", resume=first.session)
    last = fake.main_requests[-1]
    assert last.opening.startswith("This session is being continued")
    assert hooked.seen_in([last]) >= DM_START
    starts = [hook for turn in (first, second, third) for hook in turn.start_hooks]
    assert len(starts) == 4
    assert len({hook.stdout for hook in starts}) == 1


def test_a_compaction_in_the_middle_of_a_turn_in_another_folder(
    claude: Claude, hooked: Workspace, fake: FakeAnthropic
) -> None:
    allow_tools(claude, "Bash")
    (claude.project / "sub").mkdir()
    hooked.remember_files()
    go = json.dumps({"command": "cd sub && pwd", "description": "Go down"})
    turns = claude.converse(
        ["::say one", f"::usage 99000\n::tool Bash {go}\n::say two", "::say three"],
        env={"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000"},
    )
    assert [turn.failed for turn in turns] == [False, False, False]
    (summary,) = fake.of_kind(Kind.COMPACTION)
    assert str(claude.project / "sub") in summary.text
    after = [request for request in fake.main_requests if request.number > summary.number]
    assert len(start_contexts(after[0])) == 1
    assert hooked.seen_in(after[:1]) >= DM_START


def test_a_session_started_below_the_workspace_has_its_memory(
    claude: Claude, hooked: Workspace, fake: FakeAnthropic
) -> None:
    below = claude.project / "quay" / "north"
    below.mkdir(parents=True)
    claude.ask("::say hello", cwd=below)
    assert hooked.seen_in(fake.main_requests) >= DM_START


def test_a_forked_session_has_memory_too(claude: Claude, hooked: Workspace, fake: FakeAnthropic) -> None:
    first = claude.ask("::say one")
    forked = claude.ask("::say two", resume=first.session, fork=True)
    assert forked.session != first.session
    assert forked.text == "two"
    told = set(start_contexts(fake.main_requests[0]))
    assert set(start_contexts(fake.main_requests[1])) == told
    assert hooked.seen_in(fake.main_requests[1:]) >= DM_START


def test_a_cleared_session_at_the_terminal_is_told_again(
    claude: Claude, hooked: Workspace, fake: FakeAnthropic
) -> None:
    with Terminal(claude) as terminal:
        terminal.enter("How are the berths?")
        terminal.wait_for_text(IDLE)
        terminal.clear()
        terminal.enter("And the tides?")
        terminal.wait_for_text(IDLE)
    before, after = fake.main_requests
    assert "How are the berths?" not in after.text
    assert start_contexts(after) == start_contexts(before)
    assert hooked.seen_in([after]) >= DM_START


@pytest.mark.parametrize("group", [HARBOUR, PORT], ids=["latin", "chinese"])
def test_a_group_knows_its_own_index_and_nobody_elses_memory(
    claude: Claude, hooked: Workspace, fake: FakeAnthropic, group: Group
) -> None:
    turns = claude.converse(["::say one", "/compact", "::say two"], env=session(group.key))
    assert turns[2].text == "two"
    assert_hooks_ran(*turns)
    assert len(fake.of_kind(Kind.COMPACTION)) == 1
    own = {path for path in hooked.canaries if path.startswith(f"memory/groups/{group.name}")}
    assert [group.index in hooked.seen_in([request]) for request in fake.main_requests] == [True, True]
    assert hooked.seen_in(fake.requests) <= own


def test_a_message_brings_in_one_file_of_its_group(claude: Claude, hooked: Workspace, fake: FakeAnthropic) -> None:
    prompts = ["Good morning.", "What were the lessons of the storm?", "Who has which role in the crew?"]
    turns = claude.converse(prompts, env=session(HARBOUR.key))
    assert_hooks_ran(*turns)
    lessons = {HARBOUR.index, HARBOUR.file("experience")}
    assert [hooked.seen_in([request]) for request in fake.main_requests] == [
        {HARBOUR.index},
        lessons,
        lessons,
    ]


def test_a_memory_larger_than_the_hosts_cap_arrives_whole_in_what_it_says_with_its_newest_line(
    claude: Claude, hooked: Workspace, fake: FakeAnthropic
) -> None:
    old = "".join(f"- Mooring {number} was inspected 🚢 and found to be in order.\n" for number in range(800))
    newest = "canary of the newest line"
    text = f"# Attention\n\n{hooked.canary(DM_ATTENTION)}\n{old}- {newest}\n"
    assert len(text) > 40_000
    (hooked.root / DM_ATTENTION).write_text(text, "utf-8")
    hooked.remember_files()
    assert_hooks_ran(claude.ask("::say hello"))
    (told,) = start_contexts(fake.main_requests[0])
    assert hooked.seen_in(fake.main_requests) >= DM_START
    assert newest in told
    assert "left out" in told
    assert len(told.encode("utf-16-le")) // 2 <= 10_000
    # Over its cap the host would put a preview and a path in place of the text.
    assert told.rstrip().endswith("last flush: never")


def test_a_thread_has_the_memory_of_its_group(claude: Claude, hooked: Workspace, fake: FakeAnthropic) -> None:
    claude.ask("::say hello", env=session(f"{HARBOUR.key}:topic:42"))
    assert hooked.seen_in(fake.requests) == {HARBOUR.index}


@pytest.mark.parametrize("name", FORBIDDEN_KEYS)
def test_a_session_without_a_scope_is_told_nothing(claude: Claude, hooked: Workspace, name: str) -> None:
    turn = claude.ask("::say hello", env=session(FORBIDDEN_KEYS[name]))
    assert turn.text == "hello"
    assert_hooks_ran(turn)
    assert_nothing_told(claude, hooked)


def test_where_a_session_key_is_required_none_means_nothing(claude: Claude, workspace: Workspace) -> None:
    settings = workspace.root / "apm.toml"
    settings.write_text("require_session = true\n" + settings.read_text("utf-8"), "utf-8")
    apm_hooks(claude, "trust", "--workspace", str(workspace.root))
    apm_hooks(claude, "install", "claude-code", "--scope", "user")
    workspace.remember_files()
    turn = claude.ask("::say hello")
    assert_hooks_ran(turn)
    assert_nothing_told(claude, workspace)
    claude.ask("::say hello", env=session(HARBOUR.key))
    assert workspace.seen_in(claude.fake.main_requests[-1:]) == {HARBOUR.index}


def test_a_subagent_is_given_no_memory(claude: Claude, hooked: Workspace, fake: FakeAnthropic) -> None:
    allow_tools(claude, "Agent", "Task", "Read")
    (claude.project / "tides.txt").write_text("low 09:40\n", "utf-8")
    hooked.remember_files()
    read = json.dumps({"file_path": str(claude.project / "tides.txt")})
    errand = {
        "description": "Look up",
        "subagent_type": "general-purpose",
        "run_in_background": False,
        "prompt": f"Errand.\n::tool Read {read}\n::say low at 09:40",
    }
    turn = claude.ask(f"::tool Agent|Task {json.dumps(errand)}\n::say it is low at 09:40")
    assert turn.text == "it is low at 09:40"
    assert_hooks_ran(turn)
    inner = fake.opened_with("Errand.")
    assert len(inner) == 2
    assert "09:40" in json.dumps(inner[1].body["messages"][-1])
    assert hooked.seen_in(inner) == set()
    assert [start_contexts(request) for request in inner] == [[], []]
    outer = [request for request in fake.main_requests if request not in inner]
    assert [hooked.seen_in([request]) >= DM_START for request in outer] == [True, True]


def test_a_copied_workspace_is_not_trusted(claude: Claude, workspace: Workspace, tmp_path: Path) -> None:
    apm_hooks(claude, "install", "claude-code", "--scope", "project")
    assert claude.project_settings.is_file()
    assert not claude.user_settings.exists()
    workspace.remember_files()
    clone = tmp_path / "clone"
    shutil.copytree(workspace.root, clone)
    before = tree(clone)
    turn = claude.ask("::say hello", cwd=clone)
    assert_hooks_ran(turn)
    assert_nothing_told(claude, workspace)
    assert tree(clone) == before
    claude.ask("::say hello")
    assert workspace.seen_in(claude.fake.main_requests[-1:]) >= DM_START


def test_outside_a_workspace_nothing_is_said_or_left(claude: Claude, hooked: Workspace, tmp_path: Path) -> None:
    elsewhere = tmp_path / "clone"
    elsewhere.mkdir()
    turn = claude.ask("::say hello", cwd=elsewhere)
    assert_hooks_ran(turn)
    assert [start_contexts(request) for request in claude.fake.main_requests] == [[]]
    assert hooked.seen_in(claude.fake.requests) == set()
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("word", [0, 3], ids=["interpreter", "program"])
def test_what_is_missing_of_us_does_not_cost_the_turn(
    claude: Claude, hooked: Workspace, fake: FakeAnthropic, word: int
) -> None:
    settings = json.loads(claude.user_settings.read_text("utf-8"))
    for hook in (hook for groups in settings["hooks"].values() for group in groups for hook in group["hooks"]):
        path = shlex.split(hook["command"])[word]
        assert Path(path).is_file()
        hook["command"] = hook["command"].replace(path, f"/nowhere{path}")
    claude.user_settings.write_text(json.dumps(settings), "utf-8")
    read = json.dumps({"file_path": str(claude.project / "apm.toml")})
    turn = claude.ask(f"::tool Read {read}\n::say still here")
    assert (turn.exit_code, turn.text, turn.failed) == (0, "still here", False)
    assert turn.start_hooks
    assert [(hook.name, hook.stdout) for hook in turn.hooks] == [(hook.name, "") for hook in turn.hooks]
    assert [hook.name for hook in turn.hooks if "/nowhere" not in hook.stderr] == []
    assert hooked.seen_in(fake.requests) == set()


@pytest.mark.parametrize("before", [None, ODD_SETTINGS], ids=["absent", "odd"])
def test_uninstalling_leaves_no_trace(
    claude: Claude, workspace: Workspace, fake: FakeAnthropic, before: bytes | None
) -> None:
    folder = claude.user_settings.parent
    if before is not None:
        folder.mkdir()
        claude.user_settings.write_bytes(before)
    found = tree(folder)
    apm_hooks(claude, "install", "claude-code", "--scope", "user")
    assert claude.user_settings.read_bytes() != before
    apm_hooks(claude, "uninstall", "claude-code")
    assert tree(folder) == found
    turn = claude.ask("::say hello")
    assert turn.text == "hello"
    assert turn.hooks == ()
    assert workspace.seen_in(fake.requests) == set()
