from __future__ import annotations

import doctest
import json
import subprocess
import sys
import threading
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from types import ModuleType

import pluggy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks import hookspecs, ownership, testing
from apm_hooks.errors import NotTrustedError, SettingsError, UsageError
from apm_hooks.events import Contribution, FlushRequest, IntentQuery, MessageReceived, SessionStart, ToolCall
from apm_hooks.hookspecs import hookimpl
from apm_hooks.ownership import Owner
from apm_hooks.records import DM, Fragment, Scope, ScopeKind, Source
from apm_hooks.runtime import Runtime
from apm_hooks.testing import Call, FakeClock, LeakChecker, Planted, Recorder, TemporaryWorkspace, canaries, leaks
from apm_hooks.testing import recorder as recorder_room
from apm_hooks.testing import workspace as workspace_room

GROUP = "agent:main:telegram:group:-1001"
NESTED = "agent:main:telegram:group:-1002"
GROUPS = {"-1001": "alpha", "-1002": "研发/平台"}
ALPHA = Scope(ScopeKind.GROUP, "alpha")


@pytest.mark.parametrize("room", [testing, workspace_room, recorder_room, canaries], ids=lambda room: room.__name__)
def test_every_example_is_true(room: ModuleType) -> None:
    names = {name: getattr(testing, name) for name in testing.__all__}
    names |= {"SessionStart": SessionStart, "datetime": datetime, "UTC": UTC}
    done = doctest.testmod(room, extraglobs=names)
    assert done.failed == 0
    assert done.attempted > 0


def test_it_needs_no_test_framework() -> None:
    script = "import sys; sys.modules.update(pytest=None, unittest=None, hypothesis=None); import apm_hooks.testing"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_fake_clock_moves_when_it_is_told_to() -> None:
    clock = FakeClock(100)
    clock.advance(0.5)
    assert clock() == 100.5
    clock.advance(-100.5)
    assert clock() == 0.0
    clock.set(datetime(1970, 1, 1, 8, 0, 1, tzinfo=timezone(timedelta(hours=8))))
    assert clock() == 1.0
    assert FakeClock(datetime(1970, 1, 2, tzinfo=UTC))() == 86_400.0
    assert FakeClock()() == FakeClock()() == datetime(2026, 1, 1, tzinfo=UTC).timestamp()


def test_a_fake_clock_refuses_a_time_without_a_zone() -> None:
    naive = datetime(2026, 1, 1)
    with pytest.raises(UsageError, match="zone"):
        FakeClock(naive)
    clock = FakeClock(5)
    with pytest.raises(UsageError, match="zone"):
        clock.set(naive)
    assert clock() == 5.0


def test_a_fake_clock_loses_no_second_between_threads() -> None:
    clock = FakeClock(0)

    def tick() -> None:
        for _ in range(2000):
            clock.advance(1)

    threads = [threading.Thread(target=tick) for _ in range(8)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert clock() == 16_000.0


def test_a_workspace_is_gone_after_its_block_and_stays_in_a_folder_of_yours(tmp_path: Path) -> None:
    with TemporaryWorkspace() as made:
        made.session_start()
        assert made.root.is_dir()
        assert made.home.is_dir()
    assert not made.root.exists()
    assert not made.home.exists()
    with TemporaryWorkspace(tmp_path / "kept") as kept:
        kept.session_start()
    assert (kept.root / "memory/main/index.md").is_file()
    assert {file.name for file in (tmp_path / "kept").iterdir()} == {"home", "workspace"}


def test_a_workspace_is_removed_when_its_block_fails() -> None:
    with pytest.raises(KeyError), TemporaryWorkspace() as made:
        raise KeyError
    assert not made.root.exists()


def test_a_workspace_uses_no_home_but_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for variable in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path / "real"))
    monkeypatch.setenv("APM_REQUIRE_SESSION", "1")
    with TemporaryWorkspace() as made:
        assert made.session_start().decision.scope == DM
        assert list((made.home / ".config/apm-hooks").iterdir())
    assert not (tmp_path / "real").exists()


def test_a_workspace_is_accepted_with_the_settings_and_groups_that_it_is_made_with() -> None:
    settings = 'owner_peers = ["77"]\ntimezone = "Asia/Shanghai"\n'
    with TemporaryWorkspace(settings=settings, groups=GROUPS, now=datetime(2026, 2, 28, 20, tzinfo=UTC)) as made:
        keys = ("agent:main:telegram:direct:77", GROUP, NESTED, "agent:main:telegram:group:-9")
        scopes = [str(made.running.decide(made.event(key)).scope) for key in keys]
        assert scopes == ["DM", "Group(alpha)", "Group(研发/平台)", "None"]
        assert made.running.today() == date(2026, 3, 1)


