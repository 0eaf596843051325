"""Scripts for a model that is none: the prompt itself says what the answers shall be, one directive a line.

    ::say TEXT            the next answer is TEXT and ends the turn
    ::tool NAME {JSON}    the next answer calls this tool; of `NAME|OTHER`, the first that is on offer
    ::usage N             answers from here on report N input tokens
    ::hold                the next answer waits for `FakeAnthropic.release`
    ::refuse              the next request is refused: its prompt is too long

Directives are read from the newest prompt in the request, and as many of its steps are behind us as there are
answers after it: nothing is remembered between requests, so resumed, forked and nested conversations need no
care. A prompt without directives is answered with `IDLE`, a finished script with `EXHAUSTED`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

IDLE = "Nothing was asked of me."
EXHAUSTED = "The script has run out."
PLAIN_USAGE = 900

_DIRECTIVE = re.compile(r"^::(?P<verb>[a-z]+)(?:[ \t]+(?P<rest>.*))?$", re.MULTILINE)
_REMINDER = "<system-reminder>"

Json = dict[str, Any]


class ScriptError(ValueError):
    """A directive that cannot be obeyed: the test that wrote it is wrong, not the host."""


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the script: a text, or a call of the first of `tools` that the request offers.

    `held`: it does not come before the test lets it; `refused`: an error comes in its place.
    """

    text: str = ""
    tools: tuple[str, ...] = ()
    arguments: Json = field(default_factory=dict)
    usage: int = PLAIN_USAGE
    held: bool = False
    refused: bool = False


def messages_of(body: Json) -> list[Json]:
    """The messages of a request, in order."""
    return [message for message in body.get("messages") or () if isinstance(message, dict)]


def blocks_of(message: Json) -> Iterator[Json]:
    """The content blocks of a message, whichever of the two spellings of content it uses."""
    content = message.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
        return
    for block in content or ():
        if isinstance(block, dict):
            yield block


def texts_of(message: Json) -> list[str]:
    """The text blocks of a user's message, the host's reminders left out."""
    if message.get("role") != "user":
        return []
    texts = [str(block.get("text", "")) for block in blocks_of(message) if block.get("type") == "text"]
    return [text for text in texts if not text.lstrip().startswith(_REMINDER)]


def own_text(message: Json) -> str:
    """What a person wrote in a message: what stands beside a tool's result is the host's."""
    if any(block.get("type") == "tool_result" for block in blocks_of(message)):
        return ""
    return "\n".join(texts_of(message)).strip()


def parse_script(prompt: str) -> tuple[Step, ...]:
    """The steps that a prompt asks for, in order; raises `ScriptError` for a line that makes no sense."""
    steps: list[Step] = []
    usage, held = PLAIN_USAGE, False
    for found in _DIRECTIVE.finditer(prompt):
        verb, rest = found["verb"], (found["rest"] or "").strip()
        if verb == "usage":
            if not rest.isdecimal():
                raise ScriptError(f"::usage wants a number, not {rest!r}")
            usage = int(rest)
        elif verb == "hold":
            held = True
        elif verb in ("say", "tool", "refuse"):
            steps.append(replace(_step(verb, rest), usage=usage, held=held))
            held = False
        else:
            raise ScriptError(f"there is no directive ::{verb}")
    return tuple(steps)


def _step(verb: str, rest: str) -> Step:
    if verb == "tool":
        names, _, arguments = rest.partition(" ")
        return Step(tools=_names(names), arguments=_arguments(arguments))
    return Step(refused=True) if verb == "refuse" else Step(text=rest)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name for name in text.split("|") if name)
    if not names:
        raise ScriptError("::tool wants the name of a tool")
    return names


def _arguments(text: str) -> Json:
    try:
        value = json.loads(text or "{}")
    except ValueError as error:
        raise ScriptError(f"::tool wants JSON after the name: {error}") from error
    if not isinstance(value, dict):
        raise ScriptError(f"::tool wants a JSON object after the name, not {text!r}")
    return value


def next_step(body: Json) -> Step:
    """The step that answers this request."""
    prompt, behind = "", 0
    for message in messages_of(body):
        if text := own_text(message):
            prompt, behind = text, 0
        elif message.get("role") == "assistant":
            behind += 1
    steps = parse_script(prompt)
    if not steps:
        return Step(text=IDLE)
    if behind < len(steps):
        return steps[behind]
    return Step(text=EXHAUSTED, usage=steps[-1].usage)
