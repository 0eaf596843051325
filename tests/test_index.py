from __future__ import annotations

import posixpath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks.index import MAX_PROBLEMS, parse_index, resolve_row_path, split_alternatives
from apm_hooks.records import DM, LIMITS, Index, Route, Scope, ScopeKind
from apm_hooks.tables import MAX_ROWS

OPS = Scope(ScopeKind.GROUP, "ops")
NESTED = Scope(ScopeKind.GROUP, "lab/wet bench")
CJK = Scope(ScopeKind.GROUP, "研发 一组")
SCOPES = (DM, OPS, NESTED, CJK)

FULL = """\
---
group_name: ops
status: active
last_updated: 2026-02-03
memory_budget: 5000
---
# Ops

Free text | with a bar.

## Hard Rules
- Never print keys
- Ask before a restart

## Routing
| Scenario | File | Priority |
|---|---|---|
| Any work conversation | attention.md | P0 |
| stack, architecture | `project.md` | P1 |
| API style | conventions/api.md | P2-L3 |
"""


def routes(table: str, scope: Scope = OPS) -> tuple[Route, ...]:
    return parse_index(table, scope).routes


def row(cells: str, scope: Scope = OPS) -> Route:
    """The one route of a table whose only row has these cells."""
    (route,) = routes(f"| Scenario | File | Priority |\n|---|---|---|\n{cells}", scope)
    return route


def rules_broken(index: Index) -> list[tuple[str, int]]:
    return [(problem.rule, problem.line) for problem in index.problems]


def test_frontmatter_is_flat_key_value_lines_between_two_rules_at_byte_0() -> None:
    index = parse_index(FULL, OPS)
    assert index.meta == {
        "group_name": "ops", "status": "active", "last_updated": "2026-02-03", "memory_budget": "5000",
    }  # fmt: skip
    assert index.budget_tokens == 5000


def test_then_free_text_then_hard_rules_then_a_routing_table() -> None:
    index = parse_index(FULL, OPS)
    assert index.hard_rules == ("Never print keys", "Ask before a restart")
    assert [(route.path, route.line) for route in index.routes] == [
        ("attention.md", 18), ("project.md", 19), ("conventions/api.md", 20),
    ]  # fmt: skip
    assert index.problems == ()


def test_the_first_table_whose_header_names_scenario_and_file_routes() -> None:
    text = """\
| Name | Role |
|---|---|
| ann | notes.md |

| File | When to load | Level |
|---|---|---|
| people.md | who is who | P1 |

| Scenario | File |
|---|---|
| later | later.md |
"""
    index = parse_index(text, OPS)
    assert [(route.scenarios, route.path, route.priority) for route in index.routes] == [
        (("who is who",), "people.md", 1)
    ]
    assert rules_broken(index) == [("second-table", 9)]


@pytest.mark.parametrize(
    "header",
    [
        "Scenario | File | Priority",
        "SCENARIOS (when) | file path | prio",
        "Ｔｒｉｇｇｅｒ | Ｆｉｌｅ | Ｐｒｉｏｒｉｔｙ",
        "**Trigger scenario** | `File` | Level",
        "Intent | Memory file | Priority",
        "场景 | 文件 | 优先级",
        "触发场景 | 加载文件 | 优先级",
        "意图 | 文件路径 | 级别",
        "情景 | 路径 | 等级",
        "場景 | 檔案 | 優先級",
        "シナリオ | ファイル | 優先度",
        "ｼﾅﾘｵ | ﾌｧｲﾙ | 優先順位",
        "시나리오 | 파일 | 우선순위",
        "Szenario | Dateipfad | Priorität",
        "Situación | Archivo | Prioridad",
        "Scénario | Fichier | Priorité",
        "Сценарий | Файл | Приоритет",
    ],
)
def test_headers_in_many_languages_case_and_width_folded(header: str) -> None:
    names = [name.strip() for name in header.split("|")]
    turned = f"| {names[2]} | {names[1]} | {names[0]} |\n|---|---|---|\n| P3 | notes.md | deploy |"
    (route,) = routes(turned)
    assert (route.scenarios, route.path, route.priority) == (("deploy",), "notes.md", 3)


