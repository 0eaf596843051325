"""Memory as it is found in the wild, each shape made anew here: as the owner's index, as attention, and as a group's
index, through a whole session start. All of it loads, or what does not is named; nothing is lost in silence."""

from __future__ import annotations

import os
import random
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import pytest

from apm_hooks.files import decode, read_text
from apm_hooks.graphemes import boundary_before
from apm_hooks.hosts import claude_code
from apm_hooks.index import parse_index
from apm_hooks.records import DM, LIMITS, Loaded, Scope, ScopeKind
from apm_hooks.tokens import Counter, load_counter
from tests.workspaces import GROUP_KEY, Bench, event

LE = "utf-16-le"
GROUP = Scope(ScopeKind.GROUP, "ops")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "jetty", "knoll", "larch")


def prose(lines: int, seed: int, *, width: int = 8, words: tuple[str, ...] = WORDS, mark: str = "- ") -> str:
    """So many lines of invented text, the same for the same seed."""
    pick = random.Random(seed)
    return "".join(mark + " ".join(pick.choices(words, k=width)) + "\n" for _ in range(lines))


def sized(text: str, size: int) -> str:
    """Lines of `text`, over and over, until they come to `size` bytes."""
    return (text * (size // len(text.encode()) + 1)).encode()[:size].decode("utf-8", "ignore").rpartition("\n")[
        0
    ] + "\n"


@dataclass(frozen=True)
class Shape:
    """A file, and what must be seen of it: `words` where it is loaded whole, `ends` (its first and its newest line)
    even where it is cut, `note` on how it was read; `refused` where it cannot be loaded at all."""

    data: bytes
    words: tuple[str, ...]
    ends: tuple[str, ...] = ()
    note: str = ""
    refused: str = ""
    absent: tuple[str, ...] = field(default=("\ufffd", "\0", "<U+"))


CYRILLIC = ("сборка", "выкат", "завтра", "журнал", "очередь", "сервер", "отчёт", "правка")
HAN = ("部署", "测试", "上线", "回滚", "队列", "日志", "明天", "完成")


def _long_note() -> str:
    days = "".join(f"\n## Day {day}\n\n{prose(40, day, width=30)}" for day in range(1, 40))
    return "# Long note OPENING\n" + sized(days, 342_000 - 60) + "- the newest line, CLOSING\n"


SHAPES = {
    "a UTF-16LE tail from byte 33,200 on, 860 lines": Shape(
        ("# Notes OPENING\n" + sized(prose(300, 1), 33_180)).encode()
        + ("\r\n" + prose(490, 2).replace("\n", "\r\n") + "newest line CLOSING\r\n").encode(LE),
        (), ("OPENING", "newest line CLOSING"), "UTF-8 with a UTF-16LE tail"),
    "a UTF-16LE tail from byte 13,500 on": Shape(
        ("# Notes OPENING\n" + sized(prose(90, 3), 13_480)).encode()
        + ("日志 " + prose(86, 4).replace("\n", "\r\n") + "newest line CLOSING\r\n").encode(LE),
        (), ("OPENING", "newest line CLOSING"), "UTF-8 with a UTF-16LE tail"),
    "a short UTF-16LE tail": Shape(
        b"# Notes OPENING\n\n- first half\n" + "- second half 第二\r\n- CLOSING\r\n".encode(LE),
        ("OPENING", "first half", "second half 第二", "CLOSING"), note="UTF-8 with a UTF-16LE tail"),
    "UTF-8 and UTF-16LE by turns": Shape(
        b"# Notes OPENING\n" + "- appended by a shell\r\n".encode(LE) + "- added by an editor, größer\n".encode()
        + "- appended again, CLOSING\r\n".encode(LE),
        ("OPENING", "appended by a shell", "added by an editor, größer", "CLOSING"),
        note="UTF-16LE and UTF-8 by turns"),
    "UTF-16 with a mark": Shape(
        "\ufeff# OPENING\r\n- CLOSING 完\r\n".encode(LE), ("OPENING", "CLOSING 完"), note="UTF-16"),
    "a mark and conflict marks in a fence": Shape(
        b"\xef\xbb\xbf# OPENING\n\n```\n<<<<<<< ours\nleft\n=======\nright\n>>>>>>> theirs\n```\n- CLOSING\n",
        ("# OPENING", "<<<<<<< ours", ">>>>>>> theirs", "CLOSING")),
    "conflict marks outside a fence": Shape(
        b"# OPENING\n<<<<<<< ours\n- left\n=======\n- right\n>>>>>>> theirs\n- CLOSING\n",
        ("OPENING", "- left", "- right", "CLOSING")),
    "a note of 342 KB": Shape(_long_note().encode(), (), ("OPENING", "the newest line, CLOSING")),
    "544 lines": Shape(("# OPENING\n" + prose(542, 5) + "- CLOSING\n").encode(), (), ("OPENING", "CLOSING")),
    "1,167 lines": Shape(("# OPENING\n" + prose(1_165, 6) + "- CLOSING\n").encode(), (), ("OPENING", "CLOSING")),
    "lines of 5,821 characters": Shape(
        ("# OPENING\n" + "".join(sized(prose(9, seed, mark="").replace("\n", " ") + "\n", 5_821) for seed in range(9))
         + "- CLOSING\n").encode(), (), ("OPENING", "CLOSING")),
    "one line of 300,000 characters": Shape(
        b"OPENING " + b"word " * 60_000 + b"CLOSING", (), ("OPENING", "CLOSING")),
    "pipes in code": Shape(
        b"# OPENING\n| scenario | file |\n|---|---|\n| runs `a | b`, alerts | attention.md |\n"
        b"| tasks | `x|y` |\n- CLOSING\n",
        ("OPENING", "`a | b`", "`x|y`", "CLOSING")),
    "escaped pipes": Shape(
        b"# OPENING\n\n| scenario | file |\n|---|---|\n| this \\| that | attention.md |\n\n- CLOSING\n",
        ("OPENING", "this \\| that", "CLOSING")),
    "no outer pipes": Shape(
        b"# OPENING\n\nscenario | file\n---|---\nalerts | attention.md\n\nCLOSING\n",
        ("OPENING", "alerts | attention.md")),
    "front matter of another day": Shape(
        b"---\ntitle: notes of 2031-01-09\ndate: 2031-01-08\n---\n# 2031-01-08 OPENING\n- CLOSING\n",
        ("title: notes of 2031-01-09", "OPENING", "CLOSING")),
    "a rule line first, newest first, 303 lines": Shape(
        ("---\n# Journal OPENING\n\n" + "".join(
            f"## 2031-{month:02d}-{day:02d}\n- entry {month}/{day} NEWEST\n{prose(1, day, width=60)}\n---\n"
            for month in range(6, 2, -1) for day in range(25, 10, -1))).encode(), (), ("OPENING", "entry 6/25 NEWEST")),
    "an unclosed front matter": Shape(b"---\ntitle: OPENING\n\n# text\n- CLOSING\n", ("OPENING", "CLOSING")),
    "an empty template": Shape(b"---\ntype: dm\n---\n# OPENING\n\n## Hard Rules\n-\n\n##\n", ("OPENING", "Hard Rules")),
    "Cyrillic throughout": Shape(
        ("# НАЧАЛО\n" + prose(30, 7, words=CYRILLIC) + "- КОНЕЦ\n").encode(), ("НАЧАЛО", "КОНЕЦ")),
    "Chinese throughout, too long": Shape(
        ("# 开头\n" + prose(1_200, 8, words=HAN) + "- 结尾\n").encode(), (), ("开头", "结尾")),
    "Portuguese, no final line end": Shape(
        "# INÍCIO\n- informações, ações e decisões\n- FIM".encode(), ("INÍCIO", "informações, ações", "FIM")),
    "Japanese, a bold line first": Shape("**開始メモ**\n\n- 会議は来週\n- 終了".encode(), ("**開始メモ**", "終了")),
    "U+FFFD in the text": Shape(
        "# OPENING\n- half a name: Ren\ufffd\n- CLOSING\n".encode(), ("OPENING", "Ren\ufffd", "CLOSING"), absent=()),
    "pictures": Shape(
        "# OPENING 🏳️‍🌈\n- 👩‍👩‍👧 𠮷 done ✅\n- CLOSING\n".encode(), ("🏳️‍🌈", "👩‍👩‍👧 𠮷 done ✅", "CLOSING")),
    "CRLF": Shape(b"# OPENING\r\n\r\n- middle\r\n- CLOSING\r\n", ("# OPENING\n\n- middle\n- CLOSING",)),
    "lone CR": Shape(b"# OPENING\r\r- middle\r- CLOSING", ("# OPENING\n\n- middle\n- CLOSING",)),
    "mixed line ends": Shape(b"# OPENING\r\n- middle\r- more\n- CLOSING", ("# OPENING\n- middle\n- more\n- CLOSING",)),
    "an odd number of fences": Shape(b"# OPENING\n```sh\nrun\n- CLOSING\n", ("OPENING", "CLOSING")),
    "a zero inside": Shape(
        b"# OPENING\n- a zero \0 inside\n- CLOSING\n", ("OPENING", "zero <U+0000> inside", "CLOSING"),
        note="bytes that are not UTF-8", absent=("\0",)),
    "an old encoding here and there": Shape(
        b"# OPENING\n- caf\xe9 at nine, said in a long enough line\n- CLOSING\n",
        ("OPENING", "caf\\xe9 at nine", "CLOSING"), note="bytes that are not UTF-8"),
    "zeros behind the text": Shape(
        b"# OPENING\n- CLOSING\n" + bytes(4_096), ("OPENING", "CLOSING"), note="zeros at its end left out"),
    "check boxes and markup": Shape(
        b"# OPENING\n- [ ] open\n- [x] done\n<details><summary>more</summary></details>\n<!-- hidden -->\n- CLOSING\n",
        ("- [ ] open", "- [x] done", "<details>", "<!-- hidden -->", "CLOSING")),
    "no text: a picture": Shape(
        b"\x89PNG\r\n\x1a\n" + random.Random(9).randbytes(4_000), (), refused="is no text"),
    "no text: random bytes": Shape(random.Random(10).randbytes(30_000), (), refused="is no text"),
    "no text: zeros": Shape(bytes(2_000), (), refused="is no text"),
    "an old encoding throughout": Shape("сборка прошла\n".encode("cp1251") * 40, (), refused="is no text"),
    "too large": Shape(b"x" * (LIMITS.file_bytes + 1), (), refused="is larger than"),
    "empty": Shape(b"", ()),
    "blank": Shape(b"\n \r\n\t\n", ()),
}  # fmt: skip
ROLES = ("owner's index", "attention", "group's index")
PATHS = dict(zip(ROLES, ("memory/main/index.md", "memory/main/attention.md", "memory/groups/ops.md"), strict=True))


@pytest.fixture
def ops(made: Bench, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A workspace in which a group has a name; the tokenizer's ranks are unpacked once for all tests."""
    made.env["XDG_CACHE_HOME"] = str(tmp_path_factory.getbasetemp() / "cache")
    made.groups({"-100777": "ops"})
    made.trust()
    return made


def start(ops: Bench, role: str, data: bytes, session_id: str = "s1") -> Loaded:
    """A session of whoever begins with that file."""
    ops.write(PATHS[role], data)
    key = GROUP_KEY if role == "group's index" else None
    return ops.runtime().session_start(event(key, session_id=session_id), caps=claude_code.CAPS)


@cache
def exact() -> Counter:
    with tempfile.TemporaryDirectory() as folder:
        return load_counter(cache_dir=f"{folder}/ranks")


def assert_within_bounds(loaded: Loaded) -> None:
    text = loaded.injection.text
    assert loaded.injection.tokens == exact()(text) <= loaded.budget_tokens
    assert all(cap.measure(text) <= cap.limit for cap in claude_code.CAPS)
    assert text.encode().decode() == text


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_is_loaded_or_named(ops: Bench, name: str, role: str) -> None:
    shape = SHAPES[name]
    loaded = start(ops, role, shape.data)
    assert_within_bounds(loaded)
    steps = [step for step in loaded.steps if step.path == PATHS[role]]
    assert [step.verdict for step in steps] == ["refused" if shape.refused else "loaded"]
    text, reason = loaded.injection.text, steps[0].reason
    assert shape.refused in reason
    whole = reason.startswith("loaded whole")
    assert whole is not bool(shape.refused or shape.ends)
    for word in shape.words if whole else shape.ends:
        assert word in text
    for word in shape.absent:
        assert word not in text
    assert ("left out" in text) is (not whole and not shape.refused)
    assert reason.partition("; read as ")[2] == shape.note


LABEL = re.compile(r'sha256="[0-9a-f]{12}"')


# Where the budget binds and not the host's cap, the digest's own tokens move the cut.
BY_TOKENS = "Chinese throughout, too long"
IN_EVERY_FORM = [name for name, shape in SHAPES.items() if not shape.refused and not shape.note and name != BY_TOKENS]


@pytest.mark.parametrize("name", IN_EVERY_FORM)
def test_line_ends_change_nothing_but_the_digest(ops: Bench, name: str) -> None:
    text, _ = decode(SHAPES[name].data)
    role = ROLES[len(name) % len(ROLES)]
    shown = [
        LABEL.sub("", start(ops, role, text.replace("\n", end).encode(), repr(end)).injection.text)
        for end in ("\n", "\r\n", "\r")
    ]
    assert shown[0] == shown[1] == shown[2]


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if not shape.refused])
@pytest.mark.parametrize("scope", [DM, GROUP], ids=str)
def test_line_ends_change_nothing_in_an_index(name: str, scope: Scope) -> None:
    text, _ = decode(SHAPES[name].data)
    forms = [parse_index(text.replace("\n", end), scope) for end in ("\n", "\r\n", "\r")]
    assert forms[0] == forms[1] == forms[2]


