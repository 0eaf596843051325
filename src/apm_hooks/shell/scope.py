"""What a word sees while it is expanded: the state of the shell, and the means to run what is substituted."""

from __future__ import annotations

from apm_hooks.shell.call import Runner
from apm_hooks.shell.expand import BLANKS, gap
from apm_hooks.shell.records import Reason, words
from apm_hooks.shell.state import UNSET, State
from apm_hooks.shell.values import GLOB, NUMBER, Output, Spot, Value, text_value

_NUMBERS = frozenset(words("# ? $ ! RANDOM SECONDS LINENO UID EUID PPID BASHPID EPOCHSECONDS SRANDOM COLUMNS LINES"))


def spot_value(spot: Spot) -> Value:
    """The directory as a word."""
    if not spot.path:
        return gap(Reason.DIRECTORY)
    return Value(((GLOB if spot.glob else "text", spot.path),), spot.path)


class StateScope:
    """The scope of one command's words. `state` grows by `${name:=value}`."""

    def __init__(self, state: State, home: str, runner: Runner) -> None:
        self.state = state
        self.home = home
        self.runner = runner

    @property
    def separators(self) -> str | None:
        if "IFS" not in self.state.variables:
            return BLANKS
        return self.state.value("IFS").literal

    def variable(self, name: str) -> Value:
        if name in self.state.variables:
            return self.state.value(name)
        if name == "HOME":
            return text_value(self.home) if self.home else gap(Reason.HOME)
        if name == "PWD":
            return spot_value(self.state.cwds[0]) if len(self.state.cwds) == 1 else gap(Reason.DIRECTORY)
        if name == "OLDPWD":
            return spot_value(self.state.old[0]) if len(self.state.old) == 1 else gap(Reason.DIRECTORY)
        if name == "IFS":
            return text_value(BLANKS)
        if name in _NUMBERS:
            return NUMBER
        if name in {"@", "*"}:
            items = self.state.parameters
            return text_value("") if items == () else UNSET
        if name.isdecimal() and self.state.parameters is not None and name != "0":
            place = int(name[:6]) - 1
            return self.state.parameters[place] if place < len(self.state.parameters) else text_value("")
        return UNSET

    def items(self, name: str) -> tuple[Value, ...] | None:
        if name in {"@", "*"}:
            return self.state.parameters
        return self.state.arrays.get(name)

    def tilde(self, user: str) -> Value | None:
        if not user:
            return self.variable("HOME")
        if user in {"+", "-"}:
            return self.variable("PWD" if user == "+" else "OLDPWD")
        return gap(Reason.HOME) if user[0].isalpha() or user[0] in "_+-0123456789" else None

    def substitute(self, source: str) -> Output:
        return self.runner.code(source, self.state, None).output

    def process(self, source: str, reads: bool) -> Value:
        self.runner.code(source, self.state, None if reads else Output())
        return text_value("/dev/fd/63", f"{'<' if reads else '>'}({source})")

    def assign(self, name: str, value: Value) -> None:
        self.state = self.state.assigned(name, value)
