"""Lines that look like facts and are none: which those are, and what keeps each from being one.

A line looks like a fact where it begins as one does, with a slug in bold and code behind a bullet, or where a bullet
carries enough else of a fact: a `So:`, a known provenance, a note link.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache

from apm_hooks.facts.model import Miss
from apm_hooks.facts.parts import (
    DOT,
    NOTE_LIKE,
    SO,
    SO_BARE,
    SO_LIKE,
    is_slug,
    note_link,
    note_path,
    without_code,
)
from apm_hooks.names import without_invisible

_START = re.compile(
    r"(?P<indent>[ \u00a0\u3000]{0,3})(?P<quote>(?:>[ ]?)*)"
    r"(?P<bullet>(?:[-+•‣◦▪·–—−]|[0-9]{1,9}[.)])(?=[\s`*_~\[])|\*(?=\s))?(?P<gap>[^\S\n]*)"
    r"(?P<box>\[[ xX]\][^\S\n]+)?(?P<strike>~~)?"
)
_HEADS = (
    ("exact", re.compile(r"\*\*`(?P<slug>[^`]*)`\*\*")),
    ("bold", re.compile(r"(?:\*{1,3}|_{1,3})`+(?P<slug>[^`]*)`+(?:\*{1,3}|_{1,3})")),
    ("bold", re.compile(r"`\*\*(?P<slug>[^`*]*)\*\*`")),
    ("code", re.compile(r"`(?P<slug>[^`]+)`")),
    ("bold-only", re.compile(r"(?:\*\*|__)(?P<slug>[^*_`]+)(?:\*\*|__)")),
    ("plain", re.compile(r"(?P<slug>[^\s`*\[\]()·]+)(?=[^\S\n]+·[^\S\n])")),
)
_NAMED = re.compile(r"[^\n]{0,8}?(?:\*\*|__)`[^`\n]*`(?:\*\*|__)[^\S\n]*·")
"""A slug and its middle dot, whatever stands in the place of the bullet."""
_BROKEN = re.compile(r"[^\S\n]*(?=\S*`)(?=\S*[*_])[^\s·]{2,120}[^\S\n]*·[^\S\n]")
"""A first word with signs of code and of bold, and a middle dot behind it."""
_DOTS = "·•∙⋅・‧･｡᛫●○◦▪*|:：,;~-–—−.>→"
_SEPARATOR = re.compile(rf"(?P<before>[^\S\n]*)(?P<sign>[{re.escape(_DOTS)}]{{1,3}})?(?P<after>[^\S\n]*)")
_BRACKET = re.compile(r"[\[［【(（{](?P<word>[^\]\[］】)）}]{0,60})[\]］】)）}](?!\()")
_LINK = re.compile(r"\]\(([^)\s]*)")

CANONICAL = "Write: - **`slug`** · [measured] the fact. **So:** what it changes. · [note](notes/slug.md)"


def looks_like(line: str, words: Collection[str]) -> bool:
    """Whether a line outside of fences, not indented as an example, looks like a fact."""
    if "`" not in line and "*" not in line and DOT not in line and "[" not in line:
        return False
    start = _start(line)
    if line.startswith("\t", start.end("indent")) or line.startswith("    "):
        return False
    masked = without_code(line)
    kind, _, end = _head(line, start.end())
    named = kind in ("exact", "bold")
    if start["bullet"] and (named or _BROKEN.match(line, start.end())):
        return True
    if _NAMED.match(line) or (named and line[end:].lstrip().startswith(DOT)):
        return True
    so = SO_LIKE.search(masked, end) is not None
    bracket = _known_bracket(line, end, words)
    note = any(note_path(target)[0] for target in _LINK.findall(masked)) and NOTE_LIKE.search(masked) is not None
    if not start["bullet"]:
        return (named and (so or bracket)) or (so and note)
    if not kind or so or note or bracket:
        return so or note or bracket
    dot = line[end:].lstrip().startswith(DOT)
    return dot and (kind in ("code", "bold-only") or SO_BARE.search(masked, end) is not None)


def miss_of(line: str, number: int, words: Collection[str]) -> Miss:
    """The first thing that keeps a line which looks like a fact from being one."""
    start = _start(line)
    kind, slug, end = _head(line, start.end())
    column, sentence, remedy = (
        _at_start(start) or _at_head(line, start.end(), kind, slug) or _behind_head(line, end, words)
    )
    link = note_link(without_code(line), line.rstrip().rstrip("."))
    loose = next((target for target in _LINK.findall(without_code(line)) if note_path(target)[0]), "")
    return Miss(number, column + 1, sentence, remedy, slug if is_slug(slug) else "", link[1] if link else loose)


def hidden_in(line: str) -> tuple[int, str] | None:
    """The first character that nobody sees, as (place from 0, itself)."""
    if line.isascii():
        return None
    seen = without_invisible(line)
    if len(seen) == len(line):
        return None
    at = next((at for at, (was, now) in enumerate(zip(line, seen, strict=False)) if was != now), len(seen))
    return at, line[at]


def unseen(line: str, number: int, at: int, char: str) -> Miss:
    """A line that would look like a fact but for characters that nobody sees."""
    sentence = f"holds a character that nobody sees (U+{ord(char):04X})"
    start = next(_START.finditer(without_invisible(line)))
    slug = _head(without_invisible(line), start.end())[1]
    return Miss(number, at + 1, sentence, "Take it out.", slug if is_slug(slug) else "")


def _start(line: str) -> re.Match[str]:
    """What stands before a line's head; it matches any line, with nothing at the least."""
    return next(_START.finditer(line))


