"""How far the token estimate lies from the exact count, per kind of text: ratio estimate / exact.

    python benchmarks/tokens.py [--windows 200] [--json]

The texts are generated from the word lists below with a fixed seed, cut into windows of 400 to 6,000 characters, so
that the figures are the same on every machine. `below` is the part of windows whose estimate is under the exact
count, in percent.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable
from statistics import median, quantiles

from apm_hooks.tokens import estimate_counter, load_counter

ENGLISH_WORDS = """
the a and of to in is was for with on that this it we they after before because not are by but from as has will at no
so do more can one all new now our out up use who the a and of to in is for with on that we server channel meeting
decision deployment weekly owner reviewed status blocked pending release version rollback database migration customer
feedback agreed postponed environment certificate expired renewed monitoring dashboard latency threshold configuration
documentation translation onboarding responsibilities infrastructure unfortunately approximately investigated notebook
Alice Bob Berlin Tuesday March API JSON quarterly budget summary follow-up don't wasn't
"""
CHINESE_WORDS = """
我们 他们 部署 服务器 频道 会议 决定 每周 负责人 已经 完成 状态 等待 发布 版本 回滚 数据库 迁移 客户 反馈 同意 推迟
环境 证书 过期 更新 监控 面板 延迟 阈值 配置 文档 翻译 培训 职责 基础设施 遗憾 大约 调查 笔记 因为 所以 但是 如果
然后 目前 需要 确认 关于 问题 解决 方案 经验 教训 在 的 了 和 是 不 也 都 就 把 被 对 从 到
"""
NAME_WORDS = """
load save parse render index session scope ledger budget route flush state config handler request response user group
memory count value result items path name key error message
"""
ENGLISH, CHINESE, NAMES = (words.split() for words in (ENGLISH_WORDS, CHINESE_WORDS, NAME_WORDS))


def identifier(rnd: random.Random) -> str:
    words = rnd.sample(NAMES, rnd.randint(1, 3))
    return "_".join(words) if rnd.random() < 0.6 else words[0] + "".join(word.title() for word in words[1:])


def label(rnd: random.Random) -> str:
    return rnd.choice((
        f"2026-{rnd.randint(1, 12):02d}-{rnd.randint(1, 28):02d}", f"PROJ-{rnd.randint(1, 9999)}",
        f"v{rnd.randint(0, 9)}.{rnd.randint(0, 40)}.{rnd.randint(0, 99)}", f"{rnd.getrandbits(64):016x}",
        f"https://example.org/{rnd.choice(NAMES)}/{rnd.randint(1, 99999)}", f"{rnd.random() * 1000:.2f}", "P1", "✅",
    ))  # fmt: skip


def english(rnd: random.Random) -> str:
    words = [rnd.choice(ENGLISH) for _ in range(rnd.randint(5, 18))]
    return " ".join(words).capitalize() + rnd.choice((". ", ". ", ", ", "; ", ".\n\n"))


def chinese(rnd: random.Random) -> str:
    words = "".join(rnd.choice(CHINESE) for _ in range(rnd.randint(4, 14)))
    return words + rnd.choice(("，", "，", "。", "。\n", "；", "："))


def code(rnd: random.Random) -> str:
    name, other, third = (identifier(rnd) for _ in range(3))
    return rnd.choice((
        f"def {name}({other}: str, *, {third}: int = {rnd.randint(0, 99)}) -> None:\n    '{english(rnd).strip()}'\n",
        f"    if {name} is None or {other}.{third}[{rnd.randint(0, 9)}] != 'x':\n        return {name}\n",
        f"        {name} = [{other}({third}) for {third} in self.{rnd.choice(NAMES)}.items()]\n",
        f"const {name} = await {other}({{ {third}: '{rnd.choice(NAMES)}', ok: true }});\n",
        f"    # {english(rnd).strip()}\n\n",
    ))  # fmt: skip


def table(rnd: random.Random, words: list[str], glue: str) -> str:
    columns = rnd.randint(2, 6)
    rows = [[rnd.choice(words) for _ in range(columns)], ["---"] * columns]
    rows += [
        [label(rnd) if rnd.random() < 0.4 else glue.join(rnd.choice(words) for _ in range(rnd.randint(1, 5)))
         for _ in range(columns)]
        for _ in range(rnd.randint(3, 15))
    ]  # fmt: skip
    return "".join(f"| {' | '.join(row)} |\n" for row in rows) + "\n"


def document(rnd: random.Random) -> str:
    entry = {
        identifier(rnd): rnd.choice((english(rnd).strip(), label(rnd), rnd.randint(0, 9999), None, True,
                                     [rnd.choice(ENGLISH), rnd.random()], {rnd.choice(NAMES): chinese(rnd).strip()}))
        for _ in range(rnd.randint(2, 8))
    }  # fmt: skip
    return json.dumps(entry, ensure_ascii=False, indent=rnd.choice((None, 2))) + "\n"


KINDS: dict[str, Callable[[random.Random], str]] = {
    "English": english,
    "Chinese": chinese,
    "code": code,
    "tables en": lambda rnd: table(rnd, ENGLISH, " "),
    "tables zh": lambda rnd: table(rnd, CHINESE, ""),
    "JSON": document,
}


def ratios(encoding: str, windows: int, cache_dir: str) -> dict[str, dict[str, float]]:
    """Per kind: the median ratio, its first and last percentile, and the part of windows below, in percent."""
    exact, estimate = load_counter(encoding, cache_dir=cache_dir), estimate_counter(encoding)
    if not exact.exact:
        sys.exit(exact.warning)
    found = {}
    for kind, piece in KINDS.items():
        rnd = random.Random(f"{kind} {encoding}")  # noqa: S311
        text = "".join(piece(rnd) for _ in range(1200))
        values = []
        for _ in range(windows):
            size = rnd.randint(400, 6000)
            start = rnd.randrange(len(text) - size)
            window = text[start : start + size]
            values.append(estimate(window) / exact(window))
        cuts = quantiles(values, n=100)
        below = 100 * sum(value < 1 for value in values) / windows
        found[kind] = {"median": median(values), "p1": cuts[0], "p99": cuts[-1], "below": below}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Ratio of the token estimate to the exact count.")
    parser.add_argument("--windows", type=int, default=200, help="windows per kind")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = {name: ratios(name, options.windows, f"{folder}/ranks") for name in ("o200k_base", "cl100k_base")}
    if options.json:
        print(json.dumps(found, indent=2))
        return
    print(f"{'encoding':12} {'kind':10} {'median':>7} {'p1':>6} {'p99':>6} {'below':>7}")
    for encoding, kinds in found.items():
        for kind, row in kinds.items():
            print(
                f"{encoding:12} {kind:10} {row['median']:7.2f} {row['p1']:6.2f} {row['p99']:6.2f} {row['below']:6.1f}%"
            )


if __name__ == "__main__":
    main()
