"""The main job on a sample workspace: whose conversation is it, what is loaded for it, why, at what token cost.

Makes a workspace in a temporary folder with the real commands (the owner's memory, an English and a Chinese group),
then lets the installed hook line answer a session start for each conversation, as a host would.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from apm_hooks.cli.common import table

SAMPLES: dict[str, str] = {
    "memory/main/index.md": """---
type: dm
memory_budget: 900
---
# Index of the owner's memory

## Hard Rules
- MEMORY.md stays lean.

| scenario | file | priority |
|---|---|---|
| current tasks, blockers | attention.md | P0 |
| tax, invoices, accountant | projects/tax.md | P3 |
| decisions, preferences | longterm.md | P1 |
""",
    "memory/main/attention.md": "# Attention\n\n- The tax return is due on 12 May.\n"
    + "".join(f"- Old item {number}, done long ago and kept only to show a cut.\n" for number in range(120))
    + "- Correction: the tax return is due on 31 May.\n",
    "memory/main/projects/tax.md": "# Tax\n\nThe accountant is Ms Weber.\n",
    "memory/groups/support.md": """---
group_name: support
---
# Support

| scenario | file | priority |
|---|---|---|
| on call, incident, outage | attention.md | P0 |
| people, who is responsible | people.md | P3 |
""",
    "memory/groups/support/attention.md": "# Attention\n\nOn call this week: Ines.\n",
    "memory/groups/support/people.md": "# People\n\n- Ines: incidents\n",
    "memory/groups/研发群.md": """---
group_name: 研发群
---
# 研发群

## 硬性规则
- 不讨论其他群的内容。

| 场景 | 文件 | 优先级 |
|---|---|---|
| 部署、发布、上线 | project.md | P1 |
| 谁负责、联系人 | people.md | P3 |
""",
    "memory/groups/研发群/project.md": "# 项目\n\n每周四下午发布。\n",
    "memory/groups/研发群/people.md": "# 成员\n\n- 小林:发布负责人\n",
}

CONVERSATIONS: tuple[tuple[str, str, str], ...] = (
    ("the owner", "agent:main:main", "when is the tax return due, and what did the accountant say?"),
    ("group support", "agent:main:telegram:group:-1001", "who is on call?"),
    ("group 研发群", "agent:main:telegram:group:-1002:topic:7", "这周的发布谁负责?"),
    ("a group that nobody mapped", "agent:main:telegram:group:-1999", "show me the owner's notes"),
    ("a stranger's direct chat", "agent:main:telegram:direct:4711", "what is due in May?"),
    ("a cron job", "agent:main:cron:nightly:run:1", "summarise the day"),
    ("a name set but empty", "", "hello"),
)


def main() -> int:
    home = Path(tempfile.mkdtemp(prefix="apm-hooks-demo-"))
    try:
        return show(home)
    finally:
        shutil.rmtree(home)


def show(home: Path) -> int:
    workspace = home / "bot"
    env = {"PATH": os.environ.get("PATH", ""), "HOME": str(home)}
    for path, text in SAMPLES.items():
        file = workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    print("A workspace with the owner's memory and two groups:\n")
    apm(env, workspace, "init")
    apm(env, workspace, "group", "add", "support", "--id", "-1001")
    apm(env, workspace, "group", "add", "研发群", "--id", "-1002")
    groups = json.loads(apm(env, workspace, "group", "list", "--json"))["groups"]
    print(table(("group", "id"), [(group["name"], group["id"]) for group in groups], indent="  "))
    failed = 0
    for title, key, message in CONVERSATIONS:
        seen = json.loads(apm(env, workspace, "explain", "--json", "--session", key, "--message", message))
        print(f"\n{title}   {key or '(empty)'}\n  scope   {seen['scope'] or 'none'}: {seen['detail']}")
        rows = [(step["step"], step["file"] or "-", step["verdict"], step["tokens"] or "-", brief(step["reason"]))
                for step in seen["steps"]]  # fmt: skip
        print(table(("step", "file", "verdict", "tokens", "why"), rows, indent="  "))
        route = seen["route"]
        routed = f"{route['file']} (by: {', '.join(route['words'])})" if route else "nothing"
        print(f"  message “{message}” → {routed}")
        print(f"  tokens  {seen['tokens']} of {seen['budget']}")
        failed += injected(env, workspace, key) != bool(seen["scope"])
    print(f"\nThe same through the installed hook line, as a host calls it: "
          f"{len(CONVERSATIONS) - failed} of {len(CONVERSATIONS)} agree.")  # fmt: skip
    return 1 if failed else 0


def brief(reason: str) -> str:
    return reason if len(reason) <= 60 else reason[:57] + "…"


def apm(env: Mapping[str, str], workspace: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "apm_hooks", *arguments, "--workspace", str(workspace)]
    return subprocess.run(command, env=dict(env), check=True, capture_output=True, text=True).stdout


def injected(env: Mapping[str, str], workspace: Path, key: str) -> bool:
    """True where a session start of this conversation puts memory before the model."""
    line = subprocess.run(
        [sys.executable, "-m", "apm_hooks", "hook-command", "--host", "claude-code"],
        env=dict(env), check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": f"demo-{key}",
             "cwd": str(workspace)}  # fmt: skip
    printed = subprocess.run(
        ["sh", "-c", line], input=json.dumps(event), env={**env, "APM_SESSION": key}, check=True,
        capture_output=True, text=True,
    ).stdout  # fmt: skip
    answer: dict[str, Any] = json.loads(printed) if printed else {}
    return "<apm-memory-" in answer.get("hookSpecificOutput", {}).get("additionalContext", "")


if __name__ == "__main__":
    sys.exit(main())
