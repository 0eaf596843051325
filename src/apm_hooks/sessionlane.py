"""The fast lane's answers to the events of a session: its start, a message, the end of a turn.

Each is what the full path would do, where that can be proved: nothing is due in the session's scope, nothing of it is
open, nothing changed. `None` hands over. The lane loads this file in a bare interpreter when such an event comes, and
hands in itself and `activity`.
"""

import os
import time

TYPE_CHECKING = False
if "fastlane" not in globals() or TYPE_CHECKING:
    from apm_hooks import activity, fastlane
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MARKS = 64
"""So many sessions of one scope are looked at; with more of them the full path does it."""
TAIL_BYTES = 256 * 1024
"""So much of a transcript's end is read for what the context holds."""

_BEGINS = ("startup", "clear", "fork")
_HALF_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_NO_ANSWERS = ("isSidechain", "isMeta", "isApiErrorMessage", "isCompactSummary", "isVisibleInTranscriptOnly")
_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
_LEDGER_BYTES = 256 * 1024


def answer(event: "Mapping[str, Any]", options: "Mapping[str, str]", env: "Mapping[str, str]") -> bytes | None:
    """What to print for a SessionStart, UserPromptSubmit or Stop; None where only the full path can say."""
    kind, session_id = event["hook_event_name"], event.get("session_id")
    if not isinstance(session_id, str):
        return None
    key = options.get("session", env.get("APM_SESSION"))
    name = fastlane.session_name("claude-code", session_id, key)
    root, fixed = _workspace(event, options, env, name)
    if not root:
        return b"" if root == "" else None
    try:
        if kind == "SessionStart":
            return _start(event, env, key, name, root, fixed)
        noted = _message if kind == "UserPromptSubmit" else _turn_end
        return b"" if noted(event, env, key, name, root) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _workspace(
    event: "Mapping[str, Any]", options: "Mapping[str, str]", env: "Mapping[str, str]", name: str
) -> tuple[str | None, str | None]:
    """The session's workspace (empty: it has none; None: not to be told here), and the one noted when it started."""
    pointer = fastlane.user_directory(env, "XDG_STATE_HOME", ".local/state") + "/sessions/" + name
    fixed = fastlane.read_private(pointer, 8192)
    goes_on = event["hook_event_name"] != "SessionStart" or event.get("source") in ("compact", "resume")
    if fixed is not None and goes_on:
        return fixed, fixed
    named = options.get("workspace") or env.get("APM_WORKSPACE")
    if named:
        return (os.path.realpath(named) if named.startswith("/") else None), fixed
    cwd = env.get("CLAUDE_PROJECT_DIR") or event.get("cwd")
    return (fastlane.find_workspace(cwd) or "" if isinstance(cwd, str) and "\0" not in cwd else None), fixed


def _message(event: "Mapping[str, Any]", env: "Mapping[str, str]", key: str | None, name: str, root: str) -> bool:
    """Notes that a message begins a turn, where it provably loads and flushes nothing: loading is done for the epoch,
    what says whose the session is did not change, and no session of the scope waits for a flush, this one least."""
    prompt = event.get("prompt")
    # What a message mentions the host reads without a tool call: the gate looks at that.
    if not isinstance(prompt, str) or "@" in prompt or _may_ask_for_flush(prompt):
        return False
    last = _last_entry(root, name)
    if last["done"] is not True or last["inputs"] != fastlane.settings_stamp(env, root, key):
        return False
    moment, folder = activity.now(), last["active"]
    own = activity.read_mark(root, folder, name, fastlane.parse_json)
    if own is None or not _nothing_due(root, folder, moment, own["idle"], own["turn"]):
        return False

    def begun(mark: "dict[str, Any]") -> "dict[str, Any] | None":
        full = mark["limit"] is not None and mark["usage"] is not None and mark["usage"] >= mark["limit"]
        if mark["open"] or mark["phase"] or mark["busy"] or full:
            return None
        return activity.begun(mark, moment, _transcript(event))

    return activity.touch(root, folder, name, begun, fastlane.parse_json) is not None


def _may_ask_for_flush(prompt: str) -> bool:
    """True for anything that could be `/remem`: with its letters in it somewhere, full-width ones or not."""
    return "remem" in (prompt if prompt.isascii() else prompt.translate(_HALF_WIDTH)).casefold()


def _turn_end(event: "Mapping[str, Any]", env: "Mapping[str, str]", key: str | None, name: str, root: str) -> bool:
    """Notes that a turn is over, where that settles nothing: no flush of the session is open, and no compaction."""
    if root not in (fastlane.trusted_roots(env) or ()):
        return False
    folder = _last_entry(root, name)["active"]
    if folder == "":
        return True
    own = activity.read_mark(root, folder, name, fastlane.parse_json)
    if own is None:
        return False
    held = context_tokens(_transcript(event) or own["transcript"]) if own["window"] else None
    moment = activity.now()

    def ended(mark: "dict[str, Any]") -> "dict[str, Any] | None":
        if mark["open"] or mark["phase"]:
            return None
        window = mark["window"]
        usage = min(round(held * 100 / window, 1), 100.0) if held and window else mark["usage"] if window else None
        return activity.ended(mark, moment, usage)

    return activity.touch(root, folder, name, ended, fastlane.parse_json) is not None


