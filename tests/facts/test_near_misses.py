"""What looks like a fact and does not parse: the place and the cause of the first thing that is wrong."""

from __future__ import annotations

import pytest

from apm_hooks.facts.grammar import parse_facts, parse_line
from apm_hooks.facts.model import Fact, Miss

MARK = "⟪⟫"
"""Stands right before the place that is told."""


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("⟪⟫* **`a`** · One. **So:** x.", "begins with *"),
        ("⟪⟫+ **`a`** · One. **So:** x.", "begins with +"),
        ("⟪⟫• **`a`** · One. **So:** x.", "begins with •"),
        ("⟪⟫– **`a`** · One. **So:** x.", "begins with –"),
        ("⟪⟫1. **`a`** · One. **So:** x.", "begins with 1."),
        ("⟪⟫**`a`** · One. **So:** x.", "does not begin with a hyphen"),
        ("⟪⟫ - **`a`** · One. **So:** x.", "indented by 1 blank"),
        ("⟪⟫   - **`a`** · One. **So:** x.", "indented by 3 blanks"),
        ("⟪⟫\u00a0- **`a`** · One. **So:** x.", "begins with a blank that is no plain one"),
        ("⟪⟫\ufeff- **`a`** · One.", "nobody sees (U+FEFF)"),
        ("- ⟪⟫\u200b**`a`** · One.", "nobody sees (U+200B)"),
        ("- **⟪⟫\u2060`a`** · One. and more", "nobody sees (U+2060)"),
        ("⟪⟫> - **`a`** · One. **So:** x.", "quotation"),
        ("-⟪⟫  **`a`** · One. **So:** x.", "not one blank"),
        ("-⟪⟫**`a`** · One. **So:** x.", "not one blank"),
        ("-⟪⟫\u00a0**`a`** · One. **So:** x.", "not one blank"),
        ("- ⟪⟫[ ] **`a`** · One. **So:** x.", "check box"),
        ("- ⟪⟫~~**`a`** · One. **So:** x.~~", "struck out"),
        ("- ⟪⟫`a` · One. **So:** x.", "not in bold and code"),
        ("- ⟪⟫**a** · One. **So:** x.", "not in bold and code"),
        ("- ⟪⟫__`a`__ · One. **So:** x.", "not in bold and code"),
        ("- ⟪⟫`**a**` · One. **So:** x.", "not in bold and code"),
        ("- ⟪⟫*`a`* · One. **So:** x.", "not in bold and code"),
        ("- ⟪⟫a · One. **So:** x.", "not in bold and code"),
        ("- ⟪⟫One fact without a name. **So:** x.", "no slug"),
        ("- ⟪⟫[measured] One. n=4", "no slug"),
        ("- **`⟪⟫`** · One. **So:** x.", "empty slug"),
        ("- **`⟪⟫a b`** · One. **So:** x.", "white space"),
        ("- **`⟪⟫a/b`** · One. **So:** x.", "signs that no slug has"),
        ("- **`⟪⟫<slug>`** · [will] One. **So:** x.", "signs that no slug has"),
        ("- **`a`**⟪⟫ One. **So:** x.", "no middle dot"),
        ("- **`a`**⟪⟫", "no middle dot"),
        ("- **`a`** ⟪⟫- One. **So:** x.", "has - (U+002D)"),
        ("- **`a`** ⟪⟫– One. **So:** x.", "has – (U+2013)"),
        ("- **`a`** ⟪⟫— One. **So:** x.", "has — (U+2014)"),
        ("- **`a`** ⟪⟫• One. **So:** x.", "has • (U+2022)"),
        ("- **`a`** ⟪⟫∙ One. **So:** x.", "has ∙ (U+2219)"),
        ("- **`a`** ⟪⟫⋅ One. **So:** x.", "has ⋅ (U+22C5)"),
        ("- **`a`** ⟪⟫・ One. **So:** x.", "has ・ (U+30FB)"),
        ("- **`a`**⟪⟫: One. **So:** x.", "has : (U+003A)"),
        ("- **`a`** ⟪⟫. One. **So:** x.", "has . (U+002E)"),
        ("- **`a`**⟪⟫  · One. **So:** x.", "not one blank on each side"),
        ("- **`a`**⟪⟫ ·  One. **So:** x.", "not one blank on each side"),
        ("- **`a`**⟪⟫· One. **So:** x.", "not one blank on each side"),
        ("- **`a`** ⟪⟫·", "no fact behind its slug"),
        ("- **`a`** · ⟪⟫· One. **So:** x.", "second middle dot"),
        ("- **`a`** · [⟪⟫Measured] One. **So:** x.", "has [Measured] where [measured] belongs"),
        ("- **`a`** · [⟪⟫WILL] One. **So:** x.", "has [WILL] where [will] belongs"),
        ("- **`a`** · [⟪⟫ will ] One. **So:** x.", "where [will] belongs"),
        ("- **`a`** · ⟪⟫[] One. **So:** x.", "empty provenance"),
        ("- **`a`** · [will]⟪⟫One. **So:** x.", "no blank behind its provenance"),
        ("- **`a`** · ⟪⟫（will） One. So: x.", "other brackets"),
        ("- **`a`** · ⟪⟫**So:** x.", "no fact before what it changes"),
        ("- **`a`** · One. ⟪⟫So: x.", "has So: where **So:** belongs"),
        ("- **`a`** · One. ⟪⟫**so:** x.", "has **so:** where **So:** belongs"),
        ("- **`a`** · One. ⟪⟫**So**: x.", "has **So**: where **So:** belongs"),
        ("- **`a`** · One. ⟪⟫**So：** x.", "where **So:** belongs"),
        ("- **`a`** · One. ⟪⟫__So:__ x.", "where **So:** belongs"),
        ("- **`a`** · One. ⟪⟫*So:* x.", "where **So:** belongs"),
        ("- **`a`** · One. ⟪⟫**so:** x. **So:** y.", "where **So:** belongs"),
        ("- **`a`** · One. **So:** x. · [note](notes/a.md)⟪⟫.", "goes on behind its note link"),
        ("- **`a`** · One. **So:** x. · [note](notes/a.md) ⟪⟫and more", "goes on behind its note link"),
        ("- **`a`** · One. · [note](notes/a.md)⟪⟫. **So:** x.", "goes on behind its note link"),
        ("- **`a`** · One. **So:** x. · ⟪⟫[Note](notes/a.md)", "has [Note] where [note] belongs"),
        ("- **`a`** · One. **So:** x. · ⟪⟫[notes](notes/a.md)", "where [note] belongs"),
        ("- **`a`** · One. **So:** x⟪⟫. [note](notes/a.md)", "no middle dot before its note link"),
        ("- **`a`** · One. **So:** x. ⟪⟫- [note](notes/a.md)", "no middle dot before its note link"),
        ("- **`a`** · One. **So:** x. ⟪⟫• [note](notes/a.md)", "no middle dot before its note link"),
        ("- **`a`** · One. **So:** x. · ⟪⟫[note](notes/a.md", "not closed"),
    ],
)
def test_the_first_thing_that_is_wrong_is_told_where_it_stands(line: str, cause: str) -> None:
    miss = parse_line(line.replace(MARK, ""))
    assert isinstance(miss, Miss), miss
    assert cause in miss.sentence
    assert miss.column == line.index(MARK) + 1


