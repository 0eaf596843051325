"""Records on their way to a plugin and back: copies go in, and what comes out is rebuilt from plain parts.

A frozen record can still be changed through `object.__setattr__`, and an object of a subclass may answer differently
each time it is asked. So a plugin is given copies at every depth, and of its answer only the values are taken, checked
against the record's own annotations: nothing of a plugin's own class comes back into the library.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

from apm_hooks import events, records


class ContractError(Exception):
    """What a plugin is, or what it answered, breaks the contract. Its text is a sentence for the operator; it never
    leaves the plugin manager."""


def copied(value: Any) -> Any:
    """`value` with new records, tuples, lists, sets and mappings at every depth; functions and leaves are shared."""
    kind = type(value)
    if is_dataclass(kind):
        return kind(**{field.name: copied(getattr(value, field.name)) for field in fields(kind) if field.init})
    if kind in (tuple, list, set):
        return kind([copied(item) for item in value])
    if kind in (dict, types.MappingProxyType):
        inner = {key: copied(item) for key, item in value.items()}
        return inner if kind is dict else types.MappingProxyType(inner)
    return value


def checked(answer: object, expect: type | tuple[type, ...]) -> object:
    """The answer, rebuilt as one of the types that were `expect`ed; raises ContractError where it is none of them or
    a field does not hold what its annotation says."""
    kinds = expect if isinstance(expect, tuple) else (expect,)
    for kind in kinds:
        # Not isinstance(): an object may lie about its class.
        if issubclass(type(answer), kind):
            return _rebuilt(answer, kind, kind.__name__)
    if isinstance(answer, types.CoroutineType):
        answer.close()
    raise ContractError(f"answered {_named(type(answer))}, not {' or '.join(_named(kind) for kind in kinds)}")


def _named(kind: type) -> str:
    # Of a plugin's own class, whose metaclass may say anything.
    name: str = type.__dict__["__name__"].__get__(kind)
    return f"{'an' if name[:1].lower() in 'aeio' else 'a'} {name}"


def _rebuilt(value: Any, hint: Any, where: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _of_one(value, arguments, where)
    if hint is tuple or origin is tuple:
        return _tuple(value, arguments or (Any, ...), where)
    if hint in _PLAIN:
        return _plain(value, hint, where)
    if hint is Any or hint is object:
        ours = next((kind for kind in type(value).__mro__ if kind in _records()), None)
        return value if ours is None else _record(value, ours, where)
    if is_dataclass(hint):
        return _record(value, hint, where)
    if origin is Callable or hint is Callable:
        if not callable(value):
            raise _refusal(value, "a function", where)
        return value
    if origin is None and isinstance(hint, type) and type(value) is not hint:
        raise _refusal(value, _named(hint), where)
    return value


def _of_one(value: Any, hints: tuple[Any, ...], where: str) -> Any:
    if value is None and type(None) in hints:
        return None
    rest = [hint for hint in hints if hint is not type(None)]
    for hint in rest[:-1]:
        try:
            return _rebuilt(value, hint, where)
        except ContractError:
            continue
    return _rebuilt(value, rest[-1], where)


def _tuple(value: Any, hints: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    base = next((kind for kind in (tuple, list) if issubclass(type(value), kind)), None)
    if base is None:
        raise _refusal(value, "a tuple", where)
    # The base's own slice: a subclass may iterate over anything, for ever.
    items: Sequence[Any] = base.__getitem__(value, slice(None))
    if len(hints) == 2 and hints[1] is ...:
        hints = (hints[0],) * len(items)
    if len(hints) != len(items):
        raise ContractError(f"{where} holds {len(items)} values, not {len(hints)}")
    return tuple(
        _rebuilt(item, hint, f"{where}[{at}]") for at, (item, hint) in enumerate(zip(items, hints, strict=True))
    )


_PLAIN: Mapping[type, Callable[[Any], Any]] = {
    # The exact value of a subclass, without asking the subclass.
    str: str.__str__, int: int.__int__, float: float.__float__, bool: bool,
}  # fmt: skip


def _plain(value: Any, hint: type, where: str) -> Any:
    if hint is float and type(value) is int:
        return float(value)
    if not issubclass(type(value), hint):
        raise _refusal(value, _named(hint), where)
    exact = _PLAIN[hint](value)
    if hint is str:
        try:
            exact.encode()
        except UnicodeEncodeError:
            raise ContractError(f"{where} holds half a character (a lone surrogate)") from None
    return exact


def _refusal(value: object, wanted: str, where: str) -> ContractError:
    return ContractError(f"{where} is {_named(type(value))}, not {wanted}")


def _record(value: Any, kind: Any, where: str) -> Any:
    if not issubclass(type(value), kind):
        raise _refusal(value, _named(kind), where)
    values = {}
    for name, hint in _hints(kind).items():
        try:
            # The record's own slot, past whatever a subclass puts in front of it.
            held = vars(kind)[name].__get__(value)
        except AttributeError:
            raise ContractError(f"{where}.{name} is missing") from None
        values[name] = _rebuilt(held, hint, f"{where}.{name}")
    return kind(**values)


@cache
def _records() -> frozenset[type]:
    found = (*vars(records).values(), *vars(events).values())
    return frozenset(kind for kind in found if isinstance(kind, type) and is_dataclass(kind))


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}
