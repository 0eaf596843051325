"""What an agent is told at a flush, and what a flush leaves to be said later (protocol, sections 9 and 10).

Everything that comes from memory files, users, plugins or the state file is data: one line each, nothing hidden in it,
cut to a bound, inside a fence whose tag it cannot hold. The lines form one chain by importance, and what is told is as
much of its beginning as fits: a larger budget never tells less.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from apm_hooks import directive_texts as texts
from apm_hooks.flushrecords import Flush, Outcome, Pending, PendingKind, Trigger
from apm_hooks.graphemes import boundary_before
from apm_hooks.injection import fence_tag, show_invisible
from apm_hooks.records import LIMITS, Bound, Limits, Scope, ScopeKind

START_LINES = 6
START_CHARS = 200

# How many of a kind are named before the rules that every flush needs; the others come after these.
_FIRST = 3
# One item may take a fifth of a usual directive; one that takes more is cut further.
_ITEM_SHARE = 5
_NAMED_PATHS = 3
_NAMED_PATH_CHARS = 80
_MOST = 10**9

_OURS = re.compile(r"\[(?=\s*apm-)", re.IGNORECASE)
_FENCES = re.compile(r"<(?=\s*/?\s*apm-)", re.IGNORECASE)
_HALF_ESCAPE = re.compile(r"<(?:U(?:\+[0-9A-F]{0,6})?)?\Z")
_ID = re.compile(r"[0-9A-Za-z_-]{1,40}")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)", re.ASCII)
_TRIGGERS = {Trigger.REMEM: "/remem", Trigger.PRE_COMPACTION: "before compaction", Trigger.IDLE: "quiet time"}


@dataclass(frozen=True, slots=True)
class DirectiveFacts:
    """What a directive rests on.

    `number` is the flush's (0: none). `initialised`: the scope's index exists. `changed` are workspace-relative paths,
    `changes` counts them all, named here or not. `missed`: a compaction came without its event; `compacted`: the
    context was compacted already. `findings` are (path, line, sentence), line 0 for a whole file. `user_text` stood
    behind `/remem`. `refused` are (path, what it is). `plugin_lines` are plugins' words, reviewed. `message_follows`: a
    user's message stands in the same turn. `recall`: the record store is on. `prune`: a
    part of the memory is over its budget, as the findings say.
    """

    trigger: Trigger
    scope: Scope
    number: int = 0
    initialised: bool = True
    changed: tuple[str, ...] = ()
    changes: int = 0
    pending: tuple[Pending, ...] = ()
    missed: bool = False
    findings: tuple[tuple[str, int, str], ...] = ()
    user_text: str = ""
    usage_percent: float | None = None
    refused: tuple[tuple[str, str], ...] = ()
    plugin_lines: tuple[str, ...] = ()
    message_follows: bool = False
    compacted: bool = False
    recall: bool = False
    prune: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """One line, or a small block, of a directive.

    `priority` counts from 0, the most important; `place` is where it stands. `data`: it belongs into the fence. `kind`
    names what it is counted as where it is left out (empty: not counted).
    """

    priority: int
    text: str
    place: int
    kind: str = ""
    data: bool = False


def lines(facts: DirectiveFacts, limits: Limits = LIMITS) -> list[Piece]:
    """Everything there is to say, most important first."""
    found = list(_in_order(facts, limits))
    return [replace(piece, priority=priority) for priority, piece in enumerate(found)]


def build(
    facts: DirectiveFacts, *, count: Callable[[str], int], limit_tokens: int, caps: Sequence[Bound] = (),
    limits: Limits = LIMITS,
) -> str:  # fmt: skip
    """The directive: as many of its lines, the most important first, as keep within `limit_tokens` by `count` and every
    cap; "" where not even the first one does.

    No line is cut to make it fit. What was left out is counted in one line, where that fits. A larger limit never tells
    less.
    """
    bounds = (Bound("tokens", count, limit_tokens), *caps)

    def fits(text: str) -> bool:
        return all(bound.measure(text) <= bound.limit for bound in bounds)

    pieces = lines(facts, limits)
    first = pieces[0].text
    # Everything else costs more than its first line; nothing is measured where that is too long already.
    if not fits(first):
        return ""
    pieces = [_lightened(piece, count, limits) for piece in pieces]
    # The usual case, measured once.
    whole = _render(pieces, _left_out(facts, pieces, len(pieces)))
    if fits(whole):
        return whole
    # Lines of ours come before the note of what is left out, the note before the last of the data.
    ours = max(at for at, piece in enumerate(pieces, 1) if not piece.data)
    text = first
    for told in range(1, len(pieces) + 1):
        note = _left_out(facts, pieces, told)
        noted, bare = _render(pieces[:told], note), _render(pieces[:told])
        if fits(noted):
            text = noted
        elif told <= ours and fits(bare):
            text = bare
        else:
            break
    return text


def pending_lines(
    pending: Sequence[Pending], *, last: Flush | None, open_flush: bool, compacted: bool
) -> list[str]:  # fmt: skip
    """What a session start tells of flushes before it: at most 6 lines of at most 200 characters, most important first.

    `open_flush`: a flush of this session is not settled. `compacted`: the session comes back from compaction; `last` is
    the scope's latest flush, which says whether that came without its event. Texts of items are quoted. Empty where
    nothing waits.
    """
    said: list[str] = []
    unwarned = last is not None and last.outcome is Outcome.MISSED and _any_missed(pending)
    if open_flush:
        said.append(texts.START_OPEN_COMPACTED if compacted else texts.START_OPEN)
    elif compacted and unwarned:
        said.append(texts.START_UNWARNED)
    if pending:
        said.append(texts.START_PENDING)
        room = START_LINES - len(said)
        named = pending if len(pending) <= room else pending[: room - 1]
        said += [_start_item(item) for item in named]
        if len(named) < len(pending):
            said.append(texts.START_MORE.format(count=len(pending) - len(named)))
    if said:
        said[0] = f"{texts.START_PREFIX}{said[0]}"
    return said


def idle_text(at: str, changed: Sequence[str]) -> str:
    """The pending item of an idle flush at `at` (ISO-8601) that found the files `changed` (workspace-relative)."""
    paths = ", ".join(one_line(path, _NAMED_PATH_CHARS) for path in changed[:_NAMED_PATHS])
    rest = len(changed) - _NAMED_PATHS
    more = texts.IDLE_MORE.format(count=rest) if rest > 0 else ""
    what = texts.IDLE_CHANGED.format(paths=paths, more=more) if paths else texts.IDLE_NOTHING
    return one_line(texts.IDLE_ITEM.format(when=_when(at), what=what), LIMITS.pending_chars)


def unwritten_text(trigger: Trigger, number: int, at: str) -> str:
    """The pending item of a flush that was issued at `at` (ISO-8601) and whose turn wrote nothing."""
    return texts.UNWRITTEN_ITEM.format(number=_number(number), trigger=_TRIGGERS[trigger], when=_when(at))


def missed_text(at: str) -> str:
    """The pending item of a compaction at `at` (ISO-8601) that came without its event."""
    return texts.MISSED_ITEM.format(when=_when(at))


def summary_sentence() -> str:
    """What a host's summariser is told before it compacts."""
    return texts.SUMMARY


