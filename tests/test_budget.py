from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from functools import lru_cache

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from apm_hooks.budget import allowance, cut_to_fit, marker, utf8_bytes, utf16_units
from apm_hooks.fences import find_fences
from apm_hooks.graphemes import boundary_after, boundary_before, is_boundary
from apm_hooks.records import LIMITS, Bound, Cut
from apm_hooks.tokens import Counter, estimate_counter, load_counter

PATH = "memory/main/attention.md"
FLAG = "\U0001f3f3\ufe0f\u200d\U0001f308"
RARE_HAN = "\U00020bb7"
MARKER = re.compile(r"\[… [0-9,]+ lines? \([0-9,]+ tokens?\) left out; whole file: memory/main/attention\.md …\]")


@lru_cache(maxsize=1)
def exact() -> Counter:
    with tempfile.TemporaryDirectory() as folder:
        return load_counter(cache_dir=f"{folder}/ranks")


def uneven(text: str) -> int:
    """A measure that is not additive: every run of letters costs, and a longer text costs more than its parts."""
    return 2 * len(text.split()) + len(text) // 7 + len(text) * len(text) // 4000


MEASURES: dict[str, Callable[[str], int]] = {
    "tokens": exact(),
    "estimate": estimate_counter(),
    "utf16": utf16_units,
    "bytes": utf8_bytes,
    "uneven": uneven,
}


def wrap(text: str) -> str:
    return f"<memory path={len(text) % 97}>\n{text}\n</memory>"


def cut(text: str, limit: int, *, unit: str = "tokens", prefer: str = "both") -> Cut | None:
    bounds = [Bound(unit, MEASURES[unit], limit)]
    return cut_to_fit(text, bounds, path=PATH, count=MEASURES["tokens"], prefer=prefer)  # type: ignore[arg-type]


def parts(shown: str) -> tuple[str, str]:
    """What stands before and after the last marker of the cut text."""
    found = list(MARKER.finditer(shown))[-1]
    return shown[: found.start()], shown[found.end() :].removeprefix("\n")


def offsets(text: str, done: Cut) -> set[tuple[int, int]]:
    """Every way to read a cut text as a head and a tail of its source, repair lines and our line ends taken away."""
    before, after = parts(done.text)
    heads = {before, before.removesuffix("\n")}
    heads |= {re.sub(r"[^\n]*\n\Z", "", before), re.sub(r"\n?[^\n]*\n\Z", "", before)}
    tails = {after, re.sub(r"\A[^\n]*\n", "", after)}
    tails |= {re.sub(r"\n?[^\n]*\Z", "", tail) for tail in tails} | {re.sub(r"[^\n]+\Z", "", tail) for tail in tails}
    return {
        (len(head), len(text) - len(tail))
        for head in heads
        for tail in tails
        if text.startswith(head) and text.endswith(tail)
    }


def open_fence(text: str) -> bool:
    """Whether a fence of the text runs on without its closing line, by a CommonMark parser."""
    lines = text.split("\n")
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "fence":
            assert token.map is not None
            last = lines[token.map[1] - 1].strip()
            if token.map[1] - token.map[0] < 2 or not last.startswith(token.markup) or set(last) != {token.markup[0]}:
                return True
    return False


LINES = (
    "", "", "# Heading", "## 2026-03-01 第一节", "### Deep", "- item one", "- 2026-02-28: done", "1. first",
    "plain words in a line", "注意：部署密钥已更换，请以最后一行为准。", "修正", FLAG * 3, RARE_HAN * 5, "e\u0301" * 9,
    "한국어 문장", "ᄒ\u1161ᆫ" * 4, "🇩🇪🇫🇷🇯🇵", "नमस्ते क्षत्रिय", "\ud83d half", "low \udc00", "    indented",
    "text ``` not a fence", "a `b` c", "| a | b |", "word " * 60, "x" * 300, "汉" * 200, "`````` x ``` y",
)  # fmt: skip
FRAMES = ("```", "```python", "````", "~~~", "~~~~ text", "``` `not` one", "~~~ ```")

