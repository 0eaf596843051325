"""`group_names.json`: which group chats have a friendly name, and so a memory (protocol, section 3)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from apm_hooks.errors import ApmError, NameRefusedError, SettingsError
from apm_hooks.names import Names, check_name
from apm_hooks.records import LIMITS, ChatType, SessionKey
from apm_hooks.session import EXACT_CHANNELS, folded_id, is_word, parse_session_key

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """One group of `group_names.json`: its full `id`, its friendly `name`, its `channel` (lower case; empty:
    any), and `key`, the entry's key in the file."""

    id: str
    name: str
    channel: str
    key: str


@dataclass(frozen=True)
class GroupMap:
    """The groups that have a friendly name, looked up by id.

    `entries` count. `errors` name file and key of every entry that does not; `refused` keeps those entries,
    so that no wider entry answers for their ids.
    """

    entries: tuple[GroupEntry, ...] = ()
    errors: tuple[ApmError, ...] = ()
    refused: tuple[tuple[GroupEntry, ApmError], ...] = ()
    _ids: dict[tuple[bool, str, str], GroupEntry | ApmError] = field(init=False, repr=False, compare=False)
    _rooms: dict[str, GroupEntry | ApmError | None] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        ids: dict[tuple[bool, str, str], GroupEntry | ApmError] = {}
        rooms: dict[str, GroupEntry | ApmError | None] = {}
        answers: list[tuple[GroupEntry, GroupEntry | ApmError]] = [(entry, entry) for entry in self.entries]
        answers += self.refused
        for entry, answer in answers:
            ids[_slot(entry)] = answer
            if not entry.channel:
                ids[True, "", entry.id] = answer
            if entry.id.startswith("!") and entry.channel in ("", "matrix"):
                room = _room(entry.id)
                known = rooms.get(room, answer)
                rooms[room] = answer if _name(known) == _name(answer) else None
        object.__setattr__(self, "_ids", ids)
        object.__setattr__(self, "_rooms", rooms)

    @classmethod
    def empty(cls) -> GroupMap:
        """A map without entries: every group is unmapped."""
        return cls()

    def find(self, key: SessionKey, *, matrix_without_server: bool = False) -> GroupEntry | None:
        """The entry for a group's key; None for an unmapped or refused group and for any other kind of chat.

        An entry bound to the key's channel comes before one for any channel. `matrix_without_server` lets a
        Matrix room match by the part before its server, where exactly one name results.
        """
        found = self._look_up(key)
        matrix_room = key.chat is ChatType.GROUP and key.channel.lower() == "matrix"
        if found is None and matrix_without_server and matrix_room:
            found = self._rooms.get(_room(key.id))
        return found if isinstance(found, GroupEntry) else None

    def refusal(self, key: SessionKey) -> ApmError | None:
        """Why the group's own entry does not count; None where it counts or there is none."""
        found = self._look_up(key)
        return found if isinstance(found, ApmError) else None

    def clash(self, name: str) -> str:
        """Why a name may not stand beside the mapped ones (case, Unicode form, nesting); empty: it may."""
        return self._names.clash(name)

    @cached_property
    def _names(self) -> Names:
        known = [*self.entries, *(entry for entry, _ in self.refused)]
        return Names(entry.name for entry in known if entry.name)

    def _look_up(self, key: SessionKey) -> GroupEntry | ApmError | None:
        if key.chat is not ChatType.GROUP:
            return None
        channel, wanted = key.channel.lower(), folded_id(key)
        exact = channel in EXACT_CHANNELS
        return self._ids.get((exact, channel, wanted)) or self._ids.get((exact, "", wanted))


def _slot(entry: GroupEntry) -> tuple[bool, str, str]:
    """Where an entry's id is looked up: exact or folded, channel, id. Entries of one slot mean one group.

    A bare id that starts with `!` is a Matrix room, whose case counts.
    """
    exact = entry.channel in EXACT_CHANNELS or (not entry.channel and entry.id.startswith("!"))
    return exact, entry.channel, entry.id if exact else entry.id.lower()


def _room(id_: str) -> str:
    return id_.partition(":")[0]


def _name(answer: GroupEntry | ApmError | None) -> str:
    return answer.name if isinstance(answer, GroupEntry) else ""


