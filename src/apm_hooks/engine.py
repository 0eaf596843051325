"""A workspace in use: what is accepted in it, its plugins, tokens and days; every flow stands on it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from datetime import date, datetime, tzinfo

from apm_hooks import fastlane
from apm_hooks.days import zone_of
from apm_hooks.events import IntentQuery
from apm_hooks.extensions import Extensions
from apm_hooks.files import read_text
from apm_hooks.index import parse_index
from apm_hooks.journal import Journal
from apm_hooks.opened import Opened, open_now
from apm_hooks.places import Places, places
from apm_hooks.plugins import PluginSettings, create_plugins
from apm_hooks.protocol import group
from apm_hooks.records import DM, LIMITS, HostEvent, Index, Limits, RouteMatch, Scope, ScopeDecision, SessionKey
from apm_hooks.settings import load_settings
from apm_hooks.tokens import ENCODINGS, CountCache, Counter, TokenCounter, load_counter
from apm_hooks.workspace import Workspace


class Engine:
    """One trusted workspace, opened. Holds no session.

    Settings, group map and trust are read again when their files change. Raises NotTrustedError or SettingsError when
    made, and at any later call once the workspace is no longer accepted or a setting is damaged. `environment` is that
    which it was made with.
    """

    def __init__(
        self, root: str, env: Mapping[str, str], *, clock: Callable[[], float] = time.time, limits: Limits = LIMITS,
        plugins: Mapping[str, object] | None = None,
    ) -> None:  # fmt: skip
        self.where: Places = places(env)
        self.root = root
        self.limits = limits
        self.environment = dict(env)
        self.clock = clock
        self.journal = Journal(root, clock)
        self._kept: Opened | None = None
        self._counter: CountCache | None = None
        self._encoding = ""
        self.estimated = ""
        self._chosen = dict(plugins or {})
        self._extensions: Extensions | None = None
        self.current()
        self.extensions  # noqa: B018 - a strict setting refuses a broken plugin here, not at the first event

    @property
    def workspace(self) -> Workspace:
        """The workspace as it stands now: read again when one of its files has changed."""
        return self.current().workspace

    def current(self) -> Opened:
        """Settings, group map and trust for one event. They are kept while their files carry the same stamps."""
        kept = self._kept
        if kept is not None and kept.holds():
            return kept
        self._kept = opened = open_now(self.root, self.where, self.environment, self.parse, self.limits.racy_ns)
        return opened

    @property
    def extensions(self) -> Extensions:
        """The plugins of this runtime: installed ones, and those it was made with."""
        if self._extensions is None:
            settings = load_settings(self.root, self.where.config, self.environment)
            chosen = PluginSettings(settings.plugins_disabled, settings.plugins_allow, settings.plugins_block,
                                    settings.plugins_strict)  # fmt: skip
            plugins = create_plugins(
                chosen, cache_dir=os.path.join(self.where.cache, "plugins"), report=self.journal.report,
                limits=self.limits, extra=self._chosen,
            )  # fmt: skip
            self._extensions = Extensions(plugins, self.journal.report)
        return self._extensions

    @property
    def counter(self) -> TokenCounter:
        """The configured token counter, loaded when first used; it counts a text once."""
        encoding = self.workspace.settings.tokenizer
        if self._counter is None or self._encoding != encoding:
            added = None if encoding in ENCODINGS else self.extensions.counter(encoding)
            cache = os.path.join(self.where.cache, "ranks")
            counter = Counter(encoding, True, added) if added else load_counter(encoding, cache_dir=cache)
            # The name comes last: another thread that sees it finds its counter.
            self._counter, self.estimated = CountCache(counter), counter.warning
            self._encoding = encoding
        return self._counter

    def count(self, text: str) -> int:
        """Tokens of `text`. A message that loads nothing counts nothing, and so loads no tokenizer."""
        return self.counter(text)

    def parse(self, key: str) -> SessionKey:
        """A session key by the grammar of the known channels."""
        return self.extensions.parse(key)

    def match(self, query: IntentQuery) -> RouteMatch | None:
        """The row that a message matches."""
        return self.extensions.match(query)

    def decide(self, event: HostEvent) -> ScopeDecision:
        """Whose memory the event's session may touch, and why (protocol, section 3)."""
        return self.current().decide(event)

    def route(self, scope: Scope | None, message: str) -> RouteMatch | None:
        """The row of the scope's routing table that `message` matches, whatever is loaded already; None for none."""
        if scope is None or not message.strip():
            return None
        index = self.index(scope)
        return group.best_route(message, index, set(), self.match) if index else None

    def index(self, scope: Scope) -> Index | None:
        """The scope's index, parsed; None where there is none. Raises MemoryFileError."""
        found = read_text(self.root, scope.index_path, limits=self.limits)
        return parse_index(found.text, scope) if found else None

    def is_owner(self, event: HostEvent) -> bool:
        """True where the event's session is the owner's, who may see what concerns the whole workspace."""
        return self.decide(event).scope == DM

    def settings_stamp(self, event: HostEvent) -> str:
        """What names the settings and the session key that a decision about `event` rests on."""
        return fastlane.settings_stamp(self.environment, self.root, event.session_key)

    def today(self, opened: Opened | None = None) -> date:
        """The calendar day in the time zone of the workspace: as it stands now, or as `opened`."""
        settings = (opened or self.current()).workspace.settings
        return datetime.fromtimestamp(self.clock(), zone_of(settings.timezone)).date()

    def zone(self) -> tzinfo | None:
        """The workspace's time zone; None means the machine's."""
        return zone_of(self.workspace.settings.timezone)
