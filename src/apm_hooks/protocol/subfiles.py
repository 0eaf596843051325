"""Which files under `conventions/` a memory file refers to (protocol, section 5, step 4): pure text."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import unquote

from apm_hooks.records import Route

FOLDER = "conventions"
_MOST = 200


_ENDS = r"\s`\"'()\[\]<>|,;:，、；：。！？（）《》「」"


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    # A link's target, which may hold blanks within <>, and a bare path. Each part is bounded: no back-tracking.
    link = r"\[([^\[\]\n]{0,200})\]\(\s{0,9}(?:<([^<>\n]{1,500})>|([^\s()<>]{1,500}))"
    bare = rf"(?:^|[{_ENDS}])((?:[^{_ENDS}]{{1,200}}/)?conventions/[^{_ENDS}]{{1,300}})"
    return re.compile(link), re.compile(bare, re.MULTILINE)


def references(text: str, directory: str) -> tuple[tuple[str, str], ...]:
    """The sub-files that `text` refers to by link or path, in order, each once: (path relative to the scope's
    directory, words that say what it is about). `directory` is the scope's own, relative to the workspace."""
    link, bare = _patterns()
    seen = [(match.start(), unquote(match[2] or match[3]), match[1]) for match in link.finditer(text)]
    plain = link.sub(lambda match: " " * len(match[0]), text)
    for match in bare.finditer(plain):
        line = plain[plain.rfind("\n", 0, match.start(1)) + 1 : match.start(1)]
        seen.append((match.start(1), match[1].rstrip(".!?"), line[-200:]))
    found: dict[str, str] = {}
    for _, name, about in sorted(seen):
        path = _inside(name, directory)
        if path and len(found) < _MOST:
            found.setdefault(path, f"{about} {_stem(path)}")
    return tuple(found.items())


def candidates(text: str, directory: str, routes: Sequence[Route]) -> tuple[Route, ...]:
    """The referred sub-files as rows that a message can be matched with; the index's own rows say more of them."""
    rows = {route.path: route for route in routes if route.sub_file and route.path and not route.deprecated}
    dropped = {route.path for route in routes if route.sub_file and route.deprecated} - set(rows)
    made = []
    for path, about in references(text, directory):
        if path in dropped:
            continue
        scenarios = (*(rows[path].scenarios if path in rows else ()), about)
        made.append(Route(scenarios, path, 2, sub_file=True))
    return tuple(made)


def _inside(path: str, directory: str) -> str:
    """`path` relative to the scope's directory if it names a file under its `conventions/`, else empty."""
    plain = path.partition("#")[0]
    if "\\" in plain or "\0" in plain or plain.startswith(("/", "~")):
        return ""
    name = posixpath.basename(directory)
    for prefix in (f"{directory}/", f"{name}/", "./"):
        plain = plain.removeprefix(prefix)
    parts = plain.split("/")
    if len(parts) < 2 or parts[0] != FOLDER or any(part in ("", ".", "..") for part in parts):
        return ""
    return plain


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]