@pytest.mark.parametrize(
    ("name", "scenarios", "path"),
    [
        ("escaped pipes", ("this | that",), "attention.md"),
        ("no outer pipes", ("alerts",), "attention.md"),
    ],
)
def test_a_table_is_read_as_it_is_written(name: str, scenarios: tuple[str, ...], path: str) -> None:
    route = parse_index(decode(SHAPES[name].data)[0], DM).routes[0]
    assert (route.scenarios, route.path) == (scenarios, path)


@pytest.mark.parametrize(
    ("name", "meta"),
    [
        ("front matter of another day", {"title": "notes of 2031-01-09", "date": "2031-01-08"}),
        ("a rule line first, newest first, 303 lines", {}),
        ("an unclosed front matter", {}),
    ],
)
def test_only_a_closed_block_of_keys_at_the_top_is_front_matter(name: str, meta: dict[str, str]) -> None:
    assert parse_index(decode(SHAPES[name].data)[0], DM).meta == meta


@pytest.mark.parametrize("role", ROLES)
def test_the_budget_in_a_file_of_any_encoding_counts(ops: Bench, role: str) -> None:
    text = "---\r\ntype: dm\r\nmemory_budget: 700\r\n---\r\n# OPENING\r\n" + prose(400, 11).replace("\n", "\r\n")
    for data in (text.encode(), b"\xef\xbb\xbf" + text.encode(), ("\ufeff" + text).encode(LE), text.encode(LE)):
        loaded = start(ops, role, data)
        assert_within_bounds(loaded)
        assert loaded.budget_tokens == (700 if role != "attention" else LIMITS.dm_budget_tokens)


