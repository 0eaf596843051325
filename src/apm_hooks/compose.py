"""Several contributions → one injection under one budget.

The built-in memory comes first where the budget does not suffice for all: what plugins add is fitted into what it left,
and goes again where the whole would pass a bound (counts of parts do not add up to the count of the whole).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256

from apm_hooks import texts
from apm_hooks.events import Contribution
from apm_hooks.files import MemoryText, Stamp
from apm_hooks.protocol.loading import Loading
from apm_hooks.records import Fragment

PLUGIN_LAYER = "plugin"
_NO_STAMP = Stamp(0, 0, 0, 0, 0, 0)


def compose(loading: Loading, base: Contribution, others: Sequence[tuple[str, Contribution]]) -> Loading:
    """Put `base` and the contributions of plugins, as (plugin name, contribution), together in `loading`.

    Order: priority, then plugin name; the base has priority 0 and stands before plugins of the same. A plugin's
    fragment is always fenced and labelled with the plugin's name, so that it cannot pass for memory or for a line of
    ours.
    """
    loading.budget = base.budget_tokens or loading.budget
    loading.fragments = list(base.fragments)
    loading.steps = list(base.steps)
    before = 0
    for name, contribution in sorted(others, key=lambda other: (other[1].priority, other[0])):
        for number, fragment in enumerate(contribution.fragments):
            path = f"plugin:{name}/{fragment.layer or number}"
            file = MemoryText(fragment.text, sha256(fragment.text.encode("utf-8", "replace")).hexdigest(), _NO_STAMP)
            if not loading.add(f"plugin {name}", PLUGIN_LAYER, path, file, more_to_come=False, trips=False):
                continue
            if contribution.priority < 0:
                loading.fragments.insert(before, loading.fragments.pop())
                before += 1
        loading.inputs.extend(contribution.inputs)
    loading.inputs.extend(base.inputs)
    while not loading.fits() and len(loading.fragments) > len(base.fragments):
        _drop_last_plugin(loading)
    return loading


def _drop_last_plugin(loading: Loading) -> None:
    """The order of fragments can change a count by a token or two; a plugin's fragment gives way."""
    at = max(at for at, fragment in enumerate(loading.fragments) if fragment.layer == PLUGIN_LAYER)
    dropped = loading.fragments.pop(at)
    loading.note("plugin", dropped.path, "skipped", texts.SKIP_NO_ROOM)


def left_by(
    original: Sequence[Fragment], so_far: Sequence[Fragment | None], texts_: Sequence[object]
) -> tuple[Fragment | None, ...] | None:
    """What is left of the `original` fragments after earlier reviewers (`so_far`) and one more, who left `texts_`.

    A line stays only if every reviewer leaves it. None where the answer adds anything or does not fit the fragments.
    """
    if len(texts_) != len(original):
        return None
    left: list[Fragment | None] = []
    for fragment, before, text in zip(original, so_far, texts_, strict=True):
        kept = _kept_lines(fragment.text, text)
        if kept is None:
            return None
        earlier = _kept_lines(fragment.text, before.text if before else None) or frozenset()
        both = sorted(kept & earlier)
        lines = fragment.text.split("\n")
        left.append(replace(fragment, text="\n".join(lines[at] for at in both)) if both else None)
    return tuple(left)


def _kept_lines(before: str, after: object) -> frozenset[int] | None:
    """Which lines of `before` make up `after`, told from the front; None where there is anything else in it."""
    if after is None or after == "":
        return frozenset()
    if not isinstance(after, str):
        return None
    wanted = after.split("\n")
    kept: list[int] = []
    for at, line in enumerate(before.split("\n")):
        if len(kept) < len(wanted) and line == wanted[len(kept)]:
            kept.append(at)
    return frozenset(kept) if len(kept) == len(wanted) else None