def read_group_map(text: str, *, file: str) -> GroupMap:
    """Read `group_names.json` (protocol, section 3): full id, or whole session key, of a group → its friendly
    name, or an object with `name` and optionally `channel`.

    A bad entry is refused and reported in `errors`; the others count. Names that would meet, and ids that
    meet under different names, are refused together. Raises SettingsError for what is no strict JSON object.
    """
    raw = _strict_object(text, file)
    checked, faults = _checked(raw)
    drafts = [_draft(key, checked.get(key, ("", "")), faults.get(key, ""), file) for key in raw]
    names = Names(checked[entry.key][0] for entry, problem in drafts if problem is None)
    named: dict[tuple[bool, str, str], str] = {}
    twice = {_slot(entry) for entry, _ in drafts if named.setdefault(_slot(entry), entry.name) != entry.name}
    entries: list[GroupEntry] = []
    refused: list[tuple[GroupEntry, ApmError]] = []
    for entry, fault in drafts:
        problem = fault
        if problem is None and _slot(entry) in twice:
            cause = "this id stands here more than once, with different names"
            problem = _refusal(cause, file, entry.key, "Keep one of them, or bind each to its channel")
        elif problem is None and (cause := names.clash(checked[entry.key][0])):
            problem = _refusal(cause, file, entry.key, "Give every group its own name, none below another's")
        if problem is None:
            entries.append(entry)
        else:
            refused.append((entry, problem))
    return GroupMap(tuple(entries), tuple(problem for _, problem in refused), tuple(refused))


def _draft(key: str, value: tuple[str, str], fault: str, file: str) -> tuple[GroupEntry, ApmError | None]:
    """One entry, judged by itself; its name is empty where that name may not be used."""
    id_, channel, cause = _identify(key, value[1].lower())
    if fault or cause:
        remedy = 'Write "ID": "name", or "ID": {"name": "name", "channel": "telegram"}'
        return GroupEntry(id_, "", channel, key), _refusal(fault or cause, file, key, remedy)
    try:
        return GroupEntry(id_, check_name(value[0]), channel, key), None
    except NameRefusedError as error:
        placed = NameRefusedError(error.cause, file=file, key=_shown_key(key), remedy=error.remedy)
        return GroupEntry(id_, "", channel, key), placed


def _identify(key: str, channel: str) -> tuple[str, str, str]:
    """Id and channel that an entry's key means, and what is wrong with it."""
    if not key.strip() or len(key) > LIMITS.key_chars:
        return "", "", f"the id is empty or longer than {LIMITS.key_chars} characters"
    if channel and not is_word(channel):
        return key, "", "the channel is no plain word"
    if key[:6].lower() != "agent:":
        return key, channel, ""
    parsed = parse_session_key(key)
    if parsed.chat is not ChatType.GROUP:
        return "", "", "this session key is no group's"
    wrong = "the session key names another channel" if channel not in ("", parsed.channel) else ""
    return parsed.id, parsed.channel, wrong


def _refusal(cause: str, file: str, key: str, remedy: str = "") -> SettingsError:
    return SettingsError(cause, file=file, key=_shown_key(key), remedy=remedy)


def _shown_key(key: str) -> str:
    return key if len(key) <= 200 else f"{key[:200]}…"


@cache
def _adapter() -> TypeAdapter[dict[str, Any]]:
    from pydantic import BaseModel, StrictStr, TypeAdapter

    class Group(BaseModel):
        name: StrictStr
        channel: StrictStr | None = None

    return TypeAdapter(dict[str, StrictStr | Group])


def _checked(raw: dict[str, Any]) -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """Name and channel of every entry of the right shape, and what is wrong with the shape of the others."""
    from pydantic import ValidationError

    faults: dict[str, str] = {}
    try:
        values = _adapter().validate_python(raw)
    except ValidationError as failure:
        for error in failure.errors(include_url=False, include_context=False, include_input=False):
            key, kind, *place = error["loc"]
            if not isinstance(raw[str(key)], dict):
                faults[str(key)] = "the value is neither a name nor an object with a name"
            elif kind == "Group":
                faults[str(key)] = f"{'.'.join(map(str, place))}: {error['msg']}"
        values = _adapter().validate_python({key: value for key, value in raw.items() if key not in faults})
    shapes = {
        key: (value, "") if isinstance(value, str) else (value.name, value.channel or "")
        for key, value in values.items()
    }
    return shapes, faults


def _strict_object(text: str, file: str) -> dict[str, Any]:
    """The JSON object in `text`, without what JSON readers disagree on. Raises SettingsError."""
    import json

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise _refusal("this key stands twice in one object", file, twice, "Keep one of them")
        return found

    def constant(word: str) -> None:
        raise SettingsError(f"{word} is no JSON value", file=file)

    if len(text) > LIMITS.settings_bytes:
        raise SettingsError(f"is longer than {LIMITS.settings_bytes} characters", file=file)
    try:
        text.encode()
        raw = json.loads(text, object_pairs_hook=unique, parse_constant=constant)
        if "\\u" in text:
            json.dumps(raw, ensure_ascii=False).encode()
    except SettingsError:
        raise
    except RecursionError:
        raise SettingsError("is nested too deeply", file=file) from None
    except UnicodeEncodeError:
        raise SettingsError("holds half of a surrogate pair, which is no text", file=file) from None
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        raise SettingsError(f"is no JSON that can be read: {error}", file=file, line=line) from error
    if not isinstance(raw, dict):
        raise SettingsError("holds no JSON object", file=file, remedy='Write {"ID of a group": "name", …}')
    return raw
