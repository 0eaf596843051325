"""Our entries in the text of a Claude Code settings file: find them, put them in, take them out.

An entry is ours if it runs our start file for this host, whatever the interpreter and the path: an upgrade or
a moved environment replaces it, and there are never two. All other hooks, and all formatting, stay.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from apm_hooks import jsonedit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HOST = "claude-code"
EVENTS: tuple[tuple[str, str | None], ...] = (
    ("SessionStart", "startup|resume|clear|compact|fork"),
    ("SubagentStart", None),
    ("UserPromptSubmit", None),
    ("PreToolUse", None),
    ("PreCompact", None),
    ("PostCompact", None),
    ("Stop", None),
    ("StopFailure", None),
    ("SessionEnd", None),
)
"""Event and matcher, None for all: a rule on paths would let links, shell commands and other servers' tools slip past.
Version 2.1.100 drops a whole file for one event that it does not know."""
TIMEOUT_SECONDS = 10

_PROGRAM = re.compile(r"[\\/]apm_hooks[\\/]start\.py\Z")
_FLAGS = re.compile(r"-[BEIOPSbdiqsuv]+\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True, slots=True)
class _Held:
    """An entry of ours, and where it stands; `alone` if its group holds no other."""

    event: str
    group: int
    place: int
    entry: Mapping[str, object]
    matcher: object
    alone: bool

    @property
    def path(self) -> tuple[str | int, ...]:
        return ("hooks", self.event, self.group, "hooks", self.place)

    @property
    def piece(self) -> tuple[str | int, ...]:
        """What to remove: the whole group where nothing else is in it."""
        return self.path[:3] if self.alone else self.path

    def matches(self, matcher: str | None) -> bool:
        return self.matcher in ((None, "", "*") if matcher is None else (matcher,))


def is_ours(entry: object) -> bool:
    """Whether a hook entry runs `…/apm_hooks/start.py --host claude-code` as its own program.

    A command that only mentions us, or runs us among other things, is its author's.
    """
    command = entry.get("command") if isinstance(entry, dict) and entry.get("type") == "command" else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    while words and _ASSIGNMENT.match(words[0]):
        words.pop(0)
    rest = words[1:]
    while rest and _FLAGS.match(rest[0]):
        rest.pop(0)
    if not rest or not _PROGRAM.search(rest[0]):
        return False
    return f"--host={HOST}" in rest or ("--host", HOST) in pairwise(rest)


def with_hooks(text: str, command: str, *, file: str = "") -> str:
    """The settings text with exactly one entry of ours for each event of EVENTS, running `command`.

    An entry under the right matcher is replaced where it is; a new one gets a group of its own. A text of
    blanks alone counts as `{}`. Raises SettingsError, with `file` and line, for what is not JSON, or not
    hooks as the host knows them.
    """
    entry = {"type": "command", "command": command, "timeout": TIMEOUT_SECONDS}
    for event, matcher in EVENTS:
        held = _ours(text, event, file)
        if len(held) == 1 and held[0].matches(matcher):
            if held[0].entry != entry:
                text = jsonedit.set_in(text, held[0].path, entry, file=file)
            continue
        group = {"hooks": [entry]} if matcher is None else {"matcher": matcher, "hooks": [entry]}
        text = jsonedit.append_to(text, ("hooks", event), group, file=file)
        text = _removed(text, event, len(held), file)
    wanted = dict(EVENTS)
    for event in (event for event in _events(text, file) if event not in wanted):
        text = _removed(text, event, len(_ours(text, event, file)), file)
    return text


def without_hooks(text: str, *, file: str = "") -> str:
    """The settings text without any entry of ours, nor the groups and lists that this leaves empty.

    Takes back what `with_hooks` put in, byte for byte. Raises SettingsError as `with_hooks` does.
    """
    for event in _events(text, file):
        text = _removed(text, event, len(_ours(text, event, file)), file)
    return text


def commands(settings: Mapping[str, object]) -> set[str]:
    """The commands of our entries in a parsed settings file."""
    hooks = settings.get("hooks")
    events = hooks.items() if isinstance(hooks, dict) else ()
    return {str(held.entry["command"]) for event, groups in events for held in _held(event, groups)}


def _events(text: str, file: str) -> list[str]:
    node = jsonedit.find(text, ("hooks",), file=file)
    return list(dict.fromkeys([*(event for event, _ in EVENTS), *(node.keys if node else ())]))


def _ours(text: str, event: str, file: str) -> list[_Held]:
    node = jsonedit.find(text, ("hooks", event), file=file)
    return list(_held(event, jsonedit.decode(text, node, file=file))) if node else []


def _held(event: str, groups: object) -> Iterator[_Held]:
    for at, group in enumerate(groups if isinstance(groups, list) else ()):
        hooks = group.get("hooks") if isinstance(group, dict) else None
        if not isinstance(hooks, list):
            continue
        for place, entry in enumerate(hooks):
            if is_ours(entry):
                yield _Held(event, at, place, entry, group.get("matcher"), len(hooks) == 1)


def _removed(text: str, event: str, count: int, file: str) -> str:
    """The text without the first `count` entries of ours, taken from the last to the first."""
    for place in reversed(range(count)):
        text = jsonedit.remove_from(text, _ours(text, event, file)[place].piece, file=file)
    return text
