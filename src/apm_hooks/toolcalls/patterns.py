"""File-name patterns of search and listing tools: where they begin, how deep they go, which names they want."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WILD = re.compile(r"[*?\[]")
_BRACES = re.compile(r"\{([^{}]*)\}")
_STRANGE = re.compile(r"[\\{}()|]")
_BETWEEN = re.compile(r"[\s,]+")
_CHARS, _ALTERNATIVES, _PAIRS = 4096, 64, 16

TYPES: dict[str, str] = {
    "c": "*.[chH] *.[chH].in *.cats",
    "cpp": "*.[ChH] *.cc *.[ch]pp *.[ch]xx *.hh *.inl *.[ChH].in *.cc.in *.[ch]pp.in *.[ch]xx.in *.hh.in",
    "cs": "*.cs",
    "css": "*.css *.scss",
    "csv": "*.csv",
    "dart": "*.dart",
    "docker": "*Dockerfile*",
    "elixir": "*.ex *.eex *.exs *.heex *.leex *.livemd",
    "go": "*.go",
    "haskell": "*.hs *.lhs *.cpphs *.c2hs *.hsc",
    "html": "*.htm *.html *.ejs",
    "java": "*.java *.jsp *.jspx *.properties",
    "js": "*.js *.jsx *.vue *.cjs *.mjs",
    "json": "*.json *.sarif composer.lock",
    "jsonl": "*.jsonl",
    "kotlin": "*.kt *.kts",
    "less": "*.less",
    "log": "*.log",
    "lua": "*.lua",
    "php": "*.php *.php3 *.php4 *.php5 *.php7 *.php8 *.pht *.phtml",
    "py": "*.py *.pyi",
    "python": "*.py *.pyi",
    "r": "*.R *.r *.Rmd *.rmd *.Rnw *.rnw",
    "rust": "*.rs",
    "scala": "*.scala *.sbt",
    "sql": "*.sql *.psql",
    "svelte": "*.svelte *.svelte.ts",
    "swift": "*.swift",
    "toml": "*.toml Cargo.lock",
    "ts": "*.ts *.tsx *.cts *.mts",
    "typescript": "*.ts *.tsx *.cts *.mts",
    "vue": "*.vue",
    "xml": "*.xml *.xml.dist *.dtd *.xsl *.xslt *.xsd *.xjb *.rng *.sch *.xhtml",
    "yaml": "*.yaml *.yml",
    "zig": "*.zig",
}
"""Names of file types, as search programs know them, and every name that such a file can have. A type that stands not
here may be any file."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a pattern covers: `start` below the folder it begins in (empty: that folder), with patterns in it if `glob`;
    with `recursive` all below, of which `only` the names that match (empty: any)."""

    start: str
    glob: bool = False
    recursive: bool = False
    only: tuple[str, ...] = ()


ANYTHING = Reach("", recursive=True)


def literal(path: str) -> str:
    """The path as a pattern that matches it alone."""
    return re.sub(r"[*?\[]", r"[\g<0>]", path)


def has_wildcard(text: str) -> bool:
    """Whether a shell would take the text for a pattern."""
    return bool(_WILD.search(text))


def spread(pattern: str) -> tuple[str, ...] | None:
    """The patterns that `{a,b}` makes of one; None where they are too many, or cannot be told."""
    if len(pattern) > _CHARS or pattern.count("{") > _PAIRS:
        return None
    todo, done = [pattern], []
    while todo:
        current = todo.pop(0)
        braces = _BRACES.search(current)
        if braces is None:
            done.append(current)
            continue
        if ".." in braces[1]:
            return None
        todo += [current[: braces.start()] + choice + current[braces.end() :] for choice in braces[1].split(",")]
        if len(todo) + len(done) > _ALTERNATIVES:
            return None
    return tuple(dict.fromkeys(done))


def reaches(pattern: str, *, floating: bool = False) -> tuple[Reach, ...]:
    """What a listing pattern covers, never less than it does.

    A pattern without `/` counts at any depth, since some hosts take it so. `floating`: so does any other.
    """
    alternatives = spread(pattern)
    if alternatives is None:
        return (ANYTHING,)
    return tuple(dict.fromkeys(_reach(each, floating) for each in alternatives))


def _reach(pattern: str, floating: bool) -> Reach:
    while pattern.startswith("./"):
        pattern = pattern[2:].lstrip("/")
    if pattern.startswith("!"):
        return ANYTHING
    parts = pattern.split("/")
    strange = next((at for at, part in enumerate(parts) if _STRANGE.search(part)), None)
    if strange is not None:
        start = "/".join(parts[:strange]) or ("/" if pattern.startswith("/") and strange else "")
        return ANYTHING if floating else Reach(start, has_wildcard(start), recursive=True)
    rooted = pattern.startswith(("/", "~")) or ".." in parts
    deep = next((at for at, part in enumerate(parts) if "**" in part), None)
    if not rooted and (floating or len(parts) == 1):
        return Reach("", recursive=True, only=_names(parts[-1]))
    if deep is None:
        return Reach(pattern.rstrip("/") or "/", has_wildcard(pattern), recursive=pattern.endswith("/"))
    start = "/".join(parts[:deep]) or ("/" if rooted else "")
    return Reach(start, has_wildcard(start), recursive=True, only=_names(parts[-1]))


def _names(last: str) -> tuple[str, ...]:
    last = re.sub(r"\*{2,}", "*", last)
    return () if last in ("", "*", ".", "..") or "\0" in last else (last,)


def wanted(globs: list[str], types: list[str]) -> tuple[str, ...]:
    """The names that a search is limited to by its patterns or file types; empty where that limits nothing.

    What only excludes files limits nothing. One text may hold several patterns, apart by comma or blank.
    """
    return _by_globs(globs) or _by_types(types)


def _by_globs(globs: list[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for text in globs:
        for glob in dict.fromkeys((text, *_pieces(text))):
            if not glob or glob.startswith("!"):
                continue
            alternatives = spread(glob)
            if alternatives is None:
                return ()
            for each in alternatives:
                last = each.rpartition("/")[2]
                # A name without an ending may be a folder's, and some hosts then take all that is in it.
                if "." not in last[1:] or _STRANGE.search(last):
                    return ()
                found[re.sub(r"\*{2,}", "*", last)] = None
        if len(found) > _ALTERNATIVES:
            return ()
    return tuple(found)


def _pieces(text: str) -> list[str]:
    if "{" in text:
        return [piece for piece in text.split() if piece]
    return [piece for piece in _BETWEEN.split(text) if piece]


def _by_types(types: list[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for name in types:
        names = TYPES.get(name.strip().lower())
        if names is None:
            return ()
        found.update(dict.fromkeys(names.split()))
    return tuple(found)
