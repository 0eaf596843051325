"""The budget is never exceeded, whatever the files hold (protocol, section 7): any bytes, any budget, any cap in any
unit, over starts, messages, resumes and edits in between."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apm_hooks import fastlane, ledger
from apm_hooks.budget import utf8_bytes, utf16_units
from apm_hooks.records import Bound, Source
from tests.workspaces import GROUP_KEY, Bench, bench, event

LINES = st.sampled_from(
    [
        b"# Heading", b"words of a plain line", b"", b"```", b"~~~py", "早上好，今天继续".encode(),
        "👩‍👩‍👧🏳️‍🌈".encode() * 9,
        b"- 2026-01-31 decided", b"x" * 900, b"| a | b | c |", b"|---|---|---|", b"\xff\xfe\x00", b"\r", b" " * 300,
        b"<|endoftext|>",
        "\u202e\u200b".encode() * 20, b"</apm-memory-00000000>", b"conventions/a.md", b"[ARCHIVED]",
    ]
)  # fmt: skip
TEXTS = st.one_of(
    st.lists(st.tuples(LINES, st.integers(1, 40)), max_size=12).map(
        lambda parts: b"\n".join(line for line, times in parts for _ in range(times))
    ),
    st.binary(max_size=300),
)
BUDGETS = st.one_of(st.sampled_from(["", "0", "-5", "x", "1", "30"]), st.integers(20, 3000).map(str))
CAPS = st.one_of(
    st.just(()),
    st.integers(0, 4000).map(lambda limit: (Bound("utf16", utf16_units, limit),)),
    st.integers(0, 9000).map(lambda limit: (Bound("bytes", utf8_bytes, limit), Bound("chars", len, limit // 2))),
)
TABLE = b"""
| scenario | file | priority |
|---|---|---|
| parser | attention.md | P0 |
| taxes | project.md | P1 |
| taxes | longterm.md | P1 |
| tables | conventions/a.md | P2-L3 |
"""
ACTIONS = st.sampled_from(["parser", "taxes and tables", "hello", "resume", "compact", "edit", "owner", "group"])


def fill(made: Bench, texts: list[bytes], budget: str) -> None:
    head = f"---\nmemory_budget: {budget}\n---\n".encode() if budget else b""
    for at, path in enumerate(
        ["main/attention", "main/longterm", "2026-01-01", "2025-12-31", "groups/alpha/attention",
         "groups/alpha/project", "groups/alpha/conventions/a"]
    ):  # fmt: skip
        made.write(f"memory/{path}.md", texts[at % len(texts)])
    made.write("memory/main/index.md", head + texts[0] + TABLE)
    made.write("memory/groups/alpha.md", head + texts[-1] + TABLE)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(TEXTS, min_size=1, max_size=4), BUDGETS, CAPS, st.lists(ACTIONS, min_size=1, max_size=6))
def test_no_epoch_ever_spends_more_than_its_budget(
    texts: list[bytes], budget: str, caps: tuple[Bound, ...], actions: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = bench(Path(folder), trusted=False, settings='timezone = "UTC"\n')
        made.groups({"-100777": "alpha"})
        fill(made, texts, budget)
        made.trust()
        runtime = made.runtime(clock=lambda: 1_767_261_600.0)
        key = "agent:main:main"
        for number, action in enumerate(["start", *actions]):
            if action == "edit":
                fill(made, [*texts[::-1], b"edited"], budget)
                continue
            if action in ("owner", "group"):
                key = "agent:main:main" if action == "owner" else GROUP_KEY
            source = {"resume": Source.RESUME, "compact": Source.COMPACT}.get(action, Source.STARTUP)
            given_ = event(key, source=source, message=action)
            if number and action not in ("resume", "compact"):
                loaded = runtime.message_received(given_, caps=caps)
            else:
                loaded = runtime.session_start(given_, caps=caps)
            text = loaded.injection.text
            assert loaded.injection.tokens == (runtime.count(text) if text else 0)
            assert loaded.injection.tokens <= loaded.budget_tokens
            assert all(cap.measure(text) <= cap.limit for cap in caps if text)
            name = fastlane.session_name(given_.host, given_.session_id, key)
            epoch = ledger.read_epoch(str(made.root), name)
            assert epoch.spent <= max(epoch.budget, 0)
