"""Tools that run something: how the command, its words, its directory and its variables come out."""

from __future__ import annotations

from typing import Any

import pytest

from apm_hooks.access import Access, AccessKind, Calling, Unjudged
from apm_hooks.toolcalls import read_call
from apm_hooks.toolcalls.commands import COMMAND_CHARS, COMMANDS

CWD, HOME = "/home/user/project", "/home/user"
READ = AccessKind.READ


def ran(tool: str = "Bash", **arguments: Any) -> Calling:
    return read_call(tool, arguments, cwd=CWD, home=HOME)


def ran_by(host: str, arguments: dict[str, Any]) -> Calling:
    return read_call("shell", arguments, cwd=CWD, home=HOME, host=host)


def paths(calling: Calling) -> list[str]:
    return [access.path for access in calling.accesses]


@pytest.mark.parametrize(
    ("tool", "arguments", "command"),
    [
        ("Bash", {"command": "cat a"}, "cat a"),
        ("bash", {"cmd": "cat a"}, "cat a"),
        ("exec_command", {"cmd": "cat a", "yield_time_ms": 10, "tty": False}, "cat a"),
        ("shell", {"command": ["cat", "a"]}, "cat a"),
        ("shell", {"command": ["bash", "-lc", "cat a"]}, "bash -lc 'cat a'"),
        ("local_shell", {"action": {"type": "exec", "command": ["cat", "a"]}}, "cat a"),
        ("shell", {"action": {"commands": ["cat a"]}}, "cat a"),
        ("run_commands", {"commands": ["cat a"]}, "cat a"),
        ("run_commands", {"commands": '["cat a"]'}, "cat a"),
        ("run_commands", {"commands": [{"command": "cat", "args": ["a"]}]}, "cat\ncat a"),
        ("run_commands", {"commands": [["cat", "a"]]}, "cat a"),
        ("terminal", {"commands": "cat a"}, "cat a"),
        ("run_shell_command", {"args": ["cat", "a"]}, "cat a"),
        ("shell", {"command": ["cat a"]}, "cat a"),
        ("run_in_terminal", {"command": "cat", "args": ["a"], "explanation": "/x"}, "cat\ncat a"),
        ("mcp__desktop-commander__start_process", {"command": "cat a", "timeout_ms": 10}, "cat a"),
    ],
)
def test_a_command_in_every_shape(tool: str, arguments: dict[str, Any], command: str) -> None:
    assert ran(tool, **arguments) == Calling((Access(READ, f"{CWD}/a", word="a"),), command=command)


def test_several_commands_are_read_each() -> None:
    calling = ran("run_commands", commands=["ls", "cat a", "pwd"])
    assert paths(calling) == [CWD, f"{CWD}/a"]
    assert calling.command == "ls\ncat a\npwd"
    assert paths(ran("shell", command=["cat a", "cat b"])) == [f"{CWD}/a", f"{CWD}/b"]


def test_words_of_a_list_stay_words() -> None:
    assert paths(ran("shell", command=["cat", "a b", "$(cat c)"])) == [f"{CWD}/a b", f"{CWD}/$(cat c)"]


@pytest.mark.parametrize("text", ['["$(cat a)"]', '{"command": "$(cat a)"}', "[ -f a ] && cat a"])
def test_a_text_is_a_command_even_if_it_reads_like_a_list(text: str) -> None:
    assert f"{CWD}/a" in paths(ran(command=text))
    assert ran(command=text).command == text


@pytest.mark.parametrize(
    ("host", "arguments", "found"),
    [
        ("codex", {"workdir": "d"}, [f"{CWD}/d/a"]),
        ("codex", {"workdir": "d/../e"}, [f"{CWD}/e/a"]),
        ("codex", {"workdir": ""}, [f"{CWD}/a"]),
        ("codex", {"workdir": None}, [f"{CWD}/a"]),
        ("codex", {"cwd": "/d"}, [f"{CWD}/a", "/d/a"]),
        ("codex", {"Workdir": "/d"}, [f"{CWD}/a", "/d/a"]),
        ("cursor", {"working_directory": "~"}, [f"{HOME}/a"]),
        ("gemini-cli", {"dir_path": "d"}, [f"{CWD}/d/a"]),
        ("qwen-code", {"directory": "/d"}, ["/d/a"]),
        ("claude-code", {"workdir": "/d"}, [f"{CWD}/a", "/d/a"]),
        ("unheard-of", {"workdir": "/d"}, [f"{CWD}/a", "/d/a"]),
    ],
)
def test_a_command_starts_where_the_host_starts_it(host: str, arguments: dict[str, Any], found: list[str]) -> None:
    assert paths(ran_by(host, {"command": "cat a", **arguments})) == found


@pytest.mark.parametrize("workdir", [3, ["/d", "/e"], "~bob", "$X/d", "a\0"])
def test_a_directory_that_is_not_certain_leaves_relative_words_unjudged(workdir: Any) -> None:
    calling = ran_by("codex", {"command": "cat a", "workdir": workdir})
    assert paths(calling) == []
    assert "directory" in {each.reason for each in calling.unjudged}


def test_uses_become_accesses_one_to_one() -> None:
    calling = ran(command="grep -rn x memory --include='*.md' && rm -r b && cat c/*.md && mv d e")
    assert calling.accesses[:3] == (
        Access(AccessKind.SEARCH, f"{CWD}/memory", recursive=True, only=("*.md",), word="memory"),
        Access(AccessKind.DELETE, f"{CWD}/b", recursive=True, word="b"),
        Access(READ, f"{CWD}/c/*.md", glob=True, word="c/*.md"),
    )
    assert calling.accesses[3] == Access(AccessKind.MOVE_FROM, f"{CWD}/d", recursive=True, word="d")