@pytest.mark.parametrize(
    "header",
    [
        "Profile | Empath | Wheneverless",
        "A | B | C",
        "x | file | y",
        "scenario | b | c",
        "| Shared | Notes | |",
    ],
)
def test_a_header_that_names_neither_leaves_columns_one_two_three(header: str) -> None:
    text = f"{header}\n-|-|-\ndeploy | notes.md | P1\nrelease | `other file.md` | P2\nnone | - | P3"
    assert [(route.scenarios, route.path, route.priority) for route in routes(text)][:2] == [
        (("deploy",), "notes.md", 1), (("release",), "other file.md", 2),
    ]  # fmt: skip


def test_columns_by_position_need_files_in_half_of_the_rows() -> None:
    rows = "| a | notes.md |\n| b | plain words |\n"
    assert len(routes(f"| A | B |\n|---|---|\n{rows}")) == 2
    assert routes(f"| A | B |\n|---|---|\n{rows}| c | v1.2 |\n") == ()
    assert routes("| A |\n|---|\n| notes.md |\n") == ()
    assert routes("| A | B |\n|---|---|\n") == ()


def test_an_empty_first_header_cell_stands_for_the_scenario() -> None:
    (route,) = routes("| | Priority | File |\n|---|---|---|\n| deploy | P3 | notes.md |")
    assert (route.scenarios, route.path, route.priority) == (("deploy",), "notes.md", 3)


@pytest.mark.parametrize(
    ("cell", "priority", "sub_file"),
    [
        ("P0", 0, False),
        ("p1", 1, False),
        ("P2 (tech)", 2, False),
        ("**P3**", 3, False),
        ("`P1`", 1, False),
        ("Ｐ１", 1, False),
        ("优先P1级", 1, False),
        ("P2-L3", 2, True),
        ("p2-l3 sub", 2, True),
        ("P2–L3", 2, True),
        ("P2 / L3", 2, True),
    ],
)
def test_priority_is_p0_to_p3_or_p2_l3(cell: str, priority: int, sub_file: bool) -> None:
    text = f"| Scenario | File | Priority |\n|---|---|---|\n| a | notes.md | {cell} |"
    index = parse_index(text, OPS)
    assert (index.routes[0].priority, index.routes[0].sub_file) == (priority, sub_file)
    assert index.problems == ()


@pytest.mark.parametrize(
    ("path", "priority", "sub_file"),
    [
        ("attention.md", 0, False),
        ("Attention.MD", 0, False),
        ("project.md", 1, False),
        ("longterm.md", 1, False),
        ("experience.md", 2, False),
        ("daily-synced.md", 2, False),
        ("people.md", 3, False),
        ("projects/attention.md", 3, False),
        ("conventions/api.md", 2, True),
        ("notes.md", 2, False),
        ("old/attention.md", 2, False),
    ],
)
def test_an_absent_priority_comes_from_the_standard_name_else_p2(path: str, priority: int, sub_file: bool) -> None:
    for cells in (f"| a | {path} |", f"| a | {path} | |", f"| a | {path} | — |"):
        route = row(cells)
        assert (route.priority, route.sub_file) == (priority, sub_file)


@pytest.mark.parametrize("cell", ["high", "P4", "P12", "AP1", "L3", "P1-L3", "P2-L4"])
def test_an_unknown_priority_is_reported_and_counts_as_absent(cell: str) -> None:
    index = parse_index(f"| Scenario | File | Priority |\n|---|---|---|\n| a | people.md | {cell} |", OPS)
    assert rules_broken(index) == [("bad-priority", 3)]
    assert index.routes[0].priority == 3


def test_a_bare_priority_counts_in_a_column_without_such_a_header() -> None:
    index = parse_index(
        "| Scenario | File | Rank |\n|---|---|---|\n| a | x.md | P1 |\n| b | y.md | first P1 plan |", OPS
    )
    assert [route.priority for route in index.routes] == [1, 2]
    assert index.problems == ()


