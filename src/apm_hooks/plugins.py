"""The plugin manager: which plugins there are, and what each answers to a hook.

External plugins come from entry points of the group `apm_hooks`, and from programs that register one. Each is called
alone and in a thread of its own, so that one that raises, hangs, prints, changes what it was given or answers nonsense
costs its own answer and one report that names it. Neither pluggy nor any plugin is imported before a hook is called
that an active external plugin implements.

Since each call has its own thread, a plugin must not keep what is bound to one (an SQLite connection) between calls.
Its prints are not caught: standard output belongs to the embedding process.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING

from apm_hooks._version import __version__
from apm_hooks.errors import UsageError
from apm_hooks.plugin_calls import Call, one_by_one, told
from apm_hooks.plugin_list import PluginInfo, PluginSettings, installed_plugins, load, plain_name
from apm_hooks.records import LIMITS, Limits

if TYPE_CHECKING:
    from apm_hooks.plugin_checks import Manager

__all__ = ["BUILTIN", "BUILTIN_HOOKS", "PluginInfo", "PluginSettings", "Plugins", "create_plugins", "installed_plugins"]

BUILTIN: tuple[str, ...] = ("apm_hooks.builtin.channels", "apm_hooks.builtin.intent", "apm_hooks.builtin.memory")
"""The built-in plugins: modules with functions named like the hooks. `apm_hooks.builtin.memory` is `apm-memory`."""

BUILTIN_HOOKS: Mapping[str, str] = MappingProxyType({
    "apm_parse_session_key": "apm_hooks.builtin.channels",
    "apm_match_intent": "apm_hooks.builtin.intent",
    "apm_session_start": "apm_hooks.builtin.memory",
    "apm_message_received": "apm_hooks.builtin.memory",
})  # fmt: skip
"""Which built-in plugin implements a hook: stated here, so that the others need not be imported to find out."""

RUNTIME = "runtime"
"""The origin of a plugin that a program registered."""

Report = Callable[[str, str], None]
_NO_PLUGINS: Mapping[str, object] = MappingProxyType({})


def create_plugins(
    settings: PluginSettings, *, cache_dir: str, report: Report, limits: Limits = LIMITS,
    extra: Mapping[str, object] = _NO_PLUGINS,
) -> Plugins:  # fmt: skip
    """The plugins of this installation, and those of `extra` (name → plugin).

    `report(plugin name, sentence)` is told of each one that is broken or a duplicate, and later of each that fails.
    Where `settings.disabled`, nothing is looked for. Raises UsageError with all reports where `settings.strict`.
    """
    listed = () if settings.disabled else installed_plugins(cache_dir, settings, limits=limits)
    plugins = Plugins(listed, settings, report=report, limits=limits)
    for name, plugin in extra.items():
        plugins.add(plugin, name)
    plugins.require_sound()
    return plugins


@dataclass(slots=True, eq=False)
class _Plugin:
    """`find` gives the plugin's object; `manager` holds it once it was loaded. `late`: it did not answer in time, and
    its thread may still be running. `told`: that it is not used was reported."""

    info: PluginInfo
    find: Callable[[], object]
    manager: Manager | None = None
    late: bool = False
    told: bool = False

    @property
    def name(self) -> str:
        return self.info.name


class Plugins:
    """External plugins, called one by one, and the built-in ones. Safe to use from several threads.

    `limits.plugin_seconds` bounds how long all plugins together may take to answer one call.
    """

    def __init__(
        self, listed: Iterable[PluginInfo], settings: PluginSettings, *, report: Report, limits: Limits = LIMITS
    ) -> None:
        self._settings = settings
        self._report = report
        self._seconds: float = limits.plugin_seconds
        self._lock = allocate_lock()
        self._faults: list[str] = []
        self._all: tuple[_Plugin, ...] = tuple(_Plugin(info, partial(load, info.value)) for info in listed)
        for plugin in self._all:
            self._settle_name(plugin)

    def infos(self) -> tuple[PluginInfo, ...]:
        """Built-in plugins, then external ones by name, each with its last error in this process."""
        builtin = []
        for module in BUILTIN:
            hooks = tuple(sorted(hook for hook, home in BUILTIN_HOOKS.items() if home == module))
            state = "blocked" if self._settings.blocks(_builtin_name(module)) else "active"
            builtin.append(PluginInfo(_builtin_name(module), __version__, "built-in", module, hooks, state))
        external = sorted((plugin.info for plugin in self._all), key=lambda info: (info.name, info.origin, info.value))
        return (*builtin, *external)

    def wanted(self, hook: str) -> bool:
        """True where an active external plugin implements `hook`; nothing is imported to find out.

        Still true where it failed in this process: what was put together without its answer must not be kept.
        """
        return any(hook in plugin.info.hooks and plugin.info.state in ("active", "broken") for plugin in self._all)

    def register(self, plugin: object, name: str) -> None:
        """Add a plugin of a program: a module or object with functions marked by `hookimpl`.

        The checks and lists are those of installed plugins; what is wrong goes to the report, and is raised as
        UsageError in strict mode.
        """
        self.add(plugin, name)
        self.require_sound()

    def add(self, plugin: object, name: str) -> None:
        """As `register`, but never raises."""
        kind = type(plugin)
        value = plugin.__name__ if isinstance(plugin, ModuleType) else f"{kind.__module__}:{kind.__qualname__}"
        info = PluginInfo(name, "", RUNTIME, value, (), self._settings.state_of(name))
        added = _Plugin(info, lambda: plugin)
        with self._lock:
            self._all = (*self._all, added)
        self._settle_name(added)
        if added.info.state == "active":
            call = Call(lambda: self._loaded(added), name, quote=True)
            if not call.wait(self._seconds):
                self._mark(added, "broken", f"took longer than {self._seconds:g} s to register")
            if added.info.state == "broken":
                self._fault(added)

    def require_sound(self) -> None:
        """Raise UsageError with every fault found so far, in strict mode."""
        if self._settings.strict and self._faults:
            raise UsageError(f"plugins: {'; '.join(self._faults)}", remedy="See: apm-hooks plugins")

    def call(
        self, hook: str, expect: type | tuple[type, ...], make: Callable[[], Mapping[str, object]]
    ) -> list[tuple[str, object]]:
        """What every active external plugin answers, as (plugin name, answer) by plugin name, without those that
        answer None.

        `make` gives the keyword arguments; each plugin gets copies of the records in them. An answer is rebuilt from
        its values as one of the types in `expect`; any other is refused and reported. One plugin is called after the
        other; one that takes longer than its share of the time goes on beside the next, and what all together have not
        answered after `plugin_seconds` is lost. Who is late is not called again in this process.
        """
        until = monotonic() + self._seconds
        calls = list(one_by_one(self._asked(hook), lambda plugin: self._begin(plugin, hook, expect, make), until))
        answers = []
        for plugin, call in calls:
            call.wait(until - monotonic())
            answers.append((plugin.name, self._answer(plugin, call, hook)))
        return [(name, answer) for name, answer in answers if answer is not None]

    def builtin(self, hook: str) -> Callable[..., object] | None:
        """The built-in implementation of `hook`; None where there is none, or its plugin is blocked."""
        from importlib import import_module

        module = BUILTIN_HOOKS.get(hook)
        if module is None or self._settings.blocks(_builtin_name(module)):
            return None
        function: Callable[..., object] = getattr(import_module(module), hook)
        return function

    def _asked(self, hook: str) -> list[_Plugin]:
        asked = [plugin for plugin in self._all
                 if hook in plugin.info.hooks and plugin.info.state == "active" and not plugin.late]  # fmt: skip
        return sorted(asked, key=lambda plugin: plugin.name)

    def _begin(
        self, plugin: _Plugin, hook: str, expect: type | tuple[type, ...], make: Callable[[], Mapping[str, object]]
    ) -> Call:
        from apm_hooks.plugin_records import checked, copied

        arguments = make()

        def job() -> object:
            manager = self._loaded(plugin)
            if manager is None:
                return None
            answer = manager.ask(hook, copied(dict(arguments)))
            return None if answer is None else checked(answer, expect)

        return Call(job, plugin.name)

    def _loaded(self, plugin: _Plugin) -> Manager | None:
        """The plugin, checked, ready to be called; None where it is broken. Runs the plugin's code."""
        from apm_hooks.plugin_checks import admit

        if plugin.manager is None:
            try:
                manager = admit(plugin.find(), plugin.name)
            except BaseException as error:  # noqa: BLE001 - a plugin that exits while it is imported is just broken
                self._mark(plugin, "broken", told(error, quote=True))
                return None
            with self._lock:
                plugin.info = replace(plugin.info, hooks=tuple(sorted(manager.hooks)))
                plugin.manager = manager
        return plugin.manager

    def _answer(self, plugin: _Plugin, call: Call, hook: str) -> object | None:
        """The answer of a call that is over; whatever else became of it is reported."""
        if not call.wait(0):
            with self._lock:
                known, plugin.late = plugin.late, True
            if not known:
                self._note(plugin, f"{hook} did not answer in time; it is not called again in this process")
            return None
        if call.error:
            self._note(plugin, f"{hook} {call.error}")
            return None
        if plugin.info.state == "broken":
            self._fault(plugin)
        return call.answer

    def _settle_name(self, plugin: _Plugin) -> None:
        """A name belongs to the first who has it, the built-in plugins before all."""
        name = plain_name(plugin.name)
        if plugin.info.state in ("active", "broken"):
            taken = [_builtin_name(module) for module in BUILTIN if _builtin_name(module) == name]
            for other in self._all:
                if other is plugin:
                    break
                if plain_name(other.name) == name and other.info.state != "duplicate":
                    taken.append(f"{other.info.value} of {other.info.origin}")
            if taken:
                self._mark(plugin, "duplicate", f"the name is taken by {taken[0]}")
        if plugin.info.state in ("broken", "duplicate"):
            self._fault(plugin)

    def _mark(self, plugin: _Plugin, state: str, error: str) -> None:
        with self._lock:
            plugin.info = replace(plugin.info, state=state, error=error)

    def _fault(self, plugin: _Plugin) -> None:
        with self._lock:
            known, plugin.told = plugin.told, True
        if known:
            return
        info = plugin.info
        sentence = f"not used, {info.state}: {info.error} ({info.value} of {info.origin})"
        self._faults.append(f"{info.name}: {sentence}")
        self._report(info.name, sentence)

    def _note(self, plugin: _Plugin, sentence: str) -> None:
        self._mark(plugin, plugin.info.state, sentence)
        self._report(plugin.name, sentence)


def _builtin_name(module: str) -> str:
    return f"apm-{module.rpartition('.')[2]}"
