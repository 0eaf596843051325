"""What both protocols share: reading within a scope, fitting into a budget, keeping the trace.

`Loading` is one run of the loader. It reads nothing that the ownership table does not give to its scope, and adds
nothing that does not fit; every decision becomes a step that `explain` can show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from apm_hooks import texts
from apm_hooks.budget import allowance, cut_to_fit
from apm_hooks.errors import MemoryFileError, ScopeError
from apm_hooks.files import MemoryText, read_text
from apm_hooks.injection import render, show_invisible
from apm_hooks.ownership import loads
from apm_hooks.protocol.ceiling import INDEX
from apm_hooks.records import LIMITS, Bound, Fragment, Index, Injection, Limits, Scope, Step


@dataclass(slots=True)
class Loading:
    """One run of the loader for `scope` in the workspace at `root`.

    `budget` is in tokens by `counter`, over everything injected in the epoch, of which `spent_before` is gone
    already; `caps` are the host's own outer bounds. `tripped`: the budget could not take a file. `portion` are limits
    as `shares` gives them, which hold for every file while they are set.
    """

    root: str
    scope: Scope | None
    counter: Callable[[str], int]
    budget: int
    caps: Sequence[Bound] = ()
    spent_before: int = 0
    limits: Limits = LIMITS
    fragments: list[Fragment] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    tripped: bool = False
    portion: Sequence[int] = ()

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

    def add(
        self, step: str, layer: str, path: str, found: MemoryText, *, more_to_come: bool, alone: bool = False,
        share: Sequence[int] = (), trips: bool = True,
    ) -> bool:  # fmt: skip
        """Take the file into the injection, whole or cut; False where not even a marker of it fits.

        Where more may follow in the epoch it gets 70 % of what is left, and as much of a host's cap, which is for each
        answer anew, unless it stands `alone` in this answer. `share` are limits as `shares` gives them: the text up to
        and including this file keeps within them too. A file that the token budget itself cannot take trips the
        breaker, if it `trips`; one that only a share or the host's cap cannot take does not (protocol, section 7).
        """
        text = show_invisible(found.text)

        def wrap(content: str) -> str:
            return self._render([*self.fragments, Fragment(layer, content, path, found.digest)])

        before = self.spent()
        cut = cut_to_fit(text, self._bounds(more_to_come, alone, share), wrap=wrap, path=path, count=self.counter)
        if cut is None and layer == INDEX:
            # The share is for P-files; without its index a scope has no memory at all.
            cut = cut_to_fit(text, self._bounds(False, True, share), wrap=wrap, path=path, count=self.counter)
        if cut is None:
            free = self._budget_bound(reserved=True)
            if trips and cut_to_fit(text, [free], wrap=wrap, path=path, count=self.counter) is None:
                self.tripped = True
            self.steps.append(Step(step, path, "skipped", texts.SKIP_NO_ROOM))
            return False
        self.fragments.append(Fragment(layer, cut.text, path, found.digest))
        reason = texts.LOADED_WHOLE if cut.whole else texts.LOADED_CUT.format(
            lines=cut.omitted_lines, tokens=cut.omitted_tokens)  # fmt: skip
        if found.note:
            reason = f"{reason}; read as {found.note}"
        self.steps.append(Step(step, path, "loaded", reason, self.spent() - before))
        return True

    def take_budget(self, index: Index) -> None:
        """Use the budget that the scope's index sets, if it sets one."""
        if index.budget_tokens is not None:
            self.budget = index.budget_tokens

    def shares(self, part: float) -> list[int]:
        """For the budget and each cap: what the text may come to when `part` of the whole is added to it now."""
        text = self._render(self.fragments)
        return [
            (bound.measure(text) if text else 0) + int((bound.limit + spent) * part)
            for bound, spent in zip(self._outer(), (self.spent_before, *(0 for _ in self.caps)), strict=True)
        ]

    def say(self, step: str, line: str) -> None:
        """Add a line of our own, if it fits."""
        before = self.spent()
        text = self._render([*self.fragments, Fragment("notice", line)])
        if all(bound.measure(text) <= bound.limit for bound in self._outer()):
            self.fragments.append(Fragment("notice", line))
            self.steps.append(Step(step, "", "said", line, self.spent() - before))
        else:
            self.steps.append(Step(step, "", "skipped", texts.SKIP_NO_ROOM))

    def tell(self, step: str, lines: Sequence[str]) -> None:
        """Add lines of our own, one after another, while they take no more than a part of the budget: the rest of it is
        the memory's."""
        for line in lines:
            said = len(self.fragments)
            self.say(step, line)
            if len(self.fragments) == said:
                return
            if self.spent() > self.budget * self.limits.news_share:
                self.fragments.pop()
                self.note(step, "", "skipped", texts.SKIP_NO_ROOM)
                return

    def note(self, step: str, path: str, verdict: str, reason: str) -> None:
        """A decision without text of its own."""
        self.steps.append(Step(step, path, verdict, reason))

    def fits(self) -> bool:
        """True where the text as it stands keeps within the budget and every cap."""
        text = self._render(self.fragments)
        return all(bound.measure(text) <= bound.limit for bound in self._outer()) if text else True

    def files(self) -> tuple[tuple[str, str], ...]:
        """What was taken in so far, as (path, layer)."""
        return tuple((part.path, part.layer) for part in self.fragments if part.path)

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
        return Injection(text, self.counter(text), digest, self.files())

    def _render(self, fragments: Sequence[Fragment]) -> str:
        return render(self.scope, fragments)

    def _budget_bound(self, *, reserved: bool) -> Bound:
        """What is left of the budget; `reserved` keeps back what it costs to say that it is spent, and room for one
        directive to write memory back, so that a full budget never silences a flush."""
        keep = self.counter(texts.BUDGET_SPENT) + self.limits.seam_tokens if reserved else 0
        keep += min(self.limits.directive_tokens, int(self.budget * self.limits.directive_share)) if reserved else 0
        return Bound("tokens", self.counter, self.budget - self.spent_before - keep)

    def _outer(self) -> list[Bound]:
        return [self._budget_bound(reserved=False), *self.caps]

    def _bounds(self, more_to_come: bool, alone: bool, share: Sequence[int]) -> list[Bound]:
        """The budget and the host's caps as bounds on the whole text, with what this file may take of each."""
        text = self._render(self.fragments)
        bounds = []
        for place, bound in enumerate((self._budget_bound(reserved=True), *self.caps)):
            used = bound.measure(text) if text else 0
            follows = more_to_come and not (alone and place)
            room = allowance(max(bound.limit - used, 0), self.limits.p_file_share, follows)
            limit = min(used + room, bound.limit, *share[place : place + 1], *self.portion[place : place + 1])
            bounds.append(Bound(bound.unit, bound.measure, limit))
        return bounds
