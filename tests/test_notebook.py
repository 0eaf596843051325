"""What the helpers write to a scope's memory, through files, locks and copies."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apm_hooks import aggregate, notebook
from apm_hooks.errors import ApmError, MemoryFileError, NameRefusedError, UsageError
from apm_hooks.flushstate import read_state
from apm_hooks.guarded import change_file
from apm_hooks.notebook import THERE, WRITTEN, Notebook, Written
from apm_hooks.records import DM, LIMITS, Limits, Scope, ScopeKind
from apm_hooks.writeback import initialise, initialise_group, template
from tests.workspaces import OLD

ALPHA = Scope(ScopeKind.GROUP, "alpha")
TODAY = date(2026, 1, 2)
AT = "2026-01-02T10:00:00+00:00"
GROUP_DIR, MAIN_DIR = "memory/groups/alpha", "memory/main"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the owner's memory and that of the group `alpha`, to be copied."""
    made = tmp_path_factory.mktemp("fresh")
    initialise(str(made))
    initialise_group(str(made), "alpha")
    return made


@pytest.fixture
def root(tmp_path: Path, fresh: Path) -> Path:
    """A workspace with the owner's memory and that of the group `alpha`."""
    return Path(shutil.copytree(fresh, tmp_path / "ws"))


Make = Callable[..., Notebook]


@pytest.fixture
def book(root: Path) -> Make:
    """Makes the notebook of a scope."""

    def make(scope: Scope = DM, limits: Limits = LIMITS) -> Notebook:
        return Notebook(str(root), scope, today=TODAY, limits=limits)

    return make


