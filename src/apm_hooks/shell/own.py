"""Our own command inside a shell command."""

from __future__ import annotations

from apm_hooks.shell.call import Call
from apm_hooks.shell.records import Use, UseKind
from apm_hooks.shell.values import Value

OWN = "apm-hooks"


def own(call: Call, args: tuple[Value, ...]) -> None:
    """Notes the call with its words and the variables that were set for it; what is not known is `\\0`."""

    def known(value: Value) -> str:
        text = value.literal
        return "\0" if text is None else text

    program = call.words[0].literal or OWN
    names = dict.fromkeys((*sorted(call.state.exported), *call.set_here))
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
            environment=environment,
        )
    ] = None
