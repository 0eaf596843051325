"""What both protocols share: reading within a scope, fitting into a budget, keeping the trace.

`Loading` is one run of the loader. It reads nothing that the ownership table does not give to its scope, and adds
nothing that does not fit; every decision becomes a step that `explain` can show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from apm_hooks import texts
from apm_hooks.budget import allowance, cut_to_fit
from apm_hooks.errors import MemoryFileError, ScopeError
from apm_hooks.files import MemoryText, read_text
from apm_hooks.injection import render, show_invisible
from apm_hooks.ownership import loads
from apm_hooks.records import LIMITS, Bound, Fragment, Injection, Limits, Scope, Step
from apm_hooks.tokens import TokenCounter


@dataclass(slots=True)
class Loading:
    """One run of the loader for `scope` in the workspace at `root`.

    `budget` is in tokens by `counter`, over everything injected in the epoch, of which `spent_before` is gone
    already; `caps` are the host's own outer bounds.
    """

    root: str
    scope: Scope | None
    counter: TokenCounter
    budget: int
    caps: Sequence[Bound] = ()
    spent_before: int = 0
    limits: Limits = LIMITS
    fragments: list[Fragment] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    tripped: bool = False

    def read(self, step: str, path: str) -> MemoryText | None:
        """The file at `path`, or None where there is none or it cannot be read; both become a step.

        Raises ScopeError for a path that is not this scope's to load: a fault of ours, never of the memory.
        """
        if not loads(self.scope, path):
            raise ScopeError(f"{path} is not {self.scope}'s to load")
        self.inputs.append(path)
        try:
            found = read_text(self.root, path, limits=self.limits)
        except MemoryFileError as error:
            self.steps.append(Step(step, path, "refused", error.cause))
            return None
        if found is None:
            self.steps.append(Step(step, path, "absent", texts.SKIP_NO_FILE))
        return found

    def add(self, step: str, layer: str, path: str, found: MemoryText, *, more_to_come: bool) -> None:
        """Take the file into the injection, whole or cut, within its share of what is left."""
        text = show_invisible(found.text)

        def wrap(content: str) -> str:
            return self._render([*self.fragments, Fragment(layer, content, path, found.digest)])

        before = self.spent()
        cut = cut_to_fit(text, self._bounds(more_to_come), wrap=wrap, path=path, count=self.counter)
        if cut is None:
            self.tripped = True
            self.steps.append(Step(step, path, "skipped", texts.SKIP_NO_ROOM))
            return
        self.fragments.append(Fragment(layer, cut.text, path, found.digest))
        reason = texts.LOADED_WHOLE if cut.whole else texts.LOADED_CUT.format(
            lines=cut.omitted_lines, tokens=cut.omitted_tokens)  # fmt: skip
        if found.note:
            reason = f"{reason}; read as {found.note}"
        self.steps.append(Step(step, path, "loaded", reason, self.spent() - before))

    def say(self, step: str, line: str) -> None:
        """Add a line of our own, if it fits."""
        before = self.spent()
        text = self._render([*self.fragments, Fragment("notice", line)])
        if all(bound.measure(text) <= bound.limit for bound in self._bounds(more_to_come=False)):
            self.fragments.append(Fragment("notice", line))
            self.steps.append(Step(step, "", "said", line, self.spent() - before))
        else:
            self.steps.append(Step(step, "", "skipped", texts.SKIP_NO_ROOM))

    def spent(self) -> int:
        """Tokens of what would be injected now."""
        return self.counter(self._render(self.fragments)) if self.fragments else 0

    def injection(self) -> Injection:
        """The final text with its exact count and a digest that names it in the ledger."""
        from hashlib import blake2b

        text = self._render(self.fragments)
        if not text:
            return Injection()
        digest = blake2b(text.encode(), digest_size=16).hexdigest()
        return Injection(text, self.counter(text), digest, tuple(part.path for part in self.fragments if part.path))

    def _render(self, fragments: Sequence[Fragment]) -> str:
        return render(self.scope, fragments)

    def _bounds(self, more_to_come: bool) -> list[Bound]:
        """The budget and the host's caps as bounds on the whole text; where more may follow, only a share of what
        is left of each may be used."""
        text = self._render(self.fragments)
        bounds = []
        for bound in (Bound("tokens", self.counter, self.budget - self.spent_before), *self.caps):
            used = bound.measure(text) if text else 0
            room = allowance(max(bound.limit - used, 0), self.limits.p_file_share, more_to_come)
            bounds.append(Bound(bound.unit, bound.measure, min(used + room, bound.limit)))
        return bounds
