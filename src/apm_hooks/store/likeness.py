"""What a new text has in common with stored ones, found without looking at all of them: hashes to look up.

Texts that share a hash may be duplicates (the whole text), near duplicates (bands of a MinHash over their words, bands
of the sides on which a vector lies), or contradictions (the title, the skeleton). What shares one is then compared.
MinHash comes from datasketch, which costs 0.1 ms a text and 0.45 s once a process, where something is written.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import blake2b, shake_256
from typing import TYPE_CHECKING, Any

from apm_hooks.store.extras import library
from apm_hooks.store.skeletons import skeletons
from apm_hooks.store.terms import index_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BANDS, _ROWS, _SEED = 12, 4, 1
_SIDE_BANDS, _SIDE_ROWS = 14, 14
_LENGTH_OFF = 0.01
"""What a vector's length may be off from one: providers round their numbers."""


def folded(text: str) -> str:
    """The form in which two texts are the same: white space and case folded, accents composed."""
    one = text if text.isascii() else unicodedata.normalize("NFC", text)
    return " ".join(one.casefold().split())


def text_hashes(scope: str, title: str, content: str) -> tuple[int, ...]:
    """The hashes of a wording: those of the whole, and the bands of its words."""
    words = set(index_terms(content))
    bands = [_hash(scope, f"words {band}", part) for band, part in enumerate(_bands(words))] if words else []
    return (*whole_hashes(scope, title, content), *bands)


def whole_hashes(scope: str, title: str, content: str) -> tuple[int, ...]:
    """The hashes of a wording as a whole: the exact text, the title, the skeletons."""
    found = [_hash(scope, "exact", folded(content)), _hash(scope, "title", folded(title))]
    return (*found, *(_hash(scope, "skeleton", form) for form in skeletons(content)))


def vector_hashes(scope: str, space: str, vector: bytes | None) -> tuple[int, ...]:
    """The hashes of a vector: for each of 14 bands, on which sides of 14 planes it lies. Vectors of a cosine of 0.97
    share one with a probability of 0.995, of 0.98 with 0.999."""
    if vector is None:
        return ()
    np = library("numpy", "store")
    values = np.frombuffer(vector, dtype="<f4")
    sides = (_planes(len(values)) @ values >= 0).reshape(_SIDE_BANDS, _SIDE_ROWS)
    packed = np.packbits(sides, axis=1)
    return tuple(_hash(scope, f"sides {band} {space}", row.tobytes().hex()) for band, row in enumerate(packed))


def is_vector(vector: bytes, space: str) -> bool:
    """Whether bytes are a vector of that space: of the dimension at the signature's end, finite, and of length one.

    A single one that is none would make each comparison with it fail, or be like everything.
    """
    _, _, dimension = space.rpartition("/")
    if not vector or len(vector) % 4 or (dimension.isdecimal() and len(vector) != 4 * int(dimension)):
        return False
    np = library("numpy", "store")
    length = float(np.linalg.norm(np.frombuffer(vector, dtype="<f4")))
    return abs(length - 1.0) < _LENGTH_OFF


@cache
def _planes(dimensions: int) -> NDArray[np.float32]:
    """Planes through the origin, the same in every process and version: their signs are the bits of a hash."""
    import numpy as np

    count = _SIDE_BANDS * _SIDE_ROWS * dimensions
    bits = np.unpackbits(np.frombuffer(shake_256(b"apm-hooks planes").digest((count + 7) // 8), dtype=np.uint8))
    signs = bits[:count].astype(np.float32) * 2 - 1
    return signs.reshape(_SIDE_BANDS * _SIDE_ROWS, dimensions)


def _bands(words: Iterable[str]) -> list[str]:
    values = _minhash()(words)
    return [values[band * _ROWS : (band + 1) * _ROWS].tobytes().hex() for band in range(_BANDS)]


@cache
def _minhash() -> Any:
    minhash = library("datasketch", "store").MinHash

    settings = {"num_perm": _BANDS * _ROWS, "seed": _SEED, "scheme": "affine32"}
    permutations = minhash(**settings).permutations

    def signature(words: Iterable[str]) -> Any:
        # The permutations are drawn once: they cost more than the words.
        made = minhash(permutations=permutations, **settings)
        made.update_batch([word.encode("utf-8") for word in words])
        return made.hashvalues

    return signature


def _hash(scope: str, kind: str, value: str) -> int:
    data = f"{scope}\0{kind}\0{value}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little", signed=True)


def overlap(one: Sequence[str] | frozenset[str], other: Sequence[str] | frozenset[str]) -> float:
    """The share of common words among all words of two texts (Jaccard), 0 to 1."""
    left, right = frozenset(one), frozenset(other)
    return len(left & right) / len(left | right) if left or right else 0.0


def cosine(one: bytes, other: bytes) -> float:
    """The cosine of two vectors of length one, -1 to 1."""
    import numpy as np

    return float(np.dot(np.frombuffer(one, dtype="<f4"), np.frombuffer(other, dtype="<f4")))
