"""Every file of a workspace holds a word of its own. Whatever the workspace, the key and the event: no session sees
another owner's word, in what is injected, in an error, in the log, in `explain` or in `.apm/`."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apm_hooks import fastlane
from apm_hooks.cli import explain, hook
from apm_hooks.errors import ApmError
from tests.workspaces import Bench, bench, event, payload

CANARY = re.compile(r"canary-[a-z]+-\d+")
GROUPS = {"alpha": "-1001", "研发群": "!Room:example.org", "bridge": "C0123"}
OWNER_FILES = (
    "MEMORY.md", "memory/main/index.md", "memory/main/attention.md", "memory/main/longterm.md",
    "memory/main/daily-synced.md", "memory/main/projects/tax.md", "memory/2026-01-01.md", "memory/INDEX.md",
    "memory/notes/a.md", "log/decisions.md", "memory/flush-state.json", "memory/groups/flush-state.json",
)  # fmt: skip
GROUP_FILES = ("{}.md", "{}/attention.md", "{}/project.md", "{}/people.md", "{}/conventions/api.md",
               "{}/flush-state.json")  # fmt: skip

owner_keys = st.sampled_from([None, "agent:main:main", "agent:main:main:thread:5:7", "AGENT:main:MAIN"])
group_keys = st.sampled_from(
    [
        ("alpha", "agent:main:telegram:group:-1001"),
        ("alpha", "agent:main:telegram:group:-1001:topic:42"),
        ("研发群", "agent:main:matrix:channel:!Room:example.org"),
        ("研发群", "agent:main:matrix:channel:!Room:example.org:thread:$ev:example.org"),
        ("bridge", "agent:main:slack:channel:c0123"),
    ]
)
KEPT = ("flush/", "backup/")
"""Copies of a scope's own files, each kept for that scope alone; everything else of ours holds no content."""
stray = st.text(alphabet=":abc!-1@.* groupdirectmain研", max_size=30)
nobody_keys = st.one_of(
    st.just(""),
    st.sampled_from(
        [
            "agent:main:telegram:group:-1999", "agent:main:cron:main", "agent:main:subagent:main", "main",
            "agent:main:internal-session-effects:main", "agent:main:main:heartbeat", "agent:main:telegram:direct:77",
            "agent:main:matrix:channel:!room:example.org", "agent:main:x:group:alpha", "global", "unknown",
        ]
    ),
    stray.map(lambda text: f"agent:main:telegram:group:z{text}"),
    stray.map(lambda text: f"agent:main:discord:channel::direct:main:{text}"),
    stray.map(lambda text: f"agent:main:telegram:direct:z{text}"),
    stray.map(lambda text: f"zz:{text}"),
)  # fmt: skip
sessions = st.one_of(owner_keys.map(lambda key: ("DM", key)), group_keys, nobody_keys.map(lambda key: ("", key)))
rows = st.sampled_from(
    [
        "| current tasks | attention.md | P0 |", "| x | ../main/attention.md | P0 |",
        "| x | ../alpha/attention.md | P1 |",
        "| x | /etc/passwd | P1 |", "| x | memory/main/longterm.md | P1 |", "| x | {}/people.md | P3 |",
        "---", "## Hard Rules", "- rule", "memory_budget: 10", "",
    ]
)  # fmt: skip


def fill(made: Bench, table: list[str], kinds: list[str]) -> dict[str, str]:
    """Put a canary into every file; returns canary → whose it is."""
    owners: dict[str, str] = {}

    def put(path: str, owner: str, word: str) -> None:
        canary = f"canary-{word}-{len(owners)}"
        owners[canary] = owner
        body = "\n".join(["# " + canary, *table, "| scenario | file |", "|---|---|", *table, canary])
        if path.endswith(".json"):
            body = json.dumps({"last_flush_time": None, "pending_items": [canary]})
        kind = kinds[len(owners) % len(kinds)]
        if kind == "absent":
            return
        file = made.write(path, body)
        if kind == "link":
            file.unlink()
            file.symlink_to(made.root / "memory/main/longterm.md")
        elif kind == "folder":
            file.unlink()
            file.mkdir()
        elif kind == "bytes":
            file.write_bytes(b"\xff\x00\x9d" + body.encode() + b"\xff")

    for path in OWNER_FILES:
        put(path, "DM", "owner")
    for name in GROUPS:
        for path in GROUP_FILES:
            put("memory/groups/" + path.format(name), name, "group")
    return owners


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(sessions, min_size=1, max_size=3),
    st.lists(rows, max_size=4),
    st.lists(st.sampled_from(["plain"] * 6 + ["absent", "link", "folder", "bytes"]), min_size=1, max_size=9),
    st.sampled_from(["startup", "resume", "clear", "compact", "fork"]),
    st.booleans(),
)
def test_no_session_sees_another_owners_word(
    chats: list[tuple[str, str | None]], table: list[str], kinds: list[str], source: str, trusted: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = bench(Path(folder), trusted=False)
        owners = fill(made, table, kinds)
        made.groups({id_: name for name, id_ in GROUPS.items()})
        if trusted:
            made.trust()
        for owner, key in chats:
            seen = everything(made, key, source, trusted)
            foreign = {canary for canary in CANARY.findall(seen) if owners[canary] != owner}
            assert not foreign, f"{key!r} saw {foreign}"
            if not owner or not trusted:
                assert not CANARY.findall(seen)
        stored = "\n".join(text for path, text in made.state_files().items() if not path.startswith(KEPT))
        assert not CANARY.findall(stored)


def everything(made: Bench, key: str | None, source: str, trusted: bool) -> str:
    """All that a session of `key` can see: the hook's answer by both tiers, standard error, the trace, the log."""
    env = dict(made.env) if key is None else {**made.env, "APM_SESSION": key}
    data = json.dumps(payload(made, source=source, session_id=f"s-{key}")).encode()
    prompt = json.dumps(
        {**payload(made, session_id=f"s-{key}"), "hook_event_name": "UserPromptSubmit", "prompt": "current tasks, x"}
    ).encode()
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), mock.patch.dict("os.environ", env, clear=True):
        first = hook.answer(["--host", "claude-code"], data, env)
        second = fastlane.answer(["--host", "claude-code"], data, env) or b""
        second += hook.answer(["--host", "claude-code"], prompt, env)
        shown = ""
        if trusted:
            try:
                runtime = made.runtime()
                started, message = runtime.explain(event(key, message="tasks"))
                match = runtime.route(started.decision.scope, "tasks")
                shown = json.dumps(explain.document(runtime, started, message, match))
            except ApmError as error:
                shown = str(error)
    return "\n".join([first.decode(), second.decode(), errors.getvalue(), shown])