def test_conventions_are_sub_files_of_groups_only() -> None:
    assert not row("| a | conventions/api.md |", DM).sub_file


@pytest.mark.parametrize(
    "cell",
    [
        "notes.md",
        "`notes.md`",
        "`` notes.md ``",
        "**notes.md**",
        "**`notes.md`**",
        "~~notes.md~~",
        "./notes.md",
        "`././/notes.md`",
        "[notes](notes.md)",
        "[`notes`](./notes.md)",
        '[the notes](notes.md "title")',
        "[the notes](<notes.md>)",
        "[the notes](notes.md#today)",
        "[n](n%6ftes.md)",
        "`notes.md` (P1)",
        "see [notes](notes.md), please",
        "memory/groups/ops/notes.md",
        "[n](memory/groups/ops/notes.md)",
        "./memory//groups/ops/notes.md",
        "ops/notes.md",
        "notes.md [deprecated]",
    ],
)
def test_the_file_cell_may_be_in_backticks_bold_or_a_link(cell: str) -> None:
    assert resolve_row_path(cell, OPS) == ("notes.md", "")


@pytest.mark.parametrize(
    "cells",
    [
        "| a | notes.md | P1 | [DEPRECATED]",
        "| [DEPRECATED] a | notes.md | P1 |",
        "| a | notes.md [deprecated] | P1 |",
        "| a | notes.md | P1 [Deprecated] |",
        "| a | notes.md | P1 |  [DEPRECATED] since May",
        r"| a \[DEPRECATED\] | notes.md | P1 |",
    ],
)
def test_deprecated_anywhere_in_a_row_retires_it(cells: str) -> None:
    route = row(cells)
    assert route.deprecated
    assert (route.scenarios, route.path, route.priority) == (("a",), "notes.md", 1)
    assert not row("| deprecated things | notes.md | P1 |").deprecated


def test_a_p2_l3_row_is_a_route_of_its_own_and_a_sub_file() -> None:
    route = parse_index(FULL, OPS).routes[2]
    assert (route.path, route.priority, route.sub_file) == ("conventions/api.md", 2, True)


@pytest.mark.parametrize(
    ("cell", "alternatives"),
    [
        ("a, b;c/d、e，f；g", ("a", "b", "c", "d", "e", "f", "g")),
        ("deploy errors", ("deploy errors",)),
        ("`a,b` / `c`", ("a,b", "c")),
        ("`` a`,`b ``, c", ("a`,`b", "c")),
        ("`a, b", ("a", "b")),
        ("run `make x/y` now; then", ("run make x/y now", "then")),
        ("**bold**, __bold__, **two, words**", ("bold", "bold", "two", "words")),
        ("~~old~~", ("old",)),
        ("`__init__`, snake_case", ("__init__", "snake_case")),
        (" , ;; ", ()),
        ("", ()),
        ("*", ("*",)),
        (r"\*", ("*",)),
        ("部署、发布", ("部署", "发布")),
    ],
)
def test_a_scenario_may_hold_alternatives(cell: str, alternatives: tuple[str, ...]) -> None:
    assert split_alternatives(cell) == alternatives


@pytest.mark.parametrize(
    "scenario",
    [
        "*",
        "`*`",
        "Any work conversation",
        "ANY  WORK  CONVERSATION.",
        "Ａｎｙ work conversation",
        "Always (cold start)",
        "deploy, anything else",
        "任何工作对话",
        "任意工作会话",
        "任何工作對話",
        "すべての作業会話",
        "모든 업무 대화",
        "Jedes Arbeitsgespräch",
        "Cualquier conversación de trabajo",
        "Toute conversation de travail",
        "Любой рабочий разговор",
    ],
)
def test_a_star_or_any_work_conversation_catches_all(scenario: str) -> None:
    assert row(f"| {scenario} | attention.md |").catch_all


