"""An invented workload for the record store: memories put together from word lists, and questions about them.

Seeded, so that every run on every engine does the same work. `memories(n)` are n memories, of which 2 % repeat an
earlier one and 4 % repeat it with a sentence more; `queries()` ask for 100 codes, 100 topics and 100 paraphrases of the
first 1,000; `crossing()` are Chinese memories with English questions that share no word with them.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

SEED = 20_260_822
TYPES = ("fact", "preference", "project", "decision", "solution", "source", "person", "fact", "fact")


def _parts(text: str) -> list[str]:
    return text.split("|")


SUBJECTS = _parts(
    "parser|deploy script|billing job|login page|cache layer|search index|backup disk|mail relay|test suite"
    "|docs site|queue worker|image resizer|feature flag|rate limiter|audit log|session store|chart view"
    "|import tool|export tool|webhook"
)
VERBS = _parts(
    "fails on|must never touch|was moved to|depends on|is owned by|replaces|should ignore|waits for|reads from"
    "|writes to|is slower than|needs a restart after|was tested against|is hidden behind|falls back to"
)
OBJECTS = _parts(
    "the staging bucket|port 8443|UTF-16 files|daylight saving changes|the old schema|the blue cluster|empty rows"
    "|the EU region|nightly vacuum|CRLF line ends|the vendor API|two-factor codes|read replicas|stale tokens"
    "|large PDFs|the Friday freeze|Chinese file names|pipes in tables|the retry budget|unsigned commits"
)
REASONS = _parts(
    "because the vendor asked for it|after the outage in spring|so the on-call person can sleep"
    "|as agreed in the planning call|until the migration is finished|since disk space ran out twice"
    "|because tests were flaky|to keep costs under the limit|for legal reasons|as measured over ten runs"
)
PEOPLE = ("Ana", "Boris", "Chen", "Dalia", "Emre", "Fatima", "Goran", "Hana", "Iris", "Jonas")
TAGS = ("setup", "docker", "coding", "style", "safety", "file-io", "mcp", "postgres", "ai", "personal", "billing",
        "search")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """One memory of the workload, with what its text was made from."""

    key: str
    type: str
    title: str
    content: str
    tags: tuple[str, ...]
    importance: int
    code: str
    subject: str
    object: str
    verb: str
    repeats: str = ""
    """The kind of copy that it is: `exact`, `near`, or none."""

    def arguments(self) -> dict[str, Any]:
        """The arguments of `remember`."""
        return {"content": self.content, "title": self.title, "type": self.type, "importance": self.importance,
                "tags": self.tags}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Query:
    """A question, and the rows that answer it: those with this code, or with this subject and object."""

    kind: str
    text: str
    code: str = ""
    subject: str = ""
    object: str = ""

    def wants(self, title: str, content: str) -> bool:
        """Whether a memory answers the question."""
        if self.code:
            return self.code in title or self.code in content
        return self.subject in title and self.object in title


def memories(count: int) -> list[Row]:
    """The first `count` memories."""
    draw = random.Random(SEED)  # noqa: S311 - the same at each run
    rows: list[Row] = []
    for number in range(count):
        chance = draw.random()
        if number > 50 and chance < 0.06:
            old = rows[draw.randrange(number)]
            kind = "exact" if chance < 0.02 else "near"
            content = old.content if kind == "exact" else f"{old.content} Checked again."
            rows.append(Row(f"m{number}", old.type, old.title, content, old.tags, old.importance, old.code, old.subject,
                            old.object, old.verb, kind))  # fmt: skip
            continue
        subject, verb, thing, why = (
            draw.choice(SUBJECTS),
            draw.choice(VERBS),
            draw.choice(OBJECTS),
            draw.choice(REASONS),
        )
        code = f"ZX{draw.randrange(16**6):06x}"
        content = (
            f"The {subject} {verb} {thing} {why}. {draw.choice(PEOPLE)} noted it under ticket {code}; "
            f"next step is to review {draw.choice(OBJECTS)} with {draw.choice(PEOPLE)}."
        )
        rows.append(Row(f"m{number}", draw.choice(TYPES), f"{subject} {verb} {thing} ({code})", content,
                        tuple(sorted(draw.sample(TAGS, draw.randrange(4)))), draw.choice((1, 2, 3, 3, 3, 4, 4, 5)),
                        code, subject, thing, verb))  # fmt: skip
    return rows


def queries() -> list[Query]:
    """300 questions about the first 1,000 memories."""
    draw = random.Random(7)  # noqa: S311 - the same at each run
    rows = memories(1_000)

    def one() -> Row:
        return rows[draw.randrange(len(rows))]

    out = [Query("code", row.code, code=row.code) for row in (one() for _ in range(100))]
    out += [
        Query("topic", f"{row.subject} {row.object}", subject=row.subject, object=row.object)
        for row in (one() for _ in range(100))
    ]
    out += [
        Query("para", f"what do we know about the {row.subject} when it {row.verb} {row.object}?", subject=row.subject,
              object=row.object)
        for row in (one() for _ in range(100))
    ]  # fmt: skip
    return out


_CROSSING = """
数据库每天凌晨三点做一次全量备份 | When does the nightly full backup of the database run?
前端页面统一使用深色主题 | Which colour scheme do the web pages use?
客户要求发票必须在月底之前寄出 | By when does the client want the bills to be sent?
办公室的无线网络在二楼信号最差 | Where in the office is the wireless reception worst?
新同事入职第一周要参加安全培训 | What training do newcomers attend in their first week?
咖啡机坏了的时候联系行政部的小陈 | Whom should I call if the coffee machine is broken?
所有会议纪要都放在共享文件夹里 | Where are the minutes of meetings kept?
上线之前必须有两个人审核代码 | How many reviewers are needed before a release?
用户不喜欢太长的回答 | Does the user like long answers?
这个项目的预算已经用掉一半 | How much of the project's budget is spent?
下雨天送货会晚到一个小时 | How late are deliveries when it rains?
测试环境的服务器放在法兰克福 | In which city is the test server located?
医生建议他每天走一万步 | How many steps a day did the doctor recommend?
孩子的生日聚会定在公园里 | Where will the child's birthday party take place?
搜索服务在内存不足时会自动重启 | What happens to the search service when memory runs out?
我们用红色标签表示紧急的任务 | Which label marks urgent tasks?
飞机票要提前两个月预订 | How early must plane tickets be booked?
她对花生过敏 | Which food is she allergic to?
手机应用只支持最近三个系统版本 | Which operating system versions does the mobile app support?
仓库的钥匙由保安保管 | Who keeps the key of the warehouse?
"""


def crossing() -> list[tuple[str, str]]:
    """Chinese memories, each with an English question that shares no word with it."""
    pairs = (line.split(" | ") for line in _CROSSING.strip().splitlines())
    return [(memory, question) for memory, question in pairs]


_PARTS = (
    "数据库 全量备份 深色主题 前端 发票 月底 无线网络 二楼 安全培训 入职 咖啡机 会议纪要 共享文件夹 审核代码 预算 送货 "
    "法兰克福 一万步 生日聚会 公园 搜索服务 自动重启 红色标签 紧急 飞机票 花生 过敏 手机应用 钥匙 保安"
)


def han_parts() -> list[tuple[str, str]]:
    """Parts of the Chinese memories, two characters and more, each with the one memory that holds it."""
    out = []
    for part in _PARTS.split():
        (memory,) = [memory for memory, _ in crossing() if part in memory]
        out.append((memory, part))
    return out
