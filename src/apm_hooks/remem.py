"""`/remem` in each form in which hosts deliver it (protocol, section 9).

A command stands at the head of a message: a host's own text may stand before it (a block of context, the envelope of a
channel, a mention of the bot), a person's may not. Every step goes forward through the message, and every pattern is
bounded, so that the time is linear in its length.
"""

from __future__ import annotations

import re

_BLANK = re.compile(r"[\s\ufeff\u200b-\u200f\u2060]*")

_CONTEXT = ("hook_context", "system-reminder", "system_reminder", "current_datetime")
"""Blocks that hosts put before a prompt."""

_ENVELOPE = re.compile(
    r"\[[^\[\]\n]{0,300}\d{4}-\d{2}-\d{2}[^\[\]\n]{0,40}\]\s{1,8}(?:[^\n]{1,120}?\([^()\n]{1,80}\): )?"
)
"""`[Telegram Ann (@ann) id:501 Mon 2026-11-30 16:50:23 UTC] Ann (@ann): `, and a bare date in brackets."""

_MENTION = re.compile(r"(?:@[\w.-]{1,64}(?::[\w.:-]{1,100})?|<[@!]{1,2}[\w|.-]{1,80}>)[,:，：]?\s{1,20}")
_MENTIONS = 5

_EVENTS = 100
_SYSTEM = re.compile(r"System: (?:\[[^\]\n]{1,80}\] )?")
_REMINDER = re.compile(r"A scheduled reminder has been triggered\. The reminder content is:")
_REMINDER_ENDS = ("\n\nPlease relay this reminder", "\n\nHandle this reminder internally")
_JOB = re.compile(r"\[cron:[^\]\n]{1,300}\] ")
"""`[cron:1f3c nightly] `, before the message of a job that has a session of its own."""
_JOB_ENDS = ("\nCurrent time: ",)

_TAG = re.compile(r"<(command-[a-z]{1,20})>")
_INVOKED = re.compile(r'The user explicitly invoked the "/?([^"\n]{1,200})" skill', re.IGNORECASE)
_SKILL_BLOCK = re.compile(r'<skill-context name="([^"\n]{1,200})">')


def _letter(char: str) -> str:
    wide = 0xFEE0
    return f"[{char}{char.upper()}{chr(ord(char) + wide)}{chr(ord(char.upper()) + wide)}]"


_WORD = "".join(map(_letter, "remem"))
_PARTS = r"(?:[^\W_][\w.-]{0,100}[:：]){0,4}"
_BOT = r"(?:@[A-Za-z0-9_]{1,64})?"
# What is written without blanks may follow at once; a path, an extension and a longer word may not.
_END = r"(?=\Z|\s|[:：](?:\s|\Z)|[，。、；！？]|[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3])"
_COMMAND = re.compile(rf"(?:[/／$＄]{_PARTS}{_WORD}{_BOT}{_END}[:：，。、；！？]?|{_WORD}[:：](?!//))")
_NAME = re.compile(rf"[/／]?{_PARTS}{_WORD}")


def arguments_of(message: str) -> str | None:
    """What stands behind the command, without the blanks around it; "" for the bare command, None for a message that
    is no `/remem`.

    The command: `/remem`, `/PLUGIN:remem`, `$remem`, `remem: …`, in any case and in full-width letters; `/remem@bot`;
    after blanks, mentions of the bot, context that a host put there, or a channel's envelope; what Claude Code and
    Copilot CLI make of a custom command (the latter does not show the arguments: ""); a scheduled reminder or system
    event of OpenClaw. Not the command: a message that only mentions it, quotes it, or names a file or a longer word.
    """
    at = _after_context(message, _blank(message, 0))
    if message.startswith("<command-", at):
        return _of_tags(message, at)
    if invoked := _INVOKED.match(message, at):
        block = _SKILL_BLOCK.search(message, invoked.end())
        return "" if block and _NAME.fullmatch(invoked[1]) and _NAME.fullmatch(block[1]) else None
    for _ in range(_EVENTS):
        if not message.startswith("System: ", at):
            break
        text, at = _system_event(message, at)
        found = _typed(text, 0)
        if found is not None:
            return found
    if reminder := _REMINDER.match(message, at):
        return _typed(_until(message, reminder.end(), _REMINDER_ENDS), 0)
    if job := _JOB.match(message, at):
        return _typed(_until(message, job.end(), _JOB_ENDS), 0)
    return _typed(message, at)


def _until(text: str, at: int, ends: tuple[str, ...]) -> str:
    """What stands from `at` to the first of what a host writes behind a person's words."""
    found = [text.find(end, at) for end in ends]
    return text[at : min((end for end in found if end >= 0), default=len(text))]


def _blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _after_context(text: str, at: int) -> int:
    """Where a message begins behind the blocks that hosts put before it; a block without an end is the message."""
    while True:
        name = next((name for name in _CONTEXT if text.startswith(f"<{name}>", at)), None)
        close = f"</{name}>"
        end = text.find(close, at) if name else -1
        if end < 0:
            return at
        at = _blank(text, end + len(close))


def _typed(text: str, at: int) -> str | None:
    """The arguments of a command at `at`, behind an envelope and mentions."""
    at = _blank(text, at)
    if envelope := _ENVELOPE.match(text, at):
        at = _blank(text, envelope.end())
    for _ in range(_MENTIONS):
        mention = _MENTION.match(text, at)
        if mention is None:
            break
        at = mention.end()
    found = _COMMAND.match(text, at)
    return text[found.end() :].strip() if found else None


def _system_event(text: str, at: int) -> tuple[str, int]:
    """The text of the system event at `at`, each of whose lines the host marks, and where the next thing begins."""
    lines: list[str] = []
    while mark := _SYSTEM.match(text, at):
        # A line with a time begins the next event.
        if lines and mark.end() - mark.start() > len("System: "):
            break
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        lines.append(text[mark.end() : end])
        at = end + 1
    return "\n".join(lines), _blank(text, min(at, len(text)))


def _of_tags(text: str, at: int) -> str | None:
    """The arguments in `<command-name>…</command-name><command-args>…</command-args>`, the tags in any order."""
    values: dict[str, str] = {}
    while tag := _TAG.match(text, at):
        close = f"</{tag[1]}>"
        # What a person wrote may hold the closing tag too.
        end = text.rfind(close, tag.end()) if tag[1] == "command-args" else text.find(close, tag.end())
        if end < 0:
            return None
        values.setdefault(tag[1], text[tag.end() : end])
        at = _blank(text, end + len(close))
    whole = at >= len(text) and _NAME.fullmatch(values.get("command-name", "").strip())
    return values.get("command-args", "").strip() if whole else None
