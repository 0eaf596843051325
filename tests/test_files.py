from __future__ import annotations

import os
import re
import socket
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from apm_hooks.errors import MemoryFileError
from apm_hooks.files import create_absent, decode, read_bytes, read_text, replace_bytes, stamp, state_directory
from apm_hooks.records import Limits


def test_absent_files_are_none_and_not_an_error(tmp_path: Path) -> None:
    assert read_text(str(tmp_path), "memory/main/index.md") is None


def test_text_comes_with_its_digest_whatever_its_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"one\r\ntwo\rthree")
    found = read_text(str(tmp_path), "a.md")
    assert found is not None
    assert found.text == "one\ntwo\nthree"
    assert found.digest == sha256(b"one\ntwo\nthree").hexdigest()
    assert found.note == ""


def _make(kind: str, path: Path, outside: Path) -> None:
    match kind:
        case "link":
            path.symlink_to(outside)
        case "directory":
            path.mkdir()
        case "FIFO":
            os.mkfifo(path)
        case "socket":
            bound = socket.socket(socket.AF_UNIX)
            bound.bind(str(path))
            bound.close()
        case "device":
            path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["link", "directory", "FIFO", "socket", "device"])
def test_what_is_no_plain_file_is_refused_and_named(tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("private")
    root = tmp_path / "ws"
    root.mkdir()
    _make(kind, root / "index.md", secret)
    with pytest.raises(MemoryFileError) as caught:
        read_text(str(root), "index.md")
    assert "index.md" in str(caught.value)
    assert "is a" in caught.value.cause


def test_a_link_in_the_middle_of_a_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "index.md").write_text("private")
    root = tmp_path / "ws"
    root.mkdir()
    (root / "memory").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MemoryFileError, match="symbolic link"):
        read_text(str(root), "memory/index.md")


def test_a_file_in_the_middle_of_a_path_is_named(tmp_path: Path) -> None:
    (tmp_path / "memory").write_text("a file")
    with pytest.raises(MemoryFileError, match=r"memory: Not a directory\. Put a directory there"):
        read_text(str(tmp_path), "memory/index.md")


@pytest.mark.parametrize(
    "path", ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/.", "a\0b", "a/", "\ud800.md"]
)
def test_only_plain_paths_inside_the_workspace_are_opened(tmp_path: Path, path: str) -> None:
    with pytest.raises(MemoryFileError):
        read_bytes(str(tmp_path), path)


def test_a_file_at_the_limit_is_read_and_one_byte_more_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    assert read_bytes(str(tmp_path), "a", limit=100) is not None
    with pytest.raises(MemoryFileError, match="larger than 99 bytes"):
        read_bytes(str(tmp_path), "a", limit=99)


