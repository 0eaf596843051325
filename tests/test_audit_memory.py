"""What does not belong in MEMORY.md, line by line, and what does."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.audit_memory import MEMORY_RULES, audit_memory
from apm_hooks.audit_pointers import GroupMarks
from apm_hooks.audit_words import _PATTERNS, pattern
from apm_hooks.findings import Finding, Level
from tests.test_linear import growth

GROUPS = GroupMarks(("support", "研发群", "team-blue", "3학년"), ("-100123456", "12"))


def found(text: str, *, present: Callable[[str], bool] = lambda path: True) -> list[Finding]:
    return list(audit_memory(text, groups=GROUPS, exists=present))


def rules(text: str) -> list[str]:
    return [each.rule for each in found(text)]


@pytest.mark.parametrize(
    ("lines", "rule", "level"),
    [
        (0, None, None), (30, None, None), (31, "memory-watch", Level.NOTE), (50, "memory-watch", Level.NOTE),
        (51, "memory-bloated", Level.WARNING), (80, "memory-bloated", Level.WARNING),
        (81, "memory-violation", Level.ERROR), (1_167, "memory-violation", Level.ERROR),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_how_long_it_is(lines: int, rule: str | None, level: Level | None, end: str) -> None:
    told = [(each.rule, each.level, each.line) for each in found(f"A line.{end}" * lines)]
    assert told == ([(rule, level, 0)] if rule else [])


def test_the_last_line_counts_without_its_end_too() -> None:
    assert rules("x\n" * 30 + "x") == ["memory-watch"]
    assert rules("x\n" * 29 + "x") == []


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("project-progress", "- [ ] write the tests"),
        ("project-progress", "- [x] 部署"),
        ("project-progress", "- 60% of the grammar is ported."),
        ("project-progress", "**Status:** 🟡 prototype running"),
        ("project-progress", "- Next: write the printer"),
        ("project-progress", "- ✅ impeller redesigned"),
        ("project-progress", "- 3c48f41 feat: a dashboard"),
        ("project-progress", "- Tests for all modules (5/5)"),
        ("project-progress", "## Blockers"),
        ("project-progress", "- 支付网关正在联调"),
        ("project-progress", "- 予約画面は実装中"),
        ("project-progress", "- 결제 연동은 검토 대기"),
        ("event-narrative", "- 2026-03-02: the disk failed"),
        ("event-narrative", "- On 14 April 2026 the server crashed"),
        ("event-narrative", "- 12/03/2026: power cut"),
        ("event-narrative", "## 2026-03-02"),
        ("event-narrative", "- Last week the backup was deleted"),
        ("event-narrative", "- 2026年3月8日 硬盘坏了"),
        ("event-narrative", "- 昨日デプロイに失敗した。"),
        ("event-narrative", "- 3월 20일 서버가 멈췄다"),
        ("tool-list", "Tools: git, docker, node"),
        ("tool-list", "- node 20.11, npm 10.2, git 2.43"),
        ("tool-list", "- samtools: /usr/local/bin/samtools"),
        ("tool-list", "- jq, curl, tmux and htop are there"),
        ("tool-list", "常用工具：jq、curl、htop"),
        ("group-name", "- support: Ann, Bo"),
        ("group-name", '- Ask in "support" first'),
        ("group-name", "- 研发群的纪要"),
        ("group-name", "- Team-Blue meets on Mondays"),
        ("group-name", "- chat -100123456"),
        ("sample-result", "- accuracy of 0.93 on the test set"),
        ("sample-result", "- SRR5678123 was the best"),
        ("sample-result", "- C14 lost 3.2 mg, C15 4.1 mg"),
        ("sample-result", "- 样本 S12 的覆盖度为 35x"),
        ("sample-result", "- 正解率は 0.91"),
        ("sample-result", "- 전환율 2.8%"),
        ("temporary-fix", "- Workaround: restart it every morning"),
        ("temporary-fix", "- For now the check is off"),
        ("temporary-fix", "- Use the old one until the new one is fixed"),
        ("temporary-fix", "- 证书过期，暂时关闭校验"),
        ("temporary-fix", "- とりあえず手で見る"),
        ("temporary-fix", "- 당분간 캐시를 끈다"),
    ],
)
def test_what_belongs_elsewhere(rule: str, line: str) -> None:
    told = found(f"# MEMORY\n\n{line}\n")
    assert [(each.rule, each.line) for each in told] == [(rule, 3)]
    assert told[0].remedy.startswith(("It belongs to", "A decision or lesson belongs to", "Take it out:"))


@pytest.mark.parametrize(
    "line",
    [
        "- Owner: Ann, born 1988-03-14, Africa/Lagos",
        "- Contract valid until 2027-12-31",
        "- Relocation: open to moving to Antwerp, confirmed 2026-02-18",
        "- Last updated: 2026-04-01",
        "> 最后更新：2026-03-26 18:20",
        "- 生日：1990-01-02",
        "- Daily notes: memory/2026-03-02.md",
        "- Never mark a task done before its tests pass",
        "- Something important is completed: write it down",
        "- Progress goes into memory/main/projects/x.md",
        "- Progress: see memory/main/projects/x.md",
        "- 任务没有测试通过之前，不要说已完成",
        "- 完了したら短く報告してください。",
        "- 항상 진행 상황을 먼저 묻는다",
        "- Prefers proper fixes over workarounds",
        "- Temporary files go to /tmp/x",
        "- 临时文件放 /tmp/zh",
        "- 禁止任何临时账号登录",
        "- Stack: Python 3.12, Postgres 16.1, Vue 3.4",
        "- Uses git and vim",
        "- Needs support with taxes",
        "- 3학년이 셋 있다",
        "- Accuracy of at least 0.9 is required",
        "- GPU host: 2 × A100 80 GB",
        "- ✅ Allowed without asking: reading",
        "```\n- [x] in a fence\n```",
        "<!-- 2026-03-02: the disk failed -->",
    ],
)
def test_what_may_stay(line: str) -> None:
    assert rules(f"# MEMORY\n\n{line}\n") == []


def test_the_remedy_names_the_day_and_a_decision_goes_to_the_long_term_file() -> None:
    event, decision = found("- 2026-3-2: the disk failed\n- 2026年3月5日决定改用消息队列\n")
    assert event.remedy == "It belongs to the note of that day, memory/2026-03-02.md."
    assert decision.remedy == "A decision or lesson belongs to memory/main/longterm.md, dated."


def test_one_finding_for_an_item_and_one_for_a_list_below_a_heading() -> None:
    assert rules("- 2026-03-02: the disk failed\n  and 60% of it was done,\n  for now\n") == ["event-narrative"]
    assert rules("## Installed tools\n\n- ripgrep\n- jq\n- fd\n") == ["tool-list"]
    assert rules("## Tools of the trade\n\n- patience\n- a pencil\n") == []


def test_what_stands_below_a_heading_of_its_kind() -> None:
    assert rules("## Measured\n\n- Dough: 78.5 of 100\n- Taste: good\n") == ["sample-result"]
    assert rules("## 凑合\n\n- 打印机坏了，借二楼的\n") == ["temporary-fix"]
    assert rules("## Log\n\n- the chimney smokes\n\n- a list of its own\n") == ["event-narrative"]


def test_what_is_told_of_a_project_that_has_a_file() -> None:
    text = "- New shop: memory/main/projects/new-shop.md\n- New shop: the lease is signed\n\n## New shop\n\nChimney.\n"
    assert [(each.rule, each.line) for each in found(text)] == [("project-progress", 2), ("project-progress", 6)]


def test_pointers_must_lead_to_files() -> None:
    text = (
        "- [a](memory/main/projects/a.md)\n- projects/b.md\n- memory/main/projects/{name}.md\n"
        "| project | file |\n|---|---|\n| c | `main/projects/c.md` |\n| d | - |\n- ../outside.md, memory/*.md\n"
    )
    told = found(text, present=lambda path: path == "memory/main/projects/a.md")
    assert [(each.rule, each.line) for each in told] == [("dangling-pointer", at) for at in (2, 6, 7)]
    assert "'memory/main/projects/b.md'" in told[0].sentence
    assert "'d' has no file" in told[2].sentence


def test_columns_count_characters_from_one() -> None:
    (told,) = found("- 见 support 群\n")
    assert told.column == 5
    (told,) = found("- 進捗の前に、６０％ done\n")
    assert told.column == 9


@given(st.text() | st.text(alphabet=" -*#|[]()`0123456789.:/年月日%✅在中了\n\ud800\u0300abcx", max_size=400))
@settings(max_examples=200)
def test_it_never_raises_and_names_lines_that_are_there(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for each in found(text, present=lambda path: False):
        assert each.rule in MEMORY_RULES
        assert 0 <= each.line <= len(lines)
        assert each.column >= 0


SHAPES: dict[str, str] = {
    "dates": "2026-03-04 ", "digits": "1234567890", "slashes": "a/b/c/", "items": "- 2026-03-04: x failed\n",
    "rows": "| a | b |\n", "percent": "60% of the ", "until": "until a b c d e f g h ", "brackets": "[a](b",
    "han": "还没有进行中第一阶段", "pointers": "memory/main/projects/", "emphasis": "**a** ", "commas": "git, ",
    "sample": "A1 b 1.5 c ", "spaces": " ", "headings": "## Log\n", "combining": "e\u0301\u0301",
}  # fmt: skip


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_twice_the_text_costs_twice_the_time(shape: str) -> None:
    unit = SHAPES[shape]
    assert growth(lambda size: lambda: found(unit * (size // len(unit))), 20_000) <= 3.2


@pytest.mark.parametrize("name", sorted(_PATTERNS))
def test_every_repetition_in_a_pattern_is_bounded(name: str) -> None:
    bare = re.sub(r"\[(?:\\.|[^\]\\])*\]", "C", pattern(name).pattern.replace("\\+", "").replace("\\*", ""))
    assert "*" not in bare
    assert "+" not in bare