_Problem = tuple[int, str, str]
"""Where (from 0), what, what to do."""


def _head(line: str, at: int) -> tuple[str, str, int]:
    """The kind of a line's head, its slug, and where it ends; an empty kind for none."""
    for kind, pattern in _HEADS:
        found = pattern.match(line, at)
        if found is not None:
            return kind, found["slug"], found.end()
    return "", "", at


@lru_cache(maxsize=8)
def _folded(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word.casefold() for word in words)


def _known_bracket(line: str, at: int, words: Collection[str]) -> bool:
    gap = _SEPARATOR.match(line, at)
    found = _BRACKET.match(line, gap.end() if gap else at)
    return found is not None and found["word"].strip().casefold() in _folded(tuple(words))


def _at_start(start: re.Match[str]) -> _Problem | None:
    """What is wrong before the slug."""
    if start["indent"]:
        if start["indent"].strip(" "):
            return 0, "begins with a blank that is no plain one", "Begin it at the line's start."
        blanks = len(start["indent"])
        return 0, f"is indented by {blanks} blank{'s' * (blanks != 1)}", "Begin it at the line's start."
    if start["quote"]:
        return 0, "stands in a quotation", "Take the > away, or put it in a fence if it is an example."
    if not start["bullet"]:
        return start.end("quote"), "does not begin with a hyphen", "Begin it with a hyphen and a blank."
    if start["bullet"] != "-":
        return start.start("bullet"), f"begins with {start['bullet']} where a hyphen belongs", "Begin it with a hyphen."
    if start["gap"] != " ":
        return start.start("gap"), "has not one blank behind its hyphen", "Put one blank there."
    if start["box"]:
        return start.start("box"), "has a check box before its slug", "Take the box out: a fact is no task."
    if start["strike"]:
        return start.start("strike"), "is struck out", "Cut it with: apm-hooks facts cut SLUG"
    return None


def _at_head(line: str, at: int, kind: str, slug: str) -> _Problem | None:
    """What is wrong with the slug itself."""
    if not kind:
        return at, "has no slug", CANONICAL
    if kind != "exact":
        return at, "has a slug that is not in bold and code", f"Write it as **`{slug.strip() or 'slug'}`**."
    place = at + 3
    if not slug.strip():
        return place, "has an empty slug", CANONICAL
    if not is_slug(slug):
        why = "white space" if any(char.isspace() for char in slug) else "signs that no slug has, or is too long"
        return place, f"has a slug with {why}", "Use letters, digits and hyphens."
    return None