def test_a_workspace_that_nobody_accepted_gives_nothing() -> None:
    with TemporaryWorkspace(trusted=False) as made:
        with pytest.raises(NotTrustedError):
            made.runtime()
        made.trust()
        assert made.session_start().decision.scope == DM


def test_a_change_of_who_may_read_what_counts_when_it_is_accepted() -> None:
    with TemporaryWorkspace() as made:
        made.groups(GROUPS)
        assert made.running.decide(made.event(GROUP)).scope is None
        made.trust()
        assert made.running.decide(made.event(GROUP)).scope == ALPHA
        made.settings('[scopes]\n"agent:main:cron:nightly" = "DM"\n')
        assert made.running.decide(made.event("agent:main:cron:nightly")).scope is None
        made.trust()
        assert made.running.decide(made.event("agent:main:cron:nightly")).scope == DM
        made.settings("no_such_setting = 1\n")
        with pytest.raises(SettingsError, match="no_such_setting"):
            made.trust()


def test_events_have_the_fields_that_they_are_given() -> None:
    with TemporaryWorkspace() as made:
        event = made.event(GROUP, source=Source.CLEAR, session_id="s2", message="hello", sender="7", is_group=True)
        assert (event.session_key, event.source, event.session_id, event.message) == (
            GROUP,
            Source.CLEAR,
            "s2",
            "hello",
        )
        assert (event.sender, event.is_group, event.single_user) == ("7", True, True)
        assert made.event(host="mine", single_user=False).single_user is False


def test_what_happens_in_a_workspace_can_be_seen() -> None:
    with TemporaryWorkspace(now=datetime(2026, 5, 4, tzinfo=UTC)) as made:
        assert (made.log(), made.state(), made.read("memory/none.md")) == ((), "", "")
        made.write("memory/main/longterm.md", b"# Decisions\n\nwe chose LL(1)\n")
        made.session_start("agent:main:cron:x")
        assert [(line["when"], line["code"]) for line in made.log()] == [("2026-05-04T00:00:00+00:00", "cron")]
        assert "log/apm.log" in made.state()
        assert "ledger/" in made.state()
        assert "we chose LL(1)" not in made.session_start().injection.text
        assert "we chose LL(1)" in made.message("which decisions did we take?").injection.text


def manager(plugin: object) -> pluggy.PluginManager:
    made = pluggy.PluginManager(hookspecs.PROJECT)
    made.add_hookspecs(hookspecs)
    made.register(plugin, "plugin")
    made.check_pending()
    return made


def hooks() -> list[str]:
    return sorted(name for name in vars(hookspecs) if hasattr(getattr(hookspecs, name), f"{hookspecs.PROJECT}_spec"))


def test_a_recorder_hears_every_hook_and_answers_none() -> None:
    recorder = Recorder()
    made = manager(recorder)
    for name in hooks():
        caller = getattr(made.hook, name)
        arguments = dict.fromkeys(caller.spec.argnames, f"given to {name}")
        assert caller(**arguments) == [], name
        assert recorder.calls[-1] == Call(name, next(iter(arguments.values()), None))
    assert len(recorder.calls) == len(hooks()) > 10
    recorder.clear()
    assert recorder.calls == ()


def test_a_recorder_gives_records_by_their_kind() -> None:
    recorder = Recorder()
    made = manager(recorder)
    first, second = IntentQuery("one", ()), IntentQuery("two", ())
    for query in (first, second):
        made.hook.apm_match_intent(query=query)
    made.hook.apm_parse_session_key(key="k")
    assert recorder.of(IntentQuery) == (first, second)
    assert recorder.of(str) == ("k",)
    assert recorder.of(SessionStart) == ()


def test_a_recorder_in_a_workspace_sees_what_plugins_see() -> None:
    recorder = Recorder()
    with TemporaryWorkspace(groups=GROUPS, plugins={"recorder": recorder}) as made:
        made.write("memory/groups/alpha.md", "# Alpha\n")
        made.session_start(GROUP)
        made.message("hello", GROUP)
        made.tool_call("Read", {"file_path": "memory/groups/alpha.md"}, GROUP)
        made.flush("remem", GROUP, text="the decision")
        made.turn_ended(GROUP)
        made.flush("pre-compaction", GROUP, usage_percent=81.0)
        made.turn_ended(GROUP)
        made.message("and one more thing", GROUP)
        made.flush("idle", GROUP)
    started, message, tool = recorder.of(SessionStart)[0], recorder.of(MessageReceived)[0], recorder.of(ToolCall)[0]
    assert {started.scope, message.scope, tool.scope} == {ALPHA}
    assert (started.root, message.text, tool.name) == (str(made.root), "hello", "Read")
    requests = recorder.of(FlushRequest)
    assert [(each.trigger, each.text, each.usage_percent) for each in requests] == [
        ("remem", "the decision", None), ("pre-compaction", "", 81.0), ("idle", "", None),
    ]  # fmt: skip
    heard = [call.hook for call in recorder.calls]
    assert heard[0] == "apm_session_start"
    assert {"remem_flush", "precompact_remem", "idle_flush", "apm_review_injection"} <= set(heard)


