"""What the documentation says is there, and what is there is documented."""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
from dataclasses import fields
from pathlib import Path
from urllib.parse import unquote

import pytest

from apm_hooks.cli import parser
from apm_hooks.hosts.claude_code_hooks import EVENTS, with_hooks
from apm_hooks.settings import PRIVACY_KEYS, Settings

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
COMMON = {"--help", "-h", "--workspace", "--session", "--json"}


def text_of(path: str | Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def sections(page: str) -> dict[str, str]:
    """The page's second-level sections by heading."""
    return {part.partition("\n")[0].strip(): part for part in re.split(r"^## ", text_of(page), flags=re.MULTILINE)[1:]}


def commands() -> dict[str, argparse.ArgumentParser]:
    for action in parser.build()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("no commands")


def options(command: argparse.ArgumentParser) -> set[str]:
    """The options of a command and its verbs, but the common ones."""
    found: set[str] = set()
    for action in command._actions:
        found.update(action.option_strings)
        if isinstance(action, argparse._SubParsersAction):
            found = found.union(*(options(inner) for inner in action.choices.values()))
    return found - COMMON


def test_every_command_has_its_section_and_every_section_its_command() -> None:
    assert list(sections("docs/commands.md")) == list(commands())


@pytest.mark.parametrize("name", sorted(commands()))
def test_every_option_stands_in_its_commands_section(name: str) -> None:
    section = sections("docs/commands.md")[name]
    told = set(re.findall(r"(?<!-)--[a-z][a-z-]+", section))
    assert told - COMMON == options(commands()[name])


def test_the_common_options_stand_above_the_sections() -> None:
    head = text_of("docs/commands.md").partition("\n## ")[0]
    assert all(f"`{option}" in head for option in COMMON - {"--help", "-h"})


def test_every_setting_has_its_section_and_every_section_its_setting() -> None:
    names = [field.name for field in fields(Settings) if field.name not in ("origins", "declared")]
    assert list(sections("docs/settings.md")) == names
    assert tuple(names[: len(PRIVACY_KEYS)]) == PRIVACY_KEYS, "settings.md says that the first are pinned"


def test_every_variable_that_the_source_names_is_documented() -> None:
    named: set[str] = set()
    for path in (ROOT / "src").rglob("*.py"):
        named |= set(re.findall(r"\b(?:APM|XDG)_[A-Z][A-Z_]+[A-Z]\b", path.read_text(encoding="utf-8")))
    assert named == set(re.findall(r"\b(?:APM|XDG)_[A-Z][A-Z_]+[A-Z]\b", text_of("docs/settings.md")))


def test_the_events_that_are_installed_stand_in_the_hosts_page() -> None:
    table = text_of("docs/hosts/claude-code.md").partition("\n| event | matcher | why |\n")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \| (?:none|`(\S+)`) \|", table, re.MULTILINE)
    assert [(event, matcher.replace("\\|", "|") or None) for event, matcher in rows] == list(EVENTS)


def test_what_is_to_be_copied_by_hand_is_what_the_installer_writes() -> None:
    (shown,) = re.findall(r"^```json\n(.*?)^```$", text_of("hooks/claude-code/README.md"), re.MULTILINE | re.DOTALL)
    assert json.loads(shown) == json.loads(with_hooks("", "THE LINE"))


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(<?([^)>\s]+)>?[^)]*\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / unquote(path)) if path else page
        assert file.exists(), f"{page.name} links to {target}"
        assert file.resolve().is_relative_to(ROOT)
        assert not anchor or anchor in anchors(file), f"{page.name} links to {target}"


def test_every_page_is_reached_from_the_readme() -> None:
    linked = {(ROOT / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)\)", text_of("README.md"))}
    assert set(PAGES[1:]) <= linked


def console_commands() -> list[str]:
    """The `apm-hooks …` lines of all console blocks, without what a shell does around them."""
    found = []
    for page in PAGES:
        for block in re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                found += re.findall(r"(?:^\$ |[|&;] *)(?:[A-Z_]+=\S+ +)*(apm-hooks(?: [^|&;>]*)?)", line)
    return found


def test_the_documentation_shows_commands() -> None:
    assert len(console_commands()) >= 4


@pytest.mark.parametrize("line", console_commands())
def test_every_command_that_is_shown_can_be_typed(line: str) -> None:
    parsed = parser.build().parse_args(shlex.split(line, comments=True)[1:])
    assert callable(parsed.act)


def test_every_command_that_a_text_names_exists() -> None:
    texts = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".py", ".md", ".template")]
    for path in [*PAGES, *texts]:
        named = re.findall(r"(?:`|[Rr]un:? |with: )apm-hooks ([a-z][a-z-]*)", path.read_text(encoding="utf-8"))
        assert set(named) <= set(commands()), path


def tracked() -> list[Path]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_text_names_a_machine_or_a_registry() -> None:
    # Put together here, so that this file does not hold them itself.
    words = ["/" + "work/", "/" + "root/", "pypi" + ".org", "registry" + ".npmjs"]
    pattern = re.compile(r"(?<![\w.])(?:" + "|".join(map(re.escape, words)) + ")")
    for path in tracked():
        found = pattern.search(path.read_bytes().decode("utf-8", "replace"))
        assert found is None, f"{path.relative_to(ROOT)}: {found}"
