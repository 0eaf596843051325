"""The labelled corpora of the record store: which texts hold a secret, and which facts contradict a stored one.

Secrets are drawn when a corpus is read, so that no file holds anything that looks like one. The half `dev` was looked
at while the rules were written; `held-out` was not. Both are of one hand: they show what broke, not what will.
"""

from __future__ import annotations

import base64
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from apm_hooks.store.api import open_engine
from apm_hooks.store.records import RecordStore
from apm_hooks.store.secrets import secret_kind

CORPORA = ("secrets", "contradictions")
FOLDER = Path(__file__).parent.parent / "tests" / "store" / "corpus"
HALVES = ("dev", "held-out")
TARGETS = {"dev": (0.95, 0.95), "held-out": (0.9, 0.85)}
"""Half → least precision, least recall."""

_LOWER = "abcdefghijkmnopqrstuvwxyz"
_ALL = _LOWER + "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"


class Draw:
    """What looks like a secret, the same at every run."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311 - the same at each run

    def text(self, length: int, letters: str = _ALL) -> str:
        body = [self._random.choice(letters) for _ in range(length)]
        body[0], body[-1] = self._random.choice("abcdef"), self._random.choice("2345679")
        return "".join(body)

    def word(self) -> str:
        return self._random.choice(("hunter", "dragon", "sommer", "castle")) + self._random.choice("2479") + "-XyZ9"

    def phrase(self) -> str:
        return self._random.choice(("Blue!Horse", "Kitchen#Lamp", "River$Stone")) + self.text(3, "0123456789")

    def jwt(self) -> str:
        return f"eyJ{self.text(30)}.eyJ{self.text(60)}.{self.text(43)}"

    def b64(self) -> str:
        return base64.b64encode(self._random.randbytes(48)).decode()


_KINDS: dict[str, Callable[[Draw], str]] = {
    "word": Draw.word,
    "phrase": Draw.phrase,
    "jwt": Draw.jwt,
    "b64": Draw.b64,
    "mixed": lambda draw: draw.text(14),
    "long": lambda draw: draw.text(40),
    "hex": lambda draw: draw.text(32, "abcdef0123456789"),
    "github": lambda draw: "ghp_" + draw.text(36),
    "openai": lambda draw: "sk-" + draw.text(48),
    "stripe": lambda draw: "sk_" + "live_" + draw.text(24),
    "aws": lambda draw: "AKIA" + draw.text(16, "ABCDEFGHJKLMNPQRSTUVWXYZ234567").upper(),
    "slack": lambda draw: "xoxb-" + "731942850613-2904817365520-" + draw.text(24),
    "hook": lambda draw: f"T{draw.text(8).upper()}/B{draw.text(8).upper()}/{draw.text(24)}",
    "google": lambda draw: "AIza" + draw.text(35),
    "telegram": lambda draw: "7319428506:" + draw.text(35),
    "npm": lambda draw: "npm_" + draw.text(36),
    "hf": lambda draw: "hf_" + draw.text(34),
    "gitlab": lambda draw: "glpat-" + draw.text(20),
    "sendgrid": lambda draw: f"SG.{draw.text(22)}.{draw.text(43)}",
    "pypi": lambda draw: "pypi-AgE" + draw.text(90),
    "license": lambda draw: "-".join(draw.text(5).upper() for _ in range(5)),
}


def load(name: str) -> list[dict[str, Any]]:
    """The lines of a corpus, with secrets drawn in."""
    rows = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    if name == "secrets":
        for number, row in enumerate(rows):
            for kind, draw in _KINDS.items():
                if f"{{{kind}}}" in row["text"]:
                    row["text"] = row["text"].replace(f"{{{kind}}}", draw(Draw(f"{number} {kind}")))
    return rows


def verdicts(name: str) -> list[tuple[dict[str, Any], bool, bool]]:
    """Each line with its label and what the store says."""
    rows = load(name)
    if name == "secrets":
        return [(row, row["secret"], bool(secret_kind(row["text"]))) for row in rows]
    out = []
    with tempfile.TemporaryDirectory() as folder:
        engine = open_engine(folder)
        for number, row in enumerate(rows):
            # A conversation of its own for each pair: the others must not answer for it.
            store = RecordStore(engine, f"Group({number})")
            store.remember(row["stored"])
            out.append((row, row["contradicts"], bool(store.remember(row["new"]).contradicts)))
        engine.close()
    return out


def tally(name: str) -> dict[str, dict[str, float]]:
    """Half and language → right, wrongly told, missed, precision, recall."""
    counts: dict[str, list[int]] = {}
    for row, label, told in verdicts(name):
        for key in (row["half"], f"{row['half']} {row['language']}"):
            cell = counts.setdefault(key, [0, 0, 0])
            cell[0] += label and told
            cell[1] += told and not label
            cell[2] += label and not told
    return {
        key: {"right": right, "wrong": wrong, "missed": missing, "precision": round(right / max(right + wrong, 1), 3),
              "recall": round(right / max(right + missing, 1), 3)}
        for key, (right, wrong, missing) in sorted(counts.items())
    }  # fmt: skip


def tally_all() -> dict[str, dict[str, dict[str, float]]]:
    """Every corpus, with its size."""
    return {name: tally(name) for name in CORPORA}


def missed(results: dict[str, dict[str, dict[str, float]]]) -> list[str]:
    """Which targets are missed, in words."""
    out = []
    for name, cells in results.items():
        for half, (precision, recall) in TARGETS.items():
            cell = cells[half]
            if cell["precision"] < precision or cell["recall"] < recall:
                out.append(f"{name} {half}: precision {cell['precision']}, recall {cell['recall']}")
    return out


def show_misses(name: str, half: str = "dev") -> None:
    """Prints what was missed and what was wrongly told."""
    for row, label, told in verdicts(name):
        if label != told and row["half"] == half:
            print("missed" if label else "wrong ", row.get("text") or f"{row['stored']} / {row['new']}")
