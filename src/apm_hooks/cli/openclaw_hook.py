"""One event of OpenClaw, from its payload to its answer: what the hook command prints and what the worker sends.

Never raises: whatever goes wrong costs the memory of this event and one line of the gateway's log, never the host's
turn (protocol, section 12). A tool call that cannot be judged is denied where the session may be somebody else's.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from apm_hooks import seen, texts
from apm_hooks.errors import ApmError, NotTrustedError
from apm_hooks.hosts import openclaw
from apm_hooks.places import SESSION, WORKSPACE
from apm_hooks.records import LIMITS

if TYPE_CHECKING:
    from apm_hooks.runtime import Runtime

_OURS = WORKSPACE.partition("_")[0] + "_"
"""How the names of our own variables begin."""

Open = Callable[[str, Mapping[str, str]], "Runtime"]
"""Gives the runtime of a workspace (absolute, without links) under an environment."""


def open_runtime(root: str, env: Mapping[str, str]) -> Runtime:
    """A runtime of its own for one event. Raises NotTrustedError or SettingsError."""
    from apm_hooks.runtime import Runtime

    return Runtime(root, env, clock=time.time)


def printed(
    options: Mapping[str, str], data: bytes, env: Mapping[str, str],
    deadline: Callable[[Mapping[str, Any]], AbstractContextManager[object]],
) -> bytes:  # fmt: skip
    """What the hook command prints for an event: one line, always. `deadline` bounds the time for it, and is given what
    to answer when that is over."""
    try:
        if len(data) > LIMITS.event_bytes:
            raise ApmError(f"the host's event is larger than {LIMITS.event_bytes} bytes")
        payload = json.loads(data.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError, ApmError) as error:
        return encode({"log": texts.FAILED_WARNING.format(error=_one_line(error))})
    if not isinstance(payload, dict):
        return encode({"log": texts.FAILED_WARNING.format(error="the host's event is no JSON object")})
    with deadline(closed(payload)):
        return encode(answer(options, payload, env))


def encode(document: Mapping[str, Any]) -> bytes:
    """A document as one line of JSON."""
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def answer(
    options: Mapping[str, str], payload: Mapping[str, Any], env: Mapping[str, str], opened: Open = open_runtime
) -> dict[str, Any]:
    """The answer to an event of the shim: `files`, `withhold`, `context`, `deny`, `log`, each only where there is one.

    `options` may name the `workspace`; else it is the payload's. What the payload says in `env` of our own variables
    counts over `env`, the process's environment.
    """
    try:
        return _answer(options, payload, environment(payload, env), opened)
    except BaseException as error:  # noqa: BLE001 - compiled extensions raise more than Exception
        warning = texts.FAILED_WARNING.format(error=_one_line(error))
        sys.stderr.write(warning + "\n")
        return {**closed(payload), "log": warning}


def closed(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to an event that cannot be judged: a tool call is denied, and the owner's files are kept from a system
    prompt, unless it is the owner's whatever the settings say (privacy fails closed, protocol, section 12); anything
    else is passed over."""
    name = payload.get("hook_event_name")
    if name not in ("tool_call", "bootstrap") or openclaw.is_provably_owner(payload):
        return {}
    return {"deny": texts.UNJUDGED} if name == "tool_call" else {"withhold": True}


def environment(payload: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, str]:
    """The environment that an event is answered under. The payload names the session; a variable that does so would
    speak of another one."""
    given = payload.get("env")
    own = given if isinstance(given, dict) else {}
    merged = {**env, **{name: text for name, text in own.items() if isinstance(text, str) and name.startswith(_OURS)}}
    merged.pop(SESSION, None)
    return merged


def _answer(
    options: Mapping[str, str], payload: Mapping[str, Any], env: Mapping[str, str], opened: Open
) -> dict[str, Any]:  # fmt: skip
    from apm_hooks.workspace import locate

    name = payload.get("hook_event_name")
    start = payload.get("workspace")
    given = isinstance(start, str) and start.startswith("/") and "\0" not in start
    if name not in openclaw.ANSWERED or not (given or options.get("workspace") or env.get(WORKSPACE)):
        return {}
    root = locate(env, start if given and isinstance(start, str) else "/", options.get("workspace", ""))
    if root is None:
        return {}
    from apm_hooks.hosts.openclaw_turns import answer_event

    try:
        runtime = opened(root, env)
        seen.note(root, openclaw.HOST, str(name).replace("_", "-"), time.time_ns())
        return answer_event(runtime, payload)
    except NotTrustedError:
        # In a chat nothing is said of it; without trust we have no opinion on tool calls (protocol, section 3).
        if name not in ("bootstrap", "startup"):
            return {}
        return {"log": texts.UNTRUSTED_WARNING.format(root=root, quoted=shlex.quote(root))}


def _one_line(error: BaseException) -> str:
    shown = str(error) if isinstance(error, ApmError) else f"{type(error).__name__}: {error}"
    return " ".join(shown.split())
