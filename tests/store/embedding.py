"""Embedders for tests: one that fails when told, and ones that put texts where a test wants them."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from apm_hooks.store.embedders import Hashed
from apm_hooks.store.items import EmbedderError


class Flaky(Hashed):
    """Hashed vectors from a provider that is down while `down`, and counts its calls."""

    packaged = False

    def __init__(self, signature: str = "test/flaky/1024") -> None:
        super().__init__()
        self.signature = signature
        self.down = False
        self.calls = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        self.calls += 1
        if self.down:
            raise EmbedderError("the provider is down")
        return super().embed(texts, query=query)


class Placed:
    """Vectors by table: a text that begins with a key lies where the key says, all others far from everything."""

    signature = "test/placed/4"
    packaged = True
    cut = 0.5

    def __init__(self, places: Mapping[str, Sequence[float]]) -> None:
        self._places = dict(places)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> bytes:
        found = [key for key in self._places if text.startswith(key)]
        values = self._places[max(found, key=len)] if found else (0.0, 0.0, 0.0, 1.0)
        length = sum(value * value for value in values) ** 0.5
        return array("f", (value / length for value in values)).tobytes()


class Broken:
    """A provider whose answers have the wrong shape, or that raises whatever it likes."""

    signature = "test/broken/8"
    packaged = False
    cut = 0.5

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[bytes]:
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer  # type: ignore[return-value]
