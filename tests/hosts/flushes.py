"""What a flush left: in the state file, in the marks of sessions, and in what the model was told."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from apm_hooks import activity, directive_texts
from apm_hooks.flushrecords import Book
from apm_hooks.flushstate import read_state, state_path
from apm_hooks.records import DM, Scope

from .claude import Claude, HostFailedError, start_contexts
from .fake_anthropic import Request
from .script import blocks_of
from .workspace import APM_HOOKS, Readable, Workspace

_DIRECTIVE = re.compile(r"\[apm-hooks\] Flush (\d+)[,:]")
_PENDING = re.compile(r'^- [0-9a-f]+ \((\w+)\): "', re.MULTILINE)
_LAST_FLUSH = re.compile(r"^last flush: (.*)$", re.MULTILINE)
_INSTRUCTIONS = re.compile(r"\nAdditional Instructions:\n(.*?)\n\nREMINDER:", re.DOTALL)

Outcomes = list[tuple[int, str, str]]


def book_of(workspace: Workspace, scope: Scope = DM) -> Book:
    """The scope's state as we read it, which the protocol's own keys in the file say too; empty without a file."""
    path = workspace.root / state_path(scope)
    book = read_state(str(workspace.root), scope).book
    values = json.loads(path.read_text("utf-8")) if path.exists() else {"pending_items": []}
    assert values.get("flush_number") == book.number
    assert values.get("last_flush_time") == book.last_time
    assert values["pending_items"] == [item.text for item in book.pending]
    return book


def outcomes(workspace: Workspace, scope: Scope = DM) -> Outcomes:
    """Number, trigger and outcome of each flush in the state, oldest first."""
    return [(each.number, each.trigger.value, each.outcome.value) for each in book_of(workspace, scope).flushes]


def pending(workspace: Workspace, scope: Scope = DM) -> list[str]:
    """The kinds of the scope's pending items."""
    return [item.kind.value for item in book_of(workspace, scope).pending]


def directives(request: Readable) -> list[int]:
    """The numbers of the flushes whose directives stand in the request, as often as they do."""
    return [int(number) for number in _DIRECTIVE.findall(request.text)]


def pending_told(request: Request) -> list[str]:
    """The kinds of the pending items that the newest session start in the request tells."""
    return _PENDING.findall(start_contexts(request)[-1])


def last_flush_told(request: Request) -> str:
    """What the newest session start in the request says of the last flush."""
    (told,) = _LAST_FLUSH.findall(start_contexts(request)[-1])
    return str(told)


def told_after_compaction(request: Request) -> str:
    """The line of ours above the memory in the newest session start of the request."""
    line = start_contexts(request)[-1].splitlines()[1]
    return line.removeprefix(directive_texts.START_PREFIX)


def instructions(request: Request) -> str:
    """What a summariser is asked for besides the host's own order; empty for nothing."""
    last = request.body["messages"][-1]
    texts = [str(block.get("text", "")) for block in blocks_of(last)]
    found = _INSTRUCTIONS.search(texts[-1])
    return found[1] if found else ""


def call(tool: str, **arguments: str) -> str:
    """The line of a script that calls a tool."""
    return f"::tool {tool} {json.dumps(arguments, ensure_ascii=False)}\n"


def write(workspace: Workspace, path: str) -> str:
    """The line of a script that writes a new file of the workspace."""
    return call("Write", file_path=str(workspace.root / path), content="# Tides\n\n- low water 09:40\n")


def marks(workspace: Workspace, scope: Scope = DM) -> list[activity.Mark]:
    """The marks of the scope's live sessions."""
    return [mark for _, mark in activity.marks_of(str(workspace.root), activity.folder_name(str(scope)))]


def is_quiet(workspace: Workspace, scope: Scope = DM) -> bool:
    """Whether the scope has live sessions, and none of them is in a turn."""
    found = marks(workspace, scope)
    return bool(found) and not any(mark["busy"] for mark in found)


def age(workspace: Workspace, seconds: int, scope: Scope = DM) -> None:
    """Set the times of the scope's one live session, and of its transcript, back."""
    (mark,) = marks(workspace, scope)
    nanoseconds = seconds * 10**9
    older = {"at": mark["at"] - nanoseconds, "up": mark["up"] - nanoseconds}
    assert older["up"] > 0
    activity.update(str(workspace.root), str(scope), mark["session"], lambda now: {**now, **older})
    when = Path(mark["transcript"]).stat().st_mtime_ns - nanoseconds
    os.utime(mark["transcript"], ns=(when, when))


def ask_program(claude: Claude, *arguments: str, env: dict[str, str] | None = None) -> Any:
    """What a command of ours prints as JSON, whatever its exit code."""
    done = claude.run([str(APM_HOOKS), *arguments, "--json"], env=env)
    try:
        return json.loads(done.stdout)
    except ValueError as error:
        raise HostFailedError(f"apm-hooks {' '.join(arguments)}: {done.stdout}{done.stderr}") from error


def events_that_came(claude: Claude) -> str:
    """What `doctor` says of the host's events, the ones that never came too."""
    checks = ask_program(claude, "doctor", "--workspace", str(claude.project))["checks"]
    return "\n".join(check["text"] for check in checks if check["check"] == "events")