def test_a_huge_sparse_file_costs_no_more_than_the_limit(tmp_path: Path) -> None:
    with open(tmp_path / "a.md", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(MemoryFileError, match="larger than"):
        read_text(str(tmp_path), "a.md", limits=Limits(file_bytes=1000))


def test_a_file_that_changes_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.md"
    file.write_text("half")
    real = os.read
    calls: list[int] = []

    def read(descriptor: int, size: int) -> bytes:
        data = real(descriptor, size)
        if not calls:
            file.write_text("the whole text")
        calls.append(size)
        return data

    monkeypatch.setattr(os, "read", read)
    found = read_text(str(tmp_path), "a.md")
    assert found is not None
    assert found.text == "the whole text"


def test_a_file_that_never_stands_still_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.md"
    file.write_text("")
    real = os.read

    def read(descriptor: int, size: int) -> bytes:
        data = real(descriptor, size)
        if not data:
            with open(file, "a") as more:
                more.write("x")
        return data

    monkeypatch.setattr(os, "read", read)
    with pytest.raises(MemoryFileError, match="keeps changing"):
        read_text(str(tmp_path), "a.md")


MIXED = "# Notes\n\nUTF-8 first: größer, 早上.\n"
TAIL = "\r\nappended by a shell\r\n今天完成了部署\r\n"
CYRILLIC = "Сборка прошла, выкатываем завтра\r\nбез перерыва\r\n"
LE, BE = "utf-16-le", "utf-16-be"


def lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    ("data", "text", "note"),
    [
        (b"\xef\xbb\xbf# a\r\nb", "# a\nb", ""),
        (MIXED.encode(), MIXED, ""),
        (b"", "", ""),
        (("\ufeff" + MIXED).encode(LE), MIXED, "UTF-16"),
        (("\ufeff" + MIXED).encode(BE), MIXED, "UTF-16"),
        (MIXED.encode(LE), MIXED, "UTF-16LE without a mark"),
        (MIXED.encode() + TAIL.encode(LE), MIXED + lf(TAIL), "UTF-8 with a UTF-16LE tail"),
        (MIXED.encode() + TAIL.encode(BE), MIXED + lf(TAIL), "UTF-8 with a UTF-16BE tail"),
        (MIXED.encode() + b"x\n" + TAIL.encode(LE), MIXED + "x\n" + lf(TAIL), "UTF-8 with a UTF-16LE tail"),
        (MIXED.encode() + CYRILLIC.encode(LE), MIXED + lf(CYRILLIC), "UTF-8 with a UTF-16LE tail"),
        (MIXED.encode() + lf(TAIL).encode(LE), MIXED + lf(TAIL), "UTF-8 with a UTF-16LE tail"),
        (MIXED.encode() + ("\ufeff" + TAIL).encode(LE), MIXED + lf(TAIL), "UTF-8 with a UTF-16LE tail"),
        (MIXED.encode() + TAIL.encode(LE) + MIXED.encode() + CYRILLIC.encode(LE) + MIXED.encode(),
         MIXED + lf(TAIL) + MIXED + lf(CYRILLIC) + MIXED, "UTF-16LE and UTF-8 by turns"),
        (("\ufeff" + TAIL).encode(LE) + MIXED.encode(), lf(TAIL) + MIXED, "UTF-16LE with a UTF-8 tail"),
        (b"no newline" + "ascii tail, long enough\r\n".encode(LE), "no newlineascii tail, long enough\n",
         "UTF-8 with a UTF-16LE tail"),
        (b"not ended" + "nor is this one".encode(LE) + b"and UTF-8 behind it\n",
         "not endednor is this oneand UTF-8 behind it\n", "UTF-16LE and UTF-8 by turns"),
        ("一行\n".encode() + "第二行是宽字符\r\n".encode(LE), "一行\n第二行是宽字符\n", "UTF-8 with a UTF-16LE tail"),
        (MIXED.encode() + TAIL.encode(LE)[:-1], MIXED + lf(TAIL) + "\\x0a", "UTF-8 with a UTF-16LE tail"),
        (b"caf\xe9 " + b"plain text " * 20, "caf\\xe9 " + "plain text " * 20, "bytes that are not UTF-8"),
        ("плохо\n".encode("cp1251") + MIXED.encode() * 3, "\\xef\\xeb\\xee\\xf5\\xee\n" + MIXED * 3,
         "bytes that are not UTF-8"),
        (MIXED.encode() + b"a zero \0 within\n", MIXED + "a zero \0 within\n", "bytes that are not UTF-8"),
        (b"line of words\0\n" * 9, "line of words\0\n" * 9, "bytes that are not UTF-8"),
        (b"word\0word\n" * 9, "word\0word\n" * 9, "bytes that are not UTF-8"),
        (MIXED.encode() + bytes(4096), MIXED, "zeros at its end left out"),
        (MIXED.encode() + TAIL.encode(LE) + bytes(4096), MIXED + lf(TAIL),
         "UTF-8 with a UTF-16LE tail, zeros at its end left out"),
    ],
)  # fmt: skip
def test_every_encoding_that_real_files_have_is_read(data: bytes, text: str, note: str) -> None:
    assert decode(data) == (text, note)


@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 20,
        b"\x89PNG\r\n\x1a\n" + b"\xff\xd8" * 400,
        bytes(500),
        "старый текст в старой кодировке\n".encode("cp1251") * 9,
        "今天完成了部署，一切正常。\n".encode("gb18030") * 9,
        "今日はデプロイをしました。\n".encode("shift-jis") * 9,
    ],
)
def test_what_is_no_text_is_named_not_shown(data: bytes) -> None:
    with pytest.raises(MemoryFileError, match=r"a\.md: is no text"):
        decode(data, "a.md")


@given(st.binary(max_size=600))
@example(b"\xff\xfe")
@example(b"\xff\xfe\0\xd8")
@example(b"\n\0")
def test_decoding_never_crashes_and_never_leaves_a_carriage_return(data: bytes) -> None:
    try:
        text, _ = decode(data, "a.md")
    except MemoryFileError:
        return
    assert "\r" not in text


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=300))
def test_what_is_utf8_is_read_as_it_is(text: str) -> None:
    assert decode(text.encode()) == (lf(text.removeprefix("\ufeff")), "")


SCRIPTS = (
    "etaoin shrdlu ETAOIN 0123456789 ,.-#*`_:()[]|",
    "abcdefgäöüßéèàñ .,",
    "абвгдежзийклмнопрстуфхцчшщъыьэюя ,.",
    "αβγδεζηθικλμνξοπρστυφχψω ",
    "אבגדהוזחטיכלמנ ",
    "ابتثجحخدذرزس ",
    "आजकामपूराहुआ ",
    "กขคงจฉชซฌญฎ ",
    "今日はデプロイをしました。「」",
    "오늘배포를완료했다내일계속 ",
    "今天完成了部署明天继续测试，我们上线。",
    "ok 🎉🚀✅ done",
)


def as_good_utf8(line: str) -> int:
    """Letters whose two bytes of UTF-16 are printable UTF-8 too: in a line of nothing else, either reading is good."""
    return sum(char.encode(LE).decode("utf-8", "replace").replace("\ufffd", "\0").isprintable() for char in line)


