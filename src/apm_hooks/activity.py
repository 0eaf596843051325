"""Which sessions of a workspace are alive, and which of them went quiet (protocol, section 9).

A session at work has a mark, `.apm/active/<scope>/<session>`. Marks are read without a lock: what does not parse, or
was caught in the middle of a write, is doubt and never a fact. A mark goes only under its lock, and only while it still
says what was flushed.

The fast lane loads this file in a bare interpreter: it hands in `markfile` and, as `parse`, its own reader of JSON.
Every clock is an argument.
"""

import os
import time

TYPE_CHECKING = False
if "markfile" not in globals() or TYPE_CHECKING:
    from apm_hooks import markfile
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeAlias

    Mark: TypeAlias = dict[str, Any]
    Parse: TypeAlias = Callable[[str], Any]

Moment = tuple[int, int, str]
"""Wall clock in ns since 1970, ns since boot with suspend counted, and which boot; 0 and "" where none is to be had."""

FORMAT = 1
BLANK: "Mapping[str, Any]" = {
    "format": FORMAT, "scope": "", "host": "", "session": "", "id": "", "key": None, "at": 0, "up": 0, "boot": "",
    "busy": False, "since": 0, "open": 0, "usage": None, "limit": None, "window": None, "idle": None, "turn": None,
    "cycle": 0, "phase": 0, "position": 0, "transcript": "",
}  # fmt: skip
"""What a new mark says. Whose: `scope` (its text), `host`, `session` (name in file names), `id` (the host's), `key`.
When last at work: `at`, `up`, `boot` (a Moment). `busy`: a turn is running. `since`: messages since the last flush.
`open`: 1 while a flush of the session is not settled. `usage`: how full its context is, in percent of `window` tokens;
`limit`: from how many percent on an early flush is wanted. `idle`, `turn`: the seconds that `is_due` goes by, as they
were when the full path last wrote here. `cycle`: compactions so far; `phase`: see `compaction_step`. `position`: bytes
of the transcript at the last flush; `transcript`: its absolute path. Other plain values are kept."""

_DIRECTORY = (".apm", "active")
_SECOND = 1_000_000_000
_FAR = 1 << 63
_NUMBER = (int, float, type(None))
_KINDS = {name: (str, type(None)) if name == "key" else _NUMBER if value is None else (type(value),)
          for name, value in BLANK.items()}  # fmt: skip
_PLAIN = (str, bool, *_NUMBER)
_WHAT_WAS_FLUSHED = ("at", "up", "boot", "since")


def now() -> Moment:
    """The clocks of this machine."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    boot = _boot_id() if clock is not None else ""
    return time.time_ns(), time.clock_gettime_ns(clock) if clock is not None and boot else 0, boot


def _boot_id() -> str:
    try:
        descriptor = os.open("/proc/sys/kernel/random/boot_id", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        return os.read(descriptor, 64).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)


def folder_name(scope_text: str) -> str:
    """The folder of a scope's marks: the name that the fast lane's `hash_of` gives too."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b(scope_text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def folders(root: str) -> list[str]:
    """Names of the folders of marks in the workspace at `root`, sorted: one for each scope that ever had a session."""
    return markfile.names(root, _DIRECTORY)


def sessions(root: str, folder: str) -> list[str]:
    """Names of the sessions of a scope that have a mark, certain or not, sorted."""
    return markfile.names(root, (*_DIRECTORY, folder))


def read_mark(root: str, folder: str, session: str, parse: "Parse | None" = None) -> "Mark | None":
    """A session's mark; None where it has none, and where what stands there is doubtful."""
    data = markfile.read(root, (*_DIRECTORY, folder), session)
    return _certain(data, folder, session, parse) if data else None


def marks_of(root: str, folder: str, parse: "Parse | None" = None) -> "Iterator[tuple[str, Mark]]":
    """Session name and mark of every session of a scope, each read when it is asked for.

    Take the moment that ages are told by before the first: a mark that changes meanwhile is then young, never old.
    """
    for session in sessions(root, folder):
        mark = read_mark(root, folder, session, parse)
        if mark is not None:
            yield session, mark


def doubts_of(root: str, folder: str) -> list[str]:
    """Sessions of a scope whose mark says nothing certain, looked at under its lock. What such a session did is not
    known: flush it as one that went quiet, then `discard` its mark. Raises OSError."""

    def doubtful(session: str) -> bool:
        return markfile.inspect(root, (*_DIRECTORY, folder), session, lambda data: _is_doubt(data, folder, session))

    return [name for name in sessions(root, folder) if read_mark(root, folder, name) is None and doubtful(name)]


