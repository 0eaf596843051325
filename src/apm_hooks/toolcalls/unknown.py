"""Tools of an unknown name: whatever reads like a path could be read, searched and changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from apm_hooks.access import Access, AccessKind
from apm_hooks.toolcalls.arguments import Arguments, Leaf, fold, folded, leaves, names_a_path
from apm_hooks.toolcalls.commands import COMMAND, run, run_all
from apm_hooks.toolcalls.gathering import TEXT_CHARS, Gathering
from apm_hooks.toolcalls.paths import Why, begins_like_path, looks_like_path
from apm_hooks.toolcalls.patterns import has_wildcard

LOOKS = (AccessKind.READ,)
LOOKS_AND_CHANGES = (AccessKind.READ, AccessKind.WRITE)

CODES = folded("code script source source_code program expression python javascript function sql snippet lua pipeline")
NO_PATHS = folded(
    "description explanation instruction instructions justification reason title summary thought result message answer"
    " question todos"
)
_TARGETS = folded("sessionTarget sessionKey session")
_RUNS = re.compile(
    r"exec|run|eval|repl|interpret|python|node|shell|terminal|script|sandbox|notebook|jupyter|kernel|sql"
)
_SEARCHES = re.compile(r"search|retriev")
_RECALLS = re.compile(
    r"history|recall|memor|conversation|transcript|(?:list|read|get|find|show|load)\w*session|sessions?(?:list|log)"
)
_SESSIONS = re.compile(r"history|conversation|transcript|session")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_OUTSIDE = folded(
    "web internet google brave bing duckduckgo tavily perplexity exa arxiv wikipedia github gitlab npm pypi maps news"
    " jira linear notion confluence slack gmail calendar package packages browser"
)
_LIST = re.compile(r"[\s,;]+")
_QUOTES = "'\"`()[]<>"


def unknown(name: str, given: Mapping[Any, Any], found: Gathering) -> None:
    """Judges a tool by its arguments alone (protocol, section 8).

    A name that speaks of a search, with no argument for a path, is a search of everything; one that speaks of memory or
    of conversations is so with any argument.
    """
    found.known = False
    plain = fold(name)
    pathless = True
    asked: list[str] = []
    arguments = Arguments(given)
    if arguments.has(f"{COMMAND} commands"):
        run_all(arguments, found)
    for leaf in leaves(given):
        if not isinstance(leaf, Leaf):
            found.doubt(Why.TOO_DEEP if leaf.deep else Why.NOT_TEXT, leaf.shown)
            continue
        pathless = pathless and not (names_a_path(leaf.name) and leaf.text)
        asked.append(leaf.text)
        text_of(leaf, found, LOOKS_AND_CHANGES)
        if leaf.name in folded(f"{COMMAND} commands") and leaf.text.strip():
            run(leaf.text, found, found.base.cwd)
        elif leaf.name in CODES and leaf.text.strip():
            found.doubt(Why.INLINE_CODE, leaf.text, opaque="browser" in plain or not _RUNS.search(plain))
        if _into_main(plain, leaf):
            found.add(Access(AccessKind.SESSION_SEARCH, "", recursive=True, word=leaf.text[:1000]))
        if found.full:
            break
    outside = not _OUTSIDE.isdisjoint(word.lower() for word in _WORDS.findall(name))
    # What recalls does so whatever path it is given besides; a search may well start from one.
    if _RECALLS.search(plain) or (_SEARCHES.search(plain) and pathless and not outside):
        kind = AccessKind.SESSION_SEARCH if _SESSIONS.search(plain) else AccessKind.SEARCH
        found.add(Access(kind, "", recursive=True, word="\n".join(asked)[:1000]))


def _into_main(plain: str, leaf: Leaf) -> bool:
    """Whether a timer would speak in another conversation than in one of its own: the host's main session by default,
    for events and for waking."""
    if plain != "cron":
        return False
    text = leaf.text.strip()
    named = leaf.name in _TARGETS and text not in ("", "isolated", "current")
    return named or text == "systemEvent" or (leaf.name == fold("action") and text == "wake")


def rest(given: Mapping[Any, Any], found: Gathering, kinds: tuple[AccessKind, ...]) -> None:
    """Judges what a known tool was given beyond the arguments that are known of it: another version may take a path."""
    paths = {key: value for key, value in given.items() if not isinstance(key, str) or fold(key) not in NO_PATHS}
    for leaf in leaves(paths):
        if isinstance(leaf, Leaf):
            text_of(leaf, found, kinds)
        if found.full:
            return


def text_of(leaf: Leaf, found: Gathering, kinds: tuple[AccessKind, ...]) -> None:
    """Notes the paths that one text may be: itself, or each of a list of paths."""
    if len(leaf.text) > TEXT_CHARS:
        found.doubt(Why.TOO_MUCH, leaf.text)
        return
    named = names_a_path(leaf.name) and bool(leaf.text.strip()) and "\n" not in leaf.text
    if named or looks_like_path(leaf.text):
        _touch(leaf.text, found, kinds)
    for pieces in (_LIST.split(leaf.text), leaf.text.split(":")):
        words = list(dict.fromkeys(bare for piece in pieces if (bare := piece.strip(_QUOTES))))
        if len(words) > 1 and all(map(looks_like_path, words)) and any(map(begins_or_parts, words)):
            for word in words:
                if found.full:
                    return
                _touch(word, found, kinds)


def begins_or_parts(word: str) -> bool:
    """Whether a word of a list is a path beyond doubt, and not merely an ending as sentences have."""
    return begins_like_path(word) or "/" in word


def _touch(word: str, found: Gathering, kinds: tuple[AccessKind, ...]) -> None:
    for kind in kinds:
        found.touch(kind, word)
    # If it is a folder, all below it may be looked through.
    found.touch(AccessKind.SEARCH, word, recursive=True)
    if has_wildcard(word):
        found.match(AccessKind.SEARCH, word)
        for kind in kinds:
            found.match(kind, word)
