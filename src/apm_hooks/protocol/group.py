"""A group's memory in five steps (protocol, section 5): 0 map the name, 1 read the index, 2 match the message, 3 load
that one P-file, 4 load one sub-file, 5 stop when the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import pairwise

from apm_hooks import texts
from apm_hooks.events import IntentQuery
from apm_hooks.files import MemoryText
from apm_hooks.index import parse_index
from apm_hooks.ownership import loads
from apm_hooks.protocol.ceiling import INDEX, SUB_FILE, group_may_load, layer_of
from apm_hooks.protocol.loading import Loading
from apm_hooks.protocol.subfiles import candidates
from apm_hooks.records import Index, RouteMatch, Scope
from apm_hooks.routing import MINIMUM_SCORE

Matcher = Callable[[IntentQuery], RouteMatch | None]

ATTENTION, PROJECT = "attention.md", "project.md"
_ARCHIVE_MARKS = ("[archived]", "已归档")


def load_start(loading: Loading, scope: Scope, mapped_id: str, pending: Callable[[], Sequence[str]] = tuple) -> None:
    """Steps 0 and 1: a session start has no message to route. What `pending()` gives, left to be settled by earlier
    flushes, stands before the index.

    A mapped group without an index gets a short first-join notice and nothing else (protocol, section 3).
    """
    loading.note("0 map", "", "mapped", f"{mapped_id} is {scope.name}")
    found = loading.read("1 index", scope.index_path)
    if found is None:
        if loading.steps[-1].verdict == "absent":
            loading.say("1 index", texts.FIRST_JOIN.format(path=scope.index_path))
        return
    loading.take_budget(parse_index(found.text, scope))
    loading.tell("pending", pending())
    if not loading.add("1 index", INDEX, scope.index_path, found, more_to_come=True, alone=True):
        spend(loading)


def load_message(
    loading: Loading, scope: Scope, message: str, loaded: Sequence[tuple[str, str]], match_intent: Matcher
) -> bool:
    """Steps 2 to 5 for one message; `loaded` are the epoch's files so far, as (path, layer).

    True where automatic loading is done for the epoch: one file was loaded, or the budget is spent.
    """
    found = loading.read("1 index", scope.index_path)
    if found is None:
        return False
    index = parse_index(found.text, scope)
    loading.take_budget(index)
    if not has_index(loading, scope, found, loaded):
        return spend(loading)
    layers = [layer for _, layer in loaded]
    seen = {path.removeprefix(f"{scope.directory}/") for path, _ in loaded}
    while (match := best_route(message, index, seen, match_intent)) is not None:
        seen.add(match.route.path)
        layer = layer_of(match.route.priority, sub_file=match.route.sub_file)
        loading.note("2 match", _path(scope, match.route.path), "matched", texts.matched(match.words, match.score))
        if not group_may_load(layers, layer):
            loading.note("3 load", _path(scope, match.route.path), "skipped", texts.SKIP_CEILING)
            continue
        path, layer, file = _open(loading, scope, match.route.path, layer, seen)
        if file is None:
            continue
        alone = layer == SUB_FILE or not candidates(file.text, scope.directory, index.routes)
        if loading.add("3 load", layer, path, file, more_to_come=True, alone=alone):
            if layer != SUB_FILE:
                _load_sub_file(loading, scope, message, file, index, layers, match_intent)
            return True
        return spend(loading)
    if not any(step.step == "2 match" for step in loading.steps):
        loading.note("2 match", "", "nothing", texts.NO_ROUTE)
    return False


def best_route(message: str, index: Index, seen: Collection[str], match_intent: Matcher) -> RouteMatch | None:
    """Step 2. A `P2-L3` row is a route of its own and ranks after P2; a catch-all of either kind takes only what no row
    of the other kind matched (protocol, section 4)."""
    query = IntentQuery(message, index.routes, frozenset(seen))
    found = (match_intent(query), match_intent(replace(query, sub_files=True)))
    best = min((match for match in found if match is not None), key=_rank, default=None)
    if best is not None and seen and _took_the_rest(best):
        # A row whose file may not be chosen still is a match.
        first = best_route(message, index, (), match_intent)
        return best if first is not None and _took_the_rest(first) else None
    return best


def has_index(loading: Loading, scope: Scope, found: MemoryText, loaded: Sequence[tuple[str, str]]) -> bool:
    """True where the epoch holds the index, the only entry. One that was missing or unreadable when the session started
    is taken in now."""
    if any(path == scope.index_path for path, _ in loaded):
        return True
    return loading.add("1 index", INDEX, scope.index_path, found, more_to_come=True)


def spend(loading: Loading) -> bool:
    """Step 5: where the breaker tripped, say so; True where it did."""
    if loading.tripped:
        loading.say("5 budget", texts.BUDGET_SPENT)
    return loading.tripped


def is_archived(text: str) -> bool:
    """True for an attention file that says so: `status: archived`, or `[ARCHIVED]` or 已归档 in its heading."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[0].strip() == "---":
        for line in lines[1:40]:
            if line.strip() == "---":
                break
            key, _, value = line.partition(":")
            if key.strip().lower() == "status" and value.strip().strip("\"'").lower() == "archived":
                return True
    titles = (line for line, below in pairwise([*lines, ""]) if line.lstrip().startswith("#") or _underlines(below))
    heading = next(titles, "").lower()
    return any(mark in heading for mark in _ARCHIVE_MARKS)


def _underlines(line: str) -> bool:
    return len(line) > 1 and not line.rstrip().strip("=") and line[0] == "="


def _open(loading: Loading, scope: Scope, name: str, layer: str, seen: set[str]) -> tuple[str, str, MemoryText | None]:
    """Step 3's file with its layer; an archived attention file is passed over for the project file."""
    path = _path(scope, name)
    file = loading.read("3 load", path)
    if file is None or name != ATTENTION or not is_archived(file.text):
        return path, layer, file
    loading.note("3 load", path, "skipped", texts.SKIP_ARCHIVED)
    if PROJECT in seen:
        return path, layer, None
    seen.add(PROJECT)
    project = _path(scope, PROJECT)
    return project, layer_of(1, sub_file=False), loading.read("3 load", project)


def _load_sub_file(
    loading: Loading, scope: Scope, message: str, file: MemoryText, index: Index, layers: Sequence[str],
    match_intent: Matcher,
) -> None:  # fmt: skip
    """Step 4: a sub-file that the file of step 3 refers to and that the message matches; one."""
    rows = tuple(
        row for row in candidates(file.text, scope.directory, index.routes) if loads(scope, _path(scope, row.path))
    )
    missing: set[str] = set()
    while rows and (match := match_intent(IntentQuery(message, rows, frozenset(missing), True))) is not None:
        path = _path(scope, match.route.path)
        if not group_may_load(layers, SUB_FILE):
            loading.note("4 sub-file", path, "skipped", texts.SKIP_CEILING)
            return
        found = loading.read("4 sub-file", path)
        if found is not None:
            if not loading.add("4 sub-file", SUB_FILE, path, found, more_to_come=False):
                spend(loading)
            return
        missing.add(match.route.path)
    if rows and not missing:
        loading.note("4 sub-file", "", "nothing", texts.NO_SUB_FILE)


def _rank(match: RouteMatch) -> tuple[bool, int, bool]:
    return _took_the_rest(match), match.route.priority, match.route.sub_file


def _took_the_rest(match: RouteMatch) -> bool:
    """True where a catch-all row was chosen because nothing else matched."""
    return match.route.catch_all and match.score < MINIMUM_SCORE


def _path(scope: Scope, name: str) -> str:
    return f"{scope.directory}/{name}"