def _transcript(event: "Mapping[str, Any]") -> str:
    path = event.get("transcript_path")
    return path if isinstance(path, str) and path.startswith("/") and "\0" not in path else ""


def _nothing_due(root: str, folder: str, moment: "activity.Moment", idle: "Any", turn: "Any") -> bool:
    """True where provably no session of a scope went quiet with something to save."""
    names = activity.sessions(root, folder)
    if len(names) > MARKS:
        return False
    marks = (activity.read_mark(root, folder, name, fastlane.parse_json) for name in names)
    return not any(mark is None or activity.is_due(mark, moment, idle, turn) for mark in marks)


def context_tokens(transcript: str) -> int | None:
    """Tokens of the model's context with its newest answer, as the end of a transcript tells them; None where there is
    no transcript, no answer in it, or it was compacted since. Raises LookupError where more of it must be read."""
    try:
        descriptor = os.open(transcript, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if status.st_mode & 0o170000 != 0o100000:
            return None
        start = max(status.st_size - TAIL_BYTES, 0)
        lines = os.pread(descriptor, TAIL_BYTES, start).split(b"\n")
    finally:
        os.close(descriptor)
    # A line without its end is still being written; the first may be the end of one.
    for line in reversed(lines[1 if start else 0 : -1]):
        if b'"assistant"' in line or b'"compact_boundary"' in line:
            held = _held(line)
            if held is not None:
                return held or None
    if start:
        raise LookupError("no answer at the end of the transcript")
    return None


def _held(line: bytes) -> int | None:
    """What an answer says that its context holds; 0: it was compacted here; None: the line tells nothing."""
    try:
        entry = fastlane.parse_json(line.decode())
        if any(entry.get(mark) is True for mark in _NO_ANSWERS):
            return None
        if entry.get("subtype") == "compact_boundary":
            return 0
        message = entry["message"]
        if entry.get("type") != "assistant" or message.get("model") == "<synthetic>":
            return None
        counts = [message["usage"].get(name) or 0 for name in _COUNTS]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return sum(counts) or None if all(type(count) is int and count >= 0 for count in counts) else None


def _last_entry(root: str, name: str) -> "Any":
    text = fastlane.read_private(_ledger(root, name), fastlane.RECORD_BYTES)
    return fastlane.parse_json(next((line for line in reversed((text or "").split("\n")) if line), ""))


def _ledger(root: str, name: str) -> str:
    return root + "/.apm/ledger/" + name + ".jsonl"


def _start(
    event: "Mapping[str, Any]", env: "Mapping[str, str]", key: str | None, name: str, root: str, fixed: str | None
) -> bytes | None:
    """The prepared answer to a session start, if every input still is what it was and nothing waits for a flush; leaves
    the ledger's line. After a compaction the full path looks whether its event was missed."""
    source = event.get("source")
    if source not in (*_BEGINS, "resume") or fixed not in (None, root):
        return None
    text = fastlane.read_private(
        fastlane.record_path(env, root, "claude-code", str(source), key), fastlane.RECORD_BYTES
    )
    head, _, body = (text or "").partition("\n")
    record = fastlane.parse_json(head)
    if record["format"] != fastlane.FORMAT or any(fastlane.stamp_of(path) != stamp for path, stamp in record["stamps"]):
        return None
    if not record["from"] <= time.time() < record["until"]:
        return None
    line, digest, folder = record["line"], record["digest"], record["active"]
    # On resume the last line must say that this very text was sent: sending it again costs nothing.
    last = _last_entry(root, name) if source == "resume" else {"e": "start", "digest": digest}
    if last["e"] != "start" or last["digest"] != digest:
        return None
    if folder != "" and not _may_start(root, folder, name, record["idle"], record["turn"]):
        return None
    pointer = fastlane.user_directory(env, "XDG_STATE_HOME", ".local/state") + "/sessions/" + name
    if fixed is None and not _create(pointer, root):
        return None
    return body.encode() if _append(_ledger(root, name), line.encode()) else None


def _may_start(root: str, folder: str, name: str, idle: "Any", turn: "Any") -> bool:
    """True where the start has nothing to flush, to settle or to miss."""
    if not _nothing_due(root, folder, activity.now(), idle, turn):
        return False
    own = activity.read_mark(root, folder, name, fastlane.parse_json)
    return own is None or not (own["open"] or own["phase"])


def _create(path: str, text: str) -> bool:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        return os.write(descriptor, text.encode()) == len(text.encode())
    finally:
        os.close(descriptor)


def _append(path: str, line: bytes) -> bool:
    """Add a line to a ledger, under its lock and only if it still is the file of that name."""
    import fcntl

    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(descriptor)
        if status.st_mode & 0o170000 != 0o100000 or status.st_size > _LEDGER_BYTES:
            return False
        if not os.path.samestat(status, os.lstat(path)):
            return False
        return os.write(descriptor, line) == len(line)
    finally:
        os.close(descriptor)