@pytest.mark.parametrize("scenario", ["any work conversation about tests", "**", "2 * 3", "todo", "工作对话"])
def test_other_scenarios_do_not_catch_all(scenario: str) -> None:
    assert not row(f"| {scenario} | attention.md |").catch_all


OUTSIDE = [
    "../main/attention.md",
    "..",
    "a/../../main/index.md",
    "conventions/../attention.md",
    "．．／main/attention.md",
    "x/‥/y.md",
    "x/..\u200b/y.md",
    "x/.. /y.md",
    "/etc/passwd",
    "//host/share.md",
    "~/notes.md",
    "~root/notes.md",
    "ops/~/notes.md",
    "C:/notes.md",
    "./C:notes.md",
    "file:///etc/passwd",
    "https://example.org/notes.md",
    "mailto:ann@example.org",
    "..\\main\\attention.md",
    "a\\b.md",
    "a\x00b.md",
    "a\x1bb.md",
    "a\u2028b.md",
    "a\udc80b.md",
    "memory/main/attention.md",
    "memory/groups/other/attention.md",
    "memory/groups/ops.md",
    "memory/groups/opsx/notes.md",
    "memory/flush-state.json",
    "memory/groups/ops/../other/notes.md",
    "memory/groups/ops/",
    "memory/groups/ops",
    "ops/",
    "conventions/",
    ".",
    "./",
    "x" * 1001,
    "[n](../other.md)",
    "[n](%2e%2e/other.md)",
    "[n](%2e%2e%2fother.md)",
    "[n](%2Fetc/passwd)",
    "[n](a%00b.md)",
    "[n](a%5Cb.md)",
    "[n](%ff.md)",
    "[n](%ed%a0%80.md)",
    "[notes.md](https://example.org/notes.md)",
    "[notes.md](../notes.md)",
    "[n](<../notes.md>)",
    "[n]()",
    "` `",
]


@pytest.mark.parametrize("cell", OUTSIDE)
def test_a_file_outside_the_scopes_directory_is_no_path(cell: str) -> None:
    path, problem = resolve_row_path(cell, OPS)
    assert path == ""
    assert problem
    assert problem.isprintable()


def test_a_row_that_points_elsewhere_is_skipped_and_reported() -> None:
    index = parse_index("| Scenario | File |\n|---|---|\n| a | ../main/index.md |\n| b | notes.md |", OPS)
    assert [(route.path, bool(route.problem)) for route in index.routes] == [("", True), ("notes.md", False)]
    assert rules_broken(index) == [("route-outside", 3)]
    assert "../main/index.md" in index.problems[0].text


@pytest.mark.parametrize(
    ("cell", "scope", "path"),
    [
        ("我的 笔记.md", CJK, "我的 笔记.md"),
        ("研发 一组/attention.md", CJK, "attention.md"),
        ("memory/groups/研发 一组/a/b.md", CJK, "a/b.md"),
        ("[n](%E7%A0%94.md)", CJK, "研.md"),
        ("[n](a%20b%23c.md)", OPS, "a b#c.md"),
        ("[n](a (1).md)", OPS, "a (1).md"),
        ("a%2fb.md", OPS, "a%2fb.md"),
        ("[n](%252e%252e.md)", OPS, "%2e%2e.md"),
        ("a#b.md", OPS, "a#b.md"),
        ("10:30 call.md", OPS, "10:30 call.md"),
        ("..notes.md", OPS, "..notes.md"),
        ("lab/wet bench/x.md", NESTED, "x.md"),
        ("wet bench/x.md", NESTED, "x.md"),
        ("memory/groups/lab/wet bench/x.md", NESTED, "x.md"),
        ("lab/x.md", NESTED, "lab/x.md"),
        ("other/attention.md", OPS, "other/attention.md"),
        ("memory/main/projects/x.md", DM, "projects/x.md"),
        ("projects/x.md", DM, "projects/x.md"),
        ("conventions/api.md", Scope(ScopeKind.GROUP, "conventions"), "conventions/api.md"),
        ("memory/groups/cafe\u0301/x.md", Scope(ScopeKind.GROUP, "caf\u00e9"), "x.md"),
        ("memory/groups/ops/memory/x.md", OPS, "memory/x.md"),
    ],
)
def test_a_path_counts_from_directory_workspace_or_index(cell: str, scope: Scope, path: str) -> None:
    assert resolve_row_path(cell, scope) == (path, "")


