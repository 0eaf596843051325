"""Who may be a plugin, under which name, and what the manager answers about all of them."""

from __future__ import annotations

import functools
import importlib
import inspect
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from apm_hooks import hookspecs
from apm_hooks._version import __version__
from apm_hooks.errors import UsageError
from apm_hooks.events import Contribution, SessionStart
from apm_hooks.hookspecs import hookimpl
from apm_hooks.plugin_checks import arguments_by_hook
from apm_hooks.plugin_records import copied
from apm_hooks.plugins import BUILTIN, BUILTIN_HOOKS, PluginInfo, Plugins, PluginSettings, create_plugins
from apm_hooks.records import DM, HostEvent, Limits

EVENT = SessionStart(HostEvent("test", "s1"), DM, "/ws", 100, len)


class Plugin:
    """A good plugin; `priority` tells several apart."""

    def __init__(self, priority: int = 0) -> None:
        self.priority = priority

    @hookimpl
    def apm_session_start(self, event: SessionStart) -> Contribution:
        return Contribution(priority=self.priority)


def module(**members: object) -> ModuleType:
    made = ModuleType("plugin_module")
    vars(made).update(members)
    return made


def registered(plugin: object, name: str = "mine", **settings: Any) -> tuple[Plugins, list[tuple[str, str]]]:
    reports: list[tuple[str, str]] = []
    made = Plugins((), PluginSettings(**settings), report=lambda *told: reports.append(told))
    made.register(plugin, name)
    return made, reports


def state_of(plugins: Plugins, name: str) -> str:
    return next(info.state for info in plugins.infos() if info.name == name)


def decorated(function: Callable[..., object]) -> Callable[..., object]:
    @functools.wraps(function)
    def inner(*args: object, **kwargs: object) -> object:
        return function(*args, **kwargs)

    return inner


def careless(function: Callable[..., object]) -> Callable[..., object]:
    def inner(*args: object, **kwargs: object) -> object:
        return function(*args, **kwargs)

    return inner


def plain(event: object) -> None:
    """What any hook of one event may be."""


async def coroutine(event: object) -> None:
    """Nobody would await it."""


def generator(event: object) -> Iterator[object]:
    yield None


async def async_generator(event: object) -> AsyncIterator[object]:
    yield None


class Methods:
    @hookimpl
    async def apm_session_start(self, event: object) -> None:
        """Nobody would await it."""


class Property:
    @property
    @hookimpl
    def apm_session_start(self) -> None:
        """pluggy never looks behind a property."""


def without() -> Contribution:
    """A hook may leave its arguments out."""
    return Contribution()


def start(function: Callable[..., object], **options: Any) -> ModuleType:
    return module(apm_session_start=hookimpl(**options)(function))


def fresh(function: Callable[..., object]) -> Callable[..., object]:
    """The function anew, so that a mark stays with one case."""
    assert isinstance(function, FunctionType)
    return FunctionType(function.__code__, function.__globals__, function.__name__)


