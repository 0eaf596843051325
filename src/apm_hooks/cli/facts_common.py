"""What the `facts` commands share: whose indexes they mean, whether the session may see them, how tokens count."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime

from apm_hooks.cli.common import event_of, here, in_no_session, runtime_of
from apm_hooks.days import zone_of
from apm_hooks.errors import ApmError, ScopeError, UsageError
from apm_hooks.facts.config import Member, Organisation
from apm_hooks.facts.members import chosen, directory_of, find_root, read_members
from apm_hooks.places import WORKSPACE, places
from apm_hooks.records import DM
from apm_hooks.settings import load_settings
from apm_hooks.tokens import DEFAULT_ENCODING, ENCODINGS, estimate_counter, load_counter

NO_MEMBERS = "no fact index here: no org.yaml, apm.toml or memory/INDEX.md in this folder or above it"
NO_MEMBERS_REMEDY = "Name the folder with --workspace DIR."
WHICH = "there is more than one member here"
NOT_YOURS = "the fact index is the owner's, and this session is another's"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the commands act: the organisation's or workspace's root, its members, the directory of the member that the
    command was started in (empty: none, or the root itself)."""

    root: str
    organisation: Organisation
    inside: str = ""

    def members(self, handles: Sequence[str]) -> tuple[Member, ...]:
        """The members of these handles, else the one of this folder, else all. Raises UsageError."""
        return chosen(self.organisation.members, handles, self.inside)

    def member(self, handle: str) -> Member:
        """The one member that a command means. Raises UsageError."""
        found = self.members([handle] if handle else [])
        if len(found) != 1:
            names = ", ".join(member.handle for member in found)
            raise UsageError(WHICH, remedy=f"Name one with --member: {names}.")
        return found[0]

    def directory(self, member: Member) -> str:
        """The member's directory, absolute."""
        return directory_of(self.root, member)


def place_of(options: argparse.Namespace) -> Place:
    """Where the command acts. Raises UsageError, SettingsError, and ScopeError inside a session that is not the
    owner's."""
    named = options.workspace or os.environ.get(WORKSPACE, "")
    start = os.path.realpath(os.path.join(here(), os.path.expanduser(named)))
    root, inside = find_root(start, named=bool(named))
    if not root:
        raise UsageError(NO_MEMBERS, remedy=NO_MEMBERS_REMEDY)
    allowed = _allowed(options)
    place = Place(root, read_members(root), inside)
    if allowed is not None:
        own = tuple(each for each in place.organisation.members if _lies_in(place.directory(each), allowed))
        if not own:
            raise ScopeError(NOT_YOURS, remedy="See: apm-hooks explain")
        place = Place(root, Organisation(own, place.organisation.issue_url), inside)
    return place


def _allowed(options: argparse.Namespace) -> str | None:
    """The workspace to which a session is bound; None in the operator's terminal, and in a check that no session runs.

    Raises ScopeError where the session is not the owner's, and what opening the workspace raises.
    """
    if in_no_session(options):
        return None
    runtime = runtime_of(options)
    if runtime.decide(event_of(options, runtime)).scope != DM:
        raise ScopeError(NOT_YOURS, remedy="See: apm-hooks explain")
    return runtime.root


def _lies_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


@dataclass(frozen=True, slots=True)
class Measures:
    """The calendar day of a member's directory, how tokens are counted there, and how they are estimated."""

    today: date
    count: Callable[[str], int]
    estimate: Callable[[str], int]


def measures_of(directory: str) -> Measures:
    """By the time zone and the tokenizer of the workspace in a directory, else by the machine's day and our tokenizer.

    Without a trusted workspace too: in a check nobody has accepted it. The tokenizer is loaded when it first counts.
    """
    zone, name = "", DEFAULT_ENCODING
    # What is wrong with the settings is told by the commands that rest on them.
    with suppress(ApmError):
        settings = load_settings(directory, places(os.environ).config, os.environ)
        zone, name = settings.timezone, settings.tokenizer
    name = name if name in ENCODINGS else DEFAULT_ENCODING
    kept: list[Callable[[str], int]] = []

    def count(text: str) -> int:
        if not kept:
            kept.append(load_counter(name, cache_dir=os.path.join(places(os.environ).cache, "ranks")))
        return kept[0](text)

    return Measures(datetime.fromtimestamp(time.time(), zone_of(zone)).date(), count, estimate_counter(name))