@pytest.mark.parametrize("cell", ["index.md", "memory/main/index.md", "memory/groups/ops/notes.md", "memory/x.md"])
def test_the_owners_index_routes_neither_to_itself_nor_to_a_group(cell: str) -> None:
    assert resolve_row_path(cell, DM)[0] == ""


@pytest.mark.parametrize("cell", ["`a.md`, `b.md`", "[a](a.md) [b](b.md)", "a.md, b.md", "a.md、b.md"])
def test_of_several_files_the_first_counts_and_a_problem_says_so(cell: str) -> None:
    index = parse_index(f"| Scenario | File |\n|---|---|\n| x | {cell} |", OPS)
    assert index.routes[0].path == "a.md"
    assert rules_broken(index) == [("several-files", 3)]


def test_rows_without_scenario_and_file_are_skipped_and_half_rows_are_reported() -> None:
    rows = "| | | P1 |\n| - | — | |\n| | notes.md | |\n| talk | | |"
    text = f"| Scenario | File | Priority |\n|---|---|---|\n{rows}"
    index = parse_index(text, OPS)
    assert [(route.line, route.scenarios, route.path) for route in index.routes] == [
        (5, (), "notes.md"), (6, ("talk",), ""),
    ]  # fmt: skip
    assert rules_broken(index) == [("no-scenario", 5), ("no-file", 6)]


@pytest.mark.parametrize(
    ("value", "tokens"),
    [("1", 1), ("6000", 6000), ('"6000"', 6000), ("'6000'", 6000), ("0800", 800), ("1000000", 1_000_000)],
)
def test_a_budget_is_a_positive_integer(value: str, tokens: int) -> None:
    index = parse_index(f"---\nmemory_budget: {value}\n---\n", OPS)
    assert index.budget_tokens == tokens
    assert index.problems == ()


@pytest.mark.parametrize(
    "value",
    [
        "0",
        "-5",
        "+5",
        "1.5",
        "6k",
        "6_000",
        "6,000",
        "",
        "６０００",
        "٣",
        "²",
        "1000001",
        "9" * 5000,
        "null",
        "5 # five",
    ],
)
def test_any_other_budget_is_a_problem(value: str) -> None:
    index = parse_index(f"---\ntype: group\nmemory_budget: {value}\n---\n", OPS)
    assert index.budget_tokens is None
    assert rules_broken(index) == [("bad-budget", 3)]


def test_no_budget_is_no_problem() -> None:
    index = parse_index("---\ntype: group\n---\n", OPS)
    assert (index.budget_tokens, index.problems) == (None, ())


def test_frontmatter_takes_blanks_comments_quotes_and_the_first_of_two_keys() -> None:
    keys = ('name: "a: b"', "empty:", "half: 'x", "on: no", "name: c", "状态: 活跃")
    text = "\n".join(("--- ", "", "# note", "  # note", *keys, "---", "name: d"))
    index = parse_index(text, OPS)
    assert index.meta == {"name": "a: b", "empty": "", "half": "'x", "on": "no", "状态": "活跃"}
    assert rules_broken(index) == [("duplicate-key", 9)]


