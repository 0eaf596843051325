"""`apm-hooks hook --host HOST`: one event on standard input, the host's answer on standard output.

Always exit 0 with a valid answer or nothing (protocol, section 12): whatever goes wrong costs the memory of this
event and one line for the user, never the host's turn.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from apm_hooks import fastlane, seen, texts
from apm_hooks.days import bounds_of
from apm_hooks.errors import ApmError, NotTrustedError
from apm_hooks.files import replace_bytes
from apm_hooks.hosts import claude_code
from apm_hooks.places import Places, places, private_directory
from apm_hooks.records import LIMITS, HostEvent, Loaded, Source

if TYPE_CHECKING:
    from apm_hooks.runtime import Runtime


def answer(arguments: Sequence[str], data: bytes, env: Mapping[str, str], channel: int = 1) -> bytes:
    """What to print for the event `data` of the host that `arguments` name; empty for nothing. `channel` is the
    descriptor that the host reads: written to here only when the process ends because the answer takes too long."""
    payload: Mapping[str, Any] = {}
    options = fastlane.parse_arguments(arguments)
    if options is not None and options["host"] == "openclaw":
        from apm_hooks.cli import openclaw_hook

        return openclaw_hook.printed(options, data, env, lambda closed: _deadline(closed, channel))
    try:
        if options is None or options["host"] != claude_code.HOST:
            sys.stderr.write("apm-hooks: usage: apm-hooks hook --host claude-code [--workspace DIR] [--session KEY]\n")
            return b""
        payload = _payload(data)
        with _deadline(_closed(payload, options, env), channel), contextlib.redirect_stdout(sys.stderr):
            return _answer(payload, options, env)
    except BaseException as error:  # noqa: BLE001 - the host's turn goes on; compiled extensions raise even this
        shown = str(error) if isinstance(error, ApmError) else f"{type(error).__name__}: {error}"
        warning = texts.FAILED_WARNING.format(error=" ".join(shown.split()))
        sys.stderr.write(warning + "\n")
        closed = _closed(payload, options, env)
        if closed:
            return _encode({**closed, "systemMessage": warning})
        return _encode(claude_code.notice_answer("", "", warning)) if claude_code.warns(payload) else b""


def _closed(payload: Mapping[str, Any], options: Mapping[str, str] | None, env: Mapping[str, str]) -> Mapping[str, Any]:
    """The answer to an event that cannot be judged where it may reach another conversation's memory; empty for others.

    Privacy fails closed where the host names the conversation: one of several, which may be anybody's.
    """
    if "session" not in (options or {}) and "APM_SESSION" not in env:
        return {}
    name = payload.get("hook_event_name")
    if name == "PreToolUse":
        return claude_code.denial(texts.UNJUDGED)
    if name == "UserPromptSubmit" and "@" in str(payload.get("prompt")):
        return claude_code.refusal(texts.UNJUDGED_PROMPT)
    return {}


def _payload(data: bytes) -> Mapping[str, Any]:
    if len(data) > LIMITS.event_bytes:
        raise ApmError(f"the host's event is larger than {LIMITS.event_bytes} bytes")
    try:
        payload = json.loads(data.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError) as error:
        raise ApmError(f"the host's event is no JSON: {error}") from error
    if not isinstance(payload, dict):
        raise ApmError("the host's event is no JSON object")
    return payload


@contextlib.contextmanager
def _deadline(closed: Mapping[str, Any], channel: int) -> Any:
    """End the process when the answer takes too long, with one line for the user; the host is answered `closed`, if
    that is not empty."""
    import threading

    def give_up() -> None:
        if closed:
            os.write(channel, _encode(closed))
        sys.stderr.write(texts.LATE_WARNING.format(seconds=LIMITS.hook_seconds) + "\n")
        sys.stderr.flush()
        os._exit(0)

    timer = threading.Timer(LIMITS.hook_seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _answer(payload: Mapping[str, Any], options: Mapping[str, str], env: Mapping[str, str]) -> bytes:
    session = options.get("session", env.get("APM_SESSION"))
    event = claude_code.event_of(payload, session)
    name = str(payload.get("hook_event_name"))
    if event is None or (event.subagent and name != "PreToolUse"):
        return b""
    where = places(env)
    root = _fixed_workspace(event, payload, options, env, where)
    if root is None:
        return b""
    from apm_hooks.runtime import Runtime

    try:
        runtime = Runtime(root, env, clock=time.time)
    except NotTrustedError:
        if name != "SessionStart":
            return b""
        warning = texts.UNTRUSTED_WARNING.format(root=root, quoted=shlex.quote(root))
        return _encode(claude_code.notice_answer(name, texts.NOT_TRUSTED, warning))
    seen.note(root, claude_code.HOST, name, time.time_ns())
    bound = env.get("APM_SESSION")
    if bound is not None and session != bound and not runtime.is_owner(replace(event, session_key=bound)):
        # Inside another session than the owner's, an option cannot name a second one.
        event = replace(event, session_key=bound)
    if name == "PreToolUse":
        return _encode(_judged(runtime, event, payload))
    if name != "SessionStart":
        from apm_hooks.hosts.claude_code_flush import answer_event

        return _encode_any(answer_event(runtime, event, payload, env))
    now = time.time_ns()
    loaded = runtime.session_start(event, caps=claude_code.CAPS)
    printed = _encode(claude_code.answer_of(name, loaded))
    lasting = runtime.extensions.lasting and not loaded.warning and not runtime.workspace.problems
    if loaded.decision.scope is not None and loaded.injection.text and lasting:
        _keep(runtime, event, loaded, printed, env, now)
    return printed


def _judged(runtime: Runtime, event: HostEvent, payload: Mapping[str, Any]) -> Mapping[str, Any]:
    given = payload.get("tool_input")
    arguments = given if isinstance(given, dict) else {}
    verdict = runtime.tool_call(event, str(payload.get("tool_name")), arguments, str(payload.get("cwd") or ""))
    if verdict.deny:
        return claude_code.denial(verdict.reason)
    return claude_code.notice_answer("PreToolUse", verdict.advice, "")


def _encode_any(answer: Mapping[str, Any] | str) -> bytes:
    """JSON, or plain text for the event whose text goes to the summariser."""
    return answer.encode("utf-8", "backslashreplace") if isinstance(answer, str) else _encode(answer)


def _encode(document: Mapping[str, Any]) -> bytes:
    if not document:
        return b""
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _fixed_workspace(
    event: HostEvent, payload: Mapping[str, Any], options: Mapping[str, str], env: Mapping[str, str], where: Places
) -> str | None:
    """The session's workspace: fixed when it starts, whatever its working directory does later."""
    from apm_hooks.workspace import locate

    name = fastlane.session_name(event.host, event.session_id, event.session_key)
    sessions = os.path.join(where.state, "sessions")
    fixed = fastlane.read_private(os.path.join(sessions, name), 8192)
    if fixed and (payload["hook_event_name"] != "SessionStart" or event.source in (Source.COMPACT, Source.RESUME)):
        return fixed
    root = locate(env, claude_code.start_directory(payload, env), options.get("workspace", ""))
    if root is not None and root != fixed:
        # Without this note a later change of directory moves the session: worse, but no reason to withhold memory.
        with contextlib.suppress(ApmError):
            private_directory(sessions)
            replace_bytes(sessions, name, root.encode("utf-8", "surrogateescape"))
            _prune(sessions, LIMITS.session_pointers)
    return root


