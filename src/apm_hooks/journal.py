"""What happened in a workspace: a session's ledger, and the log of what an operator should mend.

Neither is worth a host's turn: what cannot be written is logged, what cannot be logged is let go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from apm_hooks import ledger
from apm_hooks.errors import ApmError
from apm_hooks.ledger import Epoch
from apm_hooks.log import write_log
from apm_hooks.records import Loaded, ScopeDecision


class Journal:
    """The ledgers and the log of the workspace at `root`; `clock` gives the time in seconds since 1970."""

    def __init__(self, root: str, clock: Callable[[], float]) -> None:
        self.root = root
        self.clock = clock
        self._pruned = False

    def epoch(self, name: str, decision: ScopeDecision) -> Epoch:
        """The epoch of session `name` so far; one that has not begun where there is none or it cannot be read."""
        try:
            return ledger.read_epoch(self.root, name)
        except ApmError as error:
            self.log("ledger-unreadable", decision, str(error))
            return Epoch()

    def record(self, name: str, loaded: Loaded, problems: Sequence[ApmError], entry: Mapping[str, object]) -> bool:
        """Log what is wrong with what was loaded and add `entry` to the ledger; False where that cannot be done."""
        decision = loaded.decision
        if decision.scope is None:
            self.log(decision.code, decision, f"{decision.detail}. {decision.remedy}".strip())
        for step in loaded.steps:
            if step.verdict == "refused" and step.path:
                self.log("file-refused", decision, f"{step.path}: {step.reason}")
        for problem in problems:
            self.log(problem.code, decision, str(problem))
        return self.note(name, decision, entry)

    def note(self, name: str, decision: ScopeDecision, entry: Mapping[str, object]) -> bool:
        """Add `entry` to the ledger of session `name`; False where that cannot be done."""
        try:
            ledger.append(self.root, name, entry)
        except ApmError as error:
            self.log("ledger-unwritable", decision, str(error))
            return False
        if not self._pruned:
            self._pruned = True
            ledger.prune(self.root)
        return True

    def report(self, plugin: str, sentence: str) -> None:
        """Log what is wrong with a plugin, under its name."""
        self._write("plugin", "", f"{plugin}: {sentence}")

    def log(self, code: str, decision: ScopeDecision, text: str) -> None:
        """Log one line for the operator: a short stable code, the scope it concerns, what is wrong and what mends."""
        self._write(code, str(decision.scope or ""), text)

    def _write(self, code: str, scope: str, text: str) -> None:
        when = datetime.fromtimestamp(self.clock(), UTC).isoformat(timespec="seconds")
        write_log(self.root, {"when": when, "code": code, "scope": scope, "text": text})
