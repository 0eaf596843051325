"""OpenClaw for tests: a bot's workspace with a canary in every file, and the payloads of its shim."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from apm_hooks.cli import openclaw_hook
from tests.workspaces import Bench, bench

FIXTURES = Path(__file__).parent / "fixtures" / "openclaw"
OWNER, STRANGER = "501", "999"
OPEN = {"dm_scope": "main", "group_scope": "", "allow_from": ["*"], "dm_policy": "open", "memory_flush": None}
ALONE = {**OPEN, "dm_policy": "allowlist", "allow_from": [OWNER]}
"""What the host is set to: everybody may write to the bot, or the owner alone."""

MAIN = "agent:main:main"
OPS = "agent:main:telegram:group:-100777"
CREW = "agent:main:telegram:group:-100888:topic:42"
LOST = "agent:main:telegram:group:-100999"
EFFECTS = "agent:main:internal-session-effects:70ec17c8-317a"

FILES = {
    "memory/main/index.md": "DM",
    "memory/main/attention.md": "DM",
    "memory/main/longterm.md": "DM",
    "MEMORY.md": "DM",
    "memory/2023-11-14.md": "DM",
    "memory/groups/ops.md": "ops",
    "memory/groups/ops/experience.md": "ops",
    "memory/groups/crew.md": "crew",
    "memory/groups/crew/experience.md": "crew",
}
"""Every memory file, and whose it is: its canary is `CANARY-<whose>`."""

_TABLE = "| scenario | file | priority |\n|---|---|---|\n| tides, harbour | {file} | {priority} |\n"


def bot(folder: Path) -> Bench:
    """A trusted workspace of the owner and two groups; the peer `501` is the owner."""
    made = bench(folder, settings=f'owner_peers = ["{OWNER}"]\ntimezone = "UTC"\n')
    for path, whose in FILES.items():
        table = ""
        if path.endswith((f"{whose}.md", "index.md")):
            file, priority = ("longterm.md", "P1") if whose == "DM" else ("experience.md", "P2")
            table = _TABLE.format(file=file, priority=priority)
        made.write(path, f"# Notes\n\nCANARY-{whose}\n\n{table}")
    made.groups({"-100777": "ops", "-100888": "crew"})
    made.trust()
    return made


def fixture(name: str, made: Bench, **more: object) -> dict[str, Any]:
    """A payload of the shim, moved to the workspace; `more` takes the place of what it holds."""
    found: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text())
    return moved(found, made) | more


def moved(payload: dict[str, Any], made: Bench) -> dict[str, Any]:
    """A recorded payload with the workspace of `made` in place of the recorded one."""
    text = json.dumps(payload).replace("/home/user/.openclaw/workspace", str(made.root))
    found: dict[str, Any] = json.loads(text)
    return found


def payload(name: str, made: Bench, **more: object) -> dict[str, Any]:
    """A payload of the event `name` in the owner's session, by its plugin."""
    base = fixture("bootstrap.dm-main", made, hook_event_name=name, config=ALONE, session_id="s1")
    return base | more


def tool(name: str, made: Bench, **arguments: object) -> dict[str, Any]:
    return {"name": name, "arguments": arguments, "directory": str(made.root)}


def answer(made: Bench, given: dict[str, Any]) -> dict[str, Any]:
    """The answer to a payload, checked to be of the shape that the shim takes."""
    found = openclaw_hook.answer({}, given, made.env)
    assert found.keys() <= {"files", "withhold", "context", "deny", "log"}
    assert found.get("withhold", True) is True
    for file in found.get("files", []):
        assert file.keys() == {"name", "path", "content"}
        assert all(isinstance(text, str) and text for text in file.values())
        assert len(file["content"].encode("utf-16-le")) // 2 <= 20_000
    assert all(isinstance(found[name], str) and found[name] for name in found if name not in ("files", "withhold"))
    return found


def content(found: dict[str, Any]) -> str:
    """All that the model is shown by an answer."""
    return "\n".join([*(file["content"] for file in found.get("files", [])), found.get("context", "")])


def log(made: Bench) -> list[dict[str, str]]:
    file = made.root / ".apm/log/apm.log"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def flushes(made: Bench, path: str = "memory/flush-state.json") -> list[tuple[str, str]]:
    """(trigger, outcome) of each flush of a state file."""
    file = made.root / path
    found = json.loads(file.read_text())["apm_hooks"]["flushes"] if file.exists() else []
    return [(each["trigger"], each["outcome"]) for each in found]