texts = st.lists(st.sampled_from(LINES + FRAMES), max_size=40).map("\n".join) | st.text(
    alphabet=st.characters(exclude_categories=()) | st.sampled_from("\n\n #`~-e\u0301\u200d\ufe0f🏳🌈"), max_size=120
)
bounds = st.lists(st.tuples(st.sampled_from(sorted(MEASURES)), st.integers(0, 300)), min_size=1, max_size=3)


@settings(max_examples=300, deadline=None)
@given(text=texts, wanted=bounds, prefer=st.sampled_from(["both", "head", "tail"]))
@example(text="```\n" + "code\n" * 200 + "```", wanted=[("tokens", 60)], prefer="both")
@example(text="word ``` " * 300, wanted=[("utf16", 200)], prefer="tail")
@example(text="# T\n\n" + "~~~ ```\nx\n" * 60, wanted=[("bytes", 190)], prefer="head")
def test_a_cut_is_within_every_bound_and_says_what_it_left_out(
    text: str, wanted: list[tuple[str, int]], prefer: str
) -> None:
    limits = [Bound(unit, MEASURES[unit], limit) for unit, limit in wanted]
    arguments = {"path": PATH, "count": MEASURES["tokens"], "wrap": wrap, "prefer": prefer}
    done = cut_to_fit(text, limits, **arguments)  # type: ignore[arg-type]
    assert done == cut_to_fit(text, limits, **arguments)  # type: ignore[arg-type]
    fits = all(bound.measure(wrap(text)) <= bound.limit for bound in limits)
    if fits:
        assert done == Cut(text)
        return
    if done is None:
        least = marker(text.count("\n") + 1, MEASURES["tokens"](text), PATH)
        assert not text or any(bound.measure(wrap(least)) > bound.limit for bound in limits)
        return
    assert all(bound.measure(wrap(done.text)) <= bound.limit for bound in limits)
    assert done.omitted_lines >= 1
    assert marker(done.omitted_lines, done.omitted_tokens, PATH) in done.text
    if prefer == "tail" and not find_fences(text) and text.strip():
        last = text[text.rfind("\n", 0, len(text.rstrip())) + 1 :]
        alone = f"{marker(text.count(chr(10)) + 1, 9 * len(text), PATH)}\n{last}"
        if all(bound.measure(wrap(alone)) <= bound.limit for bound in limits) and len(last) < len(text):
            assert done.text.endswith(last)
    assert any(
        exact()(text[head:tail]) == done.omitted_tokens
        and text.count("\n", head, tail - 1) + 1 == done.omitted_lines
        and is_boundary(text, head)
        and is_boundary(text, tail)
        for head, tail in offsets(text, done)
        if head < tail
    )


@settings(max_examples=300, deadline=None)
@given(lines=st.lists(st.sampled_from(LINES + FRAMES * 3), min_size=20, max_size=60), limit=st.integers(90, 700))
@example(lines=["```", "a", "```", "b"] * 30, limit=130)
def test_no_cut_leaves_a_fence_open(lines: list[str], limit: int) -> None:
    text = "\n".join(lines)
    done = cut(text, limit, unit="utf16")
    if done is not None and not done.whole:
        assert not open_fence(done.text)


