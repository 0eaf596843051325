"""The gate in the real Claude Code: what is denied, that the reason reaches the model, and what goes on as before."""

from __future__ import annotations

import json

import pytest

from .claude import Claude
from .fake_anthropic import FakeAnthropic, Request
from .flushes import call
from .script import blocks_of, messages_of
from .test_claude_code import allow_tools, assert_hooks_ran, session
from .workspace import DM_ATTENTION, DM_INDEX, DM_LONGTERM, HARBOUR, HOST_MEMORY, PORT, Workspace, apm_hooks

pytestmark = pytest.mark.host

OWNERS = (DM_INDEX, DM_ATTENTION, DM_LONGTERM, HOST_MEMORY)


@pytest.fixture
def gated(claude: Claude, hooked: Workspace) -> Workspace:
    """The workspace with our hooks, in which the model may use every tool unasked, and a file of nobody's lies."""
    allow_tools(claude, "Agent", "Task", "Bash", "Edit", "Glob", "Grep", "Read", "Write")
    (hooked.root / "quay.txt").write_text("The quay is long.\n", "utf-8")
    hooked.remember_files()
    return hooked


def results(request: Request) -> list[tuple[bool, str]]:
    """What the tools of the newest turn answered, with whether it is an error."""
    found = []
    for message in messages_of(request.body):
        for block in blocks_of(message):
            if block.get("type") == "tool_result":
                content = block.get("content")
                text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
                found.append((block.get("is_error") is True, text))
    return found


def denied(claude: Claude, fake: FakeAnthropic, script: str, key: str | None = HARBOUR.key) -> str:
    """Run one scripted call, which must be denied; the reason as the model has it."""
    turn = claude.ask(f"{script}::say done", env=session(key) if key is not None else None)
    assert (turn.text, turn.failed) == ("done", False)
    assert_hooks_ran(turn)
    ((failed, text),) = results(fake.main_requests[-1])
    assert failed, text
    return text


def test_a_group_reads_nothing_of_the_owners(claude: Claude, gated: Workspace, fake: FakeAnthropic) -> None:
    (gated.root / "rope.md").symlink_to(DM_LONGTERM)
    gated.remember_files()
    scripts = [
        call("Read", file_path=str(gated.root / DM_LONGTERM)),
        call("Read", file_path=str(gated.root / "rope.md")),
        call("Bash", command=f"cat {DM_LONGTERM}", description="Look"),
        call("Bash", command="cd memory && cat main/*.md | head -5", description="Look"),
        call("Bash", command="grep -r watchword .", description="Search"),
    ]
    for script in scripts:
        reason = denied(claude, fake, script)
        assert HARBOUR.index in reason, "it says where its own memory lies"
    assert gated.seen_in(fake.requests) == {HARBOUR.index}
    assert gated.strays() == []


def test_a_group_finds_nothing_of_the_owners(claude: Claude, gated: Workspace, fake: FakeAnthropic) -> None:
    denied(claude, fake, call("Bash", command="rg watchword memory", description="Search"))
    scripts = {
        "Grep": call("Grep", pattern="watchword", path=str(gated.root / "memory"), output_mode="content"),
        "Glob": call("Glob", pattern="memory/main/**"),
    }
    # Newer versions have no tools for it, and search in the shell.
    for tool in scripts.keys() & set(fake.main_requests[-1].tool_names):
        denied(claude, fake, scripts[tool])
    assert gated.seen_in(fake.requests) == {HARBOUR.index}


def test_a_group_reads_nothing_of_another_group(claude: Claude, gated: Workspace, fake: FakeAnthropic) -> None:
    denied(claude, fake, call("Read", file_path=str(gated.root / PORT.index)))
    denied(claude, fake, call("Bash", command=f"head -3 '{PORT.file('project')}'", description="Look"))
    assert gated.seen_in(fake.requests) == {HARBOUR.index}


