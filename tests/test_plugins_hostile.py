"""What a hostile plugin does costs its own answer and one report that names it, wherever it stands among others."""

from __future__ import annotations

import contextlib
import ctypes
import io
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.events import AuditRule, Contribution, Reviewed, SessionStart, ToolCall, Verdict
from apm_hooks.hookspecs import hookimpl
from apm_hooks.plugin_records import ContractError, checked, copied
from apm_hooks.plugins import Plugins, PluginSettings
from apm_hooks.records import DM, LIMITS, Fragment, HostEvent, Limits, Route, RouteMatch, ScopeKind

ENOUGH = 5.0
"""Far less than a hang, far more than a slow machine needs for all that does not hang, in seconds."""


@dataclass(frozen=True, slots=True)
class Quick(Limits):
    plugin_seconds: float = 0.4


@dataclass(slots=True)
class Told:
    """The manager, and what was reported."""

    plugins: Plugins
    reports: list[tuple[str, str]]

    def start(self) -> list[tuple[str, object]]:
        return self.plugins.call("apm_session_start", Contribution, lambda: {"event": SESSION})


def manager(plugins: Mapping[str, object], limits: Limits | None = None) -> Told:
    reports: list[tuple[str, str]] = []
    made = Plugins((), PluginSettings(), report=lambda *told: reports.append(told), limits=limits or Quick())
    for name, plugin in plugins.items():
        made.register(plugin, name)
    return Told(made, reports)


SESSION = SessionStart(
    HostEvent("test", "s1", session_key="agent:main:main"), DM, "/ws", 100, len, limits=replace(LIMITS)
)


def implementing(hook: str, body: Callable[[Any], object]) -> object:
    """A plugin with one hook."""

    class Plugin:
        pass

    @hookimpl(specname=hook)
    def implementation(event: Any) -> object:
        return body(event)

    plugin = Plugin()
    setattr(plugin, hook, implementation)
    return plugin


def starting(body: Callable[[Any], object]) -> object:
    return implementing("apm_session_start", body)


class Good:
    """Answers with what it was given."""

    @hookimpl
    def apm_session_start(self, event: SessionStart) -> Contribution:
        seen = (
            f"{event.host.session_key} {event.scope} {event.budget_tokens} {event.limits.routes} {event.count('abc')}"
        )
        return Contribution((Fragment("good", seen),))


def among(names: list[str], position: int, hostile: object) -> dict[str, object]:
    """Good plugins, with the hostile one at `position`."""
    return {name: hostile if at == position else Good() for at, name in enumerate(names)}


GOOD = "agent:main:main DM 100 2000 3"


class UnshowableError(BaseException):
    def __str__(self) -> str:
        raise SystemExit(3)


def raises(error: BaseException) -> Callable[[Any], object]:
    def body(event: Any) -> object:
        raise error

    return body


def recurses(event: Any) -> object:
    return recurses(event)


def mutates(event: Any) -> None:
    for record, name, value in (
        (event, "budget_tokens", 10**9), (event.host, "session_key", "evil"), (event.scope, "kind", ScopeKind.GROUP),
        (event.limits, "routes", 0),
    ):  # fmt: skip
        object.__setattr__(record, name, value)


def deletes(event: Any) -> None:
    for record, name in ((event, "count"), (event.host, "session_key"), (event.scope, "kind")):
        object.__delattr__(record, name)


