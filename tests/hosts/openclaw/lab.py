"""A gateway with our hooks and a workspace full of canaries, and people and groups who were never met before.

One gateway serves all tests, since it takes half a minute to start. What a test does stays in its own chats: it takes
new ones from here. The owner's memory is one, whoever of the owner's accounts writes.
"""

from __future__ import annotations

import itertools
import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from apm_hooks.records import Scope, ScopeKind

from ..claude import wait_for
from ..flushes import Outcomes, outcomes
from ..workspace import DM_ATTENTION, DM_INDEX, Group, Workspace
from .host import OpenClaw, Turn
from .model import Kind, Request
from .telegram import Chat

OWNERS = tuple(range(7001, 7041))
GROUPS = tuple(Group(f"crew-{number:02}", f"-10017345{number:05}") for number in range(60))
DM_START = {DM_INDEX, DM_ATTENTION}
HOST_FLUSH_AT = 178_500
COMPACTION_AT = 191_000
_TAKEN_OVER = "[reload] config change detected"
_NEVER_DUE = {"kind": "cron", "expr": "0 0 29 2 *"}
_PRIVATE = re.compile(r"agent:main:(?:(?:telegram:)?(?:default:)?direct|main:thread):(\d+)(?::.*)?")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody with a Telegram account, and their own chat with the bot."""

    id: int

    @property
    def chat(self) -> Chat:
        return Chat(self.id)

    @property
    def key(self) -> str:
        return f"agent:main:telegram:direct:{self.id}"


class Lab:
    """The running gateway, its memory, and a supply of people and groups."""

    def __init__(self, host: OpenClaw, memory: Workspace) -> None:
        self.host = host
        self.memory = memory
        self._owners = iter(OWNERS)
        self._strangers = itertools.count(9001)
        self._groups = iter(GROUPS)
        self._unmapped = itertools.count(500)
        self.works_for: dict[str, str] = {}
        """A subagent's or a job's session, and the one whose memory it may reach."""

    @property
    def owners_files(self) -> set[str]:
        """The memory files of the owner."""
        return {path for path in self.memory.canaries if not path.startswith("memory/groups/")}

    def files_of(self, group: Group) -> set[str]:
        """The memory files of a group."""
        return {path for path in self.memory.canaries if path.startswith((group.index, f"memory/groups/{group.name}/"))}

    def owner(self) -> Person:
        """An account of the owner's that has not written yet."""
        return Person(next(self._owners))

    def stranger(self) -> Person:
        """Somebody else."""
        return Person(next(self._strangers))

    def group(self) -> Group:
        """A mapped group with memory."""
        return next(self._groups)

    def unmapped(self) -> Group:
        """A group that nobody gave a name."""
        return Group("unmapped", f"-10099900{next(self._unmapped)}")

    def dm(self, person: Person, text: str) -> Turn:
        """A message to the bot in private."""
        return self.host.say(person.chat, person.id, text)

    def post(self, group: Group, text: str, *, topic: int = 0, sender: int = 9000) -> Turn:
        """A message of somebody in a group."""
        return self.host.say(Chat(int(group.id), topic), sender, text)

    def seen(self, requests: Iterable[Request] | Turn) -> set[str]:
        """The memory files of which something stands in the requests."""
        return self.memory.seen_in(requests.requests if isinstance(requests, Turn) else requests)

    def requests_of(self, kind: Kind, after: Turn, count: int) -> list[Request]:
        """What the model was asked behind a turn, once there are so many requests of that kind."""
        begin = after.requests[-1].number

        def found() -> list[Request]:
            return [each for each in self.host.model.requests[begin:] if each.kind is kind]

        wait_for(lambda: len(found()) >= count, f"{count} {kind} requests")
        return found()

    def add_job(self, text: str, *, isolated: bool) -> tuple[str, str]:
        """A job of the host's scheduler, in a session of its own or as a reminder in the main one: its id, and a word
        of its message."""
        word = f"job-{secrets.token_hex(4)}"
        told = f"{text}\n::say {word}"
        payload = {"kind": "agentTurn", "message": told} if isolated else {"kind": "systemEvent", "text": told}
        target = {"sessionTarget": "isolated", "delivery": {"mode": "none"}} if isolated else {"sessionTarget": "main"}
        job = {"name": word, "schedule": _NEVER_DUE, "wakeMode": "now", "payload": payload, **target}
        return str(self.host.ask_gateway("cron.add", **job)["id"]), word

    def run_job(self, id_: str, word: str, count: int = 1) -> list[Request]:
        """Let the host run a job, and return the requests with `word` in their prompt once there are so many."""
        begin = len(self.host.model.requests)
        self.host.ask_gateway("cron.run", id=id_, mode="force")
        return self.asked_with(word, begin, count)

    def asked_with(self, word: str, begin: int, count: int) -> list[Request]:
        """The requests after the first `begin` with `word` in their prompt, once there are so many."""

        def found() -> list[Request]:
            return [each for each in self.host.model.requests[begin:] if word in each.prompt]

        wait_for(lambda: len(found()) >= count, f"{count} requests with {word}")
        return found()

    def strangers_told(self) -> list[tuple[str, str]]:
        """Each conversation of a group or a stranger, and each file of somebody else's that its model was given."""
        own = {group.key: self.files_of(group) for group in GROUPS}
        found = set()
        for request in self.host.model.requests:
            key = self.works_for.get(request.session_key, request.session_key).partition(":topic:")[0]
            if not is_owners(key):
                found |= {(key, path) for path in self.seen([request]) - own.get(key, set())}
        return sorted(found)

    def renew(self, chat: Chat, sender: Person) -> None:
        """Begin the conversation anew: for sessions that several chats share."""
        self.host.command(chat, sender.id, "/new", "New session")

    @contextmanager
    def reconfigured(self, **parts: Any) -> Iterator[None]:
        """The host with other settings for a while; it takes them over as it runs."""
        before = self.host.config_file.read_text("utf-8")
        self._rewrite(lambda: self.host.change_config(**parts))
        try:
            yield
        finally:
            self._rewrite(lambda: self.host.config_file.write_text(before, "utf-8"))

    def _rewrite(self, change: Callable[[], object]) -> None:
        times = self.host.log().count(_TAKEN_OVER)
        change()
        wait_for(lambda: self.host.log().count(_TAKEN_OVER) > times, "the host to read its settings")