def test_a_session_without_a_scope_reads_no_memory(claude: Claude, gated: Workspace, fake: FakeAnthropic) -> None:
    for path in (DM_LONGTERM, HARBOUR.index):
        denied(claude, fake, call("Read", file_path=str(gated.root / path)), "agent:main:telegram:group:-1009990001112")
    assert gated.seen_in(fake.requests) == set()


def test_a_group_loads_as_much_as_the_protocol_says(claude: Claude, gated: Workspace, fake: FakeAnthropic) -> None:
    names = ("attention", "project", "experience")
    script = "".join(call("Read", file_path=str(gated.root / HARBOUR.file(name))) for name in names)
    turn = claude.ask(f"{script}::say done", env=session(HARBOUR.key))
    assert_hooks_ran(turn)
    answers = results(fake.main_requests[-1])
    assert [failed for failed, _ in answers] == [False, False, True]
    assert "attention.md, project.md" in answers[2][1]
    assert gated.seen_in(fake.requests) == {HARBOUR.index, HARBOUR.file("attention"), HARBOUR.file("project")}


def test_what_is_nobodys_stays_as_it_was(claude: Claude, gated: Workspace, fake: FakeAnthropic) -> None:
    quay = str(gated.root / "quay.txt")
    script = (
        call("Read", file_path=quay)
        + call("Bash", command="wc -l quay.txt", description="Count")
        + call("Edit", file_path=quay, old_string="long", new_string="short")
    )
    for key in (None, HARBOUR.key, "agent:main:cron:nightly-report"):
        turn = claude.ask(f"{script}::say done", env=session(key) if key is not None else None)
        assert_hooks_ran(turn)
        assert [failed for failed, _ in results(fake.main_requests[-1])] == [False] * 3
        assert (gated.root / "quay.txt").read_text("utf-8") == "The quay is short.\n"
        (gated.root / "quay.txt").write_text("The quay is long.\n", "utf-8")


def test_an_edit_that_drops_a_row_is_denied_and_one_that_adds_one_is_not(
    claude: Claude, gated: Workspace, fake: FakeAnthropic
) -> None:
    index = gated.root / HARBOUR.index
    before = index.read_bytes()
    look = call("Read", file_path=str(index))
    row = "| storm lessons | experience.md | P2 |"
    for old, new in (
        (row + "\n", ""),
        (row, row.replace("P2", "P3")),
        ("- Ask before a berth is given away.", "- Go."),
    ):
        turn = claude.ask(
            f"{look}{call('Edit', file_path=str(index), old_string=old, new_string=new)}::say done",
            env=session(HARBOUR.key),
        )
        assert_hooks_ran(turn)
        failed, text = results(fake.main_requests[-1])[-1]
        assert failed
        assert "[DEPRECATED]" in text
        assert index.read_bytes() == before
    added = call("Edit", file_path=str(index), old_string=row, new_string=f"{row}\n| tides | project.md | P1 |")
    claude.ask(f"{look}{added}::say done", env=session(HARBOUR.key))
    assert [failed for failed, _ in results(fake.main_requests[-1])] == [False, False]
    assert b"| tides |" in index.read_bytes()
    gated.remember_files()


@pytest.mark.parametrize("key", [None, HARBOUR.key])
def test_nobody_touches_what_is_the_hooks(
    claude: Claude, gated: Workspace, fake: FakeAnthropic, key: str | None
) -> None:
    before = (gated.root / "apm.toml").read_bytes()
    denied(claude, fake, call("Write", file_path=str(gated.root / "memory/flush-state.json"), content="{}"), key)
    denied(claude, fake, call("Bash", command="echo x >> apm.toml", description="Add"), key)
    denied(claude, fake, call("Read", file_path=str(gated.root / "apm.toml")), key)
    assert (gated.root / "apm.toml").read_bytes() == before
    assert gated.strays() == []


