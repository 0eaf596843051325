from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apm_hooks import holdings
from apm_hooks import resolve as module
from apm_hooks.resolve import Place, Resolver, below, normal, resolve


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace `ws`, one inside it, another beside it, and links of every kind between them."""
    base = Path(os.path.realpath(tmp_path_factory.mktemp("tree")))
    for path in (
        "ws/apm.toml", "ws/MEMORY.md", "ws/README.md", "ws/memory/main/index.md", "ws/memory/groups/alpha/x.md",
        "ws/memory/groups/alpha.md", "ws/memory/caf\u00e9.md", "ws/log/a.txt", "ws/src/a.py",
        "ws/inner/memory/main/index.md", "ws/inner/b.py", "other/memory/main/index.md", "free/c.py",
        "ws/.git/objects/pack/p.pack", "ws/.git/objects/0f/1e", "ws/.git/HEAD",
    ):  # fmt: skip
        file = base / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(path)
    links = {
        "to-file": "ws/memory/main/index.md", "to-folder": "ws/memory/main", "to-ws": "ws",
        "chain": "to-folder/index.md", "ws/src/up": "../memory/groups", "loop": "loop", "loop-a": "loop-b",
        "into": "ws/memory/main/out.md", "loop-b": "loop-a/x", "dangling": "ws/memory/none.md",
        "absolute": f"{base}/ws/memory/main/index.md", "ws/memory/main/out.md": "../../README.md",
    }  # fmt: skip
    for name, target in links.items():
        (base / name).symlink_to(target)
    (base / "hard.md").hardlink_to(base / "ws/memory/main/index.md")
    (base / "free/twin.py").hardlink_to(base / "free/c.py")
    os.mkfifo(base / "ws/memory/main/pipe")
    return base


def at(tree: Path, path: str, cwd: str = "ws") -> Place:
    roots = [f"{tree}/ws", f"{tree}/ws/inner", f"{tree}/other"]
    return resolve(path if path.startswith("/proc") else f"{tree}/{path}", cwd=f"{tree}/{cwd}", roots=roots)


@pytest.mark.parametrize(
    ("path", "root", "inside"),
    [
        ("ws/memory/main/index.md", "ws", "memory/main/index.md"),
        ("ws/./memory//main/index.md", "ws", "memory/main/index.md"),
        ("ws", "ws", ""),
        ("ws/", "ws", ""),
        ("ws/none/at/all", "ws", "none/at/all"),
        ("ws/none/../memory", "ws", "memory"),
        ("free/c.py", "", ""),
        ("", "", ""),
        ("to-file", "ws", "memory/main/index.md"),
        ("absolute", "ws", "memory/main/index.md"),
        ("to-folder", "ws", "memory/main"),
        ("to-folder/index.md", "ws", "memory/main/index.md"),
        ("to-folder/new.md", "ws", "memory/main/new.md"),
        ("chain", "ws", "memory/main/index.md"),
        ("to-ws/memory/main/index.md", "ws", "memory/main/index.md"),
        ("dangling", "ws", "memory/none.md"),
        ("dangling/below", "ws", "memory/none.md/below"),
        # The system follows the link before it goes up.
        ("ws/src/up/../main/index.md", "ws", "memory/main/index.md"),
        ("to-folder/../main/index.md", "ws", "memory/main/index.md"),
        ("ws/inner/memory/main/index.md", "ws/inner", "memory/main/index.md"),
        ("other/memory/main/index.md", "other", "memory/main/index.md"),
        ("WS/memory/main/index.md", "ws", "memory/main/index.md"),
        ("ws/MEMORY/Main/index.md", "ws", "MEMORY/Main/index.md"),
        ("ws2/memory", "", ""),
    ],
)
def test_where_a_path_leads(tree: Path, path: str, root: str, inside: str) -> None:
    place = at(tree, path)
    assert (place.root, place.path, place.trouble) == (f"{tree}/{root}" if root else "", inside, "")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("ws/memory/main/out.md", ("ws", "memory/main/out.md")),
        ("ws/memory/main/out.md", ("ws", "README.md")),
        ("into", ("ws", "memory/main/out.md")),
        ("into", ("ws", "README.md")),
        ("ws/src/up/alpha/x.md", ("ws", "src/up/alpha/x.md")),
        ("ws/src/up/alpha/x.md", ("ws", "memory/groups/alpha/x.md")),
        ("ws/inner/memory/main/index.md", ("ws", "inner/memory/main/index.md")),
        ("hard.md", ("ws", "memory/main/index.md")),
        ("ws/memory /main./index.md. ", ("ws", "memory/main/index.md")),
        ("ws/apm.toml.", ("ws", "apm.toml")),
    ],
)
def test_every_name_of_a_thing_is_told(tree: Path, path: str, name: tuple[str, str]) -> None:
    assert (f"{tree}/{name[0]}", name[1]) in at(tree, path).names


@pytest.mark.parametrize("path", ["free/twin.py", "free/c.py", "ws/src/a.py", "ws/README.md"])
def test_what_is_nobodys_has_no_name_in_a_memory(tree: Path, path: str) -> None:
    assert all(not name.startswith("memory") for _, name in at(tree, path).names)


@pytest.mark.parametrize(("path", "folder", "exists"), [
    ("ws/memory", True, True), ("to-folder", True, True), ("to-file", False, True), ("ws/none", False, False),
    ("dangling", False, False), ("ws/memory/main/pipe", False, True),
])  # fmt: skip
def test_what_stands_there(tree: Path, path: str, folder: bool, exists: bool) -> None:
    place = at(tree, path)
    assert (place.folder, place.exists) == (folder, exists)


@pytest.mark.parametrize(
    ("path", "trouble"),
    [
        ("loop", "loop"),
        ("loop/x", "loop"),
        ("loop-a", "loop"),
        ("/proc/self/fd/7", "descriptor"),
        ("/proc/thread-self/fd/7", "descriptor"),
        ("/proc/self/task/1/fd/7", "descriptor"),
        ("/proc/self/exe", "descriptor"),
        ("/proc/self/map_files/1-2", "descriptor"),
        ("/proc/self/fd/0", ""),
        ("/proc/self/status", ""),
        ("/proc/none", ""),
        ("a\0b", "text"),
        ("a\ud800b", "text"),
        ("a" * 300, ""),
        ("a/" * 2_500, "long"),
    ],
)
def test_what_cannot_be_told_is_said(tree: Path, path: str, trouble: str) -> None:
    assert at(tree, path).trouble == trouble


@pytest.mark.parametrize(("path", "trouble"), [
    ("/dev/fd/9", "descriptor"), ("/dev/stdin", ""), ("/dev/stderr", ""), ("/dev/null", ""), ("/dev/fd/2", ""),
    ("/.vol/1/2", "inode"),
])  # fmt: skip
def test_devices(path: str, trouble: str) -> None:
    assert resolve(path, cwd="/", roots=["/ws"]).trouble == trouble


@pytest.mark.parametrize("lead", [
    "/proc/self/cwd/", "/proc/thread-self/cwd/", "/proc/self/task/3/cwd/", "/proc/self/root{ws}/",
    "/proc/{pid}/root{ws}/", "/proc/self/cwd/../ws/", "/dev/fd/../cwd/",
])  # fmt: skip
def test_what_stands_for_the_tools_own_process(tree: Path, lead: str) -> None:
    path = lead.format(ws=f"{tree}/ws", pid=os.getpid()) + "memory/main/index.md"
    place = resolve(path, cwd=f"{tree}/ws", roots=[f"{tree}/ws"])
    assert (place.root, place.path) == (f"{tree}/ws", "memory/main/index.md")


def test_another_process_has_its_own_directory(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "other")
    place = resolve(f"/proc/{os.getpid()}/cwd/memory", cwd=f"{tree}/ws", roots=[f"{tree}/ws", f"{tree}/other"])
    assert (place.root, place.path) == (f"{tree}/other", "memory")


@pytest.mark.parametrize(("path", "inside"), [
    ("memory/main/index.md", "memory/main/index.md"), ("./memory", "memory"), ("../ws/memory", "memory"),
    ("file://{ws}/memory/main/index.md", "memory/main/index.md"), ("FILE:{ws}/memory", "memory"),
    ("file://localhost{ws}/memory", "memory"), ("file://{ws}/mem%6Fry/%2e%2e/memory", "memory"),
])  # fmt: skip
def test_relative_paths_and_uris(tree: Path, path: str, inside: str) -> None:
    place = resolve(path.format(ws=f"{tree}/ws"), cwd=f"{tree}/ws", roots=[f"{tree}/ws"])
    assert (place.root, place.path) == (f"{tree}/ws", inside)


@pytest.mark.parametrize(("path", "cwd", "trouble"), [
    ("memory", "", "directory"), ("file://server/share/x", "/", "machine"), ("/proc/self/cwd/x", "", "directory"),
])  # fmt: skip
def test_without_what_a_path_starts_from(path: str, cwd: str, trouble: str) -> None:
    assert resolve(path, cwd=cwd, roots=["/ws"]).trouble == trouble


def test_another_folder_of_a_folded_name_is_another_folder(tree: Path, tmp_path: Path) -> None:
    small, large = tmp_path / "ws", tmp_path / "WS"
    small.mkdir()
    try:
        large.mkdir()
    except FileExistsError:
        assert resolve(f"{large}/memory", cwd="/", roots=[str(small)]).path == "memory"
        return
    assert resolve(f"{large}/memory", cwd="/", roots=[str(small)]).root == ""


def test_a_folder_that_is_the_workspace_by_another_mount_is_known(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another mount shows the same device and inode; a link that is not seen as one stands for it here."""
    real = os.lstat

    def unlinked(path: str) -> os.stat_result:
        return os.stat(path) if path in (f"{tree}/to-ws", f"{tree}/to-folder") else real(path)

    monkeypatch.setattr(os, "lstat", unlinked)
    for path, inside in (("to-ws/memory/x.md", "memory/x.md"), ("to-folder/x.md", "memory/main/x.md")):
        assert at(tree, path).names == ((f"{tree}/ws", inside),)


