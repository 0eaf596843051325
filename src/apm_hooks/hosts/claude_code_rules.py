"""Permission rules of Claude Code that shut what no session may touch with its tools (protocol, section 2).

The gate judges each call, but only where the host runs hooks: it runs none with `disableAllHooks`, and does without one
that is late. What nobody's tools may touch, whoever's the session is, its own rules keep shut.
"""

from __future__ import annotations

import re

from apm_hooks import jsonedit

SHUT = (
    ("Read", ".apm/**"),
    ("Edit", ".apm/**"),
    ("Read", "apm.toml"),
    ("Edit", "apm.toml"),
    ("Edit", "memory/flush-state.json"),
    ("Edit", "memory/groups/**/flush-state.json"),
    ("Read", "memory/groups/flush-state.json"),
    ("Edit", "memory/groups/group_names.json"),
)
"""Kind of tool and path in the workspace. `Edit` stands for every tool that writes, `Read` for every one that reads."""

_LIST = ("permissions", "deny")
_SIGNS = re.compile(r"[^\w/.@%+,~ -]", re.ASCII)
_OURS = re.compile("|".join(f"{kind}\\(/(?:/.*/)?{re.escape(path)}\\)\\Z" for kind, path in SHUT))


def rules_for(root: str = "") -> tuple[str, ...]:
    """The rules for the workspace at `root` (absolute), or for the folder that a project's settings file lies in.

    A sign in `root` that may mean something in a pattern is matched by any one sign.
    """
    head = "/" + _SIGNS.sub("?", root).rstrip("/") if root else ""
    return tuple(f"{kind}({head}/{path})" for kind, path in SHUT)


def with_rules(text: str, rules: tuple[str, ...], *, file: str = "") -> str:
    """The settings text with each of `rules` in its list of denied permissions, once. What is there stays.

    Raises SettingsError, with `file` and line, for what is no JSON, or where something else stands in the list's place.
    """
    held = _held(text, file)
    for rule in rules:
        if rule not in held:
            text = jsonedit.append_to(text, _LIST, rule, file=file)
    return text


def without_rules(text: str, *, file: str = "") -> str:
    """The settings text without any rule of ours, of whichever workspace; errors as above."""
    for place in reversed([place for place, rule in enumerate(_held(text, file)) if _is_ours(rule)]):
        text = jsonedit.remove_from(text, (*_LIST, place), file=file)
    return text


def _is_ours(rule: object) -> bool:
    return isinstance(rule, str) and _OURS.match(rule) is not None


def _held(text: str, file: str) -> list[object]:
    node = jsonedit.find(text, _LIST, file=file)
    found = jsonedit.decode(text, node, file=file) if node is not None else []
    return found if isinstance(found, list) else []
