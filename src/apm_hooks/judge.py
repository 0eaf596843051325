"""The gate at work: one tool call, whose it is, what its context holds, and the word on it (protocol, 8)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apm_hooks import gate_texts, images, ledger
from apm_hooks.engine import Engine
from apm_hooks.errors import ApmError
from apm_hooks.events import Verdict
from apm_hooks.fastlane import hash_of, session_name, trusted_roots
from apm_hooks.files import read_bytes
from apm_hooks.gate import judge, judge_prompt
from apm_hooks.gate_case import Situation
from apm_hooks.gate_shut import host_folders
from apm_hooks.ledger import Epoch
from apm_hooks.places import SESSION
from apm_hooks.records import DM, HostEvent, ScopeDecision
from apm_hooks.sessions import Sessions
from apm_hooks.toolcalls import read_call


class Judge:
    """Judges tool calls of sessions in the workspace of `engine`."""

    def __init__(self, engine: Engine, sessions: Sessions) -> None:
        self.engine = engine
        self._sessions = sessions

    def tool_call(self, event: HostEvent, name: str, arguments: Mapping[str, Any], directory: str) -> Verdict:
        """A denial with its reason, or no opinion. What the call will load into the context is noted in the ledger, and
        a file that it would leave with less than half of its text is copied first."""
        decision, epoch, situation = self._situation(event, directory)
        calling = read_call(name, arguments, cwd=situation.cwd, home=situation.home, host=event.host)
        found = judge(calling, situation)
        if found.verdict.deny:
            return found.verdict
        if found.reads and not self._noted(event, decision, epoch, found.reads) and not situation.owner:
            # Without a record no ceiling would hold.
            return Verdict(True, gate_texts.NO_RECORD)
        for path in found.shrinks:
            self._keep(decision, path)
        return found.verdict

    def prompt(self, event: HostEvent, text: str, directory: str) -> Verdict:
        """A refusal with its reason where a prompt mentions what its conversation may not read, or no opinion."""
        return judge_prompt(text, self._situation(event, directory)[2])

    def _situation(self, event: HostEvent, directory: str) -> tuple[ScopeDecision, Epoch, Situation]:
        engine = self.engine
        # A subagent's tools are judged by its parent's scope and ledger: where the host names the parent's session.
        event = replace(event, subagent=False)
        decision = engine.decide(event)
        scope = decision.scope
        name = session_name(event.host, event.session_id, event.session_key)
        epoch = engine.journal.epoch(name, decision)
        env = engine.environment
        home = os.path.abspath(env.get("HOME") or os.path.expanduser("~"))
        roots = trusted_roots(env) or []
        try:
            index = engine.index(scope) if scope is not None else None
        except ApmError:
            index = None
        situation = Situation(
            scope=scope, root=engine.root, roots=tuple(dict.fromkeys((engine.root, *roots))),
            cwd=directory or engine.root, home=home, places=engine.where,
            epoch=epoch if not epoch.begun or epoch.scope == str(scope or "") else Epoch(), index=index,
            open_flush=scope is not None and self._sessions.is_open(scope, name),
            strict=engine.workspace.strict, dm_ceiling=engine.workspace.settings.dm_ceiling,
            own_session=event.session_key,
            bound=event.session_key is not None and env.get(SESSION) == event.session_key,
            hosts=host_folders(env, home),
        )  # fmt: skip
        return decision, epoch, situation

    def _noted(
        self, event: HostEvent, decision: ScopeDecision, epoch: Epoch, reads: tuple[tuple[str, str], ...]
    ) -> bool:
        known = {path for path, _ in epoch.files}
        fresh = tuple(read for read in reads if read[0] not in known)
        if not fresh:
            return True
        entry = ledger.message_entry(
            budget=0, digest="read:" + hash_of(*(path for path, _ in fresh)), tokens=0, files=fresh, tripped=False,
            done=epoch.done, inputs=epoch.inputs, scope=str(decision.scope or ""),
        )  # fmt: skip
        name = session_name(event.host, event.session_id, event.session_key)
        return self.engine.journal.note(name, decision, entry)

    def _keep(self, decision: ScopeDecision, path: str) -> None:
        scope = decision.scope or DM
        try:
            found = read_bytes(self.engine.root, path)
            if found is not None:
                images.keep_image(self.engine.root, scope, path, found[0], limits=self.engine.limits)
        except ApmError as error:
            self.engine.journal.log(error.code, decision, str(error))
