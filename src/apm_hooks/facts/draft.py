"""An existing notes file → the draft of an index: one line per fact, what is missing marked, nothing guessed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from apm_hooks.facts.grammar import parse_line, render
from apm_hooks.facts.model import PROVENANCES, Fact
from apm_hooks.facts.parts import DOT, SO_BARE, SO_LIKE, slug_key, without_code
from apm_hooks.fences import find_fences

MISSING = "?"
"""Stands where a `So:` was not said: no word, so that the linter asks for it."""

HEAD = """\
# Facts

One line per fact, read in full at every start. The argument behind one stands in notes/, read only when it is in play.

```
- **`slug`** · [measured] The fact, with n=40 and 2026-01-31. **So:** what it changes. · [note](notes/slug.md)
```
"""

_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(?=\S)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_WORD = re.compile(r"[^\W_]+")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_SLUG_WORDS, _SLUG_CHARS, _WIDE_CHARS = 5, 40, 12


@dataclass(frozen=True, slots=True)
class Draft:
    """The text of the index, how many facts it has, those of them that lack a `So:`, and the lines of the notes that no
    fact was made of (code, tables, front matter)."""

    text: str
    facts: int
    missing: int
    left: tuple[int, ...]


def draft(notes: str) -> Draft:
    """Each item and paragraph of a notes file as a fact. A `So:` is kept where it is written, and never made up."""
    out: list[str] = []
    taken: dict[str, int] = {}
    facts = missing = 0
    left: list[int] = []
    for kind, line, text in _pieces(notes):
        if kind == "left":
            left.append(line)
        elif kind == "heading":
            out += ["", f"## {text}", ""]
        else:
            fact = _fact(text, taken)
            taken.setdefault(slug_key(fact.slug), 2)
            facts += 1
            missing += fact.consequence == MISSING
            out.append(render(fact))
    body = "\n".join(out).strip("\n")
    return Draft(f"{HEAD}\n{body}\n" if body else HEAD, facts, missing, tuple(left))


def _pieces(notes: str) -> Iterator[tuple[str, int, str]]:
    """The headings, items and paragraphs of a text with their lines, each as one line, and the lines left out."""
    lines = notes.split("\n")
    left = _left_out(notes, lines)
    held: list[str] = []
    began = 0
    titles = 0
    for number, line in enumerate([*lines, ""], 1):
        heading = _HEADING.match(line)
        bullet = _BULLET.match(line)
        ends = number in left or not line.strip() or heading is not None or bullet is not None
        if held and ends:
            yield "fact", began, " ".join(" ".join(held).split())
            held = []
        if number in left:
            yield "left", number, line
        elif heading is not None:
            titles += 1
            # The title of the file is no section.
            if heading[2].strip() and not (titles == 1 and len(heading[1]) == 1):
                yield "heading", number, " ".join(heading[2].split())
        elif line.strip():
            if not held:
                began = number
            held.append(line[bullet.end() :] if bullet else line)


def _left_out(notes: str, lines: list[str]) -> frozenset[int]:
    """The lines of fences, tables and front matter: no one line says what they say."""
    left: set[int] = set()
    for fence in find_fences(notes):
        first = notes.count("\n", 0, fence.start) + 1
        left.update(range(first, first + len(notes[fence.start : fence.stop].rstrip("\n").split("\n"))))
    if lines[0].rstrip() == "---":
        end = next((number for number, line in enumerate(lines[1:], 2) if line.rstrip() in ("---", "...")), 0)
        left.update(range(1, end + 1))
    left.update(number for number, line in enumerate(lines, 1) if line.lstrip().startswith(("|", "<!--"))
                or re.fullmatch(r"[ \t]*(?:[-*_=][ \t]*){3,}", line))  # fmt: skip
    return frozenset(left)


def _fact(text: str, taken: dict[str, int]) -> Fact:
    read = parse_line(f"- {text}")
    if isinstance(read, Fact) and slug_key(read.slug) not in taken:
        said = any(map(str.isalnum, read.consequence or ""))
        return read if said else replace(read, consequence=MISSING)
    said_text, consequence = _split(text)
    plain = Fact(0, _slug(said_text, taken), "", said_text, consequence)
    read = parse_line(render(plain))
    # A provenance that the notes name is one; any other bracket is a part of the fact.
    if isinstance(read, Fact) and read.provenance in ("", *PROVENANCES) and read.consequence == consequence:
        return read
    for strip in (_plain, _bare):
        plain = replace(plain, text=strip(said_text), consequence=strip(consequence))
        read = parse_line(render(plain))
        if isinstance(read, Fact) and (read.text, read.consequence) == (plain.text, plain.consequence):
            break
    return plain


def _split(text: str) -> tuple[str, str]:
    """The fact and its `So:` as they are written; without one, the mark for what is missing."""
    masked = without_code(text)
    marks = sorted((match.start(), match.end()) for form in (SO_LIKE, SO_BARE) for match in form.finditer(masked))
    if not marks or not text[: marks[0][0]].strip():
        return text.strip(), MISSING
    consequence = text[marks[0][1] :].strip()
    return text[: marks[0][0]].strip(), consequence if any(map(str.isalnum, consequence)) else MISSING


def _plain(text: str) -> str:
    """A text without what the grammar would take for its own."""
    text = text.lstrip(f"{DOT} \t")
    text = f"\\{text}" if text.startswith("[") else text
    text = re.sub(r"\[[ \t]*(notes?)[ \t]*\][ \t]*\(", r"[see \1](", text, flags=re.IGNORECASE)
    for form in (SO_LIKE, SO_BARE):
        masked = without_code(text)
        for match in reversed(list(form.finditer(masked))):
            text = f"{text[: match.start()]}so:{text[match.end() :]}"
    return text.strip() or MISSING


def _bare(text: str) -> str:
    """A text without any sign that the grammar could take for its own."""
    return " ".join(re.sub(r"[*_\[\]`·:：\\]", " ", text).split()) or MISSING


def _slug(text: str, taken: dict[str, int]) -> str:
    """A slug of the first words; `taken` holds the slugs that there are, each with the number to try next."""
    words = _WORD.findall(_LINK.sub(r"\1", text).casefold())
    slug = "-".join(words[:_SLUG_WORDS])
    if not slug.isascii():
        slug = "-".join(word[:_WIDE_CHARS] for word in words[:_SLUG_WORDS])
    slug = slug[:_SLUG_CHARS].strip("-") or "fact"
    name = slug
    while slug_key(name) in taken:
        number = taken[slug_key(slug)]
        taken[slug_key(slug)] = number + 1
        name = f"{slug}-{number}"
    return name