def test_no_cut_divides_a_character(ops: Bench) -> None:
    """The cut moves over a file of characters of four bytes, joined pictures and combining marks, byte by byte."""
    body = "𠮷🏳️‍🌈é👩‍👩‍👧한글" * 900
    for offset in range(21):
        loaded = start(ops, "attention", ("x" * offset + body).encode())
        assert_within_bounds(loaded)
        text = loaded.injection.text
        assert "left out" in text
        for piece in re.findall("[^\x00-\x7f…]+", text):
            assert piece in body
            assert boundary_before(piece + "x", len(piece)) == len(piece)


NAMES = (
    "两 个 字",
    "C# und C++",
    "plan+b",
    "день",
    "ノート_2",
    "été",
    "a.b",
    "50% off",
    "hash#1",
    "(old) copy",
    "-dash",
)


@pytest.mark.parametrize("name", [*NAMES, "12:30 call", "new\nline", "tab\there", "quote'\""])
def test_a_file_is_read_whatever_its_name(made: Bench, name: str) -> None:
    made.write(f"memory/main/projects/{name}.md", "ours")
    found = read_text(str(made.root), f"memory/main/projects/{name}.md")
    assert found is not None
    assert found.text == "ours"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "-dash"])
def test_a_group_may_have_any_such_name(ops: Bench, name: str) -> None:
    ops.groups({"-100777": name})
    ops.write(f"memory/groups/{name}.md", "# OPENING\n- CLOSING\n")
    ops.trust()
    loaded = ops.runtime().session_start(event(GROUP_KEY), caps=claude_code.CAPS)
    assert "CLOSING" in loaded.injection.text
    assert f"Group({name})" in loaded.injection.text


