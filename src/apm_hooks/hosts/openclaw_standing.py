"""What an OpenClaw session's system prompt holds of ours, kept from turn to turn.

The host builds the system prompt anew for every turn, so what an epoch was sent must be handed over again each time,
the same bytes, or the model forgets it (and the provider's prompt cache misses). The texts lie in the user's cache
folder, readable for nobody else. One that is lost is rendered anew.

The same record holds what one event of a turn leaves for the next: the host tells of a message before the session that
it belongs to is reset, and of the system prompt after it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from apm_hooks import fastlane
from apm_hooks.errors import ApmError
from apm_hooks.files import replace_bytes
from apm_hooks.locking import locked_at
from apm_hooks.places import private_directory
from apm_hooks.records import LIMITS

FORMAT = 1
NEW, COMPACTED = "new", "compacted"
_NOTED = 8
_NOTED_CHARS = 16_000
"""So many messages, each cut to so many characters, wait for their turn; the first ones go first."""


_SHOWN = 2


@dataclass(slots=True)
class Standing:
    """`scope`: whose memory it is. `session_id`: the host's, at the last start. `parts`: (digest, text) of each text.

    `ended`: empty while the epoch goes on that the texts were sent in; else how it ended, `COMPACTED` or `NEW`.
    `noted`: (id, text) of messages that no turn worked off yet; `last`: the id of the last one that one did; `worked`:
    some were for this turn's system prompt. `directives`: what is to be handed out, `told`: what was in the last turn,
    `shown` times, for the message or run `told_for`. `usage`: tokens in the context, and its size (0: not known).
    """

    scope: str = ""
    session_id: str = ""
    parts: list[list[str]] = field(default_factory=list)
    ended: str = NEW
    noted: list[list[str]] = field(default_factory=list)
    directives: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    told_for: str = ""
    shown: int = 0
    last: str = ""
    worked: bool = False
    usage: list[int] = field(default_factory=lambda: [0, 0])

    def note(self, id_: str, text: str) -> None:
        """Keep a message until its turn's system prompt is built; the same one again is the same."""
        entry = [id_, text[:_NOTED_CHARS]]
        if not id_ or (id_ != self.last and entry not in self.noted):
            self.noted = [*self.noted, entry][-_NOTED:]

    def hand_out(self, id_: str) -> str:
        """The directives for the turn of this message or run; empty for none. The host may ask twice for one turn (it
        compacts first, or an answer was late), but a turn of its own later is another."""
        if self.directives:
            self.told, self.directives, self.told_for, self.shown = self.directives, [], id_, 0
        elif not id_ or id_ != self.told_for or self.shown >= _SHOWN:
            self.told = []
        if self.told:
            self.shown += 1
        return "\n".join(self.told)


@contextmanager
def kept(cache: str, root: str, session: str, scope: str) -> Iterator[Standing]:
    """The record of a session (its name in file names) of a workspace, under its lock; what changed in it is stored.

    A blank one where there is none, it cannot be read, or it is another scope's. Nothing that goes wrong with the
    folder is raised: what cannot be kept is rendered anew.
    """
    name = fastlane.hash_of(root, session)
    with ExitStack() as stack:
        records = _locked(stack, cache, name)
        found = _read(os.path.join(records, name)) if records else None
        fresh = found is None or found.scope != scope
        standing = Standing(scope) if found is None or fresh else found
        before = _encoded(standing)
        yield standing
        after = _encoded(standing)
        if records and after != before:
            with suppress(ApmError):
                replace_bytes(records, name, after)
            if fresh:
                _prune(records)


def _locked(stack: ExitStack, cache: str, name: str) -> str:
    """The folder of the records, with the lock for `name` held until `stack` closes; empty where it cannot be used."""
    try:
        folder = private_directory(os.path.join(cache, "openclaw"))
        records = private_directory(os.path.join(folder, "standing"))
        stack.enter_context(locked_at(folder, f"locks/{name[:2]}", seconds=LIMITS.lock_seconds / 2))
    except ApmError:
        return ""
    return records


def _read(path: str) -> Standing | None:
    try:
        given = json.loads(fastlane.read_private(path, fastlane.RECORD_BYTES) or "")
        if given.pop("format") != FORMAT:
            return None
        return _checked(Standing(**given))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _checked(standing: Standing) -> Standing:
    """Raises TypeError for a record that holds anything else than it should."""
    texts: list[Any] = [standing.scope, standing.session_id, standing.ended, standing.told_for, standing.last]
    texts += [*standing.directives, *standing.told]
    for pair in (*standing.parts, *standing.noted):
        first, second = pair
        texts += [first, second]
    if not all(isinstance(text, str) for text in texts) or not isinstance(standing.worked, bool):
        raise TypeError("no text")
    tokens, window = standing.usage
    if not all(type(count) is int for count in (tokens, window, standing.shown)):
        raise TypeError("no number")
    return standing


def _encoded(standing: Standing) -> bytes:
    return json.dumps({"format": FORMAT, **asdict(standing)}, ensure_ascii=True).encode()


def _prune(folder: str) -> None:
    """Delete the records that were not changed for the longest time, past a bound."""
    with suppress(OSError):
        names = os.listdir(folder)
        aged = sorted((os.lstat(os.path.join(folder, name)).st_mtime_ns, name) for name in names)
        for _, name in aged[: max(len(names) - LIMITS.start_records, 0)]:
            os.unlink(os.path.join(folder, name))