def test_two_dots_are_kept_for_who_follows_links() -> None:
    assert paths(ran(command="cat link/../a")) == [f"{CWD}/a", f"{CWD}/link/../a"]


def test_doubts_say_whether_they_are_about_words_or_about_a_program() -> None:
    words, program = ran(command="cat $X"), ran(command="some-program x")
    assert [(each.reason, each.opaque) for each in words.unjudged] == [("variable", False)]
    assert [(each.reason, each.opaque) for each in program.unjudged] == [("program", True)]


def test_our_own_command_comes_out_with_its_words() -> None:
    calling = ran(command="apm-hooks write --session k note 'a b'")
    assert calling.own == (("apm-hooks", "write", "--session", "k", "note", "a b"),)
    assert calling.accesses == ()
    assert ran(command="apm-hooks").own == (("apm-hooks",),)


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": "APM_SESSION=z apm-hooks status"},
        {"command": "apm-hooks status", "env": {"APM_SESSION": "z"}},
        {"command": "apm-hooks status", "env": ["APM_SESSION=z"]},
        {"command": "apm-hooks status", "env": '{"APM_SESSION": "z"}'},
    ],
)
def test_variables_that_are_set_for_our_command_are_among_its_words(arguments: dict[str, Any]) -> None:
    with_variable = ("APM_SESSION=z", "apm-hooks", "status")
    assert ran_by("openclaw", arguments).own == (with_variable,)
    assert ran(**arguments).own[-1] == with_variable


def test_variables_that_the_host_may_pass_over_change_no_other_reading() -> None:
    call: dict[str, Any] = {"command": "cat ~/a", "env": {"HOME": "/elsewhere"}}
    assert paths(ran_by("openclaw", call)) == ["/elsewhere/a"]
    assert paths(ran(**call)) == [f"{HOME}/a", "/elsewhere/a"]


def test_no_argument_hides_the_command() -> None:
    assert f"{CWD}/a" in paths(ran(command="cat a", action={"command": "pwd"}))
    assert f"{CWD}/a" in paths(ran(command="cat a", args=["--help"]))
    assert f"{CWD}/a" in paths(ran(command="pwd", Command="cat a"))
    assert f"{CWD}/a" in paths(ran(command="pwd", commands=["cat a"]))


def test_a_program_by_our_name_elsewhere_is_run_as_the_file_that_it_is() -> None:
    calling = ran(command="./apm-hooks status")
    assert calling.own == ((f"{CWD}/./apm-hooks", "status"),) or calling.own == ((f"{CWD}/apm-hooks", "status"),)
    assert [access.kind for access in calling.accesses] == [AccessKind.EXECUTE]


@pytest.mark.parametrize("env", [{"A B": "x"}, {3: "x"}, {"A": ["x"]}, [3], "no pair"])
def test_variables_of_no_known_form_are_not_judged(env: Any) -> None:
    calling = ran("exec", command="pwd", env=env)
    assert [each.reason for each in calling.unjudged] == ["not-text"] or env == "no pair"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"command": "cat a", "shell": "powershell"}, "other-shell"),
        ({"command": "cat a", "shell": "/usr/bin/python3"}, "other-shell"),
        ({"command": ["pwsh", "-Command", "Get-Content a"]}, "other-shell"),
        ({"command": "cat", "stdin": "text"}, "input"),
        ({"command": ["cat", 3]}, "not-text"),
        ({"command": {"command": {"command": {"command": {"command": "cat a"}}}}}, "too-deep"),
    ],
)
def test_what_the_reader_of_commands_cannot_know_is_said(arguments: dict[str, Any], reason: str) -> None:
    assert reason in {each.reason for each in ran("shell", **arguments).unjudged}


def test_a_usual_shell_is_no_doubt() -> None:
    assert ran("exec_command", cmd="cat a", shell="/bin/zsh").unjudged == ()  # noqa: S604 - an argument's name


@pytest.mark.parametrize("arguments", [{"restart": True}, {"session_id": "x"}, {"result": "done"}])
def test_a_call_that_runs_nothing(arguments: dict[str, Any]) -> None:
    assert ran(**arguments) == Calling()


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("write_stdin", {"session_id": 1, "chars": "cat a\n"}, "cat a\n"),
        ("write_bash", {"sessionId": "x", "input": "cat a"}, "cat a"),
        ("process", {"action": "send-keys", "keys": ["cat a", "Enter"]}, "cat a"),
        ("send_to_terminal", {"id": "x", "command": "cat a"}, "cat a"),
    ],
)
def test_text_for_a_running_program_is_not_judged(tool: str, arguments: dict[str, Any], word: str) -> None:
    assert Unjudged("input", word) in ran(tool, **arguments).unjudged


@pytest.mark.parametrize("arguments", [{"action": "poll", "sessionId": "x"}, {"chars": "", "session_id": 1}])
def test_asking_for_output_is_free(arguments: dict[str, Any]) -> None:
    assert ran("process", **arguments) == Calling()


def test_there_is_an_end_to_what_is_read() -> None:
    many = ran("run_commands", commands=[f"cat {number}" for number in range(COMMANDS + 1)])
    assert len(many.accesses) == COMMANDS
    assert many.unjudged == (Unjudged("too-much", f"cat {COMMANDS}"),)
    long = ran(command="cat a " + "b" * COMMAND_CHARS)
    assert [each.reason for each in long.unjudged] == ["too-much"]
