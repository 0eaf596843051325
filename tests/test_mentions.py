from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apm_hooks.mentions import MOST, crowded, mentioned


@pytest.mark.parametrize(
    ("prompt", "path"),
    [
        ("@memory/main/x.md", "memory/main/x.md"),
        ("look at @memory/main/x.md please", "memory/main/x.md"),
        ('see @"my notes/a b.md" now', "my notes/a b.md"),
        ("see @'my notes/a b.md' now", "my notes/a b.md"),
        ("@~/notes.md", "~/notes.md"),
        ("@./x.md", "./x.md"),
        ("@../x.md", "../x.md"),
        ("@/abs/x.md", "/abs/x.md"),
        ("@dir/", "dir/"),
        ("@file.py#L1-5", "file.py"),
        ("@file.py#L7", "file.py"),
        ('@"a b.md#L2-3"', "a b.md"),
        ("@file.py:10-20", "file.py"),
        ("Is it in @MEMORY.md?", "MEMORY.md"),
        ("(@MEMORY.md)", "MEMORY.md"),
        ("@MEMORY.md, and more", "MEMORY.md"),
        ("**@MEMORY.md**", "MEMORY.md"),
        ("@a.md,@b.md", "b.md"),
        ("@a.md,@b.md", "a.md,@b.md"),
        ("@memory/main/index.md请看", "memory/main/index.md"),
        ("请看@memory/main/index.md", "memory/main/index.md"),
        ("看「@记忆/主.md」", "记忆/主.md"),
        (r"@my\ notes/a.md", "my notes/a.md"),
        ("```\n@MEMORY.md\n```", "MEMORY.md"),
        ("`@MEMORY.md`", "MEMORY.md"),
        ("- @MEMORY.md\n> @b.md", "b.md"),
        ("first\n@MEMORY.md\nlast", "MEMORY.md"),
        ("/remem @MEMORY.md", "MEMORY.md"),
        ("@memory", "memory"),
        ("@.apm/ledger/a.jsonl", ".apm/ledger/a.jsonl"),
        ("@a#b.md", "a#b.md"),
    ],
)
def test_a_path_behind_the_sign_is_mentioned(prompt: str, path: str) -> None:
    assert path in mentioned(prompt)


@pytest.mark.parametrize(
    "prompt",
    ["", "@", "@ MEMORY.md", "mail me@example.org", "a.b+c@example.org", "git@host:repo.git", r"\@MEMORY.md", "@@",
     '@""', "user_@x", "no sign at all: memory/main/index.md"],
)  # fmt: skip
def test_what_is_no_mention(prompt: str) -> None:
    assert mentioned(prompt) == ()


def test_each_path_once_in_order() -> None:
    assert mentioned("@b.md @a.md and @b.md again") == ("b.md", "a.md")


def test_more_than_can_be_looked_at_is_told() -> None:
    prompt = " ".join(f"@f{number}" for number in range(MOST))
    assert (len(mentioned(prompt)), crowded(prompt)) == (MOST, False)
    assert (len(mentioned(f"{prompt} @more")), crowded(f"{prompt} @more")) == (MOST, True)


@pytest.mark.parametrize("sign", ["@a", "@,", '@"', "@\\ ", "@", "@#", "@.", "@:1"])
def test_a_hostile_prompt_gives_a_bounded_number(sign: str) -> None:
    assert len(mentioned(sign * 50_000)) <= 6 * MOST


@given(st.text(), st.text())
def test_no_text_around_it_hides_a_mention_that_stands_alone(before: str, after: str) -> None:
    assert "memory/main/x.md" in mentioned(f"{before.replace('@', '')} @memory/main/x.md {after}")