PLUGIN = """from apm_hooks.hookspecs import hookimpl

@hookimpl
def apm_guard_tool_call(event):
    raise RuntimeError
"""


def test_plugins_that_happen_to_be_installed_have_no_part_in_a_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "apm_hooks_installed-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: apm-hooks-installed\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[apm_hooks]\nmine = apm_hooks_installed\n")
    (tmp_path / "apm_hooks_installed.py").write_text(PLUGIN)
    # Its folder is not the first: that is where a running script lies, which is no place of installation.
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    recorder = Recorder()
    with TemporaryWorkspace(plugins={"mine": recorder}) as made:
        made.tool_call("Read", {"file_path": "x"})
        assert len(recorder.of(ToolCall)) == 1
        assert made.log() == ()
        assert "apm_hooks_installed" not in sys.modules
        real = Runtime(str(made.root), made.env, clock=made.clock, plugins={"mine": Recorder()})
        real.tool_call(made.event(), "Read", {})
        assert ["taken by apm_hooks_installed" in line["text"] for line in made.log()] == [True, False]
    sys.modules.pop("apm_hooks_installed")


def test_the_settings_on_plugins_count_in_a_test_too() -> None:
    recorder = Recorder()
    with TemporaryWorkspace(plugins={"mine": recorder}) as made:
        made.env["APM_BLOCK_PLUGINS"] = "mine"
        made.tool_call("Read", {"file_path": "x"})
    assert recorder.calls == ()


@pytest.mark.parametrize(
    ("seen", "scope", "found"),
    [
        ("a b c d", DM, ("b", "c", "d")),
        ("a b c d", "DM", ("b", "c", "d")),
        ("a b c d", ALPHA, ("a", "c", "d")),
        ("a b c d", "Group(beta)", ("a", "b", "d")),
        ("a b c d", None, ("a", "b", "c", "d")),
        ("a b c d", "", ("a", "b", "c", "d")),
        ("a", DM, ()),
        ("", None, ()),
    ],
)
def test_a_canary_of_another_owner_is_a_leak(seen: str, scope: Scope | str | None, found: tuple[str, ...]) -> None:
    owners = {"a": "DM", "b": "Group(alpha)", "c": "Group(beta)", "d": "operator"}
    assert leaks(owners, seen, scope) == found


def test_a_canary_without_an_owner_is_everyones_leak() -> None:
    assert leaks({"a": ""}, "a", None) == leaks({"a": ""}, "a", DM) == ("a",)


@pytest.fixture(scope="module")
def planted() -> tuple[Planted, ...]:
    with TemporaryWorkspace(groups=GROUPS) as made:
        return LeakChecker(made).planted


@given(st.data())
def test_no_leak_is_missed_whatever_stands_around_it(planted: tuple[Planted, ...], data: st.DataObject) -> None:
    shown = data.draw(st.lists(st.sampled_from(planted), unique=True, max_size=5))
    scope = data.draw(st.sampled_from(["DM", "Group(alpha)", "Group(研发/平台)", None]))
    text = data.draw(st.text(max_size=5)).join(["", *(each.canary for each in shown), ""])
    owners = {each.canary: each.owner for each in planted}
    assert set(leaks(owners, text, scope)) == {each.canary for each in shown if each.owner != scope}


def test_every_memory_file_holds_a_word_of_its_own() -> None:
    with TemporaryWorkspace(groups=GROUPS) as made:
        made.write("memory/groups/alpha/notes/deep.md", "deep")
        made.write("log/today.md", "today")
        checker = LeakChecker(made)
        folders = (made.root / "memory", made.root / "log")
        files = {file for folder in folders for file in folder.rglob("*") if file.is_file()} | {made.root / "MEMORY.md"}
        files.discard(made.root / "memory/groups/group_names.json")
        paths = {file.relative_to(made.root).as_posix() for file in files}
        assert {each.path for each in checker.planted} == paths
        for each in checker.planted:
            text = made.read(each.path)
            assert checker.found(text) == (each,)
        assert checker.found(made.read("memory/groups/group_names.json") + made.read("apm.toml")) == ()
        everything = "".join(made.read(path) for path in paths)
        assert checker.found(everything) == checker.planted


