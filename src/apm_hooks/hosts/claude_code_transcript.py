"""Claude Code's record of a session: how full the context is, and how much was said since a point in it.

One JSON object a line, appended to; only numbers, the model's name and the host's version leave this module. What the
lines hold was seen on the real program; `docs/hosts/claude-code.md` says how to see it again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

TAIL_BYTES = 1024 * 1024
"""So much of a transcript's end is looked at; a single line of the host's own can be over 100 KB."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_NAME_CHARS = 200
_BEYOND = 10**12

_SYNTHETIC = "<synthetic>"
"""The model of an answer that the host made up: an error, or none at all."""
_HOST_TEXTS = ("<command-name>", "<local-command-", "<bash-stdout>", "<bash-stderr>", "<task-notification>",
               "[Request interrupted by user")  # fmt: skip
"""How what the host writes in a person's name begins; a command that became a prompt begins `<command-message>`."""
_USAGE = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Transcript:
    """What the end of a transcript tells; None: it does not tell.

    `size` is in bytes and the next `since`. `usage_tokens` are those of the model's context with its newest answer, by
    the host's own sum; None also where it was compacted after that answer. `messages` and `tokens` are what was said
    since `since`; None where that is more than was looked at, or cannot be read: to be counted as enough.
    `compactions` are those since then. `model` is the newest answer's, with `[1m]` where the host notes it; `version`
    is the host's. `rewritten`: the file is shorter than it was; then all of it counts as new.
    """

    size: int | None = None
    usage_tokens: int | None = None
    messages: int | None = None
    tokens: int | None = None
    model: str = ""
    version: str = ""
    compactions: int = 0
    rewritten: bool = False


def read_tail(path: str, *, since: int = 0, limit: int = TAIL_BYTES) -> Transcript:
    """What the last `limit` bytes of the transcript at `path` tell; `since` is where the last flush stood, in bytes.

    Messages are what a person typed and the answers of the main agent that hold text: neither results of tools, nor
    what the host puts in, nor a subagent's, nor the summary of a compaction. Tokens are estimated from the bytes of
    those messages and of the calls and results of tools between them, upwards: a byte outside ASCII is one token, the
    others are weighed, and are half as many tokens as bytes at least. Only strings of random signs cost more than that.

    The host appends whole lines, up to 0.1 s late. A last line without its end counts with the next reading; a line
    that is no JSON or no UTF-8 is passed over. Never raises: a file that is not there, a link, anything else that is no
    plain file, or one that cannot be read tells nothing.
    """
    try:
        size, data = _tail(path, max(limit, 1))
    except (OSError, ValueError):
        return Transcript()
    start = size - len(data)
    # Where reading begins inside a file, the first line is half of one; where it has no end, no line is whole.
    ends = data.find(b"\n") + 1 or len(data)
    first = start + ends if start else 0
    rewritten = size < since
    since = 0 if rewritten else max(since, 0)
    found = _Found()
    end = start + data.rfind(b"\n") + 1
    for line in reversed(data[first - start : end - start].split(b"\n")[:-1]):
        found.take(line, new=end > since)
        end -= len(line) + 1
    whole = since >= first
    return Transcript(
        size, found.usage or None, found.messages if whole else None, _estimate(found.said) if whole else None,
        found.model, found.version, found.compactions, rewritten,
    )  # fmt: skip


def _tail(path: str, limit: int) -> tuple[int, bytes]:
    """How much of the file was there when it was opened, and the last `limit` bytes of that."""
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("no plain file")
        at = max(status.st_size - limit, 0)
        data = b""
        while at + len(data) < status.st_size:
            chunk = os.pread(descriptor, status.st_size - at - len(data), at + len(data))
            if not chunk:
                break
            data += chunk
        return at + len(data), data
    finally:
        os.close(descriptor)


