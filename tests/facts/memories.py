"""Memories for tests of the fact index: bundles of files, in the folder `cases` or made on the spot."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from apm_hooks.facts.desk import read_memory
from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.lint import Checks, lint
from apm_hooks.facts.model import INDEX, PROVENANCES, Budgets
from apm_hooks.findings import Finding
from tests.workspaces import OLD

MARK = re.compile(r"⟪(\w+)⟫")
CASES = Path(__file__).parent / "cases"
TODAY = date(2026, 6, 1)
GOOD = "- **`good`** · Deploys stop on Fridays. **So:** merge by Thursday."


def words(text: str) -> int:
    """A counter for tests: a token is a word."""
    return len(text.split())


@dataclass(slots=True)
class Case:
    """Files by path, what is found in them as `level path:line:column`, in order, and what they are measured by."""

    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    expect: list[str] = field(default_factory=list)
    budgets: dict[str, float] = field(default_factory=dict)
    words: tuple[str, ...] = PROVENANCES
    share: int = 0

    @property
    def checks(self) -> Checks:
        return Checks(TODAY, Budgets(**self.budgets), self.words, self.share, words)


def load(path: Path) -> Case:
    """A bundle: lines with @ say what it is measured by, and files stand behind `=== path`. A mark `⟪level⟫` stands
    before the place of a finding; those on whole files stand behind `=== expect`."""
    case = Case()
    head, *parts = re.split(r"^=== (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    for line in head.splitlines():
        name, _, rest = line.partition(" ")
        if name == "@budget":
            key, value = rest.split()
            case.budgets[key] = float(value)
        elif name == "@words":
            case.words = (*PROVENANCES, *rest.split())
        elif name == "@share":
            case.share = int(rest)
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        if name == "expect":
            case.expect += text.split("\n")[1:-1]
        elif name.startswith("@link "):
            case.links[name.removeprefix("@link ")] = text.strip()
        else:
            case.files[name] = _unmarked(name, text.removeprefix("\n"), case.expect)
    case.expect.sort(key=_place)
    return case


def _unmarked(path: str, text: str, expect: list[str]) -> str:
    """The text without its marks, each of which stands right before the place of a finding."""
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        bare = line
        while (mark := MARK.search(bare)) is not None:
            expect.append(f"{mark[1]} {path}:{number}:{mark.start() + 1}")
            bare = bare[: mark.start()] + bare[mark.end() :]
        lines[number - 1] = bare
    return "\n".join(lines)


def _place(expected: str) -> tuple[str, int, int]:
    path, line, column = expected.partition(" ")[2].rsplit(":", 2)
    return path, int(line), int(column)


def lay_out(root: Path, files: Mapping[str, str | bytes], links: Mapping[str, str] | None = None) -> Path:
    """Put files below a folder."""
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
        # Old enough not to be taken for half of a save, which is waited for.
        os.utime(file, (OLD, OLD))
    for path, target in (links or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)
    return root


def findings_in(root: Path, checks: Checks) -> tuple[Finding, ...]:
    """What is found in the memory below a folder."""
    memory = read_memory(str(root))
    return lint(memory, checks, parse_facts(memory.index or "", checks.words))


def index_findings(root: Path, *lines: str, checks: Checks | None = None) -> tuple[Finding, ...]:
    """What is found in an index of these lines."""
    return findings_in(lay_out(root, {INDEX: "\n".join(lines) + "\n"}), checks or Checks(TODAY))


def places(findings: Iterable[Finding]) -> list[str]:
    """Findings as a bundle expects them."""
    return [f"{found.level.value} {found.path}:{found.line}:{found.column}" for found in findings]