def _keep(runtime: Runtime, event: HostEvent, loaded: Loaded, printed: bytes, env: Mapping[str, str], now: int) -> None:
    """Store the answer for the fast lane, unless an input is too fresh for its stamp to be believed."""
    from apm_hooks.ledger import encode
    from apm_hooks.plugin_list import list_path
    from apm_hooks.prepared import believable, stamps_of

    root = runtime.root
    inputs = [*loaded.inputs, ".apm/ledger/any"]
    plugins = list_path(os.path.join(runtime.where.cache, "plugins"))
    stamps = stamps_of(root, inputs, (*runtime.workspace.inputs, *_own_files(), *_clock_files(loaded), plugins))
    stamps += fastlane.installation_stamps(sys.path)
    if not believable(stamps, now, LIMITS.racy_ns):
        return
    begins, ends = bounds_of(loaded.day, runtime.zone())
    entry = runtime.ledger_entry(event, loaded)
    record = {
        "format": fastlane.FORMAT, "stamps": stamps, "from": begins, "until": ends,
        "line": encode(entry).decode(), "digest": loaded.injection.digest, "active": entry["active"],
        "idle": runtime.sessions.idle_seconds, "turn": runtime.limits.turn_seconds,
    }  # fmt: skip
    path = fastlane.record_path(env, root, event.host, event.source.value, event.session_key)
    with contextlib.suppress(ApmError):
        folder = private_directory(os.path.dirname(path))
        head = json.dumps(record, ensure_ascii=True).encode()
        replace_bytes(folder, os.path.basename(path), head + b"\n" + printed)
        _prune(folder, LIMITS.start_records)


def _own_files() -> list[str]:
    """The files of this library that are in use: a new version renders anew."""
    files = (getattr(module, "__file__", None) for name, module in sys.modules.items()
             if name.split(".")[0] == "apm_hooks")  # fmt: skip
    return [file for file in files if file]


def _clock_files(loaded: Loaded) -> list[str]:
    """What says which day it is on this machine, for answers that depend on the day."""
    return ["/etc/localtime"] if loaded.day is not None else []


def _prune(folder: str, keep: int) -> None:
    """Delete the oldest files of a folder past `keep`."""
    with contextlib.suppress(OSError):
        names = os.listdir(folder)
        if len(names) <= keep:
            return
        aged = sorted((os.lstat(os.path.join(folder, name)).st_mtime_ns, name) for name in names)
        for _, name in aged[: len(names) - keep]:
            os.unlink(os.path.join(folder, name))