@dataclass(slots=True)
class _Found:
    """What was gathered so far, from the newest line backwards; `usage` is 0 once a compaction hides it."""

    usage: int | None = None
    model: str = ""
    version: str = ""
    compactions: int = 0
    said: list[str] = field(default_factory=list)
    _people: int = 0
    _answers: set[object] = field(default_factory=set)

    @property
    def messages(self) -> int:
        return self._people + len(self._answers)

    def take(self, line: bytes, *, new: bool) -> None:
        """Look at one line; only `new` ones count as said."""
        if not new and self.usage is not None and self.model:
            return
        entry = _entry(line)
        if entry is None:
            return
        self.version = self.version or _name(entry.get("version"))
        if entry.get("subtype") == "compact_boundary":
            self.usage = self.usage or 0
            self.compactions += new
            return
        message = entry.get("message")
        if not isinstance(message, dict) or _of_the_host(entry, message):
            return
        blocks = list(_blocks(message.get("content")))
        if entry.get("type") == "assistant":
            self._take_answer(entry, message)
            if new and any(_text(block).strip() for block in blocks):
                # An answer is stored block by block, under one id.
                self._answers.add(_name(message.get("id")) or object())
        elif new and _is_typed(blocks):
            self._people += 1
        if new:
            self.said += (text for block in blocks for text in _strings(block))

    def _take_answer(self, entry: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        self.model = self.model or _name(entry.get("requestedModel")) or _name(message.get("model"))
        if self.usage is None:
            self.usage = _usage(message.get("usage"))


def _entry(line: bytes) -> dict[str, Any] | None:
    """A line as JSON, if it can be one that counts."""
    import json

    if b'"user"' not in line and b'"assistant"' not in line and b'"compact_boundary"' not in line:
        return None
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or entry.get("isSidechain") is True:
        return None
    return entry if entry.get("type") in ("user", "assistant", "system") else None


def _of_the_host(entry: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    marks = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
    return any(entry.get(mark) is True for mark in marks) or message.get("model") == _SYNTHETIC


def _blocks(content: object) -> Iterator[Mapping[str, Any]]:
    """The blocks of a message, whichever of the two spellings of content it has."""
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    elif isinstance(content, list):
        yield from (block for block in content if isinstance(block, dict))


def _text(block: Mapping[str, Any]) -> str:
    text = block.get("text") if block.get("type") == "text" else ""
    return text if isinstance(text, str) else ""


def _is_typed(blocks: list[Mapping[str, Any]]) -> bool:
    """Whether a person wrote this: a text that is not the host's, or a picture; a tool's result is no message."""
    kinds = {str(block.get("type")) for block in blocks}
    texts = [text for block in blocks if (text := _text(block).strip())]
    if "tool_result" in kinds or (texts and texts[0].startswith(_HOST_TEXTS)):
        return False
    return bool(texts) or "image" in kinds


def _strings(block: Mapping[str, Any]) -> Iterator[str]:
    """What a block says, calls a tool with, or was given by one; pictures are no text."""
    if block.get("type") == "tool_use":
        yield from _leaves(block.get("input"))
    elif block.get("type") == "tool_result":
        content = block.get("content")
        yield from (content,) if isinstance(content, str) else map(_text, _blocks(content))
    else:
        yield _text(block)


def _leaves(value: object) -> Iterator[str]:
    """Every text and key in a JSON value."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield from part
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
        elif part is not None:
            yield str(part)


def _usage(usage: object) -> int | None:
    """All tokens that a request held and gave, as the host adds them up; None where it counts none."""
    if not isinstance(usage, dict):
        return None
    counts = [usage.get(kind) or 0 for kind in _USAGE]
    if any(type(count) is not int or not 0 <= count < _BEYOND for count in counts):
        return None
    return sum(counts) or None


def _name(value: object) -> str:
    """A short plain name, or nothing."""
    return value if isinstance(value, str) and value.isprintable() and len(value) <= _NAME_CHARS else ""


def _estimate(texts: list[str]) -> int:
    from apm_hooks.tokens import estimate_counter

    text = "\n".join(text for text in texts if text)
    plain = text.encode("ascii", "ignore").decode()
    other = len(text.encode("utf-8", "surrogatepass")) - len(plain)
    # An encoding without weights of its own is given the dearest of each.
    return other + max(estimate_counter("any")(plain), len(plain) // 2)