def _behind_head(line: str, at: int, words: Collection[str]) -> _Problem:
    """What is wrong behind a slug that is right."""
    if not line.startswith(f" {DOT} ", at) or line[at + 3 : at + 4].isspace() or at + 3 >= len(line.rstrip()):
        return _separator(line, at)
    at += 3
    problem, at = _provenance(line, at, words)
    if problem is not None:
        return problem
    masked = without_code(line)
    end = len(line.rstrip())
    link = note_link(masked, line.rstrip())
    if link is not None:
        end = link[0] - 1
    so = masked.find(SO, at, end)
    others = [*SO_LIKE.finditer(masked, at, end), *(SO_BARE.finditer(masked, at, end) if so < 0 else ())]
    if others:
        first = min(others, key=lambda match: match.start())
        if so < 0 or first.start() < so:
            return first.start(), f"has {first[0].strip()} where {SO} belongs", f"Write it as {SO}, in bold."
    stray = NOTE_LIKE.search(masked, at, end)
    if stray is not None:
        return _note(line, masked, stray)
    text = line[at : so if so >= 0 else end]
    if text.strip().startswith(DOT):
        return at, "has a second middle dot before the fact", "Take it out."
    return at, "has no fact before what it changes", CANONICAL


def _separator(line: str, at: int) -> _Problem:
    remedy = f"Put a middle dot there ({DOT}, U+00B7), with one blank on each side."
    found = _SEPARATOR.match(line, at)
    sign = found["sign"] if found else None
    if not sign or found is None:
        return at, "has no middle dot behind its slug", remedy
    place = found.start("sign")
    if sign.startswith(DOT):
        if line[found.end() :].strip() == "" or sign != DOT:
            return place, "has no fact behind its slug", CANONICAL
        return at, "has not one blank on each side of its middle dot", remedy
    return place, f"has {sign[0]} (U+{ord(sign[0]):04X}) where a middle dot belongs", remedy


def _provenance(line: str, at: int, words: Collection[str]) -> tuple[_Problem | None, int]:
    """What is wrong with the provenance, and where the fact begins."""
    found = _BRACKET.match(line, at)
    if found is None or line.startswith("[[", at):
        return None, at
    inner = found["word"]
    if line[at] == "[" and line[found.end() - 1] == "]":
        if inner in words:
            if line[found.end() : found.end() + 1] == " ":
                return None, found.end() + 1
            return (found.end(), "has no blank behind its provenance", "Put one blank there."), at
        right = next((word for word in words if word.casefold() == inner.strip().casefold()), "")
        if right:
            return (at + 1, f"has [{inner}] where [{right}] belongs", f"Write it as [{right}]."), at
        if not inner.strip():
            return (at, "has an empty provenance", "Name one, or take the brackets out."), at
        return (found.end(), "has no blank behind its provenance", "Put one blank there."), at
    right = next((word for word in words if word.casefold() == inner.strip().casefold()), "")
    if right:
        return (at, "has its provenance in other brackets than [ and ]", f"Write it as [{right}]."), at
    return None, at


def _note(line: str, masked: str, stray: re.Match[str]) -> _Problem:
    """What is wrong with a note link that is not the end of its line."""
    close = masked.find(")", stray.end())
    before = line[: stray.start()]
    if stray[0] != "[note](":
        return stray.start(), f"has {stray[0][:-1]} where [note] belongs", "Write the link as [note](notes/slug.md)."
    if close < 0:
        return stray.start(), "has a note link that is not closed", "Close it with a round bracket."
    if line[close + 1 :].strip():
        rest = line[close + 1 :]
        place = close + 1 + len(rest) - len(rest.lstrip())
        return place, "goes on behind its note link", "Let the note link be the end of the line."
    if not before.endswith(f" {DOT} "):
        place = max(len(before.rstrip()) - 1, 0)
        return place, "has no middle dot before its note link", f"Put a blank, {DOT} and a blank between them."
    return stray.start(), "has a note link whose target cannot be read", "Write it as [note](notes/slug.md)."
