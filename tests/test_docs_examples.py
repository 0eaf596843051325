"""What the documentation shows in Python runs, and what it says of the hooks is what the contract says."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import pluggy
import pytest

from apm_hooks import hookspecs, testing
from apm_hooks.records import HostEvent
from apm_hooks.runtime import Runtime

DOCS = Path(__file__).parents[1] / "docs"
HEADING = re.compile(r"^## (\w+\(.*\))$", re.MULTILINE)


def blocks(page: str) -> list[tuple[int, str]]:
    """The page's Python blocks with the line on which each begins."""
    text = (DOCS / page).read_text(encoding="utf-8")
    found = re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [(text[: block.start(1)].count("\n") + 1, block[1]) for block in found]


def run(page: str, line: int, code: str, name: str = "shown") -> ModuleType:
    """The block as a module of its own; errors show the page's line."""
    module = ModuleType(name)
    compiled = compile("\n" * (line - 1) + code, str(DOCS / page), "exec", dont_inherit=True)
    exec(compiled, vars(module))  # noqa: S102 - our own documentation
    return module


def specs() -> dict[str, FunctionType]:
    reader = pluggy.PluginManager(hookspecs.PROJECT)
    return {name: value for name, value in vars(hookspecs).items()
            if inspect.isfunction(value) and reader.parse_hookspec_opts(hookspecs, name) is not None}  # fmt: skip


def sections() -> dict[str, str]:
    """The sections of the hooks by their headings."""
    text = (DOCS / "plugins.md").read_text(encoding="utf-8").partition("\n# The hooks\n")[2].partition("\n# ")[0]
    parts = HEADING.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize(("line", "code"), blocks("runtime.md"))
def test_what_the_page_on_the_runtime_shows_runs(line: int, code: str) -> None:
    assert "assert " in code
    run("runtime.md", line, code)


def test_every_hook_has_its_section_with_its_signature_in_the_order_of_the_contract() -> None:
    expected = [f"{name}({', '.join(inspect.signature(spec).parameters)})" for name, spec in specs().items()]
    assert list(sections()) == expected


@pytest.mark.parametrize("heading", sections())
def test_a_section_says_when_with_what_what_to_return_and_how_answers_combine(heading: str) -> None:
    section = sections()[heading]
    places = [section.index(f"{word}: ") for word in ("When", "With", "Return", "Combined")]
    assert places == sorted(places)


@pytest.fixture(scope="module")
def shown() -> list[ModuleType]:
    """Every block of the page on plugins, but the test at its end."""
    return [run("plugins.md", line, code, f"shown_{line}") for line, code in blocks("plugins.md")[:-1]]


def test_every_hook_is_shown_by_a_plugin_that_is_accepted(shown: list[ModuleType]) -> None:
    found = set()
    for module in shown:
        manager = pluggy.PluginManager(hookspecs.PROJECT)
        manager.add_hookspecs(hookspecs)
        manager.register(module)
        manager.check_pending()
        found |= {caller.name for caller in manager.get_hookcallers(module) or ()}
    assert found == set(specs())


@pytest.fixture
def used(shown: list[ModuleType]) -> Iterator[tuple[testing.TemporaryWorkspace, testing.Recorder]]:
    """A workspace with all plugins of the page at once."""
    recorder = testing.Recorder()
    plugins: dict[str, object] = {f"p{number:02}": module for number, module in enumerate(shown)}
    with testing.TemporaryWorkspace(groups={"ops": "ops"}, plugins={**plugins, "recorder": recorder}) as made:
        made.write("memory/main/longterm.md", "# Long term\n\nthe password is x\nwe chose LL(1)\n")
        yield made, recorder


def test_the_plugins_of_the_page_do_what_it_says(
    used: tuple[testing.TemporaryWorkspace, testing.Recorder], shown: list[ModuleType]
) -> None:
    made, _ = used
    started = made.session_start().injection.text
    assert "Write decisions down before you end your turn." in started
    assert started.index("It is Thursday.") < started.index("# Index")
    message = made.message("deploy what longterm.md says").injection.text
    assert "Deployments are closed on Fridays." in message
    assert "we chose LL(1)" in message
    assert "password" not in message
    assert str(made.running.decide(made.event("agent:main:pager:room/ops")).scope) == "Group(ops)"
    verdict = made.tool_call("Bash", {"command": "git push --force"})
    assert (verdict.deny, verdict.reason) == (True, "Pushes are a person's to make: ask for one.")
    assert not made.tool_call("Bash", {"command": "ls"}).deny
    answers = made.flush("remem", text="the release is out").answers
    made.turn_ended()
    assert [answer.directive for answer in answers] == ["Write the release's date into attention.md."]
    assert [answer.pending for answer in made.flush("pre-compaction").answers] == [
        ("check that the open question was answered",)
    ]
    made.turn_ended()
    made.message("one more thing")
    assert [answer.report for answer in made.flush("idle").answers] == ["DM: quiet"]
    assert made.log() == ()


def test_the_test_of_the_page_passes(shown: list[ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apm_hooks_mine", shown[0])
    line, code = blocks("plugins.md")[-1]
    tests = [value for name, value in vars(run("plugins.md", line, code)).items() if name.startswith("test_")]
    assert len(tests) == 1
    tests[0]()


def tables(page: str, heading: str) -> list[str]:
    """The names in the first column of the table under a heading of a page."""
    text = (DOCS / page).read_text(encoding="utf-8")
    section = text.partition(f"\n# {heading}\n")[2].partition("\n# ")[0]
    cells = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`(\w+)", cell)]


def test_every_field_of_an_event_is_explained() -> None:
    assert sorted(tables("runtime.md", "Events")) == sorted(HostEvent.__dataclass_fields__)


def test_every_call_that_is_explained_has_the_arguments_that_are_shown() -> None:
    text = (DOCS / "runtime.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^\| `(\w+)\((.*?)\)` \|", text, re.MULTILINE))
    assert {"session_start", "message_received", "tool_call", "flush", "turn_ended", "session_end"} <= set(shown)
    for name, arguments in shown.items():
        real = inspect.signature(getattr(Runtime, name)).parameters
        for argument in filter(None, arguments.split(", ")):
            argument_name, _, default = argument.partition("=")
            assert argument_name in real, name
            assert not default or eval(default) == real[argument_name].default  # noqa: S307 - our own documentation


def test_every_name_of_the_testing_module_is_in_the_table() -> None:
    assert set(tables("plugins.md", "Tests")) == set(testing.__all__) - {"Call", "Planted"}
