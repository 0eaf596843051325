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


def only_shortened(before: str, after: str) -> bool:
    """True where `after` is `before` with some lines left out: what a reviewer may do, and nothing else."""
    rest = iter(before.split("\n"))
    return after == "" or all(line in rest for line in after.split("\n"))


def reviewed(fragments: Sequence[Fragment], texts_: Sequence[str | None]) -> tuple[Fragment, ...] | None:
    """What a reviewer leaves of `fragments`; None where the answer adds anything or does not fit them."""
    if len(texts_) != len(fragments):
        return None
    kept = []
    for fragment, text in zip(fragments, texts_, strict=True):
        if text is None:
            continue
        if not isinstance(text, str) or not only_shortened(fragment.text, text):
            return None
        kept.append(replace(fragment, text=text))
    return tuple(kept)