NESTED = (
    "- item", "  - nested", "10. tenth", "> quoted", "> > twice", "left", "", "        deep code", "> code", "    code",
    "  ```", "    ```sh", "      ```", "> ```", "> ~~~ x", "- ```yaml", "   ~~~~", "\t```", "10. ```", "```",
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(lines=st.lists(st.sampled_from(NESTED), min_size=15, max_size=60), limit=st.integers(90, 300))
def test_a_fence_in_a_list_or_quotation_is_closed_too(lines: list[str], limit: int) -> None:
    done = cut("\n".join(lines), limit, unit="utf16")
    if done is not None and not done.whole:
        assert all(fence.stop <= len(done.text) + 1 for fence in find_fences(done.text))
        assert not any(fence.end > len(done.text) for fence in find_fences(done.text))


@settings(max_examples=200)
@given(
    st.text(
        alphabet=st.characters() | st.sampled_from("e\u0301\u200d\ufe0f🏳🌈🇩🇪👍🏽ᄒ\u1161ᆫ각क\u094dष\r\n\u0e33"),
        max_size=60,
    )
)
@example("🇩🇪🇫🇷🇯")
@example(f"a{FLAG}b{RARE_HAN}c")
def test_our_grapheme_boundaries_are_boundaries_of_the_full_rule(text: str) -> None:
    ends = {0} | {found.end() for found in regex.finditer(r"\X", text)}
    ours = {at for at in range(len(text) + 1) if is_boundary(text, at)}
    assert ours <= ends | {len(text)}
    for at in range(len(text) + 1):
        assert boundary_before(text, at) == max(place for place in ours if place <= at)
        assert boundary_after(text, at) == min(place for place in ours if place >= at)


def test_a_surrogate_pair_and_a_long_cluster_stay_whole() -> None:
    assert not is_boundary("\ud83c\udf08", 1)
    assert is_boundary("\udf08\ud83c", 1)
    zalgo = "a" + "\u0301" * 100_000 + "b"
    assert boundary_before(zalgo, 50_000) == 0
    assert boundary_after(zalgo, 50_000) == len(zalgo) - 1
    flags = "🇩🇪" * 50_000
    assert boundary_before(flags, 50_001) == 50_000


@pytest.mark.parametrize("shift", range(21))
@pytest.mark.parametrize("cluster", [FLAG, RARE_HAN, "한", "汉"])
@pytest.mark.parametrize("unit", ["utf16", "bytes", "tokens"])
def test_no_cut_splits_a_character_at_any_offset(shift: int, cluster: str, unit: str) -> None:
    text = "a" * shift + cluster * 300 + "z"
    limit = {"utf16": 200, "bytes": 300, "tokens": 160}[unit]
    done = cut(text, limit, unit=unit)
    assert done is not None
    assert MEASURES[unit](done.text) <= limit
    done.text.encode()
    assert "\ufffd" not in done.text
    before, after = parts(done.text)
    assert re.fullmatch(rf"a*(?:{cluster})*\n?", before)
    assert re.fullmatch(rf"a*(?:{cluster})*z", after)


@pytest.mark.parametrize(
    "text", ["汉" * 4000, "한국어문장입니다" * 500, "事故复盘：先回滚，再查日志。" * 300, f"{FLAG} {RARE_HAN}" * 700]
)
def test_budget_500_holds_for_scripts_that_four_characters_per_token_gets_wrong(text: str) -> None:
    done = cut(text, 500)
    assert done is not None
    assert 400 < exact()(done.text) <= 500
    by_estimate = cut(text, 500, unit="estimate")
    assert by_estimate is not None
    assert estimate_counter()(by_estimate.text) <= 500


def notes(topics: int) -> str:
    body = "".join(
        f"## Topic {number}\n\n- fact {number}\n- another fact\n\nMore words on it.\n\n" for number in range(topics)
    )
    return f"# Attention\n\nThe deploy key is OLD-KEY.\n\n{body}## Corrections\n\nThe deploy key is NEW-KEY.\n"


@pytest.mark.parametrize("limit", [60, 100, 300, 1000])
def test_the_correction_at_the_end_outlives_the_stale_line(limit: int) -> None:
    done = cut(notes(200), limit)
    assert done is not None
    assert "NEW-KEY" in done.text
    head, tail = parts(done.text)
    assert exact()(tail) >= exact()(head)


def test_room_for_one_line_goes_to_the_newest() -> None:
    done = cut(notes(200), 45)
    assert done is not None
    assert done.text.endswith("The deploy key is NEW-KEY.\n")
    assert "OLD-KEY" not in done.text


@pytest.mark.parametrize(
    "template", ["## 2026-{m:02d}-{d:02d}", "- {d} 2026/{m}/{d}", "### 2026年{m}月{d}日", "- **2026-{m:02d}-{d:02d}**"]
)
def test_newest_first_keeps_the_head(template: str) -> None:
    days = [(month, day) for month in range(12, 0, -1) for day in range(28, 0, -1)]
    entries = [f"{template.format(m=month, d=day)}\n\nEntry of {month}/{day}.\n\n" for month, day in days]
    if template.startswith("- {d}"):
        entries = [entry.replace(f"- {day} ", "- ", 1) for entry, (_, day) in zip(entries, days, strict=True)]
    done = cut("# Experience\n\n" + "".join(entries), 400)
    assert done is not None
    head, tail = parts(done.text)
    assert "Entry of 12/28." in head
    assert exact()(head) > exact()(tail)
    oldest_first = cut("# Experience\n\n" + "".join(reversed(entries)), 400)
    assert oldest_first is not None
    head, tail = parts(oldest_first.text)
    assert "Entry of 12/28." in tail
    assert exact()(tail) > exact()(head)


def test_the_larger_share_can_be_asked_for() -> None:
    plain = "# T\n\n" + "one line of words here\n" * 500
    for prefer, larger in (("head", 0), ("tail", 1), ("both", 1)):
        done = cut(plain, 400, prefer=prefer)
        assert done is not None
        sizes = [len(part) for part in parts(done.text)]
        assert sizes[larger] > sizes[1 - larger] * 1.2


def test_frontmatter_heading_and_first_paragraph_stay_in_the_head() -> None:
    first = "---\nstatus: active\nlast_updated: 2026-03-01\n---\n\n# Attention\n\n" + "What this is about. " * 12 + "\n"
    done = cut(f"{first}\n{notes(100)}", 260)
    assert done is not None
    assert done.text.startswith(first)


def test_cuts_fall_on_headings_then_paragraphs_then_lines() -> None:
    done = cut(notes(200), 1000)
    assert done is not None
    head, tail = parts(done.text)
    assert head.endswith("More words on it.\n\n")
    assert tail.startswith("## Topic ")
    paragraphs = "\n\n".join("Some words that make a paragraph\nof two lines." for _ in range(200))
    done = cut(paragraphs, 300)
    assert done is not None
    assert parts(done.text)[1].startswith("Some words")
    assert parts(done.text)[0].endswith("of two lines.\n\n")
    done = cut("a line of several words\n" * 400, 300)
    assert done is not None
    assert all(line in ("", "a line of several words") or MARKER.fullmatch(line) for line in done.text.split("\n"))


def test_no_heading_stands_last_before_the_marker() -> None:
    for limit in range(60, 400, 7):
        done = cut(notes(100), limit)
        assert done is not None
        assert not parts(done.text)[0].rstrip().rpartition("\n")[2].startswith("## ")


def test_fences_are_closed_and_reopened_with_their_own_lines() -> None:
    text = (
        "# Log\n\n````python title=x\n"
        + "".join(f"print({number})  # ```\n" for number in range(500))
        + "````\n\nDone: keep.\n"
    )
    done = cut(text, 300)
    assert done is not None
    head, tail = parts(done.text)
    assert head.endswith("\n````\n")
    assert tail.startswith("````python title=x\nprint(")
    assert tail.endswith("````\n\nDone: keep.\n")


def test_a_fence_that_its_source_leaves_open_is_closed() -> None:
    done = cut("~~~~\n" + "code of some length\n" * 300, 200)
    assert done is not None
    assert done.text.endswith("code of some length\n~~~~")
    assert done.text.count("~~~~") == 4


def test_fences_of_a_text_with_carriage_returns_pair_up_too() -> None:
    done = cut("```sh\r\n" + "run\r\n" * 10 + "```\r\n" + "some more words\r\n" * 100, 200)
    assert done is not None
    assert parts(done.text)[1].replace("some more words\r\n", "") == ""


def test_a_fence_in_a_list_keeps_its_indent() -> None:
    text = "- step\n\n  ```sh\n" + "  run --with words\n" * 300 + "  ```\n"
    done = cut(text, 200)
    assert done is not None
    head, tail = parts(done.text)
    assert head.endswith("\n  ```\n")
    assert tail.startswith("  ```sh\n  run")


def test_the_marker_counts_in_words() -> None:
    assert marker(212, 3410, PATH) == f"[… 212 lines (3,410 tokens) left out; whole file: {PATH} …]"
    assert marker(1, 1, "") == "[… 1 line (1 token) left out …]"
    assert "\n" not in marker(1, 1, "memory/a\nb.md")


def test_nothing_fits_or_only_the_marker() -> None:
    text = "word " * 4000
    least = exact()(marker(1, exact()(text), PATH))
    assert cut(text, 0) is None
    assert cut(text, least - 1) is None
    done = cut(text, least)
    assert done is not None
    assert MARKER.fullmatch(done.text)
    assert cut("", 0) == Cut("")
    assert (
        cut_to_fit("", [Bound("bytes", utf8_bytes, 3)], path=PATH, count=len, wrap=lambda text: f"<{text}>>>") is None
    )
    assert cut_to_fit(text, [], path=PATH, count=len) == Cut(text)


def test_two_bounds_and_a_wrapper_hold_together() -> None:
    limits = [Bound("tokens", exact(), 900), Bound("utf16", utf16_units, 1500)]
    frame = "earlier fragments\n" * 20
    done = cut_to_fit(notes(300), limits, path=PATH, count=exact(), wrap=lambda text: f"{frame}{text}\nend")
    assert done is not None
    final = f"{frame}{done.text}\nend"
    assert utf16_units(final) <= 1500
    assert utf16_units(final) > 1200
    assert exact()(final) <= 900


def test_work_grows_with_the_text_and_not_faster() -> None:
    def measured(lines: int) -> int:
        work = 0

        def measure(text: str) -> int:
            nonlocal work
            work += len(text)
            return len(text) // 4

        text = "".join(f"- entry {number} of the long list\n" for number in range(lines))
        done = cut_to_fit(text, [Bound("tokens", measure, 500)], path=PATH, count=measure)
        assert done is not None
        return work - len(text)

    # Beyond the one count of what was left out, the work depends on the limit alone.
    assert measured(100_000) <= 60 * 2_000
    assert measured(100_000) <= measured(50_000) * 1.1


HOSTILE = (
    "`" * 200_000, "``` " * 50_000, "- " * 100_000 + "```", "> " * 100_000 + "\n```", "\n" * 200_000, " " * 200_000,
    "# \n" * 60_000, "```\n" * 50_000, "    ```\n" * 20_000, "- 2026-01-01\n" * 20_000, "---\n" * 50_000,
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_shapes_take_linear_time(text: str) -> None:
    done = cut_to_fit(text, [Bound("bytes", utf8_bytes, 300)], path=PATH, count=len)
    assert done is not None
    assert utf8_bytes(done.text) <= 300


def test_measures_take_lone_surrogates() -> None:
    assert utf16_units(f"a{RARE_HAN}\ud83d") == 4
    assert utf8_bytes(f"a{RARE_HAN}\ud83d") == 8


@pytest.mark.parametrize(
    ("left", "more", "room"), [(1000, True, 700), (1000, False, 1000), (0, True, 0), (-5, False, 0), (1, True, 0)]
)
def test_one_file_leaves_room_for_the_next(left: int, more: bool, room: int) -> None:
    assert allowance(left, LIMITS.p_file_share, more) == room
