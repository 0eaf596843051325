"""What makes an object a plugin: every hook of it is one of ours, and can be called as we call it.

pluggy takes in silence what then never works: a misspelt hook, a coroutine, an argument with a default. Here each is a
reason to refuse the whole plugin, and all reasons are told at once. Importing this module imports pluggy, so it is
imported when a plugin is really loaded, not before.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import pluggy

from apm_hooks import hookspecs
from apm_hooks.plugin_records import ContractError

if TYPE_CHECKING:
    from pluggy import HookimplOpts

_LAYERS = 32
"""So many wrappers around a function are looked through."""


class Manager(pluggy.PluginManager):
    """pluggy's manager with one plugin in it.

    One for each, so that nothing that a plugin is (its equality, its hash, a hook wrapper) ever touches another.
    `hooks` are the names of what it implements, `files` where their code lies.

    The options `tryfirst` and `trylast` have no effect, since each plugin is called alone, and `optionalhook` has
    none, since it would hide a misspelt name.
    """

    def __init__(self) -> None:
        super().__init__(hookspecs.PROJECT)
        self.add_hookspecs(hookspecs)
        self.hooks: list[str] = []
        self.files: set[str] = set()
        self._unknown: list[str] = []
        self._faults: list[str] = []
        self._unmarked: list[str] = []

    def parse_hookimpl_opts(self, plugin: object, name: str) -> HookimplOpts | None:
        """pluggy's way to let a subclass decide what is a hook: None leaves `name` out."""
        options = super().parse_hookimpl_opts(plugin, name)
        if options is None:
            self._look_at_unhookable(inspect.getattr_static(plugin, name, None), name)
            return None
        function = getattr(plugin, name)
        hook = options.get("specname") or name
        if hook not in arguments_by_hook():
            self._unknown.append(_with_nearest(hook))
            return None
        faults = [*_shape_faults(hook, function, options), *_argument_faults(hook, function)]
        if hook in self.hooks:
            faults.append(f"{hook} is implemented twice")
        if faults:
            self._faults += faults
            return None
        self.hooks.append(hook)
        code = getattr(list(_layers(function))[-1], "__code__", None)
        if code is not None:
            self.files.add(code.co_filename)
        return options

    def _look_at_unhookable(self, value: object, name: str) -> None:
        if _is_marked(value) or _is_marked(getattr(value, "fget", None) if isinstance(value, property) else None):
            self._faults.append(f"{name} is marked with hookimpl, but is no function ({type(value).__name__})")
        elif name in arguments_by_hook() and callable(value):
            self._unmarked.append(name)

    def complaint(self) -> str:
        """Everything that speaks against the plugin, in one sentence; empty where nothing does."""
        faults = list(self._faults)
        if self._unknown:
            faults.insert(0, f"no such hook: {', '.join(self._unknown)}")
        if not faults and not self.hooks:
            hint = f" ({', '.join(self._unmarked)} lacks the mark)" if self._unmarked else ""
            return f"implements no hook: mark its functions with apm_hooks.hookimpl{hint}"
        return "; ".join(faults)

    def ask(self, hook: str, arguments: Mapping[str, object]) -> object:
        """The plugin's answer, None where it gives none. Raises whatever the plugin raises."""
        answers = getattr(self.hook, hook)(**arguments)
        return answers[0] if answers else None


def admit(plugin: object, name: str) -> Manager:
    """A manager that holds `plugin` alone; raises ContractError with every reason why it is none.

    It runs code of the plugin (attribute access): call it where that may raise or hang.
    """
    if plugin is None or inspect.isclass(plugin):
        raise ContractError(f"is {'None' if plugin is None else 'a class'}: name a module or an object")
    manager = Manager()
    manager.register(plugin, name)
    complaint = manager.complaint()
    if complaint:
        raise ContractError(complaint)
    return manager


@functools.cache
def arguments_by_hook() -> Mapping[str, tuple[str, ...]]:
    """Every hook of the contract with the names of its arguments."""
    reader = pluggy.PluginManager(hookspecs.PROJECT)
    return {
        name: tuple(inspect.signature(value).parameters)
        for name, value in vars(hookspecs).items()
        if inspect.isfunction(value) and reader.parse_hookspec_opts(hookspecs, name) is not None
    }


def _with_nearest(hook: str) -> str:
    near = difflib.get_close_matches(hook, arguments_by_hook(), n=1)
    return f"{hook} (did you mean {near[0]}?)" if near else hook


@functools.cache
def _mark() -> str:
    """The attribute that `hookimpl` leaves, seen on a function of ours: pluggy has no public name for it."""

    def probe() -> None:
        """Marked, never called."""

    hookspecs.hookimpl(probe)
    return next(iter(vars(probe)))


def _is_marked(value: object) -> bool:
    return isinstance(inspect.getattr_static(value, _mark(), None), dict)


def _layers(function: object) -> Iterator[object]:
    """The function, and what it is wrapped around: bound methods, partials, decorators."""
    for _ in range(_LAYERS):
        yield function
        if isinstance(function, functools.partial):
            function = function.func
        elif (inner := getattr(function, "__func__", None) or getattr(function, "__wrapped__", None)) is not None:
            function = inner
        else:
            return


_KINDS: tuple[tuple[Callable[[object], bool], str], ...] = (
    (inspect.iscoroutinefunction, "async def"),
    (inspect.isasyncgenfunction, "an async generator"),
    (inspect.isgeneratorfunction, "a generator"),
)


def _shape_faults(hook: str, function: object, options: HookimplOpts) -> list[str]:
    if options.get("wrapper") or options.get("hookwrapper"):
        return [f"{hook} is a wrapper: no plugin may wrap another"]
    layers = list(_layers(function))
    kind = next((what for is_one, what in _KINDS if any(is_one(layer) for layer in layers)), "")
    return [f"{hook} is {kind}: hooks are plain functions"] if kind else []


def _argument_faults(hook: str, function: Callable[..., object]) -> list[str]:
    known = arguments_by_hook()[hook]
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return [f"the arguments of {hook} cannot be read"]
    shown = ", ".join(known) or "none"
    faults, taken = [], set()
    for each in parameters:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        if each.kind is each.KEYWORD_ONLY:
            if each.default is each.empty or each.name in known:
                faults.append(f"{hook} takes {each.name} by keyword only, and would never be given it")
        elif each.default is not each.empty:
            if each.name in known:
                faults.append(f"{hook} has a default for {each.name}, and would never be given it")
        elif each.name not in known:
            faults.append(f"{hook} takes {each.name}, which the hook does not have (its arguments: {shown})")
        taken.add(each.name)
    if not faults and any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters):
        missing = [name for name in known if name not in taken]
        faults += [f"{hook} must name its argument {name}: * and ** are never filled" for name in missing]
    return faults