TABLE = "| Scenario | File |\n|---|---|\n| a | notes.md |\n"


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        (f"---\n{TABLE}---\n", []),
        (f"---\n\nNewest first.\n\n---\n{TABLE}", []),
        (f"---\n# Title\n---\n{TABLE}", []),
        (f"---\n---\n{TABLE}", []),
        (f"---\ntype: x\n{TABLE}", ["bad-frontmatter"]),
        (f"---\ntype: x\ntags:\n  - a\n---\n{TABLE}", ["bad-frontmatter"]),
        (f"---\ntype: x\nsee http://example.org\n---\n{TABLE}", ["bad-frontmatter"]),
        ("---\ntype: x", ["bad-frontmatter"]),
        (f"\n---\ntype: x\n---\n{TABLE}", []),
        (f" ---\ntype: x\n---\n{TABLE}", []),
        (f"----\ntype: x\n----\n{TABLE}", []),
    ],
)
def test_an_unclosed_or_nested_block_is_a_rule_line_and_swallows_nothing(text: str, broken: list[str]) -> None:
    index = parse_index(text, OPS)
    assert index.meta == {}
    assert len(index.routes) == ("notes.md" in text)
    assert [problem.rule for problem in index.problems] == broken


@pytest.mark.parametrize(
    "heading",
    [
        "# Hard Rules",
        "### 2. HARD RULE (never break)",
        "## hard-rules ##",
        "## Ｈａｒｄ Ｒｕｌｅｓ",
        "Hard Rules\n==========",
        "Hard Rules\n---",
        "**Hard Rules**",
        "**Hard Rules:**",
        "**Hard Rules**: ",
        "__Hard Rules__ (all of us)",
        "## 🔒 硬性规则",
        "##硬规则",
        "## 铁律",
        "## 鐵律",
        "## ハードルール",
        "## 厳守事項",
        "## 강제 규칙",
        "## Harte Regeln",
        "## Reglas estrictas",
        "## Règles strictes",
        "## Жесткие правила",
    ],
)
def test_hard_rules_are_the_items_under_a_heading_or_bold_line_that_names_them(heading: str) -> None:
    items = "These hold:\n\n- one\n* two\n+ three\n1. four\n"
    text = f"# Index\n- no rule\n\n{heading}\n\n{items}\n## Next\n- no rule\n"
    assert parse_index(text, OPS).hard_rules == ("one", "two", "three", "four")


@pytest.mark.parametrize(
    "heading",
    [
        "## Shard Rules",
        "## Rules",
        "Hard Rules",
        "- **Hard Rules**",
        "**Hard Rules** are below",
        "#hard rules",
    ],
)
def test_other_lines_start_no_hard_rules(heading: str) -> None:
    assert parse_index(f"{heading}\n- one\n", OPS).hard_rules == ()


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("- one\n  more\nand more\n- two", ("one more and more", "two")),
        ("- one\n\n  second paragraph\n\nno part of it\n- two", ("one second paragraph", "two")),
        ("- one\n  - nested\n-\n- `a  |  b`", ("one", "nested", "`a | b`")),
        ("- one\n---\n- two\n***\n- three", ("one", "two", "three")),
        ("> - one\n> - two", ("one", "two")),
        ("Never print keys.\n\nAsk first.\nBe kind.\n---\n", ("Never print keys.", "Ask first.", "Be kind.")),
        ("- one\n**Bold**\n- two", ("one **Bold**", "two")),
        ("- one\n\n| a | b |\n|---|---|\n- two", ("one",)),
        ("- one\n# Next\n- two", ("one",)),
        ("- one\n\nNext\n====\n- two", ("one",)),
        ("- one\n## More hard rules\n- two", ("one", "two")),
        ("- one\n<!-- - hidden -->\n- two <!-- note -->", ("one", "two")),
        ("- one\n```\n- code\n```\n- two", ("one", "two")),
        ("", ()),
    ],
)
def test_hard_rules_join_continuations_and_end_at_the_next_heading_or_table(body: str, rules: tuple[str, ...]) -> None:
    assert parse_index(f"## Hard Rules\n{body}", OPS).hard_rules == rules


def test_hard_rules_under_a_bold_line_end_at_the_next_bold_line() -> None:
    text = "**Hard Rules**\n- one\n\n**Notes**\n- two\n\n**铁律：**\n- three\n"
    assert parse_index(text, OPS).hard_rules == ("one", "three")