def test_words_belong_to_whom_the_ownership_table_says() -> None:
    with TemporaryWorkspace(groups=GROUPS) as made:
        planted = LeakChecker(made).planted
    groups = {f"Group({name})" for name in GROUPS.values()}
    names = {Owner.DM: {"DM"}, Owner.OPERATOR: {"operator"}, Owner.GROUP: groups}
    for each in planted:
        row = ownership.classify(each.path).row
        assert row is not None
        assert each.owner in names[row.owner], each.path
    assert {each.owner for each in planted} == {"DM", "operator", *groups}
    for group in GROUPS.values():
        mine = {each.path for each in planted if each.owner == f"Group({group})"}
        assert mine == {path for path in (each.path for each in planted) if ownership.in_group(group, path)}


def test_what_files_held_stays_and_is_still_what_it_was() -> None:
    with TemporaryWorkspace(groups=GROUPS) as made:
        made.write("memory/flush-state.json", '{"pending_items": ["α"], "flush_number": 3}')
        checker = LeakChecker(made)
        state = json.loads(made.read("memory/flush-state.json"))
        canary = next(each.canary for each in checker.planted if each.path == "memory/flush-state.json")
        assert state["pending_items"] == ["α", canary]
        assert state["flush_number"] == 3
        for damaged in ("{", "[1]", '{"pending_items": null}', "\x00"):
            made.write("memory/groups/alpha/flush-state.json", damaged)
            assert made.read("memory/groups/alpha/flush-state.json") == damaged
            canary = checker.plant("memory/groups/alpha/flush-state.json")
            assert made.read("memory/groups/alpha/flush-state.json") == f"{damaged}\n{canary}\n"
        assert "ship the parser" in made.session_start().injection.text
        match = made.running.route(DM, "current tasks")
        assert match is not None
        assert match.route.path == "attention.md"


@pytest.mark.parametrize(
    ("key", "scope", "message", "paths"),
    [
        (
            None,
            "DM",
            "which decisions?",
            {"main/index.md", "main/attention.md", "2026-01-01.md", "main/longterm.md", "INDEX.md"},
        ),
        (GROUP, "Group(alpha)", "current tasks", {"groups/alpha.md", "groups/alpha/attention.md"}),
        (NESTED, "Group(研发/平台)", "people and roles", {"groups/研发/平台.md", "groups/研发/平台/people.md"}),
        ("agent:main:cron:x", None, "current tasks", set()),
    ],
)  # fmt: skip
def test_a_session_sees_words_of_its_own_and_no_other(
    key: str | None, scope: str | None, message: str, paths: set[str]
) -> None:
    with TemporaryWorkspace(groups=GROUPS) as made:
        checker = LeakChecker(made)
        seen = made.session_start(key).injection.text + made.message(message, key).injection.text
        checker.check(seen, scope)
        assert {each.path for each in checker.found(seen)} == {f"memory/{path}" for path in paths}
        checker.check(made.state(), None)


def test_a_check_names_file_and_owner_of_each_leak() -> None:
    with TemporaryWorkspace(groups=GROUPS) as made:
        checker = LeakChecker(made)
        seen = made.read("MEMORY.md") + made.read("memory/groups/alpha/people.md") + made.read("memory/groups/alpha.md")
        assert [each.path for each in checker.leaks(seen, ALPHA)] == ["MEMORY.md"]
        with pytest.raises(AssertionError, match=r"^Group\(alpha\) sees MEMORY\.md of DM$"):
            checker.check(seen, ALPHA)
        with pytest.raises(AssertionError, match=r"^a session without a scope sees MEMORY\.md of DM, memory/groups"):
            checker.check(seen, None)
        canary = checker.plant("memory/groups/alpha/mine.md")
        assert checker.leaks(canary, "DM")[0].owner == "Group(alpha)"


class Leaky:
    """What no plugin may do: it tells every session what the owner decided."""

    @hookimpl
    def apm_session_start(self, event: SessionStart) -> Contribution:
        text = (Path(event.root) / "memory/main/longterm.md").read_text(encoding="utf-8")
        return Contribution((Fragment("decisions", text),))


def test_a_plugin_that_leaks_is_caught() -> None:
    with TemporaryWorkspace(groups=GROUPS, plugins={"leaky": Leaky()}) as made:
        checker = LeakChecker(made)
        checker.check(made.session_start().injection.text, DM)
        with pytest.raises(AssertionError, match=r"sees memory/main/longterm\.md of DM"):
            checker.check(made.session_start(GROUP).injection.text, ALPHA)


def test_everything_public_is_documented() -> None:
    for name in testing.__all__:
        thing = getattr(testing, name)
        assert thing.__doc__, name
        # What the hooks mean stands in the contract; the recorder only listens.
        methods = [] if thing is Recorder else [value for key, value in vars(thing).items() if key[0] != "_"]
        assert all(getattr(method, "__doc__", "") for method in methods if callable(method)), name