def one_line(text: str, chars: int) -> str:
    """Data as one line of at most `chars` characters: white space folded, nothing hidden, no line or fence of ours in
    it, cut between graphemes with `…` at the end. Work is bounded by `chars`, whatever the length of the text."""
    # Escapes only make a text longer: what lies further on could only show where blanks fold.
    start = text[: chars * 8]
    line = show_invisible(" ".join(start.split()))
    line = _FENCES.sub("&lt;", _OURS.sub("(", line))
    return _clipped(line, chars, more=len(start) < len(text))


def _clipped(line: str, chars: int, *, more: bool = False) -> str:
    if len(line) <= chars and not more:
        return line
    kept = line[: boundary_before(line, chars - 1)]
    # A joiner at the end has nothing left to join, and half an escape would name another character.
    return _HALF_ESCAPE.sub("", kept).rstrip(" \u200c\u200d") + "…"


def _in_order(facts: DirectiveFacts, limits: Limits) -> Iterator[Piece]:
    chars, many = limits.pending_chars, limits.flush_paths
    pending = [_data("pending", _item(each, chars)) for each in facts.pending[: limits.pending_items]]
    changed = [_data("changed", texts.CHANGED.format(path=one_line(path, chars))) for path in facts.changed[:many]]
    findings = [_data("finding", _finding(each, chars)) for each in facts.findings[:many]]
    plugins = [_data("plugin", texts.PLUGIN.format(text=one_line(each, chars))) for each in facts.plugin_lines[:many]]
    refused = [
        _data("refused", texts.REFUSED.format(path=one_line(path, chars), kind=one_line(kind, chars)))
        for path, kind in facts.refused[:many]
    ]
    yield _ours(_headline(facts), 0)
    if facts.message_follows:
        yield _ours(texts.MESSAGE_FOLLOWS, 1)
    if facts.trigger is not Trigger.PRE_COMPACTION and (facts.missed or facts.compacted):
        yield _ours(texts.ALSO_UNWARNED if facts.missed else texts.ALSO_COMPACTED, 2)
    if wish := one_line(facts.user_text, chars):
        yield _data("wish", texts.WISH.format(text=wish))
    if facts.prune:
        yield _ours(texts.PRUNE, 3)
    yield _ours(texts.NEVER, 33)
    yield _ours(_where(facts, chars), 30)
    if pending:
        yield Piece(0, texts.PENDING_HEAD, 10)
        yield from pending[:_FIRST]
    yield _ours(texts.CLOSE, 40)
    if changes := _changes(facts):
        files = texts.FILES[changes != 1].format(count=changes)
        yield Piece(0, texts.CHANGED_HEAD.format(files=files), 11)
        yield from changed[:_FIRST]
    yield _ours(texts.WORTH, 31)
    yield _ours(texts.CHANGING, 32)
    yield _ours(texts.LEAD, 34)
    if findings:
        yield Piece(0, texts.FINDINGS_HEAD, 12)
        yield from findings[:_FIRST]
    yield from plugins[:_FIRST]
    for rest in (pending, findings, plugins, changed):
        yield from rest[_FIRST:]
    yield from refused