@pytest.mark.parametrize(
    "hidden",
    [
        "```\n{}```\n",
        "~~~~ md\n~~~\n{}~~~~\n",
        "- ```md\n{}  ```\n",
        "<!--\n{}-->\n",
        "Old: <!--\n{}-->\n",
        "<!-- one -->\n<!-- {} -->\n",
    ],
)
def test_tables_in_code_fences_and_comments_do_not_count(hidden: str) -> None:
    text = hidden.format("| Scenario | File |\n|---|---|\n| x | hidden.md |\n") + "\n" + TABLE
    index = parse_index(text, OPS)
    assert [route.path for route in index.routes] == ["notes.md"]
    assert index.problems == ()


def test_a_fence_that_never_closes_hides_the_rest_and_is_reported() -> None:
    index = parse_index(f"text\n\n~~~\n```\n{TABLE}", OPS)
    assert index.routes == ()
    assert rules_broken(index) == [("unclosed-block", 3)]


def test_a_row_commented_out_leaves_the_rows_below_it() -> None:
    text = TABLE + "<!-- | b | old.md | -->\n| c | new.md |\n"
    assert [(route.path, route.line) for route in routes(text)] == [("notes.md", 3), ("new.md", 5)]


def test_conflict_marks_are_reported_and_both_sides_are_read() -> None:
    text = TABLE + "<<<<<<< HEAD\n| b | b.md |\n||||||| base\n=======\n| c | c.md |\n>>>>>>> branch\n| d | d.md |"
    index = parse_index(text, OPS)
    assert [route.path for route in index.routes] == ["notes.md", "b.md", "c.md", "d.md"]
    assert rules_broken(index) == [("merge-conflict", line) for line in (4, 6, 7, 9)]


@pytest.mark.parametrize("mark", ["<<<<<<< HEAD", ">>>>>>> branch", "======="])
def test_one_mark_left_over_is_enough(mark: str) -> None:
    assert rules_broken(parse_index(f"# A\n\ntext\nmore text\n{mark}\n", OPS)) == [("merge-conflict", 5)]


@pytest.mark.parametrize(
    "text",
    [
        "```\n<<<<<<< HEAD\n=======\n>>>>>>> x\n```\n",
        "Routing\n=======\n",
        "========\n",
        "<<<<<<<<\n",
        "||||||| x\n",
        "a <<<<<<< b\n",
    ],
)
def test_no_conflict_in_fences_and_headings(text: str) -> None:
    assert parse_index(text, OPS).problems == ()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_byte_order_mark_and_line_ends_change_nothing(end: str, mark: str) -> None:
    assert parse_index(mark + FULL.replace("\n", end), OPS) == parse_index(FULL, OPS)


def test_a_missing_last_line_end_changes_nothing() -> None:
    assert parse_index(FULL.rstrip("\n"), OPS) == parse_index(FULL, OPS)


def test_escaped_pipes_and_pipes_in_code_spans_split_as_github_does() -> None:
    assert row(r"| `a \| b` \| c | notes.md | P1 |").scenarios == ("a | b | c",)
    assert row("| `a | notes.md | P1` |").path == "notes.md"


def test_long_lines_are_read_and_longer_ones_reported() -> None:
    long = "词" * 5_800
    assert row(f"| {long} | notes.md | P1 |").scenarios == (long,)
    text = TABLE + f"| {'x' * LIMITS.line_chars} | x.md |\n| b | b.md |\n"
    index = parse_index(text, OPS)
    assert [(route.path, route.line) for route in index.routes] == [("notes.md", 3), ("b.md", 5)]
    assert rules_broken(index) == [("line-too-long", 4)]


def test_rows_past_the_limit_are_reported_once() -> None:
    index = parse_index(TABLE + "| b | b.md |\n" * (LIMITS.routes + 5), OPS)
    assert len(index.routes) == LIMITS.routes
    assert rules_broken(index) == [("too-many-routes", LIMITS.routes + 3)]


def test_rows_of_tables_past_their_limit_are_reported() -> None:
    other = "| A | B |\n|---|---|\n" + "| x | y |\n" * MAX_ROWS
    index = parse_index(f"{other}\n{TABLE}", OPS)
    assert index.routes == ()
    assert rules_broken(index) == [("too-many-rows", 0)]