def marked(function: Callable[..., object], hook: str = "") -> Callable[..., object]:
    return hookimpl(specname=hook or None)(fresh(function))


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a misspelt hook": (
        lambda: module(apm_sesion_start=marked(plain), remem_flsh=marked(plain), qqq=marked(plain)),
        "no such hook: apm_sesion_start (did you mean apm_session_start?), qqq, remem_flsh (did you mean remem_flush?)",
    ),
    "a misspelt hook that calls itself optional": (
        lambda: module(apm_sesion_start=hookimpl(optionalhook=True)(fresh(plain))),
        "no such hook: apm_sesion_start (did you mean apm_session_start?)",
    ),
    "a misspelt name of a spec": (lambda: start(fresh(plain), specname="idle_flsh"), "no such hook: idle_flsh (did"),
    "a wrapper": (lambda: start(fresh(generator), wrapper=True), "apm_session_start is a wrapper"),
    "an old wrapper": (lambda: start(fresh(generator), hookwrapper=True), "apm_session_start is a wrapper"),
    "a coroutine": (lambda: start(fresh(coroutine)), "apm_session_start is async def"),
    "a coroutine method": (Methods, "apm_session_start is async def"),
    "a generator": (lambda: start(fresh(generator)), "apm_session_start is a generator"),
    "an async generator": (lambda: start(fresh(async_generator)), "apm_session_start is an async generator"),
    "a decorated coroutine": (lambda: start(decorated(coroutine)), "apm_session_start is async def"),
    "a decorated partial of a generator": (
        lambda: start(decorated(functools.partial(generator))), "apm_session_start is a generator",
    ),
    "a partial": (
        lambda: start(functools.partial(plain)),
        "apm_session_start is marked with hookimpl, but is no function (partial)",
    ),
    "a property": (Property, "apm_session_start is marked with hookimpl, but is no function (property)"),
    "an argument too many": (
        lambda: start(lambda event, model: None),
        "apm_session_start takes model, which the hook does not have (its arguments: event)",
    ),
    "an argument where there is none": (
        lambda: module(apm_audit_rules=marked(plain)),
        "apm_audit_rules takes event, which the hook does not have (its arguments: none)",
    ),
    "a default": (lambda: start(lambda event=None: None), "apm_session_start has a default for event"),
    "a keyword": (lambda: start(lambda *, event: None), "apm_session_start takes event by keyword only"),
    "a careless decorator": (lambda: start(careless(plain)), "apm_session_start must name its argument event"),
    "one hook twice": (
        lambda: module(one=marked(plain, "idle_flush"), two=marked(plain, "idle_flush")),
        "idle_flush is implemented twice",
    ),
    "several faults": (
        lambda: module(idle_flush=marked(coroutine), apm_flushed=marked(generator), x=marked(plain)),
        "no such hook: x; apm_flushed is a generator: hooks are plain functions; idle_flush is async def: hooks are",
    ),
    "nothing": (lambda: module(helper=plain), "implements no hook: mark its functions with apm_hooks.hookimpl"),
    "a forgotten mark": (lambda: module(apm_session_start=plain), "hookimpl (apm_session_start lacks the mark)"),
    "a class": (lambda: Plugin, "is a class: name a module or an object"),
    "None": (lambda: None, "is None: name a module or an object"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_could_never_work_is_refused_with_every_reason(what: str) -> None:
    make, reason = REFUSED[what]
    plugins, reports = registered(make())
    ((name, sentence),) = reports
    assert name == "mine"
    assert sentence.startswith("not used, broken: ")
    assert reason in sentence
    assert state_of(plugins, "mine") == "broken"
    assert not any(plugins.wanted(hook) for hook in arguments_by_hook())
    assert plugins.call("apm_session_start", Contribution, lambda: {"event": EVENT}) == []


@pytest.mark.parametrize(
    "plugin",
    [
        Plugin(),
        start(lambda event: Contribution()),
        start(without),
        start(lambda event, **more: Contribution()),
        start(lambda event, cache={}: Contribution()),
        start(lambda event: Contribution(), tryfirst=True),
        start(lambda event: Contribution(), trylast=True),
        start(decorated(lambda event: Contribution())),
        module(any_name=hookimpl(specname="apm_session_start")(lambda event: Contribution())),
    ],
)
def test_what_can_be_called_is_called(plugin: object) -> None:
    plugins, reports = registered(plugin)
    assert plugins.wanted("apm_session_start")
    assert not plugins.wanted("idle_flush")
    assert plugins.call("apm_session_start", Contribution, lambda: {"event": EVENT}) == [("mine", Contribution())]
    assert plugins.call("idle_flush", Contribution, lambda: {"event": EVENT}) == []
    assert reports == []


@pytest.mark.parametrize("seed", range(3))
def test_answers_come_by_name_whatever_the_order_of_registration(seed: int) -> None:
    plugins, _ = registered(Plugin(), "b")
    for name in [["a", "c"], ["c", "a"], ["c", "B"]][seed]:
        plugins.register(Plugin(), name)
    names = [name for name, _ in plugins.call("apm_session_start", Contribution, lambda: {"event": EVENT})]
    assert names == [["a", "b", "c"], ["a", "b", "c"], ["b", "c"]][seed]


@pytest.mark.parametrize(
    ("settings", "state"),
    [
        ({}, "active"),
        ({"allow": ("mine",)}, "active"),
        ({"allow": ("other", "Mine")}, "active"),
        ({"allow": ("other",)}, "not-allowed"),
        ({"block": ("other",)}, "active"),
        ({"block": ("MINE",)}, "blocked"),
        ({"allow": ("mine",), "block": ("mine",)}, "blocked"),
        ({"disabled": True}, "disabled"),
        ({"disabled": True, "block": ("mine",)}, "disabled"),
    ],
)
def test_the_lists_decide_and_say_nothing(settings: dict[str, Any], state: str) -> None:
    plugins, reports = registered(Plugin(), **settings)
    assert state_of(plugins, "mine") == state
    assert plugins.wanted("apm_session_start") is (state == "active")
    assert reports == []


@pytest.mark.parametrize("name", ["my-plugin", "My_Plugin", "my.plugin"])
def test_names_are_compared_in_one_form(name: str) -> None:
    plugins, reports = registered(Plugin(1), "my-plugin")
    plugins.register(Plugin(2), name)
    answers = plugins.call("apm_session_start", Contribution, lambda: {"event": EVENT})
    assert answers == [("my-plugin", Contribution(priority=1))]
    assert [(told, "not used, duplicate: the name is taken by" in said) for told, said in reports] == [(name, True)]


def test_a_built_in_name_belongs_to_the_built_in_plugin() -> None:
    plugins, reports = registered(Plugin(), "apm_memory")
    assert state_of(plugins, "apm_memory") == "duplicate"
    assert "the name is taken by apm-memory" in reports[0][1]


def test_strict_raises_every_report_at_once() -> None:
    reports: list[tuple[str, str]] = []
    with pytest.raises(UsageError) as caught:
        create_plugins(
            PluginSettings(strict=True, allow=("a", "b", "c")), cache_dir="/nowhere",
            report=lambda *told: reports.append(told),
            extra={"a": Plugin, "b": Plugin(), "c": start(lambda x: None), "not-allowed": Plugin},
        )  # fmt: skip
    assert [name for name, _ in reports] == ["a", "c"]
    assert all(f"{name}: {sentence}" in str(caught.value) for name, sentence in reports)
    with pytest.raises(UsageError, match="mine: not used, broken"):
        registered(Plugin, strict=True)


def test_extra_plugins_are_there_from_the_start(tmp_path: Path) -> None:
    made = create_plugins(PluginSettings(), cache_dir=str(tmp_path), report=print, extra={"mine": Plugin()})
    info = next(info for info in made.infos() if info.name == "mine")
    assert info == PluginInfo(
        "mine", "", "runtime", f"{Plugin.__module__}:Plugin", ("apm_session_start",), "active"
    )  # fmt: skip
    assert made.wanted("apm_session_start")


def test_the_table_of_built_in_hooks_says_what_the_modules_hold() -> None:
    held: dict[str, str] = {}
    for name in BUILTIN:
        loaded = importlib.import_module(name)
        assert f"apm-{name.rpartition('.')[2]}" == loaded.NAME
        held |= {hook: name for hook in arguments_by_hook() if inspect.isfunction(getattr(loaded, hook, None))}
    assert held == dict(BUILTIN_HOOKS)


def test_every_hook_of_the_contract_is_known_with_its_arguments() -> None:
    specs = {
        name: value for name, value in vars(hookspecs).items() if name.startswith("apm_") or name.endswith("_flush")
    }
    assert set(arguments_by_hook()) == {*specs, "precompact_remem"}
    assert arguments_by_hook()["apm_token_counter"] == ("name",)


def test_built_in_plugins_answer_unless_they_are_blocked() -> None:
    plugins = Plugins((), PluginSettings(block=("apm_intent",), allow=("other",)), report=print)
    assert [(info.name, info.version, info.origin, info.value, info.state) for info in plugins.infos()] == [
        ("apm-channels", __version__, "built-in", "apm_hooks.builtin.channels", "active"),
        ("apm-intent", __version__, "built-in", "apm_hooks.builtin.intent", "blocked"),
        ("apm-memory", __version__, "built-in", "apm_hooks.builtin.memory", "active"),
    ]
    memory = importlib.import_module("apm_hooks.builtin.memory")
    assert plugins.builtin("apm_session_start") is memory.apm_session_start
    assert plugins.builtin("apm_match_intent") is None
    assert plugins.builtin("apm_flushed") is None


def test_many_threads_call_and_register_at_once() -> None:
    plugins, reports = registered(Plugin(), "p0")
    begin, wrong = threading.Barrier(8), []

    def work(number: int) -> None:
        begin.wait()
        plugins.register(Plugin(number), f"q{number}")
        for _ in range(5):
            answers = plugins.call("apm_session_start", Contribution, lambda: {"event": EVENT})
            own = [answer for name, answer in answers if name == f"q{number}"]
            if own != [Contribution(priority=number)] or answers[0] != ("p0", Contribution()):
                wrong.append((number, answers))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (wrong, reports) == ([], [])
    assert len(plugins.call("apm_session_start", Contribution, lambda: {"event": EVENT})) == 9


def test_a_plugin_that_asks_the_manager_gets_an_answer() -> None:
    plugins, reports = registered(Plugin(3), "inner")

    class Asks:
        @hookimpl
        def idle_flush(self, event: object) -> None:
            seen.extend(plugins.call("apm_session_start", Contribution, lambda: {"event": EVENT}))

    seen: list[tuple[str, object]] = []
    plugins.register(Asks(), "outer")
    plugins.call("idle_flush", Contribution, lambda: {"event": copied(EVENT)})
    assert (seen, reports) == ([("inner", Contribution(priority=3))], [])


def test_an_installed_plugin_that_no_longer_loads_is_reported_when_it_is_called() -> None:
    reports: list[tuple[str, str]] = []
    info = PluginInfo("gone", "1", "dist", "no_such_module_of_a_plugin", ("apm_session_start",), "active")
    plugins = Plugins((info, replace(info, name="other", value="string:capwords")), PluginSettings(),
                      report=lambda *told: reports.append(told))  # fmt: skip
    for _ in range(2):
        assert plugins.call("apm_session_start", Contribution, lambda: {"event": EVENT}) == []
    (first, why), (second, reason) = reports
    assert (first, second) == ("gone", "other")
    assert "raised ModuleNotFoundError: No module named 'no_such_module_of_a_plugin'" in why
    assert "implements no hook" in reason
    assert state_of(plugins, "gone") == "broken"
    # What was put together without its answer must not pass for whole.
    assert plugins.wanted("apm_session_start")


def test_one_that_breaks_in_two_calls_at_once_is_reported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2, timeout=5)

    def breaks(name: str) -> object:
        both.wait()
        raise ValueError(name)

    monkeypatch.setitem(sys.modules, "plugin_that_breaks", module(__getattr__=breaks))
    info = PluginInfo("mine", "1", "dist", "plugin_that_breaks:plugin", ("apm_session_start",), "active")
    reports: list[tuple[str, str]] = []
    plugins = Plugins((info,), PluginSettings(), report=lambda *told: reports.append(told), limits=Limits())

    def ask() -> None:
        plugins.call("apm_session_start", Contribution, lambda: {"event": EVENT})

    other = threading.Thread(target=ask)
    other.start()
    ask()
    other.join()
    assert reports == [("mine", "not used, broken: raised ValueError: plugin (plugin_that_breaks:plugin of dist)")]


def test_the_first_of_one_name_stays_the_first_whatever_its_spelling() -> None:
    listed = (
        PluginInfo("Plug", "1", "b-dist", "b", ("idle_flush",), "duplicate", "the name is taken by a of a-dist"),
        PluginInfo("plug", "1", "a-dist", "a", ("idle_flush",), "active"),
    )
    reports: list[tuple[str, str]] = []
    plugins = Plugins(listed, PluginSettings(), report=lambda *told: reports.append(told))
    assert [info.state for info in plugins.infos()[3:]] == ["duplicate", "active"]
    assert [name for name, _ in reports] == ["Plug"]


def test_importing_the_manager_imports_neither_pluggy_nor_a_plugin() -> None:
    code = (
        "import sys; from apm_hooks import plugins as p\n"
        "made = p.Plugins((), p.PluginSettings(), report=print)\n"
        "made.wanted('apm_session_start'), made.infos(), made.call('apm_session_start', object, dict)\n"
        "print(sorted({'pluggy', 'threading', 'json', 'importlib.metadata', *p.BUILTIN} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[]\n"