def tree(root: Path) -> dict[str, bytes]:
    """Every file of the workspace with its bytes, but locks and our own folder."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*"))
            if path.is_file() and ".apm" not in path.parts and path.suffix != ".lock"}  # fmt: skip


def changed(root: Path, before: dict[str, bytes]) -> list[str]:
    after = tree(root)
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


Act = Callable[[Notebook], Written]


@pytest.mark.parametrize(
    ("scope", "act", "path", "added"),
    [
        (ALPHA, lambda book: book.decision("x"), "experience.md", "- 2026-01-02: x\n"),
        (DM, lambda book: book.decision("x", source="log/a.md"), "longterm.md", "- 2026-01-02: x (source: log/a.md)\n"),
        (ALPHA, lambda book: book.note("x"), "project.md", "- x\n"),
        (ALPHA, lambda book: book.person("x"), "people.md", "- x\n"),
        (DM, lambda book: book.person("x"), "longterm.md", "- 2026-01-02: x\n"),
        (DM, lambda book: book.day("x"), "daily-synced.md", "## 2026-01-02\n\nx\n"),
    ],
)
def test_each_kind_goes_to_its_own_file_and_to_no_other(
    root: Path, book: Make, scope: Scope, act: Act, path: str, added: str
) -> None:
    before = tree(root)
    written = act(book(scope))
    file = f"{scope.directory}/{path}"
    assert (written.path, written.status, written.shrunk, written.note) == (file, WRITTEN, False, "")
    assert changed(root, before) == [file]
    text = (root / file).read_text()
    assert text == before[file].decode() + "\n" + added
    assert text.split("\n")[written.line - 1] == added.partition("\n")[0]
    assert act(book(scope)) == Written(file, THERE)
    assert (root / file).read_text() == text


def test_a_project_of_the_owner_has_a_file_of_its_own(root: Path, book: Make) -> None:
    written = book().note("Debian 13", project="web site")
    note = "no row of the index leads to it yet: apm-hooks route add SCENARIO 'projects/web site.md'"
    assert written == Written("memory/main/projects/web site.md", WRITTEN, 3, note=note)
    assert (root / written.path).read_text() == "# web site\n\n- Debian 13\n"
    book().route_add("website", "projects/web site.md")
    assert book().note("Python 3.12", project="web site").note == ""
    assert (root / written.path).read_text().endswith("- Debian 13\n- Python 3.12\n")


@pytest.mark.parametrize("scope", [DM, ALPHA])
def test_a_status_takes_the_place_of_the_old_one_which_comes_back(root: Path, book: Make, scope: Scope) -> None:
    """Case B11: a whole morning of notes is overwritten by a few lines."""
    file = f"{scope.directory}/attention.md"
    (root / file).write_text("# Attention\n\n" + "- a task of this morning\n" * 40)
    before = tree(root)
    written = book(scope).status("- all done\n")
    assert written == Written(file, WRITTEN, 3, shrunk=True)
    assert (root / file).read_text() == "# Attention\n\n- all done\n"
    assert changed(root, before) == [file]
    assert book(scope).restore("attention.md") == Written(file, WRITTEN, 1)
    assert tree(root) == before
    assert book(scope).status("- a task of this morning\n" * 39).shrunk is False


def test_what_would_be_lost_is_not_overwritten_where_no_copy_can_be_kept(root: Path, book: Make) -> None:
    file = root / MAIN_DIR / "attention.md"
    file.write_text("# Attention\n\n" + "- a task\n" * 40)
    before = tree(root)
    (root / ".apm/backup").mkdir(parents=True)
    (root / ".apm/backup").chmod(0o777)
    with pytest.raises(MemoryFileError, match="chmod 700"):
        book().status("- all done")
    assert tree(root) == before
    written = book().decision("use Postgres")
    assert written.note.startswith("no copy of the earlier text was kept: ")
    assert "use Postgres" in (root / MAIN_DIR / "longterm.md").read_text(), "what only adds loses nothing"


def test_a_file_too_large_for_a_copy_is_written_and_said(root: Path, book: Make) -> None:
    written = book(limits=replace(LIMITS, image_bytes=9)).decision("use Postgres")
    assert written.note == "no copy of the earlier text was kept: it has more than 9 bytes"


@pytest.mark.parametrize(
    ("act", "cause"),
    [
        (lambda book: book(ALPHA).day("x"), "a group has no days"),
        (lambda book: book(ALPHA).person("x", source="y"), "no pointers"),
        (lambda book: book(ALPHA).note("x", project="y"), "one project file"),
        (lambda book: book().note("x"), "--project NAME"),
        (lambda book: book().decision(" \n"), "no text"),
        (lambda book: book().decision("a\0b"), r"U\+0000"),
        (lambda book: book().decision("x", source="y" * 401), "one line of at most 400"),
        (lambda book: book(limits=replace(LIMITS, file_bytes=4)).decision("xxxxx"), "more than 4 bytes"),
        (lambda book: book().pending_add(" ", at=AT), "no text"),
        (lambda book: book().pending_add("x" * 401, at=AT), "one line of at most 400"),
        (lambda book: book().pending_done(["abc"], at=AT), "no pending item abc"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is(
    root: Path, book: Make, act: Callable[[Make], object], cause: str
) -> None:
    before = tree(root)
    with pytest.raises(UsageError, match=cause):
        act(book)
    assert tree(root) == before


KEY = "sk-test-0123456789abcdef0123"
WRITERS: dict[str, Callable[[Notebook, str], object]] = {
    "decision": lambda book, text: book.decision(text),
    "source": lambda book, text: book.decision("x", source=text),
    "status": lambda book, text: book.status(text),
    "note": lambda book, text: book.note(text, project="p"),
    "person": lambda book, text: book.person(text),
    "day": lambda book, text: book.day(text),
    "route": lambda book, text: book.route_add(text, "a.md"),
    "pending": lambda book, text: book.pending_add(text, at=AT),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_secret_reaches_no_file_and_no_error(root: Path, book: Make, writer: str) -> None:
    """Case B38."""
    with pytest.raises(UsageError, match=r"line 1 of the text holds an API key") as error:
        WRITERS[writer](book(), f"the key is {KEY}")
    assert KEY not in str(error.value)
    assert not any(KEY.encode() in path.read_bytes() for path in root.rglob("*") if path.is_file())


NAMES = [
    "..",
    ".",
    "../main/index",
    "a/../../main/index",
    "a/..",
    "..\\main",
    "%2e%2e%2fmain",
    "/etc/x",
    "C:x",
    "a\0b",
    "x" * 300,
    "．．／main",
    "con",
    "nul.md",
    "aux",
    "x.",
    "x ",
    "a?b",
    "a<b",
    "telegram:6012345678",
    "index",
    "",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_projects_name_never_leads_elsewhere(root: Path, book: Make, name: str) -> None:
    """Cases B26 and B28."""
    before = tree(root)
    with pytest.raises((NameRefusedError, UsageError)):
        book().note("x", project=name)
    assert tree(root) == before


@pytest.mark.parametrize("name", ["../main", "..", "a/../../main", ""])
def test_a_scope_whose_name_leads_elsewhere_writes_nothing(root: Path, book: Make, name: str) -> None:
    before = tree(root)
    with pytest.raises(NameRefusedError, match="to write"):
        book(Scope(ScopeKind.GROUP, name)).decision("x")
    assert tree(root) == before


FILES = [
    "../index.md",
    "..",
    "/etc/passwd",
    "memory/main/attention.md",
    "memory/groups/beta/attention.md",
    "MEMORY.md",
    "flush-state.json",
    "memory/flush-state.json",
    "a\0b.md",
    "../../../apm.toml",
    "．．／x.md",
    "",
]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize(
    "act",
    [
        lambda book, file: book.archive(file),
        lambda book, file: book.archive(file, undo=True),
        lambda book, file: book.restore(file),
        lambda book, file: book.route_add("x", file),
    ],
    ids=["archive", "undo", "restore", "route"],
)
def test_only_files_of_the_scope_are_touched(
    root: Path, book: Make, act: Callable[[Notebook, str], object], file: str
) -> None:
    (root / "memory/flush-state.json").write_text("{}")
    (root / GROUP_DIR / "MEMORY.md").write_text("# M\n")
    before = tree(root)
    with pytest.raises(ApmError) as error:
        act(book(ALPHA), file)
    assert isinstance(error.value, (NameRefusedError, MemoryFileError))
    assert tree(root) == before


@pytest.mark.parametrize("path", ["memory/main/longterm.md", "memory/main", "memory"])
def test_nothing_is_written_through_a_link(root: Path, book: Make, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    (root / path).rename(outside)
    (root / path).symlink_to(outside)
    before = {path: path.read_bytes() for path in [outside, *outside.rglob("*")] if path.is_file()}
    with pytest.raises(MemoryFileError, match=f"{path}: is a symbolic link"):
        book().decision("x")
    assert {path: path.read_bytes() for path in [outside, *outside.rglob("*")] if path.is_file()} == before


def test_a_row_never_leads_behind_a_link(root: Path, book: Make, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / GROUP_DIR / "conventions").symlink_to(tmp_path / "outside")
    before = tree(root)
    with pytest.raises(MemoryFileError, match="is a symbolic link"):
        book(ALPHA).route_add("x", "conventions/a.md")
    (root / GROUP_DIR / "b.md").symlink_to(tmp_path / "outside")
    with pytest.raises(MemoryFileError, match=r"alpha/b\.md: is a symbolic link"):
        book(ALPHA).route_add("x", "b.md")
    assert tree(root) == before


def test_rows_are_added_and_retired_and_the_day_is_noted(root: Path, book: Make) -> None:
    index = root / ALPHA.index_path
    index.write_text(index.read_text().replace("status: active\n", "status: active\nlast_updated: 2025-01-01\n"))
    before = index.read_text()
    written = book(ALPHA).route_add("deploys, releases", "conventions/deploy.md")
    assert (written.path, written.status) == (ALPHA.index_path, WRITTEN)
    assert written.note == "memory/groups/alpha/conventions/deploy.md does not exist yet"
    after = index.read_text()
    dated = before.replace("last_updated: 2025-01-01", "last_updated: 2026-01-02")
    assert after == dated + "| deploys, releases | conventions/deploy.md | P2-L3 |\n"
    assert after.split("\n")[written.line - 1].startswith("| deploys")
    assert book(ALPHA).route_add("releases", "conventions/deploy.md").status == THERE
    written = book(ALPHA).route_deprecate("conventions/deploy.md")
    assert index.read_text() == after.replace("| deploys", "| [DEPRECATED] deploys")
    assert index.read_text().split("\n")[written.line - 1].startswith("| [DEPRECATED]")
    assert book(ALPHA).route_deprecate("conventions/deploy.md").status == THERE


@pytest.mark.parametrize(
    ("scope", "remedy"), [(DM, "apm-hooks init"), (ALPHA, "apm-hooks group add NAME --id ID --init")]
)
def test_a_row_needs_an_index(root: Path, book: Make, scope: Scope, remedy: str) -> None:
    (root / scope.index_path).unlink()
    with pytest.raises(MemoryFileError, match=f"{scope.index_path}: does not exist.*{remedy}"):
        book(scope).route_add("x", "a.md")
    assert not (root / scope.index_path).exists()


def test_an_index_is_restored_only_where_no_row_or_rule_goes(root: Path, book: Make) -> None:
    index = root / ALPHA.index_path
    whole = index.read_text()
    book(ALPHA).route_add("x", "a.md")
    with pytest.raises(MemoryFileError, match="lacks rules or rows"):
        book(ALPHA).restore("alpha.md")
    grown = index.read_text()
    index.write_text(whole.replace("| people", "| pe0ple"))
    book(ALPHA).route_add("y", "b.md")
    index.write_text("# broken\n")
    assert book(ALPHA).restore(ALPHA.index_path).status == WRITTEN
    assert "pe0ple" in index.read_text()
    assert grown != index.read_text()


@pytest.mark.parametrize("file", ["attention.md", "project.md", "memory/groups/alpha/people.md"])
def test_a_file_is_archived_and_taken_back(root: Path, book: Make, file: str) -> None:
    before = tree(root)
    written = book(ALPHA).archive(file)
    assert (root / written.path).read_text() == "---\nstatus: archived\n---\n" + before[written.path].decode()
    assert book(ALPHA).archive(file).status == THERE
    assert book(ALPHA).archive(file, undo=True).status == WRITTEN
    assert tree(root) == before
    assert book(ALPHA).archive(file, undo=True).status == THERE


def test_a_file_that_is_archived_by_its_heading_is_taken_back_by_hand(root: Path, book: Make) -> None:
    (root / GROUP_DIR / "attention.md").write_text("# Attention [ARCHIVED]\n")
    assert book(ALPHA).archive("attention.md").status == THERE
    with pytest.raises(MemoryFileError, match=r"attention\.md: says in its heading"):
        book(ALPHA).archive("attention.md", undo=True)


def test_a_status_in_an_archived_file_is_written_and_told(root: Path, book: Make) -> None:
    book(ALPHA).archive("attention.md")
    written = book(ALPHA).status("- new")
    assert written.note == "it is archived, so it is passed over: apm-hooks archive attention.md --undo"
    assert (root / written.path).read_text() == "---\nstatus: archived\n---\n# Attention\n\n- new\n"


def test_a_file_to_archive_must_exist(root: Path, book: Make) -> None:
    with pytest.raises(MemoryFileError, match=r"alpha/none\.md: does not exist"):
        book(ALPHA).archive("none.md")
    assert not (root / GROUP_DIR / "none.md").exists()


@pytest.mark.parametrize("scope", [DM, ALPHA])
def test_leads_wait_in_the_state_of_their_scope(root: Path, book: Make, scope: Scope) -> None:
    first = book(scope).pending_add("Bob  may move\nto design", at=AT)
    second = book(scope).pending_add("ask Eve", at=AT)
    assert (first.text, first.kind.value, first.at) == ("Bob may move to design", "lead", AT)
    assert book(scope).pending_add("Bob may move to design", at="2026-02-02T10:00:00+00:00") == first
    assert book(scope).pending_list() == read_state(str(root), scope).book.pending == (first, second)
    assert book(ALPHA if scope == DM else DM).pending_list() == ()
    assert aggregate.check(str(root), ["alpha"]) == []
    assert book(scope).pending_done([first.id], at=AT) == (first,)
    assert book(scope).pending_done(at=AT, everything=True) == (second,)
    assert book(scope).pending_list() == book(scope).pending_done(at=AT, everything=True) == ()
    assert aggregate.check(str(root), ["alpha"]) == []


@pytest.mark.parametrize("name", ["longterm.md", "attention.md", "daily-synced.md"])
def test_an_absent_file_begins_like_its_template(root: Path, book: Make, name: str) -> None:
    (root / MAIN_DIR / name).unlink()
    act = {"longterm.md": book().decision, "attention.md": book().status, "daily-synced.md": book().day}[name]
    written = act("x")
    title = template(f"dm/{name}").split("\n")[0]
    assert (root / MAIN_DIR / name).read_text().startswith(f"{title}\n\n")
    assert written.status == WRITTEN
    assert stat.S_IMODE((root / MAIN_DIR / name).stat().st_mode) == 0o644


ENCODINGS = ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"]
MARKS = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(
        st.sampled_from(["# T", "intro", "", "- 2026-01-01: old", "| a | b |", "|---|---|", "日本語", "- é"]),
        max_size=6,
    ),
    last=st.sampled_from(["", "end"]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    codec=st.sampled_from(ENCODINGS),
    text=st.sampled_from(["new", "- one\n- two", "日本の文\n\nmore"]),
)
def test_a_file_keeps_its_encoding_its_line_ends_its_mode_and_every_other_line(
    root: Path, book: Make, lines: list[str], last: str, end: str, codec: str, text: str
) -> None:
    """Case B31."""
    file = root / MAIN_DIR / "longterm.md"
    body = "".join(f"{line}{end}" for line in lines) + last
    mark = MARKS.get(codec, b"")
    file.write_bytes(mark + body.encode(codec))
    file.chmod(0o640)
    os.utime(file, (OLD, OLD))
    assert book().decision(text).status == WRITTEN
    data = file.read_bytes()
    assert data.startswith(mark)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    after = data[len(mark) :].decode(codec)
    assert set(re.findall("\r\n|\r|\n", after)) <= {end if lines else "\n"}
    kept = iter(after.split(end if lines else "\n"))
    assert all(line in kept for line in lines), "every line is still there, in its order"
    assert after.endswith(("\n", "\r")) is not bool(last)
    os.utime(file, (OLD, OLD))
    assert book().decision(text).status == THERE
    assert file.read_bytes() == data


def test_an_editor_that_saves_in_between_loses_nothing(root: Path, book: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case B14, the whole way: the entry is made anew on top of what the editor saved."""
    file = root / MAIN_DIR / "longterm.md"
    saved = template("dm/longterm.md") + "\n- 2026-01-01: from the editor\n" + "- more\n" * 900
    tries: list[bytes | None] = []

    def interrupted(root_: str, path: str, change: Callable[[bytes | None], bytes | None], **more: object) -> bool:
        def late(before: bytes | None) -> bytes | None:
            after = change(before)
            if not tries:
                file.write_text(saved)
                os.utime(file, (OLD, OLD))
            tries.append(after)
            return after

        return change_file(root_, path, late, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(notebook, "change_file", interrupted)
    written = book().decision("ours")
    assert (len(tries), written.status) == (2, WRITTEN)
    assert file.read_text() == saved.replace("- 2026-01-01", "- 2026-01-02: ours\n- 2026-01-01")


WORKER = """
import sys
from datetime import date
from apm_hooks.notebook import Notebook
from apm_hooks.records import DM

root, name, times = sys.argv[1:]
book = Notebook(root, DM, today=date(2026, 1, 2))
for number in range(int(times)):
    book.decision(f"entry {number} of worker {name}, whole to its end.")
    book.note(f"fact {number} of worker {name}, whole to its end.", project="p")
"""


def test_processes_that_write_at_once_lose_and_double_nothing(root: Path) -> None:
    """Case B15."""
    times, names = 25, "abcd"
    running = [
        subprocess.Popen([sys.executable, "-c", WORKER, str(root), name, str(times)], stderr=subprocess.PIPE)
        for name in names
    ]
    said = [process.communicate(timeout=120)[1] for process in running]
    assert said == [b""] * len(names)
    for file, kind, start in (("longterm.md", "entry", "- 2026-01-02: "), ("projects/p.md", "fact", "- ")):
        found = Counter(line for line in (root / MAIN_DIR / file).read_text().split("\n") if line.startswith("- "))
        assert found == Counter(f"{start}{kind} {number} of worker {name}, whole to its end."
                                for number in range(times) for name in names)  # fmt: skip
    assert list(root.rglob("*.apm-tmp")) == []