def test_problems_are_bounded_and_the_rest_counted() -> None:
    index = parse_index(">>>>>>> x\n" * (MAX_PROBLEMS + 7), OPS)
    assert len(index.problems) == MAX_PROBLEMS + 1
    assert index.problems[-1].text.startswith("7 ")


PARTS = st.sampled_from(
    (
        *(
            "---",
            "memory_budget: 9",
            "## Hard Rules",
            "**Hard Rules**",
            "- item",
            "===",
            "```",
            "~~~",
            "<!--",
            "-->",
        ),
        *(
            "| Scenario | File | Priority |",
            "|---|---|---|",
            "|",
            "`",
            "``",
            "\\",
            "\\|",
            "[a](",
            ")",
            "(",
            "](",
        ),
        *(
            "../",
            "/",
            "~",
            "%2e",
            "%",
            "memory/",
            "groups/",
            "ops/",
            "main/",
            "attention.md",
            "C:",
            ":",
            "P0",
            "P2-L3",
        ),
        *(
            "*",
            "**",
            ",",
            "、",
            "[DEPRECATED]",
            "<<<<<<< a",
            "=======",
            "\n",
            "\n",
            "\r",
            "\r\n",
            " ",
            "\t",
            "\ufeff",
        ),
        *("\x00", "\udcff", "．．／", "\u202e", "\u0301\u0323", "场景", "文件", "x"),
    )
)
TEXTS = st.one_of(st.text(st.characters(codec=None), max_size=200), st.lists(PARTS, max_size=40).map("".join))
CELLS = st.one_of(st.text(st.characters(codec=None), max_size=60), st.lists(PARTS, max_size=12).map("".join))


def assert_inside(path: str, scope: Scope) -> None:
    """The path names something below the scope's directory, however it is joined."""
    if path:
        whole = posixpath.normpath(posixpath.join(scope.directory, path))
        assert whole == f"{scope.directory}/{path}"
        assert not set(path.split("/")) & {"", ".", ".."}
        assert not set(path) & {"\\", "\x00", "\n"}
        assert not path.startswith(("/", "~"))
        path.encode("utf-8")


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.sampled_from(SCOPES))
def test_any_text_gives_an_index_whose_routes_stay_inside(text: str, scope: Scope) -> None:
    index = parse_index(text, scope)
    assert index == parse_index(text, scope)
    lines = text.count("\n") + text.count("\r") + 1
    for route in index.routes:
        assert_inside(route.path, scope)
        assert bool(route.path) != bool(route.problem)
        assert 0 < route.line <= lines
    assert all(0 <= problem.line <= lines and problem.text.isprintable() for problem in index.problems)


@settings(max_examples=300, deadline=None)
@given(CELLS, st.sampled_from(SCOPES))
def test_no_cell_leads_out_of_the_scopes_directory(cell: str, scope: Scope) -> None:
    path, problem = resolve_row_path(cell, scope)
    assert_inside(path, scope)
    assert bool(path) != bool(problem)


@settings(max_examples=200, deadline=None)
@given(CELLS.filter(lambda text: not set(text) & set("\r\n\\")), st.sampled_from(SCOPES))
def test_no_row_leads_out_of_the_scopes_directory(cell: str, scope: Scope) -> None:
    for route in routes(f"| Scenario | File |\n|---|---|\n| a | {cell} |\n", scope):
        assert_inside(route.path, scope)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(PARTS.filter(lambda part: not set(part) & set("\r\n")), max_size=30),
    st.sampled_from(["\r\n", "\r"]),
)
def test_line_ends_never_change_an_index(parts: list[str], end: str) -> None:
    assert parse_index(end.join(parts), OPS) == parse_index("\n".join(parts), OPS)


@settings(max_examples=200, deadline=None)
@given(CELLS)
def test_alternatives_are_never_blank(cell: str) -> None:
    assert all(alternative and alternative == alternative.strip() for alternative in split_alternatives(cell))