def update(
    root: str, scope_text: str, session: str, change: "Callable[[Mark], Mark | None]", parse: "Parse | None" = None
) -> "Mark | None":
    """Change a session's mark, or make it, and give what it says now.

    `change` gets what it says so far (`BLANK` where there is none, or only doubt) and gives what it shall say, or None
    to leave it. Two changes never mix, and none is lost. The first is on disk when this returns; later ones may not be:
    a mark that a power cut takes back is older, no more. None where nothing was written: `change` said so, the lock did
    not come in time, the mark is of a later format, or would be larger than 4096 bytes. Raises OSError.
    """
    blank = {**BLANK, "scope": scope_text, "session": session}
    return _changed(root, folder_name(scope_text), session, blank, change, parse)


def touch(
    root: str, folder: str, session: str, change: "Callable[[Mark], Mark | None]", parse: "Parse | None" = None
) -> "Mark | None":
    """As `update`, for a mark that is there and certain; None for any other. Raises OSError."""
    return _changed(root, folder, session, None, change, parse)


def _changed(
    root: str, folder: str, session: str, blank: "Mark | None", change: "Callable[[Mark], Mark | None]",
    parse: "Parse | None",
) -> "Mark | None":  # fmt: skip
    result: Mark | None = None

    def transform(data: bytes) -> bytes | None:
        nonlocal result
        known = markfile.decode(data, parse or markfile.loads)
        mark = _judged(known, folder, session) or (None if _is_later(known) else blank)
        changed = change(dict(mark)) if mark is not None else None
        if mark is None or changed is None:
            return None
        fields = {**changed, "format": FORMAT, "scope": mark["scope"], "session": session}
        if not _is_mark(fields, folder, session):
            raise ValueError(f"no mark: {changed}")
        number = known[1] + 1 if known else 1
        encoded = markfile.encode(fields, number)
        if encoded is None:
            fields["transcript"] = ""
            encoded = markfile.encode(fields, number)
        result = fields
        return encoded

    written = markfile.change(root, (*_DIRECTORY, folder), session, transform, create=blank is not None)
    return result if written else None


def drop(root: str, folder: str, session: str, expected: "Mapping[str, Any]") -> bool:
    """Take a session's mark away, if under its lock it still says what was flushed: the same time, as many messages.

    False where the session went on meanwhile, where there is no mark, or its lock did not come. Raises OSError.
    """

    def same(data: bytes) -> bool:
        mark = _certain(data, folder, session)
        return mark is not None and all(mark[name] == expected.get(name) for name in _WHAT_WAS_FLUSHED)

    return markfile.inspect(root, (*_DIRECTORY, folder), session, same, unlink=True)


def discard(root: str, folder: str, session: str) -> bool:
    """Take a doubtful mark away, if under its lock it still is one; one of a later format is not. Raises OSError."""
    return markfile.inspect(
        root, (*_DIRECTORY, folder), session, lambda data: _is_doubt(data, folder, session), unlink=True
    )


def _certain(data: bytes, folder: str, session: str, parse: "Parse | None" = None) -> "Mark | None":
    return _judged(markfile.decode(data, parse or markfile.loads), folder, session)


def _judged(known: "tuple[Mark, int] | None", folder: str, session: str) -> "Mark | None":
    mark = {**BLANK, **known[0]} if known else None
    return mark if mark is not None and _is_mark(mark, folder, session) else None


def _is_mark(mark: "Mark", folder: str, session: str) -> bool:
    """Whether a mark's values are what they are named for, and it lies where it says that it belongs: a group's events
    act on what lies in the group's folder."""
    for name, value in mark.items():
        if type(value) not in _KINDS.get(name, _PLAIN):
            return False
        # The wall clock may stand before 1970; comparing refuses what is no number too.
        if isinstance(value, int | float) and not (-_FAR if name == "at" else 0) <= value < _FAR:
            return False
    flags = mark["format"] == FORMAT and mark["phase"] <= 3 and mark["open"] <= 1
    return flags and mark["session"] == session and folder_name(mark["scope"]) == folder


def _is_doubt(data: bytes, folder: str, session: str) -> bool:
    # An empty file is none: it waits for its first write, or its writer died before that.
    known = markfile.decode(data)
    return bool(data) and not _is_later(known) and _judged(known, folder, session) is None


def _is_later(known: "tuple[Mark, int] | None") -> bool:
    version = known[0].get("format") if known else None
    return isinstance(version, int) and version > FORMAT


def tidy(root: str, folder: str, idle_seconds: float, turn_seconds: float, clock: "Callable[[], Moment]" = now) -> None:
    """Put a scope's marks in order where nothing can be lost by it. One stamped in the future is stamped with now: it
    is due once, an idle period from here. One of a quiet session with nothing to save goes, and so does one whose
    writer died before its first write. Raises OSError."""
    moment = clock()

    def restamped(mark: "Mark") -> "Mark | None":
        fresh = clock()
        return stamped(mark, fresh) if is_ahead(mark, fresh) else None

    for session in sessions(root, folder):
        mark = read_mark(root, folder, session)
        if mark is None:
            markfile.inspect(root, (*_DIRECTORY, folder), session, lambda data: not data, unlink=True)
        elif is_ahead(mark, moment):
            touch(root, folder, session, restamped)
        elif not has_work(mark) and left(mark, moment, idle_seconds, turn_seconds) <= 0:
            drop(root, folder, session, mark)