_DATA_PLACES = {"wish": 20, "pending": 21, "changed": 22, "finding": 23, "plugin": 24, "refused": 25}
_NOTE_PLACE = 29


def _ours(text: str, place: int) -> Piece:
    return Piece(0, text, place, "rule")


def _data(kind: str, text: str) -> Piece:
    return Piece(0, text, _DATA_PLACES[kind], kind, data=True)


def _headline(facts: DirectiveFacts) -> str:
    number = _number(facts.number)
    if facts.trigger is Trigger.REMEM:
        return texts.REMEM.format(number=number)
    if facts.trigger is Trigger.IDLE:
        return texts.QUIET.format(number=number)
    if facts.missed or facts.compacted:
        return (texts.UNWARNED if facts.missed else texts.COMPACTED).format(number=number)
    usage = facts.usage_percent
    # What a host counts wrongly, or not at all (NaN too), is not told.
    known = usage is not None and 0 <= usage <= 100
    full = texts.FULL_PERCENT.format(percent=int(usage)) if usage is not None and known else texts.FULL_UNKNOWN
    return texts.FILLING.format(number=number, full=full)


def _number(number: int) -> str:
    return texts.NUMBER.format(number=number) if 0 < number < _MOST else ""


def _changes(facts: DirectiveFacts) -> int:
    return min(max(facts.changes, len(facts.changed)), _MOST)


def _where(facts: DirectiveFacts, chars: int) -> str:
    group = facts.scope.kind is ScopeKind.GROUP
    index, directory = (
        one_line(path, chars).replace("`", "'") for path in (facts.scope.index_path, facts.scope.directory)
    )
    if not facts.initialised:
        return (texts.INIT_GROUP if group else texts.INIT_DM).format(index=index, directory=directory)
    table = (texts.WHERE_GROUP if group else texts.WHERE_DM).format(directory=directory)
    return f"{table}{texts.RECALL}" if facts.recall else table


def _item(item: Pending, chars: int) -> str:
    return texts.PENDING.format(id=_id(item), kind=item.kind.value, text=one_line(item.text, chars))


def _id(item: Pending) -> str:
    # It becomes an argument of a command: what is no plain word is not offered.
    return f"{item.id} " if _ID.fullmatch(item.id) else ""


def _finding(finding: tuple[str, int, str], chars: int) -> str:
    path, line, sentence = finding
    where = f":{line}" if 0 < line < _MOST else ""
    return texts.FINDING.format(path=one_line(path, chars), line=where, sentence=one_line(sentence, chars))


def _lightened(piece: Piece, count: Callable[[str], int], limits: Limits) -> Piece:
    """The piece, its data cut further where it would take the room of several: so no item crowds out the others."""
    text = piece.text
    while piece.data and len(text) > 1 and count(text) > limits.directive_tokens // _ITEM_SHARE:
        text = _clipped(text, len(text) // 2)
    return replace(piece, text=text)


def _render(pieces: Sequence[Piece], note: str = "") -> str:
    ordered = sorted(pieces, key=lambda piece: piece.place)
    inside = [piece.text for piece in ordered if piece.data]
    above = [piece.text for piece in ordered if piece.place < _DATA_PLACES["wish"]]
    below = [piece.text for piece in ordered if piece.place > _NOTE_PLACE]
    tag = f"apm-flush-{fence_tag(inside)}" if inside else ""
    block = [texts.DATA_HEAD, f"<{tag}>", *inside, f"</{tag}>"] if inside else []
    return "\n".join([*above, *block, *([note] if note else []), *below])


def _left_out(facts: DirectiveFacts, pieces: Sequence[Piece], told: int) -> str:
    """How many of each kind are not told; empty where all are."""
    totals = Counter(piece.kind for piece in pieces if piece.kind in ("rule", "wish"))
    totals.update(
        changed=_changes(facts), pending=len(facts.pending), finding=len(facts.findings),
        plugin=len(facts.plugin_lines), refused=len(facts.refused),
    )  # fmt: skip
    totals.subtract(Counter(piece.kind for piece in pieces[:told]))
    return ", ".join(
        texts.LEFT_OUT.format(count=totals[kind], noun=nouns[totals[kind] != 1])
        for kind, nouns in texts.NOUNS.items()
        if totals[kind] > 0
    )


def _any_missed(pending: Sequence[Pending]) -> bool:
    return any(item.kind is PendingKind.MISSED for item in pending)


def _start_item(item: Pending) -> str:
    bare = texts.START_ITEM.format(id=_id(item), kind=item.kind.value, text="")
    text = one_line(item.text, START_CHARS - len(bare)).replace('"', "'")
    return texts.START_ITEM.format(id=_id(item), kind=item.kind.value, text=text)


def _when(at: str) -> str:
    match = _STAMP.match(at)
    return texts.WHEN.format(day=match[1], minute=match[2]) if match else ""
