"""A workspace with every kind of memory file, and the situations in which tool calls of its sessions are judged."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from apm_hooks.access import Access, AccessKind, Calling
from apm_hooks.gate import Judgement, Situation, judge
from apm_hooks.gate_shut import host_folders
from apm_hooks.groupmap import read_group_map
from apm_hooks.index import parse_index
from apm_hooks.ledger import Epoch
from apm_hooks.places import places
from apm_hooks.records import DM, HostEvent, Scope
from apm_hooks.scope import ScopeSettings, decide_scope
from apm_hooks.toolcalls import read_call

RULES = "## Hard Rules\n\n- Never deploy on Fridays.\n\n"
OWNERS_INDEX = (
    f"# Index\n\n{RULES}| scenario | file | priority |\n|---|---|---|\n"
    "| tasks | attention.md | P0 |\n| site | projects/site.md | P3 |\n"
)
GROUPS_INDEX = (
    f"# Group\n\n{RULES}| scenario | file | priority |\n|---|---|---|\n"
    "| tasks | attention.md | P0 |\n| lessons | experience.md | P2 |\n| style | conventions/style.md | P2-L3 |\n"
)
GROUP_MAP = '{"-1001": {"name": "alpha", "channel": "telegram"}, "-1002": {"name": "beta", "channel": "telegram"}}'
FILES = {
    "README.md": "readme\n",
    "src/app.py": "print(1)\n",
    "apm.toml": "",
    "MEMORY.md": "memory of the owner\n",
    "memory/main/index.md": OWNERS_INDEX,
    "memory/main/attention.md": "tasks\n",
    "memory/main/longterm.md": "decisions\n",
    "memory/main/projects/site.md": "site\n",
    "memory/2026-03-01.md": "a day\n",
    "memory/INDEX.md": "old index\n",
    "memory/notes/idea.md": "idea\n",
    "memory/flush-state.json": "{}\n",
    "memory/groups/flush-state.json": "{}\n",
    "memory/groups/group_names.json": GROUP_MAP,
    "log/run.txt": "log\n",
    ".apm/ledger/s1.jsonl": "{}\n",
    ".git/refs/heads/main": "0f\n",
    **{f"memory/groups/{name}.md": GROUPS_INDEX for name in ("alpha", "beta")},
    **{
        f"memory/groups/{name}/{file}": f"{file} of {name}\n"
        for name in ("alpha", "beta")
        for file in ("attention.md", "project.md", "experience.md", "people.md", "conventions/style.md",
                     "conventions/names.md", "flush-state.json")
    },
}  # fmt: skip
KEYS = {
    "owner": "agent:main:main",
    "alpha": "agent:main:telegram:group:-1001",
    "topic": "agent:main:telegram:group:-1001:topic:7",
    "beta": "agent:main:telegram:group:-1002",
    "cron": "agent:main:cron:nightly",
    "unmapped": "agent:main:telegram:group:-1009",
    "unknown": "what:is:this",
    "empty": "",
}
"""Who calls, by session key; a subagent's parent is unknown, so it has none."""


@dataclass(frozen=True, slots=True)
class GateBench:
    """A home, the workspace `root` in it, and another trusted one beside it. All paths are real."""

    home: str
    root: str
    other: str

    def situation(self, who: str, loaded: tuple[tuple[str, str], ...] | None = None, **more: Any) -> Situation:
        """How a call of that session is judged, its index loaded; the owner has loaded every index."""
        scope = self.scope(who)
        if loaded is None:
            loaded = tuple((path, "index") for path in self.indexes(scope))
        index = None if scope is None else parse_index(FILES[scope.index_path], scope)
        base = Situation(
            scope=scope, root=self.root, roots=(self.root, self.other), cwd=self.root, home=self.home,
            places=places({"HOME": self.home}), epoch=Epoch(scope=str(scope or ""), files=loaded, begun=True),
            index=index, own_session=KEYS.get(who), bound=True, hosts=host_folders({}, self.home),
        )  # fmt: skip
        return replace(base, **more)

    def indexes(self, scope: Scope | None) -> tuple[str, ...]:
        if scope is None:
            return ()
        return (
            (scope.index_path, "memory/groups/alpha.md", "memory/groups/beta.md")
            if scope == DM
            else (scope.index_path,)
        )

    def scope(self, who: str) -> Scope | None:
        return _scope(who)

    def path(self, path: str) -> str:
        """A path as a tool has it: absolute, in the workspace, the other one (`OTHER/`) or the home (`~/`)."""
        if path.startswith("~/"):
            return f"{self.home}/{path[2:]}"
        if path.startswith("OTHER/"):
            return f"{self.other}/{path[6:]}"
        return path if path.startswith("/") else f"{self.root}/{path}".rstrip("/")

    def access(self, kind: AccessKind, path: str, **more: Any) -> Access:
        return Access(kind, self.path(path), **{"word": path, **more})

    def judge(self, who: str, *accesses: Access, **more: Any) -> Judgement:
        return judge(Calling(accesses), self.situation(who, **more))

    def shell(self, command: str) -> Calling:
        """What a shell command could do, as the gate is told."""
        return read_call("Bash", {"command": command}, cwd=self.root, home=self.home)


@cache
def _scope(who: str) -> Scope | None:
    event = HostEvent("openclaw", "s1", session_key=KEYS.get(who), subagent=who == "subagent")
    return decide_scope(event, ScopeSettings(), read_group_map(GROUP_MAP, file="map")).scope


def gatebench(folder: Path) -> GateBench:
    """Make all of it below `folder`."""
    base = os.path.realpath(folder)
    made = GateBench(f"{base}/home", f"{base}/home/ws", f"{base}/home/other")
    for path, text in FILES.items():
        write(made.path(path), text)
        if path.startswith(("memory/main/", "MEMORY", "README", "memory/groups/alpha", "memory/flush")):
            write(made.path(f"OTHER/{path}"), text)
    write(f"{made.home}/.claude/projects/ws/s1.jsonl", "{}\n")
    write(f"{made.home}/.claude/skills/draw/SKILL.md", "draw\n")
    write(f"{made.home}/.config/apm-hooks/trust.json", "{}\n")
    write(f"{made.home}/notes.txt", "mine\n")
    return made


def write(path: str, text: str) -> None:
    """A file with an old time, so that nobody waits for its writer."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)
    os.utime(path, (1_700_000_000, 1_700_000_000))
