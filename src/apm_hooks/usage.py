"""How full a model's context may be before memory is written back early (protocol, section 9).

An early flush must come before the host's own compaction: after it, what should have been saved is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from apm_hooks.errors import SettingsError

KEY = "flush_at_percent"
MARGIN_PERCENT = 90
"""So much of the host's own compaction point: between the flush and the compaction a turn must fit."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """From how many `tokens` in the context an early flush is wanted; None: there is no early flush. `adapted`: the
    host compacts so early that the default percentage was lowered."""

    tokens: int | None = None
    adapted: bool = False


def early_threshold(percent: int, window: int | None, compaction_at: int | None, *, chosen: bool) -> Threshold:
    """The threshold for a context of `window` tokens, of a host that compacts by itself at `compaction_at` tokens.

    `percent` (of the window) is `flush_at_percent`; `chosen`: somebody set it. The default adapts: the lower of that
    percentage of the window and 90 % of the compaction point. A chosen one that does not lie below the compaction point
    is refused. Without a known window there is no early flush; a `compaction_at` of None or 0 is not known, and bounds
    nothing.

    Raises SettingsError, whose text shows the sum.
    """
    if not window or window < 0:
        return Threshold()
    wanted = max(window * percent // 100, 1)
    if not compaction_at or compaction_at < 0:
        return Threshold(wanted)
    safe = max(compaction_at * MARGIN_PERCENT // 100, 1)
    if not chosen:
        return Threshold(min(wanted, safe), adapted=safe < wanted)
    if wanted >= compaction_at:
        fits = safe * 100 // window
        remedy = f"Set {KEY} to {fits} or less." if fits else f"Unset {KEY}: no whole percentage lies below that."
        raise SettingsError(
            f"{percent} % of {window:,} tokens is {wanted:,}, but the host compacts at {compaction_at:,}",
            key=KEY,
            remedy=remedy,
        )
    return Threshold(wanted)


def percent_of(tokens: int | None, window: int | None) -> float | None:
    """How full a context is, to a tenth of a percent and at most 100; None where either number is not known."""
    if tokens is None or tokens < 0 or not window or window < 0:
        return None
    return min(round(tokens * 100 / window, 1), 100.0)
