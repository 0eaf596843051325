"""What is fuzzed: each target takes any bytes, calls one part of the library, and raises BrokenRuleError where a rule
of that part does not hold. Nothing here needs the fuzzer, so that the tests run every target on every seed."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable

from apm_hooks import fastlane
from apm_hooks.budget import cut_to_fit, utf8_bytes, utf16_units
from apm_hooks.decoding import decode
from apm_hooks.errors import MemoryFileError, NameRefusedError, SettingsError
from apm_hooks.groupmap import read_group_map
from apm_hooks.index import MAX_PROBLEMS, parse_index
from apm_hooks.injection import render, show_invisible
from apm_hooks.names import Names, check_name, name_key
from apm_hooks.ownership import loads
from apm_hooks.records import DM, LIMITS, Bound, ChatType, Fragment, Scope, ScopeKind
from apm_hooks.session import may_be_group, parse_session_key

GROUP = Scope(ScopeKind.GROUP, "ops")


class BrokenRuleError(Exception):
    """A rule that the fuzzer found an exception to."""


def require(holds: bool, rule: str) -> None:
    if not holds:
        raise BrokenRuleError(rule)


def text_of(data: bytes) -> str:
    """Any bytes as a text; bytes that are no UTF-8 become half surrogates, which hosts send too."""
    return data.decode("utf-8", "surrogateescape")


def fuzz_decode(data: bytes) -> None:
    try:
        text, note = decode(data, "a.md")
    except MemoryFileError as error:
        require(error.file == "a.md", "an error names its file")
        return
    require("\r" not in text, "line ends are LF")
    text.encode("utf-8")
    try:
        plain = None if b"\0" in data else data.decode("utf-8")
    except UnicodeDecodeError:
        plain = None
    if plain is not None:
        folded = plain.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        require((text, note) == (folded, ""), "UTF-8 is read as it is")
    else:
        require(bool(note), "what is odd is noted")
    require(decode(data, "a.md") == (text, note), "the same bytes give the same text")


def fuzz_index(data: bytes) -> None:
    text = text_of(data[1:])
    scope = GROUP if data[:1] < b"\x80" else DM
    index = parse_index(text, scope)
    lines = len(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    require(len(index.routes) <= LIMITS.routes, "routes are bounded")
    require(len(index.problems) <= MAX_PROBLEMS + 1, "problems are bounded")
    require(all(0 <= problem.line <= lines for problem in index.problems), "a problem's line is in the file")
    require(all(rule.strip() and "\n" not in rule for rule in index.hard_rules), "a hard rule is one line")
    budget = index.budget_tokens
    require(budget is None or 0 < budget <= LIMITS.budget_ceiling_tokens, "a budget is a positive number")
    for route in index.routes:
        require(bool(route.path) is not bool(route.problem), "a row has a path or says why not")
        require(0 <= route.priority <= 3 and 0 < route.line <= lines, "a row has a priority and a line")
        parts = route.path.split("/")
        require(not route.path or not {"", ".", ".."} & set(parts), "a path is plain")
        require("\0" not in route.path and "\\" not in route.path, "a path holds no separator of another system")
        if route.path:
            whole = f"{scope.directory}/{route.path}"
            other = DM if scope == GROUP else GROUP
            require(not loads(other, whole), "a row leads into no other scope")
    for end in ("\r\n", "\r"):
        if "\r" not in text:
            require(parse_index(text.replace("\n", end), scope) == index, "line ends change nothing")


def fuzz_session_key(data: bytes) -> None:
    raw = text_of(data)
    key = parse_session_key(raw)
    require(key.raw == raw, "the key keeps its text")
    words = [word.lower() for word in raw.split(":")]
    if key.chat in (ChatType.DIRECT, ChatType.GROUP):
        require(len(raw) <= LIMITS.key_chars, "a key that is too long names nothing")
        require(words[0] == "agent", "a chat's key begins with agent")
        require(bool(key.id.strip()) or key.owner, "a chat has an id")
        require(key.id in raw and key.thread in raw, "id and thread stand in the key")
        require(key.agent == key.agent.lower() and key.channel == key.channel.lower(), "words are folded")
    if key.chat is ChatType.DIRECT:
        require(not may_be_group(key), "a direct chat is no group")
        require(not {"group", "channel"} & set(words[2:4]), "what could be a group is not direct")
    if key.owner:
        require(words[2] == "main", "only main is the owner's own session")
    folded = parse_session_key(raw.lower() if raw.isascii() else raw)
    require(folded.chat is key.chat and folded.owner is key.owner, "case does not change whose a key is")


def fuzz_name(data: bytes) -> None:
    raw = text_of(data)
    try:
        name = check_name(raw)
    except NameRefusedError as error:
        require(str(error).isprintable() and len(str(error)) < 2_000, "a refusal is one printable line")
        return
    require(unicodedata.normalize("NFC", name) == name == unicodedata.normalize("NFC", raw), "a name is composed")
    require(check_name(name) == name, "an accepted name is accepted again")
    parts = name.split("/")
    require(not {"", ".", ".."} & set(parts), "no component leads elsewhere")
    require(all(len(part.encode()) <= LIMITS.name_bytes for part in parts), "components are short")
    require(not any(unicodedata.category(char) in ("Cc", "Cs") for char in name), "controls are refused")
    key = name_key(name)
    require(name_key(key) == key == name_key(name.upper().lower()) or not name.isascii(), "a name's key is stable")
    scope = Scope(ScopeKind.GROUP, name)
    require(loads(scope, scope.index_path), "a group may load its own index")
    require(not loads(GROUP, scope.index_path) or name == GROUP.name, "and no other group may")


def fuzz_group_map(data: bytes) -> None:
    text = text_of(data)
    try:
        groups = read_group_map(text, file="group_names.json")
    except SettingsError as error:
        require(error.file == "group_names.json", "an error names its file")
        return
    for problem in groups.errors:
        require(problem.file == "group_names.json", "a problem names its file")
        require(bool(problem.key) or '""' in text, "a problem names its key")
    names = {entry.name for entry in groups.entries}
    require(len({name_key(name) for name in names}) == len(names), "no two names meet")
    side_by_side = Names(names)
    for entry in groups.entries:
        require(check_name(entry.name) == entry.name, "every name may become a path")
        require(not side_by_side.clash(entry.name), "no name lies below another")
    for key in ("agent:main:telegram:group:-100777", "agent:main:matrix:channel:!room:hs.example", "agent:main:main"):
        parsed = parse_session_key(key)
        found = groups.find(parsed, matrix_without_server=True)
        require(found is None or (parsed.chat is ChatType.GROUP and found in groups.entries), "only groups are found")


EVENT = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Read",
    "session_id": "s",
    "cwd": "/nowhere",
    "source": "startup",
}


def fuzz_fast_lane(data: bytes) -> None:
    text = text_of(data)
    try:
        value: object = fastlane.parse_json(text)
    except (ValueError, RecursionError):
        value = BrokenRuleError
    try:
        wanted: object = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        wanted = BrokenRuleError
    require(repr(value) == repr(wanted), "the lane reads JSON as the json package does")
    env = {"HOME": "/nowhere", "PATH": "/nowhere"}
    for event in (data, json.dumps({**EVENT, "tool_input": {"file_path": text}}).encode()):
        said = fastlane.answer(["--host", "claude-code"], event, env)
        require(said in (None, b""), "without a record the lane has nothing to say")


def _refuse(name: str) -> None:
    raise ValueError(name)


def fuzz_injection(data: bytes) -> None:
    texts = [show_invisible(part) for part in text_of(data).split("\x1e")[:4]]
    for text in texts:
        text.encode("utf-8")
        require(show_invisible(text) == text, "what is shown is shown as it is")
        odd = {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co")}
        require(odd <= set("\n\t\u200c\u200d\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
                           "\U000110bd\U000110cd\U00013430\U00013431\U00013432\U00013433\U00013434\U00013435"
                           "\U00013436\U00013437\U00013438\U00013439\U0001343a\U0001343b\U0001343c\U0001343d"
                           "\U0001343e\U0001343f"), "nothing invisible is left")  # fmt: skip
    fragments = [Fragment("index", text, f"memory/{text[:20]}", "0" * 64) for text in texts]
    shown = render(GROUP, fragments)
    require(render(GROUP, fragments) == shown, "the same memory gives the same bytes")
    lines = shown.split("\n")
    opening = re.compile(r'<apm-memory-([0-9a-f]{8}) layer="index" path="[^"<>]*" sha256="0{12}">')
    found = [opening.fullmatch(line) for line in lines]
    tags = {match[1] for match in found if match}
    require(len(tags) == 1, "one tag for all fences")
    (tag,) = tags
    require(sum(map(bool, found)) == len(texts) == lines.count(f"</apm-memory-{tag}>"), "every fence opens and closes")
    require(shown.count(tag) == 2 * len(texts), "no content and no label holds the tag")


MEASURES: tuple[tuple[str, Callable[[str], int]], ...] = (
    ("bytes", utf8_bytes),
    ("utf16", utf16_units),
    ("uneven", lambda text: 2 * len(text.split()) + len(text) // 7 + len(text) ** 2 // 4_000),
)


def fuzz_cut(data: bytes) -> None:
    if len(data) < 4:
        return
    text = data[4:].decode("utf-8", "replace") * (1 + data[0] % 8)
    unit, measure = MEASURES[data[1] % len(MEASURES)]
    bounds = [Bound(unit, measure, data[2] * 4), Bound("bytes", utf8_bytes, 100 + data[3] * 8)]

    def wrap(content: str) -> str:
        return f"<memory {len(content) % 97}>\n{content}\n</memory>"

    def cheap(content: str) -> int:
        return len(content.encode()) // 4 + 1

    cut = cut_to_fit(text, bounds, path="memory/main/attention.md", count=cheap, wrap=wrap)
    if cut is None:
        require(any(bound.measure(wrap(text)) > bound.limit for bound in bounds), "what fits is not refused")
        return
    require(all(bound.measure(wrap(cut.text)) <= bound.limit for bound in bounds), "no bound is exceeded")
    cut.text.encode("utf-8")
    if cut.whole:
        require(cut.text == text, "what is whole is unchanged")
        return
    require(cut.omitted_tokens > 0, "what was left out is counted")
    marker = f"({cut.omitted_tokens:,} token{'s' * (cut.omitted_tokens != 1)}) left out; whole file: memory/main/"
    require(marker in cut.text, "a marker says what was left out")
    again = cut_to_fit(text, bounds, path="memory/main/attention.md", count=cheap, wrap=wrap)
    require(again == cut, "the same text is cut at the same place")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "decode": fuzz_decode,
    "index": fuzz_index,
    "session-key": fuzz_session_key,
    "name": fuzz_name,
    "group-map": fuzz_group_map,
    "fast-lane": fuzz_fast_lane,
    "injection": fuzz_injection,
    "cut": fuzz_cut,
}