def surplus(root: str, keep: int, moment: Moment) -> "list[tuple[str, str, Mark]]":
    """The sessions past a bound of `keep` marks in the workspace, as (folder, session, mark), the quietest first.

    No mark is dropped for want of room: these are flushed before they are due. A running turn is left alone.
    """
    found = [(age(mark, moment), folder, session, mark) for folder in folders(root)
             for session, mark in marks_of(root, folder)]  # fmt: skip
    calm = sorted((each for each in found if not each[3]["busy"]), key=lambda each: each[:3], reverse=True)
    return [each[1:] for each in calm[: max(len(found) - keep, 0)]]


def has_work(mark: "Mapping[str, Any]") -> bool:
    """Whether a flush of the session would have anything to do: messages since the last one, or one to settle."""
    return bool(mark["since"] or mark["open"])


def is_due(mark: "Mapping[str, Any]", moment: Moment, idle_seconds: float, turn_seconds: float) -> bool:
    """Whether the session went quiet with something to save; see `left`."""
    return has_work(mark) and left(mark, moment, idle_seconds, turn_seconds) <= 0


def left(mark: "Mapping[str, Any]", moment: Moment, idle_seconds: float, turn_seconds: float) -> int:
    """Nanoseconds until the session counts as quiet; none or less: it does.

    A running turn is no quiet time while the host's transcript moves; without one to look at, for `turn_seconds`.
    """
    idle = int(idle_seconds * _SECOND)
    passed = age(mark, moment)
    # A turn does not outlive the boot that it ran in.
    if mark["busy"] and not _other_boot(mark, moment):
        rest = _since_moved(mark, moment)
        if rest is None:
            return max(idle, int(turn_seconds * _SECOND)) - passed
        passed = min(passed, rest)
    return idle - passed


def age(mark: "Mapping[str, Any]", moment: Moment) -> int:
    """Nanoseconds since the session was last at work, never negative.

    Within one boot by the clock that counts from it: people, network time and suspend move the wall clock, and no
    calendar plays a part. After another boot the session's host is gone: it was quiet for the present uptime at least.
    """
    at, up, boot = moment
    if _other_boot(mark, moment):
        return max(up, at - int(mark["at"]))
    return max(up - int(mark["up"]) if boot and mark["boot"] else at - int(mark["at"]), 0)


def is_ahead(mark: "Mapping[str, Any]", moment: Moment) -> bool:
    """Whether the mark was stamped in what is the future now, by more than a second."""
    at, up, boot = moment
    if _other_boot(mark, moment):
        return False
    return bool(mark["up"] > up + _SECOND if boot and mark["boot"] else mark["at"] > at + _SECOND)


def _other_boot(mark: "Mapping[str, Any]", moment: Moment) -> bool:
    return bool(mark["boot"] and moment[2] and mark["boot"] != moment[2])


def _since_moved(mark: "Mapping[str, Any]", moment: Moment) -> int | None:
    """Nanoseconds since the transcript changed; None where that cannot be told.

    A file's time is the wall clock's, which may have been set since the mark was made: it is reckoned from the mark's
    wall clock and from that of now, and the latest that is no future time counts.
    """
    at, up, boot = moment
    try:
        changed = os.stat(mark["transcript"]).st_mtime_ns
    except (OSError, ValueError):
        return None
    rests = [at - changed]
    if boot and mark["boot"]:
        rests.append(up - int(mark["up"]) + int(mark["at"]) - changed)
    past = [max(rest, 0) for rest in rests if rest > -_SECOND]
    return min(past) if past else None


def compaction_step(phase: int, event: str) -> tuple[int, bool]:
    """The next phase after a host's compaction event, and whether the event before it was missed (protocol, section 9).

    `event` is `before`, `start` (a session comes back from compaction) or `after`; hosts fire the last two in either
    order. Phases: 0 nothing, 1 `before` came, 2 its `start` came, 3 its `after` came first.
    """
    if event == "before":
        return 1, False
    if event == "start":
        return (0, False) if phase == 3 else (2, phase != 1)
    return (0, False) if phase == 2 else (3, phase == 0)


def stamped(mark: "Mapping[str, Any]", moment: Moment) -> "Mark":
    """The mark of a session that is at work at `moment`."""
    at, up, boot = moment
    return {**mark, "at": at, "up": up, "boot": boot}


def begun(mark: "Mapping[str, Any]", moment: Moment, transcript: str = "") -> "Mark":
    """The mark after a message began a turn; `transcript` empty: as it was."""
    where = transcript or mark["transcript"]
    return {**stamped(mark, moment), "transcript": where, "busy": True, "since": mark["since"] + 1}


def ended(mark: "Mapping[str, Any]", moment: Moment, usage: float | None) -> "Mark":
    """The mark after a turn's end, with how full the context is now, in percent."""
    return {**stamped(mark, moment), "busy": False, "usage": usage}