def wide_lines(least: int) -> st.SearchStrategy[str]:
    line = st.sampled_from(SCRIPTS).flatmap(lambda script: st.text(script, min_size=least, max_size=60))
    return line.filter(lambda text: not as_good_utf8(text[:1]) and as_good_utf8(text) * 3 <= len(text))


def ended(lines: st.SearchStrategy[str], end: str, least: int = 1) -> st.SearchStrategy[str]:
    return st.lists(lines, min_size=least, max_size=5).map(lambda texts: "".join(text + end for text in texts))


LETTERS = wide_lines(20).filter(lambda text: sum(map(str.isalpha, text)) * 2 > len(text))
ANY_LINE = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), max_size=40)


# Two lines of one character each, one after the other, are two letters of Gurmukhi in UTF-16: either reading is good.
HEADS = ended(ANY_LINE, "\n", 0).filter(lambda text: not re.search(r"^.\n.\n", text, re.MULTILINE))


@settings(max_examples=300)
@given(HEADS, ended(wide_lines(8), "\r\n"))
def test_a_tail_of_utf16_is_told_from_any_head(head: str, tail: str) -> None:
    assert decode(head.encode() + tail.encode(LE))[0] == head + lf(tail)


@settings(max_examples=200)
@given(st.lists(st.tuples(ended(LETTERS, "\n"), ended(wide_lines(8), "\r\n")), min_size=1, max_size=4))
def test_utf8_and_utf16_may_take_turns(turns: list[tuple[str, str]]) -> None:
    data = b"".join(plain.encode() + wide.encode(LE) for plain, wide in turns)
    assert decode(data)[0] == "".join(plain + lf(wide) for plain, wide in turns)


def test_replacing_keeps_the_mode_and_leaves_nothing_beside(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("old")
    file.chmod(0o640)
    replace_bytes(str(tmp_path), "a.json", b"new")
    assert file.read_text() == "new"
    assert file.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.json"]


def test_only_the_file_that_is_expected_is_replaced(tmp_path: Path) -> None:
    root, file = str(tmp_path), tmp_path / "a.md"
    file.write_text("old")
    seen = stamp(root, "a.md")
    assert seen is not None
    file.write_text("theirs")
    assert replace_bytes(root, "a.md", b"ours", expected=seen) is False
    assert (file.read_text(), os.listdir(tmp_path)) == ("theirs", ["a.md"])
    assert replace_bytes(root, "a.md", b"ours", expected=stamp(root, "a.md")) is True
    assert file.read_text() == "ours"
    file.unlink()
    assert replace_bytes(root, "a.md", b"ours", expected=seen) is False
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_failed_replacement_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    (tmp_path / "a.json").write_text("old")

    def fail(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(MemoryFileError, match="No space left"):
            replace_bytes(str(tmp_path), "a.json", b"new")
    assert (tmp_path / "a.json").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.json"]


def test_a_killed_writer_leaves_one_file_that_the_next_reclaims(tmp_path: Path) -> None:
    (tmp_path / ".a.json.apm-tmp").write_text("half")
    replace_bytes(str(tmp_path), "a.json", b"new")
    assert os.listdir(tmp_path) == ["a.json"]


def test_short_writes_are_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data[:3])))
    replace_bytes(str(tmp_path), "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


@pytest.mark.parametrize("nameless", [True, False])
def test_creating_never_touches_what_exists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool) -> None:
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE")
    assert create_absent(str(tmp_path), "memory/main/a.md", b"first")
    assert not create_absent(str(tmp_path), "memory/main/a.md", b"second")
    assert (tmp_path / "memory/main/a.md").read_bytes() == b"first"
    assert os.listdir(tmp_path / "memory/main") == ["a.md"]


@pytest.mark.parametrize("nameless", [True, False])
def test_creating_loses_a_race_without_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nameless: bool) -> None:
    if not nameless:
        monkeypatch.delattr(os, "O_TMPFILE")
    real = os.link

    def link(*arguments: object, **more: object) -> None:
        (tmp_path / "a.md").write_bytes(b"theirs")
        real(*arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", link)
    assert not create_absent(str(tmp_path), "a.md", b"ours")
    assert (tmp_path / "a.md").read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["a.md"]


def test_a_dangling_link_counts_as_existing(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to(tmp_path / "nowhere")
    assert not create_absent(str(tmp_path), "a.md", b"x")
    assert not (tmp_path / "nowhere").exists()


def test_machine_state_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    assert state_directory(str(tmp_path), "ledger") == ".apm/ledger"
    assert (tmp_path / ".apm").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / ".apm/.gitignore").read_text() == "*\n"
    assert state_directory(str(tmp_path), "a/b") == ".apm/a/b"
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / ".apm").rglob("*") if path.is_dir()} == {0o700}


def test_machine_state_is_not_put_behind_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".apm").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MemoryFileError):
        state_directory(str(tmp_path), "ledger")
    assert os.listdir(tmp_path / "elsewhere") == []
