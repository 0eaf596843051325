"""Our own command inside a shell command."""

from __future__ import annotations

from dataclasses import replace

from apm_hooks.shell.call import Call
from apm_hooks.shell.records import OURS, Use, UseKind
from apm_hooks.shell.state import UNSET
from apm_hooks.shell.values import Value

OWN = "apm-hooks"


def changed(call: Call) -> Call:
    """The same call where our own variables may be others than the host's."""
    return replace(call, state=call.state.assigned(OURS, UNSET), env=call.env.assigned(OURS, UNSET))


def names_ours(value: Value) -> bool:
    """Whether a word may name one of our variables without showing it."""
    return value.gap is not None or (OURS in (value.literal or "") and OURS not in value.raw)


def _places(call: Call) -> tuple[str, ...]:
    """Where it may be called, if not where the whole command is: as variables that say so."""
    return tuple(f"PWD={spot.path}" if spot.path and not spot.glob else "PWD=\0" for spot in call.state.cwds)


def own(call: Call, args: tuple[Value, ...]) -> None:
    """Notes the call with its words and the variables that were set for it; what is not known is `\\0`."""

    def known(value: Value) -> str:
        text = value.literal
        return "\0" if text is None else text

    program = call.words[0].literal or OWN
    kept = (name for name in call.env.variables if name.startswith(OURS))
    names = dict.fromkeys((*sorted(call.state.exported), *call.set_here, *kept))
    environment = tuple(
        f"{name}={known(values[0]) if len(values) == 1 else chr(0)}"
        for name in names
        if (values := call.env.variables.get(name)) is not None
    )
    path = program if program.startswith("/") else OWN
    if "/" in program and not program.startswith("/"):
        path = f"{call.cwd.path}/{program}"
    call.runner.record.uses[
        Use(
            UseKind.EXECUTE,
            path,
            call.words[0].raw,
            program=OWN,
            arguments=tuple(map(known, args)),
            environment=(*environment, *_places(call)),
        )
    ] = None
