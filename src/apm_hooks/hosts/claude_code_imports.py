"""Which files Claude Code brings into a session by itself: CLAUDE.md and its kin, and what they import.

A line `@path` in such a file pulls another file in, which may pull in more. Where several groups share a
workspace, a chain that ends in the owner's memory shows it to all of them.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HOPS = 5
"""How far a chain of imports is followed; no version seen goes further than four files."""

_IMPORT = re.compile(r"(?:^|[\s*_~])@((?:\\ |\S)+)")
_SPAN = re.compile(r"(?<!`)`[^`]+`(?!`)")


def imports(text: str) -> list[str]:
    """The paths that a markdown text imports, as written; code and comments import nothing."""
    found: list[str] = []
    fence, comment = "", False
    for line in text.splitlines():
        if fence:
            fence = "" if line.lstrip().startswith(fence) else fence
            continue
        shown, comment = _uncommented(_SPAN.sub(" ", line), comment)
        if shown.lstrip().startswith(("```", "~~~")):
            fence = shown.lstrip()[:3]
            continue
        named = (path.replace("\\ ", " ").rstrip("*_~") for path in _IMPORT.findall(shown))
        found += (path for path in named if path and "\0" not in path)
    return found


def brought_in(
    project: str, config: str, home: str, *, agents: bool, read: Callable[[str], str | None]
) -> dict[str, str]:
    """Every file that a session started in `project` holds from its first turn, and the file that names it.

    `config` is the user's configuration folder, `home` what `~` means. `agents` counts AGENTS.md as read
    without an import: newer versions do so where there is no CLAUDE.md. `read` gives the text of a resolved
    path, None where there is no file. Paths are resolved; a file that no other names stands for itself.
    """
    found: dict[str, str] = {}
    wave = {os.path.realpath(path): path for path in _roots(project, config, agents)}
    for _ in range(HOPS + 1):
        texts = {path: read(path) for path in wave if path not in found}
        found |= {path: wave[path] for path, text in texts.items() if text is not None}
        named: dict[str, str] = {}
        for path, text in texts.items():
            for name in imports(text or ""):
                named.setdefault(_resolved(name, path, home), path)
        wave = named
    return found


def _roots(project: str, config: str, agents: bool) -> Iterator[str]:
    names = ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"]
    names += ["AGENTS.md", ".claude/AGENTS.md"] if agents else []
    yield os.path.join(config, "CLAUDE.md")
    yield from _rules(config)
    folder = project
    while True:
        yield from (os.path.join(folder, name) for name in names)
        yield from _rules(os.path.join(folder, ".claude"))
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _rules(config: str) -> Iterator[str]:
    for folder, _, names in os.walk(os.path.join(config, "rules")):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".md"))


def _resolved(name: str, importer: str, home: str) -> str:
    path = os.path.join(home, name[2:]) if name.startswith("~/") else name
    path = os.path.join(os.path.dirname(importer), path)
    bare = path.partition("#")[0]
    return os.path.realpath(path if os.path.exists(path) else bare)


def _uncommented(line: str, comment: bool) -> tuple[str, bool]:
    """The line without what stands in `<!-- -->`, and whether a comment is still open at its end."""
    kept: list[str] = []
    at = 0
    while True:
        mark = "-->" if comment else "<!--"
        cut = line.find(mark, at)
        if not comment:
            kept.append(line[at : cut if cut >= 0 else len(line)])
        if cut < 0:
            return " ".join(kept), comment
        at, comment = cut + len(mark), not comment
