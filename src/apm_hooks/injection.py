"""Fragments → one text for the host: labelled, fenced, with invisible characters shown.

Content is data. It cannot close its own fence, because the fence's tag is derived from the content and derived anew
while any content holds it (protocol, section 7); it cannot supply labels, because those stand in the fence; and what
a reader would not see is spelt out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from apm_hooks import texts
from apm_hooks.records import Fragment, Scope

_TAG_CHARS = 8

# Joiners shape real words (Persian, Indic scripts) and real emoji; anywhere else they hide.
_JOINERS = "\u200c\u200d"


@lru_cache(maxsize=1)
def _hidden() -> re.Pattern[str]:
    # Controls but tab and line feed, soft hyphen, format and bidirectional characters, fillers, separators,
    # interlinear marks, surrogates, private use, noncharacters, tags and the supplement of variation selectors.
    return re.compile(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
        "\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
        "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
    )


def show_invisible(text: str) -> str:
    """`text` with control, bidirectional and other invisible characters written as `<U+202E>`.

    Kept: line feed, tab, variation selectors 1-16, and a joiner between two visible characters that it can join.
    """

    def spell(match: re.Match[str]) -> str:
        char = match.group()
        if char in _JOINERS and _joins(text, match.start()):
            return char
        return f"<U+{ord(char):04X}>"

    return _hidden().sub(spell, text)


def _joins(text: str, at: int) -> bool:
    """True for a joiner between two characters of scripts that use it, or between two pictures."""
    if not 0 < at < len(text) - 1:
        return False
    return all(_joinable(char) and not _hidden().match(char) for char in (text[at - 1], text[at + 1]))


def _joinable(char: str) -> bool:
    return "\u0600" <= char <= "\u109f" or "\u1780" <= char <= "\u18af" or "\u2190" <= char <= "\u2bff" \
        or char == "\ufe0f" or "\U0001f000" <= char <= "\U0001faff"  # fmt: skip


def fence_tag(contents: Sequence[str]) -> str:
    """A tag for the fences around `contents` that none of them holds; the same contents give the same tag."""
    joined = "\0".join(contents)
    seed = joined.encode("utf-8", "surrogatepass")
    while True:
        seed = blake2b(seed, digest_size=16).hexdigest().encode()
        tag = seed[:_TAG_CHARS].decode()
        if tag not in joined:
            return tag


def _attribute(value: str) -> str:
    shown = show_invisible(value)
    for char, name in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;"), ("\n", " "), ("\t", " ")):
        shown = shown.replace(char, name)
    return shown


def render(scope: Scope | None, fragments: Sequence[Fragment]) -> str:
    """The text of an injection: one sentence of ours, then each fragment in order.

    A fragment with a path is fenced and labelled with layer, path and digest; one without is a line of our own.
    Without any file the sentence is left out; without fragments the text is empty. Its content is expected to have
    passed `show_invisible`.
    """
    files = [fragment for fragment in fragments if fragment.path]
    tag = fence_tag([fragment.text for fragment in files])
    blocks = [texts.INJECTION_HEAD.format(scope=show_invisible(str(scope)))] if files else []
    for fragment in fragments:
        if not fragment.path:
            blocks.append(fragment.text)
            continue
        label = (
            f'layer="{_attribute(fragment.layer)}" path="{_attribute(fragment.path)}" '
            f'sha256="{_attribute(fragment.digest[:12])}"'
        )
        blocks.append(f"<apm-memory-{tag} {label}>\n{fragment.text.rstrip()}\n</apm-memory-{tag}>")
    return "\n".join(blocks)
