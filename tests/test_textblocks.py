from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apm_hooks.errors import SettingsError, UsageError
from apm_hooks.textblocks import BOM, drop_block, find_block, put_block

BEGIN = "<!-- apm-hooks:begin agents -->"
END = "<!-- apm-hooks:end agents -->"
TEXTS = st.text(st.sampled_from("a# \t\r\n\ufeff\u2028<!->"), max_size=12)
BODIES = st.lists(st.sampled_from(["@AGENTS.md", "@MEMORY.md", "", "words", "<!-- c -->"]), min_size=1).map("\n".join)


@given(TEXTS, BODIES)
@settings(max_examples=300)
@example("a\r", "x")
@example("a\nb\r", "x")
@example("a\nb\r\n", "x")
@example("\n", "x")
@example(BOM, "x")
def test_a_block_that_was_appended_goes_byte_for_byte(text: str, body: str) -> None:
    put = put_block(text, "agents", body)
    assert put.startswith(text)
    assert drop_block(put, "agents") == text


@given(TEXTS, BODIES, BODIES)
def test_putting_twice_keeps_one_block_with_the_last_body(text: str, first: str, second: str) -> None:
    put = put_block(put_block(text, "agents", first), "agents", second)
    assert put == put_block(text, "agents", second)
    assert put_block(put, "agents", second) == put
    assert put.count(BEGIN) == put.count(END) == 1


@given(TEXTS, BODIES, TEXTS, BODIES)
def test_a_block_is_replaced_where_it_stands(text: str, body: str, rest: str, new: str) -> None:
    put = put_block(text + "\n", "agents", body) + rest
    block = find_block(put, "agents")
    assert block is not None
    replaced = put_block(put, "agents", new)
    assert replaced.startswith(put[: block.start])
    assert replaced.endswith(put[block.end :])
    found = find_block(replaced, "agents")
    assert found is not None
    assert found.body.replace("\r\n", "\n") == new.removesuffix("\n")


@given(TEXTS, TEXTS)
def test_text_outside_the_block_survives_its_removal(before: str, after: str) -> None:
    put = put_block(before, "agents", "x")
    put += after if put.endswith("\n") else "\n" + after
    kept = drop_block(put, "agents")
    assert kept.startswith(before)
    assert kept.endswith(after)
    assert len(kept) <= len(before) + len(after) + 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", f"{BEGIN}\nx\ny\n{END}\n"),
        ("# Rules\n", f"# Rules\n\n{BEGIN}\nx\ny\n{END}\n"),
        ("# Rules", f"# Rules\n\n{BEGIN}\nx\ny\n{END}"),
        ("# Rules\r\n", f"# Rules\r\n\r\n{BEGIN}\r\nx\r\ny\r\n{END}\r\n"),
        (f"a\n{BEGIN}\nold\n{END}\nb\n", f"a\n{BEGIN}\nx\ny\n{END}\nb\n"),
        (f"a\r\n{BEGIN}\r\n{END}\r\nb", f"a\r\n{BEGIN}\r\nx\r\ny\r\n{END}\r\nb"),
        (f"  {BEGIN}  \nold\n{END}", f"{BEGIN}\nx\ny\n{END}"),
    ],
)
def test_put_block(text: str, expected: str) -> None:
    assert put_block(text, "agents", "x\r\ny\n") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no block\n", "no block\n"),
        (f"a\n\n{BEGIN}\nx\n{END}\n\nb\n", "a\n\nb\n"),
        (f"a\n\n{BEGIN}\nx\n{END}\nb\n", "a\n\nb\n"),
        (f"a\n{BEGIN}\nx\n{END}\nb\n", "a\nb\n"),
        (f"{BEGIN}\nx\n{END}\n# b\n", "# b\n"),
        (f"a\n\n<!-- apm-hooks:begin other -->\n<!-- apm-hooks:end other -->\n\n{BEGIN}\n{END}\n",
         "a\n\n<!-- apm-hooks:begin other -->\n<!-- apm-hooks:end other -->\n"),
        (f"say `{BEGIN}` and so on\n", f"say `{BEGIN}` and so on\n"),
    ],
)  # fmt: skip
def test_drop_block(text: str, expected: str) -> None:
    assert drop_block(text, "agents") == expected


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        (f"a\n{BEGIN}\nx\n", 2, "begins and does not end"),
        (f"a\n\n{END}\n", 3, "ends and did not begin"),
        (f"{BEGIN}\n{BEGIN}\n{END}\n", 1, "begins and does not end"),
        (f"{BEGIN}\n{END}\n\n{BEGIN}\n{END}\n", 4, "stands twice"),
        (f"{BEGIN}\n<!-- apm-hooks:begin other -->\n{END}\n", 1, "begins and does not end"),
        (f"{BOM}{END}\r\n", 1, "ends and did not begin"),
    ],
)
def test_damaged_markers_are_refused_with_their_line(text: str, line: int, cause: str) -> None:
    for drop in (False, True):
        with pytest.raises(SettingsError, match=cause) as caught:
            if drop:
                drop_block(text, "agents", file="CLAUDE.md")
            else:
                put_block(text, "agents", "x", file="CLAUDE.md")
        assert (caught.value.file, caught.value.line, caught.value.key) == ("CLAUDE.md", line, "agents")
    assert find_block(text, "elsewhere") is None


@pytest.mark.parametrize(("name", "body"), [("", "x"), ("a b", "x"), ("a\n", "x"), ("agents", f"x\n{END}\n")])
def test_what_a_marker_cannot_hold_is_refused(name: str, body: str) -> None:
    with pytest.raises(UsageError):
        put_block("", name, body)