def is_owners(key: str) -> bool:
    """Whether a conversation is the owner's; one without a name is a turn of the host's own."""
    found = _PRIVATE.fullmatch(key)
    return int(found[1]) in OWNERS if found else key in ("", "agent:main:main")


def told(request: Request) -> list[str]:
    """Our part of the system prompt, block by block."""
    return re.findall(r"<apm-memory-.*?</apm-memory-\w+>", request.system, re.DOTALL)


def flushes_since(lab: Lab, scope: Scope, before: Outcomes) -> list[tuple[str, str]]:
    """Trigger and outcome of each flush of a scope that came after `before`."""
    known = {number for number, _, _ in before}
    return [(trigger, outcome) for number, trigger, outcome in outcomes(lab.memory, scope) if number not in known]


def wait_for_flushes(lab: Lab, scope: Scope, before: Outcomes, wanted: list[tuple[str, str]]) -> None:
    """Wait until the scope's state says so: a turn is over for the host a moment after its answer."""
    wait_for(lambda: flushes_since(lab, scope, before) == wanted, f"{wanted} in the state of {scope}")


def scope_of(group: Group) -> Scope:
    return Scope(ScopeKind.GROUP, group.name)


def call(tool: str, **arguments: object) -> str:
    """The line of a script that calls a tool."""
    return f"::tool {tool} {json.dumps(arguments, ensure_ascii=False)}\n"
