"""Twice the input costs about twice the work, whatever it holds: counted in executed lines and in characters looked
at, which never vary; and in processor time where the work is done in C, with room for noise."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import apm_hooks
from apm_hooks import mixtures
from apm_hooks.decoding import decode
from apm_hooks.errors import ApmError, MemoryFileError
from apm_hooks.groupmap import read_group_map
from apm_hooks.injection import fence_tag, render, show_invisible
from apm_hooks.names import Names, check_name, name_key
from apm_hooks.records import DM, LIMITS, Fragment
from apm_hooks.session import is_word, parse_session_key

PACKAGE = str(Path(apm_hooks.__file__).parent)
LE, BE = "utf-16-le", "utf-16-be"


def executed_lines(call: Callable[[], object]) -> int:
    """How many lines of the package run during a call."""
    count = 0

    def in_frame(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return in_frame

    def on_call(frame: FrameType, event: str, arg: Any) -> Any:
        return in_frame if frame.f_code.co_filename.startswith(PACKAGE) else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def seconds(call: Callable[[], object]) -> float:
    started = time.thread_time()
    call()
    return time.thread_time() - started


def growth(shape: Callable[[int], Callable[[], object]], size: int) -> float:
    """How much longer twice the size takes: the least of a few tries, since noise only adds."""
    least = 9.0
    for _ in range(6):
        once, twice = (min(seconds(shape(n)) for _ in range(2)) for n in (size, 2 * size))
        least = min(least, twice / max(once, 1e-5))
        if least <= 2.4:
            break
    return least


def tried(call: Callable[[Any], object], make: Callable[[int], object]) -> Callable[[int], Callable[[], object]]:
    """The call on an input of a size; an error of ours is an answer too."""

    def sized(size: int) -> Callable[[], object]:
        given = make(size)

        def run() -> None:
            with suppress(ApmError):
                call(given)

        return run

    return sized


BYTES: dict[str, Callable[[int], bytes]] = {
    "UTF-8": lambda n: b"a line of words\n" * (n // 16),
    "UTF-16LE": lambda n: ("a line of words\r\n" * (n // 34)).encode(LE),
    "UTF-16BE": lambda n: ("a line of words\r\n" * (n // 34)).encode(BE),
    "turns": lambda n: (b"a line of words\n" + "wide words\r\n".encode(LE)) * (n // 40),
    "turns without line ends": lambda n: (b"a line of words" + "wide words".encode(LE)) * (n // 35),
    "one line, one zero": lambda n: b"x" * n + b"\0y",
    "a zero in each line": lambda n: b"a line\0 of words\n" * (n // 17),
    "zeros between letters, no line end": lambda n: b"x\0y" * (n // 3),
    "zeros": lambda n: bytes(n) + b"x",
    "wide line ends": lambda n: b"\n\0" * (n // 2),
    "wide line ends, shifted": lambda n: b"\n\0\0" * (n // 3),
    "line ends and a zero": lambda n: b"\n" * n + b"\0",
    "letters like line ends": lambda n: ("\u0a15\u0a4b " * (n // 6)).encode(LE),
    "stray bytes": lambda n: b"caf\xe9 " * (n // 5),
    "nothing but stray bytes": lambda n: b"\xff" * n,
    "marks": lambda n: b"\xff\xfe" * (n // 2),
    "every byte": lambda n: bytes(range(256)) * (n // 256),
    "broken letters": lambda n: b"\xe4\xbb" * (n // 2) + b"\0",
}


def looked_at(data: bytes) -> int:
    """How many bytes the weighing of all readings looks at."""
    total = 0
    plain, wide, beginnings = mixtures._Reader._plain, mixtures._Reader._wide, mixtures._Reader._beginnings

    def counting(method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(self: object, start: int, stop: int, *more: int) -> object:
            nonlocal total
            total += stop - start + 1
            return method(self, start, stop, *more)

        return counted

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mixtures._Reader, "_plain", counting(plain))
        patch.setattr(mixtures._Reader, "_wide", counting(wide))
        patch.setattr(mixtures._Reader, "_beginnings", counting(beginnings))
        with suppress(MemoryFileError):
            decode(data)
    return total


@pytest.mark.parametrize("shape", BYTES)
def test_decoding_looks_at_each_byte_a_bounded_number_of_times(shape: str) -> None:
    once, twice = (looked_at(BYTES[shape](n)) for n in (6_000, 12_000))
    assert twice <= 2.1 * once + 50
    assert twice <= 30 * 12_000


def test_decoding_weighs_a_bounded_number_of_pieces_however_long_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixtures, "_PIECES", 100)
    body = b"\n\0" * 50_000
    edges = mixtures._Reader(body)._edges()
    assert len(edges) <= 2 * 101
    assert edges == sorted(set(edges))
    assert (edges[0], edges[-1]) == (0, len(body))
    assert decode(body)[0] == "\n" * 50_000


TEXTS: dict[str, Callable[[int], str]] = {
    "plain": lambda n: "a word, and one more\n" * (n // 20),
    "controls": lambda n: "\x1b\u202e" * (n // 2),
    "joiners": lambda n: "\u200d" * n,
    "joined": lambda n: "\u0628\u200c\u0628" * (n // 3),
    "marks": lambda n: "e\u0301\u0323" * (n // 3),
    "like a fence": lambda n: "<apm-memory-00000000>\n" * (n // 22),
    "digits of a tag": lambda n: "0123456789abcdef" * (n // 16),
    "blank": lambda n: "\n \t" * (n // 3),
    "quotes": lambda n: "\"&<>'" * (n // 5),
    "half pairs": lambda n: "\ud800" * n,
}


def _rendered(text: str) -> str:
    return render(DM, [Fragment("index", text, text[:50], "0" * 64), Fragment("notice", text)])


KEYS: dict[str, Callable[[int], str]] = {
    "colons": lambda n: ":" * n,
    "agents": lambda n: "agent:" * (n // 6),
    "groups": lambda n: "agent:main:" + "group:" * (n // 6),
    "threads": lambda n: "agent:main:telegram:group:1" + ":thread:" * (n // 8),
    "main threads": lambda n: "agent:main:main" + ":thread:x" * (n // 9),
    "a room of colons": lambda n: "agent:main:matrix:channel:!" + "a:" * (n // 2),
    "a room of digits": lambda n: "agent:main:matrix:channel:!a:b" + ":1" * (n // 2),
    "a room's long server": lambda n: "agent:main:matrix:channel:!a:" + "b" * n + "!",
    "a room's open bracket": lambda n: "agent:main:matrix:channel:!a:[" + "1:" * (n // 2),
    "a user": lambda n: "agent:main:matrix:dm:@" + "a" * n,
    "a long word": lambda n: "agent:" + "a" * n,
}
NAMES: dict[str, Callable[[int], str]] = {
    "letters": lambda n: "a" * n,
    "nested": lambda n: "a/" * (n // 2) + "a",
    "marks out of order": lambda n: "a" + "\u0301\u0323" * (n // 2),
    "unfolding": lambda n: "\ufdfa" * n,
    "invisible": lambda n: "a\u200d" * (n // 2),
    "sharp": lambda n: "\u1e9e\u0390" * (n // 2),
    "hangul": lambda n: "\u1112\u1161\u11ab" * (n // 3),
}
MAPS: dict[str, Callable[[int], dict[str, object]]] = {
    "groups": lambda n: {f"-100{number}": f"group {number}" for number in range(n)},
    "objects": lambda n: {f"-1{number}": {"name": f"g{number}", "channel": "telegram"} for number in range(n)},
    "one name": lambda n: {f"-1{number}": "ops" for number in range(n)},
    "names that differ by case": lambda n: {f"-1{number}": "ops" if number % 2 else "OPS" for number in range(n)},
    "nested names": lambda n: {f"-1{number}": f"a{number}/b/c" for number in range(n)},
    "names below one another": lambda n: {f"-1{number}": f"a/{number}" if number else "a" for number in range(n)},
    "ids that meet": lambda n: {f"{'Ab' * (number % 2) or 'aB'}{number // 2}": f"g{number}" for number in range(n)},
    "rooms": lambda n: {f"!room:{number}.example": f"g{number}" for number in range(n)},
    "session keys": lambda n: {f"agent:main:telegram:group:{number}": f"g{number}" for number in range(n)},
    "refused names": lambda n: {f"-1{number}": "../x" for number in range(n)},
    "no names": lambda n: {f"-1{number}": [number] for number in range(n)},
    "objects without a name": lambda n: {f"-1{number}": {"channel": 1} for number in range(n)},
}


def _group_map(entries: dict[str, object]) -> object:
    return read_group_map(json.dumps(entries), file="group_names.json")


CALLS: dict[str, tuple[Callable[[Any], object], dict[str, Callable[[int], Any]], int, int]] = {
    # The call, its shapes, a size for counted lines, a size for processor time (0: bounded in length, see below).
    "decode": (decode, BYTES, 3_000, 12_000),
    "show_invisible": (show_invisible, TEXTS, 4_000, 50_000),
    "render": (_rendered, TEXTS, 4_000, 50_000),
    "fence_tag": (lambda text: fence_tag([text, text]), TEXTS, 4_000, 50_000),
    "parse_session_key": (parse_session_key, KEYS, LIMITS.key_chars // 4, 0),
    "check_name": (check_name, NAMES, LIMITS.name_bytes // 2, 0),
    "name_key": (name_key, NAMES, 1_000, 0),
    "read_group_map": (_group_map, MAPS, 300, 1_500),
}
COUNTED = [(call, shape) for call, (_, shapes, _, _) in CALLS.items() for shape in shapes]
TIMED = [(call, shape) for call, (_, shapes, _, size) in CALLS.items() if size for shape in shapes]


@pytest.mark.parametrize(("call", "shape"), COUNTED)
def test_twice_the_input_costs_at_most_twice_the_lines(call: str, shape: str) -> None:
    function, shapes, size, _ = CALLS[call]
    run = tried(function, shapes[shape])
    once, twice = executed_lines(run(size)), executed_lines(run(2 * size))
    assert twice <= 2.1 * once + 60


@pytest.mark.parametrize(("call", "shape"), TIMED)
def test_twice_the_input_takes_about_twice_the_time(call: str, shape: str) -> None:
    function, shapes, _, size = CALLS[call]
    assert growth(tried(function, shapes[shape]), size) <= 2.9


@pytest.mark.parametrize("shape", KEYS)
def test_the_longest_session_key_and_any_longer_one_cost_next_to_nothing(shape: str) -> None:
    for size in (LIMITS.key_chars - 40, 1_000_000):
        key = KEYS[shape](size)
        assert executed_lines(lambda key=key: parse_session_key(key)) <= 4 * LIMITS.key_chars  # type: ignore[misc]
        assert min(seconds(lambda key=key: parse_session_key(key)) for _ in range(5)) < 0.02  # type: ignore[misc]


@pytest.mark.parametrize("shape", NAMES)
def test_the_longest_name_and_any_longer_one_cost_next_to_nothing(shape: str) -> None:
    for size in (LIMITS.name_depth * LIMITS.name_bytes, 1_000_000):
        run = tried(check_name, NAMES[shape])(size)
        assert executed_lines(run) <= 2_000
        assert min(seconds(run) for _ in range(5)) < 0.05


def test_many_names_side_by_side_cost_what_each_costs() -> None:
    def clashes(count: int) -> Callable[[], object]:
        names = [f"a{number}/b/c{number}" for number in range(count)] + ["A1/B", "a2"]
        return lambda: [found.clash(name) for found in [Names(names)] for name in names]

    assert executed_lines(clashes(800)) <= 2.1 * executed_lines(clashes(400)) + 60


def test_the_measures_see_work_that_is_not_linear() -> None:
    assert growth(lambda n: lambda: sum(range(n * n // 2)), 1_000) > 2.9
    once, twice = (executed_lines(lambda n=n: [is_word("x") for _ in range(n * n)]) for n in (20, 40))  # type: ignore[misc]
    assert twice > 2.1 * once + 60