def test_what_may_not_be_looked_at_cannot_be_told(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.lstat

    def shut(path: str) -> os.stat_result:
        if path == f"{tree}/free":
            raise PermissionError(13, "no")
        return real(path)

    monkeypatch.setattr(os, "lstat", shut)
    assert at(tree, "free/c.py").trouble == "closed"


def test_a_second_name_of_a_file_that_was_not_looked_for_to_the_end_cannot_be_told(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holdings, "_ENTRIES", 1)
    assert at(tree, "free/twin.py").trouble == "linked"
    assert at(tree, "ws/src/a.py").trouble == ""


def holds(root: object) -> list[tuple[str, holdings.Files]]:
    found = holdings.Holdings()
    return [(top.name, found.files(top)) for top in found.tops(str(root))]


def test_holdings_are_what_the_ownership_table_names(tree: Path) -> None:
    found = holds(f"{tree}/ws")
    paths = [path for _, files in found for path, _ in files.found]
    assert all(files.complete for _, files in found)
    assert [name for name, _ in found] == [".git", "MEMORY.md", "apm.toml", "log", "memory"]
    assert {"apm.toml", "MEMORY.md", "memory/main/index.md", "log/a.txt", ".git/objects/pack/p.pack"} <= set(paths)
    assert not {"README.md", "src/a.py", "inner/memory/main/index.md", ".git/objects/0f/1e"} & set(paths)
    assert found == holds(f"{tree}/ws")


def test_holdings_of_a_memory_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere/main").mkdir(parents=True)
    (tmp_path / "elsewhere/main/index.md").write_text("x")
    root = tmp_path / "ws"
    root.mkdir()
    (root / "memory").symlink_to("../elsewhere")
    real = os.path.realpath(tmp_path / "elsewhere/main/index.md")
    assert holds(root) == [("memory", holdings.Files((("memory/main/index.md", real),)))]
    place = resolve(real, cwd="/", roots=[os.path.realpath(root)])
    assert (os.path.realpath(root), "memory/main/index.md") in place.names


@pytest.mark.parametrize(("files", "bound", "complete"), [(3, 3, True), (3, 2, False)])
@pytest.mark.parametrize("limit", ["_ENTRIES", "_ALL"])
def test_holdings_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, files: int, bound: int, complete: bool
) -> None:
    monkeypatch.setattr(holdings, limit, bound)
    (tmp_path / "memory").mkdir()
    for number in range(files):
        (tmp_path / f"memory/{number}.md").touch()
    assert [found.complete for _, found in holds(tmp_path)] == [complete]


