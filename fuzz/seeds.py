"""What the fuzzer starts from: the inputs of the tests, so that it need not find the grammar first."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tests import test_index_linear, test_linear, test_messy_input

# Longer ones slow the fuzzer down without teaching it anything.
LONGEST = 1_500

EVENTS: tuple[dict[str, object], ...] = (
    {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "/a/memory/main/index.md"}},
    {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}},
    {"hook_event_name": "SessionStart", "source": "startup", "session_id": "s", "cwd": "/a", "agent_id": None},
    {
        "hook_event_name": "SessionStart",
        "source": "resume",
        "session_id": "s\u00e9\ud83d\ude00",
        "cwd": "/a",
        "n": [1.5e9],
    },
)


def _texts() -> Iterator[bytes]:
    for shape in test_messy_input.SHAPES.values():
        yield shape.data
    for make in test_linear.TEXTS.values():
        yield make(200).encode("utf-8", "surrogatepass")


def _indexes() -> Iterator[bytes]:
    for scope in (b"\0", b"\xff"):
        for make in test_index_linear.SHAPES.values():
            yield scope + make(300).encode()
        for text in _texts():
            yield scope + text


def _maps() -> Iterator[bytes]:
    for make in test_linear.MAPS.values():
        yield json.dumps(make(4)).encode()


def seeds(target: str) -> list[bytes]:
    """The inputs that a target starts from, each at most `LONGEST` bytes."""
    made: dict[str, Iterator[bytes]] = {
        "decode": (
            data for shapes in (_texts(), (make(300) for make in test_linear.BYTES.values())) for data in shapes
        ),
        "index": _indexes(),
        "session-key": (make(80).encode() for make in test_linear.KEYS.values()),
        "name": (make(30).encode() for make in test_linear.NAMES.values()),
        "group-map": _maps(),
        "fast-lane": (json.dumps(event).encode() for event in EVENTS),
        "injection": _texts(),
        "cut": (bytes((repeat, repeat, 90, 60)) + text for repeat in (0, 1, 2) for text in _texts()),
    }
    return sorted({data[:LONGEST] for data in made[target]})
