"""Korean words: particles and endings are written onto them (protocol, section 5, step 2). Pure."""

from __future__ import annotations

import functools

from apm_hooks import wordlists


@functools.cache
def _particles() -> tuple[str, ...]:
    return tuple(sorted(set(wordlists.PARTICLES.split()), key=lambda word: (-len(word), word)))


@functools.lru_cache(maxsize=4096)
def hangul_forms(word: str) -> tuple[str, ...]:
    """A Korean word and what is left when its particles and endings are taken off, longest first."""
    forms = [word]
    for _ in range(2):
        shorter = [
            form[: -len(particle)]
            for form in forms
            for particle in _particles()
            if len(form) > len(particle) and form.endswith(particle)
        ]
        forms += shorter
    return tuple(sorted(set(forms), key=lambda form: (-len(form), form)))


def hangul_core(word: str) -> str:
    """A Korean word without particles and endings.

    At least two syllables are kept, and a final `의` (`문의`, `회의`).
    """
    tail = "의" if word.endswith("의") else ""
    return next((form for form in reversed(hangul_forms(word)) if len(form) > 1 and form.endswith(tail)), word)