@pytest.mark.parametrize("name", ["12:30 call", "-dash", "new\nline", "con", "..", "a/../b"])
def test_a_group_whose_name_is_refused_gets_nothing_and_is_named(ops: Bench, name: str) -> None:
    ops.groups({"-100777": name})
    ops.write("memory/groups/ops.md", "# OPENING\n")
    ops.trust()
    runtime = ops.runtime()
    loaded = runtime.session_start(event(GROUP_KEY))
    assert loaded.decision.scope is None
    assert "OPENING" not in loaded.injection.text
    assert [problem.key for problem in runtime.workspace.problems] == ["-100777"]


@pytest.mark.parametrize("key", [None, GROUP_KEY])
def test_memory_that_is_an_empty_folder_is_not_initialised(ops: Bench, key: str | None) -> None:
    """A submodule of a plain clone is an empty folder."""
    runtime = ops.runtime()
    for path in sorted((ops.root / "memory/main").iterdir()):
        path.unlink()
    loaded = runtime.session_start(event(key))
    assert [step.verdict for step in loaded.steps if step.path] == ["absent"]
    assert ("not initialised" if key is None else "First join") in loaded.injection.text


@pytest.mark.parametrize("role", ROLES)
def test_a_folder_in_a_files_place_is_named(ops: Bench, role: str) -> None:
    path = ops.root / PATHS[role]
    path.unlink(missing_ok=True)
    path.mkdir(parents=True)
    loaded = ops.runtime().session_start(event(GROUP_KEY if role == "group's index" else None))
    assert [(step.verdict, step.reason) for step in loaded.steps if step.path == PATHS[role]] == [
        ("refused", "is a directory")
    ]


@pytest.mark.parametrize("key", [None, GROUP_KEY])
def test_how_many_files_there_are_does_not_matter(ops: Bench, monkeypatch: pytest.MonkeyPatch, key: str | None) -> None:
    """A start opens what it needs by name, and lists no folder of the memory."""
    for number in range(300):
        ops.write(f"memory/main/projects/p{number}.md", "x")
        ops.write(f"memory/groups/ops/conventions/c{number}.md", "x")
    listed: list[str] = []

    def recorded(call: Callable[..., object]) -> Callable[..., object]:
        def listing(path: str = ".") -> object:
            listed.append(str(path))
            return call(path)

        return listing

    for name in ("listdir", "scandir"):
        monkeypatch.setattr(os, name, recorded(getattr(os, name)))
    loaded = start(ops, "attention" if key is None else "group's index", b"# OPENING\n")
    assert "OPENING" in loaded.injection.text
    assert not [path for path in listed if path.startswith(str(ops.root / "memory"))]


def test_a_file_that_is_refused_is_in_the_log(ops: Bench) -> None:
    start(ops, "attention", b"\x89PNG" + random.Random(12).randbytes(900))
    assert "memory/main/attention.md: is no text" in ops.state_files()["log/apm.log"]
