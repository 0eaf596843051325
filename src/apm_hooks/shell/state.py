"""What the shell knows while a command runs: directories, variables, functions; every way it may have come so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TypeVar

from apm_hooks.shell.expand import gap
from apm_hooks.shell.records import SHELL_LIMITS, Reason
from apm_hooks.shell.tree import Node
from apm_hooks.shell.values import NO_OUTPUT, UNKNOWN_SPOT, Output, Spot, Value, either_output

_T = TypeVar("_T")
UNSET = gap(Reason.VARIABLE)
"""A variable that the command does not set: the environment's, which is not known."""


@dataclass(frozen=True, slots=True)
class State:
    """Immutable. `cwds` and the values in `variables` are the alternatives; `functions` and `aliases` may hold None for
    "or not defined". `parameters` are `$1` and on, None where they are not known. `stack` is that of `pushd`."""

    cwds: tuple[Spot, ...]
    old: tuple[Spot, ...] = (UNKNOWN_SPOT,)
    stack: tuple[Spot, ...] = ()
    variables: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    arrays: Mapping[str, tuple[Value, ...] | None] = field(default_factory=dict)
    parameters: tuple[Value, ...] | None = None
    functions: Mapping[str, tuple[Node | None, ...]] = field(default_factory=dict)
    aliases: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    exported: frozenset[str] = frozenset()
    local: frozenset[str] = frozenset()
    in_function: bool = False

    def value(self, name: str) -> Value:
        """The variable's value, where it has one alternative only."""
        values = self.variables.get(name, (UNSET,))
        return values[0] if len(values) == 1 else UNSET

    def assigned(self, name: str, *values: Value) -> State:
        """With another value; several are alternatives."""
        arrays = (
            {key: items for key, items in self.arrays.items() if key != name} if name in self.arrays else self.arrays
        )
        return replace(self, variables={**self.variables, name: values}, arrays=arrays)

    def with_array(self, name: str, items: tuple[Value, ...] | None) -> State:
        """With another array; None: of unknown items."""
        first = items[0] if items else UNSET
        return replace(self, arrays={**self.arrays, name: items}, variables={**self.variables, name: (first,)})

    def moved(self, *cwds: Spot) -> State:
        """In another directory; several are alternatives."""
        variables = {name: values for name, values in self.variables.items() if name not in {"PWD", "OLDPWD"}}
        return replace(self, cwds=cwds, old=self.cwds, variables=variables)

    def single_states(self, names: Iterable[str]) -> Iterator[State]:
        """One state for each alternative of the directory and of these variables; where there are too many, they are
        unknown."""
        several = [name for name in dict.fromkeys(names) if len(self.variables.get(name, ())) > 1]
        count = len(self.cwds)
        for name in several:
            count *= len(self.variables[name])
        if count == 1:
            yield self
        elif count > SHELL_LIMITS.alternatives:
            unknown = dict.fromkeys(several, (UNSET,))
            cwds = self.cwds if len(self.cwds) == 1 else (UNKNOWN_SPOT,)
            yield replace(self, cwds=cwds, variables={**self.variables, **unknown})
        else:
            for cwd, values in _choices(self.cwds, [self.variables[name] for name in several]):
                chosen = {name: (value,) for name, value in zip(several, values, strict=True)}
                yield replace(self, cwds=(cwd,), variables={**self.variables, **chosen})


def _choices(cwds: tuple[Spot, ...], values: list[tuple[Value, ...]]) -> Iterator[tuple[Spot, tuple[Value, ...]]]:
    return product(cwds, product(*values))


def either(first: State | None, second: State | None) -> State | None:
    """What is known where one of the two ways was taken; None is a way that is not."""
    if first is None or first == second:
        return second
    if second is None:
        return first
    return State(
        cwds=_union(first.cwds, second.cwds, UNKNOWN_SPOT),
        old=_union(first.old, second.old, UNKNOWN_SPOT),
        stack=first.stack if first.stack == second.stack else (),
        variables=_joined(first.variables, second.variables, UNSET, UNSET),
        arrays={
            name: first.arrays.get(name) if first.arrays.get(name) == second.arrays.get(name) else None
            for name in {**first.arrays, **second.arrays}
        },
        parameters=first.parameters if first.parameters == second.parameters else None,
        functions=_joined(first.functions, second.functions, None, None),
        aliases=_joined(first.aliases, second.aliases, None, None),
        exported=first.exported | second.exported,
        local=first.local | second.local,
        in_function=first.in_function,
    )


def _joined(
    first: Mapping[str, tuple[_T, ...]], second: Mapping[str, tuple[_T, ...]], absent: _T, overflow: _T
) -> Mapping[str, tuple[_T, ...]]:
    if first is second:
        return first
    names = {**first, **second}
    return {name: _union(first.get(name, (absent,)), second.get(name, (absent,)), overflow) for name in names}


def _union(first: tuple[_T, ...], second: tuple[_T, ...], overflow: _T) -> tuple[_T, ...]:
    if first == second:
        return first
    both = tuple(dict.fromkeys(first + second))
    return both if len(both) <= SHELL_LIMITS.alternatives else (overflow,)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ends: the state where it succeeded, where it failed (None: it cannot), and what it printed."""

    success: State | None
    failure: State | None
    output: Output = NO_OUTPUT

    @property
    def any(self) -> State | None:
        return either(self.success, self.failure)


def same(state: State, output: Output) -> Outcome:
    """The command changed nothing that the shell knows."""
    return Outcome(state, state, output)


def either_outcome(first: Outcome, second: Outcome) -> Outcome:
    """One of the two."""
    return Outcome(
        either(first.success, second.success),
        either(first.failure, second.failure),
        either_output(first.output, second.output),
    )