def test_holdings_of_nothing_and_of_too_deep_a_folder(tmp_path: Path) -> None:
    assert holds(tmp_path / "none") == []
    deep = tmp_path / "memory"
    for _ in range(60):
        deep = deep / "d"
    deep.mkdir(parents=True)
    assert [found.complete for _, found in holds(tmp_path)] == [False]


def test_no_file_is_opened(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise AssertionError("opened")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr("builtins.open", refuse)
    for path in ("ws/memory/main/pipe", "to-file", "hard.md", "ws/memory"):
        assert at(tree, path).root == f"{tree}/ws" or path == "hard.md"


@pytest.mark.parametrize(("path", "folder", "rest"), [
    ("/a/b", "/a", "b"), ("/a", "/a", ""), ("/ab", "/a", None), ("/a", "/", "a"), ("/", "/", ""), ("/a", "/a/b", None),
])  # fmt: skip
def test_below(path: str, folder: str, rest: str | None) -> None:
    assert below(path, folder) == rest


PART = st.sampled_from(["ws", "memory", "main", "index.md", "..", ".", "", "to-folder", "to-ws", "src", "up", "alpha",
                        "none", "loop", "dangling", "chain", "inner", "hard.md", "\u00e9", "a b"])  # fmt: skip


@settings(max_examples=300)
@given(st.lists(PART, max_size=9))
def test_it_agrees_with_the_system(tree: Path, parts: list[str]) -> None:
    path = "/".join([str(tree), *parts])
    place = resolve(path, cwd=str(tree), roots=[f"{tree}/ws"])
    try:
        status = os.stat(path)
    except OSError:
        return
    assert place.trouble == ""
    assert place.real == os.path.realpath(path)
    assert os.path.samestat(os.stat(place.real), status)
    inside = below(place.real, f"{tree}/ws")
    assert (place.root, place.path) == ((f"{tree}/ws", inside) if inside is not None else ("", ""))


@settings(max_examples=200)
@given(st.text(max_size=40), st.text(max_size=10))
def test_no_path_raises(tree: Path, path: str, cwd: str) -> None:
    resolver = Resolver([f"{tree}/ws", cwd], cwd)
    for text in (path, f"{tree}/{path}", f"file://{path}"):
        place = resolver.resolve(text)
        assert resolver.resolve(text) is place
        assert place.trouble or place.real == normal(place.real)


def test_unicode_forms_of_a_workspaces_name(tmp_path: Path) -> None:
    root = Path(os.path.realpath(tmp_path)) / "caf\u00e9"
    root.mkdir()
    place = resolve(unicodedata.normalize("NFD", f"{root}/memory/main"), cwd="/", roots=[str(root)])
    assert (str(root), "memory/main") in place.names


def test_links_are_followed_as_often_as_the_kernel_does(tmp_path: Path) -> None:
    (tmp_path / "l0").write_text("x")
    for number in range(module._LINKS + 1):
        (tmp_path / f"l{number + 1}").symlink_to(f"l{number}")
    assert resolve(f"{tmp_path}/l{module._LINKS}", cwd="/", roots=[]).exists
    assert resolve(f"{tmp_path}/l{module._LINKS + 1}", cwd="/", roots=[]).trouble == "loop"