def test_what_a_near_miss_names_is_known() -> None:
    """A reference to it, and its note, are not told as well."""
    (miss,) = parse_facts("* **`a`** · One. **So:** x. · [note](notes/a.md)\n").misses
    assert (miss.slug, miss.note) == ("a", "notes/a.md")


def test_a_configured_name_is_known_to_near_misses_too() -> None:
    words = ("will", "Ann")
    assert isinstance(parse_line("- **`a`** · [Ann] One. **So:** x.", 1, words), Fact)
    miss = parse_line("- **`a`** · [ann] One. **So:** x.", 1, words)
    assert isinstance(miss, Miss)
    assert "where [Ann] belongs" in miss.sentence


SIGNS = " \t·•-*_`[]().:#>~xX研\u200b\ufeff\u00a0|\\<!"


@pytest.mark.parametrize(
    "line",
    [
        "- **`cold-start`** · [measured] It takes 2 s (n=40). **So:** warm up. · [note](notes/cold-start.md)",
        "- **`cold-start`** · [will] We warm up. **So:** wait.",
        "- **`冷`** · 先预热。 **So:** 等。",
    ],
)
def test_no_single_slip_of_the_keys_makes_a_fact_vanish(line: str) -> None:
    for at in range(len(line) + 1):
        slips = [line[:at] + line[at + 1 :]]
        slips += [line[:at] + sign + line[at + skip :] for sign in SIGNS for skip in (0, 1)]
        for slip in slips:
            # A tab before all makes it an example.
            assert slip.startswith("\t") or parse_line(slip) is not None, slip
