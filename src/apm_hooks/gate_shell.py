"""The gate's rules on shell commands: what of them cannot be judged, and calls of our own command (protocol, 8)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from apm_hooks import gate_texts
from apm_hooks.access import AccessKind
from apm_hooks.gate_case import Case, shown

_PROTECTED = ("memory", "flush-state", "group_names", ".apm", "apm.toml", "apm-hooks", "apm_hooks", ".git/", "log/",
              ".claude", ".codex", ".gemini", ".qwen", ".copilot", ".openclaw", ".factory", ".cline", ".hermes",
              "opencode", "transcript", "sessions/")  # fmt: skip
"""What a word may name that has to do with somebody's memory or conversations."""

_OPERATORS = ("flush-state", ".apm", "apm.toml")
_OWN_NAMES = frozenset(("apm-hooks", "apm_hooks"))
# Variables that tell our command whom it serves, or where what it trusts lies.
_VARIABLES = re.compile(r"(?<![A-Za-z0-9_])(?:APM_|(?:XDG_[A-Z_]+|HOME|PYTHON[A-Z]+)\+?=)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_SWITCH = re.compile(r"(?<![A-Za-z0-9_])(?:APM_[A-Z_]+\+?=|(?:export|unset|declare|env|read)\b[^\n;&|]{0,200}APM_)")
# Where the model runs is the host's word: it opens the agent's own notes, which no cloud model may read.
_LOCALITY = re.compile(r"(?<![A-Za-z0-9_])APM_MODEL_LOCALITY\+?=")
_HOSTS_ALONE = frozenset(("hook",))


def doubts(case: Case) -> str:
    """What cannot be judged and could reach a forbidden file. What a program does beyond its words is free, unless its
    words name something protected, or the setting is strict."""
    situation = case.situation
    if not case.calling.unjudged or (situation.owner and not situation.strict):
        return ""
    from apm_hooks.shell.reading import could_name

    for unjudged in case.calling.unjudged:
        if situation.owner:
            denied = could_name(unjudged.word, _OPERATORS)
        else:
            denied = situation.strict or not unjudged.opaque or could_name(unjudged.word, _PROTECTED)
        if denied:
            return gate_texts.DOUBT.format(word=shown(unjudged.word), reason=unjudged.reason)
    return ""


def own_calls(case: Case) -> str:
    """Outside the owner's scope a call of our own command serves this very session and workspace, and no other; in
    every scope it is the host that says where the model runs."""
    situation = case.situation
    command = case.calling.command
    if _LOCALITY.search(_bare(command)):
        return gate_texts.OWN_SETTING
    if situation.owner:
        return ""
    if _SWITCH.search(_bare(command)):
        return gate_texts.OWN_SETTING
    for look in case.looks:
        parts = {part for place in look.places for part in place.real.split("/")}
        if look.access.kind is AccessKind.EXECUTE and "apm_hooks" in parts:
            return gate_texts.OWN_PLAIN
    if not case.calling.own:
        return ""
    if _VARIABLES.search(_bare(command)) or _elsewhere(case, case.situation.cwd):
        return gate_texts.OWN_SETTING
    for words in case.calling.own:
        reason = _own_call(case, words)
        if reason:
            return reason
    return "" if situation.bound and situation.own_session is not None else gate_texts.OWN_UNBOUND


def _elsewhere(case: Case, folder: str) -> bool:
    """Whether our command would serve another workspace in this folder."""
    return case.resolver.resolve(folder).root not in ("", case.situation.root)


def _bare(command: str) -> str:
    """A command without the signs that only part its words."""
    return re.sub(r"['\"\\]", "", command.replace("\\\n", ""))


def _own_call(case: Case, words: Sequence[str]) -> str:
    rest = list(words)
    while rest and (_ASSIGNMENT.match(rest[0]) or rest[0].rpartition("/")[2] in _OWN_NAMES):
        if _VARIABLES.match(rest[0]):
            return gate_texts.OWN_SETTING
        if rest[0].startswith("PWD=") and _elsewhere(case, rest[0][4:]):
            return gate_texts.OWN_SETTING
        rest = rest[1:]
    if _HOSTS_ALONE.intersection(rest[:1]) or any("\0" in word for word in rest):
        return gate_texts.OWN_PLAIN
    for option, value in _options(rest):
        if option == "--session" and value != case.situation.own_session:
            return gate_texts.OWN_SETTING
        if option == "--workspace" and case.resolver.resolve(value).real != case.situation.root:
            return gate_texts.OWN_SETTING
    return ""


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The options that name a session or a workspace, each with its value; what only looks like one counts too."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in ("--session", "--workspace"):
            yield name, value if equals else (words[at + 1] if at + 1 < len(words) else "\0")
