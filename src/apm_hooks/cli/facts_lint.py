"""`apm-hooks facts lint`: the linter over members, and its report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from apm_hooks._version import __version__
from apm_hooks.cli.common import prefix_of, print_json
from apm_hooks.cli.facts_common import Place, measures_of, place_of
from apm_hooks.errors import UsageError
from apm_hooks.facts.config import Member
from apm_hooks.facts.desk import checks_of, read_memory
from apm_hooks.facts.grammar import parse_facts
from apm_hooks.facts.lint import lint
from apm_hooks.facts.rules import RULES
from apm_hooks.facts.show import Linted, as_document, coloured, plain
from apm_hooks.findings import Level
from apm_hooks.reports import github, sarif


def run(options: argparse.Namespace) -> int:
    """Lint and tell; 1 where there is an error, else 0."""
    if options.json and options.format not in (None, "json"):
        raise UsageError(f"--json and --format {options.format} exclude each other", remedy="Leave one of them out.")
    shape = "json" if options.json else options.format or "human"
    place = place_of(options)
    linted = [linted_of(place, member) for member in place.members(options.members)]
    failed = any(found.level is Level.ERROR for each in linted for found in each.findings)
    if options.quiet:
        linted = [
            replace(each, findings=tuple(found for found in each.findings if found.level is Level.ERROR))
            for each in linted
        ]
    _print(shape, linted, place.root, quiet=options.quiet)
    return 1 if failed else 0


def linted_of(place: Place, member: Member) -> Linted:
    """One member's memory, read and linted; the paths of its findings lead from the root."""
    directory = place.directory(member)
    memory = read_memory(directory)
    index = parse_facts(memory.index or "", member.words)
    measures = measures_of(directory)
    checks = checks_of(directory, member, measures.today, measures.count, measures.estimate)
    findings = lint(memory, checks, index)
    if member.dir:
        findings = tuple(replace(found, path=member.prefix + found.path) for found in findings)
    return Linted(member, memory, index, findings)


def _print(shape: str, linted: Sequence[Linted], root: str, *, quiet: bool) -> None:
    sections = [each.section for each in linted]
    if shape == "json":
        print_json(as_document(linted))
    elif shape == "sarif":
        print_json(sarif(sections, RULES, tool="apm-hooks", version=__version__, prefix=prefix_of(root)))
    elif shape == "github":
        told = github(sections, prefix=prefix_of(root))
        if told:
            print(told)
    else:
        shown = [each for each in linted if each.findings or not quiet]
        if shown and not (sys.stdout.isatty() and _on_terminal(shown)):
            print(plain(shown))


def _on_terminal(shown: Sequence[Linted]) -> bool:
    """Show it in colours; False where what that needs is not installed."""
    try:
        from rich.console import Console
    except ImportError:
        return False
    return coloured(shown, Console(file=sys.stdout, highlight=False, markup=False, emoji=False))