def test_a_mention_of_what_is_not_theirs_keeps_the_prompt_from_the_model(
    claude: Claude, gated: Workspace, fake: FakeAnthropic
) -> None:
    turn = claude.ask(f"What does @{DM_LONGTERM} say?\n::say done", env=session(HARBOUR.key))
    assert fake.main_requests == ()
    assert DM_LONGTERM in turn.text + "".join(hook.stdout for hook in turn.hooks)
    claude.ask(f"What does @{HARBOUR.index} say? Write to me@example.org.\n::say done", env=session(HARBOUR.key))
    assert gated.seen_in(fake.main_requests) == {HARBOUR.index}
    claude.ask(f"What does @{DM_LONGTERM} say?\n::say done")
    assert DM_LONGTERM in gated.seen_in(fake.main_requests[-1:]), "the owner's own is"


def test_a_subagent_reads_what_its_parent_may(claude: Claude, gated: Workspace, fake: FakeAnthropic) -> None:
    look = [call("Read", file_path=str(gated.root / path)) for path in (DM_LONGTERM, "quay.txt")]
    errand = {
        "description": "Look up",
        "subagent_type": "general-purpose",
        "run_in_background": False,
        "prompt": f"Errand.\n{''.join(look)}::say found nothing",
    }
    turn = claude.ask(f"::tool Agent|Task {json.dumps(errand)}\n::say done", env=session(HARBOUR.key))
    assert_hooks_ran(turn)
    assert [failed for failed, _ in results(fake.opened_with("Errand.")[-1])] == [True, False]
    assert DM_LONGTERM not in gated.seen_in(fake.requests)


@pytest.mark.parametrize("scope", ["user", "project"])
def test_the_hosts_own_rules_shut_the_hooks_files_where_no_hook_runs(
    claude: Claude, workspace: Workspace, fake: FakeAnthropic, scope: str
) -> None:
    apm_hooks(claude, "install", "claude-code", "--scope", scope)
    path = claude.user_settings if scope == "user" else claude.project_settings
    settings = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**settings, "disableAllHooks": True}), "utf-8")
    allow_tools(claude, "Bash", "Edit", "Read", "Write")
    (workspace.root / ".apm/ledger").mkdir(parents=True, exist_ok=True)
    (workspace.root / ".apm/ledger/s").write_text("kept\n", "utf-8")
    workspace.remember_files()
    shut = (
        call("Read", file_path=str(workspace.root / ".apm/ledger/s")),
        call("Read", file_path=str(workspace.root / "apm.toml")),
        call("Write", file_path=str(workspace.root / "memory/flush-state.json"), content="{}"),
        call("Write", file_path=str(workspace.root / "memory/groups/flush-state.json"), content="{}"),
        call("Write", file_path=str(workspace.root / f"memory/groups/{PORT.name}/flush-state.json"), content="{}"),
        call("Bash", command="echo '{}' > memory/groups/group_names.json", description="Write"),
    )
    for script in shut:
        turn = claude.ask(f"{script}::say done")
        assert turn.hooks == ()
        ((failed, text),) = results(fake.main_requests[-1])
        assert failed, (script, text)
    claude.ask(f"{call('Read', file_path=str(workspace.root / DM_LONGTERM))}::say done")
    assert results(fake.main_requests[-1])[0][0] is False
    assert workspace.strays() == []


def test_the_owner_is_told_once_that_more_is_loaded_than_a_session_needs(
    claude: Claude, gated: Workspace, fake: FakeAnthropic
) -> None:
    names = ("daily-synced", "projects/tides", "projects/crane")
    for name in names:
        path = gated.root / f"memory/main/{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# {name}\n", "utf-8")
    gated.remember_files()
    script = "".join(call("Read", file_path=str(gated.root / f"memory/main/{name}.md")) for name in names)
    turn = claude.ask(f"{script}::say done")
    assert_hooks_ran(turn)
    assert [failed for failed, _ in results(fake.main_requests[-1])] == [False] * 3
    told = [hook.stdout for hook in turn.hooks if "than a session needs" in hook.stdout]
    assert len(told) == 1
    assert fake.main_requests[-1].text.count("than a session needs") == 1