class Liar:
    """Says that it is a contribution."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return Contribution


class Sub(Contribution):
    """Would raise wherever the library reads its fragments."""

    def __getattribute__(self, name: str) -> Any:
        raise SystemExit(name)

    def __eq__(self, other: object) -> bool:
        raise SystemExit("eq")

    __hash__ = None  # type: ignore[assignment]


class Endless(tuple[Any, ...]):
    __slots__ = ()

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield Fragment("evil", "x")


class Shout(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise KeyboardInterrupt


def unfinished(event: Any) -> Contribution:
    answer = Contribution()
    object.__delattr__(answer, "priority")
    return answer


async def later() -> None:
    """Never awaited."""


def generated() -> Generator[int, None, None]:
    yield 1


def text_of(*texts: Any) -> Contribution:
    return Contribution(tuple(Fragment("evil", text) for text in texts))


TAKEN = "taken"
"""In place of a sentence: nothing is reported, and the answer counts."""
NONE = "none"
"""In place of a sentence: nothing is reported, and there is no answer."""

HOSTILE: dict[str, tuple[Callable[[Any], object], str]] = {
    "raises": (raises(ValueError("memory content")), "apm_session_start raised ValueError at "),
    "exits": (raises(SystemExit(1)), "apm_session_start raised SystemExit at "),
    "interrupts": (raises(KeyboardInterrupt()), "raised KeyboardInterrupt"),
    "raises what cannot be shown": (raises(UnshowableError()), "raised UnshowableError"),
    "recurses": (recurses, "raised RecursionError"),
    "leaves by the thread": (lambda event: sys.exit("bye"), "raised SystemExit"),
    "mutates": (mutates, NONE),
    "deletes": (deletes, NONE),
    "prints": (lambda event: print("to the host's channel"), NONE),
    "a text": (lambda event: "nonsense", "answered a str, not a Contribution"),
    "a class": (lambda event: Contribution, "answered a type, not a Contribution"),
    "another record": (lambda event: Verdict(deny=True), "answered a Verdict, not a Contribution"),
    "a coroutine": (lambda event: later(), "answered a coroutine, not a Contribution"),
    "a generator": (lambda event: generated(), "answered a generator, not a Contribution"),
    "a liar": (lambda event: Liar(), "answered a Liar, not a Contribution"),
    "a subclass": (lambda event: Sub((Fragment("evil", "x"),)), TAKEN),
    "a list for a tuple": (lambda event: Contribution([Fragment("evil", "x")]), TAKEN),  # type: ignore[arg-type]
    "an endless tuple": (lambda event: Contribution(Endless((Fragment("evil", "x"),))), TAKEN),
    "a shouting text": (lambda event: text_of(Shout("x")), TAKEN),
    "a missing field": (unfinished, "Contribution.priority is missing"),
    "no fragments": (lambda event: Contribution((1,)), "Contribution.fragments[0] is an int, not a Fragment"),  # type: ignore[arg-type]
    "a number for a text": (lambda event: text_of("x", 7), "Contribution.fragments[1].text is an int, not a str"),
    "a text for a number": (lambda event: Contribution(priority="high"), "Contribution.priority is a str, not an int"),  # type: ignore[arg-type]
    "half a character": (lambda event: text_of("a\ud800"), "Contribution.fragments[0].text holds half a character"),
}


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("what", HOSTILE)
def test_the_others_answers_are_kept(what: str, position: int) -> None:
    body, sentence = HOSTILE[what]
    names = ["a", "b", "c"]
    told = manager(among(names, position, starting(body)), Quick(plugin_seconds=10.0))
    before = repr(SESSION)
    began = time.monotonic()
    answers = told.start()
    assert time.monotonic() - began < ENOUGH
    evil = names[position]
    good = [(name, answer.fragments[0].text) for name, answer in answers if name != evil]  # type: ignore[attr-defined]
    assert good == [(name, GOOD) for name in names if name != evil]
    own = [answer for name, answer in answers if name == evil]
    if sentence in (TAKEN, NONE):
        assert told.reports == []
        assert own == ([Contribution((Fragment("evil", "x"),))] if sentence == TAKEN else [])
        assert [type(answer) for answer in own] == [Contribution] * len(own)
    else:
        assert own == []
        ((name, said),) = told.reports
        assert name == evil
        assert sentence in said
        assert "memory content" not in said
    assert (repr(SESSION), DM.kind) == (before, ScopeKind.DM)


def test_the_report_names_the_line_in_the_plugin() -> None:
    told = manager({"evil": starting(raises(ValueError("x")))})
    told.start()
    assert f" at {__file__}:" in told.reports[0][1]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_plugin_that_hangs_costs_its_own_answer_once(position: int) -> None:
    release, asked = threading.Event(), []

    def hangs(event: Any) -> None:
        asked.append(event)
        release.wait()

    names = ["a", "b", "c"]
    told = manager(among(names, position, starting(hangs)))
    evil = names[position]
    try:
        for _ in range(2):
            began = time.monotonic()
            answers = told.start()
            assert time.monotonic() - began < ENOUGH
            assert [name for name, _ in answers] == [name for name in names if name != evil]
    finally:
        release.set()
    assert told.reports == [(evil, "apm_session_start did not answer in time; it is not called again in this process")]
    assert len(asked) == 1
    # What was put together without it must not pass for whole.
    assert told.plugins.wanted("apm_session_start")
    assert [info.error for info in told.plugins.infos() if info.name == evil] == [told.reports[0][1]]


def test_many_that_hang_do_not_add_up() -> None:
    release = threading.Event()
    plugins: dict[str, object] = {f"p{number:02}": starting(lambda event: release.wait()) for number in range(50)}
    told = manager({**plugins, "p25b": Good()}, Quick(plugin_seconds=0.5))
    began = time.monotonic()
    try:
        answers = told.start()
    finally:
        release.set()
    assert time.monotonic() - began < ENOUGH
    assert [name for name, _ in answers] == ["p25b"]
    assert sorted(name for name, _ in told.reports) == sorted(plugins)


def test_one_that_is_slow_answers_while_others_have_their_turn() -> None:
    met = threading.Event()

    def waits(event: Any) -> Contribution | None:
        return Contribution(priority=1) if met.wait(ENOUGH) else None

    def sets(event: Any) -> Contribution:
        met.set()
        return Contribution(priority=2)

    told = manager({"a": starting(waits), "b": starting(sets)}, Quick(plugin_seconds=1.0))
    assert [(name, answer.priority) for name, answer in told.start()] == [("a", 1), ("b", 2)]  # type: ignore[attr-defined]
    assert told.reports == []


def test_plugins_are_called_one_after_the_other_where_none_is_slow() -> None:
    running, most = [], []

    def body(event: Any) -> None:
        running.append(1)
        most.append(len(running))
        running.pop()

    told = manager({f"p{number}": starting(body) for number in range(9)}, Quick(plugin_seconds=10.0))
    told.start()
    assert most == [1] * 9


def test_prints_go_where_the_process_sends_them() -> None:
    told = manager({"a": starting(lambda event: print("noise"))})
    host, aside = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(host), contextlib.redirect_stdout(aside):
        told.start()
    assert (host.getvalue(), aside.getvalue()) == ("", "noise\n")


def test_an_object_that_cannot_be_compared_or_hashed_disturbs_nobody() -> None:
    class Rude:
        def __eq__(self, other: object) -> bool:
            raise SystemExit("eq")

        def __hash__(self) -> int:
            raise SystemExit("hash")

        @hookimpl
        def apm_session_start(self, event: SessionStart) -> Contribution:
            return Contribution(priority=7)

    told = manager({"a": Good(), "rude": Rude(), "z": Good()})
    assert [name for name, _ in told.start()] == ["a", "rude", "z"]
    assert told.reports == []


@pytest.mark.parametrize("position", [0, 1, 2])
def test_one_that_hangs_while_it_is_registered_is_broken(position: int) -> None:
    release = threading.Event()

    class Slow:
        def __dir__(self) -> list[str]:
            release.wait()
            return []

    names = ["a", "b", "c"]
    try:
        told = manager(among(names, position, Slow()))
    finally:
        release.set()
    assert [name for name, _ in told.start()] == [name for name in names if name != names[position]]
    ((name, said),) = told.reports
    assert (name, "took longer than 0.4 s" in said) == (names[position], True)


def test_an_exception_sent_from_outside_ends_only_the_call() -> None:
    def sends(event: Any) -> None:
        ident = ctypes.c_ulong(threading.get_ident())
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(SystemExit))
        for _ in range(10_000):
            pass

    told = manager({"a": starting(sends), "b": Good()})
    assert [name for name, _ in told.start()] == ["b"]
    assert [name for name, _ in told.reports] == ["a"]


def test_what_the_caller_makes_is_made_for_each_plugin() -> None:
    made: list[Mapping[str, object]] = []

    def make() -> Mapping[str, object]:
        made.append({"event": replace(SESSION, budget_tokens=len(made))})
        return made[-1]

    told = manager({"a": Good(), "b": Good()})
    answers = told.plugins.call("apm_session_start", Contribution, make)
    assert [answer.fragments[0].text.split()[2] for _, answer in answers] == ["0", "1"]  # type: ignore[attr-defined]


def test_arguments_of_a_tool_call_are_the_plugins_own() -> None:
    arguments = {"edits": [{"path": "a"}], "file_path": "memory/x.md"}

    def body(event: Any) -> Verdict:
        event.arguments["file_path"] = "elsewhere"
        event.arguments["edits"][0]["path"] = "elsewhere"
        return Verdict(deny=False)

    told = manager({"evil": implementing("apm_guard_tool_call", body)})
    call = ToolCall(SESSION.host, DM, "/ws", "Edit", arguments)
    assert told.plugins.call("apm_guard_tool_call", Verdict, lambda: {"event": call}) == [("evil", Verdict(deny=False))]
    assert arguments == {"edits": [{"path": "a"}], "file_path": "memory/x.md"}


def test_a_plugin_sees_the_callers_context_and_cannot_change_it() -> None:
    request: ContextVar[str] = ContextVar("request")
    seen = []

    def body(event: Any) -> None:
        seen.append(request.get())
        request.set("evil")

    told = manager({"a": starting(body), "b": starting(body)})
    mark = request.set("mine")
    told.start()
    assert (seen, request.get()) == (["mine", "mine"], "mine")
    request.reset(mark)


MATCH = RouteMatch(Route(("x",), "a.md", 1), 0.5, ("x",))


@pytest.mark.parametrize(
    ("answer", "expect", "what"),
    [
        (Verdict(deny=1), Verdict, "Verdict.deny is an int, not a bool"),  # type: ignore[arg-type]
        (Verdict(deny=True, reason=b"x"), Verdict, "Verdict.reason is a bytes, not a str"),  # type: ignore[arg-type]
        (Reviewed(("a", 3)), Reviewed, "Reviewed.texts[1] is an int, not a str"),  # type: ignore[arg-type]
        (Reviewed("ab"), Reviewed, "Reviewed.texts is a str, not a tuple"),  # type: ignore[arg-type]
        (replace(MATCH, route="a.md"), RouteMatch, "RouteMatch.route is a str, not a Route"),  # type: ignore[arg-type]
        (replace(MATCH, score="1"), RouteMatch, "RouteMatch.score is a str, not a float"),  # type: ignore[arg-type]
        (Contribution(day="today"), Contribution, "Contribution.day is a str, not a date"),  # type: ignore[arg-type]
        ((AuditRule("r", "no function"),), tuple, "tuple[0].check is a str, not a function"),  # type: ignore[arg-type]
        ([1], tuple, "answered a list, not a tuple"),
        (1, (str, Verdict), "answered an int, not a str or a Verdict"),
        ("x", type(None), "answered a str, not a NoneType"),
    ],
)
def test_an_answer_is_checked_to_its_last_field(answer: object, expect: Any, what: str) -> None:
    with pytest.raises(ContractError) as caught:
        checked(answer, expect)
    assert str(caught.value) == what


@pytest.mark.parametrize(
    ("answer", "expect"),
    [
        (MATCH, RouteMatch),
        (Reviewed(("a", None)), Reviewed),
        (Contribution((Fragment("a", "b"),), inputs=("x",)), Contribution),
        ((AuditRule("r", lambda path, text: ()),), tuple),
        (len, object),
        ("x", (int, str)),
    ],
)
def test_a_right_answer_comes_back_equal(answer: object, expect: Any) -> None:
    assert checked(answer, expect) == answer


def test_a_whole_number_will_do_for_a_score() -> None:
    found = checked(replace(MATCH, score=1), RouteMatch)
    assert isinstance(found, RouteMatch)
    assert type(found.score) is float


VALUES = st.recursive(
    st.none() | st.integers() | st.text() | st.just(SESSION) | st.just(MATCH),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=100)
@given(VALUES)
def test_a_copy_is_equal_and_shares_nothing_that_can_be_changed(value: Any) -> None:
    def parts(one: Any) -> Iterator[Any]:
        if isinstance(one, list | dict):
            yield one
        if isinstance(one, SessionStart):
            yield from (one, one.host, one.scope, one.limits)
        for inner in one.values() if isinstance(one, dict) else one if isinstance(one, list | tuple) else ():
            yield from parts(inner)

    copy = copied(value)
    assert copy == value
    assert not {id(part) for part in parts(copy)} & {id(part) for part in parts(value)}


@settings(max_examples=200)
@given(VALUES, st.sampled_from([Contribution, Verdict, Reviewed, RouteMatch, tuple]))
def test_an_answer_is_never_taken_for_what_it_is_not(value: Any, expect: type) -> None:
    try:
        assert type(checked(value, expect)) is expect
    except ContractError as error:
        assert str(error)
